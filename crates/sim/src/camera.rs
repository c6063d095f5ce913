//! What is recorded of a run while it goes on: nothing, as a rule.

use crate::panorama::Reel;
use crate::timeline::Film;
use block::{Command, RequestId, Tag, Time};
use drive::Parts;

/// What looks on.
#[derive(Clone, Debug)]
pub(crate) enum Camera {
    /// At some commands of one disk.
    Film(Film),
    /// At all disks and what asks them, for a while.
    Reel(Reel),
}

impl Camera {
    /// A request was submitted.
    #[cold]
    pub(crate) fn submitted(&mut self, id: RequestId) {
        if let Camera::Reel(reel) = self {
            reel.submitted(id);
        }
    }

    /// A command is about to be issued to a drive that was at work of its own until `own_until`.
    #[cold]
    pub(crate) fn issued(&mut self, now: Time, disk: usize, tag: Tag, command: Command, own_until: Time) {
        match self {
            Camera::Film(film) if film.is_of(disk) => film.issued(now, tag, command, own_until),
            Camera::Film(_) => {}
            Camera::Reel(reel) => reel.issued(now, disk, tag, command, own_until),
        }
    }

    /// A command has ended.
    #[cold]
    pub(crate) fn done(&mut self, now: Time, disk: usize, tag: Tag, parts: Parts) {
        match self {
            Camera::Film(film) if film.is_of(disk) => film.done(now, tag, parts),
            Camera::Film(_) => {}
            Camera::Reel(reel) => reel.done(now, disk, tag, parts),
        }
    }

    /// A request has ended, the last of so many, and was worth so much.
    #[cold]
    pub(crate) fn ended(&mut self, now: Time, id: RequestId, worth: f64, requests: u64) {
        if let Camera::Film(film) = self {
            film.ended(now, id, worth, requests);
        }
    }

    /// Whether all was seen that it is to show; what asks the disks is shown until then.
    #[cold]
    pub(crate) fn is_over(&self, now: Time, until: Option<Time>) -> bool {
        match self {
            Camera::Film(film) => film.over,
            Camera::Reel(reel) => reel.is_over(now, until),
        }
    }
}
