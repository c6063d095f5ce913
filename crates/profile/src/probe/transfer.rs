//! Transfers over more than one sector: whether they begin wherever the head lands, and whether crossing to the next
//! track takes longer than the skew allows for. By reads, or by writes where that is allowed.

use crate::estimate::{median, signed_fraction};
use crate::eye::Eye;
use crate::map::{TrackAddress, TrackGeometry};
use block::{BadInput, Device, Extent, Verb};

/// Completions within so many times the noise of their median, but of at least and at most these shares of a revolution, are at one angle; where a quarter of
/// them are not, the angle is not that of the track's end. The slower the bus, the less of a revolution they lie in: none, where it
/// takes a revolution for a track and nothing is gained by beginning anywhere.
const NOISES: f64 = 6.0;
const ALIKE: (f64, f64) = (0.01, 0.05);
/// Trials of each question.
const TRIALS: usize = 12;
/// Tracks drawn of which the shortest tells how long those are that are asked for, and at most until enough such are found.
const DRAWN: usize = 64;
const DRAWS: usize = 10_000;

/// How fast the head, the bus and the host transfer blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Transfer {
    /// Whether a read of a track begins wherever the head lands (zero-latency).
    pub on_arrival: bool,
    /// Revolutions lost in going on to the next head.
    pub lost_at_head: bool,
    /// Revolutions lost in going on to the next cylinder.
    pub lost_at_cylinder: bool,
}

/// Learns how reads go.
///
/// # Errors
/// As [`crate::bench::ProbeBench::read`].
pub fn learn<D: Device>(eye: &mut Eye<D>, geometry: &TrackGeometry) -> Result<Transfer, BadInput> {
    let mut anywhere = |eye: &mut Eye<D>| anywhere(eye, geometry);
    let on_arrival = on_arrival(eye, geometry, Verb::Read, &mut anywhere)?;
    let lost_at_head = match geometry.heads {
        1 => None,
        _ => loses_revolution(eye, geometry, Verb::Read, false, &mut anywhere)?,
    };
    let lost_at_cylinder = loses_revolution(eye, geometry, Verb::Read, true, &mut anywhere)?;
    Ok(Transfer {
        on_arrival: on_arrival.unwrap_or(false),
        lost_at_head: lost_at_head.unwrap_or(false),
        lost_at_cylinder: lost_at_cylinder.unwrap_or(false),
    })
}

/// Draws a track, as its region and number.
pub(super) type Draws<'p, 'b, 'd, D> = &'p mut dyn FnMut(&mut Eye<'b, 'd, D>) -> Option<(usize, u64)>;

/// Whether a transfer of a whole track may begin anywhere: the angle at which it completes then follows that at which the arm
/// arrives, if less where much is left for the bus to bring; else it is always that of the track's end, or as much later as a slow
/// bus takes for tracks of that length.
pub(super) fn on_arrival<'b, 'd, D: Device>(
    eye: &mut Eye<'b, 'd, D>,
    geometry: &TrackGeometry,
    verb: Verb,
    pick: Draws<'_, 'b, 'd, D>,
) -> Result<Option<bool>, BadInput> {
    let shift = eye.bench.shift;
    // Where tracks are short a bus may be fast enough that is too slow elsewhere.
    let drawn = (0..DRAWN).filter_map(|_| Some(geometry.map.regions[pick(eye)?.0].round));
    let Some(round) = drawn.min() else { return Ok(None) };
    let (mut angles, mut tried) = (Vec::new(), 0);
    for _ in 0..DRAWS {
        if tried >= TRIALS {
            break;
        }
        let Some((region, track)) = pick(eye) else { continue };
        let region = &geometry.map.regions[region];
        if region.round != round {
            continue;
        }
        let first = region.sector_at(region.track_pattern(track));
        let place = region.place(first);
        let left = place.left.min(u64::from(u32::MAX >> shift));
        // From all round the track after it, so that the arm arrives anywhere.
        let from = first + region.track + (tried as u64 * region.track) / TRIALS as u64;
        tried += 1;
        // Looked at, since a map may have it elsewhere.
        let Some(ends) = eye.angle(first + left - 1)? else { continue };
        if !eye.visit(from)? {
            continue;
        }
        let whole = Extent::new(first << shift, (left << shift) as u32);
        if verb.writes() && !eye.bench.may_write(whole) {
            continue;
        }
        let reply = eye.bench.command(verb, whole)?;
        if reply.done {
            angles.push(eye.clock.phase(reply.end) - ends);
        }
    }
    let first = angles.first().copied().unwrap_or(0.0);
    let offs: Vec<f64> = angles.iter().map(|angle| signed_fraction(angle - first)).collect();
    let (middle, within) = (median(&offs), (NOISES * eye.clock.noise).clamp(ALIKE.0, ALIKE.1));
    let alike = offs.iter().filter(|off| signed_fraction(**off - middle).abs() < within).count();
    Ok((angles.len() > TRIALS / 2).then_some(4 * alike < 3 * angles.len()))
}

/// Whether the first sector of a track, asked for with the last of the one before, comes a revolution later than skewed.
pub(super) fn loses_revolution<'b, 'd, D: Device>(
    eye: &mut Eye<'b, 'd, D>,
    geometry: &TrackGeometry,
    verb: Verb,
    cylinder: bool,
    pick: Draws<'_, 'b, 'd, D>,
) -> Result<Option<bool>, BadInput> {
    let shift = eye.bench.shift;
    let mut revolutions = Vec::new();
    for _ in 0..400 {
        if revolutions.len() >= TRIALS {
            break;
        }
        let Some((index, track)) = pick(eye) else { continue };
        let (here, next) = (geometry.address(index, track), geometry.address(index, track + 1));
        if (here.cylinder != next.cylinder) != cylinder {
            continue;
        }
        let region = &geometry.map.regions[index];
        let edge = region.next_track(region.sector_at(region.track_pattern(track)));
        if edge + 1 >= region.end() || region.place(edge).track != track + 1 {
            continue;
        }
        // From half a track before, so that the command is in time.
        if !eye.visit(edge - region.track / 2)? {
            continue;
        }
        let both = Extent::new((edge - 1) << shift, 2 << shift);
        if verb.writes() && !eye.bench.may_write(both) {
            continue;
        }
        let begun = eye.bench.now();
        let reply = eye.bench.command(verb, both)?;
        if !reply.done {
            continue;
        }
        let skew = crate::estimate::fraction(region.place(edge).angle - region.place(edge - 1).angle);
        let after = reply.end.since(begun).0 as f64 / eye.clock.period - skew;
        revolutions.push(after);
    }
    Ok((revolutions.len() > TRIALS / 3).then(|| median(&revolutions) > 1.0))
}

fn anywhere<D: Device>(eye: &mut Eye<D>, geometry: &TrackGeometry) -> Option<(usize, u64)> {
    let cylinders = geometry.all_cylinders().saturating_sub(1).max(1);
    let head = eye.bench.draw.below(geometry.heads);
    let address = TrackAddress { cylinder: eye.bench.draw.below(cylinders), head };
    geometry.track(address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platter::{Platter, with_eye};

    /// Reads of a disk all begin with their first sector; some of its tracks are not where the map has them.
    #[test]
    fn tracks_that_lie_elsewhere_do_not_pass_for_reads_that_begin_anywhere() {
        let mut platter = Platter::of_zones(2, &[(60, 200), (60, 200)]);
        let mut geometry = platter.geometry.clone();
        geometry.map.regions[1].angle += 0.045;
        let found = with_eye(&mut platter, |eye| learn(eye, &geometry)).expect("it answers");
        assert!(!found.on_arrival);
    }
}
