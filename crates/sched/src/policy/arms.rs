//! Arms that move by themselves, each in a share of the blocks: where each is, and how much is given to it.

use super::Policy;
use super::in_service::InService;
use crate::ordered::{Ordered, Position};
use crate::predict::Predictor;
use crate::{Job, JobId, Jobs};
use block::{Caps, Lbn, Time};
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
        self.arms.take_back(job);
        self.order.add(id, job, belief);
    }

    fn remove(&mut self, id: JobId, job: &Job<P::Spot>, belief: &P) {
        self.order.remove(id, job, belief);
    }

    fn take(&mut self, _: Time, jobs: &Jobs<P::Spot>, _: &P) -> Option<JobId> {
        let (position, _) = self.arms.next(|head, blocks| self.order.next_within(head, blocks))?;
        let id = self.order.waiting().take(position);
        self.arms.give(jobs.get(id)?);
        Some(id)
    }

    fn pass(&mut self, job: &Job<P::Spot>, belief: &P) -> bool {
        self.arms.give(job);
        self.order.pass(job, belief)
    }

    fn follows_service(&self) -> bool {
        true
    }

    fn end(&mut self, _: Time, job: &Job<P::Spot>) {
        self.arms.take_back(job);
    }

    fn candidates(&self) -> u64 {
        self.order.candidates()
    }
}

/// The arms of a device that has several.
pub(super) struct ArmShares {
    /// Blocks that each serves.
    share: u64,
    arms: Vec<ArmState>,
    in_service: InService,
    /// Jobs given so far.
    given: u64,
}

/// One of them, as far as it is known here.
struct ArmState {
    /// Behind what it was given last.
    head: Lbn,
    /// How many had been given by then.
    served: u64,
}

impl ArmShares {
    /// Of a device that can do this; nothing where it has one arm, or nobody knows. With one command at a time nothing is gained by going
    /// from arm to arm, and each would be about to write back when it is gone to.
    pub(super) fn of(caps: Option<Caps>) -> Option<ArmShares> {
        let Caps { blocks, arms, .. } = caps.filter(|caps| caps.arms > 1 && caps.depth > 1)?;
        let share = blocks.div_ceil(arms.into()).max(1);
        let arms = (0..u64::from(arms)).map(|arm| ArmState { head: Lbn(arm * share), served: 0 }).collect();
        Some(ArmShares { share, arms, in_service: InService::default(), given: 0 })
    }

    fn arm(&self, at: Lbn) -> usize {
        ((at.0 / self.share) as usize).min(self.arms.len() - 1)
    }

    /// What comes next: of the arm that was given least, among those as much by how `next` ranks what it has for each, and then by turns;
    /// with it, where that arm is. `next` is told where an arm is and the blocks it serves, and finds nothing where nothing waits there.
    pub(super) fn next<R: Ord>(
        &self,
        mut next: impl FnMut(Lbn, &Range<u64>) -> Option<(R, Position)>,
    ) -> Option<(Position, Lbn)> {
        let of_arm = |(arm, it): (usize, &ArmState)| {
            let from = arm as u64 * self.share;
            let (rank, position) = next(it.head, &(from..from + self.share))?;
            Some(((self.in_service.count(arm), rank, it.served), position, it.head))
        };
        let all = self.arms.iter().enumerate().filter_map(of_arm);
        all.min_by(|(a, ..), (b, ..)| a.cmp(b)).map(|(_, position, head)| (position, head))
    }

    /// A job is given to the device: to the arm that its first block is in the share of.
    pub(super) fn give<S>(&mut self, job: &Job<S>) {
        let at = job.rest();
        let arm = self.arm(at.start);
        self.given += 1;
        // What ends with its share leaves the arm there.
        let head = Lbn(at.end().0.min((arm as u64 + 1) * self.share - 1));
        self.arms[arm] = ArmState { head, served: self.given };
        self.in_service.add(job.sequence, arm);
    }

    /// It has ended, or waits again.
    pub(super) fn take_back<S>(&mut self, job: &Job<S>) {
        self.in_service.remove(job.sequence);
    }
}
