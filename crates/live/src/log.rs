//! The log of a run: what happened to the core, and what it decided.
//!
//! Fed with the same inputs, the same core takes the same decisions; so a log is a run that can be had again, on any
//! machine. Numbers are varints, seven bits a byte, the lowest first. The file begins with [`MAGIC`]; then the service
//! file's name, its text and the values set over it, each after its length, and what the device can do. A record is
//! a byte for its kind and its numbers: an input, with the time since the one before, or an action that followed it.
//!
//! **What happened is the run.** The inputs of a core, in order, are all that it decides by; so a log of them is the
//! run, and what it decided then stands beside, to be compared (`live::log`). A wake or a completion is an input like
//! any other, with the time at which the engine saw it; nothing in the core asks a clock.

use block::{
    At, BadInput, Caps, Change, Command, Discarded, DiskId, Ending, Extent, FrameId, Lbn, Mark, Op, Outcome, Place,
    Qos, Request, RequestId, SeekBy, Span, Tag, Time, Verb,
};
use sched::array::field::Factor;
use sched::{Action, Claim, Health, Input, Likeness, LogNews, LogOrder};
use std::path::Path;

/// What a log begins with.
pub const MAGIC: &[u8; 8] = b"HTLOG 1\n";
/// What is added to the depth of a device whose arm is moved by reads.
const SEEKS_BY_READS: u64 = 1 << 16;
/// And for each arm beyond the first.
const FURTHER_ARM: u64 = 2 * SEEKS_BY_READS;

/// What a core was made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogHead {
    /// The service file; files it names are relative to its folder.
    pub name: String,
    /// The experiment file's text.
    pub text: String,
    /// What was set over it, each `key=value`.
    pub sets: Vec<String>,
    /// What the device can do, or each of those of an array.
    pub caps: Vec<Caps>,
}

/// A record of a log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LogRecord {
    /// An input of the core, with its time.
    Input(Time, Input),
    /// The core decided something.
    Action(Action),
}

/// Writes the records of a log.
#[derive(Clone, Debug, Default)]
pub struct LogWriter {
    bytes: Vec<u8>,
    last: Time,
}

/// The byte that tells one kind of record from another.
mod kind {
    pub const DONE: u8 = 1;
    pub const CANCEL: u8 = 2;
    pub const QOS: u8 = 3;
    pub const SUBMIT: u8 = 4;
    pub const DISK: u8 = 5;
    pub const WAKE: u8 = 6;
    pub const CLAIM: u8 = 7;
    pub const COMPARED: u8 = 8;
    pub const LOG_NEWS: u8 = 9;
    pub const BEGIN: u8 = 17;
    pub const ISSUE: u8 = 18;
    pub const COPY: u8 = 19;
    pub const XOR: u8 = 20;
    pub const FINISH: u8 = 21;
    pub const GIVE_UP: u8 = 22;
    pub const COMPLETE: u8 = 23;
    pub const COMPARE: u8 = 24;
    pub const RECORD: u8 = 25;
    pub const FORGET: u8 = 26;
    pub const LOG: u8 = 27;
    pub const END: u8 = 32;
}

impl LogWriter {
    /// Begins a log with its head.
    #[must_use]
    pub fn new(head: &LogHead) -> LogWriter {
        let mut writer = LogWriter { bytes: MAGIC.to_vec(), last: Time::ZERO };
        writer.text(&head.name);
        writer.text(&head.text);
        writer.put(head.sets.len() as u64);
        head.sets.iter().for_each(|set| writer.text(set));
        let more = head.caps.len().saturating_sub(1) as u64;
        for (i, Caps { blocks, depth, seek, arms }) in head.caps.iter().enumerate() {
            // The first tells how many more there are: beside one device, none.
            let last = u64::from(*seek == SeekBy::Command) + if i == 0 { 2 * more } else { 0 };
            let reads = if *seek == SeekBy::Read { SEEKS_BY_READS } else { 0 };
            let depth = u64::from(*depth) + reads + FURTHER_ARM * u64::from(arms.saturating_sub(1));
            [*blocks, depth, last].into_iter().for_each(|number| writer.put(number));
        }
        writer
    }

