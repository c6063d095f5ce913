//! Rotation: completions of reads of one sector from the medium are whole revolutions apart. The period is the longest
//! that explains them, refined by growing the baseline (SYSTEM.md, Section 3).

use crate::Thoroughness;
use crate::bench::ProbeBench;
use crate::clock::PhaseClock;
use crate::estimate::{NS_PER_S, median, signed_fraction, spread};
use crate::eye::ON_TIME;
use block::{BadInput, Device, Span, Time};
use std::f64::consts::TAU;

/// Frequencies looked for, revolutions a second: 3000 to 36,000 a minute.
const LOW: f64 = 50.0;
const HIGH: f64 = 600.0;
/// How coherent completions must be to be a rotation's, of 1.
const COHERENT: f64 = 0.96;
/// Completions of each sector that the first guess is made from.
const FIRST: usize = 14;
/// Sectors whose completions the first guess is made from, at most.
const SAMPLED: usize = 24;
/// The baseline of the first guess, ns, at most.
const SHORT: u64 = 3_000_000_000;
/// Two turns of the slowest platter, ns.
const TWO_TURNS: u64 = 40_000_000;
/// Completions that scatter more, in revolutions, are late.
const SCATTER: f64 = ON_TIME;
/// The grid of frequencies, and by how much a period may err for the next baseline, as a share of the revolutions over the
/// baseline: so far from half a revolution that whole ones are told apart.
const FINE: f64 = 0.1;
/// A baseline is no shorter than this, s, and the error of a period no less, revolutions: neither is divided by zero.
const SHORTEST: f64 = 1e-3;
const EXACT: f64 = 1e-12;
/// How much longer the next baseline is, at most.
const LONGER: f64 = 3.0;
/// A place on the grid may be less coherent than the peak beside it by so much.
const BESIDE: f64 = 0.1;
/// Peaks are as high as one another that lack no more than twice as much of 1, and some rounding.
const ROUNDING: f64 = 1e-6;
/// A period is refined until the slope that is left is no more than this share of the noise.
const LEFT: f64 = 1e-9;
/// The baseline the period is refined over, ns; it is followed from there on.
fn baseline(effort: Thoroughness) -> u64 {
    match effort {
        Thoroughness::Thorough => 40_000_000_000,
        Thoroughness::Quick => 10_000_000_000,
    }
}

/// How often the first guess has a ring of so many sectors go round.
fn count_rounds(sectors: usize) -> usize {
    (FIRST * SAMPLED / sectors).clamp(4, FIRST)
}

/// The sectors that are read in turn, so that none is still in memory when its turn comes, and when they completed.
struct SectorRing {
    sectors: Vec<u64>,
    ends: Vec<Vec<Time>>,
}

impl SectorRing {
    fn new<D: Device>(bench: &mut ProbeBench<D>) -> SectorRing {
        let count = u64::from(bench.memory.forgotten_after) + 1;
        let all = bench.sectors();
        let (start, step) = (bench.draw.below(all), (1 << 16).min(all / (count + 1)).max(1));
        let sectors: Vec<u64> = (0..count).map(|i| (start + i * step) % all).collect();
        SectorRing { ends: vec![Vec::new(); sectors.len()], sectors }
    }

    /// Every sector once, `keep` of them at most.
    fn turn<D: Device>(&mut self, bench: &mut ProbeBench<D>) -> Result<(), BadInput> {
        for (i, (sector, ends)) in self.sectors.iter().zip(&mut self.ends).enumerate() {
            // The wait makes what answers at once fall anywhere; in a long ring, what is far apart by chance too. A ring that goes
            // round a few times only has some waits of a turn or two, or all sectors came back after an even number of turns as
            // often as not, and the period would be twice what it is.
            let few = count_rounds(self.sectors.len()) < FIRST && i < SAMPLED && i % 4 == 3;
            let most = match self.sectors.len() {
                257.. if i % 16 == 15 => 125_000_000,
                _ if few => TWO_TURNS,
                _ => 1_500_000,
            };
            let pause = bench.draw.below(most);
            bench.idle(Span(pause));
            if let Some(reply) = bench.read_medium(*sector)?
                && !bench.is_hit(reply.response())
            {
                ends.push(reply.end);
            }
        }
        Ok(())
    }

    /// How far completions are from whole revolutions of so many ns, each against the first of its sector.
    fn offs(&self, period: f64) -> Vec<f64> {
        let off = |ends: &Vec<Time>| {
            let first = ends.first().copied().unwrap_or_default();
            let phases: Vec<f64> = ends.iter().map(|end| signed_fraction(end.since(first).0 as f64 / period)).collect();
            phases.into_iter().skip(1).collect::<Vec<_>>()
        };
        self.ends.iter().flat_map(off).collect()
    }

    /// The coherence of completions with a frequency a ns: 1 if all are whole revolutions apart.
    fn coherence(&self, frequency: f64) -> f64 {
        let (mut sum, mut count) = (0.0, 0.0);
        for ends in self.ends.iter().take(SAMPLED) {
            let Some(first) = ends.first() else { continue };
            for end in &ends[1..] {
                sum += libm::cos(TAU * frequency * end.since(*first).0 as f64);
                count += 1.0;
            }
        }
        if count > 0.0 { sum / count } else { 0.0 }
    }
}

