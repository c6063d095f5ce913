//! All that is outside of an engine, in virtual time: the clock, the disk, the clients, and the power.

use super::disk::Disk;
use super::peer::Peer;
use super::truth::{Change, Made, Truth};
use super::{Script, TIMEOUT, VOLUME};
use crate::front::EngineMessage;
use crate::kernel::Kernel;
use crate::memory::Slice;
use crate::ring::{RingOp, RingToken};
use block::errno::{EIO, EOPNOTSUPP};
use block::{BLOCK_BYTES, Discarded, Time};
use load::Draw;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender, channel};

const BROKEN_PIPE: i32 = 32;
/// No life takes longer.
const LONGEST: Time = Time(1_000_000_000);

/// Something that is going to happen.
pub(super) enum Event {
    /// A command of the device comes back.
    Device(u32, RingOp, u64),
    /// A client's bytes are received, or it is found gone.
    Received(u32, u32, Slice, bool),
    /// Bytes to a client are sent.
    Sent(u32, u32, Vec<Slice>),
    /// The mailbox was filled.
    Bell,
    /// A client connects.
    Knock,
    /// A client asks something, or goes.
    Ask(u32),
    /// A volume is told to go on after a failed flush.
    Resume(usize),
    /// The service is told to stop.
    Stop,
}

/// What came about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tale {
    pub(super) lives: u64,
    pub(super) cuts: u64,
    pub(super) answered: u64,
    pub(super) failed: u64,
    pub(super) errors: u64,
    pub(super) stalls: u64,
    pub(super) commands: u64,
    /// Clients that went at once.
    pub(super) vanished: u64,
    /// Clients that took no answers.
    pub(super) deaf: u64,
    /// Flushes that failed, and what had been written before was lost; ends at which something was given up.
    pub(super) losses: u64,
    pub(super) given_up: u64,
    /// Whether the last flush was done.
    pub(super) flushed: bool,
}

impl Tale {
    pub(super) fn add(&mut self, other: &Tale) {
        self.lives += other.lives;
        self.cuts += other.cuts;
        self.answered += other.answered;
        self.failed += other.failed;
        self.errors += other.errors;
        self.stalls += other.stalls;
        self.commands += other.commands;
        self.vanished += other.vanished;
        self.deaf += other.deaf;
        self.losses += other.losses;
        self.given_up += other.given_up;
    }
}

/// What is under way at the core, in the order in which it was asked for.
pub(super) struct Flight {
    pub(super) id: u32,
    pub(super) client: u32,
    pub(super) cookie: u64,
    /// Bytes of the disk, and whether it changes them.
    pub(super) at: (u64, u64),
    pub(super) change: Option<Change>,
    /// Whether it only reads what it will then change.
    pub(super) prepares: bool,
    /// Whether it is the flush at the end of what is given up; and whether giving up is no more than a hint.
    pub(super) forces: bool,
    pub(super) hint: bool,
    /// How often something had been lost when it began.
    pub(super) losses: u64,
}

/// The world outside.
pub(super) struct Outside {
    pub(super) script: Script,
    pub(super) draw: Draw,
    pub(super) now: Time,
    events: BTreeMap<(Time, u64), Event>,
    scheduled: u64,
    completed: VecDeque<(RingToken, i32)>,
    pub(super) disk: Disk,
    pub(super) truth: Truth,
    pub(super) peers: Vec<Peer>,
    /// By its socket, and by the number the engine gives it: which client it is.
    sockets: BTreeMap<RawFd, u32>,
    pub(super) numbers: BTreeMap<u32, u32>,
    pub(super) flights: Vec<Flight>,
    /// By request: how often the command that came back last has failed.
    pub(super) failed: BTreeMap<u32, u8>,
    /// Whether a command took longer than is waited for.
    pub(super) hung: bool,
    /// Flushes and writes with FUA that the engine has seen fail. By volume, until when none could succeed for that.
    pub(super) failures: u64,
    pub(super) barred: [Option<Time>; 2],
    resumed: Vec<(usize, Receiver<Result<(), String>>)>,
    /// What the last flush is to keep.
    pub(super) last: Made,
    /// Receives and sends for which nothing is there yet.
    waiting: Vec<Event>,
    listening: bool,
    pub(super) mail: Option<Sender<EngineMessage>>,
    /// Clients still to come, requests still to be asked.
    pub(super) to_come: u32,
    pub(super) to_ask: u32,
    pub(super) stopping: bool,
    /// When the power goes.
    pub(super) cut: Time,
    pub(super) tale: Tale,
}

