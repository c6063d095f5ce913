//! A host that is late: it sleeps until something happens, and wakes up later than that.
//!
//! Drives go on meanwhile; whatever has happened by then it hears of at once, with the time at which it did.

use super::events::Events;
use super::{Drives, Measured};
use block::{Span, Time};
use drive::{Machine, fraction};
use load::experiment::HostPlan;
use sched::Input;
use std::collections::VecDeque;

/// It wakes up at once in so long.
const AT_ONCE: Span = Span(1_000);

/// How late it is, and what it is to hear of.
pub(super) struct LateHost {
    plan: HostPlan,
    seed: u64,
    wakes: u64,
    heard: VecDeque<Input>,
}

impl LateHost {
    pub(super) fn new(plan: HostPlan, seed: u64) -> LateHost {
        LateHost { plan, seed, wakes: 0, heard: VecDeque::new() }
    }

    /// By how much it is late this time.
    fn sleep_over(&mut self) -> Span {
        let draw = fraction(self.seed, self.wakes);
        self.wakes += 1;
        AT_ONCE + if draw < self.plan.late_share { self.plan.late_by } else { Span::ZERO }
    }
}

impl<M: Machine, L: Measured> Drives<'_, M, L> {
    /// With a host that is so late.
    pub(crate) fn with_host(self, plan: Option<HostPlan>, seed: u64) -> Self {
        let host = plan.map(|plan| Box::new(LateHost::new(plan, seed)));
        Drives { host, ..self }
    }

    /// The same as [`next`](sched::World::next), where the host is late.
    #[cold]
    pub(super) fn next_of_late(&mut self, wake: Option<Time>, room: u32) -> Option<(Time, Input)> {
        loop {
            if let Some(input) = self.host.as_mut()?.heard.pop_front() {
                return Some((self.now, input));
            }
            if self.over || self.watched && self.has_seen_all() {
                return None;
            }
            let Events { done, due, next, .. } = self.next_events(wake, room);
            if next > self.until || next == Time::NEVER {
                return self.run_out(next);
            }
            if done <= self.now || next > self.now {
                let woken = if next > self.now { self.wake_up(done, next) } else { Some(next) };
                match woken {
                    Some(woken) if woken > self.until => return self.run_out(woken),
                    Some(woken) => self.let_happen(woken),
                    None => {}
                }
                continue;
            }
            if self.fates.front().is_some_and(|(at, ..)| *at <= self.now) {
                return self.fate().map(|input| (self.now, input));
            }
            if due > self.now {
                return Some((self.now, Input::Wake));
            }
            match self.ask_load(self.now, room) {
                Some(input) => return Some((self.now, input)),
                None if self.failed.is_some() => return None,
                None => {}
            }
        }
    }

    /// The host sleeps until something happens, at `next`: when it has woken up, or nothing where that was none of its affairs.
    fn wake_up(&mut self, done: Time, next: Time) -> Option<Time> {
        if done == next {
            self.now = next;
            let input = self.happen_in_drive::<false>()?;
            self.host.iter_mut().for_each(|host| host.heard.push_back(input));
        }
        Some(next + self.host.as_mut()?.sleep_over())
    }

    /// All that happens in the drives until the host has woken up.
    fn let_happen(&mut self, woken: Time) {
        loop {
            let done = self.ends.of(self.ends.first());
            if done > woken {
                break;
            }
            self.now = self.now.max(done);
            if let Some(input) = self.happen_in_drive::<false>() {
                self.host.iter_mut().for_each(|host| host.heard.push_back(input));
            }
        }
        self.now = woken;
        self.begin_measuring(woken, None);
    }
}
