//! `halfturn merge`: the shards of a sweep as the whole.

use super::dataset::DatasetArgs;
use super::outputs::Inputs;
use super::sweep::SweepFiles;
use crate::failure::{VerbFailure, print};
use clap::Args;
use load::points::{MergedRows, PointJournal, SweepFolder};
use std::fs;
use std::path::PathBuf;

/// Join the folders of a sweep's shards into one, as if it had been run whole.
///
/// The rows are the same, byte for byte; and the sweep may be gone on with in the new folder, with longer lists.
#[derive(Args)]
#[command(after_help = "Examples:
  halfturn merge part-1 part-2 part-3 -o whole")]
pub struct Merge {
    /// The folders of all shards
    #[arg(value_name = "DIR", required = true)]
    parts: Vec<PathBuf>,
    /// The folder to write
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    #[command(flatten)]
    dataset: DatasetArgs,
}

pub fn run(arguments: &Merge) -> Result<(), VerbFailure> {
    arguments.dataset.check(&[])?;
    let parts: Vec<SweepFolder> = arguments.parts.iter().map(|part| SweepFolder::of(part)).collect();
    let rows: Vec<PathBuf> = parts.iter().map(|part| part.rows.clone()).collect();
    let merged = MergedRows::open(&rows)?;
    let experiment = &parts[0].experiment;
    let read = parts.iter().flat_map(|part| [&part.rows, &part.journal, &part.experiment, &part.table]);
    let mut inputs = Inputs::of(read);
    let files = SweepFiles::new(&arguments.output, experiment, &mut inputs)?;
    let open = |part: &SweepFolder| part.journal.is_file().then(|| PointJournal::open(&part.journal)).transpose();
    let journals = parts.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let whole = PointJournal::open(&files.names.journal)?;
    for (hash, part) in merged.hashes() {
        let kept = journals[part].as_ref().map_or(Ok(()), |journal| whole.keep_from(journal, hash));
        kept.map_err(|error| VerbFailure::unwritable(&files.names.journal, &error))?;
    }
    if let Some(output) = &files.experiment {
        output.write(fs::read(experiment).map_err(|error| output.unwritable(&error))?)?;
    }
    files.rows.write_with(|out| merged.write(out))?;
    files.write_table()?;
    arguments.dataset.write(&files.names)?;
    print(&files.tell_rows(merged.count()))
}
