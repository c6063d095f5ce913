//! An ordered set built for searching outward from a place: small contiguous leaves under one directory.
//!
//! Entries are ordered by (key, sequence). A leaf holds up to [`LEAF`] of them in no order; the directory holds,
//! in order, the lower bound of each leaf and its least bias. Leaves split by the median and join when two
//! neighbours are nearly empty, so they adapt to the density of the keys. Leaves are used again: in steady state
//! nothing is allocated.
//!
//! Where biases differ, a leaf keeps its entries by bias, so that a search ends at the first one that is too great: of
//! requests that age only the old ones of each leaf are looked at.

use crate::JobId;

/// Entries in a leaf at most.
pub(crate) const LEAF: usize = 16;

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
    pub(crate) fn low(&self) -> u64 {
        (self.low >> 64) as u64
    }
}

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

    pub(crate) fn id(&self, i: usize) -> JobId {
        self.rest[i].id
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

    /// The first entry whose key is `key` or more.
    #[inline]
    fn at_or_after(&self, key: u64) -> Option<usize> {
        // Keys below `key` wrap to the far end, and are passed over.
        let (mut found, mut least) = (None, u64::MAX - key);
        for (i, other) in self.keys().iter().enumerate() {
            let beyond = other.wrapping_sub(key);
            if beyond > least {
                continue;
            }
            let is_first = |before: usize| beyond < least || self.rest[i].sequence < self.rest[before].sequence;
            if found.is_none_or(is_first) {
                (found, least) = (Some(i), beyond);
            }
        }
        found
    }

    /// Gives the upper half, and its first entry. Both halves keep their entries in the order they had.
    fn split(&mut self) -> (Leaf<T>, u128) {
        let mut orders = [0; LEAF];
        orders[..self.len].iter_mut().enumerate().for_each(|(i, order)| *order = self.order(i));
        let half = self.len / 2;
        let median = *orders[..self.len].select_nth_unstable(half).1;
        let mut upper = Leaf { len: 0, ..self.clone() };
        let whole = std::mem::take(&mut self.len);
        for i in 0..whole {
            let entry = self.entry(i);
            if order_of(entry.key, entry.sequence) < median { self.push(entry) } else { upper.push(entry) }
        }
        (upper, median)
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
    len: usize,
}

impl<T: Copy> Sorted<T> {
    pub(crate) fn new() -> Sorted<T> {
        let (directory, leaves, spare) = (Vec::new(), Vec::new(), Vec::new());
        Sorted { by_bias: false, is_biased: false, directory, leaves, spare, len: 0 }
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
    pub(crate) fn slot_of(&self, key: u64) -> usize {
        self.place(order_of(key, u64::MAX))
    }

    #[inline]
    fn place(&self, order: u128) -> usize {
        self.directory.partition_point(|slot| slot.low <= order).saturating_sub(1)
    }

    pub(crate) fn add(&mut self, entry: Entry<T>) {
        self.len += 1;
        self.is_biased |= entry.bias > 0;
        if self.directory.is_empty() {
            let leaf = self.take_leaf(Leaf::new(entry));
            self.directory.push(Slot { low: 0, leaf, bias: entry.bias });
            return;
        }
        let order = order_of(entry.key, entry.sequence);
        let mut slot = self.place(order);
        if self.leaf(slot).len == LEAF {
            self.split(slot);
            if self.directory[slot + 1].low <= order {
                slot += 1;
            }
        }
        let Slot { leaf, bias, .. } = &mut self.directory[slot];
        *bias = entry.bias.min(*bias);
        let leaf = *leaf;
        self.push(leaf, entry);
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

    /// The first entry whose key is `key` or more: its leaf and its place in it.
    pub(crate) fn at_or_after(&self, key: u64) -> Option<(usize, usize)> {
        if self.is_empty() {
            return None;
        }
        let first = self.place(order_of(key, 0));
        (first..self.directory.len()).find_map(|slot| Some((slot, self.leaf(slot).at_or_after(key)?)))
    }

    /// The last key below `key`; of entries with that key, the first.
    pub(crate) fn before(&self, key: u64) -> Option<(usize, usize)> {
        if self.is_empty() {
            return None;
        }
        let below = |slot: usize| self.leaf(slot).keys().iter().copied().filter(|k| *k < key).max();
        let last = (0..=self.place(order_of(key, 0))).rev().find_map(below)?;
        self.at_or_after(last)
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
        let (upper, low) = self.leaves[self.directory[slot].leaf as usize].split();
        let leaf = self.take_leaf(upper);
        self.directory.insert(slot + 1, Slot { low, leaf, bias: 0 });
        self.directory[slot].bias = self.least_bias(slot);
        self.directory[slot + 1].bias = self.least_bias(slot + 1);
    }

    /// A nearly empty leaf joins a neighbour that has room to spare; an empty one goes.
    fn join(&mut self, slot: usize) {
        if self.is_empty() {
            self.spare.extend(self.directory.drain(..).map(|slot| slot.leaf));
            return;
        }
        if self.leaf(slot).len == 0 {
            self.spare.push(self.directory.remove(slot).leaf);
            self.directory[0].low = 0;
            return;
        }
        let left = slot.min(self.directory.len().saturating_sub(2));
        let right = left + 1;
        if right < self.directory.len() && self.leaf(left).len + self.leaf(right).len <= JOINED {
            let from = self.directory.remove(right).leaf;
            self.spare.push(from);
            for i in 0..self.leaves[from as usize].len {
                let entry = self.leaves[from as usize].entry(i);
                self.push(self.directory[left].leaf, entry);
            }
            self.directory[left].bias = self.least_bias(left);
        } else {
            self.directory[slot].bias = self.least_bias(slot);
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
        After(u64),
        Before(u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let key = prop_oneof![0..40u64, 0..1_000_000u64];
        let step = prop_oneof![
            3 => key.clone().prop_map(Step::Add),
            2 => (0..10_000usize).prop_map(Step::Remove),
            1 => key.clone().prop_map(Step::After),
            1 => key.prop_map(Step::Before),
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
                    Step::After(key) => {
                        let got = sorted.at_or_after(key).map(|(slot, i)| sorted.leaf(slot).order(i));
                        let first = model.range((key, 0)..).next();
                        prop_assert_eq!(got, first.map(|(key, sequence)| order_of(*key, *sequence)));
                    }
                    Step::Before(key) => {
                        let got = sorted.before(key).map(|(slot, i)| sorted.leaf(slot).keys()[i]);
                        prop_assert_eq!(got, model.range(..(key, 0)).next_back().map(|(key, _)| *key));
                    }
                }
                prop_assert_eq!(sorted.len(), model.len());
                let mut all: Vec<_> = sorted.within(0, u64::MAX).map(|e| (e.key, e.sequence)).collect();
                all.sort_unstable();
                prop_assert!(all.iter().eq(model.iter()));
                for slot in 0..sorted.directory().len() {
                    let leaf = sorted.leaf(slot);
                    prop_assert!(leaf.len > 0);
                    prop_assert_eq!(sorted.directory()[slot].bias, leaf.least_bias());
                    prop_assert!(leaf.orders().all(|order| order >= sorted.directory()[slot].low));
                }
            }
        }
    }
}
