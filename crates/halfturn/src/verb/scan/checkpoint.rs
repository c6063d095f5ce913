//! What a scan has read so far, kept in a file, so that one that was stopped goes on: a line for each piece, written once the piece
//! is where it belongs, with its hash if that is wanted.
//!
//! **Killed, or without power.** A process that is killed leaves all that it wrote. A power cut may leave the list without the
//! bytes; so these are put on the disk now and then, and the list says so. If the machine was started since, nothing counts that
//! stands after that.

use crate::failure::VerbFailure;
use block::{At, BadInput};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

const TITLE: &str = "halfturn scan, version 1";
/// What stands in place of a hash where none is wanted, and where nothing can be read.
const READ: &str = "read";
pub const UNREADABLE: &str = "unreadable";
const SYNCED: &str = "synced";
/// Bytes after which what was read is put on the disk.
const OFTEN: u64 = 256 << 20;

/// What the scan is of, and where its blocks go: who goes on must ask for the same.
pub struct ScanIdentity {
    /// Each with its name in the file.
    pub said: Vec<(&'static str, String)>,
    pub bytes: u64,
}

/// The file of what was read.
pub struct Checkpoint {
    name: PathBuf,
    file: File,
    unsynced: u64,
}

/// A piece that was read, or found unreadable: from which byte, how many, and the word after these.
type Piece<'a> = (u64, u64, &'a str);

impl Checkpoint {
    /// Begins one, or goes on with what is there: each piece that counts is told. Says whether there was one.
    ///
    /// # Errors
    /// When it is of another scan, or no checkpoint, or cannot be written.
    pub fn open(
        name: &Path,
        of: &ScanIdentity,
        boot: &str,
        mut known: impl FnMut(Piece),
    ) -> Result<(Checkpoint, bool), VerbFailure> {
        let unwritable = |error: io::Error| VerbFailure::unwritable(name, &error);
        let fresh = beside(name);
        let mut out = BufWriter::new(File::create(&fresh).map_err(unwritable)?);
        let head = of.said.iter().map(|(key, value)| format!("{key} {value}\n")).collect::<String>();
        write!(out, "{TITLE}\n{head}").map_err(unwritable)?;
        let there = name.exists();
        if there {
            let kept = copy(name, of, boot, &mut out, &mut known);
            kept.inspect_err(|_| fs::remove_file(&fresh).unwrap_or_default())?;
        }
        // What stands before was looked at, and stays whatever happens.
        let end = out.into_inner().map_err(|error| unwritable(error.into_error()));
        let done = end.and_then(|mut file| {
            let told = writeln!(file, "{SYNCED}\nboot {boot}").and_then(|()| file.sync_all());
            told.and_then(|()| fs::rename(&fresh, name)).map(|()| file).map_err(unwritable)
        });
        Ok((Checkpoint { name: name.into(), file: done?, unsynced: 0 }, there))
    }

    /// A piece is where it belongs.
    ///
    /// # Errors
    /// When that cannot be written.
    pub fn add(&mut self, (from, bytes, word): Piece, image: Option<&File>) -> io::Result<()> {
        self.file.write_all(format!("{from} {bytes} {word}\n").as_bytes())?;
        self.unsynced += bytes;
        if self.unsynced >= OFTEN {
            self.unsynced = 0;
            image.map_or(Ok(()), File::sync_data)?;
            self.file.write_all(format!("{SYNCED}\n").as_bytes())?;
        }
        Ok(())
    }

    /// Writes a line for each piece, as a list of hashes has it.
    ///
    /// # Errors
    /// When one of the files cannot be read or written.
    pub fn list(&self, into: &mut impl Write) -> io::Result<()> {
        for line in BufReader::new(File::open(&self.name)?).lines() {
            let line = line?;
            if line.starts_with(|first: char| first.is_ascii_digit()) {
                writeln!(into, "{line}")?;
            }
        }
        Ok(())
    }

    /// All was read: it is of no use any more.
    pub fn remove(self) {
        // What is left of it says only what is done.
        let _ = fs::remove_file(&self.name);
    }
}

/// The words that a piece without a hash has.
pub fn word(hash: Option<String>) -> String {
    hash.unwrap_or_else(|| READ.into())
}

/// The start of the machine: another after each.
pub fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// A name beside a file.
fn beside(name: &Path) -> PathBuf {
    let mut fresh = name.as_os_str().to_owned();
    fresh.push(".new");
    PathBuf::from(fresh)
}

/// Copies what counts of a checkpoint, and tells it.
fn copy(
    name: &Path,
    of: &ScanIdentity,
    boot: &str,
    out: &mut impl Write,
    known: &mut impl FnMut(Piece),
) -> Result<(), VerbFailure> {
    let shown = || name.display().to_string();
    let unreadable = |error: io::Error| {
        let mend = "give another file, or remove this one to read all anew";
        VerbFailure::from(BadInput::new(shown(), At::File, format!("cannot be read: {error}"), mend))
    };
    let bad = |line: u64, what: String| {
        let mend = "give the same arguments as before, or remove this file to read all anew";
        VerbFailure::from(BadInput::new(shown(), At::Line(line), what, mend))
    };
    let mut input = BufReader::new(File::open(name).map_err(unreadable)?);
    let mut line = String::new();
    let mut next = |line: &mut String| -> Result<bool, VerbFailure> {
        line.clear();
        // What a line was being written is not whole.
        Ok(input.read_line(line).map_err(unreadable)? > 0 && line.ends_with('\n'))
    };
    let heads = [("", TITLE.to_owned())].into_iter().chain(of.said.iter().cloned());
    let mut number = 0;
    for (key, value) in heads {
        number += 1;
        let wanted = format!("{key} {value}");
        if !next(&mut line)? || line.trim() != wanted.trim() {
            let what = match key {
                "" => "this is no checkpoint of a scan".to_owned(),
                _ => format!("it is of another scan: `{}`, and not `{}`", line.trim(), wanted.trim()),
            };
            return Err(bad(number, what));
        }
    }
    let (mut since, mut same) = (Vec::new(), false);
    loop {
        let more = next(&mut line)?;
        number += 1;
        let text = line.trim_end();
        let starts = text.strip_prefix("boot ");
        if text == SYNCED || ((!more || starts.is_some()) && same) {
            since.drain(..).try_for_each(|(piece, line): (_, String)| {
                let (from, bytes): (u64, u64) = piece;
                known((from, bytes, line.rsplit(' ').next().unwrap_or_default().trim_end()));
                out.write_all(line.as_bytes()).map_err(|error| VerbFailure::unwritable(name, &error))
            })?;
        }
        if !more {
            return Ok(());
        }
        if let Some(id) = starts {
            same = !boot.is_empty() && id == boot;
            since.clear();
        } else if text != SYNCED {
            let piece =
                parse(text, of.bytes).ok_or_else(|| bad(number, format!("`{text}` is no piece of the device")))?;
            since.push((piece, line.clone()));
        }
    }
}

/// A piece: from which byte, and how many.
fn parse(line: &str, bytes: u64) -> Option<(u64, u64)> {
    let mut words = line.split(' ');
    let (from, length): (u64, u64) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let fits = words.next().is_some() && words.next().is_none() && from.checked_add(length)? <= bytes;
    fits.then_some((from, length))
}
