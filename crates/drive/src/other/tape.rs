//! A serpentine tape: even wraps run from the beginning of the tape to its end, odd ones back. What lies a wrap's length
//! on may be beside the head, and what comes next at a turn is on another wrap.

use super::Timing;
use crate::account::Parts;
use block::{BLOCK_BYTES, Command, Extent, Lbn, Span, Time, Verb};
use disk::other;

/// A tape drive, one head on a long path.
pub(super) struct Tape {
    tape: other::Tape,
    wrap_blocks: u64,
    ns_per_block: f64,
    /// The block after the last one that passed; nothing has yet where it is 0.
    next: Lbn,
    /// When the last command was complete.
    free: Time,
}

/// Where a block begins or ends.
#[derive(Clone, Copy)]
struct TapeSpot {
    wrap: u64,
    /// Blocks from the beginning of the tape.
    along: u64,
}

impl Tape {
    pub(super) fn new(tape: &other::Tape) -> Tape {
        Tape {
            tape: tape.clone(),
            wrap_blocks: tape.wrap_blocks(),
            ns_per_block: BLOCK_BYTES as f64 * 1e3 / tape.mb_s,
            next: Lbn(0),
            free: Time::ZERO,
        }
    }

    /// Where `block` begins, or ends if `passed` is 1.
    fn spot(&self, block: u64, passed: u64) -> TapeSpot {
        let (wrap, off) = (block / self.wrap_blocks, block % self.wrap_blocks + passed);
        TapeSpot { wrap, along: if wrap.is_multiple_of(2) { off } else { self.wrap_blocks - off } }
    }

    /// Where the head is.
    fn here(&self) -> TapeSpot {
        if self.next.0 == 0 { self.spot(0, 0) } else { self.spot(self.next.0 - 1, 1) }
    }

    fn wraps(&self, count: u64) -> Span {
        Span(self.tape.wrap_change.0.saturating_mul(count))
    }

    /// What it takes until the tape streams past where `at` begins.
    fn position(&self, began: Time, at: Extent) -> Parts {
        let (here, there) = (self.here(), self.spot(at.start.0, 0));
        let mut parts = Parts::default();
        if here.wrap != there.wrap {
            parts.switch = self.tape.wrap_change;
        }
        let stopped = began.since(self.free) > self.tape.stops_after || self.next.0 == 0;
        if at.start == self.next && !stopped {
            return parts;
        }
        let share = here.along.abs_diff(there.along) as f64 / self.wrap_blocks as f64;
        parts.seek = Span((self.tape.full_length.0 as f64 * share + 0.5) as u64);
        parts.settle = self.tape.start;
        parts
    }
}

impl Timing for Tape {
    fn serve(&mut self, now: Time, Command { verb, at, .. }: Command) -> Parts {
        if verb == Verb::Flush {
            // What is complete is kept.
            return Parts::default();
        }
        let began = now.max(self.free);
        let mut parts = self.position(began, at);
        let crossed = (at.end().0 - 1) / self.wrap_blocks - at.start.0 / self.wrap_blocks;
        parts.switch += self.wraps(crossed);
        parts.transfer = Span((f64::from(at.blocks) * self.ns_per_block + 0.5) as u64);
        parts.queued = began.since(now);
        self.next = at.end();
        self.free = now + parts.total();
        parts
    }
}
