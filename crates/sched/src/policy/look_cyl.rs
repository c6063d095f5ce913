//! LOOK by cylinder: the arm sweeps to the last waiting request, then back; requests of one cylinder in ascending order.
//! The elevator of The Process-Flow Model (004 §6.1).

use super::{Beside, Kind, Manual, Needs, Policy};
use super::cylinders::{Cylinders, Look};
use crate::predict::Predictor;
use crate::{Job, JobId, Jobs};
use block::Time;
use block::BadInput;
use config::Section;

/// The policy has no keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings;

impl Kind for Settings {
    const MANUAL: Manual = Manual {
        name: "look-cyl",
        text: "The elevator by cylinder: the arm sweeps to the last waiting request, then back; requests of one cylinder in ascending order (The Process-Flow Model, Section 6.1).",
        keys: &[],
        example: "policy = \"look-cyl\"",
        needs: Needs::Any,
    };

    fn read(_: &Section) -> Result<Settings, BadInput> {
        Ok(Settings)
    }

    fn make<P: Predictor + 'static>(&self, _: &Beside) -> Box<dyn Policy<P>> {
        Box::new(LookCyl::new())
    }
}

pub(super) struct LookCyl(Look);

impl LookCyl {
    pub(super) fn new() -> LookCyl {
        LookCyl(Look::new())
    }
}

impl<P: Predictor> Policy<P> for LookCyl {
    fn add(&mut self, id: JobId, job: &Job<P::Spot>, belief: &P) {
        self.0.waiting.add(id, job, belief);
    }

    fn remove(&mut self, _: JobId, job: &Job<P::Spot>, belief: &P) {
        self.0.waiting.remove(job, belief);
    }

    fn take(&mut self, _: Time, _: &Jobs<P::Spot>, belief: &P) -> Option<JobId> {
        self.0.take(Cylinders::arm(belief)).map(|(id, _)| id)
    }
}
