//! A device that is slow, sick or cut off where it is told to be, for other people's tests.
//!
//! It stands before another device. What a fault does is drawn from a seed, so that the same commands in the same order fare alike.
//! To lose what a volatile cache held when the power goes, it keeps what blocks held at the last flush.

use super::{Done, LiveDevice, Zeroes};
use crate::kernel::Kernel;
use crate::memory::Slice;
use block::errno::{EIO, ENOSPC};
use block::{BLOCK_BYTES, Caps, Command, Extent, Outcome, Span, Tag, Time, Verb};
use load::Draw;
use std::collections::{BTreeMap, VecDeque};
use std::io;

/// Blocks of which at most is kept what they held at the last flush: 1 GiB. What is written beyond fails.
const MOST_KEPT: usize = 2 << 20;

/// What is wrong with a part of a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// Commands take so many times as long.
    Slow(f64),
    /// No command comes back until it is over; then they are carried out.
    Stall,
    /// One command in so many fails, and does nothing.
    Error(u32),
    /// Each write is done in part, and fails.
    Torn,
    /// What was flushed, or written with FUA, is said to be on the medium, and is lost with the power as if it were not.
    Lie,
    /// The power is off: of what was not flushed each block is lost or not, and nothing comes back until it is over.
    Cut,
}

impl Fault {
    /// Whether what the service itself stores on the device fails.
    fn refuses(self) -> bool {
        !matches!(self, Fault::Slow(_) | Fault::Lie)
    }
}

/// Which commands a fault is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultReach {
    /// Those that touch blocks from one up to another, and flushes.
    All(u64, u64),
    /// Those that touch blocks from one up to another.
    Blocks(u64, u64),
}

impl FaultReach {
    fn bounds(self) -> (u64, u64) {
        let (FaultReach::All(from, end) | FaultReach::Blocks(from, end)) = self;
        (from, end)
    }

    fn touches(self, at: Extent) -> bool {
        let (from, end) = self.bounds();
        from < at.end().0 && at.start.0 < end
    }

    fn holds(self, block: u64) -> bool {
        let (from, end) = self.bounds();
        (from..end).contains(&block)
    }

    fn is_of(self, command: &Command) -> bool {
        match command.verb {
            Verb::Flush => matches!(self, FaultReach::All(..)),
            _ => self.touches(command.at),
        }
    }

    /// Whether another reaches as far, in blocks.
    pub(crate) fn is_inside(self, other: FaultReach) -> bool {
        let ((from, end), (first, last)) = (self.bounds(), other.bounds());
        first <= from && end <= last
    }
}

/// What becomes of the faults of a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FaultChange {
    /// One of this number begins, and is drawn by a seed.
    Begin(u64, Fault, u64),
    /// The one of this number is over, if it is there.
    End(u64),
    /// All that lie in the reach are over.
    Back,
}

/// A part of the device with its fault.
struct FaultyPart {
    number: u64,
    reach: FaultReach,
    fault: Fault,
    draw: Draw,
}

/// A command that the device behind has.
#[derive(Clone, Copy)]
struct Passed {
    issued: Time,
    command: Command,
    /// Whether it fails whatever comes of it; by which fault the power went meanwhile.
    fails: bool,
    cut: Option<u64>,
    /// Of a flush: which writes it is of.
    mark: u64,
}

/// What a block held before some writes, of which a flush that is under way covers all or none.
struct Unflushed {
    bytes: Box<[u8]>,
    /// The number of the last of them.
    last: u64,
}

/// A device that can have faults.
pub struct Faulty {
    inner: Box<dyn LiveDevice>,
    parts: Vec<FaultyPart>,
    /// What was let pass to the device inside, by tag.
    passed: Vec<Option<Passed>>,
    /// What comes back later, and what has.
    late: Vec<Done>,
    done: VecDeque<Done>,
    /// What waits for a fault of this number to be over.
    stalled: Vec<(u64, Tag, Command, Option<Slice>)>,
    /// Commands of which nothing is heard until the power is back.
    dead: Vec<(u64, Tag)>,
    /// What blocks held before writes that are not flushed, by block and the number of the first of these writes.
    kept: BTreeMap<(u64, u64), Unflushed>,
    writes: u64,
}

