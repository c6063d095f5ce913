//! Priority #1 (004 §6.1): the sweep of the low queue goes on where requests of the high one interrupted it.

use super::Knobs;
use super::priority::{Priority, Resume};

pub(super) fn priority_1(knobs: &Knobs) -> Priority {
    Priority::new(Resume::WhereLeft, knobs.timeout)
}
