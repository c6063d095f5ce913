//! blktrace's binary files, one a CPU, merged by time.
//!
//! Version 1 (magic `0x65617407`) and version 2 (`..08`, with a 64-bit action), of either byte order; the
//! layouts are those of Linux's `uapi/linux/blktrace_api.h`. A record is a header and `pdu_len` further bytes.
//! Records of equal time come in the order of the files, so the merged sequence is the same every time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::path::{Path, PathBuf};

use block::{BadInput, Time};

use crate::events::{EventOp, Events, RequestEvent, Transition};
use crate::feed::TraceFeed;
use crate::format::{Example, FormatEntry, ReadMethod};
use crate::reader::{Fault, FormatReader, ReadLedger, TraceDevice, TraceRecord};

pub(crate) static FORMAT: FormatEntry = FormatEntry {
    name: "blktrace",
    title: "blktrace's binary files, version 1 and 2, one for each CPU",
    text: "What Linux does with the requests of a block device, as `blktrace -d /dev/sda -o sda` records it: a file \
           for each CPU, `sda.blktrace.0` and on, of which any, or the common name `sda`, stands for all. A request \
           is an event Q (queue); completions without an issue are counted. Times are nanoseconds of the kernel's \
           clock, sectors 512 bytes; the device is its major and minor number. Both byte orders and both versions \
           are read; a write with a flush before it becomes a flush and a write.",
    examples: &[
        Example {
            bytes:
                b"\x07tae\x01\0\0\0\x01\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0\0\x10\0\0\x01\0\x11\0M\0\0\0\x03\0p\0\0\0\0\0\
                \0\0\x03\0pdu\
                \x07tae\x01\0\0\0\x02\0\0\0\0\0\0\0\x10\0\0\0\0\0\0\0\0\x10\0\0\x01\0\x1e\x90M\0\0\0\x03\0p\0\0\0\0\
                \0\0\0\x03\0pdu\
                \x07tae\x01\0\0\0\x04\0\0\0\0\0\0\0\x20\0\0\0\0\0\0\0\0\x10\0\0\x01\0\x12\x20M\0\0\0\x03\0p\0\0\0\0\
                \0\0\0\x03\0pdu\
                \x07tae\x01\0\0\0\x05\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0\0\x10\0\0\x07\0\x01\0M\0\0\0\x03\0p\0\0\0\0\0\
                \0\0\x03\0pdu\
                \x07tae\x01\0\0\0\x06\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0\0\0\0\0\x08\0\x01\0M\0\0\0\x03\0p\0\0\0\0\0\0\
                \0\x03\0pdu",
            requests: 3,
        },
        Example {
            bytes:
                b"eat\x08\0\0\0\x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x08\0\0\x10\0\0\0\0M\0\0\0\0\0\x11\0\x01\0p\0\x03\
                \0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\0\0\0\0\0pdu\
                eat\x08\0\0\0\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x10\0\0\x10\0\0\0\0M\0\0\0\0\x90\x1e\0\x01\0p\0\
                \x03\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\0\0\0\0\0pdu\
                eat\x08\0\0\0\x01\0\0\0\0\0\0\0\x04\0\0\0\0\0\0\0\x20\0\0\x10\0\0\0\0M\0\0\0\0\x20\x12\0\x01\0p\0\
                \x03\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\0\0\0\0\0pdu\
                eat\x08\0\0\0\x01\0\0\0\0\0\0\0\x05\0\0\0\0\0\0\0\x08\0\0\x10\0\0\0\0M\0\0\0\0\0\x01\0\x07\0p\0\x03\
                \0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\0\0\0\0\0pdu\
                eat\x08\0\0\0\x01\0\0\0\0\0\0\0\x06\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0M\0\0\0\0\0\x01\0\x08\0p\0\x03\0\
                \0\0\0\0\0\0\x03\0\0\0\0\0\0\0\0\0\0\0\0pdu",
            requests: 3,
        },
    ],
    read: ReadMethod::PerCpu { looks, open: reader },
    write: None,
};

/// The upper 24 bits of the magic number; the lower 8 are the version.
const MAGIC: u32 = 0x0065_6174;
const V1_BYTES: usize = 48;
const V2_BYTES: usize = 64;

/// Action: what happened, in the low bits of the action word. Bit 8 only says that a cgroup follows.
const EVENT: u64 = 0xff;
const QUEUE: u64 = 1;
const ISSUE: u64 = 7;
const COMPLETE: u64 = 8;
/// The last event known: the unplugging of a zone, of version 2.
const LAST_KNOWN: u64 = 19;

