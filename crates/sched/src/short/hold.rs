//! Which requests serving in short commands holds on to, and how it lets go of them.

use super::{Filler, ShortCommands, ShortStage};
use crate::arbiter::Ongoing;
use crate::board::{Board, Errand};
use crate::plan::Prefetch;
use crate::predict::Predictor;
use crate::{Job, JobId};
use block::Op;

impl ShortCommands {
    /// Whether no request is being served, or was interrupted and goes on.
    pub(crate) fn is_between(&self) -> bool {
        self.target.is_none() && !matches!(self.filler, Some(Filler::Job(_)))
    }

    /// Whether it is this job that is being served, or goes on though interrupted.
    pub(crate) fn holds(&self, id: JobId) -> bool {
        self.target.is_some_and(|target| target.id == id)
            || matches!(self.filler, Some(Filler::Job(filler)) if filler == id)
    }

    /// The request being served, as it will be once the command in flight has come back; nothing where it is not known what is next
    /// then.
    pub(crate) fn ongoing<P: Predictor>(&self, board: &Board<P>) -> Option<Ongoing<P::Spot>> {
        let target = self.target.filter(|_| self.filler.is_none() && self.successor.is_none())?;
        let mut job = *board.jobs.get(target.id)?;
        let own = board.flying().filter(|(errand, _)| *errand == Errand::Job(target.id));
        job.done += own.map(|(_, command)| command.at.blocks).sum::<u32>();
        if job.done >= job.at.blocks {
            return None;
        }
        job.spot = board.belief.spot(job.rest());
        let begun = !matches!(target.stage, ShortStage::Chosen | ShortStage::Awaited(_));
        Some(Ongoing { id: target.id, job, begun })
    }

    /// Gives a request that nobody interrupts back to the queue.
    pub(crate) fn put_back_whole<P: Predictor>(&mut self, board: &mut Board<P>, id: JobId) {
        self.let_go(id);
        self.put_back(board, id);
        self.interrupted_job = None;
    }

    /// A request is no longer served.
    pub(super) fn let_go(&mut self, id: JobId) {
        if self.target.is_some_and(|target| target.id == id) {
            self.target = None;
        }
        if matches!(self.filler, Some(Filler::Job(filler)) if filler == id) {
            self.filler = None;
        }
    }

    /// Notes that all of a request is done. Where the drive has read to, it may read on; not after one that stepped in.
    pub(super) fn finish<S>(&mut self, id: JobId, job: &Job<S>, urgent: bool) {
        self.let_go(id);
        if job.op.writes() {
            self.writes[usize::from(job.qos.class)] = job.at.end();
        }
        if job.op != Op::Read {
            self.filler = match self.filler {
                Some(Filler::Ahead(..)) => None,
                other => other,
            };
            return;
        }
        self.reads_for = job.qos.class;
        let before = std::mem::replace(&mut self.reads[usize::from(job.qos.class)], job.at.end());
        let wanted = match self.plan.prefetch {
            Prefetch::Never => false,
            Prefetch::Streams => before == job.at.start && !urgent,
            Prefetch::Always => !urgent,
        };
        if self.filler.is_none() || matches!(self.filler, Some(Filler::Ahead(..))) {
            self.filler = wanted.then_some(Filler::Ahead(job.at.end(), self.plan.prefetch_most));
        }
    }
}
