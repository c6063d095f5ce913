//! Cache segments: each holds one run of blocks; an empty one is filled first, else the least recently used.

use block::{Extent, Lbn};

/// One run of cached blocks, `start` included, `end` not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segment {
    start: Lbn,
    end: Lbn,
    /// When it was last used; 0 if it is empty.
    used: u64,
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

    /// What is held of `at`.
    pub(crate) fn look(&self, at: Extent) -> Lookup {
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
    pub(crate) fn touch(&mut self, i: usize) {
        self.clock += 1;
        self.held[i].used = self.clock;
    }

    /// A segment now holds the blocks up to `end`; it slides if that is more than it can hold.
    pub(crate) fn extend(&mut self, i: usize, end: Lbn) {
        let segment = &mut self.held[i];
        if segment.used != self.clock {
            self.clock += 1;
            segment.used = self.clock;
        }
        if end > segment.end {
            segment.end = end;
            segment.start = segment.start.max(Lbn(end.0.saturating_sub(self.blocks)));
        }
    }

    /// A segment gives up what it holds from `end` on.
    pub(crate) fn cut(&mut self, i: usize, end: Lbn) {
        let segment = &mut self.held[i];
        segment.end = segment.end.min(end).max(segment.start);
    }

    /// A segment gives up what it holds before `start`.
    pub(crate) fn forget_before(&mut self, i: usize, start: Lbn) {
        let segment = &mut self.held[i];
        segment.start = segment.start.max(start);
        if segment.start >= segment.end {
            (segment.start, segment.used) = (segment.end, 0);
        }
    }

    /// A segment now holds (the end of) the blocks from `start` to `end`. Gives its index.
    pub(crate) fn fill(&mut self, start: Lbn, end: Lbn) -> usize {
        self.clock += 1;
        let start = start.max(Lbn(end.0.saturating_sub(self.blocks)));
        let segment = Segment { start, end, used: self.clock };
        if self.held.len() < self.most {
            self.held.push(segment);
            return self.held.len() - 1;
        }
        let taken = self.next_taken().unwrap_or(0);
        self.held[taken] = segment;
        taken
    }

    /// The segment that gives way to the next one, if all are in use.
    pub(crate) fn next_taken(&self) -> Option<usize> {
        let all = 0..if self.held.len() < self.most { 0 } else { self.held.len() };
        all.min_by_key(|i| self.held[*i].used)
    }

    /// Blocks of `at` were written: whatever is held of them is stale.
    pub(crate) fn invalidate(&mut self, at: Extent) {
        for segment in &mut self.held {
            if segment.start < at.end() && at.start < segment.end {
                (segment.end, segment.used) = (segment.start, 0);
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
    fn an_empty_segment_is_filled_before_any_other() {
        let mut segments = Segments::new(2, 100);
        fill(&mut segments, Extent::new(0, 10));
        fill(&mut segments, Extent::new(1000, 10));
        segments.invalidate(Extent::new(1005, 1));
        fill(&mut segments, Extent::new(2000, 10));
        assert_eq!(segments.look(Extent::new(0, 10)), Lookup::Hit(0));
        assert_eq!(segments.look(Extent::new(2000, 10)), Lookup::Hit(1));
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
