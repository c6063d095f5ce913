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
use clap::Subcommand;
use std::path::Path;
use trace::TraceRecord;

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

/// Opens a trace of the format with this word.
fn open(file: &Path, format: Option<&str>) -> Result<trace::TraceReader, VerbFailure> {
    Ok(trace::open(file, format.map(trace_format).transpose()?)?)
}

/// Reads the trace of `file` to its end and hands out its requests, or those to one device, with the device's name.
fn read(
    trace: &mut trace::TraceReader,
    file: &Path,
    device: Option<&str>,
    mut each: impl FnMut(&TraceRecord, &str) -> Result<(), VerbFailure>,
) -> Result<(), VerbFailure> {
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
