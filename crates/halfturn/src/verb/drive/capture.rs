//! `halfturn drive capture`: a drive learned by reading, and reads to try it by, in one file with the conditions of both.

use super::validate::exchange_of;
use crate::failure::{VerbFailure, print};
use crate::progress::Profiling;
use crate::report::Agreement;
use crate::verb::outputs::{Inputs, OutputFile};
use crate::verb::profile::{JournalFile, ProfileArgs, device};
use block::{At, BadInput, Command, Device, Extent, Outcome, Place, Span, Tag, Verb};
use clap::Args;
use disk::Truth;
use load::Draw;
use load::capture::{CapturedRead, DriveCapture};
use profile::{Grade, ProfileOptions, ProfileOutcome, Thoroughness};
use sim::validate::{Demerit, replay};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// A read that has not come back after so long never will.
const LOST: Span = Span(60_000_000_000);
/// Blocks of a random read: 4 KiB to 256 KiB.
const SIZES: [u32; 5] = [8, 16, 32, 128, 512];
/// Of so many reads, the last ones follow one another on the disk.
const ROUND: u64 = 100;
/// So many of them.
const STRETCH: u64 = 20;
/// Blocks of each of those.
const LONG: u32 = 128;

/// Learn a drive by reading, time reads to try it by, and write both with the conditions into one file.
///
/// Nothing is written to the device. A device that is mounted or in use is refused. After the profile (see `halfturn profile`) come
/// reads one at a time: four fifths of them of 4 to 256 KiB anywhere on the disk, the others stretches of 64 KiB reads in sequence.
/// The file has make, model, firmware and settings as the kernel tells them, but no serial number; what is not known is `unknown`.
/// It is text, with a SHA-256 of each part. What was measured is kept in FILE.capture.partial until the file is written; the same
/// command line resumes the profile from there.
#[derive(Args)]
#[command(after_help = "Examples:
  halfturn drive capture /dev/sdX -o my-drive.capture
  halfturn drive capture simulated:st318437lw --quick --reads 500 -o try.capture
  halfturn drive validate my-drive.capture")]
pub struct DriveCaptureArgs {
    /// A block device that is not in use, or a file; or `simulated:` (in virtual time) or `emulated:` (in real time) and a name `drive
    /// list` shows or a drive file
    #[arg(value_name = "DEVICE")]
    device: String,
    /// Write the capture into this file
    #[arg(short, long, value_name = "FILE.capture")]
    output: PathBuf,
    /// Profile in less time (5 min), less exactly, as `profile --quick` does
    #[arg(long)]
    quick: bool,
    /// How many reads to time; 100 take about a second
    #[arg(long, value_name = "N", default_value = "3000", value_parser = clap::value_parser!(u64).range(100..=1_000_000))]
    reads: u64,
    /// Run the clock of an emulated drive this many times as fast; the host's lateness grows by the same factor
    #[arg(long, value_name = "TIMES", default_value = "1", value_parser = crate::verb::scale)]
    time_scale: f64,
    /// The seed of all reads, and of the simulated platter's phase and noise
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
}

pub fn run(arguments: &DriveCaptureArgs) -> Result<(), VerbFailure> {
    let name = arguments.device.as_str();
    let path = ["simulated:", "emulated:"].iter().find_map(|kind| name.strip_prefix(kind)).unwrap_or(name);
    let mut inputs = Inputs::of([path]);
    let output = OutputFile::new(&arguments.output, &mut inputs)?;
    let effort = if arguments.quick { Thoroughness::Quick } else { Thoroughness::Thorough };
    let (mut device, past) = device(&ProfileArgs::reading(name, effort, arguments.seed, arguments.time_scale))?;
    let blocks = device.caps().blocks;
    let options = ProfileOptions { name: name.to_owned(), seed: arguments.seed, effort, scratch: None };
    let mut conditions = conditions(arguments, blocks);
    let state = JournalFile::new(&arguments.output, &options.title(device.caps()), &mut inputs)?;
    let mut progress = Profiling::new("of the drive mapped");
    let found = state.go_on(&mut *device, past, &options, &mut progress)?;
    progress.finish();
    let refused = |why: String| {
        let mend = "let nothing else use the device or the processor, and capture it again; nothing was written";
        VerbFailure::Undone(BadInput::new(name, At::File, why, mend))
    };
    let known = match &found.outcome {
        ProfileOutcome::Disk(known) => known,
        ProfileOutcome::NoRotation(_) => {
            return Err(refused("nothing turns in it, so that there is no drive to capture".into()));
        }
        ProfileOutcome::Unmapped(_, why) => return Err(VerbFailure::Undone(found.refuse(name, why.clone()))),
    };
    let drive = disk::write(&known.plan(name, found.blocks));
    let read_back = disk::parse("profile", "the file of the profile", &drive);
    let grade = match known.judge(&read_back) {
        Grade::Good => "good".to_owned(),
        Grade::Usable(why) => format!("usable: {why}"),
        Grade::Refused(why) if known.was_cut_short() => return Err(VerbFailure::Undone(found.refuse(name, why))),
        Grade::Refused(why) => return Err(refused(why)),
    };
    let (reads, failed) = time_reads(&mut *device, arguments, found.blocks.min(blocks))?;
    let model = read_back?;
    let pairs = replay(&model.sheet, &Truth::default(), 1, exchange_of(&reads))
        .map_err(|index| refused(format!("read {} goes past the drive that was learned", index + 1)))?;
    let percent = Demerit::of(&pairs).percent();
    let validates = Agreement::of(percent).word();
    let results = [("profile", grade), ("demerit_percent", format!("{percent:.2}")), ("validates", validates.into())];
    conditions.extend(results.map(|(key, value)| (key.to_owned(), value)));
    conditions.push(("reads_failed".into(), failed.to_string()));
    output.write(DriveCapture { conditions, drive, reads }.text())?;
    state.remove()?;
    let file = arguments.output.display();
    print(&format!("Wrote {file}: {} reads, demerit {percent:.1} % of their mean, {validates}.\n", pairs.len()))
}

