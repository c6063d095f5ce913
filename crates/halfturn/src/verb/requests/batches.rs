//! Records as Parquet and as Arrow's own files. Each run gathers batches of its own; those of the first go to the file as they come.

use super::{PartFiles, unwritable};
use block::BadInput;
use load::experiment::{Case, Experiment};
use load::requests::{BatchFile, BatchFormat, BatchSchema, BatchStream, Batcher, Record, Records};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The format of a file of this name, unless it is text.
pub fn format(name: &Path) -> Option<BatchFormat> {
    BatchFormat::of_ending(name.extension()?.to_str()?)
}

/// The file, while the first run or whoever joins all writes it.
type SharedFile = Arc<Mutex<Option<BatchFile>>>;

/// A file of batches in the making.
pub struct Batches {
    schema: Arc<BatchSchema>,
    file: SharedFile,
}

impl Batches {
    /// Begins one for these cases, at the devices that `device` names.
    pub fn begin(
        format: BatchFormat,
        file: File,
        cases: &[Case],
        device: impl Fn(&Experiment) -> String,
    ) -> io::Result<Batches> {
        let schema = BatchSchema::of(cases, device);
        let file = BatchFile::create(format, &schema.arrow(), file)?;
        Ok(Batches { schema, file: Arc::new(Mutex::new(Some(file))) })
    }

    /// Where the records of a run go: to a part of the file beside it, or to itself.
    pub fn open(&self, name: &Path, part: Option<&PathBuf>) -> io::Result<Box<dyn Records>> {
        let out = match part {
            None => RunOutput::File(Arc::clone(&self.file)),
            Some(part) => RunOutput::Part(Some(BatchStream::create(&self.schema.arrow(), File::create_new(part)?)?)),
        };
        Ok(Box::new(RunBatches { name: name.to_owned(), rows: Batcher::new(&self.schema), out }))
    }

    /// Adds the parts, in their order, and the end of the file.
    pub fn join(self, parts: &PartFiles) -> io::Result<()> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut file) = file else { return Ok(()) };
        parts.each(|part| BatchStream::read(File::open(part)?)?.try_for_each(|batch| file.write(&batch?)))?;
        file.close()
    }
}

/// Where batches of a run go.
enum RunOutput {
    File(SharedFile),
    Part(Option<BatchStream>),
}

/// The records of one run, as batches.
struct RunBatches {
    name: PathBuf,
    rows: Batcher,
    out: RunOutput,
}

impl RunBatches {
    fn write(&mut self, batch: &load::requests::RecordBatch) -> Result<(), BadInput> {
        let written = match &mut self.out {
            RunOutput::File(file) => {
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                file.as_mut().map_or(Ok(()), |file| file.write(batch))
            }
            RunOutput::Part(part) => part.as_mut().map_or(Ok(()), |part| part.write(batch)),
        };
        written.map_err(|error| unwritable(&self.name, &error))
    }
}

impl Records for RunBatches {
    fn put(&mut self, record: &Record) -> Result<(), BadInput> {
        self.rows.put(record)?.map_or(Ok(()), |batch| self.write(&batch))
    }

    fn close(&mut self) -> Result<(), BadInput> {
        if let Some(batch) = self.rows.take()? {
            self.write(&batch)?;
        }
        match &mut self.out {
            RunOutput::Part(part) => part.take().map_or(Ok(()), BatchStream::close),
            RunOutput::File(_) => Ok(()),
        }
        .map_err(|error| unwritable(&self.name, &error))
    }
}
