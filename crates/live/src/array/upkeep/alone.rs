//! What a request takes where nobody else asks for anything, by where in the array it lies: outer tracks are read faster.

use block::Span;

/// What a request is taken to cost of disks alone, as long as none had them alone: a turn at 7200/min. It is a little to the side of a floor
/// that is a least part; to one of more no client that never leaves off would ever leave what is promised.
const PRESUMED: Span = Span(8_333_333);
/// Parts of the array that are told apart: hardly a drive has more zones of unlike speed.
const REGIONS: usize = 16;

/// What requests took alone in each region, where one was seen there.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TimesAlone {
    regions: [Option<Span>; REGIONS],
}

impl TimesAlone {
    /// In which region a block of an array of so many lies.
    fn region(at: u64, blocks: u64) -> usize {
        let region = u128::from(at) * REGIONS as u128 / u128::from(blocks.max(1));
        (region as usize).min(REGIONS - 1)
    }

    /// What a request at a block is taken to take alone: as in the nearest region of which something is known.
    pub(super) fn find(&self, at: u64, blocks: u64) -> Span {
        let here = TimesAlone::region(at, blocks);
        let known = (0..REGIONS).filter_map(|region| Some((region.abs_diff(here), self.regions[region]?)));
        known.min().map_or(PRESUMED, |(_, took)| took)
    }

    /// A request at a block was begun alone, and took so long.
    pub(super) fn note(&mut self, at: u64, blocks: u64, took: Span) {
        // Beside one that took longer a client may have come: it counts for little.
        let blend = |alone: Span| match took < alone {
            true => Span((alone.0 + took.0) / 2),
            false => Span((alone.0 * 31 + took.0) / 32),
        };
        let region = &mut self.regions[TimesAlone::region(at, blocks)];
        *region = Some(region.map_or(took, blend));
    }
}
