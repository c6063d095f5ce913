//! `cargo xtask mutate`: plants bugs, and says which of them the tests find.
//!
//! All bugs are in one build, each behind a switch that is read once from the environment. Each test is run alone first, which
//! tells how long it takes and which bugs it passes; then each bug is tried against the tests that pass it, the fastest first.

mod borrow;
mod compile;
mod copy;
mod draw;
mod gate;
mod modules;
mod operators;
mod plant;
mod process;
mod report;
mod site;
mod sites;
mod suite;
mod timed;
mod trial;

use compile::Workshop;
use copy::Copy;
use gate::{Gate, Survivors};
use report::{Report, TriedMutant};
use site::Site;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use suite::{Suite, TestPlace};

/// What is asked for.
pub struct Options {
    pub root: PathBuf,
    /// Where the copy, what is built of it and the reports are.
    pub out: PathBuf,
    /// Instead of the gate's.
    pub seed: Option<u64>,
    /// Plant in these crates only; all where it is empty.
    pub crates: Vec<String>,
    /// Only so many of the gate's, of crates that are soon built, chosen by `seed`.
    pub sample: Option<usize>,
    /// Only those that have one of these in `FILE:LINE: FUNCTION` or in their lines.
    pub only: Vec<String>,
    /// Only those that survived last time.
    pub again: bool,
    /// Those planted in reserve instead, for others that do not compile: bugs that no test was written for.
    pub reserve: bool,
    /// Only with the tests of the crate itself.
    pub own: bool,
    /// Only say which are wanted, and build nothing.
    pub list: bool,
    pub jobs: usize,
    /// Also what caught each.
    pub verbose: bool,
}

/// Where the last survivors are, of the folder for reports.
const SURVIVED: &str = "survived.toml";
/// The same of the reserve.
const RESERVE: &str = "survived-reserve.toml";
/// Those that did not compile, of the same folder: they are not planted again.
const REFUSED: &str = "refused.txt";

/// Runs the gate; true if it is passed.
pub fn run(options: &Options) -> Result<bool, String> {
    let from = Instant::now();
    let (mut gate, survivors) = Gate::read(&options.root)?;
    if options.own {
        gate.answer.clear();
    }
    let chosen = choose(options, &gate);
    let seed = options.seed.unwrap_or(if options.sample.is_some() { 0 } else { gate.seed });
    println!("seed {seed}: {}", chosen.join(", "));
    let draw = draw_all(options, &gate, &chosen)?;
    if options.list {
        let wanted = pick(options, draw.keep_drawn(&BTreeSet::new(), options.reserve))?;
        wanted.iter().for_each(|(_, site)| print!("{}", report::describe(site, "drawn")));
        return Ok(true);
    }
    let copy = Copy::make(&options.root, options.out.join("tree"), &draw.files())?;
    let tested: BTreeSet<String> = chosen.iter().flat_map(|name| gate.answering(name)).collect();
    let tested: Vec<String> = tested.into_iter().collect();
    let workshop = Workshop { copy: &copy, target: options.out.join("build"), jobs: options.jobs };
    let own: BTreeSet<String> = copy.crates().collect();
    let built = options.root.join("target/debug");
    if let Err(error) = borrow::borrow(&built, &options.out.join("build/debug"), &own) {
        eprintln!("  {}: {error}; everything is built anew", built.display());
    }
    let (binaries, left_out) = workshop.build(&draw.planted, &tested)?;
    remember(options, left_out.iter().map(|number| &*draw.names[number]))?;
    let mutants = draw.keep_drawn(&left_out, options.reserve);
    println!(
        "built {} mutants in {:.0} s, of which {} do not compile",
        draw.planted.len(),
        from.elapsed().as_secs_f64(),
        left_out.len()
    );
    let place = TestPlace {
        root: &copy.root,
        scratch: options.out.join("scratch"),
        jobs: options.jobs,
        memory_mib: gate.memory_mib,
        grace: Duration::from_secs_f64(gate.grace_seconds),
    };
    let mutants = pick(options, mutants)?;
    // Only the tests that answer for what is tried.
    let answering: BTreeSet<String> = mutants.iter().flat_map(|(_, site)| gate.answering(site.krate())).collect();
    let binaries = binaries.into_iter().filter(|binary| answering.contains(&binary.krate)).collect();
    let suite = Suite::time(&place, binaries, &gate)?;
    for (krate, (tests, took)) in suite.totals() {
        println!("  {krate}: {tests} tests, {:.1} s", took.as_secs_f64());
    }
    suite.broken.iter().for_each(|test| println!("  fails without a bug: {test}"));
    suite.slow.iter().for_each(|test| println!("  too slow to count: {test}"));
    println!("timed at {:.0} s", from.elapsed().as_secs_f64());
    let tried = try_all(&place, &suite, &gate, &copy, &mutants)?;
    let passed = conclude(options, &gate, &survivors, &tried)?;
    println!("{} mutants in {:.0} s", tried.len(), from.elapsed().as_secs_f64());
    Ok(passed)
}

