//! `halfturn advise`: what should be set, for a goal.

use super::outputs::{self, Inputs, OutputFile};
use super::{OutputFormat, json};
use crate::failure::{VerbFailure, print};
use crate::progress::Searching;
use crate::report::{self, RunsSummary};
use block::{At, BadInput};
use clap::Args;
use config::{Document, quote};
use load::experiment;
use load::goal::SettingGoal;
use load::tuning::{SearchSpace, Stack};
use sim::{AdviceFound, Unwatched};
use std::path::{Path, PathBuf};

/// Find what should be set in an experiment, or for a trace, to reach a goal.
///
/// Searches policies, rules of preemption, how long commands are and how many the drive is given, shares and floors of classes, and who
/// goes first: on the first half of the load, in about fifty runs of it. The other half is for a look at what was found beside what
/// the experiment has today, with an interval of the difference over eight parts: of a trace its second half, cut in eight; of what
/// is drawn, other draws. The same file and seed give the same advice.
///
/// A goal is a list with commas. Bounds come first: a time with <=, throughput with >=. What follows `then` decides among settings that
/// keep them. A measure is mean, p50, p95, p99, p999, max or throughput, of a class in brackets or of all requests.
///
/// With --stack it is advised for what people run today, in its own words: Linux's `mq-deadline`, `bfq`, `kyber` and `none`,
/// ZFS's queues, Ceph's mClock, the speeds at which md rebuilds, each simulated; and what Halfturn would add to the best of that.
#[derive(Args)]
#[command(after_help = "Examples:
  halfturn advise examples/first-look.toml --set drive.queue=1 --set scheduler.policy=fcfs --goal mean
  halfturn advise mail.toml --goal \"p99(interactive) <= 30ms, then throughput\" -o advised
  halfturn advise web.csv.gz --drive nl20 --goal \"p99 <= 50ms, then throughput\"
  halfturn advise mail.toml --stack linux --goal \"p99(interactive)\" --report advice.html")]
pub struct AdviseArgs {
    /// An experiment file (TOML), or a trace in any format that `halfturn trace --help` lists
    #[arg(value_name = "EXPERIMENT.toml|TRACE")]
    file: PathBuf,
    /// What is to be reached, such as "p99(interactive) <= 30ms, then throughput"
    #[arg(long, value_name = "GOAL")]
    goal: String,
    /// The drive, in place of the file's: a name that `halfturn drive list` shows, or a drive file
    #[arg(long, value_name = "NAME|FILE")]
    drive: Option<String>,
    /// Change or add a value of the file before the search. May be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
    /// The seed of all random numbers, of the search among them, in place of `seed` in `[run]`
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// What runs the disk today: linux, zfs, ceph or md
    #[arg(long, value_name = "STACK")]
    stack: Option<Stack>,
    /// `table` for people, `json` for programs (schema 1, described in docs/reference/json.md)
    #[arg(long, value_enum, default_value = "table")]
    format: OutputFormat,
    /// Also write a page into this file (HTML, opens offline), which compares the runs of the half that the search did not see
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Also write advised.toml, an experiment, and service.toml, which `halfturn serve` takes, into this folder
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Threads to compute with [default: one for each core]; the advice does not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

pub fn run(arguments: &AdviseArgs) -> Result<(), VerbFailure> {
    let AdviseArgs { file, goal, drive, sets, seed, output, .. } = arguments;
    let is_experiment = experiment::is_fio(file) || file.extension().is_some_and(|end| end == "toml");
    let (document, path) =
        if is_experiment { (experiment::open(file)?, file.clone()) } else { of_trace(file, drive.as_deref())? };
    let mut all = sets.clone();
    all.extend(drive.as_deref().filter(|_| is_experiment).map(super::simulate::set_drive));
    let space = SearchSpace::of(document, &path, &all, *seed)?;
    let goal = SettingGoal::parse(goal, &space.experiment.classes())?;
    let mut inputs = Inputs::of(space.experiment.files().iter().chain([file]));
    let files = output.as_deref().map(|folder| AdvisedFiles::new(folder, &mut inputs)).transpose()?;
    let page = OutputFile::if_wanted(arguments.report.as_ref(), &mut inputs)?;
    let progress = Searching::new();
    let pool = super::threads(arguments.threads)?;
    let found = pool.install(|| AdviceFound::of(space, &goal, arguments.stack, &progress))?;
    let mut text = report::advice(&found.figures);
    if let Some(page) = page {
        let cases = found.comparison()?;
        let results = pool.install(|| sim::simulate(&cases, &Unwatched))?;
        page.write(RunsSummary::of(&cases, &results).page(&text))?;
    }
    progress.finish();
    if let Some(files) = files {
        text += &files.write(&found)?;
    }
    print(&if arguments.format == OutputFormat::Json { json(&found.figures) } else { text })
}

/// The experiment that a trace stands for: open replay, in order of arrival, on this drive.
fn of_trace(file: &Path, drive: Option<&str>) -> Result<(Document, PathBuf), VerbFailure> {
    let name = file.display().to_string();
    let Some(drive) = drive else {
        let mend = "add --drive NAME; `halfturn drive list` shows names";
        return Err(BadInput::new(name, At::File, "a trace says nothing of a drive", mend).into());
    };
    if !file.is_file() {
        let mend = "name an experiment (.toml) or a trace that is there";
        return Err(BadInput::new(name, At::File, "there is no such file", mend).into());
    }
    let file_name = file.file_name().unwrap_or_default().to_string_lossy();
    let text = format!(
        "title = {}\n[drive]\n[scheduler]\npolicy = \"fcfs\"\n[[workload]]\nname = \"trace\"\nkind = \"trace\"\nfile = {}\n",
        quote(&format!("Replay of {file_name}")),
        quote(&file_name)
    );
    let mut document = Document::parse(&name, &text)?;
    document.set(&super::simulate::set_drive(drive))?;
    Ok((document, file.to_owned()))
}

/// The folder and the two files that the verb writes.
struct AdvisedFiles {
    folder: PathBuf,
    experiment: OutputFile,
    service: OutputFile,
}

impl AdvisedFiles {
    fn new(folder: &Path, inputs: &mut Inputs) -> Result<AdvisedFiles, VerbFailure> {
        outputs::make_folder(folder)?;
        let experiment = OutputFile::new(&folder.join("advised.toml"), inputs)?;
        let service = OutputFile::new(&folder.join("service.toml"), inputs)?;
        Ok(AdvisedFiles { folder: folder.to_owned(), experiment, service })
    }

    /// Writes both, and tells of it; no service where what is advised cannot be served.
    fn write(&self, found: &AdviceFound) -> Result<String, VerbFailure> {
        self.experiment.write(found.experiment()?)?;
        let folder = self.folder.display();
        let text = format!("\n {folder}/advised.toml: the experiment with what is advised\n");
        match found.service() {
            Ok(service) => {
                self.service.write(service)?;
                Ok(text
                    + &format!(
                        " {folder}/service.toml: the same as a service, on an emulated drive until `path` names yours\n"
                    ))
            }
            Err(error) => Ok(text + &format!(" no service.toml: {}\n", error.what)),
        }
    }
}
