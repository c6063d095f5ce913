//! Serving one request at a time in short commands: slack, sub-seeks, chunks, and who steps in between.
//!
//! A request chosen is first *awaited*: its seek is put off so that the head arrives just before the first block comes
//! round. In that slack the one it interrupted goes on, or the drive reads on after the last read, as long as that
//! ends before the seek is due. Then the arm goes, in parts if it has far to go, and the blocks come chunk by chunk.

mod ahead;
mod hold;
mod writes;

use crate::arbiter::{Arbiter, Arbitration, Ongoing};
use crate::board::{Board, Errand};
use crate::event::{Action, Wait};
use crate::frames::Frames;
use crate::job::JobState;
use crate::plan::{LastFua, Plan, PreemptAt, Preemption, Short, Split};
use crate::predict::Predictor;
use crate::punctual::{Arrival, Punctuality};
use crate::tally::Tally;
use crate::tardy::Tardiness;
use crate::{Job, JobId};
use block::{Extent, Lbn, Op, Place, SeekBy, Span, Time, Verb};

/// What is read of an interrupted request to fill the slack has at least so many blocks.
const LEAST_FILLER: u32 = 8;

/// How far the request being served has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ShortStage {
    /// The job was chosen and nothing is issued yet.
    Chosen,
    /// Its seek is awaited.
    Awaited(Due),
    /// So many parts of its seek are done.
    Splitting { done: u32, due: Due },
    /// The arm is there or on its way, and its blocks come.
    Moving,
}

/// A seek that is planned for a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Due {
    /// When it is to begin.
    seek: Time,
    /// When the first block is believed to be under the head; nothing where that is not known.
    hit: Option<Time>,
    /// In how many parts.
    parts: u32,
    /// When the arm is believed to be there, if it leaves then.
    arrives: Time,
    /// Whether the head has moved on since `seek` was worked out.
    moved: bool,
}

#[derive(Clone, Copy, Debug)]
struct Target {
    id: JobId,
    stage: ShortStage,
    /// How many requests it interrupted, one the other.
    depth: u32,
}

/// What can be done until a seek is due.
#[derive(Clone, Copy, Debug)]
enum Filler {
    /// The interrupted request, where the head is.
    Job(JobId),
    /// Reading on from here, so many chunks more.
    Ahead(Lbn, u32),
}

/// Serving one request at a time in short commands: a state machine between the queue and the device.
pub(crate) struct ShortCommands {
    plan: Plan,
    target: Option<Target>,
    filler: Option<Filler>,
    /// How many requests, one interrupting the other, the next one chosen interrupts.
    interrupted: u32,
    /// The one that interrupted, and is the next.
    successor: Option<JobId>,
    /// The one that was interrupted on its way or in its transfer, until it is known by whom.
    cut: Option<JobId>,
    /// The one that was given back to the queue last.
    pub(crate) interrupted_job: Option<JobId>,
    /// Of a first command after a timed seek: when it was believed to come back.
    pub(crate) expected: Option<Time>,
    /// Of one just issued: when the arm was believed to be there.
    pub(crate) arrival: Option<Time>,
    pub(crate) punctuality: Punctuality,
    pub(crate) tardiness: Tardiness,
    /// Since when a seek has been awaited with no command in flight.
    resting: Option<Time>,
    /// When the seek awaited is due.
    pub(crate) wake: Option<Time>,
    pub(crate) frames: Frames,
    /// Kept for its memory: requests near what was just read ahead, by the order in which they came.
    near: Vec<(u64, JobId)>,
    /// The class of the read after which the device is to read on.
    reads_for: u8,
    /// By class, where its last read ended.
    reads: Vec<Lbn>,
    /// By class, where its last write ended.
    writes: Vec<Lbn>,
    pub(crate) tally: Tally,
    /// From when on things count.
    pub(crate) from: Time,
}

