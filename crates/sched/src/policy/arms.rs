//! Arms that move by themselves, each in a share of the blocks: where each is, and how much is given to it.

use super::Policy;
use super::in_service::InService;
use crate::predict::Predictor;
use crate::{Job, JobId, Jobs};
use block::{Caps, Lbn, Op, Span, Time};

/// An order by place, of what waits for one arm.
pub(super) trait ArmOrder<P: Predictor>: Policy<P> {
    /// Chooses as [`Policy::take`] does, for an arm that is behind block `head`.
    fn take_from(&mut self, head: Lbn, now: Time, jobs: &Jobs<P::Spot>, belief: &P) -> Option<JobId>;
}

/// An order for each arm of a device.
pub(super) struct OfArms<O> {
    orders: Vec<O>,
    /// Where there are several.
    arms: Option<ArmShares>,
}

impl<O> OfArms<O> {
    /// An order for each arm of a device that can do this; but one, where [`ArmShares::of`] finds nothing to share.
    pub(super) fn new(make: impl Fn() -> O, caps: Option<Caps>) -> OfArms<O> {
        let arms = ArmShares::of(caps);
        let many = arms.as_ref().map_or(1, |arms| arms.arms.len());
        OfArms { orders: (0..many).map(|_| make()).collect(), arms }
    }

    /// The same as a policy; of a device with one arm that is the order itself.
    pub(super) fn or_one<P: Predictor>(make: impl Fn() -> O, caps: Option<Caps>) -> Box<dyn Policy<P>>
    where
        O: ArmOrder<P> + 'static,
    {
        match ArmShares::of(caps) {
            Some(_) => Box::new(OfArms::new(make, caps)),
            None => Box::new(make()),
        }
    }

    /// The order that a job is in.
    fn order_of<S>(&mut self, job: &Job<S>) -> &mut O {
        &mut self.orders[self.arms.as_ref().map_or(0, |arms| arms.arm_of(job))]
    }

    /// A job that something else chose is given to the device.
    pub(super) fn give<P: Predictor>(&mut self, now: Time, id: JobId, job: &Job<P::Spot>, belief: &P)
    where
        O: ArmOrder<P>,
    {
        self.order_of(job).remove(id, job, belief);
        if let Some(arms) = &mut self.arms {
            arms.give(now, job);
        }
    }
}

impl<P: Predictor, O: ArmOrder<P>> Policy<P> for OfArms<O> {
    fn add(&mut self, id: JobId, job: &Job<P::Spot>, belief: &P) {
        if let Some(arms) = &mut self.arms {
            arms.add(job);
        }
        self.order_of(job).add(id, job, belief);
    }

    fn remove(&mut self, id: JobId, job: &Job<P::Spot>, belief: &P) {
        if let Some(arms) = &mut self.arms {
            arms.remove(job);
        }
        self.order_of(job).remove(id, job, belief);
    }

    fn take(&mut self, now: Time, jobs: &Jobs<P::Spot>, belief: &P) -> Option<JobId> {
        let Some(arms) = &mut self.arms else { return self.orders[0].take(now, jobs, belief) };
        let (arm, head) = arms.next()?;
        let id = self.orders[arm].take_from(head, now, jobs, belief)?;
        arms.give(now, jobs.get(id)?);
        Some(id)
    }

    fn pass(&mut self, job: &Job<P::Spot>, belief: &P) -> bool {
        let passes = self.order_of(job).pass(job, belief);
        if let Some(arms) = self.arms.as_mut().filter(|_| passes) {
            // It comes just now.
            arms.add(job);
            arms.give(job.arrived, job);
        }
        passes
    }

    fn follows_service(&self) -> bool {
        self.arms.is_some()
    }

    fn end(&mut self, now: Time, job: &Job<P::Spot>) {
        if let Some(arms) = &mut self.arms {
            arms.end(now, job);
        }
    }

    fn candidates(&self) -> u64 {
        self.orders.iter().map(Policy::candidates).sum()
    }
}

/// A write into a buffer with room ends within a millisecond; one that takes three has waited for room.
const QUICK: Span = Span(1_000_000);
const SLOW: Span = Span(3_000_000);
/// So many quick writes to an arm tell that its writes are buffered, and that there was room.
const TELLING: u32 = 8;

