//! Delimited traces as data, and the reader of them all. What columns may mean is [`ColumnKind`].

use std::borrow::Cow;

use block::{Extent, Op, Span, Time};

use crate::columns::{ColumnKind, ColumnMap, DELIMITERS, bare, check_table, column_named};
use crate::feed::TraceFeed;
use crate::lines::{LineParser, Lines, ParsedLine, wrong_columns};
use crate::number::{extent, quote, time, whole};
use crate::reader::{Fault, FormatReader, ReadLedger, TraceRecord};

/// What stands before the first row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TableHeader {
    /// No header: the first line is a row.
    None,
    /// This line, which may also be absent.
    Line(&'static str),
    /// Names of columns, by which each is told or else ignored; they replace the table's columns.
    Names,
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

/// Reads a trace whose columns are what the `map` says.
pub(crate) fn mapped_reader(feed: TraceFeed, map: ColumnMap) -> Box<dyn FormatReader> {
    static TABLE: DelimitedTable = DelimitedTable { header: TableHeader::Names, columns: &[], more: false };
    Box::new(Lines::new(feed, TableRows { map: Some(map), ..TableRows::new("the mapping", &TABLE) }))
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
    delimiter: u8,
    /// What a user says of the columns.
    map: Option<ColumnMap>,
    /// Whether a header may still come.
    first: bool,
}

impl TableRows {
    fn new(name: &'static str, table: &'static DelimitedTable) -> TableRows {
        TableRows { name, table, columns: Cow::Borrowed(table.columns), delimiter: b',', map: None, first: true }
    }

    /// Takes the first line for a header, if it is one.
    fn header(&mut self, line: &[u8]) -> Result<bool, Fault> {
        if let Some(map) = &self.map {
            let found = map.lay_out(line)?;
            (self.columns, self.delimiter) = (found.columns.into(), found.delimiter);
            return Ok(found.has_header);
        }
        match self.table.header {
            TableHeader::None => Ok(false),
            TableHeader::Line(header) => Ok(line.trim_ascii().eq_ignore_ascii_case(header.as_bytes())),
            TableHeader::Names => {
                let (columns, delimiter) = columns(line)?;
                (self.columns, self.delimiter) = (columns.into(), delimiter);
                Ok(true)
            }
        }
    }
}

/// The columns a header names, and what stands between them.
fn columns(header: &[u8]) -> Result<(Vec<ColumnKind>, u8), Fault> {
    let mut wrong = None;
    for delimiter in DELIMITERS {
        let columns: Vec<ColumnKind> = header.split(|byte| *byte == delimiter).map(column_named).collect();
        match check_table(&columns) {
            Ok(()) => return Ok((columns, delimiter)),
            Err(fault) => wrong = wrong.or(Some(fault)),
        }
    }
    Err(wrong.unwrap_or_else(|| wrong_columns(0, "those of a request")))
}

impl LineParser for TableRows {
    fn parse(&mut self, line: &[u8], ledger: &mut ReadLedger) -> Result<ParsedLine, Fault> {
        if std::mem::take(&mut self.first) && self.header(line)? {
            return Ok(ParsedLine::Remark);
        }
        let mut fields = RowFields::new(line, self.delimiter);
        let wrong = || {
            let found = RowFields::new(line, self.delimiter).count();
            wrong_columns(found, &format!("{} of {}", self.columns.len(), self.name))
        };
        let mut row = ParsedRow::default();
        for column in self.columns.iter() {
            row.take(*column, &fields.next().ok_or_else(wrong)?)?;
        }
        if !self.table.more && fields.next().is_some() {
            return Err(wrong());
        }
        row.request(line, ledger)
    }
}

/// The fields of a line.
pub(crate) struct RowFields<'a> {
    line: &'a [u8],
    delimiter: u8,
    at: usize,
}

/// A field without blanks and quotes around it, and which bytes of the line it has with them.
pub(crate) struct TableField<'a> {
    pub text: &'a [u8],
    from: usize,
    to: usize,
}

impl<'a> RowFields<'a> {
    /// The fields between such delimiters; several blanks are one.
    pub fn new(line: &'a [u8], delimiter: u8) -> RowFields<'a> {
        RowFields { line, delimiter, at: 0 }
    }
}

impl<'a> Iterator for RowFields<'a> {
    type Item = TableField<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<TableField<'a>> {
        if self.delimiter == b' ' {
            self.at += self.line.get(self.at..)?.iter().position(|byte| *byte != b' ')?;
        }
        let rest = self.line.get(self.at..)?;
        let text = &rest[..find(self.delimiter, rest)];
        let (from, to) = (self.at, self.at + text.len());
        self.at = to + 1;
        // Blanks and quotes are below all that a field of numbers begins or ends with.
        let is_bare = |byte: Option<&u8>| byte.is_some_and(|byte| *byte > b'"');
        Some(TableField {
            text: if is_bare(text.first()) && is_bare(text.last()) { text } else { bare(text) },
            from,
            to,
        })
    }
}

