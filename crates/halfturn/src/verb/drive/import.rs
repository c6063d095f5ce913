//! `halfturn drive import`: a drive file from parameters of DiskSim's.

use crate::failure::{VerbFailure, print};
use crate::report;
use crate::verb::outputs::{Inputs, OutputFile};
use clap::Args;
use disk::disksim;
use std::path::PathBuf;

/// Convert DiskSim's parameter files into a drive file.
///
/// Reads .parv, .diskspecs and .model files of DiskSim 4.0, with the files they `source` and the seek files they name.
/// If the buses of a .parv are slower than the drive, the bus rate is used. Every parameter that is not modelled is
/// listed. `simulate` and `drive validate` take such a file directly as well.
#[derive(Args)]
#[command(after_help = "Examples:
  halfturn drive import atlas10k.parv
  halfturn drive import atlas10k.diskspecs -o atlas10k-file.toml
  halfturn drive import drives.parv --disk HP_C3323A -o c3323a.toml")]
pub struct ImportArgs {
    /// A .parv, .diskspecs or .model file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Write the drive into this file (TOML)
    #[arg(short, long, value_name = "DRIVE.toml")]
    output: Option<PathBuf>,
    /// The disk to import, if the file holds several
    #[arg(long, value_name = "NAME")]
    disk: Option<String>,
}

pub fn run(arguments: &ImportArgs) -> Result<(), VerbFailure> {
    let output = OutputFile::if_wanted(arguments.output.as_ref(), &mut Inputs::of([&arguments.file]))?;
    let import = disksim::load(&arguments.file, arguments.disk.as_deref())?;
    if let Some(output) = &output {
        output.write(import.text())?;
    }
    let written = arguments.output.as_ref().map(|path| path.display().to_string());
    print(&report::import_report(&import, written.as_deref()))
}
