//! The drives of the catalogue, a line each.

use super::number;
use super::sustained::rates;
use super::table::{Edge, table};
use block::units;
use disk::Drive;

/// The table `drive list` prints.
pub fn catalogue(drives: &[Drive]) -> String {
    let left = |head: &str| (head.to_owned(), Edge::Left);
    let right = |head: &str| (head.to_owned(), Edge::Right);
    let heads = [
        left("name"),
        right("capacity"),
        right("rpm"),
        right("mean\nseek ms"),
        right("outer\nMB/s"),
        right("inner\nMB/s"),
        left("what it is"),
    ];
    let row = |drive: &Drive| {
        let mechanics = &drive.sheet.mechanics;
        let rate = |zone| number::fixed(rates(mechanics, zone).sustained, 1);
        vec![
            drive.sheet.name.clone(),
            units::show_blocks(mechanics.layout.blocks()),
            number::count((60e9 / mechanics.rotation.period_ns()).round() as u64),
            number::fixed(mechanics.seek.mean_ms(), 2),
            rate(0),
            rate(mechanics.layout.zones() - 1),
            drive.sheet.title.clone(),
        ]
    };
    table(&heads, &drives.iter().map(row).collect::<Vec<_>>())
}
