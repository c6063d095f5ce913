//! The copy of the workspace that is built with bugs in it.

use super::plant::Planted;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A copy of every file of the project that is neither ignored nor built.
pub struct Copy {
    pub root: PathBuf,
    from: PathBuf,
    /// Relative to either root, with their lengths when they were copied.
    files: BTreeMap<String, u64>,
}

impl Copy {
    /// Makes the copy, or brings it up to date, but for these files, which are written later: what has not changed keeps its time,
    /// and is not built again.
    pub fn make(from: &Path, root: PathBuf, later: &BTreeSet<String>) -> Result<Copy, String> {
        let mut copy = Copy { files: BTreeMap::new(), from: from.to_owned(), root };
        // Inside the workspace cargo finds its settings above the copy: a second time, their lists would be twice as long, and
        // nothing that is built could serve both.
        let settled = |file: &str| file.starts_with(".cargo/") && copy.root.starts_with(from);
        let wanted = |file: &String| from.join(file).is_file() && !settled(file);
        for file in list_files(from)?.into_iter().filter(wanted).collect::<Vec<_>>() {
            let content = fs::read(from.join(&file)).map_err(|error| format!("{file}: {error}"))?;
            if !later.contains(&file) {
                copy.write(&file, &content)?;
            }
            copy.files.insert(file, content.len() as u64);
        }
        for file in walk(&copy.root, "") {
            if !copy.files.contains_key(&file) && !file.starts_with("switch/") && file != "Cargo.lock" {
                let _ = fs::remove_file(copy.root.join(&file));
            }
        }
        copy.write("switch/Cargo.toml", SWITCH.as_bytes())?;
        copy.write(
            "switch/src/lib.rs",
            format!("#![allow(missing_docs)]\n{}", plain(include_str!("../switch.rs"))).as_bytes(),
        )?;
        Ok(copy)
    }

    /// Writes a file unless it is there with this content.
    fn write(&self, file: &str, content: &[u8]) -> Result<(), String> {
        let path = self.root.join(file);
        if fs::read(&path).is_ok_and(|there| there == content) {
            return Ok(());
        }
        let folder = path.parent().expect("it is in a folder");
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&path, content))
            .map_err(|error| format!("{}: {error}", path.display()))?;
        if let Ok(found) = fs::metadata(self.from.join(file)) {
            let _ = fs::set_permissions(&path, found.permissions());
        }
        Ok(())
    }

    /// Makes the manifests name the switch, and the workspace hold it.
    pub fn wire(&self, crates: &BTreeSet<String>) -> Result<(), String> {
        for name in crates {
            let file = format!("crates/{name}/Cargo.toml");
            let text = fs::read_to_string(self.from.join(&file)).map_err(|error| format!("{file}: {error}"))?;
            let dependency = "switch = { path = \"../../switch\" }\n";
            let wired = match text.find("[dependencies]\n") {
                Some(at) => format!("{}{dependency}{}", &text[..at + 15], &text[at + 15..]),
                None => format!("{text}\n[dependencies]\n{dependency}"),
            };
            self.write(&file, wired.as_bytes())?;
        }
        let text = fs::read_to_string(self.from.join("Cargo.toml")).map_err(|error| format!("Cargo.toml: {error}"))?;
        self.write("Cargo.toml", text.replacen("members = [", "members = [\"switch\", ", 1).as_bytes())
    }

    /// The names of the workspace's crates.
    pub fn crates(&self) -> impl Iterator<Item = String> {
        let manifests = self.files.keys().filter_map(|file| file.strip_prefix("crates/")?.strip_suffix("/Cargo.toml"));
        manifests.map(|name| name.replace('-', "_"))
    }

    /// A file as it is in the project.
    pub fn original(&self, file: &str) -> Result<String, String> {
        fs::read_to_string(self.from.join(file)).map_err(|error| format!("{file}: {error}"))
    }

    /// Writes files with bugs planted; those planted before and no more are as they were.
    pub fn plant(&self, planted: &BTreeMap<String, Planted>) -> Result<(), String> {
        planted.iter().try_for_each(|(file, planted)| self.write(file, planted.text.as_bytes()))
    }

    /// Puts back whatever a test has changed but the sources, by its length; the files that were.
    pub fn mend(&self) -> Vec<&str> {
        let data = self.files.iter().filter(|(file, _)| !file.ends_with(".rs") && !file.contains("Cargo."));
        let changed =
            data.filter(|(file, length)| !fs::metadata(self.root.join(file)).is_ok_and(|now| now.len() == **length));
        let put_back = |file: &&String| fs::copy(self.from.join(file), self.root.join(file)).is_ok();
        changed.map(|(file, _)| file).filter(put_back).map(String::as_str).collect()
    }
}

const SWITCH: &str = "[package]\nname = \"switch\"\nversion = \"0.0.0\"\nedition = \"2024\"\npublish = false\n";

/// A module's text as the root of a crate.
fn plain(text: &str) -> &str {
    text.split("#[cfg(test)]").next().unwrap_or(text)
}

/// The files that git knows or would know; of a folder without git, all.
fn list_files(from: &Path) -> Result<Vec<String>, String> {
    let git = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard", "."])
        .current_dir(from)
        .output()
        .map_err(|error| format!("git does not run: {error}\n  mend: install git"))?;
    let names = String::from_utf8_lossy(&git.stdout).into_owned();
    let files: Vec<String> = names.split_terminator('\0').map(str::to_owned).collect();
    Ok(if git.status.success() && !files.is_empty() { files } else { walk(from, "") })
}

fn walk(folder: &Path, prefix: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && !path.ends_with("target") => {
                found.extend(walk(&entry.path(), &format!("{path}/")));
            }
            Ok(kind) if kind.is_file() => found.push(path),
            _ => {}
        }
    }
    found
}
