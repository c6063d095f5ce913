//! C-LOOK: the arm sweeps upward in order of block number, then jumps back to the lowest waiting request.

use super::base::Base;
use super::{Beside, Kind, Manual, Needs, Policy, by_lbn};
use crate::ordered::{Ordered, Position};
use crate::predict::Predictor;
use crate::{Job, JobId, Jobs};
use block::{Lbn, Time};
use block::BadInput;
use config::Section;

/// The policy has no keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings;

impl Kind for Settings {
    const MANUAL: Manual = Manual {
        name: "c-look",
        text: "The arm sweeps upward in order of block number, then jumps back to the lowest waiting request. Waits are more even than with `look`.",
        keys: &[],
        example: "policy = \"c-look\"",
        needs: Needs::Nothing,
    };

    fn read(_: &Section) -> Result<Settings, BadInput> {
        Ok(Settings)
    }

    fn make<P: Predictor + 'static>(&self, _: &Beside) -> Box<dyn Policy<P>> {
        Box::new(CLook::new())
    }
}

pub(super) struct CLook {
    waiting: Ordered,
}

impl CLook {
    pub(super) fn new() -> CLook {
        CLook { waiting: Ordered::new() }
    }

    /// Where the next one waits, the arm being there.
    #[inline(always)]
    fn next(&self, arm: Lbn) -> Option<Position> {
        self.waiting.at_or_after(arm.0).or_else(|| self.waiting.at_or_after(0))
    }
}

impl<P: Predictor> Policy<P> for CLook {
    fn add(&mut self, id: JobId, job: &Job<P::Spot>, _: &P) {
        self.waiting.add(by_lbn(id, job));
    }

    fn remove(&mut self, _: JobId, job: &Job<P::Spot>, _: &P) {
        self.waiting.remove(job.rest().start.0, job.sequence);
    }

    #[inline(always)]
    fn take(&mut self, _: Time, _: &Jobs<P::Spot>, belief: &P) -> Option<JobId> {
        let next = self.next(belief.arm())?;
        Some(self.waiting.take(next))
    }

    fn pass(&mut self, _: &Job<P::Spot>, _: &P) -> bool {
        true
    }
}

impl<P: Predictor> Base<P> for CLook {
    fn choice(&mut self, _: Time, belief: &P) -> Option<JobId> {
        Some(self.waiting.at(self.next(belief.arm())?).id)
    }
}
