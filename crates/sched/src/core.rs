//! The core: inputs in, actions out.

use crate::job::State;
use crate::overlap::Overlap;
use crate::plan::Rules;
use crate::predict::Predictor;
use crate::queue::{Maker, Queue};
use crate::service::Service;
use crate::tally::Tally;
use crate::{Job, JobId, Jobs};
use block::{
    Caps, Change, Command, DiskId, Ending, Extent, FrameId, Op, Outcome, Place, Request, RequestId, Tag, Time, Verb,
};
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
    /// A request's turn has come; its seek may still be put off.
    Begin(RequestId),
    /// Give a device a command.
    Issue(DiskId, Tag, Command),
    /// Copy blocks in memory.
    Copy {
        /// From here.
        from: Place,
        /// To here.
        to: Place,
        /// So many.
        blocks: u32,
    },
    /// A request has ended; its slot is free.
    Finish(RequestId, Ending),
}

/// What a command is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Errand {
    /// A request, or a part of it.
    Job(JobId),
    /// Part of a seek.
    Seek,
    /// Reading ahead.
    Frame(FrameId),
}

/// The scheduling core of one disk.
pub struct Core<P: Predictor> {
    pub(crate) caps: Caps,
    pub(crate) rules: Rules,
    /// Requests it keeps at most.
    limit: u32,
    pub(crate) belief: P,
    pub(crate) queue: Queue<P>,
    pub(crate) jobs: Jobs<P::Spot>,
    pub(crate) overlap: Overlap,
    /// Flushes have no place on the medium and go ahead of the queue.
    pub(crate) flushes: VecDeque<JobId>,
    /// The command each tag stands for.
    flying: Vec<Option<(Errand, Command)>>,
    /// Serving in short commands.
    pub(crate) service: Option<Box<Service>>,
    /// Hard deadlines of waiting jobs; those of jobs that are gone are passed over.
    deadlines: BinaryHeap<Reverse<(Time, u64, JobId)>>,
    sequence: u64,
    decisions: u64,
}

impl<P: Predictor> Core<P> {
    /// A core for a device of these capabilities that keeps at most `limit` requests; `make` makes the policy by which
    /// requests of one rank are ordered. In short commands requests are served one at a time.
    #[must_use]
    pub fn new(caps: Caps, limit: u32, belief: P, rules: Rules, make: Maker<P>) -> Core<P> {
        Core {
            caps,
            service: rules.plan.map(|plan| Box::new(Service::new(plan))),
            rules,
            limit,
            belief,
            queue: Queue::new(make),
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
        if let Some(service) = &mut self.service {
            service.passed(now);
        }
        match input {
            Input::Done(tag, happened, outcome) => self.done(tag, happened, outcome, out),
            Input::Amend(request, change) => self.amend(request, change, out),
            Input::Submit(request) => self.submit(now, &request, out),
            Input::Wake => {}
        }
        if !self.deadlines.is_empty() {
            self.drop_expired(now, out);
        }
        if self.service.is_some() { self.serve(now, out) } else { self.dispatch(now, out) }
    }

    /// When it wants to be woken, if nothing else happens before.
    #[must_use]
    pub fn wake_at(&self) -> Option<Time> {
        let deadline = self.deadlines.peek().map(|Reverse((deadline, ..))| *deadline);
        let seek = self.service.as_ref().and_then(|service| service.wake);
        match (deadline, seek) {
            (Some(deadline), Some(seek)) => Some(deadline.min(seek)),
            (deadline, seek) => deadline.or(seek),
        }
    }

    /// From now on things count for the tally.
    pub fn count_from(&mut self, from: Time) {
        if let Some(service) = &mut self.service {
            service.from = from;
        }
    }

    /// What serving in short commands came to; nothing where requests are served whole.
    #[must_use]
    pub fn tally(&self) -> Option<&Tally> {
        self.service.as_ref().map(|service| &service.tally)
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
        (self.decisions, self.queue.examined())
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
        let mut job = Job {
            request: request.id,
            op: request.op,
            at: request.at,
            done: 0,
            qos: request.qos,
            arrived: now,
            sequence: self.sequence,
            spot: self.belief.spot(request.at),
            state: State::Queued,
            first_held: None,
            next_held: None,
        };
        if self.service.is_some() && !flush {
            if self.serve_from_frames(now, &mut job, out) {
                out.push(Action::Finish(request.id, Ending::Finished));
                return;
            }
            if job.done > 0 {
                job.spot = self.belief.spot(job.rest());
            }
        }
        let id = self.jobs.insert(job);
        self.await_deadline(id, &job);
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
            self.queue.add(&self.rules, id, job, &self.belief);
            if self.rules.preemption.by_value()
                && let Some(service) = &mut self.service
            {
                service.came(id);
            }
            return;
        };
        let next = self.jobs.get_mut(blocker).and_then(|blocker| blocker.first_held.replace(id));
        if let Some(job) = self.jobs.get_mut(id) {
            (job.state, job.next_held) = (State::Held(blocker), next);
        }
    }

