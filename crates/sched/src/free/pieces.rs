//! Units that lie across the end of a track, read in pieces.
//!
//! Of a run of wanted units that ends at the end of a track, there is often no time for the rest of the last unit, which lies on the next
//! one; and where tracks are not in step, as at the end of a zone, both parts take a command a revolution and more, which no
//! request leaves. So each part is read with what passes on its own track. What was read of a unit that is not whole yet is
//! kept in mind here, so that no block is read twice.

use crate::predict::Passing;
use crate::wanted::Wanted;
use block::{Extent, Lbn};
use std::collections::BTreeMap;

/// Units of which a part is kept in mind, at most.
const MOST: usize = 1 << 16;

/// What was read of units that were not read whole: by its first block, how many at its beginning and at its end.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    read: BTreeMap<Lbn, (u32, u32)>,
}

fn between(from: Lbn, until: Lbn) -> Extent {
    Extent { start: from, blocks: until.0.saturating_sub(from.0) as u32 }
}

/// The unit of a block.
fn unit_of(wanted: &Wanted, at: Lbn) -> Extent {
    let unit = u64::from(wanted.unit());
    let start = at.0 / unit * unit;
    between(Lbn(start), Lbn((start + unit).min(wanted.blocks())))
}

impl Pieces {
    /// What is missing of a unit.
    fn rest(&self, unit: Extent) -> Extent {
        let (first, last) = self.read.get(&unit.start).copied().unwrap_or_default();
        between(Lbn(unit.start.0 + u64::from(first)), Lbn(unit.end().0 - u64::from(last)))
    }

    /// The block of a wanted unit where what is missing of it begins.
    pub(super) fn where_left(&self, wanted: &Wanted, at: Lbn) -> Lbn {
        at.max(self.rest(unit_of(wanted, at)).start)
    }

    /// A run of whole units without what was read of it: up to one of which something was, or what is missing of that.
    pub(super) fn clip(&self, wanted: &Wanted, run: Extent) -> Extent {
        match self.read.range(run.start..run.end()).next() {
            Some((first, _)) if *first == run.start => self.rest(unit_of(wanted, *first)),
            Some((first, _)) => between(run.start, *first),
            None => run,
        }
    }

    /// What passes on a track of a wanted unit that lies across its end or its beginning, and is missing.
    fn part(&self, wanted: &Wanted, passing: &Passing, at: Lbn) -> Option<Extent> {
        let (begin, end) = (passing.ranges[1].0, passing.track_end);
        if !passing.ranges.iter().any(|(low, high)| (*low..*high).contains(&at)) {
            return None;
        }
        let unit = unit_of(wanted, at);
        if unit.start >= begin && unit.end() <= end {
            return None;
        }
        let rest = self.rest(unit);
        let (from, until) = (rest.start.max(begin), rest.end().min(end));
        // A beginning or an end of what is missing; and there is room to keep it in mind, or nothing will have to be.
        let is_edge = from == rest.start || until == rest.end();
        let has_room = self.read.len() < MOST || self.read.contains_key(&unit.start);
        let passes = passing.ranges.iter().any(|(low, high)| *low <= from && until <= *high);
        let is_one = from < until && is_edge && has_room && passes;
        (is_one && wanted.first_in(unit.start, unit.end(), 1).is_some()).then(|| between(from, until))
    }

    /// A piece of a wanted unit that passes on a track which it does not lie on whole.
    pub(super) fn find(&self, wanted: &Wanted, passing: &Passing) -> Option<Extent> {
        let part = |at: u64| self.part(wanted, passing, Lbn(at));
        part(passing.track_end.0.saturating_sub(1)).or_else(|| part(passing.ranges[1].0.0))
    }

    /// A run of whole units with the pieces at the beginning and at the end of its track, where it reaches those.
    pub(super) fn extend(&self, wanted: &Wanted, passing: &Passing, run: Extent) -> Extent {
        let before = self.part(wanted, passing, passing.ranges[1].0).filter(|part| part.end() == run.start);
        let last = Lbn(passing.track_end.0.saturating_sub(1));
        let after = self.part(wanted, passing, last).filter(|part| part.start == run.end());
        between(before.map_or(run.start, |part| part.start), after.map_or(run.end(), |part| part.end()))
    }