/// The arms of a device that has several.
///
/// An arm that reads does not write back. Were reads given to all of them all the time, each write would wait in the end until there is room
/// for it, and keep a place in the device meanwhile. So an arm whose buffer was found full rests for a while, in which it writes back by
/// itself and the others are served; one at a time, and not the same one twice.
struct ArmShares {
    /// Blocks that each serves.
    share: u64,
    arms: Vec<ArmState>,
    /// Of which arm, and since when.
    in_service: InService<Time>,
    /// Jobs given so far.
    given: u64,
    /// The arm that rested last, and how many had been given when that ends.
    rests: Option<(usize, u64)>,
}

/// One of them, as far as it is known here.
#[derive(Clone, Copy)]
struct ArmState {
    /// Behind what it was given last.
    head: Lbn,
    /// How many had been given by then.
    served: u64,
    /// Quick writes since it rested.
    quick: u32,
    /// Jobs that wait for it.
    waiting: u64,
}

impl ArmShares {
    /// Of a device that can do this; nothing where it has one arm, or nobody knows. With one command at a time nothing is gained by going
    /// from arm to arm, and each would be about to write back when it is gone to.
    fn of(caps: Option<Caps>) -> Option<ArmShares> {
        let Caps { blocks, arms, .. } = caps.filter(|caps| caps.arms > 1 && caps.depth > 1)?;
        let share = blocks.div_ceil(arms.into()).max(1);
        let arm = |arm| ArmState { head: Lbn(arm * share), served: 0, quick: 0, waiting: 0 };
        let arms = (0..u64::from(arms)).map(arm).collect();
        Some(ArmShares { share, arms, in_service: InService::default(), given: 0, rests: None })
    }

    /// The arm that serves the first block of a job.
    fn arm_of<S>(&self, job: &Job<S>) -> usize {
        ((job.rest().start.0 / self.share) as usize).min(self.arms.len() - 1)
    }

    /// The arm that is served next, of those that something waits for, and behind which block it is. Arms that do not rest go first, of
    /// those the one with the least in service, then by turns.
    fn next(&self) -> Option<(usize, Lbn)> {
        let rank = |(arm, it): &(usize, &ArmState)| (self.is_resting(*arm), self.in_service.count(*arm), it.served);
        let all = self.arms.iter().enumerate().filter(|(_, it)| it.waiting > 0);
        all.min_by_key(rank).map(|(arm, it)| (arm, it.head))
    }

    fn is_resting(&self, arm: usize) -> bool {
        self.rests.is_some_and(|(rests, until)| rests == arm && self.given < until)
    }

    /// An arm was found with a full buffer: it rests while half of what waits is given to the others.
    fn rest(&mut self, arm: usize) {
        if self.rests.is_none_or(|(last, until)| last != arm && self.given >= until) {
            self.arms[arm].quick = 0;
            let waiting: u64 = self.arms.iter().map(|it| it.waiting).sum();
            self.rests = Some((arm, self.given + waiting / 2));
        }
    }

    /// A job waits, again or for the first time.
    fn add<S>(&mut self, job: &Job<S>) {
        self.in_service.remove(job.sequence);
        let arm = self.arm_of(job);
        self.arms[arm].waiting += 1;
    }

    /// A job waits no longer, and was not given.
    fn remove<S>(&mut self, job: &Job<S>) {
        let arm = self.arm_of(job);
        self.arms[arm].waiting -= 1;
    }

    /// A job that waited is given to the device.
    fn give<S>(&mut self, now: Time, job: &Job<S>) {
        let arm = self.arm_of(job);
        self.arms[arm].waiting -= 1;
        self.given += 1;
        // What ends with its share leaves the arm there.
        let head = Lbn(job.rest().end().0.min((arm as u64 + 1) * self.share - 1));
        self.arms[arm] = ArmState { head, served: self.given, ..self.arms[arm] };
        self.in_service.add(job.sequence, arm, now);
    }

