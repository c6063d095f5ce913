//! What people are told about bad input: every file under `tests/bad` against the message beside it.
//!
//! A folder stands for what its files are read as. A trace named `forced-FORMAT--NAME` is read as that format.
//! `HALFTURN_BLESS=1` writes the messages.

use block::BadInput;
use std::fs;
use std::path::{Path, PathBuf};

fn experiment(path: &Path) -> Option<BadInput> {
    load::experiment::load(path, &[], None).err()
}

fn drive(path: &Path) -> Option<BadInput> {
    disk::Model::load(path).err()
}

fn disksim(path: &Path) -> Option<BadInput> {
    disk::disksim::load(path, None).err()
}

fn trace(path: &Path) -> Option<BadInput> {
    let name = path.file_name()?.to_str()?;
    let forced = name.strip_prefix("forced-").and_then(|rest| rest.split_once("--"));
    match trace::open(path, forced.map(|(word, _)| word.parse().expect("a trace format"))) {
        Err(error) => Some(error),
        Ok(mut trace) => trace.find_map(Result::err),
    }
}

fn check(folder: &str, read: impl Fn(&Path) -> Option<BadInput>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/bad").join(folder);
    let mut files: Vec<PathBuf> = fs::read_dir(&folder).expect("is there").map(|entry| entry.unwrap().path()).collect();
    files.sort();
    // Seek files and maps are read by way of the parameters that name them.
    let beside = |path: &PathBuf| ["expected", "seek", "raw"].iter().any(|end| path.extension() == Some(end.as_ref()));
    files.retain(|path| !beside(path));
    assert!(files.len() >= 10, "the bad files are gone");
    let mut wrong = String::new();
    for path in files {
        let name = path.file_name().unwrap().to_str().unwrap();
        let told = read(&path).map_or("no error".into(), |error| error.to_string());
        let told = told.replace(&format!("{}/", folder.display()), "") + "\n";
        let expected = folder.join(format!("{name}.expected"));
        if std::env::var_os("HALFTURN_BLESS").is_some() {
            fs::write(&expected, &told).unwrap();
        }
        let expected = fs::read_to_string(&expected).unwrap_or_default();
        if told.trim_end() != expected.trim_end() {
            wrong += &format!("--- {name}\nexpected {expected}told     {told}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

fn mimic(path: &Path) -> Option<BadInput> {
    load::learned::read(path).err()
}

#[test]
fn bad_tables_of_the_mimic() {
    check("mimic", mimic);
}

#[test]
fn bad_experiments() {
    check("experiment", experiment);
}

#[test]
fn bad_drives() {
    check("drive", drive);
}

#[test]
fn bad_parameters_of_disksim() {
    check("disksim", disksim);
}

#[test]
fn bad_traces() {
    check("trace", trace);
}

#[test]
fn what_is_no_file() {
    let told = |path: &str| trace::open(Path::new(path), None).unwrap_err().to_string();
    assert!(told(env!("CARGO_MANIFEST_DIR")).contains("this is a directory"));
    assert!(told("no/such/file").starts_with("no/such/file: there is no such file"));
}
