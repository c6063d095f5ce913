//! The core: inputs in, actions out.
//!
//! The hot path of a request served whole is `submit`, `dispatch` and `finish_command`, once each. They and what they call are
//! inlined into the one loop of [`crate::play`], since a call costs as much as most of them do; what is rarely so (requests held,
//! requests that fail, parts that measure time) stands in functions of its own.
//!
//! **What is off costs nothing.** A core is `PLAIN` where none of the parts is there that only some cores have: that is settled
//! when the core is built, and the hot path is made once more for such cores, without a test for each of those parts.
//!
//! **A command is tried again by the core.** What failed stays where it was and is issued once more, as often as its
//! class allows, so that a log has it and simulation would do the same. A flush is not: what a failed one has lost a
//! second one does not bring back, nor tell of. The world counts commands that were to reach the medium and did not,
//! whoever's; the front lets no flush end well that was asked before such a failure and ended after it, and none at
//! all until the volume is told to go on.

mod further;
mod member;
mod plain;

pub(crate) use self::member::Stopped;

use crate::admission::{Admission, Limits};
use crate::arbiter::{self, Arbiter};
use crate::board::{Board, Errand};
use crate::event::{Action, ActionSink, Input};
use crate::free::{Free, FreePlan};
use crate::idle::Probing;
use crate::job::JobState;
use crate::overlap::Overlap;
use crate::plan::{Prefetch, Rules};
use crate::predict::Predictor;
use crate::queue::{self, Maker, Queue};
use crate::short::ShortCommands;
use crate::tally::{Pulse, Tally};
use crate::wanted::Wanted;
use crate::{Claim, Job, JobId};
use block::errno::{ECANCELED, EINVAL};
use block::{Caps, Change, Command, Ending, Op, Outcome, Request, RequestId, Span, Tag, Time, Verb};

/// Serving in short commands, and who interrupts whom meanwhile.
struct Preemptible<P: Predictor> {
    short: ShortCommands,
    arbiter: Box<dyn Arbiter<P>>,
}

/// The scheduling core of one disk: the board, and the parts that work on it.
pub struct Core<P: Predictor> {
    board: Board<P>,
    preemptible: Option<Box<Preemptible<P>>>,
    probing: Probing,
    /// Requests it keeps at most.
    limit: u32,
    /// Whether time that passes is nothing to it: requests are served whole, nothing interrupts, and no policy lets the device idle.
    timeless: bool,
    /// Whether none of the parts is there that only some cores have.
    plain: bool,
    /// Whether commands may go on by themselves, and whether the one in flight does: see `further`.
    steady: bool,
    further: bool,
    sequence: u64,
    /// By how much what comes counts of what its class says that it is worth.
    part: f32,
}

impl<P: Predictor + 'static> Core<P> {
    /// A core for a device of these capabilities that keeps at most `limit` requests; `make` makes the policy by which
    /// requests of one rank are ordered. In short commands requests are served one at a time.
    #[must_use]
    pub fn new(caps: Caps, limit: u32, belief: P, rules: Rules, make: Maker<P>) -> Core<P> {
        // Who waits for what is read ahead is found by place.
        let prefetches = rules.plan.is_some_and(|plan| plan.prefetch != Prefetch::Never);
        let overlap = if prefetches { Overlap::watching() } else { Overlap::new() };
        let preemptible =
            |plan| Box::new(Preemptible { short: ShortCommands::new(plan), arbiter: arbiter::make(&rules) });
        let core = Core {
            preemptible: rules.plan.map(preemptible),
            timeless: rules.plan.is_none()
                && rules.shares.is_none()
                && rules.budget.is_none()
                && !rules.weighs_schedules(),
            board: Board::new(caps, belief, rules.clone(), Queue::new(make, &rules), overlap),
            probing: Probing::default(),
            limit,
            plain: false,
            steady: false,
            further: false,
            sequence: 0,
            part: 1.0,
        };
        core.settle()
    }
}

impl<P: Predictor> Core<P> {
    /// The same core, with the requests of a class ordered by a policy of their own. It has been given no request yet.
    #[must_use]
    pub fn ordering(mut self, class: u8, make: Maker<P>) -> Core<P> {
        self.board.queue.order(class, make);
        self.settle()
    }

