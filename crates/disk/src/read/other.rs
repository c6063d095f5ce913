//! A drive file whose `kind` is not a disk.

use super::positive;
use crate::other::{Flash, Kind, Other, Store, Tape};
use crate::{Drive, catalogue};
use block::{BadInput, Span};
use config::Section;
use std::path::Path;

/// The words a file's `kind` may be, besides none.
#[derive(Clone, Copy)]
pub(super) enum Word {
    Mirror,
    Flash,
    Store,
    Tape,
}

const WORDS: [(&str, Option<Word>); 5] = [
    ("disk", None),
    ("mirror", Some(Word::Mirror)),
    ("flash", Some(Word::Flash)),
    ("store", Some(Word::Store)),
    ("tape", Some(Word::Tape)),
];

/// The longest time of a device, so that sums of a few stay in range.
const LONGEST: Span = Span(86_400_000_000_000);

/// What the file is of; nothing for a disk.
pub(super) fn word(root: &Section) -> Result<Option<Word>, BadInput> {
    Ok(root.choice("kind", &WORDS)?.flatten())
}

/// The error of a file that should be of a disk.
pub(super) fn no_disk(root: &Section, word: Word) -> BadInput {
    let what = match word {
        Word::Mirror => "this is a mirrored pair, not a disk",
        Word::Flash => "this is flash memory, not a disk",
        Word::Store => "this is a network store, not a disk",
        Word::Tape => "this is a tape, not a disk",
    };
    root.error("kind", what, "name a disk; `halfturn drive list` shows all")
}

/// Reads it. Files it names are relative to `folder`.
pub(super) fn read(name: &str, root: &Section, word: Word, folder: &Path) -> Result<Other, BadInput> {
    let title = root.need("title", root.string("title")?)?;
    let sources = root.strings("sources")?.unwrap_or_default();
    let assumed = root.strings("assumed")?.unwrap_or_default();
    let kind = match word {
        Word::Mirror => Kind::Mirror(Box::new(mirrored(root, folder)?)),
        Word::Flash => Kind::Flash(flash(root)?),
        Word::Store => Kind::Store(store(root)?),
        Word::Tape => Kind::Tape(tape(root)?),
    };
    // Fewer than two in a mirrored pair, and one of its arms would never have work.
    let least = if matches!(kind, Kind::Mirror(_)) { 2 } else { 1 };
    let depth = root.within("depth", least, 4096)?.unwrap_or(least) as u16;
    root.close()?;
    Ok(Other { name: name.into(), title, sources, assumed, depth, kind })
}

/// The drive of which a mirrored pair has two.
fn mirrored(root: &Section, folder: &Path) -> Result<Drive, BadInput> {
    let of = root.need("of", root.string("of")?)?;
    let beside = folder.join(&of);
    let of = if beside.is_file() { beside.to_string_lossy().into_owned() } else { of };
    catalogue::check(&of).map_err(|error| root.error("of", error.what, error.mend))?;
    catalogue::find(&of)
}

fn flash(root: &Section) -> Result<Flash, BadInput> {
    Ok(Flash {
        blocks: capacity(root)?,
        channels: root.within("channels", 1, 4096)?.unwrap_or(1) as u16,
        read: time(root, "read")?,
        write: time(root, "write")?,
        mb_s: rate(root)?,
    })
}

fn store(root: &Section) -> Result<Store, BadInput> {
    let sigma = root.f64("sigma")?.unwrap_or(0.0);
    if !(0.0..=3.0).contains(&sigma) {
        return Err(root.error("sigma", format!("`sigma` is {sigma}"), "give a number from 0 to 3"));
    }
    Ok(Store {
        blocks: capacity(root)?,
        latency: time(root, "latency")?,
        jitter: bounded(root, "jitter")?.unwrap_or_default(),
        sigma,
        tail_share: root.share("tail_share")?.unwrap_or(0.0),
        tail: bounded(root, "tail")?.unwrap_or_default(),
        mb_s: rate(root)?,
    })
}

fn tape(root: &Section) -> Result<Tape, BadInput> {
    Ok(Tape {
        blocks: capacity(root)?,
        wraps: root.need("wraps", root.within("wraps", 1, 1 << 20)?)?,
        full_length: time(root, "full_length")?,
        wrap_change: time(root, "wrap_change")?,
        start: time(root, "start")?,
        stops_after: bounded(root, "stops_after")?.unwrap_or_default(),
        mb_s: rate(root)?,
    })
}

fn capacity(root: &Section) -> Result<u64, BadInput> {
    match root.need("capacity", root.size("capacity")?)? {
        0 => Err(root.error("capacity", "`capacity` is zero", "give at least one block of 512 bytes")),
        // As far as the layouts of disks go.
        blocks if blocks >= 1 << 48 => {
            Err(root.error("capacity", "`capacity` is 128 PiB or more", "give a smaller one"))
        }
        blocks => Ok(blocks),
    }
}

/// The rate of data, of at least a kB/s.
fn rate(root: &Section) -> Result<f64, BadInput> {
    match positive(root, "mb_s")? {
        rate if rate < 0.001 => Err(root.error("mb_s", format!("mb_s is {rate}"), "give 10^6 bytes a second")),
        rate => Ok(rate),
    }
}

fn time(root: &Section, key: &str) -> Result<Span, BadInput> {
    root.need(key, bounded(root, key)?)
}

fn bounded(root: &Section, key: &str) -> Result<Option<Span>, BadInput> {
    match root.span(key)? {
        Some(span) if span > LONGEST => {
            Err(root.error(key, format!("`{key}` is more than a day"), "give a shorter time"))
        }
        span => Ok(span),
    }
}
