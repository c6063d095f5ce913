//! What the disks of an array are told while it is served: which of them count, and which regions are written.

use super::assembly::find_older_copy;
use super::journal::LiveRecords;
use super::label::{BEHIND, CopyPlace, LABEL_BYTES, LATER, LabelGrowth, Noted, Superblock};
use super::regions::{self, RegionBits};
use super::{ArrayStatus, LogName, MemberState};
use crate::memory::Slice;
use crate::unit::{LiveDevice, SumKey};
use block::{BLOCK_BYTES, DiskId, Extent};
use sched::Action;
use sched::array::{Geometry, Grown, Level};
use serde_json::{Value, json};
use std::io;

/// Regions that are made zeros at once.
const DISCARDED_AT_ONCE: usize = 64;

/// Writes a superblock to its place on a disk, before the data or behind it.
fn write_copy(unit: &mut dyn LiveDevice, bytes: &[u8], at: CopyPlace) -> io::Result<()> {
    let memory = Slice::new(bytes.len());
    memory.buffer.put(0, bytes);
    let last = (unit.bytes() / BLOCK_BYTES).saturating_sub(BEHIND);
    unit.store(Extent::new(if at == CopyPlace::BehindData { last } else { 0 }, BEHIND as u32), &memory)
}

/// Writes both copies of a superblock, one after the other; of none, zeros. What was noted later on a disk that is now another's is gone.
pub(super) fn write_copies(unit: &mut dyn LiveDevice, label: Option<&Superblock>) -> io::Result<()> {
    LATER.into_iter().try_for_each(|at| unit.store(Extent::new(at, BEHIND as u32), &Slice::new(LABEL_BYTES)))?;
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
    /// Regions of which a write has nothing to note: they are dirty, not blank, and nothing of them was discarded.
    settled: RegionBits,
    /// Regions that nobody needs any more, and the part of the array that was last discarded, piece by piece.
    discarded: RegionBits,
    run: (u64, u64),
    /// What rows of which something is missing have beside it.
    records: LiveRecords,
    /// How often marks were noted while nobody waited.
    laters: u64,
}

impl ArrayNotes {
    /// Of an array that was found so, for a service of this number: what is lacking is given up from now on, and copies and parities agree.
    pub(crate) fn new(status: &ArrayStatus, service: u64) -> Option<ArrayNotes> {
        let mut label = status.label.clone()?;
        let noted = |state: &MemberState| match state {
            MemberState::Sound => Noted::Sound,
            MemberState::Filling(_) => Noted::Filling,
            _ => Noted::GivenUp,
        };
        let disks: Vec<Noted> = status.disks.iter().map(noted).collect();
        let news = label.disks != disks;
        label.disks = disks;
        if label.former_service == label.service {
            label.service = service;
        }
        label.dirty = RegionBits::default();
        if let Some(LabelGrowth { grown, .. }) = &mut label.growth {
            // That row was written as its copy has it.
            grown.rows += u64::from(std::mem::take(&mut grown.copied));
        }
        let filled = status.disks.iter().map(MemberState::rows_held).collect();
        let next = vec![CopyPlace::BeforeData; label.disks.len()];
        let (settled, discarded) = (RegionBits::default(), RegionBits::default());
        let records = LiveRecords::new(status.journal.next);
        // What they told was seen to.
        label.journal = records.next;
        Some(ArrayNotes { label, filled, next, news, settled, discarded, run: (0, 0), records, laters: 0 })
    }

    /// All that count know of all that was: what is new is an event from now on. A disk may thereby be one event behind when the
    /// power goes, never two.
    pub(crate) fn begin(&mut self) {
        self.label.events += u64::from(std::mem::take(&mut self.news));
    }

