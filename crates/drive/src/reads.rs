//! Reads: from the cache, from a read-ahead under way, from the medium; and reading ahead.

use crate::account::Parts;
use crate::cache::Lookup;
use crate::state::{CommandOrigin, Drive, ReadAhead, Sent, mechanical};
use block::{Direction, Extent, Lbn, Span, Time};
use disk::{Delivery, Passage, Progress, Spin, Spot, Stroke, Track};

/// How the arm goes to what of a read is not in a segment: given when, with its overhead over when, from when on, how; and from
/// when on its data may go to the host.
#[derive(Clone, Copy, Debug)]
struct ReadApproach {
    rest: Extent,
    now: Time,
    ready: Time,
    start: Time,
    stroke: Stroke,
    from: Time,
}

/// Twice the angle within which what has just passed can still be caught.
const MARGIN: u64 = 1 << (64 - 17);

impl Drive {
    #[inline(always)]
    pub(crate) fn read(&mut self, now: Time, at: Extent, origin: CommandOrigin) -> (Time, Parts) {
        let from_buffer = self.holds_written(at);
        let cleared = if from_buffer { now } else { self.clear(now, at) };
        let found = if from_buffer { None } else { Some(self.segments.look(at)) };
        let ahead = self.read_ahead.as_ref().map(|ahead| ahead.segment);
        self.held = self.held.max(cleared);
        let (end, mut parts) = match found {
            None => {
                if self.cache.ends_at_command {
                    self.stop_read_ahead(now);
                }
                self.hit(cleared, at, origin)
            }
            Some(Lookup::Hit(i)) => {
                if self.cache.ends_at_command && ahead.is_some_and(|segment| segment != i) {
                    self.stop_read_ahead(now);
                }
                self.segments.touch(i);
                self.keep_ahead_of(cleared, i, at);
                let hit = self.hit(cleared, at, origin);
                self.give_up(i, at);
                let sent = Time(hit.0.0 - self.overheads.done.read.0);
                self.hold_ahead(i, at, sent, sent);
                hit
            }
            Some(Lookup::Partial(i)) => match self.read_ahead.filter(|ahead| ahead.segment == i) {
                Some(ahead) if self.cache.almost_hits || at.start < self.segments.end_of(i) => {
                    self.read_on(cleared, at, ahead, origin)
                }
                None if self.cache.almost_hits || at.start < self.segments.end_of(i) => {
                    return self.read_medium(now, at, Some(i), origin);
                }
                // Its overhead passes while the arm clears the way.
                _ => return self.read_medium(now, at, None, origin),
            },
            Some(Lookup::Miss) => return self.read_medium(now, at, None, origin),
        };
        parts.external += cleared.since(now);
        (end, parts)
    }

    /// All of it is in the buffer.
    #[inline(never)]
    fn hit(&mut self, now: Time, at: Extent, origin: CommandOrigin) -> (Time, Parts) {
        let told = self.told_in(origin);
        // What a command had of its overhead while it waited is over when its turn comes.
        let from = match self.cache.hits_wait {
            true => now + self.settle_write_back().max(self.held).since(now + told),
            false => now,
        };
        if self.cache.hits_wait && self.rules.depth > 1 {
            self.held = from;
        }
        let bus = self.bus_time(at.blocks);
        let overhead = self.connecting(origin);
        let done = self.overheads.done.read;
        let end = (from + overhead).max(self.exchanged) + bus;
        self.connects(from + told, overhead.less(told) + bus + done);
        self.exchanged = end;
        let bus = end.since(from + overhead);
        let parts = Parts { overhead: overhead + done, external: from.since(now), bus, ..Parts::default() };
        (end + done, parts)
    }

    /// How much of its overhead a command had while it waited.
    fn told_in(&self, origin: CommandOrigin) -> Span {
        if origin == CommandOrigin::Queue && self.bus.exclusive {
            self.overheads.read.a(self.last_direction())
        } else {
            Span::ZERO
        }
    }

    /// Before data go over the bus that are in the buffer.
    fn connecting(&self, origin: CommandOrigin) -> Span {
        if origin == CommandOrigin::Queue && self.bus.exclusive {
            // It let go of the bus while it waited, and had its overhead then.
            return self.told_in(origin) + self.overheads.reselect;
        }
        self.overheads.hit.a(self.last_direction()) + self.overheads.prepare
    }

