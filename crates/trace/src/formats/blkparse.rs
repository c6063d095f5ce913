//! blkparse's default text: `maj,min cpu seq sec.ns pid action rwbs sector + sectors [process]`.

use block::Time;

use crate::events::{EventOp, Events, RequestEvent, Transition};
use crate::feed::TraceFeed;
use crate::format::{Example, FormatEntry, ReadMethod};
use crate::lines::{LineParser, Lines, ParsedLine, words};
use crate::number::{TimeUnit, quote, time, whole};
use crate::reader::{Fault, FormatReader, ReadLedger};

pub(crate) static FORMAT: FormatEntry = FormatEntry {
    name: "blkparse",
    title: "blkparse's text",
    text: "What `blkparse -i sda` prints of blktrace's files, in its default format: device (major,minor), CPU, \
           sequence number, time, process, action, RWBS, sector + sectors, name of the process. Times are seconds \
           from the first event, sectors 512 bytes. A request is a line of the action Q; other actions, the list of \
           files and the summary at the end are passed over.",
    examples: &[Example {
        bytes: b"\x20 7,3    0        1     0.000000000 21912  Q  RM 1600 + 8 [(null)]\n\
                \x20 7,3    0        2     0.000044672 21912  P   N [(null)]\n\
                \x20 7,3    0        3     0.000073656 21912  D  RM 1600 + 8 [a b]\n\
                \x20 7,3    1        1     0.000265862     0  C  RM 1600 + 8 [0]\n\
                \x20 7,3    0        4     1.000000007 21912  Q FWFSM 1055736 + 8 [jbd2]\n\
                \x20 7,3    0        5     1.000000010 21912  D  FN [(null)]\n\
                \x20 7,3    1        2     1.000000020     0  C  FN 0 [0]\n\
                \x20 7,3    1        3     1.000000030     0  C WSM 1055736 [0]\n\
                \x20 7,3    0        6     1.100000000 21912  Q FWS [sync]\n\
                \x20 7,3    0        7     1.150000000 21912  Q  DS 4096 + 64 [fstrim]\n\
                \x20 7,3    0        8     1.160000000 21912  D   R 36 (12 00 00 00 24 00) [hd]\n\
                \x20 7,3    0        9     1.200000000 21912  Q   W 64 + 16 [(null)]\n\
                \x20 7,3    0       10     1.200000001 21912  X   W 64 / 72 [(null)]\n\
                \x20 7,3    0       11     1.200000002 21912  ?   W 64 + 8 [(null)]\n\
                CPU0 (7,3):\n\
                \x20Reads Queued:           1,        4KiB\t Writes Queued:           2,       12KiB\n\
                Input file a.blktrace.0 added\n",
        requests: 5,
    }],
    read: ReadMethod::Lines { looks, open: |feed, _| Ok(reader(feed)) },
    write: None,
};

/// First words of the lines blkparse writes around the events: the files it opened and its summary.
const REMARKS: [&[u8]; 15] = [
    b"Input",
    b"CPU",
    b"Total",
    b"Reads",
    b"Read",
    b"PC",
    b"IO",
    b"Timer",
    b"Allocation",
    b"Dispatch",
    b"Completion",
    b"Throughput",
    b"Events",
    b"Skips",
    b"device:",
];

/// Actions that are known and make no request.
const OTHERS: [&[u8]; 15] =
    [b"M", b"F", b"G", b"S", b"R", b"I", b"P", b"U", b"UT", b"X", b"B", b"A", b"m", b"ZP", b"ZU"];

/// Reads the text that blkparse prints by default.
pub(crate) fn reader(feed: TraceFeed) -> Box<dyn FormatReader> {
    Box::new(Lines::new(feed, Blkparse::default()))
}

/// Whether a line could be blkparse's.
pub(crate) fn looks(line: &[u8]) -> bool {
    match Blkparse::default().parse(line, &mut ReadLedger::default()) {
        Ok(ParsedLine::Remark) => line.starts_with(b"Input file"),
        parsed => parsed.is_ok(),
    }
}

#[derive(Default)]
struct Blkparse {
    events: Events,
}

