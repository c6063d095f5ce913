//! Read cache, as far as the other probes must know it: what an answer from memory looks like, and how many reads
//! elsewhere drive it out (the segments, where the least recently used gives way).

use crate::bench::{Bench, Memory};
use crate::estimate::{median, spread};
use block::{BadInput, Device, Span};

/// Reads twice over.
const PAIRS: u64 = 24;

/// Segments looked for, at most.
const MOST: u32 = 1 << 13;
/// Answers from memory vary by less than this, ns: some tens of µs of jitter in the host.
const STEADY: f64 = 120_000.0;

/// Finds out about the memory; the bench knows it afterwards.
///
/// # Errors
/// As [`Bench::read`].
pub fn learn<D: Device>(bench: &mut Bench<D>) -> Result<(), BadInput> {
    bench.memory = Memory::default();
    let (mut first, mut again) = (Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        let sector = bench.draw.below(bench.sectors());
        let pause = bench.draw.below(1_000_000);
        if let Some(reply) = bench.read(sector)? {
            first.push(reply.response().0 as f64);
            bench.idle(Span(pause));
            if let Some(reply) = bench.read(sector)? {
                again.push(reply.response().0 as f64);
            }
        }
    }
    let (middle, spread) = (median(&again), spread(&again));
    // What answers at random as it does from memory has nothing to tell them apart.
    if again.is_empty() || spread > STEADY || median(&first) < 2.0 * middle {
        return Ok(());
    }
    let margin = 6.0 * spread + 2_000.0;
    bench.memory.hit = Some((Span((middle - margin).max(0.0) as u64), Span((middle + margin) as u64)));
    bench.memory.forgotten_after = segments(bench)?;
    Ok(())
}

/// Reads elsewhere after which a read is no longer in memory.
fn segments<D: Device>(bench: &mut Bench<D>) -> Result<u32, BadInput> {
    let (mut kept, mut gone) = (0, 1);
    while !forgotten(bench, gone)? {
        if gone >= MOST {
            return Ok(gone);
        }
        (kept, gone) = (gone, 2 * gone);
    }
    while gone - kept > 1 {
        let middle = kept + (gone - kept) / 2;
        if forgotten(bench, middle)? { gone = middle } else { kept = middle }
    }
    Ok(gone)
}

/// Whether a read is forgotten after so many others: as most of three say.
fn forgotten<D: Device>(bench: &mut Bench<D>, others: u32) -> Result<bool, BadInput> {
    let mut verdicts = [0u32; 2];
    while verdicts[0] < 2 && verdicts[1] < 2 {
        let all = bench.sectors();
        let (sector, near) = (bench.draw.below(all), all.min(1 << 22));
        let Some(_) = bench.read(sector)? else { continue };
        for i in 0..u64::from(others) {
            // Spread evenly, so that no two are near each other, nor near the one to be forgotten.
            let step = near / (u64::from(others) + 2);
            bench.read((sector + near / 2 + i * step.max(1)) % all)?;
        }
        if let Some(reply) = bench.read(sector)? {
            verdicts[usize::from(!bench.is_hit(reply.response()))] += 1;
        }
    }
    Ok(verdicts[1] > verdicts[0])
}
