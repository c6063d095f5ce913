//! What a page says of a comparison before it shows details: the answer in words, figures that compare the runs, and a table
//! that sorts.

use super::answer::answer;
use super::compare::known_busy;
use super::figure::{Axis, Figure, Marks, Series};
use super::over_time::OverTime;
use super::page::{HtmlPage, SortableTable};
use super::panorama::Panoramas;
use super::rows::{CaseRun, keys, label};
use load::experiment::Case;
use load::results::{Bucket, Class, Disk, Results, Run};
use load::series::SeriesBook;
use std::collections::BTreeSet;

/// Curves in one figure, at most: more cannot be told apart.
const MOST_CURVES: usize = 12;
/// Points of a curve, at most.
const MOST_POINTS: usize = 256;
/// Rows of a figure of bars, at most.
const MOST_ROWS: usize = 48;
/// How thick a bar of a row is, in pixels.
const THICK: f64 = 18.0;

/// Colours that people tell apart whatever their eyes (Okabe and Ito, 2008), without the yellow that no white page shows.
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c8c8c"];

/// Colours of what an arm's time goes to, from the busy parts to the idle rest.
const PARTS: [(&str, &str); 11] = [
    ("transfer", "#009e73"),
    ("seek", "#d55e00"),
    ("rotation", "#e69f00"),
    ("switch", "#cc79a7"),
    ("overhead", "#0072b2"),
    ("external", "#56b4e9"),
    ("queued", "#5b4a8a"),
    ("settle", "#a8a200"),
    ("bus", "#7a5230"),
    ("background", "#8c8c8c"),
    ("idle", "#d9d9d9"),
];
/// So many of them are parts of the busy time; what has no colour of its own stands behind these.
const BUSY_PARTS: usize = 9;
const OTHER_COLOUR: &str = "#2f2f5f";

/// A percentile in its figure: its name, its colour, and where it is in a distribution.
type Percentile = (&'static str, &'static str, fn(&Class) -> f64);

const PERCENTILES: [Percentile; 5] = [
    ("p50", "#0072b2", |class| class.response_ms.p50),
    ("p95", "#56b4e9", |class| class.response_ms.p95),
    ("p99", "#e69f00", |class| class.response_ms.p99),
    ("p99.9", "#d55e00", |class| class.response_ms.p999),
    ("longest", "#8c8c8c", |class| class.response_ms.max),
];

/// A comparison for a page.
pub struct RunsSummary<'a> {
    pairs: Vec<CaseRun<'a>>,
    series: Option<&'a SeriesBook>,
}