impl Outside {
    pub(super) fn new(script: Script, draw: Draw, disk: Disk, truth: Truth) -> Outside {
        Outside {
            script,
            draw,
            now: Time::ZERO,
            events: BTreeMap::new(),
            scheduled: 0,
            completed: VecDeque::new(),
            disk,
            truth,
            peers: Vec::new(),
            sockets: BTreeMap::new(),
            numbers: BTreeMap::new(),
            flights: Vec::new(),
            failed: BTreeMap::new(),
            hung: false,
            failures: 0,
            barred: [None; 2],
            resumed: Vec::new(),
            last: Made::new(),
            waiting: Vec::new(),
            listening: false,
            mail: None,
            to_come: script.clients,
            to_ask: script.requests,
            stopping: false,
            cut: Time::NEVER,
            tale: Tale::default(),
        }
    }

    /// Something happens after a while, of at most so many ns.
    pub(super) fn after(&mut self, most: u64, event: Event) {
        let at = Time(self.now.0 + 1 + self.draw.below(most));
        self.scheduled += 1;
        self.events.insert((at, self.scheduled), event);
    }

    /// Which client a socket is of.
    fn client(&mut self, file: &OwnedFd, number: u32) -> u32 {
        let client = self.sockets[&file.as_raw_fd()];
        self.numbers.insert(number, client);
        client
    }

    fn push(&mut self, file: &Rc<OwnedFd>, token: RingToken, op: RingOp) {
        match (token, op) {
            (RingToken::Bell, _) => {
                self.listening = true;
                self.after(50, Event::Bell);
            }
            (RingToken::Received(number), RingOp::Receive(slice, whole)) => {
                let client = self.client(file, number);
                self.after(2_000, Event::Received(number, client, slice, whole));
            }
            (RingToken::Sent(number), RingOp::Send(slices)) => {
                let client = self.client(file, number);
                self.after(4_000, Event::Sent(number, client, slices));
            }
            (RingToken::Unit(tag), op) => {
                self.tale.commands += 1;
                let stalls = self.script.stalls > 0 && self.draw.below(self.script.stalls) == 0;
                self.hung |= stalls;
                self.tale.stalls += u64::from(stalls);
                let mark = self.disk.mark();
                self.after(if stalls { 3 * TIMEOUT.0 } else { 10_000 }, Event::Device(tag, op, mark));
            }
            (token, _) => panic!("{token:?} is asked for what is none of its"),
        }
    }

    /// Requests that clients wait for.
    fn unanswered(&self) -> Vec<nbd::ClientRequest> {
        let left = self.peers.iter().filter(|peer| !peer.gone).flat_map(|peer| peer.pending.values());
        left.map(|pending| pending.request).collect()
    }

    /// What is next happens, at the latest at a time. Nothing happens after the power went.
    fn go_on(&mut self, until: Option<Time>) -> io::Result<()> {
        let next = self.events.keys().next().map(|(at, _)| *at);
        let Some(at) = [next, until, Some(self.cut)].into_iter().flatten().filter(|at| *at < Time::NEVER).min() else {
            panic!("nothing happens any more, while {:?} wait for answers", self.unanswered());
        };
        self.now = self.now.max(at);
        assert!(
            self.now < LONGEST,
            "it does not end: {} are not done, {:?} wait for answers",
            self.flights.len(),
            self.unanswered()
        );
        if self.now >= self.cut {
            return Err(io::Error::other("the power is cut"));
        }
        while let Some(entry) = self.events.first_entry().filter(|entry| entry.key().0 <= self.now) {
            let event = entry.remove();
            self.happens(event);
        }
        Ok(())
    }

