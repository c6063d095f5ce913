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
        let believed =
            predict::Knowledge { sheet, times, learning: scheduler.mimic.learning, probe_after: scheduler.probe_after };
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

/// A world, as far as it differs from others: what it can do.
pub trait Abilities {
    /// What it can do that not every world can.
    fn able(&self) -> &'static [Ability];

    /// What its device can do, or one of those of an array.
    fn caps(&self, disk: usize) -> Caps;

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

    /// Where the blocks of an array lie, where that was found on its disks.
    fn geometry(&self) -> Option<Geometry> {
        None
    }

    /// How many disks an array has a place for that has so many in the file.
    fn places(&self, of_file: usize) -> usize {
        of_file
    }

    /// Whether what requests wait for is recorded.
    fn records(&self) -> bool {
        false
    }
}

/// A core that is ready to work, or an array of them.
pub struct BuiltCore<C = Box<dyn AnyCore>> {
    /// What decides of its requests.
    pub core: C,
    /// The blocks of the device that it is.
    pub blocks: u64,
    /// What a reader of the results must know.
    pub notes: Vec<String>,
}

/// Puts the core of one disk, or an array, to work by its own type, so that the loop around it is made for it.
pub trait CoreTaker {
    /// What comes of it.
    type Output;

    /// Puts it to work.
    ///
    /// # Errors
    /// As the world says.
    fn take_core<C: AnyCore>(self, built: BuiltCore<C>) -> Result<Self::Output, BadInput>;
}

/// All that the core of an experiment, or its array of cores, is made of but the predictor.
pub struct CoreMaking<'a> {
    experiment: &'a Experiment,
    known: &'a Knowledge,
    predictor: Predictor,
    rules: Rules,
    beside: Beside,
    notes: Vec<String>,
    /// What each disk can do.
    caps: Vec<Caps>,
    margins: (u64, u64),
    geometry: Option<Geometry>,
}

