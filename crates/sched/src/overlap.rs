//! Which outstanding requests overlap: those where either writes keep the order in which they were submitted.
//!
//! While nobody writes, nothing is kept. Extents are filed by length, so that a look-up need not reach back
//! further than the longest of a class: one long request does not make all look-ups long.
//!
//! **Overlap order and deadlines belong to the core**, or simulation and service would differ. A flush has no place
//! on the medium and goes ahead of the queue.

use crate::job::JobState;
use crate::sorted::{Entry, Sorted};
use crate::{Job, JobId, Jobs};
use block::{Extent, Op};

/// Classes of length: up to 8, 64, 512 … blocks, and the rest.
const CLASSES: usize = 6;

#[derive(Clone, Copy, Debug)]
struct Reach {
    end: u64,
    writes: bool,
}

#[derive(Clone, Debug)]
struct Class {
    outstanding: Sorted<Reach>,
    /// Longest extent since the class was last empty.
    longest: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Overlap {
    classes: [Class; CLASSES],
    watching: bool,
}

fn class_of(blocks: u32) -> usize {
    (blocks.max(1).div_ceil(8).next_power_of_two().trailing_zeros().div_ceil(3) as usize).min(CLASSES - 1)
}

impl Overlap {
    pub(crate) fn new() -> Overlap {
        let class = || Class { outstanding: Sorted::new(), longest: 0 };
        Overlap { classes: std::array::from_fn(|_| class()), watching: false }
    }

    /// One that keeps all that is added from the beginning.
    pub(crate) fn watching() -> Overlap {
        Overlap { watching: true, ..Overlap::new() }
    }

    /// Whether a job that does this has to be added, and may have to wait.
    #[inline(always)]
    pub(crate) fn watches(&self, op: Op) -> bool {
        self.watching || op.writes()
    }

    /// A job was submitted; `jobs` already holds it.
    #[inline(always)]
    pub(crate) fn add<S: Copy>(&mut self, id: JobId, job: &Job<S>, jobs: &Jobs<S>) {
        if self.watches(job.op) {
            self.watch(id, job, jobs);
        }
    }

    /// The same where somebody writes, or has written.
    #[inline(never)]
    fn watch<S: Copy>(&mut self, id: JobId, job: &Job<S>, jobs: &Jobs<S>) {
        if self.watching {
            return self.insert(id, job);
        }
        self.watching = true;
        for (id, job) in jobs.iter().filter(|(_, job)| job.at.blocks > 0) {
            self.insert(id, job);
        }
    }

    fn insert<S>(&mut self, id: JobId, job: &Job<S>) {
        let class = &mut self.classes[class_of(job.at.blocks)];
        if class.outstanding.is_empty() {
            class.longest = 0;
        }
        class.longest = class.longest.max(u64::from(job.at.blocks));
        let item = Reach { end: job.at.end().0, writes: job.op.writes() };
        class.outstanding.add(Entry { key: job.at.start.0, sequence: job.sequence, bias: 0, id, item });
    }

    /// Forgets a job that ended.
    #[inline(always)]
    pub(crate) fn remove<S>(&mut self, job: &Job<S>) {
        if self.watching {
            self.unwatch(job.at, job.sequence);
        }
    }

    #[inline(never)]
    fn unwatch(&mut self, at: Extent, sequence: u64) {
        self.classes[class_of(at.blocks)].outstanding.remove(at.start.0, sequence);
    }

    /// Whether a write outstanding meets these blocks.
    pub(crate) fn writes(&self, at: Extent) -> bool {
        let (start, end) = (at.start.0, at.end().0);
        self.watching
            && self.classes.iter().filter(|class| !class.outstanding.is_empty()).any(|class| {
                let mut near = class.outstanding.within(start.saturating_sub(class.longest), end);
                near.any(|other| other.item.writes && other.item.end > start)
            })
    }

    /// Requests outstanding that meet these blocks, each after its number in the order in which they came; nothing where that
    /// is not watched.
    pub(crate) fn near(&self, at: Extent) -> impl Iterator<Item = (u64, JobId)> {
        let (start, end) = (at.start.0, at.end().0);
        let near = self
            .classes
            .iter()
            .flat_map(move |class| class.outstanding.within(start.saturating_sub(class.longest), end));
        near.filter(move |other| other.item.end > start).map(|other| (other.sequence, other.id))
    }

    /// Has a job wait for the last earlier one that it must wait for; false, and queued, if there is none.
    #[inline(always)]
    pub(crate) fn hold<S: Copy>(&self, id: JobId, job: &Job<S>, jobs: &mut Jobs<S>) -> bool {
        self.hold_for(self.blocker(job), id, job, jobs)
    }

    /// The same, but it waits for those that are served already, too, though they came after it.
    pub(crate) fn hold_for_served<S: Copy>(&self, id: JobId, job: &Job<S>, jobs: &mut Jobs<S>) -> bool {
        let is_served = |other: JobId| jobs.get(other).is_some_and(|job| job.state == JobState::Serving);
        let (start, end) = (job.at.start.0, job.at.end().0);
        let near =
            self.classes.iter().flat_map(|class| class.outstanding.within(start.saturating_sub(class.longest), end));
        let served = near.filter(|other| other.id != id && other.item.end > start && is_served(other.id));
        let served = served.filter(|other| other.item.writes || job.op.writes()).map(|other| other.id).next();
        self.hold_for(served.or_else(|| self.blocker(job)), id, job, jobs)
    }

    #[inline]
    fn hold_for<S: Copy>(&self, blocker: Option<JobId>, id: JobId, job: &Job<S>, jobs: &mut Jobs<S>) -> bool {
        if blocker.is_none() && job.state == JobState::Queued {
            return false;
        }
        let next = blocker.and_then(|blocker| jobs.get_mut(blocker)?.first_held.replace(id));
        if let Some(job) = jobs.get_mut(id) {
            (job.state, job.next_held) = (blocker.map_or(JobState::Queued, JobState::Held), next);
        }
        blocker.is_some()
    }

    /// The last job submitted before this one that it must wait for.
    #[inline(always)]
    pub(crate) fn blocker<S>(&self, job: &Job<S>) -> Option<JobId> {
        if self.watching { self.find_blocker(job) } else { None }
    }

    #[inline(never)]
    fn find_blocker<S>(&self, job: &Job<S>) -> Option<JobId> {
        let (start, end) = (job.at.start.0, job.at.end().0);
        let occupied = self.classes.iter().filter(|class| !class.outstanding.is_empty());
        occupied
            .flat_map(|class| class.outstanding.within(start.saturating_sub(class.longest), end))
            .filter(|other| other.sequence < job.sequence && other.item.end > start)
            .filter(|other| other.item.writes || job.op.writes())
            .max_by_key(|other| other.sequence)
            .map(|other| other.id)
    }
}

/// Takes a held job from the list of the one it waits for.
pub(crate) fn let_go<S: Copy>(id: JobId, blocker: JobId, next: Option<JobId>, jobs: &mut Jobs<S>) {
    let Some(blocker) = jobs.get_mut(blocker) else { return };
    if blocker.first_held == Some(id) {
        blocker.first_held = next;
        return;
    }
    let mut at = blocker.first_held;
    while let Some(job) = at.and_then(|at| jobs.get_mut(at)) {
        if job.next_held == Some(id) {
            job.next_held = next;
            return;
        }
        at = job.next_held;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_grow_by_eight() {
        let classes: Vec<usize> = [1, 8, 9, 64, 65, 512, 513, 4096, 4097, 32768, u32::MAX].map(class_of).into();
        assert_eq!(classes, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5]);
    }
}
