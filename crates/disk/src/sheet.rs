//! The sheet of a drive and the truth about it.

use crate::{Layout, Mechanics, Passage, Spot, Unmeasured};
use block::{BLOCK_BYTES, Direction, Lbn, SeekBy, Span, Time};
use std::sync::Arc;

/// What can be known of a drive from outside.
#[derive(Clone, Debug)]
pub struct Sheet {
    /// The name in the catalogue.
    pub name: String,
    /// What it is, in words.
    pub title: String,
    /// Where the numbers come from.
    pub sources: Vec<String>,
    /// Numbers no source prints.
    pub assumed: Vec<String>,
    /// Mechanics, shared between all drives of the kind.
    pub mechanics: Arc<Mechanics>,
    /// Time a command takes outside the mechanics.
    pub overheads: Overheads,
    /// The way to the host.
    pub bus: Bus,
    /// The buffer memory and what it is used for.
    pub cache: Cache,
    /// Commands in the drive at once.
    pub queue: Queue,
    /// How its arm is moved where nothing is to be transferred; no drive file says it.
    pub seek_by: SeekBy,
    /// What of all that nobody measured.
    pub unmeasured: Unmeasured,
}

/// A time that depends on what the command before was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct After {
    /// What is added after a read.
    pub read: Span,
    /// What is added after a write.
    pub write: Span,
}

impl After {
    /// The same after either.
    #[must_use]
    pub const fn either(span: Span) -> After {
        After { read: span, write: span }
    }

    /// Both shorter by so much, or nothing.
    #[must_use]
    pub fn less(self, span: Span) -> After {
        After { read: self.read.less(span), write: self.write.less(span) }
    }

    /// The time after a write, or after a read.
    #[must_use]
    pub const fn a(self, direction: Direction) -> Span {
        if direction.writes() { self.write } else { self.read }
    }
}

/// Time a command takes outside the mechanics.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Overheads {
    /// Before the arm moves for a read.
    pub read: After,
    /// Before the first block of a read that is, at least in part, in the cache.
    pub hit: After,
    /// Before the arm moves for a write that completes on the medium.
    pub write: After,
    /// Before the buffer fills with a write.
    pub buffered: After,
    /// In place of `read` and `write` for a command that waited in the drive while another was served.
    pub queued: Option<Span>,
    /// Before completion is reported, of a read and of a write.
    pub done: After,
    /// Before data go to the host after the drive let go of the bus to wait for the medium.
    pub reselect: Span,
    /// Before data go over the bus right after the command, of a hit and of a write.
    pub prepare: Span,
    /// Holding the bus to let go of it, in a read after a read and after a write.
    pub release_read: After,
    /// The same, in a write.
    pub release_write: Span,
    /// The least time before a write that does not continue the last one is on the medium.
    pub least_seek: Span,
    /// A second disconnection of writes, where the drive has that habit.
    pub disconnect: Option<Disconnect>,
    /// What large commands lose, where the firmware handles them badly.
    pub large: Option<Large>,
    /// What buffered writes take longer once many came, where the drive takes them in by stages.
    pub stages: Option<WriteStages>,
}

/// A write that follows another it does not continue lets go of the bus before its data are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Disconnect {
    /// In place of the write's overhead, before the arm moves.
    pub command: Span,
    /// Further, before the arm moves.
    pub seek: Span,
    /// After `command`, before the data begin to come.
    pub data: Span,
    /// Before completion is reported, in place of what other writes take to come back to the bus.
    pub reselect: Span,
}

/// Commands of more than so many blocks transfer more slowly (Virtual IO, Section 4.2: sub-optimal firmware).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Large {
    /// The largest command that does not suffer.
    pub above: u32,
    /// Rate of a large read, as a share of the medium's.
    pub read: f64,
    /// Rate of a large write, as a share of the medium's.
    pub write: f64,
}

/// Buffered writes are fast at first, slower once many came, and now and then much slower (BCW, FAST 2020).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteStages {
    /// Blocks that are taken in fast.
    pub fast: u32,
    /// What each write takes longer after them.
    pub mid: Span,
    /// Blocks that are taken in so between two slow writes; 0: no write is slow.
    pub between: u32,
    /// What a slow write takes longer.
    pub slow: Span,
    /// For how long none comes, and nothing waits to be written back, before writes are fast anew.
    pub rest: Span,
}

impl WriteStages {
    /// What a write of `blocks` takes longer that comes after `before` blocks: by the stage that its first block is in, and slow where
    /// with it as many are taken in as lie between two slow writes.
    #[must_use]
    pub fn longer(&self, before: u64, blocks: u64) -> Span {
        let Some(before) = before.checked_sub(u64::from(self.fast)) else { return Span::ZERO };
        let slow_after = |blocks: u64| blocks.checked_div(u64::from(self.between));
        if slow_after(before) == slow_after(before + blocks) { self.mid } else { self.slow }
    }
}