impl<'a> RunsSummary<'a> {
    /// Of these cases and their runs.
    pub fn of(cases: &'a [Case], results: &'a Results) -> RunsSummary<'a> {
        RunsSummary { pairs: cases.iter().zip(&results.runs).collect(), series: None }
    }

    /// The same, and how the first replications went over time.
    pub fn over_time(self, series: Option<&'a SeriesBook>) -> RunsSummary<'a> {
        RunsSummary { series, ..self }
    }

    /// What the page is called.
    pub fn title(&self) -> &str {
        self.pairs.first().map_or("", |(case, _)| &case.experiment.title)
    }

    /// A page of it that ends with what was printed.
    pub fn page(&self, printed: &str) -> String {
        Panoramas { title: self.title(), summary: Some(self), text: printed, pictures: &[] }.page()
    }

    /// Writes the answer, the figures and the table.
    pub fn write(&self, page: &mut HtmlPage) {
        page.answer(&answer(&self.pairs));
        // A scan that is read for free has no requests of its own.
        let classes = self.pairs.iter().flat_map(|(_, run)| &run.classes);
        let classes = classes.filter(|(_, class)| class.requests_finished() > 0);
        let classes: BTreeSet<&String> = classes.map(|(name, _)| name).collect();
        let whose = |class: &str| if classes.len() > 1 { format!("{class}: ") } else { String::new() };
        page.heading("Response times");
        for class in &classes {
            page.figure(&self.distributions(class, &whose(class)));
        }
        page.figure(&self.percentiles());
        if self.pairs.len() > 1 {
            page.heading("Throughput against response");
            for class in &classes {
                page.figure(&self.trade(class, &whose(class)));
            }
        }
        if self.pairs.iter().any(|(_, run)| !run.disks.is_empty()) {
            page.heading("Where the arm's time went");
            page.figure(&self.arm_time());
        }
        let over_time = self.figures_over_time();
        if !over_time.is_empty() {
            page.heading("Over time");
            over_time.iter().for_each(|figure| page.figure(figure));
        }
        page.heading("All figures");
        page.table(&self.table());
    }

    /// What a run is called; of a class of several, that too.
    fn name(&self, row: usize, class: Option<&str>) -> String {
        let label = label(self.pairs[row].0, &keys(&self.pairs)).join(" ");
        class.map_or(label.clone(), |class| format!("{label} {class}"))
    }

    /// The share of requests of a class that were answered within a time, a curve a run.
    fn distributions(&self, class: &str, whose: &str) -> Figure {
        let with =
            |row: &usize| self.pairs[*row].1.classes.get(class).is_some_and(|class| class.requests_finished() > 0);
        let rows: Vec<usize> = (0..self.pairs.len()).filter(with).collect();
        let left = rows.len().saturating_sub(MOST_CURVES);
        let some = if left > 0 { format!(", the first {MOST_CURVES} runs") } else { String::new() };
        let title = format!("{whose}how many requests were answered within a time{some}");
        let mut figure = Figure::new(&title, Axis::log("response time, ms"), Axis::of("requests answered, %"));
        figure.y.range = Some([0.0, 100.0]);
        for (place, row) in rows.into_iter().take(MOST_CURVES).enumerate() {
            let at = cumulate(&self.pairs[row].1.classes[class].response_histogram_ms);
            let curve =
                Marks::Line { at: at.into_iter().map(|(ms, share)| (ms, share * 100.0)).collect(), steps: false };
            figure.series.push(Series::distinct(&self.name(row, None), place, curve, &COLOURS));
        }
        figure
    }

    /// Percentiles of each class of each run, a row for each.
    fn percentiles(&self) -> Figure {
        let rows: Vec<(String, &Class)> = (0..self.pairs.len())
            .flat_map(|row| {
                let classes = &self.pairs[row].1.classes;
                let several = classes.len() > 1;
                classes.iter().map(move |(name, class)| (self.name(row, several.then_some(name)), class))
            })
            .filter(|(_, class)| class.requests_finished() > 0)
            .collect();
        let some = if rows.len() > MOST_ROWS { format!(", the first {MOST_ROWS} rows") } else { String::new() };
        let rows = &rows[..rows.len().min(MOST_ROWS)];
        let title = format!("percentiles of response times{some}");
        let mut figure =
            Figure::rows(&title, Axis::log("response time, ms"), rows.iter().map(|(name, _)| name.clone()));
        let reach = |(row, (_, class)): (usize, &(String, &Class))| {
            (class.response_ms.p50.max(f64::MIN_POSITIVE), class.response_ms.max, row as f64)
        };
        let at = rows.iter().enumerate().map(reach).filter(|(from, ..)| *from > f64::MIN_POSITIVE).collect();
        let bars = Marks::Bars { at, thick: 2.0, dotted: false };
        figure.series.push(Series { legend: false, ..Series::new("from half to the longest", "#8c8c8c", bars) });
        for (place, (percentile, colour, of)) in PERCENTILES.into_iter().enumerate() {
            let all =
                rows.iter().enumerate().map(|(row, (_, class))| (of(class), row as f64)).filter(|(ms, _)| *ms > 0.0);
            let at: Vec<(f64, f64)> = all.collect();
            let told =
                at.iter().map(|(ms, row)| format!("{}\n{percentile} {ms:.3} ms", rows[*row as usize].0)).collect();
            let dots = Series::distinct(percentile, place, Marks::Dots { at }, &[colour]);
            figure.series.push(Series { told, ..dots });
        }
        figure
    }

    /// Throughput of each run against the mean response of a class, and the front: runs that none beats in both.
    fn trade(&self, class: &str, whose: &str) -> Figure {
        let response = format!("{whose}mean response time, ms");
        let title = "throughput against response; runs on the line are beaten by none in both";
        let mut figure = Figure::new(title, Axis::log(&response), Axis::of("throughput of all classes, MB/s"));
        let of = |run: &Run| Some((run.classes.get(class)?.response_ms.mean, run.throughput_mb_s));
        let points: Vec<(usize, (f64, f64))> = (0..self.pairs.len())
            .filter_map(|row| Some((row, of(self.pairs[row].1)?)))
            .filter(|(_, (ms, _))| *ms > 0.0)
            .collect();
        let at = front(&points.iter().map(|(_, at)| *at).collect::<Vec<_>>());
        figure.series.push(Series::new("not beaten", "#8c8c8c", Marks::Line { at, steps: false }));
        let told = |row: usize, (ms, rate): (f64, f64)| format!("{}\n{ms:.3} ms, {rate:.3} MB/s", self.name(row, None));
        if points.len() <= MOST_CURVES {
            for (place, (row, at)) in points.iter().enumerate() {
                let dot = Series::distinct(&self.name(*row, None), place, Marks::Dots { at: vec![*at] }, &COLOURS);
                figure.series.push(Series { told: vec![told(*row, *at)], ..dot });
            }
        } else {
            let dots = Marks::Dots { at: points.iter().map(|(_, at)| *at).collect() };
            let told = points.iter().map(|(row, at)| told(*row, *at)).collect();
            figure.series.push(Series { told, ..Series::new("runs", COLOURS[0], dots) });
        }
        figure
    }

    fn figures_over_time(&self) -> Vec<Figure> {
        let series = |row: usize| Some((self.name(row, None), self.series?.first_of(row)?));
        let runs = (0..self.pairs.len().min(MOST_CURVES)).filter_map(series).collect();
        OverTime { runs, valued: self.pairs.iter().any(|(case, _)| case.experiment.has_values()) }.figures(&COLOURS)
    }

    /// Parts of the time of the arm, mean over disks, a row a run.
    fn arm_time(&self) -> Figure {
        let count = self.pairs.len().min(MOST_ROWS);
        let some = if self.pairs.len() > count { format!(", the first {count} runs") } else { String::new() };
        let title = format!("what the arm's time went to{some}");
        let mut figure =
            Figure::rows(&title, Axis::of("share of the time, %"), (0..count).map(|row| self.name(row, None)));
        figure.x.range = Some([0.0, 100.0]);
        let shares: Vec<Vec<(String, f64)>> = self.pairs[..count].iter().map(|(_, run)| arm_shares(run)).collect();
        let names = |row: &Vec<(String, f64)>| row.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        let mut parts: Vec<String> = PARTS.iter().map(|(name, _)| (*name).to_owned()).collect();
        let others: BTreeSet<String> = shares.iter().flat_map(names).filter(|name| !parts.contains(name)).collect();
        parts.splice(BUSY_PARTS..BUSY_PARTS, others);
        let mut begins = vec![0.0; count];
        for part in parts {
            let mut series = Vec::new();
            for (row, shares) in shares.iter().enumerate() {
                let share = 100.0 * shares.iter().find(|(name, _)| *name == part).map_or(0.0, |(_, share)| *share);
                if share > 0.0 {
                    series.push((begins[row], begins[row] + share, row as f64));
                }
                begins[row] += share;
            }
            if series.is_empty() {
                continue;
            }
            let told = |(from, to, row): &(f64, f64, f64)| {
                format!("{}\n{part} {:.1} %", self.name(*row as usize, None), to - from)
            };
            let told = series.iter().map(told).collect();
            let colour = PARTS.iter().find(|(name, _)| *name == part).map_or(OTHER_COLOUR, |(_, colour)| colour);
            let bars = Marks::Bars { at: series, thick: THICK, dotted: false };
            figure.series.push(Series { told, ..Series::new(&part, colour, bars) });
        }
        figure
    }

    /// A row a class of each run.
    fn table(&self) -> SortableTable {
        let keys = keys(&self.pairs);
        let mut heads: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        let figures =
            ["requests", "mean, ms", "± ms", "p50, ms", "p95, ms", "p99, ms", "p99.9, ms", "longest, ms", "MB/s"];
        heads.push("class".into());
        heads.extend(figures.map(Into::into));
        heads.push("arm busy, %".into());
        let mut table = SortableTable { heads, rows: Vec::new(), words: keys.len() + 1 };
        for (case, run) in &self.pairs {
            let busy = known_busy(run).map_or("–".into(), |busy| format!("{:.1}", 100.0 * busy));
            for (name, class) in &run.classes {
                let times = &class.response_ms;
                let figures = [
                    times.mean,
                    times.ci95.unwrap_or(f64::NAN),
                    times.p50,
                    times.p95,
                    times.p99,
                    times.p999,
                    times.max,
                ];
                let mut row = label(case, &keys);
                row.extend([name.clone(), class.requests.to_string()]);
                let text = |figure: f64| if figure.is_nan() { "–".to_owned() } else { format!("{figure:.3}") };
                row.extend(figures.map(text));
                row.push(text(class.throughput_mb_s));
                row.push(busy.clone());
                table.rows.push(row);
            }
        }
        table
    }
}

