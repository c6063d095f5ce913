//! Writes: into the buffer, to the medium; writing back what is buffered.

use crate::account::Parts;
use crate::buffer::{Active, Dirty, Feed};
use crate::state::{CommandOrigin, Drive, WriteBack, mechanical};
use block::{Command, Direction, Extent, Lbn, Span, Time};
use disk::{Disconnect, Drain, Passage, Progress, Spin, Spot, Track};

impl Drive {
    /// A write that came, or has the arm, from `now` on, and that has no room in the buffer before `earliest`.
    pub(crate) fn write(
        &mut self,
        now: Time,
        earliest: Time,
        at: Extent,
        fua: bool,
        origin: CommandOrigin,
    ) -> (Time, Parts) {
        // What waits for room waits for a write-back, which needs the arm at once.
        let mut fits = self.fits(at);
        let waits = !fua && u64::from(at.blocks) <= self.buffer.largest() && !fits;
        let overhead = self.buffering(now, at.blocks);
        let ready = if waits { now } else { now + overhead };
        if self.cache.ends_at_command {
            self.stop_read_ahead(now);
        }
        if self.read_ahead.is_some_and(|ahead| ahead.meets(at) && self.segments.overlaps(ahead.segment, at)) {
            self.stop_read_ahead(ready);
        }
        if fua || self.buffer.capacity() == 0 {
            self.replace_held(ready, at);
            return self.write_medium(now, at, origin);
        }
        if u64::from(at.blocks) > self.buffer.largest() {
            self.replace_held(ready, at);
            return self.write_through(now, at, origin);
        }
        let mut room = (now + overhead).max(earliest);
        while !fits {
            // The next write-back begins as soon as the arm is free, not when the overhead of this command has passed; where
            // it goes on inside a sector, it may have made room with that alone.
            room = room.max(match self.write_back {
                None => self.begin_write_back(now),
                Some(_) => self.make_room(self.lacks(at), now),
            });
            fits = self.fits(at);
        }
        self.replace_held(ready, at);
        let waited = (origin == CommandOrigin::Queue || room > now + overhead) && !self.cache.accepts_busy;
        let connect = if waited { self.overheads.reselect } else { self.overheads.prepare };
        let feed = Feed { from: (room + connect).max(self.exchanged), each: self.write_block };
        let there = feed.there(u64::from(at.blocks));
        self.exchanged = there;
        let least = connect + self.write_bus_time(at.blocks) + self.overheads.done.write;
        self.connects(if waited { room } else { now }, least);
        self.supersede(at);
        let (ready, feed) = if self.cache.seeks_early { (room, feed) } else { (there, Feed::THERE) };
        self.count_staged(now, there, at.blocks);
        self.buffer.push(at, ready, feed, self.mechanics.layout.locate(at.start));
        if !self.cache.accepts_busy && self.write_back.is_none() {
            self.stop_read_ahead(room);
            self.start_write_back(room);
        }
        let done = self.overheads.done.write;
        let parts = Parts {
            overhead: overhead + connect + done,
            external: room.since(now + overhead),
            bus: there.since(room + connect),
            ..Parts::default()
        };
        (there + done, parts)
    }

    /// The overhead of a write of so many blocks that comes at `now` and goes into the buffer.
    pub(crate) fn buffering(&self, now: Time, blocks: u32) -> Span {
        self.overheads.buffered.a(self.last_direction()) + self.stage_cost(now, blocks)
    }

    /// What segments hold of `at` is stale; where written data share them, one is taken for these, by `ready`.
    fn replace_held(&mut self, ready: Time, at: Extent) {
        self.segments.invalidate(at);
        if self.cache.shared && !self.segments.is_none() {
            // What is read ahead must have a segment to go to.
            let taken = self.segments.next_taken();
            if self.read_ahead.is_some_and(|ahead| Some(ahead.segment) == taken) {
                self.stop_read_ahead(ready);
            }
            let start = if self.cache.written_hits { at.start } else { at.end() };
            self.segments.fill(start, at.end());
        }
    }

    /// Whether the buffer has room for `at`.
    pub(crate) fn fits(&self, at: Extent) -> bool {
        let active = self.active();
        let takes = self.cache.accepts_busy || {
            let last = self.buffer.last().or(active.map(|active| active.limit));
            last.is_none() || (self.cache.joins_writes && last == Some(at.start))
        };
        takes && self.buffer.fits(at, active)
    }

