//! The write buffer: extents accepted and not yet on the medium, written back in the order they came.

use block::{Extent, Time};
use std::collections::VecDeque;

/// Extents a drive keeps track of at most.
const MOST_EXTENTS: usize = 1024;

/// One extent waiting for write-back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dirty {
    pub(crate) at: Extent,
    /// When its data were in the buffer.
    pub(crate) ready: Time,
}

#[derive(Clone, Debug)]
pub(crate) struct WriteBuffer {
    waiting: VecDeque<Dirty>,
    capacity: u64,
    used: u64,
}

impl WriteBuffer {
    /// A buffer of `capacity` blocks.
    pub(crate) fn new(capacity: u32) -> WriteBuffer {
        let slots = MOST_EXTENTS.min(capacity as usize);
        WriteBuffer { waiting: VecDeque::with_capacity(slots), capacity: u64::from(capacity), used: 0 }
    }

    pub(crate) fn capacity(&self) -> u64 {
        self.capacity
    }

    pub(crate) fn free(&self) -> u64 {
        self.capacity - self.used
    }

    pub(crate) fn first(&self) -> Option<Dirty> {
        self.waiting.front().copied()
    }

    /// Whether so many blocks, as one more extent, can be accepted.
    pub(crate) fn fits(&self, blocks: u64) -> bool {
        self.free() >= blocks && self.waiting.len() < MOST_EXTENTS
    }

    /// Accepts an extent that fits.
    pub(crate) fn push(&mut self, at: Extent, ready: Time) {
        self.used += u64::from(at.blocks);
        self.waiting.push_back(Dirty { at, ready });
    }

    /// Takes the first extent out for write-back; its space stays used until `freed`.
    pub(crate) fn pop(&mut self) -> Option<Dirty> {
        self.waiting.pop_front()
    }

    /// So many blocks are on the medium.
    pub(crate) fn freed(&mut self, blocks: u32) {
        self.used -= u64::from(blocks);
    }

    /// Whether one waiting extent holds all of `at`.
    pub(crate) fn holds(&self, at: Extent) -> bool {
        self.waiting.iter().any(|dirty| dirty.at.start <= at.start && at.end() <= dirty.at.end())
    }
}
