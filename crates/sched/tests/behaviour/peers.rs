//! Schedulers of others, against what they promise and against their plainest form: everything in one list, all of it looked at.

use crate::random::check;
use block::{Caps, DiskId, Extent, Op, Outcome, Qos, Request, RequestId, Span, Tag, Time};
use proptest::prelude::*;
use sched::plan::Rules;
use sched::policy::IopsClaim;
use sched::policy::{self, Beside};
use sched::predict::Distance;
use sched::{Action, Core, Input};
use std::collections::{BTreeMap, VecDeque};

const BLOCKS: u64 = 1 << 20;
/// What a command takes.
const SERVICE: Span = Span(1_000_000);

/// A device that serves what it is given one by one, `depth` in it at most, and what was begun, in order.
struct Server {
    core: Core<Distance>,
    now: Time,
    inside: VecDeque<Tag>,
    /// Where each request begins, all of them elsewhere.
    places: BTreeMap<u64, u32>,
    begun: Vec<u32>,
    ended: Vec<u32>,
}

impl Server {
    fn new(policy: policy::Chosen, depth: u16, beside: Beside) -> Server {
        let caps = Caps { blocks: BLOCKS, depth, seek: block::SeekBy::Nothing, arms: 1 };
        let make = Box::new(move || policy.make(&beside));
        let core = Core::new(caps, 4096, Distance::default(), Rules::default(), make);
        Server {
            core,
            now: Time::ZERO,
            inside: VecDeque::new(),
            places: BTreeMap::new(),
            begun: Vec::new(),
            ended: Vec::new(),
        }
    }

    fn handle(&mut self, input: Input) {
        let mut out = Vec::new();
        self.core.handle(self.now, input, &mut out);
        for action in out {
            match action {
                Action::Issue(_, tag, command) => {
                    self.inside.push_back(tag);
                    self.begun.push(self.places[&command.at.start.0]);
                }
                Action::Finish(request, _) => self.ended.push(request.0),
                _ => {}
            }
        }
    }

    fn submit(&mut self, id: u32, op: Op, at: u64, class: u8, priority: u8) {
        self.places.insert(at, id);
        let qos = Qos { class, priority, deadline: None };
        self.handle(Input::Submit(Request { id: RequestId(id), op, at: Extent::new(at, 1), qos }));
    }

    /// The first command in the device ends after its time. Gives whether there was one.
    fn serve(&mut self) -> bool {
        let Some(tag) = self.inside.pop_front() else { return false };
        self.now += SERVICE;
        self.handle(Input::Done(DiskId(0), tag, self.now, Outcome::Ok));
        true
    }
}

/// Requests a second of each class by dmClock, each with so many outstanding always.
fn rates(claims: &[IopsClaim], outstanding: u32) -> Vec<f64> {
    let beside = Beside { claims: claims.to_vec(), ..Beside::default() };
    let mut server = Server::new(policy::usual("dmclock"), 1, beside);
    let classes = claims.len() as u32;
    let submit = |server: &mut Server, id: u32| {
        server.submit(id, Op::Read, u64::from(id), (id % classes) as u8, 0);
    };
    (0..classes * outstanding).for_each(|id| submit(&mut server, id));
    let (from, until) = (2_000, 12_000);
    let mut counts = vec![0; claims.len()];
    for n in 0..until {
        assert!(server.serve(), "a server with work to do works");
        for id in std::mem::take(&mut server.ended) {
            counts[(id % classes) as usize] += u32::from(n >= from);
            submit(&mut server, id);
        }
    }
    counts.into_iter().map(|count| f64::from(count) / 10.0).collect()
}

/// What each is to have of so many requests a second: by weight, but no less than it reserved nor more than its limit.
fn fair_rates(claims: &[IopsClaim], capacity: f64) -> Vec<f64> {
    let at = |level: f64| -> Vec<f64> {
        let bound = |claim: &IopsClaim| if claim.limit > 0.0 { claim.limit } else { f64::INFINITY };
        claims.iter().map(|claim| (claim.weight * level).clamp(claim.reservation, bound(claim))).collect()
    };
    let (mut low, mut high) = (0.0, 1e6);
    for _ in 0..200 {
        let level = f64::midpoint(low, high);
        if at(level).iter().sum::<f64>() < capacity { low = level } else { high = level }
    }
    at(low)
}

