//! What is believed of a command when it is issued: the hot path of each. Most are reads that go on nowhere: for these all is
//! worked out in one place, without what only others need.

use super::{Approach, Left, Profile, ReadAhead};
use block::{Command, Direction, Extent, Span, Time};
use disk::{Passage, Spin, Spot};

impl Profile {
    /// What a transfer given now comes to: from when on its first block may pass, how its blocks pass, and by how much it comes
    /// back later.
    #[inline(always)]
    pub(super) fn foresee(&self, now: Time, at: Extent, spot: Spot, direction: Direction) -> (Time, Passage, Span) {
        let arrived = self.arrival(now, at, spot, direction);
        if direction.writes() {
            let passage = self.mechanics.pass(&self.phase, arrived, spot, at, Direction::Write);
            let lag = self.way.write_lag(at.blocks, &passage);
            return (arrived, passage, lag);
        }
        let (passage, lag) = self.way.read(&self.mechanics, &self.phase, arrived, spot, at, now);
        (arrived, passage, lag)
    }

    /// The way to a request, were the arm to leave for it now.
    pub(super) fn find_approach(&self, now: Time, at: Extent, spot: Spot, direction: Direction) -> Option<Approach> {
        if self.follows(at, direction) {
            return None;
        }
        self.phase.at(now)?;
        let arrived = self.arrival(now, at, spot, direction);
        let turn = Span(self.phase.period_ns() as u64);
        let wait = self.phase.reach(arrived, spot.angle).since(arrived);
        let (distance, cylinders) =
            (self.left.track.cylinder.abs_diff(spot.track.cylinder), self.mechanics.layout.cylinders());
        Some(Approach { travel: arrived.since(now), busy: self.free.since(now), wait, turn, distance, cylinders })
    }

    /// A read was issued that goes on nowhere, as few go on that a scheduler chooses. Where its blocks lie in a row and the bus keeps
    /// up, how they pass is never put together in memory.
    #[inline(always)]
    pub(super) fn issued_read(&mut self, now: Time, at: Extent, spot: Spot) {
        let arrived = self.arrival(now, at, spot, Direction::Read);
        let in_a_row = match self.way.keeps_up() {
            true => self.mechanics.pass_at_once(&self.phase, arrived, spot, at, Direction::Read),
            false => None,
        };
        if let Some((passage, _)) = in_a_row {
            self.leave_behind(now, at, arrived, &passage, self.way.read_lag(at, &passage));
        } else {
            let (passage, lag) = self.way.read(&self.mechanics, &self.phase, arrived, spot, at, now);
            self.leave_behind(now, at, arrived, &passage, lag);
        }
    }

    /// How a read of `at` that goes on nowhere leaves the arm, if it passes like this from `arrived` on.
    #[inline(always)]
    fn leave_behind(&mut self, now: Time, at: Extent, arrived: Time, passage: &Passage, lag: Span) {
        self.expect(now, arrived, passage);
        let Spot { track, angle, .. } = passage.after;
        let ahead = ReadAhead::behind(&self.cache, &self.mechanics.layout, at, passage);
        self.left = Left { track, angle, next: at.end(), reading: true, transferred: true, ahead: Some(ahead) };
        (self.angle, self.lag, self.arm, self.tells_phase) = (passage.angle, lag, at.end(), true);
    }

    /// A transfer was issued.
    #[inline(never)]
    pub(super) fn issued_transfer(&mut self, now: Time, command: &Command, spot: Spot) {
        let direction = command.verb.direction();
        let follows = self.follows(command.at, direction);
        let (arrived, passage, lag) = self.foresee(now, command.at, spot, direction);
        self.expect(now, arrived, &passage);
        if follows {
            // What the drive reads ahead comes when it comes.
            self.expected = None;
        }
        let behind = || ReadAhead::behind(&self.cache, &self.mechanics.layout, command.at, &passage);
        let next = command.at.end();
        let going_on = if direction.writes() { None } else { self.go_on(now, command.at) };
        let ahead = (!direction.writes()).then(|| going_on.map_or_else(behind, |(_, ahead)| ahead));
        let Spot { track, angle, .. } = ahead.as_ref().map_or(passage.after, |ahead| ahead.so_far.after);
        self.left = Left { track, angle, next, reading: !direction.writes(), transferred: true, ahead };
        (self.angle, self.lag, self.arm) = (passage.angle, lag, next);
        self.tells_phase = !follows || direction.writes() || self.way.keeps_up();
    }

    /// What its end will tell of a transfer given now that passes like this from `arrived` on.
    #[inline(always)]
    fn expect(&mut self, now: Time, arrived: Time, passage: &Passage) {
        let paused = now.since(self.idle_since) > Span(self.mechanics.rotation.period().0 / 64);
        let disturbed = self.dirty && (paused || self.free > now);
        self.undisturbed = if disturbed { 0 } else { self.undisturbed.saturating_add(1) };
        // A cached answer comes well before the arm could have got there.
        self.soonest = arrived.since(self.free.max(now)) + passage.transfer + passage.crossing;
        let tells = self.phase.is_known();
        self.expected = tells.then(|| (passage.end, self.motion.ticks(passage.began.since(arrived))));
    }
}
