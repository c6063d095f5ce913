//! What every part of the core works on: the requests and their order, the commands in flight, and what is believed of the
//! device. The parts (admission, arbiters, short commands, probing) know the board and not each other; the core knows all.

use crate::admission::Admission;
use crate::backlog::Backlog;
use crate::bills::Bill;
use crate::demand::Demands;
use crate::event::{Action, ActionSink, Wait};
use crate::free::Free;
use crate::job::JobState;
use crate::leisure::Leisure;
use crate::overlap::{self, Overlap};
use crate::plan::{LastFua, Rules};
use crate::predict::Predictor;
use crate::queue::{self, Queue};
use crate::{Job, JobId, Jobs};
use block::{
    Caps, Command, DiskId, Ending, Extent, FrameId, Mark, Op, Outcome, Place, Qos, RequestId, Tag, Time, Verb,
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
    /// Fills a frame ahead of its reader.
    Frame(FrameId),
    /// Probes the device to learn it.
    Probe,
    /// What is wanted in any order.
    Free,
    /// To have it write back what a class has in its buffer.
    Drain(u8),
}

/// Requests, commands in flight, and belief.
pub(crate) struct Board<P: Predictor> {
    pub(crate) caps: Caps,
    pub(crate) rules: Rules,
    pub(crate) belief: P,
    pub(crate) queue: Queue<P>,
    pub(crate) jobs: Jobs<P::Spot>,
    pub(crate) overlap: Overlap,
    /// Flushes have no place on the medium and go ahead of the queue.
    pub(crate) flushes: VecDeque<JobId>,
    /// Jobs whose quality of service has changed while they had their turn: what it was when that began.
    begun_as: Vec<(JobId, Qos)>,
    /// The command each tag stands for, and how many are in flight.
    pub(crate) flying: Vec<Option<(Errand, Command)>>,
    in_flight: u32,
    /// How much the device is given, where that is bounded.
    pub(crate) admission: Option<Box<Admission>>,
    /// What the device's buffer holds, where writes are held back by that.
    pub(crate) backlog: Option<Box<Backlog>>,
    /// What classes ask for, where whole schedules are weighed.
    pub(crate) demands: Option<Box<Demands>>,
    /// Jobs queued since an arbiter last decided, where it asks.
    pub(crate) newcomers: Vec<JobId>,
    keeps_newcomers: bool,
    /// Hard deadlines of waiting jobs; those of jobs that are gone are passed over.
    deadlines: BinaryHeap<Reverse<(Time, u64, JobId)>>,
    /// What is read where it costs nothing, where anything is.
    pub(crate) free: Option<Box<Free>>,
    /// Whether the device is given what follows before it is done with what is in service: two commands at most, one of them of what
    /// is read where it costs nothing, or of a request whose turn has come.
    pub(crate) in_line: bool,
    /// By how much what a write is worth counts.
    pub(crate) weight: f64,
    /// How idle the disk is, and how full the write buffer.
    pub(crate) leisure: Leisure,
    /// What those pay that are in the device, and when each was issued, by tag; and when the last command came back. Kept only
    /// where classes have shares.
    pub(crate) paying: Vec<Option<(Bill, Time)>>,
    pub(crate) last_back: Time,
    /// Whether what is issued fills the slack before another's seek.
    pub(crate) fills_slack: bool,
    /// The class of the read after which the device is to read on.
    pub(crate) reads_ahead_for: u8,
    decisions: u64,
}

impl<P: Predictor> Board<P> {
    /// A board without requests.
    pub(crate) fn new(caps: Caps, belief: P, rules: Rules, queue: Queue<P>, overlap: Overlap) -> Board<P> {
        Board {
            queue,
            jobs: Jobs::new(),
            overlap,
            flushes: VecDeque::new(),
            begun_as: Vec::new(),
            flying: vec![None; usize::from(caps.depth)],
            in_flight: 0,
            admission: None,
            backlog: rules
                .plan
                .filter(|plan| plan.last_fua == LastFua::Auto)
                .and_then(|_| belief.buffer())
                .map(|buffer| Box::new(Backlog::new(buffer))),
            demands: rules.weighs_schedules().then(Box::default),
            newcomers: Vec::new(),
            keeps_newcomers: rules.plan.is_some() && rules.preemption.weighs(),
            deadlines: BinaryHeap::new(),
            free: None,
            in_line: false,
            weight: 1.0,
            leisure: Leisure::default(),
            paying: vec![None; if rules.shares.is_some() { usize::from(caps.depth) } else { 0 }],
            last_back: Time::ZERO,
            fills_slack: false,
            reads_ahead_for: 0,
            decisions: 0,
            caps,
            rules,
            belief,
        }
    }

