//! The core of an array: requests (external I/O) become internal ones on its disks, each of which a core of its own serves
//! (Preemptive RAID scheduling, Section 3.2).
//!
//! A request is a *task*. What it needs of a disk is a *child*: an internal request that lies in one stripe unit. With parity,
//! what a task needs of a row is an update: children that read, sums of parity, children that write. Tasks that
//! meet keep their order here; the disks need not know of one another.
//!
//! **An array is a core of cores.** `sched::Array` takes the same inputs and gives the same actions as a `Core`; each
//! disk in it has a `Core` of its own, which knows nothing of the others. A request is a task; what it needs of one
//! disk is a child, an internal request with the task's quality of service, whose commands the array translates. With
//! parity, the work on a part of a row in which every column is written wholly or not at all is an update: read, sum,
//! write; one rule tells what has to be read, also with a disk missing or a sector unreadable. Tasks that meet keep
//! their order above the disks; with parity those that write, repair or read what is missing do so by rows.

mod ahead;
mod beginning;
mod buffer;
mod cache;
mod children;
mod claims;
mod coalescing;
mod code;
pub mod field;
mod geometry;
mod growth;
mod journal;
mod logged;
mod migration;
mod parity;
mod parts;
mod placement;
mod plain;
mod raising;
mod repair;
mod rows;
mod speculation;
mod standing;
mod task;
mod trading;

pub use ahead::CacheTally;
pub use coalescing::Coalescing;
pub use geometry::{Geometry, Level, MOST_DISKS, MOST_WITH_PARITY, Piece, RowLayout};
pub use growth::Grown;
pub use journal::{JournalArea, MOST_RECORDS, RECORDS_OF_DISK};
pub use logged::{LOG_PAGE, logged_blocks};
pub use migration::Migration;
pub use placement::Placement;
pub use speculation::Speculation;

use crate::core::Core;
use crate::event::{Action, ActionSink, Health, Input, Wait};
use crate::fill::Fill;
use crate::job::JobState;
use crate::overlap::{self, Overlap};
use crate::plan::Rules;
use crate::predict::Predictor;
use crate::slab::Slab;
use crate::tally::Tally;
use crate::world::Scheduler;
use crate::{Job, JobId, Jobs};
use ahead::SegmentCache;
use beginning::{Begin, Beginnings};
use block::errno::{ECANCELED, EINVAL, EIO, EOPNOTSUPP};
use block::{Change, Discarded, DiskId, Ending, Extent, Op, Place, Request, RequestId, Span, Time};
use buffer::{Buffer, NOBODY};
use children::{ChildRequest, Owner, Post, offset};
use coalescing::Joined;
use growth::Mover;
use journal::StripeJournal;
use parity::Update;
use parts::TaskParts;
use speculation::Rivals;
use standing::Standings;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use task::Task;

/// Times that what is in the write buffer is tried to be written again: there is no other copy, and nobody else who could.
const BUFFERED_TRIES: u8 = u8::MAX;

/// What an array does with its tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArrayPlan {
    /// Which copy is read.
    pub placement: Placement,
    /// Blocks of its non-volatile write buffer; 0: none.
    pub buffer: u64,
    /// Whether the world keeps what is in the buffer in a log. Then the caller guarantees that the buffer has room for any write.
    pub logged: bool,
    /// Whether what was buffered stays so only until its disks have taken it, though their memory forgets.
    pub trusting: bool,
    /// Blocks of its volatile read cache; 0: none.
    pub read_cache: u64,
    /// Whether reads go on at another copy.
    pub migration: Migration,
    /// Whether reads are asked of another copy, too.
    pub speculation: Speculation,
    /// Whether what lies side by side is asked for at once.
    pub coalescing: Coalescing,
    /// How long a message from one disk to another takes.
    pub delay: Span,
    /// Whether what a repair reads of a row of which nothing is missing is compared, where there are bytes.
    pub comparing: bool,
    /// Where rows with parity have a journal while a disk is lacking; without, a cut may then change what that one held of them.
    pub journal: Option<JournalArea>,
}

