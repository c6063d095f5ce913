//! Halfturn for Python: the functions that `python/halfturn` wraps. Each takes plain values and gives text; whatever is wrong
//! with them is said in the words of the command line. The interpreter is free while something runs, and an interrupt ends it.

mod learned;
mod policy;
mod records;
mod targets;
mod traces;

use block::{At, BadInput};
use config::Document;
use disk::Model;
use load::experiment;
use load::goal::SettingGoal;
use load::origin::{self, Program};
use load::points::{PointJournal, Points, write_csv};
use load::tuning::SearchSpace;
use policy::{PolicyFailure, Waiting};
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use records::{GatheredBatches, Table};
use sim::{AdviceFound, SearchWatch, Unfinished, Watch};
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

create_exception!(
    halfturn,
    BadInputError,
    PyValueError,
    "What was given cannot be used; it says where, why, and what to do."
);

/// How often the interpreter is asked for an interrupt.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// Follows runs from another thread, and ends them when told.
#[derive(Default)]
struct Following {
    requests: AtomicU64,
    replications: AtomicU64,
    stopped: AtomicBool,
}

impl Watch for Following {
    fn requests(&self, count: u64) {
        self.requests.fetch_add(count, Relaxed);
    }

    fn goes_on(&self) -> bool {
        !self.stopped.load(Relaxed)
    }

    fn replication(&self) {
        self.replications.fetch_add(1, Relaxed);
    }
}

impl SearchWatch for Following {
    fn plan(&self, _: usize) {}

    fn end_trial(&self) {
        self.replications.fetch_add(1, Relaxed);
    }

    fn goes_on(&self) -> bool {
        !self.stopped.load(Relaxed)
    }
}

fn refuse(py: Python, error: BadInput) -> PyErr {
    let raised = BadInputError::new_err(error.to_string());
    let line = match error.at {
        At::File => None,
        At::Line(number) | At::Record(number) => Some(number),
    };
    let value = raised.value(py);
    let told = value
        .setattr("file", error.file)
        .and_then(|()| value.setattr("line", line))
        .and_then(|()| value.setattr("what", error.what))
        .and_then(|()| value.setattr("mend", error.mend));
    told.err().unwrap_or(raised)
}

/// Does some work on so many threads (0: one for each core) while the interpreter is free, until it is interrupted.
/// `progress` is called with how many replications have ended, whenever that changes.
fn work<T: Send>(
    py: Python,
    threads: usize,
    progress: Option<&Bound<PyAny>>,
    job: impl FnOnce(&Following) -> Result<T, BadInput> + Send,
) -> PyResult<T> {
    let following = Following::default();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| PyRuntimeError::new_err(format!("the threads cannot be started: {error}")))?;
    let mut interrupted = Ok(());
    let done = std::thread::scope(|scope| {
        let running = scope.spawn(|| pool.install(|| job(&following)));
        let mut told = 0;
        while !running.is_finished() {
            py.detach(|| std::thread::park_timeout(ASK_EVERY));
            let ended = following.replications.load(Relaxed);
            let tell = progress.filter(|_| ended > told).map_or(Ok(()), |call| call.call1((ended,)).map(|_| ()));
            told = ended;
            if let Err(error) = py.check_signals().and(tell) {
                following.stopped.store(true, Relaxed);
                interrupted = Err(error);
                break;
            }
        }
        py.detach(|| running.join())
    });
    interrupted?;
    let done = done.map_err(|_| PyRuntimeError::new_err("halfturn failed; please report the experiment"))?;
    done.map_err(|error| refuse(py, error))
}

/// A file, or a text that is called so.
fn document(py: Python, path: &Path, text: Option<&str>) -> PyResult<Document> {
    let read = match text {
        Some(text) => Document::parse(&path.display().to_string(), text),
        None => experiment::open(path),
    };
    read.map_err(|error| refuse(py, error))
}

/// Follows runs under a policy of Python's, whose error ends them, too.
struct PolicyWatch<'a> {
    following: &'a Following,
    failure: Option<Arc<PolicyFailure>>,
}

