//! The workloads of an experiment, asked of a live device.

use crate::make::{self, Made};
use crate::{Clock, Lateness, Live, Mixed};
use block::{At, BadInput, Time};
use load::Mix;
use load::experiment::Case;
use load::results::{Disk, Run};
use sched::{Scheduler, run};

/// What came of it.
pub struct Benched {
    /// What the workloads saw.
    pub run: Run,
    /// How late the host noticed what an emulated drive had done.
    pub lateness: Lateness,
}

/// Runs one case in real time, on a clock so many times as fast.
///
/// # Errors
/// Bad input: a device that cannot be had, a workload that does not fit it, or a kernel that does not go on.
pub fn bench(case: &Case, scale: f64) -> Result<Benched, BadInput> {
    let experiment = &case.experiment;
    if experiment.has_processes() {
        let what = "processes run in virtual time only";
        return Err(BadInput::new(experiment.title.clone(), At::File, what, "simulate it"));
    }
    let seed = experiment.run.seed_of(0);
    let made = make::device(&experiment.drive, experiment.scheduler.rules.plan.is_some(), seed)?;
    let Made { unit, sheet, mut notes } = made;
    let mut core = make::core(experiment, sheet, unit.caps(), &mut notes)?;
    let mix = Mix::new(experiment, seed, unit.caps().blocks)?;
    let plan = &experiment.run;
    let from = Time::ZERO + plan.warmup;
    let source = Mixed::new(mix, plan.duration.map(|duration| from + duration), plan.requests);
    core.count_from(from);
    let stopped = |error: std::io::Error| crate::serve::stopped(&experiment.title, &error);
    let mut world = Live::new(Clock::new(scale), unit, source, experiment.serve.timeout).map_err(stopped)?;
    run(&mut core, &mut world);
    let remains = world.finish().map_err(stopped)?;
    let (mut meter, more) = remains.source.finish()?;
    if let Some(tally) = core.tally() {
        meter.serviced(tally);
    }
    let account = remains.account;
    let disks = account.map(|all| Disk::of(all.elapsed(), all.busy, all.background, all.parts.named()));
    let notes = notes.into_iter().chain(more).collect();
    let run = Run::of(case.labels.clone(), &meter, disks.into_iter().collect(), notes);
    Ok(Benched { run, lateness: remains.lateness })
}
