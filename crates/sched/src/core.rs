//! The core: inputs in, actions out.
//!
//! **A command is tried again by the core.** What failed stays where it was and is issued once more, as often as its
//! class allows, so that a log has it and simulation would do the same. A flush is not: what a failed one has lost a
//! second one does not bring back, nor tell of. The world counts commands that were to reach the medium and did not,
//! whoever's; the front lets no flush end well that was asked before such a failure and ended after it, and none at
//! all until the volume is told to go on.

use crate::admission::Admission;
use crate::event::{Action, Input, Wait};
use crate::foresight::Foresight;
use crate::job::State;
use crate::leisure::Leisure;
use crate::outbid::Patience;
use crate::overlap::{self, Overlap};
use crate::plan::{Preemption, Prefetch, Rules};
use crate::predict::Predictor;
use crate::queue::{self, Maker, Queue};
use crate::service::Service;
use crate::tally::{Pulse, Tally};
use crate::{Job, JobId, Jobs};
use block::errno::{ECANCELED, EINVAL};
use block::{
    Caps, Change, Command, DiskId, Ending, Extent, FrameId, Op, Outcome, Place, Request, RequestId, Span, Tag, Time,
    Verb,
};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// What a command is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Errand {
    /// A request, or a part of it.
    Job(JobId),
    /// Part of a seek.
    Seek,
    /// Reading ahead.
    Frame(FrameId),
    /// Learning the device.
    Probe,
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
    pub(crate) flying: Vec<Option<(Errand, Command)>>,
    /// How many are in flight.
    in_flight: u32,
    /// How much the device is given, where that is bounded.
    pub(crate) admission: Option<Box<Admission>>,
    /// Serving in short commands.
    pub(crate) service: Option<Box<Service>>,
    /// Weighing whole schedules.
    pub(crate) foresight: Option<Box<Foresight<P>>>,
    /// While it has no requests: from when on the belief may have something read to learn from.
    pub(crate) probes_from: Option<Time>,
    /// Hard deadlines of waiting jobs; those of jobs that are gone are passed over.
    deadlines: BinaryHeap<Reverse<(Time, u64, JobId)>>,
    /// By how much what a write is worth counts.
    pub(crate) weight: f64,
    pub(crate) patience: Patience,
    /// How idle the disk is, and how full the write buffer.
    pub(crate) leisure: Leisure,
    sequence: u64,
    decisions: u64,
}

impl<P: Predictor> Core<P> {
    /// A core for a device of these capabilities that keeps at most `limit` requests; `make` makes the policy by which
    /// requests of one rank are ordered. In short commands requests are served one at a time.
    #[must_use]
    pub fn new(caps: Caps, limit: u32, belief: P, rules: Rules, make: Maker<P>) -> Core<P> {
        // Who waits for what is read ahead is found by place.
        let prefetches = rules.plan.is_some_and(|plan| plan.prefetch != Prefetch::Never);
        Core {
            caps,
            admission: None,
            service: rules.plan.map(|plan| Box::new(Service::new(plan))),
            foresight: (rules.preemption == Preemption::Lookahead).then(Box::default),
            queue: Queue::new(make, &rules),
            probes_from: None,
            rules,
            limit,
            belief,
            jobs: Jobs::new(),
            overlap: if prefetches { Overlap::watching() } else { Overlap::new() },
            flushes: VecDeque::new(),
            flying: vec![None; usize::from(caps.depth)],
            in_flight: 0,
            deadlines: BinaryHeap::new(),
            weight: 1.0,
            patience: Patience::default(),
            leisure: Leisure::default(),
            sequence: 0,
            decisions: 0,
        }
    }

    /// The same core, with the requests of a class ordered by a policy of their own. It has been given no request yet.
    #[must_use]
    pub fn ordering(mut self, class: u8, make: Maker<P>) -> Core<P> {
        self.queue.order(class, make);
        self
    }

    /// Takes an input and appends what follows from it. `now` never goes back.
    pub fn handle(&mut self, now: Time, input: Input, out: &mut Vec<Action>) {
        if let Some(service) = &mut self.service {
            service.passed(now);
        }
        if self.rules.budget.is_some() {
            self.leisure.passed(now, self.jobs.is_empty());
        }
        if let Some(foresight) = &mut self.foresight {
            foresight.passed(now);
        }
        match input {
            Input::Done(_, tag, happened, outcome) => self.done(tag, happened, outcome, out),
            Input::Amend(request, change) => self.amend(request, change, out),
            Input::Submit(request) => self.submit(now, &request, out),
            // A disk that fails says so by each command.
            Input::Disk(..) | Input::Wake => {}
        }
        if !self.deadlines.is_empty() {
            self.drop_expired(now, out);
        }
        if self.service.is_some() && !self.goes_deep(now) {
            self.serve(now, out)
        } else {
            self.dispatch(now, out)
        }
        if let Some(patience) = self.belief.patience() {
            self.probe(now, patience, out);
        }
    }

