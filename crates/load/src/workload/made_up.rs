//! Days like those of a system that was traced and published, but whose trace is not to be had.

use super::kind::{Manual, Recipe};
use super::pace::{self, Pace};
use super::pattern::{RANGE, Region, range};
use super::week::{self, Week};
use super::{Workload, replay};
use crate::draw::Draw;
use block::BadInput;
use config::{About, Section};
use std::path::Path;

config::keys! {
    /// How many days are made up.
    DAYS: u32 = within("days", 1, 366).usually("7");
    /// The part of the drive that requests go to.
    REGION: Region = form("region", RANGE, range).else_told("the first 1.3 GB of the drive for `cello-like`, the first 335 MB for \
        `hplajw-like`: the disks of those systems");
}

/// Both kinds have the same keys.
const KEYS: &[About] =
    &[DAYS.about, REGION.about, pace::REPLAY.about, pace::DEPTH.about, pace::TIME_SCALE.about];

/// What the busiest disk of a system was asked in 1992, made up after its published statistics.
#[derive(Clone, Debug, PartialEq)]
pub struct MadeUpPlan {
    /// The system whose habits it has.
    pub like: Like,
    /// For how many days; at least 1.
    pub days: u32,
    /// Where on the drive; a disk of those days, at the beginning of the drive, unless the file says otherwise.
    pub region: Option<Region>,
    /// When its requests arrive.
    pub pace: Pace,
}

/// A system whose days are made up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Like {
    /// A timesharing system of many users.
    Cello,
    /// A workstation of one.
    Hplajw,
}

const CELLO: Manual = Manual {
    name: "cello-like",
    text: "Days like those of cello, a timesharing system of 1992: some 150,000 requests a day, most of them small writes in bursts. They are made up from what Ruemmler and Wilkes published of it (UNIX disk access patterns, 1993).",
    keys: KEYS,
    only: pace::ONLY,
    example: "kind = \"cello-like\"\ndays = 1",
    processes: false,
};

const HPLAJW: Manual = Manual {
    name: "hplajw-like",
    text: "Days like those of hplajw, a workstation of 1992: some 42,000 requests a week. They are made up from what Ruemmler and Wilkes published of it (UNIX disk access patterns, 1993).",
    keys: KEYS,
    only: pace::ONLY,
    example: "kind = \"hplajw-like\"\nreplay = \"hold\"",
    processes: false,
};

impl Recipe for MadeUpPlan {
    const MANUALS: &'static [Manual] = &[CELLO, HPLAJW];

    fn read(name: &str, section: &Section, _: &Path) -> Result<MadeUpPlan, BadInput> {
        Ok(MadeUpPlan {
            like: if name == CELLO.name { Like::Cello } else { Like::Hplajw },
            days: section.value(&DAYS)?,
            region: section.get(&REGION)?,
            pace: Pace::read(section)?,
        })
    }

    fn build(&self, name: &str, blocks: u64, draw: Draw) -> Result<Box<dyn Workload>, BadInput> {
        let week = Week::new(name, self.like, self.days, self.region, blocks, draw)?;
        Ok(Box::new(replay::Replay::new(week, &self.pace)?))
    }

    fn longest(&self) -> u32 {
        week::LARGEST as u32
    }

    fn is_endless(&self) -> bool {
        false
    }

    fn is_open(&self) -> bool {
        self.pace.is_open()
    }
}
