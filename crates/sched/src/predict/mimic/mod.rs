//! The Disk Mimic: the mean time of a request by its distance from the one before, learned from past times alone
//! (002 §3).
//!
//! The distance is from the end of one request to the start of the next, signed, in blocks; what is learned of it is the
//! time of the whole command. How much time passed before it is left out, so that the first request after a pause is not
//! learned from.
//!
//! **A mean counts for what it is worth.** The Disk Mimic (`sched::predict::mimic`) keeps distances and their mean
//! times in eight bytes each. The least of many noisy means is the luckiest, not the best: so each is drawn to the
//! curve of what distances like it take, by as much as times of one distance differ more than means of several do. On
//! a drive with many zones nothing but that curve is left, which is why it is nowhere worse than its base. The curve
//! that costs and bounds use is drawn anew only now and then, so that bounds stay exact and the search is that of
//! SATF. As the paper has it: `smooth = false`. In use, what was never tried may be hoped to take less than the
//! curve, and the more so the more distances were seen to differ and to come again: else the greedy never learn most
//! of them. On a drive where distance tells only the seek there is nothing to hope.
//!
//! **The second key is a profile.** Where on its track a request begins cannot be told from its distance, and can be
//! told from when it comes back. Diskbench finds that out for every block; a Mimic that had its angles would lack
//! nothing of a profile. So `second_key = "angle"` and `profile = "learned"` are one thing: a profile is made, of
//! another drive of the same make, before the run, and the `Profile` predictor believes it, seek curve, just-in-time
//! seeks and all.

mod compared;
mod idle;
mod learned;
mod point;
mod probe;
mod settings;
mod smooth;
mod table;
#[cfg(test)]
mod tests;

pub use idle::Idle;
pub use learned::{Known, Learned};
pub use probe::{LineCheck, ProbeEffort, Probing};
pub use settings::{Before, Settings, keys};

use super::{GOLDEN, Knowledge, Manual, Predictor, Recipe, Tells, UNKNOWN, stir};
use block::{Command, Direction, Extent, Lbn, Outcome, Place, Span, Time};
use compared::ComparedTimes;
use config::{Word, Words};
use idle::Curiosity;
use point::Point;
use probe::SPREAD;
use smooth::Smooth;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;
use table::Table;

/// What stands for the times of one distance (002 §5.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DistanceSummary {
    /// The mean of the samples.
    #[default]
    Mean,
    /// The median of the samples.
    Median,
    /// The longest of the samples.
    Maximum,
    /// The shortest of the samples.
    Minimum,
    /// One of them, drawn anew each time it is asked for.
    Probabilistic,
}

impl Words for DistanceSummary {
    const WORDS: &'static [Word<DistanceSummary>] = &[
        Word::new("mean", DistanceSummary::Mean, "their mean"),
        Word::new("median", DistanceSummary::Median, "their median"),
        Word::new("maximum", DistanceSummary::Maximum, "the longest"),
        Word::new("minimum", DistanceSummary::Minimum, "the shortest"),
        Word::new("probabilistic", DistanceSummary::Probabilistic, "one of them, drawn anew each time it is asked for"),
    ];
}

impl DistanceSummary {
    /// Of times in ascending order; infinite where there are none. What is drawn is bounded by the shortest.
    fn of(self, times: &[f32]) -> f32 {
        let Some(last) = times.len().checked_sub(1) else { return f32::MAX };
        match self {
            DistanceSummary::Mean => times.iter().sum::<f32>() / times.len() as f32,
            DistanceSummary::Median => (times[last / 2] + times[last.div_ceil(2)]) / 2.0,
            DistanceSummary::Maximum => times[last],
            DistanceSummary::Minimum | DistanceSummary::Probabilistic => times[0],
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

/// How a device is learned while it is used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Learning {
    /// Whether it learns in use.
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
    /// Whether idle time is used to learn.
    pub idle: Option<Idle>,
    /// Whether the times believed of commands are compared with those they take.
    pub compare: bool,
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
            idle: None,
            compare: false,
        }
    }
}

/// A number, of a row that is always the same.
fn draw(state: &mut u64) -> u64 {
    *state = state.wrapping_add(GOLDEN);
    stir(*state)
}

/// The curve is drawn anew after so many samples.
const DRAWN: u64 = 4096;

/// In use a distance may be hoped to take less, by so many standard deviations of what is not known of it: those never
/// tried would else never be.
const HOPE: f32 = 0.75;

/// Where less than this share of a time is hoped for, it is not sure enough to show that the device is another.
const SURE: f32 = 0.9;