    /// Whether a segment holds all of `at`, not counting what a command with the arm is just reading into it.
    pub(crate) fn segments_hold(&self, now: Time, at: Extent) -> bool {
        match (self.segments.look(at), self.filling) {
            (Lookup::Hit(i), Some((segment, from))) if i == segment && self.held > now => at.end() <= from,
            (Lookup::Hit(_), _) => true,
            _ => false,
        }
    }

    /// What was delivered from a segment may be given up.
    fn give_up(&mut self, segment: usize, at: Extent) {
        if self.cache.forgets {
            self.segments.forget_before(segment, at.end());
        }
    }

    /// The read-ahead under way will bring it, or has brought its beginning already.
    #[inline(never)]
    fn read_on(&mut self, now: Time, at: Extent, ahead: ReadAhead, origin: CommandOrigin) -> (Time, Parts) {
        let Progress { reached, at: since, after } = ahead.so_far;
        let overhead = self.connecting(origin);
        let rest = Extent { start: reached, blocks: (at.end().0 - reached.0) as u32 };
        let there = self.bus_time(at.blocks - rest.blocks);
        let delivery = self.delivery(rest, now + overhead + there, self.bus.holds_reading);
        let (passage, delivery) = self.mechanics.pass_delivered(&self.spindle, since, after, rest, delivery);
        self.hold_arm(passage.end, passage.after.track);
        self.filling = Some((ahead.segment, reached));
        let passed = self.passed_by(at.end());
        self.segments.extend(ahead.segment, passed);
        self.begin_read_ahead(ahead.began, passed, &passage, ahead.segment);
        self.give_up(ahead.segment, at);
        let done = self.overheads.done.read;
        let paced = now + overhead + self.overheads.pace(at.blocks, rest.blocks, &passage);
        self.delivered = delivery.end().max(paced);
        let end = self.delivered + done;
        let sent = Time(self.delivered.0.saturating_sub(self.bus_time(at.blocks).0));
        self.hold_ahead(ahead.segment, at, sent, self.delivered);
        let first = now + self.told_in(origin);
        self.connects_for(first, now + overhead + there, &delivery, end, there > Span::ZERO);
        let overhead = overhead + done;
        let bus = self.bus_time(at.blocks).min(end.since(now) - overhead);
        let transfer = end.since(now) - overhead - bus;
        (end, Parts { overhead, bus, transfer, ..Parts::default() })
    }

    /// It must come from the medium, or what follows its beginning in `segment`, which goes on with it.
    #[inline(always)]
    fn read_medium(&mut self, now: Time, at: Extent, segment: Option<usize>, origin: CommandOrigin) -> (Time, Parts) {
        let overhead = self.overhead(self.overheads.read, origin);
        let held = segment.map_or(at.start, |i| self.segments.end_of(i));
        let rest = Extent { start: held, blocks: (at.end().0 - held.0) as u32 };
        if self.cache.ends_at_command {
            self.stop_read_ahead(now);
        }
        let start = self.take_arm(now + overhead);
        let (stroke, spot) = self.move_arm(self.track, rest, Direction::Read, start);
        let arrived = start + stroke.total();
        let there = at.blocks - rest.blocks;
        let from = match there {
            0 => now,
            _ => now + self.connecting(origin) + self.bus_time(there),
        };
        let reach = ReadApproach { rest, now, ready: now + overhead, start, stroke, from };
        match self.mechanics.pass_at_once(&self.spindle, arrived, spot, rest, Direction::Read) {
            Some((passage, piece)) => {
                let delivery = self.delivery(rest, from, self.bus.holds_reading && there > 0);
                let delivery = delivery.with_piece(piece, self.mechanics.layout.sector_shift());
                self.end_read(at, segment, origin, &reach, &spot, (&passage, &delivery))
            }
            // On a copy, so that what is hot stays in registers.
            None => self.read_pieces(at, segment, origin, &{ reach }),
        }
    }

    /// The same of blocks that do not follow one another.
    #[inline(never)]
    fn read_pieces(
        &mut self,
        at: Extent,
        segment: Option<usize>,
        origin: CommandOrigin,
        reach: &ReadApproach,
    ) -> (Time, Parts) {
        let (rest, arrived) = (reach.rest, reach.start + reach.stroke.total());
        let spot = self.mechanics.layout.locate(rest.start);
        let delivery = self.delivery(rest, reach.from, self.bus.holds_reading && rest.blocks < at.blocks);
        let (passage, delivery) = self.mechanics.pass_delivered(&self.spindle, arrived, spot, rest, delivery);
        self.end_read(at, segment, origin, reach, &spot, (&passage, &delivery))
    }

