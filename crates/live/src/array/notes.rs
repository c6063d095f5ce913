//! What the disks of an array are told while it is served: which of them count, and which regions are written.

use super::label::{BEHIND, Noted, REGIONS, Superblock};
use super::{ArrayStatus, MemberState};
use crate::memory::Slice;
use crate::unit::LiveDevice;
use block::{BLOCK_BYTES, DiskId, Extent};
use sched::array::Geometry;
use serde_json::{Value, json};
use std::io;

/// Units of a disk that are one region.
fn region_rows(geometry: &Geometry) -> u64 {
    geometry.rows().div_ceil(REGIONS as u64).max(1)
}

/// Whether the region of a row may have been written.
pub(super) fn is_marked(label: &Superblock, geometry: &Geometry, row: u64) -> bool {
    let region = (row / region_rows(geometry)) as usize;
    label.dirty[region / 8] >> (region % 8) & 1 == 1
}

/// Which of the two copies of a superblock.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CopyPlace {
    BeforeData,
    BehindData,
}

/// Writes a superblock to its place on a disk, before the data or behind it.
fn write_copy(unit: &mut dyn LiveDevice, bytes: &[u8], at: CopyPlace) -> io::Result<()> {
    let memory = Slice::new(bytes.len());
    memory.buffer.put(0, bytes);
    let last = (unit.bytes() / BLOCK_BYTES).saturating_sub(BEHIND);
    unit.store(Extent::new(if at == CopyPlace::BehindData { last } else { 0 }, BEHIND as u32), &memory)
}

/// Writes both copies of a superblock, one after the other; of none, zeros.
pub(super) fn write_copies(unit: &mut dyn LiveDevice, label: Option<&Superblock>) -> io::Result<()> {
    let bytes = label.map_or_else(|| vec![0; BEHIND as usize * BLOCK_BYTES as usize], Superblock::to_bytes);
    write_copy(unit, &bytes, CopyPlace::BeforeData)?;
    write_copy(unit, &bytes, CopyPlace::BehindData)
}

/// What the disks of an array know of it.
pub(crate) struct ArrayNotes {
    label: Superblock,
    /// By disk: how many of its rows are filled and on its medium, while it is being filled; which of its copies is written next.
    filled: Vec<u64>,
    next: Vec<CopyPlace>,
    /// Whether some of its disks are lacking that were not.
    news: bool,
}

impl ArrayNotes {
    /// Of an array that was found so: what is lacking is given up from now on, and copies and parities agree.
    pub(crate) fn new(status: &ArrayStatus) -> Option<ArrayNotes> {
        let mut label = status.label.clone()?;
        let noted = |state: &MemberState| match state {
            MemberState::Sound => Noted::Sound,
            MemberState::Filling(_) => Noted::Filling,
            _ => Noted::GivenUp,
        };
        let disks: Vec<Noted> = status.disks.iter().map(noted).collect();
        let news = label.disks != disks;
        label.disks = disks;
        label.dirty = Superblock::clean();
        let filled = status.disks.iter().map(MemberState::rows_held).collect();
        let next = vec![CopyPlace::BeforeData; label.disks.len()];
        Some(ArrayNotes { label, filled, next, news })
    }

    /// All that count know of all that was: what is new is an event from now on. A disk may thereby be one event behind when the
    /// power goes, never two.
    pub(crate) fn begin(&mut self) {
        self.label.events += u64::from(std::mem::take(&mut self.news));
    }

    fn find_note(&self, disk: DiskId) -> Option<Noted> {
        self.label.disks.get(usize::from(disk.0)).copied()
    }

    /// Whether a disk counts: it holds what it should, or is being filled.
    pub(crate) fn counts(&self, disk: DiskId) -> bool {
        matches!(self.find_note(disk), Some(Noted::Sound | Noted::Filling))
    }

    /// The disks that are being filled, each with how many rows of it are.
    pub(crate) fn filling(&self) -> Vec<(DiskId, u64)> {
        let disks = (0..).map(DiskId).zip(self.label.disks.iter().zip(&self.filled));
        let filling = disks.filter(|(_, (noted, _))| **noted == Noted::Filling);
        filling.map(|(disk, (_, filled))| (disk, *filled)).collect()
    }