impl ShortCommands {
    pub(crate) fn new(plan: Plan) -> ShortCommands {
        ShortCommands {
            plan,
            target: None,
            filler: None,
            interrupted: 0,
            successor: None,
            cut: None,
            interrupted_job: None,
            expected: None,
            arrival: None,
            punctuality: Punctuality::default(),
            tardiness: Tardiness::default(),
            resting: None,
            wake: None,
            frames: Frames::default(),
            near: Vec::new(),
            reads_for: 0,
            reads: vec![Lbn(u64::MAX); 256],
            writes: vec![Lbn(u64::MAX); 256],
            tally: Tally::default(),
            from: Time::ZERO,
        }
    }

    /// Lets time pass until now. Says who has kept the device without a command until then, and for how long.
    pub(crate) fn pass(&mut self, now: Time) -> Option<(JobId, Span)> {
        self.arrival = None;
        let since = self.resting.take()?;
        self.tally.slack += now.since(since.max(self.from));
        self.target.map(|target| (target.id, now.since(since)))
    }

    /// It was woken; where a seek was due, as late as that.
    pub(crate) fn note_wake(&mut self, now: Time) {
        if let Some(due) = self.wake.filter(|due| *due <= now) {
            self.tardiness.add(now.since(due));
        }
    }

    /// The job whose blocks come.
    pub(crate) fn moving(&self) -> Option<JobId> {
        self.target.filter(|target| target.stage == ShortStage::Moving).map(|target| target.id)
    }

    /// Whether a job is the one chosen, of which nothing is commanded yet in its turn.
    fn awaits(&self, id: JobId) -> bool {
        let awaited =
            |target: Target| matches!(target.stage, ShortStage::Chosen | ShortStage::Awaited(_)) && target.id == id;
        self.target.is_some_and(awaited)
    }

    fn count(&mut self, now: Time, add: impl FnOnce(&mut Tally)) {
        if now >= self.from {
            add(&mut self.tally);
        }
    }

    fn stage(&mut self, stage: ShortStage) {
        if let Some(target) = &mut self.target {
            target.stage = stage;
        }
    }
}

impl ShortCommands {
    /// Gives the idle device its next command, or leaves it be until a seek is due.
    pub(crate) fn serve<P: Predictor>(
        &mut self,
        board: &mut Board<P>,
        arbiter: &mut dyn Arbiter<P>,
        now: Time,
        out: &mut Vec<Action>,
    ) {
        self.wake = None;
        while board.is_idle() && self.step(board, arbiter, now, out) {}
    }

    /// One step towards the next command; false if there is none to give now.
    fn step<P: Predictor>(
        &mut self,
        board: &mut Board<P>,
        arbiter: &mut dyn Arbiter<P>,
        now: Time,
        out: &mut Vec<Action>,
    ) -> bool {
        self.interrupt(board, arbiter, now, out);
        if self.target.is_none_or(|target| target.stage == ShortStage::Chosen)
            && let Some(flush) = board.flushes.pop_front()
        {
            if let Some(job) = board.jobs.get_mut(flush) {
                job.state = JobState::Serving;
                let (at, place) = (job.at, Place::Request(job.request, 0));
                board.send(now, Errand::Job(flush), Verb::Flush, at, place, out);
            }
            return true;
        }
        let Some(target) = self.target else { return self.choose(board, arbiter, now, out) };
        let Some(job) = board.jobs.get(target.id).copied() else {
            debug_assert!(false, "{target:?} is gone");
            self.target = None;
            return true;
        };
        if let Some(until) = self.hold_until(board, now, &job) {
            self.wake = Some(until);
            return false;
        }
        match target.stage {
            ShortStage::Chosen => {
                self.punctuality.next();
                let due = self.plan_seek(board, now, &job, None);
                self.stage(ShortStage::Awaited(due));
            }
            ShortStage::Awaited(Due { hit: Some(hit), moved: true, .. }) => {
                let due = self.plan_seek(board, now, &job, Some(hit));
                self.stage(ShortStage::Awaited(due));
            }
            ShortStage::Awaited(due) if self.read_for_free(board, now, target.id, due, out) => {
                self.stage(ShortStage::Awaited(Due { moved: true, ..due }));
            }
            ShortStage::Awaited(due) if now < due.seek => {
                if self.fill(board, now, due.seek, out) {
                    self.stage(ShortStage::Awaited(Due { moved: true, ..due }));
                    return true;
                }
                if self.drop_filler(board) {
                    return true;
                }
                (self.resting, self.wake) = (Some(now), Some(due.seek));
                return false;
            }
            ShortStage::Awaited(due) => {
                if !self.drop_filler(board) {
                    self.approach(board, arbiter, now, &job, 0, due, out);
                }
            }
            ShortStage::Splitting { done, due } => self.approach(board, arbiter, now, &job, done, due, out),
            // All of it is written; what is asked for is that it is on the medium.
            ShortStage::Moving if job.rest().blocks == 0 => {
                let place = Place::Request(job.request, job.done);
                board.send(now, Errand::Job(target.id), Verb::Flush, Extent::default(), place, out);
            }
            ShortStage::Moving => self.send_chunk(board, now, target.id, &job, self.most(board, &job), out),
        }
        true
    }

