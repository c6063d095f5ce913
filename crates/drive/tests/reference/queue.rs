//! Several commands in the drive. A command has the arm until its sectors have passed; its data may still be on the bus while the
//! next one's overhead and move go on. What has the arm next is looked at when it is let go, when a write-back has ended, and when
//! one has made the room a write waits for.

use crate::compare::ROUNDING;
use crate::machine::{Answer, Machine, Ties};
use crate::segments::Found;
use block::{Command, Extent, Mark, Verb};
use disk::{After, Drain, FreesAt, Turn};

#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    pub tag: u32,
    pub verb: Verb,
    pub at: Extent,
    pub issued: u64,
    pub mark: Mark,
    /// Commands that had begun when it came, and whether one of them had the arm.
    before: u64,
    behind: bool,
    /// Whether something was to be written back when it came.
    writing: bool,
}

/// What has the arm next.
enum Next {
    Command(usize),
    WriteBack,
}

impl Machine {
    pub fn issue(&mut self, now: u64, tag: u32, Command { verb, at, mark, .. }: Command) {
        self.advance(now);
        let writing = self.back.is_some() || !self.dirty.is_empty();
        // A command that is complete for the host keeps nobody waiting, though the arm be still at it.
        let alone = self.flying.is_empty() && self.waiting.is_empty();
        let behind = !alone && !self.is_over(self.held, now);
        let waiting = Waiting { tag, verb, at, issued: now, mark, before: self.begun, behind, writing };
        if self.rules.depth == 1 {
            self.start(now, waiting);
            return;
        }
        let free = self.arm_is_free(now) && self.waiting.is_empty() && !self.is_buffered(&waiting);
        let room_wanted = self.waiting.iter().any(|it| self.is_buffered(it));
        if free || self.needs_no_arm(now, &waiting, room_wanted) || self.waits_in_memory(&waiting) {
            self.start(now, waiting);
        } else {
            // What it replaces need not be written, unless something before it wants it on the medium.
            let sure = crate::marks::given_up(&self.rules, &waiting).is_none();
            if verb.writes() && sure && !self.is_buffered(&waiting) && self.waiting.is_empty() {
                self.supersede(at.start.0, at.end().0);
            }
            self.waiting.push(waiting);
            self.decide(now);
        }
        self.decision = self.next_of_all(now);
    }

    /// When something is decided next.
    pub fn next(&self) -> Option<u64> {
        self.decision
    }

    /// The command, if its end is known and nothing comes before that.
    pub fn take(&mut self, tag: u32) -> Option<Answer> {
        let i = self.flying.iter().position(|(it, _)| *it == tag)?;
        let end = self.flying[i].1.end;
        if self.decision.is_some_and(|at| at <= end) {
            return None;
        }
        Some(self.flying.remove(i).1)
    }

    /// Lets the next decision happen.
    pub fn happen(&mut self) {
        if let Some(at) = self.decision {
            self.advance(at);
        }
    }

