//! What happens to a core and what it decides.

use crate::array::Grown;
use crate::array::field::Factor;
use crate::bills::Bill;
use crate::shares::Claim;
use block::{Change, Command, DiskId, Ending, Extent, Outcome, Place, Request, RequestId, Tag, Time};

/// What can happen to a core. At one instant: completions, amendments, submissions, the wake.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Input {
    /// A command of this disk came back; the time is when it happened, which may be before now.
    Done(DiskId, Tag, Time, Outcome),
    /// Something changed about a request.
    Amend(RequestId, Change),
    /// A request was submitted; only while there is room.
    Submit(Request),
    /// Something became of a disk.
    Disk(DiskId, Health),
    /// A class, with all of its volume where that has a claim, may have this of the arm's time from now on.
    Claim(u8, Claim),
    /// What [`Action::Compare`] of these numbers came to.
    Compared(u32, u16, Likeness),
    /// Something became of the log of an array's write buffer.
    Log(LogNews),
    /// The time of `wake_at` has come.
    Wake,
}

/// What a core decides about the log of an array's write buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogOrder {
    /// A write is in the buffer, and is to be in the log, too. It ends well as soon as the log has all writes up to its number, or is
    /// given up.
    Write {
        /// Its place in the order of all such writes, from 1.
        number: u64,
        /// The request whose write it is.
        request: RequestId,
        /// The blocks that it writes.
        at: Extent,
        /// Where its bytes are.
        place: Place,
    },
    /// All writes of lower numbers are on the media of the disks.
    Settled(u64),
    /// After the log has failed, nothing is in the buffer any more: [`LogNews::GivenUp`] answers when the disks know.
    Drained,
    /// What is in the buffer no disk takes: it is to be had from the log alone, and nothing is written any more.
    Stuck,
}

/// What can become of the log of an array's write buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogNews {
    /// It takes nothing more. What is in the buffer goes to the disks; until all of it is there, no write begins and no flush ends.
    Failed,
    /// The disks know that they are not to be had with it: the array has no buffer from now on. Answers [`LogOrder::Drained`].
    GivenUp,
}

/// Whether blocks hold the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Likeness {
    /// They hold the same.
    Alike,
    /// They differ in at least a byte.
    Unlike,
}

/// Why a disk of an array that holds what it should is written anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mend {
    /// It did not bring it.
    Unreadable,
    /// It did not agree with the others.
    Unlike,
    /// It was said to hold it while it is being filled, and may not: something is being written there that may not know of it.
    Doubtful,
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
        /// The place to copy from.
        from: Place,
        /// The place to copy to.
        to: Place,
        /// How many blocks to copy.
        blocks: u32,
    },
    /// Add blocks in memory to others, each byte multiplied first, in the field of 256 elements: the sum of parity. Multiplied by
    /// one, that is bit by bit without carry.
    Xor {
        /// The place of the operands.
        from: Place,
        /// The place that takes the result.
        into: Place,
        /// How many blocks to combine.
        blocks: u32,
        /// What each byte is multiplied by.
        times: Factor,
    },
    /// Compare blocks in memory: [`Input::Compared`] of the same two numbers answers. Only where
    /// [`crate::array::ArrayPlan::comparing`] says so.
    Compare {
        /// What is compared for.
        number: u32,
        /// Which of what is compared for it.
        slot: u16,
        /// Where the blocks of the first lie.
        one: Place,
        /// Where those to compare them with lie.
        other: Place,
        /// How many blocks to compare.
        blocks: u32,
    },
    /// What a disk of an array should hold there is written to it anew.
    Mend(DiskId, Extent, Mend),
    /// A disk of an array is of no use any more: from now on nothing is read from it or written to it, and what follows rests on
    /// the others alone. Those that follow one another are given up together. Where there is a journal of rows
    /// ([`crate::array::ArrayPlan::journal`]), [`Health::Known`] answers when the others know: until then no row is
    /// written and no request ends.
    GiveUp(DiskId),
    /// A disk of an array that was filled holds all that it should.
    Complete(DiskId),
    /// The array has come to lie on this disk, too, as far as this; on the medium. [`Health::Told`] answers when its disks know.
    Grown(DiskId, Grown),
    /// A record of the journal is in memory but for its head, which is to be put before it: the command for it follows. Only where
    /// [`crate::array::ArrayPlan::journal`] says where it goes.
    Record {
        /// Where it lies: a block for the head, then what is kept of each slot.
        place: Place,
        /// The first block of the row's part that it is about, on any disk, and how many there are.
        start: u64,
        /// How many blocks of each slot it is about.
        blocks: u8,
        /// The place that the record has, below [`crate::array::MOST_RECORDS`].
        slot: u8,
        /// A bit for each column that is written, but is not kept.
        written: u64,
        /// A bit for each slot of the row that is kept: a column as it will be, a parity without the columns that are not kept.
        kept: u64,
    },
    /// The record in this place is done with: what it is about is on the medium, or was never written.
    Forget(u8),
    /// What is to be done about the log of an array's write buffer. Only where [`crate::array::ArrayPlan::logged`] says that there is one.
    Log(LogOrder),
    /// A request has ended; its slot is free.
    Finish(RequestId, Ending),
    /// What a request waits for from now on, whenever no command of it is in flight; said only where [`crate::plan::Rules::tells`].
    Wait(RequestId, Wait),
    /// Blocks wanted in any order are in their memory, which the next command for such blocks uses anew; or they are
    /// unreadable.
    HandOn(Extent, Found),
    /// The command issued next is for this request, though its bytes are not in the memory of one; said only where
    /// [`crate::plan::Rules::tells`].
    Credit(RequestId),
    /// Who pays for the command issued next; said only where [`crate::plan::Rules::bills`].
    Bill(Bill),
}

