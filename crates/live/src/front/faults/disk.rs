//! A disk with contents and a write-back cache, which loses whatever was not flushed.

use block::BLOCK_BYTES;
use load::Draw;
use std::rc::Rc;

/// What a block holds.
pub(super) type Content = Rc<[u8]>;

const BLOCK: usize = BLOCK_BYTES as usize;

/// What a disk says that is not so: for a world that is to notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lie {
    /// It is flushed, of which nothing came to the medium.
    Flushed,
    /// All that was written before the flush is on the medium, but for some of it.
    Barrier,
    /// A write with FUA is on the medium.
    Through,
    /// What was read is what was last written.
    Read,
}

struct Block {
    medium: Content,
    /// What a flush could not write, and then took for clean: it is read until it is forgotten, and never flushed.
    forgotten: Option<Content>,
    /// What was written since, and when.
    cached: Vec<(u64, Content)>,
}

/// The disk.
pub(super) struct Disk {
    blocks: Vec<Block>,
    writes: u64,
    pub(super) lie: Option<Lie>,
}

impl Disk {
    pub(super) fn new(blocks: u64, lie: Option<Lie>) -> Disk {
        let zeros = Content::from(vec![0; BLOCK]);
        let blocks =
            (0..blocks).map(|_| Block { medium: Rc::clone(&zeros), forgotten: None, cached: Vec::new() }).collect();
        Disk { blocks, writes: 0, lie }
    }

    /// What is read there.
    pub(super) fn holds(&self, block: usize) -> &Content {
        let Block { medium, forgotten, cached } = &self.blocks[block];
        let skip = usize::from(self.lie == Some(Lie::Read));
        cached.iter().rev().nth(skip).map_or(forgotten.as_ref().unwrap_or(medium), |(_, content)| content)
    }

    /// Writes blocks; whether past the cache.
    pub(super) fn write(&mut self, from: usize, bytes: &[u8], through: bool) {
        self.writes += 1;
        for (block, bytes) in self.blocks[from..].iter_mut().zip(bytes.chunks_exact(BLOCK)) {
            block.forgotten = None;
            if through && self.lie != Some(Lie::Through) {
                block.medium = bytes.into();
                block.cached.clear();
            } else {
                block.cached.push((self.writes, bytes.into()));
            }
        }
    }

    /// Nobody needs what a block holds.
    pub(super) fn discard(&mut self, block: usize) {
        self.write(block, &[0; BLOCK], false);
    }

    /// A flush begins, which is of all that was written so far.
    pub(super) fn mark(&self) -> u64 {
        self.writes
    }

    /// A flush ends: what was written up to its mark is on the medium.
    pub(super) fn flush(&mut self, mark: u64) {
        for (number, block) in self.blocks.iter_mut().enumerate() {
            let flushed = block.cached.partition_point(|(write, _)| *write <= mark);
            match self.lie {
                Some(Lie::Flushed) => {}
                Some(Lie::Barrier) if number % 4 == 0 => {}
                _ => {
                    if let Some((_, content)) = block.cached.drain(..flushed).next_back() {
                        block.medium = content;
                    }
                }
            }
        }
    }

    /// A flush fails, as on Linux: of what was written up to its mark some is on the medium, and the rest counts as clean, whether
    /// it is still to be read or not. No other flush will write it, or tell of it.
    pub(super) fn fail_flush(&mut self, mark: u64, draw: &mut Draw) {
        for block in &mut self.blocks {
            let dirty = block.cached.partition_point(|(write, _)| *write <= mark);
            let Some((_, content)) = block.cached.drain(..dirty).next_back() else { continue };
            match draw.below(4) {
                0 => (block.medium, block.forgotten) = (content, None),
                1 => block.forgotten = Some(content),
                _ => block.forgotten = None,
            }
        }
    }

    /// What counts as clean is given up, now here, now there.
    pub(super) fn evict(&mut self, draw: &mut Draw) {
        self.blocks.iter_mut().filter(|_| draw.below(2) == 0).for_each(|block| block.forgotten = None);
    }

    /// The power goes: of each block any of what was written since the last flush is left, or what was there before.
    pub(super) fn cut(&mut self, draw: &mut Draw) {
        for block in &mut self.blocks {
            let left = draw.below(block.cached.len() as u64 + 1) as usize;
            if let Some((_, content)) = left.checked_sub(1).map(|left| block.cached.swap_remove(left)) {
                block.medium = content;
            }
            block.cached.clear();
            block.forgotten = None;
        }
    }
}
