//! The mean response time of a class in slices of a run, for the interval of a single run.
//!
//! What requests of a slice took, by Little's law: the time in which they were outstanding, over how many ended. A slice takes
//! of each request what falls into it; where whole response times are joined to batches, a few long waits of a closed loop
//! make one batch long and those around it short, and the interval several times too wide, or, where the queue is longer
//! than a batch, too narrow.

use crate::tally::interval;
use block::Time;

/// Slices a run is cut into at most; when they are full, neighbours join.
const SLICES: usize = 40;
/// Fewer slices than this give no interval.
const FEWEST: usize = 10;
/// What a first autocorrelation is taken for at least and at most: that of so few slices is off by a fifth by chance. The least is
/// chosen by the table of `sim/tests/coverage`: where it is 0 the intervals of `satf` at depth 200 are too wide, at -0.2 those of a
/// busy open `fcfs` too narrow.
const LEAST_ALIKE: f64 = -0.1;
const MOST_ALIKE: f64 = 0.9;
/// Requests that end in the first slices.
const FIRST: u64 = 32;

/// Slices in each of which equally many requests ended, in order.
#[derive(Clone, Debug)]
pub(crate) struct Slices {
    outstanding: u64,
    /// The sum of when those outstanding arrived, ns.
    arrivals: u128,
    /// What those outstanding had waited when this slice began.
    before: Option<u128>,
    /// What those took that ended in this slice, and their number.
    filling: (u128, u64),
    /// Requests to end in each.
    each: u64,
    /// The time, summed over requests, in which they were outstanding.
    done: Vec<u128>,
}

impl Default for Slices {
    fn default() -> Slices {
        let done = Vec::with_capacity(SLICES);
        Slices { outstanding: 0, arrivals: 0, before: None, filling: (0, 0), each: FIRST, done }
    }
}

impl Slices {
    /// Counts a request in the slice of its arrival.
    #[inline]
    pub(crate) fn add(&mut self, arrived: Time) {
        self.outstanding += 1;
        self.arrivals += u128::from(arrived.0);
    }

    /// A request ended that does not count. Where arrivals are not told there are no slices; says whether there are.
    #[inline]
    pub(crate) fn remove_uncounted(&mut self, arrived: Time) -> bool {
        if self.outstanding == 0 {
            return false;
        }
        self.outstanding -= 1;
        self.arrivals -= u128::from(arrived.0);
        true
    }

    /// A request ended in the measured time.
    #[inline]
    pub(crate) fn remove(&mut self, arrived: Time, now: Time) {
        if !self.remove_uncounted(arrived) {
            return;
        }
        let Some(before) = self.before else {
            self.before = Some(self.waiting_time(now));
            return;
        };
        self.filling.0 += u128::from(now.since(arrived).0);
        self.filling.1 += 1;
        if self.filling.1 == self.each {
            let waited = self.waiting_time(now);
            self.done.push((self.filling.0 + waited).saturating_sub(before));
            (self.before, self.filling) = (Some(waited), (0, 0));
            self.join();
        }
    }

    /// What those outstanding have waited by now.
    fn waiting_time(&self, now: Time) -> u128 {
        (u128::from(self.outstanding) * u128::from(now.0)).saturating_sub(self.arrivals)
    }

    fn join(&mut self) {
        if self.done.len() == SLICES {
            for i in 0..SLICES / 2 {
                self.done[i] = self.done[2 * i] + self.done[2 * i + 1];
            }
            self.done.truncate(SLICES / 2);
            self.each *= 2;
        }
    }

    /// Whether arrivals were told.
    pub(crate) fn is_told(&self) -> bool {
        self.before.is_some()
    }

    /// Half width of the 95 % interval of the mean, ns; nothing where there are too few slices to say.
    pub(crate) fn ci95_ns(&self) -> Option<f64> {
        let means: Vec<f64> = self.done.iter().map(|sum| *sum as f64 / self.each as f64).collect();
        if means.len() < FEWEST {
            return None;
        }
        // Neighbours that are alike say less than as many that are not; those that make up for one another say more.
        let alike = correlation(&means).clamp(LEAST_ALIKE, MOST_ALIKE);
        interval(&means).map(|width| width * ((1.0 + alike) / (1.0 - alike)).sqrt())
    }
}

