//! Every table of an experiment file, with its keys: what help, reference pages and the schema are written from.

use super::{
    array, bfq, client, device, dmclock, drive, fault, fleet, run, scheduler, serve, service, share, system, value,
    volume, workload,
};
use config::Table;
use sched::predict;
use std::sync::LazyLock;

config::keys! {
    /// What stands at the top of the file, before its tables.
    pub(super) fn top() -> "";

    /// What the experiment is about: the heading of its results.
    TITLE: String = text("title").else_told("the file's name");
}

/// The tables, in the order in which they are explained. Some stand for a part of a table that has several. The keys that a
/// `[[workload]]` has by its `kind` are listed by [`manuals`](crate::workload::manuals).
#[must_use]
pub fn tables() -> Vec<Table> {
    let mut tables = vec![
        top(),
        drive::drive(),
        drive::drift(),
        drive::disk(),
        device::device(),
        array::array(),
        array::fails(),
        scheduler::scheduler(),
        service::preemption(),
        scheduler::queue_keys(),
        scheduler::free_keys(),
        service::plan_keys(),
        service::budget_keys(),
        service::class_keys(),
        share::of_class::keys(),
        bfq::keys(),
        dmclock::keys(),
        value::worth_keys(),
    ];
    tables.extend(predict::ALL.iter().filter_map(|manual| Some(manual.table?())));
    tables.extend([
        volume::volume(),
        share::of_volume::keys(),
        client::client(),
        serve::serve(),
        fault::fault(),
        workload::workload(),
        system::system(),
        run::run(),
        fleet::fleet(),
    ]);
    tables
}

/// The tables of a drive's file that `[drive]` may change, as they are headed there.
#[must_use]
pub fn changeable() -> &'static [Table] {
    static TABLES: LazyLock<Vec<Table>> = LazyLock::new(|| {
        let headed = |table: Table| {
            let (open, path) =
                table.heading.split_at(table.heading.len() - table.heading.trim_start_matches('[').len());
            // Made once, and as long-lived as the headings that are written down.
            Table { heading: format!("{open}drive.{path}").leak(), ..table }
        };
        disk::change::tables().into_iter().map(headed).collect()
    });
    &TABLES
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
