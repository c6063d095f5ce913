//! The physical sector: blocks of one sector complete at the same angle.

use crate::estimate::{median, signed_fraction};
use crate::eye::Eye;
use block::{BadInput, Device};

/// The largest sector looked for, in blocks, as a power of two.
const MOST: u32 = 6;
/// Pairs of blocks asked about each size.
const TRIALS: usize = 5;
/// No block is narrower, revolutions.
const NARROW: f64 = 5e-5;

/// Blocks of a physical sector, as a power of two, by an eye that still looks at blocks.
///
/// # Errors
/// As [`crate::bench::ProbeBench::read`].
pub fn learn<D: Device>(eye: &mut Eye<D>) -> Result<u32, BadInput> {
    let mut pairs = Vec::new();
    for shift in (1..=MOST).rev() {
        for _ in 0..TRIALS {
            pairs.push((shift, eye.bench.draw.below(eye.bench.blocks() >> MOST).saturating_sub(1) << MOST));
        }
    }
    // The last blocks of all, then the first: what is near a read may be in memory, and is driven out but once.
    let mut lasts = Vec::with_capacity(pairs.len());
    for (shift, start) in &pairs {
        lasts.push(eye.angle(start + (1 << shift) - 1)?);
    }
    eye.bench.forget(pairs[0].1)?;
    let mut offs = vec![Vec::new(); MOST as usize + 1];
    for ((shift, start), last) in pairs.into_iter().zip(lasts) {
        if let (Some(last), Some(first)) = (last, eye.angle(start)?) {
            offs[shift as usize].push(signed_fraction(last - first));
        }
    }
    let by_chance = eye.clock.blur / 2.0;
    let same = |offs: &Vec<f64>| !offs.is_empty() && median(offs).abs() < NARROW + by_chance;
    Ok((1..=MOST).rev().find(|shift| same(&offs[*shift as usize])).unwrap_or(0))
}
