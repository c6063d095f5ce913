//! What of an array's disks is not as it was written: it is had another way, and written anew.

use super::Members;
use crate::unit::LiveDevice;
use block::{DiskId, Extent};

impl Members {
    /// Each disk is told whose checksums it is to know.
    pub(super) fn set_sum_keys(&mut self) {
        let Some(notes) = &self.notes else { return };
        for (disk, member) in (0..self.geometry.disks()).map(DiskId).zip(&mut self.members) {
            member.unit.set_sum_key(notes.sum_key(disk, None));
            self.sums |= member.unit.has_sums();
        }
    }

    /// What is not as it was written is counted, and the part of the array that it is of is to be repaired.
    pub(super) fn hear_spoilt(&mut self) {
        if !self.sums {
            return;
        }
        for number in 0..self.members.len() {
            while let Some(at) = self.members[number].unit.next_spoilt() {
                self.spoilt += u64::from(at.blocks);
                eprintln!("disk {number}: {} blocks from {} on are not as they were written", at.blocks, at.start.0);
                if let Some(part) = self.part_of(DiskId(number as u16), at) {
                    self.upkeep.want_repair(part);
                }
            }
        }
    }

    /// The part of the array by which an extent of a disk, within one unit, is repaired.
    fn part_of(&self, disk: DiskId, at: Extent) -> Option<Extent> {
        // What is repaired is said by rows, as they lie when it has grown.
        let geometry = &self.geometry.widest();
        let (row, within) = geometry.place(at.start.0).filter(|(row, _)| *row < geometry.rows())?;
        let column = if geometry.has_parity() { 0 } else { self.geometry.column(row, disk)? };
        let redundant = geometry.level().redundancy() > 0;
        redundant.then(|| Extent::new(geometry.block(row, column, within).0, at.blocks.min(geometry.unit() - within)))
    }

    /// Has the checksums on the disks, before no region is marked any more: a disk on which they are not need not be as they say.
    pub(super) fn keep_sums(&mut self) {
        let lacking = self.lacking();
        for (disk, member) in (0..self.geometry.disks()).map(DiskId).zip(&mut self.members) {
            if !lacking.contains(&disk) && member.unit.keep_sums().is_err() {
                self.refused.push_back(disk);
            }
        }
    }

    /// What is told of checksums, as a line for users.
    pub(super) fn spoilt_text(&self) -> String {
        match self.spoilt {
            0 => String::new(),
            spoilt => format!("{spoilt} blocks were not as they were written\n"),
        }
    }
}
