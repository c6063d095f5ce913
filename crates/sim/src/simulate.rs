//! Running an experiment: every run of the sweep, every replication, on all cores.

use crate::arms::Arms;
use crate::camera::Camera;
use crate::drives::{ArmTime, Drives, Measured, Remains, Stop};
use crate::learned::{self, Knowledge};
use crate::moves::Moves;
use crate::oracle::Oracle;
use crate::trial;
use crate::unit::{Unit, unit};
use block::{At, BLOCK_BYTES, BadInput, Time};
use disk::{Other, Sheet};
use drive::{Account, Machine};
use flow::Picture;
use load::experiment::{Case, Experiment, Predictor as Choice};
use load::requests::{self, Records};
use load::results::{self, Results, Run};
use load::{Meter, Mix, schedule};
use rayon::prelude::*;
use sched::array::{Geometry, Level};
use sched::plan::{Preemption, Rules};
use sched::policy::Learn;
use sched::predict::{Distance, Mimic, Predictor, Profile};
use sched::{Array, Scheduler, run, run_told};

/// What is said of results that the oracle had a part in.
const BOUND: &str = "rests on perfect knowledge of the drive (predictor = \"oracle\"): a bound";
const NO_BOUND: &str = "rests on perfect knowledge of the drive's mechanics (predictor = \"oracle\"), but is no bound: there are \
    writes, and what they leave in the drive's buffer for later is not weighed";

/// What sets the seeds of the disks of an array apart.
const APART: u64 = 0xD1B5_4A32_D192_ED03;

/// Someone who follows the progress of an experiment.
pub trait Watch: Sync {
    /// So many more requests have ended.
    fn requests(&self, count: u64);
    /// One more replication of one run has ended.
    fn replication(&self);
}

/// What scheduling cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Decisions taken.
    pub decisions: u64,
    /// Candidates examined for them.
    pub examined: u64,
}

/// One replication of one run.
#[derive(Debug)]
pub struct Replication {
    /// What was measured.
    pub meter: Meter,
    /// Where the time of each arm went.
    pub accounts: Vec<Account>,
    /// What scheduling cost.
    pub effort: Effort,
    /// What a reader of the results must know.
    pub notes: Vec<String>,
    /// What the scheduler knows of the device at the end, where it learns.
    pub learned: Option<results::Learned>,
    /// What a system of processes came to.
    pub system: Option<results::System>,
    /// Requests that never ended.
    pub unfinished: u64,
    /// Whether anything was written.
    wrote: bool,
    /// Whether no scheduler can do better; nothing is said but of the oracle.
    pub bound: Option<bool>,
    /// What was recorded, where that was asked for.
    pub(crate) camera: Option<Camera>,
    /// The same of processes and processors.
    pub(crate) picture: Option<Picture>,
    /// When it ended.
    pub(crate) end: Time,
}

/// Simulates all cases of an experiment.
///
/// # Errors
/// The first bad input met, in the order of the cases.
pub fn simulate(cases: &[Case], watch: &dyn Watch) -> Result<Results, BadInput> {
    run_all(cases, watch, None)
}

/// Where the records of a case's replication go: the case by its number, the replication from 0 on.
pub type Opens<'a> = &'a (dyn Fn(usize, u32) -> Result<Box<dyn Records>, BadInput> + Sync);

/// The same, with a record of each request.
///
/// # Errors
/// The same, or when records cannot be written.
pub fn simulate_and_record(cases: &[Case], watch: &dyn Watch, opens: Opens) -> Result<Results, BadInput> {
    run_all(cases, watch, Some(opens))
}