    /// The engine has seen a flush fail: none succeeds from now on.
    pub(super) fn flush_fails(&mut self) {
        self.see_resumed();
        self.failures += 1;
        self.barred = [Some(Time::NEVER); 2];
        for volume in 0..2 {
            if self.draw.below(3) > 0 {
                self.after(60_000, Event::Resume(volume));
            }
        }
    }

    /// Which volumes have been told to go on.
    pub(super) fn see_resumed(&mut self) {
        let Outside { resumed, barred, truth, now, .. } = self;
        resumed.retain(|(volume, answer)| match answer.try_recv() {
            Ok(answer) => {
                answer.expect("there is such a volume");
                barred[*volume] = barred[*volume].map(|until| until.min(*now));
                let first = *volume * VOLUME as usize;
                truth.accept(first..first + VOLUME as usize);
                false
            }
            Err(_) => true,
        });
    }

    fn happens(&mut self, event: Event) {
        self.see_resumed();
        match event {
            Event::Resume(volume) => {
                let (asker, answer) = channel();
                self.resumed.push((volume, answer));
                self.tell(EngineMessage::Resume(["a", "b"][volume].into(), asker));
            }
            Event::Device(tag, op, mark) => {
                let result = self.serve(&op, mark);
                self.completed.push_back((RingToken::Unit(tag), result));
            }
            Event::Received(number, client, slice, whole) => self.receive(number, client, slice, whole),
            Event::Sent(number, client, slices) => self.send(number, client, slices),
            Event::Bell if self.listening => {
                self.listening = false;
                self.completed.push_back((RingToken::Bell, 1));
            }
            Event::Bell => {}
            Event::Knock => self.knock(),
            Event::Ask(client) => self.ask(client),
            Event::Stop => {
                self.stopping = true;
                self.tell(EngineMessage::Stop);
            }
        }
    }

    pub(super) fn tell(&mut self, message: EngineMessage) {
        // An engine that has ended reads no mail.
        if let Some(mail) = &self.mail {
            let _ = mail.send(message);
        }
        self.after(50, Event::Bell);
    }

    /// A command of the device is done, or not; the result.
    fn serve(&mut self, op: &RingOp, mark: u64) -> i32 {
        let fails = self.script.errors > 0 && self.draw.below(self.script.errors) == 0;
        self.tale.errors += u64::from(fails);
        let (slice, at) = match op {
            RingOp::Read(slice, at) | RingOp::Write(slice, at, _) => (slice, *at),
            RingOp::Discard(_, _, what) if *what != Discarded::Anything && self.script.unable => return -EOPNOTSUPP,
            RingOp::Discard(at, bytes, what) => {
                for block in at / BLOCK_BYTES..(at + bytes) / BLOCK_BYTES {
                    let skips = fails || *what == Discarded::Anything;
                    if !(skips && self.draw.below(2) == 0) {
                        self.disk.discard(block as usize);
                    }
                }
                return if fails { -EIO } else { 0 };
            }
            _ if fails => {
                self.lose(mark);
                return -EIO;
            }
            _ => {
                self.disk.flush(mark);
                return 0;
            }
        };
        // What can be read without the medium need not stay so.
        if self.draw.below(8) == 0 {
            self.disk.evict(&mut self.draw);
        }
        // The error may be of what others have written before, which is lost with it.
        if fails && matches!(op, RingOp::Write(_, _, true)) && self.draw.below(2) == 0 {
            self.lose(mark);
        }
        // Now and then only some of it is done at once.
        let blocks = slice.bytes as u64 / BLOCK_BYTES;
        let done = if self.draw.below(12) == 0 { 1 + self.draw.below(blocks) } else { blocks };
        let first = (at / BLOCK_BYTES) as usize;
        for number in 0..done as usize {
            // Of what fails, some may have been done.
            if fails && self.draw.below(2) == 0 {
                continue;
            }
            let within = slice.from + number * BLOCK_BYTES as usize;
            if let RingOp::Write(_, _, through) = op {
                let mut bytes = [0; BLOCK_BYTES as usize];
                slice.buffer.get(within, &mut bytes);
                self.disk.write(first + number, &bytes, *through);
            } else {
                slice.buffer.put(within, self.disk.holds(first + number));
            }
        }
        if fails { -EIO } else { (done * BLOCK_BYTES) as i32 }
    }

