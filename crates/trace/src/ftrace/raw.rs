//! ftrace's own records, as `trace-cmd record` and `trace-cmd extract` keep them: `trace.dat`, version 6 (trace-cmd.dat.v6(5)). Times are
//! nanoseconds, where the text has microseconds.
//!
//! A file has the kernel's descriptions of its events, the names of tasks and, for each processor, pages of its ring buffer as
//! the kernel had them. Each page begins with a time; each record says by how much later it is. Of the events that mean
//! something here each becomes the line of text that ftrace would write, so that there is one reader of what they say.

use crate::source::TraceSource;
use block::{At, BadInput};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::Path;

/// How such a file begins.
pub(super) const HEAD: &[u8] = b"\x17\x08\x44tracing";
/// Descriptions of a file at most: kernels have some thousands.
const MOST_EVENTS: u32 = 1 << 17;

/// Bits of `common_flags` of an interrupt, hard and soft.
const HARD: u64 = 0x08;
const SOFT: u64 = 0x10;

/// Events that are written as lines, with the fields that are read of them.
const WRITTEN: [(&str, &[&str]); 7] = [
    ("sched_switch", &["prev_pid", "prev_state", "next_pid"]),
    ("sched_waking", &["pid"]),
    ("sched_wakeup_new", &["pid"]),
    ("sched_process_fork", &["child_pid"]),
    ("block_rq_insert", &["dev", "sector", "nr_sector", "rwbs"]),
    ("block_rq_issue", &["dev", "sector", "nr_sector", "rwbs"]),
    ("block_rq_complete", &["dev", "sector", "nr_sector", "rwbs"]),
];

/// Where a field lies in a record.
#[derive(Clone, Copy, Debug, Default)]
struct DataField {
    offset: usize,
    size: usize,
}

/// An event as the kernel describes it.
#[derive(Clone, Debug)]
struct Described {
    name: String,
    fields: BTreeMap<String, DataField>,
}

/// A record of a ring buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RingRecord {
    at: u64,
    cpu: usize,
    /// Where in the file it lies.
    from: usize,
    end: usize,
}

/// The records of a file as lines of text, in the order of time.
pub(super) struct RawLines {
    bytes: Vec<u8>,
    described: BTreeMap<u64, Described>,
    names: BTreeMap<u64, String>,
    records: std::vec::IntoIter<RingRecord>,
    /// Records that the ring lost.
    pub(super) lost: u64,
}

/// What is read of a file from one place on.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

type RawResult<T> = Result<T, String>;

impl<'a> Cursor<'a> {
    fn take(&mut self, count: u64) -> RawResult<&'a [u8]> {
        let end = usize::try_from(count).ok().and_then(|count| self.at.checked_add(count));
        let taken = end.and_then(|end| self.bytes.get(self.at..end)).ok_or("it ends in the midst of its head")?;
        self.at += taken.len();
        Ok(taken)
    }

    fn number(&mut self, bytes: u64) -> RawResult<u64> {
        Ok(little(self.take(bytes)?))
    }

    /// Up to the next zero.
    fn word(&mut self) -> RawResult<&'a [u8]> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let length = rest.iter().position(|byte| *byte == 0).ok_or("it ends in the midst of its head")?;
        self.at += length + 1;
        Ok(&rest[..length])
    }

    /// A part whose size stands before it, in so many bytes.
    fn part(&mut self, size: u64) -> RawResult<&'a [u8]> {
        let length = self.number(size)?;
        self.take(length)
    }
}

