//! Preemption by whole schedules, the queue included: of the request whose turn it is and the best few that wait, in which
//! order would all of them together yield the most?
//!
//! Eq. 5 (Preemptive RAID scheduling, Section 3.3.2) weighs two requests by themselves; here each order of a few is served in
//! thought, by what the predictor believes, and each request in it is worth what it is worth when it ends. What one order
//! takes longer than another is paid for at a price: it keeps the arm from those who always have something for it. An order is
//! found by a beam search; of orders of the same requests that end with the same one only the best is kept. The order of the
//! policy is left only for requests that are worth more the other way round: how to save time the policy knows.
//!
//! When a request ends is not certain. How much longer than foretold transfers take is learned, with its spread; and what comes
//! meanwhile and yields more for its time goes first, as much as came of late. A request is worth the mean of what it is
//! worth a standard deviation sooner and later: the quadrature of two points that is right in mean and variance.
//!
//! **Time has a price.** Preemption by whole schedules compares orders of the same few requests. What an order takes
//! longer is paid for at what a class yields in that time which always has something outstanding; without that, going
//! first would be free and every newcomer would step in. A request that is dropped at its deadline may be let go
//! where others would yield more in its time. When something ends is a mean and a variance: transfers take longer
//! than the mechanics foretell, which is learned, and what comes meanwhile and yields more for its time goes first.
//! The order of the policy is left only for what is worth more then.

use super::{Arbiter, Arbitration, Ongoing};
use crate::JobId;
use crate::beam;
use crate::board::Board;
use crate::demand::{Coming, average, before, price};
use crate::plan::PreemptAt;
use crate::policy::pace;
use crate::predict::Predictor;
use crate::value::Worth;
use block::{Extent, Op, Qos, Span, Time};
use lateness::LatenessSpread;

mod lateness;

/// Waiting requests of a schedule at most: those of the greatest average yields.
const FEW: usize = 6;
/// Schedules of one length that are kept.
const BEAM: usize = 8;
/// Sums of the same in another order differ by less.
const ROUNDING: f64 = 1e-9;

/// A request of the schedules.
#[derive(Clone, Copy)]
struct Candidate<P: Predictor> {
    id: JobId,
    op: Op,
    rest: Extent,
    spot: P::Spot,
    key: u64,
    mark: P::Mark,
    /// What its transfer takes, ns.
    transfer: f64,
    /// How many times as long it takes, and the variance of that.
    times: f64,
    variance: f64,
    /// What comes and goes before it.
    before: Coming,
    worth: Worth,
    /// What it was worth when it came.
    fresh: f64,
    qos: Qos,
    arrived: Time,
    /// Whether it may go before the one whose turn it is.
    preempts: bool,
    /// Where it is dropped when it is worth nothing any more: what a nanosecond of the arm is worth to others.
    price: Option<f64>,
}

/// Requests in an order, as far as it is settled.
#[derive(Clone, Copy)]
struct Schedule<H> {
    /// Where the head is before the last, and whether that one is served.
    head: H,
    serves: bool,
    /// When it ends, ns from now, the variance of that, and what the requests have yielded by then.
    ends: f64,
    variance: f64,
    earned: f64,
    /// That, less the price of the time, and the most that may come of the rest.
    promise: f64,
    first: usize,
    last: usize,
    /// Which requests, a bit each.
    taken: u32,
    /// What is left of the transfer of the one whose turn it was, ns.
    left: f64,
}

/// The request being served.
#[derive(Clone, Copy, Debug)]
struct Serving {
    id: JobId,
    from: Time,
    /// What was left of it then, and what getting there was to take, ns.
    rest: Extent,
    there: f64,
}

/// Who interrupts is who goes first in the best schedule. Its lists are kept for their memory.
pub(super) struct Schedules<P: Predictor> {
    serving: Option<Serving>,
    /// Of reads and of writes.
    late: [LatenessSpread; 2],
    few: Vec<JobId>,
    set: Vec<Candidate<P>>,
    schedules: Vec<Schedule<P::Head>>,
    longer: Vec<Schedule<P::Head>>,
}

impl<P: Predictor> Default for Schedules<P> {
    fn default() -> Schedules<P> {
        Schedules {
            serving: None,
            late: [LatenessSpread::default(); 2],
            few: Vec::new(),
            set: Vec::new(),
            schedules: Vec::new(),
            longer: Vec::new(),
        }
    }
}

/// What schedules are valued by. The first candidate is the one whose turn it is.
struct Scene<'a, P: Predictor> {
    belief: &'a P,
    now: Time,
    /// Clock ticks in a nanosecond.
    pace: f64,
    /// What a nanosecond of the arm is worth.
    price: f64,
    set: &'a [Candidate<P>],
    /// Whether the first is being transferred, and goes on until another's seek is due.
    moving: bool,
    goes_on: bool,
}

