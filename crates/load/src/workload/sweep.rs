//! Repairs from the first block to the last: rebuilding, once, or scrubbing, again and again.
//!
//! **Rebuilding is a load.** `Op::Repair` reads all that is kept of an extent and writes what is missing of it.
//! Rebuilding and scrubbing are workloads of such requests, with a class, a pace and results like any other.

use super::kind::{MOST_AT_ONCE, Manual, Recipe};
use super::{Draft, Workload, open};
use crate::draw::Draw;
use block::{BadInput, Extent, Op, Span, Time};
use config::{About, Section};
use std::collections::VecDeque;
use std::path::Path;

config::keys! {
    /// Size of each request.
    SIZE: u32 = blocks("size").usually("256KiB");
    /// Requests outstanding at once.
    DEPTH: u32 = within("depth", 1, MOST_AT_ONCE).usually("1");
    /// When the first request arrives.
    START: Span = span("start").usually("0s");
    /// Most requests in a given time.
    RATE: f64 = rate("rate").else_told("no cap");
}

/// Both kinds have the same keys.
const KEYS: &[About] = &[SIZE.about, DEPTH.about, START.about, RATE.about];

/// The array is read from its first block to its last, and what is missing of it brought back.
#[derive(Clone, Debug, PartialEq)]
pub struct RepairPlan {
    /// Blocks of a request; at least 1.
    pub blocks: u32,
    /// How many at once.
    pub depth: u32,
    /// The time at which it begins.
    pub start: Span,
    /// Whether it begins anew at the end: scrubbing.
    pub again: bool,
    /// Requests a second at most, where there is a cap.
    pub rate: Option<f64>,
}

const REBUILD: Manual = Manual {
    name: "rebuild",
    text: "An `[array]` is read once from its first block to its last, and what is missing of it is written: the rebuild after a disk was replaced.",
    keys: KEYS,
    only: &[],
    example: "kind = \"rebuild\"\nsize = \"1MiB\"\nrate = \"20/s\"",
    processes: false,
};

const SCRUB: Manual = Manual {
    name: "scrub",
    text: "An `[array]` is read from its first block to its last, again and again, and what cannot be read is written anew.",
    keys: KEYS,
    only: &[],
    example: "kind = \"scrub\"\nrate = \"2/s\"",
    processes: false,
};

impl Recipe for RepairPlan {
    const MANUALS: &'static [Manual] = &[REBUILD, SCRUB];

    fn read(name: &str, section: &Section, _: &Path) -> Result<RepairPlan, BadInput> {
        Ok(RepairPlan {
            blocks: section.value(&SIZE)?,
            depth: section.value(&DEPTH)?,
            start: section.value(&START)?,
            again: name == SCRUB.name,
            rate: open::rate(section, &RATE)?,
        })
    }

    fn build(&self, _: &str, blocks: u64, _: Draw) -> Result<Box<dyn Workload>, BadInput> {
        Ok(Box::new(Sweep::new(self, blocks)))
    }

    fn longest(&self) -> u32 {
        self.blocks
    }

    fn is_endless(&self) -> bool {
        self.again
    }

    fn repairs(&self) -> bool {
        true
    }
}

struct Sweep {
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
    /// The requests of a plan on an array of `all` blocks.
    fn new(plan: &RepairPlan, all: u64) -> Sweep {
        Sweep {
            ready: vec![Time::ZERO + plan.start; plan.depth as usize].into(),
            next: 0,
            all,
            blocks: plan.blocks,
            again: plan.again,
            apart: plan.rate.map_or(Span::ZERO, |rate| Span((1e9 / rate) as u64)),
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

    fn end_request(&mut self, now: Time, _: Extent) {
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
