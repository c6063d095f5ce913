//! Room on the disks of an array for what is about to be written.
//!
//! **A full file system is no broken disk.** Of a write that one disk took and another had no room for, copies and parities would not
//! agree. So all disks that it goes to have room before any is written to; where one has none the write fails, nothing of it was begun,
//! and none is given up.
//!
//! Room is made by chunks, so that few writes have to ask for it. A block of an array lies equally far on each disk that it is on, and so
//! do the parities of its row, any of which may be written with it. Of copies no other disk is: room there would be taken for nothing.

use super::Members;
use crate::unit::LiveDevice;
use block::errno::ENOSPC;
use block::{DiskId, Extent};
use sched::array::{Geometry, Piece};
use std::collections::BTreeMap;
use std::io;

/// Blocks of a chunk: 256 KiB.
const CHUNK: u64 = 512;

/// The chunks for which a disk has room, as bits, by the disk and the number of each 64.
#[derive(Default)]
pub(super) struct Room(BTreeMap<(DiskId, u64), u64>);

impl Room {
    fn has(&self, disk: DiskId, chunk: u64) -> bool {
        self.0.get(&(disk, chunk / 64)).is_some_and(|bits| bits >> (chunk % 64) & 1 != 0)
    }

    fn add(&mut self, disk: DiskId, chunk: u64) {
        *self.0.entry((disk, chunk / 64)).or_default() |= 1 << (chunk % 64);
    }

    /// Disks are others, or gave up what they held.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }
}

/// The disks that may be written with a piece. While rows move any may be.
fn list_written(geometry: &Geometry, piece: &Piece) -> impl Iterator<Item = DiskId> + use<> {
    let (geometry, row, column) = (*geometry, piece.row, piece.column);
    let any = geometry.is_growing() || geometry.layout_of(row).has_parity();
    let disks = (0..geometry.disks()).map(DiskId);
    disks.filter(move |disk| any || geometry.column(row, *disk) == Some(column))
}

impl Members {
    /// Sees to it that all disks that it goes to have room for a write of these blocks of the array.
    ///
    /// Where each block is there once nothing has to agree, and what fails for lack of room has only failed.
    pub(super) fn make_room_for(&mut self, at: Extent) -> Result<(), i32> {
        let geometry = self.geometry;
        if geometry.level().redundancy() == 0 {
            return Ok(());
        }
        for piece in geometry.pieces(at) {
            let at = geometry.on_disk(piece.row, piece.within, piece.blocks);
            for chunk in at.start.0 / CHUNK..at.end().0.div_ceil(CHUNK) {
                if !list_written(&geometry, &piece).all(|disk| self.room.has(disk, chunk)) {
                    self.make_room_in(chunk, at, &piece)?;
                }
            }
        }
        Ok(())
    }

    /// Makes room in a chunk for all that the array has there; where there is not so much, for what is to be written.
    fn make_room_in(&mut self, chunk: u64, at: Extent, piece: &Piece) -> Result<(), i32> {
        let geometry = self.geometry;
        let (first, end) = geometry.rows_on_disk();
        let within = |from: u64, to: u64| {
            let (from, to) = (from.max(chunk * CHUNK), to.min((chunk + 1) * CHUNK));
            Extent::new(from, (to - from) as u32)
        };
        // What is noted while a disk is lacking finds room, too.
        if self.room.0.is_empty() && first > 0 {
            self.reserve_on((0..geometry.disks()).map(DiskId), Extent::new(0, first as u32))?;
        }
        match self.reserve_on(list_written(&geometry, piece), within(first, end)) {
            Ok(()) => list_written(&geometry, piece).for_each(|disk| self.room.add(disk, chunk)),
            Err(_) => self.reserve_on(list_written(&geometry, piece), within(at.start.0, at.end().0))?,
        }
        Ok(())
    }

    fn reserve_on(&mut self, disks: impl Iterator<Item = DiskId>, at: Extent) -> Result<(), i32> {
        let lacking = self.lacking();
        for disk in disks.filter(|disk| !lacking.contains(disk)) {
            // Of what else is wrong the write itself will tell.
            let reserved = self.members[usize::from(disk.0)].unit.reserve(at);
            if reserved.is_err_and(|error| is_for_room(&error)) {
                return Err(ENOSPC);
            }
        }
        Ok(())
    }
}

fn is_for_room(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
