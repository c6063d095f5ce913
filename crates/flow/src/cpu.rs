//! Processors: what each is at, and the interrupts on top of it.

use crate::process::Pid;
use block::{Span, Time};
use std::collections::VecDeque;

/// What an interrupt is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handler {
    Clock,
    /// The request in this slot has ended.
    Completion(u32),
}

/// What a processor is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProcessorState {
    Idle,
    Switching,
    Computing,
    Interrupt(Handler),
}

pub(crate) struct Processor {
    pub(crate) state: ProcessorState,
    /// When it is done with that; never of an idle one.
    pub(crate) until: Time,
    /// Whose turn it is.
    pub(crate) process: Option<Pid>,
    /// What the handler interrupted, and what was left of it.
    below: (ProcessorState, Span),
    /// Interrupts that wait for the end of a handler.
    pending: VecDeque<Handler>,
    /// Whether a process that woke up is to take over.
    pub(crate) preempt: bool,
    /// Whether the last process left to wait for I/O.
    pub(crate) left_blocked: bool,
}

impl Processor {
    pub(crate) fn new() -> Processor {
        Processor {
            state: ProcessorState::Idle,
            until: Time::NEVER,
            process: None,
            below: (ProcessorState::Idle, Span::ZERO),
            pending: VecDeque::new(),
            preempt: false,
            left_blocked: false,
        }
    }

    /// Whether it will look for a process as soon as it can.
    pub(crate) fn is_free(&self) -> bool {
        self.process.is_none()
    }

    /// Goes at something until then.
    pub(crate) fn set(&mut self, state: ProcessorState, until: Time) {
        (self.state, self.until) = (state, until);
    }

    /// An interrupt comes, and is handled for so long; at once, or when the handler before it ends. Whether at once.
    pub(crate) fn raise(&mut self, handler: Handler, now: Time, cost: Span) -> bool {
        if matches!(self.state, ProcessorState::Interrupt(_)) {
            self.pending.push_back(handler);
            return false;
        }
        let left = if self.until == Time::NEVER { Span::ZERO } else { self.until.since(now) };
        self.below = (self.state, left);
        self.set(ProcessorState::Interrupt(handler), now + cost);
        true
    }

    /// The next interrupt that waits.
    pub(crate) fn next_pending(&mut self) -> Option<Handler> {
        self.pending.pop_front()
    }

    /// Goes on with what was interrupted, and says what is left of it.
    pub(crate) fn resume(&mut self, now: Time) -> (ProcessorState, Span) {
        let (state, left) = self.below;
        self.set(state, if state == ProcessorState::Idle { Time::NEVER } else { now + left });
        self.below
    }
}
