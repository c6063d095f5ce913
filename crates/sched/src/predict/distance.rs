//! Plain distance: a request costs as many ticks as its first block is away from the last one commanded.

use super::{Knowledge, Manual, OrderBasis, Predictor, Recipe, Tells};
use block::{Command, Direction, Extent, Lbn, Outcome, Span, Time};

/// Knows nothing but block numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Distance {
    arm: Lbn,
}

impl Recipe for Distance {
    const MANUAL: Manual = Manual {
        name: "distance",
        text: "Takes it that what is farther by block number takes longer. It needs to know nothing of the device.",
        keys: &[],
        table: None,
        example: "predictor = \"distance\"",
        tells: Tells::Order,
    };

    fn make(_: &Knowledge, _: u64) -> Option<Distance> {
        Some(Distance::default())
    }
}

impl Predictor for Distance {
    type Spot = Lbn;
    type Mark = ();
    type Head = Lbn;

    fn spot(&self, at: Extent) -> Lbn {
        at.start
    }

    fn key(&self, spot: Lbn) -> u64 {
        spot.0
    }

    fn mark(&self, _: Lbn) {}

    fn head(&self, _: Time) -> (Lbn, u64) {
        (self.arm, self.arm.0)
    }

    fn head_behind(&self, block: Lbn, _: Time) -> (Lbn, u64) {
        (block, block.0)
    }

    fn cost(&self, head: &Lbn, key: u64, (): (), _: Direction) -> u64 {
        head.0.abs_diff(key)
    }

    fn least(&self, head: &Lbn, from: u64, to: u64, _: Direction) -> u64 {
        head.0.abs_diff(head.0.clamp(from, to))
    }

    fn is_told_closer(&self, _: u64, _: u64) -> bool {
        false
    }

    fn head_after(&self, _: &Lbn, at: Extent, _: Lbn, _: Direction) -> (Lbn, u64) {
        (at.end(), at.end().0)
    }

    /// A block counts as a microsecond.
    fn ticks(&self, span: Span) -> u64 {
        span.0 / 1000
    }

    fn arm(&self) -> Lbn {
        self.arm
    }

    fn note_issue(&mut self, _: Time, command: &Command, _: Lbn) {
        if command.verb.transfers() {
            self.arm = command.at.end();
        }
    }

    fn order_basis(&self) -> OrderBasis {
        OrderBasis::Distance
    }

    fn note_completion(&mut self, _: Time, _: &Command, _: Outcome) {}
}
