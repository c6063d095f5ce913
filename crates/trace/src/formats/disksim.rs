//! DiskSim's ASCII traces, and MQSim's: `time device block blocks flags` between blanks, blocks of 512 bytes,
//! flags hexadecimal with bit 0 for a read.
//!
//! DiskSim writes times in milliseconds with a fraction, MQSim in whole nanoseconds. Nothing else tells the two
//! apart, so a trace is taken for MQSim's if no time near its beginning has a decimal point.

use std::io::{self, BufWriter, Write};

use block::{Op, Time};

use crate::feed::{PEEK, TraceFeed};
use crate::format::{Example, FormatEntry, ReadMethod};
use crate::lines::{LineParser, Lines, ParsedLine, words, wrong_columns};
use crate::number::{TimeUnit, extent, hexadecimal, time, whole};
use crate::reader::{Fault, FormatReader, ReadLedger, TraceRecord};
use crate::write::{FormatWriter, Lost, Names, Writing, names};

pub(crate) static FORMAT: FormatEntry = FormatEntry {
    name: "disksim",
    title: "DiskSim's ASCII, and MQSim's variant in nanoseconds",
    text: "The default input of DiskSim: rows of time, device, block, blocks, flags between blanks, of which flag \
           bit 0 (hexadecimal) is a read. Blocks are of 512 bytes. Times are milliseconds with a fraction, from any \
           origin; MQSim has the same columns with times in whole nanoseconds, and a trace is taken for MQSim's if \
           no time near its beginning has a decimal point.",
    examples: &[Example {
        bytes: b"1.250000 0 100 8 1\n2.000001 7 576560 6 0\n2.5 0 0 0 1\n2.0 0 108 8 1b\n",
        requests: 3,
    }],
    read: ReadMethod::Lines { looks, open: reader },
    write: Some(WRITING),
};

/// Flag bit 0 of both.
const READ: u32 = 1;

/// Reads a DiskSim ASCII trace.
pub(crate) fn reader(mut feed: TraceFeed, ledger: &mut ReadLedger) -> Result<Box<dyn FormatReader>, block::BadInput> {
    let start = feed.peek(PEEK)?;
    let fraction =
        start.split(|byte| *byte == b'\n').filter_map(|line| words(line).next()).any(|time| time.contains(&b'.'));
    ledger.counts.whole_ns = !fraction;
    Ok(Box::new(Lines::new(feed, DiskSim { unit: if fraction { TimeUnit::Ms } else { TimeUnit::Ns } })))
}

/// Whether a line could be DiskSim's.
pub(crate) fn looks(line: &[u8]) -> bool {
    DiskSim { unit: TimeUnit::Ms }.parse(line, &mut ReadLedger::default()).is_ok()
}

struct DiskSim {
    unit: TimeUnit,
}

impl LineParser for DiskSim {
    fn parse(&mut self, line: &[u8], ledger: &mut ReadLedger) -> Result<ParsedLine, Fault> {
        let mut words = words(line);
        let mut column = || words.next().unwrap_or_default();
        let (at, device, block, blocks, flags) = (column(), column(), column(), column(), column());
        if flags.is_empty() || words.next().is_some() {
            let found = crate::lines::words(line).count();
            return Err(wrong_columns(found, "5 of DiskSim (time device block blocks flags)"));
        }
        if self.unit == TimeUnit::Ns && at.contains(&b'.') {
            return Err(Fault::with_mend(
                "the time has a fraction, but the times before it are whole nanoseconds",
                "write every time in milliseconds with a decimal point, or every time in whole nanoseconds",
            ));
        }
        let at = time("time", at, self.unit)?;
        whole("device", device)?;
        let (extent, _) = extent(whole("block", block)?, 512, whole("block count", blocks)?, 512)?;
        let op = if hexadecimal("flags", flags)? & READ != 0 { Op::Read } else { Op::Write { fua: false } };
        if extent.blocks == 0 {
            ledger.counts.empty += 1;
            return Ok(ParsedLine::Skipped);
        }
        let device = ledger.devices.intern(device)?;
        Ok(ParsedLine::Request(TraceRecord { time: Time(at), device, op, at: extent, response: None }))
    }
}

const WRITING: Writing = Writing {
    endings: &["trace", "disksim"],
    names: names::number,
    flushes: false,
    whole: false,
    resolution_ns: 1,
    open: Some(|out| Ok(Box::new(DisksimWriter(BufWriter::new(out))))),
};

const NS_A_MS: u64 = 1_000_000;

/// Writes times in milliseconds with six places, flags 1 for a read.
struct DisksimWriter<W: Write>(BufWriter<W>);

impl<W: Write> FormatWriter for DisksimWriter<W> {
    fn put(&mut self, record: &TraceRecord, device: &str, lost: &mut Lost) -> io::Result<()> {
        lost.far += u64::from(record.at.end().0 > i32::MAX as u64);
        let (ms, ns) = (record.time.0 / NS_A_MS, record.time.0 % NS_A_MS);
        let flags = u8::from(record.op == Op::Read);
        writeln!(self.0, "{ms}.{ns:06} {device} {} {} {flags}", record.at.start.0, record.at.blocks)
    }

    fn end(mut self: Box<Self>, _: &Names) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{feed, read};
    use crate::reader::TraceDevice;
    use block::{Extent, Span};

    #[test]
    fn times_are_milliseconds_with_a_fraction() {
        let (records, ledger) = read(|ledger| reader(feed(FORMAT.examples[0].bytes), ledger));
        let records = records.unwrap();
        let write = Op::Write { fua: false };
        let record = |time, device, op, at| TraceRecord {
            time: Time(time),
            device: TraceDevice(device),
            op,
            at,
            response: None::<Span>,
        };
        assert_eq!(
            records,
            [
                record(1_250_000, 0, Op::Read, Extent::new(100, 8)),
                record(2_000_001, 1, write, Extent::new(576_560, 6)),
                record(2_000_000, 0, Op::Read, Extent::new(108, 8)),
            ]
        );
        assert_eq!((ledger.counts.records, ledger.counts.empty), (4, 1));
        assert!(!ledger.counts.whole_ns);
    }

    #[test]
    fn whole_times_are_nanoseconds() {
        let (records, ledger) = read(|ledger| reader(feed("938513000 4 264719034 16 0\n938828000 3 197 16 1"), ledger));
        assert_eq!(records.unwrap()[1].time, Time(938_828_000));
        assert!(ledger.counts.whole_ns);
    }

    #[test]
    fn a_line_is_five_numbers() {
        for bad in
            ["1.0 0 1 8", "1.0 0 1 8 0 0", "x 0 1 8 0", "1.0 -1 1 8 0", "1.0 0 1 8 z", "1.0 0 99999999999999999 8 0"]
        {
            assert!(!looks(bad.as_bytes()), "{bad}");
        }
        assert!(looks(b"\t1.0  0 1 8 0x1b "));
    }
}
