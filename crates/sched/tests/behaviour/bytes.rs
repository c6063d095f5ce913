//! What stands in each block: an array whose disks hold bytes, and memory that is overwritten as soon as it may be. Whoever reads
//! gets what was written last, whatever the level, the copies that are left, and the way that bytes take through frames.

mod raising;
mod trading;

use crate::toy::Dice;
use block::errno::{ECANCELED, EIO};
use block::{
    Caps, Change, Command, DiskId, Ending, Extent, Op, Outcome, Place, Qos, Request, RequestId, Tag, Time, Verb,
};
use sched::array::{Array, ArrayPlan, Geometry, JournalArea, Level};
use sched::plan::{ClassRule, Rules};
use sched::policy::{Beside, usual};
use sched::predict::Distance;
use sched::{Action, Core, Health, Input, LogNews, LogOrder, Scheduler};
use std::collections::BTreeMap;

/// Blocks of a unit, of which a part can be read from each copy, and of a disk.
const UNIT: u32 = 300;
const EACH: u64 = 1200;
const DISKS: u16 = 4;
/// Behind what an array has of a disk, where there is one: room for records that are too short for a unit.
const JOURNAL: JournalArea = JournalArea { first: EACH, blocks: 4 * 60 };
/// Requests at once, and in all.
const TOGETHER: usize = 6;
const ASKED: u32 = 60;

/// What an array keeps beside its disks: blocks of its write buffer, whether that is in a log, and records of rows.
#[derive(Clone, Copy, Debug)]
struct Kept {
    buffer: u64,
    logged: bool,
    journal: Option<JournalArea>,
}

/// A request inside the array.
struct Inside {
    request: Request,
    /// Its memory, and what is to stand there when it has ended.
    memory: Vec<u64>,
    expected: Vec<u64>,
    cancelled: bool,
}

struct Bytes {
    array: Array<Distance>,
    disks: Vec<Vec<u64>>,
    failed: Vec<DiskId>,
    /// The one that is being filled, of which no row rests on what is written to it; those that were.
    filling: Option<DiskId>,
    complete: Vec<DiskId>,
    /// How many may still fail.
    spare: u16,
    /// Disks that were said to be given up; the part of a row that each record is about, by its place.
    gone: Vec<DiskId>,
    /// Of those the ones of which the others do not know yet.
    unknown: Vec<DiskId>,
    records: BTreeMap<u8, Extent>,
    recorded: u32,
    journals: bool,
    geometry: Geometry,
    /// Rows that have moved, of which the disks do not know yet.
    moved: Option<u64>,
    frames: BTreeMap<u32, Vec<u64>>,
    inside: Vec<Option<Inside>>,
    flying: Vec<(DiskId, Tag, Command)>,
    /// What was written last.
    current: Vec<u64>,
    /// Whether a log is to be given up; below which number its writes are settled; how many there were.
    drained: bool,
    settled: u64,
    logged: u64,
    dice: Dice,
    out: Vec<Action>,
}

/// Each byte times a factor in the field of 256 elements, bit by bit.
fn times(bytes: u64, factor: u8) -> u64 {
    (0..8).rev().fold(0, |sum: u64, bit| {
        let carried = (sum >> 7) & 0x0101_0101_0101_0101;
        let doubled = ((sum & 0x7f7f_7f7f_7f7f_7f7f) << 1) ^ (carried * 0x1d);
        doubled ^ if (factor >> bit) & 1 == 1 { bytes } else { 0 }
    })
}

impl Bytes {
    fn new(level: Level, Kept { buffer, logged, journal }: Kept, seed: u64) -> Bytes {
        let each = EACH + u64::from(JOURNAL.blocks);
        let caps = Caps { blocks: each, depth: 2, seek: block::SeekBy::Nothing, arms: 1 };
        let geometry = Geometry::new(level, DISKS, UNIT, EACH).expect("an array");
        let rules = Rules { classes: vec![ClassRule { splits: true, ..ClassRule::USUAL }], ..Rules::default() };
        let core = |rules: Rules| {
            let make = || usual("fcfs").make(&Beside::default());
            Core::new(caps, u32::MAX, Distance::default(), rules, Box::new(make))
        };
        let plan = ArrayPlan { buffer, logged, journal, ..ArrayPlan::default() };
        let cores = (0..=DISKS).map(|_| core(rules.clone())).collect();
        Bytes {
            array: Array::new(geometry, plan, rules, TOGETHER as u32, cores),
            disks: vec![vec![0; each as usize]; usize::from(DISKS) + 1],
            failed: Vec::new(),
            filling: None,
            complete: Vec::new(),
            spare: level.redundancy(),
            gone: Vec::new(),
            unknown: Vec::new(),
            records: BTreeMap::new(),
            recorded: 0,
            journals: journal.is_some() && geometry.has_parity(),
            geometry,
            moved: None,
            frames: BTreeMap::new(),
            inside: (0..TOGETHER).map(|_| None).collect(),
            flying: Vec::new(),
            current: vec![0; geometry.blocks() as usize],
            drained: false,
            settled: 1,
            logged: 0,
            dice: Dice(seed),
            out: Vec::new(),
        }
    }

