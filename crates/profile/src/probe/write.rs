//! What writing takes beyond reading: the overhead, settling, switches, and a seek curve of its own if there is one.
//!
//! The arm comes from anywhere by a read and ends in a write inside the scratch that completes on the medium, so that even
//! a small scratch shows long seeks. A write completes at its sector's angle as a read does, but for a constant: it is
//! found first, and taken off (SYSTEM.md, Section 3).

use super::arm::{ArmReach, ReachTrials, TrialPath, common_spread, reach};
use super::field::Field;
use super::large::{self, LargeCommands};
use super::seek::{SeekPoint, SeekTimes};
use super::{shared, transfer};
use crate::Thoroughness;
use crate::estimate::{NS_PER_MS, median, round_ns, signed_fraction, spread};
use crate::eye::Eye;
use block::{BadInput, Device, Span, Verb};

/// A write that completes on the medium.
pub(super) const THROUGH: Verb = Verb::Write { fua: true };
/// Sectors whose completions by a write and by a read are compared.
const PAIRS: usize = 15;
/// Ways to go a distance, at least, for it to be measured.
const WAYS: usize = 4;
/// Reads from memory after a write, and what they vary by less than, ns.
const HITS: usize = 9;
const STEADY: f64 = 120_000.0;
/// By then a drive has begun to write back, and no arm that came from far away has got there, ns.
const BEGUN: u64 = 500_000;
/// Long writes, at different moments of a revolution, and what of a track they have.
const LONG: u64 = 24;
const LONGEST: f64 = 0.8;
/// A read that takes longer by this share of a revolution has waited for the arm.
const WAITED: f64 = 1.0 / 8.0;
/// What the mean of some twenty trials at each end may be off: ms, and of what they spread; and what what a write adds may vary
/// by for all that.
const MEAN_OFF: (f64, f64) = (0.05, 0.7);
const VARIES: f64 = 1.5;
/// What a share of a write may be off to be none, or all.
const UNSURE: f64 = 0.12;

/// What a write takes longer than a read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Writes {
    /// Whether writes come back done.
    pub done: bool,
    /// How much later than a read of a sector a write of it completes, ms.
    pub lag: f64,
    /// Reach of a write on the track the arm is on, without its way over the bus, ms; nothing if it could not be measured.
    pub overhead: Option<f64>,
    /// The same of a read and of a write that follow a write.
    pub after_write: [Option<f64>; 2],
    /// Reach of a head switch that ends in a write.
    pub switch: Option<ArmReach>,
    /// Reaches of seeks that end in a write, ascending.
    pub points: Vec<SeekPoint>,
    /// What a write adds to a move of the arm, ms.
    pub settle: f64,
    /// Whether seeks that end in a write follow a curve of their own, not that of reads and the settling.
    pub own_curve: bool,
    /// What large writes lose, if they do.
    pub large: Option<LargeCommands>,
    /// Response of a read of a sector from memory that follows a write, ms; nothing if a write leaves nothing there.
    pub hit: Option<f64>,
    /// Whether it waits for what is written back meanwhile.
    pub hits_wait: bool,
    /// Whether what is written takes the place of what was read.
    pub shared: bool,
    /// Share of a write that does not continue another that is in the buffer, beyond what keeps ahead of the head, before it
    /// begins.
    pub watermark: f64,
    /// Whether a write of a track begins wherever the head lands.
    pub on_arrival: Option<bool>,
    /// Whether a write loses a revolution in going on to the next head.
    pub lost_at_head: Option<bool>,
    /// Whether it does in going on to the next cylinder.
    pub lost_at_cylinder: Option<bool>,
}

