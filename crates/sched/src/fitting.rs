//! Reads that cost nothing, fitted in between the commands of requests: before a request whose turn has come, and while there is
//! none.

use crate::JobId;
use crate::board::{Board, Errand};
use crate::event::Action;
use crate::job::JobState;
use crate::predict::Predictor;
use block::{Command, Extent, Op, Outcome, Place, Span, Time, Verb};

/// Revolutions of a turn for the floor of what is wanted in any order.
const BRIEF: u64 = 2;

impl<P: Predictor> Board<P> {
    /// Gives the device a read of what is wanted in any order.
    pub(crate) fn read_for_free(&mut self, now: Time, at: Extent, out: &mut Vec<Action>) {
        // The drive reads on faster than short commands fetch.
        let streams = self.belief.arm() == at.start;
        let place = self.place_of_free(at, out);
        if let Some(free) = &mut self.free {
            free.is_flying = true;
        }
        self.send(now, Errand::Free, Verb::Read, at, place, out);
        if streams {
            self.belief.distrust();
        }
    }

    /// Where something is wanted: the read that comes before a job whose turn has come.
    pub(crate) fn find_free(&mut self, now: Time, id: JobId, most: u32) -> Option<Extent> {
        let (free, job) = (self.free.as_mut()?, self.jobs.get(id)?);
        free.find_before(&self.belief, now, job, most)
    }

    /// A job whose turn has come is held while something else is read in its rotational delay. Says whether it is.
    pub(crate) fn put_off(&mut self, now: Time, id: JobId, out: &mut Vec<Action>) -> bool {
        if self.caps.depth > 1 || !self.is_idle() {
            return false;
        }
        if !self.read_before(now, id, out) {
            self.expect_end(now, id);
            return false;
        }
        if let (Some(free), Some(job)) = (&mut self.free, self.jobs.get_mut(id)) {
            job.state = JobState::Serving;
            out.push(Action::Begin(job.request));
            free.held = Some(id);
        }
        true
    }

    /// Reads something in the rotational delay of a job whose turn has come, if there is anything. Says whether it does.
    pub(crate) fn read_before(&mut self, now: Time, id: JobId, out: &mut Vec<Action>) -> bool {
        let Some(at) = self.find_free(now, id, u32::MAX) else { return false };
        self.read_for_free(now, at, out);
        true
    }

    /// Reads what is wanted in any order while there is no request.
    #[inline(never)]
    pub(crate) fn read_in_idle_time(&mut self, now: Time, out: &mut Vec<Action>) {
        let (all, flies) = (self.jobs.len(), !self.is_idle());
        let Some(free) = &mut self.free else { return };
        let asked = all > free.requests.len();
        if asked || free.wanted_blocks().is_empty() {
            return free.end_idleness();
        }
        if !free.is_time_idle(now) || flies {
            return;
        }
        if let Some(at) = free.find_idle(&self.belief, now) {
            self.read_for_free(now, at, out);
        }
    }

    /// Has the class whose blocks are wanted in any order wait for its floor as long as any are.
    pub(crate) fn note_wanted(&mut self) {
        let (Some(free), Some(turns)) = (&self.free, &mut self.queue.turns) else { return };
        if free.wanted_blocks().is_empty() {
            turns.end_work();
        } else {
            turns.begin_work(free.payer().0, Span(self.belief.turn().0.saturating_mul(BRIEF)));
        }
    }

    /// Does what a turn is for that is no request's: has the device write back what a class has in its buffer, or read what is
    /// wanted in any order.
    pub(crate) fn serve_other_turn(&mut self, now: Time, out: &mut Vec<Action>) {
        if self.drain(now, out) {
            return;
        }
        let owed = self.queue.turns.as_mut().is_some_and(|turns| turns.take_work());
        let Some(free) = self.free.as_mut().filter(|free| owed && !free.is_flying) else { return };
        if let Some(at) = free.find_for_floor(&self.belief, now) {
            self.read_for_free(now, at, out);
        }
    }

    /// Gives the device the job that was held.
    pub(crate) fn give_held(&mut self, now: Time, id: JobId, out: &mut Vec<Action>) {
        self.expect_end(now, id);
        if let Some(free) = &mut self.free {
            free.held = None;
        }
        self.issue_whole::<false>(now, id, out);
    }

    /// Notes when a job that is given to the device is to come back.
    fn expect_end(&mut self, now: Time, id: JobId) {
        let (Some(free), Some(job)) = (&mut self.free, self.jobs.get(id)) else { return };
        free.expect(match job.op {
            Op::Read => self.belief.ending(now, job.rest(), None),
            _ => None,
        });
    }

    /// A command for wanted blocks came back.
    pub(crate) fn land_free(&mut self, now: Time, command: &Command, outcome: Outcome, out: &mut Vec<Action>) {
        if let Some(free) = &mut self.free {
            free.is_flying = false;
        }
        if let Place::Request(..) = command.place {
            return self.land_piece(now, command, outcome, out);
        }
        let turn = self.belief.turn();
        if let Some(free) = &mut self.free {
            free.land((now, turn), command.at, outcome, out);
        }
        self.note_wanted();
    }
}
