//! Several commands in the drive: which start at once, which wait, and which has the arm next.
//!
//! A command holds the arm until its access has ended; its data may then still be on the bus while the next one's
//! overhead and seek go on. Nothing is decided ahead of time: what comes before a decision still counts in it.
//!
//! **A drive decides as late as it can.** With a queue in the drive (`drive::queue`) what needs no arm starts at
//! once; what needs it waits, and one is picked when the arm is let go: when an access has ended, not its bus
//! transfer. A decision is an event inside the drive (`Machine::next`, `finish` gives nothing): what comes before it
//! still counts in it. Writes wait for room in the order they came; while one waits, write-back competes for the arm.
//! A part of a command's time, `queued`, says how long others went first.

use crate::buffer::Dirty;
use crate::cache::Lookup;
use crate::foresight::{ArmForesight, TurnBar};
use crate::state::{Beginning, CommandOrigin, Drive, Waiting};
use block::{Command, Lbn, Span, Time, Verb};
use disk::{Drain, Spot, Turn};

/// Who has the arm next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// The command that waits at this place.
    Command(usize),
    /// The write buffer, for the writes that wait for room in it.
    WriteBack,
}

impl Drive {
    /// Takes in a command that has just come: it starts at once or waits.
    pub(crate) fn admit(&mut self, now: Time, mut waiting: Waiting) {
        let command = waiting.command;
        let free = self.has_free_arm(now) && self.waiting.is_empty();
        let wants_room = command.verb.writes() && self.waiting.iter().any(|it| it.wants_room);
        if self.bus.exclusive {
            waiting.begins = self.beginning_of(command);
            self.insert_waiting(self.waiting.len(), waiting);
            self.let_in(now);
            self.decide(now);
        } else if self.needs_no_arm(now, &waiting, wants_room)
            || (free && !waiting.wants_room)
            || self.waits_in_memory(command)
        {
            self.start(now, waiting);
        } else {
            let comes = command.verb.writes() && self.expiry(&waiting).is_none();
            if comes && !self.is_buffered(command) && self.waiting.is_empty() {
                // Nothing that came before it, a flush say, still wants those on the medium.
                self.supersede(command.at);
            }
            waiting.begins = self.beginning_of(command);
            self.insert_waiting(self.waiting.len(), waiting);
            self.decide(now);
        }
        self.decision = self.next_decision(now);
    }

    /// Where a transfer begins; nothing of what is none.
    pub(crate) fn beginning_of(&self, command: Command) -> Option<Beginning> {
        let transfers = matches!(command.verb, Verb::Read | Verb::Write { .. }) && command.at.blocks > 0;
        let inside = transfers && command.at.end().0 <= self.mechanics.layout.blocks();
        inside.then(|| {
            let spot = self.mechanics.layout.locate_command(command.at.start);
            let caught = self.mechanics.catch_angle(&spot, command.at, command.verb.direction());
            Beginning { spot, caught, region: self.segments.region_of(command.at.start) }
        })
    }

    /// A command waits from now on, at this place among the others.
    fn insert_waiting(&mut self, place: usize, waiting: Waiting) {
        if let Some(region) = waiting.read_region() {
            self.segments.add_awaited(region);
        }
        self.waiting.insert(place, waiting);
    }

    /// One that waits does so no more.
    pub(crate) fn remove_waiting(&mut self, place: usize) -> Waiting {
        let waiting = self.waiting.remove(place);
        if let Some(region) = waiting.read_region() {
            self.segments.remove_awaited(region);
        }
        waiting
    }

    /// Of how many that wait something may be in memory, where all are reads and there is nothing to write.
    #[inline(always)]
    fn reads_alone(&self) -> Option<usize> {
        let (reads, near) = self.segments.count_awaited();
        (reads == self.waiting.len() && !self.holds_writes()).then_some(near)
    }

    /// Whether anything waits to be written back, or is.
    #[inline(always)]
    pub(crate) fn holds_writes(&self) -> bool {
        !self.buffer.is_empty() || self.write_back.is_some()
    }

