//! The reference drive: commands one at a time or queued, what it does on its own between them, sector by sector.

use crate::bus::Bus;
use crate::compare::ROUNDING;
use crate::medium::{Head, Medium};
use crate::queue::Waiting;
use crate::reads::Ahead;
use crate::segments::{Segments, Versions};
use crate::writes::{Back, Dirty};
use block::Extent;
use disk::{After, Cache, DrivePlan, Overheads, Queue};
use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;

/// What a command did.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    pub end: u64,
    /// Whether the arm had no part in it.
    pub from_memory: bool,
}

/// Why a right drive may do otherwise: two times that decide something differ by no more than their roundings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ties {
    /// Of two commands that wait the arm can begin both at once.
    pub commands: bool,
    /// Of two extents that wait for write-back it can.
    pub extents: bool,
    /// Data come as a sector begins or ends that they could be written in, or after.
    pub data: bool,
    /// A head comes as a sector can just be caught.
    pub sectors: bool,
}

#[derive(Clone)]
pub struct Machine {
    pub medium: Rc<Medium>,
    pub overheads: Overheads,
    pub cache: Cache,
    pub bus: Bus,
    pub write_watermark: f64,
    /// Blocks of a sector.
    pub sector: u64,
    pub blocks: u64,
    /// Where the arm is once it is free, and when that is.
    pub head: Head,
    pub segments: Segments,
    pub ahead: Option<Ahead>,
    pub back: Option<Back>,
    /// What waits in the write buffer, in order of arrival, and the room all of it takes that is not on the medium.
    pub dirty: VecDeque<Dirty>,
    pub used: u64,
    /// Blocks taken into the buffer since the drive rested, and when the last of them were there.
    pub taken: (u64, u64),
    /// The block after the last one written to the medium.
    pub written: Option<u64>,
    /// The block after the last command, if that was a write.
    pub last_write: Option<u64>,
    /// Versions of blocks: on the medium, and as last acknowledged.
    pub on_medium: Versions,
    pub current: Versions,
    pub version: u32,
    /// Reads answered with anything but what was last written.
    pub stale: u64,
    pub ties: Cell<Ties>,
    pub rules: Queue,
    /// Commands whose end is known, and those that wait.
    pub flying: Vec<(u32, Answer)>,
    pub waiting: Vec<Waiting>,
    /// Commands that were given up as their limits say.
    pub given_up: Vec<u32>,
    /// The longest way to a block, where that is asked.
    pub longest: u64,
    /// Whether the command that is being begun waited for the drive's own writes alone.
    pub waits_for_writes: bool,
    /// How many commands began, and when the last of them did.
    pub begun: u64,
    pub turn: u64,
    /// When it is looked at next what has the arm.
    pub decision: Option<u64>,
    /// Until when a command has the arm.
    pub held: u64,
    /// Blocks of the command begun last, and whether it went upwards to them.
    pub served: (u64, u64),
    pub ascends: bool,
    /// Until when a command has what is buffered written: nothing is taken in meanwhile.
    pub drained: u64,
    /// The segment a command with the arm reads into, and from which block on that has not come.
    pub filling: Option<(usize, u64)>,
    /// When the last read from the medium has left the bus, and the last other.
    pub delivered: u64,
    pub exchanged: u64,
    /// The last write-back that was completed.
    pub completed: Option<Back>,
}

impl Machine {
    pub fn new(plan: &DrivePlan, seed: u64) -> Machine {
        let medium = Rc::new(Medium::new(plan, seed));
        let sector = u64::from(plan.layout.sector_blocks);
        let blocks = plan.layout.blocks.unwrap_or(medium.places.len() as u64 * sector);
        let head = medium.arrive(&medium.places[0], 0);
        Machine {
            overheads: plan.overheads,
            cache: Cache { read_ahead: plan.cache.read_ahead.min(plan.cache.segment), ..plan.cache },
            bus: Bus::new(plan),
            write_watermark: plan.bus.write_watermark,
            sector,
            blocks,
            head,
            segments: Segments::new(plan.cache.segments, plan.cache.segment),
            ahead: None,
            back: None,
            dirty: VecDeque::new(),
            taken: (0, 0),
            used: 0,
            written: None,
            last_write: None,
            on_medium: Versions::new(),
            current: Versions::new(),
            version: 0,
            stale: 0,
            ties: Cell::default(),
            rules: plan.queue,
            flying: Vec::new(),
            waiting: Vec::new(),
            given_up: Vec::new(),
            longest: if plan.queue.heeds_marks() { medium.longest_access() } else { 0 },
            waits_for_writes: false,
            begun: 0,
            turn: 0,
            decision: None,
            held: 0,
            served: (0, 0),
            ascends: true,
            drained: 0,
            filling: None,
            delivered: 0,
            exchanged: 0,
            completed: None,
            medium,
        }
    }

    /// The host saw a command end at `end`: within the roundings, that is when.
    pub fn adopt(&mut self, ours: u64, end: u64) {
        for last in self.dirty.iter_mut().filter(|last| last.acknowledged == ours) {
            let late = |time: u64| (time + end).saturating_sub(ours);
            (last.ready, last.data, last.acknowledged) = (late(last.ready), last.data.map(late), end);
        }
    }

    /// What the drive does by itself up to `now`, decisions about what waits among it.
    pub fn advance(&mut self, now: u64) {
        while let Some(at) = self.decision.filter(|at| *at <= now) {
            self.work(at);
            self.decide(at);
        }
        self.work(now);
    }

