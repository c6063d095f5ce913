//! LOOK: the arm sweeps to the last waiting request, then back, in order of block number.

use super::arms::{ArmOrder, OfArms};
use super::{Beside, Kind, Manual, Needs, Policy, by_lbn};
use crate::ordered::Ordered;
use crate::predict::Predictor;
use crate::{Job, JobId, Jobs};
use block::{BadInput, Lbn, Time};
use config::Section;

/// The policy has no keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings;

impl Kind for Settings {
    const MANUAL: Manual = Manual {
        name: "look",
        text: "The elevator: the arm sweeps to the last waiting request, then back, in order of block number. Fair, and needs to know nothing of the drive. Where a device has several arms, each sweeps by itself, and the one with the least to do is served.",
        keys: &[],
        example: "policy = \"look\"",
        needs: Needs::Nothing,
    };

    fn read(_: &Section) -> Result<Settings, BadInput> {
        Ok(Settings)
    }

    fn make<P: Predictor + 'static>(&self, beside: &Beside) -> Box<dyn Policy<P>> {
        OfArms::or_one(Look::new, beside.caps)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ArmDirection {
    Up,
    Down,
}

pub(super) struct Look {
    waiting: Ordered,
    sweep: ArmDirection,
}

impl Look {
    pub(super) fn new() -> Look {
        Look { waiting: Ordered::new(), sweep: ArmDirection::Up }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn insert<S>(&mut self, id: JobId, job: &Job<S>) {
        self.waiting.add(by_lbn(id, job));
    }

    pub(super) fn discard<S>(&mut self, job: &Job<S>) -> bool {
        self.waiting.remove(job.rest().start.0, job.sequence).is_some()
    }

    /// The next one from block `arm` on, in the direction of the sweep.
    pub(super) fn next(&mut self, arm: u64) -> Option<JobId> {
        let ahead = |sweep| match sweep {
            ArmDirection::Up => self.waiting.at_or_after(arm),
            ArmDirection::Down => self.waiting.last_before(arm.saturating_add(1)),
        };
        let next = match ahead(self.sweep) {
            Some(found) => found,
            None => {
                self.sweep = if self.sweep == ArmDirection::Up { ArmDirection::Down } else { ArmDirection::Up };
                ahead(self.sweep)?
            }
        };
        Some(self.waiting.take(next))
    }
}

impl<P: Predictor> Policy<P> for Look {
    fn add(&mut self, id: JobId, job: &Job<P::Spot>, _: &P) {
        self.insert(id, job);
    }

    fn remove(&mut self, _: JobId, job: &Job<P::Spot>, _: &P) {
        self.discard(job);
    }

    fn take(&mut self, _: Time, _: &Jobs<P::Spot>, belief: &P) -> Option<JobId> {
        self.next(belief.arm().0)
    }
}

impl<P: Predictor> ArmOrder<P> for Look {
    fn take_from(&mut self, head: Lbn, _: Time, _: &Jobs<P::Spot>, _: &P) -> Option<JobId> {
        self.next(head.0)
    }
}
