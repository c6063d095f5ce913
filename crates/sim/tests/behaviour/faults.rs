//! The world of faults: disks with contents, which fail at any instant, and clients who know what they wrote.
//!
//! A block holds one number. Commands take random times and come back in any order; what they do happens when they come back.
//! A disk that dies does what it had taken, or a part of it, or nothing. Every read is compared with what was last written
//! when it was submitted; at the end so is all that the disks hold.
//!
//! **Contents are checked by a world of their own.** `sim::faults` runs the same array over disks that hold a number
//! a block, copies and sums as told, and has disks die at any instant; every read is compared with what was last
//! written.

use crate::sums;
use block::errno::{ECANCELED, EIO};
use block::{Caps, Command, DiskId, Ending, Extent, Op, Outcome, Place, Qos, Request, RequestId, Tag, Time, Verb};
use load::Draw;
use sched::array::{Geometry, Level};
use sched::{Action, Health, Input, World};
use std::collections::{BTreeMap, BTreeSet};

/// What is to happen.
#[derive(Clone, Copy, Debug)]
pub struct Script {
    /// Where all that is random comes from.
    pub seed: u64,
    /// Requests in all.
    pub requests: u32,
    /// Outstanding at most.
    pub together: u32,
    /// Blocks of a request at most.
    pub longest: u32,
    /// The disks that fail.
    pub fails: [Option<Fails>; 2],
    /// Whether the core is told, or finds out.
    pub told: bool,
    /// One of so many reads from a disk fails; 0: none.
    pub misread: u64,
    /// One of so many requests is cancelled, or its QoS changed.
    pub amended: u64,
    /// A disk that takes many times as long for whatever it does.
    pub slow: Option<DiskId>,
    /// Whether most reads go on where the last one ended.
    pub streams: bool,
}

/// How many times as long a slow disk takes.
const SLOWER: u64 = 10;

/// A disk that fails.
#[derive(Clone, Copy, Debug)]
pub struct Fails {
    /// Which.
    pub disk: DiskId,
    /// When.
    pub at: Time,
    /// Whether an empty disk takes its place, and all of the array is repaired.
    pub replaced: bool,
}

/// How far a disk's failing has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Fate {
    #[default]
    Ahead,
    Failed,
    Replaced,
}

/// What came about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tale {
    /// Requests that ended well.
    pub finished: u32,
    /// That failed.
    pub failed: u32,
    /// That were dropped at their deadline.
    pub dropped: u32,
    /// Blocks read whose content was known and right.
    pub checked: u64,
    /// Commands issued.
    pub commands: u64,
    /// Reads that went on at another disk, where the core tells.
    pub moved: u64,
    /// Reads that were answered from a cache, and blocks that were read ahead, where it tells.
    pub cached: u64,
    pub ahead: u64,
    /// And those that the copy brought first which was asked besides.
    pub spared: u64,
}

struct Disk {
    /// What the blocks hold.
    holds: Vec<u64>,
    dead: bool,
    /// Whether what is in flight still counts.
    flying: Vec<Option<(Time, Command, bool)>>,
}

#[derive(Clone, Debug)]
struct Outstanding {
    request: Request,
    /// Its bytes: what is written, or what was read.
    memory: Vec<u64>,
    /// Of a read, who had written each block last when it was submitted; of a write, itself.
    writers: Vec<u32>,
    cancelled: bool,
}

/// The world.
pub struct Faults {
    geometry: Geometry,
    script: Script,
    draw: Draw,
    disks: Vec<Disk>,
    frames: BTreeMap<u32, Vec<u64>>,
    outstanding: Vec<Option<Outstanding>>,
    now: Time,
    due: Time,
    submitted: u32,
    /// Who wrote each block last; nobody: 0.
    writers: Vec<u32>,
    /// Writes that did not end well: what they leave is not known.
    unsure: BTreeSet<u32>,
    fates: [Fate; 2],
    /// Up to where repairs were asked for.
    repaired: u64,
    failed_repairs: u32,
    to_amend: Option<RequestId>,
    /// Where the last read ended.
    last_read: u64,
    tale: Tale,
}

