//! A profile from beginning to end: which probe follows which, and the drive they make.
//!
//! **A drive is learned by angles first.** A one-block read from the medium completes at its sector's angle, whatever
//! the arm did before, so `profile` sees where every sector lies without knowing any time but the period. A region of
//! tracks is a pattern like an odometer, in which periods nest; it is found by leaps that double, and what repeats
//! three times becomes a period; what does not repeat but for its angles is a bend. Only then the arm is asked, which
//! tracks are near one another, and what it crosses between regions. Moves are measured by what is caught: a sector
//! is asked for that comes by at a chosen moment. A drive that reads on ends the sector it is at before its arm
//! moves: where tracks are in step, that hides up to a sector of what a move takes, so that the drive is left alone
//! until it has read on, if it is still on the track then. Where a map was cut short, all later probes keep to what
//! was mapped. A host is late, never early: of many looks at an angle the least late counts. What a longer read takes
//! beyond the passing of its sectors is the way to the host: the bus, or what must be there before it goes.

use crate::bench::ProbeBench;
use crate::clock::PhaseClock;
use crate::curve::smooth;
use crate::effort::{Thoroughness, TimedPart};
use crate::estimate::NS_PER_MS;
use crate::eye::Eye;
use crate::map::{TrackGeometry, TrackMap};
use crate::plan;
use crate::probe::buffer::BufferHabits;
use crate::probe::cache::{BLOCK_NS_AT_1_MB_S, ReadCache};
use crate::probe::chunk::{self, Chunks};
use crate::probe::field::Field;
use crate::probe::large::{self, LargeCommands};
use crate::probe::late::{self, Late};
use crate::probe::map::MapSurvey;
use crate::probe::queue::{self, QueueHabits};
use crate::probe::seek::SeekTimes;
use crate::probe::transfer::Transfer;
use crate::probe::write::Writes;
use crate::probe::{borders, buffer, cache, delivery, heads, memory, rotation, sector, seek, transfer, write};
use crate::scratch::Scratch;
use crate::validate::{Validation, pick, validate};
use crate::verdict::Grade;
use block::units::show_blocks;
use block::{At, BadInput, Caps, Device, Span, Verb};
use disk::{Access, After, Bus, Drive, DrivePlan, Overheads, SeekCurve, Switches, Truth};
use std::fmt;

/// What crosses to a track in time takes no more than this share of the skew, and what does not, no less than this: so far from
/// all of it that rounding decides nothing.
const WITHIN: f64 = 0.98;
const BEYOND: f64 = 1.05;

/// What is asked of a profile.
#[derive(Clone, Debug)]
pub struct ProfileOptions {
    /// The name the device goes by.
    pub name: String,
    /// The seed of everything drawn.
    pub seed: u64,
    /// How many trials are made of everything.
    pub effort: Thoroughness,
    /// What may be written; none: nothing.
    pub scratch: Option<Scratch>,
}

impl ProfileOptions {
    /// What determines the profile of a device beside its answers, in a line.
    #[must_use]
    pub fn title(&self, caps: Caps) -> String {
        let effort = match self.effort {
            Thoroughness::Thorough => "thorough",
            Thoroughness::Quick => "quick",
        };
        let scratch = self.scratch.map_or("no scratch".to_owned(), |scratch| format!("a scratch of {scratch}"));
        let Caps { blocks, depth, .. } = caps;
        format!("{}, {blocks} blocks, {depth} at once; seed {}, {effort}, {scratch}", self.name, self.seed)
    }
}

/// A step of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProfileStep {
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

impl fmt::Display for ProfileStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ProfileStep::Memory => "read cache",
            ProfileStep::Rotation => "rotation",
            ProfileStep::Map => "block map",
            ProfileStep::Heads => "heads",
            ProfileStep::Cache => "read-ahead",
            ProfileStep::Seeks => "seeks",
            ProfileStep::Transfer => "transfers",
            ProfileStep::Writes => "writes",
            ProfileStep::Validation => "validation",
        })
    }
}

