//! The drives that ship with the project: one TOML file each under `catalogue/`, found by name.

use crate::disksim;
use crate::read::{Drive, Model, load, parse};
use block::{At, BadInput, nearest};
use std::path::Path;

/// Name and text of each disk, in the order `drive list` shows them.
const DISKS: [(&str, &str); 20] = [
    ("st318437lw", include_str!("../catalogue/st318437lw.toml")),
    ("wd400bb", include_str!("../catalogue/wd400bb.toml")),
    ("atlas10k", include_str!("../catalogue/atlas10k.toml")),
    ("atlas10k-validation", include_str!("../catalogue/atlas10k-validation.toml")),
    ("dnes-309170w", include_str!("../catalogue/dnes-309170w.toml")),
    ("mimic-base", include_str!("../catalogue/mimic-base.toml")),
    ("mimic-base-corrected", include_str!("../catalogue/mimic-base-corrected.toml")),
    ("mimic-2", include_str!("../catalogue/mimic-2.toml")),
    ("mimic-3", include_str!("../catalogue/mimic-3.toml")),
    ("mimic-4", include_str!("../catalogue/mimic-4.toml")),
    ("mimic-5", include_str!("../catalogue/mimic-5.toml")),
    ("mimic-6", include_str!("../catalogue/mimic-6.toml")),
    ("mimic-7", include_str!("../catalogue/mimic-7.toml")),
    ("mimic-7-corrected", include_str!("../catalogue/mimic-7-corrected.toml")),
    ("mimic-8", include_str!("../catalogue/mimic-8.toml")),
    ("mimic-8-corrected", include_str!("../catalogue/mimic-8-corrected.toml")),
    ("ibm-9lzx", include_str!("../catalogue/ibm-9lzx.toml")),
    ("lxt-535sy", include_str!("../catalogue/lxt-535sy.toml")),
    ("hp-335h", include_str!("../catalogue/hp-335h.toml")),
    ("nl20", include_str!("../catalogue/nl20.toml")),
];

/// The same of what is not a disk.
const OTHERS: [(&str, &str); 4] = [
    ("mirror-atlas10k", include_str!("../catalogue/mirror-atlas10k.toml")),
    ("flash-x25m", include_str!("../catalogue/flash-x25m.toml")),
    ("store-block", include_str!("../catalogue/store-block.toml")),
    ("tape-lto5", include_str!("../catalogue/tape-lto5.toml")),
];

/// The names of all disks.
pub fn names() -> impl Iterator<Item = &'static str> {
    DISKS.iter().map(|(name, _)| *name)
}

/// The names of what is not a disk.
pub fn others() -> impl Iterator<Item = &'static str> {
    OTHERS.iter().map(|(name, _)| *name)
}

/// Where a drive is described.
enum Source<'a> {
    Shipped(&'static str, &'static str),
    File(&'a Path),
}

/// The disk of this name, however it is capitalised or hyphenated, or the one described by the file of this
/// name.
///
/// # Errors
/// When there is no such drive or file, the file is bad, or it is not of a disk.
pub fn find(name: &str) -> Result<Drive, BadInput> {
    match source(name)? {
        Source::Shipped(name, text) => parse(name, &format!("{name}.toml"), text),
        Source::File(path) if disksim::is_ours(path) => disksim::load(path, None).map(|import| import.drive),
        Source::File(path) => load(path),
    }
}

/// The same of any device, disk or not.
///
/// # Errors
/// When there is no such drive or file, or the file is bad.
pub fn model(name: &str) -> Result<Model, BadInput> {
    match source(name)? {
        Source::Shipped(name, text) => Model::parse(name, &format!("{name}.toml"), text),
        Source::File(path) if disksim::is_ours(path) => find(name).map(|drive| Model::Disk(Box::new(drive))),
        Source::File(path) => Model::load(path),
    }
}

/// Whether there is such a drive, without reading it.
///
/// # Errors
/// When there is no such drive or file.
pub fn check(name: &str) -> Result<(), BadInput> {
    source(name).map(|_| ())
}

fn source(name: &str) -> Result<Source<'_>, BadInput> {
    let plain = |name: &str| name.to_lowercase().replace(['-', '_', ' '], "");
    if let Some((name, text)) = DISKS.iter().chain(&OTHERS).find(|(known, _)| plain(known) == plain(name)) {
        return Ok(Source::Shipped(name, text));
    }
    let path = Path::new(name);
    if path.exists() {
        return Ok(Source::File(path));
    }
    let mend = match nearest(name, names().chain(others())) {
        Some(known) => format!("did you mean '{known}'? `halfturn drive list` shows all"),
        None => {
            format!("use one of {}, or the path of a TOML file", names().chain(others()).collect::<Vec<_>>().join(", "))
        }
    };
    Err(BadInput::new(name, At::File, format!("there is no drive '{name}' in the catalogue and no such file"), mend))
}
