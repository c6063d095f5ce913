//! ftrace's text, as a private tracefs instance gives it: scheduler, system-call, fault, interrupt and block events of a
//! Linux machine, one line each, in the order of time.
//!
//! `COMM-PID (TGID) [CPU] FLAGS SECONDS.MICROSECONDS: EVENT: FIELDS`. The third of the flags tells whether the line was
//! written in a hard (`h`, `H`) or soft (`s`) interrupt. What is of no use to the process-flow model is [`KernelEventKind::Other`]. The
//! same, written small, is [`compact`]; as the kernel has it, `raw`.

pub mod compact;
mod raw;

use std::collections::BTreeMap;
use std::path::Path;

use block::{BadInput, Extent, Op, Time};

use crate::feed::TraceFeed;
use crate::number::{TimeUnit, quote, time, whole};
use crate::reader::Fault;
use crate::source::TraceSource;

/// The task that is there when there is nothing to do.
pub const IDLE: u32 = 0;

/// How a task left its processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchState {
    /// It could have gone on.
    Preempted,
    /// Asleep, and a signal may wake it.
    Asleep,
    /// Asleep and not to be disturbed: blocked, mostly for I/O.
    Blocked,
    /// A worker of the kernel with nothing to do.
    Idle,
    /// The task has ended.
    Ended,
    /// Nobody saw how; no recording says so, it follows from who is there afterwards.
    Unseen,
}

/// A request to a block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockIo {
    /// The device: major and minor.
    pub device: (u32, u32),
    /// Whether it reads, writes or flushes.
    pub op: Op,
    /// Where; nothing of a flush.
    pub at: Extent,
    /// Whether it was marked as read-ahead.
    pub ahead: bool,
    /// Whether somebody said he would wait.
    pub sync: bool,
}

/// The events that are read, with what each says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelEventKind {
    /// One task leaves the processor, another has it.
    Switch {
        /// The task that leaves the processor.
        from: u32,
        /// In which state it leaves.
        left: SwitchState,
        /// The task that has it from now on.
        to: u32,
    },
    /// A task is woken, for the first time or again.
    Waking(u32),
    /// A task was created.
    Fork(u32),
    /// The task that has the processor ends.
    Exit,
    /// A request goes to the I/O scheduler.
    Insert(BlockIo),
    /// A request goes to the driver.
    Issue(BlockIo),
    /// A request has ended.
    Complete(BlockIo),
    /// An interrupt begins: of a device, of the clock, of another processor, or what it left to do later.
    Interrupt,
    /// The interrupt that began last on this processor ends.
    InterruptEnd,
    /// A task asks the kernel for something.
    SystemCall,
    /// The kernel has answered.
    Return,
    /// A task met a page fault.
    Trap,
    /// An event of another kind.
    Other,
}

/// One event of the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelEvent {
    /// When, from the first line on.
    pub at: Time,
    /// The processor on which it happened.
    pub cpu: usize,
    /// The task that had it.
    pub task: u32,
    /// Whether in an interrupt, hard or soft.
    pub interrupt: bool,
    /// The kind of event, with its fields.
    pub what: KernelEventKind,
}

/// A recording as it is read.
pub struct Recording {
    feed: TraceFeed,
    begin: Option<Time>,
    last: Time,
    /// The names of tasks.
    pub names: BTreeMap<u32, String>,
    /// Events that were lost, as the file says.
    pub lost: u64,
    /// Lines whose time lies before that of the line above; they count as of its time.
    pub steps_back: u64,
    /// The command that was recorded, by its process and in words, where the file says.
    pub command: Option<(u32, String)>,
    compact: bool,
    /// The lines of one that is the kernel's own records.
    raw: Option<raw::RawLines>,
}

/// Whether a file is such a recording.
///
/// # Errors
/// When it cannot be read.
pub fn looks(path: &Path) -> Result<bool, BadInput> {
    let mut feed = TraceFeed::new(TraceSource::open(path)?);
    let begin = feed.peek(compact::HEAD.len())?;
    Ok(begin.starts_with(b"# tracer: nop") || begin.starts_with(raw::HEAD) || begin == compact::HEAD)
}

