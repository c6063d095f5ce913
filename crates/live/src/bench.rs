//! The workloads of an experiment, asked of a live device.

use crate::claim::Use;
use crate::make::{self, Made};
use crate::mixed::ProgressFn;
use crate::unit::{Far, LiveDevice};
use crate::{Clock, Host, Lateness, LiveWorld, Mixed, Remote};
use block::{At, BadInput, Time};
use load::Mix;
use load::experiment::{Case, Experiment};
use load::requests::{self, Ledger, Records};
use load::results::{Disk, Run};
use nbd::{Address, Uri};
use sched::plan::Rules;
use sched::policy::{self, Beside};
use sched::predict::Distance;
use sched::{Core, Scheduler, run};

/// Requests of a bench that wait to be sent to a server, which orders them: all of them.
const WAITING: u32 = 1 << 16;

/// What came of it.
pub struct Benched {
    /// What the workloads saw.
    pub run: Run,
    /// How late the host noticed what an emulated drive had done.
    pub lateness: Lateness,
    /// Requests that had not ended when nothing came back any more.
    pub unfinished: u32,
}

/// Runs one case in real time, on a clock so many times as fast.
///
/// # Errors
/// Bad input: a device that cannot be had, a workload that does not fit it, or a kernel that does not go on.
pub fn bench(
    case: &Case,
    scale: f64,
    watch: ProgressFn,
    records: Option<Box<dyn Records>>,
) -> Result<Benched, BadInput> {
    let mut experiment = case.experiment.clone();
    experiment.scheduler.rules.tells = records.is_some();
    let experiment = &experiment;
    let seed = experiment.run.seed_of(0);
    make::check(experiment)?;
    let made = make::devices(experiment, Use::Writes, seed)?;
    let Made { unit, mut notes, .. } = made;
    let core = make::core_of(experiment, &*unit, &mut notes)?;
    notes.extend(experiment.notes_of_unheeded());
    let ledger = records.map(|out| requests::ledger(case, 0, requests::name_served_device(experiment), out));
    ask(case, unit, core, notes, (scale, watch), ledger)
}

/// The same, of what an NBD server offers: an export, or, where the URI names none and the case has volumes, each volume of the
/// export of its name. The server schedules: whatever is asked is sent at once.
///
/// # Errors
/// Bad input: no such server or export, or a workload that does not fit it.
pub fn bench_far(
    case: &Case,
    uri: &Uri,
    watch: ProgressFn,
    records: Option<Box<dyn Records>>,
) -> Result<Benched, BadInput> {
    let unit = Box::new(far(&case.experiment, uri)?);
    let policy = || policy::usual("fcfs").make(&Beside::default());
    let rules = Rules { tells: records.is_some(), ..Rules::default() };
    let core = Core::new(unit.caps(), WAITING, Distance::default(), rules, Box::new(policy));
    let note = format!("asked of the server at {}, which schedules: of the file only the workloads count", place(uri));
    let ledger = records.map(|out| requests::ledger(case, 0, place(uri), out));
    ask(case, unit, Box::new(core), vec![note], (1.0, watch), ledger)
}

/// The exports that a case asks.
fn far(experiment: &Experiment, uri: &Uri) -> Result<Far, BadInput> {
    let whole = !uri.export.is_empty() || experiment.volumes.is_empty();
    let places = match whole {
        true => vec![(0, uri.clone())],
        false => {
            let volumes = experiment.volumes.iter();
            volumes.map(|volume| (volume.from, Uri { export: volume.name.clone(), ..uri.clone() })).collect()
        }
    };
    let mut exports = Vec::with_capacity(places.len());
    for (from, uri) in places {
        exports.push((from, Remote::connect(&uri).map_err(|error| unreachable_server(&uri, &error))?));
    }
    Far::new(exports).map_err(|error| unreachable_server(uri, &error))
}

/// Where a server listens.
#[must_use]
pub fn place(uri: &Uri) -> String {
    match &uri.address {
        Address::Unix(path) => path.clone(),
        Address::Tcp { host, port } => format!("{host}:{port}"),
    }
}

pub(crate) fn unreachable_server(uri: &Uri, error: &std::io::Error) -> BadInput {
    let what = format!("export '{}' is not to be had: {error}", uri.export);
    BadInput::new(place(uri), At::File, what, "see whether the server runs, and what `nbdinfo --list` shows of it")
}

