//! Read cache, as far as the other probes must know it: what an answer from memory looks like, and how many reads
//! elsewhere drive it out (the segments, where the least recently used gives way).

use crate::Thoroughness;
use crate::bench::{Memory, ProbeBench};
use crate::estimate::{median, spread};
use block::{BadInput, Device, Span};

/// Pairs of reads, the second of the same blocks as the first.
const PAIRS: u64 = 24;

/// Answers from memory that tell that there is one.
const ENOUGH: usize = 4;

/// Segments looked for, at most.
const MOST: u32 = 1 << 13;
/// Of so many it is not asked twice where that is to be quick: to fill them takes long.
const MANY: u32 = 256;
/// Blocks beyond a read at which answers from memory are looked for: what was read itself may be dropped for what is read on.
const BEYOND: [u64; 3] = [0, 32, 8];
/// The time for a drive to read on, and how far after a read it is looked for what it kept, as a power of two.
const READ_ON: Span = Span(50_000_000);
const FARTHEST_BITS: u32 = 10;
/// Answers from memory vary by less than this, ns: some tens of µs of jitter in the host.
const STEADY: f64 = 120_000.0;

/// Finds out about the memory; the bench knows it afterwards.
///
/// # Errors
/// As [`ProbeBench::read`].
pub fn learn<D: Device>(bench: &mut ProbeBench<D>, effort: Thoroughness) -> Result<(), BadInput> {
    bench.memory = Memory::default();
    let all = bench.sectors();
    for beyond in BEYOND.into_iter().filter(|beyond| *beyond < all) {
        bench.memory.hit = find_hit_time(bench, beyond)?;
        if bench.memory.hit.is_some() {
            break;
        }
    }
    if bench.memory.hit.is_none() {
        return Ok(());
    }
    bench.memory.forgotten_after = segments(bench, 0, effort)?;
    if bench.memory.forgotten_after == 1
        && let Some(beyond) = kept_beyond(bench)?
    {
        bench.memory.forgotten_after = segments(bench, beyond, effort)?;
    }
    Ok(())
}

/// The time of an answer from memory, at least and at most, as what lies so many blocks beyond a read shows it. That is asked for after
/// any part of some turns, or what comes by soon after the read would look alike.
fn find_hit_time<D: Device>(bench: &mut ProbeBench<D>, beyond: u64) -> Result<Option<(Span, Span)>, BadInput> {
    let (mut first, mut again, mut pauses) = (Vec::new(), Vec::new(), Vec::new());
    let longest = if beyond == 0 { 1_000_000 } else { READ_ON.0 };
    for _ in 0..PAIRS {
        let sector = bench.draw.below(bench.sectors() - beyond);
        let pause = bench.draw.below(longest);
        if let Some(reply) = bench.read(sector)? {
            first.push(reply.response().0 as f64);
            bench.idle(Span(pause));
            if let Some(reply) = bench.read(sector + beyond)? {
                again.push(reply.response().0 as f64);
                pauses.push(pause as f64);
            }
        }
    }
    if spread(&again) > STEADY && beyond == 0 {
        again = pick_answers_from_memory(&first, &again, &pauses);
    }
    let (middle, spread) = (median(&again), spread(&again));
    // What answers at random as it does from memory has nothing to tell them apart.
    if again.is_empty() || spread > STEADY || median(&first) < 2.0 * middle {
        return Ok(None);
    }
    // A host is late, not early: now and then by many times the spread.
    let (sooner, later) = (6.0 * spread + 2_000.0, 15.0 * spread + 2_000.0);
    Ok(Some((Span((middle - sooner).max(0.0) as u64), Span((middle + later) as u64))))
}

/// Where a drive reads on for as much as a segment holds, and so drops what was read: how many blocks after that one lies the middle of
/// what is kept. Segments are as many as drive that out.
fn kept_beyond<D: Device>(bench: &mut ProbeBench<D>) -> Result<Option<u64>, BadInput> {
    let all = bench.sectors();
    let mut is_kept = |beyond: u64| {
        let sector = bench.draw.below(all - beyond);
        bench.read(sector)?;
        bench.idle(READ_ON);
        in_memory(bench, sector + beyond)
    };
    let mut kept = Vec::new();
    for beyond in (0..=FARTHEST_BITS).map(|bits| 1 << bits).take_while(|beyond| *beyond < all) {
        if is_kept(beyond)? && is_kept(beyond)? {
            kept.push(beyond);
        }
    }
    Ok(kept.get(kept.len() / 2).copied())
}