    /// What follows from how a read passed, and went to the host.
    #[inline(always)]
    fn end_read(
        &mut self,
        at: Extent,
        segment: Option<usize>,
        origin: CommandOrigin,
        reach: &ReadApproach,
        spot: &Spot,
        (passage, delivery): (&Passage, &Delivery),
    ) -> (Time, Parts) {
        let ReadApproach { rest, now, ready, start, stroke, from } = *reach;
        let stall = self.overheads.stall(at.blocks, Direction::Read, passage);
        self.hold_arm(passage.end, passage.after.track);
        if !self.segments.is_none() {
            let passed = self.passed_by(at.end());
            let (segment, from) = match segment {
                Some(i) => {
                    self.segments.extend(i, passed);
                    (i, rest.start)
                }
                None => {
                    let from = match self.mechanics.access.free {
                        true => self.passed_before(start + stroke.total(), passage.began, *spot, at.start),
                        false => at.start,
                    };
                    (self.segments.fill(from, passed), from)
                }
            };
            self.filling = Some((segment, from));
            self.begin_read_ahead(self.free, passed, passage, segment);
            self.give_up(segment, at);
        }
        let done = self.overheads.done.read;
        self.delivered = delivery.end() + stall;
        let end = self.delivered + done;
        if let Some(segment) = self.read_ahead.as_ref().map(|ahead| ahead.segment) {
            let sent = Time(self.delivered.0.saturating_sub(self.bus_time(at.blocks).0));
            self.hold_ahead(segment, at, sent, self.delivered);
        }
        self.connects_for(now + self.told_in(origin), from, delivery, end, rest.blocks < at.blocks);
        let mut parts = mechanical(stroke, passage);
        parts.overhead = ready.since(now) + stall + done;
        parts.external = start.since(ready);
        parts.bus = end.since(passage.end + stall + done);
        (end, parts)
    }

    /// The way of `at` to the host from `from` on. What goes on where the bus is `held` for it waits for no watermark.
    #[inline(always)]
    fn delivery(&self, at: Extent, from: Time, held: bool) -> Delivery {
        let from = from.max(self.delivered);
        let sector = 1 << self.mechanics.layout.sector_shift();
        let lead = at.start.0 % sector;
        let share = if held { 0.0 } else { self.bus.held_back(at.blocks, self.cache.segment) };
        Delivery::new(self.read_block, (lead, u64::from(at.blocks)), share, from, self.overheads.reselect)
    }

    /// The bus is in use until `end` for data of which some were `cached`: those go from `first` until `from`.
    #[inline]
    fn connects_for(&mut self, first: Time, from: Time, delivery: &Delivery, end: Time, cached: bool) {
        if !self.bus.exclusive {
            return;
        }
        let since = delivery.since();
        if since <= from || (self.bus.holds_reading && cached) {
            self.connects(first, end.since(first));
        } else if cached {
            self.connects_twice(first, from.since(first), since, end.since(since));
        } else {
            self.connects(since, end.since(since));
        }
    }

    /// A command has the arm until its access ends, on `track`.
    pub(crate) fn hold_arm(&mut self, end: Time, track: Track) {
        (self.free, self.held, self.track, self.filling) = (end, end, track, None);
    }

