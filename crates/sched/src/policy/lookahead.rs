//! Lookahead: the request that begins the best plan, by a beam search over what the predictor believes.
//!
//! SATF takes what can be reached soonest, and may end far from all the rest. Here a plan is a few requests in an order,
//! each reached from where the one before leaves the head. Of the plans of one length the best `beam` are kept; each is
//! continued with the requests it reaches soonest, half as many; the first request of the best plan of `horizon` requests
//! is served, and with the next decision all is planned anew. A plan costs the times in which its requests are reached, less
//! what they have waited, as aged SATF has it, which this is at a horizon of one; transfers are paid for in any order. Each
//! request counts a sixteenth less than the one before: by then others have come. So one that has waited long comes
//! to be the first.
//!
//! **A plan is greedy searches in a row.** `sched::policy::lookahead` asks the search of SATF for the best few
//! instead of the best, and a predictor for the head that serving one leaves (`Predictor::after`); the oracle answers
//! with a copy of its shadow. Plans of the same requests with the same last one are one. Later requests of a plan
//! count less: a narrow beam with that discount gains as much as a wide one without, since of a plan only its first
//! request comes true.

use super::age::{AGE_LIMIT, Ageing, age_weight};
use super::greedy::{Candidate, Greedy, KeepCandidates};
use super::{Beside, Kind, Manual, Needs, Policy};
use crate::beam;
use crate::predict::Predictor;
use crate::{Job, JobId, Jobs};
use block::{BadInput, Time};
use config::{Key, Section};

/// Requests of a plan at most.
const LONGEST_HORIZON: u32 = 16;
/// Plans kept at most.
const WIDEST_BEAM: u32 = 4096;
/// What costs no throughput.
const AGE_WEIGHT: Key<f64> = age_weight("0.0005");
const BEAM: Key<u32> =
    Key::<u32>::within("beam", 1, WIDEST_BEAM).usually("8").about("Plans kept of those of one length.");
const HORIZON: Key<u32> = Key::<u32>::within("horizon", 1, LONGEST_HORIZON).usually("6").about("Requests of a plan.");
/// The values of its keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    ageing: Ageing,
    beam: u32,
    horizon: u32,
}

impl Kind for Settings {
    const MANUAL: Manual = Manual {
        name: "lookahead",
        text: "The request that begins the best plan of several, by a beam search over what the predictor believes. A few percent more requests a second than `satf` where many wait, and shorter waits, for many times the computing.",
        keys: &[AGE_WEIGHT.about, AGE_LIMIT.about, BEAM.about, HORIZON.about],
        example: "policy = \"lookahead\"\nhorizon = 4",
        needs: Needs::Any,
    };

    fn read(scheduler: &Section) -> Result<Settings, BadInput> {
        Ok(Settings {
            ageing: Ageing::read(scheduler, &AGE_WEIGHT)?,
            beam: scheduler.value(&BEAM)?,
            horizon: scheduler.value(&HORIZON)?,
         })
    }

    fn make<P: Predictor + 'static>(&self, _: &Beside) -> Box<dyn Policy<P>> {
        Box::new(Lookahead::new(self))
    }
}

/// The first request of a plan counts so many parts, each later one a part less.
const STEPS: u64 = LONGEST_HORIZON as u64;

pub(super) struct Lookahead<P: Predictor> {
    greedy: Greedy<P>,
    beam: usize,
    horizon: usize,
    /// Plans of one length, and those of one more.
    plans: Vec<ServingOrder<P::Head>>,
    longer: Vec<ServingOrder<P::Head>>,
    few: Few,
}

/// Requests in the order in which they would be served.
#[derive(Clone, Copy)]
struct ServingOrder<H> {
    /// What its requests wait to be reached, in ticks, less what they have waited: each counted for what it is worth.
    cost: u64,
    /// Where the head is before the last request.
    head: H,
    first: Candidate,
    last: JobId,
    taken: Taken,
}

/// The requests of a plan, in no order.
#[derive(Clone, Copy, Default)]
struct Taken {
    ids: [JobId; LONGEST_HORIZON as usize],
    len: usize,
    /// The same for the same requests in any order.
    mark: u64,
}

impl Taken {
    fn with(mut self, id: JobId) -> Taken {
        let mixed = (u64::from(id.0) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.mark = self.mark.wrapping_add((mixed ^ (mixed >> 32)).wrapping_mul(0xBF58_476D_1CE4_E5B9));
        self.ids[self.len] = id;
        self.len += 1;
        self
    }

    fn holds(&self, id: JobId) -> bool {
        self.ids[..self.len].contains(&id)
    }
}

/// The best few candidates to continue a plan with, best first.
struct Few {
    found: Vec<Candidate>,
    most: usize,
    /// None that costs more is of use.
    ceiling: u64,
    taken: Taken,
}

impl Few {
    fn begin(&mut self, most: usize, ceiling: u64, taken: Taken) {
        self.found.clear();
        (self.most, self.ceiling, self.taken) = (most, ceiling, taken);
    }
}

impl KeepCandidates for Few {
    #[inline]
    fn bar(&self) -> u64 {
        if self.found.len() < self.most { self.ceiling } else { self.found[self.most - 1].score.min(self.ceiling) }
    }

