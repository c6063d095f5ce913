//! Block-trace readers: every format comes out as the same stream of [`TraceRecord`]s.
//!
//! [`open()`] recognises compression and format by content and gives a [`TraceReader`], an iterator over the
//! requests of the file. Memory is constant however long the trace is. Times are absolute nanoseconds as in
//! the file, of any origin, and may go backwards where the file's do; addresses are 512-byte blocks, and what
//! does not fall on whole blocks is widened outward and counted. Whatever a reader leaves out it counts in
//! [`ReadCounts`]; whatever it cannot read is a [`block::BadInput`] naming the file and the line or record.
//!
//! Each format is a file of `formats/` that has its name, its documentation, its examples, how it is recognised, its reader
//! and, where it can be written, its writer: a text format is a `Parser` of lines, a binary one a `Reader`, and one of
//! delimited columns needs no code.

mod columns;
mod counts;
mod events;
mod feed;
mod format;
mod formats;
pub mod ftrace;
mod lines;
mod number;
mod open;
mod placement;
mod reader;
mod reference;
mod source;
mod summary;
mod survey;
mod table;
pub mod write;

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod mutation;

pub use columns::ColumnMap;
pub use counts::ReadCounts;
pub use format::{Format, formats};
pub use formats::blktrace::files;
pub use formats::validate;
pub use open::{from_bytes, from_mapped_bytes, open, open_mapped};
pub use reader::{TraceDevice, TraceReader, TraceRecord};
pub use reference::{help, reference};
pub use summary::{DeviceSummary, Distances, MeasuredResponses, TraceSummary, Windows};
pub use survey::TraceSurvey;
