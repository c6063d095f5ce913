//! Every table of an experiment file, in the order in which they are explained.

use super::{array, drive, run, serve, system, volume, workload};
use config::Table;

config::keys! {
    /// What stands at the top of the file, before its tables.
    pub(super) fn top() -> "";

    /// What the experiment is about: the heading of its results.
    TITLE: String = text("title").else_told("the file's name");
}

config::keys! {
    /// How requests are ordered, and which of them may interrupt others.
    fn scheduler() -> "[scheduler]";
}

/// The tables of an experiment file and their keys. What a `[[workload]]` has besides, by its `kind`, is told by
/// [`manuals`](crate::workload::manuals).
#[must_use]
pub fn tables() -> Vec<Table> {
    vec![
        top(),
        drive::drive(),
        drive::drift(),
        drive::disk(),
        array::array(),
        array::fails(),
        // The keys of the scheduler are declared where they are read; here stands that there is such a table.
        scheduler(),
        volume::volume(),
        serve::serve(),
        workload::workload(),
        system::system(),
        run::run(),
    ]
}

/// What may stand at the top of a file: its keys and the names of its tables.
pub(super) fn roots() -> Vec<&'static str> {
    let tables = tables();
    let mut names: Vec<&str> = tables[0].keys.iter().map(|key| key.name).collect();
    let headings = tables[1..].iter().map(|table| table.heading.trim_matches(['[', ']']));
    for heading in headings {
        let name = heading.split('.').next().unwrap_or(heading);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