    /// The same core, which gives its device no more than these limits allow. It has been given no request yet.
    #[must_use]
    pub fn admitting(mut self, limits: Limits) -> Core<P> {
        self.board.admission = Some(Box::new(Admission::new(limits, self.board.caps.depth)));
        self.settle()
    }

    /// The same core, which reads what is wanted in any order where that costs its requests nothing. It has been given no request
    /// yet.
    #[must_use]
    pub fn wanting(mut self, plan: FreePlan) -> Core<P> {
        self.board.free = Some(Box::new(Free::new(plan)));
        self.board.note_wanted();
        if self.board.rules.classes.iter().any(|class| class.any_order) {
            // Who waits for no one is not to be found among those that were there before the first write.
            self.board.overlap = Overlap::watching();
        }
        self.timeless = false;
        if self.preemptible.is_none() {
            self.board.line_up();
        }
        self.settle()
    }

    /// The same core, of which it is settled whether it is timeless, and plain.
    fn settle(self) -> Core<P> {
        // A policy that is told of each job that ends may hold back what waits for a while.
        let timeless = self.timeless && !self.board.queue.follows;
        let plain = timeless && self.preemptible.is_none() && self.board.is_plain();
        Core { timeless, plain, steady: self.is_steady(), ..self }
    }

    /// What is still wanted in any order.
    #[must_use]
    pub fn wanted_blocks(&self) -> Option<&Wanted> {
        self.board.free.as_ref().map(|free| free.wanted_blocks())
    }

    /// Takes an input and appends what follows from it. `now` never goes back.
    #[inline(always)]
    pub fn handle(&mut self, now: Time, input: Input, out: &mut Vec<Action>) {
        if !self.timeless {
            self.pass(now, &input);
        }
        match input {
            Input::Done(_, tag, happened, outcome) => self.finish_command(tag, happened, outcome, out),
            Input::Submit(request) => self.submit::<false>(now, &request, None, out),
            Input::Amend(request, change) => self.amend(request, change, out),
            // A disk that fails says so by each command.
            Input::Wake => self.board.queue.turns.iter_mut().for_each(|turns| turns.end_wait()),
            Input::Disk(..) | Input::Compared(..) | Input::Log(_) => {}
            Input::Claim(class, claim) => self.set_claim(class, claim),
        }
        if self.board.next_deadline().is_some() {
            self.board.drop_expired(now, out);
        }
        if self.preemptible.is_none() || !self.serve(now, out) {
            self.dispatch::<false>(now, out);
        }
        if self.board.free.is_some() {
            self.board.read_in_idle_time(now, out);
        }
        self.probe_idle(now, out);
    }

