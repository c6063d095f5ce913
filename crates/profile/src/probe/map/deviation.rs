//! The first sector that is not where its region has it, and what that means.

use super::{ELSEWHERE, SLIPPED, SMALL, Survey};
use crate::estimate::{fraction, signed};
use crate::map::Region;
use block::{BadInput, Device};

/// What a sector is that is not where it was predicted.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Deviation {
    /// These lie elsewhere, at these angles; what follows does not.
    Elsewhere(Vec<(u64, f64)>),
    /// So many places are passed over (taken back, if negative), and all goes on as before.
    Slip(i64),
    /// The region ends here.
    End,
}

/// How far a sector seen at an angle is from where a region has it, revolutions.
pub(super) fn off(region: &Region, sector: u64, angle: f64) -> f64 {
    signed(angle - 1.0 / f64::from(region.round) - region.place(sector).angle)
}

impl<D: Device> Survey<'_, '_, '_, D> {
    /// The first sector after `known` that is not where the region under way has it, and its angle; `target` is not.
    pub(super) fn first_deviation(&mut self, known: u64, target: u64) -> Result<(u64, f64), BadInput> {
        let region = self.current();
        let (mut low, mut high) = (known, target);
        let mut angle = None;
        for _ in 0..4 {
            while high - low > 1 {
                let middle = middle(&region, low, high);
                match self.eye.angle(middle)? {
                    Some(seen) if !self.agrees(&region, off(&region, middle, seen)) => {
                        (high, angle) = (middle, Some(seen));
                    }
                    _ => low = middle,
                }
            }
            // What agreed by chance is given away by its neighbours.
            let witness = high.saturating_sub(2 + region.track / 3 + region.track);
            if witness <= known || self.off(&region, witness)?.is_none_or(|(_, agrees)| agrees) {
                break;
            }
            (low, high, angle) = (known, witness, None);
        }
        let angle = match angle {
            Some(angle) => angle,
            None => self.seen(high)?,
        };
        Ok((high, angle))
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
        let places = off(&region, sector, angle) * f64::from(region.round);
        let count = if places < 0.0 { (places - 0.5) as i64 } else { (places + 0.5) as i64 };
        if count != 0 && count.abs() <= SLIPPED && (places - count as f64).abs() < 0.35 {
            let skew = signed(region.turn).abs() * f64::from(region.round);
            let inside = region.place(sector).sector > 0 && (1..=SMALL).contains(&count) && (count as f64) < skew / 2.0;
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
            if self.all_agree(&slipped, &at)? || (inside && self.few_more(&slipped, at[0], at[1])?) {
                return Ok(Deviation::Slip(count));
            }
        }
        Ok(Deviation::End)
    }

    /// Whether tracks that follow a slip in the middle of one have no more than a few slips besides.
    fn few_more(&mut self, slipped: &Region, later: u64, sooner: u64) -> Result<bool, BadInput> {
        let mut least = 0;
        let mut places = Vec::new();
        for sector in [later, sooner] {
            let Some((off, _)) = self.off(slipped, sector)? else { return Ok(false) };
            places.push(off * f64::from(slipped.round));
        }
        for places in places.into_iter().rev() {
            let count = (places + 0.5) as i64;
            if places < -0.35 || (places - count as f64).abs() > 0.35 || !(least..=SMALL).contains(&count) {
                return Ok(false);
            }
            least = count;
        }
        Ok(true)
    }

    fn all_agree(&mut self, region: &Region, sectors: &[u64]) -> Result<bool, BadInput> {
        for sector in sectors {
            if self.off(region, *sector)?.is_none_or(|(_, agrees)| !agrees) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The sectors from one on that are not where the region has them.
    fn elsewhere(&mut self, region: &Region, first: u64, angle: f64) -> Result<Vec<(u64, f64)>, BadInput> {
        let width = 1.0 / f64::from(region.round);
        let mut found = vec![(first, fraction(angle - width))];
        for sector in first + 1..first + ELSEWHERE {
            match self.eye.angle(sector)? {
                Some(seen) if !self.agrees(region, off(region, sector, seen)) => {
                    found.push((sector, fraction(seen - width)));
                }
                _ => break,
            }
        }
        Ok(found)
    }
}

/// Where to look between two sectors: where a track begins, if one does.
fn middle(region: &Region, low: u64, high: u64) -> u64 {
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
