//! One drive of the world, with all that is kept of it side by side: what happens in a drive needs most of that.

use crate::probes::Probes;
use block::{RequestId, Time};
use drive::Machine;

/// A command in flight.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Issued {
    pub(super) at: Time,
    /// The request that the command serves.
    pub(super) request: Option<RequestId>,
    /// Whether for none, but to learn.
    pub(super) probe: bool,
    /// Whether it has not come back.
    pub(super) flies: bool,
}

/// A drive and what it is at.
pub(super) struct Lane<M> {
    pub(super) machine: M,
    /// Each command in flight, by tag.
    pub(super) issued: Vec<Issued>,
    pub(super) probes: Probes,
    /// Whether its arm is accounted yet.
    pub(super) measured: bool,
}

impl<M: Machine> Lane<M> {
    /// A drive that takes so many commands at once and has none.
    pub(super) fn new(machine: M, depth: usize) -> Lane<M> {
        Lane { machine, issued: vec![Issued::default(); depth], probes: Probes::default(), measured: false }
    }

    /// When something next happens in it.
    #[inline(always)]
    pub(super) fn next(&self) -> Time {
        self.machine.next().unwrap_or(Time::NEVER)
    }
}