/// Takes what a core decides, in order: memory, or a world that carries it out at once.
pub trait ActionSink {
    /// Takes an action, after all those before it.
    fn push(&mut self, action: Action);

    /// Takes what is decided where memory is at hand for it: off the hot path.
    fn gather<T>(&mut self, decide: impl FnOnce(&mut Vec<Action>) -> T) -> T;
}

impl ActionSink for Vec<Action> {
    #[inline(always)]
    fn push(&mut self, action: Action) {
        Vec::push(self, action);
    }

    #[inline(always)]
    fn gather<T>(&mut self, decide: impl FnOnce(&mut Vec<Action>) -> T) -> T {
        decide(self)
    }
}

/// In whose time blocks that are wanted in any order were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// In the rotational delay of a request, before the arm left the track it was on.
    Source,
    /// In the same, on a track on the way or beside it.
    Between,
    /// In the same, on the track of the request.
    Destination,
    /// In the slack of a seek that was put off, on the track the arm was on.
    Slack,
    /// While there was no request.
    Idle,
    /// In the least part of the arm's time that its class has.
    Floor,
    /// They could not be read, and will not be tried again.
    Unreadable,
}

impl Found {
    /// How many kinds there are.
    pub const KINDS: usize = Found::Unreadable as usize + 1;
}

/// What a request can wait for while no command of it is in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wait {
    /// Room: in the scheduler, whose queue is bounded, or in the write buffer of an array.
    Admission,
    /// The end of an earlier request that it overlaps, where either writes.
    Overlap,
    /// Its turn, in the scheduler's queue.
    #[default]
    Queue,
    /// Its turn has come, and its seek is put off until just in time: slack.
    Slack,
    /// To go on, after another has interrupted it.
    Preempted,
}

impl Wait {
    /// How many kinds there are.
    pub const KINDS: usize = Wait::Preempted as usize + 1;
}

/// What can become of a disk of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// It answers no more, or only with errors.
    Failed,
    /// An empty one took its place.
    Replaced,
    /// Before anything was asked of it: it was being filled, and holds what it should up to this block of it.
    Filled(u64),
    /// It is being filled, and holds what it should in this extent of it already: zeros, where nothing was ever written. Where a
    /// write is under way, which may not know of the disk, it is filled like the rest.
    Holds(Extent),
    /// A further one, by which the array grows from now on.
    Joins,
    /// One like the others: rows of the array come to have parity in place of copies, as far as the disks are told.
    TradesCopies,
    /// A further one, empty, on which the array has a second parity of each row from now on.
    JoinsForParity,
    /// It was given up, it had the second parities, and the array does without them from now on.
    LeavesWithParity,
    /// The disks know how far the array has grown: answers [`Action::Grown`].
    Told,
    /// Its array's disks know that it was given up; or, of one that was filled, that it holds all that it should.
    Known,
}
