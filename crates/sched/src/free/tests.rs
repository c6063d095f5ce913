//! Which reads are made that cost nothing: how long they are, and where they are looked for.

use super::elsewhere::{BESIDE, Others};
use super::*;
use block::{Command, Extent};

/// Blocks of a track, and of a device.
const TRACK: u64 = 10;
const BLOCKS: u64 = 400_000;

/// Believes that a read comes back in time as long as it is short.
struct Hurry {
    longest: u32,
}

impl Predictor for Hurry {
    type Spot = Lbn;
    type Mark = ();
    type Head = Lbn;

    fn spot(&self, at: Extent) -> Lbn {
        at.start
    }

    fn key(&self, spot: Lbn) -> u64 {
        spot.0
    }

    fn mark(&self, _: Lbn) {}

    fn head(&self, _: Time) -> (Lbn, u64) {
        (Lbn(0), 0)
    }

    fn cost(&self, _: &Lbn, _: u64, (): (), _: Direction) -> u64 {
        0
    }

    fn least(&self, _: &Lbn, _: u64, _: u64, _: Direction) -> u64 {
        0
    }

    fn head_after(&self, _: &Lbn, at: Extent, _: Lbn, _: Direction) -> (Lbn, u64) {
        (at.end(), at.end().0)
    }

    fn ticks(&self, span: Span) -> u64 {
        span.0
    }

    fn arm(&self) -> Lbn {
        Lbn(0)
    }

    fn ending(&self, now: Time, at: Extent, _: Option<&Goal<Lbn>>) -> Option<Time> {
        (at.blocks <= self.longest).then(|| now + Span(at.blocks.into()))
    }

    fn note_issue(&mut self, _: Time, _: &Command, _: Lbn) {}

    fn note_completion(&mut self, _: Time, _: &Command, _: Outcome) {}
}

fn free(unit: u32) -> Free {
    let wanted = Wanted::nothing(BLOCKS, unit);
    Free::new(FreePlan { wanted, chunk: 64, patience: Span::ZERO, class: 0, retries: 0 })
}

#[test]
fn a_run_too_long_for_its_goal_is_read_in_part_by_whole_units() {
    let end = Lbn(0);
    let goal = Goal {
        at: Extent::default(),
        spot: end,
        direction: Direction::Read,
        by: Time::ZERO,
        by_still: Time::ZERO,
        end: Time::ZERO,
        leaves: (Time::ZERO, end),
        elsewhere: 0,
    };
    for (unit, units) in [(1, 64), (8, 64), (8, 5), (3, 20)] {
        let (free, at) = (free(unit), Extent::new(600, unit * units));
        for longest in 0..at.blocks + 9 {
            let found = free.in_time(&Hurry { longest }, Time(5), at, &goal);
            let Some((part, ends)) = found else {
                // It was tried with two thirds of it, or with what an eighth less came to of few units.
                let tried = u64::from(at.blocks) * 2 / 3;
                assert!(u64::from(longest) < tried, "nothing of {at:?} though {longest} blocks may be read");
                continue;
            };
            assert!(part.start == at.start && part.blocks <= at.blocks.min(longest) && part.blocks > 0, "{part:?}");
            assert!(part.blocks.is_multiple_of(unit) && ends == Time(5 + u64::from(part.blocks)), "{part:?}");
            // No more is given up than an eighth and two units at a time.
            let least = f64::from(longest.min(at.blocks)) * 0.875 - 2.0 * f64::from(unit);
            assert!(f64::from(part.blocks) >= least, "{part:?} of {at:?} for {longest}");
        }
    }
}

/// Whether a block is looked for: near either end, though not on its track, or on the first two thirds of the way.
fn is_looked_at(block: u64, ends: [u64; 2]) -> bool {
    let beside = |end: u64| {
        let below = end.saturating_sub(BESIDE * TRACK)..end.saturating_sub(TRACK);
        (end + TRACK..end + BESIDE * TRACK).contains(&block) || below.contains(&block)
    };
    let (low, high) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
    ends.into_iter().any(beside) || (low..low + (high - low) / 3 * 2).contains(&block)
}

#[test]
fn the_one_block_that_is_wanted_is_found_beside_the_ends_and_on_the_way() {
    let mut state = 3u64;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut found = 0;
    for _ in 0..3000 {
        let (ends, block) = ([draw(BLOCKS), draw(BLOCKS)], draw(BLOCKS));
        let mut wanted = Wanted::nothing(BLOCKS, 1);
        wanted.want(Lbn(block), Lbn(block + 1));
        let next = Others::new(&wanted, ends, (TRACK, 0)).next(&wanted, 0);
        assert_eq!(next, is_looked_at(block, ends).then_some(Lbn(block)), "{block} from {ends:?}");
        found += u32::from(next.is_some());
    }
    assert!((300..2700).contains(&found), "{found}");
}

#[test]
fn all_directions_are_looked_at_in_turns_and_none_at_a_track_twice() {
    let mut wanted = Wanted::nothing(BLOCKS, 1);
    wanted.want(Lbn(0), Lbn(BLOCKS));
    let (last, first) = (2000, 3500);
    let mut others = Others::new(&wanted, [last, first], (TRACK, 0));
    let from = [last, last, first, first, 2500, 2500];
    let upwards = [true, false, true, false, true, false];
    let mut before = from;
    for i in 0..48 {
        let (way, found) = (i % 6, others.next(&wanted, 0).expect("all is wanted").0);
        // Of the way itself the first track is looked at, too.
        let least = if i < 6 && way >= 4 { 0 } else { TRACK };
        let off = if upwards[way] { found.checked_sub(before[way]) } else { before[way].checked_sub(found) };
        assert!(off.is_some_and(|off| (least..=TRACK + 1).contains(&off)), "{found} after {}", before[way]);
        before[way] = found;
    }
}
