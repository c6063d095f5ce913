//! The drives that ship with the project: one TOML file each under `catalogue/`, found by name.
//!
//! The list is made of that folder when the crate is built, so that no drive is named here.

use crate::disksim::{self, ParameterFiles};
use crate::other;
use crate::published::Published;
use crate::read::{Drive, Model, is_disk, load, parse};
use block::{At, BadInput, nearest, units};
use config::Document;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// A drive of the catalogue.
struct CatalogueEntry {
    name: &'static str,
    text: &'static str,
    disk: bool,
}

/// The disks, then what is not a disk, each by name.
static ALL: LazyLock<Vec<CatalogueEntry>> = LazyLock::new(|| {
    const FILES: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/catalogue.rs"));
    let mut all: Vec<CatalogueEntry> =
        FILES.iter().map(|(name, text)| CatalogueEntry { name, text, disk: is_disk(name, text) }).collect();
    all.sort_by_key(|entry| !entry.disk);
    all
});

/// The names of all disks.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().filter(|entry| entry.disk).map(|entry| entry.name)
}

/// The names of what is not a disk.
pub fn others() -> impl Iterator<Item = &'static str> {
    ALL.iter().filter(|entry| !entry.disk).map(|entry| entry.name)
}

/// What the sources of the drive of this name print of it besides its parameters; nothing of a file of one's own.
///
/// # Errors
/// When there is no such drive, or its file is bad.
pub fn read_published(name: &str) -> Result<Published, BadInput> {
    match source(name)? {
        Source::Shipped(entry) => Published::parse(&entry.file(), entry.text),
        Source::File(_) => Ok(Published::default()),
    }
}

impl CatalogueEntry {
    /// The file as errors name it.
    fn file(&self) -> String {
        format!("{}.toml", self.name)
    }
}

/// Where a drive is described.
enum Source<'a> {
    Shipped(&'static CatalogueEntry),
    File(&'a Path),
}

/// The disk of this name, however it is capitalised or hyphenated, or the one described by the file of this
/// name.
///
/// # Errors
/// When there is no such drive or file, the file is bad, or it is not of a disk.
pub fn find(name: &str) -> Result<Drive, BadInput> {
    match source(name)? {
        Source::Shipped(entry) => parse(entry.name, &entry.file(), entry.text),
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
        Source::Shipped(entry) => Model::parse(entry.name, &entry.file(), entry.text),
        Source::File(path) if disksim::is_ours(path) => find(name).map(|drive| Model::Disk(Box::new(drive))),
        Source::File(path) => Model::load(path),
    }
}

/// The disk of this name or file in DiskSim's words; they name the seek file `seek_file`.
///
/// # Errors
/// When there is no such disk, or DiskSim has no words for it.
pub fn for_disksim(name: &str, seek_file: &str) -> Result<ParameterFiles, BadInput> {
    let drive = find(name)?;
    let (file, document, _) = document(name)?;
    let plan = crate::read::layout_plan(&document)?;
    let mend = "name another drive, or another system";
    disksim::export(&drive, &plan, seek_file).map_err(|what| BadInput::new(file, At::File, what, mend))
}

/// The drive file of a device as a document, its name, and the folder that files it names are relative to.
pub(crate) fn document(name: &str) -> Result<(String, Document, PathBuf), BadInput> {
    Ok(match source(name)? {
        Source::Shipped(entry) => (entry.name.into(), Document::parse(&entry.file(), entry.text)?, PathBuf::new()),
        Source::File(path) if disksim::is_ours(path) => {
            let text = crate::write(&disksim::load(path, None)?.plan);
            (name.into(), Document::parse(name, &text)?, PathBuf::new())
        }
        Source::File(path) => {
            let folder = path.parent().unwrap_or(Path::new("")).to_owned();
            (crate::read::name(path), Document::load(path)?, folder)
        }
    })
}

/// Whether there is such a drive, without reading it.
///
/// # Errors
/// When there is no such drive or file.
pub fn check(name: &str) -> Result<(), BadInput> {
    source(name).map(|_| ())
}

/// The name and the text of the drive file that ships under this name, in whatever spelling; nothing of a file of one's own.
#[must_use]
pub fn find_shipped(name: &str) -> Option<(&'static str, &'static str)> {
    match source(name) {
        Ok(Source::Shipped(entry)) => Some((entry.name, entry.text)),
        Ok(Source::File(_)) | Err(_) => None,
    }
}

fn source(name: &str) -> Result<Source<'_>, BadInput> {
    let plain = |name: &str| name.to_lowercase().replace(['-', '_', ' '], "");
    if let Some(entry) = ALL.iter().find(|entry| plain(entry.name) == plain(name)) {
        return Ok(Source::Shipped(entry));
    }
    let path = Path::new(name);
    if path.exists() {
        return Ok(Source::File(path));
    }
    let mend = match nearest(name, ALL.iter().map(|entry| entry.name)) {
        Some(known) => format!("did you mean '{known}'? `halfturn drive list` shows all"),
        None => "`halfturn drive list` shows the drives there are; or give the path of a drive file (TOML)".into(),
    };
    Err(BadInput::new(name, At::File, format!("there is no drive '{name}' in the catalogue and no such file"), mend))
}