    fn done(&mut self, tag: Tag, happened: Time, outcome: Outcome, out: &mut Vec<Action>) {
        let Some((errand, command)) = self.flying.get_mut(tag.0 as usize).and_then(Option::take) else {
            debug_assert!(false, "{tag:?} was not in flight");
            return;
        };
        self.belief.observed(happened, &command, outcome);
        let Errand::Job(id) = errand else { return self.ran(errand, &command, outcome, happened) };
        match outcome {
            Outcome::Ok if self.progressed(id, &command, happened) => self.end(id, Ending::Finished, out),
            Outcome::Ok => {}
            Outcome::Failed(errno) => {
                self.forget(id);
                self.end(id, Ending::Failed(errno), out);
            }
        }
    }

    fn amend(&mut self, request: RequestId, change: Change, out: &mut Vec<Action>) {
        let Some((id, mut job)) = self.jobs.iter().find(|(_, job)| job.request == request).map(|(id, job)| (id, *job))
        else {
            return;
        };
        match change {
            Change::Cancel if job.state != State::Serving => {
                self.withdraw(id, &job);
                self.end(id, Ending::Failed(ECANCELED), out);
            }
            Change::Cancel => {}
            Change::Qos(qos) => {
                let queued = job.state == State::Queued && job.op != Op::Flush;
                if queued {
                    self.queue.remove(&self.rules, id, &job, &self.belief);
                }
                job.qos = qos;
                if let Some(kept) = self.jobs.get_mut(id) {
                    *kept = job;
                }
                if queued {
                    self.queue.add(&self.rules, id, &job, &self.belief);
                }
                self.await_deadline(id, &job);
            }
        }
    }

    /// When a waiting job is to be dropped, if ever.
    fn deadline(&self, job: &Job<P::Spot>) -> Option<Time> {
        job.qos.deadline?;
        self.rules.class(job.qos.class).worth.end(&job.qos, job.arrived)
    }

    /// Keeps a job's deadline, and of those that passed unneeded no more than in proportion to the jobs.
    pub(crate) fn await_deadline(&mut self, id: JobId, job: &Job<P::Spot>) {
        let Some(deadline) = self.deadline(job) else { return };
        self.deadlines.push(Reverse((deadline, job.sequence, id)));
        if self.deadlines.len() > 64 + 2 * self.jobs.len() as usize {
            let jobs = &self.jobs;
            self.deadlines.retain(|Reverse((_, sequence, id))| {
                jobs.get(*id).is_some_and(|job| job.sequence == *sequence && job.state != State::Serving)
            });
        }
    }

    /// Drops what still waits at its hard deadline.
    fn drop_expired(&mut self, now: Time, out: &mut Vec<Action>) {
        while let Some(Reverse((deadline, sequence, id))) = self.deadlines.peek().copied() {
            let waiting = self.jobs.get(id).filter(|job| job.sequence == sequence && job.state != State::Serving);
            let Some(job) = waiting.copied() else {
                self.deadlines.pop();
                continue;
            };
            if deadline > now {
                return;
            }
            self.deadlines.pop();
            // An amended request is dropped at its present deadline only.
            if self.deadline(&job) == Some(deadline) {
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
            State::Queued => self.queue.remove(&self.rules, id, job, &self.belief),
            State::Serving => {}
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

    /// Gives the device what it has room for, each request whole.
    fn dispatch(&mut self, now: Time, out: &mut Vec<Action>) {
        while let Some(tag) = self.flying.iter().position(Option::is_none) {
            let Some(id) = self.flushes.pop_front().or_else(|| self.take(now)) else { return };
            let Some(job) = self.jobs.get_mut(id) else {
                debug_assert!(false, "a policy gave a job it did not hold");
                return;
            };
            job.state = State::Serving;
            let verb = match job.op {
                Op::Read => Verb::Read,
                Op::Write { fua } => Verb::Write { fua },
                Op::Flush => Verb::Flush,
            };
            let (spot, place) = (job.spot, Place::Request(job.request, 0));
            let command = Command { verb, at: job.at, place };
            self.flying[tag] = Some((Errand::Job(id), command));
            self.belief.issued(now, &command, spot);
            out.push(Action::Issue(DiskId(0), Tag(tag as u32), command));
        }
    }

    /// The next job by rank and policy.
    pub(crate) fn take(&mut self, now: Time) -> Option<JobId> {
        let taken = self.queue.take(&self.rules, now, &self.jobs, &self.belief);
        self.decisions += u64::from(taken.is_some());
        taken
    }

    /// Whether no command is in flight.
    pub(crate) fn is_idle(&self) -> bool {
        self.flying.iter().all(Option::is_none)
    }

    /// Issues one of many short commands, for which the caller guarantees there is room.
    #[inline(never)]
    pub(crate) fn send(
        &mut self,
        now: Time,
        errand: Errand,
        verb: Verb,
        at: Extent,
        place: Place,
        out: &mut Vec<Action>,
    ) {
        let Some(tag) = self.flying.iter().position(Option::is_none) else { return };
        let command = Command { verb, at, place };
        let known = match errand {
            Errand::Job(id) => self.jobs.get(id).filter(|job| job.done == 0).map(|job| job.spot),
            _ => None,
        };
        let spot = known.unwrap_or_else(|| self.belief.spot(at));
        self.flying[tag] = Some((errand, command));
        self.belief.issued(now, &command, spot);
        out.push(Action::Issue(DiskId(0), Tag(tag as u32), command));
    }

    fn set_state(&mut self, id: JobId, state: State) {
        if let Some(job) = self.jobs.get_mut(id) {
            job.state = state;
        }
    }
}
