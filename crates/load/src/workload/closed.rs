//! A closed loop: a fixed number of requests outstanding, each followed by the next after a think time.

use super::kind::{MOST_AT_ONCE, Manual, Recipe};
use super::pattern::{self, Addresses, Pattern, Region};
use super::{Draft, Workload};
use crate::draw::Draw;
use block::{BadInput, Extent, Op, Span, Time};
use config::Section;
use std::collections::VecDeque;
use std::path::Path;

config::keys! {
    /// Requests outstanding, the one in service among them: a scheduler chooses from one less.
    DEPTH: u32 = within("depth", 1, MOST_AT_ONCE).required();
    /// Time from the end of a request to the arrival of the next.
    THINK: Span = span("think").usually("0s");
}

/// So many clients, each asking again when its request has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct ClosedPlan {
    /// How many; at least 1.
    pub depth: u32,
    /// How long each waits before it asks again.
    pub think: Span,
    /// What the clients ask for.
    pub pattern: Pattern,
    /// Requests of an operation; 1 where each is for itself.
    pub cascade: u32,
}

impl Recipe for ClosedPlan {
    const MANUALS: &'static [Manual] = &[Manual {
        name: "closed",
        text: "A fixed number of requests is outstanding: when one ends, the next arrives. This measures what a drive can do at a given depth.",
        keys: &[
            DEPTH.about,
            THINK.about,
            pattern::SIZE.about,
            pattern::SIZES.about,
            pattern::READ.about,
            pattern::CASCADE.about,
            pattern::AT.about,
            pattern::VOLUME.about,
            pattern::REGION.about,
            pattern::ALIGN.about,
        ],
        only: &[],
        example: "kind = \"closed\"\ndepth = 8\nsize = \"64KiB\"\nat = \"sequential\"",
        processes: false,
    }];

    fn read(_: &str, section: &Section, _: &Path) -> Result<ClosedPlan, BadInput> {
        let (depth, think) = (section.value(&DEPTH)?, section.value(&THINK)?);
        Ok(ClosedPlan { depth, think, pattern: Pattern::read_varied(section)?, cascade: section.value(&pattern::CASCADE)? })
    }

    fn build(&self, name: &str, blocks: u64, draw: Draw) -> Result<Box<dyn Workload>, BadInput> {
        let addresses = Addresses::new(name, &self.pattern, blocks, draw)?;
        Ok(Box::new(Closed::new(self.depth, self.think, addresses)))
    }

    fn longest(&self) -> u32 {
        self.pattern.longest()
    }

    fn length(&self) -> Option<u32> {
        self.pattern.length()
    }

    fn cascade(&self) -> u32 {
        self.cascade
    }

    fn is_endless(&self) -> bool {
        true
    }

    fn outstanding(&self) -> Option<u32> {
        Some(self.depth)
    }

    fn renewal(&self) -> Option<(u32, Span)> {
        Some((self.depth, self.think))
    }

    fn confine(&mut self, region: Region) {
        self.pattern.region = region;
    }
}

struct Closed {
    /// When each request that may be made arrives, in order.
    ready: VecDeque<Time>,
    think: Span,
    addresses: Addresses,
}

impl Closed {
    fn new(depth: u32, think: Span, addresses: Addresses) -> Closed {
        Closed { ready: vec![Time::ZERO; depth as usize].into(), think, addresses }
    }
}

impl Workload for Closed {
    fn due(&self) -> Option<Time> {
        self.ready.front().copied()
    }

    #[inline(always)]
    fn make(&mut self) -> Result<Draft, BadInput> {
        let arrives = self.ready.pop_front().unwrap_or(Time::NEVER);
        let (op, at) = self.addresses.draft();
        Ok(Draft { arrives, op, at })
    }

    fn end_request(&mut self, now: Time, _: Extent) {
        self.ready.push_back(now + self.think);
    }

    fn follow(&mut self) -> Option<(Op, Extent)> {
        Some(self.addresses.draft())
    }
}