    /// Where one that waits interrupts the request being served, that one no longer is.
    fn interrupt<P: Predictor>(
        &mut self,
        board: &mut Board<P>,
        arbiter: &mut dyn Arbiter<P>,
        now: Time,
        out: &mut Vec<Action>,
    ) {
        // Nobody is asked where nobody interrupts.
        if board.rules.preemption == Preemption::Never {
            return;
        }
        let Some(target) = self.target else { return };
        let Some(job) = board.jobs.get(target.id).copied() else { return };
        if job.rest().blocks == 0 || board.rules.budget.is_some_and(|budget| !board.leisure.allows(&budget)) {
            return;
        }
        if board.queue.turns.as_ref().is_some_and(|turns| turns.shields(job.qos.class)) {
            return;
        }
        let begun = !matches!(target.stage, ShortStage::Chosen | ShortStage::Awaited(_));
        let Arbitration::Interrupts(next) = arbiter.judge(board, now, &Ongoing { id: target.id, job, begun }) else {
            return;
        };
        self.successor = next;
        self.target = None;
        self.interrupted = target.depth + u32::from(begun);
        if board.rules.tells {
            let wait = if begun || job.done > 0 { Wait::Preempted } else { Wait::Queue };
            out.push(Action::Wait(job.request, wait));
        }
        if begun {
            arbiter.cease(board, now, target.id);
            self.cut = Some(target.id);
            self.count(now, |tally| {
                tally.preemptions += 1;
                tally.cascades += u64::from(target.depth > 0);
            });
        }
        let goes_on =
            board.rules.preempt_at == PreemptAt::Jit && target.stage == ShortStage::Moving && job.op == Op::Read;
        if goes_on {
            self.filler = Some(Filler::Job(target.id));
        } else {
            self.put_back(board, target.id);
        }
    }