    /// What of the buffer is being written back.
    fn active(&self) -> Option<Active> {
        self.write_back.map(|back| Active { first: back.first(), limit: back.limit })
    }

    /// How many blocks of what is being written back have to be on the medium before `at` finds room.
    fn lacks(&self, at: Extent) -> u64 {
        self.buffer.lacks(at, self.active())
    }

    /// It completes when it is on the medium.
    fn write_medium(&mut self, now: Time, at: Extent, origin: CommandOrigin) -> (Time, Parts) {
        let sequential = self.last_write == Some(at.start);
        let again = self.overheads.disconnect.filter(|_| self.last_write.is_some() && !sequential);
        let plain = self.overhead(self.overheads.write, origin);
        let Disconnect { command, seek, data, .. } =
            again.unwrap_or(Disconnect { command: plain, data: self.overheads.prepare, ..Disconnect::default() });
        let ready = now + command + seek;
        self.supersede(at);
        let start = self.take_arm::<false>(ready);
        let (stroke, spot) = self.move_arm(self.track, at, Direction::Write, start);
        let reached = start + stroke.total();
        let arrived = self.read_before(reached, &spot, at);
        let feed = Feed { from: now + command + data, each: self.write_block };
        let held = if sequential { 0.0 } else { self.bus.write_watermark };
        let (passage, waited) = self.pass_fed(arrived, spot, at, feed, held);
        self.connects(passage.end, self.overheads.done.write);
        let stall = self.overheads.stall(at.blocks, Direction::Write, &passage);
        self.hold_arm(passage.end + stall, passage.after.track);
        self.written = at.end();
        let done = self.overheads.done.write;
        let mut parts = mechanical(stroke, &passage);
        parts.overhead = command + seek + stall + done;
        parts.external = start.since(ready);
        parts.rotation -= waited;
        parts.rotation += arrived.since(reached);
        parts.bus = waited;
        (self.free + done, parts)
    }

    /// It is larger than the buffer: it completes when what does not fit is on the medium.
    fn write_through(&mut self, now: Time, at: Extent, origin: CommandOrigin) -> (Time, Parts) {
        let (complete, mut parts) = self.write_medium(now, at, origin);
        let early = parts.transfer.0 / u64::from(at.blocks) * self.buffer.largest();
        let bus = self.bus_time(at.blocks) + parts.overhead;
        let end = Time(complete.0 - early).max(now + bus).min(complete);
        parts.transfer -= complete.since(end).min(parts.transfer);
        parts.transfer += end.since(now).less(parts.total());
        (now + parts.total(), parts)
    }

    /// A flush that came at `now` and whose turn it is at `turn`: it ends when all is on the medium, and after every
    /// command before it.
    pub(crate) fn flush(&mut self, now: Time, turn: Time) -> (Time, Parts) {
        let overhead = self.overheads.write.a(self.last_direction());
        // A write too large for the buffer may be complete before all of it is on the medium.
        let mut end = (now + overhead).max(turn).max(self.held);
        while self.write_back.is_some() || self.buffer.first().is_some() {
            end = end.max(self.make_room(self.buffer.capacity() - self.buffer.free(), turn));
        }
        (self.held, self.drained) = (end, end);
        self.end_stages();
        let end = end.max(self.last_end().unwrap_or(end));
        (end, Parts { overhead, external: end.since(now + overhead), ..Parts::default() })
    }

    /// Whether a read of `at` is answered from what was written and is not, or not all, on the medium.
    pub(crate) fn holds_written(&self, at: Extent) -> bool {
        let leaving = |back: WriteBack| back.first() <= at.start && at.end() <= back.limit;
        self.cache.written_hits && (self.buffer.holds(at) || self.write_back.is_some_and(leaving))
    }

    /// Writes back whatever of `at` waits to be. Gives when that is done.
    #[inline]
    pub(crate) fn clear(&mut self, now: Time, at: Extent) -> Time {
        if self.buffer.is_empty() {
            return now;
        }
        let mut cleared = now;
        let meets = |back: WriteBack| back.first() < at.end() && at.start < back.limit;
        while self.buffer.touches(at) || self.write_back.is_some_and(meets) {
            // What continues it and is not wanted need not be waited for.
            cleared = cleared.max(self.make_room(0, now));
        }
        self.drained = self.drained.max(cleared);
        cleared
    }

