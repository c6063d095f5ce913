//! The log of an array's write buffer: a device beside its disks, on which a write is before anybody is told that it is done.
//!
//! **Writes that come while others are put down go together.** One batch is under way at a time, and through to the medium; what comes
//! meanwhile is in the next. So what was acknowledged is there in order, without a gap.
//!
//! **It is a ring.** What is on the disks' media is needed no more; a batch says which is the oldest that is. Its room is free once a
//! later batch says so on the medium: until then what is there may be read again. One page is always left, for a batch that says only
//! which is the oldest.
//!
//! **What is read again is written again.** All writes of an array that has a log are in it. So from whichever write on they are written
//! again in order, what stands in a block at the end is what was written there last.

pub(crate) mod hostile;
mod pages;
#[cfg(test)]
mod tests;

use super::draw_name;
use crate::castagnoli::crc32c;
use crate::kernel::Kernel;
use crate::memory::Slice;
use crate::unit::{LiveDevice, Stored};
use block::{BLOCK_BYTES, Extent, Tag, Time};
use pages::{BatchHead, FoundWrites, LiveBatch, LogLabel, MOST_WRITES, PAGE_BYTES, pages_of, parts};
use sched::array::{LOG_PAGE, logged_blocks};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io;

/// Bytes of several writes that go together, at most.
const MOST_TOGETHER: u64 = 1 << 20;
/// Pages of a ring beside those that the buffer has: one is always left, and one may say what is needed while none is.
const BESIDE: u64 = 4;
/// What a device that is to become a log must not hold anything in, at its beginning and at its end.
const LOOKED_AT: u64 = (128 << 10) / BLOCK_BYTES;
/// What to do about a device that is something else.
const NAME_ANOTHER: &str =
    "name another; or, if what is on it is not needed, write zeros over its first and its last 128KiB";

/// The name of a log.
pub(crate) type LogName = [u8; 16];

/// Numbers by which the kernel knows the parts of a batch.
pub(crate) const LOG_NUMBERS: u32 = 2;

/// A batch that is under way.
struct FlyingBatch {
    batch: LiveBatch,
    oldest: u64,
    /// By part: how many bytes the kernel has still to write.
    left: [Option<i32>; LOG_NUMBERS as usize],
    begun: Time,
}

/// How a log fares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keeping {
    Kept,
    /// It took something not, which nobody was told yet; or was told.
    Failing,
    Failed,
    /// What is on it no disk takes; or it had failed before, and what was not on it is nowhere.
    Stuck,
    Lost,
}

/// The log of an array's write buffer.
pub struct WriteLog {
    unit: Box<dyn LiveDevice>,
    path: String,
    label: LogLabel,
    state: Keeping,
    /// The number of the next batch, and its page.
    next: (u64, u64),
    /// Batches whose room is not free, from the oldest on.
    batches: VecDeque<LiveBatch>,
    flying: Option<FlyingBatch>,
    /// Writes that are to be in the next batches, and what each writes, in whole pages.
    staged: VecDeque<(Extent, Vec<u8>)>,
    /// Below this all are on the log, and the first that is staged has this number; below that, on the disks.
    kept: u64,
    settled: u64,
    /// What is to be written again.
    replays: VecDeque<(Extent, Slice)>,
    /// The first number by which the kernel knows a part of a batch.
    known: u32,
}

/// Pages of the ring of a log for a buffer of so many blocks.
fn ring_pages(room: u64) -> u64 {
    room.div_ceil(LOG_PAGE.into()) + BESIDE
}

/// Blocks that a device needs to be the log of a buffer of so many.
pub(crate) fn log_blocks(room: u64) -> u64 {
    (1 + ring_pages(room)) * u64::from(LOG_PAGE)
}

/// The beginning of a device, and its end: where it says what it is.
fn ends(unit: &dyn LiveDevice) -> [Extent; 2] {
    let blocks = unit.bytes() / BLOCK_BYTES;
    let count = LOOKED_AT.min(blocks);
    [0, blocks - count].map(|from| Extent::new(from, count as u32))
}

/// Whether nothing is there.
fn is_empty(unit: &mut dyn LiveDevice) -> bool {
    ends(unit).into_iter().all(|at| {
        let memory = Slice::new(at.bytes() as usize);
        unit.peek(at, &memory) && memory.is_zeros()
    })
}

/// What is wrong with a log, and the mend.
pub(crate) type LogComplaint = (String, String);

/// A device that is to be a log, and what it is called.
pub(crate) struct OpenedLog {
    pub(crate) unit: Box<dyn LiveDevice>,
    pub(crate) path: String,
}