/// The share of times below each bound, from nothing to 1. Times of nothing count from the first bound on.
fn cumulate(buckets: &[Bucket]) -> Vec<(f64, f64)> {
    let whole: u64 = buckets.iter().map(|bucket| bucket.1).sum();
    let mut below = 0;
    let mut points: Vec<(f64, f64)> = Vec::new();
    let positive = buckets.iter().filter(|bucket| bucket.0 > 0.0).count();
    let every = positive.div_ceil(MOST_POINTS).max(1);
    let mut place = 0;
    for Bucket(bound, count) in buckets {
        if *bound > 0.0 && points.is_empty() {
            // A bucket is a 64th of a doubling wide.
            points.push((bound * (1.0 - 1.0 / 64.0), below as f64 / whole as f64));
        }
        below += count;
        place += usize::from(*bound > 0.0);
        if *bound > 0.0 && (place.is_multiple_of(every) || place == positive) {
            points.push((*bound, below as f64 / whole as f64));
        }
    }
    points
}

/// Of points of less response and more throughput those that no other is better than in both, by response.
fn front(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut sorted = points.to_vec();
    sorted.sort_by(|one, other| one.0.total_cmp(&other.0).then(other.1.total_cmp(&one.1)));
    let mut front: Vec<(f64, f64)> = Vec::new();
    for point in sorted {
        if front.last().is_none_or(|last| point.1 > last.1) {
            front.push(point);
        }
    }
    front
}

