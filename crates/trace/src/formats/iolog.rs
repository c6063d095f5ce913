//! fio's iologs, version 2 and 3: after a first line that names the version, a line an action, between blanks:
//! `file action [offset length]`, in version 3 with a time before it. Offset and length are in bytes.
//!
//! Times of version 3 are microseconds from the beginning of the run: fio's manual does not say so, its source does.
//! Version 2 has no times, only waits of so many microseconds from the wait before; requests between two waits
//! arrive at once. A file is a device; what syncs it is a flush.
//!
//! Source: fio's HOWTO, "Trace file format v2" and "v3", and its `iolog.c`.

use std::io::{self, BufWriter, Write};

use block::{BLOCK_BYTES, Extent, Op, Time};

use crate::feed::TraceFeed;
use crate::format::{Example, FormatEntry, ReadMethod};
use crate::lines::{LineParser, Lines, ParsedLine, words, wrong_columns};
use crate::number::{TimeUnit, extent, quote, time, whole};
use crate::reader::{Fault, FormatReader, ReadLedger, TraceRecord};
use crate::write::{FormatWriter, Lost, Names, Writing, names};

pub(crate) static FORMAT: FormatEntry = FormatEntry {
    name: "iolog",
    title: "fio's iolog, version 2 (which has waits, but no times) and 3",
    text: "What fio writes with `--write_iolog=FILE` and replays with `--read_iolog`. After a first line that names \
           the version, lines of file, action, offset, length, in version 3 with a time before them; a file is a \
           device, what syncs it a flush, and trims are left out. Offsets and lengths are bytes. Times of version 3 \
           are microseconds from the beginning of the run; version 2 has only waits of so many microseconds, and \
           requests between two waits arrive at once.",
    examples: &[
        Example { bytes: b"fio version 2 iolog\n/dev/sda add\n/dev/sda open\n/dev/sda read 4096 4096\n/dev/sda write 8192 4096\n\
                /dev/sda wait 2500 0\n/dev/sda datasync 0 0\n/dev/sda wait 1000 0\n/dev/sda read 4096 4096\n/dev/sda close\n", requests: 4 },
        Example { bytes: b"fio version 3 iolog\n2 a add\n2 b add\n872 a open\n878 a write 0 16384\n880 a wait 5 0\n888 b read 4100 600\n\
                889 a trim 0 4096\n890 b read 0 0\n891 a sync 0 0\n10001677 a close\n10001677 b close\n", requests: 3 },
    ],
    read: ReadMethod::Begin { looks, open: |feed, _| Ok(reader(feed)) },
    write: Some(WRITING),
};

const V2: &[u8] = b"fio version 2 iolog";
const V3: &[u8] = b"fio version 3 iolog";

/// Reads a log that fio wrote, of version 2 or 3.
pub(crate) fn reader(feed: TraceFeed) -> Box<dyn FormatReader> {
    Box::new(Lines::new(feed, Iolog { version: None, waited: 0 }))
}

/// Whether a file that starts so is an iolog.
pub(crate) fn looks(start: &[u8]) -> bool {
    start.starts_with(V2) || start.starts_with(V3)
}

#[derive(Clone, Copy, PartialEq)]
enum Version {
    Two,
    Three,
}

struct Iolog {
    /// Nothing before the first line.
    version: Option<Version>,
    /// Of version 2: the waits so far, in nanoseconds.
    waited: u64,
}

impl Iolog {
    fn first(&mut self, line: &[u8], ledger: &mut ReadLedger) -> Result<ParsedLine, Fault> {
        self.version = match line.trim_ascii() {
            V2 => Some(Version::Two),
            V3 => Some(Version::Three),
            _ => {
                return Err(Fault::with_mend(
                    "the first line is neither 'fio version 2 iolog' nor 'fio version 3 iolog'",
                    "name a log that fio's write_iolog made; if it has another format, name it with --trace-format",
                ));
            }
        };
        ledger.counts.untimed = self.version == Some(Version::Two);
        Ok(ParsedLine::Remark)
    }

