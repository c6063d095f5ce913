//! Block-trace readers: every format comes out as the same stream of [`Record`]s.
//!
//! [`open()`] recognises compression and format by content and gives a [`Trace`], an iterator over the
//! requests of the file. Memory is constant however long the trace is. Times are absolute nanoseconds as in
//! the file, of any origin, and may go backwards where the file's do; addresses are 512-byte blocks, and what
//! does not fall on whole blocks is widened outward and counted. Whatever a reader leaves out it counts in
//! [`Counts`]; whatever it cannot read is a [`block::BadInput`] naming the file and the line or record.
//!
//! A text format is one `Parser` of lines, a binary one a `Reader`, each in its own file; a trace of delimited
//! columns needs no code, only an entry in `tables.rs`.

mod blkparse;
mod blktrace;
mod counts;
mod disksim;
mod events;
mod feed;
mod format;
pub mod ftrace;
mod iolog;
mod lines;
mod number;
mod open;
mod reader;
mod source;
mod srt;
mod summary;
mod survey;
mod table;
mod tables;
pub mod validate;
mod vscsi;
pub mod write;

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod mutation;

pub use counts::Counts;
pub use format::Format;
pub use open::{files, from_bytes, open};
pub use reader::{Device, Record, Trace};
pub use summary::{DeviceSummary, Distances, Responses, Summary, Windows};
pub use survey::Survey;
