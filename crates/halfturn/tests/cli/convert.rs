//! `trace convert`: what it writes reads back, and what was there stays there when it fails.

use crate::{root, run_in, said};
use std::fs;
use std::path::PathBuf;

const TRACE: &str = "examples/traces/fio-mixed.blkparse.txt.gz";

/// A new folder for one test.
fn folder(test: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("convert-{test}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder for tests");
    folder
}

fn info(file: &str) -> serde_json::Value {
    serde_json::from_str(&said(&["trace", "info", file, "--format", "json"])).expect("JSON")
}

#[test]
fn a_converted_trace_asks_for_the_same() {
    let folder = folder("same");
    let before = info(TRACE);
    for (name, flushes) in [("a.iolog", 1), ("b.trace", 0)] {
        let out = folder.join(name).display().to_string();
        let text = said(&["trace", "convert", TRACE, &out]);
        let after = info(&out);
        assert_eq!((&after["flushes"], &before["flushes"]), (&flushes.into(), &1.into()), "{name}");
        for figure in ["reads", "writes", "read_bytes", "write_bytes", "end_block", "common_sizes", "distances"] {
            assert_eq!(after[figure], before[figure], "{name}: {figure}");
        }
        insta::assert_snapshot!(format!("convert_to_{name}"), text.replace(&out, name));
    }
    // Nothing else is left behind.
    assert_eq!(fs::read_dir(folder).expect("is there").count(), 2);
}

#[test]
fn what_was_there_stays_when_the_trace_is_damaged() {
    let folder = folder("damaged");
    fs::write(folder.join("in.trace"), "1.0 0 8 8 1\n2.0 0 8 8\n").expect("can be written");
    fs::write(folder.join("out.iolog"), "precious").expect("can be written");
    let output = run_in(&folder, &["trace", "convert", "in.trace", "out.iolog"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty() && told.starts_with("error: in.trace:2: 4 columns"), "{told}");
    assert_eq!(fs::read_to_string(folder.join("out.iolog")).expect("is there"), "precious");
    assert_eq!(fs::read_dir(&folder).expect("is there").count(), 2);
    fs::write(folder.join("in.trace"), "1.0 0 8 8 1\n").expect("can be written");
    assert!(run_in(&folder, &["trace", "convert", "in.trace", "out.iolog"]).status.success());
    assert!(fs::read_to_string(folder.join("out.iolog")).expect("is there").starts_with("fio version 3"));
}

#[test]
fn a_trace_with_nothing_to_write_is_no_trace() {
    let folder = folder("nothing");
    fs::write(folder.join("in.csv"), "time,op,offset,size\n1,flush,0,0\n").expect("can be written");
    let output = run_in(&folder, &["trace", "convert", "in.csv", "out.trace"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && told.contains("no request in it to write"), "{told}");
    assert_eq!(fs::read_dir(&folder).expect("is there").count(), 1);
}

#[test]
fn parquet_is_written_or_the_build_that_can_is_named() {
    let out = folder("parquet").join("a.parquet").display().to_string();
    let output = run_in(&root(), &["trace", "convert", TRACE, &out]);
    if cfg!(feature = "parquet") {
        assert!(output.status.success() && fs::read(&out).expect("is there").starts_with(b"PAR1"));
    } else {
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && told.contains("--features parquet"), "{told}");
        assert!(!fs::exists(&out).expect("can be told"));
    }
}
