//! Which outstanding requests overlap: those where either writes keep the order in which they were submitted.
//!
//! While nobody writes, nothing is kept. A lookup walks the requests that begin within the longest outstanding
//! extent before the range asked about.

use crate::sorted::{Entry, Sorted};
use crate::{Job, JobId, Jobs};

#[derive(Clone, Copy, Debug)]
struct Reach {
    end: u64,
    writes: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Overlap {
    outstanding: Sorted<Reach>,
    longest: u64,
    watching: bool,
}

impl Overlap {
    pub(crate) fn new() -> Overlap {
        Overlap { outstanding: Sorted::new(), longest: 0, watching: false }
    }

    /// A job was submitted; `jobs` already holds it.
    pub(crate) fn add<S: Copy>(&mut self, id: JobId, job: &Job<S>, jobs: &Jobs<S>) {
        if self.watching {
            self.insert(id, job);
        } else if job.op.writes() {
            self.watching = true;
            for (id, job) in jobs.iter().filter(|(_, job)| job.at.blocks > 0) {
                self.insert(id, job);
            }
        }
    }

    fn insert<S>(&mut self, id: JobId, job: &Job<S>) {
        if self.outstanding.is_empty() {
            self.longest = 0;
        }
        self.longest = self.longest.max(u64::from(job.at.blocks));
        let item = Reach { end: job.at.end().0, writes: job.op.writes() };
        self.outstanding.add(Entry { key: job.at.start.0, sequence: job.sequence, bias: 0, id, item });
    }

    /// A job ended.
    pub(crate) fn remove<S>(&mut self, job: &Job<S>) {
        if self.watching {
            self.outstanding.remove(job.at.start.0, job.sequence);
        }
    }

    /// Whether a job must wait for one submitted before it.
    pub(crate) fn must_wait<S>(&self, job: &Job<S>) -> bool {
        if !self.watching || self.outstanding.is_empty() {
            return false;
        }
        let (start, end) = (job.at.start.0, job.at.end().0);
        self.outstanding.within(start.saturating_sub(self.longest), end).any(|other| {
            other.sequence < job.sequence && other.item.end > start && (other.item.writes || job.op.writes())
        })
    }
}
