//! What the workspace has built of other people's crates serves the copy too, as long as nothing is built there yet.
//!
//! Cargo takes what it finds by name and time, so files keep theirs. Libraries are links: nobody writes into one.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

/// Lends what is in one folder of cargo's to another that is not there yet; crates of the workspace excepted.
pub fn borrow(from: &Path, to: &Path, own: &BTreeSet<String>) -> io::Result<()> {
    if to.exists() || !from.join("deps").is_dir() {
        return Ok(());
    }
    let mut hashes = BTreeSet::new();
    for part in [".fingerprint", "build"] {
        for entry in fs::read_dir(from.join(part))?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some((krate, hash)) = name.rsplit_once('-') else { continue };
            if !own.contains(&krate.replace('-', "_")) {
                keep(&entry.path(), &to.join(part).join(&name))?;
                hashes.insert(hash.to_owned());
            }
        }
    }
    fs::create_dir_all(to.join("deps"))?;
    for entry in fs::read_dir(from.join("deps"))?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let hash = name.split('.').next().and_then(|stem| stem.rsplit_once('-')).map(|(_, hash)| hash);
        if hash.is_some_and(|hash| hashes.contains(hash)) {
            let there = to.join("deps").join(&name);
            fs::hard_link(entry.path(), &there).or_else(|_| keep(&entry.path(), &there))?;
        }
    }
    Ok(())
}

/// Copies a file or a folder with its times.
fn keep(from: &Path, to: &Path) -> io::Result<()> {
    if from.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)?.flatten() {
            keep(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    fs::copy(from, to)?;
    fs::File::options().write(true).open(to)?.set_modified(fs::metadata(from)?.modified()?)
}
