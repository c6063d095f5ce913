//! Each request ends exactly once and commands go out in a lawful order, in a world of random requests, service times,
//! failures, deadlines, amendments and cancellations.

use crate::random::check;
use crate::toy::Dice;
use block::errno::{ECANCELED, EINVAL, EIO};
use block::{
    Caps, Change, Command, Discarded, DiskId, Ending, Extent, Op, Outcome, Place, Qos, Request, RequestId, Span, Tag,
    Time, Verb,
};
use proptest::prelude::*;
use sched::plan::Rules;
use sched::policy::{self, Beside};
use sched::predict::Distance;
use sched::{Action, Core, Input, World, run};

/// Small, so that requests overlap.
const BLOCKS: u64 = 300;

/// So long `bfq` keeps the device idle.
const IDLES: Span = Span(300);

/// A request inside the core.
#[derive(Clone, Copy, Debug)]
struct Inside {
    request: Request,
    order: u64,
    flying: bool,
    cancelled: bool,
}

/// A command on its way.
#[derive(Clone, Copy, Debug)]
struct Flying {
    id: RequestId,
    end: Time,
    outcome: Outcome,
}

struct Chaos {
    dice: Dice,
    depth: usize,
    /// Whether the policy may keep requests back as long as others are in the device.
    holds_back: bool,
    /// Whether it may also keep the device idle, until it is woken soon.
    idles: bool,
    limit: u32,
    now: Time,
    left: u32,
    next_submission: Time,
    next_amendment: Time,
    inside: Vec<Option<Inside>>,
    flying: Vec<Option<Flying>>,
    order: u64,
    /// The command that just came back, and the request it was for.
    came_back: Option<(RequestId, Outcome)>,
    finished: u32,
    dropped: u32,
    invalid: u32,
    cancelled: u32,
}

impl Chaos {
    fn new(seed: u64, depth: u16, limit: u32, left: u32) -> Chaos {
        Chaos {
            dice: Dice(seed),
            depth: usize::from(depth),
            holds_back: false,
            idles: false,
            limit,
            now: Time::ZERO,
            left,
            next_submission: Time::ZERO,
            next_amendment: Time::ZERO,
            inside: vec![None; limit as usize + 1],
            flying: vec![None; usize::from(depth)],
            order: 0,
            came_back: None,
            finished: 0,
            dropped: 0,
            invalid: 0,
            cancelled: 0,
        }
    }

    fn jobs(&self) -> impl Iterator<Item = &Inside> {
        self.inside.iter().flatten()
    }

    fn waiting(&self) -> impl Iterator<Item = &Inside> {
        self.jobs().filter(|job| !job.flying)
    }

    /// Whether a request must wait for an earlier one it overlaps.
    fn must_wait(&self, job: &Inside) -> bool {
        self.jobs().any(|other| {
            other.order < job.order
                && other.request.at.overlaps(job.request.at)
                && (other.request.op.writes() || job.request.op.writes())
        })
    }

    fn qos(&mut self) -> Qos {
        let deadline = match self.dice.below(4) {
            0 => Some(Time(self.now.0 + self.dice.below(2000))),
            1 => Some(Time(self.now.0 + self.dice.below(100_000))),
            _ => None,
        };
        Qos { class: 0, priority: self.dice.below(3) as u8, deadline }
    }

    fn request(&mut self) -> Request {
        let id = RequestId(self.inside.iter().position(Option::is_none).expect("there was room") as u32);
        let (start, blocks) = (self.dice.below(BLOCKS), 1 + self.dice.below(30) as u32);
        let (op, at) = match self.dice.below(20) {
            0 => (Op::Flush, Extent::default()),
            1 => (Op::Write { fua: true }, Extent::new(start, blocks)),
            2 => (Op::Read, Extent::new(start, 0)),
            3 => (Op::Read, Extent::new(u64::MAX - 3, blocks)),
            4..10 => (Op::Write { fua: false }, Extent::new(start, blocks)),
            10 => (Op::Discard(Discarded::Anything), Extent::new(start, blocks)),
            _ => (Op::Read, Extent::new(start, blocks)),
        };
        Request { id, op, at, qos: self.qos() }
    }

    fn submission(&mut self) -> Input {
        self.left -= 1;
        self.next_submission = Time(self.now.0 + [0, self.dice.below(200)][usize::from(!self.dice.once_in(3))]);
        let request = self.request();
        self.order += 1;
        let inside = Inside { request, order: self.order, flying: false, cancelled: false };
        self.inside[request.id.0 as usize] = Some(inside);
        Input::Submit(request)
    }

    /// Some request, perhaps one that is not there, is amended.
    fn amendment(&mut self) -> Input {
        self.next_amendment = Time(self.now.0 + self.dice.below(400));
        let id = RequestId(self.dice.below(self.inside.len() as u64) as u32);
        let change = if self.dice.once_in(2) { Change::Cancel } else { Change::Qos(self.qos()) };
        if let Some(job) = &mut self.inside[id.0 as usize] {
            match change {
                Change::Cancel => job.cancelled = true,
                Change::Qos(qos) => job.request.qos = qos,
            }
        }
        Input::Amend(id, change)
    }

