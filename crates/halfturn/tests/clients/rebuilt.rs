//! A rebuild that clients do not feel, in real time: arrays of eight emulated drives of 200 MB, one of which was replaced, and a reader
//! who asks for 20 blocks a second in all, beside the same array with the drive lacking. How fast the rebuild is beside that reader, and beside
//! one who asks for as much as he can have, is told, too.
//!
//! It is a measurement: the service takes a real-time priority, and so does fio. `HALFTURN_SEEDS=N` has so many readers.

use crate::served_array::{ArrayPlan, DEEP_REBUILD, INTERRUPTED_REBUILD, ServedArray, is_sound};
use crate::tool::{find, have, say, setting};
use serde_json::json;
use std::cell::Cell;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The disk that is replaced.
const LOST: u16 = 3;
/// How long it takes greedy readers to have each drive read more pieces than it has segments.
const CACHES_S: f64 = 4.0;
/// The machine stood still when nobody was asked for so long.
const STILL: Duration = Duration::from_secs(1);

/// How readers ask beside a rebuild.
#[derive(Clone, Copy)]
enum Reader {
    /// 20 blocks a second at random instants.
    Calm,
    /// As many at once as there are.
    Greedy,
}

/// How the array is rebuilt.
struct RebuildPlan {
    name: &'static str,
    scheduler: &'static str,
    tables: &'static str,
}

/// What the simulation of a rebuild that is not felt does; and what the service does by itself.
const PLANS: [RebuildPlan; 2] = [
    RebuildPlan { name: "interrupted", scheduler: INTERRUPTED_REBUILD, tables: DEEP_REBUILD },
    RebuildPlan { name: "as it comes", scheduler: "policy = \"satf\"", tables: "" },
];

/// A run of fio that reads, whose times are logged.
fn start(array: &ServedArray, reader: Reader, seconds: f64, seed: u64) -> Child {
    let mut command = Command::new(find("chrt").expect("it was looked for"));
    command.args(["-f", "50"]).arg(find("fio").expect("it was looked for"));
    command.args(["--name=reader", "--ioengine=nbd", "--rw=randread", "--bs=4k", "--time_based", "--output=fio.out"]);
    command
        .arg(format!("--uri={}", array.uri()))
        .arg(format!("--runtime={seconds:.3}"))
        .arg(format!("--randseed={seed}"));
    command.args(["--write_lat_log=reader", "--log_unix_epoch=0", "--norandommap", "--random_generator=tausworthe64"]);
    command.args(match reader {
        Reader::Calm => &["--iodepth=32", "--rate_iops=20", "--rate_process=poisson"][..],
        Reader::Greedy => &["--iodepth=32"],
    });
    command.current_dir(array.path()).stdin(Stdio::null()).stdout(Stdio::null());
    command.spawn().expect("fio starts")
}

/// What the reader waited in its first so many seconds, in ms: mean and 99th percentile.
fn read_waits(array: &ServedArray, seconds: f64) -> [f64; 2] {
    let log = std::fs::read_to_string(array.path().join("reader_clat.1.log")).expect("a log");
    let lines = log.lines().map(|line| line.split(", ").map(|number| number.parse::<f64>()).collect::<Vec<_>>());
    let mut waits: Vec<f64> = lines
        .filter_map(|line| match line[..] {
            [Ok(at), Ok(wait), ..] if at <= seconds * 1e3 => Some(wait / 1e6),
            _ => None,
        })
        .collect();
    waits.sort_by(f64::total_cmp);
    let mean = waits.iter().sum::<f64>() / waits.len() as f64;
    [mean, waits[(waits.len() * 99 / 100).min(waits.len() - 1)]]
}

/// The disk is lacking.
fn lose(array: &ServedArray) {
    array.ask(&json!({ "verb": "array", "fail": LOST }));
    array.wait_until("given up", |array| array["disks"][usize::from(LOST)]["state"] == "given up");
}

/// Has the drives read something else, so that none still holds what is read again with the same seed.
fn empty_caches(array: &ServedArray) {
    start(array, Reader::Greedy, CACHES_S, u64::MAX >> 1).wait().expect("fio ends");
}

