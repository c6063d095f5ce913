//! What runs came to over time: laws over random experiments, held against the record of each request and against the results.
//!
//! `HALFTURN_SEED=N` runs the experiment of one seed, `HALFTURN_SEEDS=N` so many.

use crate::files::cases;
use crate::requests::experiment;
use block::{BadInput, Ending, Span, Time};
use load::experiment::{Case, parse};
use load::requests::{PARTS, Record, Records};
use load::results::Results;
use load::series::{Every, RunSeries, SERIES_COLUMNS, SeriesBook, SeriesRow, SeriesValue};
use std::sync::{Arc, Mutex};

/// Random experiments, where no number is given.
const EXPERIMENTS: u64 = 30;

/// Of a request: its class, how it ended, whether it counts, its bytes, its arrival and its end.
type Kept = (String, Option<Ending>, bool, u64, Time, Time);

struct Keep(Arc<Mutex<Vec<Kept>>>);

impl Records for Keep {
    fn put(&mut self, it: &Record) -> Result<(), BadInput> {
        self.0.lock().unwrap().push((it.class.to_owned(), it.ending, it.counted, it.at.bytes(), it.arrival, it.end));
        Ok(())
    }

    fn close(&mut self) -> Result<(), BadInput> {
        Ok(())
    }
}

/// The series of the first replication of the first case by these intervals, its records, and the results.
fn follow<const N: usize>(cases: &[Case], every: [Every; N]) -> Result<([RunSeries; N], Vec<Kept>, Results), BadInput> {
    let books = every.map(|every| SeriesBook::of(cases, |_| 1, every));
    let kept = Arc::new(Mutex::new(Vec::new()));
    let opens = |case: usize, replication| {
        let mut all = (replication == 0).then(|| Box::new(Keep(Arc::clone(&kept))) as Box<dyn Records>);
        for book in &books {
            all = book.open((case, &cases[case]), replication, all);
        }
        Ok(all)
    };
    let results = sim::simulate_and_record(cases, &sim::Unwatched, &opens)?;
    let kept = kept.lock().unwrap().clone();
    Ok((books.map(|book| book.first_of(0).expect("it has ended")), kept, results))
}

fn value(row: &SeriesRow, name: &str) -> f64 {
    let column = SERIES_COLUMNS.iter().find(|column| column.name == name).expect("a column");
    match (column.value)(row) {
        SeriesValue::Count(count) => count as f64,
        SeriesValue::Real(real) => real,
        SeriesValue::Time(time) => time.map_or(f64::NAN, |Span(ns)| ns as f64),
        SeriesValue::Word(_) => panic!("{name} is a word"),
    }
}

/// A sum over the rows of a class, each by its length where that is asked for.
fn sum(of: &RunSeries, class: &str, name: &str) -> f64 {
    of.rows().filter(|row| row.class == class).map(|row| value(&row, name)).sum()
}

fn sum_over_time(of: &RunSeries, class: &str, name: &str) -> f64 {
    let length = |row: &SeriesRow| row.to.since(row.from).0 as f64;
    of.rows().filter(|row| row.class == class).map(|row| value(&row, name) * length(&row)).sum()
}

fn close(found: f64, wanted: f64, what: &str, text: &str) {
    assert!((found - wanted).abs() <= wanted.abs() * 1e-9 + 1e-6, "{what}: {found}, not {wanted}\n{text}");
}

/// Rows follow one another, and those of a class add up to its requests.
fn add_up(series: &RunSeries, kept: &[Kept], text: &str) {
    let classes = [&[String::new()], series.classes()].concat();
    let rows: Vec<SeriesRow> = series.rows().collect();
    for (place, row) in rows.iter().enumerate() {
        assert_eq!(row.class, classes[place % classes.len()], "{text}");
        assert!(row.from < row.to, "{text}");
        assert_eq!(row.from, place.checked_sub(classes.len()).map_or(Time::ZERO, |before| rows[before].to), "{text}");
    }
    for class in &classes {
        let of: Vec<&Kept> = kept.iter().filter(|it| class.is_empty() || it.0 == *class).collect();
        let ended: Vec<&&Kept> = of.iter().filter(|it| it.1 == Some(Ending::Finished)).collect();
        let count = |name: &str, wanted: usize| close(sum(series, class, name), wanted as f64, name, text);
        count("requests", ended.len());
        count("lost", of.iter().filter(|it| it.1.is_some()).count() - ended.len());
        count("counted", of.iter().filter(|it| it.1.is_some() && it.2).count());
        count("bytes", ended.iter().map(|it| it.3 as usize).sum());
        // Little's law: who is there over time is what all took.
        let took: u64 = of.iter().map(|it| it.5.since(it.4).0).sum();
        close(sum_over_time(series, class, "queue"), took as f64, &format!("queue of '{class}'"), text);
        let longest = ended.iter().map(|it| it.5.since(it.4).0).max().unwrap_or(0);
        let told = rows.iter().filter(|row| row.class == class).map(|row| value(row, "max_ns")).fold(0.0, f64::max);
        close(told, longest as f64, "max_ns", text);
        let sums = rows.iter().filter(|row| row.class == class && value(row, "requests") > 0.0);
        let means: f64 = sums.map(|row| value(row, "mean_ns") * value(row, "requests")).sum();
        let all: u64 = ended.iter().map(|it| it.5.since(it.4).0).sum();
        assert!((means - all as f64).abs() <= ended.len() as f64, "mean_ns: {means}, not {all}\n{text}");
    }
}

