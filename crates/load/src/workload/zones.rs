//! Zones written from their beginning to their end, as a drive asks whose zones the host manages.
//!
//! So many writers; each takes the next zone that nobody writes, resets it (a discard of all of it) and writes it with one request at a
//! time, so that no scheduler can bring the writes of a zone out of order. At the end of the region the first zone comes again.

use super::kind::{MOST_AT_ONCE, Manual, Recipe};
use super::pattern::{self, Region};
use super::{Draft, Workload, misfit};
use crate::draw::Draw;
use block::{BadInput, Discarded, Extent, Op, Time, units};
use config::Section;
use std::collections::VecDeque;
use std::path::Path;

config::keys! {
    /// Size of a zone, as the drive's file has it.
    ZONE: u32 = blocks("zone").usually("256MiB");
    /// Zones written at once, each by one request at a time.
    WRITERS: u32 = within("writers", 1, MOST_AT_ONCE).usually("1");
}

/// Zones written one after another.
#[derive(Clone, Debug, PartialEq)]
pub struct ZoneWrites {
    /// Blocks of a zone; at least 1.
    pub zone: u32,
    /// Blocks of a request; the last one of a zone may have fewer.
    pub blocks: u32,
    /// How many zones are written at once; at least 1.
    pub writers: u32,
    /// The part of the drive whose whole zones are written.
    pub region: Region,
}

impl Recipe for ZoneWrites {
    const MANUALS: &'static [Manual] = &[Manual {
        name: "zones",
        text: "Whole zones are written from their beginning to their end, each reset before; what a log-structured file system asks of a drive of kind `host-managed`. When all zones of the region are written, the first is reset and written again.",
        keys: &[ZONE.about, WRITERS.about, pattern::SIZE.about, pattern::VOLUME.about, pattern::REGION.about],
        only: &[],
        example: "kind = \"zones\"\nsize = \"1MiB\"\nwriters = 4\nregion = \"1%..\"",
        processes: false,
    }];

    fn read(_: &str, section: &Section, _: &Path) -> Result<ZoneWrites, BadInput> {
        let (zone, blocks) = (section.value(&ZONE)?, section.value(&pattern::SIZE)?);
        if blocks > zone {
            let what = format!("requests of {} in zones of {}", units::show_blocks(blocks.into()), units::show_blocks(zone.into()));
            return Err(section.error(pattern::SIZE.name(), what, "give a `size` of at most `zone`"));
        }
        let region = section.get(&pattern::REGION)?.unwrap_or(Region::WHOLE);
        Ok(ZoneWrites { zone, blocks, writers: section.value(&WRITERS)?, region })
    }

    fn build(&self, name: &str, blocks: u64, _: Draw) -> Result<Box<dyn Workload>, BadInput> {
        let (from, until) = self.region.on(blocks);
        let zone = u64::from(self.zone);
        let (first, end) = (from.div_ceil(zone), until.min(blocks) / zone);
        if end < first + u64::from(self.writers) {
            let all = end.saturating_sub(first);
            let what = format!("{all} whole zones in its region, for {} writers", self.writers);
            let mend = "give a larger `region`, or fewer `writers`";
            return Err(misfit(name, what, mend));
        }
        Ok(Box::new(ZoneWriters {
            ready: (0..self.writers as usize).map(|writer| (Time::ZERO, writer)).collect(),
            // All of them take their first zone when they begin.
            writers: vec![None; self.writers as usize],
            next: first,
            zones: (first, end),
            plan: self.clone(),
        }))
    }

    fn longest(&self) -> u32 {
        self.blocks
    }

    fn is_endless(&self) -> bool {
        true
    }

    fn outstanding(&self) -> Option<u32> {
        Some(self.writers)
    }

    fn confine(&mut self, region: Region) {
        self.region = region;
    }
}

/// A zone that is being written: its first block, and how many blocks of it were asked for.
#[derive(Clone, Copy, Debug)]
struct OpenZone {
    start: u64,
    written: u32,
}

struct ZoneWriters {
    /// When each writer asks again, in order.
    ready: VecDeque<(Time, usize)>,
    writers: Vec<Option<OpenZone>>,
    /// The zone that is taken next, if nobody writes it, of those from the first to before the second.
    next: u64,
    zones: (u64, u64),
    plan: ZoneWrites,
}

