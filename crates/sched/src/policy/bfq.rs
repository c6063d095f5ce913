//! BFQ, Linux's fair scheduler for slow devices (block/bfq-iosched.c and bfq-wf2q.c of Linux 6.6), with `low_latency` = 0.
//!
//! Each class is a process, whose requests are synchronous, as reads and direct writes are. One is served at a time, until it has
//! had its budget of sectors, or its time, or has nothing more to ask; then B-WF2Q+ picks the next by weight. Who is expected to ask
//! again soon has the device kept idle. Sectors are what is shared out among those that read in order; those that seek are charged
//! for their time.
//!
//! Who was passed over for a moment, since it had nothing to ask, goes on with what is left of its budget if it asks in time.
//!
//! Left out: merging of requests and of queues, injection of others' requests while the device is kept idle, writes of the page
//! cache, and the budget that Linux sets by the device's rate (`max_budget` is one that was set).

use super::fcfs::Fcfs;
use super::in_service::InService;
use super::{Beside, Kind, Manual, Needs, Policy, by_lbn};
use crate::ordered::Ordered;
use crate::predict::Predictor;
use crate::{Job, JobId, Jobs};
use block::{BadInput, Extent, Span, Time};
use config::{Key, Section};

const SLICE_IDLE: Key<Span> =
    Key::<Span>::span("slice_idle").usually("8ms").about("So long the drive is kept idle for a class that is expected to ask again.");
const MAX_BUDGET: Key<u32> = Key::<u32>::within("max_budget", 64, 1 << 24)
    .usually("16384")
    .about("How many blocks a class is served in a row at most, as Linux's parameter of this name where it is set.");
const TIMEOUT_SYNC: Key<Span> =
    Key::<Span>::span("timeout_sync").usually("124ms").about("How long a class is served in a row at most.");
const FIFO_EXPIRE: Key<Span> = Key::<Span>::span("fifo_expire_sync")
    .usually("125ms")
    .about("A turn of a class begins with its oldest request where that waited so long.");
const BACK_SEEK_MAX: Key<u32> = Key::<u32>::within("back_seek_max", 0, 1 << 31)
    .usually("32768")
    .about("So many blocks behind the last a request may lie to be next; its distance counts twice. Linux's is in KiB.");

/// The least budget is this part of the most; so far apart are requests of a class that seeks, in blocks, in so many of 32.
const LEAST_BUDGET: u64 = 32;
const SEEKS: u64 = 800;
const SEEKY: u32 = 19;
/// So long the device is at most kept idle for a class that seeks, where all weigh the same.
const SHORT_IDLE: Span = Span(2_000_000);
/// Turns that are longer than this are slow where they have less than half of the most budget.
const LONG: Span = Span(20_000_000);
/// Shorter turns are charged as one wait for a request, where they are charged for their time.
const SHORT: Span = Span(1_000_000);
/// More commands in the device than this show that it has a queue; that none does, in so many completions while more could have been
/// given, that it has none.
const QUEUED: usize = 3;
const COMPLETIONS: u32 = 33;
/// Who asks again within so many times `slice_idle` asks in time.
const IN_TIME: u64 = 3;
/// A class keeps the device busy that has nothing to ask in at most a fifth of the time, over a window of up to 200 ms.
const IDLE_PART: u64 = 5;
const WINDOW: Span = Span(200_000_000);
/// How much of all that a decaying mean of times between requests must rest on, to tell whether they are short: 80 of 256.
const THINKS: f64 = 0.3125;

/// The values of its keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    slice_idle: Span,
    max_budget: u64,
    timeout: Span,
    fifo_expire: Span,
    back_seek_max: u64,
}

impl Kind for Settings {
    const MANUAL: Manual = Manual {
        name: "bfq",
        text: "Linux's fair scheduler for disks (block/bfq-iosched.c of Linux 6.6, low_latency = 0): classes are served in turn, each for a budget of blocks or a time, by weight (`[scheduler.class.NAME.bfq]`), and the drive is kept idle for one that is expected to ask again soon. Within a class it is the nearest block, forward before back. Higher `priority` goes first, as those of ioprio classes do. Requests of a class count as synchronous.",
        keys: &[
            SLICE_IDLE.about,
            MAX_BUDGET.about,
            TIMEOUT_SYNC.about,
            FIFO_EXPIRE.about,
            BACK_SEEK_MAX.about,
        ],
        example: "policy = \"bfq\"\nslice_idle = \"0ms\"",
        needs: Needs::Nothing,
    };
    const HEEDS_PRIORITY: bool = true;

