//! What a run came to over time: a row for each interval and class, and one for all classes together.
//!
//! [`SERIES_COLUMNS`] is the one definition of a row, in the order in which every writer gives them. Times are whole nanoseconds since
//! the run began. An interval is after its beginning and up to its end, and each thing counts once, so that rows add up to the run:
//! requests where they end, times where they pass.

#[cfg(feature = "arrow")]
mod batch;
mod book;
mod cell;
mod keeper;

#[cfg(feature = "arrow")]
pub use batch::{series_batches, series_schema};
pub use book::SeriesBook;
pub use keeper::{Every, RunSeries};

use crate::requests::{COLUMNS, PARTS, write_csv_word};
use block::{Span, Time};
use cell::SeriesCell;
use std::io::{self, Write};

/// An interval of a run, of a class or of all.
#[derive(Clone, Copy)]
pub struct SeriesRow<'a> {
    /// What was varied in a sweep, and its value.
    pub case: &'a str,
    /// The replication, from 1.
    pub replication: u32,
    /// The service class; empty where all are counted together.
    pub class: &'a str,
    /// The interval begins after this.
    pub from: Time,
    /// It ends with this.
    pub to: Time,
    disks: u64,
    cell: &'a SeriesCell,
}

impl SeriesRow<'_> {
    /// How many requests were in the system, mean over the interval.
    #[must_use]
    pub fn queue(&self) -> f64 {
        self.share(self.cell.outstanding, 1)
    }

    /// What the requests were worth that ended and count.
    #[must_use]
    pub fn worth(&self) -> f64 {
        self.cell.worth
    }

    /// Bytes that work for free read.
    #[must_use]
    pub fn free_bytes(&self) -> u64 {
        self.cell.free_bytes
    }

    fn share(&self, ns: u64, of: u64) -> f64 {
        ns as f64 / (self.to.since(self.from).0.max(1) * of) as f64
    }
}

/// What stands in a column of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SeriesValue<'a> {
    /// A word, such as a name.
    Word(&'a str),
    /// A number without fraction.
    Count(u64),
    /// One that is not there where nothing ended.
    Time(Option<Span>),
    /// A number with a fraction.
    Real(f64),
}

/// A column of the series.
pub struct SeriesColumn {
    /// Its name, which ends in its unit where it has one.
    pub name: &'static str,
    /// What it says, in a line.
    pub about: &'static str,
    /// What stands in it.
    pub value: for<'a> fn(&'a SeriesRow<'a>) -> SeriesValue<'a>,
}

const fn column(
    name: &'static str,
    about: &'static str,
    value: for<'a> fn(&'a SeriesRow<'a>) -> SeriesValue<'a>,
) -> SeriesColumn {
    SeriesColumn { name, about, value }
}

/// A column of what an arm's time goes to, called as in the record of a request.
const fn part<const PART: usize>() -> SeriesColumn {
    let of = &COLUMNS[COLUMNS.len() - PARTS + PART];
    column(of.name, of.about, |it| SeriesValue::Count(it.cell.parts[PART].0))
}

/// All columns, in their order.
pub const SERIES_COLUMNS: [SeriesColumn; 17 + PARTS] = [
    column("case", "the values of what was varied, `key=value` with `; ` between", |it| SeriesValue::Word(it.case)),
    column("replication", "which replication, from 1", |it| SeriesValue::Count(it.replication.into())),
    column("class", "the service class; empty in the row of all together", |it| SeriesValue::Word(it.class)),
    column("from_ns", "when the interval begins", |it| SeriesValue::Count(it.from.0)),
    column("to_ns", "when it ends; the last with the run", |it| SeriesValue::Count(it.to.0)),
    column("requests", "requests that finished in it", |it| SeriesValue::Count(it.cell.requests)),
    column("counted", "requests that ended in it and that the results count", |it| SeriesValue::Count(it.cell.counted)),
    column("lost", "requests that failed in it, or were dropped at their deadline", |it| {
        SeriesValue::Count(it.cell.lost)
    }),
    column("bytes", "bytes of the requests that finished", |it| SeriesValue::Count(it.cell.bytes)),
    column("free_bytes", "bytes that work for free read", |it| SeriesValue::Count(it.cell.free_bytes)),
    column("yield", "what those of `counted` were worth", |it| SeriesValue::Real(it.cell.worth)),
    column("mean_ns", "mean response of those that finished; nothing where none did, as in the next three", |it| {
        SeriesValue::Time(it.cell.times.mean())
    }),
    column("p50_ns", "half of them took as long or less", |it| SeriesValue::Time(it.cell.times.quantile(0.5))),
    column("p99_ns", "99 % of them took as long or less", |it| SeriesValue::Time(it.cell.times.quantile(0.99))),
    column("max_ns", "the longest took so long", |it| SeriesValue::Time(it.cell.times.quantile(1.0))),
    column("queue", "requests in the system, from their arrival to their end: the mean over time", |it| {
        SeriesValue::Real(it.queue())
    }),
    column(
        "busy",
        "share of the time in which the device had a command of theirs; of an array, the mean of its disks",
        |it| SeriesValue::Real(it.share(it.cell.busy, it.disks)),
    ),
    part::<0>(),
    part::<1>(),
    part::<2>(),
    part::<3>(),
    part::<4>(),
    part::<5>(),
    part::<6>(),
    part::<7>(),
    part::<8>(),
    part::<9>(),
];

/// The line with the names of the columns.
///
/// # Errors
/// When it cannot be written.
pub fn write_series_header(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", SERIES_COLUMNS.map(|column| column.name).join(","))
}

/// A row as a line of comma-separated values; what is not there is empty.
///
/// # Errors
/// When it cannot be written.
pub fn write_series_row(row: &SeriesRow, out: &mut dyn Write) -> io::Result<()> {
    for (i, column) in SERIES_COLUMNS.iter().enumerate() {
        if i > 0 {
            out.write_all(b",")?;
        }
        match (column.value)(row) {
            SeriesValue::Word(word) => write_csv_word(word, out)?,
            SeriesValue::Count(count) => write!(out, "{count}")?,
            SeriesValue::Time(time) => time.map_or(Ok(()), |time| write!(out, "{}", time.0))?,
            SeriesValue::Real(real) => write!(out, "{real}")?,
        }
    }
    out.write_all(b"\n")
}
