//! The first sector that is not where its region has it, and what that means.

use super::{ELSEWHERE, HERE, MapSurvey, SLIPPED, SMALL};
use crate::estimate::{fraction, signed_fraction};
use crate::map::MapRegion;
use block::{BadInput, Device};

/// Sectors after some that lie elsewhere by which the others of the track are where they should be.
const SOON_AGAIN: u64 = 16;

/// What a sector is that is not where it was predicted.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Deviation {
    /// These lie elsewhere, at these angles; what follows does not.
    Elsewhere(Vec<(u64, f64)>),
    /// So many places are passed over (taken back, if negative), and all goes on as before.
    Slip(i64),
    /// A track begins here, so much further round, and goes on as before.
    Bend(f64),
    /// The region ends here.
    End,
}

/// How far a sector seen at an angle is from where a region has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Off {
    /// How far off the angle is, in revolutions.
    pub(super) angle: f64,
    /// In sectors of the track.
    pub(super) sectors: f64,
}

impl Off {
    pub(super) fn new(region: &MapRegion, sector: u64, angle: f64) -> Off {
        let place = region.place(sector);
        let angle = signed_fraction(angle - place.width() - place.angle);
        Off { angle, sectors: angle * f64::from(place.round) }
    }

    /// How far an angle is from where a sector would be that followed another of the region on its track.
    pub(super) fn along(region: &MapRegion, sector: u64, next: f64) -> Off {
        let off = Off::new(region, sector, next);
        let place = region.place(sector);
        let angle = signed_fraction(off.angle - place.width());
        Off { angle, sectors: angle * f64::from(place.round) }
    }

    /// Whether the sector is as good as there.
    pub(super) fn agrees(self) -> bool {
        self.sectors.abs() < HERE
    }

    /// So many sectors, if it is a whole number of them.
    pub(super) fn whole(self) -> Option<i64> {
        let count = libm::round(self.sectors);
        ((self.sectors - count).abs() < HERE).then_some(count as i64)
    }
}

