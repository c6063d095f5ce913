//! What is built by README's first command: none of what stands behind a feature, and not too much besides.

use crate::Fault;
use std::process::Command;

/// Crates that are large, or of few users, and so belong to a feature that is off by default.
const BEHIND_A_FEATURE: [&str; 10] =
    ["arrow", "arrow-array", "libublk", "parquet", "plotly", "pyo3", "rustls", "openssl", "tokio", "ring"];
/// Crates of others that the first command may build. Fewer is better; more delays the first table.
const MOST: usize = 95;

/// The crates, of ours and of others, that `cargo run -p halfturn` builds.
pub fn built() -> Vec<String> {
    let out = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()))
        .args(["tree", "-p", "halfturn", "-e", "normal,build", "--prefix", "none", "--format", "{p}", "--offline"])
        .current_dir(crate::root())
        .output()
        .expect("cargo runs");
    assert!(out.status.success(), "cargo tree: {}", String::from_utf8_lossy(&out.stderr));
    let lines = String::from_utf8(out.stdout).expect("names are ASCII");
    let mut names: Vec<String> = lines.lines().filter_map(|line| Some(line.split(' ').next()?.to_owned())).collect();
    names.sort();
    names.dedup();
    names
}

pub fn check(built: &[String]) -> Vec<Fault> {
    let mut faults = Vec::new();
    for name in built.iter().filter(|name| BEHIND_A_FEATURE.contains(&name.as_str())) {
        let mend = "make it optional, behind a feature that is off by default";
        faults.push(Fault::new("Cargo.toml", 1, format!("the first command builds '{name}'"), mend));
    }
    let others = built.iter().filter(|name| !name.starts_with("halfturn")).count();
    if others > MOST {
        let what = format!("the first command builds {others} crates of others, {MOST} are allowed");
        faults.push(Fault::new("Cargo.toml", 1, what, "do without one of them, or put it behind a feature"));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_a_feature_and_too_much_are_found() {
        let of = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert!(check(&of(&["halfturn", "halfturn-disk", "clap"])).is_empty());
        assert_eq!(check(&of(&["halfturn", "parquet"]))[0].what, "the first command builds 'parquet'");
        let many: Vec<String> = (0..=MOST).map(|i| format!("crate-{i}")).collect();
        assert_eq!(check(&many).len(), 1);
    }
}
