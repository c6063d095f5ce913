//! The contents of an emulated device, in memory: a page map, which takes memory only for what was written.

use crate::memory::Slice;
use block::errno::{ENOSPC, EOPNOTSUPP};
use block::{BLOCK_BYTES, Extent};

/// Bytes of a page of contents.
const PAGE: usize = 32 << 10;
const PAGE_BLOCKS: u64 = PAGE as u64 / BLOCK_BYTES;
/// Pages of a directory: 128 MiB.
const PAGES: u64 = 4096;

type StorePage = Box<[u8]>;

/// What is read where nothing was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unwritten {
    /// Never written: it reads as zeros.
    #[default]
    Zeros,
    /// Of each eight bytes, their own place on the device, in bytes from its beginning, big-endian. What is written is thrown
    /// away, so that no device is too large.
    Pattern,
}

/// What a device holds.
pub trait Contents {
    /// Reads an extent.
    ///
    /// # Errors
    /// The errno.
    fn read(&mut self, at: Extent, into: &Slice) -> Result<(), i32>;

    /// Writes an extent.
    ///
    /// # Errors
    /// The errno; what comes before in the extent may be written.
    fn write(&mut self, at: Extent, from: &Slice) -> Result<(), i32>;

    /// Sees to it that there is room for an extent.
    ///
    /// # Errors
    /// The errno, where there is none or that cannot be told.
    fn reserve(&mut self, at: Extent) -> Result<(), i32>;

    /// Makes an extent zeros, where that is no trouble.
    fn clear(&mut self, at: Extent);

    /// Whether [`Contents::empty`] makes zeros.
    fn can_empty(&self) -> bool {
        false
    }

    /// Makes an extent zeros, or says that it cannot.
    ///
    /// # Errors
    /// The errno.
    fn empty(&mut self, _: Extent) -> Result<(), i32> {
        Err(EOPNOTSUPP)
    }

    /// How many blocks from `at.start` on are alike, at most all of `at`: whether any of them may have been written.
    fn alike(&self, at: Extent) -> (u64, bool);
}

/// Contents of an emulated drive in memory, allocated page by page.
pub struct MemoryStore {
    unwritten: Unwritten,
    directories: Vec<Option<Box<[Option<StorePage>]>>>,
    /// Pages held, and how many may be.
    held: u64,
    most: u64,
}

impl MemoryStore {
    /// Of a device of so many blocks, which takes at most so many bytes of memory.
    #[must_use]
    pub fn new(blocks: u64, unwritten: Unwritten, most: u64) -> MemoryStore {
        let directories = blocks.div_ceil(PAGE_BLOCKS * PAGES) as usize;
        MemoryStore {
            unwritten,
            directories: (0..directories).map(|_| None).collect(),
            held: 0,
            most: most / PAGE as u64,
        }
    }

    fn page(&self, page: u64) -> Option<&[u8]> {
        self.directories[(page / PAGES) as usize].as_ref()?[(page % PAGES) as usize].as_deref()
    }

    fn page_mut(&mut self, page: u64) -> Result<&mut [u8], i32> {
        let directory =
            self.directories[(page / PAGES) as usize].get_or_insert_with(|| (0..PAGES).map(|_| None).collect());
        let entry = &mut directory[(page % PAGES) as usize];
        if entry.is_none() {
            if self.held >= self.most {
                return Err(ENOSPC);
            }
            self.held += 1;
        }
        Ok(entry.get_or_insert_with(|| vec![0; PAGE].into_boxed_slice()))
    }
}

impl Contents for MemoryStore {
    fn read(&mut self, at: Extent, into: &Slice) -> Result<(), i32> {
        for piece in pieces(at) {
            let to = into.from + piece.offset;
            match self.page(piece.page) {
                Some(page) => into.buffer.put(to, &page[piece.from..][..piece.bytes]),
                None if self.unwritten == Unwritten::Pattern => pattern(piece, into, to),
                None => into.buffer.clear(to, piece.bytes),
            }
        }
        Ok(())
    }

    fn write(&mut self, at: Extent, from: &Slice) -> Result<(), i32> {
        if self.unwritten == Unwritten::Pattern {
            return Ok(());
        }
        for piece in pieces(at) {
            let page = self.page_mut(piece.page)?;
            from.buffer.get(from.from + piece.offset, &mut page[piece.from..][..piece.bytes]);
        }
        Ok(())
    }

    fn reserve(&mut self, at: Extent) -> Result<(), i32> {
        if self.unwritten == Unwritten::Pattern {
            return Ok(());
        }
        pieces(at).try_for_each(|piece| self.page_mut(piece.page).map(|_| ()))
    }

