//! `halfturn drive validate`: a model's response times beside measured ones.

use crate::failure::{VerbFailure, print};
use crate::report::ValidationReport;
use crate::verb::outputs::{Inputs, OutputFile};
use crate::verb::{OutputFormat, json, trace_format};
use block::{At, BadInput, Span};
use clap::Args;
use disk::Truth;
use sim::validate::{Measured, replay};
use std::path::PathBuf;

/// Compare a drive model with a measured trace.
///
/// Replays the trace one request at a time: each arrives after the one before it has completed in the simulation and
/// the measured pause between them has passed. The distributions of response times are compared, not individual
/// requests: the demerit figure is the root mean square of the horizontal distance between the two curves (Ruemmler and
/// Wilkes 1994), taken from histograms as DiskSim does. Any trace with response times will do; DiskSim's "validate"
/// traces are made for it.
#[derive(Args)]
#[command(after_help = "Examples:
  halfturn drive validate atlas10k.parv atlas10k.trace
  halfturn drive validate my-drive.toml measured.trace --format json
  halfturn drive validate atlas10k.parv atlas10k.trace --report atlas10k.html")]
pub struct Validate {
    /// A name `drive list` shows, a drive file (TOML), or a DiskSim .parv, .diskspecs or .model
    #[arg(value_name = "DRIVE")]
    drive: String,
    /// The trace with the measured response times
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
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
    let files = trace::files(&arguments.trace).into_iter().chain([PathBuf::from(&arguments.drive)]);
    let report = OutputFile::if_wanted(arguments.report.as_ref(), &mut Inputs::of(files))?;
    let disk::Drive { sheet, truth } = disk::catalogue::find(&arguments.drive)?;
    let truth = if arguments.noise { truth } else { Truth::default() };
    let (exchange, notes) = exchange(arguments)?;
    let file = arguments.trace.display().to_string();
    let capacity = sheet.mechanics.layout.blocks();
    let pairs = replay(&sheet, &truth, arguments.seed, exchange.iter().copied()).map_err(|index| {
        let at = exchange[index].at;
        let what = format!("request {} goes to block {}, past the {capacity} of the drive", index + 1, at.end().0 - 1);
        BadInput::new(file.clone(), At::Record(index as u64 + 1), what, "name the drive the trace was measured on")
    })?;
    let validation = ValidationReport::new(&sheet.title, &file, &pairs, notes);
    if let Some(report) = &report {
        report.write(validation.page())?;
    }
    print(&if arguments.format == OutputFormat::Json { json(&validation) } else { validation.text() })
}

/// The requests of the trace with their responses and the pauses after them; and what a reader should know.
fn exchange(arguments: &Validate) -> Result<(Vec<Measured>, Vec<String>), VerbFailure> {
    let format = arguments.trace_format.as_deref().map(trace_format).transpose()?;
    let mut trace = trace::open(&arguments.trace, format)?;
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
        let file = arguments.trace.display().to_string();
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
