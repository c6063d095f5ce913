//! A disk takes the place of another that has commands in flight.

use super::*;
use crate::array::{Absent, Former, Lacking, ScrubOrder, create, inspect};
use crate::kernel::PlayedKernel;
use crate::unit::{Ram, Summed};
use crate::{Clock, Host, Unwritten};
use block::errno::EIO;
use block::{Op, Outcome, Place, Verb};
use load::experiment::IoBackend;
use sched::array::Level;
use std::cell::Cell;

const DISK: u64 = crate::array::BEFORE + 64 + BEHIND;

/// A kernel that keeps by which numbers it was asked.
struct Asked(Host, Vec<u32>);

impl PlayedKernel for Asked {
    fn time(&self) -> Time {
        self.0.now()
    }

    fn note(&mut self, token: RingToken, _: RingOp) {
        if let RingToken::Unit(number) = token {
            self.1.push(number);
        }
    }
}

/// Memory of which the kernel is asked all the same.
struct Slow {
    ram: Ram,
    /// Whether what is to be stored or flushed is refused.
    refuses: Rc<Cell<bool>>,
    socket: Rc<OwnedFd>,
    done: VecDeque<Tag>,
}

impl Slow {
    fn boxed() -> Box<dyn LiveDevice> {
        Slow::of(DISK)
    }

    fn of(blocks: u64) -> Box<dyn LiveDevice> {
        Slow::refusing(blocks, &Rc::default())
    }

    fn refusing(blocks: u64, refuses: &Rc<Cell<bool>>) -> Box<dyn LiveDevice> {
        let (socket, _) = std::os::unix::net::UnixStream::pair().expect("sockets");
        let ram = Ram::new(blocks, Unwritten::Zeros);
        Box::new(Slow { ram, refuses: Rc::clone(refuses), socket: Rc::new(socket.into()), done: VecDeque::new() })
    }
}

impl LiveDevice for Slow {
    fn caps(&self) -> Caps {
        Caps { depth: 4, ..self.ram.caps() }
    }

    fn issue(
        &mut self,
        _: Time,
        tag: Tag,
        _: &Command,
        memory: Option<Slice>,
        kernel: &mut dyn Kernel,
    ) -> io::Result<()> {
        let memory = memory.unwrap_or_else(|| Slice::new(512));
        kernel.push(&Rc::clone(&self.socket), RingToken::Unit(tag.0), RingOp::Read(memory, 0))
    }

    fn on_completion(&mut self, _: Time, tag: Tag, _: i32, _: &mut dyn Kernel) -> io::Result<()> {
        self.done.push_back(tag);
        Ok(())
    }

    fn next_completion(&mut self, now: Time) -> Option<Done> {
        self.done.pop_front().map(|tag| Done::now(now, tag, Outcome::Ok))
    }

    fn peek(&mut self, at: Extent, into: &Slice) -> bool {
        self.ram.peek(at, into)
    }

    fn store(&mut self, at: Extent, from: &Slice) -> io::Result<()> {
        self.sync()?;
        self.ram.poke(at, from);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.refuses.get() { Err(io::ErrorKind::Other.into()) } else { Ok(()) }
    }

    fn alike(&mut self, at: Extent) -> (u64, bool) {
        self.ram.alike(at)
    }
}

