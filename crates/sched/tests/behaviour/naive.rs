//! What each policy stands for, in its plainest form: look at every waiting request.

use crate::by_cylinder::ByCylinder;
use block::{Extent, Op, Qos, Span, Time};
use sched::policy::{self, BaseOrder, Beside, Learn, Policy};
use sched::predict::Predictor;
use sched::value::Worth;
use sched::{Job, JobId, Jobs};

/// A request waiting.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    id: JobId,
    pub start: u64,
    pub at: Extent,
    op: Op,
    pub qos: Qos,
    pub arrived: Time,
    /// In which order it was submitted.
    pub sequence: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Sweep {
    Up,
    Down,
}

/// What a policy is told; each reads only what concerns it.
#[derive(Clone, Debug)]
pub struct Knobs {
    pub age_weight: f64,
    pub age_limit: Option<Span>,
    pub beam: u32,
    pub horizon: u32,
    pub batch: u32,
    pub doubling: Option<Span>,
    pub timeout: Option<Span>,
    pub near: Span,
    pub spare: Option<Span>,
    pub beside: Beside,
}

impl Default for Knobs {
    fn default() -> Knobs {
        Knobs {
            age_weight: 0.0,
            age_limit: None,
            beam: 8,
            horizon: 6,
            batch: 40,
            doubling: None,
            timeout: None,
            near: Span::ZERO,
            spare: None,
            beside: Beside::default(),
        }
    }
}

impl Knobs {
    /// The policy of this name that is told so.
    fn make<P: Predictor + 'static>(&self, name: &str) -> Box<dyn Policy<P>> {
        let span = |span: Span| format!("'{}ns'", span.0);
        let mut values = vec![
            ("age_weight", format!("{:?}", self.age_weight)),
            ("beam", self.beam.to_string()),
            ("horizon", self.horizon.to_string()),
            ("batch", self.batch.to_string()),
            ("timeout", self.timeout.map_or("'never'".into(), span)),
            ("near", span(self.near)),
            ("spare", self.spare.map_or("'never'".into(), span)),
        ];
        values.extend(self.age_limit.map(|limit| ("age_limit", span(limit))));
        values.extend(self.doubling.map(|doubling| ("age_doubling", span(doubling))));
        policy::with(name, &values).make(&self.beside)
    }
}

/// A policy with what it remembers.
struct Naive {
    name: &'static str,
    knobs: Knobs,
    sweep: Sweep,
    /// The batch being served, by number.
    batch: Vec<u64>,
    by_cylinder: ByCylinder,
}

impl Naive {
    fn new(name: &'static str, knobs: Knobs) -> Naive {
        Naive { name, knobs, sweep: Sweep::Up, batch: Vec::new(), by_cylinder: ByCylinder::default() }
    }

    /// The numbers of the requests it may serve now: one, but where ageing makes scores equal to within rounding.
    fn choose<P: Predictor>(&mut self, now: Time, belief: &P, waiting: &[Waiting]) -> Vec<u64> {
        let arm = belief.arm().0;
        let near;
        let one = match self.name {
            "fcfs" => waiting.iter().min_by_key(|job| job.sequence),
            "c-look" => {
                let ahead = waiting.iter().filter(|job| job.start >= arm).min_by_key(|job| (job.start, job.sequence));
                ahead.or_else(|| waiting.iter().min_by_key(|job| (job.start, job.sequence)))
            }
            "sstf" => waiting.iter().min_by_key(|job| (job.start.abs_diff(arm), job.sequence)),
            "satf" => {
                let (head, _) = belief.head(now);
                near = self.near_writes(now, belief, waiting, 0);
                near.iter().min_by_key(|job| (cost(now, belief, &head, job), job.sequence))
            }
            "asatf" => return self.aged(now, belief, waiting),
            "look" => self.look(arm, waiting),
            "lookahead" => return self.planned(now, belief, waiting),
            "smtf" => return self.mimicked(now, belief, waiting),
            "yield" => return self.yielding(now, belief, waiting),
            "batch-look" => return self.batch_look(arm, waiting),
            "look-cyl" | "c-look-cyl" | "sstf-cyl" | "priority-1" | "priority-2" | "3q" => {
                return self.by_cylinder.choose(self.name, self.knobs.timeout, now, belief, waiting);
            }
            "edf" => return self.by_cylinder.choose_due((self.knobs.near, self.knobs.spare), now, belief, waiting),
            // Of a policy without a plain form only that it takes what it holds is known.
            _ => return waiting.iter().map(|job| job.sequence).collect(),
        };
        one.map(|job| job.sequence).into_iter().collect()
    }

