//! Reads that an array answers from its read cache, and what it reads ahead of streams.
//!
//! **Never stale.** A read looks into the cache when no write before it is outstanding that it meets. What reads brought before a write that they
//! meet was begun is forgotten when that ends, however it does, and before anybody is started who waited for it.
//!
//! **Read-ahead** is a task that nobody asked for, whose bytes go to a frame of the cache. A read that goes on where one of the last few ended
//! makes a stream; ahead of it some segments are asked for, ever more while it goes on, but only while nobody outstanding is of no
//! stream. Who comes then has what is not begun given up, unless it is awaited. A read of which all that is missing is on its way
//! waits for that.

use super::buffer::NOBODY;
use super::cache::{CacheLines, HeldPart, SEGMENT};
use super::children::offset;
use super::{Array, ArrayPlan, Task};
use crate::event::{Action, Wait};
use crate::frames::FRAMES;
use crate::job::JobState;
use crate::predict::Predictor;
use crate::{Job, JobId};
use block::errno::{ECANCELED, EIO};
use block::{Change, Ending, Extent, FrameId, Op, Place, Qos, Request, Time};

/// Streams that are followed at once.
const STREAMS: usize = 16;
/// Segments that are read ahead of a stream: at first, and at most.
const FIRST_WINDOW: u32 = 2;
const MOST_WINDOW: u32 = 16;
/// Blocks of a read that is part of no stream, at least.
const LONG: u32 = MOST_WINDOW * SEGMENT / 2;
/// A stream goes on that did so in one of so many reads.
const RECENT: u64 = 4 * STREAMS as u64;
/// Segments that are on their way at once, at most.
const MOST_COMING: u32 = 32;

/// What a read cache came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheTally {
    /// Reads that were answered from it.
    pub hits: u64,
    /// Of these, those that had to wait for what was being read ahead.
    pub awaited: u64,
    /// Reads that disks had to answer.
    pub misses: u64,
    /// Blocks that were read ahead.
    pub ahead: u64,
}

impl CacheTally {
    /// Adds that of another replication.
    pub fn merge(&mut self, other: &CacheTally) {
        self.hits += other.hits;
        self.awaited += other.awaited;
        self.misses += other.misses;
        self.ahead += other.ahead;
    }
}

/// Reads one after the other.
#[derive(Clone, Copy, Debug, Default)]
struct ReadStream {
    /// Where the last of them ended.
    next: u64,
    /// Segments that are read ahead of it.
    window: u32,
    /// When it was last gone on with, in reads.
    used: u64,
}

/// The read cache of an array.
#[derive(Debug)]
pub(super) struct SegmentCache {
    lines: CacheLines,
    streams: [ReadStream; STREAMS],
    /// Reads that have come.
    reads: u64,
    /// The stream that was gone on with just now, and whose.
    due: Option<(usize, Qos)>,
    /// Tasks that read ahead.
    coming: Vec<JobId>,
    /// Outstanding reads that go on with a stream.
    following: u32,
    from: Time,
    pub(super) tally: CacheTally,
}

impl SegmentCache {
    pub(super) fn of(plan: &ArrayPlan) -> Option<Box<SegmentCache>> {
        let lines = CacheLines::new(plan.read_cache);
        (lines.most() > 0).then(|| {
            Box::new(SegmentCache {
                lines,
                streams: [ReadStream::default(); STREAMS],
                reads: 0,
                due: None,
                coming: Vec::new(),
                following: 0,
                from: Time::ZERO,
                tally: CacheTally::default(),
            })
        })
    }

    pub(super) fn count_from(&mut self, from: Time) {
        self.from = from;
    }

    /// Tasks that nobody asked for.
    pub(super) fn tasks(&self) -> u32 {
        self.coming.len() as u32
    }

    /// Segments on their way at once, at most: two for each disk.
    fn most_coming(&self, disks: usize) -> u32 {
        MOST_COMING.min(self.lines.most() / 4).min(2 * disks as u32)
    }

    /// Blocks that are read ahead of a stream: its part of what may be on its way, of all streams that go on.
    fn ahead_of(&self, index: usize, disks: usize) -> u64 {
        let goes_on = |stream: &&ReadStream| stream.window > 0 && stream.used + RECENT > self.reads;
        let streams = self.streams.iter().filter(goes_on).count().max(1) as u32;
        let part = (self.most_coming(disks) / streams).max(FIRST_WINDOW);
        u64::from(self.streams[index].window.min(part) * SEGMENT)
    }

