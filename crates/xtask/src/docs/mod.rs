//! Writes the pages of figures: what is simulated beside what was measured and published, what a command costs, the picture of
//! README. With `--check` nothing is written, and what is stale is named.

mod papers;
mod picture;
mod plane;
mod rebuild;
mod scrub;
mod validation;

use crate::budget::{CostTable, cost_tables, table_titled};
use crate::test::FEATURES;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program whose figures they are, and where it runs.
pub(crate) struct Program {
    path: PathBuf,
    root: PathBuf,
}

impl Program {
    /// Builds it: quick to run where pages are written; where they are checked, with the tests, which have built it already.
    pub(crate) fn build(root: &Path, check: bool) -> Result<Program, String> {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
        let (arguments, profile): (&[&str], _) = match check {
            true => (&["test", "--no-run", "--workspace", "--features", FEATURES], "debug"),
            false => (&["build", "--package", "halfturn", "--bin", "halfturn", "--release"], "release"),
        };
        let mut command = Command::new(cargo);
        command.args(arguments).args(["--quiet", "--locked"]).current_dir(root);
        let status = command.status().map_err(|error| format!("cargo: {error}"))?;
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        let path = target.join(profile).join("halfturn");
        if status.success() { Ok(Program { path, root: root.into() }) } else { Err("halfturn does not build".into()) }
    }

    /// What it prints as JSON for this command line.
    fn json(&self, line: &str) -> Result<Value, String> {
        let arguments: Vec<String> = line.split_whitespace().skip(1).map(str::to_owned).collect();
        self.json_of(&arguments)
    }

    /// What it prints as JSON for these arguments.
    pub(crate) fn json_of(&self, arguments: &[String]) -> Result<Value, String> {
        let line = arguments.join(" ");
        let out = Command::new(&self.path).args(arguments).args(["--format", "json"]).current_dir(&self.root).output();
        let out = out.map_err(|error| format!("{line}: {error}"))?;
        serde_json::from_slice(&out.stdout)
            .map_err(|_| format!("{line}: no JSON\n{}", String::from_utf8_lossy(&out.stderr)))
    }
}

/// Writes the pages, or says whether they are as they would be written.
///
/// # Errors
/// When the program does not build or run, or a page cannot be written.
pub fn run(root: &Path, arguments: &[String]) -> Result<bool, String> {
    let check = match arguments {
        [] => false,
        [flag] if flag == "--check" => true,
        _ => return Err("there is one option\n  mend: cargo xtask docs --check".into()),
    };
    let program = Program::build(root, check)?;
    let figures = [
        ("docs/performance.md", performance(root)?),
        ("docs/reader-beside-bulk.svg", picture::draw(&program)?),
        ("docs/rebuild-beside-readers.svg", rebuild::PLANE.draw(&program)?),
        ("docs/scrub-beside-readers.svg", scrub::PLANE.draw(&program)?),
    ];
    let mut stale = Vec::new();
    for (page, text) in figures {
        match check {
            true if read(root, page)? != text => stale.push(page.to_owned()),
            true => {}
            false => write(root, page, &text)?,
        }
    }
    match check {
        true => {
            let listed = program.json(&format!("{} --list", validation::PUBLISHED))?;
            stale.extend(validation::stale(&program, &listed, &read(root, validation::PAGE)?)?);
            stale.extend(papers::stale(&read(root, papers::SAID)?, &listed, &read(root, papers::PAGE)?)?);
        }
        false => {
            let reproduced = program.json(validation::PUBLISHED)?;
            write(root, validation::PAGE, &validation::page(&program, &reproduced)?)?;
            write(root, papers::PAGE, &papers::page(&read(root, papers::SAID)?, &reproduced)?)?;
        }
    }
    stale.iter().for_each(|what| println!("{what} is stale\n  mend: cargo xtask docs"));
    Ok(stale.is_empty())
}

fn read(root: &Path, page: &str) -> Result<String, String> {
    std::fs::read_to_string(root.join(page)).map_err(|error| format!("{page}: {error}"))
}