/// The scheduling core of an array of disks.
pub struct Array<P: Predictor> {
    geometry: Geometry,
    plan: ArrayPlan,
    rules: Rules,
    disks: Vec<Core<P>>,
    /// When each wants to be woken.
    wakes: Vec<Time>,
    /// The first of these.
    wake: Time,
    standings: Standings,
    /// What the children of each disk are thought to take.
    loads: Vec<Span>,
    /// Seek and rotational delay of a random access, on average.
    positioning: Span,
    /// Whose turn it is to be read.
    turn: u16,
    /// Tasks it keeps at most.
    limit: u32,
    now: Time,
    tasks: Jobs<Task>,
    overlap: Overlap,
    /// Where order goes by rows: tasks that write, repair, or read what is missing, by the rows they touch, as blocks of a disk.
    rows: Overlap,
    /// Whether it does: with parity, and with copies that have grown.
    orders_rows: bool,
    sequence: u64,
    children: Slab<ChildRequest>,
    /// How many there have been.
    born: u64,
    updates: Slab<Update>,
    buffer: Option<Buffer>,
    cache: Option<Box<SegmentCache>>,
    journal: Option<Box<StripeJournal>>,
    /// Rows that are being moved, where it grows.
    mover: Option<Mover>,
    /// Whether it is to do without its second parity.
    lowers: bool,
    /// What remains of each task, where something goes by what children are worth.
    parts: Option<TaskParts>,
    /// Reads that two disks are asked for, where there are any.
    rivals: Option<Box<Rivals>>,
    /// Children of several units, where there are any.
    joined: Option<Box<Joined>>,
    posts: VecDeque<Post>,
    /// Children whose disks are told of them later, and when.
    later: BinaryHeap<Reverse<(Time, u32)>>,
    /// Reads that went on at another disk.
    moved: u64,
    /// Tasks that failed because no disk holds what they need.
    lost: u64,
    told: Vec<Action>,
    /// Room for the disks that hold a copy.
    copies: Vec<DiskId>,
    beginnings: Beginnings,
    /// Whether copies are all that it keeps, and nothing has become of a disk.
    plain: bool,
}

impl<P: Predictor> Array<P> {
    /// An array of these disks, in their order, that keeps at most `limit` requests. The caller guarantees that there are as
    /// many as the geometry has, or as it will have when it has grown, none smaller than it needs, and that they bound nothing themselves.
    #[must_use]
    pub fn new(geometry: Geometry, plan: ArrayPlan, rules: Rules, limit: u32, disks: Vec<Core<P>>) -> Array<P> {
        debug_assert!(usize::from(geometry.disks()) <= disks.len());
        let array = Array {
            geometry,
            plan,
            rules,
            standings: Standings::new(geometry.disks(), geometry.rows_on_disk()),
            loads: vec![Span::ZERO; disks.len()],
            journal: Array::<P>::make_journal(&geometry, &plan, disks.len()),
            mover: None,
            lowers: false,
            positioning: disks.first().map_or(Span::ZERO, placement::positioning),
            wakes: vec![Time::NEVER; disks.len()],
            wake: Time::NEVER,
            parts: disks.first().is_some_and(Core::goes_by_worth).then(TaskParts::default),
            rivals: Rivals::make(&geometry, &plan, disks.len()),
            joined: Joined::make(&plan, disks.len()),
            disks,
            turn: 0,
            limit,
            now: Time::ZERO,
            tasks: Jobs::new(),
            overlap: Overlap::new(),
            rows: Overlap::watching(),
            orders_rows: geometry.has_parity() || geometry.is_growing() && geometry.copies() > 1,
            sequence: 0,
            children: Slab::default(),
            born: 0,
            updates: Slab::default(),
            buffer: (plan.buffer > 0).then(|| Buffer::new(&plan, limit)),
            cache: SegmentCache::of(&plan),
            posts: VecDeque::new(),
            later: BinaryHeap::new(),
            moved: 0,
            lost: 0,
            told: Vec::new(),
            copies: Vec::new(),
            beginnings: Beginnings::default(),
            plain: false,
        };
        array.settle_plain()
    }

    /// Reads that went on at another disk.
    #[must_use]
    pub fn reads_moved(&self) -> u64 {
        self.moved
    }

