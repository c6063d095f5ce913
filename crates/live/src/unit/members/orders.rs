//! What an array that is served is told.

use super::Members;
use crate::array::{ArrayOrder, ScrubOrder};
use crate::unit::LiveDevice;
use block::DiskId;

impl Members {
    /// Does what it is told, or begins to.
    pub(super) fn obey(&mut self, order: &ArrayOrder) -> Result<(), String> {
        let repairs = matches!(order, ArrayOrder::Replace(..) | ArrayOrder::Add(..) | ArrayOrder::Scrub(_))
            || matches!(order, ArrayOrder::Pace(_)) && !self.geometry.is_growing();
        if self.geometry.level().redundancy() == 0 && repairs {
            return Err("the array has each block once: nothing can be repaired".into());
        }
        match order {
            ArrayOrder::Tell => Ok(()),
            ArrayOrder::Fail(disk) => {
                // One that was given up is not given up again: who takes its place is sound when it is rebuilt.
                if !self.lacking().contains(disk) && !self.leaving.contains(disk) {
                    self.leaving.push(*disk);
                }
                Ok(())
            }
            ArrayOrder::Replace(disk, path, former) => self.replace(*disk, path, *former),
            ArrayOrder::Add(path, former) => {
                let spare = self.open(DiskId(0), path, *former)?;
                let waits = |disk: &DiskId| !self.successors.iter().any(|(other, _)| other == disk);
                match self.lacking().into_iter().find(waits) {
                    Some(disk) => self.offer(disk, spare),
                    None => self.spares.push_back(spare),
                }
                Ok(())
            }
            ArrayOrder::Grow(paths, former) => self.grow(paths, *former),
            ArrayOrder::Raise(path, former) => self.raise(path, *former),
            ArrayOrder::BecomeRaid5 if self.geometry.copies() > 1 => self.trade(),
            ArrayOrder::BecomeRaid5 => self.lower(),
            ArrayOrder::Scrub(ScrubOrder::Start) => match self.lacking().first() {
                Some(disk) => Err(format!("disk {} is lacking; replace it first", disk.0)),
                None => self.upkeep.begin_scrub(&self.blank_rows()),
            },
            ArrayOrder::Scrub(ScrubOrder::Stop) => self.upkeep.stop_scrub(),
            ArrayOrder::Pace(change) => {
                self.upkeep.change_pace(*change);
                Ok(())
            }
        }
    }
}
