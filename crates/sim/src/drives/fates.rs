//! What becomes of the disks of an array while a run goes on.

use super::{Drives, Measured};
use block::{DiskId, Time};
use drive::Machine;
use load::experiment::Failure;
use sched::{Health, Input};

impl<M: Machine, L: Measured> Drives<'_, M, L> {
    /// Has a disk fail, and perhaps an empty one take its place at once.
    pub(crate) fn fail(&mut self, failure: Failure) {
        let (at, disk) = (Time::ZERO + failure.at, DiskId(failure.disk));
        self.fates.push_back((at, disk, Health::Failed));
        if failure.replaced {
            self.fates.push_back((at, disk, Health::Replaced));
        }
    }

    /// The disks know how far the array has grown: to write it down takes no time here.
    pub(super) fn tell_grown(&mut self, disk: DiskId) {
        self.fates.push_front((self.now, disk, Health::Told));
    }

    /// What becomes of a disk now.
    pub(super) fn fate(&mut self) -> Option<Input> {
        let (_, disk, health) = self.fates.pop_front()?;
        if matches!(health, Health::Failed | Health::Replaced) {
            self.dead.retain(|dead| *dead != disk);
        }
        if health == Health::Failed {
            self.dead.push(disk);
        }
        Some(Input::Disk(disk, health))
    }
}
