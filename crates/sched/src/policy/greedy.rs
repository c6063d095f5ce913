//! Least score first, by branch and bound over position.
//!
//! The score of a job is its cost from where the head is now, plus a bias fixed when it came. Jobs are kept in
//! order of their place along the stroke, reads and writes apart, since their bounds differ; the search walks outward from the
//! head, leaf by leaf, passes over leaves whose least possible score exceeds the best found, and stops when that holds for all that is left.
//! Only a bound *above* the best ends the search, so ties go to the job submitted first, whatever the walk.
//!
//! The hot path is `examine`: of a leaf, most candidates fall through a [`Sieve`] by their keys alone, and the cost is worked
//! out of the rest. Where age counts, a walk passes over whole leaves that hold nothing old enough.
//!
//! **Greedy policies are one search.** `sched::policy::greedy` walks outward from the head over small unsorted leaves
//! under a sorted directory (`sched::sorted`), with exact lower bounds from the predictor; on one cylinder the bound
//! uses the angle too, so a hot spot costs no more than a spread load. SATF and aged SATF are that search without a bias
//! and with one, which age makes ([`super::age`]). Without one, and where costs are waits for angles, [`by_angle`] searches.

use super::Policy;
use super::age::{AgeScore, Ageing};
use super::arms::ArmOrder;
use super::by_angle;
use super::fcfs::Fcfs;
use super::walk::{self, Walk};
use crate::predict::Predictor;
use crate::sorted::{Entry, Leaf, Sorted};
use crate::{Job, JobId, Jobs};
use block::{Direction, Lbn, Op, Time};

pub(super) struct Greedy<P: Predictor> {
    /// The requests that wait, by kind.
    waiting: [Sorted<P::Mark>; KINDS],
    age: AgeScore,
    /// Whether waiting counts at all.
    ages: bool,
    /// In order of arrival; kept only where age counts.
    oldest: Fcfs,
    examined: u64,
}

/// Kinds of requests that are searched apart.
const KINDS: usize = 3;
const READS: usize = 0;

/// Which way the data of a kind goes.
pub(super) const fn direction_of(kind: usize) -> Direction {
    if kind == READS { Direction::Read } else { Direction::Write }
}

/// Writes that a buffer may take.
const WRITES: usize = 1;
/// Writes that complete on the medium.
const FUA_WRITES: usize = 2;

fn kind(op: Op) -> usize {
    match op {
        Op::Write { fua: false } | Op::Discard(_) | Op::Move => WRITES,
        Op::Write { fua: true } => FUA_WRITES,
        Op::Read | Op::Flush | Op::Repair => READS,
    }
}

/// What age has to say.
pub(super) struct Oldest {
    /// What came first of all that wait, and when; told only where age counts.
    pub(super) first: Option<(JobId, Time)>,
    /// One that has waited too long.
    pub(super) overdue: Option<JobId>,
    /// The least bias there is.
    pub(super) floor: u64,
}

/// The best request so far, and its cost.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Candidate {
    pub(super) score: u64,
    pub(super) sequence: u64,
    pub(super) id: JobId,
    pub(super) kind: usize,
    pub(super) slot: usize,
    pub(super) place: usize,
}

/// What a search keeps of the candidates it meets.
pub(super) trait KeepCandidates {
    /// Only what scores no more than this may still be kept.
    fn bar(&self) -> u64;
    /// A candidate that scores no more than the bar.
    fn offer(&mut self, found: Candidate);
}

/// The best candidate so far.
struct Cheapest(Candidate);

impl Cheapest {
    /// None yet, and none that scores as much as `ceiling`.
    fn under(ceiling: u64) -> Cheapest {
        Cheapest(Candidate { score: ceiling, sequence: u64::MAX, ..Candidate::default() })
    }
}

impl KeepCandidates for Cheapest {
    #[inline]
    fn bar(&self) -> u64 {
        self.0.score
    }

    #[inline]
    fn offer(&mut self, found: Candidate) {
        if found.score < self.0.score || (found.score == self.0.score && found.sequence < self.0.sequence) {
            self.0 = found;
        }
    }
}

impl<P: Predictor> Greedy<P> {
    pub(super) fn new(ageing: Ageing) -> Greedy<P> {
        let age = AgeScore::new(ageing);
        Greedy {
            ages: age.ageing().is_some(),
            waiting: std::array::from_fn(|_| if age.ageing().weighs() { Sorted::by_bias() } else { Sorted::new() }),
            age,
            oldest: Fcfs::new(),
            examined: 0,
        }
    }

