//! The drive itself: commands in, completions out, and what the arm does in between.
//!
//! What the drive does on its own account — reading ahead, writing back — is worked out when the next
//! command comes, up to that instant: one event per command.

use crate::account::{Account, Parts};
use crate::buffer::WriteBuffer;
use crate::cache::{Lookup, Segments};
use crate::noise::{SeekNoise, Spindle};
use block::{BLOCK_BYTES, Caps, Command, Extent, Lbn, Outcome, Span, Tag, Time, Verb};
use disk::{Mechanics, Overheads, Passage, Progress, Sheet, Spin, Spot, Stroke, Track, Truth};
use std::sync::Arc;

/// errno of a command outside the drive.
const EINVAL: i32 = 22;

/// A read that runs on past what was asked for.
#[derive(Clone, Copy, Debug)]
struct ReadAhead {
    /// When it began.
    began: Time,
    /// How far it had come when that was last worked out.
    so_far: Progress,
    /// Where it stops.
    limit: Lbn,
    /// The segment it fills.
    segment: usize,
}

/// A write-back under way. What has passed under the head is free in the buffer.
#[derive(Clone, Copy, Debug)]
struct WriteBack {
    /// When the arm set out.
    began: Time,
    /// How far it had come when that was last worked out.
    so_far: Progress,
    /// The block it stops before.
    limit: Lbn,
}

#[derive(Clone, Copy, Debug)]
struct Flying {
    tag: Tag,
    issued: Time,
    end: Time,
    outcome: Outcome,
    parts: Parts,
}

/// A drive. One command at a time.
#[derive(Clone, Debug)]
pub struct Drive {
    mechanics: Arc<Mechanics>,
    overheads: Overheads,
    /// Bus time of a block in 2⁻¹⁶ ns.
    bus: u64,
    spindle: Spindle,
    noise: SeekNoise,
    segments: Segments,
    read_ahead_blocks: u64,
    buffer: WriteBuffer,
    /// Where the arm is, once its work is done.
    track: Track,
    /// When the arm's own work is done; a read-ahead may be stopped earlier.
    free: Time,
    /// The block after the last one written to the medium.
    written: Lbn,
    read_ahead: Option<ReadAhead>,
    write_back: Option<WriteBack>,
    flying: Option<Flying>,
    ordinal: u64,
    account: Account,
}

impl Drive {
    /// A drive at rest on cylinder 0, its phase given by the seed.
    #[must_use]
    pub fn new(sheet: &Sheet, truth: &Truth, seed: u64) -> Drive {
        let cache = sheet.cache;
        let bus = sheet.overheads.bus_mb_s.map_or(0.0, |rate| BLOCK_BYTES as f64 * 1e3 / rate * 65536.0);
        Drive {
            mechanics: Arc::clone(&sheet.mechanics),
            overheads: sheet.overheads,
            bus: bus as u64,
            spindle: Spindle::new(sheet.mechanics.rotation, truth, seed),
            noise: SeekNoise::new(truth, seed),
            segments: Segments::new(cache.segments, cache.segment),
            read_ahead_blocks: u64::from(cache.read_ahead.min(cache.segment)),
            buffer: WriteBuffer::new(cache.write_buffer),
            track: sheet.mechanics.layout.locate(Lbn(0)).track,
            free: Time::ZERO,
            written: Lbn(u64::MAX),
            read_ahead: None,
            write_back: None,
            flying: None,
            ordinal: 0,
            account: Account::default(),
        }
    }

    /// What it can do.
    #[must_use]
    pub fn caps(&self) -> Caps {
        Caps { blocks: self.mechanics.layout.blocks(), depth: 1 }
    }

    /// Gives it a command. The caller guarantees that none is in flight, and that `now` never goes back.
    pub fn issue(&mut self, now: Time, tag: Tag, command: Command) {
        assert!(self.flying.is_none(), "a drive takes one command at a time");
        self.advance(now);
        let inside = command.at.end().0 <= self.mechanics.layout.blocks();
        let (end, parts, outcome) = match command.verb {
            Verb::Flush => with(self.flush(now), Outcome::Ok),
            _ if !inside || command.at.blocks == 0 => (now, Parts::default(), Outcome::Failed(EINVAL)),
            Verb::Read => with(self.read(now, command.at), Outcome::Ok),
            Verb::Write { fua } => with(self.write(now, command.at, fua), Outcome::Ok),
        };
        self.ordinal += 1;
        debug_assert_eq!(parts.total(), end.since(now), "parts of {command:?}: {parts:?}");
        self.flying = Some(Flying { tag, issued: now, end, outcome, parts });
    }

    /// When the next command completes, if nothing more is issued.
    #[must_use]
    pub fn next(&self) -> Option<Time> {
        self.flying.map(|flying| flying.end)
    }

