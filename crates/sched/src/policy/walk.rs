//! Branch and bound over position: the walk outward from the head that all greedy searches share.
//!
//! Leaves are visited in the order of what they may hold at best, on both sides of the head. A search stops when the best that
//! is left is worse than what it found; only then, so that ties do not depend on the walk.

use crate::sorted::Sorted;

/// Leaves from `left` up to `right` have been visited.
pub(super) struct Walk<B> {
    left: usize,
    right: usize,
    slots: usize,
    /// The best score that anything before `left`, or from `right` on, can have.
    below: B,
    above: B,
    /// The bound of a schedule without commands.
    none: B,
}

/// The best score of anything with a key in a range.
pub(super) trait Bound<B>: Fn(u64, u64) -> B {}
impl<B, F: Fn(u64, u64) -> B> Bound<B> for F {}

impl<B: Copy + PartialOrd> Walk<B> {
    /// A walk from the leaf in which `key` lies. Lower scores are better; none is worse than `none`.
    #[inline]
    pub(super) fn new<T: Copy>(sorted: &Sorted<T>, key: u64, none: B, bound: impl Bound<B>) -> Walk<B> {
        let slots = sorted.directory().len();
        let middle = sorted.slot_of(key);
        let mut walk = Walk { left: middle, right: middle, slots, below: none, above: none, none };
        while walk.left > 0 && is_hole(sorted, walk.left - 1) {
            walk.left -= 1;
        }
        walk.below = walk.bound_below(sorted, &bound);
        walk.above = walk.bound_above(sorted, &bound);
        walk
    }

    #[inline]
    fn bound_below<T: Copy>(&self, sorted: &Sorted<T>, bound: &impl Bound<B>) -> B {
        if self.left == 0 { self.none } else { bound(0, low(sorted, self.left)) }
    }

    #[inline]
    fn bound_above<T: Copy>(&self, sorted: &Sorted<T>, bound: &impl Bound<B>) -> B {
        if self.right == self.slots { self.none } else { bound(low(sorted, self.right), u64::MAX) }
    }

    /// The next leaf, and the best score that anything on its side of the head can have; nothing once nothing that is left
    /// can be as good as `bar`. Leaves that are not `worth` a visit, though they cost no more than the last on their side, are
    /// passed over without a bound of their own.
    #[inline]
    pub(super) fn next<T: Copy>(
        &mut self,
        sorted: &Sorted<T>,
        bar: B,
        bound: impl Bound<B>,
        worth: impl Fn(usize, B) -> bool,
    ) -> Option<(usize, B)> {
        let goes_up = self.above <= self.below;
        let best = if goes_up { self.above } else { self.below };
        if best > bar || best >= self.none {
            return None;
        }
        if goes_up {
            let slot = self.right;
            self.right += 1;
            while self.right < self.slots && (is_hole(sorted, self.right) || !worth(self.right, best)) {
                self.right += 1;
            }
            self.above = self.bound_above(sorted, &bound);
            Some((slot, best))
        } else {
            self.left -= 1;
            let slot = self.left;
            while self.left > 0 && (is_hole(sorted, self.left - 1) || !worth(self.left - 1, best)) {
                self.left -= 1;
            }
            self.below = self.bound_below(sorted, &bound);
            Some((slot, best))
        }
    }
}

/// Where a leaf begins; after the last, the end of all keys.
#[inline]
pub(super) fn low<T: Copy>(sorted: &Sorted<T>, slot: usize) -> u64 {
    sorted.directory().get(slot).map_or(u64::MAX, |slot| slot.low())
}

/// Whether a slot is of no leaf.
#[inline]
fn is_hole<T: Copy>(sorted: &Sorted<T>, slot: usize) -> bool {
    sorted.directory()[slot].is_hole()
}
