//! What was measured of each target, for programs.

use crate::{Basis, Expected, MeasuredValue, Near, PublishedValue, Summary, TargetOutcome, Verdict};
use serde::Serialize;

/// What came of some targets, as JSON has it.
#[derive(Serialize)]
pub struct TargetFigures<'a> {
    summary: &'a Summary,
    targets: Vec<TargetJson<'a>>,
}

impl<'a> TargetFigures<'a> {
    /// Of these outcomes, in their order, and their sum.
    #[must_use]
    pub fn of(summary: &'a Summary, outcomes: &[TargetOutcome<'a>]) -> TargetFigures<'a> {
        TargetFigures { summary, targets: outcomes.iter().map(line).collect() }
    }
}

/// A target as JSON prints it.
#[derive(Serialize)]
struct TargetJson<'a> {
    id: &'a str,
    claim: &'a str,
    published: ShownValue,
    basis: &'a str,
    /// Whether the basis is `fitted`.
    fitted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    how: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    quote: Option<&'a str>,
    /// The mean over the seeds; of an order, what it compares, under the first seed.
    measured: ShownValue,
    /// One for each seed; one where no seed changes it.
    by_seed: Vec<ShownValue>,
    /// From seed to seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    standard_deviation: Option<f64>,
    /// Half the 95 % interval of the mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    margin: Option<f64>,
    /// Of the mean from the published number, in parts of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    off: Option<f64>,
    tolerance: String,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    near: Option<&'static str>,
    pass: bool,
    source: &'a str,
    expected: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    known_miss: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ShownValue {
    Nothing,
    Number(f64),
    Words(String),
    Several(Vec<f64>),
}

fn line<'a>(outcome: &TargetOutcome<'a>) -> TargetJson<'a> {
    let target = outcome.target;
    let by_seed: Vec<ShownValue> = outcome.measured.iter().map(value).collect();
    TargetJson {
        id: &target.id,
        claim: &target.claim,
        published: match &target.published {
            PublishedValue::Number { value, .. } => ShownValue::Number(*value),
            PublishedValue::Words(words) => ShownValue::Words(words.clone()),
        },
        basis: target.basis.word(),
        fitted: matches!(target.basis, Basis::Fitted(_)),
        how: target.basis.how(),
        quote: target.quote.as_deref(),
        measured: match outcome.mean() {
            Some(mean) => ShownValue::Number(mean),
            None => outcome.measured.first().map_or(ShownValue::Nothing, value),
        },
        by_seed,
        standard_deviation: outcome.deviation(),
        margin: outcome.margin(),
        off: outcome.off(),
        tolerance: target.tolerance.to_string(),
        verdict: match outcome.verdict {
            Verdict::Held => "held",
            Verdict::Missed => "missed",
            Verdict::Undecided => "undecided",
            Verdict::Unmeasured => "not measured",
        },
        near: (outcome.verdict == Verdict::Held).then(|| match outcome.near() {
            Near::Printed => "printed",
            Near::Tenth => "10 %",
            Near::Third => "30 %",
            Near::Words => "words",
        }),
        pass: outcome.verdict == Verdict::Held,
        source: &outcome.file.source,
        expected: match target.expected {
            Expected::Held => "held",
            Expected::Missed => "missed",
            Expected::Undecided => "undecided",
        },
        known_miss: target.known_miss.as_deref(),
        note: target.note.as_deref(),
    }
}

fn value(measured: &MeasuredValue) -> ShownValue {
    match measured {
        MeasuredValue::Number(figure) => ShownValue::Number(*figure),
        MeasuredValue::Order { figures, .. } => ShownValue::Several(figures.clone()),
    }
}
