//! With belief by sheet no order by access time does worse than one by distance or by block number, whatever is asked and whatever the
//! drive does with its write buffer.
//!
//! `HALFTURN_MIXES=1000 cargo test --release -p halfturn-sim --test behaviour mixes -- --ignored --nocapture` draws so many cells of the
//! whole table and prints what each has; `HALFTURN_SEED` says which.

use crate::files::{Folder, results};

/// What is asked of a drive.
#[derive(Clone, Copy, Debug)]
struct Cell {
    drive: &'static str,
    read: f64,
    depth: u32,
    size: &'static str,
    place: &'static str,
    queue: u32,
    buffered: bool,
}

/// The order that is tried, and those it is held against.
const POLICIES: [&str; 4] = ["satf", "sstf", "c-look", "fcfs"];

/// Draws cells, the same from the same seed.
struct Draw(u64);

impl Draw {
    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        all[((self.0 >> 33) % all.len() as u64) as usize]
    }

    fn cell(&mut self, drives: &[&'static str]) -> Cell {
        Cell {
            drive: self.of(drives),
            read: self.of(&[0.0, 0.25, 0.5, 0.75, 0.9, 1.0]),
            depth: self.of(&[1, 4, 16, 50, 200]),
            size: self.of(&["4KiB", "4KiB", "64KiB", "256KiB", "1MiB"]),
            place: self.of(&["random", "random", "hot", "sequential"]),
            queue: self.of(&[1, 32]),
            buffered: self.of(&[true, true, true, false]),
        }
    }
}

impl Cell {
    fn text(self, model: &str, requests: u32) -> String {
        let Cell { read, depth, size, place, queue, buffered, .. } = self;
        let load = |name: &str, depth: u32, rest: &str| {
            format!(
                "[[workload]]\nname = \"{name}\"\nkind = \"closed\"\ndepth = {depth}\nsize = \"{size}\"\nread = {read:?}\n{rest}\n"
            )
        };
        let cool = depth / 5;
        let hot = load("hot", depth - cool, "region = \"40%..42%\"");
        let loads = match place {
            "hot" if cool > 0 => load("cool", cool, "") + &hot,
            "hot" => hot,
            at => load("all", depth, &format!("at = \"{at}\"")),
        };
        format!(
            "[drive]\nmodel = \"{model}\"\nqueue = {queue}\nwrite_buffer = {buffered}\n[scheduler]\npolicy = {POLICIES:?}\n{loads}\
             [run]\nrequests = {requests}\nreplications = 3\n"
        )
    }

    /// What the tried order has of the requests a second of the best of the others.
    fn ratio(self, folder: &Folder, requests: u32) -> f64 {
        let results = results(&self.text(&queueing(folder, self.drive), requests));
        let rates: Vec<f64> = results.runs.iter().map(|run| run.requests as f64 / run.simulated_seconds).collect();
        rates[0] / rates[1..].iter().copied().fold(0.0, f64::max)
    }
}

/// The file of a drive of the catalogue, that takes 32 commands.
fn queueing(folder: &Folder, model: &str) -> String {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../disk/catalogue/{model}.toml"));
    let text = std::fs::read_to_string(file).unwrap();
    let queue = if text.contains("[queue]") { "" } else { "\n[queue]\ndepth = 32\nage_limit = \"2s\"\n" };
    folder.file(&format!("{model}.toml"), &format!("{text}{queue}"))
}

/// A few cells, in which belief that knew nothing of what is written back had 0.77 to 0.97 of the best of the others; in the last six
/// one that took long writes for as dear as where they lie, and saw more than the way while the drive chose, or nothing but cylinders.
/// Chance is a hundredth either way.
#[test]
fn by_time_is_nowhere_worse_than_by_place_where_the_drive_buffers_writes() {
    let folder = Folder::new("mixes-few");
    let mut worse = Vec::new();
    for (drive, read, depth, size, place, queue) in [
        ("st318437lw", 0.5, 16, "4KiB", "random", 1),
        ("st318437lw", 0.25, 200, "64KiB", "sequential", 1),
        ("dnes-309170w", 0.25, 16, "64KiB", "sequential", 1),
        ("atlas10k-validation", 0.25, 200, "4KiB", "random", 1),
        ("exos-x16", 0.5, 16, "4KiB", "random", 1),
        ("exos-x18", 0.0, 50, "4KiB", "hot", 1),
        ("ultrastar-hc310", 0.9, 200, "64KiB", "random", 32),
        ("atlas10k", 0.25, 50, "64KiB", "random", 32),
        ("nl20", 0.25, 50, "1MiB", "sequential", 1),
        ("atlas10k", 0.0, 8, "128KiB", "random", 1),
        ("wd400bb", 0.25, 16, "256KiB", "random", 1),
        ("atlas10k-validation", 0.5, 200, "4KiB", "random", 32),
        ("atlas10k", 0.5, 200, "64KiB", "sequential", 32),
        ("nl20", 1.0, 200, "1MiB", "sequential", 32),
    ] {
        let cell = Cell { drive, read, depth, size, place, queue, buffered: true };
        let ratio = cell.ratio(&folder, 2500);
        println!("{ratio:.3} {cell:?}");
        worse.extend((ratio < 0.98).then(|| format!("{ratio:.3} {cell:?}")));
    }
    assert!(worse.is_empty(), "{}", worse.join("\n"));
}