    /// What a disk is told of itself, and of all.
    fn label_of(&self, disk: DiskId) -> Superblock {
        let at = usize::from(disk.0);
        let filled = if self.find_note(disk) == Some(Noted::Filling) { self.filled[at] } else { 0 };
        Superblock { index: disk.0, own_name: self.label.names[at], filled, ..self.label.clone() }
    }

    /// Writes down what is known, on each disk that counts; on which it cannot be.
    pub(crate) fn write(&mut self, units: &mut [&mut dyn LiveDevice]) -> Vec<DiskId> {
        self.label.sequence += 1;
        let mut refused = Vec::new();
        for (disk, unit) in (0..).map(DiskId).zip(units) {
            if self.counts(disk) && self.write_next(disk, &mut **unit).is_err() {
                refused.push(disk);
            }
        }
        refused
    }

    /// Writes a disk's other copy: the one that was written last is whole, and stays.
    fn write_next(&mut self, disk: DiskId, unit: &mut dyn LiveDevice) -> io::Result<()> {
        let next = &mut self.next[usize::from(disk.0)];
        let at = std::mem::replace(
            next,
            if *next == CopyPlace::BeforeData { CopyPlace::BehindData } else { CopyPlace::BeforeData },
        );
        write_copy(unit, &self.label_of(disk).to_bytes(), at)
    }

    /// What is known, as JSON for programs.
    pub(crate) fn json(&self) -> Value {
        json!({ "array": self.label.name(), "events": self.label.events, "dirty": self.label.count_dirty() })
    }

    /// A disk counts no more.
    pub(crate) fn give_up(&mut self, disk: DiskId) {
        if let Some(noted) = self.label.disks.get_mut(usize::from(disk.0)) {
            *noted = Noted::GivenUp;
            self.label.events += 1;
        }
    }

    /// An empty disk of this name takes the place of one that was given up, and is told so before any other.
    ///
    /// # Errors
    /// When it cannot be written; then it does not count.
    pub(crate) fn replace(&mut self, disk: DiskId, name: u64, unit: &mut dyn LiveDevice) -> io::Result<()> {
        let at = usize::from(disk.0);
        let was = std::mem::replace(&mut self.label.names[at], name);
        (self.label.disks[at], self.filled[at]) = (Noted::Filling, 0);
        self.label.events += 1;
        let written = write_copies(unit, Some(&self.label_of(disk)));
        if written.is_err() {
            (self.label.disks[at], self.label.names[at]) = (Noted::GivenUp, was);
        }
        written
    }

    /// So many rows of a disk that is being filled are, and on its medium: it alone is told.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn keep_filled(&mut self, disk: DiskId, rows: u64, unit: &mut dyn LiveDevice) -> io::Result<()> {
        let filled = &mut self.filled[usize::from(disk.0)];
        if self.label.disks[usize::from(disk.0)] != Noted::Filling || rows <= *filled {
            return Ok(());
        }
        *filled = rows;
        self.label.sequence += 1;
        self.write_next(disk, unit)
    }

    /// A disk that was being filled holds all that it should, on its medium; whether it was.
    pub(crate) fn complete(&mut self, disk: DiskId) -> bool {
        let was = self.find_note(disk) == Some(Noted::Filling);
        if was {
            self.label.disks[usize::from(disk.0)] = Noted::Sound;
            self.label.events += 1;
        }
        was
    }

    /// Marks the regions of an extent of a disk; whether there was one that is not.
    pub(crate) fn mark(&mut self, geometry: &Geometry, at: Extent) -> bool {
        let (Some((first, _)), Some((last, _))) =
            (geometry.place(at.start.0), geometry.place(at.end().0.saturating_sub(1)))
        else {
            return false;
        };
        let mut news = false;
        for region in first / region_rows(geometry)..=last / region_rows(geometry) {
            let (byte, bit) = ((region / 8) as usize, 1 << (region % 8));
            news |= self.label.dirty[byte] & bit == 0;
            self.label.dirty[byte] |= bit;
        }
        news
    }

    /// All that was written is on the disks, and agrees.
    pub(crate) fn clean(&mut self) {
        self.label.dirty = Superblock::clean();
    }
}
