//! Reads by definition: from memory, from a read-ahead under way, from the medium; and reading on.

use crate::bus::Sector;
use crate::compare::ROUNDING;
use crate::machine::{Answer, Machine, Ties};
use crate::medium::{Head, Passed};
use crate::segments::Found;
use crate::spin::Moment;
use block::Extent;
use disk::Ahead as To;

/// A read that runs on past what was asked for.
#[derive(Clone, Copy, Debug)]
pub struct Ahead {
    pub head: Head,
    /// The block after the last that passed.
    pub reached: u64,
    pub limit: u64,
    /// What it has reached before the arm may go.
    pub least: u64,
    pub segment: usize,
}

impl Machine {
    pub fn read(&mut self, now: u64, at: Extent, queued: bool) -> Answer {
        let (start, end) = (at.start.0, at.end().0);
        if self.holds_written(start, end) {
            self.end_read_ahead(now, None);
            return self.answer_from_memory(now, at);
        }
        // Its overhead passes while the arm clears the way.
        let came = now;
        let now = self.clear(now, start, end);
        self.held = self.held.max(now);
        let found = self.segments.look(start, end);
        let under_way = |i: usize| self.ahead.filter(|ahead| ahead.segment == i);
        let found_at_all = |i: usize| self.cache.almost_hits || start < self.segments.all[i].end;
        match found {
            Found::Hit(i) => {
                self.check(Some(i), start, end);
                self.end_read_ahead(now, Some(i));
                self.segments.touch(i);
                self.keep_ahead(now, i, end);
                let answer = self.answer_from_memory(now, at);
                self.give_up(i, end);
                answer
            }
            Found::Beginning(i) if found_at_all(i) => match under_way(i) {
                Some(ahead) => self.read_on(now, at, ahead),
                None => self.read_medium(came, at, Some(i), queued),
            },
            _ => self.read_medium(came, at, None, queued),
        }
    }

    /// A command that came at `now` for anything but what is being read into `segment` ends that, where the drive has that habit.
    fn end_read_ahead(&mut self, now: u64, segment: Option<usize>) {
        if self.cache.ends_at_command && self.ahead.is_some_and(|ahead| Some(ahead.segment) != segment) {
            self.stop_read_ahead(now);
        }
    }

    fn answer_from_memory(&mut self, now: u64, at: Extent) -> Answer {
        let from = if self.cache.hits_wait { self.finish_write_back().max(self.held).max(now) } else { now };
        if self.cache.hits_wait && self.rules.depth > 1 {
            self.held = from;
        }
        let overhead = self.overhead(self.overheads.hit) + self.overheads.prepare.0;
        self.exchanged = self.exchanged.max(from + overhead) + self.bus.time(u64::from(at.blocks));
        Answer { end: self.exchanged + self.overheads.done.read.0, from_memory: true }
    }

    /// Whether what a read gives — what a segment holds of it, the rest as it is on the medium — is what was last written.
    fn check(&mut self, segment: Option<usize>, start: u64, end: u64) {
        for (block, version) in self.current.range(start..end) {
            let held = segment.map(|i| &self.segments.all[i]).filter(|it| it.start <= *block && *block < it.end);
            let answered = held.map_or(&self.on_medium, |it| &it.versions).get(block).copied();
            self.stale += u64::from(answered.unwrap_or(0) != *version);
        }
    }

    fn give_up(&mut self, segment: usize, end: u64) {
        if self.cache.forgets {
            self.segments.forget_before(segment, end);
        }
    }

    /// The sectors of a transfer of `start` up to `end` as the bus sees them.
    fn on_bus(&self, passed: &[Passed], start: u64, end: u64) -> Vec<Sector> {
        let of = |it: &Passed| {
            let (first, last) = (it.sector * self.sector, (it.sector + 1) * self.sector);
            Sector { passed: it.end, blocks: last.min(end).saturating_sub(first.max(start)) }
        };
        passed.iter().map(of).collect()
    }

