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

    /// From now on the device is given what follows before it is done with what is in service, where that may be.
    pub(crate) fn line_up(&mut self) {
        let is_told = self.admission.is_none() && !self.rules.classes.iter().any(|class| class.any_order);
        self.in_line = self.caps.depth > 1 && is_told && self.belief.expect_followers();
    }

    /// When a command would be given to an idle device that is served as one that is given now; nothing where it is too soon for one.
    fn find_turn(&self, now: Time) -> Option<Time> {
        match self.in_flight() {
            0 => Some(now),
            1 => self.belief.follower(now).filter(|follower| follower.due <= now).map(|follower| follower.given),
            _ => None,
        }
    }

    /// When the device is to be given what follows the command in flight, if anything waits that could.
    #[inline(always)]
    pub(crate) fn follower_due(&self) -> Option<Time> {
        if self.in_line { self.find_follower_due() } else { None }
    }

    #[inline(never)]
    fn find_follower_due(&self) -> Option<Time> {
        if self.in_flight() != 1 {
            return None;
        }
        let free = self.free.as_ref()?;
        let waits = free.held.is_some() || self.queue.top().is_some();
        self.belief.follower(free.looked).map(|follower| follower.due).filter(|due| waits && *due > free.looked)
    }

    /// Gives the device what it has room for, one request after the other, and what is read before each.
    #[inline(never)]
    pub(crate) fn serve_in_line(&mut self, now: Time, out: &mut Vec<Action>) {
        if let Some(free) = &mut self.free {
            free.looked = now;
        }
        while let Some(given) = self.find_turn(now) {
            if let Some(id) = self.free.as_ref().and_then(|free| free.held) {
                if !self.read_before(now, given, id, out) {
                    if !self.may_follow(id) {
                        return;
                    }
                    self.give_held(now, given, id, out);
                }
                continue;
            }
            if let Some(id) = self.flushes.front().copied() {
                if !self.is_idle() {
                    return;
                }
                self.flushes.pop_front();
                self.issue_whole::<false>(now, id, out);
                continue;
            }
            let Some(id) = self.take::<false>(given) else {
                if self.is_idle() {
                    self.serve_other_turn(now, out);
                }
                return;
            };
            self.hold(id, out);
        }
    }

    /// Whether a job may be given to the device behind a command in flight: what is done by memory alone overtakes it, and what is told
    /// of others, in whatever order, waits.
    fn may_follow(&self, id: JobId) -> bool {
        let buffers = self.belief.buffer().is_some();
        self.is_idle()
            || self.jobs.get(id).is_some_and(|job| match job.op {
                Op::Read => true,
                Op::Write { fua } => fua || !buffers,
                _ => false,
            })
    }

    /// The turn of a job has come: it is held while something else is read in its rotational delay.
    fn hold(&mut self, id: JobId, out: &mut Vec<Action>) {
        if let (Some(free), Some(job)) = (&mut self.free, self.jobs.get_mut(id)) {
            job.state = JobState::Serving;
            out.push(Action::Begin(job.request));
            free.held = Some(id);
        }
    }

    /// A job whose turn has come is held while something else is read in its rotational delay. Says whether it is.
    pub(crate) fn put_off(&mut self, now: Time, id: JobId, out: &mut Vec<Action>) -> bool {
        if self.caps.depth > 1 || !self.is_idle() {
            return false;
        }
        if !self.read_before(now, now, id, out) {
            self.expect_end(now, id);
            return false;
        }
        self.hold(id, out);
        true
    }

    /// Reads something in the rotational delay of a job whose turn has come, if there is anything. Says whether it does.
    pub(crate) fn read_before(&mut self, now: Time, given: Time, id: JobId, out: &mut Vec<Action>) -> bool {
        self.keep_followed();
        let Some(at) = self.find_free(given, id, u32::MAX).filter(|at| !self.is_read_already(*at)) else {
            return false;
        };
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
            return free.end_idleness(now);
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

    /// Whether a command in flight reads some of this.
    fn is_read_already(&self, at: Extent) -> bool {
        !self.is_idle() && self.flying().any(|(_, flying)| flying.at.start < at.end() && at.start < flying.at.end())
    }

    /// What is next given to the device follows what is in flight, if anything is.
    fn keep_followed(&mut self) {
        let is_followed = !self.is_idle();
        if let Some(free) = self.free.as_mut().filter(|_| is_followed) {
            free.keep_followed();
        }
    }

    /// Gives the device the job that was held.
    pub(crate) fn give_held(&mut self, now: Time, given: Time, id: JobId, out: &mut Vec<Action>) {
        self.keep_followed();
        self.expect_end(given, id);
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
        let (turn, behind) = (self.belief.turn(), self.in_flight());
        if let Some(free) = &mut self.free {
            free.land((now, turn), command.at, outcome, behind, out);
        }
        self.note_wanted();
    }
}
