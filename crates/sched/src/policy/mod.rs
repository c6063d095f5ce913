//! Policies: in which order waiting jobs are served. One file each.

mod asatf;
mod batch_look;
mod c_look;
mod fcfs;
mod greedy;
mod look;
mod satf;
mod smtf;
mod sstf;

pub use smtf::Learn;

use crate::predict::Predictor;
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

    /// Candidates examined so far, where the policy weighs candidates.
    fn examined(&self) -> u64 {
        0
    }
}

/// The names of all policies.
pub const NAMES: [&str; 8] = ["fcfs", "look", "c-look", "sstf", "satf", "asatf", "smtf", "batch-look"];

/// What a policy may be told; each reads only what concerns it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knobs {
    /// `asatf`, `smtf`: what a request gains over another by having waited longer, as a share of the time waited.
    pub age_weight: f64,
    /// `asatf`, `smtf`: whatever has waited longer than this goes first, oldest first.
    pub age_limit: Option<Span>,
    /// `batch-look`: requests sorted together.
    pub batch: u32,
    /// `smtf`: what is done about requests whose time is not known.
    pub learn: Learn,
    /// `smtf`: the policy it learns under.
    pub base: &'static str,
    /// `smtf`, *Online-Set*: by what share of its time another request must be better than what the base would pick.
    pub margin: f64,
}

impl Default for Knobs {
    fn default() -> Knobs {
        Knobs { age_weight: 0.006, age_limit: None, batch: 40, learn: Learn::Set, base: "sstf", margin: 0.0 }
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
        "batch-look" => Box::new(batch_look::BatchLook::new(knobs.batch)),
        _ => return None,
    })
}

/// How a policy that orders by block number files a job.
fn by_lbn<S>(id: JobId, job: &Job<S>) -> crate::sorted::Entry<()> {
    crate::sorted::Entry { key: job.rest().start.0, sequence: job.sequence, bias: 0, id, item: () }
}
