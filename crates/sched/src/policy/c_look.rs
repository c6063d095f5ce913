//! C-LOOK: the arm sweeps upward in order of block number, then jumps back to the lowest waiting request.

use super::arms::{ArmOrder, OfArms};
use super::base::Base;
use super::{Beside, Kind, Manual, Needs, Policy, by_lbn};
use crate::ordered::{Ordered, Position};
use crate::predict::Predictor;
use crate::{Job, JobId, Jobs};
use block::BadInput;
use block::{Lbn, Time};
use config::Section;

/// The policy has no keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings;

impl Kind for Settings {
    const MANUAL: Manual = Manual {
        name: "c-look",
        text: "The arm sweeps upward in order of block number, then jumps back to the lowest waiting request. Waits are more even than with `look`. Where a device has several arms, each sweeps by itself, and the one with the least to do is served.",
        keys: &[],
        example: "policy = \"c-look\"",
        needs: Needs::Nothing,
    };

    fn read(_: &Section) -> Result<Settings, BadInput> {
        Ok(Settings)
    }

    fn make<P: Predictor + 'static>(&self, beside: &Beside) -> Box<dyn Policy<P>> {
        OfArms::or_one(CLook::new, beside.caps)
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
    fn take(&mut self, now: Time, jobs: &Jobs<P::Spot>, belief: &P) -> Option<JobId> {
        self.take_from(belief.arm(), now, jobs, belief)
    }

    fn pass(&mut self, _: &Job<P::Spot>, _: &P) -> bool {
        true
    }
}

impl<P: Predictor> ArmOrder<P> for CLook {
    #[inline(always)]
    fn take_from(&mut self, head: Lbn, _: Time, _: &Jobs<P::Spot>, _: &P) -> Option<JobId> {
        let next = self.next(head)?;
        Some(self.waiting.take(next))
    }
}

impl<P: Predictor> Base<P> for CLook {
    fn choice(&mut self, head: Lbn) -> Option<JobId> {
        Some(self.waiting.at(self.next(head)?).id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::Distance;
    use block::{Caps, Extent, Op, Qos, Request, RequestId, SeekBy};

    /// Each goes on upward from where it was left, and then from the lowest of its own; of arms with as much to do they take turns.
    #[test]
    fn several_arms_sweep_by_themselves() {
        let caps = Caps { blocks: 200, depth: 4, seek: SeekBy::Nothing, arms: 2 };
        let mut policy = OfArms::or_one(CLook::new, Some(caps));
        let one_at_a_time = OfArms::or_one::<Distance>(CLook::new, Some(Caps { depth: 1, ..caps }));
        assert!(policy.follows_service() && !one_at_a_time.follows_service());
        let (belief, mut jobs) = (Distance::default(), Jobs::new());
        let mut number = 0;
        let mut wait = |policy: &mut Box<dyn Policy<Distance>>, jobs: &mut Jobs<Lbn>, at: u64| {
            let request = Request { id: RequestId(number), op: Op::Read, at: Extent::new(at, 1), qos: Qos::default() };
            let job = Job::new(&request, Time(0), u64::from(number), Lbn(at));
            let id = jobs.insert(job);
            policy.add(id, &job, &belief);
            number += 1;
        };
        let take = |policy: &mut Box<dyn Policy<Distance>>, jobs: &Jobs<Lbn>| {
            policy.take(Time(0), jobs, &belief).and_then(|id| jobs.get(id)).copied()
        };
        [130, 10, 50, 110, 70, 190, 30].into_iter().for_each(|at| wait(&mut policy, &mut jobs, at));
        let first = [(); 4].map(|()| take(&mut policy, &jobs).expect("some wait"));
        assert_eq!(first.map(|job| job.at.start.0), [10, 110, 30, 130]);
        policy.end(Time(0), &first[1]);
        wait(&mut policy, &mut jobs, 20);
        assert_eq!(
            take(&mut policy, &jobs).map(|job| job.at.start.0),
            Some(190),
            "of the upper one, which has ended one"
        );
        [0, 2].into_iter().for_each(|of| policy.end(Time(0), &first[of]));
        let rest = [(); 4].map(|()| take(&mut policy, &jobs).map(|job| job.at.start.0));
        assert_eq!(rest, [Some(50), Some(70), Some(20), None], "on from 30, and then from the lowest");
    }
}
