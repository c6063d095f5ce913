//! The layout of a `dm_disk` read into a plan.

use super::list;
use super::params::Params;
use super::parse::{Block, ParamValue};
use crate::layout::Skew;
use crate::{Child, Drive, Elsewhere, EntryPlan, LayoutPlan, Order, Parity, Sparing, TrackPlan, TreePlan, ZonePlan};
use block::BadInput;
use std::path::Path;

/// Cylinders, heads, sectors: no drive has more.
const MOST: f64 = 16_777_215.0;

/// The layout of a `dm_disk`.
pub(super) fn plan(model: &Params, path: &Path, warnings: &mut Vec<String>) -> Result<LayoutPlan, BadInput> {
    let layout = model.block("Layout Model")?.ok_or_else(|| model.missing("Layout Model"))?;
    let heads = model.whole("Number of data surfaces", 1024.0)? as u32;
    if heads == 0 {
        return Err(model.error("Number of data surfaces", "a drive without surfaces", "give at least one"));
    }
    let layout = model.inner(layout);
    match layout.block.kind.as_str() {
        "dm_layout_g1" => zoned_layout(&layout, heads, warnings),
        "dm_layout_g2" => list::plan(&layout, heads, path, warnings),
        "dm_layout_g4" => tree(&layout, heads, model.or_zero("Block count")?),
        kind => {
            let what = format!("a layout of type '{kind}' is not known here");
            Err(layout.here(what, "layouts are dm_layout_g1, dm_layout_g2 and dm_layout_g4"))
        }
    }
}

/// Values taken from a list one after the other, with their types checked.
struct MappingRow<'a> {
    params: &'a Params<'a>,
    name: &'static str,
    values: std::slice::Iter<'a, ParamValue>,
}

impl<'a> MappingRow<'a> {
    fn error(&self, what: &str) -> BadInput {
        self.params.error(self.name, format!("`{}` holds {what}", self.name), "compare it with DiskSim's manual")
    }

    fn number(&mut self) -> Result<f64, BadInput> {
        match self.values.next() {
            Some(ParamValue::Number(number)) => Ok(*number),
            _ => Err(self.error("what is no number, or too few")),
        }
    }

    fn whole(&mut self, most: f64) -> Result<u64, BadInput> {
        let number = self.number()?;
        if (0.0..=most).contains(&number) && number.fract() == 0.0 {
            return Ok(number as u64);
        }
        Err(self.error(&format!("{number} where a whole number up to {most} should be")))
    }

    fn is_done(&self) -> bool {
        self.values.len() == 0
    }
}

/// Blocks: exact as a number.
const BLOCKS: f64 = 9_007_199_254_740_992.0;

/// A layout of the fourth generation.
fn tree(layout: &Params, heads: u32, said: f64) -> Result<LayoutPlan, BadInput> {
    let row = |name: &'static str| -> Result<MappingRow, BadInput> {
        Ok(MappingRow { params: layout, name, values: layout.list(name)?.iter() })
    };
    let mut plan = TreePlan::default();
    let mut tracks = row("TP")?;
    while !tracks.is_done() {
        let (low, high, sectors) = (tracks.whole(MOST)?, tracks.whole(MOST)?, tracks.whole(MOST)?);
        plan.tracks.push(TrackPlan { low: low as u32, high: high as u32, sectors: sectors as u32 });
    }
    for list in layout.list("IDX")? {
        let ParamValue::List(list) = list else {
            return Err(layout.error("IDX", "`IDX` holds what is no list", "write [ [entries], … ]"));
        };
        let mut values = MappingRow { params: layout, name: "IDX", values: list.iter() };
        let mut entries = Vec::new();
        while !values.is_done() {
            entries.push(entry(&mut values)?);
        }
        plan.lists.push(entries);
    }
    let mut slips = row("Slips")?;
    while !slips.is_done() {
        let place = slips.whole(BLOCKS)?;
        plan.slips.push((place, slips.number()? as i64));
    }
    let mut remaps = row("Remaps")?;
    while !remaps.is_done() {
        let (first, blocks) = (remaps.whole(BLOCKS)?, remaps.whole(MOST)?);
        let (cylinder, head, sector) = (remaps.whole(MOST)?, remaps.whole(MOST)?, remaps.whole(MOST)?);
        // The sectors of its track, which the tree knows.
        remaps.whole(MOST)?;
        let (cylinder, head, sector) = (cylinder as u32, head as u32, sector as u32);
        plan.remaps.push(Elsewhere { first, blocks, cylinder, head, sector });
    }
    let mut plan = LayoutPlan { heads, sector_blocks: 1, tree: Some(plan), ..LayoutPlan::default() };
    // The file's count bounds a tree, which may go on to spares.
    let held = crate::Layout::new(&plan).map_err(|what| layout.here(what, "correct the tree"))?.blocks();
    plan.blocks = (said >= 1.0 && (said as u64) < held).then_some(said as u64);
    Ok(plan)
}

