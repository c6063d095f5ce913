//! The device and the core that a service file asks for.

use crate::claim::Use;
use crate::sparse::Sparse;
use crate::store::{Contents, MemoryStore, Unwritten};
use crate::unit::{Emulated, LiveDevice, Ram, ServedFile};
use block::{At, BLOCK_BYTES, BadInput, Caps};
use disk::{Model, Sheet};
use drive::{Drive, Machine};
use load::experiment::{Before, Believed, DriveChoice, Experiment, Held, Live, Predictor};
use load::schedule;
use sched::Scheduler;
use sched::plan::{Rules, chunk_for};
use sched::policy::Needs;
use sched::predict::{Distance, Mimic, Predictor as Belief, Profile};
use std::path::Path;

/// Blocks of a short command where nothing is known of the device: 256 KiB.
const CHUNK: u32 = 512;
/// Commands a file is given at once, where requests are served whole.
const AT_ONCE: u16 = 64;

/// A device in real time, and what may be believed of it.
pub struct Made {
    /// The device.
    pub unit: Box<dyn LiveDevice>,
    /// What can be known of the disk it is, where that is known.
    pub sheet: Option<Sheet>,
    /// What a reader of the results must know.
    pub notes: Vec<String>,
}

/// Makes the device that a file names, to be used so, in short commands or not; the seed gives what nobody can know of an emulated one.
///
/// # Errors
/// When there is none of this name, or it cannot be opened.
pub fn device(choice: &DriveChoice, how: Use, short: bool, seed: u64) -> Result<Made, BadInput> {
    let live = choice.live.clone().unwrap_or(Live::Emulated(Held::default()));
    let mut notes = Vec::new();
    Ok(match live {
        Live::Emulated(held) => {
            let (machine, sheet): (Box<dyn Machine>, _) = match choice.made()? {
                Model::Disk(drive) => (Box::new(Drive::new(&drive.sheet, &drive.truth, seed)), Some(drive.sheet)),
                Model::Other(other) => (drive::other::machine(&other, seed), None),
            };
            let contents = contents(&held, machine.caps().blocks)?;
            Made { unit: Box::new(Emulated::new(machine, contents)), sheet, notes }
        }
        Live::Ram(blocks) => Made { unit: Box::new(Ram::new(blocks, Unwritten::Zeros)), sheet: None, notes },
        Live::File(path) => {
            let depth = if short && choice.queue == Some(1) { 1 } else { choice.queue.unwrap_or(0).max(AT_ONCE) };
            let file = ServedFile::open(&path, depth, how).map_err(|error| unopened(&path, &error))?;
            if !file.is_direct() {
                notes.push(format!(
                    "{}: read and written through the page cache, as its file system has it no other way",
                    path.display()
                ));
            }
            if !file.is_locked() {
                notes.push(format!(
                    "{}: its file system has no locks: see to it that nothing else writes it",
                    path.display()
                ));
            }
            Made { unit: Box::new(file), sheet: sheet(choice)?, notes }
        }
    })
}

/// What an emulated drive of so many blocks holds.
fn contents(held: &Held, blocks: u64) -> Result<Box<dyn Contents>, BadInput> {
    Ok(match held {
        Held::Memory(most) => Box::new(MemoryStore::new(blocks, Unwritten::Zeros, *most)),
        Held::Pattern => Box::new(MemoryStore::new(blocks, Unwritten::Pattern, 0)),
        Held::Sparse(path) => Box::new(Sparse::open(path, blocks).map_err(|error| unheld(path, &error))?),
    })
}

fn unheld(path: &Path, error: &std::io::Error) -> BadInput {
    if error.kind() == std::io::ErrorKind::ResourceBusy {
        return unopened(path, error);
    }
    let mend = "name a file that is not there yet, in a folder with room that you may write to";
    BadInput::new(path.display().to_string(), At::File, format!("cannot hold the drive's contents: {error}"), mend)
}

/// What can be known of the device that a file names, where that is known.
///
/// # Errors
/// When there is none of this name.
pub fn sheet(choice: &DriveChoice) -> Result<Option<Sheet>, BadInput> {
    if choice.model.is_empty() { Ok(None) } else { choice.made().map(sheet_of) }
}

fn sheet_of(model: Model) -> Option<Sheet> {
    match model {
        Model::Disk(drive) => Some(drive.sheet),
        Model::Other(_) => None,
    }
}