    fn start(&mut self, now: u64, waiting: Waiting) {
        let Waiting { tag, verb, at, issued, .. } = waiting;
        self.turn = now;
        let last = std::mem::replace(&mut self.served, (at.start.0, at.end().0));
        self.ascends = at.start.0 > last.0 || (self.ascends && at.start.0 == last.0);
        // The overhead passes while it waits, unless the drive has one of its own for what waited behind others.
        let queued = self.is_behind(&waiting) && self.overheads.queued.is_some();
        self.waits_for_writes = waiting.writing && !self.is_behind(&waiting);
        let at_its_turn = (queued || self.is_at_hand(&waiting)) && !self.is_buffered(&waiting);
        // An arm that is given on late does not set out before that, though the overhead has passed.
        let late = self.rules.frees_at != FreesAt::Medium && now > issued;
        let from = match at_its_turn {
            true => now,
            false if late => issued.max(now.saturating_sub(self.overhead(self.class(verb)))),
            false => issued,
        };
        let before = self.held;
        let answer = match verb {
            Verb::Read => self.read(from, at, queued),
            Verb::Write { fua } => self.write(from, now, at, fua, queued),
            Verb::Flush => self.flush(from, now),
            Verb::Seek => self.seek(from, at, queued),
            Verb::Discard(_) => unreachable!("no scene gives anything up"),
        };
        match verb {
            Verb::Read => self.last_write = None,
            Verb::Write { .. } => self.last_write = Some(at.end().0),
            Verb::Seek | Verb::Flush | Verb::Discard(_) => {}
        }
        if self.cache.hits_wait && self.rules.depth > 1 && verb == Verb::Read {
            self.held = self.held.max(now);
        }
        let done = if verb.writes() { self.overheads.done.write.0 } else { self.overheads.done.read.0 };
        let done = if verb == Verb::Flush { 0 } else { done };
        if self.held != before || self.held == now {
            match self.rules.frees_at {
                FreesAt::Medium => {}
                FreesAt::Message => self.held = self.held.max(answer.end - done),
                FreesAt::Completion => self.held = self.held.max(answer.end),
            }
        }
        self.begun += 1;
        self.waits_for_writes = false;
        self.flying.push((tag, answer));
    }

    pub fn decide(&mut self, now: u64) {
        loop {
            self.start_ready(now);
            if (self.waiting.is_empty() || !self.arm_is_free(now)) && self.give_up_late(now) {
                continue;
            }
            if self.waiting.is_empty() || !self.arm_is_free(now) {
                break;
            }
            match self.next_for_arm(now) {
                Some(Next::Command(i)) => {
                    let chosen = self.waiting.remove(i);
                    self.start(now, chosen);
                }
                Some(Next::WriteBack) => {
                    self.stop_read_ahead(now);
                    self.start_write_back(now);
                }
                None if self.give_up_late(now) => {}
                None => break,
            }
        }
        self.decision = self.next_of_all(now);
    }

    fn next_of_all(&self, now: u64) -> Option<u64> {
        let given_up = self.waiting.iter().filter_map(|it| crate::marks::given_up(&self.rules, it)).min();
        self.next_decision(now).into_iter().chain(given_up).min()
    }

    /// What waits and needs no arm starts, in order of arrival; what came after a flush waits for it.
    fn start_ready(&mut self, now: u64) {
        let (mut i, mut room_wanted) = (0, false);
        while i < self.waiting.len() && self.waiting[i].verb != Verb::Flush {
            let waiting = self.waiting[i];
            if self.needs_no_arm(now, &waiting, room_wanted) {
                self.waiting.remove(i);
                self.start(now, waiting);
            } else {
                room_wanted |= self.is_buffered(&waiting);
                i += 1;
            }
        }
    }

    /// Whether a time has come, but for its rounding.
    fn is_over(&self, time: u64, now: u64) -> bool {
        time <= now + ROUNDING
    }

    fn arm_is_free(&self, now: u64) -> bool {
        self.is_over(self.held, now) && self.back.is_none()
    }

    pub fn is_buffered(&self, it: &Waiting) -> bool {
        it.verb == (Verb::Write { fua: false }) && it.at.blocks <= self.cache.write_buffer
    }

    /// Whether it waited while another command was served.
    fn is_behind(&self, it: &Waiting) -> bool {
        it.behind || it.before != self.begun
    }

    /// Whether it is served from memory, into memory, or by the read-ahead under way.
    fn is_at_hand(&self, it: &Waiting) -> bool {
        let (start, end) = (it.at.start.0, it.at.end().0);
        match it.verb {
            Verb::Read if self.cache.hits_wait && self.back.is_some() => false,
            Verb::Read => match self.segments.look(start, end) {
                Found::Hit(_) => true,
                Found::Beginning(i) if self.ahead.is_some_and(|ahead| ahead.segment == i) => {
                    self.cache.almost_hits || start < self.segments.all[i].end
                }
                _ => self.holds_written(start, end),
            },
            Verb::Write { fua } => !fua && self.fits(start, end),
            Verb::Flush | Verb::Seek | Verb::Discard(_) => false,
        }
    }

