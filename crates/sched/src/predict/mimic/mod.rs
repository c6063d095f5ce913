//! The Disk Mimic: the mean time of a request by its distance from the one before, learned from past times alone
//! (002 §3).
//!
//! The distance is from the end of one request to the start of the next, signed, in blocks; what is learned of it is the
//! time of the whole command. How much time passed before it is left out, so that the first request after a pause is not
//! learned from.

mod point;
mod probe;
mod smooth;
mod table;
#[cfg(test)]
mod tests;

pub use probe::{Effort, Probing};

use super::{Predictor, UNKNOWN};
use block::{Command, Device, Extent, Lbn, Outcome, Span, Time};
use point::Point;
use probe::{Prober, SPREAD};
use smooth::Smooth;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;
use table::Table;

/// What stands for the times of one distance (002 §5.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Summary {
    /// Their mean.
    #[default]
    Mean,
    /// Their median.
    Median,
    /// The longest.
    Maximum,
    /// The shortest.
    Minimum,
    /// One of them, drawn anew each time it is asked for.
    Probabilistic,
}

impl Summary {
    /// Of times in ascending order; infinite where there are none. What is drawn is bounded by the shortest.
    fn of(self, times: &[f32]) -> f32 {
        let Some(last) = times.len().checked_sub(1) else { return f32::MAX };
        match self {
            Summary::Mean => times.iter().sum::<f32>() / times.len() as f32,
            Summary::Median => (times[last / 2] + times[last.div_ceil(2)]) / 2.0,
            Summary::Maximum => times[last],
            Summary::Minimum | Summary::Probabilistic => times[0],
        }
    }
}

/// How distances are told apart: a power of two of blocks, so that all of a device fit 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Grain {
    shift: u32,
}

/// Blocks told apart at the finest, where nothing else is said: 1 KiB, as in 002.
const FINEST: u32 = 2;

impl Grain {
    /// At least `finest` blocks, a power of two.
    fn for_device(blocks: u64, finest: u32) -> Grain {
        let bits = 64 - blocks.leading_zeros();
        Grain { shift: bits.saturating_sub(30).max(finest.max(1).ilog2()) }
    }

    fn of(self, blocks: i64) -> i32 {
        (blocks >> self.shift).clamp(-i64::from(i32::MAX), i64::from(i32::MAX)) as i32
    }

    fn blocks(self, distance: i32) -> i64 {
        i64::from(distance) << self.shift
    }
}

/// What is known of one distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// From the end of a request to the start of the next, in blocks.
    pub distance: i64,
    /// The time of the command.
    pub time: Span,
    /// From how many samples, up to 255.
    pub samples: u8,
    /// Whether the times up to the next distance lie on the line between the two.
    pub line: bool,
}

/// What was learned of a device before it is used.
#[derive(Clone, Debug)]
pub struct Learned {
    grain: Grain,
    table: Table,
    smooth: Smooth,
    spread: Arc<BTreeMap<i32, [f32; SPREAD]>>,
    blocks: u64,
    /// The farthest distance tried, in grains.
    reach: i32,
    /// What it took.
    pub effort: Effort,
}

impl Learned {
    /// Learns a device by probing it; `tell` is told from time to time what share of the work is done.
    pub fn by_probing(device: &mut dyn Device, how: &Probing, tell: &mut dyn FnMut(f64)) -> Learned {
        let blocks = device.caps().blocks;
        let grain = Grain::for_device(blocks, how.grain);
        let mut prober = Prober::new(device, grain, how);
        let mut table = prober.learn(tell);
        table.draw(how.smooth.then(|| prober.smooth.curve()));
        let reach = table.points().last().map_or(0, |point| point.distance);
        Learned {
            grain,
            table,
            smooth: prober.smooth,
            spread: Arc::new(prober.spread),
            blocks,
            reach,
            effort: prober.effort,
        }
    }

