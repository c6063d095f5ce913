//! `halfturn drive validate`: a model's response times beside measured ones.

use crate::failure::{VerbFailure, print};
use crate::report::{Agreement, ValidationReport};
use crate::verb::outputs::{Inputs, OutputFile};
use crate::verb::{OutputFormat, json, trace_format};
use block::{At, BadInput, Op, Span, Time};
use clap::Args;
use disk::{Drive, Truth};
use load::capture::{CapturedRead, DriveCapture};
use sim::validate::{Demerit, Measured, Pair, replay};
use std::path::{Path, PathBuf};

/// Compare a drive model with a measured trace.
///
/// Replays the trace one request at a time: each arrives after the one before it has completed in the simulation and
/// the measured pause between them has passed. The distributions of response times are compared, not individual
/// requests: the demerit figure is the root mean square of the horizontal distance between the two curves (Ruemmler and
/// Wilkes 1994), taken from histograms as DiskSim does. Any trace with response times will do; DiskSim's "validate"
/// traces are made for it.
///
/// A file of `drive capture` has both, and is named alone. It must then do as well as it says: `good` is a demerit of at most 10 % of
/// the measured mean, `fair` of at most 30 %.
#[derive(Args)]
#[command(after_help = "Examples:
  halfturn drive validate atlas10k.parv atlas10k.trace
  halfturn drive validate drives/emulated-st318437lw.capture
  halfturn drive validate my-drive.toml measured.trace --format json
  halfturn drive validate atlas10k.parv atlas10k.trace --report atlas10k.html")]
pub struct Validate {
    /// A name `drive list` shows, a drive file (TOML), or a DiskSim .parv, .diskspecs or .model; or, without a trace, a file of
    /// `drive capture`
    #[arg(value_name = "DRIVE|FILE.capture")]
    drive: String,
    /// The trace with the measured response times
    #[arg(value_name = "TRACE")]
    trace: Option<PathBuf>,
    /// The format of the trace [default: recognised by its content]
    #[arg(long, value_name = "FORMAT")]
    trace_format: Option<String>,
    /// The seed of the platter's phase at the beginning, and of noise
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
    /// With the noise the drive's file describes
    #[arg(long)]
    noise: bool,
    /// `table` for people, `json` for programs
    #[arg(long, value_enum, default_value = "table")]
    format: OutputFormat,
    /// Also write a page with the distributions into this file (HTML, opens offline)
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
}

pub fn run(arguments: &Validate) -> Result<(), VerbFailure> {
    let Some(trace) = &arguments.trace else { return validate_capture(arguments) };
    let files = trace::files(trace).into_iter().chain([PathBuf::from(&arguments.drive)]);
    let report = OutputFile::if_wanted(arguments.report.as_ref(), &mut Inputs::of(files))?;
    let drive = disk::catalogue::find(&arguments.drive)?;
    let (exchange, notes) = exchange(trace, arguments)?;
    let file = trace.display().to_string();
    let pairs = pairs(&drive, arguments, &exchange, &file)?;
    tell(arguments, report.as_ref(), &ValidationReport::new(&drive.sheet.title, &file, &pairs, notes))
}