#[test]
fn what_a_disk_has_in_flight_is_not_taken_for_that_of_the_one_after_it() {
    let geometry = Geometry::within(Level::Parity, 3, 8, DISK, (crate::array::BEFORE, BEHIND)).expect("a geometry");
    let mut units: Vec<_> = (0..3).map(|_| Slow::boxed()).collect();
    create(&mut units, geometry).expect("an array");
    let mut opened: Vec<_> = units.into_iter().map(Ok).collect();
    let status = inspect(&mut opened, &geometry);
    assert_eq!(status.admit(&geometry, Lacking::Refused), Ok(()));
    let opener: MemberOpener = Box::new(|_, _| Ok(Slow::boxed()));
    let members = Members::new(geometry, opened.into_iter().flatten().collect());
    let mut members = members.repairing([RepairPace::default(); 2], Some(opener)).noting(ArrayNotes::new(&status, 1));
    let mut kernel = Asked(Host::new(Clock::new(1.0), IoBackend::Threads).expect("a host"), Vec::new());
    let (disk, tag) = (DiskId(1), Tag(4 + 2));
    let read = Command::new(Verb::Read, Extent::new(crate::array::BEFORE, 1), Place::Nowhere);
    members.issue(Time(1), tag, &read, None, &mut kernel).expect("issued");
    members.order(&ArrayOrder::Replace(disk, "a".into(), Former::Kept)).expect("it is fit");
    assert_eq!(members.next_change(), Some(disk));
    members.give_up(&[disk]);
    assert!(members.change_disk(disk) && members.filling() == [(disk, crate::array::BEFORE)]);
    members.issue(Time(2), tag, &read, None, &mut kernel).expect("issued");
    let [before, after] = kernel.1[..] else { panic!("{:?}", kernel.1) };
    assert_ne!(before, after);
    members.on_completion(Time(3), Tag(before), 512, &mut kernel).expect("taken");
    assert_eq!(members.next_completion(Time(3)), None, "it comes back to nobody");
    members.on_completion(Time(4), Tag(after), 512, &mut kernel).expect("taken");
    assert_eq!(members.next_completion(Time(4)).map(|done| done.tag), Some(tag));
}

/// An array that is served without one of its disks notes that in both copies of what each other knows: whichever is lost then, the
/// disk is not taken for what it was.
#[test]
fn a_disk_that_was_lacking_once_is_not_trusted_again_whichever_copy_of_the_notes_is_lost() {
    let geometry = Geometry::within(Level::Parity, 3, 8, DISK, (crate::array::BEFORE, BEHIND)).expect("a geometry");
    for lost in [0, DISK - BEHIND] {
        let mut units: Vec<_> = (0..3).map(|_| Slow::boxed()).collect();
        create(&mut units, geometry).expect("an array");
        let away = units.remove(1);
        let mut opened = vec![Ok(units.remove(0)), Err("away".to_owned()), Ok(units.remove(0))];
        let status = inspect(&mut opened, &geometry);
        assert_eq!(status.admit(&geometry, Lacking::Allowed), Ok(()));
        let units = opened.into_iter().map(|unit| unit.unwrap_or_else(|_| Slow::boxed())).collect();
        let members = Members::new(geometry, units).noting(ArrayNotes::new(&status, 1));
        assert_eq!(members.lacking(), [DiskId(1)]);
        let mut units: Vec<_> = members.members.into_iter().map(|member| member.unit).collect();
        units[1] = away;
        let rubbish = Slice::holding(&vec![0xA5; (BEHIND * BLOCK_BYTES) as usize]);
        for disk in [0, 2] {
            units[disk].store(Extent::new(lost, BEHIND as u32), &rubbish).expect("stored");
        }
        let status = inspect(&mut units.into_iter().map(Ok).collect::<Vec<_>>(), &geometry);
        let states: Vec<_> = status.disks.iter().map(|state| state.word()).collect();
        assert_eq!(states, ["sound", "given up", "sound"], "without the copy at {lost}");
    }
}

