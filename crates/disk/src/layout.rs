//! The layout: logical block number ↔ (cylinder, head, sector, angle), both ways in at most O(log zones).
//!
//! A zone is a run of cylinders with the same number of sectors a track. Inside a zone the tracks follow one
//! another in the drive's [`Order`]; each step to the next track adds a head skew or a cylinder skew, so the
//! angle at which a track begins is two products, not a walk.

use crate::divide::Divisor;
use block::Lbn;

/// The order in which the tracks of a zone are filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// All heads of a cylinder, ascending, then the next cylinder.
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
    /// From cylinder 0.
    OfDisk,
}

/// A zone as a sheet gives it. Sectors are of the layout's sector size; skews are in revolutions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ZonePlan {
    /// First cylinder.
    pub first_cylinder: u32,
    /// Last cylinder.
    pub last_cylinder: u32,
    /// Sectors on each track.
    pub sectors: u32,
    /// Turn between the last sector of a track and the first of the next on the same cylinder.
    pub head_skew: f64,
    /// The same, on the next cylinder.
    pub cylinder_skew: f64,
    /// Sectors at the end of the zone kept as spares.
    pub spares: u32,
}

/// A layout as a sheet gives it.
#[derive(Clone, Debug, PartialEq)]
pub struct LayoutPlan {
    /// Surfaces in use.
    pub heads: u32,
    /// Order of tracks.
    pub order: Order,
    /// Size of a physical sector in blocks of 512 bytes.
    pub sector_blocks: u32,
    /// Zones in ascending cylinders.
    pub zones: Vec<ZonePlan>,
    /// Capacity in blocks where it is less than the zones hold.
    pub blocks: Option<u64>,
}

/// A track: its place in its zone and on the drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Track {
    /// Index of the zone.
    pub zone: u32,
    /// Which track of the zone, in filling order.
    pub index: u32,
    /// Cylinder.
    pub cylinder: u32,
    /// Head.
    pub head: u32,
}

/// A block's place: its track, the sector on it and the angle at which that sector begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spot {
    /// The track.
    pub track: Track,
    /// Physical sector on the track.
    pub sector: u32,
    /// Angle at which the sector begins, 2⁻⁶⁴ revolutions.
    pub angle: u64,
}

/// Runs of blocks for which the zone is looked up beforehand, as a power of two.
const GUESS_BITS: u32 = 10;

#[derive(Clone, Debug)]
struct Zone {
    first_lbn: u64,
    /// Sectors addressed, spares taken off.
    sectors: u64,
    first_cylinder: u32,
    cylinders: u32,
    track_sectors: Divisor,
    /// Angle of one sector.
    width: u64,
    head_skew: u64,
    cylinder_skew: u64,
}

