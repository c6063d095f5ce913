//! DiskSim's traces for validation, what a real drive did: `R|W found block blocks service think` between blanks,
//! blocks of 512 bytes, times in microseconds.
//!
//! One request is outstanding at a time: the next arrives `think` after the completion of this one, and `service`
//! is how long this one took. As a trace, the first arrives at 0 and the others as they did at the drive;
//! [`load`] gives the rows themselves, for who lets a simulated drive set the pace.
//!
//! Source: the trace reader of DiskSim 4.0 and the traces released with it.

use std::path::Path;

use block::{BadInput, Extent, Op, Span, Time};

use crate::feed::TraceFeed;
use crate::format::{Example, FormatEntry, ReadMethod};
use crate::lines::{LineParser, Lines, ParsedLine, words, wrong_columns};
use crate::number::{TimeUnit, extent, quote, time, whole};
use crate::reader::{Fault, FormatReader, ReadLedger, TraceRecord};
use crate::source::TraceSource;

pub(crate) static FORMAT: FormatEntry = FormatEntry {
    name: "validate",
    title: "DiskSim's traces for validation: what a drive did, one request at a time",
    text: "What a real drive did, in the form of the traces released with DiskSim 4.0: rows of R or W, what the \
           cache held (Hit, Miss, Doub, Trip), block, blocks, service time, think time, between blanks. Times are \
           microseconds, blocks of 512 bytes. One request is outstanding at a time: the first arrives at 0, each \
           other one its think time after the completion before it.",
    examples: &[Example {
        bytes: b"W Hit 4583176 4 663.00000 45422.25000\nW Miss 4583180 4 607 34200.0\n\
                R Doub 3962268 12 6657.0 64047.0\nR Trip 0 1 1 0\n",
        requests: 4,
    }],
    read: ReadMethod::Lines { looks, open: |feed, _| Ok(reader(feed)) },
    write: None,
};

/// What the drive's cache held, as the trace has it. The traces released with DiskSim say `Hit` in every row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheOutcome {
    /// `Hit`: all of the blocks.
    Hit,
    /// Not all of it.
    Miss,
    /// `Doub`: a miss of two parts.
    Double,
    /// `Trip`: a miss of three parts.
    Triple,
}

/// One row: a request, how long the drive took for it, and how long the host then waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Whether it reads or writes.
    pub op: Op,
    /// What the trace says of the drive's cache.
    pub found: CacheOutcome,
    /// The blocks; never none.
    pub at: Extent,
    /// From arrival to completion, as measured.
    pub service: Span,
    /// From this completion to the next arrival.
    pub think: Span,
}

/// Every row of a file, compressed or not.
///
/// # Errors
/// When the file cannot be read, holds no row, or a row is not of this format or asks for no blocks.
pub fn load(path: &Path) -> Result<Vec<Exchange>, BadInput> {
    rows(TraceFeed::new(TraceSource::open(path)?))
}

fn rows(mut feed: TraceFeed) -> Result<Vec<Exchange>, BadInput> {
    let mut rows = Vec::new();
    while let Some(line) = feed.line()? {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let row = row(line).and_then(|row| match row.at.blocks {
            0 => Err(Fault::new("the request is for no blocks")),
            _ => Ok(row),
        });
        rows.push(row.map_err(|fault| feed.bad(fault))?);
    }
    if rows.is_empty() {
        return Err(feed.bad_file("the file is empty", "name a file with a trace in it"));
    }
    Ok(rows)
}

/// Reads the rows as a trace.
pub(crate) fn reader(feed: TraceFeed) -> Box<dyn FormatReader> {
    Box::new(Lines::new(feed, Paced { next: Some(Time::ZERO) }))
}

/// Whether a line could be of this format.
pub(crate) fn looks(line: &[u8]) -> bool {
    row(line).is_ok()
}

