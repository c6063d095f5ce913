//! Repairs from the first block to the last: rebuilding, once, or scrubbing, again and again.
//!
//! **Rebuilding is a load.** `Op::Repair` reads all that is kept of an extent and writes what is missing of it.
//! Rebuilding and scrubbing are workloads of such requests, with a class, a pace and results like any other.

use super::kind::{MOST_AT_ONCE, Manual, Recipe};
use super::{Draft, Workload, open};
use crate::draw::Draw;
use block::{BLOCK_BYTES, BadInput, Extent, Op, Span, Time, units};
use config::{About, Section};
use std::collections::VecDeque;
use std::path::Path;

config::keys! {
    /// Size of each request.
    SIZE: u32 = blocks("size").usually("256KiB");
    /// Requests outstanding at once.
    DEPTH: u32 = within("depth", 1, MOST_AT_ONCE).usually("1");
    /// When the first request arrives.
    START: Span = span("start").usually("0s");
    /// Most requests in a given time.
    RATE: f64 = rate("rate").else_told("no cap");
    /// Above so many requests in a given time, over the last half minute, the next one waits until all that are outstanding have
    /// ended: what Linux's md does above `sync_speed_min` while others ask.
    DRAIN_ABOVE: f64 = rate("drain_above").else_told("none waits");
}

/// Both kinds have the same keys.
const KEYS: &[About] = &[SIZE.about, DEPTH.about, START.about, RATE.about, DRAIN_ABOVE.about];

/// The array is read from its first block to its last, and what is missing of it brought back.
#[derive(Clone, Debug, PartialEq)]
pub struct RepairPlan {
    /// Blocks of a request; at least 1.
    pub blocks: u32,
    /// How many at once.
    pub depth: u32,
    /// The time at which it begins.
    pub start: Span,
    /// Whether it begins anew at the end: scrubbing.
    pub again: bool,
    /// Requests a second at most, where there is a cap.
    pub rate: Option<f64>,
    /// Requests a second above which each waits until those before it have ended.
    pub drain_above: Option<f64>,
}

const REBUILD: Manual = Manual {
    name: "rebuild",
    text: "An `[array]` is read once from its first block to its last, and what is missing of it is written: the rebuild after a disk was replaced.",
    keys: KEYS,
    only: &[],
    example: "kind = \"rebuild\"\nsize = \"1MiB\"\nrate = \"20/s\"",
    processes: false,
};

const SCRUB: Manual = Manual {
    name: "scrub",
    text: "An `[array]` is read from its first block to its last, again and again, and what cannot be read is written anew.",
    keys: KEYS,
    only: &[],
    example: "kind = \"scrub\"\nrate = \"2/s\"",
    processes: false,
};

impl Recipe for RepairPlan {
    const MANUALS: &'static [Manual] = &[REBUILD, SCRUB];

    fn read(name: &str, section: &Section, _: &Path) -> Result<RepairPlan, BadInput> {
        Ok(RepairPlan {
            blocks: section.value(&SIZE)?,
            depth: section.value(&DEPTH)?,
            start: section.value(&START)?,
            again: name == SCRUB.name,
            rate: open::rate(section, &RATE)?,
            drain_above: open::rate(section, &DRAIN_ABOVE)?,
        })
    }

    fn build(&self, _: &str, blocks: u64, _: Draw) -> Result<Box<dyn Workload>, BadInput> {
        Ok(Box::new(Sweep::new(self, blocks)))
    }

    fn longest(&self) -> u32 {
        self.blocks
    }

    fn is_endless(&self) -> bool {
        self.again
    }

    fn renewal(&self) -> Option<(u32, Span)> {
        (self.again && self.rate.is_none()).then_some((self.depth, Span::ZERO))
    }

    fn repairs(&self) -> bool {
        true
    }
}