    const SHARES_OUT: bool = true;

    fn read(scheduler: &Section) -> Result<Settings, BadInput> {
        Ok(Settings {
            slice_idle: scheduler.value(&SLICE_IDLE)?,
            max_budget: scheduler.value(&MAX_BUDGET)?.into(),
            timeout: scheduler.value(&TIMEOUT_SYNC)?,
            fifo_expire: scheduler.value(&FIFO_EXPIRE)?,
            back_seek_max: scheduler.value(&BACK_SEEK_MAX)?.into(),
        })
    }

    fn make<P: Predictor + 'static>(&self, beside: &Beside) -> Box<dyn Policy<P>> {
        Box::new(Bfq {
            settings: *self,
            weights: beside.weights.clone(),
            queues: Vec::new(),
            levels: Vec::new(),
            in_service: InService::default(),
            turn: None,
            last: 0,
            queueing: Queueing::default(),
        })
    }
}

/// What a class asked, of one priority.
struct ProcessQueue {
    class: u8,
    priority: u8,
    weight: f64,
    by_block: Ordered,
    oldest: Fcfs,
    /// How many wait, and how many are in the device.
    held: u32,
    inside: usize,
    /// Virtual times of its turn: blocks by weight.
    start: f64,
    finish: f64,
    /// What its next turn, or the one under way, may have.
    budget: u64,
    /// Where its last request ended, and which of the last 32 were far from the one before.
    asked: u64,
    seeks: u32,
    /// When a request of it last ended; how long it took until the next where it had none: a decaying sum, and how much it rests on.
    ended: Option<Time>,
    think: f64,
    thinks: f64,
    /// Since when it is looked at whether it keeps the device busy, for how long of that it asked nothing, and the verdict.
    watched: Option<Time>,
    asked_nothing: Span,
    is_io_bound: bool,
    /// What is left of its budget, where its turn ended because it asked nothing.
    left: Option<u64>,
    /// What its next turn may have, where that is such a rest.
    resumes: Option<u64>,
}

/// Whether the device takes several commands at once, as far as is known.
#[derive(Clone, Copy, Debug, Default)]
struct Queueing {
    /// What was found, if anything was.
    found: Option<bool>,
    /// Completions while more could have been given, and the most that were in the device.
    completions: u32,
    most: usize,
}

/// The turn of a queue.
struct BfqTurn {
    queue: usize,
    since: Time,
    /// What it may have, and has had.
    budget: u64,
    served: u64,
    /// Whether its oldest was looked at.
    looked: bool,
    /// Since and until when the device is kept idle, where nothing of it is left.
    idle: Option<(Time, Time)>,
}

/// Why a turn ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expiry {
    TooIdle,
    Timeout,
    Exhausted,
    NoMore,
    Outranked,
}

struct Bfq {
    settings: Settings,
    /// By class; a class past the end weighs 1.
    weights: Vec<f64>,
    queues: Vec<ProcessQueue>,
    /// The virtual time of each priority.
    levels: Vec<(u8, f64)>,
    in_service: InService,
    turn: Option<BfqTurn>,
    /// Where the last command given to the device ends.
    last: u64,
    queueing: Queueing,
}

impl Queueing {
    /// A command comes back, of so many in the device; so many more wait. The turn's queue has so many of both.
    fn note(&mut self, inside: usize, held: usize, of_turn: usize) {
        self.most = self.most.max(inside);
        // It may be that few were given because the turn's queue has few.
        if self.found == Some(true) || inside + held <= QUEUED || (of_turn < QUEUED && inside < QUEUED) {
            return;
        }
        self.completions += 1;
        if self.completions >= COMPLETIONS {
            *self = Queueing { found: Some(self.most > QUEUED), ..Queueing::default() };
        }
    }
}

