//! Parquet, which is written only.

#[cfg(feature = "parquet")]
mod writer;

use crate::format::FormatEntry;
use crate::write::{Writing, names};

pub(crate) static FORMAT: FormatEntry = FormatEntry {
    name: "parquet",
    title: "Parquet, for other people's tools",
    text: "A row a request, and every field of it, in a build with `--features parquet`. `time_ns` (uint64) is the arrival, from \
           the origin of the trace; `device` and `op` are strings, and `op` is `read`, `write` or `flush`; `fua` (boolean) marks a \
           write that must reach the medium; `lbn` (uint64) and `blocks` (uint32) are blocks of 512 bytes, 0 of a flush; \
           `response_ns` (uint64, may be null) is the measured response time.",
    examples: &[],
    read: None,
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
