//! `--requests`: a file with a record of each request, of all runs in their order.
//!
//! Runs go on side by side. The first one's records go straight to the new file; those of each other to a file beside it until it is
//! their turn, so that memory does not grow with the number of requests.

use super::outputs::{Inputs, OutputFile, PendingFile};
use crate::failure::VerbFailure;
use block::{At, BadInput};
use load::experiment::Case;
use load::requests::{Record, Records, write_csv, write_csv_header};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The file of the records of all requests, in the making.
pub struct RecordsFile {
    name: PathBuf,
    draft: PendingFile,
    /// The number of each case's first replication among those of all cases.
    first: Vec<usize>,
    parts: PartFiles,
}

/// Where the records of each run but the first are until it is their turn.
struct PartFiles(Vec<PathBuf>);

impl Drop for PartFiles {
    fn drop(&mut self) {
        for part in &self.0 {
            // Those that were joined are gone.
            let _ = fs::remove_file(part);
        }
    }
}

impl RecordsFile {
    /// One of this name, if one is wanted, for a command that runs so many replications of each case and reads these inputs.
    ///
    /// # Errors
    /// When it cannot be written, or is to be of a kind that is not written.
    pub fn if_wanted(
        name: Option<&PathBuf>,
        inputs: &mut Inputs,
        replications: impl Iterator<Item = u32>,
    ) -> Result<Option<RecordsFile>, VerbFailure> {
        let Some(name) = name else { return Ok(None) };
        if let Some(end) = name.extension().filter(|end| ["parquet", "arrow", "feather"].iter().any(|it| *end == *it)) {
            let what = format!("records of requests are not written as {}", end.to_string_lossy());
            let mend = "name a file of comma-separated values: FILE.csv";
            return Err(BadInput::new(name.display().to_string(), At::File, what, mend).into());
        }
        let draft = OutputFile::new(name, inputs)?.draft()?;
        let (mut first, mut all) = (Vec::new(), 0);
        for count in replications {
            first.push(all);
            all += count as usize;
        }
        let parts = PartFiles((1..all).map(|number| draft.beside(number)).collect());
        let requests = RecordsFile { name: name.clone(), draft, first, parts };
        requests
            .file()
            .and_then(|mut file| write_csv_header(&mut file))
            .map_err(|error| requests.unwritable(&error))?;
        Ok(Some(requests))
    }

    /// The same, of all replications of these cases.
    ///
    /// # Errors
    /// The same.
    pub fn of_cases(
        name: Option<&PathBuf>,
        inputs: &mut Inputs,
        cases: &[Case],
    ) -> Result<Option<RecordsFile>, VerbFailure> {
        RecordsFile::if_wanted(name, inputs, cases.iter().map(|case| case.experiment.run.replications))
    }

    fn file(&self) -> io::Result<File> {
        self.draft.file()
    }

    fn unwritable(&self, error: &io::Error) -> BadInput {
        unwritable(&self.name, error)
    }

    /// Where the records of a replication of a case go.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn open(&self, case: usize, replication: u32) -> Result<Box<dyn Records>, BadInput> {
        let number = self.first[case] + replication as usize;
        let file = if number == 0 { self.file() } else { File::create_new(&self.parts.0[number - 1]) };
        let out = BufWriter::new(file.map_err(|error| self.unwritable(&error))?);
        Ok(Box::new(Csv { name: self.name.clone(), out }))
    }

    /// Joins what was written of all runs, in their order, and gives the file its name.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn keep(self) -> Result<(), VerbFailure> {
        let RecordsFile { name, draft, parts, .. } = self;
        let joined = draft.file().and_then(|mut whole| {
            for part in &parts.0 {
                io::copy(&mut File::open(part)?, &mut whole)?;
                fs::remove_file(part)?;
            }
            draft.keep()
        });
        joined.map_err(|error| unwritable(&name, &error).into())
    }
}

fn unwritable(name: &Path, error: &io::Error) -> BadInput {
    let what = format!("cannot be written: {error}");
    BadInput::new(name.display().to_string(), At::File, what, "name a folder you may write to, with room for it")
}

/// The records of one run, as comma-separated values.
struct Csv {
    name: PathBuf,
    out: BufWriter<File>,
}

impl Records for Csv {
    fn put(&mut self, record: &Record) -> Result<(), BadInput> {
        write_csv(record, &mut self.out).map_err(|error| unwritable(&self.name, &error))
    }

    fn close(&mut self) -> Result<(), BadInput> {
        self.out.flush().map_err(|error| unwritable(&self.name, &error))
    }
}
