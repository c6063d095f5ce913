//! Records played: by their own times, by their own times with repeated requests held, or closed. Where they come from is
//! another's business.
//!
//! **Recorded is recorded.** A trace and the days of `cello-like` and `hplajw-like` are all `Records`, one after the
//! other; `Replay` plays them: it alone knows of held repeats, time scales and closed loops.

use super::pace::{Pace, ReplayTiming as How};
use super::{Draft, Workload};
use block::{BadInput, Extent, Span, Time};
use std::collections::BTreeMap;

/// Where recorded requests come from, one after the other.
pub(super) trait RecordSource {
    /// The next request, which arrives at its recorded time, from whatever origin that counts.
    ///
    /// # Errors
    /// Bad input, where it is read from a file; nothing comes after it.
    fn next(&mut self) -> Result<Option<Draft>, BadInput>;

    /// What they are called.
    fn name(&self) -> &str;

    /// What a reader of the results must know of them.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A trace that is being played.
pub(super) struct Replay<R> {
    records: R,
    how: How,
    /// Requests a closed replay keeps outstanding.
    depth: u32,
    time_scale: f64,
    /// Time of the first record.
    origin: Option<Time>,
    next: Option<Draft>,
    failed: Option<BadInput>,
    /// When the next request of a closed or held replay could come.
    released: Time,
    outstanding: u32,
    /// Extents outstanding and how often; kept for a held replay alone.
    extents: BTreeMap<(u64, u32), u32>,
    blocked: bool,
    held: u64,
    out_of_order: u64,
}

impl<R: RecordSource> Replay<R> {
    /// The first record is read.
    ///
    /// # Errors
    /// When it cannot be.
    pub(super) fn new(records: R, pace: &Pace) -> Result<Replay<R>, BadInput> {
        let mut replay = Replay {
            records,
            how: pace.replay,
            depth: pace.depth,
            time_scale: pace.time_scale,
            origin: None,
            next: None,
            failed: None,
            released: Time::ZERO,
            outstanding: 0,
            extents: BTreeMap::new(),
            blocked: false,
            held: 0,
            out_of_order: 0,
        };
        replay.advance();
        match replay.failed.take() {
            Some(error) => Err(error),
            None => Ok(replay),
        }
    }

    /// Makes the record after this one the next.
    fn advance(&mut self) {
        match self.records.next() {
            Ok(record) => self.next = record.map(|record| self.at_its_time(record)),
            Err(error) => {
                self.next = None;
                self.failed = Some(error);
            }
        }
        self.blocked = self.is_blocked();
        self.held += u64::from(self.blocked);
    }

    /// A record at the time at which it is to come.
    fn at_its_time(&mut self, record: Draft) -> Draft {
        let origin = *self.origin.get_or_insert(record.arrives);
        let recorded = record.arrives.since(origin).0;
        let scaled = if self.time_scale == 1.0 { recorded } else { (recorded as f64 / self.time_scale) as u64 };
        let before = self.next.map_or(Time::ZERO, |draft| draft.arrives);
        let arrives = Time::ZERO + Span(scaled);
        self.out_of_order += u64::from(arrives < before || record.arrives < origin);
        Draft { arrives: arrives.max(before), ..record }
    }

    /// Whether the next request repeats one that is outstanding, and so is held, with all that follow it.
    fn is_blocked(&self) -> bool {
        match (self.how, self.next) {
            (How::Hold, Some(draft)) => self.extents.contains_key(&(draft.at.start.0, draft.at.blocks)),
            _ => false,
        }
    }
}

impl<R: RecordSource> Workload for Replay<R> {
    fn due(&self) -> Option<Time> {
        let Some(next) = self.next else { return self.failed.is_some().then_some(self.released) };
        match self.how {
            How::Open => Some(next.arrives),
            How::Hold => (!self.blocked).then_some(next.arrives.max(self.released)),
            How::Closed => (self.outstanding < self.depth).then_some(self.released),
        }
    }

    fn make(&mut self) -> Result<Draft, BadInput> {
        let arrives = self.due().unwrap_or(Time::NEVER);
        let Some(next) = self.next else { return Err(self.failed.take().expect("a request or an error is due")) };
        self.outstanding += 1;
        if self.how == How::Hold && next.at.blocks > 0 {
            *self.extents.entry((next.at.start.0, next.at.blocks)).or_insert(0) += 1;
        }
        self.advance();
        Ok(Draft { arrives, ..next })
    }

    fn end_request(&mut self, now: Time, at: Extent) {
        self.outstanding -= 1;
        match self.how {
            How::Open => {}
            How::Closed => self.released = now,
            How::Hold => {
                let key = (at.start.0, at.blocks);
                if let Some(count) = self.extents.get_mut(&key) {
                    *count -= 1;
                    if *count == 0 {
                        self.extents.remove(&key);
                    }
                }
                if self.blocked && !self.is_blocked() {
                    self.blocked = false;
                    self.released = now;
                }
            }
        }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.records.notes();
        let mut note = |count: u64, what: &str| {
            if count > 0 {
                notes.push(format!("{count} {what}"));
            }
        };
        note(self.held, "requests held, with those behind them, until an identical earlier one had ended");
        note(self.out_of_order, "records earlier than the one before them, replayed at its time");
        notes.into_iter().map(|note| format!("{}: {note}", self.records.name())).collect()
    }
}
