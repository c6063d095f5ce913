//! The drive itself: commands in, completions out, and what the arm does in between.
//!
//! What the drive does on its own account — reading ahead, writing back — is worked out when the next
//! command comes or goes, up to that instant: one event per command.

use crate::account::{Account, Parts};
use crate::buffer::WriteBuffer;
use crate::cache::{Lookup, Segments};
use crate::noise::{SeekNoise, Spindle};
use crate::reads::ReadAhead;
use crate::writes::WriteBack;
use block::errno::EINVAL;
use block::{BLOCK_BYTES, Caps, Command, Extent, Lbn, Outcome, Span, Tag, Time, Verb};
use disk::{After, Cache, Mechanics, Overheads, Passage, Queue, Sheet, Spot, Stroke, Track, Truth};
use std::collections::VecDeque;
use std::sync::Arc;

/// A command whose completion is known.
#[derive(Clone, Copy, Debug)]
struct Flying {
    tag: Tag,
    issued: Time,
    end: Time,
    outcome: Outcome,
    parts: Parts,
    /// Whether it has the arm.
    arm: bool,
}

/// A command that waits in the drive for the arm.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    tag: Tag,
    issued: Time,
    command: Command,
}

/// A drive.
#[derive(Clone, Debug)]
pub struct Drive {
    pub(crate) mechanics: Arc<Mechanics>,
    pub(crate) overheads: Overheads,
    pub(crate) cache: Cache,
    rules: Queue,
    /// Bus time of a block in 2⁻¹⁶ ns.
    pub(crate) bus: u64,
    pub(crate) watermark: f64,
    pub(crate) write_watermark: f64,
    pub(crate) spindle: Spindle,
    noise: SeekNoise,
    pub(crate) segments: Segments,
    pub(crate) buffer: WriteBuffer,
    /// Where the arm is, once its work is done.
    pub(crate) track: Track,
    /// When the arm's own work is done; a read-ahead may be stopped earlier.
    pub(crate) free: Time,
    /// The block after the last one written to the medium.
    pub(crate) written: Lbn,
    /// The block after the last command, if that was a write.
    pub(crate) last_write: Option<Lbn>,
    pub(crate) read_ahead: Option<ReadAhead>,
    pub(crate) write_back: Option<WriteBack>,
    flying: Vec<Flying>,
    waiting: VecDeque<Waiting>,
    ordinal: u64,
    account: Account,
}

impl Drive {
    /// A drive at rest on cylinder 0, its phase given by the seed.
    #[must_use]
    pub fn new(sheet: &Sheet, truth: &Truth, seed: u64) -> Drive {
        let cache = sheet.cache;
        let bus = sheet.bus.mb_s.map_or(0.0, |rate| BLOCK_BYTES as f64 * 1e3 / rate * 65536.0);
        Drive {
            mechanics: Arc::clone(&sheet.mechanics),
            overheads: sheet.overheads,
            cache: Cache { read_ahead: cache.read_ahead.min(cache.segment), ..cache },
            rules: sheet.queue,
            bus: bus as u64,
            watermark: sheet.bus.watermark,
            write_watermark: sheet.bus.write_watermark,
            spindle: Spindle::new(sheet.mechanics.rotation, truth, seed),
            noise: SeekNoise::new(truth, seed),
            segments: Segments::new(cache.segments, cache.segment),
            buffer: WriteBuffer::new(cache.write_buffer, cache.write_extents, cache.joins_writes),
            track: sheet.mechanics.layout.locate(Lbn(0)).track,
            free: Time::ZERO,
            written: Lbn(u64::MAX),
            last_write: None,
            read_ahead: None,
            write_back: None,
            flying: Vec::with_capacity(usize::from(sheet.queue.depth)),
            waiting: VecDeque::with_capacity(usize::from(sheet.queue.depth)),
            ordinal: 0,
            account: Account::default(),
        }
    }

    /// What it can do.
    #[must_use]
    pub fn caps(&self) -> Caps {
        Caps { blocks: self.mechanics.layout.blocks(), depth: self.rules.depth, seek: true }
    }

