//! The first tracks of a region: sectors all round, sectors of data on a track, and the turn to the next.

use crate::bench::Bench;
use crate::estimate::{fraction, median, signed};
use crate::eye::Eye;
use crate::map::Region;
use block::{BadInput, Device};

/// Sectors between the first four looks; no track is so short that two of the three steps cross its end.
const STEP: u64 = 14;
/// Sectors on a track, at most.
const MOST: u64 = 1 << 15;

/// The angle of a sector that can be read at or before it, and which.
fn near<D: Device>(eye: &mut Eye<D>, sector: u64) -> Result<f64, BadInput> {
    match eye.angle(sector)? {
        Some(angle) => Ok(angle),
        None => Err(unreadable(eye.bench, sector)),
    }
}

fn unreadable<D: Device>(bench: &Bench<D>, sector: u64) -> BadInput {
    bench.error(
        format!("sector {sector} cannot be read where a zone is to be learned"),
        "profile a drive whose sectors can be read",
    )
}

/// Learns the region that begins at a sector, seen at an angle.
pub(super) fn region<D: Device>(eye: &mut Eye<D>, first: u64, angle: f64) -> Result<Region, BadInput> {
    let all = eye.bench.sectors();
    let rough = slope(eye, first, angle)?;
    let (end, per_sector) = track_end(eye, (first, angle), rough, all)?;
    let round = (1.0 / per_sector + 0.5) as u32;
    if round < 2 || end >= all {
        let round = round.max(2);
        let start = angle - 1.0 / f64::from(round);
        return Ok(plain(first, round, u64::from(round).max(end - first), 0.0, fraction(start)));
    }
    let width = 1.0 / f64::from(round);
    let next = near(eye, end)?;
    let track = track(eye, end, (round, next), (end - first).min(u64::from(round)))?;
    let skip = track.saturating_sub(end - first);
    let start = angle - width - skip as f64 * width;
    let turn = next - width - start;
    let region = plain(first, round, track.max(end - first), fraction(turn), fraction(start));
    Ok(Region { skip, ..region })
}

/// Sectors of data on a track, of which one ends before `end`, seen at an angle: all there are, if one of the next two
/// tracks has them, since slips and remaps only take some away; else the most that one of them has.
fn track<D: Device>(eye: &mut Eye<D>, end: u64, (round, angle): (u32, f64), first: u64) -> Result<u64, BadInput> {
    let (whole, width, all) = (u64::from(round), 1.0 / f64::from(round), eye.bench.sectors());
    let (mut begin, mut angle, mut most) = (end, angle, first);
    for _ in 0..2 {
        let last = begin + whole - 1;
        if most == whole || last >= all {
            return Ok(whole);
        }
        let far = near(eye, last)?;
        if signed(far - angle - (last - begin) as f64 * width).abs() < 0.35 * width {
            return Ok(whole);
        }
        let next = track_end(eye, (begin, angle), width, all)?.0;
        most = if begin == end { next - begin } else { most.max(next - begin) };
        begin = next;
        angle = near(eye, begin.min(all - 1))?;
    }
    Ok(most)
}

fn plain(first: u64, round: u32, track: u64, turn: f64, angle: f64) -> Region {
    Region { first, sectors: 0, skip: 0, round, track, turn, levels: Vec::new(), angle, slips: Vec::new() }
}

/// Turn of one sector, about: the median of three steps, looked at backwards, since what follows a read is in memory.
fn slope<D: Device>(eye: &mut Eye<D>, first: u64, angle: f64) -> Result<f64, BadInput> {
    let last = eye.bench.sectors() - 1;
    let mut seen = vec![];
    for i in (1..=3).rev() {
        seen.push(near(eye, (first + i * STEP).min(last))?);
    }
    seen.push(angle);
    let steps: Vec<f64> = seen.windows(2).map(|pair| fraction(pair[0] - pair[1]) / STEP as f64).collect();
    Ok(median(&steps))
}

/// The first sector past the end of the track of `from`, and the turn of one sector.
fn track_end<D: Device>(eye: &mut Eye<D>, from: (u64, f64), rough: f64, all: u64) -> Result<(u64, f64), BadInput> {
    let (first, angle) = from;
    let (mut on, mut off) = (first, None);
    let mut per_sector = rough;
    let mut step = 2 * STEP;
    // Whether a sector is where it would be on the same track: within a third of a sector, and of what the slope may err by.
    let linear = |angle_there: f64, distance: u64, per_sector: f64| {
        let expected = distance as f64 * per_sector;
        let by = signed(angle_there - angle - expected);
        (by.abs() < 0.35 * per_sector && expected < 1.0 + per_sector).then_some((expected + by) / distance as f64)
    };
    while off.is_none() && step < MOST {
        let there = (first + step).min(all);
        let better = if there == all { None } else { linear(near(eye, there)?, step, per_sector) };
        match better {
            Some(better) => (on, per_sector) = (there, better),
            None => off = Some(there),
        }
        step = (step + step / 2).max(step + STEP);
    }
    let mut off = off.unwrap_or(first + MOST);
    // Where a whole track would end is the likeliest place.
    let whole = first + (1.0 / per_sector + 0.5) as u64;
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