    /// Whether none of its parts is there that only some cores have: then the hot path is `PLAIN`.
    pub(crate) fn is_plain(&self) -> bool {
        let bounded =
            self.admission.is_some() || self.backlog.is_some() || self.free.is_some() || self.demands.is_some();
        let told = self.rules.tells
            || self.rules.bills
            || self.rules.divides
            || self.keeps_newcomers
            || self.rules.marks_commands()
            || !self.paying.is_empty();
        !bounded && !told && self.queue.is_plain(&self.rules)
    }

    /// How many commands are in flight.
    #[inline]
    pub(crate) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// What is in flight.
    pub(crate) fn flying(&self) -> impl Iterator<Item = &(Errand, Command)> {
        self.flying.iter().flatten()
    }

    /// Whether no command is in flight.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.in_flight == 0
    }

    /// Decisions taken, and candidates examined for them.
    pub(crate) fn effort(&self) -> (u64, u64) {
        (self.decisions, self.queue.candidates())
    }

    /// Keeps a new job, which has its turn when those before it that it overlaps have ended.
    #[inline(always)]
    pub(crate) fn keep<const PLAIN: bool>(&mut self, id: JobId, out: &mut impl ActionSink) {
        let Some(job) = self.jobs.get(id) else { return };
        if PLAIN && !self.overlap.watches(job.op) {
            return self.queue.add::<true>(&self.rules, id, job, &self.belief);
        }
        let job = *job;
        if self.is_whenever(&job) {
            return out.gather(|out| self.want(id, out));
        }
        self.count_demand(&job);
        self.overlap.add(id, &job, &self.jobs);
        out.gather(|out| self.queue_or_hold(id, &job, out));
    }

    /// Gives a job to the policy, or holds it until the last earlier one it overlaps has ended.
    #[inline(always)]
    fn queue_or_hold(&mut self, id: JobId, job: &Job<P::Spot>, out: &mut Vec<Action>) {
        let held = self.overlap.hold(id, job, &mut self.jobs);
        if self.rules.tells {
            out.push(Action::Wait(job.request, if held { Wait::Overlap } else { Wait::Queue }));
        }
        if held {
            return self.hand_on_urgency(id);
        }
        self.enqueue(id, job);
        if self.keeps_newcomers {
            self.newcomers.push(id);
        }
    }

    /// Gives a job to the policy.
    #[inline(always)]
    pub(crate) fn enqueue(&mut self, id: JobId, job: &Job<P::Spot>) {
        self.queue.add::<false>(&self.rules, id, job, &self.belief);
    }

    /// Takes a waiting job from the policy, out of turn.
    pub(crate) fn dequeue(&mut self, id: JobId, job: &Job<P::Spot>) {
        self.queue.remove(&self.rules, id, job, &self.belief);
    }

    /// From now on a job counts for so many times what its class says that it is worth.
    pub(crate) fn weigh_part(&mut self, request: RequestId, part: f32) {
        let Some(id) = self.jobs.find(request) else { return };
        let weighs = |job: &&mut Job<P::Spot>| job.part != part && job.op != Op::Flush;
        let Some(job) = self.jobs.get_mut(id).filter(weighs) else { return };
        job.part = part;
        let job = *job;
        if job.state == JobState::Queued {
            self.queue.weigh_part(&self.rules, id, &job, &self.belief);
        }
    }

    /// Changes what its place in the order of a policy may depend on: one that waits has its place anew.
    pub(crate) fn alter(&mut self, id: JobId, change: impl FnOnce(&mut Job<P::Spot>)) {
        let Some(was) = self.jobs.get(id).copied() else { return };
        let is_queued = was.state == JobState::Queued && was.op != Op::Flush;
        if is_queued {
            self.dequeue(id, &was);
        }
        let Some(job) = self.jobs.get_mut(id) else { return };
        change(job);
        let job = *job;
        if is_queued {
            self.enqueue(id, &job);
        } else if job.qos != was.qos {
            self.keep_turn(id, &was);
        }
    }

    /// The next job by rank and policy, which is no longer held.
    #[inline(always)]
    pub(crate) fn take<const PLAIN: bool>(&mut self, now: Time) -> Option<JobId> {
        if !PLAIN && self.queue.turns.is_some() {
            self.weigh_entry(now);
        }
        let taken = self.queue.take::<PLAIN>(&self.rules, now, &self.jobs, &self.belief);
        self.decisions += u64::from(taken.is_some());
        taken
    }

    /// Whether the arm's time is shared out, or some blocks are wanted in any order: both may want to be woken.
    #[inline(always)]
    pub(crate) fn is_shared(&self) -> bool {
        self.free.is_some() || self.queue.turns.is_some()
    }

    /// When either wants to be woken.
    #[inline(never)]
    pub(crate) fn wake_of_shared(&self) -> Time {
        let idle = self.free.as_ref().filter(|_| self.is_idle()).and_then(|free| free.wake());
        let room = self.in_flight < u32::from(self.caps.depth);
        let turn = self.queue.turns.as_ref().filter(|_| room).and_then(|turns| turns.wake());
        idle.unwrap_or(Time::NEVER).min(turn.unwrap_or(Time::NEVER)).min(self.follower_due().unwrap_or(Time::NEVER))
    }

    /// A job joins what its class asks for.
    #[inline(always)]
    pub(crate) fn count_demand(&mut self, job: &Job<P::Spot>) {
        if let Some(demands) = &mut self.demands
            && !matches!(job.op, Op::Discard(_))
        {
            demands.add(&self.belief, &self.rules, job);
        }
    }

    /// A job leaves what its class asks for.
    #[inline(always)]
    pub(crate) fn discount_demand(&mut self, job: &Job<P::Spot>) {
        if let Some(demands) = &mut self.demands
            && !matches!(job.op, Op::Flush | Op::Discard(_))
        {
            demands.remove(job);
        }
    }

    /// When a waiting job is to be dropped, if ever.
    #[inline(always)]
    pub(crate) fn deadline(&self, job: &Job<P::Spot>) -> Option<Time> {
        if self.rules.keeps_writes && job.op.writes() {
            return None;
        }
        self.rules.class(job.qos.class).worth.end(&job.qos, job.arrived)
    }

    /// Keeps a job's deadline, and of those that passed unneeded no more than in proportion to the jobs.
    #[inline(never)]
    pub(crate) fn await_deadline(&mut self, id: JobId) {
        let Some(job) = self.jobs.get(id) else { return };
        let Some(deadline) = self.deadline(job) else { return };
        self.deadlines.push(Reverse((deadline, job.sequence, id)));
        if self.deadlines.len() > 64 + 2 * self.jobs.len() as usize {
            let jobs = &self.jobs;
            self.deadlines.retain(|Reverse((_, sequence, id))| {
                jobs.get(*id).is_some_and(|job| job.sequence == *sequence && job.state != JobState::Serving)
            });
        }
    }

    /// The next deadline of a job that may still wait.
    #[inline]
    pub(crate) fn next_deadline(&self) -> Option<Time> {
        self.deadlines.peek().map(|Reverse((deadline, ..))| *deadline)
    }

    /// Drops what still waits at its hard deadline.
    #[inline(never)]
    pub(crate) fn drop_expired(&mut self, now: Time, out: &mut Vec<Action>) {
        while let Some(Reverse((deadline, sequence, id))) = self.deadlines.peek().copied() {
            let waiting = self.jobs.get(id).filter(|job| job.sequence == sequence && job.state != JobState::Serving);
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
    pub(crate) fn withdraw(&mut self, id: JobId, job: &Job<P::Spot>) {
        match job.state {
            JobState::Held(blocker) => overlap::let_go(id, blocker, job.next_held, &mut self.jobs),
            JobState::Queued if job.op == Op::Flush => self.flushes.retain(|flush| *flush != id),
            JobState::Queued => self.dequeue(id, job),
            JobState::Wanted => self.unwant(job),
            JobState::Serving => {}
        }
    }

    /// The quality of service of a job changes. A turn that it has ends as what it began as: else its class would have something in
    /// the device for ever.
    fn keep_turn(&mut self, id: JobId, job: &Job<P::Spot>) {
        let has_turn = job.state == JobState::Serving && (self.queue.turns.is_some() || self.queue.follows);
        if has_turn && !self.begun_as.iter().any(|(of, _)| *of == id) {
            self.begun_as.push((id, job.qos));
        }
    }

    /// A job as it was when its turn began, which is over.
    fn take_turn(&mut self, id: JobId, job: &Job<P::Spot>) -> Job<P::Spot> {
        match self.begun_as.iter().position(|(of, _)| *of == id) {
            Some(at) => Job { qos: self.begun_as.swap_remove(at).1, ..*job },
            None => *job,
        }
    }

    /// A job ends, and with it the turn that it may have.
    #[inline(never)]
    fn end_elsewhere(&mut self, id: JobId, job: &Job<P::Spot>) {
        if job.op != Op::Flush {
            let begun = self.take_turn(id, job);
            if let Some(turns) = &mut self.queue.turns
                && job.state == JobState::Serving
            {
                turns.end_turn(begun.qos.class);
            }
            if self.queue.follows {
                self.queue.end(&self.rules, &begun);
            }
        }
        self.discount_demand(job);
    }

    /// A job that had its turn waits again.
    pub(crate) fn leave_turn(&mut self, id: JobId, job: &Job<P::Spot>) {
        let begun = self.take_turn(id, job);
        if let Some(turns) = &mut self.queue.turns {
            turns.end_turn(begun.qos.class);
        }
        if self.queue.follows && begun.qos != job.qos {
            self.queue.end(&self.rules, &begun);
        }
    }

    /// Ends a job, off the hot path.
    #[inline(never)]
    pub(crate) fn end(&mut self, id: JobId, ending: Ending, out: &mut Vec<Action>) {
        self.end_inline(id, ending, out);
    }

    /// Ends a job. Those held because of it are released before the world is told, which may then use its request anew.
    #[inline(always)]
    pub(crate) fn end_inline(&mut self, id: JobId, ending: Ending, out: &mut Vec<Action>) {
        let Some(job) = self.jobs.get(id) else { return };
        let (request, held) = (job.request, job.first_held);
        if job.state == JobState::Wanted {
            self.jobs.free(id);
            return out.push(Action::Finish(request, ending));
        }
        self.overlap.remove(job);
        if self.queue.follows || self.queue.turns.is_some() || self.demands.is_some() {
            let job = *job;
            self.end_elsewhere(id, &job);
        }
        self.jobs.free(id);
        if held.is_some() {
            self.release(held, out);
        }
        out.push(Action::Finish(request, ending));
    }

    /// The jobs that were held because of one that has ended are queued, or held because of another.
    #[inline(never)]
    pub(crate) fn release(&mut self, mut held: Option<JobId>, out: &mut Vec<Action>) {
        while let Some(id) = held {
            let Some(waiting) = self.jobs.get(id).copied() else { break };
            held = waiting.next_held;
            self.queue_or_hold(id, &waiting, out);
        }
    }

    /// The command of a tag came back; nothing if there was none. Whatever learns from it has learned.
    #[inline(always)]
    pub(crate) fn land(&mut self, tag: Tag, happened: Time, outcome: Outcome) -> Option<(Errand, Command)> {
        let slot = self.flying.get_mut(tag.0 as usize)?;
        // Not taken, which would move what is left behind, too.
        let (errand, command) = (*slot)?;
        *slot = None;
        self.in_flight -= 1;
        if let Some(paying) = self.paying.get_mut(tag.0 as usize) {
            let paying = paying.take();
            self.pay(paying, &command, happened);
        }
        if matches!(command.verb, Verb::Discard(_)) {
            return Some((errand, command));
        }
        if let Some(admission) = &mut self.admission {
            admission.learn(&mut self.belief, happened, tag, &command);
        }
        if self.in_line && self.in_flight > 0 {
            self.belief.note_followed(happened, &command, outcome);
        } else {
            self.belief.note_completion(happened, &command, outcome);
        }
        if let Some(backlog) = &mut self.backlog {
            backlog.land(&self.belief, happened, &command);
        }
        if self.in_flight > 0
            && let Some(admission) = &mut self.admission
        {
            let inside = (0..).zip(&self.flying).filter_map(|(tag, flying)| Some((Tag(tag), (*flying)?.1)));
            let inside = inside.filter(|(_, command)| !matches!(command.verb, Verb::Discard(_)));
            admission.guess_next(&mut self.belief, happened, inside);
        }
        Some((errand, command))
    }

    /// The same of a plain core: what the command was for, and what it did, without a copy of it.
    #[inline(always)]
    pub(crate) fn land_plain(&mut self, tag: Tag, happened: Time, outcome: Outcome) -> Option<(Errand, Verb, Extent)> {
        let slot = self.flying.get_mut(tag.0 as usize)?;
        let (errand, command) = slot.as_ref()?;
        if !matches!(command.verb, Verb::Discard(_)) {
            self.belief.note_completion(happened, command, outcome);
        }
        let landed = (*errand, command.verb, command.at);
        *slot = None;
        self.in_flight -= 1;
        Some(landed)
    }

    /// Whether a read that comes to a plain core is the next to be served: nothing waits, and the device has room.
    #[inline(always)]
    pub(crate) fn is_next(&mut self, job: &Job<P::Spot>) -> bool {
        let has_room = self.in_flight < u32::from(self.caps.depth) && self.flushes.is_empty();
        let is_free = job.op == Op::Read && job.qos.deadline.is_none() && !self.overlap.watches(Op::Read);
        has_room && is_free && self.deadlines.is_empty() && self.queue.passes(job, &self.belief)
    }

    /// Gives the device a job that is next, without a stop in the queue.
    #[inline(always)]
    pub(crate) fn serve_at_once(&mut self, now: Time, job: Job<P::Spot>, out: &mut impl ActionSink) {
        let id = self.jobs.insert(job);
        self.decisions += 1;
        self.issue_whole::<true>(now, id, out);
    }

    /// Gives the device a request whole, as the caller guarantees there is room for.
    #[inline(always)]
    pub(crate) fn issue_whole<const PLAIN: bool>(&mut self, now: Time, id: JobId, out: &mut impl ActionSink) {
        let Some(job) = self.jobs.get_mut(id) else {
            debug_assert!(false, "a policy gave a job it did not hold");
            return;
        };
        job.state = JobState::Serving;
        // What of it was written by halves is written again where one command serves it, since one command can be forced to the
        // medium whole.
        if job.done > 0 && job.op == (Op::Write { fua: true }) {
            job.done = 0;
            job.spot = self.belief.spot(job.at);
        }
        let verb = match job.op {
            Op::Read | Op::Repair => Verb::Read,
            Op::Write { fua } => Verb::Write { fua },
            Op::Move => Verb::Write { fua: false },
            Op::Discard(what) => Verb::Discard(what),
            Op::Flush => Verb::Flush,
        };
        let (spot, place) = (job.spot, Place::Request(job.request, job.done));
        let mark = if PLAIN { Mark::Plain } else { self.rules.class(job.qos.class).mark };
        let command = Command { verb, at: job.rest(), place, mark };
        self.launch::<PLAIN>(now, Errand::Job(id), command, spot, out);
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
        let job = if let Errand::Job(id) = errand { self.jobs.get(id) } else { None };
        let known = job.filter(|job| job.done == 0).map(|job| job.spot);
        let mark = job.map_or(Mark::Plain, |job| self.rules.class(job.qos.class).mark);
        let spot = known.unwrap_or_else(|| self.belief.spot(at));
        let command = Command { verb, at, place, mark };
        if let Some(backlog) = &mut self.backlog {
            backlog.issue(&self.belief, now, &command, &spot);
        }
        self.launch::<false>(now, errand, command, spot, out);
    }

    /// Puts a command in flight under the first free tag.
    #[inline(always)]
    fn launch<const PLAIN: bool>(
        &mut self,
        now: Time,
        errand: Errand,
        command: Command,
        spot: P::Spot,
        out: &mut impl ActionSink,
    ) {
        let Some(tag) = self.flying.iter().position(Option::is_none) else { return };
        let told = command;
        // What is believed of a device is of what it does.
        let command = if PLAIN { told } else { self.caps.seek.as_done(told) };
        if !PLAIN && (self.rules.bills || self.rules.divides) {
            out.gather(|out| self.tell_bill(now, errand, tag, &command, spot, out));
        }
        self.flying[tag] = Some((errand, command));
        self.in_flight += 1;
        let tag = Tag(tag as u32);
        match self.admission.as_mut().filter(|_| !PLAIN) {
            // No arm moves for it, and no transfer tells how long it takes.
            _ if matches!(command.verb, Verb::Discard(_)) => {}
            None if !PLAIN && self.in_line && self.in_flight > 1 => self.belief.note_follower(now, &command, spot),
            None => self.belief.note_issue(now, &command, spot),
            Some(admission) => {
                let job = if let Errand::Job(id) = errand { self.jobs.get(id) } else { None };
                let rank = job.map_or(0, |job| queue::rank(&self.rules, job));
                admission.issue(&mut self.belief, now, tag, rank, &command, spot);
            }
        }
        out.push(Action::Issue(DiskId(0), tag, told));
    }
}