    /// Completes the command that `next` announced. The caller guarantees there is one.
    pub fn finish(&mut self) -> (Time, Tag, Outcome, Parts) {
        let flying = self.flying.take().expect("a command is in flight");
        self.account.busy += flying.end.since(flying.issued);
        self.account.parts += flying.parts;
        self.account.commands += 1;
        self.account.until = flying.end;
        (flying.end, flying.tag, flying.outcome, flying.parts)
    }

    /// The account of the arm up to `now`, or to when the command in flight was issued; it begins anew.
    pub fn take_account(&mut self, now: Time) -> Account {
        if self.flying.is_none() {
            self.advance(now);
        }
        let account = self.account;
        self.account = Account { since: now, until: now, ..Account::default() };
        account
    }

    /// How long a command given now would be in service without transferring: the truth, noise included.
    /// For bounds only; the caller guarantees that it brought the drive to `now` with `advance`.
    #[must_use]
    pub fn foresee(&self, now: Time, command: Command) -> Span {
        if command.verb == Verb::Read {
            let found = self.segments.look(command.at);
            let coming = self.read_ahead.is_some_and(|ahead| found == Lookup::Partial(ahead.segment));
            if coming || found == Lookup::Hit || self.buffer.holds(command.at) {
                return self.overheads.hit;
            }
        } else if self.buffer.fits(u64::from(command.at.blocks)) {
            return self.overheads.write;
        }
        let write = command.verb.writes();
        let overhead = if write { self.overheads.write } else { self.overheads.read };
        let ready = now + overhead;
        let (free, track) = match (self.read_ahead, self.write_back) {
            (_, Some(back)) => {
                let done = self.mechanics.run_on(&self.spindle, back.so_far, back.limit, Time::NEVER, true);
                (done.at, done.after.track)
            }
            (Some(ahead), None) => {
                let stopped = self.mechanics.run_on(&self.spindle, ahead.so_far, ahead.limit, ready, false);
                (stopped.at, stopped.after.track)
            }
            (None, None) => (self.free, self.track),
        };
        let start = free.max(ready);
        let (_, passage) = self.access(start, track, command.at, write);
        passage.began.since(now)
    }

    /// Lets the drive's own work — read-ahead, write-back — proceed up to `now`.
    pub fn advance(&mut self, now: Time) {
        let gap = self.account.until;
        let mut worked = Span::ZERO;
        let mut count = |began: Time, end: Time| worked += end.min(now).since(began.max(gap));
        loop {
            if let Some(WriteBack { began, .. }) = self.write_back {
                let at = self.write_back_until(Lbn(u64::MAX), now);
                count(began, at);
                if self.write_back.is_some() {
                    break;
                }
            }
            if let Some(ahead) = self.read_ahead {
                let so_far = self.mechanics.run_on(&self.spindle, ahead.so_far, ahead.limit, now, false);
                count(ahead.began, so_far.at);
                self.segments.extend(ahead.segment, so_far.reached);
                if so_far.reached < ahead.limit {
                    self.read_ahead = Some(ReadAhead { so_far, ..ahead });
                    break;
                }
                (self.free, self.track, self.read_ahead) = (so_far.at, so_far.after.track, None);
            }
            match self.buffer.first() {
                Some(dirty) if dirty.ready.max(self.free) < now => self.start_write_back(Time::ZERO),
                _ => break,
            }
        }
        self.account.background += worked;
        self.account.until = now;
    }

    /// Sends the arm to write a waiting extent to the medium, no earlier than `after`.
    fn start_write_back(&mut self, after: Time) {
        let Some(first) = self.buffer.first() else { return };
        let began = first.ready.max(self.free).max(after);
        let begins = |at: Extent| {
            let spot = self.mechanics.layout.locate(at.start);
            let stroke = self.mechanics.stroke(self.track, spot.track, at.start != self.written);
            self.spindle.reach(began + stroke.total(), spot.angle)
        };
        let Some(dirty) = self.buffer.take_soonest(began, begins) else { return };
        let (stroke, spot) = self.move_arm(self.track, dirty.at, true);
        let so_far = Progress { reached: dirty.at.start, at: began + stroke.total(), after: spot };
        self.write_back = Some(WriteBack { began, so_far, limit: dirty.at.end() });
    }

