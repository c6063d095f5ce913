//! The page of a trace: what it asks for in words, where and how often over time, and how much at once.

use super::super::answer::brief;
use super::super::figure::{Axis, Figure, Marks, Series};
use super::super::number;
use super::super::page::HtmlPage;
use super::TraceReport;
use block::{BLOCK_BYTES, Op, Time, units};
use trace::TraceRecord;

/// So many requests are drawn, at most; of more every second, every fourth and so on.
const MOST_DOTS: usize = 8_192;
/// Stretches of time that requests are counted in, at most: they double in length as the trace goes on.
const MOST_STRETCHES: usize = 512;
/// The length of the first stretches, ns.
const SHORTEST: u64 = 1_000_000;
/// Variance over mean of the requests in a tenth of a second: random arrivals have 1. Beyond these it is said to be otherwise.
const EVEN: f64 = 0.5;
const BURSTY: f64 = 2.0;
/// How thick a bar of a size is, in pixels.
const THICK: f64 = 18.0;
/// Colours of reads and writes.
const READS: &str = "#0072b2";
const WRITES: &str = "#d55e00";

/// What is kept of a trace for its figures, in memory that does not grow with it.
pub struct TraceSamples {
    began: Option<Time>,
    /// Of the requests that are drawn: the time since the first, ns, the first block, and what is done.
    dots: Vec<(u64, u64, Op)>,
    /// One in so many requests is drawn.
    stride: u64,
    seen: u64,
    /// Requests in each stretch.
    stretches: Vec<u64>,
    length: u64,
}

impl TraceSamples {
    /// That of a trace of which nothing was read yet.
    pub fn new() -> TraceSamples {
        TraceSamples { began: None, dots: Vec::new(), stride: 1, seen: 0, stretches: Vec::new(), length: SHORTEST }
    }

    /// Takes note of a request. One that is recorded behind a later one counts as of the beginning at the earliest.
    pub fn add(&mut self, record: &TraceRecord) {
        let began = *self.began.get_or_insert(record.time);
        let since = record.time.0.saturating_sub(began.0);
        while since / self.length >= MOST_STRETCHES as u64 {
            self.stretches = self.stretches.chunks(2).map(|pair| pair.iter().sum()).collect();
            self.length *= 2;
        }
        let stretch = (since / self.length) as usize;
        self.stretches.resize(self.stretches.len().max(stretch + 1), 0);
        self.stretches[stretch] += 1;
        if self.seen.is_multiple_of(self.stride) && record.op != Op::Flush {
            self.dots.push((since, record.at.start.0, record.op));
        }
        self.seen += 1;
        if self.dots.len() > MOST_DOTS {
            self.dots = self.dots.iter().step_by(2).copied().collect();
            self.stride *= 2;
        }
    }

    /// Where requests begin, over time.
    fn places(&self) -> Figure {
        let some = if self.stride > 1 { format!(", one in {}", self.stride) } else { String::new() };
        let title = format!("where requests begin{some}");
        let mut figure = Figure::new(&title, Axis::of("time, s"), Axis::of("offset, GB"));
        for (place, (reads, name, colour)) in
            [(true, "reads", READS), (false, "writes", WRITES)].into_iter().enumerate()
        {
            let of = self.dots.iter().filter(|(.., op)| (*op == Op::Read) == reads);
            let at: Vec<(f64, f64)> =
                of.map(|(ns, block, _)| (*ns as f64 / 1e9, (block * BLOCK_BYTES) as f64 / 1e9)).collect();
            if !at.is_empty() {
                figure.series.push(Series::distinct(name, place, Marks::Dots { at }, &[colour]));
            }
        }
        figure
    }

    /// How many requests there are a second, over time.
    fn rates(&self) -> Figure {
        let length = self.length as f64 / 1e9;
        let title = format!("requests a second, over {}", number::seconds(length));
        let mut figure = Figure::new(&title, Axis::of("time, s"), Axis::of("requests, 1/s"));
        let ends = self.stretches.iter().chain(self.stretches.last());
        let at = ends.enumerate().map(|(place, count)| (place as f64 * length, *count as f64 / length)).collect();
        figure.series.push(Series::new("requests", READS, Marks::Line { at, steps: true }));
        figure
    }
}

