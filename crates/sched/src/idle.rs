//! Time in which nobody asks for anything: a belief that learns may have the device read, a command at a time, so that a
//! request that comes meanwhile waits for one at most.

use crate::core::{Core, Errand};
use crate::event::Action;
use crate::predict::Predictor;
use block::{Place, Span, Time, Verb};

impl<P: Predictor> Core<P> {
    /// Where there is no request and nothing is in flight: a probe, the first after `patience`, the others one after another
    /// until the belief knows enough; then none before the next request.
    pub(crate) fn probe(&mut self, now: Time, patience: Span, out: &mut Vec<Action>) {
        if !self.jobs.is_empty() {
            self.probes_from = None;
            return;
        }
        if !self.is_idle() || now < *self.probes_from.get_or_insert(now + patience) {
            return;
        }
        match self.belief.probe(now) {
            Some(at) => self.send(now, Errand::Probe, Verb::Read, at, Place::Nowhere, out),
            None => self.probes_from = Some(Time::NEVER),
        }
    }
}
