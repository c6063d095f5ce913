//! Processes: what they do, step by step, and where they stand.

use crate::limits::LimitEstimate;
use crate::requests::Criticality;
use block::{Extent, Op, Span, Time};

/// A process, by its place in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pid(pub u32);

/// What a process does next.
pub enum ProcessStep {
    /// Computes for so long, on a processor of speed 1.
    Compute(Span),
    /// Reads a page through the buffer cache, and has another read ahead.
    Read {
        /// The page of the file.
        page: u64,
        /// The page after it, if the file goes on.
        ahead: Option<u64>,
    },
    /// Writes a whole page into the buffer cache; the medium gets it later.
    Write {
        /// The page of the file.
        page: u64,
    },
    /// Asks for I/O past the cache; the process goes on.
    Ask {
        /// By what name processes call it, free again when so many have awaited it; none where nobody will.
        key: Option<(u32, u32)>,
        /// Whether it reads or writes.
        op: Op,
        /// The blocks it covers.
        at: Extent,
        /// How much it matters, as far as the one who asks knows.
        criticality: Criticality,
    },
    /// Needs what was or will be asked for: waits until that has ended, if it has not.
    Await {
        /// The name it has.
        key: u32,
        /// Whether it is blocked meanwhile; else it is one that sleeps until there is something to do.
        blocks: bool,
    },
    /// Writes out the dirty pages of the next of so many parts of the cache.
    Flush {
        /// How many parts the cache is written out in.
        parts: u32,
    },
    /// Sleeps for a while.
    Pause {
        /// How long from now on.
        span: Span,
    },
    /// Sleeps until someone wakes this channel. A wake-up before is remembered.
    Sleep {
        /// The channel to sleep on.
        channel: u32,
        /// Whether that is for I/O, which another process tells it of.
        blocks: bool,
    },
    /// Wakes who sleeps on a channel.
    Wakeup {
        /// The channel whose sleepers are woken.
        channel: u32,
    },
    /// Takes a lock, or waits until it has it.
    Lock {
        /// The lock, by a number.
        lock: u32,
    },
    /// Gives up a lock.
    Unlock {
        /// The lock, by a number.
        lock: u32,
    },
    /// Lets the others that can run have their turn first.
    Yield,
    /// Creates another process, which can run at once.
    Fork(Box<dyn Program>),
    /// The process ends here; what waits for it goes on.
    Exit,
}

impl ProcessStep {
    /// Whether a process sleeps by it, unless what it waits for has happened.
    pub(crate) fn sleeps(&self) -> bool {
        matches!(self, ProcessStep::Await { .. } | ProcessStep::Pause { .. } | ProcessStep::Sleep { .. })
    }
}

/// What a process is going to do.
pub trait Program {
    /// What it does next, when it has done what it did before.
    fn next(&mut self, now: Time) -> ProcessStep;

    /// Whether the run is over when all such processes have ended; a daemon never ends.
    fn counts(&self) -> bool {
        true
    }

    /// What it is called; what goes on in interrupts has no name.
    fn name(&self) -> &str {
        ""
    }

    /// As which of all the processors have it in turn, where their order is given.
    fn seat(&self) -> Option<u64> {
        None
    }

    /// Whether it is what interrupts do, and needs no processor, where their order is given.
    fn is_interrupt(&self) -> bool {
        false
    }

    /// The processors it may have, a bit each; those from the 65th on count as of the first 64 again.
    fn cpus(&self) -> u64 {
        u64::MAX
    }
}

/// Where a process stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProcessState {
    /// In the run queue.
    Ready,
    /// On a processor, or being switched to.
    Running,
    /// Blocked until a request in this slot has ended.
    ForRequest(u32),
    /// Asleep until then, and not for want of it.
    Watching(u32),
    /// The same, of a request by the name it will have.
    ForName(u32),
    /// Asleep until a time.
    Until(Time),
    /// Asleep on a channel.
    On(u32),
    /// The same, for I/O.
    ForTold(u32),
    /// Until another gives up a lock.
    ForLock(u32),
    /// The process has ended.
    Gone,
}