/// A number whose least byte comes first.
fn little(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

impl RawLines {
    /// Reads all of a file.
    ///
    /// # Errors
    /// When it cannot be read, is no such file, or of a version or machine that is not read.
    pub(super) fn open(path: &Path) -> Result<RawLines, BadInput> {
        let TraceSource { file, bytes: mut source, .. } = TraceSource::open(path)?;
        let mut bytes = Vec::new();
        source.read_to_end(&mut bytes).map_err(|error| {
            BadInput::new(file.clone(), At::File, format!("cannot be read: {error}"), "copy it again")
        })?;
        RawLines::parse(bytes).map_err(|what| {
            let mend = "`trace-cmd convert --file-version 6 --compression none` writes one that is read; `trace-cmd report` text is not";
            BadInput::new(file, At::File, format!("as a trace.dat it is not read: {what}"), mend)
        })
    }

    fn parse(bytes: Vec<u8>) -> RawResult<RawLines> {
        let mut head = Cursor { bytes: &bytes, at: HEAD.len() };
        let version = head.word()?;
        if version != b"6" {
            return Err(format!("it is of version {}, not 6", String::from_utf8_lossy(version)));
        }
        if head.number(1)? != 0 {
            return Err("its numbers have the greatest byte first".into());
        }
        let (long, size) = (head.number(1)?, head.number(4)? as usize);
        if !matches!(long, 4 | 8) || !(64..=1 << 20).contains(&size) {
            return Err(format!("pages of {size} bytes and words of {long}"));
        }
        for name in [&b"header_page"[..], b"header_event"] {
            if head.word()? != name {
                return Err("its head is not as it should be".into());
            }
            head.part(8)?;
        }
        let described = describe(&mut head)?;
        head.part(4)?;
        head.part(4)?;
        let names = names(head.part(8)?);
        let mut it = RawLines { described, names, records: Vec::new().into_iter(), lost: 0, bytes: Vec::new() };
        let mut records = Vec::new();
        for (cpu, (from, length)) in buffers(&mut head)?.into_iter().enumerate() {
            let pages = bytes.get(from..from.saturating_add(length)).ok_or("it ends before its records do")?;
            for (i, page) in pages.chunks(size).enumerate() {
                it.lost += read_page(page, from + i * size, (cpu, long as usize), &mut records);
            }
        }
        // Of one instant in the order of the processors.
        records.sort_by_key(|record| (record.at, record.cpu, record.from));
        Ok(RawLines { bytes, records: records.into_iter(), ..it })
    }

    /// The next line of an event that is described.
    pub(super) fn next_line(&mut self) -> Option<String> {
        loop {
            let record = self.records.next()?;
            let data = self.bytes.get(record.from..record.end).unwrap_or_default();
            let event = self.described.get(&little(data.get(..2).unwrap_or_default()));
            if let Some(line) = event.and_then(|event| event.line(data, &record, &self.names)) {
                return Some(line);
            }
        }
    }
}

/// The events that are described, by number.
fn describe(head: &mut Cursor) -> RawResult<BTreeMap<u64, Described>> {
    let mut described = BTreeMap::new();
    let mut one = |head: &mut Cursor| -> RawResult<()> {
        let text = String::from_utf8_lossy(head.part(8)?);
        described.extend(Described::parse(&text));
        Ok(())
    };
    let count = |head: &mut Cursor| -> RawResult<u32> {
        let count = head.number(4)? as u32;
        if count <= MOST_EVENTS { Ok(count) } else { Err(format!("{count} kinds of event")) }
    };
    for _ in 0..count(head)? {
        one(head)?;
    }
    for _ in 0..count(head)? {
        head.word()?;
        for _ in 0..count(head)? {
            one(head)?;
        }
    }
    Ok(described)
}

/// The names of tasks: a line each, `PID NAME`.
fn names(lines: &[u8]) -> BTreeMap<u64, String> {
    let lines = String::from_utf8_lossy(lines);
    let pairs = lines.lines().filter_map(|line| line.trim_start().split_once(' '));
    pairs.filter_map(|(pid, name)| Some((pid.parse().ok()?, name.trim_end_matches('\0').to_owned()))).collect()
}

/// Where the records of each processor lie, and how many bytes they are.
fn buffers(head: &mut Cursor) -> RawResult<Vec<(usize, usize)>> {
    let cpus = head.number(4)?;
    if cpus > 4096 {
        return Err(format!("{cpus} processors"));
    }
    let mut kind = head.take(10)?;
    if kind == b"options  \0" {
        while head.number(2)? != 0 {
            head.part(4)?;
        }
        kind = head.take(10)?;
    }
    if kind != b"flyrecord\0" {
        return Err("it has no records of processors".into());
    }
    (0..cpus).map(|_| Ok((head.number(8)? as usize, head.number(8)? as usize))).collect()
}

/// Reads the records of a page that lies at `place`; how many were lost before it.
fn read_page(page: &[u8], place: usize, (cpu, long): (usize, usize), records: &mut Vec<RingRecord>) -> u64 {
    let word = |at: usize| page.get(at..at + 4).map_or(0, little);
    let (begin, commit) = (8 + long, page.get(8..8 + long).map_or(0, little));
    let end = (begin + (commit & 0xf_ffff) as usize).min(page.len());
    let (mut now, mut at) = (page.get(..8).map_or(0, little), begin);
    while at + 4 <= end {
        let head = word(at);
        let (kind, delta) = (head & 31, head >> 5);
        let extended = word(at + 4) << 27 | delta;
        let (from, next) = match kind {
            // The rest of the page, or a record that was given up.
            29 if delta == 0 => break,
            29 => (None, at + 4 + word(at + 4) as usize),
            30 => {
                now = now.wrapping_add(extended);
                (None, at + 8)
            }
            // A whole time, but for its highest bits.
            31 => {
                now = now & !((1 << 59) - 1) | extended;
                (None, at + 8)
            }
            0 => (Some(at + 8), at + 4 + (word(at + 4) as usize).max(4)),
            words => (Some(at + 4), at + 4 + 4 * words as usize),
        };
        if let Some(from) = from.filter(|_| next <= end) {
            now = now.wrapping_add(delta);
            records.push(RingRecord { at: now, cpu, from: place + from, end: place + next });
        }
        at = next;
    }
    // Records are missing before this page; where there was room, how many stands behind its last one.
    match (commit >> 31 & 1, commit >> 30 & 1) {
        (1, 1) => page.get(end..end + long).map_or(1, little).max(1),
        (1, _) => 1,
        _ => 0,
    }
}

impl Described {
    /// Of the text that the kernel describes an event with.
    fn parse(text: &str) -> Option<(u64, Described)> {
        let mut it = Described {
            name: text.lines().find_map(|line| line.strip_prefix("name: "))?.trim().into(),
            fields: BTreeMap::new(),
        };
        let id = text.lines().find_map(|line| line.strip_prefix("ID: "))?.trim().parse().ok()?;
        for line in text.lines().map(str::trim).filter_map(|line| line.strip_prefix("field:")) {
            // `char prev_comm[16]`, `pid_t prev_pid`, `__data_loc char[] cmd`.
            let declared = line.split(';').next()?.split_whitespace().last()?;
            let name = declared.split('[').next().unwrap_or(declared).to_owned();
            let of = |key: &str| line.split(';').find_map(|part| part.trim().strip_prefix(key)?.parse().ok());
            it.fields.insert(name, DataField { offset: of("offset:")?, size: of("size:")? });
        }
        Some((id, it))
    }

    fn bytes<'a>(&self, data: &'a [u8], name: &str) -> Option<&'a [u8]> {
        let field = self.fields.get(name)?;
        data.get(field.offset..field.offset.checked_add(field.size)?)
    }

    fn number(&self, data: &[u8], name: &str) -> Option<u64> {
        self.bytes(data, name).map(little)
    }

    /// The line of text that ftrace writes of a record, as far as it is read.
    fn line(&self, data: &[u8], record: &RingRecord, names: &BTreeMap<u64, String>) -> Option<String> {
        let of = |name| self.number(data, name);
        let (task, flags) = (of("common_pid")?, of("common_flags")?);
        let interrupt = if flags & HARD != 0 {
            'h'
        } else if flags & SOFT != 0 {
            's'
        } else {
            '.'
        };
        let name = if task == 0 { "<idle>" } else { names.get(&task).map_or("<...>", String::as_str) };
        let (seconds, rest) = (record.at / 1_000_000_000, record.at % 1_000_000_000);
        let mut line = format!("{name}-{task} [{:03}] ..{interrupt}.. {seconds}.{rest:09}: ", record.cpu);
        let fields = WRITTEN.iter().find(|(name, _)| *name == self.name).map_or(&[][..], |(_, fields)| *fields);
        if fields.iter().any(|name| !self.fields.contains_key(*name)) {
            return None;
        }
        let written = match self.name.as_str() {
            "sched_switch" => {
                let (from, to) = (of("prev_pid")?, of("next_pid")?);
                write!(line, "sched_switch: prev_pid={from} prev_state={} ==> next_pid={to}", state(of("prev_state")?))
            }
            "sched_waking" | "sched_wakeup_new" => write!(line, "{}: pid={}", self.name, of("pid")?),
            "sched_process_fork" => write!(line, "sched_process_fork: child_pid={}", of("child_pid")?),
            "block_rq_insert" | "block_rq_issue" | "block_rq_complete" => {
                let (device, rwbs) = (of("dev")?, self.bytes(data, "rwbs")?);
                let rwbs = String::from_utf8_lossy(rwbs.split(|byte| *byte == 0).next().unwrap_or_default());
                let (major, minor) = (device >> 20, device & 0xf_ffff);
                write!(line, "{}: {major},{minor} {rwbs} () {} + {}", self.name, of("sector")?, of("nr_sector")?)
            }
            call => match call.strip_prefix("sys_exit_") {
                Some(call) => write!(line, "sys_{call} -> 0x0"),
                None => write!(line, "{}:", call.replacen("sys_enter_", "sys_", 1)),
            },
        };
        written.ok().map(|()| line)
    }
}

