//! Who interrupts the request being served: one file a rule.

mod p99;
mod rank;
mod schedules;
mod value;

use crate::board::Board;
use crate::job::JobState;
use crate::plan::{Preemption, Rules};
use crate::predict::Predictor;
use crate::{Job, JobId};
use block::{Op, Time};

/// The request being served.
pub(crate) struct Ongoing<S> {
    pub(crate) id: JobId,
    pub(crate) job: Job<S>,
    /// Whether its arm has left for it, so that an interruption costs something.
    pub(crate) begun: bool,
}

/// What becomes of the request being served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arbitration {
    /// It is served on.
    GoesOn,
    /// It waits again. This one is next; nothing: whom the queue gives.
    Interrupts(Option<JobId>),
}

/// A rule by which one request interrupts another.
pub(crate) trait Arbiter<P: Predictor> {
    /// Decides between the request being served and those that wait.
    fn judge(&mut self, board: &mut Board<P>, now: Time, ongoing: &Ongoing<P::Spot>) -> Arbitration;

    /// Whether a read that is not here would interrupt the request being served, were it to come now, and go before all that waits.
    fn lets_in(&self, board: &Board<P>, now: Time, ongoing: &Ongoing<P::Spot>, job: &Job<P::Spot>) -> bool {
        let _ = (board, now, ongoing, job);
        false
    }

    /// The request to serve when it is the turn of another, which the queue no longer holds: that one, or one that is to go
    /// before it.
    fn choose(&mut self, board: &mut Board<P>, now: Time, id: JobId) -> JobId {
        let _ = (board, now);
        id
    }

    /// Notes that the arm leaves for a request.
    fn begin(&mut self, board: &Board<P>, now: Time, id: JobId) {
        let _ = (board, now, id);
    }

    /// Notes that a request has ended, or that another steps in.
    fn cease(&mut self, board: &Board<P>, now: Time, id: JobId) {
        let _ = (board, now, id);
    }

    /// Learns from a request that was served to its end.
    fn learn(&mut self, board: &Board<P>, now: Time, job: &Job<P::Spot>) {
        let _ = (board, now, job);
    }
}

/// The arbiter that the rules ask for.
pub(crate) fn make<P: Predictor + 'static>(rules: &Rules) -> Box<dyn Arbiter<P>> {
    match rules.preemption {
        Preemption::Never | Preemption::Always | Preemption::Priority => Box::new(rank::Rank),
        Preemption::Conservative | Preemption::Aggressive => Box::new(value::Value),
        Preemption::Slo => Box::new(p99::P99::default()),
        Preemption::Lookahead => Box::new(schedules::Schedules::default()),
    }
}

/// Decides where only newcomers interrupt: `pick` finds the one that does. A request that has not begun is chosen anew.
fn judge_newcomers<P: Predictor>(
    board: &mut Board<P>,
    ongoing: &Ongoing<P::Spot>,
    pick: impl FnOnce(&mut Board<P>) -> Option<JobId>,
) -> Arbitration {
    if board.newcomers.is_empty() {
        return Arbitration::GoesOn;
    }
    let next = if ongoing.begun { pick(board) } else { None };
    board.newcomers.clear();
    if ongoing.begun && next.is_none() || !board.rules.class(ongoing.job.qos.class).preemptible {
        return Arbitration::GoesOn;
    }
    Arbitration::Interrupts(next)
}

/// Of the newcomers that may interrupt, the one of the highest average yield; `outbids` says what that is, if it does.
fn best_newcomer<P: Predictor>(
    board: &Board<P>,
    ongoing: &Ongoing<P::Spot>,
    outbids: impl Fn(&Job<P::Spot>) -> Option<f64>,
) -> Option<JobId> {
    if !board.rules.class(ongoing.job.qos.class).preemptible {
        return None;
    }
    let mut best: Option<(f64, JobId)> = None;
    for id in &board.newcomers {
        let Some(job) = board.jobs.get(*id).filter(|job| job.state == JobState::Queued && job.op != Op::Flush) else {
            continue;
        };
        if board.rules.class(job.qos.class).preempts
            && let Some(average) = outbids(job)
            && best.is_none_or(|(most, _)| average > most)
        {
            best = Some((average, *id));
        }
    }
    best.map(|(_, id)| id)
}
