//! What is said of a trace written in another format.

use super::number;
use flow::recorded::LoadedRecording;
use std::path::Path;
use trace::TraceReader;
use trace::write::{Lost, WritableFormat};

/// How much was written where, what the reader met, and what was lost.
pub fn conversion(out: &Path, target: WritableFormat, trace: &TraceReader, lost: &Lost) -> String {
    let (count, plural) = (number::count(lost.written), if lost.written == 1 { "" } else { "s" });
    let mut text =
        format!("{}: {count} request{plural}, from {} to {}\n", out.display(), trace.format(), target.name());
    for note in trace.counts().notes().into_iter().chain(lost.notes()) {
        text += &format!("  {note}\n");
    }
    text
}

/// How much of a whole machine was written where, and whether all of it.
pub fn recording(out: &Path, events: u64, lost: u64, tape: &LoadedRecording) -> String {
    let seconds = number::with_decimals(tape.length().as_secs(), 3);
    let mut text = format!("{}: {} events in {seconds} s", out.display(), number::count(events));
    text += &match lost {
        0 => ", none lost\n".to_owned(),
        lost => format!("\n  {} events were lost: give a larger --buffer\n", number::count(lost)),
    };
    if let Some((_, words)) = &tape.command {
        text += &format!("  of: {words}\n");
    }
    text
}
