//! What a device is told: drive commands, how they come back and what a device can do.

use crate::{Discarded, Extent, RequestId};

/// One device of a core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DiskId(pub u16);

/// A slot of the core's for a command in flight; free again only after its `Done`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub u32);

/// A piece of memory of the core's, a chunk long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameId(pub u32);

/// Where the bytes of a command are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Nowhere: the command moves no data, as a flush or a seek.
    Nowhere,
    /// In a request's own memory, so many blocks into it.
    Request(RequestId, u32),
    /// In a frame of the core's, so many blocks into it.
    Frame(FrameId, u32),
    /// In the memory for what is read in any order, of which one command is in flight.
    Scan,
}

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Transfers from the device.
    Read,
    /// Transfers to the device.
    Write {
        /// Complete on the medium, not in the drive's buffer.
        fua: bool,
    },
    /// Gives up what blocks hold, without a transfer. The arm does not move for it.
    Discard(Discarded),
    /// Moves the arm to where the extent begins, and transfers nothing.
    Seek,
    /// Empties the drive's write buffer.
    Flush,
}

/// Which way data goes between the medium and the host. Heads settle more finely before they write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the medium to the host.
    Read,
    /// From the host to the medium.
    Write,
}

impl Direction {
    /// Whether it is to the medium.
    #[must_use]
    #[inline(always)]
    pub const fn writes(self) -> bool {
        matches!(self, Direction::Write)
    }
}

impl Verb {
    /// Which way its data goes. What transfers nothing positions the arm as a read does.
    #[must_use]
    #[inline(always)]
    pub const fn direction(self) -> Direction {
        if self.writes() { Direction::Write } else { Direction::Read }
    }

    /// Whether it changes blocks.
    #[must_use]
    pub const fn writes(self) -> bool {
        matches!(self, Verb::Write { .. } | Verb::Discard(_))
    }

    /// Whether it transfers blocks.
    #[must_use]
    pub const fn transfers(self) -> bool {
        matches!(self, Verb::Read | Verb::Write { .. })
    }
}

/// What a command asks of a drive that orders commands itself: the bits beside its blocks in an NCQ command (ACS-5). A drive heeds
/// those that its file says it heeds, and passes over the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mark {
    /// It asks for nothing.
    #[default]
    Plain,
    /// High priority (PRIO): to go before others.
    High,
    /// The command duration limit of this number, 1 to 7, that the drive keeps.
    Limit(u8),
}

impl Mark {
    /// A number for it: 0 of none, 1 of high priority, then those of limits.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Mark::Plain => 0,
            Mark::High => 1,
            Mark::Limit(number) => 1 + number,
        }
    }

    /// The mark of a number, if there is one.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Mark> {
        match code {
            0 => Some(Mark::Plain),
            1 => Some(Mark::High),
            2..=8 => Some(Mark::Limit(code - 1)),
            _ => None,
        }
    }
}

/// One drive command. Once issued it is never interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// Whether it reads, writes, flushes or only positions the arm.
    pub verb: Verb,
    /// The blocks it transfers, or seeks to.
    pub at: Extent,
    /// Where its bytes are.
    pub place: Place,
    /// How it asks to be served beside others.
    pub mark: Mark,
}

impl Command {
    /// A command without a mark.
    #[must_use]
    #[inline(always)]
    pub const fn new(verb: Verb, at: Extent, place: Place) -> Command {
        Command { verb, at, place, mark: Mark::Plain }
    }
}

/// How a command came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All of its blocks were transferred.
    Ok,
    /// Not done, for the reason the errno gives.
    Failed(i32),
}

/// How a device carries out a [`Verb::Seek`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SeekBy {
    /// It does nothing: it has no arm, or nobody can move that without a transfer.
    Nothing,
    /// By a command of its own, which ends when the arm is there.
    #[default]
    Command,
    /// By a read of the block, which ends when that has come round. What is read is of no use.
    Read,
}

impl SeekBy {
    /// What a command comes to in the device.
    #[must_use]
    pub const fn as_done(self, command: Command) -> Command {
        match (self, command.verb) {
            (SeekBy::Read, Verb::Seek) => Command { verb: Verb::Read, ..command },
            _ => command,
        }
    }
}

/// What a device can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Its capacity in blocks.
    pub blocks: u64,
    /// How many commands it takes at once.
    pub depth: u16,
    /// How its arm is moved where nothing is to be transferred.
    pub seek: SeekBy,
    /// How many arms it has that move by themselves, one after the other each in an equal share of its blocks.
    pub arms: u16,
}