#[test]
fn dmclock_gives_what_is_reserved_and_the_rest_by_weight_within_limits() {
    let claim = (0u32..4, 1u32..6, 0u32..3).prop_map(|(reserved, weight, limit)| {
        let reservation = f64::from(reserved) * 60.0;
        let limit = if limit == 1 { reservation + 100.0 } else { 0.0 };
        IopsClaim { reservation, weight: f64::from(weight), limit }
    });
    check(60, (prop::collection::vec(claim, 2..5), 2u32..9), |(mut claims, outstanding)| {
        // One takes all that is left, and always has one waiting: limits are broken where the server would stand idle.
        claims[0].limit = 0.0;
        let (got, fair) = (rates(&claims, outstanding), fair_rates(&claims, 1000.0));
        for (got, fair) in got.iter().zip(&fair) {
            prop_assert!((got - fair).abs() <= 0.04 * fair + 3.0, "{claims:?} {outstanding}: {got} for {fair}");
        }
        Ok(())
    });
}

#[test]
fn where_all_have_a_limit_a_server_does_not_stand_idle() {
    let claims = [10.0, 20.0].map(|limit| IopsClaim { reservation: 0.0, weight: limit, limit });
    let got = rates(&claims, 4);
    assert!((got[0] + got[1] - 1000.0).abs() < 1.0 && (got[1] / got[0] - 2.0).abs() < 0.05, "{got:?}");
}

/// A request that waits, as the plainest mq-deadline keeps it.
#[derive(Clone, Copy, Debug)]
struct Waits {
    id: u32,
    write: bool,
    at: u64,
    priority: u8,
    came: Time,
}

/// mq-deadline of one device with one place, as it is in Linux, over one list.
struct PlainDeadline {
    waiting: Vec<Waits>,
    last: [[u64; 2]; 3],
    way: bool,
    batched: u32,
    starved: u32,
    /// The highest priority there has been.
    highest: u8,
}

const EXPIRE: [Span; 2] = [Span(20_000_000), Span(60_000_000)];
const BATCH: u32 = 4;
const STARVED: u32 = 2;
const AGED: Span = Span(100_000_000);

impl PlainDeadline {
    fn first(&self, priority: u8, write: bool) -> Option<Waits> {
        let mine = self.waiting.iter().filter(|it| it.priority == priority && it.write == write);
        mine.min_by_key(|it| (it.came, it.id)).copied()
    }

    fn next(&self, priority: u8, write: bool) -> Option<Waits> {
        let from = self.last[priority as usize][write as usize];
        let mine = self.waiting.iter().filter(|it| it.priority == priority && it.write == write && it.at >= from);
        mine.min_by_key(|it| (it.at, it.id)).copied()
    }

    fn dispatch(&mut self, priority: u8, now: Time, latest: Time) -> Option<Waits> {
        let mut chosen = self.next(priority, self.way).filter(|_| self.batched < BATCH);
        if chosen.is_none() {
            let (reads, writes) = (self.first(priority, false), self.first(priority, true));
            let write = match (reads, writes) {
                (None, None) => return None,
                (Some(_), Some(_)) => {
                    let passed_over = self.starved;
                    self.starved += 1;
                    passed_over >= STARVED
                }
                (reads, _) => reads.is_none(),
            };
            if write {
                self.starved = 0;
            }
            let first = self.first(priority, write).filter(|it| it.came + EXPIRE[write as usize] <= now);
            chosen = first.or_else(|| self.next(priority, write)).or_else(|| self.first(priority, write));
            (self.way, self.batched) = (write, 0);
        }
        let chosen = chosen.filter(|it| it.came <= latest)?;
        self.batched += 1;
        self.last[priority as usize][chosen.write as usize] = chosen.at;
        self.waiting.retain(|it| it.id != chosen.id);
        Some(chosen)
    }

    fn take(&mut self, now: Time) -> Option<Waits> {
        let has = |priority: u8| self.waiting.iter().any(|it| it.priority == priority);
        let busy = (0..3).filter(|priority| has(*priority)).count();
        if busy > 1 && now.0 > AGED.0 {
            let aged = (0..self.highest).rev().find_map(|priority| self.dispatch(priority, now, Time(now.0 - AGED.0)));
            if aged.is_some() {
                return aged;
            }
        }
        (0..3).rev().find_map(|priority| self.dispatch(priority, now, now))
    }
}

