//! First come, first served.

use super::{Beside, Kind, Manual, Needs, Policy};
use crate::predict::Predictor;
use crate::job::JobState;
use crate::{Job, JobId, Jobs};
use block::Time;
use std::collections::VecDeque;
use block::BadInput;
use config::Section;

/// The policy has no keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings;

impl Kind for Settings {
    const MANUAL: Manual = Manual {
        name: "fcfs",
        text: "First come, first served. What a disk does that nobody schedules; the baseline of every comparison.",
        keys: &[],
        example: "policy = \"fcfs\"",
        needs: Needs::Nothing,
    };

    fn read(_: &Section) -> Result<Settings, BadInput> {
        Ok(Settings)
    }

    fn make<P: Predictor + 'static>(&self, _: &Beside) -> Box<dyn Policy<P>> {
        Box::new(Fcfs::new())
    }
}

/// A queue. Jobs taken out of turn are passed over when their turn comes.
pub(crate) struct Fcfs {
    queue: VecDeque<(JobId, u64)>,
}

impl Fcfs {
    pub(crate) fn new() -> Fcfs {
        Fcfs { queue: VecDeque::new() }
    }

    pub(crate) fn push<S>(&mut self, id: JobId, job: &Job<S>) {
        if self.queue.back().is_none_or(|(_, last)| *last < job.sequence) {
            self.queue.push_back((id, job.sequence));
            return;
        }
        // A job that was interrupted, or waited for one it overlaps, comes late but keeps its turn.
        if self.queue.front().is_some_and(|(_, first)| job.sequence < *first) {
            self.queue.push_front((id, job.sequence));
            return;
        }
        let at = self.queue.iter().rposition(|(_, sequence)| *sequence < job.sequence).map_or(0, |i| i + 1);
        self.queue.insert(at, (id, job.sequence));
    }

    /// Entries, those of jobs taken out of turn among them.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }

    /// Takes out what is in front.
    pub(super) fn pop(&mut self) {
        self.queue.pop_front();
    }

    /// The first that is still `held` of those that wait.
    pub(crate) fn front<S: Copy>(&mut self, jobs: &Jobs<S>, held: impl Fn(&Job<S>) -> bool) -> Option<JobId> {
        let waits = |job: &Job<S>, sequence| job.sequence == sequence && job.state == JobState::Queued;
        let held = |id, sequence| jobs.get(id).is_some_and(|job| waits(job, sequence) && held(job));
        // Those served out of turn behind a front that is not: kept in proportion to those that wait.
        if self.queue.len() > 64 && self.queue.len() > 64 + 2 * jobs.len() as usize {
            self.queue.retain(|(id, sequence)| held(*id, *sequence));
        }
        while let Some((id, sequence)) = self.queue.front().copied() {
            if held(id, sequence) {
                return Some(id);
            }
            self.queue.pop_front();
        }
        None
    }
}

impl<P: Predictor> Policy<P> for Fcfs {
    fn add(&mut self, id: JobId, job: &Job<P::Spot>, _: &P) {
        self.push(id, job);
    }

    fn remove(&mut self, id: JobId, job: &Job<P::Spot>, _: &P) {
        // Rare: a cancelled or dropped job.
        self.queue.retain(|entry| *entry != (id, job.sequence));
    }

    fn take(&mut self, _: Time, jobs: &Jobs<P::Spot>, _: &P) -> Option<JobId> {
        let id = self.front(jobs, |_| true)?;
        self.queue.pop_front();
        Some(id)
    }

    fn pass(&mut self, _: &Job<P::Spot>, _: &P) -> bool {
        true
    }
}
