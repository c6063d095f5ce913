//! mq-deadline, the usual scheduler of disks under Linux (block/mq-deadline.c of Linux 6.6).
//!
//! Reads and writes wait apart, each in the order of their blocks and in the order in which they came. Batches of one direction
//! go upwards from the last; a new batch begins with what has waited past its time, reads before writes, until writes were passed
//! over a few times. Requests are not merged here, as the block layer would before.

use super::fcfs::Fcfs;
use super::in_service::InService;
use super::{Beside, Kind, Manual, Needs, Policy, by_lbn};
use crate::ordered::Ordered;
use crate::predict::Predictor;
use crate::{Job, JobId, Jobs};
use block::{BadInput, Direction, Span, Time};
use config::{Key, Section};

const READ_EXPIRE: Key<Span> =
    Key::<Span>::span("read_expire").usually("500ms").about("After so long a read is late: the next batch begins with it.");
const WRITE_EXPIRE: Key<Span> =
    Key::<Span>::span("write_expire").usually("5s").about("After so long a write is late: the next batch begins with it.");
const FIFO_BATCH: Key<u32> =
    Key::<u32>::within("fifo_batch", 0, 65_536).usually("16").about("So many requests go upwards before it looks for late ones.");
const WRITES_STARVED: Key<u32> = Key::<u32>::within("writes_starved", 0, 65_536)
    .usually("2")
    .about("How often a batch of reads may begin before waiting writes.");
const PRIO_AGING_EXPIRE: Key<Span> = Key::<Span>::span("prio_aging_expire")
    .usually("10s")
    .about("What has waited so long behind requests of a higher priority goes before them.");

/// The values of its keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    expire: [Span; 2],
    fifo_batch: u32,
    writes_starved: u32,
    prio_aging_expire: Span,
}

impl Kind for Settings {
    const MANUAL: Manual = Manual {
        name: "mq-deadline",
        text: "What Linux does with most disks (block/mq-deadline.c of Linux 6.6): batches of reads or of writes in order of block number, reads first, and none waits much past its time. Requests of a higher `priority` go before all others, as those of ioprio classes do; while one is in the drive, no lesser one follows it. It does not merge requests.",
        keys: &[
            READ_EXPIRE.about,
            WRITE_EXPIRE.about,
            FIFO_BATCH.about,
            WRITES_STARVED.about,
            PRIO_AGING_EXPIRE.about,
        ],
        example: "policy = \"mq-deadline\"\nread_expire = \"100ms\"",
        needs: Needs::Nothing,
    };
    const HEEDS_PRIORITY: bool = true;

    fn read(scheduler: &Section) -> Result<Settings, BadInput> {
        Ok(Settings {
            expire: [scheduler.value(&READ_EXPIRE)?, scheduler.value(&WRITE_EXPIRE)?],
            fifo_batch: scheduler.value(&FIFO_BATCH)?,
            writes_starved: scheduler.value(&WRITES_STARVED)?,
            prio_aging_expire: scheduler.value(&PRIO_AGING_EXPIRE)?,
        })
    }

    fn make<P: Predictor + 'static>(&self, _: &Beside) -> Box<dyn Policy<P>> {
        let in_service = InService::default();
        let last = Direction::Read;
        Box::new(MqDeadline { settings: *self, levels: Vec::new(), in_service, last, batched: 0, starved: 0 })
    }
}

/// What waits of one priority and direction.
struct OneWay {
    by_block: Ordered,
    oldest: Fcfs,
    /// Where the last one began: the next is looked for from there on.
    last: u64,
}

/// What waits of one priority.
struct PriorityLevel {
    priority: u8,
    /// Its reads, then its writes.
    waiting: [OneWay; 2],
}

struct MqDeadline {
    settings: Settings,
    /// The highest priority first.
    levels: Vec<PriorityLevel>,
    in_service: InService,
    /// The direction of the batch under way, and how many it has had.
    last: Direction,
    batched: u32,
    /// Batches of reads that began while writes waited.
    starved: u32,
}

impl OneWay {
    fn new() -> OneWay {
        OneWay { by_block: Ordered::new(), oldest: Fcfs::new(), last: 0 }
    }

    /// The first one from where the last began.
    fn next(&self) -> Option<JobId> {
        Some(self.by_block.at(self.by_block.at_or_after(self.last)?).id)
    }
}

impl PriorityLevel {
    fn is_empty(&self) -> bool {
        self.waiting.iter().all(|waiting| waiting.by_block.is_empty())
    }