impl Recording {
    /// Opens a recording, compressed or not.
    ///
    /// # Errors
    /// When the file cannot be opened or read.
    pub fn open(path: &Path) -> Result<Recording, BadInput> {
        let mut feed = TraceFeed::new(TraceSource::open(path)?);
        let compact = feed.peek(compact::HEAD.len())? == compact::HEAD;
        let is_raw = feed.peek(raw::HEAD.len())? == raw::HEAD;
        let raw = if is_raw { Some(raw::RawLines::open(path)?) } else { None };
        Ok(Recording {
            lost: raw.as_ref().map_or(0, |raw| raw.lost),
            raw,
            feed,
            compact,
            command: None,
            begin: None,
            last: Time::ZERO,
            names: BTreeMap::new(),
            steps_back: 0,
        })
    }

    /// The next event, or nothing at the end.
    ///
    /// # Errors
    /// A line that cannot be understood, with its number.
    pub fn next_event(&mut self) -> Result<Option<KernelEvent>, BadInput> {
        if let Some(raw) = &mut self.raw {
            let Some(line) = raw.next_line() else { return Ok(None) };
            return match parse(line.as_bytes()) {
                Ok((event, name)) => Ok(Some(self.follow(event, name))),
                Err(fault) => Err(self.feed.bad(fault)),
            };
        }
        loop {
            let Some(line) = self.feed.line()? else { return Ok(None) };
            if self.compact {
                match compact::parse(line, self.last) {
                    Ok(compact::CompactLine::Event(event)) => {
                        self.last = event.at;
                        return Ok(Some(event));
                    }
                    Ok(compact::CompactLine::Name(pid, name)) => drop(self.names.insert(pid, name)),
                    Ok(compact::CompactLine::Command(pid, words)) => self.command = Some((pid, words)),
                    Ok(compact::CompactLine::Lost(lost)) => self.lost += lost,
                    Ok(compact::CompactLine::Nothing) => {}
                    Err(fault) => return Err(self.feed.bad(fault)),
                }
                continue;
            }
            let parsed = match line.first() {
                None => continue,
                Some(b'#') => {
                    self.lost += overwritten(line).unwrap_or(0);
                    continue;
                }
                Some(b'C') if line.starts_with(b"CPU:") => {
                    self.lost += parse_lost(line).unwrap_or(0);
                    continue;
                }
                Some(_) => parse(line),
            };
            match parsed {
                Ok((event, name)) => return Ok(Some(self.follow(event, name))),
                Err(fault) => return Err(self.feed.bad(fault)),
            }
        }
    }
}

impl Recording {
    /// An event from the first on, after those before it; and the name of its task.
    fn follow(&mut self, event: KernelEvent, name: String) -> KernelEvent {
        if event.task != IDLE && !self.names.contains_key(&event.task) {
            self.names.insert(event.task, name);
        }
        let begin = *self.begin.get_or_insert(event.at);
        let at = Time(event.at.since(begin).0);
        self.steps_back += u64::from(event.at < begin || at < self.last);
        self.last = self.last.max(at);
        KernelEvent { at: self.last, ..event }
    }
}

/// `# entries-in-buffer/entries-written: 62725/62725   #P:2`: what was written and is no longer there.
fn overwritten(line: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(line).ok()?.strip_prefix("# entries-in-buffer/entries-written: ")?;
    let (kept, written) = text.split_whitespace().next()?.split_once('/')?;
    written.parse::<u64>().ok()?.checked_sub(kept.parse().ok()?)
}

/// `CPU:1 [LOST 512 EVENTS]`.
fn parse_lost(line: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(line).ok()?;
    text.split_once("[LOST ")?.1.split_whitespace().next()?.parse().ok()
}

