//! A profile from beginning to end: which probe follows which, and the drive they make.

use crate::bench::Bench;
use crate::clock::Clock;
use crate::eye::Eye;
use crate::map::{Geometry, Map};
use crate::plan;
use crate::probe::buffer::Buffer;
use crate::probe::cache::Cache;
use crate::probe::chunk::{self, Chunks};
use crate::probe::field::Field;
use crate::probe::large::{self, Large};
use crate::probe::late::{self, Late};
use crate::probe::map::Survey;
use crate::probe::queue::{self, Queue};
use crate::probe::seek::Moves;
use crate::probe::transfer::Transfer;
use crate::probe::write::Writes;
use crate::probe::{borders, buffer, cache, delivery, heads, memory, rotation, sector, seek, transfer, write};
use crate::scratch::Scratch;
use crate::validate::{Validation, validate};
use block::units::show_blocks;
use block::{BadInput, Caps, Device, Span, Verb};
use disk::{Access, After, Bus, DrivePlan, Overheads, SeekCurve, Switches, Truth};
use std::fmt;

/// What is asked of a profile.
#[derive(Clone, Debug)]
pub struct Options {
    /// The name the device goes by.
    pub name: String,
    /// The seed of everything drawn.
    pub seed: u64,
    /// How many trials are made of everything.
    pub effort: Effort,
    /// What may be written; none: nothing.
    pub scratch: Option<Scratch>,
}

impl Options {
    /// What determines the profile of a device beside its answers, in a line.
    #[must_use]
    pub fn title(&self, caps: Caps) -> String {
        let effort = match self.effort {
            Effort::Thorough => "thorough",
            Effort::Quick => "quick",
        };
        let scratch = self.scratch.map_or("no scratch".to_owned(), |scratch| format!("a scratch of {scratch}"));
        let Caps { blocks, depth, .. } = caps;
        format!("{}, {blocks} blocks, {depth} at once; seed {}, {effort}, {scratch}", self.name, self.seed)
    }
}

/// How thoroughly a drive is learned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    /// All that a profile holds.
    #[default]
    Thorough,
    /// The same in less time, but for what is [given up](Effort::gives_up).
    Quick,
}

impl Effort {
    /// The device time a map may take after so much was spent.
    fn map_time(self, spent: Span) -> Span {
        let seconds = |seconds: u64| Span(seconds * 1_000_000_000);
        match self {
            Effort::Thorough => seconds(6000),
            // Less where a large memory took long to find: all is to stay within five minutes.
            Effort::Quick => seconds(225).less(spent).clamp(seconds(60), seconds(180)),
        }
    }

    /// What it gives up, if anything.
    #[must_use]
    pub fn gives_up(self) -> Option<&'static str> {
        match self {
            Effort::Thorough => None,
            Effort::Quick => Some(
                "quick: seeks over one distance an octave instead of three, so that the curve between may be off by more \
                 than 0.1 ms; late seeks not looked for; throughput by chunk from one run of each size instead of three; \
                 what is not mapped within three minutes, less where a large memory took long to find, taken to go on as before",
            ),
        }
    }
}

/// A step of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Memory, as far as it is in the way.
    Memory,
    /// The period of a revolution, and the size of a sector.
    Rotation,
    /// Which sectors lie on which track, and at what angle.
    Map,
    /// How many heads there are, and which tracks make a cylinder.
    Heads,
    /// How the drive reads on, and what it keeps.
    Cache,
    /// Times of seeks, head switches and cylinder switches.
    Seeks,
    /// Transfers over several sectors, and several commands at once.
    Transfer,
    /// Writes, inside the scratch.
    Writes,
    /// Predicted service times against observed ones.
    Validation,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Step::Memory => "read cache",
            Step::Rotation => "rotation",
            Step::Map => "block map",
            Step::Heads => "heads",
            Step::Cache => "read-ahead",
            Step::Seeks => "seeks",
            Step::Transfer => "transfers",
            Step::Writes => "writes",
            Step::Validation => "validation",
        })
    }
}

