//! A buffered file that gives lines or records and knows where it is.

use std::io::{self, Read};
use std::ops::Range;
#[cfg(feature = "parquet")]
use std::path::Path;

use block::{At, BadInput};

use crate::reader::Fault;
use crate::source::TraceSource;

/// Bytes looked at to recognise a format, and the longest line or record.
pub(crate) const PEEK: usize = 64 << 10;

/// Room for one record (a header and its 64 KiB of payload) beyond what a refill keeps.
const BUFFER: usize = 4 * PEEK;

/// One file being read, by lines or by records.
pub(crate) struct TraceFeed {
    source: TraceSource,
    buffer: Vec<u8>,
    /// What is in the buffer and not yet taken.
    left: Range<usize>,
    ended: bool,
    /// Why it ended, if it should not have.
    failure: Option<io::Error>,
    /// Lines or records taken so far; the last of them is where errors are.
    taken: u64,
    place: fn(u64) -> At,
}

impl TraceFeed {
    /// Reads `source` from its beginning.
    pub fn new(source: TraceSource) -> TraceFeed {
        TraceFeed {
            source,
            buffer: vec![0; BUFFER],
            left: 0..0,
            ended: false,
            failure: None,
            taken: 0,
            place: At::Line,
        }
    }

    /// Counts records from here on, not lines.
    pub fn by_records(mut self) -> TraceFeed {
        self.place = At::Record;
        self
    }

    /// The next bytes without taking them: `wanted` (at most `PEEK` + 1 KiB), or fewer at the end of the file.
    pub fn peek(&mut self, wanted: usize) -> Result<&[u8], BadInput> {
        if self.left.len() < wanted {
            self.fill(wanted);
        }
        if self.left.is_empty() {
            self.whole()?;
        }
        Ok(&self.buffer[self.left.start..self.left.end.min(self.left.start + wanted)])
    }

    /// Reads on until `wanted` bytes are there or there are no more.
    fn fill(&mut self, wanted: usize) {
        self.buffer.copy_within(self.left.clone(), 0);
        self.left = 0..self.left.len();
        while self.left.len() < wanted && !self.ended {
            match self.source.bytes.read(&mut self.buffer[self.left.end..]) {
                Ok(0) => self.ended = true,
                Ok(count) => self.left.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // What was read before it is still good; the error counts once that is used up.
                Err(error) => (self.ended, self.failure) = (true, Some(error)),
            }
        }
    }

    /// An error unless the file ended because it does.
    fn whole(&self) -> Result<(), BadInput> {
        self.failure.as_ref().map_or(Ok(()), |error| Err(self.read_error(error)))
    }

    /// Where the file can be read in any order, if it can.
    #[cfg(feature = "parquet")]
    pub fn path(&self) -> Option<&Path> {
        self.source.path.as_deref()
    }

    /// All that is left.
    #[cfg(feature = "parquet")]
    pub fn read_all(&mut self) -> Result<Vec<u8>, BadInput> {
        let mut all = Vec::new();
        loop {
            let bytes = self.peek(PEEK)?;
            let count = bytes.len();
            if count == 0 {
                return Ok(all);
            }
            all.extend_from_slice(bytes);
            self.skip(count);
        }
    }

    /// Takes bytes that were peeked at.
    pub fn skip(&mut self, count: usize) {
        self.left.start = self.left.end.min(self.left.start + count);
    }

    /// Takes one line, without its end.
    #[inline(always)]
    pub fn line(&mut self) -> Result<Option<&[u8]>, BadInput> {
        let mut searched = 0;
        let length = loop {
            let left = &self.buffer[self.left.clone()];
            if let Some(end) = memchr::memchr(b'\n', &left[searched..]) {
                break searched + end;
            }
            searched = left.len();
            if self.ended {
                self.whole()?;
                break searched;
            }
            if searched > PEEK {
                break searched;
            }
            self.fill(searched + 1);
        };
        if length == 0 && self.left.is_empty() {
            return Ok(None);
        }
        self.taken += 1;
        if length > PEEK {
            return Err(self.bad(Fault::with_mend(
                format!("the line is longer than {PEEK} bytes"),
                "no trace has such lines; is this a text file?",
            )));
        }
        let line = self.left.start..self.left.start + length;
        self.skip(length + 1);
        let line = &self.buffer[line];
        Ok(Some(line.strip_suffix(b"\r").unwrap_or(line)))
    }

    /// Whether the line just taken ran to the end of the file without a line end.
    fn cut_short(&self) -> bool {
        self.ended && self.left.is_empty() && self.left.end > 0 && self.buffer[self.left.end - 1] != b'\n'
    }