/// The page of the drives (Markdown): `docs/reference/drives.md`.
///
/// # Errors
/// When the file of a drive is bad.
pub fn reference() -> Result<String, BadInput> {
    let mut page = String::from(
        "# Drives\n\n\
         Generated from the files of [crates/disk/catalogue](../../crates/disk/catalogue); do not edit. Each of these names \
         can stand as `model` in the `[drive]` table of an experiment, and so can the path of a drive file of yours. \
         `halfturn drive list` compares them, `halfturn drive show NAME` prints one.\n\n\
         | name | what it is | capacity | rpm | mean seek |\n|---|---|---|---|---|\n",
    );
    let mut notes = String::new();
    for entry in ALL.iter() {
        let model = model(entry.name)?;
        let (title, sources, assumed) = match &model {
            Model::Disk(drive) => (&drive.sheet.title, &drive.sheet.sources, &drive.sheet.assumed),
            Model::Other(other) => (&other.title, &other.sources, &other.assumed),
        };
        let (capacity, rpm, seek) = figures(&model);
        page += &format!("| [`{0}`](#{0}) | {title} | {capacity} | {rpm} | {seek} |\n", entry.name);
        notes += &format!("\n## {}\n\n{title}.\n", entry.name);
        let published = Published::parse(&entry.file(), entry.text)?.sentences();
        let kinds = [
            ("From its sources", sources),
            ("Assumed, as no source prints it", assumed),
            ("Its sources print, and the tests hold it against", &published),
        ];
        for (head, lines) in kinds.into_iter().filter(|(_, lines)| !lines.is_empty()) {
            notes += &format!("\n{head}:\n\n- {}\n", lines.join("\n- "));
        }
    }
    page += "\nDevices that are no disk have `kind` at the top of their file, and beside it `title`, `sources`, `assumed`, `depth` \
             (commands in it at once) and:\n\n| kind | keys | what it is |\n|---|---|---|\n";
    for form in other::FORMS {
        let keys: Vec<String> = form.keys.iter().map(|about| format!("`{}`", about.name)).collect();
        page += &format!("| `{}` | {} | {} |\n", form.word, keys.join(", "), form.text);
    }
    Ok(page + &notes)
}

/// Capacity, revolutions per minute and mean seek, as a row of the page shows them.
fn figures(model: &Model) -> (String, String, String) {
    match model {
        Model::Disk(drive) => {
            let mechanics = &drive.sheet.mechanics;
            let rpm = (60e9 / mechanics.rotation.period_ns()).round();
            let capacity = units::show_blocks(mechanics.layout.blocks());
            (capacity, rpm.to_string(), format!("{:.2} ms", mechanics.seek.mean_ms()))
        }
        Model::Other(other) => (units::show_blocks(other.blocks()), "–".into(), "–".into()),
    }
}
