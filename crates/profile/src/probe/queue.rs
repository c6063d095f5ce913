//! The queue in the device: whether commands given together come back in the order the arm can reach them, not in that in
//! which they were given; and what is left of the overhead of one that waited for another there.

use super::arm::{TrialPath, reach};
use super::seek::{SeekTimes, apart};
use crate::Thoroughness;
use crate::estimate::fraction;
use crate::eye::Eye;
use crate::map::TrackGeometry;
use block::{BadInput, Device, Extent, Verb};

/// Batches given, and reads of one, at most.
const BATCHES: usize = 24;
const BATCH: usize = 8;
/// A queue orders by position if so much of what it picks is what the arm reaches soonest; drawn blindly it would be a
/// quarter or so.
const SURE: f64 = 0.6;

/// A queue that orders lets a later command go before more than this share of the others; a share of so much is mishaps.
const OVERTAKES: f64 = 0.1;

/// What a device does with several commands at once.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueueHabits {
    /// Commands it takes at once.
    pub depth: u16,
    /// Share of the reads that another, given later, overtook.
    pub overtaken: f64,
    /// Share of the picks that were what the arm would reach soonest.
    pub soonest: f64,
    /// What is left of the overhead of a read that waited for another, ms; nothing if it was not measured.
    pub overhead: Option<f64>,
}

impl QueueHabits {
    /// Whether it orders what is in it by position.
    #[must_use]
    pub fn reorders(&self) -> bool {
        self.overtaken > OVERTAKES && self.soonest > SURE
    }
}

/// Learns what becomes of reads given together.
///
/// # Errors
/// As [`crate::bench::ProbeBench::read`].
pub fn learn<D: Device>(
    eye: &mut Eye<D>,
    geometry: &TrackGeometry,
    moves: &SeekTimes,
    effort: Thoroughness,
) -> Result<QueueHabits, BadInput> {
    let depth = eye.bench.depth();
    let mut queue = QueueHabits { depth, ..QueueHabits::default() };
    let batch = BATCH.min(usize::from(depth));
    if batch < 3 {
        return Ok(queue);
    }
    let (mut overtaken, mut soonest, mut picks, mut reads) = (0, 0, 0, 0);
    for _ in 0..BATCHES {
        let sectors: Vec<u64> = (0..batch).map(|_| eye.bench.draw.below(eye.bench.mapped_sectors())).collect();
        let shift = eye.bench.shift;
        // Looks at the clock before, if that is due.
        let start = eye.bench.draw.below(eye.bench.mapped_sectors());
        eye.angle(start)?;
        let at: Vec<Extent> = sectors.iter().map(|sector| Extent::new(sector << shift, 1)).collect();
        let ends = eye.bench.together(Verb::Read, &at)?;
        let mut order: Vec<usize> = (0..batch).collect();
        order.sort_by_key(|i| ends[*i].end);
        reads += batch;
        overtaken += (0..batch).filter(|i| (i + 1..batch).any(|later| ends[later].end < ends[*i].end)).count();
        // The first went off alone; the last had no choice.
        for place in 1..batch - 1 {
            let (from, now) = (sectors[order[place - 1]], ends[order[place - 1]].end);
            let here = geometry.address_of(from);
            let reached = |i: &usize| {
                let to = geometry.address_of(sectors[*i]);
                let period = eye.clock.period_ms();
                let begins = moves.reach(here.cylinder.abs_diff(to.cylinder), here.head != to.head) / period;
                let angle = geometry.map.place(sectors[*i]).angle;
                begins + fraction(angle - eye.clock.phase(now) - begins)
            };
            let best = order[place..].iter().min_by(|a, b| reached(a).total_cmp(&reached(b)));
            picks += 1;
            soonest += usize::from(best == Some(&order[place]));
        }
    }
    queue.overtaken = overtaken as f64 / reads as f64;
    queue.soonest = soonest as f64 / f64::from(picks.max(1));
    if queue.reorders() && effort == Thoroughness::Thorough {
        queue.overhead = learn_overhead(eye, geometry, moves, effort)?;
    }
    Ok(queue)
}

/// By how much sooner the arm is elsewhere after a read that the other waited for is taken off the overhead that one has by itself.
fn learn_overhead<D: Device>(
    eye: &mut Eye<D>,
    geometry: &TrackGeometry,
    moves: &SeekTimes,
    effort: Thoroughness,
) -> Result<Option<f64>, BadInput> {
    let near = moves.points.first().map(|point| ((point.distance, 0), point.reach));
    let Some((way, alone)) = moves.switch.map(|reach| ((0, 1), reach)).or(near) else { return Ok(None) };
    let cylinders = geometry.all_cylinders();
    let behind = reach(eye, Verb::Read, effort.enough(), |eye| {
        apart(eye, geometry, cylinders, way).map(|path| TrialPath { together: true, ..path })
    })?;
    Ok(behind.map(|behind| (moves.overhead() - alone.mean + behind.reach.mean).clamp(0.0, moves.overhead())))
}