    /// What a job's arrival adds to its score.
    pub(super) fn bias(&mut self, belief: &P, arrived: Time) -> u64 {
        if self.ages { self.age.of(belief, arrived) } else { 0 }
    }

    /// A job that came at `arrived` was taken, of all that wait here, where the weight of age follows how long they do.
    pub(super) fn note_wait(&mut self, now: Time, arrived: Time, jobs: &Jobs<P::Spot>, belief: &P) {
        if !self.age.ageing().follows_waits() {
            return;
        }
        let oldest = self.oldest(now, jobs, belief).first.map_or(now, |(_, arrived)| arrived);
        self.age.note_wait(belief, now, now.since(arrived), oldest);
    }

    /// Offers what is worth it of a kind.
    #[inline(always)]
    fn search<const KIND: usize>(
        &mut self,
        head: &P::Head,
        key: u64,
        floor: u64,
        belief: &P,
        kept: &mut impl KeepCandidates,
    ) {
        let sorted = &self.waiting[KIND];
        if !sorted.is_empty() {
            self.examined += match sorted.is_by_bias() {
                true => search::<P, KIND, true>(sorted, (head, key), floor, belief, kept),
                false if P::TURNS => by_angle::search::<P, KIND>(sorted, (head, key), belief, kept),
                false => search::<P, KIND, false>(sorted, (head, key), floor, belief, kept),
            };
        }
    }

    /// Offers what scores least from a head at `key`; no bias is less than `floor`.
    pub(super) fn offer_all(
        &mut self,
        head: &P::Head,
        key: u64,
        floor: u64,
        belief: &P,
        kept: &mut impl KeepCandidates,
    ) {
        self.search::<READS>(head, key, floor, belief, kept);
        self.search::<FUA_WRITES>(head, key, floor, belief, kept);
        self.search::<WRITES>(head, key, floor, belief, kept);
    }

    /// Chooses the job of the least score under `ceiling` and gives it up, or one that has waited too long. Scores count from behind block
    /// `from`; where that is not given, from where the head is believed to be.
    pub(super) fn take_below(
        &mut self,
        ceiling: u64,
        from: Option<Lbn>,
        now: Time,
        jobs: &Jobs<P::Spot>,
        belief: &P,
    ) -> Option<JobId> {
        if self.is_empty() {
            return None;
        }
        let oldest = self.oldest(now, jobs, belief);
        if let Some(id) = oldest.overdue {
            self.remove(id, jobs.get(id)?, belief);
            return Some(id);
        }
        let (head, key) = match from {
            None => belief.head(now),
            Some(block) => belief.head_behind(block, now),
        };
        let mut best = Cheapest::under(ceiling);
        self.search::<READS>(&head, key, oldest.floor, belief, &mut best);
        self.search::<FUA_WRITES>(&head, key, oldest.floor, belief, &mut best);
        // What every write but FUA costs, where that does not depend on where it lies.
        match if self.has_writes() { belief.buffered_cost(now) } else { None } {
            Some(cost) => self.offer_flat(cost, belief.buffered_beside(), oldest.floor, (jobs, belief), &mut best),
            None => self.search::<WRITES>(&head, key, oldest.floor, belief, &mut best),
        }
        let Cheapest(best) = best;
        (best.score < ceiling).then(|| self.waiting[best.kind].remove_at(best.slot, best.place))
    }

    /// Offers the write that lies nearest to `near`, at a cost that is the same for all. The device writes back what it finds soonest
    /// among the oldest it has: the nearer these are to one another, the less its arm moves.
    #[inline(never)]
    fn offer_flat(
        &mut self,
        cost: u64,
        (near, key): (P::Head, u64),
        floor: u64,
        (jobs, belief): (&Jobs<P::Spot>, &P),
        kept: &mut Cheapest,
    ) {
        let mut nearest = Cheapest::under(u64::MAX);
        self.search::<WRITES>(&near, key, floor, belief, &mut nearest);
        let found = nearest.0;
        let Some(job) = jobs.get(found.id).filter(|_| found.score < u64::MAX) else { return };
        let score = cost + self.bias(belief, job.arrived);
        kept.offer(Candidate { score, ..found });
    }

    /// Whether it holds a write that a buffer may take.
    pub(super) fn has_writes(&self) -> bool {
        !self.waiting[WRITES].is_empty()
    }

