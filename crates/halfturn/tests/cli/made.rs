//! A drive made of a data sheet is written, told of, and simulated at once.

use crate::{root, run_in, said};

#[test]
fn a_drive_of_a_data_sheet_is_simulated_at_once() {
    let folder = std::env::temp_dir().join(format!("halfturn-made-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("mine.toml").display().to_string();
    let sheet = ["--rpm", "7200", "--capacity", "6TB", "--outer", "255", "--seek", "7.4", "--platters", "4"];
    let text = said(&[&["drive", "new"], &sheet[..]].concat());
    assert!(text.contains("heads = 8\n") && text.contains("mean_seek_ms = 7.4\n"), "{text}");
    let report = said(&[&["drive", "new", "-o", &file], &sheet[..]].concat());
    assert!(report.contains("settling before a random write") && report.contains("1.48"), "{report}");
    let row = |what: &str| report.lines().find(|line| line.contains(what)).unwrap_or_else(|| panic!("{report}"));
    assert!(row("outermost, MB/s").contains(" 255   25"), "{report}");
    assert_eq!(std::fs::read_to_string(&file).expect("the file"), text);
    let runs = said(&["simulate", "examples/chunk.toml", "--drive", &file, "--set", "run.replications=1"]);
    assert!(runs.contains("6.0 TB at 7200 rpm"), "{runs}");
    std::fs::remove_dir_all(&folder).expect("the folder is there");
}

/// A profile is written only if it can be read back, and predicts the drive; else the exit code is 1.
#[test]
fn a_profile_that_cannot_be_believed_is_not_written() {
    let folder = std::env::temp_dir().join(format!("halfturn-verdict-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let base = std::fs::read_to_string(root().join("crates/disk/catalogue/mimic-base.toml")).expect("a drive");
    let wandering = format!("{base}\n[truth]\nrpm_wander = 0.0003\nwander_period = \"60s\"\n");
    std::fs::write(folder.join("wandering.toml"), wandering).expect("it can be written");
    for (device, why) in [("simulated:wandering.toml", "Refused: "), ("simulated:flash-x25m", "no rotation found")] {
        let output = run_in(&folder, &["profile", device, "--quick", "-o", "found.toml"]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(1), "{device}: {text}");
        assert!(text.contains(why) && !text.contains("Written"), "{text}");
        assert!(!folder.join("found.toml").exists(), "{device}");
    }
    std::fs::remove_dir_all(&folder).expect("the folder is there");
}

/// What was learned of a drive, written for DiskSim and read back, reads as the drive does.
#[test]
fn a_profile_is_written_for_disksim_and_simulated_from_there() {
    let folder = std::env::temp_dir().join(format!("halfturn-disksim-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let learn = ["profile", "simulated:mimic-base", "--quick", "-o", "learned.toml", "--for", "disksim"];
    assert!(run_in(&folder, &learn).status.success());
    let mean = |drive: &str, at: &str| {
        let experiment = format!(
            "[drive]\nmodel = \"{drive}\"\n[scheduler]\npolicy = \"fcfs\"\n[[workload]]\nname = \"reads\"\n\
             kind = \"closed\"\ndepth = 1\nsize = \"16KiB\"\nat = \"{at}\"\n[run]\nrequests = 5000\n"
        );
        std::fs::write(folder.join("a.toml"), experiment).expect("it can be written");
        let output = run_in(&folder, &["simulate", "a.toml", "--format", "json"]);
        let run: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        run["runs"][0]["classes"]["reads"]["response_ms"]["mean"].as_f64().expect("a mean")
    };
    for at in ["random", "sequential"] {
        let [ours, theirs] = ["learned.toml", "learned.parv"].map(|drive| mean(drive, at));
        assert!((theirs / ours - 1.0).abs() < 0.03, "{at}: {ours} and {theirs} ms");
    }
    let nowhere = run_in(&folder, &["drive", "show", "learned.toml", "--for", "disksim"]);
    let told = String::from_utf8_lossy(&nowhere.stderr).into_owned();
    assert!(nowhere.status.code() == Some(2) && told.contains("-o FILE.parv"), "{told}");
    let over = run_in(&folder, &["drive", "show", "learned.parv", "--for", "disksim", "-o", "learned.parv"]);
    assert!(!over.status.success(), "it reads what it would write");
    std::fs::remove_dir_all(&folder).expect("the folder is there");
}