/// Categories, in the bits of the action word from 16 on.
const READ: u64 = 1 << 16;
const WRITE: u64 = 1 << 17;
const FLUSH: u64 = 1 << 18;
const PASS_THROUGH: u64 = 1 << 25;
const NOTIFY: u64 = 1 << 26;
const DISCARD: u64 = 1 << 29;
const FUA: u64 = 1 << 31;

/// Whether a file begins like blktrace's, of whatever version.
pub(crate) fn looks(start: &[u8]) -> bool {
    start.first_chunk().is_some_and(|magic| version(*magic).is_some())
}

/// The version and whether the byte order is big-endian.
fn version(magic: [u8; 4]) -> Option<(u32, bool)> {
    let (little, big) = (u32::from_le_bytes(magic), u32::from_be_bytes(magic));
    if little >> 8 == MAGIC {
        Some((little & 0xff, false))
    } else if big >> 8 == MAGIC {
        Some((big & 0xff, true))
    } else {
        None
    }
}

/// Reads the files of all CPUs.
pub(crate) fn reader(feeds: Vec<TraceFeed>) -> Box<dyn FormatReader> {
    let stale = (0..feeds.len()).collect();
    let cpus = feeds.into_iter().map(|feed| CpuStream { feed: feed.by_records(), head: None }).collect();
    Box::new(Blktrace { cpus, stale, order: BinaryHeap::new(), devices: HashMap::new(), events: Events::default() })
}

struct Blktrace {
    cpus: Vec<CpuStream>,
    /// CPUs whose head is to be read before the next record can be chosen.
    stale: Vec<usize>,
    /// Time of head and CPU of the others.
    order: BinaryHeap<Reverse<(Time, usize)>>,
    devices: HashMap<u32, TraceDevice>,
    events: Events,
}

struct CpuStream {
    feed: TraceFeed,
    head: Option<RecordHeader>,
}

/// The header of a record, in either version.
#[derive(Clone, Copy)]
struct RecordHeader {
    time: Time,
    sector: u64,
    bytes: u32,
    action: u64,
    device: u32,
}

impl FormatReader for Blktrace {
    fn next(&mut self, ledger: &mut ReadLedger) -> Result<Option<TraceRecord>, BadInput> {
        loop {
            while let Some(cpu) = self.stale.pop() {
                self.cpus[cpu].head = self.cpus[cpu].read()?;
                if let Some(head) = &self.cpus[cpu].head {
                    self.order.push(Reverse((head.time, cpu)));
                }
            }
            let Some(Reverse((_, cpu))) = self.order.pop() else { return Ok(None) };
            self.stale.push(cpu);
            let Some(header) = self.cpus[cpu].head.take() else { continue };
            ledger.counts.records += 1;
            match self.request(header, ledger) {
                Ok(None) => {}
                Ok(request) => return Ok(request),
                Err(fault) => return Err(self.cpus[cpu].feed.bad(fault)),
            }
        }
    }
}

impl Blktrace {
    fn request(&mut self, header: RecordHeader, ledger: &mut ReadLedger) -> Result<Option<TraceRecord>, Fault> {
        let RecordHeader { time, sector, bytes, action, device } = header;
        let kind = match action {
            _ if action & PASS_THROUGH != 0 => EventOp::Other,
            _ if action & DISCARD != 0 => EventOp::Discard,
            _ if action & WRITE != 0 => EventOp::Write,
            _ if action & READ != 0 => EventOp::Read,
            _ => EventOp::Other,
        };
        let what = match action & EVENT {
            _ if action & NOTIFY != 0 => return Ok(None),
            QUEUE => Transition::Queue,
            ISSUE => Transition::Issue,
            COMPLETE => Transition::Complete,
            event => {
                ledger.counts.unknown_events += u64::from(!(1..=LAST_KNOWN).contains(&event));
                return Ok(None);
            }
        };
        let event = RequestEvent {
            time,
            device: self.device(device, ledger)?,
            action: what,
            kind,
            preflush: action & FLUSH != 0,
            fua: action & FUA != 0,
            sector,
            bytes: u64::from(bytes),
        };
        self.events.request(event, ledger)
    }

    /// The device of a kernel device number, of 12 bits major and 20 bits minor.
    fn device(&mut self, number: u32, ledger: &mut ReadLedger) -> Result<TraceDevice, Fault> {
        if let Some(device) = self.devices.get(&number) {
            return Ok(*device);
        }
        let device = ledger.devices.intern(format!("{},{}", number >> 20, number & 0xf_ffff).as_bytes())?;
        self.devices.insert(number, device);
        Ok(device)
    }
}

