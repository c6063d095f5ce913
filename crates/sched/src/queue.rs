//! The waiting jobs by rank: those of a higher rank first, and within a rank in the order of the policy. The jobs of a class with
//! an order of its own wait in a line of their own; of several lines of a rank that one is next whose oldest job came first.
//!
//! **Rank before policy.** Who may interrupt whom is a rank; there is one policy for each rank, and the highest with
//! a job goes first. Nobody else can interrupt the highest: for it neither slack nor split seeks are worth their
//! cost.

use crate::plan::{Preemption, Rules};
use crate::policy::{Fcfs, Policy, Yield, yielding};
use crate::predict::Predictor;
use crate::turns::Turns;
use crate::{Job, JobId, Jobs};
use block::Time;
use std::cmp::Reverse;

/// Makes the policy of one more line.
pub type Maker<P> = Box<dyn Fn() -> Box<dyn Policy<P>>>;

/// The jobs of a rank that are ordered together.
struct Line<P: Predictor> {
    rank: u8,
    /// The class it is of, if that has an order of its own.
    class: Option<u8>,
    policy: Box<dyn Policy<P>>,
    /// In order of arrival; kept only where there may be several lines of a rank.
    oldest: Fcfs,
    /// Jobs held, and those of them that interrupt others.
    held: u32,
    pressing: u32,
}

pub(crate) struct Queue<P: Predictor> {
    make: Maker<P>,
    /// What orders the jobs of classes with an order of their own.
    own: Vec<(u8, Maker<P>)>,
    /// By how much what a write is worth counts.
    weight: f64,
    /// The highest rank first.
    lines: Vec<Line<P>>,
    /// Whether a policy is to be told of each job that ends.
    pub(crate) follows: bool,
    /// The time of what happened last, where it matters.
    pub(crate) now: Time,
    /// Whose turn it is, where classes have shares: then each has a line of its own.
    pub(crate) turns: Option<Box<Turns>>,
    /// All of them by what they yield, where whole schedules are weighed.
    by_yield: Option<Box<Yield<P>>>,
}

