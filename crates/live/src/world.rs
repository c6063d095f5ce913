//! The world of one device in real time, or of the disks of an array as one.
//!
//! A disk of an array that hangs, or that does not say it has on its medium what it was to have there, is given up where the others
//! hold all that it does; else the array fares as a lone device does. What a disk that was given up still has in flight counts as
//! failed; memory that it may still write to belongs to nobody else from then on.

mod errands;
mod logging;
mod patience;

use crate::kernel::{Host, Kernel};
use crate::lateness::Lateness;
use crate::memory::{Pool, Slice};
use crate::ring::RingToken;
use crate::unit::{Done, LiveDevice};
use block::errno::EIO;
use block::{BLOCK_BYTES, Command, DiskId, Ending, Extent, Outcome, Place, RequestId, Span, Tag, Time, Verb};
use errands::Errands;
use load::Served;
use load::requests::{self, Ledger};
use logging::Logging;
use patience::DiskPatience;
use sched::array::field::Factor;
use sched::{Action, Bill, Found, Health, Input, Wait, World};
use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::rc::Rc;

/// Who asks a live core for I/O.
pub trait RequestSource {
    /// When it will do something by itself, while the core has so much room.
    fn due(&self, _room: u32) -> Option<Time> {
        None
    }

    /// Its requests have numbers below this.
    fn numbers(&self) -> u32 {
        1 << 21
    }

    /// What it asks now, while the core has room for a request.
    fn ask(&mut self, now: Time, room: u32, hands: &mut Hands) -> Option<Input>;

    /// The memory of a request's bytes, `from` bytes into it.
    fn memory(&mut self, id: RequestId, from: usize, bytes: usize) -> Option<Slice>;

    /// A request's turn has come, or a command of it was issued.
    fn on_start(&mut self, _: Time, _: RequestId) {}

    /// A command has read part of a request's bytes into this memory.
    fn on_data(&mut self, _: RequestId, _: &Slice) {}

    /// A command was issued and came back.
    fn command(&mut self, _issued: Time, _ended: Time) {}

    /// A command for a request, or for none, has kept the device from a time to another; who pays for it, as the core says.
    fn on_arm_time(&mut self, _: Option<RequestId>, _: &Bill, _: (Time, Time)) {}

    /// What a record tells of a request that ends now, if there is to be one.
    fn take_record(&mut self, _: Time, _: RequestId) -> Option<Served> {
        None
    }

    /// A request has ended.
    fn on_end(&mut self, now: Time, id: RequestId, how: Ending, hands: &mut Hands);

    /// Blocks that are wanted in any order were read into this memory, or found unreadable.
    fn on_found(&mut self, _: Time, _: Extent, _: Found, _: Option<&Slice>) {}

    /// The kernel completed something that is none of the unit's.
    fn on_completion(&mut self, _: Time, _: RingToken, _: i32, _: &mut Hands) {}

    /// What an emulated drive had done was noticed so late.
    fn note_lateness(&mut self, _late: Span) {}

    /// What a request's bytes are read into goes to somebody who may write to it whenever he likes: from now on they are elsewhere.
    fn renew_memory(&mut self, _: RequestId, _: &mut Pool) {}

    /// A disk of the array is given up, of which then so much is still to be had.
    fn on_give_up(&mut self, _: DiskId, _: Remaining) {}

    /// The device has so many bytes from now on.
    fn resize(&mut self, _bytes: u64) {}

    /// The device does not answer.
    fn hang(&mut self, _now: Time) {}

    /// The device answers again.
    fn recover(&mut self) {}

    /// A flush has failed, or a write that was to reach the medium. Whatever was written before may be lost, and a later flush would
    /// not say so: the kernel tells of such an error once, and takes what it could not write for clean from then on.
    fn flush_failed(&mut self) {}

    /// When what is outstanding is given up, if something came back last, or was asked of an idle device, at this time.
    fn gives_up_at(&self, _: Time) -> Option<Time> {
        None
    }

