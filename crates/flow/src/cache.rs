//! The buffer cache: pages in frames, the least recently used clean one given up first; dirty ones are written by a
//! daemon that looks at a part of the frames at a time (004 §5.2).

use block::Time;
use load::Draw;
use std::collections::BTreeMap;

/// What a frame holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// What the medium holds.
    Clean,
    /// Being read by the request in this slot.
    Reading(u32),
    /// Newer than the medium.
    Dirty,
    /// Being written by the request in this slot; and whether it was written into again.
    Writing(u32, bool),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct CacheFrame {
    pub(crate) page: Option<u64>,
    pub(crate) content: Content,
    /// When it was read ahead, as long as nobody used it.
    pub(crate) ahead: Option<Time>,
    /// In which order frames were last used.
    used: u64,
}

/// A frame, or what has to end before there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameRoom {
    /// A clean frame, and whether what it held was read ahead for nothing.
    Frame(u32, bool),
    /// A dirty frame that nobody writes yet.
    Dirty(u32),
    /// The request in this slot, which writes a dirty frame.
    Writing(u32),
    /// None that could be had: all are being read.
    None,
}

pub(crate) struct BufferCache {
    frames: Vec<CacheFrame>,
    by_page: BTreeMap<u64, u32>,
    /// Clean frames and dirty ones, in order of their last use.
    clean: BTreeMap<u64, u32>,
    dirty: BTreeMap<u64, u32>,
    uses: u64,
    /// Where the daemon goes on.
    hand: usize,
}

impl BufferCache {
    /// A cache of so many frames, all clean. Pieces of so many frames were last used one after the other, the pieces in no order:
    /// the machine has run for a while. The larger the pieces, the closer together lies what becomes dirty in a while, and the
    /// more of it the daemon meets at once.
    pub(crate) fn new(frames: u32, piece: u32, mut draw: Draw) -> BufferCache {
        let (frames, piece) = (u64::from(frames), u64::from(piece.max(1)));
        let mut pieces: Vec<u64> = (0..frames.div_ceil(piece)).collect();
        for i in (1..pieces.len()).rev() {
            pieces.swap(i, draw.below(i as u64 + 1) as usize);
        }
        let order: Vec<u64> = (0..frames).map(|i| pieces[(i / piece) as usize] * piece + i % piece).collect();
        BufferCache::used_in(&order)
    }

    /// Clean frames, each last used as this says.
    fn used_in(order: &[u64]) -> BufferCache {
        let empty = |used: &u64| CacheFrame { page: None, content: Content::Clean, ahead: None, used: *used };
        BufferCache {
            frames: order.iter().map(empty).collect(),
            by_page: BTreeMap::new(),
            clean: order.iter().copied().zip(0..).collect(),
            dirty: BTreeMap::new(),
            uses: order.iter().max().map_or(0, |last| last + 1),
            hand: 0,
        }
    }

    pub(crate) fn find(&self, page: u64) -> Option<u32> {
        self.by_page.get(&page).copied()
    }

    pub(crate) fn frame(&mut self, frame: u32) -> &mut CacheFrame {
        &mut self.frames[frame as usize]
    }

    pub(crate) fn has_dirty(&self) -> bool {
        !self.dirty.is_empty()
    }

    /// Where a new page could go.
    pub(crate) fn room(&self) -> FrameRoom {
        if let Some(frame) = self.clean.values().next() {
            return FrameRoom::Frame(*frame, self.frames[*frame as usize].ahead.is_some());
        }
        match self.dirty.values().next().map(|frame| (*frame, self.frames[*frame as usize].content)) {
            Some((_, Content::Writing(slot, _))) => FrameRoom::Writing(slot),
            Some((frame, _)) => FrameRoom::Dirty(frame),
            None => FrameRoom::None,
        }
    }

    /// Gives a clean frame to a page.
    pub(crate) fn assign(&mut self, frame: u32, page: u64, content: Content) {
        if let Some(old) = self.frames[frame as usize].page.replace(page) {
            self.by_page.remove(&old);
        }
        self.by_page.insert(page, frame);
        self.frames[frame as usize].ahead = None;
        self.set(frame, content);
    }

