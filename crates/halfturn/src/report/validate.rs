//! A model held against a measured drive: figures, a sketch, a page.

use super::answer::brief;
use super::figure::{Axis, Figure, Marks, Series};
use super::page::HtmlPage;
use super::table::{Edge, table};
use super::{number, plot};
use block::Op;
use serde::Serialize;
use sim::validate::{Demerit, Pair};

/// Points of a drawn distribution.
const POINTS: usize = 2000;

/// How far a model is off.
#[derive(Serialize)]
pub struct ValidationReport<'a> {
    #[serde(flatten)]
    all: ResponseFigures,
    /// By what was asked, and by whether the model answered from memory.
    parts: Vec<ResponseFigures>,
    notes: Vec<String>,
    #[serde(skip)]
    title: String,
    #[serde(skip)]
    file: String,
    #[serde(skip)]
    pairs: &'a [Pair],
}

/// Mean, quantiles and demerit of some requests.
#[derive(Serialize)]
struct ResponseFigures {
    of: &'static str,
    requests: u64,
    measured_mean_ms: f64,
    simulated_mean_ms: f64,
    mean_error_percent: f64,
    demerit_ms: f64,
    demerit_percent: f64,
    demerit_plain_ms: f64,
}

impl ResponseFigures {
    fn new<'a>(of: &'static str, pairs: impl IntoIterator<Item = &'a Pair>) -> ResponseFigures {
        let demerit = Demerit::of(pairs);
        ResponseFigures {
            of,
            requests: demerit.requests,
            measured_mean_ms: demerit.measured_mean_ms,
            simulated_mean_ms: demerit.simulated_mean_ms,
            mean_error_percent: demerit.mean_error_percent(),
            demerit_ms: demerit.demerit_ms,
            demerit_percent: demerit.percent(),
            demerit_plain_ms: demerit.plain_ms,
        }
    }

    fn row(&self) -> Vec<String> {
        vec![
            self.of.into(),
            number::count(self.requests),
            number::with_decimals(self.measured_mean_ms, 3),
            number::with_decimals(self.simulated_mean_ms, 3),
            format!("{:+.1}", self.mean_error_percent),
            number::with_decimals(self.demerit_ms, 3),
            number::with_decimals(self.demerit_percent, 1),
            number::with_decimals(self.demerit_plain_ms, 3),
        ]
    }
}