/// A disk brings zeros in place of what was written: nobody gets that, and it is repaired.
#[test]
fn what_is_not_as_it_was_written_is_not_brought_and_is_to_be_repaired() {
    let geometry = Geometry::within(Level::Parity, 3, 8, DISK, (crate::array::BEFORE, BEHIND)).expect("a geometry");
    let summed = |_| Box::new(Summed::new(Slow::of(DISK + 32))) as Box<dyn LiveDevice>;
    let mut units: Vec<_> = (0..3).map(summed).collect();
    create(&mut units, geometry).expect("an array");
    let mut opened: Vec<_> = units.into_iter().map(Ok).collect();
    let status = inspect(&mut opened, &geometry);
    assert_eq!(status.admit(&geometry, Lacking::Refused), Ok(()));
    let members = Members::new(geometry, opened.into_iter().flatten().collect());
    let mut members = members.noting(ArrayNotes::new(&status, 1));
    let mut kernel = Asked(Host::new(Clock::new(1.0), IoBackend::Threads).expect("a host"), Vec::new());
    let (at, tag) = (geometry.on_disk(2, 3, 2), Tag(4 + 2));
    members.members[1].unit.store(at, &Slice::holding(&[0x5A; 1024])).expect("stored");
    let read = Command::new(Verb::Read, at, Place::Nowhere);
    members.issue(Time(1), tag, &read, Some(Slice::new(1024)), &mut kernel).expect("issued");
    members.on_completion(Time(2), Tag(kernel.1[0]), 1024, &mut kernel).expect("taken");
    let done = members.next_completion(Time(2)).expect("it came back");
    assert_eq!((done.tag, done.outcome), (tag, Outcome::Failed(EIO)));
    assert_eq!(members.next_completion(Time(2)), None);
    let clients = Clients { outstanding: 1, silent_from: Time(0) };
    assert!(members.errand_due(clients).is_some_and(|due| due <= Time(3)));
    let errand = members.next_errand(Time(3), clients).expect("a repair");
    assert_eq!((errand.op, errand.at), (block::Op::Repair, Extent::new(geometry.block(2, 0, 3).0, 2)));
    assert_eq!(members.array_json().expect("an array")["spoilt_blocks"], 2);
    members.end_errand(Time(4), errand.number, Ending::Finished);
    assert_eq!(members.next_errand(Time(5), clients), None, "once");
}

/// An array that is served, and what has each of its disks refuse to keep anything. What takes a place refuses together with the one before.
struct Served {
    members: Members,
    refuse: Vec<Rc<Cell<bool>>>,
}

impl Served {
    /// Of an array of so many disks, of which these refuse from the beginning of the service.
    fn new(level: Level, disks: u16, refusing: &[usize]) -> Served {
        let geometry = Geometry::within(level, disks, 8, DISK, (crate::array::BEFORE, BEHIND)).expect("a geometry");
        let refuse: Vec<Rc<Cell<bool>>> = (0..disks).map(|_| Rc::default()).collect();
        let mut units: Vec<_> = refuse.iter().map(|refuses| Slow::refusing(DISK, refuses)).collect();
        create(&mut units, geometry).expect("an array");
        refusing.iter().for_each(|disk| refuse[*disk].set(true));
        let mut opened: Vec<_> = units.into_iter().map(Ok).collect();
        let status = inspect(&mut opened, &geometry);
        let all = refuse.clone();
        let opener: MemberOpener = Box::new(move |disk, _| Ok(Slow::refusing(DISK, &all[usize::from(disk.0)])));
        let members = Members::new(geometry, opened.into_iter().flatten().collect());
        let members = members.repairing([RepairPace::default(); 2], Some(opener)).noting(ArrayNotes::new(&status, 1));
        Served { members, refuse }
    }

    /// Another disk takes the place of one.
    fn replace(&mut self, disk: u16) {
        let disk = DiskId(disk);
        self.members.order(&ArrayOrder::Replace(disk, "a".into(), Former::Kept)).expect("it is fit");
        assert_eq!(self.members.next_change(), Some(disk));
        self.members.give_up(&[disk]);
        assert!(self.members.change_disk(disk));
    }

    fn events(&self) -> u64 {
        self.members.array_json().expect("an array")["events"].as_u64().expect("a number")
    }

    /// The service ends, and another of this number begins.
    fn serve_again(self, service: u64) -> Served {
        let geometry = self.members.geometry;
        let mut opened: Vec<_> = self.members.members.into_iter().map(|member| Ok(member.unit)).collect();
        let status = inspect(&mut opened, &geometry);
        let members = Members::new(geometry, opened.into_iter().flatten().collect());
        Served { members: members.noting(ArrayNotes::new(&status, service)), refuse: self.refuse }
    }

    /// What each disk is found to be when the service is gone.
    fn find_states(self) -> Vec<&'static str> {
        let geometry = self.members.geometry;
        let units = self.members.members.into_iter().map(|member| Ok(member.unit));
        inspect(&mut units.collect::<Vec<_>>(), &geometry).disks.iter().map(|state| state.word()).collect()
    }
}