    /// The one of a direction that came first.
    fn oldest<S: Copy>(&mut self, way: Direction, jobs: &Jobs<S>) -> Option<JobId> {
        let priority = self.priority;
        let here = |job: &Job<S>| job.qos.priority == priority && job.op.direction() == way;
        self.waiting[way as usize].oldest.front(jobs, here)
    }
}

impl MqDeadline {
    fn level(&mut self, priority: u8) -> &mut PriorityLevel {
        let at = match self.levels.binary_search_by(|level| priority.cmp(&level.priority)) {
            Ok(at) => at,
            Err(at) => {
                self.levels.insert(at, PriorityLevel { priority, waiting: [OneWay::new(), OneWay::new()] });
                at
            }
        };
        &mut self.levels[at]
    }

    /// Whether anything of a level waits or is in the device.
    fn is_busy(&self, level: usize) -> bool {
        let level = &self.levels[level];
        !level.is_empty() || self.in_service.count(usize::from(level.priority)) > 0
    }

    /// Whether the one of a direction that came first is late.
    fn is_late<S: Copy>(&mut self, level: usize, way: Direction, now: Time, jobs: &Jobs<S>) -> bool {
        let expire = self.settings.expire[way as usize];
        let oldest = self.levels[level].oldest(way, jobs).and_then(|id| jobs.get(id));
        oldest.is_some_and(|job| job.arrived + expire <= now)
    }

    /// The direction of the next batch of a level.
    fn choose_direction(&mut self, level: usize) -> Option<Direction> {
        let [reads, writes] = [0, 1].map(|way| !self.levels[level].waiting[way].by_block.is_empty());
        match (reads, writes) {
            (false, false) => None,
            (true, false) => Some(Direction::Read),
            (true, true) if self.starved < self.settings.writes_starved => {
                self.starved += 1;
                Some(Direction::Read)
            }
            (_, true) => {
                self.starved = 0;
                Some(Direction::Write)
            }
        }
    }

    /// The next one of a level that came at `latest` or before.
    fn dispatch<S: Copy>(&mut self, level: usize, now: Time, latest: Time, jobs: &Jobs<S>) -> Option<JobId> {
        let in_batch = self.levels[level].waiting[self.last as usize].next();
        let (id, way) = match in_batch.filter(|_| self.batched < self.settings.fifo_batch) {
            Some(id) => (id, self.last),
            None => {
                let way = self.choose_direction(level)?;
                let late = self.is_late(level, way, now, jobs);
                let next = self.levels[level].waiting[way as usize].next().filter(|_| !late);
                let id = next.or_else(|| self.levels[level].oldest(way, jobs))?;
                (self.last, self.batched) = (way, 0);
                (id, way)
            }
        };
        let job = jobs.get(id).filter(|job| job.arrived <= latest)?;
        self.batched += 1;
        let waiting = &mut self.levels[level].waiting[way as usize];
        waiting.by_block.remove(job.rest().start.0, job.sequence);
        waiting.last = job.rest().start.0;
        self.in_service.add(job.sequence, usize::from(job.qos.priority), ());
        Some(id)
    }
}

impl<P: Predictor> Policy<P> for MqDeadline {
    fn add(&mut self, id: JobId, job: &Job<P::Spot>, _: &P) {
        self.in_service.remove(job.sequence);
        let waiting = &mut self.level(job.qos.priority).waiting[job.op.direction() as usize];
        waiting.by_block.add(by_lbn(id, job));
        waiting.oldest.push(id, job);
    }

    fn remove(&mut self, _: JobId, job: &Job<P::Spot>, _: &P) {
        let waiting = &mut self.level(job.qos.priority).waiting[job.op.direction() as usize];
        waiting.by_block.remove(job.rest().start.0, job.sequence);
    }

    fn take(&mut self, now: Time, jobs: &Jobs<P::Spot>, _: &P) -> Option<JobId> {
        let busy = (0..self.levels.len()).filter(|level| self.is_busy(*level)).count();
        let aged = Time(now.0.saturating_sub(self.settings.prio_aging_expire.0));
        // Of what has waited that long there can be none before; nothing comes before time zero.
        if busy > 1 && aged > Time::ZERO {
            let found = (1..self.levels.len()).find_map(|level| self.dispatch(level, now, aged, jobs));
            if found.is_some() {
                return found;
            }
        }
        for level in 0..self.levels.len() {
            let found = self.dispatch(level, now, now, jobs);
            if found.is_some() || self.is_busy(level) {
                return found;
            }
        }
        None
    }

    fn follows_service(&self) -> bool {
        true
    }

    fn end(&mut self, _: Time, job: &Job<P::Spot>) {
        self.in_service.remove(job.sequence);
    }
}
