//! The delimited traces that are known, as data. A new one is a new entry of [`TABLES`] and nothing else; what
//! columns may mean is [`Column`].

use crate::number::Unit;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    /// Arrival time.
    Time(Unit),
    /// Part of the device's name; adjacent parts are taken together.
    Device,
    /// The operation as a word: r, read, w, write, f, flush, in any case; empty for others.
    Op,
    /// The operation as a digit: 0 reads, 1 writes.
    OpDigit,
    /// Where the request begins, in units of so many bytes.
    Start(u32),
    /// How long it is, in units of so many bytes.
    Length(u32),
    /// Measured response time; may be empty.
    Response(Unit),
    /// Nothing of interest.
    Ignored,
}

/// What stands before the first row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Header {
    /// Nothing.
    None,
    /// Perhaps this line.
    Line(&'static str),
    /// The names of the columns, as in [`NAMES`]; they replace the table's columns.
    Names,
}

/// One layout of comma-separated columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    /// Its word for `--trace-format`.
    pub name: &'static str,
    pub header: Header,
    pub columns: &'static [Column],
    /// Whether a row may have columns beyond these.
    pub more: bool,
}

use Column::{Device, Ignored, Length, Op, OpDigit, Response, Start, Time};
use Unit::{Ms, Ns, S, Ticks, Us};

/// Every table.
pub(crate) const TABLES: [Table; 6] = [
    // MSR Cambridge (SNIA IOTTA 388): Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime.
    Table {
        name: "msr",
        header: Header::Line("Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime"),
        columns: &[Time(Ticks), Device, Device, Op, Start(1), Length(1), Response(Ticks)],
        more: false,
    },
    // SPC (UMass Financial, WebSearch): ASU,LBA,Size,Opcode,Timestamp and optional fields, which vary by row.
    Table { name: "spc", header: Header::None, columns: &[Device, Start(512), Length(1), Op, Time(S)], more: true },
    // SYSTOR'17 (LUN traces of virtual desktops). Operations other than R and W are empty.
    Table {
        name: "systor",
        header: Header::Line("Timestamp,Response,IOType,LUN,Offset,Size"),
        columns: &[Time(S), Response(S), Op, Device, Start(1), Length(1)],
        more: false,
    },
    // Tencent cloud block storage: Timestamp,Offset,Size,IOType,VolumeID, in seconds and sectors.
    Table {
        name: "tencent",
        header: Header::Line("Timestamp,Offset,Size,IOType,VolumeID"),
        columns: &[Time(S), Start(512), Length(512), OpDigit, Device],
        more: false,
    },
    // Alibaba block traces: device_id,opcode,offset,length,timestamp.
    Table {
        name: "alibaba",
        header: Header::Line("device_id,opcode,offset,length,timestamp"),
        columns: &[Device, Op, Start(1), Length(1), Time(Us)],
        more: false,
    },
    // Anything with a header of the names below: time,op,offset,size and more.
    Table { name: "csv", header: Header::Names, columns: &[], more: false },
];

/// Column names a `csv` header may have; other names are ignored columns.
pub(crate) const NAMES: [(&str, Column); 20] = [
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

/// What the column of this name in a `csv` header holds.
pub(crate) fn named(name: &[u8]) -> Column {
    let name = name.trim_ascii();
    NAMES.iter().find(|(known, _)| known.as_bytes().eq_ignore_ascii_case(name)).map_or(Ignored, |(_, column)| *column)
}

/// The table of this name.
pub(crate) fn table(name: &str) -> Option<&'static Table> {
    const ALL: &[Table] = &TABLES;
    ALL.iter().find(|table| table.name == name)
}
