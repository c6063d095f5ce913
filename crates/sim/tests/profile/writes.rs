//! What writing takes, and the write buffer, held against the truth; and that nothing is written but in the scratch. The table
//! tells of profiles in less time with `HALFTURN_QUICK=1`.

use crate::names;
use block::{Caps, Command, Device, Direction, Extent, Outcome, Tag, Time, Verb};
use disk::{Drain, Sheet};
use drive::Drive;
use profile::bench::ProbeBench;
use profile::{DriveKnowledge, DriveProfile, ProfileOptions, ProfileOutcome, Scratch, Thoroughness};

/// Profiles with a scratch.
pub fn written(name: &str, device: &mut impl Device, scratch: Scratch) -> DriveProfile {
    written_with(name, Thoroughness::Thorough, device, scratch)
}

fn written_with(name: &str, effort: Thoroughness, device: &mut impl Device, scratch: Scratch) -> DriveProfile {
    let options = ProfileOptions { name: name.into(), seed: crate::seed(), effort, scratch: Some(scratch) };
    profile::profile(device, &options, &mut ()).expect("it can be read and written")
}

/// So many blocks from the middle of a drive.
pub fn middle(sheet: &Sheet, blocks: u64) -> Scratch {
    let all = sheet.mechanics.layout.blocks();
    let blocks = blocks.min(all / 8);
    Scratch { first: all / 2, blocks }
}

/// A line of the table.
#[derive(Debug)]
struct Line {
    /// What a write adds to a move, found and true, ms.
    settle: (f64, f64),
    /// Outcome far seeks before a write are off on the mean, settling and overhead included, ms.
    move_mae: f64,
    own_curve: bool,
    /// Blocks, writes and order of the buffer.
    buffer: [(u32, u32, Drain); 2],
    on_arrival: [bool; 2],
    /// Response of a write that fits, found and true, ms.
    buffered: (f64, f64),
    rates: (f64, f64),
    writes: u64,
    minutes: f64,
    left_out: Vec<String>,
}

/// What a write of a sector takes before its sector may pass, as a sheet has it, ms; all that is constant included.
fn moves(sheet: &Sheet, distance: u32) -> f64 {
    let settle = sheet.mechanics.switches.write_settle;
    let seek = sheet.mechanics.curve(Direction::Write).time(distance) + settle;
    (sheet.overheads.write.read + seek.max(sheet.overheads.least_seek) + sheet.overheads.done.read).as_ms()
}

fn line(name: &str, effort: Thoroughness) -> Line {
    let disk::Drive { sheet, truth } = crate::drive(name);
    let mut device = sim::Bench::new(Drive::new(&sheet, &truth, 7));
    let profile = written_with(name, effort, &mut device, middle(&sheet, 1 << 22));
    let ProfileOutcome::Disk(known) = &profile.outcome else { panic!("{name} turns") };
    let text = disk::write(&known.plan("it", profile.blocks));
    let found = disk::parse("it", "it.toml", &text).expect("the drive file is one").sheet;
    compare(&sheet, &found, &profile, known)
}

