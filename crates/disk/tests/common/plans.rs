//! Small random layouts, and the plainest way to list where their sectors lie.

use disk::{LayoutPlan, Order, Parity, Sparing, ZonePlan};
use proptest::prelude::*;

/// A sector in filling order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sector {
    pub zone: u32,
    pub cylinder: u32,
    pub head: u32,
    pub sector: u32,
    /// Which track of its zone.
    pub track: u32,
    /// Which physical sector of its zone, in filling order.
    pub physical: u32,
    /// Whether it is a spare that holds another's data.
    pub remapped: bool,
    /// Revolutions, not wrapped.
    pub angle: f64,
}

pub fn orders() -> impl Strategy<Value = Order> {
    prop_oneof![
        Just(Order::HeadsFirst),
        Just(Order::Serpentine(Parity::OfZone)),
        Just(Order::Serpentine(Parity::OfDisk)),
        (1..8u32).prop_map(Order::BandSerpentine),
    ]
}

/// Gap before the zone, cylinders, sectors, skews, and how much of the zone is spares.
type Row = (u32, u32, u32, f64, f64, f64);

fn row() -> impl Strategy<Value = Row> {
    let spares = prop_oneof![3 => Just(0.0), 1 => 0.0..0.3f64, 1 => 0.5..0.999f64];
    (0..3u32, 1..14u32, 1..24u32, 0.0..0.5f64, 0.0..0.9f64, spares)
}

fn zones(rows: Vec<Row>, heads: u32) -> Vec<ZonePlan> {
    let mut next = 0;
    let mut zones = Vec::new();
    for (gap, cylinders, sectors, head_skew, cylinder_skew, spares) in rows {
        let first_cylinder = next + gap;
        next = first_cylinder + cylinders;
        let spares = (f64::from(cylinders * heads * sectors) * spares) as u32;
        zones.push(ZonePlan {
            first_cylinder,
            last_cylinder: next - 1,
            sectors,
            head_skew,
            cylinder_skew,
            spares: spares.min(cylinders * heads * sectors - 1),
            ..ZonePlan::default()
        });
    }
    zones
}

/// Layouts of up to four small zones, of any order, with spares and at any capacity.
pub fn plans() -> impl Strategy<Value = LayoutPlan> {
    let sector_blocks = prop_oneof![Just(1u32), Just(2), Just(8)];
    let cut = prop_oneof![1 => Just(1.0), 1 => 0.01..1.0f64];
    (1..7u32, orders(), sector_blocks, prop::collection::vec(row(), 1..5), cut).prop_map(
        |(heads, order, sector_blocks, rows, cut)| {
            let mut plan = LayoutPlan {
                heads,
                order,
                sector_blocks,
                sparing: Sparing::Zone,
                zones: zones(rows, heads),
                ..LayoutPlan::default()
            };
            if cut < 1.0 {
                let whole = sectors(&plan).len() as f64 * f64::from(sector_blocks);
                plan.blocks = Some((whole * cut).max(1.0) as u64);
            }
            plan
        },
    )
}

/// The (cylinder, head) of each track of a zone in filling order, cylinders counted from the zone's first.
fn tracks(plan: &LayoutPlan, zone: &ZonePlan) -> Vec<(u32, u32)> {
    let cylinders = zone.last_cylinder - zone.first_cylinder + 1;
    let mut tracks = Vec::new();
    let mut whole_cylinder = |c: u32, descends: bool| {
        let heads: Vec<u32> = if descends { (0..plan.heads).rev().collect() } else { (0..plan.heads).collect() };
        tracks.extend(heads.into_iter().map(|head| (c, head)));
    };
    match plan.order {
        Order::HeadsFirst => (0..cylinders).for_each(|c| whole_cylinder(c, false)),
        Order::Serpentine(Parity::OfZone) => (0..cylinders).for_each(|c| whole_cylinder(c, c % 2 == 1)),
        Order::Serpentine(Parity::OfDisk) => {
            (0..cylinders).for_each(|c| whole_cylinder(c, (zone.first_cylinder + c) % 2 == 1));
        }
        Order::BandSerpentine(width) => {
            let all: Vec<u32> = (0..cylinders).collect();
            for band in all.chunks(width as usize) {
                for head in 0..plan.heads {
                    let forth = band.iter().map(|c| (*c, head));
                    if head % 2 == 0 { tracks.extend(forth) } else { tracks.extend(forth.rev()) }
                }
            }
        }
    }
    tracks
}

