//! How well a drive is known: what a profile predicts of fresh random requests, and what was observed.

use crate::drift::{ELSEWHERE, off_by_chance};
use crate::estimate::{fraction, signed_fraction};
use crate::eye::Eye;
use crate::map::{SectorPlace, TrackGeometry};
use crate::probe::seek::SeekTimes;
use block::{BadInput, Device};

/// Requests asked, in two halves a pair.
const REQUESTS: usize = 500;

/// A difference of this share of a revolution or more is one of whole revolutions.
const LATE: f64 = 0.25;

/// Of so many requests a scheduler picks the one that it believes to come first, and asks for each so many spreads of a seek later than
/// it may be there at best.
const WAITING: usize = 20;
const MARGIN: f64 = 3.0;

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
    /// Share that came at the angle that the map has, but a revolution or more sooner than predicted.
    pub sooner: f64,
    /// By what share requests that a scheduler would pick take longer than predicted because they lie elsewhere than the map has them;
    /// nothing where it was not asked.
    pub lost: Option<f64>,
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
    let (mut pairs, mut strayed, mut sooner) = (Vec::with_capacity(REQUESTS), 0, 0);
    let mut last = eye.bench.draw.below(all);
    eye.visit(last)?;
    for _ in 0..REQUESTS {
        if eye.bench.is_out_of_time() {
            break;
        }
        let next = eye.bench.draw.below(all);
        if !eye.visit(last)? {
            last = next;
            continue;
        }
        if let Some(reply) = eye.bench.read(next)?
            && !eye.bench.is_hit(reply.response())
        {
            let phase = eye.clock.phase(reply.issued);
            let (predicted, observed) =
                (predict((geometry, moves, period), last, next, phase, 0.0), reply.response().as_ms());
            pairs.push((predicted, observed));
            let there = geometry.map.place(next);
            let off = angle_off(&there, eye.clock.phase(reply.end));
            strayed += usize::from(off > off_by_chance(&there, &eye.clock));
            sooner += usize::from(off < ELSEWHERE && predicted - observed > LATE * period);
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
    let (late, strayed, sooner) = (share(pairs.len() - on_time.len()), share(strayed), share(sooner));
    Ok(Validation { rms_ms: rms(&pairs), rms_on_time_ms: rms(&on_time), late, strayed, sooner, lost: None, pairs })
}

/// What a read of `next` after one of `last` takes in ms, of a platter at `phase`, where the arm has to be there so many ms before.
fn predict(
    (geometry, moves, period): (&TrackGeometry, &SeekTimes, f64),
    last: u64,
    next: u64,
    phase: f64,
    margin: f64,
) -> f64 {
    let (from, to, there) = (geometry.address_of(last), geometry.address_of(next), geometry.map.place(next));
    let reach = moves.reach(from.cylinder.abs_diff(to.cylinder), from.head != to.head);
    let begins = (reach + margin) / period;
    (begins + fraction(there.angle - phase - begins) + there.width()) * period
}

/// How far from where a sector should end, in revolutions, a read of it ended at `phase`.
fn angle_off(there: &SectorPlace, phase: f64) -> f64 {
    signed_fraction(phase - there.angle - there.width()).abs()
}

/// Asks for what a scheduler would pick: by what share that may take longer than predicted because it lies elsewhere. Nothing where
/// nothing could be asked.
///
/// # Errors
/// As [`crate::bench::ProbeBench::read`].
pub fn pick<D: Device>(eye: &mut Eye<D>, geometry: &TrackGeometry, moves: &SeekTimes) -> Result<Option<f64>, BadInput> {
    let period = eye.clock.period_ms();
    let all = eye.bench.sectors();
    let (mut predicted, mut lost, mut squares) = (0.0, 0.0, 0.0);
    for _ in 0..REQUESTS {
        if eye.bench.is_out_of_time() {
            break;
        }
        let last = eye.bench.draw.below(all);
        if !eye.visit(last)? {
            continue;
        }
        let phase = eye.clock.phase(eye.bench.now());
        let takes = |next| predict((geometry, moves, period), last, next, phase, MARGIN * moves.spread);
        let waiting = [(); WAITING].map(|()| eye.bench.draw.below(all));
        let (next, least) =
            waiting.map(|next| (next, takes(next))).into_iter().min_by(|a, b| a.1.total_cmp(&b.1)).expect("some wait");
        let Some(reply) = eye.bench.read(next)?.filter(|reply| !eye.bench.is_hit(reply.response())) else { continue };
        predicted += least;
        if angle_off(&geometry.map.place(next), eye.clock.phase(reply.end)) > ELSEWHERE {
            let longer = reply.response().as_ms() - least;
            (lost, squares) = (lost + longer, squares + longer * longer);
        }
    }
    // As much more as it may be by chance: a sum of few varies by the root of its squares.
    Ok((predicted > 0.0).then(|| (lost + libm::sqrt(squares)) / predicted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Thoroughness;
    use crate::platter::{Platter, with_eye};
    use crate::probe::seek;
    use block::Verb;

    /// A drive of which a fourth is turned by so much of a revolution against what is believed of it, and the belief, of which all moves
    /// take so many ms more than they do.
    fn believed(turned: f64, more_ms: f64) -> (Platter, TrackGeometry, SeekTimes) {
        let mut platter = Platter::of_zones(2, &[(60, 200), (20, 200)]);
        let geometry = platter.geometry.clone();
        let learned = with_eye(&mut platter, |eye| seek::learn(eye, &geometry, Verb::Read, Thoroughness::Quick));
        let mut moves = learned.expect("it answers");
        moves.overhead = moves.overhead.map(|ms| ms + more_ms);
        let reaches = moves.points.iter_mut().map(|point| &mut point.reach).chain(&mut moves.switch);
        reaches.for_each(|reach| reach.mean += more_ms);
        platter.geometry.map.regions[1].angle += turned;
        (platter, geometry, moves)
    }

    #[test]
    fn what_comes_at_another_angle_has_strayed() {
        for (turned, least, most) in [(0.0, 0.0, 0.001), (0.1, 0.2, 0.3)] {
            let (mut platter, geometry, moves) = believed(turned, 0.0);
            let found = with_eye(&mut platter, |eye| validate(eye, &geometry, &moves)).expect("it answers");
            assert!((least..most).contains(&found.strayed), "{turned}: {}", found.strayed);
            assert!(found.sooner < 0.001, "{turned}: {}", found.sooner);
        }
    }

    /// Where moves are believed to take half a revolution more than they do, half of all sectors come by before they are waited for.
    #[test]
    fn what_is_believed_to_be_missed_comes_sooner() {
        for (more_ms, least, most) in [(0.0, 0.0, 0.001), (3.0, 0.4, 0.6)] {
            let (mut platter, geometry, moves) = believed(0.0, more_ms);
            let found = with_eye(&mut platter, |eye| validate(eye, &geometry, &moves)).expect("it answers");
            assert!((least..most).contains(&found.sooner), "{more_ms}: {}", found.sooner);
            assert!(found.strayed < 0.001, "{more_ms}: {}", found.strayed);
        }
    }

    /// A fourth of what is picked comes later by a tenth of a revolution, which is a third of what it takes; what is wrong with moves
    /// alone, a scheduler learns.
    #[test]
    fn what_would_be_picked_is_lost_by_as_much_as_lies_elsewhere() {
        for (turned, more_ms, least, most) in [(0.0, 0.0, 0.0, 0.001), (0.0, -1.0, 0.0, 0.001), (0.1, 0.0, 0.05, 0.15)]
        {
            let (mut platter, geometry, moves) = believed(turned, more_ms);
            let lost = with_eye(&mut platter, |eye| pick(eye, &geometry, &moves)).expect("it answers");
            let lost = lost.expect("it was asked");
            assert!((least..most).contains(&lost), "{turned}, {more_ms}: {lost}");
        }
    }
}
