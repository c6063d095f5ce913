//! The experiment file as plain data: a drive, a scheduler, what is asked of them and for how long.
//!
//! It promises that what comes out is complete and checked: defaults are filled in, a value is in range, a key is
//! of use to what it stands beside. A value a later feature brings is refused by its name. It does not look
//! whether the drives and traces that a file names exist.

mod array;
mod asker;
mod bfq;
mod client;
#[cfg(test)]
mod declared;
mod device;
mod dmclock;
mod drive;
mod fault;
mod fio;
mod fleet;
mod inputs;
mod promise;
mod run;
mod scheduler;
mod serve;
mod service;
mod share;
mod system;
mod tables;
#[cfg(test)]
mod tests;
mod value;
mod varied;
mod volume;
mod workload;

pub use crate::workload::{
    AddressPattern, Arrivals, Bound, ClosedPlan, CodedRepairPlan, CompressionPlan, ErasureCode, Fit, GrowPlan, Kind,
    Like, MadeUpPlan, OpenPlan, PAGE, Pace, Pattern, ProcessPlan, RecordedPlan, Region, RepairPlan, ReplayTiming,
    ScanPlan, Sizes, StreamsPlan, Times, TraceChoice, ZoneWrites,
};
pub use array::{ArrayChoice, Failure};
pub use client::{ClientMatch, ClientRule};
pub use device::ServicePlan;
pub use drive::{DriveChoice, Held, Live};
pub use fault::{FaultKind, FaultOnset, FaultPlace, FaultPlan, MOST_SLOW};
pub use run::{HostPlan, RunPlan};
pub use sched::predict::Choice as Predictor;
pub use sched::predict::mimic::Before;
pub use scheduler::{Believed, Scheduler};
pub use serve::{Exposed, IoBackend, LONGEST, ServePlan, TlsNeed, TlsPlan};
pub use share::check as check_claim;
pub use system::SystemPlan;
pub use tables::{changeable, tables};
pub use volume::Volume;
pub use workload::Workload;

use crate::results::Label;
use asker::askers;
use block::{At, BadInput};
use config::{Document, Scalar, Takes};
use sched::plan::Preemption;
use std::collections::BTreeMap;
use std::path::Path;
use varied::Varied;

/// One experiment: a file with nothing left to vary.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// The file it was read from, as errors name it.
    pub file: String,
    /// What it is about; the file's name if it does not say.
    pub title: String,
    /// The drive, or each of those of the array.
    pub drive: DriveChoice,
    /// The name of the device, where a service has several: then this is what it asks of one of them.
    pub device: Option<String>,
    /// The array, where there is more than the drive.
    pub array: Option<ArrayChoice>,
    /// How its requests are ordered.
    pub scheduler: Scheduler,
    /// What clients see, each with a name of its own.
    pub volumes: Vec<Volume>,
    /// What is asked, each with a name of its own; nothing only where there are volumes.
    pub workloads: Vec<Workload>,
    /// Where clients find its volumes.
    pub serve: ServePlan,
    /// How some of the clients are served, who are not served as their volume is.
    pub clients: Vec<ClientRule>,
    /// What is wrong with its volumes while they are served, and when.
    pub faults: Vec<FaultPlan>,
    /// The machine that its processes run on.
    pub system: SystemPlan,
    /// For how long, how often.
    pub run: RunPlan,
}

impl Experiment {
    /// The service classes, in the order in which they first appear: a class's number is its place here.
    #[must_use]
    pub fn classes(&self) -> Vec<&str> {
        service::names(&askers(&self.workloads, &self.volumes, &self.clients))
    }

    /// Whether it says of any class what its requests are worth.
    #[must_use]
    pub fn has_values(&self) -> bool {
        let askers = askers(&self.workloads, &self.volumes, &self.clients);
        let classes = 0..service::names(&askers).len() as u8;
        classes.into_iter().any(|class| self.scheduler.rules.class(class).worth != value::usual(&askers))
    }

    /// The scan among its workloads, and the workload, where work for free is wanted.
    #[must_use]
    pub fn scan(&self) -> Option<(&ScanPlan, &Workload)> {
        let scans = self.workloads.iter().find_map(|workload| Some((workload.kind.scan()?, workload)));
        scans.filter(|_| self.scheduler.free)
    }

    /// The class of the volumes whose reads may come back in any order, if there are such, where work for free is wanted.
    #[must_use]
    pub fn any_order(&self) -> Option<u8> {
        let volume = self.volumes.iter().find(|volume| volume.any_order).filter(|_| self.scheduler.free)?;
        self.class_named(&volume.class)
    }

    /// Whether something may be wrong with its volumes while they are served.
    #[must_use]
    pub fn has_faults(&self) -> bool {
        self.serve.faults || !self.faults.is_empty()
    }

