//! Room on the disks of an array for what is about to be written.
//!
//! **A full file system is no broken disk.** Of a write that one disk took and another had no room for, copies and parities would not
//! agree. So all disks have room before any is written to; where one has none the write fails, nothing of it was begun, and none is
//! given up.
//!
//! Room is made by chunks, so that few writes have to ask for it. A block of an array lies equally far on each disk that it is on, and so
//! do the parities of its row.

use super::Members;
use crate::unit::LiveDevice;
use block::errno::ENOSPC;
use block::{DiskId, Extent};
use std::collections::BTreeMap;
use std::io;

/// Blocks of a chunk: 256 KiB.
const CHUNK: u64 = 512;

/// The chunks for which all disks have room, as bits, by the number of each 64.
#[derive(Default)]
pub(super) struct Room(BTreeMap<u64, u64>);

impl Room {
    fn has(&self, chunk: u64) -> bool {
        self.0.get(&(chunk / 64)).is_some_and(|bits| bits >> (chunk % 64) & 1 != 0)
    }

    fn add(&mut self, chunk: u64) {
        *self.0.entry(chunk / 64).or_default() |= 1 << (chunk % 64);
    }

    /// Disks are others, or gave up what they held.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }
}

impl Members {
    /// Sees to it that all disks have room for a write of these blocks of the array.
    ///
    /// Where each block is there once nothing has to agree, and what fails for lack of room has only failed.
    pub(super) fn make_room_on_all(&mut self, at: Extent) -> Result<(), i32> {
        let geometry = self.geometry;
        if geometry.level().redundancy() == 0 {
            return Ok(());
        }
        for piece in geometry.pieces(at) {
            let at = geometry.on_disk(piece.row, piece.within, piece.blocks);
            for chunk in at.start.0 / CHUNK..at.end().0.div_ceil(CHUNK) {
                if !self.room.has(chunk) {
                    self.make_room_in(chunk, at)?;
                }
            }
        }
        Ok(())
    }

    /// Makes room in a chunk for all that the array has there; where there is not so much, for what is to be written.
    fn make_room_in(&mut self, chunk: u64, at: Extent) -> Result<(), i32> {
        let (first, end) = self.geometry.rows_on_disk();
        let within = |from: u64, to: u64| {
            let (from, to) = (from.max(chunk * CHUNK), to.min((chunk + 1) * CHUNK));
            Extent::new(from, (to - from) as u32)
        };
        // What is noted while a disk is lacking finds room, too.
        if self.room.0.is_empty() && first > 0 {
            self.reserve_on_all(Extent::new(0, first as u32))?;
        }
        match self.reserve_on_all(within(first, end)) {
            Ok(()) => self.room.add(chunk),
            Err(_) => self.reserve_on_all(within(at.start.0, at.end().0))?,
        }
        Ok(())
    }

    fn reserve_on_all(&mut self, at: Extent) -> Result<(), i32> {
        let lacking = self.lacking();
        let disks = usize::from(self.geometry.disks());
        let members = (0..).map(DiskId).zip(&mut self.members[..disks]).filter(|(disk, _)| !lacking.contains(disk));
        for (_, member) in members {
            // Of what else is wrong the write itself will tell.
            if member.unit.reserve(at).is_err_and(|error| is_for_room(&error)) {
                return Err(ENOSPC);
            }
        }
        Ok(())
    }
}

fn is_for_room(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
