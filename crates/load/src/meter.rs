//! What is measured of a run: responses and waits by class, durations of commands.

mod alone;
mod cached;
mod left;
mod operations;

pub(crate) use operations::OperationServed;

use crate::bills::Bills;
use crate::results::{ArmError, Buffer, Class, Commands, Distribution, PredictionError, ReplicationFigures, Service};
use crate::scan::ScanProgress;
use crate::slices::Slices;
use crate::tally::{P1, P99, Tally};
use crate::wait::half_square;
use block::{BLOCK_BYTES, Ending, Extent, NS_PER_MS, Qos, Span, Time};
use operations::OperationMeter;
use sched::Fill;
use sched::array::CacheTally;
use sched::value::Worth;
use sched::{Found, Tally as Came};

/// Bytes in a megabyte, in which throughput is told, and in a mebibyte, in which memory is.
const MB: f64 = 1e6;
const MIB: f64 = 1_048_576.0;

/// Counts commands that were issued in the measured time, bytes that came in it (in a closed loop as many come of requests from
/// before as are outstanding at the end), and a sample of the requests that arrived in it. Each of the sample counts, however
/// long it takes: under a policy that reorders, those still waiting at the end are those that wait longest.
#[derive(Clone, Debug)]
pub struct Meter {
    classes: Vec<ClassMeter>,
    commands: Tally,
    /// ΣT² of the commands, ns².
    squares: u128,
    from: Time,
    /// The sample: the first so many that arrive, up to a time.
    most: u64,
    until: Time,
    /// Requests that joined the sample, and those of them that have not ended.
    joined: u64,
    awaited: u64,
    /// Requests that arrived since `from` and have ended, in the sample or not.
    served: u64,
    requests: u64,
    /// Whether the measured time is over.
    closed: bool,
    measured: Span,
    /// What the last one that ended was worth.
    last: f64,
    /// What serving in short commands came to.
    service: Option<Came>,
    /// By how much the arm was off, and the sum of by how much it was late, ns.
    arms: Tally,
    late: i128,
    /// How full the write buffer of an array was.
    fill: Option<Fill>,
    /// What the read cache of an array came to.
    cached: Option<CacheTally>,
    /// What of the arm's time each class caused, where that is known.
    bills: Option<Bills>,
    /// What each class came to in each replication, once there are several.
    alone: Vec<Vec<ReplicationFigures>>,
}

/// A request that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Served {
    /// The blocks that were asked for.
    pub at: Extent,
    /// The time of its arrival.
    pub arrived: Time,
    /// When its turn came.
    pub began: Time,
    /// The time of its end.
    pub ended: Time,
    /// Waiting for the drive's own work.
    pub external: Span,
    /// Whether it belongs to the sample.
    pub counts: bool,
    /// The class it counts under, and what it was worth.
    pub qos: Qos,
}

#[derive(Clone, Debug)]
struct ClassMeter {
    name: String,
    worth: Worth,
    yielded: f64,
    response: Tally,
    slices: Slices,
    waiting: Tally,
    /// What arrivals found left of the command in progress.
    found: Tally,
    external: Span,
    bytes: u64,
    requests: u64,
    dropped: u64,
    failed: u64,
    still_waiting: u64,
    missed: u64,
    /// Its operations, where its requests are parts of such.
    operations: Option<Box<OperationMeter>>,
    /// How far its scan has come, if it has one.
    scan: Option<Box<ScanProgress>>,
}

impl ClassMeter {
    /// Of a single run the slices say how sure the mean is; of several, the runs do.
    fn response_ms(&self) -> Distribution {
        let times = self.response.distribution();
        if self.response.is_merged() || !self.slices.is_told() {
            return times;
        }
        Distribution { ci95: self.slices.ci95_ns().map(|ns| ns / NS_PER_MS), ..times }
    }

    #[inline]
    fn add_times(&mut self, it: &Served) {
        self.response.add(it.ended.since(it.arrived));
        self.waiting.add(it.began.min(it.ended).since(it.arrived));
        self.external += it.external;
    }
}

