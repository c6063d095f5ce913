//! The layout: where each logical block lies — cylinder, head, sector, angle — and how far the blocks after it follow
//! without a gap.
//!
//! **A layout is runs of sectors.** `Layout::locate` says where a block lies and how many sectors follow it without a
//! gap; after them one asks again. Slips, remaps, spares, tracks and zones are thereby one thing to whoever
//! transfers. A zone without defects keeps the short way: one division.

mod defects;
mod list;
mod plan;
mod stretches;
mod tree;
mod words;
mod zoned;

use block::{Extent, Lbn};
use list::List;
pub(crate) use list::RUNS;
pub use list::{ListPlan, ListZone, SectorRun};
pub use plan::{LayoutPlan, Order, Parity, Sparing, ZonePlan};
use tree::Tree;
pub use tree::{Child, Elsewhere, EntryPlan, TrackPlan, TreePlan};
pub(crate) use words::{Skew, sparings};
pub use zoned::Beneath;
use zoned::Zoned;

/// A track: its place on the drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Track {
    /// Index of the zone, or of the kind of track.
    pub zone: u32,
    /// The cylinder, counted from the outermost as 0.
    pub cylinder: u32,
    /// The head, that is the surface, counted from 0.
    pub head: u32,
}

/// A block's place: its track, the sector on it and the angle at which that sector begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spot {
    /// The track that the sector lies on.
    pub track: Track,
    /// Physical sector on the track.
    pub sector: u32,
    /// Angle at which the sector begins, 2⁻⁶⁴ revolutions.
    pub angle: u64,
    /// Sectors of data, this one included, that follow one another from here on: up to a slipped or remapped sector,
    /// the end of the track, or that of the drive.
    pub left: u32,
    /// Sectors of data that precede it like that, as far as is known: back to a slipped or remapped sector, or the beginning
    /// of the track.
    pub before: u32,
    /// Whether its own sector is bad, and this a spare.
    pub remapped: bool,
    /// Whether it is known that `left` is up to the end of the track, and that what follows there lies on another one.
    pub ends_track: bool,
}

impl Spot {
    /// The place so many sectors on, of those that follow without a gap; each takes an angle of `width`.
    #[must_use]
    #[inline]
    pub fn on(self, sectors: u32, width: u64) -> Spot {
        Spot {
            sector: self.sector + sectors,
            angle: self.angle.wrapping_add(width.wrapping_mul(u64::from(sectors))),
            left: self.left - sectors,
            before: self.before + sectors,
            ..self
        }
    }
}

/// Tracks of one kind.
#[derive(Clone, Copy, Debug)]
struct Kind {
    /// Angle of one sector.
    width: u64,
    sectors: u32,
}

/// How sectors are found.
#[derive(Clone, Debug)]
enum Map {
    Zoned(Zoned),
    Tree(Tree),
    List(List),
}

/// A layout worked out for use.
#[derive(Clone, Debug)]
pub struct Layout {
    map: Map,
    order: Order,
    heads: u32,
    cylinders: u32,
    sector_shift: u32,
    blocks: u64,
    kinds: Vec<Kind>,
    /// The first sector of each part of the drive.
    parts: Vec<u64>,
}

impl Map {
    /// How many sectors hold data.
    fn sectors(&self) -> u64 {
        match self {
            Map::Zoned(zoned) => zoned.sectors(),
            Map::Tree(tree) => tree.sectors(),
            Map::List(list) => list.sectors(),
        }
    }
}

/// A fraction of a revolution as an angle.
fn angle(revolutions: f64) -> u64 {
    let fraction = revolutions - revolutions.floor();
    (fraction * 18_446_744_073_709_551_616.0) as u64
}