/// Of a disk that has one command at a time each moment of a command counts for one part of it.
fn fill_time(series: &RunSeries, text: &str) {
    let parts = &SERIES_COLUMNS[SERIES_COLUMNS.len() - PARTS..];
    for row in series.rows() {
        let busy = value(&row, "busy");
        assert!((0.0..=1.0).contains(&busy), "busy {busy}\n{text}");
        let parts: f64 = parts.iter().map(|part| value(&row, part.name)).sum();
        close(parts, busy * row.to.since(row.from).0 as f64, "parts", text);
    }
    let of_classes: f64 = series.classes().iter().map(|class| sum_over_time(series, class, "busy")).sum();
    assert!(of_classes <= sum_over_time(series, "", "busy") * (1.0 + 1e-9), "{text}");
}

#[test]
fn intervals_add_up_to_the_run() {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let seeds =
        number("HALFTURN_SEED").map_or(0..number("HALFTURN_SEEDS").unwrap_or(EXPERIMENTS), |seed| seed..seed + 1);
    let (mut ran, mut disks) = (0, 0);
    for seed in seeds {
        let text = format!("{}seed = {seed}\n# HALFTURN_SEED={seed}", experiment(seed));
        // A tape takes hours.
        let every = Every::Span(Span(if text.contains("tape") { 1_000_000_000 } else { 7_000_000 }));
        let Ok((all, kept, results)) =
            parse("random", &text, &[], None).and_then(|cases| follow(&cases, [every, Every::Fitted]))
        else {
            continue;
        };
        ran += 1;
        for series in &all {
            add_up(series, &kept, &text);
            let has_one = ["atlas10k", "nl20", "st318437lw"].iter().any(|disk| text.contains(&format!("\"{disk}\"")));
            if has_one && text.contains("queue = 1 ") && !text.contains("array") {
                fill_time(series, &text);
                disks += 1;
            }
        }
        let [fixed, fitted] = &all;
        let intervals = fitted.rows().filter(|row| row.class.is_empty()).count();
        assert!(intervals <= 256 && (intervals > 0 || kept.is_empty()), "{intervals}\n{text}");
        for name in ["requests", "yield", "seek_ns", "rotation_ns", "transfer_ns", "device_ns"] {
            close(sum(fitted, "", name), sum(fixed, "", name), name, &text);
        }
        let plain = sim::simulate(&cases(&text), &sim::Unwatched).unwrap();
        let json = |results: &Results| serde_json::to_string(results).unwrap();
        assert_eq!(json(&results), json(&plain), "to be followed changes a run\n{text}");
    }
    if number("HALFTURN_SEED").is_none() {
        assert!(ran > EXPERIMENTS / 3 && disks > 2, "{ran} ran, {disks} of them on one disk");
    }
}

const TWO: &str = "drive = { model = \"nl20\" }\nscheduler = { policy = \"satf\" }\n\
    [[workload]]\nname = \"a\"\nkind = \"open\"\nrate = \"30/s\"\nsize = \"4KiB\"\ndeadline = \"1s\"\n\
    [[workload]]\nname = \"b\"\nkind = \"closed\"\ndepth = 2\nsize = \"64KiB\"\n[run]\nseed = 5\n";

#[test]
fn what_ends_in_the_measured_time_is_the_throughput_of_the_results() {
    let text = format!("{TWO}warmup = \"500ms\"\nduration = \"4s\"\n");
    let ([series], _, results) = follow(&cases(&text), [Every::Span(Span(100_000_000))]).unwrap();
    for (name, class) in &results.runs[0].classes {
        let measured =
            series.rows().filter(|row| row.class == name && row.from.0 >= 500_000_000 && row.to.0 <= 4_500_000_000);
        let bytes: f64 = measured.map(|row| value(&row, "bytes")).sum();
        close(bytes, class.throughput_mb_s * 1e6 * 4.0, name, &text);
    }
}