impl Faulty {
    /// A device in which nothing is wrong yet.
    #[must_use]
    pub fn new(inner: Box<dyn LiveDevice>) -> Faulty {
        let passed = vec![None; usize::from(inner.caps().depth)];
        Faulty {
            inner,
            parts: Vec::new(),
            passed,
            late: Vec::new(),
            done: VecDeque::new(),
            stalled: Vec::new(),
            dead: Vec::new(),
            kept: BTreeMap::new(),
            writes: 0,
        }
    }

    /// The faults that a command meets, in the order in which they began.
    fn parts_of<'a>(&'a mut self, command: &'a Command) -> impl Iterator<Item = &'a mut FaultyPart> {
        self.parts.iter_mut().filter(|part| part.reach.is_of(command))
    }

    /// The fault that keeps a command from the device: where the power is off, nothing else counts.
    fn holder(&mut self, command: &Command) -> Option<u64> {
        let mut holder = None;
        for part in self.parts_of(command) {
            match part.fault {
                Fault::Cut => return Some(part.number),
                Fault::Stall => holder = Some(part.number),
                _ => {}
            }
        }
        holder
    }

    /// Whether one of the faults that a command meets has it fail, and do nothing.
    fn fails(&mut self, command: &Command) -> bool {
        let mut fails = false;
        for part in self.parts_of(command) {
            if let Fault::Error(of) = part.fault {
                fails |= part.draw.below(of.into()) == 0;
            }
        }
        fails
    }

    /// How many blocks of a write are written where it is torn.
    fn torn(&mut self, command: &Command) -> Option<u32> {
        let writes = command.verb.writes() && command.verb.transfers();
        let tears = |part: &&mut FaultyPart| writes && part.fault == Fault::Torn;
        let part = self.parts_of(command).find(tears)?;
        Some(part.draw.below(u64::from(command.at.blocks.max(1))) as u32)
    }

    fn memory(blocks: u64) -> Slice {
        let bytes = (blocks * BLOCK_BYTES) as usize;
        Slice::new(bytes)
    }

    /// Where the device lies.
    fn lies(parts: &[FaultyPart]) -> impl Iterator<Item = FaultReach> {
        parts.iter().filter(|part| part.fault == Fault::Lie).map(|part| part.reach)
    }

    /// Whether there is nothing a flush would have to do, since the device lies of all of it.
    fn skips_flush(&self) -> bool {
        Faulty::lies(&self.parts).map(FaultReach::bounds).any(|(from, end)| {
            self.kept.range(..(from, 0)).next().is_none() && self.kept.range((end, 0)..).next().is_none()
        })
    }

    /// Keeps what the blocks of a write held at the last flush; whether there is room for it.
    fn keep(&mut self, command: &Command) -> bool {
        self.writes += 1;
        let at = command.at;
        if self.kept.len() + at.blocks as usize > MOST_KEPT {
            return false;
        }
        let memory = Faulty::memory(at.blocks.into());
        if !self.inner.peek(at, &memory) {
            return false;
        }
        let writes = self.writes;
        let flushes = self.passed.iter().flatten().filter(|passed| passed.command.verb == Verb::Flush);
        let mark = flushes.map(|flush| flush.mark).max().unwrap_or(0);
        for number in 0..u64::from(at.blocks) {
            let block = at.start.0 + number;
            match self.kept.range_mut((block, 0)..(block + 1, 0)).next_back() {
                Some((_, kept)) if kept.last > mark => kept.last = writes,
                _ => {
                    let mut bytes = vec![0; BLOCK_BYTES as usize];
                    memory.buffer.get((number * BLOCK_BYTES) as usize, &mut bytes);
                    self.kept.insert((block, writes), Unflushed { bytes: bytes.into(), last: writes });
                }
            }
        }
        true
    }

    /// What these blocks hold is on the medium.
    fn forget(&mut self, from: u64, end: u64) {
        let keys: Vec<(u64, u64)> = self.kept.range((from, 0)..(end, 0)).map(|(key, _)| *key).collect();
        keys.iter().for_each(|key| drop(self.kept.remove(key)));
    }

    /// Of blocks that were not flushed, each holds what it held at the last flush again, or not.
    fn lose(&mut self, from: u64, end: u64, draw: &mut Draw) {
        let mut last = None;
        for ((block, _), held) in self.kept.range((from, 0)..(end, 0)) {
            if last.replace(*block) != Some(*block) && draw.below(2) == 0 {
                let memory = Faulty::memory(1);
                memory.buffer.put(0, &held.bytes);
                self.inner.poke(Extent::new(*block, 1), &memory);
            }
        }
    }