    /// The first of the blocks right before `start`, which lies at `spot` and `began` to pass then, whose sectors came by while
    /// the head waited for that.
    #[inline(never)]
    fn passed_before(&self, arrived: Time, began: Time, spot: Spot, start: Lbn) -> Lbn {
        let layout = &self.mechanics.layout;
        let shift = layout.sector_shift();
        let width = layout.sector_angle(spot.track.zone);
        let came = |angle: u64| self.spindle.reach(arrived, angle) < began;
        let mut turned = self.spindle.phase(began).wrapping_sub(self.spindle.phase(arrived));
        let (mut first, mut here, mut is_exact) = (start.0 >> shift, spot, self.spindle.is_even());
        while first > 0 {
            if here.before == 0 {
                let there = layout.locate_sector(first - 1);
                if (there.track, there.remapped) != (spot.track, spot.remapped) || !came(there.angle) {
                    break;
                }
                (first, here, is_exact) = (first - 1, there, false);
                continue;
            }
            // Those that precede it without a gap come by one after the other.
            let back = |sectors: u64| here.angle.wrapping_sub(width.wrapping_mul(sectors));
            let most = u64::from(here.before);
            let whole = turned / width;
            let beside = turned - whole * width;
            let mut sectors = whole.min(most);
            // Where the head came between two sectors, not just at the beginning of one, there is nothing to be rounded.
            let clear = is_exact && (whole > most || (beside > MARGIN && width - beside > MARGIN));
            while !clear && sectors > 0 && !came(back(sectors)) {
                sectors -= 1;
            }
            while !clear && sectors < most && came(back(sectors + 1)) {
                sectors += 1;
            }
            first -= sectors;
            // Nor does the block before the first of a track lie on it.
            if sectors < most || (here.sector == here.before && !here.remapped && layout.order().is_some()) {
                break;
            }
            turned = turned.saturating_sub(width.wrapping_mul(sectors));
            (here, is_exact) = (Spot { angle: back(sectors), before: 0, ..here }, false);
        }
        Lbn(first << shift)
    }

    /// The block after those that have passed with the one before `end`: of the last sector all has.
    #[inline(always)]
    fn passed_by(&self, end: Lbn) -> Lbn {
        let layout = &self.mechanics.layout;
        let shift = layout.sector_shift();
        Lbn(((end.0 + (1 << shift) - 1) >> shift << shift).min(layout.blocks()))
    }

    /// The drive reads on into a segment, which ends there, after a passage that ended before block `reached`.
    #[inline(always)]
    fn begin_read_ahead(&mut self, began: Time, reached: Lbn, passage: &Passage, segment: usize) {
        let start = self.segments.start_of(segment);
        let limit = self.cache.read_ahead_limit_behind(&self.mechanics.layout, start, reached, &passage.after);
        if reached >= limit {
            self.read_ahead = None;
            return;
        }
        let least = self.least_ahead(reached, limit);
        let so_far = Progress { reached, at: passage.end, after: passage.after };
        self.read_ahead = Some(ReadAhead { began, so_far, limit, least, segment, sent: None });
    }

    /// A read-ahead under way keeps its distance ahead of what is asked for from its segment; where the drive
    /// has that habit, one that had stopped goes on.
    #[inline(never)]
    fn keep_ahead_of(&mut self, now: Time, i: usize, at: Extent) {
        match &self.read_ahead {
            Some(ahead) if ahead.segment == i && at.end() <= ahead.so_far.reached => {
                let limit = self.read_ahead_limit(self.segments.start_of(i), at.end());
                // Where reading ahead ends with a command, one that it goes on through counts as one that began it.
                let least = if self.cache.ends_at_command { self.least_ahead(at.end(), limit) } else { Lbn(0) };
                if let Some(ahead) = &mut self.read_ahead {
                    ahead.limit = ahead.limit.max(limit);
                    ahead.least = ahead.least.max(least);
                }
            }
            None if self.cache.resumes && self.write_back.is_none() && self.buffer.first().is_none() => {
                let reached = self.segments.end_of(i);
                let limit = self.read_ahead_limit(self.segments.start_of(i), at.end());
                let least = if self.cache.ends_at_command { self.least_ahead(at.end(), limit) } else { reached };
                // What was there before is not lost where this stops.
                let least = least.max(reached);
                if reached < limit {
                    let began = self.free.max(now);
                    let at = Extent { start: reached, blocks: 1 };
                    let (stroke, spot) = self.move_arm(self.track, at, Direction::Read, began);
                    let so_far = Progress { reached, at: began + stroke.total(), after: spot };
                    self.track = spot.track;
                    self.read_ahead = Some(ReadAhead { began, so_far, limit, least, segment: i, sent: None });
                }
            }
            _ => {}
        }
    }

    /// The segment that holds all of `at`, not counting what a command with the arm is just reading into it.
    pub(crate) fn segment_of(&self, now: Time, at: Extent) -> Option<usize> {
        match self.segments.look(at) {
            Lookup::Hit(i) if self.segments_hold(now, at) && !self.holds_written(at) => Some(i),
            _ => None,
        }
    }

    /// Whether a segment holds the first block of `at`.
    pub(crate) fn begins_in(&self, segment: usize, at: Extent) -> bool {
        self.segments.start_of(segment) <= at.start && at.start < self.segments.end_of(segment)
    }

