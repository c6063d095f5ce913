//! What the program prints, kept as snapshots.

use crate::{data, root, run_in, said};
use std::io::Read;
use std::process::{Command, Stdio};

const TRACE: &str = "examples/traces/fio-mixed.blkparse.txt.gz";

#[test]
fn simulate_compares_runs() {
    insta::assert_snapshot!(said(&["simulate", &data("small.toml")]));
}

#[test]
fn simulate_shows_classes_and_says_what_rests_on_the_oracle() {
    let text = said(&["simulate", &data("classes.toml")]);
    assert!(text.contains("perfect knowledge"), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn simulate_says_of_an_array_what_became_of_its_disks_and_its_buffer() {
    insta::assert_snapshot!(said(&["simulate", &data("array.toml")]));
}

#[test]
fn an_overloaded_drive_is_named_as_such() {
    let text = said(&["simulate", &data("overload.toml")]);
    assert!(text.contains("2000/s: the drive is overloaded"), "{text}");
    assert!(text.contains("2000/s (oracle)"), "{text}");
}

/// A page with a timeline, beside the same output as without.
#[test]
fn a_report_shows_who_waited_for_which_request_and_changes_nothing() {
    let page = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("timeline.html");
    let path = page.to_string_lossy().into_owned();
    let small = ["scheduler.policy=[fcfs,priority-2]", "run.replications=1", "workload.0.input=400KiB"];
    let mut arguments = vec!["simulate", "examples/two-compressions.toml", "--set", "workload.0.output=200KiB"];
    small.iter().for_each(|set| arguments.extend(["--set", set]));
    let plain = said(&arguments);
    arguments.extend(["--report", &path, "--window", "100ms..2s"]);
    assert_eq!(said(&arguments), plain);
    let html = std::fs::read_to_string(&page).expect("it was written");
    for what in [
        "policy = priority-2",
        "0.100 s to 2.000 s of the run",
        "[0.0,\"compress 1\"],[1.0,\"compress 2\"],[2.0,\"flush daemon\"],[3.0,\"processor 0\"],[4.0,\"disk: commands\"],[5.0,\"arm\"]",
        "waiting for request #",
        "limited, critical after ",
        "in the interrupt of request #",
        "read of 8 blocks at ",
    ] {
        assert!(html.contains(what), "{what}");
    }
    let text = said(&["trace", "info", "examples/traces/sqlite-beside-writer.pflow", "--report", &path]);
    assert!(text.contains("47,279 events"), "{text}");
    let html = std::fs::read_to_string(&page).expect("it was written");
    for what in ["device 254,0", "sqlite3-21892: ", "computing for dd-21889", "it is cut off there"] {
        assert!(html.contains(what), "{what}");
    }
    std::fs::remove_file(&page).expect("it is there");
}

#[test]
fn json_has_the_schema_and_every_run() {
    let text = said(&["simulate", &data("small.toml"), "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    assert_eq!(json["schema"], 1);
    let policies: Vec<_> = json["runs"].as_array().expect("runs").iter().map(|run| &run["labels"]["policy"]).collect();
    assert_eq!(policies, ["fcfs", "satf"]);
    assert_eq!(json["runs"][0]["classes"]["readers"]["requests"], json["runs"][0]["requests"]);
    assert!(text.ends_with("}\n"));
}

#[test]
fn profile_says_what_it_found_and_its_drive_can_be_simulated() {
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let path = folder.join("learned.toml").to_string_lossy().into_owned();
    let text = said(&["profile", "simulated:mimic-base", "--quick", "-o", &path]);
    insta::assert_snapshot!(text.replace(&path, "learned.toml"));
    let shown = said(&["drive", "show", &path]);
    assert!(shown.contains("Profile of simulated:mimic-base"));
    assert!(shown.contains("write buffer unknown") && shown.contains("write unknown"), "{shown}");
    let small = said(&["simulate", &data("small.toml"), "--set", &format!("drive.model={path}")]);
    assert!(small.contains("satf"), "{small}");
    // What is not known of writes is said, and what stands in its place.
    let words = small.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("are not known: it writes as it reads, without a buffer"), "{small}");
}

#[test]
fn profile_with_a_scratch_says_what_writing_takes_and_goes_on_from_what_was_kept() {
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let path = folder.join("written.toml").to_string_lossy().into_owned();
    let arguments = ["profile", "simulated:atlas10k", "--quick", "--scratch", "4GB+256MiB", "-o", &path];
    let text = said(&arguments);
    insta::assert_snapshot!(text.replace(&path, "written.toml"));
    let whole = std::fs::read(&path).expect("it was written");
    let partial = format!("{path}.partial");
    assert!(!std::path::Path::new(&partial).exists(), "what was kept is taken away at the end");
    // Nothing was answered yet.
    let title =
        "simulated:atlas10k, 17938986 blocks, 1 at once; seed 1, quick, a scratch of 524288 blocks from block 7812500";
    std::fs::write(&partial, profile::journal::Journal::new(&partial, title).bytes()).expect("the folder is there");
    assert_eq!(said(&arguments), text);
    assert!(std::fs::read(&path).expect("it was written") == whole && !std::path::Path::new(&partial).exists());
}

#[test]
fn profile_of_a_mimic_is_a_table_to_schedule_by() {
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let path = folder.join("mimic.toml").to_string_lossy().into_owned();
    let text = said(&["profile", "simulated:flash-x25m", "--mimic", "--quick", "-o", &path]);
    insta::assert_snapshot!(text.replace(&path, "mimic.toml"));
    let (small, table) = (data("small.toml"), format!("scheduler.mimic.table={path}"));
    let sets = ["--set", "drive.model=flash-x25m", "--set", "scheduler.policy=smtf", "--set", &table];
    let arguments: Vec<&str> = ["simulate", &small].into_iter().chain(sets).collect();
    assert!(said(&arguments).contains("learned before from "));
}

#[test]
fn profile_of_what_does_not_turn() {
    insta::assert_snapshot!(said(&["profile", "simulated:flash-x25m"]));
}

#[test]
fn an_experiment_on_a_learned_drive_ends_as_on_the_drive_itself() {
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let path = folder.join("learned-st318437lw.toml").to_string_lossy().into_owned();
    said(&["profile", "simulated:st318437lw", "-o", &path]);
    let of = |drive: &str| {
        let (small, model) = (data("small.toml"), format!("drive.model={drive}"));
        let sets = ["--set", &model, "--set", "scheduler.policy=satf", "--set", "run.requests=20000"];
        let arguments: Vec<&str> = ["simulate", &small, "--format", "json"].into_iter().chain(sets).collect();
        let json: serde_json::Value = serde_json::from_str(&said(&arguments)).expect("it is JSON");
        let response = &json["runs"][0]["classes"]["readers"]["response_ms"];
        ["mean", "p99"].map(|figure| response[figure].as_f64().expect("a number"))
    };
    let (learned, real) = (of(&path), of("st318437lw"));
    for (figure, most) in [(0, 0.02), (1, 0.05)] {
        let off = learned[figure] / real[figure] - 1.0;
        assert!(off.abs() < most, "{learned:?} on what was learned, {real:?} on the drive");
    }
}

#[test]
fn drive_list() {
    let text = said(&["drive", "list"]);
    // Widths follow the longest name, and drives come and go: a few rows stand for all, their columns set apart by bars.
    let row =
        |line: &str| line.split("  ").map(str::trim).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" | ");
    let shown = ["seek ms", "st318437lw", "atlas10k ", "mimic-base ", "nl20", "mirror-atlas10k", "tape-lto5"];
    let rows: Vec<String> = text.lines().filter(|line| shown.iter().any(|word| line.contains(word))).map(row).collect();
    insta::assert_snapshot!(rows.join("\n"));
    let rows: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().next()).collect();
    for name in disk::catalogue::names().chain(disk::catalogue::others()) {
        assert_eq!(rows.iter().filter(|row| **row == name).count(), 1, "{name}");
    }
}

#[test]
fn drive_show() {
    insta::assert_snapshot!(said(&["drive", "show", "st318437lw"]));
}

#[test]
fn drive_show_tells_the_stages_of_buffered_writes() {
    let text = said(&["drive", "show", "ultrastar-he10"]);
    let row = text.lines().find(|line| line.starts_with(" buffered writes"));
    insta::assert_snapshot!(row.expect("they have a row"), @" buffered writes     after 16 MiB each 20 µs longer, one in each further 4 MiB 12.00 ms, until none came for 100.00 ms");
}

#[test]
fn every_drive_of_the_catalogue_has_a_sheet_of_a_page() {
    for name in disk::catalogue::names() {
        let text = said(&["drive", "show", name]);
        assert!(text.lines().count() < 70 && text.contains("seek, ms"), "{text}");
    }
}

#[test]
fn drive_show_of_what_is_not_a_disk() {
    // One of each kind.
    let mut kinds = Vec::new();
    let mut sheets = Vec::new();
    for name in disk::catalogue::others() {
        let disk::Model::Other(other) = disk::catalogue::model(name).expect("it is read") else { panic!("a disk") };
        let kind = std::mem::discriminant(&other.kind);
        if !kinds.contains(&kind) {
            kinds.push(kind);
            sheets.push(said(&["drive", "show", name]));
        }
    }
    insta::assert_snapshot!(sheets.join("\n"));
}

#[test]
fn trace_info() {
    insta::assert_snapshot!(said(&["trace", "info", TRACE]));
}

#[test]
fn trace_info_counts_the_same_for_programs() {
    let json: serde_json::Value =
        serde_json::from_str(&said(&["trace", "info", TRACE, "--format", "json", "--device", "7,3"])).expect("JSON");
    assert_eq!((&json["requests"], &json["reads"], &json["format"]), (&1697.into(), &901.into(), &"blkparse".into()));
    assert_eq!(json["devices"][0]["name"], "7,3");
}

#[test]
fn every_example_runs() {
    for entry in std::fs::read_dir(root().join("examples")).expect("the examples") {
        let path = entry.expect("a readable entry").path();
        if path.extension().is_some_and(|end| end == "toml") {
            let text = std::fs::read_to_string(&path).expect("text");
            // Of a fleet a few groups.
            let fewer = if text.contains("[fleet]") { &["--set", "fleet.disks=200"][..] } else { &[] };
            let output = run_in(&root(), &[&["simulate", &path.to_string_lossy()], fewer].concat());
            let told = String::from_utf8_lossy(&output.stderr);
            // Several disks are served, and not simulated.
            let is_refused = told.contains("several devices") && told.contains("mend: ");
            let has_devices = text.contains("[[device]]");
            assert!(if has_devices { is_refused } else { output.status.success() }, "{}: {told}", path.display());
        }
    }
}

#[test]
fn a_reader_who_goes_away_is_no_failure() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_halfturn"))
        .args(["drive", "show", "nl20"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let mut told = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut told).expect("UTF-8");
    assert!(child.wait().expect("it ends").success() && told.is_empty(), "{told}");
}