    /// Takes the next request from the queue; false if none waits.
    fn choose<P: Predictor>(
        &mut self,
        board: &mut Board<P>,
        arbiter: &mut dyn Arbiter<P>,
        now: Time,
        out: &mut Vec<Action>,
    ) -> bool {
        // Who interrupted it may be gone by now: while a flush was under way, say.
        let successor = self.successor.take().and_then(|id| Some((id, *board.jobs.get(id)?)));
        let successor = successor.filter(|(_, job)| job.state == JobState::Queued);
        if let Some(Filler::Job(id)) = self.filler
            && successor.is_none()
            && !board.jobs.get(id).is_some_and(|job| board.queue.interrupts(&board.rules, job))
        {
            self.drop_filler(board);
        }
        let id = match successor {
            Some((id, job)) => {
                board.dequeue(id, &job);
                if let Some(turns) = &mut board.queue.turns {
                    turns.begin_turn(job.qos.class);
                }
                id
            }
            None => match board.take::<false>(now) {
                Some(id) => arbiter.choose(board, now, id),
                None => {
                    // Whatever it gives the device is all that there is to give.
                    board.serve_other_turn(now, out);
                    return false;
                }
            },
        };
        let Some(job) = board.jobs.get_mut(id) else { return false };
        job.state = JobState::Serving;
        let class = job.qos.class;
        out.push(Action::Begin(job.request));
        if let Some(cut) = self.cut.take().filter(|cut| *cut != id).and_then(|cut| board.jobs.get_mut(cut)) {
            cut.detour = Some(class);
        }
        let depth = std::mem::take(&mut self.interrupted);
        // Those that came before it was chosen have lost to it already.
        board.newcomers.clear();
        self.target = Some(Target { id, stage: ShortStage::Chosen, depth });
        true
    }

    /// Gives what is left of a request back to the queue, where its deadline holds again.
    fn put_back<P: Predictor>(&mut self, board: &mut Board<P>, id: JobId) {
        self.interrupted_job = Some(id);
        let Some(job) = board.jobs.get_mut(id) else { return };
        job.state = JobState::Queued;
        job.spot = board.belief.spot(job.rest());
        let job = *job;
        board.await_deadline(id);
        board.enqueue(id, &job);
        board.leave_turn(id, &job);
    }

    /// Nothing more fills the slack. Says whether a request waits again, which may be worth more by now.
    fn drop_filler<P: Predictor>(&mut self, board: &mut Board<P>) -> bool {
        let Some(Filler::Job(id)) = self.filler.take() else { return false };
        self.put_back(board, id);
        true
    }

    /// When the seek to a request is due (SYSTEM, Section 5): so that the head arrives `offset` before the first block
    /// comes round, at `hit` where that is settled.
    fn plan_seek<P: Predictor>(&self, board: &Board<P>, now: Time, job: &Job<P::Spot>, hit: Option<Time>) -> Due {
        let plan = &self.plan;
        let late = self.tardiness.usual();
        let offset = plan.offset.unwrap_or_else(|| board.belief.early() + late);
        let at_once = Due { seek: now, hit: None, parts: 1, arrives: now, moved: false };
        // The arm goes nowhere for what is only given up.
        if matches!(job.op, Op::Discard(_)) {
            return at_once;
        }
        let Some(way) = board.belief.approach(now, job.rest(), job.spot, job.op.direction()) else { return at_once };
        let long = f64::from(way.distance) > plan.split_beyond * f64::from(way.cylinders);
        // Slack and parts are for those that step in: where nobody will, what they cost is lost.
        let outbid = self.target.is_some_and(|target| target.depth > 0) && board.rules.preemption.weighs();
        let urgent = outbid || board.queue.is_urgent(&board.rules, job);
        let most = if long && board.caps.seek != SeekBy::Nothing && !urgent { plan.split_parts.max(1) } else { 1 };
        let extra = |parts: u32| {
            let each = board.belief.seek_time(way.distance / parts);
            // A part that is read ends when its block has passed, of which the last is one of the request's own.
            let read = if board.caps.seek == SeekBy::Read { board.belief.touch_time(job.spot) } else { Span::ZERO };
            let stops = u64::from(parts - 1);
            Span(each.0 * u64::from(parts)).less(board.belief.seek_time(way.distance)) + Span(read.0 * stops)
        };
        // What fills the slack leaves less of it for parts.
        let wait = hit.map_or(way.wait, |hit| hit.since(now + way.travel));
        let is_masked = |parts: &u32| wait >= offset + extra(*parts);
        let parts = match plan.split {
            Split::Never => 1,
            Split::Always => most,
            Split::Masked => (2..=most).rev().find(is_masked).unwrap_or(1),
        };
        let extra = extra(parts);
        if let Some(hit) = hit {
            let before = offset + way.travel + extra;
            let seek = Time(hit.0.saturating_sub(before.0));
            return Due { seek, hit: Some(hit), parts, arrives: seek + way.travel + extra, moved: false };
        }
        let at_once_if_urgent = self.filler.is_none() || late > Span::ZERO;
        if !plan.jit || !self.punctuality.holds() || (urgent && at_once_if_urgent) {
            return Due { parts, ..at_once };
        }
        let turn = way.turn.0.max(1);
        let wait = Span((way.wait.0 + extra.0.div_ceil(turn) * turn - extra.0) % turn);
        let wait = if wait < offset && plan.short == Short::NextRevolution && !urgent { wait + way.turn } else { wait };
        let hit = now + way.travel + extra + wait;
        let seek = now + wait.less(offset);
        Due { seek, hit: Some(hit), parts, arrives: seek + way.travel + extra, moved: false }
    }

