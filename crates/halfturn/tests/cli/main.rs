//! The command line as its users meet it: the real program, its output, its exit codes.

mod advise;
mod bad;
#[cfg(feature = "linux")]
mod board;
mod captured;
mod carried;
mod convert;
mod fleet;
mod guide;
mod kept;
mod made;
mod manual;
mod output;
mod pages;
mod readme;
mod reference;
mod reproduce;
mod requests;
mod scan;
mod settings;
mod steady;
mod sweep;
mod worlds;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The root of the workspace, where the program is run unless a test says otherwise.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace above this crate")
}

/// Runs the program in a folder.
fn run_in(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_halfturn"));
    command.args(arguments).current_dir(folder).env_remove("COLUMNS").env_remove("LINES");
    command.output().expect("the program starts")
}

/// What the program says on stdout, when all is well.
#[track_caller]
fn said(arguments: &[&str]) -> String {
    let output = run_in(&root(), arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stderr.is_empty(), "{arguments:?}: {} {stderr}", output.status);
    String::from_utf8(output.stdout).expect("it writes UTF-8")
}

/// The path of a file beside these tests, from the root.
fn data(name: &str) -> String {
    format!("crates/halfturn/tests/cli/data/{name}")
}
