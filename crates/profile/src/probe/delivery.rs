//! The way of a read's data to the host, seen on the medium: where the bus is slower than the platter, or data begin to go
//! only when much of a read is there, a longer read ends later than its last sector passes.

use crate::estimate::{fraction, median};
use crate::eye::Eye;
use crate::map::{MapRegion, TrackGeometry};
use block::{BadInput, Device, Extent, Verb};

/// Trials of each length.
const TRIALS: usize = 9;
/// The longest read, as a share of a track: few begin where the head lands in it, on drives that do.
const LONGEST: f64 = 0.4;
/// Ending so much later than it passes, as a share of what it takes to pass, a read waits for the bus.
const WAITS: f64 = 0.02;
/// Beyond the mean of the trials a read is later than it passes by more than so many standard errors.
const BY_CHANCE: f64 = 3.0;
/// What an end may be early by, revolutions, for it to be told from late: no trial is off by a quarter of a revolution.
const EARLY: f64 = 0.25;
/// What a share of a read may be off to be none, or all.
const UNSURE: f64 = 0.04;

/// The way to the host.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HostDelivery {
    /// What a block takes on the bus, ns; zero if that shows nowhere.
    pub block: f64,
    /// Share of a read that is in the buffer before its data begin to go.
    pub watermark: f64,
}

/// Learns how data go to the host, on which a block takes so many ns as answers from memory have it, if any are. Where
/// none are, they are taken to go as they come.
///
/// # Errors
/// As [`crate::bench::ProbeBench::read`].
pub fn learn<D: Device>(
    eye: &mut Eye<D>,
    geometry: &TrackGeometry,
    block: Option<f64>,
) -> Result<HostDelivery, BadInput> {
    let plain = HostDelivery { block: block.unwrap_or(0.0), watermark: 0.0 };
    let region = geometry.map.regions.iter().max_by_key(|region| region.sectors);
    let Some(region) = region.filter(|region| region.sectors > 4 * region.track) else { return Ok(plain) };
    let shift = eye.bench.shift;
    let sector = eye.clock.period / f64::from(region.round);
    let Some(one) = passes_after(eye, region, 1, 1)? else { return Ok(plain) };
    let (mut sectors, mut later) = (1, 0.0);
    // Lengths that double, so that whole revolutions are told apart.
    while ((2 * sectors) as f64) < LONGEST * region.track as f64 {
        let expected = 2.0 * later;
        let Some(angle) = passes_after(eye, region, 2 * sectors, ((2 * sectors) << shift) as u32)? else { break };
        let turns = fraction(angle - one - expected / eye.clock.period + 0.5) - 0.5;
        (sectors, later) = (2 * sectors, expected + turns * eye.clock.period);
    }
    let passing = sectors as f64 * sector;
    let chance = BY_CHANCE * eye.clock.noise * eye.clock.period / libm::sqrt(TRIALS as f64);
    if later < WAITS * passing + chance + plain.block {
        return Ok(plain);
    }
    let blocks = (sectors << shift) as f64;
    let Some(block) = block else {
        return Ok(HostDelivery { block: (later + passing - sector) / (blocks - 1.0), watermark: 0.0 });
    };
    let held = (passing + block + later - blocks * block) / passing;
    let watermark = match held - sector / passing {
        below if below < UNSURE => 0.0,
        _ => {
            if held > 1.0 - UNSURE {
                1.0
            } else {
                held
            }
        }
    };
    Ok(HostDelivery { block, watermark })
}

/// The angle from where so many sectors, of which so many blocks are read, end to where the read completes: the median of
/// some trials, each begun far from the last.
fn passes_after<D: Device>(
    eye: &mut Eye<D>,
    region: &MapRegion,
    sectors: u64,
    blocks: u32,
) -> Result<Option<f64>, BadInput> {
    let mut angles = Vec::new();
    for _ in 0..2 * TRIALS {
        let start = region.track_start(region.first + region.track + eye.bench.draw.below(region.sectors / 2));
        let place = region.place(start + 1);
        let elsewhere = eye.bench.draw.below(eye.bench.mapped_sectors());
        if place.left <= sectors || eye.angle(elsewhere)?.is_none() {
            continue;
        }
        let reply = eye.bench.command(Verb::Read, Extent::new((start + 1) << eye.bench.shift, blocks))?;
        let end = place.angle + sectors as f64 * place.width();
        if reply.done {
            angles.push(fraction(eye.clock.phase(reply.end) - end + EARLY));
        }
        if angles.len() == TRIALS {
            break;
        }
    }
    Ok((angles.len() > TRIALS / 2).then(|| median(&angles)))
}
