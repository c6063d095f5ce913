//! `halfturn bench`: the workloads of an experiment, in real time.

use super::{Output, json};
use crate::failure::{Failure, print};
use crate::report;
use clap::Args;
use load::experiment;
use load::results::Results;
use std::path::PathBuf;

/// Run an experiment in real time, on the device its drive names.
///
/// The file is one that `simulate` takes, and so is the table; `path` in its `[drive]` says what serves: a file, a block
/// device, `ram:SIZE` or `emulated:NAME`. Without `path` the model is emulated. Its runs take as long as they say.
#[derive(Args)]
#[command(after_help = "Examples:
  halfturn bench examples/beside-a-stream.toml --set run.duration=10s
  halfturn bench examples/beside-a-stream.toml --time-scale 10")]
pub struct Bench {
    /// The experiment file
    #[arg(value_name = "CONFIG.toml")]
    file: PathBuf,
    /// Change or add a value of the file, e.g. scheduler.policy=satf
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
    /// Draw other random numbers; in place of `seed` in `[run]`
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// `table` for people, `json` for programs (schema 1, described in README.md)
    #[arg(long, value_enum, default_value = "table")]
    format: Output,
    /// Let the clock, and with it an emulated drive, run so many times as fast
    #[arg(long, value_name = "TIMES", default_value = "1", value_parser = super::scale)]
    time_scale: f64,
}

/// Does it.
pub fn run(arguments: &Bench) -> Result<(), Failure> {
    let cases = experiment::load(&arguments.file, &arguments.sets, arguments.seed)?;
    let mut runs = Vec::with_capacity(cases.len());
    let mut late = String::new();
    for case in &cases {
        let benched = live::bench(case, arguments.time_scale)?;
        let labels: Vec<String> = case.labels.iter().map(|(key, value)| format!("{key} = {value}: ")).collect();
        late += &report::lateness(&labels.concat(), &benched.lateness);
        runs.push(benched.run);
    }
    let results = Results { schema: 1, runs };
    match arguments.format {
        Output::Json => print(&json(&results)),
        Output::Table => print(&(report::comparison(&cases, &results) + &late)),
    }
}
