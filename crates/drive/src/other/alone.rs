//! A disk inside a device that has it do one thing after another, and is not asked by anybody else.

use crate::Drive;
use crate::account::Parts;
use block::{Command, Extent, Lbn, Place, Tag, Time, Verb};
use disk::{Queue, Sheet};

/// The disk, and until when it is at work.
pub(super) struct AloneDisk {
    drive: Drive,
    /// When it was free last, or will be.
    pub(super) free: Time,
}

impl AloneDisk {
    pub(super) fn new(drive: &disk::Drive, seed: u64) -> AloneDisk {
        let sheet = &drive.sheet;
        let sheet = Sheet { queue: Queue { depth: 1, ..sheet.queue }, ..sheet.clone() };
        AloneDisk { drive: Drive::new(&sheet, &drive.truth, seed), free: Time::ZERO }
    }

    /// It does something from when it is free; what that took.
    pub(super) fn ask(&mut self, verb: Verb, start: u64, blocks: u64) -> Parts {
        let at = Extent { start: Lbn(start), blocks: blocks as u32 };
        self.drive.issue(self.free, Tag(0), Command::new(verb, at, Place::Nowhere));
        let (end, _, _, parts) = self.drive.complete();
        self.free = end;
        parts
    }
}
