//! Whole drives read beside those who use them: what the reader pays, and how long the scan takes.
//!
//! `cargo test --release -p halfturn-sim --test behaviour whole_drives -- --ignored --nocapture` prints the table; `HALFTURN_SCANS=20` has
//! an NL20 of a twentieth of the cylinders in place of a sixtieth, and 1 all of it (days of a drive, and many minutes).
//! What decides is how dense wanted blocks lie on the tracks that the arm passes, and that goes with the share that is left; so a drive with
//! fewer of the same tracks, and seeks that take as long over the same share of the stroke, shows it.

use crate::files::{Folder, once};
use block::Span;
use sim::Replication;
use std::fmt::Write as _;

/// A drive that is scanned, and a part in so many of the real one.
struct Scene {
    name: &'static str,
    file: String,
    scale: u64,
}

/// The number that stands behind a key of a drive's file.
fn number(text: &str, key: &str) -> f64 {
    let line = text.lines().find(|line| line.starts_with(&format!("{key} = "))).expect("the key is there");
    line.split(" = ").nth(1).and_then(|number| number.parse().ok()).expect("a number")
}

/// The NL20 with a part in so many of its cylinders.
pub fn shrink_nl20(folder: &Folder, scale: u64) -> String {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../disk/catalogue/nl20.toml")).unwrap();
    let mut small = String::new();
    for line in text.lines() {
        let zone = line.trim().strip_prefix('[').and_then(|zone| zone.strip_suffix("],"));
        let zone: Option<Vec<&str>> =
            zone.map(|zone| zone.split(", ").collect()).filter(|zone: &Vec<&str>| zone.len() == 5);
        let (a, f) = (|key| number(&text, key), scale as f64);
        let line = match (zone, line.split(" = ").next().unwrap_or("")) {
            (Some(zone), _) => {
                let [first, last]: [u64; 2] = [zone[0], zone[1]].map(|at| at.parse().expect("a cylinder"));
                // The next zone's first is this one's last and one.
                format!(
                    "    [{}, {}, {}],",
                    first.div_ceil(scale),
                    (last + 1).div_ceil(scale) - 1,
                    zone[2..].join(", ")
                )
            }
            (None, "b_ms") => format!("b_ms = {}", a("b_ms") * f.sqrt()),
            (None, "knee") => format!("knee = {}", (a("knee") / f) as u64),
            (None, "e_ms") => format!("e_ms = {}", a("e_ms") * f),
            (None, "blocks" | "mean_seek_ms" | "full_stroke_ms" | "media_mb_s" | "sustained_mb_s" | "[published]") => {
                continue;
            }
            _ => line.into(),
        };
        let _ = writeln!(small, "{line}");
    }
    folder.file(&format!("nl20-{scale}.toml"), &small)
}

fn scenes(folder: &Folder) -> Vec<Scene> {
    let asked = std::env::var("HALFTURN_SCANS").ok().and_then(|scale| scale.parse().ok());
    let scale = asked.unwrap_or(60).max(1);
    let nl20 = if scale == 1 { "nl20".into() } else { shrink_nl20(folder, scale) };
    let others = ["atlas10k", "st318437lw"].map(|name| Scene { name, file: name.into(), scale: 1 });
    [Scene { name: "nl20", file: nl20, scale }].into_iter().chain(others).collect()
}

/// A reader and a scan on a drive as it comes, for so many seconds.
fn play(file: &str, scheduler: &str, reader: &str, scans: bool, seconds: u64) -> Replication {
    play_on(&format!("model = \"{file}\""), scheduler, reader, scans, seconds)
}

/// The same on a drive of which this is said.
fn play_on(drive: &str, scheduler: &str, reader: &str, scans: bool, seconds: u64) -> Replication {
    let free = if scans { "" } else { "free = { enabled = false }" };
    once(&format!(
        "[drive]\n{drive}\n[scheduler]\n{scheduler}\n{free}\n{reader}\n[[workload]]\nname = \"scan\"\nkind = \"scan\"\n\
         [run]\nduration = \"{seconds}s\"\n"
    ))
}

