//! Serving one request at a time in short commands: slack, sub-seeks, chunks, and who steps in between.
//!
//! A request chosen is first *awaited*: its seek is put off so that the head arrives just before the first block comes
//! round. In that slack the one it interrupted goes on, or the drive reads on after the last read, as long as that
//! ends before the seek is due. Then the arm goes, in parts if it has far to go, and the blocks come chunk by chunk.
//!
//! **One request at a time in short commands.** `sched::service` is a cursor over the request whose turn it is: it
//! awaits the seek, fills the slack, splits the seek, sends the chunks; before each step it asks whether someone
//! interrupts. The two uses of slack — the interrupted request goes on, the drive reads on — are one thing, a filler
//! that must end before the seek is due. That a preempted request goes on until the next just-in-time point is
//! thereby no case of its own. What is timed is the instant at which the first block comes round; the seek follows
//! from it wherever the filler has taken the head.

mod hold;

use crate::core::{Core, Errand};
use crate::event::{Action, Wait};
use crate::frames::Frames;
use crate::job::State;
use crate::plan::{Plan, PreemptAt, Short, Split};
use crate::predict::Predictor;
use crate::punctual::Punctuality;
use crate::tally::Tally;
use crate::{Job, JobId};
use block::{Command, Ending, Extent, Lbn, Op, Outcome, Place, Span, Time, Verb};

/// What is read of an interrupted request to fill the slack has at least so many blocks.
const LEAST_FILLER: u32 = 8;

/// How far the request being served has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Just chosen.
    Chosen,
    /// Its seek is awaited.
    Awaited(Due),
    /// So many parts of its seek are done.
    Splitting { done: u32, due: Due },
    /// The arm is there or on its way, and its blocks come.
    Moving,
}

/// A seek planned.
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
    stage: Stage,
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

/// The state of serving in short commands.
pub(crate) struct Service {
    plan: Plan,
    target: Option<Target>,
    filler: Option<Filler>,
    /// How many requests, one interrupting the other, the next one chosen interrupts.
    interrupted: u32,
    /// Those that came while another is served, where one may interrupt it by value.
    came: Vec<JobId>,
    /// The one that does, and is the next.
    outbidder: Option<JobId>,
    /// The one that was given back to the queue last.
    pub(crate) interrupted_job: Option<JobId>,
    /// Of a first command after a timed seek: when it was believed to come back.
    pub(crate) expected: Option<Time>,
    /// Of one just issued: when the arm was believed to be there.
    pub(crate) arrival: Option<Time>,
    pub(crate) punctuality: Punctuality,
    /// Since when a seek has been awaited with no command in flight.
    resting: Option<Time>,
    /// When the seek awaited is due.
    pub(crate) wake: Option<Time>,
    pub(crate) frames: Frames,
    /// Kept for its memory: requests near what was just read ahead, by the order in which they came.
    near: Vec<(u64, JobId)>,
    /// By class, where its last read ended.
    reads: Vec<Lbn>,
    pub(crate) tally: Tally,
    /// From when on things count.
    pub(crate) from: Time,
}

impl Service {
    pub(crate) fn new(plan: Plan) -> Service {
        Service {
            plan,
            target: None,
            filler: None,
            interrupted: 0,
            came: Vec::new(),
            outbidder: None,
            interrupted_job: None,
            expected: None,
            arrival: None,
            punctuality: Punctuality::default(),
            resting: None,
            wake: None,
            frames: Frames::default(),
            near: Vec::new(),
            reads: vec![Lbn(u64::MAX); 256],
            tally: Tally::default(),
            from: Time::ZERO,
        }
    }

    /// Time goes on.
    pub(crate) fn passed(&mut self, now: Time) {
        self.arrival = None;
        if let Some(since) = self.resting.take() {
            self.tally.slack += now.since(since.max(self.from));
        }
    }

    /// The job whose blocks come.
    pub(crate) fn moving(&self) -> Option<JobId> {
        self.target.filter(|target| target.stage == Stage::Moving).map(|target| target.id)
    }

    /// Whether a job is the one chosen, of which nothing is commanded yet in its turn.
    fn awaits(&self, id: JobId) -> bool {
        let awaited = |target: Target| matches!(target.stage, Stage::Chosen | Stage::Awaited(_)) && target.id == id;
        self.target.is_some_and(awaited)
    }