impl ProcessQueue {
    fn new(class: u8, priority: u8, weight: f64, budget: u64) -> ProcessQueue {
        ProcessQueue {
            class,
            priority,
            weight,
            by_block: Ordered::new(),
            oldest: Fcfs::new(),
            held: 0,
            inside: 0,
            start: 0.0,
            finish: 0.0,
            // Between what serves most and what waits least.
            budget: budget * 2 / 3,
            asked: 0,
            // As if the first had been far.
            seeks: 1,
            ended: None,
            think: 0.0,
            thinks: 0.0,
            watched: None,
            asked_nothing: Span::ZERO,
            is_io_bound: true,
            left: None,
            resumes: None,
        }
    }

    /// Whether it has requests, waiting or in the device.
    fn is_busy(&self) -> bool {
        self.held > 0 || self.inside > 0
    }

    fn is_seeky(&self) -> bool {
        self.seeks.count_ones() > SEEKY
    }

    /// A request comes to the queue.
    fn note_place(&mut self, at: Extent) {
        self.seeks = self.seeks << 1 | u32::from(at.start.0.abs_diff(self.asked) > SEEKS);
        self.asked = at.end().0;
    }

    /// It has asked nothing for so long, and nobody waited for it.
    fn note_think(&mut self, rested: Span) {
        self.think = self.think * 0.875 + rested.0 as f64 * 0.125;
        self.thinks = self.thinks * 0.875 + 0.125;
    }

    /// Whether it keeps the device busy: at each request, before which it asked nothing for so long.
    fn watch(&mut self, now: Time, rested: Span) {
        let Some(watched) = self.watched else {
            self.watched = Some(now);
            return;
        };
        self.asked_nothing += rested;
        let all = now.since(watched);
        self.is_io_bound = self.asked_nothing.0 * IDLE_PART <= all.0;
        if all > WINDOW {
            self.watched = Some(watched + Span(all.0 - all.0 / 2));
            self.asked_nothing = Span(self.asked_nothing.0 / 2);
        }
    }

    /// Whether it asks again soon, as far as is known.
    fn thinks_briefly(&self, idle: Span) -> bool {
        self.thinks <= THINKS || self.think <= idle.0 as f64 * self.thinks
    }

    /// The budget of its next turn.
    fn feed_back(&mut self, why: Expiry, served: u64, most: u64) {
        let least = most / LEAST_BUDGET;
        self.budget = match why {
            Expiry::TooIdle if self.inside > 0 => (self.budget * 2).min(most),
            Expiry::TooIdle if self.budget > 5 * least => self.budget - 4 * least,
            Expiry::TooIdle => least,
            Expiry::Timeout => (self.budget * 2).min(most),
            Expiry::Exhausted => (self.budget * 4).min(most),
            Expiry::NoMore => served.max(least),
            Expiry::Outranked => self.budget,
        };
    }
}

impl Bfq {
    /// The queue of a class at a priority.
    fn queue(&mut self, class: u8, priority: u8) -> usize {
        let found = self.queues.iter().position(|queue| (queue.class, queue.priority) == (class, priority));
        found.unwrap_or_else(|| {
            let weight = self.weights.get(usize::from(class)).copied().unwrap_or(1.0);
            self.queues.push(ProcessQueue::new(class, priority, weight, self.settings.max_budget));
            if !self.levels.iter().any(|(level, _)| *level == priority) {
                self.levels.push((priority, 0.0));
            }
            self.queues.len() - 1
        })
    }

    /// The virtual time of a priority.
    fn level(&mut self, priority: u8) -> &mut f64 {
        let at = self.levels.iter().position(|(level, _)| *level == priority).unwrap_or_default();
        &mut self.levels[at].1
    }

    /// Whether a queue needs to be waited for to have its due: it does not weigh least of those that are busy, or there are several
    /// priorities.
    fn is_asymmetric(&self, at: usize) -> bool {
        let queue = &self.queues[at];
        let mut busy = self.queues.iter().filter(|queue| queue.is_busy());
        busy.any(|it| it.weight < queue.weight || it.priority != queue.priority)
    }