    /// What is known already of a device of so many blocks, in ascending order of distance; `grain` blocks are not told
    /// apart.
    pub fn of(blocks: u64, grain: u32, known: impl Iterator<Item = Known>, effort: Effort) -> Learned {
        let grain = Grain::for_device(blocks, grain);
        let mut points: Vec<Point> = Vec::new();
        let mut smooth = Smooth::default();
        for known in known {
            smooth.see_all(grain.of(known.distance), known.time.0 as f32, 0.0, usize::from(known.samples));
            let mut point = Point::new(grain.of(known.distance), known.time.0 as f32, u32::from(known.samples));
            point.lead(known.line);
            points.push(point);
        }
        points.dedup_by_key(|point| point.distance);
        if let Some(last) = points.last_mut() {
            last.lead(false);
        }
        let reach = points.last().map_or(0, |point| point.distance);
        let mut table = Table::of(&points);
        table.draw(Some(smooth.curve()));
        Learned { grain, table, smooth, spread: Arc::default(), blocks, reach, effort }
    }

    /// What is known, in ascending order of distance.
    pub fn known(&self) -> impl Iterator<Item = Known> {
        let grain = self.grain;
        self.table.points().map(move |point| Known {
            distance: grain.blocks(point.distance),
            time: Span(point.time() as u64),
            samples: point.samples(),
            line: point.leads(),
        })
    }

    /// Blocks that are not told apart.
    #[must_use]
    pub fn grain(&self) -> u32 {
        1 << self.grain.shift
    }

    /// Blocks of the device.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Distances it keeps.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether it keeps none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its memory in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.table.bytes() + self.spread.len() * size_of::<(i32, [f32; SPREAD])>()
    }

    /// The time of a distance in blocks, where it is known.
    #[must_use]
    pub fn time(&self, distance: i64) -> Option<Span> {
        let distance = self.grain.of(distance).clamp(-self.reach, self.reach);
        self.table.time(distance, 1).map(|time| Span(time as u64))
    }
}

/// How a device is learned while it is used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Learning {
    /// Whether it is.
    pub on: bool,
    /// Whether distances between others are told from them.
    pub interpolate: bool,
    /// Whether a mean is drawn to what distances like it take, so that all are known after a few; else a distance is known
    /// only where it was seen, and its mean counts whole, as in 002.
    pub smooth: bool,
    /// Samples before a distance counts as known.
    pub fewest: u8,
    /// Distances are told apart by so many blocks, a power of two, or by more where a device is so large that they would
    /// not fit.
    pub grain: u32,
    /// Distances kept at most; beyond, those seen once are forgotten.
    pub most: usize,
    /// Whether reads and writes are told apart.
    pub apart: bool,
    /// After a pause as long as this a request is not learned from.
    pub pause: Span,
}

/// Distances that fit into so many bytes.
#[must_use]
pub fn points(bytes: u64) -> usize {
    // Each is one point, and in use leaves are three quarters full.
    (bytes / (size_of::<Point>() as u64 + 1)) as usize
}

impl Learning {
    /// Samples before a mean is settled enough for a line. In 002 one is; but then lines are found by chance as well.
    fn merges(&self) -> u8 {
        if self.smooth { self.fewest.max(10) } else { self.fewest }
    }
}

impl Default for Learning {
    fn default() -> Learning {
        Learning {
            on: true,
            interpolate: true,
            smooth: true,
            fewest: 1,
            grain: FINEST,
            most: points(1 << 20),
            apart: false,
            pause: Span(1_000_000),
        }
    }
}

/// The curve is drawn anew after so many samples.
const DRAWN: u64 = 4096;

/// A command in flight that is learned from.
#[derive(Clone, Copy, Debug)]
struct Flying {
    at: Extent,
    issued: Time,
    distance: i32,
    /// Which table it belongs to.
    table: usize,
}

