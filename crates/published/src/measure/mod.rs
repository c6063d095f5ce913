//! What of the results is held against a published figure: a small language.
//!
//! | written | means |
//! |---|---|
//! | `12.5` | a number |
//! | `np{size=50KiB, rate=1/s}.classes.high.response_ms.mean` | a field of the results (`load::results::Run`) of the runs of experiment `np` with these labels; of all its runs without `{}` |
//! | `a + b`, `a - b`, `a * b`, `a / b`, `( )` | run by run where both are of several runs, in the order of the sweeps |
//! | `intercept(a, rate)` | A of the least-squares line a = A(1 − c·rate) over the numbers of this label |
//! | `slope(a, rate)` | its c, times 1000: of a rate in 1/s, milliseconds |
//! | `straight(a, size)` | R² of that line: 1 where a is linear |
//! | `largest(a)`, `smallest(a)`, `mean(a)` | over the runs |
//! | `spread(a)` | (largest − smallest) / mean |
//! | `share(np{size=50KiB}, 3, 16)` | share of its drive commands that took from 3 to 16 ms |
//! | `peak(np{size=50KiB}, 0.2, 3)` | the most frequent duration in that window, ms |
//! | `expected_wait(slack, t, n, …)` | what a random arrival waits for n times t among slack: `load::expected_wait` |
//! | `seek(drive, cylinders)` | of a drive's seek curve, ms |
//! | `a < b < c` | an order, which holds or not; run by run |
//! | `rising(a)`, `falling(a)` | the same along the sweep |
//!
//! A measure is a number or an order. A label is a number, or a quantity taken as one: a rate in 1/s, a size in KiB, a
//! time in ms.

mod eval;
mod fit;
mod lexer;
mod parse;

pub(crate) use eval::{LabelledResults, ResultSource, label_number};

use load::results::Label;
use std::collections::BTreeMap;

/// The value of a measure.
#[derive(Clone, Debug, PartialEq)]
pub enum MeasuredValue {
    /// A number, in the unit that the measure says.
    Number(f64),
    /// A comparison, and what it compared.
    Order {
        /// Whether the property holds.
        holds: bool,
        /// The figures, in the order in which they should be.
        figures: Vec<f64>,
    },
}

/// How a figure is measured.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Measure {
    /// An expression whose value is a number.
    Figure(Expression),
    /// Each less than the next.
    Order(Vec<Expression>),
    /// Each run more than the one before.
    Rising(Expression),
    /// Each run less than the one before.
    Falling(Expression),
}

/// Something with a number, or one for each of several runs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expression {
    Number(f64),
    Field(Selection, Vec<String>),
    Binary(Operator, Box<Expression>, Box<Expression>),
    Line(LineFigure, Box<Expression>, String),
    Summary(RunSummary, Box<Expression>),
    Share(Selection, f64, f64),
    Peak(Selection, f64, f64),
    Wait { slack: f64, times: Vec<(f64, f64)> },
    Seek(String, u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
}

/// A figure of a least-squares line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineFigure {
    Intercept,
    Slope,
    Straight,
}

/// A figure of several runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunSummary {
    Largest,
    Smallest,
    Mean,
    Spread,
}

/// Runs of an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selection {
    pub experiment: String,
    pub labels: Vec<(String, String)>,
}

impl Selection {
    /// Whether a run with these labels is one of them.
    pub fn takes(&self, labels: &BTreeMap<String, Label>) -> bool {
        self.labels.iter().all(|(key, value)| labels.get(key).is_some_and(|label| label.to_string() == *value))
    }
}

impl Measure {
    /// Whether it holds or not, rather than having a number.
    pub fn is_order(&self) -> bool {
        !matches!(self, Measure::Figure(_))
    }

    /// What it is made of.
    pub fn expressions(&self) -> &[Expression] {
        match self {
            Measure::Figure(one) | Measure::Rising(one) | Measure::Falling(one) => std::slice::from_ref(one),
            Measure::Order(several) => several,
        }
    }
}

impl Expression {
    /// The runs it looks at.
    pub fn selections(&self) -> Vec<&Selection> {
        match self {
            Expression::Number(_) | Expression::Wait { .. } | Expression::Seek(..) => Vec::new(),
            Expression::Field(selection, _) | Expression::Share(selection, ..) | Expression::Peak(selection, ..) => {
                vec![selection]
            }
            Expression::Binary(_, a, b) => a.selections().into_iter().chain(b.selections()).collect(),
            Expression::Line(_, a, _) | Expression::Summary(_, a) => a.selections(),
        }
    }
}
