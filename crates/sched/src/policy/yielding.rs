//! `yield`: the request of the greatest average yield first, what it is worth when it will be done over how long that takes
//! (Preemptive RAID scheduling, Eqs. 2 and 4). Ties go to the earlier deadline, then to the one submitted first.

use super::fcfs::Fcfs;
use super::age::AGE_LIMIT;
use super::walk::{self, Walk};
use super::{Beside, Kind, Manual, Needs, Policy};
use crate::predict::Predictor;
use crate::sorted::{Entry, Rest, Sorted};
use crate::value::Worth;
use crate::{Job, JobId, Jobs};
use block::{BadInput, Direction, Qos, Span, Time};
use config::{Key, Section};

const AGE_DOUBLING: Key<Span> = Key::<Span>::span("age_doubling")
    .else_told("never")
    .about("What has waited so long counts double, what has waited twice as long three times.");

/// The values of its keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    age_limit: Option<Span>,
    age_doubling: Option<Span>,
}

impl Kind for Settings {
    const MANUAL: Manual = Manual {
        name: "yield",
        text: "The request that yields most a second first: what it will be worth when it is done over how long that takes (Preemptive RAID Scheduling, Equations 2 and 4). `[scheduler.class.NAME]` says what requests are worth.",
        keys: &[AGE_LIMIT.about, AGE_DOUBLING.about],
        example: "policy = \"yield\"",
        needs: Needs::Times,
    };

    fn read(scheduler: &Section) -> Result<Settings, BadInput> {
        Ok(Settings { age_limit: scheduler.get(&AGE_LIMIT)?, age_doubling: scheduler.get(&AGE_DOUBLING)? })
    }

    fn make<P: Predictor + 'static>(&self, beside: &Beside) -> Box<dyn Policy<P>> {
        Box::new(yielding(beside.worths.clone(), self.age_limit, self.age_doubling))
    }
}

/// What is kept of a job beside its place.
#[derive(Clone, Copy)]
struct Item<M> {
    mark: M,
    /// What its transfer takes, ns.
    transfer: f64,
    /// What it was worth when it came.
    fresh: f64,
    qos: Qos,
    arrived: Time,
}

/// The waiting jobs of a class. They are searched by class, because what they are worth differs little within one.
struct Class<M> {
    worth: Worth,
    /// The requests that wait, reads and writes apart.
    waiting: [Sorted<Item<M>>; 2],
    oldest: Fcfs,
    /// The most that one of them was worth, and the least time of transfer for what it was worth, since the class was empty.
    most: f64,
    densest: f64,
}

impl<M: Copy> Class<M> {
    fn new(worth: Worth) -> Class<M> {
        Class { worth, waiting: [Sorted::new(), Sorted::new()], oldest: Fcfs::new(), most: 0.0, densest: f64::INFINITY }
    }
}

/// The best request so far, and its yield.
#[derive(Clone, Copy)]
struct Offer {
    /// Its worth by nanosecond of the arm.
    average: f64,
    deadline: Time,
    sequence: u64,
    id: JobId,
    class: usize,
    direction: Direction,
    slot: usize,
    place: usize,
}

impl Offer {
    const NONE: Offer = Offer {
        average: 0.0,
        deadline: Time::NEVER,
        sequence: u64::MAX,
        id: JobId(u32::MAX),
        class: usize::MAX,
        direction: Direction::Read,
        slot: 0,
        place: 0,
    };

    fn is_before(&self, other: &Offer) -> bool {
        let sooner = (self.deadline, self.sequence) < (other.deadline, other.sequence);
        self.average > other.average || (self.average == other.average && sooner)
    }
}

/// What a search keeps of the candidates it meets.
trait KeepOffers {
    /// Only what averages as much may still be kept.
    fn bar(&self) -> f64;
    fn offer(&mut self, found: Offer);
}

/// The best so far.
struct BestOffer(Offer);

impl KeepOffers for BestOffer {
    #[inline]
    fn bar(&self) -> f64 {
        self.0.average
    }

