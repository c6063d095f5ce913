//! Who interrupts is whoever would else come too late for what its class was promised.

use super::value::{Way, way};
use super::{Arbiter, Arbitration, Ongoing, best_newcomer, judge_newcomers};
use crate::Job;
use crate::board::Board;
use crate::predict::Predictor;
use block::{Span, Time};

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

/// Whether a newcomer interrupts, by what is promised to both.
#[derive(Default)]
pub(super) struct P99 {
    patience: Patience,
}

impl P99 {
    /// The average yield of a newcomer, if it interrupts the first.
    fn outbids<P: Predictor>(
        &self,
        board: &Board<P>,
        now: Time,
        first: &Job<P::Spot>,
        job: &Job<P::Spot>,
    ) -> Option<f64> {
        let way = way(board, now, first, job)?;
        let Way { rest, both, .. } = way;
        let promised = |job: &Job<P::Spot>| board.rules.class(job.qos.class).p99;
        // Those of its kind that wait go first, each as far away.
        let before = u64::from(board.queue.jobs_held(1).saturating_sub(1)) * (both.0 - rest.0);
        let response = now.since(job.arrived) + both + Span(before);
        let ends = promised(job).is_some_and(|p99| self.patience.ends(job.qos.class, p99, response));
        (promised(first).is_none() && ends).then(|| way.newcomer(board, now, job))
    }
}

impl<P: Predictor> Arbiter<P> for P99 {
    fn judge(&mut self, board: &mut Board<P>, now: Time, ongoing: &Ongoing<P::Spot>) -> Arbitration {
        judge_newcomers(board, ongoing, |board| {
            best_newcomer(board, ongoing, |job| self.outbids(board, now, &ongoing.job, job))
        })
    }

    fn learn(&mut self, board: &Board<P>, now: Time, job: &Job<P::Spot>) {
        if let Some(p99) = board.rules.class(job.qos.class).p99 {
            self.patience.learn(job.qos.class, p99, now.since(job.arrived));
        }
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
