//! `halfturn drive import`: a drive file from parameters of DiskSim's.

use crate::failure::{Failure, print};
use crate::report;
use crate::verb::outputs::{Inputs, Output};
use clap::Args;
use disk::disksim;
use std::path::PathBuf;

/// Read a drive from DiskSim's parameter files and write it as a drive file of ours.
///
/// Reads .parv, .diskspecs and .model files of DiskSim 4.0, with the files they `source` and the seek files they name.
/// Where the buses of a .parv are slower than the drive, they set its pace. Every parameter that is there and not modelled
/// is listed. `simulate` and `drive validate` take such a file directly as well.
#[derive(Args)]
#[command(after_help = "Examples:
  halfturn drive import atlas10k.parv
  halfturn drive import atlas10k.diskspecs -o atlas10k-file.toml
  halfturn drive import drives.parv --disk HP_C3323A -o c3323a.toml")]
pub struct Import {
    /// A .parv, .diskspecs or .model file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Write the drive into this file (TOML)
    #[arg(short, long, value_name = "DRIVE.toml")]
    output: Option<PathBuf>,
    /// Which disk, where the file holds several
    #[arg(long, value_name = "NAME")]
    disk: Option<String>,
}

pub fn run(arguments: &Import) -> Result<(), Failure> {
    let output = Output::wanted(arguments.output.as_ref(), &mut Inputs::of([&arguments.file]))?;
    let import = disksim::load(&arguments.file, arguments.disk.as_deref())?;
    if let Some(output) = &output {
        output.write(import.text())?;
    }
    let written = arguments.output.as_ref().map(|path| path.display().to_string());
    print(&report::imported(&import, written.as_deref()))
}