/// What a write leaves in a block.
fn content(writer: u32, block: u64) -> u64 {
    if writer == 0 { 0 } else { (u64::from(writer) << 32 | block).wrapping_mul(0x9E37_79B9_7F4A_7C15) }
}

impl Faults {
    /// The disks of an array, empty, each of these capabilities.
    #[must_use]
    pub fn new(geometry: Geometry, caps: Caps, script: Script) -> Faults {
        let disk =
            || Disk { holds: vec![0; caps.blocks as usize], dead: false, flying: vec![None; usize::from(caps.depth)] };
        Faults {
            geometry,
            script,
            draw: Draw::new(script.seed, 0),
            disks: (0..geometry.disks()).map(|_| disk()).collect(),
            frames: BTreeMap::new(),
            outstanding: vec![None; script.together as usize],
            now: Time::ZERO,
            due: Time::ZERO,
            submitted: 0,
            writers: vec![0; geometry.blocks() as usize],
            unsure: BTreeSet::new(),
            fates: [Fate::Ahead; 2],
            repaired: 0,
            failed_repairs: 0,
            to_amend: None,
            last_read: 0,
            tale: Tale::default(),
        }
    }

    /// Compares all that the disks hold with what was written, and tells what came about.
    ///
    /// # Panics
    /// When a block is not what was last written, or parity or a copy does not agree.
    #[must_use]
    pub fn finish(mut self) -> Tale {
        if self.failed_repairs > 0 {
            // Then it is not known what is on what was to be filled.
            for (fails, _) in self.fated().filter(|(_, fate)| *fate == Fate::Replaced).collect::<Vec<_>>() {
                self.disks[usize::from(fails.disk.0)].dead = true;
            }
        }
        let left = self.outstanding.iter().flatten().next();
        assert!(left.is_none(), "seed {}: {left:?} never ended", self.script.seed);
        for (block, writer) in (0..).zip(&self.writers) {
            if self.unsure.contains(writer) {
                continue;
            }
            if let Some(held) = self.held(block) {
                assert_eq!(held, content(*writer, block), "seed {}: block {block} at the end", self.script.seed);
            }
        }
        self.agree();
        self.tale
    }

    /// What the array holds, from whichever disks there are.
    fn held(&self, block: u64) -> Option<u64> {
        let piece = self.geometry.pieces(Extent::new(block, 1)).next()?;
        let at = self.geometry.on_disk(piece.row, piece.within, 1).start.0 as usize;
        let of =
            |disk: DiskId| (!self.disks[usize::from(disk.0)].dead).then(|| self.disks[usize::from(disk.0)].holds[at]);
        let held = self.geometry.copies_of(piece.row, piece.column).find_map(of);
        if !self.geometry.has_parity() || held.is_some() {
            return held;
        }
        let slots = self.geometry.columns() + self.geometry.parities();
        let slots: Vec<_> = (0..slots).map(|slot| of(self.geometry.disk_of_slot(piece.row, slot))).collect();
        sums::recover(&slots, usize::from(self.geometry.columns()), usize::from(piece.column))
    }

    /// Copies and parities that are there agree wherever it is known who wrote last.
    fn agree(&self) {
        let seed = self.script.seed;
        for row in 0..self.geometry.rows() {
            for within in 0..self.geometry.unit() {
                let blocks = (0..self.geometry.columns()).map(|column| self.geometry.block(row, column, within));
                let sure = |block: block::Lbn| !self.unsure.contains(&self.writers[block.0 as usize]);
                if !blocks.clone().all(sure) {
                    continue;
                }
                let at = self.geometry.on_disk(row, within, 1).start.0 as usize;
                let there = |disk: DiskId| Some(&self.disks[usize::from(disk.0)]).filter(|disk| !disk.dead);
                let wrote: Vec<u64> = blocks.map(|block| content(self.writers[block.0 as usize], block.0)).collect();
                for (column, wrote) in (0..).zip(&wrote) {
                    for disk in self.geometry.copies_of(row, column).filter_map(there) {
                        assert_eq!(disk.holds[at], *wrote, "seed {seed}: column {column} of row {row}, {within}");
                    }
                }
                for parity in 0..self.geometry.parities() {
                    let disk = self.geometry.disk_of_slot(row, self.geometry.columns() + parity);
                    if let Some(disk) = there(disk) {
                        let sum = sums::parity(&wrote, parity);
                        assert_eq!(disk.holds[at], sum, "seed {seed}: parity {parity} of row {row}, {within}");
                    }
                }
            }
        }
    }

