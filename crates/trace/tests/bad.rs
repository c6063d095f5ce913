//! What users are told about bad traces: every file of `tests/bad/trace` against its `.expected`.
//!
//! A file named `forced-FORMAT--NAME` is opened as that format. `HALFTURN_BLESS=1` writes the messages.

use std::fs;
use std::path::Path;

use trace::{Format, open};

/// The message the first error of a file gives, without its folder.
fn message(path: &Path, name: &str) -> String {
    let forced = name.strip_prefix("forced-").and_then(|rest| rest.split_once("--"));
    let format: Option<Format> = forced.map(|(word, _)| word.parse().unwrap());
    let error = match open(path, format) {
        Err(error) => error,
        Ok(mut trace) => trace.find_map(Result::err).unwrap_or_else(|| panic!("{name} reads without an error")),
    };
    error.to_string().replace(&format!("{}/", path.parent().unwrap().display()), "")
}

#[test]
fn every_bad_file_is_told_as_expected() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/bad/trace"));
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names.retain(|name| !name.ends_with(".expected"));
    assert!(names.len() >= 10, "the bad files are gone");
    for name in names {
        let message = message(&folder.join(&name), &name) + "\n";
        let expected = folder.join(format!("{name}.expected"));
        if std::env::var_os("HALFTURN_BLESS").is_some() {
            fs::write(&expected, &message).unwrap();
        }
        assert_eq!(message, fs::read_to_string(&expected).unwrap_or_default(), "{name}");
    }
}

#[test]
fn what_is_no_file_is_told_so() {
    let told = |path: &str| open(Path::new(path), None).unwrap_err().to_string();
    let here = env!("CARGO_MANIFEST_DIR");
    assert!(told(here).contains("this is a directory"));
    assert!(told("no/such/file").starts_with("no/such/file: there is no such file"));
}
