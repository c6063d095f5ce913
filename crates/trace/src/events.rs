//! What blktrace events mean, whichever way they are written.
//!
//! Arrivals are Q (queue) events. Issues (D) and completions (C) only serve to find completions without an
//! issue; everything between is the kernel's own scheduling, which a replay does anew.

use std::collections::HashSet;

use block::{Extent, Op, Time};

use crate::number::extent;
use crate::reader::{Fault, ReadLedger, TraceDevice, TraceRecord};

/// What an event says of its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transition {
    /// Q: a request arrives.
    Queue,
    /// D: it is issued to the driver.
    Issue,
    /// C: it is done.
    Complete,
}

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventOp {
    Read,
    Write,
    Discard,
    /// A command that is none of these: SCSI pass-through, zone management.
    Other,
}

/// One line of a trace that logs each step of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RequestEvent {
    pub time: Time,
    pub device: TraceDevice,
    pub action: Transition,
    pub kind: EventOp,
    /// F before the operation: flush first.
    pub preflush: bool,
    /// Force unit access: `F` after the operation.
    pub fua: bool,
    pub sector: u64,
    pub bytes: u64,
}

/// Open issues followed at once. A drive has at most a few thousand; a trace cut from a longer one may never
/// show the completions of some, so their number needs a limit.
const MAX_OPEN: usize = 65_536;

/// Makes requests of events.
#[derive(Default)]
pub(crate) struct Events {
    open: HashSet<(TraceDevice, u64)>,
}

impl Events {
    /// The request an event makes, if it makes one; a second is left in the ledger.
    pub fn request(&mut self, event: RequestEvent, ledger: &mut ReadLedger) -> Result<Option<TraceRecord>, Fault> {
        match event.action {
            Transition::Queue => return arrival(event, ledger),
            Transition::Issue if event.kind != EventOp::Other => {
                // A flush has no address, and blkparse prints none.
                let sector = if event.bytes == 0 { 0 } else { event.sector };
                if self.open.len() < MAX_OPEN {
                    self.open.insert((event.device, sector));
                } else {
                    ledger.counts.untracked_issues += 1;
                }
            }
            Transition::Complete
                if event.kind != EventOp::Other && !self.open.remove(&(event.device, event.sector)) =>
            {
                ledger.counts.orphan_completions += 1;
            }
            Transition::Issue | Transition::Complete => {}
        }
        Ok(None)
    }
}

fn arrival(event: RequestEvent, ledger: &mut ReadLedger) -> Result<Option<TraceRecord>, Fault> {
    let counts = &mut ledger.counts;
    let flush =
        TraceRecord { time: event.time, device: event.device, op: Op::Flush, at: Extent::default(), response: None };
    if event.bytes == 0 {
        if event.preflush {
            return Ok(Some(flush));
        }
        counts.empty += 1;
        return Ok(None);
    }
    let op = match event.kind {
        EventOp::Read => Op::Read,
        EventOp::Write => Op::Write { fua: event.fua },
        EventOp::Discard => {
            counts.discards_skipped += 1;
            return Ok(None);
        }
        EventOp::Other => {
            counts.other_commands += 1;
            return Ok(None);
        }
    };
    let (at, unaligned) = extent(event.sector, 512, event.bytes, 1)?;
    counts.unaligned += u64::from(unaligned);
    let record = TraceRecord { op, at, ..flush };
    if event.preflush {
        counts.preflushes += 1;
        ledger.second = Some(record);
        return Ok(Some(flush));
    }
    Ok(Some(record))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(action: Transition, sector: u64, bytes: u64) -> RequestEvent {
        RequestEvent {
            time: Time(5),
            device: TraceDevice(0),
            action,
            kind: EventOp::Write,
            preflush: false,
            fua: false,
            sector,
            bytes,
        }
    }

    #[test]
    fn a_preflush_with_data_is_two_requests_and_without_data_one() {
        let (mut events, mut ledger) = (Events::default(), ReadLedger::default());
        let both = RequestEvent { preflush: true, fua: true, ..event(Transition::Queue, 8, 4096) };
        let first = events.request(both, &mut ledger).unwrap().unwrap();
        let second = ledger.second.take().unwrap();
        assert_eq!((first.op, first.at.blocks), (Op::Flush, 0));
        assert_eq!((second.op, second.at), (Op::Write { fua: true }, Extent::new(8, 8)));
        assert_eq!(ledger.counts.preflushes, 1);
        let alone = RequestEvent { preflush: true, ..event(Transition::Queue, 0, 0) };
        assert_eq!(events.request(alone, &mut ledger).unwrap().unwrap().op, Op::Flush);
        assert!(ledger.second.is_none());
    }

    #[test]
    fn a_completion_needs_an_issue() {
        let (mut events, mut ledger) = (Events::default(), ReadLedger::default());
        for action in [Transition::Issue, Transition::Complete, Transition::Complete] {
            events.request(event(action, 8, 512), &mut ledger).unwrap();
        }
        assert_eq!(ledger.counts.orphan_completions, 1);
    }

    #[test]
    fn open_issues_are_bounded() {
        let (mut events, mut ledger) = (Events::default(), ReadLedger::default());
        for sector in 0..MAX_OPEN as u64 + 10 {
            events.request(event(Transition::Issue, sector, 512), &mut ledger).unwrap();
        }
        assert_eq!(ledger.counts.untracked_issues, 10);
    }
}
