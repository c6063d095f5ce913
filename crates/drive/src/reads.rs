//! Reads: from the cache, from a read-ahead under way, from the medium. Reading ahead itself is [`crate::ahead`].

use crate::account::Parts;
use crate::cache::Lookup;
use crate::state::{CommandOrigin, Drive, ReadAhead, mechanical};
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
                    return self.read_medium::<false, _>(now, at, Some(i), origin, |_, end, parts| (end, parts));
                }
                // Its overhead passes while the arm clears the way.
                _ => return self.read_medium::<false, _>(now, at, None, origin, |_, end, parts| (end, parts)),
            },
            Some(Lookup::Miss) => {
                return self.read_medium::<false, _>(now, at, None, origin, |_, end, parts| (end, parts));
            }
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
        let delivery = self.delivery::<false>(rest, now + overhead + there, self.bus.holds_reading);
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

    /// It must come from the medium, or what follows its beginning in `segment`, which goes on with it. `then` takes its end and
    /// parts: of what is not at hand in registers it is made apart.
    #[inline(always)]
    pub(crate) fn read_medium<const PLAIN: bool, T>(
        &mut self,
        now: Time,
        at: Extent,
        segment: Option<usize>,
        origin: CommandOrigin,
        then: impl FnOnce(&mut Drive, Time, Parts) -> T,
    ) -> T {
        let overhead = self.overhead(self.overheads.read, origin);
        let held = segment.map_or(at.start, |i| self.segments.end_of(i));
        let rest = Extent { start: held, blocks: (at.end().0 - held.0) as u32 };
        if !PLAIN && self.cache.ends_at_command {
            self.stop_read_ahead(now);
        }
        let start = self.take_arm::<PLAIN>(now + overhead);
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
                let delivery = self.delivery::<PLAIN>(rest, from, self.bus.holds_reading && there > 0);
                let delivery = delivery.with_piece(piece, self.mechanics.layout.sector_shift());
                let (end, parts) = self.end_read::<PLAIN>(at, segment, origin, &reach, &spot, (&passage, &delivery));
                then(self, end, parts)
            }
            // On a copy, so that what is hot stays in registers.
            None => {
                let (end, parts) = self.read_pieces(at, segment, origin, &{ reach });
                then(self, end, parts)
            }
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
        let delivery = self.delivery::<false>(rest, reach.from, self.bus.holds_reading && rest.blocks < at.blocks);
        let (passage, delivery) = self.mechanics.pass_delivered(&self.spindle, arrived, spot, rest, delivery);
        self.end_read::<false>(at, segment, origin, reach, &spot, (&passage, &delivery))
    }

    /// What follows from how a read passed, and went to the host.
    #[inline(always)]
    fn end_read<const PLAIN: bool>(
        &mut self,
        at: Extent,
        segment: Option<usize>,
        origin: CommandOrigin,
        reach: &ReadApproach,
        spot: &Spot,
        (passage, delivery): (&Passage, &Delivery),
    ) -> (Time, Parts) {
        let ReadApproach { rest, now, ready, start, stroke, from } = *reach;
        let stall = if PLAIN { Span::ZERO } else { self.overheads.stall(at.blocks, Direction::Read, passage) };
        self.hold_arm(passage.end, passage.after.track);
        if PLAIN || !self.segments.is_none() {
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
            if !PLAIN {
                self.give_up(segment, at);
            }
        }
        let done = self.overheads.done.read;
        self.delivered = delivery.end() + stall;
        let end = self.delivered + done;
        if !PLAIN && let Some(segment) = self.read_ahead.as_ref().map(|ahead| ahead.segment) {
            let sent = Time(self.delivered.0.saturating_sub(self.bus_time(at.blocks).0));
            self.hold_ahead(segment, at, sent, self.delivered);
        }
        if !PLAIN {
            self.connects_for(now + self.told_in(origin), from, delivery, end, rest.blocks < at.blocks);
        }
        let mut parts = mechanical(stroke, passage);
        parts.overhead = ready.since(now) + stall + done;
        parts.external = start.since(ready);
        parts.bus = end.since(passage.end + stall + done);
        (end, parts)
    }

    /// The way of `at` to the host from `from` on. What goes on where the bus is `held` for it waits for no watermark.
    #[inline(always)]
    fn delivery<const PLAIN: bool>(&self, at: Extent, from: Time, held: bool) -> Delivery {
        let from = from.max(self.delivered);
        let sector = 1 << self.mechanics.layout.sector_shift();
        let lead = at.start.0 % sector;
        let wanted = (lead, u64::from(at.blocks));
        if PLAIN {
            return Delivery::new(self.read_block, wanted, 0.0, from, Span::ZERO);
        }
        let share = if held { 0.0 } else { self.bus.held_back(at.blocks, self.cache.segment) };
        Delivery::new(self.read_block, wanted, share, from, self.overheads.reselect)
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
}

#[cfg(test)]
mod tests;
