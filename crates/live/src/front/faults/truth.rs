//! What the blocks of a disk may hold: after each request that was done, and after the power was cut.

use super::disk::Content;
use block::BLOCK_BYTES;
use std::rc::Rc;

const BLOCK: u64 = BLOCK_BYTES;

/// A change of bytes of the disk: what they are from then on.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) from: u64,
    pub(super) bytes: Rc<[u8]>,
}

impl Change {
    pub(super) fn end(&self) -> u64 {
        self.from + self.bytes.len() as u64
    }

    pub(super) fn blocks(&self) -> std::ops::Range<usize> {
        (self.from / BLOCK) as usize..self.end().div_ceil(BLOCK) as usize
    }

    /// What a block then is that was another.
    fn made_of(&self, block: usize, before: &Content) -> Content {
        let first = block as u64 * BLOCK;
        let (from, to) = (self.from.max(first), self.end().min(first + BLOCK));
        let mut after = before.to_vec();
        after[(from - first) as usize..(to - first) as usize]
            .copy_from_slice(&self.bytes[(from - self.from) as usize..(to - self.from) as usize]);
        after.into()
    }
}

/// What a block may have held, one set after each change of it, from the last that must survive on.
struct Block {
    states: Vec<Vec<Content>>,
    /// The number of the first of them.
    first: usize,
    /// The last whose change was answered.
    answered: usize,
    /// Whether a flush has failed since the last change: then it may hold any of them. And the last there was when one failed.
    lost: bool,
    lost_to: usize,
}

impl Block {
    /// What it may hold now.
    fn now(&self) -> Vec<Content> {
        if !self.lost {
            return self.states[self.states.len() - 1].clone();
        }
        self.states.iter().fold(Vec::new(), |mut all, state| {
            add(&mut all, state);
            all
        })
    }
}

/// Adds what is not there yet.
fn add(all: &mut Vec<Content>, more: &[Content]) {
    more.iter().for_each(|content| {
        if !all.contains(content) {
            all.push(Rc::clone(content));
        }
    });
}

/// All blocks.
pub(super) struct Truth(Vec<Block>);

/// Which state a change made of each block: number of the block, number of the state.
pub(super) type Made = Vec<(usize, usize)>;

impl Truth {
    /// Of blocks that hold this.
    pub(super) fn new(holds: impl Iterator<Item = Content>) -> Truth {
        let block = |content| Block { states: vec![vec![content]], first: 0, answered: 0, lost: false, lost_to: 0 };
        Truth(holds.map(block).collect())
    }

    /// Something was changed, for sure or perhaps.
    pub(super) fn change(&mut self, change: &Change, sure: bool) -> Made {
        let make = |number: usize| {
            let block = &mut self.0[number];
            let now = block.now();
            let after: Vec<Content> = now.iter().map(|before| change.made_of(number, before)).collect();
            let mut state = if sure { Vec::new() } else { now };
            add(&mut state, &after);
            block.states.push(state);
            block.lost = false;
            (number, block.first + block.states.len() - 1)
        };
        change.blocks().map(make).collect()
    }

    /// What a block may hold now.
    pub(super) fn now(&self, block: usize) -> Vec<Content> {
        self.0[block].now()
    }

    /// A flush has failed: of each block, what was not flushed before may be lost.
    pub(super) fn lose(&mut self) {
        for block in &mut self.0 {
            block.lost_to = block.first + block.states.len() - 1;
            block.lost = block.states.len() > 1;
        }
    }

    /// Whoever has these blocks knows of it, and goes on: what was there when a flush failed last may be lost, whatever is flushed
    /// from now on.
    pub(super) fn accept(&mut self, blocks: std::ops::Range<usize>) {
        for block in &mut self.0[blocks] {
            let most = (block.lost_to + 1).saturating_sub(block.first);
            let mut before = Vec::new();
            for state in block.states.iter_mut().take(most) {
                add(&mut before, state);
                state.clone_from(&before);
            }
        }
    }

    /// A change was answered.
    pub(super) fn answered(&mut self, made: &Made) {
        for (block, state) in made {
            let block = &mut self.0[*block];
            block.answered = block.answered.max(*state);
        }
    }

    /// What has been answered of some blocks: what a flush that is asked for now is to keep.
    pub(super) fn all_answered(&self, blocks: std::ops::Range<usize>) -> Made {
        blocks.map(|block| (block, self.0[block].answered)).collect()
    }

    /// The last state of each block: what is kept when all was done.
    pub(super) fn all(&self) -> Made {
        self.0.iter().map(|block| block.first + block.states.len() - 1).enumerate().collect()
    }

    /// These survive whatever comes.
    pub(super) fn keep(&mut self, made: &Made) {
        for (block, state) in made {
            let block = &mut self.0[*block];
            block.states.drain(..state.saturating_sub(block.first));
            block.first = block.first.max(*state);
        }
    }

    /// Whether a block may hold this after a cut, while these changes were under way, in this order.
    pub(super) fn may_be_left(&self, block: usize, content: &Content, under_way: &[Change]) -> bool {
        let mut may: Vec<Content> = self.0[block].states.iter().flatten().cloned().collect();
        let mut last = self.now(block);
        for change in under_way.iter().filter(|change| change.blocks().contains(&block)) {
            let made: Vec<Content> = last.iter().map(|before| change.made_of(block, before)).collect();
            last.extend(made);
        }
        may.extend(last);
        may.contains(content)
    }
}
