//! Published figures beside measured ones.

use super::figure::{Axis, Figure, Marks, Series};
use super::page::HtmlPage;
use super::table::{Edge, table};
use super::timeline::Diagram;
use published::{
    Counts, Drawn, Expected, MeasuredValue, PublishedTarget, Summary, TargetFigures, TargetOutcome, Verdict,
};
use serde::Serialize;

/// The most characters of a line of remarks.
const WIDTH: usize = 110;
/// The column of how much ours vary.
const MARGIN: usize = 3;
/// The most figures of a comparison that the table shows.
const MOST_SHOWN: usize = 5;

/// What was measured of each target.
pub struct Verdicts<'a> {
    summary: Summary,
    outcomes: Vec<TargetOutcome<'a>>,
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
        Verdicts { summary: Summary::of(&outcomes), outcomes }
    }

    /// As programs read it.
    pub fn figures(&self) -> TargetFigures<'_> {
        TargetFigures::of(&self.summary, &self.outcomes)
    }

    /// How many are missed though their files do not say so.
    pub fn unforeseen(&self) -> usize {
        self.outcomes.iter().filter(|outcome| outcome.is_unforeseen()).count()
    }

    /// As people read it: a table a file, what is missed with its cause, the sum.
    pub fn text(&self) -> String {
        format!("{}\n{}", self.files(), self.sum())
    }

    /// A table for each file.
    fn files(&self) -> String {
        let mut text = String::new();
        for outcomes in self.outcomes.chunk_by(|a, b| a.file.id == b.file.id) {
            let file = outcomes[0].file;
            let outcomes: Vec<&TargetOutcome> = outcomes.iter().collect();
            text += &format!("\n {}\n {}\n\n{}", file.title, file.source, rows(&file.id, &outcomes));
            text += &remarks(&file.id, &outcomes);
        }
        text
    }

    /// Those with this verdict in one table, with what is said of them.
    fn only(&self, verdict: Verdict) -> Option<String> {
        let outcomes: Vec<&TargetOutcome> = self.outcomes.iter().filter(|outcome| outcome.verdict == verdict).collect();
        (!outcomes.is_empty()).then(|| rows("", &outcomes) + &remarks("", &outcomes))
    }

    /// How many are near the papers, and how many are not; a table by what their numbers rest on.
    fn sum(&self) -> String {
        let mut text = String::new();
        let numbers = &self.summary.published_numbers;
        if numbers.targets > 0 {
            text += &wrap(&format!(
                "Of {} published numbers: {}",
                numbers.targets,
                shares(numbers, "as near as the paper's words ask")
            ));
        }
        let claims = &self.summary.published_claims;
        if claims.targets > 0 {
            text += &wrap(&format!("Of {} published orders and bounds: {}", claims.targets, shares(claims, "held")));
        }
        let undecided = self.outcomes.iter().filter(|outcome| outcome.verdict == Verdict::Undecided);
        let undecided: Vec<&str> = undecided.map(|outcome| outcome.target.id.as_str()).collect();
        if !undecided.is_empty() {
            text += &wrap(&format!("Undecided, as it depends on the seed: {}", undecided.join(", ")));
        }
        text + "\n" + &by_basis(&self.summary)
    }

    /// What it comes to, a paragraph for each thing there is to say: how much holds, how sure that is, and what is farthest off.
    fn answer(&self) -> Vec<String> {
        let of = |verdict: Verdict| self.outcomes.iter().filter(move |outcome| outcome.verdict == verdict);
        let counts = [
            (of(Verdict::Held).count(), "held"),
            (of(Verdict::Missed).count(), "missed"),
            (of(Verdict::Undecided).count(), "undecided"),
            (of(Verdict::Unmeasured).count(), "not measured"),
        ];
        let counts: Vec<String> =
            counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
        let targets = self.outcomes.len();
        let mut lines = vec![format!("Of {targets} published and derived targets: {}.", counts.join(", "))];
        let numbers = &self.summary.published_numbers;
        if numbers.targets > 0 {
            let shares = shares(numbers, "as near as the paper's words ask");
            lines.push(format!("Numbers that papers print, {} in all: {shares}.", numbers.targets));
        }
        let claims = &self.summary.published_claims;
        if claims.targets > 0 {
            lines.push(format!(
                "Orders and bounds that they state, {} in all: {}.",
                claims.targets,
                shares(claims, "held")
            ));
        }
        let off = |outcome: &&TargetOutcome| outcome.off().map_or(0.0, f64::abs);
        let farthest = of(Verdict::Missed).max_by(|one, other| off(one).total_cmp(&off(other)));
        if let Some((outcome, away)) = farthest.and_then(|outcome| Some((outcome, outcome.off().map(away)?))) {
            let [id, published, ours, ..] = cells("", outcome);
            lines.push(format!("Farthest off of what is missed: {id}, {published} published, {ours} here ({away})."));
        }
        lines.push(match self.outcomes.iter().map(|outcome| outcome.measured.len()).max().unwrap_or(0) {
            0 | 1 => "One seed: run it with --seeds 10 to see which verdicts are chance.".into(),
            seeds => format!("Each verdict is of {seeds} seeds: what is held is so under every one."),
        });
        let unforeseen: Vec<&str> =
            self.outcomes.iter().filter(|outcome| outcome.is_unforeseen()).map(|it| it.target.id.as_str()).collect();
        if !unforeseen.is_empty() {
            lines.push(format!("Missed though expected to hold: {}.", unforeseen.join(", ")));
        }
        lines
    }

    /// A page that opens offline: the answer, the sum, what is missed, timing diagrams, published points over measured curves, all
    /// targets.
    pub fn page(&self, drawn: &[Drawn], diagrams: &[Diagram]) -> String {
        let mut page = HtmlPage::new("Published results, done again");
        page.answer(&self.answer());
        page.text(&self.sum());
        for (title, verdict) in [("Missed", Verdict::Missed), ("Undecided", Verdict::Undecided)] {
            if let Some(table) = self.only(verdict) {
                page.heading(title);
                page.text(&table);
            }
        }
        for diagram in diagrams {
            page.heading(&diagram.title());
            page.figure(&diagram.figure());
        }
        for it in drawn {
            page.heading(&format!("{}: {}", it.file.source, it.figure.title));
            page.figure(&figure(it));
        }
        page.heading("All targets");
        page.text(&self.files());
        page.html()
    }
}

