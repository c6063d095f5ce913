//! Priority #2 (004 §6.1): after requests of the high queue the sweep of the low one goes on from the nearest cylinder.

use super::Knobs;
use super::priority::{Priority, Resume};

pub(super) fn priority_2(knobs: &Knobs) -> Priority {
    Priority::new(Resume::Nearest, knobs.timeout)
}
