//! Parquet: a row a request, every field of it in a column. Unsigned integers are marked as such; what reads them as
//! signed is right up to the year 2262.
//!
//! | column | type | |
//! |---|---|---|
//! | `time_ns` | uint64 | arrival, nanoseconds from the origin of the trace |
//! | `device` | string | |
//! | `op` | string | `read`, `write` or `flush` |
//! | `fua` | boolean | a write that must reach the medium (force unit access) |
//! | `lbn` | uint64 | the first block of 512 bytes; 0 of a flush |
//! | `blocks` | uint32 | how many; 0 of a flush |
//! | `response_ns` | uint64, optional | measured response time |

use std::io::{self, Write};
use std::sync::Arc;

use block::Op;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use crate::reader::TraceRecord;
use crate::write::{FormatWriter, Lost, Names};

/// Rows in a row group; as many wait in memory.
const GROUP: usize = 1 << 18;

const SCHEMA: &str = "message trace {
    required int64 time_ns (integer(64, false));
    required binary device (utf8);
    required binary op (utf8);
    required boolean fua;
    required int64 lbn (integer(64, false));
    required int32 blocks (integer(32, false));
    optional int64 response_ns (integer(64, false));
}";

pub(crate) struct Parquet<W: Write + Send> {
    file: SerializedFileWriter<W>,
    rows: RowGroup,
}

/// The columns of the row group being filled.
#[derive(Default)]
struct RowGroup {
    times: Vec<i64>,
    devices: Vec<ByteArray>,
    ops: Vec<ByteArray>,
    fua: Vec<bool>,
    lbns: Vec<i64>,
    blocks: Vec<i32>,
    /// Those there are, and for each row whether it has one.
    responses: Vec<i64>,
    has_response: Vec<i16>,
    /// The words for read, write and flush, and the name of each device, made once.
    words: [ByteArray; 3],
    names: Vec<Option<ByteArray>>,
}

impl<W: Write + Send> Parquet<W> {
    pub fn new(out: W) -> io::Result<Parquet<W>> {
        let schema = parse_message_type(SCHEMA).map_err(error)?;
        let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
        let file = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties)).map_err(error)?;
        Ok(Parquet {
            file,
            rows: RowGroup { words: ["read", "write", "flush"].map(ByteArray::from), ..RowGroup::default() },
        })
    }

    fn group(&mut self) -> io::Result<()> {
        let mut group = self.file.next_row_group().map_err(error)?;
        self.rows.write(&mut group).map_err(error)?;
        group.close().map_err(error)?;
        Ok(())
    }
}

impl<W: Write + Send> FormatWriter for Parquet<W> {
    fn put(&mut self, record: &TraceRecord, device: &str, _: &mut Lost) -> io::Result<()> {
        self.rows.take(record, device);
        if self.rows.times.len() < GROUP { Ok(()) } else { self.group() }
    }

    fn end(mut self: Box<Self>, _: &Names) -> io::Result<()> {
        if !self.rows.times.is_empty() {
            self.group()?;
        }
        self.file.close().map_err(error)?;
        Ok(())
    }
}

impl RowGroup {
    fn take(&mut self, record: &TraceRecord, device: &str) {
        let index = record.device.0 as usize;
        if index >= self.names.len() {
            self.names.resize(index + 1, None);
        }
        let device = self.names[index].get_or_insert_with(|| ByteArray::from(device.as_bytes().to_vec()));
        let [read, write, flush] = &self.words;
        let op = match record.op {
            Op::Read | Op::Repair => read,
            Op::Write { .. } | Op::Discard(_) | Op::Move => write,
            Op::Flush => flush,
        };
        self.devices.push(device.clone());
        self.ops.push(op.clone());
        self.times.push(record.time.0 as i64);
        self.fua.push(record.op == Op::Write { fua: true });
        self.lbns.push(record.at.start.0 as i64);
        self.blocks.push(record.at.blocks as i32);
        self.has_response.push(i16::from(record.response.is_some()));
        self.responses.extend(record.response.map(|response| response.0 as i64));
    }

    /// Writes the columns, in the order of the schema, and empties them.
    fn write<W: Write + Send>(&mut self, group: &mut SerializedRowGroupWriter<'_, W>) -> Result<(), ParquetError> {
        column::<Int64Type, W>(group, &mut self.times, None)?;
        column::<ByteArrayType, W>(group, &mut self.devices, None)?;
        column::<ByteArrayType, W>(group, &mut self.ops, None)?;
        column::<BoolType, W>(group, &mut self.fua, None)?;
        column::<Int64Type, W>(group, &mut self.lbns, None)?;
        column::<Int32Type, W>(group, &mut self.blocks, None)?;
        column::<Int64Type, W>(group, &mut self.responses, Some(&self.has_response))?;
        self.has_response.clear();
        Ok(())
    }
}

/// Writes the next column and empties it.
fn column<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &mut Vec<T::T>,
    present: Option<&[i16]>,
) -> Result<(), ParquetError> {
    if let Some(mut column) = group.next_column()? {
        column.typed::<T>().write_batch(values, present, None)?;
        column.close()?;
    }
    values.clear();
    Ok(())
}

/// What the output said, out of what wraps it.
fn error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::TraceDevice;
    use crate::write::round_trip::written;
    use block::{Extent, Span, Time};
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    #[test]
    fn every_field_reads_back_over_several_row_groups() {
        let record = |i: u64| {
            let op = [Op::Read, Op::Write { fua: false }, Op::Write { fua: true }, Op::Flush][i as usize % 4];
            let at = if op == Op::Flush { Extent::default() } else { Extent::new(i * i, i as u32 * 9 + 1) };
            let response = i.is_multiple_of(3).then_some(Span(u64::MAX - i));
            let record =
                TraceRecord { time: Time(u64::MAX - i), device: TraceDevice((i % 3) as u32), op, at, response };
            (record, format!("disk {}", i % 3))
        };
        let records: Vec<_> = (0..GROUP as u64 + 1000).map(record).collect();
        let (bytes, lost) = written("parquet", &records);
        let written = records.len() as u64;
        assert_eq!(lost, Lost { written, backward: written - 1, ..Lost::default() });
        let path = std::env::temp_dir().join(format!("halfturn-{}.parquet", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(reader.num_row_groups(), 2);
        let names: Vec<String> =
            reader.metadata().file_metadata().schema().get_fields().iter().map(|field| field.name().into()).collect();
        assert_eq!(names, ["time_ns", "device", "op", "fua", "lbn", "blocks", "response_ns"]);
        let mut rows = 0;
        for (row, (record, device)) in reader.get_row_iter(None).unwrap().zip(&records) {
            let row = row.unwrap();
            let op = match row.get_string(2).unwrap().as_str() {
                "read" => Op::Read,
                "write" => Op::Write { fua: row.get_bool(3).unwrap() },
                _ => Op::Flush,
            };
            let read = TraceRecord {
                time: Time(row.get_ulong(0).unwrap()),
                device: record.device,
                op,
                at: Extent::new(row.get_ulong(4).unwrap(), row.get_uint(5).unwrap()),
                response: row.get_ulong(6).ok().map(Span),
            };
            assert_eq!((read, row.get_string(1).unwrap()), (*record, device));
            rows += 1;
        }
        assert_eq!(rows, records.len());
    }
}