    fn clear(&mut self, at: Extent) {
        for piece in pieces(at) {
            let entry = &mut self.directories[(piece.page / PAGES) as usize];
            let Some(page) = entry.as_mut().map(|directory| &mut directory[(piece.page % PAGES) as usize]) else {
                continue;
            };
            match page {
                // Whole pages are given up.
                Some(_) if piece.bytes == PAGE => {
                    *page = None;
                    self.held -= 1;
                }
                Some(bytes) => bytes[piece.from..][..piece.bytes].fill(0),
                None => {}
            }
        }
    }

    fn alike(&self, at: Extent) -> (u64, bool) {
        let (mut blocks, mut first) = (0, None);
        for piece in pieces(at) {
            let written = self.unwritten == Unwritten::Pattern || self.page(piece.page).is_some();
            if *first.get_or_insert(written) != written {
                break;
            }
            blocks += piece.bytes as u64 / BLOCK_BYTES;
        }
        (blocks, first.unwrap_or(false))
    }
}

/// A part of an extent in one page.
#[derive(Clone, Copy)]
struct PageSpan {
    page: u64,
    /// The first byte in the page, and in the extent.
    from: usize,
    offset: usize,
    bytes: usize,
}

fn pieces(at: Extent) -> impl Iterator<Item = PageSpan> {
    let (mut next, end) = (at.start.0, at.end().0);
    std::iter::from_fn(move || {
        if next >= end {
            return None;
        }
        let (page, from) = (next / PAGE_BLOCKS, next % PAGE_BLOCKS);
        let blocks = (PAGE_BLOCKS - from).min(end - next);
        let bytes = |blocks: u64| (blocks * BLOCK_BYTES) as usize;
        let piece = PageSpan { page, from: bytes(from), offset: bytes(next - at.start.0), bytes: bytes(blocks) };
        next += blocks;
        Some(piece)
    })
}

fn pattern(piece: PageSpan, into: &Slice, to: usize) {
    let first = piece.page * PAGE as u64 + piece.from as u64;
    for word in 0..piece.bytes as u64 / 8 {
        into.buffer.put(to + 8 * word as usize, &(first + 8 * word).to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(store: &mut MemoryStore, at: Extent) -> Vec<u8> {
        let into = Slice::new(at.bytes() as usize);
        into.buffer.put(0, &vec![0xEE; into.bytes]);
        assert_eq!(store.read(at, &into), Ok(()));
        into.to_vec()
    }

    #[test]
    fn what_was_written_is_read_and_the_rest_is_zeros() {
        let mut store = MemoryStore::new(1 << 35, Unwritten::Zeros, 1 << 20);
        let at = Extent::new((1 << 34) - 3, 70);
        let from = Slice::new(at.bytes() as usize);
        let bytes: Vec<u8> = (0..at.bytes()).map(|i| (i % 251) as u8).collect();
        from.buffer.put(0, &bytes);
        assert_eq!(store.write(at, &from), Ok(()));
        assert_eq!(read(&mut store, at), bytes);
        assert_eq!(read(&mut store, Extent::new((1 << 34) - 4, 2))[..512], [0; 512]);
        assert_eq!(store.alike(Extent::new(0, 1 << 20)), (1 << 20, false));
        assert_eq!(store.alike(Extent::new((1 << 34) - 70, 200)), (6, false));
        store.clear(Extent::new((1 << 34) - 64, 64));
        assert_eq!(read(&mut store, at)[..3 * 512], [0; 3 * 512]);
        assert_eq!(read(&mut store, at)[3 * 512..], bytes[3 * 512..]);
    }

    #[test]
    fn memory_is_bounded_and_given_back() {
        let mut store = MemoryStore::new(1 << 20, Unwritten::Zeros, 2 * PAGE as u64);
        let one = Slice::new(512);
        assert_eq!(store.write(Extent::new(0, 1), &one), Ok(()));
        assert_eq!(store.write(Extent::new(64, 1), &one), Ok(()));
        assert_eq!(store.write(Extent::new(128, 1), &one), Err(ENOSPC));
        store.clear(Extent::new(0, 64));
        assert_eq!(store.write(Extent::new(128, 1), &one), Ok(()));
    }

    #[test]
    fn a_pattern_says_where_it_is() {
        let mut store = MemoryStore::new(1 << 35, Unwritten::Pattern, 0);
        let bytes = read(&mut store, Extent::new(63, 2));
        assert_eq!(bytes[..8], (63_u64 * 512).to_be_bytes());
        assert_eq!(bytes[1016..], (65_u64 * 512 - 8).to_be_bytes());
    }
}
