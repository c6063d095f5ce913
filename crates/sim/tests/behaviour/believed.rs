//! A drive believed to be what a profile found, and a drive that is what a profile found: both do as the true one does.
//!
//! Drive by drive, as a table: `cargo test --release -p halfturn-sim --test behaviour believed -- --ignored --nocapture`; with
//! `HALFTURN_DRIVES=NAME,FILE` of these instead of the catalogue.

use crate::files::{Folder, cases, results};
use load::experiment::DriveChoice;
use load::results::{Distribution, Run};
use profile::{ProfileOptions, ProfileOutcome, Scratch, Thoroughness};

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

/// Its firmware is slow with large commands, and paces what goes on with the last one: when that comes tells nothing of the turn.
#[test]
fn what_slow_firmware_paces_makes_no_timed_seek_late() {
    for chunk in ["128KiB", "256KiB", "512KiB"] {
        let text = format!(
            "[drive]\nmodel = \"st318437lw\"\n[scheduler]\npolicy = \"fcfs\"\nio = \"semi-preemptible\"\npreemption = \"always\"\n\
             plan = {{ chunk = \"{chunk}\" }}\n[[workload]]\nname = \"bulk\"\nkind = \"closed\"\ndepth = 1\nsize = \"2MiB\"\n\
             [[workload]]\nname = \"interactive\"\nkind = \"open\"\nrate = \"10/s\"\nsize = \"4KiB\"\n\
             [run]\nduration = \"60s\"\n"
        );
        let run = results(&text).runs.remove(0);
        assert!(late(&run) < 0.05, "{chunk}: {} of the timed seeks came late", late(&run));
    }
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
        [("mimic-base", "st318437lw", "blocks; the drive has"), ("store-block", "learned", "no profile to learn")]
    {
        let text = format!(
            "[drive]\nmodel = \"{drive}\"\n[scheduler]\npolicy = \"satf\"\nprofile = \"{profile}\"\n[[workload]]\n\
             name = \"reads\"\nkind = \"closed\"\ndepth = 1\nsize = \"4KiB\"\n[run]\nrequests = 10\n"
        );
        let error = sim::replicate(&cases(&text)[0].experiment, 0, &|_| ()).expect_err("it cannot be believed");
        assert!(error.to_string().contains(what), "{error}");
    }
}

/// A file is read as the drive that was learned, or says that there is none; and nothing overflows.
#[test]
fn of_a_drive_that_is_too_small_a_profile_is_learned_or_refused() {
    let folder = Folder::new("tiny");
    let (mut learned, mut refused) = (0, 0);
    for (heads, tracks, sectors) in [(2, 5, 45), (1, 45, 10), (1, 450, 1), (10, 9, 5), (1, 120, 5)] {
        let last = tracks - 1;
        let text = format!(
            "title = \"tiny\"\n[rotation]\nrpm = 3600\n[geometry]\nheads = {heads}\norder = \"heads-first\"\n\
             zones = [[0, {last}, {sectors}, 0, 0]]\n[seek]\na_ms = 2.594\nb_ms = 0.4057\nknee = 350\nc_ms = 6.390\n\
             e_ms = 0.01084\n[switch]\nhead = \"1.6ms\"\ncylinder = \"3.0ms\"\n[overhead]\nread = \"1.5ms\"\nhit = \"1.0ms\"\n\
             bus_mb_s = 2.0\n[cache]\nsegments = 1\nsegment = \"64KiB\"\n"
        );
        let drive = folder.file(&format!("{heads}-{tracks}-{sectors}.toml"), &text);
        let text = format!(
            "[drive]\nmodel = \"{drive}\"\n[scheduler]\npolicy = \"satf\"\nprofile = \"learned\"\n[[workload]]\n\
             name = \"reads\"\nkind = \"closed\"\ndepth = 4\nsize = \"512B\"\n[run]\nrequests = 100\n"
        );
        match sim::replicate(&cases(&text)[0].experiment, 0, &|_| ()) {
            Ok(_) => learned += 1,
            Err(error) => {
                refused += 1;
                assert!(error.file == drive && error.what.contains("learned of the drive is none"), "{error}");
            }
        }
    }
    println!("{learned} learned, {refused} refused");
    assert!(learned > 0 && refused > 0);
}