    /// Sends the arm to write a waiting extent to the medium, no earlier than `after`.
    pub(crate) fn start_write_back(&mut self, after: Time) {
        let Some(first) = self.buffer.first() else { return };
        let began = first.ready.max(self.free).max(after);
        if let Some(mut back) = self.just_completed(began)
            && self.go_on(&mut back)
        {
            self.write_back = Some(WriteBack { began, ..back });
            return;
        }
        let taken = match self.cache.drain {
            Drain::InOrder => self.buffer.take_first(),
            Drain::Soonest | Drain::AllSoonest => {
                let begins = |dirty: &Dirty, before| self.write_back_begins(began, self.track, dirty, before);
                let soonest = self.buffer.soonest(began, begins);
                soonest.and_then(|(place, _)| self.buffer.take(place))
            }
        };
        let Some(dirty) = taken else { return };
        let began = if self.runs_past(began, dirty) { began + self.sector_time(self.track.zone) } else { began };
        let (stroke, spot) = self.move_arm(self.track, dirty.at, Direction::Write, began);
        let arrived = self.read_before(began + stroke.total(), &spot, dirty.at);
        let mut back = WriteBack {
            began,
            so_far: Progress { reached: dirty.at.start, at: arrived, after: spot },
            limit: dirty.at.end(),
            whole: 0,
        };
        if self.mechanics.access.writes {
            let (passage, _) = self.pass_fed(arrived, spot, dirty.at, dirty.feed, 0.0);
            // Whole sectors pass, also where the extent ends inside one.
            let sector = 1 << self.mechanics.layout.sector_shift();
            let reached = Lbn(back.limit.0.next_multiple_of(sector));
            back.so_far = Progress { reached, at: passage.end, after: passage.after };
            back.whole = dirty.at.blocks;
        } else {
            back.so_far.at = self.hold_back(arrived, spot, dirty.at, dirty.feed);
        }
        self.write_back = Some(back);
    }

    /// From when a head that arrived there can write `at`, of which the first sector lies there: at once, or when that sector has
    /// been read since part of one is kept.
    #[inline]
    pub(crate) fn read_before(&self, arrived: Time, spot: &Spot, at: Extent) -> Time {
        if self.merges(at) { self.read_sector(arrived, spot) } else { arrived }
    }

    /// Whether part of a sector is kept when `at` is written, in a drive that must read it then.
    fn merges(&self, at: Extent) -> bool {
        let inside = (1 << self.mechanics.layout.sector_shift()) - 1;
        self.cache.merges_sectors && (at.start.0 | at.end().0) & inside != 0
    }

    /// When a sector has passed under a head on its track.
    #[inline(never)]
    fn read_sector(&self, arrived: Time, spot: &Spot) -> Time {
        let width = self.mechanics.layout.sector_angle(spot.track.zone);
        let begins = self.spindle.reach(arrived, spot.angle);
        self.spindle.correct(begins + self.spindle.turning(width), spot.angle.wrapping_add(width))
    }

    /// What a write given now would take longer for sectors of which it writes part, where it does not go to the buffer.
    pub(crate) fn merging(&self, command: Command) -> Span {
        let waits = command.verb.writes() && self.merges(command.at) && !self.is_quick(command);
        if waits { self.spindle.turning(u64::MAX) } else { Span::ZERO }
    }

    /// From when, at or after `arrived`, blocks pass under a head that waits for no data: none comes under it before it
    /// is there, the last included.
    fn hold_back(&self, arrived: Time, spot: Spot, at: Extent, feed: Feed) -> Time {
        let all = feed.there(u64::from(at.blocks));
        if all <= arrived {
            return arrived;
        }
        let first = arrived.max(feed.there(1 << self.mechanics.layout.sector_shift()));
        let passage = self.mechanics.pass(&self.spindle, first, spot, at, Direction::Write);
        let passing = passage.end.since(passage.began).less(self.sector_time(spot.track.zone));
        first.max(Time(all.0.saturating_sub(passing.0)))
    }

