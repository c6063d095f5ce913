//! Where blocks lie, in DiskSim's words: zones as its first generation has them; bands, which that has not, as a tree of its fourth.

use super::text::ParameterBlock;
use crate::{Child, EntryPlan, LayoutPlan, Order, Parity, Sparing, TrackPlan, TreePlan, ZonePlan};

/// The block of a layout.
///
/// # Errors
/// In words, when DiskSim has no such layout.
pub(super) fn block(plan: &LayoutPlan, notes: &mut Vec<String>) -> Result<ParameterBlock, String> {
    if plan.sector_blocks > 1 {
        let bytes = plan.sector_blocks * 512;
        notes.push(format!("sectors of {bytes} bytes: each is {} of 512", plan.sector_blocks));
    }
    if let Some(blocks) = plan.blocks.filter(|_| plan.tree.is_none()) {
        notes.push(format!("a capacity of {blocks} blocks: as much as the zones hold"));
    }
    match (&plan.tree, &plan.list, plan.order) {
        (Some(tree), _, _) if plan.sector_blocks == 1 => Ok(tree_block(tree)),
        (Some(_), _, _) => Err("a tree of sectors of more than 512 bytes cannot be said to DiskSim".into()),
        (None, Some(_), _) => Err("a list of runs is a file of another form: name the drive by its zones".into()),
        (None, None, Order::BandSerpentine(width)) => Ok(tree_block(&bands(plan, width)?)),
        (None, None, Order::HeadsFirst) => Ok(zoned_block(plan, 0)),
        (None, None, Order::Serpentine(Parity::OfZone)) => Ok(zoned_block(plan, 1)),
        (None, None, Order::Serpentine(Parity::OfDisk)) => Ok(zoned_block(plan, 2)),
    }
}

/// Zones of the first generation.
fn zoned_block(plan: &LayoutPlan, mapping: u32) -> ParameterBlock {
    let (scheme, range) = match plan.sparing {
        Sparing::None => (0, 1),
        Sparing::Tracks => (1, 1),
        Sparing::Cylinder => (2, 1),
        Sparing::Track => (3, 1),
        Sparing::CylinderSlipping => (4, 1),
        Sparing::CylinderFront => (5, 1),
        Sparing::CylinderFrontSlipping => (6, 1),
        Sparing::EndOfDisk => (7, 1),
        Sparing::Range(range) => (8, range),
        Sparing::Zone => (9, 1),
        Sparing::ZoneSlipping => (10, 1),
    };
    let mut block = ParameterBlock::new("dm_layout_g1", "");
    block.set("LBN-to-PBN mapping scheme", mapping);
    block.set("Sparing scheme used", scheme);
    block.set("Rangesize for sparing", range);
    let zones: Vec<String> = plan.zones.iter().map(|zone| zone_block(plan, zone).inside()).collect();
    block.set("Zones", format!("[ {} ]", zones.join(",\n  ")));
    block
}

fn zone_block(plan: &LayoutPlan, zone: &ZonePlan) -> ParameterBlock {
    let sector = plan.sector_blocks;
    // Spares and slips of tracks are counted in tracks.
    let unit = if plan.sparing == Sparing::Tracks { 1 } else { sector };
    let track = zone.sectors * sector;
    // Thousands of tracks add their rounding up.
    let skew = |revolutions: f64| format!("{:.9}", revolutions * f64::from(track));
    let mut block = ParameterBlock::new("dm_layout_g1_zone", "");
    block.set("First cylinder number", zone.first_cylinder);
    block.set("Last cylinder number", zone.last_cylinder);
    block.set("Blocks per track", track);
    block.set("Offset of first block", skew(zone.offset));
    block.set("Empty space at zone front", zone.reserved * sector);
    block.set("Skew for track switch", skew(zone.head_skew));
    block.set("Skew for cylinder switch", skew(zone.cylinder_skew));
    block.set("Number of spares", zone.spares * unit);
    let each = |at: &u32| (at * unit..(at + 1) * unit).map(|at| at.to_string());
    let slips: Vec<String> = zone.slips.iter().flat_map(each).collect();
    let pairs = zone.remaps.iter().flat_map(|(bad, good)| (0..unit).map(move |i| (bad * unit + i, good * unit + i)));
    let remaps: Vec<String> = pairs.map(|(bad, good)| format!("{bad}, {good}")).collect();
    block.set("slips", format!("[ {} ]", slips.join(", ")));
    block.set("defects", format!("[ {} ]", remaps.join(", ")));
    block
}

