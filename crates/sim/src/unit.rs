//! The device of an experiment: a disk or another.

use crate::bench::Bench;
use block::{At, BadInput, Device, Time};
use disk::{Model, Other, Sheet, Truth};
use drive::{Drive, Machine};
use load::experiment::DriveChoice;

/// A device at time zero.
pub(crate) enum Unit {
    /// A disk and what can be known of it.
    Disk(Box<Sheet>, Box<Drive>),
    /// Another device, of which nothing is known beforehand.
    Other(Box<Other>, Box<dyn Machine>),
}

/// Makes the device that an experiment names, as it wants it; the seed gives what nobody can know of it.
///
/// # Errors
/// When there is none of this name, or it cannot be had like that.
pub(crate) fn unit(choice: &DriveChoice, seed: u64) -> Result<Unit, BadInput> {
    let model = disk::catalogue::model(&choice.model)?;
    let depth = model.depth();
    if choice.queue > depth {
        let what = format!("the drive takes {depth} commands at once, not {}", choice.queue);
        let mend = match model {
            Model::Disk(_) => {
                "ask for no more in `queue` of [drive], or give the drive's file a [queue] with a greater depth"
            }
            Model::Other(_) => "ask for no more in `queue` of [drive], or give its file a greater `depth`",
        };
        return Err(BadInput::new(choice.model.clone(), At::File, what, mend));
    }
    Ok(match model {
        Model::Disk(drive) => {
            let disk::Drive { mut sheet, truth } = *drive;
            sheet.cache = sheet.cache.switched(choice.read_cache, choice.write_buffer);
            sheet.queue.depth = choice.queue;
            let truth = Truth { drift: choice.drift, ..if choice.noise { truth } else { Truth::default() } };
            let drive = Drive::new(&sheet, &truth, seed);
            Unit::Disk(Box::new(sheet), Box::new(drive))
        }
        Model::Other(_) if choice.drift.is_some() => {
            let mend = "take `drift` out of [drive], or choose a disk";
            return Err(BadInput::new(choice.model.clone(), At::File, "only the seeks of a disk drift", mend));
        }
        Model::Other(other) => {
            let other = other.switched(choice.read_cache, choice.write_buffer);
            let other = Other { depth: choice.queue, ..if choice.noise { other } else { other.quiet() } };
            let machine = drive::other::machine(&other, seed);
            Unit::Other(Box::new(other), machine)
        }
    })
}

/// The same on a bench, for those who learn it before it drifts.
///
/// # Errors
/// When there is none of this name, or it cannot be had like that.
pub fn bench(choice: &DriveChoice, seed: u64) -> Result<Box<dyn Device>, BadInput> {
    let drift = choice.drift.filter(|drift| drift.at == Time::ZERO);
    Ok(match unit(&DriveChoice { drift, ..choice.clone() }, seed)? {
        Unit::Disk(_, drive) => Box::new(Bench::new(*drive)),
        Unit::Other(_, machine) => Box::new(Bench::new(machine)),
    })
}