fn run_all(cases: &[Case], watch: &dyn Watch, opens: Option<Opens>) -> Result<Results, BadInput> {
    let jobs: Vec<(usize, u32)> = cases
        .iter()
        .enumerate()
        .flat_map(|(i, case)| (0..case.experiment.run.replications).map(move |replication| (i, replication)))
        .collect();
    let known = learned::knowledge_all(cases)?;
    let done: Vec<Result<Replication, BadInput>> = jobs
        .par_iter()
        .map(|(i, replication)| {
            let device = |i: usize| requests::simulated(&cases[i].experiment);
            let records = opens.map(|opens| opens(*i, *replication)).transpose()?;
            let ledger = records.map(|out| Camera::Ledger(requests::ledger(&cases[*i], *replication, device(*i), out)));
            let tell = |count| watch.requests(count);
            let result = stage(&cases[*i].experiment, known[*i].clone(), *replication, &tell, ledger);
            watch.replication();
            let mut done = result?;
            if let Some(Camera::Ledger(ledger)) = done.camera.take() {
                ledger.close()?;
            }
            Ok(done)
        })
        .collect();
    let mut done = done.into_iter();
    let mut runs = Vec::with_capacity(cases.len());
    for case in cases {
        let replications: Result<Vec<_>, _> = done.by_ref().take(case.experiment.run.replications as usize).collect();
        runs.push(joined(case, replications?));
    }
    Ok(Results { schema: 1, runs })
}

