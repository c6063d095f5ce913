//! Every nanosecond of the arm is attributed, whatever is asked of whichever drive.

use crate::random::check;
use crate::rig::{FUA, Features, Rig, WRITE};
use block::{Extent, Outcome, Span, Time, Verb};
use disk::{Truth, catalogue};
use drive::{Account, Parts};
use proptest::prelude::*;

/// Where a command goes.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// At this share of the capacity.
    Anywhere(f64),
    /// Where the last one ended.
    Next,
    /// Where the last one began, so many blocks on.
    Again(u32),
}

#[derive(Clone, Copy, Debug)]
struct Step {
    pause: u64,
    verb: Verb,
    place: Place,
    blocks: u32,
    /// Starts are multiples of so many blocks.
    align: u64,
    /// The account is taken before it.
    settles: bool,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let pause = prop_oneof![4 => Just(0u64), 2 => 0..3_000_000u64, 2 => 0..60_000_000u64, 1 => 0..5_000_000_000u64];
    let verb = prop_oneof![8 => Just(Verb::Read), 8 => Just(WRITE), 2 => Just(FUA), 1 => Just(Verb::Flush)];
    let place = prop_oneof![
        2 => (0.0..1.0f64).prop_map(Place::Anywhere),
        3 => Just(Place::Next),
        1 => (0..300u32).prop_map(Place::Again),
    ];
    let blocks = prop_oneof![4 => 1..64u32, 2 => 64..1024u32, 1 => 1024..9000u32];
    let align = prop_oneof![Just(1u64), Just(8)];
    let step = (pause, verb, place, blocks, align, prop::bool::weighted(0.1))
        .prop_map(|(pause, verb, place, blocks, align, settles)| Step { pause, verb, place, blocks, align, settles });
    prop::collection::vec(step, 1..60)
}

fn truths() -> impl Strategy<Value = Option<Truth>> {
    let other = Truth {
        rpm_offset: 0.004,
        rpm_wander: 0.001,
        wander_period: Span(7_000_000_000),
        seek_noise: Span(300_000),
        ..Truth::default()
    };
    prop_oneof![Just(Some(Truth::default())), Just(None), Just(Some(other))]
}

/// What a drive should have accounted for since it was last asked.
#[derive(Default)]
struct Ledger {
    since: Time,
    busy: Span,
    parts: Parts,
    commands: u64,
}

impl Ledger {
    fn settle(&mut self, account: &Account, now: Time) -> Result<(), TestCaseError> {
        prop_assert_eq!((account.since, account.until, account.commands), (self.since, now, self.commands));
        prop_assert_eq!((account.busy, account.parts), (self.busy, self.parts));
        prop_assert_eq!(account.parts.total(), account.busy);
        // Subtracting would wrap.
        prop_assert!(account.busy.0 + account.background.0 <= account.span().0, "{account:?}");
        prop_assert_eq!(account.busy + account.background + account.idle(), account.span());
        *self = Ledger { since: now, ..Ledger::default() };
        Ok(())
    }
}

fn extent(step: &Step, last: Extent, capacity: u64) -> Extent {
    let start = match step.place {
        Place::Anywhere(share) => (share * capacity as f64) as u64,
        Place::Next => last.end().0,
        Place::Again(on) => last.start.0 + u64::from(on),
    };
    let start = start - start % step.align;
    if start + u64::from(step.blocks) > capacity {
        Extent::new(0, step.blocks)
    } else {
        Extent::new(start, step.blocks)
    }
}

#[test]
fn busy_background_and_idle_add_up_to_the_time_elapsed_and_parts_to_each_command() {
    let names: Vec<&str> = catalogue::names().collect();
    let features =
        (any::<bool>(), any::<bool>()).prop_map(|(read_cache, write_buffer)| Features { read_cache, write_buffer });
    let values = (prop::sample::select(names), truths(), features, any::<u64>(), steps());
    check(1500, values, |(name, truth, features, seed, steps)| {
        let truth = truth.unwrap_or(catalogue::find(name).unwrap().truth);
        let mut rig = Rig::new(name, truth, features, seed);
        let mut last = Extent::new(0, 1);
        let mut ledger = Ledger::default();
        for step in &steps {
            rig.pause(Span(step.pause));
            if step.settles {
                let account = rig.drive.take_account(rig.now);
                ledger.settle(&account, rig.now)?;
            }
            last = extent(step, last, rig.blocks());
            let done = rig.command(step.verb, last);
            prop_assert_eq!(done.outcome, Outcome::Ok);
            prop_assert_eq!(done.parts.total(), done.took, "{:?} of {:?}", done, step);
            ledger.busy += done.took;
            ledger.parts += done.parts;
            ledger.commands += 1;
        }
        rig.pause(Span(1_000_000_000));
        let account = rig.drive.take_account(rig.now);
        if !features.read_cache && !features.write_buffer {
            prop_assert_eq!(account.background, Span::ZERO);
        }
        ledger.settle(&account, rig.now)
    });
}

#[test]
fn a_drive_works_on_its_own_account_only_as_long_as_there_is_something_to_do() {
    let mut rig = Rig::quiet("st318437lw");
    rig.read(1_000_000, 8);
    rig.drive.take_account(rig.now);
    rig.pause(Span(10_000_000_000));
    let account = rig.drive.take_account(rig.now);
    // 128 KiB more of a track of some 740 blocks, and perhaps a crossing.
    let turns = account.background.0 as f64 / rig.revolution().0 as f64;
    assert!((255.0 / 750.0..256.0 / 700.0 + 0.15).contains(&turns), "{turns} revolutions of read-ahead");
    rig.pause(Span(10_000_000_000));
    assert_eq!(rig.drive.take_account(rig.now).background, Span::ZERO);
}

#[test]
fn a_command_past_the_end_or_of_no_blocks_fails_at_once_and_moves_nothing() {
    for name in catalogue::names() {
        let mut rig = Rig::quiet(name);
        let capacity = rig.blocks();
        for (start, blocks) in [(capacity, 1), (capacity - 1, 2), (u64::MAX - 1, 8), (5, 0)] {
            for verb in [Verb::Read, WRITE, FUA] {
                let done = rig.command(verb, Extent::new(start, blocks));
                assert_eq!((done.outcome, done.took), (Outcome::Failed(22), Span::ZERO), "{name}: {verb:?} {start}");
            }
        }
        assert_eq!(rig.read(capacity - 1, 1).outcome, Outcome::Ok);
    }
}
