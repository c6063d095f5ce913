//! The rows of a Parquet file, a row group after the other; as many as a batch has wait in memory.

use super::batch::{BatchColumn, ColumnUse, StoredValue};
use crate::columns::{ColumnKind, ColumnMap, check_table, column_named};
use crate::feed::TraceFeed;
use crate::lines::ParsedLine;
use crate::reader::{Fault, FormatReader, ReadLedger, TraceRecord};
use crate::table::ParsedRow;
use block::{At, BadInput, Op, Span};
use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use parquet::schema::types::SchemaDescriptor;
use std::fs::File;

/// Records read of each column at a time.
const BATCH: usize = 4096;

/// What is to be done about a file that is no Parquet, or damaged.
const DAMAGED: &str = "the file is damaged or was cut short: fetch it again, whole";

/// Opens a Parquet file, or what holds one.
pub(super) fn open(mut feed: TraceFeed, map: Option<&ColumnMap>) -> Result<Box<dyn FormatReader>, BadInput> {
    let name = feed.bad_file("", "").file;
    match feed.path().map(File::open) {
        Some(Ok(file)) => ParquetRows::open(name, file, map),
        // Its end tells where its columns are: what cannot be read in any order is read whole.
        Some(Err(_)) | None => ParquetRows::open(name, Bytes::from(feed.read_all()?), map),
    }
}

struct ParquetRows<R: ChunkReader> {
    name: String,
    file: SerializedFileReader<R>,
    columns: Vec<BatchColumn>,
    /// The row group that is read next, and rows still to be read of the one before.
    group: usize,
    unread: usize,
    /// Rows of the batch, and how many were handed out.
    batch: usize,
    taken: usize,
    /// Rows handed out of the file.
    rows: u64,
    device: Vec<u8>,
}

impl<R: ChunkReader + 'static> ParquetRows<R> {
    fn open(name: String, source: R, map: Option<&ColumnMap>) -> Result<Box<dyn FormatReader>, BadInput> {
        let bad = |fault: Fault| {
            let mend = if fault.mend.is_empty() { DAMAGED } else { fault.mend };
            BadInput::new(name.clone(), At::File, fault.what, mend)
        };
        let file = SerializedFileReader::new(source).map_err(|error| bad(Fault::new(say(&error))))?;
        let columns = columns(file.metadata().file_metadata().schema_descr(), map).map_err(bad)?;
        let rows =
            ParquetRows { name, file, columns, group: 0, unread: 0, batch: 0, taken: 0, rows: 0, device: Vec::new() };
        Ok(Box::new(rows))
    }

    /// Reads the next batch; false at the end of the file.
    fn refill(&mut self) -> Result<bool, ParquetError> {
        while self.unread == 0 {
            if self.group == self.file.num_row_groups() {
                return Ok(false);
            }
            let group = self.file.get_row_group(self.group)?;
            self.group += 1;
            self.unread = usize::try_from(group.metadata().num_rows())
                .map_err(|_| ParquetError::General("a row group has fewer rows than none".into()))?;
            for column in &mut self.columns {
                column.read_from(group.get_column_reader(column.index)?);
            }
        }
        self.batch = self.unread.min(BATCH);
        for column in &mut self.columns {
            column.fill(self.batch)?;
        }
        self.unread -= self.batch;
        self.taken = 0;
        Ok(true)
    }

    /// The next row of the batch.
    fn row(&mut self, ledger: &mut ReadLedger) -> Result<ParsedLine, Fault> {
        let (mut row, mut fua) = (ParsedRow::default(), false);
        self.device.clear();
        for column in &mut self.columns {
            let is_for = column.is_for;
            let cell = column.next();
            match is_for {
                ColumnUse::Fua => fua = matches!(cell, StoredValue::Truth(true) | StoredValue::Whole(1)),
                ColumnUse::Plain(ColumnKind::Time(unit)) => row.time = cell.time("time", unit)?,
                ColumnUse::Plain(ColumnKind::Response(unit)) => {
                    row.response = match cell {
                        StoredValue::Null => None,
                        cell => Some(Span(cell.time("response time", unit)?)),
                    };
                }
                ColumnUse::Plain(ColumnKind::Start(unit)) => row.start = (cell.whole("offset")?, unit),
                ColumnUse::Plain(ColumnKind::Length(unit)) => row.length = (cell.whole("size")?, unit),
                ColumnUse::Plain(ColumnKind::Op) => row.op = cell.request(ColumnKind::Op)?,
                ColumnUse::Plain(ColumnKind::OpDigit) => row.op = cell.request(ColumnKind::OpDigit)?,
                ColumnUse::Plain(ColumnKind::Device) => {
                    match cell {
                        StoredValue::Text(text) => self.device.extend_from_slice(text),
                        cell => self.device.extend_from_slice(cell.whole("device")?.to_string().as_bytes()),
                    }
                    row.device = Some((0, self.device.len()));
                }
                ColumnUse::Plain(ColumnKind::Ignored) => {}
            }
        }
        let parsed = row.request(&self.device, ledger)?;
        Ok(match parsed {
            ParsedLine::Request(TraceRecord { time, device, op: Op::Write { .. }, at, response }) => {
                ParsedLine::Request(TraceRecord { time, device, op: Op::Write { fua }, at, response })
            }
            other => other,
        })
    }
}

