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
    /// The power is off: of what was not flushed each block is lost or not, and nothing comes back until it is over.
    Cut,
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
    /// What was written since the last flush: what the block held then, and the number of the last write.
    kept: BTreeMap<u64, (Box<[u8]>, u64)>,
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
        for number in 0..u64::from(at.blocks) {
            let writes = self.writes;
            let held = self.kept.entry(at.start.0 + number).or_insert_with(|| {
                let mut bytes = vec![0; BLOCK_BYTES as usize];
                memory.buffer.get((number * BLOCK_BYTES) as usize, &mut bytes);
                (bytes.into(), writes)
            });
            held.1 = writes;
        }
        true
    }

    /// Of blocks that were not flushed, each holds what it held at the last flush again, or not.
    fn lose(&mut self, from: u64, end: u64, draw: &mut Draw) {
        let blocks: Vec<u64> = self.kept.range(from..end).map(|(block, _)| *block).collect();
        for block in blocks {
            if draw.below(2) == 0
                && let Some((held, _)) = self.kept.get(&block)
            {
                let memory = Faulty::memory(1);
                memory.buffer.put(0, held);
                self.inner.poke(Extent::new(block, 1), &memory);
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
            Verb::Flush if done.outcome == Outcome::Ok => self.kept.retain(|_, (_, write)| *write > mark),
            Verb::Write { fua: true } if done.outcome == Outcome::Ok => {
                (command.at.start.0..command.at.end().0).for_each(|block| drop(self.kept.remove(&block)));
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
        let healthy = |fault: Fault| matches!(fault, Fault::Slow(_));
        if self.parts.iter().any(|part| part.reach.touches(at) && !healthy(part.fault)) {
            return Err(io::Error::from_raw_os_error(EIO));
        }
        self.inner.store(at, from)?;
        (at.start.0..at.end().0).for_each(|block| drop(self.kept.remove(&block)));
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.parts.iter().any(|part| !matches!(part.fault, Fault::Slow(_))) {
            return Err(io::Error::from_raw_os_error(EIO));
        }
        self.inner.sync()?;
        // What is under way is still to be lost.
        let flying: Vec<Extent> = self.passed.iter().flatten().map(|passed| passed.command.at).collect();
        self.kept.retain(|block, _| flying.iter().any(|at| (at.start.0..at.end().0).contains(block)));
        Ok(())
    }

    fn can_empty(&self) -> bool {
        self.inner.can_empty()
    }

    fn empty(&mut self, at: Extent) -> io::Result<()> {
        let healthy = |fault: Fault| matches!(fault, Fault::Slow(_));
        if self.parts.iter().any(|part| part.reach.touches(at) && !healthy(part.fault)) {
            return Err(io::Error::from_raw_os_error(EIO));
        }
        self.inner.empty(at)?;
        self.kept.retain(|block, _| !(at.start.0..at.end().0).contains(block));
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
        let was = self.parts.remove(place).fault;
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
mod tests {
    use super::*;
    use crate::unit::Ram;
    use crate::{Clock, Host, Unwritten};
    use block::Place;
    use load::experiment::IoBackend;

    const PART: FaultReach = FaultReach::All(64, 128);

    struct Bench {
        device: Faulty,
        host: Host,
    }

    impl Bench {
        fn new() -> Bench {
            let host = Host::new(Clock::new(1.0), IoBackend::Threads).expect("a host");
            Bench { device: Faulty::new(Box::new(Ram::new(128, Unwritten::Zeros))), host }
        }

        fn fault(&mut self, fault: Option<Fault>) {
            let change = fault.map_or(FaultChange::Back, |fault| FaultChange::Begin(1, fault, 7));
            self.change(PART, change);
        }

        fn change(&mut self, reach: FaultReach, change: FaultChange) {
            assert_eq!(self.device.fault(Time(50), reach, change, &mut self.host), Ok(()));
        }

        fn issue(&mut self, tag: u32, verb: Verb, at: Extent, byte: u8) -> Slice {
            let memory = Faulty::memory(at.blocks.max(1).into());
            memory.buffer.put(0, &vec![byte; memory.bytes]);
            let command = Command::new(verb, at, Place::Nowhere);
            self.device.issue(Time(10), Tag(tag), &command, Some(memory.clone()), &mut self.host).expect("issued");
            memory
        }

        fn next(&mut self, now: u64) -> Option<(u32, Outcome)> {
            self.device.next_completion(Time(now)).map(|done| (done.tag.0, done.outcome))
        }

        /// What the first byte of each block is.
        fn holds(&mut self, at: Extent) -> Vec<u8> {
            let memory = self.issue(9, Verb::Read, at, 0xEE);
            assert_eq!(self.next(10), Some((9, Outcome::Ok)));
            let mut bytes = vec![0; memory.bytes];
            memory.buffer.get(0, &mut bytes);
            bytes.chunks(512).map(|block| block[0]).collect()
        }

        fn writes(&mut self, at: Extent, byte: u8, fua: bool) {
            self.issue(1, Verb::Write { fua }, at, byte);
            assert_eq!(self.next(10), Some((1, Outcome::Ok)));
        }
    }

    #[test]
    fn what_is_slow_comes_back_late_and_others_do_not() {
        let mut bench = Bench::new();
        bench.fault(Some(Fault::Slow(1000.0)));
        bench.issue(0, Verb::Read, Extent::new(0, 1), 0);
        assert_eq!(bench.next(10), Some((0, Outcome::Ok)), "it is another part");
        bench.device.passed[1] = Some(Passed {
            issued: Time(0),
            command: Command::new(Verb::Read, Extent::new(64, 1), Place::Nowhere),
            fails: false,
            cut: None,
            mark: 0,
        });
        assert_eq!(bench.device.judge(Done::now(Time(10), Tag(1), Outcome::Ok)), None);
        assert_eq!((bench.next(9_999), bench.device.due()), (None, Some(Time(10_000))));
        assert_eq!(bench.next(10_000), Some((1, Outcome::Ok)));
    }

    #[test]
    fn what_stalls_is_done_when_that_is_over() {
        let mut bench = Bench::new();
        bench.fault(Some(Fault::Stall));
        bench.issue(1, Verb::Write { fua: false }, Extent::new(70, 2), 5);
        assert_eq!(bench.next(1 << 40), None);
        bench.fault(None);
        assert_eq!(bench.next(60), Some((1, Outcome::Ok)));
        assert_eq!(bench.holds(Extent::new(69, 3)), [0, 5, 5]);
    }

    #[test]
    fn so_many_fail_and_the_same_again() {
        let failed = || {
            let mut bench = Bench::new();
            bench.fault(Some(Fault::Error(4)));
            let mut one = |_| {
                bench.issue(1, Verb::Read, Extent::new(70, 1), 0);
                bench.next(10) == Some((1, Outcome::Failed(EIO)))
            };
            (0..400).map(&mut one).collect::<Vec<bool>>()
        };
        let count = failed().iter().filter(|failed| **failed).count();
        assert!((70..130).contains(&count), "{count} of 400");
        assert_eq!(failed(), failed());
    }

    #[test]
    fn what_is_torn_is_written_in_part_and_fails() {
        let mut bench = Bench::new();
        bench.fault(Some(Fault::Torn));
        bench.issue(1, Verb::Write { fua: true }, Extent::new(64, 32), 5);
        assert_eq!(bench.next(10), Some((1, Outcome::Failed(EIO))));
        let held = bench.holds(Extent::new(64, 32));
        let written = held.iter().filter(|byte| **byte == 5).count();
        assert!(written < 32 && held.iter().skip(written).all(|byte| *byte == 0), "{held:?}");
    }

    #[test]
    fn of_what_was_not_flushed_some_is_lost_with_the_power() {
        let mut bench = Bench::new();
        let (flushed, volatile, through) = (Extent::new(64, 16), Extent::new(80, 32), Extent::new(112, 16));
        bench.writes(flushed, 1, false);
        bench.writes(volatile, 2, false);
        bench.issue(2, Verb::Flush, Extent::default(), 0);
        assert_eq!(bench.next(10), Some((2, Outcome::Ok)));
        bench.writes(volatile, 3, false);
        bench.writes(Extent::new(0, 16), 3, false);
        bench.writes(through, 4, true);
        bench.issue(3, Verb::Write { fua: true }, Extent::new(64, 1), 1);
        bench.fault(Some(Fault::Cut));
        bench.issue(4, Verb::Read, flushed, 0);
        assert_eq!(bench.next(1 << 40), None, "nothing comes back");
        bench.fault(None);
        assert_eq!([bench.next(60), bench.next(60)].map(|it| it.map(|it| it.1)), [Some(Outcome::Failed(EIO)); 2]);
        assert_eq!(bench.holds(Extent::new(0, 16)), [3; 16], "another part has its power");
        assert_eq!(bench.holds(flushed), [1; 16]);
        assert_eq!(bench.holds(through), [4; 16]);
        let held = bench.holds(volatile);
        let lost = held.iter().filter(|byte| **byte == 2).count();
        assert!((5..28).contains(&lost) && held.iter().all(|byte| [2, 3].contains(byte)), "{held:?}");
    }

    #[test]
    fn several_faults_at_once_each_do_theirs_and_end_alone() {
        let mut bench = Bench::new();
        let (bad, slow) = (FaultReach::Blocks(70, 72), FaultReach::All(64, 128));
        bench.change(slow, FaultChange::Begin(1, Fault::Stall, 1));
        bench.change(bad, FaultChange::Begin(2, Fault::Error(1), 1));
        bench.issue(1, Verb::Read, Extent::new(71, 4), 0);
        bench.issue(2, Verb::Read, Extent::new(72, 4), 0);
        bench.issue(3, Verb::Flush, Extent::default(), 0);
        assert_eq!(bench.next(1 << 40), None, "all of it stalls, and a flush with it");
        bench.change(slow, FaultChange::End(1));
        let ended = [bench.next(60), bench.next(60), bench.next(60)].map(|it| it.expect("it is over"));
        for (tag, outcome) in [(1, Outcome::Failed(EIO)), (2, Outcome::Ok), (3, Outcome::Ok)] {
            assert!(ended.contains(&(tag, outcome)), "{ended:?}");
        }
        bench.issue(1, Verb::Read, Extent::new(69, 2), 0);
        assert_eq!(bench.next(60), Some((1, Outcome::Failed(EIO))), "the other is there still");
        bench.change(FaultReach::All(64, 72), FaultChange::Back);
        bench.issue(1, Verb::Read, Extent::new(69, 2), 0);
        assert_eq!(bench.next(60), Some((1, Outcome::Ok)));
    }

    #[test]
    fn where_the_power_is_off_an_error_is_not_even_told() {
        let mut bench = Bench::new();
        bench.change(PART, FaultChange::Begin(1, Fault::Error(1), 1));
        bench.change(PART, FaultChange::Begin(2, Fault::Cut, 1));
        bench.issue(1, Verb::Read, Extent::new(70, 1), 0);
        assert_eq!(bench.next(1 << 40), None);
        bench.change(PART, FaultChange::End(1));
        assert_eq!(bench.next(1 << 40), None);
        bench.change(PART, FaultChange::End(2));
        assert_eq!(bench.next(60), Some((1, Outcome::Failed(EIO))));
    }
}
