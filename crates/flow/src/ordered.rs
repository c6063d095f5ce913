//! Processors that have processes in a given order: that of a recording, whose dispatcher decided by what no recording has.
//!
//! A processor waits for the process whose turn it is, though others could run. A process that wakes only to sleep again does so
//! by itself, since in the recording it slept all along.

use crate::process::{Pid, ProcessEntry, StepOutcome};
use crate::system::ProcessSystem;
use std::collections::VecDeque;

/// So many ticks of the clock with nothing done, and those whose turn it is are not to come.
const PATIENCE: u32 = 250;

/// Which process each processor has next: by seat, and the how manieth time that one has any.
#[derive(Clone, Debug, Default)]
pub(crate) struct DispatchOrder {
    turns: Vec<VecDeque<(u64, u32)>>,
    /// Ticks in a row at which processes could run, and none did.
    stuck: u32,
}

impl DispatchOrder {
    /// Seats by processor, in the order in which it had them; each with the number of times that seat had any before.
    pub(crate) fn new(turns: Vec<VecDeque<(u64, u32)>>) -> DispatchOrder {
        DispatchOrder { turns, stuck: 0 }
    }

    /// Whether it is a process's turn on a processor.
    pub(crate) fn is_next(&self, cpu: usize, process: &ProcessEntry) -> bool {
        let next = self.turns.get(cpu).and_then(VecDeque::front);
        next.is_some_and(|(seat, nth)| process.program.seat() == Some(*seat) && process.dispatches == *nth)
    }

    /// The turn has come.
    pub(crate) fn advance(&mut self, cpu: usize) {
        self.stuck = 0;
        self.turns.get_mut(cpu).map(VecDeque::pop_front);
    }
}

impl ProcessSystem {
    /// Gives the processors their processes in an order.
    pub(crate) fn keep_order(&mut self, order: DispatchOrder) {
        self.order = Some(order);
    }

    /// Has a process that can run sleep again, if that is all it would do; what interrupts do is done. Whether it sleeps.
    pub(crate) fn settles(&mut self, pid: Pid) -> bool {
        let now = self.now;
        loop {
            let process = self.process(pid);
            let step = match process.step.take() {
                Some(step) => step,
                None => process.program.next(now),
            };
            let settles = step.sleeps() || process.program.is_interrupt();
            process.step = Some(step);
            if !settles {
                return false;
            }
            match self.step(pid, now) {
                StepOutcome::Leaves(standing) => {
                    self.stands(pid, standing);
                    return true;
                }
                // An interrupt computes nothing.
                StepOutcome::Done | StepOutcome::Takes(_) | StepOutcome::Yields => {}
            }
        }
    }

    /// Gives the order up where whose turn it is does not come for long, though others could run: then the dispatcher decides.
    pub(crate) fn watch_order(&mut self) {
        let Some(order) = &mut self.order else { return };
        let idles = self.cpus.iter().all(|cpu| cpu.is_free()) && !self.ready.is_empty();
        order.stuck = if idles { order.stuck + 1 } else { 0 };
        if order.stuck > PATIENCE {
            self.order = None;
            let waiting: Vec<Pid> = self.ready.iter().copied().collect();
            for pid in waiting {
                self.employ(pid);
            }
        }
    }
}
