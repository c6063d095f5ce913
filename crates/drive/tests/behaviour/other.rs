//! Devices that are not a disk: each is what its file says, completes whatever it is given once and not before it came,
//! accounts for every moment once, and does the same again from the same seed.

use crate::random::check;
use crate::rig::{Dice, FUA, Rig, WRITE};
use block::{Command, Extent, Outcome, Place, Span, Tag, Time, Verb};
use disk::{Model, Other, catalogue};
use drive::{Machine, Parts};
use proptest::prelude::*;

fn other(name: &str) -> Other {
    match catalogue::model(name).unwrap() {
        Model::Other(other) => *other,
        Model::Disk(_) => panic!("{name} is a disk"),
    }
}

fn command(verb: Verb, start: u64, blocks: u32) -> Command {
    Command::new(verb, Extent::new(start, blocks), Place::Nowhere)
}

/// Gives a device nothing else to do than this.
fn alone(device: &mut dyn Machine, now: Time, verb: Verb, start: u64, blocks: u32) -> (Span, Parts) {
    device.issue(now, Tag(0), command(verb, start, blocks));
    let (end, _, outcome, parts) = device.finish().unwrap();
    assert_eq!(outcome, Outcome::Ok);
    (end.since(now), parts)
}

fn near(span: Span, ms: f64) {
    assert!((span.as_ms() - ms).abs() < 1e-5, "{} ms, not {ms}", span.as_ms());
}

/// A command: pause before it, what, at which share of the capacity or where the last ended, how much.
type Step = (u64, u32, Option<f64>, u32);

/// When commands came back, with their parts: each once, none before it was issued, and the account adds up.
fn played(other: &Other, seed: u64, steps: &[Step]) -> Result<Vec<(Time, Parts)>, TestCaseError> {
    let mut device = drive::other::machine(other, seed);
    let depth = usize::from(device.caps().depth);
    let capacity = device.caps().blocks;
    let mut free: Vec<u32> = (0..depth as u32).collect();
    let mut issued = vec![Time::ZERO; depth];
    let (mut now, mut done, mut last) = (Time::ZERO, Vec::new(), 0);
    let mut finish = |device: &mut dyn Machine, free: &mut Vec<u32>, issued: &[Time]| -> Result<Time, TestCaseError> {
        let announced = device.next();
        let Some((end, tag, outcome, parts)) = device.finish() else {
            // It has but decided something.
            return Ok(announced.expect("something happened"));
        };
        let began = issued[tag.0 as usize];
        prop_assert_eq!(announced, Some(end));
        // Zones of the host refuse what is not written from their beginning on.
        let refuses = matches!(other.kind, disk::other::Kind::HostManaged(_));
        prop_assert!(outcome == Outcome::Ok || (refuses && outcome == Outcome::Failed(block::errno::EIO)));
        prop_assert!(end >= began && !free.contains(&tag.0));
        prop_assert_eq!(parts.total(), end.since(began));
        free.push(tag.0);
        done.push((end, parts));
        Ok(end)
    };
    for (pause, verb, share, blocks) in steps {
        let next = now + Span(pause.saturating_sub(20_000_000));
        while free.is_empty() || device.next().is_some_and(|end| end <= next) {
            let end = finish(&mut *device, &mut free, &issued)?;
            prop_assert!(end >= now);
            now = end;
        }
        now = now.max(next);
        let tag = free.pop().expect("there is one");
        issued[tag as usize] = now;
        let verb = [Verb::Read, Verb::Read, WRITE, FUA, Verb::Flush][*verb as usize];
        let most = capacity - u64::from(*blocks);
        let start = share.map_or(last, |share| (share * most as f64) as u64).min(most);
        last = start + u64::from(*blocks);
        device.issue(now, Tag(tag), command(verb, start, *blocks));
    }
    while device.next().is_some() {
        now = now.max(finish(&mut *device, &mut free, &issued)?);
    }
    let account = device.take_account(now + Span(5));
    prop_assert_eq!((account.commands, account.until), (steps.len() as u64, now + Span(5)));
    prop_assert_eq!(account.parts.total(), account.busy);
    prop_assert!(account.busy + account.background <= account.span(), "{:?}", account);
    prop_assert_eq!(device.take_account(now + Span(5)).busy, Span::ZERO);
    Ok(done)
}

