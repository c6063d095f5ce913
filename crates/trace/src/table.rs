//! Delimited traces as data, and the reader of them all. What columns may mean is [`ColumnKind`].

use std::borrow::Cow;

use block::{Extent, Op, Span, Time};

use crate::feed::TraceFeed;
use crate::lines::{LineParser, Lines, ParsedLine, wrong_columns};
use crate::number::{TimeUnit, extent, quote, time, whole};
use crate::reader::{Fault, FormatReader, ReadLedger, TraceRecord};

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    /// Arrival time, in the given unit.
    Time(TimeUnit),
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
    Response(TimeUnit),
    /// A column that is not read.
    Ignored,
}

/// What stands before the first row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TableHeader {
    /// No header: the first line is a row.
    None,
    /// This line, which may also be absent.
    Line(&'static str),
    /// Names of columns, each of one of these meanings or else ignored; they replace the table's columns.
    Names(&'static [(&'static str, ColumnKind)]),
}

/// One layout of comma-separated columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DelimitedTable {
    pub header: TableHeader,
    pub columns: &'static [ColumnKind],
    /// Whether a row may have columns beyond these.
    pub more: bool,
}

/// Reads a trace laid out as the `table` of this name.
pub(crate) fn reader(feed: TraceFeed, name: &'static str, table: &'static DelimitedTable) -> Box<dyn FormatReader> {
    Box::new(Lines::new(feed, TableRows::new(name, table)))
}

/// How many of the first lines of a file could be this table's.
pub(crate) fn fitting<'a>(
    name: &'static str,
    table: &'static DelimitedTable,
    lines: impl Iterator<Item = &'a [u8]>,
) -> usize {
    let (mut rows, mut ledger) = (TableRows::new(name, table), ReadLedger::default());
    lines.filter(|line| rows.parse(line, &mut ledger).is_ok()).count()
}

struct TableRows {
    name: &'static str,
    table: &'static DelimitedTable,
    columns: Cow<'static, [ColumnKind]>,
    /// Whether a header may still come.
    first: bool,
}

impl TableRows {
    fn new(name: &'static str, table: &'static DelimitedTable) -> TableRows {
        TableRows { name, table, columns: Cow::Borrowed(table.columns), first: true }
    }

    /// Takes the first line for a header, if it is one.
    fn header(&mut self, line: &[u8]) -> Result<bool, Fault> {
        match self.table.header {
            TableHeader::None => Ok(false),
            TableHeader::Line(header) => Ok(line.trim_ascii().eq_ignore_ascii_case(header.as_bytes())),
            TableHeader::Names(names) => {
                self.columns = columns(line, names)?.into();
                Ok(true)
            }
        }
    }
}

/// The columns a header names.
fn columns(header: &[u8], names: &[(&str, ColumnKind)]) -> Result<Vec<ColumnKind>, Fault> {
    let columns: Vec<ColumnKind> = header.split(|byte| *byte == b',').map(|name| column_named(name, names)).collect();
    type Is = fn(&ColumnKind) -> bool;
    let needed: [(&str, Is); 4] = [
        ("time", |column| matches!(column, ColumnKind::Time(_))),
        ("op", |column| matches!(column, ColumnKind::Op)),
        ("offset", |column| matches!(column, ColumnKind::Start(_))),
        ("size", |column| matches!(column, ColumnKind::Length(_))),
    ];
    for (name, is) in needed {
        let mend = "begin the file with a header such as time,op,offset,size,device (seconds and bytes; time_ms, \
                    time_us, time_ns, lbn and blocks are in those units)";
        match columns.iter().filter(|column| is(column)).count() {
            1 => {}
            0 => return Err(Fault::with_mend(format!("the header names no column '{name}'"), mend)),
            _ => return Err(Fault::with_mend(format!("the header names more than one column for '{name}'"), mend)),
        }
    }
    Ok(columns)
}

/// What the column of this name in a header holds.
fn column_named(name: &[u8], names: &[(&str, ColumnKind)]) -> ColumnKind {
    let is = |known: &str| known.as_bytes().eq_ignore_ascii_case(name.trim_ascii());
    names.iter().find(|(known, _)| is(known)).map_or(ColumnKind::Ignored, |(_, column)| *column)
}

