//! Streams: sequential commands run at the rate of the medium, with pauses and without.

use crate::rig::{Dice, Features, Rig, WRITE};
use block::{Direction, Extent, Lbn, Span, Time, Verb};
use disk::{Truth, catalogue};

/// Blocks of a command: 128 KiB.
const BLOCKS: u32 = 256;

/// MB/s of a stream of `commands` commands from block `from` on, one after the other, each after a pause; the first
/// third of them, which fills the buffers, is not counted.
fn rate(rig: &mut Rig, verb: Verb, from: u64, commands: u64, pause: Span) -> f64 {
    let mut counted = rig.now;
    for i in 0..commands {
        if i == commands / 3 {
            counted = rig.now;
        }
        rig.pause(pause);
        rig.command(verb, Extent::new(from + i * u64::from(BLOCKS), BLOCKS));
    }
    (commands - commands / 3) as f64 * f64::from(BLOCKS) * 512.0 / 1e6 / rig.now.since(counted).as_secs()
}

/// Where a stream of `commands` commands ends at the end of the drive.
fn inner(rig: &Rig, commands: u64) -> u64 {
    let from = rig.blocks() - commands * u64::from(BLOCKS);
    from - from % 8
}

/// MB/s as published, and the tolerance.
type Rate = (f64, f64);

/// Name, commands in a stream, and rates at the outer and the inner edge.
const SUSTAINED: [(&str, u64, Rate, Rate); 3] = [
    ("st318437lw", 3000, (41.7, 0.3), (24.3, 0.2)),
    ("mimic-base", 2000, (20.2, 0.1), (20.2, 0.1)),
    ("nl20", 6000, (285.0, 5.7), (143.0, 2.86)),
];

#[test]
fn sequential_reads_run_at_the_published_rates() {
    for (name, commands, outer, inner_) in SUSTAINED {
        let mut rig = Rig::quiet(name);
        let end = inner(&rig, commands);
        let got = (
            rate(&mut rig, Verb::Read, 0, commands, Span::ZERO),
            rate(&mut rig, Verb::Read, end, commands, Span::ZERO),
        );
        println!("{name}: reads at {:.2} and {:.2} MB/s", got.0, got.1);
        for (got, (published, within)) in [(got.0, outer), (got.1, inner_)] {
            assert!((got - published).abs() <= within, "{name}: {got} MB/s, published {published}");
        }
    }
}

#[test]
fn within_a_track_the_base_disk_of_the_mimic_reads_at_its_media_rate() {
    let mut rig = Rig::quiet("mimic-base");
    rig.read(0, 1);
    let began = rig.now;
    // One track of 272 sectors, of which one is read.
    let done = rig.read(1, 271);
    let rate = 271.0 * 512.0 / 1e6 / done.end.since(began).as_secs();
    println!("mimic-base: {rate:.2} MB/s within a track");
    assert!((rate - 23.2).abs() < 0.1, "{rate} MB/s");
}

#[test]
fn sequential_writes_stream_as_reads_do_where_writes_are_buffered() {
    for name in catalogue::names() {
        let mut rig = Rig::quiet(name);
        // A drive that takes writes in by stages is slower by its slow ones.
        if rig.sheet.cache.write_buffer == 0 || rig.sheet.overheads.stages.is_some() {
            continue;
        }
        // Long enough for the filling of the buffer not to count.
        let commands = 3000.max(u64::from(rig.sheet.cache.write_buffer) / 3);
        for from in [0, inner(&rig, commands)] {
            let reads = rate(&mut rig, Verb::Read, from, commands, Span::ZERO);
            if rig.sheet.bus.mb_s.is_some_and(|bus| reads > 0.95 * bus) {
                // The bus is the slower: the buffer is full before it has all of a command.
                continue;
            }
            rig.flush();
            let writes = rate(&mut rig, WRITE, from, commands, Span::ZERO);
            rig.flush();
            println!("{name}: from {from}: reads {reads:.2} MB/s, writes {writes:.2} MB/s");
            assert!((writes / reads - 1.0).abs() < 0.05, "{name}: reads {reads} MB/s, writes {writes} MB/s");
        }
    }
}

#[test]
fn without_a_write_buffer_each_sequential_write_loses_a_revolution() {
    for name in catalogue::names() {
        let mut rig = Rig::new(name, Truth::default(), Features { read_cache: true, write_buffer: false }, 1);
        rig.write(80, 8);
        let done = rig.write(88, 8);
        // It comes late by the command overhead.
        let waited = done.took - done.parts.transfer;
        let turns = waited.0 as f64 / rig.revolution().0 as f64;
        // A slow bus gives the last blocks a head start.
        assert!((0.98..1.001).contains(&turns), "{name}: {turns} revolutions");
    }
}

