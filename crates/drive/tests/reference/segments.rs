//! Cache segments by definition: each holds one run of blocks and, beside it, the version of each block that was ever written, as
//! it was when the block came in. An empty one is filled first, then the one used longest ago.

use std::collections::BTreeMap;

/// Versions of blocks; those that are not in it were never written.
pub type Versions = BTreeMap<u64, u32>;

#[derive(Clone, Debug)]
pub struct Segment {
    pub start: u64,
    pub end: u64,
    pub versions: Versions,
    used: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// All of it.
    Hit(usize),
    /// Its beginning, or nothing yet where the segment ends just there.
    Beginning(usize),
    Nothing,
}

#[derive(Clone, Debug, Default)]
pub struct Segments {
    pub all: Vec<Segment>,
    pub most: usize,
    pub blocks: u64,
    clock: u64,
}

impl Segments {
    pub fn new(most: u32, blocks: u32) -> Segments {
        Segments { most: most as usize, blocks: u64::from(blocks), ..Segments::default() }
    }

    pub fn look(&self, start: u64, end: u64) -> Found {
        let begins = |segment: &Segment| segment.start <= start && start <= segment.end;
        if let Some(i) = self.all.iter().position(|it| begins(it) && end <= it.end) {
            return Found::Hit(i);
        }
        self.all.iter().rposition(begins).map_or(Found::Nothing, Found::Beginning)
    }

    pub fn touch(&mut self, i: usize) {
        self.clock += 1;
        self.all[i].used = self.clock;
    }

    /// More has come in behind what a segment holds; what no longer fits goes, the oldest first.
    pub fn extend(&mut self, i: usize, end: u64, medium: &Versions) {
        self.touch(i);
        let segment = &mut self.all[i];
        for (block, version) in medium.range(segment.end..end.max(segment.end)) {
            segment.versions.insert(*block, *version);
        }
        segment.end = segment.end.max(end);
        segment.start = segment.start.max(segment.end.saturating_sub(self.blocks));
    }

    /// A segment gives up what it holds from `end` on.
    pub fn cut(&mut self, i: usize, end: u64) {
        let segment = &mut self.all[i];
        segment.end = segment.end.min(end).max(segment.start);
        segment.versions.split_off(&segment.end);
    }

    /// A segment gives up what it holds before `start`; one that holds nothing then is empty.
    pub fn forget_before(&mut self, i: usize, start: u64) {
        let segment = &mut self.all[i];
        segment.start = segment.start.max(start);
        if segment.start >= segment.end {
            (segment.start, segment.used) = (segment.end, 0);
        }
    }

    /// A segment takes in blocks that no other continues.
    pub fn fill(&mut self, start: u64, end: u64, medium: &Versions) -> usize {
        self.clock += 1;
        let start = start.max(end.saturating_sub(self.blocks));
        let versions = medium.range(start..end).map(|(block, version)| (*block, *version)).collect();
        let segment = Segment { start, end, versions, used: self.clock };
        if self.all.len() < self.most {
            self.all.push(segment);
            return self.all.len() - 1;
        }
        let taken = self.next_taken().unwrap_or(0);
        self.all[taken] = segment;
        taken
    }

    /// The segment that gives way to the next one, if all are in use.
    pub fn next_taken(&self) -> Option<usize> {
        let full = self.all.len() >= self.most;
        (0..self.all.len()).filter(|_| full).min_by_key(|i| self.all[*i].used)
    }

    /// Blocks are written: segments that hold any of them are empty.
    pub fn invalidate(&mut self, start: u64, end: u64) {
        for segment in &mut self.all {
            if segment.start < end && start < segment.end {
                (segment.end, segment.used) = (segment.start, 0);
                segment.versions.clear();
            }
        }
    }
}
