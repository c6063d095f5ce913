//! Lists the files of `reproduce/`, so that adding a published result is adding its file.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let variable = |name: &str| env::var(name).expect("cargo sets it");
    let here = variable("CARGO_MANIFEST_DIR");
    // A link in the repository, a folder in a package; a copy that leaves links out has neither.
    let folder = ["reproduce", "../../reproduce"].map(|folder| Path::new(&here).join(folder));
    let folder =
        folder.iter().find(|folder| folder.is_dir()).expect("the folder of published results").canonicalize()?;
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut ids: Vec<String> = fs::read_dir(&folder)?
        .filter_map(|entry| Some(entry.ok()?.file_name().to_str()?.strip_suffix(".toml")?.to_owned()))
        .collect();
    // The order of a folder is its file system's own; fig9 comes before fig10.
    ids.sort_by_key(|id| {
        let split = id.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        (id[..split].to_owned(), id[split..].parse::<u32>().unwrap_or(0))
    });
    let mut code = String::from("[\n");
    for id in ids {
        let path = folder.join(format!("{id}.toml"));
        writeln!(code, "({id:?}, include_str!({path:?})),").expect("a string takes all");
    }
    fs::write(Path::new(&variable("OUT_DIR")).join("reproduce.rs"), code + "]\n")
}
