//! Counts what makes the code hard to read: names that mean two things, arguments nobody can read at the call, methods that are
//! no verb, comments that say nothing, numbers without a name. `docs/glossary.md` has the words to use instead.

mod count;
mod participle;

use count::{Kind, Place};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

pub const HELP: &str = "\
cargo xtask words [--list KIND] [--in TEXT]
  Counts names and comments that are hard to read, by crate

  --list KIND       Show each place instead: types, bools, participles, docs or floats
  --in TEXT         Only places with this text in their path
";

/// What was counted in the workspace.
struct Counted {
    places: Vec<Place>,
    /// Lines of function bodies, and lines of comments in them, by crate.
    bodies: BTreeMap<String, (usize, usize)>,
}

/// Prints the table, or each place of one kind.
///
/// # Errors
/// When an option is unknown, or a file cannot be read or parsed.
pub fn run(root: &Path, arguments: &[String]) -> Result<bool, String> {
    let (mut list, mut within) = (None, String::new());
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match (&**argument, rest.next()) {
            ("--list", Some(kind)) => list = Some(Kind::named(kind).ok_or_else(|| HELP.to_owned())?),
            ("--in", Some(text)) => within.clone_from(text),
            _ => return Err(HELP.into()),
        }
    }
    let counted = count(root)?;
    match list {
        Some(kind) => show(&counted, kind, &within),
        None => table(&counted),
    }
    Ok(true)
}

fn show(counted: &Counted, kind: Kind, within: &str) {
    let mut places: Vec<&Place> = counted.places.iter().filter(|place| place.kind == kind).collect();
    if kind == Kind::Type {
        let shared = shared(&counted.places);
        places.retain(|place| shared.contains(&*place.name));
        places.sort_by(|a, b| (&a.name, &a.path).cmp(&(&b.name, &b.path)));
    }
    for place in places.into_iter().filter(|place| place.path.contains(within)) {
        println!("{}:{}: {}", place.path, place.line, place.name);
    }
}

fn table(counted: &Counted) {
    println!(
        "{:12}{:>8}{:>8}{:>14}{:>8}{:>8}{:>16}",
        "crate", "types", "bools", "participles", "docs", "floats", "comments/100"
    );
    let total = counted.bodies.values().fold((0, 0), |sum, body| (sum.0 + body.0, sum.1 + body.1));
    for (name, body) in counted.bodies.iter().map(|(name, body)| (&**name, *body)).chain([("all", total)]) {
        let of = |kind| number(&counted.places, kind, (name != "all").then_some(name));
        println!(
            "{name:12}{:>8}{:>8}{:>14}{:>8}{:>8}{:>16.1}",
            of(Kind::Type),
            of(Kind::Bool),
            of(Kind::Participle),
            of(Kind::Doc),
            of(Kind::Float),
            100.0 * body.1 as f64 / body.0.max(1) as f64
        );
    }
    println!(
        "\ntypes: names that two or more files give to a type (of a crate: those it has a part in)\n\
         bools: functions that take a bare bool\n\
         participles: functions named by a participle alone\n\
         docs: doc comments of three words or fewer\n\
         floats: float literals in estimators without a name, and without a reason on their line or the one above\n\
         comments/100: lines of comments per 100 lines of function bodies"
    );
}

/// How many of a kind there are in a crate, or in all.
fn number(places: &[Place], kind: Kind, of: Option<&str>) -> usize {
    let here = |place: &&Place| place.kind == kind && of.is_none_or(|of| crate_of(&place.path) == of);
    if kind == Kind::Type {
        let shared = shared(places);
        let names: BTreeSet<&str> = places.iter().filter(here).map(|place| &*place.name).collect();
        return names.intersection(&shared).count();
    }
    places.iter().filter(here).count()
}

/// Names that types of two files share.
fn shared(places: &[Place]) -> BTreeSet<&str> {
    let mut files: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for place in places.iter().filter(|place| place.kind == Kind::Type) {
        files.entry(&place.name).or_default().insert(&place.path);
    }
    files.into_iter().filter(|(_, files)| files.len() > 1).map(|(name, _)| name).collect()
}

fn crate_of(path: &str) -> &str {
    path.split('/').nth(1).unwrap_or_default()
}

fn count(root: &Path) -> Result<Counted, String> {
    let mut files = Vec::new();
    for package in folder(&root.join("crates"))? {
        sources(&package.join("src"), &mut files)?;
    }
    let mut read = BTreeMap::new();
    let mut tests = BTreeSet::new();
    for path in files {
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = fs::read_to_string(&path).map_err(|error| failed(&error))?;
        let file = syn::parse_file(&text).map_err(|error| failed(&error))?;
        tests.extend(count::tests_of(&path, &file));
        read.insert(path, (text, file));
    }
    let mut counted = Counted { places: Vec::new(), bodies: BTreeMap::new() };
    for (path, (text, file)) in &read {
        if tests.iter().any(|test| path.starts_with(test) || *path == test.with_extension("rs")) {
            continue;
        }
        let path = path.strip_prefix(root).unwrap_or(path).to_string_lossy();
        let (places, lines, comments) = count::file(&path, text, file);
        counted.places.extend(places);
        let body = counted.bodies.entry(crate_of(&path).to_owned()).or_default();
        *body = (body.0 + lines, body.1 + comments);
    }
    Ok(counted)
}

fn folder(path: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    Ok(paths)
}

fn sources(path: &Path, into: &mut Vec<PathBuf>) -> Result<(), String> {
    for path in folder(path)? {
        match path.is_dir() {
            true => sources(&path, into)?,
            false if path.extension().is_some_and(|end| end == "rs") => into.push(path),
            false => {}
        }
    }
    Ok(())
}