/// The rank of a job.
pub(crate) fn rank<S>(rules: &Rules, job: &Job<S>) -> u8 {
    match rules.preemption {
        Preemption::Never | Preemption::Conservative | Preemption::Aggressive | Preemption::Lookahead => 0,
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
    pub(crate) fn new(make: Maker<P>, rules: &Rules) -> Queue<P> {
        let worths = || rules.classes.iter().map(|class| class.worth).collect();
        let by_yield = || Box::new(yielding(worths(), None, None));
        let by_yield = (rules.preemption == Preemption::Lookahead).then(by_yield);
        let turns = rules.shares.clone().map(|shares| Box::new(Turns::new(shares)));
        let follows = make().follows_service();
        Queue { make, follows, now: Time::ZERO, own: Vec::new(), weight: 1.0, lines: Vec::new(), turns, by_yield }
    }

    /// Whether all jobs wait in one line, and none interrupts another.
    pub(crate) fn is_plain(&self, rules: &Rules) -> bool {
        rules.preemption == Preemption::Never && self.own.is_empty() && !self.is_kept_twice() && !self.follows
    }

    /// The jobs of a class are ordered by a policy of their own.
    pub(crate) fn order(&mut self, class: u8, make: Maker<P>) {
        self.follows |= make().follows_service();
        self.own.push((class, make));
    }

    /// The class in whose line a job waits, if that has one.
    fn class(own: &[(u8, Maker<P>)], class: u8) -> Option<u8> {
        own.iter().any(|(own, _)| *own == class).then_some(class)
    }

    #[inline]
    fn line(&mut self, rules: &Rules, job: &Job<P::Spot>) -> &mut Line<P> {
        let class = if self.turns.is_some() { Some(job.qos.class) } else { Self::class(&self.own, job.qos.class) };
        let rank = rank(rules, job);
        if self.lines.first().is_none_or(|first| (first.rank, first.class) != (rank, class)) {
            return self.find_line(rank, class);
        }
        &mut self.lines[0]
    }

    #[cold]
    fn find_line(&mut self, rank: u8, class: Option<u8>) -> &mut Line<P> {
        let at = self.lines.iter().position(|line| (Reverse(line.rank), line.class) >= (Reverse(rank), class));
        let at = match at.unwrap_or(self.lines.len()) {
            at if self.lines.get(at).is_some_and(|line| (line.rank, line.class) == (rank, class)) => at,
            at => {
                let own = self.own.iter().find(|(own, _)| Some(*own) == class);
                let mut policy = own.map_or(&self.make, |(_, make)| make)();
                policy.weigh_writes(self.weight);
                self.lines.insert(at, Line { rank, class, policy, oldest: Fcfs::new(), held: 0, pressing: 0 });
                at
            }
        };
        &mut self.lines[at]
    }

    #[inline(always)]
    pub(crate) fn add<const PLAIN: bool>(&mut self, rules: &Rules, id: JobId, job: &Job<P::Spot>, belief: &P) {
        if PLAIN {
            let line = if self.lines.is_empty() { self.find_line(0, None) } else { &mut self.lines[0] };
            line.held += 1;
            return line.policy.add(id, job, belief);
        }
        let several = !self.own.is_empty() && self.turns.is_none();
        let line = self.line(rules, job);
        line.held += 1;
        line.pressing += presses(rules, job.qos.class);
        line.policy.add(id, job, belief);
        if several {
            line.oldest.push(id, job);
        }
        if self.is_kept_twice() {
            self.add_elsewhere(rules, id, job, belief);
        }
    }

    /// Whether a job that comes while none waits in the one line there is may go to the device at once.
    #[inline(always)]
    pub(crate) fn passes(&mut self, job: &Job<P::Spot>, belief: &P) -> bool {
        match self.lines.first_mut() {
            Some(line) if line.held == 0 => line.policy.pass(job, belief),
            _ => false,
        }
    }

    /// Whether jobs are not in their lines alone.
    #[inline(always)]
    fn is_kept_twice(&self) -> bool {
        self.turns.is_some() || self.by_yield.is_some()
    }

    #[inline(never)]
    fn add_elsewhere(&mut self, rules: &Rules, id: JobId, job: &Job<P::Spot>, belief: &P) {
        if let Some(turns) = &mut self.turns {
            turns.add(rank(rules, job), job.qos.class);
        }
        if let Some(all) = &mut self.by_yield {
            all.add(id, job, belief);
        }
    }

    #[inline(never)]
    fn remove_elsewhere(&mut self, rules: &Rules, id: JobId, job: &Job<P::Spot>, belief: &P) {
        if let Some(turns) = &mut self.turns {
            turns.remove(rank(rules, job), job.qos.class);
        }
        if let Some(all) = &mut self.by_yield {
            all.remove(id, job, belief);
        }
    }

    pub(crate) fn remove(&mut self, rules: &Rules, id: JobId, job: &Job<P::Spot>, belief: &P) {
        let line = self.line(rules, job);
        line.held -= 1;
        line.pressing -= presses(rules, job.qos.class);
        line.policy.remove(id, job, belief);
        if self.is_kept_twice() {
            self.remove_elsewhere(rules, id, job, belief);
        }
    }

    /// A job counts for another part of its class's worth.
    pub(crate) fn weigh_part(&mut self, rules: &Rules, id: JobId, job: &Job<P::Spot>, belief: &P) {
        self.line(rules, job).policy.weigh_part(id, job, belief);
        if let Some(all) = &mut self.by_yield {
            all.weigh_part(id, job, belief);
        }
    }

    /// A job that a policy gave up has ended.
    pub(crate) fn end(&mut self, rules: &Rules, job: &Job<P::Spot>) {
        let now = self.now;
        self.line(rules, job).policy.end(now, job);
    }

    /// Until when policies hold back what waits, where they do.
    pub(crate) fn wake(&self) -> Option<Time> {
        let holding = self.lines.iter().filter(|line| line.held > 0).filter_map(|line| line.policy.idles_until());
        // A line that was not asked since then holds nothing back any more.
        holding.filter(|until| *until > self.now).min()
    }

    /// The line whose turn it is.
    #[inline(always)]
    fn next(&mut self, rules: &Rules, jobs: &Jobs<P::Spot>) -> Option<&mut Line<P>> {
        if let Some(turns) = &mut self.turns {
            let (rank, class) = turns.next()?;
            return Some(self.find_line(rank, Some(class)));
        }
        if self.own.is_empty() {
            return self.lines.iter_mut().find(|line| line.held > 0);
        }
        self.next_of_own(rules, jobs)
    }

    /// The same, where classes have orders of their own.
    fn next_of_own(&mut self, rules: &Rules, jobs: &Jobs<P::Spot>) -> Option<&mut Line<P>> {
        let first = self.lines.iter().position(|line| line.held > 0)?;
        let (top, own) = (self.lines[first].rank, &self.own);
        let waiting = self.lines.iter_mut().filter(|line| line.rank == top && line.held > 0);
        let oldest = |line: &mut Line<P>| {
            let class = line.class;
            let here = |job: &Job<P::Spot>| rank(rules, job) == top && Self::class(own, job.qos.class) == class;
            line.oldest.front(jobs, here).and_then(|id| jobs.get(id)).map_or(u64::MAX, |job| job.sequence)
        };
        waiting.map(|line| (oldest(line), line)).min_by_key(|(sequence, _)| *sequence).map(|(_, line)| line)
    }

    /// The highest rank of those that wait.
    pub(crate) fn top(&self) -> Option<u8> {
        self.lines.iter().find(|line| line.held > 0).map(|line| line.rank)
    }

    /// The job to serve now, which is no longer held.
    #[inline(always)]
    pub(crate) fn take<const PLAIN: bool>(
        &mut self,
        rules: &Rules,
        now: Time,
        jobs: &Jobs<P::Spot>,
        belief: &P,
    ) -> Option<JobId> {
        if PLAIN {
            let line = self.lines.first_mut().filter(|line| line.held > 0)?;
            let id = line.policy.take(now, jobs, belief)?;
            line.held -= 1;
            return Some(id);
        }
        let line = self.next(rules, jobs)?;
        let id = line.policy.take(now, jobs, belief)?;
        line.held -= 1;
        if line.pressing > 0 {
            line.pressing -= jobs.get(id).map_or(0, |job| presses(rules, job.qos.class));
        }
        if self.is_kept_twice()
            && let Some(job) = jobs.get(id)
        {
            self.remove_elsewhere(rules, id, job, belief);
            if let Some(turns) = &mut self.turns {
                turns.begin_turn(job.qos.class);
            }
        }
        Some(id)
    }

    /// The jobs of the greatest average yields, at most so many; none where that is not kept.
    pub(crate) fn best(&mut self, most: usize, now: Time, jobs: &Jobs<P::Spot>, belief: &P, into: &mut Vec<JobId>) {
        if let Some(all) = &mut self.by_yield {
            all.best(most, now, jobs, belief, into);
        }
    }

    /// Whether a job that waits interrupts this one.
    pub(crate) fn interrupts<S>(&self, rules: &Rules, job: &Job<S>) -> bool {
        let this = rank(rules, job);
        rules.class(job.qos.class).preemptible && self.lines.iter().any(|line| line.rank > this && line.pressing > 0)
    }

    /// Whether one that is not here would interrupt this job, and go before all that waits.
    pub(crate) fn would_interrupt<S>(&self, rules: &Rules, one: &Job<S>, job: &Job<S>) -> bool {
        let rank_of_one = rank(rules, one);
        presses(rules, one.qos.class) > 0
            && rules.class(job.qos.class).preemptible
            && rank_of_one > rank(rules, job)
            && self.top().is_none_or(|top| top < rank_of_one)
    }

    /// Whether a job is of the highest rank there has been, and not the only one: nobody interrupts it.
    pub(crate) fn is_urgent<S>(&self, rules: &Rules, job: &Job<S>) -> bool {
        let this = rank(rules, job);
        self.lines.iter().all(|line| line.rank <= this) && self.lines.iter().any(|line| line.rank < this)
    }

    /// Whether requests have come that go before a job, whenever one comes again.
    pub(crate) fn is_outranked<S>(&self, rules: &Rules, job: &Job<S>) -> bool {
        let this = rank(rules, job);
        self.lines.first().is_some_and(|line| line.rank > this)
    }

    /// From now on a write is worth so many times what it is worth by its class.
    pub(crate) fn weigh_writes(&mut self, weight: f64) {
        self.weight = weight;
        self.by_yield.iter_mut().for_each(|all| Policy::<P>::weigh_writes(&mut **all, weight));
        self.lines.iter_mut().for_each(|line| line.policy.weigh_writes(weight));
    }

    /// Whether what requests are worth has a say in whose turn comes when.
    pub(crate) fn goes_by_worth(&self, rules: &Rules) -> bool {
        let mut makers = self.own.iter().map(|(_, make)| make).chain([&self.make]);
        makers.any(|make| make().goes_by_worth())
            || matches!(rules.preemption, Preemption::Conservative | Preemption::Aggressive | Preemption::Lookahead)
    }

    /// Jobs held of a rank.
    pub(crate) fn jobs_held(&self, rank: u8) -> u32 {
        self.lines.iter().filter(|line| line.rank == rank).map(|line| line.held).sum()
    }

    pub(crate) fn candidates(&self) -> u64 {
        self.lines.iter().map(|line| line.policy.candidates()).sum()
    }
}
