//! Figures of the papers that one drive alone gives: throughput over chunk size, the load of a slow processor, the
//! steps of probes at one distance. Each test prints what it saw; where a figure is not met, the test holds what the
//! model gives and says what is published.

use crate::rig::{Dice, FUA, Rig, WRITE};
use block::{Extent, Span, Time, Verb};

/// Chunk sizes of the curves, in blocks.
const CHUNKS: [u32; 15] = [1, 2, 4, 8, 16, 24, 32, 50, 64, 100, 128, 200, 256, 300, 512];

/// MB/s of a stream of chunks from the first block on, over 20,000 blocks; the 40,000 before, which fill the buffers,
/// are not counted.
fn streamed(name: &str, verb: Verb, chunk: u32) -> f64 {
    let mut rig = Rig::quiet(name);
    let (warm, counted) = (40_000 / chunk, 20_000 / chunk);
    let mut since = Time::ZERO;
    for i in 0..warm + counted {
        if i == warm {
            since = rig.now;
        }
        rig.command(verb, Extent::new(u64::from(i) * u64::from(chunk), chunk));
    }
    f64::from(counted) * f64::from(chunk) * 512.0 / 1e6 / rig.now.since(since).as_secs()
}

/// MB/s of a drive that spends a command's overhead and the bus on each chunk, and no less than the medium takes.
fn bounded(rig: &Rig, verb: Verb, chunk: u32, medium: f64) -> f64 {
    let overheads = &rig.sheet.overheads;
    let command = if verb == Verb::Read { overheads.hit.read } else { overheads.buffered.write };
    let bytes = f64::from(chunk) * 512.0;
    let bus = rig.sheet.bus.mb_s.unwrap_or(f64::INFINITY);
    (bytes / 1e6 / (command.as_secs() + bytes / 1e6 / bus)).min(medium)
}

/// Virtual IO, Figures 3, 5 and 6: below point a the commands bound the rate, from there on the medium does. The chunk
/// chosen for the first drive is 25 kB, so its a is no larger.
///
/// Reads below a are up to a quarter slower than the commands alone would have it: the drive reads ahead faster than it is
/// asked, fills its segment, stops, and must then wait for the sector to come round. Writes are slower on the drive that
/// keeps no more than eight of them, each by itself: it comes to wait for its buffer, and for the sector.
#[test]
fn streams_of_chunks_are_bound_by_commands_below_25_kb_and_by_the_medium_from_there_on() {
    for (name, medium) in [("st318437lw", 41.69), ("wd400bb", 34.07)] {
        let rig = Rig::quiet(name);
        let alone = if rig.sheet.cache.joins_writes { 0.99 } else { 0.3 };
        for (verb, least) in [(Verb::Read, 0.75), (WRITE, alone)] {
            for chunk in CHUNKS.into_iter().filter(|chunk| *chunk <= rig.sheet.overheads.large.unwrap().above) {
                let (rate, bound) = (streamed(name, verb, chunk), bounded(&rig, verb, chunk, medium));
                println!("{name}, {verb:?}, {chunk} blocks: {rate:.2} MB/s, bound {bound:.2}");
                let least = if chunk >= 50 { 0.98 } else { least };
                assert!((least * bound..1.01 * bound).contains(&rate), "{name}, {verb:?}, {chunk}: {rate}, {bound}");
            }
        }
    }
}

/// Mean ms of `blocks` blocks at places without a pattern in the first zone, in commands of `chunk`, the last write
/// flushed.
fn single(name: &str, verb: Verb, blocks: u32, chunk: u32) -> f64 {
    let mut rig = Rig::quiet(name);
    let mut dice = Dice(5);
    let mut total = Span::ZERO;
    for _ in 0..400 {
        let start = dice.below(1_000_000);
        let began = rig.now;
        for from in (0..blocks).step_by(chunk as usize) {
            rig.command(verb, Extent::new(start + u64::from(from), chunk.min(blocks - from)));
        }
        rig.flush();
        total += rig.now.since(began);
    }
    total.as_ms() / 400.0
}

/// MB/s that 1500 kB more are moved at, from IOs of 500 and of 2000 kB: the slope, free of positioning.
fn slope(name: &str, verb: Verb, chunk: u32) -> f64 {
    let more = single(name, verb, 4000, chunk) - single(name, verb, 1000, chunk.min(1000));
    3000.0 * 512.0 / 1e3 / more
}

