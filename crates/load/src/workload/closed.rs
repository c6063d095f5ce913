//! A closed loop: a fixed number of requests outstanding, each followed by the next after a think time.

use super::pattern::Addresses;
use super::{Draft, Workload};
use block::{BadInput, Extent, Span, Time};
use std::collections::VecDeque;

pub(super) struct Closed {
    /// When each request that may be made arrives, in order.
    ready: VecDeque<Time>,
    think: Span,
    addresses: Addresses,
}

impl Closed {
    pub(super) fn new(depth: u32, think: Span, addresses: Addresses) -> Closed {
        Closed { ready: vec![Time::ZERO; depth as usize].into(), think, addresses }
    }
}

impl Workload for Closed {
    fn due(&self) -> Option<Time> {
        self.ready.front().copied()
    }

    fn make(&mut self) -> Result<Draft, BadInput> {
        let arrives = self.ready.pop_front().unwrap_or(Time::NEVER);
        let (op, at) = self.addresses.draft();
        Ok(Draft { arrives, op, at })
    }

    fn ended(&mut self, now: Time, _: Extent) {
        self.ready.push_back(now + self.think);
    }
}
