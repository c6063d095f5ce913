//! Writing traces: the requests of any trace in another format, one after the other, in constant memory.
//!
//! Times stay as they are, whatever their origin. What a format cannot hold is left out, and counted in [`Lost`].

mod lost;
pub(crate) mod names;
mod target;

#[cfg(test)]
pub(crate) mod round_trip;

use std::io::{self, Write};

use block::{Op, Time};

use crate::reader::TraceRecord;

pub use lost::Lost;
pub use target::{WritableFormat, endings, targets};

pub(crate) use names::Names;

/// How a format is written, and what it can hold.
pub(crate) struct Writing {
    /// The endings of file names that stand for it, without the dot.
    pub endings: &'static [&'static str],
    /// Makes of a device's name the `n`th one the format takes.
    pub names: fn(&str, u64) -> String,
    /// Whether it has a word for a flush.
    pub flushes: bool,
    /// Whether it keeps response times and which writes must reach the medium.
    pub whole: bool,
    /// Times are rounded to so many nanoseconds.
    pub resolution_ns: u64,
    /// Begins a file; nothing where this build cannot.
    pub open: Option<OpenWriter>,
}

impl Writing {
    /// What it keeps of a request, for the documentation.
    pub(crate) fn sentence(&self) -> String {
        let endings: Vec<String> = self.endings.iter().map(|ending| format!("`.{ending}`")).collect();
        let times = match self.resolution_ns {
            1 => "to the nanosecond",
            1_000 => "to the microsecond",
            _ => "rounded",
        };
        let flushes = if self.flushes { "flushes too" } else { "but no flushes" };
        let rest = if self.whole { "" } else { ", no response times, and not which writes must reach the medium" };
        format!(
            "Written to files that end in {}: times {times}; reads and writes, {flushes}{rest}.",
            endings.join(" or ")
        )
    }
}

/// Begins a file of a format.
pub(crate) type OpenWriter = fn(Out) -> io::Result<Box<dyn FormatWriter>>;

/// Where a trace is written; need not be buffered.
pub(crate) type Out = Box<dyn Write + Send>;

/// Writes the records of one format.
pub(crate) trait FormatWriter {
    /// Writes a request to a device that goes by this name.
    fn put(&mut self, record: &TraceRecord, device: &str, lost: &mut Lost) -> io::Result<()>;
    /// Writes what stands at the end.
    fn end(self: Box<Self>, devices: &Names) -> io::Result<()>;
}

/// A trace being written.
pub struct TraceWriter {
    target: WritableFormat,
    form: Box<dyn FormatWriter>,
    names: Names,
    lost: Lost,
    /// When the request before came.
    last: Time,
}

impl TraceWriter {
    /// Writes a trace of this format to `out`, which need not be buffered; nothing where this build cannot.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn new(target: WritableFormat, out: impl Write + Send + 'static) -> io::Result<Option<TraceWriter>> {
        let Some(open) = target.writing.open else { return Ok(None) };
        let (form, names) = (open(Box::new(out))?, Names::new(target.writing.names));
        Ok(Some(TraceWriter { target, form, names, lost: Lost::default(), last: Time::ZERO }))
    }

    /// Writes one request to the device that its trace calls `device`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn put(&mut self, record: &TraceRecord, device: &str) -> io::Result<()> {
        if !self.target.writing.flushes && record.op == Op::Flush {
            self.lost.flushes += 1;
            return Ok(());
        }
        if !self.target.writing.whole {
            self.lost.fua += u64::from(record.op == Op::Write { fua: true });
            self.lost.responses += u64::from(record.response.is_some());
        }
        self.lost.written += 1;
        self.lost.backward += u64::from(record.time < self.last);
        self.last = record.time;
        let name = self.names.of(record.device, device);
        self.form.put(record, name, &mut self.lost)
    }

    /// Writes what is still to be written, and tells what was lost.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(mut self) -> io::Result<Lost> {
        self.form.end(&self.names)?;
        self.lost.renamed = self.names.renames();
        Ok(self.lost)
    }
}
