//! Writes by definition: into the buffer, to the medium; and writing back what is buffered.

use crate::compare::ROUNDING;
use crate::machine::{Answer, Machine, Ties};
use crate::medium::Head;
use crate::spin::Moment;
use block::Extent;
use disk::{Disconnect, Drain};

/// Extents weighed against one another for a write-back, the oldest first.
const WEIGHED: usize = 64;

/// Extents a drive keeps track of at most.
const MOST_EXTENTS: usize = 1024;

/// Blocks that wait in the write buffer.
#[derive(Clone, Copy, Debug)]
pub struct Dirty {
    pub start: u64,
    pub end: u64,
    pub version: u32,
    /// When the arm may set out for them: when they are there, or earlier, while they come from then on.
    pub ready: u64,
    pub data: Option<u64>,
    /// When the host was told.
    pub acknowledged: u64,
}

/// Blocks that are being written back.
#[derive(Clone, Debug)]
pub struct Back {
    pub head: Head,
    /// The block after the last that passed.
    pub reached: u64,
    pub limit: u64,
    /// Where blocks are taken out of order, room is given back only when all are on the medium.
    pub at_once: Option<u64>,
    /// What is written, in parts that came apart.
    pub parts: Vec<Dirty>,
}

impl Machine {
    /// A write that came, or has the arm, from `now` on, and that has no room in the buffer before `earliest`.
    pub fn write(&mut self, now: u64, earliest: u64, at: Extent, fua: bool, queued: bool) -> Answer {
        let (start, end) = (at.start.0, at.end().0);
        let overhead = self.overhead(self.overheads.buffered) + self.stage(now, end - start);
        self.version += 1;
        for block in start..end {
            self.current.insert(block, self.version);
        }
        // What waits for room waits for a write-back, which needs the arm at once.
        let waits = !fua && self.cache.write_buffer > 0 && !self.fits(start, end);
        let stops = if waits { now } else { now + overhead };
        if self.cache.ends_at_command {
            self.stop_read_ahead(now);
        }
        if self.ahead.is_some_and(|it| start < it.limit && self.segments.all[it.segment].start < end) {
            self.stop_read_ahead(stops);
        }
        let capacity = u64::from(self.cache.write_buffer);
        if fua || capacity == 0 {
            self.make_stale(stops, start, end);
            self.supersede(start, end);
            return self.write_medium(now, at, queued);
        }
        let mut room = (now + overhead).max(earliest);
        while !self.fits(start, end) {
            let made = if self.back.is_none() { self.begin_write_back(now) } else { self.make_room(end - start, now) };
            room = room.max(made);
        }
        self.make_stale(stops, start, end);
        // What it replaces is given up only when it has room itself.
        self.supersede(start, end);
        let from = self.exchanged.max(room + self.overheads.prepare.0);
        self.exchanged = from + self.bus.write_time(end - start);
        self.taken = (self.taken_before(now) + end - start, self.exchanged);
        let acknowledged = self.exchanged + self.overheads.done.write.0;
        let (ready, data) = if self.cache.seeks_early { (room, Some(from)) } else { (self.exchanged, None) };
        self.dirty.push_back(Dirty { start, end, version: self.version, ready, data, acknowledged });
        self.used += end - start;
        Answer { end: acknowledged, from_memory: true }
    }

    /// Blocks that the stage of a write that comes at `now` is told by.
    fn taken_before(&self, now: u64) -> u64 {
        let rest = self.overheads.stages.map_or(0, |stages| stages.rest.0);
        let rested = self.dirty.is_empty() && self.back.is_none() && now >= self.taken.1 + rest;
        if rested { 0 } else { self.taken.0 }
    }

    /// What a buffered write takes longer by its stage: that of the block it begins with is fast or not, and it is slow if with one of
    /// its blocks those between two slow writes are full.
    fn stage(&self, now: u64, blocks: u64) -> u64 {
        let Some(stages) = self.overheads.stages else { return 0 };
        let (before, fast, between) = (self.taken_before(now), u64::from(stages.fast), u64::from(stages.between));
        let fills = |count: u64| between > 0 && count > fast && (count - fast).is_multiple_of(between);
        match before {
            _ if before < fast => 0,
            _ if (before + 1..=before + blocks).any(fills) => stages.slow.0,
            _ => stages.mid.0,
        }
    }

    /// Whatever segments hold of blocks that are written now is stale.
    fn make_stale(&mut self, ready: u64, start: u64, end: u64) {
        self.segments.invalidate(start, end);
        if self.cache.shared && self.segments.most > 0 {
            // What is read ahead must have a segment to go to.
            let taken = self.segments.next_taken();
            if self.ahead.is_some_and(|ahead| Some(ahead.segment) == taken) {
                self.stop_read_ahead(ready);
            }
            let from = if self.cache.written_hits { start } else { end };
            self.segments.fill(from, end, &self.current);
        }
    }