    /// A read has come: whether it goes on with a stream.
    fn follow(&mut self, at: Extent, qos: Qos) -> bool {
        self.reads += 1;
        let (start, end) = (at.start.0, at.end().0);
        // Long reads keep all disks busy by themselves.
        if at.blocks > LONG {
            return false;
        }
        let going_on = self.streams.iter().position(|stream| stream.next == start && stream.used > 0);
        let index = going_on.unwrap_or_else(|| {
            let oldest = self.streams.iter().enumerate().min_by_key(|(_, stream)| stream.used);
            oldest.map_or(0, |(index, _)| index)
        });
        let stream = &mut self.streams[index];
        if going_on.is_none() {
            *stream = ReadStream { next: end, window: 0, used: self.reads };
            return false;
        }
        (stream.next, stream.used) = (end, self.reads);
        stream.window = (2 * stream.window).clamp(FIRST_WINDOW, MOST_WINDOW);
        self.due = Some((index, qos));
        true
    }
}

impl<P: Predictor> Array<P> {
    /// The first frame that is neither a disk's nor the read cache's.
    pub(super) fn first_frame(&self) -> u32 {
        self.first_cached() + (self.plan.read_cache / u64::from(SEGMENT)) as u32
    }

    /// The first frame of the read cache: behind those of the disks.
    fn first_cached(&self) -> u32 {
        self.disks.len() as u32 * FRAMES
    }

    /// Whether a task reads ahead.
    pub(super) fn is_ahead(job: &Job<Task>) -> bool {
        job.request == NOBODY && job.op == Op::Read && job.spot.buffered.is_none()
    }

    /// A request has come: a read may go on with a stream; for any other what was to be read ahead makes way.
    pub(super) fn note_asked(&mut self, id: JobId) {
        let (Some(cache), Some(job)) = (&mut self.cache, self.tasks.get_mut(id)) else { return };
        if job.op == Op::Read && cache.follow(job.at, job.qos) {
            job.spot.follows = true;
            cache.following += 1;
            return;
        }
        self.give_up_ahead();
    }

    /// What is read ahead, and is neither begun nor awaited, is given up.
    fn give_up_ahead(&mut self) {
        let Some(cache) = &mut self.cache else { return };
        let coming = std::mem::take(&mut cache.coming);
        for id in &coming {
            let stays = |job: &Job<Task>| job.spot.begun || job.spot.trouble.is_some() || job.first_held.is_some();
            if self.tasks.get(*id).is_some_and(|job| !stays(job)) {
                self.trouble(*id, Ending::Failed(ECANCELED));
                self.tell_children(*id, Change::Cancel);
            }
        }
        if let Some(cache) = &mut self.cache {
            cache.coming = coming;
        }
    }

    /// Answers a read from the cache, or has it wait for what is on its way there. The caller guarantees that no write before it is
    /// outstanding that it meets. Says whether there is nothing more to do for now.
    pub(super) fn read_from_cache(&mut self, id: JobId, out: &mut Vec<Action>) -> bool {
        let Some(job) = self.tasks.get(id).copied() else { return false };
        if self.is_stuck(job.at) || Self::is_ahead(&job) {
            return false;
        }
        let base = self.first_cached();
        let Some(cache) = &mut self.cache else { return false };
        match cache.lines.look_up(job.at) {
            HeldPart::Missing => {
                self.give_up_ahead();
                false
            }
            HeldPart::Coming(by) => self.await_ahead(id, &job, by, out),
            HeldPart::All => {
                cache.tally.hits += u64::from(self.now >= cache.from);
                cache.lines.use_all(job.at, |part| {
                    let from = Place::Frame(FrameId(base + part.frame), part.from);
                    out.push(Action::Copy { from, to: offset(job.spot.base, part.into), blocks: part.blocks });
                });
                self.end(id, Ending::Finished, out);
                true
            }
        }
    }

