//! Cache segments: each holds one run of blocks; an empty one is filled first, else the least recently used.
//!
//! The hot path is `look`: a drive with a queue asks it of each command that waits, whenever it decides. Most are for blocks that no
//! segment is near; a count of segments by region tells so without a look at any, however many there are.

mod regions;

use block::{Extent, Lbn};
pub(crate) use regions::SegmentRegion;
use regions::SegmentRegions;

/// One run of cached blocks, `start` included, `end` not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segment {
    start: Lbn,
    end: Lbn,
    /// Whether what it held is given up: then it is filled before any other.
    is_free: bool,
    /// Those that were used just before it and just after: a ring, in which the newest comes before the oldest.
    older: usize,
    newer: usize,
}

/// What the segments have of an extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// All of it, in this segment.
    Hit(usize),
    /// Its beginning, in this segment; where the segment ends just there, nothing yet.
    Partial(usize),
    /// The buffer holds nothing that helps.
    Miss,
}

#[derive(Clone, Debug)]
pub(crate) struct Segments {
    held: Vec<Segment>,
    most: usize,
    blocks: u64,
    /// Where the ring begins, so that nobody looks through all for the one to give way: with free ones, by their index.
    oldest: usize,
    /// The one that was used last, if it was not given up since.
    used: Option<usize>,
    regions: SegmentRegions,
}

impl Segments {
    /// `most` segments of `blocks` blocks each.
    pub(crate) fn new(most: u32, blocks: u32) -> Segments {
        let (held, most) = (Vec::with_capacity(most as usize), most as usize);
        let regions = SegmentRegions::new(most, u64::from(blocks));
        Segments { held, most, blocks: u64::from(blocks), oldest: 0, used: None, regions }
    }

    /// A segment holds the blocks from `start` to `end`.
    #[inline(always)]
    fn set(&mut self, i: usize, start: Lbn, end: Lbn) {
        let segment = &mut self.held[i];
        let before = (segment.start, segment.end);
        (segment.start, segment.end) = (start, end);
        if !self.regions.are_same(before, (start, end)) {
            self.regions.recount(i, before, (start, end));
        }
    }

    /// Takes a segment from the ring, which holds another.
    fn unlink(&mut self, i: usize) {
        let Segment { older, newer, .. } = self.held[i];
        (self.held[older].newer, self.held[newer].older) = (newer, older);
        if self.oldest == i {
            self.oldest = newer;
        }
    }

    /// Puts a segment into the ring, as the next older one of another.
    fn link(&mut self, i: usize, newer: usize) {
        let older = std::mem::replace(&mut self.held[newer].older, i);
        self.held[older].newer = i;
        (self.held[i].older, self.held[i].newer) = (older, newer);
    }

    /// Gives up what a segment holds.
    fn free(&mut self, i: usize) {
        self.used = None;
        self.held[i].is_free = true;
        self.unlink(i);
        let (first, mut next) = (self.oldest, self.oldest);
        while self.held[next].is_free && next < i {
            next = self.held[next].newer;
            if next == first {
                // Behind all others: as the newest.
                return self.link(i, first);
            }
        }
        self.link(i, next);
        if next == first {
            self.oldest = i;
        }
    }

    pub(crate) fn is_none(&self) -> bool {
        self.most == 0
    }

    /// Where a block is looked for: worked out once for what waits.
    #[inline]
    pub(crate) fn region_of(&self, block: Lbn) -> SegmentRegion {
        self.regions.region_of(block)
    }

    /// Whether `look` may find anything of what begins in this region.
    #[inline]
    pub(crate) fn may_have(&self, region: SegmentRegion) -> bool {
        self.regions.count_of(region).segments() > 0
    }

    /// A read that begins in this region waits from now on, or no more.
    #[inline]
    pub(crate) fn add_awaited(&mut self, region: SegmentRegion) {
        self.regions.add_awaited(region);
    }

    #[inline]
    pub(crate) fn remove_awaited(&mut self, region: SegmentRegion) {
        self.regions.remove_awaited(region);
    }

    /// How many reads wait, and of how many of them `look` may find anything.
    #[inline(always)]
    pub(crate) fn count_awaited(&self) -> (usize, usize) {
        self.regions.count_awaited()
    }

