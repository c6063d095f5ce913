//! What of an array was never written, and is zeros on its disks: a disk that takes a place has that already, and what clients discard
//! becomes such again.
//!
//! **A disk is filled by rows that were written.** What was never written, and is zeros on the disk that takes a place, is told to the
//! core, and passed over. The core does not believe it where a write is under way that may not know of the disk; that is filled like
//! the rest. All is told before anything is filled.
//!
//! **What is discarded is given up when nothing is asked for.** Then nothing is under way that could meet it. Its region is marked
//! first, so that copies agree whenever the power goes; and only when it is zeros on all media, it counts as never written.

use super::Members;
use crate::array::{self, Clients, RegionBits, WriteLog};
use crate::unit::LiveDevice;
use block::{DiskId, Extent};
use std::ops::Range;

impl Members {
    /// Rows that were never written.
    pub(super) fn blank_rows(&self) -> Vec<Range<u64>> {
        self.notes.as_ref().map(|notes| notes.blank().rows(&self.geometry)).unwrap_or_default()
    }

    /// How much was ever written, as a line for users.
    pub(super) fn written_text(&self) -> String {
        self.notes.as_ref().map(|notes| notes.written_text(&self.geometry)).unwrap_or_default()
    }

    /// Fills the disks that are being filled, from where the least of them is: but for what they hold already.
    pub(super) fn fill(&mut self) {
        self.room.forget();
        let filling = self.filling_disks();
        self.held.retain(|(disk, _)| filling.iter().any(|(other, _)| other == disk));
        for (disk, _) in filling {
            if !self.held.iter().any(|(other, _)| *other == disk) {
                self.find_held(disk);
            }
        }
        self.begin_filling();
    }

    /// Begins to fill, and passes over what all of the disks hold that are being filled.
    fn begin_filling(&mut self) {
        let Some(filled) = self.filling_disks().into_iter().map(|(_, filled)| filled).min() else { return };
        let all = self.held.iter().map(|(_, held)| held.clone()).reduce(|mut all, held| {
            all.meet(&held);
            all
        });
        let over = all.map(|all| all.rows(&self.geometry)).unwrap_or_default();
        self.upkeep.begin_rebuild(filled, &over);
    }

    /// What was never written, and is zeros on a disk, that holds.
    fn find_held(&mut self, disk: DiskId) {
        let Some(notes) = &self.notes else { return };
        let unit = &mut *self.members[usize::from(disk.0)].unit;
        let mut held = RegionBits::default();
        for region in notes.blank().list() {
            if array::part(&self.geometry, region).is_some_and(|at| array::make_blank(unit, at)) {
                held.add(region);
            }
        }
        if unit.sync().is_err() {
            held = RegionBits::default();
        }
        self.untold.retain(|(other, _)| *other != disk);
        self.untold.extend(held.list().map(|region| (disk, region)));
        self.held.push((disk, held));
    }

    /// What of a disk the core is to be told that it holds. What was written since is filled: by what did not know of the disk, maybe.
    pub(super) fn take_untold(&mut self) -> Option<(DiskId, Extent)> {
        while let Some((disk, region)) = self.untold.pop_front() {
            let is_blank = self.notes.as_ref().is_some_and(|notes| notes.blank().has(region));
            if let Some(at) = array::part(&self.geometry, region).filter(|_| is_blank) {
                return Some((disk, at));
            }
            self.fill_region(region);
        }
        None
    }

    /// The core does not believe that a disk holds this.
    pub(super) fn doubt(&mut self, at: Extent) {
        array::regions_of(&self.geometry, at).for_each(|region| self.fill_region(region));
    }

    /// A region is filled after all. Nothing has been asked for yet.
    fn fill_region(&mut self, region: u64) {
        self.held.iter_mut().for_each(|(_, held)| held.remove(region));
        self.begin_filling();
    }

    /// Where no disk is being filled any more, what waits for that begins.
    pub(super) fn stop_filling(&mut self) {
        if self.filling_disks().is_empty() {
            self.held.clear();
            self.upkeep.end_rebuild(&self.blank_rows());
        }
    }

    /// Whether something was discarded that can be given up as soon as nothing is asked for: all disks are there, and can.
    pub(super) fn can_empty_discarded(&self) -> bool {
        self.notes.as_ref().is_some_and(|notes| notes.has_discarded())
            && self.lacking().is_empty()
            && self.filling_disks().is_empty()
            && self.log.as_ref().is_none_or(WriteLog::is_settled)
            && !self.geometry.is_growing()
            && self.disks().iter().all(|member| member.unit.can_empty())
    }

    /// Whether that can be done now.
    pub(super) fn may_empty(&self, clients: Clients) -> bool {
        clients.outstanding == 0 && self.can_empty_discarded() && self.upkeep.is_idle()
    }

    /// Makes zeros of some regions that nobody needs any more, on all disks; a disk that does not is given up. Nothing is under way.
    pub(super) fn empty_discarded(&mut self) {
        let Some(notes) = &mut self.notes else { return };
        let regions = notes.take_discarded();
        self.room.forget();
        if !self.write_notes() {
            return;
        }
        let parts: Vec<Extent> = regions.iter().filter_map(|region| array::part(&self.geometry, *region)).collect();
        let mut refused = Vec::new();
        for (disk, member) in (0..self.geometry.disks()).map(DiskId).zip(&mut self.members) {
            let unit = &mut member.unit;
            if parts.iter().any(|at| unit.empty(*at).is_err()) || unit.sync().is_err() {
                refused.push(disk);
            }
        }
        if refused.is_empty() && parts.len() == regions.len() {
            self.notes.iter_mut().for_each(|notes| regions.iter().for_each(|region| notes.set_blank(*region)));
            self.write_notes();
        }
        self.refused.extend(refused);
    }
}
