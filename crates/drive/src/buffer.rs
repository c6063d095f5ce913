//! The write buffer: extents accepted and not yet on the medium, written back in the order they came.

use block::{Extent, Time};
use std::collections::VecDeque;

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
        // Steady state allocates nothing: an extent holds at least a block, and long queues merge.
        let slots = (capacity as usize).min(4096);
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

    /// Accepts an extent that fits; it joins the last one where it continues it.
    pub(crate) fn push(&mut self, at: Extent, ready: Time) {
        self.used += u64::from(at.blocks);
        if let Some(last) = self.waiting.back_mut()
            && last.at.end() == at.start
        {
            last.at.blocks += at.blocks;
            last.ready = ready;
            return;
        }
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