    /// Nothing came back by then.
    fn give_up(&mut self, _: Time) {}

    /// Whether the run may end while something is outstanding.
    fn has_given_up(&self) -> bool {
        false
    }

    /// Nothing happens for a while: what was put off is done. Whether there is thereby something to ask.
    fn quiet(&mut self, _: &mut Hands) -> bool {
        false
    }

    /// Whether it will never ask anything again, once all it asked has ended.
    fn is_over(&self) -> bool;
}

/// What is still to be had of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remaining {
    /// Every block of it.
    All,
    /// Not all: some blocks are on no disk any more.
    Part,
}

/// What a source works with.
pub struct Hands<'a> {
    /// The kernel's I/O and clock.
    pub kernel: &'a mut dyn Kernel,
    /// The buffers that commands transfer to and from.
    pub pool: &'a mut Pool,
    /// The device that is served.
    pub unit: &'a mut dyn LiveDevice,
}

/// So many bytes of memory from a place on, which grows where it is too short, and keeps what it holds.
fn room(held: &mut Option<Slice>, pool: &mut Pool, from: usize, bytes: usize) -> Slice {
    let held = match held.take() {
        Some(long) if long.bytes >= from + bytes => held.insert(long),
        short => held.insert(copy_of(short, pool, from + bytes)),
    };
    Slice { buffer: Rc::clone(&held.buffer), from, bytes }
}

/// Other memory of at least so many bytes, which holds what some did.
fn copy_of(held: Option<Slice>, pool: &mut Pool, bytes: usize) -> Slice {
    let buffer = pool.take(bytes.max(held.as_ref().map_or(0, |held| held.bytes)));
    if let Some(held) = held {
        buffer.copy(0, &held.buffer, held.from, held.bytes);
        pool.give(held.buffer);
    }
    Slice { bytes: buffer.bytes(), buffer, from: 0 }
}

/// What is left of a world when it has ended.
pub struct StoppedWorld<S> {
    /// The source that the requests came from.
    pub source: S,
    /// How late completions were noticed.
    pub lateness: Lateness,
    /// Records of its requests, where they are kept.
    pub ledger: Option<Box<Ledger>>,
    /// Where the arm's time went, if there is one.
    pub account: Option<drive::Account>,
    /// Requests that have not ended.
    pub outstanding: u32,
    /// The device, as the world left it.
    pub unit: Box<dyn LiveDevice>,
}

/// One device, one source, and what they stand on.
pub struct LiveWorld<S, K = Host> {
    kernel: K,
    pool: Pool,
    unit: Box<dyn LiveDevice>,
    /// The source of requests: clients, or a mix of workloads.
    pub source: S,
    /// Memory of the core's frames, as long as its longest command so far.
    frames: Vec<Option<Slice>>,
    /// The same for what is read in any order.
    scan: Option<Slice>,
    /// By disk: the first of its tags among all. By tag among all: when it was issued, while it is in flight; of reads, where they
    /// go; whether nobody waits for it any more, since its disk was given up.
    first: Vec<u32>,
    issued: Vec<Time>,
    reads: Vec<Option<(Place, Slice)>>,
    abandoned: Vec<bool>,
    /// By tag: whether it is to have something on the medium.
    flushes: Vec<bool>,
    /// By tag: for which request it is, and who pays; request and bill of the command issued next; by disk, when one was done last.
    payers: Vec<(Option<RequestId>, Option<Bill>)>,
    credit: Option<RequestId>,
    bill: Option<Bill>,
    done: Vec<Time>,
    /// When a command came back last, or a request was asked of an idle device.
    last: Time,
    /// A command that takes longer hangs.
    patience: DiskPatience,
    hangs: Option<DiskId>,
    /// Disks of an array that do not hold all that they should; by disk, whether it was given up for hanging.
    lacking: Vec<DiskId>,
    /// Disks that the core has given up just now.
    leaving: Vec<DiskId>,
    deaf: Vec<bool>,
    /// What the core is told next; what the array asks for itself.
    news: VecDeque<Input>,
    errands: Errands,
    logging: Logging,
    now: Time,
    outstanding: u32,
    /// How late completions were noticed.
    pub lateness: Lateness,
    /// Records of its requests, where they are kept.
    ledger: Option<Box<Ledger>>,
    /// Why it had to stop.
    failed: Option<io::Error>,
}

