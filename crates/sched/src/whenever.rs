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
use crate::predict::Predictor;
use block::errno::ECANCELED;
use block::{Command, Ending, Extent, Lbn, Op, Outcome, Place, Time};
use std::collections::{BTreeMap, VecDeque};

/// The requests whose blocks are wanted in any order.
#[derive(Debug, Default)]
pub(crate) struct Whenever {
    /// By its first block: the end of each, and its job. No two have a block in common.
    owners: BTreeMap<Lbn, (Lbn, JobId)>,
    /// Those that have blocks in common with one of these or with one another, in order of arrival.
    parked: VecDeque<JobId>,
    /// Of which a piece is in flight, and whether it was cancelled since.
    flying: Option<(JobId, bool)>,
}

impl Whenever {
    /// How many requests there are.
    pub(crate) fn len(&self) -> u32 {
        (self.owners.len() + self.parked.len()) as u32
    }

    /// What of an extent is of one request: that of its first block.
    pub(crate) fn clip(&self, at: Extent) -> Extent {
        let owner = self.owners.range(..=at.start).next_back();
        match owner.filter(|(_, (end, _))| *end > at.start) {
            Some((_, (end, _))) => Extent { blocks: u64::from(at.blocks).min(end.0 - at.start.0) as u32, ..at },
            None => at,
        }
    }

    /// A piece of the request that has this block is given to the device: its job.
    fn begin(&mut self, at: Lbn) -> Option<JobId> {
        let (_, (_, id)) = self.owners.range(..=at).next_back().filter(|(_, (end, _))| *end > at)?;
        self.flying = Some((*id, false));
        Some(*id)
    }

    /// Cancels a request of which a piece is in flight, as soon as that comes back.
    pub(crate) fn cancel(&mut self, id: JobId) {
        if let Some((flying, cancelled)) = &mut self.flying {
            *cancelled |= *flying == id;
        }
    }

    /// Owns an extent, unless others own part of it or wait to.
    fn own(&mut self, id: JobId, at: Extent) -> bool {
        let before = self.owners.range(..at.end()).next_back();
        let free = before.is_none_or(|(_, (end, _))| *end <= at.start);
        if free {
            self.owners.insert(at.start, (at.end(), id));
        }
        free
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
        if free.requests.own(id, job.rest()) {
            free.want(job.rest());
        } else {
            free.requests.parked.push_back(id);
        }
        if self.rules.tells {
            out.push(Action::Wait(job.request, Wait::Queue));
        }
        self.note_wanted();
    }

    /// A job's blocks are not wanted any more: those that waited for it to be done with them may be.
    pub(crate) fn unwant(&mut self, id: JobId, job: &Job<P::Spot>) {
        let Some(free) = &mut self.free else { return };
        let owner = |(_, of): &(Lbn, JobId)| *of == id;
        let first = Lbn(job.at.start.0);
        let found = free.requests.owners.range(first..job.at.end()).find(|(_, of)| owner(of)).map(|(first, _)| *first);
        match found {
            Some(first) => {
                free.requests.owners.remove(&first);
                free.forget(job.at);
            }
            None => free.requests.parked.retain(|parked| *parked != id),
        }
        for _ in 0..free.requests.parked.len() {
            let Some(next) = free.requests.parked.pop_front() else { break };
            let Some(at) = self.jobs.get(next).map(Job::rest) else { continue };
            if free.requests.own(next, at) {
                free.want(at);
            } else {
                free.requests.parked.push_back(next);
            }
        }
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
                self.unwant(id, &job);
                self.end(id, ending, out);
            }
            None if job.qos.deadline.is_some() => self.await_deadline(id),
            None => {}
        }
    }
}
