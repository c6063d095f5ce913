//! Programs of others: whether they are there, and what they say.

use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::str::FromStr;

/// Seconds a program may take.
const MOST_SECONDS: u32 = 60;

/// Says loudly that something was not tested.
pub fn skip(why: &str) {
    say(format_args!("\nSKIPPED {}: {why}", std::thread::current().name().unwrap_or_default()));
}

/// A line for whoever looks on; tests that pass show nothing they print in the usual way.
pub fn say(what: impl Display) {
    let _ = writeln!(std::io::stderr(), "{what}");
}

/// A setting from outside.
pub fn setting<T: FromStr>(name: &str, usual: T) -> T {
    let parse = |text: String| text.parse().unwrap_or_else(|_| panic!("{name} cannot be '{text}'"));
    std::env::var(name).map_or(usual, parse)
}

/// Whether all of these programs are there, each with the Debian package it is in.
pub fn have(programs: &[(&str, &str)]) -> bool {
    let absent: Vec<&str> = programs.iter().filter(|(name, _)| find(name).is_none()).map(|(_, of)| *of).collect();
    absent.is_empty() || lacking(&absent.join(" "))
}

/// Whether Python has the module; it is the system's Python that Debian's packages are for.
pub fn have_python(module: &str, package: &str) -> bool {
    let there = Command::new(PYTHON).args(["-c", &format!("import {module}")]).output();
    there.is_ok_and(|output| output.status.success()) || lacking(package)
}

/// The system's Python.
pub const PYTHON: &str = "/usr/bin/python3";

fn lacking(packages: &str) -> bool {
    let mend = format!("apt-get install --no-install-recommends {packages}, or run .ci/packages");
    assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "clients are not installed\n  mend: {mend}");
    skip(&mend);
    false
}

pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    folders.map(|folder| folder.join(name)).find(|program| program.is_file())
}

/// What a program came to, within the time it may take.
pub fn output(folder: &Path, program: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new("timeout");
    command.args(["--signal=KILL", &MOST_SECONDS.to_string()]).arg(find(program).unwrap_or_else(|| program.into()));
    command.args(arguments).current_dir(folder).env("LC_ALL", "C");
    command.output().unwrap_or_else(|error| panic!("{program}: {error}"))
}

/// What a program says that succeeds.
#[track_caller]
pub fn run(folder: &Path, program: &str, arguments: &[&str]) -> String {
    let output = output(folder, program, arguments);
    let [said, complained] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert!(output.status.success(), "{program} {}: {}\n{said}\n{complained}", arguments.join(" "), output.status);
    said
}