/// The mean and the 99th percentile of the reader, ms.
fn response(run: &Replication) -> [f64; 2] {
    let (_, reader) = run.meter.classes().find(|(name, _)| *name == "reader").expect("a reader");
    [reader.response_ms.mean, reader.response_ms.p99]
}

/// How long the scan took to a share of it.
fn until(run: &Replication, share: f64) -> Option<Span> {
    run.meter.scan().expect("there is a scan").time_until(share)
}

/// What came of a scan beside a reader.
struct Scanned {
    /// The reader's mean and 99th percentile over those without the scan, until 95 % was seen.
    reader: [f64; 2],
    /// 10^6 bytes a second until 95 % was seen, and seconds to the end.
    mb_s: f64,
    seconds: Option<f64>,
    /// The share of the time in which the arm had nothing to do without the scan.
    idle: f64,
}

/// Plays a scan beside a reader to its end, or for so many seconds; then to 95 % of it, and as long without it.
fn scan_beside(file: &str, bytes: f64, scheduler: &str, reader: &str, most: u64) -> Scanned {
    let whole = play(file, scheduler, reader, true, most);
    let most = until(&whole, 0.95).map_or(most, |span| span.as_secs() as u64 + 1);
    let (with, without) = (play(file, scheduler, reader, true, most), play(file, scheduler, reader, false, most));
    let [with_it, alone] = [&with, &without].map(response);
    let busy = without.accounts[0].busy.as_secs() / most as f64;
    let mb_s = until(&whole, 0.95).map_or(0.0, |span| 0.95 * bytes / 1e6 / span.as_secs());
    let seconds = until(&whole, 1.0).map(Span::as_secs);
    Scanned { reader: [with_it[0] / alone[0], with_it[1] / alone[1]], mb_s, seconds, idle: 1.0 - busy }
}

