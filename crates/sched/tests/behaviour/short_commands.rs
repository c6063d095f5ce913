//! Requests in short commands, in a world of random requests, failures, deadlines, amendments and cancellations: each
//! block of a request moves exactly once and is never stale, whoever steps in and whatever fills the slack.

use crate::drawn_rules::rules;
use crate::random::check;
use crate::toy::{Dice, ToyDrive};
use block::errno::{ECANCELED, EIO};
use block::{
    Caps, Change, Command, DiskId, Ending, Extent, FrameId, Op, Outcome, Place, Qos, Request, RequestId, SeekBy, Span,
    Tag, Time, Verb,
};
use disk::{Sheet, catalogue};
use proptest::prelude::*;
use sched::plan::{LastFua, Plan, PreemptAt, Preemption, Prefetch, Rules, Short, Split};
use sched::policy::{self, Beside};
use sched::predict::{Distance, Predictor, Profile};
use sched::{Action, Core, Input, Tally, World, run};
use std::collections::BTreeMap;

/// Requests lie in three places, each so small that they overlap.
const PLACE: u64 = 900;
const LIMIT: u32 = 40;

#[derive(Clone, Debug)]
struct Scene {
    rules: Rules,
    /// How the drive moves its arm without a transfer.
    seek: SeekBy,
    drive: &'static str,
    policy: &'static str,
    requests: u32,
    /// Mean time between requests.
    gap: Span,
    /// Tenths of the requests that write.
    writes: u64,
    seed: u64,
}

fn scenes() -> impl Strategy<Value = Scene> {
    let drive = prop::sample::select(vec!["atlas10k", "st318437lw"]);
    let policies = vec!["fcfs", "look", "c-look", "sstf", "satf", "asatf", "lookahead", "yield", "batch-look"];
    let policy = prop::sample::select(policies);
    let gap = prop_oneof![(0..4_000_000u64), (4_000_000..60_000_000u64)].prop_map(Span);
    let seek = prop::sample::select(vec![SeekBy::Nothing, SeekBy::Command, SeekBy::Read]);
    (rules(), seek, drive, policy, 20..150u32, gap, 0..7u64, any::<u64>()).prop_map(
        |(rules, seek, drive, policy, requests, gap, writes, seed)| Scene {
            rules,
            seek,
            drive,
            policy,
            requests,
            gap,
            writes,
            seed,
        },
    )
}

/// A request inside the core.
#[derive(Clone, Copy, Debug)]
struct Inside {
    request: Request,
    order: u64,
    /// Blocks moved.
    done: u32,
    begun: bool,
    cancelled: bool,
    /// Whether it needs no flush to be on the medium, if that is asked for.
    sound: bool,
    /// The last earlier one that it overlaps, while it is held for that.
    behind: Option<RequestId>,
}

struct Chaos {
    scene: Scene,
    plan: Plan,
    dice: Dice,
    drive: ToyDrive,
    blocks: u64,
    now: Time,
    left: u32,
    next_submission: Time,
    next_amendment: Time,
    inside: Vec<Option<Inside>>,
    flying: Option<(Time, Command, Outcome)>,
    order: u64,
    /// Where the last read of each class ended.
    streams: [u64; 4],
    /// The request just submitted: what was read ahead is copied to it at once.
    fresh: Option<RequestId>,
    /// What was just read ahead: it is copied at once to who waits for it already.
    read: Option<Extent>,
    /// Whether a write met it while it was being read.
    spoilt: bool,
    /// To whom some of it, or what follows it, was copied.
    served: Option<RequestId>,
    /// Whose turn it is, and whether a block of it was commanded in this turn.
    target: Option<RequestId>,
    moving: bool,
    /// Whether a flush has come since: before it the target may have been interrupted, when it was worth something else.
    flushed: bool,
    /// What was interrupted and may go on until the target's seek.
    filler: Option<RequestId>,
    /// By block, the order of the last write that reached the drive; the drive's buffer counts as reached.
    medium: BTreeMap<u64, u64>,
    /// By frame, its blocks and the order of the write each shows; nothing where the reading failed.
    frames: BTreeMap<u32, Option<Vec<(u64, u64)>>>,
    inputs: u32,
    copied: u64,
    finished: u32,
    refused: u32,
}