    /// Lets the write-back under way proceed up to block `stop`, or up to `now`; it goes on with a waiting
    /// extent that continues it. Gives when it got there; once it is complete there is none.
    fn write_back_until(&mut self, stop: Lbn, now: Time) -> Time {
        let Some(mut back) = self.write_back.take() else { return self.free };
        loop {
            let before = back.so_far.reached;
            back.so_far = self.mechanics.run_on(&self.spindle, back.so_far, stop.min(back.limit), now, true);
            self.buffer.freed((back.so_far.reached.min(back.limit).0 - before.min(back.limit).0) as u32);
            let at = back.so_far.at;
            if back.so_far.reached < back.limit {
                self.write_back = Some(back);
                return at;
            }
            (self.free, self.track) = (at, back.so_far.after.track);
            self.written = back.limit;
            if back.limit >= stop || at >= now {
                return at;
            }
            match self.buffer.take_at(back.so_far.reached, at) {
                Some(next) => back.limit = next.at.end(),
                None => return at,
            }
        }
    }

    /// The arm wrote `at` to the medium.
    fn landed(&mut self, passage: &Passage, at: Extent) {
        (self.free, self.track) = (passage.end, passage.after.track);
        self.written = at.end();
    }

    fn read(&mut self, now: Time, at: Extent) -> (Time, Parts) {
        let found = if self.buffer.holds(at) { Lookup::Hit } else { self.segments.look(at) };
        let ahead = self.read_ahead.filter(|ahead| found == Lookup::Partial(ahead.segment));
        match (found, ahead) {
            (Lookup::Hit, _) => {
                self.segments.touch(at.start);
                self.keep_ahead_of(at);
                self.hit(now, at)
            }
            (_, Some(ahead)) => self.read_on(now, at, ahead),
            (Lookup::Partial(i), None) => {
                let held = self.segments.end_of(i);
                let rest = Extent { start: held, blocks: (at.end().0 - held.0) as u32 };
                self.read_medium(now, at, rest, Some(i))
            }
            (Lookup::Miss, None) => self.read_medium(now, at, at, None),
        }
    }

    /// All of it is in the buffer.
    fn hit(&self, now: Time, at: Extent) -> (Time, Parts) {
        let bus = self.bus_time(at.blocks);
        let overhead = self.overheads.hit;
        (now + overhead + bus, Parts { overhead, bus, ..Parts::default() })
    }

    /// The read-ahead under way will bring it, or has brought it already.
    fn read_on(&mut self, now: Time, at: Extent, ahead: ReadAhead) -> (Time, Parts) {
        let Progress { reached, at: since, after } = ahead.so_far;
        let rest = Extent { start: reached, blocks: (at.end().0 - reached.0) as u32 };
        let passage = self.mechanics.pass(&self.spindle, since, after, rest, false);
        (self.free, self.track) = (passage.end, passage.after.track);
        self.segments.extend(ahead.segment, at.end());
        self.begin_read_ahead(ahead.began, at.end(), &passage, ahead.segment);
        let (hit_end, mut parts) = self.hit(now, at);
        let end = hit_end.max(passage.end + self.bus_time(1));
        parts.transfer = end.since(hit_end);
        (end, parts)
    }

    /// `rest` of `at` must come from the medium; the segment that holds its beginning goes on with it.
    fn read_medium(&mut self, now: Time, at: Extent, rest: Extent, segment: Option<usize>) -> (Time, Parts) {
        let overhead = self.overheads.read;
        let start = self.take_arm(now + overhead);
        let (stroke, passage) = self.access(start, self.track, rest, false);
        (self.free, self.track) = (passage.end, passage.after.track);
        if !self.segments.is_none() {
            let segment = match segment {
                Some(i) => {
                    self.segments.extend(i, at.end());
                    i
                }
                None => self.segments.fill(at),
            };
            self.begin_read_ahead(passage.end, at.end(), &passage, segment);
        }
        // The host is served while the medium is read: its bus adds the last block, or sets the pace.
        let end = (passage.end + self.bus_time(1)).max(passage.began + self.bus_time(at.blocks));
        let mut parts = mechanical(stroke, &passage);
        parts.overhead = overhead;
        parts.external = start.since(now + overhead);
        parts.bus = end.since(passage.end);
        (end, parts)
    }

    /// The drive reads on after a passage that ended before block `reached`.
    fn begin_read_ahead(&mut self, began: Time, reached: Lbn, passage: &Passage, segment: usize) {
        let limit = self.read_ahead_limit(reached);
        let so_far = Progress { reached, at: passage.end, after: passage.after };
        self.read_ahead = (reached < limit).then_some(ReadAhead { began, so_far, limit, segment });
    }

    /// A read-ahead under way keeps its distance ahead of what is asked for from its segment.
    fn keep_ahead_of(&mut self, at: Extent) {
        let limit = self.read_ahead_limit(at.end());
        if let Some(ahead) = &mut self.read_ahead
            && at.end() <= ahead.so_far.reached
            && limit > ahead.limit
            && self.segments.holds(ahead.segment, at.start)
        {
            ahead.limit = limit;
        }
    }