fn compare(sheet: &Sheet, found: &Sheet, profile: &DriveProfile, known: &DriveKnowledge) -> Line {
    let (writes, buffer, _) = known.writes.as_ref().expect("it was written");
    let cylinders = sheet.mechanics.layout.cylinders() / 2;
    let distances = (1..200).map(|i| libm::pow(f64::from(cylinders), f64::from(i) / 200.0) as u32);
    let errors: Vec<f64> = distances.map(|d| (moves(sheet, d) - moves(found, d)).abs()).collect();
    let settle = |sheet: &Sheet| sheet.mechanics.switches.write_settle.as_ms();
    let sector = 1 << sheet.mechanics.layout.sector_shift();
    let response = |sheet: &Sheet| {
        let bus = sheet.bus.mb_s.map_or(0.0, |mb_s| 0.512 * f64::from(sector) / mb_s);
        sheet.overheads.buffered.read.as_ms() + bus + sheet.overheads.done.write.as_ms()
    };
    Line {
        settle: (settle(found), settle(sheet)),
        move_mae: errors.iter().sum::<f64>() / errors.len() as f64,
        own_curve: writes.own_curve,
        buffer: [found.cache, sheet.cache].map(|cache| (cache.write_buffer, cache.write_extents, cache.drain)),
        on_arrival: [found, sheet].map(|sheet| sheet.mechanics.access.writes),
        buffered: (response(found), response(sheet)),
        rates: (buffer.mb_s, buffer.per_second),
        writes: profile.writes,
        minutes: profile.time.as_secs() / 60.0,
        left_out: found.assumed.iter().filter(|note| note.contains("writ")).cloned().collect(),
    }
}

#[test]
#[ignore = "half a minute, in a release build; prints a table"]
fn writes_of_the_catalogue() {
    println!(
        "| drive | settle ms | moves MAE ms | own curve | buffer, writes, order | zero-latency | fits in ms | MB/s | 1/s | writes | min |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    let quick = std::env::var("HALFTURN_QUICK").is_ok();
    for name in names() {
        let it = line(&name, if quick { Thoroughness::Quick } else { Thoroughness::Thorough });
        let short = name.rsplit('/').next().unwrap_or(&name);
        println!(
            "| {short} | {:.3} ({:.3}) | {:.3} | {} | {:?} ({:?}) | {} ({}) | {:.3} ({:.3}) | {:.1} | {:.0} | {} | {:.1} |",
            it.settle.0,
            it.settle.1,
            it.move_mae,
            it.own_curve,
            it.buffer[0],
            it.buffer[1],
            it.on_arrival[0],
            it.on_arrival[1],
            it.buffered.0,
            it.buffered.1,
            it.rates.0,
            it.rates.1,
            it.writes,
            it.minutes
        );
        for note in it.left_out {
            println!("  {short}: {note}");
        }
    }
}

/// A device that remembers what was written of it.
struct Watched {
    device: sim::Bench<Drive>,
    written: Vec<Extent>,
}

impl Device for Watched {
    fn caps(&self) -> Caps {
        self.device.caps()
    }

    fn now(&self) -> Time {
        self.device.now()
    }

    fn issue(&mut self, tag: Tag, command: Command) -> Time {
        if command.verb.writes() {
            self.written.push(command.at);
        }
        self.device.issue(tag, command)
    }

    fn next(&mut self, until: Time) -> Option<(Time, Tag, Outcome)> {
        self.device.next(until)
    }
}

fn watched(name: &str) -> Watched {
    let disk::Drive { sheet, truth } = crate::drive(name);
    Watched { device: sim::Bench::new(Drive::new(&sheet, &truth, 7)), written: Vec::new() }
}

#[test]
fn nothing_is_written_outside_the_scratch_and_nothing_at_all_without_one() {
    let mut device = watched("mimic-base");
    crate::profiled("it", &mut device).expect("it can be read");
    assert_eq!(device.written, []);
    let blocks = device.caps().blocks;
    let mut state = 5u64;
    for _ in 0..12 {
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 32) % below
        };
        let size = draw(16);
        let length = 1 + draw(1 << size);
        let scratch = Scratch { first: draw(blocks - length + 1), blocks: length };
        let mut device = watched("mimic-base");
        let options =
            ProfileOptions { name: "it".into(), seed: 1, effort: Thoroughness::Quick, scratch: Some(scratch) };
        let profile = profile::profile(&mut device, &options, &mut ()).expect("it can be read and written");
        let outside = device.written.iter().find(|at| !scratch.holds(**at));
        assert!(outside.is_none(), "seed 5, {scratch}: {outside:?}");
        assert_eq!(device.written.len() as u64, profile.writes, "seed 5, {scratch}");
        assert!(profile.writes > 0, "seed 5, {scratch}");
    }
}

