//! LOOK by cylinder: the arm sweeps to the last waiting request, then back; requests of one cylinder in ascending order.
//! The elevator of The Process-Flow Model (004 §6.1).

use super::Policy;
use super::cylinders::{Cylinders, Look};
use crate::predict::Predictor;
use crate::{Job, JobId, Jobs};
use block::Time;

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
