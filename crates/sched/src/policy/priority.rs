//! Scheduling by criticality (004 §6.1, §6.3): requests of a priority above 0, which someone waits for or soon will, go
//! before the others. The high queue goes by shortest seek, the low one by LOOK.
//!
//! What has waited in the low queue as long as the time-out moves to the high one; with three queues, what has waited
//! half as long moves to a queue in between, which goes by LOOK too. With a time-out of 0 all go by shortest seek;
//! without one the low queue waits as long as it must.

use super::Policy;
use super::cylinders::{Cylinders, Look};
use super::fcfs::Fcfs;
use crate::predict::Predictor;
use crate::{Job, JobId, Jobs};
use block::{Span, Time};
use config::Key;

pub(super) const TIMEOUT: Key<Option<Span>> = Key::<Option<Span>>::span_or("timeout", "never").usually("never").about(
    "What has waited so long among the less urgent goes among the urgent; where there is a queue between the two (`3q`), what has \
     waited half so long goes there.",
);

/// Where the sweep of the low queue goes on after requests of the high one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resume {
    /// Where it was left.
    WhereLeft,
    /// On the nearest cylinder on which one of the low queue waits.
    Nearest,
}

/// A sweep that is interrupted and goes on.
struct Interrupted {
    look: Look,
    /// The cylinder of the last one taken.
    at: u64,
    interrupted: bool,
    resume: Resume,
}

pub(super) struct Priority {
    high: Cylinders,
    /// What has waited half the time-out.
    late: Interrupted,
    low: Interrupted,
    timeout: Option<Span>,
    /// When the low queue becomes late, of three queues.
    half: Option<Span>,
    /// The low queue in order of arrival, and the late one.
    oldest: Fcfs,
    oldest_late: Fcfs,
}

impl Interrupted {
    fn new(resume: Resume) -> Interrupted {
        Interrupted { look: Look::new(), at: 0, interrupted: false, resume }
    }

    fn take<P: Predictor>(&mut self, belief: &P) -> Option<JobId> {
        let from = match self.resume {
            Resume::Nearest if self.interrupted => self.look.waiting.nearest(Cylinders::arm(belief))?,
            _ => self.at,
        };
        let (id, cylinder) = self.look.take(from)?;
        (self.at, self.interrupted) = (cylinder, false);
        Some(id)
    }
}

impl Priority {
    pub(super) fn new(resume: Resume, timeout: Option<Span>) -> Priority {
        Priority {
            high: Cylinders::new(),
            late: Interrupted::new(resume),
            low: Interrupted::new(resume),
            timeout,
            half: None,
            oldest: Fcfs::new(),
            oldest_late: Fcfs::new(),
        }
    }

    pub(super) fn with_three_queues(self) -> Priority {
        Priority { half: self.timeout.map(|timeout| Span(timeout.0 / 2)), ..self }
    }

    /// Moves what has waited too long.
    fn time_out<P: Predictor>(&mut self, now: Time, jobs: &Jobs<P::Spot>, belief: &P) {
        let Some(timeout) = self.timeout else { return };
        let moves = self.half.unwrap_or(timeout);
        while let Some((id, job)) = overdue(&mut self.oldest, &self.low, moves, now, jobs, belief) {
            self.low.look.waiting.remove(job, belief);
            if self.half.is_some() {
                self.late.look.waiting.add(id, job, belief);
                self.oldest_late.push(id, job);
            } else {
                self.high.add(id, job, belief);
            }
        }
        while let Some((id, job)) = overdue(&mut self.oldest_late, &self.late, timeout, now, jobs, belief) {
            self.late.look.waiting.remove(job, belief);
            self.high.add(id, job, belief);
        }
    }
}

/// The oldest of a queue, if it has waited so long.
fn overdue<'a, P: Predictor>(
    oldest: &mut Fcfs,
    queue: &Interrupted,
    limit: Span,
    now: Time,
    jobs: &'a Jobs<P::Spot>,
    belief: &P,
) -> Option<(JobId, &'a Job<P::Spot>)> {
    if queue.look.waiting.is_empty() {
        return None;
    }
    let id = oldest.front(jobs, |job| queue.look.waiting.holds(job, belief))?;
    let job = jobs.get(id)?;
    (now.since(job.arrived) >= limit).then_some((id, job))
}

impl<P: Predictor> Policy<P> for Priority {
    fn add(&mut self, id: JobId, job: &Job<P::Spot>, belief: &P) {
        if job.qos.priority > 0 {
            return self.high.add(id, job, belief);
        }
        self.low.look.waiting.add(id, job, belief);
        if self.timeout.is_some() {
            self.oldest.push(id, job);
        }
    }

    fn remove(&mut self, _: JobId, job: &Job<P::Spot>, belief: &P) {
        let queues = [&mut self.high, &mut self.late.look.waiting, &mut self.low.look.waiting];
        let held = queues.into_iter().any(|queue| queue.remove(job, belief));
        debug_assert!(held, "a job to be removed is held");
    }

    fn take(&mut self, now: Time, jobs: &Jobs<P::Spot>, belief: &P) -> Option<JobId> {
        self.time_out(now, jobs, belief);
        if let Some(cylinder) = self.high.nearest(Cylinders::arm(belief)) {
            (self.late.interrupted, self.low.interrupted) = (true, true);
            return self.high.take(cylinder);
        }
        if let Some(id) = self.late.take(belief) {
            self.low.interrupted = true;
            return Some(id);
        }
        self.low.take(belief)
    }
}