    fn completion(&mut self, tag: usize) -> Input {
        let Flying { id, outcome, end } = self.flying[tag].take().expect("it is in flight");
        self.came_back = Some((id, outcome));
        Input::Done(DiskId(0), Tag(tag as u32), end, outcome)
    }

    /// What must hold whenever the core waits.
    fn at_rest(&self, wake: Option<Time>, room: u32) {
        assert_eq!(room, self.limit - self.jobs().count() as u32, "room");
        let soonest = self.waiting().filter_map(|job| job.request.qos.deadline).min();
        if let Some(soonest) = soonest {
            assert!(soonest > self.now && wake.is_some_and(|wake| wake <= soonest), "{wake:?} for {soonest:?}");
        }
        let idle = self.flying.iter().any(Option::is_none);
        let free = self.waiting().find(|job| !self.must_wait(job));
        let soon = Time(self.now.0 + IDLES.0);
        let held_back = self.holds_back && self.flying.iter().any(Option::is_some)
            || self.idles && wake.is_some_and(|wake| wake > self.now && wake <= soon);
        assert!(!idle || free.is_none() || held_back, "a tag is free and {free:?} waits");
        assert!(self.came_back.is_none(), "{:?} came back and its request has not ended", self.came_back);
    }

    fn issue(&mut self, tag: Tag, command: Command) {
        let Place::Request(id, 0) = command.place else { panic!("{command:?}") };
        let job = self.inside[id.0 as usize].expect("a request that has ended is issued");
        assert!(!job.flying, "{job:?} is issued twice");
        assert!((tag.0 as usize) < self.depth && self.flying[tag.0 as usize].is_none(), "{tag:?} is in use");
        assert!(!self.must_wait(&job), "{job:?} overtakes one it overlaps");
        assert!(job.request.qos.deadline.is_none_or(|deadline| deadline > self.now), "{job:?} is issued too late");
        let verb = match job.request.op {
            Op::Read | Op::Repair => Verb::Read,
            Op::Write { fua } => Verb::Write { fua },
            Op::Move => Verb::Write { fua: false },
            Op::Discard(what) => Verb::Discard(what),
            Op::Flush => Verb::Flush,
        };
        assert_eq!((command.verb, command.at), (verb, job.request.at));
        let outcome = if self.dice.once_in(10) { Outcome::Failed(EIO) } else { Outcome::Ok };
        let took = [1 + self.dice.below(400), 0][usize::from(self.dice.once_in(8))];
        self.flying[tag.0 as usize] = Some(Flying { id, end: Time(self.now.0 + took), outcome });
        self.inside[id.0 as usize] = Some(Inside { flying: true, ..job });
    }

    fn finish(&mut self, id: RequestId, how: Ending) {
        let job = self.inside[id.0 as usize].take().expect("a request ends twice");
        let Request { op, at, qos, .. } = job.request;
        let sane = op == Op::Flush || (at.blocks > 0 && at.end().0 <= BLOCKS);
        match how {
            Ending::Failed(EINVAL) => {
                assert!(!sane && !job.flying, "{job:?} is valid");
                self.invalid += 1;
                return;
            }
            Ending::Failed(ECANCELED) => {
                assert!(job.cancelled && !job.flying, "{job:?}");
                self.cancelled += 1;
            }
            Ending::Dropped => {
                // It was woken in time, or told of a deadline that had passed.
                assert!(!job.flying && qos.deadline.is_some_and(|deadline| deadline <= self.now), "{job:?}");
                self.dropped += 1;
            }
            Ending::Finished => assert_eq!(self.came_back.take(), Some((id, Outcome::Ok)), "{job:?}"),
            Ending::Failed(EIO) => assert_eq!(self.came_back.take(), Some((id, Outcome::Failed(EIO))), "{job:?}"),
            Ending::Failed(errno) => panic!("{job:?} failed with {errno}"),
        }
        assert!(sane, "{job:?} is invalid");
        self.finished += 1;
    }
}

impl World for Chaos {
    fn next(&mut self, wake: Option<Time>, room: u32) -> Option<(Time, Input)> {
        self.at_rest(wake, room);
        let ends = self.flying.iter().enumerate().filter_map(|(tag, flying)| Some((flying.as_ref()?.end, tag)));
        let done = ends.min();
        let submission = (self.left > 0 && room > 0).then_some(self.next_submission.max(self.now));
        // Amendments go on for as long as anything else does.
        let busy = done.is_some() || submission.is_some() || self.jobs().next().is_some();
        let amendment = busy.then_some(self.next_amendment.max(self.now));
        let wake = wake.map(|wake| wake.max(self.now));
        let first = [done.map(|(end, _)| end), amendment, submission, wake].into_iter().flatten().min()?;
        self.now = first;
        let input = match done {
            Some((end, tag)) if end == first => self.completion(tag),
            _ if amendment == Some(first) => self.amendment(),
            _ if submission == Some(first) => self.submission(),
            _ => Input::Wake,
        };
        Some((first, input))
    }