    /// Whether none of the parts is there that only some cores have.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.plain
    }

    /// The same as `handle`, where it is plain.
    #[inline(always)]
    pub(crate) fn handle_plain(&mut self, now: Time, input: Input, out: &mut impl ActionSink) {
        match input {
            Input::Done(_, tag, happened, outcome) => self.finish_plain(tag, happened, outcome, out),
            Input::Submit(request) => self.submit::<true>(now, &request, None, out),
            other => return out.gather(|out| self.handle(now, other, out)),
        }
        self.go_on_plain(now, out);
    }

    /// The same of a request whose place is found already.
    #[inline(always)]
    pub(crate) fn submit_plain(&mut self, now: Time, request: &Request, spot: P::Spot, out: &mut impl ActionSink) {
        self.submit::<true>(now, request, Some(spot), out);
        self.go_on_plain(now, out);
    }

    /// Does what follows from whatever happened, where it is plain.
    #[inline(always)]
    fn go_on_plain(&mut self, now: Time, out: &mut impl ActionSink) {
        if self.board.next_deadline().is_some() {
            out.gather(|out| self.board.drop_expired(now, out));
        }
        self.dispatch::<true>(now, out);
        self.probe_idle(now, out);
    }

    /// Has the device read something to learn from, where nobody else needs it and there is anything to learn.
    #[inline(always)]
    fn probe_idle(&mut self, now: Time, out: &mut impl ActionSink) {
        if let Some(patience) = self.board.belief.patience() {
            out.gather(|out| self.probing.probe(&mut self.board, now, patience, out));
        }
    }

    /// Lets time pass until now in the parts that measure it.
    #[inline(never)]
    fn pass(&mut self, now: Time, input: &Input) {
        self.board.queue.now = now;
        if let Some(preemptible) = &mut self.preemptible {
            match *input {
                Input::Done(_, _, happened, _) => preemptible.short.tardiness.add(now.since(happened)),
                Input::Wake => preemptible.short.note_wake(now),
                _ => {}
            }
            let rested = preemptible.short.pass(now);
            self.board.bill_rest(rested);
        }
        if self.board.rules.budget.is_some() {
            self.board.leisure.pass(now, self.board.jobs.is_empty());
        }
        if let Some(turns) = &mut self.board.queue.turns {
            turns.pass(now);
        }
        if let Some(demands) = &mut self.board.demands {
            demands.pass(now);
        }
    }

    /// When it wants to be woken, if nothing else happens before.
    #[must_use]
    #[inline]
    pub fn wake_at(&self) -> Option<Time> {
        if self.timeless && self.board.next_deadline().is_none() && self.probing.wake().is_none() {
            return None;
        }
        let deadline = self.board.next_deadline().unwrap_or(Time::NEVER);
        let seek = self.short().and_then(|short| short.wake).unwrap_or(Time::NEVER);
        let probe = self.probing.wake().filter(|_| self.board.is_idle()).unwrap_or(Time::NEVER);
        let rare = if self.board.is_shared() { self.board.wake_of_shared() } else { Time::NEVER };
        let held = if self.board.queue.follows && self.board.is_idle() { self.board.queue.wake() } else { None };
        let due = deadline.min(seek).min(probe).min(rare).min(held.unwrap_or(Time::NEVER));
        Some(due).filter(|wake| *wake < Time::NEVER)
    }

    fn short(&self) -> Option<&ShortCommands> {
        self.preemptible.as_ref().map(|preemptible| &preemptible.short)
    }

    /// From now on things count for the tally.
    pub fn count_from(&mut self, from: Time) {
        self.board.queue.turns.iter_mut().for_each(|turns| turns.count_from(from));
        if let Some(preemptible) = &mut self.preemptible {
            preemptible.short.from = from;
        }
    }

    /// What serving in short commands came to; nothing where requests are served whole.
    #[must_use]
    pub fn tally(&self) -> Option<&Tally> {
        self.short().map(|short| &short.tally)
    }

    /// When the arm is believed to be there for the command issued just now, where its seek was timed.
    #[must_use]
    pub fn arrival(&self) -> Option<Time> {
        self.short()?.arrival
    }

    /// How much waits and how well times were predicted.
    #[must_use]
    pub fn pulse(&self) -> Pulse {
        let pulse = Pulse { waiting: self.board.jobs.len(), grasp: self.board.belief.grasp(), ..Pulse::default() };
        let Some(short) = self.short() else { return pulse };
        let Tally { preemptions, jit_seeks, late, .. } = short.tally;
        let (gave_up, host_late) = (!short.punctuality.holds(), short.tardiness.usual());
        Pulse { preemptions, jit_seeks, late, gave_up, host_late, ..pulse }
    }

    /// From now on a class may have this of the arm's time, where that is shared out.
    #[inline(never)]
    fn set_claim(&mut self, class: u8, claim: Claim) {
        if let Some(turns) = &mut self.board.queue.turns {
            turns.set_claim(class, claim);
        }
    }

    /// How often a floor that was owed went before a higher rank.
    #[must_use]
    pub fn floors(&self) -> u64 {
        self.board.queue.turns.as_ref().map_or(0, |turns| turns.outbids)
    }

    /// By class: how long it kept the device without a command until its seek was due; nothing where the arm is not shared out.
    #[must_use]
    pub fn time_kept(&self) -> &[Span] {
        self.board.queue.turns.as_ref().map_or(&[], |turns| &turns.kept)
    }

    /// How many more requests it takes.
    #[must_use]
    #[inline]
    pub fn room(&self) -> u32 {
        self.limit - self.board.jobs.len()
    }

    /// What it believes of the device.
    #[must_use]
    pub fn belief(&self) -> &P {
        &self.board.belief
    }

    /// Decisions taken and candidates examined for them: what scheduling costs.
    #[must_use]
    pub fn effort(&self) -> (u64, u64) {
        self.board.effort()
    }

    /// Blocks that the device has.
    pub(crate) fn blocks(&self) -> u64 {
        self.board.caps.blocks
    }

    #[inline(always)]
    fn submit<const PLAIN: bool>(
        &mut self,
        now: Time,
        request: &Request,
        found: Option<P::Spot>,
        out: &mut impl ActionSink,
    ) {
        debug_assert!(self.room() > 0, "a request was submitted without room");
        let board = &mut self.board;
        let flush = request.op == Op::Flush;
        let sane = flush || (request.at.blocks > 0 && request.at.end().0 <= board.caps.blocks);
        if !sane || matches!(request.op, Op::Repair | Op::Move) {
            return out.gather(|out| out.push(Action::Finish(request.id, Ending::Failed(EINVAL))));
        }
        self.sequence += 1;
        let spot = found.unwrap_or_else(|| board.belief.spot(request.at));
        let mut job = Job::new(request, now, self.sequence, spot);
        job.part = self.part;
        if PLAIN && board.is_next(&job) {
            return board.serve_at_once(now, job, out);
        }
        if !PLAIN {
            if let Some(preemptible) = &mut self.preemptible
                && !flush
            {
                if out.gather(|out| preemptible.short.serve_from_frames(board, now, &mut job, out)) {
                    out.push(Action::Finish(request.id, Ending::Finished));
                    return;
                }
                if job.done > 0 {
                    job.spot = board.belief.spot(job.rest());
                }
            }
            if let Some(admission) = &mut board.admission {
                admission.note_arrival(now, queue::rank(&board.rules, &job));
            }
        }
        let id = board.jobs.insert(job);
        if request.qos.deadline.is_some() {
            board.await_deadline(id);
        }
        if flush {
            board.flushes.push_back(id);
        } else {
            board.keep::<PLAIN>(id, out);
        }
    }

    #[inline(always)]
    fn finish_command(&mut self, tag: Tag, happened: Time, outcome: Outcome, out: &mut Vec<Action>) {
        let Some((errand, command)) = self.board.land(tag, happened, outcome) else {
            debug_assert!(false, "{tag:?} was not in flight");
            return;
        };
        let Errand::Job(id) = errand else {
            return self.finish_errand((errand, &command), happened, outcome, out);
        };
        match outcome {
            Outcome::Ok if self.progress(id, &command, happened) => self.board.end_inline(id, Ending::Finished, out),
            Outcome::Ok => {}
            Outcome::Failed(errno) => self.fail(id, command.verb, errno, out),
        }
    }

    /// A command of a request failed: it is tried again, or the request fails.
    #[inline(never)]
    fn fail(&mut self, id: JobId, verb: Verb, errno: i32, out: &mut Vec<Action>) {
        if self.tries_again(id, verb) {
            return;
        }
        if let Some(preemptible) = &mut self.preemptible {
            preemptible.short.forget(id);
        }
        self.board.end(id, Ending::Failed(errno), out);
    }

    /// A command came back that was not for a request.
    #[inline(never)]
    fn finish_errand(
        &mut self,
        (errand, command): (Errand, &Command),
        happened: Time,
        outcome: Outcome,
        out: &mut Vec<Action>,
    ) {
        if errand == Errand::Free {
            self.board.land_free(happened, command, outcome, out);
        } else if let Some(preemptible) = &mut self.preemptible {
            let Preemptible { short, arbiter } = &mut **preemptible;
            short.take_frame(&mut self.board, &mut **arbiter, (errand, command), outcome, happened, out);
        }
    }

    /// A command of a request came back well: so much more of it is done. Says whether that is all of it.
    #[inline(always)]
    fn progress(&mut self, id: JobId, command: &Command, now: Time) -> bool {
        let Some(job) = self.board.jobs.get_mut(id) else { return true };
        if job.op == Op::Flush {
            return true;
        }
        job.done += command.at.blocks;
        job.failed = 0;
        let sound = job.op != Op::Write { fua: true } || command.at == job.at || command.verb == Verb::Flush;
        let all = job.done == job.at.blocks && sound;
        let behind = self.board.in_flight();
        if let Some(free) = &mut self.board.free {
            free.note_done(now, self.board.belief.turn(), behind);
        }
        // Most are neither the first of their request nor the last.
        if let Some(preemptible) = &mut self.preemptible
            && (all || preemptible.short.expected.is_some())
        {
            preemptible.short.note_done(&self.board, &mut *preemptible.arbiter, id, all, now);
        }
        all
    }

    /// A command of a request failed: whether it is given to the device again. What a flush that failed has lost, a second one
    /// does not bring back.
    fn tries_again(&mut self, id: JobId, verb: Verb) -> bool {
        let board = &mut self.board;
        let Some(job) = board.jobs.get_mut(id).filter(|_| verb != Verb::Flush) else { return false };
        if job.failed >= board.rules.class(job.qos.class).retries {
            return false;
        }
        job.failed += 1;
        if self.preemptible.as_mut().is_some_and(|preemptible| preemptible.short.tries_again(id)) {
            return true;
        }
        job.state = JobState::Queued;
        let job = *job;
        board.await_deadline(id);
        board.enqueue(id, &job);
        board.leave_turn(id, &job);
        true
    }

    #[inline(never)]
    fn amend(&mut self, request: RequestId, change: Change, out: &mut Vec<Action>) {
        let board = &mut self.board;
        let found = board.jobs.find(request).and_then(|id| Some((id, *board.jobs.get(id)?)));
        let Some((id, job)) = found else { return };
        match change {
            Change::Cancel if job.state != JobState::Serving => {
                board.withdraw(id, &job);
                board.end(id, Ending::Failed(ECANCELED), out);
            }
            Change::Cancel => {
                if let Some(free) = &mut board.free {
                    free.requests.cancel(id);
                }
            }
            Change::Qos(qos) => {
                board.alter(id, |job| job.qos = qos);
                board.discount_demand(&job);
                if job.op != Op::Flush {
                    board.count_demand(&Job { qos, ..job });
                }
                board.await_deadline(id);
                board.hand_on_urgency(id);
            }
        }
    }

    /// Serves in short commands, unless the device is to be given as much as it takes: says which.
    #[inline(never)]
    fn serve(&mut self, now: Time, out: &mut Vec<Action>) -> bool {
        let Some(preemptible) = &mut self.preemptible else { return false };
        let Preemptible { short, arbiter } = &mut **preemptible;
        let (idle, top) = (self.board.is_idle(), self.board.queue.top());
        let admission = self.board.admission.as_mut();
        if admission.is_some_and(|admission| admission.goes_deep(now, idle, short.is_between(), top)) {
            // Nobody is interrupted, so nobody asks who has come.
            self.board.newcomers.clear();
            self.further = false;
            return false;
        }
        short.serve(&mut self.board, &mut **arbiter, now, out);
        self.settle_further();
        true
    }

    /// Gives the device what it has room for, each request whole.
    #[inline(always)]
    fn dispatch<const PLAIN: bool>(&mut self, now: Time, out: &mut impl ActionSink) {
        let beside = !PLAIN && self.board.free.is_some();
        if beside && self.board.in_line {
            return out.gather(|out| self.board.serve_in_line(now, out));
        }
        if beside && out.gather(|out| self.go_on_beside(now, out)) {
            return;
        }
        let board = &mut self.board;
        while board.in_flight() < u32::from(board.caps.depth) {
            let mut free = now;
            if !PLAIN && let Some(admission) = &board.admission {
                let rank = if board.flushes.is_empty() { board.queue.top() } else { Some(u8::MAX) };
                if !rank.is_some_and(|rank| admission.admits(now, rank, board.in_flight())) {
                    return;
                }
                free = admission.arm_free(&board.belief, now);
            }
            // Not a closure, which would not be inlined.
            let next = if board.flushes.is_empty() { board.take::<PLAIN>(free) } else { board.flushes.pop_front() };
            let Some(id) = next else {
                if !PLAIN {
                    out.gather(|out| board.serve_other_turn(now, out));
                }
                return;
            };
            if beside && out.gather(|out| board.put_off(now, id, out)) {
                return;
            }
            board.issue_whole::<PLAIN>(now, id, out);
        }
    }

    /// Of a request whose turn has come and before which something else was read: more of that, or the request. Says whether
    /// the device is taken by it.
    #[inline(never)]
    fn go_on_beside(&mut self, now: Time, out: &mut Vec<Action>) -> bool {
        let board = &mut self.board;
        let Some(id) = board.free.as_ref().and_then(|free| free.held) else { return false };
        if board.is_idle() && !board.read_before(now, now, id, out) {
            board.give_held(now, now, id, out);
        }
        true
    }
}