impl Chaos {
    fn new(scene: &Scene, sheet: &Sheet) -> Chaos {
        let mut dice = Dice(scene.seed);
        Chaos {
            plan: scene.rules.plan.expect("in short commands"),
            scene: scene.clone(),
            drive: ToyDrive::new(sheet, dice.below(u64::MAX)),
            dice,
            blocks: sheet.mechanics.layout.blocks(),
            now: Time::ZERO,
            left: scene.requests,
            next_submission: Time::ZERO,
            next_amendment: Time::ZERO,
            inside: vec![None; LIMIT as usize],
            flying: None,
            order: 0,
            streams: [0; 4],
            fresh: None,
            read: None,
            spoilt: false,
            served: None,
            target: None,
            moving: false,
            flushed: false,
            filler: None,
            medium: BTreeMap::new(),
            frames: BTreeMap::new(),
            inputs: 0,
            copied: 0,
            finished: 0,
            refused: 0,
        }
    }

    fn job(&mut self, id: RequestId) -> &mut Inside {
        self.inside[id.0 as usize].as_mut().expect("a request that has ended is not served")
    }

    fn jobs(&self) -> impl Iterator<Item = &Inside> {
        self.inside.iter().flatten()
    }

    fn newest(&self, block: u64) -> u64 {
        self.medium.get(&block).copied().unwrap_or(0)
    }

    fn rank(&self, qos: Qos) -> u8 {
        match self.scene.rules.preemption {
            Preemption::Always => u8::from(self.scene.rules.class(qos.class).preempts),
            Preemption::Priority => qos.priority,
            _ => 0,
        }
    }

    /// Whether a request must wait for an earlier one it overlaps.
    fn must_wait(&self, job: &Inside) -> bool {
        self.jobs().any(|other| self.keeps_waiting(other, job))
    }

    /// Whether a request must wait for this other one.
    fn keeps_waiting(&self, other: &Inside, job: &Inside) -> bool {
        other.order < job.order
            && other.request.at.overlaps(job.request.at)
            && (other.request.op.writes() || job.request.op.writes())
    }

    /// Those whose turn could come.
    fn ready(&self) -> impl Iterator<Item = &Inside> {
        let served = [self.target, self.filler];
        self.jobs()
            .filter(move |job| !served.contains(&Some(job.request.id)) && job.request.op != Op::Flush)
            .filter(|job| !self.must_wait(job))
    }

    /// Nobody who waits is passed over by the request whose turn it is.
    fn none_is_passed_over(&self, target: RequestId) {
        let target = self.inside[target.0 as usize].expect("a request that has ended has no turn");
        let qos = target.request.qos;
        if !self.scene.rules.class(qos.class).preemptible {
            return;
        }
        let rank = self.rank(qos);
        let over = self
            .ready()
            .find(|job| self.rank(job.request.qos) > rank && self.scene.rules.class(job.request.qos.class).preempts);
        assert!(over.is_none(), "{target:?} goes on though {over:?} waits");
    }

    fn qos(&mut self) -> Qos {
        let deadline = match self.dice.below(8) {
            0 => Some(Time(self.now.0 + self.dice.below(300_000_000))),
            1 => Some(Time(self.now.0 + self.dice.below(15_000_000))),
            _ => None,
        };
        Qos { class: self.dice.below(4) as u8, priority: self.dice.below(4) as u8, deadline }
    }

    fn request(&mut self) -> Request {
        let id = RequestId(self.inside.iter().position(Option::is_none).expect("there was room") as u32);
        let qos = self.qos();
        let fua = self.dice.once_in(3);
        let op = match self.dice.below(12) {
            0 => return Request { id, op: Op::Flush, at: Extent::default(), qos },
            _ if self.dice.below(10) < self.scene.writes => Op::Write { fua },
            _ => Op::Read,
        };
        let most = [20, 60, 300][self.dice.below(3) as usize];
        let blocks = 1 + self.dice.below(most) as u32;
        let place = self.dice.below(3) * ((self.blocks - 2 * PLACE) / 2);
        let stream = self.streams[usize::from(qos.class)];
        let goes_on = op == Op::Read && self.dice.once_in(2) && stream + u64::from(blocks) < self.blocks;
        let start = if goes_on { stream } else { place + self.dice.below(PLACE) };
        if op == Op::Read {
            self.streams[usize::from(qos.class)] = start + u64::from(blocks);
        }
        Request { id, op, at: Extent::new(start, blocks), qos }
    }

