//! Commands that queue in the drive: served by positioning time, none for ever, each accounted for once.

use crate::random::check;
use crate::rig::{ALL_ON, Dice, FUA, Features, WRITE};
use block::errno::{ENODATA, ETIME};
use block::{Command, Extent, Mark, Outcome, Place, Span, Tag, Time, Verb};
use disk::{DurationLimit, LimitPolicy, Queue, Sheet, Truth, catalogue};
use drive::{Drive, Parts};
use proptest::prelude::*;

/// A drive that takes `depth` commands.
fn queueing(name: &str, features: Features, depth: u16, truth: &Truth) -> (Drive, Sheet) {
    let sheet = catalogue::find(name).unwrap().sheet;
    let cache = features.switch_caches(sheet.cache);
    let sheet = Sheet { cache, queue: Queue { depth, ..sheet.queue }, ..sheet };
    (Drive::new(&sheet, truth, 1), sheet)
}

/// IOPS of random reads of 4 KiB, `depth` always in the drive, and the longest in ms.
fn random_reads(name: &str, depth: u16, count: u32) -> (f64, f64) {
    let (mut drive, sheet) = queueing(name, ALL_ON, depth, &catalogue::find(name).unwrap().truth);
    let mut dice = Dice(1);
    let mut issued = vec![Time::ZERO; usize::from(depth)];
    let mut issue = |drive: &mut Drive, now: Time, tag: Tag| {
        let at = Extent::new(dice.below(sheet.mechanics.layout.blocks() / 8 - 1) * 8, 8);
        drive.issue(now, tag, Command::new(Verb::Read, at, Place::Nowhere));
    };
    for tag in 0..u32::from(depth) {
        issue(&mut drive, Time::ZERO, Tag(tag));
    }
    let (mut now, mut longest) = (Time::ZERO, Span::ZERO);
    for _ in 0..count {
        let (end, tag, outcome, _) = drive.complete();
        assert!(end >= now && outcome == Outcome::Ok);
        now = end;
        longest = longest.max(end.since(issued[tag.0 as usize]));
        issued[tag.0 as usize] = end;
        issue(&mut drive, end, tag);
    }
    (f64::from(count) / now.as_secs(), longest.as_ms())
}

#[test]
fn a_nearline_drive_gains_from_its_queue_as_derived() {
    // DISKS.md, Section 9: derived from the sheet, at most 10 % off.
    for (depth, derived) in [(1, 81.0), (4, 116.0), (16, 158.0), (32, 186.0)] {
        let (iops, longest) = random_reads("nl20", depth, 20_000);
        println!(
            "nl20: {iops:.1} random reads a second, {depth} in the drive (derived: {derived}); longest {longest:.0} ms"
        );
        assert!((iops / derived - 1.0).abs() < 0.1, "{iops} at {depth}, derived {derived}");
        // The age limit, and those that were older.
        assert!(longest < 500.0 + 25.0 * f64::from(depth), "{longest} ms at {depth}");
    }
}

#[test]
fn whatever_is_queued_completes_once_and_every_moment_is_accounted_for_once() {
    let step = (0..40_000_000u64, 0..5u32, 0.0..1.0f64, 1..200u32);
    let values = (prop::sample::select(vec!["nl20", "atlas10k", "st318437lw"]), 1..9u16, any::<bool>(), any::<bool>());
    check(400, (values, prop::collection::vec(step, 1..80)), |((name, depth, read_cache, write_buffer), steps)| {
        let (mut drive, sheet) = queueing(name, Features { read_cache, write_buffer }, depth, &Truth::default());
        let mut free: Vec<u32> = (0..u32::from(depth)).collect();
        let mut issued = vec![Time::ZERO; usize::from(depth)];
        let (mut now, mut total) = (Time::ZERO, 0);
        let mut finish = |drive: &mut Drive, free: &mut Vec<u32>, issued: &[Time]| -> Result<Time, TestCaseError> {
            let mut announced = drive.next();
            let (end, tag, outcome, parts): (Time, Tag, Outcome, Parts) = loop {
                if let Some(done) = drive.finish() {
                    break done;
                }
                prop_assert!(drive.next() >= announced, "what it announces does not go back");
                announced = drive.next();
            };
            prop_assert_eq!((announced, outcome), (Some(end), Outcome::Ok));
            prop_assert_eq!(parts.total(), end.since(issued[tag.0 as usize]));
            prop_assert!(!free.contains(&tag.0));
            free.push(tag.0);
            total += 1;
            Ok(end)
        };
        for (pause, verb, share, blocks) in &steps {
            let next = now + Span(if *pause < 20_000_000 { 0 } else { *pause });
            while free.is_empty() || drive.next().is_some_and(|end| end <= next) {
                now = finish(&mut drive, &mut free, &issued)?;
            }
            now = now.max(next);
            let tag = free.pop().expect("there is one");
            issued[tag as usize] = now;
            let verb = [Verb::Read, Verb::Read, WRITE, FUA, Verb::Flush][*verb as usize];
            let last = sheet.mechanics.layout.blocks() - u64::from(*blocks);
            let at = Extent::new((share * last as f64) as u64, *blocks);
            drive.issue(now, Tag(tag), Command::new(verb, at, Place::Nowhere));
        }
        while drive.next().is_some() {
            now = now.max(finish(&mut drive, &mut free, &issued)?);
        }
        prop_assert_eq!((total, free.len()), (steps.len(), usize::from(depth)));
        let account = drive.take_account(now);
        prop_assert_eq!(account.parts.total(), account.busy);
        prop_assert!(account.busy.0 + account.background.0 <= account.span().0, "{:?}", account);
        Ok(())
    });
}

