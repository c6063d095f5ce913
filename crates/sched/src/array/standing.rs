//! How the disks of an array are: which hold what they should.
//!
//! **A disk takes what it lacks, and is asked for what it holds.** A disk that is being filled is written to wherever
//! it lies, and read only up to where all before was filled; so nothing that was brought back can become stale.

use block::{DiskId, Extent};
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Standing {
    Sound,
    Failed,
    /// An empty one that has been filled up to a block, and with these extents beyond it, by their first blocks.
    Filling {
        until: u64,
        beyond: BTreeMap<u64, u64>,
    },
}

/// The standing of each disk.
#[derive(Clone, Debug)]
pub(super) struct Standings {
    disks: Vec<Standing>,
    /// The how manieth each is, in its place.
    generations: Vec<u32>,
    /// Where the blocks of a disk that are used begin, and end.
    used: (u64, u64),
}

impl Standings {
    pub(super) fn new(disks: u16, used: (u64, u64)) -> Standings {
        Standings { disks: vec![Standing::Sound; disks.into()], generations: vec![0; disks.into()], used }
    }

    /// A further disk is there, and holds all that it should.
    pub(super) fn join(&mut self) {
        self.disks.push(Standing::Sound);
        self.generations.push(0);
    }

    /// A further disk is there, and is empty.
    pub(super) fn join_empty(&mut self) {
        self.join();
        self.replace(DiskId(self.disks.len() as u16 - 1));
    }

    /// The last disk is no longer one of them.
    pub(super) fn drop_last(&mut self) {
        self.disks.pop();
        self.generations.pop();
    }

    /// Whether a disk takes commands.
    pub(super) fn works(&self, disk: DiskId) -> bool {
        self.disks[usize::from(disk.0)] != Standing::Failed
    }

    /// Whether a disk holds what it should there.
    pub(super) fn holds(&self, disk: DiskId, at: Extent) -> bool {
        match &self.disks[usize::from(disk.0)] {
            Standing::Sound => true,
            Standing::Failed => false,
            Standing::Filling { until, .. } => at.end().0 <= *until,
        }
    }

    /// The how manieth disk is in this place.
    pub(super) fn generation(&self, disk: DiskId) -> u32 {
        self.generations[usize::from(disk.0)]
    }

    /// How many disks were replaced so far.
    pub(super) fn replacements(&self) -> u32 {
        self.generations.iter().sum()
    }

    /// Whether a disk holds all that it should.
    pub(super) fn is_sound(&self, disk: DiskId) -> bool {
        self.disks[usize::from(disk.0)] == Standing::Sound
    }

    /// Whether all disks hold all that they should.
    pub(super) fn all_sound(&self) -> bool {
        self.disks.iter().all(|disk| *disk == Standing::Sound)
    }

    /// A disk fails; false if it had.
    pub(super) fn fail(&mut self, disk: DiskId) -> bool {
        std::mem::replace(&mut self.disks[usize::from(disk.0)], Standing::Failed) != Standing::Failed
    }

    /// An empty disk takes its place.
    pub(super) fn replace(&mut self, disk: DiskId) {
        self.disks[usize::from(disk.0)] = Standing::Filling { until: self.used.0, beyond: BTreeMap::new() };
        self.generations[usize::from(disk.0)] += 1;
    }

    /// A disk that was being filled before holds what it should up to a block.
    pub(super) fn resume(&mut self, disk: DiskId, until: u64) {
        let until = until.clamp(self.used.0, self.used.1);
        self.disks[usize::from(disk.0)] = Standing::Filling { until, beyond: BTreeMap::new() };
    }

    /// A disk now holds what it should there; whether it thereby does everywhere.
    pub(super) fn note_filled(&mut self, disk: DiskId, at: Extent) -> bool {
        let standing = &mut self.disks[usize::from(disk.0)];
        let Standing::Filling { until, beyond } = standing else { return false };
        let end = beyond.entry(at.start.0).or_default();
        *end = at.end().0.max(*end);
        while let Some((start, end)) = beyond.first_key_value().map(|(start, end)| (*start, *end))
            && start <= *until
        {
            beyond.remove(&start);
            *until = end.max(*until);
        }
        let complete = *until >= self.used.1;
        if complete {
            *standing = Standing::Sound;
        }
        complete
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_sound_once_all_of_it_was_filled() {
        let mut standings = Standings::new(2, (0, 100));
        let (disk, at) = (DiskId(1), Extent::new);
        assert!(standings.is_sound(disk) && standings.fail(disk) && !standings.fail(disk) && !standings.works(disk));
        assert!(!standings.is_sound(disk) && standings.is_sound(DiskId(0)));
        standings.replace(disk);
        assert!(standings.works(disk) && !standings.holds(disk, at(0, 1)) && !standings.all_sound());
        assert!(!standings.note_filled(disk, at(50, 50)));
        assert!(!standings.holds(disk, at(50, 50)), "only what lies before all that is missing counts");
        assert!(!standings.note_filled(disk, at(0, 20)));
        assert!(standings.holds(disk, at(0, 20)) && !standings.holds(disk, at(10, 11)));
        assert!(standings.note_filled(disk, at(20, 30)) && !standings.note_filled(disk, at(20, 30)));
        assert!(standings.holds(disk, at(0, 100)) && standings.all_sound(), "it is sound");
        assert!(standings.holds(DiskId(0), at(0, 100)));
    }

    #[test]
    fn a_disk_that_was_being_filled_goes_on_from_there() {
        let (mut standings, disk, at) = (Standings::new(2, (8, 100)), DiskId(0), Extent::new);
        standings.resume(disk, 40);
        assert!(standings.works(disk) && !standings.is_sound(disk) && standings.replacements() == 0);
        assert!(standings.holds(disk, at(8, 32)) && !standings.holds(disk, at(39, 2)));
        assert!(standings.note_filled(disk, at(40, 60)) && standings.is_sound(disk));
        standings.resume(disk, 0);
        assert!(!standings.holds(disk, at(8, 1)) && standings.note_filled(disk, at(8, 92)));
        standings.resume(disk, 1000);
        assert!(standings.note_filled(disk, at(99, 1)), "all of it had been, but nobody had said so");
    }
}