fn entry(values: &mut MappingRow) -> Result<EntryPlan, BadInput> {
    let (first, cylinder, offset) = (values.whole(BLOCKS)?, values.whole(MOST)? as u32, values.number()?);
    let (each, cylinders, turn) = (values.whole(BLOCKS)?, values.whole(MOST)? as u32, values.number()?);
    let (blocks, run) = (values.whole(BLOCKS)?, values.number()?);
    let child = match values.values.next() {
        Some(ParamValue::Word(word)) if word == "TRACK" => {
            Child::Track(values.whole(MOST)? as u32, values.whole(MOST)? as u32)
        }
        Some(ParamValue::Word(word)) if word == "IDX" => Child::List(values.whole(MOST)? as u32),
        _ => return Err(values.error("what is neither TRACK nor IDX where one of them should be")),
    };
    Ok(EntryPlan { first, cylinder, offset, each, cylinders, turn, blocks, descends: run < 0.0, child })
}

/// What the file says of cylinders and blocks beside what its zones hold.
pub(super) fn compare(model: &Params, drive: &Drive, warnings: &mut Vec<String>) -> Result<(), BadInput> {
    let layout = &drive.sheet.mechanics.layout;
    let said = model.or_zero("Block count")?;
    if said > 0.0 && said as u64 != layout.blocks() {
        warnings.push(format!("the file says {said} blocks, its layout holds {}: the layout counts", layout.blocks()));
    }
    let said = model.or_zero("Number of cylinders")?;
    if said > 0.0 && said as u64 != u64::from(layout.cylinders()) {
        warnings.push(format!("the file says {said} cylinders, its layout has {}", layout.cylinders()));
    }
    Ok(())
}

