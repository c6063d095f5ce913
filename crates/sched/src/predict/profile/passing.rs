//! What passes under the head before a request comes round: on the track it is on, on that of the request, and on any other
//! that can be had on the way. Blocks read there cost the request nothing (freeblock scheduling; Lumb, Schindler, Ganger et al.,
//! OSDI 2000).

use super::{Profile, ReadAhead};
use crate::predict::{Goal, Passing, Predictor};
use block::{Direction, Extent, Lbn, Span, Time};
use disk::{Passage, Spin, Spot, Track};

impl Profile {
    /// What a command that is given now comes to, if there is time before it to read something else: while it waits for its first
    /// block. Of its wait as much is left as arrivals are found to be late by.
    pub(super) fn find_goal(
        &self,
        now: Time,
        at: Extent,
        spot: Spot,
        direction: Direction,
        still: Span,
    ) -> Option<Goal<Spot>> {
        if self.follows(at, direction) || self.undisturbed <= super::WRITE_BACK {
            return None;
        }
        self.phase.at(now)?;
        let (arrived, passage, lag) = self.foresee(now, at, spot, direction);
        let before = |margin: Span| Time(passage.began.0.saturating_sub(margin.0));
        // After a move what is rarely too late is enough: a late arrival costs one in so few requests a revolution that nobody is the
        // wiser, and more than that would be taken from each find.
        let (by, by_still) = (before(self.early()), before(still));
        if by_still <= arrived {
            return None;
        }
        // What is taken on arrival, wherever that is, ends when it likes.
        let later = self.pass_from(by_still, at, spot, direction);
        let end = passage.end + lag;
        let leaves = self.leaves(now);
        let elsewhere = self.most_elsewhere(by, leaves, spot, direction);
        let goal = Goal { at, spot, direction, by, by_still, end, leaves, elsewhere };
        (later.0.end + later.1 == end).then_some(goal)
    }

    /// The most blocks that can be had on a third track on the way to one: what passes in the time that the shortest two moves, over as
    /// many cylinders or one less and one, leave.
    fn most_elsewhere(&self, by: Time, (leaves, from): (Time, Spot), to: Spot, direction: Direction) -> u64 {
        let drive = &*self.mechanics;
        let step = drive.seek.time(1).min(drive.switches.head);
        let distance = from.track.cylinder.abs_diff(to.track.cylinder);
        let moves = drive.curve(direction).time(distance.saturating_sub(1)).max(step) + step;
        let after = leaves + moves + self.early() + self.overhead_after_read(direction) + self.overheads.done.read;
        let sector = drive.sector_time(to.track.zone).min(drive.sector_time(from.track.zone));
        // Before its arm leaves, a drive that reads on ends the sector behind.
        (by.since(after).0 / sector.0.max(1)).saturating_sub(1) << drive.layout.sector_shift()
    }

    /// A transfer under a head that is there at a time, and by how much it comes back later.
    fn pass_from(&self, from: Time, at: Extent, spot: Spot, direction: Direction) -> (Passage, Span) {
        if direction.writes() {
            let passage = self.mechanics.pass(&self.phase, from, spot, at, Direction::Write);
            return (passage, self.way.write_lag(at.blocks, &passage));
        }
        self.way.read(&self.mechanics, &self.phase, from, spot, at, from)
    }

    /// The overhead of a command that comes after a read, and waits for it in the drive where commands do.
    fn overhead_after_read(&self, direction: Direction) -> Span {
        let overhead = if direction.writes() { self.overheads.write } else { self.overheads.read };
        self.overheads.queued.filter(|_| self.in_order > 0).unwrap_or(overhead.a(Direction::Read))
    }

    /// How long a command for the goal takes from when it is given, after a read that ended on this track, until the arm is there
    /// and may begin; what is left of the sector that the drive reads on apart.
    fn leave(&self, track: Track, goal: &Goal<Spot>) -> Span {
        self.overhead_after_read(goal.direction) + self.mechanics.stroke(track, goal.spot.track, goal.direction).total()
    }