impl Layout {
    /// Works a plan out.
    ///
    /// # Errors
    /// In words, when there are no zones or heads, a zone is empty or overlaps the one before it, has slips or remaps
    /// that are not its own, a tree refers to what it does not hold, runs of a list overlap, the sector size is not a
    /// power of two, or the capacity given exceeds what the zones hold.
    pub fn new(plan: &LayoutPlan) -> Result<Layout, String> {
        if !plan.sector_blocks.is_power_of_two() || plan.sector_blocks > 64 {
            return Err("a sector is a power of two times 512 bytes, at most 32 KiB".into());
        }
        let mut map = match (&plan.tree, &plan.list) {
            (Some(tree), _) => Map::Tree(Tree::new(tree, plan.heads)?),
            (None, Some(list)) => Map::List(List::new(list, plan.heads)?),
            (None, None) => Map::Zoned(Zoned::new(plan)?),
        };
        let held = map.sectors().saturating_mul(u64::from(plan.sector_blocks));
        let blocks = plan.blocks.unwrap_or(held);
        if blocks > held || blocks == 0 {
            return Err(format!("the capacity given is {blocks} blocks, but the zones hold {held}"));
        }
        let sectors = blocks.div_ceil(u64::from(plan.sector_blocks));
        let (kinds, parts, cylinders) = match &mut map {
            Map::Zoned(zoned) => {
                zoned.cut(sectors);
                (zoned.kinds(), zoned.parts(), plan.zones.last().map_or(0, |zone| zone.last_cylinder + 1))
            }
            Map::Tree(tree) => {
                tree.cut(sectors);
                (tree.kinds(), tree.parts(), tree.cylinders())
            }
            Map::List(list) => {
                list.cut(sectors);
                (list.kinds(), list.parts(), list.cylinders())
            }
        };
        let sector_shift = plan.sector_blocks.trailing_zeros();
        Ok(Layout { map, order: plan.order, heads: plan.heads, cylinders, sector_shift, blocks, kinds, parts })
    }

    /// Blocks that a host may address.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Surfaces in use, one head to each.
    #[must_use]
    pub fn heads(&self) -> u32 {
        self.heads
    }

    /// Order of tracks; none where a tree or a list says where each lies.
    #[must_use]
    pub fn order(&self) -> Option<Order> {
        matches!(self.map, Map::Zoned(_)).then_some(self.order)
    }

    /// Cylinders, counted to the end of the last zone, even where the capacity ends before.
    #[must_use]
    pub fn cylinders(&self) -> u32 {
        self.cylinders
    }

    /// Blocks in a physical sector, as a power of two.
    #[must_use]
    pub fn sector_shift(&self) -> u32 {
        self.sector_shift
    }

    /// How many physical sectors blocks reach into, of which there is one at least.
    #[must_use]
    #[inline(always)]
    pub fn sectors_of(&self, at: Extent) -> u64 {
        ((at.end().0 - 1) >> self.sector_shift) + 1 - (at.start.0 >> self.sector_shift)
    }

    /// How many zones; of a tree, the parts it begins with.
    #[must_use]
    pub fn zones(&self) -> u32 {
        self.parts.len() as u32
    }

    /// The first and the last block of a zone.
    #[must_use]
    pub fn zone_blocks(&self, zone: u32) -> (Lbn, Lbn) {
        let first = self.parts[zone as usize];
        let end = self.parts.get(zone as usize + 1).map_or(self.blocks, |next| next << self.sector_shift);
        (Lbn(first << self.sector_shift), Lbn(end.min(self.blocks) - 1))
    }

    /// Sectors on a track of a track's zone or kind.
    #[must_use]
    pub fn track_sectors(&self, zone: u32) -> u32 {
        self.kinds[zone as usize].sectors
    }

    /// Sectors on the longest track.
    #[must_use]
    pub fn longest_track(&self) -> u32 {
        self.kinds.iter().map(|kind| kind.sectors).max().unwrap_or(1)
    }

    /// The angle one sector of a track's zone or kind takes, 2⁻⁶⁴ revolutions.
    #[must_use]
    pub fn sector_angle(&self, zone: u32) -> u64 {
        self.kinds[zone as usize].width
    }

    /// Where a block lies. Blocks past the end are taken to be the last one.
    #[must_use]
    #[inline]
    pub fn locate(&self, lbn: Lbn) -> Spot {
        self.locate_sector(lbn.0.min(self.blocks - 1) >> self.sector_shift)
    }

