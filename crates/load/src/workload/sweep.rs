//! Repairs from the first block to the last: rebuilding, once, or scrubbing, again and again.

use super::{Draft, Workload};
use block::{BadInput, Extent, Op, Span, Time};
use std::collections::VecDeque;

pub(super) struct Sweep {
    /// When each request that may be made arrives, in order.
    ready: VecDeque<Time>,
    next: u64,
    /// Blocks of the array, and of a request.
    all: u64,
    blocks: u32,
    again: bool,
    /// The least time between requests, where there is a cap.
    apart: Span,
    /// When the last was made.
    last: Option<Time>,
    ended: Option<Time>,
    outstanding: u32,
}

impl Sweep {
    /// So many at once from `start` on, on `all` blocks; of `rate` a second at most, if that is capped.
    pub(super) fn new(depth: u32, start: Span, all: u64, blocks: u32, again: bool, rate: Option<f64>) -> Sweep {
        Sweep {
            ready: vec![Time::ZERO + start; depth as usize].into(),
            next: 0,
            all,
            blocks,
            again,
            apart: rate.map_or(Span::ZERO, |rate| Span((1e9 / rate) as u64)),
            last: None,
            ended: None,
            outstanding: 0,
        }
    }
}

impl Workload for Sweep {
    fn due(&self) -> Option<Time> {
        let ready = *self.ready.front().filter(|_| self.next < self.all)?;
        Some(self.last.map_or(ready, |last| ready.max(last + self.apart)))
    }

    fn make(&mut self) -> Result<Draft, BadInput> {
        let arrives = self.due().unwrap_or(Time::NEVER);
        self.ready.pop_front();
        self.last = Some(arrives);
        let blocks = (self.all - self.next).min(u64::from(self.blocks)) as u32;
        let at = Extent::new(self.next, blocks);
        self.next += u64::from(blocks);
        if self.again && self.next == self.all {
            self.next = 0;
        }
        self.outstanding += 1;
        Ok(Draft { arrives, op: Op::Repair, at })
    }

    fn ended(&mut self, now: Time, _: Extent) {
        self.ready.push_back(now);
        self.outstanding -= 1;
        if self.next == self.all && self.outstanding == 0 {
            self.ended = Some(now);
        }
    }

    fn notes(&self) -> Vec<String> {
        if self.again {
            return Vec::new();
        }
        vec![match self.ended {
            Some(end) => format!("all of it was repaired after {:.1} s", end.as_secs()),
            None => format!("{:.1} % was repaired", 100.0 * self.next as f64 / self.all.max(1) as f64),
        }]
    }
}
