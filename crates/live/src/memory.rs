//! Memory that the kernel reads and writes while commands and replies are in flight.
//!
//! A [`AlignedBuffer`] is shared: whoever has given it to the kernel keeps a share until that has come back, so that it is used for
//! nothing else meanwhile, even when the request it belonged to has ended. Nobody ever holds a reference into one: bytes are
//! copied in and out.
//!
//! **Memory belongs to whoever has a share.** The kernel's share of a buffer ends when its completion was seen
//! (`live::ring`), the client's when its answer is sent; a buffer is used again when nobody has one. `live::{memory,
//! ring, threads, claim, ublk::shared}` hold all that is unsafe.
#![allow(unsafe_code)]

use sched::array::field::Factor;
use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::rc::Rc;
#[cfg(feature = "vhost-user")]
use vm_memory::VolatileSlice;

/// What a buffer is aligned to, and its least length, in bytes.
pub const PAGE: usize = 4096;

#[repr(C, align(4096))]
struct AlignedPage(UnsafeCell<[u8; PAGE]>);

/// Aligned memory of a fixed length.
pub struct AlignedBuffer {
    pages: Box<[AlignedPage]>,
}

impl AlignedBuffer {
    /// At least so many bytes, all zero.
    #[must_use]
    pub fn new(bytes: usize) -> AlignedBuffer {
        AlignedBuffer {
            pages: (0..bytes.div_ceil(PAGE).max(1)).map(|_| AlignedPage(UnsafeCell::new([0; PAGE]))).collect(),
        }
    }

    /// Its length in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.pages.len() * PAGE
    }

    /// Where it is from byte `from` on, for the kernel; `count` bytes from there are inside.
    ///
    /// # Panics
    /// When they are not.
    #[must_use]
    pub fn pointer(&self, from: usize, count: usize) -> *mut u8 {
        assert!(from <= self.bytes() && count <= self.bytes() - from, "bytes {from}+{count} of {}", self.bytes());
        // SAFETY: inside the allocation, as was just checked. The pointer is of the whole slice, and behind an `UnsafeCell`.
        unsafe { self.pages.as_ptr().cast::<u8>().cast_mut().add(from) }
    }

    /// Copies bytes into it.
    pub fn put(&self, at: usize, bytes: &[u8]) {
        let to = self.pointer(at, bytes.len());
        // SAFETY: `to` has room for them; nobody holds a reference into a buffer, so that they do not overlap.
        unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) }
    }

    /// Copies bytes out of it.
    pub fn get(&self, at: usize, bytes: &mut [u8]) {
        let from = self.pointer(at, bytes.len());
        // SAFETY: `from` has as many; nobody holds a reference into a buffer, so that they do not overlap.
        unsafe { bytes.as_mut_ptr().copy_from_nonoverlapping(from, bytes.len()) }
    }

    /// Makes bytes of it zero.
    pub fn clear(&self, at: usize, count: usize) {
        // SAFETY: `count` bytes are there.
        unsafe { self.pointer(at, count).write_bytes(0, count) }
    }

    /// Copies bytes of another, or of itself, into it.
    pub fn copy(&self, at: usize, other: &AlignedBuffer, from: usize, count: usize) {
        let (to, from) = (self.pointer(at, count), other.pointer(from, count));
        // SAFETY: both have `count` bytes, which may overlap.
        unsafe { to.copy_from(from, count) }
    }
}

/// Bytes that are summed at a time.
const SUMMED: usize = 16 << 10;

impl AlignedBuffer {
    /// Adds bytes of another, or of itself, to its own, each multiplied first, as parity is summed.
    pub fn add_multiple(&self, at: usize, other: &AlignedBuffer, from: usize, count: usize, times: Factor) {
        let (mut given, mut sum) = ([0; SUMMED], [0; SUMMED]);
        for done in (0..count).step_by(SUMMED) {
            let bytes = SUMMED.min(count - done);
            other.get(from + done, &mut given[..bytes]);
            self.get(at + done, &mut sum[..bytes]);
            times.add_multiple(&given[..bytes], &mut sum[..bytes]);
            self.put(at + done, &sum[..bytes]);
        }
    }
}