pub(crate) fn unopened(path: &Path, error: &std::io::Error) -> BadInput {
    if error.kind() == std::io::ErrorKind::ResourceBusy {
        let mend = "end what uses it first; what is only read (`read_only` volumes) may be shared with other readers";
        return BadInput::new(path.display().to_string(), At::File, format!("is in use: {error}"), mend);
    }
    let mend = match error.kind() {
        std::io::ErrorKind::NotFound => "make it first: truncate -s 10G FILE",
        std::io::ErrorKind::PermissionDenied => "run as one who may read and write it",
        _ => "name a file or a block device that can be read and written",
    };
    BadInput::new(path.display().to_string(), At::File, format!("cannot be opened: {error}"), mend)
}

/// The core for it; what a reader must know is added to the notes.
///
/// # Errors
/// Where what the file wants to believe is not to be had.
pub fn core(
    experiment: &Experiment,
    sheet: Option<Sheet>,
    caps: Caps,
    notes: &mut Vec<String>,
) -> Result<Box<dyn Scheduler>, BadInput> {
    let scheduler = &experiment.scheduler;
    let bad = |what: &str, mend: &str| Err(BadInput::new(experiment.title.clone(), At::File, what, mend));
    if experiment.array.is_some() {
        return bad("arrays are simulated only, so far", "take [array] out, and serve one disk");
    }
    if scheduler.wish.is_some() {
        return bad("a plan for a wait is picked by simulation only", "give `chunk` in [scheduler.plan]");
    }
    let sheet = believed(experiment, sheet, caps)?;
    let build = |rules: Rules, notes: &mut Vec<String>| match scheduler.predictor {
        Some(Predictor::Oracle) => {
            bad("perfect knowledge of a drive is to be had in simulation only", "take `predictor` out")
        }
        Some(Predictor::Mimic) if scheduler.mimic.angle => bad(
            "where on its track a request begins is not learned of a drive that serves",
            "take `second_key` out, or learn the drive with `halfturn profile -o FILE` and give that as `profile`",
        ),
        Some(Predictor::Mimic) => {
            let learning = scheduler.mimic.learning;
            match &scheduler.mimic.before {
                Before::Table(path) => {
                    let learned = load::learned::read_of(path, caps.blocks)?;
                    Ok(boxed(experiment, rules, caps, Mimic::knowing(&learned, learning)))
                }
                Before::Probed(_) => bad(
                    "a drive that serves is not probed before",
                    "learn it with `halfturn profile --mimic -o FILE`, and give that file as `table` in [scheduler.mimic]",
                ),
                Before::Nothing => Ok(boxed(experiment, rules, caps, Mimic::new(caps.blocks, learning))),
            }
        }
        Some(Predictor::Profile) | None if sheet.is_some() => {
            let sheet = sheet.as_ref().expect("it is there");
            Ok(boxed(experiment, rules, caps, Profile::new(sheet)))
        }
        Some(Predictor::Profile) => bad(
            "nothing is known of the device that `predictor = \"profile\"` could believe",
            "give `profile` in [scheduler]: a file that `halfturn profile -o` wrote",
        ),
        Some(Predictor::Distance) | None if scheduler.policy.manual().needs == Needs::Times => bad(
            "`yield` weighs times, and nothing is known of the device that tells them",
            "give `profile` in [scheduler], or predictor = \"mimic\"",
        ),
        Some(Predictor::Distance) | None => {
            notes.push("nothing is known of the device: short commands and value, no just-in-time seeks".into());
            Ok(boxed(experiment, rules, caps, Distance::default()))
        }
    };
    let mut rules = scheduler.rules.clone();
    if let Some(plan) = rules.plan.as_mut().filter(|plan| plan.chunk == 0) {
        plan.chunk = sheet.as_ref().map_or(CHUNK, chunk_for);
        let kib = u64::from(plan.chunk) * BLOCK_BYTES / 1024;
        notes.push(format!("commands of at most {kib} KiB"));
    }
    build(rules, notes)
}

/// What is believed of the mechanics.
fn believed(experiment: &Experiment, own: Option<Sheet>, caps: Caps) -> Result<Option<Sheet>, BadInput> {
    match &experiment.scheduler.profile {
        Believed::Sheet => Ok(own),
        Believed::Drive(name) => experiment.drive.described(name, caps.blocks).map(Some),
        Believed::Learned => {
            let what = "a drive that serves is not learned by the way";
            let mend = "learn it first with `halfturn profile -o FILE`, and give that file as `profile`";
            Err(BadInput::new(experiment.title.clone(), At::File, what, mend))
        }
    }
}

fn boxed<P: Belief + 'static>(experiment: &Experiment, rules: Rules, caps: Caps, belief: P) -> Box<dyn Scheduler> {
    let scheduler = &experiment.scheduler;
    let beside = schedule::beside(scheduler, scheduler.mimic.learn, scheduler.mimic.margin);
    Box::new(schedule::core(scheduler, &beside, &rules, caps, scheduler.queue, belief))
}
