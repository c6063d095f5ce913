//! `--dataset` of `sweep` and `merge`: the rows as files of Parquet.

use crate::failure::VerbFailure;
use block::{At, BadInput};
use clap::Args;
use load::experiment::Case;
use load::points::SweepFolder;
use std::path::Path;

/// What is asked of the dataset.
#[derive(Args)]
pub struct DatasetArgs {
    /// Also write the rows as Parquet, with histograms, into the folder `dataset`: one file, or one for each combination of values
    /// of these keys that are varied or drawn, such as --dataset=model,policy
    #[arg(long, value_name = "KEY,...", num_args = 0..=1, require_equals = true, value_delimiter = ',', default_missing_value = "")]
    dataset: Option<Vec<String>>,
}

impl DatasetArgs {
    /// An error where what is asked for cannot be written, before anything is run: rows will have the labels of these cases, and
    /// those that are not known yet have none.
    pub fn check(&self, cases: &[Case]) -> Result<(), VerbFailure> {
        let Some(by) = self.keys() else { return Ok(()) };
        let bad = |what: String, mend: String| Err(BadInput::new("--dataset", At::File, what, mend).into());
        let known = |case: &Case| case.labels.keys().cloned().collect::<Vec<_>>().join(", ");
        let unknown =
            cases.first().and_then(|case| Some((case, by.iter().find(|key| !case.labels.contains_key(**key))?)));
        if let Some((case, key)) = unknown {
            return bad(format!("`{key}` is not varied, nor drawn"), format!("take some of {}", known(case)));
        }
        if !cfg!(feature = "parquet") {
            let mend = "take rows.csv, or build it with cargo build --release -p halfturn --features parquet";
            return bad("this halfturn was built without Parquet".into(), mend.into());
        }
        Ok(())
    }

    fn keys(&self) -> Option<Vec<&str>> {
        let keys = self.dataset.as_ref()?;
        Some(keys.iter().map(String::as_str).filter(|key| !key.is_empty()).collect())
    }

    /// Writes it, if it is wanted, from the rows, which are there; in the place of one that was there.
    pub fn write(&self, files: &SweepFolder) -> Result<(), VerbFailure> {
        let Some(by) = self.keys() else { return Ok(()) };
        let by: Vec<String> = by.into_iter().map(Into::into).collect();
        replace(&files.rows, &by, &files.dataset)
    }
}

#[cfg(feature = "parquet")]
fn replace(rows: &Path, by: &[String], folder: &Path) -> Result<(), VerbFailure> {
    let draft = folder.with_extension("part");
    let write = || {
        let mut dataset = load::points::RowsDataset::open(rows, by)?;
        remove(&draft)?;
        dataset.write(&draft)?;
        remove(folder)?;
        std::fs::rename(&draft, folder)
    };
    write().map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidInput => {
            BadInput::new(rows.display().to_string(), At::File, error.to_string(), "part them by what is varied").into()
        }
        _ => VerbFailure::unwritable(folder, &error),
    })
}

/// Removes a dataset, and nothing else: what is not of one is left, and an error.
#[cfg(feature = "parquet")]
fn remove(folder: &Path) -> std::io::Result<()> {
    if !folder.try_exists()? {
        return Ok(());
    }
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if entry.file_type()?.is_dir() && name.to_string_lossy().contains('=') {
            remove(&entry.path())?;
        } else if name == "rows.parquet" {
            std::fs::remove_file(entry.path())?;
        } else {
            return Err(std::io::Error::other(format!("{} is not of a dataset", entry.path().display())));
        }
    }
    std::fs::remove_dir(folder)
}

#[cfg(not(feature = "parquet"))]
fn replace(_: &Path, _: &[String], _: &Path) -> Result<(), VerbFailure> {
    unreachable!("it was refused")
}
