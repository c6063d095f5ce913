//! The clock of a live run: real time since it began, or so many times faster.

use block::{Span, Time};
use std::time::{Duration, Instant};

/// Time since the service began, from the host's monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// When this was, and what it showed.
    began: Instant,
    from: u64,
    scale: f64,
}

impl Clock {
    /// Begins now, at zero; it runs `scale` times as fast as real time.
    #[must_use]
    pub fn new(scale: f64) -> Clock {
        Clock { began: Instant::now(), from: 0, scale }
    }

    /// The same, but it began when the machine did: whoever looks at it later in another process sees it go on.
    #[must_use]
    pub fn of_the_machine(scale: f64) -> Clock {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let from = (time.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64);
        Clock { from, ..Clock::new(scale) }
    }

    /// The present, in nanoseconds since the clock was made.
    #[must_use]
    pub fn now(&self) -> Time {
        let real = self.from + self.began.elapsed().as_nanos() as u64;
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
