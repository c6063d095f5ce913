//! How runs went over time, as figures: how many requests were in the system, what was yielded, what work for free read.

use super::figure::{Axis, Figure, Marks, Series};
use load::series::{RunSeries, SeriesRow};

/// A megabyte in bytes, a second in nanoseconds.
const MB: f64 = 1e6;
const NS_PER_S: f64 = 1e9;

/// Runs by name, each with its series.
pub struct OverTime {
    pub runs: Vec<(String, RunSeries)>,
    /// Whether requests have values of their own.
    pub valued: bool,
}

impl OverTime {
    /// A figure of each thing there is to show.
    pub fn figures(&self, colours: &[&'static str]) -> Vec<Figure> {
        let queue = ("how many requests were in the system", "mean of an interval, requests", queue_length as Figured);
        let yielded = ("what those that ended were worth", "yield, 1/s", yield_rate as Figured);
        let free = ("what work for free read", "throughput, MB/s", free_rate as Figured);
        let all = || self.runs.iter().flat_map(|(_, run)| run.rows()).filter(|row| row.class.is_empty());
        if all().next().is_none() {
            return Vec::new();
        }
        let mut shown = vec![queue];
        if self.valued {
            shown.push(yielded);
        }
        if all().any(|row| row.free_bytes() > 0) {
            shown.push(free);
        }
        shown.into_iter().map(|(title, unit, value)| self.figure((title, unit), value, colours)).collect()
    }

    /// A curve for each run; of a single one, for each of several classes.
    fn figure(&self, (title, unit): (&str, &str), value: Figured, colours: &[&'static str]) -> Figure {
        let mut figure = Figure::new(title, Axis::of("time since the run began, s"), Axis::of(unit));
        let curves: Vec<(&str, &RunSeries, &str)> = match &self.runs[..] {
            [(_, run)] if run.classes().len() > 1 => {
                run.classes().iter().map(|class| (&**class, run, &**class)).collect()
            }
            runs => runs.iter().map(|(name, run)| (&**name, run, "")).collect(),
        };
        for (place, (name, run, class)) in curves.into_iter().enumerate() {
            let rows = run.rows().filter(|row| row.class == class);
            let at = rows.map(|row| ((row.from.0 as f64 + row.to.0 as f64) / 2.0 / NS_PER_S, value(&row))).collect();
            figure.series.push(Series::distinct(name, place, Marks::Line { at, steps: false }, colours));
        }
        figure
    }
}

/// What is drawn of a row.
type Figured = fn(&SeriesRow) -> f64;

fn queue_length(row: &SeriesRow) -> f64 {
    row.queue()
}

fn yield_rate(row: &SeriesRow) -> f64 {
    row.worth() / row.to.since(row.from).as_secs()
}

fn free_rate(row: &SeriesRow) -> f64 {
    row.free_bytes() as f64 / MB / row.to.since(row.from).as_secs()
}