/// The Disk Mimic.
pub struct Mimic {
    grain: Grain,
    /// Of reads, and of writes where those are told apart.
    tables: [Table; 2],
    smooth: [Smooth; 2],
    /// Samples of each table.
    seen: [u64; 2],
    /// Of each distance, its times where one of them is drawn.
    spread: Arc<BTreeMap<i32, [f32; SPREAD]>>,
    reach: i32,
    learning: Learning,
    arm: Lbn,
    /// When the last command came back.
    quiet_since: Time,
    flying: Vec<Flying>,
    watch: Watch,
    draws: Cell<u64>,
}

impl Mimic {
    /// A Mimic that knows nothing yet of a device of so many blocks.
    #[must_use]
    pub fn new(blocks: u64, learning: Learning) -> Mimic {
        let nothing = Learned {
            grain: Grain::for_device(blocks, learning.grain),
            table: Table::default(),
            smooth: Smooth::default(),
            spread: Arc::default(),
            blocks,
            reach: i32::MAX,
            effort: Effort::default(),
        };
        Mimic::knowing(&nothing, learning)
    }

    /// A Mimic that knows what was learned before.
    #[must_use]
    pub fn knowing(learned: &Learned, learning: Learning) -> Mimic {
        let mut table = learned.table.clone();
        if !learning.smooth {
            table.draw(None);
        }
        let writes = if learning.apart { table.clone() } else { Table::default() };
        Mimic {
            grain: learned.grain,
            tables: [table, writes],
            smooth: [learned.smooth.clone(), learned.smooth.clone()],
            seen: [0; 2],
            reach: if learning.on { i32::MAX } else { learned.reach },
            spread: Arc::clone(&learned.spread),
            learning,
            arm: Lbn(0),
            quiet_since: Time::ZERO,
            flying: Vec::new(),
            watch: Watch::default(),
            draws: Cell::new(0),
        }
    }

    fn distance(&self, arm: u64, start: u64) -> i32 {
        self.grain.of(start as i64 - arm as i64).clamp(self.reach.saturating_neg(), self.reach)
    }

    fn table(&self, write: bool) -> usize {
        usize::from(write && self.learning.apart)
    }

    /// The time of a distance in nanoseconds, where it is known.
    fn time(&self, distance: i32, table: usize) -> Option<f32> {
        self.tables[table].time(distance, self.learning.fewest)
    }

    fn learn(&mut self, distance: i32, time: f32, table: usize) {
        let (of, smooth) = (&mut self.tables[table], &mut self.smooth[table]);
        if self.learning.smooth {
            smooth.see(distance, time, of.curve_at(distance), of.known(distance));
            self.seen[table] += 1;
            let seen = self.seen[table];
            if seen.is_multiple_of(DRAWN) || (seen < DRAWN && seen.is_power_of_two()) {
                of.draw(Some(smooth.curve()));
            }
        }
        of.observe(distance, time, self.learning.interpolate.then_some(self.learning.merges()));
        if of.len() > self.learning.most {
            of.thin();
        }
    }

    /// One of the times a distance was seen to take.
    fn drawn(&self, distance: i32) -> Option<f32> {
        let (_, times) = self.spread.range(..=distance).next_back()?;
        self.draws.set(self.draws.get().wrapping_add(0x9E37_79B9_7F4A_7C15));
        let mut mixed = self.draws.get();
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        Some(times[(mixed >> 60) as usize % SPREAD])
    }
}

impl Predictor for Mimic {
    type Spot = Lbn;
    type Mark = ();
    type Head = Lbn;

    fn spot(&self, at: Extent) -> Lbn {
        at.start
    }

    fn key(&self, spot: Lbn) -> u64 {
        spot.0
    }

    fn mark(&self, _: Lbn) {}

    fn head(&self, _: Time) -> (Lbn, u64) {
        (self.arm, self.arm.0)
    }

    fn cost(&self, head: &Lbn, key: u64, (): (), write: bool) -> u64 {
        let distance = self.distance(head.0, key);
        let drawn = if self.spread.is_empty() { None } else { self.drawn(distance) };
        drawn.or_else(|| self.time(distance, self.table(write))).map_or(UNKNOWN, |time| time as u64)
    }

