//! A layout of zones: runs of cylinders with the same number of sectors a track. Inside a zone the tracks follow one
//! another in the drive's [`Order`]; each step to the next track adds a head skew or a cylinder skew, so the
//! angle at which a track begins is two products, not a walk. [`Zoned::locate`] is on the way of every command, more than
//! once: [`Stretches`] say beforehand what defects do.

use super::defects::{Defects, Size, capacity_of};
use super::plan::{LayoutPlan, Order, Parity, ZonePlan};
use super::stretches::{MOST, Stretch, Stretches};
use super::{Kind, Spot, Track, angle};
use crate::divide::Divisor;
use block::Lbn;

#[derive(Clone, Debug)]
struct Zone {
    first: u64,
    /// Sectors that hold data.
    sectors: u64,
    first_cylinder: u32,
    cylinders: u32,
    track_sectors: Divisor,
    /// Angle of one sector.
    width: u64,
    offset: u64,
    head_skew: u64,
    cylinder_skew: u64,
    defects: Option<Box<Defects>>,
}

/// Zones worked out for use.
#[derive(Clone, Debug)]
pub(super) struct Zoned {
    heads: Divisor,
    order: Order,
    zones: Vec<Zone>,
    stretches: Stretches,
}

impl Zoned {
    /// Works a plan out.
    pub(super) fn new(plan: &LayoutPlan) -> Result<Zoned, String> {
        if plan.zones.is_empty() || plan.heads == 0 {
            return Err("a layout needs at least one zone and one head".into());
        }
        if plan.order == Order::BandSerpentine(0) {
            return Err("a band holds at least one track".into());
        }
        let mut zones: Vec<Zone> = Vec::with_capacity(plan.zones.len());
        let mut first = 0u64;
        for (i, zone) in plan.zones.iter().enumerate() {
            let previous = zones.last().map(|z| z.first_cylinder + z.cylinders);
            check_zone(i, zone, previous)?;
            let cylinders = zone.last_cylinder - zone.first_cylinder + 1;
            let tracks = u64::from(cylinders) * u64::from(plan.heads);
            if tracks > u64::from(u32::MAX) {
                return Err(format!("zone {i} has more than 2^32 tracks"));
            }
            let track = u64::from(zone.sectors);
            let size = Size { zone: tracks * track, cylinder: track * u64::from(plan.heads), track };
            let in_zone = |what: String| format!("zone {i} {what}");
            let sectors = capacity_of(zone, plan.sparing, size).map_err(in_zone)?;
            zones.push(Zone {
                first,
                sectors,
                first_cylinder: zone.first_cylinder,
                cylinders,
                track_sectors: Divisor::new(zone.sectors),
                width: u64::MAX / track,
                offset: angle(zone.offset),
                head_skew: angle(zone.head_skew),
                cylinder_skew: angle(zone.cylinder_skew),
                defects: Defects::new(zone, plan.sparing, size).map_err(in_zone)?.map(Box::new),
            });
            first += sectors;
        }
        Ok(Zoned { heads: Divisor::new(plan.heads), order: plan.order, zones, stretches: Stretches::default() })
    }

    /// Lists the stretches of all zones.
    fn list(&mut self) {
        let mut all = Stretches::default();
        for (z, zone) in (0..).zip(&self.zones) {
            let len = all.len();
            if !self.list_zone(z, zone, &mut all) {
                all.truncate(len);
                all.add(Stretch { first: zone.first, zone: z, unlisted: true, ..Stretch::default() });
            }
        }
        all.close(self.sectors());
        self.stretches = all;
    }

    /// The same of one of them; false if there are too many.
    fn list_zone(&self, z: u32, zone: &Zone, all: &mut Stretches) -> bool {
        let Some(defects) = &zone.defects else {
            all.add(Stretch { first: zone.first, zone: z, ..Stretch::default() });
            return true;
        };
        if defects.turns() && zone.cylinders as usize * self.heads.value() as usize > MOST {
            return false;
        }
        let mut next = 0;
        while next < zone.sectors {
            let at = defects.locate(next);
            let (spot, turned) = self.on_zone(z, at.sector, defects);
            let on_track = u64::from(zone.track_sectors.value() - spot.sector);
            let first = zone.first + next;
            all.add(Stretch { first, place: at.sector, turned, zone: z, remapped: at.remapped, unlisted: false });
            next += if defects.turns() { at.run.min(on_track) } else { at.run }.min(zone.sectors);
            if all.is_full() {
                return false;
            }
        }
        true
    }

    /// Sectors that hold data.
    pub(super) fn sectors(&self) -> u64 {
        self.zones.last().map_or(0, |zone| zone.first + zone.sectors)
    }

    /// What lies past so many sectors does not exist for anyone. To be called once before sectors are found.
    pub(super) fn cut(&mut self, sectors: u64) {
        self.zones.retain(|zone| zone.first < sectors);
        if let Some(last) = self.zones.last_mut() {
            last.sectors = last.sectors.min(sectors - last.first);
        }
        self.list();
    }

    pub(super) fn kinds(&self) -> Vec<Kind> {
        self.zones.iter().map(|zone| Kind { width: zone.width, sectors: zone.track_sectors.value() }).collect()
    }

    /// The first sector of each zone.
    pub(super) fn parts(&self) -> Vec<u64> {
        self.zones.iter().map(|zone| zone.first).collect()
    }

