//! What every reader hands out, and what they all write to.

use std::collections::HashMap;
use std::fmt;

use block::{BadInput, Extent, Op, Span, Time};

use crate::{Format, ReadCounts};

/// One device of a trace: an index into [`TraceReader::devices`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TraceDevice(pub u32);

/// One request of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceRecord {
    /// When it arrived: nanoseconds from whatever origin the file has. It may go backwards.
    pub time: Time,
    /// The device it was sent to, if the trace names devices.
    pub device: TraceDevice,
    /// Whether it reads, writes or flushes.
    pub op: Op,
    /// The blocks it covers; empty for a flush.
    pub at: Extent,
    /// The measured response time, where the format carries it.
    pub response: Option<Span>,
}

/// A trace being read: an iterator over its requests that ends after the first error.
pub struct TraceReader {
    pub(crate) format: Format,
    pub(crate) reader: Box<dyn FormatReader>,
    pub(crate) ledger: ReadLedger,
    pub(crate) ended: bool,
}

impl TraceReader {
    /// The format being read.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// The names of the devices seen so far, in order of first appearance.
    #[must_use]
    pub fn devices(&self) -> &[String] {
        &self.ledger.devices.names
    }

    /// What was met so far.
    #[must_use]
    pub fn counts(&self) -> &ReadCounts {
        &self.ledger.counts
    }
}

impl fmt::Debug for TraceReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace").field("format", &self.format).field("counts", self.counts()).finish_non_exhaustive()
    }
}

impl Iterator for TraceReader {
    type Item = Result<TraceRecord, BadInput>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(record) = self.ledger.second.take() {
            self.ledger.counts.requests += 1;
            return Some(Ok(record));
        }
        if self.ended {
            return None;
        }
        match self.reader.next(&mut self.ledger) {
            Ok(Some(record)) => {
                self.ledger.counts.requests += 1;
                Some(Ok(record))
            }
            Ok(None) => {
                self.ended = true;
                None
            }
            Err(error) => {
                self.ended = true;
                Some(Err(error))
            }
        }
    }
}

/// Reads records of one format.
pub(crate) trait FormatReader: Send {
    /// The next request, or nothing at the end of the trace. Not called again after either an error or the end.
    fn next(&mut self, ledger: &mut ReadLedger) -> Result<Option<TraceRecord>, BadInput>;
}

/// What a reader writes to besides the requests it returns.
#[derive(Default)]
pub(crate) struct ReadLedger {
    pub counts: ReadCounts,
    pub devices: Devices,
    /// The second request of an event that makes two; handed out directly after the first.
    pub second: Option<TraceRecord>,
}

/// Names of devices, each stored once.
#[derive(Default)]
pub(crate) struct Devices {
    names: Vec<String>,
    index: HashMap<Box<[u8]>, u32>,
    /// A guess at the device for each cheap hash of a name, which saves nearly every look-up in the index.
    guesses: [u32; GUESSES],
}

/// More devices than any trace has; a file with more is garbled, and would only fill the memory.
const MAX_DEVICES: usize = 65_536;
const MAX_NAME_BYTES: usize = 128;
const GUESSES: usize = 32;

impl Devices {
    /// The device whose name is spelt `name` in the file.
    pub fn intern(&mut self, name: &[u8]) -> Result<TraceDevice, Fault> {
        let hash = name.iter().fold(name.len(), |hash, byte| hash.wrapping_mul(31).wrapping_add(usize::from(*byte)));
        let slot = hash % GUESSES;
        let guess = self.guesses[slot];
        if self.names.get(guess as usize).is_some_and(|known| known.as_bytes() == name) {
            return Ok(TraceDevice(guess));
        }
        let device = match self.index.get(name) {
            Some(device) => *device,
            None => self.add(name)?,
        };
        self.guesses[slot] = device;
        Ok(TraceDevice(device))
    }

    fn add(&mut self, name: &[u8]) -> Result<u32, Fault> {
        if name.len() > MAX_NAME_BYTES {
            return Err(Fault::new(format!("the device name is {} bytes long", name.len())));
        }
        if self.names.len() == MAX_DEVICES {
            return Err(Fault::new(format!("there are more than {MAX_DEVICES} devices")));
        }
        let device = self.names.len() as u32;
        self.names.push(String::from_utf8_lossy(name).into_owned());
        self.index.insert(name.into(), device);
        Ok(device)
    }
}

/// What is wrong with a line or a record, before it is known where that is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub what: String,
    /// Empty for the mend that fits anything garbled.
    pub mend: &'static str,
}

impl Fault {
    /// A fault with nothing better to do about it than to look at the line or record.
    pub fn new(what: impl Into<String>) -> Fault {
        Fault { what: what.into(), mend: "" }
    }

    /// A fault with a mend of its own.
    pub fn with_mend(what: impl Into<String>, mend: &'static str) -> Fault {
        Fault { what: what.into(), mend }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_numbered_as_they_come_and_a_name_has_an_end() {
        let mut devices = Devices::default();
        let longest = [b'x'; MAX_NAME_BYTES];
        let numbers = [&b"sda"[..], b"sdb", b"sda", &longest].map(|name| devices.intern(name).map(|device| device.0));
        assert_eq!(numbers, [Ok(0), Ok(1), Ok(0), Ok(2)]);
        let told = devices.intern(&[b'x'; MAX_NAME_BYTES + 1]).unwrap_err().what;
        assert_eq!(told, "the device name is 129 bytes long");
        assert!((3..MAX_DEVICES).all(|n| devices.intern(format!("device {n}").as_bytes()).is_ok()));
        assert!(devices.intern(b"one too many").unwrap_err().what.contains("more than 65536 devices"));
        assert_eq!(devices.intern(b"sdb").map(|device| device.0), Ok(1));
    }
}
