//! The core that an experiment asks for, built for every world by the same code from three things: the experiment, what is known
//! of the device, and what the world can do. So what one world accepts, refuses or warns of, all do, in the same words.

mod ability;
mod check;

pub use ability::Ability;
pub use check::{Device, check};

use crate::experiment::{Before, Believed, Experiment, Predictor, Scheduler};
use block::{At, BLOCK_BYTES, BadInput, Caps, Span, units};
use disk::Sheet;
use sched::array::{Array, Geometry, Level};
use sched::plan::{LastFua, LatePlan, Plan, Preemption, Rules, WriteChunk, chunk_for};
use sched::planner::Wish;
use sched::policy::{Beside, Chosen, Learn, Needs};
use sched::predict::{self, Recipe, Taker, Tells};
use sched::{Core, FreePlan, Scheduler as AnyCore, Wanted};
use std::sync::Arc;

/// Blocks of a short command where nothing is known of the device: 256 KiB.
const CHUNK: u32 = 512;

/// What is known of the device before the run.
#[derive(Clone, Debug)]
pub struct Knowledge {
    /// The kind of device that is driven.
    pub device: Device,
    /// What is believed of it.
    pub believed: predict::Knowledge,
    /// The same of each disk of an array, where they are not all alike.
    pub members: Vec<predict::Knowledge>,
}

impl Knowledge {
    /// What the file tells of a device of so many blocks: its own sheet, or the drive file or the table that the file names.
    ///
    /// # Errors
    /// When what it names is not there, or is of another device.
    pub fn of_file(experiment: &Experiment, device: Device, blocks: u64) -> Result<Knowledge, BadInput> {
        let scheduler = &experiment.scheduler;
        let sheet = match (&scheduler.profile, &device) {
            (Believed::Drive(name), _) => Some(Arc::new(experiment.drive.sheet_of(name, blocks)?)),
            (_, Device::Disk(sheet)) => Some(Arc::clone(sheet)),
            (_, Device::Other(_) | Device::Unknown) => None,
        };
        let times = match (&scheduler.mimic.before, scheduler.predictor) {
            (Before::Table(path), Some(Predictor::Mimic)) => Some(Arc::new(crate::learned::read_of(path, blocks)?)),
            _ => None,
        };
        let believed = predict::Knowledge { sheet, times, learning: scheduler.mimic.learning };
        Ok(Knowledge { device, believed, members: Vec::new() })
    }

    /// Of disks unlike one another, each is believed to be what its own sheet says.
    #[must_use]
    pub fn of_each(self, sheets: Vec<Arc<Sheet>>) -> Knowledge {
        let members =
            sheets.into_iter().map(|sheet| predict::Knowledge { sheet: Some(sheet), ..self.believed.clone() });
        Knowledge { members: members.collect(), ..self }
    }
}

/// A world, as far as it differs from others: what it can do, and where the core goes.
pub trait Abilities: Sized {
    /// What it can do that not every world can.
    const ABLE: &'static [Ability];
    /// Its predictor that knows everything, where it has [`Ability::Perfection`].
    type Perfect: predict::Predictor + 'static;
    /// What comes of the core.
    type Output;

    /// What its device can do, or one of those of an array.
    fn caps(&self, disk: usize) -> Caps;

    /// The predictor that knows everything of a device; nothing where there is none.
    fn perfect(&self, disk: usize) -> Option<Self::Perfect> {
        let _ = disk;
        None
    }

    /// A plan that keeps a wait, and the story of it, where it has [`Ability::Trials`].
    ///
    /// # Errors
    /// As trying it says.
    fn pick(&self, sheet: &Sheet, base: Plan, wish: Wish) -> Result<(Plan, String), BadInput> {
        let _ = (sheet, wish);
        Ok((base, String::new()))
    }

    /// Blocks of a disk of an array, before its data and behind it, that are not the array's to fill.
    fn margins(&self) -> (u64, u64) {
        (0, 0)
    }