#[test]
fn yield_is_of_what_counts_and_quantiles_are_of_all_that_finished() {
    let text = format!("{TWO}warmup = \"500ms\"\nduration = \"4s\"\n");
    let ([series], kept, results) = follow(&cases(&text), [Every::Span(Span(3_600_000_000_000))]).unwrap();
    for (name, class) in &results.runs[0].classes {
        close(sum(&series, name, "yield"), class.yield_, name, &text);
        let finished = kept.iter().filter(|it| it.0 == *name && it.1 == Some(Ending::Finished));
        let mut times: Vec<u64> = finished.map(|it| it.5.since(it.4).0).collect();
        times.sort_unstable();
        let row = series.rows().find(|row| row.class == name).expect("a row of each class");
        for (column, share) in [("p50_ns", 0.5), ("p99_ns", 0.99)] {
            let exact = times[(share * times.len() as f64).ceil() as usize - 1] as f64;
            assert!((value(&row, column) - exact).abs() <= exact / 1000.0, "{column}: not {exact}");
        }
    }
}

#[test]
fn time_of_the_arm_is_that_of_the_results() {
    let text = "drive = { model = \"atlas10k\", queue = 1 }\nscheduler = { policy = \"sstf\" }\n[[workload]]\nname = \"a\"\n\
        kind = \"closed\"\ndepth = 3\nsize = \"8KiB\"\nread = 1\n[run]\nwarmup = \"0s\"\nduration = \"3s\"\n";
    let ([series], _, results) = follow(&cases(text), [Every::Span(Span(50_000_000))]).unwrap();
    let disk = &results.runs[0].disks[0];
    let measured = || series.rows().filter(|row| row.class.is_empty() && row.to.0 <= 3_000_000_000);
    assert_eq!(measured().count(), 60);
    let busy: f64 = measured().map(|row| value(&row, "busy")).sum();
    close(busy / 60.0, disk.busy, "busy", text);
    for part in ["seek", "rotation", "transfer"] {
        let ns: f64 = measured().map(|row| value(&row, &format!("{part}_ns"))).sum();
        // The last command is cut in two by the end, and its parts need not be in this order.
        assert!((ns / 3e9 - disk.parts[part]).abs() < 0.005, "{part}: {} of {}", ns / 3e9, disk.parts[part]);
    }
}

#[test]
fn what_is_read_for_free_counts_for_the_class_of_the_scan() {
    let text = "drive = { model = \"atlas10k\" }\nscheduler = { policy = \"satf\", free = { enabled = true } }\n\
        [[workload]]\nname = \"a\"\nkind = \"closed\"\ndepth = 4\nsize = \"4KiB\"\n\
        [[workload]]\nname = \"s\"\nkind = \"scan\"\n[run]\nwarmup = \"0s\"\nduration = \"5s\"\n";
    let ([series], _, results) = follow(&cases(text), [Every::Span(Span(100_000_000))]).unwrap();
    let measured =
        |class: &'static str| series.rows().filter(move |row| row.class == class && row.to.0 <= 5_000_000_000);
    let free = |class| measured(class).map(|row| value(&row, "free_bytes")).sum::<f64>();
    let told = results.runs[0].classes["s"].free_mb_s.expect("a scan") * 1e6 * 5.0;
    assert!(told > 1e6, "{told}");
    close(free("s"), told, "free", text);
    assert_eq!((free("a"), free("")), (0.0, free("s")));
}

#[test]
fn too_many_intervals_are_refused_by_name() {
    let text = format!("{TWO}warmup = \"0s\"\nduration = \"4s\"\n");
    let error = follow(&cases(&text), [Every::Span(Span(10_000))]).expect_err("400,000 intervals");
    assert_eq!(error.file, "--series-every");
    assert!(error.what.contains("more than 250000 rows"), "{}", error.what);
}

#[test]
fn the_series_goes_on_to_the_end_of_the_run_where_nothing_comes() {
    for rate in ["0.001/s", "0.5/s"] {
        let text = format!(
            "drive = {{ model = \"atlas10k\" }}\nscheduler = {{ policy = \"fcfs\" }}\n[[workload]]\nname = \"a\"\nkind = \"open\"\n\
             rate = \"{rate}\"\nsize = \"4KiB\"\n[run]\nseed = 3\nduration = \"10s\"\n"
        );
        let ([series], _, results) = follow(&cases(&text), [Every::Span(Span(1_000_000_000))]).unwrap();
        let all: Vec<_> = series.rows().filter(|row| row.class.is_empty()).collect();
        assert_eq!(all.last().map(|row| row.to), Some(Time(10_000_000_000)), "{text}");
        let busy = all.iter().map(|row| value(row, "busy")).sum::<f64>() / all.len() as f64;
        close(busy, results.runs[0].disks[0].busy, "busy", &text);
    }
}
