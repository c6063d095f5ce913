//! Where every sector of a drive lies, one by one: the tracks of a zone are walked in their order, each turned by its skew.

use disk::{LayoutPlan, Order, Parity, Sparing, ZonePlan};

/// A sector that holds data.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub cylinder: u32,
    pub head: u32,
    /// Where it begins.
    pub angle: u64,
    /// How many lie before it on its track, spare ones and bad ones too.
    pub before: u32,
    /// How far it reaches.
    pub width: u64,
    /// The track it belongs to; of a sector that stands in for a bad one, the bad one's.
    pub home: u32,
    /// The track's cylinder.
    pub home_cylinder: u32,
    /// Whether it stands in for a bad one.
    pub remapped: bool,
}

struct Track {
    cylinder: u32,
    head: u32,
    angle: u64,
}

/// A share of a revolution as an angle.
fn angle(revolutions: f64) -> u64 {
    (revolutions.rem_euclid(1.0) * 18_446_744_073_709_551_616.0) as u64
}

/// The sectors of a drive in the order of its blocks.
pub fn places(plan: &LayoutPlan) -> Vec<Place> {
    let (mut all, mut tracks_before) = (Vec::new(), 0);
    for zone in &plan.zones {
        let tracks = walk(plan, zone);
        let per = zone.sectors as usize;
        let width = u64::MAX / u64::from(zone.sectors);
        for physical in data(plan, zone, tracks.len()) {
            let unit = if plan.sparing == Sparing::Tracks { per } else { 1 };
            let elsewhere = zone.remaps.iter().find(|(bad, _)| *bad as usize == physical / unit);
            let lies = elsewhere.map_or(physical, |(_, good)| *good as usize * unit + physical % unit);
            let (track, sector) = (&tracks[lies / per], (lies % per) as u32);
            all.push(Place {
                cylinder: track.cylinder,
                head: track.head,
                angle: track.angle.wrapping_add(width.wrapping_mul(u64::from(sector))),
                before: sector,
                width,
                home: (tracks_before + physical / per) as u32,
                home_cylinder: tracks[physical / per].cylinder,
                remapped: elsewhere.is_some(),
            });
        }
        tracks_before += tracks.len();
    }
    if let Some(blocks) = plan.blocks {
        all.truncate(blocks.div_ceil(u64::from(plan.sector_blocks)) as usize);
    }
    all
}

/// The tracks of a zone in the order they are filled.
fn walk(plan: &LayoutPlan, zone: &ZonePlan) -> Vec<Track> {
    let (first, last, heads) = (zone.first_cylinder, zone.last_cylinder, plan.heads);
    let mut order: Vec<(u32, u32)> = Vec::new();
    match plan.order {
        Order::HeadsFirst => order.extend((first..=last).flat_map(|c| (0..heads).map(move |h| (c, h)))),
        Order::Serpentine(parity) => {
            for c in first..=last {
                let down = if parity == Parity::OfDisk { c % 2 == 1 } else { (c - first) % 2 == 1 };
                order.extend((0..heads).map(|h| (c, if down { heads - 1 - h } else { h })));
            }
        }
        Order::BandSerpentine(width) => {
            let mut begin = first;
            while begin <= last {
                let end = last.min(begin + width - 1);
                for h in 0..heads {
                    let up: Vec<u32> = (begin..=end).collect();
                    let way: Vec<u32> = if h % 2 == 0 { up } else { up.into_iter().rev().collect() };
                    order.extend(way.into_iter().map(|c| (c, h)));
                }
                begin = end + 1;
            }
        }
    }
    let mut at = angle(zone.offset);
    let mut tracks: Vec<Track> = Vec::new();
    for (cylinder, head) in order {
        if let Some(before) = tracks.last() {
            let skew = if before.cylinder == cylinder { zone.head_skew } else { zone.cylinder_skew };
            at = at.wrapping_add(angle(skew));
        }
        tracks.push(Track { cylinder, head, angle: at });
    }
    tracks
}

/// The sectors of a zone whose blocks follow one another, by their number in filling order, spares and slips left out.
fn data(plan: &LayoutPlan, zone: &ZonePlan, tracks: usize) -> Vec<usize> {
    let (per, spares, slips) = (zone.sectors as usize, zone.spares as usize, zone.slips.len());
    let total = tracks * per;
    let of_each = |group: usize, front: bool| -> Vec<usize> {
        let inside = |within: usize| if front { within >= spares } else { within < group - spares };
        (0..total).filter(|p| p / group >= total / group || inside(p % group)).collect()
    };
    let cylinder = per * plan.heads as usize;
    let (kept, most) = match plan.sparing {
        Sparing::Zone => ((0..total).collect(), total - spares),
        Sparing::ZoneSlipping => ((0..total).collect(), total - spares - slips),
        Sparing::None => ((0..total).collect(), total),
        Sparing::EndOfDisk => ((0..total).collect(), total - slips),
        Sparing::Tracks => ((0..total).collect(), total - spares * per),
        Sparing::Track => (of_each(per, false), total),
        Sparing::Cylinder | Sparing::CylinderSlipping => (of_each(cylinder, false), total),
        Sparing::CylinderFront | Sparing::CylinderFrontSlipping => (of_each(cylinder, true), total),
        Sparing::Range(cylinders) => (of_each(cylinder * cylinders.max(1) as usize, false), total),
    };
    let unit = if plan.sparing == Sparing::Tracks { per } else { 1 };
    let slipped = |p: &usize| zone.slips.iter().any(|slip| *slip as usize == p / unit);
    let reserved = zone.reserved as usize;
    kept.into_iter().filter(|p| *p >= reserved && !slipped(p)).take(most - reserved).collect()
}
