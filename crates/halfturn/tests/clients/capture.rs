//! A command recorded by the kernel's tracer, told of, and run again above another drive.

use crate::tool::{have, output, run, skip};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

const PROGRAMS: [(&str, &str); 3] = [("unshare", "util-linux"), ("mount", "mount"), ("dd", "coreutils")];

/// In a mount namespace of its own: nothing stays mounted.
const ALONE: [&str; 5] = ["--mount", "--propagation", "private", "sh", "-c"];
const MOUNT: &str = "mount -t tracefs tracefs /sys/kernel/tracing";
const PROBE: &str = "cd /sys/kernel/tracing/instances && mkdir halfturn-probe-$$ && rmdir halfturn-probe-$$";

/// Writes and reads past the page cache, so that somebody waits for the disk.
const COMMAND: &str = "dd if=/dev/zero of=file bs=64k count=64 conv=fsync; dd if=file of=/dev/null bs=64k iflag=direct";

const EXPERIMENT: &str = "[drive]\nmodel = \"nl20\"\n[scheduler]\npolicy = \"priority-2\"\n[[workload]]\nname = \"it\"\n\
                          kind = \"process-flow\"\nfile = \"it.pflow\"\nfit = \"compact\"\n";

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_command_is_recorded_without_loss_and_runs_again_above_another_drive() {
    if !have(&PROGRAMS) {
        return;
    }
    let folder = Folder(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("capture-{}", std::process::id())));
    fs::create_dir_all(&folder.0).expect("a folder");
    if ["tmpfs", "ramfs"].contains(&run(&folder.0, "stat", &["-f", "-c", "%T", "."]).trim()) {
        return skip("the folder of the tests is on no disk");
    }
    let alone = |script: &str| output(&folder.0, "unshare", &[&ALONE[..], &[script]].concat());
    if !alone(&format!("{MOUNT} && {PROBE}")).status.success() {
        return skip("needs root and a kernel that lets it mount tracefs and make a trace instance");
    }
    let halfturn = env!("CARGO_BIN_EXE_halfturn");
    let script = format!("{MOUNT} && exec '{halfturn}' trace capture --process-flow -o it.pflow -- sh -c '{COMMAND}'");
    let captured = alone(&script);
    let said = String::from_utf8_lossy(&captured.stdout);
    assert!(captured.status.success(), "{said}{}", String::from_utf8_lossy(&captured.stderr));
    assert!(said.contains("none lost") && said.contains("dd if=/dev/zero"), "{said}");

    let json = |arguments: &[&str]| -> Value {
        let text = run(&folder.0, halfturn, &[arguments, &["--format", "json"]].concat());
        serde_json::from_str(&text).expect("it is JSON")
    };
    let told = json(&["trace", "info", "it.pflow"]);
    assert_eq!((told["format"].as_str(), told["lost_events"].as_u64()), (Some("ftrace"), Some(0)));
    let copies = |all: &Value| all.as_array().expect("processes").iter().filter(|one| is_copy(one)).count();
    assert!(copies(&told["processes"]) >= 2, "{told}");
    let devices = told["devices"].as_array().expect("devices");
    let critical: u64 = devices.iter().filter_map(|device| device["critical"].as_u64()).sum();
    assert!(critical > 0, "somebody waited for the disk: {told}");
    fs::write(folder.0.join("it.toml"), EXPERIMENT).expect("there is room");
    let it = &json(&["simulate", "it.toml"])["runs"][0];
    assert!(copies(&it["system"]["processes"]) >= 2, "{it}");
    let times = it["system"]["processes"].as_array().expect("processes").iter().filter(|one| is_copy(one));
    assert!(times.map(|one| one["waits"].as_f64().expect("a count")).sum::<f64>() > 0.0, "{it}");
    assert!(it["system"]["execution_ms"].as_f64().expect("a time") > 0.0 && it["requests"].as_u64() > Some(0));
}

/// `dd`, or `dd-PID`.
fn is_copy(process: &Value) -> bool {
    process["name"].as_str().is_some_and(|name| name == "dd" || name.starts_with("dd-"))
}
