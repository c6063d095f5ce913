//! An ordered list built for asking what comes next to a place: policies that sweep want the first entry from there on, or the
//! last before it, and nothing else.
//!
//! Entries are ordered by (key, sequence), from the greatest down: whoever sweeps upward takes from the end of a run, after which
//! nothing has to move. They lie in runs of up to [`RUN`], of which none is empty. Runs are used again: in steady state nothing is
//! allocated.
//!
//! What comes next is as a rule next to what was taken last. A finger stays there, and is looked at before anything is searched.

use crate::JobId;

/// Entries in a run at most: of more, more would move when one comes; of fewer, there would be more runs to search.
const RUN: usize = 16;

/// A key with its value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<T = ()> {
    pub(crate) key: u64,
    pub(crate) sequence: u64,
    pub(crate) id: JobId,
    pub(crate) item: T,
}

impl<T> Entry<T> {
    fn order(&self) -> (u64, u64) {
        (self.key, self.sequence)
    }
}

/// Where an entry is: its run, and its place there. Holds until the next change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    run: usize,
    place: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct Ordered<T = ()> {
    runs: Vec<Vec<Entry<T>>>,
    spare: Vec<Vec<Entry<T>>>,
    /// The greatest sequence that ever came.
    youngest: u64,
    /// What came after the last one taken, if nothing has changed much since.
    finger: Position,
}

