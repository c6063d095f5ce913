//! A disk of an array that knows a checksum of each of its blocks: what it brings otherwise than it was written is not brought.
//!
//! The checksums (CRC32C, of 512 bytes each) stand behind what the array has of the disk, 4,080 on a page of 16 KiB that has a checksum
//! and a key itself. A page is read when one of its blocks is first touched, and written when the service ends, or when there are too
//! many in memory. So after a cut they may be of the past; but only where regions are marked, and there they are made anew of what the disk
//! holds, as parities are. Of what they were never told they know nothing, and let it pass.
//!
//! What lies before the data of an array and behind it, its superblocks and journal, have checksums of their own.

use super::{Done, FaultChange, FaultReach, LiveDevice, Stored, Zeroes};
use crate::array::{BEFORE, BEHIND};
use crate::castagnoli::crc32c;
use crate::kernel::Kernel;
use crate::memory::Slice;
use block::errno::EIO;
use block::{BLOCK_BYTES, Caps, Command, Extent, Outcome, Tag, Time, Verb};
use std::collections::{BTreeMap, VecDeque};
use std::io;

const BLOCK: usize = BLOCK_BYTES as usize;
const MAGIC: &[u8; 8] = b"HTSUMS01";
/// Bytes of a page, blocks of it, bytes of its head, and checksums on it.
const PAGE: usize = 16 << 10;
const PAGE_BLOCKS: u64 = PAGE as u64 / BLOCK_BYTES;
const HEAD: usize = 64;
const SUMS: u64 = (PAGE - HEAD) as u64 / 4;
/// Pages of a disk in memory at most: 64 MiB, of 8 GiB.
const MOST_PAGES: usize = 4096;
/// What stands for a block of which nothing is known.
const UNKNOWN: u32 = 0;
/// Blocks that are read at once to be summed anew.
const AT_ONCE: u64 = 2048;

/// Whose checksums they are: those of another disk or array are none.
pub type SumKey = [u8; 24];

/// The checksums on a page.
struct SumPage {
    sums: Vec<u32>,
    changed: bool,
}

/// A device with checksums.
pub struct Summed {
    inner: Box<dyn LiveDevice>,
    key: SumKey,
    /// Blocks that others see of it.
    blocks: u64,
    pages: BTreeMap<u64, SumPage>,
    /// In which order pages were read.
    order: VecDeque<u64>,
    most_pages: usize,
    /// Whether a page could not be written.
    unkept: bool,
    flying: Vec<Option<(Command, Option<Slice>)>>,
    spoilt: VecDeque<Extent>,
}

/// The checksum of a block; none is that of [`UNKNOWN`].
fn sum(block: &[u8]) -> u32 {
    match crc32c(block) {
        UNKNOWN => u32::MAX,
        sum => sum,
    }
}

/// Of so many blocks of a device, those that there is room for beside their checksums.
fn usable(blocks: u64) -> u64 {
    let pages = blocks.div_ceil(SUMS + PAGE_BLOCKS);
    blocks.saturating_sub(pages * PAGE_BLOCKS)
}

impl Summed {
    /// A device of which nothing is known yet.
    #[must_use]
    pub fn new(inner: Box<dyn LiveDevice>) -> Summed {
        let blocks = usable(inner.bytes() / BLOCK_BYTES);
        let flying = vec![None; usize::from(inner.caps().depth)];
        Summed {
            inner,
            key: [0; 24],
            blocks,
            pages: BTreeMap::new(),
            order: VecDeque::new(),
            most_pages: MOST_PAGES,
            unkept: false,
            flying,
            spoilt: VecDeque::new(),
        }
    }

    fn page_at(&self, page: u64) -> Extent {
        Extent::new(self.blocks + page * PAGE_BLOCKS, PAGE_BLOCKS as u32)
    }

    /// The blocks of an extent that have checksums.
    fn blocks_of(&self, at: Extent) -> std::ops::Range<u64> {
        at.start.0.max(BEFORE)..at.end().0.min(self.blocks.saturating_sub(BEHIND))
    }

    fn read_page(&mut self, page: u64) -> SumPage {
        let memory = Slice::new(PAGE);
        let is_read = self.inner.peek(self.page_at(page), &memory);
        let sums = parse(&memory.to_vec(), &self.key, page).filter(|_| is_read);
        SumPage { sums: sums.unwrap_or_else(|| vec![UNKNOWN; SUMS as usize]), changed: false }
    }

    fn write_page(&mut self, page: u64, held: &SumPage) -> io::Result<()> {
        let bytes = show(&held.sums, &self.key, page);
        let memory = Slice::new(PAGE);
        memory.buffer.put(0, &bytes);
        self.inner.store(self.page_at(page), &memory)
    }