/// Learns what writing takes, a sector being `bus` ms on the bus; what the scratch is too small for is left out.
///
/// # Errors
/// As [`crate::bench::ProbeBench::write`].
pub fn learn<D: Device>(
    eye: &mut Eye<D>,
    field: &Field,
    moves: &SeekTimes,
    bus: f64,
    effort: Thoroughness,
) -> Result<Writes, BadInput> {
    let Some(lag) = lag(eye, field)? else { return Ok(Writes::default()) };
    eye.write_lag = lag;
    let mut writes = Writes { done: true, lag, ..Writes::default() };
    if field.track(eye).is_none() {
        return Ok(writes);
    }
    let enough = effort.enough();
    // While the arm moves the sector comes over the bus; here it must come first.
    writes.overhead = still(eye, field, (THROUGH, false), enough)?.map(|reach| reach - bus);
    writes.after_write = [
        still(eye, field, (Verb::Read, true), enough)?,
        still(eye, field, (THROUGH, true), enough)?.map(|reach| reach - bus),
    ];
    let mut found: Vec<(u64, ReachTrials)> = Vec::new();
    // In short over each doubling alone: what a write adds to a move is asked, and not where the curve bends.
    let is_asked = |point: &&SeekPoint| effort == Thoroughness::Thorough || point.distance.is_power_of_two();
    for point in moves.points.iter().filter(is_asked) {
        found.extend(ending(eye, field, (point.distance, 0), enough)?.map(|found| (point.distance, found)));
    }
    if field.geometry.heads > 1 {
        writes.switch = ending(eye, field, (0, 1), enough)?.map(|found| found.reach);
    }
    let spread = common_spread(&found.iter().map(|(_, found)| found.clone()).collect::<Vec<_>>());
    writes.points =
        found.iter().map(|(distance, found)| SeekPoint { distance: *distance, reach: found.reach }).collect();
    settle(&mut writes, moves, spread);
    let pick = |eye: &mut Eye<D>| field.track(eye);
    writes.on_arrival = transfer::on_arrival(eye, field.geometry, THROUGH, &mut |eye| pick(eye))?;
    writes.hit = hit(eye, field, THROUGH)?.filter(|(_, varies)| *varies < STEADY).map(|(ms, _)| ms);
    writes.hits_wait = hits_wait(eye, field, writes.hit)?;
    writes.shared = shared::learn(eye, field)?;
    if writes.on_arrival == Some(false) {
        writes.watermark = watermark(eye, field, (writes.overhead(moves), bus))?;
        writes.large = large::learn(eye, field.geometry, THROUGH, (field.first, field.end))?;
    }
    writes.lost_at_head = transfer::loses_revolution(eye, field.geometry, THROUGH, false, &mut |eye| pick(eye))?;
    writes.lost_at_cylinder = transfer::loses_revolution(eye, field.geometry, THROUGH, true, &mut |eye| pick(eye))?;
    Ok(writes)
}

/// How much later than a read of a sector a write of it completes, ms.
fn lag<D: Device>(eye: &mut Eye<D>, field: &Field) -> Result<Option<f64>, BadInput> {
    let mut offs = Vec::new();
    for _ in 0..2 * PAIRS {
        let sector = field.first + eye.bench.draw.below(field.end - field.first);
        let Some(angle) = eye.angle(sector)? else { continue };
        // Another phase of the host against the platter each time.
        let pause = eye.bench.draw.below(eye.clock.period as u64);
        eye.bench.idle(Span(pause));
        if let Some(reply) = eye.bench.write(THROUGH, sector, 1)? {
            offs.push(signed_fraction(eye.clock.phase(reply.end) - angle));
        }
        if offs.len() == PAIRS {
            break;
        }
    }
    Ok((offs.len() > PAIRS / 2).then(|| median(&offs) * eye.clock.period_ms()))
}

/// The response of a read from memory that follows a write, ms, and what it varies by, ns. Nothing without a memory. A
/// drive that reads on has done so before, and has time to begin with what it still has to write.
fn hit<D: Device>(eye: &mut Eye<D>, field: &Field, verb: Verb) -> Result<Option<(f64, f64)>, BadInput> {
    let mut times = Vec::new();
    for _ in 0..HITS {
        let kept = shared::find_cached(eye, field)?;
        let sector = field.first + eye.bench.draw.below(field.end - field.first);
        eye.bench.write(verb, sector, 1)?;
        eye.bench.idle(Span(BEGUN));
        times.extend(eye.bench.read(kept)?.map(|reply| reply.response().0 as f64));
    }
    let known = eye.bench.memory.hit.is_some() && times.len() > HITS / 2;
    Ok(known.then(|| (median(&times) / NS_PER_MS, spread(&times))))
}

/// Whether a read from memory waits while a write in the buffer goes to the medium, as the arm is sent far to do; one after
/// a write that is there already takes `hit` ms.
fn hits_wait<D: Device>(eye: &mut Eye<D>, field: &Field, hit_after: Option<f64>) -> Result<bool, BadInput> {
    let Some(alone) = hit_after else { return Ok(false) };
    let behind = hit(eye, field, Verb::Write { fua: false })?;
    Ok(behind.is_some_and(|(ms, _)| ms > alone + WAITED * eye.clock.period_ms()))
}

