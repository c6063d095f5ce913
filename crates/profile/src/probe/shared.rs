//! Whether what is written takes the place of what was read in the drive's memory.

use super::field::Field;
use crate::estimate::median;
use crate::eye::Eye;
use block::{BadInput, Device, Extent, Span, Verb};

/// What was driven out comes later than what was kept by more than this share of a revolution: half of one on the mean.
const LATER: f64 = 0.25;
/// Trials in each direction.
const TRIALS: usize = 5;
/// Revolutions after which a drive that reads on has done so.
const READ_ON: f64 = 12.0;

/// Whether a read is driven out by as many writes as reads would do: it then takes longer to be read again than where only
/// one sector was written meanwhile.
///
/// # Errors
/// As [`crate::bench::ProbeBench::write`].
pub fn learn<D: Device>(eye: &mut Eye<D>, field: &Field) -> Result<bool, BadInput> {
    let count = u64::from(eye.bench.memory.forgotten_after);
    // Apart by a sector, so that none continues another.
    if eye.bench.memory.hit.is_none() || count < 2 || 2 * count > field.end - field.first {
        return Ok(false);
    }
    let (few, many) = (again(eye, field, 1)?, again(eye, field, count)?);
    Ok(many > few + LATER * eye.clock.period)
}

/// What a read takes, ns, of what was kept before so many sectors were written.
fn again<D: Device>(eye: &mut Eye<D>, field: &Field, writes: u64) -> Result<f64, BadInput> {
    let mut times = Vec::new();
    for _ in 0..TRIALS {
        let kept = find_cached(eye, field)?;
        let first = field.first + eye.bench.draw.below(field.end - field.first + 1 - 2 * writes);
        for i in 0..writes {
            eye.bench.write(Verb::Write { fua: false }, first + 2 * i, 1)?;
        }
        eye.bench.command(Verb::Flush, Extent::new(0, 0))?;
        times.extend(eye.bench.read(kept)?.map(|reply| reply.response().0 as f64));
    }
    Ok(median(&times))
}

/// A sector far away that is in memory, if any is, and will not be used again by reading on: that is over. Where the drive
/// reads on it is the one after the one asked for, since that one may be the first to make room.
///
/// # Errors
/// As [`crate::bench::ProbeBench::read`].
pub(super) fn find_cached<D: Device>(eye: &mut Eye<D>, field: &Field) -> Result<u64, BadInput> {
    let far = field.far(eye).min(eye.bench.sectors().saturating_sub(2));
    eye.bench.read(far)?;
    eye.bench.idle(Span((READ_ON * eye.clock.period) as u64));
    Ok(far + u64::from(eye.reads_on))
}