impl<R: ChunkReader + 'static> FormatReader for ParquetRows<R> {
    fn next(&mut self, ledger: &mut ReadLedger) -> Result<Option<TraceRecord>, BadInput> {
        loop {
            if self.taken == self.batch {
                match self.refill() {
                    Ok(true) => {}
                    Ok(false) => return Ok(None),
                    Err(error) => {
                        return Err(BadInput::new(self.name.clone(), At::Record(self.rows + 1), say(&error), DAMAGED));
                    }
                }
            }
            self.taken += 1;
            self.rows += 1;
            ledger.counts.records += 1;
            match self.row(ledger) {
                Ok(ParsedLine::Request(record)) => return Ok(Some(record)),
                Ok(ParsedLine::Skipped | ParsedLine::Remark) => {}
                Err(Fault { what, mend }) => {
                    let mend = if mend.is_empty() {
                        "correct this row, or leave it out, where the file was made"
                    } else {
                        mend
                    };
                    return Err(BadInput::new(self.name.clone(), At::Record(self.rows), what, mend));
                }
            }
        }
    }
}

/// The columns that are read, and what for.
fn columns(schema: &SchemaDescriptor, map: Option<&ColumnMap>) -> Result<Vec<BatchColumn>, Fault> {
    let names: Vec<String> = schema.columns().iter().map(|column| column.path().string()).collect();
    let kinds = match map {
        Some(map) => map.kinds(&names.iter().map(String::as_str).collect::<Vec<_>>())?,
        None => {
            let kinds: Vec<ColumnKind> = names.iter().map(|name| column_named(name.as_bytes())).collect();
            check_table(&kinds)?;
            kinds
        }
    };
    let uses = names.iter().zip(kinds).enumerate().filter_map(|(index, (name, kind))| match kind {
        ColumnKind::Ignored if map.is_none() && name == "fua" => Some((index, ColumnUse::Fua)),
        ColumnKind::Ignored => None,
        kind => Some((index, ColumnUse::Plain(kind))),
    });
    uses.map(|(index, is_for)| BatchColumn::new(index, &schema.column(index), is_for)).collect()
}

