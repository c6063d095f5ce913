//! `halfturn drive show`: what a drive file says, and what follows from it.

use crate::failure::{VerbFailure, print};
use crate::report;
use crate::verb::exported::{TargetSystem, tell};
use crate::verb::outputs::Inputs;
use clap::Args;
use std::path::PathBuf;

/// Show a drive's data sheet.
///
/// Geometry, zones and their rates, the seek curve, cache and overheads, and where each number is from. Rates are worked out by turning the platter, not from a formula. Numbers that no source prints are listed as assumed.
///
/// With --for, the settings that another system needs of the drive instead, each figure with its interval: what a host gets
/// of it, in virtual time. Of a profile that is what was learned, of the catalogue the data sheet.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  halfturn drive show st318437lw\n  halfturn drive show my-drive.toml\n  halfturn drive show nl20 --for iocost\n  halfturn drive show nl20 --for disksim -o nl20.parv"
)]
pub struct Show {
    /// A name `drive list` shows, or a drive file (TOML)
    #[arg(value_name = "NAME|FILE")]
    drive: String,
    /// Print the settings of another system for this drive
    #[arg(long = "for", value_name = "SYSTEM", value_enum)]
    system: Option<TargetSystem>,
    /// Write them into this file
    #[arg(short, long, value_name = "FILE", requires = "system")]
    output: Option<PathBuf>,
}

pub fn run(arguments: &Show) -> Result<(), VerbFailure> {
    match arguments.system {
        Some(system) => {
            let mut inputs = Inputs::of([&arguments.drive]);
            tell(&arguments.drive, system, arguments.output.as_deref(), &mut inputs)
        }
        None => print(&report::data_sheet(&disk::catalogue::model(&arguments.drive)?)),
    }
}
