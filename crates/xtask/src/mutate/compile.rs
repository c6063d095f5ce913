//! Builds the copy. What does not compile is taken out, until it does.

use super::copy::Copy;
use super::plant::{Planted, plant};
use super::site::Site;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A compiled test program of a crate.
#[derive(Debug, Clone)]
pub struct Binary {
    pub krate: String,
    /// The crate's name for its unit tests, else that of the file or folder in `tests`.
    pub target: String,
    pub path: PathBuf,
}

/// What is built, and where.
pub struct Workshop<'a> {
    pub copy: &'a Copy,
    /// Where cargo puts what it builds.
    pub target: PathBuf,
    pub jobs: usize,
}

/// What is wrong at a place of the copy.
struct Trouble {
    file: String,
    place: Range<usize>,
    primary: bool,
    what: String,
}

impl Workshop<'_> {
    /// Plants these and builds the tests of these crates; returns the test programs, and which mutants were left out.
    pub fn build(
        &self,
        mutants: &BTreeMap<u32, Site>,
        tested: &[String],
    ) -> Result<(Vec<Binary>, BTreeSet<u32>), String> {
        let crates: BTreeSet<String> = mutants.values().map(|site| site.krate().to_owned()).collect();
        self.copy.wire(&crates)?;
        let mut out = BTreeSet::new();
        let mut planted = self.plant(mutants, &out, None)?;
        loop {
            let (troubles, binaries) = self.cargo(tested)?;
            if troubles.is_empty() {
                return Ok((binaries, out));
            }
            let bad: BTreeSet<u32> = blame(&troubles, &planted, mutants).difference(&out).copied().collect();
            if bad.is_empty() {
                return Err(format!("the copy does not compile:\n{}", troubles[0].what));
            }
            let files: BTreeSet<&str> = bad.iter().map(|number| &*mutants[number].file).collect();
            out.extend(&bad);
            eprintln!("  {} of {} mutants do not compile", out.len(), mutants.len());
            planted.extend(self.plant(mutants, &out, Some(&files))?);
        }
    }

    /// Plants all but those left out, in these files or in all.
    fn plant(
        &self,
        mutants: &BTreeMap<u32, Site>,
        out: &BTreeSet<u32>,
        files: Option<&BTreeSet<&str>>,
    ) -> Result<BTreeMap<String, Planted>, String> {
        let mut of_file: BTreeMap<&str, Vec<(u32, &Site)>> = BTreeMap::new();
        for (&number, site) in mutants {
            let there = of_file.entry(&site.file).or_default();
            if !out.contains(&number) {
                there.push((number, site));
            }
        }
        let mut planted = BTreeMap::new();
        for (file, sites) in of_file.into_iter().filter(|(file, _)| files.is_none_or(|files| files.contains(file))) {
            planted.insert(file.to_owned(), plant(&self.copy.original(file)?, &sites));
        }
        self.copy.plant(&planted)?;
        Ok(planted)
    }

    /// Builds the tests, and as much as can be where something is wrong: what compiles once is not built again.
    fn cargo(&self, crates: &[String]) -> Result<(Vec<Trouble>, Vec<Binary>), String> {
        let mut command = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()));
        command.args(["build", "--tests", "--keep-going", "--message-format=json", "--quiet"]);
        command.args(["--jobs", &self.jobs.to_string()]);
        command.args(crates.iter().flat_map(|name| ["-p".into(), package(name)]));
        // What cargo tells this program of itself; not what it was asked for, by which the workspace is built, too.
        const ASKED: [&str; 4] = ["CARGO_HOME", "CARGO_NET", "CARGO_PROFILE", "CARGO_INCREMENTAL"];
        for variable in std::env::vars().map(|(name, _)| name).filter(|name| name.starts_with("CARGO_")) {
            if !ASKED.iter().any(|asked| variable.starts_with(asked)) {
                command.env_remove(variable);
            }
        }
        command.env("CARGO_TARGET_DIR", &self.target);
        let out = command
            .current_dir(&self.copy.root)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .output()
            .map_err(|error| format!("cargo does not run: {error}"))?;
        let (mut troubles, mut binaries) = (Vec::new(), Vec::new());
        for line in String::from_utf8_lossy(&out.stdout).lines() {
            let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
            match message["reason"].as_str() {
                Some("compiler-message") => troubles.extend(read_troubles(&message["message"])),
                Some("compiler-artifact") => binaries.extend(self.binary(&message)),
                _ => {}
            }
        }
        if !out.status.success() && troubles.is_empty() {
            return Err(format!("the copy does not build:\n{}", String::from_utf8_lossy(&out.stderr)));
        }
        Ok((troubles, binaries))
    }

    fn binary(&self, artifact: &Value) -> Option<Binary> {
        let path = artifact["executable"].as_str()?;
        let manifest = Path::new(artifact["manifest_path"].as_str()?);
        let krate = manifest.parent()?.file_name()?.to_str()?.to_owned();
        let tested = artifact["profile"]["test"] == true;
        tested.then(|| Binary {
            krate,
            target: artifact["target"]["name"].as_str().unwrap_or_default().into(),
            path: path.into(),
        })
    }
}