    /// A job has come, which may interrupt.
    pub(crate) fn came(&mut self, id: JobId) {
        if self.target.is_some() {
            self.came.push(id);
        }
    }

    fn count(&mut self, now: Time, add: impl FnOnce(&mut Tally)) {
        if now >= self.from {
            add(&mut self.tally);
        }
    }

    fn stage(&mut self, stage: Stage) {
        if let Some(target) = &mut self.target {
            target.stage = stage;
        }
    }
}

impl<P: Predictor> Core<P> {
    /// Gives the idle device its next command, or leaves it be until a seek is due.
    pub(crate) fn serve(&mut self, now: Time, out: &mut Vec<Action>) {
        let Some(mut service) = self.service.take() else { return };
        service.wake = None;
        while self.is_idle() && self.step(&mut service, now, out) {}
        self.service = Some(service);
    }

    /// One step towards the next command; false if there is none to give now.
    fn step(&mut self, service: &mut Service, now: Time, out: &mut Vec<Action>) -> bool {
        self.interrupt(service, now, out);
        if service.target.is_none_or(|target| target.stage == Stage::Chosen)
            && let Some(flush) = self.flushes.pop_front()
        {
            if let Some(job) = self.jobs.get_mut(flush) {
                job.state = State::Serving;
                let (at, place) = (job.at, Place::Request(job.request, 0));
                self.send(now, Errand::Job(flush), Verb::Flush, at, place, out);
            }
            return true;
        }
        let Some(target) = service.target else { return self.choose(service, now, out) };
        let Some(job) = self.jobs.get(target.id).copied() else {
            debug_assert!(false, "{target:?} is gone");
            service.target = None;
            return true;
        };
        match target.stage {
            Stage::Chosen => {
                service.punctuality.next();
                let due = self.plan_seek(service, now, &job, None);
                service.stage(Stage::Awaited(due));
            }
            Stage::Awaited(Due { hit: Some(hit), moved: true, .. }) => {
                let due = self.plan_seek(service, now, &job, Some(hit));
                service.stage(Stage::Awaited(due));
            }
            Stage::Awaited(due) if now < due.seek => {
                if self.fill(service, now, due.seek, out) {
                    service.stage(Stage::Awaited(Due { moved: true, ..due }));
                    return true;
                }
                if self.drop_filler(service) {
                    return true;
                }
                (service.resting, service.wake) = (Some(now), Some(due.seek));
                return false;
            }
            Stage::Awaited(due) => {
                if !self.drop_filler(service) {
                    self.approach(service, now, &job, 0, due, out);
                }
            }
            Stage::Splitting { done, due } => self.approach(service, now, &job, done, due, out),
            // All of it is written; what is asked for is that it is on the medium.
            Stage::Moving if job.rest().blocks == 0 => {
                let place = Place::Request(job.request, job.done);
                self.send(now, Errand::Job(target.id), Verb::Flush, Extent::default(), place, out);
            }
            Stage::Moving => self.send_chunk(now, target.id, &job, service.plan.chunk, &service.plan, out),
        }
        true
    }

    /// Where one that waits interrupts the request being served, that one no longer is.
    fn interrupt(&mut self, service: &mut Service, now: Time, out: &mut Vec<Action>) {
        let Some(target) = service.target else { return };
        let Some(job) = self.jobs.get(target.id).copied() else { return };
        if job.rest().blocks == 0 || self.rules.budget.is_some_and(|budget| !self.leisure.allows(&budget)) {
            return;
        }
        if self.rules.preemption.weighs() {
            if service.came.is_empty() {
                return;
            }
            let begun = !matches!(target.stage, Stage::Chosen | Stage::Awaited(_));
            service.outbidder = match begun {
                true if self.foresight.is_some() => self.foreseen(now, target.id, true),
                true => self.outbidder(now, &job, &service.came),
                false => None,
            };
            service.came.clear();
            // What has not begun is chosen anew.
            if begun && service.outbidder.is_none() || !self.rules.class(job.qos.class).preemptible {
                return;
            }
        } else if !self.queue.interrupts(&self.rules, &job) {
            return;
        }
        let goes_on = self.rules.preempt_at == PreemptAt::Jit && target.stage == Stage::Moving && job.op == Op::Read;
        let begun = !matches!(target.stage, Stage::Chosen | Stage::Awaited(_));
        service.target = None;
        service.interrupted = target.depth + u32::from(begun);
        if self.rules.tells {
            let wait = if begun || job.done > 0 { Wait::Preempted } else { Wait::Queue };
            out.push(Action::Wait(job.request, wait));
        }
        if begun {
            self.ceases(now, target.id);
            service.count(now, |tally| {
                tally.preemptions += 1;
                tally.cascades += u64::from(target.depth > 0);
            });
        }
        if goes_on {
            service.filler = Some(Filler::Job(target.id));
        } else {
            self.put_back(service, target.id);
        }
    }

