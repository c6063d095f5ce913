//! A set of blocks that are wanted in any order: what a scan, a scrub, a rebuild or a backup still has to read.
//!
//! Blocks are wanted in units, the least that is worth a read. A group of units is all wanted, none of it, or a bitmap, so
//! that a whole drive costs nothing to ask for, and never more than a bit a unit; finding the next unit, or
//! the next run of so many, looks at whole groups and words.

mod worth;

use block::{Extent, Lbn};

/// Units in a group.
const GROUP: u64 = 1 << 15;
/// Words in the bitmap of a group.
const WORDS: usize = (GROUP / 64) as usize;
/// Units of the longest run that is looked for in two words at once.
const FOLD: u64 = 64;
/// Words of a part of a group of which it is known how long its runs are.
const CHUNK: u64 = 64;

/// How a unit stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UnitState {
    Wanted,
    /// It was read, or never wanted.
    Read,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Group {
    Nothing,
    All,
    Some(Box<[u64; WORDS]>),
}

/// Blocks of a device that are wanted in any order, in units.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Blocks of the device, and of a unit.
    blocks: u64,
    unit: u32,
    groups: Vec<Group>,
    /// Units that are wanted, in all and by group.
    left: u64,
    counts: Vec<u16>,
    /// Groups of which anything is wanted.
    begun: u64,
    /// For each [`CHUNK`] of units, no run that begins in it is longer than so many units, or than those that are told from longer ones.
    longest: Vec<u8>,
    /// A bit for each group of which anything is wanted, so that what is done costs nothing to pass over.
    some: Vec<u64>,
}

impl Wanted {
    /// Units of a device at most, for which a set takes up to 1 GiB before any of them is read.
    pub const MOST_UNITS: u64 = 1 << 40;

    /// Whether there is a set for a device of so many blocks, in units of so many.
    #[must_use]
    pub fn fits(blocks: u64, unit: u32) -> bool {
        blocks.div_ceil(u64::from(unit)) <= Wanted::MOST_UNITS
    }

    /// Nothing of a device of so many blocks, in units of so many, both above 0. A last unit may be shorter. The caller
    /// guarantees that it fits.
    #[must_use]
    pub fn nothing(blocks: u64, unit: u32) -> Wanted {
        let groups = blocks.div_ceil(u64::from(unit)).div_ceil(GROUP) as usize;
        let some = vec![0; groups.div_ceil(64)];
        let longest = vec![0; groups * WORDS / CHUNK as usize];
        let (counts, groups) = (vec![0; groups], vec![Group::Nothing; groups]);
        Wanted { blocks, unit, groups, left: 0, counts, begun: 0, longest, some }
    }

