//! `halfturn profile`: learns a disk from the times of its commands.

use super::exported::{TargetSystem, tell};
use super::outputs::{Inputs, OutputFile};
use crate::failure::{VerbFailure, print};
use crate::progress::Profiling;
use crate::report;
use block::{At, BadInput, Device};
use clap::Args;
use drive::Drive;
use drive::figures::{SteadyLoad, random_s};
use load::experiment::DriveChoice;
use profile::journal::{Journal, JournaledDevice, Past};
use profile::{DriveProfile, Grade, ProfileOptions, ProfileOutcome, ProfiledFile, Scratch, Thoroughness};
use sched::predict::mimic::{Learned, Probing};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How old what is kept of a profile under way may be.
const KEPT_EVERY: Duration = Duration::from_secs(5);

/// Measure a drive's geometry and timing from its response times alone.
///
/// Measures rotation, block map, heads and cylinders, seek curve, switches, overheads and the read cache by reading. It
/// writes nothing to the device unless --scratch says where. The result is a drive file that `simulate` takes as it is.
/// At the end random reads are predicted and then measured, which shows how good the model is. With -o, the
/// measurements so far are kept in DRIVE.toml.partial; the same command line resumes from there.
#[derive(Args)]
#[command(after_help = "Examples:
  halfturn profile simulated:st318437lw -o learned.toml
  halfturn profile simulated:atlas10k.parv --quick --report learned.html
  halfturn profile simulated:wd400bb --scratch 10GiB+1GiB -o learned.toml
  halfturn profile simulated:tape-lto5 --mimic -o tape.toml
  halfturn profile /dev/sdX -o mine.toml")]
pub struct ProfileArgs {
    /// A file or a block device that is not in use; or `simulated:` (in virtual time) or `emulated:` (in real time) and
    /// a name `drive list` shows, a drive file (TOML) or a DiskSim .parv, .diskspecs or .model
    #[arg(value_name = "DEVICE")]
    device: String,
    /// Write the drive into this file (TOML)
    #[arg(short, long, value_name = "DRIVE.toml")]
    output: Option<PathBuf>,
    /// Take less time (5 min): one seek distance an octave instead of three, and four more where these tell least, so that
    /// the curve may be off by more than 0.1 ms in between; no search for late seeks; one run for each chunk size instead of
    /// three; three minutes for the map, the rest of which is extrapolated. With --mimic, a quarter of the distances
    #[arg(long)]
    quick: bool,
    /// Measure the service time by distance instead, for `[scheduler.mimic] table`; works on any device, disk or not
    #[arg(long)]
    mimic: bool,
    /// Also measure writes and the write buffer, writing only to this range, e.g. 100GiB+1GiB. Its data is lost
    #[arg(long, value_name = "OFFSET+LENGTH")]
    scratch: Option<String>,
    /// Also write a page with the findings and predicted against observed times into this file (HTML, opens offline)
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Also print the settings of another system for the drive that was learned, as `drive show --for` does; those of DiskSim are
    /// written beside it
    #[arg(long = "for", value_name = "SYSTEM", value_enum, requires = "output", conflicts_with = "mimic")]
    system: Option<TargetSystem>,
    /// Run the clock of an emulated drive this many times as fast; the host's lateness grows by the same factor
    #[arg(long, value_name = "TIMES", default_value = "1", value_parser = super::scale)]
    time_scale: f64,
    /// The seed of the probes, and of the simulated platter's phase and noise
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
}

impl ProfileArgs {
    /// Those of a profile that only reads, and is told of by whoever wants it.
    pub fn reading(device: &str, effort: Thoroughness, seed: u64, time_scale: f64) -> ProfileArgs {
        let quick = effort == Thoroughness::Quick;
        let device = device.to_owned();
        let (output, scratch, report, system) = (None, None, None, None);
        ProfileArgs { device, output, quick, mimic: false, scratch, report, system, time_scale, seed }
    }
}

pub fn run(arguments: &ProfileArgs) -> Result<(), VerbFailure> {
    let name = arguments.device.as_str();
    let name = ["simulated:", "emulated:"].iter().find_map(|kind| name.strip_prefix(kind)).unwrap_or(name);
    let mut inputs = Inputs::of([name]);
    let output = OutputFile::if_wanted(arguments.output.as_ref(), &mut inputs)?;
    let page = OutputFile::if_wanted(arguments.report.as_ref(), &mut inputs)?;
    if arguments.mimic {
        return mimic(arguments, output);
    }
    let (mut device, past) = device(arguments)?;
    let effort = if arguments.quick { Thoroughness::Quick } else { Thoroughness::Thorough };
    let bad = |what| BadInput::new("--scratch", At::File, what, "a size has a unit: B, kB, KiB, MB, MiB, GB, GiB ...");
    let scratch = arguments.scratch.as_deref().map(Scratch::parse).transpose().map_err(bad)?;
    let options = ProfileOptions { name: arguments.device.clone(), seed: arguments.seed, effort, scratch };
    let title = options.title(device.caps());
    let state = arguments.output.as_deref().map(|path| JournalFile::new(path, &title, &mut inputs)).transpose()?;
    let mut progress = Profiling::new("of the drive mapped");
    let found = match &state {
        Some(state) => state.go_on(&mut *device, past, &options, &mut progress)?,
        None => profile::profile(&mut &mut *device, &options, &mut progress)?,
    };
    progress.finish();
    let verdict = keep(&found, &options.name, output.as_ref())?;
    if let Some(state) = state {
        state.remove()?;
    }
    let is_written = matches!(verdict, Grade::Good | Grade::Usable(_));
    let written = arguments.output.as_ref().filter(|_| is_written).map(|path| path.display().to_string());
    let text = report::profile_report(&options.name, &found, &verdict, written.as_deref());
    if let Some(page) = page {
        page.write(report::profile_page(&options.name, &found, &verdict, &text))?;
    }
    print(&text)?;
    if let (Some(system), Some(written)) = (arguments.system, &written) {
        let beside = Path::new(written).with_extension("parv");
        print("\n")?;
        tell(written, system, Some(&*beside).filter(|_| system == TargetSystem::Disksim), &mut inputs)?;
    }
    match (verdict, &found.outcome) {
        (Grade::Refused(why), outcome) if output.is_some() || !matches!(outcome, ProfileOutcome::NoRotation(_)) => {
            Err(VerbFailure::Undone(found.refuse(&options.name, why)))
        }
        _ => Ok(()),
    }
}

