//! Published results, and what comes of the same experiments here.

use crate::{refuse, work};
use published::{FULL_SEEDS, RunLength, Seeds, Summary, TargetFigures, TargetPlan};
use pyo3::prelude::*;

/// What `halfturn reproduce --format json` prints.
#[pyfunction]
#[pyo3(signature = (ids, full, seeds, sets, threads, progress))]
pub fn reproduce(
    py: Python,
    ids: Vec<String>,
    full: bool,
    seeds: Option<u32>,
    sets: Vec<String>,
    threads: usize,
    progress: Option<&Bound<PyAny>>,
) -> PyResult<String> {
    let length = if full { RunLength::Full } else { RunLength::Quick };
    let count = seeds.unwrap_or(if full { FULL_SEEDS } else { 1 });
    work(py, threads, progress, |following| {
        let files = published::read_changed(length, &ids, &sets)?;
        let plan = TargetPlan::new(&files, published::choose(&files, &ids)?, false);
        let seeds = Seeds::under(&plan, count, &mut |cases| sim::simulate(cases, following))?;
        let outcomes = plan.judge(&seeds)?;
        Ok(load::json(&TargetFigures::of(&Summary::of(&outcomes), &outcomes)))
    })
}

/// The id and the claim of each target that these words choose; of all, where there are none.
#[pyfunction]
pub fn list_targets(py: Python, ids: Vec<String>) -> PyResult<Vec<(String, String)>> {
    let files = published::read_changed(RunLength::Quick, &ids, &[]).map_err(|error| refuse(py, error))?;
    let chosen = published::choose(&files, &ids).map_err(|error| refuse(py, error))?;
    let targets = chosen.into_iter().map(|(file, target)| &files[file].targets[target]);
    Ok(targets.map(|target| (target.id.clone(), target.claim.clone())).collect())
}
