//! The results of an experiment, in the shape `--format json` prints them (schema 1).
//!
//! Units are in the names: `_ms` milliseconds, `_mb_s` 10^6 bytes a second, `_fraction` 0 to 1.

mod machine;

use crate::Meter;
use crate::origin::{InputOrigin, Program};
use block::Span;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub use machine::{Process, SystemCounts};

/// All runs of one experiment: one for each combination of what was varied.
#[derive(Clone, Debug, Serialize)]
pub struct Results {
    /// The version of this form, 1.
    pub schema: u32,
    /// The program that computed them.
    pub program: Program,
    /// The drive files and traces that they rest on; not there where nobody looked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<InputOrigin>,
    /// In the order of the sweep.
    pub runs: Vec<Run>,
}

impl Results {
    /// These runs, computed by this program.
    #[must_use]
    pub fn new(runs: Vec<Run>) -> Results {
        Results { schema: 1, program: Program::default(), inputs: Vec::new(), runs }
    }

    /// The same, with what they rest on.
    #[must_use]
    pub fn resting_on(self, inputs: Vec<InputOrigin>) -> Results {
        Results { inputs, ..self }
    }
}

/// One combination of what was varied, over all its replications.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    /// What was varied, and its value here.
    pub labels: BTreeMap<String, Label>,
    /// Requests that arrived in the measured time; each is followed to its end.
    pub requests: u64,
    /// Requests that never ended, because nothing happened any more or the drive kept them: with any, the run is not whole, and
    /// its figures are not to be believed.
    pub unfinished: u64,
    /// Of the oracle, which chooses one request at a time by perfect knowledge of the mechanics: whether that is a bound. It is
    /// none where there are writes. Not there where there is no oracle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<bool>,
    /// Measured time, all replications together.
    pub simulated_seconds: f64,
    /// Of that, time with a request's command in service, mean over disks: what the workload spent at the disk.
    pub busy_seconds: f64,
    /// Requested bytes of requests that finished in the measured time, over it.
    pub throughput_mb_s: f64,
    /// Mean over disks of the share of time in which the arm did nothing.
    pub idle_fraction: f64,
    /// What an arrival would wait for the drive command in progress: ½ΣT²/(ΣT + slack) (Virtual IO, Eq. 2).
    pub expected_wait_ms: f64,
    /// Durations of drive commands.
    pub commands: Commands,
    /// What serving in short commands came to; not there where requests are served whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<Service>,
    /// How full the write buffer of an array was; not there where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Buffer>,
    /// What the read cache of an array came to; not there where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_cache: Option<ReadCacheFigures>,
    /// What a scheduler that learns the device came to know of it; not there where it does not learn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub learned: Option<Learned>,
    /// What the machine around the disk came to; not there where requests come by themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<SystemCounts>,
    /// Results of each service class, by name.
    pub classes: BTreeMap<String, Class>,
    /// Results of each disk, in order.
    pub disks: Vec<Disk>,
    /// What a reader must know before believing the figures: perfect knowledge, backlog, held requests.
    pub notes: Vec<String>,
}

impl Run {
    /// What a meter counted of these disks.
    #[must_use]
    pub fn of(labels: BTreeMap<String, Label>, meter: &Meter, disks: Vec<Disk>, notes: Vec<String>) -> Run {
        let mean = |share: fn(&Disk) -> f64| disks.iter().map(share).sum::<f64>() / disks.len().max(1) as f64;
        let (busy, idle) = (mean(|disk| disk.busy), mean(|disk| disk.idle));
        Run {
            labels,
            requests: meter.requests(),
            unfinished: 0,
            bound: None,
            simulated_seconds: meter.time_measured().as_secs(),
            busy_seconds: meter.time_measured().as_secs() * busy,
            throughput_mb_s: meter.throughput_mb_s(),
            idle_fraction: idle,
            expected_wait_ms: meter.expected_wait_ms(),
            service: meter.service(),
            buffer: meter.buffer(),
            read_cache: meter.read_cache(),
            commands: meter.commands(),
            learned: None,
            system: None,
            classes: meter.classes().collect(),
            disks,
            notes,
        }
    }
}