impl<P: Predictor> Scene<'_, P> {
    /// What a request is worth that is to end so long from now, but for what comes before, give or take.
    fn worth(&self, of: &Candidate<P>, ends: f64, variance: f64) -> f64 {
        let left = |ends: f64| of.worth.worth_at(&of.qos, of.arrived, self.now + Span(ends as u64));
        let (mean, more) = of.before.delays(ends);
        let off = (variance + more).sqrt();
        of.fresh * (left(mean - off) + left(mean + off)) / 2.0
    }

    /// Where the head is after a schedule.
    fn head_after(&self, schedule: &Schedule<P::Head>) -> P::Head {
        let it = &self.set[schedule.last];
        match schedule.serves {
            true => self.belief.head_after(&schedule.head, it.rest, it.spot, it.op.direction()).0,
            false => schedule.head,
        }
    }

    /// The schedule, after which the head is there, and then one request more.
    fn then(&self, schedule: &Schedule<P::Head>, head: P::Head, next: usize) -> Schedule<P::Head> {
        let it = &self.set[next];
        let begins = schedule.taken == 0;
        let direction = it.op.direction();
        let there = match begins && next == 0 && self.moving {
            true => 0.0,
            false => self.belief.cost(&head, it.key, it.mark, direction) as f64 / self.pace,
        };
        let moves = if next == 0 { schedule.left } else { it.transfer };
        let ends = schedule.ends + there + it.times * moves;
        let variance = schedule.variance + it.variance * moves * moves;
        let earns = self.worth(it, ends, variance);
        let first = if begins { next } else { schedule.first };
        // Some are better let go.
        let serves = it.price.is_none_or(|price| earns > price * (ends - schedule.ends));
        let mut longer = Schedule { head, serves, first, last: next, taken: schedule.taken | 1 << next, ..*schedule };
        if serves {
            (longer.ends, longer.variance, longer.earned) = (ends, variance, schedule.earned + earns);
            if begins && next != 0 && self.goes_on {
                let way = self.belief.approach(self.now, it.rest, it.spot, direction);
                longer.left -= way.map_or(0.0, |way| way.wait.0 as f64).min(longer.left);
            }
        }
        longer.promise = longer.earned - self.price * longer.ends + self.hope(&longer);
        longer
    }

    /// What the requests that are left may come to: each of them as if it were the next, and reached at once.
    fn hope(&self, schedule: &Schedule<P::Head>) -> f64 {
        let left = self.set.iter().enumerate().filter(|(i, _)| schedule.taken & 1 << i == 0);
        left.map(|(i, it)| {
            let takes = it.times * if i == 0 { schedule.left } else { it.transfer };
            let earns = self.worth(it, schedule.ends + takes, schedule.variance);
            if it.price.is_some_and(|price| earns <= price * takes) { 0.0 } else { earns - self.price * takes }
        })
        .sum()
    }

    /// The best schedule of all requests that begins with one of those allowed, if any is.
    fn best(
        &self,
        begins: impl Fn(usize) -> bool,
        now: &mut Vec<Schedule<P::Head>>,
        longer: &mut Vec<Schedule<P::Head>>,
    ) -> Option<Schedule<P::Head>> {
        let head = self.belief.head(self.now).0;
        let left = self.set.first()?.transfer;
        let (ends, variance, earned, promise) = (0.0, 0.0, 0.0, 0.0);
        let none = Schedule { head, serves: false, ends, variance, earned, promise, first: 0, last: 0, taken: 0, left };
        now.clear();
        let firsts = (0..self.set.len()).filter(|i| begins(*i)).map(|i| self.then(&none, head, i));
        // What is better let go does not go before another.
        firsts.filter(|first| first.first == 0 || first.serves).for_each(|first| keep_promising(now, first));
        for _ in 1..self.set.len() {
            longer.clear();
            for schedule in now.iter() {
                let head = self.head_after(schedule);
                for next in (0..self.set.len()).filter(|i| schedule.taken & 1 << i == 0) {
                    keep_promising(longer, self.then(schedule, head, next));
                }
            }
            std::mem::swap(now, longer);
        }
        now.first().copied()
    }
}

/// Keeps a schedule if it is one of the most promising.
fn keep_promising<H>(schedules: &mut Vec<Schedule<H>>, schedule: Schedule<H>) {
    let same = |kept: &Schedule<H>, new: &Schedule<H>| kept.last == new.last && kept.taken == new.taken;
    beam::keep(schedules, BEAM, schedule, same, |kept, new| kept.promise >= new.promise);
}

