//! 3Q (004 §6.3): Priority #1 with a queue between for what has waited half the time-out.

use super::Knobs;
use super::priority::{Priority, Resume};

pub(super) fn three_queues(knobs: &Knobs) -> Priority {
    Priority::new(Resume::WhereLeft, knobs.timeout).with_three_queues()
}