/// Shares of the time of all arms by name; they add up to 1.
fn arm_shares(run: &Run) -> Vec<(String, f64)> {
    let names: BTreeSet<&String> = run.disks.iter().flat_map(|disk| disk.parts.keys()).collect();
    let mean = |of: &dyn Fn(&Disk) -> f64| run.disks.iter().map(of).sum::<f64>() / run.disks.len().max(1) as f64;
    let part = |name: &&String| ((*name).clone(), mean(&|disk| disk.parts.get(*name).copied().unwrap_or(0.0)));
    let mut shares: Vec<(String, f64)> = names.iter().map(part).collect();
    shares.push(("background".into(), mean(&|disk| disk.background)));
    shares.push(("idle".into(), mean(&|disk| disk.idle)));
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_rises_from_nothing_to_all() {
        let buckets = [Bucket(1.0, 1), Bucket(2.0, 2), Bucket(4.0, 5)];
        assert_eq!(cumulate(&buckets), [(1.0 - 1.0 / 64.0, 0.0), (1.0, 0.125), (2.0, 0.375), (4.0, 1.0)]);
        let many: Vec<Bucket> = (1..=5003).map(|n| Bucket(f64::from(n), u64::from(n as u32 % 7))).collect();
        let points = cumulate(&many);
        assert!(points.len() <= MOST_POINTS + 1 && points[points.len() - 1] == (5003.0, 1.0), "{}", points.len());
        assert!(points.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1));
    }

    #[test]
    fn times_of_nothing_are_below_all_others() {
        assert_eq!(cumulate(&[Bucket(0.0, 3), Bucket(2.0, 1)]), [(2.0 - 2.0 / 64.0, 0.75), (2.0, 1.0)]);
        assert!(cumulate(&[Bucket(0.0, 3)]).is_empty() && cumulate(&[]).is_empty());
    }

    #[test]
    fn the_front_has_what_none_beats_in_both() {
        let points = [(3.0, 5.0), (1.0, 1.0), (2.0, 5.0), (2.0, 4.0), (4.0, 4.9), (9.0, 6.0), (1.0, 2.0)];
        assert_eq!(front(&points), [(1.0, 2.0), (2.0, 5.0), (9.0, 6.0)]);
        assert!(front(&[]).is_empty());
    }

    #[test]
    fn the_shares_of_arms_add_up() {
        let disk = |seek, background| Disk {
            busy: seek + 0.25,
            background,
            idle: 0.75 - seek - background,
            parts: [("seek".to_owned(), seek), ("rotation".to_owned(), 0.25)].into(),
        };
        let mut run =
            Run::of(Default::default(), &load::Meter::new(std::iter::empty(), block::Time::ZERO), vec![], vec![]);
        run.disks = vec![disk(0.5, 0.0), disk(0.25, 0.25)];
        let shares = arm_shares(&run);
        assert_eq!(shares.iter().map(|(_, share)| share).sum::<f64>(), 1.0);
        assert!(
            shares.contains(&("seek".into(), 0.375)) && shares.contains(&("background".into(), 0.125)),
            "{shares:?}"
        );
    }

    #[test]
    fn a_page_is_called_as_the_text_is_whatever_is_swept() {
        let cases = super::super::rows::tests::short_experiment("[\"first\", \"second\"]", "");
        let results = super::super::rows::tests::run(&cases);
        let summary = RunsSummary::of(&cases, &results);
        assert_eq!((summary.title(), cases.len()), ("first", 2));
        let text = super::super::setting::setting(&cases);
        assert_eq!(text.lines().next().map(str::trim), Some(summary.title()));
        assert_eq!(RunsSummary { pairs: Vec::new(), series: None }.title(), "");
    }

    #[test]
    fn the_table_and_the_curves_have_each_class_of_each_run() {
        let cases = super::super::rows::tests::short_experiment("\"a\"", "policy = [\"fcfs\", \"satf\"]");
        let mut results = super::super::rows::tests::run(&cases);
        for class in results.runs.iter_mut().flat_map(|run| run.classes.values_mut()) {
            // So few requests have some of these alike.
            let times = &mut class.response_ms;
            [times.p50, times.p95, times.p99, times.p999, times.max] = [1.5, 2.5, 3.5, 4.5, 5.5];
        }
        let summary = RunsSummary::of(&cases, &results);
        let table = summary.table();
        assert_eq!((table.rows.len(), table.words), (2, 2));
        for ((row, run), policy) in table.rows.iter().zip(&results.runs).zip(["fcfs", "satf"]) {
            let class = &run.classes["readers"];
            let of = |head: &str| &row[table.heads.iter().position(|other| other == head).expect("a column")];
            assert_eq!(
                (row.len(), of("policy").as_str(), of("class").as_str()),
                (table.heads.len(), policy, "readers")
            );
            assert_eq!(*of("requests"), class.requests.to_string());
            assert_eq!(*of("arm busy, %"), format!("{:.1}", 100.0 * run.disks[0].busy));
            let times = &class.response_ms;
            for (head, figure) in [
                ("mean, ms", times.mean),
                ("p50, ms", times.p50),
                ("p95, ms", times.p95),
                ("p99, ms", times.p99),
                ("p99.9, ms", times.p999),
                ("longest, ms", times.max),
                ("MB/s", class.throughput_mb_s),
            ] {
                assert_eq!(*of(head), format!("{figure:.3}"), "{head}");
            }
        }
        let figure = summary.distributions("readers", "");
        assert_eq!(figure.series.len(), 2);
        for series in &figure.series {
            let Marks::Line { at, steps: false } = &series.marks else { panic!("a curve") };
            assert!(at[0].1 == 0.0 && at[at.len() - 1].1 == 100.0, "{at:?}");
        }
    }
}
