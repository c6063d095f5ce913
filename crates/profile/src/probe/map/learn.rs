//! The first tracks of a region: sectors all round, sectors of data on a track, and the turn to the next.

use super::{HERE, LEAST_ROUND};
use crate::bench::ProbeBench;
use crate::estimate::{fraction, median, signed_fraction};
use crate::eye::Eye;
use crate::map::{ALIKE, MapRegion};
use block::{BadInput, Device};

/// Sectors between the first four looks; no track is so short that two of the three steps cross its end.
const STEP: u64 = 14;
/// Sectors to the one by which a width met before is known again.
const FAMILIAR: u64 = 160;
/// And at most so far round the track: what follows a read is read ahead while a command is taken in.
const FAMILIAR_ROUND: f64 = 0.4;
/// Sectors on a track, at most.
const MOST: u64 = 1 << 15;
/// Slips on a track, at most.
const SLIPS: usize = 32;
/// No arm is so quick that the next track is turned by less, revolutions.
const SLIP: f64 = 1.0 / 64.0;

/// The angle of a sector that can be read at or before it, and which.
fn near<D: Device>(eye: &mut Eye<D>, sector: u64) -> Result<f64, BadInput> {
    match eye.recall(sector, None)? {
        Some(angle) => Ok(angle),
        None => Err(unreadable(eye.bench, sector)),
    }
}

fn unreadable<D: Device>(bench: &ProbeBench<D>, sector: u64) -> BadInput {
    bench.error(
        format!("sector {sector} cannot be read where a zone is to be learned"),
        "profile a drive whose sectors can be read",
    )
}

/// Learns the region that begins at a sector, seen at an angle; its sectors may be as wide as some met before.
pub(super) fn region<D: Device>(
    eye: &mut Eye<D>,
    (first, angle): (u64, f64),
    widths: &[f64],
) -> Result<MapRegion, BadInput> {
    let all = eye.bench.sectors();
    eye.since = first;
    let rough = match familiar(eye, (first, angle), widths)? {
        Some(width) => width,
        None => slope(eye, first, angle)?.or(widths.last().copied()).unwrap_or(1.0 / f64::from(LEAST_ROUND)),
    };
    let SectorLine { end, per_sector, slipped } = line(eye, (first, angle), rough, all)?;
    let round = ((1.0 / per_sector + 0.5) as u64).min(MOST) as u32;
    let length = end - first + slipped;
    if round < 2 || end >= all {
        let round = round.max(2);
        let start = angle - 1.0 / f64::from(round);
        return Ok(plain(first, round, u64::from(round).max(length), 0.0, fraction(start)));
    }
    let width = 1.0 / f64::from(round);
    eye.since = end;
    let next = near(eye, end)?;
    let track = track(eye, end, (round, next), length.min(u64::from(round)))?;
    let skip = track.saturating_sub(length);
    let start = angle - width - skip as f64 * width;
    let turn = next - width - start;
    let region = plain(first, round, track.max(length).min(u64::from(round)), fraction(turn), fraction(start));
    Ok(MapRegion { skip, ..region })
}

/// Sectors of data on a track, of which one ends before `end`, seen at an angle: all there are, if one of the next two
/// tracks has them, since slips and remaps only take some away; else the most that one of them has. Tracks of another
/// kind tell nothing.
fn track<D: Device>(eye: &mut Eye<D>, end: u64, (round, angle): (u32, f64), first: u64) -> Result<u64, BadInput> {
    let (whole, width, all) = (u64::from(round), 1.0 / f64::from(round), eye.bench.sectors());
    let (mut begin, mut angle, mut most, mut alike) = (end, angle, first, 0);
    for _ in 0..2 {
        let last = begin + whole - 1;
        if most == whole || last >= all {
            return Ok(whole);
        }
        let far = near(eye, last)?;
        if signed_fraction(far - angle - (last - begin) as f64 * width).abs() < HERE * width {
            return Ok(whole);
        }
        let SectorLine { end: next, per_sector, slipped } = line(eye, (begin, angle), width, all)?;
        if (1.0 / per_sector + 0.5) as u32 == round {
            let length = next - begin + slipped;
            most = if alike == 0 { length } else { most.max(length) };
            alike += 1;
        }
        begin = next;
        eye.since = begin;
        angle = near(eye, begin.min(all - 1))?;
    }
    Ok(if alike == 0 && 2 * first > whole { whole } else { most })
}

/// Sectors in line on a track.
#[derive(Clone, Copy, Debug)]
struct SectorLine {
    /// The first that is not.
    end: u64,
    /// The turn of one, revolutions.
    per_sector: f64,
    /// Places passed over among them.
    slipped: u64,
}

/// Sectors of a track, slipped ones included, from one on whose angle was seen, if they are about so wide.
pub(super) fn count_remaining<D: Device>(eye: &mut Eye<D>, from: (u64, f64), width: f64) -> Result<u64, BadInput> {
    let all = eye.bench.sectors();
    let line = line(eye, from, width, all)?;
    Ok(line.end - from.0 + line.slipped)
}

