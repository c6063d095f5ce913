//! How the rows of a RAID 0/1 come to have parity in place of copies while it is served: it becomes a RAID 5.
//!
//! **All disks are told before any row moves,** and from then on rows move as where an array grows, at the same pace and as safely. No disk
//! joins. What is freed by it is room that the array has when all rows have moved.

use super::Members;
use super::raising::LevelChange;
use block::DiskId;

impl Members {
    /// The array is to be a RAID 5 on the disks that it has.
    pub(super) fn trade(&mut self) -> Result<(), String> {
        let then = "change its level";
        self.refuse_layout(then, then)?;
        self.geometry.trade_copies().map_err(|(what, mend)| format!("{what}; {mend}"))?;
        if !self.is_sound() {
            return Err(format!("a disk is lacking or being rebuilt; replace it, and {then} when all are sound"));
        }
        self.level = LevelChange::Trades;
        Ok(())
    }

    /// Whether rows are to have parity, and nothing is in the way.
    pub(super) fn may_trade(&self) -> bool {
        matches!(self.level, LevelChange::Trades) && self.may_move()
    }

    /// Rows begin to move, if they are to: a disk of the array, of which all have been told.
    pub(super) fn trade_now(&mut self) -> Option<DiskId> {
        if !self.may_trade() {
            return None;
        }
        self.level = LevelChange::None;
        if !self.is_sound() {
            eprintln!("the array does not become a RAID 5: a disk is lacking");
            return None;
        }
        let (copies, geometry) = (self.geometry.copies(), self.geometry.trade_copies().ok()?);
        self.notes.as_mut()?.trade(copies);
        self.geometry = geometry;
        // A RAID 5 grows by one disk, and once a service.
        self.members.truncate(usize::from(geometry.disks()) + 1);
        self.room.forget();
        self.upkeep.set_growth(&geometry);
        self.write_notes();
        eprintln!("the array becomes a RAID 5; give it `level = \"5\"` in the service file");
        Some(DiskId(0))
    }
}
