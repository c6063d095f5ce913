//! What each fault does to the commands that meet it, over memory.

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
fn what_was_flushed_is_kept_though_it_is_written_again_before_the_flush_is_done() {
    let mut bench = Bench::new();
    let at = Extent::new(64, 32);
    bench.writes(at, 1, false);
    bench.issue(2, Verb::Flush, Extent::default(), 0);
    bench.issue(3, Verb::Write { fua: false }, at, 2);
    assert_eq!([bench.next(10), bench.next(10)].map(|it| it.map(|it| it.1)), [Some(Outcome::Ok); 2]);
    bench.fault(Some(Fault::Cut));
    bench.fault(None);
    let held = bench.holds(at);
    let lost = held.iter().filter(|byte| **byte == 1).count();
    assert!((5..28).contains(&lost) && held.iter().all(|byte| [1, 2].contains(byte)), "{held:?}");
}

#[test]
fn what_was_there_when_the_power_came_back_is_not_lost_with_the_next_cut() {
    let mut bench = Bench::new();
    let at = Extent::new(64, 64);
    bench.writes(at, 1, false);
    let held = [1, 2, 3, 4].map(|seed| {
        bench.change(PART, FaultChange::Begin(1, Fault::Cut, seed));
        bench.fault(None);
        bench.holds(at)
    });
    assert!(held.iter().all(|after| *after == held[0]), "{held:?}");
}

#[test]
fn what_is_said_to_be_flushed_and_is_not_is_lost_with_the_power() {
    let mut bench = Bench::new();
    let (before, lied, through, after) =
        (Extent::new(64, 8), Extent::new(72, 24), Extent::new(96, 24), Extent::new(120, 8));
    let flush = |bench: &mut Bench| {
        bench.issue(2, Verb::Flush, Extent::default(), 0);
        assert_eq!(bench.next(10), Some((2, Outcome::Ok)));
    };
    bench.writes(before, 1, false);
    flush(&mut bench);
    bench.change(PART, FaultChange::Begin(1, Fault::Lie, 7));
    bench.writes(lied, 2, false);
    bench.writes(through, 3, true);
    flush(&mut bench);
    // Of another part the same flush is true.
    bench.writes(Extent::new(0, 32), 4, false);
    flush(&mut bench);
    assert_eq!(bench.device.sync().map_err(|error| error.kind()), Ok(()));
    bench.change(FaultReach::All(0, 128), FaultChange::Begin(2, Fault::Cut, 7));
    bench.change(FaultReach::All(0, 128), FaultChange::Back);
    assert_eq!(bench.holds(Extent::new(0, 32)), [4; 32]);
    assert_eq!(bench.holds(before), [1; 8]);
    for (at, byte) in [(lied, 2), (through, 3)] {
        let held = bench.holds(at);
        let lost = held.iter().filter(|held| **held == 0).count();
        assert!((4..20).contains(&lost) && held.iter().all(|held| [0, byte].contains(held)), "{held:?}");
    }
    // It lies no more.
    bench.writes(after, 5, false);
    flush(&mut bench);
    bench.fault(Some(Fault::Cut));
    bench.fault(None);
    assert_eq!(bench.holds(after), [5; 8]);
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