/// The sectors in line from one on, whose angle was seen, up to the end of its track. A step too small for the arm is no
/// end but a slip.
fn line<D: Device>(eye: &mut Eye<D>, from: (u64, f64), rough: f64, all: u64) -> Result<SectorLine, BadInput> {
    let first = from.0;
    let (mut from, mut per_sector, mut slipped) = (from, rough, 0);
    for _ in 0..SLIPS {
        let (end, width) = track_end(eye, from, per_sector, all)?;
        let line = SectorLine { end, per_sector: if slipped == 0 { width } else { per_sector }, slipped };
        if end >= all {
            return Ok(line);
        }
        per_sector = line.per_sector;
        let angle = near(eye, end)?;
        let places = signed_fraction(angle - from.1 - (end - from.0) as f64 * width) / width;
        let whole = libm::round(places);
        let round = (1.0 / width + 0.5) as u64;
        let beyond = (end - first + slipped).saturating_add(whole.max(0.0) as u64) >= round;
        if beyond || whole < 1.0 || whole * width > SLIP || (places - whole).abs() > HERE {
            return Ok(line);
        }
        slipped += whole as u64;
        from = (end, angle);
    }
    Ok(SectorLine { end: from.0, per_sector, slipped })
}

fn plain(first: u64, round: u32, track: u64, turn: f64, angle: f64) -> MapRegion {
    MapRegion {
        first,
        sectors: 0,
        skip: 0,
        round,
        track,
        turn,
        levels: Vec::new(),
        angle,
        runs: Vec::new(),
        slips: Vec::new(),
        bends: Vec::new(),
    }
}

/// Of some widths the one that sectors from one on have, if any.
fn familiar<D: Device>(eye: &mut Eye<D>, (first, angle): (u64, f64), widths: &[f64]) -> Result<Option<f64>, BadInput> {
    let narrowest = widths.iter().copied().fold(1.0, f64::min);
    let steps = ((FAMILIAR_ROUND / narrowest) as u64).min(FAMILIAR);
    let there = first + steps;
    if steps < STEP || widths.is_empty() || there >= eye.bench.sectors() {
        return Ok(None);
    }
    let turned = near(eye, there)? - angle;
    let off = |width: f64| signed_fraction(turned - steps as f64 * width).abs() / width;
    Ok(widths.iter().copied().min_by(|a, b| off(*a).total_cmp(&off(*b))).filter(|width| off(*width) < ALIKE))
}

/// Turn of one sector, about: the median of three steps, looked at backwards, since what follows a read is in memory. Nothing where
/// the drive ends too soon.
fn slope<D: Device>(eye: &mut Eye<D>, first: u64, angle: f64) -> Result<Option<f64>, BadInput> {
    let left = eye.bench.sectors() - 1 - first;
    let step = STEP.min(left / 3);
    if step == 0 {
        return Ok(None);
    }
    let mut seen = vec![];
    for i in (1..=3).rev() {
        seen.push(near(eye, first + i * step)?);
    }
    seen.push(angle);
    let steps: Vec<f64> = seen.windows(2).map(|pair| fraction(pair[0] - pair[1]) / step as f64).collect();
    Ok(Some(median(&steps)))
}

/// The first sector past the end of the track of `from`, and the turn of one sector.
fn track_end<D: Device>(eye: &mut Eye<D>, from: (u64, f64), rough: f64, all: u64) -> Result<(u64, f64), BadInput> {
    let (first, angle) = from;
    let (mut on, mut off) = (first, None);
    let mut per_sector = rough;
    let mut step = 2 * STEP;
    // Whether a sector is where it would be on the same track, no further than once round: within a third of a sector, and
    // of what the slope may err by.
    let linear = |angle_there: f64, distance: u64, per_sector: f64| {
        let expected = distance as f64 * per_sector;
        let by = signed_fraction(angle_there - angle - expected);
        (by.abs() < HERE * per_sector && expected < 1.0 - per_sector / 2.0).then_some((expected + by) / distance as f64)
    };
    // Where a whole track would end is the likeliest place, if sectors are as wide as thought.
    let whole = |per_sector: f64| first.saturating_add((1.0 / per_sector + 0.5) as u64);
    let last = whole(per_sector) - 1;
    if last > first + step
        && last + 1 < all
        && let Some(better) = linear(near(eye, last)?, last - first, per_sector)
    {
        (on, per_sector) = (last, better);
        off = linear(near(eye, last + 1)?, last + 1 - first, per_sector).is_none().then_some(last + 1);
    }
    while off.is_none() && step < MOST {
        let there = (first + step).min(all);
        step = (step + step / 2).max(step + STEP);
        if there <= on {
            continue;
        }
        let better = if there == all { None } else { linear(near(eye, there)?, there - first, per_sector) };
        match better {
            Some(better) => (on, per_sector) = (there, better),
            None => off = Some(there),
        }
    }
    let mut off = off.unwrap_or(first + MOST);
    let whole = whole(per_sector);
    for guess in [whole, whole - 1] {
        if on < guess && guess < off {
            match linear(near(eye, guess)?, guess - first, per_sector) {
                Some(better) => (on, per_sector) = (guess, better),
                None => off = guess,
            }
        }
    }
    while off - on > 1 {
        let middle = on + (off - on) / 2;
        match linear(near(eye, middle)?, middle - first, per_sector) {
            Some(better) => (on, per_sector) = (middle, better),
            None => off = middle,
        }
    }
    Ok((off, per_sector))
}
