//! What generated requests look like: their size, direction and place; and the addresses that come of it.

use super::misfit;
use crate::draw::Draw;
use block::{BadInput, Extent, Op, units};
use config::{About, Section, Word, Words};

/// Blocks of a memory page, which are those of a page of the buffer cache; requests of whole pages are aligned to pages unless the
/// file says otherwise.
pub const PAGE: u32 = 8;

config::keys! {
    /// Size of each request; where `sizes` vary, on average.
    pub(super) SIZE: u32 = blocks("size").required();
    /// How sizes are distributed about `size`, in steps of a page, or of a block where `size` is no whole number of pages.
    pub(super) SIZES: Sizes = word("sizes").usually("fixed");
    /// Share of the requests that are reads. The others are writes.
    pub(super) READ: f64 = share("read").usually("1.0");
    /// Where the next request goes.
    pub(super) AT: AddressPattern = word("at").usually("random");
    /// The part of the drive that requests go to.
    pub(crate) REGION: Region = form("region", RANGE, range).else_told("all of the drive");
    /// Requests start at multiples of this.
    pub(super) ALIGN: u32 = blocks("align").else_told("4KiB; one block where `size` is no multiple of that");
    /// Requests of an operation: each but the first is asked for when the one before has ended. The results tell of whole operations,
    /// too; `deadline` is that of an operation then, and one that fails or is dropped is its last.
    pub(super) CASCADE: u32 = within("cascade", 1, MOST_CASCADE).usually("1");
    /// The volume that requests go to, in place of `region`. The workload has its class, priority and deadline where it is not
    /// given its own.
    pub(crate) VOLUME: String = text("volume").else_told("none");
}

/// Requests of an operation at most.
const MOST_CASCADE: u32 = 1_000_000;
/// So many times the mean a request is at most, where sizes are exponential; more than that one in nine millions would be.
const MOST_TIMES: u32 = 16;
/// Blocks of requests that vary, on average at most: 1 GiB.
const MOST_VARIED: u32 = 1 << 21;

/// How a part of the drive is written.
pub(super) const RANGE: &str = "`FROM..TO`, such as `0%..10%`, `1GB..2GB` or `50%..`";

/// A part of the drive.
pub(super) fn range(section: &Section, about: &About) -> Result<Option<Region>, BadInput> {
    section.quantity(about.name, Region::parse)
}

/// What the requests of a workload look like.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    /// Size of a request in blocks, on average; at least 1.
    pub blocks: u32,
    /// How the sizes are distributed.
    pub sizes: Sizes,
    /// Share of reads, 0 to 1; the others are writes.
    pub read: f64,
    /// How the next place is chosen.
    pub at: AddressPattern,
    /// Where on the drive.
    pub region: Region,
    /// Requests start at multiples of so many blocks; at least 1.
    pub align: u32,
}

/// How the sizes of requests are distributed about their mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sizes {
    /// All are the mean.
    #[default]
    Fixed,
    /// Each from a step to twice the mean, less a step, with the same chance.
    Uniform,
    /// Geometrically: the exponential distribution in steps.
    Exponential,
}

impl Words for Sizes {
    const WORDS: &'static [Word<Sizes>] = &[
        Word::new("fixed", Sizes::Fixed, "all alike"),
        Word::new("uniform", Sizes::Uniform, "from one step up to twice `size` less a step, each with the same chance"),
        Word::new(
            "exponential",
            Sizes::Exponential,
            "exponentially: many short ones, a few up to sixteen times `size`, which is the most",
        ),
    ];
}

impl Sizes {
    /// The longest request, where they have this mean.
    fn longest(self, mean: u32) -> u32 {
        match self {
            Sizes::Fixed => mean,
            Sizes::Uniform => mean.saturating_mul(2) - step(mean),
            Sizes::Exponential => mean.saturating_mul(MOST_TIMES),
        }
    }

    /// The blocks of the next request.
    #[inline(always)]
    fn next(self, mean: u32, draw: &mut Draw) -> u32 {
        if self == Sizes::Fixed { mean } else { self.draw(mean, draw) }
    }

    /// The same of sizes that vary.
    #[inline(never)]
    fn draw(self, mean: u32, draw: &mut Draw) -> u32 {
        let step = step(mean);
        let steps = mean / step;
        match self {
            Sizes::Fixed => mean,
            Sizes::Uniform => step * (1 + draw.below(u64::from(2 * steps - 1)) as u32),
            Sizes::Exponential if steps == 1 => mean,
            Sizes::Exponential => {
                let more = draw.exponential() / -libm::log(1.0 - 1.0 / f64::from(steps));
                step * (1 + more as u32).min(steps * MOST_TIMES)
            }
        }
    }
}

