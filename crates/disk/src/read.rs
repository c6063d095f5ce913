//! A drive file (TOML) read into a sheet and, where it holds one, a truth; or into a device that is no disk.

mod controller;
mod geometry;
mod seek;

use crate::other;
use crate::published::Published;
use crate::{LayoutPlan, Mechanics, Other, Queue, Rotation, SeekTable, Sheet, Switches, Truth, Unmeasured};
use block::{BadInput, SeekBy, Span};
use config::{Document, Section, Table};
use std::path::Path;
use std::sync::Arc;

config::keys! {
    /// What stands at the top of a drive file.
    pub(crate) fn top() -> "";

    /// What it is a drive of: a disk, or another kind of device, which has its keys here.
    KIND: &'static str = one_of("kind", other::words).usually("disk");
    /// What it is, in words.
    TITLE: String = text("title").required();
    /// Where the numbers come from.
    SOURCES: Vec<String> = texts("sources");
    /// Numbers that no source prints, and what was left out.
    ASSUMED: Vec<String> = texts("assumed");
}

config::keys! {
    /// How fast the platters turn.
    pub(crate) fn rotation_keys() -> "[rotation]";

    /// Revolutions a minute.
    RPM: f64 = number("rpm", 1.0, 1e6).required();
}

config::keys! {
    /// Moves that are not seeks.
    pub(crate) fn switch_keys() -> "[switch]";

    /// To another head of the cylinder.
    HEAD: Span = span("head").required();
    /// To the next cylinder in a transfer that goes on there.
    CYLINDER: Span = span("cylinder").else_told("as a seek over one cylinder");
    /// To another head before a write.
    HEAD_WRITE: Span = span("head_write").else_told("as `head`");
    /// To the next cylinder in a write that goes on there.
    CYLINDER_WRITE: Span = span("cylinder_write").else_told("as `cylinder`");
    /// What the arm takes to settle before a random write; `unknown` where it was not measured.
    WRITE_SETTLE: Option<Span> = span_or("write_settle", Unmeasured::WORD).usually("0ms");
}

config::keys! {
    /// Written by `halfturn profile`, to be read by people: how well what was measured is known, in intervals `[least, most]` that
    /// hold it in 95 of 100 cases.
    pub(crate) fn confidence_keys() -> "[confidence]";

    /// Revolutions a minute.
    C_RPM: Vec<f64> = numbers("rpm");
    /// Angles, in sectors of the narrowest tracks.
    C_ANGLE: Vec<f64> = numbers("angle_sectors");
    /// Overhead, ms.
    C_OVERHEAD: Vec<f64> = numbers("overhead_ms");
    /// Head switch, ms.
    C_HEAD_SWITCH: Vec<f64> = numbers("head_switch_ms");
    /// Spread of seeks, ms.
    C_SEEK_NOISE: Vec<f64> = numbers("seek_noise_ms");
    /// The share of late seeks.
    C_LATE: Vec<f64> = numbers("late_share");
    /// The share of requests that are predicted a revolution off.
    C_OFF: Vec<f64> = numbers("off_share");
    /// The optimal chunks of reads, the smallest and the largest, in blocks.
    C_CHUNK_READ: Vec<f64> = numbers("chunk_read_blocks");
    /// The optimal chunks of writes, the smallest and the largest, in blocks.
    C_CHUNK_WRITE: Vec<f64> = numbers("chunk_write_blocks");
    /// Seeks: rows of cylinders, and from the least to the most, ms.
    C_SEEKS: Vec<Vec<f64>> = rows("seeks_ms");
}

