//! The journal of rows, as it stands on the disks of an array: what `sched::array` has put down before it writes a row whose parity
//! alone tells what a lacking disk held.
//!
//! A record is a block of head, with a checksum of all of it, and what is kept of each slot. Each has a number, and tells which others
//! were not done with when it was written. So the newest tells which of those that are found still say what their rows are: what was
//! done with then may have been written over since, and been forgotten. Records older than the superblocks want are of before all
//! disks were there last.

use super::label::{BEFORE, BEHIND};
use super::resync::Resync;
use super::{ArrayStatus, OpenedMember};
use crate::castagnoli::crc32c;
use crate::memory::Slice;
use block::{BLOCK_BYTES, Extent};
use sched::Action;
use sched::array::field::Factor;
use sched::array::{Geometry, JournalArea, MOST_RECORDS, RECORDS_OF_DISK};
use std::io;

/// Where each disk has room for records: between its first superblocks and its data.
pub(crate) const JOURNAL: JournalArea = JournalArea { first: 3 * BEHIND, blocks: (BEFORE - 3 * BEHIND) as u32 };

const MAGIC: &[u8; 8] = b"HTROWS01";
const LIVE: usize = 64;
const HEAD: usize = BLOCK_BYTES as usize;
const _: () = assert!(LIVE + 8 * MOST_RECORDS as usize <= HEAD);

/// A record, as it is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RowRecord {
    array: [u8; 16],
    number: u64,
    /// The numbers of those that were not done with.
    live: Vec<u64>,
    /// The first block of the part of a row, on any disk, and how many there are.
    pub(super) at: Extent,
    /// A bit for each column that was to be written, and for each slot that is kept; what is kept of these, one after the other.
    written: u64,
    kept: u64,
    bytes: Vec<u8>,
}

/// The records of an array that still say what their rows are, in their order; the number of the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FoundRecords {
    pub(super) records: Vec<RowRecord>,
    pub(super) next: u64,
}

/// What is known of the records of an array that is served.
pub(super) struct LiveRecords {
    pub(super) next: u64,
    /// By place: the number of the record there that is not done with, or 0.
    live: [u64; MOST_RECORDS as usize],
}

impl LiveRecords {
    pub(super) fn new(next: u64) -> LiveRecords {
        LiveRecords { next: next.max(1), live: [0; MOST_RECORDS as usize] }
    }

    /// A record is about to be written from this memory, of which the head is still to be made; or it is done with.
    pub(super) fn keep(&mut self, array: [u8; 16], action: &Action, memory: Option<&Slice>) {
        match (*action, memory) {
            (Action::Forget(slot), _) => self.live.iter_mut().skip(slot.into()).take(1).for_each(|live| *live = 0),
            (Action::Record { start, blocks, slot, written, kept, .. }, Some(memory)) => {
                let at = Extent::new(start, blocks.into());
                let bytes = memory.to_vec().split_off(HEAD);
                let live = self.live.iter().copied().filter(|number| *number > 0).collect();
                let record = RowRecord { array, number: self.next, live, at, written, kept, bytes };
                memory.buffer.put(memory.from, &record.to_bytes()[..HEAD]);
                self.live.iter_mut().skip(slot.into()).take(1).for_each(|live| *live = self.next);
                self.next += 1;
            }
            _ => {}
        }
    }
}

impl RowRecord {
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD + self.bytes.len());
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&self.at.blocks.to_le_bytes());
        bytes.extend_from_slice(&self.array);
        let numbers = [self.number, self.at.start.0, self.written, self.kept];
        numbers.iter().chain(&self.live).for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
        bytes.resize(HEAD, 0);
        bytes.extend_from_slice(&self.bytes);
        let sum = crc32c(&bytes);
        bytes[8..12].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// What was written, and whatever follows it; nothing where it is none, or not whole.
    fn from_bytes(bytes: &[u8]) -> Option<RowRecord> {
        let head = bytes.get(..HEAD)?;
        let large = |at: usize| head[at..at + 8].try_into().map(u64::from_le_bytes).ok();
        let small = |at: usize| head[at..at + 4].try_into().map(u32::from_le_bytes).ok();
        let (blocks, kept) = (small(12)?, large(56)?);
        let length = u64::from(blocks).checked_mul(u64::from(kept.count_ones()) * BLOCK_BYTES)?;
        let mut whole = bytes.get(..HEAD + usize::try_from(length).ok()?)?.to_vec();
        whole[8..12].fill(0);
        if &head[..8] != MAGIC || small(8)? != crc32c(&whole) {
            return None;
        }
        let live = (0..MOST_RECORDS as usize).filter_map(|slot| large(LIVE + 8 * slot)).filter(|number| *number > 0);
        Some(RowRecord {
            array: head[16..32].try_into().ok()?,
            number: large(32)?,
            live: live.collect(),
            at: Extent::new(large(40)?, blocks),
            written: large(48)?,
            kept,
            bytes: whole.split_off(HEAD),
        })
    }

    /// What is kept, by slot.
    fn parts(&self) -> impl Iterator<Item = (u16, &[u8])> {
        let slots = (0..u64::BITS as u16).filter(|slot| self.kept >> slot & 1 == 1);
        slots.zip(self.bytes.chunks_exact((u64::from(self.at.blocks.max(1)) * BLOCK_BYTES) as usize))
    }
}

/// Of what is found the records that still count: those that the newest tells of, and itself.
fn choose(mut found: Vec<RowRecord>, from: u64) -> FoundRecords {
    found.sort_by_key(|record| record.number);
    let Some(newest) = found.last().cloned() else { return FoundRecords { records: found, next: from } };
    found.retain(|record| {
        record.number >= from && (record.number == newest.number || newest.live.contains(&record.number))
    });
    FoundRecords { records: found, next: from.max(newest.number + 1) }
}