    #[inline]
    fn offer(&mut self, found: Offer) {
        if found.is_before(&self.0) {
            self.0 = found;
        }
    }
}

/// The best few, best first.
#[derive(Default)]
struct BestOffers {
    found: Vec<Offer>,
    most: usize,
}

impl KeepOffers for BestOffers {
    fn bar(&self) -> f64 {
        if self.found.len() < self.most { 0.0 } else { self.found[self.most - 1].average }
    }

    fn offer(&mut self, found: Offer) {
        let at = self.found.partition_point(|kept| kept.is_before(&found));
        if at < self.most {
            self.found.truncate(self.most - 1);
            self.found.insert(at, found);
        }
    }
}

pub(crate) struct Yield<P: Predictor> {
    worths: Vec<Worth>,
    classes: Vec<Class<P::Mark>>,
    /// The classes that have jobs, the most valuable first.
    order: Vec<usize>,
    /// What has waited longer goes first.
    limit: Option<Span>,
    /// What has waited so long counts double, and so on.
    doubling: Option<Span>,
    /// By how much what a write is worth counts.
    weight: f64,
    few: BestOffers,
    examined: u64,
}

/// The order by yield of requests of these worths by class.
pub(crate) fn yielding<P: Predictor>(worths: Vec<Worth>, limit: Option<Span>, doubling: Option<Span>) -> Yield<P> {
    Yield {
        worths,
        classes: Vec::new(),
        order: Vec::new(),
        limit,
        doubling,
        weight: 1.0,
        few: BestOffers::default(),
        examined: 0,
    }
}

/// What a decision goes by.
struct Scene<'b, P: Predictor> {
    belief: &'b P,
    now: Time,
    head: P::Head,
    key: u64,
    /// Clock ticks in a nanosecond.
    pace: f64,
    doubling: Option<Span>,
    weight: f64,
}

impl<P: Predictor> Scene<'_, P> {
    /// By how much having waited since `arrived` counts.
    fn age_factor(&self, arrived: Time) -> f64 {
        self.doubling.map_or(1.0, |doubling| 1.0 + self.now.since(arrived).0 as f64 / doubling.0.max(1) as f64)
    }

    /// The average yield of a job (Eq. 4), aged.
    fn average(&self, worth: &Worth, key: u64, item: &Item<P::Mark>, direction: Direction) -> f64 {
        let there = self.belief.cost(&self.head, key, item.mark, direction) as f64 / self.pace;
        let takes = (there + item.transfer).max(1.0);
        let end = self.now + Span(takes as u64);
        let weight = if direction.writes() { self.weight } else { 1.0 };
        weight * item.fresh * worth.worth_at(&item.qos, item.arrived, end) * self.age_factor(item.arrived) / takes
    }

    /// No job with a key in `from..=to` of a class whose jobs have waited no longer than `oldest` has a higher one.
    fn most(&self, class: &Class<P::Mark>, oldest: f64, from: u64, to: u64, direction: Direction) -> f64 {
        let there = self.belief.least(&self.head, from, to, direction) as f64 / self.pace;
        // Rounding may not make a bound of what is no longer one.
        let weight = if direction.writes() { self.weight } else { 1.0 };
        1.000_001 * weight * oldest / (there / class.most + class.densest).max(1.0 / class.most)
    }
}

impl<P: Predictor> Yield<P> {
    fn class(&mut self, class: u8) -> &mut Class<P::Mark> {
        let class = usize::from(class);
        while self.classes.len() <= class {
            let worth = self.worths.get(self.classes.len()).copied().unwrap_or(Worth::USUAL);
            self.classes.push(Class::new(worth));
        }
        &mut self.classes[class]
    }