    /// Gives it a command. The caller guarantees that fewer than `caps().depth` are in it, and that `now` never goes
    /// back.
    pub fn issue(&mut self, now: Time, tag: Tag, command: Command) {
        let inside = self.flying.len() + self.waiting.len();
        assert!(inside < usize::from(self.rules.depth), "a drive takes no more commands than it has room for");
        self.advance(now);
        let waiting = Waiting { tag, issued: now, command };
        if self.flying.iter().any(|flying| flying.arm) && !self.is_quick(command) {
            self.waiting.push_back(waiting);
        } else {
            self.start(now, waiting);
        }
    }

    /// When the next command completes, if nothing more is issued.
    #[must_use]
    pub fn next(&self) -> Option<Time> {
        match &self.flying[..] {
            [] => None,
            [only] => Some(only.end),
            several => several.iter().map(|flying| flying.end).min(),
        }
    }

    /// Completes the command that `next` announced. The caller guarantees there is one.
    pub fn finish(&mut self) -> (Time, Tag, Outcome, Parts) {
        let done = match self.flying.len() {
            1 => self.flying.pop().expect("it is one"),
            several => {
                let first = (0..several).min_by_key(|i| self.flying[*i].end).expect("a command is in flight");
                self.flying.remove(first)
            }
        };
        self.account.served(done.issued, done.end, done.parts);
        if done.arm && !self.waiting.is_empty() {
            let next = self.pick(done.end);
            self.start(done.end, next);
        }
        (done.end, done.tag, done.outcome, done.parts)
    }

    /// The account of the arm up to `now`, or to when the first command in flight was issued; it begins anew.
    pub fn take_account(&mut self, now: Time) -> Account {
        if self.flying.is_empty() {
            self.advance(now);
        }
        let account = self.account;
        self.account = Account { since: now, until: now, ..Account::default() };
        account
    }

    /// How long a command given now would be in service without transferring: the truth, noise included.
    /// The caller guarantees that it brought the drive to `now` with `advance`.
    #[must_use]
    pub fn foresee(&self, now: Time, command: Command) -> Span {
        self.foresee_from(now, command, false)
    }

    /// The same, for a command that may have waited in the drive.
    fn foresee_from(&self, now: Time, command: Command, queued: bool) -> Span {
        let overheads = &self.overheads;
        let after = self.last_write.is_some();
        match command.verb {
            Verb::Flush | Verb::Seek => return Span::ZERO,
            Verb::Read if self.is_quick(command) => return overheads.hit.a(after),
            Verb::Write { .. } if self.is_quick(command) => return overheads.buffered.a(after),
            _ => {}
        }
        let class = match command.verb {
            Verb::Read => overheads.read,
            Verb::Write { fua: false } if self.buffer.capacity() > 0 => overheads.buffered,
            _ => overheads.write,
        };
        self.reach(now + self.overhead(class, queued), command).1.began.since(now)
    }

    /// When the arm would be there for a transfer that could begin to move it at `ready`, and the passage then.
    fn reach(&self, ready: Time, command: Command) -> (Time, Passage) {
        let (free, track) = self.freed(ready);
        let start = free.max(ready);
        let (stroke, passage) = self.access(start, track, command.at, command.verb.writes());
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
        let (arrived, passage) = self.reach(now + self.overhead(class, false), command);
        Some((arrived.since(now), passage.began.since(arrived)))
    }

