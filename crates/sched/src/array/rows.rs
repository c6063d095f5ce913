//! The order of tasks of the same rows. With parity, who writes a column changes what another is read by when it is missing. With copies
//! order goes by blocks, but for an array that has grown while it is served: what repairs names blocks as they lie when it has grown, and
//! who writes them as they lie now.

use super::{Array, Piece, Task};
use crate::predict::Predictor;
use crate::{Job, JobId};
use block::Op;

impl<P: Predictor> Array<P> {
    /// Where order goes by rows, from now on a task keeps it with others of its rows.
    pub(super) fn by_rows(&mut self, id: JobId) {
        if !self.orders_rows {
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
        geometry.sides(job.at).map(move |at| Job { at: geometry.extent_of_rows(at), ..job })
    }

    /// From now on order goes by rows: what is being written, too.
    pub(super) fn order_rows(&mut self) {
        self.orders_rows = true;
        let changes: Vec<JobId> = self.tasks.iter().filter(|(_, task)| task.op.writes()).map(|(id, _)| id).collect();
        changes.into_iter().for_each(|id| self.by_rows(id));
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
            let layout = self.geometry.layout_of(piece.row);
            !layout.has_parity() || self.standings.holds(layout.disk(piece.row, piece.column, 0), at)
        };
        self.geometry.has_parity() && job.op == Op::Read && !self.geometry.pieces(job.at).all(|piece| there(&piece))
    }
}
