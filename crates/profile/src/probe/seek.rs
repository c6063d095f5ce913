//! The seek curve and its spread, the head switch and the overhead of a command.
//!
//! A reach is the command's overhead and the move. That of a move of no distance is the overhead; what a reach over some
//! cylinders takes beyond that is the seek (SYSTEM.md, Section 3).

use super::arm::{ArmReach, PatternTrack, ReachTrials, TrialPath, common_spread, reach, spread_bounds};
use crate::Thoroughness;
use crate::curve::smooth;
use crate::estimate::round_ns;
use crate::eye::Eye;
use crate::map::{TrackAddress, TrackGeometry};
use block::{BadInput, Device, Span, Verb};

/// Distances measured for each doubling, and each of the first few.
const EACH: u32 = 3;
const FIRST: u64 = 8;
/// In short one is measured for each doubling, and then so many more where what lies around tells least of the curve: only points between
/// tell where it ceases to be a root and becomes a line.
const MORE: usize = 4;
/// Distances measured besides where the curve is uneven, at most; and by how much it must be, ms.
const BETWEEN: usize = 64;
const UNEVEN: f64 = 0.08;

/// A distance nearer to the longest than this share of it is left to that one.
const LONGEST: f64 = 0.97;
/// Distances are so many groups, near to far, whose spreads are compared.
const GROUPS: usize = 4;
/// The first read of a trial without a move comes by so long after the arm is there, in revolutions, that it does not wait.
const SOON: f64 = 1.0 / 30.0;
/// Reaches that spread by less need no help from the others, ms.
const STEADY: f64 = 0.02;
/// What a mean may be off by chance, in standard errors.
const BY_CHANCE: f64 = 4.0;
/// What a mean may be off where nothing varies, ms.
const MEAN_OFF: f64 = 0.01;

/// A distance in cylinders and what it takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeekPoint {
    /// The distance in cylinders.
    pub distance: u64,
    /// The time it takes, ms.
    pub reach: ArmReach,
}

/// What the arm takes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeekTimes {
    /// Overhead of a command with no move before it, ms; nothing if it could not be measured.
    pub overhead: Option<f64>,
    /// What that may be off, in 95 of 100 cases, ms.
    pub overhead_within: f64,
    /// Reach of a head switch, ms.
    pub switch: Option<ArmReach>,
    /// Reaches of seeks, ascending.
    pub points: Vec<SeekPoint>,
    /// The spread of seeks, ms.
    pub spread: f64,
    /// By how much moves spread more than farther ones, at least, ms: those over one distance that are really over several.
    pub uneven: f64,
}

/// The distances a curve is measured at: each of the first few, then some for each doubling, and the longest.
fn distances(most: u64) -> Vec<u64> {
    let mut all: Vec<u64> = (1..=FIRST.min(most)).collect();
    let (mut next, step) = (FIRST as f64, libm::pow(2.0, 1.0 / f64::from(EACH)));
    loop {
        next *= step;
        if next >= most as f64 * LONGEST {
            break;
        }
        all.push(next as u64);
    }
    all.push(most);
    all.dedup();
    all
}

/// Fewer of them: one for each doubling, and the longest.
fn few_distances(most: u64) -> Vec<u64> {
    let doubled = std::iter::successors(Some(1u64), |distance| Some(distance * 2));
    let mut all: Vec<u64> = doubled.take_while(|distance| (*distance as f64) < most as f64 * LONGEST).collect();
    all.push(most);
    all.dedup();
    all
}

