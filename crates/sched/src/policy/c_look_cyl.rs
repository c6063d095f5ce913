//! C-LOOK by cylinder: the arm sweeps upward, then jumps back to the lowest cylinder on which a request waits.

use super::{Beside, Kind, Manual, Needs, Policy};
use super::cylinders::{Cylinders, Sweep};
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
        name: "c-look-cyl",
        text: "C-LOOK by cylinder: the arm sweeps upward, then jumps back to the lowest cylinder on which a request waits.",
        keys: &[],
        example: "policy = \"c-look-cyl\"",
        needs: Needs::Any,
    };

    fn read(_: &Section) -> Result<Settings, BadInput> {
        Ok(Settings)
    }

    fn make<P: Predictor + 'static>(&self, _: &Beside) -> Box<dyn Policy<P>> {
        Box::new(CLookCyl::new())
    }
}

pub(super) struct CLookCyl(Cylinders);

impl CLookCyl {
    pub(super) fn new() -> CLookCyl {
        CLookCyl(Cylinders::new())
    }
}

impl<P: Predictor> Policy<P> for CLookCyl {
    fn add(&mut self, id: JobId, job: &Job<P::Spot>, belief: &P) {
        self.0.add(id, job, belief);
    }

    fn remove(&mut self, _: JobId, job: &Job<P::Spot>, belief: &P) {
        self.0.remove(job, belief);
    }

    fn take(&mut self, _: Time, _: &Jobs<P::Spot>, belief: &P) -> Option<JobId> {
        let ahead = self.0.ahead(Sweep::Up, Cylinders::arm(belief)).or_else(|| self.0.ahead(Sweep::Up, 0))?;
        self.0.take(ahead)
    }
}