/// All tables of the file of a disk, in the order in which they are explained. `[seek.write]` has the keys of `[seek]`.
#[must_use]
pub fn tables() -> Vec<Table> {
    let seek = seek::keys();
    let write = Table {
        heading: "[seek.write]",
        text: "Seeks before a random write, where they are another curve.",
        keys: seek.keys.clone(),
    };
    vec![
        top(),
        rotation_keys(),
        geometry::keys(),
        geometry::tree_keys(),
        geometry::tree_list_keys(),
        geometry::list_keys(),
        seek,
        write,
        switch_keys(),
        controller::access_keys(),
        controller::overhead(),
        controller::disconnect_keys(),
        controller::large_keys(),
        controller::stages_keys(),
        controller::cache_keys(),
        controller::queue_keys(),
        crate::published::keys(),
        confidence_keys(),
        controller::truth_keys(),
    ]
}

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
    /// A disk with an arm.
    Disk(Box<Drive>),
    /// A device without one: flash, tape, a mirror, a network store.
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

    /// The queue of the disk that it is or is made of; nothing where there is none.
    #[must_use]
    pub fn queue(&self) -> Option<Queue> {
        match self {
            Model::Disk(drive) => Some(drive.sheet.queue),
            Model::Other(other) => Some(other.kind.clone().drive()?.sheet.queue),
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

/// Whether a drive file is of a disk.
pub(crate) fn is_of_a_disk(document: &Document) -> Result<bool, BadInput> {
    other::form(&document.root()).map(|form| form.is_none())
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

/// The name of a drive by its file.
pub(crate) fn name(path: &Path) -> String {
    path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
}

/// The device that a drive file describes. Files it names are relative to the folder.
pub(crate) fn model(name: &str, document: &Document, folder: &Path) -> Result<Model, BadInput> {
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
    let title = root.value(&TITLE)?;
    let sources = root.get(&SOURCES)?.unwrap_or_default();
    let assumed = root.get(&ASSUMED)?.unwrap_or_default();
    let rotation = required_table(root, "rotation")?;
    let rpm = rotation.value(&RPM)?;
    rotation.close()?;
    let (_, layout) = geometry::layout(&required_table(root, "geometry")?)?;
    let (seek, seek_write) = seek::tables(&required_table(root, "seek")?, layout.cylinders())?;
    let mut unmeasured = Unmeasured::default();
    let switches = switches(&required_table(root, "switch")?, &seek, &mut unmeasured)?;
    let (overheads, bus) = controller::overheads(root.section("overhead")?, &mut unmeasured)?;
    let access = controller::access(root.section("access")?)?;
    let cache = controller::cache(root.section("cache")?, &mut unmeasured)?;
    let queue = controller::queue(root.section("queue")?)?;
    let truth = controller::truth(root.section("truth")?)?;
    confidence(root.section("confidence")?)?;
    root.section("published")?.map(Published::read).transpose()?;
    root.close()?;
    let mechanics = Mechanics { layout, seek, seek_write, rotation: Rotation::from_rpm(rpm), switches, access };
    let mechanics = Arc::new(mechanics);
    let seek_by = SeekBy::Command;
    let sheet = Sheet {
        name: name.into(),
        title,
        sources,
        assumed,
        mechanics,
        overheads,
        bus,
        cache,
        queue,
        seek_by,
        unmeasured,
    };
    Ok(Drive { sheet, truth })
}

/// Where blocks lie, as the drive file of a disk has it.
pub(crate) fn layout_plan(document: &Document) -> Result<LayoutPlan, BadInput> {
    let root = document.root();
    geometry::layout(&required_table(&root, "geometry")?).map(|(plan, _)| plan)
}

/// A table that must be there.
fn required_table<'a>(root: &Section<'a>, table: &str) -> Result<Section<'a>, BadInput> {
    root.need(table, root.section(table)?)
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
    let intervals =
        [C_RPM, C_ANGLE, C_OVERHEAD, C_HEAD_SWITCH, C_SEEK_NOISE, C_LATE, C_OFF, C_CHUNK_READ, C_CHUNK_WRITE];
    for key in &intervals {
        section.get(key)?.map_or(Ok(()), |interval| ascends(key.name(), &interval))?;
    }
    for row in section.get(&C_SEEKS)?.unwrap_or_default() {
        ascends(C_SEEKS.name(), row.get(1..).unwrap_or_default())?;
    }
    section.close()
}

fn switches(section: &Section, seek: &SeekTable, unmeasured: &mut Unmeasured) -> Result<Switches, BadInput> {
    let head = section.value(&HEAD)?;
    let cylinder = section.get(&CYLINDER)?.unwrap_or(seek.time(1));
    let settle = section.value(&WRITE_SETTLE)?;
    unmeasured.write_settle = settle.is_none();
    let switches = Switches {
        head,
        head_write: section.get(&HEAD_WRITE)?.unwrap_or(head),
        cylinder,
        cylinder_write: section.get(&CYLINDER_WRITE)?.unwrap_or(cylinder),
        write_settle: settle.unwrap_or_default(),
    };
    section.close()?;
    Ok(switches)
}
