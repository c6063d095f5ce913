//! Who is held behind an earlier request that it overlaps waits for that one's turn: so the earlier one is as urgent as whoever
//! waits for it (priority inheritance: Sha, Rajkumar and Lehoczky, IEEE ToC 39(9), 1990).
//!
//! Handed on are the priority, and the deadline where that is no more than a time limit: a class whose requests are dropped at a
//! deadline, or are worth less towards it, keeps its own. The class itself stays, since it is what pays.

use crate::board::Board;
use crate::job::JobState;
use crate::predict::Predictor;
use crate::{Job, JobId};
use block::Qos;

impl<P: Predictor> Board<P> {
    /// Makes those that a held job waits for as urgent as it is: the last earlier one that it overlaps, what that one waits for,
    /// and so on.
    #[inline(never)]
    pub(crate) fn hand_on_urgency(&mut self, id: JobId) {
        let Some(Job { mut state, mut qos, .. }) = self.jobs.get(id).copied() else { return };
        while let JobState::Held(blocker) = state {
            let Some(other) = self.jobs.get(blocker) else { return };
            qos = self.hasten(other.qos, qos);
            if qos == other.qos {
                return;
            }
            state = other.state;
            self.alter(blocker, |job| job.qos = qos);
        }
    }

    /// What a request is worth that one of the other worth waits for.
    fn hasten(&self, its: Qos, waiter: Qos) -> Qos {
        let keeps = self.rules.class(its.class).worth.curve.falls();
        let sooner = its.deadline.into_iter().chain(waiter.deadline).min();
        let deadline = if keeps { its.deadline } else { sooner };
        Qos { priority: its.priority.max(waiter.priority), deadline, ..its }
    }
}
