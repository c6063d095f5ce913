//! Cylinders that hold no data, between one region and the next: spares and defects nobody can read. The arm knows them:
//! to cross a border takes as long as the seek over all the cylinders there are.

use super::arm::{PatternTrack, TrialPath, reach};
use super::seek::SeekTimes;
use crate::Thoroughness;
use crate::eye::Eye;
use crate::map::{Arrangement, TrackAddress, TrackGeometry};
use block::{BadInput, Device, Verb};

/// Borders crossed, at most.
const MOST: usize = 96;
/// Cylinders to either side of a border that are used, at most.
const NEAR: u64 = 3;
/// What a reach may differ from the curve: so many standard errors, a share of a sector, and ms.
const BY_CHANCE: f64 = 6.0;
const SECTOR_OFF: f64 = 0.15;
const CURVE_OFF: f64 = 0.01;
/// Cylinders without data, at most.
const HIDDEN: u64 = 256;

/// Moves the cylinders of regions on by what the arm finds between them; gives how many that were.
///
/// # Errors
/// As [`crate::bench::ProbeBench::read`].
pub fn learn<D: Device>(
    eye: &mut Eye<D>,
    geometry: &mut TrackGeometry,
    moves: &SeekTimes,
    effort: Thoroughness,
) -> Result<u64, BadInput> {
    let borders = geometry.map.regions.len().saturating_sub(1);
    if geometry.arrangement != Arrangement::Heads || borders > MOST || moves.points.len() < 3 {
        return Ok(0);
    }
    let mut hidden = Vec::with_capacity(borders);
    let until = eye.bench.now() + effort.borders_time();
    for border in 0..borders {
        if eye.bench.now() >= until || eye.bench.is_out_of_time() {
            break;
        }
        // Twice, before it is believed.
        let found = across(eye, geometry, moves, border, effort)?;
        let again = if found > 0 { across(eye, geometry, moves, border, effort)? } else { 0 };
        hidden.push(found.min(again));
    }
    let mut before = 0;
    for (cylinder, hidden) in geometry.cylinders[1..].iter_mut().zip(hidden.into_iter().chain(std::iter::repeat(0))) {
        before += hidden;
        *cylinder += before;
    }
    Ok(before)
}

/// The two tracks nearest a border that are on one head, and how far apart they seem.
fn nearest(geometry: &TrackGeometry, border: usize) -> Option<((u64, u64), u64)> {
    let [before, after] = &geometry.map.regions[border..border + 2] else { return None };
    let last = geometry.address(border, before.last_track()).cylinder;
    let first = geometry.address(border + 1, after.place(after.first).track).cylinder;
    let at = |cylinder, head| geometry.track(TrackAddress { cylinder, head });
    (0..NEAR * NEAR * geometry.heads).find_map(|i| {
        let (step, head) = (i / geometry.heads, i % geometry.heads);
        let (low, high) = (last.checked_sub(step / NEAR)?, first + step % NEAR);
        let (from, to) = (at(low, head)?, at(high, head)?);
        (from.0 == border && to.0 == border + 1 && high > low).then_some(((from.1, to.1), high - low))
    })
}

/// Cylinders that cannot be seen at a border.
fn across<D: Device>(
    eye: &mut Eye<D>,
    geometry: &TrackGeometry,
    moves: &SeekTimes,
    border: usize,
    effort: Thoroughness,
) -> Result<u64, BadInput> {
    let Some(((from, to), distance)) = nearest(geometry, border) else { return Ok(0) };
    let [before, after] = [border, border + 1].map(|index| &geometry.map.regions[index]);
    let ends = [PatternTrack { region: before, number: from }, PatternTrack { region: after, number: to }];
    let found = reach(eye, Verb::Read, effort.enough(), |eye| match eye.bench.draw.below(2) {
        0 => Some(TrialPath::new(ends[0], ends[1])),
        _ => Some(TrialPath::new(ends[1], ends[0])),
    })?;
    let Some(found) = found else { return Ok(0) };
    let width = 0.5 * (1.0 / f64::from(before.round) + 1.0 / f64::from(after.round));
    let sector = width * eye.clock.period_ms();
    let mean = found.reach.mean;
    let error = BY_CHANCE * moves.spread / libm::sqrt(found.reach.trials as f64) + SECTOR_OFF * sector + CURVE_OFF;
    let curve = |distance: u64| moves.reach(distance, false);
    if (mean - curve(distance)).abs() < error {
        return Ok(0);
    }
    let off = |hidden: &u64| (mean - curve(distance + hidden)).abs();
    Ok((0..=HIDDEN).min_by(|a, b| off(a).total_cmp(&off(b))).filter(|hidden| off(hidden) < error).unwrap_or(0))
}