    /// Whether it holds no job.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.iter().all(Sorted::is_empty)
    }

    /// What is asked for at every turn, or the queues would keep what is gone.
    pub(super) fn oldest(&mut self, now: Time, jobs: &Jobs<P::Spot>, belief: &P) -> Oldest {
        // One that was taken or removed may wait again, but with the policy of another rank.
        let waiting = &self.waiting;
        let held = |job: &Job<P::Spot>| waiting[kind(job.op)].holds(belief.key(job.spot), job.sequence);
        let first = if self.ages { self.oldest.front(jobs, held) } else { None };
        let first = first.and_then(|id| Some((id, jobs.get(id)?.arrived)));
        let late =
            |(_, arrived): &(JobId, Time)| self.age.ageing().limit.is_some_and(|limit| now.since(*arrived) > limit);
        let overdue = first.filter(late).map(|(id, _)| id);
        let floor = first.map_or(0, |(_, arrived)| self.bias(belief, arrived));
        Oldest { first, overdue, floor }
    }
}

/// Offers what is worth it of a kind, of which something waits, to a head at `key`; how many were examined. A function of its own,
/// and one for jobs whose age counts, so that what one search needs stays in registers.
#[inline(never)]
fn search<P: Predictor, const KIND: usize, const AGED: bool>(
    sorted: &Sorted<P::Mark>,
    (head, key): (&P::Head, u64),
    floor: u64,
    belief: &P,
    kept: &mut impl KeepCandidates,
) -> u64 {
    // Walks ask for bounds of all that lies beyond a leaf.
    let bound = |from, to| {
        let least = match (from, to) {
            (from, u64::MAX) => belief.least_above(head, from, direction_of(KIND)),
            (0, to) => belief.least_below(head, to, direction_of(KIND)),
            (from, to) => belief.least(head, from, to, direction_of(KIND)),
        };
        least + floor
    };
    let directory = sorted.directory();
    let mut walk = Walk::new(sorted, key, u64::MAX, bound);
    let mut examined = 0;
    loop {
        let bar = kept.bar();
        // Where age counts, most leaves hold nothing old enough to be worth the way.
        let worth = |slot: usize, nearest: u64| !AGED || nearest - floor + directory[slot].bias <= bar;
        let Some((slot, nearest)) = walk.next(sorted, bar, bound, worth) else { return examined };
        let bias = if AGED { directory[slot].bias } else { 0 };
        // What all on this side of the head cost at least; of one leaf more is known where it is narrow.
        let mut least = nearest - floor;
        if AGED && least + bias > kept.bar() {
            continue;
        }
        let (from, to) = (walk::low(sorted, slot), walk::low(sorted, slot + 1));
        if belief.is_told_closer(from, to) {
            least = belief.least(head, from, to, direction_of(KIND));
            if least + bias > kept.bar() {
                continue;
            }
        }
        examined += examine::<P, KIND, AGED>(sorted.leaf(slot), (slot, (from, to)), (head, least), belief, kept);
    }
}

/// Offers what is worth it of a leaf with keys in `range`, in which nothing costs less than `least`; how many were examined.
/// Most fall through the sieve: their keys alone tell that they cost too much.
#[inline(always)]
fn examine<P: Predictor, const KIND: usize, const AGED: bool>(
    leaf: &Leaf<P::Mark>,
    (slot, range): (usize, (u64, u64)),
    (head, least): (&P::Head, u64),
    belief: &P,
    kept: &mut impl KeepCandidates,
) -> u64 {
    let (keys, rest) = (leaf.keys(), leaf.rest());
    let sieve = belief.sieve(head, least, keys, range);
    let mut room = kept.bar().saturating_sub(least);
    for (place, key) in keys.iter().enumerate() {
        let bias = if AGED { rest[place].bias } else { 0 };
        // Those after it are younger yet.
        if AGED && bias > room {
            return place as u64;
        }
        if sieve.beyond(*key) + bias <= room {
            weigh::<P, KIND>(leaf, (slot, place), bias, head, belief, kept);
            room = kept.bar().saturating_sub(least);
        }
    }
    keys.len() as u64
}

/// Works out what an entry of a leaf costs, and offers it if it is worth that.
#[inline(always)]
fn weigh<P: Predictor, const KIND: usize>(
    leaf: &Leaf<P::Mark>,
    (slot, place): (usize, usize),
    bias: u64,
    head: &P::Head,
    belief: &P,
    kept: &mut impl KeepCandidates,
) {
    let (key, its) = (leaf.keys()[place], &leaf.rest()[place]);
    let score = belief.cost(head, key, its.item, direction_of(KIND)) + bias;
    if score <= kept.bar() {
        kept.offer(Candidate { score, sequence: its.sequence, id: its.id, kind: KIND, slot, place });
    }
}

