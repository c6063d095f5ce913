//! The oracle: a predictor that asks a shadow of the very drive it schedules, told of the same commands. It
//! knows phase, rpm and noise, so no real scheduler can do as well greedily. For bounds only; results that rest
//! on it say so.

use block::{Command, Extent, Lbn, Outcome, Place, Span, Tag, Time, Verb};
use drive::Drive;
use sched::predict::{Approach, Predictor};
use std::cell::RefCell;

/// Perfect knowledge of one drive.
pub(crate) struct Oracle {
    shadow: RefCell<Drive>,
    arm: Lbn,
}

impl Oracle {
    /// The oracle of a drive like `shadow`, which is as it was made.
    pub(crate) fn new(shadow: Drive) -> Oracle {
        Oracle { shadow: RefCell::new(shadow), arm: Lbn(0) }
    }
}

impl Predictor for Oracle {
    type Spot = Extent;
    type Mark = Extent;
    type Head = Time;

    fn spot(&self, at: Extent) -> Extent {
        at
    }

    fn key(&self, at: Extent) -> u64 {
        at.start.0
    }

    fn mark(&self, at: Extent) -> Extent {
        at
    }

    fn head(&self, now: Time) -> (Time, u64) {
        self.shadow.borrow_mut().advance(now);
        (now, self.arm.0)
    }

    fn cost(&self, now: &Time, _: u64, at: Extent, write: bool) -> u64 {
        let verb = if write { Verb::Write { fua: false } } else { Verb::Read };
        self.shadow.borrow().foresee(*now, Command { verb, at, place: Place::Nowhere }).0
    }

    /// A cached answer may come from anywhere on the drive, at once.
    fn least(&self, _: &Time, _: u64, _: u64, _: bool) -> u64 {
        0
    }

    fn ticks(&self, span: Span) -> u64 {
        span.0
    }

    fn arm(&self) -> Lbn {
        self.arm
    }

    fn approach(&self, now: Time, at: Extent, _: Extent, write: bool) -> Option<Approach> {
        let verb = if write { Verb::Write { fua: true } } else { Verb::Read };
        let mut shadow = self.shadow.borrow_mut();
        shadow.advance(now);
        let (travel, wait) = shadow.approach(now, Command { verb, at, place: Place::Nowhere })?;
        let (layout, turn) = (&shadow.mechanics().layout, shadow.mechanics().rotation.period());
        let distance = shadow.track().cylinder.abs_diff(layout.locate(at.start).track.cylinder);
        Some(Approach { travel, wait, turn, distance, cylinders: layout.cylinders() })
    }

    fn seek_time(&self, distance: u32) -> Span {
        self.shadow.borrow().mechanics().seek.time(distance)
    }

    fn midway(&self, at: Extent, parts: u32) -> Option<Lbn> {
        let shadow = self.shadow.borrow();
        let layout = &shadow.mechanics().layout;
        Some(layout.midway(shadow.track().cylinder, layout.locate(at.start).track.cylinder, parts))
    }

    fn follow_on(&self, now: Time, at: Extent) -> Span {
        let mut shadow = self.shadow.borrow().clone();
        shadow.issue(now, Tag(0), Command { verb: Verb::Read, at, place: Place::Nowhere });
        shadow.next().map_or(Span::ZERO, |end| end.since(now))
    }

    fn expected(&self) -> Option<Time> {
        self.shadow.borrow().next()
    }

    fn turn(&self) -> Span {
        self.shadow.borrow().mechanics().rotation.period()
    }

    fn issued(&mut self, now: Time, command: &Command, _: Extent) {
        if command.verb.transfers() {
            self.arm = command.at.end();
        }
        let mut shadow = self.shadow.borrow_mut();
        if shadow.next().is_some() {
            shadow.finish();
        }
        shadow.issue(now, Tag(0), *command);
    }

    fn observed(&mut self, _: Time, _: &Command, _: Outcome) {
        let mut shadow = self.shadow.borrow_mut();
        if shadow.next().is_some() {
            shadow.finish();
        }
    }
}