/// Seconds that the rebuild takes; nothing where all of the machine stood still meanwhile.
fn rebuild(array: &mut ServedArray) -> Option<f64> {
    let begun = Instant::now();
    array.replace(LOST);
    let (last, longest) = (Cell::new(begun), Cell::new(Duration::ZERO));
    array.wait_until("rebuilt", |array| {
        longest.set(longest.get().max(last.replace(Instant::now()).elapsed()));
        is_sound(array)
    });
    (longest.get() < STILL).then(|| begun.elapsed().as_secs_f64())
}

/// The same, until it is a measurement.
fn rebuild_alone(array: &mut ServedArray) -> f64 {
    loop {
        lose(array);
        if let Some(took) = rebuild(array) {
            return took;
        }
    }
}

/// What part of the rebuild was done in so many seconds.
fn rebuild_some(array: &mut ServedArray, seconds: f64) -> f64 {
    array.replace(LOST);
    std::thread::sleep(Duration::from_secs_f64(seconds));
    array.status()["rebuild"]["done"].as_f64().unwrap_or(1.0)
}

fn measure(level: &str, plan: &RebuildPlan) {
    let mut array = ServedArray::new(ArrayPlan {
        array: format!("level = \"{level}\"\nstripe = \"64KiB\""),
        scheduler: plan.scheduler,
        serve: "",
        tables: plan.tables.into(),
        cylinders: 800,
        time_scale: 1.0,
    });
    array.fill();
    let alone = rebuild_alone(&mut array);
    let megabytes = array.status()["written_bytes"].as_f64().expect("a number") / 1e6;
    say(format_args!("{level}, {}: {megabytes:.0} MB, a rebuild alone takes {alone:.1} s", plan.name));
    let (mut ratios, mut slowest) = ([0.0; 2], alone);
    let seeds: u64 = setting("HALFTURN_SEEDS", 3);
    for seed in 1..=seeds {
        let (took, with, without) = loop {
            lose(&array);
            empty_caches(&array);
            let begun = Instant::now();
            start(&array, Reader::Calm, alone * 1.3, seed).wait().expect("fio ends");
            let log = std::fs::read(array.path().join("reader_clat.1.log")).expect("a log");
            let is_still = begun.elapsed().as_secs_f64() > alone * 1.3 + 2.0;
            empty_caches(&array);
            let mut reader = start(&array, Reader::Calm, alone * 1.3, seed);
            let took = rebuild(&mut array);
            reader.wait().expect("fio ends");
            let Some(took) = took.filter(|_| !is_still) else { continue };
            let with = read_waits(&array, took);
            std::fs::write(array.path().join("reader_clat.1.log"), log).expect("a log");
            break (took, with, read_waits(&array, took));
        };
        say(format_args!(
            "{level}, {}, seed {seed}: {took:.1} s, {:.2} of its pace alone; reader {:.2} and {:.1} ms, without {:.2} and {:.1} ms: {:.3}, {:.3}",
            plan.name,
            alone / took,
            with[0],
            with[1],
            without[0],
            without[1],
            with[0] / without[0],
            with[1] / without[1]
        ));
        ratios = [ratios[0] + with[0] / without[0], ratios[1] + with[1] / without[1]];
        slowest = f64::max(slowest, took);
    }
    let [mean, p99] = ratios.map(|sum| sum / seeds as f64);
    lose(&array);
    let mut reader = start(&array, Reader::Greedy, alone, 1);
    let done = rebuild_some(&mut array, alone * 0.9);
    reader.wait().expect("fio ends");
    let greedy = done / 0.9;
    say(format_args!(
        "{level}, {}: reader {mean:.3} and {p99:.3} of without; rebuild {:.2} of alone at least, beside a greedy reader {greedy:.3}",
        plan.name,
        alone / slowest
    ));
    array.end();
}

#[test]
#[ignore = "a quarter of an hour, on a quiet machine; prints what was measured"]
fn rebuilt_beside_a_reader_who_does_not_feel_it() {
    if !have(&[("fio", "fio"), ("chrt", "util-linux")]) {
        return;
    }
    for plan in &PLANS {
        ["0/1", "5"].into_iter().for_each(|level| measure(level, plan));
    }
}