    /// What it says and only a service heeds, told of a run of its workloads: that what comes out has nothing of it.
    #[must_use]
    pub fn notes_of_unheeded(&self) -> Vec<String> {
        let faults =
            (!self.faults.is_empty()).then_some("nothing goes wrong here: only `halfturn serve` heeds [[fault]]");
        let clients = (!self.clients.is_empty())
            .then_some("all are served as their class is: only `halfturn serve` knows who asks, and heeds [[client]]");
        faults.into_iter().chain(clients).map(str::to_owned).chain(self.note_of_priorities()).collect()
    }

    /// That workloads have different priorities, and nothing goes by that.
    fn note_of_priorities(&self) -> Option<String> {
        let differ = self.workloads.windows(2).any(|two| two[0].priority != two[1].priority);
        let rules = &self.scheduler.rules;
        let by_rank = matches!(rules.preemption, Preemption::Always | Preemption::Priority);
        let mut orders = rules.classes.iter().filter_map(|class| class.order).chain([self.scheduler.policy]);
        if !differ || by_rank || orders.any(|order| order.heeds_priority()) {
            return None;
        }
        let (rule, policy) = (rules.preemption.manual().name, self.scheduler.policy.manual().name);
        Some(format!(
            "nothing goes by `priority`, neither preemption = \"{rule}\" nor policy = \"{policy}\"; preemption = \"priority\" does"
        ))
    }

    /// Whether what is asked is asked by processes.
    #[must_use]
    pub fn has_processes(&self) -> bool {
        self.workloads.iter().any(|workload| workload.kind.has_processes())
    }

    /// The number of a workload's class.
    #[must_use]
    pub fn class_of(&self, workload: &Workload) -> u8 {
        self.class_named(&workload.class).unwrap_or(0)
    }

    /// The number of the class of this name.
    #[must_use]
    pub fn class_named(&self, name: &str) -> Option<u8> {
        self.classes().iter().position(|class| *class == name).map(|class| class as u8)
    }

    /// Blocks of the longest request of those that others can interrupt, or of all where nobody can.
    #[must_use]
    pub fn longest(&self) -> u32 {
        let rules = &self.scheduler.rules;
        let steps_in = |workload: &Workload| {
            rules.preemption == Preemption::Always && rules.class(self.class_of(workload)).preempts
        };
        let blocks = |workload: &Workload| workload.kind.longest();
        let asking = || self.workloads.iter().filter(|workload| workload.kind.scan().is_none());
        let of = |all: bool| asking().filter(|it| all || !steps_in(it)).map(blocks).max();
        of(false).or_else(|| of(true)).unwrap_or(8)
    }
}

/// One combination of what an experiment file varies.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// What was varied, and its value here.
    pub labels: BTreeMap<String, Label>,
    /// The experiment with these values.
    pub experiment: Experiment,
}

/// Reads an experiment file: applies `sets` (each `key=value`) and then `seed`, expands its lists and checks every
/// combination. Files it names are relative to its folder.
///
/// # Errors
/// Bad input with file, line and mend.
pub fn load(path: &Path, sets: &[String], seed: Option<u64>) -> Result<Vec<Case>, BadInput> {
    read(open(path)?, path, sets, seed)
}

/// The document of an experiment file, or of a job file of fio (`.fio`).
///
/// # Errors
/// Bad input with file, line and mend.
pub fn open(path: &Path) -> Result<Document, BadInput> {
    if is_fio(path) { fio::open(path) } else { Document::load(path) }
}

/// The document that the text of a job file of fio stands for, shown as `name` in errors.
///
/// # Errors
/// What cannot be said, with its line and the mend.
pub fn parse_jobs(name: &str, text: &str) -> Result<Document, BadInput> {
    fio::document(name, text)
}

/// Whether a file is one of fio's, by its name.
#[must_use]
pub fn is_fio(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "fio")
}

/// The same of a document, as if it were that of a file of this path.
///
/// # Errors
/// Bad input with file, line and mend.
pub fn read(document: Document, path: &Path, sets: &[String], seed: Option<u64>) -> Result<Vec<Case>, BadInput> {
    let cases = cases(document, path, sets, seed)?;
    check_asking(cases.iter(), path)?;
    Ok(cases)
}

/// A service file asks nothing.
fn check_asking<'a>(cases: impl Iterator<Item = &'a Case>, path: &Path) -> Result<(), BadInput> {
    for case in cases {
        device::refuse(&case.experiment)?;
        if case.experiment.workloads.is_empty() {
            let what = "no [[workload]]: nothing is asked of the drive";
            return Err(BadInput::new(path.display().to_string(), At::File, what, "add one"));
        }
    }
    Ok(())
}

