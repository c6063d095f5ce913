//! The chunk: throughput of commands of one size in a row, by size. The optimal range begins where a smaller chunk would
//! make the host the bottleneck, and ends where the firmware handles larger ones badly (Virtual IO, Section 3.1 and 3.4;
//! Figures 5 and 6).
//!
//! Each run begins after a command that ends where it starts, so that how the platter stood costs all runs the same. Of
//! writes, which lose a revolution before they begin and end with a flush, a short run is taken off a long one.

use super::write::THROUGH;
use crate::Thoroughness;
use crate::estimate::median;
use crate::eye::Eye;
use crate::map::TrackGeometry;
use block::{BadInput, Device, Extent, Span, Verb};

/// The largest chunk tried, blocks (SYSTEM.md, Section 3).
pub const MOST: u32 = 4096;
/// A chunk is optimal with this share of the best throughput.
pub const FULL: f64 = 0.99;
/// Throughputs within this share of each other are alike: runs begin and end at different places of a track.
const ALIKE: f64 = 0.97;
/// A run: tracks, and chunks, at least.
const TRACKS: u64 = 48;
const CHUNKS: u64 = 12;
/// Bytes of a block, in 10^6.
const BLOCK_MB: f64 = 512e-6;
/// No run takes less, s: a rate is finite.
const SHORTEST: f64 = 1e-9;
/// And commands, at most.
const COMMANDS: u64 = 1000;
/// A run that has taken so long is long enough, ns, if it had so many commands, or has taken so many times that.
const LONG: (Span, u64, u64) = (Span(1_000_000_000), 32, 3);

/// Runs of each size.
fn runs(effort: Thoroughness) -> usize {
    match effort {
        Thoroughness::Thorough => 3,
        Thoroughness::Quick => 1,
    }
}

/// Throughput of sequential I/O by the size of its chunks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chunks {
    /// Blocks of a chunk, ascending, and 10^6 bytes/s.
    pub sweep: Vec<(u32, f64)>,
    /// The smallest and the largest optimal chunk, blocks.
    pub optimal: Option<(u32, u32)>,
}

/// The chunks of a sweep, with sectors of so many blocks: two sizes for each doubling.
#[must_use]
pub fn sizes(sector: u32) -> Vec<u32> {
    let doubled = (0..=MOST.ilog2()).map(|power| 1u32 << power);
    let sizes = doubled.flat_map(|size| [size, size + size / 2]);
    let mut sizes: Vec<u32> = sizes.filter(|size| size.is_multiple_of(sector) && *size <= MOST).collect();
    sizes.dedup();
    sizes
}

/// Sweeps over the chunks of reads, or of writes where that is allowed, on the fastest tracks there are. Nothing where they
/// are too few.
///
/// # Errors
/// As [`crate::bench::ProbeBench::read`].
pub fn learn<D: Device>(
    eye: &mut Eye<D>,
    geometry: &TrackGeometry,
    verb: Verb,
    (low, high): (u64, u64),
    effort: Thoroughness,
) -> Result<Chunks, BadInput> {
    let shift = eye.bench.shift;
    let overlap = |region: &&crate::map::MapRegion| region.end().min(high).saturating_sub(region.first.max(low));
    let wide = |region: &&crate::map::MapRegion| overlap(region) >= 2 * TRACKS * region.track;
    let Some(region) = geometry.map.regions.iter().filter(wide).max_by_key(|region| region.round) else {
        return Ok(Chunks::default());
    };
    let (low, high) = (region.first.max(low), region.end().min(high));
    let room = high - low - region.track - 1;
    let most = (TRACKS * region.track).max(CHUNKS * u64::from(MOST >> shift)).min(room);
    // The same for all sizes: places differ by more than throughputs that count as full.
    let start = |_| region.next_track(low + eye.bench.draw.below(room - most + 1)).max(low + 1);
    let starts: Vec<u64> = (0..runs(effort)).map(start).collect();
    let mut sweep = Vec::new();
    for size in sizes(1 << shift) {
        if eye.bench.is_out_of_time() {
            // Larger ones might be better.
            return Ok(Chunks { sweep, optimal: None });
        }
        let chunk = u64::from(size >> shift);
        let want = (TRACKS * region.track).max(CHUNKS * chunk);
        if want > most {
            break;
        }
        let want = (want / chunk).min(COMMANDS) * chunk;
        let mut rates = Vec::new();
        for start in starts.iter().copied() {
            let short = match verb.writes() {
                true => run(eye, verb, (start, want), chunk, 4)?,
                false => Some((0, Span::ZERO)),
            };
            let long = run(eye, verb, (start, want), chunk, 1)?;
            if let (Some(short), Some(long)) = (short, long) {
                let (sectors, took) = (long.0.saturating_sub(short.0), long.1.less(short.1));
                rates.push((sectors << shift) as f64 * BLOCK_MB / took.as_secs().max(SHORTEST));
            }
        }
        // What a device does not take, it does not take larger.
        if rates.is_empty() {
            break;
        }
        sweep.push((size, median(&rates)));
    }
    Ok(Chunks { optimal: optimal(&sweep), sweep })
}

