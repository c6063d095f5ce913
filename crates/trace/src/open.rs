//! Opening a trace: which files it has and, unless told, which format.

use std::io::Read;
use std::path::{Path, PathBuf};

use block::{At, BadInput};

use crate::feed::{Feed, PEEK};
use crate::format::table_of;
use crate::reader::{Ledger, Reader, Trace};
use crate::source::Source;
use crate::{Format, blkparse, blktrace, disksim, iolog, srt, table, tables, validate, vscsi};

/// Lines looked at to recognise a text format.
const LINES: usize = 16;

/// Opens a trace, compressed (gzip, zstd, bzip2, xz) or not, of the format given or of the one its content shows.
///
/// Of blktrace, which writes a file a CPU, `X.blktrace.N` as well as the bare `X` stand for all `X.blktrace.*`.
///
/// # Errors
/// When the file cannot be opened or read, is empty, is of no format recognised, or does not begin as the format
/// given does. Damage further on is an error of the iterator.
pub fn open(path: &Path, format: Option<Format>) -> Result<Trace, BadInput> {
    let files = files(path);
    let mut feed = Feed::new(Source::open(if path.is_file() { path } else { &files[0] })?);
    let empty = feed.peek(1)?.is_empty();
    if empty && files.len() == 1 {
        return Err(feed.bad_file("the file is empty", "name a file with a trace in it"));
    }
    // Of blktrace's files, those of idle CPUs are empty.
    let format = if empty { format.or(Some(Format::Blktrace)) } else { format };
    read(feed, format, |feed| if files.len() == 1 { Ok(vec![feed]) } else { all_cpus(path, &files) })
}

/// Reads a trace out of `bytes`, which messages call `name`, compressed or not.
///
/// # Errors
/// As those of [`open`].
pub fn from_bytes(name: &str, bytes: impl Read + Send + 'static, format: Option<Format>) -> Result<Trace, BadInput> {
    let source = Source::unpacked(name, bytes)
        .map_err(|error| BadInput::new(name, At::File, format!("cannot be read: {error}"), "check the file"))?;
    let mut feed = Feed::new(source);
    if feed.peek(1)?.is_empty() {
        return Err(feed.bad_file("the file is empty", "name a file with a trace in it"));
    }
    read(feed, format, |feed| Ok(vec![feed]))
}

/// Reads `feed`, or all the feeds `cpus` makes of it if it is blktrace's.
pub(crate) fn read(
    mut feed: Feed,
    format: Option<Format>,
    cpus: impl FnOnce(Feed) -> Result<Vec<Feed>, BadInput>,
) -> Result<Trace, BadInput> {
    let Some(format) = format.map_or_else(|| recognise(&mut feed), |format| Ok(Some(format)))? else {
        return Err(feed.bad_file(
            "this is no trace of a format known here",
            format!("if it is one of {}, name it with --trace-format to see what is wrong", Format::words()),
        ));
    };
    let mut ledger = Ledger::default();
    let reader: Box<dyn Reader> = match format {
        Format::Blktrace => blktrace::reader(cpus(feed)?),
        Format::Blkparse => blkparse::reader(feed),
        Format::DiskSim => disksim::reader(feed, &mut ledger)?,
        Format::Validate => validate::reader(feed),
        Format::Iolog => iolog::reader(feed),
        Format::Srt => srt::reader(feed)?,
        Format::Vscsi => vscsi::reader(feed)?,
        Format::Table(name) => match table_of(name) {
            Ok(table) => table::reader(feed, table),
            Err(what) => return Err(feed.bad_file(what, format!("formats are {}", Format::words()))),
        },
    };
    Ok(Trace { format, reader, ledger, ended: false })
}

/// The files `path` stands for: itself, unless it is one of blktrace's or the bare name of them all.
#[must_use]
pub fn files(path: &Path) -> Vec<PathBuf> {
    let cpus = cpu_files(path);
    let one_of_them = cpus.iter().any(|cpu| cpu == path);
    let bare_name = !path.is_file() && !cpus.is_empty();
    if one_of_them || bare_name { cpus } else { vec![path.to_owned()] }
}

/// The files of all CPUs beside `path`, by number of CPU.
fn cpu_files(path: &Path) -> Vec<PathBuf> {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Vec::new() };
    let stem = match name.rsplit_once(".blktrace.") {
        Some((stem, rest)) if cpu(rest).is_some() => stem,
        _ => name,
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<(u32, String)> = entries
        .filter_map(|entry| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            let rest = name.strip_prefix(stem)?.strip_prefix(".blktrace.")?;
            Some((cpu(rest)?, name))
        })
        .collect();
    files.sort();
    // The folder stays as the user wrote it, for the messages.
    files.into_iter().map(|(_, name)| path.with_file_name(name)).collect()
}

