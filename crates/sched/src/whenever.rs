//! Requests whose reads may come back in any order: their blocks are wanted, and read where that costs no other request anything.
//!
//! **A piece at a time.** What a command reads lies in one request, in whose memory its bytes go to their own place; the request has
//! ended when all its pieces are there. Requests that have blocks in common are wanted one after the other, so that a block has one
//! owner.
//!
//! **No order to keep.** A piece is what stands there when it is read: nobody waits for such a request though it overlaps, or a write
//! would wait until a whole disk is read.

use crate::JobId;
use crate::board::Board;
use crate::event::{Action, Wait};
use crate::job::{Job, JobState};
use crate::owners::Owners;
use crate::predict::Predictor;
use block::errno::ECANCELED;
use block::{Command, Ending, Extent, Lbn, Op, Outcome, Place, Time};

/// The requests whose blocks are wanted in any order.
#[derive(Debug, Default)]
pub(crate) struct Whenever {
    owners: Owners,
    /// Of which a piece is in flight, and whether it was cancelled since.
    flying: Option<(JobId, bool)>,
    /// Kept for its memory: what is wanted since others have ended.
    heirs: Vec<Extent>,
}

impl Whenever {
    /// How many requests there are.
    pub(crate) fn len(&self) -> u32 {
        self.owners.len() as u32
    }

    /// What of an extent is of one request: that of its first block.
    pub(crate) fn clip(&self, at: Extent) -> Extent {
        match self.owners.of(at.start) {
            Some((end, _)) => Extent { blocks: u64::from(at.blocks).min(end.0 - at.start.0) as u32, ..at },
            None => at,
        }
    }

    /// A piece of the request that has this block is given to the device: its job.
    fn begin(&mut self, at: Lbn) -> Option<JobId> {
        let (_, id) = self.owners.of(at)?;
        self.flying = Some((id, false));
        Some(id)
    }

    /// Cancels a request of which a piece is in flight, as soon as that comes back.
    pub(crate) fn cancel(&mut self, id: JobId) {
        if let Some((flying, cancelled)) = &mut self.flying {
            *cancelled |= *flying == id;
        }
    }
}

impl<P: Predictor> Board<P> {
    /// Whether a new job's blocks are wanted in any order.
    pub(crate) fn is_whenever(&self, job: &Job<P::Spot>) -> bool {
        job.op == Op::Read && self.free.is_some() && self.rules.class(job.qos.class).any_order
    }

    /// Wants a job's blocks in any order.
    #[inline(never)]
    pub(crate) fn want(&mut self, id: JobId, out: &mut Vec<Action>) {
        let (Some(free), Some(job)) = (&mut self.free, self.jobs.get_mut(id)) else { return };
        job.state = JobState::Wanted;
        if free.requests.owners.add(job.sequence, id, job.rest()) {
            free.want(job.rest());
        }
        if self.rules.tells {
            out.push(Action::Wait(job.request, Wait::Queue));
        }
        self.note_wanted();
    }

    /// A job's blocks are not wanted any more: those that waited for it to be done with them may be.
    pub(crate) fn unwant(&mut self, job: &Job<P::Spot>) {
        let Some(free) = &mut self.free else { return };
        let mut heirs = std::mem::take(&mut free.requests.heirs);
        if let Some(at) = free.requests.owners.remove(job.sequence, &mut heirs) {
            free.forget(at);
        }
        heirs.drain(..).for_each(|at| free.want(at));
        free.requests.heirs = heirs;
        self.note_wanted();
    }

    /// Where a read of what is wanted goes: to the request that it is a piece of, if it is one.
    pub(crate) fn place_of_free(&mut self, at: Extent, out: &mut Vec<Action>) -> Place {
        let owner = self.free.as_mut().and_then(|free| free.requests.begin(at.start));
        let Some(job) = owner.and_then(|id| self.jobs.get_mut(id)) else { return Place::Scan };
        job.state = JobState::Serving;
        out.push(Action::Begin(job.request));
        Place::Request(job.request, (at.start.0 - job.at.start.0) as u32)
    }

    /// A piece of a request came back.
    pub(crate) fn land_piece(&mut self, now: Time, command: &Command, outcome: Outcome, out: &mut Vec<Action>) {
        let turn = self.belief.turn();
        let Some(free) = &mut self.free else { return };
        free.land_piece((now, turn), command.at, outcome);
        let Some((id, cancelled)) = free.requests.flying.take() else { return };
        let Some(job) = self.jobs.get_mut(id) else { return };
        job.state = JobState::Wanted;
        let ending = match outcome {
            _ if cancelled => Some(Ending::Failed(ECANCELED)),
            Outcome::Ok => {
                job.done += command.at.blocks;
                job.failed = 0;
                (job.done == job.at.blocks).then_some(Ending::Finished)
            }
            Outcome::Failed(_) if job.failed < self.rules.class(job.qos.class).retries => {
                job.failed += 1;
                None
            }
            Outcome::Failed(errno) => Some(Ending::Failed(errno)),
        };
        let job = *job;
        match ending {
            Some(ending) => {
                self.unwant(&job);
                self.end(id, ending, out);
            }
            None if job.qos.deadline.is_some() => self.await_deadline(id),
            None => {}
        }
    }
}