impl TraceReport {
    /// What it asks for, a paragraph for each thing there is to say.
    fn answer(&self) -> Vec<String> {
        let share = |part: u64| number::percent(part as f64 / self.requests.max(1) as f64);
        let mut lines = vec![format!(
            "{} requests in {}: {} read {}, {} write {}.",
            number::count(self.requests),
            number::seconds(self.span_seconds),
            share(self.reads),
            units::show_bytes(self.read_bytes as f64),
            share(self.writes),
            units::show_bytes(self.write_bytes as f64),
        )];
        let [tenths, seconds] = &self.windows;
        let comes = match tenths.dispersion {
            EVEN.. if tenths.dispersion > BURSTY => "in bursts",
            EVEN.. => "about as at random",
            _ => "evenly",
        };
        lines.push(format!(
            "They come {comes}: {} a second on average, {} in the busiest second.",
            brief(self.requests_per_second),
            number::count(seconds.peak)
        ));
        let moved = (self.reads + self.writes).max(1);
        let common = self.common_sizes.first().map_or_else(String::new, |size| {
            let of = number::percent(size.requests as f64 / moved as f64);
            format!("; the most common size is {}, of {of}", units::show_blocks(size.blocks))
        });
        lines.push(format!("{} begin where the one before ended{common}.", number::percent(self.sequential_share)));
        let devices = match self.devices.len() {
            0 | 1 => "Addresses end".into(),
            several => format!("There are {several} devices; addresses end"),
        };
        lines.push(format!("{devices} at {}: a smaller drive needs `fit`.", units::show_blocks(self.end_block)));
        if let Some(responses) = &self.responses {
            let (mean, max) = (brief(responses.mean_ms), brief(responses.max_ms));
            lines.push(format!("Measured responses take {mean} ms on average, {max} ms at most."));
        }
        lines
    }

    /// Shares of the sizes.
    fn sizes(&self) -> Figure {
        let bars = self.size_bars();
        let whole = (self.reads + self.writes).max(1) as f64;
        let axis = Axis::of("share of the requests, %");
        let mut figure = Figure::rows("sizes of requests", axis, bars.iter().map(|(size, _)| size.clone()));
        let at: Vec<(f64, f64, f64)> = bars
            .iter()
            .enumerate()
            .map(|(row, (_, requests))| (0.0, 100.0 * *requests as f64 / whole, row as f64))
            .collect();
        let told = bars.iter().map(|(size, requests)| format!("{size}\n{}", number::count(*requests))).collect();
        let bars = Marks::Bars { at, thick: THICK, dotted: false };
        figure.series.push(Series { told, ..Series::new("requests", READS, bars) });
        figure
    }

    /// A page that opens offline: the answer in words, figures, and what is printed.
    pub fn page(&self, samples: &TraceSamples) -> String {
        let mut page = HtmlPage::new(&self.file);
        page.answer(&self.answer());
        page.heading("Over time");
        page.figure(&samples.places());
        page.figure(&samples.rates());
        page.heading("Sizes");
        page.figure(&self.sizes());
        page.heading("As printed");
        page.text(&self.text());
        page.html()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::{Extent, Lbn};
    use trace::TraceDevice;

    fn request(ns: u64, block: u64) -> TraceRecord {
        let at = Extent { start: Lbn(block), blocks: 8 };
        TraceRecord { time: Time(ns), device: TraceDevice(0), op: Op::Read, at, response: None }
    }

    #[test]
    fn however_long_a_trace_is_every_request_counts_and_few_are_kept() {
        let mut samples = TraceSamples::new();
        let requests = 100_000;
        (0..requests).for_each(|place| samples.add(&request(7 + place * place, place)));
        assert_eq!(samples.stretches.iter().sum::<u64>(), requests);
        assert!(samples.stretches.len() <= MOST_STRETCHES && samples.dots.len() <= MOST_DOTS);
        assert!(samples.dots.len() > MOST_DOTS / 4, "enough are kept: {}", samples.dots.len());
        // Each is one in so many, in order.
        let evenly = |(place, (ns, block, _)): (usize, &(u64, u64, Op))| {
            *block == place as u64 * samples.stride && *ns == block * block
        };
        assert!(samples.dots.iter().enumerate().all(evenly), "one in {}", samples.stride);
        let last = (requests - 1) * (requests - 1) / samples.length;
        assert_eq!(samples.stretches.len() as u64, last + 1);
    }

    #[test]
    fn a_request_behind_a_later_one_is_of_the_beginning() {
        let mut samples = TraceSamples::new();
        [5, 3].into_iter().for_each(|ns| samples.add(&request(ns, 1)));
        assert_eq!((samples.stretches, samples.dots[1].0), (vec![2], 0));
    }
}
