//! What Linux's schedulers promise: BFQ's shares, budgets and idling, Kyber's depths.

use crate::random::check;
use block::{Caps, DiskId, Extent, Op, Outcome, Qos, Request, RequestId, Span, Tag, Time};
use proptest::prelude::*;
use sched::plan::Rules;
use sched::policy::{self, Beside};
use sched::predict::Distance;
use sched::{Action, Core, Input};
use std::collections::{BTreeMap, VecDeque};

const MS: u64 = 1_000_000;

/// What classes ask: each has so many requests outstanding, one after the other or anywhere, and asks again a while after one ended.
#[derive(Clone, Copy, Debug)]
struct Asks {
    outstanding: u32,
    blocks: u32,
    anywhere: bool,
    write: bool,
    think: Span,
    /// What a command of it takes.
    service: Span,
    priority: u8,
}

const READER: Asks =
    Asks { outstanding: 4, blocks: 64, anywhere: false, write: false, think: Span(0), service: Span(MS), priority: 0 };

/// A device that serves what it is given in order, `depth` in it at most, for classes that ask.
struct Disk {
    core: Core<Distance>,
    now: Time,
    asks: Vec<Asks>,
    inside: VecDeque<(Tag, usize)>,
    /// When the device is done with the first of those.
    done: Time,
    /// What is asked next: when, of which class.
    next: BTreeMap<(Time, u32), usize>,
    class_of: BTreeMap<u32, usize>,
    asked: u32,
    place: u64,
    /// The classes of commands given to the device, and when.
    begun: Vec<(Time, usize)>,
    /// The most commands of each class that were in the device at once, of late.
    most: Vec<usize>,
}

impl Disk {
    fn new(policy: policy::Chosen, depth: u16, asks: &[Asks], weights: &[f64]) -> Disk {
        let beside = Beside { weights: weights.to_vec(), ..Beside::default() };
        let caps = Caps { blocks: 1 << 40, depth, seek: block::SeekBy::Nothing, arms: 1 };
        let core = Core::new(caps, 4096, Distance::default(), Rules::default(), Box::new(move || policy.make(&beside)));
        let mut next = BTreeMap::new();
        for (class, ask) in asks.iter().enumerate() {
            (0..ask.outstanding).for_each(|n| _ = next.insert((Time::ZERO, n * 100 + class as u32), class));
        }
        Disk {
            core,
            now: Time::ZERO,
            asks: asks.to_vec(),
            inside: VecDeque::new(),
            done: Time::ZERO,
            next,
            class_of: BTreeMap::new(),
            asked: 10_000,
            place: 1,
            begun: Vec::new(),
            most: vec![0; asks.len()],
        }
    }

    fn handle(&mut self, input: Input) {
        let mut out = Vec::new();
        self.core.handle(self.now, input, &mut out);
        for action in out {
            match action {
                Action::Issue(_, tag, command) => {
                    let class = (command.at.start.0 >> 36) as usize;
                    self.begun.push((self.now, class));
                    if self.inside.is_empty() {
                        self.done = self.now + self.asks[class].service;
                    }
                    self.inside.push_back((tag, class));
                    let count = self.inside.iter().filter(|(_, it)| *it == class).count();
                    self.most[class] = self.most[class].max(count);
                }
                Action::Finish(request, _) => {
                    let class = self.class_of.remove(&request.0).expect("it was asked");
                    self.asked += 1;
                    self.next.insert((self.now + self.asks[class].think, self.asked), class);
                }
                _ => {}
            }
        }
    }

    fn submit(&mut self, class: usize) {
        let ask = self.asks[class];
        self.asked += 1;
        self.place += 1;
        let far = if ask.anywhere { self.place * 7_919_000 % (1 << 35) } else { 0 };
        let start = ((class as u64) << 36) + far + self.place * u64::from(ask.blocks);
        let id = RequestId(self.asked);
        self.class_of.insert(id.0, class);
        let op = if ask.write { Op::Write { fua: false } } else { Op::Read };
        let qos = Qos { class: class as u8, priority: ask.priority, deadline: None };
        self.handle(Input::Submit(Request { id, op, at: Extent::new(start, ask.blocks), qos }));
    }

