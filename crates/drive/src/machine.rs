//! The drive itself: commands in, completions out, and what the arm does in between.
//!
//! What the drive does on its own account — reading ahead, writing back — is worked out when the next
//! command comes or goes, up to that instant: one event per command. Where several commands are in the drive,
//! [`crate::queue`] decides which has the arm next.
//!
//! The hot path is a short read that has nothing in the cache, of a drive with room for one command and without the habits that only
//! some drives have: which are `PLAIN` is settled when a drive is made. `issue` brings its own work up to date, `begin_miss` takes
//! the arm, locates the blocks once and lets them pass as one run, without a test for any of those habits. All else goes through
//! `begin`, made once more for drives without a queue. What is rarely so stands in functions that are not inlined into that, and
//! works on copies, so that the rest stays in registers.

use crate::account::{Account, Parts};
use crate::cache::Lookup;
use crate::noise::SeekSpread;
use crate::state::{CommandOrigin, Drive, Flying, ReadPath, Waiting, WriteBack};
use block::errno::EINVAL;
use block::{Caps, Command, Direction, Extent, Lbn, Outcome, Span, Tag, Time, Verb};
use disk::{After, FreesAt, Mechanics, Passage, Spot, Stroke, Track};

impl Drive {
    /// What it can do.
    #[must_use]
    pub fn caps(&self) -> Caps {
        Caps { blocks: self.mechanics.layout.blocks(), depth: self.rules.depth, seek: self.seek_by, arms: 1 }
    }

    /// Gives it a command. The caller guarantees that fewer than `caps().depth` are in it, and that `now` never goes
    /// back.
    pub fn issue(&mut self, now: Time, tag: Tag, mut command: Command) {
        let inside = self.flying.len() + self.waiting.len();
        assert!(inside < usize::from(self.rules.depth), "a drive takes no more commands than it has room for");
        let only_reads = command.verb == Verb::Read && self.write_back.is_none() && self.buffer.is_empty();
        match self.read_path {
            ReadPath::Plain if only_reads => {
                self.work_ahead::<true>(now);
                if self.misses(command.at) {
                    return self.begin_miss::<true>(now, tag, command.at);
                }
            }
            ReadPath::Alone if only_reads => {
                self.work_ahead::<false>(now);
                if self.misses(command.at) {
                    return self.begin_miss_alone(now, tag, command.at);
                }
            }
            _ => {
                command = self.seek_by.as_done(command);
                self.advance(now);
            }
        }
        let writing = self.write_back.is_some() || self.buffer.first().is_some();
        let (issued, ordinal) = (now, self.ordinal);
        if self.rules.depth == 1 {
            self.begin::<true>(
                now,
                Waiting {
                    tag,
                    issued,
                    command,
                    came: now,
                    ordinal,
                    behind: false,
                    writing,
                    begins: None,
                    wants_room: false,
                },
            );
            return;
        }
        let came = if self.bus.exclusive { Time::NEVER } else { now };
        let wants_room = self.wants_room(command);
        // A command that is complete for the host keeps nobody waiting in a queue, though the arm be still at it.
        let behind = self.held > now && inside > 0;
        self.admit(now, Waiting { tag, issued, command, came, ordinal, behind, writing, begins: None, wants_room });
    }

    /// When something next happens in it, if nothing more is issued: a command completes, or it decides which of those
    /// that wait has the arm.
    #[must_use]
    #[inline]
    pub fn next(&self) -> Option<Time> {
        let completion = match &self.flying[..] {
            [] => None,
            [only] => Some(only.end),
            several => several.iter().map(|flying| flying.end).min(),
        };
        match self.decision {
            None => completion,
            Some(decision) => Some(completion.map_or(decision, |end| end.min(decision))),
        }
    }

    /// Lets happen what `next` announced; gives the command that completed, if one did. The caller guarantees that
    /// something was announced.
    #[inline(always)]
    pub fn finish(&mut self) -> Option<(Time, Tag, Outcome, Parts)> {
        if let Some(at) = self.decision
            && self.flying.iter().all(|flying| flying.end >= at)
        {
            self.advance(at);
            return None;
        }
        let first = if self.flying.len() > 1 { self.first_done() } else { 0 };
        let done = self.flying.get(first)?;
        self.account.add_command(done.issued, done.end, &done.parts);
        let finished = Some((done.end, done.tag, done.outcome, done.parts));
        match self.flying.len() {
            1 => self.flying.clear(),
            _ => _ = self.flying.remove(first),
        }
        finished
    }

