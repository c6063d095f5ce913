//! The oracle: a predictor that asks a shadow of the very drive it schedules, told of the same commands. It
//! knows phase, rpm and noise, so no real scheduler can do as well greedily. For bounds only; results that rest
//! on it say so.

use block::{Command, Direction, Extent, Lbn, Outcome, Place, SeekBy, Span, Tag, Time, Verb};
use drive::Drive;
use sched::predict::{Approach, Predictor};
use std::cell::RefCell;

/// Perfect knowledge of one drive.
pub(crate) struct Oracle {
    shadow: RefCell<Drive>,
    /// The drive as it would be after commands that were thought of since the last `head`.
    futures: RefCell<Vec<Drive>>,
    arm: Lbn,
}

/// The drive at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OracleHead {
    now: Time,
    /// Which of the futures, if it is none of now.
    future: Option<usize>,
}

impl Oracle {
    /// The oracle of a drive like `shadow`, which is as it was made.
    pub(crate) fn new(shadow: Drive) -> Oracle {
        Oracle { shadow: RefCell::new(shadow), futures: RefCell::default(), arm: Lbn(0) }
    }
}

/// A command that is only thought of.
fn imagine_command(at: Extent, direction: Direction) -> Command {
    let verb = if direction.writes() { Verb::Write { fua: false } } else { Verb::Read };
    Command::new(verb, at, Place::Nowhere)
}

impl Predictor for Oracle {
    type Spot = Extent;
    type Mark = Extent;
    type Head = OracleHead;

    fn spot(&self, at: Extent) -> Extent {
        at
    }

    fn key(&self, at: Extent) -> u64 {
        at.start.0
    }

    fn mark(&self, at: Extent) -> Extent {
        at
    }

    fn cylinder(&self, at: Extent) -> Option<u32> {
        Some(self.shadow.borrow().mechanics().layout.locate(at.start).track.cylinder)
    }

    fn head(&self, now: Time) -> (OracleHead, u64) {
        self.shadow.borrow_mut().advance(now);
        self.futures.borrow_mut().clear();
        (OracleHead { now, future: None }, self.arm.0)
    }

    fn cost(&self, head: &OracleHead, _: u64, at: Extent, direction: Direction) -> u64 {
        let command = imagine_command(at, direction);
        match head.future {
            None => self.shadow.borrow().foresee(head.now, command).0,
            Some(i) => self.futures.borrow()[i].foresee(head.now, command).0,
        }
    }

    fn head_after(&self, head: &OracleHead, at: Extent, _: Extent, direction: Direction) -> (OracleHead, u64) {
        let mut futures = self.futures.borrow_mut();
        let mut drive = head.future.map_or_else(|| self.shadow.borrow().clone(), |i| futures[i].clone());
        if drive.next().is_some() {
            drive.complete();
        }
        drive.issue(head.now, Tag(0), imagine_command(at, direction));
        let (now, ..) = drive.complete();
        drive.advance(now);
        futures.push(drive);
        (OracleHead { now, future: Some(futures.len() - 1) }, at.end().0)
    }

    /// A cached answer may come from anywhere on the drive, at once.
    fn least(&self, _: &OracleHead, _: u64, _: u64, _: Direction) -> u64 {
        0
    }

    fn ticks(&self, span: Span) -> u64 {
        span.0
    }

    fn arm(&self) -> Lbn {
        self.arm
    }

    fn approach(&self, now: Time, at: Extent, _: Extent, direction: Direction) -> Option<Approach> {
        let verb = if direction.writes() { Verb::Write { fua: true } } else { Verb::Read };
        let mut shadow = self.shadow.borrow_mut();
        shadow.advance(now);
        let (travel, wait) = shadow.approach(now, Command::new(verb, at, Place::Nowhere))?;
        let (layout, turn) = (&shadow.mechanics().layout, shadow.mechanics().rotation.period());
        let distance = shadow.track().cylinder.abs_diff(layout.locate(at.start).track.cylinder);
        Some(Approach { travel, busy: Span::ZERO, wait, turn, distance, cylinders: layout.cylinders() })
    }

