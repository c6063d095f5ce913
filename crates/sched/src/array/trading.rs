//! An array that comes to have parity in place of copies while it is served: rows move as where one grows, and each is asked how it lies.
//!
//! **Who writes keeps order by rows from the beginning,** those too that were writing before. What keeps the write hole closed is there for
//! rows that have moved; others need no record.

use super::Array;
use crate::predict::Predictor;

impl<P: Predictor> Array<P> {
    /// From now on rows move, to have parity in place of copies.
    pub(super) fn trade_copies(&mut self) {
        if let Ok(geometry) = self.geometry.trade_copies().map_err(|(what, _)| debug_assert!(false, "{what}")) {
            self.geometry = geometry;
            self.journal = Array::<P>::make_journal(&geometry, &self.plan, self.disks.len());
            self.order_rows();
        }
    }
}
