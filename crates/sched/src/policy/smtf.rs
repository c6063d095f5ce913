//! Shortest mimicked time first (002 §2): the waiting request whose distance is known to take least. While the device is
//! still being learned, a base policy has its say (002 §6).

use super::greedy::{Ageing, Greedy};
use super::satf::AccessTime;
use super::{Knobs, Policy, named};
use crate::predict::{Predictor, UNKNOWN};
use crate::{Job, JobId, Jobs};
use block::Time;

/// What is done about requests whose time is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Learn {
    /// *Online-Set*: what the base would pick, if its time is not known; else the least known.
    #[default]
    Set,
    /// *Online-Priority*: the least known; only where none is known, what the base would pick.
    Priority,
}

pub(super) struct Smtf<P: Predictor> {
    learn: Learn,
    margin: f64,
    mimic: Greedy<P, AccessTime>,
    base: Box<dyn Policy<P>>,
}

pub(super) fn smtf<P: Predictor + 'static>(knobs: &Knobs) -> Option<Smtf<P>> {
    let base = if knobs.base == NAME { None } else { named(knobs.base, knobs) }?;
    let ageing = Ageing { weight: knobs.age_weight, limit: knobs.age_limit };
    let margin = if knobs.age_weight > 0.0 { 0.0 } else { knobs.margin };
    Some(Smtf { learn: knobs.learn, margin, mimic: Greedy::new(ageing), base })
}

/// Its own name, which is no base.
const NAME: &str = "smtf";

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
        let job = |id| jobs.get(id);
        let mut ceiling = UNKNOWN;
        if self.learn == Learn::Set {
            let by_base = self.base.take(now, jobs, belief)?;
            let Some(its) = job(by_base) else { return Some(by_base) };
            if !belief.knows(its.spot, its.op.writes()) {
                self.mimic.remove(by_base, its, belief);
                return Some(by_base);
            }
            self.base.add(by_base, its, belief);
            if self.margin > 0.0 {
                let head = belief.head(now).0;
                let cost = belief.cost(&head, belief.key(its.spot), belief.mark(its.spot), its.op.writes());
                ceiling = (cost as f64 * (1.0 - self.margin)) as u64;
            }
        }
        let Some(known) = self.mimic.take_below(ceiling, now, jobs, belief) else {
            let by_base = self.base.take(now, jobs, belief)?;
            if let Some(its) = job(by_base) {
                self.mimic.remove(by_base, its, belief);
            }
            return Some(by_base);
        };
        if let Some(its) = job(known) {
            self.base.remove(known, its, belief);
        }
        Some(known)
    }

    fn examined(&self) -> u64 {
        self.mimic.examined()
    }
}
