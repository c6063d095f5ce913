//! Two commands in the drive, of which the second waits for the first: its overhead has passed by then, but for what one that waited
//! has still (`queued` in the sheet).

use super::{Left, Profile};
use crate::predict::{Follower, Predictor};
use block::{Command, Outcome, Span, Time};
use disk::Spot;

/// What the end of a command in flight will tell, as [`Profile`] has it of the last one given.
#[derive(Clone, Debug)]
pub(super) struct Flight {
    before: Option<Left>,
    angle: u64,
    lag: Span,
    tells_phase: bool,
    issued: Time,
    soonest: Span,
    expected: Option<(Time, u64)>,
}

impl Profile {
    /// How a command would follow the one in flight.
    pub(super) fn find_follower(&self, now: Time) -> Option<Follower> {
        let goes_on = self.further.0 == self.issued;
        let passed = self.expected.map(|it| it.0).or(goes_on.then_some(self.further.1))?;
        let queued = self.overheads.queued?;
        let [read, write] = [self.overheads.read, self.overheads.write].map(|overhead| overhead.a(self.last));
        // One that has less overhead than it might have is late for nothing.
        let saved = read.min(write).less(queued);
        let given = Time(passed.0.saturating_sub(saved.0));
        // Twice the overhead: the drive is through with it, and few come in between.
        let due = Time(passed.0.saturating_sub(2 * read.max(write).0));
        // One that is late comes when it comes.
        let is_late = now.since(passed + self.lag) > Span(self.turn().0 / 64);
        (!is_late).then_some(Follower { due, given: given.max(now) })
    }

    /// A command was issued behind the one in flight.
    pub(super) fn add_follower(&mut self, now: Time, command: &Command, spot: Spot) {
        let given = self.find_follower(now).map_or(now, |follower| follower.given);
        self.followed = Some(self.take_flight());
        self.idle_since = given;
        self.note_issue(given, command, spot);
    }

    fn take_flight(&mut self) -> Flight {
        Flight {
            before: self.before.take(),
            angle: self.angle,
            lag: self.lag,
            tells_phase: self.tells_phase,
            issued: self.issued,
            soonest: self.soonest,
            expected: self.expected,
        }
    }

    fn put_flight(&mut self, flight: Flight) {
        let Flight { before, angle, lag, tells_phase, issued, soonest, expected } = flight;
        (self.before, self.angle, self.lag, self.tells_phase) = (before, angle, lag, tells_phase);
        (self.issued, self.soonest, self.expected) = (issued, soonest, expected);
    }

    /// The first of two in flight came back. Where the other leaves the arm is known already.
    pub(super) fn end_followed(&mut self, happened: Time, command: &Command, outcome: Outcome) {
        let Some(first) = self.followed.take() else { return self.note_completion(happened, command, outcome) };
        let (mut second, turn) = (self.take_flight(), self.phase.period_ns() as u64);
        // Where the first missed its sector, all that follows comes a revolution later, under the same angles.
        let passed = Time(happened.0.saturating_sub(first.lag.0));
        let late = first.expected.map_or(0, |(expected, _)| passed.since(expected).0);
        let missed = Span((late + turn / 2) / turn * turn);
        second.expected = second.expected.map(|(expected, wait)| (expected + missed, wait));
        if self.further.0 == second.issued {
            self.further.1 += missed;
        }
        self.put_flight(Flight { before: None, ..first });
        self.note_completion(happened, command, outcome);
        self.put_flight(second);
    }
}