impl Meter {
    /// A meter for these classes, by name and what their requests are worth, that counts from `from` on.
    #[must_use]
    pub fn new(classes: impl Iterator<Item = (String, Worth)>, from: Time) -> Meter {
        let class = |(name, worth)| ClassMeter {
            name,
            worth,
            yielded: 0.0,
            response: Tally::default(),
            slices: Slices::default(),
            waiting: Tally::default(),
            found: Tally::default(),
            external: Span::ZERO,
            bytes: 0,
            requests: 0,
            dropped: 0,
            failed: 0,
            still_waiting: 0,
            missed: 0,
            operations: None,
            scan: None,
        };
        Meter {
            classes: classes.map(class).collect(),
            commands: Tally::default(),
            squares: 0,
            from,
            most: u64::MAX,
            until: Time::NEVER,
            joined: 0,
            awaited: 0,
            served: 0,
            requests: 0,
            closed: false,
            measured: Span::ZERO,
            last: 0.0,
            service: None,
            arms: Tally::default(),
            late: 0,
            fill: None,
            cached: None,
            bills: None,
            alone: Vec::new(),
        }
    }

    /// Since when it counts.
    #[must_use]
    #[inline]
    pub fn from(&self) -> Time {
        self.from
    }

    /// It counts from `from` on; the sample are the first `most` requests that arrive then, up to `until`.
    pub fn begin(&mut self, from: Time, most: Option<u64>, until: Option<Time>) {
        (self.from, self.served) = (from, 0);
        (self.most, self.until) = (most.unwrap_or(u64::MAX), until.unwrap_or(Time::NEVER));
    }

    /// A request of a class arrived at `arrived`: whether it belongs to the sample.
    #[inline]
    pub fn joins(&mut self, class: u8, arrived: Time) -> bool {
        self.classes[usize::from(class)].slices.add(arrived);
        let joins = arrived >= self.from && arrived <= self.until && self.joined < self.most;
        self.joined += u64::from(joins);
        self.awaited += u64::from(joins);
        joins
    }

    /// Whether a request of the sample has not ended, or, with the next one due then, may still come.
    #[must_use]
    #[inline]
    pub fn awaits(&self, due: Option<Time>) -> bool {
        self.awaited > 0 || due.is_some_and(|due| self.is_open_at(due))
    }

    /// Whether requests that are due then, or later, may still join the sample.
    #[must_use]
    #[inline]
    pub fn is_open_at(&self, due: Time) -> bool {
        self.joined < self.most && due <= self.until
    }

    /// Requests that arrived since it counts and have ended.
    #[must_use]
    #[inline]
    pub fn requests_served(&self) -> u64 {
        self.served
    }

    /// How many requests were counted.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Time measured, all replications together.
    #[must_use]
    pub fn time_measured(&self) -> Span {
        self.measured
    }

    /// A request of a class arrived at `now`, with so much left of the command in progress.
    pub fn add_arrival(&mut self, class: u8, now: Time, left: Span) {
        if now >= self.from && !self.closed {
            self.classes[usize::from(class)].found.add(left);
        }
    }

    /// What serving in short commands came to.
    pub fn set_service(&mut self, came: Came) {
        self.service = Some(came);
    }

    /// How full the write buffer of an array was.
    pub fn set_fill(&mut self, fill: Fill) {
        self.fill = Some(fill);
    }

    /// What of the arm's time each class caused.
    pub fn set_bills(&mut self, bills: Bills) {
        self.bills = Some(bills);
    }

    /// How long each class kept the device without a command until its seek was due.
    pub fn set_time_kept(&mut self, kept: &[Span]) {
        if let Some(bills) = &mut self.bills {
            bills.keep(kept);
        }
    }

    /// Whether all requests are of one class.
    #[must_use]
    pub fn has_one_class(&self) -> bool {
        self.classes.len() == 1
    }

    /// What of the arm's time each class caused, where that is known: where there is one, or bills were asked for.
    #[must_use]
    pub fn bills(&self) -> Option<&Bills> {
        self.bills.as_ref()
    }

    /// The measured time ends; what has joined the sample is followed further.
    pub fn close(&mut self, until: Time) {
        self.measured = until.since(self.from);
        (self.until, self.closed) = (self.until.min(until), true);
    }

    /// A scan of so many blocks, in units of so many, counts for a class.
    pub fn begin_scan(&mut self, class: u8, blocks: u64, unit: u32) {
        self.classes[usize::from(class)].scan = Some(Box::new(ScanProgress::new(blocks, unit)));
    }

    /// Blocks of the scan were read. Says whether it is over.
    pub fn add_scanned(&mut self, now: Time, at: Extent, found: Found) -> bool {
        let counts = now >= self.from && !self.closed;
        let Some(class) = self.classes.iter_mut().find(|class| class.scan.is_some()) else { return true };
        if counts && found != Found::Unreadable {
            class.bytes += at.bytes();
        }
        let Some(scan) = &mut class.scan else { return true };
        if counts {
            scan.count(at, found);
        }
        scan.add(now, at, found);
        scan.is_done()
    }