/// Found with the first missing and the other trusted, what the first held would follow from a row of which the other lacks its part.
#[test]
fn a_disk_that_does_not_flush_when_another_is_given_up_is_noted_with_it() {
    let mut it = Served::new(Level::DoubleParity, 4, &[]);
    let before = it.events();
    it.refuse[2].set(true);
    assert!(it.members.give_up(&[DiskId(1)]));
    assert_eq!((it.events(), it.members.lacking()), (before + 1, vec![DiskId(1)]), "the core is told first");
    assert_eq!(it.members.next_refusal(), Some(DiskId(2)));
    assert!(!it.members.can_spare(DiskId(3)));
    assert!(it.members.give_up(&[DiskId(2)]));
    assert_eq!((it.events(), it.members.lacking()), (before + 1, vec![DiskId(1), DiskId(2)]));
    assert_eq!(it.members.foretold, []);
    assert_eq!(it.find_states(), ["sound", "given up", "given up", "sound"]);
    // What would be lost with it is not given up.
    let mut it = Served::new(Level::Parity, 3, &[]);
    it.refuse[2].set(true);
    assert!(it.members.give_up(&[DiskId(1)]));
    assert_eq!((it.members.next_refusal(), it.members.lacking()), (Some(DiskId(2)), vec![DiskId(1)]));
    assert_eq!(it.find_states(), ["sound", "given up", "sound"]);
}

#[test]
fn a_disk_that_is_filled_is_said_to_be_known_so_only_when_some_disk_has_the_note() {
    for refuses in [false, true] {
        let mut it = Served::new(Level::Parity, 3, &[]);
        it.replace(1);
        while it.members.next_health().is_some() {}
        it.refuse.iter().for_each(|disk| disk.set(refuses));
        it.members.set_sound(DiskId(1));
        let known = Some((DiskId(1), Health::Known)).filter(|_| !refuses);
        assert_eq!(it.members.next_health(), known);
    }
}

#[test]
fn a_disk_that_is_filled_counts_only_once_that_is_flushed_though_another_goes() {
    for refuses in [false, true] {
        let mut it = Served::new(Level::Parity, 3, &[]);
        it.replace(1);
        it.members.complete(DiskId(1));
        it.refuse[1].set(refuses);
        it.members.give_up(&[DiskId(2)]);
        assert_eq!(!it.members.filling().is_empty(), refuses);
    }
}

/// What was written since the disk took its place may have been planned without it.
#[test]
fn of_a_disk_that_takes_a_place_what_was_written_meanwhile_is_not_said_to_be_held() {
    for is_written in [false, true] {
        let mut it = Served::new(Level::Parity, 3, &[]);
        it.replace(1);
        let at = it.members.geometry.on_disk(3, 2, 1);
        if is_written {
            let write = Command::new(Verb::Write { fua: false }, at, Place::Nowhere);
            it.members.must_wait(&write, Some(&Slice::holding(&[1; 512])));
        }
        let told = std::iter::from_fn(|| it.members.next_health());
        let holds = |(_, health): (DiskId, Health)| match health {
            Health::Holds(part) => part.start <= at.start && at.end() <= part.end(),
            _ => false,
        };
        assert_eq!(told.map(holds).filter(|holds| *holds).count(), usize::from(!is_written));
    }
}

/// An array with the place of a further disk, which is told to take one.
fn serve_with_place(order: &ArrayOrder) -> Served {
    let mut it = Served::new(Level::Parity, 3, &[]);
    let depth = it.members.members[0].depth as u16;
    let (first, known) = (it.members.members[2].first + u32::from(depth), it.members.unknown);
    let absent = Absent::new(Caps { blocks: DISK, depth, seek: block::SeekBy::Nothing, arms: 1 });
    it.members.members.push(Member { unit: Box::new(absent), first, depth: depth.into(), known });
    it.members.notes_known.push(known + u32::from(depth));
    it.members.unknown += u32::from(depth) + 1;
    it.refuse.push(Rc::default());
    let refuse = it.refuse.clone();
    it.members.opener = Some(Box::new(move |disk, _| Ok(Slow::refusing(DISK, &refuse[usize::from(disk.0)]))));
    it.members.order(order).expect("it is fit");
    it
}