    fn submission(&mut self) -> Input {
        self.left -= 1;
        let gap = [0, self.dice.below(2 * self.scene.gap.0 + 1)][usize::from(!self.dice.once_in(4))];
        self.next_submission = self.now + Span(gap);
        let request = self.request();
        self.order += 1;
        self.fresh = Some(request.id);
        if let Some((_, Command { place: Place::Frame(..), at, .. }, _)) = self.flying {
            self.spoilt |= request.op.writes() && request.at.overlaps(at);
        }
        self.inside[request.id.0 as usize] = Some(Inside {
            request,
            order: self.order,
            done: 0,
            begun: false,
            cancelled: false,
            sound: true,
            behind: None,
        });
        self.hold(request.id);
        Input::Submit(request)
    }

    /// A request is held if it must be: whoever it waits for is as urgent then.
    fn hold(&mut self, id: RequestId) {
        let job = *self.job(id);
        let earlier = self.jobs().filter(|other| self.keeps_waiting(other, &job)).max_by_key(|other| other.order);
        self.job(id).behind = earlier.map(|other| other.request.id);
        self.hand_on(id);
    }

    /// Makes those that a held request waits for as urgent as it is.
    fn hand_on(&mut self, mut id: RequestId) {
        while let Some(before) = self.job(id).behind {
            let (waiter, its) = (self.job(id).request.qos, self.job(before).request.qos);
            let keeps = self.scene.rules.class(its.class).worth.curve.falls();
            let sooner = its.deadline.into_iter().chain(waiter.deadline).min();
            let deadline = if keeps { its.deadline } else { sooner };
            let qos = Qos { priority: its.priority.max(waiter.priority), deadline, ..its };
            if qos == its {
                return;
            }
            self.job(before).request.qos = qos;
            id = before;
        }
    }

    /// Some request, perhaps one that is not there, is amended.
    fn amendment(&mut self) -> Input {
        self.next_amendment = self.now + Span(self.dice.below(20_000_000));
        let id = RequestId(self.dice.below(u64::from(LIMIT)) as u32);
        let change = if self.dice.once_in(2) { Change::Cancel } else { Change::Qos(self.qos()) };
        if let Some(job) = &mut self.inside[id.0 as usize] {
            match change {
                Change::Cancel => job.cancelled = true,
                Change::Qos(qos) => {
                    job.request.qos = qos;
                    self.hand_on(id);
                }
            }
        }
        Input::Amend(id, change)
    }

    fn completion(&mut self) -> Input {
        let (end, command, outcome) = self.flying.take().expect("it is in flight");
        let at = command.at.start.0..command.at.end().0;
        match command.place {
            Place::Frame(FrameId(frame), _) => {
                let read = outcome == Outcome::Ok;
                let blocks = read.then(|| at.map(|block| (block, self.newest(block))).collect());
                self.frames.insert(frame, blocks);
                self.read = (read && !self.spoilt).then_some(command.at);
                self.spoilt = false;
            }
            Place::Request(id, _) if command.verb != Verb::Seek => {
                let order = self.job(id).order;
                // Of a write that failed some blocks came.
                let came = if outcome == Outcome::Ok { command.at.blocks } else { command.at.blocks / 2 };
                if command.verb.writes() {
                    for block in at.take(came as usize) {
                        self.medium.insert(block, order);
                    }
                }
                if outcome == Outcome::Ok {
                    self.job(id).done += command.at.blocks;
                }
            }
            _ => {}
        }
        Input::Done(DiskId(0), Tag(0), end, outcome)
    }

    /// Who waits for what was just read ahead has it.
    fn none_waits_for_what_was_read(&self) {
        let Some(at) = self.read else { return };
        let next = |job: &Inside| job.request.at.start.0 + u64::from(job.done);
        let written = |job: &Inside| {
            self.jobs().any(|other| other.request.op.writes() && other.request.at.overlaps(job.request.at))
        };
        let mut waiting = self.ready().filter(|job| job.request.op == Op::Read && !written(job));
        let left = waiting.find(|job| (at.start.0..at.end().0).contains(&next(job)));
        assert!(left.is_none(), "{left:?} waits for what is read: {at:?}");
    }