impl Watch for PolicyWatch<'_> {
    fn requests(&self, count: u64) {
        Watch::requests(self.following, count);
    }

    fn goes_on(&self) -> bool {
        Watch::goes_on(self.following) && !self.failure.as_ref().is_some_and(|failure| failure.happened())
    }

    fn replication(&self) {
        Watch::replication(self.following);
    }
}

/// What `halfturn simulate --format json` prints of an experiment; and a row for each request, if they are wanted. `policy` makes
/// what goes in the place of the policy that the experiment names.
#[pyfunction]
#[pyo3(signature = (path, text, sets, seed, threads, requests, policy, progress))]
#[expect(clippy::too_many_arguments, reason = "Python gives them by name")]
fn simulate(
    py: Python,
    path: PathBuf,
    text: Option<&str>,
    sets: Vec<String>,
    seed: Option<u64>,
    threads: usize,
    requests: bool,
    policy: Option<&Bound<PyAny>>,
    progress: Option<&Bound<PyAny>>,
) -> PyResult<(String, Option<Table>)> {
    let document = document(py, &path, text)?;
    let mut cases = experiment::read(document, &path, &sets, seed).map_err(|error| refuse(py, error))?;
    let failure = policy.map(|make| policy::put_into(py, &mut cases, make)).transpose()?;
    let gathered = requests.then(|| GatheredBatches::of(&cases));
    let done = work(py, threads, progress, |following| {
        let watch = PolicyWatch { following, failure: failure.clone() };
        let inputs = origin::origins(&cases);
        let results = match &gathered {
            None => sim::simulate(&cases, &watch)?,
            Some(all) => sim::simulate_and_record(&cases, &watch, &|case, number| Ok(Some(all.open(case, number))))?,
        };
        Ok(load::json(&results.resting_on(inputs)))
    });
    if let Some(error) = failure.and_then(|failure| failure.take()) {
        return Err(error);
    }
    Ok((done?, gathered.map(|all| all.table())))
}

/// Runs what a journal has not got of a sweep, and writes the rows and the table; how many rows, and how many ran now.
#[pyfunction]
#[pyo3(signature = (path, text, sets, seed, threads, shard, journal, rows, table, progress))]
#[expect(clippy::too_many_arguments, reason = "Python gives them by name")]
fn sweep(
    py: Python,
    path: PathBuf,
    text: Option<&str>,
    sets: Vec<String>,
    seed: Option<u64>,
    threads: usize,
    shard: Option<&str>,
    journal: PathBuf,
    rows: PathBuf,
    table: PathBuf,
    progress: Option<&Bound<PyAny>>,
) -> PyResult<(usize, usize)> {
    let document = document(py, &path, text)?;
    let mut points = Points::of(document, &path, &sets, seed).map_err(|error| refuse(py, error))?;
    if let Some(shard) = shard {
        points = points.shard(shard.parse().map_err(PyValueError::new_err)?);
    }
    let kept = PointJournal::open(&journal).map_err(|error| refuse(py, error))?;
    let unfinished = Unfinished::of(&points, &kept);
    let ran = unfinished.cases.len();
    work(py, threads, progress, |following| sim::sweep(&unfinished, &kept, following))?;
    let mut out = BufWriter::new(File::create(&rows)?);
    points.write_rows(&kept, &mut out)?;
    out.flush()?;
    let mut out = BufWriter::new(File::create(table)?);
    write_csv(&mut BufReader::new(File::open(rows)?), &mut out)?;
    out.flush()?;
    Ok((points.points.len(), ran))
}

/// Runs what a journal has not got of a shard, and no more: a worker of a cluster needs neither rows nor the rest of the sweep.
#[pyfunction]
fn sweep_shard(py: Python, path: PathBuf, text: &str, shard: &str, journal: PathBuf) -> PyResult<usize> {
    let document = document(py, &path, Some(text))?;
    let shard = shard.parse().map_err(PyValueError::new_err)?;
    let points = Points::of_shard(document, &path, shard).map_err(|error| refuse(py, error))?;
    let kept = PointJournal::open(&journal).map_err(|error| refuse(py, error))?;
    let unfinished = Unfinished::of(&points, &kept);
    work(py, 1, None, |following| sim::sweep(&unfinished, &kept, following))?;
    Ok(unfinished.cases.len())
}

