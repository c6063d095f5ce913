//! The seek curve and its spread, the head switch and the overhead of a command.
//!
//! A reach is the command's overhead, the move and one sector passing. What is left of a move of no distance is the
//! overhead; what a reach over some cylinders takes beyond that is the seek (SYSTEM.md, Section 3).

use super::arm::{Reach, Track, Way, common_spread, reach};
use crate::Effort;
use crate::eye::Eye;
use crate::map::{Address, Geometry};
use block::{BadInput, Device, Span, Verb};

/// Distances measured for each doubling, and each of the first few.
const EACH: u32 = 3;
const FIRST: u64 = 8;

/// A distance in cylinders and what it takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Cylinders.
    pub distance: u64,
    /// The reach, without the sector's passing, ms.
    pub reach: Reach,
}

/// What the arm takes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Moves {
    /// Overhead of a command with no move before it, ms; nothing if it could not be measured.
    pub overhead: Option<f64>,
    /// Reach of a head switch, ms.
    pub switch: Option<Reach>,
    /// Reaches of seeks, ascending.
    pub points: Vec<Point>,
    /// The spread of seeks, ms.
    pub spread: f64,
}

/// The distances a curve is measured at: each of the first few, then some for each doubling, and the longest.
fn distances(most: u64, each: u32) -> Vec<u64> {
    let mut all: Vec<u64> = (1..=FIRST.min(most)).collect();
    let (mut next, step) = (FIRST as f64, libm::pow(2.0, 1.0 / f64::from(each)));
    loop {
        next *= step;
        if next >= most as f64 * 0.97 {
            break;
        }
        all.push(next as u64);
    }
    all.push(most);
    all.dedup();
    all
}

/// Measures moves by reads, or by writes inside what may be written.
///
/// # Errors
/// As [`crate::bench::Bench::read`].
pub fn learn<D: Device>(eye: &mut Eye<D>, geometry: &Geometry, verb: Verb, effort: Effort) -> Result<Moves, BadInput> {
    let cylinders = geometry.all_cylinders();
    let mut moves = Moves::default();
    if cylinders < 3 {
        return Ok(moves);
    }
    let each = if effort == Effort::Quick { EACH / 2 } else { EACH };
    let stop = if reads_ahead(eye)? { 0.5 } else { 0.0 };
    let mut found = Vec::new();
    // Not quite from end to end: there are too few such pairs.
    for distance in distances((cylinders - 2).min(cylinders - cylinders / 64), each) {
        let Some(one) = reach(eye, verb, |eye| apart(eye, geometry, cylinders, (distance, 0)))? else { continue };
        moves.points.push(Point { distance, reach: passing(geometry, eye, one.reach, 1.0 + stop) });
        found.push(one);
    }
    moves.spread = common_spread(&found);
    let mut near = None;
    if geometry.heads > 1 {
        let found = reach(eye, verb, |eye| apart(eye, geometry, cylinders, (0, 1)))?;
        near = found.as_ref().map(|found| found.reach);
        moves.switch = found.map(|found| passing(geometry, eye, found.reach, 1.0 + stop));
    }
    let still = reach(eye, verb, |eye| {
        let Way { from, to, .. } = apart(eye, geometry, cylinders, (0, 1));
        let soon = near.map(|near| (from, near.mean + eye.clock.period / 3e7));
        Way { via: soon, from: to, to }
    })?;
    moves.overhead = still.map(|found| passing(geometry, eye, found.reach, 1.0).mean);
    Ok(moves)
}

/// Whether the device reads on after a read: as most of five say.
fn reads_ahead<D: Device>(eye: &mut Eye<D>) -> Result<bool, BadInput> {
    let mut found = 0;
    for _ in 0..5 {
        let sector = eye.bench.draw.below(eye.bench.sectors() - 1);
        if eye.bench.read_medium(sector)?.is_some() {
            eye.bench.idle(Span(eye.clock.period as u64));
            let next = eye.bench.read(sector + 1)?;
            found += u32::from(next.is_some_and(|reply| eye.bench.is_hit(reply.response())));
        }
    }
    Ok(found >= 3)
}

/// A reach without what so many sectors take to pass, on the mean: the one asked for and, where the arm had to be called
/// off reading on, half of the one it was reading.
fn passing<D: Device>(geometry: &Geometry, eye: &Eye<D>, reach: Reach, sectors: f64) -> Reach {
    let regions = &geometry.map.regions;
    let mean = regions.iter().map(|r| r.sectors as f64 / f64::from(r.round)).sum::<f64>();
    let all = regions.iter().map(|r| r.sectors as f64).sum::<f64>();
    Reach { mean: reach.mean - sectors * mean / all.max(1.0) * eye.clock.period / 1e6, ..reach }
}

/// Two tracks so many cylinders and heads apart, either way, anywhere.
pub(super) fn apart<'g, D: Device>(
    eye: &mut Eye<D>,
    geometry: &'g Geometry,
    cylinders: u64,
    (distance, heads): (u64, u64),
) -> Way<'g> {
    let track = |(region, number): (usize, u64)| Track { region: &geometry.map.regions[region], number };
    for _ in 0..10_000 {
        let low = eye.bench.draw.below(cylinders - distance);
        let head = eye.bench.draw.below(geometry.heads);
        let other = (head + heads) % geometry.heads;
        let (a, b) = (Address { cylinder: low, head }, Address { cylinder: low + distance, head: other });
        let (from, to) = if eye.bench.draw.below(2) == 0 { (a, b) } else { (b, a) };
        if let (Some(from), Some(to)) = (geometry.track(from), geometry.track(to)) {
            return Way::new(track(from), track(to));
        }
    }
    Way::new(track((0, 0)), track((0, 0)))
}

impl Moves {
    /// The overhead, or what stands for it where it could not be measured: the shortest reach.
    #[must_use]
    pub fn overhead(&self) -> f64 {
        let shortest = self
            .points
            .iter()
            .chain(&self.switch.map(|reach| Point { distance: 0, reach }).into_iter().collect::<Vec<_>>())
            .map(|point| point.reach.mean)
            .fold(f64::MAX, f64::min);
        self.overhead.unwrap_or(if shortest == f64::MAX { 0.0 } else { shortest }).max(0.0)
    }

    /// Seek times by distance: cylinders and ms, ascending, never shorter for a longer way.
    #[must_use]
    pub fn curve(&self) -> Vec<(u32, f64)> {
        let overhead = self.overhead();
        let mut least = 0.0f64;
        let point = |point: &Point| {
            least = least.max(point.reach.mean - overhead);
            (point.distance as u32, libm::round(least * 1e6) / 1e6)
        };
        self.points.iter().map(point).collect()
    }

    /// The reach over so many cylinders, without the sector's passing, ms.
    #[must_use]
    pub fn reach(&self, distance: u64, heads_differ: bool) -> f64 {
        let overhead = self.overhead();
        let seek = disk::SeekCurve::Table(self.curve()).ms(distance as u32);
        let switch = self.switch.filter(|_| heads_differ).map_or(0.0, |switch| switch.mean - overhead);
        overhead + seek.max(switch)
    }
}
