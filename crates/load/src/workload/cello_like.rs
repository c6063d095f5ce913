//! A week of the busiest disk of a timesharing system, made up after what was published of cello, a machine of 1992
//! (Ruemmler and Wilkes, UNIX disk access patterns, 1993): the load of the Disk Mimic's trace, which is not to be had.
//!
//! Some 150,000 requests a day (the Disk Mimic), 57 % of them writes, 18 to 33 % of reads and 8 to 12 % of writes going on
//! where the last one ended, most of 8 KiB (Ruemmler and Wilkes). They come in bursts: people's, by the hour; every
//! 30 s what the system's buffers hold, up to 90 writes at once; at night a backup, in sequence. Half of the requests go to
//! the busiest twentieth of the blocks. All else is assumed, and stands here as a constant.

use super::Draft;
use super::replay::Records;
use crate::draw::Draw;
use crate::experiment::Region;
use block::{At, BadInput, Extent, Op, Span, Time, units};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const DAY: u64 = 86_400_000_000_000;
/// The system writes what its buffers hold so often.
const SYNC: u64 = 30_000_000_000;
/// When the backup begins, and how many requests it makes.
const NIGHT: u64 = 2 * DAY / 24;
const BACKUP: u32 = 7_500;

/// The load of each hour, its mean 1: people come at nine and leave after six.
const HOURS: [f64; 24] = [
    0.6, 0.5, 0.5, 0.4, 0.4, 0.4, 0.5, 0.6, 0.9, 1.4, 1.7, 1.7, 1.4, 1.5, 1.8, 1.8, 1.7, 1.5, 1.1, 0.9, 0.8, 0.7, 0.6,
    0.6,
];

/// Bursts of people's a day, and the share of their requests that write.
const BURSTS: f64 = 19_500.0;
const WRITES: f64 = 0.51;

/// Requests of a burst and of a sync: a bounded Pareto distribution (least, most, exponent), and the mean time between
/// two of them.
const BURST: Train = Train { most: 200.0, exponent: 0.9, gap_ns: 20e6 };
const FLUSHED: Train = Train { most: 90.0, exponent: 0.5, gap_ns: 0.2e6 };
const BACKUP_GAP_NS: f64 = 30e6;

/// Share of requests that go on where the last one of their kind ended, and of those that stay near the last one.
const SEQUENTIAL_READS: f64 = 0.12;
const SEQUENTIAL_WRITES: f64 = 0.09;
const NEAR: f64 = 0.2;
/// How near, in blocks.
const NEARBY: u64 = 1024;

/// Sizes in blocks, and how many requests of 100 have them or one before them.
const SIZES: [(u32, u64); 4] = [(16, 60), (8, 65), (4, 87), (2, 100)];
const LARGEST: u64 = 16;

/// A disk of those days: 1.3 GB.
const BLOCKS: u64 = 1_300_000_000 / 512;
/// The least that is worth a region: 1 MiB.
const LEAST: u64 = 2048;
/// A cylinder group of the file system: 8 MiB, and its hot front where inodes and directories lie.
const GROUP: u64 = 16_384;
const FRONT: u64 = GROUP / 16;
const HOT: f64 = 0.5;

/// How many requests come together, and how far apart.
struct Train {
    most: f64,
    exponent: f64,
    gap_ns: f64,
}

impl Train {
    /// A number of requests, 1 at least.
    fn length(&self, draw: &mut Draw) -> f64 {
        let span = 1.0 - libm::pow(self.most, -self.exponent);
        libm::pow(1.0 - draw.unit() * span, -1.0 / self.exponent)
    }
}

/// What happens next, and what after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// Buffers are written.
    Sync,
    /// Someone begins to do something.
    Begin,
    /// The backup begins.
    Backup,
    /// A request of a train, and so many more after it.
    Burst(u32),
    Flushed(u32),
    Saved(u32),
}

/// The requests of so many days.
pub(super) struct Week {
    name: String,
    end: Time,
    /// By time, then by the order in which they were foreseen.
    events: BinaryHeap<Reverse<(Time, u64, Event)>>,
    foreseen: u64,
    places: Places,
    draw: Draw,
}

impl Week {
    /// So many days, in a region of a drive of `capacity` blocks.
    pub(super) fn new(
        name: &str,
        days: u32,
        region: Option<Region>,
        capacity: u64,
        mut draw: Draw,
    ) -> Result<Week, BadInput> {
        let (first, end) = region.map_or((0, capacity.min(BLOCKS)), |region| region.on(capacity));
        if end > capacity || first + LEAST > end {
            let what = format!(
                "the region, blocks {first} to {end} of the {capacity} of the drive, is past its end or less than {}",
                units::show_blocks(LEAST)
            );
            return Err(BadInput::new(format!("workload '{name}'"), At::File, what, "make the region larger"));
        }
        let places = Places::new(first, end - first, &mut draw);
        let end = Time(u64::from(days) * DAY);
        let mut week = Week { name: name.into(), end, events: BinaryHeap::new(), foreseen: 0, places, draw };
        week.foresee(Time::ZERO, Event::Begin);
        week.foresee(Time(SYNC), Event::Sync);
        week.foresee(Time(NIGHT), Event::Backup);
        Ok(week)
    }

    fn foresee(&mut self, at: Time, event: Event) {
        if at < self.end {
            self.events.push(Reverse((at, self.foreseen, event)));
            self.foreseen += 1;
        }
    }