    /// The checksum of a block.
    fn find(&mut self, block: u64) -> &mut u32 {
        let (page, number) = (block / SUMS, (block % SUMS) as usize);
        if !self.pages.contains_key(&page) {
            self.make_room();
            let read = self.read_page(page);
            self.pages.insert(page, read);
            self.order.push_back(page);
        }
        let fresh = || SumPage { sums: vec![UNKNOWN; SUMS as usize], changed: false };
        &mut self.pages.entry(page).or_insert_with(fresh).sums[number]
    }

    /// The page that was read first is written, if it has to be, and forgotten.
    fn make_room(&mut self) {
        while self.pages.len() >= self.most_pages
            && let Some(page) = self.order.pop_front()
        {
            let Some(held) = self.pages.remove(&page) else { continue };
            self.unkept |= held.changed && self.write_page(page, &held).is_err();
        }
    }

    fn set(&mut self, block: u64, sum: u32) {
        let held = self.find(block);
        if *held != sum {
            *held = sum;
            self.pages.entry(block / SUMS).and_modify(|page| page.changed = true);
        }
    }

    fn forget(&mut self, at: Extent) {
        self.blocks_of(at).for_each(|block| self.set(block, UNKNOWN));
    }

    /// Takes over what an extent is to hold; of no memory, that nobody knows.
    fn learn(&mut self, at: Extent, memory: Option<&Slice>) {
        let Some(memory) = memory else { return self.forget(at) };
        let mut held = [0; BLOCK];
        for block in self.blocks_of(at) {
            memory.buffer.get(memory.from + (block - at.start.0) as usize * BLOCK, &mut held);
            self.set(block, sum(&held));
        }
    }

    /// Whether all of an extent is as it was written; the blocks that are not are noted.
    fn is_as_written(&mut self, at: Extent, memory: &Slice) -> bool {
        let (mut held, mut all) = ([0; BLOCK], true);
        for block in self.blocks_of(at) {
            memory.buffer.get(memory.from + (block - at.start.0) as usize * BLOCK, &mut held);
            let wanted = *self.find(block);
            if wanted == UNKNOWN || wanted == sum(&held) {
                continue;
            }
            all = false;
            match self.spoilt.back_mut() {
                Some(last) if last.end().0 == block => last.blocks += 1,
                _ => self.spoilt.push_back(Extent::new(block, 1)),
            }
        }
        all
    }

    /// What comes of a command that came back.
    fn judge(&mut self, done: Done) -> Done {
        let Some((command, memory)) = self.flying.get_mut(done.tag.0 as usize).and_then(Option::take) else {
            return done;
        };
        let failed = done.outcome != Outcome::Ok;
        match (command.verb, memory) {
            (Verb::Write { .. } | Verb::Discard(_), _) if failed => self.forget(command.at),
            (Verb::Read, Some(memory)) if !failed && !self.is_as_written(command.at, &memory) => {
                return Done { outcome: Outcome::Failed(EIO), ..done };
            }
            _ => {}
        }
        done
    }
}

/// A page, as it is written.
fn show(sums: &[u32], key: &SumKey, page: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(PAGE);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&[0; 8]);
    bytes.extend_from_slice(key);
    bytes.extend_from_slice(&page.to_le_bytes());
    bytes.resize(HEAD, 0);
    sums.iter().for_each(|sum| bytes.extend_from_slice(&sum.to_le_bytes()));
    let sum = crc32c(&bytes);
    bytes[8..12].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// The checksums on a page; nothing where it is none of this disk's, or not whole.
fn parse(bytes: &[u8], key: &SumKey, page: u64) -> Option<Vec<u32>> {
    let sums = bytes.get(HEAD..PAGE)?.as_chunks::<4>().0;
    let sums: Vec<u32> = sums.iter().map(|four| u32::from_le_bytes(*four)).collect();
    (show(&sums, key, page) == bytes).then_some(sums)
}

impl LiveDevice for Summed {
    fn caps(&self) -> Caps {
        Caps { blocks: self.blocks, arms: 1, ..self.inner.caps() }
    }

    fn bytes(&self) -> u64 {
        self.blocks * BLOCK_BYTES
    }

    fn issue(
        &mut self,
        now: Time,
        tag: Tag,
        command: &Command,
        memory: Option<Slice>,
        kernel: &mut dyn Kernel,
    ) -> io::Result<()> {
        match command.verb {
            Verb::Write { .. } => self.learn(command.at, memory.as_ref()),
            Verb::Discard(_) => self.forget(command.at),
            _ => {}
        }
        self.flying[tag.0 as usize] = Some((*command, memory.clone()));
        self.inner.issue(now, tag, command, memory, kernel)
    }

    fn due(&self) -> Option<Time> {
        self.inner.due()
    }