    /// Of several commands in flight, the one that completes first.
    #[inline(never)]
    fn first_done(&self) -> usize {
        (0..self.flying.len()).min_by_key(|i| self.flying[*i].end).expect("a command is in flight")
    }

    /// Lets happen all that is announced until a command completes. The caller guarantees that one is in the drive.
    pub fn complete(&mut self) -> (Time, Tag, Outcome, Parts) {
        loop {
            if let Some(done) = self.finish() {
                return done;
            }
        }
    }

    /// Whether a command is in it.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.flying.is_empty() && self.waiting.is_empty()
    }

    /// The account of the arm up to `now`, or to when the first command in flight was issued; it begins anew.
    pub fn take_account(&mut self, now: Time) -> Account {
        if self.is_idle() {
            self.advance(now);
        }
        self.account.take(now)
    }

    /// Keeps from now on what it writes back: of each extent the last block, and how long it took.
    pub fn keep_writes(&mut self) {
        self.wrote.get_or_insert_default();
    }

    /// What it has written back since this was last asked, where that is kept.
    pub fn take_writes(&mut self) -> impl Iterator<Item = (Lbn, Span)> {
        self.wrote.iter_mut().flat_map(|wrote| wrote.drain(..))
    }

    /// Blocks it has in its write buffer, and the time in its account that it wrote back while it had no command.
    #[must_use]
    pub fn buffer_state(&self) -> (u64, Span) {
        (self.buffer.capacity() - self.buffer.free(), self.account.writing)
    }

    /// How long a command given now would be in service without transferring: the truth, noise included.
    /// The caller guarantees that it brought the drive to `now` with `advance`.
    #[must_use]
    pub fn foresee(&self, now: Time, command: Command) -> Span {
        self.foresee_from(now, now, command, CommandOrigin::Host) + self.merging(command)
    }

    /// The same, for a command that was issued before and may have waited behind others.
    pub(crate) fn foresee_from(&self, now: Time, issued: Time, command: Command, origin: CommandOrigin) -> Span {
        let overheads = &self.overheads;
        let last = self.last_direction();
        match command.verb {
            Verb::Flush | Verb::Seek | Verb::Discard(_) => return Span::ZERO,
            Verb::Read if self.is_quick(command) => return overheads.hit.a(last),
            Verb::Write { .. } if self.is_quick(command) => return self.buffering(now, command.at.blocks),
            _ => {}
        }
        self.foresee_access(now, issued, command, origin)
    }

    /// The same, for a command that takes the arm whether or not its blocks are in memory.
    pub(crate) fn foresee_access(&self, now: Time, issued: Time, command: Command, origin: CommandOrigin) -> Span {
        let (arrived, passage) = self.reach(self.ready_at(now, issued, command.verb, origin), command);
        arrived.since(now) + passage.latency
    }

    /// From when on the arm could move for a command that is begun now.
    #[inline]
    pub(crate) fn ready_at(&self, now: Time, issued: Time, verb: Verb, origin: CommandOrigin) -> Time {
        let from = if origin == CommandOrigin::Queue { now } else { issued };
        (from + self.overhead(self.class(verb), origin)).max(now)
    }

    /// When the arm would be there for a transfer that could begin to move it at `ready`, and the passage then.
    fn reach(&self, ready: Time, command: Command) -> (Time, Passage) {
        let (free, track) = self.foresee_arm(ready);
        let start = free.max(ready);
        let (stroke, passage) = self.access(start, track, command.at, command.verb.direction());
        (start + stroke.total(), passage)
    }

    /// How long the arm would take to get there for a transfer given now, and how long the first block would then take
    /// to come round: the truth, noise included. Nothing where the arm need not move. The caller guarantees that it
    /// brought the drive to `now` with `advance`.
    #[must_use]
    pub fn approach(&self, now: Time, command: Command) -> Option<(Span, Span)> {
        if self.is_quick(command) {
            return None;
        }
        let class = if command.verb.writes() { self.overheads.write } else { self.overheads.read };
        let (arrived, passage) = self.reach(now + self.overhead(class, CommandOrigin::Host), command);
        Some((arrived.since(now), passage.began.since(arrived) + self.merging(command)))
    }

    /// The arm, spindle and layout.
    #[must_use]
    pub fn mechanics(&self) -> &Mechanics {
        &self.mechanics
    }

    /// The track the arm is on, or will be when it has done what it is at.
    #[must_use]
    pub fn track(&self) -> Track {
        self.track
    }

    /// Until when, up to `now`, the arm was last at work. The caller guarantees that it brought the drive to `now` with
    /// `advance`.
    #[must_use]
    pub fn own_until(&self, now: Time) -> Time {
        if self.read_ahead.is_some() || self.write_back.is_some() { now } else { self.free.min(now) }
    }

    /// Lets all that the drive does by itself — reading ahead, writing back, deciding — proceed up to `now`.
    pub fn advance(&mut self, now: Time) {
        while let Some(at) = self.decision.filter(|at| *at <= now) {
            self.work(at);
            self.decide(at);
        }
        self.work(now);
    }

    /// Lets the drive's own work — read-ahead, write-back — proceed up to `now`. While commands wait, none is begun.
    #[inline]
    fn work(&mut self, now: Time) {
        if self.write_back.is_some() || self.buffer.first().is_some() {
            self.work_through(now);
            return;
        }
        // Most often there is but a read-ahead.
        self.work_ahead::<false>(now);
    }

    /// The same where there is but a read-ahead, or nothing.
    #[inline(always)]
    fn work_ahead<const PLAIN: bool>(&mut self, now: Time) {
        let gap = self.account.until;
        let Some(ahead) = &self.read_ahead else { return self.count_work(now, Span::ZERO) };
        let began = ahead.began;
        let at = if PLAIN { self.go_on_ahead::<true>(now) } else { self.read_ahead_until(now) };
        self.count_work(now, at.min(now).since(began.max(gap)));
    }

    /// What it did up to `now` was nobody's, if no command is in it.
    #[inline]
    fn count_work(&mut self, now: Time, worked: Span) {
        if self.is_idle() {
            self.account.background += worked;
            self.account.until = now;
        }
    }

    /// The same where something waits to be written back, or is.
    #[inline(never)]
    fn work_through(&mut self, now: Time) {
        let gap = self.account.until;
        let (mut worked, mut written) = (Span::ZERO, Span::ZERO);
        let lasted = |began: Time, end: Time| end.min(now).since(began.max(gap));
        loop {
            if let Some(WriteBack { began, .. }) = self.write_back {
                let at = self.write_back_until(Lbn(u64::MAX), now);
                written += lasted(began, at);
                if self.write_back.is_some() {
                    break;
                }
            }
            if let Some(began) = self.read_ahead.as_ref().map(|ahead| ahead.began) {
                let at = self.read_ahead_until(now);
                worked += lasted(began, at);
                if self.read_ahead.is_some() {
                    break;
                }
            }
            match self.buffer.first() {
                // Also where a command comes at the very moment: no host is as quick as the drive itself.
                Some(dirty) if dirty.ready.max(self.free) <= now && self.waiting.is_empty() => {
                    self.start_write_back(Time::ZERO);
                }
                _ => break,
            }
        }
        if self.is_idle() {
            self.account.writing += written;
        }
        self.count_work(now, worked + written);
    }

    /// Whether a command needs no move of the arm that has not begun already.
    pub(crate) fn is_quick(&self, Command { verb, at, .. }: Command) -> bool {
        match verb {
            Verb::Read if self.cache.hits_wait && self.write_back.is_some() => false,
            Verb::Read => match self.segments.look(at) {
                Lookup::Hit(_) => true,
                Lookup::Partial(i) if self.read_ahead.is_some_and(|ahead| ahead.segment == i) => {
                    self.cache.almost_hits || at.start < self.segments.end_of(i)
                }
                _ => self.holds_written(at),
            },
            Verb::Write { fua } => !fua && self.fits(at),
            Verb::Seek | Verb::Flush => false,
            Verb::Discard(_) => true,
        }
    }

    /// The overhead of a command that is not answered from the cache.
    pub(crate) fn class(&self, verb: Verb) -> After {
        match verb {
            Verb::Write { fua: false } if self.buffer.capacity() > 0 => self.overheads.buffered,
            Verb::Write { .. } | Verb::Flush => self.overheads.write,
            Verb::Read | Verb::Seek | Verb::Discard(_) => self.overheads.read,
        }
    }

    /// The overhead before the arm moves.
    pub(crate) fn overhead(&self, class: After, origin: CommandOrigin) -> Span {
        self.overheads.queued.filter(|_| origin == CommandOrigin::Queue).unwrap_or(class.a(self.last_direction()))
    }

    /// Whether a read, of blocks that there are, has nothing in the cache, which is seen at a glance.
    #[inline(always)]
    fn misses(&self, at: Extent) -> bool {
        let inside = at.end().0 <= self.mechanics.layout.blocks() && at.blocks > 0;
        inside && !self.segments.may_have(self.segments.region_of(at.start))
    }

    /// Begins a read that has nothing in the cache, in a drive that takes one command at a time and has nothing to write: as `begin`
    /// would, and in a plain drive without what is off.
    #[inline(always)]
    fn begin_miss<const PLAIN: bool>(&mut self, now: Time, tag: Tag, at: Extent) {
        self.turn = now;
        let held = self.held;
        self.read_medium::<PLAIN, _>(now, at, None, CommandOrigin::Host, |drive, end, parts| {
            drive.last_write = None;
            drive.ordinal += 1;
            if !PLAIN && drive.rules.frees_at != FreesAt::Medium {
                drive.hold_longer(now, held, Verb::Read, end);
            }
            debug_assert_eq!(parts.total(), end.since(now), "parts of a read of {at:?}: {parts:?}");
            drive.flying.push(Flying { tag, issued: now, end, outcome: Outcome::Ok, parts });
        });
    }

    /// The same in a drive with habits.
    #[inline(never)]
    fn begin_miss_alone(&mut self, now: Time, tag: Tag, at: Extent) {
        self.begin_miss::<false>(now, tag, at);
    }

    /// Begins a command that may have waited in the drive since it was issued.
    pub(crate) fn start(&mut self, now: Time, waiting: Waiting) {
        self.begin::<false>(now, waiting);
    }

    /// Begins a command; where the drive takes only one at a time, it is `ALONE` and has waited for no other.
    #[inline(always)]
    fn begin<const ALONE: bool>(&mut self, now: Time, waiting: Waiting) {
        let Waiting { tag, issued, command, .. } = waiting;
        self.turn = now;
        // The overhead of what waits passes meanwhile, unless the drive has one of its own for what is queued.
        let behind = !ALONE && self.is_behind(&waiting);
        self.waits_for_writes = waiting.writing && !behind;
        let own = behind && self.overheads.queued.is_some();
        let at_its_turn = || (own || self.is_quick(command)) && !self.wants_room(command);
        let late = self.rules.frees_at != FreesAt::Medium;
        let from = match now == issued {
            _ if ALONE => now,
            _ if self.bus.exclusive => self.begin_of_overlap(waiting.came, now, command),
            true => now,
            false if at_its_turn() => now,
            // An arm that was let go late does not set out before that.
            false if late => self.begin_of_overlap(issued, now, command),
            false => issued,
        };
        let waited = !ALONE && if self.bus.exclusive { now > waiting.came } else { own };
        let origin = if waited { CommandOrigin::Queue } else { CommandOrigin::Host };
        if !ALONE {
            let (start, last) = (command.at.start, self.served.start);
            self.ascends = start > last || (self.ascends && start == last);
            self.served = command.at;
        }
        let held = self.held;
        let inside = command.at.end().0 <= self.mechanics.layout.blocks();
        let sane = command.verb == Verb::Flush || (inside && command.at.blocks > 0);
        let outcome = if sane { Outcome::Ok } else { Outcome::Failed(EINVAL) };
        let (end, mut parts) = match Some(command.verb).filter(|_| sane) {
            None | Some(Verb::Discard(_)) => (from, Parts::default()),
            Some(Verb::Flush) => self.flush(from, now),
            Some(Verb::Seek) => self.seek(from, command.at, origin),
            Some(Verb::Read) => self.read(from, command.at, origin),
            Some(Verb::Write { fua }) => self.write(from, now, command.at, fua, origin),
        };
        match command.verb {
            Verb::Read => self.last_write = None,
            Verb::Write { .. } => self.last_write = Some(command.at.end()),
            Verb::Seek | Verb::Flush | Verb::Discard(_) => {}
        }
        self.ordinal += 1;
        self.waits_for_writes = false;
        if !ALONE && self.cache.hits_wait && command.verb == Verb::Read {
            self.held = self.held.max(now);
        }
        if self.rules.frees_at != FreesAt::Medium {
            self.hold_longer(now, held, command.verb, end);
        }
        let behind = if behind { now.since(from).min(parts.external) } else { Span::ZERO };
        parts.external -= behind;
        parts.queued = from.since(issued) + behind;
        debug_assert_eq!(parts.total(), end.since(issued), "parts of {command:?}: {parts:?}");
        self.flying.push(Flying { tag, issued, end, outcome, parts });
        if !ALONE && self.bus.exclusive {
            self.take_bus(now, &waiting, end);
        }
    }

    /// The arm goes on only when the host has what a command was for, which ends then and before which the arm was held until
    /// `held`.
    #[inline(never)]
    fn hold_longer(&mut self, now: Time, held: Time, verb: Verb, end: Time) {
        // What is served from memory meanwhile does not keep the arm.
        let from_memory = self.held == held && held > now && !self.bus.exclusive;
        if self.held < now || from_memory {
            return;
        }
        let done = match verb {
            Verb::Flush => Span::ZERO,
            verb => self.overheads.done.a(verb.direction()),
        };
        let until = match self.rules.frees_at {
            FreesAt::Medium => self.held,
            FreesAt::Message => now + end.since(now + done),
            FreesAt::Completion => end,
        };
        self.held = self.held.max(until);
    }

    /// A command that was begun has a bus of turns until it ends.
    fn take_bus(&mut self, now: Time, waiting: &Waiting, end: Time) {
        if waiting.came == now {
            // What connects at once is not told apart from that.
            (self.telling_from, self.told) = (now, now);
            self.connection.at_once = self.connection.from <= now;
            if !self.connection.at_once {
                self.tell(now, waiting.command);
            }
        }
        self.connect(now, waiting.tag, end);
    }

    /// From when a command counts as begun whose overhead ran while others were served.
    fn begin_of_overlap(&self, came: Time, now: Time, command: Command) -> Time {
        if came >= now {
            return came;
        }
        came.max(Time(now.0.saturating_sub(self.overhead(self.class(command.verb), CommandOrigin::Host).0)))
    }

    /// When the last command whose completion is known completes.
    pub(crate) fn last_end(&self) -> Option<Time> {
        self.flying.iter().map(|flying| flying.end).max()
    }

    /// The arm moves to where `at` begins, and stays there. What it was at ends first.
    fn seek(&mut self, now: Time, at: Extent, origin: CommandOrigin) -> (Time, Parts) {
        let overhead = self.overhead(self.overheads.read, origin);
        if self.cache.ends_at_command {
            self.stop_read_ahead(now);
        }
        let start = self.take_arm::<false>(now + overhead);
        let (stroke, spot) = self.move_arm(self.track, at, Direction::Read, start);
        self.hold_arm(start + stroke.total(), spot.track);
        let done = self.overheads.done.read;
        let external = start.since(now + overhead);
        let Stroke { seek, switch, settle } = stroke;
        (self.free + done, Parts { overhead: overhead + done, external, seek, switch, settle, ..Parts::default() })
    }

    /// The arm goes from `track` at `start` to `at` and lets it pass.
    pub(crate) fn access(&self, start: Time, track: Track, at: Extent, direction: Direction) -> (Stroke, Passage) {
        let (stroke, spot) = self.move_arm(track, at, direction, start);
        (stroke, self.mechanics.pass(&self.spindle, start + stroke.total(), spot, at, direction))
    }

    /// The move of the arm at `start` from `track` to `at`, as it really goes, and where that is.
    #[inline(always)]
    pub(crate) fn move_arm(&self, track: Track, at: Extent, direction: Direction, start: Time) -> (Stroke, Spot) {
        let spot = self.mechanics.layout.locate_command(at.start);
        (self.stroke_to(spot.track, track, (at, direction), start, || self.noise.spread(self.ordinal)), spot)
    }

    /// The move of the arm at `start` from one track `to` another, where a transfer is to go on, whose seek is off by that much.
    #[inline(always)]
    pub(crate) fn stroke_to(
        &self,
        to: Track,
        from: Track,
        (at, direction): (Extent, Direction),
        start: Time,
        spread: impl FnOnce() -> SeekSpread,
    ) -> Stroke {
        let settles = self.settles_as(at, direction);
        self.vary(self.mechanics.stroke(from, to, settles), settles, start, spread)
    }

    /// A move of the arm at `start` as it really goes.
    #[inline(always)]
    pub(crate) fn vary(
        &self,
        mut stroke: Stroke,
        settles: Direction,
        start: Time,
        spread: impl FnOnce() -> SeekSpread,
    ) -> Stroke {
        stroke.seek = self.noise.apply(stroke.seek, start, spread);
        if settles.writes() {
            stroke.settle += self.overheads.least_seek.less(stroke.total());
        }
        stroke
    }

    /// Which way the data of the last transfer went.
    pub(crate) fn last_direction(&self) -> Direction {
        if self.last_write.is_some() { Direction::Write } else { Direction::Read }
    }

    pub(crate) fn write_bus_time(&self, blocks: u32) -> Span {
        Span((self.write_block * u64::from(blocks)) >> 16)
    }

    pub(crate) fn bus_time(&self, blocks: u32) -> Span {
        Span((self.read_block * u64::from(blocks)) >> 16)
    }
}

#[cfg(test)]
mod tests;
