//! What is on a log: a label, and behind it a ring of batches, in pages of 4 KiB.
//!
//! A batch is a page that tells of some writes, and behind it what they write, each from a page on. It has checksums, so that one that is
//! half written is none; the number that follows that of the batch before it, so that none of an earlier lap is taken for a later one;
//! and its place, so that no copy of it is taken for it. It tells of the oldest batch that is needed, from which on all are read again.
//!
//! One batch at a time is under way. So only the last can be half written, and nobody was told of what is in it.

use crate::castagnoli::crc32c;
use crate::memory::Slice;
use crate::unit::LiveDevice;
use block::{BLOCK_BYTES, Extent};
use sched::array::LOG_PAGE;
use std::collections::{BTreeMap, VecDeque};

pub(super) const PAGE_BYTES: usize = LOG_PAGE as usize * BLOCK_BYTES as usize;
const LABEL_MAGIC: &[u8; 8] = b"HTWLOG01";
const MAGIC: &[u8; 8] = b"HTWRITES";
/// Where the writes of a batch stand, and how long each is.
const WRITES: usize = 72;
const WRITE_BYTES: usize = 12;
/// Writes of a batch at most.
pub(super) const MOST_WRITES: usize = (PAGE_BYTES - WRITES) / WRITE_BYTES;
/// Pages that are read at once.
const AT_ONCE: u64 = 256;

/// The numbers of a page, by where they stand.
struct BatchNumbers<'a>(&'a [u8]);

impl BatchNumbers<'_> {
    fn small(&self, at: usize) -> Option<u32> {
        self.0.get(at..at + 4)?.try_into().map(u32::from_le_bytes).ok()
    }

    fn large(&self, at: usize) -> Option<u64> {
        self.0.get(at..at + 8)?.try_into().map(u64::from_le_bytes).ok()
    }

    fn name(&self, at: usize) -> Option<[u8; 16]> {
        self.0.get(at..at + 16)?.try_into().ok()
    }
}

/// A page that begins so, with its checksum.
fn seal(magic: &[u8; 8], mut page: Vec<u8>) -> Vec<u8> {
    page.resize(PAGE_BYTES, 0);
    page[..8].copy_from_slice(magic);
    let sum = crc32c(&page);
    page[8..12].copy_from_slice(&sum.to_le_bytes());
    page
}

/// Whether a page begins so, and is whole.
fn is_sealed(magic: &[u8; 8], page: &[u8]) -> bool {
    if page.len() != PAGE_BYTES || &page[..8] != magic {
        return false;
    }
    let mut whole = page.to_vec();
    whole[8..12].fill(0);
    BatchNumbers(page).small(8) == Some(crc32c(&whole))
}

/// A page with the checksum that it should have, if it begins as one that has any.
pub(super) fn seal_anew(page: &[u8]) -> Vec<u8> {
    let mut page = page.to_vec();
    match [LABEL_MAGIC, MAGIC].into_iter().find(|magic| page.starts_with(*magic)) {
        Some(magic) => {
            page[8..12].fill(0);
            seal(magic, page)
        }
        None => page,
    }
}

/// What stands before the batches: whose log it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogLabel {
    pub(super) array: [u8; 16],
    /// The log's own name; the disks of the array know it.
    pub(super) log: [u8; 16],
    /// Pages of the ring.
    pub(super) pages: u64,
}

impl LogLabel {
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let mut page = vec![0; 16];
        page.extend_from_slice(&self.array);
        page.extend_from_slice(&self.log);
        page.extend_from_slice(&self.pages.to_le_bytes());
        seal(LABEL_MAGIC, page)
    }

    pub(super) fn from_bytes(page: &[u8]) -> Option<LogLabel> {
        let numbers = BatchNumbers(page);
        let label = LogLabel { array: numbers.name(16)?, log: numbers.name(32)?, pages: numbers.large(48)? };
        is_sealed(LABEL_MAGIC, page).then_some(label)
    }
}

/// Pages that what a write writes takes.
pub(super) fn pages_of(at: Extent) -> u64 {
    u64::from(at.blocks.div_ceil(LOG_PAGE))
}

/// The first page of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BatchHead {
    pub(super) log: [u8; 16],
    /// The how manieth batch it is, and the page of the ring that this is.
    pub(super) sequence: u64,
    pub(super) page: u64,
    /// The oldest batch that is needed: which, and its page.
    pub(super) oldest: (u64, u64),
    /// What is written, in order.
    pub(super) writes: Vec<Extent>,
    /// The checksum of what stands behind this page.
    pub(super) sum: u32,
}

impl BatchHead {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut page = vec![0; 12];
        page.extend_from_slice(&self.sum.to_le_bytes());
        page.extend_from_slice(&self.log);
        let numbers = [self.sequence, self.page, self.oldest.0, self.oldest.1];
        numbers.iter().for_each(|number| page.extend_from_slice(&number.to_le_bytes()));
        page.extend_from_slice(&(self.writes.len() as u32).to_le_bytes());
        page.resize(WRITES, 0);
        for at in &self.writes {
            page.extend_from_slice(&at.start.0.to_le_bytes());
            page.extend_from_slice(&at.blocks.to_le_bytes());
        }
        seal(MAGIC, page)
    }

    pub(super) fn from_bytes(page: &[u8]) -> Option<BatchHead> {
        let numbers = BatchNumbers(page);
        if page.get(..8) != Some(MAGIC) || !is_sealed(MAGIC, page) {
            return None;
        }
        let count = numbers.small(64)? as usize;
        let write = |number: usize| {
            let at = WRITES + number * WRITE_BYTES;
            let (start, blocks) = (numbers.large(at)?, numbers.small(at + 8)?);
            start.checked_add(blocks.into()).filter(|_| blocks > 0)?;
            Some(Extent::new(start, blocks))
        };
        Some(BatchHead {
            log: numbers.name(16)?,
            sequence: numbers.large(32)?,
            page: numbers.large(40)?,
            oldest: (numbers.large(48)?, numbers.large(56)?),
            writes: (0..count).map(write).collect::<Option<_>>()?,
            sum: numbers.small(12)?,
        })
    }

    /// Pages of the batch, with this one.
    pub(super) fn pages(&self) -> u64 {
        1 + self.writes.iter().map(|at| pages_of(*at)).sum::<u64>()
    }
}

