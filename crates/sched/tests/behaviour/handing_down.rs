//! How much is handed down to a drive that queues commands by itself: all it takes while nobody urgent may come, little while
//! someone may, and nothing beside who is urgent; with short commands or without, each block once.

use crate::toy::Dice;
use block::{Caps, Command, DiskId, Ending, Extent, Op, Outcome, Qos, Request, RequestId, Span, Tag, Time, Verb};
use sched::plan::{Plan, Preemption, Rules};
use sched::policy::{Beside, usual};
use sched::predict::{Distance, Predictor, Profile};
use sched::{Action, Core, Input, Limits};

const MS: u64 = 1_000_000;
/// What the drive takes for a command: it serves one at a time, in any order.
const EACH: Span = Span(5 * MS);
const DEPTH: u16 = 32;
const LIMITS: Limits = Limits { most: None, latency: Some(Span(18 * MS)), alert: Some(Span(400 * MS)) };

/// A drive that always has 40 reads or writes to do in bulk, and an urgent reader while it is told so.
struct Scene<P: Predictor> {
    core: Core<P>,
    dice: Dice,
    now: Time,
    /// What is in the drive, and when it is done with one of them.
    inside: Vec<(Tag, Command, bool)>,
    end: Option<Time>,
    /// Of each request: how many of its blocks have moved, and whether it ended.
    asked: Vec<(Request, u32, bool)>,
    urgent_since: Option<Time>,
    bulk: u32,
    /// The most that was in the drive in bulk, and how many ended.
    most: usize,
    ended: [u32; 2],
}

impl<P: Predictor + 'static> Scene<P> {
    fn new(limits: Option<Limits>, plan: Option<Plan>, belief: P, seed: u64) -> Scene<P> {
        let caps = Caps { blocks: 1 << 20, depth: DEPTH, seek: block::SeekBy::Nothing, arms: 1 };
        let rules = Rules { plan, preemption: Preemption::Priority, ..Rules::default() };
        let make = || usual("sstf").make(&Beside::default());
        let core = Core::new(caps, 1000, belief, rules, Box::new(make));
        let core = match limits {
            Some(limits) => core.admitting(limits),
            None => core,
        };
        let (inside, asked) = (Vec::new(), Vec::new());
        let (now, end, urgent_since) = (Time::ZERO, None, None);
        Scene { core, dice: Dice(seed), now, inside, end, asked, urgent_since, bulk: 0, most: 0, ended: [0; 2] }
    }

    fn submit(&mut self, priority: u8) {
        let write = priority == 0 && self.dice.once_in(3);
        let op = if write { Op::Write { fua: self.dice.once_in(2) } } else { Op::Read };
        let at = Extent::new(self.dice.below(1 << 16) * 8, 1 + self.dice.below(16) as u32);
        let qos = Qos { class: priority, priority, ..Qos::default() };
        let request = Request { id: RequestId(self.asked.len() as u32), op, at, qos };
        self.asked.push((request, 0, false));
        match priority {
            0 => self.bulk += 1,
            _ => self.urgent_since = Some(self.now),
        }
        self.tell(Input::Submit(request));
    }

    fn tell(&mut self, input: Input) {
        let mut out = Vec::new();
        self.core.handle(self.now, input, &mut out);
        for action in out {
            match action {
                Action::Issue(_, tag, command) => {
                    let urgent = matches!(command.place, block::Place::Request(id, _)
                        if self.asked[id.0 as usize].0.qos.priority > 0);
                    let beside = self.inside.iter().any(|(_, _, urgent)| *urgent);
                    assert!(urgent || !beside, "{command:?} follows an urgent one");
                    self.inside.push((tag, command, urgent));
                    self.most = self.most.max(self.in_bulk());
                    self.end = self.end.or(Some(self.now + EACH));
                }
                Action::Finish(id, how) => {
                    assert_eq!(how, Ending::Finished);
                    let (request, moved, ended) = &mut self.asked[id.0 as usize];
                    assert!(!std::mem::replace(ended, true) && *moved >= request.at.blocks, "{request:?}: {moved}");
                    match request.qos.priority {
                        0 => self.bulk -= 1,
                        _ => self.urgent_since = None,
                    }
                    self.ended[usize::from(request.qos.priority > 0)] += 1;
                }
                _ => {}
            }
        }
    }

    fn in_bulk(&self) -> usize {
        self.inside.iter().filter(|(_, _, urgent)| !urgent).count()
    }

    /// Goes on until then, with an urgent request every so often.
    fn until(&mut self, until: Time, urgent_every: Option<Span>) {
        let mut urgent = urgent_every.map_or(Time::NEVER, |every| self.now + every);
        while self.now < until {
            while self.bulk < 40 {
                self.submit(0);
            }
            let next = self.end.unwrap_or(Time::NEVER).min(urgent).min(self.core.wake_at().unwrap_or(Time::NEVER));
            self.now = self.now.max(next);
            if self.end == Some(next) {
                let chosen = self.dice.below(self.inside.len() as u64) as usize;
                let (tag, command, _) = self.inside.remove(chosen);
                self.end = (!self.inside.is_empty()).then_some(self.now + EACH);
                if let (block::Place::Request(id, _), true) = (command.place, command.verb != Verb::Seek) {
                    self.asked[id.0 as usize].1 += command.at.blocks;
                }
                self.tell(Input::Done(DiskId(0), tag, self.now, Outcome::Ok));
            } else if urgent == next {
                self.submit(1);
                urgent = self.now + urgent_every.expect("there is one");
            } else {
                self.tell(Input::Wake);
            }
        }
    }
}

/// The most in the drive in bulk while nobody urgent is there, a while after one has come first, and again when none has for long.
fn tides<P: Predictor + 'static>(mut scene: Scene<P>) -> [usize; 3] {
    let mut tide = |seconds: u64, every: Option<Span>, skip: u64| {
        let began = scene.now;
        scene.until(began + Span(skip * MS), every);
        scene.most = scene.in_bulk();
        scene.until(began + Span(seconds * 1000 * MS), every);
        scene.most
    };
    let tides = [tide(3, None, 0), tide(5, Some(Span(100 * MS)), 500), tide(3, None, 1000)];
    assert!(scene.ended[0] > 500 && scene.ended[1] >= 45, "{:?}", scene.ended);
    tides
}

#[test]
fn little_is_in_the_drive_while_someone_urgent_may_come() {
    for seed in 0..5 {
        let scene = |limits, plan| Scene::new(limits, plan, Distance::default(), seed);
        assert_eq!(tides(scene(Some(LIMITS), None)), [32, 3, 32], "whole requests of 5 ms each, 18 ms at most");
        assert_eq!(tides(scene(Some(LIMITS), Some(Plan::of_chunk(8)))), [32, 1, 32], "one short command at a time");
        assert!(std::panic::catch_unwind(|| tides(scene(None, None))).is_err(), "all follow the urgent ones");
        let bounded = Limits { most: Some(7), ..LIMITS };
        assert_eq!(tides(scene(Some(bounded), None)), [7, 3, 7]);
    }
}

#[test]
fn the_same_holds_for_who_believes_in_a_drive() {
    let sheet = disk::catalogue::find("mimic-base").expect("it is in the catalogue").sheet;
    let [before, beside, after] = tides(Scene::new(Some(LIMITS), None, Profile::new(&sheet), 3));
    assert!((before, after) == (32, 32) && beside <= 5, "{before} {beside} {after}");
}