    fn needs_no_arm(&self, now: u64, it: &Waiting, room_wanted: bool) -> bool {
        let (start, end) = (it.at.start.0, it.at.end().0);
        match it.verb {
            Verb::Flush | Verb::Seek | Verb::Discard(_) => false,
            Verb::Read if self.cache.hits_wait && (!self.arm_is_free(now) || !self.waiting.is_empty()) => false,
            Verb::Read => {
                let held = match (self.segments.look(start, end), self.filling) {
                    (Found::Hit(i), Some((segment, from))) if i == segment && !self.is_over(self.held, now) => {
                        end <= from
                    }
                    (found, _) => matches!(found, Found::Hit(_)),
                };
                held || self.holds_written(start, end)
            }
            Verb::Write { .. } => {
                self.is_buffered(it) && !room_wanted && self.is_over(self.drained, now) && self.fits(start, end)
            }
        }
    }

    /// Whether it finds no other and waits only for what the arm is at, though it be answered from memory.
    fn waits_in_memory(&self, it: &Waiting) -> bool {
        let (start, end) = (it.at.start.0, it.at.end().0);
        let alone = self.waiting.is_empty() && self.flying.is_empty();
        let found = matches!(self.segments.look(start, end), Found::Hit(_)) || self.holds_written(start, end);
        alone && it.verb == Verb::Read && self.cache.hits_wait && found
    }

    /// What has the arm next: what waited too long, else what it can begin soonest.
    fn next_for_arm(&self, now: u64) -> Option<Next> {
        let there = self.dirty.front().is_some_and(|dirty| dirty.ready <= now);
        // The sector that a write-back ends in may be passing still, and what shares it is not on the medium before.
        let passing = !self.is_over(self.free(), now);
        if there && self.cache.drain != Drain::Soonest {
            return (!passing).then_some(Next::WriteBack);
        }
        let there = there && !passing;
        let flush = self.waiting.iter().position(|it| it.verb == Verb::Flush).unwrap_or(self.waiting.len());
        if flush == 0 {
            return Some(Next::Command(0));
        }
        let room_wanted = there && self.waiting[..flush].iter().any(|it| self.is_buffered(it));
        let oldest = &self.waiting[0];
        if now - oldest.issued > self.rules.age_limit.0 && (room_wanted || !self.is_buffered(oldest)) {
            return Some(if self.is_buffered(oldest) { Next::WriteBack } else { Next::Command(0) });
        }
        let soonest = self.rules.order == Turn::Soonest;
        let writer =
            self.waiting[..flush].iter().position(|it| self.is_buffered(it)).filter(|_| room_wanted && !soonest);
        if let Some(i) = self.marked_first(now, &self.waiting[..flush]) {
            return Some(Next::Command(i));
        }
        let mut best = (room_wanted && soonest).then(|| (self.cost_of_write_back(now), Next::WriteBack));
        let mut weighed = 0;
        for (i, it) in self.waiting[..flush].iter().enumerate() {
            if (self.is_buffered(it) && writer != Some(i)) || weighed == self.rules.weighs {
                continue;
            }
            weighed += 1;
            let cost = match self.rules.order {
                Turn::Soonest => self.cost(now, it),
                order => self.distance(order, it.at.start.0),
            };
            // What differs by roundings alone is a tie, which the first to come wins.
            if soonest && best.as_ref().is_some_and(|(least, _)| cost.abs_diff(*least) <= 2 * ROUNDING) {
                self.ties.set(Ties { commands: true, ..self.ties.get() });
            }
            if best.as_ref().is_none_or(|(least, _)| cost + if soonest { ROUNDING } else { 0 } < *least) {
                best = Some((cost, if writer == Some(i) { Next::WriteBack } else { Next::Command(i) }));
            }
        }
        best.map(|(_, next)| next)
    }