    /// The disks that fail, and how far that has come.
    fn fated(&self) -> impl Iterator<Item = (Fails, Fate)> {
        self.script.fails.iter().zip(&self.fates).filter_map(|(fails, fate)| Some(((*fails)?, *fate)))
    }

    /// The failing that goes on next, and when.
    fn next_fate(&self) -> Option<(Time, usize)> {
        let goes_on = |fails: &Fails, fate| fate == Fate::Ahead || (fate == Fate::Failed && fails.replaced);
        let fates = self.script.fails.iter().zip(&self.fates).enumerate();
        fates
            .filter_map(|(i, (fails, fate))| {
                let fails = fails.filter(|fails| goes_on(fails, *fate))?;
                Some((fails.at.max(self.now), i))
            })
            .min()
    }

    fn submission(&mut self) -> Option<Input> {
        let free = self.outstanding.iter().position(Option::is_none)?;
        self.submitted += 1;
        self.due = Time(self.now.0 + self.draw.below(400));
        let blocks = self.geometry.blocks();
        let length = 1 + self.draw.below(u64::from(self.script.longest).min(blocks)) as u32;
        let at = Extent::new(self.draw.below(blocks - u64::from(length) + 1), length);
        let repairs = self.to_repair() && (self.draw.below(2) == 0 || self.submitted > self.script.requests);
        let (op, at) = match self.draw.below(20) {
            _ if repairs => {
                let at = Extent::new(self.repaired, u64::from(length).min(blocks - self.repaired) as u32);
                self.repaired = at.end().0;
                (Op::Repair, at)
            }
            _ if self.goes_on(length) => (Op::Read, Extent::new(self.last_read, length)),
            0 => (Op::Flush, Extent::default()),
            1..=10 => (Op::Read, at),
            _ => (Op::Write { fua: self.draw.below(4) == 0 }, at),
        };
        let within = (at.start.0 as usize)..(at.end().0 as usize);
        let writer = self.submitted;
        if op == Op::Read {
            self.last_read = at.end().0;
        }
        if op.writes() {
            self.writers[within.clone()].fill(writer);
        }
        let fresh = (at.start.0..at.end().0).map(|block| if op.writes() { content(writer, block) } else { u64::MAX });
        let deadline = (self.draw.below(6) == 0).then(|| Time(self.now.0 + self.draw.below(4000)));
        let class = self.draw.below(3) as u8;
        let request = Request { id: RequestId(free as u32), op, at, qos: Qos { class, priority: class, deadline } };
        if self.script.amended > 0 && self.draw.below(self.script.amended) == 0 {
            self.to_amend = Some(request.id);
        }
        let (memory, writers) = (fresh.collect(), self.writers[within].to_vec());
        self.outstanding[free] = Some(Outstanding { request, memory, writers, cancelled: false });
        Some(Input::Submit(request))
    }

    /// Whether a request of so many blocks goes on with a stream.
    fn goes_on(&mut self, length: u32) -> bool {
        let fits = self.last_read + u64::from(length) <= self.geometry.blocks();
        self.script.streams && fits && self.draw.below(4) > 0
    }

    fn amendment(&mut self, id: RequestId) -> Input {
        let change = match self.draw.below(2) {
            0 => block::Change::Cancel,
            _ => block::Change::Qos(Qos { class: 1, priority: 2, deadline: None }),
        };
        if let Some(outstanding) = &mut self.outstanding[id.0 as usize] {
            outstanding.cancelled |= change == block::Change::Cancel;
        }
        Input::Amend(id, change)
    }

