//! A drive file (TOML) read into a sheet and, where it holds one, a truth; or into a device that is no disk.

mod controller;
mod geometry;
mod seek;

pub(crate) use controller::{FREES_AT, ORDERS};
pub(crate) use geometry::sparings;

use crate::other;
use crate::published::Published;
use crate::{Confidence, Mechanics, Other, Rotation, SeekTable, Sheet, Switches, Truth};
use block::BadInput;
use config::{Document, Section};
use std::path::Path;
use std::sync::Arc;

/// A drive as a file describes it.
#[derive(Clone, Debug)]
pub struct Drive {
    /// What can be known.
    pub sheet: Sheet,
    /// What nobody outside knows.
    pub truth: Truth,
}

/// What a file describes.
#[derive(Clone, Debug)]
pub enum Model {
    /// A disk.
    Disk(Box<Drive>),
    /// Something else.
    Other(Box<Other>),
}

impl Model {
    /// How many commands it takes at once.
    #[must_use]
    pub fn depth(&self) -> u16 {
        match self {
            Model::Disk(drive) => drive.sheet.queue.depth,
            Model::Other(other) => other.depth,
        }
    }

    /// Reads a drive file.
    ///
    /// # Errors
    /// Bad input with file, line and mend.
    pub fn load(path: &Path) -> Result<Model, BadInput> {
        model(&name(path), &Document::load(path)?, path.parent().unwrap_or(Path::new("")))
    }

    /// Reads the text of a drive file shown as `file` in errors.
    ///
    /// # Errors
    /// Bad input with file, line and mend.
    pub fn parse(name: &str, file: &str, text: &str) -> Result<Model, BadInput> {
        model(name, &Document::parse(file, text)?, Path::new(""))
    }

    /// What it is, in words.
    #[must_use]
    pub fn title(&self) -> &str {
        match self {
            Model::Disk(drive) => &drive.sheet.title,
            Model::Other(other) => &other.title,
        }
    }
}

/// Whether this text of a drive file says that it is of a disk. One that says nothing right counts as one: reading it tells
/// what is wrong.
pub(crate) fn is_disk(file: &str, text: &str) -> bool {
    Document::parse(file, text).and_then(|document| other::form(&document.root())).ok().flatten().is_none()
}

/// Reads the drive file of a disk.
///
/// # Errors
/// Bad input with file, line and mend.
pub fn load(path: &Path) -> Result<Drive, BadInput> {
    disk(&name(path), &Document::load(path)?)
}

/// Reads the text of the drive file of a disk, shown as `file` in errors.
///
/// # Errors
/// Bad input with file, line and mend.
pub fn parse(name: &str, file: &str, text: &str) -> Result<Drive, BadInput> {
    disk(name, &Document::parse(file, text)?)
}

fn name(path: &Path) -> String {
    path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
}

fn model(name: &str, document: &Document, folder: &Path) -> Result<Model, BadInput> {
    let root = document.root();
    match other::form(&root)? {
        Some(form) => other::read(name, &root, form, folder).map(|other| Model::Other(Box::new(other))),
        None => read(name, &root).map(|drive| Model::Disk(Box::new(drive))),
    }
}

/// A disk, or an error that says what it is instead; what that names is not read.
fn disk(name: &str, document: &Document) -> Result<Drive, BadInput> {
    let root = document.root();
    match other::form(&root)? {
        Some(form) => Err(other::no_disk(&root, form)),
        None => read(name, &root),
    }
}

fn read(name: &str, root: &Section) -> Result<Drive, BadInput> {
    let title = root.need("title", root.string("title")?)?;
    let sources = root.strings("sources")?.unwrap_or_default();
    let assumed = root.strings("assumed")?.unwrap_or_default();
    let rotation = root.need("rotation", root.section("rotation")?)?;
    let rpm = positive(&rotation, "rpm")?;
    if !(1.0..=1e6).contains(&rpm) {
        return Err(rotation.error("rpm", format!("{rpm} rpm is no disk"), "give revolutions per minute, e.g. 7200"));
    }
    rotation.close()?;
    let layout = geometry::layout(&root.need("geometry", root.section("geometry")?)?)?;
    let (seek, seek_write) = seek::tables(&root.need("seek", root.section("seek")?)?, layout.cylinders())?;
    let switches = switches(&root.need("switch", root.section("switch")?)?, &seek)?;
    let (overheads, bus) = controller::overheads(root.section("overhead")?)?;
    let access = controller::access(root.section("access")?)?;
    let cache = controller::cache(root.section("cache")?)?;
    let queue = controller::queue(root.section("queue")?)?;
    let truth = controller::truth(root.section("truth")?)?;
    confidence(root.section("confidence")?)?;
    root.section("published")?.map(Published::read).transpose()?;
    root.close()?;
    let mechanics = Mechanics { layout, seek, seek_write, rotation: Rotation::from_rpm(rpm), switches, access };
    let mechanics = Arc::new(mechanics);
    let sheet = Sheet { name: name.into(), title, sources, assumed, mechanics, overheads, bus, cache, queue };
    Ok(Drive { sheet, truth })
}

/// The intervals of a drive that was measured: they must be some.
fn confidence(section: Option<Section>) -> Result<(), BadInput> {
    let Some(section) = section else { return Ok(()) };
    let ascends = |key: &str, interval: &[f64]| match interval {
        [least, most] if least <= most => Ok(()),
        _ => Err(section.error(
            key,
            "an interval runs from the least to the most",
            "give [least, most], or rows of [distance, least, most]",
        )),
    };
    for key in Confidence::KEYS {
        section.f64s(key)?.map_or(Ok(()), |interval| ascends(key, &interval))?;
    }
    for row in section.rows("seeks_ms")?.unwrap_or_default() {
        ascends("seeks_ms", row.get(1..).unwrap_or_default())?;
    }
    section.close()
}

pub(crate) fn positive(section: &Section, key: &str) -> Result<f64, BadInput> {
    let value = section.need(key, section.f64(key)?)?;
    if value > 0.0 {
        Ok(value)
    } else {
        Err(section.error(key, format!("{key} is not positive"), "give a number above 0"))
    }
}

fn switches(section: &Section, seek: &SeekTable) -> Result<Switches, BadInput> {
    let head = section.need("head", section.span("head")?)?;
    let cylinder = section.span("cylinder")?.unwrap_or(seek.time(1));
    let switches = Switches {
        head,
        head_write: section.span("head_write")?.unwrap_or(head),
        cylinder,
        cylinder_write: section.span("cylinder_write")?.unwrap_or(cylinder),
        write_settle: section.span("write_settle")?.unwrap_or_default(),
    };
    section.close()?;
    Ok(switches)
}