    fn submit(&mut self, now: Time, request: &Request, out: &mut Vec<Action>) {
        debug_assert!(self.room() > 0, "a request was submitted without room");
        let blocks = match request.op {
            Op::Repair | Op::Move => self.geometry.widest().blocks(),
            _ => self.geometry.blocks(),
        };
        let sane = request.op == Op::Flush || (request.at.blocks > 0 && request.at.end().0 <= blocks);
        let ending = match request.op {
            _ if !sane => Some(Ending::Failed(EINVAL)),
            op if self.buffer.as_ref().is_some_and(|buffer| buffer.refuses(op, request.at)) => {
                Some(Ending::Failed(EIO))
            }
            // A hint: what the disks made of it would have to follow from the rest of its rows.
            Op::Discard(Discarded::Anything) => Some(Ending::Finished),
            Op::Discard(_) => Some(Ending::Failed(EOPNOTSUPP)),
            _ => None,
        };
        if let Some(ending) = ending {
            return out.push(Action::Finish(request.id, ending));
        }
        self.sequence += 1;
        let task = Task::at(Place::Request(request.id, 0));
        let job = Job::new(request, now, self.sequence, task);
        let id = self.tasks.insert(job);
        if request.op == Op::Flush {
            return self.flush(id, &job, out);
        }
        self.overlap.add(id, &job, &self.tasks);
        if self.cache.is_some() {
            self.note_asked(id);
        }
        // Where it grows, rows are those of when it is served.
        if job.op != Op::Read && !self.geometry.is_growing() {
            self.by_rows(id);
        }
        if self.buffer.is_some() {
            if self.answer_from_buffer(id, out) {
                return;
            }
            if job.op.writes() && self.admit(id, out) {
                return self.say_wait(id, Wait::Admission, out);
            }
        }
        self.start_or_hold(id, out);
    }

    /// Says what a task waits for from now on, where that is wanted. Of a write in the buffer nobody asks any more.
    fn say_wait(&self, id: JobId, wait: Wait, out: &mut Vec<Action>) {
        if self.rules.tells
            && let Some(job) = self.tasks.get(id).filter(|job| job.request != NOBODY)
        {
            out.push(Action::Wait(job.request, wait));
        }
    }

    /// Says what a task needs of the disks.
    fn start(&mut self, id: JobId, job: &Job<Task>, out: &mut Vec<Action>) {
        if let Some(job) = self.tasks.get_mut(id) {
            job.state = JobState::Serving;
            job.spot.left = 1;
        }
        self.say_wait(id, Wait::Queue, out);
        let geometry = self.geometry;
        match job.op {
            op if op != Op::Flush && self.is_stuck(job.at) => self.trouble(id, Ending::Failed(EIO)),
            Op::Move => self.start_move(id, job, out),
            Op::Flush => {
                for disk in (0..geometry.disks()).map(DiskId) {
                    if self.standings.works(disk) {
                        self.post(id, Owner::Task, disk, Op::Flush, Extent::default(), Place::Nowhere, 0);
                    }
                }
            }
            Op::Discard(_) => debug_assert!(false, "an array discards nothing"),
            Op::Repair => {
                for piece in geometry.widest().pieces(job.at) {
                    self.repair(id, &piece, out);
                }
            }
            Op::Read => {
                self.open_joins();
                for piece in geometry.pieces(job.at) {
                    self.read(id, job, &piece, None, out);
                }
                self.close_joins();
            }
            Op::Write { .. } if geometry.has_parity() => self.write_rows(id, job, out),
            Op::Write { .. } => {
                self.open_joins();
                for piece in geometry.pieces(job.at) {
                    self.write(id, job, &piece);
                }
                self.close_joins();
            }
        }
        self.done_one(id, out);
    }

    /// Reads a piece from one of its copies, or from several; after a read that failed, from the next.
    fn read(&mut self, id: JobId, job: &Job<Task>, piece: &Piece, after: Option<&ChildRequest>, out: &mut Vec<Action>) {
        let at = self.geometry.on_disk(piece.row, piece.within, piece.blocks);
        let place = offset(job.spot.base, piece.into);
        let layout = self.geometry.layout_of(piece.row);
        if layout.has_parity() {
            let disk = layout.disk(piece.row, piece.column, 0);
            return match self.standings.holds(disk, at) && after.is_none() {
                true => self.post(id, Owner::Task, disk, Op::Read, at, place, 0),
                false if job.spot.by_rows => self.read_missing(id, piece, disk, out),
                false => self.again(id),
            };
        }
        let mut copies = std::mem::take(&mut self.copies);
        let all = layout.copies_of(piece.row, piece.column);
        copies.extend(all.filter(|disk| self.standings.holds(*disk, at)));
        self.read_copy(id, job, (piece, at, place), after, &copies);
        copies.clear();
        self.copies = copies;
    }

    /// Writes a piece to each of its copies.
    fn write(&mut self, id: JobId, job: &Job<Task>, piece: &Piece) {
        let at = self.geometry.on_disk(piece.row, piece.within, piece.blocks);
        let mut copies = 0;
        for disk in self.geometry.copies_of(piece.row, piece.column) {
            if self.standings.works(disk) {
                self.post(id, Owner::Task, disk, job.op, at, offset(job.spot.base, piece.into), 0);
                copies += u16::from(self.standings.holds(disk, at));
            }
        }
        if copies == 0 {
            self.trouble(id, Ending::Failed(EIO));
        }
    }