/// Told how a profile gets on.
pub trait Watch {
    /// Called when a step begins.
    fn step(&mut self, step: Step);

    /// So much of the drive is mapped, of all.
    fn mapped(&mut self, done: u64, all: u64);
}

/// For callers that show no progress.
impl Watch for () {
    fn step(&mut self, _: Step) {}
    fn mapped(&mut self, _: u64, _: u64) {}
}

/// What is known of a drive, and how.
#[derive(Clone, Debug)]
pub struct Known {
    /// How thoroughly it was learned.
    pub effort: Effort,
    /// The platter, as followed to the end.
    pub clock: Clock,
    /// Blocks of a sector, as a power of two.
    pub shift: u32,
    /// The map of sectors to tracks and angles.
    pub geometry: Geometry,
    /// Cylinders without data that the arm crosses between regions; they are counted.
    pub hidden: u64,
    /// What the arm takes.
    pub moves: Moves,
    /// Seeks that fail to settle at once.
    pub late: Late,
    /// The size and habits of the read cache.
    pub cache: Cache,
    /// Share of a read that is in the buffer before its data begin to go to the host.
    pub watermark: f64,
    /// How fast blocks are transferred.
    pub transfer: Transfer,
    /// What becomes of commands given together.
    pub queue: Queue,
    /// What large reads lose, if they do.
    pub large: Option<Large>,
    /// Throughput of reads by chunk.
    pub chunks: Chunks,
    /// Writes, the write buffer and throughput by chunk, if anything might be written.
    pub writes: Option<(Writes, Buffer, Chunks)>,
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
    /// How many commands were issued.
    pub commands: u64,
    /// How long the device was busy with them.
    pub time: Span,
    /// How many of them write.
    pub writes: u64,
    /// Sectors that could not be read.
    pub unreadable: Vec<u64>,
    /// Sectors at which a write that failed began.
    pub unwritable: Vec<u64>,
    /// Commands that took so long that the device, or the host, must have stalled.
    pub stalls: u64,
}

/// Profiles a device, by reads alone if there is no scratch.
///
/// # Errors
/// When the device is lost, what must be read of it cannot be, or the scratch is not on it.
pub fn profile<D: Device>(device: &mut D, options: &Options, watch: &mut dyn Watch) -> Result<Profile, BadInput> {
    if let Some(scratch) = options.scratch {
        scratch.check(device.caps().blocks)?;
    }
    let mut bench = Bench::new(&options.name, device, options.seed, options.scratch);
    let began = bench.now();
    let outcome = learn(&mut bench, options.effort, watch)?;
    Ok(Profile {
        outcome,
        blocks: bench.blocks(),
        commands: bench.commands,
        writes: bench.writes,
        time: bench.now().since(began),
        unreadable: bench.unreadable.clone(),
        unwritable: bench.unwritable.clone(),
        stalls: bench.stalls,
    })
}