    /// Its mechanics.
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
            if let Some(began) = self.read_ahead.map(|ahead| ahead.began) {
                let at = self.read_ahead_until(now);
                count(began, at);
                if self.read_ahead.is_some() {
                    break;
                }
            }
            match self.buffer.first() {
                // Also where a command comes at the very moment: no host is as quick as the drive itself.
                Some(dirty) if dirty.ready.max(self.free) <= now => self.start_write_back(Time::ZERO),
                _ => break,
            }
        }
        if self.flying.is_empty() {
            self.account.background += worked;
            self.account.until = now;
        }
    }

    /// Whether a command needs no move of the arm that has not begun already.
    fn is_quick(&self, Command { verb, at, .. }: Command) -> bool {
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
        }
    }

    /// The overhead before the arm moves.
    pub(crate) fn overhead(&self, class: After, queued: bool) -> Span {
        self.overheads.queued.filter(|_| queued).unwrap_or(class.a(self.last_write.is_some()))
    }

    /// Takes the waiting command to serve next: what waited too long, else what the arm can begin soonest.
    fn pick(&mut self, now: Time) -> Waiting {
        let oldest = &self.waiting[0];
        let mut chosen = 0;
        if oldest.command.verb != Verb::Flush && now.since(oldest.issued) <= self.rules.age_limit {
            let mut soonest = Span(u64::MAX);
            // What came after a flush waits for it.
            for (i, waiting) in self.waiting.iter().take_while(|it| it.command.verb != Verb::Flush).enumerate() {
                let span = self.foresee_from(now, waiting.command, now > waiting.issued);
                if span < soonest {
                    (chosen, soonest) = (i, span);
                }
            }
        }
        self.waiting.remove(chosen).expect("there is one")
    }

    /// Begins a command; it has waited in the drive since it was issued.
    fn start(&mut self, now: Time, Waiting { tag, issued, command }: Waiting) {
        let queued = now > issued;
        let inside = command.at.end().0 <= self.mechanics.layout.blocks();
        let arm = self.rules.depth > 1 && !self.is_quick(command);
        let (end, mut parts, outcome) = match command.verb {
            Verb::Flush => with(self.flush(now), Outcome::Ok),
            _ if !inside || command.at.blocks == 0 => (now, Parts::default(), Outcome::Failed(EINVAL)),
            Verb::Seek => with(self.seek(now, command.at, queued), Outcome::Ok),
            Verb::Read => with(self.read(now, command.at, queued), Outcome::Ok),
            Verb::Write { fua } => with(self.write(now, command.at, fua, queued), Outcome::Ok),
        };
        match command.verb {
            Verb::Read => self.last_write = None,
            Verb::Write { .. } => self.last_write = Some(command.at.end()),
            Verb::Seek | Verb::Flush => {}
        }
        self.ordinal += 1;
        parts.queued = now.since(issued);
        debug_assert_eq!(parts.total(), end.since(issued), "parts of {command:?}: {parts:?}");
        self.flying.push(Flying { tag, issued, end, outcome, parts, arm });
    }

    /// The arm moves to where `at` begins, and stays there. What it was at ends first.
    fn seek(&mut self, now: Time, at: Extent, queued: bool) -> (Time, Parts) {
        let overhead = self.overhead(self.overheads.read, queued);
        let start = self.take_arm(now + overhead);
        let (stroke, spot) = self.move_arm(self.track, at, false, start);
        (self.free, self.track) = (start + stroke.total(), spot.track);
        let done = self.overheads.done.read;
        let external = start.since(now + overhead);
        let Stroke { seek, switch, settle } = stroke;
        (self.free + done, Parts { overhead: overhead + done, external, seek, switch, settle, ..Parts::default() })
    }

    /// The arm goes from `track` at `start` to `at` and lets it pass.
    pub(crate) fn access(&self, start: Time, track: Track, at: Extent, write: bool) -> (Stroke, Passage) {
        let (stroke, spot) = self.move_arm(track, at, write, start);
        (stroke, self.mechanics.pass(&self.spindle, start + stroke.total(), spot, at, write))
    }

    /// The move of the arm at `start` from `track` to `at`, as it really goes, and where that is.
    pub(crate) fn move_arm(&self, track: Track, at: Extent, write: bool, start: Time) -> (Stroke, Spot) {
        let spot = self.mechanics.layout.locate(at.start);
        let random = write && at.start != self.written;
        let mut stroke = self.mechanics.stroke(track, spot.track, random);
        stroke.seek = self.noise.apply(stroke.seek, start, self.ordinal);
        if random {
            stroke.settle += self.overheads.least_seek.less(stroke.total());
        }
        (stroke, spot)
    }

    pub(crate) fn bus_time(&self, blocks: u32) -> Span {
        Span((self.bus * u64::from(blocks)) >> 16)
    }
}

/// The parts the mechanics give.
pub(crate) fn mechanical(stroke: Stroke, passage: &Passage) -> Parts {
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
