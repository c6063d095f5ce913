//! What went on in a run for a while: each process, each processor, and each disk, command by command.

use crate::camera::Camera;
use crate::learned::before;
use crate::reel::Reel;
use crate::stage::stage;
use crate::tell::UNTOLD;
use crate::timeline::Timeline;
use block::{BadInput, Time};
use flow::{Picture, PictureScope};
use load::experiment::{Case, Experiment};
use rayon::prelude::*;

/// A while of a run.
#[derive(Clone, Debug)]
pub struct Panorama {
    /// The first time that is shown.
    pub from: Time,
    /// The last time that is shown.
    pub to: Time,
    /// Whether more went on by then than is kept.
    pub cut: bool,
    /// Processes and processors, where there are any.
    pub machine: Option<Picture>,
    /// The commands of each disk that were under way then.
    pub disks: Vec<Timeline>,
}

/// Runs the first replication of an experiment as far as the scope reaches.
///
/// # Errors
/// As [`crate::replicate`].
pub fn panorama(experiment: &Experiment, scope: PictureScope) -> Result<Panorama, BadInput> {
    let camera = Camera::Reel(Reel::new(scope));
    let stage = stage(experiment, &before(experiment)?, 0, UNTOLD, Some(camera))?;
    let (Some(Camera::Reel(reel)), machine, end) = (stage.camera, stage.picture, stage.end) else {
        unreachable!("it was put in")
    };
    let to = machine.as_ref().map_or(Time::NEVER, |machine| machine.to).min(reel.scope.to).min(end);
    let cut = machine.as_ref().is_some_and(|machine| machine.cut) || reel.cut;
    let disks = reel.disks.into_iter().map(|steps| {
        let mut steps = steps.ended_steps();
        steps.retain(|step| step.issued < to);
        let (begins, ends, weights) = (Vec::new(), Vec::new(), Vec::new());
        Timeline { from: scope.from, steps, own_until: to, begins, ends, weights }
    });
    Ok(Panorama { from: scope.from, to, cut, machine, disks: disks.collect() })
}

/// The panorama of each of these cases.
///
/// # Errors
/// The first bad input met, in the order of the cases.
pub fn panoramas(cases: &[Case], scope: PictureScope) -> Result<Vec<Panorama>, BadInput> {
    let done: Vec<_> = cases.par_iter().with_max_len(1).map(|case| panorama(&case.experiment, scope)).collect();
    done.into_iter().collect()
}
