//! An ordered set built for searching outward from a place: small contiguous leaves under one directory.
//!
//! Entries are ordered by (key, sequence). A leaf holds up to [`LEAF`] of them in no order; the directory holds,
//! in order, the lower bound of each leaf and its least bias. Leaves split by the median and join when two
//! neighbours are nearly empty, so they adapt to the density of the keys. Leaves are used again: in steady state
//! nothing is allocated.
//!
//! A leaf that goes leaves a hole in the directory, which the next one that splits nearby fills: of thousands of leaves, few
//! places move.
//!
//! Where biases differ, a leaf keeps its entries by bias, so that a search ends at the first one that is too great: of
//! requests that age only the old ones of each leaf are looked at.

use crate::JobId;

/// Entries in a leaf at most.
const LEAF: usize = 16;

/// A leaf with no more than this joins a neighbour, if both together have no more than that: so few that what has just joined does
/// not soon split again, and so many that a search does not walk over leaves that hold next to nothing.
const FEW: usize = LEAF / 8;
const JOINED: usize = LEAF / 2;

/// A key with its value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<T> {
    pub(crate) key: u64,
    pub(crate) sequence: u64,
    /// A part of the score that does not depend on the decision.
    pub(crate) bias: u64,
    pub(crate) id: JobId,
    pub(crate) item: T,
}

/// Key and sequence as one number, so that a comparison is one and has no branch.
fn order_of(key: u64, sequence: u64) -> u128 {
    u128::from(key) << 64 | u128::from(sequence)
}

/// A leaf as the directory knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    /// No entry of the leaf, or of those after it, is less than this.
    low: u128,
    leaf: u32,
    /// Least bias in the leaf.
    pub(crate) bias: u64,
}

impl Slot {
    /// No key of this leaf, or of those after it, is less than this.
    #[inline(always)]
    pub(crate) fn low(&self) -> u64 {
        (self.low >> 64) as u64
    }

    /// Whether it is of no leaf any more. Then it begins where the next one does, and is never the last.
    #[inline(always)]
    pub(crate) fn is_hole(&self) -> bool {
        self.leaf == HOLE
    }
}

/// The leaf of slots that have none: it is empty.
const HOLE: u32 = 0;

/// How far behind a leaf that splits a hole is looked for.
const NEAR: usize = 64;

/// Slots from which on leaves that go leave holes: fewer are soon moved. No more than one in so many is a hole.
const MANY: usize = 512;
const SHARE: usize = 4;

/// What an entry is beside its key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rest<T> {
    pub(crate) sequence: u64,
    pub(crate) bias: u64,
    pub(crate) id: JobId,
    pub(crate) item: T,
}

/// Entries in no order. Keys lie apart from the rest: a search passes over most entries by their keys alone.
#[derive(Clone, Debug)]
pub(crate) struct Leaf<T> {
    len: usize,
    keys: [u64; LEAF],
    rest: [Rest<T>; LEAF],
}

impl<T: Copy> Leaf<T> {
    fn new(first: Entry<T>) -> Leaf<T> {
        let Entry { key, sequence, bias, id, item } = first;
        Leaf { len: 1, keys: [key; LEAF], rest: [Rest { sequence, bias, id, item }; LEAF] }
    }

    #[inline]
    pub(crate) fn keys(&self) -> &[u64] {
        &self.keys[..self.len]
    }

    /// The rest of each entry, in the order of the keys.
    #[inline]
    pub(crate) fn rest(&self) -> &[Rest<T>] {
        &self.rest[..self.len]
    }

    fn order(&self, i: usize) -> u128 {
        order_of(self.keys[i], self.rest[i].sequence)
    }

    fn orders(&self) -> impl Iterator<Item = u128> {
        (0..self.len).map(|i| self.order(i))
    }

    fn least_bias(&self) -> u64 {
        self.rest().iter().map(|rest| rest.bias).min().unwrap_or(u64::MAX)
    }

