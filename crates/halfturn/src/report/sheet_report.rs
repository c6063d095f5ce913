//! What was made of a data sheet: what had to be assumed, and the sheet's own figures as the drive simulates them.

use super::table::{Edge, table};
use disk::datasheet::{DataSheet, SheetDrive};
use drive::Drive;
use drive::figures::{SteadyLoad, random_s, stream_mb_s};

/// The seed of the phase and the noise of the drive that is simulated.
const SEED: u64 = 1;

/// The two tables that `drive new` prints.
pub fn sheet_report(sheet: &DataSheet, made: &SheetDrive, written: &str) -> String {
    let heads =
        [("assumed, as the sheet does not print it", Edge::Left), ("taken", Edge::Right), ("may be", Edge::Right)];
    let heads = heads.map(|(head, edge)| (head.to_owned(), edge));
    let rows: Vec<Vec<String>> =
        made.assumed.iter().map(|it| vec![it.what.into(), it.value.clone(), it.range.clone()]).collect();
    let mut text = format!("{}\n", table(&heads, &rows));
    let heads =
        [("simulated, one command at a time in the drive", Edge::Left), ("sheet", Edge::Right), ("drive", Edge::Right)];
    let heads = heads.map(|(head, edge)| (head.to_owned(), edge));
    text += &table(&heads, &figures(sheet, made));
    text + &format!("\n Written to {written}\n")
}

fn figures(sheet: &DataSheet, made: &SheetDrive) -> Vec<Vec<String>> {
    let drive = || Drive::new(&made.drive.sheet, &made.drive.truth, SEED);
    let blocks = made.drive.sheet.mechanics.layout.blocks();
    let stream = SteadyLoad::stream(blocks);
    let outer = stream_mb_s(&mut drive(), 0, stream);
    let inner = stream_mb_s(&mut drive(), (blocks - stream.length()) / 8 * 8, stream);
    let random = random_s(&mut drive(), SEED, SteadyLoad::RANDOM);
    let printed = |value: Option<f64>| value.map_or("–".into(), |value| value.to_string());
    let by_seek = sheet.seek_ms.map(|seek| (1e4 / (seek + 30e3 / sheet.rpm)).round() / 10.0);
    let row = |what: &str, sheet: Option<f64>, drive: f64| vec![what.into(), printed(sheet), format!("{drive:.1}")];
    let mut rows = vec![
        row("sequential reads, outermost, MB/s", Some(sheet.outer_mb_s), outer),
        row("sequential reads, innermost, MB/s", sheet.inner_mb_s, inner),
        row("random reads of 4 KiB a second (sheet: seek and half a turn)", by_seek, random),
    ];
    if let Some((depth, rate)) = sheet.random_reads_s {
        let load = SteadyLoad { depth, ..SteadyLoad::RANDOM };
        let got = random_s(&mut drive(), SEED, load);
        rows.push(row(&format!("the same, {depth} commands in the drive"), Some(rate), got));
    }
    rows
}
