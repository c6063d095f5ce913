//! Distributions of times: an HDR histogram, an exact mean and maximum, and the means of batches for an
//! interval.
//!
//! Adding a time is on the hot path, four times a request: it counts one number up. Everything else is worked out when it
//! is asked for.

use crate::results::{Bucket, Distribution};
use block::{NS_PER_MS, Span};
use hdrhistogram::Histogram;

/// The percentiles that results show.
pub(crate) const P1: f64 = 0.01;
pub(crate) const P95: f64 = 0.95;
pub(crate) const P99: f64 = 0.99;
pub(crate) const P99_9: f64 = 0.999;

/// Batches a single run is cut into at most; when they are full, neighbours join.
const BATCHES: usize = 40;

/// The classes of an HDR histogram from a microsecond to eleven days, to three significant digits: below 2⁹ ns times are not
/// told apart; then come 2¹¹ classes of equal width, and from there on 2¹⁰ for each doubling.
const LEAST: u64 = 1_000;
const MOST: u64 = 1_000_000_000_000_000;
const DIGITS: u8 = 3;
const UNIT_SHIFT: u32 = 9;
const HALF_SHIFT: u32 = 10;
/// All times below this are of the first classes.
const FIRST: u64 = 1 << (UNIT_SHIFT + HALF_SHIFT + 1);
const CLASSES: usize = 32 << HALF_SHIFT;

/// The class of a time.
#[inline]
pub(crate) fn class_of(ns: u64) -> usize {
    let doublings = (FIRST - 1).leading_zeros() - (ns | (FIRST - 1)).leading_zeros();
    let class = (u64::from(doublings) << HALF_SHIFT) + (ns >> (doublings + UNIT_SHIFT));
    (class as usize).min(CLASSES - 1)
}

/// The least time of a class.
fn least_of(class: usize) -> u64 {
    let doublings = (class >> HALF_SHIFT).saturating_sub(1) as u32;
    (class as u64 - (u64::from(doublings) << HALF_SHIFT)) << (doublings + UNIT_SHIFT)
}

/// The largest time of a class.
pub(crate) fn most_of(class: usize) -> u64 {
    least_of(class + 1) - 1
}

/// Buckets of the histograms in results for each doubling of the time, as a power of two.
const BUCKETS_SHIFT: u32 = 6;

/// Where the bucket of a time ends: a 64th of a doubling, and no less than a class.
fn bound_of(ns: u64) -> u64 {
    let width = UNIT_SHIFT.max((ns | 1).ilog2().saturating_sub(BUCKETS_SHIFT));
    ((ns >> width) + 1) << width
}

/// A distribution of times. Merged across replications, never averaged.
#[derive(Clone, Debug)]
pub struct Tally {
    /// How many times are of each class; those of nothing, which are many, apart.
    classes: Box<[u64; CLASSES]>,
    zeros: u64,
    max: u64,
    /// Sums of finished batches of `batch` samples each, in order.
    batches: Vec<u128>,
    batch: u64,
    /// The batch being filled.
    filling: (u128, u64),
    /// Sum and count of what other replications added.
    others: (u128, u64),
    /// Sum and count of each replication merged in.
    replications: Vec<(u128, u64)>,
}

impl Default for Tally {
    fn default() -> Tally {
        Tally {
            classes: vec![0; CLASSES].try_into().expect("it is as long"),
            zeros: 0,
            max: 0,
            batches: Vec::with_capacity(BATCHES),
            batch: 32,
            filling: (0, 0),
            others: (0, 0),
            replications: Vec::new(),
        }
    }
}

impl Tally {
    /// Counts one duration, in its class and in its batch.
    #[inline]
    pub fn add(&mut self, span: Span) {
        if span == Span::ZERO {
            self.zeros += 1;
        } else {
            self.classes[class_of(span.0)] += 1;
        }
        self.max = self.max.max(span.0);
        self.filling.0 += u128::from(span.0);
        self.filling.1 += 1;
        if self.filling.1 == self.batch {
            self.close_batch();
        }
    }

    /// All times but those of nothing.
    fn histogram(&self) -> Histogram<u64> {
        let mut histogram = Histogram::new_with_bounds(LEAST, MOST, DIGITS).expect("the bounds are in order");
        for (class, count) in self.classes.iter().enumerate().filter(|(_, count)| **count > 0) {
            histogram.saturating_record_n(least_of(class), *count);
        }
        histogram
    }

