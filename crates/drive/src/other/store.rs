//! A network store: each command takes a time of its own, whatever and wherever the others are, and its data the network.

use super::Timing;
use super::link::Link;
use crate::account::Parts;
use crate::noise::{fraction, hash, normal};
use block::{Command, Span, Time, Verb};
use disk::other;

/// A network store, whose answers scatter.
pub(super) struct Store {
    store: other::Store,
    network: Link,
    seed: u64,
    ordinal: u64,
}

impl Store {
    pub(super) fn new(store: &other::Store, seed: u64) -> Store {
        Store { store: store.clone(), network: Link::new(store.mb_s), seed: hash(seed, 2), ordinal: 0 }
    }

    /// The latency of the command with this ordinal.
    fn latency(&self, ordinal: u64) -> Span {
        let store = &self.store;
        let bits = hash(self.seed, ordinal);
        let jitter = store.jitter.0 as f64 * libm::exp(store.sigma * normal(bits));
        let held = if fraction(bits, 3) < store.tail_share { store.tail } else { Span::ZERO };
        store.latency + Span(jitter as u64) + held
    }
}

impl Timing for Store {
    fn serve(&mut self, now: Time, Command { verb, at, .. }: Command) -> Parts {
        if verb == Verb::Flush {
            // What is complete is kept.
            return Parts::default();
        }
        let latency = self.latency(self.ordinal);
        self.ordinal += 1;
        // What is written is sent first, what is read comes last.
        let ready = if verb.writes() { now } else { now + latency };
        let (from, to) = self.network.carry(now, ready, at.blocks);
        Parts { overhead: latency, bus: from.since(ready), transfer: to.since(from), ..Parts::default() }
    }
}