    /// The overhead of what is not answered from the cache.
    fn class(&self, verb: Verb) -> After {
        match verb {
            Verb::Write { fua: false } if self.cache.write_buffer > 0 => self.overheads.buffered,
            Verb::Write { .. } | Verb::Flush => self.overheads.write,
            Verb::Read | Verb::Seek | Verb::Discard(_) => self.overheads.read,
        }
    }

    /// How many blocks a command at `start` is from being next, in the order of the queue; those of another turn come after all of
    /// this one.
    pub fn distance(&self, order: Turn, start: u64) -> u64 {
        let (from, end) = self.served;
        let away = start.abs_diff(from);
        match order {
            Turn::Soonest | Turn::Fcfs => 0,
            Turn::Look => away + if start == from || (start > from) == self.ascends { 0 } else { self.blocks },
            Turn::Ascending => away + if start >= from { 0 } else { self.blocks },
            Turn::CLook => {
                if start >= from {
                    away
                } else {
                    self.blocks + start
                }
            }
            // Of two as near, the one above.
            Turn::Sstf => 2 * start.abs_diff(end) + u64::from(start < end),
        }
    }

    /// How long a waiting command would take to its first sector or, where sectors are taken in any order, without those that
    /// pass and the moves between them.
    pub fn cost(&self, now: u64, it: &Waiting) -> u64 {
        let class = match it.verb {
            Verb::Seek | Verb::Flush | Verb::Discard(_) => return 0,
            // The arm is on its way there.
            Verb::Read if self.is_at_hand(it) => return 0,
            Verb::Read => self.overheads.read,
            Verb::Write { .. } => self.overheads.write,
        };
        let queued = self.is_behind(it) && self.overheads.queued.is_some();
        let from = if queued { now } else { it.issued };
        let ready = now.max(from + self.queued_overhead(class, queued));
        let (free, head) = self.would_stop(ready);
        let (start, write) = (it.at.start.0, it.verb.writes());
        let arrived = self.approach(&head, free.max(ready), start, write);
        let (first, last) = self.sectors(start, it.at.end().0);
        let (passed, _) = self.medium.pass_all(&arrived, first, last, write);
        self.medium.positioning(&passed, now)
    }

    /// When the arm would be free if it were wanted at `ready`, and where.
    fn would_stop(&self, ready: u64) -> (u64, crate::medium::Head) {
        if self.cache.drain != Drain::Soonest && !self.dirty.is_empty() {
            let mut then = self.clone();
            let free = then.take_arm(ready);
            return (free, then.head);
        }
        let head = self.ahead.map_or(self.head, |ahead| self.stopped(ahead, ready).head);
        (self.medium.time(&head), head)
    }

    fn cost_of_write_back(&self, now: u64) -> u64 {
        if self.goes_on(now) {
            return 0;
        }
        let (free, head) = self.would_stop(now);
        self.choose(&head, free.max(now)).map_or(0, |(_, begins)| begins.saturating_sub(now))
    }

    fn next_decision(&self, now: u64) -> Option<u64> {
        if self.waiting.is_empty() {
            return None;
        }
        if !self.is_over(self.held, now) {
            return Some(self.held);
        }
        let Some(back) = &self.back else {
            return self.dirty.front().map(|dirty| dirty.ready.max(self.free()));
        };
        let room = self.waiting.iter().find(|it| self.is_buffered(it)).map(|it| {
            let free = u64::from(self.cache.write_buffer) - self.used;
            u64::from(it.at.blocks).saturating_sub(free)
        });
        let stop = match room {
            Some(wanted) if wanted > 0 && back.at_once.is_none() => back.limit.min(back.reached + wanted),
            _ => back.limit,
        };
        if back.at_once.is_some() {
            return Some(self.medium.time(&back.head));
        }
        let (_, head) = self.run_on(&back.head, back.reached, stop, u64::MAX, true);
        Some(self.medium.time(&head))
    }
}