    /// How far its scan has come, if there is one.
    #[must_use]
    pub fn scan(&self) -> Option<&ScanProgress> {
        self.classes.iter().find_map(|class| class.scan.as_deref())
    }

    /// What a reader must know of scans.
    pub fn scan_notes(&self) -> impl Iterator<Item = String> {
        self.classes.iter().filter_map(|class| Some(class.scan.as_ref()?.note(&class.name)))
    }

    /// A command took from `issued` to `ended`.
    #[inline]
    pub fn command(&mut self, issued: Time, ended: Time) {
        if issued >= self.from && !self.closed {
            let took = ended.since(issued);
            self.commands.add(took);
            self.squares += u128::from(took.0) * u128::from(took.0);
        }
    }

    /// The arm came so many ns later than was believed for a command issued at `issued`.
    pub fn arm(&mut self, issued: Time, late: i64) {
        if issued >= self.from && !self.closed {
            self.arms.add(Span(late.unsigned_abs()));
            self.late += i128::from(late);
        }
    }

    /// A request of a class has ended.
    #[inline]
    pub fn add_ended(&mut self, it: &Served, how: Ending) {
        let class = &mut self.classes[usize::from(it.qos.class)];
        self.last = match how {
            Ending::Finished => class.worth.at(it.at.blocks, &it.qos, it.arrived, it.ended),
            Ending::Failed(_) | Ending::Dropped => 0.0,
        };
        if how == Ending::Finished && it.ended >= self.from && !self.closed {
            class.bytes += it.at.bytes();
        }
        match how == Ending::Finished && it.ended >= self.from && !self.closed {
            true => class.slices.remove(it.arrived, it.ended),
            false => _ = class.slices.remove_uncounted(it.arrived),
        }
        self.served += u64::from(it.arrived >= self.from);
        if !it.counts {
            return;
        }
        self.awaited = self.awaited.saturating_sub(1);
        self.requests += 1;
        class.requests += 1;
        class.missed +=
            u64::from(how == Ending::Dropped || it.qos.deadline.is_some_and(|deadline| it.ended > deadline));
        match how {
            Ending::Finished => {
                class.add_times(it);
                class.yielded += self.last;
            }
            Ending::Failed(_) => class.failed += 1,
            Ending::Dropped => class.dropped += 1,
        }
    }

    /// What the last request that ended was worth.
    #[must_use]
    pub fn last_worth(&self) -> f64 {
        self.last
    }

    /// Adds another replication of the same run.
    pub fn merge(&mut self, other: &Meter) {
        if self.alone.is_empty() {
            self.alone.push(self.figures());
        }
        self.alone.push(other.figures());
        self.requests += other.requests;
        self.served += other.served;
        self.measured += other.measured;
        self.squares += other.squares;
        self.commands.merge(&other.commands);
        self.arms.merge(&other.arms);
        self.late += other.late;
        match (&mut self.service, &other.service) {
            (Some(service), Some(other)) => service.merge(other),
            (service, other) => *service = service.take().or_else(|| other.clone()),
        }
        match (&mut self.fill, &other.fill) {
            (Some(fill), Some(other)) => fill.merge(other),
            (fill, other) => *fill = fill.take().or_else(|| other.clone()),
        }
        self.merge_cached(other);
        if let (Some(bills), Some(other)) = (&mut self.bills, &other.bills) {
            bills.merge(other);
        }
        for (class, other) in self.classes.iter_mut().zip(&other.classes) {
            class.response.merge(&other.response);
            class.waiting.merge(&other.waiting);
            class.found.merge(&other.found);
            class.external += other.external;
            class.yielded += other.yielded;
            class.bytes += other.bytes;
            class.requests += other.requests;
            class.dropped += other.dropped;
            class.failed += other.failed;
            class.still_waiting += other.still_waiting;
            class.missed += other.missed;
            if let (Some(operations), Some(other)) = (&mut class.operations, &other.operations) {
                operations.merge(other);
            }
            if let (Some(scan), Some(other)) = (&mut class.scan, &other.scan) {
                scan.merge(other);
            }
        }
    }

    /// Megabytes a second of all classes.
    #[must_use]
    pub fn throughput_mb_s(&self) -> f64 {
        self.rate(self.classes.iter().map(|class| class.bytes).sum())
    }

