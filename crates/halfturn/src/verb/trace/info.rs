//! `halfturn trace info`: what a trace asks of its devices.

use crate::failure::{VerbFailure, print};
use crate::report::{RecordedReport, TraceReport, TraceSamples, recorded_picture};
use crate::verb::outputs::Inputs;
use crate::verb::trace::ReadingArgs;
use crate::verb::window::PageArgs;
use crate::verb::{OutputFormat, json};
use block::{At, BadInput};
use clap::Args;
use flow::recorded::{Dispatching, LoadedRecording, account, picture, replay};
use std::path::PathBuf;
use trace::{TraceSurvey, ftrace};

/// Summarise a trace: how many requests, how large, how far apart, how bursty.
///
/// The trace is read once, in constant memory; gzip, zstd, bzip2 and xz are decompressed on the fly. The format is
/// recognised by its content. Skipped and odd lines are reported at the end.
///
/// For a whole machine recorded by ftrace it shows where the processors' time went, by process, and which requests
/// processes slept on.
#[derive(Args)]
#[command(after_help = "Examples:
  halfturn trace info examples/traces/fio-mixed.blkparse.txt.gz
  halfturn trace info sda.blktrace.0 --device 8,0 --format json
  halfturn trace info volume.csv.zst --trace-format msr
  halfturn trace info table.csv --columns time_us=Timestamp,op=IOType,offset=Offset,size=Bytes")]
pub struct Info {
    /// The trace; of blktrace, which writes a file for each CPU, any of them or their common name
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    reading: ReadingArgs,
    /// `table` for people, `json` for programs
    #[arg(long, value_enum, default_value = "table")]
    format: OutputFormat,
    #[command(flatten)]
    page: PageArgs,
}

pub fn run(arguments: &Info) -> Result<(), VerbFailure> {
    let Info { file, reading, page, .. } = arguments;
    if reading.is_plain() && file.is_file() && ftrace::looks(file)? {
        let tape = LoadedRecording::read(file)?;
        let account = account(&tape);
        let replay = tape.busiest().map(|device| {
            (device, [Dispatching::AsRecorded, Dispatching::Modelled].map(|by| replay(&tape, device, by)))
        });
        let name = file.display().to_string();
        let report = RecordedReport::new(&name, &account, replay);
        if let Some(page) = page.output(&mut Inputs::of([file]))? {
            let pictured = recorded_picture(&picture(&tape, arguments.page.scope(1)?));
            page.write(&name, None, &report.text(), &[("As recorded".into(), pictured)])?;
        }
        return print(&if arguments.format == OutputFormat::Json { json(&report) } else { report.text() });
    }
    if page.has_window() {
        let what = "is no recorded machine: there is no timeline of it";
        let mend = "leave out --window; the figures are of the whole trace";
        return Err(BadInput::new(file.display().to_string(), At::File, what, mend).into());
    }
    let written = page.output(&mut Inputs::of(trace::files(file)))?;
    let mut survey = TraceSurvey::new();
    let mut samples = TraceSamples::new();
    let mut trace = reading.open(file)?;
    reading.read(&mut trace, file, |record, _| {
        survey.add(record);
        if written.is_some() {
            samples.add(record);
        }
        Ok(())
    })?;
    let file = file.display().to_string();
    let report = TraceReport::new(&file, &trace, survey.finish(), reading.device());
    if let Some(written) = written {
        written.write_html(report.page(&samples))?;
    }
    print(&if arguments.format == OutputFormat::Json { json(&report) } else { report.text() })
}
