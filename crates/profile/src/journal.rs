//! A journal of what a device answered, so that a profile that was stopped goes on where it was.
//!
//! What a profile asks follows from its options and from what was answered before. Given the answers of the journal again,
//! it comes to where the journal ends; from there on the device is asked. A simulated device lives through it all again,
//! and must answer the same; for a real one it is over, and its clock has gone on.
//!
//! The file: a line of text that says of what profile it is, entries, and the checksum (FNV-1a, 64 bits) of all before. The first
//! entry says when the profile began. An entry is a number in seven bits a byte, the least first: the time passed since the last entry in ns, times four, plus
//! what happened: 0, the time had gone on when it was looked at, or a command given, after so many that found it the same (a
//! number follows); 1, nothing came back until then; 2, a command came back (its tag follows), or 3, it failed (tag and errno);
//! after these two a byte of what was asked since the last.
//!
//! **A profile is its answers.** What it asks follows from options and answers alone. `profile::journal` writes the
//! answers down; given them again, a profile that was stopped comes to where it was. A simulated device lives through
//! it again and must answer the same; a real one goes on.

use block::{At, BadInput, Caps, Command, Device, Outcome, Span, Tag, Time, Verb};
use std::cell::{Cell, RefCell};

/// What every journal begins with.
const BEGINS: &str = "halfturn profile journal 2: ";
/// What to do about a journal that cannot be used.
const ANEW: &str = "delete the file: the profile then begins anew";

/// The answers so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Journal {
    file: String,
    title: String,
    entries: Vec<u8>,
}

/// What has become of the answers in a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Past {
    /// The device begins anew and lives through them again.
    Again,
    /// The device gave them, and goes on from there; so does its clock.
    Over,
}

/// An entry of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JournalEntry {
    /// The time had gone on when it was looked at, or a command given, after so many that found it the same.
    Seen(u64),
    /// The device returned no completion.
    Nothing,
    /// A command came back; a byte of what was asked.
    Back(Tag, Outcome, u8),
}

fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3))
}

/// Writes a number, seven bits a byte.
fn put(bytes: &mut Vec<u8>, mut number: u128) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Reads a number from a place on, which moves on.
fn get(bytes: &[u8], at: &mut usize) -> Option<u128> {
    let mut number = 0u128;
    for shift in (0..70).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        number |= u128::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

impl Journal {
    /// An empty journal, of a profile of this title (one line), to be kept in a file.
    #[must_use]
    pub fn new(file: &str, title: &str) -> Journal {
        Journal { file: file.into(), title: title.replace('\n', " "), entries: Vec::new() }
    }

    /// Reads what was kept in a file; it must be of the profile of this title.
    ///
    /// # Errors
    /// When it is no journal, damaged or of another profile.
    pub fn parse(file: &str, title: &str, bytes: &[u8]) -> Result<Journal, BadInput> {
        let empty = Journal::new(file, title);
        let Some(rest) = bytes.strip_prefix(BEGINS.as_bytes()) else {
            return Err(empty.error("this is no journal of a profile", ANEW));
        };
        let (all, sum) = rest.split_at(rest.len().saturating_sub(8));
        if sum != checksum(&bytes[..bytes.len() - sum.len()]).to_le_bytes() {
            return Err(empty.error("the journal is damaged: its checksum does not fit", ANEW));
        }
        let end = all.iter().position(|byte| *byte == b'\n').unwrap_or(all.len());
        let theirs = String::from_utf8_lossy(&all[..end]);
        if theirs != empty.title {
            let what = format!("this is the journal of another profile: {theirs}");
            let mend = format!("give the command line it was begun with (this one is {}), or {ANEW}", empty.title);
            return Err(empty.error(what, mend));
        }
        Ok(Journal { entries: all.get(end + 1..).unwrap_or_default().to_vec(), ..empty })
    }

    /// What is kept in the file.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = format!("{BEGINS}{}\n", self.title).into_bytes();
        bytes.extend_from_slice(&self.entries);
        let sum = checksum(&bytes);
        bytes.extend(sum.to_le_bytes());
        bytes
    }

    /// Whether nothing was answered yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn error(&self, what: impl Into<String>, mend: impl Into<String>) -> BadInput {
        BadInput::new(self.file.clone(), At::File, what, mend)
    }

    fn push(&mut self, passed: u64, entry: JournalEntry) {
        let kind = match entry {
            JournalEntry::Seen(_) => 0,
            JournalEntry::Nothing => 1,
            JournalEntry::Back(_, Outcome::Ok, _) => 2,
            JournalEntry::Back(_, Outcome::Failed(_), _) => 3,
        };
        put(&mut self.entries, u128::from(passed) << 2 | kind);
        match entry {
            JournalEntry::Seen(before) => put(&mut self.entries, before.into()),
            JournalEntry::Nothing => {}
            JournalEntry::Back(tag, outcome, asked) => {
                put(&mut self.entries, tag.0.into());
                if let Outcome::Failed(errno) = outcome {
                    put(&mut self.entries, u128::from(errno as u32));
                }
                self.entries.push(asked);
            }
        }
    }

    /// The time that passed over all entries from a place on, as far as they are any.
    fn time_after(&self, mut at: usize) -> Span {
        let passed = std::iter::from_fn(|| self.entry(&mut at)).map(|(passed, _)| passed);
        Span(passed.fold(0, u64::saturating_add))
    }

    /// The entry at a place, which moves on, and the time passed before it.
    fn entry(&self, at: &mut usize) -> Option<(u64, JournalEntry)> {
        let first = get(&self.entries, at)?;
        let mut number = || get(&self.entries, at);
        let entry = match first & 3 {
            0 => JournalEntry::Seen(u64::try_from(number()?).ok()?),
            1 => JournalEntry::Nothing,
            kind => {
                let tag = Tag(u32::try_from(number()?).ok()?);
                let outcome = match kind {
                    2 => Outcome::Ok,
                    _ => Outcome::Failed(u32::try_from(number()?).ok()? as i32),
                };
                let asked = *self.entries.get(*at)?;
                *at += 1;
                JournalEntry::Back(tag, outcome, asked)
            }
        };
        Some((u64::try_from(first >> 2).ok()?, entry))
    }
}