impl Overheads {
    /// The rate of a command of so many blocks, as a share of the medium's.
    #[inline]
    fn share(&self, blocks: u32, direction: Direction) -> f64 {
        match self.large {
            Some(large) if blocks > large.above => [large.read, large.write][direction as usize],
            _ => 1.0,
        }
    }

    /// What the firmware loses over the passage of a command of so many blocks.
    #[must_use]
    #[inline]
    pub fn stall(&self, blocks: u32, direction: Direction, passage: &Passage) -> Span {
        // Most drives have no such firmware.
        if self.large.is_none() {
            return Span::ZERO;
        }
        match self.share(blocks, direction) {
            1.0 => Span::ZERO,
            share => Span(((passage.transfer + passage.crossing).0 as f64 * (1.0 / share - 1.0)) as u64),
        }
    }

    /// The least time the firmware takes to read so many blocks, `passed` of which came in this passage.
    #[must_use]
    pub fn pace(&self, blocks: u32, passed: u32, passage: &Passage) -> Span {
        match self.share(blocks, Direction::Read) {
            1.0 => Span::ZERO,
            share => {
                let each = (passage.transfer + passage.crossing).0 as f64 / f64::from(passed.max(1));
                Span((each * f64::from(blocks) / share) as u64)
            }
        }
    }
}

/// The way to the host.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bus {
    /// Rate, 10^6 bytes/s; none means no limit.
    pub mb_s: Option<f64>,
    /// Rate of writes, where it is another.
    pub write_mb_s: Option<f64>,
    /// Share of a read that must be in the buffer before its data begin to go to the host.
    pub watermark: f64,
    /// Share of a write to the medium that must be in the buffer, beyond what keeps ahead of the head, before it begins;
    /// one that continues the last write begins at once.
    pub write_watermark: f64,
    /// What the watermarks are a share of.
    pub watermark_of: Whole,
    /// Whether commands, data and completions take turns on it: a command is taken in when no data are on their way, and
    /// what waited for the arm comes back to the bus.
    pub exclusive: bool,
    /// Whether a read that waits for the medium keeps the bus once its data began to go.
    pub holds_reading: bool,
}

impl Bus {
    /// The rate of a read or a write, 10^6 bytes/s; none means no limit.
    #[must_use]
    pub fn rate(&self, direction: Direction) -> Option<f64> {
        self.write_mb_s.filter(|_| direction.writes()).or(self.mb_s)
    }

    /// The time of a block of a read or a write, 2⁻¹⁶ ns: nothing where there is no limit.
    #[must_use]
    pub fn block_time(&self, direction: Direction) -> u64 {
        self.rate(direction).map_or(0.0, |rate| BLOCK_BYTES as f64 * 1e3 / rate * 65536.0) as u64
    }

    /// The share of a read of so many blocks that must be in the buffer, which has segments of `segment` blocks, before
    /// its data begin to go.
    #[must_use]
    #[inline]
    pub fn held_back(&self, blocks: u32, segment: u32) -> f64 {
        match self.watermark_of {
            Whole::Request => self.watermark,
            Whole::Segment => (self.watermark * f64::from(segment) / f64::from(blocks.max(1))).min(1.0),
        }
    }
}

/// What a watermark is a share of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Whole {
    /// Of the request, or of the segment if that is smaller.
    #[default]
    Request,
    /// A share of the segment.
    Segment,
}

/// How far the drive reads on after a read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ahead {
    /// The drive does not read ahead.
    Nowhere,
    /// To the end of the track.
    Track,
    /// To the end of the cylinder.
    Cylinder,
    /// As far as the most it may.
    #[default]
    Most,
    /// To the end of the track, and of the next one too if the segment began on the track before.
    NextTrack,
}

/// In what order buffered writes go to the medium.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Drain {
    /// What the arm can begin soonest, of the oldest.
    #[default]
    Soonest,
    /// The same, all of them before anything else is served from the medium.
    AllSoonest,
    /// In the order they came, all of them before anything else is served from the medium.
    InOrder,
}

