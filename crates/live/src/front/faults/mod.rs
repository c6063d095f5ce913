//! The live world of faults: the engine that serves, over a disk that fails, in virtual time and without a kernel.
//!
//! Front, core, world and file are those of the service; the kernel under them is made up. Its disk has a write-back cache:
//! when the power goes, of each block any of what was written since the last flush is left, and of a command in flight any
//! of its blocks. A flush that fails loses what was dirty, and no later one tells, as on Linux. Commands fail, come back piece by piece, in any order, or later than is waited for; clients vanish in the
//! middle of a word. Checked is that every request is answered once, and right; that requests which meet take effect in the
//! order in which they were made; that a read has what was last written; that an error fails the request it belongs to and
//! no other; and that what was flushed, or written with FUA, is there when the power comes back, while each other block is
//! as it was before or after. The same seed has all of it again.
//!
//! **The service is tried in virtual time.** The engine stands on a `Kernel`: a clock, what is pushed and what came
//! back. In `front::faults` that is made up, with a disk that loses its cache and tears what is in flight when the
//! power goes, fails, hangs and does things piece by piece, and clients that vanish or go deaf; front, core, world
//! and file are those that serve. The order in which requests end is checked against the order in which they came,
//! contents against the first, and what is left after a cut against what clients were told. A thousand seeds in CI; a
//! disk that lies is noticed.

mod disk;
mod outside;
mod peer;
mod truth;

use super::{EngineMessage, Front, ServedVolume, Undone};
use crate::bell::Mailbox;
use crate::kernel::Kernel;
use crate::make;
use crate::memory::Slice;
use crate::unit::{Done, LiveDevice, ServedFile, Zeroes};
use crate::world::LiveWorld;
use block::errno::{ECANCELED, EIO, EOPNOTSUPP};
use block::{BLOCK_BYTES, Caps, Command, Discarded, Ending, Op, Outcome, Place, RequestId, Span, Tag, Time, Verb};
use disk::{Disk, Lie};
use load::Draw;
use load::experiment::{Experiment, ServePlan};
use nbd::{BlockSize, Flags, Session};
use outside::{Event, Flight, Outside, Tale, Virtual};
use sched::{Action, Input, World, run};
use std::cell::RefCell;
use std::fmt::Write;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::mpsc::channel;
use truth::{Change, Truth};

/// Blocks of the disk, and of each of its two volumes.
const BLOCKS: u64 = 96;
const VOLUME: u64 = BLOCKS / 2;
/// A command that takes longer hangs.
const TIMEOUT: Span = Span(200_000);

/// What may happen.
#[derive(Clone, Copy, Debug)]
struct Script {
    /// Requests of a life, and of one client at once.
    requests: u32,
    depth: u64,
    clients: u32,
    /// One of so many commands fails, or hangs; 0: none.
    errors: u64,
    stalls: u64,
    /// How often a command that failed is tried again.
    retries: u8,
    /// Which zeros the device says it makes, and whether that is so.
    zeroes: Zeroes,
    unable: bool,
}

impl Script {
    fn drawn(draw: &mut Draw) -> Script {
        let mut rarely = |among: u64, one_of: u64| if draw.below(among) == 0 { one_of } else { 0 };
        let (errors, stalls) = (rarely(2, 25), rarely(4, 80));
        Script {
            requests: 20 + draw.below(80) as u32,
            depth: 1 + draw.below(8),
            clients: 1 + draw.below(3) as u32,
            errors,
            stalls,
            retries: draw.below(3) as u8,
            zeroes: Zeroes { holes: draw.below(3) > 0, kept: draw.below(3) > 0 },
            unable: draw.below(6) == 0,
        }
    }