/// A device whose answers are written down; those of a journal come first.
pub struct JournaledDevice<'r, D> {
    device: D,
    past: Past,
    journal: RefCell<Journal>,
    /// How far the journal has been read.
    read: Cell<usize>,
    /// The time at the last entry, and how often since it was found the same.
    time: Cell<Time>,
    same: Cell<u64>,
    /// A byte of what was asked since the last command came back.
    asked: u8,
    /// Commands not back yet.
    flying: Vec<(Tag, Command)>,
    /// Whether a command never came back: what follows is not kept.
    lost: bool,
    fault: RefCell<Option<BadInput>>,
    keep: &'r mut dyn FnMut(&Journal),
}

impl<'r, D: Device> JournaledDevice<'r, D> {
    /// A device that goes on where a journal ends; `keep` is told of the journal whenever a command came back.
    pub fn new(device: D, journal: Journal, past: Past, keep: &'r mut dyn FnMut(&Journal)) -> JournaledDevice<'r, D> {
        let recorder = JournaledDevice {
            device,
            past,
            journal: RefCell::new(journal),
            read: Cell::new(0),
            time: Cell::new(Time::ZERO),
            same: Cell::new(0),
            asked: 0,
            flying: Vec::new(),
            lost: false,
            fault: RefCell::new(None),
            keep,
        };
        recorder.begin();
        recorder
    }

    /// Takes up the time at which the profile began.
    fn begin(&self) {
        let now = self.device.now();
        if self.journal.borrow().is_empty() {
            return self.advance(now, JournalEntry::Nothing);
        }
        let Some((began, JournalEntry::Nothing, read)) = self.recall() else {
            return self.fail("the journal is damaged: it does not say when it began");
        };
        self.went_on(read, began);
        let last = began + self.journal.borrow().time_after(read);
        match self.past {
            Past::Again if began != now => self.fail("the device does not answer as when the journal was kept"),
            Past::Over if last > now => self.fail("the machine's clock has begun anew since the journal was kept"),
            _ => {}
        }
    }

    /// The journal, and why it could not be followed, if so.
    pub fn end(self) -> (Journal, Option<BadInput>) {
        (self.journal.into_inner(), self.fault.into_inner())
    }

    /// Whether the journal is still read.
    fn replays(&self) -> bool {
        self.read.get() < self.journal.borrow().entries.len()
    }

    /// Whether the device is asked.
    fn asks(&self) -> bool {
        self.past == Past::Again || !self.replays()
    }

    fn fail(&self, what: &str) {
        let error = self.journal.borrow().error(what, ANEW);
        self.fault.borrow_mut().get_or_insert(error);
    }

    fn has_failed(&self) -> bool {
        self.fault.borrow().is_some()
    }

    /// The next entry of the journal and its time, if that is still read.
    fn recall(&self) -> Option<(Time, JournalEntry, usize)> {
        if !self.replays() {
            return None;
        }
        let mut at = self.read.get();
        let entry = self.journal.borrow().entry(&mut at);
        match entry {
            Some((passed, entry)) => Some((self.time.get() + Span(passed), entry, at)),
            None => {
                self.fail("the journal is damaged: an entry is none");
                None
            }
        }
    }

    /// Goes on to an entry.
    fn advance(&self, time: Time, entry: JournalEntry) {
        let mut journal = self.journal.borrow_mut();
        let replays = self.read.get() < journal.entries.len();
        if !replays && !self.lost {
            journal.push(time.since(self.time.get()).0, entry);
        }
        self.went_on(if replays { self.read.get() } else { journal.entries.len() }, time);
    }

    fn went_on(&self, read: usize, time: Time) {
        self.read.set(read);
        self.time.set(time);
        self.same.set(0);
    }

    /// Someone looks at the time, which `now` says: what the journal has of it, or else that.
    fn read_clock(&self, recalled: Option<(Time, JournalEntry, usize)>, now: impl FnOnce() -> Time) -> Time {
        let same = self.same.get();
        match recalled {
            Some((time, JournalEntry::Seen(before), read)) if before == same => self.went_on(read, time),
            Some(_) => self.same.set(same + 1),
            None => match now() {
                now if now > self.time.get() => self.advance(now, JournalEntry::Seen(same)),
                _ => self.same.set(same + 1),
            },
        }
        self.time.get()
    }

    /// What the journal has for `next`, if it fits what was asked and what the device says.
    fn replay_completion(&mut self, until: Time) -> Option<Option<(Time, Tag, Outcome)>> {
        let (time, entry, read) = self.recall()?;
        let answer = match entry {
            JournalEntry::Seen(_) => None,
            JournalEntry::Nothing => Some(None),
            JournalEntry::Back(tag, outcome, asked) => (asked == self.asked).then_some(Some((time, tag, outcome))),
        };
        let Some(answer) = answer else {
            self.fail("the journal does not fit what is asked now: another version kept it");
            return None;
        };
        if self.past == Past::Again {
            let real = self.device.next(until);
            if real.is_none() && answer.is_some() {
                return None;
            }
            if real != answer || self.device.now() != time {
                self.fail("the device does not answer as when the journal was kept");
                return None;
            }
        }
        self.went_on(read, time);
        Some(answer)
    }
}

/// A byte of a command and what was asked before it.
fn mix(before: u8, tag: Tag, command: Command) -> u8 {
    let verb = match command.verb {
        Verb::Read => 1,
        Verb::Write { fua: false } => 2,
        Verb::Write { fua: true } => 3,
        Verb::Seek => 4,
        Verb::Flush => 5,
        Verb::Discard(_) => 6,
    };
    let parts = [u64::from(before), u64::from(tag.0), verb, command.at.start.0, command.at.blocks.into()];
    let bytes: Vec<u8> = parts.iter().flat_map(|part| part.to_le_bytes()).collect();
    (checksum(&bytes) >> 32) as u8
}

impl<D: Device> Device for JournaledDevice<'_, D> {
    fn caps(&self) -> Caps {
        self.device.caps()
    }

