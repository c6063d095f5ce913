//! `halfturn drive show`: what a drive file says, and what follows from it.

use crate::failure::{VerbFailure, print};
use crate::report;
use clap::Args;

/// Show a drive's data sheet.
///
/// Geometry, zones and their rates, the seek curve, cache and overheads, and where each number is from. Rates are worked out by turning the platter, not from a formula. Numbers that no source prints are listed as assumed.
#[derive(Args)]
#[command(after_help = "Examples:\n  halfturn drive show st318437lw\n  halfturn drive show my-drive.toml")]
pub struct Show {
    /// A name `drive list` shows, or a drive file (TOML)
    #[arg(value_name = "NAME|FILE")]
    drive: String,
}

pub fn run(arguments: &Show) -> Result<(), VerbFailure> {
    print(&report::data_sheet(&disk::catalogue::model(&arguments.drive)?))
}
