//! `halfturn replay`: a recorded run, had again.

use super::OutputFormat;
use crate::failure::{VerbFailure, print};
use crate::report;
use clap::Args;
use std::path::PathBuf;

/// Re-run a recorded log and check that the scheduler makes the same decisions.
///
/// The scheduler is built from the service file stored in the log and fed with the recorded inputs. Nothing is served,
/// and no time is waited for. The exit code is 1 if a decision differs.
#[derive(Args)]
#[command(after_help = "Example:
  halfturn serve --emulate st318437lw --size 2GiB --record run.log --run 'qemu-img info $uri'
  halfturn replay run.log")]
pub struct ReplayArgs {
    /// A log written by `halfturn serve --record`
    #[arg(value_name = "LOG")]
    log: PathBuf,
    /// `table` for people, `json` for programs
    #[arg(long, value_enum, default_value = "table")]
    format: OutputFormat,
}

pub fn run(arguments: &ReplayArgs) -> Result<(), VerbFailure> {
    let replayed = live::replay(&arguments.log)?;
    print(&match arguments.format {
        OutputFormat::Json => super::json(&report::replayed_json(&replayed)),
        OutputFormat::Table => report::replay_report(&replayed),
    })?;
    if replayed.differs.is_some() { Err(VerbFailure::Mismatch) } else { Ok(()) }
}
