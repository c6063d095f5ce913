//! Every table of an experiment file, with its keys: what help, reference pages and the schema are written from.

use super::{mimic, scheduler, service, value};
use config::Table;

/// The tables, in the order in which they are explained. Some stand for a part of a table that has several.
#[must_use]
pub fn tables() -> Vec<Table> {
    vec![
        scheduler::scheduler(),
        service::preemption(),
        scheduler::queue_keys(),
        service::plan_keys(),
        service::budget_keys(),
        service::class_keys(),
        value::worth_keys(),
        mimic::mimic(),
    ]
}