/// An event and the name of its task.
fn parse(line: &[u8]) -> Result<(KernelEvent, String), Fault> {
    let bracket = bracket(line).ok_or_else(|| Fault::new("there is no processor, such as [001], in the line"))?;
    let (task, name) = task(&line[..bracket])?;
    let rest = &line[bracket + 1..];
    let end = rest.iter().position(|byte| *byte == b']').unwrap_or(0);
    let cpu = whole("processor", &rest[..end])? as usize;
    let after = rest[end + 1..].trim_ascii_start();
    let flags = after.split(|byte| *byte == b' ').next().unwrap_or_default();
    // Times are written with a width: blanks may come before one.
    let stamp = after.iter().position(|byte| *byte == b':').unwrap_or(after.len());
    let begin = after[..stamp].iter().rposition(|byte| *byte == b' ').map_or(0, |at| at + 1);
    let at = Time(time("time", &after[begin..stamp], TimeUnit::S)?);
    let body = after.get(stamp + 1..).unwrap_or_default().trim_ascii();
    let interrupt = matches!(flags.get(2), Some(b'h' | b'H' | b's' | b'z' | b'Z'));
    Ok((KernelEvent { at, cpu, task, interrupt, what: what(body)? }, name))
}

/// Where ` [001]` begins.
fn bracket(line: &[u8]) -> Option<usize> {
    let number = |at: &usize| {
        let digits = line[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        digits > 0 && line.get(at + 1 + digits) == Some(&b']')
    };
    (1..line.len()).filter(|at| line[*at] == b'[' && line[at - 1] == b' ').find(number)
}

/// `gzip-21577   (  21577)`: the task and its name.
fn task(text: &[u8]) -> Result<(u32, String), Fault> {
    let text = text.trim_ascii();
    let text = match (text.last(), text.iter().rposition(|byte| *byte == b'(')) {
        (Some(b')'), Some(at)) => text[..at].trim_ascii_end(),
        _ => text,
    };
    let dash = text.iter().rposition(|byte| *byte == b'-');
    let dash =
        dash.ok_or_else(|| Fault::new(format!("'{}' is no task as ftrace writes it (name-pid)", quote(text))))?;
    let pid = whole("pid", &text[dash + 1..])? as u32;
    Ok((pid, String::from_utf8_lossy(&text[..dash]).into_owned()))
}

fn what(body: &[u8]) -> Result<KernelEventKind, Fault> {
    let end = body.iter().position(|byte| matches!(byte, b':' | b'(' | b' ')).unwrap_or(body.len());
    let (name, rest) = (&body[..end], body.get(end..).unwrap_or_default());
    let fields = rest.strip_prefix(b":").unwrap_or(rest).trim_ascii();
    Ok(match name {
        b"sched_switch" => switch(fields)?,
        b"sched_waking" | b"sched_wakeup_new" => KernelEventKind::Waking(number(fields, "pid=")?),
        b"sched_process_fork" => KernelEventKind::Fork(number(fields, "child_pid=")?),
        b"sched_process_exit" => KernelEventKind::Exit,
        b"block_rq_insert" => io(fields)?.map_or(KernelEventKind::Other, KernelEventKind::Insert),
        b"block_rq_issue" => io(fields)?.map_or(KernelEventKind::Other, KernelEventKind::Issue),
        b"block_rq_complete" => io(fields)?.map_or(KernelEventKind::Other, KernelEventKind::Complete),
        b"page_fault_user" | b"page_fault_kernel" => KernelEventKind::Trap,
        _ if name.starts_with(b"sys_") => {
            if fields.starts_with(b"->") {
                KernelEventKind::Return
            } else {
                KernelEventKind::SystemCall
            }
        }
        _ => match name.rsplit(|byte| *byte == b'_').next() {
            Some(b"entry") => KernelEventKind::Interrupt,
            Some(b"exit") => KernelEventKind::InterruptEnd,
            _ => KernelEventKind::Other,
        },
    })
}

/// The text after a key, up to the next blank.
fn field<'a>(fields: &'a [u8], key: &str) -> Option<&'a [u8]> {
    let begins = |at: &usize| fields[*at..].starts_with(key.as_bytes()) && (*at == 0 || fields[at - 1] == b' ');
    let at = (0..fields.len()).find(begins)? + key.len();
    fields[at..].split(|byte| *byte == b' ').next()
}