    /// What must hold whenever the core waits.
    fn at_rest(&self, wake: Option<Time>, room: u32) {
        assert_eq!(room, LIMIT - self.jobs().count() as u32, "room");
        let served = [self.target, self.filler, self.flying.and_then(|(_, command, _)| served_by(&command))];
        let waiting = self.jobs().filter(|job| !served.contains(&Some(job.request.id)));
        if let Some(soonest) = waiting.filter_map(|job| job.request.qos.deadline).min() {
            assert!(wake.is_some_and(|wake| wake <= soonest), "{wake:?} for {soonest:?}");
        }
        if self.flying.is_some() {
            return;
        }
        if self.target.is_none() {
            let free = self.ready().next();
            assert!(free.is_none(), "nothing is in flight and {free:?} waits");
        } else {
            // A write waits for room in the buffer.
            let writes = |id| self.jobs().any(|job| Some(job.request.id) == id && job.request.op.writes());
            let held = self.plan.last_fua == LastFua::Auto && writes(self.target);
            let turns = Span(if held { 100_000_000 } else { 40_000_000 });
            assert!(wake.is_some_and(|wake| wake <= self.now + turns), "at {:?} a turn waits for {wake:?}", self.now);
            assert!(self.plan.jit || held, "slack without JIT seeks");
        }
    }

    fn begin(&mut self, id: RequestId) {
        let job = *self.job(id);
        assert!(self.flying.is_none() && job.request.op != Op::Flush && !self.must_wait(&job), "{job:?} begins");
        if let Some(target) = self.target.filter(|target| *target != id) {
            let before = *self.job(target);
            let preemptible = self.scene.rules.class(before.request.qos.class).preemptible;
            assert!(preemptible || self.flushed, "{before:?} is interrupted");
            let preempts = self.scene.rules.class(job.request.qos.class).preempts;
            let by_value = self.scene.rules.preemption.weighs();
            assert!(preempts || self.flushed || !self.moving || !by_value, "{job:?} interrupts {before:?}");
            let goes_on = self.scene.rules.preempt_at == PreemptAt::Jit && before.request.op == Op::Read;
            if self.moving && goes_on {
                self.filler = Some(target);
            }
        }
        (self.target, self.moving, self.flushed) = (Some(id), false, false);
        self.job(id).begun = true;
        let over = self.ready().find(|other| self.rank(other.request.qos) > self.rank(job.request.qos));
        assert!(over.is_none(), "{job:?} begins though {over:?} waits");
    }

    fn issue(&mut self, tag: Tag, command: Command) {
        let Command { verb, at, place, .. } = command;
        assert!(self.flying.is_none() && tag == Tag(0), "two commands at once: {command:?}");
        assert!(at.end().0 <= self.blocks && at.blocks <= self.plan.chunk, "{command:?}");
        let whole = self.moving;
        match place {
            Place::Scan => panic!("{command:?} though nothing is wanted in any order"),
            Place::Frame(_, into) => {
                assert!((verb, into) == (Verb::Read, 0) && at.blocks > 0, "{command:?}");
                assert!(self.plan.jit && self.plan.prefetch != Prefetch::Never && !whole, "{command:?} reads ahead");
                self.none_is_passed_over(self.target.expect("slack has a target"));
            }
            Place::Request(id, _) if verb == Verb::Seek => {
                let splits = self.scene.seek != SeekBy::Nothing && self.plan.split != Split::Never;
                assert!(splits && !whole, "{command:?} splits a seek");
                assert_eq!((Some(id), at.blocks), (self.target, 1));
                self.none_is_passed_over(id);
            }
            Place::Request(id, into) if verb == Verb::Flush => self.flush(id, into),
            Place::Request(id, into) => self.chunk(id, into, verb, at),
            Place::Nowhere => panic!("{command:?}"),
        }
        let outcome = if self.dice.once_in(40) { Outcome::Failed(EIO) } else { Outcome::Ok };
        let hindered = self.dice.once_in(10);
        let mut end = self.drive.serve(self.now, &self.scene.seek.as_done(command), hindered);
        if verb == Verb::Flush {
            end += Span(self.dice.below(60_000_000));
            self.flushed = true;
        }
        self.flying = Some((end, command, outcome));
    }

    /// A flush that was asked for, or that ends a write which must be on the medium.
    fn flush(&mut self, id: RequestId, into: u32) {
        let job = self.job(id);
        if job.request.op != Op::Flush {
            assert_eq!(job.request.op, Op::Write { fua: true }, "{job:?}");
            assert!(!job.sound && job.done == job.request.at.blocks, "{job:?}");
        }
        assert_eq!(into, job.done);
        job.sound = true;
    }

