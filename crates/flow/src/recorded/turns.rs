//! Who had which processor after whom, as recorded: what a replay needs to be exact, since no recording tells what the kernel's
//! dispatcher knew when it decided.
//!
//! A process that an idle processor takes a while to rouse computes for that while: from when both were free.

use super::programs::{Making, StepDraft};
use crate::ordered::DispatchOrder;
use block::{Span, Time};
use std::collections::{BTreeMap, VecDeque};
use trace::ftrace::{IDLE, SwitchState};

/// The turns of processors while a recording is read.
#[derive(Debug, Default)]
pub(super) struct TurnBook {
    /// By processor: seats, each with how many turns it had before on any.
    turns: BTreeMap<usize, VecDeque<(u64, u32)>>,
    had: BTreeMap<u64, u32>,
    /// Since when a processor is idle.
    idle: BTreeMap<usize, Time>,
    /// When processes went to sleep, by seat.
    pub(super) sleeps: BTreeMap<u64, Vec<Time>>,
}

impl TurnBook {
    fn give(&mut self, cpu: usize, seat: u64) {
        let had = self.had.entry(seat).or_default();
        self.turns.entry(cpu).or_default().push_back((seat, *had));
        *had += 1;
    }

    /// The order of all processors that had any event, in the order of their numbers.
    pub(super) fn order(&self, cpus: impl Iterator<Item = usize>) -> DispatchOrder {
        DispatchOrder::new(cpus.map(|cpu| self.turns.get(&cpu).cloned().unwrap_or_default()).collect())
    }
}

impl Making {
    /// The first event on a processor: what it was at until then is not known.
    pub(super) fn begins_on(&mut self, cpu: usize, task: u32) {
        let Some(turns) = &mut self.turns else { return };
        turns.idle.insert(cpu, Time::ZERO);
        if task == IDLE {
            return;
        }
        if !self.tasks.contains_key(&task) && self.now > Time::ZERO {
            self.push(task, StepDraft::Pause(self.now.since(Time::ZERO)));
        }
        self.takes_turn(cpu, task, IDLE);
    }

    /// One task leaves a processor, another has it.
    pub(super) fn turn(&mut self, cpu: usize, (from, left): (u32, SwitchState), to: u32) {
        let now = self.now;
        let Some(turns) = &mut self.turns else { return };
        if to == IDLE {
            turns.idle.insert(cpu, now);
        }
        if from != IDLE && matches!(left, SwitchState::Asleep | SwitchState::Blocked | SwitchState::Idle) {
            let seat = self.tasks.get(&from).map_or(u64::from(from), |task| task.seat(from));
            turns.sleeps.entry(seat).or_default().push(now);
        }
        if from != IDLE && matches!(left, SwitchState::Preempted | SwitchState::Unseen) {
            self.push(from, StepDraft::Yield);
            self.tasks.entry(from).or_default().woken = Some(now);
        }
        if to != IDLE {
            self.takes_turn(cpu, to, from);
        }
    }

    /// A task has a processor after another.
    fn takes_turn(&mut self, cpu: usize, pid: u32, from: u32) {
        let now = self.now;
        let Some(turns) = &mut self.turns else { return };
        let task = self.tasks.entry(pid).or_default();
        turns.give(cpu, task.seat(pid));
        let ready = task.woken.take().unwrap_or(now);
        let idle = turns.idle.get(&cpu).copied().unwrap_or(now);
        task.computed += if from == IDLE { now.since(ready.max(idle)) } else { Span::ZERO };
    }
}
