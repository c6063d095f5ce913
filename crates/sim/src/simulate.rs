//! Running an experiment: every run of the sweep, every replication, on all cores.

use crate::drives::{ArmTime, Drives, Stop};
use crate::oracle::Oracle;
use crate::timeline::Film;
use crate::trial;
use block::{At, BLOCK_BYTES, BadInput, Time};
use disk::{Sheet, Truth};
use drive::{Account, Drive};
use load::experiment::{Case, Experiment, Predictor as Choice};
use load::results::{Results, Run};
use load::{Meter, Mix};
use rayon::prelude::*;
use sched::plan::{Preemption, Rules, chunk_for};
use sched::policy::{self, Knobs};
use sched::predict::{Distance, Predictor, Profile};
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
    let done: Vec<Result<Replication, BadInput>> = jobs
        .par_iter()
        .map(|(i, replication)| {
            let result = replicate(&cases[*i].experiment, *replication, &|count| watch.requests(count));
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
    for replication in replications {
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
        throughput_mb_s: meter.throughput_mb_s(),
        idle_fraction: disk.idle,
        expected_wait_ms: meter.expected_wait_ms(),
        service: meter.service(),
        commands: meter.commands(),
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
    stage(experiment, replication, tell, None)
}

/// The same; with a film, only as far as that goes.
pub(crate) fn stage(
    experiment: &Experiment,
    replication: u32,
    tell: &(dyn Fn(u64) + Sync),
    film: Option<Film>,
) -> Result<Replication, BadInput> {
    let choice = &experiment.drive;
    let disk::Drive { mut sheet, truth } = disk::catalogue::find(&choice.model)?;
    sheet.cache = sheet.cache.switched(choice.read_cache, choice.write_buffer);
    if choice.queue > sheet.queue.depth {
        let what = format!("the drive takes {} commands at once, not {}", sheet.queue.depth, choice.queue);
        let mend = "ask for no more in `queue` of [drive], or give the drive's file a [queue] with a greater depth";
        return Err(BadInput::new(choice.model.clone(), At::File, what, mend));
    }
    sheet.queue.depth = choice.queue;
    let truth = if choice.noise { truth } else { Truth::default() };
    let seed = experiment.run.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(u64::from(replication));
    let drive = Drive::new(&sheet, &truth, seed);
    let scene = Scene { experiment, sheet: &sheet, drive, seed, tell, film };
    match experiment.scheduler.predictor {
        Choice::Distance => scene.play(|_| Distance::default()),
        Choice::Profile => scene.play(|scene| Profile::new(scene.sheet)),
        Choice::Oracle => {
            let mut replication = scene.play(|scene| Oracle::new(scene.drive.clone()))?;
            replication.notes.push("rests on perfect knowledge of the drive (predictor = \"oracle\"): a bound".into());
            Ok(replication)
        }
    }
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
struct Scene<'a> {
    experiment: &'a Experiment,
    sheet: &'a Sheet,
    drive: Drive,
    seed: u64,
    tell: &'a (dyn Fn(u64) + Sync),
    film: Option<Film>,
}

impl Scene<'_> {
    fn play<P: Predictor + 'static>(self, belief: impl Fn(&Self) -> P) -> Result<Replication, BadInput> {
        let scheduler = &self.experiment.scheduler;
        let defaults = Knobs::default();
        let knobs = Knobs {
            age_weight: scheduler.age_weight.unwrap_or(defaults.age_weight),
            age_limit: scheduler.age_limit,
            batch: scheduler.batch.unwrap_or(defaults.batch),
        };
        let name = scheduler.policy.clone();
        let make = move || policy::named(&name, &knobs).expect("the experiment was checked");
        let caps = self.drive.caps();
        let mut rules = scheduler.rules.clone();
        let mut picked = None;
        match (&mut rules.plan, scheduler.wish) {
            (Some(plan), Some(wish)) => {
                let found = trial::pick(self.experiment, self.sheet, *plan, wish)?;
                (*plan, picked) = (found.plan, Some(found.story));
            }
            (Some(plan), None) if plan.chunk == 0 => plan.chunk = chunk_for(self.sheet),
            _ => {}
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
            notes,
            film: remains.film,
        })
    }
}