    /// Puts the classes that have jobs in order of what they are worth at most; the oldest job of all.
    fn survey(&mut self, jobs: &Jobs<P::Spot>, belief: &P) -> Option<JobId> {
        let mut longest: Option<(u64, JobId)> = None;
        self.order.clear();
        for (index, class) in self.classes.iter_mut().enumerate() {
            let waiting = &class.waiting;
            let held =
                |job: &Job<P::Spot>| waiting[job.op.direction() as usize].holds(belief.key(job.spot), job.sequence);
            let Some(id) = class.oldest.front(jobs, held) else { continue };
            let Some(job) = jobs.get(id) else { continue };
            if longest.is_none_or(|(sequence, _)| job.sequence < sequence) {
                longest = Some((job.sequence, id));
            }
            self.order.push(index);
        }
        let classes = &self.classes;
        self.order.sort_unstable_by(|a, b| classes[*b].most.total_cmp(&classes[*a].most).then(a.cmp(b)));
        longest.map(|(_, id)| id)
    }

    /// Offers what is worth it of a class.
    fn search(&mut self, index: usize, direction: Direction, oldest: f64, scene: &Scene<P>, kept: &mut impl KeepOffers) {
        let class = &self.classes[index];
        let sorted = &class.waiting[direction as usize];
        if sorted.is_empty() {
            return;
        }
        // Less is better on a walk, and what is worth nothing is not looked for.
        let bound = |from, to| -scene.most(class, oldest, from, to, direction);
        let mut walk = Walk::new(sorted, scene.key, 0.0, bound);
        while let Some((slot, _)) = walk.next(sorted, -kept.bar(), bound, |_, _| true) {
            if -bound(walk::low(sorted, slot), walk::low(sorted, slot + 1)) < kept.bar() {
                continue;
            }
            let leaf = sorted.leaf(slot);
            self.examined += leaf.keys().len() as u64;
            for (place, (key, rest)) in leaf.keys().iter().zip(leaf.rest()).enumerate() {
                let Rest { sequence, id, item, .. } = *rest;
                let average = scene.average(&class.worth, *key, &item, direction);
                if average > 0.0 && average >= kept.bar() {
                    let deadline = item.qos.deadline.unwrap_or(Time::NEVER);
                    kept.offer(Offer { average, deadline, sequence, id, class: index, direction, slot, place });
                }
            }
        }
    }

    /// Offers what is worth it of all: the most valuable classes first, since what they find bounds the others.
    fn search_all(&mut self, aged: f64, scene: &Scene<P>, kept: &mut impl KeepOffers) {
        for place in 0..self.order.len() {
            for direction in [Direction::Read, Direction::Write] {
                self.search(self.order[place], direction, aged, scene, kept);
            }
        }
    }

    fn scene<'b>(&self, now: Time, belief: &'b P) -> Scene<'b, P> {
        let (head, key) = belief.head(now);
        let pace = pace(belief);
        Scene { belief, now, head, key, pace, doubling: self.doubling, weight: self.weight }
    }

    /// The jobs of the greatest average yields, at most so many, which it goes on holding.
    pub(crate) fn best(&mut self, most: usize, now: Time, jobs: &Jobs<P::Spot>, belief: &P, into: &mut Vec<JobId>) {
        let Some(oldest) = self.survey(jobs, belief).and_then(|id| jobs.get(id)) else { return };
        let scene = self.scene(now, belief);
        let mut few = std::mem::take(&mut self.few);
        few.found.clear();
        few.most = most;
        self.search_all(scene.age_factor(oldest.arrived), &scene, &mut few);
        into.extend(few.found.iter().map(|found| found.id));
        self.few = few;
    }
}

/// Clock ticks in a nanosecond.
pub(crate) fn pace<P: Predictor>(belief: &P) -> f64 {
    let second = Span(1_000_000_000);
    belief.ticks(second) as f64 / second.0 as f64
}

impl<P: Predictor> Yield<P> {
    /// Files a job by what it is worth.
    fn file(&mut self, id: JobId, job: &Job<P::Spot>, belief: &P) {
        let transfer = belief.transfer(job.rest(), job.spot).0 as f64;
        let class = self.class(job.qos.class);
        let fresh = class.worth.fresh(job.at.blocks) * f64::from(job.part);
        if class.waiting.iter().all(Sorted::is_empty) {
            (class.most, class.densest) = (f64::MIN_POSITIVE, f64::INFINITY);
        }
        class.most = class.most.max(fresh);
        class.densest = class.densest.min(transfer / fresh.max(f64::MIN_POSITIVE));
        let item = Item { mark: belief.mark(job.spot), transfer, fresh, qos: job.qos, arrived: job.arrived };
        let entry = Entry { key: belief.key(job.spot), sequence: job.sequence, bias: 0, id, item };
        class.waiting[job.op.direction() as usize].add(entry);
    }
}

