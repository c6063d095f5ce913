//! Devices that are not a disk: what their file says of them. One file each, with its keys.
//!
//! They have no sheet of mechanics, so that what schedules them knows addresses and past times alone. What they do in
//! time is in the crate `drive`.
//!
//! **What is not a disk is a timing.** A mirrored pair, shingled tracks, flash, a network store and a tape know what a
//! command will take when it comes (`drive::other::Timing`); `Timed` makes a machine of that, with the same account. Two
//! actuators are two disks, each with its queue. Only a disk
//! is monomorphic in the loop, the others are boxed. There is no sheet of them, so that nothing but distance and
//! learning can schedule them.

mod dual;
mod flash;
mod keys;
mod mirror;
mod smr;
mod store;
mod tape;
mod zoned;

use crate::read::{ASSUMED, KIND, SOURCES, TITLE};
use crate::{Drive, catalogue};
use block::{BadInput, Span};
use config::{About, Key, Section};
use std::path::Path;

pub use flash::Flash;
pub use smr::Smr;
pub use store::Store;
pub use tape::Tape;
pub use zoned::HostManaged;

/// A device that is not a disk.
#[derive(Clone, Debug)]
pub struct Other {
    /// The name in the catalogue.
    pub name: String,
    /// What it is, in words.
    pub title: String,
    /// Where the numbers come from.
    pub sources: Vec<String>,
    /// Numbers no source prints.
    pub assumed: Vec<String>,
    /// Commands in it at once; at least 1.
    pub depth: u16,
    /// The kind, with its own settings.
    pub kind: Kind,
}

/// The kinds of device that are not a disk.
#[derive(Clone, Debug)]
pub enum Kind {
    /// Two drives that hold the same.
    Mirror(Box<Drive>),
    /// Two arms on one spindle: the drive of each half.
    Dual(Box<Drive>),
    /// Shingled tracks, managed by the drive.
    Smr(Box<Smr>),
    /// Shingled tracks in zones, managed by the host.
    HostManaged(Box<HostManaged>),
    /// Flash memory: no arm, several channels.
    Flash(Flash),
    /// A store behind a network.
    Store(Store),
    /// A tape, written to and fro.
    Tape(Tape),
}

config::keys! {
    /// Commands in it at once, the most that `queue` of `[drive]` may ask for.
    pub(crate) DEPTH: u32 = within("depth", 1, 4096).else_told("1; 2 of a mirrored pair");
}

/// All that is known of a kind before there is a device of it.
pub struct Form {
    /// What `kind` is in its file.
    pub word: &'static str,
    /// What it is instead of a disk, for a message.
    pub what: &'static str,
    /// Its keys at the top of its file.
    pub keys: &'static [About],
    /// A file of one.
    pub example: &'static str,
    /// What it does with a command, for the documentation.
    pub text: &'static str,
    /// The least `depth` that makes sense, which is also the one of a file without.
    pub least_depth: u32,
    /// Reads its keys. Files they name are relative to the folder.
    pub read: fn(&Section, &Path) -> Result<Kind, BadInput>,
}

/// Every kind, in the order of the documentation.
pub static FORMS: [&Form; 7] =
    [&mirror::FORM, &dual::FORM, &smr::FORM, &zoned::FORM, &flash::FORM, &store::FORM, &tape::FORM];

/// The words of `kind`.
pub(crate) fn words() -> Vec<(&'static str, &'static str)> {
    std::iter::once(("disk", "a disk")).chain(FORMS.iter().map(|form| (form.word, form.text))).collect()
}

/// What the file is of; nothing for a disk.
pub(crate) fn form(root: &Section) -> Result<Option<&'static Form>, BadInput> {
    let word = root.value(&KIND)?;
    Ok(FORMS.iter().find(|form| form.word == word).copied())
}

/// The error of a file that should be of a disk.
pub(crate) fn no_disk(root: &Section, form: &Form) -> BadInput {
    let what = format!("this is {}, not a disk", form.what);
    root.error("kind", what, "name a disk; `halfturn drive list` shows all")
}

/// Reads the file of a device. Files it names are relative to `folder`.
pub(crate) fn read(name: &str, root: &Section, form: &Form, folder: &Path) -> Result<Other, BadInput> {
    let title = root.value(&TITLE)?;
    let sources = root.get(&SOURCES)?.unwrap_or_default();
    let assumed = root.get(&ASSUMED)?.unwrap_or_default();
    let kind = (form.read)(root, folder)?;
    let depth = root.within(DEPTH.name(), form.least_depth, 4096)?.unwrap_or(form.least_depth) as u16;
    root.close()?;
    Ok(Other { name: name.into(), title, sources, assumed, depth, kind })
}

/// The disk that a kind is made of, which its file names by `key`.
fn inner(root: &Section, key: &Key<String>, folder: &Path) -> Result<Drive, BadInput> {
    let name = root.value(key)?;
    let beside = folder.join(&name);
    let name = if beside.is_file() { beside.to_string_lossy().into_owned() } else { name };
    catalogue::check(&name).map_err(|error| root.error(key.name(), error.what, error.mend))?;
    catalogue::find(&name)
}

impl Kind {
    /// The disk, or each of the two disks, that it is made of.
    pub(crate) fn drive(&mut self) -> Option<&mut Drive> {
        match self {
            Kind::Mirror(drive) | Kind::Dual(drive) => Some(drive),
            Kind::Smr(smr) => Some(&mut smr.drive),
            Kind::HostManaged(zoned) => Some(&mut zoned.drive),
            Kind::Flash(_) | Kind::Store(_) | Kind::Tape(_) => None,
        }
    }

    /// What is known of the kind.
    #[must_use]
    pub fn form(&self) -> &'static Form {
        match self {
            Kind::Mirror(_) => &mirror::FORM,
            Kind::Dual(_) => &dual::FORM,
            Kind::Smr(_) => &smr::FORM,
            Kind::HostManaged(_) => &zoned::FORM,
            Kind::Flash(_) => &flash::FORM,
            Kind::Store(_) => &store::FORM,
            Kind::Tape(_) => &tape::FORM,
        }
    }
}

impl Other {
    /// Blocks that a host may address.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        match &self.kind {
            Kind::Mirror(drive) => drive.sheet.mechanics.layout.blocks(),
            Kind::Dual(half) => 2 * half.sheet.mechanics.layout.blocks(),
            Kind::Smr(smr) => smr.blocks(),
            Kind::HostManaged(zoned) => zoned.zones() * zoned.zone,
            Kind::Flash(flash) => flash.blocks,
            Kind::Store(store) => store.blocks,
            Kind::Tape(tape) => tape.blocks,
        }
    }

    /// The same without what varies.
    #[must_use]
    pub fn quiet(mut self) -> Other {
        if let Kind::Store(store) = &mut self.kind {
            (store.jitter, store.tail_share) = (Span::ZERO, 0.0);
        }
        if let Some(drive) = self.kind.drive() {
            drive.truth = crate::Truth::default();
        }
        self
    }

    /// The same with what `switched` makes of the caches of the disks in it.
    #[must_use]
    pub fn with_caches(mut self, switched: impl Fn(crate::Cache) -> crate::Cache) -> Other {
        if let Some(drive) = self.kind.drive() {
            drive.sheet.cache = switched(drive.sheet.cache);
        }
        self
    }
}