/// The name by which cargo knows the crate of this folder.
fn package(folder: &str) -> String {
    match folder {
        "halfturn" | "xtask" => folder.into(),
        _ => format!("halfturn-{folder}"),
    }
}

/// The places of one error.
fn read_troubles(message: &Value) -> Vec<Trouble> {
    if message["level"] != "error" {
        return Vec::new();
    }
    let what = message["rendered"].as_str().unwrap_or_default();
    let number = |span: &Value, key: &str| span[key].as_u64().unwrap_or(0) as usize;
    let trouble = |span: &Value| Trouble {
        file: span["file_name"].as_str().unwrap_or_default().into(),
        place: number(span, "byte_start")..number(span, "byte_end"),
        primary: span["is_primary"] == true,
        what: what.into(),
    };
    message["spans"].as_array().into_iter().flatten().map(trouble).collect()
}

/// Who is to blame: the innermost mutant around a place; where there is none, all of the nearest function's or file's.
fn blame(troubles: &[Trouble], planted: &BTreeMap<String, Planted>, mutants: &BTreeMap<u32, Site>) -> BTreeSet<u32> {
    let mut bad = BTreeSet::new();
    let mut errors: BTreeMap<&str, Vec<&Trouble>> = BTreeMap::new();
    for trouble in troubles {
        errors.entry(&trouble.what).or_default().push(trouble);
    }
    for places in errors.values() {
        let innermost = |primary: bool| {
            let chosen = places.iter().filter(move |trouble| trouble.primary == primary);
            chosen
                .filter_map(|trouble| planted.get(&trouble.file)?.around(&trouble.place).first().copied())
                .collect::<Vec<_>>()
        };
        let mut found = innermost(true);
        if found.is_empty() {
            found = innermost(false);
        }
        if found.is_empty() {
            found = places.iter().flat_map(|trouble| near(trouble, planted, mutants)).collect();
        }
        bad.extend(found);
    }
    bad
}

/// The mutants of the function whose mutant is nearest to a place: an error may show where a value is used, not where it is made.
fn near(trouble: &Trouble, planted: &BTreeMap<String, Planted>, mutants: &BTreeMap<u32, Site>) -> Vec<u32> {
    let Some(file) = planted.get(&trouble.file) else { return Vec::new() };
    let distance =
        |range: &Range<usize>| range.start.abs_diff(trouble.place.start).min(range.end.abs_diff(trouble.place.start));
    let nearest = file.places.iter().min_by_key(|(_, range)| distance(range));
    let Some(function) = nearest.map(|(number, _)| &mutants[number].function) else { return Vec::new() };
    file.places.iter().map(|(number, _)| *number).filter(|number| mutants[number].function == *function).collect()
}