impl Disk {
    /// An arm that in all was busy for so long, with parts of it by name, and at its own work for so long.
    pub fn of(all: Span, busy: Span, background: Span, parts: impl IntoIterator<Item = (&'static str, Span)>) -> Disk {
        let share = |span: Span| span.0 as f64 / all.0.max(1) as f64;
        Disk {
            busy: share(busy),
            background: share(background),
            idle: share(all.less(busy).less(background)),
            parts: parts.into_iter().map(|(name, span)| (name.into(), share(span))).collect(),
        }
    }
}

/// The value of something that was varied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Label {
    /// A number, as the sweep gives it.
    Number(f64),
    /// A word, or a quantity with its unit.
    Word(String),
}

impl std::fmt::Display for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Label::Number(number) => write!(f, "{number}"),
            Label::Word(word) => f.write_str(word),
        }
    }
}

/// Durations of drive commands, from issue to completion.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Commands {
    /// How many commands were counted.
    pub count: u64,
    /// Their mean duration in ms.
    pub mean_ms: f64,
    /// 99th percentile of the durations, ms.
    pub p99_ms: f64,
    /// The longest duration, ms.
    pub max_ms: f64,
    /// How many took up to so many ms, and longer than the entry before: 0.1 ms apart up to 20 ms, 1 ms up to 200 ms,
    /// and so on.
    pub histogram: Vec<(f64, u64)>,
}

/// What serving requests in short commands came to.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Service {
    /// Share of time in which a seek was awaited with no command in flight.
    pub slack_fraction: f64,
    /// Requests interrupted after a command of theirs.
    pub preemptions: u64,
    /// Of these, requests that had interrupted another themselves.
    pub cascades: u64,
    /// Seeks timed to arrive just before the first block comes round.
    pub jit_seeks: u64,
    /// Of these, those that came too late and cost a revolution.
    pub late: u64,
    /// Of these, those that the drive answered from its cache after all.
    pub cached: u64,
    /// Parts of split seeks, the last of each not counted.
    pub sub_seeks: u64,
    /// 10^6 bytes a second read ahead in slack, used or not; not part of the throughput.
    pub prefetched_mb_s: f64,
    /// Of these, used by a later request.
    pub prefetched_used_mb_s: f64,
    /// By how much the first command after a timed seek came back later than was believed.
    pub prediction_error_ms: PredictionError,
    /// By how much the arm itself came later than was believed, the turn apart. Not there where no timed seek could be held
    /// against the drive: of an array, and of what is not simulated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arm_error_ms: Option<ArmError>,
}

/// By how much the arm came later than was believed, over timed seeks whose first command kept to one track.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ArmError {
    /// How many seeks were timed.
    pub count: u64,
    /// Mean in milliseconds; negative where it came sooner.
    pub mean: f64,
    /// Half were off by no more than this, sooner or later.
    pub p50: f64,
    /// 99 % were off by no more than this.
    pub p99: f64,
}

/// How full the non-volatile write buffer of an array was, in MiB.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Buffer {
    /// The most it held, MiB.
    pub most_mib: f64,
    /// For 99 % of the time no more than this, to an eighth.
    pub p99_mib: f64,
    /// For half of the time no more than this, to an eighth.
    pub p50_mib: f64,
    /// Share of time in which a write waited for room.
    pub full_fraction: f64,
    /// Writes that had to.
    pub blocked: u64,
    /// Writes that no disk took afterwards: lost data.
    pub lost: u64,
}

/// What the volatile read cache of an array came to.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ReadCacheFigures {
    /// Reads that were answered from it.
    pub hits: u64,
    /// Of these, those that had to wait for what was being read ahead.
    pub awaited: u64,
    /// Reads that disks had to answer.
    pub misses: u64,
    /// Hits as a share of both.
    pub hit_fraction: f64,
    /// What was read ahead, used or not, MiB.
    pub read_ahead_mib: f64,
}