/// The same, which becomes a RAID 6.
fn raise_served() -> Served {
    serve_with_place(&ArrayOrder::Raise("a".into(), Former::Kept))
}

/// What is to be repaired or scrubbed is said by rows as they lie before.
#[test]
fn rows_do_not_move_before_what_is_to_be_repaired_or_scrubbed_is() {
    let clients = Clients { outstanding: 0, silent_from: Time::ZERO };
    let grow = || serve_with_place(&ArrayOrder::Grow(vec!["a".into()], Former::Kept));
    let trade = || {
        let mut it = Served::new(Level::Mirrored { copies: 2 }, 4, &[]);
        it.members.order(&ArrayOrder::BecomeRaid5).expect("it may");
        it
    };
    for begin in [&grow as &dyn Fn() -> Served, &trade] {
        let mut it = begin();
        it.members.upkeep.want_repair(Extent::new(0, 8));
        assert_eq!(it.members.join(), None);
        let repair = it.members.next_errand(Time(1), clients).expect("it is repaired first");
        assert_eq!((repair.op, it.members.join()), (Op::Repair, None));
        it.members.end_errand(Time(2), repair.number, Ending::Finished);
        assert!(it.members.join().is_some());
        let mut it = begin();
        it.members.order(&ArrayOrder::Scrub(ScrubOrder::Start)).expect("no row has moved yet");
        assert_eq!(it.members.join(), None);
        it.members.order(&ArrayOrder::Scrub(ScrubOrder::Stop)).expect("it is under way");
        assert!(it.members.join().is_some());
    }
}

#[test]
fn a_disk_for_the_second_parity_joins_empty_and_is_let_go_with_its_superblock() {
    let mut it = raise_served();
    let events = it.events();
    assert_eq!(it.members.join(), Some((DiskId(3), Health::JoinsForParity)));
    assert_eq!((it.events(), it.members.filling_disks()), (events + 1, vec![(DiskId(3), 0)]));
    it.members.order(&ArrayOrder::BecomeRaid5).expect("it may");
    assert!(it.members.order(&ArrayOrder::Replace(DiskId(3), "a".into(), Former::Kept)).is_err());
    assert_eq!(it.members.next_health(), Some((DiskId(3), Health::Failed)));
    assert!(it.members.give_up(&[DiskId(3)]));
    assert_eq!(it.events(), events + 2, "who is told of the one is told of the other");
    assert_eq!(it.members.next_health(), Some((DiskId(3), Health::LeavesWithParity)));
    assert_eq!((it.members.geometry.level(), it.members.lacking()), (Level::Parity, Vec::new()));
    let raise = ArrayOrder::Raise("a".into(), Former::Kept);
    assert!(it.members.order(&raise).is_err_and(|what| what.contains("start the service anew")));
    it.members.members.pop();
    assert_eq!(it.find_states(), ["sound"; 3]);
}

#[test]
fn a_disk_that_cannot_be_told_does_not_join_and_the_array_stays_what_it_was() {
    let mut it = raise_served();
    it.refuse[3].set(true);
    assert_eq!((it.members.join(), it.members.geometry.level()), (None, Level::Parity));
    it.members.members.pop();
    assert_eq!(it.find_states(), ["sound"; 3]);
}

