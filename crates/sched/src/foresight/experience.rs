//! What is learned of the load and of the device while requests are served: what comes and goes first, and how much longer
//! than foretold transfers take.

use crate::core::Core;
use crate::policy::pace;
use crate::predict::Predictor;
use crate::{Job, JobId};
use block::{Extent, Span, Time};

/// What so happened long ago counts little.
pub(super) const MEMORY: Span = Span(5_000_000_000);
/// From about so many transfers it is learned how long they take.
const REMEMBERED: f64 = 64.0;

/// What is to come: the share of the arm's time that it asks for, and the mean square of what one takes, over the mean time
/// between them, ns.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Coming {
    pub(super) share: f64,
    pub(super) square: f64,
}

impl Coming {
    /// One has come that takes so long, ns; what came is known for so long.
    fn add(&mut self, takes: f64, known: f64) {
        self.share += takes / known;
        self.square += takes * takes / known;
    }

    /// Mean and variance of when something ends that takes so long and lets go first what comes meanwhile: those of the busy
    /// period of M/G/1 that begins with so much work.
    pub(super) fn delays(&self, takes: f64) -> (f64, f64) {
        let free = (1.0 - self.share).max(f64::MIN_POSITIVE);
        (takes / free, self.square * takes / (free * free * free))
    }
}

/// What a class has asked for: reads or writes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Demand {
    pub(super) outstanding: u32,
    /// Of the last seconds, the share in which something of it was outstanding.
    share: f64,
    /// What the last of its requests yields a nanosecond, if it makes good use of the arm.
    pub(super) average: f64,
    pub(super) coming: Coming,
}

impl Demand {
    /// Time goes on: so much of what is remembered.
    pub(super) fn passed(&mut self, part: f64) {
        self.share += part * (f64::from(u8::from(self.outstanding > 0)) - self.share);
        self.coming.share -= part * self.coming.share;
        self.coming.square -= part * self.coming.square;
    }

    /// A request has come that takes so long and yields so much a nanosecond.
    pub(super) fn came(&mut self, takes: f64, average: f64, known: Span) {
        self.average = average;
        self.outstanding += 1;
        self.coming.add(takes, known.0.clamp(1, MEMORY.0) as f64);
    }

    /// What time is worth to it: all that it yields in it where it always has something to ask for, else much less.
    fn price(&self) -> f64 {
        let often = self.share * self.share;
        often * often * self.average
    }
}

/// What a nanosecond of the arm is worth to classes, where what a write is worth counts so many times.
pub(super) fn price<'a>(demands: impl Iterator<Item = &'a [Demand; 2]>, weight: f64) -> f64 {
    demands.map(|[reads, writes]| reads.price().max(weight * writes.price())).fold(0.0, f64::max)
}

/// What is to come of classes that goes before a request of so great an average yield.
pub(super) fn before(demands: &[[Demand; 2]], weight: f64, average: f64) -> Coming {
    let all = demands.iter().flat_map(|[reads, writes]| [(reads, 1.0), (writes, weight)]);
    let first = all.filter(|(demand, weight)| weight * demand.average > average);
    first.fold(Coming::default(), |sum, (Demand { coming, .. }, _)| Coming {
        share: sum.share + coming.share,
        square: sum.square + coming.square,
    })
}

/// How much longer than foretold transfers take, as sums over the last of them, ns: what the predictor does not know of a
/// device, such as its write buffer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lateness {
    foretold: f64,
    took: f64,
    foretold_square: f64,
    off_square: f64,
}

impl Lateness {
    fn learn(&mut self, foretold: f64, took: f64) {
        let off = took - self.times() * foretold;
        let learn = |sum: &mut f64, more: f64| *sum += more - *sum / REMEMBERED;
        learn(&mut self.foretold, foretold);
        learn(&mut self.took, took);
        learn(&mut self.foretold_square, foretold * foretold);
        learn(&mut self.off_square, off * off);
    }

    /// How many times as long they take.
    pub(super) fn times(&self) -> f64 {
        if self.foretold > 0.0 { self.took / self.foretold } else { 1.0 }
    }

