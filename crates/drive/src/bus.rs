//! A bus that commands, data and completions share one at a time: what comes while data are on their way is let in when
//! they are with the host, and data wait until a command has been told.

use crate::state::{Connection, Drive, Waiting};
use block::{Command, Span, Tag, Time, Verb};

impl Drive {
    /// How long a command has the bus that then lets go of it.
    fn telling(&self, command: Command) -> Span {
        let last = self.last_direction();
        let release = match command.verb {
            Verb::Write { .. } | Verb::Flush => self.overheads.release_write,
            Verb::Read | Verb::Seek | Verb::Discard(_) => self.overheads.release_read.a(last),
        };
        self.class(command.verb).a(last) + release
    }

    /// Lets in what waits for the bus, as far as it is known when that will be.
    pub(crate) fn let_in(&mut self, now: Time) {
        if !self.bus.exclusive {
            return;
        }
        for i in 0..self.waiting.len() {
            let Waiting { came, issued, command, .. } = self.waiting[i];
            if came != Time::NEVER {
                continue;
            }
            let Some(at) = self.free_bus(now, issued) else { break };
            self.waiting[i].came = at;
            self.tell(at, command);
        }
    }

    /// Lets in the first that waits for the bus, where that is free now: what it does with it then bears on the others.
    pub(crate) fn let_in_one(&mut self, now: Time) {
        if !self.bus.exclusive || now < self.told {
            return;
        }
        let Some(i) = self.waiting.iter().position(|it| it.came == Time::NEVER) else { return };
        let Waiting { issued, command, .. } = self.waiting[i];
        if self.free_bus(now, issued) == Some(now) {
            self.waiting[i].came = now;
            self.tell(now, command);
        }
    }

    /// When the bus is free for a command that was issued then; none if another one is let in before it when the data
    /// under way are with the host, and what follows those is not known.
    fn free_bus(&self, now: Time, issued: Time) -> Option<Time> {
        let Connection { from, until, cached, at_once, postponed, .. } = self.connection;
        let free = now.max(self.told);
        let at = match cached {
            Some((from, until)) if (free > from || (free == from && issued != free)) && free < until => until,
            _ => free,
        };
        // Of what comes at the very moment in which the bus changes hands a new command goes before data, and data before
        // a command that has waited: unless they came to be there meanwhile, so that it was before them. What is answered as it
        // is let in has the bus already.
        if at < from || now >= until || (at == from && !at_once && (issued == at || postponed)) {
            return Some(at);
        }
        (self.told <= until).then_some(until)
    }

    /// A command has the bus from `at` until it is told.
    pub(crate) fn tell(&mut self, at: Time, command: Command) {
        (self.telling_from, self.told) = (at, at + self.telling(command));
        self.postpone();
    }

    /// The data of a command that is being begun go from `from` on, for `least` at least.
    pub(crate) fn connects(&mut self, from: Time, least: Span) {
        self.connection = Connection { from, least, cached: None, at_once: false, postponed: false, ..self.connection };
    }

    /// The same of data of which what was in the cache goes from `first` on, for `span`.
    pub(crate) fn connects_twice(&mut self, first: Time, span: Span, from: Time, least: Span) {
        self.connection = Connection {
            from,
            least,
            cached: Some((first, first + span)),
            at_once: false,
            postponed: false,
            ..self.connection
        };
    }

    /// A command that was just begun has the bus for its data from `connection.from` until `end`.
    pub(crate) fn connect(&mut self, now: Time, tag: Tag, end: Time) {
        self.connection = Connection { tag, until: end, ..self.connection };
        self.postpone();
        self.let_in(now);
    }

    /// Data that would go while a command is told go after it.
    fn postpone(&mut self) {
        let Connection { tag, from, until, least, cached, .. } = self.connection;
        let meets = |begins: Time| self.bus.exclusive && begins >= self.telling_from && begins < self.told;
        let (mut free, mut late) = (self.told, meets(from));
        let cached = match cached {
            Some((first, end)) if meets(first) => {
                free = self.told + end.since(first);
                late = from < free;
                Some((self.told, free))
            }
            other => other,
        };
        self.connection.cached = cached;
        if !late {
            return;
        }
        let Some(flying) = self.flying.iter_mut().find(|it| it.tag == tag && it.end == until) else { return };
        let end = until.max(free + least);
        let late = end.since(until);
        flying.end = end;
        flying.parts.bus += late;
        self.held = if self.held == until { end } else { self.held };
        self.delivered += late;
        self.connection = Connection { from: free, until: end, postponed: from > self.telling_from, ..self.connection };
    }
}