    /// The arm reads on from where `segment` ends for a read of `at`, which begins in it and waits. False if all of that is
    /// there.
    pub(crate) fn read_ahead_for(&mut self, now: Time, segment: usize, at: Extent) -> bool {
        let reached = self.segments.end_of(segment);
        if at.end() <= reached {
            return false;
        }
        let limit = self.read_ahead_limit(self.segments.start_of(segment), at.end()).max(at.end());
        match &mut self.read_ahead {
            Some(ahead) if ahead.segment == segment => {
                ahead.limit = ahead.limit.max(limit);
                ahead.least = ahead.least.max(at.end());
            }
            Some(_) => {}
            None if self.write_back.is_none() => {
                let began = self.free.max(now);
                let (stroke, spot) =
                    self.move_arm(self.track, Extent { start: reached, blocks: 1 }, Direction::Read, began);
                let so_far = Progress { reached, at: began + stroke.total(), after: spot };
                self.track = spot.track;
                self.read_ahead = Some(ReadAhead { began, so_far, limit, least: at.end(), segment, sent: None });
            }
            None => {}
        }
        true
    }

    /// The block that is read at least after a read that ended before block `end`, before another command has the arm.
    fn least_ahead(&self, end: Lbn, limit: Lbn) -> Lbn {
        // Where a command ends the reading ahead, it ends it there, short of the limit or beyond.
        let last = if self.cache.ends_at_command { Lbn(self.mechanics.layout.blocks()) } else { limit };
        Lbn((end.0 + u64::from(self.cache.least_ahead)).min(last.0))
    }

    /// How far the drive reads on after a read that ended before block `end`, from a segment that begins at `start`.
    fn read_ahead_limit(&self, start: Lbn, end: Lbn) -> Lbn {
        self.cache.read_ahead_limit(&self.mechanics.layout, start, end)
    }

    /// Lets the read-ahead under way proceed up to `now`; once it is complete there is none. Gives when it got there.
    #[inline]
    pub(crate) fn read_ahead_until(&mut self, now: Time) -> Time {
        let Some(ahead) = &mut self.read_ahead else { return self.free };
        let limit = ahead.limit;
        match ahead.sent {
            None => self.mechanics.go_on(&self.spindle, &mut ahead.so_far, limit, now, Direction::Read),
            Some(sent) => {
                let mut so_far = ahead.so_far;
                self.run_ahead_of(&sent, &mut so_far, limit, now);
                if let Some(ahead) = &mut self.read_ahead {
                    ahead.so_far = so_far;
                }
            }
        }
        let Some(ahead) = &self.read_ahead else { return self.free };
        let (Progress { reached, at, after }, segment) = (&ahead.so_far, ahead.segment);
        let (reached, at, track, is_done) = (*reached, *at, after.track, *reached >= ahead.limit);
        self.segments.extend(segment, reached);
        if is_done {
            (self.free, self.track, self.read_ahead) = (at, track, None);
        }
        at
    }

    /// How far a read-ahead comes, as [`Mechanics::run_on`](disk::Mechanics::run_on) has it; it waits where it would
    /// overwrite what is still to be sent.
    fn run_ahead(&self, ahead: &ReadAhead, so_far: &mut Progress, limit: Lbn, until: Time) {
        match &ahead.sent {
            None => self.mechanics.go_on(&self.spindle, so_far, limit, until, Direction::Read),
            Some(sent) => self.run_ahead_of(sent, so_far, limit, until),
        }
    }

    /// The same behind what is still being sent.
    fn run_ahead_of(&self, sent: &Sent, so_far: &mut Progress, limit: Lbn, until: Time) {
        loop {
            let next = self.spindle.reach(so_far.at, so_far.after.angle).max(so_far.at);
            let bound = if next >= sent.until { limit } else { limit.min(self.room_after(sent, next)) };
            if so_far.reached < bound || bound >= limit {
                self.mechanics.go_on(&self.spindle, so_far, bound, until, Direction::Read);
                if so_far.reached < bound || so_far.reached >= limit || so_far.at >= until {
                    return;
                }
                // There may be room for more by now.
                continue;
            }
            if so_far.at >= until {
                return;
            }
            // The next sector comes under the head while there is no room for it: a turn later it may be there.
            let passed = next + self.sector_time(so_far.after.track.zone);
            if passed >= until {
                so_far.at = until;
                return;
            }
            so_far.at = passed;
        }
    }

