//! A sweep as points, each an experiment of its own: what decides a point, its row among the results, and the finished ones on disk.
//!
//! A point goes by the hash of what decides it: the program, the experiment without its folder and its title, and the contents of what
//! it reads. So it is recognized in whatever sweep it stands, on whatever machine.

#[cfg(feature = "parquet")]
mod dataset;
mod folder;
mod journal;
mod merged;
mod table;

#[cfg(feature = "parquet")]
pub use dataset::RowsDataset;
pub use folder::SweepFolder;
pub use journal::PointJournal;
pub use merged::MergedRows;
pub use table::write_csv;

use crate::experiment::{self, Case};
use crate::origin::{OriginReader, Program, change_paths, fingerprint};
use crate::results::Run;
use block::BadInput;
use config::Document;
use serde_json::{from_str, to_string};
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::str::FromStr;

/// The points that a file asks for, or a shard of them.
pub struct Points {
    /// In the order of the sweep.
    pub points: Vec<SweepPoint>,
    /// How many there are in the whole sweep.
    pub total: usize,
    /// The hash of all of them.
    sweep: String,
}

/// One combination of what a file varies.
pub struct SweepPoint {
    /// Its place in the sweep, from 0.
    pub number: usize,
    /// The hash of what decides it.
    pub hash: String,
    /// The experiment that is run.
    pub case: Case,
    /// What stands before its run in its row: program, inputs and experiment, as the fields of a JSON object.
    origin: String,
}

impl Points {
    /// Those of an experiment with these `sets` and this seed, as if it were that of a file of this path.
    ///
    /// # Errors
    /// Bad input with file, line and mend.
    pub fn of(document: Document, path: &Path, sets: &[String], seed: Option<u64>) -> Result<Points, BadInput> {
        let points = points(document, path, sets, seed, &|_| true)?;
        let hashes: String = points.iter().map(|point| point.hash.as_str()).collect();
        Ok(Points { total: points.len(), sweep: fingerprint(&hashes), points })
    }

    /// Those of a shard that is run elsewhere, which the whole is not looked at for: they have no rows.
    ///
    /// # Errors
    /// Bad input with file, line and mend, of the points of the shard.
    pub fn of_shard(document: Document, path: &Path, shard: Shard) -> Result<Points, BadInput> {
        let points = points(document, path, &[], None, &|number| shard.has(number))?;
        Ok(Points { total: points.len(), sweep: String::new(), points })
    }

    /// Those of a shard.
    #[must_use]
    pub fn shard(self, shard: Shard) -> Points {
        let points = self.points.into_iter().filter(|point| shard.has(point.number)).collect();
        Points { points, ..self }
    }

    /// Writes a row of each point, in their order: a JSON object a line. Gives in how many runs some requests never ended.
    ///
    /// # Errors
    /// When a run is not in the journal, or the rows cannot be written.
    pub fn write_rows(&self, journal: &PointJournal, out: &mut dyn Write) -> io::Result<usize> {
        let mut broken = 0;
        for point in &self.points {
            let (Points { total, sweep, .. }, SweepPoint { number, hash, origin, .. }) = (self, point);
            let labels = to_string(&point.case.labels)?;
            let run = journal.read(hash)?;
            broken += usize::from(!run.contains("\"unfinished\":0,"));
            writeln!(
                out,
                "{{\"sweep\":\"{sweep}\",\"points\":{total},\"number\":{number},\"point\":\"{hash}\",{origin},\
                 \"run\":{{\"labels\":{labels},{run}}}"
            )?;
        }
        Ok(broken)
    }

    /// The run of each point, in their order, as the journal has it: the figures of its replications apart are not kept.
    ///
    /// # Errors
    /// When a run is not in the journal.
    pub fn read_runs(&self, journal: &PointJournal) -> io::Result<Vec<Run>> {
        let read = |point: &SweepPoint| {
            let run: Run = from_str(&format!("{UNLABELLED}{}", journal.read(&point.hash)?))?;
            Ok(Run { labels: point.case.labels.clone(), ..run })
        };
        self.points.iter().map(read).collect()
    }
}

/// The points of an experiment whose numbers are wanted.
fn points(
    mut document: Document,
    path: &Path,
    sets: &[String],
    seed: Option<u64>,
    wanted: &dyn Fn(usize) -> bool,
) -> Result<Vec<SweepPoint>, BadInput> {
    experiment::change(&mut document, sets, seed)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let program = to_string(&Program::default()).expect("plain data");
    let mut reader = OriginReader::default();
    let point = |(number, (case, mut document)): (usize, (Case, Document))| {
        change_paths(&mut document, folder, &|path| {
            path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
        });
        document.take_out_of_root("title");
        let inputs = to_string(&reader.read(&case)).expect("plain data");
        let experiment = document.write_json();
        let origin = format!("\"program\":{program},\"inputs\":{inputs},\"experiment\":{experiment}");
        SweepPoint { number, hash: fingerprint(&origin), case, origin }
    };
    Ok(experiment::expand_asking(&document, path, wanted)?.into_iter().map(point).collect())
}

/// A run as the journal keeps it: the same whatever a sweep calls what it varies, and so without labels. What is left out stands at
/// its beginning.
fn write_run(run: &Run) -> String {
    let text = to_string(&Run { labels: BTreeMap::new(), ..run.clone() }).expect("results are plain data");
    text.strip_prefix(UNLABELLED).expect("labels come first").into()
}

/// What a run without labels begins with.
const UNLABELLED: &str = "{\"labels\":{},";

/// Which of several parts of a sweep: every so many points, from its number on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Its number, from 1.
    number: usize,
    count: usize,
}

impl Shard {
    fn has(self, point: usize) -> bool {
        point % self.count == self.number - 1
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let parts = text.split_once('/').and_then(|(number, count)| Some((number.parse().ok()?, count.parse().ok()?)));
        match parts {
            Some((number, count)) if (1..=count).contains(&number) => Ok(Shard { number, count }),
            _ => Err("write I/N, such as 2/8: the second of eight shards".into()),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.count)
    }
}

#[cfg(test)]
mod tests;