    /// The sum of all times, ns.
    fn sum(&self) -> u128 {
        self.batches.iter().sum::<u128>() + self.filling.0 + self.others.0
    }

    #[cold]
    fn close_batch(&mut self) {
        self.batches.push(self.filling.0);
        self.filling = (0, 0);
        if self.batches.len() == BATCHES {
            for i in 0..BATCHES / 2 {
                self.batches[i] = self.batches[2 * i] + self.batches[2 * i + 1];
            }
            self.batches.truncate(BATCHES / 2);
            self.batch *= 2;
        }
    }

    /// How many times were added.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.batches.len() as u64 * self.batch + self.filling.1 + self.others.1
    }

    /// Their mean in ns; zero if there are none.
    #[must_use]
    pub fn mean_ns(&self) -> f64 {
        if self.count() == 0 { 0.0 } else { self.sum() as f64 / self.count() as f64 }
    }

    /// Adds another replication's times.
    pub fn merge(&mut self, other: &Tally) {
        if self.replications.is_empty() && self.count() > 0 {
            self.replications.push((self.sum(), self.count()));
        }
        let (sum, count) = (other.sum(), other.count());
        if count > 0 {
            self.replications.push((sum, count));
        }
        self.zeros += other.zeros;
        self.classes.iter_mut().zip(&*other.classes).for_each(|(class, other)| *class += other);
        self.others = (self.others.0 + sum, self.others.1 + count);
        self.max = self.max.max(other.max);
    }

    /// The value at a quantile, in ms.
    #[must_use]
    pub fn quantile_ms(&self, quantile: f64) -> f64 {
        let above = quantile * self.count() as f64 - self.zeros as f64;
        if above <= 0.0 {
            return 0.0;
        }
        let histogram = self.histogram();
        let quantile = above / histogram.len().max(1) as f64;
        (histogram.value_at_quantile(quantile).min(self.max)) as f64 / NS_PER_MS
    }

    /// How many times lie up to each of ascending bounds in ms and above the one before: bounds are 0.1 ms apart up to
    /// 20 ms, then 1 ms up to 200 ms, and so on; those with none are left out.
    #[must_use]
    pub fn histogram_ms(&self) -> Vec<(f64, u64)> {
        let mut bars: Vec<(u64, u64)> = Vec::new();
        if self.zeros > 0 {
            bars.push((0, self.zeros));
        }
        for bar in self.histogram().iter_recorded() {
            let value = bar.value_iterated_to();
            let mut width = 100_000u64;
            while value > 200 * width {
                width *= 10;
            }
            let bound = value.div_ceil(width) * width;
            match bars.last_mut() {
                Some((last, count)) if *last == bound => *count += bar.count_since_last_iteration(),
                _ => bars.push((bound, bar.count_since_last_iteration())),
            }
        }
        bars.into_iter().map(|(bound, count)| (bound as f64 / NS_PER_MS, count)).collect()
    }

    /// How many times are of each bucket, as [`Bucket`] has them; those with none are left out.
    #[must_use]
    pub fn buckets(&self) -> Vec<Bucket> {
        let mut buckets: Vec<Bucket> = Vec::new();
        if self.zeros > 0 {
            buckets.push(Bucket(0.0, self.zeros));
        }
        for (class, count) in self.classes.iter().enumerate().filter(|(_, count)| **count > 0) {
            let below = bound_of(least_of(class)) as f64 / NS_PER_MS;
            match buckets.last_mut() {
                Some(Bucket(last, sum)) if *last == below => *sum += count,
                _ => buckets.push(Bucket(below, *count)),
            }
        }
        buckets
    }

    /// The largest, in ms.
    #[must_use]
    pub fn max_ms(&self) -> f64 {
        self.max as f64 / NS_PER_MS
    }

    /// The distribution in ms.
    #[must_use]
    pub fn distribution(&self) -> Distribution {
        Distribution {
            mean: self.mean_ns() / NS_PER_MS,
            ci95: self.ci95_ns().map(|ns| ns / NS_PER_MS),
            p50: self.quantile_ms(0.5),
            p95: self.quantile_ms(P95),
            p99: self.quantile_ms(P99),
            p999: self.quantile_ms(P99_9),
            max: self.max_ms(),
        }
    }

    /// Whether it is of several replications.
    pub(crate) fn is_merged(&self) -> bool {
        self.replications.len() > 1
    }

    /// Half width of the 95 % interval of the mean: over replications, else over batches.
    fn ci95_ns(&self) -> Option<f64> {
        if self.is_merged() {
            return ratio_interval(&self.replications);
        }
        let per = self.batch as f64;
        let means: Vec<f64> = self.batches.iter().map(|sum| *sum as f64 / per).collect();
        if means.len() < 10 { None } else { interval(&means) }
    }
}