/// Measures moves by reads, or by writes inside what may be written.
///
/// # Errors
/// As [`crate::bench::ProbeBench::read`].
pub fn learn<D: Device>(
    eye: &mut Eye<D>,
    geometry: &TrackGeometry,
    verb: Verb,
    effort: Thoroughness,
) -> Result<SeekTimes, BadInput> {
    let cylinders = geometry.all_cylinders();
    let mut moves = SeekTimes::default();
    if cylinders < 3 {
        return Ok(moves);
    }
    eye.reads_on = reads_ahead(eye)?;
    let enough = effort.enough();
    let near = if geometry.heads > 1 { over(eye, geometry, verb, (0, 1), enough)? } else { None };
    moves.switch = near.map(|found| found.reach);
    let still = reach(eye, verb, enough, |eye| {
        let near = apart(eye, geometry, cylinders, (0, 1));
        let TrialPath { from, to, .. } = near.or_else(|| apart(eye, geometry, cylinders, (0, 0)))?;
        let soon = moves.switch.map(|near| (from, near.mean + SOON * eye.clock.period_ms()));
        Some(TrialPath { via: soon, ..TrialPath::new(to, to) })
    })?;
    moves.overhead_within = still.as_ref().map_or(0.0, |found| found.reach.within);
    moves.overhead = still.map(|found| found.reach.mean);
    let found = curve(eye, geometry, verb, effort)?;
    moves.points = found.iter().map(|(distance, one)| SeekPoint { distance: *distance, reach: one.reach }).collect();
    let found: Vec<ReachTrials> = found.into_iter().map(|(_, one)| one).collect();
    moves.spread = common_spread(&found);
    moves.uneven = spread_more(&found);
    // What hardly spreads needs no help from the others.
    for (point, found) in moves.points.iter_mut().zip(&found).filter(|_| moves.spread > STEADY) {
        point.reach.mean += found.spread_by(moves.spread).mean - found.reach.mean;
    }
    Ok(moves)
}

/// By how much moves spread more than some that are farther, at least, ms. An arm does no worse over a short way than over a long one;
/// but a track that is not where it was found to be is some cylinders off, and these take the longer the fewer there are.
fn spread_more(found: &[ReachTrials]) -> f64 {
    let bounds: Vec<(f64, f64)> = found.chunks(found.len().div_ceil(GROUPS).max(1)).filter_map(spread_bounds).collect();
    let farther = |i: usize| bounds[i + 1..].iter().map(|(_, most)| *most).fold(f64::MAX, f64::min);
    (0..bounds.len()).map(|i| bounds[i].0 - farther(i)).fold(0.0, f64::max)
}

/// The reaches over distances, ascending, more of them where they are uneven.
fn curve<D: Device>(
    eye: &mut Eye<D>,
    geometry: &TrackGeometry,
    verb: Verb,
    effort: Thoroughness,
) -> Result<Vec<(u64, ReachTrials)>, BadInput> {
    let cylinders = geometry.all_cylinders();
    // Not quite from end to end: there are too few such pairs.
    let most = (cylinders - 2).min(cylinders - cylinders / 64);
    let (distances, between) = match effort {
        Thoroughness::Quick => (few_distances(most), MORE),
        Thoroughness::Thorough => (distances(most), BETWEEN),
    };
    let mut found = Vec::new();
    for distance in distances {
        found.extend(over(eye, geometry, verb, (distance, 0), effort.enough())?.map(|one| (distance, one)));
    }
    for _ in 0..between {
        let next = match effort {
            Thoroughness::Quick => least_told(&found.iter().map(|(far, one)| (*far, one.reach)).collect::<Vec<_>>()),
            Thoroughness::Thorough => uneven(&found),
        };
        let Some((at, distance)) = next else { break };
        let Some(one) = over(eye, geometry, verb, (distance, 0), effort.enough())? else { break };
        found.insert(at, (distance, one));
    }
    Ok(found)
}

/// The reach over so many cylinders and heads, as well as is `enough`.
fn over<D: Device>(
    eye: &mut Eye<D>,
    geometry: &TrackGeometry,
    verb: Verb,
    way: (u64, u64),
    enough: f64,
) -> Result<Option<ReachTrials>, BadInput> {
    let cylinders = geometry.all_cylinders();
    reach(eye, verb, enough, |eye| apart(eye, geometry, cylinders, way))
}