    /// All that count were told of this service. One that is stopped before this has told some; the next goes on with its number.
    pub(crate) fn settle_service(&mut self) {
        self.label.former_service = self.label.service;
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

    /// Of each disk the older copy is written next: where that is cut off, the newer one is there.
    pub(crate) fn find_older(&mut self, units: &mut [&mut dyn LiveDevice]) {
        self.next = units.iter_mut().map(|unit| find_older_copy(&mut **unit)).collect();
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

    /// What a disk is to be told of marks, while nobody waits, and where: the other place of two that are for this.
    pub(crate) fn later(&mut self, disk: DiskId) -> (Extent, Slice) {
        let place = LATER[(self.laters % 2) as usize];
        (Extent::new(place, BEHIND as u32), Slice::holding(&self.label_of(disk).to_bytes()))
    }

    /// What is noted from now on is later than all before; in turns of two.
    pub(crate) fn begin_later(&mut self) {
        self.laters += 1;
        self.label.sequence += 1;
    }

    /// What is known, as JSON for programs.
    pub(crate) fn json(&self, geometry: &Geometry) -> Value {
        json!({
            "array": self.label.name(), "events": self.label.events, "dirty": self.label.dirty.count(),
            "written": regions::written_bytes(&self.label.blank, geometry),
            "bytes": geometry.blocks() * BLOCK_BYTES,
        })
    }

    /// Disks count no more: one event, so that no disk that is not told of it is two behind.
    pub(crate) fn give_up(&mut self, disks: &[DiskId]) {
        disks.iter().for_each(|disk| self.label.disks[usize::from(disk.0)] = Noted::GivenUp);
        self.label.events += 1;
        // No row is being written now; and what the newest record told may have been on these disks.
        self.label.journal = self.records.next;
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

    /// The array grows by disks of these names and paths, which are told so before any other; of what was never written, this is zeros
    /// on them.
    ///
    /// # Errors
    /// When one cannot be written; then the array is as it was.
    pub(crate) fn join(
        &mut self,
        joining: &[(u64, &str)],
        zeros: &RegionBits,
        units: &mut [&mut dyn LiveDevice],
    ) -> io::Result<()> {
        let (was, former) = (self.label.clone(), self.label.disks.len() as u16);
        let label = &mut self.label;
        label.disks.extend(joining.iter().map(|_| Noted::Sound));
        label.names.extend(joining.iter().map(|(name, _)| name));
        label.growth = Some(LabelGrowth { former, grown: Grown { rows: 0, copied: false } });
        label.joined = joining.iter().map(|(_, path)| (*path).to_owned()).collect();
        label.blank.meet(zeros);
        label.events += 1;
        let mut disks = (former..).map(DiskId).zip(units);
        let written = disks.try_for_each(|(disk, unit)| write_copies(&mut **unit, Some(&self.label_of(disk))));
        if written.is_err() {
            self.label = was;
            return written;
        }
        self.filled.resize(self.label.disks.len(), u64::MAX);
        self.next.resize(self.label.disks.len(), CopyPlace::BeforeData);
        self.discarded = RegionBits::default();
        self.run = (0, 0);
        Ok(())
    }

    /// The array comes to have a second parity on an empty disk of this name and path, which is told so before any other.
    ///
    /// # Errors
    /// When it cannot be written; then the array is as it was.
    pub(crate) fn raise(&mut self, name: u64, path: &str, unit: &mut dyn LiveDevice) -> io::Result<()> {
        let (was, disk) = (self.label.clone(), DiskId(self.label.disks.len() as u16));
        let label = &mut self.label;
        (label.level, label.joined) = (Level::SecondOnLast, vec![path.to_owned()]);
        label.disks.push(Noted::Filling);
        label.names.push(name);
        label.events += 1;
        self.filled.resize(self.label.disks.len(), 0);
        self.next.resize(self.label.disks.len(), CopyPlace::BeforeData);
        let written = write_copies(unit, Some(&self.label_of(disk)));
        if written.is_err() {
            self.label = was;
            self.filled.pop();
        }
        written
    }

    /// The array comes to have parity in place of so many copies: no row has it yet.
    pub(crate) fn trade(&mut self, copies: u16) {
        let label = &mut self.label;
        let growth = LabelGrowth { former: label.disks.len() as u16, grown: Grown { rows: 0, copied: false } };
        (label.level, label.growth, label.former_copies) = (Level::Parity, Some(growth), copies);
        label.events += 1;
        // Where blocks lie changes.
        (self.discarded, self.run) = (RegionBits::default(), (0, 0));
    }

    /// These disks are given up, unless they were before, and the array does without the second parity, whose disk is one of them: one event.
    pub(crate) fn lower(&mut self, disks: &[DiskId]) {
        self.give_up(disks);
        let label = &mut self.label;
        label.level = Level::Parity;
        label.disks.pop();
        label.names.pop();
        label.joined.clear();
        self.filled.pop();
    }

    /// It has grown so far.
    pub(crate) fn set_grown(&mut self, grown: Grown) {
        let rows = self.label.rows;
        self.label.growth =
            self.label.growth.map(|growth| LabelGrowth { grown, ..growth }).filter(|_| grown.rows < rows);
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
        if self.label.disks.iter().all(|noted| *noted == Noted::Sound) {
            // Rows are written without records from now on.
            self.label.journal = self.records.next;
        }
        was
    }

    /// The array is to be had only with this log from now on, or without one.
    pub(crate) fn set_log(&mut self, log: Option<LogName>) {
        self.label.log = log;
    }

    /// Whose the checksums of a disk are, where that is the one of this name, or the one that is there.
    pub(crate) fn sum_key(&self, disk: DiskId, name: Option<u64>) -> SumKey {
        self.label.sum_key(name.unwrap_or_else(|| self.label.names[usize::from(disk.0)]))
    }

    /// A record is about to be written from this memory, or is done with.
    pub(crate) fn keep_record(&mut self, action: &Action, memory: Option<&Slice>) {
        self.records.keep(self.label.array, action, memory);
    }

    /// Marks the regions of an extent of a disk, which is about to be written with this; those of which that is to be noted
    /// first are added.
    pub(crate) fn mark(&mut self, geometry: &Geometry, at: Extent, memory: Option<&Slice>, news: &mut Vec<u64>) {
        for region in regions::regions_of(geometry, at) {
            // Zeros change nothing of what was never written.
            if self.settled.has(region) || self.label.blank.has(region) && memory.is_some_and(Slice::is_zeros) {
                continue;
            }
            if self.settle(geometry, region) {
                news.push(region);
            }
        }
    }

    /// A region is about to be written: whether that was not noted.
    fn settle(&mut self, geometry: &Geometry, region: u64) -> bool {
        let news = !self.label.dirty.has(region) || self.label.blank.has(region);
        self.label.dirty.add(region);
        self.label.blank.remove(region);
        self.discarded.remove(region);
        let (from, end) = regions::blocks(geometry, region);
        if from < self.run.1 && self.run.0 < end {
            self.run = (0, 0);
        }
        self.settled.add(region);
        news
    }

    /// Nobody needs any more what an extent of the array holds. Of a region all of which was discarded, piece by piece and without a
    /// write between them, nobody needs anything.
    pub(crate) fn note_discard(&mut self, geometry: &Geometry, at: Extent) {
        // Where the array grows, a part of it is no part of its disks.
        if geometry.is_growing() {
            return;
        }
        if at.start.0 != self.run.1 {
            self.run.0 = at.start.0;
        }
        self.run.1 = at.end().0;
        for region in regions::meeting(geometry, (at.start.0, at.end().0)) {
            self.settled.remove(region);
            let (from, end) = regions::blocks(geometry, region);
            if self.run.0 <= from && end <= self.run.1 && !self.label.blank.has(region) {
                self.discarded.add(region);
            }
        }
    }

    /// Whether there are regions that nobody needs any more.
    pub(crate) fn has_discarded(&self) -> bool {
        self.discarded.any()
    }

    /// Some of the regions that nobody needs any more, which are about to be made zeros: that is noted first, as of a write.
    pub(crate) fn take_discarded(&mut self) -> Vec<u64> {
        let taken: Vec<u64> = self.discarded.list().take(DISCARDED_AT_ONCE).collect();
        for region in &taken {
            self.discarded.remove(*region);
            self.label.dirty.add(*region);
        }
        taken
    }

    /// A region is zeros on all disks, and on their media.
    pub(crate) fn set_blank(&mut self, region: u64) {
        self.settled.remove(region);
        self.label.blank.add(region);
    }

    /// How much was ever written, as a line for users.
    pub(crate) fn written_text(&self, geometry: &Geometry) -> String {
        regions::show_written(regions::written_bytes(&self.label.blank, geometry), geometry.blocks() * BLOCK_BYTES)
    }

    /// Regions that were never written.
    pub(crate) fn blank(&self) -> &RegionBits {
        &self.label.blank
    }

    /// All that was written is on the disks, and agrees.
    pub(crate) fn clean(&mut self) {
        self.label.dirty = RegionBits::default();
        self.settled = RegionBits::default();
    }
}

#[cfg(test)]
mod tests {
    use super::super::journal::FoundRecords;
    use super::*;
    use crate::Unwritten;
    use crate::unit::Ram;

    /// Notes of three disks, of which one was lacking when they were found, with five events and seven records before.
    fn make_notes() -> ArrayNotes {
        let label = Superblock::example(0);
        let geometry = Geometry::new(Level::Parity, 3, 8, 80).expect("a geometry");
        let status = ArrayStatus {
            geometry,
            name: Some(label.name()),
            events: label.events,
            dirty: 0,
            written: 0,
            bytes: 0,
            disks: vec![MemberState::Sound, MemberState::GivenUp, MemberState::Sound],
            advice: None,
            label: Some(label),
            journal: FoundRecords { records: Vec::new(), next: 7 },
        };
        ArrayNotes::new(&status, 9).expect("a label")
    }

    /// What the first disk is told next.
    fn tell(notes: &mut ArrayNotes) -> Superblock {
        Superblock::from_bytes(&notes.later(DiskId(0)).1.to_vec()).expect("a label")
    }

    fn replace(notes: &mut ArrayNotes, disk: u16) {
        let mut unit = Ram::new(1 << 10, Unwritten::Zeros);
        notes.replace(DiskId(disk), 77, &mut unit).expect("written");
    }

    /// Who missed more than one of them is not taken for what it was.
    #[test]
    fn whatever_becomes_of_an_array_is_one_event() {
        let mut notes = make_notes();
        let expect = |notes: &mut ArrayNotes, events| assert_eq!(tell(notes).events, events);
        expect(&mut notes, 5);
        notes.begin();
        expect(&mut notes, 6);
        notes.begin();
        expect(&mut notes, 6);
        replace(&mut notes, 1);
        expect(&mut notes, 7);
        assert!(notes.complete(DiskId(1)) && !notes.complete(DiskId(1)));
        expect(&mut notes, 8);
        notes.give_up(&[DiskId(1), DiskId(2)]);
        expect(&mut notes, 9);
        assert_eq!(tell(&mut notes).disks, [Noted::Sound, Noted::GivenUp, Noted::GivenUp]);
    }

    /// Rows are written without records while all disks are there: what a record of before tells of them is of the past.
    #[test]
    fn records_count_from_the_last_time_that_no_row_was_half_written() {
        let mut notes = make_notes();
        assert_eq!(tell(&mut notes).journal, 7, "those that were found were seen to");
        notes.records.next = 20;
        assert_eq!(tell(&mut notes).journal, 7);
        notes.give_up(&[DiskId(2)]);
        assert_eq!(tell(&mut notes).journal, 20);
        notes.records.next = 30;
        replace(&mut notes, 1);
        notes.complete(DiskId(1));
        assert_eq!(tell(&mut notes).journal, 20, "one is still lacking");
        replace(&mut notes, 2);
        notes.complete(DiskId(2));
        assert_eq!(tell(&mut notes).journal, 30);
    }
}
