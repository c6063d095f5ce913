//! Experiments written in the test, and traces in a folder of its own.

use load::experiment::{Case, parse};
use load::results::Results;
use sim::{Replication, Unwatched};
use std::path::{Path, PathBuf};

pub fn cases(text: &str) -> Vec<Case> {
    parse("test.toml", text, &[], None).unwrap_or_else(|error| panic!("{error}"))
}

/// The only case of an experiment, once.
pub fn once(text: &str) -> Replication {
    let cases = cases(text);
    assert_eq!(cases.len(), 1);
    sim::replicate(&cases[0].experiment, 0, &|_| ()).unwrap_or_else(|error| panic!("{error}"))
}

pub fn results(text: &str) -> Results {
    sim::simulate(&cases(text), &Unwatched).unwrap_or_else(|error| panic!("{error}"))
}

/// Requests a second of a replication.
pub fn per_second(replication: &Replication) -> f64 {
    replication.meter.requests() as f64 / replication.meter.time_measured().as_secs()
}

/// A folder that goes with the test.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(test: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("halfturn-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    /// A file in it with this text.
    pub fn file(&self, name: &str, text: &str) -> String {
        let path: &Path = &self.0.join(name);
        std::fs::write(path, text).unwrap();
        path.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