    /// Blocks were read, or are given up. Adds the units of which nothing is missing any more, where they were not read at once.
    pub(super) fn add(&mut self, wanted: &Wanted, at: Extent, whole: &mut Vec<Extent>) {
        let ends = [unit_of(wanted, at.start), unit_of(wanted, Lbn(at.end().0 - 1))];
        for unit in &ends[..if ends[0] == ends[1] { 1 } else { 2 }] {
            let unit = *unit;
            let rest = self.rest(unit);
            let (from, until) = (at.start.max(rest.start), at.end().min(rest.end()));
            if from >= until || (from <= unit.start && until >= unit.end()) {
                continue;
            }
            let (first, last) = self.read.entry(unit.start).or_default();
            if from == rest.start {
                *first += (until.0 - from.0) as u32;
            } else {
                *last += (until.0 - from.0) as u32;
            }
            if *first + *last == unit.blocks {
                self.read.remove(&unit.start);
                whole.push(unit);
            }
        }
    }

    /// Nothing of the units of these blocks counts as read any more.
    pub(super) fn forget(&mut self, wanted: &Wanted, at: Extent) {
        if !self.read.is_empty() && at.blocks > 0 {
            let (first, last) = (unit_of(wanted, at.start), unit_of(wanted, Lbn(at.end().0 - 1)));
            while let Some((unit, _)) = self.read.range(first.start..=last.start).next() {
                let unit = *unit;
                self.read.remove(&unit);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads of windows of tracks until nothing is wanted: each block once, though units lie across the ends of tracks.
    #[test]
    fn what_passes_piece_by_piece_is_read_once_each_block() {
        let mut state = 5u64;
        let mut draw = move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for (unit, track, blocks) in [(8, 30, 901), (8, 100, 1000), (16, 37, 777), (1, 10, 100), (5, 12, 144)] {
            let mut wanted = Wanted::nothing(blocks, unit);
            wanted.want(Lbn(0), Lbn(blocks));
            let (mut pieces, mut times) = (Pieces::default(), vec![0; blocks as usize]);
            let mut tries = 0;
            while !wanted.is_empty() {
                tries += 1;
                assert!(tries < 200_000, "{unit}, {track}: {} units are never read", wanted.units_left());
                let begin = draw(blocks.div_ceil(track)) * track;
                let end = (begin + track).min(blocks);
                // The track from somewhere on, and sometimes its beginning up to there.
                let (from, until) = (begin + draw(end - begin), begin + draw(end - begin + 1));
                let (from, until) = (from.min(until), from.max(until));
                let wraps = draw(2) == 0;
                let ranges = if wraps { [(until, end), (begin, from)] } else { [(from, until), (begin, begin)] };
                let ranges = ranges.map(|(from, until)| (Lbn(from), Lbn(until)));
                let passing = Passing { ranges, blocks: track, longest: u32::MAX, track_end: Lbn(end) };
                let longest = ranges.iter().find_map(|(from, until)| wanted.longest_in(*from, *until, u32::MAX, 0));
                let run = longest.map(|run| pieces.clip(&wanted, run));
                let run = match run {
                    Some(run) => Some(pieces.extend(&wanted, &passing, run)),
                    None => pieces.find(&wanted, &passing),
                };
                let Some(run) = run else { continue };
                assert!(run.blocks > 0 && ranges.iter().any(|(from, until)| *from <= run.start && run.end() <= *until));
                (run.start.0..run.end().0).for_each(|block| times[block as usize] += 1);
                let mut whole = Vec::new();
                pieces.add(&wanted, run, &mut whole);
                wanted.remove_read(run);
                whole.into_iter().for_each(|unit| wanted.remove_read(unit));
            }
            assert!(times.iter().all(|times| *times == 1), "{unit}, {track}: {times:?}");
            assert!(pieces.read.is_empty(), "{:?}", pieces.read);
        }
    }

    #[test]
    fn what_is_wanted_anew_is_read_anew() {
        let mut wanted = Wanted::nothing(100, 8);
        wanted.want(Lbn(0), Lbn(100));
        let mut pieces = Pieces::default();
        [Extent::new(8, 3), Extent::new(44, 4)].into_iter().for_each(|at| pieces.add(&wanted, at, &mut Vec::new()));
        assert_eq!(pieces.clip(&wanted, Extent::new(8, 24)), Extent::new(11, 5));
        assert_eq!(pieces.clip(&wanted, Extent::new(16, 48)), Extent::new(16, 24));
        assert_eq!(pieces.clip(&wanted, Extent::new(40, 16)), Extent::new(40, 4));
        pieces.forget(&wanted, Extent::new(15, 2));
        assert_eq!(pieces.clip(&wanted, Extent::new(8, 24)), Extent::new(8, 24));
        assert_eq!(pieces.clip(&wanted, Extent::new(40, 16)), Extent::new(40, 4));
    }
}