    /// Whether the first sector of what continues the last write-back is passing when that ends, and is not written with
    /// it, where the drive has that habit.
    fn runs_past(&self, began: Time, dirty: Dirty) -> bool {
        let sector = 1 << self.mechanics.layout.sector_shift();
        !self.cache.streams_writes
            && began == self.free
            && dirty.at.start == self.written
            && dirty.feed.there(sector) <= began
    }

    /// The passage of a write whose data still come, under a head on its track from `arrived`; a share of `held` of
    /// what would come while it passes must be there before. Gives, too, for how much of the rotation the head could not
    /// have begun for want of data.
    fn pass_fed(&self, arrived: Time, spot: Spot, at: Extent, feed: Feed, held: f64) -> (Passage, Span) {
        let all = feed.there(u64::from(at.blocks));
        if self.mechanics.access.writes && all > arrived {
            return (self.pass_as_fed(arrived, spot, at, feed), Span::ZERO);
        }
        let from = self.hold_back(arrived, spot, at, feed);
        let from = from + Span((all.since(from).0 as f64 * held) as u64);
        let mut passage = self.mechanics.pass(&self.spindle, from, spot, at, Direction::Write);
        passage.rotation += from.since(arrived);
        (passage, from.since(arrived))
    }

    /// The same where each sector is written when it comes by and its blocks are there, in whatever order on each track.
    fn pass_as_fed(&self, arrived: Time, spot: Spot, at: Extent, feed: Feed) -> Passage {
        let layout = &self.mechanics.layout;
        let shift = layout.sector_shift();
        let all = ((at.end().0 - 1) >> shift) + 1;
        let mut whole = Passage {
            began: Time::NEVER,
            end: arrived,
            rotation: Span::ZERO,
            latency: Span::ZERO,
            transfer: Span::ZERO,
            crossing: Span::ZERO,
            after: spot,
            angle: spot.angle,
        };
        let mut next = at.start.0 >> shift;
        while next < all {
            let there = layout.locate(Lbn(next << shift));
            let crossing = self.mechanics.crossing_to(&whole.after, &there, Direction::Write);
            whole.crossing += crossing;
            let came = |sector: u64| feed.there(((sector + 1) << shift).min(at.end().0) - at.start.0);
            let now = whole.end + crossing;
            next = self.pass_track_as_fed(&mut whole, now, (next, all), came);
        }
        whole.angle = self.spindle.phase(whole.end);
        whole
    }

    /// The sectors from `next` on, up to `all`, of one track under a head on it from `now`, each written when it comes by
    /// and `came`. Gives the sector after them.
    fn pass_track_as_fed(
        &self,
        whole: &mut Passage,
        now: Time,
        (mut next, all): (u64, u64),
        came: impl Fn(u64) -> Time,
    ) -> u64 {
        let layout = &self.mechanics.layout;
        let first = layout.locate(Lbn(next << layout.sector_shift()));
        let width = layout.sector_angle(first.track.zone);
        let (mut end, mut transfer) = (now, Span::ZERO);
        while next < all {
            let run = layout.locate(Lbn(next << layout.sector_shift()));
            if (run.track, run.remapped) != (first.track, first.remapped) {
                break;
            }
            let here = u64::from(run.left.max(1)).min(all - next);
            for i in 0..here {
                let angle = run.angle.wrapping_add(width.wrapping_mul(i));
                let begins = self.spindle.reach(now.max(came(next + i)), angle);
                let passed = self.spindle.correct(begins + self.spindle.turning(width), angle.wrapping_add(width));
                whole.began = whole.began.min(begins.max(now));
                end = end.max(passed);
                transfer += passed.since(begins.max(now));
            }
            whole.after = Spot { left: run.left.max(1), ..run }.on(here as u32, width);
            next += here;
        }
        let transfer = transfer.min(end.since(now));
        whole.transfer += transfer;
        whole.rotation += end.since(now) - transfer;
        whole.end = end;
        next
    }

    /// The time a sector takes to pass, as the spindle really turns.
    pub(crate) fn sector_time(&self, zone: u32) -> Span {
        self.spindle.turning(self.mechanics.layout.sector_angle(zone))
    }