    fn now(&self) -> Time {
        if self.has_failed() { self.time.get() } else { self.read_clock(self.recall(), || self.device.now()) }
    }

    fn issue(&mut self, tag: Tag, command: Command) -> Time {
        if self.has_failed() {
            return self.time.get();
        }
        self.asked = mix(self.asked, tag, command);
        self.flying.push((tag, command));
        let recalled = self.recall();
        let given = if self.asks() { self.device.issue(tag, command) } else { self.time.get() };
        self.read_clock(recalled, || given)
    }

    fn next(&mut self, until: Time) -> Option<(Time, Tag, Outcome)> {
        if self.has_failed() {
            return None;
        }
        let replayed = self.replays();
        let answer = match replayed {
            true => self.replay_completion(until)?,
            false => {
                let answer = self.device.next(until);
                match answer {
                    Some((end, tag, outcome)) => self.advance(end, JournalEntry::Back(tag, outcome, self.asked)),
                    None => {
                        // Resumed, it is asked again.
                        self.lost |= !self.flying.is_empty();
                        self.advance(self.device.now(), JournalEntry::Nothing);
                    }
                }
                answer
            }
        };
        if let Some((_, tag, _)) = answer {
            self.flying.retain(|flying| flying.0 != tag);
            self.asked = 0;
            if !replayed && !self.lost {
                (self.keep)(&self.journal.borrow());
            }
        }
        // Where nothing is in flight, the time that has passed since is kept with what is asked next.
        if replayed && !self.replays() && self.past == Past::Over && !self.flying.is_empty() {
            self.time.set(self.time.get().max(self.device.now()));
            for (tag, command) in std::mem::take(&mut self.flying) {
                self.device.issue(tag, command);
                self.flying.push((tag, command));
            }
        }
        answer
    }
}
