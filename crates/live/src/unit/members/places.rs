//! Disks that are to take the place of one of an array, and spares.

use super::{Members, Successor};
use crate::array::{self, Former};
use crate::unit::LiveDevice;
use block::DiskId;
use std::path::Path;

impl Members {
    /// Opens a disk that is to take the place of this one, or of any; what is wrong with it.
    pub(super) fn open(&self, disk: DiskId, path: &Path, former: Former) -> Result<Successor, String> {
        let shown = path.display().to_string();
        let opener = self.opener.as_ref().filter(|_| self.notes.is_some());
        let opener =
            opener.ok_or("the disks of the array hold nothing when the service ends: there is nothing to replace")?;
        let mut unit = opener(disk, path)?;
        array::refuse(&mut *unit, &self.geometry, former).map_err(|what| format!("{shown} {what}"))?;
        let (has, needs) = (u32::from(unit.caps().depth), self.members[usize::from(disk.0)].depth);
        if has < needs {
            return Err(format!("{shown} takes {has} commands at once, and {needs} are needed"));
        }
        let name = array::draw_name().map_err(|error| error.to_string())?;
        Ok(Successor { unit, name: u64::from_le_bytes(name), path: shown })
    }

    /// This is a disk of the array from now on, under tags that nothing in flight has.
    pub(super) fn put_in_place(&mut self, disk: DiskId, unit: Box<dyn LiveDevice>) {
        let member = &mut self.members[usize::from(disk.0)];
        (member.unit, member.known) = (unit, self.unknown);
        self.unknown += member.depth;
    }

    /// Another disk is to take the place of one.
    pub(super) fn replace(&mut self, disk: DiskId, path: &Path, former: Former) -> Result<(), String> {
        let disks = self.geometry.disks();
        if disk.0 >= disks {
            return Err(format!("there is no disk {}; name one from 0 to {}", disk.0, disks - 1));
        }
        if self.successors.iter().any(|(other, _)| *other == disk) {
            return Err(format!("disk {} is being replaced already", disk.0));
        }
        if self.is_leaving_for_good(disk) {
            return Err(format!("disk {} is being let go, and nothing takes its place", disk.0));
        }
        if !self.can_spare(disk) {
            return Err(format!("without disk {} some blocks are lost; see to the others first", disk.0));
        }
        let successor = self.open(disk, path, former)?;
        self.offer(disk, successor);
        Ok(())
    }

    pub(super) fn offer_spare(&mut self, disk: DiskId) {
        let replaced = self.successors.iter().any(|(other, _)| *other == disk);
        if !replaced
            && self.can_spare(disk)
            && let Some(spare) = self.spares.pop_front()
        {
            eprintln!("spare {} takes the place of disk {}", spare.path, disk.0);
            self.offer(disk, spare);
        }
    }

    pub(super) fn offer(&mut self, disk: DiskId, successor: Successor) {
        self.successors.push((disk, successor));
        self.changes.push_back(disk);
    }
}
