//! A recorded trace, replayed by its own times, by its own times with repeated requests held, or closed.

use super::{Draft, Workload};
use crate::experiment::{Fit, Replay as How, TraceChoice};
use crate::fit::{Fitting, Footprint};
use block::{At, BadInput, Extent, Span, Time};
use std::collections::BTreeMap;
use trace::{Device, Record, Trace};

/// Records looked at before a replay begins, to see whether the trace has several devices.
const LOOKED_AT: usize = 10_000;

pub(super) struct Replay {
    file: String,
    trace: Trace,
    device: Wanted,
    fitting: Fitting,
    capacity: u64,
    how: How,
    /// Requests a closed replay keeps outstanding.
    depth: u32,
    time_scale: f64,
    /// Time of the first request in the trace.
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
    other_devices: u64,
}

/// Which device's requests are replayed.
enum Wanted {
    /// Those of the only one there is.
    Only(Option<Device>),
    /// Those of all.
    All,
    /// Those of the one with this name.
    Named(String),
}

impl Replay {
    pub(super) fn open(choice: &TraceChoice, capacity: u64) -> Result<Replay, BadInput> {
        let file = choice.file.display().to_string();
        let device = match choice.device.as_deref() {
            Some("all") => Wanted::All,
            Some(name) => Wanted::Named(name.into()),
            None => Wanted::Only(None),
        };
        let mut replay = Replay {
            trace: reopen(choice)?,
            file,
            device,
            fitting: Fitting::AsIs,
            capacity,
            how: choice.replay,
            depth: choice.depth,
            time_scale: choice.time_scale,
            origin: None,
            next: None,
            failed: None,
            released: Time::ZERO,
            outstanding: 0,
            extents: BTreeMap::new(),
            blocked: false,
            held: 0,
            out_of_order: 0,
            other_devices: 0,
        };
        replay.look_ahead(choice)?;
        replay.trace = reopen(choice)?;
        (replay.out_of_order, replay.other_devices) = (0, 0);
        replay.advance();
        match replay.failed.take() {
            Some(error) => Err(error),
            None => Ok(replay),
        }
    }

    /// A first pass: over the whole trace where its addresses must be known, else over its beginning.
    fn look_ahead(&mut self, choice: &TraceChoice) -> Result<(), BadInput> {
        let mut footprint = Footprint::default();
        let whole = matches!(choice.fit, Fit::Scale | Fit::Compact);
        let most = if whole { usize::MAX } else { LOOKED_AT };
        let mut found = false;
        for _ in 0..most {
            let Some(record) = self.read()? else { break };
            found = true;
            if whole {
                footprint.add(record.at).map_err(|what| self.error(&what, "check the format of the trace"))?;
            }
        }
        if !found {
            let devices = self.trace.devices().join(", ");
            let mend =
                if devices.is_empty() { "use another trace".into() } else { format!("its devices are {devices}") };
            return Err(self.error("there are no requests to replay", &mend));
        }
        let fitting = match choice.fit {
            Fit::Error => Ok(Fitting::AsIs),
            Fit::Wrap => Ok(Fitting::Wrapped { capacity: self.capacity }),
            Fit::Scale => Fitting::scaled(&footprint, self.capacity),
            Fit::Compact => Fitting::compacted(footprint, self.capacity),
        };
        self.fitting = fitting.map_err(|what| self.error(&what, "use a larger drive, or fit = \"wrap\""))?;
        Ok(())
    }

    /// The next record of the device that is replayed.
    fn read(&mut self) -> Result<Option<Record>, BadInput> {
        while let Some(record) = self.trace.next() {
            let record = record?;
            let wanted = match &mut self.device {
                Wanted::All => true,
                Wanted::Named(name) => self.trace.devices().get(record.device.0 as usize) == Some(name),
                Wanted::Only(first) => *first.get_or_insert(record.device) == record.device,
            };
            if wanted {
                return Ok(Some(record));
            }
            self.other_devices += 1;
            if let Wanted::Only(_) = self.device {
                let devices = self.trace.devices().join(", ");
                let what = format!("the trace has several devices: {devices}");
                return Err(
                    self.error(&what, "choose one with device = \"NAME\", or replay them as one with device = \"all\"")
                );
            }
        }
        Ok(None)
    }

    /// Makes the record after this one the next.
    fn advance(&mut self) {
        let draft = self.read().and_then(|record| record.map(|record| self.draft(record)).transpose());
        match draft {
            Ok(draft) => self.next = draft,
            Err(error) => {
                self.next = None;
                self.failed = Some(error);
            }
        }
        self.blocked = self.is_blocked();
        self.held += u64::from(self.blocked);
    }

    fn draft(&mut self, record: Record) -> Result<Draft, BadInput> {
        let at = self.fitting.map(record.at);
        if at.end().0 > self.capacity {
            let what = format!(
                "request {} ends at block {}, beyond the {} blocks of the drive",
                self.trace.counts().requests,
                record.at.end().0,
                self.capacity
            );
            let mend = "use a larger drive, or fit = \"scale\", \"wrap\" or \"compact\"";
            return Err(self.error(&what, mend));
        }
        let origin = *self.origin.get_or_insert(record.time);
        let recorded = record.time.since(origin).0;
        let scaled = if self.time_scale == 1.0 { recorded } else { (recorded as f64 / self.time_scale) as u64 };
        let before = self.next.map_or(Time::ZERO, |draft| draft.arrives);
        let arrives = Time::ZERO + Span(scaled);
        self.out_of_order += u64::from(arrives < before || record.time < origin);
        Ok(Draft { arrives: arrives.max(before), op: record.op, at })
    }

    /// Whether the next request repeats one that is outstanding, and so is held, with all that follow it.
    fn is_blocked(&self) -> bool {
        match (self.how, self.next) {
            (How::Hold, Some(draft)) => self.extents.contains_key(&(draft.at.start.0, draft.at.blocks)),
            _ => false,
        }
    }

    fn error(&self, what: &str, mend: &str) -> BadInput {
        BadInput::new(&self.file, At::File, what, mend)
    }
}

fn reopen(choice: &TraceChoice) -> Result<Trace, BadInput> {
    let format = choice.format.as_deref().map(str::parse::<trace::Format>).transpose();
    let format = format.map_err(|what| BadInput::new(choice.file.display().to_string(), At::File, what, ""))?;
    trace::open(&choice.file, format)
}

impl Workload for Replay {
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

    fn ended(&mut self, now: Time, at: Extent) {
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
        let mut notes = self.trace.counts().notes();
        let mut note = |count: u64, what: &str| {
            if count > 0 {
                notes.push(format!("{count} {what}"));
            }
        };
        note(self.held, "requests held, with those behind them, until an identical earlier one had ended");
        note(self.out_of_order, "records earlier than the one before them, replayed at its time");
        note(self.other_devices, "requests to other devices left out");
        notes.into_iter().map(|note| format!("{}: {note}", self.file)).collect()
    }
}
