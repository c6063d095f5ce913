//! Published figures beside measured ones.

use super::figure::{Axis, Figure, Marks, Series};
use super::page::HtmlPage;
use super::table::{Edge, table};
use super::timeline::Diagram;
use published::{Drawn, MeasuredValue, PublishedTarget, PublishedValue, TargetOutcome, Verdict};
use serde::Serialize;

/// The most characters of a line of remarks.
const WIDTH: usize = 110;
/// The most figures of a comparison that the table shows.
const MOST_SHOWN: usize = 5;

/// What was measured of each target.
#[derive(Serialize)]
pub struct Verdicts<'a> {
    targets: Vec<TargetJson<'a>>,
    #[serde(skip)]
    outcomes: Vec<TargetOutcome<'a>>,
}

/// A target as JSON prints it.
#[derive(Serialize)]
struct TargetJson<'a> {
    id: &'a str,
    claim: &'a str,
    published: Value,
    measured: Value,
    tolerance: String,
    pass: bool,
    source: &'a str,
    fitted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    known_miss: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Value {
    Number(f64),
    Words(String),
    Several(Vec<f64>),
}

/// What `--list --format json` prints.
#[derive(Serialize)]
pub struct ListedTargets<'a> {
    targets: Vec<ClaimJson<'a>>,
}

#[derive(Serialize)]
struct ClaimJson<'a> {
    id: &'a str,
    claim: &'a str,
}

/// Ids and claims, for programs.
pub fn list_targets<'a>(targets: impl Iterator<Item = &'a PublishedTarget>) -> ListedTargets<'a> {
    ListedTargets { targets: targets.map(|target| ClaimJson { id: &target.id, claim: &target.claim }).collect() }
}

/// Ids and claims, for people.
pub fn list<'a>(targets: impl Iterator<Item = &'a PublishedTarget>) -> String {
    let rows: Vec<Vec<String>> = targets.map(|target| vec![target.id.clone(), target.claim.clone()]).collect();
    format!("\n{}", table(&["id", "claim"].map(|head| (head.to_owned(), Edge::Left)), &rows))
}

impl<'a> Verdicts<'a> {
    pub fn new(outcomes: Vec<TargetOutcome<'a>>) -> Verdicts<'a> {
        Verdicts { targets: outcomes.iter().map(line).collect(), outcomes }
    }

    /// How many fail though nobody said so.
    pub fn unexpected_failures(&self) -> usize {
        self.count(Verdict::Fails)
    }

    fn count(&self, verdict: Verdict) -> usize {
        self.outcomes.iter().filter(|outcome| outcome.verdict == verdict).count()
    }

    /// As people read it: a table a file, what does not match with its cause, the sum.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for outcomes in self.outcomes.chunk_by(|a, b| a.file.id == b.file.id) {
            let file = outcomes[0].file;
            text += &format!("\n {}\n {}\n\n{}", file.title, file.source, rows(outcomes));
            for (ids, what) in remarks(outcomes) {
                text += &wrap(&format!("{}: {what}", ids.join(", ")));
            }
        }
        text + &format!("\n {}\n", self.sum())
    }

    fn sum(&self) -> String {
        let mut text = format!("{} of {} match", self.count(Verdict::Holds), self.outcomes.len());
        let others = [(Verdict::KnownMiss, "known not to, with the cause above"), (Verdict::Fails, "not")];
        for (verdict, words) in others {
            let count = self.count(verdict);
            if count > 0 {
                text += &format!("; {count} {words}");
            }
        }
        if self.outcomes.iter().any(|outcome| outcome.target.fitted) {
            text += "\n * a constant of the model was fitted on it: agreement shows consistency, no prediction";
        }
        text
    }

    /// A page with the tables, timing diagrams, and published points over measured curves, that opens offline.
    pub fn page(&self, drawn: &[Drawn], diagrams: &[Diagram]) -> String {
        let mut page = HtmlPage::new("Published results, done again");
        for diagram in diagrams {
            page.heading(&diagram.title());
            page.figure(&diagram.figure());
        }
        for it in drawn {
            page.heading(&format!("{}: {}", it.file.source, it.figure.title));
            page.figure(&figure(it));
        }
        page.heading("All targets");
        page.text(&self.text());
        page.html()
    }
}

fn line<'a>(outcome: &TargetOutcome<'a>) -> TargetJson<'a> {
    let target = outcome.target;
    TargetJson {
        id: &target.id,
        claim: &target.claim,
        published: match &target.published {
            PublishedValue::Number(number) => Value::Number(*number),
            PublishedValue::Words(words) => Value::Words(words.clone()),
        },
        measured: match &outcome.measured {
            MeasuredValue::Number(number) => Value::Number(*number),
            MeasuredValue::Order { figures, .. } => Value::Several(figures.clone()),
        },
        tolerance: target.tolerance.to_string(),
        pass: outcome.verdict == Verdict::Holds,
        source: &outcome.file.source,
        fitted: target.fitted,
        known_miss: target.known_miss.as_deref(),
        note: target.note.as_deref(),
    }
}