#[test]
fn seeks_are_not_timed_by_a_profile_that_makes_them_late() {
    let folder = Folder::new("punctual");
    let true_seeks = "a_ms = 0.875\nb_ms = 0.079057\nknee = 6250\nc_ms = 4.0\ne_ms = 5.0e-4";
    let half_as_long = "a_ms = 0.4375\nb_ms = 0.0395285\nknee = 6250\nc_ms = 2.0\ne_ms = 2.5e-4";
    let catalogue = concat!(env!("CARGO_MANIFEST_DIR"), "/../disk/catalogue/st318437lw.toml");
    let sheet = std::fs::read_to_string(catalogue).expect("it is there");
    assert!(sheet.contains(true_seeks));
    let wrong = folder.file("wrong.toml", &sheet.replace(true_seeks, half_as_long));
    let run = |profile: &str, jit: bool| {
        let text = format!(
            "[drive]\nmodel = \"st318437lw\"\n[scheduler]\npolicy = \"satf\"\nio = \"semi-preemptible\"\n\
             profile = \"{profile}\"\n[scheduler.plan]\njit = {jit}\n[[workload]]\nname = \"reads\"\n\
             kind = \"closed\"\ndepth = 2\nsize = \"64KiB\"\n[run]\nrequests = 4000\n"
        );
        results(&text).runs.remove(0)
    };
    let [sheet, wrong, at_once] = [run("sheet", true), run(&wrong, true), run(&wrong, false)];
    let note = |run: &Run| run.notes.iter().any(|note| note.contains("too many just-in-time seeks"));
    let timed = |run: &Run| run.service.as_ref().map_or(0, |service| service.jit_seeks);
    assert!(!note(&sheet) && timed(&sheet) > 3500, "{} timed by the sheet", timed(&sheet));
    assert!(note(&wrong) && timed(&wrong) < 600, "{} timed by the wrong profile", timed(&wrong));
    near("response without timing", mean(&wrong), mean(&at_once), 0.05);
}

/// The drive file that a profile of this drive makes, by reads alone or with a scratch of an eighth of it in its middle.
fn extracted(folder: &Folder, drive: &str, writes: bool) -> String {
    let choice = DriveChoice::plain(drive, 1);
    let mut device = sim::bench(&choice, 11).expect("there is one");
    let blocks = device.caps().blocks;
    let scratch = writes.then(|| Scratch { first: blocks / 2, blocks: (blocks / 8).min(1 << 22) });
    let options = ProfileOptions { name: drive.into(), seed: 1, effort: Thoroughness::Thorough, scratch };
    let found = profile::profile(&mut &mut *device, &options, &mut ()).expect("it can be read");
    let ProfileOutcome::Disk(known) = &found.outcome else { panic!("{drive} turns") };
    folder.file(if writes { "written.toml" } else { "extracted.toml" }, &disk::write(&known.plan(drive, found.blocks)))
}

/// Requests of a recorded trace outstanding, in a run each: one alone of some 2,000 requests has a percentile by chance.
const DEPTHS: [u32; 6] = [8, 12, 16, 20, 24, 32];

/// A recorded trace on the blocks that the drive has: mean and 99th percentile of the response, ms, means over the depths;
/// nothing where it is not at hand. Seeks vary by a tenth of a millisecond, on the true drive and on the extracted one:
/// without, each run is one of many that differ by chance, and its repetitions are the same again.
fn recorded(drive: &str, trace: &str, write_buffer: bool, seed: u32) -> Option<(f64, f64)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/traces/recorded/blktrace");
    let trace = format!("{folder}/{trace}.blkparse.txt.gz");
    if !std::path::Path::new(&trace).exists() {
        println!("SKIPPED: {trace} is not here");
        return None;
    }
    let text = format!(
        "[drive]\nmodel = \"{drive}\"\nwrite_buffer = {write_buffer}\nseek_noise = \"0.1ms\"\n[scheduler]\n\
         policy = \"satf\"\n[[workload]]\nname = \"reads\"\nkind = \"trace\"\nfile = \"{trace}\"\nreplay = \"closed\"\ndepth = {DEPTHS:?}\nfit = \"wrap\"\n\
         [run]\nrequests = 20000\nreplications = 20\nseed = {seed}\n"
    );
    let runs = results(&text).runs;
    let mean = |of: fn(&Distribution) -> f64| {
        runs.iter().map(|run| of(&run.classes["reads"].response_ms)).sum::<f64>() / runs.len() as f64
    };
    Some((mean(|times| times.mean), mean(|times| times.p99)))
}

