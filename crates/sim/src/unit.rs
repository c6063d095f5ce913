//! The device of an experiment: a disk or another.

use crate::bench::Bench;
use block::{BadInput, Device, Time};
use disk::{Model, Other, Sheet};
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
    Ok(match choice.make_model()? {
        Model::Disk(drive) => {
            let disk::Drive { sheet, truth } = *drive;
            let drive = Drive::new(&sheet, &truth, seed);
            Unit::Disk(Box::new(sheet), Box::new(drive))
        }
        Model::Other(other) => {
            let machine = drive::other::machine(&other, seed);
            Unit::Other(other, machine)
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
