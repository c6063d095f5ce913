//! Kyber, Linux's scheduler for fast devices (block/kyber-iosched.c of Linux 6.6): reads, writes and discards have a depth each,
//! and one that is late for its target gets more of the device at the cost of those that are not.
//!
//! Times of what ended are sorted into eight buckets of a quarter of the target; every 100 ms, where a 90th percentile in the device
//! misses its target, depths are scaled by the 99th percentile from arrival to end. Linux's tokens of asynchronous requests, which
//! nothing here tells from others, are left out.

use super::fcfs::Fcfs;
use super::in_service::InService;
use super::{Beside, Kind, Manual, Needs, Policy};
use crate::predict::Predictor;
use crate::{Job, JobId, Jobs};
use block::{BadInput, Op, Span, Time};
use config::{Key, Section};

const READ_LAT: Key<Span> =
    Key::<Span>::span("read_lat").usually("2ms").about("The target of reads, as Linux's `read_lat_nsec`.");
const WRITE_LAT: Key<Span> =
    Key::<Span>::span("write_lat").usually("10ms").about("The target of writes, as Linux's `write_lat_nsec`.");

/// Reads, writes and discards, apart.
const DOMAINS: usize = 3;
/// What each may have in the device at most, and in a row.
const DEPTHS: [u32; DOMAINS] = [256, 128, 64];
const BATCHES: [u32; DOMAINS] = [16, 8, 1];
/// The target of discards, which Linux lets nobody set.
const DISCARD_LAT: Span = Span(5_000_000_000);
/// Buckets, of which the lower half is within the target.
const BUCKETS: usize = 8;
const GOOD: usize = BUCKETS / 2;
/// How often depths are adjusted, and how many times make a percentile, unless a second has passed.
const PERIOD: Span = Span(100_000_000);
const SAMPLES: u32 = 500;
const PATIENCE: Span = Span(1_000_000_000);

/// The values of its keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    targets: [Span; DOMAINS],
}

impl Kind for Settings {
    const MANUAL: Manual = Manual {
        name: "kyber",
        text: "What Linux has for fast devices (block/kyber-iosched.c of Linux 6.6): first come, first served among reads and among writes, so many of each in the drive as keeps the other within its target. It knows nothing of where blocks lie. Give the drive a `queue`; without one it comes to batches of reads and writes.",
        keys: &[READ_LAT.about, WRITE_LAT.about],
        example: "policy = \"kyber\"\nread_lat = \"20ms\"",
        needs: Needs::Nothing,
    };

    fn read(scheduler: &Section) -> Result<Settings, BadInput> {
        Ok(Settings { targets: [scheduler.value(&READ_LAT)?, scheduler.value(&WRITE_LAT)?, DISCARD_LAT] })
    }

    fn make<P: Predictor + 'static>(&self, _: &Beside) -> Box<dyn Policy<P>> {
        let domain = |target: Span, depth: u32| Domain {
            target,
            most: depth,
            depth,
            waiting: Fcfs::new(),
            held: 0,
            inside: 0,
            in_all: [0; BUCKETS],
            in_device: [0; BUCKETS],
            patience: None,
            p99: None,
        };
        let [reads, writes, discards] = [0, 1, 2].map(|at| domain(self.targets[at], DEPTHS[at]));
        let domains = [reads, writes, discards];
        Box::new(Kyber { domains, in_service: InService::default(), current: 0, batched: 0, due: None })
    }
}

/// What is known of reads, of writes, or of discards.
struct Domain {
    target: Span,
    most: u32,
    depth: u32,
    waiting: Fcfs,
    held: u32,
    inside: u32,
    /// How many took so long from arrival to end, and of that in the device, by bucket.
    in_all: [u32; BUCKETS],
    in_device: [u32; BUCKETS],
    /// When a percentile is taken of however few there are; Linux has one for both.
    patience: Option<Time>,
    /// The bucket of the last 99th percentile that no adjustment has used.
    p99: Option<usize>,
}

struct Kyber {
    domains: [Domain; DOMAINS],
    /// By domain, and since when.
    in_service: InService<Time>,
    current: usize,
    batched: u32,
    /// When depths are adjusted next; only once something ended.
    due: Option<Time>,
}

fn domain_of(op: Op) -> usize {
    match op {
        Op::Read | Op::Repair => 0,
        Op::Write { .. } | Op::Flush | Op::Move => 1,
        Op::Discard(_) => 2,
    }
}