/// The answers that came from memory, of a drive that soon drops what it has read for what it reads on: the least that are alike,
/// if first reads are hardly ever answered as soon. They take as long whatever the pause before; where a sector has to come round
/// again, it takes less, the longer the pause.
fn pick_answers_from_memory(first: &[f64], again: &[f64], pauses: &[f64]) -> Vec<f64> {
    let soon = again.iter().copied().fold(f64::MAX, f64::min) + STEADY;
    let (alike, ends): (Vec<f64>, Vec<f64>) = std::iter::zip(again, pauses)
        .filter(|(again, _)| **again < soon)
        .map(|(again, pause)| (*again, again + pause))
        .unzip();
    let by_chance = first.iter().filter(|first| **first < soon).count();
    let came = alike.len() >= ENOUGH + 4 * by_chance && spread(&alike) < spread(&ends);
    if came { alike } else { Vec::new() }
}

/// Reads elsewhere after which a read is no longer in memory, nor what lies so far beyond it: as most of three trials say.
fn segments<D: Device>(bench: &mut ProbeBench<D>, beyond: u64, effort: Thoroughness) -> Result<u32, BadInput> {
    let mut kept: u32 = 1;
    let once = |kept: u32| effort == Thoroughness::Quick && kept >= MANY;
    while kept < MOST && !forgets(bench, (kept, beyond), if once(kept) { 1 } else { 2 })? {
        kept *= 2;
    }
    let mut trial = || trial(bench, (kept, beyond));
    if once(kept) {
        return trial();
    }
    let mut found = [trial()?, trial()?, 0];
    found[2] = if found[0] == found[1] { found[0] } else { trial()? };
    found.sort_unstable();
    Ok(found[1])
}

/// Sectors to be read one after the other, spread evenly over part of the device, so that no two are near each other; what lies
/// so far beyond each is on the device, too.
fn spread_out<D: Device>(bench: &mut ProbeBench<D>, (count, beyond): (u32, u64)) -> Vec<u64> {
    let (all, count) = (bench.sectors() - beyond, u64::from(count));
    let first = bench.draw.below(all);
    let step = ((1 << 22) / count).max(1 << 13).min(all / (count + 1)).max(1);
    (0..count).map(|i| (first + i * step) % all).collect()
}

/// Whether what lies so far beyond a read is forgotten after so many others: as so many trials say.
fn forgets<D: Device>(bench: &mut ProbeBench<D>, (others, beyond): (u32, u64), enough: u32) -> Result<bool, BadInput> {
    let mut verdicts = [0u32; 2];
    while verdicts[0].max(verdicts[1]) < enough {
        let sectors = fill(bench, (others + 1, beyond))?;
        if let Some(reply) = bench.read(sectors[0])? {
            verdicts[usize::from(!bench.is_hit(reply.response()))] += 1;
        }
    }
    Ok(verdicts[1] > verdicts[0])
}

/// How many of the last reads are in memory, `most` at the most: roughly by halving, since each that is not drives out
/// another, then one after the other from the most recent that may not be. What lies so far beyond each tells.
fn trial<D: Device>(bench: &mut ProbeBench<D>, (most, beyond): (u32, u64)) -> Result<u32, BadInput> {
    let sectors = fill(bench, (most, beyond))?;
    let (mut held, mut gone) = (0, most + 1);
    while gone - held > 1 {
        let middle = held + (gone - held) / 2;
        if in_memory(bench, sectors[(most - middle) as usize])? { held = middle } else { gone = middle }
    }
    let sectors = fill(bench, (most, beyond))?;
    while held < most && in_memory(bench, sectors[(most - held - 1) as usize])? {
        held += 1;
    }
    Ok(held.max(1))
}

/// Sectors so far beyond those that were read one after the other.
fn fill<D: Device>(bench: &mut ProbeBench<D>, (count, beyond): (u32, u64)) -> Result<Vec<u64>, BadInput> {
    let mut sectors = spread_out(bench, (count, beyond));
    for sector in &mut sectors {
        bench.read(*sector)?;
        *sector += beyond;
    }
    Ok(sectors)
}

fn in_memory<D: Device>(bench: &mut ProbeBench<D>, sector: u64) -> Result<bool, BadInput> {
    Ok(bench.read(sector)?.is_some_and(|reply| bench.is_hit(reply.response())))
}