    fn next_completion(&mut self, now: Time) -> Option<Done> {
        let done = self.inner.next_completion(now)?;
        Some(self.judge(done))
    }

    fn on_completion(&mut self, now: Time, tag: Tag, result: i32, kernel: &mut dyn Kernel) -> io::Result<()> {
        self.inner.on_completion(now, tag, result, kernel)
    }

    fn account(&mut self, now: Time) -> Option<drive::Account> {
        self.inner.account(now)
    }

    fn peek(&mut self, at: Extent, into: &Slice) -> bool {
        self.inner.peek(at, into) && self.is_as_written(at, into)
    }

    fn poke(&mut self, at: Extent, from: &Slice) {
        self.learn(at, Some(from));
        self.inner.poke(at, from);
    }

    fn store(&mut self, at: Extent, from: &Slice) -> io::Result<()> {
        self.learn(at, Some(from));
        self.inner.store(at, from)
    }

    fn begin_store(&mut self, at: Extent, from: &Slice, number: u32, kernel: &mut dyn Kernel) -> io::Result<Stored> {
        self.learn(at, Some(from));
        self.inner.begin_store(at, from, number, kernel)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.inner.sync()
    }

    fn reserve(&mut self, at: Extent) -> io::Result<()> {
        self.inner.reserve(at)?;
        // Of its checksums, too: they are written when nobody can be told any more that they were not.
        let blocks = self.blocks_of(at);
        let mut pages = blocks.start / SUMS..blocks.end.div_ceil(SUMS);
        pages.try_for_each(|page| self.inner.reserve(self.page_at(page)))
    }

    fn can_empty(&self) -> bool {
        self.inner.can_empty()
    }

    fn empty(&mut self, at: Extent) -> io::Result<()> {
        self.forget(at);
        self.inner.empty(at)
    }

    fn zeroes(&self) -> Zeroes {
        self.inner.zeroes()
    }

    fn alike(&mut self, at: Extent) -> (u64, bool) {
        self.inner.alike(at)
    }

    fn fault(
        &mut self,
        now: Time,
        reach: FaultReach,
        change: FaultChange,
        kernel: &mut dyn Kernel,
    ) -> Result<(), String> {
        self.inner.fault(now, reach, change, kernel)
    }

    fn has_sums(&self) -> bool {
        true
    }

    fn set_sum_key(&mut self, key: SumKey) {
        if key != self.key {
            self.key = key;
            self.pages.clear();
            self.order.clear();
        }
    }

    fn sum_anew(&mut self, at: Extent) {
        let range = self.blocks_of(at);
        for from in range.clone().step_by(AT_ONCE as usize) {
            let part = Extent::new(from, AT_ONCE.min(range.end - from) as u32);
            let memory = Slice::new(part.bytes() as usize);
            let is_read = self.inner.peek(part, &memory);
            self.learn(part, Some(&memory).filter(|_| is_read));
        }
    }

