//! What a trace asks for: the figures of `trace info`, for programs as JSON, for people with sketches.

mod page;

use super::table::{Edge, table};
use super::{bars, number};
use block::{BLOCK_BYTES, units};
use serde::Serialize;
use trace::{DeviceSummary, Distances, TraceReader, TraceSummary, Windows};

pub use page::TraceSamples;

const BAR_WIDTH: usize = 36;
/// Devices shown in the table, at most; those with the most requests.
const DEVICES: usize = 12;

/// What is told of a trace. Units are in the names, as in results; shares are 0 to 1.
#[derive(Serialize)]
pub struct TraceReport {
    schema: u32,
    file: String,
    format: String,
    device: Option<String>,
    /// Records in the file, of every kind.
    records: u64,
    requests: u64,
    reads: u64,
    writes: u64,
    flushes: u64,
    read_bytes: u64,
    write_bytes: u64,
    span_seconds: f64,
    requests_per_second: f64,
    sequential_share: f64,
    end_block: u64,
    sizes: Vec<Count>,
    common_sizes: Vec<Count>,
    distances: Vec<DistanceRow>,
    gap_mean_seconds: f64,
    gap_scv: f64,
    windows: [WindowJson; 2],
    out_of_order: u64,
    out_of_order_most_seconds: f64,
    responses: Option<ResponsesJson>,
    devices: Vec<DeviceReport>,
    notes: Vec<String>,
}

/// Requests of at least so many blocks, and less than twice as many; or of exactly so many.
#[derive(Serialize)]
struct Count {
    blocks: u64,
    requests: u64,
}

/// Requests that begin this far from the end of the one before: at least so many blocks, less than twice as many.
#[derive(Serialize)]
struct DistanceRow {
    direction: &'static str,
    blocks: u64,
    requests: u64,
}

#[derive(Serialize)]
struct WindowJson {
    seconds: f64,
    count: u64,
    mean: f64,
    peak: u64,
    dispersion: f64,
}

#[derive(Serialize)]
struct ResponsesJson {
    requests: u64,
    mean_ms: f64,
    max_ms: f64,
}

#[derive(Serialize)]
struct DeviceReport {
    name: String,
    requests: u64,
    reads: u64,
    writes: u64,
    flushes: u64,
    bytes: u64,
    sequential_share: f64,
    end_block: u64,
}

impl TraceReport {
    /// Of a trace read to its end.
    pub fn new(file: &str, trace: &TraceReader, summary: TraceSummary, device: Option<&str>) -> TraceReport {
        let seconds = summary.span().as_secs();
        let asked = summary.devices.iter().zip(trace.devices()).filter(|(device, _)| device.requests > 0);
        let all = add_devices(&summary.devices);
        let powers = |(power, requests): (usize, &u64)| Count { blocks: 1 << power, requests: *requests };
        TraceReport {
            schema: 1,
            file: file.into(),
            format: trace.format().to_string(),
            device: device.map(Into::into),
            records: trace.counts().records,
            requests: summary.requests,
            reads: summary.reads,
            writes: summary.writes,
            flushes: summary.flushes,
            read_bytes: summary.read_bytes,
            write_bytes: summary.write_bytes,
            span_seconds: seconds,
            requests_per_second: if seconds > 0.0 { summary.requests as f64 / seconds } else { 0.0 },
            sequential_share: all.sequential_share(),
            end_block: summary.end.0,
            sizes: summary.sizes.iter().enumerate().map(powers).filter(|size| size.requests > 0).collect(),
            common_sizes: common(&summary),
            distances: distances(&all),
            gap_mean_seconds: summary.gap_mean,
            gap_scv: summary.gap_scv,
            windows: [summary.tenths, summary.seconds].map(window),
            out_of_order: summary.behind,
            out_of_order_most_seconds: summary.furthest_behind.as_secs(),
            responses: summary.responses.map(|responses| ResponsesJson {
                requests: responses.count,
                mean_ms: responses.mean.as_ms(),
                max_ms: responses.max.as_ms(),
            }),
            devices: asked.map(|(device, name)| device_report(device, name)).collect(),
            notes: trace.counts().notes(),
        }
    }

