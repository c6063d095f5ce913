//! A drive believed to be what a profile found, and a drive that is what a profile found: both do as the true one does.
//!
//! Drive by drive, as a table: `cargo test --release -p sim --test behaviour believed -- --ignored --nocapture`; with
//! `HALFTURN_DRIVES=NAME,FILE` of these instead of the catalogue.

use crate::files::{Folder, cases, results};
use load::experiment::DriveChoice;
use load::results::Run;
use profile::{Effort, Options, Outcome, Step, Watch};

/// Reads at random, so many outstanding.
fn reads(drive: &str, scheduler: &str, depth: u32, requests: u32) -> Run {
    let text = format!(
        "[drive]\nmodel = \"{drive}\"\n[scheduler]\n{scheduler}\n[[workload]]\nname = \"reads\"\nkind = \"closed\"\n\
         depth = {depth}\nsize = \"4KiB\"\n[run]\nrequests = {requests}\n"
    );
    results(&text).runs.remove(0)
}

/// Short reads beside long ones, as the paper's prototype serves them.
fn stepping_in(drive: &str, profile: &str, seconds: u32) -> Run {
    let text = format!(
        "[drive]\nmodel = \"{drive}\"\n[scheduler]\npolicy = \"fcfs\"\nio = \"semi-preemptible\"\npreemption = \"always\"\n\
         profile = \"{profile}\"\n[scheduler.plan]\npreset = \"virtual-io-2002\"\n\
         [[workload]]\nname = \"bulk\"\nkind = \"closed\"\ndepth = 1\nsize = \"2000KiB\"\n\
         [[workload]]\nname = \"interactive\"\nkind = \"open\"\nrate = \"10/s\"\nsize = \"4KiB\"\n\
         [run]\nduration = \"{seconds}s\"\n"
    );
    results(&text).runs.remove(0)
}

/// Mean response of the reads, ms.
fn mean(run: &Run) -> f64 {
    run.classes["reads"].response_ms.mean
}

/// Share of the timed seeks that came too late.
fn late(run: &Run) -> f64 {
    let service = run.service.as_ref().expect("it is served in short commands");
    service.late as f64 / service.jit_seeks as f64
}

#[track_caller]
fn near(what: &str, found: f64, real: f64, within: f64) {
    assert!((found / real - 1.0).abs() <= within, "{what}: {found}, with the sheet {real}");
}

#[test]
fn a_learned_profile_schedules_as_the_sheet_does() {
    for drive in ["mimic-base", "st318437lw"] {
        let [sheet, learned] = ["sheet", "learned"]
            .map(|from| reads(drive, &format!("policy = \"satf\"\nprofile = \"{from}\""), 50, 20_000));
        near(drive, mean(&learned), mean(&sheet), 0.03);
        let learned = learned.learned.expect("it was learned");
        assert!(learned.probes > 1000 && learned.probing_seconds < 900.0, "{drive}: {learned:?}");
    }
}

#[test]
fn what_a_learned_profile_times_comes_as_soon_and_as_rarely_late() {
    let [sheet, learned] = ["sheet", "learned"].map(|from| stepping_in("st318437lw", from, 200));
    near("expected wait", learned.expected_wait_ms, sheet.expected_wait_ms, 0.1);
    near("late", late(&learned), late(&sheet), 0.2);
}

#[test]
fn the_second_key_leaves_little_to_satf_and_falls_away_where_nothing_turns() {
    let smtf = |drive, more: &str| mean(&reads(drive, &format!("policy = \"smtf\"\n{more}"), 50, 20_000));
    let key = "[scheduler.mimic]\nsecond_key = \"angle\"";
    let satf = mean(&reads("st318437lw", "policy = \"satf\"", 50, 20_000));
    near("smtf", smtf("st318437lw", key), satf, 0.05);
    assert!(smtf("st318437lw", "") > 1.15 * satf, "without the second key");
    assert!((smtf("store-block", key) - smtf("store-block", "")).abs() < 1e-9);
}

#[test]
fn a_profile_that_is_wrong_costs_what_it_costs_and_one_that_cannot_be_is_refused() {
    let satf =
        |profile: &str| mean(&reads("mimic-base", &format!("policy = \"satf\"\nprofile = \"{profile}\""), 50, 20_000));
    assert!(satf("mimic-5") > 1.2 * satf("sheet"), "a slower rotation is believed");
    for (drive, profile, what) in
        [("mimic-base", "st318437lw", "blocks; the drive has"), ("store-block", "learned", "nothing turns in it")]
    {
        let text = format!(
            "[drive]\nmodel = \"{drive}\"\n[scheduler]\npolicy = \"satf\"\nprofile = \"{profile}\"\n[[workload]]\n\
             name = \"reads\"\nkind = \"closed\"\ndepth = 1\nsize = \"4KiB\"\n[run]\nrequests = 10\n"
        );
        let error = sim::replicate(&cases(&text)[0].experiment, 0, &|_| ()).expect_err("it cannot be believed");
        assert!(error.to_string().contains(what), "{error}");
    }
}

