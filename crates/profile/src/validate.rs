//! How well a drive is known: what a profile predicts of fresh random requests, and what was observed.

use crate::estimate::{fraction, signed_fraction};
use crate::eye::Eye;
use crate::map::TrackGeometry;
use crate::probe::seek::SeekTimes;
use block::{BadInput, Device};

/// Requests asked, in two halves a pair.
const REQUESTS: usize = 500;

/// A difference of this share of a revolution or more is one of whole revolutions.
const LATE: f64 = 0.25;
/// What comes at its angle is off by less than half a sector, and by what a completion is off by chance, in standard deviations.
const BY_CHANCE: f64 = 6.0;

/// Predicted against observed response times of single-block reads at random.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Validation {
    /// Predicted and observed, ms.
    pub pairs: Vec<(f64, f64)>,
    /// Root mean square of the differences, ms.
    pub rms_ms: f64,
    /// The same, of those within a quarter of a revolution.
    pub rms_on_time_ms: f64,
    /// Share that came a revolution or more off.
    pub late: f64,
    /// Share that came at another angle than the map has.
    pub strayed: f64,
}

/// Asks fresh random requests.
///
/// # Errors
/// As [`crate::bench::ProbeBench::read`].
pub fn validate<D: Device>(
    eye: &mut Eye<D>,
    geometry: &TrackGeometry,
    moves: &SeekTimes,
) -> Result<Validation, BadInput> {
    let period = eye.clock.period_ms();
    let all = eye.bench.sectors();
    let (mut pairs, mut strayed) = (Vec::with_capacity(REQUESTS), 0);
    let mut last = eye.bench.draw.below(all);
    eye.visit(last)?;
    for _ in 0..REQUESTS {
        let next = eye.bench.draw.below(all);
        if !eye.visit(last)? {
            last = next;
            continue;
        }
        let (from, to) = (geometry.address_of(last), geometry.address_of(next));
        let there = geometry.map.place(next);
        let begins = moves.reach(from.cylinder.abs_diff(to.cylinder), from.head != to.head) / period;
        if let Some(reply) = eye.bench.read(next)?
            && !eye.bench.is_hit(reply.response())
        {
            let wait = fraction(there.angle - eye.clock.phase(reply.issued) - begins);
            pairs.push(((begins + wait + there.width()) * period, reply.response().as_ms()));
            let off = signed_fraction(eye.clock.phase(reply.end) - there.angle - there.width()).abs();
            strayed += usize::from(off > 0.5 * there.width() + BY_CHANCE * eye.clock.noise);
        }
        // A place whose read is not in memory, to begin the next from.
        last = eye.bench.draw.below(all);
    }
    let rms = |pairs: &[(f64, f64)]| {
        let sum: f64 = pairs.iter().map(|(predicted, observed)| (predicted - observed) * (predicted - observed)).sum();
        libm::sqrt(sum / pairs.len().max(1) as f64)
    };
    let on_time: Vec<(f64, f64)> = pairs.iter().copied().filter(|(a, b)| (a - b).abs() < LATE * period).collect();
    let share = |count: usize| count as f64 / pairs.len().max(1) as f64;
    let (late, strayed) = (share(pairs.len() - on_time.len()), share(strayed));
    Ok(Validation { rms_ms: rms(&pairs), rms_on_time_ms: rms(&on_time), late, strayed, pairs })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platter::{Platter, with_eye};

    /// A fourth of a drive is turned by a tenth of a revolution against what its map has.
    #[test]
    fn what_comes_at_another_angle_has_strayed() {
        for (turned, least, most) in [(0.0, 0.0, 0.001), (0.1, 0.2, 0.3)] {
            let mut platter = Platter::of_zones(2, &[(60, 200), (20, 200)]);
            let geometry = platter.geometry.clone();
            platter.geometry.map.regions[1].angle += turned;
            let found = with_eye(&mut platter, |eye| validate(eye, &geometry, &SeekTimes::default()));
            let strayed = found.expect("it answers").strayed;
            assert!((least..most).contains(&strayed), "{turned}: {strayed}");
        }
    }
}