struct Sweep {
    /// When each request that may be made arrives, in order.
    ready: VecDeque<Time>,
    next: u64,
    /// Blocks of the array, and of a request.
    all: u64,
    blocks: u32,
    again: bool,
    /// The least time between requests, where there is a cap.
    apart: Span,
    /// When the last was made.
    last: Option<Time>,
    ended: Option<Time>,
    outstanding: u32,
    /// When it began, and what has been repaired since, up to the last end of a request.
    began: Time,
    repaired: u64,
    until: Time,
    /// Blocks that could not be repaired.
    lost: u64,
    /// Blocks of the requests that ended since time last passed.
    at_once: u64,
    draining: Option<Draining>,
}

/// How fast it lately was, and whether that is so fast that it lets others go first (Linux 6.6, `md_do_sync`).
struct Draining {
    /// So many requests a second, and it lets others go first.
    above: f64,
    /// When so many requests had ended: a mark every `MARK_STEP` at most, the oldest first.
    marks: VecDeque<(Time, u64)>,
    ended: u64,
    /// Whether the next request waits for those that are outstanding.
    holds: bool,
}

/// `SYNC_MARKS` and `SYNC_MARK_STEP` of md: the pace is that of the last half minute.
const MARKS: usize = 10;
const MARK_STEP: Span = Span(3_000_000_000);

impl Draining {
    fn new(above: f64, began: Time) -> Draining {
        Draining { above, marks: VecDeque::from([(began, 0)]), ended: 0, holds: false }
    }

    /// A request ended at `now`.
    fn end_request(&mut self, now: Time) {
        self.ended += 1;
        let [(oldest, before), (newest, _)] = [self.marks[0], self.marks[self.marks.len() - 1]];
        // A second more, as md has it, so that the first requests count for little.
        self.holds = (self.ended - before) as f64 / (now.since(oldest).as_secs() + 1.0) > self.above;
        if now >= newest + MARK_STEP {
            self.marks.push_back((now, self.ended));
            self.marks.drain(..self.marks.len().saturating_sub(MARKS));
        }
    }
}

/// When so many rounds took no time, nothing is left that the disks could repair: time would stand still.
const IDLE_ROUNDS: u64 = 3;

impl Sweep {
    /// The requests of a plan on an array of `all` blocks.
    fn new(plan: &RepairPlan, all: u64) -> Sweep {
        Sweep {
            ready: vec![Time::ZERO + plan.start; plan.depth as usize].into(),
            next: 0,
            all,
            blocks: plan.blocks,
            again: plan.again,
            apart: plan.rate.map_or(Span::ZERO, |rate| Span((1e9 / rate) as u64)),
            last: None,
            ended: None,
            outstanding: 0,
            began: Time::ZERO + plan.start,
            repaired: 0,
            until: Time::ZERO + plan.start,
            lost: 0,
            at_once: 0,
            draining: plan.drain_above.map(|above| Draining::new(above, Time::ZERO + plan.start)),
        }
    }

    /// From when on a request may be made, for all that those before it do; nothing as long as it waits for them.
    fn find_start(&self) -> Option<Time> {
        match &self.draining {
            Some(draining) if draining.holds => (self.outstanding == 0).then_some(self.until),
            _ => Some(Time::ZERO),
        }
    }

    /// Blocks repaired in a second so far.
    fn pace(&self) -> f64 {
        self.repaired as f64 / self.until.since(self.began).as_secs().max(1e-9)
    }

    /// How long all of it takes at the pace so far.
    fn whole(&self) -> String {
        units::show_long(Span((self.all as f64 / self.pace() * 1e9) as u64))
    }

}

/// So many blocks a second, in bytes.
pub(super) fn show_pace(blocks: f64) -> String {
    let mb_s = blocks * BLOCK_BYTES as f64 / 1e6;
    if mb_s < 10.0 { format!("{mb_s:.2} MB/s") } else { format!("{mb_s:.1} MB/s") }
}

/// A share in per cent, to two digits at least: of a large array little is repaired in a short run.
pub(super) fn show_share(share: f64) -> String {
    let percent = 100.0 * share;
    let digits = (1..6).find(|digits| percent * 10f64.powi(*digits) >= 10.0).unwrap_or(6);
    format!("{percent:.*} %", digits as usize)
}

