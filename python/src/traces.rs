//! Traces as tables: a row for each request, in columns called as those of a trace in CSV, so that what was written is read again.

use crate::records::Table;
use crate::{refuse, work};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use block::{At, BadInput, Extent, Op, Span, Time};
use pyo3::prelude::*;
use std::fs::File;
use std::io::{self, Cursor};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use trace::write::{TraceWriter, WritableFormat};
use trace::{ColumnMap, Format, TraceDevice, TraceReader, TraceRecord};

/// Rows of a batch.
const BATCH_ROWS: usize = 1 << 16;

fn schema() -> SchemaRef {
    let field = |name: &str, kind: DataType, lacks: bool| Field::new(name, kind, lacks);
    Arc::new(Schema::new(vec![
        field("time_ns", DataType::Int64, false),
        field("op", DataType::Utf8, false),
        field("lbn", DataType::Int64, false),
        field("blocks", DataType::Int64, false),
        field("device", DataType::Utf8, false),
        field("response_ns", DataType::Int64, true),
    ]))
}

/// Rows that are not a batch yet.
#[derive(Default)]
struct Rows {
    times: Vec<i64>,
    ops: Vec<&'static str>,
    first: Vec<i64>,
    blocks: Vec<i64>,
    devices: Vec<String>,
    responses: Vec<Option<i64>>,
}

impl Rows {
    fn put(&mut self, record: &TraceRecord, device: &str) {
        self.times.push(record.time.0 as i64);
        self.ops.push(match record.op {
            Op::Read => "read",
            Op::Flush => "flush",
            _ => "write",
        });
        self.first.push(record.at.start.0 as i64);
        self.blocks.push(record.at.blocks.into());
        self.devices.push(device.to_owned());
        self.responses.push(record.response.map(|span| span.0 as i64));
    }

    fn batch(self, schema: &SchemaRef) -> RecordBatch {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from(self.times)),
            Arc::new(StringArray::from(self.ops)),
            Arc::new(Int64Array::from(self.first)),
            Arc::new(Int64Array::from(self.blocks)),
            Arc::new(StringArray::from(self.devices)),
            Arc::new(Int64Array::from(self.responses)),
        ];
        RecordBatch::try_new(SchemaRef::clone(schema), columns).expect("columns are as the schema has them")
    }
}

/// Where a trace is, and how it is read.
struct Source {
    path: PathBuf,
    /// The trace itself, where it is in no file.
    bytes: Option<Vec<u8>>,
    format: Option<String>,
    columns: Option<String>,
}

impl Source {
    fn open(self) -> Result<TraceReader, BadInput> {
        let Source { path, bytes, format, columns } = self;
        let bad =
            |what| BadInput::new("--trace-format", At::File, what, "or leave it out: the content shows the format");
        let format = format.map(|word| word.parse::<Format>()).transpose().map_err(bad)?;
        let mend =
            "such as --columns time_us=Timestamp,op=IOType,offset=4,size=Size; `halfturn trace --help` says more";
        let columns = columns.map(|words| words.parse::<ColumnMap>()).transpose();
        let columns = columns.map_err(|what| BadInput::new("--columns", At::File, what, mend))?;
        let name = path.display().to_string();
        match (bytes, columns) {
            (None, None) => trace::open(&path, format),
            (None, Some(columns)) => trace::open_mapped(&path, &columns),
            (Some(bytes), None) => trace::from_bytes(&name, Cursor::new(bytes), format),
            (Some(bytes), Some(columns)) => trace::from_mapped_bytes(&name, Cursor::new(bytes), &columns),
        }
    }
}

/// A trace as a table; of one device, if that is named.
#[pyfunction]
#[pyo3(signature = (path, bytes, format, columns, device))]
pub fn read_trace(
    py: Python,
    path: PathBuf,
    bytes: Option<Vec<u8>>,
    format: Option<String>,
    columns: Option<String>,
    device: Option<String>,
) -> PyResult<Table> {
    let name = path.display().to_string();
    let source = Source { path, bytes, format, columns };
    work(py, 1, None, |following| {
        let mut trace = source.open()?;
        let (schema, mut rows, mut batches) = (schema(), Rows::default(), Vec::new());
        let mut wanted = None;
        while let Some(record) = trace.next() {
            let record = record?;
            let its = trace.devices().get(record.device.0 as usize).map_or("", String::as_str);
            if device.as_deref() == Some(its) {
                wanted = Some(record.device);
            }
            if device.is_none() || wanted == Some(record.device) {
                rows.put(&record, its);
            }
            if rows.times.len() == BATCH_ROWS {
                batches.push(std::mem::take(&mut rows).batch(&schema));
                if following.stopped.load(Relaxed) {
                    break;
                }
            }
        }
        if let (Some(device), None) = (device, wanted) {
            let mend = format!("its devices are {}", trace.devices().join(", "));
            return Err(BadInput::new(name, At::File, format!("there are no requests to device '{device}'"), mend));
        }
        batches.extend((!rows.times.is_empty()).then(|| rows.batch(&schema)));
        Ok(Table { schema, batches })
    })
}

/// Writes a table that was read from a trace as a trace, as `halfturn trace convert` does; the requests that were written.
#[pyfunction]
#[pyo3(signature = (table, path, to))]
pub fn write_trace(py: Python, table: &Table, path: PathBuf, to: Option<&str>) -> PyResult<u64> {
    let target = WritableFormat::choose(&path, to).map_err(|error| refuse(py, error))?;
    let name = path.display().to_string();
    let unwritable = |error: io::Error| {
        let what = format!("cannot be written: {error}");
        BadInput::new(name.clone(), At::File, what, "name a folder you may write to")
    };
    work(py, 1, None, |_| {
        let writer = TraceWriter::new(target, File::create(&path).map_err(unwritable)?).map_err(unwritable)?;
        let mut writer = writer.ok_or_else(|| {
            let mend = "end it in another way, or use `halfturn trace convert` of a build with Parquet";
            BadInput::new(&name, At::File, "this halfturn was built without Parquet", mend)
        })?;
        each_record(&table.batches, |record, device| writer.put(&record, device)).map_err(unwritable)?;
        Ok(writer.finish().map_err(unwritable)?.written)
    })
}

/// The requests of a table, in their order, each with the name of its device.
fn each_record(batches: &[RecordBatch], mut take: impl FnMut(TraceRecord, &str) -> io::Result<()>) -> io::Result<()> {
    for batch in batches {
        let [times, first, blocks, responses] =
            [0, 2, 3, 5].map(|column| batch.column(column).as_primitive::<Int64Type>());
        let (ops, devices) = (batch.column(1).as_string::<i32>(), batch.column(4).as_string::<i32>());
        for row in 0..batch.num_rows() {
            let op = match ops.value(row) {
                "read" => Op::Read,
                "flush" => Op::Flush,
                _ => Op::Write { fua: false },
            };
            let record = TraceRecord {
                time: Time(times.value(row) as u64),
                device: TraceDevice::default(),
                op,
                at: Extent::new(first.value(row) as u64, blocks.value(row) as u32),
                response: responses.is_valid(row).then(|| Span(responses.value(row) as u64)),
            };
            take(record, devices.value(row))?;
        }
    }
    Ok(())
}
