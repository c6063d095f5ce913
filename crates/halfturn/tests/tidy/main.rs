//! Holds the house in order: one file a check, each proven to bite on a planted sample beside it.
//!
//! A check is a function of a [`Tree`] and returns [`Fault`]s: file, line, what is wrong, the mend. It knows
//! nothing of the crates it reads, so that it also runs on their text alone.

mod build;
mod determinism;
mod edges;
mod keys;
mod length;
mod lexer;
mod links;
mod modules;
mod text;
mod tomls;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// Hidden folders that belong to the project; others are of tools.
const HIDDEN: [&str; 2] = [".ci", ".github"];

/// Inputs that are wrong on purpose.
const BAD: &str = "tests/bad/";

/// The files of the project: path from the root, with `/`, and text; binary files have none.
pub struct Tree(BTreeMap<String, Option<String>>);

impl Tree {
    /// The project on disk.
    fn load() -> Tree {
        let mut tree = Tree(BTreeMap::new());
        tree.walk(&root(), "");
        assert!(tree.has("Cargo.toml"), "{} is not the root of the project", root().display());
        tree
    }

    fn walk(&mut self, folder: &Path, prefix: &str) {
        for entry in std::fs::read_dir(folder).expect("a readable folder") {
            let entry = entry.expect("a readable entry");
            let name = entry.file_name().to_string_lossy().into_owned();
            let kind = entry.file_type().expect("a file type");
            let path = format!("{prefix}{name}");
            if kind.is_dir() {
                let foreign = name.starts_with('.') && !HIDDEN.contains(&name.as_str());
                if !foreign && name != "target" {
                    self.walk(&entry.path(), &format!("{path}/"));
                }
            } else if kind.is_file() {
                // A file may vanish between the listing and the reading; then it is no part of the project.
                if let Ok(bytes) = std::fs::read(entry.path()) {
                    self.0.insert(path, String::from_utf8(bytes).ok());
                }
            }
        }
    }

    /// A planted tree.
    fn of(files: &[(&str, &str)]) -> Tree {
        Tree(files.iter().map(|(path, text)| ((*path).to_owned(), Some((*text).to_owned()))).collect())
    }

    /// Whether this file, or a folder of this name, is there.
    fn has(&self, path: &str) -> bool {
        path.is_empty()
            || self.0.contains_key(path)
            || self.paths().any(|file| file.strip_prefix(path).is_some_and(|rest| rest.starts_with('/')))
    }

    fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The text of a file; empty if it is not there or binary.
    fn text(&self, path: &str) -> &str {
        self.0.get(path).and_then(Option::as_deref).unwrap_or_default()
    }

    /// Text files whose name ends so.
    fn ending<'a>(&'a self, end: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.texts().filter(move |(path, _)| path.ends_with(end))
    }

    fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().filter_map(|(path, text)| Some((path.as_str(), text.as_deref()?)))
    }

    /// Rust files of the `src` folders.
    fn sources(&self) -> impl Iterator<Item = (&str, &str)> {
        self.ending(".rs").filter(|(path, _)| path.starts_with("crates/") && path.split('/').nth(2) == Some("src"))
    }
}

/// One thing that is wrong.
#[derive(Debug, PartialEq, Eq)]
pub struct Fault {
    file: String,
    line: usize,
    what: String,
    mend: String,
}

impl Fault {
    fn new(file: &str, line: usize, what: impl Into<String>, mend: impl Into<String>) -> Fault {
        Fault { file: file.into(), line, what: what.into(), mend: mend.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}\n  mend: {}", self.file, self.line, self.what, self.mend)
    }
}

/// The line of a byte offset, from 1.
fn line_of(text: &str, offset: usize) -> usize {
    1 + text.as_bytes()[..offset].iter().filter(|byte| **byte == b'\n').count()
}

/// The root of the workspace.
fn root() -> PathBuf {
    let here = std::env::var("CARGO_MANIFEST_DIR").expect("run by cargo");
    Path::new(&here).join("../..").canonicalize().expect("the workspace above this crate")
}

#[track_caller]
fn hold(faults: Vec<Fault>) {
    let shown: Vec<String> = faults.iter().map(Fault::to_string).collect();
    assert!(faults.is_empty(), "{} to mend\n\n{}\n", faults.len(), shown.join("\n"));
}

/// `file:line` of each fault: what the planted samples are checked by.
fn places(faults: &[Fault]) -> Vec<String> {
    faults.iter().map(|fault| format!("{}:{}", fault.file, fault.line)).collect()
}

#[test]
fn crates_use_only_what_is_under_them() {
    hold(edges::check(&edges::metadata(), &Tree::load()));
}

#[test]
fn the_first_command_builds_little() {
    hold(build::check(&build::built()));
}

#[test]
fn every_rust_file_is_declared() {
    hold(modules::dead(&Tree::load()));
}

#[test]
fn no_name_tells_of_an_earlier_version() {
    hold(modules::leftovers(&Tree::load()));
}

#[test]
fn functions_are_short() {
    hold(length::functions(&Tree::load()));
}

#[test]
fn files_are_short() {
    hold(length::files(&Tree::load()));
}

#[test]
fn keys_are_read_by_their_declaration() {
    hold(keys::check(&Tree::load()));
}

#[test]
fn links_lead_somewhere() {
    hold(links::check(&Tree::load()));
}

#[test]
fn shipped_toml_parses() {
    hold(tomls::check(&Tree::load()));
}

#[test]
fn no_path_of_one_machine() {
    hold(text::machine_paths(&Tree::load()));
}

#[test]
fn no_stray_whitespace() {
    hold(text::whitespace(&Tree::load()));
}

#[test]
fn nothing_is_left_to_do_in_src() {
    hold(text::left_to_do(&Tree::load()));
}

#[test]
fn no_syntax_is_newer_than_the_compiler_that_is_promised_to_do() {
    hold(text::newer_guards(&Tree::load()));
}

#[test]
fn nothing_below_the_command_line_reads_a_clock_or_an_unordered_map() {
    hold(determinism::check(&Tree::load(), &determinism::EXCEPTIONS));
}

#[test]
fn a_fault_shows_file_line_and_mend() {
    let fault = Fault::new("a.rs", 3, "wrong", "do this");
    assert_eq!(fault.to_string(), "a.rs:3: wrong\n  mend: do this");
}
