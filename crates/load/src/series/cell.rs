//! What is counted of one interval.

use crate::requests::PARTS;
use crate::tally::{class_of, most_of};
use block::Span;
use std::collections::BTreeMap;

/// The counts of an interval, of a class or of all.
#[derive(Clone, Debug, Default)]
pub(super) struct SeriesCell {
    pub(super) requests: u64,
    pub(super) counted: u64,
    pub(super) lost: u64,
    pub(super) bytes: u64,
    pub(super) free_bytes: u64,
    pub(super) worth: f64,
    /// Time of all requests in the system together, ns.
    pub(super) outstanding: u64,
    /// By how many more are in the system for the whole of this interval than of the one before.
    pub(super) rise: i64,
    /// Time in which a device had a command, ns.
    pub(super) busy: u64,
    pub(super) parts: [Span; PARTS],
    pub(super) times: ResponseTimes,
}

impl SeriesCell {
    /// Adds the interval that follows.
    pub(super) fn join(&mut self, next: SeriesCell) {
        self.requests += next.requests;
        self.counted += next.counted;
        self.lost += next.lost;
        self.bytes += next.bytes;
        self.free_bytes += next.free_bytes;
        self.worth += next.worth;
        self.outstanding += next.outstanding;
        self.busy += next.busy;
        self.parts.iter_mut().zip(next.parts).for_each(|(part, other)| *part += other);
        self.times.join(next.times);
    }
}

/// Response times, by the classes of [`crate::Tally`]; of an interval there are few.
#[derive(Clone, Debug, Default)]
pub(super) struct ResponseTimes {
    classes: BTreeMap<u32, u64>,
    count: u64,
    sum: u128,
    max: Span,
}

impl ResponseTimes {
    pub(super) fn add(&mut self, time: Span) {
        *self.classes.entry(class_of(time.0) as u32).or_default() += 1;
        self.count += 1;
        self.sum += u128::from(time.0);
        self.max = self.max.max(time);
    }

    fn join(&mut self, other: ResponseTimes) {
        other.classes.into_iter().for_each(|(class, count)| *self.classes.entry(class).or_default() += count);
        self.count += other.count;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    /// Their mean, to the nanosecond; nothing where there are none.
    pub(super) fn mean(&self) -> Option<Span> {
        self.sum.checked_div(u128::from(self.count)).map(|mean| Span(mean as u64))
    }

    /// What so large a share of them does not exceed, to three digits.
    pub(super) fn quantile(&self, share: f64) -> Option<Span> {
        let rank = (share * self.count as f64).ceil().max(1.0) as u64;
        let mut below = 0;
        let class = self.classes.iter().find(|(_, count)| {
            below += *count;
            below >= rank
        });
        class.map(|(class, _)| Span(most_of(*class as usize)).min(self.max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_tell_of_themselves_and_joined_of_both() {
        let times = |of: std::ops::RangeInclusive<u64>| {
            let mut times = ResponseTimes::default();
            of.for_each(|ms| times.add(Span(ms * 1_000_000)));
            times
        };
        assert_eq!((ResponseTimes::default().mean(), ResponseTimes::default().quantile(0.5)), (None, None));
        let mut all = times(1..=40);
        all.join(times(41..=100));
        let near = |share: f64, ms: f64| {
            let found = all.quantile(share).expect("some").as_ms();
            assert!((found - ms).abs() < ms / 1000.0, "{share}: {found}, not {ms}");
        };
        near(0.5, 50.0);
        near(0.99, 99.0);
        assert_eq!((all.quantile(1.0), all.mean()), (Some(Span(100_000_000)), Some(Span(50_500_000))));
    }
}
