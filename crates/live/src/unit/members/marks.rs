//! Marking regions without waiting: a write that is the first of its region waits until the mark is on a medium; others go on.
//!
//! One note is under way at a time, to each disk that counts. What comes meanwhile is in the next. A disk that does not take a note is
//! given up; where none takes it the writes have failed.

use super::{Members, Shifted};
use crate::array;
use crate::kernel::Kernel;
use crate::memory::Slice;
use crate::unit::{Done, Stored};
use block::errno::EIO;
use block::{Command, DiskId, Extent, Outcome, Tag, Time};
use std::io;

/// A note that is under way.
pub(super) struct Noting {
    /// Disks that have not said yet whether they have it; those that have.
    left: Vec<DiskId>,
    taken: u32,
    /// The regions that it marks.
    regions: Vec<u64>,
    bytes: i32,
    /// Whether it tells how far the array has grown.
    tells: bool,
}

/// A write that waits for a mark.
pub(super) struct WaitingWrite {
    pub(super) asked: Time,
    pub(super) tag: Tag,
    pub(super) command: Command,
    pub(super) memory: Option<Slice>,
}

impl WaitingWrite {
    fn end_failed(&self) -> Done {
        Done::now(self.asked, self.tag, Outcome::Failed(EIO))
    }
}

impl Members {
    /// Whether a write has to wait for the mark of a region, which it may be the first to need.
    pub(super) fn must_wait(&mut self, command: &Command, memory: Option<&Slice>) -> bool {
        let geometry = self.geometry;
        let Some(notes) = &mut self.notes else { return false };
        notes.mark(&geometry, command.at, memory, &mut self.unmarked);
        self.unwritten || self.is_unmarked(command.at)
    }

    fn is_unmarked(&self, at: Extent) -> bool {
        !self.unmarked.is_empty() && array::regions_of(&self.geometry, at).any(|region| self.unmarked.contains(&region))
    }

    /// Gives a disk a command.
    pub(super) fn give(
        &mut self,
        now: Time,
        tag: Tag,
        command: &Command,
        memory: Option<Slice>,
        kernel: &mut dyn Kernel,
    ) -> io::Result<()> {
        let Some((member, own)) = self.of(tag) else { return Ok(()) };
        let mut kernel = Shifted { kernel, first: member.known };
        member.unit.issue(now, own, command, memory, &mut kernel)
    }

    /// Begins to note what is known.
    pub(super) fn note(&mut self, now: Time, kernel: &mut dyn Kernel) -> io::Result<()> {
        let Some(notes) = &mut self.notes else { return Ok(()) };
        notes.begin_later();
        let mut noting = Noting { left: Vec::new(), taken: 0, regions: self.unmarked.clone(), bytes: 0, tells: false };
        noting.tells = std::mem::take(&mut self.telling);
        let counting: Vec<DiskId> = (0..self.geometry.disks())
            .map(DiskId)
            .filter(|disk| notes.counts(*disk) && !self.gone.contains(disk))
            .collect();
        for disk in counting {
            let (at, bytes) = notes.later(disk);
            noting.bytes = bytes.bytes as i32;
            let number = self.notes_known[usize::from(disk.0)];
            match self.members[usize::from(disk.0)].unit.begin_store(at, &bytes, number, kernel) {
                Ok(Stored::Done) => noting.taken += 1,
                Ok(Stored::Begun) => noting.left.push(disk),
                Err(_) => self.refused.push_back(disk),
            }
        }
        self.noting = Some(noting);
        self.go_on(now, kernel)
    }

    /// Whose note the kernel knows by this number.
    pub(super) fn find_note(&self, number: Tag) -> Option<DiskId> {
        let disk = self.notes_known.iter().position(|known| *known == number.0)?;
        Some(DiskId(disk as u16))
    }

    /// The kernel has written a note on a disk, or has not.
    pub(super) fn end_note(&mut self, now: Time, disk: DiskId, result: i32, kernel: &mut dyn Kernel) -> io::Result<()> {
        let Some(noting) = &mut self.noting else { return Ok(()) };
        let Some(place) = noting.left.iter().position(|left| *left == disk) else { return Ok(()) };
        noting.left.remove(place);
        if result == noting.bytes {
            noting.taken += 1;
        } else {
            self.refused.push_back(disk);
        }
        self.go_on(now, kernel)
    }

    /// Once all have the note, or have not: what waited for it goes on, and what came since is noted.
    pub(super) fn go_on(&mut self, now: Time, kernel: &mut dyn Kernel) -> io::Result<()> {
        let Some(noting) = self.noting.take_if(|noting| noting.left.is_empty()) else { return Ok(()) };
        self.unwritten = noting.taken == 0;
        self.told |= noting.tells;
        if self.unwritten {
            let failed = std::mem::take(&mut self.waiting);
            self.done.extend(failed.iter().map(WaitingWrite::end_failed));
            return Ok(());
        }
        self.unmarked.retain(|region| !noting.regions.contains(region));
        for write in std::mem::take(&mut self.waiting) {
            match self.is_unmarked(write.command.at) {
                true => self.waiting.push_back(write),
                false => self.give(now, write.tag, &write.command, write.memory, kernel)?,
            }
        }
        if self.waiting.is_empty() && !self.telling { Ok(()) } else { self.note(now, kernel) }
    }

    /// Writes that wait for a disk which is given up have failed, and nobody waits for its note.
    pub(super) fn drop_waiting(&mut self, disk: DiskId) {
        let tags = self.tags_of(disk);
        let is_gone = |write: &&WaitingWrite| tags.contains(&write.tag.0);
        self.done.extend(self.waiting.iter().filter(is_gone).map(WaitingWrite::end_failed));
        self.waiting.retain(|write| !is_gone(&write));
        if let Some(noting) = &mut self.noting
            && let Some(place) = noting.left.iter().position(|left| *left == disk)
        {
            noting.left.remove(place);
            // It may still come back, to nobody.
            self.notes_known[usize::from(disk.0)] = self.unknown;
            self.unknown += 1;
        }
    }

    /// Nothing comes back of what a disk had whose place another takes.
    pub(super) fn forget_waiting(&mut self, disk: DiskId) {
        let tags = self.tags_of(disk);
        self.waiting.retain(|write| !tags.contains(&write.tag.0));
        self.done.retain(|done| !tags.contains(&done.tag.0));
    }

    /// The disk that keeps what another was asked: one that does not take a note for which a write waits.
    pub(super) fn find_keeper(&self, disk: DiskId) -> DiskId {
        let tags = self.tags_of(disk);
        let waits = self.waiting.iter().any(|write| tags.contains(&write.tag.0));
        let keeper = self.noting.as_ref().and_then(|noting| noting.left.first());
        keeper.copied().filter(|_| waits).unwrap_or(disk)
    }

    fn tags_of(&self, disk: DiskId) -> std::ops::Range<u32> {
        let member = &self.members[usize::from(disk.0)];
        member.first..member.first + member.depth
    }
}
