//! The workloads of an experiment, asked of a live core.

use crate::memory::Slice;
use crate::world::{Hands, Source};
use block::{BadInput, Ending, RequestId, Span, Time};
use load::{Load, Mix};
use sched::Input;

/// A mix of workloads as a source.
pub struct Mixed {
    mix: Mix,
    end: Time,
    requests: Option<u64>,
    outstanding: u32,
    last: Time,
    failed: Option<BadInput>,
}

impl Mixed {
    /// Asks what the mix asks until a time, or until so many measured requests have ended.
    #[must_use]
    pub fn new(mix: Mix, end: Option<Time>, requests: Option<u64>) -> Mixed {
        Mixed { mix, end: end.unwrap_or(Time::NEVER), requests, outstanding: 0, last: Time::ZERO, failed: None }
    }

    /// What was measured, up to the end.
    ///
    /// # Errors
    /// Bad input met on the way.
    pub fn finish(mut self) -> Result<(load::Meter, Vec<String>), BadInput> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let end = if self.requests.is_some() || self.end == Time::NEVER { self.last } else { self.end };
        self.mix.meter_mut().close(end);
        Ok(self.mix.finish())
    }

    fn has_enough(&self) -> bool {
        self.requests.is_some_and(|most| self.mix.meter().requests() >= most)
    }
}

impl Source for Mixed {
    fn due(&self) -> Option<Time> {
        self.mix.due().filter(|due| !self.has_enough() && *due < self.end)
    }

    fn ask(&mut self, now: Time, room: u32, _: &mut Hands) -> Option<Input> {
        let due = self.mix.due().filter(|due| *due <= now && *due < self.end)?;
        if room == 0 || self.has_enough() || self.failed.is_some() {
            return None;
        }
        let said = self.mix.fire(now.max(due), Span::ZERO).unwrap_or_else(|error| {
            self.failed = Some(error);
            None
        });
        self.outstanding += u32::from(matches!(said, Some(Input::Submit(_))));
        said
    }

    fn memory(&mut self, _: RequestId, _: usize, _: usize) -> Option<Slice> {
        None
    }

    fn began(&mut self, now: Time, id: RequestId) {
        self.mix.began(now, id);
    }

    fn command(&mut self, issued: Time, ended: Time) {
        self.mix.meter_mut().command(issued, ended);
    }

    fn ended(&mut self, now: Time, id: RequestId, how: Ending, _: &mut Hands) {
        self.outstanding -= 1;
        self.last = now;
        if !self.has_enough() && now <= self.end {
            self.mix.ended(now, id, how);
        }
    }

    fn is_over(&self) -> bool {
        self.failed.is_some()
            || self.has_enough()
            || self.last >= self.end
            || self.mix.due().is_none_or(|due| due >= self.end)
    }
}
