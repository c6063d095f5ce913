//! Lists the drive files of `catalogue/`, so that adding a drive is adding its file.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=catalogue");
    let variable = |name: &str| env::var(name).expect("cargo sets it");
    let mut names: Vec<String> = fs::read_dir(Path::new(&variable("CARGO_MANIFEST_DIR")).join("catalogue"))?
        .filter_map(|entry| Some(entry.ok()?.file_name().to_str()?.strip_suffix(".toml")?.to_owned()))
        .collect();
    // The order of a folder is its file system's own.
    names.sort();
    let mut code = String::from("[\n");
    for name in names {
        writeln!(code, r#"("{name}", include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/catalogue/{name}.toml"))),"#)
            .expect("a string takes all");
    }
    fs::write(Path::new(&variable("OUT_DIR")).join("catalogue.rs"), code + "]\n")
}
