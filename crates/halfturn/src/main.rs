//! The command line. One file a verb under `verb/`; what people read is written by `report/`.
//!
//! What a verb has to say goes to stdout, the same bytes every time; progress and wall time go to stderr, and only
//! to a terminal. Exit code 2 is for bad input, 1 for output that could not be
//! written and for published results that do not come out.

mod failure;
mod progress;
mod report;
mod verb;

use clap::{CommandFactory, Parser};
use std::process::ExitCode;
use verb::VerbArgs;

/// Simulate a hard disk under different I/O schedulers, from a recorded trace or a synthetic load.
///
/// Write down a drive, a scheduler and a load in a small TOML file; where a list stands instead of a value, every
/// value is tried, and the runs are compared in one table.
#[derive(Parser)]
#[command(
    name = "halfturn",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "Example:\n  halfturn simulate examples/first-look.toml"
)]
struct Arguments {
    #[command(subcommand)]
    verb: VerbArgs,
}

fn main() -> ExitCode {
    match verb::run(Arguments::parse().verb, Arguments::command()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