#[test]
fn mq_deadline_serves_in_the_order_of_its_plainest_form() {
    let request = (0u32..4, any::<bool>(), 0u64..64, prop::sample::select(vec![1u8, 1, 1, 0, 2]));
    check(300, prop::collection::vec(request, 1..150), |requests| {
        let values = [
            ("read_expire", "'20ms'".to_owned()),
            ("write_expire", "'60ms'".to_owned()),
            ("fifo_batch", BATCH.to_string()),
            ("writes_starved", STARVED.to_string()),
            ("prio_aging_expire", "'100ms'".to_owned()),
        ];
        let mut server = Server::new(policy::with("mq-deadline", &values), 1, Beside::default());
        let (last, way) = ([[0; 2]; 3], false);
        let mut plain = PlainDeadline { waiting: Vec::new(), last, way, batched: 0, starved: 0, highest: 0 };
        let mut expected = Vec::new();
        let mut free = true;
        for (id, (gap, write, at, priority)) in (0u32..).zip(requests) {
            // So many commands end before it comes. Requests that overlap would wait for each other: each has a block of its own.
            for _ in 0..gap {
                free = !server.serve();
                free = match plain.take(server.now).filter(|_| !free) {
                    Some(next) => {
                        expected.push(next.id);
                        false
                    }
                    None => true,
                };
            }
            let at = at * 1000 + u64::from(id);
            server.submit(id, if write { Op::Write { fua: false } } else { Op::Read }, at, 0, priority);
            plain.highest = plain.highest.max(priority);
            plain.waiting.push(Waits { id, write, at, priority, came: server.now });
            if free {
                expected.extend(plain.take(server.now).map(|next| next.id));
                free = false;
            }
        }
        while server.serve() {
            expected.extend(plain.take(server.now).map(|next| next.id));
        }
        prop_assert_eq!(&server.begun, &expected);
        prop_assert_eq!(server.begun.len(), server.ended.len());
        Ok(())
    });
}

#[test]
fn while_a_request_of_a_higher_priority_is_in_the_drive_mq_deadline_gives_it_no_lesser_one() {
    let mut server = Server::new(policy::usual("mq-deadline"), 4, Beside::default());
    server.submit(0, Op::Read, 10, 0, 1);
    server.submit(1, Op::Read, 20, 0, 0);
    assert_eq!(server.begun, [0]);
    server.submit(2, Op::Read, 30, 0, 1);
    assert_eq!(server.begun, [0, 2]);
    (0..2).for_each(|_| assert!(server.serve()));
    assert_eq!(server.begun, [0, 2, 1]);
}

#[test]
fn of_each_kind_zfs_gives_a_drive_no_more_than_its_most_and_all_ends() {
    let request = (0u32..6, any::<bool>(), 0u8..4);
    check(200, (prop::collection::vec(request, 1..200), 1u16..33), |(requests, depth)| {
        let values = [("scrub_max_active", "2".to_owned()), ("async_read_max_active", "3".to_owned())];
        let mut server = Server::new(policy::with("zfs", &values), depth, Beside::default());
        let kinds: Vec<_> = requests.iter().map(|(_, write, priority)| (*priority, *write)).collect();
        let bound = |server: &Server| {
            let inside = |kind: &dyn Fn((u8, bool)) -> bool| {
                let begun = server.begun.iter().filter(|id| !server.ended.contains(id));
                begun.filter(|id| kind(kinds[**id as usize])).count()
            };
            let scrubs = inside(&|(priority, _)| priority == 0);
            let synchronous = inside(&|(priority, write)| priority >= 2 && !write);
            scrubs <= 2 && inside(&|kind| kind == (1, false)) <= 3 && synchronous <= 10
        };
        for (id, (gap, write, priority)) in (0u32..).zip(&requests) {
            for _ in 0..*gap {
                server.serve();
                prop_assert!(bound(&server));
            }
            let op = if *write { Op::Write { fua: false } } else { Op::Read };
            server.submit(id, op, u64::from(id) * 7919 % BLOCKS, 0, *priority);
            prop_assert!(bound(&server));
        }
        while server.serve() {
            prop_assert!(bound(&server));
        }
        prop_assert_eq!(server.ended.len(), requests.len());
        Ok(())
    });
}

#[test]
fn beside_readers_of_zfs_that_are_always_there_a_scrub_has_its_least_and_alone_its_most() {
    let mut server = Server::new(policy::usual("zfs"), 32, Beside::default());
    let readers = 12;
    (0..readers).for_each(|id| server.submit(id, Op::Read, u64::from(id), 0, 2));
    (100..200).for_each(|id| server.submit(id, Op::Read, u64::from(id), 0, 0));
    let scrubs = |server: &Server| server.begun.iter().filter(|id| **id >= 100).count();
    for _ in 0..60 {
        assert!(server.serve());
        let ended = std::mem::take(&mut server.ended);
        let inside = server.inside.len();
        assert!(inside <= 11, "ten readers and one scrub: {inside}");
        for id in ended.into_iter().filter(|id| *id < readers) {
            server.submit(id, Op::Read, u64::from(id), 0, 2);
        }
    }
    assert!((4..=7).contains(&scrubs(&server)), "one in eleven: {}", scrubs(&server));
    // The readers go; after five scrubs that ended alone it has three in the drive.
    for _ in 0..30 {
        server.serve();
    }
    assert_eq!(server.inside.len(), 3);
}