    /// What is agreed on with a client, and the first byte of its volume.
    fn session(&self, draw: &mut Draw) -> (Session, u64) {
        let export = draw.below(2);
        let zeroes = Flags::SEND_WRITE_ZEROES.with(Flags::SEND_FAST_ZERO);
        let flags = [Flags::SEND_FLUSH, Flags::SEND_FUA, Flags::SEND_TRIM, zeroes, Flags::SEND_CACHE];
        let session = Session {
            export: export as usize,
            size: VOLUME * BLOCK_BYTES,
            block: BlockSize::default(),
            flags: flags.into_iter().fold(Flags::HAS_FLAGS, Flags::with),
            structured: draw.below(2) == 0,
            extended: false,
            contexts: nbd::Contexts::default(),
        };
        (session, export * VOLUME * BLOCK_BYTES)
    }
}

/// A service file at random.
fn service(script: &Script, draw: &mut Draw) -> Experiment {
    let policy = ["fcfs", "sstf", "look"][draw.below(3) as usize];
    let mut text = format!("[drive]\npath = \"disk\"\n[scheduler]\npolicy = \"{policy}\"\n");
    if draw.below(2) == 0 {
        text += "io = \"semi-preemptible\"\npreemption = \"priority\"\n";
        let _ = writeln!(text, "plan = {{ chunk = \"{} blocks\" }}", 1 + draw.below(6));
    }
    let _ = writeln!(text, "queue = {}", [2, 7, 65_536][draw.below(3) as usize]);
    let _ =
        write!(text, "[[volume]]\nname = \"a\"\nsize = \"{VOLUME} blocks\"\n[[volume]]\nname = \"b\"\npriority = 1\n");
    if draw.below(4) == 0 {
        text += "deadline = \"60us\"\n";
    }
    let retries = script.retries;
    let _ = write!(text, "[scheduler.class]\na = {{ retries = {retries} }}\nb = {{ retries = {retries} }}\n");
    load::experiment::parse_service("faults.toml", &text, &[]).expect("a service file")
}

/// The file, of which is noted whose commands fail.
struct Faulty {
    file: ServedFile,
    outside: Rc<RefCell<Outside>>,
    /// By tag: whose command it is, and whether it is a flush; whether it is to have something on the medium.
    whose: Vec<Option<(u32, bool)>>,
    durable: Vec<bool>,
}

impl LiveDevice for Faulty {
    fn caps(&self) -> Caps {
        self.file.caps()
    }

    fn issue(
        &mut self,
        now: Time,
        tag: Tag,
        command: &Command,
        memory: Option<Slice>,
        kernel: &mut dyn Kernel,
    ) -> io::Result<()> {
        self.whose[tag.0 as usize] = match command.place {
            Place::Request(id, _) => Some((id.0, command.verb == Verb::Flush)),
            _ => None,
        };
        self.durable[tag.0 as usize] = matches!(command.verb, Verb::Flush | Verb::Write { fua: true });
        self.file.issue(now, tag, command, memory, kernel)
    }

    fn next_completion(&mut self, now: Time) -> Option<Done> {
        let done = self.file.next_completion(now)?;
        if self.durable[done.tag.0 as usize] && done.outcome != Outcome::Ok {
            self.outside.borrow_mut().flush_fails();
        }
        if let Some((id, flush)) = self.whose[done.tag.0 as usize] {
            let mut outside = self.outside.borrow_mut();
            let failed = outside.failed.entry(id).or_default();
            *failed = match done.outcome {
                Outcome::Ok => 0,
                Outcome::Failed(_) if flush => u8::MAX,
                Outcome::Failed(_) => *failed + 1,
            };
        }
        Some(done)
    }

    fn on_completion(&mut self, now: Time, tag: Tag, result: i32, kernel: &mut dyn Kernel) -> io::Result<()> {
        self.file.on_completion(now, tag, result, kernel)
    }

    fn zeroes(&self) -> Zeroes {
        self.file.zeroes()
    }
}

/// The engine's world, of which is noted what it asks of the core and what becomes of that.
struct Watched<'a> {
    live: &'a mut LiveWorld<Front, Virtual>,
    outside: Rc<RefCell<Outside>>,
}

