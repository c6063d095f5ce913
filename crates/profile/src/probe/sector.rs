//! The physical sector: blocks of one sector complete at the same angle.

use crate::bench::Bench;
use crate::clock::Clock;
use crate::estimate::{median, signed};
use block::{BadInput, Device};

/// The largest sector looked for, in blocks, as a power of two.
const MOST: u32 = 6;
/// Pairs of blocks asked about each size: at least, and at most, where replies scatter.
const TRIALS: (f64, f64) = (3.0, 600.0);
/// No block is narrower, revolutions.
const NARROW: f64 = 5e-5;
/// Scattering replies are asked until they tell blocks apart that are so wide.
const WIDE: f64 = 4e-4;

/// Blocks of a physical sector, as a power of two.
///
/// # Errors
/// As [`Bench::read`].
pub fn learn<D: Device>(bench: &mut Bench<D>, clock: &Clock) -> Result<u32, BadInput> {
    bench.shift = 0;
    let mut pairs = Vec::new();
    for shift in (1..=MOST).rev() {
        // The deviation of a median of so many differences is to be a third of what is asked for.
        let apart = f64::from((1 << shift) - 1) * WIDE;
        let scatter = 3.0 * clock.noise / apart;
        for _ in 0..(scatter * scatter).clamp(TRIALS.0, TRIALS.1) as usize {
            pairs.push((shift, bench.draw.below(bench.blocks() >> MOST).saturating_sub(1) << MOST));
        }
    }
    // The last blocks of all, then the first: what is near a read may be in memory, and is driven out but once.
    let mut lasts = Vec::with_capacity(pairs.len());
    for (shift, start) in &pairs {
        lasts.push(bench.read_medium(start + (1 << shift) - 1)?.map(|reply| clock.phase(reply.end)));
    }
    bench.forget(pairs[0].1)?;
    let mut offs = vec![Vec::new(); MOST as usize + 1];
    for ((shift, start), last) in pairs.into_iter().zip(lasts) {
        let first = bench.read_medium(start)?.map(|reply| clock.phase(reply.end));
        if let (Some(last), Some(first)) = (last, first) {
            offs[shift as usize].push(signed(last - first));
        }
    }
    let same = |offs: &Vec<f64>| {
        let by_chance = 3.0 * clock.noise / libm::sqrt(offs.len() as f64);
        !offs.is_empty() && median(offs).abs() < NARROW + by_chance
    };
    Ok((1..=MOST).rev().find(|shift| same(&offs[*shift as usize])).unwrap_or(0))
}