    /// So many blocks of memory.
    fn memory(&mut self, place: Place, blocks: u32) -> &mut [u64] {
        let (memory, into) = match place {
            Place::Request(id, into) => {
                let it = self.inside[id.0 as usize].as_mut().expect("its memory is still its own");
                (&mut it.memory, into as usize)
            }
            Place::Frame(frame, into) => {
                let frame = self.frames.entry(frame.0).or_default();
                let end = (into + blocks) as usize;
                frame.resize(frame.len().max(end), 0x1234_5678_9abc_def0);
                (frame, into as usize)
            }
            Place::Nowhere | Place::Scan => panic!("blocks without memory"),
        };
        &mut memory[into..into + blocks as usize]
    }

    fn handle(&mut self, input: Input) {
        let mut out = std::mem::take(&mut self.out);
        self.array.handle(Time(1), input, &mut out);
        for action in out.drain(..) {
            match action {
                Action::Issue(disk, tag, command) => {
                    if let Place::Request(id, _) = command.place {
                        let it = self.inside[id.0 as usize].as_ref().expect("it is inside");
                        assert!(!it.cancelled, "{command:?} for one that was cancelled");
                    }
                    self.check_write(disk, &command);
                    self.flying.push((disk, tag, command));
                }
                Action::Record { start, blocks, slot, .. } => {
                    self.recorded += 1;
                    let at = Extent::new(start, blocks.into());
                    // Where a disk has failed meanwhile, it is put down once more.
                    let before = self.records.insert(slot, at);
                    assert!(before.is_none_or(|before| before == at), "place {slot}: {before:?}");
                }
                Action::Forget(slot) => drop(self.records.remove(&slot)),
                Action::GiveUp(disk) => {
                    self.gone.push(disk);
                    self.unknown.push(disk);
                    let is_row = |(_, _, it): &&(DiskId, Tag, Command)| it.verb.writes() && self.has_parity_at(it.at);
                    let torn = self
                        .flying
                        .iter()
                        .filter(is_row)
                        .find(|(disk, ..)| !self.failed.contains(disk) && self.filling != Some(*disk));
                    assert!(!self.journals || torn.is_none(), "{torn:?} when {disk:?} is given up");
                }
                Action::Copy { from, to, blocks } => {
                    let from = self.memory(from, blocks).to_vec();
                    self.memory(to, blocks).copy_from_slice(&from);
                }
                Action::Xor { from, into, blocks, times: factor } => {
                    let from = self.memory(from, blocks).to_vec();
                    let into = self.memory(into, blocks).iter_mut();
                    into.zip(from).for_each(|(sum, term)| *sum ^= times(term, factor.0));
                }
                Action::Complete(disk) => self.complete.push(disk),
                Action::Grown(_, grown) => self.moved = Some(grown.rows),
                Action::Log(order) => self.log(order),
                Action::Finish(id, how) => {
                    assert!(
                        !self.journals || self.unknown.is_empty(),
                        "{id:?} ends, and {:?} are still counted",
                        self.unknown
                    );
                    let it = self.inside[id.0 as usize].take().expect("it ends once");
                    let Inside { request, memory, expected, cancelled } = it;
                    let ending = if cancelled { Ending::Failed(ECANCELED) } else { Ending::Finished };
                    // It may have ended before, and not have been told until a disk was given up.
                    let ended = self.journals && how == Ending::Finished;
                    // Rows do not move while a disk is lacking.
                    let lacks = !self.failed.is_empty() || self.filling.is_some();
                    let is_left = request.op == Op::Move && how == Ending::Failed(EIO) && lacks;
                    let ended = ended || is_left;
                    assert!(ended || how == ending, "{request:?}: {how:?} with {:?} failed", self.failed);
                    assert!(cancelled || memory == expected, "{request:?} with {:?} failed", self.failed);
                }
                _ => {}
            }
        }
        self.out = out;
    }