    /// Whether the device is better kept idle for a queue than given to others.
    fn is_awaited(&self, at: usize) -> bool {
        let queue = &self.queues[at];
        if self.settings.slice_idle == Span::ZERO {
            return false;
        }
        let steady = !queue.is_seeky() && queue.is_io_bound && queue.thinks_briefly(self.settings.slice_idle);
        let is_alone = !self.queues.iter().enumerate().any(|(other, queue)| other != at && queue.held > 0);
        self.queueing.found == Some(false) || steady || is_alone || self.is_asymmetric(at)
    }

    /// So many blocks were served of a queue, or are charged to it as if they had been.
    fn pass(&mut self, at: usize, blocks: u64) {
        let priority = self.queues[at].priority;
        let peers = self.queues.iter().enumerate();
        let peers = peers.filter(|(i, queue)| queue.priority == priority && (*i == at || queue.is_busy()));
        let weights: f64 = peers.map(|(_, queue)| queue.weight).sum();
        *self.level(priority) += blocks as f64 / weights;
    }

    /// The turn of a queue ends.
    fn expire(&mut self, now: Time, why: Expiry) {
        let Some(turn) = self.turn.take() else { return };
        let most = self.settings.max_budget;
        let took = turn.idle.map_or(now, |(from, _)| from).since(turn.since);
        let queue = &self.queues[turn.queue];
        let slow = if took > LONG { turn.served < most / 2 } else { queue.is_seeky() };
        let left = turn.budget.saturating_sub(turn.served);
        let mut charged = turn.served;
        if slow || (why == Expiry::Timeout && left >= turn.budget / 3) {
            // At least one seek.
            let took = if took < SHORT { self.settings.slice_idle } else { took };
            let time = took.0.min(self.settings.timeout.0) as f64 / self.settings.timeout.0.max(1) as f64;
            charged = charged.max((most as f64 * time) as u64);
        }
        self.pass(turn.queue, charged - turn.served);
        let queue = &mut self.queues[turn.queue];
        let goes_on = queue.held == 0 && !matches!(why, Expiry::Timeout | Expiry::Exhausted);
        queue.left = turn.budget.checked_sub(charged).filter(|left| goes_on && *left > 0);
        if why == Expiry::TooIdle && charged <= turn.budget.max(charged) / 5 {
            queue.is_io_bound = false;
        }
        queue.feed_back(why, charged, most);
        queue.finish = queue.start + charged as f64 / queue.weight;
        if queue.held > 0 {
            queue.start = queue.finish;
            queue.finish += queue.budget as f64 / queue.weight;
        }
    }

    /// A queue has something to ask again; in time, it goes on where it was, with what is left of its budget. Whether the turn of
    /// another ends for that.
    fn activate(&mut self, at: usize, asked: Time) -> bool {
        let latest = Span(IN_TIME * self.settings.slice_idle.0);
        let now = *self.level(self.queues[at].priority);
        let queue = &mut self.queues[at];
        let in_time = queue.ended.is_some_and(|ended| asked <= ended + latest);
        queue.resumes = queue.left.take().filter(|_| in_time).map(|left| left.min(queue.budget));
        let behind = queue.resumes.is_some() && queue.finish < now;
        queue.start = if behind { queue.finish } else { queue.finish.max(now) };
        queue.finish = queue.start + queue.resumes.unwrap_or(queue.budget) as f64 / queue.weight;
        if behind && queue.finish < now {
            // It does not gain on the others for good.
            (queue.start, queue.finish) = (queue.start + now - queue.finish, now);
        }
        let queue = &self.queues[at];
        let other = self.turn.as_ref().map(|turn| &self.queues[turn.queue]);
        other.is_some_and(|other| {
            other.priority == queue.priority && (queue.resumes.is_some() || queue.weight > other.weight)
        })
    }

