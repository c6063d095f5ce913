//! The value of a measure, given the results.

use super::{Expression, LineFigure, Measure, MeasuredValue, Operator, RunSummary, Selection, fit};
use block::units;
use load::results::Label;
use serde_json::Value;
use std::collections::BTreeMap;

/// The figure of one run; of no run in particular where there are no labels.
#[derive(Clone, Debug)]
pub(crate) struct MeasuredPoint {
    pub labels: BTreeMap<String, Label>,
    pub value: f64,
}

/// The labels of a run, and its results as JSON.
pub(crate) type LabelledResults<'a> = (&'a BTreeMap<String, Label>, &'a Value);

/// Where the results of runs are found, as JSON, in the order of the sweep.
pub(crate) trait ResultSource {
    /// The runs of a selection with their labels.
    ///
    /// # Errors
    /// What is wrong and, after `; `, the mend.
    fn runs(&self, selection: &Selection) -> Result<Vec<LabelledResults<'_>>, String>;
}

type Evaluated<T> = Result<T, String>;

/// What a label is on an axis: a number as it is, a rate in 1/s, a size in KiB, a time in ms.
pub(crate) fn label_number(label: &Label) -> Option<f64> {
    match label {
        Label::Number(number) => Some(*number),
        Label::Word(word) => (units::rate(word).ok())
            .or_else(|| units::blocks(word).ok().map(|blocks| blocks as f64 / 2.0))
            .or_else(|| units::span(word).ok().map(block::Span::as_ms)),
    }
}

impl Measure {
    /// What it comes to. The error says what is wrong and, after `; `, the mend.
    ///
    /// # Errors
    /// When the results lack a field it names, or have several runs where one is meant.
    pub fn value(&self, source: &dyn ResultSource) -> Evaluated<MeasuredValue> {
        match self {
            Measure::Figure(expression) => match expression.points(source)?.as_slice() {
                [one] => Ok(MeasuredValue::Number(one.value)),
                several => Err(format!("it is of {} runs; name one with {{label=value}}", several.len())),
            },
            Measure::Rising(expression) => Ok(order(&values(expression, source)?, |before, after| before < after)),
            Measure::Falling(expression) => Ok(order(&values(expression, source)?, |before, after| after < before)),
            Measure::Order(expressions) => {
                let all: Vec<Vec<f64>> =
                    expressions.iter().map(|expression| values(expression, source)).collect::<Evaluated<_>>()?;
                let mut holds = true;
                for pair in all.windows(2) {
                    holds &= pair_up(&pair[0], &pair[1])?.all(|(low, high)| low < high);
                }
                Ok(MeasuredValue::Order { holds, figures: all.into_iter().flatten().collect() })
            }
        }
    }
}

fn values(expression: &Expression, source: &dyn ResultSource) -> Evaluated<Vec<f64>> {
    Ok(expression.points(source)?.into_iter().map(|point| point.value).collect())
}

/// Whether each of several figures stands to the next as it should.
fn order(figures: &[f64], stands: fn(f64, f64) -> bool) -> MeasuredValue {
    let holds = figures.windows(2).all(|pair| stands(pair[0], pair[1]));
    MeasuredValue::Order { holds: holds && figures.len() > 1, figures: figures.to_vec() }
}

/// Each of one with each of the other; a single one goes with all.
fn pair_up<'a>(a: &'a [f64], b: &'a [f64]) -> Evaluated<impl Iterator<Item = (f64, f64)> + 'a> {
    let runs = a.len().max(b.len());
    if [a, b].iter().any(|side| side.len() != runs && side.len() != 1) {
        return Err(format!("{} runs do not go with {}; name as many of one as of the other", a.len(), b.len()));
    }
    let of = |side: &'a [f64], i: usize| if side.len() == 1 { side[0] } else { side[i] };
    Ok((0..runs).map(move |i| (of(a, i), of(b, i))))
}

impl Expression {
    /// Its value for each run it is of.
    ///
    /// # Errors
    /// As [`Measure::value`].
    pub fn points(&self, source: &dyn ResultSource) -> Evaluated<Vec<MeasuredPoint>> {
        let single = |value| Ok(vec![MeasuredPoint { labels: BTreeMap::new(), value }]);
        match self {
            Expression::Number(number) => single(*number),
            Expression::Field(selection, path) => of_runs(source, selection, |run| field(run, path)),
            Expression::Binary(operator, a, b) => binary(*operator, a.points(source)?, b.points(source)?),
            Expression::Line(figure, of, label) => single(line(*figure, &of.points(source)?, label)?),
            Expression::Summary(summary, of) => single(summarise(*summary, &values(of, source)?)),
            Expression::Share(selection, from, to) => of_runs(source, selection, |run| share(run, *from, *to)),
            Expression::Peak(selection, from, to) => of_runs(source, selection, |run| peak(run, *from, *to)),
            Expression::Wait { slack, times } => {
                let each = times.iter().flat_map(|(time, count)| (0..*count as u32).map(|_| *time));
                single(load::expected_wait(each, *slack))
            }
            Expression::Seek(drive, cylinders) => {
                let drive = disk::catalogue::find(drive).map_err(|error| format!("{}; {}", error.what, error.mend))?;
                single(drive.sheet.mechanics.seek.time(*cylinders).as_ms())
            }
        }
    }
}

