//! A recording written small: zstd around lines of text, an event each, without what the process-flow model has no use for.
//!
//! ```text
//! # halfturn process-flow 1
//! # command PID WORDS…          what was recorded, where it was one command
//! # lost COUNT                  events that are missing
//! n PID NAME                    a task, before its first event
//! NS CPU TASK CODE …            an event, so many ns after the one before; TASK followed by `i` in an interrupt
//! ```
//!
//! | code | event |
//! |---|---|
//! | `s FROM HOW TO` | a switch; HOW is `r` (preempted), `s` (asleep), `d` (blocked), `i` (idle) or `x` (ended) |
//! | `w PID`, `f PID`, `x` | wakes a task, creates one, ends |
//! | `q`, `b`, `e` and `MAJ,MIN OP START BLOCKS FLAGS` | a request goes to the I/O scheduler, to the driver, has ended; OP is `r`, `w`, `u` (FUA) or `f` (flush), FLAGS of `a` (read-ahead), `s` (somebody waits) or `-` |
//! | `(`, `)` | an interrupt begins, ends |
//! | `c`, `r`, `t`, `o` | a system call, its return, a fault, something else |

use super::{BlockIo, IDLE, KernelEvent, KernelEventKind, SwitchState};
use crate::number::{quote, whole};
use crate::reader::Fault;
use block::{Extent, Op, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// How such a file begins.
pub(super) const HEAD: &[u8] = b"# halfturn process-flow 1";
/// zstd's level of compression: slower ones gain little here.
const LEVEL: i32 = 12;

/// What a line says.
pub(super) enum CompactLine {
    Event(KernelEvent),
    Name(u32, String),
    Command(u32, String),
    Lost(u64),
    Nothing,
}

const LEFT: [(u8, SwitchState); 5] = [
    (b'r', SwitchState::Preempted),
    (b's', SwitchState::Asleep),
    (b'd', SwitchState::Blocked),
    (b'i', SwitchState::Idle),
    (b'x', SwitchState::Ended),
];

const PLAIN: [(u8, KernelEventKind); 7] = [
    (b'x', KernelEventKind::Exit),
    (b'(', KernelEventKind::Interrupt),
    (b')', KernelEventKind::InterruptEnd),
    (b'c', KernelEventKind::SystemCall),
    (b'r', KernelEventKind::Return),
    (b't', KernelEventKind::Trap),
    (b'o', KernelEventKind::Other),
];

/// A line after one at `last`.
pub(super) fn parse(line: &[u8], last: Time) -> Result<CompactLine, Fault> {
    let mut words = line.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    let mut word = || words.next().ok_or_else(|| Fault::new("the line ends too early"));
    let text = |from: usize| {
        let rest = line.splitn(from + 1, |byte| *byte == b' ').nth(from).unwrap_or_default();
        String::from_utf8_lossy(rest).into_owned()
    };
    match word()? {
        b"#" => match word()? {
            b"lost" => Ok(CompactLine::Lost(whole("count", word()?)?)),
            b"command" => Ok(CompactLine::Command(whole("pid", word()?)? as u32, text(3))),
            _ => Ok(CompactLine::Nothing),
        },
        b"n" => Ok(CompactLine::Name(whole("pid", word()?)? as u32, text(2))),
        since => {
            let at = last.0.checked_add(whole("time", since)?);
            let at = Time(at.ok_or_else(|| Fault::new("the time is past any clock"))?);
            let cpu = whole("processor", word()?)? as usize;
            let task = word()?;
            let (task, interrupt) = task.strip_suffix(b"i").map_or((task, false), |task| (task, true));
            let task = whole("pid", task)? as u32;
            let what = what(word()?, word)?;
            Ok(CompactLine::Event(KernelEvent { at, cpu, task, interrupt, what }))
        }
    }
}

fn what<'a>(code: &[u8], mut word: impl FnMut() -> Result<&'a [u8], Fault>) -> Result<KernelEventKind, Fault> {
    let unknown = |word: &[u8]| Fault::new(format!("'{}' is no code of an event", quote(word)));
    let pid = |word: &[u8]| Ok::<_, Fault>(whole("pid", word)? as u32);
    Ok(match code {
        b"s" => {
            let (from, how) = (pid(word()?)?, word()?);
            let left = LEFT.iter().find(|(code, _)| how == [*code]).ok_or_else(|| unknown(how))?.1;
            KernelEventKind::Switch { from, left, to: pid(word()?)? }
        }
        b"w" => KernelEventKind::Waking(pid(word()?)?),
        b"f" => KernelEventKind::Fork(pid(word()?)?),
        b"q" => KernelEventKind::Insert(io([word()?, word()?, word()?, word()?, word()?])?),
        b"b" => KernelEventKind::Issue(io([word()?, word()?, word()?, word()?, word()?])?),
        b"e" => KernelEventKind::Complete(io([word()?, word()?, word()?, word()?, word()?])?),
        code => PLAIN.iter().find(|(plain, _)| code == [*plain]).ok_or_else(|| unknown(code))?.1,
    })
}

