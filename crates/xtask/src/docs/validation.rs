//! What is simulated beside what was measured and published, misses included.

use super::Program;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

pub const PAGE: &str = "docs/validation.md";

/// Drives that DiskSim's authors measured: their parameters and traces come with DiskSim.
const DRIVES: [&str; 4] = ["atlas10k", "cheetah9LP", "ibm18es", "hp_c3323a"];
const MEASURED: &str = "../shared/drives/disksim";
pub const PUBLISHED: &str = "halfturn reproduce";

/// Writes the page on validation.
pub fn page(program: &Program, reproduced: &Value) -> Result<String, String> {
    let measured =
        measured_drives(program)?.ok_or_else(|| format!("{MEASURED} is not there: no page without measured drives"))?;
    let published = published_numbers(reproduced)?;
    let by = provenance(&program.root);
    Ok(format!("# Validation\n\nWritten by `cargo xtask docs` {by}.\n\n{measured}\n{published}"))
}

/// What of the page is not as it would be written. Papers are not done again for this, which takes minutes: only their targets
/// are counted.
pub fn stale(program: &Program, listed: &Value, page: &str) -> Result<Vec<String>, String> {
    let mut stale = Vec::new();
    match measured_drives(program)? {
        Some(measured) if !page.contains(&measured) => stale.push(format!("{PAGE}: measured drives")),
        Some(_) => {}
        None => println!("SKIPPED: {MEASURED} is not there; measured drives of {PAGE} are not compared"),
    }
    for (file, targets) in files(listed)? {
        if !page.contains(&format!("| `{file}` | {} |", targets.len())) {
            stale.push(format!("{PAGE}: {file}"));
        }
    }
    Ok(stale)
}

/// Where and of what the figures were made.
fn provenance(root: &Path) -> String {
    let said = |program: &str, arguments: &[&str]| {
        let out = Command::new(program).args(arguments).current_dir(root).output();
        out.map(|out| String::from_utf8_lossy(&out.stdout).trim().to_owned()).unwrap_or_default()
    };
    let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpus.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("an unknown processor", |(_, model)| model);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let (kernel, commit) = (said("uname", &["-sr"]), said("git", &["rev-parse", "--short", "HEAD"]));
    format!("at commit {commit}, on {cores} cores of {model}, {kernel}")
}

/// Simulated drives beside measured ones, where the measurements are there.
fn measured_drives(program: &Program) -> Result<Option<String>, String> {
    if !program.root.join(MEASURED).is_dir() {
        return Ok(None);
    }
    let mut text = String::from(
        "## Measured drives\n\n`halfturn drive validate DRIVE.parv DRIVE.trace`, on the drives and traces that come with DiskSim 4.0. \
         The demerit is the root\nmean square of the distance between the distributions of measured and simulated response times. \
         That none is larger than\nDiskSim's own is a test (`crates/sim/tests/validation.rs`).\n\n| drive | requests | measured mean, ms \
         | simulated mean, ms | demerit, ms | of the mean |\n|---|---:|---:|---:|---:|---:|\n",
    );
    for drive in DRIVES {
        let path = format!("{MEASURED}/{drive}");
        let json = program.json(&format!("halfturn drive validate {path}.parv {path}.trace"))?;
        let figure = |key: &str| json[key].as_f64().ok_or_else(|| format!("{drive}: no {key}"));
        let _ = writeln!(
            text,
            "| {drive} | {} | {:.3} | {:.3} | {:.4} | {:.1} % |",
            json["requests"],
            figure("measured_mean_ms")?,
            figure("simulated_mean_ms")?,
            figure("demerit_ms")?,
            figure("demerit_percent")?
        );
    }
    Ok(Some(text))
}

/// Targets by the file they are from.
pub fn files(json: &Value) -> Result<BTreeMap<String, Vec<&Value>>, String> {
    let mut files = BTreeMap::<String, Vec<&Value>>::new();
    for target in json["targets"].as_array().ok_or("no targets")? {
        let id = target["id"].as_str().ok_or("a target without an id")?;
        // `paper.figure.target`, but for a file that is a paper by itself.
        let file = match id.split('.').collect::<Vec<_>>()[..] {
            ["tradeoff", ..] => "tradeoff".to_owned(),
            [paper, figure, ..] => format!("{paper}.{figure}"),
            _ => id.to_owned(),
        };
        files.entry(file).or_default().push(target);
    }
    Ok(files)
}

/// What papers published, and how much of it comes out.
fn published_numbers(json: &Value) -> Result<String, String> {
    let files = files(json)?;
    let all = || files.values().flatten();
    let holds = |target: &&&Value| target["verdict"] == "held";
    let (count, held) = (all().count(), all().filter(holds).count());
    let mut text = format!(
        "## Published results\n\n`{PUBLISHED}`: {held} of {count} targets are held, each under one seed. What a target rests on, and how far \
         it may be off, is in the\n[guide](guide/reproduce.md). Of those marked fitted a constant of the model was chosen by the published \
         number:\nagreement shows consistency, and is no prediction.\n\n\
         | file | targets | held | published | fitted | source |\n|---|---:|---:|---:|---:|---|\n"
    );
    for (file, targets) in &files {
        let of = |basis: &str| targets.iter().filter(|target| target["basis"] == basis).count();
        let held = targets.iter().filter(holds).count();
        let source = targets[0]["source"].as_str().unwrap_or_default();
        let _ = writeln!(
            text,
            "| `{file}` | {} | {held} | {} | {} | {source} |",
            targets.len(),
            of("published"),
            of("fitted")
        );
    }
    text += "\n### What is not held\n\n| target | published | measured | tolerance | cause, where it is known |\n|---|---|---|---|---|\n";
    for target in all().filter(|target| !holds(target)) {
        let cause = target["known_miss"].as_str().unwrap_or("–").replace('|', "\\|");
        let id = target["id"].as_str().unwrap_or_default();
        let tolerance = target["tolerance"].as_str().unwrap_or_default();
        let figures = [&target["published"], &target["measured"]].map(figure);
        let _ = writeln!(text, "| `{id}` | {} | {} | {tolerance} | {cause} |", figures[0], figures[1]);
    }
    Ok(text)
}

/// A figure or a few, four digits of each.
pub fn figure(value: &Value) -> String {
    match value {
        Value::Array(several) => several.iter().map(figure).collect::<Vec<_>>().join(", "),
        Value::String(words) => words.clone(),
        other => other.as_f64().map_or_else(String::new, |number| {
            let digits = if number == 0.0 { 0 } else { (3.0 - number.abs().log10().floor()).clamp(0.0, 8.0) as usize };
            format!("{number:.digits$}")
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn misses_are_counted_and_shown_with_their_cause() {
        let target = |id, verdict| {
            json!({"id": id, "verdict": verdict, "basis": "fitted", "source": "A Paper", "published": 2.0,
            "measured": [1.5, 0.012_345], "tolerance": "5 %", "known_miss": "a cause"})
        };
        let json = json!({"targets": [target("a.fig1.x", "held"), target("a.fig1.y", "missed"), target("tradeoff.a.b", "held")]});
        let text = published_numbers(&json).expect("targets");
        assert!(text.contains("2 of 3 targets are held"), "{text}");
        assert!(
            text.contains("| `a.fig1` | 2 | 1 | 0 | 2 | A Paper |") && text.contains("| `tradeoff` | 1 |"),
            "{text}"
        );
        assert!(text.contains("| `a.fig1.y` | 2.000 | 1.500, 0.01235 | 5 % | a cause |"), "{text}");
    }
}
