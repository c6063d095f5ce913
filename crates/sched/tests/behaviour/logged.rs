//! An array whose write buffer is in a log: when a write ends, and a flush; whose room is had again; what becomes of the rest when the log
//! fails, and when the disks do.

use block::errno::EIO;
use block::{Caps, Command, DiskId, Ending, Extent, Op, Outcome, Qos, Request, RequestId, Tag, Time, Verb};
use sched::array::{Array, ArrayPlan, Geometry, Level};
use sched::plan::Rules;
use sched::policy::{self, Beside};
use sched::predict::Distance;
use sched::{Action, Core, Input, LogNews, LogOrder, Scheduler};

/// Blocks of the buffer: three writes of a page, or less.
const ROOM: u64 = 3 * 16;

struct Logged {
    array: Array<Distance>,
    flying: Vec<(DiskId, Tag, Command)>,
}

impl Logged {
    fn new(level: Level) -> Logged {
        let caps = Caps { blocks: 6400, depth: 8, seek: block::SeekBy::Nothing, arms: 1 };
        let policy = || policy::usual("fcfs").make(&Beside::default());
        let core = || Core::new(caps, u32::MAX, Distance::default(), Rules::default(), Box::new(policy));
        let geometry = Geometry::new(level, 2, 64, caps.blocks).expect("a geometry");
        let plan = ArrayPlan { buffer: ROOM, logged: true, ..ArrayPlan::default() };
        Logged { array: Array::new(geometry, plan, Rules::default(), 16, vec![core(), core()]), flying: Vec::new() }
    }

    /// What is decided beside commands, and copies.
    fn hears(&mut self, input: Input) -> Vec<Action> {
        let mut out = Vec::new();
        self.array.handle(Time(1), input, &mut out);
        let mut told = Vec::new();
        for action in out {
            match action {
                Action::Issue(disk, tag, command) => self.flying.push((disk, tag, command)),
                Action::Finish(..) | Action::Log(_) => told.push(action),
                _ => {}
            }
        }
        told
    }

    fn asks(&mut self, id: u32, op: Op, at: Extent) -> Vec<Action> {
        self.hears(Input::Submit(Request { id: RequestId(id), op, at, qos: Qos::default() }))
    }

    fn writes(&mut self, id: u32, block: u64) -> Vec<Action> {
        self.asks(id, Op::Write { fua: false }, Extent::new(block, 8))
    }

    fn reads(&mut self, id: u32, block: u64) -> Vec<Action> {
        self.asks(id, Op::Read, Extent::new(block, 8))
    }

    fn flushes(&mut self, id: u32) -> Vec<Action> {
        self.asks(id, Op::Flush, Extent::default())
    }

    /// What is in flight and is chosen comes back so, and what follows from it.
    fn complete(&mut self, outcome: Outcome, chosen: impl Fn(&Command) -> bool) -> Vec<Action> {
        let mut told = Vec::new();
        while let Some(place) = self.flying.iter().position(|(.., command)| chosen(command)) {
            let (disk, tag, _) = self.flying.remove(place);
            told.extend(self.hears(Input::Done(disk, tag, Time(1), outcome)));
        }
        told
    }
}

/// The numbers of writes that are to be in the log, and those below which all are settled.
fn numbers(told: &[Action]) -> (Vec<u64>, Vec<u64>) {
    let number = |action: &Action| match action {
        Action::Log(LogOrder::Write { number, .. }) => Some((Some(*number), None)),
        Action::Log(LogOrder::Settled(below)) => Some((None, Some(*below))),
        _ => None,
    };
    let all: Vec<_> = told.iter().filter_map(number).collect();
    (all.iter().filter_map(|it| it.0).collect(), all.iter().filter_map(|it| it.1).collect())
}

fn ends(id: u32, how: Ending) -> Action {
    Action::Finish(RequestId(id), how)
}

const MIRRORED: Level = Level::Mirrored { copies: 2 };

#[test]
fn a_log_has_room_again_in_the_order_in_which_it_was_written() {
    let mut it = Logged::new(MIRRORED);
    for (id, block) in [(0, 0), (1, 1000), (2, 2000)] {
        assert_eq!(numbers(&it.writes(id, block)), (vec![u64::from(id) + 1], vec![]));
    }
    assert_eq!(it.writes(3, 3000), [], "it is full");
    let is_first = |command: &Command| command.at.start.0 == 0;
    assert_eq!(numbers(&it.complete(Outcome::Ok, |command| !is_first(command))), (vec![], vec![1, 1]));
    assert_eq!(it.reads(4, 0), [ends(4, Ending::Finished)], "from memory");
    let last = it.complete(Outcome::Ok, is_first);
    assert_eq!(numbers(&last), (vec![4], vec![4]), "all that came after it, too");
    let writes = it.flying.iter().all(|(.., command)| command.verb == Verb::Write { fua: true });
    assert!(writes, "what is settled is on the medium");
}