    /// As for what the arm settles before `at`: a write that goes on where the last one ended does not settle anew.
    #[inline(always)]
    pub(crate) fn settles_as(&self, at: Extent, direction: Direction) -> Direction {
        if at.start == self.written { Direction::Read } else { direction }
    }

    /// When the first block of an extent could be written by an arm that sets out from `track` at `began`; nothing where that is not
    /// `before`, which the way of the arm alone tells of most.
    #[inline]
    pub(crate) fn write_back_begins(&self, began: Time, track: Track, dirty: &Dirty, before: Time) -> Option<Time> {
        let stroke = self.mechanics.stroke(track, dirty.spot.track, self.settles_as(dirty.at, Direction::Write));
        let arrived = began + stroke.total();
        if arrived >= before {
            return None;
        }
        Some(self.spindle.reach(arrived, dirty.spot.angle)).filter(|begins| *begins < before)
    }

    /// Gives up what waits of `at` in the buffer.
    pub(crate) fn supersede(&mut self, at: Extent) {
        let layout = &self.mechanics.layout;
        self.buffer.supersede(at, |block| layout.locate(block));
    }

    /// When the write-back under way is complete.
    pub(crate) fn write_back_end(&self, back: WriteBack) -> Time {
        self.mechanics.run_on(&self.spindle, back.so_far, back.limit, Time::NEVER, Direction::Write).at
    }

    /// When the write-back under way has made room for `at` or, if it does not make enough, is complete.
    pub(crate) fn room_at(&self, at: Extent) -> Option<Time> {
        let back = self.write_back?;
        let wanted = self.lacks(at);
        let stop = Lbn(back.so_far.reached.0.saturating_add(wanted));
        if wanted == 0 || back.whole > 0 || stop >= back.limit {
            return Some(self.write_back_end(back));
        }
        Some(self.mechanics.run_on(&self.spindle, back.so_far, stop, Time::NEVER, Direction::Write).at)
    }

    /// Lets the write-back under way proceed up to block `stop`, or up to `now`; it goes on with a waiting
    /// extent that continues it. Gives when it got there; once it is complete there is none.
    pub(crate) fn write_back_until(&mut self, stop: Lbn, now: Time) -> Time {
        let Some(mut back) = self.write_back.take() else { return self.free };
        let mut from = back.began;
        loop {
            let before = back.so_far.reached;
            let stop_here = stop.min(back.limit);
            self.mechanics.go_on_by_runs(&self.spindle, &mut back.so_far, stop_here, now, Direction::Write);
            self.buffer.remove((back.so_far.reached.min(back.limit).0 - before.min(back.limit).0) as u32);
            let at = back.so_far.at;
            if back.so_far.reached < back.limit || (back.whole > 0 && at > now) {
                self.write_back = Some(back);
                return at;
            }
            self.buffer.remove(std::mem::take(&mut back.whole));
            (self.free, self.track) = (at, back.so_far.after.track);
            self.written = back.limit;
            self.completed = Some(back);
            if let Some(wrote) = &mut self.wrote {
                wrote.push((Lbn(back.limit.0 - 1), at.since(from)));
            }
            from = at;
            if back.limit >= stop || at >= now || !self.go_on(&mut back) {
                return at;
            }
        }
    }

    /// The place in the buffer of an extent that continues a write-back just completed, and can be written without
    /// losing a turn.
    fn continuation(&self, back: &WriteBack) -> Option<usize> {
        if !self.cache.streams_writes {
            return None;
        }
        let Progress { reached, at, after } = back.so_far;
        // A physical sector that both share is written once, if all of it was there when it began to pass.
        // What gets its room as that sector begins is there: each of these times is rounded.
        let sector = self.sector_time(after.track.zone).less(Span(2));
        let shared = if reached > back.limit { sector } else { Span::ZERO };
        let place = self.buffer.place_of(back.limit, Time(at.0.saturating_sub(shared.0)))?;
        let next = self.buffer.at_place(place);
        let flows =
            next.feed.there(u64::from(next.at.blocks)) <= at || self.hold_back(at, after, next.at, next.feed) <= at;
        flows.then_some(place)
    }

    /// Has a write-back just completed go on with what continues it, if there is such.
    fn go_on(&mut self, back: &mut WriteBack) -> bool {
        let Some(next) = self.continuation(back).and_then(|place| self.buffer.take(place)) else { return false };
        let done = back.so_far.reached.min(next.at.end()).0 - back.limit.0;
        self.buffer.remove(done as u32);
        back.limit = next.at.end();
        true
    }

