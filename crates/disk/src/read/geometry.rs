//! `[geometry]` of a drive file.

mod list;
mod tree;

use crate::{Layout, LayoutPlan, Order, Parity, Sparing, ZonePlan};
use block::BadInput;
use config::Section;

/// The layout.
pub(super) fn layout(section: &Section) -> Result<Layout, BadInput> {
    let heads = section.need("heads", section.within("heads", 1, 1024)?)?;
    let order = match section.string("order")? {
        None if section.has("tree") || section.has("list") => "heads-first".into(),
        order => section.need("order", order)?,
    };
    let band = section.within("band", 1, 1 << 24)?.unwrap_or(128);
    let order = match order.as_str() {
        "heads-first" => Order::HeadsFirst,
        "serpentine" => Order::Serpentine(Parity::OfZone),
        "serpentine-absolute" => Order::Serpentine(Parity::OfDisk),
        "band-serpentine" => Order::BandSerpentine(band),
        other => {
            let mend = "use heads-first, serpentine, serpentine-absolute or band-serpentine";
            return Err(section.error("order", format!("there is no track order '{other}'"), mend));
        }
    };
    let sector_blocks = section.size("sector")?.unwrap_or(1).min(1 << 20) as u32;
    if !sector_blocks.is_power_of_two() || sector_blocks > 64 {
        let mend = "give a power of two times 512 bytes, at most 32KiB, e.g. 4KiB";
        return Err(section.error("sector", "no sector has this size", mend));
    }
    let blocks = section.u64("blocks")?;
    if let Some(inner) = section.section("tree")? {
        let tree = Some(tree::read(&inner)?);
        let plan = LayoutPlan { heads, sector_blocks, tree, blocks, ..LayoutPlan::default() };
        let layout = Layout::new(&plan).map_err(|what| inner.here(what, "correct the tree"))?;
        section.close()?;
        return Ok(layout);
    }
    if let Some(inner) = section.section("list")? {
        let list = Some(list::read(&inner)?);
        let plan = LayoutPlan { heads, sector_blocks, list, blocks, ..LayoutPlan::default() };
        let layout = Layout::new(&plan).map_err(|what| inner.here(what, "correct the list"))?;
        section.close()?;
        return Ok(layout);
    }
    let in_revolutions = match section.string("skew")?.as_deref() {
        None | Some("sectors") => false,
        Some("revolutions") => true,
        Some(other) => {
            return Err(section.error("skew", format!("no unit of skew is '{other}'"), "use sectors or revolutions"));
        }
    };
    let rows = section.need("zones", section.rows("zones")?)?;
    let mut zones = Vec::with_capacity(rows.len());
    for row in rows {
        zones.push(zone(&row, in_revolutions).map_err(|what| {
            section.error(
                "zones",
                what,
                "give [first cylinder, last cylinder, sectors, head skew, cylinder skew, spares]",
            )
        })?);
    }
    let range = section.within("range", 1, 1 << 24)?.unwrap_or(1);
    let sparing = section.choice("sparing", &sparings(range))?.unwrap_or_default();
    let mut plan = LayoutPlan { heads, order, sector_blocks, sparing, zones, blocks, ..LayoutPlan::default() };
    defects(section, &mut plan, in_revolutions)?;
    let layout = Layout::new(&plan).map_err(|what| section.error("zones", what, "correct the zone table"))?;
    section.close()?;
    Ok(layout)
}

fn zone(row: &[f64], in_revolutions: bool) -> Result<ZonePlan, String> {
    let whole = |i: usize, what: &str| -> Result<u32, String> {
        let value = row.get(i).copied().unwrap_or(0.0);
        if value < 0.0 || value.fract() != 0.0 || value > f64::from(u32::MAX) {
            return Err(format!("a zone's {what} is {value}, not a whole number of zero or more"));
        }
        Ok(value as u32)
    };
    if !(5..=6).contains(&row.len()) {
        return Err(format!("a zone has {} numbers", row.len()));
    }
    let sectors = whole(2, "sectors")?;
    let unit = if in_revolutions { 1.0 } else { f64::from(sectors.max(1)) };
    if row[3] < 0.0 || row[4] < 0.0 {
        return Err("a zone's skew is negative".into());
    }
    Ok(ZonePlan {
        first_cylinder: whole(0, "first cylinder")?,
        last_cylinder: whole(1, "last cylinder")?,
        sectors,
        head_skew: row[3] / unit,
        cylinder_skew: row[4] / unit,
        spares: whole(5, "spares")?,
        ..ZonePlan::default()
    })
}

/// Words for the schemes.
pub(crate) const fn sparings(range: u32) -> [(&'static str, Sparing); 11] {
    [
        ("zone", Sparing::Zone),
        ("zone-slipping", Sparing::ZoneSlipping),
        ("none", Sparing::None),
        ("tracks", Sparing::Tracks),
        ("cylinder", Sparing::Cylinder),
        ("cylinder-slipping", Sparing::CylinderSlipping),
        ("cylinder-front", Sparing::CylinderFront),
        ("cylinder-front-slipping", Sparing::CylinderFrontSlipping),
        ("track", Sparing::Track),
        ("end-of-disk", Sparing::EndOfDisk),
        ("range", Sparing::Range(range)),
    ]
}

/// What moves data off its sectors, by zone.
fn defects(section: &Section, plan: &mut LayoutPlan, in_revolutions: bool) -> Result<(), BadInput> {
    for (key, width) in [("reserved", 2), ("offset", 2), ("slips", 2), ("remaps", 3)] {
        for row in section.rows(key)?.unwrap_or_default() {
            let bad = |what: &str| {
                let mend = match key {
                    "remaps" => "give rows of [zone, sector, sector its data are on]",
                    "offset" => "give rows of [zone, angle of its first sector]",
                    _ => "give rows of [zone, number]",
                };
                section.error(key, format!("{what}: {row:?}"), mend)
            };
            let whole = row.iter().enumerate().all(|(i, value)| {
                (0.0..=f64::from(u32::MAX)).contains(value) && (value.fract() == 0.0 || (key == "offset" && i == 1))
            });
            if row.len() != width || !whole {
                return Err(bad("a row is not what it should be"));
            }
            let zone = plan.zones.get_mut(row[0] as usize).ok_or_else(|| bad("there is no such zone"))?;
            match key {
                "reserved" => zone.reserved = row[1] as u32,
                "offset" => zone.offset = if in_revolutions { row[1] } else { row[1] / f64::from(zone.sectors.max(1)) },
                "slips" => zone.slips.push(row[1] as u32),
                _ => zone.remaps.push((row[1] as u32, row[2] as u32)),
            }
        }
    }
    Ok(())
}