    /// What an arrival would wait for the command in progress: ½ΣT²/(ΣT + slack) in ms (Virtual IO, Eq. 2; slack lets
    /// an arrival in at once, as in its example).
    #[must_use]
    pub fn expected_wait_ms(&self) -> f64 {
        let slack = self.service.as_ref().map_or(0, |service| service.slack.0) as f64;
        let sum = self.commands.mean_ns() * self.commands.count() as f64 + slack;
        half_square(self.squares as f64, sum) / NS_PER_MS
    }

    /// How long commands took.
    #[must_use]
    pub fn commands(&self) -> Commands {
        Commands {
            count: self.commands.count(),
            mean_ms: self.commands.mean_ns() / NS_PER_MS,
            p99_ms: self.commands.quantile_ms(P99),
            max_ms: self.commands.max_ms(),
            histogram: self.commands.histogram_ms(),
        }
    }

    /// What serving in short commands came to, where requests were served so.
    #[must_use]
    pub fn service(&self) -> Option<Service> {
        let came = self.service.as_ref()?;
        Some(Service {
            slack_fraction: came.slack.0 as f64 / self.measured.0.max(1) as f64,
            preemptions: came.preemptions,
            cascades: came.cascades,
            jit_seeks: came.jit_seeks,
            late: came.late,
            cached: came.cached,
            sub_seeks: came.sub_seeks,
            prefetched_mb_s: self.rate(came.prefetched * BLOCK_BYTES),
            prefetched_used_mb_s: self.rate(came.prefetched_used * BLOCK_BYTES),
            arm_error_ms: (self.arms.count() > 0).then(|| ArmError {
                count: self.arms.count(),
                mean: self.late as f64 / self.arms.count() as f64 / NS_PER_MS,
                p50: self.arms.quantile_ms(0.5),
                p99: self.arms.quantile_ms(P99),
            }),
            prediction_error_ms: PredictionError {
                mean: came.errors.mean_ms(),
                p1: came.errors.quantile_ms(P1),
                p50: came.errors.quantile_ms(0.5),
                p99: came.errors.quantile_ms(P99),
            },
        })
    }

    /// How full the write buffer was, where there is one.
    #[must_use]
    pub fn buffer(&self) -> Option<Buffer> {
        let fill = self.fill.as_ref()?;
        let mib = |blocks: u64| (blocks * BLOCK_BYTES) as f64 / MIB;
        Some(Buffer {
            most_mib: mib(fill.most),
            p99_mib: mib(fill.quantile(P99).min(fill.most)),
            p50_mib: mib(fill.quantile(0.5).min(fill.most)),
            full_fraction: fill.full.0 as f64 / self.measured.0.max(1) as f64,
            blocked: fill.blocked,
            lost: fill.lost,
        })
    }

    /// What each class got.
    pub fn classes(&self) -> impl Iterator<Item = (String, Class)> {
        self.classes.iter().enumerate().map(|(number, class)| {
            let got = Class {
                requests: class.requests,
                dropped: class.dropped,
                failed: class.failed,
                still_waiting: class.still_waiting,
                throughput_mb_s: self.rate(class.bytes),
                yield_: class.yielded,
                missed_deadlines: class.missed,
                operations: class.operations.as_ref().map(|operations| operations.results()),
                response_ms: class.response_ms(),
                waiting_ms: class.waiting.distribution(),
                response_histogram_ms: class.response.buckets(),
                waiting_histogram_ms: class.waiting.buckets(),
                arrival_wait_ms: class.found.distribution(),
                external_ms: class.external.as_ms() / class.response.count().max(1) as f64,
                free_mb_s: class.scan.as_ref().map(|scan| self.rate(scan.bytes())),
                free: class.scan.as_ref().map(|scan| scan.results(self.measured)),
                arm_seconds: self.bills.as_ref().map(|bills| bills.seconds(number)),
                replications: self.alone.iter().map(|classes| classes[number]).collect(),
            };
            (class.name.clone(), got)
        })
    }

