//! Who interrupts is whoever yields more for its time, the two of them alone (Preemptive RAID scheduling, Section 3.3.2,
//! Eqs. 2, 4 and 5).

use super::{Arbiter, Arbitration, Ongoing, best_newcomer, judge_newcomers};
use crate::Job;
use crate::board::Board;
use crate::plan::{PreemptAt, Preemption};
use crate::predict::Predictor;
use block::{Op, Span, Time};

/// Whether a newcomer interrupts, by what both are worth.
pub(super) struct Value;

/// How long it takes to serve a request and one that has come meanwhile, in either order.
pub(super) struct Way {
    /// What is left of the first.
    pub(super) rest: Span,
    /// Both, were the newcomer to wait.
    pub(super) both: Span,
    /// The newcomer, were it to go first, and then both.
    soon: Span,
    resumed: Span,
}

/// What a request is worth if it is done after so long (Eq. 2).
fn worth_after<P: Predictor>(board: &Board<P>, job: &Job<P::Spot>, now: Time, takes: Span) -> f64 {
    let worth = board.rules.class(job.qos.class).worth.at(job.at.blocks, &job.qos, job.arrived, now + takes);
    let worth = worth * f64::from(job.part);
    if job.op.writes() { board.weight * worth } else { worth }
}

/// Worth for its time.
fn per(worth: f64, takes: Span) -> f64 {
    worth / takes.0.max(1) as f64
}

/// How long a request and a newcomer take; nothing where the phase is not known.
pub(super) fn way<P: Predictor>(board: &Board<P>, now: Time, first: &Job<P::Spot>, job: &Job<P::Spot>) -> Option<Way> {
    let belief = &board.belief;
    let way = belief.approach(now, job.rest(), job.spot, job.op.direction())?;
    let half = Span(way.turn.0 / 2);
    let transfer = belief.transfer(job.rest(), job.spot);
    let rest = belief.transfer(first.rest(), first.spot);
    // Were it to wait: the first is done, then this one, as far away and half a revolution.
    let both = rest + way.travel + half + transfer;
    // Were it to go first, at the next just-in-time point, until which the first goes on; then back.
    let soon = way.travel + way.wait + transfer;
    let meanwhile = match board.rules.preempt_at {
        PreemptAt::Jit if first.op == Op::Read => way.wait,
        _ => Span::ZERO,
    };
    let resumed = soon + way.travel + half + rest.less(meanwhile);
    Some(Way { rest, both, soon, resumed })
}

impl Way {
    /// The average yield of the newcomer, were it to go first.
    pub(super) fn newcomer<P: Predictor>(&self, board: &Board<P>, now: Time, job: &Job<P::Spot>) -> f64 {
        per(worth_after(board, job, now, self.soon), self.soon)
    }
}

/// The average yield of a newcomer, if it interrupts the first.
fn outbids<P: Predictor>(board: &Board<P>, now: Time, first: &Job<P::Spot>, job: &Job<P::Spot>) -> Option<f64> {
    let way = way(board, now, first, job)?;
    let Way { rest, both, soon, resumed } = way;
    let worth = |job: &Job<P::Spot>, takes| worth_after(board, job, now, takes);
    let newcomer = way.newcomer(board, now, job);
    let outbids = if board.rules.preemption == Preemption::Conservative {
        let waiting = worth(first, rest) + worth(job, both);
        let stepping_in = worth(job, soon) + worth(first, resumed);
        per(stepping_in, resumed) > board.rules.hysteresis * per(waiting, both)
    } else {
        newcomer > board.rules.hysteresis * per(worth(first, rest), rest)
    };
    outbids.then_some(newcomer)
}

impl<P: Predictor> Arbiter<P> for Value {
    fn judge(&mut self, board: &mut Board<P>, now: Time, ongoing: &Ongoing<P::Spot>) -> Arbitration {
        judge_newcomers(board, ongoing, |board| {
            best_newcomer(board, ongoing, |job| outbids(board, now, &ongoing.job, job))
        })
    }

    fn lets_in(&self, board: &Board<P>, now: Time, ongoing: &Ongoing<P::Spot>, job: &Job<P::Spot>) -> bool {
        let (one, other) = (board.rules.class(job.qos.class), board.rules.class(ongoing.job.qos.class));
        // Of one that has not begun the queue alone says who is next.
        ongoing.begun && one.preempts && other.preemptible && outbids(board, now, &ongoing.job, job).is_some()
    }
}