    /// Whether a segment may have what a read that waits begins with. Of most it is told without a look.
    #[inline(always)]
    fn may_be_read(&self, waiting: &Waiting) -> bool {
        waiting.begins.as_ref().is_none_or(|begins| self.segments.may_have(begins.region))
    }

    /// Starts what waits and needs no arm and, if the arm is free, what has it next.
    pub(crate) fn decide(&mut self, now: Time) {
        self.let_in_one(now);
        self.serve(now);
        // What is given up may have kept others from the write buffer.
        while self.heeds_marks && self.expire(now) {
            self.serve(now);
        }
        self.decision = self.next_decision(now);
    }

    /// The same, but for what its limit ends.
    fn serve(&mut self, now: Time) {
        loop {
            self.start_ready(now);
            if self.waiting.is_empty() || !self.has_free_arm(now) {
                break;
            }
            match self.choose(now) {
                // Who has it next is looked at only when the least has been read ahead.
                Some(Next::Command(i)) if self.reads_least(now, self.waiting[i].command) => break,
                Some(Next::Command(i)) => {
                    let chosen = self.remove_waiting(i);
                    let segment = self.held_by(now, chosen.command);
                    self.start(now, chosen);
                    if let Some(segment) = segment {
                        self.read_on_for_next(now, segment);
                    }
                }
                Some(Next::WriteBack) => {
                    self.stop_read_ahead(now);
                    self.start_write_back(now);
                }
                None => break,
            }
        }
    }

    /// Whether a command waits for the least that is read ahead, in a drive that begins no other then.
    fn reads_least(&self, now: Time, command: Command) -> bool {
        let goes_on = |segment| command.verb == Verb::Read && self.begins_in(segment, command.at);
        self.bus.exclusive
            && self.least_read(now).is_some()
            && !self.read_ahead.is_some_and(|ahead| goes_on(ahead.segment))
    }

    /// The segment that holds all a command reads which yet has the arm.
    fn held_by(&self, now: Time, command: Command) -> Option<usize> {
        let waits = self.bus.exclusive && self.cache.hits_wait && command.verb == Verb::Read;
        waits.then(|| self.segment_of(now, command.at)).flatten()
    }

    /// A read that has the arm and needs it no more gives it to the next one at once where that begins in the same segment.
    fn read_on_for_next(&mut self, now: Time, segment: usize) {
        let (served, mut passed) = (self.served, std::mem::take(&mut self.passed));
        while let Some(Next::Command(i)) = self.choose(now) {
            let next = self.waiting[i].command;
            if next.verb != Verb::Read || !self.begins_in(segment, next.at) {
                break;
            }
            if self.read_ahead_for(now, segment, next.at) {
                break;
            }
            self.served = next.at;
            passed.push((i, self.remove_waiting(i)));
        }
        self.served = served;
        while let Some((i, waiting)) = passed.pop() {
            self.insert_waiting(i, waiting);
        }
        self.passed = passed;
    }

    /// Starts what waits and needs no arm, in order of arrival, up to a flush.
    fn start_ready(&mut self, now: Time) {
        if self.reads_alone() == Some(0) {
            return;
        }
        let (mut i, mut wants_room) = (0, false);
        while let Some(next) = self.next_to_look_at(i) {
            i = next;
            let waiting = &self.waiting[i];
            if waiting.came <= now && self.needs_no_arm(now, waiting, wants_room) {
                let waiting = self.remove_waiting(i);
                self.start(now, waiting);
            } else {
                wants_room |= waiting.wants_room;
                i += 1;
            }
        }
    }

    /// The first from this place on, up to a flush, that is no read which cannot be in memory.
    #[inline]
    fn next_to_look_at(&self, from: usize) -> Option<usize> {
        let writes = self.holds_writes();
        let passed_over = |it: &Waiting| matches!(it.command.verb, Verb::Read) && !(writes || self.may_be_read(it));
        let next = from + self.waiting[from..].iter().position(|it| !passed_over(it))?;
        (!matches!(self.waiting[next].command.verb, Verb::Flush)).then_some(next)
    }

    /// Whether no command has the arm and no write-back is under way: a read-ahead gives way.
    fn has_free_arm(&self, now: Time) -> bool {
        self.held <= now && self.write_back.is_none()
    }

