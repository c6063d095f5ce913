//! An ordered set built for searching outward from a place: small contiguous leaves under one directory.
//!
//! Entries are ordered by (key, sequence). A leaf holds up to [`LEAF`] of them in no order; the directory holds,
//! in order, the lower bound of each leaf and its least bias. Leaves split by the median and join when two
//! neighbours are nearly empty, so they adapt to the density of the keys. Leaves are used again: in steady state
//! nothing is allocated.

use crate::JobId;

/// Entries in a leaf at most.
pub(crate) const LEAF: usize = 16;

/// One entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<T> {
    pub(crate) key: u64,
    pub(crate) sequence: u64,
    /// A part of the score that does not depend on the decision.
    pub(crate) bias: u64,
    pub(crate) id: JobId,
    pub(crate) item: T,
}

impl<T> Entry<T> {
    fn order(&self) -> (u64, u64) {
        (self.key, self.sequence)
    }
}

/// A leaf as the directory knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    /// No entry of the leaf, or of those after it, is less than this.
    low: (u64, u64),
    leaf: u32,
    /// Least bias in the leaf.
    pub(crate) bias: u64,
}

impl Slot {
    /// No key of this leaf, or of those after it, is less than this.
    pub(crate) fn low(&self) -> u64 {
        self.low.0
    }
}

#[derive(Clone, Debug)]
struct Leaf<T> {
    len: usize,
    entries: [Entry<T>; LEAF],
}

#[derive(Clone, Debug)]
pub(crate) struct Sorted<T> {
    directory: Vec<Slot>,
    leaves: Vec<Leaf<T>>,
    spare: Vec<u32>,
    len: usize,
}

