//! Seeks that fail to settle at once: how many, and how much later they arrive. Sectors are asked for that come by well
//! after the arm should have arrived; what is missed all the same was late by more than that, and the moment after which
//! half as much is missed is how late they are.

use super::arm::catches;
use super::seek::{SeekTimes, apart};
use crate::eye::Eye;
use crate::map::TrackGeometry;
use block::{BadInput, Device, Verb};

/// Trials for the share, and for each step towards how much later.
pub const TRIALS: (usize, usize) = (1200, 160);
/// Steps towards how much later.
const STEPS: usize = 6;
/// A smaller share is stalls and mishaps.
const LEAST: f64 = 0.01;

/// A moment is well after the arm should have arrived: so many spreads, and a share of a revolution that a mean may be off.
const SPREADS: f64 = 3.0;
const MEAN_OFF: f64 = 0.03;
/// The latest a sector is asked for, in revolutions: what comes by later could be caught a revolution before.
const LATEST: f64 = 0.9;

/// Seeks that took longer than their time, as some drives' do now and then.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Late {
    /// Their share of all.
    pub share: f64,
    /// How much later they arrive, ms.
    pub by: f64,
}

/// Learns how many seeks are late, and by how much.
///
/// # Errors
/// As [`crate::bench::ProbeBench::read`].
pub fn learn<D: Device>(eye: &mut Eye<D>, geometry: &TrackGeometry, moves: &SeekTimes) -> Result<Late, BadInput> {
    let cylinders = geometry.all_cylinders();
    if cylinders < 16 || moves.points.is_empty() {
        return Ok(Late::default());
    }
    let period = eye.clock.period_ms();
    let rounds = geometry.map.regions.iter().map(|region| region.round).min();
    let width = period / f64::from(rounds.unwrap_or(1));
    // Past the spread, a sector that is read on, and what a mean may be off.
    let soonest = SPREADS * moves.spread + width + MEAN_OFF * period;
    let mut missed = |after: f64, trials: usize| -> Result<f64, BadInput> {
        let (mut missed, mut asked) = (0, 0);
        for _ in 0..trials {
            // Only over distances that were measured: between them the curve may be off.
            let point = moves.points[eye.bench.draw.below(moves.points.len() as u64) as usize];
            let wanted = point.reach.mean + after;
            let Some(way) = apart(eye, geometry, cylinders, (point.distance, 0)) else { continue };
            if let Some(catches) = catches(eye, Verb::Read, way, wanted)? {
                asked += 1;
                missed += usize::from(!catches);
            }
        }
        Ok(missed as f64 / f64::from(asked.max(1)))
    };
    let share = missed(soonest, TRIALS.0)?;
    if share < LEAST {
        return Ok(Late::default());
    }
    let (mut low, mut high) = (soonest, LATEST * period);
    for _ in 0..STEPS {
        let middle = f64::midpoint(low, high);
        if missed(middle, TRIALS.1)? > share / 2.0 { low = middle } else { high = middle }
    }
    Ok(Late { share, by: f64::midpoint(low, high) })
}