/// What turns, if anything does.
///
/// # Errors
/// As [`ProbeBench::read`].
pub fn learn<D: Device>(bench: &mut ProbeBench<D>, effort: Thoroughness) -> Result<Option<PhaseClock>, BadInput> {
    let long = baseline(effort);
    let mut ring = SectorRing::new(bench);
    let began = bench.now();
    let mut round = 60_000_000;
    let rounds = count_rounds(ring.sectors.len());
    for turn in 0..rounds {
        // Rounds of uneven length, or other periods than the true one fit nearly as well.
        let pause = bench.draw.below(round);
        bench.idle(Span(pause));
        let before = bench.now();
        ring.turn(bench)?;
        round = round.max(bench.now().since(before).0);
        if turn >= rounds / 2 && bench.now().since(began).0 > SHORT {
            break;
        }
    }
    let mut found = coarse(&ring, bench.now().since(began));
    for _ in 0..FIRST {
        if found.is_none_or(|(_, alone)| alone) {
            break;
        }
        // Late replies hide which of several it is; the next round is as far from the last as none before.
        let pause = bench.draw.below(round);
        bench.idle(Span(pause));
        ring.turn(bench)?;
        found = coarse(&ring, bench.now().since(began));
    }
    let Some((mut period, _)) = found else { return Ok(None) };
    let mut noise = spread(&ring.offs(period));
    loop {
        period = refine(&ring, period, noise);
        noise = spread(&ring.offs(period)).max(1.0 / period);
        let passed = bench.now().since(began).0;
        if passed >= long {
            break;
        }
        // The next baseline may be so long that the period's error does not reach half a revolution by far.
        let error = noise / (passed as f64 / period);
        let safe = (FINE / error.max(EXACT)) * period;
        let next = (passed as f64 * LONGER).min(safe).min(long as f64) as u64;
        bench.idle(Span(next.saturating_sub(passed)));
        ring.turn(bench)?;
    }
    if noise > SCATTER {
        // The least late of many is hardly late.
        for _ in 0..FIRST {
            ring.turn(bench)?;
        }
        period = refine(&ring, period, noise);
    }
    let last = ring.ends.iter().filter_map(|ends| ends.last()).max().copied().unwrap_or_default();
    Ok(Some(PhaseClock::new(period, noise, last)))
}

/// The longest period that explains the completions, and whether no other does but its fractions: of the peaks of coherence
/// on a grid as fine as the baseline asks for, each climbed to its top, the first that is as high as any.
fn coarse(ring: &SectorRing, baseline: Span) -> Option<(f64, bool)> {
    let step = FINE / baseline.as_secs().max(SHORTEST);
    let mut peaks: Vec<(f64, f64)> = Vec::new();
    let (mut before, mut here) = (0.0, ring.coherence(LOW / NS_PER_S));
    for i in 0..((HIGH - LOW) / step) as u64 {
        let frequency = LOW + i as f64 * step;
        let after = ring.coherence((frequency + step) / NS_PER_S);
        if here > COHERENT - BESIDE && here >= before && here > after {
            peaks.push(climb(ring, frequency, step / 2.0));
        }
        (before, here) = (here, after);
    }
    let most = peaks.iter().map(|(_, coherence)| *coherence).fold(COHERENT, f64::max);
    let mut high = peaks.iter().filter(|(_, coherence)| 1.0 - coherence < 2.0 * (1.0 - most) + ROUNDING);
    let (frequency, _) = *high.next()?;
    let whole = |other: f64| (other / frequency - libm::round(other / frequency)).abs() * frequency < step;
    Some((NS_PER_S / frequency, high.all(|(other, _)| whole(*other))))
}

/// The frequency of the top of a peak, and its coherence.
fn climb(ring: &SectorRing, mut frequency: f64, mut step: f64) -> (f64, f64) {
    let mut most = ring.coherence(frequency / NS_PER_S);
    for _ in 0..12 {
        for next in [frequency - step, frequency + step] {
            let coherence = ring.coherence(next / NS_PER_S);
            if coherence > most {
                (frequency, most) = (next, coherence);
            }
        }
        step /= 2.0;
    }
    (frequency, most)
}

/// The period corrected by the slope of what is left, until nothing is: of each sector from the least late completion of the
/// first half of the time to that of the second.
fn refine(ring: &SectorRing, mut period: f64, noise: f64) -> f64 {
    let latest = ring.ends.iter().filter_map(|ends| ends.last()).max().copied().unwrap_or_default();
    for _ in 0..8 {
        let mut slopes = Vec::new();
        for ends in &ring.ends {
            let Some(first) = ends.first() else { continue };
            let middle = latest.since(*first).0 / 2;
            let least = |half: bool| {
                if noise <= SCATTER {
                    // None is late, and what is out of line is not to be picked.
                    let end = if half { ends.last() } else { Some(first) }?;
                    return Some((signed_fraction(end.since(*first).0 as f64 / period), end.since(*first).0));
                }
                let off = |end: &Time| (signed_fraction(end.since(*first).0 as f64 / period), end.since(*first).0);
                let of_half = ends.iter().filter(|end| (end.since(*first).0 > middle) == half);
                of_half.map(off).min_by(|a, b| a.0.total_cmp(&b.0))
            };
            if let (Some(a), Some(b)) = (least(false), least(true))
                && b.1 > a.1
            {
                slopes.push((b.0 - a.0) / ((b.1 - a.1) as f64 / period));
            }
        }
        let slope = median(&slopes);
        period *= 1.0 + slope;
        if slope.abs() < LEFT * noise {
            break;
        }
    }
    period
}