/// Virtual IO, Tables 1 and 3: one command above b moves data at 28.4 to 28.7 MB/s where chunks do at 34.2 to 34.5 (0.83);
/// one write at 19.7 MB/s where chunks do at 27.2 (0.73).
///
/// Chunked writes here run as fast as chunked reads; the paper's are at 0.79 of them.
#[test]
fn one_large_command_is_slower_than_its_chunks() {
    for name in ["st318437lw", "wd400bb"] {
        for (verb, published) in [(Verb::Read, 0.83), (FUA, 0.73)] {
            let chunks = slope(name, if verb == Verb::Read { verb } else { WRITE }, 50);
            let one = slope(name, verb, 4000);
            println!("{name}, {verb:?}: {one:.2} MB/s in one command, {chunks:.2} MB/s in chunks of 25 kB");
            assert!(
                (one / chunks - published).abs() < 0.02,
                "{name}, {verb:?}: {}, published {published}",
                one / chunks
            );
        }
    }
}

/// Virtual IO, Figures 3, 5 and 6, beyond b. Published: throughput falls, with no figure; from Table 1, 0.83 of the
/// plateau for reads, from Table 3, 0.73 for writes.
///
/// The model differs: the drive reads ahead while its firmware lags, fills its segment and now and then waits a
/// revolution, which costs reads more than the firmware does; a buffered write loses only when it does not fit the
/// buffer, and then waits for the sector to come round again.
#[test]
fn in_a_stream_large_reads_and_writes_larger_than_the_buffer_lose() {
    for (name, medium) in [("st318437lw", 41.69), ("wd400bb", 34.07)] {
        for (verb, chunk, range) in [
            (Verb::Read, 256, 0.99..1.01),
            (Verb::Read, 300, 0.66..0.86),
            (Verb::Read, 1000, 0.72..0.86),
            (Verb::Read, 4000, 0.80..0.86),
            (WRITE, 512, 0.99..1.01),
            (WRITE, 2000, 0.58..0.66),
        ] {
            let share = streamed(name, verb, chunk) / medium;
            println!("{name}, {verb:?}, {chunk} blocks: {share:.3} of the plateau");
            assert!(range.contains(&share), "{name}, {verb:?}, {chunk} blocks: {share}");
        }
    }
}

/// Virtual IO, Section 3.1: chunks are free only for reads and buffered writes; one that completes on the medium misses
/// the next sector by its command's overhead and waits a revolution.
#[test]
fn each_fua_chunk_of_a_stream_costs_a_revolution() {
    for (name, medium) in [("st318437lw", 41.69), ("wd400bb", 34.07)] {
        for chunk in [8, 50, 128] {
            let kb = f64::from(chunk) * 0.512;
            let (ms, expected) = (kb / streamed(name, FUA, chunk), Rig::quiet(name).revolution().as_ms() + kb / medium);
            println!("{name}, {chunk} blocks: {ms:.3} ms, a revolution and the medium's time {expected:.3} ms");
            assert!((ms / expected - 1.0).abs() < 0.003, "{name}, {chunk} blocks: {ms} ms, expected {expected}");
        }
    }
}

/// Virtual IO, Figure 7: the load of a slow processor falls fast with the chunk and changes little beyond 50 kB. The
/// level is not printed. U = (command / chunk + byte) x throughput, with 75 us a command (of 50 to 100 us then usual)
/// and 15 ns a byte, both assumed; at less than 14.7 ns a byte, 50 kB would not be within 10 % of the end.
#[test]
fn the_load_of_the_processor_falls_fast_up_to_50_kb_and_is_within_a_tenth_of_its_end_there() {
    let load = |chunk: u32| {
        let bytes = f64::from(chunk) * 512.0;
        (75e-6 / bytes + 15e-9) * streamed("wd400bb", Verb::Read, chunk) * 1e6
    };
    let end = 15e-9 * streamed("wd400bb", Verb::Read, 256) * 1e6;
    let loads: Vec<f64> = [16, 32, 100, 200, 256].into_iter().map(load).collect();
    println!("load at 8, 16, 50, 100 and 128 kB {loads:.3?}, end {end:.3}");
    assert!(loads.windows(2).all(|pair| pair[1] < pair[0]));
    assert!(loads[0] > 1.5 * end && loads[1] > 1.25 * end, "{loads:?}, {end}");
    assert!(loads[2] < 1.1 * end, "{loads:?}, {end}");
}