    /// The variance of that.
    pub(super) fn variance(&self) -> f64 {
        if self.foretold_square > 0.0 { self.off_square / self.foretold_square } else { 0.0 }
    }
}

/// The request being served.
#[derive(Clone, Copy, Debug)]
pub(super) struct Serving {
    id: JobId,
    from: Time,
    /// What was left of it then, and what getting there was to take, ns.
    rest: Extent,
    there: f64,
}

impl<P: Predictor> Core<P> {
    /// The arm leaves for a request.
    pub(crate) fn begins(&mut self, now: Time, id: JobId) {
        let (Some(foresight), Some(job)) = (&mut self.foresight, self.jobs.get(id)) else { return };
        let (head, _) = self.belief.head(now);
        let (key, mark) = (self.belief.key(job.spot), self.belief.mark(job.spot));
        let there = self.belief.cost(&head, key, mark, job.op.writes()) as f64 / pace(&self.belief);
        foresight.serving = Some(Serving { id, from: now, rest: job.rest(), there });
    }

    /// A request has ended, or another steps in: how long its transfer took, beside what was foretold of as much of it.
    pub(crate) fn ceases(&mut self, now: Time, id: JobId) {
        let (Some(foresight), Some(job)) = (&mut self.foresight, self.jobs.get(id)) else { return };
        let Some(serving) = foresight.serving.take().filter(|serving| serving.id == id) else { return };
        let blocks = serving.rest.blocks - job.rest().blocks;
        if blocks > 0 {
            let moved = Extent { blocks, ..serving.rest };
            let foretold = self.belief.transfer(moved, job.spot).0 as f64;
            let took = now.since(serving.from).0 as f64 - serving.there;
            foresight.late[usize::from(job.op.writes())].learn(foretold, took);
        }
    }

    /// What a job takes when all of it is done at once, ns. Positioning takes about a revolution.
    pub(super) fn takes(&self, job: &Job<P::Spot>) -> f64 {
        let turn = Some(self.belief.turn()).filter(|turn| *turn != Span(u64::MAX)).unwrap_or_default();
        (turn + self.belief.transfer(job.at, job.spot)).0.max(1) as f64
    }

    /// What it yields a nanosecond then.
    pub(super) fn average(&self, job: &Job<P::Spot>) -> f64 {
        self.rules.class(job.qos.class).worth.fresh(job.at.blocks) / self.takes(job)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_transfers_take_is_learned_with_its_spread() {
        let mut late = Lateness::default();
        assert_eq!((late.times(), late.variance()), (1.0, 0.0), "nothing is known");
        // Half of them take as long as foretold, half twice as long.
        for i in 0..1000 {
            late.learn(10.0, if i % 2 == 0 { 10.0 } else { 20.0 });
        }
        assert!((late.times() - 1.5).abs() < 0.01, "{}", late.times());
        assert!((late.variance() - 0.25).abs() < 0.01, "{}", late.variance());
    }

    #[test]
    fn what_comes_and_goes_first_delays_as_a_busy_period_does() {
        // Half of the time is asked for, 10 every 20; what takes 40 then ends after 80 on average.
        let coming = Coming { share: 0.5, square: 100.0 / 20.0 };
        assert_eq!(coming.delays(40.0), (80.0, 1600.0));
        assert_eq!(Coming::default().delays(40.0), (40.0, 0.0));
    }

    #[test]
    fn a_share_of_the_arm_is_found_from_what_comes_and_goes_before_what_yields_less() {
        let mut demand = Demand::default();
        for i in 1..=2000_u64 {
            demand.passed(0.02);
            // 20 ms every 100.
            demand.came(20e6, 2.0, Span(i * 100_000_000));
        }
        assert!((0.15..0.25).contains(&demand.coming.share), "{}", demand.coming.share);
        let demands = [[demand, Demand::default()]];
        assert_eq!(before(&demands, 1.0, 1.0).share, demand.coming.share);
        assert_eq!(before(&demands, 1.0, 2.0).share, 0.0, "an equal does not go before");
    }
}
