//! How many targets of each kind hold, and how nearly.

use crate::basis::BASES;
use crate::outcome::{Near, TargetOutcome, Verdict};
use serde::Serialize;

/// Counts of one kind of target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// How many targets there are.
    pub targets: usize,
    /// Held, and our mean rounds to what is printed.
    pub within_precision: usize,
    /// Held, and not so near, but within 10 %.
    pub within_10_percent: usize,
    /// Held, and not so near, but within 30 %.
    pub within_30_percent: usize,
    /// Held: an order, a bound or a number of which the paper's words say less than 30 %.
    pub held_by_words: usize,
    /// Missed under every seed.
    pub missed: usize,
    /// Held under some seeds only.
    pub undecided: usize,
    /// How many have no measure yet.
    pub unmeasured: usize,
}

/// How many targets were held, by what they rest on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Of the numbers that papers print, fitted ones included; repeats and what holds by construction are not among them.
    pub published_numbers: Counts,
    /// Of the orders and bounds that papers state.
    pub published_claims: Counts,
    /// The counts for each basis.
    pub by_basis: Vec<(&'static str, Counts)>,
}

impl Summary {
    /// Counts the outcomes by verdict and by basis.
    #[must_use]
    pub fn of(outcomes: &[TargetOutcome]) -> Summary {
        let count = |of: &dyn Fn(&TargetOutcome) -> bool| counts(outcomes.iter().filter(|outcome| of(outcome)));
        let is_number = |outcome: &TargetOutcome| outcome.target.published.number().is_some();
        Summary {
            published_numbers: count(&|outcome| outcome.target.basis.is_printed() && is_number(outcome)),
            published_claims: count(&|outcome| outcome.target.basis.is_printed() && !is_number(outcome)),
            by_basis: BASES.map(|basis| (basis, count(&|outcome| outcome.target.basis.word() == basis))).into(),
        }
    }
}

fn counts<'a>(outcomes: impl Iterator<Item = &'a TargetOutcome<'a>>) -> Counts {
    let mut counts = Counts::default();
    for outcome in outcomes {
        counts.targets += 1;
        *match (outcome.verdict, outcome.near()) {
            (Verdict::Missed, _) => &mut counts.missed,
            (Verdict::Undecided, _) => &mut counts.undecided,
            (Verdict::Unmeasured, _) => &mut counts.unmeasured,
            (Verdict::Held, Near::Printed) => &mut counts.within_precision,
            (Verdict::Held, Near::Tenth) => &mut counts.within_10_percent,
            (Verdict::Held, Near::Third) => &mut counts.within_30_percent,
            (Verdict::Held, Near::Words) => &mut counts.held_by_words,
        } += 1;
    }
    counts
}
