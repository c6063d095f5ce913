//! What results rest on: the program, and the contents of the files that an experiment names; and the experiment as a file that says the
//! same wherever it is moved.

use crate::experiment::{self, Case, Held, Live, changeable, tables};
use crate::workload::manuals;
use block::BadInput;
use config::{About, Document, NamedBy};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The program that computed something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Program {
    /// The version of it.
    pub version: &'static str,
    /// The commit that it was built from, where whoever built it said so: by `HALFTURN_COMMIT` in the environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<&'static str>,
}

impl Default for Program {
    fn default() -> Program {
        Program { version: env!("CARGO_PKG_VERSION"), commit: option_env!("HALFTURN_COMMIT") }
    }
}

/// Something that was read: a drive file, a trace, a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InputOrigin {
    /// The name of the file, without its folder; of a drive of the catalogue, its name there.
    pub name: String,
    /// How many bytes it has.
    pub bytes: u64,
    /// The SHA-256 of its contents, in hexadecimal.
    pub sha256: String,
    /// Where it is on this machine; nowhere, if it ships with the program.
    #[serde(skip)]
    pub path: Option<PathBuf>,
}

/// All that these cases read, each once, in the order in which they name it.
#[must_use]
pub fn origins(cases: &[Case]) -> Vec<InputOrigin> {
    let (mut reader, mut all) = (OriginReader::default(), Vec::new());
    for origin in cases.iter().flat_map(|case| reader.read(case)) {
        if !all.contains(&origin) {
            all.push(origin);
        }
    }
    all
}

/// Reads what cases name; a file that several name once.
#[derive(Default)]
pub struct OriginReader {
    files: BTreeMap<PathBuf, Option<InputOrigin>>,
    /// Drives of the catalogue, by their names.
    shipped: BTreeMap<String, Option<InputOrigin>>,
}

impl OriginReader {
    /// What this case reads. What is no ordinary file, and what cannot be read, is left for the run to complain of.
    pub fn read(&mut self, case: &Case) -> Vec<InputOrigin> {
        let mut all: Vec<InputOrigin> = Vec::new();
        for disk in case.experiment.disks() {
            let origin = match self.shipped.get(&disk.model) {
                Some(known) => known.clone(),
                None => self.shipped.entry(disk.model.clone()).or_insert_with_key(|name| read_shipped(name)).clone(),
            };
            all.extend(origin.filter(|origin| !all.contains(origin)));
        }
        // What is asked in real time is no input, and may be written while it is read.
        let log = case.experiment.array.as_ref().and_then(|array| array.log.as_ref());
        let is_input = |path: &PathBuf| Some(path) != file_served(case) && Some(path) != log;
        let files = case.experiment.files().into_iter().filter(is_input);
        for path in files {
            let origin = self.files.entry(path).or_insert_with_key(|path| read_file(path)).clone();
            all.extend(origin.filter(|origin| !all.contains(origin)));
        }
        all
    }
}

fn read_shipped(name: &str) -> Option<InputOrigin> {
    let (name, text) = disk::catalogue::find_shipped(name)?;
    Some(digest(name.into(), &mut text.as_bytes()).expect("memory can be read"))
}

fn read_file(path: &Path) -> Option<InputOrigin> {
    if !path.is_file() {
        return None;
    }
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let origin = File::open(path).and_then(|mut file| digest(name, &mut file)).ok()?;
    Some(InputOrigin { path: Some(absolute(path)), ..origin })
}

fn file_served(case: &Case) -> Option<&PathBuf> {
    match case.experiment.drive.live.as_ref()? {
        Live::File(path) | Live::Emulated(Held::Sparse(path)) => Some(path),
        Live::Ram(_) | Live::Emulated(Held::Memory(_) | Held::Pattern) => None,
    }
}

fn digest(name: String, from: &mut dyn io::Read) -> io::Result<InputOrigin> {
    let (mut hash, mut bytes) = (Sha256::new(), 0);
    let mut piece = vec![0; 1 << 18];
    loop {
        let count = from.read(&mut piece)?;
        if count == 0 {
            break;
        }
        hash.update(&piece[..count]);
        bytes += count as u64;
    }
    Ok(InputOrigin { name, bytes, sha256: hexadecimal(&hash.finalize()), path: None })
}

/// The SHA-256 of a text, in hexadecimal.
#[must_use]
pub fn fingerprint(text: &str) -> String {
    hexadecimal(&Sha256::digest(text))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An experiment, as if it were that of a file of this path, as the text of another, which says the same in any folder: with these
/// `sets` and the seed in it, and the whole path of every file that it names.
///
/// # Errors
/// When it is no experiment.
pub fn portable(mut document: Document, path: &Path, sets: &[String], seed: Option<u64>) -> Result<String, BadInput> {
    experiment::change(&mut document, sets, seed)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    change_paths(&mut document, folder, &|path| absolute(path).to_string_lossy().into_owned());
    // Its heading is not to become that of the new file's name.
    if document.root().string("title").is_ok_and(|title| title.is_none()) {
        let title = path.file_stem().unwrap_or_default().to_string_lossy();
        document.set(&format!("title={}", config::quote(&title)))?;
    }
    Ok(document.write())
}

/// Puts what `show` makes of it in the place of every path in a document that is of this folder.
pub(crate) fn change_paths(document: &mut Document, folder: &Path, show: &dyn Fn(&Path) -> String) {
    // The same of every point of a sweep.
    static KEYS: LazyLock<Vec<(&str, NamedBy)>> = LazyLock::new(keys);
    document.change_texts(&|key, text| {
        let (_, names) = KEYS.iter().find(|(name, _)| *name == key)?;
        let (kind, path) = file_named(folder, text, *names)?;
        Some(format!("{kind}{}", show(&path)))
    });
}

/// The keys whose texts may be paths.
fn keys() -> Vec<(&'static str, NamedBy)> {
    let of = |about: &About| (about.name, about.names);
    let tables = tables();
    let all = tables.iter().chain(changeable()).flat_map(|table| table.keys.iter().map(of));
    let kinds = manuals().flat_map(|manual| manual.keys.iter().map(of));
    all.chain(kinds).filter(|(_, names)| *names != NamedBy::Nothing).collect()
}

/// The file that a text names, if it names one, and what stands before its name.
fn file_named(folder: &Path, text: &str, names: NamedBy) -> Option<(&'static str, PathBuf)> {
    match names {
        NamedBy::Nothing => None,
        NamedBy::File => Some(("", folder.join(text))),
        NamedBy::FileOrKnown => {
            let (kind, name) = match text.split_once(':') {
                Some(("emulated", name)) => ("emulated:", name),
                _ => ("", text),
            };
            let beside = Some(folder.join(name)).filter(|path| path.is_file());
            // A name of the catalogue goes before a file in the folder of whoever asks.
            let here = || disk::catalogue::find_shipped(name).is_none().then(|| PathBuf::from(name));
            let path = beside.or_else(here).filter(|path| path.exists() && !path.is_dir())?;
            Some((kind, path))
        }
    }
}

fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned())
}
