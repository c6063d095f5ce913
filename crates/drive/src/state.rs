//! What a drive is made of: its parts, and what is under way in it. What it does with them is told apart: [`crate::machine`]
//! takes commands and completes them, [`crate::reads`] and [`crate::writes`] serve them, [`crate::ahead`] reads on, [`crate::queue`] picks the next,
//! [`crate::bus`] has them share one bus.

use crate::account::{Account, Parts};
use crate::buffer::WriteBuffer;
use crate::cache::{SegmentRegion, Segments};
use crate::noise::{SeekNoise, Spindle};
use crate::stages::WriteStage;
use block::{Command, Direction, Extent, Lbn, Outcome, Span, Tag, Time, Verb};
use disk::{
    Bus, Cache, FreesAt, Mechanics, Overheads, Passage, Progress, Queue, Sheet, Spot, Stroke, Track, Truth, Turn,
};
use std::sync::Arc;

/// A command whose completion is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flying {
    pub(crate) tag: Tag,
    pub(crate) issued: Time,
    pub(crate) end: Time,
    pub(crate) outcome: Outcome,
    pub(crate) parts: Parts,
}

/// A command that waits in the drive: for the arm, or for room in the write buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub(crate) tag: Tag,
    pub(crate) issued: Time,
    pub(crate) command: Command,
    /// When the drive took it in: where its bus is one for all, not while data went over it.
    pub(crate) came: Time,
    /// Commands begun before it came.
    pub(crate) ordinal: u64,
    /// Whether the arm was at another command when it came.
    pub(crate) behind: bool,
    /// Whether something was to be written back when it came.
    pub(crate) writing: bool,
    /// Where it begins, of a transfer that waits with others: each decision asks for it.
    pub(crate) begins: Option<Beginning>,
    /// Whether it waits for room in the write buffer, and not for the arm.
    pub(crate) wants_room: bool,
}

impl Waiting {
    /// Where the beginning of a read is looked for in memory.
    #[inline]
    pub(crate) fn read_region(&self) -> Option<SegmentRegion> {
        self.begins.as_ref().filter(|_| self.command.verb == Verb::Read).map(|begins| begins.region)
    }
}

/// Where a transfer begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beginning {
    pub(crate) spot: Spot,
    /// By how large an angle the heads may come too late and yet find it at once; the largest where that is not told.
    pub(crate) caught: u64,
    /// Which segments may have its first block.
    pub(crate) region: SegmentRegion,
}

/// Where a command comes from when it is begun, which decides what of its overhead is still to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandOrigin {
    /// The host has just given it.
    Host,
    /// It waited in the drive while others were served.
    Queue,
}

/// A disk drive: arm, spindle, buffer, bus and queue.
#[derive(Clone, Debug)]
pub struct Drive {
    pub(crate) mechanics: Arc<Mechanics>,
    pub(crate) overheads: Overheads,
    pub(crate) cache: Cache,
    pub(crate) rules: Queue,
    pub(crate) seek_by: block::SeekBy,
    pub(crate) bus: Bus,
    /// What most reads ask for on their way.
    pub(crate) read_path: ReadPath,
    /// Time of a block on the bus, in 2⁻¹⁶ ns, of a read and of a write.
    pub(crate) read_block: u64,
    pub(crate) write_block: u64,
    pub(crate) spindle: Spindle,
    pub(crate) noise: SeekNoise,
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
    /// The last write-back that was completed.
    pub(crate) completed: Option<WriteBack>,
    /// What was written back, where that is kept.
    pub(crate) wrote: Option<Vec<(Lbn, Span)>>,
    /// Until when a command holds the arm: until its access has ended, while its data may still be on the bus.
    pub(crate) held: Time,
    /// What the arm was last given to, where that may be one of several.
    pub(crate) served: Extent,
    /// Whether it went upwards to that.
    pub(crate) ascends: bool,
    /// The segment that the command with the arm reads into, and from which block on what is in it has not come yet.
    pub(crate) filling: Option<(usize, Lbn)>,
    /// When the last read from the medium has left the bus, and when the last hit or buffered write has.
    pub(crate) delivered: Time,
    pub(crate) exchanged: Time,
    /// When the bus is in use for data.
    pub(crate) connection: Connection,
    /// From when until when the last command was told to the drive, which then let go of the bus.
    pub(crate) telling_from: Time,
    pub(crate) told: Time,
    pub(crate) flying: Vec<Flying>,
    pub(crate) waiting: Vec<Waiting>,
    /// Whether of reads of what is not in memory the next is the one that the arm can begin soonest, and nothing else counts.
    pub(crate) reads_go_by_way: bool,
    /// Whether it heeds what commands ask for, and then how long an access may be.
    pub(crate) heeds_marks: bool,
    pub(crate) longest: Span,
    /// Room for those that a look ahead in the queue passes over, and their places.
    pub(crate) passed: Vec<(usize, Waiting)>,
    /// When it decides next what has the arm, if nothing comes before.
    pub(crate) decision: Option<Time>,
    /// Whether the command that is being begun waited for the drive's own writes alone.
    pub(crate) waits_for_writes: bool,
    /// Up to when the write buffer was drained ahead of time, for a command that has the arm.
    pub(crate) drained: Time,
    pub(crate) ordinal: u64,
    /// When the command that was begun last was.
    pub(crate) turn: Time,
    pub(crate) account: Account,
    /// How far it is with buffered writes, where it takes them in by stages.
    pub(crate) stage: WriteStage,
}