impl LineParser for Blkparse {
    fn parse(&mut self, line: &[u8], ledger: &mut ReadLedger) -> Result<ParsedLine, Fault> {
        let mut words = words(line);
        let mut column = || words.next().unwrap_or_default();
        let device = column();
        if !is_device(device) {
            return if REMARKS.iter().any(|remark| device.starts_with(remark)) {
                Ok(ParsedLine::Remark)
            } else {
                Err(Fault::new(format!("'{}' is not a device as blkparse writes it (major,minor)", quote(device))))
            };
        }
        whole("CPU", column())?;
        whole("sequence number", column())?;
        let at = Time(time("time", column(), TimeUnit::S)?);
        let (_, what, rwbs) = (column(), column(), column());
        let action = match what {
            b"Q" => Transition::Queue,
            b"D" => Transition::Issue,
            b"C" => Transition::Complete,
            b"" => return Err(Fault::new("the line ends before its action")),
            other => {
                ledger.counts.unknown_events += u64::from(!OTHERS.contains(&other));
                return Ok(ParsedLine::Skipped);
            }
        };
        let range = [column(), column(), column()];
        let Some((sector, bytes)) = sectors(range)? else { return Ok(ParsedLine::Skipped) };
        let (kind, preflush, fua) = flags(rwbs, bytes);
        let device = ledger.devices.intern(device)?;
        let event = RequestEvent { time: at, device, action, kind, preflush, fua, sector, bytes };
        Ok(self.events.request(event, ledger)?.map_or(ParsedLine::Skipped, ParsedLine::Request))
    }
}

fn is_device(word: &[u8]) -> bool {
    let mut parts = word.split(|byte| *byte == b',');
    let mut number = || parts.next().is_some_and(|part| !part.is_empty() && part.iter().all(u8::is_ascii_digit));
    number() && number() && parts.next().is_none()
}

/// Sector and bytes of `sector + sectors`, of a lone `sector` or of nothing; `None` for a SCSI command passed
/// through, which has its bytes in parentheses instead.
fn sectors(words: [&[u8]; 3]) -> Result<Option<(u64, u64)>, Fault> {
    match words {
        [[b'(', ..], ..] | [_, [b'(', ..], _] => Ok(None),
        [[] | [b'[', ..], ..] => Ok(Some((0, 0))),
        [sector, b"+", count] => {
            let bytes = whole("sector count", count)?.checked_mul(512);
            let bytes = bytes.ok_or_else(|| Fault::new(format!("{} sectors are too many", quote(count))))?;
            Ok(Some((whole("sector", sector)?, bytes)))
        }
        [sector, [] | [b'[', ..], _] => Ok(Some((whole("sector", sector)?, 0))),
        [_, other, _] => Err(Fault::new(format!("'{}' stands where '+ sectors' should", quote(other)))),
    }
}

/// What RWBS says: kind, flush before, force unit access. An F before the operation is a flush, after it FUA.
fn flags(rwbs: &[u8], bytes: u64) -> (EventOp, bool, bool) {
    let preflush = rwbs.first() == Some(&b'F');
    let operation = if preflush { &rwbs[1..] } else { rwbs };
    let kind = match operation.first() {
        Some(b'R') => EventOp::Read,
        Some(b'W') => EventOp::Write,
        Some(b'D') => EventOp::Discard,
        // blktrace has no kind for a flush and marks it as a read of nothing, written N (or F by the kernel).
        _ if bytes == 0 => EventOp::Read,
        _ => EventOp::Other,
    };
    (kind, preflush, operation.get(1..).is_some_and(|rest| rest.contains(&b'F')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{feed, read};
    use block::{Extent, Op};

    #[test]
    fn arrivals_become_requests_and_the_rest_is_counted() {
        let (records, ledger) = read(|_| Ok(reader(feed(FORMAT.examples[0].bytes))));
        let records: Vec<_> = records.unwrap().iter().map(|record| (record.time.0, record.op, record.at)).collect();
        let write = |fua| Op::Write { fua };
        assert_eq!(
            records,
            [
                (0, Op::Read, Extent::new(1600, 8)),
                (1_000_000_007, Op::Flush, Extent::default()),
                (1_000_000_007, write(true), Extent::new(1_055_736, 8)),
                (1_100_000_000, Op::Flush, Extent::default()),
                (1_200_000_000, write(false), Extent::new(64, 16)),
            ]
        );
        let counts = &ledger.counts;
        assert_eq!((counts.records, counts.remarks, counts.preflushes), (14, 3, 1));
        assert_eq!((counts.orphan_completions, counts.discards_skipped, counts.unknown_events), (1, 1, 1));
    }

    #[test]
    fn garbage_is_not_taken_for_an_event() {
        for bad in ["hello", "7,3", "7,3 0 1 x 5 Q R 1 + 8 [a]", "7,3 0 1 0.1 5 Q R 1 * 8", "7,3 0 1 0.1 5 Q R x + 8"] {
            assert!(!looks(bad.as_bytes()), "{bad}");
        }
    }
}