impl Workload for Sweep {
    fn due(&self) -> Option<Time> {
        let ready = (*self.ready.front().filter(|_| self.next < self.all)?).max(self.find_start()?);
        Some(self.last.map_or(ready, |last| ready.max(last + self.apart)))
    }

    fn make(&mut self) -> Result<Draft, BadInput> {
        let arrives = self.due().unwrap_or(Time::NEVER);
        self.ready.pop_front();
        self.last = Some(arrives);
        let blocks = (self.all - self.next).min(u64::from(self.blocks)) as u32;
        let at = Extent::new(self.next, blocks);
        self.next += u64::from(blocks);
        if self.again && self.next == self.all && self.at_once < IDLE_ROUNDS * self.all {
            self.next = 0;
        }
        self.outstanding += 1;
        Ok(Draft { arrives, op: Op::Repair, at })
    }

    fn end_request(&mut self, now: Time, at: Extent) {
        self.ready.push_back(now);
        self.repaired += u64::from(at.blocks);
        self.at_once = u64::from(at.blocks) + if now > self.until { 0 } else { self.at_once };
        self.until = now;
        self.outstanding -= 1;
        if let Some(draining) = &mut self.draining {
            draining.end_request(now);
        }
        if self.next == self.all && self.outstanding == 0 {
            self.ended = Some(now);
        }
    }

    fn note_failed(&mut self, at: Extent) {
        self.repaired -= u64::from(at.blocks);
        self.lost += u64::from(at.blocks);
    }

    fn notes(&self) -> Vec<String> {
        let lost = || format!("{} could not be repaired: too few disks hold any of it", units::show_blocks(self.lost));
        let lost = (self.lost > 0).then(lost);
        self.progress().into_iter().chain(lost).collect()
    }
}