fn learn<D: Device>(bench: &mut Bench<D>, effort: Effort, watch: &mut dyn Watch) -> Result<Outcome, BadInput> {
    watch.step(Step::Memory);
    memory::learn(bench, effort)?;
    watch.step(Step::Rotation);
    let Some(clock) = rotation::learn(bench, effort)? else { return no_rotation(bench) };
    let mut eye = Eye::new(bench, clock);
    let shift = sector::learn(&mut eye)?;
    let clock = eye.clock;
    bench.shift = shift;
    watch.step(Step::Map);
    let mut eye = Eye::new(bench, clock);
    let until = eye.bench.now() + effort.map_time(eye.bench.spent());
    let mut survey = Survey { eye: &mut eye, map: Map::default(), until, regular_until: 0 };
    survey.run(watch)?;
    let map = survey.map;
    eye.since = 0;
    eye.bench.unknown = map.guessed;
    watch.step(Step::Heads);
    let mut geometry = heads::learn(&mut eye, map.known())?;
    watch.step(Step::Cache);
    let mut cache = cache::learn(eye.bench, &geometry, eye.clock.period)?;
    eye.ahead = (cache.ahead, cache.read_ahead >> shift);
    watch.step(Step::Seeks);
    let moves = seek::learn(&mut eye, &geometry, Verb::Read, effort)?;
    let hidden = borders::learn(&mut eye, &mut geometry, &moves)?;
    let late = match effort {
        Effort::Thorough => late::learn(&mut eye, &geometry, &moves)?,
        Effort::Quick => Late::default(),
    };
    watch.step(Step::Transfer);
    let transfer = transfer::learn(&mut eye, &geometry)?;
    let block = cache.mb_s.map(|_| cache.block_ns());
    let delivery = delivery::learn(&mut eye, &geometry, block)?;
    cache.mb_s = (delivery.block > 0.0).then(|| 512e3 / delivery.block);
    let queue = queue::learn(&mut eye, &geometry, &moves)?;
    let all = (0, eye.bench.mapped());
    let chunks = chunk::learn(&mut eye, &geometry, Verb::Read, all, effort)?;
    // What begins wherever the head lands shows nothing of how long it took.
    let large = match transfer.on_arrival {
        true => None,
        false => large::learn(&mut eye, &geometry, Verb::Read, all)?,
    };
    let geometry = geometry.over(map);
    let writes = learn_writes(&mut eye, &geometry, &moves, cache.block_ns(), effort, watch)?;
    watch.step(Step::Validation);
    let validation = validate(&mut eye, &geometry, &moves)?;
    let clock = eye.clock;
    Ok(Outcome::Disk(Box::new(Known {
        effort,
        clock,
        shift,
        geometry,
        hidden,
        moves,
        late,
        cache,
        watermark: delivery.watermark,
        transfer,
        queue,
        large,
        chunks,
        writes,
        validation,
    })))
}

