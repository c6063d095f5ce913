//! What came of having a run again.

use live::ReplayReport;
use serde_json::{Value, json};

/// What is said of a log that does not tell of the end of its run.
const CUT: &str = " the log is cut off there: it does not tell of the end of the run\n";

/// The outcome of a replay as it is printed.
pub fn replay_report(it: &ReplayReport) -> String {
    let ReplayReport { inputs, requests, actions, until, whole, differs } = it;
    let of = format!("{inputs} inputs ({requests} requests) of {:.3} s, {actions} decisions", until.as_secs());
    let cut = if *whole { "" } else { CUT };
    let Some(difference) = differs else { return format!(" {of}: all the same as then\n{cut}") };
    let (number, at, input) = &difference.input;
    let mut text =
        format!(" {of} the same as then; not so after input {number}, at {:.6} s: {input:?}\n", at.as_secs());
    for (when, actions) in [("then", &difference.then), ("now", &difference.now)] {
        text += &format!("  {when}:\n");
        for action in actions {
            text += &format!("    {action:?}\n");
        }
    }
    text
}

/// The outcome of a replay as JSON.
pub fn replayed_json(it: &ReplayReport) -> Value {
    json!({
        "inputs": it.inputs, "requests": it.requests, "actions": it.actions, "seconds": it.until.as_secs(),
        "whole": it.whole, "identical": it.differs.is_none(), "differs_after_input": it.differs.as_ref().map(|difference| difference.input.0),
    })
}