    /// Whether more than one command that was let in waits.
    fn has_others(&self, now: Time) -> bool {
        self.waiting.iter().filter(|it| it.came <= now).count() > usize::from(self.bus.exclusive)
    }

    /// Whether a command goes into the write buffer.
    pub(crate) fn is_buffered(&self, command: Command) -> bool {
        command.verb == (Verb::Write { fua: false }) && u64::from(command.at.blocks) <= self.buffer.largest()
    }

    /// Whether a command that waits does so for room in the write buffer, and not for the arm.
    pub(crate) fn wants_room(&self, command: Command) -> bool {
        self.cache.accepts_busy && self.is_buffered(command)
    }

    /// Whether a command waited while another was served, not only for the drive's own work.
    pub(crate) fn is_behind(&self, waiting: &Waiting) -> bool {
        waiting.behind || waiting.ordinal != self.ordinal
    }

    /// Whether a command can be served without the arm now: from memory, into the buffer where no earlier write
    /// `wants_room`, or because there is nothing to serve.
    fn needs_no_arm(&self, now: Time, waiting: &Waiting, wants_room: bool) -> bool {
        let command = waiting.command;
        let at = command.at;
        match command.verb {
            Verb::Flush => false,
            Verb::Discard(_) => true,
            _ if at.blocks == 0 || at.end().0 > self.mechanics.layout.blocks() => true,
            Verb::Seek => false,
            Verb::Read if self.cache.hits_wait && self.write_back.is_some() => false,
            Verb::Read if self.cache.hits_wait && self.held > now => false,
            Verb::Read if self.cache.hits_wait && (waiting.came < now || self.has_others(now)) => false,
            Verb::Read => self.segments_hold(now, at) || self.holds_written(at),
            Verb::Write { .. }
                if !self.cache.accepts_busy && (waiting.came < now || self.held > now || self.has_others(now)) =>
            {
                false
            }
            Verb::Write { .. } => self.is_buffered(command) && !wants_room && self.drained <= now && self.fits(at),
        }
    }

    /// Whether a command that finds no other waits only for what the arm is at, to be answered from memory: what is found
    /// when it comes is not lost meanwhile.
    fn waits_in_memory(&self, Command { verb, at, .. }: Command) -> bool {
        let waits = self.is_idle() && verb == Verb::Read && self.cache.hits_wait;
        waits && (matches!(self.segments.look(at), Lookup::Hit(_)) || self.holds_written(at))
    }

    /// What has the arm next: what waited too long, else what it can begin soonest. The caller guarantees that the arm
    /// is free and that something waits.
    fn choose(&self, now: Time) -> Option<Next> {
        if let Some(near) = self.reads_alone().filter(|_| self.reads_go_by_way) {
            return self.choose_read(now, near).map(Next::Command);
        }
        let flush = self.waiting.iter().position(|it| matches!(it.command.verb, Verb::Flush));
        let ahead_of_flush = &self.waiting[..flush.unwrap_or(self.waiting.len())];
        let writes_back = self.buffer.first().is_some_and(|dirty| dirty.ready <= now);
        // What the last write-back shares a sector with is on the medium, and its room free, when that sector has passed.
        let passing = self.free > now;
        if writes_back && self.cache.drain != Drain::Soonest {
            return (!passing).then_some(Next::WriteBack);
        }
        let writes_back = writes_back && !passing;
        let needs_room = |it: &Waiting| it.wants_room && it.came <= now;
        let wants_room = writes_back && ahead_of_flush.iter().any(needs_room);
        let oldest = self.waiting.first()?;
        if flush == Some(0) {
            return Some(Next::Command(0));
        }
        if now.since(oldest.issued) > self.rules.age_limit {
            match oldest.wants_room {
                true if wants_room => return Some(Next::WriteBack),
                true => {}
                false => return Some(Next::Command(0)),
            }
        }
        let soonest = self.rules.order == Turn::Soonest;
        let mut best = (wants_room && soonest).then(|| (self.foresee_write_back(now).0, Next::WriteBack));
        // In the other orders it is the turn of the first write that waits for room.
        let writer = ahead_of_flush.iter().position(needs_room).filter(|_| wants_room && !soonest);
        // What the bus lets in just now is there for this decision only where nothing else is.
        let before = self.bus.exclusive && ahead_of_flush.iter().any(|it| it.came < now);
        let competes = |(i, waiting): &(usize, &Waiting)| {
            let late = self.bus.exclusive && (waiting.came > now || (before && waiting.came == now));
            !late && (!waiting.wants_room || writer == Some(*i))
        };
        if self.heeds_marks {
            let competing = ahead_of_flush.iter().enumerate().filter(|it| competes(it) && !it.1.wants_room);
            if let Some(i) = self.most_urgent(now, competing) {
                return Some(Next::Command(i));
            }
        }
        let weighed = ahead_of_flush.iter().enumerate().filter(competes).take(usize::from(self.rules.weighs));
        let mut arm = ArmForesight::new(self);
        for (i, waiting) in weighed {
            let below = best.map_or(u64::MAX, |(least, _)| least);
            if arm.is_beyond(self, now, waiting, below) {
                continue;
            }
            if let Some(cost) = self.foresee_turn(now, waiting, &mut arm, below) {
                best = Some((cost, if writer == Some(i) { Next::WriteBack } else { Next::Command(i) }));
            }
        }
        best.map(|(_, next)| next)
    }