    /// A read waits for a task that reads ahead, which is then as urgent as the read.
    fn await_ahead(&mut self, id: JobId, job: &Job<Task>, by: JobId, out: &mut Vec<Action>) -> bool {
        let qos = Qos { deadline: None, ..job.qos };
        let Some(ahead) = self.tasks.get_mut(by).filter(|ahead| Self::is_ahead(ahead)) else { return false };
        if ahead.spot.trouble.is_some() {
            return false;
        }
        let next = ahead.first_held.replace(id);
        let differs = std::mem::replace(&mut ahead.qos, qos) != qos;
        if let Some(job) = self.tasks.get_mut(id) {
            (job.state, job.next_held) = (JobState::Held(by), next);
        }
        if differs {
            self.weigh_siblings(by);
            self.tell_children(by, Change::Qos(qos));
        }
        if let Some(cache) = &mut self.cache {
            cache.tally.awaited += u64::from(self.now >= cache.from);
        }
        self.give_up_ahead();
        self.say_wait(id, Wait::Overlap, out);
        true
    }

    /// A task has ended: what a read brought is kept, what a write met is forgotten.
    pub(super) fn note_cached(&mut self, id: JobId, job: &Job<Task>, ending: Ending, out: &mut Vec<Action>) {
        let base = self.first_cached();
        let Some(cache) = &mut self.cache else { return };
        cache.following -= u32::from(job.spot.follows);
        match job.op {
            Op::Read if Self::is_ahead(job) => {
                cache.coming.retain(|other| *other != id);
                if let Place::Frame(frame, _) = job.spot.base {
                    let counts = ending == Ending::Finished && self.now >= cache.from;
                    cache.tally.ahead += if counts { job.at.blocks.into() } else { 0 };
                    cache.lines.end_ahead(frame.0 - base, ending);
                }
            }
            // What was answered from here, or from the write buffer, was not begun.
            Op::Read if job.spot.begun => {
                cache.tally.misses += u64::from(self.now >= cache.from);
                let fits = u64::from(job.at.blocks) <= self.plan.read_cache / 4;
                if ending == Ending::Finished && fits {
                    cache.lines.fill(job.at, |part| {
                        let to = Place::Frame(FrameId(base + part.frame), part.from);
                        out.push(Action::Copy { from: offset(job.spot.base, part.into), to, blocks: part.blocks });
                    });
                }
            }
            Op::Read | Op::Flush | Op::Move => {}
            _ => cache.lines.forget(job.at),
        }
    }

    /// Reads ahead of the stream that was gone on with just now, if nobody else is outstanding.
    pub(super) fn read_ahead(&mut self, out: &mut Vec<Action>) {
        let blocks = self.geometry.blocks();
        let Some((index, qos)) = self.cache.as_mut().and_then(|cache| cache.due.take()) else { return };
        let mut from = self.cache.as_ref().map_or(0, |cache| cache.streams[index].next);
        loop {
            let Some(cache) = &mut self.cache else { return };
            let others = self.tasks.len() - cache.tasks() - cache.following;
            let disks = self.disks.len();
            if others > 0 || cache.tasks() >= cache.most_coming(disks) || self.geometry.is_growing() {
                return;
            }
            let until = blocks.min(cache.streams[index].next + cache.ahead_of(index, disks));
            if from >= until {
                return;
            }
            let to = (from / u64::from(SEGMENT) + 1) * u64::from(SEGMENT);
            let to = to.min(blocks);
            let at = Extent::new(from, (to - from) as u32);
            from = to;
            if !cache.lines.needs_none(at) && !self.overlap.writes(at) && !self.ask_ahead(at, qos, out) {
                return;
            }
        }
    }

    /// Reads blocks of one segment ahead; false if there is no frame for them.
    fn ask_ahead(&mut self, at: Extent, qos: Qos, out: &mut Vec<Action>) -> bool {
        let Some(part) = self.cache.as_mut().and_then(|cache| cache.lines.begin_ahead(at)) else { return false };
        let base = Place::Frame(FrameId(self.first_cached() + part.frame), part.from);
        let qos = Qos { class: qos.class, priority: 0, deadline: None };
        let request = Request { id: NOBODY, op: Op::Read, at, qos };
        self.sequence += 1;
        let job = Job::new(&request, self.now, self.sequence, Task::at(base));
        let id = self.tasks.insert_nobodys(job);
        self.overlap.add(id, &job, &self.tasks);
        if let Some(cache) = &mut self.cache {
            cache.lines.name_ahead(part.frame, id);
            cache.coming.push(id);
        }
        if self.misses(&job) {
            // What has to be had from the rest of its rows is not read for nobody.
            self.end(id, Ending::Failed(EIO), out);
        } else {
            self.start_or_hold(id, out);
        }
        true
    }
}
