//! Running an experiment: every run of the sweep, every replication, on all cores.

use crate::camera::Camera;
use crate::drives::ArmTime;
use crate::learned::before_all;
use crate::replication::Replication;
use crate::stage::stage;
use block::BadInput;
use load::Meter;
use load::experiment::Case;
use load::points::{PointJournal, Points};
use load::requests::{self, Records};
use load::results::{self, Results, Run};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::mem;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

/// Someone who follows the progress of an experiment.
pub trait Watch: Sync {
    /// So many more requests have ended.
    fn requests(&self, count: u64);
    /// Whether to go on; where not, what runs ends soon with an error.
    fn goes_on(&self) -> bool {
        true
    }
    /// One more replication of one run has ended.
    fn replication(&self);
}

/// A watch that nobody looks at: for runs that are soon over.
#[derive(Clone, Copy, Debug)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn requests(&self, _: u64) {}
    fn replication(&self) {}
}

/// Simulates all cases of an experiment.
///
/// # Errors
/// The first bad input met, in the order of the cases.
pub fn simulate(cases: &[Case], watch: &dyn Watch) -> Result<Results, BadInput> {
    run_all(cases, watch, None)
}

/// Where the records of a case's replication go, if they are wanted: the case by its number, the replication from 0 on.
pub type Opens<'a> = &'a (dyn Fn(usize, u32) -> Result<Option<Box<dyn Records>>, BadInput> + Sync);

/// The same, with a record of each request.
///
/// # Errors
/// The same, or when records cannot be written.
pub fn simulate_and_record(cases: &[Case], watch: &dyn Watch, opens: Opens) -> Result<Results, BadInput> {
    run_all(cases, watch, Some(opens))
}

fn run_all(cases: &[Case], watch: &dyn Watch, opens: Option<Opens>) -> Result<Results, BadInput> {
    let runs: Mutex<Vec<Option<Run>>> = Mutex::new(vec![None; cases.len()]);
    let keep = |case: usize, run| {
        runs.lock().unwrap_or_else(PoisonError::into_inner)[case] = Some(run);
        Ok(())
    };
    simulate_each(cases, watch, opens, &keep)?;
    let runs = runs.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Results::new(runs.into_iter().flatten().collect()))
}

/// What is done with the run of a case, by its number, as soon as it has ended: several at once, in the order in which they end.
pub type TakesRun<'a> = &'a (dyn Fn(usize, Run) -> Result<(), BadInput> + Sync);

/// Simulates all cases, and lets go of the run of each once that was taken, so that memory does not grow with their number.
///
/// # Errors
/// The same, or when a run cannot be taken.
pub fn simulate_each(cases: &[Case], watch: &dyn Watch, opens: Option<Opens>, take: TakesRun) -> Result<(), BadInput> {
    let replications = |case: &Case| case.experiment.run.replications;
    let jobs: Vec<(usize, u32)> =
        cases.iter().enumerate().flat_map(|(i, case)| (0..replications(case)).map(move |one| (i, one))).collect();
    let known = before_all(cases)?;
    let ended: Vec<Mutex<Vec<(u32, Replication)>>> = cases.iter().map(|_| Mutex::default()).collect();
    let run_one = |(i, number): &(usize, u32)| {
        let case = &cases[*i];
        let records = opens.map(|opens| opens(*i, *number)).transpose()?.flatten();
        let device = requests::name_simulated_device(&case.experiment);
        let ledger = records.map(|out| Camera::Ledger(requests::ledger(case, *number, device, out)));
        let tell = |count| {
            watch.requests(count);
            if watch.goes_on() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let result = stage(&case.experiment, &known[*i], *number, &tell, ledger);
        watch.replication();
        let mut replication = result?;
        if let Some(Camera::Ledger(ledger)) = replication.camera.take() {
            ledger.close(replication.end)?;
        }
        let mut all = ended[*i].lock().unwrap_or_else(PoisonError::into_inner);
        all.push((*number, replication));
        if all.len() < replications(case) as usize {
            return Ok(());
        }
        // They are joined in their order, whichever ended first.
        let mut all = mem::take(&mut *all);
        all.sort_by_key(|(number, _)| *number);
        take(*i, join(case, all.into_iter().map(|(_, replication)| replication).collect()))
    };
    let ended: Vec<Result<(), BadInput>> = jobs.par_iter().with_max_len(1).map(run_one).collect();
    ended.into_iter().collect()
}

/// Simulates those points of a sweep that a journal has not got, and keeps each there as it ends.
///
/// # Errors
/// The first bad input met, or when a run cannot be kept; what ended before and beside it is kept.
pub fn sweep(unfinished: &Unfinished, journal: &PointJournal, watch: &dyn Watch) -> Result<(), BadInput> {
    let Unfinished { hashes, cases } = unfinished;
    simulate_each(cases, watch, None, &|case, run| journal.keep(hashes[case], &run))
}

/// The points that a journal has not got.
pub struct Unfinished<'a> {
    hashes: Vec<&'a str>,
    /// The cases they are of.
    pub cases: Vec<Case>,
}

impl Unfinished<'_> {
    /// Those of these points; of several that are decided by the same, one.
    #[must_use]
    pub fn of<'a>(points: &'a Points, journal: &PointJournal) -> Unfinished<'a> {
        let mut unfinished = Unfinished { hashes: Vec::new(), cases: Vec::new() };
        let mut known = BTreeSet::new();
        for point in points.points.iter().filter(|point| !journal.has(&point.hash)) {
            if known.insert(&point.hash) {
                unfinished.hashes.push(&point.hash);
                unfinished.cases.push(point.case.clone());
            }
        }
        unfinished
    }
}

/// The replications of a run as one result.
fn join(case: &Case, replications: Vec<Replication>) -> Run {
    let mut arms: Vec<ArmTime> = Vec::new();
    let mut notes: Vec<String> = Vec::new();
    let mut meter: Option<Meter> = None;
    let mut learned = None;
    let unfinished = replications.iter().map(|one| one.unfinished).sum();
    let bound = replications.iter().filter_map(|one| one.bound).reduce(|all, one| all && one);
    let systems: Vec<results::SystemCounts> = replications.iter().filter_map(|one| one.system.clone()).collect();
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
    notes.extend(load::share_note(&case.experiment.scheduler.rules, &meter));
    let disks: Vec<results::Disk> = arms.iter().map(ArmTime::shares).collect();
    let mut run = Run::of(case.labels.clone(), &meter, disks, notes);
    run.notes.extend(case.experiment.promises_broken(&run.classes));
    Run { unfinished, bound, learned, system: results::SystemCounts::mean(&systems), ..run }
}