    /// The device behind has done a command: what comes back of it, if anything does now.
    fn judge(&mut self, done: Done) -> Option<Done> {
        let Some(passed) = self.passed[done.tag.0 as usize].take() else { return Some(done) };
        let Passed { issued, command, fails, cut, mark } = passed;
        if let Some(number) = cut {
            let Some(part) = self.parts.iter_mut().find(|part| part.number == number) else {
                return Some(Done { outcome: Outcome::Failed(EIO), ..done });
            };
            if command.verb.writes() {
                let mut draw = part.draw.clone();
                self.lose(command.at.start.0, command.at.end().0, &mut draw);
                self.parts.iter_mut().filter(|part| part.number == number).for_each(|part| part.draw = draw.clone());
            }
            self.dead.push((number, done.tag));
            return None;
        }
        match command.verb {
            Verb::Flush if done.outcome == Outcome::Ok => {
                let Faulty { parts, kept, .. } = self;
                let lies = |block| Faulty::lies(parts).any(|reach| reach.holds(block));
                kept.retain(|(block, _), kept| kept.last > mark || lies(*block));
            }
            Verb::Write { fua: true } if done.outcome == Outcome::Ok => {
                self.forget(command.at.start.0, command.at.end().0);
            }
            _ => {}
        }
        let outcome = if fails { Outcome::Failed(EIO) } else { done.outcome };
        let done = Done { outcome, ..done };
        let factors = self
            .parts_of(&command)
            .filter_map(|part| if let Fault::Slow(factor) = part.fault { Some(factor) } else { None });
        if let Some(factor) = factors.reduce(f64::max) {
            let more = Span(((factor - 1.0) * done.happened.since(issued).0 as f64) as u64);
            self.late.push(Done { happened: done.happened + more, took: done.took.map(|took| took + more), ..done });
            return None;
        }
        Some(done)
    }
}

impl LiveDevice for Faulty {
    fn caps(&self) -> Caps {
        self.inner.caps()
    }

    fn bytes(&self) -> u64 {
        self.inner.bytes()
    }

    fn issue(
        &mut self,
        now: Time,
        tag: Tag,
        command: &Command,
        memory: Option<Slice>,
        kernel: &mut dyn Kernel,
    ) -> io::Result<()> {
        let (mut command, mut memory) = (*command, memory);
        if let Some(number) = self.holder(&command) {
            self.stalled.push((number, tag, command, memory));
            return Ok(());
        }
        if self.fails(&command) {
            self.done.push_back(Done::now(now, tag, Outcome::Failed(EIO)));
            return Ok(());
        }
        match command.verb {
            Verb::Flush if self.skips_flush() => {
                self.done.push_back(Done::now(now, tag, Outcome::Ok));
                return Ok(());
            }
            Verb::Write { fua: true } if Faulty::lies(&self.parts).any(|reach| reach.touches(command.at)) => {
                command.verb = Verb::Write { fua: false };
            }
            _ => {}
        }
        let torn = self.torn(&command);
        if let Some(blocks) = torn {
            command.at.blocks = blocks;
            memory = memory.map(|memory| Slice { bytes: command.at.bytes() as usize, ..memory });
            if blocks == 0 {
                self.done.push_back(Done::now(now, tag, Outcome::Failed(EIO)));
                return Ok(());
            }
        }
        if command.verb.writes() && !self.keep(&command) {
            self.done.push_back(Done::now(now, tag, Outcome::Failed(ENOSPC)));
            return Ok(());
        }
        self.passed[tag.0 as usize] =
            Some(Passed { issued: now, command, fails: torn.is_some(), cut: None, mark: self.writes });
        self.inner.issue(now, tag, &command, memory, kernel)
    }

    fn due(&self) -> Option<Time> {
        self.late.iter().map(|done| done.happened).chain(self.inner.due()).min()
    }

    fn next_completion(&mut self, now: Time) -> Option<Done> {
        if let Some(done) = self.done.pop_front() {
            return Some(done);
        }
        if let Some(first) = self.late.iter().position(|done| done.happened <= now) {
            return Some(self.late.swap_remove(first));
        }
        while let Some(done) = self.inner.next_completion(now) {
            if let Some(done) = self.judge(done) {
                return Some(done);
            }
        }
        None
    }

