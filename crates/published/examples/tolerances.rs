//! Says whether a tolerance of `reproduce/` was widened, or a target taken out, since a commit.
//!
//! `cargo xtask tolerances v0.1.0` runs it; the exit code is 1 if so.

use published::history::{Requirement, changes, demands};
use std::collections::BTreeMap;
use std::process::{Command, ExitCode};

/// The demands by id, of all files.
type Demands = BTreeMap<String, Requirement>;

fn main() -> ExitCode {
    let Some(commit) = std::env::args().nth(1) else {
        eprintln!("no commit is named\n  mend: cargo xtask tolerances HEAD~1");
        return ExitCode::from(2);
    };
    match before(&commit).and_then(|before| Ok((before, now()?))) {
        Ok((before, now)) => told(&commit, &before, &now),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn told(commit: &str, before: &Demands, now: &Demands) -> ExitCode {
    let changes = changes(before, now);
    for change in &changes {
        println!("{} {}", change.id, change.what);
    }
    let looser = changes.iter().filter(|change| change.is_looser).count();
    let new = now.keys().filter(|id| !before.contains_key(*id)).count();
    let others = changes.len() - looser;
    println!(
        "{} targets at {commit}, {} now: {new} new, {looser} looser or gone, {others} otherwise changed",
        before.len(),
        now.len()
    );
    if looser > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// The demands of the files as they were at a commit.
fn before(commit: &str) -> Result<Demands, String> {
    let names = git(&["ls-tree", "--name-only", commit, "reproduce/"])?;
    let mut all = Demands::new();
    for name in names.lines().filter(|name| name.ends_with(".toml")) {
        let text = git(&["show", &format!("{commit}:{name}")])?;
        all.extend(demands(&format!("{commit}:{name}"), &text).map_err(|error| error.to_string())?);
    }
    Ok(all)
}

/// Those of the files as they are.
fn now() -> Result<Demands, String> {
    let mut all = Demands::new();
    for id in published::names() {
        let name = format!("reproduce/{id}.toml");
        let text = std::fs::read_to_string(&name).map_err(|error| format!("{name}: {error}; run it at the root"))?;
        all.extend(demands(&name, &text).map_err(|error| error.to_string())?);
    }
    Ok(all)
}

fn git(arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("git").args(arguments).output().map_err(|error| format!("git: {error}"))?;
    if !output.status.success() {
        return Err(format!("git {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
