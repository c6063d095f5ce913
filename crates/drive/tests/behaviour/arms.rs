//! Two actuators serve two commands at once, each its half.

use crate::rig::WRITE;
use block::{Command, Extent, Outcome, Place, Span, Tag, Time, Verb};
use disk::{Model, Other, catalogue};
use drive::figures::{SteadyLoad, random_s, stream_mb_s};
use drive::{Drive, Machine};

fn dual() -> Other {
    match catalogue::model("exos-2x14").unwrap() {
        Model::Other(other) => *other,
        Model::Disk(_) => panic!("it is one disk"),
    }
}

fn random(machine: &mut dyn Machine, depth: u32) -> f64 {
    random_s(machine, 3, SteadyLoad { depth, commands: 6000, ..SteadyLoad::RANDOM })
}

fn issue(machine: &mut dyn Machine, now: Time, tag: u32, verb: Verb, start: u64, blocks: u32) {
    machine.issue(now, Tag(tag), Command::new(verb, Extent::new(start, blocks), Place::Nowhere));
}

fn complete(machine: &mut dyn Machine) -> (Time, Tag) {
    loop {
        if let Some((end, tag, outcome, parts)) = machine.finish() {
            assert_eq!(outcome, Outcome::Ok);
            assert!(parts.total() <= end.since(Time::ZERO));
            return (end, tag);
        }
    }
}

#[test]
fn two_arms_serve_twice_the_random_reads_of_one_and_one_command_has_but_one() {
    let half = catalogue::find("exos-2x14-half").unwrap();
    let one = |depth| random(&mut Drive::new(&half.sheet, &half.truth, 1), depth);
    let two = |depth| random(&mut *drive::other::machine(&dual(), 1), depth);
    for depth in [8, 16, 32] {
        let (two, one) = (two(depth), one(depth / 2));
        println!("{depth} in the device: {two:.1}/s; one arm with half of them {one:.1}/s");
        assert!(two / one > 1.9, "{two} and {one} with {depth}");
        // The specification's 304 of 16 commands in each half, which are two drives there.
        assert!(depth != 32 || (two / 304.0 - 1.0).abs() < 0.1, "{two}");
    }
    assert!((two(1) / one(1) - 1.0).abs() < 0.03, "{} and {}", two(1), one(1));
}

#[test]
fn two_streams_in_two_halves_run_at_once() {
    let (other, load) = (dual(), SteadyLoad::stream(1 << 30));
    let alone = stream_mb_s(&mut *drive::other::machine(&other, 1), 0, load);
    let mut machine = drive::other::machine(&other, 1);
    let half = machine.caps().blocks / 2;
    let mut next = [0, half];
    for tag in 0..2 {
        issue(&mut *machine, Time::ZERO, tag, Verb::Read, next[tag as usize], 2048);
    }
    let mut last = Time::ZERO;
    for _ in 0..400 {
        let (now, Tag(tag)) = complete(&mut *machine);
        next[tag as usize] += 2048;
        issue(&mut *machine, now, tag, Verb::Read, next[tag as usize], 2048);
        last = now;
    }
    let both = 400.0 * 1.048_576 / last.as_secs();
    println!("one stream {alone:.1} MB/s, two {both:.1} MB/s");
    assert!((alone / 262.0 - 1.0).abs() < 0.02 && both / alone > 1.9, "{alone} and {both}");
}

#[test]
fn what_lies_in_both_halves_is_whole_when_both_have_served_it() {
    let other = dual().quiet();
    let half = other.blocks() / 2;
    let one = |start, blocks| {
        let mut machine = drive::other::machine(&other, 1);
        issue(&mut *machine, Time::ZERO, 0, Verb::Read, start, blocks);
        complete(&mut *machine).0
    };
    let (low, high) = (one(half - 800, 800), one(half, 400));
    assert_eq!(one(half - 800, 1200), low.max(high));
    // A flush is over when both arms have written what they had.
    let mut machine = drive::other::machine(&other, 1);
    issue(&mut *machine, Time::ZERO, 0, WRITE, half - 8, 16);
    let (written, _) = complete(&mut *machine);
    issue(&mut *machine, written, 1, Verb::Flush, 0, 0);
    let (flushed, _) = complete(&mut *machine);
    assert!(flushed.since(written) > Span(1_000_000), "{:?}", flushed.since(written));
}
