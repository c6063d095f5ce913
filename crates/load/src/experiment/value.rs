//! `[scheduler.class.NAME]`, its part on value: `yield`, `flat_until`, `least`, `curve`, `value`, `value_per`.

use super::asker::Asker;
use block::BadInput;
use config::Section;
use sched::value::{Curve, Worth};

/// Where the curve of interactive real-time requests begins to fall, and where that of interactive best-effort requests ends,
/// unless the file says.
const FLAT_UNTIL: f64 = 0.8;
const LEAST: f64 = 0.1;
/// What a MiB of what is done in the background is worth, unless the file says.
const BACKGROUND: f64 = 0.01;

/// Names of yield curves: those of the paper's Figure 8, and best effort that is worth next to nothing.
const YIELDS: [&str; 5] =
    ["interactive-real-time", "hard-real-time", "interactive-best-effort", "best-effort", "background"];

/// What requests of a class are worth.
pub(super) fn read(class: &Section, name: &str, askers: &[Asker]) -> Result<Worth, BadInput> {
    let kind = class.choice("yield", &YIELDS.map(|name| (name, name)))?;
    let knob = |key: &str, user: &str| -> Result<Option<f64>, BadInput> {
        let share = class.share(key)?;
        if share.is_some() && kind != Some(user) {
            let what = format!("`{key}` is of use only with yield = \"{user}\"");
            return Err(class.error(key, what, "take it out"));
        }
        Ok(share)
    };
    let flat = knob("flat_until", "interactive-real-time")?.unwrap_or(FLAT_UNTIL);
    let least = knob("least", "interactive-best-effort")?.unwrap_or(LEAST);
    let given = curve(class)?;
    if given.is_some() && kind.is_some() {
        return Err(class.error("curve", "both `yield` and `curve`", "keep one of them"));
    }
    let curve = given.unwrap_or(match kind {
        None | Some("hard-real-time") => Curve::HARD,
        Some("interactive-real-time") => Curve::interactive_real_time(flat),
        Some("interactive-best-effort") => Curve::interactive_best_effort(least),
        Some(_) => Curve::BEST_EFFORT,
    });
    let is_of = |asker: &&Asker| asker.class == name || asker.processes;
    let timeless = askers.iter().filter(is_of).find(|asker| asker.deadline.is_none());
    if let Some(Asker { what: who, name, .. }) = timeless
        && curve.falls()
        && let Some(key) = ["yield", "curve"].into_iter().find(|key| class.has(key))
    {
        let what = format!("a value that falls towards a deadline, and {who} '{name}' has none");
        let mend = format!("give the {who} a `deadline`, or the class yield = \"best-effort\"");
        return Err(class.error(key, what, mend));
    }
    let usual = if kind == Some("background") { BACKGROUND } else { 1.0 };
    let value = class.f64("value")?.unwrap_or(usual);
    if !(value >= 0.0 && value.is_finite()) {
        return Err(class.error("value", format!("`value` is {value}"), "give a number, zero or more"));
    }
    let whole = class.choice("value_per", &[("MiB", false), ("request", true)])?.unwrap_or(false);
    Ok(Worth { curve, value, whole })
}

/// A curve of one's own.
fn curve(class: &Section) -> Result<Option<Curve>, BadInput> {
    let Some(rows) = class.rows("curve")? else { return Ok(None) };
    let mend = "give pairs [share of the time to the deadline, what is left], such as [[0.8, 1.0], [1.0, 0.0]]";
    let mut points = Vec::with_capacity(rows.len());
    for row in &rows {
        let [share, left] = row[..] else {
            return Err(class.error("curve", format!("a point of {} numbers", row.len()), mend));
        };
        points.push((share, left));
    }
    Curve::through(&points).map(Some).map_err(|what| class.error("curve", what, mend))
}