impl LineParser for TableRows {
    fn parse(&mut self, line: &[u8], ledger: &mut ReadLedger) -> Result<ParsedLine, Fault> {
        if std::mem::take(&mut self.first) && self.header(line)? {
            return Ok(ParsedLine::Remark);
        }
        let mut fields = RowFields { line, at: 0 };
        let wrong = || {
            let found = line.split(|byte| *byte == b',').count();
            wrong_columns(found, &format!("{} of {}", self.columns.len(), self.name))
        };
        let mut row = ParsedRow::default();
        for column in self.columns.iter() {
            let (from, field) = fields.next().ok_or_else(wrong)?;
            row.take(*column, from, field, line)?;
        }
        if !self.table.more && fields.next().is_some() {
            return Err(wrong());
        }
        row.request(line, ledger)
    }
}

/// The fields of a line and where they begin.
struct RowFields<'a> {
    line: &'a [u8],
    at: usize,
}

impl<'a> Iterator for RowFields<'a> {
    type Item = (usize, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.line.get(self.at..)?;
        // Fields are of a few bytes: a search that prepares itself for long ones takes longer.
        let field = &rest[..rest.iter().position(|byte| *byte == b',').unwrap_or(rest.len())];
        let from = self.at;
        self.at += field.len() + 1;
        let is_bare = |byte: Option<&u8>| byte.is_some_and(|byte| *byte > b' ');
        Some((from, if is_bare(field.first()) && is_bare(field.last()) { field } else { field.trim_ascii() }))
    }
}

/// What a row says, as far as it was read.
#[derive(Default)]
struct ParsedRow {
    time: u64,
    op: RowRequest,
    start: (u64, u32),
    length: (u64, u32),
    /// Where in the line the device's name stands.
    device: Option<(usize, usize)>,
    response: Option<Span>,
}

/// What a row asks for.
#[derive(Default)]
enum RowRequest {
    Do(Op),
    Discard,
    #[default]
    Other,
}

impl ParsedRow {
    fn take(&mut self, column: ColumnKind, from: usize, field: &[u8], line: &[u8]) -> Result<(), Fault> {
        match column {
            ColumnKind::Time(unit) => self.time = time("time", field, unit)?,
            ColumnKind::Response(unit) if !field.is_empty() => {
                self.response = Some(Span(time("response time", field, unit)?));
            }
            ColumnKind::Start(unit) => self.start = (whole("offset", field)?, unit),
            ColumnKind::Length(unit) => self.length = (whole("size", field)?, unit),
            ColumnKind::Op => self.op = word(field)?,
            ColumnKind::OpDigit => {
                self.op = RowRequest::Do(match field {
                    b"0" => Op::Read,
                    b"1" => Op::Write { fua: false },
                    _ => return Err(Fault::new(format!("operation '{}' is neither 0 nor 1", quote(field)))),
                });
            }
            ColumnKind::Device => {
                if field.is_empty() {
                    return Err(Fault::new("the device is missing"));
                }
                let begin = self.device.map_or(from, |(begin, _)| begin);
                let length = memchr::memchr(b',', &line[from..]).unwrap_or(line.len() - from);
                self.device = Some((begin, from + length));
            }
            ColumnKind::Response(_) | ColumnKind::Ignored => {}
        }
        Ok(())
    }

    fn request(self, line: &[u8], ledger: &mut ReadLedger) -> Result<ParsedLine, Fault> {
        let (at, unaligned) = extent(self.start.0, self.start.1, self.length.0, self.length.1)?;
        let counts = &mut ledger.counts;
        let (op, at) = match self.op {
            RowRequest::Do(Op::Flush) => (Op::Flush, Extent::default()),
            RowRequest::Do(op) if at.blocks > 0 => {
                counts.unaligned += u64::from(unaligned);
                (op, at)
            }
            RowRequest::Do(_) => {
                counts.empty += 1;
                return Ok(ParsedLine::Skipped);
            }
            RowRequest::Discard => {
                counts.discards_skipped += 1;
                return Ok(ParsedLine::Skipped);
            }
            RowRequest::Other => {
                counts.other_commands += 1;
                return Ok(ParsedLine::Skipped);
            }
        };
        let name = self.device.map_or(&b"0"[..], |(from, to)| line[from..to].trim_ascii());
        let device = ledger.devices.intern(name)?;
        Ok(ParsedLine::Request(TraceRecord { time: Time(self.time), device, op, at, response: self.response }))
    }
}

