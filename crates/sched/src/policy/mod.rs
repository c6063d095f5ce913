//! Policies: in which order waiting jobs are served. One file each.

mod asatf;
mod batch_look;
mod c_look;
mod c_look_cyl;
mod cylinders;
mod fcfs;
mod greedy;
mod look;
mod look_cyl;
mod lookahead;
mod priority;
mod priority_1;
mod priority_2;
mod satf;
mod smtf;
mod sstf;
mod sstf_cyl;
mod three_queues;
mod yielding;

pub(crate) use fcfs::Fcfs;
pub use lookahead::{LONGEST_HORIZON, WIDEST_BEAM};
pub use smtf::Learn;
pub(crate) use yielding::{Yield, pace, yielding};

use crate::predict::Predictor;
use crate::value::Worth;
use crate::{Job, JobId, Jobs};
use block::{Span, Time};

/// The order in which waiting jobs are served.
pub trait Policy<P: Predictor> {
    /// Takes a job in. The caller guarantees that it is not held.
    fn add(&mut self, id: JobId, job: &Job<P::Spot>, belief: &P);

    /// Gives a job up. The caller guarantees that it is held.
    fn remove(&mut self, id: JobId, job: &Job<P::Spot>, belief: &P);

    /// Chooses the job to serve now and gives it up; nothing only when it holds none. Ties go to the job
    /// submitted first.
    fn take(&mut self, now: Time, jobs: &Jobs<P::Spot>, belief: &P) -> Option<JobId>;

    /// From now on a write is worth so many times what it is worth by its class; of use to those that go by worth.
    fn weigh_writes(&mut self, weight: f64) {
        let _ = weight;
    }

    /// Candidates examined so far, where the policy weighs candidates.
    fn examined(&self) -> u64 {
        0
    }
}

/// The names of all policies.
pub const NAMES: [&str; 16] = [
    "fcfs",
    "look",
    "c-look",
    "sstf",
    "satf",
    "asatf",
    "smtf",
    "lookahead",
    "yield",
    "batch-look",
    "look-cyl",
    "c-look-cyl",
    "sstf-cyl",
    "priority-1",
    "priority-2",
    "3q",
];

/// What a policy may be told; each reads only what concerns it.
#[derive(Clone, Debug, PartialEq)]
pub struct Knobs {
    /// `asatf`, `smtf`, `lookahead`: what a request gains over another by having waited longer, as a share of the time waited.
    pub age_weight: f64,
    /// `asatf`, `smtf`, `lookahead`, `yield`: whatever has waited longer than this goes first, oldest first.
    pub age_limit: Option<Span>,
    /// `lookahead`: plans kept of those of one length.
    pub beam: u32,
    /// `lookahead`: requests of a plan.
    pub horizon: u32,
    /// `batch-look`: requests sorted together.
    pub batch: u32,
    /// `smtf`: what is done about requests whose time is not known.
    pub learn: Learn,
    /// `smtf`: the policy it learns under.
    pub base: &'static str,
    /// `smtf`, *Online-Set*: by what share of its time another request must be better than what the base would pick.
    pub margin: f64,
    /// `yield`: what requests are worth, by class; a class past the end has the usual.
    pub worths: Vec<Worth>,
    /// `yield`: what has waited so long counts double, what has waited twice as long three times, and so on.
    pub doubling: Option<Span>,
    /// `priority-1`, `priority-2`, `3q`: what has waited so long in the low queue moves to the high one.
    pub timeout: Option<Span>,
}

impl Default for Knobs {
    fn default() -> Knobs {
        Knobs {
            age_weight: age_weight("asatf"),
            age_limit: None,
            beam: 8,
            horizon: 6,
            batch: 40,
            learn: Learn::Set,
            base: "sstf",
            margin: 0.0,
            worths: Vec::new(),
            doubling: None,
            timeout: None,
        }
    }
}

/// The `age_weight` of a policy where nothing else is said: what costs `lookahead` no throughput, and `asatf` a few
/// percent.
#[must_use]
pub fn age_weight(name: &str) -> f64 {
    match name {
        "asatf" => 0.006,
        "lookahead" => 0.0005,
        _ => 0.0,
    }
}

/// The policy of this name, if there is one.
#[must_use]
pub fn named<P: Predictor + 'static>(name: &str, knobs: &Knobs) -> Option<Box<dyn Policy<P>>> {
    Some(match name {
        "fcfs" => Box::new(fcfs::Fcfs::new()),
        "look" => Box::new(look::Look::new()),
        "c-look" => Box::new(c_look::CLook::new()),
        "sstf" => Box::new(sstf::sstf()),
        "satf" => Box::new(satf::satf()),
        "asatf" => Box::new(asatf::asatf(knobs)),
        "smtf" => Box::new(smtf::smtf(knobs)?),
        "lookahead" => Box::new(lookahead::Lookahead::new(knobs)),
        "yield" => Box::new(yielding::yielding(knobs)),
        "batch-look" => Box::new(batch_look::BatchLook::new(knobs.batch)),
        "look-cyl" => Box::new(look_cyl::LookCyl::new()),
        "c-look-cyl" => Box::new(c_look_cyl::CLookCyl::new()),
        "sstf-cyl" => Box::new(sstf_cyl::SstfCyl::new()),
        "priority-1" => Box::new(priority_1::priority_1(knobs)),
        "priority-2" => Box::new(priority_2::priority_2(knobs)),
        "3q" => Box::new(three_queues::three_queues(knobs)),
        _ => return None,
    })
}

/// How a policy that orders by block number files a job.
fn by_lbn<S>(id: JobId, job: &Job<S>) -> crate::sorted::Entry<()> {
    crate::sorted::Entry { key: job.rest().start.0, sequence: job.sequence, bias: 0, id, item: () }
}
