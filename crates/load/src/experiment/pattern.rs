//! What an open or closed workload asks for: size, direction and place of its requests.

use block::{BadInput, units};
use config::Section;

/// Blocks of a memory page; requests of whole pages are aligned to pages unless the file says otherwise.
const PAGE: u32 = 8;

/// What the requests of a workload look like.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    /// Size of a request in blocks; at least 1.
    pub blocks: u32,
    /// Share of reads, 0 to 1; the others are writes.
    pub read: f64,
    /// How the next place is chosen.
    pub at: Placement,
    /// Where on the drive.
    pub region: Region,
    /// Requests start at multiples of so many blocks; at least 1.
    pub align: u32,
}

/// How the place of the next request is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// Anywhere in the region, evenly.
    #[default]
    Random,
    /// Where the last one ended, and again from the start of the region.
    Sequential,
}

/// A part of a drive, from one bound up to the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Region {
    /// Where it begins.
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
    /// The whole drive.
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

pub(super) fn read(section: &Section) -> Result<Pattern, BadInput> {
    let blocks = section.need("size", self::blocks(section, "size")?)?;
    let places = [("random", Placement::Random), ("sequential", Placement::Sequential)];
    Ok(Pattern {
        blocks,
        read: section.share("read")?.unwrap_or(1.0),
        at: section.choice("at", &places)?.unwrap_or_default(),
        region: region(section)?.unwrap_or(Region::WHOLE),
        align: self::blocks(section, "align")?.unwrap_or(if blocks.is_multiple_of(PAGE) { PAGE } else { 1 }),
    })
}

/// A part of the drive, where the file says.
pub(super) fn region(section: &Section) -> Result<Option<Region>, BadInput> {
    region_of(section, "region")
}

/// The same under another key.
pub(super) fn region_of(section: &Section, key: &str) -> Result<Option<Region>, BadInput> {
    section.quantity(key, Region::parse)
}

/// A size of at least one block that fits a request.
pub(super) fn blocks(section: &Section, key: &str) -> Result<Option<u32>, BadInput> {
    let Some(blocks) = section.size(key)? else { return Ok(None) };
    match u32::try_from(blocks) {
        Ok(0) => Err(section.error(key, format!("`{key}` is zero"), "give at least one block of 512 bytes")),
        Ok(blocks) => Ok(Some(blocks)),
        Err(_) => Err(section.error(key, format!("`{key}` is 2 TiB or more"), "give a smaller one")),
    }
}
