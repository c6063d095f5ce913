//! Whether requests may interrupt others at all: not where the disk is hardly ever idle, or the write buffer nearly full, since
//! what interrupting costs is then missing elsewhere (Preemptive RAID scheduling, Section 4.2.3).

use crate::plan::Budget;
use block::{Span, Time};

/// What happened so long ago counts little.
const MEMORY: Span = Span(5_000_000_000);

/// How idle a disk is, and how full the write buffer above it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leisure {
    idle: f64,
    since: Time,
    pub(crate) fill: f64,
}

impl Default for Leisure {
    fn default() -> Leisure {
        Leisure { idle: 1.0, since: Time::ZERO, fill: 0.0 }
    }
}

impl Leisure {
    /// Lets time pass until now, in which the disk had nothing to do, or had.
    pub(crate) fn pass(&mut self, now: Time, idle: bool) {
        let span = now.since(self.since).0 as f64;
        let share = span / (span + MEMORY.0 as f64);
        self.idle += share * (f64::from(u8::from(idle)) - self.idle);
        self.since = now;
    }

    /// Whether there is as much left as has to be.
    pub(crate) fn allows(&self, budget: &Budget) -> bool {
        self.idle >= budget.idle && 1.0 - self.fill >= budget.free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_disk_and_a_full_buffer_leave_nothing() {
        let budget = Budget { idle: 0.1, free: 0.25 };
        let mut leisure = Leisure::default();
        assert!(leisure.allows(&budget));
        for second in 1..100 {
            leisure.pass(Time(second * 1_000_000_000), false);
        }
        assert!(!leisure.allows(&budget));
        for second in 100..110 {
            leisure.pass(Time(second * 1_000_000_000), second % 2 == 0);
        }
        assert!(leisure.allows(&budget));
        leisure.fill = 0.8;
        assert!(!leisure.allows(&budget));
    }
}
