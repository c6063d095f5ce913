//! What a live core's commands go to: one file a kind.

mod emulated;
mod far;
mod faulty;
mod file;
mod members;
mod ram;
mod summed;

pub use emulated::Emulated;
pub use far::Far;
pub use faulty::{Fault, FaultChange, FaultReach, Faulty};
pub use file::{PageCache, ServedFile};
pub(crate) use file::{alike, allocate, punch};
pub use members::{MemberOpener, Members};
pub use ram::Ram;
pub use summed::{SumKey, Summed};

use crate::array::{ArrayOrder, Clients, UpkeepErrand, WriteLog};
use crate::kernel::Kernel;
use crate::memory::Slice;
use block::{BLOCK_BYTES, Caps, Command, DiskId, Ending, Extent, Outcome, Span, Tag, Time};
use drive::Parts;
use sched::array::{Geometry, Grown};
use sched::{Action, Health, Mend};
use std::io;

/// A command that came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// The one with this tag.
    pub tag: Tag,
    /// When that happened, which may be before now.
    pub happened: Time,
    /// How the command ended.
    pub outcome: Outcome,
    /// How long it was to take, where that is known: an emulated drive.
    pub took: Option<Span>,
    /// What that was spent on, where it is known.
    pub parts: Option<Parts>,
}

impl Done {
    /// It came back now.
    #[must_use]
    pub fn now(now: Time, tag: Tag, outcome: Outcome) -> Done {
        Done { tag, happened: now, outcome, took: None, parts: None }
    }
}

/// Zeros that a device makes without a transfer, in much less time than they could be written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Zeroes {
    /// Those that need not be allocated.
    pub holes: bool,
    /// Those for which there is room when they are written.
    pub kept: bool,
}

/// How far what was to be stored is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// It is on the medium.
    Done,
    /// The kernel has it.
    Begun,
}

/// A device in real time.
pub trait LiveDevice {
    /// What it can do.
    fn caps(&self) -> Caps;

    /// What each of its disks can do, whose tags follow one another: of an array several.
    fn members(&self) -> Vec<Caps> {
        vec![self.caps()]
    }

    /// Whether all that it holds is still to be had where these of its disks are of no use any more.
    fn is_whole_without(&self, lacking: &[DiskId]) -> bool {
        lacking.is_empty()
    }

    /// Its length: that of its blocks, of which the last may be less than whole.
    fn bytes(&self) -> u64 {
        self.caps().blocks * BLOCK_BYTES
    }

    /// Gives it a command, with memory for the bytes it moves, if it moves any. What comes of it comes from `done`.
    ///
    /// # Errors
    /// When the kernel takes no more.
    fn issue(
        &mut self,
        now: Time,
        tag: Tag,
        command: &Command,
        memory: Option<Slice>,
        kernel: &mut dyn Kernel,
    ) -> io::Result<()>;

    /// When it will have something to say by itself.
    fn due(&self) -> Option<Time> {
        None
    }

    /// The same of one of its disks.
    fn due_of(&self, _: DiskId) -> Option<Time> {
        self.due()
    }

    /// The next command that has come back by now.
    fn next_completion(&mut self, now: Time) -> Option<Done>;

    /// The kernel completed what it was given for a command.
    ///
    /// # Errors
    /// When the kernel takes no more.
    fn on_completion(&mut self, _: Time, _: Tag, _: i32, _: &mut dyn Kernel) -> io::Result<()> {
        Ok(())
    }

    /// Where the arm's time went since this was last asked, if there is an arm.
    fn account(&mut self, _: Time) -> Option<drive::Account> {
        None
    }

    /// Copies what blocks hold now, without waiting for an arm; whether it can.
    fn peek(&mut self, _: Extent, _: &Slice) -> bool {
        false
    }

    /// Changes what blocks hold, in the same way.
    fn poke(&mut self, _: Extent, _: &Slice) {}

    /// Writes blocks and has them on the medium when it returns: what a service notes of the device, beside what clients ask.
    ///
    /// # Errors
    /// When they are not there.
    fn store(&mut self, _: Extent, _: &Slice) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Begins to do the same. Where that goes on when this returns, the kernel completes a command of this number, with so many bytes.
    ///
    /// # Errors
    /// When they are not there, or the kernel takes no more.
    fn begin_store(&mut self, at: Extent, from: &Slice, _number: u32, _: &mut dyn Kernel) -> io::Result<Stored> {
        self.store(at, from).map(|()| Stored::Done)
    }

    /// Has on the medium, when it returns, all that was written.
    ///
    /// # Errors
    /// When it is not.
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Some of its disks count no more: whether the others know, so that they will not be taken for what those hold.
    fn give_up(&mut self, _: &[DiskId]) -> bool {
        true
    }

    /// What waited for a disk that was given up goes on.
    ///
    /// # Errors
    /// When the kernel takes no more.
    fn go_on(&mut self, _: Time, _: &mut dyn Kernel) -> io::Result<()> {
        Ok(())
    }

    /// Which of its disks it is that keeps what this one was asked.
    fn keeper(&self, disk: DiskId) -> DiskId {
        disk
    }

    /// One of its disks on which nothing could be noted.
    fn next_refusal(&mut self) -> Option<DiskId> {
        None
    }

    /// Disks that are lacking from the beginning.
    fn lacking(&self) -> Vec<DiskId> {
        Vec::new()
    }