/// Told how a profile gets on.
pub trait ProgressWatcher {
    /// Called when a step begins.
    fn step(&mut self, step: ProfileStep);

    /// So much of the drive is mapped, of all.
    fn on_mapped(&mut self, done: u64, all: u64);
}

/// For callers that show no progress.
impl ProgressWatcher for () {
    fn step(&mut self, _: ProfileStep) {}
    fn on_mapped(&mut self, _: u64, _: u64) {}
}

/// What is known of a drive, and how.
#[derive(Clone, Debug)]
pub struct DriveKnowledge {
    /// How thoroughly it was learned.
    pub effort: Thoroughness,
    /// The platter, as followed to the end.
    pub clock: PhaseClock,
    /// Blocks of a sector, as a power of two.
    pub shift: u32,
    /// The map of sectors to tracks and angles.
    pub geometry: TrackGeometry,
    /// Parts whose time was over before all of them was asked.
    pub(crate) hurried: Vec<TimedPart>,
    /// Cylinders without data that the arm crosses between regions; they are counted.
    pub hidden: u64,
    /// What the arm takes.
    pub moves: SeekTimes,
    /// Seeks that fail to settle at once.
    pub late: Late,
    /// The size and habits of the read cache.
    pub cache: ReadCache,
    /// Share of a read that is in the buffer before its data begin to go to the host.
    pub watermark: f64,
    /// How fast blocks are transferred.
    pub transfer: Transfer,
    /// What becomes of commands given together.
    pub queue: QueueHabits,
    /// What large reads lose, if they do.
    pub large: Option<LargeCommands>,
    /// Throughput of reads by chunk.
    pub chunks: Chunks,
    /// Writes, the write buffer and throughput by chunk, if anything might be written.
    pub writes: Option<(Writes, BufferHabits, Chunks)>,
    /// How well all that predicts.
    pub validation: Validation,
}

/// What came of it.
#[derive(Clone, Debug)]
pub enum ProfileOutcome {
    /// A disk, and what is known of it.
    Disk(Box<DriveKnowledge>),
    /// Nothing turns: how long single reads take, shortest, median and longest, ms.
    NoRotation([f64; 3]),
    /// It turns, but next to nothing of it could be mapped with this effort: why.
    Unmapped(Thoroughness, String),
}

/// A profile and what it took.
#[derive(Clone, Debug)]
pub struct DriveProfile {
    /// What came of it.
    pub outcome: ProfileOutcome,
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

/// The file of a drive that was learned.
pub struct ProfiledFile {
    /// The file, for whoever reads drives (TOML).
    pub text: String,
    /// The drive that it gives when it is read back.
    pub drive: Result<Drive, BadInput>,
    /// How far it may be believed.
    pub grade: Grade,
}

impl DriveProfile {
    /// The file of the drive under this name; why there is none, where nothing turns.
    ///
    /// # Errors
    /// Why there is none.
    pub fn file(&self, name: &str) -> Result<ProfiledFile, String> {
        let known = match &self.outcome {
            ProfileOutcome::Disk(known) => known,
            ProfileOutcome::NoRotation(_) => {
                return Err("nothing turns in it, so that there is no drive to write down".into());
            }
            ProfileOutcome::Unmapped(_, why) => return Err(why.clone()),
        };
        let text = disk::write(&known.plan(name, self.blocks));
        let drive = disk::parse("profile", "the file of the profile", &text);
        let grade = known.judge(&drive);
        Ok(ProfiledFile { text, drive, grade })
    }