fn row(line: &[u8]) -> Result<Exchange, Fault> {
    let mut rest = words(line);
    let mut column = || rest.next().unwrap_or_default();
    let (op, found, block, blocks, service, think) = (column(), column(), column(), column(), column(), column());
    if think.is_empty() || rest.next().is_some() {
        let wanted = "6 of DiskSim's validation (R|W found block blocks service think)";
        return Err(wrong_columns(words(line).count(), wanted));
    }
    let op = match op {
        b"R" => Op::Read,
        b"W" => Op::Write { fua: false },
        _ => return Err(Fault::new(format!("operation '{}' is neither R nor W", quote(op)))),
    };
    let found = match found {
        b"Hit" => CacheOutcome::Hit,
        b"Miss" => CacheOutcome::Miss,
        b"Doub" => CacheOutcome::Double,
        b"Trip" => CacheOutcome::Triple,
        _ => return Err(Fault::new(format!("'{}' is none of Hit, Miss, Doub, Trip", quote(found)))),
    };
    let (at, _) = extent(whole("block", block)?, 512, whole("block count", blocks)?, 512)?;
    let service = Span(time("service time", service, TimeUnit::Us)?);
    let think = Span(time("think time", think, TimeUnit::Us)?);
    Ok(Exchange { op, found, at, service, think })
}

/// Adds the times up.
struct Paced {
    /// When the next request arrives, unless that is beyond 64 bits.
    next: Option<Time>,
}

impl LineParser for Paced {
    fn parse(&mut self, line: &[u8], ledger: &mut ReadLedger) -> Result<ParsedLine, Fault> {
        let row = row(line)?;
        let Some(time) = self.next else {
            return Err(Fault::with_mend(
                "the times up to here add up to more nanoseconds than 64 bits hold",
                "correct the service and think times before it; they are microseconds",
            ));
        };
        self.next = time.0.checked_add(row.service.0).and_then(|end| end.checked_add(row.think.0)).map(Time);
        if row.at.blocks == 0 {
            ledger.counts.empty += 1;
            return Ok(ParsedLine::Skipped);
        }
        let device = ledger.devices.intern(b"0")?;
        Ok(ParsedLine::Request(TraceRecord { time, device, op: row.op, at: row.at, response: Some(row.service) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{feed, read};
    use block::At;

    #[test]
    fn rows_are_what_the_drive_did() {
        let rows = rows(feed(FORMAT.examples[0].bytes)).unwrap();
        let write = Exchange {
            op: Op::Write { fua: false },
            found: CacheOutcome::Hit,
            at: Extent::new(4_583_176, 4),
            service: Span(663_000),
            think: Span(45_422_250),
        };
        assert_eq!(rows[0], write);
        assert_eq!(
            rows.iter().map(|row| row.found).collect::<Vec<_>>(),
            [CacheOutcome::Hit, CacheOutcome::Miss, CacheOutcome::Double, CacheOutcome::Triple]
        );
    }

    #[test]
    fn a_request_arrives_a_think_time_after_the_last_completion() {
        let (records, _) = read(|_| Ok(reader(feed(FORMAT.examples[0].bytes))));
        let seen: Vec<(u64, Option<Span>)> =
            records.unwrap().iter().map(|record| (record.time.0, record.response)).collect();
        let span = |ns| Some(Span(ns));
        assert_eq!(
            seen,
            [
                (0, span(663_000)),
                (46_085_250, span(607_000)),
                (80_892_250, span(6_657_000)),
                (151_596_250, span(1_000))
            ]
        );
    }

    #[test]
    fn time_goes_on_over_a_request_for_no_blocks() {
        let text = "R Hit 8 0 100 100\nR Hit 8 8 100 100\n";
        let (records, ledger) = read(|_| Ok(reader(feed(text))));
        assert_eq!(records.unwrap()[0].time, Time(200_000));
        assert_eq!(ledger.counts.empty, 1);
        assert_eq!(rows(feed(text)).unwrap_err().at, At::Line(1));
    }

    #[test]
    fn times_that_add_up_to_too_much_are_an_error() {
        let row = "R Hit 8 8 18000000000000000 1000000000000000\n";
        let (records, _) = read(|_| Ok(reader(feed(row.repeat(2)))));
        assert_eq!(records.unwrap_err().at, At::Line(2));
        assert_eq!(rows(feed("\n")).unwrap_err().at, At::File);
    }

    #[test]
    fn a_line_is_two_words_and_four_numbers() {
        for bad in
            ["R Hit 8 8 1", "R Hit 8 8 1 1 1", "r Hit 8 8 1 1", "R Hat 8 8 1 1", "R Hit -8 8 1 1", "R Hit 8 8 x 1"]
        {
            assert!(!looks(bad.as_bytes()), "{bad}");
        }
        assert!(looks(b"W Miss\t8  8 1.5 0"));
    }
}