impl CpuStream {
    fn read(&mut self) -> Result<Option<RecordHeader>, BadInput> {
        let start = self.feed.peek(V2_BYTES)?;
        let (size, big) = match start.first_chunk().map(|magic| version(*magic)) {
            Some(Some((7, big))) => (V1_BYTES, big),
            Some(Some((8, big))) => (V2_BYTES, big),
            Some(other) => {
                let fault = other.map_or_else(
                    || Fault::new(format!("no blktrace record begins here ({} is not its magic)", hex(&start[..4]))),
                    |(version, _)| {
                        let what = format!("blktrace version {version} is not known (7 and 8 are)");
                        Fault::with_mend(what, "make text of the files with blkparse, and read that")
                    },
                );
                self.feed.record(4)?;
                return Err(self.feed.bad(fault));
            }
            None => (V1_BYTES, false),
        };
        let bytes = Bytes { bytes: start, big };
        let payload =
            if start.len() < size { 0 } else { usize::from(bytes.u16(if size == V1_BYTES { 46 } else { 50 })) };
        let Some(record) = self.feed.record(size + payload)? else { return Ok(None) };
        let record = Bytes { bytes: record, big };
        let (time, sector, bytes) = (Time(record.u64(8)), record.u64(16), record.u32(24));
        let (action, device) = if size == V1_BYTES {
            (u64::from(record.u32(28)), record.u32(36))
        } else {
            (record.u64(32), record.u32(40))
        };
        Ok(Some(RecordHeader { time, sector, bytes, action, device }))
    }
}

/// Numbers of either byte order at places inside a record.
struct Bytes<'a> {
    bytes: &'a [u8],
    big: bool,
}

impl Bytes<'_> {
    fn at<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut bytes = [0; N];
        bytes.copy_from_slice(&self.bytes[at..at + N]);
        if self.big {
            bytes.reverse();
        }
        bytes
    }

    fn u16(&self, at: usize) -> u16 {
        u16::from_le_bytes(self.at(at))
    }

    fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.at(at))
    }

    fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.at(at))
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The files `path` stands for: itself, unless it is one of blktrace's or the bare name of them all.
#[must_use]
pub fn files(path: &Path) -> Vec<PathBuf> {
    let cpus = cpu_files(path);
    let one_of_them = cpus.iter().any(|cpu| cpu == path);
    let bare_name = !path.is_file() && !cpus.is_empty();
    if one_of_them || bare_name { cpus } else { vec![path.to_owned()] }
}

/// The files of all CPUs beside `path`, by number of CPU.
fn cpu_files(path: &Path) -> Vec<PathBuf> {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Vec::new() };
    let stem = match name.rsplit_once(".blktrace.") {
        Some((stem, rest)) if cpu(rest).is_some() => stem,
        _ => name,
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<(u32, String)> = entries
        .filter_map(|entry| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            let rest = name.strip_prefix(stem)?.strip_prefix(".blktrace.")?;
            Some((cpu(rest)?, name))
        })
        .collect();
    files.sort();
    // The folder stays as the user wrote it, for the messages.
    files.into_iter().map(|(_, name)| path.with_file_name(name)).collect()
}

