//! The write buffer: extents accepted and not yet on the medium, written back shortest access first.
//!
//! No two of them share a block: what is written anew supersedes what waits. So they have an order by place, too, in which whether any
//! holds a block is told in a few steps, as a drive with a queue asks of each command that waits whenever it decides.

use block::{Extent, Lbn, SortedExtents, Span, Time};
use disk::{Cache, Spot};
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
    /// Where on the surfaces its first block lies.
    pub(crate) spot: Spot,
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

/// What of the buffer is being written back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Active {
    /// The first block that still takes room.
    pub(crate) first: Lbn,
    /// The block it stops before.
    pub(crate) limit: Lbn,
}

#[derive(Clone, Debug)]
pub(crate) struct WriteBuffer {
    /// In order of arrival.
    waiting: VecDeque<Dirty>,
    /// Where they are, in the order of their places.
    places: SortedExtents,
    capacity: u64,
    /// Blocks it holds at most of writes that continue one another.
    stream: u64,
    used: u64,
    /// Extents it holds at most.
    most: usize,
    /// Whether one that continues the last needs no room of its own.
    joins: bool,
}

impl WriteBuffer {
    /// The write buffer of a drive, with nothing in it.
    pub(crate) fn new(cache: &Cache) -> WriteBuffer {
        let (extents, capacity) = (cache.write_extents as usize, cache.write_buffer);
        let most = if extents == 0 { MOST_EXTENTS } else { MOST_EXTENTS.min(extents) };
        let stream = if cache.write_stream == 0 { capacity } else { capacity.min(cache.write_stream) };
        let slots = MOST_EXTENTS.min(capacity as usize);
        WriteBuffer {
            waiting: VecDeque::with_capacity(slots),
            places: SortedExtents::with_capacity(slots),
            capacity: u64::from(capacity),
            stream: u64::from(stream),
            used: 0,
            most,
            joins: cache.joins_writes,
        }
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

    /// The blocks of the largest write that goes into it.
    pub(crate) fn largest(&self) -> u64 {
        self.stream
    }

    /// How many blocks of what is being written back, `active`, have to be on the medium before `at` finds room; more than
    /// there are, where that alone does not make it.
    pub(crate) fn lacks(&self, at: Extent, active: Option<Active>) -> u64 {
        let lacks = u64::from(at.blocks).saturating_sub(self.free());
        if self.stream == self.capacity {
            return lacks;
        }
        let (held, leaves) = self.stream_before(at.start, active);
        match (u64::from(at.blocks) + held).saturating_sub(self.stream) {
            0 => lacks,
            more if leaves => lacks.max(more),
            _ => u64::MAX,
        }
    }

    /// How many blocks are buffered without a gap before this one, and whether the first of them are being written back.
    fn stream_before(&self, block: Lbn, active: Option<Active>) -> (u64, bool) {
        let first = self.places.first_of_row(block);
        let active = active.filter(|active| active.limit == first);
        let first = active.map_or(first, |active| active.first.min(first));
        (block.0 - first.0, active.is_some())
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
    pub(crate) fn fits(&self, at: Extent, active: Option<Active>) -> bool {
        if self.lacks(at, active) > 0 {
            return false;
        }
        let extents = self.waiting.len() + usize::from(self.most < MOST_EXTENTS && active.is_some());
        let joins = || self.joins && self.last().or(active.map(|active| active.limit)) == Some(at.start);
        extents < self.most || (extents < MOST_EXTENTS && joins())
    }

    /// Accepts an extent that fits and begins at `spot`; nothing of it waits.
    pub(crate) fn push(&mut self, at: Extent, ready: Time, feed: Feed, spot: Spot) {
        self.used += u64::from(at.blocks);
        self.waiting.push_back(Dirty { at, ready, feed, spot });
        self.places.add(at);
    }

    /// The one the arm could begin soonest, of the oldest whose data are there at `now`: its place, and when. `begins` gives nothing
    /// for one that would not begin before the time it is given.
    pub(crate) fn soonest(&self, now: Time, begins: impl Fn(&Dirty, Time) -> Option<Time>) -> Option<(usize, Time)> {
        let mut best: Option<(usize, Time)> = None;
        let there = self.waiting.iter().take(WEIGHED).take_while(|dirty| dirty.ready <= now);
        for (place, dirty) in there.enumerate() {
            if let Some(at) = begins(dirty, best.map_or(Time::NEVER, |(_, at)| at)) {
                best = Some((place, at));
            }
        }
        best
    }

    /// Takes one out for write-back; its room stays taken until `remove`.
    pub(crate) fn take(&mut self, place: usize) -> Option<Dirty> {
        let dirty = self.waiting.remove(place)?;
        self.places.remove(dirty.at);
        Some(dirty)
    }

    /// Gives up what waits of `at`: it was written anew. What is left of an extent begins where `locate` says.
    pub(crate) fn supersede(&mut self, at: Extent, locate: impl Fn(Lbn) -> Spot) {
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
            if (head.blocks, tail.blocks) != (old.blocks, 0) && (head.blocks, tail.blocks) != (0, old.blocks) {
                self.places.remove(old);
                [head, tail].into_iter().filter(|left| left.blocks > 0).for_each(|left| self.places.add(left));
            }
            // What is left of an extent that is still coming counts as coming with it, from its first block on.
            match (head.blocks > 0, tail.blocks > 0) {
                (false, false) => {
                    self.waiting.remove(place);
                    continue;
                }
                (true, true) => {
                    self.waiting.insert(place, Dirty { at: head, ..dirty });
                    place += 1;
                    (self.waiting[place].at, self.waiting[place].spot) = (tail, locate(tail.start));
                }
                (true, false) => self.waiting[place].at = head,
                (false, true) if tail == old => {}
                (false, true) => (self.waiting[place].at, self.waiting[place].spot) = (tail, locate(tail.start)),
            }
            place += 1;
        }
    }

    /// Takes out the oldest, for write-back.
    pub(crate) fn take_first(&mut self) -> Option<Dirty> {
        self.take(0)
    }

    /// The place of the extent that begins at `lbn`, if the arm may go on to it at `now`.
    pub(crate) fn place_of(&self, lbn: Lbn, now: Time) -> Option<usize> {
        if !self.places.begins_at(lbn) {
            return None;
        }
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
        self.places.touches(at)
    }

    /// Whether one waiting extent holds all of `at`.
    #[inline(always)]
    pub(crate) fn holds(&self, at: Extent) -> bool {
        self.places.holds(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use disk::Spot;

    /// What is asked of the order of places is what a look at each extent would say.
    #[test]
    fn places_tell_what_a_look_at_all_would() {
        let spot = |block: Lbn| Spot { angle: block.0, ..Spot::default() };
        let mut state = 7_u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        let cache = Cache { write_buffer: 400, write_stream: 30, joins_writes: false, ..Cache::default() };
        let mut buffer = WriteBuffer::new(&cache);
        for step in 0..50_000 {
            let at = Extent::new(draw(600), draw(12) as u32 + 1);
            let (waits, end) = (buffer.waiting.clone(), at.end());
            let any = |is: &dyn Fn(&Dirty) -> bool| waits.iter().any(is);
            assert_eq!(buffer.touches(at), any(&|it| it.at.start < end && at.start < it.at.end()), "step {step}");
            assert_eq!(buffer.holds(at), any(&|it| it.at.start <= at.start && end <= it.at.end()), "step {step}");
            let found = waits.iter().position(|it| it.at.start == at.start);
            assert_eq!(buffer.place_of(at.start, Time::ZERO), found, "step {step}");
            let first = at.start.0.saturating_sub(draw(4));
            let active = Some(Active { first: Lbn(first), limit: at.start }).filter(|_| draw(3) == 0);
            let begins = |end: Lbn| waits.iter().find(|it| it.at.end() == end).map(|it| it.at.start);
            let chain = std::iter::successors(Some(at.start), |end| begins(*end)).last().expect("its own beginning");
            let leaves = active.filter(|active| active.limit == chain).map_or(0, |active| chain.0 - active.first.0);
            let held = at.start.0 - chain.0 + leaves;
            let fits = held + u64::from(at.blocks) <= 30 && buffer.used + u64::from(at.blocks) <= 400;
            assert_eq!(buffer.fits(at, active), fits && waits.len() < MOST_EXTENTS, "step {step}");
            match draw(5) {
                0 if !waits.is_empty() => {
                    let taken = buffer.take(draw(waits.len() as u64) as usize).expect("it is there");
                    buffer.remove(taken.at.blocks);
                }
                1 => buffer.supersede(at, spot),
                _ => {
                    buffer.supersede(at, spot);
                    if buffer.fits(at, None) {
                        buffer.push(at, Time::ZERO, Feed::THERE, spot(at.start));
                    }
                }
            }
            let mut places: Vec<Extent> = buffer.waiting.iter().map(|it| it.at).collect();
            places.sort_unstable_by_key(|at| at.start);
            assert!(buffer.places.iter().eq(places.iter().copied()), "step {step}");
            assert_eq!(buffer.used, places.iter().map(|at| u64::from(at.blocks)).sum(), "step {step}");
            assert!(buffer.waiting.iter().all(|it| it.spot.angle == it.at.start.0), "step {step}");
        }
    }
}