    fn seek_time(&self, distance: u32) -> Span {
        self.shadow.borrow().mechanics().seek.time(distance)
    }

    fn midway(&self, now: Time, at: Extent, parts: u32, by: SeekBy) -> Option<Lbn> {
        let mut shadow = self.shadow.borrow_mut();
        let layout = &shadow.mechanics().layout;
        let on = layout.midway(shadow.track().cylinder, layout.locate(at.start).track.cylinder, parts);
        if by != SeekBy::Read {
            return Some(on);
        }
        shadow.advance(now);
        let command = Command::new(Verb::Read, Extent { start: on, blocks: 1 }, Place::Nowhere);
        let (_, wait) = shadow.approach(now, command)?;
        // The first sector that begins after the arm is there, if there is one before that block comes round.
        let (layout, mechanics) = (&shadow.mechanics().layout, shadow.mechanics());
        let sector = mechanics.sector_time(layout.locate(on).track.zone);
        let passed = mechanics.rotation.period().less(wait).0.div_ceil(sector.0.max(1)) + 1;
        let first = Lbn(on.0 + (passed << layout.sector_shift()));
        Some(if first < layout.track_bounds(on).1 { first } else { on })
    }

    fn follow_on(&self, now: Time, at: Extent) -> Span {
        let mut shadow = self.shadow.borrow().clone();
        shadow.issue(now, Tag(0), Command::new(Verb::Read, at, Place::Nowhere));
        shadow.next().map_or(Span::ZERO, |end| end.since(now))
    }

    fn completion_time(&self) -> Option<Time> {
        self.shadow.borrow().next()
    }

    fn turn(&self) -> Span {
        self.shadow.borrow().mechanics().rotation.period()
    }

    fn note_issue(&mut self, now: Time, command: &Command, _: Extent) {
        if command.verb.transfers() {
            self.arm = command.at.end();
        }
        let mut shadow = self.shadow.borrow_mut();
        if shadow.next().is_some() {
            shadow.complete();
        }
        shadow.issue(now, Tag(0), *command);
    }

    fn note_completion(&mut self, _: Time, _: &Command, _: Outcome) {
        let mut shadow = self.shadow.borrow_mut();
        if shadow.next().is_some() {
            shadow.complete();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use disk::catalogue;

    #[test]
    fn what_is_thought_of_comes_about() {
        for model in ["st318437lw", "nl20"] {
            let disk::Drive { sheet, truth } = catalogue::find(model).unwrap();
            let sheet = disk::Sheet { queue: disk::Queue { depth: 1, ..sheet.queue }, ..sheet };
            let mut oracle = Oracle::new(Drive::new(&sheet, &truth, 3));
            let at = |i: u64| Extent::new(i.wrapping_mul(7_919_777_777) % 30_000_000, 1 + (i % 50) as u32);
            let mut now = Time(0);
            for i in 0..300 {
                let way = |writes| if writes { Direction::Write } else { Direction::Read };
                let directions = [way(i % 3 == 0), way(i % 5 == 0)];
                let (head, _) = oracle.head(now);
                let (head, _) = oracle.head_after(&head, at(i), at(i), directions[0]);
                let (head, _) = oracle.head_after(&head, at(i + 1), at(i + 1), directions[1]);
                let foreseen = oracle.cost(&head, 0, at(i + 2), Direction::Read);
                for (i, direction) in (i..).zip(directions) {
                    let command = imagine_command(at(i), direction);
                    oracle.note_issue(now, &command, at(i));
                    now = oracle.completion_time().unwrap();
                    oracle.note_completion(now, &command, Outcome::Ok);
                }
                let (head, _) = oracle.head(now);
                assert_eq!(oracle.cost(&head, 0, at(i + 2), Direction::Read), foreseen, "{model}, {i}");
            }
        }
    }
}
