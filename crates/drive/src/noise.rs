//! What makes a real drive differ from its sheet: its phase, its rpm, and the spread of its seeks.

use block::{Span, Time};
use disk::{Drift, Rotation, Spin, Truth};
use std::f64::consts::TAU;

/// A number that depends on its arguments alone (SplitMix64 over both).
pub(crate) fn hash(seed: u64, ordinal: u64) -> u64 {
    let mut x = seed.wrapping_add(ordinal.wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// A hash as a fraction in [0, 1).
pub(crate) fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / 9_007_199_254_740_992.0
}

/// A fraction in [0, 1) that depends on its arguments alone.
#[must_use]
pub fn fraction(seed: u64, ordinal: u64) -> f64 {
    unit(hash(seed, ordinal))
}

/// A normal deviate from a hash (Box-Muller).
pub(crate) fn normal(bits: u64) -> f64 {
    let (u, v) = (unit(bits), fraction(bits, 2));
    libm::sqrt(-2.0 * libm::log(1.0 - u)) * libm::cos(TAU * v)
}

/// By how much one seek is off: whichever way it goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeekSpread {
    off_ns: f64,
    late: Span,
    /// No more than `off_ns` and `late` together.
    least_ns: i64,
}

/// The spread of seek times.
#[derive(Clone, Debug)]
pub(crate) struct SeekNoise {
    seed: u64,
    sd_ns: f64,
    late_share: f64,
    late_by: Span,
    drift: Option<Drift>,
    /// Whether seeks take what they should.
    none: bool,
}

impl SeekNoise {
    pub(crate) fn new(truth: &Truth, seed: u64) -> SeekNoise {
        let seed = hash(seed, 1);
        SeekNoise {
            seed,
            sd_ns: truth.seek_noise.0 as f64,
            late_share: truth.late_share,
            late_by: truth.late_by,
            drift: truth.drift,
            none: truth.seek_noise == Span::ZERO && truth.late_share == 0.0 && truth.drift.is_none(),
        }
    }

    /// What a seek that begins now really takes, if it is off by so much; at least half of what it should.
    #[inline]
    pub(crate) fn apply(&self, seek: Span, now: Time, spread: impl FnOnce() -> SeekSpread) -> Span {
        if self.none { seek } else { self.vary(seek, now, spread) }
    }

    /// By how much the seek of the command with this ordinal is off.
    pub(crate) fn spread(&self, ordinal: u64) -> SeekSpread {
        if self.sd_ns == 0.0 && self.late_share == 0.0 {
            return SeekSpread { off_ns: 0.0, late: Span::ZERO, least_ns: 0 };
        }
        let bits = hash(self.seed, ordinal);
        let late = if fraction(bits, 3) < self.late_share { self.late_by } else { Span::ZERO };
        let off_ns = normal(bits) * self.sd_ns;
        SeekSpread { off_ns, late, least_ns: libm::floor(off_ns) as i64 + late.0 as i64 }
    }

    /// No more than `apply` gives, told in whole numbers.
    #[inline]
    pub(crate) fn least(&self, seek: Span, spread: &SeekSpread) -> Span {
        if self.none {
            return seek;
        }
        if self.drift.is_some() || seek == Span::ZERO {
            return Span::ZERO;
        }
        Span((seek.0 as i64 + spread.least_ns).max(0) as u64)
    }

    #[inline]
    fn vary(&self, seek: Span, now: Time, spread: impl FnOnce() -> SeekSpread) -> Span {
        let drifted = self.drift.filter(|drift| now >= drift.at);
        let seek = drifted.map_or(seek, |drift| Span((seek.0 as f64 * (1.0 + drift.seek)) as u64));
        if seek == Span::ZERO || (self.sd_ns == 0.0 && self.late_share == 0.0) {
            return seek;
        }
        let SeekSpread { off_ns, late, .. } = spread();
        // Signed numbers are converted by one instruction each way; no seek is so long that it mattered.
        let should = seek.0 as i64 as f64;
        Span((should + off_ns).max(should / 2.0) as i64 as u64) + late
    }
}

/// The spindle as it really turns: off nominal, wandering slowly, and at a phase nobody was told.
#[derive(Clone, Debug)]
pub(crate) struct Spindle {
    rotation: Rotation,
    wander: Option<Wander>,
}

/// A sinusoidal wander of the rate; its phase is known in closed form.
#[derive(Clone, Debug)]
struct Wander {
    /// Largest phase error in revolutions: share · period ÷ (2π · revolution).
    revolutions: f64,
    /// Radians of the wander a nanosecond.
    radians_per_ns: f64,
}

impl Spindle {
    pub(crate) fn new(nominal: Rotation, truth: &Truth, seed: u64) -> Spindle {
        let period = nominal.period_ns() / (1.0 + truth.rpm_offset);
        let wander = (truth.rpm_wander != 0.0 && truth.wander_period.0 > 0).then(|| Wander {
            revolutions: truth.rpm_wander * truth.wander_period.0 as f64 / TAU / period,
            radians_per_ns: TAU / truth.wander_period.0 as f64,
        });
        Spindle { rotation: Rotation::new(period, hash(seed, 0)), wander }
    }
}

impl Spindle {
    /// Whether it turns at an even pace.
    pub(crate) fn is_even(&self) -> bool {
        self.wander.is_none()
    }

    /// The spindle as it turns at an even pace.
    pub(crate) fn rotation(&self) -> &Rotation {
        &self.rotation
    }

