//! The read cache in full: how far the drive reads on and whether it does again, what it keeps that nobody asked for, how
//! much a segment holds, and what an answer from it costs.

use crate::bench::ProbeBench;
use crate::estimate::{NS_PER_MS, median, signed_fraction};
use crate::map::TrackGeometry;
use block::{BadInput, Device, Extent, Span, Verb};
use disk::Ahead;

/// Revolutions that a drive takes to read a track on, its skew and a revolution lost included; and to begin with it.
const EACH: f64 = 2.5;
const BEGIN: f64 = 3.0;
/// Trials of a question, each somewhere else.
const TRIALS: u32 = 7;
/// What a block takes is alike within this share, and so many ns by chance.
const ALIKE: f64 = 1.1;
const ROUGH: f64 = 2_000.0;
/// What comes round again is off whole revolutions by less than this share of one.
const ROUND: f64 = 0.01;
/// What a block takes at a rate of 10^6 bytes a second, ns.
pub(crate) const BLOCK_NS_AT_1_MB_S: f64 = 512e3;
/// A block that takes less than this, ns, comes at 25 GB/s or more: no bus, but what times are off.
pub(crate) const NO_BUS: f64 = 20.0;
/// What is just being read on comes at once where it takes less than this share of a revolution.
const AT_ONCE: f64 = 0.7;
/// Blocks read on, at most.
const MOST: u64 = 1 << 17;

/// What is known of the read cache.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReadCache {
    /// Segments; none if there is no cache.
    pub segments: u32,
    /// Blocks of a segment.
    pub segment: u64,
    /// How far the drive reads on.
    pub ahead: Ahead,
    /// Blocks it reads on, at most.
    pub read_ahead: u64,
    /// Whether what is just being read on counts as found.
    pub almost_hits: bool,
    /// Whether it reads on again after a read that was all in memory.
    pub resumes: bool,
    /// Whether what passes before the first block wanted is kept, too.
    pub free: bool,
    /// Before the first block of an answer from memory, ms.
    pub hit: f64,
    /// Rate of the bus, 10^6 bytes/s; none if it takes no time.
    pub mb_s: Option<f64>,
}

impl ReadCache {
    /// What a block takes on the bus, ns.
    #[must_use]
    pub fn block_ns(&self) -> f64 {
        self.mb_s.map_or(0.0, |mb_s| BLOCK_NS_AT_1_MB_S / mb_s)
    }
}

/// How long a drive may take to read on, ns.
#[derive(Clone, Copy, Debug)]
struct ReadAheadPace {
    /// Before the first block.
    begin: f64,
    /// For each block after the first.
    block: f64,
}

impl ReadAheadPace {
    /// On the shortest tracks, a revolution taking `period` ns.
    fn new(geometry: &TrackGeometry, shift: u32, period: f64) -> ReadAheadPace {
        let track = geometry.map.regions.iter().filter(|region| !region.is_fragment()).map(|region| region.track).min();
        let blocks = track.unwrap_or(1).max(1) << shift;
        ReadAheadPace { begin: BEGIN * period, block: EACH * period / blocks as f64 }
    }

    /// The time after which so many blocks have been read on.
    fn rest(self, blocks: u64) -> Span {
        Span((self.begin + self.block * blocks as f64) as u64)
    }
}

/// Learns the read cache of a drive whose revolution takes `period` ns.
///
/// # Errors
/// As [`ProbeBench::read`].
pub fn learn<D: Device>(
    bench: &mut ProbeBench<D>,
    geometry: &TrackGeometry,
    period: f64,
) -> Result<ReadCache, BadInput> {
    let Some((least, most)) = bench.memory.hit else { return Ok(ReadCache::default()) };
    let single = f64::midpoint(least.0 as f64, most.0 as f64);
    let pace = ReadAheadPace::new(geometry, bench.shift, period);
    let ahead = ahead(bench, geometry, pace)?;
    let track = geometry.map.regions.iter().map(|region| region.track << bench.shift).max().unwrap_or(0);
    let read_ahead = match ahead {
        Ahead::Nowhere => 0,
        Ahead::Track => track,
        Ahead::NextTrack => 2 * track,
        Ahead::Cylinder => geometry.heads * track,
        Ahead::Most => {
            let looks = [farthest(bench, pace)?, farthest(bench, pace)?, farthest(bench, pace)?];
            median(&looks.map(|blocks| blocks as f64)) as u64
        }
    };
    let segment = segment(bench, geometry, (ahead, read_ahead), pace)?;
    let (hit, mb_s) = costs(bench, single, segment, period)?;
    let almost_hits = ahead == Ahead::Nowhere || almost_hits(bench, least, period)?;
    let found = ReadCache {
        segments: bench.memory.forgotten_after,
        segment,
        ahead,
        read_ahead,
        almost_hits,
        hit,
        mb_s,
        ..ReadCache::default()
    };
    Ok(ReadCache { resumes: resumes(bench, geometry, &found, pace)?, free: free(bench, geometry, segment)?, ..found })
}