    /// A time after `now`, so many nanoseconds on average.
    fn after(&mut self, now: Time, mean_ns: f64) -> Time {
        now + Span((self.draw.exponential() * mean_ns) as u64)
    }

    /// The next of a train.
    fn goes_on(&mut self, now: Time, gap_ns: f64, left: u32, event: fn(u32) -> Event) {
        if left > 0 {
            let at = self.after(now, gap_ns);
            self.foresee(at, event(left - 1));
        }
    }

    /// Something happens: perhaps a request.
    fn happens(&mut self, now: Time, event: Event) -> Option<Draft> {
        let load = HOURS[(now.0 % DAY / (DAY / 24)) as usize];
        let (stream, in_sequence) = match event {
            Event::Begin => {
                let next = self.after(now, DAY as f64 / BURSTS / load);
                self.foresee(next, Event::Begin);
                let length = BURST.length(&mut self.draw) as u32;
                self.foresee(now, Event::Burst(length - 1));
                return None;
            }
            Event::Sync => {
                self.foresee(now + Span(SYNC), Event::Sync);
                let length = (FLUSHED.length(&mut self.draw) * load).clamp(1.0, FLUSHED.most) as u32;
                self.foresee(now, Event::Flushed(length - 1));
                return None;
            }
            Event::Backup => {
                self.foresee(now + Span(DAY), Event::Backup);
                self.places.ends[Stream::Backup as usize] = self.places.first;
                self.foresee(now, Event::Saved(BACKUP - 1));
                return None;
            }
            Event::Burst(left) => {
                self.goes_on(now, BURST.gap_ns, left, Event::Burst);
                let write = self.draw.unit() < WRITES;
                let (stream, share) =
                    if write { (Stream::Writes, SEQUENTIAL_WRITES) } else { (Stream::Reads, SEQUENTIAL_READS) };
                (stream, self.draw.unit() < share)
            }
            Event::Flushed(left) => {
                self.goes_on(now, FLUSHED.gap_ns, left, Event::Flushed);
                (Stream::Writes, self.draw.unit() < SEQUENTIAL_WRITES)
            }
            Event::Saved(left) => {
                self.goes_on(now, BACKUP_GAP_NS, left, Event::Saved);
                (Stream::Backup, true)
            }
        };
        let op = if stream == Stream::Writes { Op::Write { fua: false } } else { Op::Read };
        Some(Draft { arrives: now, op, at: self.places.next(stream, in_sequence, &mut self.draw) })
    }
}

impl Records for Week {
    fn next(&mut self) -> Result<Option<Draft>, BadInput> {
        while let Some(Reverse((now, _, event))) = self.events.pop() {
            if let Some(draft) = self.happens(now, event) {
                return Ok(Some(draft));
            }
        }
        Ok(None)
    }

    fn name(&self) -> &str {
        &self.name
    }
}

/// What goes on where it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stream {
    Reads,
    Writes,
    Backup,
}

/// The blocks of a request.
fn size(draw: &mut Draw) -> u32 {
    let one = draw.below(100);
    SIZES.iter().find(|(_, below)| one < *below).map_or(SIZES[0].0, |(blocks, _)| *blocks)
}

/// Where requests go.
struct Places {
    first: u64,
    blocks: u64,
    /// The busiest group first.
    groups: Vec<u64>,
    /// Up to each group, the sum of 1/rank (Zipf).
    weights: Vec<f64>,
    /// Where the last request of each stream ended.
    ends: [u64; 3],
    /// Where the last request began.
    last: u64,
}

impl Places {
    fn new(first: u64, blocks: u64, draw: &mut Draw) -> Places {
        let count = (blocks / GROUP).max(1);
        let mut groups: Vec<u64> = (0..count).collect();
        for i in (1..groups.len()).rev() {
            groups.swap(i, draw.below(i as u64 + 1) as usize);
        }
        let mut sum = 0.0;
        let weight = |rank: u64| {
            sum += 1.0 / (rank + 1) as f64;
            sum
        };
        Places { first, blocks, groups, weights: (0..count).map(weight).collect(), ends: [first; 3], last: first }
    }

    fn next(&mut self, stream: Stream, in_sequence: bool, draw: &mut Draw) -> Extent {
        let size = size(draw);
        let (first, last) = (self.first, self.first + self.blocks - LARGEST);
        let end = self.ends[stream as usize];
        let start = if in_sequence && end <= last {
            end
        } else {
            let start = if draw.unit() < NEAR { self.nearby(draw) } else { self.anywhere(draw) };
            (start - (start - first) % u64::from(size)).min(last)
        };
        (self.ends[stream as usize], self.last) = (start + u64::from(size), start);
        Extent::new(start, size)
    }

    fn nearby(&self, draw: &mut Draw) -> u64 {
        (self.last + draw.below(2 * NEARBY)).saturating_sub(NEARBY).max(self.first)
    }

    fn anywhere(&self, draw: &mut Draw) -> u64 {
        let all = self.weights[self.weights.len() - 1];
        let at = draw.unit() * all;
        let rank = self.weights.partition_point(|sum| *sum <= at).min(self.groups.len() - 1);
        let length = GROUP.min(self.blocks);
        let within = if draw.unit() < HOT { FRONT.min(length) } else { length };
        self.first + self.groups[rank] * GROUP + draw.below(within)
    }
}

#[cfg(test)]
mod tests;
