//! The traces of Tencent's cloud block storage.

use crate::columns::ColumnKind::{Device, Length, OpDigit, Start, Time};
use crate::format::{Example, FormatEntry, ReadMethod};
use crate::number::TimeUnit::S;
use crate::table::{DelimitedTable, TableHeader};

pub(crate) static FORMAT: FormatEntry = FormatEntry {
    name: "tencent",
    title: "Tencent Cloud Block Storage (2018)",
    text: "Volumes of a warehouse of Tencent's cloud block storage, nine days of 2018, from the SNIA IOTTA repository. Rows of \
           Timestamp, Offset, Size, IOType (0 reads, 1 writes), VolumeID (the device). Times are whole seconds from 1970 on, so \
           that many requests arrive at once; offsets and sizes are sectors of 512 bytes.",
    examples: &[Example { bytes: b"1538323200,8,8,0,1058\n1538323202,100,3,1,1063\n", requests: 2 }],
    read: ReadMethod::Table(DelimitedTable {
        header: TableHeader::Line("Timestamp,Offset,Size,IOType,VolumeID"),
        columns: &[Time(S), Start(512), Length(512), OpDigit, Device],
        more: false,
    }),
    write: None,
};
