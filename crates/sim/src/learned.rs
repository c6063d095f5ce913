//! What is known of a device before a run, besides its own sheet.

use crate::able::ABLE;
use crate::replication::Replication;
use crate::unit::bench;
use block::{At, BadInput};
use disk::Sheet;
use load::experiment::{Before as Choice, Believed, Case, DriveChoice, Experiment, Predictor};
use load::results;
use load::schedule::{self, Device, Knowledge};
use profile::{ProfileOptions, ProfileOutcome, Thoroughness};
use rayon::prelude::*;
use sched::predict::mimic::Learned;
use std::sync::Arc;

/// Seed of the device that is probed: another device of the same make, not the one that is scheduled.
const PROBED: u64 = 0xD15C_0316;

/// What was learned before the run, beside what the file tells.
#[derive(Clone, Debug, Default)]
pub(crate) struct Before {
    /// The mean times of distances.
    times: Option<Arc<Learned>>,
    /// The mechanics of the drive, if it has an arm.
    mechanics: Option<Arc<Mechanics>>,
}

/// A disk's mechanics, learned from another of the same make.
#[derive(Clone, Debug)]
struct Mechanics {
    sheet: Arc<Sheet>,
    commands: u64,
    seconds: f64,
}

/// What is learned of the device of an experiment before it begins.
pub(crate) fn before(experiment: &Experiment) -> Result<Before, BadInput> {
    let scheduler = &experiment.scheduler;
    let by_mimic = scheduler.predictor == Some(Predictor::Mimic);
    let probing = match &scheduler.mimic.before {
        Choice::Probed(probing) if by_mimic => Some(probing),
        _ => None,
    };
    let profiles = scheduler.profile == Believed::Learned || (by_mimic && scheduler.mimic.angle);
    if probing.is_none() && !profiles {
        return Ok(Before::default());
    }
    // Learning takes a while: what is refused is refused first.
    let device = Device::of(&experiment.drive)?;
    schedule::check(experiment, &device, ABLE)?;
    if profiles && device.sheet().is_some() {
        return Ok(Before { mechanics: Some(Arc::new(mechanics(&experiment.drive)?)), times: None });
    }
    let Some(probing) = probing else { return Ok(Before::default()) };
    let mut device = bench(&experiment.drive, PROBED)?;
    let times = Learned::by_probing(&mut *device, probing, &mut |_| ());
    Ok(Before { mechanics: None, times: Some(Arc::new(times)) })
}

/// The mechanics of a disk as Diskbench finds them.
fn mechanics(choice: &DriveChoice) -> Result<Mechanics, BadInput> {
    let mut device = bench(choice, PROBED)?;
    let options =
        ProfileOptions { name: choice.model.clone(), seed: PROBED, effort: Thoroughness::Thorough, scratch: None };
    let found = profile::profile(&mut &mut *device, &options, &mut ())?;
    let ProfileOutcome::Disk(known) = &found.outcome else {
        let mend = "take `profile` out, or use predictor = \"mimic\"";
        return Err(BadInput::new(choice.model.clone(), At::File, "no rotation was found to learn", mend));
    };
    let text = disk::write(&known.plan(&options.name, found.blocks));
    let drive = disk::parse("learned", "learned.toml", &text).map_err(|error| {
        let what = format!("what was learned of the drive is none: {}", error.what);
        let mend = "take `profile` out: of so few sectors, or of tracks so short, a profile cannot be learned";
        BadInput::new(choice.model.clone(), At::File, what, mend)
    })?;
    Ok(Mechanics { sheet: Arc::new(drive.sheet), commands: found.commands, seconds: found.time.as_secs() })
}

impl Before {
    /// Adds it to what the file tells.
    pub(crate) fn add_to(&self, known: &mut Knowledge) {
        let believed = &mut known.believed;
        if let Some(mechanics) = &self.mechanics {
            believed.sheet = Some(Arc::clone(&mechanics.sheet));
        }
        if let Some(times) = &self.times {
            believed.times = Some(Arc::clone(times));
        }
    }

    /// Says in the results what it took to learn.
    pub(crate) fn tell(&self, known: &Knowledge, replication: &mut Replication) {
        if let Some(Mechanics { commands, seconds, .. }) = self.mechanics.as_deref() {
            replication.notes.push(format!(
                "believes a profile of another drive of the same make, learned before from {commands} commands, \
                 {seconds:.0} s of that drive"
            ));
            let learned =
                results::Learned { probes: *commands, probing_seconds: *seconds, ..results::Learned::default() };
            replication.learned = Some(learned);
            return;
        }
        if let (Some(kept), Some(learned)) = (&mut replication.learned, &known.believed.times) {
            tell(learned, kept, &mut replication.notes);
        }
    }
}

/// What is known before all cases; those that know the same share it.
pub(crate) fn before_all(cases: &[Case]) -> Result<Vec<Before>, BadInput> {
    let same = |one: &Experiment, other: &Experiment| {
        let (ours, theirs) = (&one.scheduler, &other.scheduler);
        one.drive == other.drive
            && ours.predictor == theirs.predictor
            && ours.profile == theirs.profile
            && (ours.mimic.angle, &ours.mimic.before) == (theirs.mimic.angle, &theirs.mimic.before)
    };
    let first = |case: &Case| cases.iter().position(|other| same(&case.experiment, &other.experiment)).unwrap_or(0);
    let firsts: Vec<usize> = cases.iter().map(first).collect();
    let learn_one = |(i, case): (usize, &Case)| match firsts[i] == i {
        true => before(&case.experiment),
        false => Ok(Before::default()),
    };
    let all: Result<Vec<_>, _> = cases.par_iter().with_max_len(1).enumerate().map(learn_one).collect();
    let all = all?;
    Ok(firsts.into_iter().map(|first| all[first].clone()).collect())
}

/// Adds what it took to what is known at the end.
fn tell(learned: &Learned, kept: &mut results::Learned, notes: &mut Vec<String>) {
    let effort = learned.effort;
    (kept.probes, kept.probing_seconds) = (effort.commands, effort.time.as_secs());
    (kept.interpolated_fraction, kept.coarse_fraction) = (effort.interpolated, effort.coarse);
    let tried = effort.line_error > 0.0;
    (kept.lines_true_fraction, kept.line_error) =
        (tried.then_some(effort.lines_true), tried.then_some(effort.line_error));
    kept.shown_ms = learned.shown.iter().map(|time| time.as_ms()).collect();
    let sum: f64 = kept.shown_ms.iter().sum();
    kept.shown_mean_ms = (!kept.shown_ms.is_empty()).then(|| sum / kept.shown_ms.len() as f64);
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
