//! `halfturn trace`: recorded I/O.

#[cfg(feature = "linux")]
mod capture;
mod convert;
mod info;
mod recording;
#[cfg(feature = "linux")]
mod tracefs;

use crate::failure::Failure;
use crate::progress::Reading;
use crate::verb::trace_format;
use block::{At, BadInput};
use clap::Subcommand;
use std::path::Path;
use trace::Record;

/// Look at a recorded trace of block I/O, write it in another format, or record a whole machine.
#[derive(Subcommand)]
#[command(after_help = trace::help())]
pub enum Trace {
    Info(info::Info),
    Convert(convert::Convert),
    #[cfg(feature = "linux")]
    Capture(capture::Capture),
}

pub fn run(verb: &Trace) -> Result<(), Failure> {
    match verb {
        Trace::Info(arguments) => info::run(arguments),
        Trace::Convert(arguments) => convert::run(arguments),
        #[cfg(feature = "linux")]
        Trace::Capture(arguments) => capture::run(arguments),
    }
}

/// Requests between two signs of progress.
const TELL_EVERY: u64 = 1 << 14;

/// Opens a trace of the format with this word.
fn open(file: &Path, format: Option<&str>) -> Result<trace::Trace, Failure> {
    Ok(trace::open(file, format.map(trace_format).transpose()?)?)
}

/// Reads the trace of `file` to its end and hands out its requests, or those to one device, with the device's name.
fn read(
    trace: &mut trace::Trace,
    file: &Path,
    device: Option<&str>,
    mut each: impl FnMut(&Record, &str) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut read = 0u64;
    let progress = Reading::new();
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