    /// It has ended; a write tells whether its arm had room for it.
    fn end<S>(&mut self, now: Time, job: &Job<S>) {
        let Some((arm, since)) = self.in_service.remove(job.sequence) else { return };
        if job.op != (Op::Write { fua: false }) {
            return;
        }
        let took = now.since(since);
        let it = &mut self.arms[arm];
        if took <= QUICK {
            it.quick = it.quick.saturating_add(1);
        }
        if took > SLOW && it.quick >= TELLING {
            self.rest(arm);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::{Extent, Qos, Request, RequestId, SeekBy};

    const BLOCKS: u64 = 1000;
    const WRITE: Op = Op::Write { fua: false };

    fn job(number: u32, op: Op, at: u64) -> Job<()> {
        let request = Request { id: RequestId(number), op, at: Extent::new(at, 1), qos: Qos::default() };
        Job::new(&request, Time(0), number.into(), ())
    }

    /// One job after the other, each given and ended before the next.
    struct ArmBench {
        arms: ArmShares,
        number: u32,
    }

    impl ArmBench {
        fn of_two_arms() -> ArmBench {
            let caps = Caps { blocks: BLOCKS, depth: 4, seek: SeekBy::Nothing, arms: 2 };
            ArmBench { arms: ArmShares::of(Some(caps)).expect("two arms"), number: 0 }
        }

        fn serve(&mut self, op: Op, at: u64, us: u64) {
            let it = job(self.number, op, at);
            self.number += 1;
            self.arms.add(&it);
            self.arms.give(Time(0), &it);
            self.arms.end(Time(us * 1000), &it);
        }

        fn wait(&mut self, many: u32) {
            (0..many).for_each(|number| self.arms.add(&job(1_000_000 + number, Op::Read, 0)));
        }

        fn resting(&self) -> [bool; 2] {
            [0, 1].map(|arm| self.arms.is_resting(arm))
        }
    }

    #[test]
    fn an_arm_whose_buffer_is_full_rests_until_half_of_what_waits_is_given() {
        let mut bench = ArmBench::of_two_arms();
        bench.wait(20);
        (0..u64::from(TELLING)).for_each(|at| bench.serve(WRITE, at, 100));
        assert_eq!(bench.resting(), [false, false]);
        bench.serve(WRITE, 5, 8000);
        assert_eq!(bench.resting(), [true, false]);
        // While it rests, and right after, the other one may find its own full.
        (0..u64::from(TELLING)).for_each(|at| bench.serve(WRITE, 600 + at, 100));
        bench.serve(WRITE, 700, 8000);
        assert_eq!(bench.resting(), [true, false]);
        bench.serve(Op::Read, 800, 8000);
        assert_eq!(bench.resting(), [false, false]);
        bench.serve(WRITE, 700, 8000);
        assert_eq!(bench.resting(), [false, true]);
    }

    #[test]
    fn an_arm_rests_neither_twice_in_a_row_nor_before_it_wrote() {
        let mut bench = ArmBench::of_two_arms();
        bench.wait(4);
        let fill = |bench: &mut ArmBench| {
            (0..u64::from(TELLING)).for_each(|at| bench.serve(WRITE, at, 100));
            bench.serve(WRITE, 5, 8000);
        };
        fill(&mut bench);
        (0..2).for_each(|_| bench.serve(Op::Read, 600, 8000));
        assert_eq!(bench.resting(), [false, false]);
        fill(&mut bench);
        assert_eq!(bench.resting(), [false, false], "the other one has not rested since");
        // Nor where writes end on the medium.
        let mut bench = ArmBench::of_two_arms();
        bench.wait(20);
        (0..50).for_each(|at| bench.serve(WRITE, at, 8000));
        (0..50).for_each(|at| bench.serve(Op::Write { fua: true }, at, if at < 40 { 100 } else { 8000 }));
        assert_eq!(bench.resting(), [false, false]);
    }

    #[test]
    fn an_arm_that_rests_is_served_where_nothing_waits_for_another() {
        let mut bench = ArmBench::of_two_arms();
        bench.wait(20);
        (0..u64::from(TELLING)).for_each(|at| bench.serve(WRITE, at, 100));
        bench.serve(WRITE, 5, 8000);
        assert_eq!(bench.arms.next(), Some((0, Lbn(6))));
        bench.arms.add(&job(2_000_000, Op::Read, 510));
        assert_eq!(bench.arms.next(), Some((1, Lbn(500))));
    }
}