    /// Whether nothing is wanted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.left == 0
    }

    /// Units that are wanted.
    #[must_use]
    pub fn units_left(&self) -> u64 {
        self.left
    }

    /// Blocks of the device.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Blocks of a unit.
    #[must_use]
    pub fn unit(&self) -> u32 {
        self.unit
    }

    /// The memory it takes, in bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        let bitmaps = self.groups.iter().filter(|group| matches!(group, Group::Some(_))).count();
        bitmaps * WORDS * 8 + self.groups.len() * (size_of::<Group>() + 2) + self.some.len() * 8 + self.longest.len()
    }

    /// Wants each unit of which a block lies in the extent. The caller guarantees that it lies on the device.
    pub fn want(&mut self, from: Lbn, until: Lbn) {
        let unit = u64::from(self.unit);
        let (first, end) = (from.0 / unit, until.0.div_ceil(unit));
        self.set(first, end, UnitState::Wanted);
        self.lengthen(first, end);
    }

    /// Units from one up to another are wanted: they may make runs longer that begin before them.
    fn lengthen(&mut self, first: u64, end: u64) {
        let all = self.blocks.div_ceil(u64::from(self.unit));
        let low = first.saturating_sub(FOLD);
        let begin = self.last_read(low, first).map_or(low, |read| read + 1);
        let (from, high) = (end.min(all), (end + FOLD).min(all));
        let length = self.find(from, high, UnitState::Read).unwrap_or(high) - begin;
        let chunks = (begin / 64 / CHUNK) as usize..=(end.max(1) - 1).min(all - 1) as usize / (64 * CHUNK) as usize;
        self.longest[chunks].iter_mut().for_each(|known| *known = (*known).max(length.min(FOLD) as u8));
    }

    /// Units from one up to another are wanted no more: where there is no run any more as long as the longest was, it is shorter.
    fn shorten(&mut self, first: u64, end: u64) {
        let all = self.blocks.div_ceil(u64::from(self.unit));
        for chunk in first / 64 / CHUNK..end.div_ceil(64 * CHUNK) {
            let from = chunk * 64 * CHUNK;
            let known = u64::from(self.longest[chunk as usize]);
            let until = (from + 64 * CHUNK + known).saturating_sub(1).min(all);
            if known > 0 && self.first_run(from, until, known).is_none() {
                self.longest[chunk as usize] -= 1;
            }
        }
    }

    /// What of an extent was read is wanted no more: the units that lie in it whole.
    pub fn remove_read(&mut self, at: Extent) {
        let (first, end) = self.whole(at.start.0, at.end().0);
        self.set(first, end, UnitState::Read);
        self.shorten(first, end);
    }

    /// The first run of wanted units that lie whole in `from..until`, of at most so many blocks or one unit.
    #[must_use]
    pub fn first_in(&self, from: Lbn, until: Lbn, most: u32) -> Option<Extent> {
        let (first, end) = self.whole(from.0, until.0);
        let begin = self.find(first, end, UnitState::Wanted)?;
        let most = begin + u64::from((most / self.unit).max(1));
        let end = self.find(begin, end.min(most), UnitState::Read).unwrap_or(end.min(most));
        Some(self.extent(begin, end))
    }

    /// The first of the longest runs of wanted units that lie whole in `from..until`, of at most `most` blocks or one unit, if it is
    /// longer than `least` blocks.
    #[must_use]
    pub fn longest_in(&self, from: Lbn, until: Lbn, most: u32, least: u32) -> Option<Extent> {
        let (first, end) = self.whole(from.0, until.0);
        let most = u64::from((most / self.unit).max(1));
        let (mut at, mut more, mut best) = (first, u64::from(least / self.unit) + 1, None);
        while more <= most
            && let Some(begin) = self.first_run(at, end, more.min(FOLD))
        {
            at = self.find(begin, end.min(begin + most), UnitState::Read).unwrap_or(end.min(begin + most));
            if at - begin >= more {
                (best, more) = (Some((begin, at)), at - begin + 1);
            }
        }
        best.map(|(begin, end)| self.extent(begin, end))
    }

    /// Where a run of more than `least` wanted blocks begins, of those that lie whole in `from..until`: the first. Of long ones it is
    /// enough that `FOLD` units are wanted.
    #[must_use]
    pub fn first_beyond(&self, from: Lbn, until: Lbn, least: u32) -> Option<Lbn> {
        let (first, end) = self.whole(from.0, until.0);
        let begin = self.first_run(first, end, self.beyond(least))?;
        Some(Lbn(begin * u64::from(self.unit)))
    }

    /// The same, but the last.
    #[must_use]
    pub fn last_beyond(&self, from: Lbn, until: Lbn, least: u32) -> Option<Lbn> {
        let (first, end) = self.whole(from.0, until.0);
        let begin = self.last_run(first, end, self.beyond(least))?;
        Some(Lbn(begin * u64::from(self.unit)))
    }

    /// Units of a run that is longer than so many blocks, or as many as are told from longer ones.
    fn beyond(&self, least: u32) -> u64 {
        (u64::from(least / self.unit) + 1).min(FOLD)
    }

    /// The blocks of units from one up to another.
    fn extent(&self, begin: u64, end: u64) -> Extent {
        let start = begin * u64::from(self.unit);
        let blocks = (end * u64::from(self.unit)).min(self.blocks) - start;
        Extent { start: Lbn(start), blocks: blocks as u32 }
    }

    /// Each run of wanted units, in order: what a checkpoint holds.
    pub fn runs(&self) -> impl Iterator<Item = (Lbn, Lbn)> {
        let (all, unit) = (self.blocks.div_ceil(u64::from(self.unit)), u64::from(self.unit));
        let mut at = 0;
        std::iter::from_fn(move || {
            let begin = self.find(at, all, UnitState::Wanted)?;
            at = self.find(begin, all, UnitState::Read).unwrap_or(all);
            Some((Lbn(begin * unit), Lbn((at * unit).min(self.blocks))))
        })
    }

    /// The units that lie whole in a range of blocks.
    fn whole(&self, from: u64, until: u64) -> (u64, u64) {
        let unit = u64::from(self.unit);
        let end = if until >= self.blocks { self.blocks.div_ceil(unit) } else { until / unit };
        (from.div_ceil(unit), end)
    }

    /// How many units a group has: the last one may be shorter.
    fn size(&self, group: usize) -> u64 {
        (self.blocks.div_ceil(u64::from(self.unit)) - group as u64 * GROUP).min(GROUP)
    }

    fn set(&mut self, first: u64, end: u64, to: UnitState) {
        let mut at = first;
        while at < end {
            let group = (at / GROUP) as usize;
            let (from, until) = (at % GROUP, (end - group as u64 * GROUP).min(self.size(group)));
            self.set_in(group, from, until, to);
            at = (group as u64 + 1) * GROUP;
        }
    }

    /// Sets the units of one group from `from` up to `until`.
    fn set_in(&mut self, group: usize, from: u64, until: u64, to: UnitState) {
        let wanted = to == UnitState::Wanted;
        let size = self.size(group);
        let before = u64::from(self.counts[group]);
        let (none, full) = (Group::Nothing, Group::All);
        let now = if from == 0 && until == size {
            self.groups[group] = if wanted { full } else { none };
            if wanted { size } else { 0 }
        } else {
            let bits = match &mut self.groups[group] {
                Group::All if wanted => return,
                Group::Nothing if !wanted => return,
                Group::Some(bits) => bits,
                other => {
                    *other = Group::Some(if *other == Group::All { all_of(size) } else { Box::new([0; WORDS]) });
                    let Group::Some(bits) = other else { unreachable!("it was just made one") };
                    bits
                }
            };
            let changed = write(bits, from, until, to);
            let now = if wanted { before + changed } else { before - changed };
            if now == 0 || now == size {
                self.groups[group] = if now == 0 { none } else { full };
            }
            now
        };
        // A full group of 2^15 units fits.
        self.counts[group] = now as u16;
        let bit = 1 << (group % 64);
        if now > 0 {
            self.some[group / 64] |= bit
        } else {
            self.some[group / 64] &= !bit
        }
        self.begun = self.begun + u64::from(now > 0) - u64::from(before > 0);
        self.left = self.left + now - before;
    }

    /// The first unit in `from..end` that is so.
    fn find(&self, from: u64, end: u64, so: UnitState) -> Option<u64> {
        let mut at = from;
        while at < end {
            let group = (at / GROUP) as usize;
            let base = group as u64 * GROUP;
            let until = (end - base).min(self.size(group));
            let found = match &self.groups[group] {
                Group::Nothing if so == UnitState::Wanted => {
                    at = self.next_group(group, end.div_ceil(GROUP) as usize)? as u64 * GROUP;
                    continue;
                }
                Group::Nothing => Some(at - base),
                Group::All => (so == UnitState::Wanted).then_some(at - base),
                Group::Some(bits) => find_bit(bits, at - base, until, so),
            };
            if let Some(found) = found {
                return Some(base + found);
            }
            at = base + GROUP;
        }
        None
    }
}