    fn entry(&self, i: usize) -> Entry<T> {
        let Rest { sequence, bias, id, item } = self.rest[i];
        Entry { key: self.keys[i], sequence, bias, id, item }
    }

    fn set(&mut self, i: usize, entry: Entry<T>) {
        let Entry { key, sequence, bias, id, item } = entry;
        self.keys[i] = key;
        self.rest[i] = Rest { sequence, bias, id, item };
    }

    #[inline(always)]
    fn push(&mut self, entry: Entry<T>) {
        self.set(self.len, entry);
        self.len += 1;
    }

    /// The same, after those of no greater bias. Whoever comes has the greatest, as a rule.
    fn push_by_bias(&mut self, entry: Entry<T>) {
        let mut at = self.len;
        while at > 0 && self.rest[at - 1].bias > entry.bias {
            self.set(at, self.entry(at - 1));
            at -= 1;
        }
        self.set(at, entry);
        self.len += 1;
    }

    /// Takes an entry out; the others keep their order.
    fn remove(&mut self, i: usize) {
        for i in i + 1..self.len {
            self.set(i - 1, self.entry(i));
        }
        self.len -= 1;
    }

    #[inline]
    fn swap_remove(&mut self, i: usize) {
        self.len -= 1;
        self.set(i, self.entry(self.len));
    }

    /// Where to split it so that about half of it is on each side.
    fn middle(&self) -> u128 {
        // The mean of the keys tells as much at less cost, unless they lie in a heap.
        let sum: u128 = self.keys().iter().map(|key| u128::from(*key)).sum();
        let mean = (sum / self.len as u128) as u64;
        let below = self.keys().iter().filter(|key| **key < mean).count();
        if below >= LEAF / 4 && self.len - below >= LEAF / 4 { order_of(mean, 0) } else { self.median() }
    }

    #[inline(never)]
    fn median(&self) -> u128 {
        let mut orders = [0; LEAF];
        orders.iter_mut().zip(self.orders()).for_each(|(order, its)| *order = its);
        *orders[..self.len].select_nth_unstable(self.len / 2).1
    }

