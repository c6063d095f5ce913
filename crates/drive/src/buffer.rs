//! The write buffer: extents accepted and not yet on the medium, written back shortest access first.

use block::{Extent, Lbn, Span, Time};
use std::collections::VecDeque;

/// Extents a drive keeps track of at most.
const MOST_EXTENTS: usize = 1024;

/// Extents weighed against one another for each write-back, the oldest first.
const WEIGHED: usize = 64;

/// One extent waiting for write-back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dirty {
    pub(crate) at: Extent,
    /// When the arm may set out for it.
    pub(crate) ready: Time,
    /// How its data come into the buffer.
    pub(crate) feed: Feed,
}

/// How data come over the bus.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Feed {
    /// When the first begin to come.
    pub(crate) from: Time,
    /// Bus time of a block in 2⁻¹⁶ ns.
    pub(crate) each: u64,
}

impl Feed {
    /// All data are there.
    pub(crate) const THERE: Feed = Feed { from: Time::ZERO, each: 0 };

    /// When so many blocks are there.
    pub(crate) fn there(self, blocks: u64) -> Time {
        self.from + Span((self.each * blocks) >> 16)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct WriteBuffer {
    /// In order of arrival.
    waiting: VecDeque<Dirty>,
    capacity: u64,
    used: u64,
    /// Extents it holds at most.
    most: usize,
    /// Whether one that continues the last needs no room of its own.
    joins: bool,
}

impl WriteBuffer {
    /// A buffer of `capacity` blocks that holds at most `extents` extents, which is none for as many as fit; where it
    /// `joins`, those that continue the last are not counted.
    pub(crate) fn new(capacity: u32, extents: u32, joins: bool) -> WriteBuffer {
        let most = if extents == 0 { MOST_EXTENTS } else { MOST_EXTENTS.min(extents as usize) };
        let slots = MOST_EXTENTS.min(capacity as usize);
        WriteBuffer { waiting: VecDeque::with_capacity(slots), capacity: u64::from(capacity), used: 0, most, joins }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.used == 0
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

    /// The block after the last extent that waits.
    pub(crate) fn last(&self) -> Option<Lbn> {
        self.waiting.back().map(|dirty| dirty.at.end())
    }

    /// Whether `at` can be accepted beside what waits and what is being written back, `active`: it needs room for
    /// its blocks and, unless it joins the last extent, for one more.
    pub(crate) fn fits(&self, at: Extent, active: Option<Lbn>) -> bool {
        let last = self.waiting.back().map(|dirty| dirty.at.end()).or(active);
        let extents = self.waiting.len() + usize::from(self.most < MOST_EXTENTS && active.is_some());
        let most = if self.joins && last == Some(at.start) { MOST_EXTENTS } else { self.most };
        self.free() >= u64::from(at.blocks) && extents < most
    }

    /// Accepts an extent that fits.
    pub(crate) fn push(&mut self, at: Extent, ready: Time, feed: Feed) {
        self.used += u64::from(at.blocks);
        self.waiting.push_back(Dirty { at, ready, feed });
    }

    /// The one the arm could begin soonest, of the oldest whose data are there at `now`: its place, and when.
    pub(crate) fn soonest(&self, now: Time, begins: impl Fn(Extent) -> Time) -> Option<(usize, Time)> {
        let there = self.waiting.iter().take(WEIGHED).take_while(|dirty| dirty.ready <= now);
        there.map(|dirty| begins(dirty.at)).enumerate().min_by_key(|(_, begins)| *begins)
    }

    /// Takes one out for write-back; its room stays taken until `remove`.
    pub(crate) fn take(&mut self, place: usize) -> Option<Dirty> {
        self.waiting.remove(place)
    }

    /// Gives up what waits of `at`: it was written anew.
    pub(crate) fn supersede(&mut self, at: Extent) {
        if !self.touches(at) {
            return;
        }
        let mut place = 0;
        while let Some(dirty) = self.waiting.get(place).copied() {
            let (old, end) = (dirty.at, dirty.at.end());
            let head = Extent { start: old.start, blocks: end.min(at.start).0.saturating_sub(old.start.0) as u32 };
            let start = old.start.max(at.end());
            let tail = Extent { start, blocks: end.0.saturating_sub(start.0) as u32 };
            self.used -= u64::from(old.blocks - head.blocks - tail.blocks);
            // What is left of an extent that is still coming counts as coming with it, from its first block on.
            match (head.blocks > 0, tail.blocks > 0) {
                (false, false) => {
                    self.waiting.remove(place);
                    continue;
                }
                (true, true) => {
                    self.waiting.insert(place, Dirty { at: head, ..dirty });
                    place += 1;
                    self.waiting[place].at = tail;
                }
                (true, false) => self.waiting[place].at = head,
                (false, true) => self.waiting[place].at = tail,
            }
            place += 1;
        }
    }

    /// Takes out the oldest, for write-back.
    pub(crate) fn take_first(&mut self) -> Option<Dirty> {
        self.waiting.pop_front()
    }

    /// The place of the extent that begins at `lbn`, if the arm may go on to it at `now`.
    pub(crate) fn place_of(&self, lbn: Lbn, now: Time) -> Option<usize> {
        self.waiting.iter().position(|dirty| dirty.at.start == lbn && dirty.ready <= now)
    }

    pub(crate) fn at_place(&self, place: usize) -> Dirty {
        self.waiting[place]
    }

    /// Gives the room of blocks that are on the medium to others.
    pub(crate) fn remove(&mut self, blocks: u32) {
        self.used -= u64::from(blocks);
    }

    /// Whether a waiting extent holds any of `at`.
    pub(crate) fn touches(&self, at: Extent) -> bool {
        self.waiting.iter().any(|dirty| dirty.at.start < at.end() && at.start < dirty.at.end())
    }

    /// Whether one waiting extent holds all of `at`.
    #[inline(always)]
    pub(crate) fn holds(&self, at: Extent) -> bool {
        // Most often nothing waits, which is told sooner than by going through it.
        !self.waiting.is_empty()
            && self.waiting.iter().any(|dirty| dirty.at.start <= at.start && at.end() <= dirty.at.end())
    }
}