impl Wanted {
    /// Where the first run of so many units, at most `FOLD`, that lie in `from..end` begins.
    fn first_run(&self, from: u64, end: u64, units: u64) -> Option<u64> {
        let last = end.checked_sub(units).filter(|last| *last >= from)? / 64;
        let mut word = from / 64;
        while word <= last {
            if let Group::Nothing = self.groups[(word / WORDS as u64) as usize] {
                let until = (last / WORDS as u64) as usize + 1;
                word = self.next_group((word / WORDS as u64) as usize, until)? as u64 * WORDS as u64;
                continue;
            }
            if u64::from(self.longest[(word / CHUNK) as usize]) < units {
                word = (word / CHUNK + 1) * CHUNK;
                continue;
            }
            let runs = self.runs_from(word, (from, end), units);
            if runs != 0 {
                return Some(word * 64 + u64::from(runs.trailing_zeros()));
            }
            word += 1;
        }
        None
    }

    /// Where the last such run begins.
    fn last_run(&self, from: u64, end: u64, units: u64) -> Option<u64> {
        let first = from / 64;
        let mut word = end.checked_sub(units).filter(|last| *last >= from)? / 64;
        loop {
            let group = (word / WORDS as u64) as usize;
            if let Group::Nothing = self.groups[group] {
                let before = self.group_before(group, (first / WORDS as u64) as usize)?;
                word = before as u64 * WORDS as u64 + WORDS as u64 - 1;
            }
            if word < first {
                return None;
            }
            if u64::from(self.longest[(word / CHUNK) as usize]) < units {
                word = (word / CHUNK * CHUNK).checked_sub(1)?;
                continue;
            }
            let runs = self.runs_from(word, (from, end), units);
            if runs != 0 {
                return Some(word * 64 + 63 - u64::from(runs.leading_zeros()));
            }
            word = word.checked_sub(1)?;
        }
    }

