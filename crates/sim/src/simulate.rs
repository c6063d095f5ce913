//! Running an experiment: every run of the sweep, every replication, on all cores.

use crate::drives::{ArmTime, Drives, Stop};
use crate::learned::{self, Knowledge};
use crate::oracle::Oracle;
use crate::timeline::Film;
use crate::trial;
use crate::unit::{Unit, unit};
use block::{At, BLOCK_BYTES, BadInput, Time};
use disk::{Other, Sheet};
use drive::{Account, Machine};
use load::experiment::{Case, Experiment, Predictor as Choice};
use load::results::{self, Results, Run};
use load::{Meter, Mix};
use rayon::prelude::*;
use sched::plan::{Preemption, Rules, chunk_for};
use sched::policy::{self, Knobs, Learn};
use sched::predict::{Distance, Mimic, Predictor, Profile};
use sched::{Core, run};

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
#[derive(Clone, Debug)]
pub struct Replication {
    /// What was measured.
    pub meter: Meter,
    /// Where the arm's time went.
    pub account: Account,
    /// What scheduling cost.
    pub effort: Effort,
    /// What a reader of the results must know.
    pub notes: Vec<String>,
    /// What the scheduler knows of the device at the end, where it learns.
    pub learned: Option<results::Learned>,
    /// What was recorded, where that was asked for.
    pub(crate) film: Option<Film>,
}

