//! Small random layouts, and the plainest way to list where their sectors lie.

use disk::{LayoutPlan, Order, Parity, ZonePlan};
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
            let mut plan = LayoutPlan { heads, order, sector_blocks, zones: zones(rows, heads), blocks: None };
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
                angle: angle + f64::from(sector) / f64::from(zone.sectors),
            }));
        }
        of_zone.truncate(of_zone.len() - zone.spares as usize);
        all.extend(of_zone);
    }
    all
}

/// How far two angles are apart, in revolutions; one of them 2⁻⁶⁴ revolutions.
pub fn apart(angle: u64, revolutions: f64) -> f64 {
    let difference = angle as f64 / 18_446_744_073_709_551_616.0 - revolutions;
    (difference - difference.round()).abs()
}
