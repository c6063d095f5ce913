//! Rows in memory, such as the record of each request, and given away as Arrow's stream: who reads it shares the memory.

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::SchemaRef;
use arrow_schema::ffi::FFI_ArrowSchema;
use block::BadInput;
use load::experiment::Case;
use load::requests::{BatchSchema, Batcher, Record, Records, name_simulated_device};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

/// The batches of each run, while they go on side by side.
pub struct GatheredBatches {
    schema: Arc<BatchSchema>,
    /// The number of each case's first replication among those of all.
    first: Vec<usize>,
    runs: Vec<Mutex<Vec<RecordBatch>>>,
}

impl GatheredBatches {
    /// Room for the records of these cases.
    pub fn of(cases: &[Case]) -> Arc<GatheredBatches> {
        let (mut first, mut all) = (Vec::new(), 0);
        for case in cases {
            first.push(all);
            all += case.experiment.run.replications as usize;
        }
        let runs = (0..all).map(|_| Mutex::default()).collect();
        Arc::new(GatheredBatches { schema: BatchSchema::of(cases, name_simulated_device), first, runs })
    }

    /// Where the records of a replication of a case go.
    pub fn open(self: &Arc<Self>, case: usize, replication: u32) -> Box<dyn Records> {
        let run = self.first[case] + replication as usize;
        Box::new(RunRecords { to: Arc::clone(self), run, rows: Batcher::new(&self.schema) })
    }

    /// All of them, in the order of the runs.
    pub fn table(&self) -> Table {
        let take = |run: &Mutex<Vec<_>>| mem::take(&mut *run.lock().unwrap_or_else(PoisonError::into_inner));
        Table { schema: self.schema.arrow(), batches: self.runs.iter().flat_map(take).collect() }
    }
}

/// The records of one run.
struct RunRecords {
    to: Arc<GatheredBatches>,
    run: usize,
    rows: Batcher,
}

impl RunRecords {
    fn keep(&self, batch: Option<RecordBatch>) {
        self.to.runs[self.run].lock().unwrap_or_else(PoisonError::into_inner).extend(batch);
    }
}

impl Records for RunRecords {
    fn put(&mut self, record: &Record) -> Result<(), BadInput> {
        let batch = self.rows.put(record)?;
        self.keep(batch);
        Ok(())
    }

    fn close(&mut self) -> Result<(), BadInput> {
        let batch = self.rows.take()?;
        self.keep(batch);
        Ok(())
    }
}

/// Rows that others read: of each request of a run, as docs/reference/requests.md has it, or of a trace.
#[pyclass(frozen, module = "halfturn._halfturn")]
pub struct Table {
    pub schema: SchemaRef,
    pub batches: Vec<RecordBatch>,
}

#[pymethods]
impl Table {
    /// How many there are.
    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// Their columns, to whoever speaks Arrow's C data interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref());
        let schema = schema.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The rows, in the same way; whatever other columns are asked for, these are given.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, SchemaRef::clone(&self.schema));
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }

    /// The names of the columns.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.schema.fields().iter().map(|field| field.name().as_str()))
    }
}