    /// Goes on until a time.
    fn run(&mut self, until: Time) {
        loop {
            let done = if self.inside.is_empty() { Time::NEVER } else { self.done };
            let wake = self.core.wake_at().unwrap_or(Time::NEVER);
            let asked = self.next.first_key_value().map_or(Time::NEVER, |((at, _), _)| *at);
            let now = done.min(wake).min(asked);
            if now > until {
                return;
            }
            self.now = now.max(self.now);
            if done == now {
                let (tag, _) = self.inside.pop_front().expect("one is in it");
                if let Some((_, class)) = self.inside.front() {
                    self.done = now + self.asks[*class].service;
                }
                self.handle(Input::Done(DiskId(0), tag, now, Outcome::Ok));
            } else if asked == now {
                let (_, class) = self.next.pop_first().expect("one is asked");
                self.submit(class);
            } else {
                self.handle(Input::Wake);
            }
        }
    }

    /// Commands of each class from a time on, times what `of` says.
    fn sums(&self, from: Time, of: impl Fn(&Asks) -> f64) -> Vec<f64> {
        let count = |class: usize| self.begun.iter().filter(|(at, it)| *at >= from && *it == class).count() as f64;
        self.asks.iter().enumerate().map(|(class, asks)| count(class) * of(asks)).collect()
    }
}

#[test]
fn bfq_shares_the_time_of_a_disk_by_weight_among_those_that_seek_and_blocks_among_those_that_do_not() {
    let weights = prop::collection::vec(1u32..6, 2..5);
    check(24, (weights, any::<bool>()), |(weights, anywhere)| {
        let weights: Vec<f64> = weights.into_iter().map(f64::from).collect();
        // Of those that seek, some take longer: they get the less done.
        let asks: Vec<Asks> = (0..weights.len() as u64)
            .map(|class| Asks { anywhere, service: Span(if anywhere { (class + 1) * 3 * MS } else { MS }), ..READER })
            .collect();
        let mut disk = Disk::new(policy::usual("bfq"), 1, &asks, &weights);
        disk.run(Time(120_000 * MS));
        let sums = disk.sums(Time(5_000 * MS), |it| if anywhere { it.service.0 as f64 } else { f64::from(it.blocks) });
        let (all, heavy) = (sums.iter().sum::<f64>(), weights.iter().sum::<f64>());
        for (sum, weight) in sums.iter().zip(&weights) {
            let (got, fair) = (sum / all, weight / heavy);
            prop_assert!((got - fair).abs() < 0.03, "{weights:?} {anywhere}: {got} for {fair}");
        }
        Ok(())
    });
}

#[test]
fn no_turn_of_bfq_is_longer_than_its_budget_or_its_time() {
    check(40, (64u32..4096, 10u64..200, 1u32..128), |(budget, timeout, blocks)| {
        let values = [("max_budget", budget.to_string()), ("timeout_sync", format!("\"{timeout}ms\""))];
        let asks = [Asks { blocks, ..READER }; 3];
        let mut disk = Disk::new(policy::with("bfq", &values), 1, &asks, &[1.0; 3]);
        disk.run(Time(20_000 * MS));
        for turn in disk.begun.chunk_by(|(_, a), (_, b)| a == b) {
            let count = turn.len() as u64;
            let fits = (u64::from(budget) / u64::from(blocks)).max(1);
            prop_assert!(count <= fits && count <= timeout, "{count} of {fits} in {timeout} ms");
        }
        // All have their turn.
        let turns = disk.begun.chunk_by(|(_, a), (_, b)| a == b).count();
        prop_assert!(turns > 30, "{turns}");
        Ok(())
    });
}

#[test]
fn bfq_keeps_the_disk_idle_for_who_asks_again_soon_unless_told_not_to() {
    let soon = Asks { outstanding: 1, think: Span(MS), ..READER };
    let share = |think: u64, idle: &str| {
        let asks = [Asks { think: Span(think * MS), ..soon }, READER];
        let policy = policy::with("bfq", &[("slice_idle", format!("\"{idle}\""))]);
        let mut disk = Disk::new(policy, 1, &asks, &[1.0; 2]);
        disk.run(Time(60_000 * MS));
        let sums = disk.sums(Time(2_000 * MS), |_| 1.0);
        (sums[0] / (sums[0] + sums[1]), sums[0] + sums[1])
    };
    let (kept, served) = share(1, "8ms");
    assert!((0.3..0.52).contains(&kept) && served < 58_000.0, "{kept} of {served}");
    // Each of its requests waits for the whole turn of the other.
    let (kept, served) = share(1, "0ms");
    assert!(kept < 0.05 && served >= 57_999.0, "{kept} of {served}");
    // Nobody waits for who thinks for longer.
    let (_, served) = share(1000, "8ms");
    assert!(served > 57_000.0, "{served}");
}

