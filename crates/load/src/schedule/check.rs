//! Whether a core can be built of what an experiment asks for: first what no world can do, in one order and the same words for
//! all of them, then what this world cannot.

use super::Ability;
use crate::experiment::{Believed, DriveChoice, Experiment, Predictor};
use block::{At, BadInput};
use disk::{Model, Sheet};
use sched::predict::Tells;
use std::sync::Arc;

/// What the device of an experiment is, as far as its file says.
#[derive(Clone, Debug)]
pub enum Device {
    /// A disk, and its sheet.
    Disk(Arc<Sheet>),
    /// Another device of this name, of which nothing is known beforehand.
    Other(String),
    /// The file does not say: a file, a block device or memory.
    Unknown,
}

impl Device {
    /// The device that a file names, as it wants it.
    ///
    /// # Errors
    /// When there is none of this name, or it cannot be had like that.
    pub fn of(choice: &DriveChoice) -> Result<Device, BadInput> {
        if choice.model.is_empty() {
            return Ok(Device::Unknown);
        }
        Ok(match choice.make_model()? {
            Model::Disk(drive) => Device::Disk(Arc::new(drive.sheet)),
            Model::Other(other) => Device::Other(other.name),
        })
    }

    /// Its sheet, if it is a disk.
    #[must_use]
    pub fn sheet(&self) -> Option<&Arc<Sheet>> {
        match self {
            Device::Disk(sheet) => Some(sheet),
            Device::Other(_) | Device::Unknown => None,
        }
    }

    /// Why nothing is known of it.
    fn excuse(&self) -> String {
        match self {
            Device::Other(name) => format!("{name} is not a disk"),
            Device::Disk(_) | Device::Unknown => "nothing is known of the device".into(),
        }
    }
}

/// The predictor that an experiment comes to, on this device and in a world that is able to do this.
///
/// # Errors
/// What cannot be had: first, in every world alike, of this device, then in this world.
pub fn check(experiment: &Experiment, device: &Device, able: &[Ability]) -> Result<Predictor, BadInput> {
    let predictor = predictor(experiment, device);
    let scheduler = &experiment.scheduler;
    let described = matches!(scheduler.profile, Believed::Drive(_));
    let has_sheet = described || device.sheet().is_some();
    if scheduler.profile == Believed::Learned && matches!(device, Device::Other(_)) {
        let what = format!("{}: there is no profile to learn", device.excuse());
        return Err(bad(experiment, what, "take `profile` out, or use predictor = \"mimic\""));
    }
    match predictor {
        Predictor::Profile if !has_sheet => return Err(nothing_to_believe(experiment, device)),
        Predictor::Oracle if matches!(device, Device::Other(_)) => {
            let what = format!("{}: nobody knows it perfectly", device.excuse());
            return Err(bad(experiment, what, "set predictor = \"distance\" or \"mimic\""));
        }
        _ => {}
    }
    if let Some(who) = scheduler.weighs_times().filter(|_| predictor.manual().tells < Tells::Times) {
        let what = format!("{}: {who} weighs times, and nothing tells them", device.excuse());
        let mend =
            "set predictor = \"mimic\", or give `profile` in [scheduler]: a file that `halfturn profile -o` wrote";
        return Err(bad(experiment, what, mend));
    }
    if scheduler.wish.is_some() && !has_sheet {
        let what = format!("{}: no plan can be picked for a wait that is wanted", device.excuse());
        return Err(bad(experiment, what, "set `chunk` in [scheduler.plan]"));
    }
    match Ability::find_lacking(experiment, able) {
        Some((what, mend)) => Err(bad(experiment, what.into(), mend)),
        None => Ok(predictor),
    }
}

/// The predictor that is asked for or, where none is, that goes with what is known.
fn predictor(experiment: &Experiment, device: &Device) -> Predictor {
    let scheduler = &experiment.scheduler;
    match scheduler.predictor {
        // By its angles a disk is profiled, and then all its mechanics are known.
        Some(Predictor::Mimic) if scheduler.mimic.angle && device.sheet().is_some() => Predictor::Profile,
        Some(predictor) => predictor,
        None if device.sheet().is_some() || scheduler.profile != Believed::Sheet => Predictor::Profile,
        None => Predictor::Distance,
    }
}

/// The error of who would believe mechanics of which nothing is known.
pub(super) fn nothing_to_believe(experiment: &Experiment, device: &Device) -> BadInput {
    let what = format!("{}: there is no sheet to believe", device.excuse());
    let mend = "set predictor = \"distance\" or \"mimic\", or give `profile` in [scheduler]: a file that `halfturn profile -o` wrote";
    bad(experiment, what, mend)
}

fn bad(experiment: &Experiment, what: String, mend: &str) -> BadInput {
    BadInput::new(experiment.file.clone(), At::File, what, mend)
}