/// How much of a write must have come before it begins: where the bus is no faster than the medium by far, the soonest
/// that a long one begins after a read shows it, the overhead and a sector on the bus being known, ms.
fn watermark<D: Device>(eye: &mut Eye<D>, field: &Field, (overhead, bus): (f64, f64)) -> Result<f64, BadInput> {
    let period = eye.clock.period_ms();
    let Some((index, number)) = field.track(eye) else { return Ok(0.0) };
    let region = &field.geometry.map.regions[index];
    let start = region.sector_at(region.track_pattern(number));
    let sectors = (LONGEST * region.place(start).left as f64) as u64;
    let sector = period / f64::from(region.round);
    let first = overhead + bus;
    let last = first + (sectors.max(1) - 1) as f64 * bus;
    let streaming = first.max(last - (sectors.max(1) - 1) as f64 * sector);
    if last - streaming < period / 2.0 {
        return Ok(0.0);
    }
    let mut soonest = f64::MAX;
    for moment in 0..LONG {
        eye.visit(start + sectors / 2)?;
        eye.bench.idle(Span::from_ms(moment as f64 * period / LONG as f64));
        if let Some(reply) = eye.bench.write(THROUGH, start, sectors)? {
            soonest = soonest.min(reply.response().as_ms() - sectors as f64 * sector);
        }
    }
    // The soonest of moments so far apart, and half of that too late on the mean.
    let begins = soonest - period / (2 * LONG) as f64;
    let held = (begins - streaming) / (last - streaming);
    Ok(if held < UNSURE {
        0.0
    } else if held > 1.0 - UNSURE {
        1.0
    } else {
        held
    })
}

/// The reach over so many cylinders and heads to a write.
fn ending<D: Device>(
    eye: &mut Eye<D>,
    field: &Field,
    (distance, heads): (u64, u64),
    enough: f64,
) -> Result<Option<ReachTrials>, BadInput> {
    let ways = field.ways(eye, distance, heads);
    over(eye, THROUGH, &ways, enough)
}

/// The reach on a track of the field, after a read or a write, ms.
fn still<D: Device>(
    eye: &mut Eye<D>,
    field: &Field,
    (verb, written): (Verb, bool),
    enough: f64,
) -> Result<Option<f64>, BadInput> {
    let ways =
        field.ways(eye, 0, 0).into_iter().map(|TrialPath { to, .. }| TrialPath { written, ..TrialPath::new(to, to) });
    Ok(over(eye, verb, &ways.collect::<Vec<_>>(), enough)?.map(|found| found.reach.mean))
}

/// The reach over ways.
fn over<D: Device>(
    eye: &mut Eye<D>,
    verb: Verb,
    ways: &[TrialPath],
    enough: f64,
) -> Result<Option<ReachTrials>, BadInput> {
    if ways.len() < WAYS {
        return Ok(None);
    }
    reach(eye, verb, enough, |eye| Some(ways[eye.bench.draw.below(ways.len() as u64) as usize]))
}

/// What a write adds to a move, and whether that is the same for all.
fn settle(writes: &mut Writes, moves: &SeekTimes, noise: f64) {
    let overhead = writes.overhead(moves);
    let added = |point: &SeekPoint| {
        let read = moves.points.iter().find(|read| read.distance == point.distance)?;
        Some((point.reach.mean - overhead) - (read.reach.mean - moves.overhead()))
    };
    let added: Vec<f64> = writes.points.iter().filter_map(added).collect();
    let at_switch =
        writes.switch.zip(moves.switch).map(|(write, read)| write.mean - overhead - read.mean + moves.overhead());
    let sure = MEAN_OFF.0 + MEAN_OFF.1 * noise;
    let third = added.len().div_ceil(3);
    let ends = median(&added[..third]) - median(&added[added.len() - third..]);
    writes.own_curve = ends.abs() > sure || spread(&added) > VARIES * sure;
    writes.settle = match (writes.own_curve, at_switch) {
        (true, switch) => switch.unwrap_or(0.0),
        (false, Some(switch)) if added.is_empty() => switch,
        (false, _) => median(&added),
    }
    .max(0.0);
    let least = median(&added);
    if let Some(overhead) = writes.overhead.as_mut().filter(|_| least < 0.0 && !writes.own_curve) {
        // The sector's way over a bus nothing is known of: hidden by a move, and not by none.
        *overhead += least;
        writes.after_write[1] = writes.after_write[1].map(|after| after + least);
    }
}