    fn least(&self, head: &Lbn, from: u64, to: u64, write: bool) -> u64 {
        let (from, to) = (from.min(1 << 62), to.min(1 << 62));
        let (table, from, to) = (self.table(write), self.distance(head.0, from), self.distance(head.0, to));
        let least = self.tables[table].least(from, to);
        if least.is_finite() { least as u64 } else { UNKNOWN }
    }

    fn after(&self, _: &Lbn, at: Extent, _: Lbn, _: bool) -> (Lbn, u64) {
        (at.end(), at.end().0)
    }

    fn ticks(&self, span: Span) -> u64 {
        span.0
    }

    fn arm(&self) -> Lbn {
        self.arm
    }

    /// Nothing, while the device has other commands in it: from where it will come, it alone decides.
    fn knows(&self, spot: Lbn, write: bool) -> bool {
        self.flying.is_empty() && self.time(self.distance(self.arm.0, spot.0), self.table(write)).is_some()
    }

    fn memory(&self) -> Option<(usize, usize)> {
        let tables = self.tables.iter();
        Some(tables.fold((0, 0), |(len, bytes), table| (len + table.len(), bytes + table.bytes())))
    }

    fn issued(&mut self, now: Time, command: &Command, _: Lbn) {
        if !command.verb.transfers() {
            return;
        }
        if self.learning.on && (!self.flying.is_empty() || now.since(self.quiet_since) < self.learning.pause) {
            let distance = self.grain.of(command.at.start.0 as i64 - self.arm.0 as i64);
            let table = self.table(command.verb.writes());
            self.flying.push(Flying { at: command.at, issued: now, distance, table });
        }
        self.arm = command.at.end();
    }

    fn observed(&mut self, happened: Time, command: &Command, outcome: Outcome) {
        // Where the device has several commands, one begins when another ends.
        let free = std::mem::replace(&mut self.quiet_since, happened);
        let Some(i) = self.flying.iter().position(|flying| flying.at == command.at) else { return };
        let Flying { issued, distance, table, .. } = self.flying.swap_remove(i);
        if outcome != Outcome::Ok {
            return;
        }
        let time = happened.since(issued.max(free)).0 as f32;
        if let Some(expected) = self.time(distance, table)
            && self.watch.is_new(time / expected.max(1.0))
        {
            self.tables.iter_mut().for_each(Table::forget);
            self.smooth.iter_mut().for_each(Smooth::forget);
            self.seen = [0; 2];
        }
        self.learn(distance, time, table);
    }
}

/// Looks out for a device that is no longer what it was.
#[derive(Clone, Copy, Debug)]
struct Watch {
    /// Seen over expected: its mean lately, and over a longer time.
    lately: f32,
    long: f32,
    seen: u32,
}

impl Default for Watch {
    fn default() -> Watch {
        Watch { lately: 1.0, long: 1.0, seen: 0 }
    }
}

impl Watch {
    const LATELY: f32 = 1.0 / 256.0;
    const LONG: f32 = 1.0 / 4096.0;
    /// By how much the two differ when something has changed: several times what chance does.
    const CHANGED: f32 = 0.1;
    /// After a change, or at first, so many are only looked at.
    const SETTLED: u32 = 8192;

    /// Takes a ratio of time seen to time expected; whether the device is another than before.
    fn is_new(&mut self, ratio: f32) -> bool {
        let ratio = ratio.min(4.0);
        self.seen += 1;
        let long = if self.seen < Self::SETTLED / 2 { (2.0 / (self.seen + 1) as f32).min(1.0) } else { Self::LONG };
        self.lately += (ratio - self.lately) * Self::LATELY.max(long);
        self.long += (ratio - self.long) * long;
        if self.seen < Self::SETTLED || (self.lately - self.long).abs() < Self::CHANGED {
            return false;
        }
        *self = Watch::default();
        true
    }
}
