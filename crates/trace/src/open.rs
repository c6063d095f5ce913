//! Opening a trace: which files it has and, unless told, which format.

use std::io::Read;
use std::path::{Path, PathBuf};

use block::{At, BadInput};

use crate::columns::ColumnMap;
use crate::feed::{PEEK, TraceFeed};
use crate::format::{Format, ReadMethod as Reading, formats};
use crate::formats::blktrace::{self, files};
use crate::formats::{csv, parquet};
use crate::reader::{ReadLedger, TraceReader};
use crate::source::TraceSource;
use crate::table;

/// Lines looked at to recognise a text format.
const LINES: usize = 16;

/// The byte order mark that spreadsheets and editors put before a text in UTF-8. It is no part of the text.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Opens a trace, compressed (gzip, zstd, bzip2, xz) or not, of the format given or of the one its content shows.
///
/// Of blktrace, which writes a file a CPU, `X.blktrace.N` as well as the bare `X` stand for all `X.blktrace.*`.
///
/// # Errors
/// When the file cannot be opened or read, is empty, is of no format recognised, or does not begin as the format
/// given does. Damage further on is an error of the iterator.
pub fn open(path: &Path, format: Option<Format>) -> Result<TraceReader, BadInput> {
    let files = files(path);
    let mut feed = TraceFeed::new(TraceSource::open(if path.is_file() { path } else { &files[0] })?);
    let empty = feed.peek(1)?.is_empty();
    if empty && files.len() == 1 {
        return Err(feed.bad_file("the file is empty", "name a file with a trace in it"));
    }
    // Of blktrace's files, those of idle CPUs are empty.
    let format = if empty { format.or(Some(Format(&blktrace::FORMAT))) } else { format };
    read(feed, format, |feed| if files.len() == 1 { Ok(vec![feed]) } else { all_cpus(path, &files) })
}

/// Reads a trace out of `bytes`, which messages call `name`, compressed or not.
///
/// # Errors
/// As those of [`open`].
pub fn from_bytes(
    name: &str,
    bytes: impl Read + Send + 'static,
    format: Option<Format>,
) -> Result<TraceReader, BadInput> {
    let source = TraceSource::unpack(name, bytes)
        .map_err(|error| BadInput::new(name, At::File, format!("cannot be read: {error}"), "check the file"))?;
    let mut feed = TraceFeed::new(source);
    if feed.peek(1)?.is_empty() {
        return Err(feed.bad_file("the file is empty", "name a file with a trace in it"));
    }
    read(feed, format, |feed| Ok(vec![feed]))
}

/// Opens a table of requests, compressed or not, in text or in Parquet, whose columns are what `columns` says.
///
/// # Errors
/// As those of [`open`]; and where the file has no such columns.
pub fn open_mapped(path: &Path, columns: &ColumnMap) -> Result<TraceReader, BadInput> {
    open_table(TraceFeed::new(TraceSource::open(path)?), columns)
}

/// The same out of `bytes`, which messages call `name`.
///
/// # Errors
/// As those of [`open_mapped`].
pub fn from_mapped_bytes(
    name: &str,
    bytes: impl Read + Send + 'static,
    columns: &ColumnMap,
) -> Result<TraceReader, BadInput> {
    let source = TraceSource::unpack(name, bytes)
        .map_err(|error| BadInput::new(name, At::File, format!("cannot be read: {error}"), "check the file"))?;
    open_table(TraceFeed::new(source), columns)
}

fn open_table(mut feed: TraceFeed, columns: &ColumnMap) -> Result<TraceReader, BadInput> {
    if feed.peek(1)?.is_empty() {
        return Err(feed.bad_file("the file is empty", "name a file with a trace in it"));
    }
    skip_mark(&mut feed)?;
    let format = if parquet::looks(feed.peek(PEEK)?) { Format(&parquet::FORMAT) } else { Format(&csv::FORMAT) };
    let reader = match format.name() {
        "csv" => table::mapped_reader(feed, columns.clone()),
        _ => parquet::open(feed, Some(columns))?,
    };
    Ok(TraceReader { format, reader, ledger: ReadLedger::default(), ended: false })
}

