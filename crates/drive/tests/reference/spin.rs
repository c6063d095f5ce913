//! Rotation by definition: the phase is `origin + now × rate` in 2⁻⁶⁴ revolutions, counted here without wrapping, so that an angle
//! is a number and a time is its quotient. Nothing is summed.

use disk::Truth;

/// A revolution.
pub const TURN: u128 = 1 << 64;

/// A sector is still caught whose start passed less than so much ago (2⁻¹⁸ of a revolution).
const CAUGHT: u128 = 1 << (64 - 18);

/// When something is: at a time, or at the very angle the head has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Nanoseconds.
    Time(u64),
    /// Turns since the beginning, 2⁻⁶⁴ revolutions.
    Angle(u128),
}

#[derive(Clone, Copy, Debug)]
pub struct Spin {
    origin: u128,
    rate: u128,
    /// Revolutions by which it comes ahead of that at most, halved, and how many radians of that pass in a nanosecond.
    wander: Option<(f64, f64)>,
}

/// SplitMix64 of a seed: by which a drive's seed gives its phase.
pub fn split_mix(seed: u64) -> u64 {
    let mut x = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

impl Spin {
    /// A spindle that turns so much faster than it should, and by a share of the wander more or less than that.
    pub fn new(rpm: f64, truth: &Truth, seed: u64) -> Spin {
        let period = 60e9 / rpm / (1.0 + truth.rpm_offset);
        let each = std::f64::consts::TAU / truth.wander_period.0.max(1) as f64;
        let wander = (truth.rpm_wander > 0.0).then(|| (truth.rpm_wander / each / period, each));
        Spin { origin: u128::from(split_mix(seed)), rate: (TURN as f64 / period) as u128, wander }
    }

    /// How far it has turned: the rate's wander is a sine, so that the angle's is one less a cosine.
    fn turned(&self, time: u64) -> u128 {
        let steady = self.origin + u128::from(time) * self.rate;
        match self.wander {
            None => steady,
            Some((most, each)) => steady + (most * (1.0 - libm::cos(each * time as f64)) * TURN as f64) as u128,
        }
    }

    /// When the head is there, rounded up to a nanosecond.
    pub fn time(&self, moment: Moment) -> u64 {
        let turned = match moment {
            Moment::Time(time) => return time,
            Moment::Angle(turned) => turned,
        };
        let latest = turned.saturating_sub(self.origin).div_ceil(self.rate) as u64;
        let Some((most, _)) = self.wander else { return latest };
        let mut earliest = latest.saturating_sub((2.0 * most * TURN as f64 / self.rate as f64) as u64 + 2);
        let mut latest = latest;
        while earliest < latest {
            let middle = earliest.midpoint(latest);
            if self.turned(middle) < turned { earliest = middle + 1 } else { latest = middle }
        }
        latest
    }

    /// When `angle` next comes under the head.
    pub fn catch(&self, from: Moment, angle: u64) -> u128 {
        let (turned, window) = match from {
            Moment::Time(time) => (self.turned(time), CAUGHT),
            Moment::Angle(turned) => (turned, 0),
        };
        let ahead = u128::from(angle.wrapping_sub(turned as u64));
        if TURN - ahead <= window { turned + ahead - TURN } else { turned + ahead }
    }

    /// Whether a head that comes at a time comes within roundings of when it can just catch an angle.
    pub fn is_just_caught(&self, from: Moment, angle: u64) -> bool {
        let Moment::Time(time) = from else { return false };
        let turned = self.turned(time);
        let passed = TURN - u128::from(angle.wrapping_sub(turned as u64));
        passed.abs_diff(CAUGHT) <= 2 * u128::from(crate::compare::ROUNDING) * self.rate
    }
}
