//! What a drive and its arm did, command by command, in a short piece of a run.

use crate::camera::Camera;
use crate::film::{Ended, Film, Step, Window};
use crate::learned::before;
use crate::stage::stage;
use crate::tell::UNTOLD;
use block::{BadInput, RequestId, Time};
use load::experiment::Experiment;

/// A piece of a run.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// The first time that is shown.
    pub from: Time,
    /// Its commands, in the order in which they were issued.
    pub steps: Vec<Step>,
    /// Until when the arm did the drive's own work after the last one, as far as that was seen.
    pub own_until: Time,
    /// When the turn of requests came: before that a drive without a command had nothing to do.
    pub begins: Vec<(Time, RequestId)>,
    /// The requests that ended, in order.
    pub ends: Vec<Ended>,
    /// By how much what a write is worth counted, from each of these times on.
    pub weights: Vec<(Time, f64)>,
}

/// Runs the first replication of an experiment as far as the window reaches.
///
/// # Errors
/// As [`crate::replicate`].
pub fn timeline(experiment: &Experiment, window: Window) -> Result<Timeline, BadInput> {
    let camera = Camera::Film(Film::new(window));
    let Some(Camera::Film(film)) = stage(experiment, &before(experiment)?, 0, UNTOLD, Some(camera))?.camera else {
        unreachable!("it was put in")
    };
    let Film { from, steps, begins, ends, weights, own_until, .. } = film;
    Ok(Timeline { from: from.unwrap_or(Time::ZERO), steps: steps.ended_steps(), own_until, begins, ends, weights })
}