#[test]
fn a_bench_gives_no_write_outside_the_scratch_whatever_is_asked_of_it() {
    let mut device = watched("mimic-base");
    let scratch = Scratch { first: 100, blocks: 10 };
    let through = Verb::Write { fua: true };
    for scratch in [None, Some(scratch)] {
        let mut bench = ProbeBench::new("it", &mut device, 1, scratch);
        for (first, blocks) in [(99, 1), (99, 2), (110, 1), (109, 2), (99, 12), (u64::MAX, 1), (0, u32::MAX)] {
            let at = Extent::new(first, blocks);
            let error = bench.command(through, at).expect_err("it lies outside").to_string();
            assert!(error.contains("was not given"), "{error}");
            assert!(bench.write(through, first, blocks.into()).expect("it is not given").is_none());
        }
    }
    assert_eq!(device.written, []);
    let mut bench = ProbeBench::new("it", &mut device, 1, Some(scratch));
    assert!(bench.write(through, 100, 10).expect("it comes back").is_some());
    assert_eq!(device.written, [Extent::new(100, 10)]);
}

#[test]
fn a_scratch_that_is_not_on_the_device_is_refused() {
    let mut device = watched("mimic-base");
    let scratch = Some(Scratch { first: device.caps().blocks - 1, blocks: 2 });
    let options = ProfileOptions { name: "it".into(), seed: 1, effort: Thoroughness::Quick, scratch };
    let error = profile::profile(&mut device, &options, &mut ()).expect_err("it ends beyond").to_string();
    assert!(error.contains("end beyond the device") && error.contains("mend"), "{error}");
    assert_eq!(device.written, []);
}

#[test]
fn a_scratch_too_small_says_what_was_left_out() {
    let mut device = watched("st318437lw");
    let scratch = Scratch { first: 1 << 20, blocks: 64 };
    let profile = written("it", &mut device, scratch);
    let ProfileOutcome::Disk(known) = &profile.outcome else { panic!("it turns") };
    let notes = known.assumed_of_writes().join("\n");
    for what in ["no whole track", "zero-latency writes", "write buffer: ", "crossing cylinders"] {
        assert!(notes.contains(what), "{what}: {notes}");
    }
    let text = disk::write(&known.plan("it", profile.blocks));
    assert!(disk::parse("it", "it.toml", &text).is_ok(), "{text}");
}

/// What holds for the writes of a drive.
#[track_caller]
fn is_known(name: &str) {
    let line = line(name, Thoroughness::Thorough);
    let (found, real) = line.settle;
    assert!((found - real).abs() < 0.05 && line.move_mae < 0.1, "{name}: {line:?}");
    let [ours, theirs] = line.buffer;
    assert!(ours == theirs && line.on_arrival[0] == line.on_arrival[1], "{name}: {line:?}");
    assert!((line.buffered.0 - line.buffered.1).abs() < 0.002 || ours.0 == 0, "{name}: {line:?}");
}

#[test]
fn in_less_time_writes_of_a_drive_of_20_tb_are_known_too_within_five_minutes() {
    let line = line("nl20", Thoroughness::Quick);
    let (found, real) = line.settle;
    assert!(line.minutes < 5.0 && (found - real).abs() < 0.05 && line.move_mae < 0.1, "{line:?}");
    assert_eq!(line.buffer[0].0, line.buffer[1].0, "{line:?}");
}

#[test]
fn writes_of_a_drive_with_a_buffer_of_few_writes_that_reads_wait_for_are_known() {
    is_known("st318437lw");
}

#[test]
fn writes_of_a_drive_with_a_small_buffer_are_known() {
    is_known("atlas10k");
}

#[test]
fn writes_over_a_bus_slower_than_the_medium_are_known() {
    is_known("atlas10k-validation");
}

