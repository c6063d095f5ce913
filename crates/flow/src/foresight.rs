//! When limited requests will be needed: time limits estimated from a process's own past (004 §3, whose limits are not known
//! beforehand).

use crate::process::Pid;
use block::{Span, Time};
use std::collections::{BTreeMap, BTreeSet};

/// How much the newest sample counts: one of so many.
const WEIGHT: u64 = 8;

/// A mean in which what is long ago counts ever less.
#[derive(Clone, Copy, Debug, Default)]
struct Mean(Option<u64>);

impl Mean {
    fn add(&mut self, span: Span) {
        let mean = self.0.map_or(span.0, |mean| mean - mean / WEIGHT + span.0 / WEIGHT);
        self.0 = Some(mean);
    }
}

/// What is expected of limited requests.
#[derive(Debug, Default)]
pub(crate) struct Foresight {
    /// From asking to needing, by process.
    limits: BTreeMap<Pid, Mean>,
    /// From becoming critical to the end, of all requests.
    takes: Mean,
    /// When which request, by its slot and arrival, is to become critical.
    due: BTreeSet<(Time, u32, Time)>,
}

impl Foresight {
    /// A process needed what it had asked for so long before.
    pub(crate) fn needed(&mut self, pid: Pid, limit: Span) {
        self.limits.entry(pid).or_default().add(limit);
    }

    /// A request has ended so long after it became critical.
    pub(crate) fn took(&mut self, span: Span) {
        self.takes.add(span);
    }

    /// A process asks for something that it will need.
    pub(crate) fn asked(&mut self, pid: Pid, slot: u32, now: Time) {
        let limit = self.limits.get(&pid).and_then(|limit| limit.0);
        if let (Some(limit), Some(takes)) = (limit, self.takes.0) {
            self.due.insert((now + Span(limit.saturating_sub(takes)), slot, now));
        }
    }

    /// When the next is to become critical.
    pub(crate) fn next(&self) -> Time {
        self.due.first().map_or(Time::NEVER, |(at, ..)| *at)
    }

    /// The one that is, by its slot and arrival.
    pub(crate) fn pop(&mut self, now: Time) -> Option<(u32, Time)> {
        let (at, slot, arrived) = self.due.first().copied().filter(|(at, ..)| *at <= now)?;
        self.due.remove(&(at, slot, arrived));
        Some((slot, arrived))
    }
}
