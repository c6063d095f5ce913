//! More commands in a drive never cost what one at a time gives. `HALFTURN_DEPTHS=1` has the whole table in place of a few cells.

use crate::files::{Folder, once, per_second};

const DRIVES: [&str; 5] = ["nl20", "atlas10k", "st318437lw", "wd400bb", "mimic-6"];

/// The file of a drive of the catalogue that takes 32 commands. Of the slow ones some would wait longer than half a second at that
/// depth; a limit of so little makes the order that of arrival.
fn queueing(folder: &Folder, model: &str) -> String {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../disk/catalogue/{model}.toml"));
    let text = std::fs::read_to_string(file).unwrap();
    let queue = if text.contains("[queue]") { "" } else { "\n[queue]\ndepth = 32\nage_limit = \"2s\"\n" };
    folder.file(&format!("{model}.toml"), &format!("{text}{queue}"))
}

/// Requests a second of a closed loop of 32, so many of which the drive takes at once.
fn rate(model: &str, depth: u32, drive: &str, load: &str, requests: u32) -> f64 {
    per_second(&once(&format!(
        "[drive]\nmodel = \"{model}\"\nqueue = {depth}\n{drive}\n[scheduler]\npolicy = \"fcfs\"\n[[workload]]\nname = \"it\"\n\
         kind = \"closed\"\ndepth = 32\n{load}\n[run]\nrequests = {requests}\nwarmup = \"1s\"\n"
    )))
}

fn is_whole() -> bool {
    std::env::var("HALFTURN_DEPTHS").is_ok()
}

fn depths() -> &'static [u32] {
    if is_whole() { &[2, 4, 8, 16, 32] } else { &[4, 32] }
}

#[test]
fn streams_run_at_any_depth_as_fast_as_one_at_a_time() {
    let sizes: &[&str] =
        if is_whole() { &["4KiB", "16KiB", "64KiB", "256KiB", "1MiB"] } else { &["4KiB", "64KiB", "1MiB"] };
    let (folder, mut slower) = (Folder::new("depths-streams"), Vec::new());
    for model in DRIVES {
        let model = &queueing(&folder, model);
        for (size, read) in sizes.iter().flat_map(|size| [(size, 1), (size, 0)]) {
            let load = format!("size = \"{size}\"\nat = \"sequential\"\nread = {read}\nregion = \"0%..5%\"");
            let requests = if is_whole() { 3000 } else { 600 };
            let alone = rate(model, 1, "", &load, requests);
            for depth in depths() {
                let share = rate(model, *depth, "", &load, requests) / alone;
                println!("{model}: read = {read}, {size}, queue {depth}: {share:.3}");
                if share < 0.95 {
                    slower.push(format!("{model}: read = {read}, {size}, queue {depth}: {share:.3}"));
                }
            }
        }
    }
    assert!(slower.is_empty(), "{}", slower.join("\n"));
}

#[test]
fn random_requests_gain_by_depth_and_buffered_writes_lose_nothing() {
    let (folder, mut worse) = (Folder::new("depths-random"), Vec::new());
    for model in DRIVES {
        let model = &queueing(&folder, model);
        for (what, drive, read) in
            [("reads", "", 1), ("writes", "", 0), ("unbuffered writes", "write_buffer = false", 0)]
        {
            let load = format!("size = \"4KiB\"\nalign = \"4KiB\"\nread = {read}");
            let requests = if is_whole() { 6000 } else { 2500 };
            let mut last = rate(model, 1, drive, &load, requests);
            let alone = last;
            for depth in depths() {
                let here = rate(model, *depth, drive, &load, requests);
                println!("{model}: random {what}, queue {depth}: {:.3}", here / alone);
                let least = if what == "writes" { 0.98 * alone } else { last };
                if here < least {
                    worse.push(format!("{model}: random {what}, queue {depth}: {here:.1} a second, least {least:.1}"));
                }
                last = here;
            }
        }
    }
    assert!(worse.is_empty(), "{}", worse.join("\n"));
}

#[test]
fn a_trace_with_writes_ends_no_later_with_a_queue() {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces/public/ajw.1week.srt");
    if !file.exists() {
        println!("SKIPPED: no {}", file.display());
        return;
    }
    let (folder, mut worse) = (Folder::new("depths-replay"), Vec::new());
    for model in DRIVES {
        let model = &queueing(&folder, model);
        let replay = |depth: u32| {
            let run = once(&format!(
                "[drive]\nmodel = \"{model}\"\nqueue = {depth}\n[scheduler]\npolicy = \"fcfs\"\n[[workload]]\nname = \"it\"\n\
                 kind = \"trace\"\nfile = \"{}\"\ndevice = \"all\"\nreplay = \"closed\"\ndepth = 32\nfit = \"scale\"\n[run]\nrequests = 3000\n",
                file.display()
            ));
            per_second(&run)
        };
        let alone = replay(1);
        for depth in depths() {
            let share = replay(*depth) / alone;
            println!("{model}: replay, queue {depth}: {share:.3}");
            if share < 1.0 {
                worse.push(format!("{model}: replay, queue {depth}: {share:.3}"));
            }
        }
    }
    assert!(worse.is_empty(), "{}", worse.join("\n"));
}
