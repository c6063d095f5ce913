//! Batched LOOK: the oldest `batch` requests are served in one sweep before any that came later
//! (the elevator of Semi-preemptible IO, batches of 40).

use super::{Beside, Kind, Manual, Needs, Policy};
use super::fcfs::Fcfs;
use super::look::Look;
use crate::predict::Predictor;
use crate::{Job, JobId, Jobs};
use block::{BadInput, Time};
use config::{Key, Section};

/// The batch of Semi-preemptible IO.
const BATCH: Key<u32> = Key::<u32>::within("batch", 1, 1 << 20).usually("40").about("Requests sorted together.");

/// The values of its keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    batch: u32,
}

impl Kind for Settings {
    const MANUAL: Manual = Manual {
        name: "batch-look",
        text: "The elevator in batches: the oldest requests, so many, are served in one sweep before any that came later (Semi-preemptible IO, batches of 40).",
        keys: &[BATCH.about],
        example: "policy = \"batch-look\"\nbatch = 20",
        needs: Needs::Any,
    };

    fn read(scheduler: &Section) -> Result<Settings, BadInput> {
        Ok(Settings { batch: scheduler.value(&BATCH)? })
    }

    fn make<P: Predictor + 'static>(&self, _: &Beside) -> Box<dyn Policy<P>> {
        Box::new(BatchLook::new(self.batch))
    }
}

pub(super) struct BatchLook {
    later: Fcfs,
    batch: Look,
    size: u32,
}

impl BatchLook {
    pub(super) fn new(size: u32) -> BatchLook {
        BatchLook { later: Fcfs::new(), batch: Look::new(), size: size.max(1) }
    }
}

impl<P: Predictor> Policy<P> for BatchLook {
    fn add(&mut self, id: JobId, job: &Job<P::Spot>, _: &P) {
        self.later.push(id, job);
    }

    fn remove(&mut self, id: JobId, job: &Job<P::Spot>, belief: &P) {
        if !self.batch.discard(job) {
            self.later.remove(id, job, belief);
        }
    }

    fn take(&mut self, now: Time, jobs: &Jobs<P::Spot>, belief: &P) -> Option<JobId> {
        if self.batch.is_empty() {
            for _ in 0..self.size {
                let Some(id) = Policy::<P>::take(&mut self.later, now, jobs, belief) else { break };
                if let Some(job) = jobs.get(id) {
                    self.batch.insert(id, job);
                }
            }
        }
        self.batch.next(belief.arm().0)
    }
}
