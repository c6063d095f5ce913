//! What is said of a trace written in another format.

use super::number;
use std::path::Path;
use trace::Trace;
use trace::write::{Lost, Target};

/// How much was written where, what the reader met, and what was lost.
pub fn converted(out: &Path, target: Target, trace: &Trace, lost: &Lost) -> String {
    let (count, plural) = (number::count(lost.written), if lost.written == 1 { "" } else { "s" });
    let mut text =
        format!("{}: {count} request{plural}, from {} to {}\n", out.display(), trace.format(), target.word());
    for note in trace.counts().notes().into_iter().chain(lost.notes()) {
        text += &format!("  {note}\n");
    }
    text
}