    /// The write-back that ended when the arm last became free, if it did.
    fn just_completed(&self, now: Time) -> Option<WriteBack> {
        self.completed.filter(|back| back.so_far.at == now && self.free == now)
    }

    /// Whether a write-back begun now goes on where the last one has just ended.
    pub(crate) fn goes_on(&self, now: Time) -> bool {
        self.just_completed(now).is_some_and(|back| self.continuation(&back).is_some())
    }

    /// Begins to write back, no earlier than `after`. Gives from when the arm can.
    fn begin_write_back(&mut self, after: Time) -> Time {
        self.stop_read_ahead(after);
        let free = self.free.max(after);
        self.start_write_back(free);
        free
    }

    /// Writes back until `wanted` more blocks are free, or the write-back under way — one begun no earlier than
    /// `after`, if there is none — is complete. Gives when that is.
    fn make_room(&mut self, wanted: u64, after: Time) -> Time {
        if self.write_back.is_none() {
            self.begin_write_back(after);
        }
        let Some(back) = self.write_back else { return after };
        // Where the extents, not the blocks, are too many, one of them has to go.
        let stop = match wanted {
            0 => back.limit,
            // All of it is free at once, when it is complete.
            _ if back.whole > 0 => back.limit,
            // What shares the sector it ends in is free, too, once it goes on with that.
            wanted => Lbn(back.so_far.reached.min(back.limit).0.saturating_add(wanted)),
        };
        self.write_back_until(stop, Time::NEVER)
    }

    /// Completes the write-back under way. Gives when the arm is free.
    pub(crate) fn settle_write_back(&mut self) -> Time {
        if let Some(back) = self.write_back {
            return self.write_back_until(back.limit, Time::NEVER);
        }
        Time::ZERO
    }

    /// Ends the drive's own work: a write-back when it is complete, and all of them where they go first; a read-ahead
    /// at the first sector boundary after `ready`. Gives when the arm can go.
    #[inline(always)]
    pub(crate) fn take_arm<const PLAIN: bool>(&mut self, ready: Time) -> Time {
        if PLAIN {
            self.stop_ahead::<true>(ready);
            return self.free.max(ready).max(self.held);
        }
        if self.write_back.is_none() && self.buffer.first().is_none() && !self.waits_for_writes {
            self.stop_read_ahead(ready);
            return self.free.max(ready).max(self.held);
        }
        self.take_writing_arm(ready)
    }

    /// The same where something is written back, or was when the command came.
    #[inline(never)]
    fn take_writing_arm(&mut self, ready: Time) -> Time {
        let wrote = self.waits_for_writes || self.write_back.is_some() || self.buffer.first().is_some();
        self.settle_write_back();
        if self.cache.drain != Drain::Soonest {
            while self.buffer.first().is_some_and(|dirty| dirty.ready <= ready) {
                self.stop_read_ahead(ready);
                self.start_write_back(Time::ZERO);
                self.settle_write_back();
            }
        }
        self.stop_read_ahead(ready);
        // A command that waited until all was written is only then looked at.
        let drained = self.cache.drain == Drain::AllSoonest && wrote && self.free > ready;
        // A flush may have kept it waiting with nothing for the arm to do.
        self.free.max(ready).max(self.held) + if drained { self.overheads.write.write } else { Span::ZERO }
    }

    /// What `take_arm` would give, and where the arm would then be.
    pub(crate) fn foresee_arm(&self, ready: Time) -> (Time, Track) {
        if self.cache.drain != Drain::Soonest && self.buffer.first().is_some() {
            let mut drive = self.clone();
            let free = drive.take_arm::<false>(ready);
            return (free, drive.track);
        }
        match (&self.read_ahead, self.write_back) {
            (_, Some(back)) => {
                let done = self.mechanics.run_on(&self.spindle, back.so_far, back.limit, Time::NEVER, Direction::Write);
                (done.at, done.after.track)
            }
            (Some(ahead), None) => {
                let (at, track, _) = self.read_ahead_stopped::<false>(ahead, ready);
                (at, track)
            }
            (None, None) => (self.free, self.track),
        }
    }
}