impl Drive {
    /// A drive at rest on cylinder 0, its phase given by the seed.
    #[must_use]
    pub fn new(sheet: &Sheet, truth: &Truth, seed: u64) -> Drive {
        let (cache, heeds_marks) = (sheet.cache, sheet.queue.heeds_marks());
        Drive {
            mechanics: Arc::clone(&sheet.mechanics),
            overheads: sheet.overheads,
            cache,
            rules: sheet.queue,
            seek_by: sheet.seek_by,
            bus: sheet.bus,
            read_path: ReadPath::of(sheet),
            read_block: sheet.bus.block_time(Direction::Read),
            write_block: sheet.bus.block_time(Direction::Write),
            spindle: Spindle::new(sheet.mechanics.rotation, truth, seed),
            noise: SeekNoise::new(truth, seed),
            segments: Segments::new(cache.segments, cache.segment),
            buffer: WriteBuffer::new(&cache),
            track: sheet.mechanics.layout.locate(Lbn(0)).track,
            free: Time::ZERO,
            written: Lbn(u64::MAX),
            last_write: None,
            read_ahead: None,
            write_back: None,
            completed: None,
            wrote: None,
            held: Time::ZERO,
            served: Extent { start: Lbn(0), blocks: 0 },
            ascends: true,
            filling: None,
            delivered: Time::ZERO,
            exchanged: Time::ZERO,
            connection: Connection::default(),
            telling_from: Time::ZERO,
            told: Time::ZERO,
            decision: None,
            waits_for_writes: false,
            drained: Time::ZERO,
            flying: Vec::with_capacity(usize::from(sheet.queue.depth)),
            waiting: Vec::with_capacity(usize::from(sheet.queue.depth)),
            reads_go_by_way: sheet.queue.order == Turn::Soonest && !sheet.bus.exclusive && !heeds_marks,
            heeds_marks,
            longest: if heeds_marks { sheet.mechanics.longest_access() } else { Span::ZERO },
            passed: Vec::with_capacity(usize::from(sheet.queue.depth)),
            ordinal: 0,
            turn: Time::ZERO,
            account: Account::default(),
            stage: WriteStage::default(),
        }
    }
}

/// What a read that has nothing in the cache, while nothing waits to be written, asks for on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadPath {
    /// Nothing: the drive takes one command at a time, reads into segments, and has none of the habits that only some have.
    Plain,
    /// Those habits: the drive takes one command at a time.
    Alone,
    /// All there is: the drive has a queue.
    Queued,
}

impl ReadPath {
    fn of(sheet: &Sheet) -> ReadPath {
        let Sheet { cache, bus, overheads, queue, .. } = sheet;
        let goes_at_once = !bus.exclusive && bus.watermark == 0.0 && overheads.reselect == Span::ZERO;
        let keeps = cache.segments > 0 && cache.overtakes && !cache.forgets;
        let reads_on = !cache.ends_at_command && !cache.stops_in_sector;
        let frees = queue.frees_at == FreesAt::Medium;
        match frees && goes_at_once && overheads.large.is_none() && keeps && reads_on {
            _ if queue.depth > 1 => ReadPath::Queued,
            true => ReadPath::Plain,
            false => ReadPath::Alone,
        }
    }
}

/// A read that runs on past what was asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadAhead {
    /// When reading ahead began.
    pub(crate) began: Time,
    /// How far it had come when that was last worked out.
    pub(crate) so_far: Progress,
    /// The first block that is not read ahead.
    pub(crate) limit: Lbn,
    /// The block it must have reached before the arm may go.
    pub(crate) least: Lbn,
    /// The segment it fills.
    pub(crate) segment: usize,
    /// The command whose data the segment holds while they are sent, if they may not be overwritten.
    pub(crate) sent: Option<Sent>,
}

/// Blocks on their way to the host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) at: Extent,
    pub(crate) from: Time,
    pub(crate) until: Time,
}

impl ReadAhead {
    /// Whether a write to `at` concerns what it will still read.
    pub(crate) fn meets(&self, at: Extent) -> bool {
        at.start < self.limit
    }
}

/// A write-back under way. What has passed under the head is free in the buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteBack {
    /// When the arm set out.
    pub(crate) began: Time,
    /// How far it had come when that was last worked out.
    pub(crate) so_far: Progress,
    /// The block it stops before.
    pub(crate) limit: Lbn,
    /// Blocks taken out of order: free in the buffer only when it is complete.
    pub(crate) whole: u32,
}

impl WriteBack {
    /// The first block that is not on the medium yet, or not known to be.
    pub(crate) fn first(&self) -> Lbn {
        if self.whole > 0 { Lbn(self.limit.0 - u64::from(self.whole)) } else { self.so_far.reached }
    }
}

/// The bus in use for data and completion of a command.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Connection {
    /// The command whose data are moved.
    pub(crate) tag: Tag,
    /// The time from which the bus is held.
    pub(crate) from: Time,
    /// Until when, completion included.
    pub(crate) until: Time,
    /// How long it takes at least, once all data are there.
    pub(crate) least: Span,
    /// From when until when what was in the cache goes before that, where the bus is let go of in between.
    pub(crate) cached: Option<(Time, Time)>,
    /// Whether the command has had the bus since it was let in, as one that is answered from the cache has.
    pub(crate) at_once: bool,
    /// Whether its data came to be there while another command was told: who waited before that goes first.
    pub(crate) postponed: bool,
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