impl<T: Copy> Sorted<T> {
    pub(crate) fn new() -> Sorted<T> {
        Sorted { directory: Vec::new(), leaves: Vec::new(), spare: Vec::new(), len: 0 }
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

    /// The entries of a leaf, in no order.
    pub(crate) fn entries(&self, slot: usize) -> &[Entry<T>] {
        let leaf = &self.leaves[self.directory[slot].leaf as usize];
        &leaf.entries[..leaf.len]
    }

    /// The leaf in which a key would lie; the caller guarantees the set is not empty.
    pub(crate) fn slot_of(&self, key: u64) -> usize {
        self.place((key, u64::MAX))
    }

    fn place(&self, order: (u64, u64)) -> usize {
        self.directory.partition_point(|slot| slot.low <= order).saturating_sub(1)
    }

    pub(crate) fn add(&mut self, entry: Entry<T>) {
        self.len += 1;
        if self.directory.is_empty() {
            let leaf = self.take_leaf(entry);
            self.directory.push(Slot { low: (0, 0), leaf, bias: entry.bias });
            return;
        }
        let mut slot = self.place(entry.order());
        if self.leaves[self.directory[slot].leaf as usize].len == LEAF {
            self.split(slot);
            if self.directory[slot + 1].low <= entry.order() {
                slot += 1;
            }
        }
        let Slot { leaf, bias, .. } = &mut self.directory[slot];
        *bias = entry.bias.min(*bias);
        let leaf = &mut self.leaves[*leaf as usize];
        leaf.entries[leaf.len] = entry;
        leaf.len += 1;
    }

    /// Takes the entry with this key and sequence out, if it is there.
    pub(crate) fn remove(&mut self, key: u64, sequence: u64) -> Option<Entry<T>> {
        if self.is_empty() {
            return None;
        }
        let slot = self.place((key, sequence));
        let i = self.entries(slot).iter().position(|entry| entry.order() == (key, sequence))?;
        Some(self.remove_at(slot, i))
    }

    /// Takes the `i`-th entry of a leaf out.
    pub(crate) fn remove_at(&mut self, slot: usize, i: usize) -> Entry<T> {
        self.len -= 1;
        let leaf = &mut self.leaves[self.directory[slot].leaf as usize];
        let entry = leaf.entries[i];
        leaf.len -= 1;
        leaf.entries[i] = leaf.entries[leaf.len];
        if leaf.len <= LEAF / 4 {
            self.join(slot);
        } else if entry.bias == self.directory[slot].bias {
            self.directory[slot].bias = least_bias(self.entries(slot));
        }
        entry
    }

    /// The first entry whose key is `key` or more: its leaf and its place in it.
    pub(crate) fn at_or_after(&self, key: u64) -> Option<(usize, usize)> {
        if self.is_empty() {
            return None;
        }
        let first = self.place((key, 0));
        (first..self.directory.len()).find_map(|slot| {
            let entries = self.entries(slot).iter().enumerate();
            let least = entries.filter(|(_, entry)| entry.key >= key).min_by_key(|(_, entry)| entry.order())?;
            Some((slot, least.0))
        })
    }

    /// The last key below `key`; of entries with that key, the first.
    pub(crate) fn before(&self, key: u64) -> Option<(usize, usize)> {
        if self.is_empty() {
            return None;
        }
        let below = |slot: usize| self.entries(slot).iter().map(|entry| entry.key).filter(|k| *k < key).max();
        let last = (0..=self.place((key, 0))).rev().find_map(below)?;
        self.at_or_after(last)
    }

    /// Every entry whose key is in `from..to`.
    pub(crate) fn within(&self, from: u64, to: u64) -> impl Iterator<Item = &Entry<T>> {
        let first = self.place((from, 0));
        let slots = self.directory[first.min(self.directory.len())..].iter().take_while(move |slot| slot.low.0 < to);
        slots
            .flat_map(|slot| {
                let leaf = &self.leaves[slot.leaf as usize];
                &leaf.entries[..leaf.len]
            })
            .filter(move |entry| (from..to).contains(&entry.key))
    }

    fn take_leaf(&mut self, first: Entry<T>) -> u32 {
        let fresh = Leaf { len: 1, entries: [first; LEAF] };
        if let Some(leaf) = self.spare.pop() {
            self.leaves[leaf as usize] = fresh;
            return leaf;
        }
        self.leaves.push(fresh);
        self.leaves.len() as u32 - 1
    }

    /// The upper half of a full leaf becomes a leaf of its own.
    fn split(&mut self, slot: usize) {
        let leaf = &mut self.leaves[self.directory[slot].leaf as usize];
        leaf.entries[..leaf.len].sort_unstable_by_key(Entry::order);
        let half = leaf.len / 2;
        let mut upper = leaf.clone();
        leaf.len = half;
        upper.entries.copy_within(half.., 0);
        upper.len -= half;
        let low = upper.entries[0].order();
        let bias = least_bias(&upper.entries[..upper.len]);
        let index = self.take_leaf(upper.entries[0]);
        self.leaves[index as usize] = upper;
        self.directory[slot].bias = least_bias(self.entries(slot));
        self.directory.insert(slot + 1, Slot { low, leaf: index, bias });
    }

    /// A nearly empty leaf joins a neighbour that has room to spare; an empty one goes.
    fn join(&mut self, slot: usize) {
        let (mut left, mut right) = (slot, slot + 1);
        if right == self.directory.len() {
            if left == 0 {
                if self.is_empty() {
                    self.spare.push(self.directory[0].leaf);
                    self.directory.clear();
                } else {
                    self.directory[0].bias = least_bias(self.entries(0));
                }
                return;
            }
            (left, right) = (slot - 1, slot);
        }
        let from = self.directory[right].leaf as usize;
        let into = self.directory[left].leaf as usize;
        let (kept, moved) = (self.leaves[into].len, self.leaves[from].len);
        if kept + moved <= LEAF * 3 / 4 {
            let entries = self.leaves[from].entries;
            self.leaves[into].entries[kept..kept + moved].copy_from_slice(&entries[..moved]);
            self.leaves[into].len += moved;
            self.spare.push(from as u32);
            self.directory.remove(right);
            self.directory[left].bias = least_bias(self.entries(left));
        } else {
            self.directory[slot].bias = least_bias(self.entries(slot));
        }
    }
}

fn least_bias<T>(entries: &[Entry<T>]) -> u64 {
    entries.iter().map(|entry| entry.bias).min().unwrap_or(u64::MAX)
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
                        let got = sorted.at_or_after(key).map(|(slot, i)| sorted.entries(slot)[i].order());
                        prop_assert_eq!(got, model.range((key, 0)..).next().copied());
                    }
                    Step::Before(key) => {
                        let got = sorted.before(key).map(|(slot, i)| sorted.entries(slot)[i].key);
                        prop_assert_eq!(got, model.range(..(key, 0)).next_back().map(|(key, _)| *key));
                    }
                }
                prop_assert_eq!(sorted.len(), model.len());
                let mut all: Vec<_> = sorted.within(0, u64::MAX).map(Entry::order).collect();
                all.sort_unstable();
                prop_assert!(all.iter().eq(model.iter()));
                for slot in 0..sorted.directory().len() {
                    let entries = sorted.entries(slot);
                    prop_assert_eq!(sorted.directory()[slot].bias, least_bias(entries));
                    prop_assert!(entries.iter().all(|e| e.order() >= sorted.directory()[slot].low));
                }
            }
        }
    }
}