impl World for Watched<'_> {
    fn next(&mut self, wake: Option<Time>, room: u32) -> Option<(Time, Input)> {
        let (now, input) = self.live.next(wake, room)?;
        if let Input::Submit(request) = input {
            let mut outside = self.outside.borrow_mut();
            match self.live.source.works.get(request.id.0) {
                Some(work) => {
                    let client = outside.numbers[&work.client];
                    outside.begins(&request, client, &work.request);
                }
                // The last flush is of what was done before it was asked for; a command that hung may be done after.
                None => outside.last = outside.truth.all(),
            }
        }
        Some((now, input))
    }

    fn act(&mut self, now: Time, action: Action) {
        if let Action::Finish(RequestId(id), how) = action {
            self.outside.borrow_mut().ends(id, how);
        }
        self.live.act(now, action);
    }
}

impl Outside {
    /// The engine asks the core for a request of a client's.
    fn begins(&mut self, request: &block::Request, client: u32, asked: &nbd::ClientRequest) {
        self.see_resumed();
        let (failures, losses) = (self.failures, self.tale.losses);
        if let Some(pending) = self.peers[client as usize].pending.get_mut(&asked.cookie) {
            pending.begun.get_or_insert(failures);
        }
        let base = self.peers[client as usize].base;
        let (from, end) = (base + asked.offset, base + asked.offset + asked.length);
        let (first, last) = (request.at.start.0 * BLOCK_BYTES, request.at.end().0 * BLOCK_BYTES);
        let at = if request.op == Op::Flush { (0, 0) } else { (from.max(first), end.min(last)) };
        assert!(at.0 <= at.1, "{asked:?} asks for {:?}", request.at);
        let change = request.op.writes().then(|| {
            let payload = &self.peers[client as usize].payloads[&asked.cookie];
            Change { from: at.0, bytes: payload[(at.0 - from) as usize..(at.1 - from) as usize].into() }
        });
        let prepares = asked.command.writes() && request.op == Op::Read;
        let forces = asked.command != nbd::RequestType::Flush && request.op == Op::Flush;
        let hint = request.op == Op::Discard(Discarded::Anything);
        let (id, cookie) = (request.id.0, asked.cookie);
        self.flights.push(Flight { id, client, cookie, at, change, prepares, forces, hint, losses });
    }

    /// The core has done a request, or not.
    fn ends(&mut self, id: u32, how: Ending) {
        let Some(place) = self.flights.iter().position(|flight| flight.id == id) else {
            // The last flush is the engine's own.
            self.tale.flushed = how == Ending::Finished;
            return;
        };
        let flight = self.flights.remove(place);
        let meets = |other: &Flight| other.at.0 < flight.at.1 && flight.at.0 < other.at.1;
        let either = |other: &Flight| other.change.is_some() || flight.change.is_some();
        let passed =
            self.flights[..place].iter().find(|other| meets(other) && either(other) && how == Ending::Finished);
        assert!(passed.is_none(), "a request is done before one that came first and meets it: {:?}", flight.at);
        if how == Ending::Finished && !self.hung {
            self.check_order(&flight);
        }
        let failed = self.failed.remove(&id).unwrap_or(0);
        match how {
            Ending::Failed(ECANCELED) => {
                let peer = &self.peers[flight.client as usize];
                assert!(peer.gone || peer.deaf, "cancelled while its client waits");
            }
            Ending::Failed(EOPNOTSUPP) => assert!(self.script.unable && !flight.hint, "what cannot be is asked for"),
            Ending::Failed(errno) => {
                assert!(errno == EIO && failed > self.script.retries, "it fails after {failed} commands that did");
            }
            Ending::Finished => assert!(failed == 0, "a request is done of which a command failed"),
            Ending::Dropped => {}
        }
        self.see_resumed();
        // Of what was written when a flush failed, some may be lost already.
        let sure = how == Ending::Finished && self.tale.losses == flight.losses && !flight.hint;
        let made = flight.change.as_ref().map(|change| self.truth.change(change, sure));
        let failures = self.failures;
        let blocks = (flight.at.0 / BLOCK_BYTES) as usize..flight.at.1.div_ceil(BLOCK_BYTES) as usize;
        let peer = &mut self.peers[flight.client as usize];
        let Some(pending) = peer.pending.get_mut(&flight.cookie) else { return };
        pending.doomed |= pending.begun.is_some_and(|begun| begun != failures);
        let last = flight.at.1 == pending.end(peer.base) || flight.forces;
        let last = last || pending.request.command == nbd::RequestType::Flush;
        if !flight.prepares && last || how != Ending::Finished {
            pending.ended = Some(how);
        }
        if pending.request.command == nbd::RequestType::Read {
            pending.read = blocks.map(|block| self.truth.now(block)).collect();
        }
        pending.made.extend(made.into_iter().flatten());
    }