fn of_runs(
    source: &dyn ResultSource,
    selection: &Selection,
    value: impl Fn(&Value) -> Evaluated<f64>,
) -> Evaluated<Vec<MeasuredPoint>> {
    let point = |(labels, run): LabelledResults| Ok(MeasuredPoint { labels: labels.clone(), value: value(run)? });
    source.runs(selection)?.into_iter().map(point).collect()
}

fn binary(operator: Operator, a: Vec<MeasuredPoint>, b: Vec<MeasuredPoint>) -> Evaluated<Vec<MeasuredPoint>> {
    let (left, right): (Vec<f64>, Vec<f64>) =
        (a.iter().map(|point| point.value).collect(), b.iter().map(|point| point.value).collect());
    let pairs = pair_up(&left, &right)?;
    let labelled = if a.len() >= b.len() { &a } else { &b };
    let point = |((a, b), at): ((f64, f64), &MeasuredPoint)| {
        let value = match operator {
            Operator::Add => a + b,
            Operator::Subtract => a - b,
            Operator::Multiply => a * b,
            Operator::Divide => a / b,
        };
        MeasuredPoint { labels: at.labels.clone(), value }
    };
    Ok(pairs.zip(labelled).map(point).collect())
}

fn line(figure: LineFigure, points: &[MeasuredPoint], label: &str) -> Evaluated<f64> {
    let on_axis = |point: &MeasuredPoint| {
        let x = point.labels.get(label).and_then(label_number);
        let bad = || format!("its runs have no label `{label}` with a number; name the label that is swept");
        Ok((x.ok_or_else(bad)?, point.value))
    };
    let points: Vec<(f64, f64)> = points.iter().map(on_axis).collect::<Evaluated<_>>()?;
    let fit = fit::line(&points).ok_or("a line needs two runs; sweep the label")?;
    Ok(match figure {
        LineFigure::Intercept => fit.intercept,
        LineFigure::Slope => -fit.gradient / fit.intercept * 1e3,
        LineFigure::Straight => fit.straight,
    })
}

fn summarise(summary: RunSummary, values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let smallest = values.iter().copied().fold(f64::INFINITY, f64::min);
    match summary {
        RunSummary::Largest => largest,
        RunSummary::Smallest => smallest,
        RunSummary::Mean => mean,
        RunSummary::Spread => (largest - smallest) / mean,
    }
}

fn field(run: &Value, path: &[String]) -> Evaluated<f64> {
    let found = path.iter().try_fold(run, |value, part| match value {
        Value::Array(list) => list.get(part.parse::<usize>().ok()?),
        _ => value.get(part),
    });
    let bad = || format!("the results have no number `{}`; name a field of `simulate --format json`", path.join("."));
    found.and_then(Value::as_f64).ok_or_else(bad)
}

/// Bins of the durations of a run's drive commands: from, up to (ms), how many.
fn bins(run: &Value) -> Evaluated<Vec<(f64, f64, f64)>> {
    let bad = || "the results have no `commands.histogram`; name an experiment that has one".to_owned();
    let rows = run.get("commands").and_then(|commands| commands.get("histogram")).and_then(Value::as_array);
    let mut from = 0.0;
    let bin = |row: &Value| {
        let (upper, count) = (row.get(0)?.as_f64()?, row.get(1)?.as_f64()?);
        Some((std::mem::replace(&mut from, upper), upper, count))
    };
    rows.ok_or_else(bad)?.iter().map(bin).collect::<Option<Vec<_>>>().ok_or_else(bad)
}

fn share(run: &Value, from: f64, to: f64) -> Evaluated<f64> {
    let bins = bins(run)?;
    let all: f64 = bins.iter().map(|(_, _, count)| count).sum();
    let within: f64 =
        bins.iter().filter(|(_, upper, _)| *upper > from && *upper <= to).map(|(_, _, count)| count).sum();
    Ok(within / all)
}