/// The CPU's number at the end of a file name, before what compression may have added.
fn cpu(rest: &str) -> Option<u32> {
    let number = rest
        .split_once('.')
        .map_or(rest, |(number, packing)| if matches!(packing, "gz" | "zst" | "bz2" | "xz") { number } else { "" });
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Fields, feed, read};
    use block::{At, Extent, Op};

    /// Time, sector, bytes and action of a blktrace event.
    type Raw = (u64, u64, u32, u64);

    /// The number of a device, as the kernel has it.
    const fn kernel_number(major: u32, minor: u32) -> u32 {
        major << 20 | minor
    }

    /// A device for each time, all with other bytes.
    fn device_at(time: u64) -> (u32, u32) {
        (0x102 + time as u32, 0x3_0405 + 7 * time as u32)
    }

    /// A blktrace record of version 1.
    fn blktrace_v1(big: bool, (time, sector, bytes, action): Raw, payload: &[u8]) -> Vec<u8> {
        let mut out = Fields { big, bytes: Vec::new() };
        out.u32(0x6561_7407).u32(1).u64(time).u64(sector).u32(bytes).u32(action as u32);
        let (major, minor) = device_at(time);
        out.u32(77).u32(kernel_number(major, minor)).u32(0x0a0b_0c0d).u16(0x0e0f).u16(payload.len() as u16);
        out.bytes.extend_from_slice(payload);
        out.bytes
    }

    /// A blktrace record of version 2.
    fn blktrace_v2(big: bool, (time, sector, bytes, action): Raw, payload: &[u8]) -> Vec<u8> {
        let mut out = Fields { big, bytes: Vec::new() };
        out.u32(0x6561_7408).u32(1).u64(time).u64(sector).u32(bytes).u32(77).u64(action);
        let (major, minor) = device_at(time);
        out.u32(kernel_number(major, minor)).u32(0x0a0b_0c0d).u16(0x0e0f).u16(payload.len() as u16);
        out.bytes.extend_from_slice(&[0x5a; 12]);
        out.bytes.extend_from_slice(payload);
        out.bytes
    }

    /// QUEUE with the categories queue and sync besides those given.
    const Q: u64 = QUEUE | 1 << 20 | 1 << 19;

    #[test]
    fn both_versions_and_byte_orders_read_alike() {
        let queue = |time, action| (time, 800, 4096, action);
        let events = [
            queue(5, Q | WRITE | FUA | FLUSH),
            queue(6, Q | READ),
            (7, 0, 0, Q | WRITE | FLUSH),
            queue(8, Q | WRITE | DISCARD),
        ];
        let mut all = Vec::new();
        for big in [false, true] {
            for write in [blktrace_v1, blktrace_v2] {
                let bytes: Vec<u8> = events.iter().flat_map(|event| write(big, *event, b"payload")).collect();
                assert!(looks(&bytes));
                let (records, mut ledger) = read(|_| Ok(reader(vec![feed(bytes)])));
                for (number, (time, ..)) in (0..).zip(events) {
                    let (major, minor) = device_at(time);
                    let known = ledger.devices.intern(format!("{major},{minor}").as_bytes());
                    assert_eq!(known, Ok(TraceDevice(number)), "{major},{minor}");
                }
                assert_eq!(
                    (ledger.counts.records, ledger.counts.preflushes, ledger.counts.discards_skipped),
                    (4, 1, 1)
                );
                all.push(records.unwrap());
            }
        }
        let ops: Vec<Op> = all[0].iter().map(|record| record.op).collect();
        assert_eq!(ops, [Op::Flush, Op::Write { fua: true }, Op::Read, Op::Flush]);
        assert_eq!((all[0][1].time, all[0][1].at), (Time(5), Extent::new(800, 8)));
        assert!(all.iter().all(|records| *records == all[0]));
    }

    #[test]
    fn cpus_merge_by_time_and_ties_by_file() {
        let file = |times: &[u64], sector| -> Vec<u8> {
            times.iter().flat_map(|time| blktrace_v1(false, (*time, sector, 512, Q | READ), b"")).collect()
        };
        let feeds = vec![feed(file(&[1, 4, 4], 10)), feed(""), feed(file(&[2, 4, 9], 20))];
        let (records, ledger) = read(|_| Ok(reader(feeds)));
        let order: Vec<_> = records.unwrap().iter().map(|record| (record.time.0, record.at.start.0)).collect();
        assert_eq!(order, [(1, 10), (2, 20), (4, 10), (4, 10), (4, 20), (9, 20)]);
        assert_eq!(ledger.counts.records, 6);
    }

    #[test]
    fn damage_is_found_where_it_is() {
        let one = blktrace_v1(false, (1, 8, 512, Q | READ), b"pdu");
        let mut bytes = one.repeat(3);
        bytes[2 * one.len()] ^= 0x10;
        let error = read(|_| Ok(reader(vec![feed(&bytes)]))).0.unwrap_err();
        assert_eq!(error.at, At::Record(3));
        let error = read(|_| Ok(reader(vec![feed(&one.repeat(2)[..one.len() + 50])]))).0.unwrap_err();
        assert_eq!(error.at, At::Record(2));
        assert!(error.what.contains("after 50 of its 51 bytes (records before it: 1)"), "{}", error.what);
    }

    #[test]
    fn notices_and_strangers_are_no_requests() {
        let bytes = [(1, 0, 0, NOTIFY), (2, 0, 0, 200), (3, 0, 0, 12 | 1 << 20)]
            .iter()
            .flat_map(|event| blktrace_v1(false, *event, b""))
            .collect::<Vec<u8>>();
        let (records, ledger) = read(|_| Ok(reader(vec![feed(bytes)])));
        assert!(records.unwrap().is_empty());
        assert_eq!((ledger.counts.records, ledger.counts.unknown_events), (3, 1));
    }

    #[test]
    fn names_of_cpu_files_may_end_in_a_packing() {
        assert_eq!((cpu("12"), cpu("3.gz"), cpu("3.txt"), cpu("x")), (Some(12), Some(3), None, None));
    }
}
