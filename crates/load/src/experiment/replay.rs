//! A trace as a workload; and the pace at which any records are played.

use super::varied::{Scope, Varied};
use super::workload::MOST_AT_ONCE;
use block::BadInput;
use config::Section;
use std::path::{Path, PathBuf};

/// Which trace, and how it is replayed.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceChoice {
    /// The file; a relative path is relative to the folder of the experiment.
    pub file: PathBuf,
    /// Its format, where it is not to be guessed.
    pub format: Option<String>,
    /// Which of the devices in the trace, by name or `all`; without one, the only one there is.
    pub device: Option<String>,
    /// What becomes of addresses past the end of the drive.
    pub fit: Fit,
    /// When its requests arrive.
    pub pace: Pace,
}

/// How records are played.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// What decides when a request arrives.
    pub replay: Replay,
    /// Of a closed replay: how many are in flight at once; 1 for the others.
    pub depth: u32,
    /// So many times faster than recorded; above 0, and 1 for a closed replay.
    pub time_scale: f64,
}

/// What decides when a recorded request arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Replay {
    /// Its recorded time.
    #[default]
    Open,
    /// Its recorded time, but no sooner than an earlier request for the same extent has ended.
    Hold,
    /// The end of another: [`Pace::depth`] are in flight at once.
    Closed,
}

/// What becomes of a request past the end of the drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fit {
    /// It is an error.
    #[default]
    Error,
    /// All addresses shrink in proportion.
    Scale,
    /// Its address is taken modulo the capacity.
    Wrap,
    /// The parts of the device that the trace touches are moved together.
    Compact,
}

pub(super) fn read(section: &Section, scope: Scope, folder: &Path, varied: &Varied) -> Result<TraceChoice, BadInput> {
    let pace = pace(section, scope, varied)?;
    Ok(TraceChoice {
        file: folder.join(section.need("file", section.string("file")?)?),
        format: section.string("format")?,
        device: section.name("device")?,
        fit: fit(section)?,
        pace,
    })
}

/// `fit`.
pub(super) fn fit(section: &Section) -> Result<Fit, BadInput> {
    let fits = [("error", Fit::Error), ("scale", Fit::Scale), ("wrap", Fit::Wrap), ("compact", Fit::Compact)];
    Ok(section.choice("fit", &fits)?.unwrap_or_default())
}

pub(super) fn pace(section: &Section, scope: Scope, varied: &Varied) -> Result<Pace, BadInput> {
    varied.belongs(scope, section, "depth", "replay", &["closed"])?;
    varied.belongs(scope, section, "time_scale", "replay", &["open", "hold"])?;
    let depth = section.within("depth", 1, MOST_AT_ONCE)?.unwrap_or(1);
    let replays = [("open", Replay::Open), ("hold", Replay::Hold), ("closed", Replay::Closed)];
    let replay = section.choice("replay", &replays)?.unwrap_or_default();
    let closed = replay == Replay::Closed;
    let time_scale = section.f64("time_scale")?.unwrap_or(1.0);
    if time_scale <= 0.0 {
        let mend = "give a number above 0; 20 is twenty times faster";
        return Err(section.error("time_scale", format!("`time_scale` is {time_scale}"), mend));
    }
    Ok(Pace { replay, depth: if closed { depth } else { 1 }, time_scale: if closed { 1.0 } else { time_scale } })
}