fn ask(
    case: &Case,
    unit: Box<dyn LiveDevice>,
    mut core: Box<dyn Scheduler>,
    notes: Vec<String>,
    (scale, watch): (f64, ProgressFn),
    ledger: Option<Box<Ledger>>,
) -> Result<Benched, BadInput> {
    let experiment = &case.experiment;
    if experiment.has_processes() {
        let what = "processes run in virtual time only";
        return Err(BadInput::new(experiment.title.clone(), At::File, what, "simulate it"));
    }
    let mix = Mix::new(experiment, experiment.run.seed_of(0), unit.caps().blocks)?;
    let (plan, patience) = (&experiment.run, experiment.serve.timeout);
    let from = Time::ZERO + plan.warmup;
    let source = Mixed::new(mix, plan.duration.map(|duration| from + duration), plan.requests, patience, watch);
    core.count_from(from);
    let stopped = |error: std::io::Error| crate::serve::kernel_error(&experiment.title, &error);
    let host = Host::new(Clock::new(scale), experiment.serve.io).map_err(stopped)?;
    let notes: Vec<String> = notes.into_iter().chain(host.note()).collect();
    let mut world = LiveWorld::new(host, unit, source, experiment.serve.timeout).recording(ledger);
    run(&mut *core, &mut world);
    let remains = world.finish().map_err(stopped)?;
    let (mut meter, more) = remains.source.finish()?;
    remains.ledger.map_or(Ok(()), |ledger| ledger.close(from + meter.time_measured()))?;
    if let Some(tally) = core.tally() {
        meter.set_service(tally);
    }
    let account = remains.account;
    let disks = account.map(|all| Disk::of(all.span(), all.busy, all.background, all.parts.name_parts()));
    let believed = "arm_seconds: the sums are measured, what they went to is believed";
    let believed = meter.bills().map(|_| believed.to_owned());
    let bound = load::share_note(&experiment.scheduler.rules, &meter);
    let notes = notes.into_iter().chain(more).chain(believed).chain(bound).collect();
    let mut run = Run::of(case.labels.clone(), &meter, disks.into_iter().collect(), notes);
    run.notes.extend(experiment.promises_broken(&run.classes));
    Ok(Benched { run, lateness: remains.lateness, unfinished: remains.outstanding })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;
    use crate::memory::Slice;
    use crate::unit::Done;
    use block::{Caps, Command, Tag};

    /// A device that answers so many commands, and no more.
    struct Falls {
        answers: u32,
        done: Vec<Done>,
    }

    impl LiveDevice for Falls {
        fn caps(&self) -> Caps {
            Caps { blocks: 2048, depth: 8, seek: block::SeekBy::Nothing, arms: 1 }
        }

        fn issue(
            &mut self,
            now: Time,
            tag: Tag,
            _: &Command,
            _: Option<Slice>,
            _: &mut dyn Kernel,
        ) -> std::io::Result<()> {
            if self.answers > 0 {
                self.answers -= 1;
                self.done.push(Done::now(now, tag, block::Outcome::Ok));
            }
            Ok(())
        }

        fn next_completion(&mut self, _: Time) -> Option<Done> {
            self.done.pop()
        }
    }

    #[test]
    fn a_run_of_which_requests_do_not_end_ends_and_says_so() {
        const RUN: &str = "
            drive = { path = \"ram:1MiB\" }
            scheduler = { policy = \"fcfs\" }
            serve = { timeout = \"100ms\" }
            workload = [{ name = \"a\", kind = \"closed\", depth = 3, size = \"4KiB\" }]
            run = { duration = \"20ms\" }";
        let cases = load::experiment::parse("a.toml", RUN, &[], None).expect("an experiment");
        let unit = Box::new(Falls { answers: 10, done: Vec::new() });
        let core = make::core(&cases[0].experiment, &unit.members(), &mut Vec::new()).expect("a core");
        let benched = ask(&cases[0], unit, core, Vec::new(), (1.0, &|_| {}), None).expect("it ends");
        assert_eq!((benched.run.requests, benched.unfinished), (10, 3));
    }
}
