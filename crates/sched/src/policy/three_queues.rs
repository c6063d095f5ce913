//! 3Q (004 §6.3): Priority #1 with a queue between for what has waited half the time-out.

use super::priority::{Priority, Resume, TIMEOUT};
use super::{Beside, Kind, Manual, Needs, Policy};
use crate::predict::Predictor;
use block::{BadInput, Span};
use config::Section;

/// The values of its keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    timeout: Option<Span>,
}

impl Kind for Settings {
    const MANUAL: Manual = Manual {
        name: "3q",
        text: "`priority-1` with a queue between, for what has waited half the time-out (The Process-Flow Model, Section 6.3).",
        keys: &[TIMEOUT.about],
        example: "policy = \"3q\"\ntimeout = \"500ms\"",
        needs: Needs::Any,
    };
    const HEEDS_PRIORITY: bool = true;

    fn read(scheduler: &Section) -> Result<Settings, BadInput> {
        Ok(Settings { timeout: scheduler.value(&TIMEOUT)? })
    }

    fn make<P: Predictor + 'static>(&self, _: &Beside) -> Box<dyn Policy<P>> {
        Box::new(Priority::new(Resume::WhereLeft, self.timeout).with_three_queues())
    }
}