    fn rate(&self, bytes: u64) -> f64 {
        if self.measured == Span::ZERO { 0.0 } else { bytes as f64 / MB / self.measured.as_secs() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::{Lbn, errno};

    const MS: u64 = 1_000_000;

    fn meter(from_ms: u64) -> Meter {
        Meter::new([("a".to_owned(), Worth::USUAL)].into_iter(), Time(from_ms * MS))
    }

    /// A request of 10 blocks, by when it arrived, began and ended.
    fn served(meter: &mut Meter, [arrived, began, ended]: [u64; 3]) -> Served {
        let (arrived, began, ended) = (Time(arrived * MS), Time(began * MS), Time(ended * MS));
        let counts = meter.joins(0, arrived);
        let at = Extent { start: Lbn(0), blocks: 10 };
        let qos = Qos { class: 0, priority: 0, deadline: Some(arrived + Span(50 * MS)) };
        Served { at, arrived, began, ended, external: Span(2 * MS), counts, qos }
    }

    #[test]
    fn the_sample_is_what_arrives_in_the_measured_time_and_bytes_are_what_ends_in_it() {
        let mut meter = meter(100);
        meter.begin(Time(100 * MS), None, Some(Time(200 * MS)));
        let times = [[90, 95, 120], [100, 110, 150], [150, 150, 210], [200, 230, 260], [201, 240, 270]];
        let all = times.map(|one| served(&mut meter, one));
        assert_eq!(all.map(|one| one.counts), [false, true, true, true, false]);
        assert!(meter.awaits(None));
        all[..2].iter().for_each(|one| meter.add_ended(one, Ending::Finished));
        assert_eq!((meter.requests_served(), meter.requests()), (1, 1));
        meter.close(Time(200 * MS));
        all[2..].iter().for_each(|one| meter.add_ended(one, Ending::Finished));
        assert!(!meter.awaits(Some(Time(201 * MS))) && meter.awaits(Some(Time(200 * MS))));
        let (_, class) = meter.classes().next().unwrap();
        assert_eq!((class.requests, class.requests_finished(), class.missed_deadlines), (3, 3, 2));
        assert!((class.response_ms.mean - (50.0 + 60.0 + 60.0) / 3.0).abs() < 1e-9);
        assert!((class.waiting_ms.mean - (10.0 + 0.0 + 30.0) / 3.0).abs() < 1e-9);
        assert!((class.external_ms - 2.0).abs() < 1e-9);
        assert_eq!(meter.time_measured(), Span(100 * MS));
        assert!((meter.throughput_mb_s() - 2.0 * 5120.0 / NS_PER_MS / 0.1).abs() < 1e-9, "two ended in it");
    }

    #[test]
    fn the_sample_ends_after_as_many_as_were_asked_for() {
        let mut meter = meter(0);
        meter.begin(Time::ZERO, Some(2), None);
        let all = [[1, 1, 9], [2, 2, 5], [3, 3, 4]].map(|one| served(&mut meter, one));
        assert_eq!(all.map(|one| one.counts), [true, true, false]);
        meter.add_ended(&all[2], Ending::Finished);
        meter.add_ended(&all[1], Ending::Finished);
        assert_eq!((meter.requests_served(), meter.requests(), meter.awaits(None)), (2, 1, true));
        meter.add_ended(&all[0], Ending::Finished);
        assert_eq!((meter.requests(), meter.awaits(None)), (2, false));
    }

    #[test]
    fn what_did_not_end_well_has_no_response_time() {
        let mut meter = meter(0);
        let all = [[0, 1, 10], [0, 1, 20], [0, 1, 30], [0, 1, 60]].map(|one| served(&mut meter, one));
        meter.add_ended(&all[0], Ending::Finished);
        meter.add_ended(&all[1], Ending::Dropped);
        meter.add_ended(&all[2], Ending::Failed(errno::EIO));
        meter.give_up(&all[3]);
        let (_, class) = meter.classes().next().unwrap();
        let lost = (class.dropped, class.failed, class.still_waiting, class.missed_deadlines);
        assert_eq!((class.requests, class.requests_finished(), lost), (4, 1, (1, 1, 1, 2)));
        assert!((class.response_ms.mean - 35.0).abs() < 1e-9, "10 ms, and 60 at least");
        assert!(meter.note().unwrap().starts_with("a: some requests still waited"));
    }

    #[test]
    fn an_arrival_waits_for_half_of_the_squares_of_commands_over_their_sum() {
        let mut meter = meter(10);
        [(9, 15), (10, 14), (20, 22)].iter().for_each(|(from, to)| meter.command(Time(from * MS), Time(to * MS)));
        // 4 and 2 ms: (16 + 4) / 2 / 6.
        assert!((meter.expected_wait_ms() - 10.0 / 6.0).abs() < 1e-9);
        assert_eq!((meter.commands().count, meter.commands().mean_ms, meter.commands().max_ms), (2, 3.0, 4.0));
        meter.add_arrival(0, Time(9 * MS), Span(7 * MS));
        [3, 5].iter().for_each(|left| meter.add_arrival(0, Time(10 * MS), Span(left * MS)));
        assert_eq!(meter.classes().next().unwrap().1.arrival_wait_ms.mean, 4.0);
    }
}
