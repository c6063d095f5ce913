//! A learned drive beside the one it was learned from: both are given the same commands at the same angles of the platter, and
//! each command must take as long on the one as on the other.

use crate::writes::middle;
use block::{Command, Extent, Place, Span, Tag, Time, Verb};
use disk::Sheet;
use drive::Drive;
use profile::{ProfileOptions, ProfileOutcome, Thoroughness};
use std::collections::BTreeMap;

/// A draw from some seed.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }

    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Anything from one to the other.
    pub fn within(&mut self, least: f64, most: f64) -> f64 {
        least + (most - least) * self.below(1 << 30) as f64 / f64::from(1 << 30)
    }

    pub fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

/// A small drive by chance, without noise: what is found of it can be compared to the microsecond.
fn small(seed: u64) -> disk::Drive {
    let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let order = dice.one_of(&["heads-first", "heads-first", "serpentine", "band-serpentine"]);
    let heads = dice.one_of(&[1, 2, 3, 4, 6]);
    let heads = if order == "band-serpentine" { heads.max(2) } else { heads };
    let band = if order == "band-serpentine" { "band = 12\n" } else { "" };
    let (mut zones, mut first) = (String::new(), 0);
    for zone in 0..dice.one_of(&[1, 2, 4]) {
        let (round, wide) = (260 - 24 * zone + dice.below(12), 12 * (24 + dice.below(24)));
        let (head, cylinder) = (20 + dice.below(30), 60 + dice.below(40));
        zones += &format!("[{first}, {}, {round}, {head}, {cylinder}],\n", first + wide - 1);
        first += wide;
    }
    let us = |dice: &mut Dice, least: u64, most: u64| format!("\"{}us\"", least + dice.below(most - least));
    let rpm = dice.one_of(&[5400, 7200, 10_000]);
    let (read, hit, write, buffered) =
        (us(&mut dice, 80, 400), us(&mut dice, 30, 200), us(&mut dice, 80, 400), us(&mut dice, 30, 200));
    let bus = if dice.percent(70) { format!("bus_mb_s = {}.0\n", 20 + dice.below(200)) } else { String::new() };
    let ahead = dice.one_of(&["nowhere", "track", "most", "most"]);
    let far = 64 + dice.below(400);
    let far = if ahead == "most" { format!("read_ahead = \"{far} blocks\"\n") } else { String::new() };
    let cache = match dice.percent(80) {
        true => format!(
            "segments = {}\nsegment = \"600 blocks\"\nread_ahead_to = \"{ahead}\"\n{far}",
            dice.one_of(&[2, 5, 12])
        ),
        false => "segments = 0\n".into(),
    };
    let buffer = match dice.percent(60) {
        true => format!(
            "write_buffer = \"{} blocks\"\ndrain = \"{}\"\n",
            200 + dice.below(800),
            dice.one_of(&["soonest", "in-order"])
        ),
        false => String::new(),
    };
    let settle = if dice.percent(50) { us(&mut dice, 100, 900) } else { "\"0us\"".into() };
    let at_once = dice.percent(30);
    let text = format!(
        "title = \"small\"\nsources = [\"nowhere\"]\n[rotation]\nrpm = {rpm}\n\
        [geometry]\nheads = {heads}\norder = \"{order}\"\n{band}zones = [\n{zones}]\n\
        [seek]\na_ms = 0.5\nb_ms = 0.09\nknee = 200\nc_ms = 1.4730\ne_ms = 1.5e-3\n\
        [switch]\nhead = \"0.5ms\"\ncylinder = \"0.7ms\"\nwrite_settle = {settle}\n\
        [access]\nreads = {at_once}\nwrites = {at_once}\n\
        [overhead]\nread = {read}\nhit = {hit}\nwrite = {write}\nbuffered = {buffered}\n{bus}\
        [cache]\n{cache}{buffer}"
    );
    disk::parse("small", "small.toml", &text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// A drive of which a sector has just passed at the time zero of what follows.
struct InStep {
    drive: Drive,
    zero: Time,
}

impl InStep {
    fn new(sheet: &Sheet, sector: u64) -> InStep {
        let mut drive = Drive::new(sheet, &disk::Truth::default(), 3);
        let zero = take(&mut drive, Time::ZERO, Verb::Read, Extent::new(sector, 1));
        // Whatever is read on is long over.
        InStep { drive, zero: Time(zero.0) + Span(200 * sheet.mechanics.rotation.period().0) }
    }

    /// How long commands take that are given one after the other from so long after time zero.
    fn took(&mut self, after: Span, commands: &[(Verb, Extent)]) -> Vec<Span> {
        let mut now = self.zero + after;
        let each = commands.iter().map(|(verb, at)| {
            let end = take(&mut self.drive, now, *verb, *at);
            let took = end.since(now);
            now = end;
            took
        });
        each.collect()
    }
}

fn take(drive: &mut Drive, now: Time, verb: Verb, at: Extent) -> Time {
    drive.issue(now, Tag(0), Command::new(verb, at, Place::Nowhere));
    drive.complete().0
}

/// A few commands that belong together, and what they are.
fn scene(dice: &mut Dice, sheet: &Sheet, writes: bool) -> (&'static str, Vec<(Verb, Extent)>) {
    let blocks = sheet.mechanics.layout.blocks();
    let write = Verb::Write { fua: dice.percent(50) };
    let anywhere = |dice: &mut Dice, size: u32| Extent::new(dice.below(blocks - u64::from(size)), size);
    let kind = dice.below(if writes { 6 } else { 3 });
    let verb = if kind < 3 { Verb::Read } else { write };
    match kind {
        0 | 3 => {
            let both = [anywhere(dice, 1), anywhere(dice, 1)];
            (if kind == 0 { "reads of a sector" } else { "writes of a sector" }, both.map(|at| (verb, at)).to_vec())
        }
        1 | 4 => {
            let size = 1 + dice.below(700) as u32;
            let both = [anywhere(dice, 1), anywhere(dice, size)];
            (if kind == 1 { "long reads" } else { "long writes" }, both.map(|at| (verb, at)).to_vec())
        }
        2 => {
            let size = dice.one_of(&[1, 8, 40]);
            let first = dice.below(blocks - 20 * u64::from(size));
            let at = |i: u64| Extent::new(first + i * u64::from(size), size);
            ("a stream of reads", (0..8).map(|i| (verb, at(i))).collect())
        }
        _ => {
            let mut each =
                |_| if dice.percent(50) { (write, anywhere(dice, 8)) } else { (Verb::Read, anywhere(dice, 8)) };
            ("reads and writes", (0..4).map(&mut each).collect())
        }
    }
}

/// Of how many scenes of each kind, how many agree; and what the first others are.
fn compare(sheet: &Sheet, found: &Sheet, writes: bool) -> (BTreeMap<&'static str, [u64; 2]>, String) {
    let mut dice = Dice(77);
    let turn = sheet.mechanics.rotation.period().0;
    // What begins wherever the head lands shows little of how long the head takes from track to track.
    let near = if sheet.mechanics.access.reads { turn / 25 } else { 60_000 };
    let (mut real, mut ours) = (InStep::new(sheet, 0), InStep::new(found, 0));
    let (mut kinds, mut others) = (BTreeMap::new(), String::new());
    for i in 0..1500 {
        let (kind, commands) = scene(&mut dice, sheet, writes);
        let after = Span(i * 80 * turn + dice.below(turn));
        let [a, b] = [real.took(after, &commands), ours.took(after, &commands)];
        let apart = a.iter().zip(&b).map(|(a, b)| a.0.abs_diff(b.0)).max().unwrap_or(0);
        let count: &mut [u64; 2] = kinds.entry(kind).or_default();
        *count = [count[0] + 1, count[1] + u64::from(apart < near)];
        if apart >= near && others.len() < 2000 {
            others += &format!("{kind}: {commands:?}\n  {a:?}\n  {b:?}\n");
        }
    }
    (kinds, others)
}

/// Learns a small drive, and holds it beside itself; what is wrong.
fn learn(seed: u64) -> Result<(), String> {
    let disk::Drive { sheet, truth } = small(seed);
    let mut device = sim::Bench::new(Drive::new(&sheet, &truth, 7));
    let scratch = seed.is_multiple_of(2).then(|| middle(&sheet, 1 << 17));
    let options = ProfileOptions { name: "it".into(), seed: 1, effort: Thoroughness::Thorough, scratch };
    let profile = profile::profile(&mut device, &options, &mut ()).map_err(|error| error.to_string())?;
    let ProfileOutcome::Disk(known) = &profile.outcome else { return Err("nothing turns".into()) };
    let text = disk::write(&known.plan("it", profile.blocks));
    let found = disk::parse("it", "it.toml", &text).map_err(|error| error.to_string())?.sheet;
    let (kinds, others) = compare(&sheet, &found, scratch.is_some());
    let minutes = profile.time.as_secs() / 60.0;
    println!("seed {seed}: {minutes:.1} minutes, {} commands, {kinds:?}", profile.commands);
    let alike = kinds.values().all(|[all, near]| 100 * near >= 97 * all);
    if alike && minutes < 8.0 {
        return Ok(());
    }
    let sheets = [&sheet, &found].map(|sheet| format!("{:?} {:?}\n", sheet.cache, sheet.overheads)).concat();
    Err(format!("{minutes} minutes, {kinds:?}\n{others}{sheets}"))
}

#[track_caller]
fn is_like(seed: u64) {
    if let Err(what) = learn(seed) {
        panic!("seed {seed}: {what}");
    }
}

/// Each by itself, so that they can be run side by side.
macro_rules! alike {
    ($($name:ident: $seeds:expr,)*) => {
        $(#[test]
        fn $name() {
            $seeds.into_iter().for_each(is_like);
        })*
    };
}

alike! {
    small_drives_answer_reads_as_they_were_learned: [1, 3],
    other_small_drives_answer_reads_as_they_were_learned: [9, 13],
    small_drives_answer_writes_as_they_were_learned: [2],
    other_small_drives_answer_writes_as_they_were_learned: [4, 10],
    third_small_drives: [12],
}

#[test]
#[ignore = "some minutes; prints a table"]
fn many_small_drives() {
    let count: u64 = crate::number("HALFTURN_DRIVES").unwrap_or(40);
    let from = crate::seed();
    let unlike: Vec<u64> = (from..from + count).filter(|seed| learn(*seed).is_err()).collect();
    println!("{} of {count} are not alike: {unlike:?}", unlike.len());
    assert!(20 * unlike.len() as u64 <= 3 * count, "{unlike:?}");
}
