//! A fleet: each disk a row, what is drawn drawn once for all settings, repairs that add up over all disks.

use crate::{root, run_in, said};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Four groups, of which some have lost disks; each disk for two seconds.
const FLEET: &str = r#"
[fleet]
disks = 80
annual_failures = 0.2

[drive]
model = { draw = ["st318437lw", "atlas10k"], shares = [3, 1] }
queue = 1

[scheduler]
policy = ["fcfs", "satf"]

[[workload]]
name = "users"
kind = "open"
rate = { draw = ["10/s", "30/s"] }
size = "4KiB"

[[workload]]
name = "repair"
kind = "coded-repair"
code = "4+2"
group = 20
used = "4GB"
block = "512KiB"
within = "60d"

[run]
duration = "2s"
warmup = "0s"
"#;

fn folder(test: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("fleet-{test}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder for tests");
    fs::write(folder.join("fleet.toml"), FLEET).expect("room");
    folder
}

/// Sweeps the fleet into a folder beside it.
#[track_caller]
fn sweep(folder: &Path, out: &str, more: &[&str]) -> Vec<Value> {
    let arguments = [&["sweep", "fleet.toml", "-o", out][..], more].concat();
    let output = run_in(folder, &arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    rows(&folder.join(out))
}

fn rows(folder: &Path) -> Vec<Value> {
    let text = fs::read_to_string(folder.join("rows.jsonl")).expect("rows");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn label<'a>(row: &'a Value, key: &str) -> &'a Value {
    &row["run"]["labels"][key]
}

#[test]
fn each_disk_is_a_row_and_each_setting_meets_the_same_fleet() {
    let folder = folder("rows");
    let all = sweep(&folder, "out", &[]);
    let of = |policy: &str| -> Vec<&Value> { all.iter().filter(|row| label(row, "policy") == policy).collect() };
    let (fcfs, satf) = (of("fcfs"), of("satf"));
    assert!(fcfs.len() == satf.len() && fcfs.len() < 80 && fcfs.len() > 60, "{} of 80 are not lost", fcfs.len());
    for (one, other) in fcfs.iter().zip(&satf) {
        for key in ["disk", "lost", "model", "rate"] {
            assert_eq!(label(one, key), label(other, key));
        }
        assert_eq!(one["experiment"]["run"]["seed"], other["experiment"]["run"]["seed"]);
        let requests = |row: &Value| row["run"]["classes"]["repair"]["requests"].clone();
        assert_eq!(requests(one), requests(other), "what arrives does not depend on the policy");
    }
    let share = fcfs.iter().filter(|row| label(row, "model") == "st318437lw").count() as f64 / fcfs.len() as f64;
    assert!((0.6..0.9).contains(&share), "three of four are drawn, not {share}");
    // The experiment of a row is that disk, alone.
    let text = fs::read_to_string(folder.join("out/experiment.toml")).expect("the sweep");
    assert!(text.contains("[fleet]") && !fcfs[0]["experiment"].to_string().contains("fleet"), "{text}");
    let again = sweep(&folder, "again", &["--threads", "1"]);
    assert!(all == again, "the same seed gives the same rows");
    let other = sweep(&folder, "other", &["--seed", "2"]);
    assert!(all != other, "another seed, another fleet");
}

#[test]
fn what_all_disks_read_for_a_repair_is_what_the_code_needs() {
    let folder = folder("adds-up");
    // A repair that is done within the run, so that all of it is counted.
    let more = ["--set", "workload.repair.used=8MiB", "--set", "scheduler.policy=fcfs"];
    let sets = ["--set", "workload.repair.within=60d", "--set", "run.duration=60d", "--set", "workload.users.rate=1/d"];
    let all = sweep(&folder, "out", &[&more[..], &sets].concat());
    let lost: u64 = (0..4u64)
        .map(|group| {
            let mut ours = all.iter().filter(|row| label(row, "disk").as_f64().expect("a number") as u64 / 20 == group);
            ours.next().and_then(|row| label(row, "lost").as_f64()).map_or(0, |lost| lost as u64)
        })
        .sum();
    assert_eq!(lost as usize + all.len(), 80, "who is not there is lost");
    assert!(lost >= 2, "{lost} disks are lost");
    let class = |row: &Value| row["run"]["classes"]["repair"].clone();
    let requests: u64 = all.iter().map(|row| class(row)["requests"].as_u64().unwrap_or(0)).sum();
    // Sixteen parts of each lost disk: four are read for each, and one is written.
    assert_eq!(requests, lost * 16 * 5);
}

#[test]
fn shards_of_a_fleet_are_the_fleet() {
    let folder = folder("shards");
    let whole = sweep(&folder, "whole", &[]);
    let mut count = 0;
    for shard in ["1/3", "2/3", "3/3"] {
        count += sweep(&folder, &shard[..1], &["--shard", shard]).len();
    }
    assert_eq!(count, whole.len());
    let output = run_in(&folder, &["merge", "1", "2", "3", "-o", "merged"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for name in ["rows.jsonl", "rows.csv"] {
        let [one, other] =
            ["whole", "merged"].map(|out| fs::read(folder.join(out).join(name)).expect("it was written"));
        assert!(one == other, "{name} differs");
    }
}

#[test]
#[cfg(feature = "parquet")]
fn a_dataset_has_a_folder_for_each_value() {
    let folder = folder("dataset");
    sweep(&folder, "out", &["--dataset=policy,model"]);
    let mut parts: Vec<String> = Vec::new();
    for policy in fs::read_dir(folder.join("out/dataset")).expect("a dataset") {
        let policy = policy.expect("an entry").path();
        for model in fs::read_dir(&policy).expect("a part") {
            let model = model.expect("an entry").path();
            assert!(model.join("rows.parquet").metadata().expect("a file").len() > 1000);
            parts.push(model.strip_prefix(folder.join("out/dataset")).expect("inside").display().to_string());
        }
    }
    parts.sort();
    let wanted =
        ["fcfs", "satf"].map(|policy| ["atlas10k", "st318437lw"].map(|model| format!("policy={policy}/model={model}")));
    assert_eq!(parts, wanted.concat());
    // Written anew: what was there is gone, and nothing that is not of a dataset.
    sweep(&folder, "out", &["--dataset"]);
    assert_eq!(fs::read_dir(folder.join("out/dataset")).expect("a dataset").count(), 1);
    fs::write(folder.join("out/dataset/notes.txt"), "mine").expect("room");
    let output = run_in(&folder, &["sweep", "fleet.toml", "-o", "out", "--dataset"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && told.contains("notes.txt is not of a dataset"), "{told}");
    assert!(folder.join("out/dataset/notes.txt").is_file());
    // Of shards, too.
    let merge = ["merge", "out", "-o", "merged", "--dataset=none"];
    let told = run_in(&folder, &merge).stderr;
    let told = String::from_utf8_lossy(&told);
    assert!(told.contains("has no `none` to part its rows by, but disk, lost, model, policy, rate"), "{told}");
}

#[test]
fn what_is_drawn_is_explained() {
    let told = said(&["help", "fleet"]);
    assert!(told.contains("annual_failures") && told.contains("draw = ["), "{told}");
    assert!(root().join("examples/fleet.toml").is_file());
}
