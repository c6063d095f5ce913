//! What serving requests in short commands came to.

use crate::predict::Grasp;
use block::{Span, Time};

/// Classes of prediction errors: 1/64 ms each, from -8 ms to 24 ms.
const CLASSES: usize = 2048;
const CLASS_NS: i64 = 1_000_000 / 64;
const LEAST_NS: i64 = -8_000_000;

/// By how much commands came back later than was believed.
#[derive(Clone, Debug)]
pub struct Errors {
    classes: Box<[u32]>,
    count: u64,
    sum_ns: i64,
}

impl Default for Errors {
    fn default() -> Errors {
        Errors { classes: vec![0; CLASSES].into(), count: 0, sum_ns: 0 }
    }
}

impl Errors {
    /// One came back at `happened` and had been expected at `expected`.
    pub(crate) fn add(&mut self, expected: Time, happened: Time) {
        let error = happened.0.wrapping_sub(expected.0) as i64;
        let class = ((error - LEAST_NS).div_euclid(CLASS_NS)).clamp(0, CLASSES as i64 - 1);
        self.classes[class as usize] += 1;
        self.count += 1;
        self.sum_ns += error;
    }

    /// How many errors were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their mean in ms.
    #[must_use]
    pub fn mean_ms(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum_ns as f64 / self.count as f64 / 1e6 }
    }

    /// The error in ms that a share of them does not exceed, to 1/64 ms; those beyond -8 and 24 ms count as these.
    #[must_use]
    pub fn quantile_ms(&self, share: f64) -> f64 {
        let mut left = (share * self.count as f64).ceil() as u64;
        for (i, count) in self.classes.iter().enumerate() {
            if u64::from(*count) >= left && left > 0 {
                return (LEAST_NS + (i as i64) * CLASS_NS + CLASS_NS / 2) as f64 / 1e6;
            }
            left = left.saturating_sub(u64::from(*count));
        }
        0.0
    }

    fn merge(&mut self, other: &Errors) {
        for (class, other) in self.classes.iter_mut().zip(&other.classes) {
            *class += other;
        }
        self.count += other.count;
        self.sum_ns += other.sum_ns;
    }
}

/// Counts of a run, from the time on that `Core::count_from` gave.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Time with a request chosen whose seek was not yet due, and no command in flight.
    pub slack: Span,
    /// Requests interrupted after a command of theirs.
    pub preemptions: u64,
    /// Of these, by one that interrupted one that had interrupted another.
    pub cascades: u64,
    /// Seeks put off until just in time.
    pub jit_seeks: u64,
    /// Of these, those that came too late and cost a revolution.
    pub late: u64,
    /// How often so many were late that requests went at once for a while.
    pub given_up: u64,
    /// Of these, those that the drive answered from its cache, so that the seek had no need to be timed.
    pub cached: u64,
    /// Parts of split seeks, the last of each not counted.
    pub sub_seeks: u64,
    /// Blocks read ahead in slack.
    pub prefetched: u64,
    /// Of these, used by a later request.
    pub prefetched_used: u64,
    /// By how much the first command after a just-in-time seek came back later than was believed.
    pub errors: Errors,
}

/// How a core fares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pulse {
    /// How many requests wait.
    pub waiting: u32,
    /// As in the tally.
    pub preemptions: u64,
    /// As in the tally.
    pub jit_seeks: u64,
    /// As in the tally.
    pub late: u64,
    /// Whether so many were late that at present none is put off.
    pub gave_up: bool,
    /// By how much the host is mostly late, and commands are longer therefore; zero where that does no harm.
    pub host_late: Span,
    /// What was learned of the device, where it is learned in use.
    pub grasp: Option<Grasp>,
}

impl Tally {
    /// Adds those of another replication.
    pub fn merge(&mut self, other: &Tally) {
        self.slack += other.slack;
        self.preemptions += other.preemptions;
        self.cascades += other.cascades;
        self.jit_seeks += other.jit_seeks;
        self.late += other.late;
        self.given_up += other.given_up;
        self.cached += other.cached;
        self.sub_seeks += other.sub_seeks;
        self.prefetched += other.prefetched;
        self.prefetched_used += other.prefetched_used;
        self.errors.merge(&other.errors);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_told_by_quantile() {
        let mut errors = Errors::default();
        assert_eq!(errors.quantile_ms(0.5), 0.0);
        for ms in 0..100u64 {
            errors.add(Time(1_000_000_000), Time(1_000_000_000 + ms * 100_000));
        }
        errors.add(Time(5_000_000), Time(0));
        assert!((errors.quantile_ms(0.5) - 4.9).abs() < 0.1, "{}", errors.quantile_ms(0.5));
        assert!((errors.quantile_ms(0.001) + 5.0).abs() < 0.02);
        assert!((errors.mean_ms() - (495.0 - 5.0) / 101.0).abs() < 1e-9);
    }
}
