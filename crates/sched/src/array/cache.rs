//! The volatile read cache (Preemptive RAID scheduling, Section 3.1): segments of 64 KiB of the array's blocks, of which each holds what of
//! it was read, or is being read ahead. The segment that was not used for longest makes room.
//!
//! What is here is bookkeeping; the bytes lie in frames, one a segment, which the world keeps.

use super::JobId;
use block::{Ending, Extent};

/// Blocks of a segment: as many as a mask has bits.
pub(super) const SEGMENT: u32 = u128::BITS;

/// In place of a segment where there is none.
const NONE: u32 = u32::MAX;

/// A frame, and the segment that it holds.
#[derive(Clone, Copy, Debug)]
struct CacheLine {
    /// Which segment of the array.
    segment: u64,
    /// The blocks of it that are here.
    valid: u128,
    /// The blocks that are being read ahead, and by which task: such a line is not in the order of use.
    coming: u128,
    by: JobId,
    /// Its neighbours in the order of use, the older one and the newer.
    older: u32,
    newer: u32,
    /// The next line in its bucket.
    next: u32,
}

/// Where the bytes of a part of a request are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CachedPart {
    /// The frame, and the block of it.
    pub(super) frame: u32,
    pub(super) from: u32,
    /// The block of the request.
    pub(super) into: u32,
    pub(super) blocks: u32,
}

/// How much of a request is here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeldPart {
    /// All of it is.
    All,
    /// What is not is being read ahead, by this task and perhaps others.
    Coming(JobId),
    /// Something is to be read.
    Missing,
}

/// The lines of a cache.
#[derive(Debug)]
pub(super) struct CacheLines {
    lines: Vec<CacheLine>,
    most: u32,
    /// Lines that hold nothing, in no order.
    free: Vec<u32>,
    /// The first line of each bucket of segments.
    buckets: Vec<u32>,
    oldest: u32,
    newest: u32,
}

/// The part of an extent that lies in each segment: the segment, the first block of it, how many, and as a mask.
fn segments(at: Extent) -> impl Iterator<Item = (u64, u32, u32, u128)> {
    let (start, end, unit) = (at.start.0, at.end().0, u64::from(SEGMENT));
    (start / unit..end.div_ceil(unit)).map(move |segment| {
        let first = segment * unit;
        let (from, to) = (start.max(first) - first, end.min(first + unit) - first);
        (segment, from as u32, (to - from) as u32, mask(from as u32, (to - from) as u32))
    })
}

fn mask(from: u32, blocks: u32) -> u128 {
    (u128::MAX >> (SEGMENT - blocks)) << from
}

impl CacheLines {
    /// Makes a cache of so many blocks, in which there is nothing.
    pub(super) fn new(blocks: u64) -> CacheLines {
        let most = (blocks / u64::from(SEGMENT)).min(u64::from(u32::MAX / 4)) as u32;
        let buckets = (2 * most.max(1)).next_power_of_two() as usize;
        CacheLines {
            lines: Vec::new(),
            most,
            free: Vec::new(),
            buckets: vec![NONE; buckets],
            oldest: NONE,
            newest: NONE,
        }
    }

    /// How many segments it holds at most.
    pub(super) fn most(&self) -> u32 {
        self.most
    }