/// One run over a part of so many sectors from one on: how many, and what they took; nothing if a command fails.
fn run<D: Device>(
    eye: &mut Eye<D>,
    verb: Verb,
    (start, want): (u64, u64),
    chunk: u64,
    part: u64,
) -> Result<Option<(u64, Span)>, BadInput> {
    let shift = eye.bench.shift;
    let before = match verb.writes() {
        true => eye.bench.write(THROUGH, start - 1, 1)?,
        false => {
            eye.bench.forget(start - 1)?;
            eye.bench.read_medium(start - 1)?
        }
    };
    if before.is_none() {
        return Ok(None);
    }
    let began = eye.bench.now();
    let (mut at, mut commands) = (start, 0);
    let long = Span(LONG.0.0 / part);
    // Whole chunks, and no more than there is room for.
    let end = start + want / part / chunk * chunk;
    let most = Span(LONG.2 * long.0);
    let enough = |took: Span, commands: u64| took >= most || (took >= long && commands >= LONG.1 / part);
    while at < end && !enough(eye.bench.now().since(began), commands) {
        if !eye.bench.command(verb, Extent::new(at << shift, (chunk << shift) as u32))?.done {
            return Ok(None);
        }
        at += chunk;
        commands += 1;
    }
    if verb.writes() {
        eye.bench.command(Verb::Flush, Extent::new(0, 0))?;
    }
    Ok(Some((at - start, eye.bench.now().since(began))))
}

/// The smallest and the largest chunk with nearly the best throughput.
fn optimal(sweep: &[(u32, f64)]) -> Option<(u32, u32)> {
    let highest = sweep.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    // Not the luckiest of those that are as good.
    let best = median(&sweep.iter().map(|(_, rate)| *rate).filter(|rate| *rate >= ALIKE * highest).collect::<Vec<_>>());
    let full: Vec<bool> = sweep.iter().map(|(_, rate)| *rate >= FULL * best).collect();
    // One alone between others that are not is chance, unless there is no other.
    let least = (0..full.len()).find(|i| full[*i] && full.get(i + 1) != Some(&false));
    let most = (0..full.len()).rfind(|i| full[*i] && (*i == 0 || full[i - 1]));
    let (first, last) = (full.iter().position(|full| *full)?, full.iter().rposition(|full| *full)?);
    let range = least.zip(most).filter(|(least, most)| least <= most).unwrap_or((first, last));
    Some((sweep[range.0].0, sweep[range.1].0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_begins_and_ends_where_throughput_does() {
        assert_eq!(sizes(8)[..5], [8, 16, 24, 32, 48]);
        assert_eq!(sizes(1).last(), Some(&MOST));
        for sector in [1, 2, 8, 16] {
            let sizes = sizes(sector);
            assert!(sizes[0] == sector && sizes.iter().all(|size| size.is_multiple_of(sector)));
            assert!(sizes.windows(2).all(|pair| pair[0] < pair[1]), "{sizes:?}");
        }
        let sweep = [(1, 5.0), (2, 9.0), (3, 9.95), (4, 10.0), (6, 9.92), (8, 8.0)];
        assert_eq!(optimal(&sweep), Some((3, 6)));
        // A lucky one before the others, and one by itself.
        let sweep = [(1, 9.92), (2, 9.5), (3, 9.95), (4, 10.0), (6, 9.92), (8, 8.0)];
        assert_eq!(optimal(&sweep), Some((3, 6)));
        assert_eq!(optimal(&[(1, 5.0), (2, 10.0), (3, 8.0)]), Some((2, 2)));
        assert_eq!(optimal(&[]), None);
    }

    #[test]
    fn a_run_begins_where_the_command_before_it_ended_and_takes_whole_chunks() {
        use crate::platter::{Platter, with_eye};
        for (chunk, part) in [(1, 1), (16, 1), (16, 4), (64, 1), (300, 1)] {
            let mut platter = Platter::of_zones(2, &[(200, 256)]);
            let (start, want) = (1024, 48 * 256 / chunk * chunk);
            let ran =
                with_eye(&mut platter, |eye| run(eye, Verb::Read, (start, want), chunk, part).expect("it is read"));
            let (sectors, took) = ran.expect("all of it can be read");
            let [before, all @ ..] = &platter.log[..] else { panic!("nothing was read") };
            assert_eq!(before.at, Extent::new(start - 1, 1), "the platter stands where the run begins");
            let mut at = start;
            for command in all {
                assert_eq!(command.at, Extent::new(at, chunk as u32));
                at += chunk;
            }
            let whole = want / part / chunk * chunk;
            assert!(
                sectors == at - start && (sectors == whole || took >= Span(LONG.0.0 / part)),
                "{sectors}, {took:?}"
            );
            assert!(sectors <= whole && all.len() as u64 == sectors / chunk);
        }
    }
}