impl<S: RequestSource, K: Kernel> LiveWorld<S, K> {
    /// A world of this device and this source; a command that takes longer than `patience` hangs.
    #[must_use]
    pub fn new(kernel: K, mut unit: Box<dyn LiveDevice>, source: S, patience: Span) -> LiveWorld<S, K> {
        let members = unit.members();
        let mut depth = 0;
        let first = members.iter().map(|caps| {
            depth += usize::from(caps.depth);
            (depth - usize::from(caps.depth)) as u32
        });
        let first: Vec<u32> = first.collect();
        let filling = unit.filling();
        let logging = Logging::of(&mut *unit);
        let news = errands::first_news(unit.lacking(), &filling).collect();
        LiveWorld {
            kernel,
            pool: Pool::default(),
            unit,
            source,
            frames: Vec::new(),
            scan: None,
            first,
            issued: vec![Time::NEVER; depth],
            reads: vec![None; depth],
            abandoned: vec![false; depth],
            flushes: vec![false; depth],
            payers: vec![(None, None); depth],
            credit: None,
            bill: None,
            done: vec![Time::ZERO; members.len()],
            last: Time::ZERO,
            patience: DiskPatience::new(patience),
            hangs: None,
            lacking: filling.into_iter().map(|(disk, _)| disk).collect(),
            leaving: Vec::new(),
            deaf: vec![false; members.len()],
            news,
            errands: Errands::default(),
            logging,
            now: Time::ZERO,
            outstanding: 0,
            lateness: Lateness::default(),
            ledger: None,
            failed: None,
        }
    }

    /// Keeps a record of each request.
    #[must_use]
    pub fn recording(self, ledger: Option<Box<Ledger>>) -> Self {
        LiveWorld { ledger, ..self }
    }

    /// Lets the source begin.
    pub fn begin(&mut self, begin: impl FnOnce(&mut S, &mut Hands)) {
        let (source, mut hands) = self.split();
        begin(source, &mut hands);
    }