struct Quiet;

impl Watch for Quiet {
    fn step(&mut self, _: Step) {}
    fn mapped(&mut self, _: u64, _: u64) {}
}

/// The drive file that a profile of this drive makes.
fn extracted(folder: &Folder, drive: &str) -> String {
    let choice =
        DriveChoice { model: drive.into(), noise: true, read_cache: true, write_buffer: true, queue: 1, drift: None };
    let mut device = sim::bench(&choice, 11).expect("there is one");
    let options = Options { name: drive.into(), seed: 1, effort: Effort::Thorough, scratch: None };
    let found = profile::profile(&mut &mut *device, &options, &mut Quiet).expect("it can be read");
    let Outcome::Disk(known) = &found.outcome else { panic!("{drive} turns") };
    folder.file("extracted.toml", &disk::write(&known.plan(drive, found.blocks)))
}

/// A recorded trace of reads, on the blocks that the drive has; nothing where it is not at hand.
fn recorded(drive: &str) -> Option<Run> {
    let trace =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/traces/recorded/blktrace/fio-mixed.blkparse.txt.gz");
    if !std::path::Path::new(trace).exists() {
        println!("SKIPPED: {trace} is not here");
        return None;
    }
    let text = format!(
        "[drive]\nmodel = \"{drive}\"\nwrite_buffer = false\n[scheduler]\npolicy = \"satf\"\n[[workload]]\nname = \"reads\"\n\
         kind = \"trace\"\nfile = \"{trace}\"\nreplay = \"closed\"\ndepth = 16\nfit = \"wrap\"\n[run]\nrequests = 20000\n"
    );
    Some(results(&text).runs.remove(0))
}

/// By how many percent a figure is off.
fn off(found: f64, real: f64) -> f64 {
    100.0 * (found / real - 1.0)
}

#[test]
#[ignore = "minutes; prints a table"]
fn drive_by_drive() {
    let given = std::env::var("HALFTURN_DRIVES").unwrap_or_default();
    let names: Vec<&str> = match given.is_empty() {
        true => disk::catalogue::names().collect(),
        false => given.split(',').collect(),
    };
    println!(
        "| drive | smtf with angle / satf, depth 10, 50, 500 | jit on the learned profile: wait %, late % (sheet's) | \
         on the extracted drive: satf mean %, p99 % | interactive mean %, p99 %, bulk MB/s % | trace mean %, p99 % |"
    );
    println!("|---|---|---|---|---|---|");
    let folder = Folder::new("extracted");
    let key = "policy = \"smtf\"\n[scheduler.mimic]\nsecond_key = \"angle\"";
    for name in names {
        let satf = |drive: &str, depth| reads(drive, "policy = \"satf\"", depth, 60_000);
        let ratios = [10, 50, 500].map(|depth| mean(&reads(name, key, depth, 60_000)) / mean(&satf(name, depth)));
        let [sheet, learned] = ["sheet", "learned"].map(|from| stepping_in(name, from, 600));
        let drive = extracted(&folder, name);
        let of = |run: &Run, class: &str| {
            let response = &run.classes[class].response_ms;
            (response.mean, response.p99)
        };
        let pair = |theirs: (f64, f64), ours: (f64, f64)| {
            format!("{:+.1}, {:+.1}", off(ours.0, theirs.0), off(ours.1, theirs.1))
        };
        let (first, second) = (satf(name, 50), satf(&drive, 50));
        let stepped = stepping_in(&drive, "sheet", 600);
        let traced = recorded(name).zip(recorded(&drive));
        println!(
            "| {} | {:.3}, {:.3}, {:.3} | {:+.1}, {:+.0} ({:.2} %) | {} | {}, {:+.1} | {} |",
            name.rsplit('/').next().unwrap_or(name),
            ratios[0],
            ratios[1],
            ratios[2],
            off(learned.expected_wait_ms, sheet.expected_wait_ms),
            off(late(&learned).max(1e-9), late(&sheet).max(1e-9)),
            100.0 * late(&sheet),
            pair(of(&first, "reads"), of(&second, "reads")),
            pair(of(&sheet, "interactive"), of(&stepped, "interactive")),
            off(stepped.classes["bulk"].throughput_mb_s, sheet.classes["bulk"].throughput_mb_s),
            traced.map_or_else(|| "–".into(), |(theirs, ours)| pair(of(&theirs, "reads"), of(&ours, "reads"))),
        );
    }
}