#[test]
#[ignore = "whole drives, minutes of them"]
fn whole_drives_are_read_beside_readers_who_hardly_notice() {
    let (folder, mut missed) = (Folder::new("scans"), Vec::new());
    let mut tell = |row: String, holds: bool| {
        println!("{row}{}", if holds { "" } else { "  MISSED" });
        if !holds {
            missed.push(row);
        }
    };
    for Scene { name, file, scale } in scenes(&folder) {
        let alone = play(&file, "policy = \"satf\"", "", true, 400_000);
        let took = until(&alone, 1.0).expect("it ends").as_secs();
        let bytes = alone.meter.scan().expect("there is a scan").bytes() as f64;
        // A scan that takes more than twelve times as long as by itself has missed all lines.
        let most = (12.0 * took) as u64;
        let rate = bytes / 1e6 / took;
        println!("{name} / {scale}: {:.1} GB, a scan alone {rate:.1} MB/s", bytes / 1e9);
        let least = if name == "nl20" { 40.0 } else { rate / 6.0 };
        for depth in [1, 4] {
            let reader =
                format!("[[workload]]\nname = \"reader\"\nkind = \"closed\"\ndepth = {depth}\nsize = \"4KiB\"");
            let it = scan_beside(&file, bytes, "policy = \"satf\"", &reader, most);
            let days = it.seconds.map(|seconds| seconds * scale as f64 / 86_400.0);
            let row = format!(
                "  closed, {depth}: reader's mean {:.4}, p99 {:.4}; scan {:.2} MB/s to 95 %, all after {}",
                it.reader[0],
                it.reader[1],
                it.mb_s,
                days.map_or("longer".into(), |days| format!("{days:.2} days"))
            );
            let in_time = name != "nl20" || days.is_some_and(|days| days <= 7.5);
            tell(row, it.reader.iter().all(|ratio| *ratio <= 1.02) && it.mb_s >= least && in_time);
        }
        for per_second in [10, 20, 40, 80] {
            let reader =
                format!("[[workload]]\nname = \"reader\"\nkind = \"open\"\nrate = \"{per_second}/s\"\nsize = \"4KiB\"");
            let it = scan_beside(&file, bytes, "policy = \"satf\"", &reader, most);
            let bound = 0.9 * it.idle * rate;
            let row = format!(
                "  open, {per_second}/s: reader's mean {:.4}, p99 {:.4}; scan {:.2} MB/s to 95 %, at least {bound:.2} (idle {:.3})",
                it.reader[0], it.reader[1], it.mb_s, it.idle
            );
            tell(row, it.mb_s >= bound && (per_second == 80 || it.reader[0] <= 1.05));
        }
    }
    // A 47th of a day.
    let oltp = "[[workload]]\nname = \"reader\"\nkind = \"closed\"\ndepth = 10\nsize = \"8KiB\"\nread = 0.67";
    for policy in ["c-look", "fcfs", "satf"] {
        let run = once(&format!(
            "[drive]\nmodel = \"atlas10k\"\nwrite_buffer = false\n[scheduler]\npolicy = \"{policy}\"\n{oltp}\n[[workload]]\nname = \"scan\"\n\
             kind = \"scan\"\n[run]\nduration = \"7200s\"\n"
        ));
        let scans = until(&run, 1.0).map_or(0.0, |span| 86_400.0 / span.as_secs());
        let row = format!(
            "atlas10k, OLTP by {policy}: {scans:.1} scans a day, {:.1?} s to 95 %",
            until(&run, 0.95).map(Span::as_secs)
        );
        tell(row, policy != "c-look" || scans >= 47.0);
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn a_scan_beside_four_readers_reads_40_mb_s_until_a_twentieth_is_left_and_then_soon_ends() {
    let folder = Folder::new("scans-small");
    let file = shrink_nl20(&folder, 1200);
    let bytes = disk::catalogue::find(&file).expect("it was just written").sheet.mechanics.layout.blocks() * 512;
    let reader = "[[workload]]\nname = \"reader\"\nkind = \"closed\"\ndepth = 4\nsize = \"4KiB\"";
    let drive = format!("model = \"{file}\"\nqueue = 1");
    let [with, without] = [true, false].map(|scans| play_on(&drive, "policy = \"satf\"", reader, scans, 640));
    let [took, whole] = [0.95, 1.0].map(|share| until(&with, share).expect("it comes so far").as_secs());
    let (rate, [slower, _]) = (0.95 * bytes as f64 / 1e6 / took, response(&with));
    println!(
        "{rate:.2} MB/s, all {:.2} times later, the reader's mean {:.4}",
        whole / took,
        slower / response(&without)[0]
    );
    assert!(rate >= 40.0, "{rate:.2} MB/s");
    assert!(whole <= 1.65 * took, "all after {whole:.1} s, all but a twentieth after {took:.1}");
    assert!(slower <= 1.01 * response(&without)[0], "{slower:.3} ms");
}

/// By itself a drive with a queue hides what a command has before its arm moves.
#[test]
fn beside_a_scan_a_drive_still_hides_what_commands_have_before_them() {
    let folder = Folder::new("scans-hidden");
    let file = shrink_nl20(&folder, 1200);
    let bytes = disk::catalogue::find(&file).expect("it was just written").sheet.mechanics.layout.blocks() * 512;
    let reader = "[[workload]]\nname = \"reader\"\nkind = \"closed\"\ndepth = 4\nsize = \"4KiB\"";
    let [with, without] = [true, false].map(|scans| play(&file, "policy = \"satf\"", reader, scans, 420));
    let ([mean, p99], [mean_alone, p99_alone]) = (response(&with), response(&without));
    let took = until(&with, 0.95).expect("it comes so far").as_secs();
    let rate = 0.95 * bytes as f64 / 1e6 / took;
    println!("{rate:.2} MB/s; the reader's mean {:.4}, p99 {:.4} of without", mean / mean_alone, p99 / p99_alone);
    assert!(rate >= 44.0, "{rate:.2} MB/s");
    assert!(mean <= 1.015 * mean_alone && p99 <= 1.02 * p99_alone, "{mean} and {p99}, {mean_alone} and {p99_alone}");
}

/// Another file that is believed, as `profile` writes one, counts as the drive's own; it may not know what is left of the overhead.
#[test]
fn beside_a_scan_a_drive_hides_what_commands_have_before_them_where_the_file_that_is_believed_says_so() {
    let folder = Folder::new("scans-believed");
    let file = shrink_nl20(&folder, 1200);
    let text = std::fs::read_to_string(&file).expect("it was just written");
    let without: Vec<&str> = text.lines().filter(|line| !line.starts_with("queued = ")).collect();
    let believed = [("tells.toml", text.clone()), ("does-not.toml", without.join("\n"))];
    let reader = "[[workload]]\nname = \"reader\"\nkind = \"closed\"\ndepth = 4\nsize = \"4KiB\"";
    let [tells, does_not] = believed.map(|(name, text)| {
        let policy = format!("policy = \"satf\"\nprofile = \"{}\"", folder.file(name, &text));
        response(&play(&file, &policy, reader, true, 60))[0]
    });
    println!("the reader waits {tells:.3} ms where it is told, {does_not:.3} where not");
    assert!(tells < 0.99 * does_not, "{tells} and {does_not} ms");
}

#[test]
#[ignore = "half a minute"]
fn a_floor_of_15_hundredths_keeps_a_scrub_going_on_each_drive() {
    let mut missed = Vec::new();
    for (model, depth) in ["nl20", "atlas10k", "st318437lw"].into_iter().flat_map(|model| [(model, 1), (model, 4)]) {
        let scheduler =
            "policy = \"satf\"\nio = \"semi-preemptible\"\npreemption = \"priority\"\nclass.scrub.floor = 0.15";
        let reader = format!(
            "[[workload]]\nname = \"reader\"\nkind = \"closed\"\ndepth = {depth}\nsize = \"4KiB\"\npriority = 1\n"
        );
        let scrub = "[[workload]]\nname = \"scrub\"\nkind = \"closed\"\ndepth = 2\nsize = \"1MiB\"\nat = \"sequential\"\nregion = \"40%..60%\"\n";
        let of = |scheduler: &str, load: String| {
            once(&format!(
                "[drive]\nmodel = \"{model}\"\n[scheduler]\n{scheduler}\n{load}[run]\nduration = \"240s\"\nwarmup = \"10s\"\nseed = 11\n"
            ))
        };
        let plain = scheduler.replace("\nclass.scrub.floor = 0.15", "");
        let rate = |run: &Replication| {
            run.meter.classes().find(|(name, _)| *name == "scrub").expect("a scrub").1.throughput_mb_s
        };
        let (alone, scrub_alone) = (of(&plain, reader.clone()), rate(&of(&plain, scrub.into())));
        let both = of(scheduler, format!("{reader}{scrub}"));
        let ([mean, p99], [mean_alone, p99_alone]) = (response(&both), response(&alone));
        let row = format!(
            "{model}, {depth}: scrub {:.3} of {scrub_alone:.1} MB/s; reader's mean {:.3} of {mean_alone:.2} ms, p99 {:.3} of {p99_alone:.1}",
            rate(&both) / scrub_alone,
            mean / mean_alone,
            p99 / p99_alone
        );
        let holds = rate(&both) >= 0.15 * scrub_alone && mean <= 1.20 * mean_alone;
        println!("{row}{}", if holds { "" } else { "  MISSED" });
        if !holds {
            missed.push(row);
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn a_floor_reads_what_is_wanted_in_any_order_beside_those_who_leave_it_no_time() {
    let run = |floor: &str| {
        once(&format!(
            "[drive]\nmodel = \"st318437lw\"\nqueue = 1\n[scheduler]\npolicy = \"satf\"\n{floor}\n[[workload]]\nname = \"reader\"\n\
             kind = \"closed\"\ndepth = 4\nsize = \"4KiB\"\npriority = 1\n[[workload]]\nname = \"scan\"\nkind = \"scan\"\n\
             [run]\nduration = \"20s\"\nwarmup = \"2s\"\nseed = 4\n"
        ))
    };
    let [without, some, more] = ["", "class.scan.floor = 0.2", "class.scan.floor = 0.5"].map(run);
    let read = |run: &Replication| run.meter.scan().expect("there is a scan").bytes() as f64;
    let answer = |run: &Replication| response(run)[0];
    // What a floor reads comes beside what is found for free, and the reader waits for it.
    assert!(read(&some) > 1.5 * read(&without), "{} and {}", read(&some), read(&without));
    assert!(read(&more) > 1.5 * read(&some), "{} and {}", read(&more), read(&some));
    assert!(answer(&some) > answer(&without) && answer(&more) > answer(&some));
}
