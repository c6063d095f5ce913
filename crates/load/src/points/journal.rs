//! The file of finished points: lines are only ever appended to it, one a point, as they end.

use super::{UNLABELLED, write_run};
use crate::results::Run;
use block::{At, BadInput};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Where the run of a point stands in a file: its place, and how long it is.
#[derive(Clone, Copy)]
struct Place {
    at: u64,
    bytes: usize,
}

/// The points that have ended, by their hash.
pub struct PointJournal {
    name: PathBuf,
    file: File,
    kept: Mutex<KeptPoints>,
}

#[derive(Default)]
struct KeptPoints {
    places: BTreeMap<String, Place>,
    end: u64,
}

impl PointJournal {
    /// The journal of this name; a new one, if there is none. What was being written when a machine stopped is cut off.
    ///
    /// # Errors
    /// When it is something else, or cannot be read and written.
    pub fn open(name: &Path) -> Result<PointJournal, BadInput> {
        let unusable = |error: io::Error| {
            let what = format!("cannot be read and written: {error}");
            BadInput::new(name.display().to_string(), At::File, what, "name a folder you may write to")
        };
        let file = OpenOptions::new().read(true).append(true).create(true).open(name).map_err(unusable)?;
        let kept = read_places(name, &file)?;
        file.set_len(kept.end).map_err(unusable)?;
        Ok(PointJournal { name: name.to_owned(), file, kept: Mutex::new(kept) })
    }

    fn lock(&self) -> MutexGuard<'_, KeptPoints> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this point has ended.
    #[must_use]
    pub fn has(&self, hash: &str) -> bool {
        self.lock().places.contains_key(hash)
    }

    /// Keeps the run of a point that has ended.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn keep(&self, hash: &str, run: &Run) -> Result<(), BadInput> {
        self.append(hash, &write_run(run)).map_err(|error| {
            let what = format!("cannot be written: {error}");
            let mend = "make room, and run the sweep again: it goes on where it was";
            BadInput::new(self.name.display().to_string(), At::File, what, mend)
        })
    }

    fn append(&self, hash: &str, run: &str) -> io::Result<()> {
        let line = format!("{}{hash}{}{run}}}\n", JournalLine::HEAD, JournalLine::MIDDLE);
        let mut kept = self.lock();
        if let Err(error) = (&self.file).write_all(line.as_bytes()) {
            // What came after half a line would be lost with it.
            let _ = self.file.set_len(kept.end);
            return Err(error);
        }
        let before = JournalLine::HEAD.len() + hash.len() + JournalLine::MIDDLE.len();
        let place = Place { at: kept.end + before as u64, bytes: run.len() };
        kept.places.insert(hash.into(), place);
        kept.end += line.len() as u64;
        Ok(())
    }

    /// The run of a point that has ended, but for its labels.
    pub(super) fn read(&self, hash: &str) -> io::Result<String> {
        let place = self.lock().places.get(hash).copied();
        let Some(Place { at, bytes }) = place else {
            return Err(io::Error::new(ErrorKind::NotFound, format!("point {hash} has not ended")));
        };
        let mut run = vec![0; bytes];
        self.file.read_exact_at(&mut run, at)?;
        String::from_utf8(run).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
    }

    /// Keeps what another journal kept of a point.
    ///
    /// # Errors
    /// When that has not got it, or this cannot be written.
    pub fn keep_from(&self, other: &PointJournal, hash: &str) -> io::Result<()> {
        if self.has(hash) { Ok(()) } else { self.append(hash, &other.read(hash)?) }
    }
}

/// A line of the file.
struct JournalLine<'a> {
    hash: &'a str,
    run: &'a str,
}

impl JournalLine<'_> {
    const HEAD: &'static str = "{\"point\":\"";
    const MIDDLE: &'static str = "\",\"run\":{\"labels\":{},";

    fn read(text: &str) -> Option<JournalLine<'_>> {
        let (hash, run) = text.strip_prefix(JournalLine::HEAD)?.split_once(JournalLine::MIDDLE)?;
        let run = run.strip_suffix("}\n")?;
        let whole = format!("{UNLABELLED}{run}");
        let is_hash = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_json = serde_json::from_str::<serde::de::IgnoredAny>(&whole).is_ok();
        (is_hash && is_json).then_some(JournalLine { hash, run })
    }
}

fn read_places(name: &Path, file: &File) -> Result<KeptPoints, BadInput> {
    let shown = name.display().to_string();
    let mut kept = KeptPoints::default();
    let (mut reader, mut text, mut number) = (BufReader::new(file), String::new(), 0);
    loop {
        text.clear();
        number += 1;
        let bytes = reader.read_line(&mut text).map_err(|error| {
            BadInput::new(&shown, At::Line(number), format!("cannot be read: {error}"), "name another folder")
        })?;
        // The last line was not written whole.
        if !text.ends_with('\n') {
            return Ok(kept);
        }
        let Some(line) = JournalLine::read(&text) else {
            let what = "is not the run of a point";
            return Err(BadInput::new(&shown, At::Line(number), what, "name another folder, or take the line out"));
        };
        let before = JournalLine::HEAD.len() + line.hash.len() + JournalLine::MIDDLE.len();
        let place = Place { at: kept.end + before as u64, bytes: line.run.len() };
        // What was kept first stays: rows that rest on it may have been written.
        kept.places.entry(line.hash.into()).or_insert(place);
        kept.end += bytes as u64;
    }
}
