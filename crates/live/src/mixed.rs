//! The workloads of an experiment, asked of a live core.

use crate::memory::Slice;
use crate::world::{Hands, RequestSource};
use block::{BadInput, Ending, Extent, RequestId, Span, Time};
use load::{Bills, Load, Mix, Served, divide_believed};
use sched::{Bill, Found, Input};

/// How far a run is, as a share of it.
pub type ProgressFn<'a> = &'a dyn Fn(f64);

/// So much more of a run is worth telling.
const STEP: f64 = 0.002;

/// A mix of workloads as a source.
pub struct Mixed<'a> {
    mix: Mix,
    end: Time,
    requests: Option<u64>,
    last: Time,
    failed: Option<BadInput>,
    /// When nothing comes back for so long, the run is over.
    patience: Span,
    given_up: bool,
    watch: ProgressFn<'a>,
    told: f64,
    /// What of the device's time each class caused, where the core says who pays.
    bills: Option<Bills>,
}

impl<'a> Mixed<'a> {
    /// Asks what the mix asks until a time, or until so many measured requests have ended, or until nothing comes back for longer
    /// than `patience`; tells how far it is.
    #[must_use]
    pub fn new(mix: Mix, end: Option<Time>, requests: Option<u64>, patience: Span, watch: ProgressFn<'a>) -> Mixed<'a> {
        let end = end.unwrap_or(Time::NEVER);
        let (last, failed, given_up, told) = (Time::ZERO, None, false, 0.0);
        Mixed { mix, end, requests, last, failed, patience, given_up, watch, told, bills: None }
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
        if let Some(bills) = self.bills.take() {
            self.mix.meter_mut().set_bills(bills);
        }
        Ok(self.mix.finish())
    }

    /// When it asks next.
    fn next(&self) -> Option<Time> {
        self.mix.due().filter(|due| !self.has_enough() && *due < self.end)
    }

    /// Tells how far it is, where that is more than before.
    fn tell(&mut self, now: Time) {
        let share = |of: u64, all: u64| of as f64 / all.max(1) as f64;
        let done = match self.requests {
            Some(most) => share(self.mix.meter().requests_served(), most),
            None => share(now.0, self.end.0),
        };
        if done >= self.told + STEP {
            self.told = done;
            (self.watch)(done.min(1.0));
        }
    }

    /// Whether it waits for what is read in any order.
    fn scans(&self) -> bool {
        self.mix.scans() && !self.has_enough()
    }

    /// Whether what ends now is counted.
    fn counts(&self, now: Time) -> bool {
        !self.has_enough() && now <= self.end
    }

    fn has_enough(&self) -> bool {
        self.requests.is_some_and(|most| self.mix.meter().requests_served() >= most)
    }
}

impl RequestSource for Mixed<'_> {
    fn due(&self, room: u32) -> Option<Time> {
        self.next().filter(|_| room > 0)
    }

    fn ask(&mut self, now: Time, room: u32, _: &mut Hands) -> Option<Input> {
        if room == 0 || self.failed.is_some() || self.next()? > now {
            return None;
        }
        self.mix.fire(now, Span::ZERO).unwrap_or_else(|error| {
            self.failed = Some(error);
            None
        })
    }

    fn memory(&mut self, _: RequestId, _: usize, _: usize) -> Option<Slice> {
        None
    }

    fn on_start(&mut self, now: Time, id: RequestId) {
        self.mix.begin_request(now, id);
    }

    fn command(&mut self, issued: Time, ended: Time) {
        self.mix.meter_mut().command(issued, ended);
    }

    fn on_arm_time(&mut self, _: Option<RequestId>, bill: &Bill, (from, until): (Time, Time)) {
        if from >= self.mix.meter().from() && self.counts(until) {
            let bills = self.bills.get_or_insert_default();
            divide_believed(bill, until.since(from))
                .into_iter()
                .for_each(|(class, part, span)| bills.add(class, part, span));
        }
    }

    fn take_record(&mut self, now: Time, id: RequestId) -> Option<Served> {
        if self.counts(now) { self.mix.take_served(now, id) } else { None }
    }

    fn on_end(&mut self, now: Time, id: RequestId, how: Ending, _: &mut Hands) {
        self.last = now;
        if self.counts(now) {
            self.mix.end_request(now, id, how);
            self.tell(now);
        }
    }

    fn on_found(&mut self, now: Time, at: Extent, found: Found, _: Option<&Slice>) {
        self.last = now;
        if self.counts(now) {
            self.mix.hand_on(now, at, found);
            self.tell(now);
        }
    }

    fn gives_up_at(&self, last: Time) -> Option<Time> {
        Some(last + self.patience)
    }

    fn give_up(&mut self, _: Time) {
        self.given_up = true;
    }

    fn has_given_up(&self) -> bool {
        self.given_up
    }

    fn is_over(&self) -> bool {
        self.given_up || self.failed.is_some() || self.last >= self.end || (self.next().is_none() && !self.scans())
    }
}