/// The replications of a run as one result.
fn joined(case: &Case, replications: Vec<Replication>) -> Run {
    let mut arms: Vec<ArmTime> = Vec::new();
    let mut notes: Vec<String> = Vec::new();
    let mut meter: Option<Meter> = None;
    let mut learned = None;
    let unfinished = replications.iter().map(|one| one.unfinished).sum();
    let bound = replications.iter().filter_map(|one| one.bound).reduce(|all, one| all && one);
    let systems: Vec<results::System> = replications.iter().filter_map(|one| one.system.clone()).collect();
    for replication in replications {
        learned = learned.or(replication.learned);
        arms.resize_with(replication.accounts.len(), ArmTime::default);
        arms.iter_mut().zip(&replication.accounts).for_each(|(arm, account)| arm.add(account));
        for note in replication.notes {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        match &mut meter {
            Some(meter) => meter.merge(&replication.meter),
            None => meter = Some(replication.meter),
        }
    }
    let meter = meter.expect("an experiment has at least one replication");
    let disks: Vec<results::Disk> = arms.iter().map(ArmTime::shares).collect();
    let run = Run::of(case.labels.clone(), &meter, disks, notes);
    Run { unfinished, bound, learned, system: results::System::mean(&systems), ..run }
}

/// Simulates one replication of an experiment; `tell` is told from time to time how many more requests ended.
///
/// # Errors
/// Bad input: an unknown drive, a workload that does not fit it, a trace that cannot be read.
pub fn replicate(
    experiment: &Experiment,
    replication: u32,
    tell: &(dyn Fn(u64) + Sync),
) -> Result<Replication, BadInput> {
    stage(experiment, learned::knowledge(experiment)?, replication, tell, None)
}

/// The same, with what is known before; with a camera, only as far as that looks.
pub(crate) fn stage(
    experiment: &Experiment,
    known: Knowledge,
    replication: u32,
    tell: &(dyn Fn(u64) + Sync),
    camera: Option<Camera>,
) -> Result<Replication, BadInput> {
    let seed = experiment.run.seed_of(replication);
    let predictor = experiment.scheduler.predictor;
    let (mut disks, mut others) = (Vec::new(), Vec::new());
    let mut made = (None, None);
    for i in 0..u64::from(experiment.array.as_ref().map_or(1, |array| array.disks)) {
        // Each of an array has a phase and noise of its own.
        match unit(&experiment.drive, seed.wrapping_add(i.wrapping_mul(APART)))? {
            Unit::Disk(sheet, drive) => {
                made.0 = Some(sheet);
                disks.push(*drive);
            }
            Unit::Other(other, drive) => {
                made.1 = Some(other);
                others.push(drive);
            }
        }
    }
    if let Some(other) = made.1 {
        check_other(experiment, &other)?;
        let scene = Scene { experiment, known: &known, sheet: None, drives: others, seed, tell, camera };
        return if predictor == Some(Choice::Mimic) { scene.mimic() } else { scene.play(|_, _| Distance::default()) };
    }
    let Some(sheet) = made.0 else { unreachable!("an experiment has a drive") };
    let believed = if let Knowledge::Mechanics(mechanics) = &known { &mechanics.sheet } else { &*sheet };
    let scene = Scene { experiment, known: &known, sheet: Some(believed), drives: disks, seed, tell, camera };
    if let Knowledge::Mechanics(mechanics) = &known {
        let mut replication = scene.play(|_, _| Profile::new(believed))?;
        replication.learned = mechanics.tell(&mut replication.notes);
        return Ok(replication);
    }
    match predictor.unwrap_or(Choice::Profile) {
        Choice::Distance => scene.play(|_, _| Distance::default()),
        Choice::Profile => scene.play(|_, _| Profile::new(believed)),
        Choice::Mimic => scene.mimic(),
        Choice::Oracle => {
            let mut replication = scene.play(|scene, i| Oracle::new(scene.drives[i].clone()))?;
            replication.bound = Some(!replication.wrote);
            replication.notes.push(if replication.wrote { NO_BOUND } else { BOUND }.into());
            Ok(replication)
        }
    }
}

/// Of a device that is not a disk nothing is known beforehand.
fn check_other(experiment: &Experiment, other: &Other) -> Result<(), BadInput> {
    let scheduler = &experiment.scheduler;
    let refuse = |what: &str, mend: &str| {
        let what = format!("{} is not a disk: {what}", other.name);
        Err(BadInput::new(experiment.drive.model.clone(), At::File, what, mend))
    };
    let mend = "set predictor = \"distance\" or \"mimic\"";
    match scheduler.predictor {
        None | Some(Choice::Distance | Choice::Mimic) => {}
        Some(Choice::Profile) => return refuse("there is no sheet to believe", mend),
        Some(Choice::Oracle) => return refuse("nobody knows it perfectly", mend),
    }
    if scheduler.wish.is_some() {
        return refuse("no plan can be picked for a wait that is wanted", "set `chunk` in [scheduler.plan]");
    }
    if scheduler.rules.plan.is_some_and(|plan| plan.chunk == 0) {
        return refuse("it has no sheet to take `chunk` from", "set `chunk` in [scheduler.plan]");
    }
    Ok(())
}

/// What a reader must know of how requests were served.
fn serving(experiment: &Experiment, rules: &Rules) -> Vec<String> {
    let mut notes = Vec::new();
    let given = experiment.scheduler.rules.plan.is_some_and(|plan| plan.chunk > 0);
    if let Some(plan) = rules.plan.filter(|_| !given && experiment.scheduler.wish.is_none()) {
        let kib = u64::from(plan.chunk) * BLOCK_BYTES / 1024;
        let unit = experiment.array.as_ref().is_some_and(|array| array.unit == plan.chunk);
        let from = if unit { "a whole stripe unit" } else { "from the drive's sheet" };
        notes.push(format!("commands of at most {kib} KiB, {from}"));
    }
    if rules.preemption == Preemption::Always {
        let names = experiment.classes();
        let able = names.iter().zip(&rules.classes).filter(|(_, rule)| rule.preempts).map(|(name, _)| *name);
        let able: Vec<&str> = able.collect();
        notes.push(match able.len() {
            0 => "nothing interrupts: no class has shorter requests or a higher priority than another".into(),
            count if count == names.len() => "every class is to interrupt, so that none does".into(),
            _ => format!("what interrupts: {}", able.join(", ")),
        });
    }
    notes
}

/// Everything a replication needs.
struct Scene<'a, M> {
    experiment: &'a Experiment,
    known: &'a Knowledge,
    /// What is believed of the drive's mechanics, if it is a disk.
    sheet: Option<&'a Sheet>,
    /// The drive, or those of the array.
    drives: Vec<M>,
    seed: u64,
    tell: &'a (dyn Fn(u64) + Sync),
    camera: Option<Camera>,
}