/// The drive's buffer memory; zeros mean there is none. Sizes in blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cache {
    /// How many segments the buffer is divided into.
    pub segments: u32,
    /// Size of a segment.
    pub segment: u32,
    /// How the drive reads on after a read.
    pub ahead: Ahead,
    /// The most blocks it reads on, where `ahead` is bounded by blocks.
    pub read_ahead: u32,
    /// The least blocks it reads on before another command may have the arm.
    pub least_ahead: u32,
    /// Whether it reads on again, from where it stopped, after a read that was all in the cache.
    pub resumes: bool,
    /// Whether a read whose first block is just being read ahead counts as found.
    pub almost_hits: bool,
    /// Whether what was delivered is given up.
    pub forgets: bool,
    /// Whether a read may be answered with what was written.
    pub written_hits: bool,
    /// Whether a read answered from the cache must wait for a write-back under way.
    pub hits_wait: bool,
    /// Whether reading ahead may stop inside a sector, which is not kept then.
    pub stops_in_sector: bool,
    /// Whether reading ahead ends as soon as a command comes for anything else, one that is in the cache too; otherwise
    /// when that command needs the arm. The sector under way then is not kept.
    pub ends_at_command: bool,
    /// Whether reading ahead may take the place of what a command under way has still to send; otherwise it waits.
    pub overtakes: bool,
    /// Size of the write buffer; a write that fits completes when it is in it (immediate report).
    pub write_buffer: u32,
    /// The most extents the write buffer holds; zero means as many as fit.
    pub write_extents: u32,
    /// The most of the write buffer that writes take which continue one another, in blocks; zero means all of it.
    pub write_stream: u32,
    /// Whether a write that continues the last one is not counted there.
    pub joins_writes: bool,
    /// Whether buffered writes that continue one another go to the medium in one go; otherwise a turn passes between them.
    pub streams_writes: bool,
    /// Whether a write goes into the buffer while the arm serves a command or writes back what it does not continue;
    /// otherwise it waits for the arm.
    pub accepts_busy: bool,
    /// Whether the arm sets out for a write while its data still come over the bus.
    pub seeks_early: bool,
    /// Whether a write that begins or ends inside a sector reads the sector it begins in first, and writes when that comes round
    /// again (512e).
    pub merges_sectors: bool,
    /// Whether written data take up segments of reads.
    pub shared: bool,
    /// In what order the write buffer drains.
    pub drain: Drain,
}

impl Default for Cache {
    fn default() -> Cache {
        Cache {
            segments: 0,
            segment: 0,
            ahead: Ahead::Most,
            read_ahead: 0,
            least_ahead: 0,
            resumes: false,
            almost_hits: true,
            forgets: false,
            written_hits: true,
            hits_wait: false,
            stops_in_sector: false,
            ends_at_command: false,
            overtakes: true,
            write_buffer: 0,
            write_extents: 0,
            write_stream: 0,
            joins_writes: true,
            streams_writes: true,
            accepts_busy: true,
            seeks_early: false,
            merges_sectors: false,
            shared: false,
            drain: Drain::Soonest,
        }
    }
}

impl Cache {
    /// The block before which the drive stops reading on after a read that ended before block `end`, in a segment that
    /// begins at `start`.
    #[must_use]
    #[inline(always)]
    pub fn read_ahead_limit(&self, layout: &Layout, start: Lbn, end: Lbn) -> Lbn {
        let last = Lbn(layout.blocks());
        if self.segments == 0 || end >= last {
            return end.min(last);
        }
        let most = Lbn(end.0 + u64::from(self.read_ahead.min(self.segment))).min(last);
        match self.ahead {
            Ahead::Most => most,
            _ => self.bounded_limit(layout, start, end, most),
        }
    }

    /// The same where it depends on tracks.
    #[inline(never)]
    fn bounded_limit(&self, layout: &Layout, start: Lbn, end: Lbn, most: Lbn) -> Lbn {
        let last = Lbn(layout.blocks());
        match self.ahead {
            Ahead::Most => most,
            Ahead::Nowhere => end,
            Ahead::Track => most.min(layout.track_bounds(Lbn(end.0 - 1)).1),
            Ahead::Cylinder => most.min(layout.cylinder_end(Lbn(end.0 - 1))),
            Ahead::NextTrack => {
                let (first, next) = layout.track_bounds(end);
                let further = if start < first { layout.track_bounds(next).1 } else { next };
                further.min(last)
            }
        }
    }

    /// The same where it is known that `after` is the place behind block `end`: then most tracks are as long as it says.
    #[must_use]
    #[inline(always)]
    pub fn read_ahead_limit_behind(&self, layout: &Layout, start: Lbn, end: Lbn, after: &Spot) -> Lbn {
        match self.ahead {
            Ahead::Track | Ahead::NextTrack if after.ends_track => {
                self.limit_on_track(layout, start, end, (after.before, after.left))
            }
            _ => self.read_ahead_limit(layout, start, end),
        }
    }

    /// The same where so many sectors of the track are before block `end` and behind it.
    #[inline(never)]
    fn limit_on_track(&self, layout: &Layout, start: Lbn, end: Lbn, (before, left): (u32, u32)) -> Lbn {
        let shift = layout.sector_shift();
        let next = Lbn(end.0 + (u64::from(left) << shift));
        let known = end.0 & ((1 << shift) - 1) == 0 && next.0 < layout.blocks() && self.segments > 0;
        match self.ahead {
            Ahead::Track if known && before > 0 => Lbn(end.0 + u64::from(self.read_ahead.min(self.segment))).min(next),
            // The segment began on this track.
            Ahead::NextTrack if known && left > 0 && start.0 + (u64::from(before) << shift) >= end.0 => next,
            _ => self.read_ahead_limit(layout, start, end),
        }
    }