/// Half width of the 95 % interval of the ratio of two sums over independent pairs, to first order: where a time ends each
/// replication they count unequally many, and few are those that were slow.
fn ratio_interval(pairs: &[(u128, u64)]) -> Option<f64> {
    let (sum, count) = pairs.iter().fold((0, 0), |all, pair| (all.0 + pair.0, all.1 + pair.1));
    let ratio = sum as f64 / count as f64;
    let each = count as f64 / pairs.len() as f64;
    let residuals: Vec<f64> = pairs.iter().map(|(sum, count)| (*sum as f64 - ratio * *count as f64) / each).collect();
    interval(&residuals)
}

/// Half width of the 95 % interval of the mean of independent samples (Student's t); of fewer than two there is none.
#[must_use]
pub fn interval(samples: &[f64]) -> Option<f64> {
    let n = samples.len();
    if n < 2 {
        return None;
    }
    let mean = samples.iter().sum::<f64>() / n as f64;
    let variance = samples.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1) as f64;
    Some(student_t(n - 1) * (variance / n as f64).sqrt())
}

/// The 97.5 % point of Student's t.
fn student_t(freedom: usize) -> f64 {
    const EXACT: [f64; 10] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];
    match EXACT.get(freedom.wrapping_sub(1)) {
        Some(t) => *t,
        // Within 0.1 % beyond ten degrees of freedom.
        None => 1.96 + 2.4 / freedom as f64 + 2.8 / (freedom * freedom) as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_replications_keeps_every_sample_and_gives_an_interval() {
        let tally = |of: &[u64]| {
            let mut tally = Tally::default();
            of.iter().for_each(|ms| tally.add(Span(ms * 1_000_000)));
            tally
        };
        let mut all = tally(&[1, 2, 3]);
        all.merge(&tally(&[2, 3, 4]));
        let got = all.distribution();
        assert_eq!(all.count(), 6);
        assert!((got.mean - 2.5).abs() < 1e-9 && got.max == 4.0);
        // Means 2 and 3: standard error 0.5, t = 12.706.
        assert!((got.ci95.unwrap() - 6.353).abs() < 1e-3);
    }

    #[test]
    fn replications_count_by_how_many_they_hold() {
        let mut all = Tally::default();
        (0..3).for_each(|_| all.add(Span(1_000_000)));
        for ms in [2, 6] {
            let mut one = Tally::default();
            one.add(Span(ms * 1_000_000));
            all.merge(&one);
        }
        // 11 ms in 5; sums less the mean of as many are -3.6, -0.2 and 3.8, over 5/3 each.
        let deviation: f64 = (3.6f64 * 3.6 + 0.2 * 0.2 + 3.8 * 3.8) / (25.0 / 9.0) / 2.0;
        let width = 4.303 * (deviation / 3.0).sqrt();
        assert!((all.distribution().ci95.unwrap() - width).abs() < 1e-9, "{:?} of {width}", all.distribution().ci95);
    }

    #[test]
    fn batches_of_a_single_run_give_the_interval_of_their_means() {
        let mut tally = Tally::default();
        for i in 0..320 {
            assert_eq!(tally.distribution().ci95, None, "fewer than ten batches say nothing");
            tally.add(Span(if i / 32 % 2 == 0 { 1_000_000 } else { 3_000_000 }));
        }
        // Ten means, half 1 and half 3: their variance is 10/9, and t 2.262.
        let width = 2.262 * (10.0f64 / 9.0 / 10.0).sqrt();
        assert!((tally.distribution().ci95.unwrap() - width).abs() < 1e-9);
        // Forty batches of 32 are twenty of 64, which are alike.
        (320..1280).for_each(|i| tally.add(Span(if i / 32 % 2 == 0 { 1_000_000 } else { 3_000_000 })));
        assert_eq!((tally.batches.len(), tally.batch, tally.distribution().ci95), (20, 64, Some(0.0)));
    }

    #[test]
    fn quantiles_are_those_of_all_times_zeros_among_them() {
        for (zeros, others) in [(0, 50), (1, 99), (50, 50), (90, 10), (100, 0), (97, 3)] {
            let mut tally = Tally::default();
            let times: Vec<u64> = (0..zeros).map(|_| 0).chain((1..=others).map(|n| n * 1_000_000)).collect();
            times.iter().rev().for_each(|time| tally.add(Span(*time)));
            for share in [0.01, 0.25, 0.5, 0.9, 0.95, 0.99, 1.0] {
                let rank = (share * times.len() as f64).ceil().max(1.0) as usize;
                let (found, exact) = (tally.quantile_ms(share), times[rank - 1] as f64 / NS_PER_MS);
                assert!(
                    (found - exact).abs() <= exact / 1000.0,
                    "{share} of {zeros} zeros and {others}: {found}, {exact}"
                );
            }
        }
    }

    #[test]
    fn classes_are_those_of_the_histogram() {
        let histogram = Histogram::<u64>::new_with_bounds(LEAST, MOST, DIGITS).unwrap();
        assert_eq!(histogram.distinct_values(), CLASSES);
        let powers = (0..50).map(|power| 1u64 << power);
        for ns in powers.flat_map(|ns| [ns - 1, ns, ns + 1, ns + ns / 3, ns + ns / 1023]).filter(|ns| *ns < 1 << 50) {
            let class = class_of(ns);
            assert_eq!(least_of(class), histogram.lowest_equivalent(ns), "{ns}");
            assert_eq!(class_of(histogram.highest_equivalent(ns)), class, "{ns}");
        }
        assert_eq!((class_of(u64::MAX), class_of(MOST)), (CLASSES - 1, class_of(MOST)));
    }

    #[test]
    fn buckets_are_the_same_in_every_run_and_hold_what_is_below_their_bound() {
        let times = (0..50).map(|power| 1u64 << power).flat_map(|ns| [ns - 1, ns, ns + 1, ns + ns / 3, ns + ns / 1023]);
        let times: Vec<u64> = times.filter(|ns| *ns < MOST).collect();
        for ns in &times {
            let bound = bound_of(least_of(class_of(*ns)));
            let width = (bound >> (BUCKETS_SHIFT + 1)).max(1 << UNIT_SHIFT);
            assert!(*ns < bound && bound - ns <= 2 * width, "{ns} below {bound}");
            assert!(bound == bound_of(bound - 1) && bound < bound_of(bound), "{bound}");
        }
        let tally = |of: &[u64]| {
            let mut tally = Tally::default();
            of.iter().for_each(|ns| tally.add(Span(*ns)));
            tally
        };
        let (some, others) = times.split_at(times.len() / 3);
        let mut apart = tally(some).buckets();
        for Bucket(bound, count) in tally(others).buckets() {
            match apart.iter_mut().find(|bucket| bucket.0 == bound) {
                Some(bucket) => bucket.1 += count,
                None => apart.push(Bucket(bound, count)),
            }
        }
        apart.sort_by(|one, other| one.0.total_cmp(&other.0));
        let whole = tally(&times).buckets();
        assert_eq!(apart, whole, "histograms of runs add up to that of all");
        assert_eq!(whole.iter().map(|bucket| bucket.1).sum::<u64>(), times.len() as u64);
        assert_eq!(whole[0], Bucket(0.0, 1), "a time of nothing is below no other bound");
    }

    #[test]
    fn a_long_run_has_between_twenty_and_forty_batches() {
        let mut tally = Tally::default();
        for i in 0..1_000_000u64 {
            tally.add(Span(1_000 + i % 7));
        }
        assert!((BATCHES / 2..BATCHES).contains(&tally.batches.len()));
        assert!(tally.distribution().ci95.is_some());
    }

    #[test]
    fn student_t_meets_the_table() {
        for (freedom, t) in [(11, 2.201), (15, 2.131), (19, 2.093), (30, 2.042), (60, 2.000)] {
            assert!((student_t(freedom) - t).abs() < 0.004, "{freedom}: {}", student_t(freedom));
        }
    }
}
