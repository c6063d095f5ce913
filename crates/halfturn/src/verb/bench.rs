//! `halfturn bench`: the workloads of an experiment, in real time.

use super::outputs::{Inputs, OutputFile};
use super::requests::RequestsArgs;
use super::{OutputFormat, json};
use crate::failure::{VerbFailure, print};
use crate::progress::Profiling as Progress;
use crate::report::{self, RunsSummary};
use block::{At, BadInput};
use clap::Args;
use load::experiment::{self, Experiment};
use load::requests::name_served_device;
use load::results::Results;
use nbd::{BadUri, Uri};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// What is asked of a server where no file says: reads of 4 KiB anywhere, one at a time, for ten seconds.
const USUAL: &str = "
title = \"Reads of 4 KiB anywhere, one at a time\"
[drive]
path = \"ram:1GiB\"
[scheduler]
policy = \"fcfs\"
[[workload]]
name = \"random reads of 4 KiB\"
kind = \"closed\"
depth = 1
size = \"4KiB\"
[run]
duration = \"10s\"
";

/// Run an experiment in real time, on the device its drive names or an NBD server.
///
/// Takes the same files as `simulate` and prints the same table. `path` in `[drive]` names the device: a file, a block
/// device, `ram:SIZE` or `emulated:NAME`. Without `path` the model is emulated. With a URI, the workloads run against
/// an NBD server: on the export that the URI names, or, if it names none and the file has volumes, on the export of
/// each volume's name. The server then does the scheduling, and writes change its data. A run takes as long as its file
/// says.
#[derive(Args)]
#[command(after_help = "Examples:
  halfturn bench examples/vm-disks.toml --set run.duration=10s
  halfturn bench examples/vm-disks.toml --time-scale 10 --report vm-disks.html
  halfturn bench 'nbd+unix:///?socket=/tmp/vm.sock' examples/vm-disks.toml
  halfturn bench nbd://localhost/desktop")]
pub struct BenchArgs {
    /// The experiment file; or the URI of a server, nbd://HOST:PORT/EXPORT or nbd+unix:///EXPORT?socket=PATH
    #[arg(value_name = "CONFIG.toml|URI")]
    of: String,
    /// With a URI: the experiment file [default: reads of 4 KiB anywhere, one at a time, for 10 s]
    #[arg(value_name = "CONFIG.toml")]
    file: Option<PathBuf>,
    /// Change or add a value of the file, e.g. scheduler.policy=satf
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
    /// The seed of all random numbers, in place of `seed` in `[run]`
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// `table` for people, `json` for programs (schema 1, described in docs/reference/json.md)
    #[arg(long, value_enum, default_value = "table")]
    format: OutputFormat,
    #[command(flatten)]
    requests: RequestsArgs,
    /// Also write a page into this file (HTML, opens offline): where runs are compared, which won, by how much and how sure that is,
    /// figures that compare them, and what is printed
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Run the clock, and an emulated drive with it, this many times as fast
    #[arg(long, value_name = "TIMES", default_value = "1", value_parser = super::scale)]
    time_scale: f64,
}

pub fn run(arguments: &BenchArgs) -> Result<(), VerbFailure> {
    let BenchArgs { of, file, sets, seed, time_scale, .. } = arguments;
    let uri = if of.contains("://") { Some(uri(of)?) } else { None };
    let cases = match (&uri, file) {
        (None, None) => experiment::load(Path::new(of), sets, *seed)?,
        (None, Some(_)) => {
            let mend = "give one experiment file, and before it only the URI of a server";
            return Err(BadInput::new(of.clone(), At::File, "this is no URI", mend).into());
        }
        (Some(_), Some(file)) => experiment::load(file, sets, *seed)?,
        (Some(_), None) => experiment::parse("halfturn bench", USUAL, sets, *seed)?,
    };
    if uri.is_some() && *time_scale != 1.0 {
        let mend = "take --time-scale out";
        return Err(BadInput::new("--time-scale", At::File, "the clock of a server is not to be had", mend).into());
    }
    let mut inputs = match file {
        Some(file) => Inputs::of_cases(file, &cases),
        None => Inputs::of_cases(Path::new(of), &cases),
    };
    let page = OutputFile::if_wanted(arguments.report.as_ref(), &mut inputs)?;
    let name = |it: &Experiment| uri.as_ref().map_or_else(|| name_served_device(it), live::place);
    let recordings = arguments.requests.begin(&mut inputs, &cases, |_| 1, name)?;
    let mut runs = Vec::with_capacity(cases.len());
    let mut unfinished = Vec::with_capacity(cases.len());
    let progress = Progress::new(match &uri {
        Some(_) => "of the runs asked of the server",
        None => "of the runs",
    });
    for (number, case) in cases.iter().enumerate() {
        let watch = |share: f64| progress.share((number as f64 + share) / cases.len() as f64);
        let records = recordings.open(number, case, 0)?;
        let mut benched = match &uri {
            Some(uri) => live::bench_far(case, uri, &watch, records)?,
            None => live::bench(case, *time_scale, &watch, records)?,
        };
        benched.run.notes.extend(report::lateness(&benched.lateness));
        unfinished.push(benched.unfinished);
        if benched.unfinished > 0 {
            let what = format!("{} requests had not ended when the device answered no more", benched.unfinished);
            benched.run.notes.push(what);
        }
        runs.push(benched.run);
    }
    progress.finish();
    recordings.keep()?;
    let results = Results::new(runs);
    if let Some(page) = page {
        page.write(RunsSummary::of(&cases, &results).page(&report::comparison(&cases, &results)))?;
    }
    match arguments.format {
        OutputFormat::Json if unfinished.iter().all(|left| *left == 0) => print(&json(&results))?,
        OutputFormat::Json => print(&json(&with_unfinished(&results, &unfinished)))?,
        OutputFormat::Table => print(&report::comparison(&cases, &results))?,
    }
    match unfinished.iter().sum::<u32>() {
        0 => Ok(()),
        left => Err(VerbFailure::Undone(BadInput::new(
            of.clone(),
            At::File,
            format!("{left} requests had not ended when the device answered no more"),
            "look what the kernel says of the device; the figures are of what had ended",
        ))),
    }
}

/// Results, and of each run that is not whole how many requests had not ended.
fn with_unfinished(results: &Results, unfinished: &[u32]) -> Value {
    let mut value = serde_json::to_value(results).expect("results are plain data");
    for (run, left) in unfinished.iter().enumerate().filter(|(_, left)| **left > 0) {
        value["runs"][run]["unfinished"] = (*left).into();
    }
    value
}

fn uri(text: &str) -> Result<Uri, BadInput> {
    text.parse().map_err(|bad: BadUri| BadInput::new(text, At::File, bad.what, bad.mend))
}
