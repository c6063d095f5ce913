//! What the Disk Mimic knows of a device before a run.

use crate::unit::bench;
use block::{At, BadInput};
use load::experiment::{Before, Case, Experiment, Predictor};
use load::results;
use rayon::prelude::*;
use sched::predict::mimic::Learned;
use std::sync::Arc;

/// Seed of the device that is probed.
const PROBED: u64 = 0xD15C_0316;

/// What the Disk Mimic of an experiment knows before it begins, if anything.
pub(crate) fn learned(experiment: &Experiment) -> Result<Option<Arc<Learned>>, BadInput> {
    let scheduler = &experiment.scheduler;
    if scheduler.predictor != Some(Predictor::Mimic) {
        return Ok(None);
    }
    Ok(match &scheduler.mimic.before {
        Before::Nothing => None,
        Before::Probed(probing) => {
            // Another device of the same make, not the one that is scheduled.
            let mut device = bench(&experiment.drive, PROBED)?;
            Some(Arc::new(Learned::by_probing(&mut *device, probing, &mut |_| ())))
        }
        Before::Table(path) => {
            let learned = load::learned::read(path)?;
            let blocks = bench(&experiment.drive, PROBED)?.caps().blocks;
            if learned.blocks() != blocks {
                let what = format!("learned of a device of {} blocks; the drive has {blocks}", learned.blocks());
                let mend = "make it anew of this drive with `halfturn profile --mimic`";
                return Err(BadInput::new(path.display().to_string(), At::File, what, mend));
            }
            Some(Arc::new(learned))
        }
    })
}

/// The same of all cases; those that learn the same share it.
pub(crate) fn learned_all(cases: &[Case]) -> Result<Vec<Option<Arc<Learned>>>, BadInput> {
    let same = |one: &Experiment, other: &Experiment| {
        one.drive == other.drive
            && one.scheduler.predictor == other.scheduler.predictor
            && one.scheduler.mimic.before == other.scheduler.mimic.before
    };
    let first = |case: &Case| cases.iter().position(|other| same(&case.experiment, &other.experiment)).unwrap_or(0);
    let firsts: Vec<usize> = cases.iter().map(first).collect();
    let learn_one = |(i, case): (usize, &Case)| if firsts[i] == i { learned(&case.experiment) } else { Ok(None) };
    let all: Result<Vec<_>, _> = cases.par_iter().enumerate().map(learn_one).collect();
    let all = all?;
    Ok(firsts.into_iter().map(|first| all[first].clone()).collect())
}

/// Adds what it took to what is known at the end.
pub(crate) fn tell(learned: &Learned, kept: &mut results::Learned, notes: &mut Vec<String>) {
    let effort = learned.effort;
    (kept.probes, kept.probing_seconds) = (effort.commands, effort.time.as_secs());
    (kept.interpolated_fraction, kept.coarse_fraction) = (effort.interpolated, effort.coarse);
    notes.push(format!(
        "learned before from {} commands, {:.0} s of the device: {} distances in {:.0} KiB, {:.1} % interpolated, {:.1} % \
         only coarsely known",
        effort.commands,
        effort.time.as_secs(),
        learned.len(),
        learned.bytes() as f64 / 1024.0,
        effort.interpolated * 100.0,
        effort.coarse * 100.0,
    ));
}