    /// Whether what requests wait for is recorded.
    fn records(&self) -> bool {
        false
    }

    /// Puts the core to work on a device of so many blocks. The notes are what a reader of the results must know.
    ///
    /// # Errors
    /// As the world says.
    fn put(self, core: impl AnyCore + 'static, blocks: u64, notes: Vec<String>) -> Result<Self::Output, BadInput>;
}

/// Builds the core, or the array of cores, that an experiment asks for, and puts it to work.
///
/// # Errors
/// What [`check`] refuses, and what the world says.
pub fn build<W: Abilities>(experiment: &Experiment, known: &Knowledge, world: W) -> Result<W::Output, BadInput> {
    let predictor = check(experiment, &known.device, W::ABLE)?;
    let mut notes = Vec::new();
    let rules = rules(experiment, known, &world, &mut notes)?;
    notes.extend(warnings(&experiment.scheduler, predictor));
    notes.extend(experiment.floors_against_promises());
    if let Believed::Drive(model) = &experiment.scheduler.profile {
        notes.push(format!("believes {model}, not the drive's own sheet"));
    }
    let scheduler = &experiment.scheduler;
    // Who does not learn the times has nothing to learn under a base.
    let beside = match predictor {
        Predictor::Mimic => beside(scheduler, scheduler.mimic.learn, scheduler.mimic.margin),
        _ => beside(scheduler, Learn::Priority, 0.0),
    };
    // Nobody asks what the drive is believed to do: to follow it would cost as much as to simulate it.
    let idle = predictor == Predictor::Profile && asks_nothing(experiment);
    let predictor = if idle { Predictor::Distance } else { predictor };
    if predictor == Predictor::Profile {
        let words = known.believed.sheet.as_deref().and_then(|sheet| sheet.unmeasured.words());
        notes.extend(words.map(|words| {
            format!("believes that the drive writes as it reads, without a buffer: {words} are not known")
        }));
    }
    match predictor.with(Making { experiment, known, rules, beside, notes, world }) {
        Ok(output) => output,
        Err(making) => making.put(|world, disk| world.perfect(disk)),
    }
}

/// Whether nothing in an experiment asks how long anything takes: neither the policies, nor what serves in short commands,
/// bounds what the drive is given or spreads requests over disks.
fn asks_nothing(experiment: &Experiment) -> bool {
    let scheduler = &experiment.scheduler;
    let mut orders = scheduler.rules.classes.iter().filter_map(|class| class.order).chain([scheduler.policy]);
    let whole = scheduler.rules.plan.is_none() && scheduler.rules.preemption == Preemption::Never;
    let divides = scheduler.rules.bills && scheduler.rules.divides;
    let whole = whole && scheduler.rules.shares.is_none() && !divides;
    let alone = scheduler.limits.is_none() && experiment.array.is_none() && experiment.scan().is_none();
    let alone = alone && experiment.any_order().is_none();
    whole && alone && orders.all(|order| order.manual().needs == Needs::Nothing)
}

/// All that a core is made of but its predictor.
struct Making<'a, W> {
    experiment: &'a Experiment,
    known: &'a Knowledge,
    rules: Rules,
    beside: Beside,
    notes: Vec<String>,
    world: W,
}

impl<W: Abilities> Taker for Making<'_, W> {
    type Output = Result<W::Output, BadInput>;

    fn take<P: Recipe>(self) -> Self::Output {
        let known = self.known;
        self.put(|world, disk| P::make(known.members.get(disk).unwrap_or(&known.believed), world.caps(disk).blocks))
    }
}

