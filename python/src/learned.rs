//! Drives that are learned from the times of commands, in virtual time.

use crate::{Following, refuse, work};
use block::{At, BadInput, Caps, Command, Device, Outcome, Tag, Time};
use load::experiment::DriveChoice;
use profile::{Grade, ProfileOptions, ProfileStep, ProgressWatcher, Scratch, Thoroughness};
use pyo3::prelude::*;
use std::panic::resume_unwind;
use std::sync::atomic::Ordering::Relaxed;

/// A device that comes back no more once whoever waits has had enough.
struct Interruptible<'a> {
    device: Box<dyn Device>,
    following: &'a Following,
}

impl Device for Interruptible<'_> {
    fn caps(&self) -> Caps {
        self.device.caps()
    }

    fn now(&self) -> Time {
        self.device.now()
    }

    fn issue(&mut self, tag: Tag, command: Command) -> Time {
        self.device.issue(tag, command)
    }

    fn next(&mut self, until: Time) -> Option<(Time, Tag, Outcome)> {
        if self.following.stopped.load(Relaxed) {
            // Unwinds to the thread's end: nobody reads what would come of it.
            resume_unwind(Box::new("interrupted"));
        }
        self.device.next(until)
    }
}

/// Tells how many thousandths of the drive are mapped.
struct Mapped<'a>(&'a Following);

impl ProgressWatcher for Mapped<'_> {
    fn step(&mut self, _: ProfileStep) {}

    fn on_mapped(&mut self, done: u64, all: u64) {
        self.0.replications.store((u128::from(done) * 1000 / u128::from(all.max(1))) as u64, Relaxed);
    }
}

/// The file that `halfturn profile DEVICE -o` writes; why it is to be believed with the intervals it has, if it is; how many commands
/// it took, and how many seconds of the drive.
#[pyfunction]
#[pyo3(name = "profile", signature = (device, quick, scratch, seed, progress))]
pub fn learn(
    py: Python,
    device: String,
    quick: bool,
    scratch: Option<&str>,
    seed: u64,
    progress: Option<&Bound<PyAny>>,
) -> PyResult<(String, Option<String>, u64, f64)> {
    let bad = |what| BadInput::new("--scratch", At::File, what, "a size has a unit: B, kB, KiB, MB, MiB, GB, GiB ...");
    let scratch = scratch.map(Scratch::parse).transpose().map_err(|what| refuse(py, bad(what)))?;
    let effort = if quick { Thoroughness::Quick } else { Thoroughness::Thorough };
    let options = ProfileOptions { name: device, seed, effort, scratch };
    work(py, 1, progress, |following| {
        let mut device = Interruptible { device: simulated(&options.name, seed)?, following };
        let found = profile::profile(&mut device, &options, &mut Mapped(following))?;
        let file = found.file(&options.name).map_err(|why| found.refuse(&options.name, why))?;
        let usable = match file.grade {
            Grade::Good => None,
            Grade::Usable(why) => Some(why),
            Grade::Refused(why) => return Err(found.refuse(&options.name, why)),
        };
        Ok((file.text, usable, found.commands, found.time.as_secs()))
    })
}

fn simulated(name: &str, seed: u64) -> Result<Box<dyn Device>, BadInput> {
    let Some(model) = name.strip_prefix("simulated:") else {
        let what = "Python learns drives in virtual time alone";
        return Err(BadInput::new(name, At::File, what, "run `halfturn profile`, or name `simulated:` and a drive"));
    };
    sim::bench(&DriveChoice::plain(model, disk::catalogue::model(model)?.depth()), seed)
}
