//! `halfturn simulate`: an experiment file, or a sweep of them, in virtual time.

use super::outputs::{self, Inputs, OutputFile};
use super::requests::RequestsArgs;
use super::window::PageArgs;
use super::{OutputFormat, json};
use crate::failure::{VerbFailure, print};
use crate::progress::Simulating;
use crate::report;
use clap::Args;
use load::experiment::{self, Case, Kind};
use load::origin::{self, Program};
use load::requests::name_simulated_device;
use load::results::Results;
use load::series::{Every, SeriesBook};
use std::env;
use std::path::{Path, PathBuf};
use trace::Format;

/// So many runs are shown in a report, at most.
const MOST_SHOWN: usize = 12;

/// Run an experiment in virtual time and compare its runs.
///
/// An experiment is a TOML file: a drive, a scheduler and workloads. A list in place of a value (policy = ["fcfs",
/// "satf"]) gives one run for each of its values; several lists give one for each combination. All runs get the same
/// requests. The same file and seed print the same bytes, on any machine, whatever --threads is.
///
/// A job file of fio (`.fio`) is an experiment, too, on the drive that --drive names.
#[derive(Args)]
#[command(after_help = "Examples:
  halfturn simulate examples/first-look.toml
  halfturn simulate examples/first-look.toml --set scheduler.policy=[fcfs,asatf]
  halfturn simulate examples/closed-depths.toml --seed 7 --format json
  halfturn simulate examples/recorded-machine.toml --report machine.html --window 0s..1s")]