    /// The queue whose turn is next: of the highest priority, among those that may start the one that is to finish first.
    fn choose(&mut self) -> Option<usize> {
        let priority = self.queues.iter().filter(|queue| queue.held > 0).map(|queue| queue.priority).max()?;
        let virtual_now = *self.level(priority);
        let waiting = || self.queues.iter().enumerate().filter(|(_, queue)| queue.priority == priority && queue.held > 0);
        let first = waiting().map(|(_, queue)| queue.start).fold(f64::INFINITY, f64::min);
        let virtual_now = virtual_now.max(first);
        let eligible = waiting().filter(|(_, queue)| queue.start <= virtual_now);
        let next = eligible.min_by(|(_, one), (_, other)| one.finish.total_cmp(&other.finish)).map(|(at, _)| at);
        *self.level(priority) = virtual_now;
        next
    }

    /// The next request of the queue whose turn it is: its oldest where that is late, once a turn; else the nearest.
    fn next<S: Copy>(&mut self, now: Time, jobs: &Jobs<S>) -> Option<JobId> {
        let turn = self.turn.as_mut()?;
        let queue = &mut self.queues[turn.queue];
        if !std::mem::replace(&mut turn.looked, true) {
            let (class, priority) = (queue.class, queue.priority);
            let here = |job: &Job<S>| job.qos.class == class && job.qos.priority == priority;
            let oldest = queue.oldest.front(jobs, here);
            let late = |id: &JobId| jobs.get(*id).is_some_and(|job| job.arrived + self.settings.fifo_expire <= now);
            if let Some(id) = oldest.filter(late) {
                return Some(id);
            }
        }
        let waiting = &queue.by_block;
        let entry = |at| (waiting.at(at).key, waiting.at(at).id);
        let (behind, ahead) = waiting.around(self.last);
        let (behind, ahead) = (behind.map(entry), ahead.map(entry));
        let back = behind.filter(|(key, _)| self.last - key <= self.settings.back_seek_max);
        match (ahead, back) {
            (Some((key, id)), Some((back, other))) => {
                Some(if key - self.last <= 2 * (self.last - back) { id } else { other })
            }
            (Some((_, id)), None) | (None, Some((_, id))) => Some(id),
            // Round again.
            (None, None) => waiting.at_or_after(0).map(|at| entry(at).1),
        }
    }

    /// Goes on with the turn under way, or ends it; nothing to give does not mean that there is none to be had of others.
    fn go_on<S: Copy>(&mut self, now: Time, jobs: &Jobs<S>) -> TurnStep {
        let Some(turn) = &self.turn else { return TurnStep::Over };
        let (at, budget, served, idle) = (turn.queue, turn.budget, turn.served, turn.idle);
        let queue = &self.queues[at];
        let (held, inside, priority) = (queue.held, queue.inside, queue.priority);
        let over = |bfq: &mut Bfq, why| {
            bfq.expire(now, why);
            TurnStep::Over
        };
        if idle.is_some_and(|(_, until)| until <= now) {
            let why = self.why_over(now, Expiry::TooIdle);
            return over(self, why);
        }
        if self.queues.iter().any(|other| other.priority > priority && other.held > 0) {
            return over(self, Expiry::Outranked);
        }
        let why = self.why_over(now, Expiry::NoMore);
        if held > 0 {
            if why == Expiry::Timeout {
                return over(self, why);
            }
            let next = self.next(now, jobs);
            let blocks = next.and_then(|id| jobs.get(id)).map_or(0, |job| u64::from(job.rest().blocks));
            return match next {
                // The first is served however long it is.
                Some(id) if served == 0 || served + blocks <= budget => TurnStep::Serve(id),
                _ => over(self, Expiry::Exhausted),
            };
        }
        if idle.is_some() || (inside > 0 && self.is_awaited(at)) { TurnStep::Wait } else { over(self, why) }
    }

    /// Why a turn ends that ends now: its time is over, or something else.
    fn why_over(&self, now: Time, otherwise: Expiry) -> Expiry {
        let timed_out = |turn: &BfqTurn| now.since(turn.since) >= self.settings.timeout;
        if self.turn.as_ref().is_some_and(timed_out) { Expiry::Timeout } else { otherwise }
    }

    /// A request is given to the device.
    fn dispatch<S>(&mut self, job: &Job<S>) {
        let Some(turn) = &mut self.turn else { return };
        let (at, rest) = (turn.queue, job.rest());
        turn.served += u64::from(rest.blocks);
        turn.idle = None;
        self.last = rest.end().0;
        let queue = &mut self.queues[at];
        queue.by_block.remove(rest.start.0, job.sequence);
        queue.held -= 1;
        queue.inside += 1;
        self.in_service.add(job.sequence, at, ());
        self.pass(at, rest.blocks.into());
    }

