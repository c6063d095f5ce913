//! `[geometry.list]` of a drive file.

use super::tree::rows;
use crate::{ListPlan, ListZone, SectorRun};
use block::BadInput;
use config::Section;

config::keys! {
    /// In place of zones, every run of blocks by itself.
    pub(crate) fn keys() -> "[geometry.list]";

    /// Rows of first cylinder, last cylinder, sectors a track, first block, offset, head skew, cylinder skew.
    ZONES: Vec<Vec<f64>> = rows("zones").else_told("none");
    /// Rows of cylinder, head, sector, number of sectors.
    RUNS: Vec<Vec<f64>> = rows("runs").else_told("none");
}

/// The list of runs.
pub(super) fn read(section: &Section) -> Result<ListPlan, BadInput> {
    let zone = |row: Vec<f64>| ListZone {
        first_cylinder: row[0] as u32,
        last_cylinder: row[1] as u32,
        sectors: row[2] as u32,
        first: row[3] as u64,
        offset: row[4],
        head_skew: row[5],
        cylinder_skew: row[6],
    };
    let run = |row: Vec<f64>| SectorRun {
        cylinder: row[0] as u32,
        head: row[1] as u32,
        sector: row[2] as u32,
        count: row[3] as u32,
    };
    let zones = rows(section, &ZONES, 7, &[4, 5, 6])?.into_iter().map(zone).collect();
    let runs = rows(section, &RUNS, 4, &[])?.into_iter().map(run).collect();
    section.close()?;
    Ok(ListPlan { zones, runs })
}