    /// A flush fails.
    fn lose(&mut self, mark: u64) {
        self.tale.losses += 1;
        self.disk.fail_flush(mark, &mut self.draw);
        self.truth.lose();
    }

    fn receive(&mut self, number: u32, client: u32, slice: Slice, whole: bool) {
        let peer = &mut self.peers[client as usize];
        let (there, over) = (peer.sent.len(), peer.gone || peer.shut);
        let most = slice.bytes.min(there);
        if peer.shut || most == 0 && over {
            self.completed.push_back((RingToken::Received(number), 0));
        } else if most == 0 || whole && most < slice.bytes && !over {
            self.waiting.push(Event::Received(number, client, slice, whole));
        } else {
            let some = !whole && self.draw.below(4) == 0;
            let count = if some { 1 + self.draw.below(most as u64) as usize } else { most };
            let bytes: Vec<u8> = peer.sent.drain(..count).collect();
            slice.buffer.put(slice.from, &bytes);
            self.completed.push_back((RingToken::Received(number), count as i32));
        }
    }

    fn send(&mut self, number: u32, client: u32, slices: Vec<Slice>) {
        let peer = &self.peers[client as usize];
        if peer.gone || peer.shut {
            return self.completed.push_back((RingToken::Sent(number), -BROKEN_PIPE));
        }
        if peer.deaf {
            return self.waiting.push(Event::Sent(number, client, slices));
        }
        let count = self.hears(client, &slices);
        self.completed.push_back((RingToken::Sent(number), count as i32));
    }

    /// A client hears some of what it is sent: so many bytes.
    fn hears(&mut self, client: u32, slices: &[Slice]) -> usize {
        let mut bytes = Vec::new();
        for slice in slices {
            let from = bytes.len();
            bytes.resize(from + slice.bytes, 0);
            slice.buffer.get(slice.from, &mut bytes[from..]);
        }
        if self.draw.below(8) == 0 {
            bytes.truncate(1 + self.draw.below(bytes.len() as u64) as usize);
        }
        self.see_resumed();
        let peer = &mut self.peers[client as usize];
        let (base, barred) = (peer.base, self.barred[peer.session.export]);
        for (pending, answer) in peer.hear(&bytes) {
            pending.check(answer, base, self.hung, pending.is_barred(barred));
            self.tale.answered += 1;
            self.tale.failed += u64::from(answer.is_err());
            if answer.is_ok() {
                self.truth.answered(&pending.made);
                self.truth.keep(&pending.keeps);
                if pending.request.fua() {
                    self.truth.keep(&pending.made);
                }
            }
        }
        bytes.len()
    }

    /// A client asks, or goes.
    fn ask(&mut self, client: u32) {
        let peer = &mut self.peers[client as usize];
        if peer.silent || peer.shut {
            return;
        }
        if self.to_ask == 0 || self.draw.below(25) == 0 {
            if self.to_ask == 0 && !peer.pending.is_empty() {
                return self.after(20_000, Event::Ask(client));
            }
            peer.deaf = !peer.pending.is_empty() && self.draw.below(3) == 0;
            if peer.deaf {
                peer.silent = true;
            } else {
                peer.go(&mut self.draw);
            }
            self.tale.deaf += u64::from(peer.deaf);
            self.tale.vanished += u64::from(peer.gone);
            self.to_come += u32::from(self.to_ask > 0);
            self.after(20_000, Event::Knock);
        } else {
            if (peer.pending.len() as u64) < self.script.depth {
                self.to_ask -= 1;
                // Another volume may still have to be told of what was lost.
                let (truth, first) = (&self.truth, (peer.base / BLOCK_BYTES) as usize);
                let volume = first..first + VOLUME as usize;
                peer.ask(self.now, &mut self.draw, || truth.all_answered(volume));
            }
            self.after(8_000, Event::Ask(client));
        }
        self.look_again(client);
    }