/// What the reader of Parquet says.
fn say(error: &ParquetError) -> String {
    let said = error.to_string();
    format!(
        "cannot be read as Parquet: {}",
        said.split_once(": ").map_or(&*said, |(_, what)| what).trim_end_matches('.')
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{feed, read};
    use parquet::basic::Compression;
    use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;
    use std::sync::Arc;

    /// Columns as others write them: a timestamp, a word that may be null, whole numbers with a sign, a fraction.
    fn foreign(packing: Compression, rows: i64) -> Vec<u8> {
        let schema = "message m { required int64 when (timestamp(micros, true)); optional binary what (utf8); \
                      required int64 offset; required int32 bytes; optional double took; required boolean extra; }";
        let properties = WriterProperties::builder().set_compression(packing).build();
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let mut bytes = Vec::new();
        let mut file = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties)).unwrap();
        for half in 0..2 {
            let (mut group, here) = (file.next_row_group().unwrap(), half * rows / 2..(half + 1) * rows / 2);
            let is_there = |row: i64| row % 5 != 0;
            let levels: Vec<i16> = here.clone().map(|row| i16::from(is_there(row))).collect();
            macro_rules! put {
                ($kind:ty, $values:expr, $levels:expr) => {{
                    let mut column = group.next_column().unwrap().unwrap();
                    column.typed::<$kind>().write_batch(&$values, $levels, None).unwrap();
                    column.close().unwrap();
                }};
            }
            put!(Int64Type, here.clone().map(|row| row * 7).collect::<Vec<_>>(), None);
            let words = here.clone().filter(|row| is_there(*row));
            put!(
                ByteArrayType,
                words.map(|row| ByteArray::from(["Read", "W"][row as usize % 2])).collect::<Vec<_>>(),
                Some(&levels)
            );
            put!(Int64Type, here.clone().map(|row| row * 4096).collect::<Vec<_>>(), None);
            put!(Int32Type, here.clone().map(|row| (row % 9 + 1) as i32 * 512).collect::<Vec<_>>(), None);
            put!(
                DoubleType,
                here.clone().filter(|row| is_there(*row)).map(|row| row as f64 / 8.0).collect::<Vec<_>>(),
                Some(&levels)
            );
            put!(BoolType, here.map(|_| true).collect::<Vec<_>>(), None);
            group.close().unwrap();
        }
        file.close().unwrap();
        bytes
    }

    fn mapped(bytes: &[u8], map: &str) -> (Result<Vec<TraceRecord>, BadInput>, ReadLedger) {
        read(|_| open(feed(bytes), Some(&map.parse().unwrap())))
    }

    const MAP: &str = "time=when,op=what,offset=offset,size=bytes,response_ms=took";

    #[test]
    fn tables_of_others_are_read_by_a_mapping_whatever_packs_them() {
        for packing in [
            Compression::UNCOMPRESSED,
            Compression::SNAPPY,
            Compression::LZ4_RAW,
            Compression::ZSTD(Default::default()),
        ] {
            let rows = 3 * BATCH as i64 + 10;
            let (records, ledger) = mapped(&foreign(packing, rows), MAP);
            let records = records.unwrap();
            let expected = (0..rows).filter(|row| row % 5 != 0);
            assert_eq!((ledger.counts.records, ledger.counts.other_commands), (rows as u64, rows as u64 / 5 + 1));
            assert!(records.iter().zip(expected.clone()).all(|(record, row)| {
                let op = if row % 2 == 0 { Op::Read } else { Op::Write { fua: false } };
                let at = block::Extent::new(row as u64 * 8, (row % 9 + 1) as u32);
                (record.time.0, record.op, record.at) == (row as u64 * 7000, op, at)
                    && record.response == Some(Span(row as u64 * 125_000))
            }));
            assert_eq!(records.len(), expected.count(), "{packing}");
        }
    }

    #[test]
    fn columns_that_are_not_there_or_say_nothing_are_named() {
        let bytes = foreign(Compression::UNCOMPRESSED, 10);
        let told = |map: &str| mapped(&bytes, map).0.unwrap_err().to_string();
        assert!(
            told("time=when,op=what,offset=offset,size=length")
                .contains("there is no column 'length'; the columns are when, what")
        );
        assert!(told("time=what,op=extra,offset=offset,size=bytes").contains("time is missing"));
        let told = read(|_| open(feed(&bytes), None)).0.unwrap_err();
        assert!(told.what.contains("the header names no column 'time'"), "{told}");
        let cut = mapped(&bytes[..bytes.len() - 9], MAP).0.unwrap_err();
        assert!(cut.what.starts_with("cannot be read as Parquet: "), "{cut}");
    }
}
