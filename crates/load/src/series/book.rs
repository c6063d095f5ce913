//! The series of all runs, which go on side by side.

use super::SeriesRow;
use super::keeper::{Every, RunSeries, SeriesKeeper};
use crate::experiment::Case;
use crate::requests::Records;
use std::sync::{Arc, Mutex, PoisonError};

/// Room for the series of a run.
type SeriesSlot = Arc<Mutex<Option<RunSeries>>>;

/// The series of some runs, in their order.
#[derive(Debug)]
pub struct SeriesBook {
    every: Every,
    /// By case, then by replication.
    runs: Vec<Vec<SeriesSlot>>,
}

impl SeriesBook {
    /// Room for those of so many replications of each of these cases.
    #[must_use]
    pub fn of(cases: &[Case], replications: impl Fn(&Case) -> u32, every: Every) -> SeriesBook {
        let runs = cases.iter().map(|case| (0..replications(case)).map(|_| SeriesSlot::default()).collect());
        SeriesBook { every, runs: runs.collect() }
    }

    /// What follows a replication, from 0 on, of the case of this number, and hands all on to `then`: only that, where there is no
    /// room for it.
    #[must_use]
    pub fn open(
        &self,
        (number, case): (usize, &Case),
        replication: u32,
        then: Option<Box<dyn Records>>,
    ) -> Option<Box<dyn Records>> {
        let Some(slot) = self.runs.get(number).and_then(|case| case.get(replication as usize)) else { return then };
        let series = RunSeries::new(case, replication, self.every);
        Some(Box::new(SeriesKeeper::new(case, series, Arc::clone(slot), then)))
    }

    /// The series of the first replication of the case of this number, once that has ended.
    #[must_use]
    pub fn first_of(&self, case: usize) -> Option<RunSeries> {
        self.runs.get(case)?.first()?.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Each row of all runs, in their order.
    ///
    /// # Errors
    /// What `take` refuses.
    pub fn each_row<E>(&self, mut take: impl FnMut(&SeriesRow) -> Result<(), E>) -> Result<(), E> {
        self.each_run(|run| run.rows().try_for_each(|row| take(&row)))
    }

    /// Each run that has ended, in their order.
    ///
    /// # Errors
    /// What `take` refuses.
    pub fn each_run<E>(&self, mut take: impl FnMut(&RunSeries) -> Result<(), E>) -> Result<(), E> {
        for slot in self.runs.iter().flatten() {
            if let Some(run) = &*slot.lock().unwrap_or_else(PoisonError::into_inner) {
                take(run)?;
            }
        }
        Ok(())
    }
}