fn zoned_layout(layout: &Params, heads: u32, warnings: &mut Vec<String>) -> Result<LayoutPlan, BadInput> {
    let order = match layout.whole("LBN-to-PBN mapping scheme", MOST)? {
        0 => Order::HeadsFirst,
        1 => Order::Serpentine(Parity::OfZone),
        2 => Order::Serpentine(Parity::OfDisk),
        other => {
            let name = "LBN-to-PBN mapping scheme";
            return Err(layout.error(name, format!("there is no mapping scheme {other}"), "schemes are 0, 1 and 2"));
        }
    };
    let range = layout.whole_or_zero("Rangesize for sparing", MOST)?.max(1) as u32;
    let sparing = match layout.whole("Sparing scheme used", MOST)? {
        0 => Sparing::None,
        1 => Sparing::Tracks,
        2 => Sparing::Cylinder,
        3 => Sparing::Track,
        4 => Sparing::CylinderSlipping,
        5 => Sparing::CylinderFront,
        6 => Sparing::CylinderFrontSlipping,
        7 => Sparing::EndOfDisk,
        8 => Sparing::Range(range),
        9 => Sparing::Zone,
        10 => Sparing::ZoneSlipping,
        other => {
            let what = format!("there is no sparing scheme {other}");
            return Err(layout.error("Sparing scheme used", what, "schemes are 0 to 10"));
        }
    };
    let skew = match layout.find("Skew units").map(|param| &param.value) {
        None => Skew::Sectors,
        Some(ParamValue::Number(unit)) if *unit != 0.0 => Skew::Revolutions,
        Some(ParamValue::Word(word)) if word.starts_with("rev") => Skew::Revolutions,
        Some(ParamValue::Number(_) | ParamValue::Word(_)) => Skew::Sectors,
        Some(_) => return Err(layout.error("Skew units", "no unit of skew", "give sectors or revolutions")),
    };
    let (mut zones, mut unknown) = (Vec::new(), Vec::new());
    for value in layout.list("Zones")? {
        let ParamValue::Block(block) = value else {
            return Err(layout.error("Zones", "a zone is no block", "write dm_layout_g1_zone { … }"));
        };
        let block = layout.inner(block);
        zones.push(zone(&block, skew)?);
        unknown.extend(block.rest(&[]));
    }
    // The sectors of a cylinder that slips push over its end go on in the next one, so slips of tracks ascend.
    for zone in &mut zones {
        let given = zone.slips.len();
        zone.slips.sort_unstable();
        zone.slips.dedup();
        if zone.slips.len() < given {
            warnings.push(format!("zone from cylinder {}: a slip is given twice", zone.first_cylinder));
        }
    }
    unknown.extend(layout.rest(&[]));
    warnings.extend(unknown.iter().map(|it| format!("{}:{}: `{}` is not modelled", it.file, it.line, it.parameter)));
    Ok(LayoutPlan { heads, order, sector_blocks: 1, sparing, zones, ..LayoutPlan::default() })
}

fn zone(zone: &Params, skew: Skew) -> Result<ZonePlan, BadInput> {
    let sectors = zone.whole("Blocks per track", MOST)? as u32;
    let unit = skew.unit(sectors);
    let skew = |name: &'static str| -> Result<f64, BadInput> {
        let value = zone.or_zero(name)?;
        if (0.0..=1e9).contains(&value) {
            return Ok(value / unit);
        }
        Err(zone.error(
            name,
            format!("`{name}` is {value}"),
            "give a skew in sectors, or in revolutions where `Skew units` says so",
        ))
    };
    let whole = |name: &'static str, list: Vec<f64>| -> Result<Vec<u32>, BadInput> {
        if list.iter().all(|value| *value >= 0.0 && value.fract() == 0.0 && *value <= f64::from(u32::MAX)) {
            return Ok(list.into_iter().map(|value| value as u32).collect());
        }
        Err(zone.error(name, format!("`{name}` holds what is no sector"), "give whole numbers, zero or more"))
    };
    let defects = whole("defects", zone.numbers("defects")?)?;
    if defects.len() % 2 == 1 {
        let what = format!("`defects` holds {} numbers", defects.len());
        return Err(zone.error("defects", what, "give pairs: the bad sector, the one its data are on"));
    }
    let _: &Block = zone.block;
    Ok(ZonePlan {
        first_cylinder: zone.whole("First cylinder number", MOST)? as u32,
        last_cylinder: zone.whole("Last cylinder number", MOST)? as u32,
        sectors,
        head_skew: skew("Skew for track switch")?,
        cylinder_skew: skew("Skew for cylinder switch")?,
        spares: zone.whole_or_zero("Number of spares", f64::from(u32::MAX))? as u32,
        offset: skew("Offset of first block")?,
        reserved: zone.whole_or_zero("Empty space at zone front", f64::from(u32::MAX))? as u32,
        slips: whole("slips", zone.numbers("slips")?)?,
        remaps: defects.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect(),
    })
}