    /// By how much the wander has turned it at `now`.
    #[inline(never)]
    fn wander_at(wander: &Wander, now: Time) -> u64 {
        let turns = wander.revolutions * (1.0 - libm::cos(wander.radians_per_ns * now.0 as f64));
        let fraction = turns - libm::floor(turns);
        (fraction * 18_446_744_073_709_551_616.0) as u64
    }

    #[inline(never)]
    fn correct_wander(&self, guess: Time, angle: u64) -> Time {
        let off = angle.wrapping_sub(self.phase(guess)) as i64;
        let correction = self.turning(off.unsigned_abs());
        if off >= 0 { guess + correction } else { Time(guess.0.saturating_sub(correction.0)) }
    }

    #[inline(never)]
    fn reach_wandering(&self, now: Time, angle: u64) -> Time {
        // The phase now is exact; over less than a revolution the wander is corrected by one step.
        let steady = self.rotation.with_origin(0);
        let shifted = steady.with_origin(self.phase(now).wrapping_sub(steady.phase(now)));
        self.correct(shifted.reach(now, angle), angle)
    }
}

impl Spin for Spindle {
    #[inline]
    fn phase(&self, now: Time) -> u64 {
        let steady = self.rotation.phase(now);
        match &self.wander {
            None => steady,
            Some(wander) => steady.wrapping_add(Spindle::wander_at(wander, now)),
        }
    }

    #[inline]
    fn turning(&self, angle: u64) -> Span {
        self.rotation.turning(angle)
    }

    #[inline]
    fn correct(&self, guess: Time, angle: u64) -> Time {
        if self.wander.is_none() { guess } else { self.correct_wander(guess, angle) }
    }

    #[inline]
    fn reach(&self, now: Time, angle: u64) -> Time {
        if self.wander.is_none() { self.rotation.reach(now, angle) } else { self.reach_wandering(now, angle) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_depends_on_seed_and_ordinal_alone_and_has_the_spread_asked_for() {
        let truth = Truth { seek_noise: Span::from_ms(0.3), ..Truth::default() };
        let (a, b) = (SeekNoise::new(&truth, 7), SeekNoise::new(&truth, 8));
        let seek = Span::from_ms(8.0);
        assert_eq!(a.apply(seek, Time(0), || a.spread(3)), a.apply(seek, Time(9), || a.spread(3)));
        assert_ne!(a.apply(seek, Time(0), || a.spread(3)), b.apply(seek, Time(0), || b.spread(3)));
        let errors: Vec<f64> = (0..10_000).map(|i| a.apply(seek, Time(0), || a.spread(i)).as_ms() - 8.0).collect();
        let mean = errors.iter().sum::<f64>() / 1e4;
        let variance = errors.iter().map(|e| e * e).sum::<f64>() / 1e4;
        assert!(mean.abs() < 0.01 && (variance.sqrt() - 0.3).abs() < 0.01, "mean {mean} variance {variance}");
    }

    #[test]
    fn the_least_of_a_seek_is_no_more_than_it_takes_and_mostly_next_to_it() {
        let (mut exact, mut all) = (0, 0);
        for k in 0..40_000u64 {
            let late_share = f64::from(k % 3 == 0) * 0.3;
            let seek_noise = Span(hash(5, k) % 900_000 * (k % 5).min(1));
            let truth = Truth { seek_noise, late_share, late_by: Span(hash(6, k) % 7_000_000), ..Truth::default() };
            let noise = SeekNoise::new(&truth, k);
            let seek = Span(hash(7, k) % 20_000_000 * u64::from(k % 7 > 0));
            let spread = noise.spread(k);
            let takes = noise.apply(seek, Time(k), || spread);
            let least = noise.least(seek, &spread);
            assert!(least <= takes, "seed {k}: {least:?} of {takes:?}");
            exact += u32::from(least.0 + 1 >= takes.0);
            all += 1;
        }
        assert!(exact * 10 > all * 8, "{exact} of {all}");
        let drift = Some(Drift { at: Time(1000), seek: -0.5 });
        let noise = SeekNoise::new(&Truth { drift, ..Truth::default() }, 7);
        let spread = noise.spread(3);
        let takes = noise.apply(Span(8_000_000), Time(2000), || spread);
        assert!(noise.least(Span(8_000_000), &spread) <= takes, "{takes:?}");
    }

    #[test]
    fn a_drift_makes_seeks_longer_from_its_time_on() {
        let drift = Some(Drift { at: Time(1000), seek: 0.2 });
        let noise = SeekNoise::new(&Truth { drift, ..Truth::default() }, 7);
        let seek = |seek, now| noise.apply(Span(seek), Time(now), || noise.spread(3));
        assert_eq!(
            [seek(5_000_000, 999), seek(5_000_000, 1000), seek(0, 1000)].map(|span| span.0),
            [5_000_000, 6_000_000, 0]
        );
    }

    #[test]
    fn a_wandering_spindle_reaches_the_angle_it_was_asked_for() {
        let truth =
            Truth { rpm_offset: 0.004, rpm_wander: 0.001, wander_period: Span(60_000_000_000), ..Truth::default() };
        let spindle = Spindle::new(Rotation::from_rpm(7200.0), &truth, 42);
        for k in 0..1000u64 {
            let now = Time(k * 777_777_777);
            let angle = hash(1, k);
            let then = spindle.reach(now, angle);
            let off = (spindle.phase(then).wrapping_sub(angle) as i64).unsigned_abs() as f64 / 1.8e19;
            assert!(off < 1e-5, "off by {off} revolutions");
            assert!(then.0 + 100 > now.0 && then.since(now) < Span(8_400_000));
        }
    }
}
