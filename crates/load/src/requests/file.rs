//! Files of batches: Parquet, and Arrow's own (IPC, also called Feather), packed by zstd.

use arrow_array::RecordBatch;
use arrow_ipc::CompressionType;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{ArrowError, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use std::error::Error;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};

/// Rows of a group of Parquet's, at most; as many are packed in memory.
const GROUP_ROWS: usize = 1 << 18;

/// What kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchFormat {
    /// A file of Parquet.
    Parquet,
    /// Arrow IPC, as a file.
    Arrow,
}

impl BatchFormat {
    /// That of a name's ending, if it is one of theirs.
    #[must_use]
    pub fn of_ending(ending: &str) -> Option<BatchFormat> {
        match ending {
            "parquet" => Some(BatchFormat::Parquet),
            "arrow" | "feather" => Some(BatchFormat::Arrow),
            _ => None,
        }
    }
}

enum Packer {
    Parquet(Box<ArrowWriter<BufWriter<File>>>),
    Arrow(Box<FileWriter<BufWriter<File>>>),
}

/// A file that batches are written to.
pub struct BatchFile(Packer);

impl BatchFile {
    /// Begins one of a format.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn create(format: BatchFormat, schema: &SchemaRef, file: File) -> io::Result<BatchFile> {
        let out = BufWriter::new(file);
        Ok(BatchFile(match format {
            BatchFormat::Parquet => {
                let packed = Compression::ZSTD(ZstdLevel::default());
                let how =
                    WriterProperties::builder().set_compression(packed).set_max_row_group_row_count(Some(GROUP_ROWS));
                let writer = ArrowWriter::try_new(out, SchemaRef::clone(schema), Some(how.build()));
                Packer::Parquet(Box::new(writer.map_err(told_by_parquet)?))
            }
            BatchFormat::Arrow => {
                let writer = FileWriter::try_new_with_options(out, schema, pack_options()?);
                Packer::Arrow(Box::new(writer.map_err(told_by_arrow)?))
            }
        }))
    }

    /// Writes a batch of records behind those before it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        match &mut self.0 {
            Packer::Parquet(writer) => writer.write(batch).map_err(told_by_parquet),
            Packer::Arrow(writer) => writer.write(batch).map_err(told_by_arrow),
        }
    }

    /// Writes the end of it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn close(self) -> io::Result<()> {
        match self.0 {
            Packer::Parquet(writer) => writer.into_inner().map_err(told_by_parquet)?.flush(),
            Packer::Arrow(writer) => writer.into_inner().map_err(told_by_arrow)?.flush(),
        }
    }
}

/// Batches of one run, put aside until they are joined with those of others.
pub struct BatchStream(Box<StreamWriter<BufWriter<File>>>);

impl BatchStream {
    /// Begins a stream of batches with these columns.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn create(schema: &SchemaRef, file: File) -> io::Result<BatchStream> {
        let out = StreamWriter::try_new_with_options(BufWriter::new(file), schema, pack_options()?);
        out.map(|out| BatchStream(Box::new(out))).map_err(told_by_arrow)
    }

    /// Puts a batch aside.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        self.0.write(batch).map_err(told_by_arrow)
    }

    /// There are no more.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn close(self) -> io::Result<()> {
        self.0.into_inner().map_err(told_by_arrow)?.flush()
    }

    /// What was put aside, a batch at a time.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(file: File) -> io::Result<impl Iterator<Item = io::Result<RecordBatch>>> {
        let batches = StreamReader::try_new(BufReader::new(file), None).map_err(told_by_arrow)?;
        Ok(batches.map(|batch| batch.map_err(told_by_arrow)))
    }
}

fn pack_options() -> io::Result<IpcWriteOptions> {
    IpcWriteOptions::default().try_with_compression(Some(CompressionType::ZSTD)).map_err(told_by_arrow)
}

fn told_by_arrow(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, error) => error,
        ArrowError::ExternalError(inner) => unwrap_error(inner),
        other => io::Error::other(other),
    }
}