    /// What waits of blocks that are written anew is not written back.
    pub fn supersede(&mut self, start: u64, end: u64) {
        let mut kept = std::collections::VecDeque::new();
        for dirty in std::mem::take(&mut self.dirty) {
            if dirty.end <= start || end <= dirty.start {
                kept.push_back(dirty);
                continue;
            }
            self.used -= dirty.end.min(end) - dirty.start.max(start);
            for (start, end) in [(dirty.start, start), (end, dirty.end)] {
                if start < end {
                    kept.push_back(Dirty { start, end, ..dirty });
                }
            }
        }
        self.dirty = kept;
    }

    /// Whether the buffer has room.
    pub fn fits(&self, start: u64, end: u64) -> bool {
        let most = match self.cache.write_extents as usize {
            0 => MOST_EXTENTS,
            some => some.min(MOST_EXTENTS),
        };
        let active = self.back.as_ref().map(|back| back.limit);
        let extents = self.dirty.len() + usize::from(most < MOST_EXTENTS && active.is_some());
        let last = self.dirty.back().map(|dirty| dirty.end).or(active);
        let joins = self.cache.joins_writes && last == Some(start);
        let most = if joins { MOST_EXTENTS } else { most };
        u64::from(self.cache.write_buffer) - self.used >= end - start && extents < most
    }

    /// It completes when it is on the medium.
    fn write_medium(&mut self, now: u64, at: Extent, queued: bool) -> Answer {
        let (start, end) = (at.start.0, at.end().0);
        let continues = self.last_write == Some(start);
        let plain = Disconnect {
            command: block::Span(self.queued_overhead(self.overheads.write, queued)),
            data: self.overheads.prepare,
            ..Disconnect::default()
        };
        let again = self.overheads.disconnect.filter(|_| self.last_write.is_some() && !continues);
        let times = again.unwrap_or(plain);
        let data = now + times.command.0 + times.data.0;
        let free = self.take_arm(now + times.command.0 + times.seek.0);
        let arrived = self.read_before(self.approach(&self.head, free, start, true), start, end);
        let held = if continues { 0.0 } else { self.write_watermark };
        let head = self.pass_coming(&arrived, (start, end), data, held);
        self.head = head;
        self.hold();
        self.written = Some(end);
        for block in start..end {
            self.on_medium.insert(block, self.version);
        }
        Answer { end: self.free() + self.overheads.done.write.0, from_memory: false }
    }

    /// A head that is to write part of a sector lets the first one pass before, to read it.
    fn read_before(&self, arrived: Head, start: u64, end: u64) -> Head {
        let whole = start.is_multiple_of(self.sector) && end.is_multiple_of(self.sector);
        if whole || !self.cache.merges_sectors { arrived } else { self.medium.pass(&arrived, start / self.sector).1 }
    }

    /// A write passes whose data come over the bus from `data` on: no sector before it is there. In order, it begins so late
    /// that the last does not come too soon, and that a share of `held` of what then still comes is there.
    fn pass_coming(&self, arrived: &Head, (start, end): (u64, u64), data: u64, held: f64) -> Head {
        let there = |upto: u64| data + self.bus.write_time(upto.min(end) - start);
        let (first, last) = self.sectors(start, end);
        let now = self.medium.time(arrived);
        if there(end) <= now {
            return self.medium.pass_all(arrived, first, last, true).1;
        }
        if self.medium.access.writes {
            return self.medium.pass_when(arrived, first, last, |sector| there((sector + 1) * self.sector));
        }
        let from = self.hold_back(arrived, (start, end), data);
        let from = from + (there(end).saturating_sub(from) as f64 * held) as u64;
        let place = &self.medium.places[first as usize];
        self.medium.pass_all(&self.medium.arrive(place, from), first, last, true).1
    }

    /// From when sectors may pass, in order, whose data come from `data` on: the first when it is there, and so late that the
    /// last does not come too soon.
    fn hold_back(&self, arrived: &Head, (start, end): (u64, u64), data: u64) -> u64 {
        let (first, last) = self.sectors(start, end);
        let (now, all) = (self.medium.time(arrived), data + self.bus.write_time(end - start));
        if all <= now {
            return now;
        }
        let place = &self.medium.places[first as usize];
        let from = now.max(data + self.bus.write_time(self.sector));
        // As long after the first sector begins the last one does, whatever turn it is.
        let (passed, _) = self.medium.pass_all(&self.medium.arrive(place, from), first, last, true);
        let began = passed.iter().map(|it| it.began).min().unwrap_or(from);
        let last = passed.iter().map(|it| it.began).max().unwrap_or(from);
        from.max(all.saturating_sub(last - began))
    }

