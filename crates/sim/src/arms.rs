//! By how much an arm came later than was believed, where its seek was timed: the error of the arm itself. What the platter makes
//! of it is nothing, or a whole turn.

use block::{Command, Span, Time};
use disk::Mechanics;
use drive::Parts;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

/// Holds arrivals against what was believed of them.
pub(crate) struct Arms {
    mechanics: Arc<Mechanics>,
    /// What the core believes of the command it issues.
    told: Rc<Cell<Option<Time>>>,
    flying: Option<(Time, Time)>,
}

impl Arms {
    pub(crate) fn new(mechanics: &Arc<Mechanics>) -> Arms {
        Arms { mechanics: Arc::clone(mechanics), told: Rc::default(), flying: None }
    }

    /// Where the core tells what it believes.
    pub(crate) fn share_belief(&self) -> Rc<Cell<Option<Time>>> {
        Rc::clone(&self.told)
    }

    /// A command is issued. One that goes on to another track is left out: its parts do not tell where the arm went first.
    pub(crate) fn begin_command(&mut self, now: Time, command: &Command) {
        self.flying = self.told.take().map(|arrival| (now, arrival)).filter(|_| {
            let layout = &self.mechanics.layout;
            let at = command.at;
            command.verb.transfers() && layout.sectors_of(at) <= u64::from(layout.locate(at.start).left)
        });
    }

    /// Whether something was believed of the command in flight.
    pub(crate) fn awaits(&self) -> bool {
        self.flying.is_some()
    }

    /// It came back: by how many ns the arm was later than believed. What came from memory moved no arm.
    pub(crate) fn end_command(&mut self, parts: &Parts) -> Option<i64> {
        let (issued, believed) = self.flying.take().filter(|_| parts.seek > Span::ZERO)?;
        let there = issued + parts.queued + parts.overhead + parts.external + parts.seek + parts.switch + parts.settle;
        Some(there.0 as i64 - believed.0 as i64)
    }
}
