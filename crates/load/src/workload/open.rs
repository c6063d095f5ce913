//! Open arrivals: requests come at their own times, whatever becomes of the earlier ones.

use super::pattern::Addresses;
use super::{Draft, Workload};
use crate::experiment::Arrivals;
use block::{BadInput, Extent, Span, Time};

pub(super) struct Open {
    next: Time,
    interval_ns: f64,
    arrivals: Arrivals,
    /// Whether it ever asked for anything.
    asked: bool,
    addresses: Addresses,
}

impl Open {
    pub(super) fn new(rate: f64, arrivals: Arrivals, mut addresses: Addresses) -> Open {
        let interval_ns = 1e9 / rate;
        // Constant arrivals begin at a random point of their period, so that nothing locks to them.
        let first = match arrivals {
            Arrivals::Poisson => addresses.draw().exponential(),
            Arrivals::Constant => addresses.draw().unit(),
        };
        Open { next: Time((first * interval_ns) as u64), interval_ns, arrivals, asked: false, addresses }
    }
}

impl Workload for Open {
    fn due(&self) -> Option<Time> {
        Some(self.next)
    }

    fn make(&mut self) -> Result<Draft, BadInput> {
        let arrives = self.next;
        self.asked = true;
        let gap = match self.arrivals {
            Arrivals::Poisson => self.addresses.draw().exponential(),
            Arrivals::Constant => 1.0,
        };
        self.next += Span((gap * self.interval_ns) as u64);
        let (op, at) = self.addresses.draft();
        Ok(Draft { arrives, op, at })
    }

    fn ended(&mut self, _: Time, _: Extent) {}

    fn notes(&self) -> Vec<String> {
        if self.asked {
            return Vec::new();
        }
        let (rate, apart) = (1e9 / self.interval_ns, self.interval_ns / 1e9);
        vec![format!("nothing came at a rate of {rate:e}/s: its requests are {apart:e} s apart, and the run was over before")]
    }
}