/// Every sector the zones hold, in filling order, whatever the capacity.
pub fn sectors(plan: &LayoutPlan) -> Vec<Sector> {
    let mut all = Vec::new();
    for (z, zone) in plan.zones.iter().enumerate() {
        let (mut angle, mut before) = (0.0, None);
        let mut of_zone = Vec::new();
        for (i, (c, head)) in tracks(plan, zone).into_iter().enumerate() {
            angle += match before {
                None => 0.0,
                Some(cylinder) if cylinder == c => zone.head_skew,
                Some(_) => zone.cylinder_skew,
            };
            before = Some(c);
            of_zone.extend((0..zone.sectors).map(|sector| Sector {
                zone: z as u32,
                cylinder: zone.first_cylinder + c,
                head,
                sector,
                track: i as u32,
                physical: i as u32 * zone.sectors + sector,
                remapped: false,
                angle: zone.offset + angle + f64::from(sector) / f64::from(zone.sectors),
            }));
        }
        let of_zone = holding(plan, zone, &of_zone);
        all.extend(of_zone);
    }
    all
}

/// Of all sectors of a zone those that hold data, in the order of the data: struck out one by one.
fn holding(plan: &LayoutPlan, zone: &ZonePlan, all: &[Sector]) -> Vec<Sector> {
    let track = zone.sectors as usize;
    let cylinder = track * plan.heads as usize;
    let spares = zone.spares as usize;
    let unit = if plan.sparing == Sparing::Tracks { zone.sectors } else { 1 };
    let slipped = |sector: &Sector| zone.slips.contains(&(sector.physical / unit));
    let good = |sectors: &[Sector]| -> Vec<Sector> { sectors.iter().filter(|it| !slipped(it)).copied().collect() };
    let spared = |group: usize, front: bool| -> Vec<Sector> {
        let keep = |group: &[Sector]| {
            if front { group[spares..].to_vec() } else { group[..group.len() - spares].to_vec() }
        };
        all.chunks(group).flat_map(keep).collect()
    };
    // Within a group slips use up the spares.
    let absorbed = |group: usize, front: bool| -> Vec<Sector> {
        let keep = |group: &[Sector]| {
            let good = good(group);
            let data = group.len() - spares;
            if front { good[good.len() - data..].to_vec() } else { good[..data].to_vec() }
        };
        all.chunks(group).flat_map(keep).collect()
    };
    let mut data = match plan.sparing {
        Sparing::None => good(all),
        Sparing::Zone => good(all)[..all.len() - spares].to_vec(),
        Sparing::ZoneSlipping => good(&all[..all.len() - spares]),
        Sparing::Tracks => good(all)[..all.len() - spares * track].to_vec(),
        Sparing::EndOfDisk => good(all),
        Sparing::Track => absorbed(track, false),
        Sparing::Cylinder => absorbed(cylinder, false),
        Sparing::CylinderFront => absorbed(cylinder, true),
        Sparing::Range(range) => absorbed(cylinder * range as usize, false),
        Sparing::CylinderSlipping => good(&spared(cylinder, false)),
        Sparing::CylinderFrontSlipping => good(&spared(cylinder, true)),
    };
    let turning = |sector: &Sector| {
        let in_zone = sector.cylinder - zone.first_cylinder;
        let first = match plan.sparing {
            Sparing::Track => (in_zone * plan.heads + sector.head) * zone.sectors,
            Sparing::Cylinder | Sparing::CylinderSlipping | Sparing::CylinderFront | Sparing::CylinderFrontSlipping => {
                in_zone * plan.heads * zone.sectors
            }
            _ => 0,
        };
        zone.slips.iter().filter(|slip| **slip < first).count() as f64 / f64::from(zone.sectors)
    };
    data.drain(..zone.reserved as usize);
    for sector in &mut data {
        let number = sector.physical / unit;
        if let Some((_, good)) = zone.remaps.iter().find(|(bad, good)| *bad == number && bad != good) {
            *sector = Sector { remapped: true, ..all[(good * unit + sector.physical % unit) as usize] };
        }
        sector.angle += turning(sector);
    }
    data
}