/// The distance to be measured next, and its place: between two of which those around tell least, by how far each is from the curve
/// through the others, beyond chance; where all are as those around tell, between the two that are farthest apart.
fn least_told(found: &[(u64, ArmReach)]) -> Option<(usize, u64)> {
    let point = |(far, reach): &(u64, ArmReach)| (*far as u32, reach.mean);
    let off = |i: usize| {
        if i == 0 || i + 1 == found.len() {
            return 0.0;
        }
        let others: Vec<(u32, f64)> = found[..i].iter().chain(&found[i + 1..]).map(point).collect();
        let (far, mean) = point(&found[i]);
        ((disk::SeekCurve::Table(smooth(&others)).ms(far) - mean).abs() - found[i].1.within).max(0.0)
    };
    let offs: Vec<f64> = (0..found.len()).map(off).collect();
    let ends = |at: usize| (found[at - 1].0, found[at].0);
    let wide = |at: usize| libm::log(ends(at).1 as f64 / ends(at).0 as f64);
    let worth = |at: usize| ((offs[at - 1] + offs[at]) * wide(at), ends(at).1 - ends(at).0);
    let split = (1..found.len()).filter(|at| ends(*at).1 - ends(*at).0 > 1);
    let at = split.max_by(|a, b| {
        let (a, b) = (worth(*a), worth(*b));
        a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
    })?;
    Some((at, middle(ends(at))))
}

/// The middle between two distances on a scale of doublings, neither of the two.
fn middle((near, far): (u64, u64)) -> u64 {
    let middle = libm::round(libm::sqrt(near as f64 * far as f64)) as u64;
    middle.clamp(near + 1, far - 1)
}

/// The distance to be measured next, and its place: between two where the curve turns most from the line through those
/// around, on a scale of doublings; nothing if it is even.
fn uneven(found: &[(u64, ReachTrials)]) -> Option<(usize, u64)> {
    let log = |i: usize| libm::log(found[i].0 as f64);
    let mean = |i: usize| found[i].1.reach.mean;
    let mut most: Option<(f64, usize)> = None;
    for i in 1..found.len().saturating_sub(1) {
        let share = (log(i) - log(i - 1)) / (log(i + 1) - log(i - 1));
        let off = (mean(i) - mean(i - 1) - share * (mean(i + 1) - mean(i - 1))).abs();
        let chance = BY_CHANCE * found[i].1.reach.spread / libm::sqrt(found[i].1.reach.trials as f64);
        for at in [i, i + 1] {
            let weight = off * (log(at) - log(at - 1));
            let split = found[at].0 - found[at - 1].0 > 1;
            if split && off > UNEVEN + chance && most.is_none_or(|(before, _)| weight > before) {
                most = Some((weight, at));
            }
        }
    }
    let (_, at) = most?;
    Some((at, middle((found[at - 1].0, found[at].0))))
}

/// Whether the device reads on after a read: as most of five say.
pub(super) fn reads_ahead<D: Device>(eye: &mut Eye<D>) -> Result<bool, BadInput> {
    let mut found = 0;
    for _ in 0..5 {
        let sector = eye.bench.draw.below(eye.bench.mapped_sectors() - 1);
        if eye.bench.read_medium(sector)?.is_some() {
            eye.bench.idle(Span(eye.clock.period as u64));
            let next = eye.bench.read(sector + 1)?;
            found += u32::from(next.is_some_and(|reply| eye.bench.is_hit(reply.response())));
        }
    }
    Ok(found >= 3)
}

/// Two tracks so many cylinders and heads apart, either way, anywhere; nothing where there seem to be none.
pub(super) fn apart<'g, D: Device>(
    eye: &mut Eye<D>,
    geometry: &'g TrackGeometry,
    cylinders: u64,
    (distance, heads): (u64, u64),
) -> Option<TrialPath<'g>> {
    let track = |(region, number): (usize, u64)| PatternTrack { region: &geometry.map.regions[region], number };
    for _ in 0..10_000 {
        let low = eye.bench.draw.below(cylinders - distance);
        let head = eye.bench.draw.below(geometry.heads);
        let other = (head + heads) % geometry.heads;
        let (a, b) = (TrackAddress { cylinder: low, head }, TrackAddress { cylinder: low + distance, head: other });
        let (from, to) = if eye.bench.draw.below(2) == 0 { (a, b) } else { (b, a) };
        if let (Some(from), Some(to)) = (geometry.track(from), geometry.track(to)) {
            return Some(TrialPath::new(track(from), track(to)));
        }
    }
    None
}