/// What of the device is a run of pages of the ring: in two parts where it goes on at the beginning.
pub(super) fn parts(ring: u64, page: u64, pages: u64) -> impl Iterator<Item = Extent> {
    let first = pages.min(ring - page);
    let part = |page: u64, pages: u64| Extent::new((1 + page) * u64::from(LOG_PAGE), pages as u32 * LOG_PAGE);
    [(page, first), (0, pages - first)]
        .into_iter()
        .filter(|(_, pages)| *pages > 0)
        .map(move |(at, pages)| part(at, pages))
}

/// Reads pages of the ring; nothing where they cannot be.
fn read_pages(unit: &mut dyn LiveDevice, ring: u64, page: u64, pages: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for at in parts(ring, page, pages) {
        let memory = Slice::new(at.bytes() as usize);
        bytes.extend(unit.peek(at, &memory).then(|| memory.to_vec())?);
    }
    Some(bytes)
}

/// The label of a log, if there is one.
pub(super) fn read_label(unit: &mut dyn LiveDevice) -> Option<LogLabel> {
    let memory = Slice::new(PAGE_BYTES);
    let is_read = unit.bytes() >= PAGE_BYTES as u64 && unit.peek(Extent::new(0, LOG_PAGE), &memory);
    LogLabel::from_bytes(&memory.to_vec()).filter(|_| is_read)
}

/// A batch of which something may be needed: which, its page, how many there are, and the number of its last write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LiveBatch {
    pub(super) sequence: u64,
    pub(super) page: u64,
    pub(super) pages: u64,
    pub(super) last: u64,
}

/// What is found of a log that is needed.
#[derive(Default)]
pub(super) struct FoundWrites {
    /// Each write, in order.
    pub(super) writes: VecDeque<(Extent, Slice)>,
    pub(super) batches: VecDeque<LiveBatch>,
    /// The number of the batch that comes next, and its page.
    pub(super) next: (u64, u64),
}

/// The batches of a log, by their numbers: those whose first page is whole.
fn find_heads(unit: &mut dyn LiveDevice, label: &LogLabel) -> BTreeMap<u64, BatchHead> {
    let mut heads = BTreeMap::new();
    for first in (0..label.pages).step_by(AT_ONCE as usize) {
        let count = AT_ONCE.min(label.pages - first);
        let all = read_pages(unit, label.pages, first, count);
        for page in first..first + count {
            let bytes = match &all {
                Some(all) => all[(page - first) as usize * PAGE_BYTES..][..PAGE_BYTES].to_vec(),
                None => read_pages(unit, label.pages, page, 1).unwrap_or_default(),
            };
            let head = BatchHead::from_bytes(&bytes);
            let is_sane = |head: &BatchHead| {
                let (sequence, first) = head.oldest;
                head.pages() <= label.pages && sequence <= head.sequence && first < label.pages
            };
            let head = head.filter(|head| head.log == label.log && head.page == page && is_sane(head));
            heads.extend(head.map(|head| (head.sequence, head)));
        }
    }
    heads
}

/// What a batch writes, if it is there as it was written.
fn read_batch(unit: &mut dyn LiveDevice, label: &LogLabel, head: &BatchHead) -> Option<Vec<(Extent, Slice)>> {
    let behind = (head.page + 1) % label.pages;
    let bytes = read_pages(unit, label.pages, behind, head.pages() - 1).filter(|bytes| crc32c(bytes) == head.sum)?;
    let mut from = 0;
    let mut part = |at: &Extent| {
        let held = Slice::holding(&bytes[from..from + at.bytes() as usize]);
        from += pages_of(*at) as usize * PAGE_BYTES;
        (*at, held)
    };
    Some(head.writes.iter().map(&mut part).collect())
}

/// Reads what of a log is needed.
///
/// # Errors
/// Where some of it is not there as it was written, though it was: nothing says what it was.
pub(super) fn find(unit: &mut dyn LiveDevice, label: &LogLabel) -> Result<FoundWrites, String> {
    let heads = find_heads(unit, label);
    let mut newest = heads.values().next_back().ok_or("nothing on it is whole")?;
    if read_batch(unit, label, newest).is_none() {
        // It was being written when the power went, and nobody was told that it was.
        let before = newest.sequence.checked_sub(1).and_then(|sequence| heads.get(&sequence));
        newest = before.ok_or("its last batch is not whole")?;
    }
    let mut found = FoundWrites::default();
    let (mut page, mut last) = (newest.oldest.1, 0);
    for sequence in newest.oldest.0..=newest.sequence {
        let head = heads.get(&sequence).filter(|head| head.page == page);
        let writes = head.and_then(|head| read_batch(unit, label, head));
        let (Some(head), Some(writes)) = (head, writes) else {
            return Err(format!("batch {sequence} of those that are needed, up to {}, is not whole", newest.sequence));
        };
        last += writes.len() as u64;
        found.writes.extend(writes);
        found.batches.push_back(LiveBatch { sequence, page, pages: head.pages(), last });
        page = (page + head.pages()) % label.pages;
    }
    found.next = (newest.sequence + 1, page);
    Ok(found)
}
