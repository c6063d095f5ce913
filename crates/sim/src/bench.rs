//! A simulated device on a bench: nothing but commands go in, and nothing but times come out.

use block::{Caps, Command, Device, Outcome, Tag, Time};
use drive::Machine;

/// A simulated device with a clock of its own, which jumps from one completion to the next.
#[derive(Clone, Debug)]
pub struct Bench<M> {
    machine: M,
    now: Time,
}

impl<M: Machine> Bench<M> {
    /// A device at time zero.
    pub fn new(machine: M) -> Bench<M> {
        Bench { machine, now: Time::ZERO }
    }
}

impl<M: Machine> Device for Bench<M> {
    fn caps(&self) -> Caps {
        self.machine.caps()
    }

    fn now(&self) -> Time {
        self.now
    }

    fn issue(&mut self, tag: Tag, command: Command) -> Time {
        self.machine.issue(self.now, tag, command);
        self.now
    }

    fn next(&mut self, until: Time) -> Option<(Time, Tag, Outcome)> {
        while self.machine.next().is_some_and(|at| at <= until) {
            if let Some((end, tag, outcome, _)) = self.machine.finish() {
                self.now = end;
                return Some((end, tag, outcome));
            }
        }
        self.now = self.now.max(until);
        None
    }
}