impl SeekTimes {
    /// The overhead, or what stands for it where it could not be measured: the shortest reach.
    #[must_use]
    pub fn overhead(&self) -> f64 {
        let shortest = self
            .points
            .iter()
            .chain(&self.switch.map(|reach| SeekPoint { distance: 0, reach }).into_iter().collect::<Vec<_>>())
            .map(|point| point.reach.mean)
            .fold(f64::MAX, f64::min);
        self.overhead.unwrap_or(if shortest == f64::MAX { 0.0 } else { shortest }).max(0.0)
    }

    /// Seek times by distance: cylinders and ms; shorter for a longer way only where the spread does not explain it.
    #[must_use]
    pub fn curve(&self) -> Vec<(u32, f64)> {
        let overhead = self.overhead();
        let chance = MEAN_OFF + self.spread / 2.0;
        // Means of neighbours that are out of order by chance, and how many each stands for.
        let mut pools: Vec<(f64, usize)> = Vec::new();
        for point in &self.points {
            let mut last = ((point.reach.mean - overhead).max(0.0), 1);
            while let Some(before) = pools.pop_if(|before| before.0 > last.0 && before.0 - last.0 < chance) {
                let count = before.1 + last.1;
                last = ((before.0 * before.1 as f64 + last.0 * last.1 as f64) / count as f64, count);
            }
            pools.push(last);
        }
        let seeks = pools.iter().flat_map(|(mean, count)| std::iter::repeat_n(round_ns(*mean), *count));
        self.points.iter().map(|point| point.distance as u32).zip(seeks).collect()
    }

    /// The seek over so many cylinders, ms.
    #[must_use]
    pub fn seek(&self, distance: u64) -> f64 {
        disk::SeekCurve::Table(smooth(&self.curve())).ms(distance as u32)
    }