/// Schemes of sparing, with slips, remaps, an offset and reserved sectors, on one zone of whole ranges.
pub fn defective() -> impl Strategy<Value = LayoutPlan> {
    let schemes = prop::sample::select(vec![
        Sparing::Zone,
        Sparing::ZoneSlipping,
        Sparing::None,
        Sparing::Tracks,
        Sparing::Cylinder,
        Sparing::CylinderSlipping,
        Sparing::CylinderFront,
        Sparing::CylinderFrontSlipping,
        Sparing::Track,
        Sparing::EndOfDisk,
        Sparing::Range(2),
    ]);
    let sizes = (1..4u32, 1..5u32, 6..14u32, 1..4u32, 0..4u32, 0.0..1.0f64);
    let marks = prop::collection::vec(0..10_000u32, 0..14);
    (schemes, orders(), sizes, marks, prop_oneof![Just(1u32), Just(8)]).prop_map(
        |(sparing, order, (heads, pairs, sectors, spares, reserved, offset), marks, sector_blocks)| {
            let cylinders = 2 * pairs;
            let all = cylinders * heads * sectors;
            let units = if sparing == Sparing::Tracks { cylinders * heads } else { all };
            let spares = spares.min(units / 4).min(sectors / 3);
            let mut zone = ZonePlan {
                last_cylinder: cylinders - 1,
                sectors,
                head_skew: 0.21,
                cylinder_skew: 0.37,
                spares: if matches!(sparing, Sparing::None | Sparing::EndOfDisk) { 0 } else { spares },
                offset,
                reserved,
                ..ZonePlan::default()
            };
            defects(&mut zone, sparing, heads, units, &marks);
            LayoutPlan { heads, order, sector_blocks, sparing, zones: vec![zone], ..LayoutPlan::default() }
        },
    )
}

/// Slips, as many as there are spares for, then remaps to spares at the end of the zone.
fn defects(zone: &mut ZonePlan, sparing: Sparing, heads: u32, units: u32, marks: &[u32]) {
    let group = match sparing {
        Sparing::Track => zone.sectors,
        Sparing::Cylinder | Sparing::CylinderFront => zone.sectors * heads,
        Sparing::Range(range) => zone.sectors * heads * range,
        _ => units,
    };
    let flows = matches!(
        sparing,
        Sparing::EndOfDisk | Sparing::ZoneSlipping | Sparing::CylinderSlipping | Sparing::CylinderFrontSlipping
    );
    for mark in marks {
        let slip = mark % units;
        let of_group = zone.slips.iter().filter(|other| **other / group == slip / group).count();
        let room = if flows { units as usize / 6 } else { zone.spares as usize };
        let in_spares = match sparing {
            Sparing::ZoneSlipping => slip >= units - zone.spares,
            Sparing::CylinderFront => slip % group < zone.spares,
            Sparing::CylinderSlipping => slip % (zone.sectors * heads) >= zone.sectors * heads - zone.spares,
            Sparing::CylinderFrontSlipping => slip % (zone.sectors * heads) < zone.spares,
            _ => false,
        };
        if of_group < room && !zone.slips.contains(&slip) && !in_spares {
            zone.slips.push(slip);
        }
    }
    zone.slips.sort_unstable();
    let free: Vec<u32> = match sparing {
        Sparing::Zone | Sparing::Tracks => {
            let used = zone.slips.len() as u32;
            (units - zone.spares + used.min(zone.spares)..units).filter(|unit| !zone.slips.contains(unit)).collect()
        }
        _ => Vec::new(),
    };
    let slips = zone.slips.clone();
    // What a slip pushed into the spares is no longer free.
    let beyond = units - zone.spares + slips.len() as u32;
    for (good, mark) in free.into_iter().filter(|unit| *unit >= beyond).zip(marks.iter().rev()) {
        let bad = mark % (units - zone.spares);
        if !slips.contains(&bad) && zone.remaps.iter().all(|(other, _)| *other != bad) {
            zone.remaps.push((bad, good));
        }
    }
}

/// How far two angles are apart, in revolutions; one of them 2⁻⁶⁴ revolutions.
pub fn apart(angle: u64, revolutions: f64) -> f64 {
    let difference = angle as f64 / 18_446_744_073_709_551_616.0 - revolutions;
    (difference - difference.round()).abs()
}
