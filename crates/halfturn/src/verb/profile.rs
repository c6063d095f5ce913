//! `halfturn profile`: learns a disk from the times of its commands.

use super::outputs::{Inputs, Output};
use crate::failure::{Failure, print};
use crate::progress::Profiling;
use crate::report;
use block::{At, BadInput, Device};
use clap::Args;
use load::experiment::DriveChoice;
use profile::journal::{Journal, Past, Recorder};
use profile::{Effort, Options, Outcome, Profile as Found, Scratch};
use sched::predict::mimic::{Learned, Probing};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How old what is kept of a profile under way may be.
const KEPT_EVERY: Duration = Duration::from_secs(5);

/// Learn a drive from nothing but the times of commands.
///
/// Finds out rotation, block map, heads and cylinders, seek curve, switches, overheads and read cache by reading, and
/// writes nothing to the device unless --scratch says where it may. What was found is a drive file that `simulate` takes
/// as it is. At the end fresh random reads are predicted and asked: how well they agree is how well the drive is known.
/// With -o, what was answered so far is kept in DRIVE.toml.partial; the same command line goes on from there.
#[derive(Args)]
#[command(after_help = "Examples:
  halfturn profile simulated:st318437lw -o learned.toml
  halfturn profile simulated:atlas10k.parv --quick --report learned.html
  halfturn profile simulated:wd400bb --scratch 10GiB+1GiB -o learned.toml
  halfturn profile simulated:tape-lto5 --mimic -o tape.toml
  halfturn profile /dev/sdX -o mine.toml")]
pub struct Profile {
    /// A file or a block device that nobody uses; or `simulated:` (in virtual time) or `emulated:` (in real time) and a name
    /// `drive list` shows, a drive file (TOML) or a DiskSim .parv, .diskspecs or .model
    #[arg(value_name = "DEVICE")]
    device: String,
    /// Write the drive into this file (TOML)
    #[arg(short, long, value_name = "DRIVE.toml")]
    output: Option<PathBuf>,
    /// In less time (5 min): seeks over one distance an octave instead of three, so that the curve between may be off by
    /// more than 0.1 ms; late ones not looked for; each size of chunks run once instead of three times; three minutes for
    /// the map, and what is not mapped by then taken to go on as before. Of a Mimic, a quarter of the distances
    #[arg(long)]
    quick: bool,
    /// Learn the times of distances instead, for `[scheduler.mimic] table`: of any device, disk or not
    #[arg(long)]
    mimic: bool,
    /// Also write, and only here, e.g. 100GiB+1GiB: what writing takes, and the write buffer. What is there is lost
    #[arg(long, value_name = "OFFSET+LENGTH")]
    scratch: Option<String>,
    /// Also draw what was found, and predicted against observed times, on this page
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Let the clock of an emulated drive run so many times as fast, which makes the host so many times as late
    #[arg(long, value_name = "TIMES", default_value = "1", value_parser = super::scale)]
    time_scale: f64,
    /// The seed of what is asked, and of the simulated platter's phase and noise
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
}

pub fn run(arguments: &Profile) -> Result<(), Failure> {
    let name = arguments.device.as_str();
    let name = ["simulated:", "emulated:"].iter().find_map(|kind| name.strip_prefix(kind)).unwrap_or(name);
    let mut inputs = Inputs::of([name]);
    let output = Output::wanted(arguments.output.as_ref(), &mut inputs)?;
    let page = Output::wanted(arguments.report.as_ref(), &mut inputs)?;
    if arguments.mimic {
        return mimic(arguments, output);
    }
    let (mut device, past) = device(arguments)?;
    let effort = if arguments.quick { Effort::Quick } else { Effort::Thorough };
    let bad = |what| BadInput::new("--scratch", At::File, what, "a size has a unit: B, kB, KiB, MB, MiB, GB, GiB ...");
    let scratch = arguments.scratch.as_deref().map(Scratch::parse).transpose().map_err(bad)?;
    let options = Options { name: arguments.device.clone(), seed: arguments.seed, effort, scratch };
    let title = options.title(device.caps());
    let state = arguments.output.as_deref().map(|path| State::new(path, &title, &mut inputs)).transpose()?;
    let mut progress = Profiling::new("of the drive mapped");
    let found = match &state {
        Some(state) => state.go_on(&mut *device, past, &options, &mut progress)?,
        None => profile::profile(&mut &mut *device, &options, &mut progress)?,
    };
    progress.finish();
    if let (Outcome::Disk(known), Some(output)) = (&found.outcome, &output) {
        output.write(disk::write(&known.plan(&options.name, found.blocks)))?;
    }
    if let Some(state) = state {
        state.done()?;
    }
    let written = arguments.output.as_ref().filter(|_| matches!(found.outcome, Outcome::Disk(_)));
    let text = report::profiled(&options.name, &found, written.map(|path| path.display().to_string()).as_deref());
    if let Some(page) = page {
        page.write(report::profile_page(&options.name, &found, &text))?;
    }
    print(&text)
}

