//! Where time went: the parts of one command, and the account of an arm.

use block::{Span, Time};
use std::ops::{AddAssign, SubAssign};

/// The time of one command, by what it was spent on; the parts add up to its duration exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// Waiting in the drive while other commands were served.
    pub queued: Span,
    /// Overhead of commands, before the arm moves.
    pub overhead: Span,
    /// External waiting: the arm was still at the drive's own work (read-ahead, write-back).
    pub external: Span,
    /// Moving the arm between cylinders.
    pub seek: Span,
    /// Switching heads, and crossing to following tracks.
    pub switch: Span,
    /// Settling before a write.
    pub settle: Span,
    /// Waiting for the sector to come round.
    pub rotation: Span,
    /// Blocks passing under the head.
    pub transfer: Span,
    /// Waiting for the host's bus.
    pub bus: Span,
}

impl Parts {
    /// Each part with its name.
    #[must_use]
    pub fn name_parts(&self) -> [(&'static str, Span); 9] {
        [
            ("queued", self.queued),
            ("overhead", self.overhead),
            ("external", self.external),
            ("seek", self.seek),
            ("switch", self.switch),
            ("settle", self.settle),
            ("rotation", self.rotation),
            ("transfer", self.transfer),
            ("bus", self.bus),
        ]
    }

    /// The sum of all parts.
    #[must_use]
    pub fn total(&self) -> Span {
        self.name_parts().iter().map(|(_, span)| *span).sum()
    }

    /// What is left of them after the first `span`, in which other commands were served.
    #[must_use]
    pub fn after(mut self, mut span: Span) -> Parts {
        for part in self.each() {
            let less = span.min(*part);
            *part -= less;
            span -= less;
        }
        self
    }

    /// Each part, as in `name_parts`.
    fn each(&mut self) -> [&mut Span; 9] {
        [
            &mut self.queued,
            &mut self.overhead,
            &mut self.external,
            &mut self.seek,
            &mut self.switch,
            &mut self.settle,
            &mut self.rotation,
            &mut self.transfer,
            &mut self.bus,
        ]
    }
}

impl SubAssign for Parts {
    /// Takes some of the commands out again.
    fn sub_assign(&mut self, other: Parts) {
        for (part, (_, other)) in self.each().into_iter().zip(other.name_parts()) {
            *part -= other;
        }
    }
}

impl AddAssign for Parts {
    fn add_assign(&mut self, other: Parts) {
        self.add(&other);
    }
}

impl Parts {
    #[inline(always)]
    fn add(&mut self, other: &Parts) {
        self.queued += other.queued;
        self.overhead += other.overhead;
        self.external += other.external;
        self.seek += other.seek;
        self.switch += other.switch;
        self.settle += other.settle;
        self.rotation += other.rotation;
        self.transfer += other.transfer;
        self.bus += other.bus;
    }
}

/// Where an arm's time went since some instant: busy + background + idle = elapsed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// The beginning of the time accounted for.
    pub since: Time,
    /// The end of the time accounted for.
    pub until: Time,
    /// Time with a command in service.
    pub busy: Span,
    /// Time the arm worked with no command in service.
    pub background: Span,
    /// Of that, the time it wrote back what was buffered.
    pub writing: Span,
    /// Commands in the account.
    pub commands: u64,
    /// The busy time by its parts; they add up to `busy`.
    pub parts: Parts,
}

impl Account {
    /// Adds a command that completed. Where several are in service, each moment counts for one of them.
    #[inline(always)]
    pub(crate) fn add_command(&mut self, issued: Time, end: Time, parts: &Parts) {
        let before = self.until.max(self.since).since(issued);
        // By reference, since most often it is all of them.
        if before == Span::ZERO {
            self.parts.add(parts);
        } else {
            self.parts.add(&parts.after(before));
        }
        self.busy += end.since(issued).less(before);
        self.commands += 1;
        self.until = self.until.max(end);
    }

    /// The account up to now; it begins anew at `now`.
    pub(crate) fn take(&mut self, now: Time) -> Account {
        std::mem::replace(self, Account { since: now, until: now, ..Account::default() })
    }

    /// The length of the time accounted for.
    #[must_use]
    pub fn span(&self) -> Span {
        self.until.since(self.since)
    }

    /// Time in which the arm did nothing.
    #[must_use]
    pub fn idle(&self) -> Span {
        self.span() - self.busy - self.background
    }
}