    /// Where a sector lies, which must be on the drive.
    #[inline(always)]
    pub(super) fn locate(&self, sector: u64) -> Spot {
        let (stretch, follow) = self.stretches.find(sector);
        if stretch.unlisted {
            return self.locate_unlisted(stretch.zone, sector);
        }
        let zone = &self.zones[stretch.zone as usize];
        let within = sector - stretch.first;
        let (index, on_track) = divide_sector(stretch.place + within, zone.track_sectors);
        let first = self.track(zone, stretch.zone, index);
        let to_end = zone.track_sectors.value() - on_track;
        let angle = first.angle.wrapping_add(u64::from(on_track).wrapping_mul(zone.width)).wrapping_add(stretch.turned);
        Spot {
            track: first.track,
            sector: on_track,
            angle,
            left: u64::from(to_end).min(follow) as u32,
            before: u64::from(on_track).min(within) as u32,
            remapped: stretch.remapped,
            ends_track: u64::from(to_end) < follow && !stretch.remapped,
        }
    }

    /// The zone of a sector, which must be on the drive.
    #[inline(always)]
    pub(super) fn zone_of(&self, sector: u64) -> u32 {
        self.stretches.find(sector).0.zone
    }

    #[cold]
    fn locate_unlisted(&self, z: u32, sector: u64) -> Spot {
        let zone = &self.zones[z as usize];
        let Some(defects) = &zone.defects else { return Spot::default() };
        let within = sector - zone.first;
        let at = defects.locate(within);
        let (spot, turned) = self.on_zone(z, at.sector, defects);
        let to_end = u64::from(zone.track_sectors.value() - spot.sector);
        let left = to_end.min(at.run).min(zone.sectors - within) as u32;
        Spot { angle: spot.angle.wrapping_add(turned), left, remapped: at.remapped, ..spot }
    }

    /// A physical sector of a zone, and the angle by which slips have turned its track.
    fn on_zone(&self, z: u32, physical: u64, defects: &Defects) -> (Spot, u64) {
        let zone = &self.zones[z as usize];
        let (index, sector) = divide_sector(physical, zone.track_sectors);
        let first = self.track(zone, z, index);
        let (track, cylinder) = (u64::from(zone.track_sectors.value()), first.track.cylinder - zone.first_cylinder);
        let before = u64::from(cylinder) * u64::from(self.heads.value()) * track;
        let turned = defects.spare_turn(before, before + u64::from(first.track.head) * track);
        let angle = first.angle.wrapping_add(u64::from(sector).wrapping_mul(zone.width));
        (Spot { sector, angle, ..first }, turned.wrapping_mul(zone.width))
    }

    /// The tracks of a sector's cylinder, as far as they follow from the filling order: those of a zone without defects.
    pub(super) fn beneath(&self, sector: u64, shift: u32) -> Option<Beneath> {
        let (stretch, follow) = self.stretches.find(sector);
        let zone = &self.zones[stretch.zone as usize];
        let within = sector - stretch.first;
        if stretch.unlisted || stretch.place != 0 || within + follow < zone.sectors {
            return None;
        }
        let (index, _) = divide_sector(within, zone.track_sectors);
        let heads = self.heads.value();
        let Spot { track, .. } = self.track(zone, stretch.zone, index);
        let c = track.cylinder - zone.first_cylinder;
        let [base, stride, even, odd, last] = match self.order {
            Order::HeadsFirst => [c * heads, 1, 0, 0, 0],
            Order::Serpentine(parity) if descends(zone, parity, c) => [c * heads, 1, 0, 0, heads - 1],
            Order::Serpentine(_) => [c * heads, 1, 0, 0, 0],
            Order::BandSerpentine(width) => {
                let (band, k) = (c / width, c % width);
                let here = width.min(zone.cylinders - band * width);
                [band * width * heads, here, k, here - 1 - k, 0]
            }
        };
        let (first, sectors, per) = (stretch.first, zone.sectors, u64::from(zone.track_sectors.value()));
        Some(Beneath { head: track.head, heads, base, stride, turns: [even, odd], last, first, sectors, per, shift })
    }

    /// The first sector of a zone's track, by the track's place in the filling order.
    #[inline(always)]
    fn track(&self, zone: &Zone, z: u32, index: u32) -> Spot {
        let heads = self.heads.value();
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
        let angle = zone
            .offset
            .wrapping_add(u64::from(head_steps).wrapping_mul(zone.head_skew))
            .wrapping_add(u64::from(index - head_steps).wrapping_mul(zone.cylinder_skew));
        let track = Track { zone: z, cylinder: zone.first_cylinder + c, head };
        Spot { track, angle, ..Spot::default() }
    }
}

/// The tracks of a cylinder, by how many heads they are from one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beneath {
    head: u32,
    heads: u32,
    /// A track's place in the filling order of its zone: from where on, for each head, and besides for heads of even and odd numbers.
    base: u32,
    stride: u32,
    turns: [u32; 2],
    /// The last head, where they descend, else 0.
    last: u32,
    /// The first sector of the zone, how many it has, and those of a track.
    first: u64,
    sectors: u64,
    per: u64,
    shift: u32,
}

impl Beneath {
    /// The first block of the track so many heads on, counted round; nothing where those are all.
    #[must_use]
    pub fn first_block(&self, n: u32) -> Option<Lbn> {
        let head = self.head + n;
        let head = if head >= self.heads { head.wrapping_sub(self.heads) } else { head };
        let place = self.base + head.abs_diff(self.last) * self.stride + self.turns[head as usize % 2];
        let sector = u64::from(place) * self.per;
        (n < self.heads && sector < self.sectors).then(|| Lbn((self.first + sector) << self.shift))
    }
}

/// Track and sector on it.
#[inline(always)]
fn divide_sector(sector: u64, track: Divisor) -> (u32, u32) {
    match u32::try_from(sector) {
        Ok(sector) => track.divide(sector),
        Err(_) => {
            let per = u64::from(track.value());
            ((sector / per) as u32, (sector % per) as u32)
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