    /// The table as it is printed.
    pub fn text(&self) -> String {
        let mut text = format!(" {}  ({} format)\n\n", self.file, self.format);
        for (name, value) in self.lines() {
            text += &format!(" {name:<17}  {value}\n");
        }
        if self.devices.len() > 1 {
            text += &format!("\n{}", self.devices_table());
        }
        text += &format!("\n sizes\n{}", bars::shares(&self.size_bars(), self.reads + self.writes, BAR_WIDTH));
        let (distances, whole) = self.distance_bars();
        if whole > 0 {
            text += "\n from the end of a request to the start of the next on its device\n";
            text += &bars::shares(&distances, whole, BAR_WIDTH);
        }
        if !self.notes.is_empty() {
            text += "\n what the reader met\n";
            text += &self.notes.iter().map(|note| format!("  - {note}\n")).collect::<String>();
        }
        text
    }

    fn lines(&self) -> Vec<(&'static str, String)> {
        let moved = self.reads + self.writes;
        let share = |part: u64| number::percent(part as f64 / self.requests.max(1) as f64);
        let part = |count: u64, bytes: u64| {
            format!("{} ({}), {}", number::count(count), share(count), units::show_bytes(bytes as f64))
        };
        let common = self.common_sizes.iter().take(3).map(|size| {
            let of = number::percent(size.requests as f64 / moved.max(1) as f64);
            format!("{} {of}", units::show_blocks(size.blocks))
        });
        let mut lines = vec![
            ("requests", format!("{} in {} records", number::count(self.requests), number::count(self.records))),
            ("reads", part(self.reads, self.read_bytes)),
            ("writes", part(self.writes, self.write_bytes)),
            ("flushes", format!("{} ({})", number::count(self.flushes), share(self.flushes))),
            ("time covered", number::seconds(self.span_seconds)),
            ("rate", self.rate()),
            ("burstiness", self.burstiness()),
            ("sequential", format!("{} begin where the one before ended", number::percent(self.sequential_share))),
            ("common sizes", common.collect::<Vec<_>>().join(", ")),
            (
                "end of addresses",
                format!("block {} ({})", number::count(self.end_block), units::show_blocks(self.end_block)),
            ),
        ];
        if self.out_of_order > 0 {
            let most = number::seconds(self.out_of_order_most_seconds);
            let what =
                format!("{} requests earlier than one before them, by up to {most}", number::count(self.out_of_order));
            lines.push(("out of order", what));
        }
        if let Some(ResponsesJson { requests, mean_ms, max_ms }) = &self.responses {
            let (mean, max) = (number::plain(*mean_ms), number::plain(*max_ms));
            let what = format!("mean {mean} ms, largest {max} ms, of {} requests", number::count(*requests));
            lines.push(("measured response", what));
        }
        if let [device] = self.devices.as_slice() {
            lines.push(("device", device.name.clone()));
        }
        lines
    }

    fn rate(&self) -> String {
        let peak = |window: &WindowJson| number::count(window.peak);
        let [tenths, seconds] = &self.windows;
        format!(
            "{} requests/s on average; at most {} in a second, {} in a tenth",
            number::plain(self.requests_per_second),
            peak(seconds),
            peak(tenths),
        )
    }

    fn burstiness(&self) -> String {
        let dispersion = number::plain(self.windows[0].dispersion);
        let scv = number::plain(self.gap_scv);
        format!("{dispersion} over tenths of a second, {scv} of the gaps (a metronome 0, random arrivals 1)")
    }

    fn devices_table(&self) -> String {
        let right = |head: &str| (head.to_owned(), Edge::Right);
        let mut heads = vec![("device".to_owned(), Edge::Left)];
        heads.extend(["requests", "reads", "writes", "flushes", "bytes", "sequential", "ends at"].map(right));
        let mut devices: Vec<&DeviceReport> = self.devices.iter().collect();
        devices.sort_by_key(|device| std::cmp::Reverse(device.requests));
        let row = |device: &&DeviceReport| {
            vec![
                device.name.clone(),
                number::count(device.requests),
                number::count(device.reads),
                number::count(device.writes),
                number::count(device.flushes),
                units::show_bytes(device.bytes as f64),
                number::percent(device.sequential_share),
                units::show_blocks(device.end_block),
            ]
        };
        let mut text = table(&heads, &devices.iter().take(DEVICES).map(row).collect::<Vec<_>>());
        if devices.len() > DEVICES {
            text += &format!(" and {} more, in --format json\n", devices.len() - DEVICES);
        }
        text
    }