/// By how many percent a figure is off.
fn off(found: f64, real: f64) -> f64 {
    100.0 * (found / real - 1.0)
}

/// By how many percent the mean and the 99th percentile of a class's response are off.
fn offs(found: &Run, real: &Run, class: &str) -> String {
    let of = |run: &Run| (run.classes[class].response_ms.mean, run.classes[class].response_ms.p99);
    both_off(of(found), of(real))
}

/// By how many percent each of two figures is off.
fn both_off(found: (f64, f64), real: (f64, f64)) -> String {
    format!("{:+.1}, {:+.1}", off(found.0, real.0), off(found.1, real.1))
}

/// The drives of a table: those of `HALFTURN_DRIVES`, or the catalogue.
fn names() -> Vec<String> {
    let given = std::env::var("HALFTURN_DRIVES").unwrap_or_default();
    match given.is_empty() {
        true => disk::catalogue::names().map(str::to_owned).collect(),
        false => given.split(',').map(str::to_owned).collect(),
    }
}

fn short(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

#[test]
#[ignore = "minutes; prints a table"]
fn drive_by_drive() {
    println!(
        "| drive | smtf with angle / satf, depth 10, 50, 500 | jit on the learned profile: wait %, late % (sheet's) |"
    );
    println!("|---|---|---|");
    let key = "policy = \"smtf\"\n[scheduler.mimic]\nsecond_key = \"angle\"";
    for name in names() {
        let satf = |depth| reads(&name, "policy = \"satf\"", depth, 60_000);
        let ratios = [10, 50, 500].map(|depth| mean(&reads(&name, key, depth, 60_000)) / mean(&satf(depth)));
        let [sheet, learned] = ["sheet", "learned"].map(|from| stepping_in(&name, from, 600));
        println!(
            "| {} | {:.3}, {:.3}, {:.3} | {:+.1}, {:+.0} ({:.2} %) |",
            short(&name),
            ratios[0],
            ratios[1],
            ratios[2],
            off(learned.expected_wait_ms, sheet.expected_wait_ms),
            off(late(&learned).max(1e-9), late(&sheet).max(1e-9)),
            100.0 * late(&sheet),
        );
    }
}

#[test]
#[ignore = "minutes; prints a table"]
fn on_the_extracted_drive() {
    println!(
        "| drive | satf, depth 50 | interactive; bulk MB/s | reads alone: fio-mixed, git, sqlite | with a scratch | with a \
         scratch, write buffer off | by chance: the true drive, another seed |"
    );
    println!("|---|---|---|---|---|---|---|");
    let folder = Folder::new("extracted");
    for name in names() {
        let (read, written) = (extracted(&folder, &name, false), extracted(&folder, &name, true));
        let satf = |drive: &str| reads(drive, "policy = \"satf\"", 50, 60_000);
        let [sheet, stepped] = [&name, &written].map(|drive| stepping_in(drive, "sheet", 600));
        let traces = |drive: &str, buffer, seed| {
            let one = |trace| {
                let runs = recorded(drive, trace, buffer, seed).zip(recorded(&name, trace, buffer, 1));
                runs.map_or_else(|| "–".into(), |(ours, theirs)| both_off(ours, theirs))
            };
            ["fio-mixed", "git", "sqlite"].map(one).join("; ")
        };
        println!(
            "| {} | {} | {}; {:+.1} | {} | {} | {} | {} |",
            short(&name),
            offs(&satf(&written), &satf(&name), "reads"),
            offs(&stepped, &sheet, "interactive"),
            off(stepped.classes["bulk"].throughput_mb_s, sheet.classes["bulk"].throughput_mb_s),
            traces(&read, true, 1),
            traces(&written, true, 1),
            traces(&written, false, 1),
            traces(&name, true, 2),
        );
    }
}
