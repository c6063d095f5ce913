//! Time in which nobody asks for anything: a belief that learns may have the device read, a command at a time, so that a
//! request that comes meanwhile waits for one at most.

use crate::board::{Board, Errand};
use crate::event::Action;
use crate::predict::Predictor;
use block::{Place, Span, Time, Verb};

/// Decides when the idle device is probed.
#[derive(Debug, Default)]
pub(crate) struct Probing {
    /// While there are no requests: from when on the belief may have something read to learn from.
    from: Option<Time>,
}

impl Probing {
    /// When it wants to be woken, while the device is idle.
    #[inline]
    pub(crate) fn wake(&self) -> Option<Time> {
        self.from
    }

    /// Where there is no request and nothing is in flight: a probe, the first after `patience`, the others one after another
    /// until the belief knows enough; then none before the next request.
    pub(crate) fn probe<P: Predictor>(
        &mut self,
        board: &mut Board<P>,
        now: Time,
        patience: Span,
        out: &mut Vec<Action>,
    ) {
        if !board.jobs.is_empty() {
            self.from = None;
            return;
        }
        if !board.is_idle() || now < *self.from.get_or_insert(now + patience) {
            return;
        }
        match board.belief.probe(now) {
            Some(at) => board.send(now, Errand::Probe, Verb::Read, at, Place::Nowhere, out),
            None => self.from = Some(Time::NEVER),
        }
    }
}
