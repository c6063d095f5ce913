//! `policy = "auto"`: never worse than the better of distance and order of arrival, on any device; and where something turns, better,
//! without a word on the drive.
//!
//! `HALFTURN_AUTO=20 cargo test --release -p halfturn-sim --test behaviour in_use` has the whole table: all of the catalogue, with so
//! many seeds; with `HALFTURN_DRIVES=NAME,NAME` of these, with `HALFTURN_QUEUE=32` of what takes so many commands at once, or fewer; with
//! `HALFTURN_REQUESTS=5000` only the first of it.

use crate::files::{Folder, cases, results};
use block::BadInput;
use load::requests::{Record, Records};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

/// When each request of a policy's replication ended, and its response time, in ns.
#[derive(Clone, Default)]
struct Ends {
    times: Vec<u64>,
    responses: Vec<u64>,
}

/// Of each policy and replication.
type AllEnds = Arc<Mutex<Vec<((usize, u32), Ends)>>>;

/// Takes the ends of one replication down, and puts them among those of its policy.
struct EndRecorder {
    ends: Ends,
    at: (usize, u32),
    all: AllEnds,
}

impl Records for EndRecorder {
    fn put(&mut self, record: &Record) -> Result<(), BadInput> {
        self.ends.times.push(record.end.0);
        self.ends.responses.push(record.end.0 - record.arrival.0);
        Ok(())
    }

    fn close(&mut self) -> Result<(), BadInput> {
        self.all.lock().unwrap().push((self.at, std::mem::take(&mut self.ends)));
        Ok(())
    }
}

/// What is asked of a drive.
#[derive(Clone, Copy, Debug)]
struct Asked {
    drive: &'static str,
    read: f64,
    depth: u32,
    /// Commands in the drive at once.
    queue: u16,
    requests: usize,
    seeds: u32,
}

const POLICIES: [&str; 4] = ["sstf", "fcfs", "auto", "satf"];

/// The ends of each policy, seed by seed.
fn play(asked: Asked, more: &str, policies: &[&str]) -> Vec<Vec<Ends>> {
    let Asked { drive, read, depth, queue, requests, seeds } = asked;
    let text = format!(
        "[drive]\nmodel = \"{drive}\"\nqueue = {queue}\n{more}\n[scheduler]\npolicy = {policies:?}\n[[workload]]\nname = \"all\"\n\
         kind = \"closed\"\ndepth = {depth}\nsize = \"4KiB\"\nread = {read}\n[run]\nrequests = {requests}\nreplications = {seeds}\n"
    );
    let all = Arc::new(Mutex::new(Vec::new()));
    let opens = |case: usize, replication: u32| -> Result<Option<Box<dyn Records>>, BadInput> {
        Ok(Some(Box::new(EndRecorder { ends: Ends::default(), at: (case, replication), all: Arc::clone(&all) })))
    };
    sim::simulate_and_record(&cases(&text), &sim::Unwatched, &opens).unwrap_or_else(|error| panic!("{error}"));
    let mut all = all.lock().unwrap().clone();
    all.sort_by_key(|(at, _)| *at);
    let mut runs = vec![Vec::new(); policies.len()];
    for ((policy, _), mut ends) in all {
        ends.times.sort_unstable();
        ends.responses.sort_unstable();
        runs[policy].push(ends);
    }
    runs
}

impl Ends {
    /// Requests a second of those from one to another.
    fn rate(&self, from: usize, to: usize) -> f64 {
        let to = to.min(self.times.len()) - 1;
        (to - from) as f64 / ((self.times[to] - self.times[from]) as f64 / 1e9)
    }

    fn p99(&self) -> f64 {
        self.responses[self.responses.len() * 99 / 100] as f64
    }
}