fn number(fields: &[u8], key: &str) -> Result<u32, Fault> {
    let found = field(fields, key).ok_or_else(|| Fault::new(format!("there is no {key} in the line")))?;
    Ok(whole(key, found)? as u32)
}

fn switch(fields: &[u8]) -> Result<KernelEventKind, Fault> {
    let state = field(fields, "prev_state=").ok_or_else(|| Fault::new("there is no prev_state= in the line"))?;
    let left = match state.first() {
        Some(b'R') | None => SwitchState::Preempted,
        Some(b'D') => SwitchState::Blocked,
        Some(b'I') => SwitchState::Idle,
        Some(b'X' | b'Z') => SwitchState::Ended,
        Some(_) => SwitchState::Asleep,
    };
    Ok(KernelEventKind::Switch { from: number(fields, "prev_pid=")?, left, to: number(fields, "next_pid=")? })
}

/// Parses a device's numbers: `254,0`.
fn device(word: &[u8]) -> Result<(u32, u32), Fault> {
    let bad = || Fault::new(format!("'{}' is no device (major,minor)", quote(word)));
    let comma = word.iter().position(|byte| *byte == b',').ok_or_else(bad)?;
    Ok((whole("device", &word[..comma])? as u32, whole("device", &word[comma + 1..])? as u32))
}