    /// A flush that came at `now` and whose turn it is at `turn`: it ends when all is on the medium, and after every command
    /// before it.
    pub fn flush(&mut self, now: u64, turn: u64) -> Answer {
        let mut end = (now + self.overhead(self.overheads.write)).max(turn).max(self.held);
        while self.back.is_some() || !self.dirty.is_empty() {
            end = end.max(self.make_room(u64::from(self.cache.write_buffer), turn));
        }
        (self.held, self.drained) = (end, end);
        self.taken.0 = 0;
        let end = self.flying.iter().map(|(_, answer)| answer.end).fold(end, u64::max);
        Answer { end, from_memory: false }
    }

    /// Whether what was written, and is not all on the medium yet, answers a read by itself.
    pub fn holds_written(&self, start: u64, end: u64) -> bool {
        let waits = self.dirty.iter().any(|it| it.start <= start && end <= it.end);
        let leaves = |back: &Back| back.at_once.unwrap_or(back.reached) <= start && end <= back.limit;
        self.cache.written_hits && (waits || self.back.as_ref().is_some_and(leaves))
    }

    /// Writes back what waits until nothing of these blocks does. When that is.
    pub fn clear(&mut self, now: u64, start: u64, end: u64) -> u64 {
        let mut cleared = now;
        loop {
            let waits = self.dirty.iter().any(|it| it.start < end && start < it.end);
            let leaves = |back: &Back| back.at_once.unwrap_or(back.reached) < end && start < back.limit;
            if !waits && !self.back.as_ref().is_some_and(leaves) {
                self.drained = self.drained.max(cleared);
                return cleared;
            }
            cleared = cleared.max(self.make_room(0, now));
        }
    }

    /// The extent to write back next by an arm that could begin at `began`, where it is then: its place in the buffer, and when
    /// it could begin to pass.
    pub fn choose(&self, head: &Head, began: u64) -> Option<(usize, u64)> {
        let begins = |dirty: &Dirty| {
            let sector = dirty.start / self.sector;
            let place = &self.medium.places[sector as usize];
            let span = self.medium.stroke(head, place, self.written != Some(dirty.start));
            self.medium.pass(&self.medium.arrive(place, began + span), sector).0.began
        };
        if self.cache.drain == Drain::InOrder {
            return self.dirty.front().map(|dirty| (0, begins(dirty)));
        }
        let there = self.dirty.iter().take(WEIGHED).take_while(|dirty| self.is_by(dirty.ready, began));
        let all: Vec<u64> = there.map(begins).collect();
        let best = all.iter().copied().enumerate().min_by_key(|(_, begins)| *begins);
        if let Some((i, least)) = best
            && all.iter().enumerate().any(|(j, begins)| j != i && begins - least <= 2 * ROUNDING)
        {
            self.ties.set(Ties { extents: true, ..self.ties.get() });
        }
        best
    }

    /// The arm sets out to write back what waits, as soon as it is free and the data are there.
    pub fn start_write_back(&mut self, after: u64) {
        let Some(first) = self.dirty.front() else { return };
        let began = first.ready.max(self.free()).max(after);
        if self.goes_on(began) {
            self.back = self.completed.take();
            self.go_on();
            return;
        }
        let Some(dirty) = self.choose(&self.head, began).and_then(|(i, _)| self.dirty.remove(i)) else { return };
        let head = self.read_before(self.approach(&self.head, began, dirty.start, true), dirty.start, dirty.end);
        let mut back = Back { head, reached: dirty.start, limit: dirty.end, at_once: None, parts: vec![dirty] };
        if self.medium.access.writes {
            let (first, last) = self.sectors(dirty.start, dirty.end);
            back.head = match dirty.data {
                Some(data) => self.pass_coming(&head, (dirty.start, dirty.end), data, 0.0),
                None => self.medium.pass_all(&head, first, last, true).1,
            };
            (back.at_once, back.reached) = (Some(dirty.start), last * self.sector);
        }
        if let Some(data) = dirty.data.filter(|_| !self.medium.access.writes) {
            back.head = self.held_until(&back.head, self.hold_back(&head, (dirty.start, dirty.end), data));
        }
        self.back = Some(back);
    }

    /// A head that waits, if it must, until a time.
    fn held_until(&self, head: &Head, time: u64) -> Head {
        if time <= self.medium.time(head) { *head } else { Head { moment: Moment::Time(time), ..*head } }
    }

