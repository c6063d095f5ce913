//! The same bytes, whatever the threads, the folder and the day.

use crate::{data, root, run_in, said};
use std::path::PathBuf;

#[test]
fn threads_change_no_byte() {
    for format in ["table", "json"] {
        let with = |threads| said(&["simulate", &data("classes.toml"), "--format", format, "--threads", threads]);
        assert_eq!(with("1"), with("2"));
        assert_eq!(with("2"), said(&["simulate", &data("classes.toml"), "--format", format]));
    }
}

#[test]
fn another_seed_changes_the_figures_and_not_the_runs() {
    let with = |seed| said(&["simulate", &data("small.toml"), "--seed", seed]);
    assert_ne!(with("1"), with("2"));
    assert_eq!(with("1"), said(&["simulate", &data("small.toml")]));
    assert_eq!(with("1").lines().count(), with("2").lines().count());
}

#[test]
fn a_trace_is_found_beside_its_experiment_from_any_folder() {
    let json = |folder: PathBuf, file: &str| {
        let output = run_in(&folder, &["simulate", file, "--format", "json"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        // Notes name the trace as the user would, from where the program runs.
        let runs = json["runs"].as_array_mut().expect("runs");
        runs.iter_mut().for_each(|run| run["notes"].take().as_array().map_or((), |notes| assert!(!notes.is_empty())));
        json
    };
    let here = json(root().join("examples"), "first-look.toml");
    assert_eq!(here, json(root(), "examples/first-look.toml"));
    assert_eq!(here, json(root().join("crates/halfturn/src"), "../../../examples/first-look.toml"));
}

#[test]
fn output_holds_what_was_printed_and_what_is_needed_to_do_it_again() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("output");
    let shown = folder.to_string_lossy().into_owned();
    let small = data("small.toml");
    let table = said(&["simulate", &small, "--seed", "7", "--set", "run.requests=500", "--output", &shown]);
    let read = |name| std::fs::read_to_string(folder.join(name)).expect("the file was written");
    assert_eq!(read("table.txt"), table);
    let json = said(&["simulate", &small, "--seed", "7", "--set", "run.requests=500", "--format", "json"]);
    assert_eq!(read("results.json"), json);
    let moved = said(&["simulate", &format!("{shown}/experiment.toml"), "--format", "json"]);
    assert_eq!(moved, json, "what was set is in it");
    let again = read("again.txt");
    assert!(again.contains(&format!("simulate '{small}' --set 'run.requests=500' --seed 7\n")), "{again}");
    assert!(again.contains("- policy = satf; seed 7\n"), "{again}");
}
