//! A week of the busiest disk of a system of 1992, made up after what was published of it (Ruemmler and Wilkes, UNIX disk
//! access patterns, 1993): that of cello, the load of the Disk Mimic's trace, which is not to be had; and that of a
//! quieter machine, hplajw.
//!
//! Requests come in bursts: people's, by the day and the hour; every 30 s what the system's buffers hold, many writes at
//! once; at night perhaps a backup, in sequence. Most go to few blocks.

mod systems;

use super::made_up::Like;
use super::pattern::Region;
use super::replay::RecordSource;
use super::{Draft, misfit};
use crate::draw::Draw;
use block::{BadInput, Extent, Op, Span, Time, units};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use systems::{CELLO, HPLAJW, System};

const DAY: u64 = 86_400_000_000_000;
const HOUR: u64 = DAY / 24;
/// The system writes what its buffers hold so often.
const SYNC: u64 = 30_000_000_000;
/// Between two requests of a backup.
const BACKUP_GAP_NS: f64 = 30e6;
/// Where bursts are farther apart than this, each hour is looked at by itself.
const LULL_NS: f64 = 60e9;

/// No request is longer, in blocks.
pub(super) const LARGEST: u64 = 16;
/// The least that is worth a region: 1 MiB.
const LEAST: u64 = 2048;
/// A cylinder group of the file system: 8 MiB.
const GROUP: u64 = 16_384;

/// How many requests come together: a bounded Pareto distribution of 1 to `most`; and the mean time between two of them.
#[derive(Debug)]
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
    /// The file system writes its buffers.
    Sync,
    /// Someone begins to do something.
    Begin,
    /// Nobody did for the rest of an hour.
    Lull,
    /// The nightly backup begins.
    Backup,
    /// A request of a train, and so many more after it.
    Burst(u32),
    Flushed(u32),
    Saved(u32),
}

/// The requests of so many days.
pub(super) struct Week {
    name: String,
    system: &'static System,
    end: Time,
    /// By time, then by the order in which they were foreseen.
    events: BinaryHeap<Reverse<(Time, u64, Event)>>,
    foreseen: u64,
    places: Places,
    draw: Draw,
}

