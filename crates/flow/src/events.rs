//! The events of the model (004 Table 1), as they happen in a run.

use crate::process::Pid;
use block::{RequestId, Time};

/// The kinds of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelEventKind {
    /// A process was created.
    Fork(Pid),
    /// A process has ended.
    Exit(Pid),
    /// A process leaves its processor to wait.
    Sleep(Pid),
    /// A process that waited can run.
    Wakeup(Pid),
    /// A process asks the system for something.
    SystemCall(Pid),
    /// A process is stopped by a fault.
    Trap(Pid),
    /// A process goes on by itself.
    Return(Pid),
    /// The next process was chosen.
    Dispatch(Pid),
    /// A process has the processor.
    Switch(Pid),
    /// A request was made.
    Request(RequestId),
    /// The device begins with a request.
    Access(RequestId),
    /// A handler begins: of the request, or of the clock.
    Interrupt(Option<RequestId>),
    /// A handler has ended: of the request, or of the clock.
    InterruptEnd(Option<RequestId>),
}

/// An event with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelEvent {
    /// The time at which it happened.
    pub at: Time,
    /// The kind, with the process or request it concerns.
    pub kind: ModelEventKind,
}
