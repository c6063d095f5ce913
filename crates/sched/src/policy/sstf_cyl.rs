//! Shortest seek time first, by cylinder; requests of one cylinder in ascending order.

use super::Policy;
use super::cylinders::Cylinders;
use crate::predict::Predictor;
use crate::{Job, JobId, Jobs};
use block::Time;

pub(super) struct SstfCyl(Cylinders);

impl SstfCyl {
    pub(super) fn new() -> SstfCyl {
        SstfCyl(Cylinders::new())
    }
}

impl<P: Predictor> Policy<P> for SstfCyl {
    fn add(&mut self, id: JobId, job: &Job<P::Spot>, belief: &P) {
        self.0.add(id, job, belief);
    }

    fn remove(&mut self, _: JobId, job: &Job<P::Spot>, belief: &P) {
        self.0.remove(job, belief);
    }

    fn take(&mut self, _: Time, _: &Jobs<P::Spot>, belief: &P) -> Option<JobId> {
        let nearest = self.0.nearest(Cylinders::arm(belief))?;
        self.0.take(nearest)
    }
}