    /// The same where nothing waits but reads, each of which goes by its way unless memory may have some of it: the hot path of a drive
    /// that has a choice, of so many reads `near` a segment. Of most the angle alone tells that they are not next.
    fn choose_read(&self, now: Time, near: usize) -> Option<usize> {
        if now.since(self.waiting.first()?.issued) > self.rules.age_limit {
            return Some(0);
        }
        let mut arm = ArmForesight::new(self);
        let (mut best, mut bar) = (None, TurnBar::new(self, now));
        for (i, waiting) in self.waiting.iter().enumerate().take(usize::from(self.rules.weighs)) {
            let cost = match &waiting.begins {
                Some(begins) if !(near > 0 && self.may_be_read(waiting)) => {
                    self.foresee_read(now, (waiting, begins), &mut arm, &bar)
                }
                _ => self.foresee_turn(now, waiting, &mut arm, bar.below),
            };
            if let Some(cost) = cost {
                best = Some(i);
                bar.lower(self, cost);
            }
        }
        best
    }

    /// How far a command that waits is from being next in the order of the queue: in ns or, in an order by blocks, in blocks.
    /// Nothing where that is `below` or more: most are told by the way of the arm alone.
    #[inline(never)]
    pub(crate) fn foresee_turn(&self, now: Time, waiting: &Waiting, arm: &mut ArmForesight, below: u64) -> Option<u64> {
        if self.rules.order != Turn::Soonest {
            return Some(self.distance(self.rules.order, waiting.command.at.start)).filter(|cost| *cost < below);
        }
        let origin = arm.origin_of(self, waiting);
        let needs_arm = match waiting.command.verb {
            Verb::Read => {
                (self.bus.exclusive && self.cache.hits_wait) || !(self.holds_writes() || self.may_be_read(waiting))
            }
            _ => !self.cache.accepts_busy,
        };
        let cost = match (needs_arm, &waiting.begins) {
            // The arm is on its way there already; the overhead passes meanwhile.
            (false, _) if self.is_quick(waiting.command) => 0,
            (_, Some(begins)) => {
                let transfer = (waiting, waiting.command.verb, origin);
                return self.foresee_transfer(now, transfer, &begins.spot, arm, below, |_| false);
            }
            (true, None) => self.foresee_access(now, waiting.issued, waiting.command, origin).0,
            (false, None) => self.foresee_from(now, waiting.issued, waiting.command, origin).0,
        };
        Some(cost).filter(|cost| *cost < below)
    }

