//! The published results that ship with the project: the files under `reproduce/`.

use crate::file::{RunLength, TargetFile};
use block::BadInput;

/// The id and text of every file, by name.
const FILES: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/reproduce.rs"));

/// The ids of all files.
pub fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(id, _)| *id)
}

/// Every published result, with runs of this length.
///
/// # Errors
/// A file that is wrong, with line and mend.
pub fn all(length: RunLength) -> Result<Vec<TargetFile>, BadInput> {
    FILES.iter().map(|(id, text)| TargetFile::parse(id, text, length)).collect()
}