/// Times of `probes` reads of 1 kB, each `kb` kB beyond the end of one at a place without a pattern, ascending.
fn probes(name: &str, kb: u64, probes: usize) -> Vec<f64> {
    let mut rig = Rig::quiet(name);
    let mut dice = Dice(7);
    let places = rig.blocks() - 2 * kb - 10;
    let mut times: Vec<f64> = (0..probes)
        .map(|_| {
            let start = dice.below(places);
            rig.read(start, 2);
            rig.read(start + 2 + 2 * kb, 2).took.as_ms()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times
}

/// The steps of times in ascending order, parted where two lie 0.1 ms apart: mean ms and share of each.
fn steps(times: &[f64]) -> Vec<(f64, f64)> {
    times
        .chunk_by(|a, b| b - a < 0.1)
        .map(|step| (step.iter().sum::<f64>() / step.len() as f64, step.len() as f64 / times.len() as f64))
        .collect()
}

/// Milliseconds and share of a step.
type Step = (f64, f64);

/// The steps expected at each distance, by arithmetic: the sectors from end to start, further by a skew where a track or
/// cylinder ends between them, and two sectors that pass. They say what Figure 1 of the Disk Mimic does: at 132 kB about
/// 10 % at 1.8 ms, about 90 % at 6.8 ms, a few at almost 8 ms; 132 kB takes longer than 224 kB.
///
/// A random access to the next cylinder pays a seek of one cylinder, not the longer cylinder switch of sequential crossings;
/// with that one, the first step at 132 kB would be missed and come to 7.72 ms. The few that do take so long find the drive
/// on its way to the next cylinder, reading ahead. The command overhead, 0.10 ms, passes while the platter turns and is
/// in no step.
const STEPS: [(u64, [Step; 4]); 3] = [
    (132, [(1.721, 0.097), (5.868, 0.022), (6.662, 0.878), (7.721, 0.003)]),
    (224, [(4.721, 0.32), (5.515, 0.52), (5.779, 0.035), (6.574, 0.13)]),
    (300, [(2.868, 0.64), (3.662, 0.14), (3.926, 0.16), (4.721, 0.06)]),
];

#[test]
fn probes_at_one_distance_take_as_many_times_as_boundaries_can_lie_between() {
    for name in ["mimic-base", "ibm-9lzx"] {
        let mut means = Vec::new();
        for (kb, expected) in STEPS {
            let times = probes(name, kb, 20_000);
            let got = steps(&times);
            means.push(times.iter().sum::<f64>() / times.len() as f64);
            println!("{name}, {kb} kB: {got:.3?}, mean {:.3} ms", means[means.len() - 1]);
            assert_eq!(got.len(), expected.len(), "{name}, {kb} kB");
            for ((ms, share), (expected_ms, expected_share)) in got.into_iter().zip(expected) {
                assert!((ms - expected_ms).abs() < 0.005, "{name}, {kb} kB: {ms} ms, expected {expected_ms}");
                assert!((share - expected_share).abs() < 0.02, "{name}, {kb} kB: {share}, expected {expected_share}");
            }
        }
        assert!(means[0] > means[1] && means[1] > means[2], "{name}: {means:?}");
    }
}

/// Name, sectors, heads, revolution, skews in sectors, and whether a crossing misses the next sector (Table 1).
type Disk = (&'static str, f64, f64, f64, (f64, f64), bool);

const DISKS: [Disk; 12] = [
    ("mimic-base", 272.0, 10.0, 6.0, (36.0, 84.0), false),
    ("mimic-base-corrected", 272.0, 10.0, 6.0, (36.0, 81.0), false),
    ("mimic-2", 272.0, 10.0, 6.0, (36.0, 46.0), false),
    ("mimic-3", 272.0, 10.0, 6.0, (36.0, 127.0), false),
    ("mimic-4", 272.0, 10.0, 2.0, (108.0, 243.0), false),
    ("mimic-5", 272.0, 10.0, 12.0, (18.0, 41.0), false),
    ("mimic-6", 272.0, 10.0, 2.0, (108.0, 136.0), false),
    ("mimic-7", 544.0, 20.0, 6.0, (36.0, 84.0), true),
    ("mimic-7-corrected", 544.0, 20.0, 6.0, (72.0, 162.0), false),
    ("mimic-8", 136.0, 5.0, 6.0, (36.0, 84.0), false),
    ("mimic-8-corrected", 136.0, 5.0, 6.0, (18.0, 41.0), false),
    ("ibm-9lzx", 272.0, 10.0, 6.0, (36.0, 84.0), false),
];

#[test]
fn the_mimic_disks_stream_at_the_rates_of_their_skews_and_only_the_printed_ones_of_7_miss() {
    for (name, sectors, heads, turn, (head, cylinder), misses) in DISKS {
        let gaps = ((heads - 1.0) * head + cylinder) / sectors + if misses { heads } else { 0.0 };
        let expected = heads * sectors * 0.512 / (turn * (heads + gaps));
        let rate = streamed(name, Verb::Read, 128);
        println!("{name}: {rate:.2} MB/s, expected {expected:.2}");
        assert!((rate / expected - 1.0).abs() < 0.01, "{name}: {rate} MB/s, expected {expected}");
    }
}

/// Virtual IO, Table 1: 50 kB in one command, somewhere on the drive, take 15.0 ms. That is
/// 8.8 ms of seek, half a revolution, 1.7 ms of transfer and 0.3 ms of overhead.
#[test]
fn fifty_kb_somewhere_take_fifteen_ms() {
    let noisy = disk::catalogue::find("st318437lw").unwrap().truth;
    let mut rig = Rig::new("st318437lw", noisy, crate::rig::ALL_ON, 1);
    let mut dice = Dice(11);
    for _ in 0..20_000 {
        let start = dice.below(rig.blocks() - 100);
        rig.read(start, 100);
    }
    let ms = rig.now.as_secs() * 1e3 / 20_000.0;
    println!("st318437lw: 50 kB in {ms:.2} ms");
    assert!((ms / 15.0 - 1.0).abs() < 0.02, "{ms} ms");
}

/// The 32-bit big-endian number at word `word` of a record.
fn word(record: &[u8], word: usize) -> u64 {
    record[4 * word..4 * word + 4].iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Mean service times in ms of one disk of the week recorded on hplajw: as measured, and on the HP 335H of the catalogue,
/// with each command as it was issued, or when the drive has completed the one before.
fn week(trace: &[u8], disk: u64) -> (f64, f64, u32) {
    let mut rig = Rig::quiet("hp-335h");
    let (mut measured, mut simulated, mut commands) = (0, Span::ZERO, 0);
    // Behind the header, 56 bytes a record: seconds and microseconds of arrival, start and stop in microseconds from
    // there, bytes, sector of 256 bytes, device, driver, cylinder, flags.
    for record in trace[2204..].chunks_exact(56).filter(|record| word(record, 8) >> 8 & 0xff == disk) {
        let issued = Time((word(record, 2) * 1_000_000 + word(record, 3) + word(record, 4)) * 1000);
        rig.now = rig.now.max(issued);
        let verb = if word(record, 11) & 1 == 1 { Verb::Read } else { WRITE };
        let done = rig.command(verb, Extent::new(word(record, 7) / 2, word(record, 6).div_ceil(512) as u32));
        measured += word(record, 5) - word(record, 4);
        simulated += done.took;
        commands += 1;
    }
    (measured as f64 / 1e3 / f64::from(commands), simulated.as_ms() / f64::from(commands), commands)
}

/// Measured were 25.35 and 20.13 ms; the model is 14 and 29 % faster. What its header does not tell of, the host's
/// handling of the HP-IB above all, is not in it, and nothing was fitted.
#[test]
fn a_week_of_commands_is_served_somewhat_faster_than_by_the_disk_it_was_recorded_on() {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces/public/ajw.1week.srt");
    let Ok(trace) = std::fs::read(&file) else {
        println!("SKIPPED: {} is not there; the HP 335H was NOT held against its measured service", file.display());
        return;
    };
    for (disk, published, share) in [(0, 25.35, 0.861), (1, 20.13, 0.712)] {
        let (measured, simulated, commands) = week(&trace, disk);
        println!("disk {disk}: {commands} commands, {measured:.2} ms measured, {simulated:.2} ms on the HP 335H");
        assert!((measured - published).abs() < 0.01, "disk {disk}: {measured} ms, published {published}");
        assert!((simulated / measured - share).abs() < 0.01, "disk {disk}: {simulated} ms, measured {measured}");
    }
}

/// MB/s of 128 KiB reads one after the other over 100,000 blocks from block `from` on.
fn sustained(name: &str, from: u64) -> f64 {
    let mut rig = Rig::quiet(name);
    rig.read(from, 256);
    let since = rig.now;
    for i in 1..=400 {
        rig.read(from + i * 256, 256);
    }
    400.0 * 0.131_072 / rig.now.since(since).as_secs()
}

/// Derived from the extracted skews: 23.5 to 16.1 MB/s, 21.06 in the mean. On the test-bed's bus, 0.099 ms a block, 5.17
/// less the answers' overheads.
#[test]
fn the_atlas_10k_streams_as_its_skews_allow_and_on_the_slow_bus_as_that_allows() {
    let last = Rig::quiet("atlas10k").blocks() - 110_000;
    let (outer, inner) = (sustained("atlas10k", 0), sustained("atlas10k", last));
    let places: Vec<f64> = (0..100).map(|i| sustained("atlas10k", last / 100 * i)).collect();
    // Blocks weigh the same, so the mean over the drive is that of the times.
    let mean = 100.0 / places.iter().map(|rate| 1.0 / rate).sum::<f64>();
    let slow = sustained("atlas10k-validation", 0);
    println!("atlas10k: {outer:.2} to {inner:.2}, mean {mean:.2} MB/s; on the slow bus {slow:.2} MB/s");
    for (got, published) in [(outer, 23.5), (inner, 16.1), (mean, 21.06), (slow, 5.135)] {
        assert!((got / published - 1.0).abs() < 0.01, "{got} MB/s, not {published}");
    }
}