    /// How long a transfer that begins at `spot` and takes the arm would wait for its first block, in ns. Nothing where that is `below`
    /// or more, or where `is_missed` says so of when the arm could be there at the soonest.
    #[inline(always)]
    fn foresee_transfer(
        &self,
        now: Time,
        (waiting, verb, origin): (&Waiting, Verb, CommandOrigin),
        spot: &Spot,
        arm: &mut ArmForesight,
        below: u64,
        is_missed: impl FnOnce(Span) -> bool,
    ) -> Option<u64> {
        let at = waiting.command.at;
        let ready = match verb {
            Verb::Read => arm.read_ready(now, waiting.issued, origin),
            _ => self.ready_at(now, waiting.issued, verb, origin),
        };
        arm.look(self, ready);
        let settles = self.settles_as(at, verb.direction());
        let stroke = self.mechanics.stroke(arm.track, spot.track, settles);
        let soonest = arm.free + self.noise.least(stroke.seek, &arm.spread) + stroke.switch;
        if soonest.since(now).0 >= below || is_missed(soonest.since(now)) {
            return None;
        }
        let arrived = arm.free + self.vary(stroke, settles, arm.free, || arm.spread).total();
        if arrived.since(now).0 >= below {
            return None;
        }
        let latency = self.mechanics.latency(&self.spindle, arrived, spot, at, verb.direction());
        Some((arrived.since(now) + latency).0).filter(|cost| *cost < below)
    }

    /// The same of a read, of which most is told by its angle, or by that and when the arm could be there.
    #[inline(always)]
    pub(crate) fn foresee_read(
        &self,
        now: Time,
        (waiting, begins): (&Waiting, &Beginning),
        arm: &mut ArmForesight,
        bar: &TurnBar,
    ) -> Option<u64> {
        if bar.is_beyond(begins) {
            return None;
        }
        let origin = arm.origin_of(self, waiting);
        let is_missed = |least| bar.is_missed(begins, least);
        // What is told as a constant is not asked of each.
        self.foresee_transfer(now, (waiting, Verb::Read, origin), &begins.spot, arm, bar.below, is_missed)
    }

    /// How far a command that begins at block `at` is from being next, in an order by blocks.
    fn distance(&self, order: Turn, at: Lbn) -> u64 {
        let all = self.mechanics.layout.blocks();
        let (start, end) = (self.served.start, self.served.end());
        match order {
            Turn::Soonest | Turn::Fcfs => 0,
            Turn::Look if (at >= start) == self.ascends || at == start => at.0.abs_diff(start.0),
            Turn::Look => all + at.0.abs_diff(start.0),
            Turn::Ascending if at >= start => at.0 - start.0,
            Turn::Ascending => all + (start.0 - at.0),
            Turn::CLook if at >= start => at.0 - start.0,
            Turn::CLook => all + at.0,
            // Of two as far away the one above.
            Turn::Sstf if at >= end => 2 * (at.0 - end.0),
            Turn::Sstf => 2 * (end.0 - at.0) + 1,
        }
    }

    /// How long a write-back begun now would take to its first block.
    fn foresee_write_back(&self, now: Time) -> Span {
        if self.goes_on(now) {
            return Span::ZERO;
        }
        let (free, track) = self.foresee_arm(now);
        let begins = |dirty: &Dirty, before| self.write_back_begins(free.max(now), track, dirty, before);
        self.buffer.soonest(free.max(now), begins).map_or(Span::ZERO, |(_, begins)| begins.since(now))
    }

    /// When it decides next, if nothing comes before.
    fn next_decision(&self, now: Time) -> Option<Time> {
        let change = self.next_change(now);
        if self.heeds_marks { change.into_iter().chain(self.next_expiry()).min() } else { change }
    }

    /// When the arm or the bus gives reason to decide.
    fn next_change(&self, now: Time) -> Option<Time> {
        let next = self.next_for_arm(now);
        if !self.bus.exclusive || self.waiting.iter().all(|it| it.came != Time::NEVER) {
            return next;
        }
        // Whoever waits for the bus is let in when it is let go, whatever the arm is at.
        let let_go = [self.connection.until, self.told].into_iter().filter(|at| *at > now);
        next.into_iter().chain(let_go).min()
    }