/// Reads `feed`, or all the feeds `cpus` makes of it if it is blktrace's.
pub(crate) fn read(
    mut feed: TraceFeed,
    format: Option<Format>,
    cpus: impl FnOnce(TraceFeed) -> Result<Vec<TraceFeed>, BadInput>,
) -> Result<TraceReader, BadInput> {
    skip_mark(&mut feed)?;
    let Some(format) = format.map_or_else(|| recognise(&mut feed), |format| Ok(Some(format)))? else {
        return Err(feed.bad_file(
            "this is no trace of a format known here",
            "name its format with --trace-format to see what is wrong (`halfturn trace --help` lists them); if it is a table, say \
             which column is what with --columns",
        ));
    };
    let mut ledger = ReadLedger::default();
    let reader = match &format.0.read {
        Reading::Begin { open, .. } | Reading::Lines { open, .. } => open(feed, &mut ledger)?,
        Reading::PerCpu { open, .. } => open(cpus(feed)?),
        Reading::Table(table) => table::reader(feed, format.name(), table),
    };
    Ok(TraceReader { format, reader, ledger, ended: false })
}

/// The feeds of all CPUs.
fn all_cpus(path: &Path, files: &[PathBuf]) -> Result<Vec<TraceFeed>, BadInput> {
    let mut feeds =
        files.iter().map(|file| TraceSource::open(file).map(TraceFeed::new)).collect::<Result<Vec<_>, _>>()?;
    for feed in &mut feeds {
        if !feed.peek(1)?.is_empty() {
            return Ok(feeds);
        }
    }
    let name = path.display().to_string();
    Err(BadInput::new(name, At::File, "the files of all CPUs are empty", "name a file with a trace in it"))
}

/// Takes the byte order mark, where there is one before a text.
fn skip_mark(feed: &mut TraceFeed) -> Result<(), BadInput> {
    if !feed.peek(MARK.len())?.starts_with(MARK) {
        return Ok(());
    }
    let start = feed.peek(PEEK)?;
    if !formats().any(|format| format.begins(start)) {
        feed.skip(MARK.len());
    }
    Ok(())
}

/// The format the beginning of a file shows.
fn recognise(feed: &mut TraceFeed) -> Result<Option<Format>, BadInput> {
    let start = feed.peek(PEEK)?;
    if let Some(format) = formats().find(|format| format.begins(start)) {
        return Ok(Some(format));
    }
    // A line cut by the end of what was peeked at says nothing, unless it is the only one.
    let whole = match start.iter().rposition(|byte| *byte == b'\n') {
        Some(end) if start.len() == PEEK => &start[..end],
        _ => start,
    };
    let lines =
        || whole.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty()).take(LINES);
    // Half the lines are enough, so that a damaged line is reported as such, not as an unknown format.
    let best = formats().rev().map(|format| (format.fitting(lines()), format)).max_by_key(|(count, _)| *count);
    Ok(best.filter(|(count, _)| *count > 0 && 2 * count >= lines().count()).map(|(_, format)| format))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{examples, feed};

    fn format_of(bytes: &[u8]) -> Option<Format> {
        recognise(&mut feed(bytes)).unwrap()
    }

    #[test]
    fn every_example_is_recognised_by_content_and_nothing_else_is() {
        for (format, example) in examples() {
            assert_eq!(format_of(example.bytes), Some(format));
        }
        for stranger in ["hello\nworld\n", "a,b,c\n1,2,3\n", "\0\0\0\0", "{}", "1 2 3 4\n"] {
            assert_eq!(format_of(stranger.as_bytes()), None, "{stranger:?}");
        }
    }

    #[test]
    fn a_byte_order_mark_before_a_text_is_no_part_of_it() {
        let requests = |bytes: Vec<u8>, format: Option<Format>| {
            from_bytes("a.trace", std::io::Cursor::new(bytes), format)?.collect::<Result<Vec<_>, _>>()
        };
        for (format, example) in examples() {
            let named = requests(example.bytes.to_vec(), Some(format)).expect("an example");
            let is_text = std::str::from_utf8(example.bytes).is_ok_and(|text| !text.contains('\0'));
            if is_text {
                let marked = [MARK, example.bytes].concat();
                assert_eq!(requests(marked.clone(), None).expect("recognised"), named, "{format}");
                assert_eq!(requests(marked, Some(format)).expect("read"), named, "{format}");
            }
        }
    }

    #[test]
    fn a_damaged_line_does_not_hide_the_format() {
        assert_eq!(format_of(b"1.0 0 100 8 1\n1.5 garbage\n2.0 0 100 8 1\n"), "disksim".parse().ok());
    }
}