#[test]
fn a_drive_without_a_buffer_has_none() {
    is_known("mimic-base");
}

#[test]
fn a_drive_that_writes_otherwise_than_it_reads_is_known() {
    let disk::Drive { sheet, truth } = crate::drive("mimic-base");
    let mut mechanics = (*sheet.mechanics).clone();
    let curve = disk::SeekCurve::Lee { a: 0.02, b: 0.0004, c: 2.2 };
    mechanics.seek_write = Some(disk::SeekTable::new(&curve, mechanics.layout.cylinders()));
    mechanics.access.writes = true;
    let cache = disk::Cache { write_buffer: 300, write_extents: 5, drain: Drain::InOrder, ..sheet.cache };
    let sheet = Sheet { mechanics: mechanics.into(), cache, ..sheet };
    let mut device = sim::Bench::new(Drive::new(&sheet, &truth, 7));
    let profile = written("it", &mut device, middle(&sheet, 1 << 20));
    let ProfileOutcome::Disk(known) = &profile.outcome else { panic!("it turns") };
    let text = disk::write(&known.plan("it", profile.blocks));
    let found = disk::parse("it", "it.toml", &text).expect("the drive file is one").sheet;
    let line = compare(&sheet, &found, &profile, known);
    assert!(line.own_curve && line.move_mae < 0.1, "{line:?}");
    assert!(line.buffer[0] == line.buffer[1] && line.on_arrival[0], "{line:?}");
}

/// A drive whose writes nobody has seen before.
fn made_up(seed: u64) -> (Sheet, disk::Truth) {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let bases = ["mimic-base", "atlas10k", "wd400bb", "mimic-8"];
    let disk::Drive { sheet, truth } = crate::drive(bases[draw(4) as usize]);
    let mut mechanics = (*sheet.mechanics).clone();
    let us = |us: u64| block::Span(us * 1000);
    mechanics.switches.write_settle = us(draw(3) * draw(700));
    mechanics.access.writes = draw(3) == 0;
    let mut overheads = sheet.overheads;
    overheads.write = disk::After { read: us(50 + draw(500)), write: us(50 + draw(500)) };
    overheads.read = disk::After { read: us(50 + draw(500)), write: us(50 + draw(500)) };
    overheads.buffered = disk::After { read: us(20 + draw(300)), write: us(20 + draw(300)) };
    overheads.done.write = us(draw(2) * draw(200));
    overheads.large = None;
    let drains = [Drain::Soonest, Drain::AllSoonest, Drain::InOrder];
    let cache = disk::Cache {
        write_buffer: (draw(4) * draw(5000)) as u32,
        write_extents: (draw(2) * draw(12)) as u32,
        joins_writes: draw(2) == 0,
        drain: drains[draw(3) as usize],
        ..sheet.cache
    };
    (Sheet { mechanics: mechanics.into(), overheads, cache, ..sheet }, truth)
}

