//! What classes ask for, learned as requests come and go: how much of the arm, what that yields, and how much of it goes before
//! what yields less.

use crate::Job;
use crate::plan::Rules;
use crate::predict::Predictor;
use block::{Span, Time};

/// What so happened long ago counts little.
const MEMORY: Span = Span(5_000_000_000);

/// What is to come: the share of the arm's time that it asks for, and the mean square of what one takes, over the mean time
/// between them, ns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Coming {
    pub(crate) share: f64,
    pub(crate) square: f64,
}

impl Coming {
    /// One has come that takes so long, ns; what came is known for so long.
    fn add(&mut self, takes: f64, known: f64) {
        self.share += takes / known;
        self.square += takes * takes / known;
    }

    /// Mean and variance of when something ends that takes so long and lets go first what comes meanwhile: those of the busy
    /// period of M/G/1 that begins with so much work.
    pub(crate) fn delays(&self, takes: f64) -> (f64, f64) {
        let free = (1.0 - self.share).max(f64::MIN_POSITIVE);
        (takes / free, self.square * takes / (free * free * free))
    }
}

/// What a class has asked for: reads or writes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Demand {
    pub(crate) outstanding: u32,
    /// Of the last seconds, the share in which something of it was outstanding.
    share: f64,
    /// What the last of its requests yields a nanosecond, if it makes good use of the arm.
    pub(crate) average: f64,
    pub(crate) coming: Coming,
}

impl Demand {
    /// Time goes on: so much of what is remembered.
    fn pass(&mut self, part: f64) {
        self.share += part * (f64::from(u8::from(self.outstanding > 0)) - self.share);
        self.coming.share -= part * self.coming.share;
        self.coming.square -= part * self.coming.square;
    }

    /// Counts a request that takes so long and yields so much a nanosecond.
    fn add(&mut self, takes: f64, average: f64, known: Span) {
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
pub(crate) fn price<'a>(demands: impl Iterator<Item = &'a [Demand; 2]>, weight: f64) -> f64 {
    demands.map(|[reads, writes]| reads.price().max(weight * writes.price())).fold(0.0, f64::max)
}

/// What is to come of classes that goes before a request of so great an average yield.
pub(crate) fn before(demands: &[[Demand; 2]], weight: f64, average: f64) -> Coming {
    let all = demands.iter().flat_map(|[reads, writes]| [(reads, 1.0), (writes, weight)]);
    let first = all.filter(|(demand, weight)| weight * demand.average > average);
    first.fold(Coming::default(), |sum, (Demand { coming, .. }, _)| Coming {
        share: sum.share + coming.share,
        square: sum.square + coming.square,
    })
}

/// What a job takes when all of it is done at once, ns. Positioning takes about a revolution.
fn takes<P: Predictor>(belief: &P, job: &Job<P::Spot>) -> f64 {
    let turn = Some(belief.turn()).filter(|turn| *turn != Span(u64::MAX)).unwrap_or_default();
    (turn + belief.transfer(job.at, job.spot)).0.max(1) as f64
}

/// What a job yields a nanosecond then.
pub(crate) fn average<P: Predictor>(belief: &P, rules: &Rules, job: &Job<P::Spot>) -> f64 {
    rules.class(job.qos.class).worth.fresh(job.at.blocks) / takes(belief, job)
}

/// The demands of all classes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Demands {
    /// By class, of reads and of writes.
    by_class: Vec<[Demand; 2]>,
    /// Since when, and until when that is known.
    from: Option<Time>,
    until: Time,
}

impl Demands {
    /// By class, of reads and of writes.
    pub(crate) fn by_class(&self) -> &[[Demand; 2]] {
        &self.by_class
    }

    fn of<S>(&mut self, job: &Job<S>) -> &mut Demand {
        let class = usize::from(job.qos.class);
        if self.by_class.len() <= class {
            self.by_class.resize(class + 1, [Demand::default(); 2]);
        }
        &mut self.by_class[class][usize::from(job.op.writes())]
    }

    /// Lets time pass until now.
    pub(crate) fn pass(&mut self, now: Time) {
        let known = now.since(*self.from.get_or_insert(now)).0.clamp(1, MEMORY.0);
        let part = (now.since(self.until).0 as f64 / known as f64).min(1.0);
        self.by_class.iter_mut().flatten().for_each(|demand| demand.pass(part));
        self.until = now;
    }

    /// Counts a job that is new, or of a class anew.
    pub(crate) fn add<P: Predictor>(&mut self, belief: &P, rules: &Rules, job: &Job<P::Spot>) {
        let known = self.from.map_or(Span::ZERO, |from| self.until.since(from));
        self.of(job).add(takes(belief, job), average(belief, rules, job), known);
    }

    /// Counts a job no longer.
    pub(crate) fn remove<S>(&mut self, job: &Job<S>) {
        self.of(job).outstanding -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            demand.pass(0.02);
            // 20 ms every 100.
            demand.add(20e6, 2.0, Span(i * 100_000_000));
        }
        assert!((0.15..0.25).contains(&demand.coming.share), "{}", demand.coming.share);
        let demands = [[demand, Demand::default()]];
        assert_eq!(before(&demands, 1.0, 1.0).share, demand.coming.share);
        assert_eq!(before(&demands, 1.0, 2.0).share, 0.0, "an equal does not go before");
    }
}