    fn look<'a>(&mut self, arm: u64, waiting: &'a [Waiting]) -> Option<&'a Waiting> {
        let up = waiting.iter().filter(|job| job.start >= arm).min_by_key(|job| (job.start, job.sequence));
        // Of those at one place, the first submitted.
        let down = waiting.iter().filter(|job| job.start <= arm).min_by_key(|job| (arm - job.start, job.sequence));
        let (ahead, behind, turned) = match self.sweep {
            Sweep::Up => (up, down, Sweep::Down),
            Sweep::Down => (down, up, Sweep::Up),
        };
        ahead.or_else(|| {
            self.sweep = turned;
            behind
        })
    }

    fn batch_look(&mut self, arm: u64, waiting: &[Waiting]) -> Vec<u64> {
        self.batch.retain(|number| waiting.iter().any(|job| job.sequence == *number));
        if self.batch.is_empty() {
            self.batch = waiting.iter().map(|job| job.sequence).collect();
            self.batch.sort_unstable();
            self.batch.truncate(self.knobs.batch as usize);
        }
        let together: Vec<Waiting> = waiting.iter().filter(|job| self.batch.contains(&job.sequence)).copied().collect();
        self.look(arm, &together).map(|job| job.sequence).into_iter().collect()
    }

    /// 001, Eqs. 2 and 4, in so many words.
    fn yielding<P: Predictor>(&self, now: Time, belief: &P, waiting: &[Waiting]) -> Vec<u64> {
        let Some(oldest) = waiting.iter().min_by_key(|job| job.sequence) else { return Vec::new() };
        if self.knobs.age_limit.is_some_and(|limit| now.since(oldest.arrived) > limit) {
            return vec![oldest.sequence];
        }
        let (head, _) = belief.head(now);
        let a_second = belief.ticks(Span(1_000_000_000)) as f64;
        let average = |job: &Waiting| {
            let spot = belief.spot(job.at);
            let there = belief.cost(&head, belief.key(spot), belief.mark(spot), job.op.direction());
            let takes = (there as f64 / a_second * 1e9 + belief.transfer(job.at, spot).0 as f64).max(1.0);
            let worth = self.knobs.beside.worths.get(usize::from(job.qos.class)).unwrap_or(&Worth::USUAL);
            let aged =
                self.knobs.doubling.map_or(1.0, |doubling| 1.0 + now.since(job.arrived).0 as f64 / doubling.0 as f64);
            aged * worth.at(job.at.blocks, &job.qos, job.arrived, now + Span(takes as u64)) / takes
        };
        let most = waiting.iter().map(average).fold(0.0, f64::max);
        if most == 0.0 {
            return vec![oldest.sequence];
        }
        waiting.iter().filter(|job| average(job) >= most * (1.0 - 1e-9)).map(|job| job.sequence).collect()
    }

    /// 002 §6, in so many words.
    fn mimicked<P: Predictor>(&mut self, now: Time, belief: &P, waiting: &[Waiting]) -> Vec<u64> {
        let base = match self.knobs.beside.base {
            BaseOrder::Sstf => "sstf",
            BaseOrder::CLook => "c-look",
        };
        let by_base = Naive { name: base, ..Naive::new("", self.knobs.clone()) }.choose(now, belief, waiting);
        let knows = |job: &Waiting| belief.knows(belief.spot(Extent::new(job.start, 1)), job.op.direction());
        let base = waiting.iter().find(|job| by_base.contains(&job.sequence));
        let (head, _) = belief.head(now);
        let near = self.near_writes(now, belief, waiting, 0);
        let known =
            near.iter().filter(|job| knows(job)).min_by_key(|job| (cost(now, belief, &head, job), job.sequence));
        let cost_of = |job: &Waiting| cost(now, belief, &head, job);
        let worth = |job: &&Waiting| match base {
            Some(base) if self.knobs.beside.learn == Learn::Set && self.knobs.beside.margin > 0.0 => {
                cost_of(job) < (cost_of(base) as f64 * (1.0 - self.knobs.beside.margin)) as u64
            }
            _ => true,
        };
        let known = known.filter(worth);
        match self.knobs.beside.learn {
            Learn::Set if base.is_some_and(|job| !knows(job)) => by_base,
            _ => known.map_or(by_base, |job| vec![job.sequence]),
        }
    }

    /// The first requests of the best plans, where few enough wait to try them all; any, where more do.
    fn planned<P: Predictor>(&self, now: Time, belief: &P, waiting: &[Waiting]) -> Vec<u64> {
        let buffered = |job: &Waiting| job.op == Op::Write { fua: false } && belief.buffered_cost(now).is_some();
        let overdue = |job: &Waiting| self.knobs.age_limit.is_some_and(|limit| now.since(job.arrived) > limit);
        let horizon = self.knobs.horizon.min(waiting.len() as u32);
        if horizon <= 1 || waiting.iter().any(|job| buffered(job) || overdue(job)) {
            return self.aged(now, belief, waiting);
        }
        if waiting.len() > 6 {
            return waiting.iter().map(|job| job.sequence).collect();
        }
        let (head, _) = belief.head(now);
        let firsts: Vec<(i128, u64)> = (0..waiting.len())
            .map(|first| (self.best_after(now, belief, &head, waiting, &[first], horizon), waiting[first].sequence))
            .collect();
        let least = firsts.iter().map(|(cost, _)| *cost).min().unwrap_or(0);
        // Each score and its share round.
        firsts.iter().filter(|(cost, _)| *cost <= least + 80 * i128::from(horizon)).map(|(_, first)| *first).collect()
    }

    /// What the last of these requests and the best to follow them cost; the head is where the last but one leaves it.
    fn best_after<P: Predictor>(
        &self,
        now: Time,
        belief: &P,
        head: &P::Head,
        waiting: &[Waiting],
        plan: &[usize],
        horizon: u32,
    ) -> i128 {
        let job = &waiting[*plan.last().expect("a plan has a request")];
        let aged = Span((self.knobs.age_weight * now.since(job.arrived).0 as f64) as u64);
        let score = cost(now, belief, head, job) as i64 - belief.ticks(aged) as i64;
        let counted = i128::from(score) * (17 - plan.len() as i128);
        if plan.len() as u32 == horizon {
            return counted;
        }
        let (head, _) = belief.head_after(head, job.at, belief.spot(job.at), job.op.direction());
        let others = (0..waiting.len()).filter(|other| !plan.contains(other));
        let best = others.map(|other| {
            let longer = [plan, &[other]].concat();
            self.best_after(now, belief, &head, waiting, &longer, horizon)
        });
        counted + best.min().expect("there are more than the horizon")
    }

    /// Of the writes that a buffer takes at the same cost wherever they lie, those alone that lie nearest to what went into it last,
    /// within some ticks; and all else.
    fn near_writes<P: Predictor>(&self, now: Time, belief: &P, waiting: &[Waiting], within: i64) -> Vec<Waiting> {
        let flat = belief.buffered_cost(now).is_some();
        let buffered = |job: &Waiting| flat && job.op == Op::Write { fua: false };
        let (head, _) = belief.buffered_beside();
        let away = |job: &Waiting| {
            let spot = belief.spot(Extent::new(job.start, 1));
            let way = belief.cost(&head, belief.key(spot), belief.mark(spot), job.op.direction());
            way as i64 - belief.ticks(Span((self.knobs.age_weight * now.since(job.arrived).0 as f64) as u64)) as i64
        };
        let least = waiting.iter().filter(|job| buffered(job)).map(away).min().unwrap_or(0);
        waiting.iter().filter(|job| !buffered(job) || away(job) <= least + within).copied().collect()
    }

    fn aged<P: Predictor>(&self, now: Time, belief: &P, waiting: &[Waiting]) -> Vec<u64> {
        let Some(oldest) = waiting.iter().min_by_key(|job| job.sequence) else { return Vec::new() };
        if self.knobs.age_limit.is_some_and(|limit| now.since(oldest.arrived) > limit) {
            return vec![oldest.sequence];
        }
        let (head, _) = belief.head(now);
        let score = |job: &Waiting| {
            let aged = Span((self.knobs.age_weight * now.since(job.arrived).0 as f64) as u64);
            cost(now, belief, &head, job) as i64 - belief.ticks(aged) as i64
        };
        let near = self.near_writes(now, belief, waiting, 3);
        let least = near.iter().map(score).min().unwrap_or(0);
        // Ticks round, twice.
        near.iter().filter(|job| score(job) <= least + 3).map(|job| job.sequence).collect()
    }
}