    /// When it wants to be woken, if nothing else happens before.
    #[must_use]
    pub fn wake_at(&self) -> Option<Time> {
        let deadline = self.deadlines.peek().map_or(Time::NEVER, |Reverse((deadline, ..))| *deadline);
        let seek = self.service.as_ref().and_then(|service| service.wake).unwrap_or(Time::NEVER);
        let probe = self.probes_from.filter(|_| self.is_idle()).unwrap_or(Time::NEVER);
        Some(deadline.min(seek).min(probe)).filter(|wake| *wake < Time::NEVER)
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

    /// When the arm is believed to be there for the command issued just now, where its seek was timed.
    #[must_use]
    pub fn arrival(&self) -> Option<Time> {
        self.service.as_ref()?.arrival
    }

    /// How it fares.
    #[must_use]
    pub fn pulse(&self) -> Pulse {
        let pulse = Pulse { waiting: self.jobs.len(), ..Pulse::default() };
        let Some(service) = &self.service else { return pulse };
        let Tally { preemptions, jit_seeks, late, .. } = service.tally;
        Pulse { preemptions, jit_seeks, late, gave_up: !service.punctuality.holds(), ..pulse }
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

    /// The read in short commands that is being transferred, and what is left of it.
    pub(crate) fn streaming(&self) -> Option<(RequestId, Extent)> {
        let job = self.jobs.get(self.service.as_ref()?.moving()?)?;
        (job.op == Op::Read).then(|| (job.request, job.rest()))
    }

    /// Blocks of a short command.
    pub(crate) fn chunk(&self) -> Option<u32> {
        self.rules.plan.map(|plan| plan.chunk)
    }

    /// Of the request being transferred only so many blocks are to be served here.
    pub(crate) fn cut(&mut self, request: RequestId, blocks: u32) {
        let Some(id) = self.service.as_ref().and_then(|service| service.moving()) else { return };
        let Some(job) = self.jobs.get_mut(id).filter(|job| job.request == request) else { return };
        self.overlap.remove(job);
        job.at.blocks = blocks;
        let job = *job;
        self.overlap.add(id, &job, &self.jobs);
    }

    /// The request that was interrupted since this was last asked.
    pub(crate) fn take_interrupted(&mut self) -> Option<RequestId> {
        let id = self.service.as_mut()?.interrupted_job.take()?;
        self.jobs.get(id).filter(|job| job.state == State::Queued).map(|job| job.request)
    }

    /// Gives up a waiting request, which then does not end here; how many blocks of it are done.
    pub(crate) fn give_up(&mut self, request: RequestId) -> Option<u32> {
        let id = self.jobs.find(request)?;
        let job = *self.jobs.get(id)?;
        if job.state != State::Queued || job.first_held.is_some() {
            return None;
        }
        self.queue.remove(&self.rules, id, &job, &self.belief);
        self.overlap.remove(&job);
        self.left(&job);
        self.jobs.free(id);
        Some(job.done)
    }

    /// From now on a write is worth so many times what it is worth by its class.
    pub(crate) fn weigh_writes(&mut self, weight: f64, fill: f64) {
        (self.weight, self.leisure.fill) = (weight, fill);
        self.queue.weigh_writes(weight);
    }

    /// How long the blocks of an extent take to come, once the first is under the head; nothing where that is not known.
    pub(crate) fn transfer(&self, at: Extent) -> Span {
        if at.blocks == 0 { Span::ZERO } else { self.belief.transfer(at, self.belief.spot(at)) }
    }

    fn submit(&mut self, now: Time, request: &Request, out: &mut Vec<Action>) {
        debug_assert!(self.room() > 0, "a request was submitted without room");
        let flush = request.op == Op::Flush;
        let sane = flush || (request.at.blocks > 0 && request.at.end().0 <= self.caps.blocks);
        if !sane || request.op == Op::Repair {
            out.push(Action::Finish(request.id, Ending::Failed(EINVAL)));
            return;
        }
        self.sequence += 1;
        let mut job = Job::new(request, now, self.sequence, self.belief.spot(request.at));
        if self.service.is_some() && !flush {
            if self.serve_from_frames(now, &mut job, out) {
                out.push(Action::Finish(request.id, Ending::Finished));
                return;
            }
            if job.done > 0 {
                job.spot = self.belief.spot(job.rest());
            }
        }
        if let Some(admission) = &mut self.admission {
            admission.submitted(now, queue::rank(&self.rules, &job));
        }
        let id = self.jobs.insert(job);
        self.await_deadline(id, &job);
        if flush {
            self.flushes.push_back(id);
            return;
        }
        self.asked(&job);
        self.overlap.add(id, &job, &self.jobs);
        self.queue_or_hold(id, &job, out);
    }

    /// Gives a job to the policy, or holds it until the last earlier one it overlaps has ended.
    fn queue_or_hold(&mut self, id: JobId, job: &Job<P::Spot>, out: &mut Vec<Action>) {
        let held = self.overlap.hold(id, job, &mut self.jobs);
        if self.rules.tells {
            out.push(Action::Wait(job.request, if held { Wait::Overlap } else { Wait::Queue }));
        }
        if held {
            return;
        }
        self.queue.add(&self.rules, id, job, &self.belief);
        if self.rules.preemption.weighs()
            && let Some(service) = &mut self.service
        {
            service.came(id);
        }
    }

    fn done(&mut self, tag: Tag, happened: Time, outcome: Outcome, out: &mut Vec<Action>) {
        let Some((errand, command)) = self.flying.get_mut(tag.0 as usize).and_then(Option::take) else {
            debug_assert!(false, "{tag:?} was not in flight");
            return;
        };
        self.in_flight -= 1;
        self.returned(happened, tag, &command);
        self.belief.observed(happened, &command, outcome);
        if self.in_flight > 0 {
            self.guess_next(happened);
        }
        let Errand::Job(id) = errand else { return self.ran(errand, &command, outcome, happened, out) };
        match outcome {
            Outcome::Ok if self.progressed(id, &command, happened) => self.end(id, Ending::Finished, out),
            Outcome::Ok => {}
            Outcome::Failed(_) if self.tries_again(id, &command) => {}
            Outcome::Failed(errno) => {
                self.forget(id);
                self.end(id, Ending::Failed(errno), out);
            }
        }
    }

    /// A command of a request failed: whether it is given to the device again. What a flush that failed has lost, a second one
    /// does not bring back.
    fn tries_again(&mut self, id: JobId, command: &Command) -> bool {
        let Some(job) = self.jobs.get_mut(id).filter(|_| command.verb != Verb::Flush) else { return false };
        if job.failed >= self.rules.class(job.qos.class).retries {
            return false;
        }
        job.failed += 1;
        if let Some(service) = self.service.as_mut().filter(|service| service.holds(id)) {
            service.expected = None;
            return true;
        }
        job.state = State::Queued;
        let job = *job;
        self.await_deadline(id, &job);
        self.queue.add(&self.rules, id, &job, &self.belief);
        true
    }

    fn amend(&mut self, request: RequestId, change: Change, out: &mut Vec<Action>) {
        let found = self.jobs.find(request).and_then(|id| Some((id, *self.jobs.get(id)?)));
        let Some((id, mut job)) = found else { return };
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
                self.left(&job);
                job.qos = qos;
                if job.op != Op::Flush {
                    self.asked(&job);
                }
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
    pub(crate) fn deadline(&self, job: &Job<P::Spot>) -> Option<Time> {
        if self.rules.keeps_writes && job.op.writes() {
            return None;
        }
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
            State::Held(blocker) => overlap::let_go(id, blocker, job.next_held, &mut self.jobs),
            State::Queued if job.op == Op::Flush => self.flushes.retain(|flush| *flush != id),
            State::Queued => self.queue.remove(&self.rules, id, job, &self.belief),
            State::Serving => {}
        }
    }

    pub(crate) fn end(&mut self, id: JobId, ending: Ending, out: &mut Vec<Action>) {
        let Some(job) = self.jobs.get(id).copied() else { return };
        let (request, mut held) = (job.request, job.first_held);
        self.overlap.remove(&job);
        self.left(&job);
        self.jobs.free(id);
        while let Some(id) = held {
            let Some(waiting) = self.jobs.get(id).copied() else { break };
            held = waiting.next_held;
            self.queue_or_hold(id, &waiting, out);
        }
        out.push(Action::Finish(request, ending));
    }

    /// Gives the device what it has room for, each request whole.
    fn dispatch(&mut self, now: Time, out: &mut Vec<Action>) {
        while let Some(tag) = self.flying.iter().position(Option::is_none) {
            if !self.admits(now) {
                return;
            }
            let Some(id) = self.flushes.pop_front().or_else(|| self.take(self.arm_free(now))) else { return };
            self.whole(id);
            let Some(job) = self.jobs.get_mut(id) else {
                debug_assert!(false, "a policy gave a job it did not hold");
                return;
            };
            job.state = State::Serving;
            let verb = match job.op {
                Op::Read | Op::Repair => Verb::Read,
                Op::Write { fua } => Verb::Write { fua },
                Op::Flush => Verb::Flush,
            };
            let (spot, place) = (job.spot, Place::Request(job.request, job.done));
            let command = Command { verb, at: job.rest(), place };
            self.flying[tag] = Some((Errand::Job(id), command));
            self.in_flight += 1;
            self.issued(now, Tag(tag as u32), Errand::Job(id), &command, spot);
            out.push(Action::Issue(DiskId(0), Tag(tag as u32), command));
        }
    }

    /// The next job by rank and policy.
    pub(crate) fn take(&mut self, now: Time) -> Option<JobId> {
        let taken = self.queue.take(&self.rules, now, &self.jobs, &self.belief);
        self.decisions += u64::from(taken.is_some());
        taken
    }

    /// How many commands are in flight.
    pub(crate) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Whether no command is in flight.
    pub(crate) fn is_idle(&self) -> bool {
        self.in_flight == 0
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
        self.in_flight += 1;
        self.issued(now, Tag(tag as u32), errand, &command, spot);
        out.push(Action::Issue(DiskId(0), Tag(tag as u32), command));
    }
}