impl<P: Predictor> Policy<P> for Yield<P> {
    fn add(&mut self, id: JobId, job: &Job<P::Spot>, belief: &P) {
        self.file(id, job, belief);
        self.class(job.qos.class).oldest.push(id, job);
    }

    fn weigh_part(&mut self, id: JobId, job: &Job<P::Spot>, belief: &P) {
        // It came when it came: its place among the oldest stays.
        self.remove(id, job, belief);
        self.file(id, job, belief);
    }

    fn remove(&mut self, _: JobId, job: &Job<P::Spot>, belief: &P) {
        let waiting = &mut self.class(job.qos.class).waiting[job.op.direction() as usize];
        waiting.remove(belief.key(job.spot), job.sequence);
    }

    fn take(&mut self, now: Time, jobs: &Jobs<P::Spot>, belief: &P) -> Option<JobId> {
        let oldest = self.survey(jobs, belief)?;
        let first = jobs.get(oldest)?;
        if self.limit.is_some_and(|limit| now.since(first.arrived) > limit) {
            self.remove(oldest, first, belief);
            return Some(oldest);
        }
        let scene = self.scene(now, belief);
        let mut best = BestOffer(Offer::NONE);
        self.search_all(scene.age_factor(first.arrived), &scene, &mut best);
        let BestOffer(found) = best;
        if found.class == usize::MAX {
            // Nothing is worth anything any more: in order of arrival.
            self.remove(oldest, first, belief);
            return Some(oldest);
        }
        Some(self.classes[found.class].waiting[found.direction as usize].remove_at(found.slot, found.place))
    }

    fn weigh_writes(&mut self, weight: f64) {
        self.weight = weight;
    }

    fn goes_by_worth(&self) -> bool {
        true
    }

    fn candidates(&self) -> u64 {
        self.examined
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::Distance;
    use block::{Extent, Op, Request, RequestId};

    /// However often it is weighed anew, a job is chosen as one that came so, and nothing is kept of what it counted for before.
    #[test]
    fn a_job_that_is_weighed_anew_is_as_one_that_came_so() {
        let mut state = 5u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let (belief, mut jobs) = (Distance::default(), Jobs::new());
        let mut weighed = yielding::<Distance>(vec![Worth::USUAL], None, None);
        let ids: Vec<JobId> = (0..200u32)
            .map(|number| {
                let (at, op) = (Extent::new(draw(100_000), 1 + draw(64) as u32), if draw(2) == 0 { Op::Read } else { Op::Discard(block::Discarded::Anything) });
                let job = Job::new(&Request { id: RequestId(number), op, at, qos: Qos::default() }, Time::ZERO, u64::from(number), at.start);
                let id = jobs.insert(job);
                weighed.add(id, &job, &belief);
                id
            })
            .collect();
        for _ in 0..2000 {
            let id = ids[draw(200) as usize];
            let job = jobs.get_mut(id).expect("it waits");
            job.part = (1 + draw(100)) as f32 / 100.0;
            weighed.weigh_part(id, &*job, &belief);
        }
        let kept = weighed.classes[0].oldest.len();
        assert_eq!(kept, 200);
        let mut came = yielding::<Distance>(vec![Worth::USUAL], None, None);
        ids.iter().for_each(|id| came.add(*id, jobs.get(*id).expect("it waits"), &belief));
        for _ in 0..200 {
            let chosen = came.take(Time::ZERO, &jobs, &belief);
            assert_eq!(weighed.take(Time::ZERO, &jobs, &belief), chosen);
            jobs.free(chosen.expect("one waits"));
        }
    }
}
