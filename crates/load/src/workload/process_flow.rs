//! The processes of a recorded machine. `flow` runs them again.

use super::kind::{Manual, Recipe};
use super::trace::{FIT, Fit, OFTEN};
use block::BadInput;
use config::{About, NamedBy, Section};
use std::path::{Path, PathBuf};

config::keys! {
    /// The recording of a machine, such as `halfturn trace capture` makes.
    FILE: String = text("file").naming(NamedBy::File).required();
    /// The device whose requests the drive serves, by its major and minor number.
    DEVICE: (u32, u32) = form("device", "`MAJOR,MINOR`, such as `8,0`", device).else_told("the one with the most requests");
}

/// The processes of a recorded machine.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedPlan {
    /// The recording; a relative path is relative to the folder of the experiment.
    pub file: PathBuf,
    /// Major and minor number of the device whose requests the drive serves; without them that with the most.
    pub device: Option<(u32, u32)>,
    /// What becomes of addresses past the end of the drive.
    pub fit: Fit,
}

impl Recipe for RecordedPlan {
    const MANUALS: &'static [Manual] = &[Manual {
        name: "process-flow",
        text: "A recorded machine runs again on a `[system]`: its processes compute and sleep as recorded, and the drive decides how long they wait. It is the only workload of its experiment.",
        keys: &[FILE.about, DEVICE.about, FIT.about],
        only: &[],
        example: "kind = \"process-flow\"\nfile = \"build.ftrace.gz\"\nfit = \"wrap\"",
        processes: true,
    }];

    fn read(_: &str, section: &Section, folder: &Path) -> Result<RecordedPlan, BadInput> {
        let device = section.get(&DEVICE)?;
        Ok(RecordedPlan { file: folder.join(section.value(&FILE)?), device, fit: section.value(&FIT)? })
    }

    fn longest(&self) -> u32 {
        OFTEN
    }

    fn is_endless(&self) -> bool {
        false
    }

    fn is_machine(&self) -> bool {
        true
    }

    fn files(&self) -> Vec<PathBuf> {
        vec![self.file.clone()]
    }
}

/// Major and minor number of a device.
fn device(section: &Section, about: &About) -> Result<Option<(u32, u32)>, BadInput> {
    let Some(name) = section.name(about.name)? else { return Ok(None) };
    let numbers = name.split_once(',').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    let what = format!("'{name}' is no device of a recorded machine");
    let mend = "give its major and minor number, such as \"8,0\"";
    numbers.map(Some).ok_or_else(|| section.error(about.name, what, mend))
}