/// A layout worked out for use.
#[derive(Clone, Debug)]
pub struct Layout {
    heads: Divisor,
    cylinders: u32,
    order: Order,
    sector_shift: u32,
    blocks: u64,
    /// For each run of 2^`guess_shift` blocks, the zone its first block lies in.
    guesses: Vec<u32>,
    guess_shift: u32,
    zones: Vec<Zone>,
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
    /// In words, when there are no zones or heads, a zone is empty or overlaps the one before it, the sector
    /// size is not a power of two, or the capacity given exceeds what the zones hold.
    pub fn new(plan: &LayoutPlan) -> Result<Layout, String> {
        if plan.zones.is_empty() || plan.heads == 0 {
            return Err("a layout needs at least one zone and one head".into());
        }
        if !plan.sector_blocks.is_power_of_two() || plan.sector_blocks > 64 {
            return Err("a sector is a power of two times 512 bytes, at most 32 KiB".into());
        }
        if plan.order == Order::BandSerpentine(0) {
            return Err("a band holds at least one track".into());
        }
        let mut zones: Vec<Zone> = Vec::with_capacity(plan.zones.len());
        let mut first_lbn = 0u64;
        for (i, zone) in plan.zones.iter().enumerate() {
            let previous = zones.last().map(|z| z.first_cylinder + z.cylinders);
            check_zone(i, zone, previous)?;
            let cylinders = zone.last_cylinder - zone.first_cylinder + 1;
            let tracks = u64::from(cylinders) * u64::from(plan.heads);
            if tracks > u64::from(u32::MAX) {
                return Err(format!("zone {i} has more than 2^32 tracks"));
            }
            let sectors = (tracks * u64::from(zone.sectors)).checked_sub(u64::from(zone.spares));
            let sectors = sectors.filter(|n| *n > 0).ok_or(format!("zone {i} has more spares than sectors"))?;
            zones.push(Zone {
                first_lbn,
                sectors,
                first_cylinder: zone.first_cylinder,
                cylinders,
                track_sectors: Divisor::new(zone.sectors),
                width: (u64::MAX / u64::from(zone.sectors)),
                head_skew: angle(zone.head_skew),
                cylinder_skew: angle(zone.cylinder_skew),
            });
            first_lbn += sectors * u64::from(plan.sector_blocks);
        }
        let blocks = plan.blocks.unwrap_or(first_lbn);
        if blocks > first_lbn || blocks == 0 {
            return Err(format!("the capacity given is {blocks} blocks, but the zones hold {first_lbn}"));
        }
        // What lies past the capacity does not exist for anyone.
        zones.retain(|zone| zone.first_lbn < blocks);
        if let Some(last) = zones.last_mut() {
            last.sectors = last.sectors.min((blocks - last.first_lbn).div_ceil(u64::from(plan.sector_blocks)));
        }
        let guess_shift = (64 - blocks.leading_zeros()).saturating_sub(GUESS_BITS);
        let zone_of = |lbn: u64| zones.partition_point(|zone| zone.first_lbn <= lbn) as u32 - 1;
        let guesses = (0..=blocks >> guess_shift).map(|run| zone_of(run << guess_shift)).collect();
        let sector_shift = plan.sector_blocks.trailing_zeros();
        let heads = Divisor::new(plan.heads);
        let cylinders = plan.zones.last().map_or(0, |zone| zone.last_cylinder + 1);
        Ok(Layout { heads, cylinders, order: plan.order, sector_shift, blocks, guesses, guess_shift, zones })
    }

    /// Capacity in blocks.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Surfaces.
    #[must_use]
    pub fn heads(&self) -> u32 {
        self.heads.value()
    }