/// Mean and lower 95 % bound of what `auto` has of the better of SSTF and FIFO, over windows of 1,000 of the first 5,000.
fn early_ratio(runs: &[Vec<Ends>], requests: usize) -> (f64, f64) {
    let mut ratios = Vec::new();
    for window in 0..(requests.min(5000) / 1000) {
        let (from, to) = (window * 1000, window * 1000 + 1000);
        for ((sstf, fcfs), auto) in runs[0].iter().zip(&runs[1]).zip(&runs[2]) {
            ratios.push(auto.rate(from, to) / sstf.rate(from, to).max(fcfs.rate(from, to)));
        }
    }
    let count = ratios.len() as f64;
    let mean = ratios.iter().sum::<f64>() / count;
    let variance = ratios.iter().map(|ratio| (ratio - mean) * (ratio - mean)).sum::<f64>() / count;
    (mean, mean - 1.96 * (variance / count).sqrt())
}

/// Holds `auto` to its base; the share of SATF's gain over SSTF that it has in the last tenth.
fn holds(asked: Asked) -> f64 {
    let policies = if disk::catalogue::find(asked.drive).is_ok() { &POLICIES[..] } else { &POLICIES[..3] };
    let runs = play(asked, "", policies);
    let (mean, bound) = early_ratio(&runs, asked.requests);
    let tenth = (asked.requests * 9 / 10, asked.requests);
    let late = |policy: usize| {
        runs[policy].iter().map(|ends| ends.rate(tenth.0, tenth.1)).sum::<f64>() / f64::from(asked.seeds)
    };
    let (sstf, auto) = (late(0), late(2));
    let gain = if runs.len() > 3 { (auto - sstf) / (late(3) - sstf) } else { f64::NAN };
    let p99 = |policy: usize| runs[policy].iter().map(Ends::p99).sum::<f64>();
    let base = if runs[0][0].rate(0, asked.requests) >= runs[1][0].rate(0, asked.requests) { 0 } else { 1 };
    let slow = p99(2) / p99(base);
    println!(
        "{asked:?}: early {mean:.3} (at least {bound:.3}), at the end {sstf:.1} -> {auto:.1} IO/s, {gain:.2} of SATF's gain; p99 {slow:.2}"
    );
    assert!(mean >= 0.99 && bound >= 0.98, "{asked:?}: {mean:.3}, at least {bound:.3} of its base");
    assert!(auto >= 0.98 * sstf, "{asked:?}: at the end {auto} IO/s, its base {sstf}");
    assert!(slow <= 1.1, "{asked:?}: p99 is {slow} of the base's");
    gain
}

#[test]
fn auto_is_nowhere_worse_than_the_better_of_distance_and_arrival() {
    let few = |drive, read, depth| Asked { drive, read, depth, queue: 1, requests: 12_000, seeds: 2 };
    for (drive, read, depth) in
        [("st318437lw", 0.5, 30), ("atlas10k", 0.5, 50), ("mirror-atlas10k", 0.5, 30), ("flash-x25m", 0.5, 8)]
    {
        holds(few(drive, read, depth));
    }
    holds(Asked { requests: 3000, ..few("tape-lto5", 0.5, 30) });
    // Of what nothing turns in, the longest waits are those by arrival.
    holds(Asked { requests: 50_000, ..few("flash-x25m", 0.5, 500) });
    holds(Asked { requests: 50_000, queue: 32, ..few("flash-x25m", 0.5, 500) });
    holds(Asked { requests: 20_000, queue: 32, ..few("store-block", 0.5, 50) });
}

#[test]
fn auto_comes_to_half_of_what_satf_gains_without_a_word_on_the_drive() {
    let gain = holds(Asked { drive: "atlas10k", read: 1.0, depth: 50, queue: 1, requests: 30_000, seeds: 2 });
    assert!(gain >= 0.5, "{gain} of SATF's gain");
}

/// By the sheet `satf` knows where a drive's write-back has left the arm; by the times of commands nobody does. So `auto` has a part of
/// what that gains.
#[test]
fn auto_gains_beside_writes_that_a_full_buffer_takes() {
    for depth in [50, 500] {
        let gain = holds(Asked { drive: "atlas10k", read: 0.5, depth, queue: 1, requests: 40_000, seeds: 2 });
        assert!(gain >= 0.25, "{gain} of SATF's gain with {depth} waiting");
    }
}

