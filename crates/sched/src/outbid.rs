//! Whether one that has come interrupts the request being served, by what both are worth (Preemptive RAID scheduling,
//! Section 3.3.2, Eqs. 2, 4 and 5), or by what was promised.

use crate::core::Core;
use crate::job::State;
use crate::plan::{PreemptAt, Preemption};
use crate::predict::Predictor;
use crate::{Job, JobId};
use block::{Op, Span, Time};

/// The share of a class's requests that may take longer than was promised.
const EXCUSED: f64 = 0.01;
/// By how much one that took longer, were none excused, shortens the patience.
const LEARNED: f64 = 0.1;
/// How much of what was promised may pass at first, and at least and at most.
const AT_FIRST: f64 = 0.8;
const SHORTEST: f64 = 0.05;
const LONGEST: f64 = 2.0;

/// How much of what was promised to a class may pass, by what is foretold, before its requests interrupt others: as much as
/// lets one in a hundred come too late. Each that does shortens it, each that does not lengthens it, a hundredth as much.
#[derive(Clone, Debug, Default)]
pub(crate) struct Patience(Vec<f64>);

impl Patience {
    fn of(&self, class: u8) -> f64 {
        self.0.get(usize::from(class)).copied().unwrap_or(AT_FIRST)
    }

    /// Whether a response foretold is more than may pass.
    fn ends(&self, class: u8, p99: Span, foretold: Span) -> bool {
        foretold.0 as f64 > self.of(class) * p99.0 as f64
    }

    /// A request of a class was served in so long.
    pub(crate) fn learn(&mut self, class: u8, p99: Span, response: Span) {
        let class = usize::from(class);
        if self.0.len() <= class {
            self.0.resize(class + 1, AT_FIRST);
        }
        let step = if response > p99 { 1.0 - LEARNED * (1.0 - EXCUSED) } else { 1.0 + LEARNED * EXCUSED };
        self.0[class] = (self.0[class] * step).clamp(SHORTEST, LONGEST);
    }
}

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

    /// What is promised to a class is held against how long a request of it took.
    pub(crate) fn learn_patience(&mut self, job: &Job<P::Spot>, now: Time) {
        if let Some(p99) = self.rules.class(job.qos.class).p99 {
            self.patience.learn(job.qos.class, p99, now.since(job.arrived));
        }
    }

    /// What a job is worth if it is done after so long (Eq. 2; a request on one disk is all of its parent).
    fn worth_after(&self, job: &Job<P::Spot>, now: Time, takes: Span) -> f64 {
        let worth = self.rules.class(job.qos.class).worth.at(job.at.blocks, &job.qos, job.arrived, now + takes);
        if job.op.writes() { self.weight * worth } else { worth }
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
            Preemption::Slo => {
                let promised = |job: &Job<P::Spot>| self.rules.class(job.qos.class).p99;
                // Those of its kind that wait go first, each as far away.
                let before = u64::from(self.queue.held(1).saturating_sub(1)) * (both.0 - rest.0);
                let response = now.since(job.arrived) + both + Span(before);
                promised(first).is_none()
                    && promised(job).is_some_and(|p99| self.patience.ends(job.qos.class, p99, response))
            }
            Preemption::Never | Preemption::Always | Preemption::Priority | Preemption::Lookahead => false,
        };
        outbids.then_some(newcomer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_settles_where_one_in_a_hundred_is_late() {
        // Responses are anything up to the patience: one in a hundred of them is longer than 0.99 of it.
        let (mut patience, p99) = (Patience::default(), Span(1000));
        let (mut late, mut state) = (0, 7u64);
        for i in 0..40_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let response = Span((patience.of(0) * (state >> 33) as f64 / (1u64 << 31) as f64 * 1000.0) as u64);
            late += u32::from(i >= 20_000 && response > p99);
            patience.learn(0, p99, response);
        }
        assert!((150..250).contains(&late), "{late} of 20,000 were late");
    }
}