/// Adds those that do not compile to the list of such.
fn remember<'a>(options: &Options, left_out: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let file = options.out.join(REFUSED);
    let known = std::fs::read_to_string(&file).unwrap_or_default();
    let text: String = left_out.map(|name| format!("{name}\n")).collect();
    std::fs::write(&file, known + &text).map_err(|error| format!("{}: {error}", file.display()))
}

/// The crates to plant in.
fn choose(options: &Options, gate: &Gate) -> Vec<String> {
    if !options.crates.is_empty() {
        return options.crates.clone();
    }
    let of = if options.sample.is_none() || gate.sampled.is_empty() { &gate.crates } else { &gate.sampled };
    of.clone()
}

/// What was drawn: planted by number, and of each crate the numbers in their order and how many are wanted.
struct MutantDraw {
    planted: BTreeMap<u32, Site>,
    /// What names each, for the list of those that do not compile.
    names: BTreeMap<u32, String>,
    wanted: Vec<(Vec<u32>, usize)>,
}

impl MutantDraw {
    /// The files that are written with bugs in them, and the manifests that name the switch.
    fn files(&self) -> BTreeSet<String> {
        let crates = self.planted.values().map(|site| format!("crates/{}/Cargo.toml", site.krate()));
        let sources = self.planted.values().map(|site| site.file.clone());
        sources.chain(crates).chain(["Cargo.toml".to_owned()]).collect()
    }

    /// The first so many of each crate that compile; or those after them, the reserve.
    fn keep_drawn(&self, left_out: &BTreeSet<u32>, reserve: bool) -> Vec<(u32, Site)> {
        let chosen = |(numbers, count): &(Vec<u32>, usize)| {
            let compile = numbers.iter().copied().filter(|number| !left_out.contains(number));
            let (skipped, taken) = if reserve { (*count, usize::MAX) } else { (0, *count) };
            compile.skip(skipped).take(taken).collect::<Vec<_>>()
        };
        self.wanted.iter().flat_map(chosen).map(|number| (number, self.planted[&number].clone())).collect()
    }
}

/// Draws from every crate of the gate, so that a part of the crates has the same draw as all; plants in those chosen.
fn draw_all(options: &Options, gate: &Gate, chosen: &[String]) -> Result<MutantDraw, String> {
    let seed = if options.sample.is_some() { gate.seed } else { options.seed.unwrap_or(gate.seed) };
    let found: Vec<_> = gate.crates.iter().map(|name| modules::read(&options.root, name)).collect::<Result<_, _>>()?;
    let refused = std::fs::read_to_string(options.out.join(REFUSED)).unwrap_or_default();
    let refused: BTreeSet<&str> = refused.lines().collect();
    let lines: Vec<usize> = found.iter().map(|found| found.lines).collect();
    let shares = draw::shares(gate.mutants, gate.least, &lines);
    let mut draw = MutantDraw { planted: BTreeMap::new(), names: BTreeMap::new(), wanted: Vec::new() };
    let mut last = 0;
    for ((name, found), share) in gate.crates.iter().zip(found).zip(shares) {
        if !chosen.contains(name) {
            continue;
        }
        let all = found.sites.len();
        let places = draw::places(&found.sites);
        let mut numbers = Vec::new();
        // Some do not compile: more are planted than are wanted. Those known not to compile keep their numbers, so that what
        // is planted the second time is what was built the first.
        for site in draw::order(seed, found.sites).into_iter().take(share + share / 2 + 10) {
            last += 1;
            // Of two that read the same one may compile, and the other not.
            let name = format!("{}\t{}", site.key(), places[&(site.key(), site.line)]);
            if !refused.contains(&*name) {
                numbers.push(last);
                draw.names.insert(last, name);
                draw.planted.insert(last, site);
            }
        }
        println!("  {name}: {share} of {all} sites on {} lines", found.lines);
        draw.wanted.push((numbers, share));
    }
    if last >= crate::switch::MOST {
        return Err(format!("{last} mutants are too many\n  mend: fewer mutants in tests/mutants/gate.toml"));
    }
    Ok(draw)
}

