//! The requests of a system: how much each matters, who waits for it, and what its time limit was.

use crate::process::Pid;
use block::{Extent, Qos, RequestId, Time};

/// How much a request matters to the system (004 §3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Criticality {
    /// Nobody will wait for it.
    Noncritical,
    /// Somebody will wait for it if it has not ended by some time.
    Limited,
    /// Somebody waits for it.
    Critical,
}

impl Criticality {
    /// The priority of such a request.
    #[must_use]
    pub fn priority(self) -> u8 {
        self as u8
    }
}

/// What a request's end is for, besides those who wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A page of the cache, by frame.
    Frame(u32),
    /// A process asked for it by itself.
    Direct,
}

/// A request that has not ended, or of which that is not yet seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestState {
    pub(crate) at: Extent,
    pub(crate) purpose: Purpose,
    /// As the one who asked thought.
    pub(crate) issued_as: Criticality,
    pub(crate) criticality: Criticality,
    /// The process that asked.
    pub(crate) asker: Pid,
    pub(crate) arrived: Time,
    /// Whether it belongs to the sample that is measured.
    pub(crate) counts: bool,
    /// By when somebody was likely to wait for it, of one that was limited.
    pub(crate) limit: Option<Time>,
    /// When its first command was issued, or never yet.
    pub(crate) began: Time,
    /// What its commands waited for the drive's own work, ns.
    pub(crate) external: u64,
    /// Whether it waits until the core has room.
    pub(crate) waits: bool,
    /// Whether it has ended.
    pub(crate) ended: bool,
    /// Whether the system has seen that: its interrupt is over.
    pub(crate) seen: bool,
    /// How many processes will still await it.
    pub(crate) awaited: u32,
}

/// Requests in slots that are used again.
#[derive(Default)]
pub(crate) struct RequestTable {
    slots: Vec<Option<RequestState>>,
    free: Vec<u32>,
}

impl RequestTable {
    pub(crate) fn insert(&mut self, asked: RequestState) -> u32 {
        let slot = self.free.pop().unwrap_or(self.slots.len() as u32);
        match self.slots.get_mut(slot as usize) {
            Some(old) => *old = Some(asked),
            None => self.slots.push(Some(asked)),
        }
        slot
    }

    pub(crate) fn get(&mut self, slot: u32) -> Option<&mut RequestState> {
        self.slots.get_mut(slot as usize)?.as_mut()
    }

    /// Frees a slot once the end of its request was seen and nobody asks any more.
    pub(crate) fn release(&mut self, slot: u32) {
        if self.get(slot).is_some_and(|asked| asked.seen && asked.awaited == 0) {
            self.slots[slot as usize] = None;
            self.free.push(slot);
        }
    }

    /// Requests that have not ended.
    pub(crate) fn open(&self) -> impl Iterator<Item = (RequestId, &RequestState)> {
        let asked = (0..).map(id).zip(&self.slots).filter_map(|(id, slot)| Some((id, slot.as_ref()?)));
        asked.filter(|(_, asked)| !asked.ended)
    }

    /// Requests that have not been seen to end.
    pub(crate) fn outstanding(&self) -> usize {
        self.slots.iter().flatten().filter(|asked| !asked.seen).count()
    }
}

/// The classes of a system's requests, as the experiment numbers them: non-critical, limited, critical.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Classes(pub(crate) [u8; 3]);

impl Classes {
    pub(crate) fn qos(self, criticality: Criticality, deadline: Option<Time>) -> Qos {
        Qos { class: self.0[criticality as usize], priority: criticality.priority(), deadline }
    }
}

pub(crate) fn id(slot: u32) -> RequestId {
    RequestId(slot)
}
