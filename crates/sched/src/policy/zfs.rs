//! The I/O scheduler of OpenZFS (module/zfs/vdev_queue.c of OpenZFS 2.2): a queue for each kind of I/O, each with a least and a
//! most of what it may have in the device.
//!
//! A kind that has less than its least in the device goes first, all such in turn; then the first kind, by urgency, that has less
//! than its most. While anything interactive is in the device, scrubs may have no more than a credit, which grows back as
//! interactive requests end. Adjacent requests are not joined here, as ZFS would.

use super::fcfs::Fcfs;
use super::in_service::InService;
use super::{Beside, Kind, Manual, Needs, Policy, by_lbn};
use crate::ordered::Ordered;
use crate::predict::Predictor;
use crate::{Job, JobId, Jobs};
use block::{BadInput, Direction, Time};
use config::{Key, Section};

/// The kinds, the most urgent first; their places in the tables below.
const SYNC_READ: usize = 0;
const SYNC_WRITE: usize = 1;
const ASYNC_READ: usize = 2;
const ASYNC_WRITE: usize = 3;
const SCRUB: usize = 4;
const KINDS: usize = 5;

/// The priorities of classes from which on a request is synchronous, or at least not a scrub.
const SYNC: u8 = 2;
const ASYNC: u8 = 1;

const SYNC_READ_MIN: Key<u32> = active("sync_read_min_active", "10");
const SYNC_READ_MAX: Key<u32> = active("sync_read_max_active", "10");
const SYNC_WRITE_MIN: Key<u32> = active("sync_write_min_active", "10");
const SYNC_WRITE_MAX: Key<u32> = active("sync_write_max_active", "10");
const ASYNC_READ_MIN: Key<u32> = active("async_read_min_active", "1");
const ASYNC_READ_MAX: Key<u32> = active("async_read_max_active", "3");
const ASYNC_WRITE_MIN: Key<u32> = active("async_write_min_active", "2");
const ASYNC_WRITE_MAX: Key<u32> = active("async_write_max_active", "10");
const SCRUB_MIN: Key<u32> = active("scrub_min_active", "1");
const SCRUB_MAX: Key<u32> = active("scrub_max_active", "3");
const NIA_DELAY: Key<u32> = Key::<u32>::within("nia_delay", 1, 1000).usually("5").about(
    "Scrubs may have more than their least in the device once so many of them ended with nothing interactive between.",
);
const NIA_CREDIT: Key<u32> = Key::<u32>::within("nia_credit", 1, 1000).usually("5").about(
    "How many scrubs may be given to the device after an interactive request ended while others are still there.",
);

/// Of the kind that its name tells: at least or at most so many in the device.
const fn active(name: &'static str, usually: &'static str) -> Key<u32> {
    Key::<u32>::within(name, 1, 1000).usually(usually).about("As the parameter of ZFS of this name, with `zfs_vdev_` before it.")
}

/// The values of its keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    least: [u32; KINDS],
    most: [u32; KINDS],
    nia_delay: u32,
    nia_credit: u32,
}

impl Kind for Settings {
    const MANUAL: Manual = Manual {
        name: "zfs",
        text: "What ZFS does above each disk (vdev_queue.c of OpenZFS 2.2): a queue for each kind of I/O, with a least and a most of what it may have in the drive. Requests of `priority` 2 and more are synchronous, of 1 asynchronous, of 0 a scrub. Give the drive a `queue`; it does not join adjacent requests.",
        keys: &[
            SYNC_READ_MIN.about,
            SYNC_READ_MAX.about,
            SYNC_WRITE_MIN.about,
            SYNC_WRITE_MAX.about,
            ASYNC_READ_MIN.about,
            ASYNC_READ_MAX.about,
            ASYNC_WRITE_MIN.about,
            ASYNC_WRITE_MAX.about,
            SCRUB_MIN.about,
            SCRUB_MAX.about,
            NIA_DELAY.about,
            NIA_CREDIT.about,
        ],
        example: "policy = \"zfs\"\nscrub_max_active = 2",
        needs: Needs::Nothing,
    };
    const HEEDS_PRIORITY: bool = true;

    fn read(scheduler: &Section) -> Result<Settings, BadInput> {
        let least = [SYNC_READ_MIN, SYNC_WRITE_MIN, ASYNC_READ_MIN, ASYNC_WRITE_MIN, SCRUB_MIN];
        let most = [SYNC_READ_MAX, SYNC_WRITE_MAX, ASYNC_READ_MAX, ASYNC_WRITE_MAX, SCRUB_MAX];
        let mut settings = Settings {
            least: [0; KINDS],
            most: [0; KINDS],
            nia_delay: scheduler.value(&NIA_DELAY)?,
            nia_credit: scheduler.value(&NIA_CREDIT)?,
        };
        for (kind, (fewest, greatest)) in least.iter().zip(&most).enumerate() {
            let (few, many) = (scheduler.value(fewest)?, scheduler.value(greatest)?);
            if few > many {
                let key = if scheduler.has(greatest.name()) { greatest.name() } else { fewest.name() };
                let what = format!("at least {few} and at most {many} in the drive");
                let mend = format!("give {} no more than {}", fewest.name(), greatest.name());
                return Err(scheduler.error(key, what, mend));
            }
            (settings.least[kind], settings.most[kind]) = (few, many);
        }
        Ok(settings)
    }

