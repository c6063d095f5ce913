//! The traces of MSR Cambridge (SNIA IOTTA, trace set 388).

use crate::columns::ColumnKind::{Device, Length, Op, Response, Start, Time};
use crate::format::{Example, FormatEntry, ReadMethod};
use crate::number::TimeUnit::Ticks;
use crate::table::{DelimitedTable, TableHeader};

pub(crate) static FORMAT: FormatEntry = FormatEntry {
    name: "msr",
    title: "MSR Cambridge (2007)",
    text: "Thirteen servers of Microsoft Research Cambridge, a week of 2007, from the SNIA IOTTA repository (388). Rows of \
           Timestamp, Hostname, DiskNumber, Type (Read, Write), Offset, Size, ResponseTime. Times are Windows file times, \
           100 ns each from the year 1601; offsets and sizes are bytes. Host and disk number together name the device.",
    examples: &[Example {
        bytes: b"128166385295514663,hm,0,Read,4096,4096,2833\n128166385315514663,hm,1,Write,51200,1536,3\n",
        requests: 2,
    }],
    read: ReadMethod::Table(DelimitedTable {
        header: TableHeader::Line("Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime"),
        columns: &[Time(Ticks), Device, Device, Op, Start(1), Length(1), Response(Ticks)],
        more: false,
    }),
    write: None,
};
