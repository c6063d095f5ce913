//! A scan: blocks that are wanted once, in any order.
//!
//! **It asks for nothing.** The core is given the set of blocks before the run and reads them where that costs no request
//! anything: in rotational delays, and while there are no requests (`sched::free`). So it has no queue and no place in one.

use super::kind::{Manual, Recipe};
use super::pattern::{self, Region};
use super::{Draft, Workload, misfit};
use crate::draw::Draw;
use block::{BadInput, Extent, Lbn, Time, units};
use config::Section;
use sched::Wanted;
use std::path::Path;

config::keys! {
    /// The least that is read at once: a scan remembers what it has read in units of this.
    UNIT: u32 = blocks("unit").usually("4KiB");
}

/// A scan of a part of the drive.
#[derive(Clone, Debug, PartialEq)]
pub struct ScanPlan {
    /// Blocks of a unit; at least 1.
    pub unit: u32,
    /// The part of the drive that is read.
    pub region: Region,
}

impl ScanPlan {
    /// The blocks it wants, on a drive of so many; `name` is the workload's.
    ///
    /// # Errors
    /// When there are too many units of the drive for any to be remembered.
    pub fn wanted_blocks(&self, name: &str, blocks: u64) -> Result<Wanted, BadInput> {
        if !Wanted::fits(blocks, self.unit) {
            let (all, unit) = (units::show_blocks(blocks), units::show_blocks(self.unit.into()));
            let what = format!("a drive of {all} has more units of {unit} than a scan can remember");
            return Err(misfit(name, what, "give a larger `unit`, of which the drive has 2^40 at most"));
        }
        let mut wanted = Wanted::nothing(blocks, self.unit);
        let (from, until) = self.region.on(blocks);
        wanted.want(Lbn(from), Lbn(until.min(blocks)));
        Ok(wanted)
    }
}

impl Recipe for ScanPlan {
    const MANUALS: &'static [Manual] = &[Manual {
        name: "scan",
        text: "The drive, or a part of it, is read once in whatever order costs least: blocks that pass under the head while a request waits for its sector, on the way to it, and while there are no requests. A backup, a scrub or a checksum of a busy disk. No request is served later because of it, and it needs no priority.",
        keys: &[UNIT.about, pattern::VOLUME.about, pattern::REGION.about],
        only: &[],
        example: "kind = \"scan\"\nregion = \"0%..10%\"",
        processes: false,
    }];

    fn read(_: &str, section: &Section, _: &Path) -> Result<ScanPlan, BadInput> {
        let region = section.get(&pattern::REGION)?.unwrap_or(Region::WHOLE);
        Ok(ScanPlan { unit: section.value(&UNIT)?.max(1), region })
    }

    fn build(&self, name: &str, blocks: u64, _: Draw) -> Result<Box<dyn Workload>, BadInput> {
        let (from, until) = self.region.on(blocks);
        if from >= until || until > blocks {
            let what = format!("blocks {from} to {until} are not on a drive of {blocks} blocks");
            return Err(misfit(name, what, "give another `region`"));
        }
        Ok(Box::new(Scan))
    }

    /// It has no requests: those of others are shorter.
    fn longest(&self) -> u32 {
        u32::MAX
    }

    fn is_endless(&self) -> bool {
        false
    }

    fn scan(&self) -> Option<&ScanPlan> {
        Some(self)
    }

    fn confine(&mut self, region: Region) {
        self.region = region;
    }
}

/// Asks for nothing itself: the core reads for it.
struct Scan;

impl Workload for Scan {
    fn due(&self) -> Option<Time> {
        None
    }

    fn make(&mut self) -> Result<Draft, BadInput> {
        unreachable!("a scan has no requests")
    }

    fn end_request(&mut self, _: Time, _: Extent) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_drive_of_any_size_there_is_a_unit_that_is_large_enough() {
        let told = |unit| {
            let scan = ScanPlan { unit, region: Region::WHOLE };
            scan.wanted_blocks("all", 1 << 54).err().map(|error| error.to_string())
        };
        let refused = told(8).expect("too many units");
        assert!(refused.contains("units of 4 KiB") && refused.contains("mend: give a larger `unit`"), "{refused}");
        assert_eq!(told(1 << 24), None);
    }
}
