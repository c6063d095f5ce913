//! Whatever the device: by distance while nothing more is known of it, neighbours from the first one on; by access time as soon as
//! that was told better than distance tells it; and by arrival where distance was found to gain nothing.

use super::age::{AGE_BY_WAIT, AGE_LIMIT, Ageing};
use super::arms::ArmShares;
use super::greedy::Greedy;
use super::sstf::Sstf;
use super::{Beside, Kind, Manual, Needs, Policy};
use crate::predict::{OrderBasis, Predictor};
use crate::{Job, JobId, Jobs};
use block::{BadInput, Span, Time};
use config::Section;

/// The values of its keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    ageing: Ageing,
}

impl Kind for Settings {
    const MANUAL: Manual = Manual {
        name: "auto",
        text: "Needs no choice and no knowledge, on any device: it begins as `sstf`, but serves a run of waiting neighbours from its first one on, and what has waited for eight times the mean before anything else; it learns the device from the times at which commands complete (predictor `in-use`) and becomes `satf` once its forecasts are better than distance. Where nothing turns and distance gains nothing, it becomes `fcfs`; what changes is noticed and learned anew.",
        keys: &[AGE_BY_WAIT.about, AGE_LIMIT.about],
        example: "policy = \"auto\"",
        needs: Needs::Learning,
    };

    fn read(scheduler: &Section) -> Result<Settings, BadInput> {
        Ok(Settings { ageing: Ageing::read_by_wait(scheduler)? })
    }

    fn make<P: Predictor + 'static>(&self, beside: &Beside) -> Box<dyn Policy<P>> {
        // Under a limit that nobody waits for, it keeps the order of arrival even where age does not count.
        let limit = self.ageing.limit;
        let by_time = Greedy::new(self.ageing.within(limit.unwrap_or(Span(u64::MAX))));
        let arms = ArmShares::of(beside.caps);
        let by_distance = arms.as_ref().map_or_else(|| vec![Sstf::new()], |arms| arms.each(Sstf::new));
        Box::new(AutoOrder { by_distance, arms, by_time, limit, waits: MeanWait::default() })
    }
}

/// All orders of what waits, of which one is followed.
struct AutoOrder<P: Predictor> {
    /// For each arm by itself.
    by_distance: Vec<Sstf>,
    /// Where there are several.
    arms: Option<ArmShares>,
    /// By arrival, too: it knows what came first.
    by_time: Greedy<P>,
    /// By distance, too, what has waited longer goes first.
    limit: Option<Span>,
    /// It goes by these where there is no limit.
    waits: MeanWait,
}

/// By distance, what has waited so many times as long as what was served lately goes first. Otherwise a request far from a crowd of others
/// is not served until the crowd ends.
const PATIENCE: u64 = 8;
/// But nothing that has not waited for a tenth of a second.
const SOON: Span = Span(100_000_000);
/// Requests over which waits are averaged.
const LATELY: u64 = 64;

/// The mean wait of what was served lately, in nanoseconds.
#[derive(Default)]
struct MeanWait {
    mean: u64,
    /// How many that is of, [`LATELY`] at most.
    served: u64,
}

impl MeanWait {
    fn note(&mut self, waited: Span) {
        self.served = (self.served + 1).min(LATELY);
        self.mean = self.mean / self.served * (self.served - 1) + waited.0 / self.served;
    }

    /// After which wait the oldest goes first.
    fn limit(&self) -> Span {
        Span(self.mean.saturating_mul(PATIENCE)).max(SOON)
    }
}

impl<P: Predictor> Policy<P> for AutoOrder<P> {
    fn add(&mut self, id: JobId, job: &Job<P::Spot>, belief: &P) {
        let arm = self.arms.as_mut().map_or(0, |arms| arms.add(job));
        self.by_distance[arm].add(id, job, belief);
        self.by_time.add(id, job, belief);
    }

    fn remove(&mut self, id: JobId, job: &Job<P::Spot>, belief: &P) {
        if let Some(arms) = &mut self.arms {
            arms.remove(job);
        }
        self.give_up(id, job, belief);
    }

    fn take(&mut self, now: Time, jobs: &Jobs<P::Spot>, belief: &P) -> Option<JobId> {
        let id = self.take_next(now, jobs, belief)?;
        let job = jobs.get(id)?;
        self.by_time.note_wait(now, job.arrived, jobs, belief);
        self.waits.note(now.since(job.arrived));
        if let Some(arms) = &mut self.arms {
            arms.give(now, job);
        }
        Some(id)
    }

    fn follows_service(&self) -> bool {
        self.arms.is_some()
    }

    fn end(&mut self, now: Time, job: &Job<P::Spot>) {
        if let Some(arms) = &mut self.arms {
            arms.end(now, job);
        }
    }

    fn candidates(&self) -> u64 {
        self.by_distance.iter().map(Policy::<P>::candidates).sum::<u64>() + self.by_time.candidates()
    }
}

impl<P: Predictor> AutoOrder<P> {
    /// Takes a job out of all orders.
    fn give_up(&mut self, id: JobId, job: &Job<P::Spot>, belief: &P) {
        self.order_of(job).remove(id, job, belief);
        self.by_time.remove(id, job, belief);
    }

    /// By distance, that of the arm that a job is for.
    fn order_of(&mut self, job: &Job<P::Spot>) -> &mut Sstf {
        &mut self.by_distance[self.arms.as_ref().map_or(0, |arms| arms.arm_of(job))]
    }

    fn take_next(&mut self, now: Time, jobs: &Jobs<P::Spot>, belief: &P) -> Option<JobId> {
        let basis = belief.order_basis();
        if basis == OrderBasis::Forecasts {
            let id = self.by_time.take(now, jobs, belief)?;
            let job = jobs.get(id)?;
            self.order_of(job).remove(id, job, belief);
            return Some(id);
        }
        let oldest = self.by_time.oldest(now, jobs, belief).first;
        let limit = self.limit.unwrap_or_else(|| self.waits.limit());
        let is_next = |(_, arrived): &(JobId, Time)| basis == OrderBasis::Arrival || now.since(*arrived) > limit;
        if let Some((id, _)) = oldest.filter(is_next) {
            self.give_up(id, jobs.get(id)?, belief);
            return Some(id);
        }
        let (arm, head) = match &self.arms {
            None => (0, belief.arm()),
            Some(arms) => arms.next()?,
        };
        let by_distance = &mut self.by_distance[arm];
        let nearest = by_distance.nearest(head)?;
        let id = by_distance.take_run(nearest, head, jobs);
        self.by_time.remove(id, jobs.get(id)?, belief);
        Some(id)
    }
}