    /// Whether there is more to repair.
    fn to_repair(&self) -> bool {
        self.fates.contains(&Fate::Replaced) && self.repaired < self.geometry.blocks()
    }

    /// A disk dies, or an empty one takes its place.
    fn fate(&mut self, which: usize) -> Input {
        let Some(Fails { disk, .. }) = self.script.fails[which] else { panic!("nothing fails") };
        let it = &mut self.disks[usize::from(disk.0)];
        it.flying.iter_mut().flatten().for_each(|(.., counts)| *counts = false);
        if self.fates[which] == Fate::Ahead {
            self.fates[which] = Fate::Failed;
            it.dead = true;
            return if self.script.told { Input::Disk(disk, Health::Failed) } else { Input::Wake };
        }
        self.fates[which] = Fate::Replaced;
        it.dead = false;
        it.holds.fill(u64::MAX);
        // Of a row that was looked at before, this disk lacks its part.
        self.repaired = 0;
        Input::Disk(disk, Health::Replaced)
    }

    /// A place in memory, `blocks` long.
    fn memory(&mut self, place: Place, blocks: u32) -> &mut [u64] {
        let (memory, into) = match place {
            Place::Nowhere | Place::Scan => panic!("seed {}: bytes from nowhere", self.script.seed),
            Place::Request(id, into) => {
                let slot = self.outstanding[id.0 as usize].as_mut();
                (&mut slot.expect("the memory of a request that has ended").memory, into)
            }
            Place::Frame(id, into) => (self.frames.entry(id.0).or_default(), into),
        };
        let end = (into + blocks) as usize;
        if matches!(place, Place::Frame(..)) && memory.len() < end {
            memory.resize(end, u64::MAX);
        }
        &mut memory[into as usize..end]
    }

    fn completion(&mut self, disk: DiskId, tag: usize) -> Input {
        let number = usize::from(disk.0);
        let (_, command, counts) = self.disks[number].flying[tag].take().expect("it is in flight");
        let dead = !counts || self.disks[number].dead;
        let misread =
            self.script.misread > 0 && command.verb == Verb::Read && self.draw.below(self.script.misread) == 0;
        let all = command.at.blocks;
        // What a dying disk has done of it nobody knows.
        let done = if dead { self.draw.below(u64::from(all) + 1) as u32 } else { all };
        let at = command.at.start.0 as usize..command.at.start.0 as usize + done as usize;
        let replaced = self.fated().any(|(fails, fate)| fails.disk == disk && fate == Fate::Replaced);
        match command.verb {
            // What was meant for a disk that is gone does nothing to the one in its place.
            _ if dead && replaced => {}
            Verb::Read if !misread => {
                let held = self.disks[number].holds[at].to_vec();
                self.memory(command.place, done).copy_from_slice(&held);
            }
            Verb::Write { .. } => {
                let given = self.memory(command.place, done).to_vec();
                self.disks[number].holds[at].copy_from_slice(&given);
            }
            _ => {}
        }
        let outcome = if dead || misread { Outcome::Failed(EIO) } else { Outcome::Ok };
        Input::Done(disk, Tag(tag as u32), self.now, outcome)
    }

    /// Whether more may be lost than the array can bear.
    fn may_lose(&self) -> bool {
        let dead = self.fated().any(|(_, fate)| fate != Fate::Ahead);
        self.script.misread > 0 || (dead && self.geometry.level() == Level::Striped)
    }

