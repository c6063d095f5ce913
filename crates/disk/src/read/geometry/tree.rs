//! `[geometry.tree]` of a drive file.

use crate::{Child, Elsewhere, EntryPlan, TrackPlan, TreePlan};
use block::BadInput;
use config::{Key, Section};

/// Blocks: exact as a number.
const BLOCKS: f64 = 9_007_199_254_740_992.0;

config::keys! {
    /// In place of zones, regular runs within runs.
    pub(crate) fn keys() -> "[geometry.tree]";

    /// Kinds of track: rows of first sector, last sector, sectors all round.
    TRACKS: Vec<Vec<f64>> = rows("tracks").else_told("none");
    /// Where blocks slip: rows of block, number of sectors.
    SLIPS: Vec<Vec<f64>> = rows("slips").else_told("none");
    /// What lies elsewhere: rows of first block, blocks, cylinder, head, sector.
    REMAPS: Vec<Vec<f64>> = rows("remaps").else_told("none");
}

config::keys! {
    /// A list of runs, which its number names from 0; the last is the disk.
    pub(crate) fn entry_keys() -> "[[geometry.tree.list]]";

    /// Rows of first block, cylinder, offset, blocks each, cylinders each, turn each, blocks, 1 or -1 (cylinders descend), track or
    /// list, and head (-1: a list).
    ENTRIES: Vec<Vec<f64>> = rows("entries").else_told("none");
}

/// Rows of `width` numbers, those not among `free` whole and not negative.
pub(super) fn rows(
    section: &Section,
    declared: &Key<Vec<Vec<f64>>>,
    width: usize,
    free: &[usize],
) -> Result<Vec<Vec<f64>>, BadInput> {
    let key = declared.name();
    let rows = section.get(declared)?.unwrap_or_default();
    let whole = |row: &Vec<f64>| {
        let fits =
            |(i, value): (usize, &f64)| free.contains(&i) || (value.fract() == 0.0 && (0.0..=BLOCKS).contains(value));
        row.len() == width && row.iter().enumerate().all(fits)
    };
    match rows.iter().find(|row| !whole(row)) {
        None => Ok(rows),
        Some(row) => Err(section.error(key, format!("the row {row:?} of `{key}`"), format!("give {width} numbers"))),
    }
}

/// Reads a layout that is written as a tree of repeats.
pub(super) fn read(section: &Section) -> Result<TreePlan, BadInput> {
    let track = |row: Vec<f64>| TrackPlan { low: row[0] as u32, high: row[1] as u32, sectors: row[2] as u32 };
    let elsewhere = |row: Vec<f64>| Elsewhere {
        first: row[0] as u64,
        blocks: row[1] as u64,
        cylinder: row[2] as u32,
        head: row[3] as u32,
        sector: row[4] as u32,
    };
    let tracks = rows(section, &TRACKS, 3, &[])?.into_iter().map(track).collect();
    let slips = rows(section, &SLIPS, 2, &[1])?.into_iter().map(|row| (row[0] as u64, row[1] as i64)).collect();
    let remaps = rows(section, &REMAPS, 5, &[])?.into_iter().map(elsewhere).collect();
    let mut lists = Vec::new();
    for list in section.sections("list")? {
        let entries = rows(&list, &ENTRIES, 10, &[2, 5, 7, 9])?;
        lists.push(entries.into_iter().map(|row| entry(&row)).collect());
        list.close()?;
    }
    section.close()?;
    Ok(TreePlan { tracks, lists, slips, remaps })
}

fn entry(row: &[f64]) -> EntryPlan {
    let child = row[8] as u32;
    EntryPlan {
        first: row[0] as u64,
        cylinder: row[1] as u32,
        offset: row[2],
        each: row[3] as u64,
        cylinders: row[4] as u32,
        turn: row[5],
        blocks: row[6] as u64,
        descends: row[7] < 0.0,
        child: if row[9] < 0.0 { Child::List(child) } else { Child::Track(child, row[9] as u32) },
    }
}
