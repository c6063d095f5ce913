//! A RAID 5 becomes a RAID 6 while it is written, and maybe a RAID 5 again: disks are lost before, meanwhile and after.

use super::{ASKED, Bytes, DISKS, Inside, JOURNAL, Kept, TOGETHER};
use block::{DiskId, Extent, Op, Qos, Request, RequestId};
use sched::array::Level;
use sched::{Health, Input, Scheduler};

/// The disk that keeps the second parities.
const SECOND: DiskId = DiskId(DISKS);

/// When disks are lost, and whether the second parity is let go: how much was asked for by then, of [`ASKED`].
#[derive(Clone, Copy, Debug)]
struct Scene {
    lost_before: bool,
    lost_meanwhile: bool,
    lost_after: u16,
    lowered_at: Option<u32>,
    journals: bool,
}

impl Bytes {
    /// Asks that a part of the array be repaired.
    fn ask_repair(&mut self, at: Extent) -> bool {
        let Some(slot) = self.inside.iter().position(Option::is_none).filter(|_| self.array.room() > 0) else {
            return false;
        };
        let request = Request { id: RequestId(slot as u32), op: Op::Repair, at, qos: Qos::default() };
        self.inside[slot] = Some(Inside { request, memory: Vec::new(), expected: Vec::new(), cancelled: false });
        self.handle(Input::Submit(request));
        true
    }

    fn settle_all(&mut self) {
        while !self.flying.is_empty() || !self.unknown.is_empty() {
            if self.flying.is_empty() { self.tell_known() } else { self.complete() }
        }
    }

    /// Another disk, which holds rubbish, takes the place of one.
    fn replace(&mut self, disk: DiskId) {
        self.fail_disk(disk);
        self.settle_all();
        self.failed.retain(|other| *other != disk);
        self.gone.retain(|other| *other != disk);
        self.handle(Input::Disk(disk, Health::Replaced));
    }

    /// Asks for the next part to be filled: whether all of the disk was.
    pub(super) fn fill_on(&mut self, next: &mut u64) -> bool {
        let Some(disk) = self.filling else { return false };
        if self.complete.contains(&disk) {
            (self.filling, *next) = (None, 0);
            self.handle(Input::Disk(disk, Health::Known));
            return true;
        }
        let all = self.geometry.widest().blocks();
        let blocks = (1 + self.dice.below(900)).min(all - *next) as u32;
        if self.ask_repair(Extent::new(*next, blocks)) {
            *next = (*next + u64::from(blocks)) % all;
        }
        false
    }

    fn raise(&mut self) {
        self.geometry = self.geometry.raise().expect("it becomes a RAID 6");
        self.disks[usize::from(SECOND.0)].fill(0xdead);
        self.handle(Input::Disk(SECOND, Health::JoinsForParity));
    }

    /// The disk with the second parities is given up, and then the array does without them.
    fn lower(&mut self) {
        if !self.gone.contains(&SECOND) {
            self.fail_disk(SECOND);
        }
        while !self.gone.contains(&SECOND) {
            self.complete();
        }
        self.geometry = self.geometry.lower().expect("it becomes a RAID 5");
        self.handle(Input::Disk(SECOND, Health::LeavesWithParity));
    }

    fn play(&mut self, scene: Scene) {
        let (mut asked, mut next, mut is_raised, mut is_full) = (0, 0, false, false);
        let mut lowered_at = scene.lowered_at;
        (self.spare, self.journals) = (0, scene.journals);
        if scene.lost_before {
            self.replace(DiskId(1));
            self.filling = Some(DiskId(1));
        }
        let ends = |it: &Bytes| it.flying.is_empty() && it.unknown.is_empty();
        while asked < ASKED || !is_raised || self.filling.is_some() || !ends(self) {
            match self.dice.below(14) {
                0..=3 if asked < ASKED => {
                    self.ask_at_random();
                    asked += 1;
                }
                4 if !is_raised && self.filling.is_none() && asked > 5 => {
                    is_raised = true;
                    self.raise();
                    self.filling = Some(SECOND);
                    self.spare = u16::from(scene.lost_meanwhile);
                }
                5 if self.dice.once_in(3) => self.fail(),
                6 => self.tell_known(),
                7 if self.failed.is_empty() || is_raised => {
                    let was_second = self.filling == Some(SECOND);
                    if self.failed.contains(&SECOND) {
                        self.filling = None;
                    }
                    if self.fill_on(&mut next) && was_second {
                        is_full = true;
                        let lost = self.failed.len() as u16;
                        self.spare = scene.lost_after.saturating_sub(lost);
                    }
                }
                8 if is_raised && lowered_at.is_some_and(|at| asked >= at) => {
                    lowered_at = None;
                    self.filling = None;
                    self.lower();
                    self.spare = u16::from(self.failed == [SECOND]);
                }
                _ if !self.flying.is_empty() => self.complete(),
                _ => {}
            }
        }
        assert!(is_raised && (is_full || scene.lost_meanwhile || scene.lowered_at.is_some()), "{scene:?}");
        self.read_all();
    }
}

/// What the disks hold of each row is what the code of its level says, where they hold what they should.
pub(super) fn check_parities(it: &Bytes) {
    let geometry = it.geometry;
    for row in 0..geometry.rows() {
        for within in 0..geometry.unit() {
            let at = geometry.on_disk(row, within, 1).start.0 as usize;
            let holds = |slot| it.disks[usize::from(geometry.disk_of_slot(row, slot).0)][at];
            let columns = geometry.columns();
            for parity in 0..geometry.parities() {
                let factor =
                    |column| if parity == 0 { 1 } else { (0..column).fold(1, |power, _| super::times(power, 2)) };
                let sum = (0..columns).fold(0, |sum, column| sum ^ super::times(holds(column), factor(column) as u8));
                assert_eq!(sum, holds(columns + parity), "parity {parity} of row {row}");
            }
        }
    }
}

#[test]
fn whoever_reads_gets_what_was_written_last_though_the_level_changes() {
    let mut checked = 0;
    for seed in 0..240_u64 {
        let scene = Scene {
            lost_before: seed % 3 == 0,
            lost_meanwhile: seed % 5 == 0,
            lost_after: [0, 1, 2, 2][(seed % 4) as usize],
            lowered_at: (seed % 7 < 3).then_some(8 + (seed % 40) as u32),
            journals: seed % 2 == 1,
        };
        println!("{scene:?}, seed {seed}");
        let journal = scene.journals.then_some(JOURNAL);
        let mut it = Bytes::new(Level::Parity, Kept { buffer: 0, logged: false, journal }, seed);
        it.play(scene);
        assert!(it.records.is_empty(), "{:?} are not done with", it.records);
        if it.failed.iter().all(|disk| *disk == SECOND) && it.geometry.parities() + it.failed.len() as u16 <= 2 {
            check_parities(&it);
            checked += 1;
        }
        assert_eq!(it.array.room(), TOGETHER as u32);
    }
    assert!(checked > 40, "{checked}");
}