impl OpenedLog {
    /// Whether it can be the log of an array of this name, whose disks know this one, for a buffer of so many blocks; and what on it
    /// the disks do not have.
    ///
    /// # Errors
    /// Why it cannot, and the mend.
    fn judge(
        &mut self,
        (array, log): ([u8; 16], Option<LogName>),
        room: u64,
    ) -> Result<Option<(LogLabel, FoundWrites)>, LogComplaint> {
        let (unit, path) = (&mut *self.unit, &self.path);
        let label = pages::read_label(unit);
        if let Some(other) = label.filter(|label| label.array != array) {
            let name: String = other.array.iter().map(|byte| format!("{byte:02x}")).collect();
            return Err((format!("{path} is the log of another array, {name}"), NAME_ANOTHER.into()));
        }
        let (has, needs, show) = (unit.bytes() / BLOCK_BYTES, log_blocks(room), block::units::show_blocks);
        let Some(wanted) = log else {
            if has < needs {
                let mend = format!("give it {}, or `buffer` less", show(needs));
                return Err((format!("{path} is too small for the log of such a buffer: it has {}", show(has)), mend));
            }
            if label.is_none() && !is_empty(unit) {
                return Err((format!("{path} holds something, and is no log"), NAME_ANOTHER.into()));
            }
            return Ok(None);
        };
        let Some(label) = label.filter(|label| label.log == wanted) else {
            let mend = "name that one: what was written last may be there alone";
            return Err((format!("{path} is not the log that the array was last served with"), mend.into()));
        };
        if label.pages != ring_pages(room) {
            let mend = "give `buffer` as it was, and change it when the service has ended well";
            return Err((format!("{path} is the log of a `buffer` of another size, and is still needed"), mend.into()));
        }
        let found = if has < needs { Err("it is cut off".into()) } else { pages::find(unit, &label) };
        let damaged = |what: String| {
            let mend = "see to the device; `without_log = true` goes on without what was written last";
            (format!("{path} is not as it was written: {what}"), mend.into())
        };
        Ok(Some((label, found.map_err(damaged)?)))
    }

    /// Whether it could be the log.
    ///
    /// # Errors
    /// Why it cannot, and the mend.
    pub(crate) fn check(mut self, names: ([u8; 16], Option<LogName>), room: u64) -> Result<(), LogComplaint> {
        self.judge(names, room).map(|_| ())
    }

    /// The log, and what of it is to be written again.
    ///
    /// # Errors
    /// Why it cannot be, and the mend.
    pub(crate) fn open(mut self, names: ([u8; 16], Option<LogName>), room: u64) -> Result<WriteLog, LogComplaint> {
        if let Some((label, found)) = self.judge(names, room)? {
            return Ok(WriteLog::new(self, label, found));
        }
        let made = WriteLog::make(&mut *self.unit, names.0, ring_pages(room));
        let failed = |error| (format!("{} cannot be written: {error}", self.path), "see to the device".into());
        let label = made.map_err(failed)?;
        Ok(WriteLog::new(self, label, FoundWrites { next: (1, 1), ..FoundWrites::default() }))
    }

    /// Of an array that is not needed any more, it is none from now on.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn clear(&mut self, former: [u8; 16]) -> io::Result<()> {
        if pages::read_label(&mut *self.unit).is_none_or(|label| label.array != former) {
            return Ok(());
        }
        ends(&*self.unit).into_iter().try_for_each(|at| self.unit.store(at, &Slice::new(at.bytes() as usize)))
    }
}

impl WriteLog {
    /// Makes a log in which nothing is. One that is cut off in this is a log that no disk knows, and is made again.
    fn make(unit: &mut dyn LiveDevice, array: [u8; 16], pages: u64) -> io::Result<LogLabel> {
        let label = LogLabel { array, log: draw_name()?, pages };
        unit.store(Extent::new(0, LOG_PAGE), &Slice::holding(&label.to_bytes()))?;
        let (sum, writes) = (crc32c(&[]), Vec::new());
        let head = BatchHead { log: label.log, sequence: 0, page: 0, oldest: (0, 0), writes, sum };
        for at in parts(pages, 0, 1) {
            unit.store(at, &Slice::holding(&head.to_bytes()))?;
        }
        Ok(label)
    }