    fn keep_sums(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.unkept) {
            return Err(io::Error::other("checksums could not be written"));
        }
        let mut pages = std::mem::take(&mut self.pages);
        let kept = pages.iter_mut().filter(|(_, held)| held.changed).try_for_each(|(page, held)| {
            self.write_page(*page, held)?;
            held.changed = false;
            Ok(())
        });
        self.pages = pages;
        kept
    }

    fn next_spoilt(&mut self) -> Option<Extent> {
        self.spoilt.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::Ram;
    use crate::{Clock, Host, Unwritten};
    use block::Place;
    use load::Draw;
    use load::experiment::IoBackend;
    use std::cell::RefCell;
    use std::rc::Rc;

    /// Memory of which something is left when a device is gone, and that takes no command.
    struct Kept(Rc<RefCell<Ram>>, VecDeque<Tag>);

    impl LiveDevice for Kept {
        fn caps(&self) -> Caps {
            self.0.borrow().caps()
        }

        fn issue(&mut self, _: Time, tag: Tag, _: &Command, _: Option<Slice>, _: &mut dyn Kernel) -> io::Result<()> {
            self.1.push_back(tag);
            Ok(())
        }

        fn next_completion(&mut self, now: Time) -> Option<Done> {
            self.1.pop_front().map(|tag| Done::now(now, tag, Outcome::Failed(EIO)))
        }

        fn peek(&mut self, at: Extent, into: &Slice) -> bool {
            self.0.borrow_mut().peek(at, into)
        }

        fn store(&mut self, at: Extent, from: &Slice) -> io::Result<()> {
            self.0.borrow_mut().store(at, from)
        }
    }

    #[test]
    fn there_is_room_for_the_checksums_of_all_that_is_seen() {
        for blocks in (0..3 * (SUMS + PAGE_BLOCKS)).chain([1 << 31, (1 << 40) + 7]) {
            let seen = usable(blocks);
            assert!(seen + seen.div_ceil(SUMS) * PAGE_BLOCKS <= blocks, "{blocks}");
            assert!(blocks < 5000 || seen >= blocks - blocks / 100 - 2 * PAGE_BLOCKS, "{blocks}: {seen}");
        }
    }

    #[test]
    fn a_page_is_of_one_disk_and_place_and_whole_or_none() {
        let sums: Vec<u32> = (0..SUMS as u32).collect();
        let bytes = show(&sums, &[7; 24], 3);
        assert_eq!(bytes.len(), PAGE);
        assert_eq!(parse(&bytes, &[7; 24], 3), Some(sums));
        assert!(parse(&bytes, &[8; 24], 3).is_none() && parse(&bytes, &[7; 24], 4).is_none());
        for at in (0..PAGE).step_by(61) {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert_eq!(parse(&changed, &[7; 24], 3), None, "changed at {at}");
        }
    }

    #[test]
    fn what_is_brought_otherwise_than_it_was_written_is_not_brought() {
        let ram = Rc::new(RefCell::new(Ram::new(9000, Unwritten::Zeros)));
        let make = || {
            let mut made = Summed::new(Box::new(Kept(Rc::clone(&ram), VecDeque::new())));
            made.set_sum_key([1; 24]);
            made
        };
        let (mut first, at) = (make(), Extent::new(BEFORE + 4078, 5));
        let memory = Slice::holding(&[0x5A; 5 * BLOCK]);
        first.store(at, &memory).expect("stored");
        assert!(first.peek(at, &Slice::new(5 * BLOCK)));
        first.keep_sums().expect("kept");
        let spoil = |block: u64| ram.borrow_mut().poke(Extent::new(block, 1), &Slice::holding(&[0x5B; BLOCK]));
        for mut it in [first, make()] {
            assert!(it.peek(at, &Slice::new(5 * BLOCK)));
            [at.start.0 + 1, at.start.0 + 2].into_iter().for_each(spoil);
            assert!(!it.peek(at, &Slice::new(5 * BLOCK)), "it was spoilt");
            assert_eq!(it.next_spoilt(), Some(Extent::new(at.start.0 + 1, 2)));
            assert!(it.peek(Extent::new(at.start.0 + 3, 2), &Slice::new(2 * BLOCK)) && it.next_spoilt().is_none());
            assert!(it.peek(Extent::new(0, 8), &Slice::new(8 * BLOCK)), "what has none is let pass");
            ram.borrow_mut().poke(at, &memory);
        }
        let mut again = make();
        spoil(at.start.0);
        again.sum_anew(at);
        assert!(again.peek(at, &Slice::new(5 * BLOCK)), "it is taken for what it is");
    }

    /// Nobody knows what of it was written.
    #[test]
    fn what_a_write_left_that_failed_is_not_taken_for_spoilt() {
        let ram = Rc::new(RefCell::new(Ram::new(9000, Unwritten::Zeros)));
        let mut it = Summed::new(Box::new(Kept(ram, VecDeque::new())));
        let at = Extent::new(BEFORE + 9, 2);
        it.store(at, &Slice::holding(&[0x5A; 2 * BLOCK])).expect("stored");
        let mut kernel = Host::new(Clock::new(1.0), IoBackend::Threads).expect("a host");
        let write = Command::new(Verb::Write { fua: false }, at, Place::Nowhere);
        let memory = Slice::holding(&[0x5B; 2 * BLOCK]);
        it.issue(Time(1), Tag(0), &write, Some(memory), &mut kernel).expect("issued");
        assert_eq!(it.next_completion(Time(1)).map(|done| done.outcome), Some(Outcome::Failed(EIO)));
        assert!(it.peek(at, &Slice::new(2 * BLOCK)) && it.next_spoilt().is_none());
    }

    #[test]
    fn of_too_many_pages_none_is_lost() {
        for seed in 0..50 {
            let mut draw = Draw::new(seed, 0);
            let ram = Rc::new(RefCell::new(Ram::new(4 * (SUMS + PAGE_BLOCKS), Unwritten::Zeros)));
            let mut it = Summed::new(Box::new(Kept(ram, VecDeque::new())));
            it.most_pages = 1 + draw.below(3) as usize;
            let mut wanted = [UNKNOWN; 4];
            for number in 1..40 {
                let page = draw.below(4);
                it.set(BEFORE + page * SUMS, number);
                wanted[page as usize] = number;
            }
            for (page, sum) in (0..).zip(wanted) {
                assert_eq!(*it.find(BEFORE + page * SUMS), sum, "seed {seed}: page {page}");
            }
            assert!(it.pages.len() <= it.most_pages && it.keep_sums().is_ok());
        }
    }
}
