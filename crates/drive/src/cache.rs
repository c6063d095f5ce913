//! Read segments: each holds one run of blocks; the least recently used gives way.

use block::{Extent, Lbn};

/// One run of cached blocks, `start` included, `end` not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) start: Lbn,
    pub(crate) end: Lbn,
    used: u64,
}

/// What the segments have of an extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// All of it.
    Hit,
    /// Its beginning, in this segment.
    Partial(usize),
    /// Nothing useful.
    Miss,
}

#[derive(Clone, Debug)]
pub(crate) struct Segments {
    held: Vec<Segment>,
    most: usize,
    blocks: u64,
    clock: u64,
}

impl Segments {
    /// `most` segments of `blocks` blocks each.
    pub(crate) fn new(most: u32, blocks: u32) -> Segments {
        Segments { held: Vec::with_capacity(most as usize), most: most as usize, blocks: u64::from(blocks), clock: 0 }
    }

    pub(crate) fn is_none(&self) -> bool {
        self.most == 0
    }

    /// What is held of `at`; a segment that ends where `at` begins counts as its (empty) beginning.
    pub(crate) fn look(&self, at: Extent) -> Lookup {
        let mut found = Lookup::Miss;
        for (i, segment) in self.held.iter().enumerate() {
            if segment.start <= at.start && at.start <= segment.end {
                if at.end() <= segment.end {
                    return Lookup::Hit;
                }
                found = Lookup::Partial(i);
            }
        }
        found
    }

    /// Whether a segment holds a block.
    pub(crate) fn holds(&self, i: usize, lbn: Lbn) -> bool {
        self.held[i].start <= lbn && lbn < self.held[i].end
    }

    /// Whether an extent reaches into a segment, or what follows it.
    pub(crate) fn overlaps(&self, i: usize, at: Extent) -> bool {
        self.held[i].start < at.end()
    }

    pub(crate) fn end_of(&self, i: usize) -> Lbn {
        self.held[i].end
    }

    /// Marks the segment that holds `lbn` as just used.
    pub(crate) fn touch(&mut self, lbn: Lbn) {
        self.clock += 1;
        if let Some(segment) = self.held.iter_mut().find(|s| s.start <= lbn && lbn < s.end) {
            segment.used = self.clock;
        }
    }

    /// A segment now holds the blocks up to `end`; it slides if that is more than it can hold.
    pub(crate) fn extend(&mut self, i: usize, end: Lbn) {
        self.clock += 1;
        let segment = &mut self.held[i];
        segment.end = segment.end.max(end);
        segment.start = segment.start.max(Lbn(segment.end.0.saturating_sub(self.blocks)));
        segment.used = self.clock;
    }

    /// The least recently used segment now holds (the end of) `at`. Gives its index.
    pub(crate) fn fill(&mut self, at: Extent) -> usize {
        self.clock += 1;
        let start = at.start.max(Lbn(at.end().0.saturating_sub(self.blocks)));
        let segment = Segment { start, end: at.end(), used: self.clock };
        if self.held.len() < self.most {
            self.held.push(segment);
            return self.held.len() - 1;
        }
        let oldest = (0..self.held.len()).min_by_key(|i| self.held[*i].used).unwrap_or(0);
        self.held[oldest] = segment;
        oldest
    }

    /// Blocks of `at` were written: whatever is held of them is stale.
    pub(crate) fn invalidate(&mut self, at: Extent) {
        for segment in &mut self.held {
            if segment.start < at.end() && at.start < segment.end {
                segment.end = segment.start;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_segment_gives_way() {
        let mut segments = Segments::new(2, 100);
        segments.fill(Extent::new(0, 10));
        segments.fill(Extent::new(1000, 10));
        segments.touch(Lbn(5));
        segments.fill(Extent::new(2000, 10));
        assert_eq!(segments.look(Extent::new(0, 10)), Lookup::Hit);
        assert_eq!(segments.look(Extent::new(1000, 10)), Lookup::Miss);
        assert_eq!(segments.look(Extent::new(2005, 10)), Lookup::Partial(1));
    }

    #[test]
    fn a_segment_slides_and_a_write_makes_it_stale() {
        let mut segments = Segments::new(1, 100);
        let i = segments.fill(Extent::new(0, 60));
        segments.extend(i, Lbn(150));
        assert_eq!(segments.look(Extent::new(40, 8)), Lookup::Miss);
        assert_eq!(segments.look(Extent::new(50, 100)), Lookup::Hit);
        segments.invalidate(Extent::new(149, 1));
        assert_eq!(segments.look(Extent::new(50, 10)), Lookup::Partial(0));
    }
}
