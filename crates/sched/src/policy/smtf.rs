//! Shortest mimicked time first (002 §2): the waiting request whose distance is known to take least. While the device is
//! still being learned, a base policy has its say (002 §6).

use super::age::{AGE_LIMIT, Ageing, age_weight};
use super::arms::{ArmOrder, OfArms};
use super::base::{Base, BaseOrder, Learn};
use super::c_look::CLook;
use super::greedy::Greedy;
use super::sstf::Sstf;
use super::{Beside, Kind, Manual, Needs, Policy};
use crate::predict::{Predictor, UNKNOWN};
use crate::{Job, JobId, Jobs};
use block::{BadInput, Lbn, Time};
use config::{Key, Section};

const AGE_WEIGHT: Key<f64> = age_weight("0");

/// The values of its keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    ageing: Ageing,
}

impl Kind for Settings {
    const MANUAL: Manual = Manual {
        name: "smtf",
        text: "Shortest mimicked time first: the waiting request whose distance has taken least so far, as the Disk Mimic learned it (The Disk Mimic, Section 2). It needs no data sheet and no profile; `[scheduler.mimic]` says how it learns. Where a device has several arms, the one with the least to do is served.",
        keys: &[AGE_WEIGHT.about, AGE_LIMIT.about],
        example: "policy = \"smtf\"",
        needs: Needs::Mimic,
    };

    fn read(scheduler: &Section) -> Result<Settings, BadInput> {
        Ok(Settings { ageing: Ageing::read(scheduler, &AGE_WEIGHT)? })
    }

    fn make<P: Predictor + 'static>(&self, beside: &Beside) -> Box<dyn Policy<P>> {
        OfArms::or_one(|| smtf(self.ageing, beside), beside.caps)
    }
}

pub(super) struct Smtf<P: Predictor> {
    learn: Learn,
    margin: f64,
    mimic: Greedy<P>,
    base: Box<dyn Base<P>>,
}

fn smtf<P: Predictor + 'static>(ageing: Ageing, beside: &Beside) -> Smtf<P> {
    let base: Box<dyn Base<P>> = match beside.base {
        BaseOrder::Sstf => Box::new(Sstf::new()),
        BaseOrder::CLook => Box::new(CLook::new()),
    };
    // Waiting counts already; a margin besides would keep to the base what has waited.
    let margin = if ageing.weighs() { 0.0 } else { beside.margin };
    Smtf { learn: beside.learn, margin, mimic: Greedy::new(ageing), base }
}

impl<P: Predictor> Policy<P> for Smtf<P> {
    fn add(&mut self, id: JobId, job: &Job<P::Spot>, belief: &P) {
        self.mimic.add(id, job, belief);
        self.base.add(id, job, belief);
    }

    fn remove(&mut self, id: JobId, job: &Job<P::Spot>, belief: &P) {
        self.mimic.remove(id, job, belief);
        self.base.remove(id, job, belief);
    }

    fn take(&mut self, now: Time, jobs: &Jobs<P::Spot>, belief: &P) -> Option<JobId> {
        self.take_from(belief.arm(), now, jobs, belief)
    }

    fn candidates(&self) -> u64 {
        self.mimic.candidates()
    }
}

impl<P: Predictor> ArmOrder<P> for Smtf<P> {
    fn take_from(&mut self, head: Lbn, now: Time, jobs: &Jobs<P::Spot>, belief: &P) -> Option<JobId> {
        let (mut ceiling, mut by_base) = (UNKNOWN, None);
        if self.learn == Learn::Set {
            let id = self.base.choice(head)?;
            let its = jobs.get(id)?;
            let direction = its.op.direction();
            if !belief.knows(its.spot, direction) {
                self.remove(id, its, belief);
                return Some(id);
            }
            if self.margin > 0.0 {
                let (there, _) = belief.head_behind(head, now);
                let cost = belief.cost(&there, belief.key(its.spot), belief.mark(its.spot), direction);
                ceiling = (cost as f64 * (1.0 - self.margin)) as u64;
            }
            by_base = Some(id);
        }
        if let Some(known) = self.mimic.take_below(ceiling, Some(head), now, jobs, belief) {
            self.base.remove(known, jobs.get(known)?, belief);
            return Some(known);
        }
        let id = by_base.or_else(|| self.base.choice(head))?;
        self.remove(id, jobs.get(id)?, belief);
        Some(id)
    }
}
