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
    /// Whether some of its disks are lacking that were not.
    news: bool,
}

impl ArrayNotes {
    /// Of an array that was found so: what is lacking is given up from now on, and copies and parities agree.
    pub(crate) fn new(status: &ArrayStatus) -> Option<ArrayNotes> {
        let mut label = status.label.clone()?;
        let noted = |state: &MemberState| if *state == MemberState::Sound { Noted::Sound } else { Noted::GivenUp };
        let disks: Vec<Noted> = status.disks.iter().map(noted).collect();
        let news = label.disks != disks;
        label.disks = disks;
        label.dirty = Superblock::clean();
        Some(ArrayNotes { label, news })
    }

    /// All that count know of all that was: what is new is an event from now on. A disk may thereby be one event behind when the
    /// power goes, never two.
    pub(crate) fn begin(&mut self) {
        self.label.events += u64::from(std::mem::take(&mut self.news));
    }

    /// Whether a disk counts.
    pub(crate) fn counts(&self, disk: DiskId) -> bool {
        self.label.disks.get(usize::from(disk.0)) == Some(&Noted::Sound)
    }

    /// Writes down what is known, on each disk that counts; on which it cannot be.
    pub(crate) fn write(&mut self, units: &mut [&mut dyn LiveDevice]) -> Vec<DiskId> {
        self.label.sequence += 1;
        let mut refused = Vec::new();
        for (index, unit) in (0..).zip(units) {
            if !self.counts(DiskId(index)) {
                continue;
            }
            let label = Superblock { index, ..self.label.clone() };
            // The copy that was written before this one is whole, and stays.
            let at = if label.sequence % 2 == 1 { CopyPlace::BehindData } else { CopyPlace::BeforeData };
            if write_copy(&mut **unit, &label.to_bytes(), at).is_err() {
                refused.push(DiskId(index));
            }
        }
        refused
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