    /// One more part of the seek, the last of them with the first chunk.
    #[expect(clippy::too_many_arguments, reason = "a seek, and all that it is made with")]
    fn approach<P: Predictor>(
        &mut self,
        board: &mut Board<P>,
        arbiter: &mut dyn Arbiter<P>,
        now: Time,
        job: &Job<P::Spot>,
        done: u32,
        due: Due,
        out: &mut Vec<Action>,
    ) {
        let Some(target) = self.target else { return };
        if done + 1 < due.parts
            && let Some(at) = board.belief.midway(now, job.spot, due.parts - done, board.caps.seek)
        {
            self.stage(ShortStage::Splitting { done: done + 1, due });
            self.count(now, |tally| tally.sub_seeks += 1);
            let place = Place::Request(job.request, job.done);
            board.send(now, Errand::Seek, Verb::Seek, Extent { start: at, blocks: 1 }, place, out);
            return;
        }
        self.stage(ShortStage::Moving);
        arbiter.begin(board, now, target.id);
        self.send_chunk(board, now, target.id, job, self.most(board, job), out);
        self.expected = due.hit.and_then(|_| board.belief.completion_time());
        self.arrival = due.hit.filter(|_| due.parts == 1).map(|_| due.arrives + now.since(due.seek));
        if due.hit.is_some() {
            self.count(now, |tally| tally.jit_seeks += 1);
        }
    }

    /// The next command of a request, of at most so many blocks.
    fn send_chunk<P: Predictor>(
        &self,
        board: &mut Board<P>,
        now: Time,
        id: JobId,
        job: &Job<P::Spot>,
        most: u32,
        out: &mut Vec<Action>,
    ) {
        let rest = job.rest();
        // What is given up takes no longer the more of it there is.
        let most = if matches!(job.op, Op::Discard(_)) { rest.blocks } else { most };
        let at = Extent { start: rest.start, blocks: rest.blocks.min(most) };
        let last = at.blocks == rest.blocks;
        let verb = match job.op {
            Op::Read | Op::Repair => Verb::Read,
            // Each of many commands on the medium would cost a revolution each: a flush at their end costs one, and forces the
            // last one too.
            Op::Write { fua: true } => Verb::Write { fua: at == job.at },
            Op::Write { fua: false } | Op::Move => Verb::Write { fua: last && self.plan.last_fua == LastFua::Always },
            Op::Discard(what) => Verb::Discard(what),
            Op::Flush => Verb::Flush,
        };
        board.send(now, Errand::Job(id), verb, at, Place::Request(job.request, job.done), out);
    }