pub struct Simulate {
    /// The experiment file; `halfturn keys` lists what it may say
    #[arg(value_name = "EXPERIMENT.toml")]
    file: PathBuf,
    /// Change or add a value of the file, e.g. scheduler.policy=satf; a `[[workload]]` goes by its name or its number
    /// from 0. May be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
    /// The drive, in place of the file's: a name that `halfturn drive list` shows, or a drive file
    #[arg(long, value_name = "NAME|FILE")]
    drive: Option<String>,
    /// The seed of all random numbers, in place of `seed` in `[run]`
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// The format of every trace that the file names, in place of its `format`
    #[arg(long, value_name = "FORMAT")]
    trace_format: Option<String>,
    /// `table` for people, `json` for programs (schema 1, described in docs/reference/json.md)
    #[arg(long, value_enum, default_value = "table")]
    format: OutputFormat,
    /// Also write results.json, table.txt and everything needed to repeat the runs into this folder
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    #[command(flatten)]
    requests: RequestsArgs,
    #[command(flatten)]
    page: PageArgs,
    /// Threads to compute with [default: one for each core]; the results do not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

pub fn run(arguments: &Simulate) -> Result<(), VerbFailure> {
    let Simulate { file, seed, page, .. } = arguments;
    let mut sets = arguments.sets.clone();
    sets.extend(arguments.drive.as_deref().map(set_drive));
    let mut cases = experiment::load(file, &sets, *seed)?;
    if let Some(word) = &arguments.trace_format {
        sets.extend(formats(&cases, super::trace_format(word)?));
        cases = experiment::load(file, &sets, *seed)?;
    }
    if let Some(folder) = &arguments.output {
        outputs::make_folder(folder)?;
    }
    let mut inputs = Inputs::of_cases(file, &cases);
    let files = arguments.output.as_deref().map(|folder| output_files(folder, file, &mut inputs)).transpose()?;
    let written = page.output(&mut inputs)?;
    let replications = |case: &Case| case.experiment.run.replications;
    let recordings = arguments.requests.begin(&mut inputs, &cases, replications, name_simulated_device)?;
    let shown = if page.is_wanted() { cases.len().min(MOST_SHOWN) } else { 0 };
    let scope = page.scope(shown)?;
    let over_time = page.is_wanted().then(|| SeriesBook::of(&cases[..shown], |_| 1, Every::Fitted));
    let recordings = recordings.showing(over_time);
    let told = arguments.format == OutputFormat::Json || files.is_some();
    // Before the run, which reads them, too.
    let origins = if told { origin::origins(&cases) } else { Vec::new() };
    let portable = files.as_ref().map(|_| origin::portable(experiment::open(file)?, file, &sets, *seed)).transpose()?;
    let progress = Simulating::new(&cases);
    let pool = super::threads(arguments.threads)?;
    let opens = |case: usize, replication| recordings.open(case, &cases[case], replication);
    let results = pool.install(|| match recordings.is_any() {
        false => sim::simulate(&cases, &progress),
        true => sim::simulate_and_record(&cases, &progress, &opens),
    })?;
    let over_time = recordings.keep()?;
    let panoramas = pool.install(|| sim::panoramas(&cases[..shown], scope))?;
    progress.finish();
    let results = results.resting_on(origins);
    let (table, json) = (report::comparison(&cases, &results), json(&results));
    if let (Some(files), Some(experiment)) = (files, portable) {
        let texts = [&json, &table, &again(file, &sets, &cases, &results), &experiment];
        files.iter().zip(texts).try_for_each(|(output, text)| output.write(text))?;
    }
    let pictures: Vec<_> = cases.iter().zip(&panoramas).map(|(case, it)| report::panorama(case, it)).collect();
    let rest = cases.len() - shown;
    let more =
        if rest > 0 { format!("\n The first {shown} runs are shown below, {rest} are not.\n") } else { String::new() };
    let text = format!("{table}{more}");
    let summary = report::RunsSummary::of(&cases, &results).over_time(over_time.as_ref());
    written.map_or(Ok(()), |page| page.write(summary.title(), Some(&summary), &text, &pictures))?;
    print(if arguments.format == OutputFormat::Json { &json } else { &table })?;
    VerbFailure::unless_whole(&file.display().to_string(), &results)
}

/// The `--set` for a drive. A file is meant as the user sees it, not as the experiment's folder does.
pub fn set_drive(drive: &str) -> String {
    let path = Path::new(drive);
    let file = if path.is_file() { path.canonicalize().ok() } else { None };
    format!("drive.model={}", config::quote(&file.as_deref().unwrap_or(path).display().to_string()))
}

/// What `--output` writes. The experiment is left where that is the very file that is read.
fn output_files(folder: &Path, file: &Path, inputs: &mut Inputs) -> Result<Vec<OutputFile>, VerbFailure> {
    let mut names = vec!["results.json", "table.txt", "again.txt"];
    let copy = folder.join("experiment.toml");
    if copy.canonicalize().ok().is_none_or(|copy| file.canonicalize().ok() != Some(copy)) {
        names.push("experiment.toml");
    }
    names.into_iter().map(|name| OutputFile::new(&folder.join(name), inputs)).collect()
}

/// The `--set`s that give every trace of an experiment this format.
fn formats(cases: &[Case], format: Format) -> Vec<String> {
    let workloads = cases.iter().map(|case| &case.experiment.workloads).max_by_key(|workloads| workloads.len());
    let all = workloads.into_iter().flatten().enumerate();
    let traces = all.filter(|(_, workload)| matches!(workload.kind, Kind::Trace(_)));
    traces.map(|(index, _)| format!("workload.{index}.format=\"{format}\"")).collect()
}

/// What is needed to get these results again.
fn again(file: &Path, sets: &[String], cases: &[Case], results: &Results) -> String {
    let seed = cases.first().map_or(0, |case| case.experiment.run.seed);
    let Program { version, commit } = results.program;
    let commit = commit.map_or(String::new(), |commit| format!(", commit {commit}"));
    let mut text = format!("halfturn {version}{commit}\n\nhalfturn simulate {}", quote(&file.display().to_string()));
    for set in sets {
        text += &format!(" --set {}", quote(set));
    }
    let folder = env::current_dir().map_or_else(|_| "unknown".into(), |folder| folder.display().to_string());
    text += &format!(" --seed {seed}\n\nThe folder it was run in: {folder}\n\nexperiment.toml says the same ");
    text += "wherever this folder is: what was set is in it, and its files by their whole paths.\n";
    text += "Results are the same where these files are (SHA-256):\n";
    for origin in &results.inputs {
        let place = origin.path.as_ref().map_or_else(|| "of the catalogue".into(), |path| path.display().to_string());
        text += &format!("- {} {}, {} bytes, {place}\n", origin.sha256, origin.name, origin.bytes);
    }
    text += "\nRuns, in the order of results.json:\n";
    for case in cases {
        let labels: Vec<String> = case.labels.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        let labels = if labels.is_empty() { "as the file says".into() } else { labels.join(", ") };
        text += &format!("- {labels}; seed {}\n", case.experiment.run.seed);
    }
    text
}

/// A word as a shell takes it.
fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
