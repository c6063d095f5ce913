//! What a service tells Prometheus: its text exposition format, version 0.0.4, over just enough HTTP to be scraped.
//!
//! The engine counts; what it has counted is copied and written down by the thread that is asked. Who asks has a second to say
//! what he wants and another to hear it.

mod array;
mod page;

pub use page::reference;

use crate::askers::attend;
use crate::desk::Desk;
use crate::front::VolumeReport;
use crate::socket::{SocketName, private};
use block::Span;
use load::PART_NAMES;
use load::experiment::Exposed;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use sched::Pulse;
use sched::predict::{Grasp, OrderBasis};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// Bytes of a question at most.
const LONGEST: usize = 8 << 10;
/// How long who asks may take to say it, and how long to hear the answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// Upper bounds of the buckets of a histogram, in µs: 1, 2, 5, … up to 10 s.
const BOUNDS: usize = 22;

fn bound(bucket: usize) -> u64 {
    [1, 2, 5][bucket % 3] * 10_u64.pow(bucket as u32 / 3)
}

/// How often something took how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buckets {
    counts: [u64; BOUNDS],
    above: u64,
    sum: Span,
}

impl Buckets {
    /// It took so long.
    pub fn add(&mut self, took: Span) {
        let us = took.0.div_ceil(1000).max(1);
        // A decade has three bounds.
        let from = 3 * us.ilog10() as usize;
        match (from..BOUNDS).find(|bucket| us <= bound(*bucket)) {
            Some(bucket) => self.counts[bucket] += 1,
            None => self.above += 1,
        }
        self.sum += took;
    }

    /// With what was counted of another device.
    fn merge(&mut self, other: &Buckets) {
        self.counts.iter_mut().zip(other.counts).for_each(|(count, more)| *count += more);
        self.above += other.above;
        self.sum += other.sum;
    }

    /// How many lie in each bucket, those above all bounds last; and how long all took.
    fn json(&self) -> Value {
        let counts: Vec<u64> = self.counts.iter().copied().chain([self.above]).collect();
        json!({ "counts": counts, "sum_ms": self.sum.0 as f64 / 1e6 })
    }

    fn write(&self, name: &str, labels: &str, out: &mut String) {
        let comma = if labels.is_empty() { "" } else { "," };
        let mut count = 0;
        for (bucket, more) in self.counts.iter().enumerate() {
            count += more;
            let bound = bound(bucket) as f64 / 1e6;
            let _ = writeln!(out, "{name}_bucket{{{labels}{comma}le=\"{bound}\"}} {count}");
        }
        count += self.above;
        let _ = writeln!(out, "{name}_bucket{{{labels}{comma}le=\"+Inf\"}} {count}");
        let braced = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
        let _ = writeln!(out, "{name}_sum{braced} {}\n{name}_count{braced} {count}", self.sum.as_secs());
    }
}

/// What a service has counted.
#[derive(Clone, Debug, Default)]
pub struct ServiceMetrics {
    /// One report for each volume.
    pub volumes: Vec<VolumeReport>,
    /// What the core has outstanding and has done.
    pub pulse: Pulse,
    /// How late the host noticed what an emulated drive had done.
    pub late: Buckets,
    /// What the array is, where there is one, as its status has it.
    pub array: Option<Value>,
}

const ARM_SECONDS: &str = "halfturn_arm_seconds_total";

