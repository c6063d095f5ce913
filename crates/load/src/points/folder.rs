//! What the files of a sweep are called.

use std::path::{Path, PathBuf};

/// The files of a folder of a sweep.
pub struct SweepFolder {
    /// The runs of finished points.
    pub journal: PathBuf,
    /// The rows of all points, a JSON object a line.
    pub rows: PathBuf,
    /// The same as comma-separated values.
    pub table: PathBuf,
    /// The same as files of Parquet, where they are wanted.
    pub dataset: PathBuf,
    /// The experiment, which says the same in any folder.
    pub experiment: PathBuf,
}

impl SweepFolder {
    /// Those of this folder.
    #[must_use]
    pub fn of(folder: &Path) -> SweepFolder {
        let file = |name| folder.join(name);
        SweepFolder {
            journal: file("points.jsonl"),
            rows: file("rows.jsonl"),
            table: file("rows.csv"),
            dataset: file("dataset"),
            experiment: file("experiment.toml"),
        }
    }
}
