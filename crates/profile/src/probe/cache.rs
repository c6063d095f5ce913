//! The read cache in full: how far the drive reads on, how much a segment holds, and what an answer from it costs.

use crate::bench::Bench;
use crate::estimate::median;
use crate::map::Map;
use block::{BadInput, Device, Extent, Span, Verb};
use disk::Ahead;

/// What a drive does in between needs no longer than this, ns.
const REST: Span = Span(400_000_000);
/// Blocks read on, at most.
const MOST: u64 = 1 << 17;

/// The read cache.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cache {
    /// Segments; none if there is no cache.
    pub segments: u32,
    /// Blocks of a segment.
    pub segment: u64,
    /// How far the drive reads on.
    pub ahead: Ahead,
    /// Blocks it reads on, at most.
    pub read_ahead: u64,
    /// Before the first block of an answer from memory, ms.
    pub hit: f64,
    /// Rate of the bus, 10^6 bytes/s; none if it takes no time.
    pub mb_s: Option<f64>,
}

/// Learns the read cache.
///
/// # Errors
/// As [`Bench::read`].
pub fn learn<D: Device>(bench: &mut Bench<D>, map: &Map) -> Result<Cache, BadInput> {
    let Some((least, most)) = bench.memory.hit else { return Ok(Cache::default()) };
    let single = f64::midpoint(least.0 as f64, most.0 as f64);
    let mut looks = Vec::new();
    for _ in 0..3 {
        looks.push(read_on(bench, map)?);
    }
    let ends = |find: fn(&Look) -> u64| looks.iter().all(|look| look.end.abs_diff(find(look)) <= look.sector);
    let blocks = |look: &Look| look.end.saturating_sub(look.start + look.sector) as f64;
    let longest = looks.iter().map(|look| blocks(look) as u64).max().unwrap_or(0);
    let ahead = if longest == 0 {
        Ahead::Nowhere
    } else if ends(|look| look.track_end) {
        Ahead::Track
    } else if ends(|look| look.next_end) {
        Ahead::NextTrack
    } else {
        Ahead::Most
    };
    let read_ahead = match ahead {
        Ahead::Most => median(&looks.iter().map(blocks).collect::<Vec<_>>()) as u64,
        _ => longest,
    };
    let segment = kept(bench, read_ahead)?;
    let (hit, mb_s) = costs(bench, single, segment)?;
    Ok(Cache { segments: bench.memory.forgotten_after, segment, ahead, read_ahead, hit, mb_s })
}

/// How far a drive read on after one block.
struct Look {
    start: u64,
    /// The block after the last one found in memory.
    end: u64,
    track_end: u64,
    next_end: u64,
    sector: u64,
}

/// Reads one block, lets the drive read on, and finds the last block in memory.
fn read_on<D: Device>(bench: &mut Bench<D>, map: &Map) -> Result<Look, BadInput> {
    let shift = bench.shift;
    let anywhere = |bench: &mut Bench<D>| bench.draw.below(bench.sectors() / 2) << shift;
    let first = anywhere(bench);
    // Each question spoils what it asks about: a fresh place as far into its track for each.
    let region = map.region_of(first >> shift);
    let place = map.regions[region].place(first >> shift);
    let fresh = |bench: &mut Bench<D>| {
        let region = &map.regions[region];
        let tracks = (region.sectors / region.track).max(4);
        let pattern = region.track_pattern(bench.draw.below(tracks * 3 / 4) + 1) + place.sector;
        region.sector_at(pattern) << shift
    };
    let (mut held, mut gone) = (0, 1u64 << shift);
    let ask = |bench: &mut Bench<D>, distance: u64| -> Result<bool, BadInput> {
        let start = fresh(bench);
        if start + distance + 1 >= bench.blocks() {
            return Ok(false);
        }
        bench.command(Verb::Read, Extent::new(start, 1))?;
        bench.idle(REST);
        let reply = bench.command(Verb::Read, Extent::new(start + distance, 1))?;
        Ok(bench.is_hit(reply.response()))
    };
    while gone < MOST && ask(bench, gone)? {
        (held, gone) = (gone, 2 * gone);
    }
    while gone - held > 1 {
        let middle = held + (gone - held) / 2;
        if ask(bench, middle)? { held = middle } else { gone = middle }
    }
    let region = &map.regions[region];
    let track_end = first + (place.left << shift);
    let next_end = region.next_track(region.next_track(first >> shift)) << shift;
    Ok(Look { start: first, end: first + held + 1, track_end, next_end, sector: 1 << shift })
}

/// Blocks of a segment: what it holds when the drive has read on after the most blocks that leave the first in memory.
fn kept<D: Device>(bench: &mut Bench<D>, read_ahead: u64) -> Result<u64, BadInput> {
    let ask = |bench: &mut Bench<D>, blocks: u64| -> Result<bool, BadInput> {
        let start = bench.draw.below(bench.sectors() / 2) << bench.shift;
        if start + blocks >= bench.blocks() {
            return Ok(false);
        }
        bench.command(Verb::Read, Extent::new(start, blocks as u32))?;
        bench.idle(REST);
        let reply = bench.command(Verb::Read, Extent::new(start, 1))?;
        Ok(bench.is_hit(reply.response()))
    };
    let (mut held, mut gone) = (0, 1);
    while gone < MOST && ask(bench, gone)? {
        (held, gone) = (gone, 2 * gone);
    }
    while gone - held > 1 {
        let middle = held + (gone - held) / 2;
        if ask(bench, middle)? { held = middle } else { gone = middle }
    }
    Ok((held + read_ahead).max(1))
}

/// What an answer from memory takes before its first block, ms, and the rate at which blocks follow.
fn costs<D: Device>(bench: &mut Bench<D>, single: f64, segment: u64) -> Result<(f64, Option<f64>), BadInput> {
    let many = (segment / 2).clamp(2, 128);
    let mut times = Vec::new();
    for _ in 0..9 {
        let start = bench.draw.below(bench.sectors() / 2) << bench.shift;
        bench.command(Verb::Read, Extent::new(start, many as u32))?;
        times.push(bench.command(Verb::Read, Extent::new(start, many as u32))?.response().0 as f64);
    }
    let each = ((median(&times) - single) / (many - 1) as f64).max(0.0);
    let mb_s = (each > 20.0).then_some(512e3 / each);
    Ok(((single - each) / 1e6, mb_s))
}