/// Whether a read that is all in memory makes the drive read on again: after it reached its most, from the last block it
/// has; where its most is an end, after it was called off.
fn resumes<D: Device>(
    bench: &mut ProbeBench<D>,
    geometry: &TrackGeometry,
    cache: &ReadCache,
    pace: ReadAheadPace,
) -> Result<bool, BadInput> {
    let most = cache.read_ahead;
    if most < 2 << bench.shift || (cache.ahead != Ahead::Most && cache.segments < 2) {
        return Ok(false);
    }
    let mut verdicts = 0;
    for _ in 0..TRIALS {
        let sector = geometry.map.track_start(bench.draw.below(bench.mapped_sectors() / 4 * 3)) + 1;
        let first = sector << bench.shift;
        bench.read_medium(sector)?;
        let (again, asked) = match cache.ahead {
            Ahead::Most => (first + most, first + most + most / 2),
            _ => {
                let other = (sector + bench.mapped_sectors() / 8) % bench.mapped_sectors();
                bench.read_medium(other)?;
                (first, (sector + (geometry.map.next_track(sector) - sector) / 2) << bench.shift)
            }
        };
        bench.idle(pace.rest(most));
        bench.command(Verb::Read, Extent::new(again, 1))?;
        bench.idle(pace.rest(most));
        let reply = bench.command(Verb::Read, Extent::new(asked, 1))?;
        verdicts += u32::from(bench.is_hit(reply.response()));
    }
    Ok(verdicts > TRIALS / 2)
}

/// Whether what passes while the head waits for the first block wanted is in memory afterwards: an eighth of a track before
/// it, by most trials, each from somewhere else.
fn free<D: Device>(bench: &mut ProbeBench<D>, geometry: &TrackGeometry, segment: u64) -> Result<bool, BadInput> {
    let mut found = 0;
    for _ in 0..TRIALS {
        let (from, near) = (bench.draw.below(bench.mapped_sectors()), bench.draw.below(bench.mapped_sectors()));
        let start = geometry.map.track_start(near);
        // Where nothing holds still, the map may be none.
        let track = geometry.map.next_track(near).saturating_sub(start);
        let before = (track / 8).min(segment >> bench.shift >> 1);
        let wanted = start + track * 3 / 4;
        bench.read_medium(from)?;
        if before > 0 && bench.read_medium(wanted)?.is_some() {
            let reply = bench.read(wanted - before)?;
            found += u32::from(reply.is_some_and(|reply| bench.is_hit(reply.response())));
        }
    }
    Ok(found > TRIALS / 2)
}

/// Whether a read of the sector that is just being read on is answered as it passes, not a revolution later, and as an
/// answer from memory, which takes no less than `least`, is: not sooner, as from a medium that costs nothing to begin with.
fn almost_hits<D: Device>(bench: &mut ProbeBench<D>, least: Span, period: f64) -> Result<bool, BadInput> {
    let mut times = Vec::new();
    for _ in 0..TRIALS {
        let sector = bench.draw.below(bench.mapped_sectors() - 1);
        if bench.read_medium(sector)?.is_some() {
            times.extend(bench.read(sector + 1)?.map(|reply| reply.response().0 as f64));
        }
    }
    let time = median(&times);
    Ok(time >= least.0 as f64 && time < AT_ONCE * period)
}

