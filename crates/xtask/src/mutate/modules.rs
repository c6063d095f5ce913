//! The files of a crate that are no tests, found by `mod` from the root.

use super::site::{Site, SourceFile};
use super::sites;
use std::path::Path;

/// Every site of a crate, and its lines of code.
pub struct Found {
    pub sites: Vec<Site>,
    pub lines: usize,
}

/// Reads the modules of a crate, tests left out.
pub fn read(root: &Path, name: &str) -> Result<Found, String> {
    let source = format!("crates/{name}/src");
    let mut next: Vec<String> = ["lib.rs", "main.rs"]
        .iter()
        .map(|file| format!("{source}/{file}"))
        .filter(|file| root.join(file).is_file())
        .collect();
    if next.is_empty() {
        return Err(format!("{source}: no lib.rs and no main.rs\n  mend: name a crate of the folder crates"));
    }
    let mut found = Found { sites: Vec::new(), lines: 0 };
    while let Some(path) = next.pop() {
        let text = std::fs::read_to_string(root.join(&path)).map_err(|error| format!("{path}: {error}"))?;
        let (sites, modules) =
            sites::find(&SourceFile { path: &path, text: &text }).map_err(|error| format!("{path}: {error}"))?;
        found.lines += text.lines().filter(|line| is_code(line)).count();
        found.sites.extend(sites);
        let (folder, file) = path.rsplit_once('/').expect("it is in a folder");
        let inside = match file {
            "lib.rs" | "main.rs" | "mod.rs" => folder.to_owned(),
            _ => path.trim_end_matches(".rs").to_owned(),
        };
        for module in modules {
            let places = [format!("{inside}/{module}.rs"), format!("{inside}/{module}/mod.rs")];
            next.extend(places.into_iter().find(|place| root.join(place).is_file()));
        }
    }
    Ok(found)
}

fn is_code(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with("//")
}