    /// Of these, those that the core has not given up yet: it hears that they are of no use.
    fn foretold(&self) -> &[DiskId] {
        &[]
    }

    /// Disks that are being filled from the beginning, and up to which block each is.
    fn filling(&self) -> Vec<(DiskId, u64)> {
        Vec::new()
    }

    /// Whether zeros can be made of its blocks without a transfer, in no time to speak of.
    fn can_empty(&self) -> bool {
        false
    }

    /// Makes zeros of blocks, where it can: on the medium with the next `sync`.
    ///
    /// # Errors
    /// When they are not zeros.
    fn empty(&mut self, _: Extent) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Sees to it that there is room for blocks, so that a write of them will find it.
    ///
    /// # Errors
    /// When there is none, or that cannot be told.
    fn reserve(&mut self, _: Extent) -> io::Result<()> {
        Ok(())
    }

    /// Of an array: sees to it that all of its disks have room for a write of these blocks.
    ///
    /// # Errors
    /// The errno, where one has not.
    fn make_room(&mut self, _: Extent) -> Result<(), i32> {
        Ok(())
    }

    /// What the core is to be told of one of its disks: what of one that is being filled holds what it should already, or that the
    /// others know of one that it holds all.
    fn next_health(&mut self) -> Option<(DiskId, Health)> {
        None
    }

    /// A record of an array's journal is about to be written from this memory, and needs its head; or it is done with.
    fn keep_record(&mut self, _: &Action, _: Option<&Slice>) {}

    /// Nobody needs any more what blocks of the array hold.
    fn note_discard(&mut self, _: Extent) {}

    /// What the array is told, where it is one.
    ///
    /// # Errors
    /// Why it cannot be done.
    fn order(&mut self, _: &ArrayOrder) -> Result<(), String> {
        Err("the service has no array".into())
    }

    /// Where the blocks of an array lie, where it is one.
    fn geometry(&self) -> Option<Geometry> {
        None
    }

    /// A further disk is there from now on, by which an array grows, or has a second parity: which, and what the core is to hear.
    fn join(&mut self) -> Option<(DiskId, Health)> {
        None
    }

    /// The array has grown so far, which its disks are to know.
    ///
    /// # Errors
    /// When the kernel takes no more.
    fn note_grown(&mut self, _: Time, _: Grown, _: &mut dyn Kernel) -> io::Result<()> {
        Ok(())
    }

    /// A disk whose place another is to take, as soon as nothing is in flight on it.
    fn next_change(&mut self) -> Option<DiskId> {
        None
    }

    /// The other takes its place, empty; whether it could be told so.
    fn change_disk(&mut self, _: DiskId) -> bool {
        false
    }

    /// One of its disks that was being filled holds what it should, though maybe not on its medium.
    fn complete(&mut self, _: DiskId) {}

    /// When it has something to ask of the core for itself.
    fn errand_due(&self, _: Clients) -> Option<Time> {
        None
    }

    /// What it asks of the core for itself now.
    fn next_errand(&mut self, _: Time, _: Clients) -> Option<UpkeepErrand> {
        None
    }

    /// What it had asked for, by its number, has ended.
    fn end_errand(&mut self, _: Time, _: u32, _: Ending) {}

    /// What one of its disks should hold there is written to it anew.
    fn note_mend(&mut self, _: Extent, _: Mend) {}

    /// The log of an array's write buffer, where there is one.
    fn write_log(&mut self) -> Option<&mut WriteLog> {
        None
    }

    /// Nothing is on the log that the array needs: its disks know that it is to be had without.
    fn give_up_log(&mut self) {}

    /// What the array is, where it is one, as JSON.
    fn array_json(&self) -> Option<serde_json::Value> {
        None
    }

    /// All that was asked is done and on the medium, and nothing more will be.
    fn close(&mut self) {}

    /// Something is wrong with what is in reach, or not any more.
    ///
    /// # Errors
    /// Why it cannot be.
    fn fault(&mut self, _: Time, _: FaultReach, _: FaultChange, _: &mut dyn Kernel) -> Result<(), String> {
        Err("the service has no faults; give it `faults = true` in [serve], and start it anew".into())
    }

    /// The same of one of its disks, all of it.
    ///
    /// # Errors
    /// Why it cannot be.
    fn fault_disk(&mut self, _: Time, disk: DiskId, _: FaultChange, _: &mut dyn Kernel) -> Result<(), String> {
        Err(format!("there is no disk {}: the service has no array", disk.0))
    }

    /// Whether it knows a checksum of what was written to each of its blocks.
    fn has_sums(&self) -> bool {
        false
    }

    /// Whose checksums it is to know: those of another are none.
    fn set_sum_key(&mut self, _: SumKey) {}

    /// What blocks hold now is taken for what was written.
    fn sum_anew(&mut self, _: Extent) {}

    /// Has its checksums on the medium, when it returns.
    ///
    /// # Errors
    /// When they are not.
    fn keep_sums(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Blocks that were not brought, since they are not as they were written.
    fn next_spoilt(&mut self) -> Option<Extent> {
        None
    }

    /// Which zeros it makes without a transfer.
    fn zeroes(&self) -> Zeroes {
        Zeroes::default()
    }

    /// How many blocks from the first on are alike, at most all; whether they may hold anything but zeros.
    fn alike(&mut self, at: Extent) -> (u64, bool) {
        (u64::from(at.blocks), true)
    }
}
