//! Arms that move by themselves, each in a share of the blocks: where each is, and how much is given to it.

use super::Policy;
use super::in_service::InService;
use crate::ordered::{Ordered, Position};
use crate::predict::Predictor;
use crate::{Job, JobId, Jobs};
use block::{Caps, Lbn, Op, Span, Time};
use std::ops::Range;

/// An order by block number that can be kept for each arm by itself.
pub(super) trait ArmOrder {
    /// By what arms with as much to do are told apart, the least first.
    type Rank: Ord;

    /// All that waits, for whichever arm.
    fn waiting(&mut self) -> &mut Ordered;

    /// What comes next for an arm that is there and serves these blocks.
    fn next_within(&mut self, head: Lbn, blocks: &Range<u64>) -> Option<(Self::Rank, Position)>;
}

/// An order that is kept for each of several arms.
pub(super) struct OfArms<O> {
    order: O,
    arms: ArmShares,
}

impl<O: ArmOrder> OfArms<O> {
    /// The order for each arm of a device that can do this; as it is, where [`ArmShares::of`] finds nothing to share.
    pub(super) fn or_one<P: Predictor>(order: O, caps: Option<Caps>) -> Box<dyn Policy<P>>
    where
        O: Policy<P> + 'static,
    {
        match ArmShares::of(caps) {
            Some(arms) => Box::new(OfArms { order, arms }),
            None => Box::new(order),
        }
    }
}

impl<P: Predictor, O: ArmOrder + Policy<P>> Policy<P> for OfArms<O> {
    fn add(&mut self, id: JobId, job: &Job<P::Spot>, belief: &P) {
        self.arms.add(job);
        self.order.add(id, job, belief);
    }

    fn remove(&mut self, id: JobId, job: &Job<P::Spot>, belief: &P) {
        self.arms.remove();
        self.order.remove(id, job, belief);
    }

    fn take(&mut self, now: Time, jobs: &Jobs<P::Spot>, _: &P) -> Option<JobId> {
        let (position, _) = self.arms.next(|head, blocks| self.order.next_within(head, blocks))?;
        let id = self.order.waiting().take(position);
        self.arms.give(now, jobs.get(id)?);
        Some(id)
    }

    fn pass(&mut self, job: &Job<P::Spot>, belief: &P) -> bool {
        // It comes just now.
        self.arms.add(job);
        self.arms.give(job.arrived, job);
        self.order.pass(job, belief)
    }

    fn follows_service(&self) -> bool {
        true
    }

    fn end(&mut self, now: Time, job: &Job<P::Spot>) {
        self.arms.end(now, job);
    }

    fn candidates(&self) -> u64 {
        self.order.candidates()
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
pub(super) struct ArmShares {
    /// Blocks that each serves.
    share: u64,
    arms: Vec<ArmState>,
    /// Of which arm, and since when.
    in_service: InService<Time>,
    /// Jobs that wait, of all arms.
    waiting: u64,
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
}

impl ArmShares {
    /// Of a device that can do this; nothing where it has one arm, or nobody knows. With one command at a time nothing is gained by going
    /// from arm to arm, and each would be about to write back when it is gone to.
    pub(super) fn of(caps: Option<Caps>) -> Option<ArmShares> {
        let Caps { blocks, arms, .. } = caps.filter(|caps| caps.arms > 1 && caps.depth > 1)?;
        let share = blocks.div_ceil(arms.into()).max(1);
        let arm = |arm| ArmState { head: Lbn(arm * share), served: 0, quick: 0 };
        let arms = (0..u64::from(arms)).map(arm).collect();
        Some(ArmShares { share, arms, in_service: InService::default(), waiting: 0, given: 0, rests: None })
    }

    fn arm(&self, at: Lbn) -> usize {
        ((at.0 / self.share) as usize).min(self.arms.len() - 1)
    }

    /// What comes next, and where its arm is. Arms that do not rest go first, of those the one that was given least, then by how `next`
    /// ranks what it has for each, then by turns. `next` is told where an arm is and which blocks it serves; where nothing waits for that
    /// arm, it finds nothing.
    pub(super) fn next<R: Ord>(
        &self,
        mut next: impl FnMut(Lbn, &Range<u64>) -> Option<(R, Position)>,
    ) -> Option<(Position, Lbn)> {
        let of_arm = |(arm, it): (usize, &ArmState)| {
            let from = arm as u64 * self.share;
            let (rank, position) = next(it.head, &(from..from + self.share))?;
            let rank = (self.is_resting(arm), self.in_service.count(arm), rank, it.served);
            Some((rank, position, it.head))
        };
        let all = self.arms.iter().enumerate().filter_map(of_arm);
        all.min_by(|(a, ..), (b, ..)| a.cmp(b)).map(|(_, position, head)| (position, head))
    }

    fn is_resting(&self, arm: usize) -> bool {
        self.rests.is_some_and(|(rests, until)| rests == arm && self.given < until)
    }

    /// An arm was found with a full buffer: it rests while half of what waits is given to the others.
    fn rest(&mut self, arm: usize) {
        if self.rests.is_none_or(|(last, until)| last != arm && self.given >= until) {
            self.arms[arm].quick = 0;
            self.rests = Some((arm, self.given + self.waiting / 2));
        }
    }

    /// A job waits, again or for the first time.
    pub(super) fn add<S>(&mut self, job: &Job<S>) {
        self.in_service.remove(job.sequence);
        self.waiting += 1;
    }

    /// A job waits no longer, and was not given.
    pub(super) fn remove(&mut self) {
        self.waiting -= 1;
    }

    /// A job that waited is given to the device: to the arm that its first block is in the share of.
    pub(super) fn give<S>(&mut self, now: Time, job: &Job<S>) {
        let at = job.rest();
        let arm = self.arm(at.start);
        self.waiting -= 1;
        self.given += 1;
        // What ends with its share leaves the arm there.
        let head = Lbn(at.end().0.min((arm as u64 + 1) * self.share - 1));
        self.arms[arm] = ArmState { head, served: self.given, ..self.arms[arm] };
        self.in_service.add(job.sequence, arm, now);
    }

    /// It has ended; a write tells whether its arm had room for it.
    pub(super) fn end<S>(&mut self, now: Time, job: &Job<S>) {
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
        let mut ordered: Ordered = Ordered::new();
        let mut chosen = |keys: &[u64]| {
            for &key in keys {
                ordered.add(crate::ordered::Entry { key, sequence: key, id: JobId::default(), item: () });
            }
            let next = |head: Lbn, blocks: &Range<u64>| {
                let place =
                    ordered.at_or_after(blocks.start).filter(|place| blocks.contains(&ordered.at(*place).key))?;
                Some((head, place))
            };
            bench.arms.next(next).map(|(place, _)| ordered.at(place).key)
        };
        assert_eq!([chosen(&[]), chosen(&[10]), chosen(&[510])], [None, Some(10), Some(510)]);
    }
}
