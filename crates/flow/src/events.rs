//! The events of the model (004 Table 1), as they happen in a run.

use crate::process::Pid;
use block::{RequestId, Time};

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
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
    /// It ends.
    InterruptEnd(Option<RequestId>),
}

/// When it happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub at: Time,
    /// What.
    pub kind: Kind,
}