/// `254,0 RA 4096 () 319807688 + 8 be,0,4 [gzip]`; of a completion without the bytes. A discard is none.
fn io(fields: &[u8]) -> Result<Option<BlockIo>, Fault> {
    let bad =
        || Fault::new("the request is not written as ftrace does (maj,min rwbs bytes (command) sector + sectors)");
    let words: Vec<&[u8]> = fields.split(|byte| *byte == b' ').filter(|word| !word.is_empty()).collect();
    let plus = words.iter().position(|word| *word == b"+").filter(|at| *at >= 3).ok_or_else(bad)?;
    let device = device(words[0])?;
    let rwbs = words[1];
    let sector = whole("sector", words[plus - 1]).unwrap_or(0);
    let sectors = whole("sectors", words.get(plus + 1).copied().ok_or_else(bad)?)? as u32;
    let fua = rwbs.iter().skip(1).any(|byte| *byte == b'F');
    let op = match rwbs.first() {
        Some(b'D') => return Ok(None),
        Some(b'R') => Op::Read,
        Some(b'F') if rwbs.get(1) != Some(&b'W') => Op::Flush,
        Some(b'W' | b'F') => Op::Write { fua },
        _ => return Ok(None),
    };
    let at = if op == Op::Flush { Extent::new(0, 0) } else { Extent::new(sector, sectors) };
    if op != Op::Flush && sectors == 0 {
        return Ok(None);
    }
    Ok(Some(BlockIo { device, op, at, ahead: rwbs.contains(&b'A'), sync: rwbs.contains(&b'S') }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(line: &str) -> (KernelEvent, String) {
        parse(line.as_bytes()).unwrap()
    }

    #[test]
    fn lines_as_linux_writes_them() {
        let (it, name) = event(
            "    kworker/u8:5-19645   (  19645) [001] .....  3616.573952: block_rq_insert: 254,0 RS 131072 () 37397248 + 256 be,0,4 [kworker/u8:5]",
        );
        assert_eq!((name.as_str(), it.task, it.cpu, it.interrupt), ("kworker/u8:5", 19645, 1, false));
        assert_eq!(it.at, Time(3_616_573_952_000));
        let io = BlockIo { device: (254, 0), op: Op::Read, at: Extent::new(37_397_248, 256), ahead: false, sync: true };
        assert_eq!(it.what, KernelEventKind::Insert(io));
        let (it, _) = event(
            "          <idle>-0       (-------) [001] ..s1.  3610.837185: block_rq_complete: 254,0 RA () 319807688 + 8 be,0,4 [0]",
        );
        assert!(it.interrupt && it.task == IDLE);
        assert!(matches!(it.what, KernelEventKind::Complete(BlockIo { ahead: true, .. })));
        let (it, _) = event(
            "     rcu_preempt-15      (     15) [001] d..2.  3610.836726: sched_switch: prev_comm=rcu_preempt prev_pid=15 prev_prio=120 prev_state=I ==> next_comm=pfcap.sh next_pid=21558 next_prio=120",
        );
        assert_eq!(it.what, KernelEventKind::Switch { from: 15, left: SwitchState::Idle, to: 21558 });
        let (it, name) = event("    jbd2/loop3-8-15614   (  15614) [000] .....  3653.003315: sys_read -> 0x8000");
        assert_eq!((name.as_str(), it.task, it.what), ("jbd2/loop3-8", 15614, KernelEventKind::Return));
        let (it, _) = event("gzip-7 [000] d.h1. 1.000001: irq_handler_exit: irq=36 ret=handled");
        assert_eq!((it.task, it.what), (7, KernelEventKind::InterruptEnd));
        assert_eq!(overwritten(b"# entries-in-buffer/entries-written: 100/142   #P:2"), Some(42));
        assert_eq!(parse_lost(b"CPU:1 [LOST 512 EVENTS]"), Some(512));
    }

    #[test]
    fn what_is_garbled_is_told() {
        for line in [
            "gzip-7 000 d.h1. 1.0: x",
            "gzip [000] d.h1. 1.0: x",
            "gzip-7 [000] d.h1. one: x",
            "gzip-7 [000] d.h1. 1.0: block_rq_issue: 254,0",
        ] {
            assert!(parse(line.as_bytes()).is_err(), "{line}");
        }
    }

    #[test]
    fn written_small_it_says_the_same() {
        let lines = "\
# tracer: nop
 gzip-7 [000] ..... 1.000001: sched_process_fork: comm=gzip pid=7 child_comm=gzip child_pid=9
 my task-9 [001] d..2. 1.000002: sched_switch: prev_comm=a prev_pid=9 prev_prio=120 prev_state=D ==> next_comm=b next_pid=0 next_prio=120
CPU:1 [LOST 5 EVENTS]
 <idle>-0 [001] d.h1. 1.000004: irq_handler_entry: irq=36
 <idle>-0 [001] d.h1. 1.000005: block_rq_complete: 254,0 WFSA () 319807688 + 8 be,0,4 [0]
 gzip-7 [000] ..... 1.000009: block_rq_insert: 254,0 FF 0 () 0 + 0 none,0,0 [gzip]
 gzip-7 [000] ..... 1.000010: sys_read(fd: 3)
 gzip-7 [000] ..... 1.000011: sched_process_exit: comm=gzip pid=7 prio=120
";
        let path = std::env::temp_dir().join(format!("halfturn-{}-small", std::process::id()));
        let read = |recording: &mut Recording| {
            let mut events = Vec::new();
            while let Some(event) = recording.next_event().unwrap() {
                events.push(event);
            }
            events
        };
        std::fs::write(&path, lines).unwrap();
        let mut whole = Recording::open(&path).unwrap();
        let events = read(&mut whole);
        let mut writer = compact::CompactWriter::new(Vec::new(), Some((7, "gzip -1 \n x"))).unwrap();
        events.iter().for_each(|event| writer.put(event, &whole.names).unwrap());
        std::fs::write(&path, writer.finish(whole.lost).unwrap()).unwrap();
        assert!(looks(&path).unwrap());
        let mut small = Recording::open(&path).unwrap();
        assert_eq!((read(&mut small), &small.names, small.lost), (events, &whole.names, 5));
        assert_eq!(small.command, Some((7, "gzip -1   x".into())));
        std::fs::remove_file(&path).unwrap();
        let last = Time(3);
        for line in
            ["5", "5 0", "x 0 7 o", "5 0 7 z", "5 0 7 s 1 q 2", "5 0 7 q 8,0 r 1 1", "5 0 7 q 80 r 1 1 -", "# lost x"]
        {
            assert!(compact::parse(line.as_bytes(), last).is_err(), "{line}");
        }
        assert!(compact::parse(format!("{} 0 7 o", u64::MAX).as_bytes(), last).is_err());
    }
}