/// A command in flight that is learned from.
#[derive(Clone, Copy, Debug)]
struct Flying {
    at: Extent,
    issued: Time,
    distance: i32,
    /// Which table it belongs to.
    table: usize,
    /// The time it is believed to take, in nanoseconds, where that is compared.
    believed: Option<f32>,
}

/// A predictor that knows distances and nothing of the disk.
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
    watch: ChangeDetector,
    curiosity: Option<Curiosity>,
    draws: Cell<u64>,
    /// What was believed beside what was, where the two are compared.
    compared: Option<Box<ComparedTimes>>,
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
            effort: ProbeEffort::default(),
            shown: Vec::new(),
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
            watch: ChangeDetector::default(),
            curiosity: learning.idle.filter(|_| learning.on).map(Curiosity::new),
            draws: Cell::new(0),
            compared: learning.compare.then(Box::default),
        }
    }

    fn distance(&self, arm: u64, start: u64) -> i32 {
        self.grain.of(start as i64 - arm as i64).clamp(self.reach.saturating_neg(), self.reach)
    }

    fn table(&self, direction: Direction) -> usize {
        usize::from(direction.writes() && self.learning.apart)
    }

    /// The time of a distance in nanoseconds, where it is known.
    fn time(&self, distance: i32, table: usize) -> Option<f32> {
        self.tables[table].time(distance, self.learning.fewest)
    }

    /// The same, as it is hoped.
    fn hope_for(&self, distance: i32, table: usize) -> Option<f32> {
        self.tables[table].hope_for(distance, self.learning.fewest)
    }

    fn learn(&mut self, distance: i32, time: f32, table: usize) {
        let (of, smooth) = (&mut self.tables[table], &mut self.smooth[table]);
        if self.learning.smooth {
            smooth.see(distance, time, of.curve_at(distance), of.mean_at(distance));
            self.seen[table] += 1;
            let seen = self.seen[table];
            if seen.is_multiple_of(DRAWN) || (seen < DRAWN && seen.is_power_of_two()) {
                of.draw(Some(smooth.curve(HOPE)));
            }
        }
        of.observe(distance, time, self.learning.interpolate.then_some(self.learning.merges()));
        if of.len() > self.learning.most {
            of.thin();
        }
    }

    /// One of the times a distance was seen to take.
    fn draw_time(&self, distance: i32) -> Option<f32> {
        let (_, times) = self.spread.range(..=distance).next_back()?;
        let mut draws = self.draws.get();
        let drawn = draw(&mut draws);
        self.draws.set(draws);
        Some(times[(drawn >> 60) as usize % SPREAD])
    }

    /// What a command is believed to take, where that is compared. What is drawn is drawn anew: that which it was chosen by is the
    /// least of as many as waited.
    fn forecast_time(&self, distance: i32, table: usize) -> Option<f32> {
        self.compared.as_ref()?;
        let distance = distance.clamp(self.reach.saturating_neg(), self.reach);
        self.draw_time(distance).or_else(|| self.time(distance, table))
    }
}

impl Recipe for Mimic {
    const MANUAL: Manual = Manual {
        name: "mimic",
        text: "Predicts by the times that past distances took (The Disk Mimic, Section 2). It needs no data sheet; `[scheduler.mimic]` says how it learns.",
        keys: &[],
        table: Some(settings::keys),
        example: "policy = \"satf\"\npredictor = \"mimic\"",
        tells: Tells::Times,
    };

