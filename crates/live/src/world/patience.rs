//! How long a disk is waited for.

use block::{Span, Time};

/// A part of what is waited at most: whoever heard nothing for longer did other work.
const AWAY: u64 = 8;

/// What is waited at most. A disk has its time anew after a long while in which this thread had other work, such as the sums of a
/// large write: of what came back meanwhile nothing was heard, and what was issued then the disk was not even told.
pub(super) struct DiskPatience {
    most: Span,
    /// When the kernel was last heard, and since when it has been without a long break.
    heard: Time,
    attentive: Time,
}

impl DiskPatience {
    pub(super) fn new(most: Span) -> DiskPatience {
        DiskPatience { most, heard: Time::ZERO, attentive: Time::ZERO }
    }

    /// The kernel was heard.
    pub(super) fn hear(&mut self, now: Time) {
        self.heard = now;
    }

    /// Nothing was heard since the kernel was heard last.
    pub(super) fn excuse(&mut self, now: Time) {
        if now.since(self.heard).0 > self.most.0 / AWAY {
            self.attentive = now;
        }
    }

    /// From when on something is waited for that was asked for then.
    pub(super) fn begins(&self, asked: Time) -> Time {
        asked.max(self.attentive)
    }

    /// When something hangs that was asked for then.
    pub(super) fn ends(&self, asked: Time) -> Time {
        self.begins(asked) + self.most
    }
}