/// Writes that go into a buffer take as long wherever they lie; by arrival they took a fifth longer to be written back.
#[test]
fn auto_stays_by_distance_where_all_are_writes_into_a_buffer() {
    for (drive, queue) in [("nl20", 1), ("nl20", 32), ("atlas10k", 1)] {
        holds(Asked { drive, read: 0.0, depth: 500, queue, requests: 12_000, seeds: 2 });
    }
}

/// Files that are read from their beginning on, sixteen requests at once: by distance the arm comes upon many of them from their end,
/// and each part of it costs a revolution.
#[test]
fn auto_reads_runs_of_neighbours_as_they_lie() {
    let folder = Folder::new("auto-runs");
    let (mut dice, mut text) = (3u64, String::new());
    for _ in 0..900 {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (start, blocks) = (8 * ((dice >> 33) % 2_000_000), 8u64 << ((dice >> 60) % 5));
        (0..4 + (dice >> 40) % 8).for_each(|part| {
            let _ = writeln!(text, "0.0 0 {} {blocks} 1", start + part * blocks);
        });
    }
    let trace = folder.file("runs.trace", &text);
    for drive in ["nl20", "atlas10k"] {
        let text = format!(
            "[drive]\nmodel = \"{drive}\"\nqueue = 1\n[scheduler]\npolicy = [\"sstf\", \"fcfs\", \"auto\"]\n[[workload]]\n\
             name = \"files\"\nkind = \"trace\"\nfile = \"{trace}\"\nreplay = \"closed\"\ndepth = 16\n"
        );
        let [sstf, fcfs, auto] = [0, 1, 2].map(|run| results(&text).runs[run].simulated_seconds);
        println!("{drive}: {sstf:.1} s by distance, {fcfs:.1} by arrival, {auto:.1} by auto");
        assert!(auto <= 1.01 * sstf.min(fcfs), "{drive}: {auto} s, {sstf} by distance, {fcfs} by arrival");
    }
}

/// Beside a crowd that keeps the arm in one place: by distance alone a reader elsewhere waited for up to 91 s.
#[test]
fn auto_lets_nobody_wait_far_from_a_crowd() {
    for (drive, queue, crowd) in [("nl20", 1, "200GiB"), ("nl20", 4, "200GiB"), ("atlas10k", 1, "2GiB")] {
        let text = format!(
            "drive = {{ model = \"{drive}\", queue = {queue} }}\n[scheduler]\npolicy = [\"sstf\", \"auto\"]\n[[workload]]\nname = \"far\"\n\
             kind = \"open\"\nrate = \"5/s\"\nsize = \"4KiB\"\n[[workload]]\nname = \"crowd\"\nkind = \"closed\"\ndepth = 64\n\
             size = \"64KiB\"\nregion = \"0B..{crowd}\"\n[run]\nrequests = 5000\n"
        );
        let runs = results(&text).runs;
        let [sstf, auto] = [0, 1].map(|run: usize| {
            let of = |class: &str| &runs[run].classes[class];
            (of("far").response_ms.max, of("crowd").response_ms.mean, of("crowd").throughput_mb_s)
        });
        println!(
            "{drive}, {queue} in it: the farthest wait of a reader, ms, of the crowd, and its MB/s: {sstf:?}, {auto:?}"
        );
        assert!(auto.0 < 12.0 * auto.1 + 1000.0, "{drive}, {queue}: {auto:?}, by distance alone {sstf:?}");
        assert!(
            sstf.0 > 3.0 * auto.0 && auto.2 > 0.9 * sstf.2,
            "{drive}, {queue}: {auto:?}, by distance alone {sstf:?}"
        );
    }
}