impl<'a> CoreMaking<'a> {
    /// What it is made of in a world.
    ///
    /// # Errors
    /// What [`check`] refuses, and what the world says.
    pub fn new(
        experiment: &'a Experiment,
        known: &'a Knowledge,
        world: &dyn Abilities,
    ) -> Result<CoreMaking<'a>, BadInput> {
        let predictor = check(experiment, &known.device, world.able())?;
        let mut notes = Vec::new();
        let rules = rules(experiment, known, world, &mut notes)?;
        notes.extend(warnings(&experiment.scheduler, predictor));
        notes.extend(experiment.floors_against_promises());
        if let Some(sheet) = known.believed.sheet.as_deref().or(known.device.sheet().map(Arc::as_ref)) {
            notes.extend(experiment.promises_too_short(sheet));
        }
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
        let disks = experiment.array.as_ref().map_or(1, |array| world.places(array.places().into()));
        let caps = (0..disks).map(|disk| world.caps(disk)).collect();
        Ok(CoreMaking {
            experiment,
            known,
            predictor,
            rules,
            beside,
            notes,
            caps,
            margins: world.margins(),
            geometry: world.geometry(),
        })
    }

    /// With a predictor made of what is known of each disk. Made here and not where it is used: it is long, and there are many.
    ///
    /// # Errors
    /// Where what the experiment asks for is not to be had.
    pub fn with_known(self) -> Result<BuiltCore, BadInput> {
        let (experiment, device) = (self.experiment, &self.known.device);
        match self.predictor.with(Boxing(self)) {
            Ok(built) => built,
            Err(_) => Err(check::nothing_to_believe(experiment, device)),
        }
    }

    /// The same; with the predictor that knows everything of a disk where the experiment asks for it.
    ///
    /// # Errors
    /// Where what the experiment asks for is not to be had.
    pub fn with_perfect<P: predict::Predictor + 'static>(
        self,
        perfect: impl Fn(usize) -> Option<P>,
    ) -> Result<BuiltCore, BadInput> {
        if self.predictor != Predictor::Oracle {
            return self.with_known();
        }
        let beliefs = (0..self.caps.len()).map(perfect).collect();
        self.make_boxed(beliefs)
    }

    /// Whether it is the core of one disk, made of what is known of it: as [`CoreMaking::with_one`] wants it.
    #[must_use]
    pub fn is_one(&self) -> bool {
        self.experiment.array.is_none() && self.predictor != Predictor::Oracle
    }

    /// Has the core of one disk put to work by its own type.
    ///
    /// # Errors
    /// Where what the experiment asks for is not to be had, and what the world says.
    pub fn with_one<T: CoreTaker>(self, taker: T) -> Result<T::Output, BadInput> {
        let (experiment, device) = (self.experiment, &self.known.device);
        match self.predictor.with(Handing(self, taker)) {
            Ok(output) => output,
            Err(_) => Err(check::nothing_to_believe(experiment, device)),
        }
    }

    /// Whether it is an array of whose disks sheets are believed: as [`CoreMaking::with_profiles`] wants it.
    #[must_use]
    pub fn is_array_of_profiles(&self) -> bool {
        self.experiment.array.is_some() && self.predictor == Predictor::Profile
    }

    /// Has such an array put to work by its own type.
    ///
    /// # Errors
    /// Where what the experiment asks for is not to be had, and what the world says.
    pub fn with_profiles<T: CoreTaker>(self, taker: T) -> Result<T::Output, BadInput> {
        let beliefs = (0..self.caps.len()).map(|disk| self.belief::<predict::Profile>(disk)).collect();
        taker.take_core(self.array(beliefs)?)
    }

    /// What is believed of a disk by a predictor of this type.
    fn belief<P: Recipe>(&self, disk: usize) -> Option<P> {
        P::make(self.known.members.get(disk).unwrap_or(&self.known.believed), self.caps[disk].blocks)
    }

    /// The core of one of the disks, which keeps at most `limit` requests.
    fn core<P: predict::Predictor + 'static>(
        &self,
        disk: usize,
        limit: u32,
        belief: Option<P>,
    ) -> Result<Core<P>, BadInput> {
        let belief = belief.ok_or_else(|| check::nothing_to_believe(self.experiment, &self.known.device))?;
        let scheduler = &self.experiment.scheduler;
        let make = |chosen: Chosen| {
            let beside = Beside { caps: Some(self.caps[disk]), ..self.beside.clone() };
            Box::new(move || chosen.make(&beside))
        };
        let core = Core::new(self.caps[disk], limit, belief, self.rules.clone(), make(scheduler.policy));
        let core = match scheduler.limits {
            Some(limits) => core.admitting(limits),
            None => core,
        };
        let own = (0..).zip(&self.rules.classes).filter_map(|(class, rule)| Some((class, rule.order?)));
        Ok(own.fold(core, |core, (class, order)| core.ordering(class, make(order))))
    }

    /// The core of the only disk, and what is to be read of it in any order.
    fn one<P: predict::Predictor + 'static>(self, belief: Option<P>) -> Result<BuiltCore<Core<P>>, BadInput> {
        let (experiment, blocks) = (self.experiment, self.caps[0].blocks);
        let core = self.core(0, experiment.scheduler.queue, belief)?;
        let core = match (experiment.scan(), experiment.any_order()) {
            (Some((scan, workload)), _) => {
                let wanted = scan.wanted_blocks(&workload.name, blocks);
                let wanted = wanted.map_err(|error| workload.place(&experiment.file, error))?;
                core.wanting(wanting(experiment, self.known, wanted, experiment.class_of(workload)))
            }
            (None, Some(_)) if !Wanted::fits(blocks, 1) => {
                let what = format!("{} are too many blocks to be read in any order", units::show_blocks(blocks));
                let mend = "take order = \"any\" out of the volume, or serve a smaller drive";
                return Err(BadInput::new(experiment.file.clone(), At::File, what, mend));
            }
            (None, Some(class)) => core.wanting(wanting(experiment, self.known, Wanted::nothing(blocks, 1), class)),
            (None, None) => core,
        };
        Ok(BuiltCore { core, blocks, notes: self.notes })
    }

    /// The core or the array, with what is believed of each disk.
    fn make_boxed<P: predict::Predictor + 'static>(self, mut beliefs: Vec<Option<P>>) -> Result<BuiltCore, BadInput> {
        if self.experiment.array.is_none() {
            let BuiltCore { core, blocks, notes } = self.one(beliefs.pop().flatten())?;
            return Ok(BuiltCore { core: Box::new(core), blocks, notes });
        }
        let BuiltCore { core, blocks, notes } = self.array(beliefs)?;
        Ok(BuiltCore { core: Box::new(core), blocks, notes })
    }

    /// The array, which the experiment has, with what is believed of each disk.
    fn array<P: predict::Predictor + 'static>(
        mut self,
        beliefs: Vec<Option<P>>,
    ) -> Result<BuiltCore<Array<P>>, BadInput> {
        let experiment = self.experiment;
        let Some(choice) = &experiment.array else { unreachable!("there is an array") };
        let least = self.caps.iter().map(|caps| caps.blocks).min().unwrap_or(0);
        if !choice.members.is_empty() {
            self.notes.push(format!("{} of each disk are used, all that the smallest has", units::show_blocks(least)));
        }
        let geometry = match self.geometry {
            Some(geometry) => geometry,
            None => Geometry::within(choice.level, choice.disks, choice.unit, least, self.margins)
                .and_then(|geometry| if choice.grows { geometry.grow() } else { Ok(geometry) })
                .map_err(|(what, mend)| BadInput::new(experiment.drive.model.clone(), At::File, what, mend))?,
        };
        // The array bounds what its disks are given.
        let cores: Result<Vec<_>, BadInput> =
            beliefs.into_iter().enumerate().map(|(disk, belief)| self.core(disk, u32::MAX, belief)).collect();
        let array = Array::new(geometry, choice.plan, self.rules, experiment.scheduler.queue, cores?);
        Ok(BuiltCore { core: array, blocks: geometry.blocks(), notes: self.notes })
    }
}

