//! `[geometry]` of a drive file.

mod list;
mod tree;

use crate::layout::{Skew, sparings};
use crate::{Layout, LayoutPlan, Order, Parity, Sparing, ZonePlan};
use block::BadInput;
use config::{Section, Word, Words};

pub(crate) use list::keys as list_keys;
pub(crate) use tree::{entry_keys as tree_list_keys, keys as tree_keys};

config::keys! {
    /// Where blocks lie: by zones, or by `[geometry.tree]` or `[geometry.list]` in their place.
    pub(crate) fn keys() -> "[geometry]";

    /// Heads: tracks of a cylinder.
    HEADS: u32 = within("heads", 1, 1024).required();
    /// In which order the tracks of a zone are filled.
    ORDER: TrackOrder = word("order").else_told("must be given with `zones`");
    /// Of `band-serpentine`: cylinders of a band.
    BAND: u32 = within("band", 1, 1 << 24).usually("128");
    /// Size of a sector.
    SECTOR: u64 = size("sector").usually("512B");
    /// Capacity in blocks of 512 bytes, where it is less than the zones hold.
    BLOCKS: u64 = whole("blocks", 0, u64::MAX).else_told("what they hold");
    /// What skews are given in.
    SKEW: Skew = word("skew").usually("sectors");
    /// Rows of first cylinder, last cylinder, sectors a track, head skew, cylinder skew, and spares.
    ZONES: Vec<Vec<f64>> = rows("zones").else_told("must be given without a tree or a list");
    /// Where spare sectors are, and what becomes of data whose sector is bad.
    SPARING: &'static str = one_of("sparing", || sparings(1).map(|(name, _)| (name, sparing_text(name))).into()).usually("zone");
    /// Of `sparing = "range"`: tracks that share spares.
    RANGE: u32 = within("range", 1, 1 << 24).usually("1");
    /// Bad sectors that data slip past: rows of zone, sector.
    SLIPS: Vec<Vec<f64>> = rows("slips");
    /// Bad sectors whose data lie elsewhere: rows of zone, sector, the sector its data are on.
    REMAPS: Vec<Vec<f64>> = rows("remaps");
    /// Sectors of a zone that hold no data: rows of zone, number.
    RESERVED: Vec<Vec<f64>> = rows("reserved");
    /// The angle of the first sector of a zone: rows of zone, angle, as `skew` has it.
    OFFSET: Vec<Vec<f64>> = rows("offset");
}

/// In which order tracks are filled, as a file says it.
#[derive(Clone, Copy)]
enum TrackOrder {
    HeadsFirst,
    Serpentine,
    SerpentineAbsolute,
    BandSerpentine,
}

impl Words for TrackOrder {
    const WORDS: &'static [Word<TrackOrder>] = &[
        Word::new(
            "heads-first",
            TrackOrder::HeadsFirst,
            "all heads of a cylinder, from the first, then the next cylinder",
        ),
        Word::new("serpentine", TrackOrder::Serpentine, "the same, every other cylinder of a zone from the last head"),
        Word::new(
            "serpentine-absolute",
            TrackOrder::SerpentineAbsolute,
            "the same, every other cylinder of the disk from the last head",
        ),
        Word::new(
            "band-serpentine",
            TrackOrder::BandSerpentine,
            "a band of cylinders under one head, and back under the next",
        ),
    ];
}

impl Words for Skew {
    const WORDS: &'static [Word<Skew>] = &[
        Word::new("sectors", Skew::Sectors, "sectors of the zone"),
        Word::new("revolutions", Skew::Revolutions, "parts of a revolution"),
    ];
}

/// What a scheme of sparing does.
fn sparing_text(name: &str) -> &'static str {
    match name {
        "none" => "none",
        "zone" => "spares at the end of a zone; data are remapped",
        "zone-slipping" => "spares at the end of a zone; data slip past",
        "tracks" => "spare tracks",
        "cylinder" => "spares at the end of a cylinder; data are remapped",
        "cylinder-slipping" => "spares at the end of a cylinder; data slip past",
        "cylinder-front" => "spares at the front of a cylinder; data are remapped",
        "cylinder-front-slipping" => "spares at the front of a cylinder; data slip past",
        "track" => "spares at the end of a track",
        "end-of-disk" => "spares at the end of the disk",
        _ => "spares for each `range` of tracks",
    }
}