fn word(field: &[u8]) -> Result<RowRequest, Fault> {
    let is = |words: &[&str]| words.iter().any(|word| word.as_bytes().eq_ignore_ascii_case(field));
    Ok(if is(&["r", "read"]) {
        RowRequest::Do(Op::Read)
    } else if is(&["w", "write"]) {
        RowRequest::Do(Op::Write { fua: false })
    } else if is(&["f", "flush"]) {
        RowRequest::Do(Op::Flush)
    } else if is(&["d", "discard", "trim", "unmap"]) {
        RowRequest::Discard
    } else if field.is_empty() {
        RowRequest::Other
    } else {
        return Err(Fault::new(format!("operation '{}' is not read, write, flush or discard", quote(field))));
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{feed, read};
    use crate::format::{Format, ReadMethod, formats};

    fn table(format: Format) -> Option<&'static DelimitedTable> {
        if let Some(ReadMethod::Table(table)) = &format.0.read { Some(table) } else { None }
    }

    fn rows(name: &str, bytes: &[u8]) -> (Vec<TraceRecord>, ReadLedger) {
        let format: Format = name.parse().unwrap();
        let (records, ledger) = read(|_| Ok(reader(feed(bytes), format.name(), table(format).unwrap())));
        (records.unwrap(), ledger)
    }

    fn example(name: &str) -> &'static [u8] {
        name.parse::<Format>().unwrap().0.examples[0].bytes
    }

    /// The example of each table is the same: a read of blocks 8 to 15 and, two seconds later on another device where it
    /// has devices, a write of 100 to 102.
    #[test]
    fn every_table_reads_its_example_and_no_other() {
        for format in formats().filter(|format| table(*format).is_some()) {
            let (name, text) = (format.name(), example(format.name()));
            let (records, ledger) = rows(name, text);
            let seen: Vec<_> = records.iter().map(|record| (record.op, record.at)).collect();
            let write = Op::Write { fua: false };
            assert_eq!(seen, [(Op::Read, Extent::new(8, 8)), (write, Extent::new(100, 3))], "{name}");
            assert_eq!(records[1].time.0 - records[0].time.0, 2_000_000_000, "{name}");
            assert_eq!(ledger.counts.records, 2, "{name}");
            let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
            for other in formats().filter(|format| table(*format).is_some()) {
                let count = other.fitting(lines.iter().copied());
                assert_eq!(2 * count >= lines.len(), other == format, "{name} as {other}");
            }
        }
    }

    #[test]
    fn responses_and_devices_are_kept() {
        let (records, ledger) = rows("msr", example("msr"));
        assert_eq!(records[0].response, Some(Span(283_300)));
        assert_eq!(records[1].device.0, 1);
        assert_eq!(ledger.counts.remarks, 0);
        let (records, _) = rows("systor", example("systor"));
        assert_eq!((records[0].response, records[1].response), (Some(Span(6_475_000)), None));
    }

    #[test]
    fn csv_columns_come_in_any_order_with_units_in_their_names() {
        let (records, ledger) = rows(
            "csv",
            b"Blocks, lbn,comment,op,time_us,response_ms\n8,16,hi,Flush,1.5,\n4,100,,read,2,0.25\n0,1,,w,3,\n8,1,,trim,3,\n",
        );
        assert_eq!((records[0].op, records[0].time), (Op::Flush, Time(1500)));
        assert_eq!((records[1].at, records[1].response), (Extent::new(100, 4), Some(Span(250_000))));
        assert_eq!((ledger.counts.empty, ledger.counts.discards_skipped), (1, 1));
        let Some(TableHeader::Names(names)) = table("csv".parse().unwrap()).map(|table| table.header) else {
            panic!("csv")
        };
        assert!(columns(b"time,op,offset", names).is_err());
        assert!(columns(b"time,time_ms,op,offset,size", names).is_err());
        assert!(names.iter().all(|(name, column)| column_named(name.as_bytes(), names) == *column));
    }

    #[test]
    fn rows_that_are_not_whole_blocks_widen() {
        let (records, ledger) = rows("csv", b"time,op,offset,size\n0,r,1000,100\n");
        assert_eq!(records[0].at, Extent::new(1, 2));
        assert_eq!(ledger.counts.unaligned, 1);
    }
}