    /// What a client asked for before something of which this is a part, and meets it, was done before.
    fn check_order(&self, flight: &Flight) {
        let peer = &self.peers[flight.client as usize];
        for pending in peer.pending.range(..flight.cookie).map(|(_, pending)| pending) {
            let request = &pending.request;
            let (from, end) = (pending.first(peer.base), pending.end(peer.base));
            let meets = from < flight.at.1 && flight.at.0 < end;
            let either = request.command.writes() || flight.change.is_some();
            let orders = !pending.is_passed_over(peer.base) && !pending.is_refused();
            // Refused for a flush that had failed, it was never begun.
            let barred = pending.is_durable() && pending.is_barred(self.barred[peer.session.export]);
            let orders = orders && !(barred && pending.begun.is_none());
            let passed = meets && either && orders && pending.ended.is_none();
            assert!(!passed, "{request:?} is passed by what its client asked for later, {:?}", flight.at);
        }
    }
}

/// One life of the service, until it is stopped or the power goes.
fn live(script: Script, draw: &mut Draw, disk: Disk) -> (Disk, Tale) {
    let truth = Truth::new((0..BLOCKS as usize).map(|block| Rc::clone(disk.holds(block))));
    let experiment = service(&script, draw);
    let mut outside = Outside::new(script, Draw::new(draw.below(u64::MAX), 0), disk, truth);
    let cut = draw.below(3) > 0;
    if cut {
        outside.cut = Time(1 + draw.below(400_000));
    }
    let (sender, mail) = channel();
    outside.mail = Some(sender);
    (0..script.clients).for_each(|_| outside.after(20_000, Event::Knock));
    let outside = Rc::new(RefCell::new(outside));
    let nothing = || OwnedFd::from(std::fs::File::open("/dev/null").expect("a descriptor"));
    let depth = if experiment.scheduler.rules.plan.is_some() { 1 } else { 1 + draw.below(8) as u16 };
    let file = ServedFile::over(nothing(), BLOCKS * BLOCK_BYTES, depth, true).making(script.zeroes);
    let (whose, durable) = (vec![None; usize::from(depth)], vec![false; usize::from(depth)]);
    let unit = Box::new(Faulty { file, outside: Rc::clone(&outside), whose, durable });
    let mut core = make::core(&experiment, &unit.members(), &mut Vec::new()).expect("a core");
    let ending = if draw.below(2) == 0 { Span(TIMEOUT.0 / 2) } else { Span(10 * TIMEOUT.0) };
    let requests = 1 + draw.below(8) as u32;
    let plan = ServePlan { requests, unheard: TIMEOUT, timeout: TIMEOUT, ending, ..ServePlan::default() };
    let served = ServedVolume::all(&experiment, BLOCKS * BLOCK_BYTES).expect("volumes");
    let mailbox: Mailbox<EngineMessage> = Mailbox { mail, bell: nothing() };
    let front = Front::new(mailbox, plan, served, std::sync::Arc::default()).expect("a front");
    let mut world = LiveWorld::new(Virtual(Rc::clone(&outside)), unit, front, TIMEOUT);
    world.begin(Front::listen);
    run(&mut *core, &mut Watched { live: &mut world, outside: Rc::clone(&outside) });
    let mut outside = outside.borrow_mut();
    outside.check_end(&world.source.undone(), world.source.stop.has_given_up());
    let disk = std::mem::replace(&mut outside.disk, Disk::new(0, None));
    (disk, outside.tale)
}

