//! The way between medium and host: by how much a command comes back later than the medium is done with it, where the bus is
//! slower than the medium, waits for a share of the blocks or reports completion late; and when a write has its data.

use block::{Direction, Extent, Span, Time};
use disk::{Bus, Delivery, Mechanics, Overheads, Passage, Sheet, Spin, Spot};

/// What a sheet says of the way.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    bus: Bus,
    /// Time of a block on the bus, in 2⁻¹⁶ ns, of a read and of a write.
    read_block: u64,
    write_block: u64,
    /// Blocks of a segment of the cache.
    segment: u32,
    overheads: Overheads,
    shift: u32,
    /// Whether the bus keeps up with the medium wherever it is and begins at once: then only the last block counts.
    keeps_up: bool,
}

impl Way {
    pub(crate) fn new(sheet: &Sheet) -> Way {
        let layout = &sheet.mechanics.layout;
        let bus = sheet.bus;
        let read_block = bus.block_time(Direction::Read);
        let fastest = layout.longest_track() << layout.sector_shift();
        // In 65536ths of a ns, as `block_time` has it.
        let pace = sheet.mechanics.rotation.period_ns() * 65536.0 / f64::from(fastest.max(1));
        let keeps_up = read_block as f64 <= pace && bus.watermark == 0.0 && sheet.overheads.reselect == Span::ZERO;
        Way {
            bus,
            read_block,
            write_block: bus.block_time(Direction::Write),
            segment: sheet.cache.segment,
            overheads: sheet.overheads,
            shift: layout.sector_shift(),
            keeps_up,
        }
    }

    /// Whether the bus keeps up with the medium.
    pub(crate) fn keeps_up(&self) -> bool {
        self.keeps_up
    }

    /// So many blocks of a read on the bus.
    pub(crate) fn time(&self, blocks: u32) -> Span {
        Span((self.read_block * u64::from(blocks)) >> 16)
    }

    /// So many blocks of a write on the bus.
    pub(crate) fn write_time(&self, blocks: u32) -> Span {
        Span((self.write_block * u64::from(blocks)) >> 16)
    }

    /// What is wanted of the last sector of `at`, on the bus: a block goes when its sector has passed.
    #[inline(always)]
    pub(crate) fn last(&self, at: Extent) -> Span {
        let within = (at.end().0 - 1) & ((1 << self.shift) - 1);
        self.time((within as u32 + 1).min(at.blocks))
    }

    /// A read of `at` from `arrived` on, and by how much it comes back later than its last block has passed; its data go to
    /// the host no earlier than `from`.
    #[inline(always)]
    pub(crate) fn read(
        &self,
        mechanics: &Mechanics,
        spin: &impl Spin,
        arrived: Time,
        spot: Spot,
        at: Extent,
        from: Time,
    ) -> (Passage, Span) {
        if self.keeps_up {
            let passage = mechanics.pass(spin, arrived, spot, at, Direction::Read);
            return (passage, self.read_lag(at, &passage));
        }
        self.read_behind(mechanics, spin, arrived, spot, at, from)
    }

    /// By how much a read of `at` comes back later than its last block has passed, where the bus keeps up with the medium.
    #[inline(always)]
    pub(crate) fn read_lag(&self, at: Extent, passage: &Passage) -> Span {
        self.last(at) + self.overheads.stall(at.blocks, Direction::Read, passage) + self.overheads.done.read
    }

    /// A read as `read` has it, where the bus does not keep up with the medium.
    #[inline(never)]
    fn read_behind(
        &self,
        mechanics: &Mechanics,
        spin: &impl Spin,
        arrived: Time,
        spot: Spot,
        at: Extent,
        from: Time,
    ) -> (Passage, Span) {
        let lead = at.start.0 & ((1 << self.shift) - 1);
        let watermark = self.bus.held_back(at.blocks, self.segment);
        let wanted = (lead, u64::from(at.blocks));
        let delivery = Delivery::new(self.read_block, wanted, watermark, from, self.overheads.reselect);
        let (passage, delivery) = mechanics.pass_delivered(spin, arrived, spot, at, delivery);
        let stall = self.overheads.stall(at.blocks, Direction::Read, &passage);
        (passage, delivery.end().since(passage.end) + stall + self.overheads.done.read)
    }

    /// When a write that is given at `now` has sent enough of its data for the head to begin.
    pub(crate) fn write_from(&self, now: Time, overhead: Span, sector: Span, at: Extent, continues: bool) -> Time {
        let sectors = (u64::from(at.blocks) >> self.shift).max(1);
        let first = now + overhead + self.write_time(1 << self.shift);
        let last = first + self.write_time(at.blocks).less(self.write_time(1 << self.shift));
        let streaming = first.max(Time(last.0.saturating_sub(sector.0 * (sectors - 1))));
        let held = if continues { 0.0 } else { self.bus.write_watermark };
        streaming + Span((last.since(streaming).0 as f64 * held) as u64)
    }

    /// From when the medium is done with a write until it comes back.
    pub(crate) fn write_lag(&self, blocks: u32, passage: &Passage) -> Span {
        self.overheads.stall(blocks, Direction::Write, passage) + self.overheads.done.write
    }
}
