//! Disks of an array that are given up: when, what is said of it, and what a flush then promises.

use block::errno::{EIO, EOPNOTSUPP};
use block::{Caps, Command, Discarded, DiskId, Ending, Extent, Op, Outcome, Qos, Request, RequestId, Tag, Time, Verb};
use sched::array::{Array, ArrayPlan, Geometry, JournalArea, Level};
use sched::plan::Rules;
use sched::policy::{self, Beside};
use sched::predict::Distance;
use sched::{Action, Core, Health, Input, Likeness, Mend, Scheduler};

/// An array of disks of 64 blocks, in units of 8, and what it decided since it was last looked at.
struct Told {
    array: Array<Distance>,
    out: Vec<Action>,
}

impl Told {
    fn new(level: Level, disks: u16) -> Told {
        Told::with(level, disks, None)
    }

    fn with(level: Level, disks: u16, journal: Option<JournalArea>) -> Told {
        let caps = Caps { blocks: 64, depth: 8, seek: false };
        let policy = || policy::usual("fcfs").make(&Beside::default());
        let core = || Core::new(caps, u32::MAX, Distance::default(), Rules::default(), Box::new(policy));
        let geometry = Geometry::new(level, disks, 8, 64).expect("a geometry");
        let cores = (0..disks).map(|_| core()).collect();
        let plan = ArrayPlan { comparing: true, journal, ..ArrayPlan::default() };
        Told { array: Array::new(geometry, plan, Rules::default(), 8, cores), out: Vec::new() }
    }

    fn asks(&mut self, id: u32, op: Op, at: Extent) {
        let request = Request { id: RequestId(id), op, at, qos: Qos::default() };
        self.array.handle(Time(1), Input::Submit(request), &mut self.out);
    }

    fn hears(&mut self, input: Input) {
        self.array.handle(Time(1), input, &mut self.out);
    }

    /// All that was issued comes back: of these disks with an error.
    fn completes(&mut self, failing: &[u16]) -> Vec<Action> {
        let mut told = Vec::new();
        loop {
            let issued: Vec<(DiskId, Tag, Command)> = std::mem::take(&mut self.out)
                .into_iter()
                .filter_map(|action| match action {
                    Action::Issue(disk, tag, command) => Some((disk, tag, command)),
                    Action::GiveUp(_)
                    | Action::Finish(..)
                    | Action::Complete(_)
                    | Action::Compare { .. }
                    | Action::Mend(..) => {
                        told.push(action);
                        None
                    }
                    _ => None,
                })
                .collect();
            if issued.is_empty() {
                return told;
            }
            for (disk, tag, command) in issued {
                let fails = failing.contains(&disk.0) && command.verb != Verb::Read;
                let outcome = if fails { Outcome::Failed(EIO) } else { Outcome::Ok };
                self.hears(Input::Done(disk, tag, Time(1), outcome));
            }
        }
    }
}

const WRITE: Op = Op::Write { fua: false };
const MIRRORED: Level = Level::Mirrored { copies: 2 };

fn finish(id: u32, how: Ending) -> Action {
    Action::Finish(RequestId(id), how)
}

/// Whoever writes down which disks count has to do so before anybody is told that something is written.
#[test]
fn that_a_disk_is_given_up_is_said_before_what_rests_on_the_others() {
    let journal = Some(JournalArea { first: 64, blocks: 8 });
    for (level, disks, journal) in [
        (MIRRORED, 2, None),
        (Level::Parity, 3, None),
        (Level::DoubleParity, 4, None),
        (Level::Parity, 3, journal),
        (Level::DoubleParity, 4, journal),
    ] {
        let mut it = Told::with(level, disks, journal);
        it.asks(0, WRITE, Extent::new(0, 8));
        let told = it.completes(&[0]);
        assert_eq!(told, [Action::GiveUp(DiskId(0)), finish(0, Ending::Finished)], "{level:?}");
        it.asks(0, Op::Flush, Extent::default());
        assert_eq!(it.completes(&[]), [finish(0, Ending::Finished)], "{level:?}: the others hold all of it");
        it.asks(0, Op::Flush, Extent::default());
        it.hears(Input::Disk(DiskId(0), Health::Failed));
        assert_eq!(it.completes(&[]), [finish(0, Ending::Finished)], "{level:?}: it is said once");
    }
}