    /// Changes what a frame holds, used now.
    pub(crate) fn set(&mut self, frame: u32, content: Content) {
        self.uses += 1;
        let uses = self.uses;
        self.put(frame, content, uses);
    }

    /// The same, but that is no use of it.
    pub(crate) fn becomes(&mut self, frame: u32, content: Content) {
        let used = self.frames[frame as usize].used;
        self.put(frame, content, used);
    }

    fn put(&mut self, index: u32, content: Content, used: u64) {
        let frame = &mut self.frames[index as usize];
        self.clean.remove(&frame.used);
        self.dirty.remove(&frame.used);
        (frame.content, frame.used) = (content, used);
        match content {
            Content::Clean => self.clean.insert(used, index),
            Content::Dirty | Content::Writing(..) => self.dirty.insert(used, index),
            Content::Reading(_) => None,
        };
    }

    /// The frames that the daemon looks at next, one of so many parts; those that are dirty.
    pub(crate) fn sweep(&mut self, parts: u32) -> Vec<u32> {
        let count = self.frames.len().div_ceil(parts.max(1) as usize);
        let from = self.hand;
        self.hand = (from + count) % self.frames.len().max(1);
        let frames = (from..from + count).map(|i| (i % self.frames.len()) as u32);
        frames.filter(|frame| self.frames[*frame as usize].content == Content::Dirty).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_clean_frame_goes_first_and_a_dirty_one_stays() {
        let mut cache = BufferCache::new(3, 1, Draw::new(1, 0));
        for page in 10..13 {
            let FrameRoom::Frame(frame, false) = cache.room() else { panic!("there is room") };
            cache.assign(frame, page, if page == 10 { Content::Dirty } else { Content::Clean });
        }
        cache.set(cache.find(11).unwrap(), Content::Clean);
        let oldest = cache.find(12).unwrap();
        assert_eq!(cache.room(), FrameRoom::Frame(oldest, false));
        cache.assign(oldest, 13, Content::Clean);
        assert_eq!((cache.find(12), cache.find(13)), (None, Some(oldest)));
        assert!(cache.find(10).is_some() && cache.find(11).is_some());
    }

    #[test]
    fn without_a_clean_frame_the_oldest_dirty_one_has_to_be_written() {
        let mut cache = BufferCache::new(2, 1, Draw::new(1, 0));
        for page in 0..2 {
            let FrameRoom::Frame(frame, _) = cache.room() else { panic!("there is room") };
            cache.assign(frame, page, Content::Dirty);
        }
        let oldest = cache.find(0).unwrap();
        assert_eq!(cache.room(), FrameRoom::Dirty(oldest));
        cache.becomes(oldest, Content::Writing(7, false));
        assert_eq!(cache.room(), FrameRoom::Writing(7));
        cache.becomes(oldest, Content::Clean);
        assert_eq!(cache.room(), FrameRoom::Frame(oldest, false));
    }

    #[test]
    fn a_sweep_meets_every_frame_once_in_so_many_parts() {
        let mut cache = BufferCache::new(100, 1, Draw::new(1, 0));
        for page in 0..100 {
            let FrameRoom::Frame(frame, _) = cache.room() else { panic!("there is room") };
            cache.assign(frame, page, Content::Dirty);
        }
        let mut met: Vec<u32> = (0..10).flat_map(|_| cache.sweep(10)).collect();
        met.sort_unstable();
        assert_eq!(met, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn frames_of_a_piece_are_given_up_one_after_the_other_and_each_frame_once() {
        for (frames, piece) in [(100, 1), (100, 100), (100, 8), (7, 100)] {
            let mut cache = BufferCache::new(frames, piece, Draw::new(1, 0));
            let mut given = Vec::new();
            for page in 0..u64::from(frames) {
                let FrameRoom::Frame(frame, _) = cache.room() else { panic!("there is room") };
                cache.assign(frame, page, Content::Dirty);
                given.push(frame);
            }
            let follow = given.windows(2).filter(|pair| pair[1] == pair[0] + 1).count();
            let pieces = frames.div_ceil(piece) as usize;
            assert!(follow + pieces >= given.len() && (piece > 1 || follow < 10), "{frames}, {piece}: {given:?}");
            given.sort_unstable();
            assert_eq!(given, (0..frames).collect::<Vec<_>>());
        }
    }
}
