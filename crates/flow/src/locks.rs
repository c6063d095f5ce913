//! Locks: one process has each, others wait for it in the order in which they came.
//!
//! Who waits for a lock waits for whatever its holder waits for: a request that nobody would wait for becomes critical by that
//! (priority inheritance: Sha, Rajkumar and Lehoczky, IEEE ToC 39(9), 1990), through as many locks as lie between.

use crate::process::{Pid, ProcessState, StepOutcome};
use crate::requests::Criticality;
use crate::system::ProcessSystem;
use block::Time;
use std::collections::VecDeque;

/// A lock, which somebody has.
#[derive(Debug)]
pub(crate) struct LockState {
    holder: Pid,
    waiting: VecDeque<Pid>,
}

impl ProcessSystem {
    /// A process takes a lock, or waits until it has it.
    pub(crate) fn lock(&mut self, pid: Pid, lock: u32, now: Time) -> StepOutcome {
        match self.locks.get_mut(&lock) {
            None => {
                self.locks.insert(lock, LockState { holder: pid, waiting: VecDeque::new() });
                StepOutcome::Done
            }
            Some(state) => {
                state.waiting.push_back(pid);
                let holder = state.holder;
                self.press_holder(holder, now);
                StepOutcome::Leaves(ProcessState::ForLock(lock))
            }
        }
    }

    /// A process gives up a lock: the first that waits has it.
    pub(crate) fn unlock(&mut self, pid: Pid, lock: u32) {
        let Some(state) = self.locks.get_mut(&lock).filter(|state| state.holder == pid) else { return };
        match state.waiting.pop_front() {
            None => drop(self.locks.remove(&lock)),
            Some(next) => {
                state.holder = next;
                self.enable(next);
            }
        }
    }

    /// Gives up all that a process has when it ends.
    pub(crate) fn unlock_all(&mut self, pid: Pid) {
        let held: Vec<u32> =
            self.locks.iter().filter(|(_, state)| state.holder == pid).map(|(lock, _)| *lock).collect();
        for lock in held {
            self.unlock(pid, lock);
        }
    }

    /// Whether somebody waits for a lock that a process has.
    pub(crate) fn is_waited_for(&self, pid: Pid) -> bool {
        self.plan.inherit && self.locks.values().any(|state| state.holder == pid && !state.waiting.is_empty())
    }

    /// Somebody waits for a lock of this process: it is blocked now for what it sleeps on, and so is who holds what it waits for.
    fn press_holder(&mut self, holder: Pid, now: Time) {
        if !self.plan.inherit {
            return;
        }
        let mut holder = holder;
        // Processes that wait for one another in a circle wait for ever, but this does not.
        for _ in 0..self.processes.len() {
            match self.process(holder).standing {
                ProcessState::Watching(slot) => {
                    self.stands(holder, ProcessState::ForRequest(slot));
                    let asked = self.requests.get(slot).map(|asked| (asked.asker, asked.arrived, asked.criticality));
                    if let Some((asker, arrived, Criticality::Limited)) = asked {
                        self.limit(asker, now.since(arrived));
                    }
                    return self.raise_to_critical(slot, now);
                }
                ProcessState::ForLock(lock) => {
                    let Some(state) = self.locks.get(&lock) else { return };
                    holder = state.holder;
                }
                _ => return,
            }
        }
    }
}
