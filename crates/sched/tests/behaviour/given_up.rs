//! Disks of an array that are given up: when, what is said of it, and what a flush then promises.

use block::errno::{EIO, EOPNOTSUPP};
use block::{Caps, Command, Discarded, DiskId, Ending, Extent, Op, Outcome, Qos, Request, RequestId, Tag, Time, Verb};
use sched::array::{Array, ArrayPlan, Geometry, JournalArea, Level};
use sched::plan::Rules;
use sched::policy::{self, Beside};
use sched::predict::Distance;
use sched::{Action, Core, Health, Input, Likeness, Mend, Scheduler};

/// Behind what an array has of a disk: room for records of whole units.
const JOURNAL: JournalArea = JournalArea { first: 64, blocks: 4 * 40 };

/// An array of disks of 64 blocks, in units of 8, and what it decided since it was last looked at.
struct Told {
    array: Array<Distance>,
    geometry: Geometry,
    out: Vec<Action>,
}

impl Told {
    fn new(level: Level, disks: u16) -> Told {
        Told::with(level, disks, None)
    }

    fn with(level: Level, disks: u16, journal: Option<JournalArea>) -> Told {
        let caps = Caps { blocks: 64 + u64::from(JOURNAL.blocks), depth: 8, seek: block::SeekBy::Nothing, arms: 1 };
        let policy = || policy::usual("fcfs").make(&Beside::default());
        let core = || Core::new(caps, u32::MAX, Distance::default(), Rules::default(), Box::new(policy));
        let geometry = Geometry::new(level, disks, 8, 64).expect("a geometry");
        let cores = (0..disks).map(|_| core()).collect();
        let plan = ArrayPlan { comparing: true, journal, ..ArrayPlan::default() };
        Told { array: Array::new(geometry, plan, Rules::default(), 8, cores), geometry, out: Vec::new() }
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
            let mut given_up = Vec::new();
            let issued: Vec<(DiskId, Tag, Command)> = std::mem::take(&mut self.out)
                .into_iter()
                .filter_map(|action| match action {
                    Action::Issue(disk, tag, command) => Some((disk, tag, command)),
                    Action::GiveUp(disk) => {
                        told.push(action);
                        given_up.push(disk);
                        None
                    }
                    Action::Finish(..)
                    | Action::Complete(_)
                    | Action::Grown(..)
                    | Action::Compare { .. }
                    | Action::Mend(..) => {
                        told.push(action);
                        None
                    }
                    _ => None,
                })
                .collect();
            if issued.is_empty() && given_up.is_empty() {
                return told;
            }
            given_up.into_iter().for_each(|disk| self.hears(Input::Disk(disk, Health::Known)));
            for (disk, tag, command) in issued {
                let fails = failing.contains(&disk.0) && command.verb != Verb::Read;
                let outcome = if fails { Outcome::Failed(EIO) } else { Outcome::Ok };
                self.hears(Input::Done(disk, tag, Time(1), outcome));
            }
        }
    }

    /// One whose first disk is given up, or is being filled.
    fn lacking_first(level: Level, disks: u16, how: Health) -> Told {
        let mut it = Told::with(level, disks, Some(JOURNAL));
        it.hears(Input::Disk(DiskId(0), how));
        it.completes(&[]);
        it
    }

    /// All that was issued comes back but records, which are left in flight; and what was decided meanwhile.
    fn completes_rows(&mut self) -> (Vec<(DiskId, Tag, Command)>, Vec<Action>) {
        let (mut records, mut decided) = (Vec::new(), Vec::new());
        loop {
            let out = std::mem::take(&mut self.out);
            decided.extend(&out);
            let (mut any, now) = (false, Time(1));
            for action in out {
                let Action::Issue(disk, tag, command) = action else { continue };
                if command.at.start.0 >= JOURNAL.first {
                    records.push((disk, tag, command));
                } else {
                    any = true;
                    self.hears(Input::Done(disk, tag, now, Outcome::Ok));
                }
            }
            if !any {
                return (records, decided);
            }
        }
    }

    /// The blocks of a column of a row, and the disk that it is on.
    fn column(&self, row: u64, column: u16) -> (Extent, DiskId) {
        (Extent::new(self.geometry.block(row, column, 0).0, 8), self.geometry.disk_of_slot(row, column))
    }

    /// Columns, each of another row, of rows of which the first disk has another column.
    fn columns_beside_first(&self) -> Vec<Extent> {
        let is_first = |row, column: &u16| self.column(row, *column).1 == DiskId(0);
        let beside = |row| {
            let mut columns = 0..self.geometry.columns();
            columns.clone().any(|column| is_first(row, &column)).then(|| columns.find(|column| !is_first(row, column)))
        };
        let rows = (0..8).filter_map(|row| beside(row).flatten().map(|column| self.column(row, column).0));
        rows.collect()
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
    let journal = Some(JOURNAL);
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

/// A row that two disks did not take is written down as lacking both or none, and nothing goes on before that.
#[test]
fn disks_that_fail_in_one_row_are_given_up_together_and_nothing_goes_on_until_that_is_known() {
    let journal = Some(JOURNAL);
    let mut it = Told::with(Level::DoubleParity, 4, journal);
    it.asks(0, WRITE, Extent::new(0, 16));
    it.asks(1, WRITE, Extent::new(16, 16));
    let writes: Vec<_> = std::mem::take(&mut it.out);
    let mut ends = Vec::new();
    for action in writes {
        let Action::Issue(disk, tag, _) = action else { continue };
        let outcome = if disk.0 < 2 { Outcome::Failed(EIO) } else { Outcome::Ok };
        it.hears(Input::Done(disk, tag, Time(1), outcome));
        ends.append(&mut it.out);
    }
    let both = [DiskId(0), DiskId(1)].map(Action::GiveUp);
    assert!(ends.len() == 2 && both.iter().all(|action| ends.contains(action)), "{ends:?}");
    it.hears(Input::Disk(DiskId(0), Health::Known));
    it.asks(2, WRITE, Extent::new(32, 8));
    assert_eq!(it.out, [], "of one the others do not know yet");
    // Who tells them has found another that is of no use.
    it.hears(Input::Disk(DiskId(2), Health::Failed));
    it.hears(Input::Disk(DiskId(1), Health::Known));
    assert_eq!(std::mem::take(&mut it.out), [Action::GiveUp(DiskId(2))]);
    it.hears(Input::Disk(DiskId(2), Health::Known));
    let told = it.completes(&[]);
    assert_eq!(told.len(), 3, "{told:?}");
}

/// A disk that is being filled may not count when the array is found again, nor may what is on it.
#[test]
fn a_record_keeps_what_is_written_to_a_disk_that_is_being_filled_and_is_not_on_that_disk() {
    for (level, disks) in [(Level::Parity, 3), (Level::DoubleParity, 4)] {
        let mut it = Told::lacking_first(level, disks, Health::Filled(0));
        let (row, at) =
            (0..8).find_map(|row| Some((row, it.column(row, 0))).filter(|(_, (_, disk))| disk.0 == 0)).expect("a row");
        it.asks(0, WRITE, at.0);
        let (records, decided) = it.completes_rows();
        let [(disk, ..)] = records[..] else { panic!("{level:?}, row {row}: {records:?}") };
        assert_ne!(disk, DiskId(0), "{level:?}");
        let head = decided.iter().find_map(|action| match action {
            Action::Record { written, kept, .. } => Some((written & 1, kept & 1)),
            _ => None,
        });
        assert_eq!(head, Some((0, 1)), "{level:?}: it is not had from the disk, but from the record");
    }
}

/// What was put down when a disk was still sound has what it will hold from that disk.
#[test]
fn a_record_during_which_another_disk_is_given_up_is_put_down_anew() {
    let mut it = Told::lacking_first(Level::DoubleParity, 5, Health::Failed);
    // The first that is sound has the record.
    let disk_of = |at: &Extent| it.column(at.start.0 / 24, (at.start.0 % 24 / 8) as u16).1;
    let columns = it.columns_beside_first();
    let (at, other) = columns.iter().map(|at| (*at, disk_of(at))).find(|(_, disk)| disk.0 > 1).expect("a column");
    it.asks(0, WRITE, at);
    let (records, _) = it.completes_rows();
    let [(disk, tag, _)] = records[..] else { panic!("{records:?}") };
    assert_ne!(disk, other);
    it.hears(Input::Disk(other, Health::Failed));
    it.hears(Input::Disk(other, Health::Known));
    it.completes_rows();
    it.hears(Input::Done(disk, tag, Time(1), Outcome::Ok));
    let (anew, decided) = it.completes_rows();
    let writes = |action: &&Action| matches!(action, Action::Issue(_, _, it) if it.verb.writes() && it.at.start.0 < 64);
    assert_eq!((anew.len(), decided.iter().find(writes)), (1, None));
}

/// Of those on the medium the newest tells which others count, in whatever order they came there.
#[test]
fn the_place_of_the_newest_record_is_not_taken_before_there_is_a_newer_one() {
    let mut it = Told::lacking_first(Level::Parity, 3, Health::Failed);
    let at = it.columns_beside_first();
    it.asks(0, WRITE, at[0]);
    it.asks(1, WRITE, at[1]);
    let (records, _) = it.completes_rows();
    let [first, second] = records[..] else { panic!("{records:?}") };
    for (disk, tag, _) in [second, first] {
        it.hears(Input::Done(disk, tag, Time(1), Outcome::Ok));
    }
    let (more, _) = it.completes_rows();
    assert_eq!(more, []);
    it.asks(0, WRITE, at[2]);
    let (third, _) = it.completes_rows();
    let place = |(disk, _, command): (DiskId, Tag, Command)| (disk, command.at.start);
    assert_eq!(third.into_iter().map(place).collect::<Vec<_>>(), [place(first)]);
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

/// None is left for the record that a write of a row would need.
#[test]
fn a_write_fails_where_no_disk_is_left() {
    for (level, disks) in [(Level::Parity, 3), (Level::DoubleParity, 4)] {
        let all: Vec<u16> = (0..disks).collect();
        let mut it = Told::with(level, disks, Some(JOURNAL));
        (0..8).for_each(|id| it.asks(id, WRITE, Extent::new(u64::from(id) * 8, 8)));
        let ends = |told: Vec<Action>| told.iter().filter(|action| matches!(action, Action::Finish(..))).count();
        assert_eq!(ends(it.completes(&all)), 8, "{level:?}: those under way");
        it.asks(0, WRITE, Extent::new(0, 8));
        assert_eq!(it.completes(&all), [finish(0, Ending::Failed(EIO))], "{level:?}");
        it.asks(0, Op::Flush, Extent::default());
        assert_eq!(it.completes(&all), [finish(0, Ending::Failed(EIO))], "{level:?}");
    }
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