    /// What is held of `at`.
    #[inline]
    pub(crate) fn look(&self, at: Extent) -> Lookup {
        let near = self.regions.count_of(self.region_of(at.start));
        match near.segments() {
            0 => Lookup::Miss,
            1 => self.look_in(near.which(), at),
            _ => self.look_through(at),
        }
    }

    /// The same where no other than this segment can have anything of it.
    #[inline(always)]
    fn look_in(&self, i: usize, at: Extent) -> Lookup {
        let Segment { start, end, .. } = self.held[i];
        match start <= at.start && at.start <= end {
            false => Lookup::Miss,
            true if at.end() <= end => Lookup::Hit(i),
            true => Lookup::Partial(i),
        }
    }

    /// The same by a look at all of them.
    #[inline(never)]
    fn look_through(&self, at: Extent) -> Lookup {
        let mut found = Lookup::Miss;
        for (i, segment) in self.held.iter().enumerate() {
            if segment.start <= at.start && at.start <= segment.end {
                if at.end() <= segment.end {
                    return Lookup::Hit(i);
                }
                found = Lookup::Partial(i);
            }
        }
        found
    }

    /// Whether an extent reaches into a segment, or what follows it.
    pub(crate) fn overlaps(&self, i: usize, at: Extent) -> bool {
        self.held[i].start < at.end()
    }

    pub(crate) fn start_of(&self, i: usize) -> Lbn {
        self.held[i].start
    }

    pub(crate) fn end_of(&self, i: usize) -> Lbn {
        self.held[i].end
    }

    /// Marks a segment as just used.
    #[inline(always)]
    pub(crate) fn touch(&mut self, i: usize) {
        if self.used != Some(i) {
            self.make_newest(i);
        }
    }

    #[inline(always)]
    fn make_newest(&mut self, i: usize) {
        self.used = Some(i);
        self.held[i].is_free = false;
        if i == self.oldest {
            // A turn of the ring makes it the newest.
            self.oldest = self.held[i].newer;
        } else if i != self.held[self.oldest].older {
            self.unlink(i);
            self.link(i, self.oldest);
        }
    }

    /// A segment now holds the blocks up to `end`; it slides if that is more than it can hold.
    #[inline(always)]
    pub(crate) fn extend(&mut self, i: usize, end: Lbn) {
        self.touch(i);
        let segment = self.held[i];
        if end > segment.end {
            self.set(i, segment.start.max(Lbn(end.0.saturating_sub(self.blocks))), end);
        }
    }

    /// What is read into a segment ends at `end`: it has what is before that, as far as it can hold it, and nothing behind.
    #[inline(always)]
    pub(crate) fn end_at(&mut self, i: usize, end: Lbn) {
        // Most often that is as far as it was read to.
        if self.used != Some(i) || self.held[i].end != end {
            self.end_elsewhere(i, end);
        }
    }

    #[inline(never)]
    fn end_elsewhere(&mut self, i: usize, end: Lbn) {
        self.touch(i);
        let segment = self.held[i];
        let least = if end > segment.end { Lbn(end.0.saturating_sub(self.blocks)) } else { Lbn(0) };
        let start = segment.start.max(least);
        self.set(i, start, end.max(start));
    }

    /// A segment gives up what it holds before `start`.
    pub(crate) fn forget_before(&mut self, i: usize, start: Lbn) {
        let segment = self.held[i];
        self.set(i, segment.start.max(start).min(segment.end), segment.end);
        if start.max(segment.start) >= segment.end {
            self.free(i);
        }
    }

    /// A segment now holds (the end of) the blocks from `start` to `end`. Gives its index.
    #[inline]
    pub(crate) fn fill(&mut self, start: Lbn, end: Lbn) -> usize {
        let start = start.max(Lbn(end.0.saturating_sub(self.blocks)));
        let taken = self.next_taken().unwrap_or_else(|| self.add());
        self.touch(taken);
        self.set(taken, start, end);
        taken
    }

    /// One more segment, which holds nothing yet.
    fn add(&mut self) -> usize {
        let i = self.held.len();
        self.regions.add(i);
        self.held.push(Segment { start: Lbn(0), end: Lbn(0), is_free: false, older: i, newer: i });
        if i > 0 {
            self.link(i, self.oldest);
        }
        i
    }