#[test]
fn a_flush_in_the_queue_waits_for_what_came_before_it_and_holds_back_what_comes_after() {
    let (mut drive, sheet) =
        queueing("nl20", Features { read_cache: false, write_buffer: false }, 8, &Truth::default());
    let mut dice = Dice(9);
    let commands = [Verb::Read, FUA, FUA, Verb::Flush, Verb::Read, Verb::Read];
    for (tag, verb) in commands.into_iter().enumerate() {
        let at = Extent::new(dice.below(sheet.mechanics.layout.blocks() / 8 - 1) * 8, 8);
        drive.issue(Time::ZERO, Tag(tag as u32), Command::new(verb, at, Place::Nowhere));
    }
    let order: Vec<u32> = commands.iter().map(|_| drive.complete().1.0).collect();
    let place = |tag: u32| order.iter().position(|it| *it == tag);
    assert!((0..3).all(|tag| place(tag) < place(3)) && (4..6).all(|tag| place(tag) > place(3)), "{order:?}");
}

#[test]
fn what_waits_past_its_limit_comes_back_at_that_moment_as_its_policy_says() {
    let sheet = catalogue::find("nl20").unwrap().sheet;
    let limit = |inactive: u64, policy| Some(DurationLimit { inactive: Span(inactive), duration: Span::ZERO, policy });
    let mut limits = [None; DurationLimit::MOST];
    limits[0] = limit(6_000_000, LimitPolicy::Abort);
    limits[1] = limit(5_000_000, LimitPolicy::Unavailable);
    limits[6] = limit(4_000_000, LimitPolicy::Late);
    let queue = Queue { depth: 32, limits, ..sheet.queue };
    let mut drive = Drive::new(&Sheet { queue, ..sheet.clone() }, &Truth::default(), 1);
    let mut dice = Dice(4);
    let marks =
        [Mark::Plain, Mark::Limit(1), Mark::Limit(2), Mark::Limit(7), Mark::Limit(1), Mark::Limit(3), Mark::High];
    for (tag, mark) in (0..28).zip(marks.into_iter().cycle()) {
        let at = Extent::new(dice.below(sheet.mechanics.layout.blocks() / 8 - 1) * 8, 8);
        drive.issue(Time::ZERO, Tag(tag), Command { mark, ..Command::new(Verb::Read, at, Place::Nowhere) });
    }
    let mut outcomes = std::collections::BTreeMap::new();
    for _ in 0..28 {
        let (end, tag, outcome, parts) = drive.complete();
        let expected = match marks[tag.0 as usize % marks.len()] {
            Mark::Limit(1) => (Time(6_000_000), Outcome::Failed(ETIME)),
            Mark::Limit(2) => (Time(5_000_000), Outcome::Failed(ENODATA)),
            _ => (end, Outcome::Ok),
        };
        assert!(outcome == Outcome::Ok || (end, outcome) == expected, "{end:?} {outcome:?}, not {expected:?}");
        assert_eq!(parts.total(), end.since(Time::ZERO));
        *outcomes.entry(format!("{outcome:?}")).or_insert(0) += 1;
    }
    assert!(drive.is_idle());
    // An access takes some 8 ms: all but the one or two that are served at once.
    assert!(outcomes["Failed(62)"] >= 6 && outcomes["Failed(61)"] >= 3, "{outcomes:?}");
}

#[test]
fn whoever_has_waited_too_long_goes_before_any_mark() {
    let sheet = catalogue::find("nl20").unwrap().sheet;
    let queue = Queue { depth: 32, high_priority: true, age_limit: Span(100_000_000), ..sheet.queue };
    let mut drive = Drive::new(&Sheet { queue, ..sheet.clone() }, &Truth::default(), 1);
    let mut dice = Dice(5);
    let mut issue = |drive: &mut Drive, now: Time, tag: Tag, mark| {
        let at = Extent::new(dice.below(sheet.mechanics.layout.blocks() / 8 - 1) * 8, 8);
        drive.issue(now, tag, Command { mark, ..Command::new(Verb::Read, at, Place::Nowhere) });
    };
    for tag in 0..4 {
        issue(&mut drive, Time::ZERO, Tag(tag), if tag == 3 { Mark::Plain } else { Mark::High });
    }
    // There is always one of high priority.
    for done in 0..40 {
        let (end, tag, ..) = drive.complete();
        if tag == Tag(3) {
            assert!((100.0..160.0).contains(&end.since(Time::ZERO).as_ms()) && done > 4, "{end:?}");
            return;
        }
        issue(&mut drive, end, tag, Mark::High);
    }
    panic!("it starves");
}
