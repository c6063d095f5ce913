//! A system's face as a load: what it asks for next, and what it is told of that.

use crate::cpu::Handler;
use crate::events::ModelEventKind;
use crate::requests::RequestState;
use crate::system::ProcessSystem;
use block::{BadInput, Ending, Request, RequestId, Span, Time};
use load::{Load, Meter, Served};
use sched::Input;

impl Load for ProcessSystem {
    const GOES_ON: bool = true;

    fn due(&self) -> Option<Time> {
        if self.backlog.is_empty() { self.due_crowded() } else { Some(self.now) }
    }

    fn fire(&mut self, now: Time, _: Span) -> Result<Option<Input>, BadInput> {
        self.charge(now);
        if let Some(said) = self.backlog.pop_front() {
            return Ok(Some(self.leave_backlog(said)));
        }
        if self.outbox.is_empty() {
            self.advance();
        }
        Ok(self.outbox.pop_front())
    }

    fn request_due(&self) -> Option<Time> {
        (!self.backlog.is_empty()).then_some(self.now)
    }

    fn due_crowded(&self) -> Option<Time> {
        let speaks = !self.outbox.is_empty() || matches!(self.backlog.front(), Some(Input::Amend(..)));
        if speaks { Some(self.now) } else { self.next_event() }
    }

    fn fire_crowded(&mut self, now: Time) -> Option<Input> {
        self.charge(now);
        if matches!(self.backlog.front(), Some(Input::Amend(..))) {
            return self.backlog.pop_front();
        }
        if self.outbox.is_empty() {
            self.advance();
        }
        let said = self.outbox.pop_front()?;
        let waits = match &said {
            Input::Submit(request) => self.requests.get(request.id.0).map(|asked| asked.waits = true).is_some(),
            Input::Amend(id, _) => self.requests.get(id.0).is_some_and(|asked| asked.waits),
            _ => false,
        };
        if !waits {
            return Some(said);
        }
        self.backlog.push_back(said);
        None
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
        Some(self.describe_served(&asked, now))
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

impl ProcessSystem {
    /// A request that waited for room is on its way.
    fn leave_backlog(&mut self, said: Input) -> Input {
        if let Input::Submit(request) = &said
            && let Some(asked) = self.requests.get(request.id.0)
        {
            asked.waits = false;
        }
        said
    }

    /// Requests of the sample for which there was no room.
    pub fn take_crowded(&mut self) -> Vec<Request> {
        let waiting = std::mem::take(&mut self.backlog).into_iter().chain(std::mem::take(&mut self.outbox));
        let requests = waiting.filter_map(|said| if let Input::Submit(request) = said { Some(request) } else { None });
        requests.filter(|request| self.requests.get(request.id.0).is_some_and(|asked| asked.counts)).collect()
    }

    /// Whatever of the sample has not ended is followed no further; what that was.
    pub fn give_up(&mut self, now: Time) -> Vec<(RequestId, Served)> {
        let left = self.requests.open().filter(|(_, asked)| asked.counts);
        let left: Vec<_> = left.map(|(id, asked)| (id, self.describe_served(asked, now))).collect();
        left.iter().for_each(|(_, it)| self.meter.give_up(it));
        left
    }

    /// What is counted of a request, as if it ended now.
    fn describe_served(&self, asked: &RequestState, now: Time) -> Served {
        Served {
            at: asked.at,
            arrived: asked.arrived,
            began: asked.began,
            ended: now,
            external: Span(asked.external),
            counts: asked.counts,
            qos: self.classes.qos(asked.issued_as, asked.limit),
        }
    }
}
