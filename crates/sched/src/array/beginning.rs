//! When a task is started. One that fails as it starts, as no disk holds what it needs, makes room for others and ends what others
//! waited for: these are started after it, not within, since there may be as many as the array keeps.

use super::Array;
use crate::JobId;
use crate::event::{Action, Wait};
use crate::predict::Predictor;
use block::Op;
use std::collections::VecDeque;

/// How a task is started.
#[derive(Clone, Copy, Debug)]
pub(super) enum Begin {
    /// In order with others, or it waits for the last one before it that it meets.
    InOrder(JobId),
    /// At once: it was started before, and failed.
    Again(JobId),
}

/// Tasks to be started once the one that is being started has been.
#[derive(Debug, Default)]
pub(super) struct Beginnings {
    next: VecDeque<Begin>,
    within: bool,
}

impl<P: Predictor> Array<P> {
    /// Starts a task, or has it wait for the last one before it that it meets.
    pub(super) fn start_or_hold(&mut self, id: JobId, out: &mut Vec<Action>) {
        self.begin_task(Begin::InOrder(id), out);
    }

    /// Starts a task, and whatever can be started because of that.
    pub(super) fn begin_task(&mut self, how: Begin, out: &mut Vec<Action>) {
        if self.beginnings.within {
            return self.beginnings.next.push_back(how);
        }
        self.beginnings.within = true;
        let mut next = Some(how);
        while let Some(how) = next {
            match how {
                Begin::InOrder(id) => self.start_in_order(id, out),
                Begin::Again(id) => {
                    if let Some(job) = self.tasks.get(id).copied() {
                        self.start(id, &job, out);
                    }
                }
            }
            next = self.beginnings.next.pop_front();
        }
        self.beginnings.within = false;
    }

    /// Starts a task, or has it wait for the last one before it that it meets.
    fn start_in_order(&mut self, id: JobId, out: &mut Vec<Action>) {
        let Some(mut job) = self.tasks.get(id).copied() else { return };
        if self.overlap.hold(id, &job, &mut self.tasks) {
            return self.say_wait(id, Wait::Overlap, out);
        }
        if self.cache.is_some() && job.op == Op::Read && self.read_from_cache(id, out) {
            return;
        }
        let changes = self.orders_rows && !matches!(job.op, Op::Read | Op::Move);
        if !job.spot.by_rows && (changes || self.misses(&job)) {
            self.by_rows(id);
            let Some(changed) = self.tasks.get(id).copied() else { return };
            job = changed;
        }
        if job.spot.by_rows {
            for rows in self.of_rows(&job) {
                if self.rows.hold_for_served(id, &rows, &mut self.tasks) {
                    return self.say_wait(id, Wait::Overlap, out);
                }
            }
        }
        self.start(id, &job, out);
    }
}
