//! Arrays in the world of faults.

use crate::faults::{Fails, Faults, Script, Tale};
use block::{Caps, DiskId, Span, Time};
use disk::catalogue;
use rayon::prelude::*;
use sched::array::{Array, ArrayPlan, Coalescing, Geometry, Level, Migration, Placement, Speculation};
use sched::plan::{ClassRule, Plan, Preemption, Rules};
use sched::policy::{self, Beside};
use sched::predict::{Distance, Predictor, Profile};
use sched::{Core, Limits, Scheduler, run};

/// What is random about a scene, but for what its world draws.
fn of(seed: u64, n: u64, limit: u64) -> u64 {
    load::Draw::new(seed, 1000 + n).below(limit)
}

/// How many disks fail at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failing {
    One,
    /// Two, where the level bears it; else one of them twice.
    Two,
}

/// A random array, policy and script; runs it to its end. Some have blocks enough that requests are split and moved, and
/// believe in a drive, though not the one they have.
fn tale(seed: u64, requests: u32, failing: Failing) -> Tale {
    if of(seed, 21, 4) > 0 {
        return play(seed, requests, failing, 1, Distance::default);
    }
    let disk::Drive { sheet, .. } = catalogue::find("mimic-base").unwrap();
    play(seed, requests, failing, 40, || Profile::new(&sheet))
}

/// A random level.
fn level(seed: u64, failing: Failing) -> Level {
    let mirrored = [2, 3].map(|copies| Level::Mirrored { copies });
    match (failing, of(seed, 0, 4)) {
        (Failing::Two, 0) => Level::DoubleParity,
        (Failing::Two, 1) => Level::SecondOnLast,
        (_, 0) => Level::Striped,
        (_, 1) => mirrored[0],
        (_, 2) => mirrored[1],
        _ => Level::Parity,
    }
}

/// The disks that fail in a random scene.
fn fails(seed: u64, failing: Failing, level: Level, disks: u16) -> [Option<Fails>; 2] {
    let one = |n: u64, replaced: u64| Fails {
        disk: DiskId(of(seed, n, disks.into()) as u16),
        at: Time(of(seed, n + 1, 30_000)),
        replaced: level != Level::Striped && of(seed, replaced, 2) == 0,
    };
    let first = (of(seed, 11, 3) > 0).then(|| one(12, 23));
    let second = first.filter(|_| failing == Failing::Two && of(seed, 50, 4) > 0).map(|first| {
        let second = one(51, 53);
        if level.redundancy() > 1 { second } else { Fails { disk: first.disk, at: first.at.max(second.at), ..second } }
    });
    [first, second]
}

/// What a random array does with its tasks.
fn plan(seed: u64, scale: u32) -> ArrayPlan {
    ArrayPlan {
        placement: [Placement::LeastFinish, Placement::RoundRobin, Placement::Nearest][of(seed, 8, 3) as usize],
        buffer: [0, 0, 30, 200][of(seed, 17, 4) as usize] * u64::from(scale),
        trusting: of(seed, 22, 2) == 0,
        read_cache: [0, 0, 0, 128, 512, 4096][of(seed, 60, 6) as usize],
        migration: [Migration::Never, Migration::Remainder, Migration::Jit][of(seed, 18, 3) as usize],
        speculation: if of(seed, 61, 2) == 0 { Speculation::Never } else { Speculation::Copies },
        coalescing: if of(seed, 62, 2) == 0 { Coalescing::Never } else { Coalescing::Units },
        delay: Span([0, 0, 150][of(seed, 19, 3) as usize]),
        ..ArrayPlan::default()
    }
}

