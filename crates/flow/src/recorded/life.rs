//! A recorded process as a program.

use crate::process::{ProcessStep, Program};
use block::Time;
use std::collections::VecDeque;

/// A process of a recording.
pub(super) struct RecordedProcess {
    pub(super) name: String,
    /// As which of all it has a processor in turn; nothing of what interrupts do.
    pub(super) seat: Option<u64>,
    pub(super) steps: VecDeque<ProcessStep>,
    /// The processors it was seen on: until it sleeps next, until it slept after that, and so on.
    pub(super) stretches: VecDeque<u64>,
    pub(super) counts: bool,
}

impl Program for RecordedProcess {
    fn next(&mut self, _: Time) -> ProcessStep {
        let step = self.steps.pop_front().unwrap_or(ProcessStep::Exit);
        if let ProcessStep::Await { .. } | ProcessStep::Pause { .. } | ProcessStep::Sleep { .. } = step {
            self.stretches.pop_front();
        }
        step
    }

    fn counts(&self) -> bool {
        self.counts
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn seat(&self) -> Option<u64> {
        self.seat
    }

    fn is_interrupt(&self) -> bool {
        self.seat.is_none()
    }

    fn cpus(&self) -> u64 {
        self.stretches.front().copied().filter(|seen_on| *seen_on != 0).unwrap_or(u64::MAX)
    }
}
