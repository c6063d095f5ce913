//! `halfturn trace convert`: writes a trace in another format.

use super::recording;
use crate::failure::{VerbFailure, print};
use crate::report;
use crate::verb::outputs::{Inputs, OutputFile};
use crate::verb::trace::ReadingArgs;
use block::{At, BadInput};
use clap::Args;
use flow::recorded::LoadedRecording;
use std::path::PathBuf;
use trace::ftrace;
use trace::write::{TraceWriter, WritableFormat};

/// Write a trace in another format.
///
/// The trace is read once, in constant memory. Requests keep their order and their times. What the format cannot hold
/// is left out and reported at the end. An existing file of that name is replaced only once the new one is complete.
///
/// `halfturn trace --help` lists the formats. A recording of a whole machine by ftrace (text) converts to process-flow,
/// which holds the same in a tenth of the space.
#[derive(Args)]
#[command(after_help = "Examples:
  halfturn trace convert examples/traces/fio-mixed.blkparse.txt.gz fio-mixed.iolog
  halfturn trace convert sda.blktrace.0 sda.trace --device 8,0
  halfturn trace convert volume.csv.zst volume.txt --trace-format msr --to disksim
  halfturn trace convert machine.ftrace.gz machine.pflow")]
pub struct Convert {
    /// The trace; of blktrace, which writes a file for each CPU, any of them or their common name
    #[arg(value_name = "IN")]
    from: PathBuf,
    /// The file to write
    #[arg(value_name = "OUT")]
    out: PathBuf,
    /// The format of OUT [default: by its ending, such as .trace, .iolog or .pflow]
    #[arg(long, value_name = "FORMAT")]
    to: Option<String>,
    #[command(flatten)]
    reading: ReadingArgs,
}

pub fn run(arguments: &Convert) -> Result<(), VerbFailure> {
    let Convert { from, out, reading, .. } = arguments;
    if reading.is_plain() && from.is_file() && ftrace::looks(from)? {
        return convert_recording(arguments);
    }
    let target = WritableFormat::choose(out, arguments.to.as_deref())?;
    let output = OutputFile::new(out, &mut Inputs::of(trace::files(from)))?;
    let mut trace = reading.open(from)?;
    let unwritable = |error: std::io::Error| output.unwritable(&error);
    let draft = output.draft()?;
    let mut writer =
        TraceWriter::new(target, draft.file().map_err(unwritable)?).map_err(unwritable)?.ok_or_else(|| {
            let mend = "build it with cargo build --release -p halfturn --features parquet";
            BadInput::new(out.display().to_string(), At::File, "this halfturn was built without Parquet", mend)
        })?;
    reading.read(&mut trace, from, |record, device| writer.put(record, device).map_err(unwritable))?;
    let lost = writer.finish().map_err(unwritable)?;
    if lost.written == 0 {
        let what = "there is no request in it to write";
        return Err(BadInput::new(from.display().to_string(), At::File, what, "name a trace that has some").into());
    }
    draft.keep().map_err(unwritable)?;
    print(&report::conversion(out, target, &trace, &lost))
}

/// Of a whole machine.
fn convert_recording(arguments: &Convert) -> Result<(), VerbFailure> {
    let Convert { from, out, to, .. } = arguments;
    let ending = out.extension().is_some_and(|ending| ending == "pflow");
    if to.as_ref().map_or(!ending, |to| to != "process-flow") {
        let what = "this is the recording of a whole machine, and OUT no format for such";
        return Err(BadInput::new(from.display().to_string(), At::File, what, "end OUT in .pflow").into());
    }
    let output = OutputFile::new(out, &mut Inputs::of([from]))?;
    let unwritable = |error: std::io::Error| output.unwritable(&error);
    let draft = output.draft()?;
    let tape = LoadedRecording::read(from)?;
    let command = tape.command.as_ref().map(|(pid, words)| (*pid, words.as_str()));
    let written = recording::write(from, draft.file().map_err(unwritable)?, command, 0);
    let (events, lost) = written.map_err(|wrong| wrong.of(out))?;
    draft.keep().map_err(unwritable)?;
    print(&report::recording(out, events, lost, &tape))
}