    /// One is no longer in the device; of which queue it was.
    fn cease(&mut self, sequence: u64) -> Option<usize> {
        let (at, ()) = self.in_service.remove(sequence)?;
        self.queues[at].inside -= 1;
        Some(at)
    }
}

/// What comes of a turn when the device is free.
enum TurnStep {
    Serve(JobId),
    /// Nothing is given, so that the device is there when it asks again.
    Wait,
    Over,
}

impl<P: Predictor> Policy<P> for Bfq {
    fn add(&mut self, id: JobId, job: &Job<P::Spot>, _: &P) {
        let again = self.cease(job.sequence).is_some();
        let at = self.queue(job.qos.class, job.qos.priority);
        let in_turn = self.turn.as_ref().is_some_and(|turn| turn.queue == at);
        let (now, idle) = (job.arrived, self.settings.slice_idle);
        let queue = &mut self.queues[at];
        if !again {
            let rested = queue.ended.filter(|_| !queue.is_busy()).map(|ended| now.since(ended));
            if let Some(rested) = rested.filter(|_| !in_turn) {
                queue.note_think(rested.min(Span(2 * idle.0)));
            }
            queue.note_place(job.rest());
            queue.watch(now, rested.unwrap_or_default());
        }
        queue.by_block.add(by_lbn(id, job));
        queue.oldest.push(id, job);
        queue.held += 1;
        if queue.held == 1 && !in_turn && self.activate(at, now) && !again {
            self.expire(now, Expiry::Outranked);
        }
    }

    fn remove(&mut self, _: JobId, job: &Job<P::Spot>, _: &P) {
        let at = self.queue(job.qos.class, job.qos.priority);
        self.queues[at].by_block.remove(job.rest().start.0, job.sequence);
        self.queues[at].held -= 1;
    }

    fn take(&mut self, now: Time, jobs: &Jobs<P::Spot>, _: &P) -> Option<JobId> {
        loop {
            match self.go_on(now, jobs) {
                TurnStep::Serve(id) => {
                    self.dispatch(jobs.get(id)?);
                    return Some(id);
                }
                TurnStep::Wait => return None,
                TurnStep::Over => {
                    let queue = self.choose()?;
                    let next = &mut self.queues[queue];
                    let budget = next.resumes.take().unwrap_or(next.budget);
                    self.turn = Some(BfqTurn { queue, since: now, budget, served: 0, looked: false, idle: None });
                }
            }
        }
    }

    fn follows_service(&self) -> bool {
        true
    }

    fn end(&mut self, now: Time, job: &Job<P::Spot>) {
        let all = |of: fn(&ProcessQueue) -> usize| self.queues.iter().map(of).sum::<usize>();
        let (inside, held) = (all(|queue| queue.inside), all(|queue| queue.held as usize));
        let of_turn = self.turn.as_ref().map(|turn| &self.queues[turn.queue]);
        let of_turn = of_turn.filter(|queue| queue.thinks_briefly(self.settings.slice_idle));
        self.queueing.note(inside, held, of_turn.map_or(QUEUED, |queue| queue.inside + queue.held as usize));
        let Some(at) = self.cease(job.sequence) else { return };
        let queue = &mut self.queues[at];
        queue.ended = Some(now);
        if queue.is_busy() {
            return;
        }
        let seeky = queue.is_seeky();
        let idle = self.settings.slice_idle;
        let idle = if seeky && !self.is_asymmetric(at) { idle.min(SHORT_IDLE) } else { idle };
        let awaited = self.is_awaited(at);
        let why = self.why_over(now, Expiry::NoMore);
        match self.turn.as_mut().filter(|turn| turn.queue == at) {
            Some(turn) if awaited => turn.idle = Some((now, now + idle)),
            Some(_) => self.expire(now, why),
            None => {}
        }
    }

    fn idles_until(&self) -> Option<Time> {
        self.turn.as_ref()?.idle.map(|(_, until)| until)
    }
}