    /// Ends the run; an error, when the kernel did not go on.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn finish(mut self) -> io::Result<StoppedWorld<S>> {
        let account = self.unit.account(self.now);
        let LiveWorld { source, lateness, ledger, outstanding, unit, .. } = self;
        self.failed.map_or(Ok(StoppedWorld { source, lateness, ledger, account, outstanding, unit }), Err)
    }

    fn split(&mut self) -> (&mut S, Hands<'_>) {
        let LiveWorld { source, kernel, pool, unit, .. } = self;
        (source, Hands { kernel, pool, unit: &mut **unit })
    }

    /// The memory that a command moves its bytes in.
    fn memory(&mut self, place: Place, blocks: u32) -> Option<Slice> {
        let bytes = |blocks: u32| (u64::from(blocks) * BLOCK_BYTES) as usize;
        match place {
            Place::Nowhere => None,
            Place::Scan => Some(room(&mut self.scan, &mut self.pool, 0, bytes(blocks))),
            Place::Request(id, from) => self
                .replay_memory(id, bytes(from), bytes(blocks))
                .or_else(|| self.source.memory(id, bytes(from), bytes(blocks))),
            Place::Frame(frame, from) => {
                let frame = frame.0 as usize;
                if self.frames.len() <= frame {
                    self.frames.resize_with(frame + 1, || None);
                }
                Some(room(&mut self.frames[frame], &mut self.pool, bytes(from), bytes(blocks)))
            }
        }
    }

    /// The tags of a disk, among all.
    fn tags_of(&self, disk: usize) -> Range<usize> {
        self.first[disk] as usize..self.first.get(disk + 1).map_or(self.issued.len(), |next| *next as usize)
    }

    /// Whose a tag among all is, and which of its own.
    fn owner_of(&self, tag: Tag) -> (DiskId, Tag) {
        let disk = self.first.partition_point(|first| *first <= tag.0).saturating_sub(1);
        (DiskId(disk as u16), Tag(tag.0 - self.first[disk]))
    }

    fn issue(&mut self, now: Time, disk: DiskId, own: Tag, command: Command) {
        let tag = Tag(self.first[usize::from(disk.0)] + own.0);
        let credit = self.credit.take();
        let request = if let Place::Request(id, _) = command.place { Some(id) } else { credit };
        if let Place::Request(id, _) = command.place {
            self.source.on_start(now, id);
        }
        let bill = self.bill.take();
        if self.deaf[usize::from(disk.0)] {
            return self.news.push_back(Input::Done(disk, own, now, Outcome::Failed(EIO)));
        }
        if let Some(ledger) = &mut self.ledger {
            ledger.issue(now, disk, own, request);
        }
        let memory = match command.verb.transfers() {
            true => self
                .memory(command.place, command.at.blocks)
                .or_else(|| Some(self.pool.nobodys(command.at.bytes() as usize))),
            false => None,
        };
        self.issued[tag.0 as usize] = now;
        self.payers[tag.0 as usize] = (request, bill);
        self.flushes[tag.0 as usize] = matches!(command.verb, Verb::Flush | Verb::Write { fua: true });
        self.reads[tag.0 as usize] = match (command.place, &memory) {
            (place @ (Place::Request(..) | Place::Frame(..)), Some(memory)) if command.verb == Verb::Read => {
                Some((place, memory.clone()))
            }
            _ => None,
        };
        if let Err(error) = self.unit.issue(now, tag, &command, memory, &mut self.kernel) {
            self.failed.get_or_insert(error);
        }
        self.hear_refusals();
    }

    /// Disks on which nothing could be noted of the array are given up, where the others hold all that they do.
    fn hear_refusals(&mut self) {
        while let Some(disk) = self.unit.next_refusal() {
            match self.can_spare(disk) {
                true => self.news.push_back(Input::Disk(disk, Health::Failed)),
                false => self.source.flush_failed(),
            }
        }
    }

    /// What was read is where it was to go, though that is elsewhere by now: in an array memory grows while it is read into.
    fn place_read(&mut self, place: Place, read: Slice) {
        let now = match place {
            _ if self.first.len() == 1 => None,
            Place::Request(..) | Place::Frame(..) => self.memory(place, (read.bytes as u64 / BLOCK_BYTES) as u32),
            Place::Nowhere | Place::Scan => None,
        };
        let now = match now {
            Some(now) if !Rc::ptr_eq(&now.buffer, &read.buffer) => {
                now.buffer.copy(now.from, &read.buffer, read.from, read.bytes);
                now
            }
            _ => read,
        };
        if let Place::Request(id, _) = place {
            self.source.on_data(id, &now);
        }
    }

    fn copy(&mut self, from: Place, to: Place, blocks: u32) {
        if let (Some(from), Some(to)) = (self.memory(from, blocks), self.memory(to, blocks)) {
            to.buffer.copy(to.from, &from.buffer, from.from, to.bytes);
        }
    }

    fn sum(&mut self, from: Place, into: Place, blocks: u32, times: Factor) {
        if let (Some(from), Some(into)) = (self.memory(from, blocks), self.memory(into, blocks)) {
            into.buffer.add_multiple(into.from, &from.buffer, from.from, into.bytes, times);
        }
    }

    /// A command came back: what the core is told, unless nobody waits for it any more.
    fn came_back(&mut self, now: Time, done: Done) -> Option<(Time, Input)> {
        let (disk, own) = self.owner_of(done.tag);
        if std::mem::take(&mut self.abandoned[done.tag.0 as usize]) {
            return None;
        }
        if let Some(took) = done.took {
            let late = now.since(done.happened);
            self.lateness.add(took, late);
            self.source.note_lateness(late);
        }
        let issued = std::mem::replace(&mut self.issued[done.tag.0 as usize], Time::NEVER);
        self.source.command(issued, done.happened);
        // Of several in the device each counts from when the one before it was done.
        let since = self.done[usize::from(disk.0)];
        self.done[usize::from(disk.0)] = since.max(done.happened);
        let (request, bill) = std::mem::take(&mut self.payers[done.tag.0 as usize]);
        if let Some(bill) = bill {
            self.source.on_arm_time(request, &bill, (issued.max(since), done.happened));
        }
        if let Some(ledger) = &mut self.ledger {
            let parts = done.parts.map(|parts| requests::parts(parts.name_parts()));
            ledger.end_command(now, disk, own, parts.unwrap_or_default());
        }
        if let Some((place, memory)) = self.reads[done.tag.0 as usize].take()
            && done.outcome == Outcome::Ok
        {
            self.place_read(place, memory);
        }
        if self.flushes[done.tag.0 as usize] && done.outcome != Outcome::Ok {
            // What it has lost of earlier writes nobody knows, though it may take this one when it is tried again.
            match self.can_spare(disk) {
                true => self.news.push_back(Input::Disk(disk, Health::Failed)),
                false => self.source.flush_failed(),
            }
        }
        self.last = now;
        if self.hangs.take_if(|hung| *hung == disk).is_some() {
            self.source.recover();
        }
        Some((now, Input::Done(disk, own, done.happened, done.outcome)))
    }

    /// Whether all is to be had without this disk and those that the core gave up or will, once it hears of them.
    fn can_spare(&self, disk: DiskId) -> bool {
        let failing = self.news.iter().filter_map(|news| match news {
            Input::Disk(disk, Health::Failed) => Some(*disk),
            _ => None,
        });
        let others = self.lacking.iter().chain(&self.leaving).copied().chain(failing);
        let mut lacking: Vec<DiskId> = others.filter(|other| *other != disk).collect();
        lacking.push(disk);
        self.unit.is_whole_without(&lacking)
    }

    /// Which command hangs first, and from when on. What is due will come back.
    fn next_hang(&self) -> Option<(Time, DiskId)> {
        let disks = (0..self.first.len()).filter(|disk| self.hangs != Some(DiskId(*disk as u16)));
        let oldest = disks.filter_map(|disk| {
            let issued = self.issued[self.tags_of(disk)].iter().min().filter(|issued| **issued != Time::NEVER)?;
            Some((self.patience.ends(*issued), self.unit.keeper(DiskId(disk as u16))))
        });
        oldest.filter(|(from, disk)| *from > self.now || self.unit.due_of(*disk).is_none()).min()
    }

    /// Takes what the kernel completed; whether there was anything.
    fn hear(&mut self) -> bool {
        let mut any = false;
        while let Some((token, result)) = self.kernel.take() {
            any = true;
            let now = self.now;
            if let RingToken::Unit(tag) = token {
                if let Err(error) = self.unit.on_completion(now, Tag(tag), result, &mut self.kernel) {
                    self.failed.get_or_insert(error);
                }
                self.hear_refusals();
                self.hear_log(now);
            } else {
                let (source, mut hands) = self.split();
                source.on_completion(now, token, result, &mut hands);
            }
        }
        any
    }
}