/// A capture, which has to do as well as it says.
fn validate_capture(arguments: &Validate) -> Result<(), VerbFailure> {
    let file = arguments.drive.as_str();
    if let Some(format) = &arguments.trace_format {
        let what = format!("there is no trace that could be of the format {format}");
        return Err(BadInput::new("--trace-format", At::File, what, "name a trace, or leave it out").into());
    }
    let report = OutputFile::if_wanted(arguments.report.as_ref(), &mut Inputs::of([file]))?;
    let capture = DriveCapture::load(Path::new(file))?;
    let drive = disk::parse("the captured drive", file, &capture.drive)?;
    let exchange = exchange_of(&capture.reads);
    let pairs = pairs(&drive, arguments, &exchange, file)?;
    let stated = capture.condition("validates");
    let mut notes: Vec<String> = capture.conditions.iter().map(|(key, value)| format!("{key}: {value}")).collect();
    notes.push("the sums of all parts are right; nobody vouches for who wrote them".into());
    tell(arguments, report.as_ref(), &ValidationReport::new(&drive.sheet.title, file, &pairs, notes))?;
    let percent = Demerit::of(&pairs).percent();
    let found = Agreement::of(percent);
    if Agreement::parse(stated).is_none_or(|stated| found > stated) {
        let what = format!("it says '{stated}', and its demerit of {percent:.1} % of the mean is '{}'", found.word());
        let mend = "believe the figures above, or capture the drive again with nothing else on it";
        return Err(VerbFailure::Undone(BadInput::new(file, At::File, what, mend)));
    }
    Ok(())
}

/// A trace, as it is replayed.
pub fn exchange_of(reads: &[CapturedRead]) -> Vec<Measured> {
    let following = reads.iter().skip(1).map(|read| Some(read.time)).chain([None]);
    let pause =
        |read: &CapturedRead, next: Option<Time>| next.map_or(Span::ZERO, |next| next.since(read.time + read.response));
    let measured = |(read, next): (&CapturedRead, _)| Measured {
        op: Op::Read,
        at: read.at,
        response: read.response,
        pause: pause(read, next),
    };
    reads.iter().zip(following).map(measured).collect()
}

/// Each request as measured and as simulated.
fn pairs(drive: &Drive, arguments: &Validate, exchange: &[Measured], file: &str) -> Result<Vec<Pair>, BadInput> {
    let truth = if arguments.noise { drive.truth } else { Truth::default() };
    let capacity = drive.sheet.mechanics.layout.blocks();
    replay(&drive.sheet, &truth, arguments.seed, exchange.iter().copied()).map_err(|index| {
        let at = exchange[index].at;
        let what = format!("request {} goes to block {}, past the {capacity} of the drive", index + 1, at.end().0 - 1);
        BadInput::new(file, At::Record(index as u64 + 1), what, "name the drive the trace was measured on")
    })
}

/// Prints what came out, and writes the page, if one is wanted.
fn tell(arguments: &Validate, report: Option<&OutputFile>, validation: &ValidationReport) -> Result<(), VerbFailure> {
    if let Some(report) = report {
        report.write(validation.page())?;
    }
    print(&if arguments.format == OutputFormat::Json { json(validation) } else { validation.text() })
}

/// The requests of the trace with their responses and the pauses after them; and what a reader should know.
fn exchange(file: &Path, arguments: &Validate) -> Result<(Vec<Measured>, Vec<String>), VerbFailure> {
    let format = arguments.trace_format.as_deref().map(trace_format).transpose()?;
    let mut trace = trace::open(file, format)?;
    let mut exchange: Vec<Measured> = Vec::new();
    let mut end = None;
    let (mut silent, mut overlapping) = (0u64, 0u64);
    for record in trace.by_ref() {
        let record = record?;
        let Some(response) = record.response else {
            silent += 1;
            continue;
        };
        if let (Some(last), Some(end)) = (exchange.last_mut(), end) {
            last.pause = record.time.since(end);
            overlapping += u64::from(record.time < end);
        }
        end = Some(record.time + response);
        exchange.push(Measured { op: record.op, at: record.at, response, pause: Span::ZERO });
    }
    if exchange.is_empty() {
        let file = file.display().to_string();
        let mend = "name a trace with response times, such as DiskSim's validate traces";
        return Err(BadInput::new(file, At::File, "no request in it has a measured response time", mend).into());
    }
    let mut notes = trace.counts().notes();
    if silent > 0 {
        notes.push(format!("{silent} requests without a response time were left out"));
    }
    if overlapping > 0 {
        notes.push(format!(
            "{overlapping} requests were issued before the one before them had completed; here each waits for it"
        ));
    }
    Ok((exchange, notes))
}
