//! Whether one that has come interrupts the request being served, by what both are worth (Preemptive RAID scheduling,
//! Section 3.3.2, Eqs. 2, 4 and 5).

use crate::core::Core;
use crate::job::State;
use crate::plan::{PreemptAt, Preemption};
use crate::predict::Predictor;
use crate::{Job, JobId};
use block::{Op, Span, Time};

impl<P: Predictor> Core<P> {
    /// Of those that have come since it was last asked, the one that is to interrupt; of several, that of the highest average
    /// yield.
    pub(crate) fn outbidder(&self, now: Time, ongoing: &Job<P::Spot>, came: &[JobId]) -> Option<JobId> {
        if !self.rules.class(ongoing.qos.class).preemptible {
            return None;
        }
        let mut best: Option<(f64, JobId)> = None;
        for id in came {
            let Some(job) = self.jobs.get(*id).filter(|job| job.state == State::Queued && job.op != Op::Flush) else {
                continue;
            };
            if self.rules.class(job.qos.class).preempts
                && let Some(average) = self.outbids(now, ongoing, job)
                && best.is_none_or(|(most, _)| average > most)
            {
                best = Some((average, *id));
            }
        }
        best.map(|(_, id)| id)
    }

    /// What a job is worth if it is done after so long (Eq. 2; a request on one disk is all of its parent).
    fn worth_after(&self, job: &Job<P::Spot>, now: Time, takes: Span) -> f64 {
        self.rules.class(job.qos.class).worth.at(job.at.blocks, &job.qos, job.arrived, now + takes)
    }

    /// The average yield of a newcomer, if it interrupts the first.
    fn outbids(&self, now: Time, first: &Job<P::Spot>, job: &Job<P::Spot>) -> Option<f64> {
        let way = self.belief.approach(now, job.rest(), job.spot, job.op.writes())?;
        let half = Span(way.turn.0 / 2);
        let transfer = self.belief.transfer(job.rest(), job.spot);
        let rest = self.belief.transfer(first.rest(), first.spot);
        // Were it to wait: the first is done, then this one, as far away and half a revolution.
        let both = rest + way.travel + half + transfer;
        // Were it to go first, at the next just-in-time point, until which the first goes on; then back.
        let soon = way.travel + way.wait + transfer;
        let meanwhile = match self.rules.preempt_at {
            PreemptAt::Jit if first.op == Op::Read => way.wait,
            _ => Span::ZERO,
        };
        let resumed = soon + way.travel + half + rest.less(meanwhile);
        let per = |worth: f64, takes: Span| worth / takes.0.max(1) as f64;
        let newcomer = per(self.worth_after(job, now, soon), soon);
        let outbids = match self.rules.preemption {
            Preemption::Aggressive => newcomer > self.rules.hysteresis * per(self.worth_after(first, now, rest), rest),
            Preemption::Conservative => {
                let waiting = self.worth_after(first, now, rest) + self.worth_after(job, now, both);
                let stepping_in = self.worth_after(job, now, soon) + self.worth_after(first, now, resumed);
                per(stepping_in, resumed) > self.rules.hysteresis * per(waiting, both)
            }
            Preemption::Never | Preemption::Always | Preemption::Priority => false,
        };
        outbids.then_some(newcomer)
    }
}