    /// Takes the wait of a line of version 2.
    fn wait(&mut self, us: &[u8]) -> Result<ParsedLine, Fault> {
        let wait = time("wait", us, TimeUnit::Us)?;
        self.waited = self.waited.checked_add(wait).ok_or_else(|| {
            Fault::with_mend(
                "the waits add up to more nanoseconds than 64 bits hold",
                "correct the waits; they are microseconds, each from the wait before",
            )
        })?;
        Ok(ParsedLine::Remark)
    }
}

impl LineParser for Iolog {
    fn parse(&mut self, line: &[u8], ledger: &mut ReadLedger) -> Result<ParsedLine, Fault> {
        let Some(version) = self.version else { return self.first(line, ledger) };
        let mut rest = words(line);
        let mut column = || rest.next().unwrap_or_default();
        let at = if version == Version::Three { column() } else { &[] };
        let (file, action, offset, length) = (column(), column(), column(), column());
        let wrong = || {
            let wanted = match version {
                Version::Two => "2 or 4 of iolog 2 (file action [offset length])",
                Version::Three => "3 or 5 of iolog 3 (time file action [offset length])",
            };
            Err(wrong_columns(words(line).count(), wanted))
        };
        if action.is_empty() || rest.next().is_some() {
            return wrong();
        }
        let at = if version == Version::Three { time("time", at, TimeUnit::Us)? } else { self.waited };
        let op = match action {
            b"add" | b"open" | b"close" if offset.is_empty() => return Ok(ParsedLine::Remark),
            b"wait" if version == Version::Two => return self.wait(offset),
            // fio itself passes over a wait where there are times.
            b"wait" => {
                ledger.counts.unknown_events += 1;
                return Ok(ParsedLine::Skipped);
            }
            b"read" => Op::Read,
            b"write" => Op::Write { fua: false },
            b"sync" | b"datasync" | b"syncfs" => Op::Flush,
            b"trim" => {
                ledger.counts.discards_skipped += 1;
                return Ok(ParsedLine::Skipped);
            }
            b"sync_file_range" => {
                ledger.counts.other_commands += 1;
                return Ok(ParsedLine::Skipped);
            }
            b"add" | b"open" | b"close" => return wrong(),
            _ => return Err(Fault::new(format!("action '{}' is none of fio's", quote(action)))),
        };
        let place = if op == Op::Flush {
            Extent::default()
        } else {
            if length.is_empty() {
                return wrong();
            }
            let (place, unaligned) = extent(whole("offset", offset)?, 1, whole("length", length)?, 1)?;
            if place.blocks == 0 {
                ledger.counts.empty += 1;
                return Ok(ParsedLine::Skipped);
            }
            ledger.counts.unaligned += u64::from(unaligned);
            place
        };
        let device = ledger.devices.intern(file)?;
        Ok(ParsedLine::Request(TraceRecord { time: Time(at), device, op, at: place, response: None }))
    }
}

const WRITING: Writing = Writing {
    endings: &["iolog"],
    names: names::word,
    flushes: true,
    whole: false,
    resolution_ns: NS_A_US,
    open: Some(|out| Ok(Box::new(Log::new(out)?))),
};

const NS_A_US: u64 = 1_000;

/// Writes version 3. A device is added and opened where it first appears, and closed at the end, as fio wants it.
struct Log<W: Write> {
    out: BufWriter<W>,
    /// Whether each device is open.
    open: Vec<bool>,
    /// When the last request came.
    last_us: u64,
}

impl<W: Write> Log<W> {
    fn new(out: W) -> io::Result<Log<W>> {
        let mut out = BufWriter::new(out);
        out.write_all(V3)?;
        out.write_all(b"\n")?;
        Ok(Log { out, open: Vec::new(), last_us: 0 })
    }
}

