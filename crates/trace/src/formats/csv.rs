//! Comma-separated columns that a header names: for traces of one's own making.

use crate::format::{Example, FormatEntry, ReadMethod};
use crate::number::TimeUnit::{Ms, Ns, S, Us};
use crate::table::ColumnKind::{self, Device, Length, Op, Response, Start, Time};
use crate::table::{DelimitedTable, TableHeader};

pub(crate) static FORMAT: FormatEntry = FormatEntry {
    name: "csv",
    title: "Comma-separated columns, named by a header",
    text: "A header of names, in any order and of any case, then a row a request. `time` or `time_s`, `time_ms`, `time_us`, \
           `time_ns` is the arrival, from any origin; `op` is r, read, w, write, f, flush, or d, discard, trim, unmap, which are left out; \
           `offset` or `offset_bytes` is in bytes, `lbn`, `lba` or `sector` in blocks of 512; `size` or `size_bytes` in bytes, \
           `blocks` or `sectors` in blocks of 512. Those four are needed. `device` and the measured `response_s`, `response_ms`, \
           `response_us` or `response_ns` may be there; columns of other names are passed over.",
    examples: &[Example {
        bytes: b"time,op,offset,size,device\n0.25,read,4096,4096,sda\n2.25,write,51200,1536,sdb\n",
        requests: 2,
    }],
    read: Some(ReadMethod::Table(DelimitedTable { header: TableHeader::Names(&NAMES), columns: &[], more: false })),
    write: None,
};

/// Names a column may have.
const NAMES: [(&str, ColumnKind); 20] = [
    ("time", Time(S)),
    ("time_s", Time(S)),
    ("time_ms", Time(Ms)),
    ("time_us", Time(Us)),
    ("time_ns", Time(Ns)),
    ("op", Op),
    ("offset", Start(1)),
    ("offset_bytes", Start(1)),
    ("lbn", Start(512)),
    ("lba", Start(512)),
    ("sector", Start(512)),
    ("size", Length(1)),
    ("size_bytes", Length(1)),
    ("blocks", Length(512)),
    ("sectors", Length(512)),
    ("device", Device),
    ("response_s", Response(S)),
    ("response_ms", Response(Ms)),
    ("response_us", Response(Us)),
    ("response_ns", Response(Ns)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_in_the_documentation() {
        assert!(NAMES.iter().all(|(name, _)| FORMAT.text.contains(&format!("`{name}`"))));
    }
}
