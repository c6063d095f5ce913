//! Noting that disks are given up.
//!
//! **Disks that go together are noted together.** A row that was being written when two disks went may lack what was new on both. Found with
//! one of them missing and the other trusted, what the missing one held would be told wrong.

use super::Members;
use crate::unit::LiveDevice;
use block::DiskId;

impl Members {
    /// Notes that a disk is given up, and others that refuse to have their rows on the media: whether any disk has the note.
    pub(super) fn note_given_up(&mut self, disk: DiskId) -> bool {
        let mut leaving = vec![disk];
        for other in self.sync_rows() {
            let filling = self.filling_disks().into_iter().map(|(disk, _)| disk);
            let lacking: Vec<DiskId> = self.lacking().into_iter().chain(filling).chain([other]).collect();
            let lacking = [&lacking[..], &leaving].concat();
            if self.is_whole_without(&lacking) {
                leaving.push(other);
            }
        }
        leaving.retain(|disk| self.notes.as_ref().is_some_and(|notes| notes.counts(*disk)));
        if leaving.is_empty() {
            return true;
        }
        self.notes.iter_mut().for_each(|notes| notes.give_up(&leaving));
        self.write_notes()
    }

    /// Has on the media what was written of rows, before it is noted that one of their disks is missing: no record tells of it. The disks
    /// on which it is not.
    fn sync_rows(&mut self) -> Vec<DiskId> {
        let lacking = self.lacking();
        let mut refusing = Vec::new();
        for (disk, member) in (0..).map(DiskId).zip(&mut self.members) {
            if self.geometry.has_parity() && !lacking.contains(&disk) && member.unit.sync().is_err() {
                refusing.push(disk);
            }
        }
        self.refused.extend(&refusing);
        refusing
    }
}
