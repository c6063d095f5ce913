//! A policy from outside of this crate, such as one in Python: it sees all that wait, as plain numbers, and says which is next.
//!
//! No file names it; whoever embeds the simulator puts it in the place of the file's policy.

use super::{Manual, Needs, Policy};
use crate::predict::Predictor;
use crate::{Job, JobId, Jobs};
use block::{Direction, Extent, Time};
use std::fmt;

/// A request that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingJob {
    /// What is left of it.
    pub rest: Extent,
    /// Whether it reads or writes.
    pub direction: Direction,
    /// When it came to the scheduler.
    pub arrived: Time,
    /// Its class, by number.
    pub class: u8,
    /// The priority it has.
    pub priority: u8,
}

/// Chooses among those that wait.
pub trait Chooses {
    /// The place of the next one in `waiting`, which is not empty and in the order of submission. The last command ended at the
    /// block `arm`. A place past the end is the last.
    fn choose(&mut self, now: Time, arm: u64, waiting: &[WaitingJob]) -> usize;
}

/// Makes what chooses, one for each device of each run.
#[derive(Clone, Copy)]
pub struct Outside(pub &'static (dyn Fn() -> Box<dyn Chooses> + Send + Sync));

impl fmt::Debug for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Outside")
    }
}

impl PartialEq for Outside {
    fn eq(&self, other: &Outside) -> bool {
        std::ptr::addr_eq(self.0, other.0)
    }
}

impl Outside {
    pub(super) const MANUAL: Manual = Manual {
        name: "outside",
        text: "A policy that was given by whoever embeds the simulator.",
        keys: &[],
        example: "",
        needs: Needs::Nothing,
    };

    pub(super) fn make<P: Predictor + 'static>(self) -> Box<dyn Policy<P>> {
        Box::new(OutsidePolicy { chooses: (self.0)(), waiting: Vec::new(), shown: Vec::new() })
    }
}

struct OutsidePolicy {
    chooses: Box<dyn Chooses>,
    /// In the order of submission.
    waiting: Vec<(u64, JobId)>,
    /// The same as it is shown.
    shown: Vec<WaitingJob>,
}

impl<P: Predictor> Policy<P> for OutsidePolicy {
    fn add(&mut self, id: JobId, job: &Job<P::Spot>, _: &P) {
        let at = self.waiting.partition_point(|(sequence, _)| *sequence < job.sequence);
        self.waiting.insert(at, (job.sequence, id));
        let (direction, qos) = (job.op.direction(), job.qos);
        let shown =
            WaitingJob { rest: job.rest(), direction, arrived: job.arrived, class: qos.class, priority: qos.priority };
        self.shown.insert(at, shown);
    }

    fn remove(&mut self, _: JobId, job: &Job<P::Spot>, _: &P) {
        if let Ok(at) = self.waiting.binary_search_by_key(&job.sequence, |(sequence, _)| *sequence) {
            self.waiting.remove(at);
            self.shown.remove(at);
        }
    }

    fn take(&mut self, now: Time, _: &Jobs<P::Spot>, belief: &P) -> Option<JobId> {
        let last = self.waiting.len().checked_sub(1)?;
        let at = self.chooses.choose(now, belief.arm().0, &self.shown).min(last);
        self.shown.remove(at);
        Some(self.waiting.remove(at).1)
    }
}
