//! `halfturn trace info`.

use crate::failure::{Failure, print};
use crate::progress::Reading;
use crate::report::TraceReport;
use crate::verb::{Output, json, trace_format};
use block::{At, BadInput};
use clap::Args;
use std::path::PathBuf;
use trace::Survey;

/// Requests between two signs of progress.
const TELL_EVERY: u64 = 1 << 14;

/// Tell what a trace asks of a disk: how much, how large, how far apart, how bursty.
///
/// The trace is read once, in little memory, however long it is; gzip, zstd, bzip2 and xz are read in place. The
/// format is recognised by content. Whatever the reader left out or found odd is said at the end.
#[derive(Args)]
#[command(after_help = "Examples:
  halfturn trace info examples/traces/fio-mixed.blkparse.txt.gz
  halfturn trace info sda.blktrace.0 --device 8,0 --format json
  halfturn trace info volume.csv.zst --trace-format msr")]
pub struct Info {
    /// The trace; of blktrace, which writes a file for each CPU, any of them or their common name
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The format, where it is not to be guessed from the content; README.md lists the words
    #[arg(long, value_name = "FORMAT")]
    trace_format: Option<String>,
    /// Only the requests to this device, by the name the trace gives it
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,
    /// `table` for people, `json` for programs
    #[arg(long, value_enum, default_value = "table")]
    format: Output,
}

/// Does it.
pub fn run(arguments: &Info) -> Result<(), Failure> {
    let format = arguments.trace_format.as_deref().map(trace_format).transpose()?;
    let mut trace = trace::open(&arguments.file, format)?;
    let mut survey = Survey::new();
    let mut read = 0u64;
    let progress = Reading::new();
    let mut wanted = None;
    while let Some(record) = trace.next() {
        let record = record?;
        read += 1;
        if read.is_multiple_of(TELL_EVERY) {
            progress.at(read);
        }
        if let Some(name) = &arguments.device {
            if wanted.is_none() && trace.devices().get(record.device.0 as usize) == Some(name) {
                wanted = Some(record.device);
            }
            if wanted != Some(record.device) {
                continue;
            }
        }
        survey.add(&record);
    }
    progress.finish();
    let file = arguments.file.display().to_string();
    if let (Some(name), None) = (&arguments.device, wanted) {
        let mend = format!("its devices are {}", trace.devices().join(", "));
        return Err(BadInput::new(file, At::File, format!("there are no requests to device '{name}'"), mend).into());
    }
    let report = TraceReport::new(&file, &trace, survey.finish(), arguments.device.as_deref());
    print(&if arguments.format == Output::Json { json(&report) } else { report.text() })
}
