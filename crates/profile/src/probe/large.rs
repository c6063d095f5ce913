//! Large commands: where the firmware handles them badly they take longer than their blocks take to pass (Virtual IO,
//! Section 4.2), and the optimal range of chunks ends.

use crate::estimate::{fraction, median};
use crate::eye::Eye;
use crate::map::{MapRegion, TrackGeometry};
use crate::probe::chunk::sizes;
use block::{BadInput, Device, Extent, Verb};

/// Trials of each size.
const TRIALS: usize = 7;
/// Passing so much longer than it should, as a share, a command suffers.
const SUFFERS: f64 = 0.03;
/// Shorter passages, in revolutions, show too little.
const LEAST: f64 = 0.2;
/// What an angle may be off, and what may be lost of a revolution for it to be told from the next.
const UNSURE: f64 = 0.05;
const MOST: f64 = 0.9;

/// What large commands lose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LargeCommands {
    /// Blocks of the largest command that does not suffer.
    pub above: u32,
    /// Rate of a larger one, as a share of the medium's.
    pub share: f64,
}

/// Looks for the size above which commands suffer, between two sectors. Nothing if there is none, or if all do: then it is
/// the bus.
///
/// # Errors
/// As [`crate::bench::ProbeBench::read`].
pub fn learn<D: Device>(
    eye: &mut Eye<D>,
    geometry: &TrackGeometry,
    verb: Verb,
    (low, high): (u64, u64),
) -> Result<Option<LargeCommands>, BadInput> {
    let shift = eye.bench.shift;
    let overlap = |region: &&MapRegion| region.end().min(high).saturating_sub(region.first.max(low));
    let Some(region) = geometry.map.regions.iter().max_by_key(overlap) else { return Ok(None) };
    let (low, high) = (region.first.max(low), region.end().min(high));
    let suffers = |eye: &mut Eye<D>, blocks: u32| -> Result<Option<f64>, BadInput> {
        let sectors = u64::from(blocks >> shift);
        let mut longer = Vec::new();
        for _ in 0..TRIALS {
            if high < low + sectors + 2 {
                return Ok(None);
            }
            let start = low + eye.bench.draw.below(high - low - sectors - 1);
            longer.extend(trial(eye, verb, (region, start, sectors))?);
        }
        Ok((longer.len() > TRIALS / 2).then(|| median(&longer)))
    };
    let least = (LEAST * f64::from(region.round)) as u64;
    let (mut fine, mut bad) = (None, None);
    for size in sizes(1 << shift).into_iter().filter(|size| u64::from(size >> shift) >= least) {
        match suffers(eye, size)? {
            Some(longer) if longer > SUFFERS => {
                bad = Some((size, longer));
                break;
            }
            Some(_) => fine = Some(size),
            None => break,
        }
    }
    let (Some(mut fine), Some((mut bad, mut longer))) = (fine, bad) else { return Ok(None) };
    // Not one size alone.
    let twice = suffers(eye, 2 * bad)?;
    if twice.is_some_and(|longer| longer < SUFFERS) {
        return Ok(None);
    }
    longer = twice.unwrap_or(longer);
    let step = 1 << shift;
    while bad - fine > step {
        let middle = (fine + (bad - fine) / 2) / step * step;
        if suffers(eye, middle)?.is_some_and(|longer| longer > SUFFERS) { bad = middle } else { fine = middle }
    }
    Ok(Some(LargeCommands { above: fine, share: 1.0 / (1.0 + longer) }))
}

/// By what share a command takes longer than its blocks take to pass: the angle at which it completes tells, but for whole
/// revolutions, lost in crossings or in arriving late. Nothing if that cannot be told.
fn trial<D: Device>(
    eye: &mut Eye<D>,
    verb: Verb,
    (region, start, sectors): (&MapRegion, u64, u64),
) -> Result<Option<f64>, BadInput> {
    let shift = eye.bench.shift;
    let at = Extent::new(start << shift, (sectors << shift) as u32);
    let from = eye.bench.draw.below(eye.bench.mapped_sectors());
    if eye.angle(from)?.is_none() || (verb.writes() && !eye.bench.may_write(at)) {
        return Ok(None);
    }
    let reply = eye.bench.command(verb, at)?;
    let lag = if verb.writes() { eye.write_lag / eye.clock.period_ms() } else { 0.0 };
    let passes = passage(region, start, sectors);
    let longer = eye.clock.phase(reply.end) - lag - region.place(start).angle - passes;
    let longer = fraction(longer + UNSURE) - UNSURE;
    Ok((reply.done && longer < MOST).then_some(longer / passes))
}

/// What so many sectors from one on take to pass, revolutions.
fn passage(region: &MapRegion, start: u64, sectors: u64) -> f64 {
    let (mut at, end, mut passed) = (start, start + sectors, 0.0);
    while at < end {
        let place = region.place(at);
        let here = place.left.clamp(1, end - at);
        passed += here as f64 / f64::from(region.round);
        at += here;
        if at < end {
            let edge = fraction(place.angle + here as f64 / f64::from(region.round));
            passed += fraction(region.place(at).angle - edge);
        }
    }
    passed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platter::{Platter, with_eye};

    #[test]
    fn what_large_commands_lose_and_from_which_size_on_is_found_to_the_block() {
        for large in [None, Some((100, 0.2)), Some((256, 0.05)), Some((777, 0.1)), Some((1500, 0.06))] {
            let mut platter = Platter::of_zones(4, &[(400, 320)]);
            platter.large = large;
            let (geometry, all) = (platter.geometry.clone(), 400 * 4 * 320);
            let found = with_eye(&mut platter, |eye| learn(eye, &geometry, Verb::Read, (0, all)).expect("it is read"));
            match (found, large) {
                (None, None) => {}
                (Some(found), Some((above, longer))) => {
                    assert_eq!(found.above, above);
                    assert!((found.share - 1.0 / (1.0 + longer)).abs() < 0.005, "{found:?}, {longer}");
                }
                (found, large) => panic!("{found:?} for {large:?}"),
            }
        }
    }

    #[test]
    fn sectors_pass_in_as_long_as_they_and_the_gaps_between_them_take() {
        let platter = Platter::of_zones(3, &[(30, 200)]);
        let region = &platter.geometry.map.regions[0];
        let skew = fraction(region.turn);
        assert!((passage(region, 0, 50) - 0.25).abs() < 1e-9);
        assert!((passage(region, 0, 200) - 1.0).abs() < 1e-9, "what follows is no part of it");
        assert!((passage(region, 150, 100) - (0.5 + skew)).abs() < 1e-9);
        for (start, sectors) in [(0, 1), (199, 2), (10, 1000), (590, 30), (7, 601)] {
            let parts: f64 = (start..start + sectors)
                .map(|at| {
                    let next = fraction(region.place(at + 1).angle - region.place(at).angle);
                    if at + 1 < start + sectors { next } else { 1.0 / 200.0 }
                })
                .sum();
            assert!((passage(region, start, sectors) - parts).abs() < 1e-9, "{start}, {sectors}");
        }
    }
}
