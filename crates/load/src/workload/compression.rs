//! Processes that each compress a large file (The Process-Flow Model, Section 5.2). `flow` runs them.

use super::kind::{Manual, Recipe};
use super::pattern::{PAGE, RANGE, Region, range};
use super::times::{MOST, Times};
use block::{BadInput, Span, units};
use config::{Key, Section};
use std::path::Path;

config::keys! {
    /// How many processes there are.
    PROCESSES: u32 = within("processes", 1, MOST).required();
    /// How long a process computes on each page that it has read, on average.
    COMPUTE: Span = span("compute").required();
    /// How far computing times lie around their mean, as a share of it, evenly.
    SPREAD: f64 = share("spread").usually("0.2");
    /// Size of the file that each process reads, page by page, one page ahead.
    INPUT: u64 = size("input").required();
    /// Size of the file that each process writes, through the buffer cache.
    OUTPUT: u64 = size("output").required();
    /// The part of the drive where the files lie that are read.
    REGION: Region = form("region", RANGE, range).else_told("all of the drive");
    /// The part of the drive where the files lie that are written.
    OUTPUT_REGION: Region = form("output_region", RANGE, range).required();
    /// Size of the pieces in which the files of several processes take turns on the drive.
    INTERLEAVE: u64 = size("interleave").else_told("each file lies whole, somewhere in its part of the region");
    /// How long a process sleeps each time it has read `pause_every`.
    PAUSE: Span = span("pause").else_told("it never sleeps");
    /// How much a process reads before it sleeps for `pause`.
    PAUSE_EVERY: u64 = size("pause_every").else_told("must be given with `pause`");
}

/// Processes that each compress a large file (004 §5.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CompressionPlan {
    /// How many; at least 1.
    pub processes: u32,
    /// Pages that each reads, and that each writes.
    pub input: u64,
    /// Pages that each writes.
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

impl Recipe for CompressionPlan {
    const MANUALS: &'static [Manual] = &[Manual {
        name: "compression",
        text: "Processes that each read a large file, compute on every page of it and write a smaller one through the buffer cache of a `[system]` (The Process-Flow Model, Section 5.2).",
        keys: &[
            PROCESSES.about,
            COMPUTE.about,
            SPREAD.about,
            INPUT.about,
            OUTPUT.about,
            REGION.about,
            OUTPUT_REGION.about,
            INTERLEAVE.about,
            PAUSE_EVERY.about,
            PAUSE.about,
        ],
        only: &[],
        example: "kind = \"compression\"\nprocesses = 2\ncompute = \"20ms\"\ninput = \"4MiB\"\noutput = \"2MiB\"\nregion = \"0%..50%\"\noutput_region = \"50%..\"",
        processes: true,
    }];

    fn read(_: &str, section: &Section, _: &Path) -> Result<CompressionPlan, BadInput> {
        let interleave = section.get(&INTERLEAVE)?.map(|blocks| blocks / u64::from(PAGE));
        if interleave.is_some_and(|pages| !(1..=1 << 20).contains(&pages)) {
            let what = "`interleave` is less than a page, or more than 4 GiB";
            return Err(section.error(INTERLEAVE.name(), what, "give 4KiB or more"));
        }
        let pause_every = pages(section, &PAUSE_EVERY)?;
        let pause = match section.get(&PAUSE)? {
            Some(span) => Some((section.need(PAUSE_EVERY.name(), pause_every)?, span)),
            None => None,
        };
        Ok(CompressionPlan {
            processes: section.value(&PROCESSES)?,
            input: section.need(INPUT.name(), pages(section, &INPUT)?)?,
            output: section.need(OUTPUT.name(), pages(section, &OUTPUT)?)?,
            compute: Times { mean: section.value(&COMPUTE)?, spread: Some(section.value(&SPREAD)?) },
            region: section.get(&REGION)?.unwrap_or(Region::WHOLE),
            output_region: section.value(&OUTPUT_REGION)?,
            pause,
            interleave: interleave.map(|pages| pages as u32),
        })
    }

    fn longest(&self) -> u32 {
        PAGE
    }

    fn is_endless(&self) -> bool {
        false
    }
}

/// A size in whole pages, where the file says.
fn pages(section: &Section, key: &Key<u64>) -> Result<Option<u64>, BadInput> {
    let Some(blocks) = section.get(key)? else { return Ok(None) };
    if blocks == 0 || !blocks.is_multiple_of(u64::from(PAGE)) {
        let what = format!("`{}` is {}, not whole pages", key.name(), units::show_blocks(blocks));
        return Err(section.error(key.name(), what, "give a multiple of 4KiB"));
    }
    Ok(Some(blocks / u64::from(PAGE)))
}