#[test]
fn no_flush_ends_well_once_something_is_on_no_disk_any_more() {
    for (level, disks) in [(Level::Striped, 2), (MIRRORED, 2), (Level::Parity, 3)] {
        let mut it = Told::new(level, disks);
        (0..=level.redundancy()).for_each(|disk| it.hears(Input::Disk(DiskId(disk), Health::Failed)));
        let given_up = it.completes(&[]).len();
        assert_eq!(given_up, usize::from(level.redundancy()) + 1);
        it.asks(0, Op::Flush, Extent::default());
        assert_eq!(it.completes(&[]), [finish(0, Ending::Failed(EIO))], "{level:?}");
    }
}

#[test]
fn the_last_copy_is_kept_though_it_takes_nothing() {
    let mut it = Told::new(MIRRORED, 4);
    it.hears(Input::Disk(DiskId(2), Health::Failed));
    assert_eq!(it.completes(&[]), [Action::GiveUp(DiskId(2))]);
    it.asks(0, WRITE, Extent::new(0, 8));
    assert_eq!(it.completes(&[0]), [finish(0, Ending::Failed(EIO))], "who wrote is told");
    it.asks(0, Op::Flush, Extent::default());
    assert_eq!(it.completes(&[0]), [finish(0, Ending::Failed(EIO))]);
    it.asks(0, Op::Read, Extent::new(0, 8));
    assert_eq!(it.completes(&[0]), [finish(0, Ending::Finished)], "what it holds is still read");
    // Of the other pair one may go.
    it.asks(0, WRITE, Extent::new(8, 8));
    assert_eq!(it.completes(&[3]), [Action::GiveUp(DiskId(3)), finish(0, Ending::Finished)]);
}

/// A row written in part tells what is missing of it wrong: with parity nothing more is read from such a disk.
#[test]
fn with_parity_a_disk_that_does_not_take_its_part_is_given_up_though_it_was_needed() {
    let mut it = Told::new(Level::Parity, 3);
    it.hears(Input::Disk(DiskId(1), Health::Failed));
    it.completes(&[]);
    it.asks(0, WRITE, Extent::new(0, 16));
    let told = it.completes(&[0]);
    assert_eq!(told, [Action::GiveUp(DiskId(0)), finish(0, Ending::Failed(EIO))]);
}

#[test]
fn a_hint_is_passed_over_and_zeros_are_not_made() {
    let mut it = Told::new(Level::Parity, 3);
    for (what, how) in [
        (Discarded::Anything, Ending::Finished),
        (Discarded::Zeros, Ending::Failed(EOPNOTSUPP)),
        (Discarded::KeptZeros, Ending::Failed(EOPNOTSUPP)),
    ] {
        it.asks(0, Op::Discard(what), Extent::new(0, 8));
        assert_eq!(it.completes(&[]), [finish(0, how)], "{what:?}");
    }
}

#[test]
fn a_disk_that_was_filled_is_complete_once() {
    let mut it = Told::new(MIRRORED, 2);
    it.hears(Input::Disk(DiskId(1), Health::Replaced));
    assert_eq!(it.completes(&[]), [Action::GiveUp(DiskId(1))]);
    it.asks(0, Op::Repair, Extent::new(0, 32));
    assert_eq!(it.completes(&[]), [finish(0, Ending::Finished)]);
    it.asks(0, Op::Repair, Extent::new(32, 32));
    assert_eq!(it.completes(&[]), [Action::Complete(DiskId(1)), finish(0, Ending::Finished)]);
}