/// The bucket of a time.
fn bucket(time: Span, target: Span) -> usize {
    let quarter = (target.0 / GOOD as u64).max(1);
    (time.0.saturating_sub(1) / quarter).min(BUCKETS as u64 - 1) as usize
}

/// The bucket in which a percentile lies, once there are enough times; they are then forgotten.
fn percentile(counts: &mut [u32; BUCKETS], patience: &mut Option<Time>, now: Time, percent: u32) -> Option<usize> {
    let all: u32 = counts.iter().sum();
    if all == 0 {
        return None;
    }
    let until = *patience.get_or_insert(now + PATIENCE);
    if all < SAMPLES && now < until {
        return None;
    }
    *patience = None;
    let mut left = (all * percent).div_ceil(100);
    let found = counts[..BUCKETS - 1].iter().position(|count| {
        let here = *count >= left;
        left = left.saturating_sub(*count);
        here
    });
    *counts = [0; BUCKETS];
    Some(found.unwrap_or(BUCKETS - 1))
}

impl Kyber {
    /// Adjusts depths, if it is time.
    fn pass(&mut self, now: Time) {
        if self.due.is_none_or(|due| now < due) {
            return;
        }
        self.due = None;
        let mut congested = false;
        for domain in &mut self.domains {
            let p90 = percentile(&mut domain.in_device, &mut domain.patience, now, 90);
            congested |= p90.is_some_and(|bucket| bucket >= GOOD);
        }
        for domain in &mut self.domains {
            let mut p99 = percentile(&mut domain.in_all, &mut domain.patience, now, 99);
            if congested {
                // Each counts once: it is not held against a domain again until there are new times.
                let kept = domain.p99.take();
                p99 = p99.or(kept);
            } else if p99.is_some() {
                domain.p99 = p99;
            }
            if let Some(bucket) = p99.filter(|bucket| congested || *bucket >= GOOD) {
                domain.depth = (domain.depth * (bucket as u32 + 1) / GOOD as u32).clamp(1, domain.most);
            }
        }
    }

    /// The next one of the domain whose batch it is, if that may have more in the device.
    fn take_current<S: Copy>(&mut self, now: Time, jobs: &Jobs<S>) -> Option<JobId> {
        let current = self.current;
        let domain = &mut self.domains[current];
        if domain.held == 0 || domain.inside >= domain.depth {
            return None;
        }
        let id = domain.waiting.front(jobs, |job| domain_of(job.op) == current)?;
        domain.waiting.pop();
        domain.held -= 1;
        domain.inside += 1;
        self.batched += 1;
        self.in_service.add(jobs.get(id)?.sequence, current, now);
        Some(id)
    }

    /// One is no longer in the device: which domain it was of, and since when it was there.
    fn cease(&mut self, sequence: u64) -> Option<(usize, Time)> {
        let (domain, since) = self.in_service.remove(sequence)?;
        self.domains[domain].inside -= 1;
        Some((domain, since))
    }
}

impl<P: Predictor> Policy<P> for Kyber {
    fn add(&mut self, id: JobId, job: &Job<P::Spot>, _: &P) {
        self.cease(job.sequence);
        let domain = &mut self.domains[domain_of(job.op)];
        domain.waiting.push(id, job);
        domain.held += 1;
    }

    fn remove(&mut self, _: JobId, job: &Job<P::Spot>, _: &P) {
        self.domains[domain_of(job.op)].held -= 1;
    }

    fn take(&mut self, now: Time, jobs: &Jobs<P::Spot>, _: &P) -> Option<JobId> {
        self.pass(now);
        if self.batched < BATCHES[self.current]
            && let Some(id) = self.take_current(now, jobs)
        {
            return Some(id);
        }
        self.batched = 0;
        for _ in 0..DOMAINS {
            self.current = (self.current + 1) % DOMAINS;
            if let Some(id) = self.take_current(now, jobs) {
                return Some(id);
            }
        }
        None
    }

    fn follows_service(&self) -> bool {
        true
    }

    fn end(&mut self, now: Time, job: &Job<P::Spot>) {
        self.pass(now);
        let Some((domain, since)) = self.cease(job.sequence) else { return };
        let domain = &mut self.domains[domain];
        domain.in_all[bucket(now.since(job.arrived), domain.target)] += 1;
        domain.in_device[bucket(now.since(since), domain.target)] += 1;
        self.due.get_or_insert(now + PERIOD);
    }
}