    /// Takes one record of `size` bytes; nothing at the end of the file, an error if it ends inside the record.
    pub fn record(&mut self, size: usize) -> Result<Option<&[u8]>, BadInput> {
        self.peek(size)?;
        if self.left.is_empty() {
            return Ok(None);
        }
        if self.left.len() < size {
            self.whole()?;
        }
        self.taken += 1;
        if self.left.len() < size {
            let (got, before) = (self.left.len(), self.taken - 1);
            return Err(self.bad(Fault::with_mend(
                format!(
                    "the file ends inside this record, after {got} of its {size} bytes (records before it: {before})"
                ),
                "the file was cut short; fetch it whole, or cut it after a whole record",
            )));
        }
        let record = self.left.start..self.left.start + size;
        self.skip(size);
        Ok(Some(&self.buffer[record]))
    }

    /// An error about the file as a whole.
    pub fn bad_file(&self, what: impl Into<String>, mend: impl Into<String>) -> BadInput {
        BadInput::new(self.source.file.clone(), At::File, what, mend)
    }

    /// An error at the line or record taken last.
    pub fn bad(&self, fault: Fault) -> BadInput {
        let Fault { mut what, mut mend } = fault;
        let at = (self.place)(self.taken);
        if matches!(at, At::Line(_)) && self.cut_short() {
            what += "; the file ends inside this line";
        }
        if mend.is_empty() {
            mend = match at {
                At::Record(_) => {
                    "the file is damaged here, or of another format: fetch it again, or name its --trace-format"
                }
                _ => "correct or delete the line; if the file has another format, name it with --trace-format",
            };
        }
        BadInput::new(self.source.file.clone(), at, what, mend)
    }

    /// An error of reading or decompressing on the way to the next line or record.
    fn read_error(&self, error: &io::Error) -> BadInput {
        let at = (self.place)(self.taken + 1);
        let (what, mend) = match self.source.packing {
            Some(packing) if error.kind() == io::ErrorKind::UnexpectedEof => {
                (format!("the {packing} data ends too early"), "the file was cut short; fetch it whole")
            }
            Some(packing) => (format!("the {packing} data is damaged: {error}"), "fetch the file again"),
            None => (format!("cannot be read on: {error}"), "check the disk and the file"),
        };
        BadInput::new(self.source.file.clone(), at, what, mend)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::feed;

    #[test]
    fn lines_lose_their_ends_and_the_last_needs_none() {
        let mut feed = feed("a\r\n\nlast");
        assert_eq!(feed.line().unwrap(), Some(&b"a"[..]));
        assert_eq!(feed.line().unwrap(), Some(&b""[..]));
        assert_eq!(feed.line().unwrap(), Some(&b"last"[..]));
        assert!(feed.cut_short());
        assert_eq!(feed.line().unwrap(), None);
        assert_eq!(feed.taken, 3);
    }

    #[test]
    fn lines_cross_refills_and_have_a_limit() {
        let text = format!("{}\n", "x".repeat(1000)).repeat(1000);
        let mut long = feed(text);
        for _ in 0..1000 {
            assert_eq!(long.line().unwrap().map(<[u8]>::len), Some(1000));
        }
        assert_eq!(long.line().unwrap(), None);
        assert!(feed("x".repeat(10 * PEEK)).line().is_err());
    }

    #[test]
    fn a_record_cut_short_is_an_error() {
        let mut feed = feed([7u8; 10]).by_records();
        assert_eq!(feed.record(8).unwrap(), Some(&[7u8; 8][..]));
        assert_eq!(feed.record(8).unwrap_err().at, At::Record(2));
    }

    /// Ten lines or records of four bytes, and then a disk that fails.
    struct Failing(usize);

    impl io::Read for Failing {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let count = into.len().min(self.0).min(3);
            if count == 0 {
                return Err(io::Error::other("the disk is broken"));
            }
            for byte in &mut into[..count] {
                *byte = if self.0 % 4 == 1 { b'\n' } else { b'x' };
                self.0 -= 1;
            }
            Ok(count)
        }
    }

    #[test]
    fn a_trace_that_cannot_be_read_on_is_not_taken_for_one_that_ends() {
        let open = || TraceFeed::new(TraceSource::unpack("a.trace", Failing(40)).expect("it begins"));
        let failed = |error: BadInput, at| {
            assert_eq!(error.at, at);
            assert!(error.what.contains("cannot be read on: the disk is broken"), "{}", error.what);
        };
        let mut lines = open();
        for number in 1..=10 {
            assert_eq!(lines.line().unwrap(), Some(&b"xxx"[..]), "line {number}");
        }
        failed(lines.line().unwrap_err(), At::Line(11));
        for size in [4, 8, 3] {
            let mut records = open().by_records();
            for number in 1..=40 / size as u64 {
                assert_eq!(records.record(size).unwrap().map(<[u8]>::len), Some(size), "record {number} of {size}");
            }
            failed(records.record(size).unwrap_err(), At::Record(40 / size as u64 + 1));
        }
        let mut looked = open();
        assert_eq!(looked.peek(100).unwrap().len(), 40, "what came before it is good");
        looked.skip(40);
        failed(looked.peek(1).unwrap_err(), At::Line(1));
    }
}
