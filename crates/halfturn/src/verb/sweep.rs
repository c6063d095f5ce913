//! `halfturn sweep`: an experiment with lists, point by point, so that what is done stays done.

use super::dataset::DatasetArgs;
use super::outputs::{self, Inputs, OutputFile};
use crate::failure::{VerbFailure, print};
use crate::progress::Simulating;
use crate::report::{self, RunsSummary};
use block::{At, BadInput};
use clap::Args;
use load::experiment;
use load::experiment::Case;
use load::origin;
use load::points::{PointJournal, Points, Shard, SweepFolder, write_csv};
use load::results::Results;
use sim::Unfinished;
use std::fs::File;
use std::io::{BufReader, IsTerminal};
use std::path::{Path, PathBuf};

/// Run a long sweep, and go on where it was interrupted.
///
/// An experiment whose lists give many runs, as under `simulate`, computed by the same code on all cores. Each run is kept as soon as
/// it has ended, in points.jsonl of the folder; when the sweep is started again, by the same command or with longer lists,
/// what has ended is not computed again. It is recognized by the experiment, the contents of drives and traces, and the version
/// of the program. At the end the folder has rows.jsonl and rows.csv: a row a run, with the whole experiment beside its results.
#[derive(Args)]
#[command(after_help = "Examples:
  halfturn sweep examples/closed-depths.toml -o depths --report depths.html
  halfturn sweep examples/closed-depths.toml -o depths --set workload.0.depth=[1,2,4,8,16,32,64]
  halfturn sweep big.toml -o part-$SLURM_ARRAY_TASK_ID --shard $SLURM_ARRAY_TASK_ID/16
  halfturn merge part-* -o whole
  halfturn sweep examples/fleet.toml -o fleet --dataset=model,policy")]
pub struct Sweep {
    /// The experiment file; each list in it is varied
    #[arg(value_name = "EXPERIMENT.toml")]
    file: PathBuf,
    /// The folder to keep runs in
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Change or add a value of the file, e.g. scheduler.policy=satf; a `[[workload]]` goes by its name or its number
    /// from 0. May be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
    /// The seed of all random numbers, in place of `seed` in `[run]`
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Run the I-th of N parts of the sweep, which together are the whole
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    #[command(flatten)]
    dataset: DatasetArgs,
    /// Also write a page into this file (HTML, opens offline): which run won, by how much and how sure that is, and figures that
    /// compare all runs, those that had ended before among them
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Threads to compute with [default: one for each core]; the results do not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

pub fn run(arguments: &Sweep) -> Result<(), VerbFailure> {
    let Sweep { file, output, sets, seed, shard, dataset, report, threads } = arguments;
    let document = experiment::open(file)?;
    let points = Points::of(document.clone(), file, sets, *seed)?;
    let points = match shard {
        Some(shard) => points.shard(*shard),
        None => points,
    };
    let cases: Vec<Case> = points.points.iter().map(|point| point.case.clone()).collect();
    dataset.check(&cases)?;
    let portable = origin::portable(document, file, sets, *seed)?;
    let mut inputs = Inputs::of_cases(file, &cases);
    let files = SweepFiles::new(output, file, &mut inputs)?;
    let page = OutputFile::if_wanted(report.as_ref(), &mut inputs)?;
    let journal = PointJournal::open(&files.names.journal)?;
    if let Some(experiment) = &files.experiment {
        experiment.write(portable)?;
    }
    let unfinished = Unfinished::of(&points, &journal);
    tell_what_is_done(points.points.len(), unfinished.cases.len());
    let progress = Simulating::new(&unfinished.cases);
    super::threads(*threads)?.install(|| sim::sweep(&unfinished, &journal, &progress))?;
    progress.finish();
    let mut broken = 0;
    files.rows.write_with(|out| {
        broken = points.write_rows(&journal, out)?;
        Ok(())
    })?;
    files.write_table()?;
    dataset.write(&files.names)?;
    if let Some(page) = page {
        let runs = points.read_runs(&journal).map_err(|error| page.unwritable(&error))?;
        let results = Results::new(runs);
        page.write(RunsSummary::of(&cases, &results).page(&report::comparison(&cases, &results)))?;
    }
    print(&files.tell_rows(points.points.len()))?;
    unless_whole(file, broken)
}

/// On a terminal only: it is not the same every time.
fn tell_what_is_done(all: usize, left: usize) {
    if left < all && std::io::stderr().is_terminal() {
        eprintln!("{} of {all} runs had ended before", all - left);
    }
}

/// An error where requests of so many runs never ended.
fn unless_whole(file: &Path, broken: usize) -> Result<(), VerbFailure> {
    if broken == 0 {
        return Ok(());
    }
    let what = format!("not whole: of {broken} runs some requests never ended, as `unfinished` of their rows tells");
    let mend = "do not believe their figures; give the drive and the load in a report of the fault";
    Err(VerbFailure::Undone(BadInput::new(file.display().to_string(), At::File, what, mend)))
}

/// What is written into the folder of a sweep.
pub struct SweepFiles {
    /// The names of its files.
    pub names: SweepFolder,
    /// The rows of all points.
    pub rows: OutputFile,
    table: OutputFile,
    /// The experiment; left alone where it is that of the folder that is read.
    pub experiment: Option<OutputFile>,
}

impl SweepFiles {
    /// Those of this folder, which is made if it is not there, for a sweep of this file.
    ///
    /// # Errors
    /// When one of them cannot be written.
    pub fn new(folder: &Path, file: &Path, inputs: &mut Inputs) -> Result<SweepFiles, VerbFailure> {
        outputs::make_folder(folder)?;
        let names = SweepFolder::of(folder);
        let is_read = names.experiment.canonicalize().ok().is_some_and(|copy| file.canonicalize().ok() == Some(copy));
        let experiment = if is_read { None } else { Some(OutputFile::new(&names.experiment, inputs)?) };
        let (rows, table) = (OutputFile::new(&names.rows, inputs)?, OutputFile::new(&names.table, inputs)?);
        Ok(SweepFiles { names, rows, table, experiment })
    }

    /// Writes the rows, which are there, as a table.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_table(&self) -> Result<(), VerbFailure> {
        let rows = File::open(&self.names.rows).map_err(|error| self.rows.unwritable(&error))?;
        self.table.write_with(|out| write_csv(&mut BufReader::new(rows), out))
    }

    /// What is said of so many rows.
    pub fn tell_rows(&self, count: usize) -> String {
        let runs = if count == 1 { "run" } else { "runs" };
        format!("{count} {runs}: {} {}\n", self.names.rows.display(), self.names.table.display())
    }
}