/// What `halfturn advise --format json` prints; the advised experiment, and a service with it where one can be served.
#[pyfunction]
#[pyo3(signature = (path, text, sets, seed, threads, goal, stack, progress))]
#[expect(clippy::too_many_arguments, reason = "Python gives them by name")]
fn advise(
    py: Python,
    path: PathBuf,
    text: Option<&str>,
    sets: Vec<String>,
    seed: Option<u64>,
    threads: usize,
    goal: &str,
    stack: Option<&str>,
    progress: Option<&Bound<PyAny>>,
) -> PyResult<(String, String, Option<String>)> {
    let document = document(py, &path, text)?;
    let space = SearchSpace::of(document, &path, &sets, seed).map_err(|error| refuse(py, error))?;
    let goal = SettingGoal::parse(goal, &space.experiment.classes()).map_err(|error| refuse(py, error))?;
    let stack = stack.map(str::parse).transpose().map_err(PyValueError::new_err)?;
    work(py, threads, progress, |following| {
        let found = AdviceFound::of(space, &goal, stack, following)?;
        Ok((load::json(&found.figures), found.experiment()?, found.service().ok()))
    })
}

/// The experiment as a text that says the same in any folder.
#[pyfunction]
#[pyo3(signature = (path, text, sets, seed))]
fn portable(py: Python, path: PathBuf, text: Option<&str>, sets: Vec<String>, seed: Option<u64>) -> PyResult<String> {
    origin::portable(document(py, &path, text)?, &path, &sets, seed).map_err(|error| refuse(py, error))
}

/// The names of all drives of the catalogue, disks first.
#[pyfunction]
fn drive_names() -> Vec<&'static str> {
    disk::catalogue::names().chain(disk::catalogue::others()).collect()
}

/// A drive of the catalogue or of a file: what it is called, and what can be said of any.
#[pyfunction]
fn drive<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyDict>> {
    let model = disk::catalogue::model(name).map_err(|error| refuse(py, error))?;
    let about = PyDict::new(py);
    about.set_item("title", model.title())?;
    about.set_item("depth", model.depth())?;
    about.set_item("file", disk::catalogue::find_shipped(name).map(|(_, text)| text))?;
    let blocks = match &model {
        Model::Disk(drive) => Some(drive.sheet.mechanics.layout.blocks()),
        Model::Other(_) => None,
    };
    about.set_item("blocks", blocks)?;
    Ok(about)
}

/// The functions, and what computes.
#[pymodule]
fn _halfturn(module: &Bound<PyModule>) -> PyResult<()> {
    let Program { version, commit } = Program::default();
    module.add("VERSION", version)?;
    module.add("COMMIT", commit)?;
    module.add("BadInputError", module.py().get_type::<BadInputError>())?;
    module.add_class::<Table>()?;
    module.add_class::<Waiting>()?;
    module.add_function(wrap_pyfunction!(simulate, module)?)?;
    module.add_function(wrap_pyfunction!(sweep, module)?)?;
    module.add_function(wrap_pyfunction!(sweep_shard, module)?)?;
    module.add_function(wrap_pyfunction!(advise, module)?)?;
    module.add_function(wrap_pyfunction!(learned::learn, module)?)?;
    module.add_function(wrap_pyfunction!(targets::reproduce, module)?)?;
    module.add_function(wrap_pyfunction!(targets::list_targets, module)?)?;
    module.add_function(wrap_pyfunction!(traces::read_trace, module)?)?;
    module.add_function(wrap_pyfunction!(traces::write_trace, module)?)?;
    module.add_function(wrap_pyfunction!(portable, module)?)?;
    module.add_function(wrap_pyfunction!(drive_names, module)?)?;
    module.add_function(wrap_pyfunction!(drive, module)?)
}
