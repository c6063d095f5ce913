//! The block map, from angles alone: a region is learned from its first tracks, followed by leaps that double until one
//! lands on another angle than predicted, and the first sector that deviates is found by halving. What deviates is a
//! sector elsewhere, a slip, a track turned by more than the rule has it (a bend), the end of a period, or another region.
//! Regions that repeat each other, one by one or several at a time, become periods of one. Angles tell sectors apart to
//! less than half of one, so that leaps over thousands of tracks still tell a slipped sector.

mod cycle;
mod deviation;
mod learn;
mod merge;
#[cfg(test)]
mod tests;
mod walk;

use crate::ProgressWatcher;
use crate::estimate::fraction;
use crate::eye::Eye;
use crate::map::{MapRegion, TrackMap};
use block::{BadInput, Device, Time};
use deviation::{Deviation, Off};

/// The first leap, in tracks, and one on whose way so many sectors anywhere are looked at, too: leaps double, so that all may land by
/// chance where the map is right, and do so in each region that is like this one.
const LEAP: u64 = 1;
const LONG: u64 = 64;
const LOOKS: u32 = 3;
/// Regions, at most; more are no order that could be followed.
const REGIONS: usize = 50_000;
/// Patterns tried before a region is learned anew, and how many regions back they are looked for.
const PATTERNS: usize = 4;
const LOOKED_BACK: usize = 64;
/// Bends in a row that repeat themselves and so are no irregularity.
const ALIKE: usize = 12;
/// Sectors in a row that lie elsewhere, at most.
const ELSEWHERE: u64 = 64;
/// Sectors all round a track, at least, where nothing better is known.
const LEAST_ROUND: u32 = 64;
/// Sectors slipped at once, at most.
const SLIPPED: i64 = 64;

/// An angle is a sector's if it is off by less than this share of its width: half of one would tell it from its neighbours, and
/// the rest is left to what a reply, or a slope, may be off.
const HERE: f64 = 0.35;
/// Bends are alike that differ by less than this share of a sector.
const BENT_ALIKE: f64 = 0.3;
/// Regions go on as one another where the angles they begin at are off by less than this share of a sector: the first tracks of
/// one tell its turn least well.
const GOES_ON: f64 = 0.2;
/// Sectors slipped at once that cannot be mistaken for a skew, at most.
const SMALL: i64 = 8;

/// Surveys a drive from its first sector to its last.
#[derive(Debug)]
pub struct MapSurvey<'e, 'b, 'd, D> {
    /// Measures the angles of sectors.
    pub eye: &'e mut Eye<'b, 'd, D>,
    /// What is mapped; the last region is under way.
    pub map: TrackMap,
    /// When to leave off; what is not mapped by then is taken to go on as before.
    pub until: Time,
    /// Regions before which tracks are not gone through one by one.
    pub regular_until: usize,
}