    /// A read has to begin again, in order with others of its rows.
    fn again(&mut self, id: JobId) {
        match self.tasks.get_mut(id) {
            Some(job) if Self::is_ahead(job) => self.trouble(id, Ending::Failed(EIO)),
            Some(job) => job.spot.again = true,
            None => {}
        }
    }

    /// Notes how a task ends, if nothing was noted before.
    fn trouble(&mut self, id: JobId, how: Ending) {
        if let Some(job) = self.tasks.get_mut(id) {
            job.spot.trouble = job.spot.trouble.or(Some(how));
        }
    }

    /// One of the things a task waits for has ended.
    fn done_one(&mut self, id: JobId, out: &mut Vec<Action>) {
        let Some(job) = self.tasks.get_mut(id) else { return };
        job.spot.left -= 1;
        if job.spot.left > 0 {
            return;
        }
        if std::mem::take(&mut job.spot.again) && job.spot.trouble.is_none() {
            // From the beginning, in order with those that write in its rows.
            job.state = JobState::Queued;
            self.by_rows(id);
            return self.start_or_hold(id, out);
        }
        if job.op == Op::Move && self.move_on(id, out) {
            return;
        }
        let Some(job) = self.tasks.get_mut(id) else { return };
        let ending = job.spot.trouble.take().unwrap_or(Ending::Finished);
        // Of what no disk holds any more nothing was flushed.
        let lost = job.op == Op::Flush && !self.geometry.is_whole_without(|disk| !self.standings.is_sound(disk));
        let ending = if lost && ending == Ending::Finished { Ending::Failed(EIO) } else { ending };
        if ending != Ending::Finished && job.spot.buffered.is_some() && job.spot.tries < BUFFERED_TRIES {
            // Whoever wrote it believes that it is written.
            job.spot.tries += 1;
            return self.begin_task(Begin::Again(id), out);
        }
        self.end(id, ending, out);
    }

    fn end(&mut self, id: JobId, ending: Ending, out: &mut Vec<Action>) {
        let Some(job) = self.tasks.get(id).copied() else { return };
        if job.op != Op::Flush {
            self.overlap.remove(&job);
        }
        self.leave_rows(id);
        self.tasks.free(id);
        if self.cache.is_some() {
            self.note_cached(id, &job, ending, out);
        }
        self.lost += u64::from(ending == Ending::Failed(EIO) && !Self::is_ahead(&job));
        self.note_unflushed(job.op, ending);
        match job.spot.buffered {
            Some(frame) => {
                let lost = ending != Ending::Finished;
                self.free_frame(frame, job.at, lost, out);
            }
            None if job.request == NOBODY => {}
            None => out.push(Action::Finish(job.request, ending)),
        }
        let mut held = job.first_held;
        while let Some(id) = held {
            let Some(waiting) = self.tasks.get(id).copied() else { break };
            held = waiting.next_held;
            self.start_or_hold(id, out);
        }
    }

    /// Something has become of a disk.
    fn hear(&mut self, now: Time, disk: DiskId, health: Health, out: &mut Vec<Action>) {
        self.plain = false;
        match health {
            Health::Joins => self.join(),
            Health::TradesCopies => self.trade_copies(),
            Health::JoinsForParity => self.join_for_parity(),
            Health::LeavesWithParity => self.lowers = true,
            Health::Told => self.note_told(out),
            Health::Known => self.note_known(disk),
            // One that kept the second parities.
            _ if disk.0 >= self.geometry.disks() => {}
            Health::Failed => self.fail(disk, out),
            Health::Replaced => {
                self.fail(disk, out);
                self.settle(now, out);
                self.standings.replace(disk);
            }
            Health::Filled(until) => {
                self.standings.resume(disk, until);
                self.doubt(disk);
            }
            Health::Holds(at) => self.note_held(disk, at, out),
        }
    }

