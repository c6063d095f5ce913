//! How an array grows by a disk while it is served.
//!
//! **There is a place for one disk more** from the beginning, with tags and a core of its own, and nothing in it. A disk that is told takes
//! it as soon as nothing is being repaired. It is told first; the others are told before any row moves.
//!
//! **Rows move one request after the other,** while all disks are sound and nothing else is repaired. What the core says of how far that
//! has come is noted without the engine waiting, as marks are.

use super::{Members, Successor};
use crate::array::{self, Clients, Former, RegionBits, UpkeepErrand};
use crate::kernel::Kernel;
use crate::unit::LiveDevice;
use block::{DiskId, Time};
use sched::array::Grown;
use std::io;
use std::path::Path;

impl Members {
    /// Whether all of its disks hold all that they should, and none is about to be another.
    fn is_sound(&self) -> bool {
        self.lacking().is_empty()
            && self.filling_disks().is_empty()
            && self.successors.is_empty()
            && self.leaving.is_empty()
            && self.refused.is_empty()
    }

    /// The array is to grow by a disk.
    pub(super) fn grow(&mut self, path: &Path, former: Former) -> Result<(), String> {
        let disk = DiskId(self.geometry.disks());
        if self.joining.is_some() {
            return Err("the array is growing already; wait until it has grown".into());
        }
        let refused = |(what, mend): (String, String)| format!("{what}; {mend}");
        self.geometry.grow().map_err(refused)?;
        if self.notes.is_none() {
            return Err("the disks of the array hold nothing when the service ends: make one of more disks".into());
        }
        if self.log.is_some() {
            return Err(
                "an array with a log does not grow; serve it without `log` and `buffer`, and grow it then".into()
            );
        }
        if !self.is_sound() {
            return Err("a disk is lacking or being rebuilt; replace it, and grow the array when all are sound".into());
        }
        if self.upkeep.aim().is_some() {
            return Err("the array is being scrubbed; stop that, or grow it when it ends".into());
        }
        if self.members.len() <= usize::from(disk.0) {
            return Err("the array has grown already: name that disk in the service file, start the service anew, and grow it then".into());
        }
        if path.as_os_str().len() > array::MOST_PATH {
            return Err(format!("a path of more than {} bytes is too long to be noted", array::MOST_PATH));
        }
        self.joining = Some(self.open(disk, path, former)?);
        Ok(())
    }

    /// Whether a disk is to join, and nothing is in the way.
    pub(super) fn may_join(&self) -> bool {
        self.joining.is_some() && self.upkeep.is_idle()
    }

    /// A disk joins now, if one is to: which.
    pub(super) fn join_now(&mut self) -> Option<DiskId> {
        if !self.may_join() {
            return None;
        }
        let Successor { mut unit, name, path } = self.joining.take()?;
        let disk = DiskId(self.geometry.disks());
        if !self.is_sound() {
            eprintln!("the array does not grow by {path}: a disk is lacking");
            return None;
        }
        let zeros = self.find_zeros(&mut *unit);
        let (notes, geometry) = (self.notes.as_mut()?, self.geometry.grow().ok()?);
        unit.set_sum_key(notes.sum_key(disk, Some(name)));
        if let Err(error) = notes.join(name, &path, &zeros, &mut *unit) {
            eprintln!("the array does not grow by {path}: {error}");
            return None;
        }
        let member = &mut self.members[usize::from(disk.0)];
        (member.unit, member.known) = (unit, self.unknown);
        self.unknown += member.depth;
        self.geometry = geometry;
        self.room.forget();
        self.upkeep.set_growth(&geometry);
        self.write_notes();
        eprintln!("the array grows by {path}; name it in the service file, as the last of its disks");
        Some(disk)
    }

    /// The regions that were never written, and are zeros on a disk that joins.
    fn find_zeros(&self, unit: &mut dyn LiveDevice) -> RegionBits {
        let mut zeros = RegionBits::default();
        let Some(notes) = &self.notes else { return zeros };
        for region in notes.blank().list() {
            if array::part(&self.geometry, region).is_some_and(|at| array::make_blank(unit, at)) {
                zeros.add(region);
            }
        }
        if unit.sync().is_err() { RegionBits::default() } else { zeros }
    }

    /// When rows are to be moved next.
    pub(super) fn move_due(&self, clients: Clients) -> Option<Time> {
        self.upkeep.move_due(clients).filter(|_| self.is_sound())
    }

    /// The rows that are to be moved now.
    pub(super) fn take_move(&mut self, now: Time, clients: Clients) -> Option<UpkeepErrand> {
        if self.is_sound() { self.upkeep.take_move(now, clients) } else { None }
    }

    /// The array has grown so far, and its disks are to know: whatever they are told from now on says so.
    pub(super) fn tell_grown(&mut self, now: Time, grown: Grown, kernel: &mut dyn Kernel) -> io::Result<()> {
        let geometry = self.geometry.moved_to(grown.rows);
        let ends = self.geometry.is_growing() && !geometry.is_growing();
        self.geometry = geometry;
        self.upkeep.set_growth(&geometry);
        self.notes.iter_mut().for_each(|notes| notes.set_grown(grown));
        if ends {
            eprintln!("the array has grown to {} disks", geometry.disks());
        }
        self.telling = true;
        if self.noting.is_none() { self.note(now, kernel) } else { Ok(()) }
    }

    /// The last of its disks, where the core is to hear that all were told how far it has grown.
    pub(super) fn take_told(&mut self) -> Option<DiskId> {
        std::mem::take(&mut self.told).then(|| DiskId(self.geometry.disks() - 1))
    }
}