fn peak(run: &Value, from: f64, to: f64) -> Evaluated<f64> {
    let bins = bins(run)?;
    let within = bins.iter().filter(|(_, upper, _)| *upper > from && *upper <= to);
    let density = |(lower, upper, count): &(f64, f64, f64)| count / (upper - lower);
    let densest = within.max_by(|a, b| density(a).total_cmp(&density(b)));
    densest
        .map(|(lower, upper, _)| f64::midpoint(*lower, *upper))
        .ok_or("no command took so long; widen the window".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Runs that differ by their rate.
    struct Runs(Vec<(BTreeMap<String, Label>, Value)>);

    impl ResultSource for Runs {
        fn runs(&self, selection: &Selection) -> Evaluated<Vec<LabelledResults<'_>>> {
            let all = self.0.iter().map(|(labels, run)| (labels, run));
            Ok(all.filter(|(labels, _)| selection.takes(labels)).collect())
        }
    }

    /// y = 20(1 − 0.01·rate), and x rising.
    fn runs() -> Runs {
        let run = |rate: f64| {
            let labels = BTreeMap::from([("rate".into(), Label::Word(format!("{rate}/s")))]);
            let bins = json!([[0.5, 0], [1.0, 6], [2.0, 2], [16.0, 1], [20.0, 1]]);
            let value =
                json!({"y": 20.0 - 0.2 * rate, "x": rate, "list": [1, {"z": 7}], "commands": {"histogram": bins}});
            (labels, value)
        };
        Runs([1.0, 2.0, 5.0].map(run).into())
    }

    fn value(measure: &str) -> Evaluated<MeasuredValue> {
        Measure::parse(measure).expect("a measure").value(&runs())
    }

    #[track_caller]
    fn number(measure: &str) -> f64 {
        match value(measure) {
            Ok(MeasuredValue::Number(number)) => (number * 1e6).round() / 1e6,
            other => panic!("{measure}: {other:?}"),
        }
    }

    #[test]
    fn figures() {
        for (measure, expected) in [
            ("a{rate=2/s}.y", 19.6),
            ("a{rate=2/s}.list.1.z / 2 - 1", 2.5),
            ("intercept(a.y, rate)", 20.0),
            ("slope(a.y, rate)", 10.0),
            ("straight(a.x * a.x, rate) * 0 + straight(a.y, rate)", 1.0),
            ("largest(a.y - a.x)", 18.8),
            ("smallest(a.y)", 19.0),
            ("mean(a.x)", 2.666667),
            ("spread(a.x)", 1.5),
            ("share(a{rate=1/s}, 3, 16)", 0.1),
            ("share(a{rate=1/s}, 0.5, 2)", 0.8),
            ("peak(a{rate=1/s}, 0, 3)", 0.75),
            ("expected_wait(0, 122, 1)", 61.0),
            ("expected_wait(4, 9, 2, 1, 100)", 1.07377),
            ("seek(st318437lw, 20000)", 14.0),
        ] {
            assert_eq!(number(measure), expected, "{measure}");
        }
    }

    #[test]
    fn the_peak_is_where_most_commands_fall_in_a_millisecond_not_in_a_bin() {
        let bins = json!([[1.0, 2], [3.0, 10], [4.0, 6]]);
        assert_eq!(peak(&json!({"commands": {"histogram": bins}}), 0.0, 9.0), Ok(3.5));
    }

    #[test]
    fn orders() {
        for (measure, expected) in [
            ("rising(a.x)", true),
            ("falling(a.x)", false),
            ("falling(a.y)", true),
            ("rising(a.x - a.x)", false),
            ("a.x < a.y < 21", true),
            ("a.x < 5", false),
            ("a{rate=1/s}.x < a.y", true),
        ] {
            match value(measure) {
                Ok(MeasuredValue::Order { holds, .. }) => assert_eq!(holds, expected, "{measure}"),
                other => panic!("{measure}: {other:?}"),
            }
        }
    }

    #[test]
    fn what_the_results_do_not_have_is_told() {
        for (measure, told) in [
            ("a.y", "of 3 runs"),
            ("a{rate=1/s}.z", "no number `z`"),
            ("slope(a.y, size)", "no label `size`"),
            ("slope(a{rate=1/s}.y, rate)", "needs two runs"),
            ("peak(a{rate=1/s}, 30, 40)", "no command took so long"),
        ] {
            let error = value(measure).expect_err(measure);
            assert!(error.contains(told), "{measure}: {error}");
        }
    }

    #[test]
    fn labels_are_numbers_on_an_axis() {
        let word = |word: &str| label_number(&Label::Word(word.into()));
        assert_eq!(
            [word("0.5/s"), word("50KiB"), word("100 blocks"), word("2ms"), word("fcfs")],
            [Some(0.5), Some(50.0), Some(50.0), Some(2.0), None]
        );
    }
}