    /// When it decides next who has the arm.
    fn next_for_arm(&self, now: Time) -> Option<Time> {
        if self.waiting.is_empty() {
            return None;
        }
        if self.held > now {
            return Some(self.held);
        }
        if self.bus.exclusive
            && let Some(at) = self.least_read(now)
        {
            return Some(at);
        }
        let own = self.next_own_decision();
        if !self.bus.exclusive {
            return own;
        }
        let next = self.waiting.iter().map(|it| it.came).filter(|came| *came > now && *came < Time::NEVER).min();
        // With nothing under way it has just decided that nobody has the arm: only what the bus lets in changes that.
        let own = own.filter(|at| *at > now || self.write_back.is_some());
        next.into_iter().chain(own).min()
    }

    /// When the drive's own work gives reason to decide.
    fn next_own_decision(&self) -> Option<Time> {
        let Some(back) = self.write_back else {
            return self.buffer.first().map(|dirty| dirty.ready.max(self.free));
        };
        match self.waiting.iter().find(|it| it.wants_room) {
            Some(waiting) => self.room_at(waiting.command.at),
            None => Some(self.write_back_end(back)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::{Extent, Place, Tag};
    use disk::{Queue, Sheet, Truth, catalogue};

    /// A drive that answers reads from memory in their turn, behind a bus for one, with blocks 40 to 100 in a segment, and these reads
    /// waiting in it; the arm was last given to the first.
    fn drive(order: Turn, reads: &[Extent]) -> Drive {
        let mut sheet = catalogue::find("st318437lw").expect("it is in the catalogue").sheet;
        sheet.bus.exclusive = true;
        sheet.cache = disk::Cache { hits_wait: true, ..sheet.cache };
        sheet.queue = Queue { depth: 16, order, age_limit: Queue::AGELESS, ..sheet.queue };
        let mut drive = Drive::new(&Sheet { ..sheet }, &Truth::default(), 1);
        drive.segments.fill(Lbn(40), Lbn(100));
        drive.served = reads[0];
        for (tag, at) in (0..).zip(&reads[1..]) {
            let command = Command::new(Verb::Read, *at, Place::Nowhere);
            let (issued, came) = (Time(5), Time(10));
            let waiting = Waiting {
                tag: Tag(tag),
                issued,
                command,
                came,
                ordinal: 0,
                behind: false,
                writing: false,
                begins: None,
                wants_room: false,
            };
            drive.waiting.push(waiting);
        }
        drive
    }

    /// How far a look ahead in the queue has the arm read on, and what it leaves: the order of those that wait, and what was served.
    fn look_ahead(drive: &mut Drive) -> (Option<Lbn>, Vec<Tag>, Extent) {
        drive.read_on_for_next(Time(1_000_000), 0);
        let order = drive.waiting.iter().map(|it| it.tag).collect();
        (drive.read_ahead.map(|ahead| ahead.least), order, drive.served)
    }

    #[test]
    fn a_look_ahead_reads_on_for_the_first_that_memory_does_not_hold_and_leaves_the_queue_as_it_was() {
        let orders = [Turn::Soonest, Turn::Fcfs, Turn::Look, Turn::Ascending, Turn::CLook, Turn::Sstf];
        let mut state = 9u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let (mut read_on, mut not) = (0, 0);
        for step in 0..3000 {
            let reads: Vec<Extent> =
                (0..2 + draw(8)).map(|_| Extent::new(30 + draw(80), 1 + draw(30) as u32)).collect();
            let order = orders[step % orders.len()];
            let mut drive = drive(order, &reads);
            // Served one after the other, the first that is not all in memory.
            let mut served = drive.clone();
            let mut first = None;
            while let Some(Next::Command(i)) = served.choose(Time(1_000_000)) {
                let at = served.waiting.remove(i).command.at;
                if at.end().0 > 100 || at.start.0 < 40 {
                    first = Some(at);
                    break;
                }
                served.served = at;
            }
            let expected = first.filter(|at| (40..100).contains(&at.start.0)).map(Extent::end);
            let (least, left, last) = look_ahead(&mut drive);
            assert_eq!(least, expected, "{order:?} of {reads:?}");
            assert_eq!(
                (left, last),
                ((0..reads.len() as u32 - 1).map(Tag).collect(), reads[0]),
                "{order:?} of {reads:?}"
            );
            *(if expected.is_some() { &mut read_on } else { &mut not }) += 1;
        }
        assert!(read_on > 300 && not > 300, "{read_on}, {not}");
    }
}
