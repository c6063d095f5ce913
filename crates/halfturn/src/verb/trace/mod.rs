//! `halfturn trace`: recorded I/O.

#[cfg(feature = "linux")]
mod capture;
mod convert;
mod info;
mod recording;
#[cfg(feature = "linux")]
mod tracefs;

use crate::failure::VerbFailure;
use crate::progress::ReadingBar;
use crate::verb::trace_format;
use block::{At, BadInput};
use clap::{Args, Subcommand};
use std::path::Path;
use trace::{TraceReader, TraceRecord};

/// Summarise a block trace, convert it to another format, or record a whole machine.
#[derive(Subcommand)]
#[command(after_help = trace::help())]
pub enum TraceArgs {
    Info(info::Info),
    Convert(convert::Convert),
    #[cfg(feature = "linux")]
    Capture(capture::Capture),
}

pub fn run(verb: &TraceArgs) -> Result<(), VerbFailure> {
    match verb {
        TraceArgs::Info(arguments) => info::run(arguments),
        TraceArgs::Convert(arguments) => convert::run(arguments),
        #[cfg(feature = "linux")]
        TraceArgs::Capture(arguments) => capture::run(arguments),
    }
}

/// Requests between two signs of progress.
const TELL_EVERY: u64 = 1 << 14;

/// How a trace is read, and what of it.
#[derive(Args)]
struct ReadingArgs {
    /// The format of the trace [default: recognised by content]; `halfturn trace --help` lists them
    #[arg(long, value_name = "FORMAT")]
    trace_format: Option<String>,
    /// Which column of a table, in text or in Parquet, is what: WHAT by the names that columns of `csv` have, COLUMN by
    /// its name in the file or its number from 1
    #[arg(long, value_name = "WHAT=COLUMN,…", conflicts_with = "trace_format")]
    columns: Option<String>,
    /// Only the requests to this device, by the name the trace gives it
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,
}

impl ReadingArgs {
    /// Whether nothing is said of it.
    fn is_plain(&self) -> bool {
        self.trace_format.is_none() && self.columns.is_none() && self.device.is_none()
    }

    /// The device whose requests are read, if not all are.
    fn device(&self) -> Option<&str> {
        self.device.as_deref()
    }

    /// Opens the trace of `file`.
    fn open(&self, file: &Path) -> Result<TraceReader, VerbFailure> {
        let Some(columns) = &self.columns else {
            return Ok(::trace::open(file, self.trace_format.as_deref().map(trace_format).transpose()?)?);
        };
        let mend =
            "such as --columns time_us=Timestamp,op=IOType,offset=4,size=Size; `halfturn trace --help` says more";
        let columns = columns.parse().map_err(|what: String| BadInput::new("--columns", At::File, what, mend))?;
        Ok(::trace::open_mapped(file, &columns)?)
    }

    /// Reads the trace of `file` to its end and hands out the requests that are wanted, with their device's name.
    fn read(
        &self,
        trace: &mut TraceReader,
        file: &Path,
        mut each: impl FnMut(&TraceRecord, &str) -> Result<(), VerbFailure>,
    ) -> Result<(), VerbFailure> {
        let device = self.device();
        let mut read = 0u64;
        let progress = ReadingBar::new();
        let mut wanted = None;
        while let Some(record) = trace.next() {
            let record = record?;
            read += 1;
            if read.is_multiple_of(TELL_EVERY) {
                progress.at(read);
            }
            let name = trace.devices().get(record.device.0 as usize).map_or("", String::as_str);
            if device.is_some() && wanted.is_none() && device == Some(name) {
                wanted = Some(record.device);
            }
            if device.is_none() || wanted == Some(record.device) {
                each(&record, name)?;
            }
        }
        progress.finish();
        if let (Some(name), None) = (device, wanted) {
            let what = format!("there are no requests to device '{name}'");
            let mend = format!("its devices are {}", trace.devices().join(", "));
            return Err(BadInput::new(file.display().to_string(), At::File, what, mend).into());
        }
        Ok(())
    }
}
