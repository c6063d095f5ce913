//! The physical sector: blocks of one sector complete at the same angle.

use crate::bench::Bench;
use crate::clock::Clock;
use crate::estimate::signed;
use block::{BadInput, Device};

/// The largest sector looked for, in blocks, as a power of two.
const MOST: u32 = 6;
/// Sectors asked about each size.
const TRIALS: usize = 3;

/// Blocks of a physical sector, as a power of two.
///
/// # Errors
/// As [`Bench::read`].
pub fn learn<D: Device>(bench: &mut Bench<D>, clock: &Clock) -> Result<u32, BadInput> {
    bench.shift = 0;
    for shift in (1..=MOST).rev() {
        let mut same = 0;
        for _ in 0..TRIALS {
            let first = bench.draw.below(bench.blocks() >> MOST).saturating_sub(1) << MOST;
            // Backwards: what follows a read may be in memory.
            let last = bench.read_medium(first + (1 << shift) - 1)?.map(|reply| clock.phase(reply.end));
            bench.forget(first)?;
            let first = bench.read_medium(first)?.map(|reply| clock.phase(reply.end));
            if let (Some(last), Some(first)) = (last, first) {
                // No sector is so narrow.
                same += usize::from(signed(last - first).abs() < 5e-5 + 4.0 * clock.noise);
            }
        }
        if same == TRIALS {
            return Ok(shift);
        }
    }
    Ok(0)
}