/// What a scheduler that learns a device knows of it at the end of the first replication.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Learned {
    /// How many distances it keeps.
    pub distances: u64,
    /// Bytes of memory that they take.
    pub bytes: u64,
    /// Commands of the probes before the run.
    pub probes: u64,
    /// Time of the device they took.
    pub probing_seconds: f64,
    /// Share of all distances whose time the probes left to interpolation.
    pub interpolated_fraction: f64,
    /// Share of all distances of which only what others like them take is known.
    pub coarse_fraction: f64,
    /// Of interpolated distances that were tried, the share that is as near to its line as the check allows; not there where
    /// none were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines_true_fraction: Option<f64>,
    /// How far they are off, on average, as a share of their time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line_error: Option<f64>,
    /// The samples of the distance that was to be shown, ms, shortest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shown_ms: Vec<f64>,
    /// The mean of the samples of that distance, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown_mean_ms: Option<f64>,
    /// How far the times believed of commands are from those they took, ms: the root of the mean square of the horizontal
    /// distance between the two distributions; not there where they are not compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub demerit_ms: Option<f64>,
    /// Probes in idle time, whose time is background; not there where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_probes: Option<u64>,
    /// What a predictor that learns in use knows at the end.
    #[serde(flatten)]
    pub in_use: Option<LearnedInUse>,
}

/// What was learned in use of a device, and how sure it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LearnedInUse {
    /// One revolution, ms; 0 while nothing is known to turn.
    pub turn_ms: f64,
    /// Share of the blocks at whose angles it is known when they pass.
    pub known_blocks: f64,
    /// How far off forecasts of times are of late, ms.
    pub error_ms: f64,
    /// How far off distance alone is, ms.
    pub error_by_distance_ms: f64,
    /// Whether requests are ordered by forecasts; else by distance or arrival.
    pub in_use: bool,
    /// Whether they go in order of arrival, since distance gains nothing.
    pub by_arrival: bool,
}

/// A distribution of errors in milliseconds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PredictionError {
    /// The mean of the errors in ms.
    pub mean: f64,
    /// 1st percentile of the error, ms.
    pub p1: f64,
    /// The median of the errors in ms.
    pub p50: f64,
    /// 99th percentile of the error, ms.
    pub p99: f64,
}

/// What one service class got.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Class {
    /// Requests that arrived in the measured time; each is followed to its end.
    pub requests: u64,
    /// Of these, dropped at their hard deadline.
    pub dropped: u64,
    /// Requests that ended in an error, of those that ended.
    pub failed: u64,
    /// Of these, given up while they waited, long after the measured time: their times count as far as they had come. Not there
    /// where there are none.
    #[serde(default, skip_serializing_if = "is_none")]
    pub still_waiting: u64,
    /// Requested bytes of requests that finished in the measured time, over it.
    pub throughput_mb_s: f64,
    /// What the finished requests were worth; 0 where no value is given.
    #[serde(rename = "yield")]
    pub yield_: f64,
    /// Finished after their deadline, or dropped.
    pub missed_deadlines: u64,
    /// Its operations of several requests, each asked for when the one before has ended; not there where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<Operations>,
    /// From arrival to end.
    pub response_ms: Distribution,
    /// From arrival to when its turn came: to the first drive command, but for the slack before its own seek.
    pub waiting_ms: Distribution,
    /// How many responses are of each bucket; buckets are the same in every run, so that histograms may be added.
    pub response_histogram_ms: Vec<Bucket>,
    /// The same of `waiting_ms`.
    pub waiting_histogram_ms: Vec<Bucket>,
    /// What arrivals found left of the drive command in progress; none of a closed workload, whose arrivals are not random.
    pub arrival_wait_ms: Distribution,
    /// Mean time a request's commands waited for the drive's own work: its external waiting time.
    pub external_ms: f64,
    /// Of a scan, 10^6 bytes a second that were read in any order, in rotational delays and idle time; part of the throughput.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_mb_s: Option<f64>,
    /// Where they were found, and what is left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free: Option<FreeWork>,
    /// What of the arm's time it caused; not there where there are several classes and nobody asks for bills.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arm_seconds: Option<ArmSeconds>,
    /// What each replication came to by itself, in order, for runs to be compared in pairs; not part of the JSON.
    #[serde(skip)]
    pub replications: Vec<ReplicationFigures>,
}

/// What operations of several requests came to: one ends with its last request, or with the first that does not end well.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Operations {
    /// Those whose first request arrived in the measured time; each is followed to its end.
    pub count: u64,
    /// Of these, ended by a request that was dropped at the deadline, which is that of the whole operation.
    pub dropped: u64,
    /// Ended by a request that failed.
    pub failed: u64,
    /// Given up while a request of theirs waited, long after the measured time: their times count as far as they had come. Not
    /// there where there are none.
    #[serde(default, skip_serializing_if = "is_none")]
    pub still_waiting: u64,
    /// Finished after the deadline, or dropped.
    pub missed_deadlines: u64,
    /// From the arrival of the first request to the end of the last.
    pub response_ms: Distribution,
}

