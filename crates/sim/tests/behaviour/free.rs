//! Work for free: the requests begin and end as without it, and of what is wanted nothing is missed and nothing read twice.

use crate::files::results;
use block::{
    Caps, Change, DiskId, Ending, Extent, Lbn, Op, Outcome, Place, Qos, Request, RequestId, Span, Tag, Time, Verb,
};
use disk::{Queue, Sheet, Truth, catalogue};
use drive::Drive;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestRunner};
use sched::plan::{ClassRule, Plan, Preemption, Rules};
use sched::policy::{self, Beside};
use sched::predict::Profile;
use sched::{Action, Core, Found, FreePlan, Input, Wanted, World, run};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

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
    /// Commands in the drive at once.
    queue: u16,
    policy: &'static str,
    /// Blocks of a short command, where requests are served so.
    chunk: Option<u32>,
    requests: u32,
    /// So many at once; or as many come in 100 ms, whatever ends.
    closed: bool,
    many: u32,
    /// One in so many is read, the others are written to the medium; a quarter lies where something is wanted.
    writes: u64,
    /// One in so many is of a higher priority, and steps in where requests are served in short commands; none where it is 0.
    urgent: u64,
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
    let urgent = prop_oneof![1 => Just(0), 1 => 2..8u64];
    (model, policy, chunk, load, set, (urgent, any::<u64>())).prop_map(
        |(model, policy, chunk, load, set, (urgent, seed))| {
            let (closed, many, writes, longest) = load;
            let (from, units, unit) = set;
            let (cached, requests, fails, queue) = (false, 300, 0, 1);
            Case {
                model,
                cached,
                queue,
                policy,
                chunk,
                requests,
                closed,
                many,
                writes,
                urgent,
                longest,
                from,
                units,
                unit,
                fails,
                seed,
            }
        },
    )
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
    flying: BTreeMap<Tag, (Place, Extent)>,
    /// How often a command was given while another was in the drive.
    followers: usize,
    /// When each transfer of a request came back, a short command or all of it.
    transfers: Vec<(RequestId, Extent, Time)>,
    /// Writes of blocks that are wanted, or were.
    written_in_set: usize,
    /// Whether what is in flight is part of a seek.
    seeks: bool,
    found: Vec<(Extent, Found)>,
    /// Where reads for free have failed: none twice.
    failed: BTreeSet<Lbn>,
    /// A block that nobody can read.
    bad: Option<Lbn>,
    /// What is asked of requests whose reads may come back in any order, and when; the pieces of each that were read, and how it
    /// ended.
    whenever: VecDeque<(Time, Input)>,
    pieces: BTreeMap<RequestId, Vec<Extent>>,
    begins: BTreeMap<RequestId, Lbn>,
    endings: BTreeMap<RequestId, Ending>,
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
        let (from, until) = wanted(case, all);
        self.written_in_set += usize::from(write && start < until.0 && start + blocks > from.0);
        let op = if write { Op::Write { fua: true } } else { Op::Read };
        // That there are such is known from the first one on.
        let rank = u8::from(case.urgent > 0 && (self.dice.below(case.urgent) == 0 || self.asked == 0));
        let qos = Qos { class: rank, priority: rank, ..Qos::default() };
        self.next = self.now + Span(self.dice.below(200_000_000 / u64::from(case.many)));
        self.asked += 1;
        self.outstanding += 1;
        Input::Submit(Request { id, op, at: Extent::new(start, blocks as u32), qos })
    }

    /// A piece of a request was read, to its place in it.
    fn note_piece(&mut self, id: RequestId, from: u32, at: Extent) {
        let pieces = self.pieces.entry(id).or_default();
        let first = self.begins.get(&id).copied().unwrap_or(Lbn(at.start.0 - u64::from(from)));
        assert_eq!(first.0 + u64::from(from), at.start.0, "{id:?}: a piece went elsewhere");
        self.begins.insert(id, first);
        pieces.push(at);
    }

    /// Whether a request is one whose reads may come back in any order.
    fn is_whenever(&self, id: RequestId) -> bool {
        id.0 >= self.case.requests
    }

    /// Whether a read for free fails: where a block is bad, or once in a while, and then not again.
    fn fails(&mut self, at: Extent) -> bool {
        if self.bad.is_some_and(|bad| at.start <= bad && bad < at.end()) {
            return true;
        }
        self.case.fails > 0 && self.dice.below(self.case.fails) == 0 && self.failed.insert(at.start)
    }

    /// How many requests of several commands had those of others in between.
    fn preempted(&self) -> usize {
        let ids: Vec<RequestId> = self.transfers.iter().map(|(id, ..)| *id).collect();
        let again = |i: &usize| ids[*i] != ids[i - 1] && ids[..i - 1].contains(&ids[*i]);
        (2..ids.len()).filter(again).count()
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
        let whenever = self.whenever.front().map(|(at, _)| *at);
        self.now = [done, due, wake, whenever].into_iter().flatten().min()?;
        if done == Some(self.now) {
            let (now, tag, mut outcome, _) = self.drive.complete();
            match self.flying.remove(&tag) {
                Some((Place::Scan, at)) if self.fails(at) => outcome = Outcome::Failed(5),
                Some((Place::Request(id, from), at)) if self.is_whenever(id) => match self.fails(at) {
                    true => outcome = Outcome::Failed(5),
                    false => self.note_piece(id, from, at),
                },
                // A seek that is made in parts may be made for less of the way.
                Some((Place::Request(id, _), at)) if at.blocks > 0 && !self.seeks => self.transfers.push((id, at, now)),
                _ => {}
            }
            return Some((now, Input::Done(DiskId(0), tag, now, outcome)));
        }
        if whenever == Some(self.now) {
            return self.whenever.pop_front();
        }
        Some((self.now, if due == Some(self.now) { self.submission() } else { Input::Wake }))
    }

    fn act(&mut self, now: Time, action: Action) {
        match action {
            Action::Issue(_, tag, command) => {
                self.followers += usize::from(!self.flying.is_empty());
                self.flying.insert(tag, (command.place, command.at));
                self.seeks = command.verb == Verb::Seek;
                if let Place::Request(id, _) = command.place
                    && !self.is_whenever(id)
                {
                    self.began[id.0 as usize].get_or_insert(now);
                }
                self.drive.issue(now, tag, command);
            }
            Action::Begin(id) if self.is_whenever(id) => {}
            Action::Finish(id, how) if self.is_whenever(id) => {
                assert!(self.endings.insert(id, how).is_none(), "{id:?} ended twice");
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
            Action::GiveUp(_) | Action::Complete(_) | Action::Compare { .. } | Action::Mend(..) => {
                panic!("one disk is no array")
            }
            Action::Record { .. } | Action::Forget(_) | Action::Log(_) | Action::Grown(..) => {
                panic!("one disk has no rows")
            }
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

/// Plays a case beside requests whose reads may come back in any order, with the core that knows this or without them.
fn play_whenever(case: &Case, patience: Span, asked: VecDeque<(Time, Input)>) -> Office {
    let any = ClassRule { any_order: true, retries: 1, ..ClassRule::USUAL };
    let classes = vec![ClassRule::USUAL, ClassRule::USUAL, any];
    let (mut core, mut office) = set_up(case, Rules { classes, ..Rules::default() }, false);
    if !asked.is_empty() {
        let wanted = Wanted::nothing(office.drive.caps().blocks, 1);
        core = core.wanting(FreePlan { wanted, chunk: 64, patience, class: 2, retries: 0 });
    }
    office.whenever = asked;
    run(&mut core, &mut office);
    office
}

/// The same, on a drive of which a block that is wanted may be bad.
fn play_on(case: &Case, patience: Option<Span>, bad: bool) -> (Office, Option<Wanted>) {
    let (mut core, mut office) = set_up(case, Rules::default(), bad);
    if let Some(patience) = patience {
        let blocks = office.drive.caps().blocks;
        let mut set = Wanted::nothing(blocks, case.unit);
        let (from, until) = wanted(case, blocks);
        set.want(from, until);
        core = core.wanting(FreePlan { wanted: set, chunk: 64.max(case.unit), patience, class: 0, retries: 1 });
    }
    run(&mut core, &mut office);
    let left = core.wanted_blocks().cloned();
    (office, left)
}

/// A core and its office.
fn set_up(case: &Case, rules: Rules, bad: bool) -> (Core<Profile>, Office) {
    let disk::Drive { sheet, .. } = catalogue::find(case.model).expect("it is in the catalogue");
    let cache = if case.cached { sheet.cache } else { sheet.cache.without_read_cache() }.without_write_buffer();
    let queue = Queue { depth: case.queue, ..sheet.queue };
    // What waited has less before it.
    let queued = (case.queue > 1).then_some(Span(30_000));
    let overheads = disk::Overheads { queued, ..sheet.overheads };
    let sheet = Sheet { queue, cache, overheads, ..sheet };
    let drive = Drive::new(&sheet, &Truth::default(), case.seed);
    let caps @ Caps { blocks, .. } = drive.caps();
    let preemption = if case.urgent > 0 { Preemption::Priority } else { Preemption::Never };
    // Who comes just when a seek is due steps in or not, by a margin that is learned, and from more commands where there are more.
    let offset = (case.urgent > 0).then_some(Span(1_000_000));
    let plan = |chunk| Plan { offset, ..Plan::of_chunk(chunk) };
    let rules = Rules { plan: case.chunk.map(plan), preemption, ..rules };
    let policy = case.policy;
    let make = move || policy::usual(policy).make(&Beside::default());
    let core = Core::new(caps, 1000, Profile::new(&sheet), rules, Box::new(make));
    let requests = case.requests as usize;
    let office = Office {
        drive,
        case: case.clone(),
        dice: Dice(case.seed),
        now: Time::ZERO,
        next: Time::ZERO,
        asked: 0,
        outstanding: 0,
        began: vec![None; requests],
        ended: vec![None; requests],
        flying: BTreeMap::new(),
        followers: 0,
        transfers: Vec::new(),
        written_in_set: 0,
        seeks: false,
        found: Vec::new(),
        failed: BTreeSet::new(),
        bad: bad.then(|| wanted(case, blocks)).map(|(from, until)| Lbn(from.0.midpoint(until.0))),
        whenever: VecDeque::new(),
        pieces: BTreeMap::new(),
        begins: BTreeMap::new(),
        endings: BTreeMap::new(),
    };
    (core, office)
}

/// Some reads in any order of where a case wants something, of which some overlap and some are cancelled; and when.
fn ask_whenever(case: &Case, blocks: u64) -> VecDeque<(Time, Input)> {
    let mut dice = Dice(case.seed ^ 77);
    let (from, until) = wanted(case, blocks);
    let mut asked: Vec<(Time, Input)> = Vec::new();
    for n in 0..40 {
        let id = RequestId(case.requests + n);
        let long = (1 + dice.below(4_000)).min(until.0 - from.0);
        let start = from.0 + dice.below(until.0 - from.0 - long + 1);
        let now = Time(dice.below(2_000_000_000));
        let qos = Qos { class: 2, ..Qos::default() };
        asked.push((now, Input::Submit(Request { id, op: Op::Read, at: Extent::new(start, long as u32), qos })));
        if dice.below(6) == 0 {
            asked.push((now + Span(1 + dice.below(200_000_000)), Input::Amend(id, Change::Cancel)));
        }
    }
    asked.sort_by_key(|(now, _)| *now);
    asked.into()
}

/// The extent of each request among inputs.
fn extents(asked: &VecDeque<(Time, Input)>) -> BTreeMap<RequestId, Extent> {
    let extent = |(_, input): &(Time, Input)| match input {
        Input::Submit(request) => Some((request.id, request.at)),
        _ => None,
    };
    asked.iter().filter_map(extent).collect()
}

#[test]
fn reads_in_any_order_cost_others_nothing_and_come_back_whole() {
    let (pieces, others) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    check(48, (case(), prop_oneof![Just(0u64), 2..20u64]), |(case, fails)| {
        let (without, _) = play(&case, None);
        let blocks = without.drive.caps().blocks;
        let asked = ask_whenever(&case, blocks);
        // Where no time is idle, the others begin and end as without.
        let busy = play_whenever(&case, NEVER, asked.clone());
        prop_assert_eq!(&busy.began, &without.began);
        prop_assert_eq!(&busy.ended, &without.ended);
        // Else each ends, and who ends well has been read once, piece by piece.
        let case = Case { fails, ..case };
        let office = play_whenever(&case, Span(1_000_000), asked.clone());
        for (id, at) in extents(&asked) {
            let ending = office.endings.get(&id).copied();
            prop_assert!(ending.is_some(), "{id:?} never ended");
            let mut read = office.pieces.get(&id).cloned().unwrap_or_default();
            read.sort_unstable_by_key(|piece| piece.start);
            prop_assert!(read.windows(2).all(|two| two[0].end() <= two[1].start), "{id:?} read twice: {read:?}");
            let all = read.iter().map(|piece| piece.blocks).sum::<u32>();
            prop_assert!(read.iter().all(|piece| at.start <= piece.start && piece.end() <= at.end()));
            let cancelled_or_failed =
                fails > 0 || asked.iter().any(|(_, input)| *input == Input::Amend(id, Change::Cancel));
            prop_assert!(ending == Some(Ending::Finished) || cancelled_or_failed, "{id:?}: {ending:?}");
            prop_assert!(all == at.blocks || ending != Some(Ending::Finished), "{id:?}: {all} of {at:?}");
            pieces.set(pieces.get() + read.len());
            others.set(others.get() + u32::from(ending != Some(Ending::Finished)));
        }
        Ok(())
    });
    println!("{} pieces, {} requests cancelled or failed", pieces.get(), others.get());
    assert!(pieces.get() > 5_000 && others.get() > 50);
}

/// What is never idle: nothing is read while there is no request.
const NEVER: Span = Span(1 << 60);

#[test]
fn requests_begin_and_end_as_without_work_for_free() {
    let [found, urgent, written, sooner] = [0; 4].map(std::cell::Cell::new);
    check(144, case(), |case| {
        let (without, _) = play(&case, None);
        let (with, _) = play(&case, Some(NEVER));
        let first = with.transfers.iter().zip(&without.transfers).find(|(a, b)| a != b);
        if let Some((a, b)) = first {
            // A sector that is just missed without what was read before on its track is not missed with it.
            prop_assert!((a.0, a.1) == (b.0, b.1) && a.2 < b.2, "{a:?}, without {b:?}");
            let turn = with.drive.mechanics().rotation.period().0;
            prop_assert!(case.urgent > 0 || b.2.since(a.2).0.abs_diff(turn) < turn / 1000, "{a:?}, without {b:?}");
            sooner.set(sooner.get() + 1);
            return Ok(());
        }
        // Times are whole ns, and a command that comes from another track may be given one of these sooner or later.
        let near = |a: &Option<Time>, b: &Option<Time>| a.zip(*b).is_some_and(|(a, b)| a.0.abs_diff(b.0) <= 1);
        prop_assert!(with.began.iter().zip(&without.began).all(|(a, b)| near(a, b)) && with.ended == without.ended);
        found.set(found.get() + with.found.len());
        urgent.set(urgent.get() + with.preempted());
        written.set(written.get() + with.written_in_set);
        Ok(())
    });
    println!(
        "{} reads for free, {} requests interrupted, {} writes in the set",
        found.get(),
        urgent.get(),
        written.get()
    );
    println!("{} of 144 cases with a request that ended sooner", sooner.get());
    let enough = found.get() > 1000 && urgent.get() > 100 && written.get() > 500;
    assert!((enough || std::env::var_os("HALFTURN_SEED").is_some()) && sooner.get() <= 8);
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
    let cached = (case(), any::<bool>(), prop_oneof![Just(0u64), 2..20u64], 1..3u16);
    let followers = std::cell::Cell::new(0);
    check(96, cached, |(case, cached, fails, queue)| {
        let case = Case { cached, fails, queue, units: case.units / 10 + 1, ..case };
        let (office, left) = play(&case, Some(Span(1_000_000)));
        let left = left.expect("something was wanted");
        prop_assert!(office.ended.iter().all(Option::is_some));
        prop_assert!(left.is_empty(), "{} units are left, with all the time to read them", left.units_left());
        assert_whole(&case, &office, &left)?;
        // One that fails once is read when it is tried again.
        prop_assert!(office.found.iter().all(|(_, found)| *found != Found::Unreadable));
        followers.set(followers.get() + office.followers);
        let (office, left) = play(&case, Some(NEVER));
        prop_assert!(office.ended.iter().all(Option::is_some));
        assert_whole(&case, &office, &left.expect("something was wanted"))
    });
    println!("{} commands given while another was in service", followers.get());
    assert!(followers.get() > 1_000);
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