/// The time the medium alone takes for so many blocks from block `from`, once the first is under the head.
fn medium(rig: &Rig, from: u64, blocks: u64) -> Span {
    let mechanics = &rig.sheet.mechanics;
    let spot = mechanics.layout.locate(Lbn(from));
    let passage =
        mechanics.pass(&mechanics.rotation, Time::ZERO, spot, Extent::new(from, blocks as u32), Direction::Read);
    passage.end.since(passage.began)
}

/// The time of a read that is answered from the cache.
fn answer(rig: &Rig, blocks: u32) -> Span {
    let bus = rig.sheet.bus.mb_s.map_or(0.0, |rate| f64::from(blocks) * 512.0 / rate / 1e3);
    rig.sheet.overheads.hit.read + Span::from_ms(bus)
}

#[test]
fn a_sequential_reader_with_read_ahead_never_loses_a_revolution() {
    for name in catalogue::names() {
        for blocks in [8, 64, 256] {
            let mut rig = Rig::quiet(name);
            rig.read(0, blocks);
            let began = rig.now;
            let commands = 1200;
            for i in 1..=commands {
                rig.read(i * u64::from(blocks), blocks);
            }
            let took = rig.now.since(began);
            let least = medium(&rig, u64::from(blocks), commands * u64::from(blocks));
            let answers = Span(answer(&rig, blocks).0 * commands);
            println!("{name}, {blocks} blocks: {took:?}, medium {least:?}, answers {answers:?}");
            // Where both are about as fast, each at times waits for the other.
            if answers.0 < least.0 / 10 * 9 {
                let lost = took.less(least);
                assert!(lost < Span(rig.revolution().0 / 2), "{name}, {blocks} blocks: {lost:?} beyond {least:?}");
            }
        }
    }
}

#[test]
fn a_small_pause_between_reads_costs_nothing_while_the_read_ahead_is_ahead() {
    for name in ["st318437lw", "atlas10k", "dnes-309170w", "nl20", "mimic-base"] {
        // The medium takes longer for a command than its answer and the pause take together.
        let pause = if name == "nl20" { Span(100_000) } else { Span(1_000_000) };
        let without = rate(&mut Rig::quiet(name), Verb::Read, 0, 1500, Span::ZERO);
        let with = rate(&mut Rig::quiet(name), Verb::Read, 0, 1500, pause);
        println!("{name}: {without:.2} MB/s without, {with:.2} MB/s with pauses of {pause:?}");
        assert!((with / without - 1.0).abs() < 0.005, "{name}: {without} MB/s without pauses, {with} MB/s with");
    }
}

#[test]
fn a_reader_slower_than_the_medium_goes_to_it_once_a_read_ahead_at_most() {
    for name in catalogue::names() {
        let mut rig = Rig::quiet(name);
        let ahead = u64::from(rig.sheet.cache.read_ahead);
        if ahead == 0 {
            continue;
        }
        rig.read(0, 32);
        let mut reached = 0;
        for i in 1..800u64 {
            rig.pause(Span(50_000_000));
            let done = rig.read(i * 32, 32);
            reached += u64::from(done.took != done.parts.overhead + done.parts.bus);
        }
        println!("{name}: {reached} of 799 reads of 32 blocks reach the medium; it reads {ahead} blocks ahead");
        assert!(reached <= 799 * 32 / ahead + 1, "{name}: {reached}");
    }
}

#[test]
fn without_a_read_cache_each_sequential_read_pays_its_overhead_on_the_medium() {
    let mut rig = Rig::new("st318437lw", Truth::default(), Features { read_cache: false, write_buffer: true }, 1);
    let rate = rate(&mut rig, Verb::Read, 0, 500, Span::ZERO);
    // The sector after the last one has just passed: a revolution, then the transfer.
    let turns = 1.0 + f64::from(BLOCKS) / 750.0;
    let expected = f64::from(BLOCKS) * 512.0 / 1e6 / rig.revolution().as_secs() / turns;
    assert!((rate / expected - 1.0).abs() < 0.05, "{rate} MB/s, a revolution and the transfer are {expected}");
}

#[test]
fn random_reads_of_a_nearline_drive_are_81_a_second() {
    let noisy = catalogue::find("nl20").unwrap().truth;
    let mut rig = Rig::new("nl20", noisy, crate::rig::ALL_ON, 1);
    let mut dice = Dice(1);
    for _ in 0..20_000 {
        let start = dice.below(rig.blocks() / 8 - 1) * 8;
        rig.read(start, 8);
    }
    let iops = 20_000.0 / rig.now.as_secs();
    println!("nl20: {iops:.1} random reads of 4 KiB a second");
    assert!((iops / 81.0 - 1.0).abs() < 0.1, "{iops}");
}
