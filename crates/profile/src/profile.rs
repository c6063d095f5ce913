//! A profile from beginning to end: which probe follows which, and the drive they make.

use crate::bench::Bench;
use crate::clock::Clock;
use crate::eye::Eye;
use crate::map::{Geometry, Map};
use crate::plan;
use crate::probe::cache::Cache;
use crate::probe::late::{self, Late};
use crate::probe::map::{Progress, Survey};
use crate::probe::seek::Moves;
use crate::probe::transfer::Transfer;
use crate::probe::{cache, heads, memory, rotation, sector, seek, transfer};
use crate::validate::{Validation, validate};
use block::{BadInput, Device, Span, Verb};
use disk::{Access, After, Bus, DrivePlan, Overheads, Queue, SeekCurve, Switches, Truth};
use std::fmt;

/// What is asked of a profile.
#[derive(Clone, Debug)]
pub struct Options {
    /// The name the device goes by.
    pub name: String,
    /// The seed of everything drawn.
    pub seed: u64,
    /// How thoroughly.
    pub effort: Effort,
}

/// How thoroughly a drive is learned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    /// All that a profile holds.
    #[default]
    Thorough,
    /// The same in less time: seeks over one distance an octave instead of three.
    Quick,
}

/// A step of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Memory, as far as it is in the way.
    Memory,
    /// Rotation and sectors.
    Rotation,
    /// The block map.
    Map,
    /// Heads and cylinders.
    Heads,
    /// Seeks and switches.
    Seeks,
    /// The read cache, and transfers.
    Cache,
    /// Predicted against observed.
    Validation,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Step::Memory => "read cache",
            Step::Rotation => "rotation",
            Step::Map => "block map",
            Step::Heads => "heads",
            Step::Seeks => "seeks",
            Step::Cache => "read-ahead",
            Step::Validation => "validation",
        })
    }
}

/// Told how a profile gets on.
pub trait Watch {
    /// A step begins.
    fn step(&mut self, step: Step);

    /// So much of the drive is mapped, of all.
    fn mapped(&mut self, done: u64, all: u64);
}

/// What is known of a drive, and how.
#[derive(Clone, Debug)]
pub struct Known {
    /// The platter, as followed to the end.
    pub clock: Clock,
    /// Blocks of a sector, as a power of two.
    pub shift: u32,
    /// Where sectors lie.
    pub geometry: Geometry,
    /// What the arm takes.
    pub moves: Moves,
    /// Seeks that fail to settle at once.
    pub late: Late,
    /// The read cache.
    pub cache: Cache,
    /// How transfers go.
    pub transfer: Transfer,
    /// How well all that predicts.
    pub validation: Validation,
}

/// What came of it.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// A disk, and what is known of it.
    Disk(Box<Known>),
    /// Nothing turns: how long single reads take, shortest, median and longest, ms.
    NoRotation([f64; 3]),
}

/// A profile and what it took.
#[derive(Clone, Debug)]
pub struct Profile {
    /// What came of it.
    pub outcome: Outcome,
    /// Blocks of the device.
    pub blocks: u64,
    /// Commands given.
    pub commands: u64,
    /// Device time taken.
    pub time: Span,
    /// Sectors that could not be read.
    pub unreadable: Vec<u64>,
    /// Replies that stalled.
    pub stalls: u64,
}

struct Mapped<'w>(&'w mut dyn Watch);

impl Progress for Mapped<'_> {
    fn at(&mut self, done: u64, all: u64) {
        self.0.mapped(done, all);
    }
}

/// Profiles a device by reads alone.
///
/// # Errors
/// When the device is lost, or what must be read of it cannot be.
pub fn profile<D: Device>(device: &mut D, options: &Options, watch: &mut dyn Watch) -> Result<Profile, BadInput> {
    let mut bench = Bench::new(&options.name, device, options.seed);
    let began = bench.now();
    let outcome = learn(&mut bench, options.effort, watch)?;
    Ok(Profile {
        outcome,
        blocks: bench.blocks(),
        commands: bench.commands,
        time: bench.now().since(began),
        unreadable: bench.unreadable.clone(),
        stalls: bench.stalls,
    })
}

fn learn<D: Device>(bench: &mut Bench<D>, effort: Effort, watch: &mut dyn Watch) -> Result<Outcome, BadInput> {
    watch.step(Step::Memory);
    memory::learn(bench)?;
    watch.step(Step::Rotation);
    let Some(clock) = rotation::learn(bench)? else { return no_rotation(bench) };
    bench.shift = sector::learn(bench, &clock)?;
    let shift = bench.shift;
    watch.step(Step::Map);
    let mut eye = Eye::new(bench, clock);
    let mut survey = Survey { eye: &mut eye, map: Map::default() };
    survey.run(&mut Mapped(watch))?;
    let map = survey.map;
    watch.step(Step::Heads);
    let geometry = heads::learn(&mut eye, map)?;
    watch.step(Step::Seeks);
    let moves = seek::learn(&mut eye, &geometry, Verb::Read, effort)?;
    let late = late::learn(&mut eye, &geometry, &moves)?;
    watch.step(Step::Cache);
    let transfer = transfer::learn(&mut eye, &geometry)?;
    let cache = cache::learn(eye.bench, &geometry.map)?;
    watch.step(Step::Validation);
    let validation = validate(&mut eye, &geometry, &moves)?;
    let clock = eye.clock;
    Ok(Outcome::Disk(Box::new(Known { clock, shift, geometry, moves, late, cache, transfer, validation })))
}

