//! `sweep` and `merge`: the same rows, however often they were interrupted and wherever they were computed.

use crate::{data, root, run_in, said};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const LISTS: [&str; 4] = ["--set", "workload.0.depth=[1,2,3,4,6,8,12,16,24]", "--set", "run.requests=1500"];

fn folder(test: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("sweep-{test}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder for tests");
    folder
}

/// The arguments of a sweep into a folder.
fn sweep<'a>(file: &'a str, out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["sweep", file, "-o", out][..], &LISTS, more].concat()
}

fn text(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).expect("it was written")
}

/// Points of a journal, as they ended.
fn points(folder: &Path) -> Vec<String> {
    text(folder, "points.jsonl").lines().map(|line| line.split(',').next().expect("a point").to_owned()).collect()
}

#[track_caller]
fn same(one: &Path, other: &Path) {
    for name in ["rows.jsonl", "rows.csv", "experiment.toml"] {
        assert!(text(one, name) == text(other, name), "{name} differs");
    }
}

#[test]
fn a_row_is_a_run_of_simulate_beside_its_experiment() {
    let folder = folder("rows");
    let (file, out) = (data("small.toml"), folder.join("out"));
    let out = out.to_str().expect("UTF-8");
    let told = said(&sweep(&file, out, &["--threads", "2"]));
    assert_eq!(told, format!("18 runs: {out}/rows.jsonl {out}/rows.csv\n"));
    let json = said(&[&["simulate", &file, "--format", "json"][..], &LISTS].concat());
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let rows = text(Path::new(out), "rows.jsonl");
    let rows: Vec<Value> = rows.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let runs = json["runs"].as_array().expect("runs");
    assert_eq!(rows.len(), runs.len());
    for (number, (row, run)) in rows.iter().zip(runs).enumerate() {
        assert_eq!(&row["run"], run);
        assert_eq!((&row["number"], &row["points"]), (&number.into(), &18.into()));
        assert_eq!(
            row["experiment"]["workload"][0]["depth"],
            run["labels"]["depth"].as_f64().map_or(Value::Null, |it| Value::from(it as u64))
        );
        assert_eq!(row["experiment"]["scheduler"]["policy"], run["labels"]["policy"]);
        assert_eq!((&row["inputs"], &row["program"]), (&json["inputs"], &json["program"]));
    }
    let csv = text(Path::new(out), "rows.csv");
    let (head, first) = (csv.lines().next().expect("names"), csv.lines().nth(1).expect("a row"));
    assert!(head.starts_with("number,point,run.labels.depth,run.labels.policy,"), "{head}");
    assert!(first.starts_with("0,") && csv.lines().count() == 19, "{first}");
    let mean = head.split(',').position(|name| name == "run.classes.readers.response_ms.mean").expect("a column");
    let cell = first.split(',').nth(mean).expect("no cell before it is quoted");
    assert_eq!(cell, runs[0]["classes"]["readers"]["response_ms"]["mean"].to_string());
    // A second one, on one thread, in another folder.
    let second = folder.join("second");
    said(&sweep(&file, second.to_str().expect("UTF-8"), &["--threads", "1"]));
    same(Path::new(out), &second);
    // Its experiment is the sweep, wherever it is.
    let again = folder.join("again");
    let (copy, third) = (format!("{out}/experiment.toml"), again.to_str().expect("UTF-8"));
    said(&["sweep", &copy, "-o", third]);
    assert_eq!(text(&again, "rows.jsonl"), text(&second, "rows.jsonl"));
}

#[test]
fn what_was_done_before_a_sweep_was_killed_is_not_done_again() {
    let folder = folder("killed");
    let file = root().join(data("small.toml"));
    let file = file.to_str().expect("UTF-8");
    let whole = folder.join("whole");
    said(&sweep(file, whole.to_str().expect("UTF-8"), &[]));
    let out = folder.join("out");
    let arguments = sweep(file, out.to_str().expect("UTF-8"), &[]);
    let mut done: Vec<String> = Vec::new();
    for signal in ["-KILL", "-INT"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_halfturn"));
        let mut running = command.args(&arguments).stdout(Stdio::null()).spawn().expect("it starts");
        let began = Instant::now();
        while !out.join("points.jsonl").is_file() || points(&out).len() < done.len() + 3 {
            assert!(began.elapsed() < Duration::from_secs(100), "no three points");
            std::thread::sleep(Duration::from_millis(2));
        }
        let kill = Command::new("kill").args([signal, &running.id().to_string()]).status().expect("kill");
        assert!(kill.success() && !running.wait().expect("it ends").success());
        let kept = points(&out);
        assert!(kept.starts_with(&done) && kept.len() < 18, "{} of 18 had ended", kept.len());
        assert!(!out.join("rows.jsonl").exists() && !out.join("rows.csv").exists(), "not before all have ended");
        done = kept;
        // A line that was not written whole may stand at the end; what comes after is another.
        done.pop();
    }
    said(&arguments);
    same(&out, &whole);
    let kept = points(&out);
    assert!(kept.starts_with(&done), "what was kept stays");
    let mut unlike = kept.clone();
    unlike.sort();
    unlike.dedup();
    assert_eq!((kept.len(), unlike.len()), (18, 18), "none is done twice");
    // Nothing is left to be done, and nothing is.
    let journal = text(&out, "points.jsonl");
    said(&arguments);
    assert_eq!(text(&out, "points.jsonl"), journal);
    // A longer list does what is new.
    said(&[&arguments[..], &["--set", "scheduler.policy=[c-look,fcfs,satf]"]].concat());
    assert!(text(&out, "points.jsonl").starts_with(&journal));
    assert_eq!(points(&out).len(), 27);
    assert_eq!(text(&out, "rows.jsonl").lines().count(), 27);
}

#[test]
fn shards_are_merged_to_the_whole_and_nothing_less() {
    let folder = folder("shards");
    let file = root().join(data("small.toml"));
    let file = file.to_str().expect("UTF-8");
    said(&sweep(file, folder.join("whole").to_str().expect("UTF-8"), &[]));
    for shard in ["1", "2", "3"] {
        let (out, of) = (folder.join(shard), format!("{shard}/3"));
        said(&sweep(file, out.to_str().expect("UTF-8"), &["--shard", &of]));
        assert_eq!(points(&out).len(), 6);
    }
    let merge = |parts: &[&str]| run_in(&folder, &[&["merge", "-o", "merged"], parts].concat());
    let output = merge(&["1", "3"]);
    let told = String::from_utf8_lossy(&output.stderr);
    let wanted =
        "error: merge: 6 of 18 points are in none of the folders, the first number 1\n  mend: give the folders";
    assert!(output.status.code() == Some(2) && told.starts_with(wanted), "{told}");
    assert!(!folder.join("merged").exists());
    let output = merge(&["3", "1", "2"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    same(&folder.join("merged"), &folder.join("whole"));
    let journal = text(&folder.join("merged"), "points.jsonl");
    said(&sweep(file, folder.join("merged").to_str().expect("UTF-8"), &[]));
    assert_eq!(text(&folder.join("merged"), "points.jsonl"), journal, "it has all that was done");
    same(&folder.join("merged"), &folder.join("whole"));
}
