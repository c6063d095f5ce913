//! Work for free: the requests begin and end as without it, and of what is wanted nothing is missed and nothing read twice.

use crate::files::results;
use block::{Caps, DiskId, Ending, Extent, Lbn, Op, Outcome, Place, Qos, Request, RequestId, Span, Time};
use disk::{Queue, Sheet, Truth, catalogue};
use drive::Drive;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestRunner};
use sched::plan::{Plan, Rules};
use sched::policy::{self, Beside};
use sched::predict::Profile;
use sched::{Action, Core, Found, FreePlan, Input, Wanted, World, run};
use std::collections::BTreeSet;

/// Tests `cases` values of a strategy; a failure shows the least one found and the seed.
fn check<S: Strategy>(cases: u32, values: S, test: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let seed = std::env::var("HALFTURN_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let config = Config { cases, failure_persistence: None, rng_seed: RngSeed::Fixed(seed), ..Config::default() };
    if let Err(error) = TestRunner::new(config).run(&values, test) {
        panic!("{error}\nHALFTURN_SEED={seed}");
    }
}

/// SplitMix64.
#[derive(Clone, Debug)]
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(mixed ^ mixed >> 31) * u128::from(limit)) >> 64) as u64
    }
}

/// What is asked, and of what.
#[derive(Clone, Debug)]
struct Case {
    model: &'static str,
    /// Whether the drive has a cache, which reads of others change.
    cached: bool,
    policy: &'static str,
    /// Blocks of a short command, where requests are served so.
    chunk: Option<u32>,
    requests: u32,
    /// So many at once; or as many come in 100 ms, whatever ends.
    closed: bool,
    many: u32,
    /// Every so manieth is a write to the medium; and one in the set.
    writes: u64,
    longest: u64,
    /// Of the blocks, where those wanted are, in 1/1000, and how many units.
    from: u64,
    units: u64,
    unit: u32,
    /// One read for free in so many fails.
    fails: u64,
    seed: u64,
}

fn case() -> impl Strategy<Value = Case> {
    let model = prop::sample::select(vec!["nl20", "atlas10k", "st318437lw"]);
    let policy = prop::sample::select(vec!["fcfs", "satf", "sstf", "look", "c-look", "asatf"]);
    let chunk = prop_oneof![2 => Just(None), 1 => (16..200u32).prop_map(Some)];
    let load = (any::<bool>(), 1..9u32, 1..6u64, 1..300u64);
    let set = (0..999u64, 1..40_000u64, prop::sample::select(vec![1u32, 8, 24]));
    (model, policy, chunk, load, set, any::<u64>()).prop_map(|(model, policy, chunk, load, set, seed)| {
        let (closed, many, writes, longest) = load;
        let (from, units, unit) = set;
        let (cached, requests, fails) = (false, 300, 0);
        Case { model, cached, policy, chunk, requests, closed, many, writes, longest, from, units, unit, fails, seed }
    })
}

/// A drive without noise, and what came of it.
struct Office {
    drive: Drive,
    case: Case,
    dice: Dice,
    now: Time,
    next: Time,
    asked: u32,
    outstanding: u32,
    /// When each began and ended.
    began: Vec<Option<Time>>,
    ended: Vec<Option<Time>>,
    flying: Option<(Place, Extent)>,
    found: Vec<(Extent, Found)>,
    /// Where reads for free have failed: none twice.
    failed: BTreeSet<Lbn>,
    /// A block that nobody can read.
    bad: Option<Lbn>,
}

impl Office {
    fn submission(&mut self) -> Input {
        let id = RequestId(self.asked);
        let case = &self.case;
        let blocks = 1 + self.dice.below(case.longest);
        let all = self.drive.caps().blocks;
        let start = match self.dice.below(4) {
            0 => (all / 1000 * case.from + self.dice.below(case.units * u64::from(case.unit))).min(all - blocks),
            _ => self.dice.below(all - blocks),
        };
        let write = self.dice.below(case.writes) > 0;
        let op = if write { Op::Write { fua: true } } else { Op::Read };
        self.next = self.now + Span(self.dice.below(200_000_000 / u64::from(case.many)));
        self.asked += 1;
        self.outstanding += 1;
        Input::Submit(Request { id, op, at: Extent::new(start, blocks as u32), qos: Qos::default() })
    }

    /// Whether a read for free fails: where a block is bad, or once in a while, and then not again.
    fn fails(&mut self, at: Extent) -> bool {
        if self.bad.is_some_and(|bad| at.start <= bad && bad < at.end()) {
            return true;
        }
        self.case.fails > 0 && self.dice.below(self.case.fails) == 0 && self.failed.insert(at.start)
    }

    /// When the next request comes, if another does.
    fn due(&self) -> Option<Time> {
        if self.asked == self.case.requests {
            return None;
        }
        match self.case.closed {
            true => (self.outstanding < self.case.many).then_some(self.now),
            false => Some(self.next.max(self.now)),
        }
    }
}

