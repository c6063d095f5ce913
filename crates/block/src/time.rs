//! Instants and durations, in whole nanoseconds.

use std::ops::{Add, AddAssign, Sub, SubAssign};

/// Nanoseconds in a millisecond, the unit of what people are shown.
pub const NS_PER_MS: f64 = 1e6;

/// An instant: nanoseconds since the run began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

/// A duration in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub u64);

impl Time {
    /// The beginning of the run.
    pub const ZERO: Time = Time(0);
    /// Later than anything that happens.
    pub const NEVER: Time = Time(u64::MAX);

    /// The time from `earlier` to here, or nothing if `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// Seconds since the run began.
    #[must_use]
    pub fn as_secs(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);

    /// The nearest whole nanosecond to `ms` milliseconds; negative values become zero.
    #[must_use]
    pub fn from_ms(ms: f64) -> Span {
        Span((ms * NS_PER_MS + 0.5) as u64)
    }

    /// The whole span in milliseconds.
    #[must_use]
    pub fn as_ms(self) -> f64 {
        self.0 as f64 / NS_PER_MS
    }

    /// The whole span in seconds.
    #[must_use]
    pub fn as_secs(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The part of this span that is left after `other`, or nothing.
    #[must_use]
    pub fn less(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
}

impl Add<Span> for Time {
    type Output = Time;
    fn add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0 + other.0)
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Span) {
        self.0 += other.0;
    }
}

impl Sub for Span {
    type Output = Span;
    fn sub(self, other: Span) -> Span {
        Span(self.0 - other.0)
    }
}

impl SubAssign for Span {
    fn sub_assign(&mut self, other: Span) {
        self.0 -= other.0;
    }
}

impl std::iter::Sum for Span {
    fn sum<I: Iterator<Item = Span>>(spans: I) -> Span {
        Span(spans.map(|span| span.0).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_and_a_span_are_a_later_instant_and_never_one_past_the_last() {
        let mut time = Time(5) + Span(7);
        assert_eq!(time, Time(12));
        time += Span(30);
        assert_eq!(time, Time(42));
        assert_eq!(Time::NEVER + Span(1), Time::NEVER);
    }

    #[test]
    fn spans_add_and_take_away() {
        let mut span = Span(9) + Span(4) - Span(6);
        assert_eq!(span, Span(7));
        span += Span(5);
        span -= Span(2);
        assert_eq!(span, Span(10));
        assert_eq!([Span(1), Span(2), Span(4)].into_iter().sum::<Span>(), Span(7));
    }

    #[test]
    fn what_lies_between_is_nothing_where_the_order_is_the_other() {
        assert_eq!([Time(9).since(Time(4)), Time(4).since(Time(9))], [Span(5), Span::ZERO]);
        assert_eq!([Span(9).less(Span(4)), Span(4).less(Span(9))], [Span(5), Span::ZERO]);
    }

    #[test]
    fn nanoseconds_are_shown_in_seconds_and_milliseconds() {
        assert_eq!(
            [Time(1_500_000_000).as_secs(), Span(2_500_000_000).as_secs(), Span(2_500_000).as_ms()],
            [1.5, 2.5, 2.5]
        );
        assert_eq!(
            [1.5, 0.000_000_4, 0.000_000_6, -3.0].map(Span::from_ms),
            [Span(1_500_000), Span(0), Span(1), Span(0)]
        );
    }
}