/// What is profiled, and what becomes of answers it gave before: a simulated drive in virtual time lives through them again, an
/// emulated or a real one has gone on in real time.
fn device(arguments: &Profile) -> Result<(Box<dyn Device>, Past), BadInput> {
    match arguments.device.strip_prefix("simulated:") {
        Some(name) => Ok((sim::bench(&choice(name, arguments)?, arguments.seed)?, Past::Again)),
        None => Ok((in_real_time(arguments)?, Past::Over)),
    }
}

/// A model, with the queue that is wanted.
fn choice(name: &str, arguments: &Profile) -> Result<DriveChoice, BadInput> {
    // A Mimic learns what one command after another takes.
    let queue = if arguments.mimic { 1 } else { disk::catalogue::model(name)?.depth() };
    Ok(DriveChoice::plain(name, queue))
}

#[cfg(feature = "linux")]
fn in_real_time(arguments: &Profile) -> Result<Box<dyn Device>, BadInput> {
    let name = arguments.device.as_str();
    Ok(Box::new(match name.strip_prefix("emulated:") {
        Some(name) => live::emulated(&choice(name, arguments)?, arguments.seed, arguments.time_scale)?,
        None => live::opened(Path::new(name), arguments.scratch.is_some())?,
    }))
}

#[cfg(not(feature = "linux"))]
fn in_real_time(arguments: &Profile) -> Result<Box<dyn Device>, BadInput> {
    let what = "this halfturn was built without what asks a device in real time";
    let mend = "build it with `--features linux`, or name `simulated:` and a drive";
    Err(BadInput::new(&arguments.device, At::File, what, mend))
}

/// The journal of a profile under way, beside the drive file it will end as.
struct State {
    path: PathBuf,
    file: Output,
    journal: Journal,
}

impl State {
    /// What was kept beside a drive file of this title, or nothing yet.
    fn new(output: &Path, title: &str, inputs: &mut Inputs) -> Result<State, Failure> {
        let mut path = output.as_os_str().to_owned();
        path.push(".partial");
        let path = PathBuf::from(path);
        let file = path.display().to_string();
        let journal = match fs::read(&path) {
            Ok(bytes) => Journal::parse(&file, title, &bytes)?,
            Err(error) if error.kind() == ErrorKind::NotFound => Journal::new(&file, title),
            Err(error) => {
                let what = format!("cannot be read: {error}");
                return Err(BadInput::new(file, At::File, what, "make it readable, or delete it to begin anew").into());
            }
        };
        let output = Output::new(&path, inputs)?;
        Ok(State { path, file: output, journal })
    }

    /// Profiles from where the journal ends, and keeps it now and then, and when the device is lost.
    fn go_on(
        &self,
        device: &mut dyn Device,
        past: Past,
        options: &Options,
        watch: &mut Profiling,
    ) -> Result<Found, Failure> {
        let (mut last, mut failed) = (Instant::now(), None);
        let mut keep = |journal: &Journal| {
            if last.elapsed() >= KEPT_EVERY {
                failed = failed.take().or(self.write(journal).err());
                last = Instant::now();
            }
        };
        let mut recorder = Recorder::new(device, self.journal.clone(), past, &mut keep);
        let found = profile::profile(&mut recorder, options, watch);
        let (journal, fault) = recorder.end();
        if let Some(fault) = fault {
            return Err(fault.into());
        }
        if found.is_err() {
            self.write(&journal)?;
        }
        failed.map_or(Ok(()), Err)?;
        Ok(found?)
    }

    /// Keeps a journal: whole, or as it was before.
    fn write(&self, journal: &Journal) -> Result<(), Failure> {
        self.file.write(journal.bytes())
    }

    fn done(self) -> Result<(), Failure> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(Failure::unwritable(&self.path, &error)),
            _ => Ok(()),
        }
    }
}

/// Learns the times of distances.
fn mimic(arguments: &Profile, output: Option<Output>) -> Result<(), Failure> {
    for (given, option, what) in [
        (arguments.report.is_some(), "--report", "there is no page of a Mimic"),
        (arguments.scratch.is_some(), "--scratch", "a Mimic is learned by reads alone"),
    ] {
        if given {
            return Err(BadInput::new(option, At::File, what, format!("take {option} or --mimic out")).into());
        }
    }
    let (mut device, _) = device(arguments)?;
    let usual = Probing::default();
    let most = if arguments.quick { usual.most / 4 } else { usual.most };
    let probing = Probing { seed: arguments.seed, most, ..usual };
    let progress = Profiling::new("of the distances");
    let learned = Learned::by_probing(&mut *device, &probing, &mut |done| progress.share(done));
    progress.finish();
    if let Some(output) = &output {
        output.write(load::learned::write(&learned, &arguments.device))?;
    }
    let written = arguments.output.as_ref().map(|path| path.display().to_string());
    print(&report::mimicked(&arguments.device, &learned, written.as_deref()))
}
