//! What of a device's time went into probes, which the scheduler sent to learn it: background, for no request asked for it.

use block::{Command, Place, Span, Time, Verb};
use drive::{Account, Parts};

/// Whether nobody but the scheduler itself wants what a command reads.
pub(crate) fn is_probe(command: &Command) -> bool {
    command.verb == Verb::Read && command.place == Place::Nowhere
}

/// Probes since the account began.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Probes {
    /// Until when the time with a command in service is attributed.
    until: Time,
    pub(crate) count: u64,
    busy: Span,
    parts: Parts,
}

impl Probes {
    /// The account begins anew.
    pub(crate) fn begin(&mut self, now: Time) {
        *self = Probes { until: now, ..Probes::default() };
    }

    /// A command has come back. Where several are in service, each moment counts for one of them, as in the account.
    #[inline]
    pub(crate) fn end_command(&mut self, now: Time) {
        self.until = self.until.max(now);
    }

    /// A probe has come back: its time is set apart.
    #[inline]
    pub(crate) fn end_probe(&mut self, issued: Time, now: Time, parts: &Parts) {
        let before = self.until.since(issued);
        self.count += 1;
        self.busy += now.since(issued).less(before);
        self.parts += parts.after(before);
        self.end_command(now);
    }

    /// Has an account count them as background.
    pub(crate) fn put_aside(&self, account: &mut Account) {
        account.commands -= self.count;
        account.busy -= self.busy;
        account.background += self.busy;
        account.parts -= self.parts;
    }
}