impl Week {
    /// So many days of a system like this, in a region of a drive of `capacity` blocks.
    pub(super) fn new(
        name: &str,
        like: Like,
        days: u32,
        region: Option<Region>,
        capacity: u64,
        mut draw: Draw,
    ) -> Result<Week, BadInput> {
        let system = match like {
            Like::Cello => &CELLO,
            Like::Hplajw => &HPLAJW,
        };
        let (first, end) = region.map_or((0, capacity.min(system.blocks)), |region| region.on(capacity));
        if end > capacity || first + LEAST > end {
            let what = format!(
                "the region, blocks {first} to {end} of the {capacity} of the drive, is past its end or less than {}",
                units::show_blocks(LEAST)
            );
            return Err(misfit(name, what, "make the region larger"));
        }
        let places = Places::new(system, first, end - first, &mut draw);
        let end = Time(u64::from(days) * DAY);
        let mut week = Week { name: name.into(), system, end, events: BinaryHeap::new(), foreseen: 0, places, draw };
        week.foresee(Time::ZERO, Event::Begin);
        week.foresee(Time(SYNC), Event::Sync);
        if let Some((night, _)) = system.backup {
            week.foresee(Time(night), Event::Backup);
        }
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

    /// How busy an instant is: its mean over a week is 1.
    fn load(&self, now: Time) -> f64 {
        let (days, hours) = (now.0 / DAY, now.0 / HOUR);
        self.system.days[(days % 7) as usize] * self.system.hours[(hours % 24) as usize]
    }

    /// When someone begins next, if that is before the hour is over or soon anyway.
    fn expect(&mut self, now: Time) {
        let mean_ns = DAY as f64 / self.system.bursts / self.load(now);
        let (next, over) = (self.after(now, mean_ns), Time((now.0 / HOUR + 1) * HOUR));
        if mean_ns > LULL_NS && next >= over {
            self.foresee(over, Event::Lull);
        } else {
            self.foresee(next, Event::Begin);
        }
    }

    /// Writes of what the buffers hold, perhaps nothing.
    fn flush(&mut self, now: Time) {
        let (flushed, load) = (&self.system.flushed, self.load(now));
        let more = match self.system.dirty {
            None => load,
            Some(share) if self.draw.unit() < share * load => 1.0,
            Some(_) => return,
        };
        let length = (flushed.length(&mut self.draw) * more).clamp(1.0, flushed.most) as u32;
        self.foresee(now, Event::Flushed(length - 1));
    }

    /// Something happens: perhaps a request.
    fn happens(&mut self, now: Time, event: Event) -> Option<Draft> {
        let system = self.system;
        let (stream, in_sequence) = match event {
            Event::Lull => {
                self.expect(now);
                return None;
            }
            Event::Begin => {
                self.expect(now);
                let length = system.burst.length(&mut self.draw) as u32;
                self.foresee(now, Event::Burst(length - 1));
                return None;
            }
            Event::Sync => {
                self.foresee(now + Span(SYNC), Event::Sync);
                self.flush(now);
                return None;
            }
            Event::Backup => {
                self.foresee(now + Span(DAY), Event::Backup);
                self.places.ends[Stream::Backup as usize] = self.places.first;
                let (_, requests) = system.backup?;
                self.foresee(now, Event::Saved(requests - 1));
                return None;
            }
            Event::Burst(left) => {
                self.goes_on(now, system.burst.gap_ns, left, Event::Burst);
                let write = self.draw.unit() < system.writes;
                let (stream, share) = if write {
                    (Stream::Writes, system.sequential_writes)
                } else {
                    (Stream::Reads, system.sequential_reads)
                };
                (stream, self.draw.unit() < share)
            }
            Event::Flushed(left) => {
                self.goes_on(now, system.flushed.gap_ns, left, Event::Flushed);
                (Stream::Writes, self.draw.unit() < system.sequential_writes)
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

impl RecordSource for Week {
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
fn size(sizes: &[(u32, u64)], draw: &mut Draw) -> u32 {
    let one = draw.below(100);
    sizes.iter().find(|(_, below)| one < *below).map_or(LARGEST as u32, |(blocks, _)| *blocks)
}

/// Where the requests of a system go.
struct Places {
    system: &'static System,
    first: u64,
    blocks: u64,
    /// Where each begins of which some are busier than others, the busiest first.
    starts: Vec<u64>,
    /// Up to each of them, the sum of 1/rank (Zipf).
    weights: Vec<f64>,
    /// Where the last request of each stream ended.
    ends: [u64; 3],
    /// Where the last request began.
    last: u64,
}

impl Places {
    fn new(system: &'static System, first: u64, blocks: u64, draw: &mut Draw) -> Places {
        let whole = |start: &u64| *start == 0 || start + system.unit <= blocks;
        let used = (0..blocks).step_by(system.unit as usize).filter(|start| start % GROUP < system.used);
        let mut starts: Vec<u64> = used.filter(whole).collect();
        for i in (1..starts.len()).rev() {
            starts.swap(i, draw.below(i as u64 + 1) as usize);
        }
        let mut sum = 0.0;
        let weight = |rank: usize| {
            sum += 1.0 / (rank + 1) as f64;
            sum
        };
        let weights = (0..starts.len()).map(weight).collect();
        Places { system, first, blocks, starts, weights, ends: [first; 3], last: first }
    }

    fn next(&mut self, stream: Stream, in_sequence: bool, draw: &mut Draw) -> Extent {
        let size = size(&self.system.sizes, draw);
        let (first, last) = (self.first, self.first + self.blocks - LARGEST);
        let end = self.ends[stream as usize];
        let start = if in_sequence && end <= last {
            end
        } else {
            let start = if draw.unit() < self.system.near { self.nearby(draw) } else { self.anywhere(draw) };
            (start - (start - first) % u64::from(size)).min(last)
        };
        (self.ends[stream as usize], self.last) = (start + u64::from(size), start);
        Extent::new(start, size)
    }

    fn nearby(&self, draw: &mut Draw) -> u64 {
        (self.last + draw.below(2 * self.system.nearby)).saturating_sub(self.system.nearby).max(self.first)
    }

    fn anywhere(&self, draw: &mut Draw) -> u64 {
        let all = self.weights[self.weights.len() - 1];
        let at = draw.unit() * all;
        let rank = self.weights.partition_point(|sum| *sum <= at).min(self.starts.len() - 1);
        let length = self.system.unit.min(self.blocks);
        let within = if draw.unit() < self.system.hot { self.system.front.min(length) } else { length };
        self.first + self.starts[rank] + draw.below(within)
    }
}

#[cfg(test)]
mod tests;
