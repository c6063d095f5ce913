//! The block map, from angles alone: a region is learned from its first tracks, followed by leaps that double until one
//! lands on another angle than predicted, and the first sector that deviates is found by halving. What deviates is a
//! sector elsewhere, a slip, the end of a period, or another region. Angles tell sectors apart to less than half of
//! one, so that leaps over thousands of tracks still tell a slipped sector.

mod deviation;
mod learn;
mod merge;

use crate::eye::Eye;
use crate::map::{Map, Region};
use block::{BadInput, Device};
use deviation::Deviation;

/// The first leap, in tracks.
const LEAP: u64 = 1;
/// Regions, at most; more are no order that could be followed.
const REGIONS: usize = 20_000;
/// Sectors in a row that lie elsewhere, at most.
const ELSEWHERE: u64 = 64;
/// Sectors slipped at once, at most.
const SLIPPED: i64 = 64;

/// Sectors slipped at once that cannot be mistaken for a skew, at most.
const SMALL: i64 = 8;

/// Told how far a survey has come, in sectors of all.
pub trait Progress {
    /// So many of so many.
    fn at(&mut self, done: u64, all: u64);
}

/// Surveys a drive from its first sector to its last.
#[derive(Debug)]
pub struct Survey<'e, 'b, 'd, D> {
    /// The angles.
    pub eye: &'e mut Eye<'b, 'd, D>,
    /// What is mapped; the last region is under way.
    pub map: Map,
}

impl<D: Device> Survey<'_, '_, '_, D> {
    /// Maps all of the drive.
    ///
    /// # Errors
    /// As [`crate::bench::Bench::read`], and when no tracks are found.
    pub fn run(&mut self, progress: &mut dyn Progress) -> Result<(), BadInput> {
        let all = self.eye.bench.sectors();
        let mut known = 0;
        while known < all {
            progress.at(known, all);
            if self.map.regions.len() >= REGIONS {
                let what = format!("its tracks follow no order: {REGIONS} regions up to sector {known} of {all}");
                return Err(self.eye.bench.error(what, "this layout is not understood; report the drive"));
            }
            let angle = self.seen(known)?;
            let region = self.begin(known, angle)?;
            self.map.regions.push(region);
            self.merge(known, angle);
            known = self.follow(known, all, progress)?;
            self.close(known);
        }
        progress.at(all, all);
        Ok(())
    }

    /// The region under way ends before a sector.
    fn close(&mut self, end: u64) {
        if let Some(region) = self.map.regions.last_mut() {
            region.sectors = end - region.first;
        }
    }

    /// The angle of a sector that must be readable, or the first one after it that is.
    fn seen(&mut self, sector: u64) -> Result<f64, BadInput> {
        match self.eye.angle(sector)? {
            Some(angle) => Ok(angle),
            None => Err(self.eye.bench.error(
                format!("sector {sector} cannot be read, and begins what is to be learned"),
                "profile a drive whose sectors can be read",
            )),
        }
    }

    /// The region that begins at a sector: like the one before, if that is how it goes on, or another.
    fn begin(&mut self, first: u64, angle: f64) -> Result<Region, BadInput> {
        if let Some(last) = self.map.regions.last().cloned() {
            let base = Region { levels: Vec::new(), ..last.clone() };
            for pattern in [&last, &base] {
                let start = angle - 1.0 / f64::from(pattern.round);
                let region = pattern.again(first, start);
                if self.holds(&region, first)? {
                    return Ok(region);
                }
                if last.levels.is_empty() {
                    break;
                }
            }
        }
        let learned = learn::region(self.eye, first, angle)?;
        Ok(self.map.regions.last_mut().map_or(learned.clone(), |last| since_its_track(last, learned)))
    }

    /// Whether a region begun at a sector goes on as its pattern says.
    fn holds(&mut self, region: &Region, first: u64) -> Result<bool, BadInput> {
        let (track, period) = (region.track, region.outermost().sectors);
        let mut at = vec![first + track / 2, first + track + track / 2];
        if !region.levels.is_empty() {
            at.extend([first + period - track / 2, first + period + track / 2, first + 2 * period + track / 3]);
        }
        let all = self.eye.bench.sectors();
        for sector in at.into_iter().rev().filter(|sector| *sector < all) {
            if self.off(region, sector)?.is_none_or(|(_, agrees)| !agrees) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// How far a sector's angle is from where a region has it, and whether that is as good as there. Nothing if it
    /// cannot be read.
    fn off(&mut self, region: &Region, sector: u64) -> Result<Option<(f64, bool)>, BadInput> {
        let Some(angle) = self.eye.angle(sector)? else { return Ok(None) };
        let off = deviation::off(region, sector, angle);
        Ok(Some((off, self.agrees(region, off))))
    }

    fn agrees(&self, region: &Region, off: f64) -> bool {
        off.abs() < 0.35 / f64::from(region.round)
    }

    /// Follows the region under way from a sector of it on; gives where it ends.
    fn follow(&mut self, from: u64, all: u64, progress: &mut dyn Progress) -> Result<u64, BadInput> {
        let mut known = from;
        let mut leap = 0;
        loop {
            let region = self.current();
            leap = (2 * leap).max(LEAP * region.track);
            // Somewhere on a track, not at its edges.
            let target = (known + leap).min(all - 1);
            if known >= target {
                return Ok(all);
            }
            if self.lands(target)? {
                known = target;
                progress.at(known, all);
                continue;
            }
            let (sector, angle) = self.first_deviation(known, target)?;
            match self.classify(sector, angle)? {
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
                Deviation::End => return Ok(sector),
            }
            leap = 0;
        }
    }

    /// Whether a leap lands where it should, as two sectors say; the region turns as the first has it, then.
    fn lands(&mut self, target: u64) -> Result<bool, BadInput> {
        let region = self.current();
        let Some((off, agrees)) = self.off(&region, target)? else { return Ok(true) };
        if !agrees {
            return Ok(false);
        }
        // Another sector that is not by chance where it should be, too.
        let other = target.saturating_sub(region.track + region.track / 3).max(region.first);
        if !self.off(&region, other)?.is_none_or(|(_, agrees)| agrees) {
            return Ok(false);
        }
        self.current_mut().refine(target, off);
        Ok(true)
    }

    fn current(&self) -> Region {
        self.map.regions[self.map.regions.len() - 1].clone()
    }

    fn current_mut(&mut self) -> &mut Region {
        let last = self.map.regions.len() - 1;
        &mut self.map.regions[last]
    }
}

/// A region that begins inside a track, where the tracks before it may go on by chance as its own do: it begins with its
/// track, if the region before ends a track there.
fn since_its_track(before: &mut Region, region: Region) -> Region {
    let first = region.first.saturating_sub(region.skip);
    if region.skip == 0 || first <= before.first || before.place(first).sector > 0 {
        return region;
    }
    let off = crate::estimate::signed(before.place(first).angle - region.angle);
    if off.abs() > 0.35 / f64::from(region.round) {
        return region;
    }
    before.sectors = first - before.first;
    Region { first, skip: 0, ..region }
}