/// Reads some blocks, lets the drive read on, and asks for another block: whether it is in memory.
fn reads_from_cache<D: Device>(
    bench: &mut ProbeBench<D>,
    read: Extent,
    asked: u64,
    rest: Span,
) -> Result<bool, BadInput> {
    if read.end().0 > bench.blocks() || asked >= bench.blocks() {
        return Ok(false);
    }
    bench.command(Verb::Read, read)?;
    bench.idle(rest);
    let reply = bench.command(Verb::Read, Extent::new(asked, 1))?;
    Ok(bench.is_hit(reply.response()))
}

/// How many of some trials, each somewhere else on the drive, find what they ask for in memory: `ask` gives a read and what
/// to ask for after it, from a sector that is not near the end of the drive.
fn count_hits<D: Device>(
    bench: &mut ProbeBench<D>,
    pace: ReadAheadPace,
    ask: impl Fn(u64) -> (Extent, u64),
) -> Result<u32, BadInput> {
    let mut count = 0;
    for _ in 0..TRIALS {
        let sector = bench.draw.below(bench.mapped_sectors() / 4 * 3);
        let (read, asked) = ask(sector);
        count += u32::from(reads_from_cache(bench, read, asked, pace.rest((asked + 1).saturating_sub(read.end().0)))?);
    }
    Ok(count)
}

/// How far the drive reads on after a short read.
fn ahead<D: Device>(
    bench: &mut ProbeBench<D>,
    geometry: &TrackGeometry,
    pace: ReadAheadPace,
) -> Result<Ahead, BadInput> {
    let shift = bench.shift;
    let one = |sector: u64| Extent::new(sector << shift, 1);
    let track_end = |sector: u64| geometry.map.next_track(sector);
    // Well before the end of its track: what follows, or, where a segment holds less, what was read on last.
    let early = |sector: u64| geometry.map.track_start(sector) + 1;
    let next = count_hits(bench, pace, |sector| (one(early(sector)), (early(sector) + 1) << shift))?;
    if next < TRIALS / 2
        && count_hits(bench, pace, |sector| (one(early(sector)), (track_end(sector) - 1) << shift))? < TRIALS / 2
    {
        return Ok(Ahead::Nowhere);
    }
    let ends = |bench: &mut ProbeBench<D>, end: &dyn Fn(u64) -> u64| -> Result<bool, BadInput> {
        Ok(count_hits(bench, pace, |sector| (one(early(sector)), (end(sector) - 1) << shift))? >= TRIALS - 1
            && count_hits(bench, pace, |sector| (one(early(sector)), end(sector) << shift))? <= 1)
    };
    if ends(bench, &track_end)? {
        // From the end of one track to the beginning of the next: whether the one after is read, too.
        let across = |sector: u64| {
            let edge = track_end(sector);
            (Extent::new((edge << shift) - 1, 2), (track_end(track_end(edge)) - 1) << shift)
        };
        return Ok(if count_hits(bench, pace, across)? > TRIALS / 2 { Ahead::NextTrack } else { Ahead::Track });
    }
    if ends(bench, &|sector| geometry.cylinder_end(sector))? {
        return Ok(Ahead::Cylinder);
    }
    Ok(Ahead::Most)
}

/// The most blocks read on after one.
fn farthest<D: Device>(bench: &mut ProbeBench<D>, pace: ReadAheadPace) -> Result<u64, BadInput> {
    let sector = 1 << bench.shift;
    let (mut found, mut gone) = (sector - 1, 2 * sector - 1);
    let mut ask = |distance: u64| -> Result<bool, BadInput> {
        let start = bench.draw.below(bench.mapped_sectors() / 2) << bench.shift;
        reads_from_cache(bench, Extent::new(start, 1), start + distance, pace.rest(distance))
    };
    while gone < MOST && ask(gone)? {
        (found, gone) = (gone, 2 * gone);
    }
    while gone - found > 1 {
        let middle = found + (gone - found) / 2;
        if ask(middle)? { found = middle } else { gone = middle }
    }
    Ok(found + 1 - sector)
}