/// Counts in words, those that are not nought; `by_words` is what those are called that hold by a bound.
fn shares(counts: &Counts, by_words: &str) -> String {
    let parts = [
        (counts.within_precision, "within the paper's own precision"),
        (counts.within_10_percent, "within 10 %"),
        (counts.within_30_percent, "within 30 %"),
        (counts.held_by_words, by_words),
        (counts.missed, "missed"),
        (counts.undecided, "undecided"),
        (counts.unmeasured, "not measured"),
    ];
    let parts: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, words)| format!("{count} {words}")).collect();
    parts.join(", ")
}

fn by_basis(summary: &Summary) -> String {
    let heads = ["basis", "targets", "printed", "10 %", "30 %", "by words", "missed", "undecided", "not measured"];
    let edge = |i: usize| if i == 0 { Edge::Left } else { Edge::Right };
    let heads: Vec<(String, Edge)> = heads.iter().enumerate().map(|(i, head)| ((*head).to_owned(), edge(i))).collect();
    let row = |(basis, counts): &(&str, Counts)| {
        let Counts { targets, within_precision, within_10_percent, within_30_percent, .. } = *counts;
        let Counts { held_by_words, missed, undecided, unmeasured, .. } = *counts;
        let counts = [
            targets,
            within_precision,
            within_10_percent,
            within_30_percent,
            held_by_words,
            missed,
            undecided,
            unmeasured,
        ];
        [(*basis).to_owned()].into_iter().chain(counts.map(|count| count.to_string())).collect()
    };
    let there = summary.by_basis.iter().filter(|(_, counts)| counts.targets > 0);
    table(&heads, &there.map(row).collect::<Vec<Vec<String>>>())
}