impl<'a> ValidationReport<'a> {
    pub fn new(title: &str, file: &str, pairs: &'a [Pair], notes: Vec<String>) -> ValidationReport<'a> {
        let read = |pair: &&Pair| pair.op == Op::Read;
        let parts = [
            ResponseFigures::new("reads", pairs.iter().filter(read)),
            ResponseFigures::new("writes", pairs.iter().filter(|pair| !read(pair))),
            ResponseFigures::new("hits", pairs.iter().filter(|pair| pair.hit)),
            ResponseFigures::new("misses", pairs.iter().filter(|pair| !pair.hit)),
        ];
        let parts = parts.into_iter().filter(|part| part.requests > 0).collect();
        let all = ResponseFigures::new("all", pairs);
        ValidationReport { all, parts, notes, title: title.into(), file: file.into(), pairs }
    }

    /// As people read it.
    pub fn text(&self) -> String {
        let heads = [
            ("", Edge::Left),
            ("requests", Edge::Right),
            ("measured\nmean ms", Edge::Right),
            ("simulated\nmean ms", Edge::Right),
            ("off\n%", Edge::Right),
            ("demerit\nms", Edge::Right),
            ("demerit\n% of mean", Edge::Right),
            ("plain\nms", Edge::Right),
        ]
        .map(|(head, edge)| (head.to_owned(), edge));
        let rows: Vec<Vec<String>> = [&self.all].into_iter().chain(&self.parts).map(ResponseFigures::row).collect();
        let mut text = format!("\n {} against {}\n\n{}\n", self.title, self.file, table(&heads, &rows));
        text += &self.sketch();
        text += "\n hits are the simulation's own: what it answered from memory. demerit: root mean square of the\n \
                 distance between the two distributions, from histograms; plain: from the sorted times themselves.\n";
        for note in &self.notes {
            text += &format!(" note: {note}\n");
        }
        text
    }

    /// Measured and simulated response times, each sorted.
    fn sort_both(&self) -> [Vec<f64>; 2] {
        [|pair: &Pair| pair.measured, |pair: &Pair| pair.simulated].map(|time| {
            let mut times: Vec<f64> = self.pairs.iter().map(|pair| time(pair).as_ms()).collect();
            times.sort_by(f64::total_cmp);
            times
        })
    }

    /// The share of requests answered within a time, measured as a line and simulated as dots.
    fn sketch(&self) -> String {
        let [measured, simulated] = self.sort_both();
        let last = measured[(measured.len() - 1) * 999 / 1000].max(simulated[(simulated.len() - 1) * 999 / 1000]);
        let share = |times: &[f64], us: u32| {
            100.0 * times.partition_point(|time| *time <= f64::from(us) / 1e3) as f64 / times.len() as f64
        };
        let last = (last * 1e3).max(1.0) as u32;
        plot::two_curves(
            |us| share(&measured, us),
            |us| share(&simulated, us),
            last,
            "response time, µs: measured as a line, simulated as dots",
            "% of requests answered",
        )
    }

    /// What it comes to, a paragraph for each thing there is to say.
    fn answer(&self) -> Vec<String> {
        let all = &self.all;
        let agreement = Agreement::of(all.demerit_percent).word();
        let differences: Vec<f64> =
            self.pairs.iter().map(|pair| pair.simulated.as_ms() - pair.measured.as_ms()).collect();
        let difference = all.simulated_mean_ms - all.measured_mean_ms;
        let sure = load::interval(&differences).map_or_else(String::new, |half| {
            let sure = if difference.abs() > half { "sure at 95 %" } else { "which may be chance" };
            format!(" ± {}, over the requests: {sure}", brief(half))
        });
        let mut lines = vec![
            format!(
                "The model is {agreement}: over {} requests the times of {} are distributed as the measured ones but for {} ms \
                 (demerit), {} % of the measured mean.",
                number::count(all.requests),
                self.title,
                brief(all.demerit_ms),
                number::with_decimals(all.demerit_percent, 1)
            ),
            format!(
                "It answers in {} ms on average where {} were measured ({:+.1} %). The difference is {} ms{sure}.",
                brief(all.simulated_mean_ms),
                brief(all.measured_mean_ms),
                all.mean_error_percent,
                brief(difference)
            ),
        ];
        let worst = self.parts.iter().max_by(|one, other| one.demerit_percent.total_cmp(&other.demerit_percent));
        if let Some(part) = worst.filter(|_| self.parts.len() > 2) {
            let percent = number::with_decimals(part.demerit_percent, 1);
            lines.push(format!("Farthest off are {}: {percent} % of their mean.", part.of));
        }
        lines
    }

    /// A page with both distributions that opens offline.
    pub fn page(&self) -> String {
        let [measured, simulated] = self.sort_both();
        let curve = |times: &[f64], name: &str, colour| {
            let index = |i: usize| i * (times.len() - 1) / (POINTS - 1);
            let share = |i: usize| 100.0 * (index(i) + 1) as f64 / times.len() as f64;
            let at = (0..POINTS).map(|i| (times[index(i)], share(i))).collect();
            Series::new(name, colour, Marks::Line { at, steps: false })
        };
        let title = format!(
            "{} against {}: demerit {:.3} ms, {:.1} % of the mean",
            self.title, self.file, self.all.demerit_ms, self.all.demerit_percent
        );
        let mut figure = Figure::new(&title, Axis::log("response time, ms"), Axis::of("% of requests answered"));
        figure.series.push(curve(&measured, "measured", "#1f77b4"));
        figure.series.push(curve(&simulated, "simulated", "#d62728"));
        let mut page = HtmlPage::new(&self.title);
        page.answer(&self.answer());
        page.figure(&figure);
        page.text(&self.text());
        page.html()
    }
}

/// How well a drive that was learned gives the times that were measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Agreement {
    Good,
    Fair,
    Poor,
}

impl Agreement {
    /// That of a demerit, in percent of the mean.
    pub fn of(percent: f64) -> Agreement {
        match percent {
            percent if percent <= 10.0 => Agreement::Good,
            percent if percent <= 30.0 => Agreement::Fair,
            _ => Agreement::Poor,
        }
    }

    /// As a capture has it.
    pub fn word(self) -> &'static str {
        match self {
            Agreement::Good => "good",
            Agreement::Fair => "fair",
            Agreement::Poor => "poor",
        }
    }

    /// The one of this word, if there is one.
    pub fn parse(word: &str) -> Option<Agreement> {
        [Agreement::Good, Agreement::Fair, Agreement::Poor].into_iter().find(|agreement| agreement.word() == word)
    }
}
