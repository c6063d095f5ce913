//! Counts what makes the code hard to read: names that mean two things, arguments nobody can read at the call, methods that are
//! no verb, comments that say nothing, numbers without a name. `docs/glossary.md` has the words to use instead.

mod count;
mod participle;

use count::{Finding, FindingKind};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

pub const HELP: &str = "\
cargo xtask words [--list KIND] [--in TEXT]
  Counts names and comments that are hard to read, by crate

  --list KIND       Show each place instead: types, bools, participles, docs or floats
  --in TEXT         Only places with this text in their path
";

/// What was counted in the workspace.
struct WordCounts {
    places: Vec<Finding>,
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
            ("--list", Some(kind)) => list = Some(FindingKind::of_name(kind).ok_or_else(|| HELP.to_owned())?),
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

fn show(counted: &WordCounts, kind: FindingKind, within: &str) {
    let mut places: Vec<&Finding> = counted.places.iter().filter(|place| place.kind == kind).collect();
    if kind == FindingKind::Type {
        let shared = shared_names(&counted.places);
        places.retain(|place| shared.contains(&*place.name));
        places.sort_by(|a, b| (&a.name, &a.path).cmp(&(&b.name, &b.path)));
    }
    let shown = places.into_iter().filter(|place| place.path.contains(within));
    let lines: String = shown.map(|place| format!("{}:{}: {}\n", place.path, place.line, place.name)).collect();
    // Who reads only the first of them is no failure.
    _ = io::stdout().write_all(lines.as_bytes());
}

fn table(counted: &WordCounts) {
    println!(
        "{:12}{:>8}{:>8}{:>14}{:>8}{:>8}{:>16}",
        "crate", "types", "bools", "participles", "docs", "floats", "comments/100"
    );
    let total = counted.bodies.values().fold((0, 0), |sum, body| (sum.0 + body.0, sum.1 + body.1));
    for (name, body) in counted.bodies.iter().map(|(name, body)| (&**name, *body)).chain([("all", total)]) {
        let of = |kind| number(&counted.places, kind, (name != "all").then_some(name));
        println!(
            "{name:12}{:>8}{:>8}{:>14}{:>8}{:>8}{:>16.1}",
            of(FindingKind::Type),
            of(FindingKind::Bool),
            of(FindingKind::Participle),
            of(FindingKind::Doc),
            of(FindingKind::Float),
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
fn number(places: &[Finding], kind: FindingKind, of: Option<&str>) -> usize {
    let here = |place: &&Finding| place.kind == kind && of.is_none_or(|of| crate_of(&place.path) == of);
    if kind == FindingKind::Type {
        let shared = shared_names(places);
        let names: BTreeSet<&str> = places.iter().filter(here).map(|place| &*place.name).collect();
        return names.intersection(&shared).count();
    }
    places.iter().filter(here).count()
}

/// Names that types of two files share.
fn shared_names(places: &[Finding]) -> BTreeSet<&str> {
    let mut files: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for place in places.iter().filter(|place| place.kind == FindingKind::Type) {
        files.entry(&place.name).or_default().insert(&place.path);
    }
    files.into_iter().filter(|(_, files)| files.len() > 1).map(|(name, _)| name).collect()
}

fn crate_of(path: &str) -> &str {
    path.split('/').nth(1).unwrap_or_default()
}

fn count(root: &Path) -> Result<WordCounts, String> {
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
    let mut counted = WordCounts { places: Vec::new(), bodies: BTreeMap::new() };
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The most there may be of each kind: lower it whenever fewer are left, never raise it.
    const MOST: [(FindingKind, usize); 5] = [
        (FindingKind::Type, 54),
        (FindingKind::Bool, 34),
        (FindingKind::Participle, 0),
        (FindingKind::Doc, 0),
        (FindingKind::Float, 0),
    ];

    #[test]
    fn names_and_comments_are_no_harder_to_read_than_they_were() {
        let counted = count(&crate::mutate::root()).expect("the sources parse");
        for (kind, most) in MOST {
            let now = number(&counted.places, kind, None);
            assert!(now <= most, "{kind:?}: {now}, at most {most}\n  mend: cargo xtask words --list KIND shows them");
        }
    }

    #[test]
    fn each_kind_is_found_in_a_planted_sample_and_tests_are_left_out() {
        let text = "/// Where.\nstruct A;\n/// Whether the arm moves now.\nfn came(now: bool) {\n    // Why.\n    let a = 0.37;\n\
                    let b = 0.37 + 1.0;\n}\nconst C: f64 = 0.37;\n#[cfg(test)]\nmod tests {\n    fn left(now: bool) {}\n}\n";
        let file = syn::parse_file(text).expect("Rust");
        let (places, lines, comments) = count::file("crates/profile/src/a.rs", text, &file);
        let found: Vec<_> = places.iter().map(|place| (place.kind, place.line)).collect();
        let wanted = [
            (FindingKind::Doc, 1),
            (FindingKind::Type, 2),
            (FindingKind::Bool, 4),
            (FindingKind::Participle, 4),
            (FindingKind::Float, 7),
        ];
        assert_eq!((found, lines, comments), (wanted.to_vec(), 3, 1));
    }

    #[test]
    fn a_name_is_shared_only_by_two_files() {
        let text = "struct A;\nmod m { struct A; }\nstruct B;\n";
        let file = syn::parse_file(text).expect("Rust");
        let mut places = count::file("crates/a/src/a.rs", text, &file).0;
        assert!(shared_names(&places).is_empty());
        let other = syn::parse_file("enum B {}").expect("Rust");
        places.extend(count::file("crates/b/src/b.rs", "enum B {}", &other).0);
        assert_eq!(shared_names(&places).into_iter().collect::<Vec<_>>(), ["B"]);
    }
}