    /// The blocks of the track of a block that pass while the arm can be there.
    pub(super) fn find_passing(&self, now: Time, on: Lbn, goal: Option<&Goal<Spot>>, still: Span) -> Option<Passing> {
        self.phase.at(now)?;
        let layout = &self.mechanics.layout;
        let spot = layout.locate(on);
        let shift = layout.sector_shift();
        let leaves = goal.map_or_else(|| self.leaves(now), |goal| goal.leaves);
        let (arrived, is_there) = self.arrive(leaves, spot.track);
        let from = arrived + if is_there { still } else { self.early() };
        let (width, sector) = (layout.sector_angle(spot.track.zone), self.mechanics.sector_time(spot.track.zone));
        let until = match goal {
            None => from + self.turn(),
            Some(goal) => {
                let after = self.leave(spot.track, goal) + self.overheads.done.read + sector;
                let by = if spot.track == goal.spot.track { goal.by_still } else { goal.by };
                Time(by.0.saturating_sub(after.0))
            }
        };
        if until <= from {
            return None;
        }
        let all = (u64::MAX / width).max(1);
        // Sectors count from the first of those that follow one another here.
        let first = (on.0 >> shift) - u64::from(spot.before);
        let angle = spot.angle.wrapping_sub(width.wrapping_mul(u64::from(spot.before)));
        let offset = self.phase.phase(from).wrapping_sub(angle);
        let skip = offset.div_ceil(width);
        let wait = self.phase.turning(skip.wrapping_mul(width).wrapping_sub(offset));
        let count = (until.since(from).less(wait).0 / sector.0.max(1)).min(all);
        let held = u64::from(spot.before + spot.left);
        let place = |at: u64| Lbn(((first + at.min(held)) << shift).min(layout.blocks()));
        let range = |low: u64, high: u64| (place(low), place(high));
        let (skip, last) = (skip % all, skip % all + count);
        let wrapped = last.saturating_sub(all).min(skip);
        let longest = self.overheads.large.map_or(u32::MAX, |large| large.above);
        let ranges = [range(skip, last.min(all)), range(0, wrapped)];
        Some(Passing { ranges, blocks: count << shift, longest, track_end: place(held) })
    }

    /// The block of the track of a block that passes first when the arm can be there; that block itself where nobody knows.
    pub(super) fn find_first_passing(&self, now: Time, on: Lbn) -> Lbn {
        let passing = self.find_passing(now, on, None, Span::ZERO);
        let ranges = passing.into_iter().flat_map(|passing| passing.ranges);
        ranges.into_iter().find(|(from, to)| from < to).map_or(on, |(from, _)| from)
    }

    /// When the arm may leave for something else, and where it is then, where a command that is given `given` has this overhead: a
    /// drive that reads on finishes its sector, or is on its way to the next track.
    fn departure(&self, ahead: &ReadAhead, given: Time, overhead: Span) -> (Time, Spot) {
        let ready = given + overhead;
        if !self.reads_ahead {
            return (ready, ahead.so_far.after);
        }
        let stopped = ahead.stop(&self.mechanics, &self.phase, ready);
        (ready.max(stopped.at), stopped.after)
    }

    /// The same for a read given now.
    fn leaves(&self, now: Time) -> (Time, Spot) {
        let overhead = self.overheads.read.a(self.last);
        match self.left.ahead.as_ref().filter(|_| self.left.reading) {
            Some(ahead) => self.departure(ahead, now, overhead),
            None => (now + overhead, Spot { track: self.left.track, ..Spot::default() }),
        }
    }

    /// When an arm that may leave then is on a track, and whether it need not move.
    fn arrive(&self, (leaves, from): (Time, Spot), track: Track) -> (Time, bool) {
        let stroke = self.mechanics.stroke(from.track, track, Direction::Read).total();
        (leaves + stroke, stroke == Span::ZERO)
    }

    /// When a read given now comes back, if the goal is then reached as if it were given now; and that end is known.
    pub(super) fn find_end(&self, now: Time, at: Extent, goal: Option<&Goal<Spot>>) -> Option<Time> {
        let (end, ahead) = match self.go_on(now, at) {
            Some(it) => (now + it.took, it.ahead),
            None => {
                let spot = self.spot(at);
                let leaves = goal.map_or_else(|| self.leaves(now), |goal| goal.leaves);
                let (arrived, _) = self.arrive(leaves, spot.track);
                let (passage, lag) = self.way.read(&self.mechanics, &self.phase, arrived, spot, at, now);
                let ahead = ReadAhead::behind(&self.cache, &self.mechanics.layout, at, &passage);
                (passage.end + lag, ahead)
            }
        };
        let Some(goal) = goal else { return Some(end) };
        let overhead = self.overhead_after_read(goal.direction);
        let (leaves, from) = self.departure(&ahead, end, overhead);
        let stroke = self.mechanics.stroke(from.track, goal.spot.track, goal.direction).total();
        let mut there = leaves + stroke;
        if goal.direction.writes() {
            let sector = self.mechanics.sector_time(goal.spot.track.zone);
            there = there.max(self.way.write_from(end, overhead, sector, goal.at, false));
        }
        (there <= if stroke == Span::ZERO { goal.by_still } else { goal.by }).then_some(end)
    }
}