    fn ended(&mut self, id: RequestId, how: Ending) {
        let seed = self.script.seed;
        let slot = self.outstanding[id.0 as usize].take();
        let Some(it) = slot else { panic!("seed {seed}: {id:?} ended twice") };
        match how {
            Ending::Finished => self.tale.finished += 1,
            Ending::Dropped => self.tale.dropped += 1,
            Ending::Failed(_) => self.tale.failed += 1,
        }
        match how {
            Ending::Finished if it.request.op == Op::Read => {
                let start = it.request.at.start.0;
                for ((block, read), writer) in (start..).zip(&it.memory).zip(&it.writers) {
                    if !self.unsure.contains(writer) {
                        assert_eq!(*read, content(*writer, block), "seed {seed}: block {block} of {:?}", it.request);
                        self.tale.checked += 1;
                    }
                }
            }
            Ending::Finished => {}
            Ending::Dropped => assert!(it.request.qos.deadline.is_some_and(|at| at <= self.now), "seed {seed}: {it:?}"),
            Ending::Failed(ECANCELED) => assert!(it.cancelled, "seed {seed}: {it:?}"),
            Ending::Failed(errno) => {
                assert!(errno == EIO && self.may_lose(), "seed {seed}: {:?} failed with {errno}", it.request);
            }
        }
        if how != Ending::Finished && it.request.op == Op::Repair {
            // Then it is not known what is on it.
            self.failed_repairs += 1;
        }
        if how != Ending::Finished && it.request.op.writes() {
            self.unsure.extend(it.writers.first());
        }
    }
}

impl World for Faults {
    fn next(&mut self, wake: Option<Time>, room: u32) -> Option<(Time, Input)> {
        if let Some(id) = self.to_amend.take() {
            return Some((self.now, self.amendment(id)));
        }
        let flying = self.disks.iter().enumerate().flat_map(|(disk, it)| {
            it.flying.iter().enumerate().filter_map(move |(tag, flying)| Some((flying.as_ref()?.0, disk, tag)))
        });
        let done = flying.min();
        let free = room > 0 && self.outstanding.iter().any(Option::is_none);
        let more = self.submitted < self.script.requests || self.to_repair();
        let submission = (free && more).then_some(self.due.max(self.now));
        let busy = self.submitted < self.script.requests;
        let death = self.next_fate().filter(|_| busy);
        let wake = wake.map(|wake| wake.max(self.now));
        let times = [done.map(|(at, ..)| at), death.map(|(at, _)| at), submission, wake];
        self.now = times.into_iter().flatten().min()?;
        if let Some((_, which)) = death.filter(|(at, _)| *at == self.now) {
            let input = self.fate(which);
            return Some((self.now, input));
        }
        let input = match done {
            Some((at, disk, tag)) if at == self.now => self.completion(DiskId(disk as u16), tag),
            _ if submission == Some(self.now) => self.submission()?,
            _ => Input::Wake,
        };
        Some((self.now, input))
    }

    fn act(&mut self, now: Time, action: Action) {
        match action {
            Action::Begin(_) => {}
            Action::Issue(disk, tag, command) => {
                self.tale.commands += 1;
                let took = (1 + self.draw.below(300)) * if self.script.slow == Some(disk) { SLOWER } else { 1 };
                let slot = &mut self.disks[usize::from(disk.0)].flying[tag.0 as usize];
                assert!(slot.is_none(), "seed {}: {tag:?} of {disk:?} is in use", self.script.seed);
                *slot = Some((Time(now.0 + took), command, true));
            }
            Action::Copy { from, to, blocks } => {
                let given = self.memory(from, blocks).to_vec();
                self.memory(to, blocks).copy_from_slice(&given);
            }
            Action::Xor { from, into, blocks, times } => {
                let given = self.memory(from, blocks).to_vec();
                for (sum, given) in self.memory(into, blocks).iter_mut().zip(given) {
                    let mut bytes = sum.to_le_bytes();
                    times.add_multiple(&given.to_le_bytes(), &mut bytes);
                    *sum = u64::from_le_bytes(bytes);
                }
            }
            Action::Finish(id, how) => self.ended(id, how),
            Action::GiveUp(_) | Action::Complete(_) | Action::Mend(..) | Action::Compare { .. } => {}
            Action::Record { .. } | Action::Forget(_) | Action::Log(_) | Action::Grown(..) => {}
            Action::Wait(..) | Action::Credit(_) | Action::HandOn(..) | Action::Bill(_) => {}
        }
    }
}
