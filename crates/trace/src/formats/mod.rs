//! The trace formats, a file each. A new one is its file and its two lines here; everything else follows from its
//! [`FormatEntry`].

mod alibaba;
mod baleen;
mod blkparse;
pub(crate) mod blktrace;
pub(crate) mod csv;
mod disksim;
mod iolog;
mod msr;
pub(crate) mod parquet;
mod spc;
mod srt;
mod systor;
mod tencent;
mod thesios;
pub mod validate;
mod vscsi;

use crate::format::FormatEntry;

/// Every format, in the order of the documentation; where content fits two, the former is taken.
pub(crate) static ALL: &[&FormatEntry] = &[
    &blktrace::FORMAT,
    &blkparse::FORMAT,
    &disksim::FORMAT,
    &validate::FORMAT,
    &iolog::FORMAT,
    &srt::FORMAT,
    &vscsi::FORMAT,
    &msr::FORMAT,
    &spc::FORMAT,
    &systor::FORMAT,
    &tencent::FORMAT,
    &alibaba::FORMAT,
    &thesios::FORMAT,
    &baleen::FORMAT,
    &csv::FORMAT,
    &parquet::FORMAT,
];