fn io([device, op, start, blocks, flags]: [&[u8]; 5]) -> Result<BlockIo, Fault> {
    let op = match op {
        b"r" => Op::Read,
        b"w" => Op::Write { fua: false },
        b"u" => Op::Write { fua: true },
        b"f" => Op::Flush,
        _ => return Err(Fault::new(format!("'{}' is no operation (r, w, u, f)", quote(op)))),
    };
    let at = Extent::new(whole("sector", start)?, whole("sectors", blocks)? as u32);
    Ok(BlockIo { device: super::device(device)?, op, at, ahead: flags.contains(&b'a'), sync: flags.contains(&b's') })
}

/// Writes such a file.
pub struct CompactWriter<W: Write> {
    out: zstd::Encoder<'static, W>,
    named: BTreeSet<u32>,
    last: Time,
    /// How many events were written.
    pub events: u64,
}

impl<W: Write> CompactWriter<W> {
    /// Begins one, of a command if it was one.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn new(out: W, command: Option<(u32, &str)>) -> io::Result<CompactWriter<W>> {
        let mut out = zstd::Encoder::new(out, LEVEL)?;
        out.write_all(HEAD)?;
        out.write_all(b"\n")?;
        if let Some((pid, words)) = command {
            let words: String = words.chars().map(|char| if char.is_control() { ' ' } else { char }).collect();
            writeln!(out, "# command {pid} {words}")?;
        }
        Ok(CompactWriter { out, named: BTreeSet::new(), last: Time::ZERO, events: 0 })
    }

    /// Writes an event; its task's name if it is the first of it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn put(&mut self, event: &KernelEvent, names: &BTreeMap<u32, String>) -> io::Result<()> {
        let KernelEvent { at, cpu, task, interrupt, what } = *event;
        if let Some(name) = names.get(&task).filter(|_| task != IDLE && self.named.insert(task)) {
            writeln!(self.out, "n {task} {name}")?;
        }
        let since = at.since(self.last).0;
        self.last = self.last.max(at);
        self.events += 1;
        write!(self.out, "{since} {cpu} {task}{} ", if interrupt { "i" } else { "" })?;
        match what {
            KernelEventKind::Switch { from, left, to } => {
                let how = LEFT.iter().find(|(_, other)| *other == left).map_or('r', |(code, _)| char::from(*code));
                writeln!(self.out, "s {from} {how} {to}")
            }
            KernelEventKind::Waking(pid) => writeln!(self.out, "w {pid}"),
            KernelEventKind::Fork(pid) => writeln!(self.out, "f {pid}"),
            KernelEventKind::Insert(io) => self.io('q', &io),
            KernelEventKind::Issue(io) => self.io('b', &io),
            KernelEventKind::Complete(io) => self.io('e', &io),
            plain => {
                let code = PLAIN.iter().find(|(_, other)| *other == plain).map_or('o', |(code, _)| char::from(*code));
                writeln!(self.out, "{code}")
            }
        }
    }

    fn io(&mut self, code: char, io: &BlockIo) -> io::Result<()> {
        let op = match io.op {
            Op::Read | Op::Repair => 'r',
            Op::Write { fua: false } | Op::Discard(_) | Op::Move => 'w',
            Op::Write { fua: true } => 'u',
            Op::Flush => 'f',
        };
        let flags = match (io.ahead, io.sync) {
            (false, false) => "-",
            (true, false) => "a",
            (false, true) => "s",
            (true, true) => "as",
        };
        let (major, minor) = io.device;
        writeln!(self.out, "{code} {major},{minor} {op} {} {} {flags}", io.at.start.0, io.at.blocks)
    }

    /// Ends it; so many events were lost.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(mut self, lost: u64) -> io::Result<W> {
        writeln!(self.out, "# lost {lost}")?;
        self.out.finish()
    }
}