    /// The same with the read cache switched off.
    #[must_use]
    pub fn without_read_cache(self) -> Cache {
        Cache { segments: 0, segment: 0, read_ahead: 0, ..self }
    }

    /// The same with the write buffer switched off.
    #[must_use]
    pub fn without_write_buffer(self) -> Cache {
        Cache { write_buffer: 0, ..self }
    }
}

/// Commands in the drive at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// The most commands that the drive holds at once.
    pub depth: u16,
    /// Which of them the arm serves next.
    pub order: Turn,
    /// What has waited longer than this goes first, whatever the order.
    pub age_limit: Span,
    /// When the arm goes on to the next command.
    pub frees_at: FreesAt,
    /// How many of the oldest that wait are weighed against one another.
    pub weighs: u16,
    /// Whether commands of high priority go before others.
    pub high_priority: bool,
    /// The command duration limits that it keeps, by number less one.
    pub limits: [Option<DurationLimit>; DurationLimit::MOST],
}

/// What a command may take, and what becomes of one that takes longer (SPC-6, T2A and T2B command duration limit descriptors). A
/// span of nothing is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DurationLimit {
    /// From when it came until the drive begins to serve it.
    pub inactive: Span,
    /// From when it came until it completes.
    pub duration: Span,
    /// What becomes of one that still waits then.
    pub policy: LimitPolicy,
}

impl DurationLimit {
    /// The number of limits that a command can tell apart: three bits, of which nothing is no limit.
    pub const MOST: usize = 7;
}

/// What becomes of a command that still waits when its limit has passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LimitPolicy {
    /// It is served as soon as possible (0x0).
    #[default]
    Late,
    /// It completes without an error and without its data (0xD).
    Unavailable,
    /// It completes with an error (0xF).
    Abort,
}

impl Queue {
    /// The limit of a number, where the drive keeps one.
    #[must_use]
    pub fn limit(&self, number: u8) -> Option<DurationLimit> {
        *self.limits.get(usize::from(number).checked_sub(1)?)?
    }

    /// Whether it tells any command from others by its mark.
    #[must_use]
    pub fn heeds_marks(&self) -> bool {
        self.high_priority || self.limits.iter().any(Option::is_some)
    }

    /// No limit of age: thirty years.
    pub const AGELESS: Span = Span(1_000_000_000_000_000_000);
}

impl Default for Queue {
    fn default() -> Queue {
        Queue {
            depth: 1,
            order: Turn::Soonest,
            age_limit: Span(500_000_000),
            frees_at: FreesAt::Medium,
            weighs: u16::MAX,
            high_priority: false,
            limits: [None; DurationLimit::MOST],
        }
    }
}

impl Turn {
    /// How long a command may wait in a queue of this order, where nothing else is said.
    #[must_use]
    pub fn age_limit(self) -> Span {
        // By positioning time alone a far command could starve; the other orders come round to every one.
        if self == Turn::Soonest { Queue::default().age_limit } else { Queue::AGELESS }
    }
}

/// Which command of those in the drive the arm serves next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Turn {
    /// What it can begin soonest.
    #[default]
    Soonest,
    /// The oldest command first.
    Fcfs,
    /// The next in the direction the arm last went; where there is none, the next in the other.
    Look,
    /// The next at higher blocks; where there is none, the nearest below.
    Ascending,
    /// The next at higher blocks; where there is none, the lowest.
    CLook,
    /// The nearest to where the last one ended, by blocks.
    Sstf,
}

/// When the arm goes on to the next command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FreesAt {
    /// When the medium is done.
    #[default]
    Medium,
    /// When the data are with the host and completion is about to be reported.
    Message,
    /// When completion is reported.
    Completion,
}

/// What nobody outside knows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Truth {
    /// Standard deviation of a seek's time.
    pub seek_noise: Span,
    /// Share of seeks that fail to settle at once.
    pub late_share: f64,
    /// What such a seek takes longer.
    pub late_by: Span,
    /// How far the rotation is off nominal, as a fraction.
    pub rpm_offset: f64,
    /// How far it wanders about that, as a fraction.
    pub rpm_wander: f64,
    /// Period of the wander.
    pub wander_period: Span,
    /// How it comes to differ in use.
    pub drift: Option<Drift>,
}

/// A drive that is no longer what it was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// The time from which the speed drifts.
    pub at: Time,
    /// What seeks take longer, as a share of their time.
    pub seek: f64,
}
