//! How far the times that were believed of commands are from those they took, as distributions: the demerit figure (002 Figure 3;
//! Ruemmler and Wilkes, An Introduction to Disk Drive Modeling, 1994).

use block::Span;

/// Nanoseconds that are not told apart.
const WIDTH: f32 = 10_000.0;
/// Times that are told apart: up to 200 ms. The last stands for all that are longer.
const BUCKETS: usize = 20_000;

/// Two histograms of as many times each.
#[derive(Clone, Debug)]
pub(super) struct ComparedTimes {
    believed: Vec<u64>,
    taken: Vec<u64>,
    count: u64,
}

impl Default for ComparedTimes {
    fn default() -> ComparedTimes {
        ComparedTimes { believed: vec![0; BUCKETS], taken: vec![0; BUCKETS], count: 0 }
    }
}

impl ComparedTimes {
    /// A command was believed to take the one time and took the other, in nanoseconds.
    pub(super) fn note(&mut self, believed: f32, taken: f32) {
        let bucket = |time: f32| ((time / WIDTH) as usize).min(BUCKETS - 1);
        self.believed[bucket(believed)] += 1;
        self.taken[bucket(taken)] += 1;
        self.count += 1;
    }

    /// The root of the mean square of the horizontal distance between the two distributions; nothing without commands.
    pub(super) fn demerit(&self) -> Option<Span> {
        let (mut squares, mut at) = (0.0, 0);
        let mut left = self.taken.first().copied().unwrap_or(0);
        for (bucket, count) in self.believed.iter().enumerate() {
            let mut count = *count;
            while count > 0 {
                while left == 0 {
                    at += 1;
                    left = self.taken[at];
                }
                let both = count.min(left);
                let apart = (bucket as f64 - at as f64) * f64::from(WIDTH);
                squares += both as f64 * apart * apart;
                (count, left) = (count - both, left - both);
            }
        }
        (self.count > 0).then(|| Span((squares / self.count as f64).sqrt() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_demerit_is_of_sorted_times_and_not_of_pairs() {
        let mut times = ComparedTimes::default();
        assert_eq!(times.demerit(), None);
        for (believed, taken) in [(2e6, 4e6), (4e6, 2e6)] {
            times.note(believed, taken);
        }
        assert_eq!(times.demerit(), Some(Span(0)), "each was wrong, and the two distributions are one");
        for _ in 0..2 {
            times.note(3e6, 7e6);
        }
        for _ in 0..3 {
            times.note(9e6, 12e6);
        }
        // Sorted: 2, 3, 3, 4 and three of 9 against 2, 4, 7, 7 and three of 12.
        let root = ((1.0 + 16.0 + 9.0 + 27.0) / 7.0_f64).sqrt() * 1e6;
        assert_eq!(times.demerit(), Some(Span(root as u64)));
    }

    #[test]
    fn times_beyond_the_last_count_as_that() {
        let mut times = ComparedTimes::default();
        times.note(1e9, 5e9);
        times.note(f32::MAX, 0.0);
        // Sorted: both at the end against 0 and the end.
        let end = (BUCKETS - 1) as f64 * f64::from(WIDTH);
        assert_eq!(times.demerit(), Some(Span((end * 0.5_f64.sqrt()) as u64)));
    }
}