    fn make<P: Predictor + 'static>(&self, _: &Beside) -> Box<dyn Policy<P>> {
        Box::new(Zfs {
            settings: *self,
            in_turn: [SYNC_READ, SYNC_WRITE].map(|_| (Fcfs::new(), 0)),
            by_block: [ASYNC_READ, ASYNC_WRITE, SCRUB].map(|_| Ordered::new()),
            in_service: InService::default(),
            last: [0; KINDS],
            last_kind: 0,
            credit: 0,
        })
    }
}

struct Zfs {
    settings: Settings,
    /// What is synchronous goes in order of arrival; how many wait.
    in_turn: [(Fcfs, u32); 2],
    /// The rest in order of block number.
    by_block: [Ordered; 3],
    in_service: InService,
    /// The block from which on each kind goes on.
    last: [u64; KINDS],
    last_kind: usize,
    /// What scrubs may still have while anything interactive is in the device; where nothing is, how many ended since.
    credit: u32,
}

fn kind<S>(job: &Job<S>) -> usize {
    match (job.qos.priority, job.op.direction()) {
        (SYNC.., Direction::Read) => SYNC_READ,
        (SYNC.., Direction::Write) => SYNC_WRITE,
        (ASYNC, Direction::Read) => ASYNC_READ,
        (ASYNC, Direction::Write) => ASYNC_WRITE,
        _ => SCRUB,
    }
}

impl Zfs {
    fn waits(&self, kind: usize) -> bool {
        match kind {
            SYNC_READ | SYNC_WRITE => self.in_turn[kind].1 > 0,
            _ => !self.by_block[kind - ASYNC_READ].is_empty(),
        }
    }

    fn active(&self, kind: usize) -> u32 {
        self.in_service.count(kind) as u32
    }

    /// Whether anything but scrubs is in the device.
    fn is_interactive(&self) -> bool {
        (0..SCRUB).any(|kind| self.active(kind) > 0)
    }

    fn least(&self, kind: usize) -> u32 {
        let least = self.settings.least[kind];
        if kind == SCRUB && self.is_interactive() { self.credit.min(least) } else { least }
    }

    fn most(&self, kind: usize) -> u32 {
        match kind {
            SCRUB if self.is_interactive() => self.least(SCRUB),
            SCRUB if self.credit < self.settings.nia_delay => self.settings.least[SCRUB],
            _ => self.settings.most[kind],
        }
    }

    /// The kind whose turn it is.
    fn next_kind(&self) -> Option<usize> {
        let in_turn = (1..=KINDS).map(|n| (self.last_kind + n) % KINDS);
        let below = |kind: usize, bound: u32| self.waits(kind) && self.active(kind) < bound;
        in_turn
            .into_iter()
            .find(|kind| below(*kind, self.least(*kind)))
            .or_else(|| (0..KINDS).find(|kind| below(*kind, self.most(*kind))))
    }

    /// One of a kind is given to the device.
    fn begin(&mut self, sequence: u64, kind: usize) {
        let interactive = self.is_interactive();
        if kind == SCRUB {
            self.credit = if interactive { self.credit.saturating_sub(1) } else { self.credit };
        } else if !interactive {
            self.credit = 1;
        }
        self.in_service.add(sequence, kind, ());
    }

    /// One is no longer in the device.
    fn cease(&mut self, sequence: u64) {
        let Some((kind, ())) = self.in_service.remove(sequence) else { return };
        let interactive = self.is_interactive();
        self.credit = match (kind, interactive) {
            (SCRUB, true) => self.credit,
            (SCRUB, false) => (self.credit + 1).min(self.settings.nia_delay),
            (_, true) => self.settings.nia_credit,
            (_, false) => 0,
        };
    }
}

impl<P: Predictor> Policy<P> for Zfs {
    fn add(&mut self, id: JobId, job: &Job<P::Spot>, _: &P) {
        self.cease(job.sequence);
        match kind(job) {
            kind @ (SYNC_READ | SYNC_WRITE) => {
                self.in_turn[kind].0.push(id, job);
                self.in_turn[kind].1 += 1;
            }
            kind => self.by_block[kind - ASYNC_READ].add(by_lbn(id, job)),
        }
    }

    fn remove(&mut self, _: JobId, job: &Job<P::Spot>, _: &P) {
        match kind(job) {
            kind @ (SYNC_READ | SYNC_WRITE) => self.in_turn[kind].1 -= 1,
            kind => _ = self.by_block[kind - ASYNC_READ].remove(job.rest().start.0, job.sequence),
        }
    }

    fn take(&mut self, _: Time, jobs: &Jobs<P::Spot>, _: &P) -> Option<JobId> {
        let next = self.next_kind()?;
        let id = match next {
            SYNC_READ | SYNC_WRITE => {
                let (oldest, waiting) = &mut self.in_turn[next];
                let id = oldest.front(jobs, |job| kind(job) == next)?;
                *waiting -= 1;
                id
            }
            _ => {
                let waiting = &mut self.by_block[next - ASYNC_READ];
                let at = waiting.at_or_after(self.last[next]).or_else(|| waiting.at_or_after(0))?;
                waiting.take(at)
            }
        };
        let job = jobs.get(id)?;
        self.last[next] = job.at.end().0;
        self.last_kind = next;
        self.begin(job.sequence, next);
        Some(id)
    }

    fn follows_service(&self) -> bool {
        true
    }

    fn end(&mut self, _: Time, job: &Job<P::Spot>) {
        self.cease(job.sequence);
    }
}
