//! How long after a request was made somebody will wait for it, as far as a system can tell beforehand (004 §3.1).
//!
//! "This estimate should be as high as possible to allow latitude in scheduling decisions, but at the same time as low as
//! necessary to avoid the penalties associated with overshooting". It is what the process's requests had so far, less how far
//! they lay around that: mean and mean deviation go by an eighth and a quarter of what is new, as estimates of round trips do
//! (Jacobson, SIGCOMM 1988). A process of which nothing is known may wait at once.

use crate::process::Pid;
use crate::requests::Criticality;
use crate::system::ProcessSystem;
use block::{Span, Time};

/// The time limits of one process, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LimitEstimate {
    mean: u64,
    deviation: u64,
    knows: bool,
}

impl LimitEstimate {
    /// A time limit came to be known.
    pub(crate) fn learn(&mut self, limit: Span) {
        let limit = limit.0;
        if !std::mem::replace(&mut self.knows, true) {
            (self.mean, self.deviation) = (limit, limit / 2);
            return;
        }
        let off = limit.abs_diff(self.mean);
        self.mean = if limit > self.mean { self.mean + off / 8 } else { self.mean - off / 8 };
        let change = off.abs_diff(self.deviation) / 4;
        self.deviation = if off > self.deviation { self.deviation + change } else { self.deviation - change };
    }

    /// The time limit that the next request is likely to have at least.
    pub(crate) fn estimate(&self) -> Span {
        Span(self.mean.saturating_sub(self.deviation))
    }
}

impl ProcessSystem {
    /// A time limit came to be known, of a request that this process made.
    pub(crate) fn limit(&mut self, by: Pid, limit: Span) {
        self.account.limits += 1;
        self.account.limits_sum += limit;
        self.process(by).limits.learn(limit);
    }

    /// By when somebody is likely to wait for what this process asks for now, where the system tells.
    pub(crate) fn estimate_limit(&mut self, by: Pid, criticality: Criticality, now: Time) -> Option<Time> {
        if !self.plan.limits {
            return None;
        }
        match criticality {
            Criticality::Critical => Some(now),
            Criticality::Limited => Some(now + self.process(by).limits.estimate()),
            Criticality::Noncritical => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(limits: impl IntoIterator<Item = u64>) -> LimitEstimate {
        let mut estimate = LimitEstimate::default();
        limits.into_iter().for_each(|limit| estimate.learn(Span(limit)));
        estimate
    }

    #[test]
    fn nothing_known_may_be_needed_at_once_and_what_is_always_the_same_is_foretold() {
        assert_eq!(of([]).estimate(), Span::ZERO);
        assert_eq!(of([800]).estimate(), Span(400));
        let steady = of([8000; 60]).estimate();
        assert!((7990..=8000).contains(&steady.0), "{steady:?}");
    }

    /// Of limits that vary, most lie above the estimate; where they vary less it is higher.
    #[test]
    fn an_estimate_lies_below_most_of_what_varies_and_follows_what_changes() {
        let varied = |spread: u64| (0..400).map(move |i| 10_000 - spread + 2 * spread * (i * 7 % 11) / 10);
        let (narrow, wide) = (of(varied(1000)).estimate().0, of(varied(8000)).estimate().0);
        for (estimate, spread) in [(narrow, 1000), (wide, 8000)] {
            let above = varied(spread).filter(|limit| *limit >= estimate).count();
            assert!((240..400).contains(&above), "{above} of 400 lie above {estimate}");
        }
        assert!(narrow > wide && wide > 2000, "{narrow}, {wide}");
        let longer = of(varied(1000).chain(varied(1000).map(|limit| 5 * limit))).estimate().0;
        assert!((40_000..52_000).contains(&longer), "{longer}");
    }
}
