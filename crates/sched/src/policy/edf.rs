//! Earliest deadline first (Liu and Layland, JACM 20(1), 1973), over the deadlines of requests: time limits that a system
//! estimates (004 §3.1), or those of a workload. What has none goes by LOOK, as time-noncritical requests do (004 §6.1).
//!
//! Deadlines that lie within `near` of the earliest are taken for equal, and go by shortest seek (SCAN-EDF: Reddy and Wyllie,
//! ACM Multimedia 1993). While the earliest lies farther off than `spare`, what has none goes first: a request that ends just
//! before its time limit is worth as much as one that ends at once.

use super::cylinders::{Cylinders, Look, key};
use super::{Beside, Kind, Manual, Needs, Policy};
use crate::ordered::{Entry, Ordered};
use crate::predict::Predictor;
use crate::{Job, JobId, Jobs};
use block::{BadInput, Span, Time};
use config::{Key, Section};

const NEAR: Key<Span> = Key::<Span>::span("near")
    .usually("0s")
    .about("Requests whose deadlines lie within this of the earliest go by shortest seek.");
const SPARE: Key<Option<Span>> = Key::<Option<Span>>::span_or("spare", "never")
    .usually("never")
    .about("While the earliest deadline is farther off than this, requests without one go first.");

/// The values of its keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    near: Span,
    spare: Option<Span>,
}

impl Kind for Settings {
    const MANUAL: Manual = Manual {
        name: "edf",
        text: "Earliest deadline first; requests without a deadline after them, by LOOK. With `near` it is SCAN-EDF. With `[system] limits` processes have deadlines: the times by which somebody is likely to wait (The Process-Flow Model, Section 3.1).",
        keys: &[NEAR.about, SPARE.about],
        example: "policy = \"edf\"\nnear = \"5ms\"",
        needs: Needs::Any,
    };

    fn read(scheduler: &Section) -> Result<Settings, BadInput> {
        Ok(Settings { near: scheduler.value(&NEAR)?, spare: scheduler.value(&SPARE)? })
    }

    fn make<P: Predictor + 'static>(&self, _: &Beside) -> Box<dyn Policy<P>> {
        Box::new(Edf { settings: *self, due: Ordered::new(), rest: Look::new() })
    }
}

struct Edf {
    settings: Settings,
    /// What has a deadline, by that.
    due: Ordered<DuePlace>,
    rest: Look,
}

/// Where a request lies.
#[derive(Clone, Copy)]
struct DuePlace {
    cylinder: u64,
    start: u64,
}

impl Edf {
    /// Gives up the nearest of those that are due about as soon as the first.
    fn take_due<P: Predictor>(&mut self, belief: &P) -> Option<JobId> {
        let first = self.due.at_or_after(0)?;
        if self.settings.near == Span::ZERO {
            return Some(self.due.take(first));
        }
        let earliest = self.due.at(first).key;
        let until = earliest.saturating_add(self.settings.near.0).saturating_add(1);
        let arm = Cylinders::arm(belief);
        let rank = |it: &&Entry<DuePlace>| (it.item.cylinder.abs_diff(arm), it.item.start, it.sequence);
        let next = self.due.within(earliest, until).min_by_key(rank)?;
        let (key, sequence) = (next.key, next.sequence);
        self.due.remove(key, sequence)
    }

    /// Whether what has no deadline may go first.
    fn has_time(&self, now: Time) -> bool {
        let Some((spare, first)) = self.settings.spare.zip(self.due.at_or_after(0)) else { return false };
        Time(self.due.at(first).key).since(now) > spare
    }
}

impl<P: Predictor> Policy<P> for Edf {
    fn add(&mut self, id: JobId, job: &Job<P::Spot>, belief: &P) {
        match job.qos.deadline {
            Some(deadline) => {
                let (place, low) = key(belief, job.rest(), job.spot);
                let item = DuePlace { cylinder: place >> low, start: job.rest().start.0 };
                self.due.add(Entry { key: deadline.0, sequence: job.sequence, id, item });
            }
            None => self.rest.waiting.add(id, job, belief),
        }
    }

    fn remove(&mut self, _: JobId, job: &Job<P::Spot>, belief: &P) {
        let held = match job.qos.deadline {
            Some(deadline) => self.due.remove(deadline.0, job.sequence).is_some(),
            None => self.rest.waiting.remove(job, belief),
        };
        debug_assert!(held, "a job to be removed is held");
    }

    fn take(&mut self, now: Time, _: &Jobs<P::Spot>, belief: &P) -> Option<JobId> {
        if !self.rest.waiting.is_empty() && (self.due.is_empty() || self.has_time(now)) {
            return self.rest.take(Cylinders::arm(belief)).map(|(id, _)| id);
        }
        self.take_due(belief)
    }
}