#[test]
fn what_stands_against_another_level_is_said() {
    let refused = |members: &mut Members, order: &ArrayOrder| members.order(order).expect_err("it is refused");
    let raise = ArrayOrder::Raise("a".into(), Former::Kept);
    let mut it = raise_served();
    assert!(refused(&mut it.members, &raise).contains("changing its level already"));
    assert!(refused(&mut it.members, &ArrayOrder::Grow(vec!["a".into()], Former::Kept)).contains("already"));
    it.members.join();
    assert!(refused(&mut it.members, &raise).contains("level 6 already"));
    it.members.order(&ArrayOrder::Scrub(ScrubOrder::Start)).expect("it waits for the rebuild");
    assert!(refused(&mut it.members, &ArrayOrder::BecomeRaid5).contains("being scrubbed"));
    it.members.order(&ArrayOrder::Scrub(ScrubOrder::Stop)).expect("it was wanted");
    it.members.give_up(&[DiskId(1)]);
    assert!(refused(&mut it.members, &ArrayOrder::BecomeRaid5).contains("lacking or being rebuilt"));
    let mut it = Served::new(Level::Parity, 3, &[]);
    assert!(refused(&mut it.members, &raise).contains("start the service anew"), "there is no place");
    it.members.give_up(&[DiskId(1)]);
    assert!(refused(&mut it.members, &raise).contains("lacking or being rebuilt"));
    let mut it = Served::new(Level::DoubleParity, 4, &[]);
    assert!(refused(&mut it.members, &ArrayOrder::BecomeRaid5).contains("on all of its disks"));
}

#[test]
fn a_raid_0_1_becomes_a_raid_5_once_its_disks_were_told_and_only_where_it_may() {
    let refused = |it: &mut Served, order: &ArrayOrder| it.members.order(order).expect_err("it is refused");
    let level = Level::Mirrored { copies: 2 };
    let mut it = Served::new(level, 4, &[]);
    let events = it.events();
    it.members.order(&ArrayOrder::BecomeRaid5).expect("it may");
    assert!(refused(&mut it, &ArrayOrder::BecomeRaid5).contains("changing its level already"));
    assert_eq!(it.members.join(), Some((DiskId(0), Health::TradesCopies)));
    assert_eq!((it.events(), it.members.geometry.traded_level()), (events + 1, Some(level)));
    assert!(refused(&mut it, &ArrayOrder::BecomeRaid5).contains("changing its level already"));
    assert!(refused(&mut it, &ArrayOrder::Scrub(ScrubOrder::Start)).contains("is changing its level"));
    assert_eq!((it.members.join(), it.find_states()), (None, vec!["sound"; 4]));
    let mut pair = Served::new(level, 2, &[]);
    assert!(refused(&mut pair, &ArrayOrder::BecomeRaid5).contains("a RAID 5 has 3 disks at least"));
    let mut scrubbed = Served::new(level, 4, &[]);
    scrubbed.members.order(&ArrayOrder::Scrub(ScrubOrder::Start)).expect("it may");
    assert!(refused(&mut scrubbed, &ArrayOrder::BecomeRaid5).contains("being scrubbed"));
    let mut lacking = Served::new(level, 4, &[]);
    lacking.members.give_up(&[DiskId(1)]);
    assert!(refused(&mut lacking, &ArrayOrder::BecomeRaid5).contains("lacking or being rebuilt"));
    // One goes between the order and its beginning.
    let mut late = Served::new(level, 4, &[]);
    late.members.order(&ArrayOrder::BecomeRaid5).expect("it may");
    late.members.give_up(&[DiskId(1)]);
    assert_eq!((late.members.join(), late.members.geometry.level()), (None, level));
}

/// It was not told of the service, and is not taken for one of a copy of the array.
#[test]
fn a_disk_that_refuses_the_first_note_of_a_service_is_still_of_the_array() {
    let it = Served::new(Level::Parity, 3, &[1]);
    it.refuse[1].set(false);
    assert_eq!(it.find_states(), ["sound"; 3]);
}

#[test]
fn a_disk_as_it_was_before_a_service_began_is_of_a_copy() {
    let mut it = Served::new(Level::Parity, 3, &[]);
    let parts = [Extent::new(0, 3 * BEHIND as u32), Extent::new(DISK - BEHIND, BEHIND as u32)];
    let copied = parts.map(|at| {
        let held = Slice::new(at.bytes() as usize);
        assert!(it.members.members[1].unit.peek(at, &held));
        held
    });
    let mut it = it.serve_again(2);
    for (at, held) in parts.iter().zip(&copied) {
        it.members.members[1].unit.store(*at, held).expect("stored");
    }
    assert_eq!(it.find_states(), ["sound", "of a copy", "sound"]);
}