    /// Whether an extent of a disk is of a row that has parity.
    fn has_parity_at(&self, at: Extent) -> bool {
        let row = self.geometry.place(at.start.0).map(|(row, _)| row).filter(|row| *row < self.geometry.rows());
        row.is_some_and(|row| self.geometry.layout_of(row).has_parity())
    }

    /// A write ends when it is in the log, whose room is had again in order.
    fn log(&mut self, order: LogOrder) {
        match order {
            LogOrder::Write { number, request, at, place } => {
                self.logged += 1;
                assert_eq!(number, self.logged);
                let it = self.inside[request.0 as usize].take().expect("it ends once");
                assert!(
                    it.request.at == at && self.memory(place, at.blocks) == it.memory,
                    "{at:?} is in the log otherwise"
                );
            }
            LogOrder::Settled(below) => {
                assert!(self.settled <= below && below <= self.logged + 1);
                let is_known = |disk: &DiskId| self.gone.contains(disk) && !self.unknown.contains(disk);
                let all_known = self.failed.iter().all(is_known);
                assert!(!self.journals || all_known, "it rests on {:?}, of {:?}", self.unknown, self.failed);
                self.settled = below;
            }
            LogOrder::Drained => {
                assert_eq!(self.settled, self.logged + 1, "the log is needed");
                self.drained = true;
            }
            LogOrder::Stuck => panic!("the disks take it"),
        }
    }

    /// The disks know that no log is needed any more.
    fn give_up_log(&mut self) {
        if std::mem::take(&mut self.drained) {
            self.handle(Input::Log(LogNews::GivenUp));
        }
    }

    /// A row of which a column is missing is written only beside a record that is about it, and through to the medium.
    fn check_write(&self, disk: DiskId, command: &Command) {
        let Some((row, _)) = self.geometry.place(command.at.start.0).filter(|_| self.has_parity_at(command.at)) else {
            return;
        };
        let is_gone = |column: u16| self.gone.contains(&self.geometry.disk_of_slot(row, column));
        let is_row = self.journals && command.verb.writes() && self.filling != Some(disk);
        if !is_row || !(0..self.geometry.columns()).any(is_gone) {
            return;
        }
        assert!(self.unknown.is_empty(), "{command:?} of {disk:?} before the others know of {:?}", self.unknown);
        let at = command.at;
        let is_about = |it: &Extent| it.start <= at.start && at.end() <= it.end();
        assert!(self.records.values().any(is_about), "{command:?} of {disk:?} without a record");
        assert_eq!(command.verb, Verb::Write { fua: true });
    }

    /// A command that is in flight comes back.
    fn complete(&mut self) {
        let chosen = self.dice.below(self.flying.len() as u64) as usize;
        let (disk, tag, Command { verb, at, place, .. }) = self.flying.swap_remove(chosen);
        let range = at.start.0 as usize..at.end().0 as usize;
        let failed = self.failed.contains(&disk);
        let stands = &self.disks[usize::from(disk.0)];
        match verb {
            Verb::Read if !failed => {
                let read = stands[range].to_vec();
                self.memory(place, at.blocks).copy_from_slice(&read);
            }
            Verb::Write { .. } if !failed => {
                let written = self.memory(place, at.blocks).to_vec();
                self.disks[usize::from(disk.0)][range].copy_from_slice(&written);
            }
            _ => {}
        }
        let outcome = if failed { Outcome::Failed(EIO) } else { Outcome::Ok };
        self.handle(Input::Done(disk, tag, Time(1), outcome));
    }

    /// Reads or writes a drawn extent, a short one or one of several rows.
    fn ask_at_random(&mut self) {
        let most = if self.dice.once_in(2) { 700 } else { 40 };
        let blocks = 1 + self.dice.below(most) as u32;
        let start = self.dice.below(self.current.len() as u64 - u64::from(blocks));
        let writes = self.dice.below(3) > 0;
        self.ask(writes, Extent::new(start, blocks));
    }

    fn ask(&mut self, writes: bool, at: Extent) {
        let Some(slot) = self.inside.iter().position(Option::is_none).filter(|_| self.array.room() > 0) else { return };
        let range = at.start.0 as usize..at.end().0 as usize;
        let mut memory: Vec<u64> = at_random(&mut self.dice, at.blocks);
        if writes {
            self.current[range.clone()].copy_from_slice(&memory);
        }
        let expected = self.current[range].to_vec();
        if !writes {
            memory = at_random(&mut self.dice, at.blocks);
        }
        let op = if writes { Op::Write { fua: false } } else { Op::Read };
        let request = Request { id: RequestId(slot as u32), op, at, qos: Qos::default() };
        self.inside[slot] = Some(Inside { request, memory, expected, cancelled: false });
        self.handle(Input::Submit(request));
    }

