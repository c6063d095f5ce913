//! The waiting jobs by rank: those of a higher rank first, and within a rank in the order of the policy.

use crate::plan::{Preemption, Rules};
use crate::policy::Policy;
use crate::predict::Predictor;
use crate::{Job, JobId, Jobs};
use block::Time;

/// Makes the policy of one more rank.
pub type Maker<P> = Box<dyn Fn() -> Box<dyn Policy<P>>>;

struct Rank<P: Predictor> {
    rank: u8,
    policy: Box<dyn Policy<P>>,
    /// Jobs held, and those of them that interrupt others.
    held: u32,
    pressing: u32,
}

pub(crate) struct Queue<P: Predictor> {
    make: Maker<P>,
    /// By how much what a write is worth counts.
    weight: f64,
    /// Highest first.
    ranks: Vec<Rank<P>>,
}

/// The rank of a job.
pub(crate) fn rank<S>(rules: &Rules, job: &Job<S>) -> u8 {
    match rules.preemption {
        Preemption::Never | Preemption::Conservative | Preemption::Aggressive => 0,
        Preemption::Always => u8::from(rules.class(job.qos.class).preempts),
        Preemption::Priority => job.qos.priority,
        Preemption::Slo => u8::from(rules.class(job.qos.class).p99.is_some()),
    }
}

/// Whether jobs of a class interrupt others, as a number.
fn presses(rules: &Rules, class: u8) -> u32 {
    u32::from(matches!(rules.preemption, Preemption::Always | Preemption::Priority) && rules.class(class).preempts)
}

impl<P: Predictor> Queue<P> {
    pub(crate) fn new(make: Maker<P>) -> Queue<P> {
        Queue { make, weight: 1.0, ranks: Vec::new() }
    }

    #[inline]
    fn rank(&mut self, rank: u8) -> &mut Rank<P> {
        if self.ranks.first().is_none_or(|first| first.rank != rank) {
            return self.find_rank(rank);
        }
        &mut self.ranks[0]
    }

    #[cold]
    fn find_rank(&mut self, rank: u8) -> &mut Rank<P> {
        let at = match self.ranks.iter().position(|held| held.rank <= rank) {
            Some(at) if self.ranks[at].rank == rank => at,
            at => {
                let at = at.unwrap_or(self.ranks.len());
                let mut policy = (self.make)();
                policy.weigh_writes(self.weight);
                self.ranks.insert(at, Rank { rank, policy, held: 0, pressing: 0 });
                at
            }
        };
        &mut self.ranks[at]
    }

    pub(crate) fn add(&mut self, rules: &Rules, id: JobId, job: &Job<P::Spot>, belief: &P) {
        let queue = self.rank(rank(rules, job));
        queue.held += 1;
        queue.pressing += presses(rules, job.qos.class);
        queue.policy.add(id, job, belief);
    }

    pub(crate) fn remove(&mut self, rules: &Rules, id: JobId, job: &Job<P::Spot>, belief: &P) {
        let queue = self.rank(rank(rules, job));
        queue.held -= 1;
        queue.pressing -= presses(rules, job.qos.class);
        queue.policy.remove(id, job, belief);
    }

    /// The job to serve now, which is no longer held.
    pub(crate) fn take(&mut self, rules: &Rules, now: Time, jobs: &Jobs<P::Spot>, belief: &P) -> Option<JobId> {
        let queue = self.ranks.iter_mut().find(|queue| queue.held > 0)?;
        let id = queue.policy.take(now, jobs, belief)?;
        queue.held -= 1;
        if queue.pressing > 0 {
            queue.pressing -= jobs.get(id).map_or(0, |job| presses(rules, job.qos.class));
        }
        Some(id)
    }

    /// Whether a job that waits interrupts this one.
    pub(crate) fn interrupts<S>(&self, rules: &Rules, job: &Job<S>) -> bool {
        let this = rank(rules, job);
        rules.class(job.qos.class).preemptible && self.ranks.iter().any(|held| held.rank > this && held.pressing > 0)
    }

    /// Whether a job is of the highest rank there has been, and not the only one: nobody interrupts it.
    pub(crate) fn is_urgent<S>(&self, rules: &Rules, job: &Job<S>) -> bool {
        let this = rank(rules, job);
        self.ranks.iter().all(|held| held.rank <= this) && self.ranks.iter().any(|held| held.rank < this)
    }

    /// From now on a write is worth so many times what it is worth by its class.
    pub(crate) fn weigh_writes(&mut self, weight: f64) {
        self.weight = weight;
        self.ranks.iter_mut().for_each(|queue| queue.policy.weigh_writes(weight));
    }

    /// Jobs held of a rank.
    pub(crate) fn held(&self, rank: u8) -> u32 {
        self.ranks.iter().find(|held| held.rank == rank).map_or(0, |held| held.held)
    }

    pub(crate) fn examined(&self) -> u64 {
        self.ranks.iter().map(|queue| queue.policy.examined()).sum()
    }
}