    /// The last unit in `from..end` that is not wanted.
    fn last_read(&self, from: u64, end: u64) -> Option<u64> {
        (from / 64..end.div_ceil(64)).rev().find_map(|word| {
            let here = !self.word(word) & mask(word, from, end);
            (here != 0).then(|| word * 64 + 63 - u64::from(here.leading_zeros()))
        })
    }

    /// A bit for each unit of a word from which on so many units are wanted, at most `FOLD`, all in `from..end`.
    fn runs_from(&self, word: u64, (from, end): (u64, u64), units: u64) -> u64 {
        let mut runs = u128::from(self.word(word) & mask(word, from, end));
        if runs == 0 {
            return 0;
        }
        if units > 1 && (word + 1) * 64 < end {
            runs |= u128::from(self.word(word + 1) & mask(word + 1, from, end)) << 64;
        }
        let mut folded = 1;
        while folded < units {
            let by = folded.min(units - folded);
            runs &= runs >> by;
            folded += by;
        }
        runs as u64
    }

    /// Which of the 64 units of a word are wanted; those past the last unit may seem so.
    fn word(&self, word: u64) -> u64 {
        match &self.groups[(word / WORDS as u64) as usize] {
            Group::Nothing => 0,
            Group::All => u64::MAX,
            Group::Some(bits) => bits[(word % WORDS as u64) as usize],
        }
    }

    /// The first group after one, and before another, of which anything is wanted. One after that may be found as well.
    fn next_group(&self, group: usize, until: usize) -> Option<usize> {
        let first = (group + 1) / 64;
        let here = self.some.get(first)? & (u64::MAX << ((group + 1) % 64));
        let word = |word: usize, bits: u64| word * 64 + bits.trailing_zeros() as usize;
        if here != 0 {
            return Some(word(first, here));
        }
        let last = until.div_ceil(64).min(self.some.len());
        (first + 1..last).find(|at| self.some[*at] != 0).map(|at| word(at, self.some[at]))
    }

    /// The last group before one, and from another on, of which anything is wanted. One before that may be found as well.
    fn group_before(&self, group: usize, from: usize) -> Option<usize> {
        let word = |word: usize, bits: u64| word * 64 + 63 - bits.leading_zeros() as usize;
        let first = group / 64;
        let here = self.some[first] & !(u64::MAX << (group % 64));
        if here != 0 {
            return Some(word(first, here));
        }
        (from / 64..first).rev().find(|at| self.some[*at] != 0).map(|at| word(at, self.some[at]))
    }
}

/// The bitmap of a group of so many units that is wanted whole.
fn all_of(size: u64) -> Box<[u64; WORDS]> {
    let mut bits = Box::new([0; WORDS]);
    write(&mut bits, 0, size, UnitState::Wanted);
    bits
}

/// The bits of a word that lie in `from..until`, and are not none.
fn mask(word: u64, from: u64, until: u64) -> u64 {
    let (low, high) = (from.saturating_sub(word * 64).min(63), (until - word * 64).min(64));
    (u64::MAX << low) & (u64::MAX >> (64 - high))
}

/// Sets bits or clears them; how many changed.
fn write(bits: &mut [u64; WORDS], from: u64, until: u64, to: UnitState) -> u64 {
    let mut changed = 0;
    for word in from / 64..until.div_ceil(64) {
        let mask = mask(word, from, until);
        let bits = &mut bits[word as usize];
        let new = if to == UnitState::Wanted { *bits | mask } else { *bits & !mask };
        changed += u64::from((new ^ *bits).count_ones());
        *bits = new;
    }
    changed
}

