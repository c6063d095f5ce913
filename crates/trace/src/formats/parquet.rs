//! Parquet: tables of requests, of our own writing or of others'.

#[cfg(feature = "parquet")]
mod batch;
#[cfg(feature = "parquet")]
mod rows;
#[cfg(feature = "parquet")]
mod writer;

use crate::columns::ColumnMap;
use crate::feed::TraceFeed;
use crate::format::{Example, FormatEntry, ReadMethod};
use crate::reader::FormatReader;
use crate::write::{Writing, names};
use block::BadInput;

pub(crate) static FORMAT: FormatEntry = FormatEntry {
    name: "parquet",
    title: "Parquet: a table of requests",
    text: "A row a request, in a build with `--features parquet`. Columns are told by the names that `csv` has, or by a mapping \
           (`--columns`, as there); times may be whole numbers, fractions or timestamps, which have a unit of their own, and \
           `device` a number. Pages may be packed by zstd, snappy, gzip or lz4.\n\nWritten is every field of a request: \
           `time_ns` (uint64) is the arrival, from the origin of the trace; `device` and `op` are strings, and `op` is `read`, \
           `write` or `flush`; `fua` (boolean) marks a write that must reach the medium; `lbn` (uint64) and `blocks` (uint32) are \
           blocks of 512 bytes, 0 of a flush; `response_ns` (uint64, may be null) is the measured response time.",
    examples: &[Example { bytes: include_bytes!("parquet/example.parquet"), requests: 3 }],
    read: ReadMethod::Begin { looks, open: |feed, _| open(feed, None) },
    write: Some(Writing {
        endings: &["parquet"],
        names: names::any,
        flushes: true,
        whole: true,
        resolution_ns: 1,
        #[cfg(feature = "parquet")]
        open: Some(|out| Ok(Box::new(writer::Parquet::new(out)?))),
        #[cfg(not(feature = "parquet"))]
        open: None,
    }),
};

/// Whether a file begins like Parquet.
pub(crate) fn looks(start: &[u8]) -> bool {
    start.starts_with(b"PAR1")
}

/// Reads a table of requests, whose columns are what the `map` says, or else their names.
///
/// # Errors
/// When it is damaged or lacks a column; and in a build without Parquet.
#[cfg(feature = "parquet")]
pub(crate) fn open(feed: TraceFeed, map: Option<&ColumnMap>) -> Result<Box<dyn FormatReader>, BadInput> {
    rows::open(feed, map)
}

/// The same in a build without.
#[cfg(not(feature = "parquet"))]
pub(crate) fn open(feed: TraceFeed, _: Option<&ColumnMap>) -> Result<Box<dyn FormatReader>, BadInput> {
    let mend = "build it with cargo build --release -p halfturn --features parquet, or convert the trace to CSV";
    Err(feed.bad_file("this is Parquet, and this halfturn was built without it", mend))
}
