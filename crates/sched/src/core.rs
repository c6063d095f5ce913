//! The core: inputs in, actions out.

use crate::job::State;
use crate::overlap::Overlap;
use crate::policy::Policy;
use crate::predict::Predictor;
use crate::{Job, JobId, Jobs};
use block::{Caps, Change, Command, DiskId, Ending, Op, Outcome, Place, Request, RequestId, Tag, Time, Verb};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

const EINVAL: i32 = 22;
const ECANCELED: i32 = 125;

/// What can happen to a core. At one instant: completions, amendments, submissions, the wake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// A command came back; the time is when it happened, which may be before now.
    Done(Tag, Time, Outcome),
    /// Something changed about a request.
    Amend(RequestId, Change),
    /// A request was submitted; only while there is room.
    Submit(Request),
    /// The time of `wake_at` has come.
    Wake,
}

/// What a core decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Give a device a command.
    Issue(DiskId, Tag, Command),
    /// A request has ended; its slot is free.
    Finish(RequestId, Ending),
}

/// The scheduling core of one disk.
pub struct Core<P: Predictor> {
    caps: Caps,
    /// Requests it keeps at most.
    limit: u32,
    belief: P,
    policy: Box<dyn Policy<P>>,
    jobs: Jobs<P::Spot>,
    overlap: Overlap,
    /// Flushes have no place on the medium and go ahead of the queue.
    flushes: VecDeque<JobId>,
    /// The command each tag stands for.
    flying: Vec<Option<(JobId, Command)>>,
    /// Hard deadlines of waiting jobs; those of jobs that are gone are passed over.
    deadlines: BinaryHeap<Reverse<(Time, u64, JobId)>>,
    sequence: u64,
    decisions: u64,
}

impl<P: Predictor> Core<P> {
    /// A core for a device of these capabilities that keeps at most `limit` requests.
    #[must_use]
    pub fn new(caps: Caps, limit: u32, belief: P, policy: Box<dyn Policy<P>>) -> Core<P> {
        Core {
            caps,
            limit,
            belief,
            policy,
            jobs: Jobs::new(),
            overlap: Overlap::new(),
            flushes: VecDeque::new(),
            flying: vec![None; usize::from(caps.depth)],
            deadlines: BinaryHeap::new(),
            sequence: 0,
            decisions: 0,
        }
    }

    /// Takes an input and appends what follows from it. `now` never goes back.
    pub fn handle(&mut self, now: Time, input: Input, out: &mut Vec<Action>) {
        match input {
            Input::Done(tag, happened, outcome) => self.done(tag, happened, outcome, out),
            Input::Amend(request, change) => self.amend(request, change, out),
            Input::Submit(request) => self.submit(now, &request, out),
            Input::Wake => {}
        }
        if !self.deadlines.is_empty() {
            self.drop_expired(now, out);
        }
        self.dispatch(now, out);
    }

    /// When it wants to be woken, if nothing else happens before.
    #[must_use]
    pub fn wake_at(&self) -> Option<Time> {
        self.deadlines.peek().map(|Reverse((deadline, ..))| *deadline)
    }

    /// How many more requests it takes.
    #[must_use]
    pub fn room(&self) -> u32 {
        self.limit - self.jobs.len()
    }

    /// What it believes of the device.
    #[must_use]
    pub fn belief(&self) -> &P {
        &self.belief
    }

    /// Decisions taken and candidates examined for them: what scheduling costs.
    #[must_use]
    pub fn effort(&self) -> (u64, u64) {
        (self.decisions, self.policy.examined())
    }

    fn submit(&mut self, now: Time, request: &Request, out: &mut Vec<Action>) {
        debug_assert!(self.room() > 0, "a request was submitted without room");
        let flush = request.op == Op::Flush;
        let sane = flush || (request.at.blocks > 0 && request.at.end().0 <= self.caps.blocks);
        if !sane {
            out.push(Action::Finish(request.id, Ending::Failed(EINVAL)));
            return;
        }
        self.sequence += 1;
        let job = Job {
            request: request.id,
            op: request.op,
            at: request.at,
            qos: request.qos,
            arrived: now,
            sequence: self.sequence,
            spot: self.belief.spot(request.at),
            state: State::Queued,
            first_held: None,
            next_held: None,
        };
        let id = self.jobs.insert(job);
        if let Some(deadline) = job.qos.deadline {
            self.await_deadline(deadline, job.sequence, id);
        }
        if flush {
            self.flushes.push_back(id);
            return;
        }
        self.overlap.add(id, &job, &self.jobs);
        self.queue_or_hold(id, &job);
    }

    /// Gives a job to the policy, or holds it until the last earlier one it overlaps has ended.
    fn queue_or_hold(&mut self, id: JobId, job: &Job<P::Spot>) {
        let Some(blocker) = self.overlap.blocker(job) else {
            if job.state != State::Queued {
                self.set_state(id, State::Queued);
            }
            self.policy.add(id, job, &self.belief);
            return;
        };
        let next = self.jobs.get_mut(blocker).and_then(|blocker| blocker.first_held.replace(id));
        if let Some(job) = self.jobs.get_mut(id) {
            (job.state, job.next_held) = (State::Held(blocker), next);
        }
    }

