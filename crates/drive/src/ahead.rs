//! Reading ahead: how far the drive reads on by itself, what that may overwrite, and when it lets go of the arm.

use crate::cache::Lookup;
use crate::state::{Drive, ReadAhead, Sent};
use block::{Direction, Extent, Lbn, Time};
use disk::{Passage, Progress, Spin, Spot, Track};

impl Drive {
    /// The drive reads on into a segment, which ends there, after a passage that ended before block `reached`.
    #[inline(always)]
    pub(crate) fn begin_read_ahead(&mut self, began: Time, reached: Lbn, passage: &Passage, segment: usize) {
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
    pub(crate) fn keep_ahead_of(&mut self, now: Time, i: usize, at: Extent) {
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
                    self.read_on_from(now, i, reached, (limit, least));
                }
            }
            _ => {}
        }
    }

    /// The arm goes to where a segment ends, and the drive reads on from there.
    fn read_on_from(&mut self, now: Time, segment: usize, reached: Lbn, (limit, least): (Lbn, Lbn)) {
        let began = self.free.max(now);
        let next = Extent { start: reached, blocks: 1 };
        let (stroke, spot) = self.move_arm(self.track, next, Direction::Read, began);
        let so_far = Progress { reached, at: began + stroke.total(), after: spot };
        self.track = spot.track;
        self.read_ahead = Some(ReadAhead { began, so_far, limit, least, segment, sent: None });
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
            None if self.write_back.is_none() => self.read_on_from(now, segment, reached, (limit, at.end())),
            None => {}
        }
        true
    }

    /// The block that is read at least after a read that ended before block `end`, before another command has the arm.
    pub(crate) fn least_ahead(&self, end: Lbn, limit: Lbn) -> Lbn {
        // Where a command ends the reading ahead, it ends it there, short of the limit or beyond.
        let last = if self.cache.ends_at_command { Lbn(self.mechanics.layout.blocks()) } else { limit };
        Lbn((end.0 + u64::from(self.cache.least_ahead)).min(last.0))
    }

    /// How far the drive reads on after a read that ended before block `end`, from a segment that begins at `start`.
    pub(crate) fn read_ahead_limit(&self, start: Lbn, end: Lbn) -> Lbn {
        self.cache.read_ahead_limit(&self.mechanics.layout, start, end)
    }

    /// Lets the read-ahead under way proceed up to `now`; once it is complete there is none. Gives when it got there.
    #[inline(never)]
    pub(crate) fn read_ahead_until(&mut self, now: Time) -> Time {
        self.go_on_ahead::<false>(now)
    }

    /// The same, of a plain drive where it is asked for a command: from there nothing is sent that must not be overwritten.
    #[inline(always)]
    pub(crate) fn go_on_ahead<const PLAIN: bool>(&mut self, now: Time) -> Time {
        let Some(ahead) = &mut self.read_ahead else { return self.free };
        let limit = ahead.limit;
        match ahead.sent.filter(|_| !PLAIN) {
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
        // Mostly there is room for all of it from the beginning.
        if limit <= self.room_before(sent, 0) {
            return self.mechanics.go_on(&self.spindle, so_far, limit, until, Direction::Read);
        }
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
        self.room_before(sent, gone.min(u64::from(sent.at.blocks)))
    }

    /// The same where so many of the blocks have gone.
    fn room_before(&self, sent: &Sent, gone: u64) -> Lbn {
        Lbn(sent.at.start.0 + gone + u64::from(self.cache.segment))
    }

    /// What is sent of `at` from `from` until `until` keeps its place in the segment; what was there at once goes at once.
    pub(crate) fn hold_ahead(&mut self, segment: usize, at: Extent, from: Time, until: Time) {
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
    pub(crate) fn read_ahead_stopped<const PLAIN: bool>(&self, ahead: &ReadAhead, ready: Time) -> (Time, Track, Lbn) {
        let so_far = &ahead.so_far;
        if so_far.at >= ready && so_far.reached >= ahead.least {
            if PLAIN {
                return (so_far.at, so_far.after.track, so_far.reached);
            }
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
        self.stop_ahead::<false>(ready);
    }

    /// The same, which a `PLAIN` drive does only between sectors.
    #[inline(always)]
    pub(crate) fn stop_ahead<const PLAIN: bool>(&mut self, ready: Time) {
        let Some(ahead) = &self.read_ahead else { return };
        let (at, track, reached) = self.read_ahead_stopped::<PLAIN>(ahead, ready);
        let segment = ahead.segment;
        self.segments.end_at(segment, reached);
        (self.free, self.track, self.read_ahead) = (at, track, None);
    }
}