    fn on_completion(&mut self, now: Time, tag: Tag, result: i32, kernel: &mut dyn Kernel) -> io::Result<()> {
        self.inner.on_completion(now, tag, result, kernel)
    }

    fn account(&mut self, now: Time) -> Option<drive::Account> {
        self.inner.account(now)
    }

    fn zeroes(&self) -> Zeroes {
        self.inner.zeroes()
    }

    fn peek(&mut self, at: Extent, into: &Slice) -> bool {
        self.inner.peek(at, into)
    }

    fn store(&mut self, at: Extent, from: &Slice) -> io::Result<()> {
        if self.parts.iter().any(|part| part.reach.touches(at) && part.fault.refuses()) {
            return Err(io::Error::from_raw_os_error(EIO));
        }
        self.inner.store(at, from)?;
        self.forget(at.start.0, at.end().0);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.parts.iter().any(|part| part.fault.refuses()) {
            return Err(io::Error::from_raw_os_error(EIO));
        }
        self.inner.sync()?;
        // What is under way is still to be lost.
        let flying: Vec<Extent> = self.passed.iter().flatten().map(|passed| passed.command.at).collect();
        let Faulty { parts, kept, .. } = self;
        let lies = |block| Faulty::lies(parts).any(|reach| reach.holds(block));
        kept.retain(|(block, _), _| lies(*block) || flying.iter().any(|at| (at.start.0..at.end().0).contains(block)));
        Ok(())
    }

    fn can_empty(&self) -> bool {
        self.inner.can_empty()
    }

    fn empty(&mut self, at: Extent) -> io::Result<()> {
        if self.parts.iter().any(|part| part.reach.touches(at) && part.fault.refuses()) {
            return Err(io::Error::from_raw_os_error(EIO));
        }
        self.inner.empty(at)?;
        self.forget(at.start.0, at.end().0);
        Ok(())
    }

    fn reserve(&mut self, at: Extent) -> io::Result<()> {
        self.inner.reserve(at)
    }

    fn alike(&mut self, at: Extent) -> (u64, bool) {
        self.inner.alike(at)
    }

    fn fault(
        &mut self,
        now: Time,
        reach: FaultReach,
        change: FaultChange,
        kernel: &mut dyn Kernel,
    ) -> Result<(), String> {
        match change {
            FaultChange::Begin(number, fault, seed) => {
                self.begin(number, reach, fault, Draw::new(seed, reach.bounds().0));
                Ok(())
            }
            FaultChange::End(number) => self.end(now, number, kernel),
            FaultChange::Back => {
                let inside = self.parts.iter().filter(|part| part.reach.is_inside(reach)).map(|part| part.number);
                let numbers: Vec<u64> = inside.collect();
                numbers.into_iter().try_for_each(|number| self.end(now, number, kernel))
            }
        }
    }
}

impl Faulty {
    fn begin(&mut self, number: u64, reach: FaultReach, fault: Fault, mut draw: Draw) {
        if fault == Fault::Cut {
            for passed in self.passed.iter_mut().flatten().filter(|passed| reach.is_of(&passed.command)) {
                passed.cut = passed.cut.or(Some(number));
            }
            let (from, end) = reach.bounds();
            self.lose(from, end, &mut draw);
        }
        self.parts.push(FaultyPart { number, reach, fault, draw });
    }

    /// What a fault kept goes on, unless something else is wrong with it; what was under way when the power went, or came after,
    /// has failed.
    fn end(&mut self, now: Time, number: u64, kernel: &mut dyn Kernel) -> Result<(), String> {
        let Some(place) = self.parts.iter().position(|part| part.number == number) else { return Ok(()) };
        let FaultyPart { fault: was, reach, .. } = self.parts.remove(place);
        if was == Fault::Cut {
            // What is there now is what the medium had.
            let (from, end) = reach.bounds();
            self.forget(from, end);
        }
        for (_, tag) in self.dead.extract_if(.., |(of, _)| *of == number) {
            self.done.push_back(Done::now(now, tag, Outcome::Failed(EIO)));
        }
        let stalled: Vec<_> = self.stalled.extract_if(.., |(of, ..)| *of == number).collect();
        for (_, tag, command, memory) in stalled {
            match was {
                Fault::Cut => self.done.push_back(Done::now(now, tag, Outcome::Failed(EIO))),
                _ => self.issue(now, tag, &command, memory, kernel).map_err(|error| error.to_string())?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