#[test]
fn bfq_goes_on_at_once_with_who_was_passed_over_and_asks_in_time() {
    // It thinks for longer than it is waited for; three times as long is in time.
    for (think, soon) in [(12u64, true), (22, true), (26, false)] {
        let asks = [Asks { outstanding: 1, think: Span(think * MS), ..READER }, READER];
        let mut disk = Disk::new(policy::usual("bfq"), 1, &asks, &[1.0; 2]);
        disk.run(Time(60_000 * MS));
        let cycle = 58_000.0 / disk.sums(Time(2_000 * MS), |_| 1.0)[0];
        // Once in eight, when its least budget is used up, it waits for the turn of the other; too late, each time.
        let waits = cycle - (think + 1) as f64;
        assert_eq!(waits < 40.0, soon, "{think} ms: it waits for {waits} ms");
    }
}

#[test]
fn bfq_waits_for_who_seeks_only_where_the_disk_was_seen_to_take_one_command_at_a_time() {
    let idles = |outstanding: u32, depth: u16| {
        let seeker = Asks { outstanding, anywhere: true, think: Span(MS), service: Span(4 * MS), ..READER };
        let mut disk = Disk::new(policy::usual("bfq"), depth, &[seeker; 2], &[1.0; 2]);
        disk.run(Time(60_000 * MS));
        let turns = disk.begun.chunk_by(|(_, a), (_, b)| a == b).count();
        disk.begun.len() as f64 / turns as f64
    };
    // Never more than three outstanding tell nothing; a queue of 32 shows.
    for (outstanding, depth, waits) in [(1, 1, false), (3, 1, true), (8, 1, true), (8, 32, false)] {
        let turn = idles(outstanding, depth);
        assert_eq!(
            turn > 2.0 * f64::from(outstanding),
            waits,
            "{outstanding} outstanding, {depth} in the disk: {turn} in a turn"
        );
    }
}

#[test]
fn bfq_serves_a_higher_priority_before_any_other() {
    let urgent = Asks { outstanding: 1, think: Span(20 * MS), priority: 1, ..READER };
    let mut disk = Disk::new(policy::usual("bfq"), 1, &[urgent, READER], &[1.0; 2]);
    disk.run(Time(20_000 * MS));
    let begun = disk.sums(Time::ZERO, |_| 1.0);
    // One every 22 ms or sooner: it waits for no more than the command under way.
    assert!(begun[0] >= 20_000.0 / 22.0 - 1.0 && begun[1] > 5_000.0, "{begun:?}");
}

#[test]
fn kyber_gives_reads_and_writes_their_batches_in_turn() {
    let asks = [Asks { outstanding: 64, ..READER }, Asks { outstanding: 64, write: true, ..READER }];
    // Nothing is late.
    let values = [("read_lat", "\"100s\"".to_owned()), ("write_lat", "\"100s\"".to_owned())];
    let mut disk = Disk::new(policy::with("kyber", &values), 1, &asks, &[]);
    disk.run(Time(2_000 * MS));
    let turns: Vec<(usize, usize)> =
        disk.begun[100..].chunk_by(|(_, a), (_, b)| a == b).map(|turn| (turn[0].1, turn.len())).collect();
    for (class, length) in &turns[1..turns.len() - 1] {
        assert_eq!(*length, [16, 8][*class], "{turns:?}");
    }
}

#[test]
fn kyber_takes_depth_from_what_is_in_time_where_something_is_late_and_gives_it_back_to_what_is_late() {
    let asks = [Asks { outstanding: 24, ..READER }, Asks { outstanding: 24, write: true, ..READER }];
    let after = |read: &str, write: &str| {
        let values = [("read_lat", format!("\"{read}\"")), ("write_lat", format!("\"{write}\""))];
        let mut disk = Disk::new(policy::with("kyber", &values), 32, &asks, &[]);
        disk.run(Time(20_000 * MS));
        disk.most = vec![0; 2];
        disk.run(Time(25_000 * MS));
        disk.most
    };
    // 128 tokens, then 32, 8, 2 and one.
    assert_eq!(after("2ms", "100s")[1], 1);
    assert_eq!(after("100s", "2ms")[0], 1);
    // Both are late, or neither: both have what they ask for.
    for both in ["1ms", "100s"] {
        let most = after(both, both);
        assert!(most.iter().all(|most| *most >= 8), "{both}: {most:?}");
    }
}
