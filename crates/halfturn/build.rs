//! Lists the files of `examples/`, which the program carries with it.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let variable = |name: &str| env::var(name).expect("cargo sets it");
    let here = variable("CARGO_MANIFEST_DIR");
    // A link in the repository, a folder in a package; a copy that leaves links out has neither.
    let folder = ["shipped", "../../examples"].map(|folder| Path::new(&here).join(folder));
    let folder = folder.iter().find(|folder| folder.is_dir()).expect("the folder of examples").canonicalize()?;
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files = Vec::new();
    list(&folder, "", &mut files)?;
    // The order of a folder is its file system's own.
    files.sort();
    let mut code = String::from("[\n");
    for file in files {
        writeln!(code, "({file:?}, include_bytes!({:?})),", folder.join(&file)).expect("a string takes all");
    }
    fs::write(Path::new(&variable("OUT_DIR")).join("examples.rs"), code + "]\n")
}

/// The files of a folder and of those in it, with `/` between.
fn list(folder: &Path, prefix: &str, files: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            list(&entry.path(), &format!("{name}/"), files)?;
        } else {
            files.push(name);
        }
    }
    Ok(())
}