/// What holds for the writes of a drive nobody has seen before.
#[track_caller]
fn made_up_is_known(seed: u64) {
    let (sheet, truth) = made_up(seed);
    let mut device = sim::Bench::new(Drive::new(&sheet, &truth, 7));
    let profile = written("it", &mut device, middle(&sheet, 1 << 20));
    let ProfileOutcome::Disk(known) = &profile.outcome else { panic!("it turns") };
    let text = disk::write(&known.plan("it", profile.blocks));
    let found = disk::parse("it", "it.toml", &text).expect("the drive file is one").sheet;
    let line = compare(&sheet, &found, &profile, known);
    assert!((line.settle.0 - line.settle.1).abs() < 0.05 && line.move_mae < 0.1, "seed {seed}: {line:?}");
    let [(ours, extents, drain), (theirs, most, real)] = line.buffer;
    assert!(ours == theirs && line.on_arrival[0] == line.on_arrival[1], "seed {seed}: {line:?}");
    // More than a thousand no drive here keeps apart.
    assert!(theirs == 0 || extents == most || (most == 0 && extents > 1000), "seed {seed}: {line:?}");
    // Of less than three writes nobody sees the order.
    assert!(theirs == 0 || (1..3).contains(&most) || drain == real, "seed {seed}: {line:?}");
    let later = |after: disk::After| after.write.0 as f64 - after.read.0 as f64;
    let off = |found: disk::After, real: disk::After| (later(found) - later(real)).abs();
    let (ours, real) = (found.overheads, sheet.overheads);
    let offs = [off(ours.read, real.read), off(ours.write, real.write)];
    assert!(offs.iter().all(|off| *off < 60_000.0), "seed {seed}: {ours:?} {real:?}");
    let (buffered, really) = (found.overheads.buffered, sheet.overheads.buffered);
    let off = [(buffered.read, really.read), (buffered.write, really.write)].map(|(a, b)| a.0.abs_diff(b.0));
    assert!(theirs == 0 || off.iter().all(|off| *off < 5_000), "seed {seed}: {buffered:?} {really:?}");
}

/// A drive that takes buffered writes in by stages, and what a profile finds of it.
fn staged(seed: u64) -> (Sheet, Sheet) {
    let mut state = seed;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let disk::Drive { mut sheet, truth } = crate::drive(["mimic-base", "atlas10k", "wd400bb"][draw(3) as usize]);
    sheet.cache.write_buffer = 20_000 + draw(60_000) as u32;
    (sheet.cache.write_extents, sheet.cache.drain) = (0, Drain::Soonest);
    let pieces = |count: u64| 128 * count as u32;
    sheet.overheads.stages = Some(disk::WriteStages {
        fast: pieces(draw(60)),
        mid: block::Span(draw(3) * draw(400_000)),
        between: pieces(9 + draw(20)),
        slow: block::Span(4_000_000 + draw(20_000_000)),
        rest: block::Span(100_000_000),
    });
    let mut device = sim::Bench::new(Drive::new(&sheet, &truth, 7));
    let profile = written_with("it", Thoroughness::Quick, &mut device, middle(&sheet, 1 << 20));
    let ProfileOutcome::Disk(known) = &profile.outcome else { panic!("it turns") };
    let text = disk::write(&known.plan("it", profile.blocks));
    let found = disk::parse("it", "it.toml", &text).expect("the drive file is one").sheet;
    (sheet, found)
}

#[test]
fn stages_of_buffered_writes_are_known_and_no_slow_one_passes_for_a_full_buffer() {
    for seed in 1..7 {
        let (real, found) = staged(seed);
        let stages = found.overheads.stages.unwrap_or_else(|| panic!("seed {seed}: {:?}", real.overheads.stages));
        let real_stages = real.overheads.stages.expect("it has them");
        assert_eq!((stages.fast, stages.between), (real_stages.fast, real_stages.between), "seed {seed}");
        let us = |found: block::Span, real: block::Span| found.0.abs_diff(real.0) / 1_000;
        assert!(us(stages.slow, real_stages.slow) < 20, "seed {seed}: {stages:?} {real_stages:?}");
        assert!(
            us(stages.mid, real_stages.mid) < 20 || real_stages.fast < 8 * 128,
            "seed {seed}: {stages:?} {real_stages:?}"
        );
        // While one is slow the drive writes some back.
        let (size, real_size) = (found.cache.write_buffer, real.cache.write_buffer);
        assert!(size.abs_diff(real_size) < real_size / 50, "seed {seed}: {size} {real_size}");
    }
}

#[test]
fn writes_of_made_up_drives_are_known() {
    [2, 7, 13].into_iter().for_each(made_up_is_known);
}

#[test]
#[ignore = "two minutes"]
fn writes_of_many_made_up_drives_are_known() {
    (100..140).for_each(made_up_is_known);
}