impl<W: Write> FormatWriter for Log<W> {
    fn put(&mut self, record: &TraceRecord, device: &str, lost: &mut Lost) -> io::Result<()> {
        lost.rounded += u64::from(!record.time.0.is_multiple_of(NS_A_US));
        let us = record.time.0 / NS_A_US + u64::from(record.time.0 % NS_A_US >= NS_A_US / 2);
        self.last_us = us;
        let index = record.device.0 as usize;
        if index >= self.open.len() {
            self.open.resize(index + 1, false);
        }
        if !std::mem::replace(&mut self.open[index], true) {
            writeln!(self.out, "{us} {device} add\n{us} {device} open")?;
        }
        let action = match record.op {
            Op::Read | Op::Repair => "read",
            Op::Write { .. } | Op::Move => "write",
            Op::Discard(_) => "trim",
            Op::Flush => "sync",
        };
        let (offset, length) = (record.at.start.0.saturating_mul(BLOCK_BYTES), record.at.bytes());
        lost.long += u64::from(length > u64::from(u32::MAX));
        writeln!(self.out, "{us} {device} {action} {offset} {length}")
    }

    fn end(mut self: Box<Self>, devices: &Names) -> io::Result<()> {
        let us = self.last_us;
        for device in devices.all() {
            writeln!(self.out, "{us} {device} close")?;
        }
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{feed, read};

    type Seen = (u64, u32, Op, Extent);

    fn seen(text: impl AsRef<[u8]>) -> (Result<Vec<Seen>, String>, ReadLedger) {
        let (records, ledger) = read(|_| Ok(reader(feed(text))));
        let seen = records.map(|records| records.iter().map(|r| (r.time.0, r.device.0, r.op, r.at)).collect());
        (seen.map_err(|error| error.what), ledger)
    }

    const WRITE: Op = Op::Write { fua: false };

    #[test]
    fn version_3_has_times_in_microseconds() {
        let (requests, ledger) = seen(FORMAT.examples[1].bytes);
        let expected = [
            (878_000, 0, WRITE, Extent::new(0, 32)),
            (888_000, 1, Op::Read, Extent::new(8, 2)),
            (891_000, 0, Op::Flush, Extent::default()),
        ];
        assert_eq!(requests.unwrap(), expected);
        let counts = &ledger.counts;
        assert_eq!((counts.remarks, counts.discards_skipped, counts.unaligned, counts.untimed), (6, 1, 1, false));
        assert_eq!((counts.unknown_events, counts.empty), (1, 1));
    }

    #[test]
    fn version_2_has_waits_and_says_so() {
        let (requests, ledger) = seen(FORMAT.examples[0].bytes);
        let expected = [
            (0, 0, Op::Read, Extent::new(8, 8)),
            (0, 0, WRITE, Extent::new(16, 8)),
            (2_500_000, 0, Op::Flush, Extent::default()),
            (3_500_000, 0, Op::Read, Extent::new(8, 8)),
        ];
        assert_eq!(requests.unwrap(), expected);
        assert!(ledger.counts.untimed && ledger.counts.notes()[0].contains("no times"));
    }

    #[test]
    fn a_line_is_an_action_of_a_known_kind() {
        let wrong =
            |version: u8, line: &str| seen(format!("fio version {version} iolog\n{line}\n")).0.expect_err("a bad line");
        assert!(wrong(3, "1 a read 0").starts_with("4 columns, not the 3 or 5 of iolog 3"));
        assert!(wrong(2, "a read 0 1 1").starts_with("5 columns, not the 2 or 4 of iolog 2"));
        assert!(wrong(3, "1 a open 0 1").starts_with("5 columns"));
        assert_eq!(wrong(3, "1.x a read 0 512"), "time '1.x' is not a number");
        assert_eq!(wrong(2, "a erase 0 512"), "action 'erase' is none of fio's");
        assert_eq!(wrong(2, "a wait"), "wait is missing");
        assert!(wrong(2, &"a wait 18000000000000000 0\n".repeat(2)).starts_with("the waits add up"));
        assert!(seen("0 a read 0 512\n").0.unwrap_err().starts_with("the first line is neither"));
    }
}