impl<P: Predictor> Schedules<P> {
    /// The waiting request that is to go before the one whose turn it is, which is no longer held by the queue; that one may be
    /// moving already.
    fn foresee(&mut self, board: &mut Board<P>, now: Time, first: JobId, moving: bool) -> Option<JobId> {
        self.few.clear();
        self.few.push(first);
        board.queue.best(FEW, now, &board.jobs, &board.belief, &mut self.few);
        if self.few.len() < 2 || !board.rules.class(board.jobs.get(first)?.qos.class).preemptible {
            return None;
        }
        let Schedules { late, few, set, schedules, longer, .. } = self;
        set.clear();
        set.extend(few.iter().filter_map(|id| candidate(board, *id, late)));
        let demands = board.demands.as_ref()?.by_class();
        let price = price(demands.iter(), board.weight);
        let goes_on = moving && board.rules.preempt_at == PreemptAt::Jit && set.first()?.op == Op::Read;
        let pace = pace(&board.belief);
        let scene = Scene { belief: &board.belief, now, pace, price, set, moving, goes_on };
        let other = scene.best(|i| i > 0 && scene.set[i].preempts, schedules, longer)?;
        let stays = scene.best(|i| i == 0, schedules, longer)?;
        let more = (board.rules.hysteresis - 1.0) * stays.earned;
        let yields = other.earned > stays.earned * (1.0 + ROUNDING);
        (yields && other.promise > stays.promise + more).then(|| set[other.first].id)
    }
}

fn candidate<P: Predictor>(board: &Board<P>, id: JobId, late: &[LatenessSpread; 2]) -> Option<Candidate<P>> {
    let job = board.jobs.get(id)?;
    let rule = board.rules.class(job.qos.class);
    let weight = f64::from(job.part) * if job.op.writes() { board.weight } else { 1.0 };
    let demands = board.demands.as_ref()?.by_class();
    let others = demands.iter().enumerate().filter(|(class, _)| *class != usize::from(job.qos.class));
    let others = price(others.map(|(_, demand)| demand), board.weight);
    let late = &late[usize::from(job.op.writes())];
    Some(Candidate {
        id,
        op: job.op,
        rest: job.rest(),
        spot: job.spot,
        key: board.belief.key(job.spot),
        mark: board.belief.mark(job.spot),
        transfer: board.belief.transfer(job.rest(), job.spot).0 as f64,
        times: late.times(),
        variance: late.variance(),
        before: before(demands, board.weight, weight * average(&board.belief, &board.rules, job)),
        worth: rule.worth,
        fresh: weight * rule.worth.fresh(job.at.blocks),
        qos: job.qos,
        arrived: job.arrived,
        preempts: rule.preempts,
        price: board.deadline(job).map(|_| others),
    })
}

impl<P: Predictor> Arbiter<P> for Schedules<P> {
    fn judge(&mut self, board: &mut Board<P>, now: Time, ongoing: &Ongoing<P::Spot>) -> Arbitration {
        let foresee = |board: &mut Board<P>| self.foresee(board, now, ongoing.id, true);
        super::judge_newcomers(board, ongoing, foresee)
    }

    fn choose(&mut self, board: &mut Board<P>, now: Time, id: JobId) -> JobId {
        let Some(other) = self.foresee(board, now, id, false) else { return id };
        let (Some(job), Some(first)) = (board.jobs.get(id).copied(), board.jobs.get(other).copied()) else { return id };
        board.enqueue(id, &job);
        board.dequeue(other, &first);
        other
    }

    fn begin(&mut self, board: &Board<P>, now: Time, id: JobId) {
        let Some(job) = board.jobs.get(id) else { return };
        let (head, _) = board.belief.head(now);
        let (key, mark) = (board.belief.key(job.spot), board.belief.mark(job.spot));
        let there = board.belief.cost(&head, key, mark, job.op.direction()) as f64 / pace(&board.belief);
        self.serving = Some(Serving { id, from: now, rest: job.rest(), there });
    }

    /// Learns how long its transfer took, beside what was foretold of as much of it.
    fn cease(&mut self, board: &Board<P>, now: Time, id: JobId) {
        let Some(job) = board.jobs.get(id) else { return };
        let Some(serving) = self.serving.take().filter(|serving| serving.id == id) else { return };
        let blocks = serving.rest.blocks - job.rest().blocks;
        if blocks > 0 {
            let moved = Extent { blocks, ..serving.rest };
            let foretold = board.belief.transfer(moved, job.spot).0 as f64;
            let took = now.since(serving.from).0 as f64 - serving.there;
            self.late[usize::from(job.op.writes())].learn(foretold, took);
        }
    }
}

#[cfg(test)]
mod tests;