impl ProcessState {
    /// Whether it waits for I/O.
    pub(crate) fn is_blocked(self) -> bool {
        matches!(self, ProcessState::ForRequest(_) | ProcessState::ForTold(_))
    }

    /// Whether nothing moves it but another process.
    pub(crate) fn is_still(self) -> bool {
        matches!(
            self,
            ProcessState::On(_)
                | ProcessState::ForTold(_)
                | ProcessState::ForName(_)
                | ProcessState::ForLock(_)
                | ProcessState::Gone
        )
    }
}

/// Where a process's time went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessTimes {
    /// On a processor, switches to it and interrupts of it among them.
    pub running: Span,
    /// In the run queue.
    pub ready: Span,
    /// Blocked until a request had ended.
    pub blocked: Span,
    /// How often it was blocked.
    pub waits: u64,
    /// When it had ended.
    pub ended: Option<Time>,
}

/// A process of the table.
pub(crate) struct ProcessEntry {
    pub(crate) program: Box<dyn Program>,
    pub(crate) standing: ProcessState,
    /// When it entered this state.
    pub(crate) since: Time,
    times: ProcessTimes,
    /// What it had of the processors, as the dispatcher counts.
    pub(crate) had: Span,
    /// What it has begun and not yet done: what it waits for is looked at again when it wakes.
    pub(crate) step: Option<ProcessStep>,
    /// What is left to compute.
    pub(crate) left: Span,
    /// Cost of being enabled again, to be paid when it runs next.
    pub(crate) owed: Span,
    /// What is left of its slice.
    pub(crate) slice: Span,
    /// Whether it last left its processor to wait for I/O.
    pub(crate) was_blocked: bool,
    /// How often it was given a processor.
    pub(crate) dispatches: u32,
    /// How long after it asked somebody waited, so far.
    pub(crate) limits: LimitEstimate,
}

impl ProcessEntry {
    pub(crate) fn new(program: Box<dyn Program>, slice: Span, now: Time) -> ProcessEntry {
        ProcessEntry {
            program,
            standing: ProcessState::Ready,
            since: now,
            times: ProcessTimes::default(),
            had: Span::ZERO,
            step: None,
            left: Span::ZERO,
            owed: Span::ZERO,
            slice,
            was_blocked: false,
            dispatches: 0,
            limits: LimitEstimate::default(),
        }
    }

    /// It stands otherwise from now on; how it stood.
    pub(crate) fn stands(&mut self, now: Time, standing: ProcessState) -> ProcessState {
        self.had = self.had(now);
        self.times = self.times(now);
        self.since = now;
        self.times.waits += u64::from(standing.is_blocked());
        self.times.ended = (standing == ProcessState::Gone).then_some(now);
        std::mem::replace(&mut self.standing, standing)
    }

    /// What it had of the processors until now, as the dispatcher counts.
    pub(crate) fn had(&self, now: Time) -> Span {
        self.had + if self.standing == ProcessState::Running { now.since(self.since) } else { Span::ZERO }
    }

    /// Where its time went until now.
    pub(crate) fn times(&self, now: Time) -> ProcessTimes {
        let mut times = self.times;
        let part = match self.standing {
            ProcessState::Running => &mut times.running,
            ProcessState::Ready => &mut times.ready,
            ProcessState::ForRequest(_) | ProcessState::ForTold(_) => &mut times.blocked,
            ProcessState::Until(_)
            | ProcessState::On(_)
            | ProcessState::Watching(_)
            | ProcessState::ForName(_)
            | ProcessState::ForLock(_)
            | ProcessState::Gone => {
                return times;
            }
        };
        *part += now.since(self.since);
        times
    }
}

/// What came of a step.
pub(crate) enum StepOutcome {
    /// The process goes on at once.
    Done,
    /// The process computes for so long.
    Takes(Span),
    /// The process can go on, after others.
    Yields,
    /// The process leaves its processor.
    Leaves(ProcessState),
}
