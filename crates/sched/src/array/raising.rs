//! An array that comes to have a second parity, on a disk of its own, or to do without that again, while it is served.
//!
//! **Nothing moves.** A RAID 5 is a RAID 6 from one moment to the next, of which the disk with the second parity holds nothing yet; what
//! fills a disk that took a place fills it. What was being written then goes on with the parities that it began with: of that row
//! the second one is not held yet, and what brings it there waits for the write.
//!
//! **The disk is given up before the array does without it.** So nothing is read from it or written to it when it leaves; only what had
//! read it before is waited for.

use super::code::{Slots, bit};
use super::parity::{Update, UpdateStage};
use super::{Array, Geometry};
use crate::predict::Predictor;
use block::DiskId;

impl<P: Predictor> Array<P> {
    /// A further disk is there for the second parity of each row, and holds none yet.
    pub(super) fn join_for_parity(&mut self) {
        if let Ok(geometry) = self.geometry.raise().map_err(|(what, _)| debug_assert!(false, "{what}")) {
            self.standings.join_empty();
            self.geometry = geometry;
            self.doubt(DiskId(geometry.disks() - 1));
        }
    }

    /// Does without the second parity, where it is to, as soon as nothing under way knows of it.
    pub(super) fn settle_level(&mut self) {
        let Ok(geometry) = self.geometry.lower() else {
            self.lowers = false;
            return debug_assert!(false, "it has no second parity that can be let go");
        };
        let last = DiskId(geometry.disks());
        if self.standings.works(last) || self.children.iter().any(|(_, child)| child.disk == last) {
            return;
        }
        if self.updates.iter().any(|(_, it)| knows_second(&self.geometry, it)) {
            return;
        }
        self.lowers = false;
        self.standings.drop_last();
        self.geometry = geometry;
    }
}

/// Whether an update goes on with the second parity of its row.
fn knows_second(geometry: &Geometry, it: &Update) -> bool {
    let second: Slots = bit(geometry.columns_of(it.row) + 1);
    it.stage == UpdateStage::Comparing || (it.read | it.sums) & second != 0
}
