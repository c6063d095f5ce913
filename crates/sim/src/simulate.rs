//! Running an experiment: every run of the sweep, every replication, on all cores.

use crate::camera::Camera;
use crate::drives::ArmTime;
use crate::learned::before_all;
use crate::replication::Replication;
use crate::stage::stage;
use block::BadInput;
use load::Meter;
use load::experiment::Case;
use load::requests::{self, Records};
use load::results::{self, Results, Run};
use rayon::prelude::*;

/// Someone who follows the progress of an experiment.
pub trait Watch: Sync {
    /// So many more requests have ended.
    fn requests(&self, count: u64);
    /// One more replication of one run has ended.
    fn replication(&self);
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
    let known = before_all(cases)?;
    let done: Vec<Result<Replication, BadInput>> = jobs
        .par_iter()
        .map(|(i, replication)| {
            let device = |i: usize| requests::name_simulated_device(&cases[i].experiment);
            let records = opens.map(|opens| opens(*i, *replication)).transpose()?;
            let ledger = records.map(|out| Camera::Ledger(requests::ledger(&cases[*i], *replication, device(*i), out)));
            let tell = |count| watch.requests(count);
            let result = stage(&cases[*i].experiment, &known[*i], *replication, &tell, ledger);
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
        runs.push(join(case, replications?));
    }
    Ok(Results::new(runs))
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
    let run = Run::of(case.labels.clone(), &meter, disks, notes);
    Run { unfinished, bound, learned, system: results::SystemCounts::mean(&systems), ..run }
}