/// Has a core made of what is known.
struct Boxing<'a>(CoreMaking<'a>);

impl Taker for Boxing<'_> {
    type Output = Result<BuiltCore, BadInput>;

    fn take<P: Recipe>(self) -> Self::Output {
        let beliefs = (0..self.0.caps.len()).map(|disk| self.0.belief::<P>(disk)).collect();
        self.0.make_boxed(beliefs)
    }
}

/// Hands a core of what is known to who takes it.
struct Handing<'a, T>(CoreMaking<'a>, T);

impl<T: CoreTaker> Taker for Handing<'_, T> {
    type Output = Result<T::Output, BadInput>;

    fn take<P: Recipe>(self) -> Self::Output {
        let belief = self.0.belief::<P>(0);
        self.1.take_core(self.0.one(belief)?)
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
    world: &dyn Abilities,
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
    Beside { worths, claims, weights, learn, base: scheduler.mimic.base, margin, caps: None }
}

/// Blocks of a short command, where the file does not say: what the drive's sheet tells, and in an array of stripe units that
/// come by in half a revolution the whole unit. Cut further it would gain an arrival less than the wait for a sector, and each
/// unit written to the medium, which ends in a turn of waiting, would cost several.
fn chunk(sheet: &Sheet, unit: Option<u32>) -> u32 {
    let layout = &sheet.mechanics.layout;
    let half = u64::from(layout.longest_track()) << layout.sector_shift() >> 1;
    chunk_for(sheet).max(unit.filter(|unit| u64::from(*unit) <= half).unwrap_or(0))
}
