//! The way between medium and host: by how much a command comes back later than the medium is done with it, where the bus is
//! slower than the medium, waits for a share of the blocks or reports completion late; and when a write has its data.

use block::{BLOCK_BYTES, Extent, Span, Time};
use disk::{Mechanics, Overheads, Passage, Piece, Sheet, Spin, Spot};

/// What a sheet says of the way.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    /// Bus time of a block in 2⁻¹⁶ ns.
    block: u64,
    watermark: f64,
    write_watermark: f64,
    overheads: Overheads,
    shift: u32,
    /// Whether the bus keeps up with the medium wherever it is and begins at once: then only the last block counts.
    keeps_up: bool,
}

impl Way {
    pub(crate) fn new(sheet: &Sheet) -> Way {
        let layout = &sheet.mechanics.layout;
        let block = sheet.bus.mb_s.map_or(0.0, |rate| BLOCK_BYTES as f64 * 1e3 / rate * 65536.0) as u64;
        let fastest = layout.longest_track() << layout.sector_shift();
        let pace = sheet.mechanics.rotation.period_ns() * 65536.0 / f64::from(fastest.max(1));
        let keeps_up = block as f64 <= pace && sheet.bus.watermark == 0.0 && sheet.overheads.reselect == Span::ZERO;
        Way {
            block,
            watermark: sheet.bus.watermark,
            write_watermark: sheet.bus.write_watermark,
            overheads: sheet.overheads,
            shift: layout.sector_shift(),
            keeps_up,
        }
    }

    /// Whether the bus keeps up with the medium.
    pub(crate) fn keeps_up(&self) -> bool {
        self.keeps_up
    }

    /// So many blocks on the bus.
    pub(crate) fn time(&self, blocks: u32) -> Span {
        Span((self.block * u64::from(blocks)) >> 16)
    }

    /// What is wanted of the last sector of `at`, on the bus: a block goes when its sector has passed.
    pub(crate) fn last(&self, at: Extent) -> Span {
        let within = (at.end().0 - 1) & ((1 << self.shift) - 1);
        self.time((within as u32 + 1).min(at.blocks))
    }

    /// A read of `at` from `arrived` on, and by how much it comes back later than its last block has passed; its data go to
    /// the host no earlier than `from`.
    pub(crate) fn read(
        &self,
        mechanics: &Mechanics,
        spin: &impl Spin,
        arrived: Time,
        spot: Spot,
        at: Extent,
        from: Time,
    ) -> (Passage, Span) {
        let done = self.overheads.done.read;
        if self.keeps_up {
            let passage = mechanics.pass(spin, arrived, spot, at, false);
            let stall = self.overheads.stall(at.blocks, false, &passage);
            return (passage, self.last(at) + stall + done);
        }
        let mut sent = Sent::new(self, at, from);
        let passage = mechanics.pass_each(spin, arrived, spot, at, false, |piece| sent.take(piece));
        let stall = self.overheads.stall(at.blocks, false, &passage);
        (passage, sent.at.since(passage.end) + stall + done)
    }

    /// When a write that is given at `now` has sent enough of its data for the head to begin.
    pub(crate) fn write_from(&self, now: Time, overhead: Span, sector: Span, at: Extent, continues: bool) -> Time {
        let sectors = (u64::from(at.blocks) >> self.shift).max(1);
        let first = now + overhead + self.time(1 << self.shift);
        let last = first + self.time(at.blocks).less(self.time(1 << self.shift));
        let streaming = first.max(Time(last.0.saturating_sub(sector.0 * (sectors - 1))));
        let held = if continues { 0.0 } else { self.write_watermark };
        streaming + Span((last.since(streaming).0 as f64 * held) as u64)
    }

    /// From when the medium is done with a write until it comes back.
    pub(crate) fn written(&self, blocks: u32, passage: &Passage) -> Span {
        self.overheads.stall(blocks, true, passage) + self.overheads.done.write
    }
}

/// The blocks of a read on the bus, in their order.
struct Sent<'a> {
    way: &'a Way,
    /// Blocks still to be in the buffer before data begin to go; none once they go.
    gate: u64,
    /// Blocks in the buffer that wait for that.
    held: u64,
    left: u64,
    /// Blocks of the next sector before those that are wanted.
    lead: u64,
    at: Time,
}

impl Sent<'_> {
    fn new(way: &Way, at: Extent, from: Time) -> Sent<'_> {
        let gate = ((f64::from(at.blocks) * way.watermark) as u64).max(1);
        let lead = at.start.0 & ((1 << way.shift) - 1);
        Sent { way, gate, held: 0, left: u64::from(at.blocks), lead, at: from }
    }

    fn take(&mut self, piece: Piece) {
        let lead = std::mem::take(&mut self.lead);
        let mut blocks = ((piece.sectors << self.way.shift) - lead).min(self.left);
        self.left -= blocks;
        let last = blocks - ((piece.sectors - 1) << self.way.shift).saturating_sub(lead).min(blocks);
        if self.gate > blocks {
            self.gate -= blocks;
            self.held += blocks;
            self.at = self.at.max(piece.end);
            return;
        }
        let each = piece.end.since(piece.began).0 / piece.sectors.max(1);
        let mut first = piece.began + Span(each);
        if self.gate > 0 {
            let before = (self.gate - 1 + lead) >> self.way.shift;
            first = (first + Span(each * before)).max(self.at) + self.way.overheads.reselect;
            blocks += self.held;
            (self.gate, self.at) = (0, first);
        }
        self.at = (self.at.max(first) + self.way.time(blocks as u32)).max(piece.end + self.way.time(last as u32));
    }
}