impl World for Office {
    fn next(&mut self, wake: Option<Time>, _: u32) -> Option<(Time, Input)> {
        let (done, due, wake) = (self.drive.next(), self.due(), wake.map(|wake| wake.max(self.now)));
        self.now = [done, due, wake].into_iter().flatten().min()?;
        if done == Some(self.now) {
            let (now, tag, mut outcome, _) = self.drive.complete();
            if let Some((Place::Scan, at)) = self.flying.take()
                && self.fails(at)
            {
                outcome = Outcome::Failed(5);
            }
            return Some((now, Input::Done(DiskId(0), tag, now, outcome)));
        }
        Some((self.now, if due == Some(self.now) { self.submission() } else { Input::Wake }))
    }

    fn act(&mut self, now: Time, action: Action) {
        match action {
            Action::Issue(_, tag, command) => {
                self.flying = Some((command.place, command.at));
                if let Place::Request(id, _) = command.place {
                    self.began[id.0 as usize].get_or_insert(now);
                }
                self.drive.issue(now, tag, command);
            }
            Action::Begin(id) => {
                self.began[id.0 as usize].get_or_insert(now);
            }
            Action::Finish(id, how) => {
                assert_eq!(how, Ending::Finished);
                self.outstanding -= 1;
                self.ended[id.0 as usize] = Some(now);
            }
            Action::HandOn(at, found) => self.found.push((at, found)),
            Action::Copy { .. } | Action::Xor { .. } | Action::Wait(..) | Action::Credit(_) | Action::Bill(_) => {}
            Action::GiveUp(_) | Action::Complete(_) => panic!("one disk is no array"),
        }
    }
}

/// The blocks that a case wants.
fn wanted(case: &Case, all: u64) -> (Lbn, Lbn) {
    let unit = u64::from(case.unit);
    let from = (all / 1000 * case.from).next_multiple_of(unit);
    (Lbn(from), Lbn((from + case.units * unit).min(all)))
}

/// Plays a case, with what is wanted in any order or without.
fn play(case: &Case, patience: Option<Span>) -> (Office, Option<Wanted>) {
    play_on(case, patience, false)
}

/// The same, on a drive of which a block that is wanted may be bad.
fn play_on(case: &Case, patience: Option<Span>, bad: bool) -> (Office, Option<Wanted>) {
    let disk::Drive { sheet, .. } = catalogue::find(case.model).expect("it is in the catalogue");
    let cache = if case.cached { sheet.cache } else { sheet.cache.without_read_cache() }.without_write_buffer();
    let sheet = Sheet { queue: Queue { depth: 1, ..sheet.queue }, cache, ..sheet };
    let drive = Drive::new(&sheet, &Truth::default(), case.seed);
    let caps @ Caps { blocks, .. } = drive.caps();
    let rules = Rules { plan: case.chunk.map(Plan::of_chunk), ..Rules::default() };
    let policy = case.policy;
    let make = move || policy::usual(policy).make(&Beside::default());
    let mut core = Core::new(caps, 1000, Profile::new(&sheet), rules, Box::new(make));
    if let Some(patience) = patience {
        let mut set = Wanted::nothing(blocks, case.unit);
        let (from, until) = wanted(case, blocks);
        set.want(from, until);
        core = core.wanting(FreePlan { wanted: set, chunk: 64.max(case.unit), patience, class: 0, retries: 1 });
    }
    let requests = case.requests as usize;
    let mut office = Office {
        drive,
        case: case.clone(),
        dice: Dice(case.seed),
        now: Time::ZERO,
        next: Time::ZERO,
        asked: 0,
        outstanding: 0,
        began: vec![None; requests],
        ended: vec![None; requests],
        flying: None,
        found: Vec::new(),
        failed: BTreeSet::new(),
        bad: bad.then(|| wanted(case, blocks)).map(|(from, until)| Lbn(from.0.midpoint(until.0))),
    };
    run(&mut core, &mut office);
    let left = core.wanted_blocks().cloned();
    (office, left)
}

/// What is never idle: nothing is read while there is no request.
const NEVER: Span = Span(1 << 60);

#[test]
fn requests_begin_and_end_as_without_work_for_free() {
    let found = std::cell::Cell::new(0);
    check(96, case(), |case| {
        let (without, _) = play(&case, None);
        let (with, _) = play(&case, Some(NEVER));
        prop_assert_eq!(&with.began, &without.began);
        prop_assert_eq!(&with.ended, &without.ended);
        found.set(found.get() + with.found.len());
        Ok(())
    });
    println!("{} reads for free", found.get());
    assert!(found.get() > 1000, "{}", found.get());
}