/// The CPU's number at the end of a file name, before what compression may have added.
fn cpu(rest: &str) -> Option<u32> {
    let number = rest
        .split_once('.')
        .map_or(rest, |(number, packing)| if matches!(packing, "gz" | "zst" | "bz2" | "xz") { number } else { "" });
    number.parse().ok()
}

/// The feeds of all CPUs.
fn all_cpus(path: &Path, files: &[PathBuf]) -> Result<Vec<Feed>, BadInput> {
    let mut feeds = files.iter().map(|file| Source::open(file).map(Feed::new)).collect::<Result<Vec<_>, _>>()?;
    for feed in &mut feeds {
        if !feed.peek(1)?.is_empty() {
            return Ok(feeds);
        }
    }
    let name = path.display().to_string();
    Err(BadInput::new(name, At::File, "the files of all CPUs are empty", "name a file with a trace in it"))
}

/// The format the beginning of a file shows.
fn recognise(feed: &mut Feed) -> Result<Option<Format>, BadInput> {
    let start = feed.peek(PEEK)?;
    let headed = [
        (Format::Iolog, iolog::looks(start)),
        (Format::Blktrace, blktrace::looks(start)),
        (Format::Srt, srt::looks(start)),
        (Format::Vscsi, vscsi::looks(start)),
    ];
    if let Some((format, _)) = headed.into_iter().find(|(_, looks)| *looks) {
        return Ok(Some(format));
    }
    // A line cut by the end of what was peeked at says nothing, unless it is the only one.
    let whole = match start.iter().rposition(|byte| *byte == b'\n') {
        Some(end) if start.len() == PEEK => &start[..end],
        _ => start,
    };
    let lines =
        || whole.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty()).take(LINES);
    let fit = |format: Format| match format {
        Format::DiskSim => lines().filter(|line| disksim::looks(line)).count(),
        Format::Validate => lines().filter(|line| validate::looks(line)).count(),
        Format::Blkparse => lines().filter(|line| blkparse::looks(line)).count(),
        Format::Table(name) => tables::table(name).map_or(0, |table| table::looks(table, lines())),
        Format::Blktrace | Format::Iolog | Format::Srt | Format::Vscsi => 0,
    };
    // Half the lines are enough, so that a damaged line is reported as such, not as an unknown format.
    let best = Format::ALL.into_iter().rev().map(|format| (fit(format), format)).max_by_key(|(count, _)| *count);
    Ok(best.filter(|(count, _)| *count > 0 && 2 * count >= lines().count()).map(|(_, format)| format))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{self, BLKPARSE, DISKSIM, SRT_HEADER, TABLES, feed};

    fn format_of(bytes: &[u8]) -> Option<Format> {
        recognise(&mut feed(bytes)).unwrap()
    }

    #[test]
    fn every_format_is_recognised_by_content() {
        assert_eq!(format_of(DISKSIM.as_bytes()), Some(Format::DiskSim));
        assert_eq!(format_of(fixtures::VALIDATE.as_bytes()), Some(Format::Validate));
        for iolog in fixtures::IOLOGS {
            assert_eq!(format_of(iolog.as_bytes()), Some(Format::Iolog));
        }
        assert_eq!(format_of(BLKPARSE.as_bytes()), Some(Format::Blkparse));
        assert_eq!(format_of(SRT_HEADER.as_bytes()), Some(Format::Srt));
        assert_eq!(format_of(&fixtures::vscsi_v1(0x28, 512, 1, 1)), Some(Format::Vscsi));
        assert_eq!(format_of(&fixtures::vscsi_v2(0x28, 512, 1, 1)), Some(Format::Vscsi));
        assert_eq!(format_of(&fixtures::blktrace_v1(true, (1, 1, 1, 1), b"")), Some(Format::Blktrace));
        assert_eq!(format_of(&fixtures::blktrace_v2(false, (1, 1, 1, 1), b"")), Some(Format::Blktrace));
        for (name, text) in TABLES {
            assert_eq!(format_of(text.as_bytes()), Some(Format::Table(name)));
        }
        for stranger in ["hello\nworld\n", "a,b,c\n1,2,3\n", "\0\0\0\0", "{}", "1 2 3 4\n"] {
            assert_eq!(format_of(stranger.as_bytes()), None, "{stranger:?}");
        }
    }

    #[test]
    fn a_damaged_line_does_not_hide_the_format() {
        assert_eq!(format_of(b"1.0 0 100 8 1\n1.5 garbage\n2.0 0 100 8 1\n"), Some(Format::DiskSim));
    }

    #[test]
    fn names_of_cpu_files_may_end_in_a_packing() {
        assert_eq!((cpu("12"), cpu("3.gz"), cpu("3.txt"), cpu("x")), (Some(12), Some(3), None, None));
    }
}