/// How much neighbours are alike: the first autocorrelation, less the bias that it has in so few values (Marriott and Pope, Bias
/// in the Estimation of Autocorrelations, 1954, for a mean that is estimated from them, too).
fn correlation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let all: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    let neighbours: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    if all == 0.0 {
        return 0.0;
    }
    let found = neighbours / all;
    // The bias is -(1 + 4 r) / n.
    found + (1.0 + 4.0 * found) / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A queue in order of arrival, in which each request takes one of these times in turn, always so many outstanding.
    fn queue(depth: u64, count: usize, takes: &[u64]) -> Slices {
        let mut slices = Slices::default();
        let mut waiting: std::collections::VecDeque<u64> = (0..depth).map(|_| 0).collect();
        waiting.iter().for_each(|arrived| slices.add(Time(*arrived)));
        let mut now = 0;
        for i in 0..count {
            now += takes[i % takes.len()];
            let arrived = waiting.pop_front().unwrap();
            slices.remove(Time(arrived), Time(now));
            slices.add(Time(now));
            waiting.push_back(now);
        }
        slices
    }

    #[test]
    fn in_a_closed_loop_a_slice_is_its_length_times_the_depth() {
        let slices = queue(50, 33 + 32 * 9, &[3, 5]);
        assert_eq!(slices.done, vec![32 * 4 * 50; 10]);
        assert_eq!(slices.ci95_ns(), Some(0.0));
        assert_eq!(queue(50, 32 + 32 * 9, &[3, 5]).ci95_ns(), None, "nine slices");
    }

    #[test]
    fn neighbours_join_when_there_are_many() {
        let slices = queue(3, 100_001, &[7]);
        assert!((SLICES / 2..SLICES).contains(&slices.done.len()), "{}", slices.done.len());
        assert!(slices.done.iter().all(|sum| *sum == 3 * 7 * u128::from(slices.each)));
    }

    #[test]
    fn slices_that_are_alike_widen_the_interval() {
        let of = |means: &[u128]| Slices { each: 1, done: means.to_vec(), ..Slices::default() }.ci95_ns().unwrap();
        let apart = of(&[1, 9, 1, 9, 1, 9, 1, 9, 1, 9, 1, 9]);
        let alike = of(&[1, 1, 1, 1, 1, 1, 9, 9, 9, 9, 9, 9]);
        assert!(alike > 2.0 * apart, "{alike} of {apart}");
    }

    #[test]
    fn slices_that_make_up_for_one_another_narrow_it_by_no_more_than_chance_could() {
        let means = [1u128, 9, 1, 9, 1, 9, 1, 9, 1, 9, 1, 9];
        let plain = interval(&means.map(|it| it as f64)).unwrap();
        let of = Slices { each: 1, done: means.to_vec(), ..Slices::default() }.ci95_ns().unwrap();
        assert!((of / plain - (0.9f64 / 1.1).sqrt()).abs() < 1e-9, "{of} of {plain}");
    }

    #[test]
    fn a_correlation_is_told_without_the_bias_of_few_values() {
        // Of so few values that have none it is found to be -1/12 in the mean; -4/144 is left of that.
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 40) as f64
        };
        let found: Vec<f64> =
            (0..20_000).map(|_| correlation(&std::array::from_fn::<f64, 12, _>(|_| next()))).collect();
        let mean = found.iter().sum::<f64>() / found.len() as f64;
        assert!((mean + 4.0 / 144.0).abs() < 0.01, "{mean}");
    }

    #[test]
    fn what_was_not_told_to_arrive_makes_no_slices() {
        let mut slices = Slices::default();
        (0..10_000).for_each(|i| slices.remove(Time(i), Time(i + 5)));
        assert_eq!(slices.ci95_ns(), None);
    }
}
