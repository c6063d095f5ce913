//! The published results that ship with the project: the files under `reproduce/`.

use crate::choice::begins;
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
    read_changed(length, &[], &[])
}

/// The same, with changes, `KEY=VALUE`, in the experiments of the files in which these words choose targets; without words, of
/// all.
///
/// # Errors
/// A file that is wrong, or a change that does not fit it, with line and mend.
pub fn read_changed(length: RunLength, words: &[String], changes: &[String]) -> Result<Vec<TargetFile>, BadInput> {
    let chosen = |id: &str| words.is_empty() || words.iter().any(|word| begins(id, word) || begins(word, id));
    let read =
        |(id, text): &(&str, &str)| TargetFile::parse_changed(id, text, length, if chosen(id) { changes } else { &[] });
    FILES.iter().map(read).collect()
}