/// A tree of the fourth generation.
fn tree_block(tree: &TreePlan) -> ParameterBlock {
    let mut block = ParameterBlock::new("dm_layout_g4", "");
    let join = |rows: Vec<String>| format!("[\n    {} ]", rows.join(",\n    "));
    let track = |it: &TrackPlan| format!("{}, {}, {}", it.low, it.high, it.sectors);
    block.set("TP", join(tree.tracks.iter().map(track).collect()));
    let list = |entries: &Vec<EntryPlan>| join(entries.iter().map(entry).collect());
    block.set("IDX", join(tree.lists.iter().map(list).collect()));
    let slips = tree.slips.iter().map(|(place, count)| format!("{place}, {count}")).collect();
    block.set("Slips", if tree.slips.is_empty() { "[ ]".into() } else { join(slips) });
    let remaps = tree.remaps.iter().map(|it| {
        // Of the tree's tracks, the shortest that has such sectors.
        let end = u64::from(it.sector) + it.blocks;
        let all = tree.tracks.iter().map(|it| u64::from(it.sectors)).filter(|all| *all >= end).min().unwrap_or(end);
        format!("{}, {}, {}, {}, {}, {all}", it.first, it.blocks, it.cylinder, it.head, it.sector)
    });
    block.set("Remaps", if tree.remaps.is_empty() { "[ ]".into() } else { join(remaps.collect()) });
    block
}

fn entry(it: &EntryPlan) -> String {
    let run = it.blocks.div_ceil(it.each) * u64::from(it.cylinders);
    let sign = if it.descends { "-" } else { "" };
    let child = match it.child {
        Child::Track(track, head) => format!("TRACK, {track}, {head}"),
        Child::List(list) => format!("IDX, {list}"),
    };
    format!(
        "{}, {}, {:.12}, {}, {}, {:.12}, {}, {sign}{run}, {child}",
        it.first, it.cylinder, it.offset, it.each, it.cylinders, it.turn, it.blocks
    )
}

/// The tree of a layout in bands of so many cylinders.
fn bands(plan: &LayoutPlan, width: u32) -> Result<TreePlan, String> {
    let mut tree = TreePlan::default();
    let mut root = Vec::new();
    let mut first = 0;
    for zone in &plan.zones {
        let track = u64::from(zone.sectors * plan.sector_blocks);
        let cylinders = zone.last_cylinder - zone.first_cylinder + 1;
        let all = u64::from(cylinders) * u64::from(plan.heads) * track;
        tree.slips.extend(slips(plan, zone, first, all)?);
        let kind = tree.tracks.len() as u32;
        tree.tracks.push(TrackPlan { low: 0, high: track as u32 - 1, sectors: track as u32 });
        let (mut cylinder, mut offset) = (zone.first_cylinder, zone.offset);
        for (count, width) in [(cylinders / width, width), (1, cylinders % width)] {
            if count == 0 || width == 0 {
                continue;
            }
            let steps = f64::from(plan.heads - 1);
            let along = f64::from(width * plan.heads) - steps;
            let turn = steps * zone.head_skew + along * zone.cylinder_skew;
            let each = u64::from(width * plan.heads) * track;
            let list = tree.lists.len() as u32;
            tree.lists.push(band(plan.heads, width, zone, (kind, track)));
            let blocks = u64::from(count) * each;
            let (child, descends) = (Child::List(list), false);
            root.push(EntryPlan {
                first,
                cylinder,
                offset: offset.fract(),
                each,
                cylinders: width,
                turn: turn.fract(),
                blocks,
                descends,
                child,
            });
            first += blocks;
            cylinder += count * width;
            offset += f64::from(count) * turn;
        }
    }
    tree.lists.push(root);
    Ok(tree)
}

/// A band: along its cylinders on each head, to and fro. `track`: of which kind, and its blocks.
fn band(heads: u32, width: u32, zone: &ZonePlan, (kind, track): (u32, u64)) -> Vec<EntryPlan> {
    let run = |head: u32| {
        let descends = head % 2 == 1;
        let along = f64::from(head * width - head);
        EntryPlan {
            first: u64::from(head * width) * track,
            cylinder: if descends { width - 1 } else { 0 },
            offset: (f64::from(head) * zone.head_skew + along * zone.cylinder_skew).fract(),
            each: track,
            cylinders: 1,
            turn: zone.cylinder_skew,
            blocks: u64::from(width) * track,
            descends,
            child: Child::Track(kind, head),
        }
    };
    (0..heads).map(run).collect()
}

/// Places of a zone that hold no block, from where on the medium: the zone begins at `first` and has `all` places.
fn slips(plan: &LayoutPlan, zone: &ZonePlan, first: u64, all: u64) -> Result<Vec<(u64, i64)>, String> {
    if !zone.remaps.is_empty() {
        return Err("sectors of bands that lie elsewhere cannot be said to DiskSim".into());
    }
    let passed = zone.slips.len() as u32;
    let left = match plan.sparing {
        Sparing::None | Sparing::EndOfDisk => 0,
        Sparing::Zone => zone.spares.saturating_sub(passed),
        Sparing::ZoneSlipping => zone.spares,
        _ => return Err("spares within the bands of a zone cannot be said to DiskSim".into()),
    };
    let sector = u64::from(plan.sector_blocks);
    let places = |place: u64, sectors: u32| (sectors > 0).then_some((place, (u64::from(sectors) * sector) as i64));
    let front = places(first, zone.reserved);
    let slipped = zone.slips.iter().filter_map(|slip| places(first + u64::from(*slip) * sector, 1));
    let end = places(first + all - u64::from(left) * sector, left);
    Ok(front.into_iter().chain(slipped).chain(end).collect())
}
