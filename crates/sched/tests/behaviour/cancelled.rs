//! A request that is cancelled while it waits to go on: one that was interrupted, and one of which a piece is read now and then.

use crate::toy::Dice;
use block::errno::ECANCELED;
use block::{
    Caps, Change, Command, DiskId, Ending, Extent, Op, Outcome, Place, Qos, Request, RequestId, Span, Tag, Time,
};
use sched::plan::{ClassRule, Plan, PreemptAt, Preemption, Rules};
use sched::policy::{self, Beside};
use sched::predict::Distance;
use sched::{Action, Core, FreePlan, Input, Wanted};

#[test]
fn one_interrupted_and_cancelled_is_gone_whatever_the_policy() {
    let request = |id, start, blocks, priority| Request {
        id: RequestId(id),
        op: Op::Read,
        at: Extent::new(start, blocks),
        qos: Qos { priority, ..Qos::default() },
    };
    for name in policy::names() {
        let plan = Plan { jit: false, ..Plan::of_chunk(8) };
        let (preemption, preempt_at) = (Preemption::Priority, PreemptAt::Command);
        let rules = Rules { plan: Some(plan), preemption, preempt_at, ..Rules::default() };
        let caps = Caps { blocks: 100_000, depth: 1, seek: block::SeekBy::Command, arms: 1 };
        let make = move || policy::usual(name).make(&Beside::default());
        let mut core = Core::new(caps, 8, Distance::default(), rules, Box::new(make));
        let mut out = Vec::new();
        let mut at = 0;
        let mut handle = |core: &mut Core<Distance>, input, out: &mut Vec<Action>| {
            at += 1000;
            core.handle(Time(at), input, out);
        };
        handle(&mut core, Input::Submit(request(0, 1000, 100, 0)), &mut out);
        handle(&mut core, Input::Submit(request(1, 5000, 8, 1)), &mut out);
        handle(&mut core, Input::Done(DiskId(0), Tag(0), Time(2500), Outcome::Ok), &mut out);
        handle(&mut core, Input::Amend(RequestId(0), Change::Cancel), &mut out);
        assert_eq!(out.last(), Some(&Action::Finish(RequestId(0), Ending::Failed(ECANCELED))), "{name}");
        // Another in its slot, and one that waits behind.
        handle(&mut core, Input::Submit(request(2, 90_000, 8, 0)), &mut out);
        handle(&mut core, Input::Submit(request(3, 95_000, 8, 0)), &mut out);
        out.clear();
        for turn in 0..3 {
            handle(&mut core, Input::Done(DiskId(0), Tag(0), Time(4500 + turn * 1000), Outcome::Ok), &mut out);
        }
        let mut ended: Vec<(u32, Ending)> = Vec::new();
        out.iter().for_each(|action| {
            if let Action::Finish(id, how) = action {
                ended.push((id.0, *how))
            }
        });
        // In which order those end that waited is the policy's affair.
        ended[1..].sort_by_key(|(id, _)| *id);
        assert_eq!(ended, [1, 2, 3].map(|id| (id, Ending::Finished)), "{name}");
        assert_eq!(core.room(), 8, "{name}");
    }
}

/// A read that may come back in any order, and what became of it.
struct Piecemeal {
    at: Extent,
    cancelled: bool,
    ended: bool,
    /// Which of its blocks came.
    came: Vec<bool>,
}

/// A core that reads them, and the command in flight.
struct Pieces {
    core: Core<Distance>,
    asked: Vec<Piecemeal>,
    flying: Option<Command>,
    now: Time,
}

impl Pieces {
    const LIMIT: u32 = 40;

    fn new() -> Pieces {
        let rules = Rules { classes: vec![ClassRule { any_order: true, ..ClassRule::USUAL }], ..Rules::default() };
        let caps = Caps { blocks: 10_000, depth: 1, seek: block::SeekBy::Command, arms: 1 };
        let make = || policy::usual("fcfs").make(&Beside::default());
        let wanted = Wanted::nothing(caps.blocks, 8);
        let plan = FreePlan { wanted, chunk: 16, patience: Span(10), class: 0, retries: 0 };
        let core = Core::new(caps, Pieces::LIMIT, Distance::default(), rules, Box::new(make)).wanting(plan);
        Pieces { core, asked: Vec::new(), flying: None, now: Time::ZERO }
    }

    fn ask(&mut self, at: Extent) -> Input {
        let id = RequestId(self.asked.len() as u32);
        self.asked.push(Piecemeal { at, cancelled: false, ended: false, came: vec![false; at.blocks as usize] });
        Input::Submit(Request { id, op: Op::Read, at, qos: Qos::default() })
    }

    fn cancel(&mut self, id: usize) -> Input {
        self.asked[id].cancelled |= !self.asked[id].ended;
        Input::Amend(RequestId(id as u32), Change::Cancel)
    }

    /// What is in flight comes back, or time passes until something is; nothing where neither will ever be.
    fn go_on(&mut self) -> Option<Input> {
        if let Some(command) = self.flying.take() {
            if let Place::Request(id, into) = command.place {
                let came = &mut self.asked[id.0 as usize].came[into as usize..][..command.at.blocks as usize];
                assert!(came.iter().all(|came| !came), "{command:?} once more");
                came.fill(true);
            }
            return Some(Input::Done(DiskId(0), Tag(0), self.now, Outcome::Ok));
        }
        self.now = self.now.max(self.core.wake_at()?);
        Some(Input::Wake)
    }

    fn handle(&mut self, input: Input) {
        let mut out = Vec::new();
        self.core.handle(self.now, input, &mut out);
        for action in out {
            match action {
                Action::Issue(_, _, command) => {
                    let Place::Request(id, into) = command.place else { panic!("{command:?} is for nobody") };
                    let it = &self.asked[id.0 as usize];
                    assert!(!it.cancelled && !it.ended, "{command:?} for one that is cancelled or has ended");
                    assert_eq!(command.at.start.0, it.at.start.0 + u64::from(into));
                    assert!(self.flying.replace(command).is_none());
                }
                Action::Finish(id, how) => {
                    let it = &mut self.asked[id.0 as usize];
                    assert!(!std::mem::replace(&mut it.ended, true), "{id:?} ended before");
                    let expected = if it.cancelled { Ending::Failed(ECANCELED) } else { Ending::Finished };
                    assert_eq!(how, expected, "{id:?}");
                    assert!(it.cancelled || it.came.iter().all(|came| *came), "{id:?} ended without all of its blocks");
                }
                _ => {}
            }
        }
    }
}

#[test]
fn of_what_may_come_in_any_order_nothing_more_is_read_once_it_is_cancelled() {
    for seed in 0..300 {
        let (mut it, mut dice) = (Pieces::new(), Dice(seed));
        for _ in 0..200 {
            it.now += Span(dice.below(20));
            let input = match dice.below(5) {
                0 if it.asked.len() < Pieces::LIMIT as usize => {
                    let at = Extent::new(8 * dice.below(150), 8 * (1 + dice.below(12) as u32));
                    Some(it.ask(at))
                }
                1 if !it.asked.is_empty() => {
                    let id = dice.below(it.asked.len() as u64) as usize;
                    Some(it.cancel(id))
                }
                _ => it.go_on(),
            };
            input.into_iter().for_each(|input| it.handle(input));
        }
        while let Some(input) = it.go_on() {
            it.handle(input);
        }
        assert!(it.asked.iter().all(|it| it.ended), "seed {seed}: some never end");
        assert_eq!(it.core.room(), Pieces::LIMIT, "seed {seed}");
    }
}