    fn size_bars(&self) -> Vec<(String, u64)> {
        self.sizes.iter().map(|size| (format!("{} or more", plain_size(size.blocks)), size.requests)).collect()
    }

    /// Distances in steps of a factor of 64, and how many there are.
    fn distance_bars(&self) -> (Vec<(String, u64)>, u64) {
        const STEPS: [(u64, &str); 4] = [
            (1, "less than 1 MiB"),
            (2048, "1 MiB to 1 GiB"),
            (2 << 20, "1 GiB to 100 GiB"),
            (200 << 20, "100 GiB or more"),
        ];
        let step = |blocks: u64| STEPS.iter().rposition(|(from, _)| *from <= blocks).unwrap_or(0);
        let count = |direction: &str, wanted: Option<usize>| -> u64 {
            let of = self.distances.iter().filter(|distance| distance.direction == direction);
            of.filter(|distance| wanted.is_none_or(|wanted| step(distance.blocks) == wanted)).map(|d| d.requests).sum()
        };
        let line =
            |direction: &str, index: usize| (format!("{direction} {}", STEPS[index].1), count(direction, Some(index)));
        let mut lines: Vec<(String, u64)> = (0..STEPS.len()).rev().map(|index| line("back", index)).collect();
        lines.push(("sequential".into(), count("sequential", None)));
        lines.extend((0..STEPS.len()).map(|index| line("ahead", index)));
        let used = |lines: &[(String, u64)]| lines.iter().map(|(_, count)| count).sum();
        let whole = used(&lines);
        lines.retain(|(_, count)| *count > 0);
        (lines, whole)
    }
}

/// A power of two of blocks.
fn plain_size(blocks: u64) -> String {
    let bytes = blocks * BLOCK_BYTES;
    let scales = [(1u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let fits = scales.into_iter().find(|(scale, _)| bytes >= *scale);
    fits.map_or_else(|| format!("{bytes} B"), |(scale, name)| format!("{} {name}", bytes / scale))
}

/// The distances of all devices together.
fn add_devices(devices: &[DeviceSummary]) -> Distances {
    let mut all = Distances::default();
    for device in devices {
        let from = &device.distances;
        all.sequential += from.sequential;
        let pairs = all.forward.iter_mut().zip(&from.forward).chain(all.backward.iter_mut().zip(&from.backward));
        pairs.for_each(|(sum, count)| *sum += count);
    }
    all
}

fn common(summary: &TraceSummary) -> Vec<Count> {
    let count = |(blocks, requests): &(u32, u64)| Count { blocks: u64::from(*blocks), requests: *requests };
    summary.common_sizes.iter().map(count).collect()
}

/// From the farthest back to the farthest ahead, those that occur.
fn distances(all: &Distances) -> Vec<DistanceRow> {
    let of = |direction, power: usize, requests: u64| DistanceRow { direction, blocks: 1 << power, requests };
    let mut list: Vec<DistanceRow> =
        all.backward.iter().enumerate().rev().map(|(power, requests)| of("back", power, *requests)).collect();
    list.push(DistanceRow { direction: "sequential", blocks: 0, requests: all.sequential });
    list.extend(all.forward.iter().enumerate().map(|(power, requests)| of("ahead", power, *requests)));
    list.retain(|distance| distance.requests > 0);
    list
}

fn window(windows: Windows) -> WindowJson {
    let Windows { length, count, mean, peak, dispersion } = windows;
    WindowJson { seconds: length.as_secs(), count, mean, peak, dispersion }
}

fn device_report(device: &DeviceSummary, name: &str) -> DeviceReport {
    DeviceReport {
        name: name.into(),
        requests: device.requests,
        reads: device.reads,
        writes: device.writes,
        flushes: device.flushes,
        bytes: device.bytes,
        sequential_share: device.distances.sequential_share(),
        end_block: device.end.0,
    }
}