    fn act(&mut self, now: Time, action: Action) {
        assert_eq!(now, self.now);
        match action {
            Action::Issue(_, tag, command) => self.issue(tag, command),
            Action::Finish(id, how) => self.finish(id, how),
            Action::Begin(_)
            | Action::Copy { .. }
            | Action::Xor { .. }
            | Action::GiveUp(_)
            | Action::Complete(_)
            | Action::Grown(..)
            | Action::Compare { .. }
            | Action::Mend(..)
            | Action::Record { .. }
            | Action::Forget(_)
            | Action::Log(_)
            | Action::Wait(..)
            | Action::Credit(_)
            | Action::Bill(_)
            | Action::HandOn(..) => {
                panic!("{action:?} where requests are served whole")
            }
        }
    }
}

/// Runs `requests` requests to their end in a world of chaos.
fn chaos(name: &str, seed: u64, depth: u16, limit: u32, requests: u32) -> Chaos {
    let caps = Caps { blocks: BLOCKS, depth, seek: block::SeekBy::Command, arms: 1 };
    let idles = ("slice_idle", format!("'{}ns'", IDLES.0));
    let policy = policy::with(name, &[("age_limit", "'3us'".into()), ("batch", "4".into()), idles]);
    let make = move || policy.make::<Distance>(&Beside::default());
    let holds_back = make().follows_service();
    let mut core = Core::new(caps, limit, Distance::default(), Rules::default(), Box::new(make));
    let mut world = Chaos::new(seed, depth, limit, requests);
    (world.holds_back, world.idles) = (holds_back, name == "bfq");
    run(&mut core, &mut world);
    assert_eq!(core.room(), limit);
    assert_eq!(world.left, 0);
    assert!(world.jobs().next().is_none(), "{:?} never ended", world.jobs().next());
    world
}

#[test]
fn each_request_ends_exactly_once_and_overlapping_writes_keep_their_order() {
    let name = prop::sample::select(policy::names().collect::<Vec<_>>());
    let limit = prop_oneof![Just(1u32), 2..10u32, 10..60u32];
    check(300, (name, any::<u64>(), 1..5u16, limit), |(name, seed, depth, limit)| {
        chaos(name, seed, depth, limit, 400);
        Ok(())
    });
}

#[test]
fn requests_end_in_every_way_there_is() {
    let world = chaos("satf", 1, 2, 40, 20_000);
    let Chaos { finished, dropped, invalid, cancelled, .. } = world;
    println!("{finished} ended: {dropped} dropped, {cancelled} cancelled; {invalid} refused");
    assert_eq!(finished + invalid, 20_000);
    assert!(dropped > 500 && invalid > 500 && cancelled > 500 && finished - dropped - cancelled > 5000);
}

#[test]
fn what_waits_at_its_deadline_is_dropped_then_and_not_later() {
    let caps = Caps { blocks: BLOCKS, depth: 1, seek: block::SeekBy::Command, arms: 1 };
    let make = || policy::usual("fcfs").make(&Beside::default());
    let mut core = Core::new(caps, 8, Distance::default(), Rules::default(), Box::new(make));
    let mut out = Vec::new();
    let request = |id, deadline: Option<u64>| {
        let qos = Qos { deadline: deadline.map(Time), ..Qos::default() };
        Input::Submit(Request { id: RequestId(id), op: Op::Read, at: Extent::new(u64::from(id) * 10, 5), qos })
    };
    core.handle(Time(0), request(0, Some(50)), &mut out);
    core.handle(Time(0), request(1, Some(100)), &mut out);
    core.handle(Time(0), request(2, Some(70)), &mut out);
    core.handle(Time(10), Input::Amend(RequestId(2), Change::Qos(Qos::default())), &mut out);
    out.clear();
    // The first is on the device: its deadline is past being held.
    core.handle(Time(50), Input::Wake, &mut out);
    core.handle(Time(70), Input::Wake, &mut out);
    core.handle(Time(99), Input::Wake, &mut out);
    assert_eq!((out.as_slice(), core.wake_at()), ([].as_slice(), Some(Time(100))));
    core.handle(Time(100), Input::Wake, &mut out);
    assert_eq!(out, [Action::Finish(RequestId(1), Ending::Dropped)]);
    out.clear();
    core.handle(Time(200), Input::Done(DiskId(0), Tag(0), Time(200), Outcome::Ok), &mut out);
    assert_eq!(out[0], Action::Finish(RequestId(0), Ending::Finished));
    assert!(matches!(out[1], Action::Issue(_, Tag(0), command) if command.at.start.0 == 20), "{out:?}");
    assert_eq!(core.wake_at(), None);
}