/// A stream that is written back before all else has no holes after another writer's turn: what was overtaken once would come last for
/// ever, each on a way of its own.
#[test]
fn a_stream_of_writes_keeps_its_order_beside_another_writer() {
    let text = "drive = { model = \"st318437lw\" }\n[scheduler]\npolicy = [\"satf\", \"c-look\"]\nclass.stream.share = 3\n\
                class.other.share = 2\n[[workload]]\nname = \"stream\"\nkind = \"closed\"\ndepth = 8\nsize = \"16KiB\"\n\
                at = \"sequential\"\nread = 0.0\nregion = \"0%..12%\"\n[[workload]]\nname = \"other\"\nkind = \"closed\"\n\
                depth = 1\nsize = \"4MiB\"\nread = 0.0\nregion = \"60%..72%\"\n[run]\nduration = \"30s\"\nwarmup = \"10s\"\n";
    let [satf, c_look] = [0, 1].map(|i| results(text).runs[i].throughput_mb_s);
    assert!(satf > 0.97 * c_look, "{satf} MB/s, in order of place {c_look}");
}

/// Of what nobody measured the same is learned by the times at which writes come back.
#[test]
fn a_buffer_that_nobody_measured_is_found_in_use() {
    let folder = Folder::new("mixes-unknown");
    for (drive, read, depth) in [("exos-x18", 0.25, 50), ("atlas10k", 0.5, 50)] {
        let cell = Cell { drive, read, depth, size: "4KiB", place: "random", queue: 1, buffered: true };
        let known = queueing(&folder, drive);
        let line = |line: &str| {
            if line.starts_with("write_buffer") { "write_buffer = \"unknown\"".into() } else { line.to_owned() }
        };
        let text: Vec<String> = std::fs::read_to_string(&known).unwrap().lines().map(line).collect();
        let unknown = folder.file("unknown.toml", &text.join("\n"));
        let rate = |more: &str| {
            let text = cell
                .text(&known, 2500)
                .replace(&format!("policy = {POLICIES:?}"), &format!("policy = \"satf\"\n{more}"));
            let results = results(&text);
            results.runs[0].requests as f64 / results.runs[0].simulated_seconds
        };
        let (told, found) = (rate(""), rate(&format!("profile = \"{unknown}\"")));
        println!("{drive}: {found:.1} IO/s where it was found in use, {told:.1} where the sheet has it");
        assert!(found > 0.97 * told, "{drive}: {found} IO/s, {told} where the sheet has its buffer");
    }
}

#[test]
#[ignore = "takes minutes"]
fn the_whole_table() {
    let asked = |name: &str| std::env::var(name).ok().and_then(|number| number.parse().ok());
    let (cells, seed) = (asked("HALFTURN_MIXES").unwrap_or(200), asked("HALFTURN_SEED").unwrap_or(1));
    let drives: Vec<&str> = disk::catalogue::names().collect();
    let (folder, mut draw) = (Folder::new("mixes"), Draw(seed));
    let cells: Vec<Cell> = (0..cells).map(|_| draw.cell(&drives)).collect();
    let ratios: Vec<f64> = cells.iter().map(|cell| cell.ratio(&folder, 6000)).collect();
    for (cell, ratio) in cells.iter().zip(&ratios) {
        println!("{ratio:.3} {cell:?}");
    }
    let within = ratios.iter().filter(|ratio| **ratio >= 0.99).count();
    println!("seed {seed}: {within} of {} within a hundredth", cells.len());
    assert_eq!(within, cells.len(), "seed {seed}");
}
