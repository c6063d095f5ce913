//! What happens to a core and what it decides.

use block::{Change, Command, DiskId, Ending, Outcome, Place, Request, RequestId, Tag, Time};

/// What can happen to a core. At one instant: completions, amendments, submissions, the wake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// A command of this disk came back; the time is when it happened, which may be before now.
    Done(DiskId, Tag, Time, Outcome),
    /// Something changed about a request.
    Amend(RequestId, Change),
    /// A request was submitted; only while there is room.
    Submit(Request),
    /// Something became of a disk.
    Disk(DiskId, Health),
    /// The time of `wake_at` has come.
    Wake,
}

/// What a core decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A request's turn has come; its seek may still be put off.
    Begin(RequestId),
    /// Give a device a command.
    Issue(DiskId, Tag, Command),
    /// Copy blocks in memory.
    Copy {
        /// From here.
        from: Place,
        /// To here.
        to: Place,
        /// So many.
        blocks: u32,
    },
    /// Add blocks in memory to others, bit by bit without carry: the sum of parity.
    Xor {
        /// These.
        from: Place,
        /// To these.
        into: Place,
        /// So many.
        blocks: u32,
    },
    /// A request has ended; its slot is free.
    Finish(RequestId, Ending),
}

/// What can become of a disk of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// It answers no more, or only with errors.
    Failed,
    /// An empty one took its place.
    Replaced,
}