    /// The same, on the way of every command.
    #[must_use]
    #[inline(always)]
    pub fn locate_command(&self, lbn: Lbn) -> Spot {
        match &self.map {
            Map::Zoned(zoned) => zoned.locate(lbn.0.min(self.blocks - 1) >> self.sector_shift),
            _ => self.locate(lbn),
        }
    }

    /// The zone or kind of a block's track, which is soon found where zones follow from the filling order.
    #[must_use]
    #[inline]
    pub fn zone_of(&self, lbn: Lbn) -> u32 {
        match &self.map {
            Map::Zoned(zoned) => zoned.zone_of(lbn.0.min(self.blocks - 1) >> self.sector_shift),
            _ => self.locate(lbn).track.zone,
        }
    }

    /// The tracks of the cylinder of a block; nothing where they do not follow from the filling order alone.
    #[must_use]
    pub fn beneath(&self, lbn: Lbn) -> Option<Beneath> {
        match &self.map {
            Map::Zoned(zoned) => zoned.beneath(lbn.0.min(self.blocks - 1) >> self.sector_shift, self.sector_shift),
            _ => None,
        }
    }

    /// Where a sector lies, which must be on the drive.
    pub fn locate_sector(&self, sector: u64) -> Spot {
        match &self.map {
            Map::Zoned(zoned) => zoned.locate(sector),
            Map::Tree(tree) => tree.locate(sector),
            Map::List(list) => list.locate(sector),
        }
    }

    /// A block on the way from one cylinder to another, after the first of so many equal parts. Where cylinders do not
    /// follow blocks throughout, nearly so. O(log blocks).
    #[must_use]
    pub fn midway(&self, here: u32, there: u32, parts: u32) -> Lbn {
        let step = here.abs_diff(there) / parts.max(1);
        let cylinder = if here < there { here + step } else { here - step };
        let (mut low, mut high) = (0, self.blocks - 1);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.locate(Lbn(middle)).track.cylinder < cylinder { low = middle + 1 } else { high = middle }
        }
        Lbn(low)
    }

    /// How many sectors hold blocks.
    pub(crate) fn sectors(&self) -> u64 {
        ((self.blocks - 1) >> self.sector_shift) + 1
    }

    /// The first block of the track a block lies on, and the block after the track's last; blocks moved to spares
    /// elsewhere count to their own track.
    #[must_use]
    pub fn track_bounds(&self, lbn: Lbn) -> (Lbn, Lbn) {
        self.bounds(lbn, |here, there| here.track == there.track)
    }

    /// The block after the last of those that lie on a block's cylinder and follow it.
    #[must_use]
    pub fn cylinder_end(&self, lbn: Lbn) -> Lbn {
        let mut end = self.track_bounds(lbn).1;
        let cylinder = self.locate(Lbn(end.0 - 1)).track.cylinder;
        while end.0 < self.blocks && self.locate(end).track.cylinder == cylinder {
            end = self.track_bounds(end).1;
        }
        end
    }

    /// The run of blocks around `lbn` that are `alike`, remapped ones left out of account.
    fn bounds(&self, lbn: Lbn, alike: impl Fn(&Spot, &Spot) -> bool) -> (Lbn, Lbn) {
        let (mut first, sectors) = (lbn.0.min(self.blocks - 1) >> self.sector_shift, self.sectors());
        let mut here = self.locate_sector(first);
        while here.remapped && first > 0 {
            first -= 1;
            here = self.locate_sector(first);
        }
        let mut end = first;
        while end < sectors {
            let there = self.locate_sector(end);
            if !there.remapped && !alike(&here, &there) {
                break;
            }
            end += u64::from(there.left.max(1));
        }
        // Backwards at most as many sectors as the track has before this one.
        let mut least = first.saturating_sub(u64::from(here.sector));
        while least < first {
            let there = self.locate_sector(least);
            if there.remapped || alike(&here, &there) {
                break;
            }
            least += u64::from(there.left.max(1));
        }
        let shift = self.sector_shift;
        (Lbn(least.min(first) << shift), Lbn((end.min(sectors) << shift).min(self.blocks)))
    }
}
