//! The write buffer: extents accepted and not yet on the medium, written back shortest access first.

use block::{Extent, Lbn, Time};
use std::collections::VecDeque;

/// Extents a drive keeps track of at most.
const MOST_EXTENTS: usize = 1024;

/// Extents weighed against one another for each write-back, the oldest first.
const WEIGHED: usize = 64;

/// One extent waiting for write-back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dirty {
    pub(crate) at: Extent,
    /// When its data were in the buffer.
    pub(crate) ready: Time,
}

#[derive(Clone, Debug)]
pub(crate) struct WriteBuffer {
    /// In order of arrival.
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

    /// Takes out, for write-back, the one the arm could begin soonest of the oldest whose data are there at
    /// `now`; its space stays used until `freed`.
    pub(crate) fn take_soonest(&mut self, now: Time, begins: impl Fn(Extent) -> Time) -> Option<Dirty> {
        let there = self.waiting.iter().take(WEIGHED).enumerate().take_while(|(_, dirty)| dirty.ready <= now);
        let (i, _) = there.min_by_key(|(_, dirty)| begins(dirty.at))?;
        self.waiting.remove(i)
    }

    /// Takes out the extent that begins at `lbn`, if its data are there at `now`.
    pub(crate) fn take_at(&mut self, lbn: Lbn, now: Time) -> Option<Dirty> {
        let i = self.waiting.iter().position(|dirty| dirty.at.start == lbn && dirty.ready <= now)?;
        self.waiting.remove(i)
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
