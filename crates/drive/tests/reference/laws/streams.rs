//! A sequential stream runs as fast with a queue as without, and no turn is lost without a cause.

use super::play::command;
use super::{WRITE, drives};
use block::{Command, Direction, Extent, Lbn, Place, Span, Tag, Time, Verb};
use disk::{Progress, Sheet, Truth};
use drive::Drive;

/// The time of a stream of so many commands, `depth` of them in the drive.
fn stream(sheet: &Sheet, verb: Verb, (from, size, count): (u64, u32, u64), depth: u64) -> Span {
    let mut drive = Drive::new(sheet, &Truth::default(), 7);
    command(&mut drive, Time::ZERO, Verb::Read, (from.saturating_sub(64), 1));
    let begin = Time(100_000_000);
    let issue = |drive: &mut Drive, now: Time, i: u64| {
        let at = Extent::new(from + i * u64::from(size), size);
        drive.issue(now, Tag(i as u32), Command::new(verb, at, Place::Nowhere));
    };
    (0..depth.min(count)).for_each(|i| issue(&mut drive, begin, i));
    let mut next = depth.min(count);
    let mut end = begin;
    for _ in 0..count {
        end = drive.complete().0;
        if next < count {
            issue(&mut drive, end, next);
            next += 1;
        }
    }
    // What is still in the buffer counts as well.
    end.since(begin) + command(&mut drive, end, Verb::Flush, (0, 0))
}

/// The time the same blocks take to pass without a stop.
fn medium(sheet: &Sheet, direction: Direction, from: u64, blocks: u64) -> Span {
    let mechanics = &sheet.mechanics;
    let start = Progress { reached: Lbn(from), at: Time::ZERO, after: mechanics.layout.locate(Lbn(from)) };
    let end = mechanics.run_on(&mechanics.rotation, start, Lbn(from + blocks), Time::NEVER, direction);
    end.at.since(Time::ZERO)
}

#[test]
fn streams_of_reads_and_of_buffered_writes_lose_nothing_by_a_queue() {
    let mut slower = Vec::new();
    for (name, sheet) in drives(0, 32) {
        let from = sheet.mechanics.layout.blocks() / 16 * 8;
        for verb in [Verb::Read, WRITE] {
            if verb == WRITE && sheet.cache.write_buffer == 0 {
                continue;
            }
            for size in [8, 128, 512, 2048] {
                let count = (400_000 / u64::from(size)).clamp(200, 2000);
                let alone = stream(&sheet, verb, (from, size, count), 1);
                for depth in [2, 8, 32] {
                    let queued = stream(&sheet, verb, (from, size, count), depth);
                    let share = alone.0 as f64 / queued.0 as f64;
                    println!("{name}: {verb:?} of {size} blocks, {depth} in the drive: {share:.3} of one at a time");
                    if share < 0.95 {
                        slower.push(format!("{name}: {verb:?} of {size} blocks at {depth}: {share:.3}"));
                    }
                }
            }
        }
    }
    assert!(slower.is_empty(), "slower than one at a time:\n{}", slower.join("\n"));
}

#[test]
fn a_stream_of_reads_loses_no_turn_that_overheads_do_not_explain() {
    for (name, sheet) in drives(0, 32) {
        let from = sheet.mechanics.layout.blocks() / 16 * 8;
        for size in [8, 64, 256, 1024] {
            let count = (200_000 / size).clamp(100, 2000);
            // What it reads ahead must cover what it is asked for next.
            let ahead = u64::from(sheet.cache.read_ahead.min(sheet.cache.segment));
            if ahead < 2 * size || sheet.cache.ahead != disk::Ahead::Most {
                continue;
            }
            let took = stream(&sheet, Verb::Read, (from, size as u32, count), 1);
            let passes = medium(&sheet, Direction::Read, from, count * size);
            let overheads = sheet.overheads;
            let each = overheads.hit.read + overheads.done.read + overheads.reselect;
            let bus = sheet.bus.mb_s.map_or(0.0, |rate| (count * size) as f64 * 512.0 / rate * 1e3) as u64;
            let turn = sheet.mechanics.rotation.period();
            // The slower of the medium and of the host's way; two turns to begin with; and one whenever it has read ahead
            // as far as it may and must wait until it is asked on.
            let waits = count * size / ahead + 2;
            let explained = passes.0.max(bus + each.0 * count) + each.0 + waits * turn.0 + 60_000_000;
            let lost = took.0.saturating_sub(explained) / turn.0;
            println!("{name}: {count} reads of {size} blocks: {lost} turns lost");
            assert!(lost == 0, "{name}: {count} reads of {size} blocks: {lost} turns lost, of {took:?}");
        }
    }
}