    /// The read-ahead under way brings it, or has brought its beginning.
    fn read_on(&mut self, now: u64, at: Extent, ahead: Ahead) -> Answer {
        let (start, end) = (at.start.0, at.end().0);
        self.check(Some(ahead.segment), start, end);
        let overhead = self.overhead(self.overheads.hit) + self.overheads.prepare.0;
        let from = now + overhead + self.bus.time(ahead.reached - start);
        let (first, last) = self.sectors(ahead.reached, end);
        let (passed, head) = self.medium.pass_all(&ahead.head, first, last, false);
        self.head = head;
        self.hold();
        self.filling = Some((ahead.segment, ahead.reached));
        self.segments.extend(ahead.segment, end, &self.current);
        self.delivered = self.bus.deliver(&self.on_bus(&passed, ahead.reached, end), from.max(self.delivered), true);
        self.begin_read_ahead(end, ahead.segment);
        self.give_up(ahead.segment, end);
        Answer { end: self.delivered + self.overheads.done.read.0, from_memory: true }
    }

    /// From the medium comes all, or what follows its beginning in `segment`, which takes it in.
    fn read_medium(&mut self, now: u64, at: Extent, segment: Option<usize>, queued: bool) -> Answer {
        let (start, end) = (at.start.0, at.end().0);
        self.check(segment, start, end);
        let mut held = segment.map_or(start, |i| self.segments.all[i].end);
        let from = match held - start {
            0 => now,
            there => now + self.overhead(self.overheads.hit) + self.overheads.prepare.0 + self.bus.time(there),
        };
        self.end_read_ahead(now, None);
        let free = self.take_arm(now + self.queued_overhead(self.overheads.read, queued));
        let arrived = self.approach(&self.head, free, held, false);
        let (first, last) = self.sectors(held, end);
        let (passed, head) = self.medium.pass_all(&arrived, first, last, false);
        self.head = head;
        self.hold();
        let beginning = held > start;
        self.delivered = self.bus.deliver(&self.on_bus(&passed, held, end), from.max(self.delivered), beginning);
        if self.segments.most > 0 {
            let segment = match segment {
                Some(i) => {
                    self.segments.extend(i, end, &self.current);
                    i
                }
                None => {
                    held = self.came_before(&arrived, &passed).unwrap_or(held);
                    self.segments.fill(held, end, &self.current)
                }
            };
            self.filling = Some((segment, held));
            self.begin_read_ahead(end, segment);
            self.give_up(segment, end);
        }
        Answer { end: self.delivered + self.overheads.done.read.0, from_memory: false }
    }

    /// The first of the blocks of the track that came by before the first one wanted, where the drive reads those too.
    fn came_before(&self, arrived: &Head, passed: &[Passed]) -> Option<u64> {
        let began = passed.iter().take_while(|it| self.medium.is_on(arrived, it.sector)).map(|it| it.began).min();
        let (began, first) = (began.filter(|_| self.medium.access.free)?, passed[0].sector);
        Some((first - self.medium.came_by(self.medium.time(arrived), began, first)) * self.sector)
    }

    fn begin_read_ahead(&mut self, end: u64, segment: usize) {
        let reached = end.next_multiple_of(self.sector).min(self.blocks);
        self.segments.extend(segment, reached, &self.current);
        let limit = self.read_ahead_limit(self.segments.all[segment].start, reached);
        let least = self.least_ahead(reached, limit);
        self.ahead = (reached < limit).then_some(Ahead { head: self.head, reached, limit, least, segment });
    }

    /// The block it reads to at least after a read up to `end`: where a command ends it, beyond its limit too.
    fn least_ahead(&self, end: u64, limit: u64) -> u64 {
        let most = if self.cache.ends_at_command { self.blocks } else { limit };
        most.min(end + u64::from(self.cache.least_ahead))
    }

    /// The block after the last on the track, or on the cylinder, that `block` belongs to.
    fn end_of(&self, block: u64, cylinder: bool) -> u64 {
        let places = &self.medium.places;
        let first = (block.min(self.blocks - 1) / self.sector) as usize;
        let group = |s: usize| if cylinder { places[s].home_cylinder } else { places[s].home };
        let end = (first..places.len()).find(|s| group(*s) != group(first)).unwrap_or(places.len());
        (end as u64 * self.sector).min(self.blocks)
    }

