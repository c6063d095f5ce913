//! Whatever the device: by distance while nothing more is known of it, neighbours from the first one on; by access time as soon as
//! that was told better than distance tells it; and by arrival where distance was found to gain nothing.

use super::age::{AGE_BY_WAIT, AGE_LIMIT, Ageing};
use super::arms::OfArms;
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
        let by_distance = OfArms::new(Sstf::by_runs, beside.caps);
        Box::new(AutoOrder { by_distance, by_time, limit, waits: MeanWait::default() })
    }
}

/// All orders of what waits, of which one is followed.
struct AutoOrder<P: Predictor> {
    by_distance: OfArms<Sstf<true>>,
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
        self.by_distance.add(id, job, belief);
        self.by_time.add(id, job, belief);
    }

    fn remove(&mut self, id: JobId, job: &Job<P::Spot>, belief: &P) {
        self.by_distance.remove(id, job, belief);
        self.by_time.remove(id, job, belief);
    }

    fn take(&mut self, now: Time, jobs: &Jobs<P::Spot>, belief: &P) -> Option<JobId> {
        let by_time = self.take_by_time(now, jobs, belief);
        let id = by_time.or_else(|| self.by_distance.take(now, jobs, belief))?;
        let job = jobs.get(id)?;
        match by_time {
            Some(_) => self.by_distance.give(now, id, job, belief),
            None => self.by_time.remove(id, job, belief),
        }
        self.by_time.note_wait(now, job.arrived, jobs, belief);
        self.waits.note(now.since(job.arrived));
        Some(id)
    }

    fn follows_service(&self) -> bool {
        Policy::<P>::follows_service(&self.by_distance)
    }

    fn end(&mut self, now: Time, job: &Job<P::Spot>) {
        Policy::<P>::end(&mut self.by_distance, now, job);
    }

    fn candidates(&self) -> u64 {
        Policy::<P>::candidates(&self.by_distance) + self.by_time.candidates()
    }
}

impl<P: Predictor> AutoOrder<P> {
    /// Takes what forecasts choose, or what came first where that goes first; nothing where the nearest is to be served.
    fn take_by_time(&mut self, now: Time, jobs: &Jobs<P::Spot>, belief: &P) -> Option<JobId> {
        let basis = belief.order_basis();
        if basis == OrderBasis::Forecasts {
            return self.by_time.take(now, jobs, belief);
        }
        let (id, arrived) = self.by_time.oldest(now, jobs, belief).first?;
        let limit = self.limit.unwrap_or_else(|| self.waits.limit());
        if basis == OrderBasis::Distance && now.since(arrived) <= limit {
            return None;
        }
        self.by_time.remove(id, jobs.get(id)?, belief);
        Some(id)
    }
}
