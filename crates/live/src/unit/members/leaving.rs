//! Noting that disks are given up.
//!
//! **Disks that go together are noted together.** A row that was being written when two disks went may lack what was new on both. Found
//! with one of them missing and the other trusted, what the missing one held would be told wrong. So the core gives up at once all that failed
//! in a row; and a disk that then has not on its medium what was written of rows is in the note, too. The core is told of that one before
//! it writes another row.

use super::Members;
use crate::unit::LiveDevice;
use block::DiskId;

impl Members {
    /// Notes that disks are given up, and others on which rows are not on the medium: whether any disk has the note.
    pub(super) fn note_given_up(&mut self, disks: &[DiskId]) -> bool {
        let mut leaving = disks.to_vec();
        for other in self.sync_rows() {
            // What would be lost with it is not given up: flushes fail.
            if self.can_spare(other) {
                self.foretold.push(other);
                leaving.push(other);
            }
            self.refused.push_back(other);
        }
        leaving.retain(|disk| self.notes.as_ref().is_some_and(|notes| notes.counts(*disk)));
        // One that is let go is none of the array's from then on.
        let lets_go = self.lets_go(disks);
        if leaving.is_empty() && !lets_go {
            return !self.unwritten;
        }
        match &mut self.notes {
            Some(notes) if lets_go => notes.lower(&leaving),
            Some(notes) => notes.give_up(&leaving),
            None => {}
        }
        let known = self.write_notes();
        if lets_go {
            if known {
                self.clear_label();
            }
            self.let_go();
        }
        known
    }

    /// Has on the media what was written of rows, before it is noted that one of their disks is missing: no record tells of it. The disks
    /// on which it is not.
    fn sync_rows(&mut self) -> Vec<DiskId> {
        let lacking = self.lacking();
        let is_used =
            |disk: &DiskId| self.geometry.has_parity() && !lacking.contains(disk) && !self.foretold.contains(disk);
        let members = (0..self.geometry.disks()).map(DiskId).zip(&mut self.members);
        let refusing = members.filter(|(disk, _)| is_used(disk)).filter_map(|(disk, member)| {
            let refuses = member.unit.sync().is_err();
            refuses.then_some(disk)
        });
        refusing.collect()
    }
}