    /// How far it reads on behind block `end`, from a segment that begins at `start`.
    fn read_ahead_limit(&self, start: u64, end: u64) -> u64 {
        let most = (end + u64::from(self.cache.read_ahead)).min(self.blocks);
        match self.cache.ahead {
            To::Nowhere => end.min(self.blocks),
            To::Most => most,
            To::Track => most.min(self.end_of(end - 1, false)),
            To::Cylinder => most.min(self.end_of(end - 1, true)),
            To::NextTrack if end >= self.blocks => self.blocks,
            To::NextTrack => {
                let home = |block: u64| self.medium.places[(block / self.sector) as usize].home;
                let next = self.end_of(end, false);
                if home(start) < home(end) { self.end_of(next, false) } else { next }
            }
        }
    }

    /// A read-ahead keeps its distance to what is asked for from its segment; where the drive has that habit, one that had
    /// stopped goes on.
    fn keep_ahead(&mut self, now: u64, i: usize, end: u64) {
        let segment = &self.segments.all[i];
        let (limit, reached) = (self.read_ahead_limit(segment.start, end), segment.end);
        let least = self.least_ahead(end, limit);
        match &mut self.ahead {
            Some(ahead) if ahead.segment == i => {
                ahead.limit = ahead.limit.max(limit);
                if self.cache.ends_at_command {
                    ahead.least = ahead.least.max(least);
                }
            }
            None if self.cache.resumes && self.back.is_none() && self.dirty.is_empty() && reached < limit => {
                let began = self.free().max(now);
                let head = self.approach(&self.head, began, reached, false);
                self.head = head;
                // One that a command ends is begun by the one that it goes on for.
                let least = if self.cache.ends_at_command { least } else { reached };
                self.ahead = Some(Ahead { head, reached, limit, least, segment: i });
            }
            _ => {}
        }
    }

    pub fn read_ahead_until(&mut self, now: u64) {
        let Some(mut ahead) = self.ahead else { return };
        (ahead.reached, ahead.head) = self.run_on(&ahead.head, ahead.reached, ahead.limit, now, false);
        self.segments.extend(ahead.segment, ahead.reached, &self.current);
        self.ahead = Some(ahead);
        if ahead.reached >= ahead.limit {
            (self.head, self.ahead) = (ahead.head, None);
        }
    }

    /// How a read-ahead stops for an arm that is wanted at `ready`: at the first end of a sector then or later, but not before
    /// the least it reads.
    pub fn stopped(&self, mut ahead: Ahead, ready: u64) -> Ahead {
        if ahead.reached < ahead.least {
            (ahead.reached, ahead.head) = self.run_on(&ahead.head, ahead.reached, ahead.least, u64::MAX, false);
        }
        let before = ahead.reached;
        (ahead.reached, ahead.head) = self.run_on(&ahead.head, ahead.reached, ahead.limit, ready, false);
        // A sector that ends just then, but for roundings, may be the last or not.
        if ahead.reached > before && self.medium.time(&ahead.head).abs_diff(ready) <= ROUNDING {
            self.ties.set(Ties { data: true, ..self.ties.get() });
        }
        // Of a sector it can let go, of a move it cannot.
        let least = ahead.least.next_multiple_of(self.sector);
        let in_sector = matches!(ahead.head.moment, Moment::Angle(_)) && ahead.reached > least;
        if self.cache.stops_in_sector && in_sector && self.medium.time(&ahead.head) > ready {
            ahead.head.moment = Moment::Time(ready);
            ahead.reached -= self.sector;
        }
        ahead
    }

    pub fn stop_read_ahead(&mut self, ready: u64) {
        let Some(ahead) = self.ahead.take() else { return };
        let ahead = self.stopped(ahead, ready);
        self.segments.extend(ahead.segment, ahead.reached, &self.current);
        let lost = if self.cache.ends_at_command && self.is_passing(&ahead) { self.sector } else { 0 };
        // What has not all passed was not read.
        self.segments.cut(ahead.segment, ahead.reached - lost);
        self.head = ahead.head;
    }

    /// Whether the last sector of a read-ahead that stops has not all passed when the turn of what stops it comes. It is not
    /// kept then, unless it is of the least that is read.
    fn is_passing(&self, ahead: &Ahead) -> bool {
        let end = self.medium.time(&ahead.head);
        let passes = matches!(ahead.head.moment, Moment::Angle(_)) && ahead.reached >= ahead.least + self.sector;
        if passes && end.abs_diff(self.turn) <= ROUNDING {
            self.ties.set(Ties { data: true, ..self.ties.get() });
        }
        passes && end > self.turn
    }
}