#[test]
fn what_does_not_agree_is_written_anew_and_nothing_else() {
    for (level, disks, wrong) in
        [(Level::Parity, 3, DiskId(2)), (Level::DoubleParity, 4, DiskId(3)), (MIRRORED, 2, DiskId(1))]
    {
        for how in [Likeness::Alike, Likeness::Unlike] {
            let mut it = Told::new(level, disks);
            it.asks(0, Op::Repair, Extent::new(0, 8));
            let told = it.completes(&[]);
            assert_eq!(told.len(), usize::from(level.parities().max(1)), "{told:?}");
            let mut after = Vec::new();
            for (nth, action) in told.into_iter().enumerate() {
                let Action::Compare { number, slot, one, other, blocks } = action else { panic!("{action:?}") };
                assert!(one != other && blocks == 8);
                it.hears(Input::Compared(number, slot, if nth == 0 { how } else { Likeness::Alike }));
                after.extend(it.completes(&[]));
            }
            let mended = Action::Mend(wrong, Extent::new(0, 8), Mend::Unlike);
            match how {
                Likeness::Alike => assert_eq!(after, [finish(0, Ending::Finished)]),
                Likeness::Unlike => assert_eq!(after, [mended, finish(0, Ending::Finished)]),
            }
        }
    }
}

#[test]
fn a_disk_that_was_being_filled_before_goes_on_from_where_it_was() {
    let mut it = Told::new(MIRRORED, 2);
    it.hears(Input::Disk(DiskId(1), Health::Filled(32)));
    assert_eq!(it.completes(&[]), [], "nobody is told that it was given up");
    it.asks(0, Op::Repair, Extent::new(32, 32));
    assert_eq!(it.completes(&[]), [Action::Complete(DiskId(1)), finish(0, Ending::Finished)]);
}

#[test]
fn a_disk_holds_from_the_beginning_what_was_never_written_unless_it_is_being_written() {
    for (level, disks) in [(MIRRORED, 2), (Level::Parity, 3), (Level::DoubleParity, 4)] {
        let mut it = Told::new(level, disks);
        let disk = DiskId(1);
        it.hears(Input::Disk(disk, Health::Filled(0)));
        let holds = |from, blocks| Input::Disk(disk, Health::Holds(Extent::new(from, blocks)));
        it.hears(holds(16, 48));
        assert_eq!(it.completes(&[]), [], "{level:?}: the first rows are missing");
        // What is read changes nothing, nor what is written elsewhere.
        let columns = if level.parities() > 0 { 2 } else { 1 };
        it.asks(0, WRITE, Extent::new(8 * columns, 8));
        it.hears(holds(8, 8));
        it.asks(1, Op::Read, Extent::new(0, 8));
        it.hears(holds(0, 8));
        let told = it.completes(&[]);
        assert!(told.contains(&Action::Mend(disk, Extent::new(8, 8), Mend::Doubtful)), "{level:?}: {told:?}");
        assert!(!told.contains(&Action::Complete(disk)), "{level:?}: {told:?}");
        it.hears(holds(8, 8));
        assert_eq!(it.completes(&[]), [Action::Complete(disk)], "{level:?}");
    }
}

/// Of what was missing nothing was read: to compare that would put rubbish in the parity.
#[test]
fn a_row_that_was_filled_while_the_rest_of_it_was_read_is_not_compared() {
    for (level, disks) in [(Level::Mirrored { copies: 3 }, 3), (Level::Parity, 3), (Level::DoubleParity, 4)] {
        let mut it = Told::new(level, disks);
        let disk = DiskId(1);
        it.hears(Input::Disk(disk, Health::Filled(0)));
        it.hears(Input::Disk(disk, Health::Holds(Extent::new(8, 56))));
        let columns = if level.parities() > 0 { 2 } else { 1 };
        it.asks(0, Op::Repair, Extent::new(8 * columns, 8));
        let reads = std::mem::take(&mut it.out);
        assert_eq!(reads.len(), usize::from(disks) - 1, "{level:?}: {reads:?}");
        it.asks(1, Op::Repair, Extent::new(0, 8));
        assert_eq!(it.completes(&[]), [Action::Complete(disk), finish(1, Ending::Finished)], "{level:?}");
        it.out = reads;
        assert_eq!(it.completes(&[]), [finish(0, Ending::Finished)], "{level:?}");
    }
}
