//! `[drive]`, or `[[disk]]` as often as there are: which drive, and which of its parts are switched on.

use block::{BadInput, Time};
use config::Section;
use disk::Drift;
use sched::array::MOST_DISKS;
use std::path::Path;

/// By what share of their time seeks may drift: to a half, or to ten times as much.
const MOST_SHORTER: f64 = 0.5;
const MOST_LONGER: f64 = 9.0;

/// The drive of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct DriveChoice {
    /// A file beside the experiment if there is one of that name, else as it was given: a catalogue name or a path.
    pub model: String,
    /// Whether it has the noise its file describes.
    pub noise: bool,
    /// Whether it caches what it read.
    pub read_cache: bool,
    /// Whether it buffers writes.
    pub write_buffer: bool,
    /// Commands given to it at once; it serves them by positioning time.
    pub queue: u16,
    /// How it comes to differ in use from what it was, which nobody is told.
    pub drift: Option<Drift>,
}

/// The drive, and how many of it there are where [[disk]] counts them.
pub(super) fn read(root: &Section, folder: &Path) -> Result<(DriveChoice, Option<u16>), BadInput> {
    let drive = root.section("drive")?;
    let disks = root.sections("disk")?;
    if let (Some(_), [disk, ..]) = (&drive, disks.as_slice()) {
        return Err(disk.here("both [drive] and [[disk]]", "keep one of them"));
    }
    if let Some(drive) = drive {
        return Ok((read_one(&drive, folder)?, None));
    }
    let mut found: Option<DriveChoice> = None;
    let mut count = 0;
    for section in &disks {
        count += section.within("count", 1, MOST_DISKS.into())?.unwrap_or(1);
        let choice = read_one(section, folder)?;
        if found.as_ref().is_some_and(|first| *first != choice) {
            let mend = "give all disks of an array the same model and settings";
            return Err(section.here("a disk unlike the first", mend));
        }
        found = Some(choice);
    }
    let found =
        found.ok_or_else(|| root.here("no drive: neither [drive] nor [[disk]]", "add [drive] with its `model`"))?;
    Ok((found, Some(count.min(u16::MAX.into()) as u16)))
}

fn read_one(section: &Section, folder: &Path) -> Result<DriveChoice, BadInput> {
    let model = section.need("model", section.string("model")?)?;
    let model = beside(folder, &model);
    if let Err(error) = disk::catalogue::check(&model) {
        return Err(section.error("model", error.what, error.mend));
    }
    let choice = DriveChoice {
        model,
        noise: section.bool("noise")?.unwrap_or(true),
        read_cache: section.bool("read_cache")?.unwrap_or(true),
        write_buffer: section.bool("write_buffer")?.unwrap_or(true),
        queue: section.within("queue", 1, 4096)?.unwrap_or(1) as u16,
        drift: section.section("drift")?.map(|drift| read_drift(&drift)).transpose()?,
    };
    section.close()?;
    Ok(choice)
}

/// A file beside the experiment if there is one of that name, else the name as it was given.
pub(super) fn beside(folder: &Path, name: &str) -> String {
    let beside = folder.join(name);
    if beside.is_file() { beside.to_string_lossy().into_owned() } else { name.into() }
}

/// `[drive.drift]`.
fn read_drift(section: &Section) -> Result<Drift, BadInput> {
    let at = section.need("at", section.span("at")?)?;
    let seek = section.need("seek", section.f64("seek")?)?;
    if !(-MOST_SHORTER..=MOST_LONGER).contains(&seek) {
        let mend = format!("give the share by which they take longer, from -{MOST_SHORTER} to {MOST_LONGER}");
        return Err(section.error("seek", format!("seeks that take {seek} longer"), mend));
    }
    section.close()?;
    Ok(Drift { at: Time::ZERO + at, seek })
}
