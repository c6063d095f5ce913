//! What every simulated device can do, disk or not.

use crate::{Account, Drive, Parts};
use block::{Caps, Command, Lbn, Outcome, Span, Tag, Time};

/// A device in virtual time: commands in, completions out. It keeps no clock; the caller guarantees that `now` never
/// goes back.
pub trait Machine {
    /// What it can do.
    fn caps(&self) -> Caps;

    /// Gives it a command. The caller guarantees that fewer than `caps().depth` are in it.
    fn issue(&mut self, now: Time, tag: Tag, command: Command);

    /// When something next happens in it, if nothing more is issued: a command completes, or it decides which of those
    /// that wait is served next.
    fn next(&self) -> Option<Time>;

    /// Lets happen what `next` announced; gives the command that completed, if one did. The caller guarantees that
    /// something was announced.
    fn finish(&mut self) -> Option<(Time, Tag, Outcome, Parts)>;

    /// Where its time went up to `now`, or to when the first command in flight was issued; the account begins anew.
    fn take_account(&mut self, now: Time) -> Account;

    /// Until when, up to `now`, it was last at work on its own account.
    fn own_until(&mut self, now: Time) -> Time {
        let _ = now;
        Time::ZERO
    }

    /// Keeps from now on what it writes back, if it does: of each extent the last block, and how long it took.
    fn keep_writes(&mut self) {}

    /// Gives what it has written back since this was last asked, where that is kept.
    fn take_writes(&mut self, each: &mut dyn FnMut(Lbn, Span)) {
        let _ = each;
    }

    /// Blocks it has in a write buffer, and the time in its account that it wrote back while it had no command.
    fn buffer_state(&self) -> (u64, Span) {
        (0, Span::ZERO)
    }
}

impl Machine for Drive {
    #[inline]
    fn caps(&self) -> Caps {
        Drive::caps(self)
    }

    #[inline]
    fn issue(&mut self, now: Time, tag: Tag, command: Command) {
        Drive::issue(self, now, tag, command);
    }

    #[inline]
    fn next(&self) -> Option<Time> {
        Drive::next(self)
    }

    #[inline(always)]
    fn finish(&mut self) -> Option<(Time, Tag, Outcome, Parts)> {
        Drive::finish(self)
    }

    #[inline]
    fn take_account(&mut self, now: Time) -> Account {
        Drive::take_account(self, now)
    }

    fn own_until(&mut self, now: Time) -> Time {
        self.advance(now);
        Drive::own_until(self, now)
    }

    fn keep_writes(&mut self) {
        Drive::keep_writes(self);
    }

    fn take_writes(&mut self, each: &mut dyn FnMut(Lbn, Span)) {
        Drive::take_writes(self).for_each(|(last, took)| each(last, took));
    }

    fn buffer_state(&self) -> (u64, Span) {
        Drive::buffer_state(self)
    }
}

impl<M: Machine + ?Sized> Machine for Box<M> {
    fn caps(&self) -> Caps {
        (**self).caps()
    }

    fn issue(&mut self, now: Time, tag: Tag, command: Command) {
        (**self).issue(now, tag, command);
    }

    fn next(&self) -> Option<Time> {
        (**self).next()
    }

    fn finish(&mut self) -> Option<(Time, Tag, Outcome, Parts)> {
        (**self).finish()
    }

    fn take_account(&mut self, now: Time) -> Account {
        (**self).take_account(now)
    }

    fn own_until(&mut self, now: Time) -> Time {
        (**self).own_until(now)
    }

    fn keep_writes(&mut self) {
        (**self).keep_writes();
    }

    fn take_writes(&mut self, each: &mut dyn FnMut(Lbn, Span)) {
        (**self).take_writes(each);
    }

    fn buffer_state(&self) -> (u64, Span) {
        (**self).buffer_state()
    }
}
