//! The traces of the Storage Performance Council's form.

use crate::columns::ColumnKind::{Device, Length, Op, Start, Time};
use crate::format::{Example, FormatEntry, ReadMethod};
use crate::number::TimeUnit::S;
use crate::table::{DelimitedTable, TableHeader};

pub(crate) static FORMAT: FormatEntry = FormatEntry {
    name: "spc",
    title: "SPC, as in the UMass repository (Financial, WebSearch)",
    text: "The trace file format of the Storage Performance Council, revision 1.0.1, in which the UMass Trace Repository \
           offers the I/O of two financial institutions and of a search engine. Rows of ASU (the device), LBA, Size, Opcode (R, \
           W), Timestamp and optional fields, which vary by row and are left out. Times are seconds from the beginning of the trace; \
           addresses are blocks of 512 bytes, sizes bytes.",
    examples: &[Example { bytes: b"0,8,4096,r,0.5\n1,100,1536,W,2.5,9,extra\n", requests: 2 }],
    read: ReadMethod::Table(DelimitedTable {
        header: TableHeader::None,
        columns: &[Device, Start(512), Length(1), Op, Time(S)],
        more: true,
    }),
    write: None,
};