/// The first bit in `from..until` that says so.
fn find_bit(bits: &[u64; WORDS], from: u64, until: u64, so: UnitState) -> Option<u64> {
    let words = from / 64..until.div_ceil(64);
    words.into_iter().find_map(|word| {
        let here = if so == UnitState::Wanted { bits[word as usize] } else { !bits[word as usize] };
        let here = here & mask(word, from, until);
        (here != 0).then(|| word * 64 + u64::from(here.trailing_zeros()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Step {
        Want(u64, u64),
        Got(u64, u32),
        First(u64, u64, u32),
        Longest(u64, u64, u32, u32),
    }

    fn step(blocks: u64) -> impl Strategy<Value = Step> {
        let at = move || 0..blocks;
        // Short ones, and some that cover whole groups.
        let span = prop_oneof![3 => 1..300u64, 1 => 1..blocks];
        prop_oneof![
            (at(), span.clone()).prop_map(move |(at, span)| Step::Want(at, (at + span).min(blocks))),
            (at(), span.clone()).prop_map(move |(at, span)| Step::Got(at, span.min(blocks - at) as u32)),
            (at(), span.clone(), 1..400u32).prop_map(move |(at, span, most)| Step::First(
                at,
                (at + span).min(blocks),
                most
            )),
            (at(), span, 1..2000u32, prop_oneof![Just(0), 0..900u32])
                .prop_map(move |(at, span, most, least)| Step::Longest(at, (at + span).min(blocks), most, least)),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn it_is_a_set(
            (unit, blocks, steps) in (1..9u32, 1..300_000u64)
                .prop_flat_map(|(unit, blocks)| (Just(unit), Just(blocks), prop::collection::vec(step(blocks), 1..60)))
        ) {
            let mut wanted = Wanted::nothing(blocks, unit);
            let units = blocks.div_ceil(u64::from(unit));
            let mut plain = vec![false; units as usize];
            let bounds = |i: u64| (i * u64::from(unit), ((i + 1) * u64::from(unit)).min(blocks));
            for step in steps {
                match step {
                    Step::Want(from, until) => {
                        wanted.want(Lbn(from), Lbn(until));
                        (0..units).filter(|i| bounds(*i).0 < until && bounds(*i).1 > from)
                            .for_each(|i| plain[i as usize] = true);
                    }
                    Step::Got(from, blocks) => {
                        wanted.remove_read(Extent { start: Lbn(from), blocks });
                        (0..units).filter(|i| bounds(*i).0 >= from && bounds(*i).1 <= from + u64::from(blocks))
                            .for_each(|i| plain[i as usize] = false);
                    }
                    Step::First(from, until, most) => {
                        let inside = |i: &u64| bounds(*i).0 >= from && bounds(*i).1 <= until;
                        let first = (0..units).find(|i| plain[*i as usize] && inside(i));
                        let end = first.map(|first| {
                            let most = u64::from((most / unit).max(1));
                            (first..units).take_while(|i| plain[*i as usize] && inside(i) && *i < first + most).last().expect("one")
                        });
                        let run = first.zip(end).map(|(first, last)| Extent {
                            start: Lbn(bounds(first).0),
                            blocks: (bounds(last).1 - bounds(first).0) as u32,
                        });
                        prop_assert_eq!(wanted.first_in(Lbn(from), Lbn(until), most), run);
                        let last = (0..units).rfind(|i| plain[*i as usize] && inside(i));
                        prop_assert_eq!(wanted.last_beyond(Lbn(from), Lbn(until), 0), last.map(|last| Lbn(bounds(last).0)));
                    }
                    Step::Longest(from, until, most, least) => {
                        let inside = |i: u64| i < units && plain[i as usize] && bounds(i).0 >= from && bounds(i).1 <= until;
                        let (unit_of, most) = (u64::from(unit), u64::from((most / unit).max(1)));
                        // How many wanted units there are from each on.
                        let mut lengths = vec![0u64; units as usize + 1];
                        (0..units).rev().for_each(|i| lengths[i as usize] = if inside(i) { lengths[i as usize + 1] + 1 } else { 0 });
                        let long = |i: &u64| lengths[*i as usize] * unit_of > u64::from(least);
                        let longest = (0..units).map(|i| lengths[i as usize].min(most)).max().unwrap_or(0);
                        let first = (0..units).find(|i| longest > u64::from(least) / unit_of && lengths[*i as usize].min(most) == longest);
                        // What is cut at the most begins where the run does, or goes on.
                        let run = first.map(|first| Extent {
                            start: Lbn(bounds(first).0),
                            blocks: (bounds(first + longest - 1).1 - bounds(first).0) as u32,
                        });
                        prop_assert_eq!(wanted.longest_in(Lbn(from), Lbn(until), most as u32 * unit, least), run);
                        let folded = |i: &u64| long(i) || lengths[*i as usize] >= FOLD;
                        let begins = [(0..units).find(folded), (0..units).rfind(folded)].map(|it| it.map(|it| Lbn(bounds(it).0)));
                        let (from, until) = (Lbn(from), Lbn(until));
                        prop_assert_eq!([wanted.first_beyond(from, until, least), wanted.last_beyond(from, until, least)], begins);
                    }
                }
                prop_assert_eq!(wanted.units_left(), plain.iter().filter(|it| **it).count() as u64);
            }
            // A checkpoint holds all of it.
            let mut again = Wanted::nothing(blocks, unit);
            wanted.runs().for_each(|(from, until)| again.want(from, until));
            prop_assert_eq!(&again.groups, &wanted.groups);
            prop_assert_eq!(again.units_left(), wanted.units_left());
        }
    }

    #[test]
    fn a_run_that_grew_unit_by_unit_is_found_and_so_is_what_is_left_of_it() {
        // Over the end of a part of a group of which it is known how long its runs are.
        let (from, units) = (64 * CHUNK - 60, 90);
        let orders: [fn(u64) -> u64; 3] = [|i| i, |i| 89 - i, |i| i * 7 % 90];
        for order in orders {
            let mut wanted = Wanted::nothing(8 * GROUP, 8);
            (0..units).map(order).for_each(|i| wanted.want(Lbn((from + i) * 8), Lbn((from + i) * 8 + 1)));
            for least in 0..units {
                let run = wanted.longest_in(Lbn(0), Lbn(8 * GROUP), 1000, 8 * least as u32);
                assert_eq!(run, Some(Extent::new(from * 8, units as u32 * 8)), "{least}");
            }
            for read in (1..units).step_by(2) {
                wanted.remove_read(Extent::new((from + read) * 8, 8));
                let left = wanted.longest_in(Lbn(0), Lbn(8 * GROUP), 1000, 0).map(|run| run.blocks);
                assert_eq!(left, Some(8 * (units - 1 - read).max(1) as u32), "{read}");
            }
        }
    }

    #[test]
    fn what_lies_far_apart_is_found_from_below_and_from_above() {
        // Groups of 2^18 blocks, 64 of which share a word.
        let group = 8 * GROUP;
        let mut wanted = Wanted::nothing(1000 * group, 8);
        let places: Vec<u64> = [0, 63, 64, 65, 127, 128, 300, 640, 998, 999].map(|at| at * group + 24).into();
        places.iter().for_each(|at| wanted.want(Lbn(*at), Lbn(at + 8)));
        for from in (0..1000).map(|at| at * group) {
            for until in [from + 1, from + group, from + 2 * group, from + 64 * group, from + 200 * group, 1000 * group]
            {
                let until = until.min(1000 * group);
                let inside = || places.iter().filter(|at| (from..until.saturating_sub(7)).contains(at));
                let first = wanted.first_in(Lbn(from), Lbn(until), 8).map(|run| run.start.0);
                let last = wanted.last_beyond(Lbn(from), Lbn(until), 0).map(|last| last.0);
                assert_eq!((first, last), (inside().next().copied(), inside().next_back().copied()), "{from}..{until}");
            }
        }
        assert_eq!(wanted.runs().map(|(from, _)| from.0).collect::<Vec<_>>(), places);
        places.iter().for_each(|at| wanted.remove_read(Extent::new(*at, 8)));
        assert!(wanted.is_empty() && wanted.first_in(Lbn(0), Lbn(1000 * group), 8).is_none());
    }

    #[test]
    fn a_drive_of_20_tb_costs_little() {
        let mut wanted = Wanted::nothing(39_063_650_304, 8);
        wanted.want(Lbn(0), Lbn(39_063_650_304));
        assert!(wanted.groups.iter().all(|group| *group == Group::All));
        wanted.remove_read(Extent { start: Lbn(8 * GROUP), blocks: 16 });
        let run = wanted.first_in(Lbn(8 * GROUP), Lbn(9 * 8 * GROUP), 64);
        assert_eq!(run, Some(Extent { start: Lbn(8 * GROUP + 16), blocks: 64 }));
        assert_eq!(wanted.groups.iter().filter(|group| matches!(group, Group::Some(_))).count(), 1);
    }
}