    /// Who waited for something of a client sees whether it is there.
    fn look_again(&mut self, client: u32) {
        let of = |event: &Event| matches!(event, Event::Received(_, of, ..) | Event::Sent(_, of, _) if *of == client);
        let (ready, waiting) = std::mem::take(&mut self.waiting).into_iter().partition(of);
        self.waiting = waiting;
        let ready: Vec<Event> = ready;
        ready.into_iter().for_each(|event| self.after(2_000, event));
    }

    fn knock(&mut self) {
        if self.to_come == 0 {
            // Whoever was to come has come, and gone.
            if self.to_ask == 0 && !self.stopping && self.peers.iter().all(|peer| peer.silent) {
                self.after(20_000, Event::Stop);
            }
            return;
        }
        self.to_come -= 1;
        let socket = OwnedFd::from(std::fs::File::open("/dev/null").expect("a descriptor"));
        let client = self.peers.len() as u32;
        self.sockets.insert(socket.as_raw_fd(), client);
        let (session, base) = self.script.session(&mut self.draw);
        self.peers.push(Peer::new(session, base));
        self.tell(EngineMessage::Client(socket, session, Vec::new(), crate::Identity::default()));
        self.after(8_000, Event::Ask(client));
    }
}

/// What an engine sees of it.
#[derive(Clone)]
pub(super) struct Virtual(pub(super) Rc<RefCell<Outside>>);

impl Kernel for Virtual {
    fn now(&self) -> Time {
        self.0.borrow().now
    }

    fn push(&mut self, file: &Rc<OwnedFd>, token: RingToken, op: RingOp) -> io::Result<()> {
        self.0.borrow_mut().push(file, token, op);
        Ok(())
    }

    fn take(&mut self) -> Option<(RingToken, i32)> {
        self.0.borrow_mut().completed.pop_front()
    }

    fn sleep(&mut self, until: Option<Time>) -> io::Result<()> {
        let mut outside = self.0.borrow_mut();
        if outside.completed.is_empty() { outside.go_on(until) } else { Ok(()) }
    }

    fn send(&mut self, socket: &OwnedFd, pieces: &[Slice]) -> usize {
        let mut outside = self.0.borrow_mut();
        let client = outside.sockets[&socket.as_raw_fd()];
        let peer = &outside.peers[client as usize];
        let over = peer.gone || peer.shut || peer.deaf;
        if !over && outside.draw.below(3) > 0 { outside.hears(client, pieces) } else { 0 }
    }

    fn shut(&mut self, socket: &OwnedFd) {
        let mut outside = self.0.borrow_mut();
        let (client, stopping) = (outside.sockets[&socket.as_raw_fd()], outside.stopping);
        let peer = &mut outside.peers[client as usize];
        let left: Vec<_> = peer.pending.values().map(|pending| pending.request).collect();
        assert!(
            peer.gone || peer.deaf || stopping || peer.silent && left.is_empty(),
            "hung up on while {left:?} wait for answers"
        );
        peer.shut = true;
        outside.look_again(client);
    }
}

impl Outside {
    /// The power goes: of what the device has in flight, any blocks are written.
    pub(super) fn tear(&mut self) {
        for (_, event) in std::mem::take(&mut self.events) {
            if let Event::Device(_, RingOp::Discard(at, bytes, _), _) = event {
                for block in at / BLOCK_BYTES..(at + bytes) / BLOCK_BYTES {
                    if self.draw.below(2) == 0 {
                        self.disk.discard(block as usize);
                    }
                }
            }
            let Event::Device(_, RingOp::Write(slice, at, _), _) = event else { continue };
            for number in 0..slice.bytes / BLOCK_BYTES as usize {
                if self.draw.below(2) == 0 {
                    let mut bytes = [0; BLOCK_BYTES as usize];
                    slice.buffer.get(slice.from + number * BLOCK_BYTES as usize, &mut bytes);
                    self.disk.write((at / BLOCK_BYTES) as usize + number, &bytes, false);
                }
            }
        }
        self.disk.cut(&mut self.draw);
    }
}
