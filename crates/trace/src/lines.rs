//! The reader of every text format: one line at a time through the format's parser.

use block::BadInput;

use crate::feed::TraceFeed;
use crate::reader::{Fault, FormatReader, ReadLedger, TraceRecord};

/// What a line turned out to be.
#[derive(Debug, PartialEq)]
pub(crate) enum ParsedLine {
    /// A line that is a complete request.
    Request(TraceRecord),
    /// A record that makes no request; the parser has counted why.
    Skipped,
    /// Part of the format, but no record.
    Remark,
}

/// Understands the lines of one text format.
pub(crate) trait LineParser: Send {
    /// Reads one line that is not blank.
    fn parse(&mut self, line: &[u8], ledger: &mut ReadLedger) -> Result<ParsedLine, Fault>;
}

/// A text trace being read.
pub(crate) struct Lines<P> {
    feed: TraceFeed,
    parser: P,
}

impl<P: LineParser> Lines<P> {
    /// Reads `feed` by `parser`.
    pub fn new(feed: TraceFeed, parser: P) -> Lines<P> {
        Lines { feed, parser }
    }
}

impl<P: LineParser> FormatReader for Lines<P> {
    fn next(&mut self, ledger: &mut ReadLedger) -> Result<Option<TraceRecord>, BadInput> {
        while let Some(line) = self.feed.line()? {
            if line.trim_ascii().is_empty() {
                continue;
            }
            match self.parser.parse(line, ledger) {
                Ok(ParsedLine::Request(record)) => {
                    ledger.counts.records += 1;
                    return Ok(Some(record));
                }
                Ok(ParsedLine::Skipped) => ledger.counts.records += 1,
                Ok(ParsedLine::Remark) => ledger.counts.remarks += 1,
                Err(fault) => return Err(self.feed.bad(fault)),
            }
        }
        Ok(None)
    }
}

/// The fault of a line that has `found` columns.
pub(crate) fn wrong_columns(found: usize, wanted: &str) -> Fault {
    Fault::new(format!("{found} column{}, not the {wanted}", if found == 1 { "" } else { "s" }))
}

/// The words of a line, between blanks.
pub(crate) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty())
}