/// Reads the text of a service file of one device, shown as `name` in errors: an experiment in which nothing need be asked, and
/// nothing varies.
///
/// # Errors
/// Bad input with file, line and mend; and where the file has several devices.
pub fn parse_service(name: &str, text: &str, sets: &[String]) -> Result<Experiment, BadInput> {
    let document = service_document(name, text, sets)?;
    let mut cases = cases(document, Path::new(name), &[], None)?;
    match (cases.pop(), cases.is_empty()) {
        (Some(case), true) => device::refuse(&case.experiment).map(|()| case.experiment),
        _ => Err(varies(name)),
    }
}

/// Reads the text of a service file, whether it is of one device or of several.
///
/// # Errors
/// Bad input with file, line and mend.
pub fn parse_devices(name: &str, text: &str, sets: &[String]) -> Result<ServicePlan, BadInput> {
    let document = service_document(name, text, sets)?;
    if !document.root().has("volume") {
        let what = "no [[volume]]: nothing is served";
        return Err(BadInput::new(
            name,
            At::File,
            what,
            "add one with a `name` and, unless it is all of the device, a `size`",
        ));
    }
    match document.root().has("device") {
        true => device::read_each(&document, Path::new(name)),
        false => parse_service(name, text, sets).map(ServicePlan::of_one),
    }
}

fn service_document(name: &str, text: &str, sets: &[String]) -> Result<Document, BadInput> {
    let mut document = Document::parse(name, text)?;
    change(&mut document, sets, None)?;
    // Who serves a device need not know it, nor choose.
    if !scheduler::names_policy(&document)? {
        document.set("scheduler.policy=\"auto\"")?;
    }
    Ok(document)
}

/// A service is one thing.
fn varies(name: &str) -> BadInput {
    let what = "lists stand where values should: nothing can be tried while volumes are served";
    BadInput::new(name, At::File, what, "write one value each")
}

/// The same of a text, shown as `name` in errors.
///
/// # Errors
/// Bad input with file, line and mend.
pub fn parse(name: &str, text: &str, sets: &[String], seed: Option<u64>) -> Result<Vec<Case>, BadInput> {
    cases(Document::parse(name, text)?, Path::new(name), sets, seed)
}

/// The same of a document that was read as part of another file, shown as `name` in results.
///
/// # Errors
/// Bad input with file, line and mend.
pub fn of(document: Document, name: &str, sets: &[String]) -> Result<Vec<Case>, BadInput> {
    cases(document, Path::new(name), sets, None)
}

fn cases(mut document: Document, path: &Path, sets: &[String], seed: Option<u64>) -> Result<Vec<Case>, BadInput> {
    change(&mut document, sets, seed)?;
    Ok(expand(&document, path, &|_| true)?.into_iter().map(|(_, (case, _))| case).collect())
}

/// A case by its number in the sweep, with the document of its values.
type NumberedCase = (usize, (Case, Document));

/// The cases of a document that was read so, of those numbers that are wanted.
pub(crate) fn expand_asking(
    document: &Document,
    path: &Path,
    wanted: &dyn Fn(usize) -> bool,
) -> Result<Vec<NumberedCase>, BadInput> {
    let all = expand(document, path, wanted)?;
    check_asking(all.iter().map(|(_, (case, _))| case), path)?;
    Ok(all)
}

/// Puts these `sets`, and then the seed, into a document.
pub(crate) fn change(document: &mut Document, sets: &[String], seed: Option<u64>) -> Result<(), BadInput> {
    let seed = seed.map(|seed| format!("run.seed={seed}"));
    sets.iter().chain(&seed).try_for_each(|set| document.set(set))
}

fn expand(document: &Document, path: &Path, wanted: &dyn Fn(usize) -> bool) -> Result<Vec<NumberedCase>, BadInput> {
    let runs = fleet::spread(document.sweep(&lists(), &pairs())?)?;
    // Of all: what one run has no use for another may have.
    let varied = Varied::of(runs.iter().map(|(_, document)| document));
    let case = |(number, (labels, document)): (usize, (Vec<(String, Scalar)>, Document))| {
        let labels = labels.into_iter().map(|(key, value)| (key, label(value))).collect();
        Ok((number, (Case { labels, experiment: experiment(&document, path, &varied)? }, document)))
    };
    runs.into_iter().enumerate().filter(|(number, _)| wanted(*number)).map(case).collect()
}

/// The keys of a drive that may be two times, after a read and after a write. A list of times is a sweep, and a list in it a value.
fn pairs() -> Vec<&'static str> {
    let keys = changeable().iter().flat_map(|table| &table.keys);
    keys.filter(|about| matches!(about.takes, Takes::Times | Takes::TimesOr(_))).map(|about| about.name).collect()
}