    /// Uses the time until a seek is due; false if there is nothing to use it for.
    fn fill<P: Predictor>(&mut self, board: &mut Board<P>, now: Time, until: Time, out: &mut Vec<Action>) -> bool {
        let (plan, slack) = (self.plan, until.since(now));
        match self.filler {
            None => false,
            Some(Filler::Job(id)) => {
                let Some(job) = board.jobs.get(id).copied() else { return false };
                let rest = job.rest();
                let most = rest.blocks.min(self.chunk(board, &job));
                let takes = |blocks: u32| board.belief.follow_on(now, Extent { blocks, ..rest });
                let whole = takes(most);
                // The last one is as long as there is time for.
                let fitting = (u64::from(most) * slack.0 / whole.0.max(1)).min(u64::from(most)) as u32;
                let blocks = if whole <= slack { most } else { fitting.saturating_sub(fitting / 16 + 1) };
                if blocks < LEAST_FILLER.min(most) || takes(blocks) > slack {
                    return false;
                }
                board.fills_slack = true;
                self.send_chunk(board, now, id, &job, blocks, out);
                board.fills_slack = false;
                true
            }
            Some(Filler::Ahead(from, left)) => {
                let blocks = board.caps.blocks.saturating_sub(from.0).min(u64::from(plan.chunk)) as u32;
                let at = Extent { start: from, blocks };
                let free = left > 0 && blocks > 0 && !board.overlap.writes(at);
                if !free || board.belief.follow_on(now, at) > slack.less(plan.prefetch_margin) {
                    return false;
                }
                let frame = self.frames.take(at);
                self.filler = Some(Filler::Ahead(at.end(), left - 1));
                board.reads_ahead_for = self.reads_for;
                board.send(now, Errand::Frame(frame), Verb::Read, at, Place::Frame(frame, 0), out);
                true
            }
        }
    }

    /// Reads something that is wanted in any order before the seek to a request, unless one that was interrupted goes on, or someone of a
    /// higher rank may come, who would wait for it.
    fn read_for_free<P: Predictor>(
        &self,
        board: &mut Board<P>,
        now: Time,
        id: JobId,
        due: Due,
        out: &mut Vec<Action>,
    ) -> bool {
        if board.free.is_none() || board.caps.depth > 1 || self.filler.is_some() {
            return false;
        }
        if board.jobs.get(id).is_none_or(|job| board.queue.is_outranked(&board.rules, job)) {
            return false;
        }
        let Some(at) = board.find_free(now, id, self.plan.chunk) else { return false };
        if let Some(free) = board.free.as_mut().filter(|_| now < due.seek) {
            free.fill_slack();
        }
        board.read_for_free(now, at, out);
        true
    }

    /// Notes that a command of a request came back well, and whether that was all of it. There is nothing to note where it was not,
    /// and nothing is expected.
    #[inline(never)]
    pub(crate) fn note_done<P: Predictor>(
        &mut self,
        board: &Board<P>,
        arbiter: &mut dyn Arbiter<P>,
        id: JobId,
        all: bool,
        now: Time,
    ) {
        let Some(job) = board.jobs.get(id) else { return };
        if all {
            arbiter.cease(board, now, id);
        }
        if let Some(expected) = self.expected.take() {
            let turn = board.belief.turn();
            let (late, early) = (now.since(expected) > Span(turn.0 / 2), expected.since(now) > Span(turn.0 / 32));
            // Who sets the margin decides what may be late.
            let given_up = !early
                && self.plan.offset.is_none()
                && self.punctuality.add_arrival(if late { Arrival::Late } else { Arrival::InTime });
            self.count(now, |tally| match early {
                true => tally.cached += 1,
                false => {
                    tally.errors.add(expected, now);
                    tally.late += u64::from(late);
                    tally.given_up += u64::from(given_up);
                }
            });
        }
        if all {
            self.finish(id, job, board.queue.is_urgent(&board.rules, job));
            arbiter.learn(board, now, job);
        }
    }

    /// A command of a request failed: whether it is one that is being served, and so is tried again in its place.
    pub(crate) fn tries_again(&mut self, id: JobId) -> bool {
        let held = self.holds(id);
        if held {
            self.expected = None;
        }
        held
    }

    /// A request has failed: it is not served any more.
    pub(crate) fn forget(&mut self, id: JobId) {
        self.expected = None;
        self.let_go(id);
    }
}