    /// The reach over so many cylinders, ms.
    #[must_use]
    pub fn reach(&self, distance: u64, heads_differ: bool) -> f64 {
        let overhead = self.overhead();
        let switch = self.switch.filter(|_| heads_differ).map_or(0.0, |switch| switch.mean - overhead);
        overhead + self.seek(distance).max(switch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platter::{Platter, with_eye};

    /// What is learned of a platter's moves by a belief of where its tracks lie.
    fn learned(platter: &mut Platter, geometry: &TrackGeometry) -> SeekTimes {
        with_eye(platter, |eye| learn(eye, geometry, Verb::Read, Thoroughness::Thorough)).expect("it answers")
    }

    #[test]
    fn near_moves_spread_where_tracks_lie_on_other_cylinders_than_is_believed() {
        for (really, least, most) in [(0, 0.0, 0.001), (20, 0.01, 1.0)] {
            let mut platter = Platter::of_zones(2, &[(10, 200); 60]);
            let believed = platter.geometry.clone();
            platter.geometry.cylinders.iter_mut().skip(1).step_by(2).for_each(|base| *base += really);
            let moves = learned(&mut platter, &believed);
            assert!((least..most).contains(&moves.uneven), "{really}: {} of {}", moves.uneven, moves.spread);
        }
    }

    /// Sectors come by every tenth of a millisecond, and a tenth of that is known after a few trials.
    #[test]
    fn in_short_moves_are_known_to_a_small_share_of_what_a_sector_takes() {
        let mut platter = Platter::of_zones(2, &[(300, 60)]);
        let geometry = platter.geometry.clone();
        let moves = with_eye(&mut platter, |eye| learn(eye, &geometry, Verb::Read, Thoroughness::Quick));
        let points = moves.expect("it answers").points;
        let off = |point: &SeekPoint| point.reach.mean - platter.move_ns((0, 0), (point.distance, 0)) / 1e6;
        let worst = points.iter().map(|point| off(point).abs()).fold(0.0, f64::max);
        assert!(worst < 0.01 && points.iter().all(|point| point.reach.trials <= 24), "{worst}: {points:?}");
    }

    #[test]
    fn distances_over_which_no_two_tracks_lie_are_not_measured() {
        let mut platter = Platter::of_zones(2, &[(20, 200), (20, 180)]);
        platter.geometry.cylinders[1] += 960;
        let geometry = platter.geometry.clone();
        let moves = learned(&mut platter, &geometry);
        let apart: Vec<u64> = moves.points.iter().map(|point| point.distance).collect();
        assert!(apart.iter().all(|distance| *distance < 20 || *distance > 960), "{apart:?}");
        assert!(apart.contains(&16) && moves.points.iter().all(|point| point.reach.mean > 1.0), "{:?}", moves.points);
    }

    #[test]
    fn distances_leave_no_gap_wider_than_their_share_of_a_doubling() {
        for most in (1..40).chain([63, 64, 1000, 15_110, 400_000]) {
            for (all, each, first) in [(distances(most), EACH, FIRST), (few_distances(most), 1, 2)] {
                assert_eq!((all.first(), all.last()), (Some(&1), Some(&most)), "{all:?}");
                let step = libm::pow(2.0, 1.0 / f64::from(each));
                for pair in all.windows(2) {
                    let widest = (pair[0] as f64 + 1.0) * step;
                    let last = if pair[1] == most { widest / LONGEST } else { widest };
                    assert!(
                        pair[0] < pair[1] && (pair[1] as f64) <= last.max(pair[0] as f64 + 1.0),
                        "{pair:?} of {most}"
                    );
                }
                assert!(all.iter().filter(|distance| **distance <= first).count() as u64 == first.min(most));
            }
        }
    }

    /// Of curves that are a root up to a knee and then a line: what is measured where points tell least leaves less between than what
    /// is measured between the farthest.
    #[test]
    fn in_short_more_distances_lie_where_a_curve_ceases_to_be_a_root() {
        let mut draw = crate::draw::ProbeDraw::new(1);
        let (mut even, mut chosen) = (0.0, 0.0);
        for _ in 0..100 {
            let (most, there) = (10_000 + draw.below(100_000), 2.0 + 4.0 * draw.unit());
            let knee = (most as f64 * (0.1 + 0.3 * draw.unit())) as u32;
            let e = (1.0 + 4.0 * draw.unit()) / most as f64;
            let b = there / libm::sqrt(f64::from(knee));
            let law =
                disk::SeekCurve::TwoPiece { first: vec![], a: 1.0, b, knee, c: 1.0 + there - e * f64::from(knee), e };
            let reach = |far: u64| ArmReach { mean: law.ms(far as u32), within: 0.005, ..ArmReach::default() };
            let off = |found: &[(u64, ArmReach)]| {
                let points: Vec<(u32, f64)> = found.iter().map(|(far, reach)| (*far as u32, reach.mean)).collect();
                let curve = disk::SeekCurve::Table(smooth(&points));
                (1..200).map(|i| (most * i / 200) as u32).map(|far| (curve.ms(far) - law.ms(far)).abs()).sum::<f64>()
            };
            let mut found: Vec<(u64, ArmReach)> =
                few_distances(most).into_iter().map(|far| (far, reach(far))).collect();
            let longest = found[found.len() - MORE - 1..].to_vec();
            let mut evenly = found.clone();
            evenly.extend(longest.windows(2).map(|ends| middle((ends[0].0, ends[1].0))).map(|far| (far, reach(far))));
            evenly.sort_by_key(|(far, _)| *far);
            for _ in 0..MORE {
                let (at, far) = least_told(&found).expect("there is room between");
                found.insert(at, (far, reach(far)));
            }
            assert!(found.is_sorted_by(|a, b| a.0 < b.0) && found.len() == evenly.len(), "{found:?}");
            (even, chosen) = (even + off(&evenly), chosen + off(&found));
        }
        assert!(chosen < 0.6 * even, "{chosen} {even}");
    }

    #[test]
    fn no_distance_is_measured_next_where_none_lies_between() {
        let reach = ArmReach { mean: 1.0, within: 0.1, ..ArmReach::default() };
        let of = |all: &[u64]| least_told(&all.iter().map(|far| (*far, reach)).collect::<Vec<_>>());
        assert_eq!((of(&[]), of(&[1]), of(&[1, 2, 3])), (None, None, None));
        assert_eq!((of(&[1, 2, 4]), of(&[1, 2, 4, 100])), (Some((2, 3)), Some((3, 20))));
    }
}
