//! The examples of every format, and how the tests read them.

use std::io::{self, Cursor};

use block::BadInput;

use crate::feed::TraceFeed;
use crate::format::{Example, Format, formats};
use crate::reader::{FormatReader, ReadLedger, TraceRecord};
use crate::source::TraceSource;

/// Every example of every format that this build reads.
pub(crate) fn examples() -> impl Iterator<Item = (Format, &'static Example)> {
    let is_built = |format: &Format| cfg!(feature = "parquet") || format.name() != "parquet";
    formats().filter(is_built).flat_map(|format| format.0.examples.iter().map(move |example| (format, example)))
}

/// A feed of bytes in memory.
pub(crate) fn feed(bytes: impl AsRef<[u8]>) -> TraceFeed {
    try_feed(bytes).unwrap()
}

/// A feed of bytes in memory, which may be compressed and damaged.
pub(crate) fn try_feed(bytes: impl AsRef<[u8]>) -> io::Result<TraceFeed> {
    TraceSource::unpack("a.trace", Cursor::new(bytes.as_ref().to_vec())).map(TraceFeed::new)
}

/// Every request of a reader, and what it wrote to the ledger.
pub(crate) fn read(
    open: impl FnOnce(&mut ReadLedger) -> Result<Box<dyn FormatReader>, BadInput>,
) -> (Result<Vec<TraceRecord>, BadInput>, ReadLedger) {
    let mut ledger = ReadLedger::default();
    let records = open(&mut ledger).and_then(|mut reader| {
        let mut records = Vec::new();
        while let Some(record) = reader.next(&mut ledger)? {
            records.push(record);
            records.extend(ledger.second.take());
        }
        Ok(records)
    });
    (records, ledger)
}

/// Writes fields of either byte order.
#[derive(Default)]
pub(crate) struct Fields {
    pub big: bool,
    pub bytes: Vec<u8>,
}

impl Fields {
    fn put<const N: usize>(&mut self, mut little: [u8; N]) -> &mut Fields {
        if self.big {
            little.reverse();
        }
        self.bytes.extend_from_slice(&little);
        self
    }

    pub fn u16(&mut self, value: u16) -> &mut Fields {
        self.put(value.to_le_bytes())
    }

    pub fn u32(&mut self, value: u32) -> &mut Fields {
        self.put(value.to_le_bytes())
    }

    pub fn u64(&mut self, value: u64) -> &mut Fields {
        self.put(value.to_le_bytes())
    }
}