impl<W: Abilities> Making<'_, W> {
    /// Puts the core to work with what is believed of each disk.
    fn put<P: predict::Predictor + 'static>(
        self,
        believe: impl Fn(&W, usize) -> Option<P>,
    ) -> Result<W::Output, BadInput> {
        let Making { experiment, rules, beside, mut notes, world, .. } = self;
        let (scheduler, blocks) = (&experiment.scheduler, world.caps(0).blocks);
        let core = |disk, limit| {
            let belief =
                believe(&world, disk).ok_or_else(|| check::nothing_to_believe(experiment, &self.known.device))?;
            let core = core(scheduler, &beside, &rules, world.caps(disk), limit, belief);
            if experiment.array.is_some() {
                return Ok(core);
            }
            Ok(match (experiment.scan(), experiment.any_order()) {
                (Some((scan, workload)), _) => {
                    let (wanted, class) = (scan.wanted_blocks(blocks), experiment.class_of(workload));
                    core.wanting(wanting(experiment, self.known, wanted, class))
                }
                (None, Some(class)) => core.wanting(wanting(experiment, self.known, Wanted::nothing(blocks, 1), class)),
                (None, None) => core,
            })
        };
        let Some(choice) = &experiment.array else {
            let core = core(0, scheduler.queue)?;
            return world.put(core, blocks, notes);
        };
        let least = (0..usize::from(choice.disks)).map(|disk| world.caps(disk).blocks).min().unwrap_or(blocks);
        if !choice.members.is_empty() {
            notes.push(format!("{} of each disk are used, all that the smallest has", units::show_blocks(least)));
        }
        let geometry = Geometry::within(choice.level, choice.disks, choice.unit, least, world.margins())
            .map_err(|(what, mend)| BadInput::new(experiment.drive.model.clone(), At::File, what, mend))?;
        // The array bounds what its disks are given.
        let cores: Result<Vec<_>, BadInput> = (0..usize::from(choice.disks)).map(|i| core(i, u32::MAX)).collect();
        let array = Array::new(geometry, choice.plan, rules.clone(), scheduler.queue, cores?);
        world.put(array, geometry.blocks(), notes)
    }
}

/// While there is no request for so long, time is idle: who asks again at once has done so.
const PATIENCE: Span = Span(1_000_000);

/// What is wanted in any order, by a class, and how it is read.
fn wanting(experiment: &Experiment, known: &Knowledge, wanted: Wanted, class: u8) -> FreePlan {
    let retries = experiment.scheduler.rules.class(class).retries;
    // Half of what a drive is sure to stream in: who comes waits for less, and on the catalogue's drives none is slower by it.
    let chunk = known.believed.sheet.as_deref().map_or(CHUNK, chunk_for).div_ceil(2).max(wanted.unit());
    FreePlan { wanted, chunk, patience: PATIENCE, class, retries }
}

/// The rules of the core, with a plan whose chunk is given.
fn rules(
    experiment: &Experiment,
    known: &Knowledge,
    world: &impl Abilities,
    notes: &mut Vec<String>,
) -> Result<Rules, BadInput> {
    let mut rules = experiment.scheduler.rules.clone();
    let sheet = known.believed.sheet.as_deref();
    let mut picked = None;
    match (&mut rules.plan, experiment.scheduler.wish, sheet) {
        (Some(plan), Some(wish), Some(sheet)) => {
            let (found, story) = world.pick(sheet, *plan, wish)?;
            (*plan, picked) = (found, Some(story));
        }
        (Some(plan), None, sheet) if plan.chunk == 0 => {
            let unit = experiment.array.as_ref().map(|array| array.unit);
            plan.chunk = sheet.map_or(CHUNK, |sheet| chunk(sheet, unit));
            plan.late = unit.is_none().then(|| sheet.map_or(LatePlan::USUAL, LatePlan::of));
            let between = sheet.is_some_and(|sheet| {
                sheet.cache.write_buffer > 0 && sheet.cache.drain == disk::Drain::Soonest && unit.is_none()
            });
            if between && plan.last_fua == LastFua::Auto && plan.write_chunk == WriteChunk::AsRead {
                plan.write_chunk = WriteChunk::Turn;
            }
            let kib = u64::from(plan.chunk) * BLOCK_BYTES / 1024;
            let from = match (sheet, unit == Some(plan.chunk)) {
                (None, _) => "as nothing is known of the device",
                (Some(_), true) => "a whole stripe unit",
                (Some(_), false) => "from the drive's sheet",
            };
            notes.push(format!("commands of at most {kib} KiB, {from}"));
        }
        _ => {}
    }
    notes.extend(name_interrupters(experiment, &rules));
    notes.extend(picked);
    rules.tells |= world.records();
    rules.keeps_writes = experiment.array.as_ref().is_some_and(|array| array.level != Level::Striped);
    Ok(rules)
}