fn play<P: Predictor + 'static>(
    seed: u64,
    requests: u32,
    failing: Failing,
    scale: u32,
    belief: impl Fn() -> P,
) -> Tale {
    let level = level(seed, failing);
    let disks = match level {
        Level::Striped => 1 + of(seed, 1, 5),
        Level::Mirrored { copies } => u64::from(copies) * (1 + of(seed, 1, 3)),
        Level::Parity => 3 + of(seed, 1, 4),
        Level::DoubleParity | Level::SecondOnLast => 4 + of(seed, 1, 4),
    } as u16;
    let (short, limited) = (of(seed, 5, 2) == 0, of(seed, 40, 4) == 0 && of(seed, 4, 4) % 2 == 1);
    let depth = if short && !limited { 1 } else { 1 + of(seed, 7, 3) as u16 };
    let caps = Caps { blocks: 61 * u64::from(scale), depth, seek: block::SeekBy::Command, arms: 1 };
    let geometry = Geometry::new(level, disks, scale * (1 + of(seed, 2, 9) as u32), caps.blocks).unwrap();
    let name = ["fcfs", "look", "sstf"][of(seed, 3, 3) as usize];
    let class = |n: u64| ClassRule { splits: of(seed, 30 + n, 2) == 0, preempts: n > 0, ..ClassRule::USUAL };
    let rules = Rules {
        plan: short.then(|| Plan::of_chunk(1 + of(seed, 6, 4) as u32 * scale)),
        preemption: match of(seed, 4, 4) {
            0 => Preemption::Never,
            1 => Preemption::Always,
            2 if short => Preemption::Lookahead,
            _ => Preemption::Priority,
        },
        keeps_writes: level != Level::Striped,
        classes: (0..3).map(class).collect(),
        ..Rules::default()
    };
    let core = || {
        let make = |name: &'static str| {
            let policy = policy::with(name, &[("age_limit", "'3us'".into())]);
            Box::new(move || policy.make(&Beside::default()))
        };
        let core = Core::new(caps, u32::MAX, belief(), rules.clone(), make(name));
        let limits = Limits { most: None, latency: Some(Span(200)), alert: Some(Span(of(seed, 41, 1000))) };
        let core = if limited { core.admitting(limits) } else { core };
        if of(seed, 24, 3) == 0 { core.ordering(1, make("c-look")) } else { core }
    };
    let plan = plan(seed, scale);
    let together = 1 + of(seed, 9, 20) as u32;
    let script = Script {
        seed,
        requests,
        together,
        longest: scale * (1 + of(seed, 10, 40) as u32),
        fails: fails(seed, failing, level, disks),
        told: of(seed, 14, 2) == 0,
        misread: if of(seed, 15, 4) == 0 { 20 * u64::from(scale * scale) } else { 0 },
        amended: if of(seed, 16, 2) == 0 { 9 } else { 0 },
        streams: plan.read_cache > 0 && of(seed, 61, 3) > 0,
        slow: (of(seed, 54, 4) == 0).then(|| DiskId(of(seed, 55, disks.into()) as u16)),
    };
    let mut array = Array::new(geometry, plan, rules.clone(), together, (0..disks).map(|_| core()).collect());
    let mut world = Faults::new(geometry, caps, script);
    run(&mut array, &mut world);
    assert_eq!(array.room(), together, "seed {seed}: something is left");
    let cached = array.cache_tally().unwrap_or_default();
    let (moved, spared) = (array.reads_moved(), array.spare_reads_won());
    Tale { moved, spared, cached: cached.hits, ahead: cached.ahead, ..world.finish() }
}

/// Random scenes in the test; HALFTURN_SCENES asks for another number, HALFTURN_SEED for one of them, and both for so many from that on.
const SCENES: u64 = 3_000;
/// Besides, those that once failed: what was buffered was given up though a disk could still have taken it.
const FOUND: [u64; 2] = [223_018, 828_851];

/// Plays so many random scenes, or the one that is asked for.
fn play_all(usual: u64, found: &[u64], failing: Failing) -> Option<(Tale, u64)> {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("a number"));
    let (seed, asked) = (number("HALFTURN_SEED"), number("HALFTURN_SCENES"));
    let scenes = asked.unwrap_or(usual);
    let one = |seed| {
        let tale = tale(seed, 60, failing);
        assert!(tale.finished + tale.failed + tale.dropped >= 60, "seed {seed}");
        tale
    };
    if let (Some(seed), None) = (seed, asked) {
        println!("{:?}", one(seed));
        return None;
    }
    for seed in found {
        one(*seed);
    }
    let first = seed.unwrap_or(0);
    let sum = (first..first + scenes).into_par_iter().map(one).reduce(Tale::default, |a, b| Tale {
        finished: a.finished + b.finished,
        failed: a.failed + b.failed,
        dropped: a.dropped + b.dropped,
        checked: a.checked + b.checked,
        commands: a.commands + b.commands,
        moved: a.moved + b.moved,
        cached: a.cached + b.cached,
        ahead: a.ahead + b.ahead,
        spared: a.spared + b.spared,
    });
    println!("{sum:?}");
    Some((sum, scenes))
}

#[test]
fn what_was_written_is_read_and_every_request_ends_once() {
    let Some((sum, scenes)) = play_all(SCENES, &FOUND, Failing::One) else { return };
    let enough = |count: u64, each_thousand: u64| count > scenes / 1000 * each_thousand;
    assert!(
        enough(sum.checked, 50_000) && enough(sum.failed.into(), 500) && enough(sum.dropped.into(), 250),
        "{sum:?}"
    );
    assert!(enough(sum.moved, 10) && enough(sum.spared, 500), "{sum:?}");
    assert!(enough(sum.cached, 500) && enough(sum.ahead, 5_000), "{sum:?}");
}

#[test]
fn with_two_parities_or_three_copies_two_disks_may_fail() {
    let Some((sum, scenes)) = play_all(SCENES / 2, &[], Failing::Two) else { return };
    assert!(sum.checked > scenes / 1000 * 50_000, "{sum:?}");
}