    fn make(known: &Knowledge, blocks: u64) -> Option<Mimic> {
        Some(match &known.times {
            Some(learned) => Mimic::knowing(learned, known.learning),
            None => Mimic::new(blocks, known.learning),
        })
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

    fn head_behind(&self, block: Lbn, _: Time) -> (Lbn, u64) {
        (block, block.0)
    }

    fn cost(&self, head: &Lbn, key: u64, (): (), direction: Direction) -> u64 {
        let distance = self.distance(head.0, key);
        let drawn = if self.spread.is_empty() { None } else { self.draw_time(distance) };
        drawn.or_else(|| self.hope_for(distance, self.table(direction))).map_or(UNKNOWN, |time| time as u64)
    }

    fn least(&self, head: &Lbn, from: u64, to: u64, direction: Direction) -> u64 {
        let (from, to) = (from.min(1 << 62), to.min(1 << 62));
        let (table, from, to) = (self.table(direction), self.distance(head.0, from), self.distance(head.0, to));
        let least = self.tables[table].least(from, to);
        if least.is_finite() { least as u64 } else { UNKNOWN }
    }

    fn head_after(&self, _: &Lbn, at: Extent, _: Lbn, _: Direction) -> (Lbn, u64) {
        (at.end(), at.end().0)
    }

    fn ticks(&self, span: Span) -> u64 {
        span.0
    }

    fn arm(&self) -> Lbn {
        self.arm
    }

    /// Nothing, while the device has other commands in it: from where it will come, it alone decides.
    fn knows(&self, spot: Lbn, direction: Direction) -> bool {
        (self.flying.is_empty() || !self.learning.on)
            && self.time(self.distance(self.arm.0, spot.0), self.table(direction)).is_some()
    }

    fn memory(&self) -> Option<(usize, usize)> {
        let tables = self.tables.iter();
        Some(tables.fold((0, 0), |(len, bytes), table| (len + table.len(), bytes + table.bytes())))
    }

    fn demerit(&self) -> Option<Span> {
        self.compared.as_ref()?.demerit()
    }

    fn note_issue(&mut self, now: Time, command: &Command, _: Lbn) {
        if !command.verb.transfers() {
            return;
        }
        let watched = self.learning.on || self.compared.is_some();
        if watched && (!self.flying.is_empty() || now.since(self.quiet_since) < self.learning.pause) {
            let distance = self.grain.of(command.at.start.0 as i64 - self.arm.0 as i64);
            let table = self.table(command.verb.direction());
            let believed = self.forecast_time(distance, table);
            self.flying.push(Flying { at: command.at, issued: now, distance, table, believed });
        }
        if let Some(curiosity) = self.curiosity.as_mut().filter(|_| command.place != Place::Nowhere) {
            curiosity.note_request(command.at);
        }
        self.arm = command.at.end();
    }

    fn patience(&self) -> Option<Span> {
        self.curiosity.as_ref().map(|curiosity| curiosity.how.after)
    }

    fn probe(&mut self, now: Time) -> Option<Extent> {
        let follows = now.since(self.quiet_since) < self.learning.pause;
        let known = |distance| self.tables[0].samples(distance);
        self.curiosity.as_mut()?.probe(self.arm, follows, self.grain, known)
    }

    fn note_completion(&mut self, happened: Time, command: &Command, outcome: Outcome) {
        // Where the device has several commands, one begins when another ends.
        let free = std::mem::replace(&mut self.quiet_since, happened);
        let Some(i) = self.flying.iter().position(|flying| flying.at == command.at) else { return };
        let Flying { issued, distance, table, believed, .. } = self.flying.swap_remove(i);
        if outcome != Outcome::Ok {
            return;
        }
        let time = happened.since(issued.max(free)).0 as f32;
        if let Some((compared, believed)) = self.compared.as_mut().zip(believed) {
            compared.note(believed, time);
        }
        if !self.learning.on {
            return;
        }
        if let Some(expected) = self.time(distance, table)
            && self.hope_for(distance, table).is_some_and(|hoped| hoped > SURE * expected)
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
struct ChangeDetector {
    /// Seen over expected: its mean lately, and over a longer time.
    lately: f32,
    long: f32,
    seen: u32,
}

impl Default for ChangeDetector {
    fn default() -> ChangeDetector {
        ChangeDetector { lately: 1.0, long: 1.0, seen: 0 }
    }
}

impl ChangeDetector {
    const LATELY: f32 = 1.0 / 256.0;
    const LONG: f32 = 1.0 / 4096.0;
    /// By how much the two differ when something has changed: several times what chance does.
    const CHANGED: f32 = 0.1;
    /// After a change, or at first, so many are only looked at.
    const SETTLED: u32 = 8192;

    /// A command that met the drive's own work may take any time: what took longer than this many times what was expected counts
    /// as that, so that one such command is not a change.
    const OUTLIER: f32 = 4.0;

    /// Takes a ratio of time seen to time expected; whether the device is another than before.
    fn is_new(&mut self, ratio: f32) -> bool {
        let ratio = ratio.min(Self::OUTLIER);
        self.seen += 1;
        let long = if self.seen < Self::SETTLED / 2 { (2.0 / (self.seen + 1) as f32).min(1.0) } else { Self::LONG };
        self.lately += (ratio - self.lately) * Self::LATELY.max(long);
        self.long += (ratio - self.long) * long;
        if self.seen < Self::SETTLED || (self.lately - self.long).abs() < Self::CHANGED {
            return false;
        }
        *self = ChangeDetector::default();
        true
    }
}
