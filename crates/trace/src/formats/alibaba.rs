//! The block traces of Alibaba.

use crate::columns::ColumnKind::{Device, Length, Op, Start, Time};
use crate::format::{Example, FormatEntry, ReadMethod};
use crate::number::TimeUnit::Us;
use crate::table::{DelimitedTable, TableHeader};

pub(crate) static FORMAT: FormatEntry = FormatEntry {
    name: "alibaba",
    title: "Alibaba block traces (2020)",
    text: "A thousand volumes of Alibaba's cloud block storage, January 2020, as published at github.com/alibaba/block-traces. \
           Rows of device_id, opcode (R, W), offset, length, timestamp. Times are microseconds from 1970 on; offsets and lengths \
           are bytes.",
    examples: &[Example {
        bytes: b"419,R,4096,4096,1577808000000046\n725,W,51200,1536,1577808002000046\n",
        requests: 2,
    }],
    read: ReadMethod::Table(DelimitedTable {
        header: TableHeader::Line("device_id,opcode,offset,length,timestamp"),
        columns: &[Device, Op, Start(1), Length(1), Time(Us)],
        more: false,
    }),
    write: None,
};