impl Writes {
    /// The overhead, or that of reads where it could not be measured, ms.
    #[must_use]
    pub fn overhead(&self, moves: &SeekTimes) -> f64 {
        self.overhead.unwrap_or(moves.overhead())
    }

    /// Seek times before a write, without the settling: cylinders and ms, ascending, never shorter for a longer way. Beyond
    /// what was measured, as reads.
    #[must_use]
    pub fn curve(&self, moves: &SeekTimes) -> Vec<(u32, f64)> {
        let overhead = self.overhead(moves) + self.settle;
        let measured = self.points.iter().map(|point| (point.distance as u32, point.reach.mean - overhead));
        let farthest = self.farthest();
        // Beyond, they go on at the distance from the curve of reads that they had reached.
        let last = self.points.last().map_or(0.0, |point| point.reach.mean - overhead - moves.seek(point.distance));
        let reads = moves.curve().into_iter().filter(|(distance, _)| u64::from(*distance) > farthest);
        let beyond = reads.map(|(distance, ms)| (distance, ms + last));
        let mut least = 0.0f64;
        let point = |(distance, ms): (u32, f64)| {
            least = least.max(ms);
            (distance, round_ns(least))
        };
        measured.chain(beyond).map(point).collect()
    }

    /// The longest distance measured, cylinders.
    #[must_use]
    pub fn farthest(&self) -> u64 {
        self.points.last().map_or(0, |point| point.distance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::ProbeDraw;

    fn point(distance: u64, mean: f64) -> SeekPoint {
        SeekPoint { distance, reach: ArmReach { mean, ..ArmReach::default() } }
    }

    /// What a write takes is overhead, seek and settling, whatever of these it has of its own; beyond what was measured it goes on
    /// as reads do.
    #[test]
    fn a_write_is_its_overhead_a_seek_and_the_settling() {
        for seed in 0..200 {
            let mut draw = ProbeDraw::new(seed);
            let mut distances: Vec<u64> = (0..4 + draw.below(12)).map(|_| 1 + draw.below(5_000)).collect();
            distances.sort_unstable();
            distances.dedup();
            let seek = |distance: u64| 0.8 + 0.1 * libm::sqrt(distance as f64);
            let (read, write, settle) = (0.1 + draw.unit(), 0.1 + draw.unit(), draw.unit());
            // Each that is farther takes longer by a little more, or by the same.
            let own = if draw.below(2) == 0 { 0.0 } else { 0.4 };
            let more = |distance: u64| own * libm::sqrt(distance as f64 / 5_000.0);
            let moves = SeekTimes {
                overhead: Some(read),
                switch: Some(ArmReach { mean: read + 0.5, ..ArmReach::default() }),
                points: distances.iter().map(|distance| point(*distance, read + seek(*distance))).collect(),
                ..SeekTimes::default()
            };
            let measured = &distances[..1 + draw.below(distances.len() as u64) as usize];
            let reach = |distance: u64| write + settle + seek(distance) + more(distance);
            let mut writes = Writes {
                overhead: Some(write),
                points: measured.iter().map(|distance| point(*distance, reach(*distance))).collect(),
                switch: Some(ArmReach { mean: write + settle + 0.5, ..ArmReach::default() }),
                ..Writes::default()
            };
            super::settle(&mut writes, &moves, 0.0);
            if own == 0.0 {
                assert!(!writes.own_curve && (writes.settle - settle).abs() < 1e-9, "seed {seed}: {writes:?}");
            }
            if writes.own_curve {
                assert!((writes.settle - settle).abs() < 1e-9, "seed {seed}: as at a switch of heads");
            }
            let curve = writes.curve(&moves);
            assert_eq!(curve.iter().map(|(distance, _)| u64::from(*distance)).collect::<Vec<_>>(), distances);
            let last = *measured.last().expect("one at least");
            for (distance, ms) in curve {
                let distance = u64::from(distance);
                let took = writes.overhead(&moves) + writes.settle + ms;
                let real = write + settle + seek(distance) + more(distance.min(last));
                assert!((took - real).abs() < 2e-6, "seed {seed}, {distance}: {took} {real}");
            }
            assert_eq!(writes.farthest(), last);
        }
    }
}
