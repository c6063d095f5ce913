//! What the core has to do: one job a request.

use crate::slab::Slab;
use block::{Extent, Lbn, Op, Qos, Request, RequestId, Time};

/// A slot of the core's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct JobId(pub u32);

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobState {
    /// Waiting for this earlier job, which overlaps it.
    Held(JobId),
    /// It waits in the policy's queue.
    Queued,
    /// Its blocks are wanted in any order, and none of them is in flight.
    Wanted,
    /// Its turn has come.
    Serving,
}

/// A request as the core keeps it.
#[derive(Clone, Copy, Debug)]
pub struct Job<S> {
    /// The request that it serves.
    pub request: RequestId,
    /// Whether it reads or writes.
    pub op: Op,
    /// The blocks it covers.
    pub at: Extent,
    /// Blocks of it that are done.
    pub done: u32,
    /// How often its next command has failed.
    pub(crate) failed: u8,
    /// The class that interrupted it, until the arm is back at it.
    pub(crate) detour: Option<u8>,
    /// What it is worth.
    pub qos: Qos,
    /// By how much that counts, of a part of a larger request (Preemptive RAID scheduling, Eqs. 2 and 3).
    pub(crate) part: f32,
    /// When it was submitted.
    pub arrived: Time,
    /// In which order it was submitted: the last word in every tie.
    pub sequence: u64,
    /// Where the predictor found what is left of it to lie.
    pub spot: S,
    pub(crate) state: JobState,
    /// The first of the jobs held because of this one, and the next held because of the same one as this.
    pub(crate) first_held: Option<JobId>,
    pub(crate) next_held: Option<JobId>,
}

impl<S> Job<S> {
    /// The job of a request that was submitted at `now`, of which nothing is done.
    pub(crate) fn new(request: &Request, now: Time, sequence: u64, spot: S) -> Job<S> {
        Job {
            request: request.id,
            op: request.op,
            at: request.at,
            done: 0,
            failed: 0,
            detour: None,
            qos: request.qos,
            part: 1.0,
            arrived: now,
            sequence,
            spot,
            state: JobState::Queued,
            first_held: None,
            next_held: None,
        }
    }

    /// What is left of it.
    #[must_use]
    pub fn rest(&self) -> Extent {
        Extent { start: Lbn(self.at.start.0 + u64::from(self.done)), blocks: self.at.blocks - self.done }
    }
}

/// All jobs, in slots that are used again.
#[derive(Clone, Debug)]
pub struct Jobs<S> {
    slots: Slab<Job<S>>,
    /// Where the job of each request is, or was.
    by_request: Vec<JobId>,
}

impl<S: Copy> Jobs<S> {
    pub(crate) fn new() -> Jobs<S> {
        Jobs { slots: Slab::default(), by_request: Vec::new() }
    }

    /// The job in a slot, if there is one.
    #[must_use]
    pub fn get(&self, id: JobId) -> Option<&Job<S>> {
        self.slots.get(id.0)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.slots.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Each job with its slot.
    pub fn iter(&self) -> impl Iterator<Item = (JobId, &Job<S>)> {
        self.slots.iter().map(|(slot, job)| (JobId(slot), job))
    }

    pub(crate) fn get_mut(&mut self, id: JobId) -> Option<&mut Job<S>> {
        self.slots.get_mut(id.0)
    }

    /// The job of a request, if it has not ended.
    pub(crate) fn find(&self, request: RequestId) -> Option<JobId> {
        let id = *self.by_request.get(request.0 as usize)?;
        self.get(id).filter(|job| job.request == request).map(|_| id)
    }

    #[inline(always)]
    pub(crate) fn insert(&mut self, job: Job<S>) -> JobId {
        let request = job.request.0 as usize;
        let id = JobId(self.slots.insert(job));
        if self.by_request.len() <= request {
            self.by_request.resize(request + 1, JobId(u32::MAX));
        }
        self.by_request[request] = id;
        id
    }

    /// The same of one that is no request's.
    pub(crate) fn insert_nobodys(&mut self, job: Job<S>) -> JobId {
        JobId(self.slots.insert(job))
    }

    /// Frees a slot that holds a job.
    pub(crate) fn free(&mut self, id: JobId) {
        self.slots.clear(id.0);
    }
}
