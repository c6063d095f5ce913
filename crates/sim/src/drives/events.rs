//! What can happen next in a world of drives, and when.

use super::{Drives, Measured};
use block::Time;
use drive::Machine;

/// When a drive has something done next, the load something to ask and a disk its fate, and which comes first, of these and the
/// core's wake.
pub(super) struct Events {
    pub(super) done: Time,
    pub(super) due: Time,
    pub(super) fate: Time,
    pub(super) next: Time,
}

impl<M: Machine, L: Measured> Drives<'_, M, L> {
    /// What can happen next.
    #[inline(always)]
    pub(super) fn next_events(&mut self, wake: Option<Time>, room: u32) -> Events {
        let done = self.ends.of(self.ends.first());
        let due = self.load.due();
        // When no request will come, nobody learns any more.
        let wake = wake.filter(|_| due.is_some() || self.outstanding > 0 || self.load.scans());
        let due = if room > 0 { due } else { self.due_crowded(done) };
        let due = due.unwrap_or(Time::NEVER).max(self.now);
        let wake = wake.unwrap_or(Time::NEVER).max(self.now);
        let fate = self.fates.front().map_or(Time::NEVER, |(at, ..)| (*at).max(self.now));
        Events { done, due, fate, next: done.min(due).min(wake).min(fate) }
    }

    /// What is due where there is no room, and whether a request waits for some.
    pub(super) fn due_crowded(&mut self, done: Time) -> Option<Time> {
        self.crowded |= self.load.request_due().is_some_and(|due| due <= done);
        self.load.due_crowded()
    }
}