    /// Order of tracks.
    #[must_use]
    pub fn order(&self) -> Order {
        self.order
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

    /// How many zones.
    #[must_use]
    pub fn zones(&self) -> u32 {
        self.zones.len() as u32
    }

    /// The first and the last block of a zone.
    #[must_use]
    pub fn zone_blocks(&self, zone: u32) -> (Lbn, Lbn) {
        let zone = &self.zones[zone as usize];
        let last = zone.first_lbn + (zone.sectors << self.sector_shift) - 1;
        (Lbn(zone.first_lbn), Lbn(last.min(self.blocks - 1)))
    }

    /// Sectors on a track of a zone.
    #[must_use]
    pub fn track_sectors(&self, zone: u32) -> u32 {
        self.zones[zone as usize].track_sectors.value()
    }

    /// The angle one sector of a zone takes, 2⁻⁶⁴ revolutions.
    #[must_use]
    pub fn sector_angle(&self, zone: u32) -> u64 {
        self.zones[zone as usize].width
    }

    /// Where a block lies. Blocks past the end are taken to be the last one.
    #[must_use]
    pub fn locate(&self, lbn: Lbn) -> Spot {
        let lbn = lbn.0.min(self.blocks - 1);
        let mut z = self.guesses[(lbn >> self.guess_shift) as usize] as usize;
        while self.zones.get(z + 1).is_some_and(|next| next.first_lbn <= lbn) {
            z += 1;
        }
        let zone = &self.zones[z];
        let sector = (lbn - zone.first_lbn) >> self.sector_shift;
        let (index, sector) = match u32::try_from(sector) {
            Ok(sector) => zone.track_sectors.divide(sector),
            Err(_) => {
                let per = u64::from(zone.track_sectors.value());
                ((sector / per) as u32, (sector % per) as u32)
            }
        };
        let first = self.track(z as u32, index);
        Spot { sector, angle: first.angle.wrapping_add(u64::from(sector).wrapping_mul(zone.width)), ..first }
    }

    /// The block that begins a sector, or nothing where no block of the drive lies there.
    #[must_use]
    pub fn block_at(&self, cylinder: u32, head: u32, sector: u32) -> Option<Lbn> {
        let z = self.zones.partition_point(|zone| zone.first_cylinder <= cylinder).checked_sub(1)?;
        let zone = &self.zones[z];
        let c = cylinder - zone.first_cylinder;
        if c >= zone.cylinders || head >= self.heads() || sector >= zone.track_sectors.value() {
            return None;
        }
        let index = self.index_of(zone, c, head);
        let in_zone = u64::from(index) * u64::from(zone.track_sectors.value()) + u64::from(sector);
        let lbn = zone.first_lbn + (in_zone << self.sector_shift);
        (in_zone < zone.sectors && lbn < self.blocks).then_some(Lbn(lbn))
    }

    /// The first sector of the track that follows in filling order; nothing follows the last.
    #[must_use]
    pub fn next_track(&self, track: Track) -> Option<Spot> {
        let zone = &self.zones[track.zone as usize];
        let next_starts = (u64::from(track.index) + 1) * u64::from(zone.track_sectors.value());
        if next_starts < zone.sectors {
            Some(self.track(track.zone, track.index + 1))
        } else if track.zone + 1 < self.zones() {
            Some(self.track(track.zone + 1, 0))
        } else {
            None
        }
    }

    /// Sectors addressed on a track: all of them, less the spares on the last one of a zone.
    #[must_use]
    pub fn sectors_on(&self, track: Track) -> u32 {
        let zone = &self.zones[track.zone as usize];
        let before = u64::from(track.index) * u64::from(zone.track_sectors.value());
        (zone.sectors - before).min(u64::from(zone.track_sectors.value())) as u32
    }

    /// The first sector of a zone's track, by the track's place in the filling order.
    fn track(&self, z: u32, index: u32) -> Spot {
        let zone = &self.zones[z as usize];
        let heads = self.heads();
        let (c, head, head_steps) = match self.order {
            Order::HeadsFirst => {
                let (c, k) = self.heads.divide(index);
                (c, k, index - c)
            }
            Order::Serpentine(parity) => {
                let (c, k) = self.heads.divide(index);
                let head = if descends(zone, parity, c) { heads - 1 - k } else { k };
                (c, head, index - c)
            }
            Order::BandSerpentine(width) => {
                let per_band = u64::from(width) * u64::from(heads);
                let band = (u64::from(index) / per_band) as u32;
                let within = (u64::from(index) % per_band) as u32;
                let width_here = width.min(zone.cylinders - band * width);
                let (run, k) = (within / width_here, within % width_here);
                let c = band * width + if run.is_multiple_of(2) { k } else { width_here - 1 - k };
                (c, run, band * (heads - 1) + run)
            }
        };
        let angle = u64::from(head_steps)
            .wrapping_mul(zone.head_skew)
            .wrapping_add(u64::from(index - head_steps).wrapping_mul(zone.cylinder_skew));
        let track = Track { zone: z, index, cylinder: zone.first_cylinder + c, head };
        Spot { track, sector: 0, angle }
    }

    /// The inverse of `track`: place in the filling order of a zone's `c`-th cylinder and `head`.
    fn index_of(&self, zone: &Zone, c: u32, head: u32) -> u32 {
        match self.order {
            Order::HeadsFirst => c * self.heads() + head,
            Order::Serpentine(parity) => {
                c * self.heads() + if descends(zone, parity, c) { self.heads() - 1 - head } else { head }
            }
            Order::BandSerpentine(width) => {
                let (band, k) = (c / width, c % width);
                let width_here = width.min(zone.cylinders - band * width);
                let place = if head.is_multiple_of(2) { k } else { width_here - 1 - k };
                band * width * self.heads() + head * width_here + place
            }
        }
    }
}

/// Whether the heads descend in a zone's `c`-th cylinder.
fn descends(zone: &Zone, parity: Parity, c: u32) -> bool {
    match parity {
        Parity::OfZone => c % 2 == 1,
        Parity::OfDisk => (zone.first_cylinder + c) % 2 == 1,
    }
}

fn check_zone(i: usize, zone: &ZonePlan, previous_end: Option<u32>) -> Result<(), String> {
    let ZonePlan { first_cylinder: first, last_cylinder: last, .. } = *zone;
    if last < first {
        return Err(format!("zone {i} ends at cylinder {last}, before it begins at {first}"));
    }
    if last >= 1 << 24 {
        return Err(format!("zone {i} ends at cylinder {last}; at most 2^24 cylinders are supported"));
    }
    if zone.sectors == 0 {
        return Err(format!("zone {i} has no sectors on a track"));
    }
    match previous_end {
        Some(end) if first < end => {
            Err(format!("zone {i} begins at cylinder {first}, inside the zone before it, which ends at {}", end - 1))
        }
        _ => Ok(()),
    }
}
