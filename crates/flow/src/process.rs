//! Processes: what they do, step by step, and where they stand.

use crate::requests::Criticality;
use block::{Extent, Op, Span, Time};

/// A process, by its place in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pid(pub u32);

/// What a process does next.
pub enum Step {
    /// Computes for so long, on a processor of speed 1.
    Compute(Span),
    /// Reads a page through the buffer cache, and has another read ahead.
    Read {
        /// The page.
        page: u64,
        /// The page after it, if the file goes on.
        ahead: Option<u64>,
    },
    /// Writes a whole page into the buffer cache; the medium gets it later.
    Write {
        /// The page.
        page: u64,
    },
    /// Asks for I/O past the cache; the process goes on.
    Ask {
        /// By what name processes call it, free again when so many have awaited it; none where nobody will.
        key: Option<(u32, u32)>,
        /// What it does.
        op: Op,
        /// Where.
        at: Extent,
        /// How much it matters, as far as the one who asks knows.
        criticality: Criticality,
    },
    /// Needs what was asked for: waits until that has ended, if it has not.
    Await {
        /// The name it had.
        key: u32,
    },
    /// Writes out the dirty pages of the next of so many parts of the cache.
    Flush {
        /// How many parts.
        parts: u32,
    },
    /// Sleeps for a while.
    Pause {
        /// How long from now on.
        span: Span,
    },
    /// Sleeps until someone wakes this channel; not for I/O. A wake-up before is remembered.
    Sleep {
        /// The channel.
        channel: u32,
    },
    /// Wakes who sleeps on a channel.
    Wakeup {
        /// The channel.
        channel: u32,
    },
    /// Starts another process.
    Fork(Box<dyn Program>),
    /// Ends.
    Exit,
}

/// What a process is going to do.
pub trait Program {
    /// What it does next, when it has done what it did before.
    fn next(&mut self, now: Time) -> Step;

    /// Whether the run is over when all such processes have ended; a daemon never ends.
    fn counts(&self) -> bool {
        true
    }

    /// The processors it may have, a bit each; those from the 65th on count as of the first 64 again.
    fn cpus(&self) -> u64 {
        u64::MAX
    }
}

/// Where a process stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// In the run queue.
    Ready,
    /// On a processor, or being switched to.
    Running,
    /// Blocked until a request in this slot has ended.
    ForRequest(u32),
    /// Asleep until a time.
    Until(Time),
    /// Asleep on a channel.
    On(u32),
    /// Ended.
    Gone,
}

/// A process of the table.
pub(crate) struct Process {
    pub(crate) program: Box<dyn Program>,
    pub(crate) standing: Standing,
    /// What it has begun and not yet done: what it waits for is looked at again when it wakes.
    pub(crate) step: Option<Step>,
    /// What is left to compute.
    pub(crate) left: Span,
    /// Cost of being enabled again, to be paid when it runs next.
    pub(crate) owed: Span,
    /// What is left of its slice.
    pub(crate) slice: Span,
    /// Whether it last left its processor to wait for I/O.
    pub(crate) was_blocked: bool,
}

impl Process {
    pub(crate) fn new(program: Box<dyn Program>, slice: Span) -> Process {
        Process {
            program,
            standing: Standing::Ready,
            step: None,
            left: Span::ZERO,
            owed: Span::ZERO,
            slice,
            was_blocked: false,
        }
    }
}
