//! The cells of a printed table that are measured in one way: a `[[cells]]`.
//!
//! Each cell is a line, `50KiB 0.5/s 19.2`: labels, then the number as the paper prints it. `$1` and `$2` in `claim`, `measure` and
//! `how` stand for the labels; the id of a cell ends with them.

use crate::target::{self, Expected, PublishedTarget, PublishedValue, Row};
use block::BadInput;
use config::Section;

/// Reads a `[[cells]]` of the file with this id.
pub(crate) fn read(section: &Section, file: &str) -> Result<Vec<PublishedTarget>, BadInput> {
    let id = section.need("id", section.string("id")?)?;
    let claim = section.need("claim", section.string("claim")?)?;
    let measure = section.need("measure", section.string("measure")?)?;
    let lines = section.need("cells", section.strings("cells")?)?;
    let missed = section.strings("missed")?.unwrap_or_default();
    let undecided = section.strings("undecided")?.unwrap_or_default();
    let mut targets = Vec::new();
    for line in &lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some((printed, labels)) = words.split_last().filter(|(_, labels)| !labels.is_empty()) else {
            return Err(section.error(
                "cells",
                format!("'{line}' is no cell"),
                "write labels, then the printed number",
            ));
        };
        let name = labels.join(" ");
        let listed = |list: &[String]| list.contains(&name);
        let expected = match (listed(&missed), listed(&undecided)) {
            (true, true) => return Err(section.error("undecided", format!("'{name}' is missed too"), "list it once")),
            (true, false) => Expected::Missed,
            (false, true) => Expected::Undecided,
            (false, false) => Expected::Held,
        };
        let measure = target::measure(&fill_labels(&measure, labels)).map_err(|wrong| {
            let (what, mend) = wrong.rsplit_once("; ").unwrap_or((&wrong, ""));
            section.error("measure", format!("`measure` of '{name}': {what}"), mend)
        })?;
        let row = Row {
            id: format!("{id}.{}", labels.join(".")),
            claim: fill_labels(&claim, labels),
            published: number(section, line, printed)?,
            measure,
            expected,
        };
        let target = target::read_target(section, file, row)?;
        let basis = target.basis.with(|how| fill_labels(how, labels));
        targets.push(PublishedTarget { basis, ..target });
    }
    strangers(section, &targets, &id, missed.iter().chain(&undecided))?;
    section.close()?;
    Ok(targets)
}

fn number(section: &Section, line: &str, printed: &str) -> Result<PublishedValue, BadInput> {
    let published = PublishedValue::of(printed);
    let mend = "end it with the number as it is printed, without commas";
    let bad = || section.error("cells", format!("'{line}' ends in no number"), mend);
    published.number().map(|_| published.clone()).ok_or_else(bad)
}

/// A text with the labels in it.
fn fill_labels(text: &str, labels: &[&str]) -> String {
    let fill = |text: String, (i, label): (usize, &&str)| text.replace(&format!("${}", i + 1), label);
    labels.iter().enumerate().fold(text.to_owned(), fill)
}

/// Refuses names of cells that are not there.
fn strangers<'a>(
    section: &Section,
    targets: &[PublishedTarget],
    id: &str,
    mut names: impl Iterator<Item = &'a String>,
) -> Result<(), BadInput> {
    let is_cell = |name: &str| {
        let id = format!("{id}.{}", name.split_whitespace().collect::<Vec<_>>().join("."));
        targets.iter().any(|target| target.id == id)
    };
    match names.find(|name| !is_cell(name)) {
        Some(name) => Err(section.error("cells", format!("there is no cell '{name}'"), "name it by its labels")),
        None => Ok(()),
    }
}
