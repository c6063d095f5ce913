//! A device that keeps its own clock.

use crate::{Caps, Command, Outcome, Tag, Time};

/// One device and its own clock: `next` jumps in virtual time and blocks in real time. What learns a device from the
/// times of its commands needs no more than this.
pub trait Device {
    /// What it can do.
    fn caps(&self) -> Caps;

    /// The present, on the clock that completions are stamped by.
    fn now(&self) -> Time;

    /// Gives it a command, now; when that was. The caller guarantees that fewer than `caps().depth` are in it, and that no other
    /// in it has this tag.
    fn issue(&mut self, tag: Tag, command: Command) -> Time;

    /// The next command to come back, and when it did; nothing when `until` is reached first. Afterwards it is that time.
    fn next(&mut self, until: Time) -> Option<(Time, Tag, Outcome)>;
}

impl<D: Device + ?Sized> Device for &mut D {
    fn caps(&self) -> Caps {
        (**self).caps()
    }

    fn now(&self) -> Time {
        (**self).now()
    }

    fn issue(&mut self, tag: Tag, command: Command) -> Time {
        (**self).issue(tag, command)
    }

    fn next(&mut self, until: Time) -> Option<(Time, Tag, Outcome)> {
        (**self).next(until)
    }
}