/// A share of a buffer, and where in it.
#[derive(Clone)]
pub struct Slice {
    /// The buffer that they lie in.
    pub buffer: Rc<AlignedBuffer>,
    /// The first byte of the buffer that belongs to it.
    pub from: usize,
    /// How many bytes belong to it.
    pub bytes: usize,
}

impl Slice {
    /// The whole of a new buffer.
    #[must_use]
    pub fn new(bytes: usize) -> Slice {
        Slice { buffer: Rc::new(AlignedBuffer::new(bytes)), from: 0, bytes }
    }

    /// For the kernel; good while this share lasts.
    #[must_use]
    pub fn pointer(&self) -> *mut u8 {
        self.buffer.pointer(self.from, self.bytes)
    }

    /// For whoever copies between it and memory that others share.
    #[cfg(feature = "vhost-user")]
    #[must_use]
    pub fn volatile(&self) -> VolatileSlice<'_> {
        // SAFETY: as many bytes are there, and stay while this share does; nobody holds a reference into a buffer.
        unsafe { VolatileSlice::new(self.pointer(), self.bytes) }
    }

    /// The same without its first `count` bytes.
    #[must_use]
    pub fn after(&self, count: usize) -> Slice {
        Slice { buffer: Rc::clone(&self.buffer), from: self.from + count, bytes: self.bytes - count }
    }

    /// Whether all of its bytes are zeros.
    #[must_use]
    pub fn is_zeros(&self) -> bool {
        let mut piece = [0; PAGE];
        (0..self.bytes).step_by(PAGE).all(|done| {
            let piece = &mut piece[..PAGE.min(self.bytes - done)];
            self.buffer.get(self.from + done, piece);
            piece.iter().all(|byte| *byte == 0)
        })
    }
}

impl Slice {
    /// A new buffer that holds these bytes.
    pub(crate) fn holding(bytes: &[u8]) -> Slice {
        let slice = Slice::new(bytes.len());
        slice.buffer.put(0, bytes);
        slice
    }

    /// A copy of its bytes.
    pub(crate) fn to_vec(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.bytes];
        self.buffer.get(self.from, &mut bytes);
        bytes
    }
}

/// Takes the first `count` bytes of pieces away.
pub fn pass(pieces: &mut Vec<Slice>, mut count: usize) {
    let whole = pieces.iter().take_while(|piece| {
        let passed = piece.bytes <= count;
        count -= if passed { piece.bytes } else { 0 };
        passed
    });
    let whole = whole.count();
    pieces.drain(..whole);
    if let Some(first) = pieces.first_mut() {
        *first = first.after(count);
    }
}

/// Powers of two from a page up: 2^12 to 2^35 bytes.
const CLASSES: usize = 24;
/// Bytes of spare ones of all lengths together, and how many of one length are kept at most.
const SPARE_BYTES: usize = 64 << 20;
const SPARE: usize = 256;
/// Longer ones are not kept.
const LONGEST_SPARE: usize = 1 << 20;

/// Buffers, used again and again.
#[derive(Default)]
pub struct Pool {
    spare: [VecDeque<Rc<AlignedBuffer>>; CLASSES],
    spare_bytes: usize,
    nobodys: Option<Rc<AlignedBuffer>>,
}

impl Pool {
    /// One of at least so many bytes; what it holds is anything.
    pub fn take(&mut self, bytes: usize) -> Rc<AlignedBuffer> {
        let class = class(bytes);
        for _ in 0..self.spare[class].len().min(4) {
            let Some(buffer) = self.spare[class].pop_front() else { break };
            // Another share means that the kernel still has it.
            if Rc::strong_count(&buffer) == 1 {
                self.spare_bytes -= buffer.bytes();
                return buffer;
            }
            self.spare[class].push_back(buffer);
        }
        Rc::new(AlignedBuffer::new(PAGE << class))
    }

