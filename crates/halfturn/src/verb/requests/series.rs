//! `--series`: a file with what each run came to, interval by interval, written once all have ended.

use super::super::outputs::{Inputs, OutputFile, PendingFile};
use super::{refuse_unbuilt, unwritable};
use crate::failure::VerbFailure;
use block::{At, BadInput, Span, units};
use clap::Args;
use load::experiment::Case;
use load::series::{Every, SeriesBook, write_series_header, write_series_row};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// What `--series` asks for.
#[derive(Args)]
pub struct SeriesArgs {
    /// Also write what each run came to over time into this file, CSV, Parquet or Arrow by its ending: a row for each interval and
    /// class with requests, bytes, response times, queue length, busy share and what the arm's time went to, as
    /// docs/reference/series.md says
    #[arg(long, value_name = "FILE.csv|.parquet|.arrow")]
    series: Option<PathBuf>,
    /// How long its intervals are, e.g. 100ms [default: 1 ms, doubled until a run has at most 256]
    #[arg(long, value_name = "TIME", requires = "series")]
    series_every: Option<String>,
}

impl SeriesArgs {
    /// Begins the file, if one is wanted.
    ///
    /// # Errors
    /// When it cannot be written, or an interval is no time.
    pub fn begin(
        &self,
        inputs: &mut Inputs,
        cases: &[Case],
        replications: impl Fn(&Case) -> u32,
    ) -> Result<Option<SeriesFile>, VerbFailure> {
        let Some(name) = &self.series else { return Ok(None) };
        refuse_unbuilt(name)?;
        let every = self.series_every.as_deref().map_or(Ok(Every::Fitted), every)?;
        let draft = OutputFile::new(name, inputs)?.draft()?;
        Ok(Some(SeriesFile { name: name.clone(), draft, book: SeriesBook::of(cases, replications, every) }))
    }
}

fn every(text: &str) -> Result<Every, BadInput> {
    let bad = |what| BadInput::new("--series-every", At::File, what, "write a time, such as 100ms or 1s");
    match units::span(text).map_err(bad)? {
        Span::ZERO => Err(bad(format!("'{text}' is no time"))),
        span => Ok(Every::Span(span)),
    }
}

/// The file of the series of all runs, in the making.
pub struct SeriesFile {
    name: PathBuf,
    draft: PendingFile,
    pub book: SeriesBook,
}

impl SeriesFile {
    /// Writes the series of all runs, in their order.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn keep(self) -> Result<(), VerbFailure> {
        let SeriesFile { name, draft, book } = self;
        write(&name, &draft, &book).and_then(|()| draft.keep()).map_err(|error| unwritable(&name, &error).into())
    }
}

fn write(name: &Path, draft: &PendingFile, book: &SeriesBook) -> io::Result<()> {
    #[cfg(feature = "parquet")]
    if let Some(format) = super::batches::format(name) {
        use load::requests::BatchFile;
        use load::series::{series_batches, series_schema};
        let mut out = BatchFile::create(format, &series_schema(), draft.file()?)?;
        let batches = series_batches(book).map_err(io::Error::other)?;
        return batches.iter().try_for_each(|batch| out.write(batch)).and_then(|()| out.close());
    }
    let _ = name;
    let mut out = BufWriter::new(draft.file()?);
    write_series_header(&mut out)?;
    book.each_row(|row| write_series_row(row, &mut out))?;
    out.flush()
}