    /// The refusal of a file that may not be believed, or that there is none of, for this reason.
    #[must_use]
    pub fn refuse(&self, name: &str, why: String) -> BadInput {
        let mend = match &self.outcome {
            ProfileOutcome::Disk(known) if known.was_cut_short() => {
                "try it without --quick, which did not give the time to map all of it; nothing was written"
            }
            ProfileOutcome::Unmapped(Thoroughness::Quick, _) => {
                "let nothing else use the device or the processor, and profile it again, without --quick if that does not help; \
                 nothing was written"
            }
            ProfileOutcome::Disk(_) | ProfileOutcome::Unmapped(Thoroughness::Thorough, _) => {
                "let nothing else use the device or the processor, and profile it again; nothing was written"
            }
            ProfileOutcome::NoRotation(_) => "leave out -o, or learn the times of distances with --mimic",
        };
        BadInput::new(name, At::File, why, mend)
    }
}

/// Profiles a device, by reads alone if there is no scratch.
///
/// # Errors
/// When the device is lost, what must be read of it cannot be, or the scratch is not on it.
pub fn profile<D: Device>(
    device: &mut D,
    options: &ProfileOptions,
    watch: &mut dyn ProgressWatcher,
) -> Result<DriveProfile, BadInput> {
    if let Some(scratch) = options.scratch {
        scratch.check(device.caps().blocks)?;
    }
    let mut bench = ProbeBench::new(&options.name, device, options.seed, options.scratch);
    let began = bench.now();
    let outcome = match learn(&mut bench, options.effort, watch) {
        Err(error) if bench.is_overdue() => ProfileOutcome::Unmapped(options.effort, error.what),
        outcome => outcome?,
    };
    Ok(DriveProfile {
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

fn learn<D: Device>(
    bench: &mut ProbeBench<D>,
    effort: Thoroughness,
    watch: &mut dyn ProgressWatcher,
) -> Result<ProfileOutcome, BadInput> {
    let longest = std::mem::replace(&mut bench.longest, effort.longest_until_mapped());
    let Some(clock) = learn_clock(bench, effort, watch)? else { return no_rotation(bench) };
    let mut eye = Eye::new(bench, clock);
    let mut map = survey(&mut eye, effort, watch)?;
    eye.bench.longest = longest;
    if let Some(why) = map.falls_short(eye.bench.sectors()) {
        return Ok(ProfileOutcome::Unmapped(effort, why));
    }
    watch.step(ProfileStep::Heads);
    let mut geometry = eye.in_time(TimedPart::Heads, effort, |eye| heads::learn(eye, &mut map, effort))?;
    watch.step(ProfileStep::Cache);
    let mut cache = cache::learn(eye.bench, &geometry, eye.clock.period)?;
    eye.ahead = (cache.ahead, cache.read_ahead >> eye.bench.shift);
    watch.step(ProfileStep::Seeks);
    let moves = eye.in_time(TimedPart::Seeks, effort, |eye| seek::learn(eye, &geometry, Verb::Read, effort))?;
    let period = eye.clock.period_ms();
    if let Some(why) = map.guessed.and_then(|_| moves.falls_short(period, geometry.all_cylinders())) {
        // What follows goes by what the arm takes.
        return Ok(ProfileOutcome::Unmapped(effort, why));
    }
    let hidden = eye.in_time(TimedPart::Borders, effort, |eye| borders::learn(eye, &mut geometry, &moves, effort))?;
    let is_thorough = effort == Thoroughness::Thorough;
    let late = if is_thorough { late::learn(&mut eye, &geometry, &moves)? } else { Late::default() };
    watch.step(ProfileStep::Transfer);
    let transfer = transfer::learn(&mut eye, &geometry)?;
    let block = cache.mb_s.map(|_| cache.block_ns());
    let mut delivery = delivery::learn(&mut eye, &geometry, block)?;
    cache.mb_s = (delivery.block > 0.0).then(|| BLOCK_NS_AT_1_MB_S / delivery.block);
    let queue = queue::learn(&mut eye, &geometry, &moves, effort)?;
    let all = (0, eye.bench.mapped_sectors());
    let sweep = |eye: &mut Eye<D>| chunk::learn(eye, &geometry, Verb::Read, all, effort);
    let chunks = eye.in_time(TimedPart::Chunks, effort, sweep)?;
    // What begins wherever the head lands shows nothing of how long it took.
    let large = if transfer.on_arrival { None } else { large::learn(&mut eye, &geometry, Verb::Read, all)? };
    let looked_at = geometry.clone();
    let geometry = geometry.over(map);
    let writes = learn_writes(&mut eye, &geometry, &moves, cache.block_ns(), effort, watch)?;
    // Where nothing is read from memory, what is written into it may show the bus.
    let shown = writes.as_ref().and_then(|(_, buffer, _)| buffer.block).filter(|block| *block > cache::NO_BUS);
    if let Some(block) = shown.filter(|_| cache.mb_s.is_none()) {
        delivery = delivery::learn(&mut eye, &looked_at, Some(block))?;
        cache.mb_s = Some(BLOCK_NS_AT_1_MB_S / delivery.block);
    }
    watch.step(ProfileStep::Validation);
    let validation = try_out(&mut eye, &geometry, &moves, &late, effort)?;
    let (clock, hurried) = (eye.clock, std::mem::take(&mut eye.bench.hurried));
    Ok(ProfileOutcome::Disk(Box::new(DriveKnowledge {
        effort,
        clock,
        shift: eye.bench.shift,
        geometry,
        hurried,
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

/// The platter as a clock, and what stands in the way: memory, and how large a sector is. Nothing where nothing turns.
fn learn_clock<D: Device>(
    bench: &mut ProbeBench<D>,
    effort: Thoroughness,
    watch: &mut dyn ProgressWatcher,
) -> Result<Option<PhaseClock>, BadInput> {
    watch.step(ProfileStep::Memory);
    memory::learn(bench, effort)?;
    watch.step(ProfileStep::Rotation);
    let Some(clock) = rotation::learn(bench, effort)? else { return Ok(None) };
    let mut eye = Eye::new(bench, clock);
    let shift = sector::learn(&mut eye)?;
    let clock = eye.clock;
    bench.shift = shift;
    Ok(Some(clock))
}

/// Where tracks begin and end, as far as there is time for it.
fn survey<D: Device>(
    eye: &mut Eye<D>,
    effort: Thoroughness,
    watch: &mut dyn ProgressWatcher,
) -> Result<TrackMap, BadInput> {
    watch.step(ProfileStep::Map);
    let until = eye.bench.now() + effort.map_time(eye.bench.busy_time(), eye.bench.left_for_writes());
    let mut survey = MapSurvey { eye, map: TrackMap::default(), until, regular_until: 0 };
    survey.run(watch)?;
    let MapSurvey { eye, map, .. } = survey;
    eye.since = 0;
    eye.bench.unknown = map.guessed;
    Ok(map)
}

/// What writing takes, where it may be tried; the bus takes so long for a block, unless the buffer shows otherwise.
fn learn_writes<D: Device>(
    eye: &mut Eye<D>,
    geometry: &TrackGeometry,
    moves: &SeekTimes,
    block: f64,
    effort: Thoroughness,
    watch: &mut dyn ProgressWatcher,
) -> Result<Option<(Writes, BufferHabits, Chunks)>, BadInput> {
    let Some((first, end)) = eye.bench.writable() else { return Ok(None) };
    watch.step(ProfileStep::Writes);
    let field = Field { geometry, first, end };
    let (writes, buffer) = eye.in_time(TimedPart::Writes, effort, |eye| {
        let buffer = buffer::learn(eye, &field)?;
        let bus = buffer.block.unwrap_or(block) * f64::from(1u32 << eye.bench.shift) / NS_PER_MS;
        Ok((write::learn(eye, &field, moves, bus, effort)?, buffer))
    })?;
    let sweep = |eye: &mut Eye<D>| chunk::learn(eye, geometry, Verb::Write { fua: false }, (first, end), effort);
    let chunks = eye.in_time(TimedPart::WriteChunks, effort, sweep)?;
    Ok(Some((writes, buffer, chunks)))
}

/// Asks fresh requests, and what a scheduler would pick where these leave a doubt or not all was mapped.
fn try_out<D: Device>(
    eye: &mut Eye<D>,
    geometry: &TrackGeometry,
    moves: &SeekTimes,
    late: &Late,
    effort: Thoroughness,
) -> Result<Validation, BadInput> {
    eye.begin(TimedPart::Validation, effort);
    let until = eye.bench.until;
    if geometry.map.guessed.is_some() {
        // What a scheduler would pick is then asked in any case.
        eye.bench.until = Span(eye.bench.busy_time().0.midpoint(until.0));
    }
    let mut validation = validate(eye, geometry, moves)?;
    eye.bench.until = until;
    if validation.is_doubtful(eye.clock.period_ms(), moves, late) || geometry.map.guessed.is_some() {
        validation.lost = pick(eye, geometry, moves)?;
    }
    eye.bench.end_part();
    Ok(validation)
}

/// What can be said of a device that does not turn.
fn no_rotation<D: Device>(bench: &mut ProbeBench<D>) -> Result<ProfileOutcome, BadInput> {
    let mut times = Vec::new();
    for _ in 0..200 {
        let sector = bench.draw.below(bench.sectors());
        if let Some(reply) = bench.read(sector)? {
            times.push(reply.response().as_ms());
        }
    }
    Ok(ProfileOutcome::NoRotation([0.0, 0.5, 1.0].map(|share| crate::estimate::quantile(&times, share))))
}

/// Nanosecond spans of what may have come out below nothing.
pub(crate) fn ms(ms: f64) -> Span {
    Span::from_ms(ms.max(0.0))
}

impl DriveKnowledge {
    /// The drive, as a drive file has it.
    #[must_use]
    pub fn plan(&self, name: &str, blocks: u64) -> DrivePlan {
        let DriveKnowledge { geometry, moves, cache, transfer, .. } = self;
        let overhead = moves.overhead();
        let head = self.head_switch();
        let bus = cache.block_ns() / NS_PER_MS;
        // Where memory answers nothing, what comes from it would take a read's.
        let hit = if cache.segments > 0 { cache.hit } else { overhead - bus };
        let lost = [transfer.lost_at_head, transfer.lost_at_cylinder];
        let (at_head, at_cylinder) = self.crossings(head, lost);
        let mut curve = moves.curve();
        if curve.is_empty() {
            curve.push((1, 0.0));
        }
        self.add_writes(DrivePlan {
            title: format!("Profile of {name}"),
            sources: self.sources(name),
            assumed: self.assumptions(),
            rpm: self.clock.mean_rpm(),
            layout: plan::layout(geometry, blocks, self.shift),
            seek: SeekCurve::Table(smooth(&curve)),
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
                queued: self.queue.overhead.map(|left| ms(left.min(overhead - bus))),
                large: self.large.map(|LargeCommands { above, share }| disk::Large {
                    above,
                    read: share,
                    write: share,
                }),
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
            unmeasured: disk::Unmeasured::default(),
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
        let period = self.clock.period_ms();
        let Some(region) = self.geometry.map.regions.first() else { return (0.0, 0.0) };
        let gap = |track: u64| {
            let last = region.track_pattern(track + 1) - 1;
            let (end, next) = (region.place_at(last), region.place_at(last + 1));
            crate::estimate::fraction(next.angle - end.angle - end.width()) * period
        };
        let first_seek = self.moves.curve().first().map_or(0.0, |(_, ms)| *ms);
        let crossing = |skew: f64, move_ms: f64, lost: bool| match lost {
            true => move_ms.max(BEYOND * skew),
            false => move_ms.min(WITHIN * skew),
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

    fn assumptions(&self) -> Vec<String> {
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