/// The keys whose lists are values, and no sweeps.
fn lists() -> Vec<&'static str> {
    let keys = changeable().iter().flat_map(|table| &table.keys);
    let numbers = keys.filter(|about| matches!(about.takes, Takes::Numbers | Takes::Texts)).map(|about| about.name);
    let keys = tables().into_iter().flat_map(|table| table.keys);
    numbers.chain(keys.filter(|about| matches!(about.takes, Takes::Texts)).map(|about| about.name)).collect()
}

fn label(value: Scalar) -> Label {
    match value {
        Scalar::Integer(number) => Label::Number(number as f64),
        Scalar::Float(number) => Label::Number(number),
        Scalar::Text(_) | Scalar::Boolean(_) => Label::Word(value.to_string()),
    }
}

/// Has drives of which it is not said otherwise given so many commands at a time: what passes under the head on the way to a request is
/// known where one command follows another.
fn limit_queues(drive: &mut DriveChoice, members: &mut [DriveChoice], most: u16) {
    for drive in members.iter_mut().chain([drive]) {
        drive.queue = drive.queue.or(Some(most));
    }
}

fn experiment(document: &Document, path: &Path, varied: &Varied) -> Result<Experiment, BadInput> {
    let root = document.root();
    let folder = path.parent().unwrap_or(Path::new(""));
    // Before its tables are read: a misspelt [run] is one error, not a missing [run].
    for name in tables::roots() {
        root.has(name);
    }
    root.close()?;
    let title = root.get(&tables::TITLE)?;
    let device = device::read(&root, folder)?;
    let name = device.as_ref().map(|(_, name)| name.as_str());
    let volumes = volume::read_all(&root, name, folder)?;
    let mut workloads = workload::read_all(&root, folder, &volumes, varied)?;
    let (drive::DriveTables { mut drive, counted, mut members }, device) = match device {
        Some((drive, name)) => (drive::DriveTables { drive, counted: None, members: Vec::new() }, Some(name)),
        None => (drive::read(&root, folder)?, None),
    };
    let clients = client::read_all(&root, &volumes)?;
    let askers = askers(&workloads, &volumes, &clients);
    let mut scheduler = scheduler::read(&root, folder, &drive, &askers, varied)?;
    let usual = || !root.has("array") && share::is_usual(&scheduler, &drive, &volumes);
    let fair = || scheduler.fair.unwrap_or_else(usual);
    let names = service::names(&askers);
    let shares = share::rules(&root, &scheduler.rules.classes, &names, &volumes, &askers, fair)?;
    scheduler.rules.shares = shares;
    volume::check_order(&root, &volumes, &workloads, &askers)?;
    for volume in volumes.iter().filter(|volume| volume.any_order && scheduler.free) {
        if let Some(class) = names.iter().position(|name| *name == volume.class) {
            scheduler.rules.classes[class].any_order = true;
        }
    }
    let scans = scheduler.free
        && (workloads.iter().any(|workload| workload.kind.scan().is_some()) || volumes.iter().any(|it| it.any_order));
    scheduler.rules.bills |= scheduler.rules.shares.is_some() || scans;
    let one = scheduler.gives_one();
    if one || scans {
        let alone = !one && members.is_empty() && !root.has("array");
        let pairs = alone && scheduler.foresees_followers() && drive.tells_followers(&scheduler.profile);
        limit_queues(&mut drive, &mut members, if pairs { 2 } else { 1 });
    }
    let array = array::read(&root, folder, counted, members, &workloads, varied)?;
    if let Some(array) = &array {
        workloads.iter_mut().for_each(|workload| workload.kind.lie_on(array.level, array.disks, array.unit));
        service::check_array(&root, &drive, &scheduler.rules)?;
    }
    if array.as_ref().is_some_and(|array| !array.members.is_empty()) && !scheduler.believes_each_sheet() {
        let what = "the disks of the array are unlike one another, and what is believed is of one of them";
        let mend = "take `profile` and what is learned before the run out of [scheduler], or give all disks one model";
        return Err(root.error("array", what, mend));
    }
    let serve = serve::read(&root, folder, &volumes)?;
    client::check_tls(&root, serve.tls.as_ref())?;
    let system = system::read(&root, &workloads)?;
    let run = run::read(&root, &workloads)?;
    Ok(Experiment {
        faults: fault::read_all(&root, &volumes, array.as_ref(), &run)?,
        file: path.display().to_string(),
        title: title.unwrap_or_else(|| path.file_stem().unwrap_or_default().to_string_lossy().into_owned()),
        scheduler,
        drive,
        device,
        array,
        serve,
        system,
        clients,
        run,
        volumes,
        workloads,
    })
}
