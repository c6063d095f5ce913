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

/// A part of the device with its fault.
struct FaultyPart {
    from: u64,
    end: u64,
    fault: Fault,
    draw: Draw,
}

/// A command that the device behind has.
#[derive(Clone, Copy)]
struct Passed {
    issued: Time,
    command: Command,
    /// Whether it fails whatever comes of it; whether the power went meanwhile.
    fails: bool,
    cut: bool,
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
    /// What waits for a stall to be over.
    /// Each with where the part begins whose fault it is.
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

    /// The fault of what a command is of; a flush is of the whole device.
    fn part(&mut self, command: &Command) -> Option<&mut FaultyPart> {
        let (from, end) = match command.verb {
            Verb::Flush => (0, u64::MAX),
            _ => (command.at.start.0, command.at.end().0),
        };
        self.parts.iter_mut().find(|part| part.from < end && from < part.end)
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
        if cut {
            let Some((from, mut draw)) = self.part(&command).map(|part| (part.from, part.draw.clone())) else {
                return Some(Done { outcome: Outcome::Failed(EIO), ..done });
            };
            if command.verb.writes() {
                self.lose(command.at.start.0, command.at.end().0, &mut draw);
            }
            if let Some(part) = self.part(&command) {
                part.draw = draw;
            }
            self.dead.push((from, done.tag));
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
        if let Some(Fault::Slow(factor)) = self.part(&command).map(|part| part.fault) {
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
        let (fault, from, below) = match self.part(&command) {
            Some(part) => (Some(part.fault), part.from, part.draw.below(u64::from(command.at.blocks.max(1)))),
            None => (None, 0, 0),
        };
        let one_of = |part: Option<&mut FaultyPart>, of: u32| part.is_some_and(|part| part.draw.below(of.into()) == 0);
        let fails = match fault {
            Some(Fault::Stall | Fault::Cut) => {
                self.stalled.push((from, tag, command, memory));
                return Ok(());
            }
            Some(Fault::Error(of)) if one_of(self.part(&command), of) => {
                self.done.push_back(Done::now(now, tag, Outcome::Failed(EIO)));
                return Ok(());
            }
            Some(Fault::Torn) if command.verb.writes() && command.verb.transfers() => {
                command.at.blocks = below as u32;
                memory = memory.map(|memory| Slice { bytes: command.at.bytes() as usize, ..memory });
                if below == 0 {
                    self.done.push_back(Done::now(now, tag, Outcome::Failed(EIO)));
                    return Ok(());
                }
                true
            }
            _ => false,
        };
        if command.verb.writes() && !self.keep(&command) {
            self.done.push_back(Done::now(now, tag, Outcome::Failed(ENOSPC)));
            return Ok(());
        }
        self.passed[tag.0 as usize] = Some(Passed { issued: now, command, fails, cut: false, mark: self.writes });
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
        if let Some(part) = self.parts.iter().find(|part| part.from < at.end().0 && at.start.0 < part.end)
            && !healthy(part.fault)
        {
            return Err(io::Error::from_raw_os_error(EIO));
        }
        self.inner.store(at, from)?;
        (at.start.0..at.end().0).for_each(|block| drop(self.kept.remove(&block)));
        Ok(())
    }

    fn alike(&mut self, at: Extent) -> (u64, bool) {
        self.inner.alike(at)
    }

    fn fault(
        &mut self,
        now: Time,
        (from, end): (u64, u64),
        fault: Option<(Fault, u64)>,
        kernel: &mut dyn Kernel,
    ) -> Result<(), String> {
        let was = self.parts.iter().find(|part| part.from == from).map(|part| part.fault);
        self.parts.retain(|part| part.from != from);
        let inside = |at: Extent| from <= at.start.0 && at.start.0 < end;
        if let Some((fault, seed)) = fault {
            let mut draw = Draw::new(seed, from);
            if fault == Fault::Cut {
                for passed in self.passed.iter_mut().flatten() {
                    passed.cut |= passed.command.verb == Verb::Flush || inside(passed.command.at);
                }
                self.lose(from, end, &mut draw);
            }
            self.parts.push(FaultyPart { from, end, fault, draw });
            return Ok(());
        }
        // What was stalled goes on; what was under way when the power went, or came after, has failed.
        for (_, tag) in self.dead.extract_if(.., |(of, _)| *of == from) {
            self.done.push_back(Done::now(now, tag, Outcome::Failed(EIO)));
        }
        let stalled: Vec<_> = self.stalled.extract_if(.., |(of, ..)| *of == from).collect();
        for (_, tag, command, memory) in stalled {
            match was {
                Some(Fault::Cut) => self.done.push_back(Done::now(now, tag, Outcome::Failed(EIO))),
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

    const PART: (u64, u64) = (64, 128);

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
            let told = self.device.fault(Time(50), PART, fault.map(|fault| (fault, 7)), &mut self.host);
            assert_eq!(told, Ok(()));
        }

        fn issue(&mut self, tag: u32, verb: Verb, at: Extent, byte: u8) -> Slice {
            let memory = Faulty::memory(at.blocks.max(1).into());
            memory.buffer.put(0, &vec![byte; memory.bytes]);
            let command = Command { verb, at, place: Place::Nowhere };
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
            command: Command { verb: Verb::Read, at: Extent::new(64, 1), place: Place::Nowhere },
            fails: false,
            cut: false,
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
}