/// Writes what was found, if it may be believed, once it was read back and has served a few commands.
fn keep(found: &DriveProfile, name: &str, output: Option<&OutputFile>) -> Result<Grade, VerbFailure> {
    let ProfiledFile { text, drive, grade } = match found.file(name) {
        Ok(file) => file,
        Err(why) => return Ok(Grade::Refused(why)),
    };
    if let (Grade::Good | Grade::Usable(_), Ok(drive), Some(output)) = (&grade, drive, output) {
        random_s(&mut Drive::new(&drive.sheet, &drive.truth, 1), 1, SteadyLoad { commands: 100, ..SteadyLoad::RANDOM });
        output.write(text)?;
    }
    Ok(grade)
}

/// What is profiled, and what becomes of answers it gave before: a simulated drive in virtual time lives through them again, an
/// emulated or a real one has gone on in real time.
pub fn device(arguments: &ProfileArgs) -> Result<(Box<dyn Device>, Past), BadInput> {
    match arguments.device.strip_prefix("simulated:") {
        Some(name) => Ok((sim::bench(&choice(name, arguments)?, arguments.seed)?, Past::Again)),
        None => Ok((in_real_time(arguments)?, Past::Over)),
    }
}

/// A model, with the queue that is wanted.
fn choice(name: &str, arguments: &ProfileArgs) -> Result<DriveChoice, BadInput> {
    // A Mimic learns what one command after another takes.
    let queue = if arguments.mimic { 1 } else { disk::catalogue::model(name)?.depth() };
    Ok(DriveChoice::plain(name, queue))
}

#[cfg(feature = "linux")]
fn in_real_time(arguments: &ProfileArgs) -> Result<Box<dyn Device>, BadInput> {
    let name = arguments.device.as_str();
    Ok(Box::new(match name.strip_prefix("emulated:") {
        Some(name) => live::emulate(&choice(name, arguments)?, arguments.seed, arguments.time_scale)?,
        None => {
            live::open(Path::new(name), if arguments.scratch.is_some() { live::Use::Writes } else { live::Use::Times })?
        }
    }))
}

#[cfg(not(feature = "linux"))]
fn in_real_time(arguments: &ProfileArgs) -> Result<Box<dyn Device>, BadInput> {
    let what = "this halfturn was built without what asks a device in real time";
    let mend = "build it with `--features linux`, or name `simulated:` and a drive";
    Err(BadInput::new(&arguments.device, At::File, what, mend))
}

/// The journal of a profile under way, beside the drive file it will end as.
pub struct JournalFile {
    path: PathBuf,
    file: OutputFile,
    journal: Journal,
}

impl JournalFile {
    /// What was kept beside a drive file of this title, or nothing yet.
    pub fn new(output: &Path, title: &str, inputs: &mut Inputs) -> Result<JournalFile, VerbFailure> {
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
        let output = OutputFile::new(&path, inputs)?;
        Ok(JournalFile { path, file: output, journal })
    }

    /// Profiles from where the journal ends, and keeps it now and then, and when the device is lost.
    pub fn go_on(
        &self,
        device: &mut dyn Device,
        past: Past,
        options: &ProfileOptions,
        watch: &mut Profiling,
    ) -> Result<DriveProfile, VerbFailure> {
        let (mut last, mut failed) = (Instant::now(), None);
        let mut keep = |journal: &Journal| {
            if last.elapsed() >= KEPT_EVERY {
                failed = failed.take().or(self.write(journal).err());
                last = Instant::now();
            }
        };
        let mut recorder = JournaledDevice::new(device, self.journal.clone(), past, &mut keep);
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
    fn write(&self, journal: &Journal) -> Result<(), VerbFailure> {
        self.file.write(journal.bytes())
    }

    pub fn remove(self) -> Result<(), VerbFailure> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(VerbFailure::unwritable(&self.path, &error)),
            _ => Ok(()),
        }
    }
}

/// Learns the times of distances.
fn mimic(arguments: &ProfileArgs, output: Option<OutputFile>) -> Result<(), VerbFailure> {
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
    print(&report::mimic_report(&arguments.device, &learned, written.as_deref()))
}
