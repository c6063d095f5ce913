//! The device and the core that a service file asks for.

mod disks;
mod logs;

pub use disks::{Existing, MadeArray, array_status, create_array, devices};

use crate::Rates;
use crate::array;
use crate::claim::Use;
use crate::sparse::Sparse;
use crate::store::{Contents, MemoryStore, Unwritten};
use crate::unit::{Emulated, LiveDevice, PageCache, Ram, ServedFile};
use block::{At, BLOCK_BYTES, BadInput, Caps, SeekBy};
use disk::Model;
use drive::{Drive, Machine};
use load::experiment::{DriveChoice, Experiment, Held, Live};
use load::schedule::{self, Abilities, Ability, CoreMaking, Device, Knowledge};
use sched::Scheduler;
use sched::array::Geometry;
use std::path::Path;

/// Commands a file is given at once, where requests are served whole.
const AT_ONCE: u16 = 64;

/// A device in real time.
pub struct Made {
    /// The device, opened and ready.
    pub unit: Box<dyn LiveDevice>,
    /// Whether it is known to be a disk.
    pub rotational: bool,
    /// How fast its parts are, where that is known.
    pub rates: Rates,
    /// What a reader of the results must know.
    pub notes: Vec<String>,
}

/// Makes the device that a file names, to be used so, in short commands or not; the seed gives what nobody can know of an emulated one.
///
/// # Errors
/// When there is none of this name, or it cannot be opened.
pub fn device(choice: &DriveChoice, how: Use, short: bool, seed: u64) -> Result<Made, BadInput> {
    let known = Device::of(choice)?;
    let rates = known.sheet().map(|sheet| Rates::of(sheet)).unwrap_or_default();
    let live = choice.live.clone().unwrap_or(Live::Emulated(Held::default()));
    let mut notes = Vec::new();
    Ok(match live {
        Live::Emulated(held) => {
            notes.extend(known.sheet().and_then(|sheet| sheet.unmeasured.assumption()));
            let (machine, rotational): (Box<dyn Machine>, _) = match choice.make_model()? {
                Model::Disk(drive) => (Box::new(Drive::new(&drive.sheet, &drive.truth, seed)), true),
                Model::Other(other) => (drive::other::machine(&other, seed), false),
            };
            let contents = contents(&held, machine.caps().blocks)?;
            Made { unit: Box::new(Emulated::new(machine, contents)), rotational, rates, notes }
        }
        Live::Ram(blocks) => {
            Made { unit: Box::new(Ram::new(blocks, Unwritten::Zeros)), rotational: false, rates, notes }
        }
        Live::File(path) => {
            let depth = if short && choice.queue == Some(1) { 1 } else { choice.queue.unwrap_or(0).max(AT_ONCE) };
            let cache = if choice.direct { PageCache::Past } else { PageCache::Through };
            let file = ServedFile::open(&path, depth, how, cache).map_err(|error| open_error(&path, how, &error))?;
            let file = match choice.seek_by {
                Some(by) => file.seeking(by),
                None => file,
            };
            if choice.seek_by == Some(SeekBy::Read) && file.caps().seek != SeekBy::Read {
                notes.push(format!("{}: seeks are made whole, as nothing is read past the page cache", path.display()));
            }
            if choice.direct && !file.is_direct() {
                let why = match file.bytes() % BLOCK_BYTES {
                    0 => "as its file system has it no other way".into(),
                    over => format!("as its last block has {over} bytes of {BLOCK_BYTES}"),
                };
                notes.push(format!("{}: read and written through the page cache, {why}", path.display()));
            }
            if !file.is_locked() {
                notes.push(format!(
                    "{}: its file system has no locks: see to it that nothing else writes it",
                    path.display()
                ));
            }
            Made { unit: Box::new(file), rotational: known.sheet().is_some(), rates, notes }
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
        return open_error(path, Use::Writes, error);
    }
    let mend = "name a file that is not there yet, in a folder with room that you may write to";
    BadInput::new(path.display().to_string(), At::File, format!("cannot hold the drive's contents: {error}"), mend)
}

pub(crate) fn open_error(path: &Path, how: Use, error: &std::io::Error) -> BadInput {
    if error.kind() == std::io::ErrorKind::ResourceBusy {
        let mend = "end what uses it first; what is only read (`read_only` volumes) may be shared with other readers";
        return BadInput::new(path.display().to_string(), At::File, format!("is in use: {error}"), mend);
    }
    let mend = match error.kind() {
        std::io::ErrorKind::NotFound => "make it first: truncate -s 10G FILE",
        std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem if how == Use::Writes => {
            "give its volumes `read_only = true`, or run as one who may write it"
        }
        std::io::ErrorKind::PermissionDenied => "run as one who may read it",
        _ => "name a file or a block device that can be read and written",
    };
    BadInput::new(path.display().to_string(), At::File, format!("cannot be opened: {error}"), mend)
}

/// What this world can do: serve a device, or several as an array.
pub const ABLE: &[Ability] = &[Ability::OwnTiming, Ability::Arrays];

/// Whether an experiment can be served in real time, as far as its core and its device go; nothing is opened.
///
/// # Errors
/// What [`core()`] would refuse.
pub fn check(experiment: &Experiment) -> Result<(), BadInput> {
    schedule::check(experiment, &Device::of(&experiment.drive)?, ABLE)?;
    experiment.array.as_ref().map_or(Ok(()), |array| disks::check(experiment, array))
}

/// The core for a device, or for the disks of an array; what a reader must know is added to the notes.
///
/// # Errors
/// Where what the file asks for is not to be had.
pub fn core(experiment: &Experiment, caps: &[Caps], notes: &mut Vec<String>) -> Result<Box<dyn Scheduler>, BadInput> {
    core_within(experiment, caps, None, notes)
}

/// The same of a device that was opened: an array may have grown since the file was written.
///
/// # Errors
/// As of [`core`].
pub(crate) fn core_of(
    experiment: &Experiment,
    unit: &dyn LiveDevice,
    notes: &mut Vec<String>,
) -> Result<Box<dyn Scheduler>, BadInput> {
    core_within(experiment, &unit.members(), unit.geometry(), notes)
}

fn core_within(
    experiment: &Experiment,
    caps: &[Caps],
    geometry: Option<Geometry>,
    notes: &mut Vec<String>,
) -> Result<Box<dyn Scheduler>, BadInput> {
    let blocks = caps.first().map_or(0, |caps| caps.blocks);
    let known = Knowledge::of_file(experiment, Device::of(&experiment.drive)?, blocks)?;
    let members = experiment.array.iter().flat_map(|array| &array.members);
    let sheets: Result<Vec<_>, BadInput> = members.map(|member| Ok(Device::of(member)?.sheet().cloned())).collect();
    let known = known.of_each(sheets?.into_iter().flatten().collect());
    // Nobody but the core can say what the time of a real drive's command went to.
    let mut experiment = experiment.clone();
    experiment.scheduler.rules.divides = true;
    // Here there are bytes to compare.
    let journal = disks::lasts(&experiment).then_some(array::JOURNAL);
    if let Some(array) = &mut experiment.array {
        (array.plan.comparing, array.plan.journal, array.plan.logged) = (true, journal, array.log.is_some());
    }
    let real = Real { caps: caps.to_vec(), margins: disks::find_margins(&experiment), geometry };
    let built = CoreMaking::new(&experiment, &known, &real)?.with_known()?;
    notes.extend(built.notes);
    Ok(built.core)
}

/// The world in real time, as the builder of its core sees it: what each device can do, and what of each is not an array's to fill.
struct Real {
    caps: Vec<Caps>,
    margins: (u64, u64),
    geometry: Option<Geometry>,
}

impl Abilities for Real {
    fn able(&self) -> &'static [Ability] {
        ABLE
    }

    fn caps(&self, disk: usize) -> Caps {
        self.caps.get(disk).copied().unwrap_or(Caps { blocks: 0, depth: 0, seek: block::SeekBy::Nothing, arms: 1 })
    }

    fn margins(&self) -> (u64, u64) {
        self.margins
    }

    fn geometry(&self) -> Option<Geometry> {
        self.geometry
    }

    fn places(&self, of_file: usize) -> usize {
        // Of an array that was opened it is known.
        if self.geometry.is_some() { self.caps.len() } else { self.caps.len().max(of_file) }
    }
}
