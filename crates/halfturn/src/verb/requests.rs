//! `--requests`: a file with a record of each request, of all runs in their order; and `--series`, of what they came to over time.
//!
//! Runs go on side by side. The first one's records go straight to the new file; those of each other to a file beside it until it is
//! their turn, so that memory does not grow with the number of requests.

#[cfg(feature = "parquet")]
mod batches;
mod series;

use super::outputs::{Inputs, OutputFile, PendingFile};
use crate::failure::VerbFailure;
#[cfg(feature = "parquet")]
use batches::Batches;
use block::{At, BadInput};
use clap::Args;
use load::experiment::{Case, Experiment};
use load::requests::{Record, Records, write_csv, write_csv_header};
use load::series::SeriesBook;
use series::{SeriesArgs, SeriesFile};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The file of the records of all requests, in the making.
struct RecordsFile {
    name: PathBuf,
    draft: PendingFile,
    /// The number of each case's first replication among those of all cases.
    first: Vec<usize>,
    parts: PartFiles,
    format: RecordsFormat,
}

/// What `--requests` and `--series` ask for.
#[derive(Args)]
pub struct RequestsArgs {
    /// Also write a record of each request into this file, CSV, Parquet or Arrow by its ending: when it arrived, began and
    /// ended, what its time went to and what it waited for, in ns, as docs/reference/requests.md says
    #[arg(long, value_name = "FILE.csv|.parquet|.arrow")]
    requests: Option<PathBuf>,
    #[command(flatten)]
    series: SeriesArgs,
}

impl RequestsArgs {
    /// Begins what is wanted, for a command that runs so many replications of each case, reads these inputs, and asks the devices
    /// that `device` names.
    ///
    /// # Errors
    /// When it cannot be written, or not by this build.
    pub fn begin(
        &self,
        inputs: &mut Inputs,
        cases: &[Case],
        replications: impl Fn(&Case) -> u32 + Copy,
        device: impl Fn(&Experiment) -> String,
    ) -> Result<Recordings, VerbFailure> {
        let records = self.begin_records(inputs, cases, replications, device)?;
        Ok(Recordings { records, series: self.series.begin(inputs, cases, replications)?, shown: None })
    }

    fn begin_records(
        &self,
        inputs: &mut Inputs,
        cases: &[Case],
        replications: impl Fn(&Case) -> u32,
        device: impl Fn(&Experiment) -> String,
    ) -> Result<Option<RecordsFile>, VerbFailure> {
        let Some(name) = &self.requests else { return Ok(None) };
        refuse_unbuilt(name)?;
        let draft = OutputFile::new(name, inputs)?.draft()?;
        let (mut first, mut all) = (Vec::new(), 0);
        for case in cases {
            first.push(all);
            all += replications(case) as usize;
        }
        let parts = PartFiles((1..all).map(|number| draft.beside(number)).collect());
        let format = begin(name, &draft, cases, device).map_err(|error| unwritable(name, &error))?;
        Ok(Some(RecordsFile { name: name.clone(), draft, first, parts, format }))
    }
}

/// All that is put down of runs while they go on.
pub struct Recordings {
    records: Option<RecordsFile>,
    series: Option<SeriesFile>,
    /// The series that a page shows.
    shown: Option<SeriesBook>,
}

impl Recordings {
    /// The same, and also the series that a page shows.
    pub fn showing(self, shown: Option<SeriesBook>) -> Recordings {
        Recordings { shown, ..self }
    }

    /// Whether anything is to be recorded.
    pub fn is_any(&self) -> bool {
        self.records.is_some() || self.series.is_some() || self.shown.is_some()
    }

    /// Where what happens in a replication of the case of this number goes, if anywhere.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn open(&self, number: usize, case: &Case, replication: u32) -> Result<Option<Box<dyn Records>>, BadInput> {
        let mut all = self.records.as_ref().map(|file| file.open(number, replication)).transpose()?;
        for book in [self.series.as_ref().map(|file| &file.book), self.shown.as_ref()].into_iter().flatten() {
            all = book.open((number, case), replication, all);
        }
        Ok(all)
    }

    /// Writes what is left and gives the files their names; the series that a page shows.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn keep(self) -> Result<Option<SeriesBook>, VerbFailure> {
        self.records.map_or(Ok(()), RecordsFile::keep)?;
        self.series.map_or(Ok(()), SeriesFile::keep)?;
        Ok(self.shown)
    }
}

/// How records are written.
enum RecordsFormat {
    Csv,
    #[cfg(feature = "parquet")]
    Batches(Batches),
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
    /// Where the records of a replication of a case go.
    ///
    /// # Errors
    /// When they cannot be written.
    fn open(&self, case: usize, replication: u32) -> Result<Box<dyn Records>, BadInput> {
        let number = self.first[case] + replication as usize;
        let part = number.checked_sub(1).map(|number| &self.parts.0[number]);
        let opened = match &self.format {
            RecordsFormat::Csv => {
                let file = part.map_or_else(|| self.draft.file(), File::create_new);
                file.map(|file| {
                    Box::new(Csv { name: self.name.clone(), out: BufWriter::new(file) }) as Box<dyn Records>
                })
            }
            #[cfg(feature = "parquet")]
            RecordsFormat::Batches(batches) => batches.open(&self.name, part),
        };
        opened.map_err(|error| unwritable(&self.name, &error))
    }

    /// Joins what was written of all runs, in their order, and gives the file its name.
    ///
    /// # Errors
    /// When it cannot be written.
    fn keep(self) -> Result<(), VerbFailure> {
        let RecordsFile { name, draft, parts, format, .. } = self;
        let joined = match format {
            RecordsFormat::Csv => draft
                .file()
                .and_then(|mut whole| parts.each(|part| io::copy(&mut File::open(part)?, &mut whole).map(drop))),
            #[cfg(feature = "parquet")]
            RecordsFormat::Batches(batches) => batches.join(&parts),
        };
        joined.and_then(|()| draft.keep()).map_err(|error| unwritable(&name, &error).into())
    }
}

impl PartFiles {
    /// Takes each in its order, and removes it.
    fn each(&self, mut take: impl FnMut(&Path) -> io::Result<()>) -> io::Result<()> {
        self.0.iter().try_for_each(|part| take(part).and_then(|()| fs::remove_file(part)))
    }
}

/// Begins the file: what batches are like follows from the cases and the names of their devices.
fn begin(
    name: &Path,
    draft: &PendingFile,
    cases: &[Case],
    device: impl Fn(&Experiment) -> String,
) -> io::Result<RecordsFormat> {
    #[cfg(feature = "parquet")]
    if let Some(format) = batches::format(name) {
        return Batches::begin(format, draft.file()?, cases, device).map(RecordsFormat::Batches);
    }
    let _ = (name, cases, device);
    write_csv_header(&mut draft.file()?)?;
    Ok(RecordsFormat::Csv)
}

/// Whether a build without the feature would have to write what only one with it can.
fn refuse_unbuilt(name: &Path) -> Result<(), BadInput> {
    let ending = name.extension().unwrap_or_default();
    if cfg!(feature = "parquet") || !["parquet", "arrow", "feather"].iter().any(|it| ending == *it) {
        return Ok(());
    }
    let what = format!("this halfturn was built without files that end in .{}", ending.to_string_lossy());
    let mend = "name FILE.csv, or build it with cargo build --release -p halfturn --features parquet";
    Err(BadInput::new(name.display().to_string(), At::File, what, mend))
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