    /// Takes the next request from the queue; false if none waits.
    fn choose(&mut self, service: &mut Service, now: Time, out: &mut Vec<Action>) -> bool {
        // Who interrupted it may be gone by now: while a flush was under way, say.
        let outbidder = service.outbidder.take().and_then(|id| Some((id, *self.jobs.get(id)?)));
        let outbidder = outbidder.filter(|(_, job)| job.state == State::Queued);
        if let Some(Filler::Job(id)) = service.filler
            && outbidder.is_none()
            && !self.jobs.get(id).is_some_and(|job| self.queue.interrupts(&self.rules, job))
        {
            self.drop_filler(service);
        }
        let id = match outbidder {
            Some((id, job)) => {
                self.queue.remove(&self.rules, id, &job, &self.belief);
                id
            }
            None => match self.take(now) {
                Some(id) => self.before(now, id),
                None => return false,
            },
        };
        let Some(job) = self.jobs.get_mut(id) else { return false };
        job.state = State::Serving;
        out.push(Action::Begin(job.request));
        let depth = std::mem::take(&mut service.interrupted);
        service.came.clear();
        service.target = Some(Target { id, stage: Stage::Chosen, depth });
        true
    }

    /// Gives what is left of a request back to the queue, where its deadline holds again.
    fn put_back(&mut self, service: &mut Service, id: JobId) {
        service.interrupted_job = Some(id);
        let Some(job) = self.jobs.get_mut(id) else { return };
        job.state = State::Queued;
        job.spot = self.belief.spot(job.rest());
        let job = *job;
        self.await_deadline(id, &job);
        self.queue.add(&self.rules, id, &job, &self.belief);
    }

    /// Nothing more fills the slack. Says whether a request waits again, which may be worth more by now.
    fn drop_filler(&mut self, service: &mut Service) -> bool {
        let Some(Filler::Job(id)) = service.filler.take() else { return false };
        self.put_back(service, id);
        true
    }