    /// Gives what does not come before `middle` to another leaf, which is empty. Both keep their entries in the order they had.
    fn split_into(&mut self, upper: &mut Leaf<T>, middle: u128) {
        let whole = std::mem::take(&mut self.len);
        upper.len = 0;
        for i in 0..whole {
            let entry = self.entry(i);
            if order_of(entry.key, entry.sequence) < middle { self.push(entry) } else { upper.push(entry) }
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Sorted<T> {
    /// Whether leaves keep their entries by bias.
    by_bias: bool,
    /// Whether any entry ever had a bias: the least need not be looked for where there is none.
    is_biased: bool,
    directory: Vec<Slot>,
    leaves: Vec<Leaf<T>>,
    spare: Vec<u32>,
    holes: usize,
    len: usize,
}

impl<T: Copy> Sorted<T> {
    pub(crate) fn new() -> Sorted<T> {
        let (directory, leaves, spare) = (Vec::new(), Vec::new(), Vec::new());
        Sorted { by_bias: false, is_biased: false, directory, leaves, spare, holes: 0, len: 0 }
    }

    /// One whose leaves keep their entries by bias, the least first.
    pub(crate) fn by_bias() -> Sorted<T> {
        Sorted { by_bias: true, ..Sorted::new() }
    }

    /// Whether entries are ordered by their bias.
    pub(crate) fn is_by_bias(&self) -> bool {
        self.by_bias
    }

    /// The least bias of a leaf.
    fn least_bias(&self, slot: usize) -> u64 {
        let leaf = self.leaf(slot);
        match (self.is_biased, self.by_bias) {
            (false, _) => 0,
            (true, true) => leaf.rest[0].bias,
            (true, false) => leaf.least_bias(),
        }
    }

    #[inline(always)]
    fn push(&mut self, leaf: u32, entry: Entry<T>) {
        let leaf = &mut self.leaves[leaf as usize];
        if self.by_bias { leaf.push_by_bias(entry) } else { leaf.push(entry) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The leaves in order.
    pub(crate) fn directory(&self) -> &[Slot] {
        &self.directory
    }

    /// The leaf of a slot.
    pub(crate) fn leaf(&self, slot: usize) -> &Leaf<T> {
        &self.leaves[self.directory[slot].leaf as usize]
    }

    /// The leaf in which a key would lie; the caller guarantees the set is not empty.
    #[inline(always)]
    pub(crate) fn slot_of(&self, key: u64) -> usize {
        self.directory.partition_point(|slot| slot.low() <= key).saturating_sub(1)
    }

    /// The leaf in which an entry would lie: as a rule that of its key, of which seldom more than one leaf is full.
    #[inline(always)]
    fn place(&self, order: u128) -> usize {
        let mut slot = self.slot_of((order >> 64) as u64);
        while slot > 0 && self.directory[slot].low > order {
            slot -= 1;
        }
        slot
    }

    #[inline(always)]
    pub(crate) fn add(&mut self, entry: Entry<T>) {
        self.len += 1;
        self.is_biased |= entry.bias > 0;
        if self.directory.is_empty() {
            return self.begin(entry);
        }
        let order = order_of(entry.key, entry.sequence);
        let mut slot = self.place(order);
        if self.leaf(slot).len == LEAF {
            slot = self.split_for(slot, order);
        }
        let Slot { leaf, bias, .. } = &mut self.directory[slot];
        *bias = entry.bias.min(*bias);
        let leaf = *leaf;
        self.push(leaf, entry);
    }

    /// Takes in the first entry of all.
    #[cold]
    fn begin(&mut self, entry: Entry<T>) {
        if self.leaves.is_empty() {
            self.leaves.push(Leaf { len: 0, ..Leaf::new(entry) });
        }
        let leaf = self.take_leaf(Leaf::new(entry));
        self.directory.push(Slot { low: 0, leaf, bias: entry.bias });
    }

    /// Splits a full leaf: in which of both an entry lies.
    #[inline(never)]
    fn split_for(&mut self, slot: usize, order: u128) -> usize {
        self.split(slot);
        if self.directory[slot + 1].low <= order { slot + 1 } else { slot }
    }

    /// Takes the entry with this key and sequence out, if it is there.
    pub(crate) fn remove(&mut self, key: u64, sequence: u64) -> Option<JobId> {
        if self.is_empty() {
            return None;
        }
        let sought = order_of(key, sequence);
        let slot = self.place(sought);
        let i = self.leaf(slot).orders().position(|order| order == sought)?;
        Some(self.remove_at(slot, i))
    }

    /// Whether it holds an entry with this key and sequence.
    pub(crate) fn holds(&self, key: u64, sequence: u64) -> bool {
        let sought = order_of(key, sequence);
        !self.is_empty() && self.leaf(self.place(sought)).orders().any(|order| order == sought)
    }

    /// Takes the `i`-th entry of a leaf out.
    pub(crate) fn remove_at(&mut self, slot: usize, i: usize) -> JobId {
        self.len -= 1;
        let leaf = &mut self.leaves[self.directory[slot].leaf as usize];
        let Rest { id, bias, .. } = leaf.rest[i];
        if self.by_bias {
            leaf.remove(i)
        } else {
            leaf.swap_remove(i)
        }
        if leaf.len <= FEW {
            self.join(slot);
        } else if self.is_biased && bias == self.directory[slot].bias {
            self.directory[slot].bias = self.least_bias(slot);
        }
        id
    }

    /// Every entry whose key is in `from..to`.
    pub(crate) fn within(&self, from: u64, to: u64) -> impl Iterator<Item = Entry<T>> {
        let first = self.place(order_of(from, 0)).min(self.directory.len());
        let slots = self.directory[first..].iter().take_while(move |slot| slot.low() < to);
        slots.flat_map(move |slot| {
            let leaf = &self.leaves[slot.leaf as usize];
            let inside = move |i: &usize| (from..to).contains(&leaf.keys[*i]);
            (0..leaf.len).filter(inside).map(|i| leaf.entry(i))
        })
    }

    fn take_leaf(&mut self, leaf: Leaf<T>) -> u32 {
        if let Some(spare) = self.spare.pop() {
            self.leaves[spare as usize] = leaf;
            return spare;
        }
        self.leaves.push(leaf);
        self.leaves.len() as u32 - 1
    }

    /// The upper half of a full leaf becomes a leaf of its own.
    fn split(&mut self, slot: usize) {
        let from = self.directory[slot].leaf as usize;
        let low = self.leaves[from].middle();
        let leaf = self.spare.pop().unwrap_or_else(|| {
            self.leaves.push(self.leaves[from].clone());
            self.leaves.len() as u32 - 1
        });
        if let Ok([lower, upper]) = self.leaves.get_disjoint_mut([from, leaf as usize]) {
            lower.split_into(upper, low);
        }
        self.put_slot(slot + 1, Slot { low, leaf, bias: 0 });
        self.directory[slot].bias = self.least_bias(slot);
        self.directory[slot + 1].bias = self.least_bias(slot + 1);
    }

    /// Puts a slot at a place: those from there up to the next hole move up by one.
    fn put_slot(&mut self, place: usize, slot: Slot) {
        let near = self.directory.len().min(place + NEAR);
        match self.directory[place..near].iter().position(Slot::is_hole) {
            Some(moved) => {
                self.directory.copy_within(place..place + moved, place + 1);
                self.directory[place] = slot;
                self.holes -= 1;
            }
            None => self.directory.insert(place, slot),
        }
    }

    /// A slot loses its leaf, of which nothing is left in it. What comes before the next one is the one's before it.
    fn vacate(&mut self, slot: usize) {
        self.spare.push(self.directory[slot].leaf);
        if self.directory.len() < MANY && self.holes == 0 {
            self.directory.remove(slot);
            self.directory[0].low = 0;
            return;
        }
        let first = self.directory[..slot].iter().rposition(|before| !before.is_hole()).map_or(0, |before| before + 1);
        let next = self.directory[slot + 1..].iter().position(|after| !after.is_hole()).map(|after| slot + 1 + after);
        let Some(next) = next else {
            self.holes -= self.directory.len() - first - 1;
            return self.directory.truncate(first);
        };
        if first == 0 {
            self.directory[next].low = 0;
        }
        self.holes += 1;
        let low = self.directory[next].low;
        self.directory[first..next].fill(Slot { low, leaf: HOLE, bias: u64::MAX });
        if self.directory.len() < MANY || self.holes * SHARE > self.directory.len() {
            self.directory.retain(|slot| !slot.is_hole());
            self.holes = 0;
        }
    }

    /// A nearly empty leaf joins a neighbour that has room to spare; an empty one goes.
    fn join(&mut self, slot: usize) {
        if self.is_empty() {
            self.spare.extend(self.directory.drain(..).filter(|slot| !slot.is_hole()).map(|slot| slot.leaf));
            self.holes = 0;
            return;
        }
        if self.leaf(slot).len == 0 {
            return self.vacate(slot);
        }
        let after = |slot: usize| (slot + 1..self.directory.len()).find(|after| !self.directory[*after].is_hole());
        let before = |slot: usize| (0..slot).rev().find(|before| !self.directory[*before].is_hole());
        let (left, right) = match after(slot) {
            Some(right) => (slot, Some(right)),
            None => (before(slot).unwrap_or(slot), Some(slot).filter(|_| before(slot).is_some())),
        };
        match right {
            Some(right) if self.leaf(left).len + self.leaf(right).len <= JOINED => {
                let from = self.directory[right].leaf;
                for i in 0..self.leaves[from as usize].len {
                    let entry = self.leaves[from as usize].entry(i);
                    self.push(self.directory[left].leaf, entry);
                }
                // Before what is left of it may move.
                self.directory[left].bias = self.least_bias(left);
                self.vacate(right);
            }
            _ => self.directory[slot].bias = self.least_bias(slot),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[derive(Clone, Debug)]
    enum Step {
        Add(u64),
        Remove(usize),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let key = prop_oneof![0..40u64, 0..1_000_000u64];
        let step = prop_oneof![
            3 => key.prop_map(Step::Add),
            2 => (0..10_000usize).prop_map(Step::Remove),
        ];
        prop::collection::vec(step, 1..400)
    }

    proptest! {
        #[test]
        fn it_answers_as_a_sorted_set_does(steps in steps()) {
            let mut sorted = Sorted::new();
            let mut model: BTreeSet<(u64, u64)> = BTreeSet::new();
            for (sequence, step) in steps.into_iter().enumerate() {
                let sequence = sequence as u64;
                match step {
                    Step::Add(key) => {
                        let bias = key % 7;
                        sorted.add(Entry { key, sequence, bias, id: JobId(0), item: () });
                        model.insert((key, sequence));
                    }
                    Step::Remove(nth) if !model.is_empty() => {
                        let (key, sequence) = *model.iter().nth(nth % model.len()).unwrap();
                        prop_assert!(sorted.remove(key, sequence).is_some());
                        model.remove(&(key, sequence));
                    }
                    Step::Remove(_) => prop_assert!(sorted.remove(1, 1).is_none()),
                }
                prop_assert_eq!(sorted.len(), model.len());
                let mut all: Vec<_> = sorted.within(0, u64::MAX).map(|e| (e.key, e.sequence)).collect();
                all.sort_unstable();
                prop_assert!(all.iter().eq(model.iter()));
                let directory = sorted.directory();
                prop_assert_eq!(directory.iter().filter(|slot| slot.is_hole()).count(), sorted.holes);
                prop_assert!(directory.last().is_none_or(|last| !last.is_hole()));
                prop_assert!(directory.first().is_none_or(|first| first.low == 0));
                for slot in 0..directory.len() {
                    let leaf = sorted.leaf(slot);
                    if directory[slot].is_hole() {
                        prop_assert!(leaf.len == 0 && directory[slot].low == directory[slot + 1].low);
                        continue;
                    }
                    prop_assert!(slot == 0 || directory[slot - 1].is_hole() || directory[slot - 1].low < directory[slot].low);
                    prop_assert!(leaf.len > 0);
                    prop_assert_eq!(directory[slot].bias, leaf.least_bias());
                    prop_assert!(leaf.orders().all(|order| order >= directory[slot].low));
                }
            }
        }
    }

    /// Thousands of entries, of which whole regions go and come again: leaves leave holes that others fill, and the set answers as a
    /// sorted one does.
    #[test]
    fn holes_that_leaves_leave_are_filled_and_nothing_is_lost() {
        let mut state = 11u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let (mut sorted, mut model) = (Sorted::new(), BTreeSet::new());
        let (mut sequence, mut most) = (0, 0);
        for round in 0..45 {
            for _ in 0..2000 {
                sequence += 1;
                let key = draw(if round % 7 == 0 { 50 } else { 100_000 });
                sorted.add(Entry { key, sequence, bias: 0, id: JobId(0), item: () });
                model.insert((key, sequence));
            }
            let from = draw(100_000);
            let region = if round % 40 == 39 { 0..100_001 } else { from..from + 15_000 };
            let gone: Vec<(u64, u64)> =
                model.iter().copied().filter(|(key, _)| region.contains(key) && draw(20) > 0).collect();
            for (key, sequence) in gone {
                assert!(sorted.remove(key, sequence).is_some(), "round {round}");
                model.remove(&(key, sequence));
            }
            let holes = sorted.directory().iter().filter(|slot| slot.is_hole()).count();
            assert_eq!(holes, sorted.holes);
            most = most.max(holes);
            assert_eq!(sorted.within(0, u64::MAX).count(), model.len());
        }
        assert!(most > 20, "{most}");
    }
}