/// Simulates all cases of an experiment.
///
/// # Errors
/// The first bad input met, in the order of the cases.
pub fn simulate(cases: &[Case], watch: &dyn Watch) -> Result<Results, BadInput> {
    let jobs: Vec<(usize, u32)> = cases
        .iter()
        .enumerate()
        .flat_map(|(i, case)| (0..case.experiment.run.replications).map(move |replication| (i, replication)))
        .collect();
    let known = learned::knowledge_all(cases)?;
    let done: Vec<Result<Replication, BadInput>> = jobs
        .par_iter()
        .map(|(i, replication)| {
            let experiment = &cases[*i].experiment;
            let result = stage(experiment, known[*i].clone(), *replication, &|count| watch.requests(count), None);
            watch.replication();
            result
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
    let mut arm = ArmTime::default();
    let mut notes: Vec<String> = Vec::new();
    let mut meter: Option<Meter> = None;
    let mut learned = None;
    for replication in replications {
        learned = learned.or(replication.learned);
        arm.add(&replication.account);
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
    let disk = arm.shares();
    Run {
        labels: case.labels.clone(),
        requests: meter.requests(),
        simulated_seconds: meter.measured().as_secs(),
        busy_seconds: meter.measured().as_secs() * disk.busy,
        throughput_mb_s: meter.throughput_mb_s(),
        idle_fraction: disk.idle,
        expected_wait_ms: meter.expected_wait_ms(),
        service: meter.service(),
        commands: meter.commands(),
        learned,
        classes: meter.classes().collect(),
        disks: vec![disk],
        notes,
    }
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

/// The same, with what is known before; with a film, only as far as that goes.
pub(crate) fn stage(
    experiment: &Experiment,
    known: Knowledge,
    replication: u32,
    tell: &(dyn Fn(u64) + Sync),
    film: Option<Film>,
) -> Result<Replication, BadInput> {
    let seed = experiment.run.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(u64::from(replication));
    let predictor = experiment.scheduler.predictor;
    match unit(&experiment.drive, seed)? {
        Unit::Disk(sheet, drive) => {
            let believed = if let Knowledge::Mechanics(mechanics) = &known { &mechanics.sheet } else { &*sheet };
            let scene = Scene { experiment, known: &known, sheet: Some(believed), drive: *drive, seed, tell, film };
            if let Knowledge::Mechanics(mechanics) = &known {
                let mut replication = scene.play(|_| Profile::new(believed))?;
                replication.learned = mechanics.tell(&mut replication.notes);
                return Ok(replication);
            }
            match predictor.unwrap_or(Choice::Profile) {
                Choice::Distance => scene.play(|_| Distance::default()),
                Choice::Profile => scene.play(|_| Profile::new(believed)),
                Choice::Mimic => scene.mimic(),
                Choice::Oracle => {
                    let mut replication = scene.play(|scene| Oracle::new(scene.drive.clone()))?;
                    let note = "rests on perfect knowledge of the drive (predictor = \"oracle\"): a bound";
                    replication.notes.push(note.into());
                    Ok(replication)
                }
            }
        }
        Unit::Other(other, drive) => {
            check_other(experiment, &other)?;
            let scene = Scene { experiment, known: &known, sheet: None, drive, seed, tell, film };
            if predictor == Some(Choice::Mimic) { scene.mimic() } else { scene.play(|_| Distance::default()) }
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
        notes.push(format!("commands of at most {kib} KiB, from the drive's sheet"));
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
    drive: M,
    seed: u64,
    tell: &'a (dyn Fn(u64) + Sync),
    film: Option<Film>,
}

impl<M: Machine> Scene<'_, M> {
    /// With the Disk Mimic, and what it learned before.
    fn mimic(self) -> Result<Replication, BadInput> {
        let (known, learning) = (self.known, self.experiment.scheduler.mimic.learning);
        let mut replication = self.play(|scene| match known {
            Knowledge::Times(learned) => Mimic::knowing(learned, learning),
            _ => Mimic::new(scene.drive.caps().blocks, learning),
        })?;
        if let (Some(kept), Knowledge::Times(learned)) = (&mut replication.learned, known) {
            learned::tell(learned, kept, &mut replication.notes);
        }
        Ok(replication)
    }

    /// What the policy is told.
    fn knobs(&self) -> Knobs {
        let scheduler = &self.experiment.scheduler;
        let defaults = Knobs::default();
        // Who knows the mechanics has nothing to learn under a base.
        let (learn, margin) = match self.known {
            Knowledge::Mechanics(_) => (Learn::Priority, 0.0),
            _ => (scheduler.mimic.learn, scheduler.mimic.margin),
        };
        Knobs {
            age_weight: scheduler.age_weight.unwrap_or_else(|| policy::age_weight(&scheduler.policy)),
            age_limit: scheduler.age_limit,
            beam: scheduler.beam.unwrap_or(defaults.beam),
            horizon: scheduler.horizon.unwrap_or(defaults.horizon),
            batch: scheduler.batch.unwrap_or(defaults.batch),
            worths: scheduler.rules.classes.iter().map(|class| class.worth).collect(),
            doubling: scheduler.age_doubling,
            learn,
            base: scheduler.mimic.base,
            margin,
        }
    }

    fn play<P: Predictor + 'static>(self, belief: impl Fn(&Self) -> P) -> Result<Replication, BadInput> {
        let scheduler = &self.experiment.scheduler;
        let knobs = self.knobs();
        let name = scheduler.policy.clone();
        let make = move || policy::named(&name, &knobs).expect("the experiment was checked");
        let caps = self.drive.caps();
        let mut rules = scheduler.rules.clone();
        let mut picked = None;
        if let (Some(plan), Some(sheet)) = (&mut rules.plan, self.sheet) {
            match scheduler.wish {
                Some(wish) => {
                    let found = trial::pick(self.experiment, sheet, *plan, wish)?;
                    (*plan, picked) = (found.plan, Some(found.story));
                }
                None if plan.chunk == 0 => plan.chunk = chunk_for(sheet),
                None => {}
            }
        }
        let mut told = serving(self.experiment, &rules);
        told.extend(picked);
        let mut core = Core::new(caps, scheduler.queue, belief(&self), rules, Box::new(make));
        let plan = &self.experiment.run;
        core.count_from(Time::ZERO + plan.warmup);
        let whole =
            Stop { at: plan.duration.map(|duration| Time::ZERO + plan.warmup + duration), requests: plan.requests };
        let stop = if self.film.is_some() { Stop::default() } else { whole };
        let mix = Mix::new(self.experiment, self.seed, caps.blocks)?;
        let mut world = Drives::new(self.drive, mix, stop, self.tell, self.film);
        run(&mut core, &mut world);
        let remains = world.finish()?;
        let (mut meter, mut notes) = remains.load.finish();
        if let Some(tally) = core.tally() {
            meter.serviced(tally.clone());
        }
        if remains.crowded {
            notes.push(format!(
                "more than {} requests were outstanding; those beyond waited in order of arrival outside the scheduler",
                scheduler.queue
            ));
        }
        notes.extend(told);
        let (decisions, examined) = core.effort();
        Ok(Replication {
            meter,
            account: remains.account,
            effort: Effort { decisions, examined },
            learned: core.belief().memory().map(|(distances, bytes)| results::Learned {
                distances: distances as u64,
                bytes: bytes as u64,
                ..results::Learned::default()
            }),
            notes,
            film: remains.film,
        })
    }
}