impl<D: Device> MapSurvey<'_, '_, '_, D> {
    /// The first sector after `known` that is not where the region under way has it, and its angle; `target` is not.
    pub(super) fn first_deviation(&mut self, known: u64, target: u64) -> Result<(u64, f64), BadInput> {
        let region = self.current();
        let (mut low, mut high) = (known, target);
        for _ in 0..4 {
            while high - low > 1 {
                let middle = middle(&region, low, high);
                match self.off(&region, middle)? {
                    Some(off) if !off.agrees() => high = middle,
                    _ => low = middle,
                }
            }
            // What agreed by chance is given away by its neighbours.
            let mut stray = None;
            for tracks in [0, 1, 4] {
                let witness = high.saturating_sub(2 + region.track / 3 + tracks * region.track);
                if witness > known && !self.off(&region, witness)?.is_none_or(Off::agrees) {
                    stray = Some(witness);
                    break;
                }
            }
            let Some(witness) = stray else { break };
            (low, high) = (known, witness);
        }
        // Sectors of another width deviate some way into their track.
        self.eye.since = high - region.place(high).sector.min(high - region.first);
        Ok((high, self.seen_on_its_track(high)?))
    }

    /// What it means that a sector, the first, is not where the region under way has it.
    pub(super) fn classify(&mut self, sector: u64, angle: f64) -> Result<Deviation, BadInput> {
        let region = self.current();
        let all = self.eye.bench.sectors();
        let later = [sector + ELSEWHERE + region.track / 3, sector + 2 * region.track + region.track / 2];
        if self.all_agree(&region, &later.map(|at| at.min(all - 1)))? {
            let found = self.elsewhere(&region, sector, angle)?;
            if (found.len() as u64) < ELSEWHERE {
                return Ok(Deviation::Elsewhere(found));
            }
            return Ok(Deviation::End);
        }
        let off = Off::new(&region, sector, angle);
        if let Some(count) = off.whole().filter(|count| *count != 0 && count.abs() <= SLIPPED) {
            let place = region.place(sector);
            let skew = signed_fraction(region.turn).abs() * f64::from(region.round);
            let inside = place.sector > 0 && (1..=SMALL).contains(&count) && (count as f64) < skew / 2.0;
            let mut slipped = region.clone();
            let before = region.slips.last().map_or(0, |(_, shift)| *shift);
            slipped.slips.push((sector, before + count));
            // Tracks end sooner after a slip (later, if places were taken back); after a mere turn they do not.
            let edge = slipped.next_track(sector);
            let next = slipped.next_track(edge);
            let at = [next + region.track / 2, edge + region.track / 2, if count > 0 { edge } else { edge - 1 }];
            if at[0] >= all {
                return Ok(Deviation::End);
            }
            if self.all_agree(&slipped, &at)?
                || (inside
                    && (self.few_more(&slipped, at[0], at[1])? || self.all_agree(&slipped, &[edge, edge - 1])?))
            {
                return Ok(Deviation::Slip(count));
            }
        }
        if let Some(count) = self.over_the_edge(&region, sector, angle)? {
            return Ok(Deviation::Slip(count));
        }
        if self.bends(&region, sector, off)? {
            return Ok(Deviation::Bend(off.angle));
        }
        if self.goes_on(&region, sector)? {
            return Ok(Deviation::Elsewhere(self.elsewhere(&region, sector, angle)?));
        }
        Ok(Deviation::End)
    }

    /// Whether what follows a sector on its track is where it should be, if not at once; and is so still well into what is
    /// left of the track, but for slips: tracks of sectors wider or narrower cross those of the region somewhere.
    fn goes_on(&mut self, region: &MapRegion, sector: u64) -> Result<bool, BadInput> {
        let left = region.place(sector).left;
        let after = SOON_AGAIN.min(left.saturating_sub(2));
        let later = sector + after + (left - after.min(left)) / 2;
        if after < 2 || later <= sector + after {
            return Ok(false);
        }
        let off = self.off(region, later)?.and_then(Off::whole);
        let alike = off.is_some_and(|count| (0..=SMALL).contains(&count));
        Ok(alike && self.all_agree(region, &[sector + after, sector + after - 1])?)
    }

    /// Whether tracks that follow a slip in the middle of one have no more than a few slips besides.
    fn few_more(&mut self, slipped: &MapRegion, later: u64, sooner: u64) -> Result<bool, BadInput> {
        let mut least = 0;
        let mut places = Vec::new();
        for sector in [later, sooner] {
            let Some(off) = self.off(slipped, sector)? else { return Ok(false) };
            places.push(off.whole());
        }
        for count in places.into_iter().rev() {
            match count.filter(|count| (least..=SMALL).contains(count)) {
                Some(count) => least = count,
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Places passed over at the end of a track, so that a sector seen at an angle begins the next.
    fn over_the_edge(&mut self, region: &MapRegion, sector: u64, angle: f64) -> Result<Option<i64>, BadInput> {
        let before = region.slips.last().map_or(0, |(_, shift)| *shift);
        for count in region.place(sector).left as i64..=SMALL {
            let mut slipped = region.clone();
            slipped.slips.push((sector, before + count));
            if Off::new(&slipped, sector, angle).agrees() {
                let edge = slipped.next_track(sector);
                let whole = edge < self.eye.bench.sectors() && self.all_agree(&slipped, &[edge, edge - 1])?;
                return Ok(whole.then_some(count));
            }
        }
        Ok(None)
    }

    /// Whether a track that begins at a sector, off by so much, ends where it should, or some slips sooner. Of a pattern
    /// that does not repeat yet nothing is known of what should follow.
    fn bends(&mut self, region: &MapRegion, sector: u64, off: Off) -> Result<bool, BadInput> {
        let place = region.place(sector);
        let after = sector + place.left;
        if place.sector > 0 || region.levels.is_empty() || after >= self.eye.bench.sectors() {
            return Ok(false);
        }
        let pattern = region.pattern(sector);
        let begins = pattern.is_multiple_of(region.outermost().sectors);
        if begins && self.holds(&region.again(sector, place.angle + off.angle), sector)? {
            return Ok(false);
        }
        let mut bent = region.clone();
        let before = bent.bends.last().map_or(0.0, |(_, turned)| *turned);
        bent.bends.push((pattern, before + off.angle));
        let Some(last) = self.off(&bent, after - 1)? else { return Ok(false) };
        let Some(slipped) = last.whole().filter(|count| (0..=SMALL).contains(count)) else { return Ok(false) };
        // The next sector is on another track: no other way round, and no further on this one.
        let Some(seen) = self.eye.recall(after - slipped as u64, None)? else { return Ok(false) };
        let along = place.angle + off.angle + (place.left + 1) as f64 * place.width();
        Ok(signed_fraction(seen - along).abs() > HERE * place.width())
    }

    pub(super) fn all_agree(&mut self, region: &MapRegion, sectors: &[u64]) -> Result<bool, BadInput> {
        for sector in sectors {
            if !self.off(region, *sector)?.is_some_and(Off::agrees) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The sectors from one on that are not where the region has them.
    fn elsewhere(&mut self, region: &MapRegion, first: u64, angle: f64) -> Result<Vec<(u64, f64)>, BadInput> {
        let width = region.place(first).width();
        let mut found = vec![(first, fraction(angle - width))];
        for sector in first + 1..first + ELSEWHERE {
            match self.eye.recall(sector, None)? {
                Some(seen) if !Off::new(region, sector, seen).agrees() => found.push((sector, fraction(seen - width))),
                _ => break,
            }
        }
        Ok(found)
    }
}

/// Where to look between two sectors: where a track begins, if one does.
fn middle(region: &MapRegion, low: u64, high: u64) -> u64 {
    let half = low + (high - low) / 2;
    if high - low <= 2 * region.track && region.place(high).sector == 0 {
        return high - 1;
    }
    let start = region.track_start(half);
    if start > low {
        return start;
    }
    let next = region.next_track(half);
    if next < high { next } else { half }
}
