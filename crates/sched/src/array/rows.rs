//! The order of tasks of the same rows, with parity: who writes a column changes what another is read by when it is missing.

use super::{Array, Piece, Task};
use crate::predict::Predictor;
use crate::{Job, JobId};
use block::Op;

impl<P: Predictor> Array<P> {
    /// With parity, from now on a task keeps its order with others of its rows: who writes a column changes what another is
    /// read by when it is missing.
    pub(super) fn by_rows(&mut self, id: JobId) {
        if !self.geometry.has_parity() {
            return;
        }
        let Some(job) = self.tasks.get_mut(id).filter(|job| !job.spot.by_rows) else { return };
        job.spot.by_rows = true;
        let job = *job;
        for rows in self.of_rows(&job) {
            self.rows.add(id, &rows, &self.tasks);
        }
    }

    /// A task, with its rows in place of its blocks; where the array grows, once for each layout that they are of. A repair names rows
    /// already, as they lie when it has grown.
    pub(super) fn of_rows(&self, job: &Job<Task>) -> impl Iterator<Item = Job<Task>> + use<P> {
        let geometry = if job.op == Op::Repair { self.geometry.widest() } else { self.geometry };
        let job = *job;
        geometry.sides(job.at).map(move |at| Job { at: geometry.guarded_extent(at), ..job })
    }

    /// A task keeps its order with others of its rows no more.
    pub(super) fn leave_rows(&mut self, id: JobId) {
        let Some(job) = self.tasks.get_mut(id) else { return };
        if std::mem::take(&mut job.spot.by_rows) {
            let job = *job;
            self.of_rows(&job).for_each(|rows| self.rows.remove(&rows));
        }
    }

    /// Whether a disk with parity beside it does not hold what a task reads.
    pub(super) fn misses(&self, job: &Job<Task>) -> bool {
        let there = |piece: &Piece| {
            let at = self.geometry.on_disk(piece.row, piece.within, piece.blocks);
            self.standings.holds(self.geometry.disk(piece.row, piece.column, 0), at)
        };
        self.geometry.has_parity() && job.op == Op::Read && !self.geometry.pieces(job.at).all(|piece| there(&piece))
    }
}