/// On a drive of terabytes requests are hardly ever near one another, so that nothing tells how fast it turns. Read while it is idle, it
/// is known before the first burst: 50 at once are seen of reads that all come after five minutes.
#[test]
fn auto_learns_an_idle_drive_of_terabytes_before_it_is_needed() {
    let folder = Folder::new("auto-idle");
    let mut dice = 11u64;
    let mut text = String::from("0.0 0 0 8 1\n");
    for _ in 0..6000 {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let _ = writeln!(text, "300000.0 0 {} 8 1", 8 * ((dice >> 20) % 3_900_000_000));
    }
    let trace = folder.file("burst.trace", &text);
    let mean = |policy: &str| {
        let text = format!(
            "[drive]\nmodel = \"exos-x16\"\nqueue = 1\n[scheduler]\nqueue = 50\n{policy}\n[[workload]]\nname = \"burst\"\n\
             kind = \"trace\"\nfile = \"{trace}\"\n"
        );
        results(&text).runs.remove(0)
    };
    let time = |policy: &str| mean(policy).classes["burst"].response_ms.max;
    let [sstf, satf, auto] = ["policy = \"sstf\"", "policy = \"satf\"", "policy = \"auto\""].map(time);
    let probing = mean("policy = \"auto\"\nprobe_after = \"100ms\"");
    let probed = probing.classes["burst"].response_ms.max;
    println!(
        "6,000 reads take {sstf:.0} ms by distance, {satf:.0} by the sheet, {auto:.0} learned in use, {probed:.0} with probes"
    );
    assert!(auto > 0.98 * sstf, "{auto} ms without probes: there is nothing to show");
    let gain = (1.0 / probed - 1.0 / sstf) / (1.0 / satf - 1.0 / sstf);
    assert!(gain > 0.5, "{gain} of what SATF gains");
    assert!(probing.learned.expect("it learns").idle_probes.is_some_and(|probes| probes > 10_000));
}

#[test]
fn seeks_that_take_a_fifth_longer_are_learned_anew() {
    let asked = Asked { drive: "atlas10k", read: 1.0, depth: 50, queue: 1, requests: 40_000, seeds: 1 };
    let drift = |at: &str| format!("drift = {{ at = \"{at}\", seek = 0.2 }}");
    let rate = |more: &str| play(asked, more, &["auto"])[0][0].rate(36_000, 40_000);
    let (later, fresh) = (rate(&drift("60s")), rate(&drift("0s")));
    println!("{later:.1} IO/s after seeks became longer, {fresh:.1} where they were from the beginning");
    assert!(later >= 0.97 * fresh);
}

#[test]
fn the_whole_table() {
    let Some(seeds) = std::env::var("HALFTURN_AUTO").ok().and_then(|seeds| seeds.parse().ok()) else {
        println!("SKIPPED: set HALFTURN_AUTO to a number of seeds");
        return;
    };
    let queue: u16 = std::env::var("HALFTURN_QUEUE").map_or(1, |queue| queue.parse().expect("a number"));
    let most = std::env::var("HALFTURN_REQUESTS").map_or(50_000, |requests| requests.parse().expect("a number"));
    let only = std::env::var("HALFTURN_DRIVES").unwrap_or_default();
    let is_asked = |name: &&str| only.is_empty() || only.split(',').any(|one| one == *name);
    let mut failed = Vec::new();
    for drive in disk::catalogue::names().chain(disk::catalogue::others()).filter(is_asked) {
        let queue = queue.min(disk::catalogue::model(drive).expect("it is in the catalogue").depth());
        for (read, depth) in [(1.0, 50), (0.5, 1), (0.5, 50), (0.5, 500), (0.0, 500)] {
            let requests = if drive.starts_with("tape") { most.min(5000) } else { most };
            let asked = Asked { drive, read, depth, queue, requests, seeds };
            let held = std::panic::catch_unwind(|| holds(asked));
            failed.extend(held.is_err().then(|| format!("{asked:?}")));
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}
