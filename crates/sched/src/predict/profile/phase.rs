//! The phase of the platter, tracked from completions by a phase-locked loop.
//!
//! When a command that used the medium comes back, the end of its last sector has just passed under the head:
//! that is one sample of the phase, whatever the seek took. Samples close to what was expected pull phase and
//! rate; far ones (an answer from the cache, a slow bus) are passed over, until enough of them say that the
//! lock is lost.

use block::{Span, Time};
use disk::{Rotation, Spin};

/// A sample further from the expected phase than `TRUST` times the usual error is not believed, within these
/// bounds: 1/4096 and 1/50 revolution.
const TRUST: u64 = 16;
const NARROWEST: u64 = u64::MAX / 4096;
const WIDEST: u64 = u64::MAX / 50;
/// Errors this small come of rounding: 2⁻²¹ revolution, some 3 ns.
const ROUNDING: u64 = 1 << (64 - 21);
/// So many samples not believed in a row, and the next one sets the phase.
const LOST_AFTER: u32 = 3;
/// The rate is within this share of nominal: 1/64.
const RATE_SHIFT: u32 = 6;

/// What is believed of the phase.
#[derive(Clone, Debug)]
pub struct Phase {
    nominal: Rotation,
    /// Turn per ns, 2⁻⁶⁴ revolutions.
    rate: u64,
    /// The phase at `since`.
    phase: u64,
    since: Time,
    locked: bool,
    astray: u32,
    /// Mean of how far samples were off, 2⁻⁶⁴ revolutions; it grows while they are not believed.
    spread: u64,
}

impl Phase {
    /// Nothing is known but the nominal rotation.
    #[must_use]
    pub fn new(nominal: &Rotation) -> Phase {
        let rate = nominal.rate();
        Phase {
            nominal: *nominal,
            rate,
            phase: 0,
            since: Time::ZERO,
            locked: false,
            astray: LOST_AFTER,
            spread: WIDEST / TRUST,
        }
    }

    /// The angle under the heads at `now`, 2⁻⁶⁴ revolutions, where it is known.
    #[must_use]
    pub fn at(&self, now: Time) -> Option<u64> {
        self.locked.then(|| self.phase(now))
    }

    /// Whether it is known.
    pub(super) fn is_known(&self) -> bool {
        self.locked
    }

    /// One revolution at the rate found, in ns.
    #[must_use]
    pub fn period_ns(&self) -> f64 {
        // Angles wrap at 2^64.
        18_446_744_073_709_551_616.0 / self.rate as f64
    }

    /// At `passed`, the angle `angle` was under the head. Says whether that is believed.
    #[inline]
    pub(super) fn add_passage(&mut self, passed: Time, angle: u64) -> bool {
        let error = angle.wrapping_sub(self.phase(passed)) as i64;
        let elapsed = passed.since(self.since).0;
        let window = self.spread.saturating_mul(TRUST).clamp(NARROWEST, WIDEST);
        if self.locked && error.unsigned_abs() <= window {
            self.astray = 0;
            self.spread = self.spread - self.spread / 8 + error.unsigned_abs() / 8;
            // What rounding to nanoseconds leaves says nothing of the rate.
            if elapsed > 0 && error.unsigned_abs() > ROUNDING {
                let pull = error / 8 / elapsed.min(i64::MAX as u64) as i64;
                let (nominal, most) = (self.nominal.rate(), self.nominal.rate() >> RATE_SHIFT);
                self.rate = self.rate.wrapping_add_signed(pull).clamp(nominal - most, nominal + most);
            }
            self.phase = angle.wrapping_sub((error / 4) as u64);
            self.since = passed;
            return true;
        }
        self.astray += 1;
        self.spread = (self.spread * 2).clamp(NARROWEST / TRUST, WIDEST / TRUST);
        if self.astray > LOST_AFTER {
            (self.phase, self.since, self.locked, self.astray) = (angle, passed, true, 0);
        }
        false
    }
}

impl Spin for Phase {
    fn phase(&self, now: Time) -> u64 {
        self.phase.wrapping_add(now.0.wrapping_sub(self.since.0).wrapping_mul(self.rate))
    }

    fn turning(&self, angle: u64) -> Span {
        self.nominal.turning(angle)
    }
}
