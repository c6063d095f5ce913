//! What a client asks for: requests (external I/O), their quality of service and how they end.

use crate::{Direction, Extent, Time};

/// A slot of the submitter's: dense, free again only after the request has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u32);

/// What a request is worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Qos {
    /// Index of its service class, as the submitter numbers them.
    pub class: u8,
    /// Priority inside the class; larger is more urgent.
    pub priority: u8,
    /// A hard deadline: a request still waiting then is dropped.
    pub deadline: Option<Time>,
}

/// What blocks hold that were discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discarded {
    /// Anything: it is a hint, which may be passed over.
    Anything,
    /// Zeros; they need not be allocated.
    Zeros,
    /// Zeros, for which there is room when they are written.
    KeptZeros,
}

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Transfers from the device.
    Read,
    /// Transfers to the device; with `fua` it completes on the medium (force unit access).
    Write {
        /// Complete on the medium, not in a volatile buffer.
        fua: bool,
    },
    /// Gives up what blocks hold, without a transfer.
    Discard(Discarded),
    /// Completes when every write that completed before it is on the medium; its extent is empty.
    Flush,
    /// Of an array, brings back what is missing of the extent: rebuilding. Where no disk is missing or was replaced, reads all
    /// that is kept of it, and brings back what cannot be read: scrubbing.
    Repair,
    /// Of an array that grows by a disk, moves the next of its rows to where they lie from then on.
    Move,
}

impl Op {
    /// Whether it changes blocks.
    #[must_use]
    pub const fn writes(self) -> bool {
        matches!(self, Op::Write { .. } | Op::Discard(_) | Op::Move)
    }

    /// Which way its data goes.
    #[must_use]
    #[inline(always)]
    pub const fn direction(self) -> Direction {
        if self.writes() { Direction::Write } else { Direction::Read }
    }
}

/// One I/O as a client or a workload submits it, before it is split into drive commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The submitter's slot, free again once the request has ended.
    pub id: RequestId,
    /// Whether it reads, writes, flushes or repairs.
    pub op: Op,
    /// The blocks it reads or writes.
    pub at: Extent,
    /// What it is worth.
    pub qos: Qos,
}

/// What may be said of a request after it was submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is worth something else now.
    Qos(Qos),
    /// Nobody waits for it any more.
    Cancel,
}

/// How a request ended; each ends exactly once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All of it was transferred.
    Finished,
    /// Not done, for the reason the errno gives.
    Failed(i32),
    /// Still waiting at its hard deadline (ETIME).
    Dropped,
}
