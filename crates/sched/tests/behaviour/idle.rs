//! Probes in idle time: one at a time, only while there is no request, so that what comes meanwhile waits for one at most.

use crate::random::check;
use crate::toy::Dice;
use block::{Caps, Command, DiskId, Extent, Op, Outcome, Place, Qos, Request, RequestId, Span, Tag, Time, Verb};
use proptest::prelude::*;
use sched::plan::{Plan, Rules};
use sched::policy::{self, Beside};
use sched::predict::Mimic;
use sched::predict::mimic::{Idle, Learning};
use sched::{Action, Core, Input, World, run};

const BLOCKS: u64 = 1_000_000;
const REQUESTS: u32 = 400;

/// A device of random times, and requests that come together now and then.
struct Doze {
    dice: Dice,
    now: Time,
    left: u32,
    next_submission: Time,
    waiting: Vec<RequestId>,
    outstanding: u32,
    flying: Vec<Option<(Time, Command)>>,
    after: Span,
    /// Since when there has been no request and no command.
    quiet: Option<Time>,
    /// Probes sent, and those that a request found in flight.
    probes: u32,
    found: u32,
    /// Of requests, the first block, and the one after the last.
    range: (u64, u64),
}

impl Doze {
    fn is_idle(&self) -> bool {
        self.flying.iter().all(Option::is_none)
    }

    fn probing(&self) -> bool {
        self.flying.iter().flatten().any(|(_, command)| command.place == Place::Nowhere && command.verb == Verb::Read)
    }

    fn submission(&mut self) -> Input {
        self.left -= 1;
        let gap = if self.dice.once_in(4) { self.dice.below(200_000_000) } else { self.dice.below(1_000_000) };
        self.next_submission = Time(self.now.0 + gap);
        let at = Extent::new(200_000 + 8 * self.dice.below(2000), 8);
        self.range = (self.range.0.min(at.start.0), self.range.1.max(at.end().0));
        let id = RequestId(REQUESTS - self.left);
        self.found += u32::from(self.probing());
        self.waiting.push(id);
        self.outstanding += 1;
        Input::Submit(Request { id, op: Op::Read, at, qos: Qos::default() })
    }

    fn sent(&mut self, command: &Command) {
        if command.place != Place::Nowhere || command.verb == Verb::Seek {
            return;
        }
        assert_eq!(command.verb, Verb::Read);
        assert!(self.outstanding == 0 && self.is_idle(), "{command:?} while there are requests, or another");
        let quiet = self.quiet.unwrap_or(self.now);
        assert!(self.now >= quiet + self.after, "{command:?} at {:?}, quiet since {quiet:?}", self.now);
        let (first, end) = self.range;
        assert!(command.at.start.0 >= first && command.at.end().0 <= end, "{command:?} where nobody asked");
        self.probes += 1;
    }
}

impl World for Doze {
    fn next(&mut self, wake: Option<Time>, room: u32) -> Option<(Time, Input)> {
        // Whoever waits has the device, or one probe that was in it before: nothing else is let in between.
        assert!(self.waiting.is_empty() || !self.is_idle() || wake.is_some(), "{:?} wait for nothing", self.waiting);
        if self.outstanding == 0 && self.left == 0 {
            return None;
        }
        if self.outstanding > 0 || !self.is_idle() && !self.probing() {
            self.quiet = None;
        } else if self.is_idle() {
            self.quiet.get_or_insert(self.now);
        }
        let ends = self.flying.iter().enumerate().filter_map(|(tag, flying)| Some((flying.as_ref()?.0, tag)));
        let done = ends.min();
        let submission = (self.left > 0 && room > 0).then_some(self.next_submission.max(self.now));
        let wake = wake.map(|wake| wake.max(self.now));
        self.now = [done.map(|(end, _)| end), submission, wake].into_iter().flatten().min()?;
        let input = match done {
            Some((end, tag)) if end == self.now => {
                self.flying[tag] = None;
                Input::Done(DiskId(0), Tag(tag as u32), end, Outcome::Ok)
            }
            _ if submission == Some(self.now) => self.submission(),
            _ => Input::Wake,
        };
        Some((self.now, input))
    }

    fn act(&mut self, now: Time, action: Action) {
        match action {
            Action::Issue(_, tag, command) => {
                self.sent(&command);
                if let Place::Request(id, _) = command.place {
                    self.waiting.retain(|waiting| *waiting != id);
                }
                let took = [self.dice.below(10_000_000), 0][usize::from(self.dice.once_in(8))];
                self.flying[tag.0 as usize] = Some((Time(now.0 + took), command));
            }
            Action::Finish(..) => self.outstanding -= 1,
            Action::Begin(_) | Action::Copy { .. } | Action::Xor { .. } | Action::Wait(..) => {}
            Action::Credit(_) | Action::HandOn(..) | Action::Bill(_) => {}
            Action::GiveUp(_) | Action::Complete(_) | Action::Grown(..) | Action::Compare { .. } | Action::Mend(..) => {
                panic!("one disk is no array")
            }
            Action::Record { .. } | Action::Forget(_) | Action::Log(_) => {
                panic!("one disk has no rows")
            }
        }
    }
}

/// Runs requests in a world that dozes: probes sent, and those that a request found in flight.
fn doze(name: &str, seed: u64, depth: u16, after: Span, short: bool) -> (u32, u32) {
    let caps = Caps { blocks: BLOCKS, depth, seek: block::SeekBy::Command, arms: 1 };
    let idle = Some(Idle { after, enough: 10, blocks: 2 });
    let policy = name.to_owned();
    let make = move || policy::usual(&policy).make(&Beside::default());
    let rules = Rules { plan: short.then(|| Plan::of_chunk(4)), ..Rules::default() };
    let belief = Mimic::new(BLOCKS, Learning { idle, ..Learning::default() });
    let mut core = Core::new(caps, 1000, belief, rules, Box::new(make));
    let mut world = Doze {
        dice: Dice(seed),
        now: Time::ZERO,
        left: REQUESTS,
        next_submission: Time::ZERO,
        waiting: Vec::new(),
        outstanding: 0,
        flying: vec![None; usize::from(depth)],
        after,
        quiet: None,
        probes: 0,
        found: 0,
        range: (u64::MAX, 0),
    };
    run(&mut core, &mut world);
    assert_eq!((world.left, world.outstanding), (0, 0));
    (world.probes, world.found)
}

#[test]
fn a_request_waits_for_one_probe_at_most() {
    let name = prop::sample::select(vec!["smtf", "sstf", "yield", "fcfs"]);
    let after = prop_oneof![Just(0u64), 0..50_000_000u64];
    check(200, (name, any::<u64>(), 1..4u16, after, any::<bool>()), |(name, seed, depth, after, short)| {
        doze(name, seed, depth, Span(after), short);
        Ok(())
    });
}

#[test]
fn idle_time_is_used_and_sometimes_a_request_comes_in_it() {
    let (probes, found) = doze("smtf", 1, 1, Span(20_000_000), false);
    println!("{probes} probes, {found} found by a request");
    assert!(probes > 500 && found > 20);
}