#[test]
fn what_is_written_over_in_the_buffer_is_in_the_log_once_more() {
    let mut it = Logged::new(MIRRORED);
    // The disks are busy, so that nothing of it has begun.
    (10..16).for_each(|id| drop(it.reads(id, 500 + 8 * u64::from(id))));
    (20..26).for_each(|id| drop(it.reads(id, 900 + 8 * u64::from(id))));
    assert_eq!(numbers(&it.writes(0, 0)).0, [1]);
    assert_eq!(numbers(&it.writes(1, 0)).0, [2]);
    assert_eq!(numbers(&it.writes(2, 0)).0, [3]);
    assert_eq!(it.writes(3, 0), [], "there is room in the buffer, not in the log");
    let told = it.complete(Outcome::Ok, |_| true);
    assert_eq!(numbers(&told).1.last(), Some(&5));
}

#[test]
fn a_flush_needs_the_disks_only_for_what_is_not_in_the_log() {
    let mut it = Logged::new(MIRRORED);
    assert_eq!(it.flushes(9), [], "nobody knows what they had before");
    assert_eq!(it.flushes(8), [], "nor whether they have it on their media yet");
    it.complete(Outcome::Ok, |_| true);
    it.writes(0, 0);
    assert_eq!(it.flushes(1), [ends(1, Ending::Finished)]);
    it.asks(2, Op::Repair, Extent::new(0, 8));
    it.complete(Outcome::Ok, |_| true);
    assert_eq!(it.flushes(3), [], "a repair is not in the log");
    let told = it.complete(Outcome::Failed(EIO), |command| command.verb == Verb::Flush);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(it.flushes(4), [], "one that failed is none");
}

#[test]
fn when_the_log_fails_all_waits_until_what_is_in_the_buffer_is_on_the_disks() {
    let mut it = Logged::new(MIRRORED);
    it.flushes(9);
    it.complete(Outcome::Ok, |_| true);
    it.writes(0, 0);
    assert_eq!(it.hears(Input::Log(LogNews::Failed)), []);
    assert_eq!((it.writes(1, 1000), it.writes(2, 0), it.flushes(3)), (vec![], vec![], vec![]));
    let issued = it.flying.len();
    let told = it.complete(Outcome::Ok, |_| true);
    assert_eq!(told, [Action::Log(LogOrder::Settled(2)), Action::Log(LogOrder::Drained)]);
    assert!(issued == 2 && it.flying.is_empty(), "nobody knows yet that the log is not needed");
    assert_eq!(it.hears(Input::Log(LogNews::GivenUp)), []);
    let told = it.complete(Outcome::Ok, |_| true);
    let mut ended: Vec<u32> = told
        .iter()
        .map(|action| if let Action::Finish(id, Ending::Finished) = action { id.0 } else { panic!("{action:?}") })
        .collect();
    ended.sort_unstable();
    assert_eq!(ended, [1, 2, 3], "each by the disks");
}

#[test]
fn a_log_that_fails_while_nothing_is_in_the_buffer_is_given_up_at_once() {
    let mut it = Logged::new(MIRRORED);
    assert_eq!(it.hears(Input::Log(LogNews::Failed)), [Action::Log(LogOrder::Drained)]);
    assert_eq!(it.writes(0, 0), []);
    it.hears(Input::Log(LogNews::GivenUp));
    assert_eq!(it.complete(Outcome::Ok, |_| true), [ends(0, Ending::Finished)]);
    assert_eq!(it.writes(1, 8), [], "there is no buffer");
}

#[test]
fn what_no_disk_takes_stays_in_the_log_and_stops_all_writes() {
    let mut it = Logged::new(Level::Striped);
    it.writes(0, 0);
    it.writes(1, 72);
    it.writes(2, 32);
    assert_eq!(it.writes(3, 200), [], "it is full");
    let told = it.complete(Outcome::Failed(EIO), |command| command.at.start.0 == 0);
    assert_eq!(told, [Action::Log(LogOrder::Stuck), ends(3, Ending::Failed(EIO))]);
    let later = it.complete(Outcome::Ok, |_| true);
    assert_eq!(numbers(&later).1, [1, 1], "it is needed, and what came later stays behind it");
    for told in [it.writes(4, 400), it.reads(4, 4), it.flushes(4)] {
        assert_eq!(told, [ends(4, Ending::Failed(EIO))]);
    }
    it.reads(5, 400);
    assert_eq!(it.complete(Outcome::Ok, |_| true), [ends(5, Ending::Finished)]);
}

#[test]
fn what_is_longer_than_the_log_is_refused() {
    let mut it = Logged::new(MIRRORED);
    let at = Extent::new(0, ROOM as u32);
    assert_eq!(it.asks(0, Op::Write { fua: false }, at), [ends(0, Ending::Failed(EIO))]);
}