#[test]
fn whatever_is_asked_completes_once_is_accounted_for_once_and_is_the_same_from_the_same_seed() {
    let place = prop_oneof![2 => (0.0..1.0f64).prop_map(Some), 1 => Just(None)];
    let step = (0..60_000_000u64, 0..5u32, place, 1..3000u32);
    let names: Vec<&str> = catalogue::others().collect();
    let values = (prop::sample::select(names), 0..9u16, any::<u64>(), prop::collection::vec(step, 1..80));
    check(600, values, |(name, depth, seed, steps)| {
        let device = Other { depth: depth.max(1), ..other(name) };
        prop_assert_eq!(played(&device, seed, &steps)?, played(&device, seed, &steps)?);
        Ok(())
    });
}

#[test]
fn a_command_past_the_end_or_of_no_blocks_fails_at_once() {
    for name in catalogue::others() {
        let mut device = drive::other::machine(&other(name), 1);
        let capacity = device.caps().blocks;
        for (start, blocks) in [(capacity, 1), (capacity - 1, 2), (u64::MAX - 1, 8), (5, 0)] {
            device.issue(Time(7), Tag(0), command(Verb::Read, start, blocks));
            assert_eq!(device.finish().unwrap(), (Time(7), Tag(0), Outcome::Failed(22), Parts::default()), "{name}");
        }
    }
}

#[test]
#[should_panic(expected = "no more commands than it has room for")]
fn a_device_refuses_what_it_has_no_room_for() {
    let mut device = drive::other::machine(&other("mirror-atlas10k"), 1);
    (0..3).for_each(|tag| device.issue(Time::ZERO, Tag(tag), command(Verb::Read, 0, 8)));
}

#[test]
fn flash_takes_as_long_wherever_until_its_channels_are_busy() {
    let mut device = drive::other::machine(&other("flash-x25m"), 1);
    // 4 KiB at 250 MB/s are 16.384 us.
    near(alone(&mut *device, Time::ZERO, Verb::Read, 0, 8).0, 0.085 + 0.016384);
    near(alone(&mut *device, Time(1_000_000), WRITE, 100_000_000, 8).0, 0.115 + 0.016384);
    for tag in 0..11 {
        device.issue(Time(2_000_000), Tag(tag), command(Verb::Read, u64::from(tag) * 1_000_000, 8));
    }
    let waits: Vec<Parts> = (0..11).map(|_| device.finish().unwrap().3).collect();
    // Ten at once share the bus; the eleventh waits until the first has its data.
    near(waits[9].bus, 9.0 * 0.016384);
    near(waits[10].queued, 0.085 + 0.016384);
}

#[test]
fn a_network_store_varies_about_its_median_and_is_late_now_and_then() {
    let store = other("store-block");
    let mut device = drive::other::machine(&store, 1);
    let mut spans: Vec<f64> = (0..100_000)
        .map(|i| {
            alone(&mut *device, Time(i * 1_000_000_000), Verb::Read, (i * 7919 * 8) % 190_000_000, 8).1.overhead.as_ms()
        })
        .collect();
    spans.sort_by(f64::total_cmp);
    let late = spans.iter().filter(|ms| **ms > 20.0).count();
    println!("least {:.3} ms, median {:.3} ms, p99 {:.3} ms, {late} late", spans[0], spans[50_000], spans[99_000]);
    assert!(spans[0] >= 0.5 && (spans[50_000] - 0.8).abs() < 0.01);
    // 0.5 + 0.3·exp(0.8 · 2.326), and a little for those held up.
    assert!((spans[99_000] - 2.43).abs() < 0.15 && (60..140).contains(&late));
    let mut quiet = drive::other::machine(&store.quiet(), 1);
    near(alone(&mut *quiet, Time::ZERO, Verb::Read, 0, 8).0, 0.5 + 4096.0 / 125e3);
}