    fn read_ahead_limit(&self, from: Lbn) -> Lbn {
        Lbn((from.0 + self.read_ahead_blocks).min(self.mechanics.layout.blocks()))
    }

    fn write(&mut self, now: Time, at: Extent, fua: bool) -> (Time, Parts) {
        let overhead = self.overheads.write;
        if self.read_ahead.is_some_and(|ahead| at.start < ahead.limit && self.segments.overlaps(ahead.segment, at)) {
            self.take_arm(now + overhead);
        }
        self.segments.invalidate(at);
        let blocks = u64::from(at.blocks);
        let buffered = !fua && self.buffer.capacity() > 0;
        if buffered && blocks <= self.buffer.capacity() {
            let mut room = now + overhead;
            while !self.buffer.fits(blocks) {
                room = room.max(self.make_room(blocks, room));
            }
            let end = room + self.bus_time(at.blocks);
            self.buffer.push(at, end);
            let external = room.since(now + overhead);
            return (end, Parts { overhead, external, bus: end.since(room), ..Parts::default() });
        }
        let start = self.take_arm(now + overhead);
        let (stroke, passage) = self.access(start, self.track, at, true);
        self.landed(&passage, at);
        let mut parts = mechanical(stroke, &passage);
        parts.overhead = overhead;
        parts.external = start.since(now + overhead);
        let end = passage.end.max(passage.began + self.bus_time(at.blocks));
        parts.bus = end.since(passage.end);
        self.free = end;
        (end, parts)
    }

    fn flush(&mut self, now: Time) -> (Time, Parts) {
        let overhead = self.overheads.write;
        let mut end = now + overhead;
        while self.write_back.is_some() || self.buffer.first().is_some() {
            end = end.max(self.make_room(self.buffer.capacity(), now + overhead));
        }
        (end, Parts { overhead, external: end.since(now + overhead), ..Parts::default() })
    }

    /// Writes back until `blocks` blocks are free, or the write-back under way — one begun no earlier than
    /// `after`, if there is none — is complete. Gives when that is.
    fn make_room(&mut self, blocks: u64, after: Time) -> Time {
        if self.write_back.is_none() {
            let free = self.take_arm(after);
            self.start_write_back(free);
        }
        let Some(back) = self.write_back else { return after };
        // Where the extents, not the blocks, are too many, one of them has to go.
        let stop = match blocks.saturating_sub(self.buffer.free()) {
            0 => back.limit,
            wanted => Lbn(back.so_far.reached.0.saturating_add(wanted)),
        };
        self.write_back_until(stop, Time::NEVER)
    }

    /// Ends the drive's own work, a read-ahead at the first sector boundary after `ready`, a write-back when it is
    /// complete. Gives when the arm can go.
    fn take_arm(&mut self, ready: Time) -> Time {
        if let Some(back) = self.write_back {
            self.write_back_until(back.limit, Time::NEVER);
        }
        if let Some(ahead) = self.read_ahead.take() {
            let stopped = self.mechanics.run_on(&self.spindle, ahead.so_far, ahead.limit, ready, false);
            self.segments.extend(ahead.segment, stopped.reached);
            (self.free, self.track) = (stopped.at, stopped.after.track);
        }
        self.free.max(ready)
    }

    /// The arm goes from `track` at `start` to `at` and lets it pass.
    fn access(&self, start: Time, track: Track, at: Extent, write: bool) -> (Stroke, Passage) {
        let (stroke, spot) = self.move_arm(track, at, write);
        (stroke, self.mechanics.pass(&self.spindle, start + stroke.total(), spot, at, write))
    }

    /// The move of the arm from `track` to `at`, as it really goes, and where that is.
    fn move_arm(&self, track: Track, at: Extent, write: bool) -> (Stroke, Spot) {
        let spot = self.mechanics.layout.locate(at.start);
        let mut stroke = self.mechanics.stroke(track, spot.track, write && at.start != self.written);
        stroke.seek = self.noise.apply(stroke.seek, self.ordinal);
        (stroke, spot)
    }

    fn bus_time(&self, blocks: u32) -> Span {
        Span((self.bus * u64::from(blocks)) >> 16)
    }
}

/// The parts the mechanics give.
fn mechanical(stroke: Stroke, passage: &Passage) -> Parts {
    Parts {
        seek: stroke.seek,
        switch: stroke.switch + passage.crossing,
        settle: stroke.settle,
        rotation: passage.rotation,
        transfer: passage.transfer,
        ..Parts::default()
    }
}

fn with((end, parts): (Time, Parts), outcome: Outcome) -> (Time, Parts, Outcome) {
    (end, parts, outcome)
}
