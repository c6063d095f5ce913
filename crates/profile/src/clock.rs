//! The platter as a clock: what its phase is at any time, as far as it has been followed.

use crate::estimate::{NS_PER_MS, NS_PER_S, fraction, signed_fraction};
use block::Time;

/// What an anchor is off by less than so many times its blur is chance, and hardly corrects the line.
const CHANCE: f64 = 4.0;
/// How much of what an anchor is off the phase takes on, and the period: where it is chance, so that a first error is forgotten
/// within some ten anchors; where it is not, the phase all and the period half, since it may have been a jump.
const BY_CHANCE: (f64, f64) = (0.2, 0.02);
const BY_DRIFT: (f64, f64) = (1.0, 0.5);

/// The phase as a function of time: a straight line, corrected at each anchor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PhaseClock {
    /// The period of a revolution, ns.
    pub period: f64,
    /// Standard deviation of one completion about the line, revolutions.
    pub noise: f64,
    /// What an anchor may be off by chance, revolutions.
    pub blur: f64,
    since: Time,
    phase: f64,
    /// Where the line began, and the revolutions up to the last anchor.
    first: Time,
    turns: f64,
    /// The largest correction lately, revolutions a second.
    pub wander: f64,
}

impl PhaseClock {
    /// A clock of this period (ns) and noise (revolutions), phase zero at `since`.
    #[must_use]
    pub fn new(period: f64, noise: f64, since: Time) -> PhaseClock {
        PhaseClock { period, noise, blur: noise, since, phase: 0.0, first: since, turns: 0.0, wander: 0.0 }
    }

    /// The phase at a time no earlier than the last anchor, in revolutions.
    #[must_use]
    pub fn phase(&self, now: Time) -> f64 {
        let turned = now.since(self.since).0 as f64 / self.period;
        fraction(self.phase + fraction(turned))
    }

    /// The period of a revolution, in ms.
    #[must_use]
    pub fn period_ms(&self) -> f64 {
        self.period / NS_PER_MS
    }

    /// The mean revolutions a minute since the beginning.
    #[must_use]
    pub fn mean_rpm(&self) -> f64 {
        // Revolutions a minute are 60 times those a second.
        60.0 * NS_PER_S / self.mean_period()
    }

    /// What is at `phase` at `now` was found to be `off` revolutions further.
    pub fn anchor(&mut self, now: Time, off: f64) {
        let off = signed_fraction(off);
        let passed = now.since(self.since).0 as f64;
        let chance = off.abs() <= CHANCE * self.blur;
        let (gain, follow) = if chance { BY_CHANCE } else { BY_DRIFT };
        self.phase = fraction(self.phase(now) + gain * off);
        self.since = now;
        let revolutions = passed / self.period;
        self.turns += revolutions + gain * off;
        if revolutions > 1.0 {
            self.period /= 1.0 + follow * off / revolutions;
        }
        if revolutions > 1.0 && !chance {
            self.wander = off.abs() / (passed / NS_PER_S);
        } else {
            self.wander *= 0.5;
        }
    }

    /// What the mean period may be off by, as a share of it: what an anchor may be off at either end.
    #[must_use]
    pub fn within(&self) -> f64 {
        let turns = self.since.since(self.first).0 as f64 / self.period;
        2.0 * self.blur.max(1.0 / self.period) / turns.max(1.0)
    }

    /// The mean period since the beginning, ns.
    #[must_use]
    pub fn mean_period(&self) -> f64 {
        if self.turns > 0.0 { self.since.since(self.first).0 as f64 / self.turns } else { self.period }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_pull_a_clock_onto_a_platter_that_turns_faster() {
        let real = |time: Time| fraction(time.0 as f64 / 5_999_000.0);
        let mut clock = PhaseClock::new(6_000_000.0, 1e-6, Time(0));
        for step in 1..200u64 {
            let now = Time(step * 30_000_000);
            let off = real(now) - clock.phase(now);
            clock.anchor(now, off);
        }
        assert!((clock.period - 5_999_000.0).abs() < 1.0, "{}", clock.period);
        assert!((clock.mean_period() - 5_999_000.0).abs() < 50.0, "{}", clock.mean_period());
    }
}
