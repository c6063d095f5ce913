//! `[scheduler.class.NAME]`, its part on value: `yield`, `flat_until`, `least`, `curve`, `value`, `value_per`.

use super::asker::Asker;
use block::BadInput;
use config::{Key, Section, Word, Words};
use sched::value::{Curve, Worth};

/// What a MiB, or a request, is worth that is neither said to be nor done in the background.
const USUAL: f64 = 1.0;
/// The same of what is done in the background.
const BACKGROUND: f64 = 0.01;

/// Yield curves: those of the paper's Figure 8, and best effort that is worth next to nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    InteractiveRealTime,
    Hard,
    InteractiveBestEffort,
    BestEffort,
    Background,
}

impl Words for Kind {
    const WORDS: &'static [Word<Kind>] = &[
        Word::new(
            "interactive-real-time",
            Kind::InteractiveRealTime,
            "all of it until `flat_until` of the time to the deadline, then falling to nothing",
        ),
        Word::new("hard-real-time", Kind::Hard, "all of it until the deadline"),
        Word::new("interactive-best-effort", Kind::InteractiveBestEffort, "falling to `least` at the deadline"),
        Word::new("best-effort", Kind::BestEffort, "all of it, always"),
        Word::new("background", Kind::Background, "all of it, always, of next to nothing"),
    ];
}

/// What a value is given for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Per {
    Mib,
    Request,
}

impl Words for Per {
    const WORDS: &'static [Word<Per>] = &[
        Word::new("MiB", Per::Mib, "each MiB"),
        Word::new("request", Per::Request, "each request, whatever its size"),
    ];
}

config::keys! {
    /// What requests of a class are worth, to policies and preemption that go by value.
    pub(super) fn worth_keys() -> "[scheduler.class.NAME]";

    /// How much of a request's value is left as time goes on.
    YIELD: Kind = word("yield").else_told("hard-real-time");
    /// Of `interactive-real-time`: the share of the time to the deadline after which its value falls.
    FLAT_UNTIL: f64 = share("flat_until").usually("0.8");
    /// Of `interactive-best-effort`: the share of its value that is left at the deadline.
    LEAST: f64 = share("least").usually("0.1");
    /// In place of `yield`: points `[share of the time to the deadline, share of the value left]`, which never rise. Where
    /// nothing is left, a request that still waits is dropped.
    CURVE: Vec<Vec<f64>> = rows("curve");
    /// What it is worth.
    VALUE: f64 = number("value", 0.0, f64::MAX).else_told("1; 0.01 of `background`");
    /// What `value` is given for. In an array a part of a request counts for its share of what remains of the request, so that what is
    /// nearly complete goes first.
    VALUE_PER: Per = word("value_per").usually("MiB");
}

/// What requests of a class are worth where the file does not say. A system is not dropped a request at its time limit: it will
/// wait then.
pub(super) fn usual(askers: &[Asker]) -> Worth {
    let curve = if askers.iter().any(|asker| asker.processes) { Curve::BEST_EFFORT } else { Curve::HARD };
    Worth { curve, ..Worth::USUAL }
}

/// What requests of a class are worth.
pub(super) fn read(class: &Section, name: &str, askers: &[Asker]) -> Result<Worth, BadInput> {
    let kind = class.get(&YIELD)?;
    let knob = |key: &Key<f64>, user: Kind| -> Result<f64, BadInput> {
        if class.has(key.name()) && kind != Some(user) {
            let user = Kind::WORDS.iter().find(|word| word.value == user).map_or("", |word| word.name);
            let what = format!("`{}` is of use only with yield = \"{user}\"", key.name());
            return Err(class.error(key.name(), what, "take it out"));
        }
        class.value(key)
    };
    let flat = knob(&FLAT_UNTIL, Kind::InteractiveRealTime)?;
    let least = knob(&LEAST, Kind::InteractiveBestEffort)?;
    let given = curve(class)?;
    if given.is_some() && kind.is_some() {
        return Err(class.error("curve", "both `yield` and `curve`", "keep one of them"));
    }
    let curve = given.unwrap_or(match kind {
        None => usual(askers).curve,
        Some(Kind::Hard) => Curve::HARD,
        Some(Kind::InteractiveRealTime) => Curve::interactive_real_time(flat),
        Some(Kind::InteractiveBestEffort) => Curve::interactive_best_effort(least),
        Some(_) => Curve::BEST_EFFORT,
    });
    let is_of = |asker: &&Asker| asker.class == name || asker.processes;
    let timeless = askers.iter().filter(is_of).find(|asker| asker.deadline.is_none());
    if let Some(Asker { what: who, name, .. }) = timeless
        && curve.falls()
        && let Some(key) = [YIELD.name(), CURVE.name()].into_iter().find(|key| class.has(key))
    {
        let what = format!("a value that falls towards a deadline, and {who} '{name}' has none");
        let mend = format!("give the {who} a `deadline`, or the class yield = \"best-effort\"");
        return Err(class.error(key, what, mend));
    }
    let usual = if kind == Some(Kind::Background) { BACKGROUND } else { USUAL };
    let value = class.get(&VALUE)?.unwrap_or(usual);
    Ok(Worth { curve, value, whole: class.value(&VALUE_PER)? == Per::Request })
}

/// A curve of one's own.
fn curve(class: &Section) -> Result<Option<Curve>, BadInput> {
    let Some(rows) = class.get(&CURVE)? else { return Ok(None) };
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