    /// A command of a request.
    fn chunk(&mut self, id: RequestId, into: u32, verb: Verb, at: Extent) {
        let job = *self.job(id);
        let Request { op, at: whole, .. } = job.request;
        assert!(job.begun && at.blocks > 0, "{job:?}: {at:?}");
        assert_eq!((into, at.start.0), (job.done, whole.start.0 + u64::from(job.done)), "{job:?}");
        assert!(at.end() <= whole.end(), "{job:?}: {at:?}");
        let last = at.end() == whole.end() && self.plan.last_fua == LastFua::Always;
        match op {
            Op::Read | Op::Repair | Op::Move => assert_eq!(verb, Verb::Read),
            Op::Write { fua } => {
                self.job(id).sound = !fua || at == whole;
                // Of many commands none is forced: the flush at their end forces all.
                assert_eq!(verb, Verb::Write { fua: if fua { at == whole } else { last } });
            }
            Op::Discard(what) => assert_eq!((verb, at), (Verb::Discard(what), whole)),
            Op::Flush => panic!("{job:?} has no blocks"),
        }
        self.sees_its_past(&job, at);
        if self.target == Some(id) {
            (self.moving, self.filler) = (true, None);
        } else {
            assert_eq!(self.filler, Some(id), "{job:?} goes on out of turn");
            assert!(self.scene.rules.preempt_at == PreemptAt::Jit && op == Op::Read && !self.moving, "{job:?}");
        }
        self.none_is_passed_over(self.target.expect("a command has a target"));
    }

    /// Blocks a request is about to read or write show what was submitted before it, and nothing that came after.
    fn sees_its_past(&self, job: &Inside, at: Extent) {
        assert!(!self.must_wait(job), "{job:?} overtakes one it overlaps");
        let later = (at.start.0..at.end().0).find(|block| self.newest(*block) > job.order);
        assert!(later.is_none(), "{job:?}: {later:?} was written by one that came later");
    }

    fn copy(&mut self, from: Place, to: Place, blocks: u32) {
        let (Place::Frame(FrameId(frame), into), Place::Request(id, done)) = (from, to) else {
            panic!("{from:?} {to:?}")
        };
        let job = *self.job(id);
        let start = job.request.at.start.0 + u64::from(done);
        let just_read = self.read.is_some_and(|at| (at.start.0..at.end().0).contains(&start));
        let in_time = self.fresh == Some(id) || just_read || self.served == Some(id);
        self.served = Some(id);
        assert!(in_time && !(self.target == Some(id) && self.moving), "{job:?}");
        assert!(job.request.op == Op::Read && blocks > 0 && self.filler != Some(id), "{job:?}");
        assert_eq!(done, job.done, "{job:?}");
        self.sees_its_past(&job, Extent::new(start, blocks));
        let held = self.frames.get(&frame).and_then(Option::as_ref).expect("a frame is copied that has come");
        for i in 0..u64::from(blocks) {
            let expected = (start + i, self.newest(start + i));
            assert_eq!(held.get((u64::from(into) + i) as usize), Some(&expected), "{job:?} gets what is stale");
        }
        self.copied += u64::from(blocks);
        self.job(id).done += blocks;
        assert!(self.job(id).done <= job.request.at.blocks, "{job:?}");
    }

    fn finish(&mut self, id: RequestId, how: Ending) {
        let job = self.inside[id.0 as usize].take().expect("a request ends once");
        let flying = self.flying.and_then(|(_, command, _)| served_by(&command));
        assert!(flying != Some(id), "{job:?} ends with a command in flight");
        match how {
            Ending::Finished => assert!(job.done == job.request.at.blocks && job.sound, "{job:?}"),
            Ending::Failed(EIO) => assert!(job.begun || job.request.op == Op::Flush, "{job:?}"),
            Ending::Failed(ECANCELED) => assert!(job.cancelled, "{job:?}"),
            Ending::Dropped => {
                assert!(job.request.qos.deadline.is_some_and(|deadline| deadline <= self.now), "{job:?}");
            }
            Ending::Failed(errno) => panic!("{job:?} failed with {errno}"),
        }
        self.finished += u32::from(how == Ending::Finished);
        self.refused += u32::from(how != Ending::Finished);
        self.target = self.target.filter(|target| *target != id);
        self.filler = self.filler.filter(|filler| *filler != id);
        let mut held: Vec<Inside> = self.jobs().filter(|job| job.behind == Some(id)).copied().collect();
        held.sort_unstable_by_key(|job| job.order);
        held.iter().for_each(|job| self.hold(job.request.id));
    }
}