/// Reads the layout in any of its forms: as it is written, and worked out.
pub(super) fn layout(section: &Section) -> Result<(LayoutPlan, Layout), BadInput> {
    let heads = section.value(&HEADS)?;
    let order = match section.get(&ORDER)? {
        None if section.has("tree") || section.has("list") => TrackOrder::HeadsFirst,
        order => section.need(ORDER.name(), order)?,
    };
    let band = section.value(&BAND)?;
    let order = match order {
        TrackOrder::HeadsFirst => Order::HeadsFirst,
        TrackOrder::Serpentine => Order::Serpentine(Parity::OfZone),
        TrackOrder::SerpentineAbsolute => Order::Serpentine(Parity::OfDisk),
        TrackOrder::BandSerpentine => Order::BandSerpentine(band),
    };
    let sector_blocks = section.value(&SECTOR)?.min(1 << 20) as u32;
    if !sector_blocks.is_power_of_two() || sector_blocks > 64 {
        let mend = "give a power of two times 512 bytes, at most 32KiB, e.g. 4KiB";
        return Err(section.error("sector", "no sector has this size", mend));
    }
    let blocks = section.get(&BLOCKS)?;
    if let Some(inner) = section.section("tree")? {
        let tree = Some(tree::read(&inner)?);
        let plan = LayoutPlan { heads, sector_blocks, tree, blocks, ..LayoutPlan::default() };
        let layout = Layout::new(&plan).map_err(|what| inner.here(what, "correct the tree"))?;
        section.close()?;
        return Ok((plan, layout));
    }
    if let Some(inner) = section.section("list")? {
        let list = Some(list::read(&inner)?);
        let plan = LayoutPlan { heads, sector_blocks, list, blocks, ..LayoutPlan::default() };
        let layout = Layout::new(&plan).map_err(|what| inner.here(what, "correct the list"))?;
        section.close()?;
        return Ok((plan, layout));
    }
    let skew = section.value(&SKEW)?;
    let rows = section.need(ZONES.name(), section.get(&ZONES)?)?;
    let mut zones = Vec::with_capacity(rows.len());
    for row in rows {
        zones.push(zone(&row, skew).map_err(|what| {
            section.error(
                "zones",
                what,
                "give [first cylinder, last cylinder, sectors, head skew, cylinder skew, spares]",
            )
        })?);
    }
    let (range, scheme) = (section.value(&RANGE)?, section.value(&SPARING)?);
    let sparing = sparings(range).into_iter().find(|(name, _)| *name == scheme).map_or(Sparing::Zone, |it| it.1);
    let mut plan = LayoutPlan { heads, order, sector_blocks, sparing, zones, blocks, ..LayoutPlan::default() };
    defects(section, &mut plan, skew)?;
    let layout = Layout::new(&plan).map_err(|what| section.error("zones", what, "correct the zone table"))?;
    section.close()?;
    Ok((plan, layout))
}

fn zone(row: &[f64], skew: Skew) -> Result<ZonePlan, String> {
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
    let unit = skew.unit(sectors);
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

/// What moves data off its sectors, by zone.
fn defects(section: &Section, plan: &mut LayoutPlan, skew: Skew) -> Result<(), BadInput> {
    for (declared, width) in [(&RESERVED, 2), (&OFFSET, 2), (&SLIPS, 2), (&REMAPS, 3)] {
        let key = declared.name();
        for row in section.get(declared)?.unwrap_or_default() {
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
                "offset" => zone.offset = row[1] / skew.unit(zone.sectors),
                "slips" => zone.slips.push(row[1] as u32),
                _ => zone.remaps.push((row[1] as u32, row[2] as u32)),
            }
        }
    }
    Ok(())
}
