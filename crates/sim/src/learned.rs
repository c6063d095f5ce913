//! What is known of a device before a run, besides its own sheet.

use crate::unit::bench;
use block::{At, BadInput};
use disk::Sheet;
use load::experiment::{Before, Believed, Case, DriveChoice, Experiment, Predictor};
use load::results;
use profile::{ProfileOptions, ProfileOutcome, Thoroughness};
use rayon::prelude::*;
use sched::predict::mimic::Learned;
use std::sync::Arc;

/// Seed of the device that is probed: another device of the same make, not the one that is scheduled.
const PROBED: u64 = 0xD15C_0316;

/// What is known before.
#[derive(Clone, Debug)]
pub(crate) enum Knowledge {
    /// Nothing.
    Nothing,
    /// The mean times of distances.
    Times(Arc<Learned>),
    /// A disk's mechanics.
    Mechanics(Arc<Mechanics>),
}

/// A disk's mechanics, from elsewhere than its own sheet.
#[derive(Clone, Debug)]
pub(crate) struct Mechanics {
    pub(crate) sheet: Sheet,
    effort: Option<(u64, f64)>,
    note: String,
}

/// What is known of the device of an experiment before it begins.
pub(crate) fn knowledge(experiment: &Experiment) -> Result<Knowledge, BadInput> {
    let scheduler = &experiment.scheduler;
    if scheduler.predictor != Some(Predictor::Mimic) {
        return Ok(match &scheduler.profile {
            Believed::Sheet => Knowledge::Nothing,
            Believed::Drive(model) => Knowledge::Mechanics(Arc::new(described(&experiment.drive, model)?)),
            Believed::Learned => match mechanics(&experiment.drive)? {
                Some(mechanics) => Knowledge::Mechanics(Arc::new(mechanics)),
                None => {
                    let what = "nothing turns in it, so that there is no profile to learn";
                    let mend = "take `profile` out, or use policy = \"smtf\"";
                    return Err(BadInput::new(experiment.drive.model.clone(), At::File, what, mend));
                }
            },
        });
    }
    if scheduler.mimic.angle
        && let Some(mechanics) = mechanics(&experiment.drive)?
    {
        return Ok(Knowledge::Mechanics(Arc::new(mechanics)));
    }
    Ok(match &scheduler.mimic.before {
        Before::Nothing => Knowledge::Nothing,
        Before::Probed(probing) => {
            let mut device = bench(&experiment.drive, PROBED)?;
            Knowledge::Times(Arc::new(Learned::by_probing(&mut *device, probing, &mut |_| ())))
        }
        Before::Table(path) => {
            let blocks = bench(&experiment.drive, PROBED)?.caps().blocks;
            Knowledge::Times(Arc::new(load::learned::read_of(path, blocks)?))
        }
    })
}

/// The mechanics of a drive as Diskbench finds them; nothing where nothing turns.
fn mechanics(choice: &DriveChoice) -> Result<Option<Mechanics>, BadInput> {
    let mut device = bench(choice, PROBED)?;
    let options =
        ProfileOptions { name: choice.model.clone(), seed: PROBED, effort: Thoroughness::Thorough, scratch: None };
    let found = profile::profile(&mut &mut *device, &options, &mut ())?;
    let ProfileOutcome::Disk(known) = &found.outcome else { return Ok(None) };
    let text = disk::write(&known.plan(&options.name, found.blocks));
    let drive = disk::parse("learned", "learned.toml", &text)?;
    let seconds = found.time.as_secs();
    let note = format!(
        "believes a profile of another drive of the same make, learned before from {} commands, {seconds:.0} s of that drive",
        found.commands
    );
    Ok(Some(Mechanics { sheet: drive.sheet, effort: Some((found.commands, seconds)), note }))
}

/// The mechanics that a file describes, for a drive that is to have as many blocks.
fn described(choice: &DriveChoice, model: &str) -> Result<Mechanics, BadInput> {
    let sheet = choice.described(model, bench(choice, PROBED)?.caps().blocks)?;
    Ok(Mechanics { sheet, effort: None, note: format!("believes {model}, not the drive's own sheet") })
}

/// What is known before all cases; those that know the same share it.
pub(crate) fn knowledge_all(cases: &[Case]) -> Result<Vec<Knowledge>, BadInput> {
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
        true => knowledge(&case.experiment),
        false => Ok(Knowledge::Nothing),
    };
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

impl Mechanics {
    /// What it took to know them, and whose word it is.
    pub(crate) fn tell(&self, notes: &mut Vec<String>) -> Option<results::Learned> {
        notes.push(self.note.clone());
        let (probes, probing_seconds) = self.effort?;
        Some(results::Learned { probes, probing_seconds, ..results::Learned::default() })
    }
}
