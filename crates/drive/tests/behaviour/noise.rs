//! Noise is a function of the seed and of the command's place in the sequence of commands, of nothing else.

use crate::rig::{ALL_ON, Dice, Rig};
use block::Span;
use disk::{Truth, catalogue};

fn noisy(seed: u64) -> Rig {
    Rig::new("st318437lw", catalogue::find("st318437lw").unwrap().truth, ALL_ON, seed)
}

/// The seeks of a hundred random reads.
fn seeks(rig: &mut Rig) -> Vec<Span> {
    let mut dice = Dice(5);
    (0..100).map(|_| rig.read(dice.below(35_000_000), 8).parts.seek).collect()
}

#[test]
fn the_same_seed_gives_the_same_times_and_another_gives_others() {
    let times = |seed| {
        let mut rig = noisy(seed);
        (seeks(&mut rig), rig.now)
    };
    assert_eq!(times(1), times(1));
    assert_ne!(times(1).0, times(2).0);
    let mut quiet = Rig::quiet("st318437lw");
    let quiet = seeks(&mut quiet);
    let differ = times(1).0.iter().zip(&quiet).filter(|(a, b)| a != b).count();
    assert!(differ > 95, "only {differ} of 100 seeks are noisy");
}

#[test]
fn a_seek_is_as_noisy_whatever_was_commanded_and_however_long_was_waited_before() {
    let (mut one, mut other) = (noisy(9), noisy(9));
    let mut dice = Dice(6);
    for i in 0..50u64 {
        // Different commands at different times, as under different schedulers; then the same seek by both.
        one.read(dice.below(30_000_000), 1 + dice.below(100) as u32);
        other.command(crate::rig::FUA, block::Extent::new(dice.below(30_000_000), 8));
        other.pause(Span(dice.below(30_000_000)));
        for rig in [&mut one, &mut other] {
            rig.read(31_000_000 + 5000 * i, 8);
        }
        let (a, b) = (one.read(32_000_000 - 5000 * i, 8), other.read(32_000_000 - 5000 * i, 8));
        assert_eq!(a.parts.seek, b.parts.seek, "command {}", 3 * i + 2);
    }
}

#[test]
fn seeks_late_by_two_milliseconds_are_as_many_as_the_truth_says() {
    let truth = Truth { late_share: 0.05, late_by: Span(2_000_000), ..Truth::default() };
    let (mut rig, mut quiet) = (Rig::new("st318437lw", truth, ALL_ON, 3), Rig::quiet("st318437lw"));
    let mut dice = Dice(7);
    let mut late = 0;
    for _ in 0..20_000 {
        let start = dice.below(35_000_000);
        let (got, expected) = (rig.read(start, 8).parts.seek, quiet.read(start, 8).parts.seek);
        assert!(got == expected || got == expected + Span(2_000_000));
        late += u32::from(got > expected);
    }
    assert!((850..1150).contains(&late), "{late} of 20000");
}

#[test]
fn a_spindle_off_nominal_turns_at_its_own_rate() {
    let truth = Truth { rpm_offset: 0.005, ..Truth::default() };
    let mut rig = Rig::new("st318437lw", truth, crate::rig::Features { read_cache: false, write_buffer: false }, 1);
    let nominal = rig.revolution().0 as f64;
    rig.read(8, 8);
    let began = rig.now;
    for _ in 0..1000 {
        rig.read(8, 8);
    }
    let revolution = rig.now.since(began).0 as f64 / 1000.0;
    assert!((nominal / revolution - 1.005).abs() < 1e-5, "{revolution} ns, nominal {nominal}");
}
