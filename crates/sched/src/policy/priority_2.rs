//! Priority #2 (004 §6.1): after requests of the high queue the sweep of the low one goes on from the nearest cylinder.

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
        name: "priority-2",
        text: "Requests that a process waits for go before the others; after them the sweep of the others goes on from the nearest cylinder (The Process-Flow Model, Section 6.1).",
        keys: &[TIMEOUT.about],
        example: "policy = \"priority-2\"\ntimeout = \"500ms\"",
        needs: Needs::Any,
    };
    const HEEDS_PRIORITY: bool = true;

    fn read(scheduler: &Section) -> Result<Settings, BadInput> {
        Ok(Settings { timeout: scheduler.value(&TIMEOUT)? })
    }

    fn make<P: Predictor + 'static>(&self, _: &Beside) -> Box<dyn Policy<P>> {
        Box::new(Priority::new(Resume::Nearest, self.timeout))
    }
}