/// Times reads, one at a time; those that came back well, and how many did not.
fn time_reads(
    device: &mut dyn Device,
    arguments: &DriveCaptureArgs,
    blocks: u64,
) -> Result<(Vec<CapturedRead>, u64), VerbFailure> {
    let mut draw = Draw::new(arguments.seed, 0);
    let progress = Profiling::new("of the reads timed");
    let (mut reads, mut failed, mut next, began) = (Vec::new(), 0, 0, device.now());
    for turn in 0..arguments.reads {
        let is_long = turn % ROUND >= ROUND - STRETCH;
        let size = if is_long { LONG } else { SIZES[draw.below(SIZES.len() as u64) as usize] };
        let Some(room) = blocks.checked_sub(u64::from(size)) else {
            let what = format!("it has {blocks} blocks, less than one read");
            return Err(BadInput::new(&arguments.device, At::File, what, "name a disk").into());
        };
        // Whole 4 KiB, which every drive reads without a part of a sector.
        let start =
            if is_long && turn % ROUND > ROUND - STRETCH && next <= room { next } else { draw.below(room / 8 + 1) * 8 };
        let at = Extent::new(start, size);
        next = at.end().0;
        let issued = device.issue(Tag(0), Command::new(Verb::Read, at, Place::Nowhere));
        let Some((end, _, outcome)) = device.next(issued + LOST) else {
            let what = "a read did not come back within a minute";
            return Err(BadInput::new(&arguments.device, At::File, what, "see whether the device still works").into());
        };
        if outcome == Outcome::Ok {
            let time = block::Time(issued.since(began).0);
            reads.push(CapturedRead { time, at, response: end.since(issued) });
        } else {
            failed += 1;
        }
        progress.share((turn + 1) as f64 / arguments.reads as f64);
    }
    progress.finish();
    if reads.is_empty() {
        let what = format!("all of {failed} reads failed");
        return Err(BadInput::new(&arguments.device, At::File, what, "capture a device that can be read").into());
    }
    Ok((reads, failed))
}

/// What is known before the first command. Nothing is guessed.
fn conditions(arguments: &DriveCaptureArgs, blocks: u64) -> Vec<(String, String)> {
    let device = arguments.device.as_str();
    let kind = device.split_once(':').map(|(kind, _)| kind).filter(|kind| ["simulated", "emulated"].contains(kind));
    let of_disk = |file: &str| if kind.is_some() { None } else { kernel_says(device, file) };
    let of_host = |file: &str| if kind == Some("simulated") { None } else { first_line(Path::new(file)) };
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).ok().filter(|_| kind != Some("simulated"));
    let known = [
        ("device", Some(device.to_owned())),
        ("kind", Some(kind.unwrap_or("as the kernel has it").to_owned())),
        ("blocks", Some(blocks.to_string())),
        ("make", of_disk("device/vendor")),
        ("model", of_disk("device/model")),
        ("firmware", of_disk("device/rev").or_else(|| of_disk("device/firmware_rev"))),
        ("logical_sector_bytes", of_disk("queue/logical_block_size")),
        ("physical_sector_bytes", of_disk("queue/physical_block_size")),
        ("rotational", of_disk("queue/rotational")),
        ("scheduler", of_disk("queue/scheduler")),
        ("most_kb_of_a_request", of_disk("queue/max_sectors_kb")),
        ("read_ahead_kb", of_disk("queue/read_ahead_kb")),
        ("write_cache", of_disk("queue/write_cache")),
        ("queue_depth", of_disk("device/queue_depth")),
        ("kernel", of_host("/proc/sys/kernel/osrelease")),
        ("load_average", of_host("/proc/loadavg")),
        ("machine", of_host("/sys/class/dmi/id/product_name")),
        ("seconds_since_1970", seconds.map(|since| since.as_secs().to_string())),
        ("seed", Some(arguments.seed.to_string())),
        ("time_scale", Some(arguments.time_scale.to_string())),
        ("halfturn", Some(env!("CARGO_PKG_VERSION").to_owned())),
    ];
    known.map(|(key, value)| (key.to_owned(), value.unwrap_or_else(|| "unknown".into()))).into()
}

/// What the kernel tells of a block device in a file of this name.
fn kernel_says(device: &str, file: &str) -> Option<String> {
    let path = fs::canonicalize(device).ok().filter(|path| path.starts_with("/dev"))?;
    first_line(&Path::new("/sys/class/block").join(path.file_name()?).join(file))
}

fn first_line(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.lines().next().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
}
