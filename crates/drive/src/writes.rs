//! Writes: into the buffer, to the medium; writing back what is buffered.

use crate::account::Parts;
use crate::machine::{Drive, mechanical};
use block::{Extent, Lbn, Span, Time};
use disk::{Disconnect, Drain, Progress, Track};

/// A write-back under way. What has passed under the head is free in the buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteBack {
    /// When the arm set out.
    pub(crate) began: Time,
    /// How far it had come when that was last worked out.
    so_far: Progress,
    /// The block it stops before.
    limit: Lbn,
    /// Blocks taken out of order: free in the buffer only when it is complete.
    whole: u32,
}

impl Drive {
    pub(crate) fn write(&mut self, now: Time, at: Extent, fua: bool, queued: bool) -> (Time, Parts) {
        if self.read_ahead.is_some_and(|ahead| ahead.meets(at) && self.segments.overlaps(ahead.segment, at)) {
            self.stop_read_ahead(now + self.overheads.buffered.a(self.last_write.is_some()));
        }
        self.segments.invalidate(at);
        if self.cache.shared && !self.segments.is_none() {
            let start = if self.cache.written_hits { at.start } else { at.end() };
            self.segments.fill(start, at.end());
        }
        if fua || self.buffer.capacity() == 0 {
            return self.write_medium(now, at, queued);
        }
        if u64::from(at.blocks) > self.buffer.capacity() {
            return self.write_through(now, at, queued);
        }
        let overhead = self.overheads.buffered.a(self.last_write.is_some());
        let mut room = now + overhead;
        while !self.fits(at) {
            room = room.max(self.make_room(u64::from(at.blocks), room));
        }
        let bus = self.bus_time(at.blocks);
        self.buffer.push(at, room + bus);
        let done = self.overheads.done.write;
        let external = room.since(now + overhead);
        (room + bus + done, Parts { overhead: overhead + done, external, bus, ..Parts::default() })
    }

    /// Whether the buffer has room for `at`.
    pub(crate) fn fits(&self, at: Extent) -> bool {
        self.buffer.fits(at, self.write_back.map(|back| back.limit))
    }

    /// It completes when it is on the medium.
    fn write_medium(&mut self, now: Time, at: Extent, queued: bool) -> (Time, Parts) {
        let sequential = self.last_write == Some(at.start);
        let again = self.overheads.disconnect.filter(|_| self.last_write.is_some() && !sequential);
        let plain = self.overhead(self.overheads.write, queued);
        let Disconnect { command, seek, data, .. } =
            again.unwrap_or(Disconnect { command: plain, ..Disconnect::default() });
        let ready = now + command + seek;
        let start = self.take_arm(ready);
        let (stroke, spot) = self.move_arm(self.track, at, true, start);
        let arrived = start + stroke.total();
        // No block is written before it has come over the bus: not the first, and at the medium's pace not the last.
        let shift = self.mechanics.layout.sector_shift();
        let sectors = (u64::from(at.blocks) >> shift).max(1);
        let sector = self.mechanics.sector_time(spot.track.zone);
        let first = now + command + data + self.bus_time(1 << shift);
        let last = first + self.bus_time(at.blocks).less(self.bus_time(1 << shift));
        let streaming = first.max(Time(last.0.saturating_sub(sector.0 * (sectors - 1))));
        let held = if sequential { 0.0 } else { self.write_watermark };
        let bound = streaming + Span((last.since(streaming).0 as f64 * held) as u64);
        let from = arrived.max(bound);
        let passage = self.mechanics.pass(&self.spindle, from, spot, at, true);
        let stall = self.overheads.stall(at.blocks, true, &passage);
        (self.free, self.track) = (passage.end + stall, passage.after.track);
        self.written = at.end();
        let done = self.overheads.done.write;
        let mut parts = mechanical(stroke, &passage);
        parts.overhead = command + seek + stall + done;
        parts.external = start.since(ready);
        parts.bus = from.since(arrived);
        (self.free + done, parts)
    }

    /// It is larger than the buffer: it completes when what does not fit is on the medium.
    fn write_through(&mut self, now: Time, at: Extent, queued: bool) -> (Time, Parts) {
        let (complete, mut parts) = self.write_medium(now, at, queued);
        let early = parts.transfer.0 / u64::from(at.blocks) * self.buffer.capacity();
        let bus = self.bus_time(at.blocks) + parts.overhead;
        let end = Time(complete.0 - early).max(now + bus).min(complete);
        parts.transfer -= complete.since(end).min(parts.transfer);
        parts.transfer += end.since(now).less(parts.total());
        (now + parts.total(), parts)
    }

    pub(crate) fn flush(&mut self, now: Time) -> (Time, Parts) {
        let overhead = self.overheads.write.a(self.last_write.is_some());
        let mut end = now + overhead;
        while self.write_back.is_some() || self.buffer.first().is_some() {
            end = end.max(self.make_room(self.buffer.capacity(), now + overhead));
        }
        (end, Parts { overhead, external: end.since(now + overhead), ..Parts::default() })
    }