    fn done(&mut self, tag: Tag, happened: Time, outcome: Outcome, out: &mut Vec<Action>) {
        let Some((id, command)) = self.flying.get_mut(tag.0 as usize).and_then(Option::take) else {
            debug_assert!(false, "{tag:?} was not in flight");
            return;
        };
        self.belief.observed(happened, &command, outcome);
        let ending = match outcome {
            Outcome::Ok => Ending::Finished,
            Outcome::Failed(errno) => Ending::Failed(errno),
        };
        self.end(id, ending, out);
    }

    fn amend(&mut self, request: RequestId, change: Change, out: &mut Vec<Action>) {
        let Some((id, mut job)) = self.jobs.iter().find(|(_, job)| job.request == request).map(|(id, job)| (id, *job))
        else {
            return;
        };
        match change {
            Change::Cancel if job.state != State::Flying => {
                self.withdraw(id, &job);
                self.end(id, Ending::Failed(ECANCELED), out);
            }
            Change::Cancel => {}
            Change::Qos(qos) => {
                let queued = job.state == State::Queued && job.op != Op::Flush;
                if queued {
                    self.policy.remove(id, &job, &self.belief);
                }
                job.qos = qos;
                if let Some(kept) = self.jobs.get_mut(id) {
                    *kept = job;
                }
                if queued {
                    self.policy.add(id, &job, &self.belief);
                }
                if let Some(deadline) = qos.deadline {
                    self.await_deadline(deadline, job.sequence, id);
                }
            }
        }
    }

    /// Keeps a deadline, and of those that passed unneeded no more than in proportion to the jobs.
    fn await_deadline(&mut self, deadline: Time, sequence: u64, id: JobId) {
        self.deadlines.push(Reverse((deadline, sequence, id)));
        if self.deadlines.len() > 64 + 2 * self.jobs.len() as usize {
            let jobs = &self.jobs;
            self.deadlines.retain(|Reverse((_, sequence, id))| {
                jobs.get(*id).is_some_and(|job| job.sequence == *sequence && job.state != State::Flying)
            });
        }
    }

    /// Drops what still waits at its hard deadline.
    fn drop_expired(&mut self, now: Time, out: &mut Vec<Action>) {
        while let Some(Reverse((deadline, sequence, id))) = self.deadlines.peek().copied() {
            let waiting = self.jobs.get(id).filter(|job| job.sequence == sequence && job.state != State::Flying);
            let Some(job) = waiting.copied() else {
                self.deadlines.pop();
                continue;
            };
            if deadline > now {
                return;
            }
            self.deadlines.pop();
            // An amended request is dropped at its present deadline only.
            if job.qos.deadline == Some(deadline) {
                self.withdraw(id, &job);
                self.end(id, Ending::Dropped, out);
            }
        }
    }

    /// Takes a waiting job from wherever it waits.
    fn withdraw(&mut self, id: JobId, job: &Job<P::Spot>) {
        match job.state {
            State::Held(blocker) => self.let_go(id, blocker, job.next_held),
            State::Queued if job.op == Op::Flush => self.flushes.retain(|flush| *flush != id),
            State::Queued => self.policy.remove(id, job, &self.belief),
            State::Flying => {}
        }
    }

    fn end(&mut self, id: JobId, ending: Ending, out: &mut Vec<Action>) {
        let Some(job) = self.jobs.get(id) else { return };
        let (request, mut held) = (job.request, job.first_held);
        self.overlap.remove(job);
        self.jobs.free(id);
        while let Some(id) = held {
            let Some(waiting) = self.jobs.get(id).copied() else { break };
            held = waiting.next_held;
            self.queue_or_hold(id, &waiting);
        }
        out.push(Action::Finish(request, ending));
    }

    /// Takes a held job from the list of the one it waits for.
    fn let_go(&mut self, id: JobId, blocker: JobId, next: Option<JobId>) {
        let Some(blocker) = self.jobs.get_mut(blocker) else { return };
        if blocker.first_held == Some(id) {
            blocker.first_held = next;
            return;
        }
        let mut at = blocker.first_held;
        while let Some(job) = at.and_then(|at| self.jobs.get_mut(at)) {
            if job.next_held == Some(id) {
                job.next_held = next;
                return;
            }
            at = job.next_held;
        }
    }

    /// Gives the device what it has room for.
    fn dispatch(&mut self, now: Time, out: &mut Vec<Action>) {
        while let Some(tag) = self.flying.iter().position(Option::is_none) {
            let next = self.flushes.pop_front().or_else(|| {
                let taken = self.policy.take(now, &self.jobs, &self.belief);
                self.decisions += u64::from(taken.is_some());
                taken
            });
            let Some(id) = next else { return };
            let Some(job) = self.jobs.get_mut(id) else {
                debug_assert!(false, "a policy gave a job it did not hold");
                return;
            };
            job.state = State::Flying;
            let verb = match job.op {
                Op::Read => Verb::Read,
                Op::Write { fua } => Verb::Write { fua },
                Op::Flush => Verb::Flush,
            };
            let (spot, place) = (job.spot, Place::Request(job.request, 0));
            let command = Command { verb, at: job.at, place };
            self.flying[tag] = Some((id, command));
            self.belief.issued(now, &command, spot);
            out.push(Action::Issue(DiskId(0), Tag(tag as u32), command));
        }
    }

    fn set_state(&mut self, id: JobId, state: State) {
        if let Some(job) = self.jobs.get_mut(id) {
            job.state = state;
        }
    }
}