impl<T: Copy> Ordered<T> {
    pub(crate) fn new() -> Ordered<T> {
        Ordered { runs: Vec::new(), spare: Vec::new(), youngest: 0, finger: Position { run: 0, place: 0 } }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// The entry at a position.
    pub(crate) fn at(&self, position: Position) -> &Entry<T> {
        &self.runs[position.run][position.place]
    }

    #[inline(always)]
    pub(crate) fn add(&mut self, entry: Entry<T>) {
        // Who comes is the youngest as a rule, and is above all with its key: then keys alone tell.
        let to = if entry.sequence >= self.youngest {
            self.youngest = entry.sequence;
            self.end_of_those(|other| other.key > entry.key)
        } else {
            self.end_of_older(&entry)
        };
        match self.runs.get_mut(to.run) {
            Some(run) if run.len() < RUN => run.insert(to.place, entry),
            _ => self.make_room(to, entry),
        }
        if to.run == self.finger.run && to.place <= self.finger.place {
            self.finger.place += 1;
        }
    }

    /// Where an entry goes that came before others.
    #[inline(never)]
    fn end_of_older(&self, entry: &Entry<T>) -> Position {
        self.end_of_those(|other| other.order() > entry.order())
    }

    /// Puts an entry where the run is full, or there is none yet.
    #[inline(never)]
    fn make_room(&mut self, Position { mut run, mut place }: Position, entry: Entry<T>) {
        if self.is_empty() {
            self.put_run(0);
        } else {
            self.split(run);
            if place > RUN / 2 {
                (run, place) = (run + 1, place - RUN / 2);
            }
        }
        self.runs[run].insert(place, entry);
    }

    /// Takes the entry with this key and sequence out, if it is there.
    pub(crate) fn remove(&mut self, key: u64, sequence: u64) -> Option<JobId> {
        Some(self.take(self.find(key, sequence)?))
    }

    /// Whether it holds an entry with this key and sequence.
    pub(crate) fn holds(&self, key: u64, sequence: u64) -> bool {
        self.find(key, sequence).is_some()
    }

    fn find(&self, key: u64, sequence: u64) -> Option<Position> {
        let found = self.last_of_those(|other| other.order() >= (key, sequence))?;
        (self.at(found).order() == (key, sequence)).then_some(found)
    }

    /// Takes the entry at a position out.
    #[inline(always)]
    pub(crate) fn take(&mut self, position: Position) -> JobId {
        if let Some(next) = self.above(position) {
            self.finger = next;
        }
        let run = &mut self.runs[position.run];
        let id = run[position.place].id;
        if position.place + 1 == run.len() {
            run.pop();
        } else {
            run.remove(position.place);
        }
        if run.is_empty() {
            let gone = self.runs.remove(position.run);
            self.spare.push(gone);
        }
        id
    }

    /// The first entry whose key is `key` or more.
    #[inline]
    pub(crate) fn at_or_after(&self, key: u64) -> Option<Position> {
        if self.is_first_from(self.finger, key) {
            return Some(self.finger);
        }
        self.last_of_those(|other| other.key >= key)
    }

    /// Whether there is an entry at a position, which is the first whose key is `key` or more.
    #[inline]
    fn is_first_from(&self, position: Position, key: u64) -> bool {
        let Some(run) = self.runs.get(position.run) else { return false };
        let below = || run.get(position.place + 1).or_else(|| self.runs.get(position.run + 1)?.first());
        run.get(position.place).is_some_and(|here| here.key >= key) && below().is_none_or(|below| below.key < key)
    }

    /// The last key below `key`; of entries with that key, the first.
    pub(crate) fn last_before(&self, key: u64) -> Option<Position> {
        self.around(key).0
    }

    /// What is [`before`](Ordered::before) a key, and what is [`at_or_after`](Ordered::at_or_after) it.
    #[inline]
    pub(crate) fn around(&self, key: u64) -> (Option<Position>, Option<Position>) {
        let above = self.at_or_after(key);
        let below = match above {
            Some(above) => self.below(above),
            None => (!self.is_empty()).then_some(Position { run: 0, place: 0 }),
        };
        (below.map(|below| self.first_alike(below)), above)
    }

    /// The first of the entries with the same key as that at a position, above which all are greater.
    #[inline]
    fn first_alike(&self, position: Position) -> Position {
        let key = self.at(position).key;
        match self.below(position) {
            Some(below) if self.at(below).key == key => self.at_or_after(key).unwrap_or(position),
            _ => position,
        }
    }

    /// Every entry whose key is in `from..to`, the greatest first.
    pub(crate) fn within(&self, from: u64, to: u64) -> impl Iterator<Item = &Entry<T>> {
        let first = self.runs.partition_point(|run| run[0].key >= to).saturating_sub(1);
        let entries = self.runs.iter().skip(first).flatten();
        entries.skip_while(move |entry| entry.key >= to).take_while(move |entry| entry.key >= from)
    }

    /// The last entry of which this is so; it is so of all above it.
    #[inline]
    fn last_of_those(&self, is_one: impl Fn(&Entry<T>) -> bool) -> Option<Position> {
        let end = self.end_of_those(is_one);
        Some(Position { run: end.run, place: end.place.checked_sub(1)? })
    }

    /// Where those of which this is so end, in their last run; it is so of none after one of which it is not.
    #[inline]
    fn end_of_those(&self, is_one: impl Fn(&Entry<T>) -> bool) -> Position {
        let run = self.runs.partition_point(|run| is_one(&run[0])).saturating_sub(1);
        let place = self.runs.get(run).map_or(0, |run| run.partition_point(is_one));
        Position { run, place }
    }

    #[inline]
    fn above(&self, Position { run, place }: Position) -> Option<Position> {
        if place > 0 {
            return Some(Position { run, place: place - 1 });
        }
        let run = run.checked_sub(1)?;
        Some(Position { run, place: self.runs[run].len() - 1 })
    }

    #[inline]
    fn below(&self, Position { run, place }: Position) -> Option<Position> {
        if place + 1 < self.runs[run].len() {
            return Some(Position { run, place: place + 1 });
        }
        (run + 1 < self.runs.len()).then_some(Position { run: run + 1, place: 0 })
    }

    /// Puts an empty run at a place.
    fn put_run(&mut self, at: usize) {
        let run = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(RUN));
        self.runs.insert(at, run);
    }