impl<M: Machine> Scene<'_, M> {
    /// Whether only a piece of the run is looked at.
    fn is_brief(&self) -> bool {
        self.camera.as_ref().is_some_and(Camera::is_brief)
    }

    /// With the Disk Mimic, and what it learned before.
    fn mimic(self) -> Result<Replication, BadInput> {
        let (known, learning) = (self.known, self.experiment.scheduler.mimic.learning);
        let mut replication = self.play(|scene, i| match known {
            Knowledge::Times(learned) => Mimic::knowing(learned, learning),
            _ => Mimic::new(scene.drives[i].caps().blocks, learning),
        })?;
        if let (Some(kept), Knowledge::Times(learned)) = (&mut replication.learned, known) {
            learned::tell(learned, kept, &mut replication.notes);
        }
        Ok(replication)
    }

    fn play<P: Predictor + 'static>(self, belief: impl Fn(&Self, usize) -> P) -> Result<Replication, BadInput> {
        let scheduler = &self.experiment.scheduler;
        // Who knows the mechanics has nothing to learn under a base.
        let beside = match self.known {
            Knowledge::Mechanics(_) => schedule::beside(scheduler, Learn::Priority, 0.0),
            _ => schedule::beside(scheduler, scheduler.mimic.learn, scheduler.mimic.margin),
        };
        let mut rules = scheduler.rules.clone();
        let mut picked = None;
        if let (Some(plan), Some(sheet)) = (&mut rules.plan, self.sheet) {
            match scheduler.wish {
                Some(wish) => {
                    let found = trial::pick(self.experiment, sheet, *plan, wish)?;
                    (*plan, picked) = (found.plan, Some(found.story));
                }
                None if plan.chunk == 0 => {
                    let unit = self.experiment.array.as_ref().map(|array| array.unit);
                    plan.chunk = schedule::chunk(sheet, unit);
                }
                None => {}
            }
        }
        let mut told = serving(self.experiment, &rules);
        told.extend(picked);
        rules.tells = matches!(self.camera, Some(Camera::Ledger(_)));
        rules.keeps_writes = self.experiment.array.as_ref().is_some_and(|array| array.level != Level::Striped);
        let core = |i: usize, limit: u32| {
            schedule::core(scheduler, &beside, &rules, self.drives[i].caps(), limit, belief(&self, i))
        };
        let blocks = self.drives.first().map_or(0, |drive| drive.caps().blocks);
        let Some(choice) = &self.experiment.array else {
            let core = core(0, scheduler.queue);
            return self.ask(core, blocks, told);
        };
        let geometry = Geometry::new(choice.level, choice.disks, choice.unit, blocks)
            .map_err(|(what, mend)| BadInput::new(self.experiment.drive.model.clone(), At::File, what, mend))?;
        // The array bounds what its disks are given.
        let cores = (0..self.drives.len()).map(|i| core(i, u32::MAX)).collect();
        let array = Array::new(geometry, choice.plan, rules.clone(), scheduler.queue, cores);
        self.ask(array, geometry.blocks(), told)
    }

    /// Asks what the experiment asks of so many blocks.
    fn ask(self, core: impl Scheduler, blocks: u64, told: Vec<String>) -> Result<Replication, BadInput> {
        if self.experiment.has_processes() {
            let machine = flow::machine(self.experiment, self.seed, blocks)?;
            let system = flow::ProcessSystem::new(self.experiment, machine, self.seed);
            return self.serve(core, system, told);
        }
        let mix = Mix::new(self.experiment, self.seed, blocks)?;
        self.serve(core, mix, told)
    }

    /// Serves a load to the end.
    fn serve<C: Scheduler, L: Measured>(
        self,
        mut core: C,
        load: L,
        story: Vec<String>,
    ) -> Result<Replication, BadInput> {
        let plan = &self.experiment.run;
        let filmed = matches!(self.camera, Some(Camera::Film(_)));
        let whole = Stop { after: plan.duration, requests: plan.requests };
        let stop = if filmed { Stop::default() } else { whole };
        let moves = self.sheet.filter(|_| self.experiment.has_processes()).map(|sheet| Moves::new(&sheet.mechanics));
        let load = match &self.camera {
            Some(Camera::Reel(reel)) => load.pictured(reel.scope),
            _ => load,
        };
        let timed = self.experiment.scheduler.rules.plan.is_some_and(|plan| plan.jit);
        let arms = self.sheet.filter(|_| timed && self.drives.len() == 1 && !self.is_brief());
        let arms = arms.map(|sheet| Arms::new(&sheet.mechanics));
        let told = arms.as_ref().map(Arms::told);
        let mut world = Drives::new(self.drives, load, stop, self.tell, self.camera).following(moves, arms);
        for failure in self.experiment.array.iter().flat_map(|array| &array.fails) {
            world.fail(*failure);
        }
        let weight = world.weight();
        let play = |core: &mut _, world: &mut _| match &told {
            Some(told) => run_told(core, world, |core: &C| told.set(core.arrival())),
            None if filmed => run_told(core, world, |core: &C| weight.set(core.weight())),
            None => run(core, world),
        };
        if world.settles() {
            core.count_from(Time::NEVER);
            play(&mut core, &mut world);
            core.count_from(world.begin());
        } else {
            core.count_from(Time::ZERO + plan.warmup);
        }
        play(&mut core, &mut world);
        // What is followed beyond the measured time has no part in these.
        let mut counts = Counts {
            tally: core.tally(),
            fill: core.fill(),
            effort: core.effort(),
            memory: core.memory(),
            lost: 0,
            limit: self.experiment.scheduler.queue,
        };
        if world.close() {
            play(&mut core, &mut world);
        }
        counts.lost = core.lost();
        Ok(counts.joined(world.finish()?, story))
    }
}