/// The letter of a state that a task leaves its processor in (include/linux/sched.h).
fn state(bits: u64) -> char {
    match bits & 0xff {
        0 => 'R',
        bits => ['S', 'D', 'T', 't', 'X', 'Z', 'P', 'I'][bits.trailing_zeros() as usize & 7],
    }
}

#[cfg(test)]
mod tests {
    use super::super::Recording;
    use super::*;

    /// Events as a test has them: processor, nanoseconds, task, flags, name, the text of its fields, and these as the kernel has them.
    type Event = (usize, u64, u32, u8, &'static str, &'static str, Vec<(&'static str, Vec<u8>)>);

    fn four(number: u32) -> Vec<u8> {
        number.to_le_bytes().to_vec()
    }

    fn io(name: &'static str, text: &'static str, (sector, sectors, rwbs): (u64, u32, &str)) -> Event {
        let mut letters = rwbs.as_bytes().to_vec();
        letters.resize(10, 0);
        let fields = vec![
            ("dev", four(254 << 20 | 3)),
            ("sector", sector.to_le_bytes().to_vec()),
            ("nr_sector", four(sectors)),
            ("rwbs[10]", letters),
        ];
        (0, 0, 7, 0, name, text, fields)
    }

    fn events() -> Vec<Event> {
        let switch = |from: u32, state: u32, to: u32| {
            let comm = ("prev_comm[16]", vec![b'x'; 16]);
            vec![
                comm,
                ("prev_pid", four(from)),
                ("prev_state", u64::from(state).to_le_bytes().to_vec()),
                ("next_pid", four(to)),
            ]
        };
        let at = |(_, _, _, _, name, text, fields): Event, cpu, ns, task, flags| -> Event {
            (cpu, ns, task, flags, name, text, fields)
        };
        vec![
            (0, 1_000, 7, 0, "sys_enter_read", "sys_read(fd: 3)", vec![]),
            at(io("block_rq_insert", "block_rq_insert: 254,3 RA 4096 () 800 + 8 be", (800, 8, "RA")), 0, 2_001, 7, 0),
            (1, 2_001, 9, 4, "sched_switch", "sched_switch: prev_pid=9 prev_state=R+ next_pid=0", switch(9, 0x100, 0)),
            (0, 3_000, 7, 0, "sched_switch", "sched_switch: prev_pid=7 prev_state=D next_pid=0", switch(7, 2, 0)),
            (0, 900_000_003_000, 0, 9, "irq_handler_entry", "irq_handler_entry: irq=3", vec![("irq", four(3))]),
            at(
                io("block_rq_complete", "block_rq_complete: 254,3 RA () 800 + 8 [0]", (800, 8, "RA")),
                0,
                900_000_003_500,
                0,
                16,
            ),
            (0, 900_000_003_600, 0, 9, "sched_waking", "sched_waking: comm=a pid=7", vec![("pid", four(7))]),
            (0, 900_000_003_700, 0, 9, "irq_handler_exit", "irq_handler_exit: irq=3", vec![]),
            (
                1,
                900_000_003_800,
                0,
                0,
                "sched_switch",
                "sched_switch: prev_pid=8 prev_state=I next_pid=9",
                switch(8, 0x80, 9),
            ),
            (
                1,
                900_000_004_000,
                9,
                0,
                "sched_process_fork",
                "sched_process_fork: child_pid=12",
                vec![("child_pid", four(12))],
            ),
            (1, 900_000_005_000, 9, 0, "sys_exit_read", "sys_read -> 0x10", vec![]),
            (1, 900_000_006_000, 9, 0, "sched_process_exit", "sched_process_exit: pid=9", vec![]),
        ]
    }

    fn as_text() -> String {
        let line = |(cpu, ns, task, flags, _, text, _): Event| {
            let name = if task == 0 { "<idle>".into() } else { format!("task {task}") };
            let interrupt = if flags & 8 > 0 {
                'h'
            } else if flags & 16 > 0 {
                's'
            } else {
                '.'
            };
            format!(
                "{name}-{task} [{cpu:03}] ..{interrupt}.. {}.{:09}: {text}\n",
                ns / 1_000_000_000,
                ns % 1_000_000_000
            )
        };
        format!("# tracer: nop\n{}", events().into_iter().map(line).collect::<String>())
    }

    /// A record: its head, and its data in whole words; a time too far from the last in a record of its own.
    fn record(event: &Event, last: u64, long: bool) -> Vec<u8> {
        let (_, ns, task, flags, name, _, fields) = event;
        let mut data = (id(name) as u16).to_le_bytes().to_vec();
        data.extend([*flags, 0]);
        data.extend(four(*task));
        fields.iter().for_each(|(_, bytes)| data.extend(bytes));
        data.resize(data.len().next_multiple_of(4), 0);
        let mut bytes = Vec::new();
        let mut delta = ns - last;
        if delta >> 27 > 0 {
            bytes.extend(four(30 | (delta as u32 & 0x7ff_ffff) << 5));
            bytes.extend(four((delta >> 27) as u32));
            delta = 0;
        }
        if long {
            bytes.extend(four((delta as u32) << 5));
            bytes.extend(four(data.len() as u32 + 4));
        } else {
            bytes.extend(four((data.len() as u32 / 4) | ((delta as u32) << 5)));
        }
        bytes.extend(data);
        bytes
    }

    fn id(name: &str) -> usize {
        10 + events().iter().position(|event| event.4 == name).expect("it is one of them")
    }

    /// A file of these events, so many records a page.
    fn file(each: usize, long: bool, version: &str) -> Vec<u8> {
        let sized = |size: usize, text: &[u8]| [&(text.len() as u64).to_le_bytes()[..size], text].concat();
        let mut bytes = [HEAD, version.as_bytes(), &[0, 0, 8][..], &four(4096)[..]].concat();
        bytes.extend(
            [&b"header_page\0"[..], &sized(8, b"any")[..], &b"header_event\0"[..], &sized(8, b"")[..]].concat(),
        );
        let mut described: Vec<String> = Vec::new();
        for (.., name, _, fields) in events() {
            let mut text = format!(
                "name: {name}\nID: {}\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n",
                id(name)
            );
            let mut offset = 8;
            for (field, value) in fields {
                text += &format!("\tfield:u32 {field};\toffset:{offset};\tsize:{};\tsigned:0;\n", value.len());
                offset += value.len();
            }
            described.push(text);
        }
        bytes.extend(four(1));
        bytes.extend(sized(8, described[0].as_bytes()));
        bytes.extend([&four(1)[..], &b"sched\0"[..], &four(described.len() as u32 - 1)[..]].concat());
        described[1..].iter().for_each(|text| bytes.extend(sized(8, text.as_bytes())));
        bytes.extend([sized(4, b"symbols"), sized(4, b""), sized(8, b"7 task 7\n9 task 9\n")].concat());
        bytes.extend(
            [&four(2)[..], &b"options  \0"[..], &[3, 0][..], &sized(4, b"xy")[..], &[0, 0][..], &b"flyrecord\0"[..]]
                .concat(),
        );
        let places = bytes.len();
        bytes.resize((places + 32).next_multiple_of(4096), 0);
        for cpu in 0..2 {
            let from = bytes.len();
            let of_cpu: Vec<Event> = events().into_iter().filter(|event| event.0 == cpu).collect();
            for some in of_cpu.chunks(each) {
                let mut last = some[0].1;
                let mut page = last.to_le_bytes().to_vec();
                page.extend([0; 8]);
                for event in some {
                    page.extend(record(event, last, long));
                    last = event.1;
                }
                // The first page of the second processor says that two were lost before it.
                let missed: u64 = if cpu == 1 && bytes.len() == from { 3 << 30 } else { 0 };
                let commit = (page.len() as u64 - 16) | missed;
                page[8..16].copy_from_slice(&commit.to_le_bytes());
                page.extend(2u64.to_le_bytes());
                page.resize(4096, 0);
                bytes.extend(page);
            }
            let length = (bytes.len() - from) as u64;
            let place = places + 16 * cpu;
            bytes[place..place + 8].copy_from_slice(&(from as u64).to_le_bytes());
            bytes[place + 8..place + 16].copy_from_slice(&length.to_le_bytes());
        }
        bytes
    }

    fn all(name: &str, bytes: &[u8]) -> Result<(Vec<super::super::KernelEvent>, Recording), BadInput> {
        let path = std::env::temp_dir().join(format!("halfturn-{}-raw-{name}", std::process::id()));
        std::fs::write(&path, bytes).expect("there is room");
        let read = || {
            assert!(super::super::looks(&path)?);
            let mut recording = Recording::open(&path)?;
            let mut events = Vec::new();
            while let Some(event) = recording.next_event()? {
                events.push(event);
            }
            Ok((events, recording))
        };
        let it = read();
        std::fs::remove_file(&path).expect("it is there");
        it
    }

    #[test]
    fn records_say_what_lines_of_text_say() {
        let (text, by_text) = all("text", as_text().as_bytes()).expect("it is in order");
        for (each, long) in [(1, false), (3, true), (100, false), (100, true)] {
            let (raw, by_raw) = all(&format!("{each}-{long}"), &file(each, long, "6")).expect("it is in order");
            assert_eq!(raw, text, "{each} a page");
            assert_eq!((by_raw.names, by_raw.lost), (by_text.names.clone(), 2));
        }
    }

    #[test]
    fn what_is_cut_off_or_of_another_version_is_told_and_nothing_panics() {
        let whole = file(3, false, "6");
        let told = |bytes: &[u8]| all("bad", bytes).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(told(&file(3, false, "7")).contains("version 7"));
        assert!(told(&whole[..300]).contains("in the midst of its head"));
        assert!(told(&whole[..whole.len() - 1]).contains("before its records do"));
        // Any byte of it wrong: read or refused.
        for at in (10..whole.len()).step_by(7) {
            let mut wrong = whole.clone();
            wrong[at] ^= 0x5a;
            let _ = RawLines::parse(wrong).map(|mut lines| std::iter::from_fn(|| lines.next_line()).count());
        }
    }
}
