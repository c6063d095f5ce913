//! What is believed of a command that came back: the hot path of each. Where the next of a stream follows at once, what both tell is
//! noted together.

use super::{Profile, REVIEW, WRITE_BACK};
use crate::predict::Predictor;
use crate::punctual::Arrival;
use block::{Command, Direction, Outcome, Span, Time};

impl Profile {
    /// A read that was alone in the drive came back well, and that of what lies behind it was issued at once.
    #[inline(always)]
    pub(super) fn go_further(&mut self, now: Time, before: &Command, next: &Command) {
        if self.dirty || !self.unwritten.is_empty() || self.in_flight != 1 {
            return self.note_one_by_one(now, before, next);
        }
        (self.idle_since, self.last) = (now, Direction::Read);
        if self.tells_phase {
            self.learn_passage(now);
        }
        if !self.follows(next.at, Direction::Read) {
            self.in_flight = 0;
            return self.note_issue(now, next, self.spot(next.at));
        }
        (self.issued, self.was_buffered, self.before) = (now, false, None);
        self.unwritten.end_row();
        self.issued_further(now, next.at);
    }

    /// The same where there may be something to write back.
    #[inline(never)]
    fn note_one_by_one(&mut self, now: Time, before: &Command, next: &Command) {
        self.note_completion(now, before, Outcome::Ok);
        self.note_issue(now, next, self.spot(next.at));
    }

    /// What a command tells of the phase that came back then.
    #[inline(always)]
    pub(super) fn learn_passage(&mut self, happened: Time) {
        if self.is_early(happened) {
            // The drive had it in its cache, and its arm stayed where it was.
            if let Some(before) = self.before.take() {
                self.left = before;
            }
            return;
        }
        let passed = Time(happened.0.saturating_sub(self.lag.0));
        if self.phase.add_passage(passed, self.angle)
            && self.undisturbed > WRITE_BACK
            && let Some((expected, wait)) = self.expected
        {
            let late = passed.since(expected) > Span(self.mechanics.rotation.period().0 / 2);
            self.lateness.add_arrival(wait, if late { Arrival::Late } else { Arrival::InTime });
        }
        self.reviewed += 1;
        if self.reviewed >= REVIEW {
            self.reviewed = 0;
            let period = self.phase.period_ns();
            if self.motion.is_stale(period) {
                self.motion.retime(&self.mechanics.switches, &self.overheads, period);
            }
        }
    }
}