/// What a core counted of a run.
struct Counts {
    tally: Option<sched::Tally>,
    fill: Option<sched::array::Fill>,
    effort: (u64, u64),
    memory: Option<(usize, usize)>,
    lost: u64,
    /// Requests it takes at once.
    limit: u32,
}

impl Counts {
    /// With what the world counted, and what is to be said before.
    fn joined<L: Measured>(self, remains: Remains<L>, story: Vec<String>) -> Replication {
        let Counts { tally, fill, effort, memory, lost, limit } = self;
        let end = remains.end;
        let (mut meter, mut notes, account) = remains.load.finish(end);
        let mut system = account.map(|account| account.result(end));
        if let (Some(system), Some(moves)) = (&mut system, &remains.moves) {
            moves.tell(system);
        }
        if let Some(tally) = tally {
            if tally.given_up > 0 {
                notes.push("too many just-in-time seeks came too late: for a while requests went at once".into());
            }
            meter.serviced(tally);
        }
        if let Some(fill) = fill {
            meter.filled(fill);
        }
        if remains.crowded {
            notes.push(format!(
                "more than {} requests were outstanding; those beyond waited in order of arrival outside the scheduler",
                limit
            ));
        }
        let probes = (remains.probes > 0).then_some(remains.probes);
        notes.extend(probes.map(|probes| format!("{probes} probes in idle time, counted as background")));
        notes.extend(story);
        if lost > 0 {
            notes.push(format!("data was lost: {} requests met what no disk holds any more", lost));
        }
        if remains.unfinished > 0 {
            let why = if remains.timeless { "the clock ended, after 584 years" } else { "nothing would ever end them" };
            notes.push(format!("not whole: requests never ended, since {why}"));
        }
        notes.extend(meter.note());
        Replication {
            meter,
            accounts: remains.accounts,
            effort: Effort { decisions: effort.0, examined: effort.1 },
            learned: memory.map(|(distances, bytes)| results::Learned {
                distances: distances as u64,
                bytes: bytes as u64,
                idle_probes: probes,
                ..results::Learned::default()
            }),
            notes,
            system,
            unfinished: remains.unfinished,
            wrote: remains.wrote,
            bound: None,
            camera: remains.camera,
            picture: remains.picture,
            end,
        }
    }
}

#[cfg(test)]
mod tests;