    /// When the seek to a request is due (SYSTEM, Section 5): so that the head arrives `offset` before the first block
    /// comes round, at `hit` where that is settled.
    fn plan_seek(&self, service: &Service, now: Time, job: &Job<P::Spot>, hit: Option<Time>) -> Due {
        let plan = &service.plan;
        let offset = plan.offset.unwrap_or_else(|| self.belief.early());
        let at_once = Due { seek: now, hit: None, parts: 1, arrives: now, moved: false };
        let Some(way) = self.belief.approach(now, job.rest(), job.spot, job.op.writes()) else { return at_once };
        let long = f64::from(way.distance) > plan.split_beyond * f64::from(way.cylinders);
        // Slack and parts are for those that step in: where nobody will, what they cost is lost.
        let outbid = service.target.is_some_and(|target| target.depth > 0) && self.rules.preemption.weighs();
        let urgent = outbid || self.queue.is_urgent(&self.rules, job);
        let most = if long && self.caps.seek && !urgent { plan.split_parts.max(1) } else { 1 };
        let extra = |parts: u32| {
            let each = self.belief.seek_time(way.distance / parts);
            Span(each.0 * u64::from(parts)).less(self.belief.seek_time(way.distance))
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
        if !plan.jit || !service.punctuality.holds() || (urgent && service.filler.is_none()) {
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
    fn approach(
        &mut self,
        service: &mut Service,
        now: Time,
        job: &Job<P::Spot>,
        done: u32,
        due: Due,
        out: &mut Vec<Action>,
    ) {
        let Some(target) = service.target else { return };
        if done + 1 < due.parts
            && let Some(at) = self.belief.midway(job.spot, due.parts - done)
        {
            service.stage(Stage::Splitting { done: done + 1, due });
            service.count(now, |tally| tally.sub_seeks += 1);
            let place = Place::Request(job.request, job.done);
            self.send(now, Errand::Seek, Verb::Seek, Extent { start: at, blocks: 1 }, place, out);
            return;
        }
        service.stage(Stage::Moving);
        if self.foresight.is_some() {
            self.begins(now, target.id);
        }
        self.send_chunk(now, target.id, job, service.plan.chunk, &service.plan, out);
        service.expected = due.hit.and_then(|_| self.belief.expected());
        service.arrival = due.hit.filter(|_| due.parts == 1).map(|_| due.arrives + now.since(due.seek));
        if due.hit.is_some() {
            service.count(now, |tally| tally.jit_seeks += 1);
        }
    }

    /// The next command of a request, of at most so many blocks.
    fn send_chunk(&mut self, now: Time, id: JobId, job: &Job<P::Spot>, most: u32, plan: &Plan, out: &mut Vec<Action>) {
        let rest = job.rest();
        let at = Extent { start: rest.start, blocks: rest.blocks.min(most) };
        let last = at.blocks == rest.blocks;
        let verb = match job.op {
            Op::Read | Op::Repair => Verb::Read,
            // Each of many commands on the medium would cost a revolution each: a flush at their end costs one, and forces the
            // last one too.
            Op::Write { fua: true } => Verb::Write { fua: at == job.at },
            Op::Write { fua: false } => Verb::Write { fua: last && plan.last_fua },
            Op::Flush => Verb::Flush,
        };
        self.send(now, Errand::Job(id), verb, at, Place::Request(job.request, job.done), out);
    }

    /// Uses the time until a seek is due; false if there is nothing to use it for.
    fn fill(&mut self, service: &mut Service, now: Time, until: Time, out: &mut Vec<Action>) -> bool {
        let (plan, slack) = (service.plan, until.since(now));
        match service.filler {
            None => false,
            Some(Filler::Job(id)) => {
                let Some(job) = self.jobs.get(id).copied() else { return false };
                let rest = job.rest();
                let most = rest.blocks.min(plan.chunk);
                let takes = |blocks: u32| self.belief.follow_on(now, Extent { blocks, ..rest });
                let whole = takes(most);
                // The last one is as long as there is time for.
                let fitting = (u64::from(most) * slack.0 / whole.0.max(1)).min(u64::from(most)) as u32;
                let blocks = if whole <= slack { most } else { fitting.saturating_sub(fitting / 16 + 1) };
                if blocks < LEAST_FILLER.min(most) || takes(blocks) > slack {
                    return false;
                }
                self.send_chunk(now, id, &job, blocks, &plan, out);
                true
            }
            Some(Filler::Ahead(from, left)) => {
                let blocks = self.caps.blocks.saturating_sub(from.0).min(u64::from(plan.chunk)) as u32;
                let at = Extent { start: from, blocks };
                let free = left > 0 && blocks > 0 && !self.overlap.writes(at);
                if !free || self.belief.follow_on(now, at) > slack.less(plan.prefetch_margin) {
                    return false;
                }
                let frame = service.frames.take(at);
                service.filler = Some(Filler::Ahead(at.end(), left - 1));
                self.send(now, Errand::Frame(frame), Verb::Read, at, Place::Frame(frame, 0), out);
                true
            }
        }
    }

    /// A command of a request came back well: so much more of it is done. Says whether that is all of it.
    pub(crate) fn progressed(&mut self, id: JobId, command: &Command, now: Time) -> bool {
        let Some(job) = self.jobs.get_mut(id) else { return true };
        if job.op == Op::Flush {
            return true;
        }
        job.done += command.at.blocks;
        job.failed = 0;
        let sound = job.op != Op::Write { fua: true } || command.at == job.at || command.verb == Verb::Flush;
        let all = job.done == job.at.blocks && sound;
        let job = *job;
        if all && self.foresight.is_some() {
            self.ceases(now, id);
        }
        let Some(service) = &mut self.service else { return all };
        if let Some(expected) = service.expected.take() {
            let turn = self.belief.turn();
            let (late, early) = (now.since(expected) > Span(turn.0 / 2), expected.since(now) > Span(turn.0 / 32));
            // Who sets the margin decides what may be late.
            let given_up = !early && service.plan.offset.is_none() && service.punctuality.observed(late);
            service.count(now, |tally| match early {
                true => tally.cached += 1,
                false => {
                    tally.errors.add(expected, now);
                    tally.late += u64::from(late);
                    tally.given_up += u64::from(given_up);
                }
            });
        }
        if all {
            service.finished(id, &job, self.queue.is_urgent(&self.rules, &job));
            self.learn_patience(&job, now);
        }
        all
    }

    /// A request submitted is served as far as it can be from what was read ahead. Says whether that is all of it.
    pub(crate) fn serve_from_frames(&mut self, now: Time, job: &mut Job<P::Spot>, out: &mut Vec<Action>) -> bool {
        let Some(service) = &mut self.service else { return false };
        match job.op {
            Op::Write { .. } => service.frames.invalidate(job.at),
            Op::Read if !self.overlap.writes(job.at) => {
                while let rest = job.rest()
                    && rest.blocks > 0
                    && let Some((frame, into, blocks)) = service.frames.holds(rest.start, rest.blocks)
                {
                    let to = Place::Request(job.request, job.done);
                    out.push(Action::Copy { from: Place::Frame(frame, into), to, blocks });
                    service.count(now, |tally| tally.prefetched_used += u64::from(blocks));
                    job.done += blocks;
                }
                if job.done == job.at.blocks {
                    service.reads[usize::from(job.qos.class)] = job.at.end();
                    return true;
                }
            }
            _ => {}
        }
        false
    }

    /// A command without a request came back. What was read ahead serves those that wait for it already, too.
    pub(crate) fn ran(
        &mut self,
        errand: Errand,
        command: &Command,
        outcome: Outcome,
        now: Time,
        out: &mut Vec<Action>,
    ) {
        let (Errand::Frame(frame), Some(service)) = (errand, &mut self.service) else { return };
        let good = service.frames.came(frame, outcome == Outcome::Ok);
        service.count(now, |tally| tally.prefetched += u64::from(command.at.blocks));
        if good {
            self.serve_waiting_from_frames(now, command.at, out);
        }
    }

    /// Requests that wait and whose next blocks are among those just read ahead are served from the frames as far as they can
    /// be. What is left of one waits where it lies.
    fn serve_waiting_from_frames(&mut self, now: Time, read: Extent, out: &mut Vec<Action>) {
        let mut near = self.service.as_mut().map_or_else(Vec::new, |service| std::mem::take(&mut service.near));
        near.extend(self.overlap.near(read));
        near.sort_unstable();
        for (_, id) in near.drain(..) {
            let Some(before) = self.jobs.get(id).copied() else { continue };
            let awaited = self.service.as_ref().is_some_and(|service| service.awaits(id));
            let next = before.rest().start;
            if before.op != Op::Read
                || !(awaited || before.state == State::Queued)
                || !(read.start..read.end()).contains(&next)
            {
                continue;
            }
            let mut job = before;
            let all = self.serve_from_frames(now, &mut job, out);
            if job.done == before.done {
                continue;
            }
            if !awaited {
                self.queue.remove(&self.rules, id, &before, &self.belief);
            }
            if all {
                if let (Some(service), true) = (&mut self.service, awaited) {
                    service.target = None;
                }
                self.learn_patience(&job, now);
                self.end(id, Ending::Finished, out);
                continue;
            }
            job.spot = self.belief.spot(job.rest());
            if let Some(kept) = self.jobs.get_mut(id) {
                *kept = job;
            }
            if awaited {
                self.service.iter_mut().for_each(|service| service.stage(Stage::Chosen));
            } else {
                self.queue.add(&self.rules, id, &job, &self.belief);
            }
        }
        if let Some(service) = &mut self.service {
            service.near = near;
        }
    }

    /// A request has failed: it is not served any more.
    pub(crate) fn forget(&mut self, id: JobId) {
        if let Some(service) = &mut self.service {
            service.expected = None;
            service.let_go(id);
        }
    }
}
