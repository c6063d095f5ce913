//! Learning while nobody needs the device (002 §6.2, its further work).
//!
//! What lies between two requests of late is a distance that will be asked about. Of some such the one of which least is
//! known is tried as 002 §5 probes: from a random place, which is read first. A read follows at once on the one before it,
//! or it is not learned from.
//!
//! **Idle time teaches what will be asked.** Distances between requests of late are those that the next ones will lie
//! apart. Of a few such a Mimic probes the one of which least is known (`probe_after`), from a random place that is
//! read first, since after a pause nothing is learned. The core sends a probe only while it has no job and no command
//! in flight: what comes waits for one. The device cannot know whose command it is; the world takes the time of
//! probes from busy to background.

use super::probe::place;
use super::{Grain, draw};
use block::{Extent, Lbn, Span};
use std::cmp::Reverse;

/// How many recent requests it remembers.
const LATE: usize = 64;
/// Distances of which one is chosen.
const CHOICE: usize = 16;

/// How idle time is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idle {
    /// How long the device is left alone before the first probe.
    pub after: Span,
    /// Samples after which a distance is known well enough.
    pub enough: u8,
    /// Blocks a probe reads.
    pub blocks: u32,
}

/// What it would like to know.
pub(super) struct Curiosity {
    pub(super) how: Idle,
    /// The requests of late, in no order.
    late: Vec<Extent>,
    /// Of all requests the first block, and the one after the last.
    range: (u64, u64),
    asked: u64,
    /// A read that is to begin so far from this end of the one before.
    wanted: Option<(Lbn, Extent)>,
    draws: u64,
}

impl Curiosity {
    pub(super) fn new(how: Idle) -> Curiosity {
        Curiosity { how, late: Vec::new(), range: (u64::MAX, 0), asked: 0, wanted: None, draws: 0 }
    }

    /// A request goes to the device.
    pub(super) fn note_request(&mut self, at: Extent) {
        self.range = (self.range.0.min(at.start.0), self.range.1.max(at.end().0));
        if self.late.len() < LATE {
            self.late.push(at);
        } else {
            self.late[(self.asked % LATE as u64) as usize] = at;
        }
        self.asked += 1;
    }

    /// What to read next with the arm at `arm`, of which `known` tells the samples of a distance; nothing where all is known
    /// well enough. Whether it `follows` at once on another.
    pub(super) fn probe(&mut self, arm: Lbn, follows: bool, grain: Grain, known: impl Fn(i32) -> u8) -> Option<Extent> {
        if let Some((_, wanted)) = self.wanted.take().filter(|(from, _)| follows && *from == arm) {
            return Some(wanted);
        }
        let step = self.choose(grain, known)?;
        let (length, range) = (self.how.blocks, self.range);
        let blocks = (range.1 - range.0) as i64;
        let start =
            range.0 + place(blocks, i64::from(length), step, &mut |below| draw(&mut self.draws) % below)? as u64;
        let first = Extent { start: Lbn(start), blocks: length };
        let wanted = Extent { start: Lbn(first.end().0.wrapping_add_signed(step)), blocks: length };
        self.wanted = Some((first.end(), wanted));
        Some(first)
    }

    /// Of some distances in blocks between requests of late, the one of which least is known; of such the nearest.
    fn choose(&mut self, grain: Grain, known: impl Fn(i32) -> u8) -> Option<i64> {
        let count = self.late.len() as u64;
        let mut best = None;
        for _ in 0..if count > 1 { CHOICE } else { 0 } {
            let from = draw(&mut self.draws) % count;
            let to = (from + 1 + draw(&mut self.draws) % (count - 1)) % count;
            let step = self.late[to as usize].start.0 as i64 - self.late[from as usize].end().0 as i64;
            let least = Reverse((known(grain.of(step)), step.unsigned_abs(), step));
            best = best.max(Some(least));
        }
        best.filter(|Reverse((samples, ..))| *samples < self.how.enough).map(|Reverse((.., step))| step)
    }
}
