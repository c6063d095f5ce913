//! Writing traces: the requests of any trace in another format, one after the other, in constant memory.
//!
//! Times stay as they are, whatever their origin. What a format cannot hold is left out, and counted in [`Lost`].

mod disksim;
mod iolog;
mod lost;
mod names;
#[cfg(feature = "parquet")]
mod parquet;
mod target;

#[cfg(test)]
mod round_trip;

use std::io::{self, Write};

use block::{Op, Time};

use crate::reader::Record;

pub use lost::Lost;
pub use target::Target;

use names::Names;

/// Writes one format.
trait Form {
    /// Writes a request to a device that goes by this name.
    fn put(&mut self, record: &Record, device: &str, lost: &mut Lost) -> io::Result<()>;
    /// Writes what stands at the end.
    fn end(self: Box<Self>, devices: &Names) -> io::Result<()>;
}

/// A trace being written.
pub struct Writer {
    target: Target,
    form: Box<dyn Form>,
    names: Names,
    lost: Lost,
    /// When the request before came.
    last: Time,
}

impl Writer {
    /// Writes a trace of this format to `out`, which need not be buffered; nothing where this build cannot.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn new(target: Target, out: impl Write + Send + 'static) -> io::Result<Option<Writer>> {
        let (form, names): (Box<dyn Form>, _) = match target {
            Target::DiskSim => (Box::new(disksim::DiskSim::new(out)), Names::new(names::number)),
            Target::Iolog => (Box::new(iolog::Iolog::new(out)?), Names::new(names::word)),
            #[cfg(feature = "parquet")]
            Target::Parquet => (Box::new(parquet::Parquet::new(out)?), Names::new(names::any)),
            #[cfg(not(feature = "parquet"))]
            Target::Parquet => return Ok(None),
        };
        Ok(Some(Writer { target, form, names, lost: Lost::default(), last: Time::ZERO }))
    }

    /// Writes one request to the device that its trace calls `device`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn put(&mut self, record: &Record, device: &str) -> io::Result<()> {
        if self.target == Target::DiskSim && record.op == Op::Flush {
            self.lost.flushes += 1;
            return Ok(());
        }
        if self.target != Target::Parquet {
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
        self.lost.renamed = self.names.renamed();
        Ok(self.lost)
    }
}
