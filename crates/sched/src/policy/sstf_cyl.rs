//! Shortest seek time first, by cylinder; requests of one cylinder in ascending order.

use super::{Beside, Kind, Manual, Needs, Policy};
use super::cylinders::Cylinders;
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
        name: "sstf-cyl",
        text: "Shortest seek time first by cylinder; requests of one cylinder in ascending order.",
        keys: &[],
        example: "policy = \"sstf-cyl\"",
        needs: Needs::Any,
    };

    fn read(_: &Section) -> Result<Settings, BadInput> {
        Ok(Settings)
    }

    fn make<P: Predictor + 'static>(&self, _: &Beside) -> Box<dyn Policy<P>> {
        Box::new(SstfCyl::new())
    }
}

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