    fn new(OpenedLog { unit, path }: OpenedLog, label: LogLabel, found: FoundWrites) -> WriteLog {
        // A log that was just made has a batch without writes.
        let none = LiveBatch { sequence: 0, page: 0, pages: 1, last: 0 };
        let batches = if found.batches.is_empty() { [none].into() } else { found.batches };
        WriteLog {
            unit,
            path,
            label,
            state: Keeping::Kept,
            next: found.next,
            batches,
            flying: None,
            staged: VecDeque::new(),
            kept: 1 + found.writes.len() as u64,
            settled: 1,
            replays: found.writes,
            known: 0,
        }
    }

    pub(crate) fn name(&self) -> LogName {
        self.label.log
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// The kernel knows the parts of its batches by numbers from this on.
    pub(crate) fn set_known(&mut self, known: u32) {
        self.known = known;
    }

    /// What is to be written again next, before anybody else writes.
    pub(crate) fn next_replay(&mut self) -> Option<(Extent, Slice)> {
        self.replays.pop_front()
    }

    /// Whether something is to be written again.
    pub(crate) fn replays(&self) -> bool {
        !self.replays.is_empty()
    }

    /// Below this number all writes are on the log; of one that was given up, all are on the disks. What is on the disks alone, and not on a
    /// log that is still needed, may be undone by what is there of before: nobody is told of it.
    pub(crate) fn first_unkept(&self) -> u64 {
        self.kept
    }

    /// The disks know that it is not needed any more.
    pub(crate) fn give_up(&mut self) {
        (self.state, self.kept) = (Keeping::Failed, u64::MAX);
    }

    fn takes(&self) -> bool {
        matches!(self.state, Keeping::Kept | Keeping::Stuck)
    }

    /// A write is to be on the log: the next in order.
    pub(crate) fn keep(&mut self, at: Extent, bytes: &Slice) {
        if !self.takes() {
            return;
        }
        let mut pages = bytes.to_vec();
        pages.resize(pages.len().next_multiple_of(PAGE_BYTES), 0);
        self.staged.push_back((at, pages));
    }

    /// Below this number all writes are on the disks.
    pub(crate) fn settle(&mut self, below: u64) {
        self.settled = self.settled.max(below);
    }

    /// Batches of which something is needed, from the oldest on.
    fn list_needed(&self) -> impl Iterator<Item = &LiveBatch> {
        self.batches.iter().filter(|batch| batch.last >= self.settled)
    }

    fn used_pages(&self) -> u64 {
        self.batches.iter().map(|batch| batch.pages).sum()
    }

    /// How many of the staged writes go together.
    fn choose(&self) -> usize {
        let room = self.label.pages.saturating_sub(self.used_pages() + 1);
        let (mut count, mut pages) = (0, 1);
        for (at, _) in self.staged.iter().take(MOST_WRITES) {
            let more = pages + pages_of(*at);
            if more > room || count > 0 && more * PAGE_BYTES as u64 > MOST_TOGETHER {
                break;
            }
            (count, pages) = (count + 1, more);
        }
        count
    }

    /// Begins to put down what is staged, if nothing is under way.
    pub(crate) fn go_on(&mut self, now: Time, kernel: &mut dyn Kernel) {
        while self.takes() && self.flying.is_none() && !self.staged.is_empty() {
            let count = self.choose();
            // What says that room is free may be all there is room for.
            let frees = self.list_needed().next().is_none_or(|oldest| oldest.sequence > self.batches[0].sequence);
            if count == 0 && !frees {
                return;
            }
            self.begin(now, count, kernel);
        }
    }

    fn begin(&mut self, now: Time, count: usize, kernel: &mut dyn Kernel) {
        let (mut writes, mut bytes) = (Vec::with_capacity(count), vec![0; PAGE_BYTES]);
        for (at, data) in self.staged.drain(..count) {
            writes.push(at);
            bytes.extend(data);
        }
        let (sequence, page) = self.next;
        let oldest = self.list_needed().next().map_or(self.next, |oldest| (oldest.sequence, oldest.page));
        let sum = crc32c(&bytes[PAGE_BYTES..]);
        let head = BatchHead { log: self.label.log, sequence, page, oldest, writes, sum };
        bytes[..PAGE_BYTES].copy_from_slice(&head.to_bytes());
        let pages = (bytes.len() / PAGE_BYTES) as u64;
        let batch = LiveBatch { sequence, page, pages, last: self.kept + count as u64 - 1 };
        let mut flying = FlyingBatch { batch, oldest: oldest.0, left: [None; LOG_NUMBERS as usize], begun: now };
        let whole = Slice::holding(&bytes);
        let (mut from, ring) = (0, self.label.pages);
        for (number, at) in (0..).zip(parts(ring, page, pages)) {
            let part = Slice { bytes: at.bytes() as usize, ..whole.after(from) };
            match self.unit.begin_store(at, &part, self.known + number, kernel) {
                Ok(Stored::Done) => {}
                Ok(Stored::Begun) => flying.left[number as usize] = Some(part.bytes as i32),
                Err(_) => return self.fail(),
            }
            from += part.bytes;
        }
        self.flying = Some(flying);
        self.end_batch();
    }

    /// Once a batch is on the medium, what it frees is free.
    fn end_batch(&mut self) {
        let is_there = |flying: &mut FlyingBatch| flying.left.iter().all(Option::is_none);
        let Some(FlyingBatch { batch, oldest, .. }) = self.flying.take_if(is_there) else { return };
        self.batches.push_back(batch);
        self.batches.retain(|batch| batch.sequence >= oldest);
        self.kept = batch.last + 1;
        self.next = (batch.sequence + 1, (batch.page + batch.pages) % self.label.pages);
    }

    /// Whether the kernel knows a part of a batch by this number.
    pub(crate) fn is_known(&self, number: Tag) -> bool {
        (self.known..self.known + LOG_NUMBERS).contains(&number.0)
    }

    /// The kernel has written a part of a batch, or has not.
    pub(crate) fn on_completion(&mut self, now: Time, number: Tag, result: i32, kernel: &mut dyn Kernel) {
        let Some(flying) = &mut self.flying else { return };
        let Some(wanted) = flying.left[(number.0 - self.known) as usize].take() else { return };
        if result != wanted {
            return self.fail();
        }
        self.end_batch();
        self.go_on(now, kernel);
    }

    /// It is of no use any more.
    pub(crate) fn fail(&mut self) {
        self.state = match self.state {
            Keeping::Kept => Keeping::Failing,
            Keeping::Stuck => Keeping::Lost,
            other => other,
        };
        self.flying = None;
        self.staged.clear();
    }

    /// Whether it has failed, and nobody was told yet. What is to be written again is so first.
    pub(crate) fn take_failure(&mut self) -> bool {
        let fails = self.state == Keeping::Failing && self.replays.is_empty();
        if fails {
            self.state = Keeping::Failed;
        }
        fails
    }

    /// What is on it no disk takes: it is needed.
    pub(crate) fn set_stuck(&mut self) {
        self.state = if self.state == Keeping::Kept { Keeping::Stuck } else { Keeping::Lost };
    }

    /// Whether what is not kept yet is lost: no disk takes what was before it.
    pub(crate) fn is_lost(&self) -> bool {
        self.state == Keeping::Lost
    }

    /// Since when a batch is under way.
    pub(crate) fn busy_since(&self) -> Option<Time> {
        self.flying.as_ref().map(|flying| flying.begun)
    }

    /// Whether nothing is on it that is not on the disks, nor will be; or nobody could have it there.
    pub(crate) fn is_settled(&self) -> bool {
        let is_idle = self.replays.is_empty() && self.staged.is_empty() && self.flying.is_none();
        is_idle && self.list_needed().next().is_none()
    }

    /// Whether waiting for the disks is of no use.
    pub(crate) fn is_stuck(&self) -> bool {
        matches!(self.state, Keeping::Stuck | Keeping::Lost)
    }

    /// Bytes that are needed, and that there are.
    fn fill(&self) -> (u64, u64) {
        let needed = self.list_needed().map(|batch| batch.pages);
        let flying = self.flying.as_ref().map_or(0, |flying| flying.batch.pages);
        let staged: u64 = self.staged.iter().map(|(at, _)| logged_blocks(at.blocks) / u64::from(LOG_PAGE)).sum();
        let page = PAGE_BYTES as u64;
        ((needed.sum::<u64>() + flying + staged) * page, self.label.pages * page)
    }

    /// How it fares, in a word or two.
    fn describe(&self) -> &'static str {
        match self.state {
            Keeping::Kept if self.replays() => "being written again",
            Keeping::Kept => "kept",
            Keeping::Failing | Keeping::Failed => "given up",
            Keeping::Stuck | Keeping::Lost => "stuck",
        }
    }

    /// What it is, as JSON for programs.
    pub(crate) fn json(&self) -> Value {
        let (used, bytes) = self.fill();
        json!({ "path": self.path, "state": self.describe(), "used_bytes": used, "bytes": bytes })
    }

    /// The same as a line for users.
    pub(crate) fn text(&self) -> String {
        let (used, bytes) = self.fill();
        let show = |bytes: u64| block::units::show_blocks(bytes / BLOCK_BYTES);
        format!("log {}  {}: {} of {} are needed\n", self.path, self.describe(), show(used), show(bytes))
    }
}
