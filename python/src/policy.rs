//! A policy that is an object of Python's: what it is shown of what waits, and what becomes of its errors.

use load::experiment::Case;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyList;
use sched::policy::{Chooses, Chosen, Outside, WaitingJob};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// A request that waits.
#[pyclass(frozen, get_all, module = "halfturn._halfturn")]
pub struct Waiting {
    /// The first block of what is left of it, and how many.
    block: u64,
    blocks: u32,
    write: bool,
    arrived_ns: u64,
    /// The name of its class, and its priority.
    class_: Py<PyAny>,
    priority: u8,
}

#[pymethods]
impl Waiting {
    fn __repr__(&self, py: Python) -> String {
        let Waiting { block, blocks, arrived_ns, priority, .. } = self;
        let (op, class) = (if self.write { "write" } else { "read" }, self.class_.bind(py));
        format!(
            "<Waiting: {op} of {blocks} blocks at {block}, class {class}, priority {priority}, since {arrived_ns} ns>"
        )
    }
}

/// The first error of a policy: from then on it is asked no more, and the run ends.
#[derive(Default)]
pub struct PolicyFailure {
    happened: AtomicBool,
    error: Mutex<Option<PyErr>>,
}

impl PolicyFailure {
    /// Whether there was one.
    pub fn happened(&self) -> bool {
        self.happened.load(Relaxed)
    }

    fn note(&self, error: PyErr) {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.happened.store(true, Relaxed);
    }

    /// The exception that the policy raised, if it did.
    pub fn take(&self) -> Option<PyErr> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Gives each case the policy that `make` makes, an object for each device of each run.
pub fn put_into(py: Python, cases: &mut [Case], make: &Bound<PyAny>) -> PyResult<Arc<PolicyFailure>> {
    let failure = Arc::new(PolicyFailure::default());
    for case in cases {
        let classes = PyList::new(py, case.experiment.classes())?.unbind();
        let (make, failure) = (make.clone().unbind(), Arc::clone(&failure));
        let chooses = move || -> Box<dyn Chooses> {
            let (make, classes) = Python::attach(|py| (make.clone_ref(py), classes.clone_ref(py)));
            Box::new(Chooser { make, made: None, classes, failure: Arc::clone(&failure) })
        };
        // A few bytes a run, which nothing says the end of.
        case.experiment.scheduler.policy = Chosen::Outside(Outside(Box::leak(Box::new(chooses))));
    }
    Ok(failure)
}

struct Chooser {
    make: Py<PyAny>,
    /// The method that chooses, once it was needed.
    made: Option<Py<PyAny>>,
    classes: Py<PyList>,
    failure: Arc<PolicyFailure>,
}

impl Chooser {
    fn ask(&mut self, py: Python, now: u64, arm: u64, waiting: &[WaitingJob]) -> PyResult<usize> {
        let choose = match &self.made {
            Some(choose) => choose.bind(py).clone(),
            None => {
                let choose = self.make.bind(py).call0()?.getattr("choose")?;
                self.made = Some(choose.clone().unbind());
                choose
            }
        };
        let classes = self.classes.bind(py);
        let shown = waiting.iter().map(|job| {
            let class_ = classes.get_item(job.class.into())?.unbind();
            let write = job.direction == block::Direction::Write;
            let (at, arrived_ns, priority) = (job.rest, job.arrived.0, job.priority);
            Py::new(py, Waiting { block: at.start.0, blocks: at.blocks, write, arrived_ns, class_, priority })
        });
        let shown = PyList::new(py, shown.collect::<PyResult<Vec<_>>>()?)?;
        let at: usize = choose.call1((now, arm, shown))?.extract()?;
        if at >= waiting.len() {
            return Err(PyIndexError::new_err(format!("choose gave {at}, and {} requests wait", waiting.len())));
        }
        Ok(at)
    }
}

impl Chooses for Chooser {
    fn choose(&mut self, now: block::Time, arm: u64, waiting: &[WaitingJob]) -> usize {
        if self.failure.happened() {
            return 0;
        }
        let asked = Python::attach(|py| self.ask(py, now.0, arm, waiting));
        asked.unwrap_or_else(|error| {
            self.failure.note(error);
            0
        })
    }
}