    /// The lower half of a full run becomes a run of its own.
    fn split(&mut self, at: usize) {
        self.put_run(at + 1);
        if let Ok([upper, lower]) = self.runs.get_disjoint_mut([at, at + 1]) {
            lower.extend(upper.drain(RUN / 2..));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const SEED: u64 = 7;

    fn draws() -> impl FnMut(u64) -> u64 {
        let mut state = SEED;
        move |below| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        }
    }

    /// A list beside a sorted set that is to hold the same.
    struct Pair {
        list: Ordered,
        model: BTreeSet<(u64, u64)>,
    }

    impl Pair {
        fn new() -> Pair {
            Pair { list: Ordered::new(), model: BTreeSet::new() }
        }

        fn add(&mut self, key: u64, sequence: u64) {
            self.list.add(Entry { key, sequence, id: JobId(sequence as u32), item: () });
            self.model.insert((key, sequence));
        }

        fn remove(&mut self, key: u64, sequence: u64) {
            let held = self.model.remove(&(key, sequence));
            assert_eq!(self.list.holds(key, sequence), held, "seed {SEED}");
            let id = held.then_some(JobId(sequence as u32));
            assert_eq!(self.list.remove(key, sequence), id, "seed {SEED}");
        }

        /// Takes the first one from a key on, as a sweep does, and says where it was.
        fn take_from(&mut self, key: u64) -> Option<u64> {
            let at = self.list.at_or_after(key)?;
            let order = self.list.at(at).order();
            assert_eq!(self.list.take(at), JobId(order.1 as u32), "seed {SEED}");
            assert!(self.model.remove(&order), "seed {SEED}");
            Some(order.0)
        }

        fn agree(&self, key: u64) {
            let order = |at: Option<Position>| at.map(|at| self.list.at(at).order());
            let above = self.model.range((key, 0)..).next().copied();
            let last = self.model.range(..(key, 0)).next_back();
            let below = last.and_then(|(last, _)| self.model.range((*last, 0)..).next().copied());
            assert_eq!(order(self.list.at_or_after(key)), above, "seed {SEED}");
            assert_eq!(order(self.list.last_before(key)), below, "seed {SEED}");
            let (before, after) = self.list.around(key);
            assert_eq!((order(before), order(after)), (below, above), "seed {SEED}");
        }

        fn agree_on_all(&self, from: u64, to: u64) {
            let within = self.list.within(from, to).map(Entry::order);
            assert!(within.eq(self.model.range((from, 0)..(to, 0)).rev().copied()), "seed {SEED}");
            let runs = &self.list.runs;
            assert_eq!(runs.iter().map(Vec::len).sum::<usize>(), self.model.len(), "seed {SEED}");
            assert!(runs.iter().all(|run| !run.is_empty() && run.len() <= RUN), "seed {SEED}");
            assert_eq!(self.list.is_empty(), self.model.is_empty(), "seed {SEED}");
        }
    }

    /// Whatever comes and goes, also where many have one key and where those come again that came before the others.
    #[test]
    fn it_answers_as_a_sorted_set_does() {
        let mut draw = draws();
        for (keys, most) in [(3, 100), (40, 100), (1_000_000, 10), (1_000_000, 2000)] {
            let (mut pair, mut arm) = (Pair::new(), 0);
            for sequence in 1..20_000 {
                let key = draw(keys);
                match draw(if pair.model.len() < most { 8 } else { 4 }) {
                    0 => pair.remove(key, draw(sequence)),
                    1 => arm = pair.take_from(arm).map_or(0, |key| key + draw(2)),
                    2 => _ = pair.take_from(key),
                    3 => {
                        let next = pair.model.range((key, 0)..).next().copied();
                        next.into_iter().for_each(|(key, sequence)| pair.remove(key, sequence));
                    }
                    4 => pair.add(key, 50_000 - sequence),
                    _ => pair.add(key, sequence),
                }
                pair.agree(draw(keys + 2));
                pair.agree(arm);
                if sequence % 50 == 0 {
                    let from = draw(keys);
                    pair.agree_on_all(from, from + draw(keys));
                    pair.agree_on_all(0, u64::MAX);
                }
            }
        }
    }

    /// Runs that go are used again: what it held once it holds again in the memory that it has.
    #[test]
    fn runs_that_go_are_used_again() {
        let (mut draw, mut pair) = (draws(), Pair::new());
        let mut most = 0;
        for round in 0..10 {
            (0..2000).for_each(|sequence| pair.add(draw(1_000_000), round * 2000 + sequence));
            while pair.model.len() > 10 {
                pair.take_from(draw(1_000_000));
            }
            let (runs, spare) = (pair.list.runs.len(), pair.list.spare.len());
            assert!(runs <= 10, "seed {SEED}: {runs}");
            most = if round == 0 { runs + spare } else { most };
            assert!(runs + spare <= most + most / 5, "seed {SEED}: {runs} and {spare} after {most}");
        }
    }
}