/// What is to be said of targets that do not hold, each remark once, with the ids it is about.
fn remarks(file: &str, outcomes: &[&TargetOutcome]) -> String {
    let mut all: Vec<(Vec<&str>, String)> = Vec::new();
    for TargetOutcome { target, verdict, .. } in outcomes {
        let note = target.note.as_ref().map_or(String::new(), |note| format!(": {note}"));
        let what = match (verdict, &target.known_miss, target.expected) {
            (Verdict::Missed | Verdict::Undecided, Some(cause), _) => format!("a known miss: {cause}"),
            (Verdict::Missed, None, Expected::Missed) => format!("missed, and no experiment shows why{note}"),
            (Verdict::Missed, None, _) => "missed, though expected to hold".into(),
            (Verdict::Held, _, Expected::Missed) => "listed as missed, and held".into(),
            (Verdict::Unmeasured, ..) => format!("not measured{note}"),
            _ => continue,
        };
        let id = short(&target.id, file);
        match all.iter_mut().find(|(_, other)| *other == what) {
            Some((ids, _)) => ids.push(id),
            None => all.push((vec![id], what)),
        }
    }
    all.iter().map(|(ids, what)| wrap(&format!("{}: {what}", ids.join(", ")))).collect()
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

/// A table of targets, their ids without that of their file; how much ours vary with the seed where any does.
fn rows(file: &str, outcomes: &[&TargetOutcome]) -> String {
    let seeds = outcomes.iter().any(|outcome| outcome.measured.len() > 1);
    let head = if file.is_empty() { "id" } else { file };
    let heads = [
        (head, Edge::Left),
        ("published", Edge::Right),
        ("ours", Edge::Right),
        ("±", Edge::Right),
        ("off", Edge::Right),
        ("tolerance", Edge::Right),
        ("basis", Edge::Left),
        ("", Edge::Left),
    ];
    let wanted = |i: &usize| seeds || *i != MARGIN;
    let heads: Vec<(String, Edge)> =
        (0..heads.len()).filter(wanted).map(|i| (heads[i].0.to_owned(), heads[i].1)).collect();
    let row = |outcome: &&TargetOutcome| {
        let cells = cells(file, outcome);
        (0..cells.len()).filter(wanted).map(|i| cells[i].clone()).collect::<Vec<_>>()
    };
    table(&heads, &outcomes.iter().map(row).collect::<Vec<_>>())
}

fn cells(file: &str, outcome: &TargetOutcome) -> [String; 8] {
    let target = outcome.target;
    [
        short(&target.id, file).to_owned(),
        target.published.to_string(),
        match outcome.mean() {
            Some(mean) => number(mean),
            None => outcome.measured.first().map_or(String::new(), measured_text),
        },
        outcome.margin().map_or(String::new(), number),
        outcome.off().map_or(String::new(), away),
        target.tolerance.to_string(),
        target.basis.word().to_owned(),
        match outcome.verdict {
            Verdict::Held => "held".into(),
            Verdict::Missed => "MISSED".into(),
            Verdict::Undecided => format!("undecided: held {} of {}", outcome.seeds_held(), outcome.measured.len()),
            Verdict::Unmeasured => "not measured".into(),
        },
    ]
}

fn measured_text(measured: &MeasuredValue) -> String {
    match measured {
        MeasuredValue::Number(figure) => number(*figure),
        MeasuredValue::Order { figures, .. } => {
            let more = if figures.len() > MOST_SHOWN { ", …" } else { "" };
            figures.iter().take(MOST_SHOWN).map(|figure| number(*figure)).collect::<Vec<_>>().join(", ") + more
        }
    }
}

/// By what share a figure is off, with its sign unless it rounds to nought.
fn away(share: f64) -> String {
    let text = format!("{:+.1} %", 100.0 * share);
    if text[1..] == *"0.0 %" { text[1..].to_owned() } else { text }
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

    #[test]
    fn each_remark_is_made_once_with_all_ids_it_is_about() {
        let mut file = published::all(published::RunLength::Quick).expect("they are read").swap_remove(0);
        let target = file.targets[0].clone();
        let remark = |id: &str, known_miss: Option<&str>, expected, note: Option<&str>| {
            let mut other = target.clone();
            (other.id, other.expected) = (format!("f.{id}"), expected);
            (other.known_miss, other.note) = (known_miss.map(Into::into), note.map(Into::into));
            other
        };
        let (held, missed) = (Expected::Held, Expected::Missed);
        let all = [
            (remark("a", Some("noise"), missed, None), Verdict::Missed),
            (remark("b", None, held, None), Verdict::Held),
            (remark("c", Some("drift"), missed, None), Verdict::Missed),
            (remark("d", Some("noise"), missed, Some("n")), Verdict::Undecided),
            (remark("e", None, held, None), Verdict::Missed),
            (remark("f", None, missed, Some("n")), Verdict::Missed),
            (remark("g", None, missed, None), Verdict::Held),
            (remark("h", None, held, Some("n")), Verdict::Unmeasured),
            (remark("i", Some("drift"), missed, None), Verdict::Missed),
            (remark("j", None, held, None), Verdict::Undecided),
        ];
        file.targets.clear();
        let outcomes: Vec<TargetOutcome> = all
            .iter()
            .map(|(target, verdict)| TargetOutcome { target, file: &file, measured: Vec::new(), verdict: *verdict })
            .collect();
        let text = remarks("f", &outcomes.iter().collect::<Vec<_>>());
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        assert_eq!(
            lines,
            [
                "a, d: a known miss: noise",
                "c, i: a known miss: drift",
                "e: missed, though expected to hold",
                "f: missed, and no experiment shows why: n",
                "g: listed as missed, and held",
                "h: not measured: n"
            ]
        );
    }
}