    /// Up to which block a segment has room at `now`, of which blocks are being sent.
    fn room_after(&self, sent: &Sent, now: Time) -> Lbn {
        let gone = (now.since(sent.from).0 << 16) / self.read_block.max(1);
        Lbn(sent.at.start.0 + gone.min(u64::from(sent.at.blocks)) + u64::from(self.cache.segment))
    }

    /// What is sent of `at` from `from` until `until` keeps its place in the segment; what was there at once goes at once.
    fn hold_ahead(&mut self, segment: usize, at: Extent, from: Time, until: Time) {
        if self.cache.overtakes {
            return;
        }
        if let Some(ahead) = self.read_ahead.as_mut().filter(|ahead| ahead.segment == segment) {
            ahead.sent = Some(Sent { at, from, until });
        }
    }

    /// When the read-ahead under way has read the least it does; none if it has.
    pub(crate) fn least_read(&self, now: Time) -> Option<Time> {
        let ahead = self.read_ahead.filter(|ahead| ahead.so_far.reached < ahead.least)?;
        let mut so_far = ahead.so_far;
        self.run_ahead(&ahead, &mut so_far, ahead.least, Time::NEVER);
        Some(so_far.at).filter(|at| *at > now)
    }

    /// When, and where, a read-ahead lets go of an arm that could be used from `ready` on; and up to which block what was read
    /// is kept.
    #[inline(always)]
    pub(crate) fn read_ahead_stopped(&self, ahead: &ReadAhead, ready: Time) -> (Time, Track, Lbn) {
        let so_far = &ahead.so_far;
        if so_far.at >= ready && so_far.reached >= ahead.least {
            return self.left_at(so_far, ahead.least, ready);
        }
        self.run_to_stop(ahead, ready)
    }

    /// The same where it has still to read on.
    #[inline(never)]
    fn run_to_stop(&self, ahead: &ReadAhead, ready: Time) -> (Time, Track, Lbn) {
        let mut so_far = ahead.so_far;
        if so_far.reached < ahead.least {
            self.run_ahead(ahead, &mut so_far, ahead.least, Time::NEVER);
        }
        if so_far.at < ready {
            self.run_ahead(ahead, &mut so_far, ahead.limit, ready);
        }
        self.left_at(&so_far, ahead.least, ready)
    }

    /// The same where it has come as far as that.
    #[inline(always)]
    fn left_at(&self, stopped: &Progress, least: Lbn, ready: Time) -> (Time, Track, Lbn) {
        if self.cache.stops_in_sector || self.cache.ends_at_command {
            return self.left_inside(stopped, least, ready);
        }
        (stopped.at, stopped.after.track, stopped.reached)
    }

    /// The same where a sector may be left before it has passed.
    #[inline(never)]
    fn left_inside(&self, stopped: &Progress, least: Lbn, ready: Time) -> (Time, Track, Lbn) {
        let Progress { reached, at, after } = stopped;
        let all = (*at, after.track, *reached);
        if *at <= ready.min(self.turn) {
            return all;
        }
        // A sector can be left inside, but for the least it reads; a move to the next track cannot.
        let sector = 1 << self.mechanics.layout.sector_shift();
        if reached.0 <= least.0.next_multiple_of(sector) || !self.lies_under(Lbn(reached.0 - sector), after) {
            return all;
        }
        let before = Lbn(reached.0 - sector);
        if self.cache.stops_in_sector && *at > ready {
            (ready, after.track, before)
        } else if self.cache.ends_at_command && *at > self.turn {
            // Where a command ends it, the sector under way is lost.
            (*at, after.track, before)
        } else {
            all
        }
    }

    /// Whether a block lies on the track, and of its spares if so, that a head is on that has come to a sector or two after it.
    fn lies_under(&self, block: Lbn, head: &Spot) -> bool {
        if head.before > 1 {
            return true;
        }
        let there = self.mechanics.layout.locate(block);
        (there.track, there.remapped) == (head.track, head.remapped)
    }

    /// Stops reading ahead, so that the arm is free at `ready`.
    #[inline(always)]
    pub(crate) fn stop_read_ahead(&mut self, ready: Time) {
        let Some(ahead) = &self.read_ahead else { return };
        let (at, track, reached) = self.read_ahead_stopped(ahead, ready);
        let segment = ahead.segment;
        self.segments.end_at(segment, reached);
        (self.free, self.track, self.read_ahead) = (at, track, None);
    }
}

#[cfg(test)]
mod tests;