/// A write that goes into the buffer costs the same wherever it lies; one with FUA does not go there.
fn cost<P: Predictor>(now: Time, belief: &P, head: &P::Head, job: &Waiting) -> u64 {
    if let (Op::Write { fua: false }, Some(flat)) = (job.op, belief.buffered_cost(now)) {
        return flat;
    }
    let spot = belief.spot(Extent::new(job.start, 1));
    belief.cost(head, belief.key(spot), belief.mark(spot), job.op.direction())
}

/// A policy under watch: whatever it takes must be what its plain form would.
pub struct Watched<P: Predictor> {
    policy: Box<dyn Policy<P>>,
    naive: Naive,
    held: Vec<Waiting>,
}

impl<P: Predictor + 'static> Watched<P> {
    pub fn new(name: &'static str, knobs: Knobs) -> Watched<P> {
        let policy = knobs.make(name);
        Watched { policy, naive: Naive::new(name, knobs), held: Vec::new() }
    }
}

impl<P: Predictor> Policy<P> for Watched<P> {
    fn add(&mut self, id: JobId, job: &Job<P::Spot>, belief: &P) {
        assert!(self.held.iter().all(|held| held.id != id), "{id:?} is held");
        let (start, op) = (job.at.start.0, job.op);
        let (at, qos) = (job.rest(), job.qos);
        self.held.push(Waiting { id, start, at, op, qos, arrived: job.arrived, sequence: job.sequence });
        self.policy.add(id, job, belief);
    }

    fn remove(&mut self, id: JobId, job: &Job<P::Spot>, belief: &P) {
        self.held.remove(self.held.iter().position(|held| held.id == id).expect("it is held"));
        self.policy.remove(id, job, belief);
    }

    fn take(&mut self, now: Time, jobs: &Jobs<P::Spot>, belief: &P) -> Option<JobId> {
        let expected = self.naive.choose(now, belief, &self.held);
        let Some(id) = self.policy.take(now, jobs, belief) else {
            assert!(self.held.is_empty(), "nothing is taken, though {expected:?} waits");
            return None;
        };
        let taken = self.held.iter().position(|held| held.id == id).expect("it is held");
        let waiting = self.held.len();
        let taken = self.held.swap_remove(taken);
        assert!(expected.contains(&taken.sequence), "of {waiting} at {now:?} {taken:?} instead of {expected:?}");
        Some(id)
    }
}
