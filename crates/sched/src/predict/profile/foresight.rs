//! What is believed of a command when it is issued: the hot path of each. Most are reads that go on nowhere: for these all is
//! worked out in one place, without what only others need.

use super::{Approach, GoingOn, Left, Profile, ReadAhead, go_on};
use block::{Direction, Extent, Span, Time};
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

    /// A read was issued that goes on where the last one ended: what the drive reads ahead comes when it comes.
    #[inline(never)]
    pub(super) fn issued_further(&mut self, now: Time, at: Extent) {
        // It was asked already whether it goes on there.
        let Some(ahead) = &self.left.ahead else { return };
        let (drive, sheet) = ((&*self.mechanics, &self.phase), (&self.way, &self.cache, &self.overheads));
        let GoingOn { took, ahead, passed } = go_on(ahead, drive, sheet, (now, self.last), at);
        self.note_disturbance(now);
        // The arm has no part in what had passed before.
        let (angle, lag) = passed.unwrap_or((ahead.so_far.after.angle, Span::ZERO));
        self.further = (now, now + took.less(lag));
        self.soonest = if passed.is_some() { took.less(lag) } else { Span(u64::MAX) };
        let Spot { track, angle: left_at, .. } = ahead.so_far.after;
        self.left =
            Left { track, angle: left_at, next: at.end(), reading: true, transferred: true, ahead: Some(ahead) };
        (self.expected, self.angle, self.lag, self.arm) = (None, angle, lag, at.end());
        self.tells_phase = passed.is_some() && self.way.keeps_up();
    }

    /// A write was issued.
    #[inline(never)]
    pub(super) fn issued_write(&mut self, now: Time, at: Extent, spot: Spot) {
        let follows = self.follows(at, Direction::Write);
        let (arrived, passage, lag) = self.foresee(now, at, spot, Direction::Write);
        self.expect(now, arrived, &passage);
        if follows {
            self.expected = None;
        }
        let Spot { track, angle, .. } = passage.after;
        self.left = Left { track, angle, next: at.end(), reading: false, transferred: true, ahead: None };
        (self.angle, self.lag, self.arm, self.tells_phase) = (passage.angle, lag, at.end(), true);
    }

    /// What its end will tell of a transfer given now that passes like this from `arrived` on.
    #[inline(always)]
    fn expect(&mut self, now: Time, arrived: Time, passage: &Passage) {
        self.note_disturbance(now);
        // A cached answer comes well before the arm could have got there.
        self.soonest = arrived.since(self.free.max(now)) + passage.transfer + passage.crossing;
        let tells = self.phase.is_known();
        self.expected = tells.then(|| (passage.end, self.motion.ticks(passage.began.since(arrived))));
    }

    /// Whether the drive may have been at its buffer since the last command.
    #[inline(always)]
    fn note_disturbance(&mut self, now: Time) {
        let paused = now.since(self.idle_since) > Span(self.mechanics.rotation.period().0 / 64);
        let disturbed = self.dirty && (paused || self.free > now);
        self.undisturbed = if disturbed { 0 } else { self.undisturbed.saturating_add(1) };
    }
}