/// The mutants that are asked for.
fn pick(options: &Options, mut mutants: Vec<(u32, Site)>) -> Result<Vec<(u32, Site)>, String> {
    if options.again {
        let file = options.out.join(if options.reserve { RESERVE } else { SURVIVED });
        let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let entries: Vec<&str> = text.split_inclusive("[[survivor]]").collect();
        let entry = |site: &Site| report::entry(site).replacen("[[survivor]]", "", 1).trim().to_owned();
        mutants.retain(|(_, site)| entries.iter().any(|known| known.contains(&entry(site))));
    }
    if !options.only.is_empty() {
        let shown =
            |site: &Site| format!("{}:{}: {}: \n{}\n{}", site.file, site.line, site.function, site.before, site.after);
        mutants.retain(|(_, site)| options.only.iter().any(|word| shown(site).contains(word)));
    }
    if let Some(count) = options.sample {
        let seed = options.seed.unwrap_or(0);
        let chosen = draw::sample(seed, count, mutants.iter().enumerate().map(|(n, (_, site))| (n, site)));
        mutants = chosen.into_iter().map(|n| mutants[n].clone()).collect();
    }
    Ok(mutants)
}

fn try_all(
    place: &TestPlace,
    suite: &Suite,
    gate: &Gate,
    copy: &Copy,
    mutants: &[(u32, Site)],
) -> Result<Vec<TriedMutant>, String> {
    let done = Mutex::new(Vec::new());
    place.each(mutants, |worker, (number, site)| {
        let tests = suite.reaching(*number, site.krate(), gate);
        let (fate, took) = trial::try_out(place, suite, worker, *number, &tests)?;
        for file in copy.mend() {
            println!("  {}:{} has changed {file}, which was put back", site.file, site.line);
        }
        let tried = TriedMutant { site: site.clone(), fate, took };
        if tried.lives() {
            eprint!("{}", tried.describe());
        }
        let mut done = done.lock().expect("no worker panics while it writes down");
        done.push(tried);
        if done.len().is_multiple_of(25) {
            eprintln!("  {} of {} tried", done.len(), mutants.len());
        }
        Ok(())
    })?;
    let mut tried = done.into_inner().expect("no worker panicked");
    tried.sort_by(|a, b| (&a.site.file, a.site.line, &a.site.after).cmp(&(&b.site.file, b.site.line, &b.site.after)));
    Ok(tried)
}

/// Writes what was found; true if the gate is passed.
fn conclude(options: &Options, gate: &Gate, survivors: &Survivors, tried: &[TriedMutant]) -> Result<bool, String> {
    let report = Report { gate, survivors, tried };
    let (unlisted, outdated) = (report.unlisted_survivors(), report.outdated_survivors());
    if options.verbose {
        tried.iter().for_each(|tried| print!("{}", tried.describe()));
    }
    if !unlisted.is_empty() {
        println!("\nsurvived, and not in tests/mutants/survivors.toml:");
        unlisted.iter().for_each(|tried| print!("{}", tried.describe()));
    }
    if !outdated.is_empty() {
        println!("\nin tests/mutants/survivors.toml, but caught; take them out:");
        outdated.iter().for_each(|tried| print!("{}", tried.describe()));
    }
    let file = options.out.join(if options.reserve { RESERVE } else { SURVIVED });
    let entries: String = unlisted.iter().map(|tried| format!("{}\n", report::entry(&tried.site))).collect();
    std::fs::write(&file, entries).map_err(|error| format!("{}: {error}", file.display()))?;
    println!("\n{}", report.table());
    let part = options.sample.is_some() || options.again || options.reserve || !options.only.is_empty();
    let enough = part || report.share() >= gate.caught_percent;
    if !enough {
        println!("{:.1} % caught of those not equivalent, {} are asked for", report.share(), gate.caught_percent);
    }
    Ok(enough && unlisted.is_empty() && outdated.is_empty())
}

/// The folder the workspace is in.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).map_or_else(PathBuf::new, Path::to_owned)
}