fn write(root: &Path, page: &str, text: &str) -> Result<(), String> {
    std::fs::write(root.join(page), text).map_err(|error| format!("{page}: {error}"))
}

/// What a command costs, as `tests/budget.toml` has it.
fn performance(root: &Path) -> Result<String, String> {
    const LAYERS: [&str; 9] = ["array", "core", "disk", "drive", "load", "policy", "predictor", "trace", "world"];
    let budget: toml::Table =
        read(root, "tests/budget.toml")?.parse().map_err(|error| format!("tests/budget.toml: {error}"))?;
    let rustc = budget.get("rustc").and_then(toml::Value::as_str).unwrap_or("an unknown rustc");
    let mut text = format!(
        "# Performance\n\nWritten by `cargo xtask docs`; CI compares it.\n\nInstructions that the simulator spends on a drive command, \
         by layer, as `cargo xtask budget` counts them\nwith callgrind (rustc {rustc}). They are the budget that CI holds each change \
         to. A scene is a policy and the requests that\nwait, `2MiB/16KiB` a stream in short commands, `array` a RAID, `trace` a \
         recorded load.\n"
    );
    let groups = || budget.iter().filter_map(|(name, scenes)| Some((name, scenes.as_table()?)));
    for (drive, scenes) in groups().filter(|(name, _)| table_titled(name).is_none()) {
        let _ = write!(text, "\n## {}\n\n| scene | all | {} | rest |\n|---|", name_of(drive), LAYERS.join(" | "));
        text += &"---:|".repeat(LAYERS.len() + 2);
        text.push('\n');
        for (scene, layers) in scenes {
            let cost = |layer: &str| layers.get(layer).and_then(toml::Value::as_integer).unwrap_or(0);
            let _ = write!(text, "| `{scene}` | {} |", sum(layers));
            for layer in LAYERS.iter().chain(&["rest"]) {
                let _ = write!(text, " {} |", cost(layer));
            }
            text.push('\n');
        }
    }
    text += "\nThe tables below are of all layers together; `cargo xtask budget --costs` counts them.\n";
    for table in cost_tables() {
        let counted = budget.get(table.title).and_then(toml::Value::as_table);
        text += &cost_table(&table, &|scene| counted?.get(scene).map(sum));
    }
    Ok(text)
}

/// Instructions of all layers.
fn sum(layers: &toml::Value) -> i64 {
    layers.as_table().into_iter().flatten().filter_map(|(_, cost)| cost.as_integer()).sum()
}

/// A table of what was counted, a row and a column for each name; what was not counted is a dash.
fn cost_table(table: &CostTable, counted: &dyn Fn(&str) -> Option<i64>) -> String {
    let names: Vec<(&str, &str)> =
        table.scenes.iter().map(|scene| scene.name.split_once(", ").unwrap_or((&scene.name, ""))).collect();
    let mut columns: Vec<&str> = Vec::new();
    names.iter().for_each(|(_, column)| {
        if !columns.contains(column) {
            columns.push(column)
        }
    });
    let mut rows: Vec<&str> = Vec::new();
    names.iter().for_each(|(row, _)| {
        if !rows.contains(row) {
            rows.push(row)
        }
    });
    let (title, about, over) = (table.title, table.about, table.rows);
    let mut text = format!("\n## {title}\n\n{about}\n\n| {over} | {} |\n|---|", columns.join(" | "));
    text += &"---:|".repeat(columns.len());
    for row in rows {
        let _ = write!(text, "\n| {row} |");
        for column in &columns {
            let cost = counted(&format!("{row}, {column}")).map_or("–".into(), |cost| cost.to_string());
            let _ = write!(text, " {cost} |");
        }
    }
    text + "\n"
}

fn name_of(drive: &str) -> &str {
    match drive {
        "catalogue" => "A drive of the catalogue",
        "imported" => "A drive imported from DiskSim",
        other => other,
    }
}