    /// Whether a read of `at` is answered from what was written and is not, or not all, on the medium.
    pub(crate) fn holds_written(&self, at: Extent) -> bool {
        let first = |back: WriteBack| Lbn(back.so_far.reached.0 - u64::from(back.whole));
        let leaving = |back: WriteBack| first(back) <= at.start && at.end() <= back.limit;
        self.cache.written_hits && (self.buffer.holds(at) || self.write_back.is_some_and(leaving))
    }

    /// Writes back whatever of `at` waits to be. Gives when that is done.
    pub(crate) fn clear(&mut self, now: Time, at: Extent) -> Time {
        if self.buffer.is_empty() {
            return now;
        }
        let mut cleared = now;
        let meets = |back: WriteBack| back.so_far.reached < at.end() && at.start < back.limit;
        while self.buffer.touches(at) || self.write_back.is_some_and(meets) {
            cleared = cleared.max(self.make_room(self.buffer.capacity(), now));
        }
        cleared
    }

    /// Sends the arm to write a waiting extent to the medium, no earlier than `after`.
    pub(crate) fn start_write_back(&mut self, after: Time) {
        let Some(first) = self.buffer.first() else { return };
        let began = first.ready.max(self.free).max(after);
        let taken = match self.cache.drain {
            Drain::InOrder => self.buffer.take_first(),
            Drain::Soonest | Drain::AllSoonest => {
                let begins = |at: Extent| {
                    let spot = self.mechanics.layout.locate(at.start);
                    let stroke = self.mechanics.stroke(self.track, spot.track, at.start != self.written);
                    disk::Spin::reach(&self.spindle, began + stroke.total(), spot.angle)
                };
                self.buffer.take_soonest(began, begins)
            }
        };
        let Some(dirty) = taken else { return };
        let (stroke, spot) = self.move_arm(self.track, dirty.at, true, began);
        let arrived = began + stroke.total();
        let mut back = WriteBack {
            began,
            so_far: Progress { reached: dirty.at.start, at: arrived, after: spot },
            limit: dirty.at.end(),
            whole: 0,
        };
        if self.mechanics.access.writes {
            let passage = self.mechanics.pass(&self.spindle, arrived, spot, dirty.at, true);
            back.so_far = Progress { reached: back.limit, at: passage.end, after: passage.after };
            back.whole = dirty.at.blocks;
        }
        self.write_back = Some(back);
    }

    /// Lets the write-back under way proceed up to block `stop`, or up to `now`; it goes on with a waiting
    /// extent that continues it. Gives when it got there; once it is complete there is none.
    pub(crate) fn write_back_until(&mut self, stop: Lbn, now: Time) -> Time {
        let Some(mut back) = self.write_back.take() else { return self.free };
        loop {
            let before = back.so_far.reached;
            back.so_far = self.mechanics.run_on(&self.spindle, back.so_far, stop.min(back.limit), now, true);
            self.buffer.freed((back.so_far.reached.min(back.limit).0 - before.min(back.limit).0) as u32);
            let at = back.so_far.at;
            if back.so_far.reached < back.limit || (back.whole > 0 && at > now) {
                self.write_back = Some(back);
                return at;
            }
            self.buffer.freed(std::mem::take(&mut back.whole));
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

    /// Writes back until `blocks` blocks are free, or the write-back under way — one begun no earlier than
    /// `after`, if there is none — is complete. Gives when that is.
    fn make_room(&mut self, blocks: u64, after: Time) -> Time {
        if self.write_back.is_none() {
            self.stop_read_ahead(after);
            let free = self.free.max(after);
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

    /// Completes the write-back under way. Gives when the arm is free.
    pub(crate) fn settle_write_back(&mut self) -> Time {
        if let Some(back) = self.write_back {
            return self.write_back_until(back.limit, Time::NEVER);
        }
        Time::ZERO
    }

    /// Ends the drive's own work: a write-back when it is complete, and all of them where they go first; a read-ahead
    /// at the first sector boundary after `ready`. Gives when the arm can go.
    pub(crate) fn take_arm(&mut self, ready: Time) -> Time {
        let wrote = self.write_back.is_some() || self.buffer.first().is_some();
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
        self.free.max(ready) + if drained { self.overheads.write.write } else { Span::ZERO }
    }

    /// What `take_arm` would give, and where the arm would then be.
    pub(crate) fn freed(&self, ready: Time) -> (Time, Track) {
        if self.cache.drain != Drain::Soonest && self.buffer.first().is_some() {
            let mut drive = self.clone();
            let free = drive.take_arm(ready);
            return (free, drive.track);
        }
        match (&self.read_ahead, self.write_back) {
            (_, Some(back)) => {
                let done = self.mechanics.run_on(&self.spindle, back.so_far, back.limit, Time::NEVER, true);
                (done.at, done.after.track)
            }
            (Some(ahead), None) => {
                let stopped = self.read_ahead_stopped(ahead, ready);
                (stopped.at, stopped.after.track)
            }
            (None, None) => (self.free, self.track),
        }
    }
}
