//! `halfturn profile`.

use crate::failure::{Failure, print};
use crate::progress::Profiling;
use crate::report;
use block::{At, BadInput, Device};
use clap::Args;
use load::experiment::DriveChoice;
use profile::{Effort, Options, Outcome};
use sched::predict::mimic::{Learned, Probing};
use std::fs;
use std::path::PathBuf;

/// Learn a drive from nothing but the times of commands.
///
/// Finds out rotation, block map, heads and cylinders, seek curve, switches, overheads and read cache by reading, and
/// writes nothing to the device. What was found is a drive file that `simulate` takes as it is. At the end fresh
/// random reads are predicted and asked: how well they agree is how well the drive is known.
#[derive(Args)]
#[command(after_help = "Examples:
  halfturn profile simulated:st318437lw -o learned.toml
  halfturn profile simulated:atlas10k.parv --quick --report learned.html
  halfturn profile simulated:tape-lto5 --mimic -o tape.toml")]
pub struct Profile {
    /// `simulated:` and a name `drive list` shows, a drive file (TOML) or a DiskSim .parv, .diskspecs or .model
    #[arg(value_name = "DEVICE")]
    device: String,
    /// Write the drive into this file (TOML)
    #[arg(short, long, value_name = "DRIVE.toml")]
    output: Option<PathBuf>,
    /// In less time: seeks over one distance an octave instead of three; of a Mimic, a quarter of the distances
    #[arg(long)]
    quick: bool,
    /// Learn the times of distances instead, for `[scheduler.mimic] table`: of any device, disk or not
    #[arg(long)]
    mimic: bool,
    /// Also draw what was found, and predicted against observed times, on this page
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// The seed of what is asked, and of the simulated platter's phase and noise
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
}

/// Does it.
pub fn run(arguments: &Profile) -> Result<(), Failure> {
    let Some(name) = arguments.device.strip_prefix("simulated:") else {
        let what = "this version profiles simulated drives only";
        let mend = "write simulated:NAME, with a name `halfturn drive list` shows, or simulated:FILE";
        return Err(BadInput::new(arguments.device.clone(), At::File, what, mend).into());
    };
    let choice = DriveChoice { model: name.into(), noise: true, read_cache: true, write_buffer: true, queue: 1 };
    let mut device = sim::bench(&choice, arguments.seed)?;
    if arguments.mimic {
        return mimic(arguments, &mut *device);
    }
    let effort = if arguments.quick { Effort::Quick } else { Effort::Thorough };
    let options = Options { name: arguments.device.clone(), seed: arguments.seed, effort };
    let mut progress = Profiling::new("of the drive mapped");
    let found = profile::profile(&mut &mut *device, &options, &mut progress)?;
    progress.finish();
    if let (Outcome::Disk(known), Some(path)) = (&found.outcome, &arguments.output) {
        let text = disk::write(&known.plan(&options.name, found.blocks));
        fs::write(path, text).map_err(|error| Failure::unwritable(path, &error))?;
    }
    let written = arguments.output.as_ref().filter(|_| matches!(found.outcome, Outcome::Disk(_)));
    let text = report::profiled(&options.name, &found, written.map(|path| path.display().to_string()).as_deref());
    if let Some(path) = &arguments.report {
        let page = report::profile_page(&options.name, &found, &text);
        fs::write(path, page).map_err(|error| Failure::unwritable(path, &error))?;
    }
    print(&text)
}

/// Learns the times of distances.
fn mimic(arguments: &Profile, device: &mut dyn Device) -> Result<(), Failure> {
    if arguments.report.is_some() {
        let mend = "take --report or --mimic out";
        return Err(BadInput::new("--report", At::File, "there is no page of a Mimic", mend).into());
    }
    let usual = Probing::default();
    let most = if arguments.quick { usual.most / 4 } else { usual.most };
    let probing = Probing { seed: arguments.seed, most, ..usual };
    let progress = Profiling::new("of the distances");
    let learned = Learned::by_probing(device, &probing, &mut |done| progress.share(done));
    progress.finish();
    let written = match &arguments.output {
        Some(path) => {
            let text = load::learned::write(&learned, &arguments.device);
            fs::write(path, text).map_err(|error| Failure::unwritable(path, &error))?;
            Some(path.display().to_string())
        }
        None => None,
    };
    print(&report::mimicked(&arguments.device, &learned, written.as_deref()))
}