    fn bucket(&self, segment: u64) -> usize {
        (segment.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - self.buckets.len().ilog2())) as usize
    }

    fn find(&self, segment: u64) -> Option<u32> {
        let mut at = self.buckets[self.bucket(segment)];
        while at != NONE && self.lines[at as usize].segment != segment {
            at = self.lines[at as usize].next;
        }
        (at != NONE).then_some(at)
    }

    /// Takes a line out of the order of use.
    fn unlink(&mut self, at: u32) {
        let CacheLine { older, newer, .. } = self.lines[at as usize];
        match older {
            NONE => self.oldest = newer,
            older => self.lines[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.lines[newer as usize].older = older,
        }
    }

    /// Puts a line where those are that were used last.
    fn link(&mut self, at: u32) {
        let older = std::mem::replace(&mut self.newest, at);
        (self.lines[at as usize].older, self.lines[at as usize].newer) = (older, NONE);
        match older {
            NONE => self.oldest = at,
            older => self.lines[older as usize].newer = at,
        }
    }

    /// A line that is in no order holds nothing any more.
    fn give_back(&mut self, at: u32) {
        let CacheLine { segment, next, .. } = self.lines[at as usize];
        let bucket = self.bucket(segment);
        if self.buckets[bucket] == at {
            self.buckets[bucket] = next;
        } else {
            let mut before = self.buckets[bucket];
            while self.lines[before as usize].next != at {
                before = self.lines[before as usize].next;
            }
            self.lines[before as usize].next = next;
        }
        self.free.push(at);
    }

    /// The line of a segment, in no order of use: the one that there is, or a free one, or that which was not used for longest. Nothing where
    /// all are being read into, or this one is.
    fn take(&mut self, segment: u64) -> Option<u32> {
        if let Some(at) = self.find(segment) {
            if self.lines[at as usize].coming != 0 {
                return None;
            }
            self.unlink(at);
            return Some(at);
        }
        if self.free.is_empty() && self.lines.len() as u32 >= self.most {
            let oldest = self.oldest;
            if oldest == NONE {
                return None;
            }
            self.unlink(oldest);
            self.give_back(oldest);
        }
        let bucket = self.bucket(segment);
        let (by, next) = (JobId(NONE), self.buckets[bucket]);
        let line = CacheLine { segment, valid: 0, coming: 0, by, older: NONE, newer: NONE, next };
        let at = match self.free.pop() {
            Some(at) => {
                self.lines[at as usize] = line;
                at
            }
            None => {
                self.lines.push(line);
                self.lines.len() as u32 - 1
            }
        };
        self.buckets[bucket] = at;
        Some(at)
    }

    /// How much of these blocks is here.
    pub(super) fn look_up(&self, at: Extent) -> HeldPart {
        let mut held = HeldPart::All;
        for (segment, _, _, wanted) in segments(at) {
            let Some(line) = self.find(segment).map(|at| &self.lines[at as usize]) else { return HeldPart::Missing };
            let missing = wanted & !line.valid;
            if missing & !line.coming != 0 {
                return HeldPart::Missing;
            }
            if missing != 0 {
                held = HeldPart::Coming(line.by);
            }
        }
        held
    }

    /// Where all of these blocks are, which is known; they are used.
    pub(super) fn use_all(&mut self, at: Extent, mut each: impl FnMut(CachedPart)) {
        let mut into = 0;
        for (segment, from, blocks, _) in segments(at) {
            if let Some(frame) = self.find(segment) {
                if self.lines[frame as usize].coming == 0 {
                    self.unlink(frame);
                    self.link(frame);
                }
                each(CachedPart { frame, from, into, blocks });
            }
            into += blocks;
        }
    }

    /// These blocks were read: they are here from now on, but where a segment is being read ahead.
    pub(super) fn fill(&mut self, at: Extent, mut each: impl FnMut(CachedPart)) {
        let mut into = 0;
        for (segment, from, blocks, mask) in segments(at) {
            if let Some(frame) = self.take(segment) {
                self.lines[frame as usize].valid |= mask;
                self.link(frame);
                each(CachedPart { frame, from, into, blocks });
            }
            into += blocks;
        }
    }

    /// These blocks of one segment are read ahead from now on, by a task that is told later: into which frame, if there is one.
    pub(super) fn begin_ahead(&mut self, at: Extent) -> Option<CachedPart> {
        let (segment, from, blocks, mask) = segments(at).next()?;
        let frame = self.take(segment)?;
        self.lines[frame as usize].coming = mask;
        Some(CachedPart { frame, from, into: 0, blocks })
    }

    /// It is this task that reads them.
    pub(super) fn name_ahead(&mut self, frame: u32, by: JobId) {
        self.lines[frame as usize].by = by;
    }

    /// What was read ahead into a frame has come, or is of no use.
    pub(super) fn end_ahead(&mut self, frame: u32, how: Ending) {
        let line = &mut self.lines[frame as usize];
        let came = std::mem::take(&mut line.coming);
        line.valid |= if how == Ending::Finished { came } else { 0 };
        match line.valid {
            0 => self.give_back(frame),
            _ => self.link(frame),
        }
    }

    /// These blocks are not here any more.
    pub(super) fn forget(&mut self, at: Extent) {
        for (segment, _, _, mask) in segments(at) {
            let Some(frame) = self.find(segment) else { continue };
            let line = &mut self.lines[frame as usize];
            line.valid &= !mask;
            if line.valid == 0 && line.coming == 0 {
                self.unlink(frame);
                self.give_back(frame);
            }
        }
    }

    /// Whether a segment with these blocks is being read into, or all of them are here.
    pub(super) fn needs_none(&self, at: Extent) -> bool {
        segments(at).all(|(segment, _, _, wanted)| {
            let line = self.find(segment).map(|at| &self.lines[at as usize]);
            line.is_some_and(|line| line.coming != 0 || wanted & !line.valid == 0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same by definition: segments in the order of use, the oldest first, with the blocks that they hold.
    #[derive(Default)]
    struct Plain {
        segments: Vec<(u64, Vec<bool>)>,
        most: usize,
    }

    impl Plain {
        fn holds(&self, block: u64) -> bool {
            let of = |it: &&(u64, Vec<bool>)| it.0 == block / 128;
            self.segments.iter().find(of).is_some_and(|(_, blocks)| blocks[(block % 128) as usize])
        }

        /// A read: whether all of it was here. It is afterwards, as far as there is room.
        fn read(&mut self, blocks: std::ops::Range<u64>) -> bool {
            let all = blocks.clone().all(|block| self.holds(block));
            for block in blocks {
                let place = self.segments.iter().position(|(segment, _)| *segment == block / 128);
                let mut it = place.map_or((block / 128, vec![false; 128]), |place| self.segments.remove(place));
                it.1[(block % 128) as usize] = true;
                self.segments.push(it);
                if self.segments.len() > self.most {
                    self.segments.remove(0);
                }
            }
            all
        }

        fn write(&mut self, blocks: std::ops::Range<u64>) {
            for (segment, held) in &mut self.segments {
                (0..128)
                    .filter(|block| blocks.contains(&(*segment * 128 + block)))
                    .for_each(|block| held[block as usize] = false);
            }
            self.segments.retain(|(_, held)| held.contains(&true));
        }
    }

    #[test]
    fn what_is_held_is_what_a_plain_list_in_order_of_use_holds() {
        let mut random = 7u64;
        let mut draw = |limit: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % limit
        };
        let (mut hits, mut reads) = (0, 0);
        for scene in 0..40 {
            let most = 1 + draw(20);
            let (mut lines, mut plain) =
                (CacheLines::new(most * 128), Plain { most: most as usize, ..Plain::default() });
            for _ in 0..2_000 {
                let longest = if draw(4) == 0 { 300 } else { 40 };
                let blocks = 1 + draw(longest);
                let start = draw(most * 128 * 2);
                let at = Extent::new(start, blocks as u32);
                if draw(6) == 0 {
                    lines.forget(at);
                    plain.write(start..start + blocks);
                    continue;
                }
                let held = plain.read(start..start + blocks);
                assert_eq!(lines.look_up(at) == HeldPart::All, held, "scene {scene}: {at:?}");
                let mut parts = 0;
                match held {
                    true => lines.use_all(at, |part| parts += part.blocks),
                    false => lines.fill(at, |part| parts += part.blocks),
                }
                assert_eq!(parts, at.blocks);
                (hits, reads) = (hits + u64::from(held), reads + 1);
            }
        }
        assert!(hits * 20 > reads && hits * 2 < reads, "{hits} of {reads}");
    }

    #[test]
    fn what_is_read_ahead_is_awaited_and_keeps_its_frame_meanwhile() {
        let mut lines = CacheLines::new(2 * 128);
        let part = lines.begin_ahead(Extent::new(130, 60)).unwrap();
        assert_eq!((part.from, part.blocks), (2, 60));
        lines.name_ahead(part.frame, JobId(9));
        assert_eq!(lines.look_up(Extent::new(140, 50)), HeldPart::Coming(JobId(9)));
        assert_eq!(lines.look_up(Extent::new(140, 51)), HeldPart::Missing, "one block more than that");
        assert!(lines.needs_none(Extent::new(128, 128)) && lines.begin_ahead(Extent::new(128, 8)).is_none());
        for segment in 2..6 {
            lines.fill(Extent::new(segment * 128, 128), |other| assert_ne!(other.frame, part.frame));
        }
        lines.end_ahead(part.frame, Ending::Finished);
        assert_eq!(lines.look_up(Extent::new(130, 60)), HeldPart::All);
        let part = lines.begin_ahead(Extent::new(0, 128)).unwrap();
        assert_eq!(lines.look_up(Extent::new(5 * 128, 1)), HeldPart::Missing, "it made room, as the older one");
        lines.end_ahead(part.frame, Ending::Dropped);
        assert_eq!(lines.look_up(Extent::new(0, 1)), HeldPart::Missing);
        assert_eq!(lines.look_up(Extent::new(130, 60)), HeldPart::All);
    }
}