impl ZoneWriters {
    /// The first block of the next zone that nobody writes: there are at least as many zones as writers.
    fn take_zone(&mut self) -> u64 {
        loop {
            let start = self.next * u64::from(self.plan.zone);
            self.next = if self.next + 1 < self.zones.1 { self.next + 1 } else { self.zones.0 };
            if self.writers.iter().flatten().all(|open| open.start != start) {
                return start;
            }
        }
    }
}

impl Workload for ZoneWriters {
    fn due(&self) -> Option<Time> {
        self.ready.front().map(|(time, _)| *time)
    }

    fn make(&mut self) -> Result<Draft, BadInput> {
        let (arrives, writer) = self.ready.pop_front().unwrap_or((Time::NEVER, 0));
        let zone = self.plan.zone;
        match self.writers[writer].filter(|open| open.written < zone) {
            Some(open) => {
                let blocks = self.plan.blocks.min(zone - open.written);
                let at = Extent::new(open.start + u64::from(open.written), blocks);
                self.writers[writer] = Some(OpenZone { written: open.written + blocks, ..open });
                Ok(Draft { arrives, op: Op::Write { fua: false }, at })
            }
            None => {
                self.writers[writer] = None;
                let start = self.take_zone();
                self.writers[writer] = Some(OpenZone { start, written: 0 });
                let at = Extent::new(start, zone);
                Ok(Draft { arrives, op: Op::Discard(Discarded::Anything), at })
            }
        }
    }

    fn end_request(&mut self, now: Time, at: Extent) {
        let zone = u64::from(self.plan.zone);
        let of = at.start.0 / zone * zone;
        let writer = self.writers.iter().position(|open| open.is_some_and(|open| open.start == of));
        self.ready.push_back((now, writer.unwrap_or_default()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However many writers there are and in whatever order their requests end: each zone is reset, then written from its first block to
    /// its last, and no two writers are in one.
    #[test]
    fn each_zone_is_written_from_its_beginning_to_its_end() {
        for seed in 0..50 {
            let mut draw = Draw::new(seed, 0);
            let writers = 1 + (draw.below(4) as u32);
            let region = Region::WHOLE;
            let plan = ZoneWrites { zone: 8 * (1 + draw.below(9) as u32), blocks: 1 + draw.below(8) as u32, writers, region };
            let zones = u64::from(writers) + draw.below(3);
            let mut load = plan.build("it", zones * u64::from(plan.zone) + 3, Draw::new(1, 0)).expect("it fits");
            let mut pointers: Vec<Option<u64>> = vec![None; zones as usize];
            let mut flying = Vec::new();
            for step in 0..600 {
                if load.due().is_some() && (flying.is_empty() || draw.below(2) == 0) {
                    let Draft { op, at, .. } = load.make().expect("it can be made");
                    let zone = u64::from(plan.zone);
                    let pointer = &mut pointers[(at.start.0 / zone) as usize];
                    match op {
                        Op::Discard(_) => {
                            assert!(pointer.is_none_or(|it| it % zone == 0), "seed {seed}, step {step}: reset half way");
                            assert_eq!((at.start.0 % zone, u64::from(at.blocks)), (0, zone));
                            *pointer = Some(at.start.0);
                        }
                        _ => {
                            assert_eq!(*pointer, Some(at.start.0), "seed {seed}, step {step}");
                            *pointer = Some(at.end().0);
                            assert!(at.end().0 <= (at.start.0 / zone + 1) * zone, "seed {seed}: beyond the zone");
                        }
                    }
                    flying.push(at);
                } else {
                    let at = flying.swap_remove(draw.below(flying.len() as u64) as usize);
                    load.end_request(Time(step), at);
                }
                let mut zones: Vec<u64> = flying.iter().map(|at: &Extent| at.start.0 / u64::from(plan.zone)).collect();
                zones.sort_unstable();
                zones.dedup();
                assert_eq!(zones.len(), flying.len(), "seed {seed}: two requests in a zone");
            }
        }
    }
}