    /// The write-back goes on up to block `stop`, or up to `now`, and with whatever waits that continues it.
    pub fn write_back_until(&mut self, stop: u64, now: u64) -> u64 {
        let Some(mut back) = self.back.take() else { return self.free() };
        loop {
            let before = back.reached;
            if before < back.limit {
                (back.reached, back.head) = self.run_on(&back.head, before, stop.min(back.limit), now, true);
            }
            let at = self.medium.time(&back.head);
            let upto = back.reached.min(back.limit);
            self.put_down(&back, before, upto);
            self.used -= upto - before.min(upto);
            if back.reached < back.limit || (back.at_once.is_some() && at > now) {
                self.back = Some(back);
                return at;
            }
            if let Some(start) = back.at_once.take() {
                self.put_down(&back, start, back.limit);
                self.used -= back.limit - start;
            }
            self.head = back.head;
            self.written = Some(back.limit);
            let limit = back.limit;
            self.completed = Some(back);
            if limit >= stop || at >= now || self.continuation().is_none() {
                return at;
            }
            self.back = self.completed.take();
            self.go_on();
            back = match self.back.take() {
                Some(back) => back,
                None => return at,
            };
        }
    }

    /// The place in the buffer of what continues the write-back just completed, if it was there in time: a sector that both
    /// share is written once, when all of it is there as it begins to pass.
    fn continuation(&self) -> Option<usize> {
        let back = self.completed.as_ref()?;
        let at = match back.head.moment {
            Moment::Angle(turned) if back.reached > back.limit => {
                let last = &self.medium.places[(back.limit / self.sector) as usize];
                self.medium.spin.time(Moment::Angle(turned - u128::from(last.width)))
            }
            moment => self.medium.spin.time(moment),
        };
        let next = self.dirty.iter().position(|dirty| dirty.start == back.limit && self.is_by(dirty.ready, at))?;
        let Dirty { start, end, data, .. } = self.dirty[next];
        let end_of_last = self.medium.time(&back.head);
        let flows = |data: u64| {
            let next = self.medium.cross(&back.head, start / self.sector, true);
            data + self.bus.write_time(end - start) <= end_of_last
                || self.hold_back(&next, (start, end), data) <= end_of_last
        };
        data.is_none_or(flows).then_some(next)
    }

    /// Whether a write-back that begins now goes on where the last one has just ended.
    pub fn goes_on(&self, now: u64) -> bool {
        let ended = self.completed.as_ref().map(|back| self.medium.time(&back.head));
        let just = |time: u64| time.abs_diff(now) <= ROUNDING;
        ended.is_some_and(just) && just(self.free()) && self.continuation().is_some()
    }

    /// The write-back takes in what continues it.
    fn go_on(&mut self) {
        let Some(mut back) = self.back.take() else { return };
        self.completed = Some(back.clone());
        if let Some(next) = self.continuation().and_then(|i| self.dirty.remove(i)) {
            let before = back.limit;
            back.limit = next.end;
            back.parts.push(next);
            let done = back.reached.min(next.end);
            self.put_down(&back, before, done);
            self.used -= done - before;
            self.back = Some(back);
        }
    }

    /// Blocks from `from` up to `to` are on the medium now.
    fn put_down(&mut self, back: &Back, from: u64, to: u64) {
        for part in &back.parts {
            for block in from.max(part.start)..to.min(part.end) {
                self.on_medium.insert(block, part.version);
            }
        }
    }

    /// A write-back begins that a command needs. From when it can.
    fn begin_write_back(&mut self, now: u64) -> u64 {
        self.stop_read_ahead(now);
        self.start_write_back(now);
        self.free().max(now)
    }

    /// Writes back until `blocks` blocks are free, or the write-back under way is complete. When that is.
    fn make_room(&mut self, blocks: u64, now: u64) -> u64 {
        if self.back.is_none() {
            self.begin_write_back(now);
        }
        let Some(back) = &self.back else { return now };
        let free = u64::from(self.cache.write_buffer) - self.used;
        let stop = match blocks.saturating_sub(free) {
            0 => back.limit,
            _ if back.at_once.is_some() => back.limit,
            wanted => back.reached.min(back.limit) + wanted,
        };
        self.write_back_until(stop, u64::MAX)
    }

    /// The write-back under way is completed. When that is.
    pub fn finish_write_back(&mut self) -> u64 {
        match self.back.as_ref().map(|back| back.limit) {
            Some(limit) => self.write_back_until(limit, u64::MAX),
            None => 0,
        }
    }
}