impl<S: RequestSource, K: Kernel> World for LiveWorld<S, K> {
    fn next(&mut self, wake: Option<Time>, room: u32) -> Option<(Time, Input)> {
        loop {
            if self.failed.is_some() {
                return None;
            }
            self.now = self.now.max(self.kernel.now());
            let now = self.now;
            if let Some(input) = self.next_news() {
                return Some((now, input));
            }
            if let Some(done) = self.unit.next_completion(now) {
                match self.came_back(now, done) {
                    Some(input) => return Some(input),
                    None => continue,
                }
            }
            // It was due before what is asked now came, however much that is.
            if wake.is_some_and(|wake| wake <= now) {
                return Some((now, Input::Wake));
            }
            if let Some(input) = self.ask(now, room) {
                match self.admit(now, input) {
                    Some(input) => return Some((now, input)),
                    None => continue,
                }
            }
            if self.hear() {
                continue;
            }
            let is_done = self.outstanding == 0 && !self.settles();
            if (is_done || self.source.has_given_up()) && self.source.is_over() {
                return None;
            }
            let (source, mut hands) = self.split();
            if source.quiet(&mut hands) {
                continue;
            }
            let due = self.asks_at(room);
            self.patience.excuse(now);
            let log_hangs = self.log_hangs_at();
            if log_hangs.is_some_and(|at| at <= now) {
                self.abandon_log(now);
                continue;
            }
            let hangs = self.next_hang();
            if let Some((_, disk)) = hangs.filter(|(from, _)| *from <= now) {
                if self.can_spare(disk) {
                    self.abandon(now, disk);
                } else {
                    self.hangs = Some(disk);
                    self.source.hang(now);
                }
                continue;
            }
            let hangs = hangs.map(|(from, _)| from);
            // What is due will come back.
            let waits = self.outstanding > 0 && self.unit.due().is_none();
            let gives_up = self.source.gives_up_at(self.patience.begins(self.last)).filter(|_| waits);
            if gives_up.is_some_and(|at| at <= now) {
                self.source.give_up(now);
                continue;
            }
            let until = [self.unit.due(), wake, due, hangs, log_hangs, gives_up].iter().flatten().min().copied();
            if let Err(error) = self.kernel.sleep(until) {
                self.failed = Some(error);
            }
            self.patience.hear(self.kernel.now());
        }
    }