/// Which classes interrupt, where that follows from the workloads.
fn name_interrupters(experiment: &Experiment, rules: &Rules) -> Option<String> {
    if rules.preemption != Preemption::Always {
        return None;
    }
    let names = experiment.classes();
    let able = names.iter().zip(&rules.classes).filter(|(_, rule)| rule.preempts).map(|(name, _)| *name);
    let able: Vec<&str> = able.collect();
    Some(match able.len() {
        0 => "nothing interrupts: no class has shorter requests or a higher priority than another".into(),
        count if count == names.len() => "every class is to interrupt, so that none does".into(),
        _ => format!("what interrupts: {}", able.join(", ")),
    })
}

/// What is asked for and, by this predictor, comes to less than it seems.
fn warnings(scheduler: &Scheduler, predictor: Predictor) -> Vec<String> {
    let manual = predictor.manual();
    if manual.tells >= Tells::Way {
        return Vec::new();
    }
    let why = match scheduler.predictor {
        None => "nothing is known of the device but how far apart blocks are".into(),
        Some(_) => format!("predictor = \"{}\" does not tell the way to a request", manual.name),
    };
    let mut warnings = Vec::new();
    if scheduler.rules.plan.is_some_and(|plan| plan.jit) {
        warnings.push(format!("no seek is timed: {why}"));
    }
    if manual.tells < scheduler.rules.preemption.manual().needs {
        warnings.push(format!("nothing interrupts: {why}"));
    }
    warnings
}

/// What its policy is told beside its own keys, where it learns in this way and with this margin.
fn beside(scheduler: &Scheduler, learn: Learn, margin: f64) -> Beside {
    let worths = scheduler.rules.classes.iter().map(|class| class.worth).collect();
    let claims = scheduler.rules.classes.iter().map(|class| class.iops.unwrap_or_default()).collect();
    let weights = scheduler.rules.classes.iter().map(|class| class.weight).collect();
    Beside { worths, claims, weights, learn, base: scheduler.mimic.base, margin }
}

/// Blocks of a short command, where the file does not say: what the drive's sheet tells, and in an array of stripe units that
/// come by in half a revolution the whole unit. Cut further it would gain an arrival less than the wait for a sector, and each
/// unit written to the medium, which ends in a turn of waiting, would cost several.
fn chunk(sheet: &Sheet, unit: Option<u32>) -> u32 {
    let layout = &sheet.mechanics.layout;
    let half = u64::from(layout.longest_track()) << layout.sector_shift() >> 1;
    chunk_for(sheet).max(unit.filter(|unit| u64::from(*unit) <= half).unwrap_or(0))
}

/// A core for a device of these capabilities that keeps at most `limit` requests. The rules are those of `scheduler`, with a
/// plan whose chunk is given.
fn core<P: predict::Predictor + 'static>(
    scheduler: &Scheduler,
    beside: &Beside,
    rules: &Rules,
    caps: Caps,
    limit: u32,
    belief: P,
) -> Core<P> {
    let make = |chosen: Chosen| {
        let beside = beside.clone();
        Box::new(move || chosen.make(&beside))
    };
    let core = Core::new(caps, limit, belief, rules.clone(), make(scheduler.policy));
    let core = match scheduler.limits {
        Some(limits) => core.admitting(limits),
        None => core,
    };
    let own = (0..).zip(&rules.classes).filter_map(|(class, rule)| Some((class, rule.order?)));
    own.fold(core, |core, (class, order)| core.ordering(class, make(order)))
}