#[test]
fn a_tape_is_positioned_by_length_and_streams_without_a_pause() {
    let tape = other("tape-lto5");
    let disk::other::Kind::Tape(sheet) = &tape.kind else { panic!("it is a tape") };
    let wrap = sheet.wrap_blocks();
    let ms = |blocks: u64| blocks as f64 * 512.0 / 140e3;
    let mut device = drive::other::machine(&tape, 1);
    let mut now = Time::ZERO;
    let mut go = |start: u64, blocks: u32| {
        let (took, parts) = alone(&mut *device, now, Verb::Read, start, blocks);
        now += took;
        parts
    };
    let parts = go(0, 8);
    assert_eq!((parts.seek, parts.settle.as_secs(), parts.switch), (Span::ZERO, 3.0, Span::ZERO));
    let parts = go(8, 2048);
    assert_eq!((parts.seek, parts.settle, parts.switch), (Span::ZERO, Span::ZERO, Span::ZERO));
    near(parts.transfer, ms(2048));
    // Two wraps on lies beside the head but for what was read; one wrap on lies at the other end.
    let parts = go(2 * wrap + 2056, 8);
    assert_eq!((parts.seek, parts.switch.as_secs()), (Span::ZERO, 2.0));
    let parts = go(3 * wrap, 8);
    assert!((parts.seek.as_secs() - 106.0).abs() < 0.1, "{parts:?}");
    // Over a turn it streams on, on the next wrap.
    let parts = go(4 * wrap - 8, 16);
    assert!((parts.seek.as_secs() - 106.0).abs() < 0.1 && parts.switch.as_secs() == 2.0, "{parts:?}");
    let parts = go(4 * wrap + 8, 8);
    assert_eq!(parts.total(), parts.transfer);
    // What comes too late finds it stopped where it was.
    now += Span(2_000_000_000);
    let (_, parts) = alone(&mut *device, now, Verb::Read, 4 * wrap + 16, 8);
    assert_eq!((parts.seek, parts.settle.as_secs()), (Span::ZERO, 3.0));
}

/// Reads of 4 KiB a second anywhere on a mirrored pair, `depth` always in it.
fn mirrored_reads(depth: u16, count: u32) -> f64 {
    let mut device = drive::other::machine(&Other { depth, ..other("mirror-atlas10k") }, 1);
    let capacity = device.caps().blocks;
    let (mut dice, mut now) = (Dice(3), Time::ZERO);
    let mut read = || command(Verb::Read, dice.below(capacity / 8 - 1) * 8, 8);
    (0..depth).for_each(|tag| device.issue(Time::ZERO, Tag(u32::from(tag)), read()));
    for _ in 0..count {
        let (end, tag, ..) = device.finish().unwrap();
        now = end;
        device.issue(now, tag, read());
    }
    f64::from(count) / now.as_secs()
}

#[test]
fn a_mirrored_pair_reads_with_the_nearer_arm_and_with_both_at_once() {
    let mut single = Rig::quiet("atlas10k");
    let mut dice = Dice(3);
    let blocks = single.blocks();
    for _ in 0..5000 {
        single.read(dice.below(blocks / 8 - 1) * 8, 8);
    }
    let (single, one, two) = (5000.0 / single.now.as_secs(), mirrored_reads(1, 5000), mirrored_reads(2, 5000));
    println!("reads a second: one drive {single:.1}, a pair {one:.1}, both arms {two:.1}");
    assert!(one > 1.03 * single && one < 1.5 * single, "one at a time {one}, a single drive {single}");
    assert!(two > 1.8 * single, "two at a time {two}, a single drive {single}");
}

#[test]
fn a_mirrored_write_is_complete_when_the_later_drive_has_it() {
    let mean = |device: &mut dyn Machine| {
        let (mut dice, mut now) = (Dice(5), Time::ZERO);
        for _ in 0..2000 {
            now += alone(device, now, FUA, dice.below(2_000_000) * 8, 8).0;
        }
        now.as_secs() * 1e3 / 2000.0
    };
    let (mut single, mut pair) =
        (Rig::quiet("atlas10k").drive, drive::other::machine(&other("mirror-atlas10k").quiet(), 1));
    let (one, both) = (mean(&mut single), mean(&mut *pair));
    println!("writes: one drive {one:.2} ms, a pair {both:.2} ms");
    // The later of two turns: two thirds of 5.99 ms on average, not a half.
    assert!((0.6..1.4).contains(&(both - one)), "{one} ms and {both} ms");
}
