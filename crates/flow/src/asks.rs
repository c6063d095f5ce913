//! A system's face as a load: what it asks for next, and what it is told of that.

use crate::cpu::Handler;
use crate::events::ModelEventKind;
use crate::system::ProcessSystem;
use block::{BadInput, Ending, RequestId, Span, Time};
use load::{Load, Meter, Served};
use sched::Input;

impl Load for ProcessSystem {
    fn due(&self) -> Option<Time> {
        if self.outbox.is_empty() { self.next_event() } else { Some(self.now) }
    }

    fn fire(&mut self, now: Time, _: Span) -> Result<Option<Input>, BadInput> {
        self.charge(now);
        if self.outbox.is_empty() {
            self.advance();
        }
        Ok(self.outbox.pop_front())
    }

    fn begin_request(&mut self, now: Time, id: RequestId) {
        let Some(asked) = self.requests.get(id.0) else { return };
        if asked.began == Time::NEVER {
            asked.began = now;
            self.charge(now);
            self.note(ModelEventKind::Access(id));
        }
    }

    fn add_wait(&mut self, id: RequestId, external: Span) {
        if let Some(asked) = self.requests.get(id.0) {
            asked.external += external.0;
        }
    }

    fn take_served(&mut self, now: Time, id: RequestId) -> Option<Served> {
        let asked = *self.requests.get(id.0)?;
        let qos = self.classes.qos(asked.issued_as, asked.limit);
        let external = Span(asked.external);
        let counts = asked.arrived >= self.meter.from();
        let (arrived, began) = (asked.arrived, asked.began);
        Some(Served { at: asked.at, arrived, began, ended: now, external, counts, qos })
    }

    fn end_request(&mut self, now: Time, id: RequestId, how: Ending) {
        self.charge(now);
        let Some(served) = self.take_served(now, id) else { return };
        if let Some(asked) = self.requests.get(id.0) {
            asked.ended = true;
        }
        if let Some(made) = self.recorder.as_mut().and_then(|recorder| recorder.request(id.0)) {
            made.ended = Some(now);
        }
        self.account.last_io = now;
        self.meter.add_ended(&served, how);
        self.interrupt(Handler::Completion(id.0));
    }

    fn meter(&self) -> &Meter {
        &self.meter
    }

    fn meter_mut(&mut self) -> &mut Meter {
        &mut self.meter
    }
}