/// Blocks of a segment: those that are left, up to where the drive has read on, of a read of more.
fn segment<D: Device>(
    bench: &mut ProbeBench<D>,
    geometry: &TrackGeometry,
    (ahead, read_ahead): (Ahead, u64),
    pace: ReadAheadPace,
) -> Result<u64, BadInput> {
    let shift = bench.shift;
    let end = |read: Extent| {
        let (sector, last) = ((read.end().0 >> shift), (read.end().0 - 1) >> shift);
        let end = match ahead {
            Ahead::Nowhere => last + 1,
            Ahead::Track => geometry.map.next_track(last),
            Ahead::Cylinder => geometry.cylinder_end(last),
            Ahead::NextTrack => {
                let next = geometry.map.next_track(sector);
                let began = (read.start.0 >> shift) < geometry.map.track_start(sector);
                if began { geometry.map.next_track(next) } else { next }
            }
            Ahead::Most => return ((last + 1) << shift) + read_ahead,
        };
        end << shift
    };
    let mut ask = |blocks: u64, left: u64| -> Result<bool, BadInput> {
        let mut count = 0;
        for trial in 0..3 {
            let start = bench.draw.below(bench.mapped_sectors() / 2) << shift;
            let read = Extent::new(start, blocks as u32);
            let (end, rest) = (end(read), pace.rest(end(read).saturating_sub(read.end().0)));
            count += u32::from(reads_from_cache(bench, read, end.saturating_sub(left.max(1)), rest)?);
            if count == 0 && trial == 1 || count == 2 {
                break;
            }
        }
        Ok(count > 1)
    };
    // More than it holds, so that what is left begins after the read.
    let mut blocks = 1;
    while blocks < MOST && ask(blocks, blocks)? {
        blocks *= 2;
    }
    let (mut left, mut gone) = (0, blocks);
    while gone - left > 1 {
        let middle = left + (gone - left) / 2;
        if ask(2 * blocks, middle)? { left = middle } else { gone = middle }
    }
    Ok(left.max(1))
}

/// What an answer from memory takes before its first block, ms, and the rate at which blocks follow: by the longest read
/// that is all in memory when it is asked for again, since it takes no more of a block than one half as long. One that is not comes
/// round again, whole revolutions after it first did.
fn costs<D: Device>(
    bench: &mut ProbeBench<D>,
    single: f64,
    segment: u64,
    period: f64,
) -> Result<(f64, Option<f64>), BadInput> {
    let comes_round = |each: f64, many: u64| {
        let turns = (single + each * (many - 1) as f64) / period;
        turns > 0.5 && signed_fraction(turns).abs() < ROUND
    };
    let mut many = (segment / 2).clamp(2, 128);
    let mut each = each_of(bench, single, many)?;
    while many > 3 {
        let half = each_of(bench, single, many / 2)?;
        if each < half * ALIKE + ROUGH && !comes_round(each, many) {
            break;
        }
        (many, each) = (many / 2, half);
    }
    let mb_s = (each > NO_BUS).then_some(BLOCK_NS_AT_1_MB_S / each);
    Ok(((single - each) / NS_PER_MS, mb_s))
}

/// What each further block of a read of so many takes when it is asked for again, ns.
fn each_of<D: Device>(bench: &mut ProbeBench<D>, single: f64, many: u64) -> Result<f64, BadInput> {
    let mut times = Vec::new();
    for _ in 0..9 {
        let start = bench.draw.below(bench.mapped_sectors() / 2) << bench.shift;
        bench.command(Verb::Read, Extent::new(start, many as u32))?;
        times.push(bench.command(Verb::Read, Extent::new(start, many as u32))?.response().0 as f64);
    }
    Ok(((median(&times) - single) / (many - 1) as f64).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::laws::{draw_geometry, of_each};

    #[test]
    fn any_track_was_read_on_by_the_time_that_is_left_for_it() {
        of_each(|seed| {
            let geometry = draw_geometry(seed);
            let (period, shift) = (6e6, (seed % 4) as u32);
            let pace = ReadAheadPace::new(&geometry, shift, period);
            for region in geometry.map.regions.iter().filter(|region| !region.is_fragment()) {
                let rest = pace.rest(region.track << shift).0 as f64;
                assert!(rest >= (BEGIN + EACH) * period - 1.0, "{rest}: {region:?}");
            }
            // And a track alone takes no longer than it may.
            let shortest =
                geometry.map.regions.iter().filter(|region| !region.is_fragment()).map(|region| region.track);
            let rest = shortest.min().map_or(0.0, |track| pace.rest(track << shift).0 as f64);
            assert!((rest - (BEGIN + EACH) * period).abs() < 2.0, "{rest}");
        });
    }
}