    fn offer(&mut self, found: Candidate) {
        if self.taken.holds(found.id) {
            return;
        }
        let order = |found: &Candidate| (found.score, found.sequence);
        let at = self.found.partition_point(|kept| order(kept) < order(&found));
        if at < self.most {
            self.found.truncate(self.most - 1);
            self.found.insert(at, found);
        }
    }
}

impl<P: Predictor> Lookahead<P> {
    fn new(settings: &Settings) -> Lookahead<P> {
        let beam = settings.beam as usize;
        Lookahead {
            greedy: Greedy::new(settings.ageing),
            beam,
            horizon: settings.horizon as usize,
            plans: Vec::with_capacity(beam),
            longer: Vec::with_capacity(beam),
            few: Few { found: Vec::with_capacity(beam), most: 0, ceiling: u64::MAX, taken: Taken::default() },
        }
    }

    /// The first request of the best plan, of as many requests as there are up to the horizon; no bias is less than
    /// `floor`.
    fn choose(&mut self, now: Time, floor: u64, jobs: &Jobs<P::Spot>, belief: &P) -> Option<JobId> {
        let Lookahead { greedy, beam, horizon, plans, longer, few } = self;
        // Of the longest plans only the best is of use.
        let kept = |len| if len == *horizon { 1 } else { *beam };
        let branch = |len| kept(len).min(beam.div_ceil(2));
        let (head, key) = belief.head(now);
        few.begin(branch(1), u64::MAX, Taken::default());
        greedy.offer_all(&head, key, floor, belief, few);
        plans.clear();
        let one = |found: &Candidate| {
            let taken = Taken::default().with(found.id);
            ServingOrder { cost: discount(found.score - floor, 1), head, first: *found, last: found.id, taken }
        };
        plans.extend(few.found.iter().map(one));
        for len in 2..=*horizon {
            longer.clear();
            for plan in plans.iter() {
                let Some(job) = jobs.get(plan.last) else { continue };
                let (head, key) = belief.head_after(&plan.head, job.rest(), job.spot, job.op.direction());
                let left = longer.get(kept(len) - 1).map(|worst| worst.cost.saturating_sub(plan.cost));
                let ceiling = left.map_or(u64::MAX, |left| ceiling(left, len).saturating_add(floor));
                few.begin(branch(len), ceiling, plan.taken);
                greedy.offer_all(&head, key, floor, belief, few);
                for found in &few.found {
                    let cost = plan.cost.saturating_add(discount(found.score - floor, len));
                    let taken = plan.taken.with(found.id);
                    keep(longer, kept(len), ServingOrder { cost, head, first: plan.first, last: found.id, taken });
                }
            }
            if longer.is_empty() {
                break;
            }
            std::mem::swap(plans, longer);
        }
        plans.first().map(|plan| plan.first.id)
    }
}

/// What the `nth` request of a plan counts: by then others will have come, and what seems best now will not be.
fn discount(score: u64, nth: usize) -> u64 {
    let parts = STEPS + 1 - nth as u64;
    score / STEPS * parts + score % STEPS * parts / STEPS
}

/// No score above this counts less.
fn ceiling(counted: u64, nth: usize) -> u64 {
    (counted / (STEPS + 1 - nth as u64) + 1).saturating_mul(STEPS)
}

/// Keeps a plan if it is one of the best so many. Of those of the same requests that end with the same one, the best is enough:
/// what comes after costs the same.
fn keep<H>(plans: &mut Vec<ServingOrder<H>>, most: usize, plan: ServingOrder<H>) {
    let order = |plan: &ServingOrder<H>| (plan.cost, plan.first.sequence);
    let same = |kept: &ServingOrder<H>, new: &ServingOrder<H>| kept.last == new.last && kept.taken.mark == new.taken.mark;
    beam::keep(plans, most, plan, same, |kept, new| order(kept) <= order(new));
}

impl<P: Predictor> Policy<P> for Lookahead<P> {
    fn add(&mut self, id: JobId, job: &Job<P::Spot>, belief: &P) {
        self.greedy.add(id, job, belief);
    }

    fn remove(&mut self, id: JobId, job: &Job<P::Spot>, belief: &P) {
        self.greedy.remove(id, job, belief);
    }

    fn take(&mut self, now: Time, jobs: &Jobs<P::Spot>, belief: &P) -> Option<JobId> {
        let oldest = self.greedy.oldest(now, jobs, belief);
        // What a buffer takes at once leaves the arm where it is.
        if oldest.overdue.is_some() || (self.greedy.has_writes() && belief.buffered_cost(now).is_some()) {
            return self.greedy.take(now, jobs, belief);
        }
        let id = self.choose(now, oldest.floor, jobs, belief)?;
        self.remove(id, jobs.get(id)?, belief);
        Some(id)
    }

    fn candidates(&self) -> u64 {
        self.greedy.candidates()
    }
}
