//! How late the host noticed what an emulated drive had done.

use block::Span;
use hdrhistogram::Histogram;

/// Later than this, and than a share of the command's own time, the host is to blame for a sample.
const LATE: Span = Span(50_000);
const SHARE: u64 = 100;

/// A distribution of lateness: when a completion was noticed minus when the model says it was.
#[derive(Clone, Debug)]
pub struct Lateness {
    times: Histogram<u64>,
    late: u64,
    worst: Span,
    /// Of all, and of those that the host did not make late: sum of squares, ns².
    squares: f64,
    squares_in_time: f64,
}

impl Default for Lateness {
    fn default() -> Lateness {
        let times = Histogram::new_with_bounds(1, 3_600_000_000_000, 3).expect("the bounds are in order");
        Lateness { times, late: 0, worst: Span::ZERO, squares: 0.0, squares_in_time: 0.0 }
    }
}

impl Lateness {
    /// A command that was to take so long was noticed so late.
    pub fn add(&mut self, took: Span, late: Span) {
        self.times.saturating_record(late.0.max(1));
        let (is_late, square) = (Lateness::is_late(took, late), (late.0 as f64).powi(2));
        self.late += u64::from(is_late);
        self.worst = self.worst.max(late);
        self.squares += square;
        self.squares_in_time += if is_late { 0.0 } else { square };
    }

    /// With what was counted of another device.
    pub fn merge(&mut self, other: &Lateness) {
        // Both have the same bounds.
        let _ = self.times.add(&other.times);
        self.late += other.late;
        self.worst = self.worst.max(other.worst);
        self.squares += other.squares;
        self.squares_in_time += other.squares_in_time;
    }

    /// Whether a sample was made late by the host: by more than 50 µs and 1 % of what the command took.
    #[must_use]
    pub fn is_late(took: Span, late: Span) -> bool {
        late > LATE.max(Span(took.0 / SHARE))
    }

    /// How many commands were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.times.len()
    }

    /// Of them, the share that the host made late.
    #[must_use]
    pub fn late_share(&self) -> f64 {
        self.late as f64 / self.count().max(1) as f64
    }

    /// The lateness that a share of the commands stayed below.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Span {
        Span(self.times.value_at_quantile(share)).min(self.worst)
    }

    /// Root mean square of it in ms: of all commands, and of those that the host did not make late. The demerit figure of the times
    /// of these commands against the model's is no larger (Ruemmler and Wilkes 1994, Section 3).
    #[must_use]
    pub fn rms_ms(&self) -> (f64, f64) {
        let rms = |squares: f64, count: u64| (squares / count.max(1) as f64).sqrt() / 1e6;
        (rms(self.squares, self.count()), rms(self.squares_in_time, self.count() - self.late))
    }

    /// The greatest lateness since the start.
    #[must_use]
    pub fn worst(&self) -> Span {
        self.worst
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_is_what_exceeds_both_bounds() {
        let mut lateness = Lateness::default();
        lateness.add(Span(1_000_000), Span(49_000));
        lateness.add(Span(10_000_000), Span(90_000));
        lateness.add(Span(10_000_000), Span(110_000));
        lateness.add(Span(1_000_000), Span(60_000));
        assert_eq!((lateness.count(), lateness.late_share()), (4, 0.5));
        assert_eq!(lateness.worst(), Span(110_000));
        assert_eq!(lateness.quantile(1.0), Span(110_000));
        let (all, in_time) = lateness.rms_ms();
        let squares = 0.049f64.powi(2) + 0.090f64.powi(2);
        assert!((in_time - (squares / 2.0).sqrt()).abs() < 1e-9, "{in_time}");
        assert!((all - ((squares + 0.110f64.powi(2) + 0.060f64.powi(2)) / 4.0).sqrt()).abs() < 1e-9, "{all}");
    }
}
