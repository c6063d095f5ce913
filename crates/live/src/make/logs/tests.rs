//! What is refused as a log, and what an array is refused without one.

use super::super::{Existing, array_status, create_array, devices};
use crate::claim::Use;
use block::BadInput;
use load::experiment::{self, Experiment};
use std::fs::File;
use std::path::PathBuf;

const MB: u64 = 1 << 20;

/// A folder with two disks, and what may be a log.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let folder = std::env::temp_dir().join(format!("halfturn-log-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let place = Place(folder);
        ["disk.0", "disk.1", "other.0", "other.1"].iter().for_each(|name| place.make(name, 4 * MB));
        place.make("log", 66 * MB);
        place
    }

    fn make(&self, name: &str, bytes: u64) {
        File::create(self.0.join(name)).and_then(|file| file.set_len(bytes)).expect("a file");
    }

    /// The array of two disks, with these lines besides.
    fn read(&self, disks: &str, lines: &str) -> Experiment {
        let disk = |number: u32| format!("[[disk]]\npath = \"{disks}.{number}\"\n");
        let text = format!("{}{}[array]\nlevel = \"1\"\n{lines}\n[[volume]]\nname = \"a\"\n", disk(0), disk(1));
        let file = self.0.join("a.toml");
        experiment::parse_service(&file.display().to_string(), &text, &[]).unwrap_or_else(|error| panic!("{error}"))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const LOGGED: &str = "buffer = \"65MiB\"\nlog = \"log\"";

#[track_caller]
fn says<T>(found: Result<T, BadInput>, wanted: &str) {
    let told = found.map(|_| ()).map_err(|error| error.to_string());
    assert!(told.as_ref().is_err_and(|what| what.contains(wanted)), "{told:?}: {wanted}");
}

fn serve(experiment: &Experiment) -> Result<super::super::Made, BadInput> {
    devices(experiment, Use::Writes, 0)
}

#[test]
fn an_array_is_had_with_the_log_that_it_was_served_with_or_as_it_ended_well() {
    let place = Place::new("had");
    let (with, without) = (place.read("disk", LOGGED), place.read("disk", ""));
    create_array(&with, Existing::Kept).expect("an array");
    drop(serve(&with).expect("it is served"));
    // It was stopped at once; nobody knows what is on the log.
    says(serve(&without), "last served with a log");
    let (status, admitted) = array_status(&without).expect("a status");
    says(admitted, "last served with a log");
    assert!(status.json()["log"].is_string() && status.text().contains("log"), "{}", status.text());
    place.make("another", 66 * MB);
    says(serve(&place.read("disk", "buffer = \"65MiB\"\nlog = \"another\"")), "is not the log that the array was last");
    says(serve(&place.read("disk", "buffer = \"65MiB\"\nlog = \"none\"")), "cannot be opened");
    says(serve(&place.read("disk", "buffer = \"65.5MiB\"\nlog = \"log\"")), "another size");
    let mut made = serve(&with).expect("it is there");
    says(serve(&with), "is in use");
    made.unit.close();
    drop(made);
    assert_eq!(array_status(&without).expect("a status").0.json()["log"], serde_json::Value::Null);
    let mut made = serve(&without).expect("nothing is on the log alone");
    made.unit.close();
    drop(made);
    // From now on it is another log, whatever stands on it.
    drop(serve(&with).expect("it is served"));
    let made = serve(&place.read("disk", "without_log = true")).expect("it is wanted so");
    assert!(made.notes.iter().any(|note| note.contains("may be lost")), "{:?}", made.notes);
    drop(made);
    drop(serve(&without).expect("that was given up"));
}

#[test]
fn what_holds_something_else_is_no_log() {
    let place = Place::new("else");
    let with = place.read("disk", LOGGED);
    says(
        create_array(&place.read("disk", "buffer = \"65MiB\"\nlog = \"disk.1\""), Existing::Kept),
        "is a disk of the array",
    );
    place.make("log", 65 * MB);
    says(create_array(&with, Existing::Kept), "too small");
    std::fs::write(place.0.join("log"), vec![1; 66 << 20]).expect("a file");
    says(create_array(&with, Existing::Kept), "holds something");
    place.make("log", 66 * MB);
    create_array(&with, Existing::Kept).expect("an array");
    drop(serve(&with).expect("it is served"));
    says(create_array(&place.read("other", LOGGED), Existing::Kept), "the log of another array");
    says(create_array(&with, Existing::Kept), "disks of an array");
    create_array(&with, Existing::Overwritten).expect("neither is needed");
    drop(serve(&with).expect("it is served"));
}