/// Each unit wanted is handed on or left, and none twice.
fn assert_whole(case: &Case, office: &Office, left: &Wanted) -> Result<(), TestCaseError> {
    let (from, until) = wanted(case, office.drive.caps().blocks);
    let mut all: Vec<(Lbn, Lbn)> = office.found.iter().map(|(at, _)| (at.start, at.end())).collect();
    all.extend(left.runs());
    all.sort_unstable();
    let mut next = from;
    for (start, end) in all {
        prop_assert_eq!(start, next, "missed, or read twice");
        next = end;
    }
    prop_assert_eq!(next, until);
    Ok(())
}

#[test]
fn nothing_is_missed_or_read_twice() {
    let cached = (case(), any::<bool>(), prop_oneof![Just(0u64), 2..20u64]);
    check(48, cached, |(case, cached, fails)| {
        let case = Case { cached, fails, units: case.units / 10 + 1, ..case };
        let (office, left) = play(&case, Some(Span(1_000_000)));
        let left = left.expect("something was wanted");
        prop_assert!(office.ended.iter().all(Option::is_some));
        prop_assert!(left.is_empty(), "{} units are left, with all the time to read them", left.units_left());
        assert_whole(&case, &office, &left)?;
        // One that fails once is read when it is tried again.
        prop_assert!(office.found.iter().all(|(_, found)| *found != Found::Unreadable));
        let (office, left) = play(&case, Some(NEVER));
        assert_whole(&case, &office, &left.expect("something was wanted"))
    });
}

#[test]
fn what_is_bad_is_given_up_and_nothing_else() {
    check(24, case(), |case| {
        let case = Case { units: case.units / 10 + 1, ..case };
        let (office, left) = play_on(&case, Some(Span(1_000_000)), true);
        let left = left.expect("something was wanted");
        assert_whole(&case, &office, &left)?;
        let given_up = office.found.iter().filter(|(_, found)| *found == Found::Unreadable);
        let given_up: Vec<Extent> = given_up.map(|(at, _)| *at).collect();
        prop_assert!(left.is_empty() && given_up.len() == 1 && given_up[0].blocks <= case.unit, "{given_up:?}");
        Ok(())
    });
}

/// What a reader and a scan get, without the scan and with it: means and 99th percentiles of the reader, 10^6 bytes a second of the
/// scan, and the idle share without it.
fn beside(model: &str, reader: &str, seconds: u32) -> ([f64; 2], [f64; 2], f64, f64) {
    let text = format!(
        r#"
        drive = {{ model = "{model}", queue = 1 }}
        scheduler = {{ policy = "satf", free = {{ enabled = [false, true] }} }}
        run = {{ duration = "{seconds}s" }}
        [[workload]]
        name = "reader"
        {reader}
        size = "4KiB"
        [[workload]]
        name = "scan"
        kind = "scan"
        "#
    );
    let runs = results(&text).runs;
    let [without, with] = [&runs[0], &runs[1]].map(|run| &run.classes["reader"].response_ms);
    let scanned = runs[1].classes["scan"].free_mb_s.expect("there is a scan");
    println!(
        "{model}, {reader}: mean {:.4}, p99 {:.4} of without; scan {scanned:.1} MB/s, idle {:.3}",
        with.mean / without.mean,
        with.p99 / without.p99,
        runs[0].idle_fraction
    );
    ([without.mean, with.mean], [without.p99, with.p99], scanned, runs[0].idle_fraction)
}

/// Seeks vary, and margins have to be learned of that.
#[test]
fn a_reader_that_never_pauses_hardly_notices_a_scan() {
    // A sixth of the rate of the medium, on the average over it; a twentieth where one seek in twenty takes 2 ms longer.
    for (model, least) in [("nl20", 40.0), ("atlas10k", 3.5), ("st318437lw", 2.5)] {
        for depth in [1, 4] {
            let (means, high, scanned, _) = beside(model, &format!("kind = \"closed\"\ndepth = {depth}"), 600);
            assert!(means[1] <= 1.02 * means[0] && high[1] <= 1.02 * high[0], "{model}, {depth}: {means:?} {high:?}");
            assert!(scanned >= least, "{model}, {depth}: {scanned} MB/s");
        }
    }
}

#[test]
fn a_scan_gets_what_is_idle() {
    // What a scan gets of a whole drive by itself, on the average over it.
    for (model, alone) in [("nl20", 214.0), ("atlas10k", 21.0), ("st318437lw", 35.0)] {
        for rate in [10, 20, 40] {
            let (means, _, scanned, idle) = beside(model, &format!("kind = \"open\"\nrate = \"{rate}/s\""), 120);
            assert!(means[1] <= 1.05 * means[0], "{model}, {rate}/s: {means:?}");
            assert!(scanned >= 0.9 * idle * alone, "{model}, {rate}/s: {scanned} MB/s, idle {idle}");
        }
    }
}
