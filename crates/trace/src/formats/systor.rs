//! The traces of SYSTOR '17.

use crate::columns::ColumnKind::{Device, Length, Op, Response, Start, Time};
use crate::format::{Example, FormatEntry, ReadMethod};
use crate::number::TimeUnit::S;
use crate::table::{DelimitedTable, TableHeader};

pub(crate) static FORMAT: FormatEntry = FormatEntry {
    name: "systor",
    title: "SYSTOR '17 (virtual desktops)",
    text: "Virtual desktops on shared storage, recorded over 28 days of 2016 and published at SYSTOR '17. Rows of Timestamp, \
           Response, IOType (R, W, or empty for another command, which is left out), LUN (the device), Offset, Size. Times are seconds, \
           timestamps from 1970 on, and a response may be missing; offsets and sizes are bytes.",
    examples: &[Example {
        bytes: b"Timestamp,Response,IOType,LUN,Offset,Size\n1455591804.31,0.006475000,R,0,4096,4096\n1455591806.31,,W,1,51200,1536\n",
        requests: 2,
    }],
    read: ReadMethod::Table(DelimitedTable {
        header: TableHeader::Line("Timestamp,Response,IOType,LUN,Offset,Size"),
        columns: &[Time(S), Response(S), Op, Device, Start(1), Length(1)],
        more: false,
    }),
    write: None,
};
