//! How a service ends: what was asked is done and the device flushed, or it is given up and said what was left.
//!
//! **A device that hangs is waited for by no one.** When a command takes longer than `timeout`, what clients wait for
//! fails and what they ask is refused, until the command comes back; its memory and its place in the core are kept
//! until then.

use super::{Front, ServedVolume};
use block::{Ending, Extent, Qos, Request, RequestId, Time};
use sched::Input;

/// How far the flush is that ends a service.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flush {
    Later,
    Asked,
    /// How it ended, if it did.
    Over(Option<Ending>),
}

/// How far the end is.
pub(super) struct Shutdown {
    /// When the service was told to.
    told: Option<Time>,
    /// When requests that did not come back were given up.
    gave_up: Option<Time>,
    flush: Flush,
    /// When that was asked for.
    asked: Time,
    /// Whether the core has room for it.
    room: bool,
}

/// What a service that has ended did not do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undone {
    /// Volumes of which requests had not come back, and how many.
    pub requests: Vec<(String, u32)>,
    /// Why the last flush is not known to have been done.
    pub flush: Option<String>,
    /// Volumes of which a flush had failed, and which nobody had told to go on.
    pub volumes: Vec<String>,
}

impl Undone {
    /// Whether all was done.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Undone::default()
    }

    /// With what another device of the service, of this name, has not done.
    pub(crate) fn merge(&mut self, device: &str, other: Undone) {
        self.requests.extend(other.requests);
        self.volumes.extend(other.volumes);
        if let Some(why) = other.flush.map(|why| format!("device '{device}': {why}")) {
            self.flush = Some(self.flush.take().map_or(why.clone(), |before| format!("{before}; {why}")));
        }
    }
}

impl Shutdown {
    pub(super) fn new() -> Shutdown {
        Shutdown { told: None, gave_up: None, flush: Flush::Later, asked: Time::ZERO, room: true }
    }

    pub(super) fn begin(&mut self, now: Time) {
        self.told.get_or_insert(now);
    }

    pub(super) fn has_begun(&self) -> bool {
        self.told.is_some()
    }

    /// The core has so much room.
    pub(super) fn has_room(&mut self, room: u32) {
        self.room = room > 0;
    }

    pub(super) fn has_given_up(&self) -> bool {
        self.gave_up.is_some()
    }

    pub(super) fn is_over(&self) -> bool {
        self.has_begun() && matches!(self.flush, Flush::Over(_))
    }

    /// The last flush has ended.
    pub(super) fn note_flush(&mut self, how: Ending) {
        self.flush = Flush::Over(Some(how));
    }
}

impl Front {
    /// Whether everyone is gone or given up, and the device is to be flushed.
    pub(super) fn awaits_last_flush(&self) -> bool {
        let gone = || self.works.count().0 == 0 && self.clients.iter().all(Option::is_none);
        self.stop.has_begun()
            && self.stop.room
            && self.stop.flush == Flush::Later
            && (self.stop.has_given_up() || gone())
    }

    pub(super) fn last_flush(&mut self, now: Time) -> Option<Input> {
        if !self.awaits_last_flush() {
            return None;
        }
        (self.stop.flush, self.stop.asked) = (Flush::Asked, now);
        let id = RequestId(self.works.count().1);
        Some(Input::Submit(Request { id, op: block::Op::Flush, at: Extent::default(), qos: Qos::default() }))
    }

    /// When what did not come back is given up. A flush may take long; but not on a device that answers nothing else.
    pub(super) fn gives_up_after(&self, last: Time) -> Option<Time> {
        let Shutdown { told, gave_up, flush, asked, .. } = self.stop;
        let since = last.max(told?).max(gave_up.unwrap_or(Time::ZERO)).max(asked);
        let flushes = flush == Flush::Asked && gave_up.is_none();
        let patience = if flushes { self.plan.ending.max(self.plan.timeout) } else { self.plan.ending };
        Some(since + patience)
    }

    /// Nothing comes back: the requests are given up, and then the last flush.
    pub(super) fn gives_up(&mut self, now: Time) {
        // Where there is no room for it, it cannot even be asked for.
        if self.stop.flush == Flush::Later && !self.stop.has_given_up() {
            self.stop.gave_up = Some(now);
            self.fail_all(now);
        } else {
            self.stop.gave_up.get_or_insert(now);
            self.stop.flush = Flush::Over(None);
        }
    }

    /// What is left undone at the end.
    #[must_use]
    pub fn undone(&self) -> Undone {
        let of = |volume: &ServedVolume| (volume.name().to_owned(), volume.in_flight);
        let requests = self.volumes.iter().map(of).filter(|(_, count)| *count > 0).collect();
        let flush = match self.stop.flush {
            Flush::Over(Some(Ending::Finished)) => None,
            Flush::Over(Some(Ending::Failed(errno))) => Some(std::io::Error::from_raw_os_error(errno).to_string()),
            Flush::Over(Some(Ending::Dropped)) => Some("it was dropped".into()),
            Flush::Over(None) | Flush::Asked => Some("the device does not answer".into()),
            Flush::Later => Some("it was not asked for".into()),
        };
        let failed = self.volumes.iter().filter(|volume| volume.flush_failed);
        // Of a flush that is last and fails, it is said already.
        let failed = failed.filter(|_| flush.is_none() || self.failures > 1);
        Undone { requests, volumes: failed.map(|volume| volume.name().to_owned()).collect(), flush }
    }
}
