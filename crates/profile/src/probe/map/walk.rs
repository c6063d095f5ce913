//! Tracks that each are turned a little otherwise than any rule has it, as in layouts that keep where each track was
//! written: they are gone through one by one, each known by its first and its last sector.

use super::deviation::Off;
use super::{MapSurvey, evenly_bent};
use crate::map::MapRegion;
use block::{BadInput, Device};

/// Regions in a row that end after no more than so many tracks, with no period in them: nothing regular is near.
const IRREGULAR: usize = 24;
const SHORT: u64 = 8;
/// The same, after bends were found to repeat themselves after all.
const PATIENT: usize = 160;
/// Of an irregular region, at least one track of so many bends.
const EACH: u64 = 4;
/// Tracks in a row that are where the rule has them: others may follow.
const EVEN: usize = 3;
/// A bend of less is none, sectors.
const SLIGHT: f64 = 0.05;

impl<D: Device> MapSurvey<'_, '_, '_, D> {
    /// Whether the last regions follow no rule but that of single tracks.
    pub(super) fn is_irregular(&self) -> bool {
        let Some((under_way, before)) = self.map.regions.split_last() else { return false };
        let plain = under_way.levels.is_empty() && under_way.runs.is_empty() && !under_way.is_fragment();
        let last = before.iter().rev().take(IRREGULAR);
        plain && before.len() >= self.regular_until.max(IRREGULAR) && last.into_iter().all(irregular)
    }

    /// Goes through single tracks from the one that begins at a sector, seen at an angle: the last sector known, if there
    /// is such a track.
    pub(super) fn walk(&mut self, sector: u64, angle: f64) -> Result<Option<u64>, BadInput> {
        let all = self.eye.bench.sectors();
        let (mut begins, mut angle, mut known, mut even) = (sector, angle, None, 0);
        while even < EVEN && !self.leaves_off() {
            let region = self.current();
            let place = region.place(begins);
            let last = begins + place.left - 1;
            if place.sector > 0 || last + 1 >= all {
                break;
            }
            let off = Off::new(&region, begins, angle);
            let mut bent = region.clone();
            if off.sectors.abs() > SLIGHT {
                let before = bent.bends.last().map_or(0.0, |(_, turned)| *turned);
                bent.bends.push((region.pattern(begins), before + off.angle));
            }
            // Backwards, since what follows a read may be in memory.
            let next = self.seen_from(last + 1)?;
            // Further on the same way round the track would be longer.
            if Off::along(&bent, last, next).agrees() || !self.off(&bent, last)?.is_some_and(Off::agrees) {
                break;
            }
            even = if off.agrees() { even + 1 } else { 0 };
            (known, begins, angle) = (Some(last), last + 1, next);
            *self.current_mut() = bent;
        }
        if let Some(sector) = known.and_then(|_| evenly_bent(self.current_mut())) {
            self.regular_until = self.map.regions.len() + PATIENT;
            return Ok(Some(sector - 1));
        }
        Ok(known)
    }
}

/// Whether a region shows no rule: few tracks, or nearly as many bends.
fn irregular(region: &MapRegion) -> bool {
    let tracks = (region.pattern(region.end().max(region.first + 1) - 1) + 1).div_ceil(region.track);
    region.levels.is_empty()
        && region.runs.is_empty()
        && (tracks <= SHORT || region.bends.len() as u64 * EACH >= tracks)
}