/// Steps in which sizes of this mean vary.
fn step(mean: u32) -> u32 {
    if mean.is_multiple_of(PAGE) { PAGE } else { 1 }
}

/// How the place of the next request is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddressPattern {
    /// Anywhere in the region, evenly.
    #[default]
    Random,
    /// Where the last one ended, and again from the start of the region.
    Sequential,
}

impl Words for AddressPattern {
    const WORDS: &'static [Word<AddressPattern>] = &[
        Word::new("random", AddressPattern::Random, "anywhere in the region, each place with the same chance"),
        Word::new(
            "sequential",
            AddressPattern::Sequential,
            "where the last request ended, and at the end of the region from its start again",
        ),
    ];
}

/// A part of a drive, from one bound up to the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Region {
    /// The first block of the region.
    pub from: Bound,
    /// Where it ends; the block there is not part of it.
    pub to: Bound,
}

/// A place on a drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// Per cent of the capacity, 0 to 100.
    Percent(f64),
    /// Blocks from the start.
    Blocks(u64),
}

impl Region {
    /// The region that covers the whole drive.
    pub const WHOLE: Region = Region { from: Bound::Percent(0.0), to: Bound::Percent(100.0) };

    /// Its first block and the block after its last on a drive of `capacity` blocks. Given in blocks it may lie past
    /// the end of that drive; given half in blocks, half in per cent, it may come out reversed.
    #[must_use]
    pub fn on(self, capacity: u64) -> (u64, u64) {
        let block = |bound| match bound {
            Bound::Percent(percent) => (capacity as f64 * percent / 100.0) as u64,
            Bound::Blocks(blocks) => blocks,
        };
        (block(self.from), block(self.to))
    }

    /// `0%..10%`, `1GB..2GiB`, `50%..`; like [`units`], it says what is wrong and the mend.
    fn parse(text: &str) -> Result<Region, String> {
        let (from, to) = text
            .split_once("..")
            .ok_or_else(|| format!("'{text}' is not a region; write one like 0%..10% or 1GB.."))?;
        let bound = |side: &str, open| if side.trim().is_empty() { Ok(open) } else { Bound::parse(side.trim()) };
        let region = Region { from: bound(from, Region::WHOLE.from)?, to: bound(to, Region::WHOLE.to)? };
        let reversed = match (region.from, region.to) {
            (Bound::Percent(from), Bound::Percent(to)) => from >= to,
            (Bound::Blocks(from), Bound::Blocks(to)) => from >= to,
            // A start in blocks against an end in per cent needs the capacity, unless the end is the drive's start.
            (from, to) => to == Bound::Blocks(0) || to == Bound::Percent(0.0) || from == Bound::Percent(100.0),
        };
        if reversed {
            Err(format!("'{text}' ends where it begins, or before; write it as FROM..TO"))
        } else {
            Ok(region)
        }
    }
}

impl Bound {
    fn parse(text: &str) -> Result<Bound, String> {
        let Some(percent) = text.strip_suffix('%') else { return units::blocks(text).map(Bound::Blocks) };
        match percent.trim().parse::<f64>() {
            Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(Bound::Percent(percent)),
            _ => Err(format!("'{text}' is no share of a drive; write 0% to 100%")),
        }
    }
}

impl Pattern {
    /// The requests that the keys of this file tell of.
    pub(super) fn read(section: &Section) -> Result<Pattern, BadInput> {
        let blocks = section.value(&SIZE)?;
        Ok(Pattern {
            blocks,
            sizes: Sizes::Fixed,
            read: section.value(&READ)?,
            at: section.value(&AT)?,
            region: section.get(&REGION)?.unwrap_or(Region::WHOLE),
            align: section.get(&ALIGN)?.unwrap_or(step(blocks)),
        })
    }

    /// The same of requests in order, all alike.
    pub(super) fn read_in_order(section: &Section) -> Result<Pattern, BadInput> {
        let blocks = section.value(&SIZE)?;
        Ok(Pattern {
            blocks,
            sizes: Sizes::Fixed,
            read: section.value(&READ)?,
            at: AddressPattern::Sequential,
            region: section.get(&REGION)?.unwrap_or(Region::WHOLE),
            align: section.get(&ALIGN)?.unwrap_or(step(blocks)),
        })
    }