/// The place of the first such byte, or the end. Fields are of a few bytes: a search that prepares itself for long ones takes
/// longer.
#[inline(always)]
fn find(byte: u8, text: &[u8]) -> usize {
    const LOW: u64 = 0x0101_0101_0101_0101;
    let sought = LOW * u64::from(byte);
    let mut at = 0;
    while let Some(eight) = text[at..].first_chunk() {
        // The lowest byte of nought among eight is the one whose high bit a borrow sets first.
        let differ = u64::from_le_bytes(*eight) ^ sought;
        let found = differ.wrapping_sub(LOW) & !differ & (LOW << 7);
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    text[at..].iter().position(|other| *other == byte).map_or(text.len(), |beyond| at + beyond)
}

/// What a row says, as far as it was read.
#[derive(Default)]
pub(crate) struct ParsedRow {
    pub time: u64,
    pub op: RowRequest,
    pub start: (u64, u32),
    pub length: (u64, u32),
    /// Where in the line the device's name stands.
    pub device: Option<(usize, usize)>,
    pub response: Option<Span>,
}

/// What a row asks for.
#[derive(Default)]
pub(crate) enum RowRequest {
    Do(Op),
    Discard,
    #[default]
    Other,
}

impl ParsedRow {
    fn take(&mut self, column: ColumnKind, field: &TableField<'_>) -> Result<(), Fault> {
        let text = field.text;
        match column {
            ColumnKind::Time(unit) => self.time = time("time", text, unit)?,
            ColumnKind::Response(unit) if !text.is_empty() => {
                self.response = Some(Span(time("response time", text, unit)?));
            }
            ColumnKind::Start(unit) => self.start = (whole("offset", text)?, unit),
            ColumnKind::Length(unit) => self.length = (whole("size", text)?, unit),
            ColumnKind::Op => self.op = RowRequest::of_word(text)?,
            ColumnKind::OpDigit => self.op = RowRequest::of_digit(text)?,
            ColumnKind::Device => {
                if text.is_empty() {
                    return Err(Fault::new("the device is missing"));
                }
                let begin = self.device.map_or(field.from, |(begin, _)| begin);
                self.device = Some((begin, field.to));
            }
            ColumnKind::Response(_) | ColumnKind::Ignored => {}
        }
        Ok(())
    }

    /// The request of this row; the device's name stands in `line`.
    #[inline(always)]
    pub fn request(self, line: &[u8], ledger: &mut ReadLedger) -> Result<ParsedLine, Fault> {
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
        let name = self.device.map_or(&b"0"[..], |(from, to)| bare(&line[from..to]));
        let device = ledger.devices.intern(name)?;
        Ok(ParsedLine::Request(TraceRecord { time: Time(self.time), device, op, at, response: self.response }))
    }
}

impl RowRequest {
    /// What an operation's name asks for.
    #[inline(always)]
    pub fn of_word(field: &[u8]) -> Result<RowRequest, Fault> {
        let word = bare(field);
        let is = |words: &[&str]| words.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(word));
        Ok(if is(&["r", "read"]) {
            RowRequest::Do(Op::Read)
        } else if is(&["w", "write"]) {
            RowRequest::Do(Op::Write { fua: false })
        } else if is(&["f", "flush"]) {
            RowRequest::Do(Op::Flush)
        } else if is(&["d", "discard", "trim", "unmap"]) {
            RowRequest::Discard
        } else if word.is_empty() {
            RowRequest::Other
        } else {
            return Err(Fault::new(format!("operation '{}' is not read, write, flush or discard", quote(field))));
        })
    }

    /// What is asked for where a column says whether it is a write.
    pub fn of_digit(field: &[u8]) -> Result<RowRequest, Fault> {
        match bare(field) {
            b"0" => Ok(RowRequest::Do(Op::Read)),
            b"1" => Ok(RowRequest::Do(Op::Write { fua: false })),
            word if word.eq_ignore_ascii_case(b"false") => Ok(RowRequest::Do(Op::Read)),
            word if word.eq_ignore_ascii_case(b"true") => Ok(RowRequest::Do(Op::Write { fua: false })),
            _ => Err(Fault::new(format!("operation '{}' is neither 0 nor 1", quote(field)))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::NAMES;
    use crate::fixtures::{feed, read};
    use crate::format::{Format, ReadMethod, formats};

    fn table(format: Format) -> Option<&'static DelimitedTable> {
        if let ReadMethod::Table(table) = &format.0.read { Some(table) } else { None }
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
        assert!(columns(b"time,op,offset").is_err());
        assert!(columns(b"time,time_ms,op,offset,size").is_err());
        assert!(columns(b"time,op,is_write,offset,size").is_err(), "which of the two?");
        assert!(NAMES.iter().all(|(name, column)| column_named(name.as_bytes()) == *column));
    }

    #[test]
    fn columns_may_be_parted_by_other_than_commas() {
        for (text, delimiter) in
            [("time;op;lbn;blocks\n1,5;r;8;1\n", ';'), ("time\top\tlbn\tblocks\n1.5\tr\t8\t1\n", '\t')]
        {
            let text = text.replace("1,5", "1.5");
            let (records, _) = rows("csv", text.as_bytes());
            assert_eq!((records[0].time, records[0].at), (Time(1_500_000_000), Extent::new(8, 1)), "{delimiter:?}");
        }
    }

    #[test]
    fn quotes_may_stand_around_any_field() {
        let plain = "time,op,offset,size,device,response_ms\n0.5,read,4096,512,sda,7\n2.5,w,512,1024,sdb,\n";
        let quoted = |line: &str| line.split(',').map(|field| format!("\"{field}\"")).collect::<Vec<_>>().join(",");
        let quoted: Vec<String> = plain.lines().map(quoted).collect();
        let (wanted, _) = rows("csv", plain.as_bytes());
        let (records, mut ledger) = rows("csv", quoted.join("\r\n").as_bytes());
        assert_eq!(records, wanted);
        assert_eq!(ledger.devices.intern(b"sdb"), Ok(records[1].device));
    }

    /// As a look at each byte has it, wherever the byte stands, and beside whatever differs from it by little.
    #[test]
    fn a_field_ends_at_the_first_delimiter() {
        let mut state = 1u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        for step in 0..20_000 {
            let byte = [b',', b'\t', 0, 0x80, 0xFF][draw(5) as usize];
            let near = [byte, byte ^ 1, byte ^ 0x80, byte.wrapping_add(1), b'7', 0];
            let text: Vec<u8> =
                (0..draw(40)).map(|_| near[[0, 1, 2, 3, 4, 5, 4, 4, 4, 1, 2, 3][draw(12) as usize]]).collect();
            let first = text.iter().position(|other| *other == byte).unwrap_or(text.len());
            assert_eq!(find(byte, &text), first, "step {step}: {byte} in {text:?}");
        }
    }

    #[test]
    fn mapped_columns_are_read_and_no_others() {
        let read_mapped = |map: &str, text: &[u8]| {
            let (records, ledger) = read(|_| Ok(mapped_reader(feed(text), map.parse().unwrap())));
            (records.map_err(|error| error.to_string()), ledger)
        };
        let map = "time_ms=Stamp,op=IO Type,offset=Where,size=Bytes,device=Disk,response_us=Took";
        let text = b"Disk;Where;Bytes;op;IO Type;Stamp;Took\nsda;4096;512;x;\"Read\";2.5;70\n\nsdb;0;1024;y;W;3;\n";
        let (records, ledger) = read_mapped(map, text);
        let records = records.unwrap();
        assert_eq!((records[0].time, records[0].op, records[0].at), (Time(2_500_000), Op::Read, Extent::new(8, 1)));
        assert_eq!((records[0].response, records[1].response), (Some(Span(70_000)), None));
        assert_eq!((records[1].device.0, ledger.counts.remarks), (1, 1));
        let (records, _) = read_mapped("time_ns=4,is_write=1,lbn=2,blocks=3", b"false 8 1 7\n TRUE  9 2  8\n");
        let records = records.unwrap();
        assert_eq!((records[0].op, records[0].time), (Op::Read, Time(7)));
        assert_eq!((records[1].op, records[1].at), (Op::Write { fua: false }, Extent::new(9, 2)));
        let (wrong, _) = read_mapped("time=1,op=2,offset=3,size=4", b"1,r,0,512\n2,r,0\n");
        assert!(wrong.unwrap_err().contains("3 columns, not the 4 of the mapping"));
    }

    #[test]
    fn rows_that_are_not_whole_blocks_widen() {
        let (records, ledger) = rows("csv", b"time,op,offset,size\n0,r,1000,100\n");
        assert_eq!(records[0].at, Extent::new(1, 2));
        assert_eq!(ledger.counts.unaligned, 1);
    }
}