    /// What the arm does on its own up to `now`: what it writes back, then what it reads ahead; and unless commands wait, it
    /// writes back whatever is there as soon as it has nothing else to do.
    fn work(&mut self, now: u64) {
        loop {
            if self.back.is_some() {
                self.write_back_until(u64::MAX, now);
                if self.back.is_some() {
                    return;
                }
            }
            if self.ahead.is_some() {
                self.read_ahead_until(now);
                if self.ahead.is_some() {
                    return;
                }
            }
            match self.dirty.front() {
                // Also where a command comes at the very moment, but for its rounding: no host is as quick as the drive itself.
                Some(first) if first.ready.max(self.free()) <= now + ROUNDING && self.waiting.is_empty() => {
                    self.start_write_back(0);
                }
                _ => return,
            }
        }
    }

    /// What ties there were.
    pub fn all_ties(&self) -> Ties {
        Ties { sectors: self.medium.just_caught.get(), ..self.ties.get() }
    }

    /// Whether a time is no later than another, but for roundings; which may be one reason to differ.
    pub fn is_by(&self, time: u64, now: u64) -> bool {
        if time.abs_diff(now) <= ROUNDING && time != now {
            self.ties.set(Ties { data: true, ..self.ties.get() });
        }
        time <= now + ROUNDING
    }

    /// When the arm is free, its own work aside.
    pub fn free(&self) -> u64 {
        self.medium.time(&self.head)
    }

    pub fn overhead(&self, class: After) -> u64 {
        if self.last_write.is_some() { class.write.0 } else { class.read.0 }
    }

    /// The same before the arm moves, for a command that may have waited behind others.
    pub fn queued_overhead(&self, class: After, queued: bool) -> u64 {
        self.overheads.queued.filter(|_| queued).map_or(self.overhead(class), |span| span.0)
    }

    /// A command has the arm until it is free.
    pub fn hold(&mut self) {
        (self.held, self.filling) = (self.free(), None);
    }

    /// The arm goes to where `at` begins, for a command that may move it at `ready`. Where it is then.
    pub fn approach(&self, from: &Head, start: u64, at: u64, write: bool) -> Head {
        let to = &self.medium.places[(at / self.sector) as usize];
        let random = write && self.written != Some(at);
        let mut span = self.medium.stroke(from, to, random);
        if random {
            span = span.max(self.overheads.least_seek.0);
        }
        self.medium.arrive(to, start + span)
    }

    pub fn seek(&mut self, now: u64, at: Extent, queued: bool) -> Answer {
        if self.cache.ends_at_command {
            self.stop_read_ahead(now);
        }
        let start = self.take_arm(now + self.queued_overhead(self.overheads.read, queued));
        self.head = self.approach(&self.head, start, at.start.0, false);
        self.hold();
        Answer { end: self.free() + self.overheads.done.read.0, from_memory: false }
    }

    /// Ends what the drive does on its own: a write-back when it is complete, all of them where they go first; a read-ahead at
    /// the first end of a sector at or after `ready`. When the arm can go.
    pub fn take_arm(&mut self, ready: u64) -> u64 {
        let wrote = self.waits_for_writes || self.back.is_some() || !self.dirty.is_empty();
        self.finish_write_back();
        if self.cache.drain != disk::Drain::Soonest {
            while self.dirty.front().is_some_and(|dirty| dirty.ready <= ready) {
                self.stop_read_ahead(ready);
                self.start_write_back(0);
                self.finish_write_back();
            }
        }
        self.stop_read_ahead(ready);
        let drained = self.cache.drain == disk::Drain::AllSoonest && wrote && self.free() > ready;
        self.free().max(ready).max(self.held) + if drained { self.overheads.write.write.0 } else { 0 }
    }

    /// Sectors that hold any of these blocks.
    pub fn sectors(&self, start: u64, end: u64) -> (u64, u64) {
        (start / self.sector, end.div_ceil(self.sector))
    }

    /// How a transfer runs on, sector by sector, from block `reached` under `head` towards block `limit`: until the first end of a
    /// sector at or after `now`. A move to the next track is ended once begun; waiting for a sector to come is not.
    pub fn run_on(&self, head: &Head, reached: u64, limit: u64, now: u64, write: bool) -> (u64, Head) {
        let (mut head, mut reached) = (*head, reached);
        let mut next = reached.div_ceil(self.sector);
        if reached % self.sector != 0 {
            next = reached / self.sector;
        }
        let end = limit.min(self.blocks).div_ceil(self.sector);
        // The end of a sector that is `now`, but for its rounding, is now.
        let before = |head: &Head| self.medium.time(head).saturating_add(ROUNDING) < now;
        while next < end && before(&head) {
            head = self.medium.cross(&head, next, write);
            if !before(&head) {
                break;
            }
            let (passed, then) = self.medium.pass(&head, next);
            if passed.began > now {
                head.moment = crate::spin::Moment::Time(now);
                break;
            }
            (head, next) = (then, next + 1);
            reached = reached.max(next * self.sector);
        }
        (reached, head)
    }
}

/// Blocks of a drive.
pub fn capacity(plan: &DrivePlan) -> u64 {
    let sectors = crate::places::places(&plan.layout).len() as u64;
    plan.layout.blocks.unwrap_or(sectors * u64::from(plan.layout.sector_blocks))
}