/// What writing takes, where it may be tried; the bus takes so long for a block, unless the buffer shows otherwise.
fn learn_writes<D: Device>(
    eye: &mut Eye<D>,
    geometry: &Geometry,
    moves: &Moves,
    block: f64,
    effort: Effort,
    watch: &mut dyn Watch,
) -> Result<Option<(Writes, Buffer, Chunks)>, BadInput> {
    let Some((first, end)) = eye.bench.writable() else { return Ok(None) };
    watch.step(Step::Writes);
    let field = Field { geometry, first, end };
    let buffer = buffer::learn(eye, &field)?;
    let bus = buffer.block.unwrap_or(block) * f64::from(1u32 << eye.bench.shift) / 1e6;
    let writes = write::learn(eye, &field, moves, bus)?;
    let chunks = chunk::learn(eye, geometry, Verb::Write { fua: false }, (first, end), effort)?;
    Ok(Some((writes, buffer, chunks)))
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
pub(crate) fn ms(ms: f64) -> Span {
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
        // Where memory answers nothing, what comes from it would take a read's.
        let hit = if cache.segments > 0 { cache.hit } else { overhead - bus };
        let lost = [transfer.lost_at_head, transfer.lost_at_cylinder];
        let (at_head, at_cylinder) = self.crossings(head, lost);
        let mut curve = moves.curve();
        if curve.is_empty() {
            curve.push((1, 0.0));
        }
        self.written(DrivePlan {
            title: format!("Profile of {name}"),
            sources: self.sources(name),
            assumed: self.assumed(),
            rpm: 60e9 / self.clock.mean_period(),
            layout: plan::layout(geometry, blocks, self.shift),
            seek: SeekCurve::Table(curve),
            seek_write: None,
            switches: Switches {
                head: ms(head),
                head_write: ms(at_head),
                cylinder: ms(at_cylinder),
                cylinder_write: ms(at_cylinder),
                write_settle: Span::ZERO,
            },
            access: Access { reads: transfer.on_arrival, writes: transfer.on_arrival, free: cache.free },
            overheads: Overheads {
                read: After::either(ms(overhead - bus)),
                write: After::either(ms(overhead - bus)),
                hit: After::either(ms(hit)),
                buffered: After::either(ms(hit)),
                large: self.large.map(|Large { above, share }| disk::Large { above, read: share, write: share }),
                ..Overheads::default()
            },
            bus: Bus { mb_s: cache.mb_s, watermark: self.watermark, ..Bus::default() },
            cache: disk::Cache {
                segments: cache.segments,
                segment: cache.segment as u32,
                ahead: cache.ahead,
                almost_hits: cache.almost_hits,
                resumes: cache.resumes,
                read_ahead: cache.read_ahead as u32,
                ..disk::Cache::default()
            },
            queue: disk::Queue {
                depth: if self.queue.reorders() { self.queue.depth } else { 1 },
                ..disk::Queue::default()
            },
            truth: Truth {
                seek_noise: ms(moves.spread),
                late_share: self.late.share.min(1.0),
                late_by: ms(self.late.by),
                ..Truth::default()
            },
            confidence: self.confidence(),
        })
    }

    /// What switching heads takes on its own, ms.
    #[must_use]
    pub fn head_switch(&self) -> f64 {
        self.moves.switch.map_or(0.0, |switch| (switch.mean - self.moves.overhead()).max(0.0))
    }

    /// What going on to the next head, and to the next cylinder, takes, ms: no more than the skew, unless that loses a
    /// revolution.
    pub(crate) fn crossings(&self, head: f64, [lost_at_head, lost_at_cylinder]: [bool; 2]) -> (f64, f64) {
        let period = self.clock.period / 1e6;
        let Some(region) = self.geometry.map.regions.first() else { return (0.0, 0.0) };
        let gap = |track: u64| {
            let last = region.track_pattern(track + 1) - 1;
            let (end, next) = (region.place_at(last), region.place_at(last + 1));
            crate::estimate::fraction(next.angle - end.angle - end.width()) * period
        };
        let first_seek = self.moves.curve().first().map_or(0.0, |(_, ms)| *ms);
        let crossing = |skew: f64, move_ms: f64, lost: bool| match lost {
            true => move_ms.max(1.05 * skew),
            false => move_ms.min(0.98 * skew),
        };
        let at_head = crossing(gap(0), head, lost_at_head);
        let at_cylinder = crossing(gap(self.geometry.heads - 1), first_seek.max(head), lost_at_cylinder);
        (at_head, at_cylinder)
    }

    /// Where it is from, and what of it no key of a drive file holds.
    fn sources(&self, name: &str) -> Vec<String> {
        let mut sources = vec![format!("halfturn profile {name}: times of commands, and nothing else")];
        let writes = self.writes.as_ref().and_then(|(.., chunks)| chunks.optimal);
        for (what, optimal) in [("reads", self.chunks.optimal), ("writes", writes)] {
            let sizes = optimal.map(|(least, most)| [least, most].map(|blocks| show_blocks(blocks.into())));
            sources.extend(sizes.map(|[least, most]| format!("optimal chunks of {what}: {least} to {most}")));
        }
        sources
    }

    fn assumed(&self) -> Vec<String> {
        let moves = &self.moves;
        let mut notes = self.assumed_of_writes();
        notes.push(format!(
            "how well it is known: {} fresh random reads, rms {:.3} ms of those on time, {:.2} % a revolution off",
            self.validation.pairs.len(),
            self.validation.rms_on_time_ms,
            100.0 * self.validation.late
        ));
        notes.extend(self.effort.gives_up().map(str::to_owned));
        if let Some(from) = self.geometry.map.guessed {
            notes.push(format!("from sector {from} on nothing was looked at: taken to go on as before"));
        }
        let elsewhere = self.geometry.map.remaps.len();
        if elsewhere > 0 {
            notes.push(format!("{elsewhere} sectors lie elsewhere, at the angles seen: which track is not known, and taken to be their own"));
        }
        notes.push(
            "sectors elsewhere: those that were met; one by itself between sectors that were looked at is not seen"
                .into(),
        );
        if moves.points.is_empty() {
            notes.push("seeks: none could be measured".into());
        }
        if moves.overhead.is_none() {
            notes.push("overhead: the shortest move, for it could not be told from one".into());
        }
        notes
    }
}
