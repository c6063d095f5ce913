//! How many segments, and how many reads that wait, there are in each region of the disk: told without a look at any of them.

use block::{Extent, Lbn};

/// A region of the disk, as segments are counted by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SegmentRegion(usize);

/// How many segments reach into a region of the disk, by a hash of the region. No segment is longer than a region, so that it
/// reaches into that of its start and that of its end, and no other.
#[derive(Clone, Debug)]
pub(super) struct SegmentRegions {
    counts: Vec<RegionCount>,
    /// The blocks of a region, as a power of two.
    shift: u32,
    /// By the same hash, how many reads wait that begin in a region.
    awaited: Vec<u16>,
    /// All that wait, and those of them of whose regions a segment has any.
    all_awaited: usize,
    near: usize,
}

/// How many segments reach into a region, and above 16 bits the sum of their indices: the one, where it is one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RegionCount(u32);

impl RegionCount {
    /// The segment `i` alone.
    #[inline(always)]
    fn of(i: usize) -> RegionCount {
        RegionCount(1 + ((i as u32) << 16))
    }

    #[inline(always)]
    pub(super) fn segments(self) -> u16 {
        self.0 as u16
    }

    #[inline(always)]
    pub(super) fn which(self) -> usize {
        (self.0 >> 16) as usize
    }

    #[inline(always)]
    fn plus(self, other: RegionCount) -> RegionCount {
        RegionCount(self.0.wrapping_add(other.0))
    }

    #[inline(always)]
    fn less(self, other: RegionCount) -> RegionCount {
        RegionCount(self.0.wrapping_sub(other.0))
    }
}

/// Counts for each segment: of regions without one, few share a count with one that has.
const COUNTS: usize = 128;

impl SegmentRegions {
    /// For `most` segments of at most `blocks` blocks.
    pub(super) fn new(most: usize, blocks: u64) -> SegmentRegions {
        let counts = vec![RegionCount::default(); (most.max(1) * COUNTS).next_power_of_two()];
        let shift = blocks.max(1).next_power_of_two().trailing_zeros();
        SegmentRegions { counts, shift, awaited: Vec::new(), all_awaited: 0, near: 0 }
    }

    #[inline]
    pub(super) fn slot(&self, region: u64) -> usize {
        // Neighbours are told apart by the low bits; what is far away seldom has the same.
        (region ^ region >> 13) as usize & (self.counts.len() - 1)
    }

    #[inline]
    pub(super) fn region_of(&self, block: Lbn) -> SegmentRegion {
        SegmentRegion(self.slot(block.0 >> self.shift))
    }

    /// Whether these runs of blocks reach into the same regions: as a segment that grows mostly does.
    #[inline(always)]
    pub(super) fn are_same(&self, (start, end): (Lbn, Lbn), (other_start, other_end): (Lbn, Lbn)) -> bool {
        ((start.0 ^ other_start.0) | (end.0 ^ other_end.0)) >> self.shift == 0
    }

    /// The segment `i` that had the first of these has the second.
    #[inline(always)]
    pub(super) fn recount(&mut self, i: usize, before: (Lbn, Lbn), now: (Lbn, Lbn)) {
        // Most drives have one command at a time.
        if self.all_awaited > 0 {
            return self.recount_awaited(i, before, now);
        }
        self.count::<false>(before, |count| count.less(RegionCount::of(i)));
        self.count::<false>(now, |count| count.plus(RegionCount::of(i)));
    }

    /// The segment `i` is a new one, which holds nothing yet.
    pub(super) fn add(&mut self, i: usize) {
        let nothing = (Lbn(0), Lbn(0));
        match self.all_awaited > 0 {
            true => self.count::<true>(nothing, |count| count.plus(RegionCount::of(i))),
            false => self.count::<false>(nothing, |count| count.plus(RegionCount::of(i))),
        }
    }

    /// As `recount` where reads wait.
    #[inline(never)]
    fn recount_awaited(&mut self, i: usize, before: (Lbn, Lbn), now: (Lbn, Lbn)) {
        self.count::<true>(before, |count| count.less(RegionCount::of(i)));
        self.count::<true>(now, |count| count.plus(RegionCount::of(i)));
    }

    /// One more segment, or one fewer, from `start` up to and with the block `end`.
    #[inline(always)]
    fn count<const AWAITED: bool>(
        &mut self,
        (start, end): (Lbn, Lbn),
        change: impl Fn(RegionCount) -> RegionCount + Copy,
    ) {
        let (first, last) = (start.0 >> self.shift, end.0 >> self.shift);
        self.change::<AWAITED>(self.slot(first), change);
        if last != first {
            self.change::<AWAITED>(self.slot(last), change);
        }
    }

    #[inline(always)]
    fn change<const AWAITED: bool>(&mut self, slot: usize, change: impl Fn(RegionCount) -> RegionCount) {
        let before = self.counts[slot];
        self.counts[slot] = change(before);
        if AWAITED {
            let awaited = usize::from(self.awaited[slot]);
            self.near += if before.segments() == 0 { awaited } else { 0 };
            self.near -= if self.counts[slot].segments() == 0 { awaited } else { 0 };
        }
    }

    /// One more read that begins in a region waits.
    pub(super) fn add_awaited(&mut self, region: SegmentRegion) {
        // A drive that has one command at a time needs no room for them.
        self.awaited.resize(self.counts.len(), 0);
        self.awaited[region.0] += 1;
        self.all_awaited += 1;
        self.near += usize::from(self.counts[region.0].segments() > 0);
    }

    /// One fewer of them waits.
    pub(super) fn remove_awaited(&mut self, region: SegmentRegion) {
        self.awaited[region.0] -= 1;
        self.all_awaited -= 1;
        self.near -= usize::from(self.counts[region.0].segments() > 0);
    }

    /// How many reads wait, and how many of them where segments are.
    #[inline(always)]
    pub(super) fn count_awaited(&self) -> (usize, usize) {
        (self.all_awaited, self.near)
    }

    /// Those that have blocks of a region, or end just before one, and others.
    #[inline]
    pub(super) fn count_of(&self, region: SegmentRegion) -> RegionCount {
        self.counts[region.0]
    }

    /// Whether a segment may have any of these blocks.
    pub(super) fn may_share(&self, at: Extent) -> bool {
        let (first, last) = (at.start.0 >> self.shift, at.end().0 >> self.shift);
        // Long extents are not worth the search.
        last - first > 2 || (first..=last).any(|region| self.counts[self.slot(region)].segments() > 0)
    }
}