    /// What was written since this was last asked.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// Bytes that were written since `take`.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    fn put_all(&mut self, numbers: &[u64]) {
        numbers.iter().for_each(|number| self.put(*number));
    }

    fn put(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    fn text(&mut self, text: &str) {
        self.put(text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// The run is over: a log without this was cut off.
    pub fn end(&mut self) {
        self.bytes.push(kind::END);
    }

    /// What happened to the core, `now`.
    pub fn input(&mut self, now: Time, input: &Input) {
        let kind = match input {
            Input::Done(..) => kind::DONE,
            Input::Amend(_, Change::Cancel) => kind::CANCEL,
            Input::Amend(_, Change::Qos(_)) => kind::QOS,
            Input::Submit(_) => kind::SUBMIT,
            Input::Disk(..) => kind::DISK,
            Input::Wake => kind::WAKE,
            Input::Claim(..) => kind::CLAIM,
            Input::Compared(..) => kind::COMPARED,
            Input::Log(_) => kind::LOG_NEWS,
        };
        self.bytes.push(kind);
        self.put(now.since(self.last).0);
        self.last = now;
        match *input {
            Input::Done(disk, tag, happened, outcome) => {
                let failed = if let Outcome::Failed(errno) = outcome { u64::from(errno.unsigned_abs()) + 1 } else { 0 };
                self.put_all(&[disk.0.into(), tag.0.into(), now.since(happened).0, failed]);
            }
            Input::Amend(id, change) => {
                self.put(id.0.into());
                if let Change::Qos(qos) = change {
                    self.qos(qos);
                }
            }
            Input::Submit(Request { id, op, at, qos }) => {
                self.put(id.0.into());
                self.put(match op {
                    Op::Read => 0,
                    Op::Write { fua: false } => 1,
                    Op::Write { fua: true } => 2,
                    Op::Flush => 3,
                    Op::Repair => 4,
                    Op::Discard(what) => 5 + what as u64,
                    Op::Move => 8,
                });
                self.extent(at);
                self.qos(qos);
            }
            Input::Disk(disk, health) => match health {
                Health::Failed => self.put_all(&[disk.0.into(), 0]),
                Health::Replaced => self.put_all(&[disk.0.into(), 1]),
                Health::Filled(until) => self.put_all(&[disk.0.into(), 2, until]),
                Health::Holds(at) => self.put_all(&[disk.0.into(), 3, at.start.0, at.blocks.into()]),
                Health::Known => self.put_all(&[disk.0.into(), 4]),
                Health::Joins => self.put_all(&[disk.0.into(), 5]),
                Health::Told => self.put_all(&[disk.0.into(), 6]),
                Health::JoinsForParity => self.put_all(&[disk.0.into(), 7]),
                Health::LeavesWithParity => self.put_all(&[disk.0.into(), 8]),
                Health::TradesCopies => self.put_all(&[disk.0.into(), 9]),
            },
            Input::Wake => {}
            Input::Log(news) => self.put(news as u64),
            Input::Compared(number, slot, how) => self.put_all(&[number.into(), slot.into(), how as u64]),
            Input::Claim(class, Claim { share, floor, limit, window }) => {
                self.put_all(&[class.into(), share.to_bits(), floor.to_bits(), limit.to_bits(), window.0]);
            }
        }
    }

    /// Whether an action is written down: one that only describes another is not.
    #[must_use]
    pub fn keeps(action: &Action) -> bool {
        use Action::{Bill, Credit, Grown, HandOn, Mend, Wait};
        !matches!(action, Wait(..) | Credit(_) | HandOn(..) | Bill(_) | Mend(..) | Grown(..))
    }

    /// What the core decided.
    pub fn action(&mut self, action: &Action) {
        match *action {
            Action::Begin(id) => {
                self.bytes.push(kind::BEGIN);
                self.put(id.0.into());
            }
            Action::Issue(disk, tag, Command { verb, at, place, mark }) => {
                self.bytes.push(kind::ISSUE);
                let verb = match verb {
                    Verb::Read => 0,
                    Verb::Write { fua: false } => 1,
                    Verb::Write { fua: true } => 2,
                    Verb::Seek => 3,
                    Verb::Flush => 4,
                    Verb::Discard(what) => 5 + what as u64,
                };
                self.put_all(&[disk.0.into(), tag.0.into(), verb + 8 * u64::from(mark.code())]);
                self.extent(at);
                self.place(place);
            }
            Action::Copy { from, to, blocks } => self.blocks(kind::COPY, from, to, blocks),
            Action::Xor { from, into, blocks, times } => {
                self.blocks(kind::XOR, from, into, blocks);
                self.put(times.0.into());
            }
            Action::GiveUp(disk) | Action::Complete(disk) => {
                let gives_up = matches!(action, Action::GiveUp(_));
                self.bytes.push(if gives_up { kind::GIVE_UP } else { kind::COMPLETE });
                self.put(disk.0.into());
            }
            Action::Compare { number, slot, one, other, blocks } => {
                self.blocks(kind::COMPARE, one, other, blocks);
                self.put_all(&[number.into(), slot.into()]);
            }
            Action::Record { place, start, blocks, slot, written, kept } => {
                self.bytes.push(kind::RECORD);
                self.place(place);
                self.put_all(&[start, blocks.into(), slot.into(), written, kept]);
            }
            Action::Forget(slot) => {
                self.bytes.push(kind::FORGET);
                self.put(slot.into());
            }
            Action::Log(order) => {
                self.bytes.push(kind::LOG);
                self.log_order(order);
            }
            // Not one that `keeps` keeps.
            Action::Mend(..) | Action::Grown(..) => {}
            Action::Wait(..) | Action::Credit(_) | Action::HandOn(..) | Action::Bill(_) => {}
            Action::Finish(id, how) => {
                self.bytes.push(kind::FINISH);
                self.put(id.0.into());
                self.put(match how {
                    Ending::Finished => 0,
                    Ending::Dropped => 1,
                    Ending::Failed(errno) => u64::from(errno.unsigned_abs()) + 2,
                });
            }
        }
    }

    fn log_order(&mut self, order: LogOrder) {
        match order {
            LogOrder::Write { number, request, at, place } => {
                self.put_all(&[0, number, request.0.into()]);
                self.extent(at);
                self.place(place);
            }
            LogOrder::Settled(number) => self.put_all(&[1, number]),
            LogOrder::Drained => self.put(2),
            LogOrder::Stuck => self.put(3),
        }
    }

    fn blocks(&mut self, kind: u8, from: Place, to: Place, blocks: u32) {
        self.bytes.push(kind);
        self.place(from);
        self.place(to);
        self.put(blocks.into());
    }

    fn extent(&mut self, at: Extent) {
        self.put_all(&[at.start.0, at.blocks.into()]);
    }

    fn qos(&mut self, qos: Qos) {
        self.put_all(&[qos.class.into(), qos.priority.into()]);
        // Of no deadline, nothing; the time after it of another.
        self.put(qos.deadline.map_or(0, |deadline| deadline.0.saturating_add(1)));
    }

    fn place(&mut self, place: Place) {
        match place {
            Place::Nowhere => self.put(0),
            Place::Request(id, from) => self.put_all(&[1, id.0.into(), from.into()]),
            Place::Frame(frame, from) => self.put_all(&[2, frame.0.into(), from.into()]),
            Place::Scan => self.put(3),
        }
    }
}

/// Reads the records of a log.
pub struct LogReader<'a> {
    file: String,
    bytes: &'a [u8],
    at: usize,
    records: u64,
    last: Time,
    whole: bool,
}

/// A log that ends, or a record that is none.
struct Cut;

/// What a number of a log says of discarded blocks.
fn read_discarded(number: u64) -> Result<Discarded, Cut> {
    let all = [Discarded::Anything, Discarded::Zeros, Discarded::KeptZeros];
    all.into_iter().find(|what| *what as u64 == number).ok_or(Cut)
}

impl<'a> LogReader<'a> {
    /// Reads the head of what stands in a file.
    ///
    /// # Errors
    /// When that is no log.
    pub fn new(file: &Path, bytes: &'a [u8]) -> Result<(LogHead, LogReader<'a>), BadInput> {
        let file = file.display().to_string();
        let mut reader = LogReader { file, bytes, at: MAGIC.len(), records: 0, last: Time::ZERO, whole: false };
        if !bytes.starts_with(MAGIC) {
            let mend = "give a file that `halfturn serve --record` wrote";
            return Err(BadInput::new(reader.file, At::File, "this is no log of a run", mend));
        }
        match reader.head() {
            Ok(head) => Ok((head, reader)),
            Err(Cut) => Err(reader.bad("its head is cut off or damaged")),
        }
    }

    fn head(&mut self) -> Result<LogHead, Cut> {
        let (name, text) = (self.text()?, self.text()?);
        let count = self.get()?;
        let sets = (0..count).map(|_| self.text()).collect::<Result<_, _>>()?;
        let (mut caps, mut more) = (Vec::new(), 0);
        while caps.len() as u64 <= more {
            let (blocks, depth, last) = (self.get()?, self.get()?, self.get()?);
            more += last / 2;
            let Ok(arms) = u16::try_from(depth / FURTHER_ARM + 1) else { return Err(Cut) };
            let (reads, depth) = (depth % FURTHER_ARM / SEEKS_BY_READS, (depth % SEEKS_BY_READS) as u16);
            let seek = match (last % 2, reads) {
                (0, 0) => SeekBy::Nothing,
                (1, 0) => SeekBy::Command,
                (0, 1) => SeekBy::Read,
                _ => return Err(Cut),
            };
            caps.push(Caps { blocks, depth, seek, arms });
        }
        Ok(LogHead { name, text, sets, caps })
    }

    /// The next record; nothing at the end, or where the last record was cut off.
    ///
    /// # Errors
    /// When what is there is none.
    pub fn read(&mut self) -> Result<Option<LogRecord>, BadInput> {
        let from = self.at;
        let Some(kind) = self.bytes.get(self.at).copied() else { return Ok(None) };
        self.at += 1;
        if kind == kind::END {
            self.whole = self.at == self.bytes.len();
            self.bytes = &self.bytes[..self.at];
            return if self.whole { Ok(None) } else { Err(self.bad("records follow the end of the run")) };
        }
        self.records += 1;
        match self.record(kind) {
            Ok(record) => Ok(Some(record)),
            Err(Cut) if self.at >= self.bytes.len() => {
                self.at = from;
                self.bytes = &self.bytes[..from];
                Ok(None)
            }
            Err(Cut) => Err(self.bad("this is no record")),
        }
    }

    /// Whether the end of the run was read. Without it, the log was cut off, or the run was.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    fn bad(&self, what: &str) -> BadInput {
        BadInput::new(
            self.file.clone(),
            At::Record(self.records),
            what,
            "record the run anew; what comes before is good",
        )
    }

    fn record(&mut self, kind: u8) -> Result<LogRecord, Cut> {
        if kind >= kind::BEGIN {
            return self.read_action(kind).map(LogRecord::Action);
        }
        let now = Time(self.last.0.checked_add(self.get()?).ok_or(Cut)?);
        let input = match kind {
            kind::DONE => {
                let (disk, tag) = (DiskId(self.small()?), Tag(self.small()?));
                let happened = Time(now.0.checked_sub(self.get()?).ok_or(Cut)?);
                let outcome = match self.get()? {
                    0 => Outcome::Ok,
                    errno => Outcome::Failed(i32::try_from(errno - 1).map_err(|_| Cut)?),
                };
                Input::Done(disk, tag, happened, outcome)
            }
            kind::CANCEL => Input::Amend(RequestId(self.small()?), Change::Cancel),
            kind::QOS => Input::Amend(RequestId(self.small()?), Change::Qos(self.qos()?)),
            kind::SUBMIT => {
                let id = RequestId(self.small()?);
                let op = match self.get()? {
                    0 => Op::Read,
                    1 => Op::Write { fua: false },
                    2 => Op::Write { fua: true },
                    3 => Op::Flush,
                    4 => Op::Repair,
                    8 => Op::Move,
                    what => Op::Discard(read_discarded(what - 5)?),
                };
                Input::Submit(Request { id, op, at: self.extent()?, qos: self.qos()? })
            }
            kind::DISK => {
                let disk = DiskId(self.small()?);
                let health = match self.get()? {
                    0 => Health::Failed,
                    1 => Health::Replaced,
                    2 => Health::Filled(self.get()?),
                    3 => Health::Holds(Extent::new(self.get()?, self.small()?)),
                    4 => Health::Known,
                    5 => Health::Joins,
                    6 => Health::Told,
                    7 => Health::JoinsForParity,
                    8 => Health::LeavesWithParity,
                    9 => Health::TradesCopies,
                    _ => return Err(Cut),
                };
                Input::Disk(disk, health)
            }
            kind::WAKE => Input::Wake,
            kind::COMPARED => {
                let (number, slot) = (self.small()?, self.small()?);
                Input::Compared(number, slot, if self.get()? == 0 { Likeness::Alike } else { Likeness::Unlike })
            }
            kind::LOG_NEWS => Input::Log(if self.get()? == 0 { LogNews::Failed } else { LogNews::GivenUp }),
            kind::CLAIM => {
                let class = self.get()?.try_into().map_err(|_| Cut)?;
                let [share, floor, limit] = [self.get()?, self.get()?, self.get()?].map(f64::from_bits);
                let claim = Claim { share, floor, limit, window: Span(self.get()?) };
                load::experiment::check_claim(&claim).map_err(|_| Cut)?;
                Input::Claim(class, claim)
            }
            _ => return Err(Cut),
        };
        self.last = now;
        Ok(LogRecord::Input(now, input))
    }

    fn read_action(&mut self, kind: u8) -> Result<Action, Cut> {
        Ok(match kind {
            kind::BEGIN => Action::Begin(RequestId(self.small()?)),
            kind::ISSUE => {
                let (disk, tag) = (DiskId(self.small()?), Tag(self.small()?));
                let asked = self.get()?;
                let verb = match asked % 8 {
                    0 => Verb::Read,
                    1 => Verb::Write { fua: false },
                    2 => Verb::Write { fua: true },
                    3 => Verb::Seek,
                    4 => Verb::Flush,
                    what => Verb::Discard(read_discarded(what - 5)?),
                };
                let mark = u8::try_from(asked / 8).ok().and_then(Mark::from_code).ok_or(Cut)?;
                Action::Issue(disk, tag, Command { verb, at: self.extent()?, place: self.place()?, mark })
            }
            kind::COPY => Action::Copy { from: self.place()?, to: self.place()?, blocks: self.small()? },
            kind::XOR => {
                let (from, into, blocks) = (self.place()?, self.place()?, self.small()?);
                Action::Xor { from, into, blocks, times: Factor(self.small()?) }
            }
            kind::COMPARE => {
                let (one, other, blocks) = (self.place()?, self.place()?, self.small()?);
                Action::Compare { number: self.small()?, slot: self.small()?, one, other, blocks }
            }
            kind::RECORD => Action::Record {
                place: self.place()?,
                start: self.get()?,
                blocks: self.small()?,
                slot: self.small()?,
                written: self.get()?,
                kept: self.get()?,
            },
            kind::FORGET => Action::Forget(self.small()?),
            kind::LOG => Action::Log(self.log_order()?),
            kind::GIVE_UP => Action::GiveUp(DiskId(self.small()?)),
            kind::COMPLETE => Action::Complete(DiskId(self.small()?)),
            kind::FINISH => {
                let id = RequestId(self.small()?);
                let how = match self.get()? {
                    0 => Ending::Finished,
                    1 => Ending::Dropped,
                    errno => Ending::Failed(i32::try_from(errno - 2).map_err(|_| Cut)?),
                };
                Action::Finish(id, how)
            }
            _ => return Err(Cut),
        })
    }

    fn log_order(&mut self) -> Result<LogOrder, Cut> {
        Ok(match self.get()? {
            0 => {
                let (number, request) = (self.get()?, RequestId(self.small()?));
                LogOrder::Write { number, request, at: self.extent()?, place: self.place()? }
            }
            1 => LogOrder::Settled(self.get()?),
            2 => LogOrder::Drained,
            3 => LogOrder::Stuck,
            _ => return Err(Cut),
        })
    }

    fn get(&mut self) -> Result<u64, Cut> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = *self.bytes.get(self.at).ok_or(Cut)?;
            self.at += 1;
            number |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Cut)
    }

    fn small<T: TryFrom<u64>>(&mut self) -> Result<T, Cut> {
        T::try_from(self.get()?).map_err(|_| Cut)
    }

    fn text(&mut self) -> Result<String, Cut> {
        let length: usize = self.small()?;
        let bytes = self.bytes.get(self.at..).and_then(|rest| rest.get(..length)).ok_or(Cut)?;
        self.at += length;
        String::from_utf8(bytes.to_vec()).map_err(|_| Cut)
    }

    fn extent(&mut self) -> Result<Extent, Cut> {
        Ok(Extent { start: Lbn(self.get()?), blocks: self.small()? })
    }

    fn qos(&mut self) -> Result<Qos, Cut> {
        let (class, priority) = (self.small()?, self.small()?);
        Ok(Qos { class, priority, deadline: self.get()?.checked_sub(1).map(Time) })
    }

    fn place(&mut self) -> Result<Place, Cut> {
        Ok(match self.get()? {
            0 => Place::Nowhere,
            1 => Place::Request(RequestId(self.small()?), self.small()?),
            2 => Place::Frame(FrameId(self.small()?), self.small()?),
            3 => Place::Scan,
            _ => return Err(Cut),
        })
    }
}

#[cfg(test)]
mod tests;