/// The request a command moves blocks or the arm of.
fn served_by(command: &Command) -> Option<RequestId> {
    if let Place::Request(id, _) = command.place { Some(id) } else { None }
}

impl World for Chaos {
    fn next(&mut self, wake: Option<Time>, room: u32) -> Option<(Time, Input)> {
        self.inputs += 1;
        assert!(self.inputs < 1000 * self.scene.requests, "it goes on for ever");
        self.at_rest(wake, room);
        self.none_waits_for_what_was_read();
        (self.fresh, self.read, self.served) = (None, None, None);
        let done = self.flying.map(|(end, ..)| end);
        let submission = (self.left > 0 && room > 0).then_some(self.next_submission.max(self.now));
        // When no more come, whatever is there must come to its end by itself.
        let amendment = (self.left > 0).then_some(self.next_amendment.max(self.now));
        let wake = wake.map(|wake| wake.max(self.now));
        self.now = [done, amendment, submission, wake].into_iter().flatten().min()?;
        let input = match done {
            Some(end) if end == self.now => self.completion(),
            _ if amendment == Some(self.now) => self.amendment(),
            _ if submission == Some(self.now) => self.submission(),
            _ => Input::Wake,
        };
        Some((self.now, input))
    }

    fn act(&mut self, now: Time, action: Action) {
        assert_eq!(now, self.now);
        match action {
            Action::Begin(id) => self.begin(id),
            Action::Issue(_, tag, command) => self.issue(tag, command),
            Action::Copy { from, to, blocks } => self.copy(from, to, blocks),
            Action::Xor { .. }
            | Action::GiveUp(_)
            | Action::Complete(_)
            | Action::Grown(..)
            | Action::Compare { .. }
            | Action::Record { .. }
            | Action::Forget(_)
            | Action::Log(_)
            | Action::Mend(..) => panic!("{action:?} of one disk"),
            Action::Finish(id, how) => self.finish(id, how),
            Action::Wait(..) | Action::Credit(_) | Action::Bill(_) | Action::HandOn(..) => {
                panic!("{action:?} though nobody asked")
            }
        }
    }
}

fn play<P: Predictor + 'static>(scene: &Scene, sheet: &Sheet, belief: P) -> (Chaos, Tally) {
    let caps = Caps { blocks: sheet.mechanics.layout.blocks(), depth: 1, seek: scene.seek, arms: 1 };
    let policy = policy::with(scene.policy, &[("batch", "4".into()), ("age_limit", "'90ms'".into())]);
    let make = move || policy.make(&Beside::default());
    let mut core = Core::new(caps, LIMIT, belief, scene.rules.clone(), Box::new(make));
    let mut world = Chaos::new(scene, sheet);
    run(&mut core, &mut world);
    assert_eq!(world.left, 0);
    assert!(world.jobs().next().is_none(), "{:?} never ended", world.jobs().next());
    (world, core.tally().unwrap().clone())
}

#[test]
fn each_block_moves_once_in_its_turn_and_is_never_stale() {
    check(6000, (scenes(), prop::bool::weighted(0.2)), |(scene, distance)| {
        let sheet = catalogue::find(scene.drive).unwrap().sheet;
        if distance {
            play(&scene, &sheet, Distance::default());
        } else {
            play(&scene, &sheet, Profile::new(&sheet));
        }
        Ok(())
    });
}

#[test]
fn whatever_a_plan_allows_comes_about() {
    let sheet = catalogue::find("atlas10k").unwrap().sheet;
    let plan = Plan {
        short: Short::NextRevolution,
        split_beyond: 0.2,
        prefetch: Prefetch::Always,
        prefetch_margin: Span::ZERO,
        chunk: 16,
        ..Plan::VIRTUAL_IO_2002
    };
    let rules = Rules { plan: Some(plan), preemption: Preemption::Priority, ..Rules::default() };
    let (drive, policy, seek) = ("atlas10k", "satf", SeekBy::Command);
    let scene = Scene { rules, seek, drive, policy, requests: 6000, gap: Span(12_000_000), writes: 2, seed: 1 };
    let (world, tally) = play(&scene, &sheet, Profile::new(&sheet));
    println!("{} finished, {} did not, {} blocks copied", world.finished, world.refused, world.copied);
    assert!(world.finished > 1000 && world.refused > 500 && world.copied > 1000);
    assert_eq!(world.copied, tally.prefetched_used);
    assert!(tally.preemptions > 100 && tally.cascades > 3 && tally.sub_seeks > 100 && tally.jit_seeks > 500);
}