/// Looks for the records on the disks of an array that count.
pub(super) fn find(members: &mut [OpenedMember], status: &ArrayStatus, geometry: &Geometry) -> FoundRecords {
    let Some(label) = status.label.as_ref().filter(|_| geometry.has_parity()) else { return FoundRecords::default() };
    let mut found = Vec::new();
    for (member, state) in members.iter_mut().zip(&status.disks) {
        let Some(unit) = member.as_mut().ok().filter(|_| state.counts()) else { continue };
        for number in 0..RECORDS_OF_DISK {
            let blocks = JOURNAL.record_blocks();
            let memory = Slice::new((u64::from(blocks) * BLOCK_BYTES) as usize);
            let is_read = unit.peek(Extent::new(JOURNAL.first + u64::from(number * blocks), blocks), &memory);
            found.extend(
                RowRecord::from_bytes(&memory.to_vec()).filter(|record| is_read && record.array == label.array),
            );
        }
    }
    choose(found, label.journal)
}

impl Resync<'_> {
    /// Has the part of a row that a record is about tell what is missing of it rightly: how many units were changed. Where nothing is
    /// missing, its columns tell all.
    pub(super) fn replay(&mut self, record: &RowRecord) -> io::Result<u64> {
        let geometry = self.geometry;
        let Some((row, within)) = geometry.place(record.at.start.0) else { return Ok(0) };
        let is_within =
            row < geometry.rows() && u64::from(within) + u64::from(record.at.blocks) <= geometry.unit().into();
        let layout = geometry.layout_of(row);
        let is_missing = |column: &u16| !self.holds(geometry.disk_of_slot(row, *column), row);
        if !is_within || !layout.has_parity() || !(0..layout.columns()).any(|column| is_missing(&column)) {
            return Ok(0);
        }
        let written = (0..geometry.columns_of(row)).filter(|column| record.written >> column & 1 == 1);
        let written: Vec<u16> = written.collect();
        if written.iter().any(is_missing) {
            // Two disks went at once, one of them while it was written.
            return Ok(0);
        }
        let mut mended = 0;
        for (slot, bytes) in record.parts().filter(|(slot, _)| *slot < layout.columns() + layout.parities()) {
            let disk = geometry.disk_of_slot(row, slot);
            if !self.holds(disk, row) {
                continue;
            }
            let wanted = Slice::holding(bytes);
            for column in written.iter().filter(|_| slot >= geometry.columns_of(row)) {
                let times = if slot == geometry.columns_of(row) { Factor::ONE } else { Factor::power(*column) };
                let data = self.read(geometry.disk_of_slot(row, *column), record.at)?;
                wanted.buffer.add_multiple(wanted.from, &data.buffer, data.from, bytes.len(), times);
            }
            mended += u64::from(self.keep(disk, record.at, &wanted)?);
        }
        Ok(mended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(number: u64, live: &[u64]) -> RowRecord {
        let bytes = (0..4 * BLOCK_BYTES).map(|byte| byte as u8).collect();
        let at = Extent::new(1 << 40, 2);
        RowRecord { array: [3; 16], number, live: live.to_vec(), at, written: 1 << 62, kept: 5, bytes }
    }

    #[test]
    fn what_is_written_is_read_and_what_is_torn_is_none() {
        let most: Vec<u64> = (1..=MOST_RECORDS.into()).collect();
        let wanted = record(u64::MAX, &most);
        let bytes = wanted.to_bytes();
        let longer = [&bytes[..], &[9; 700]].concat();
        assert_eq!(RowRecord::from_bytes(&longer).as_ref(), Some(&wanted));
        assert_eq!(wanted.parts().map(|(slot, part)| (slot, part.len())).collect::<Vec<_>>(), [(0, 1024), (2, 1024)]);
        for at in (0..bytes.len()).step_by(7) {
            let mut changed = bytes.clone();
            changed[at] ^= 16;
            assert_eq!(RowRecord::from_bytes(&changed), None, "changed at {at}");
            assert_eq!(RowRecord::from_bytes(&bytes[..at]), None, "cut at {at}");
        }
        assert_eq!(RowRecord::from_bytes(&[0; 2048]), None);
    }

    #[test]
    fn the_newest_tells_which_others_count() {
        let numbers = |found: &FoundRecords| found.records.iter().map(|record| record.number).collect::<Vec<_>>();
        let found = vec![record(9, &[4, 7, 8]), record(5, &[]), record(7, &[5]), record(4, &[])];
        let chosen = choose(found.clone(), 0);
        assert_eq!((numbers(&chosen), chosen.next), (vec![4, 7, 9], 10));
        let later = choose(found.clone(), 7);
        assert_eq!((numbers(&later), later.next), (vec![7, 9], 10));
        let none = choose(found, 20);
        assert_eq!((numbers(&none), none.next), (vec![], 20));
    }

    #[test]
    fn what_is_done_with_is_told_by_no_later_record() {
        let mut records = LiveRecords::new(0);
        let write = |records: &mut LiveRecords, slot| {
            let memory = Slice::new(HEAD + 2 * HEAD);
            let place = block::Place::Nowhere;
            let action = Action::Record { place, start: 300, blocks: 2, slot, written: 1, kept: 4 };
            records.keep([1; 16], &action, Some(&memory));
            RowRecord::from_bytes(&memory.to_vec()).expect("a record")
        };
        assert_eq!((write(&mut records, 3).live, write(&mut records, 31).live), (vec![], vec![1]));
        records.keep([1; 16], &Action::Forget(3), None);
        let third = write(&mut records, 0);
        assert_eq!((third.number, third.live, third.at), (3, vec![2], Extent::new(300, 2)));
    }
}
