//! Extents in the order of their places.

use crate::{Extent, Lbn};

/// Extents, no two of which share a block, in the order of their places: whether any holds a block is told in a few steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SortedExtents {
    all: Vec<Extent>,
}

impl SortedExtents {
    /// None yet, and room for so many.
    #[must_use]
    pub fn with_capacity(most: usize) -> SortedExtents {
        SortedExtents { all: Vec::with_capacity(most) }
    }

    /// How many begin before a block.
    #[inline]
    fn count_before(&self, block: Lbn) -> usize {
        self.all.partition_point(|at| at.start < block)
    }

    /// Adds one, which touches no other.
    #[inline]
    pub fn add(&mut self, at: Extent) {
        match self.all.last() {
            Some(last) if last.start > at.start => self.all.insert(self.count_before(at.start), at),
            _ => self.all.push(at),
        }
    }

    /// Takes out one that was added.
    #[inline]
    pub fn remove(&mut self, at: Extent) {
        let i = self.count_before(at.start);
        debug_assert_eq!(self.all[i], at);
        self.all.remove(i);
    }

    /// Takes all of them out.
    pub fn clear(&mut self) {
        self.all.clear();
    }

    /// Whether any holds a block of `at`.
    #[inline]
    #[must_use]
    pub fn touches(&self, at: Extent) -> bool {
        let Some(last) = self.all.last() else { return false };
        if last.end() <= at.start {
            return false;
        }
        // Of those that begin before its end the last one ends last.
        let before = self.count_before(at.end());
        before > 0 && at.start < self.all[before - 1].end()
    }

    /// Whether one holds all of `at`.
    #[inline]
    #[must_use]
    pub fn holds(&self, at: Extent) -> bool {
        // Most often there is none, which is told sooner than by going through them.
        !self.all.is_empty() && self.holds_all(at)
    }

    #[inline(never)]
    fn holds_all(&self, at: Extent) -> bool {
        let begun = self.all.partition_point(|other| other.start <= at.start);
        begun > 0 && at.end() <= self.all[begun - 1].end()
    }

    /// Whether one begins with this block.
    #[inline]
    #[must_use]
    pub fn begins_at(&self, block: Lbn) -> bool {
        self.all.get(self.count_before(block)).is_some_and(|at| at.start == block)
    }

    /// The first of the blocks right before this one that they hold without a gap; this one where they hold none.
    #[must_use]
    pub fn first_of_row(&self, block: Lbn) -> Lbn {
        let before = self.all[..self.count_before(block)].iter().rev();
        before.fold(block, |first, at| if at.end() == first { at.start } else { first })
    }

    /// Each of them in turn, by its place.
    pub fn iter(&self) -> impl Iterator<Item = Extent> {
        self.all.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_they_tell_is_what_a_look_at_each_would() {
        let mut state = 3_u64;
        let mut draw = |below: u64| {
            // Knuth's multiplier for MMIX.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        let (mut sorted, mut plain) = (SortedExtents::default(), Vec::<Extent>::new());
        for step in 0..20_000 {
            let at = Extent::new(draw(300), draw(9) as u32 + 1);
            let any = |is: &dyn Fn(&Extent) -> bool| plain.iter().any(is);
            assert_eq!(sorted.touches(at), any(&|it| it.overlaps(at)), "step {step}");
            assert_eq!(sorted.holds(at), any(&|it| it.start <= at.start && at.end() <= it.end()), "step {step}");
            assert_eq!(sorted.begins_at(at.start), any(&|it| it.start == at.start), "step {step}");
            let before = |end: Lbn| plain.iter().find(|it| it.end() == end).map(|it| it.start);
            let first = std::iter::successors(Some(at.start), |end| before(*end)).last();
            assert_eq!(Some(sorted.first_of_row(at.start)), first, "step {step}");
            if !plain.is_empty() && draw(3) == 0 {
                sorted.remove(plain.swap_remove(draw(plain.len() as u64) as usize));
            } else if !sorted.touches(at) {
                sorted.add(at);
                plain.push(at);
            }
            let mut in_order = plain.clone();
            in_order.sort_unstable_by_key(|it| it.start);
            assert!(sorted.iter().eq(in_order), "step {step}");
        }
    }
}