    fn amend(&mut self, request: RequestId, change: Change, out: &mut Vec<Action>) {
        let Some(id) = self.tasks.find(request) else { return };
        let Some(job) = self.tasks.get_mut(id) else { return };
        if let Change::Qos(qos) = change {
            job.qos = qos;
        }
        let job = *job;
        if change == Change::Cancel {
            if let JobState::Held(blocker) = job.state {
                overlap::let_go(id, blocker, job.next_held, &mut self.tasks);
                return self.end(id, Ending::Failed(ECANCELED), out);
            }
            if self.no_longer_waits(id) {
                return self.end(id, Ending::Failed(ECANCELED), out);
            }
            // With parity half done there is no way back.
            if job.op.writes() && self.redundant() {
                return;
            }
            self.trouble(id, Ending::Failed(ECANCELED));
        }
        if change != Change::Cancel {
            self.claims_anew(id);
            self.weigh_siblings(id);
        }
        self.tell_children(id, change);
    }

    /// Takes an input, whatever it is.
    #[inline(never)]
    fn handle_any(&mut self, now: Time, input: Input, out: &mut Vec<Action>) {
        self.now = now;
        let told = out.len();
        match input {
            Input::Submit(request) => self.submit(now, &request, out),
            Input::Done(disk, ..) => self.tell(now, disk, input, out),
            Input::Amend(request, change) => self.amend(request, change, out),
            Input::Disk(disk, health) => self.hear(now, disk, health, out),
            // Each disk shares out its own arm.
            Input::Claim(..) => {
                (0..self.disks.len() as u16).map(DiskId).for_each(|disk| self.tell(now, disk, input, out));
            }
            Input::Log(news) => self.hear_log(news, out),
            Input::Compared(number, slot, how) => self.note_compared(number, slot, how, out),
            Input::Wake => {
                while let Some(Reverse((_, child))) = self.later.peek().copied().filter(|Reverse((at, _))| *at <= now) {
                    self.later.pop();
                    self.posts.push_back(Post::Submit(child));
                }
                for disk in (0..self.geometry.disks()).map(DiskId) {
                    if self.wakes[usize::from(disk.0)] <= now {
                        self.tell(now, disk, Input::Wake, out);
                    }
                }
            }
        }
        self.settle(now, out);
        if self.cache.is_some() {
            self.read_ahead(out);
            self.settle(now, out);
        }
        self.settle_journal(told, out);
        if self.lowers {
            self.settle_level();
        }
    }
}

impl<P: Predictor> Scheduler for Array<P> {
    #[inline]
    fn handle(&mut self, now: Time, input: Input, out: &mut Vec<Action>) {
        if !self.handle_at_once(now, input, out) {
            self.handle_any(now, input, out);
        }
    }

    #[inline(always)]
    fn handle_plain(&mut self, now: Time, input: Input, out: &mut impl ActionSink) {
        if !self.handle_at_once(now, input, out) {
            out.gather(|out| self.handle_any(now, input, out));
        }
    }

    fn is_plain(&self) -> bool {
        // One whose rows move tells of it, and waits until that is known.
        !self.geometry.is_growing()
    }

    #[inline]
    fn wake_at(&self) -> Option<Time> {
        let later = self.later.peek().map_or(Time::NEVER, |Reverse((at, _))| *at);
        Some(later.min(self.wake)).filter(|wake| *wake < Time::NEVER)
    }

    fn room(&self) -> u32 {
        let asked = self.tasks.len() - self.cache.as_ref().map_or(0, |cache| cache.tasks());
        self.limit - asked
    }

    fn count_from(&mut self, from: Time) {
        for disk in &mut self.disks {
            disk.count_from(from);
        }
        if let Some(buffer) = &mut self.buffer {
            buffer.count_from(from);
        }
        if let Some(cache) = &mut self.cache {
            cache.count_from(from);
        }
    }

    fn requests_lost(&self) -> u64 {
        self.lost
    }

    fn weight(&self) -> f64 {
        self.disks.first().map_or(1.0, |disk| disk.write_weight())
    }

    fn fill(&self) -> Option<Fill> {
        self.buffer.as_ref().map(|buffer| buffer.fill.clone())
    }

    fn cache_tally(&self) -> Option<CacheTally> {
        self.cache.as_ref().map(|cache| cache.tally)
    }

    fn tally(&self) -> Option<Tally> {
        self.disks.iter().filter_map(Core::tally).cloned().reduce(|mut sum, tally| {
            sum.merge(&tally);
            sum
        })
    }

    fn effort(&self) -> (u64, u64) {
        self.disks.iter().map(Core::effort).fold((0, 0), |(a, b), (c, d)| (a + c, b + d))
    }

    fn memory(&self) -> Option<(usize, usize)> {
        let memories = self.disks.iter().filter_map(|disk| disk.belief().memory());
        memories.reduce(|(things, bytes), (more, larger)| (things + more, bytes + larger))
    }
}