    /// The others know that a disk is given up.
    fn tell_known(&mut self) {
        if !self.unknown.is_empty() {
            let disk = self.unknown.remove(self.dice.below(self.unknown.len() as u64) as usize);
            self.handle(Input::Disk(disk, Health::Known));
        }
    }

    /// Cancels a read.
    fn cancel(&mut self, slot: usize) {
        if let Some(it) = self.inside[slot].as_mut().filter(|it| it.request.op == Op::Read) {
            it.cancelled = true;
            self.handle(Input::Amend(RequestId(slot as u32), Change::Cancel));
        }
    }

    fn fail(&mut self) {
        let disk = DiskId(self.dice.below(self.geometry.disks().into()) as u16);
        if self.spare > 0 && !self.failed.contains(&disk) {
            self.spare -= 1;
            self.fail_disk(disk);
        }
    }

    fn fail_disk(&mut self, disk: DiskId) {
        self.failed.push(disk);
        self.disks[usize::from(disk.0)].fill(0xdead);
        self.handle(Input::Disk(disk, Health::Failed));
    }

    /// All there is is read, when nothing is in flight any more.
    fn read_all(&mut self) {
        for first in (0..self.current.len() as u64).step_by(600) {
            self.ask(false, Extent::new(first, 600));
            while !self.flying.is_empty() || !self.unknown.is_empty() || self.drained {
                self.give_up_log();
                if self.flying.is_empty() { self.tell_known() } else { self.complete() }
            }
        }
        assert!(self.inside.iter().all(Option::is_none) && self.array.room() == TOGETHER as u32, "some never end");
    }
}

fn at_random(dice: &mut Dice, blocks: u32) -> Vec<u64> {
    (0..blocks).map(|_| dice.below(u64::MAX)).collect()
}

#[test]
fn whoever_reads_gets_what_was_written_last() {
    let levels = [Level::Striped, Level::Mirrored { copies: 2 }, Level::Parity, Level::DoubleParity];
    let kinds = [(0, false, None), (900, false, None), (0, false, Some(JOURNAL)), (900, true, Some(JOURNAL))];
    let kinds = kinds.map(|(buffer, logged, journal)| Kept { buffer, logged, journal });
    for (level, kept) in levels.into_iter().flat_map(|level| kinds.map(|kind| (level, kind))) {
        let (mut recorded, mut logged) = (0, 0);
        for seed in 0..12 {
            println!("{level:?}, {kept:?}, seed {seed}");
            let mut it = Bytes::new(level, kept, seed);
            let mut asked = 0;
            while asked < ASKED || !it.flying.is_empty() || !it.unknown.is_empty() || it.drained {
                match it.dice.below(14) {
                    0..=3 if asked < ASKED => {
                        let most = if it.dice.once_in(2) { 700 } else { 40 };
                        let blocks = 1 + it.dice.below(most) as u32;
                        let start = it.dice.below(it.current.len() as u64 - u64::from(blocks));
                        let writes = it.dice.once_in(2);
                        it.ask(writes, Extent::new(start, blocks));
                        asked += 1;
                    }
                    4 => {
                        let slot = it.dice.below(TOGETHER as u64) as usize;
                        it.cancel(slot);
                    }
                    5 if it.dice.once_in(4) => it.fail(),
                    6..=7 => it.tell_known(),
                    8 if kept.logged && asked > ASKED / 2 && it.dice.once_in(4) => {
                        it.handle(Input::Log(LogNews::Failed))
                    }
                    9 => it.give_up_log(),
                    _ if !it.flying.is_empty() => it.complete(),
                    _ => {}
                }
            }
            it.read_all();
            assert!(it.records.is_empty(), "{:?} are not done with", it.records);
            recorded += it.recorded;
            logged += it.logged;
        }
        assert_eq!(recorded > 0, level.parities() > 0 && kept.journal.is_some(), "{level:?}");
        assert_eq!(logged > 0, kept.logged, "{level:?}");
    }
}

#[test]
fn a_write_to_several_disks_that_has_begun_is_not_cancelled() {
    for level in [Level::Mirrored { copies: 2 }, Level::Parity, Level::DoubleParity] {
        let mut it = Bytes::new(level, Kept { buffer: 0, logged: false, journal: None }, 3);
        it.ask(true, Extent::new(100, 500));
        it.handle(Input::Amend(RequestId(0), Change::Cancel));
        while !it.flying.is_empty() {
            it.complete();
        }
        it.read_all();
    }
}