/// A family of metrics: its name, its type, what it is.
struct Family(&'static str, &'static str, &'static str);

impl Family {
    fn head(&self, out: &mut String) {
        let Family(name, kind, help) = self;
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }
}

/// A label's value as the format has it.
fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

impl ServiceMetrics {
    fn grasp(&self) -> Grasp {
        self.pulse.grasp.unwrap_or_default()
    }

    /// What was learned of the device; null where nothing is learned in use.
    pub(crate) fn learned_json(&self) -> Value {
        let Some(Grasp { turn, known, off, usual, basis }) = self.pulse.grasp else { return Value::Null };
        json!({
            "turn_ms": turn.as_ms(), "known_blocks": f64::from(known) / 1e3, "error_ms": off.as_ms(),
            "error_by_distance_ms": usual.as_ms(), "in_use": basis == OrderBasis::Forecasts,
            "by_arrival": basis == OrderBasis::Arrival,
        })
    }

    /// In the text exposition format.
    #[must_use]
    pub fn text(&self) -> String {
        metrics_text(&[DeviceMetrics { device: None, counted: Some(self.clone()) }])
    }
}

/// What one device of a service has counted.
#[derive(Clone, Debug)]
pub struct DeviceMetrics {
    /// Its name, where there are several.
    pub device: Option<String>,
    /// Nothing, where it does not answer.
    pub counted: Option<ServiceMetrics>,
}

impl DeviceMetrics {
    /// Labels in braces, if there are any: that of the device first.
    fn show_labels(&self, labels: &str) -> String {
        let labels = self.labels(labels);
        if labels.is_empty() { labels } else { format!("{{{labels}}}") }
    }

    fn labels(&self, labels: &str) -> String {
        let device = self.device.as_ref().map(|device| format!("device=\"{}\"", escape(device)));
        let labels = (!labels.is_empty()).then(|| labels.to_owned());
        device.into_iter().chain(labels).collect::<Vec<_>>().join(",")
    }

    fn volumes(&self) -> &[VolumeReport] {
        self.counted.as_ref().map_or(&[], |counted| &counted.volumes)
    }

    /// Its volumes as JSON, with its name where it has one.
    fn volumes_json(&self, json: impl Fn(&VolumeReport) -> Value) -> Vec<Value> {
        let told = |volume| {
            let mut told = json(volume);
            if let Some(device) = &self.device {
                told["device"] = device.as_str().into();
            }
            told
        };
        self.volumes().iter().map(told).collect()
    }
}

/// The devices of a service of several, each with what was learned of it; nothing of a lone one.
fn devices_json(all: &[DeviceMetrics]) -> Vec<Value> {
    let told = |one: &DeviceMetrics| {
        let learned = one.counted.as_ref().map(ServiceMetrics::learned_json);
        let hangs = one.volumes().iter().any(|volume| volume.hangs);
        Some(json!({ "name": one.device.as_ref()?, "answers": one.counted.is_some() && !hangs, "learned": learned }))
    };
    all.iter().filter_map(told).collect()
}

/// What the control socket lists; nothing where a lone device does not answer.
pub(crate) fn list_json(all: &[DeviceMetrics]) -> Option<Value> {
    let volumes: Vec<Value> = all.iter().flat_map(|one| one.volumes_json(VolumeReport::json)).collect();
    match all {
        [DeviceMetrics { device: None, counted }] => {
            Some(json!({ "volumes": volumes, "learned": counted.as_ref()?.learned_json() }))
        }
        _ => Some(json!({ "volumes": volumes, "learned": Value::Null, "devices": devices_json(all) })),
    }
}

/// As the control socket tells `halfturn top`: everything is counted since the service began, and of all devices together. Nothing
/// where a lone device does not answer.
pub(crate) fn metrics_json(all: &[DeviceMetrics]) -> Option<Value> {
    let told = |volume: &VolumeReport| {
        let mut told = volume.json();
        told["reading"] = volume.reading.json();
        told["writing"] = volume.writing.json();
        told
    };
    let mut json = list_json(all)?;
    json["volumes"] = all.iter().flat_map(|one| one.volumes_json(told)).collect();
    json["bounds_ms"] = (0..BOUNDS).map(|bucket| bound(bucket) as f64 / 1e3).collect();
    let counted = || all.iter().filter_map(|one| one.counted.as_ref());
    let sum = |of: fn(&Pulse) -> u64| counted().map(|counted| of(&counted.pulse)).sum::<u64>();
    json["waiting"] = sum(|pulse| pulse.waiting.into()).into();
    json["preemptions"] = sum(|pulse| pulse.preemptions).into();
    json["jit_seeks"] = sum(|pulse| pulse.jit_seeks).into();
    json["jit_late"] = sum(|pulse| pulse.late).into();
    json["jit_given_up"] = counted().any(|counted| counted.pulse.gave_up).into();
    let mut late = Buckets::default();
    counted().for_each(|counted| late.merge(&counted.late));
    json["host_lateness"] = late.json();
    Some(json)
}

/// What is told of a device as a whole.
type OfDevice = fn(&ServiceMetrics) -> f64;

const OF_DEVICE: [(Family, OfDevice); 11] = [
    (Family("halfturn_scheduler_requests", "gauge", "Requests that the scheduler has."), |counted| {
        f64::from(counted.pulse.waiting)
    }),
    (Family("halfturn_preemptions_total", "counter", "Requests interrupted by others."), |counted| {
        counted.pulse.preemptions as f64
    }),
    (Family("halfturn_jit_seeks_total", "counter", "Seeks put off until just in time."), |counted| {
        counted.pulse.jit_seeks as f64
    }),
    (Family("halfturn_jit_late_total", "counter", "Of these, those that came too late."), |counted| {
        counted.pulse.late as f64
    }),
    (
        Family(
            "halfturn_jit_given_up",
            "gauge",
            "1 while so many were late that requests go at once, in short commands.",
        ),
        |counted| f64::from(u8::from(counted.pulse.gave_up)),
    ),
    (
        Family(
            "halfturn_host_late_seconds",
            "gauge",
            "By how much the host is mostly late, so that short commands are longer; 0 where that does no harm.",
        ),
        |counted| counted.pulse.host_late.as_secs(),
    ),
    (
        Family("halfturn_learned_turn_seconds", "gauge", "With policy auto: one revolution; 0 while none is known."),
        |counted| counted.grasp().turn.as_secs(),
    ),
    (
        Family("halfturn_learned_blocks_ratio", "gauge", "With policy auto: share of the blocks at known angles."),
        |counted| f64::from(counted.grasp().known) / 1e3,
    ),
    (
        Family("halfturn_learned_error_seconds", "gauge", "With policy auto: how far off forecasts of times are."),
        |counted| counted.grasp().off.as_secs(),
    ),
    (
        Family(
            "halfturn_learned_in_use",
            "gauge",
            "With policy auto: 1 while forecasts order requests, 0 while distance or arrival does.",
        ),
        |counted| f64::from(u8::from(counted.grasp().basis == OrderBasis::Forecasts)),
    ),
    (
        Family(
            "halfturn_learned_by_arrival",
            "gauge",
            "With policy auto: 1 while requests go in order of arrival, since distance gains nothing.",
        ),
        |counted| f64::from(u8::from(counted.grasp().basis == OrderBasis::Arrival)),
    ),
];

/// Whether a device answers is told of one that does not, too. It stands behind as many families as these.
const BEFORE_UP: usize = 6;
const UP: Family = Family("halfturn_device_up", "gauge", "Whether the device answers; 0 while it hangs.");

/// In the text exposition format: a device's lines name it, where a service has several.
#[must_use]
pub fn metrics_text(all: &[DeviceMetrics]) -> String {
    let mut out = String::new();
    write_volumes(all, &mut out);
    for (number, (family, of)) in OF_DEVICE.iter().enumerate() {
        if number == BEFORE_UP {
            write_up(all, &mut out);
        }
        family.head(&mut out);
        for one in all {
            if let Some(counted) = &one.counted {
                let _ = writeln!(out, "{}{} {}", family.0, one.show_labels(""), of(counted));
            }
        }
    }
    array::write_arrays(all, &mut out);
    let late = Family(
        "halfturn_host_lateness_seconds",
        "histogram",
        "How late the host noticed what an emulated drive had done.",
    );
    late.head(&mut out);
    for one in all {
        if let Some(counted) = &one.counted {
            counted.late.write(late.0, &one.labels(""), &mut out);
        }
    }
    out
}

fn write_up(all: &[DeviceMetrics], out: &mut String) {
    UP.head(out);
    for one in all {
        let answers = one.counted.is_some() && one.volumes().iter().all(|volume| !volume.hangs);
        let _ = writeln!(out, "{}{} {}", UP.0, one.show_labels(""), u64::from(answers));
    }
}

/// Each volume, with its device.
fn each(all: &[DeviceMetrics]) -> impl Iterator<Item = (&DeviceMetrics, &VolumeReport)> {
    all.iter().flat_map(|one| one.volumes().iter().map(move |volume| (one, volume)))
}

/// What is told of a volume, with what else tells it from others of its name.
type OfVolume = fn(&VolumeReport) -> Vec<(&'static str, f64)>;

const OF_VOLUME: [(Family, OfVolume); 9] = [
    (Family("halfturn_requests_total", "counter", "Requests that were done."), |volume| {
        let counts = &volume.counts;
        let each =
            [("read", counts.reads), ("write", counts.writes), ("flush", counts.flushes), ("trim", counts.trims)];
        each.map(|(op, count)| (op, count as f64)).into()
    }),
    (Family("halfturn_bytes_total", "counter", "Bytes read and written."), |volume| {
        vec![("read", volume.counts.read_bytes as f64), ("write", volume.counts.written_bytes as f64)]
    }),
    (
        Family("halfturn_errors_total", "counter", "Requests that failed, or were dropped at their deadline."),
        |volume| vec![("failed", volume.counts.failed as f64), ("dropped", volume.counts.dropped as f64)],
    ),
    (Family("halfturn_in_flight_requests", "gauge", "Requests that are not answered yet."), |volume| {
        vec![("", f64::from(volume.in_flight))]
    }),
    (Family("halfturn_clients", "gauge", "Clients connected."), |volume| vec![("", f64::from(volume.clients))]),
    (Family("halfturn_yield_total", "counter", "What the requests were worth when they were done."), |volume| {
        vec![("", volume.yielded)]
    }),
    (
        Family(
            "halfturn_volume_flush_failed",
            "gauge",
            "1 after a failed flush, until the volume is told to go on: no flush succeeds.",
        ),
        |volume| vec![("", f64::from(u8::from(volume.flush_failed)))],
    ),
    (
        Family(
            ARM_SECONDS,
            "counter",
            "Time of the device by what it went to: the sums are measured; seek and rotation are believed, and part of transfer where nothing is known of the drive.",
        ),
        |volume| PART_NAMES.into_iter().zip(volume.arm.map(Span::as_secs)).collect(),
    ),
    (Family("halfturn_volume_bytes", "gauge", "The size of a volume."), |volume| vec![("", volume.bytes as f64)]),
];

fn write_volumes(all: &[DeviceMetrics], out: &mut String) {
    for (family, of) in OF_VOLUME {
        family.head(out);
        let label = match family.0 {
            "halfturn_errors_total" => "reason",
            ARM_SECONDS => "part",
            _ => "op",
        };
        for (one, volume) in each(all) {
            for (which, value) in of(volume) {
                let more = if which.is_empty() { String::new() } else { format!(",{label}=\"{which}\"") };
                let labels = one.show_labels(&format!("volume=\"{}\"{more}", escape(&volume.name)));
                let _ = writeln!(out, "{}{labels} {value}", family.0);
            }
        }
    }
    let took = Family("halfturn_request_duration_seconds", "histogram", "From a request's arrival to its answer.");
    took.head(out);
    for (one, volume) in each(all) {
        for (op, buckets) in [("read", &volume.reading), ("write", &volume.writing)] {
            let labels = one.labels(&format!("volume=\"{}\",op=\"{op}\"", escape(&volume.name)));
            buckets.write(took.0, &labels, out);
        }
    }
}

/// Answers where a file says until the process ends; the name of the socket, where it has one.
///
/// # Errors
/// When that cannot be listened on.
pub fn expose(at: &Exposed, desk: impl Into<Desk>) -> io::Result<Option<SocketName>> {
    let desk = desk.into();
    match at {
        Exposed::Tcp(address) => {
            let listener = TcpListener::bind(address)?;
            let come = move || listener.accept().map(|(asker, _)| asker);
            attend("metrics", come, move |asker| drop(answer(asker, &desk)))?;
            Ok(None)
        }
        Exposed::Unix(path) => {
            let (listener, place) = private(path)?;
            let come = move || listener.accept().map(|(asker, _)| asker);
            attend("metrics", come, move |asker| drop(answer(asker, &desk)))?;
            Ok(Some(place))
        }
    }
}

/// Nothing that someone who asks does or leaves takes longer.
fn patience(asker: &impl AsFd, most: Duration) -> io::Result<()> {
    set_socket_timeout(asker, Timeout::Recv, Some(most))?;
    Ok(set_socket_timeout(asker, Timeout::Send, Some(most))?)
}

/// What is asked for: the first line of an HTTP request, once all of its head is there.
fn question(asker: &mut (impl Read + AsFd)) -> io::Result<String> {
    let until = Instant::now() + PATIENCE;
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") && head.len() < LONGEST {
        patience(asker, left_of(until)?)?;
        let mut bytes = [0; 512];
        match asker.read(&mut bytes)? {
            0 => break,
            count => head.extend_from_slice(&bytes[..count]),
        }
    }
    let first = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    Ok(String::from_utf8_lossy(first).into_owned())
}

fn answer(mut asker: impl Read + Write + AsFd, desk: &Desk) -> io::Result<()> {
    let question = question(&mut asker)?;
    let mut words = question.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = path.split('?').next().unwrap_or_default();
    let (status, body) = match (method, path) {
        ("GET", "/metrics" | "/") => match desk.count(PATIENCE) {
            all if all.iter().all(|one| one.counted.is_none()) => {
                ("503 Service Unavailable", "the service does not answer\n".into())
            }
            all => ("200 OK", metrics_text(&all)),
        },
        ("GET", _) => ("404 Not Found", "metrics are at /metrics\n".into()),
        _ => ("405 Method Not Allowed", "only GET is understood\n".into()),
    };
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    let (until, mut left) = (Instant::now() + PATIENCE, answer.as_bytes());
    while !left.is_empty() {
        patience(&asker, left_of(until)?)?;
        let count = asker.write(left)?;
        left = &left[count..];
    }
    Ok(())
}

/// How long it is until then; an error when that has passed.
fn left_of(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_what_is_not_above_its_bound() {
        let mut buckets = Buckets::default();
        for ns in [0, 1, 1000, 1001, 2000, 5_000_000, 5_000_001, 10_000_000_000, 10_000_000_001] {
            buckets.add(Span(ns));
        }
        assert_eq!(bound(BOUNDS - 1), 10_000_000);
        let held: Vec<(u64, u64)> =
            (0..BOUNDS).map(|n| (bound(n), buckets.counts[n])).filter(|(_, n)| *n > 0).collect();
        assert_eq!(held, [(1, 3), (2, 2), (5000, 1), (10_000, 1), (10_000_000, 1)]);
        assert_eq!(buckets.above, 1);
    }

    #[test]
    fn the_page_has_a_row_for_each_metric_with_its_type_and_labels() {
        let told = ServiceMetrics { volumes: vec![VolumeReport::default()], ..ServiceMetrics::default() }.text();
        let (page, types) = (reference(), told.lines().filter_map(|line| line.strip_prefix("# TYPE ")));
        let types: Vec<_> = types.filter_map(|line| line.split_once(' ')).collect();
        assert!(types.len() > 10, "{told}");
        for (name, kind) in types {
            let row = format!("| `{name}` | {kind} | ");
            assert_eq!(page.lines().filter(|line| line.starts_with(&row)).count(), 1, "{row}");
        }
        let seconds = page.lines().find(|line| line.starts_with("| `halfturn_request_duration_seconds`"));
        assert!(
            seconds.is_some_and(|row| row.contains("`volume`") && row.contains("`op`: read, write")),
            "{seconds:?}"
        );
    }

    #[test]
    fn a_name_is_escaped() {
        assert_eq!(escape("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }
}
