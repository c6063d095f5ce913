//! Drives behind a bus on which commands, data and completions take turns, as files of other simulators have them.

use super::{longest, mixed};
use crate::dice::Dice;
use crate::kinds::{self, Level};
use crate::laws::play::play;
use block::Span;
use disk::{Ahead, FreesAt, Queue, Sheet};

/// A made-up drive behind such a bus, with all that only those drives do.
fn drive(seed: u64) -> Sheet {
    let mut dice = Dice(7_000 + seed);
    let mut sheet = kinds::drive(&mut dice, Level::Imported).drive("made-up").expect("a drive").sheet;
    sheet.bus.exclusive = true;
    sheet.bus.mb_s = sheet.bus.mb_s.or(Some(20.0));
    sheet.queue = Queue { depth: 8, frees_at: dice.one_of(&[FreesAt::Message, FreesAt::Completion]), ..sheet.queue };
    sheet.cache.hits_wait = dice.percent(50);
    sheet.cache.ends_at_command = dice.percent(50);
    if dice.percent(60) {
        sheet.cache.segments = sheet.cache.segments.max(2);
        (sheet.cache.segment, sheet.cache.ahead) = (sheet.cache.segment.max(256), Ahead::Most);
        (sheet.cache.read_ahead, sheet.cache.least_ahead) = (200, dice.one_of(&[0, 16, 100]));
    }
    // Imported drives take a write in only when the arm is free.
    sheet.cache.accepts_busy = dice.percent(50);
    sheet
}

#[test]
fn every_command_ends_and_its_time_adds_up_where_the_bus_is_for_one() {
    for seed in 0..200 {
        let sheet = drive(seed);
        let mut dice = Dice(8_000 + seed);
        let load = mixed(&mut dice);
        for depth in [1, 8] {
            let run = play(&sheet, seed, depth, &load, &mut Dice(seed));
            assert_eq!(run.ended, load.commands, "seed {seed} at {depth}: commands that never end");
            assert_eq!((run.apart, run.backwards), (0, 0), "seed {seed} at {depth}");
            let account = run.account;
            assert_eq!(account.parts.total(), account.busy, "seed {seed} at {depth}: {account:?}");
            assert_eq!(account.busy + account.background + account.idle(), account.span(), "seed {seed} at {depth}");
            let (inside, responses) = (run.inside as f64, run.responses.0 as f64);
            assert!((inside / responses - 1.0).abs() < 1e-9, "seed {seed} at {depth}: {inside} {responses}");
        }
    }
}

#[test]
fn none_waits_longer_than_what_may_go_before_it_where_the_bus_is_for_one() {
    for seed in 0..120 {
        let sheet = drive(seed);
        let load = mixed(&mut Dice(9_000 + seed));
        let run = play(&sheet, seed, 8, &load, &mut Dice(seed));
        let most = *load.sizes.iter().max().unwrap_or(&1);
        let extents = if sheet.cache.write_buffer > 0 { 2 * (load.commands as u64).min(1024) } else { 0 };
        // An order by address may leave one waiting while others pass.
        let passing = if sheet.queue.age_limit == Queue::AGELESS { load.commands as u64 } else { 0 };
        let bound = Span(sheet.queue.age_limit.0.min(1 << 50))
            + Span(longest(&sheet, most).0 * (2 * 8 + 2 + extents + passing));
        assert!(run.longest <= bound, "seed {seed}: {:?} of at most {bound:?}", run.longest);
    }
}
