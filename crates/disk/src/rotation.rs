//! Rotation: the phase of the platter as a function of absolute time, never a sum of steps.
//!
//! An angle is a `u64` fraction of a revolution (unit 2⁻⁶⁴), so that adding and wrapping are one operation.
//!
//! **Angles are `u64` fractions of a revolution** and the phase is one multiplication of absolute time: nothing is
//! summed, nothing drifts, and wrapping is free. Where rounding to nanoseconds would miss a sector by some 30 ns, the
//! sector is caught, and what follows is timed from its angle. The profile predictor works in 2⁻²⁸ revolutions, so
//! that a candidate costs a table look-up, an addition and a mask.

use block::{Span, Time};

/// A sector whose start passed less than 2⁻¹⁸ of a revolution (some 30 ns) ago can still be caught: the
/// rounding of times to nanoseconds must never cost a revolution, and a synchronisation mark is longer.
pub(crate) const JUST_PASSED: u64 = 1 << (64 - 18);

/// A spindle: it tells the angle at a time and the time of an angle.
pub trait Spin {
    /// The angle under the heads at `now`, 2⁻⁶⁴ revolutions.
    fn phase(&self, now: Time) -> u64;

    /// The time a turn by `angle` takes, rounded up.
    fn turning(&self, angle: u64) -> Span;

    /// When `angle` really comes under the heads, which at an even pace it would at `guess`.
    fn correct(&self, guess: Time, angle: u64) -> Time {
        let _ = angle;
        guess
    }

    /// When `angle` next comes under the heads. Up to 2⁻¹⁸ of a revolution *before* `now` if it has only
    /// just passed, so that what follows is timed from the angle and errors never accumulate.
    #[inline]
    fn reach(&self, now: Time, angle: u64) -> Time {
        let ahead = angle.wrapping_sub(self.phase(now));
        if ahead > u64::MAX - JUST_PASSED {
            return Time(now.0.saturating_sub(self.turning(ahead.wrapping_neg()).0));
        }
        now + self.turning(ahead)
    }
}

/// A spindle that turns at one speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// Turn per nanosecond, 2⁻⁶⁴ revolutions.
    rate: u64,
    /// Period in 2⁻¹⁶ ns.
    period: u64,
    /// The phase at time zero.
    origin: u64,
}

impl Rotation {
    /// Rotation with a period of `period_ns` (1 µs to 100 s) and phase `origin` at time zero.
    #[must_use]
    pub fn new(period_ns: f64, origin: u64) -> Rotation {
        let period_ns = period_ns.clamp(1e3, 1e11);
        Rotation {
            rate: (18_446_744_073_709_551_616.0 / period_ns) as u64,
            period: (period_ns * 65536.0) as u64,
            origin,
        }
    }

    /// Rotation at `rpm` revolutions a minute, phase zero at time zero.
    #[must_use]
    pub fn from_rpm(rpm: f64) -> Rotation {
        Rotation::new(60e9 / rpm, 0)
    }

    /// The same rotation with another phase at time zero.
    #[must_use]
    pub fn with_origin(self, origin: u64) -> Rotation {
        Rotation { origin, ..self }
    }

    /// The phase at time zero.
    #[must_use]
    pub fn origin(&self) -> u64 {
        self.origin
    }

    /// One revolution, to the nearest nanosecond.
    #[must_use]
    pub fn period(&self) -> Span {
        Span((self.period + (1 << 15)) >> 16)
    }

    /// One revolution in nanoseconds, with its fraction.
    #[must_use]
    pub fn period_ns(&self) -> f64 {
        self.period as f64 / 65536.0
    }

    /// Turn per nanosecond, 2⁻⁶⁴ revolutions.
    #[must_use]
    pub fn rate(&self) -> u64 {
        self.rate
    }

    /// The angle by which it turns in `span`, rounded up, in 2⁻⁶⁴ revolutions; the largest there is where it turns by a whole one
    /// or more: to turn by it takes no less than `span`, and at most a few ns longer.
    #[must_use]
    #[inline]
    pub fn turn_in(&self, span: Span) -> u64 {
        // The rate is rounded down, and so is the period.
        span.0.saturating_add(1).saturating_mul(self.rate + 1)
    }
}

impl Spin for Rotation {
    #[inline]
    fn phase(&self, now: Time) -> u64 {
        self.origin.wrapping_add(now.0.wrapping_mul(self.rate))
    }

    #[inline]
    fn turning(&self, angle: u64) -> Span {
        let product = u128::from(angle) * u128::from(self.period);
        Span(((product + ((1 << 80) - 1)) >> 80) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_angle_is_under_the_heads_when_reached_a_week_later() {
        let rotation = Rotation::from_rpm(10_025.0);
        for start in [0, 1, 5_985_036, 604_800_000_000_000] {
            for angle in [0, 1 << 40, u64::MAX / 3, u64::MAX] {
                let then = rotation.reach(Time(start), angle);
                let off = rotation.phase(then).wrapping_sub(angle) as i64;
                assert!(off.unsigned_abs() < 1 << 45, "off by {off} at {start} for {angle}");
                assert!(then.0 + 100 > start && then.0 - start.min(then.0) <= rotation.period().0 + 1);
            }
        }
    }

    #[test]
    fn a_turn_takes_the_time_it_was_told_for_and_hardly_more() {
        for period_ns in [1e3, 2_999_999.7, 5_985_036.3, 8_333_333.3, 1e9] {
            let rotation = Rotation::new(period_ns, 7);
            for part in 0..1000 {
                let span = Span((period_ns * f64::from(part) / 1001.0) as u64);
                let took = rotation.turning(rotation.turn_in(span));
                assert!(took >= span && took <= span + Span(4), "{span:?} of {period_ns}: {took:?}");
            }
            assert_eq!(rotation.turn_in(Span(period_ns as u64 + 1)), u64::MAX);
        }
    }

    #[test]
    fn a_sector_just_passed_is_timed_from_its_angle() {
        let rotation = Rotation::from_rpm(7200.0);
        let angle = rotation.phase(Time(1_000_000));
        let late = rotation.reach(Time(1_000_010), angle);
        assert!(late.0.abs_diff(1_000_000) <= 1, "{late:?}");
        let missed = rotation.reach(Time(1_000_100), angle);
        assert!(missed.0.abs_diff(1_000_000 + 8_333_333) <= 2, "{missed:?}");
    }
}