/// What can be said of a device that does not turn.
fn no_rotation<D: Device>(bench: &mut Bench<D>) -> Result<Outcome, BadInput> {
    let mut times = Vec::new();
    for _ in 0..200 {
        let sector = bench.draw.below(bench.sectors());
        if let Some(reply) = bench.read(sector)? {
            times.push(reply.response().as_ms());
        }
    }
    Ok(Outcome::NoRotation([0.0, 0.5, 1.0].map(|share| crate::estimate::quantile(&times, share))))
}

/// Nanosecond spans of what may have come out below nothing.
fn ms(ms: f64) -> Span {
    Span::from_ms(ms.max(0.0))
}

impl Known {
    /// The drive, as a drive file has it.
    #[must_use]
    pub fn plan(&self, name: &str, blocks: u64) -> DrivePlan {
        let Known { geometry, moves, cache, transfer, .. } = self;
        let overhead = moves.overhead();
        let head = self.head_switch();
        let bus = cache.mb_s.map_or(0.0, |mb_s| 512.0 / mb_s / 1e3);
        let (at_head, at_cylinder) = self.crossings(head);
        let rows = |(distance, ms): (u32, f64)| (distance, ms);
        DrivePlan {
            title: format!("Profile of {name}"),
            sources: vec![format!("halfturn profile {name}: times of commands, and nothing else")],
            assumed: self.assumed(),
            rpm: 60e9 / self.clock.mean_period(),
            layout: plan::layout(geometry, blocks, self.shift),
            seek: SeekCurve::Table(moves.curve().into_iter().map(rows).collect()),
            seek_write: None,
            switches: Switches {
                head: ms(head),
                head_write: ms(at_head),
                cylinder: ms(at_cylinder),
                cylinder_write: ms(at_cylinder),
                write_settle: Span::ZERO,
            },
            access: Access { reads: transfer.on_arrival, writes: transfer.on_arrival, free: false },
            overheads: Overheads {
                read: After::either(ms(overhead - bus)),
                write: After::either(ms(overhead - bus)),
                hit: After::either(ms(cache.hit)),
                buffered: After::either(ms(cache.hit)),
                ..Overheads::default()
            },
            bus: Bus { mb_s: cache.mb_s, ..Bus::default() },
            cache: disk::Cache {
                segments: cache.segments,
                segment: cache.segment as u32,
                ahead: cache.ahead,
                read_ahead: cache.read_ahead as u32,
                ..disk::Cache::default()
            },
            queue: Queue::default(),
            truth: Truth {
                seek_noise: ms(moves.spread),
                late_share: self.late.share.min(1.0),
                late_by: ms(self.late.by),
                ..Truth::default()
            },
        }
    }

    /// What switching heads takes on its own, ms.
    #[must_use]
    pub fn head_switch(&self) -> f64 {
        self.moves.switch.map_or(0.0, |switch| (switch.mean - self.moves.overhead()).max(0.0))
    }

    /// What going on to the next head, and to the next cylinder, takes, ms: no more than the skew, unless that loses a
    /// revolution.
    fn crossings(&self, head: f64) -> (f64, f64) {
        let period = self.clock.period / 1e6;
        let Some(region) = self.geometry.map.regions.first() else { return (0.0, 0.0) };
        let gap = |track: u64| {
            let last = region.track_pattern(track + 1) - 1;
            let (end, next) = (region.place_at(last), region.place_at(last + 1));
            crate::estimate::fraction(next.angle - end.angle - 1.0 / f64::from(region.round)) * period
        };
        let first_seek = self.moves.curve().first().map_or(0.0, |(_, ms)| *ms);
        let crossing = |skew: f64, move_ms: f64, lost: bool| match lost {
            true => move_ms.max(1.05 * skew),
            false => move_ms.min(0.98 * skew),
        };
        let at_head = crossing(gap(0), head, self.transfer.lost_at_head);
        let at_cylinder = crossing(gap(self.geometry.heads - 1), first_seek.max(head), self.transfer.lost_at_cylinder);
        (at_head, at_cylinder)
    }

    fn assumed(&self) -> Vec<String> {
        let mut notes = vec![
            "writes: as reads, nothing was written".to_owned(),
            "write buffer: none".to_owned(),
            format!(
                "how well it is known: {} fresh random reads, rms {:.3} ms of those on time, {:.2} % a revolution off",
                self.validation.pairs.len(),
                self.validation.rms_on_time_ms,
                100.0 * self.validation.late
            ),
        ];
        let elsewhere = self.geometry.map.remaps.len();
        if elsewhere > 0 {
            notes.push(format!("{elsewhere} sectors that lie elsewhere are taken to lie in their place"));
        }
        if self.moves.overhead.is_none() {
            notes.push("overhead: the shortest move, for it could not be told from one".into());
        }
        notes
    }
}
