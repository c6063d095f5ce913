//! The drives of the catalogue, a line each; then what is not a disk.

use super::number;
use super::sustained::rates;
use super::table::{Edge, table};
use block::units;
use disk::other::Kind;
use disk::{Drive, Model, Other};

/// The table `drive list` prints.
pub fn catalogue(models: &[Model]) -> String {
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
    let row = |model: &Model| match model {
        Model::Disk(drive) => disk(&drive.sheet.name, &drive.sheet.title, drive),
        Model::Other(other) => apart(other),
    };
    table(&heads, &models.iter().map(row).collect::<Vec<_>>())
}

/// A row of what a disk does, or two that hold the same.
fn disk(name: &str, title: &str, drive: &Drive) -> Vec<String> {
    let mechanics = &drive.sheet.mechanics;
    let rate = |zone| number::with_decimals(rates(mechanics, zone).sustained, 1);
    vec![
        name.to_owned(),
        units::show_blocks(mechanics.layout.blocks()),
        number::count((60e9 / mechanics.rotation.period_ns()).round() as u64),
        number::with_decimals(mechanics.seek.mean_ms(), 2),
        rate(0),
        rate(mechanics.layout.zones() - 1),
        title.to_owned(),
    ]
}

/// The row of a device of disks that holds as much as it says, and not what one of them does.
fn with_capacity(other: &Other, drive: &Drive) -> Vec<String> {
    let mut row = disk(&other.name, &other.title, drive);
    row[1] = units::show_blocks(other.blocks());
    row
}

/// A row of a device that does not turn: one rate everywhere.
fn apart(other: &Other) -> Vec<String> {
    let mb_s = match &other.kind {
        Kind::Mirror(drive) => return disk(&other.name, &other.title, drive),
        Kind::Dual(drive) => return with_capacity(other, drive),
        Kind::Smr(smr) => return with_capacity(other, &smr.drive),
        Kind::HostManaged(zoned) => return with_capacity(other, &zoned.drive),
        Kind::Flash(flash) => flash.mb_s,
        Kind::Store(store) => store.mb_s,
        Kind::Tape(tape) => tape.mb_s,
    };
    let (none, rate) = ("–".to_owned(), number::with_decimals(mb_s, 1));
    let capacity = units::show_blocks(other.blocks());
    vec![other.name.clone(), capacity, none.clone(), none, rate.clone(), rate, other.title.clone()]
}
