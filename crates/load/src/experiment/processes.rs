//! Workloads that are processes: `kind = "compression"`, `kind = "processes"` and `kind = "process-flow"`.

use super::{Fit, PAGE, Pattern, Region, pattern, replay};
use crate::draw::Draw;
use block::{BadInput, Span, units};
use config::Section;
use std::path::{Path, PathBuf};

/// The most processes of a workload.
const MOST: u32 = 4096;

/// Times drawn anew each time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// Their mean.
    pub mean: Span,
    /// How far they lie around it, as a share of it, evenly; without it they are exponentially distributed.
    pub spread: Option<f64>,
}

impl Times {
    /// One of them.
    pub fn draw(&self, draw: &mut Draw) -> Span {
        let times = match self.spread {
            Some(0.0) => return self.mean,
            Some(spread) => 1.0 + spread * (2.0 * draw.unit() - 1.0),
            None => draw.exponential(),
        };
        Span((self.mean.0 as f64 * times + 0.5) as u64)
    }
}

/// Processes that each compress a large file (004 §5.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CompressionPlan {
    /// How many; at least 1.
    pub processes: u32,
    /// Pages that each reads, and that each writes.
    pub input: u64,
    /// See `input`.
    pub output: u64,
    /// Computing on a page that was read.
    pub compute: Times,
    /// Where the files lie that are read.
    pub region: Region,
    /// Where those lie that are written.
    pub output_region: Region,
    /// Pages of one file before those of the next; without it the files lie whole, each somewhere in its part of the region.
    pub interleave: Option<u32>,
    /// After so many pages each process sleeps for so long.
    pub pause: Option<(u64, Span)>,
}

/// Processes made up of chances.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessPlan {
    /// How many; at least 1.
    pub processes: u32,
    /// Computing before each request.
    pub compute: Times,
    /// Share of the requests that the process waits for at once.
    pub critical: f64,
    /// Share of those it waits for after a while.
    pub limited: f64,
    /// That while, computed.
    pub limit: Times,
    /// Requests of each; without it processes go on.
    pub requests: Option<u64>,
    /// What they ask.
    pub pattern: Pattern,
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

pub(super) fn recorded(section: &Section, folder: &Path) -> Result<RecordedPlan, BadInput> {
    let number = |name: &str| {
        let (major, minor) = name.split_once(',')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    };
    let device = section.name("device")?.map(|name| {
        let what = format!("'{name}' is no device of a recorded machine");
        number(&name).ok_or_else(|| section.error("device", what, "give its major and minor number, such as \"8,0\""))
    });
    Ok(RecordedPlan {
        file: folder.join(section.need("file", section.string("file")?)?),
        device: device.transpose()?,
        fit: replay::fit(section)?,
    })
}

pub(super) fn compression(section: &Section) -> Result<CompressionPlan, BadInput> {
    let file = |key: &str| -> Result<u64, BadInput> {
        let blocks = section.need(key, section.size(key)?)?;
        if blocks == 0 || !blocks.is_multiple_of(u64::from(PAGE)) {
            let what = format!("`{key}` is {}, not whole pages", units::show_blocks(blocks));
            return Err(section.error(key, what, "give a multiple of 4KiB"));
        }
        Ok(blocks / u64::from(PAGE))
    };
    let region = pattern::region_of(section, "output_region")?;
    let interleave = section.size("interleave")?.map(|blocks| blocks / u64::from(PAGE));
    if interleave.is_some_and(|pages| !(1..=1 << 20).contains(&pages)) {
        let what = "`interleave` is less than a page, or more than 4 GiB";
        return Err(section.error("interleave", what, "give 4KiB or more"));
    }
    Ok(CompressionPlan {
        processes: processes(section)?,
        input: file("input")?,
        output: file("output")?,
        compute: times(section, "compute", Some(0.2))?,
        region: pattern::region(section)?.unwrap_or(Region::WHOLE),
        output_region: section.need("output_region", region)?,
        pause: section.span("pause")?.map(|span| Ok((file("pause_every")?, span))).transpose()?,
        interleave: interleave.map(|pages| pages as u32),
    })
}

pub(super) fn chances(section: &Section) -> Result<ProcessPlan, BadInput> {
    let critical = section.share("critical")?.unwrap_or(0.0);
    let limited = section.share("limited")?.unwrap_or(0.0);
    if critical + limited > 1.0 {
        let what = format!("`critical` and `limited` add up to {}", critical + limited);
        return Err(section.error("limited", what, "let them add up to 1 at most; the rest is non-critical"));
    }
    let compute = times(section, "compute", None)?;
    if compute.mean == Span::ZERO && critical < 1.0 {
        let what = "`compute` is zero: a process would ask without end at one instant";
        return Err(section.error("compute", what, "let it compute, or wait for each request (critical = 1.0)"));
    }
    let limit = if limited > 0.0 { times(section, "limit", None)? } else { Times { mean: Span::ZERO, spread: None } };
    Ok(ProcessPlan {
        processes: processes(section)?,
        compute,
        critical,
        limited,
        limit,
        requests: section.u64("requests")?,
        pattern: pattern::read(section)?,
    })
}

fn processes(section: &Section) -> Result<u32, BadInput> {
    section.need("processes", section.within("processes", 1, MOST)?)
}

fn times(section: &Section, key: &str, spread: Option<f64>) -> Result<Times, BadInput> {
    let mean = section.need(key, section.span(key)?)?;
    Ok(Times { mean, spread: section.share("spread")?.or(spread) })
}