    /// The segment that gives way to the next one, if all are in use.
    pub(crate) fn next_taken(&self) -> Option<usize> {
        (self.most > 0 && self.held.len() >= self.most).then_some(self.oldest)
    }

    /// Blocks of `at` were written: whatever is held of them is stale.
    pub(crate) fn invalidate(&mut self, at: Extent) {
        if !self.regions.may_share(at) {
            return;
        }
        for i in 0..self.held.len() {
            let segment = self.held[i];
            if segment.start < at.end() && at.start < segment.end {
                self.set(i, segment.start, segment.start);
                self.free(i);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(segments: &mut Segments, at: Extent) -> usize {
        segments.fill(at.start, at.end())
    }

    #[test]
    fn the_least_recently_used_segment_gives_way() {
        let mut segments = Segments::new(2, 100);
        let first = fill(&mut segments, Extent::new(0, 10));
        fill(&mut segments, Extent::new(1000, 10));
        segments.touch(first);
        fill(&mut segments, Extent::new(2000, 10));
        assert_eq!(segments.look(Extent::new(0, 10)), Lookup::Hit(0));
        assert_eq!(segments.look(Extent::new(1000, 10)), Lookup::Miss);
        assert_eq!(segments.look(Extent::new(2005, 10)), Lookup::Partial(1));
    }

    #[test]
    fn a_segment_that_grows_is_in_use() {
        let mut segments = Segments::new(2, 100);
        let first = fill(&mut segments, Extent::new(0, 10));
        fill(&mut segments, Extent::new(1000, 10));
        segments.extend(first, Lbn(20));
        fill(&mut segments, Extent::new(2000, 10));
        assert_eq!(segments.look(Extent::new(0, 20)), Lookup::Hit(0));
        assert_eq!(segments.look(Extent::new(1000, 10)), Lookup::Miss);
    }

    #[test]
    fn a_segment_that_ends_where_it_did_is_in_use() {
        let mut segments = Segments::new(2, 100);
        let first = fill(&mut segments, Extent::new(0, 10));
        fill(&mut segments, Extent::new(1000, 10));
        segments.end_at(first, Lbn(10));
        fill(&mut segments, Extent::new(2000, 10));
        assert_eq!(segments.look(Extent::new(0, 10)), Lookup::Hit(0));
        assert_eq!(segments.look(Extent::new(1000, 10)), Lookup::Miss);
    }

    #[test]
    fn an_empty_segment_is_filled_before_any_other() {
        let mut segments = Segments::new(2, 100);
        fill(&mut segments, Extent::new(0, 10));
        fill(&mut segments, Extent::new(1000, 10));
        segments.invalidate(Extent::new(1005, 1));
        fill(&mut segments, Extent::new(2000, 10));
        assert_eq!(segments.look(Extent::new(0, 10)), Lookup::Hit(0));
        assert_eq!(segments.look(Extent::new(2000, 10)), Lookup::Hit(1));
    }

    /// As a clock would have it that each use sets: the index of the first of the least used ones, of which those that are free
    /// were never used.
    #[test]
    fn segments_give_way_in_the_order_in_which_clocks_would_have_it() {
        let (mut segments, mut used, mut clock) = (Segments::new(5, 100), [0u64; 5], 0);
        let mut state = 1u64;
        for step in 0..20_000u64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let i = (state >> 33) as usize % 5;
            if step < 5 || state >> 61 == 0 {
                let expected = if step < 5 { step as usize } else { (0..5).min_by_key(|i| used[*i]).unwrap() };
                // Apart from all others, so that what is invalidated is of one.
                assert_eq!(fill(&mut segments, Extent::new(step * 1000, 10)), expected);
                clock += 1;
                used[expected] = clock;
            } else if state >> 62 == 1 {
                let there = segments.held[i];
                if there.end > there.start {
                    segments.invalidate(Extent::new(there.start.0, 1));
                    used[i] = 0;
                }
            } else if used[i] != 0 {
                segments.touch(i);
                clock += 1;
                used[i] = clock;
            }
        }
    }

    /// What is told of an extent, and what is left after a write, are those of a look at every segment.
    #[test]
    fn regions_hide_no_segment() {
        for (most, blocks) in [(1, 1), (3, 100), (8, 64), (96, 4096)] {
            let mut segments = Segments::new(most, blocks);
            let mut state = u64::from(most);
            let mut draw = |below: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) % below
            };
            for step in 0..20_000 {
                let at = Extent::new(draw(u64::from(blocks) * 40), draw(u64::from(blocks) * 3 / 2 + 1) as u32 + 1);
                let held = segments.held.clone();
                let near = |it: &Segment| it.start <= at.start && at.start <= it.end;
                let has = |it: &Segment| near(it) && at.end() <= it.end;
                let expected = match (held.iter().position(has), held.iter().rposition(near)) {
                    (Some(i), _) => Lookup::Hit(i),
                    (None, Some(i)) => Lookup::Partial(i),
                    (None, None) => Lookup::Miss,
                };
                assert_eq!(segments.look(at), expected, "{most} segments, step {step}");
                assert!(held.iter().all(|it| it.start <= it.end), "{most} segments, step {step}");
                let i = draw(u64::from(most)) as usize;
                match draw(6) {
                    0 | 1 => drop(segments.fill(at.start, at.end())),
                    2 if i < held.len() => segments.extend(i, Lbn(held[i].end.0 + draw(100))),
                    3 if i < held.len() => segments.end_at(i, at.start),
                    4 if i < held.len() => segments.forget_before(i, Lbn(held[i].start.0 + draw(50))),
                    5 => {
                        segments.invalidate(at);
                        let stale = |it: &Segment| it.start < it.end && it.start < at.end() && at.start < it.end;
                        assert!(!segments.held.iter().any(stale), "{most} segments, step {step}");
                    }
                    _ => {}
                }
            }
        }
    }