    /// Memory for bytes that nobody looks at: the same for all who ask for such.
    pub fn nobodys(&mut self, bytes: usize) -> Slice {
        let held = self.nobodys.take().filter(|held| held.bytes() >= bytes);
        let buffer = held.unwrap_or_else(|| Rc::new(AlignedBuffer::new(bytes)));
        self.nobodys = Some(Rc::clone(&buffer));
        Slice { buffer, from: 0, bytes }
    }

    /// Gives one back, which others may still have a share of.
    pub fn give(&mut self, buffer: Rc<AlignedBuffer>) {
        let spare = &mut self.spare[class(buffer.bytes())];
        let bytes = buffer.bytes();
        if bytes <= LONGEST_SPARE && spare.len() < SPARE && self.spare_bytes + bytes <= SPARE_BYTES {
            self.spare_bytes += bytes;
            spare.push_back(buffer);
        }
    }
}

fn class(bytes: usize) -> usize {
    (bytes.div_ceil(PAGE).max(1).next_power_of_two().ilog2() as usize).min(CLASSES - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_is_got() {
        let buffer = AlignedBuffer::new(5000);
        assert_eq!(buffer.bytes(), 8192);
        assert_eq!(buffer.pointer(0, 1) as usize % PAGE, 0);
        buffer.put(4090, b"across a page");
        let mut out = [0; 13];
        buffer.get(4090, &mut out);
        assert_eq!(&out, b"across a page");
        buffer.copy(4096, &buffer, 4090, 13);
        buffer.get(4096, &mut out);
        assert_eq!(&out, b"across a page");
        buffer.clear(4096, 6);
        buffer.get(4096, &mut out);
        assert_eq!(&out, b"\0\0\0\0\0\0 a page");
    }

    #[test]
    fn sums_are_those_of_the_field_wherever_they_are_cut() {
        let bytes = |salt: usize| (0..40_000).map(|i| (i * 7 + i / 256 + salt) as u8).collect::<Vec<u8>>();
        for times in [Factor::ONE, Factor(0x8e)] {
            let (from, into) = (Slice::holding(&bytes(1)), Slice::holding(&bytes(5)));
            into.buffer.add_multiple(100, &from.buffer, 50, 39_900, times);
            let mut sums = bytes(5);
            times.add_multiple(&bytes(1)[50..39_950], &mut sums[100..]);
            assert!(into.to_vec() == sums, "{times:?}");
        }
    }

    #[test]
    #[should_panic(expected = "bytes 8190+3 of 8192")]
    fn nothing_reaches_past_the_end() {
        AlignedBuffer::new(8192).put(8190, b"abc");
    }

    #[test]
    fn spare_memory_is_bounded() {
        let mut pool = Pool::default();
        for bytes in [LONGEST_SPARE, LONGEST_SPARE / 2, PAGE] {
            (0..2 * SPARE).for_each(|_| pool.give(Rc::new(AlignedBuffer::new(bytes))));
        }
        let held: usize = pool.spare.iter().flatten().map(|buffer| buffer.bytes()).sum();
        assert!(held == pool.spare_bytes && held <= SPARE_BYTES, "{held}");
        let taken: Vec<_> = (0..2 * SPARE).map(|_| pool.take(LONGEST_SPARE)).collect();
        assert!(pool.spare_bytes < SPARE_BYTES && taken.len() == 2 * SPARE);
    }

    #[test]
    fn what_someone_still_shares_is_not_taken_again() {
        let mut pool = Pool::default();
        let first = pool.take(100);
        let in_flight = Rc::clone(&first);
        pool.give(first);
        let second = pool.take(100);
        assert!(!Rc::ptr_eq(&in_flight, &second));
        let address = in_flight.pointer(0, 0);
        drop(in_flight);
        assert_eq!(pool.take(4096).pointer(0, 0), address);
    }
}