    /// The same, of sizes that may vary.
    pub(super) fn read_varied(section: &Section) -> Result<Pattern, BadInput> {
        let pattern = Pattern { sizes: section.value(&SIZES)?, ..Pattern::read(section)? };
        if pattern.sizes != Sizes::Fixed && pattern.blocks > MOST_VARIED {
            let what = format!("requests of {} on average, and more", units::show_blocks(pattern.blocks.into()));
            return Err(section.error(SIZES.name(), what, "give a shorter `size`, or sizes = \"fixed\""));
        }
        Ok(pattern)
    }

    /// Blocks of the longest request.
    pub(super) fn longest(&self) -> u32 {
        self.sizes.longest(self.blocks)
    }

    /// Blocks of each request, where all are alike.
    pub(super) fn length(&self) -> Option<u32> {
        (self.sizes == Sizes::Fixed).then_some(self.blocks)
    }
}

/// A stream of operations and extents.
pub struct Addresses {
    /// First block of the region, and of the next sequential request.
    first: u64,
    next: u64,
    /// Block after the region.
    end: u64,
    /// Aligned starts in the region.
    starts: u64,
    align: u64,
    blocks: u32,
    sizes: Sizes,
    read: f64,
    placement: AddressPattern,
    draw: Draw,
}

impl Addresses {
    /// Those of a workload on a drive of so many blocks.
    ///
    /// # Errors
    /// When a request does not fit the region, or that not the drive.
    pub fn new(name: &str, pattern: &Pattern, drive_blocks: u64, draw: Draw) -> Result<Addresses, BadInput> {
        let (from, end) = pattern.region.on(drive_blocks);
        let align = u64::from(pattern.align.max(1));
        let first = from.next_multiple_of(align);
        let size = u64::from(pattern.longest());
        if end > drive_blocks || first + size > end {
            let what = format!(
                "requests of {} do not fit the region, blocks {from} to {end} of the {drive_blocks} of the drive",
                units::show_blocks(size)
            );
            return Err(misfit(name, what, "make the region larger or the requests smaller"));
        }
        let starts = (end - first - size) / align + 1;
        let Pattern { blocks, sizes, read, at: placement, .. } = *pattern;
        Ok(Addresses { first, next: first, end, starts, align, blocks, sizes, read, placement, draw })
    }

    pub(super) fn draw(&mut self) -> &mut Draw {
        &mut self.draw
    }

    /// Requests in order begin anywhere in the region.
    pub(super) fn begin_anywhere(&mut self) {
        self.next = self.first + self.align * self.draw.below(self.starts);
    }

    /// What is asked for next.
    #[inline(always)]
    pub fn draft(&mut self) -> (Op, Extent) {
        let blocks = self.sizes.next(self.blocks, &mut self.draw);
        let start = match self.placement {
            AddressPattern::Random => self.first + self.align * self.draw.below(self.starts),
            AddressPattern::Sequential => {
                let start = if self.next + u64::from(blocks) > self.end { self.first } else { self.next };
                self.next = start + u64::from(blocks);
                start
            }
        };
        let reads = self.read >= 1.0 || (self.read > 0.0 && self.draw.unit() < self.read);
        let op = if reads { Op::Read } else { Op::Write { fua: false } };
        (op, Extent::new(start, blocks))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes that were drawn, sorted.
    fn draw_sizes(sizes: Sizes, mean: u32) -> Vec<u32> {
        let mut draw = Draw::new(7, 0);
        let mut drawn: Vec<u32> = (0..100_000).map(|_| sizes.next(mean, &mut draw)).collect();
        drawn.sort_unstable();
        drawn
    }

    #[test]
    fn sizes_have_their_mean_and_the_shape_of_their_distribution() {
        for mean in [128, 40, 21, 8, 1] {
            for sizes in [Sizes::Fixed, Sizes::Uniform, Sizes::Exponential] {
                let drawn = draw_sizes(sizes, mean);
                let sum: u64 = drawn.iter().map(|blocks| u64::from(*blocks)).sum();
                let found = sum as f64 / drawn.len() as f64 / f64::from(mean);
                assert!((found - 1.0).abs() < 0.02, "{sizes:?}: {found} of {mean}");
                assert!(drawn[0] >= step(mean) && drawn[drawn.len() - 1] <= sizes.longest(mean), "{sizes:?} of {mean}");
                assert!(drawn.iter().all(|blocks| blocks.is_multiple_of(step(mean))));
            }
        }
        let middle = |sizes| f64::from(draw_sizes(sizes, 1280)[50_000]) / 1280.0;
        assert!((middle(Sizes::Uniform) - 1.0).abs() < 0.02);
        assert!((middle(Sizes::Exponential) - std::f64::consts::LN_2).abs() < 0.02);
    }
}