    fn act(&mut self, now: Time, action: Action) {
        if !self.leaving.is_empty() && !matches!(action, Action::GiveUp(_)) {
            self.give_up_leaving(now);
        }
        match action {
            Action::Begin(id) | Action::Wait(id, _) if !self.is_asked(id) => {}
            Action::Begin(id) => {
                self.source.on_start(now, id);
                self.ledger.iter_mut().for_each(|ledger| ledger.wait(now, id, Wait::Slack));
            }
            Action::Issue(disk, tag, command) => self.issue(now, disk, tag, command),
            Action::Copy { from, to, blocks } => self.copy(from, to, blocks),
            Action::Xor { from, into, blocks, times } => self.sum(from, into, blocks, times),
            Action::Compare { number, slot, one, other, blocks } => {
                let how = self.compare(one, other, blocks);
                self.news.push_back(Input::Compared(number, slot, how));
            }
            Action::Record { .. } | Action::Forget(_) => self.keep_record(&action),
            Action::Log(order) => self.log(now, order),
            Action::Mend(_, at, why) => self.unit.note_mend(at, why),
            Action::GiveUp(disk) => self.leaving.push(disk),
            Action::Complete(disk) => {
                self.lacking.retain(|lacking| *lacking != disk);
                self.unit.complete(disk);
            }
            Action::Grown(_, grown) => self.note_grown(now, grown),
            Action::Wait(id, wait) => self.ledger.iter_mut().for_each(|ledger| ledger.wait(now, id, wait)),
            Action::HandOn(at, found) => {
                let read = self.scan.as_ref().filter(|_| found != Found::Unreadable);
                let bytes = (u64::from(at.blocks) * BLOCK_BYTES) as usize;
                self.ledger.iter_mut().for_each(|ledger| ledger.hand_on(now, at, found));
                let read = read.map(|held| Slice { buffer: Rc::clone(&held.buffer), from: 0, bytes });
                self.source.on_found(now, at, found, read.as_ref());
            }
            Action::Credit(id) => self.credit = Some(id),
            Action::Bill(bill) => self.bill = Some(bill),
            Action::Finish(id, how) => self.end_request(now, id, how),
        }
    }
}

#[cfg(test)]
mod tests;
