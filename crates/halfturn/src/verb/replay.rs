//! `halfturn replay`: a recorded run, had again.

use super::Output;
use crate::failure::{Failure, print};
use crate::report;
use clap::Args;
use std::path::PathBuf;

/// Have a recorded run again, and see whether the core decides the same.
///
/// The core is made of the service file as it was when the run was recorded, and is fed with what happened then. Nothing is
/// served, and it takes no longer than deciding takes. The exit code is 1 if a decision differs.
#[derive(Args)]
#[command(after_help = "Example:
  halfturn serve --emulate st318437lw --size 2GiB --record run.log --run 'qemu-img info $uri'
  halfturn replay run.log")]
pub struct Replay {
    /// What `halfturn serve --record` wrote
    #[arg(value_name = "LOG")]
    log: PathBuf,
    /// `table` for people, `json` for programs
    #[arg(long, value_enum, default_value = "table")]
    format: Output,
}

pub fn run(arguments: &Replay) -> Result<(), Failure> {
    let replayed = live::replay(&arguments.log)?;
    print(&match arguments.format {
        Output::Json => super::json(&report::replayed_json(&replayed)),
        Output::Table => report::replayed(&replayed),
    })?;
    if replayed.differs.is_some() { Err(Failure::Mismatch) } else { Ok(()) }
}