impl<D: Device> MapSurvey<'_, '_, '_, D> {
    /// Maps all of the drive.
    ///
    /// # Errors
    /// As [`crate::bench::ProbeBench::read`], and when no tracks are found.
    pub fn run(&mut self, watch: &mut dyn ProgressWatcher) -> Result<(), BadInput> {
        let all = self.eye.bench.sectors();
        let mut known = 0;
        while known < all {
            watch.on_mapped(known, all);
            if !self.map.regions.is_empty() && self.leaves_off() {
                self.map.guessed = Some(known);
                self.go_on_as_before(known)?;
                self.close(all);
                break;
            }
            let angle = self.readable_angle(known)?;
            let region = self.begin(known, angle)?;
            self.map.regions.push(region);
            self.merge();
            let region = self.current();
            known = match region.is_fragment() {
                true => (known + region.track - region.skip.min(region.track - 1)).min(all),
                false => self.follow(known, all, watch)?,
            };
            self.close(known);
        }
        merge::absorb(&mut self.map);
        self.look_again()?;
        watch.on_mapped(all, all);
        Ok(())
    }

    /// Whether there are more regions, or it takes longer, than can be borne.
    fn leaves_off(&self) -> bool {
        self.map.regions.len() >= REGIONS || self.eye.bench.now() >= self.until
    }

    /// What was not looked at is taken to go on as the region under way, or, where that is hardly known, to be like the
    /// longest met lately, in whole tracks.
    fn go_on_as_before(&mut self, known: u64) -> Result<(), BadInput> {
        self.close(known);
        // Of the region under way nothing may have been found.
        self.map.regions.pop_if(|last| last.sectors == 0);
        let lately = self.map.regions.iter().rev().take(LOOKED_BACK);
        let Some(longest) = lately.max_by_key(|region| region.sectors).cloned() else { return Ok(()) };
        let last = self.current();
        if !last.is_fragment() && last.sectors >= longest.sectors.min(4 * longest.track) {
            return Ok(());
        }
        let like = match longest.is_fragment() {
            true => {
                let round = longest.round.max(LEAST_ROUND);
                MapRegion { round, track: u64::from(round), levels: Vec::new(), runs: Vec::new(), ..longest }
            }
            false => longest,
        };
        let angle = self.readable_angle(known)? - 1.0 / f64::from(like.round);
        self.map.regions.push(like.again(known, fraction(angle)));
        Ok(())
    }

    /// The region under way ends before a sector.
    fn close(&mut self, end: u64) {
        if let Some(region) = self.map.regions.last_mut() {
            region.close(end);
        }
    }

    /// The angle of a sector that must be readable.
    fn readable_angle(&mut self, sector: u64) -> Result<f64, BadInput> {
        self.eye.since = 0;
        self.seen_on_its_track(sector)
    }

    /// The same, of one that may begin a track.
    fn seen_from(&mut self, sector: u64) -> Result<f64, BadInput> {
        self.eye.since = sector;
        self.seen_on_its_track(sector)
    }

    fn seen_on_its_track(&mut self, sector: u64) -> Result<f64, BadInput> {
        match self.eye.recall(sector, None)? {
            Some(angle) => Ok(angle),
            None => Err(self.eye.bench.error(
                format!("sector {sector} cannot be read, and begins what is to be learned"),
                "profile a drive whose sectors can be read",
            )),
        }
    }

    /// The region that begins at a sector: like the one before, if that is how it goes on, or another.
    fn begin(&mut self, first: u64, angle: f64) -> Result<MapRegion, BadInput> {
        for pattern in self.known_patterns() {
            let region = pattern.again(first, angle);
            let width = region.place(first).width();
            let region = MapRegion { angle: angle - width, ..region };
            if self.holds(&region, first)? || self.holds_slipped(&region, first)? {
                return Ok(region);
            }
        }
        if let Some(region) = self.resume_pattern(first, angle)? {
            return Ok(region);
        }
        let learned = learn::region(self.eye, (first, angle), &self.known_widths())?;
        Ok(self.map.regions.last_mut().map_or(learned.clone(), |last| since_its_track(last, learned)))
    }

    /// The widths of sectors met lately.
    fn known_widths(&self) -> Vec<f64> {
        let lately = self.map.regions.iter().rev().take(LOOKED_BACK);
        let runs = lately.flat_map(|region| region.runs.iter().map(|run| run.round).chain([region.round]));
        let mut rounds: Vec<u32> = runs.filter(|round| *round > 2 * ELSEWHERE as u32).collect();
        rounds.sort_unstable();
        rounds.dedup();
        rounds.into_iter().map(|round| 1.0 / f64::from(round)).collect()
    }

    /// What a new region may be like: the last one, what that is made of, and the last few that are not alike.
    fn known_patterns(&self) -> Vec<MapRegion> {
        let regions = self.map.regions.iter().filter(|region| !region.is_fragment());
        let mut known: Vec<MapRegion> = Vec::new();
        for (i, region) in regions.rev().take(LOOKED_BACK).enumerate() {
            if i == 0 || (!region.levels.is_empty() && !known.iter().any(|other| other.like(region))) {
                known.push(region.again(region.first, region.angle));
            }
            if i == 0 && !region.levels.is_empty() && region.runs.is_empty() {
                known.push(MapRegion { levels: Vec::new(), ..region.again(region.first, region.angle) });
            }
            if known.len() >= PATTERNS {
                break;
            }
        }
        known
    }

    /// The last pattern from somewhere in it on, as the track a sector is on tells.
    fn resume_pattern(&mut self, first: u64, angle: f64) -> Result<Option<MapRegion>, BadInput> {
        let Some(last) = self.map.regions.last().filter(|last| !last.levels.is_empty()).cloned() else {
            return Ok(None);
        };
        let expected = last.place_at(last.pattern(first));
        // It may begin a track: a read that crossed to it would end as the bus has it, where that is slower than the medium.
        self.eye.since = first;
        let left = learn::count_remaining(self.eye, (first, angle), expected.width())?;
        for track in [expected.track, expected.track + 1, expected.track.saturating_sub(1)] {
            let start = last.track_pattern(track);
            let Some(gone) = last.place_at(start).left.checked_sub(left) else { continue };
            let region = MapRegion { skip: start + gone, ..last.again(first, last.angle) };
            let place = region.place(first);
            let region = MapRegion { angle: fraction(region.angle + angle - place.width() - place.angle), ..region };
            if self.holds(&region, first)? || self.holds_slipped(&region, first)? {
                return Ok(Some(region));
            }
        }
        Ok(None)
    }

    /// Whether a region begun at a sector goes on as its pattern says.
    fn holds(&mut self, region: &MapRegion, first: u64) -> Result<bool, BadInput> {
        let (track, period) = (region.track, region.outermost().sectors);
        // The first track must end where it should, or all of them are shifted.
        let edge = region.next_track(first);
        let mut at = vec![edge - 1, edge, first + track / 2, first + track + track / 2];
        if !region.levels.is_empty() {
            let before = (first + period).saturating_sub(track / 2);
            at.extend([before, first + period + track / 2, first + 2 * period + track / 3]);
        }
        let all = self.eye.bench.sectors();
        for sector in at.into_iter().rev().filter(|sector| *sector < all) {
            if !self.off(region, sector)?.is_some_and(Off::agrees) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The same, if places are passed over on the way: tracks begin later, then, by as much as they end sooner.
    fn holds_slipped(&mut self, region: &MapRegion, first: u64) -> Result<bool, BadInput> {
        let (track, period) = (region.track, region.outermost().sectors);
        let at = [first + track / 2, first + track + track / 2, first + period + track / 2];
        let count = if region.levels.is_empty() { 2 } else { 3 };
        let all = self.eye.bench.sectors();
        for sector in at.into_iter().take(count).rev() {
            if sector + 2 * track >= all {
                return Ok(false);
            }
            let most = i64::from(region.place(sector).round / 32);
            let slipped = self.off(region, sector)?.and_then(Off::whole).filter(|count| (0..=most).contains(count));
            let Some(slipped) = slipped else { return Ok(false) };
            let region = MapRegion { slips: vec![(first + 1, slipped)], ..region.clone() };
            let edge = region.next_track(sector);
            if !self.off(&region, edge)?.is_some_and(Off::agrees)
                || !self.off(&region, edge - 1)?.is_some_and(Off::agrees)
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// How far a sector's angle is from where a region has it. Nothing if it cannot be read.
    fn off(&mut self, region: &MapRegion, sector: u64) -> Result<Option<Off>, BadInput> {
        let place = region.place(sector);
        let there = (place.angle + place.width(), place.width());
        self.eye.since = sector - place.sector.min(sector - region.first);
        Ok(self.eye.recall(sector, Some(there))?.map(|angle| Off::new(region, sector, angle)))
    }

    /// Follows the region under way from a sector of it on; gives where it ends.
    fn follow(&mut self, from: u64, all: u64, watch: &mut dyn ProgressWatcher) -> Result<u64, BadInput> {
        let mut known = from;
        let mut leap = 0;
        loop {
            if self.leaves_off() {
                return Ok(known);
            }
            let region = self.current();
            leap = (2 * leap).max(LEAP * region.track);
            // Somewhere on a track, not at its edges.
            let target = (known + leap).min(all - 1);
            if known >= target {
                return Ok(all);
            }
            let Some(deviates) = self.leap(known, target)? else {
                known = target;
                watch.on_mapped(known, all);
                continue;
            };
            let (sector, angle) = self.first_deviation(known, deviates)?;
            if self.is_irregular()
                && let Some(last) = self.walk(sector, angle)?
            {
                (known, leap) = (last, 0);
                watch.on_mapped(known, all);
                continue;
            }
            let found = self.classify(sector, angle)?;
            match found {
                Deviation::Elsewhere(sectors) => {
                    known = sector + sectors.len() as u64 - 1;
                    self.map.remaps.extend(sectors);
                }
                Deviation::Slip(count) => {
                    let region = self.current_mut();
                    let before = region.slips.last().map_or(0, |(_, shift)| *shift);
                    region.slips.push((sector, before + count));
                    known = sector;
                }
                Deviation::Bend(turn) => {
                    let region = self.current_mut();
                    let before = region.bends.last().map_or(0.0, |(_, turned)| *turned);
                    region.bends.push((region.pattern(sector), before + turn));
                    known = sector;
                    if let Some(sector) = evenly_bent(region) {
                        return Ok(sector);
                    }
                }
                Deviation::End => return Ok(sector),
            }
            leap = 0;
        }
    }

    /// A sector by which a leap does not land where it should, if there is one; the region turns as what it lands on has it, else.
    fn leap(&mut self, known: u64, target: u64) -> Result<Option<u64>, BadInput> {
        let region = self.current();
        // Not merely as good as there: the first look that is may be late by as much as the region is off.
        let Some(angle) = self.eye.recall(target, None)? else { return Ok(None) };
        let off = Off::new(&region, target, angle);
        if !off.agrees() {
            return Ok(Some(target));
        }
        // Another sector that is not by chance where it should be, too.
        let other = target.saturating_sub(region.track + region.track / 3).max(region.first);
        if !self.off(&region, other)?.is_none_or(Off::agrees) {
            return Ok(Some(target));
        }
        let way = target.saturating_sub(known);
        let looks = if way >= LONG * region.track { LOOKS } else { 0 };
        for _ in 0..looks {
            let between = known + 1 + self.eye.bench.draw.below(way - 1);
            if !self.off(&region, between)?.is_none_or(Off::agrees) {
                return Ok(Some(between));
            }
        }
        self.current_mut().refine(target, off.angle);
        Ok(None)
    }

    fn current(&self) -> MapRegion {
        self.map.regions[self.map.regions.len() - 1].clone()
    }

    fn current_mut(&mut self) -> &mut MapRegion {
        let last = self.map.regions.len() - 1;
        &mut self.map.regions[last]
    }
}

/// Where a region ended if its last bends repeat themselves: nothing irregular, but another pattern. They are taken back.
fn evenly_bent(region: &mut MapRegion) -> Option<u64> {
    let width = 1.0 / f64::from(region.round);
    // Each against the one so many before it.
    let like = |i: usize, period: usize| {
        let step = |i: usize| (region.bends[i].0 - region.bends[i - 1].0, region.bends[i].1 - region.bends[i - 1].1);
        let (a, b) = (step(i), step(i - period));
        a.0 == b.0 && (a.1 - b.1).abs() < BENT_ALIKE * width
    };
    let count = region.bends.len();
    let begin = (1..=count / 2).find_map(|period| {
        let begin = count.checked_sub(ALIKE.max(2 * period) + 1)?;
        (begin + 1 + period..count).all(|i| like(i, period)).then_some(begin)
    })?;
    let first = region.bends[begin].0;
    region.bends.truncate(begin);
    Some(region.sector_at(first))
}

/// A region that begins inside a track, where the tracks before it may go on by chance as its own do: it begins with its
/// track, if the region before ends a track there.
fn since_its_track(before: &mut MapRegion, region: MapRegion) -> MapRegion {
    let first = region.first.saturating_sub(region.skip);
    if region.skip == 0 || first <= before.first || before.place(first).sector > 0 {
        return region;
    }
    let off = crate::estimate::signed_fraction(before.place(first).angle - region.angle);
    if off.abs() > HERE / f64::from(region.round) {
        return region;
    }
    before.close(first);
    MapRegion { first, skip: 0, ..region }
}
