//! Layouts as sheets give them.

use super::{ListPlan, TreePlan};

/// The order in which the tracks of a zone are filled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// All heads of a cylinder, ascending, then the next cylinder.
    #[default]
    HeadsFirst,
    /// The same, with the heads descending in every other cylinder.
    Serpentine(Parity),
    /// Runs of this many cylinders on one head, then back on the next head; then the next band.
    BandSerpentine(u32),
}

/// From where every other cylinder of a serpentine layout is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parity {
    /// From the first cylinder of each zone.
    OfZone,
    /// Counted from cylinder 0 of the disk.
    OfDisk,
}

/// Where spare sectors lie, and what makes up for a slipped one. Each is a scheme of DiskSim's, by its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sparing {
    /// 9: so many sectors at the end of each zone; slips move what follows them towards the zone's end.
    #[default]
    Zone,
    /// 10: the same, and as many more as there are slips.
    ZoneSlipping,
    /// There are no spare sectors.
    None,
    /// 1: so many tracks at the end of each zone; slips and remaps are of whole tracks.
    Tracks,
    /// 2: so many sectors at the end of each cylinder, which make up for its slips.
    Cylinder,
    /// 4: the same, but slips move all that follows them in the zone.
    CylinderSlipping,
    /// 5: so many sectors at the front of each cylinder, which make up for its slips.
    CylinderFront,
    /// 6: the same, but slips move all that follows them in the zone.
    CylinderFrontSlipping,
    /// 3: so many sectors at the end of each track, which make up for its slips.
    Track,
    /// 7: none within the zones; slips move all that follows them in the zone.
    EndOfDisk,
    /// 8: so many sectors at the end of each range of this many cylinders, which make up for its slips.
    Range(u32),
}

/// A zone as a sheet gives it. Sectors are of the layout's sector size; skews are in revolutions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ZonePlan {
    /// The zone's outermost cylinder.
    pub first_cylinder: u32,
    /// The zone's innermost cylinder, inclusive.
    pub last_cylinder: u32,
    /// Sectors on each track.
    pub sectors: u32,
    /// Turn between the last sector of a track and the first of the next on the same cylinder.
    pub head_skew: f64,
    /// The same, on the next cylinder.
    pub cylinder_skew: f64,
    /// Spares, as the layout's [`Sparing`] has them: sectors (of the zone, or of each cylinder, track or range) or tracks.
    pub spares: u32,
    /// Angle of the first sector, in revolutions.
    pub offset: f64,
    /// Sectors at the front of the zone that hold no blocks.
    pub reserved: u32,
    /// Sectors (tracks under [`Sparing::Tracks`]) passed over, counted in filling order from the zone's first, ascending.
    pub slips: Vec<u32>,
    /// Sectors (tracks) whose blocks lie on another one of the zone.
    pub remaps: Vec<(u32, u32)>,
}

/// A layout of zones as a sheet gives it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayoutPlan {
    /// Surfaces in use, one head to each.
    pub heads: u32,
    /// The order in which blocks fill tracks.
    pub order: Order,
    /// Size of a physical sector in blocks of 512 bytes.
    pub sector_blocks: u32,
    /// Where spare sectors lie.
    pub sparing: Sparing,
    /// Zones in ascending cylinders.
    pub zones: Vec<ZonePlan>,
    /// In place of zones, a tree.
    pub tree: Option<TreePlan>,
    /// In place of zones and of a tree, a list of runs.
    pub list: Option<ListPlan>,
    /// Capacity in blocks where it is less than the zones hold.
    pub blocks: Option<u64>,
}
