//! Who is held waits for the turn of those before him that he overlaps: they are as urgent as he is.

use crate::random::check;
use crate::toy::Dice;
use block::{Caps, Change, DiskId, Ending, Extent, Op, Outcome, Qos, Request, RequestId, Tag, Time};
use proptest::prelude::*;
use sched::plan::{ClassRule, Rules};
use sched::policy::{self, Beside};
use sched::predict::Distance;
use sched::value::{Curve, Worth};
use sched::{Action, Core, Input};
use std::collections::BTreeMap;

/// A core that serves one request at a time, and what it has to do.
struct Bench {
    core: Core<Distance>,
    now: u64,
    waiting: BTreeMap<u32, Request>,
    flying: Option<u32>,
}

impl Bench {
    fn new(name: &'static str, curve: Curve) -> Bench {
        let worth = Worth { curve, ..Worth::USUAL };
        let rules = Rules { classes: vec![ClassRule { worth, ..ClassRule::USUAL }], ..Rules::default() };
        let caps = Caps { blocks: 100_000, depth: 1, seek: block::SeekBy::Command, arms: 1 };
        let make = move || policy::usual(name).make(&Beside::default());
        let core = Core::new(caps, 1000, Distance::default(), rules, Box::new(make));
        Bench { core, now: 0, waiting: BTreeMap::new(), flying: None }
    }

    /// Gives the core an input; the request that it issues, and whether one was dropped.
    fn handle(&mut self, input: Input) -> (Option<u32>, bool) {
        self.now += 1000;
        let mut out = Vec::new();
        self.core.handle(Time(self.now), input, &mut out);
        let (mut issued, mut dropped) = (None, false);
        for action in out {
            match action {
                // No two of a test begin at one block.
                Action::Issue(_, _, command) => {
                    issued = self.waiting.iter().find(|(_, request)| request.at == command.at).map(|(id, _)| *id);
                }
                Action::Finish(_, how) => dropped |= how == Ending::Dropped,
                _ => {}
            }
        }
        (issued, dropped)
    }

    fn submit(&mut self, id: u32, op: Op, at: Extent, qos: Qos) {
        let request = Request { id: RequestId(id), op, at, qos };
        self.waiting.insert(id, request);
        if let (Some(issued), _) = self.handle(Input::Submit(request)) {
            self.flying = Some(issued);
            self.waiting.remove(&issued);
        }
    }

    /// The command in flight ends; what is issued then.
    fn complete(&mut self) -> Option<Request> {
        self.flying.take()?;
        let (issued, dropped) = self.handle(Input::Done(DiskId(0), Tag(0), Time(self.now + 1000), Outcome::Ok));
        assert!(!dropped, "nobody's deadline became another's end");
        self.flying = issued;
        self.waiting.remove(&issued?)
    }

    /// The last earlier one that a request overlaps, where either writes; the one in flight apart.
    fn blocker(&self, it: &Request) -> Option<&Request> {
        let meets = |other: &Request| other.at.start < it.at.end() && it.at.start < other.at.end();
        let before = self.waiting.values().filter(|other| other.id < it.id && meets(other));
        before.filter(|other| other.op.writes() || it.op.writes()).max_by_key(|other| other.id)
    }
}

fn write() -> Op {
    Op::Write { fua: false }
}

fn urgent() -> Qos {
    Qos { priority: 2, ..Qos::default() }
}

#[test]
fn what_an_urgent_one_is_held_behind_goes_before_others_and_what_that_is_held_behind_first() {
    for amended in [false, true] {
        let mut bench = Bench::new("priority-1", Curve::HARD);
        bench.submit(0, Op::Read, Extent::new(0, 8), Qos::default());
        for id in 1..5 {
            bench.submit(id, Op::Read, Extent::new(1000 * u64::from(id), 8), Qos::default());
        }
        bench.submit(5, write(), Extent::new(90_000, 8), Qos::default());
        bench.submit(6, write(), Extent::new(90_004, 8), Qos::default());
        bench.submit(7, Op::Read, Extent::new(90_008, 8), if amended { Qos::default() } else { urgent() });
        if amended {
            bench.handle(Input::Amend(RequestId(7), Change::Qos(urgent())));
        }
        let order: Vec<u32> = std::iter::from_fn(|| bench.complete().map(|it| it.id.0)).collect();
        assert_eq!(order[..3], [5, 6, 7], "{order:?}");
        assert_eq!(order.len(), 7, "{order:?}");
    }
}

/// A request that is dropped at its deadline, or worth less towards it, keeps its own: here it has none.
#[test]
fn a_deadline_is_handed_on_only_where_it_is_a_time_limit() {
    for (curve, first) in [(Curve::BEST_EFFORT, 5), (Curve::interactive_best_effort(0.5), 1)] {
        let mut bench = Bench::new("edf", curve);
        bench.submit(0, Op::Read, Extent::new(0, 8), Qos::default());
        bench.submit(1, Op::Read, Extent::new(1000, 8), Qos::default());
        bench.submit(5, write(), Extent::new(90_000, 8), Qos::default());
        let deadline = Some(Time(1_000_000));
        bench.submit(6, Op::Read, Extent::new(90_004, 8), Qos { deadline, ..Qos::default() });
        assert_eq!(bench.complete().map(|it| it.id.0), Some(first));
    }
}

/// Of all that could go next the one goes that is most urgent, or that somebody most urgent is held behind.
#[test]
fn nothing_less_urgent_goes_before_what_the_urgent_are_held_behind() {
    check(200, (any::<u64>(), any::<bool>()), |(seed, by_deadline)| {
        let mut dice = Dice(seed);
        let mut bench = Bench::new(if by_deadline { "edf" } else { "priority-2" }, Curve::BEST_EFFORT);
        for id in 0..120 {
            // By id, so that no two begin at one block.
            let at = Extent::new(dice.below(40) * 1000 + u64::from(id), 40 + dice.below(200) as u32);
            let op = if dice.once_in(2) { write() } else { Op::Read };
            let priority = if dice.once_in(4) { 1 } else { 0 };
            let deadline = (by_deadline && dice.once_in(4)).then(|| Time(1_000_000_000 + dice.below(1_000_000)));
            bench.submit(id, op, at, Qos { class: 0, priority, deadline });
            if dice.once_in(3) {
                go_on(&mut bench, by_deadline)?;
            }
        }
        while bench.flying.is_some() {
            go_on(&mut bench, by_deadline)?;
        }
        prop_assert!(bench.waiting.is_empty());
        Ok(())
    });
}

fn go_on(bench: &mut Bench, by_deadline: bool) -> Result<(), TestCaseError> {
    let rank = |qos: Qos| {
        if by_deadline { qos.deadline.map_or(0, |deadline| u64::MAX - deadline.0) } else { u64::from(qos.priority) }
    };
    // What each that waits hands on to the one at the end of those before it.
    let mut urgency = BTreeMap::<u32, u64>::new();
    for it in bench.waiting.values() {
        let mut first = it;
        while let Some(blocker) = bench.blocker(first) {
            first = blocker;
        }
        let most = urgency.entry(first.id.0).or_default();
        *most = (*most).max(rank(it.qos));
    }
    let Some(issued) = bench.complete() else { return Ok(()) };
    let most = urgency.values().max().copied();
    prop_assert_eq!(urgency.get(&issued.id.0).copied(), most, "{:?} before {:?}", issued, urgency);
    Ok(())
}