/// What a class came to in one replication, or in one part of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReplicationFigures {
    /// The mean response time, ms.
    pub mean_ms: f64,
    /// What half of the response times do not exceed, ms.
    pub p50_ms: f64,
    /// What 99 % of the response times do not exceed, ms.
    pub p99_ms: f64,
    /// Requested bytes over time, 10^6 a second.
    pub throughput_mb_s: f64,
}

/// Where the blocks of a scan were found, in 10^6 bytes a second, and what is left of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FreeWork {
    /// In the rotational delay of requests, on the track that the arm was on.
    pub source_mb_s: f64,
    /// In the same, on tracks on the way or beside it.
    pub between_mb_s: f64,
    /// In the same, on the track of the request.
    pub destination_mb_s: f64,
    /// In the slack of seeks that were put off, on the track that the arm was on.
    pub slack_mb_s: f64,
    /// While there were no requests.
    pub idle_mb_s: f64,
    /// In the least part of the arm's time that its class has.
    pub floor_mb_s: f64,
    /// The share that is left at the end of the run.
    pub left_fraction: f64,
    /// Blocks that could not be read.
    pub unreadable_blocks: u64,
    /// How long what is left is thought to take, by how finds dwindled so far; absent where too little was read to say.
    pub eta_seconds: Option<f64>,
}

/// What of the arm's time a class caused, by what it went to, in seconds; of an array, of all its arms. Those of all classes add
/// up to the time with a command in service and that of the drive's write-back without one. A class that is alone has no detours and
/// no slack: it has caused all there is; if it writes, what waits for the drive's own work counts for write-back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ArmSeconds {
    /// Until the head was on the track: command overhead, seek, settling, switches of heads.
    pub seek: f64,
    /// Until the blocks came round.
    pub rotation: f64,
    /// Until they had passed, and the bus had them.
    pub transfer: f64,
    /// Writing back what the drive had buffered.
    pub write_back: f64,
    /// The way back to requests that this class interrupted.
    pub detour: f64,
    /// Commands in the slack before another's seek.
    pub slack: f64,
    /// Where the arm is shared out: how long the device was kept without a command until a seek of the class was due. It counts for
    /// the class's share, and is no part of the time with a command in service.
    #[serde(default, skip_serializing_if = "is_no_time")]
    pub kept: f64,
}

fn is_no_time(seconds: &f64) -> bool {
    *seconds == 0.0
}

impl ArmSeconds {
    /// The sum of all parts.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.seek + self.rotation + self.transfer + self.write_back + self.detour + self.slack
    }
}

impl Class {
    /// Requests that came to a good end.
    #[must_use]
    pub fn requests_finished(&self) -> u64 {
        self.requests - self.dropped - self.failed - self.still_waiting
    }
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

/// A distribution of times in milliseconds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Distribution {
    /// The arithmetic mean, exact.
    pub mean: f64,
    /// Half width of the 95 % confidence interval of the mean: over replications, or over 20 batches of a
    /// single run; absent where there are too few to say.
    pub ci95: Option<f64>,
    /// The median, exact to 0.1 %.
    pub p50: f64,
    /// What 95 % do not exceed.
    pub p95: f64,
    /// What 99 % do not exceed.
    pub p99: f64,
    /// What 99.9 % do not exceed.
    pub p999: f64,
    /// The largest of all, exact.
    pub max: f64,
}

/// So many times below a bound in ms, and not below that of the bucket before: 64 buckets for each doubling, but none narrower than
/// 512 ns. Those with none are left out. Times of nothing have a bucket of their own, whose bound is 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bucket(pub f64, pub u64);

/// Where the time of one disk's arm went; the three shares add up to 1.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Disk {
    /// Share of time with a command in service; times `simulated_seconds`, the time the load spent at the disk.
    pub busy: f64,
    /// Share of time the arm worked for no request: read-ahead, write-back, probes in idle time.
    pub background: f64,
    /// Share of time it did nothing.
    pub idle: f64,
    /// The busy share by what it was spent on (`seek`, `rotation`, …); the parts add up to `busy`.
    pub parts: BTreeMap<String, f64>,
}