fn told_by_parquet(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => unwrap_error(inner),
        other => io::Error::other(other),
    }
}

/// What the output said, out of what wraps it.
fn unwrap_error(error: Box<dyn Error + Send + Sync>) -> io::Error {
    error.downcast::<io::Error>().map_or_else(io::Error::other, |error| *error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Int64Array, StringArray};
    use arrow_ipc::reader::FileReader;
    use arrow_schema::{DataType, Field, Schema};
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use parquet::record::RowAccessor;
    use std::sync::Arc;

    fn batches() -> (SchemaRef, Vec<RecordBatch>) {
        let schema =
            Schema::new(vec![Field::new("name", DataType::Utf8, false), Field::new("time_ns", DataType::Int64, false)]);
        let (schema, rows) = (Arc::new(schema), GROUP_ROWS as i64 / 3);
        let batch = |k: i64| {
            let names = StringArray::from_iter_values((0..rows).map(|i| format!("{}", i % 5)));
            let times = Int64Array::from_iter_values((0..rows).map(|i| k * rows + i));
            RecordBatch::try_new(SchemaRef::clone(&schema), vec![Arc::new(names), Arc::new(times)]).expect("a batch")
        };
        let batches = (0..4).map(batch).collect();
        (schema, batches)
    }

    fn write(name: &str, write: impl FnOnce(File)) -> File {
        let path = std::env::temp_dir().join(format!("halfturn-{}-{name}", std::process::id()));
        write(File::create(&path).expect("a file"));
        let file = File::open(&path).expect("it is there");
        std::fs::remove_file(&path).expect("it is ours");
        file
    }

    #[test]
    fn parquet_has_all_rows_in_groups_that_are_bounded() {
        let (schema, batches) = batches();
        let file = write("rows.parquet", |file| {
            let mut out = BatchFile::create(BatchFormat::Parquet, &schema, file).expect("a file");
            batches.iter().for_each(|batch| out.write(batch).expect("room"));
            out.close().expect("room");
        });
        let reader = SerializedFileReader::new(file).expect("Parquet");
        let groups = reader.metadata().row_groups().iter().map(|group| group.num_rows()).collect::<Vec<_>>();
        assert!(groups.len() == 2 && groups[0] == GROUP_ROWS as i64, "{groups:?}");
        let rows = batches[0].num_rows() as i64;
        let mut count = 0;
        for row in reader.get_row_iter(None).expect("rows") {
            let row = row.expect("a row");
            assert_eq!(row.get_long(1).expect("a number"), count);
            assert_eq!(row.get_string(0).expect("a word"), &format!("{}", count % rows % 5));
            count += 1;
        }
        assert_eq!(count, 4 * rows);
    }

    #[test]
    fn arrow_and_what_is_put_aside_have_the_batches_as_they_were() {
        let (schema, batches) = batches();
        let aside = write("rows.part", |file| {
            let mut out = BatchStream::create(&schema, file).expect("a file");
            batches.iter().for_each(|batch| out.write(batch).expect("room"));
            out.close().expect("room");
        });
        let file = write("rows.arrow", |file| {
            let mut out = BatchFile::create(BatchFormat::Arrow, &schema, file).expect("a file");
            BatchStream::read(aside)
                .expect("a stream")
                .for_each(|batch| out.write(&batch.expect("whole")).expect("room"));
            out.close().expect("room");
        });
        let read = FileReader::try_new(file, None).expect("Arrow").collect::<Result<Vec<_>, _>>().expect("whole");
        assert!(read == batches);
    }

    #[test]
    fn what_the_disk_says_is_what_is_told() {
        let (schema, batches) = batches();
        for format in [BatchFormat::Parquet, BatchFormat::Arrow] {
            let full = File::options().write(true).open("/dev/full").expect("Linux has it");
            let written = BatchFile::create(format, &schema, full)
                .and_then(|mut out| batches.iter().try_for_each(|batch| out.write(batch)).and_then(|()| out.close()));
            assert_eq!(written.expect_err("it is full").kind(), io::ErrorKind::StorageFull, "{format:?}");
        }
    }
}
