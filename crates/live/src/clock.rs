//! The clock of a live run: real time since it began, or so many times faster.

use block::{Span, Time};
use std::time::{Duration, Instant};

/// A clock that began at zero.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    began: Instant,
    scale: f64,
}

impl Clock {
    /// Begins now; it runs `scale` times as fast as real time.
    #[must_use]
    pub fn new(scale: f64) -> Clock {
        Clock { began: Instant::now(), scale }
    }

    /// The time now.
    #[must_use]
    pub fn now(&self) -> Time {
        let real = self.began.elapsed().as_nanos() as u64;
        Time(if self.scale == 1.0 { real } else { (real as f64 * self.scale) as u64 })
    }

    /// How long it takes in reality until a span has passed on this clock.
    #[must_use]
    pub fn real(&self, span: Span) -> Duration {
        Duration::from_nanos(if self.scale == 1.0 { span.0 } else { (span.0 as f64 / self.scale) as u64 })
    }

    /// What a real duration is on this clock.
    #[must_use]
    pub fn span(&self, real: Duration) -> Span {
        Span((real.as_nanos() as f64 * self.scale) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_faster_clock_passes_its_spans_sooner() {
        let clock = Clock::new(20.0);
        assert_eq!(clock.real(Span(20_000_000)), Duration::from_millis(1));
        assert_eq!(clock.span(Duration::from_millis(1)), Span(20_000_000));
        let real = Instant::now();
        let (from, began) = (clock.now(), real.elapsed());
        std::thread::sleep(Duration::from_millis(2));
        let passed = clock.now().since(from);
        assert!(passed >= Span(40_000_000), "{passed:?}");
        assert!(clock.real(passed) <= real.elapsed() + began);
    }
}