    /// However segments change while reads wait, it is counted how many of these begin where a look may find something.
    #[test]
    fn what_waits_near_a_segment_is_counted() {
        let mut segments = Segments::new(8, 64);
        let (mut waiting, mut seen) = (Vec::<Extent>::new(), [0; 2]);
        let mut state = 5u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        for step in 0..20_000 {
            let at = Extent::new(draw(64 * 60), draw(90) as u32 + 1);
            match draw(7) {
                0 if waiting.len() < 5 => {
                    segments.add_awaited(segments.region_of(at.start));
                    waiting.push(at);
                }
                1 if !waiting.is_empty() => {
                    let gone = waiting.swap_remove(draw(waiting.len() as u64) as usize);
                    segments.remove_awaited(segments.region_of(gone.start));
                }
                2 | 3 => drop(segments.fill(at.start, at.end())),
                4 if segments.held.len() == 8 => segments.extend(draw(8) as usize, at.end()),
                5 if segments.held.len() == 8 => segments.forget_before(draw(8) as usize, at.start),
                6 => segments.invalidate(at),
                _ => {}
            }
            let near = waiting.iter().filter(|it| segments.may_have(segments.region_of(it.start))).count();
            assert_eq!(segments.count_awaited(), (waiting.len(), near), "step {step}");
            assert!(waiting.iter().all(|it| segments.look(*it) == Lookup::Miss || near > 0), "step {step}");
            seen[usize::from(near > 0 && near < waiting.len())] += 1;
        }
        assert!(seen[0] > 2000 && seen[1] > 2000, "{seen:?}");
    }

    #[test]
    fn a_segment_slides_forgets_and_goes_stale() {
        let mut segments = Segments::new(1, 100);
        let i = fill(&mut segments, Extent::new(0, 60));
        segments.extend(i, Lbn(150));
        assert_eq!(segments.look(Extent::new(40, 8)), Lookup::Miss);
        assert_eq!(segments.look(Extent::new(50, 100)), Lookup::Hit(0));
        segments.forget_before(i, Lbn(60));
        assert_eq!(segments.look(Extent::new(50, 10)), Lookup::Miss);
        assert_eq!(segments.look(Extent::new(60, 90)), Lookup::Hit(0));
        segments.invalidate(Extent::new(149, 1));
        assert_eq!(segments.look(Extent::new(60, 10)), Lookup::Partial(0));
    }
}