impl<P: Predictor> Policy<P> for Greedy<P> {
    fn add(&mut self, id: JobId, job: &Job<P::Spot>, belief: &P) {
        let (key, item) = (belief.key(job.spot), belief.mark(job.spot));
        let bias = self.bias(belief, job.arrived);
        let waiting = &mut self.waiting[kind(job.op)];
        waiting.add(Entry { key, sequence: job.sequence, bias, id, item });
        if self.ages {
            self.oldest.push(id, job);
        }
    }

    fn remove(&mut self, _: JobId, job: &Job<P::Spot>, belief: &P) {
        self.waiting[kind(job.op)].remove(belief.key(job.spot), job.sequence);
    }

    fn take(&mut self, now: Time, jobs: &Jobs<P::Spot>, belief: &P) -> Option<JobId> {
        self.take_below(u64::MAX, None, now, jobs, belief)
    }

    fn pass(&mut self, _: &Job<P::Spot>, _: &P) -> bool {
        // Where age counts, the first job sets by what ticks.
        let passes = !self.ages;
        self.examined += u64::from(passes);
        passes
    }

    fn candidates(&self) -> u64 {
        self.examined
    }
}

impl<P: Predictor> ArmOrder<P> for Greedy<P> {
    fn take_from(&mut self, head: Lbn, now: Time, jobs: &Jobs<P::Spot>, belief: &P) -> Option<JobId> {
        self.take_below(u64::MAX, Some(head), now, jobs, belief)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::Distance;
    use block::{Command, Extent, Outcome, Qos, Request, RequestId, Span};

    /// Counts by shorter ticks from when on it has learned so.
    #[derive(Default)]
    struct Relearned {
        plain: Distance,
        finer: u64,
    }

    impl Predictor for Relearned {
        type Spot = Lbn;
        type Mark = ();
        type Head = Lbn;

        fn spot(&self, at: Extent) -> Lbn {
            self.plain.spot(at)
        }
        fn key(&self, spot: Lbn) -> u64 {
            self.plain.key(spot)
        }
        fn mark(&self, _: Lbn) {}
        fn head(&self, now: Time) -> (Lbn, u64) {
            self.plain.head(now)
        }
        fn cost(&self, head: &Lbn, key: u64, (): (), direction: Direction) -> u64 {
            self.plain.cost(head, key, (), direction)
        }
        fn least(&self, head: &Lbn, from: u64, to: u64, direction: Direction) -> u64 {
            self.plain.least(head, from, to, direction)
        }
        fn is_told_closer(&self, from: u64, to: u64) -> bool {
            self.plain.is_told_closer(from, to)
        }
        fn head_after(&self, head: &Lbn, at: Extent, spot: Lbn, direction: Direction) -> (Lbn, u64) {
            self.plain.head_after(head, at, spot, direction)
        }
        fn ticks(&self, span: Span) -> u64 {
            self.plain.ticks(span) + self.plain.ticks(span) / 1000 * self.finer
        }
        fn arm(&self) -> Lbn {
            self.plain.arm()
        }
        fn note_issue(&mut self, now: Time, command: &Command, spot: Lbn) {
            self.plain.note_issue(now, command, spot);
        }
        fn note_completion(&mut self, _: Time, _: &Command, _: Outcome) {}
    }

    /// Of two equally far the older goes first, whatever the belief has learned of its drive's period between them.
    #[test]
    fn age_is_counted_in_the_same_ticks_whatever_is_learned() {
        for (before, after) in [(0, 1), (1, 0)] {
            let mut belief = Relearned { plain: Distance::default(), finer: before };
            let mut policy = Greedy::<Relearned>::new(Ageing::by_weight(0.5));
            let mut jobs = Jobs::new();
            let add = |jobs: &mut Jobs<Lbn>, id: u32, ms: u64, belief: &Relearned, policy: &mut Greedy<Relearned>| {
                let request =
                    Request { id: RequestId(id), op: Op::Read, at: Extent::new(5000, 8), qos: Qos::default() };
                let job = Job::new(&request, Time(ms * 1_000_000), u64::from(id), Lbn(5000));
                let id = jobs.insert(job);
                policy.add(id, &job, belief);
                id
            };
            let older = add(&mut jobs, 0, 100_000, &belief, &mut policy);
            belief.finer = after;
            add(&mut jobs, 1, 100_001, &belief, &mut policy);
            let oldest = policy.oldest(Time(100_002_000_000), &jobs, &belief);
            assert_eq!(oldest.floor, policy.bias(&belief, Time(100_000_000_000)));
            assert_eq!(policy.take(Time(100_002_000_000), &jobs, &belief), Some(older), "{before} {after}");
        }
    }
}