impl Outside {
    /// Whether all was answered, and the disk holds what it must.
    fn check_end(&mut self, undone: &Undone, given_up: bool) {
        self.tale.lives += 1;
        self.see_resumed();
        let over = self.now < self.cut;
        if over {
            let left = self.peers.iter().position(|peer| !peer.shut);
            self.tale.given_up += u64::from(given_up);
            assert!(
                given_up && self.hung || left.is_none() && self.flights.is_empty(),
                "client {left:?} is left, {} requests",
                self.flights.len()
            );
            assert_eq!(undone.flush.is_none(), self.tale.flushed, "of the last flush it says otherwise: {undone:?}");
            let barred = self.barred.contains(&Some(Time::NEVER));
            assert!(
                !barred || !undone.is_nothing(),
                "a flush failed, nobody saw to it, and it ends as if all was well"
            );
            if self.tale.flushed && self.failures == 0 {
                let last = std::mem::take(&mut self.last);
                self.truth.keep(&last);
            }
        } else {
            self.tale.cuts += 1;
        }
        let under_way: Vec<Change> = self.flights.drain(..).filter_map(|flight| flight.change).collect();
        self.tear();
        for block in 0..BLOCKS as usize {
            let right = self.truth.may_be_left(block, self.disk.holds(block), &under_way);
            assert!(right, "block {block} is neither old nor new after {}", if over { "the end" } else { "the cut" });
        }
    }
}

/// Lives, one after the other, on one disk.
fn tell(seed: u64, lie: Option<Lie>) -> Tale {
    let mut draw = Draw::new(seed, 0);
    let mut disk = Disk::new(BLOCKS, lie);
    let mut tale = Tale::default();
    for _ in 0..3 {
        let script = Script::drawn(&mut draw);
        let (left, more) = live(script, &mut draw, disk);
        disk = left;
        tale.add(&more);
    }
    tale
}

/// What a variable of the environment says.
fn given(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|number| number.parse().unwrap_or_else(|_| panic!("{name}: a number")))
}

/// `HALFTURN_SEED=N` has one again; `HALFTURN_SEEDS=N` takes so many in place of 1,000, and both so many from that one on.
#[test]
fn whatever_fails_promises_are_kept() {
    let (first, many) = (given("HALFTURN_SEED"), given("HALFTURN_SEEDS"));
    let count = many.unwrap_or(if first.is_some() { 1 } else { 1000 });
    let (alone, mut all) = (count == 1, Tale::default());
    for seed in (first.unwrap_or(0)..).take(count as usize) {
        match std::panic::catch_unwind(|| tell(seed, None)) {
            Ok(tale) => all.add(&tale),
            Err(_) => panic!("again with HALFTURN_SEED={seed}"),
        }
    }
    println!("{all:?}");
    assert!(alone || all.cuts > 100 && all.answered > 10_000 && all.errors > 100 && all.stalls > 10, "{all:?}");
    assert!(alone || all.losses > 100 && all.given_up > 10, "{all:?}");
}

#[test]
fn the_same_seed_is_the_same_tale() {
    assert_eq!(tell(7, None), tell(7, None));
    assert_ne!(tell(7, None), tell(8, None));
}

/// A disk that says what is not so: that is noticed.
#[test]
fn what_is_not_so_is_noticed() {
    for lie in [Lie::Flushed, Lie::Barrier, Lie::Through, Lie::Read] {
        let noticed = (0..60).filter(|seed| std::panic::catch_unwind(|| tell(*seed, Some(lie))).is_err()).count();
        assert!(noticed > 5, "{lie:?} is noticed {noticed} times of 60");
    }
}