impl Sweep {
    /// How far it came, and how fast.
    fn progress(&self) -> Option<String> {
        if self.repaired == 0 {
            return (!self.again).then(|| "nothing of it was repaired".into());
        }
        let pace = show_pace(self.pace());
        Some(match self.ended {
            _ if self.again => format!("scrubbed at {pace}: at this load all of it takes {}", self.whole()),
            Some(end) if self.lost == 0 => {
                let took = end.since(self.began);
                let (seconds, long) = (took.as_secs(), units::show_long(took));
                let long = if long.ends_with(" s") { String::new() } else { format!(" ({long})") };
                format!("all of it was repaired after {seconds:.1} s{long}, at {pace}")
            }
            _ => {
                let share = show_share(self.repaired as f64 / self.all.max(1) as f64);
                format!("{share} was repaired, at {pace}: at this load all of it takes {}", self.whole())
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// What is said after so many requests of a plan, each of which took a second and began when the one before had ended.
    fn note(all: u64, requests: u64, again: bool, start: u64) -> Vec<String> {
        let plan = RepairPlan { blocks: 2000, depth: 1, start: Span(start * SECOND), again, rate: None, drain_above: None };
        let mut sweep = Sweep::new(&plan, all);
        for _ in 0..requests {
            let draft = sweep.make().expect("it is to be repaired");
            sweep.end_request(draft.arrives + Span(SECOND), draft.at);
        }
        sweep.notes()
    }

    #[test]
    fn a_scrub_ends_once_its_rounds_take_no_time_and_what_failed_is_not_repaired() {
        let plan = RepairPlan { blocks: 2000, depth: 2, start: Span(0), again: true, rate: None, drain_above: None };
        let mut sweep = Sweep::new(&plan, 2000 * 5);
        let (mut now, mut failed) = (Time::ZERO, 0);
        while let Some(due) = sweep.due() {
            let draft = sweep.make().expect("it is to be repaired");
            now = now.max(due);
            // Until the array is lost, in its third second, each takes a third of one.
            if now < Time(3 * SECOND) { now += Span(SECOND / 3) } else { failed += 1 }
            sweep.end_request(now, draft.at);
            if now >= Time(3 * SECOND) {
                sweep.note_failed(draft.at);
            }
            assert!(failed < 100, "time stands still");
        }
        assert_eq!(sweep.notes().len(), 2, "{:?}", sweep.notes());
        assert!(sweep.notes()[1].contains("could not be repaired"), "{:?}", sweep.notes());
        // Where no more is asked for than one request, too, which takes time.
        let mut one = Sweep::new(&RepairPlan { depth: 1, ..plan }, 1000);
        for second in 1..9 {
            let draft = one.make().expect("it is to be repaired");
            one.end_request(Time(second * SECOND), draft.at);
        }
        assert!(one.due().is_some());
    }

    /// The seconds at which requests begin of which each takes a second, four at once at most.
    fn begin_times(drain_above: Option<f64>, count: usize) -> Vec<u64> {
        let plan = RepairPlan { blocks: 10, depth: 4, start: Span(0), again: false, rate: None, drain_above };
        let mut sweep = Sweep::new(&plan, 1 << 40);
        let (mut made, mut waiting) = (Vec::new(), VecDeque::new());
        while made.len() < count {
            let end = waiting.front().map_or(Time::NEVER, |(end, _): &(Time, Extent)| *end);
            match sweep.due().filter(|due| *due < end) {
                Some(_) => {
                    let draft = sweep.make().expect("it is to be repaired");
                    made.push(draft.arrives.0 / SECOND);
                    waiting.push_back((draft.arrives + Span(SECOND), draft.at));
                }
                None => {
                    let (end, at) = waiting.pop_front().expect("something is outstanding, or time stands still");
                    sweep.end_request(end, at);
                }
            }
        }
        made
    }

    #[test]
    fn above_a_pace_the_next_request_waits_until_all_have_ended() {
        // Each second four, and none between: those that end together are followed by as many.
        assert_eq!(begin_times(None, 12), [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]);
        assert_eq!(begin_times(Some(1e6), 12), begin_times(None, 12));
        // So slow that each request waits: only when all are ended the next is made, and that alone.
        assert_eq!(begin_times(Some(0.1), 12), [0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
        let draining = Draining::new(2.0, Time::ZERO);
        assert!(!draining.holds);
        // Three a second: above two as soon as md's extra second weighs little; below once it slows down, over half a minute.
        let mut draining = draining;
        (1..30).for_each(|third| draining.end_request(Time(third * SECOND / 3)));
        assert!(draining.holds);
        (20..120).for_each(|second| draining.end_request(Time(second * SECOND)));
        assert!(!draining.holds && draining.marks.len() == MARKS);
        assert!(draining.marks[0].0 > Time(85 * SECOND), "{:?}", draining.marks);
    }

    #[test]
    fn what_is_left_is_told_by_the_pace_so_far() {
        let long = 2000 * 3600 * 30;
        assert_eq!(note(long, 3600, false, 50), ["3.3 % was repaired, at 1.02 MB/s: at this load all of it takes 30.0 h"]);
        assert_eq!(note(long, 30, false, 0), ["0.028 % was repaired, at 1.02 MB/s: at this load all of it takes 30.0 h"]);
        assert_eq!(note(2000 * 100, 3, true, 0), ["scrubbed at 1.02 MB/s: at this load all of it takes 100.0 s"]);
        // Scrubbing goes round.
        assert_eq!(note(2000 * 100, 250, true, 9), ["scrubbed at 1.02 MB/s: at this load all of it takes 100.0 s"]);
        assert_eq!(note(2000 * 7, 7, false, 0), ["all of it was repaired after 7.0 s, at 1.02 MB/s"]);
        let after = "all of it was repaired after 900.0 s (15.0 min), at 1.02 MB/s";
        assert_eq!(note(2000 * 900, 900, false, 60), [after]);
        assert_eq!((note(2000, 0, false, 0), note(2000, 0, true, 0)), (vec!["nothing of it was repaired".into()], vec![]));
    }
}
