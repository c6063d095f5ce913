//! Data on their way to the host while the medium is still being read.

use crate::Piece;
use block::{Span, Time};

/// The way of a read's data over the bus, in the order of its blocks.
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    /// Bus time of a block in 2⁻¹⁶ ns.
    bus: u64,
    /// Taken before data begin to go.
    reselect: Span,
    /// Blocks still to be in the buffer before data begin to go; none once they go.
    gate: u64,
    /// Blocks in the buffer that wait for that.
    held: u64,
    /// Blocks of the next sector that nobody wants: the first may begin before what is wanted.
    lead: u64,
    /// Blocks not yet told of.
    left: u64,
    /// When the last block told of is, or would be, with the host, and 2⁻¹⁶ ns beyond.
    at: Time,
    fraction: u64,
    /// Since when data go without a break.
    since: Time,
}

impl Delivery {
    /// Of `blocks` blocks, behind `lead` of their first sector, of which a share of `watermark` must be there before they
    /// begin to go, no earlier than `from`. `bus` is the time of a block in 2⁻¹⁶ ns, see [`crate::Bus::block_time`].
    #[must_use]
    #[inline]
    pub fn new(bus: u64, (lead, blocks): (u64, u64), watermark: f64, from: Time, reselect: Span) -> Delivery {
        let gate = if watermark == 0.0 { 1 } else { ((blocks as f64 * watermark) as u64).max(1) };
        Delivery { bus, reselect, gate, held: 0, lead, left: blocks, at: from, fraction: 0, since: from }
    }

    fn time(&self, blocks: u64) -> Span {
        Span((self.bus * blocks) >> 16)
    }

    /// The next sectors, of 2^`shift` blocks, are in the buffer. A block can go when its sector has passed.
    #[inline(always)]
    #[must_use]
    pub fn with_piece(self, piece: Piece, shift: u32) -> Delivery {
        let blocks = ((piece.sectors << shift) - self.lead).min(self.left);
        let last = blocks - (((piece.sectors - 1) << shift).saturating_sub(self.lead)).min(blocks);
        // The common case: a bus faster than the medium, which has nothing to catch up with.
        let fast = self.time(piece.sectors << shift) <= piece.end.since(piece.began) && self.held == 0;
        if self.gate <= 1 && self.at <= piece.began && fast && self.reselect == Span::ZERO {
            let (at, left) = (piece.end + self.time(last), self.left - blocks);
            return Delivery { gate: 0, at, fraction: 0, since: piece.end, lead: 0, left, ..self };
        }
        self.catch_up(piece, shift, (blocks, last))
    }

    /// The same where the bus is behind, or waits for more.
    #[inline(always)]
    fn catch_up(mut self, piece: Piece, shift: u32, (blocks, last): (u64, u64)) -> Delivery {
        let lead = std::mem::take(&mut self.lead);
        self.left -= blocks;
        let passing = piece.end.since(piece.began);
        if self.gate > blocks {
            self.gate -= blocks;
            self.held += blocks;
            self.at = self.at.max(piece.end);
            return self;
        }
        let passed = |sectors: u64| piece.began + Span(passing.0 * sectors / piece.sectors.max(1));
        let (gate, held) = (std::mem::take(&mut self.gate), std::mem::take(&mut self.held));
        // Once data go, the next begin with their first sector.
        let (opens, reselect) = if gate > 0 { ((gate - 1 + lead) >> shift, self.reselect) } else { (0, Span::ZERO) };
        self.begin_at(passed(opens + 1), reselect);
        self.send(held + blocks);
        if lead > 0 && piece.sectors > 1 {
            self.wait_for(passed(2) + self.time(blocks - ((1 << shift) - lead)));
        }
        self.wait_for(piece.end + self.time(last));
        self
    }

    /// What comes next goes from `open` on, after `reselect`; where more waits already, without a break.
    #[inline(always)]
    fn begin_at(&mut self, open: Time, reselect: Span) {
        if open > self.at {
            self.since = open + reselect;
        }
        self.wait_for(open);
        self.at += reselect;
    }

    /// Nothing more goes, or nothing has gone, before `time`.
    #[inline(always)]
    fn wait_for(&mut self, time: Time) {
        if time > self.at {
            (self.at, self.fraction) = (time, 0);
        }
    }

    /// So many blocks go. Of how many tracks they came nobody must see: fractions of a nanosecond are kept.
    #[inline(always)]
    fn send(&mut self, blocks: u64) {
        let span = self.bus * blocks + self.fraction;
        self.at += Span(span >> 16);
        self.fraction = span & 0xFFFF;
    }

    /// Since when the last of it goes without a break.
    #[must_use]
    pub fn since(&self) -> Time {
        self.since
    }

    /// When all of it is with the host.
    ///
    /// # Panics
    /// In debug builds, if not all of it was taken.
    #[must_use]
    #[inline]
    pub fn end(self) -> Time {
        debug_assert!(self.gate == 0 && self.left == 0, "{self:?}");
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten sectors of a block each, 10 ns apart.
    fn piece(began: u64) -> Piece {
        Piece { began: Time(began), end: Time(began + 100), sectors: 10 }
    }

    fn delivered(bus: u64, watermark: f64, pieces: &[Piece]) -> Time {
        let blocks = pieces.iter().map(|piece| piece.sectors).sum();
        let mut delivery = Delivery::new(bus << 16, (0, blocks), watermark, Time::ZERO, Span(0));
        for piece in pieces {
            delivery = delivery.with_piece(*piece, 0);
        }
        delivery.end()
    }

    #[test]
    fn a_fast_bus_adds_the_last_block_and_a_slow_one_sets_the_pace() {
        assert_eq!(delivered(2, 0.0, &[piece(1000)]), Time(1102));
        assert_eq!(delivered(20, 0.0, &[piece(1000)]), Time(1010 + 200));
        assert_eq!(delivered(20, 0.0, &[piece(1000), piece(1500)]), Time(1510 + 200));
        assert_eq!(delivered(70, 0.0, &[piece(1000), piece(1500)]), Time(1010 + 1400));
    }

    #[test]
    fn a_block_goes_when_its_sector_has_passed() {
        // Two sectors of eight blocks, 50 ns apart; wanted is what follows the first three.
        let piece = Piece { began: Time(1000), end: Time(1100), sectors: 2 };
        let delivered = |bus: u64| {
            let delivery = Delivery::new(bus << 16, (3, 13), 0.0, Time::ZERO, Span(0));
            delivery.with_piece(piece, 3).end()
        };
        assert_eq!([1, 6, 20].map(delivered), [Time(1108), Time(1148), Time(1050 + 260)]);
    }

    #[test]
    fn a_watermark_holds_the_data_back() {
        assert_eq!(delivered(20, 1.0, &[piece(1000)]), Time(1100 + 200));
        assert_eq!(delivered(20, 0.5, &[piece(1000)]), Time(1050 + 200));
        assert_eq!(delivered(20, 1.0, &[piece(1000), piece(1500)]), Time(1600 + 400));
    }

    #[test]
    fn what_was_taken_before_goes_as_soon_as_its_turn_comes() {
        let beginning = Piece { began: Time(900), end: Time(940), sectors: 4 };
        let rest = Piece { began: Time(940), end: Time(940), sectors: 6 };
        assert_eq!(delivered(2, 0.0, &[beginning, rest]), Time(942 + 12));
    }
}