/// What is to be said of targets that do not match, each remark once, with the ids it is about.
fn remarks<'a>(outcomes: &[TargetOutcome<'a>]) -> Vec<(Vec<&'a str>, String)> {
    let mut all: Vec<(Vec<&str>, String)> = Vec::new();
    for TargetOutcome { target, verdict, file, .. } in outcomes {
        let what = match (verdict, &target.known_miss) {
            (Verdict::Fails, _) => format!("does not match: {}", target.claim),
            (Verdict::KnownMiss, Some(cause)) => format!("a known miss: {cause}"),
            (Verdict::Holds, Some(_)) => "listed as a known miss, and matches".into(),
            _ => continue,
        };
        let id = short(&target.id, &file.id);
        match all.iter_mut().find(|(_, other)| *other == what) {
            Some((ids, _)) => ids.push(id),
            None => all.push((vec![id], what)),
        }
    }
    all
}

/// A remark, in lines that are not too long.
fn wrap(text: &str) -> String {
    let mut lines = String::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && line.chars().count() + word.chars().count() >= WIDTH {
            lines += &format!(" {line}\n");
            line = " ".into();
        }
        line += &format!("{}{word}", if line.is_empty() { "" } else { " " });
    }
    format!("{lines} {line}\n")
}

/// An id within its file.
fn short<'a>(id: &'a str, file: &str) -> &'a str {
    id.strip_prefix(file).map_or(id, |rest| rest.trim_start_matches('.'))
}

/// The table of one file.
fn rows(outcomes: &[TargetOutcome]) -> String {
    let file = &outcomes[0].file.id;
    let heads = [
        (file.as_str(), Edge::Left),
        ("published", Edge::Right),
        ("measured", Edge::Right),
        ("tolerance", Edge::Right),
        ("", Edge::Left),
    ]
    .map(|(head, edge)| (head.to_owned(), edge));
    let row = |outcome: &TargetOutcome| {
        let target = outcome.target;
        let mark = if target.fitted { " *" } else { "" };
        vec![
            format!("{}{mark}", short(&target.id, file)),
            target.published.to_string(),
            show_value(&outcome.measured),
            target.tolerance.to_string(),
            match outcome.verdict {
                Verdict::Holds => "matches".into(),
                Verdict::Fails | Verdict::KnownMiss => "DOES NOT MATCH".into(),
            },
        ]
    };
    table(&heads, &outcomes.iter().map(row).collect::<Vec<_>>())
}

fn show_value(measured: &MeasuredValue) -> String {
    match measured {
        MeasuredValue::Number(figure) => number(*figure),
        MeasuredValue::Order { figures, .. } => {
            let more = if figures.len() > MOST_SHOWN { ", …" } else { "" };
            figures.iter().take(MOST_SHOWN).map(|figure| number(*figure)).collect::<Vec<_>>().join(", ") + more
        }
    }
}

/// A number with four digits that count.
fn number(figure: f64) -> String {
    let decimals = match figure.abs() {
        ..0.01 => 5,
        ..1.0 => 4,
        ..10.0 => 3,
        ..100.0 => 2,
        ..1000.0 => 1,
        _ => 0,
    };
    super::number::with_decimals(figure, decimals)
}

/// Measured curves as lines, published points as dots of the same colour.
fn figure(drawn: &Drawn) -> Figure {
    const COLOURS: [&str; 8] = ["#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#7f7f7f"];
    let mut figure = Figure::new("", Axis::of(&drawn.figure.x), Axis::of(&drawn.figure.y));
    for (line, colour) in drawn.lines.iter().zip(COLOURS.iter().cycle()) {
        let name = &line.curve.name;
        let measured = Marks::Line { at: line.measured.clone(), steps: false };
        figure.series.push(Series::new(name, colour, measured));
        if !line.curve.published.is_empty() {
            let published = Marks::Dots { at: line.curve.published.clone() };
            figure.series.push(Series::new(&format!("{name}, published"), colour, published));
        }
    }
    figure
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_remarks_go_on_in_the_next_line() {
        let text = wrap(&"eight888 ".repeat(40));
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH + 1 && line.starts_with(' ')), "{text}");
        assert_eq!(text.split_whitespace().count(), 40);
    }

    #[test]
    fn numbers_have_four_digits_that_count() {
        assert_eq!(
            [0.00123, 0.1682, 8.2, 61.04, 105.83, 1234.0].map(number),
            ["0.00123", "0.1682", "8.200", "61.04", "105.8", "1,234"]
        );
    }
}
