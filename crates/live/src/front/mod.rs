//! NBD clients in transmission, as a source of requests.
//!
//! **A block is the least that is written, a byte the least that is asked.** Clients need not know of blocks: what
//! begins or ends inside one is read, changed and written by the front, alone among what shares a block with it.
//! A flush flushes the device, so that it holds for every connection.

mod array;
mod block_devices;
pub(crate) mod client;
mod fault;
#[cfg(test)]
mod faults;
mod line;
mod mail;
#[cfg(feature = "vhost-user")]
mod queues;
mod rules;
mod schedule;
mod status;
mod stop;
mod volume;
pub(crate) mod work;

use crate::bell::Mailbox;
use crate::memory::{PAGE, Pool, Slice};
use crate::metrics::Buckets;
use crate::ring::{RingOp, RingToken};
use crate::unit::Zeroes;
use crate::world::{Hands, Remaining, RequestSource};
use block::errno::{EIO, EOPNOTSUPP, ETIME, ETIMEDOUT};
use block::{BLOCK_BYTES, Change, DiskId, Ending, Request, RequestId, Span, Time};
use client::{Client, Heard};
pub use fault::{FaultSetting, VolumeFault};
use load::experiment::{ClientRule, FaultPlan, ServePlan};
pub use mail::EngineMessage;
use nbd::{CommandFlags, RequestType};
use rules::ClientRules;
pub use rules::ConnectedClient;
use sched::{Bill, Input, Pulse};
use schedule::FaultSchedule;
pub use status::Rates;
use std::cell::Cell;
use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use stop::Shutdown;
pub use stop::Undone;
pub use volume::{ServedVolume, Setting, VolumeReport};
use work::{InFlightRequest, Submission, Works};

/// Clients of a volume of which it is told who they are.
const MOST_TOLD: usize = 64;
/// Bytes of a request that a client may make who has none in flight: whatever others hold, nobody starves. Beyond the bound of
/// all there are some for requests that are small; for tiny ones always.
const SMALL: u64 = 1 << 20;
const SMALL_ONES: u64 = 64 << 20;
const TINY: u64 = 64 << 10;
/// Bytes that are sent before others are gathered.
const PLENTY: u64 = 256 << 10;

/// The transmission phase of all connections: requests in, replies out.
pub struct Front {
    mailbox: Mailbox<EngineMessage>,
    /// Clients there are, for the door to see.
    inside: Arc<AtomicU32>,
    /// Where the bell's strokes are heard.
    bell: (Rc<OwnedFd>, Slice),
    plan: ServePlan,
    volumes: Vec<ServedVolume>,
    rates: Rates,
    clients: Vec<Option<Client>>,
    works: Works,
    /// What the core is still to be told.
    ready: VecDeque<Input>,
    cancelled: VecDeque<RequestId>,
    /// Clients with something to send, to receive, or to be looked at for other reasons.
    touched: Vec<u32>,
    /// Clients whose requests wait for others to end.
    stalled: Vec<u32>,
    /// Bytes of requests in flight, and of answers that are not sent yet.
    bytes: u64,
    unsent: Rc<Cell<u64>>,
    /// When it is next looked for clients that are stuck.
    look: Time,
    stop: Shutdown,
    /// Whether the device does not answer: then nothing waits for it.
    hangs: bool,
    /// How clients are served who are not served as their volume is.
    rules: ClientRules,
    /// What is wrong with the volumes, and when something will be.
    faults: FaultSchedule,
    /// How many flushes have failed, and writes that were to reach the medium.
    failures: u64,
    /// What the core says of itself; and how late the host was.
    pulse: Rc<Cell<Pulse>>,
    late: Buckets,
}

impl Front {
    /// Serves these volumes to whoever the mailbox brings.
    ///
    /// # Errors
    /// When there are no descriptors left.
    pub fn new(
        mailbox: Mailbox<EngineMessage>,
        plan: ServePlan,
        volumes: Vec<ServedVolume>,
        inside: Arc<AtomicU32>,
    ) -> std::io::Result<Front> {
        let bell = Rc::new(mailbox.bell.try_clone()?);
        let strokes = Slice::new(PAGE);
        Ok(Front {
            mailbox,
            inside,
            bell: (bell, strokes),
            plan,
            volumes,
            rates: Rates::default(),
            clients: Vec::new(),
            works: Works::new(),
            ready: VecDeque::new(),
            cancelled: VecDeque::new(),
            touched: Vec::new(),
            stalled: Vec::new(),
            bytes: 0,
            unsent: Rc::default(),
            look: Time::ZERO,
            stop: Shutdown::new(),
            hangs: false,
            rules: ClientRules::default(),
            faults: FaultSchedule::default(),
            failures: 0,
            pulse: Rc::default(),
            late: Buckets::default(),
        })
    }

    /// The same, which tells how fast the parts of the device are.
    #[must_use]
    pub fn telling(self, rates: Rates) -> Front {
        Front { rates, ..self }
    }

    /// The same, of whose volumes something is wrong as a file says.
    ///
    /// # Errors
    /// When a volume is shorter than where its fault is to be: how.
    pub fn with_faults(self, plans: &[FaultPlan]) -> Result<Front, String> {
        let faults = FaultSchedule::new(plans, &self.volumes)?;
        Ok(Front { faults, ..self })
    }

    /// The same, some of whose clients are served as these rules say.
    ///
    /// # Errors
    /// When a rule names a user whom nobody knows.
    pub fn with_clients(self, rules: &[ClientRule]) -> Result<Front, String> {
        let rules = ClientRules::new(rules, &self.volumes)?;
        Ok(Front { rules, ..self })
    }

    /// How the volumes fared.
    #[must_use]
    pub fn reports(&self) -> Vec<VolumeReport> {
        let mut reports: Vec<VolumeReport> = self.volumes.iter().map(ServedVolume::report).collect();
        for client in self.clients.iter().flatten() {
            let told = &mut reports[client.volume].connected;
            if told.len() < MOST_TOLD {
                told.push(client.served.tell(&client.identity, &self.volumes[client.volume]));
            }
        }
        reports
    }

    /// Where the core is to say how it fares.
    pub(crate) fn pulse(&self) -> Rc<Cell<Pulse>> {
        Rc::clone(&self.pulse)
    }

    /// Listens for the bell.
    pub(crate) fn listen(&mut self, hands: &mut Hands) {
        let (bell, strokes) = (Rc::clone(&self.bell.0), self.bell.1.clone());
        if hands.kernel.push(&bell, RingToken::Bell, RingOp::Receive(strokes, false)).is_err() {
            self.stop.begin(hands.kernel.now());
        }
    }

    /// Reads what a client has sent, as far as there is room for it.
    fn read(&mut self, number: u32, now: Time, hands: &mut Hands) {
        loop {
            let Some(client) = self.clients[number as usize].as_mut() else { return };
            let room = room(&self.plan, client, self.bytes + self.unsent.get());
            match client.line.hear(room) {
                Heard::NotYet => {
                    if client.line.has_more() && !self.stalled.contains(&number) {
                        self.stalled.push(number);
                    }
                    return;
                }
                Heard::Again => {}
                Heard::Request(request) => self.take(number, request, now, hands),
                Heard::Payload(id) => self.start(id, hands),
                Heard::Query(request, payload) => self.query(number, &request, &payload, hands),
                Heard::Lost => return self.lose(number, hands),
            }
        }
    }

    /// Takes a request from a client: checks it, and passes it on or answers it with an error.
    fn take(&mut self, number: u32, request: nbd::ClientRequest, now: Time, hands: &mut Hands) {
        let Some(client) = self.clients[number as usize].as_mut() else { return };
        let volume = &mut self.volumes[client.volume];
        let refused = match request.command {
            RequestType::Disc => None,
            _ if self.hangs => Some(ETIMEDOUT),
            _ if volume.flush_failed && is_durable(&request) => Some(EIO),
            _ if request.flags.has(CommandFlags::FAST_ZERO) && !is_fast(&request, hands.unit.zeroes()) => {
                Some(EOPNOTSUPP)
            }
            _ => None,
        };
        if let Some(errno) = refused {
            volume.count_refusal(errno);
            client.line.refuse(&request, errno);
            return;
        }
        let base = self.volumes[client.volume].from * BLOCK_BYTES;
        match request.command {
            RequestType::Disc => return client.leave(),
            RequestType::Cache => return client.line.acknowledge(&request),
            // A hint of less than a block is passed over.
            RequestType::Trim if has_no_block(base + request.offset, request.length) => {
                return client.line.acknowledge(&request);
            }
            RequestType::BlockStatus => return self.tell_agreed_status(number, &request, hands),
            RequestType::Read
            | RequestType::Write
            | RequestType::Flush
            | RequestType::WriteZeroes
            | RequestType::Trim => {}
        }
        let id = self.works.take(number, request, (base, hands.unit.zeroes()), now, hands.pool);
        let Some(work) = self.works.get_mut(id) else { return };
        work.failures = self.failures;
        client.requests += 1;
        self.volumes[client.volume].in_flight += 1;
        client.bytes += work.weight();
        self.bytes += work.weight();
        match &work.data {
            Some(into) if request.command == RequestType::Write => {
                client.line.await_payload(id, into.clone());
            }
            _ => self.start(id, hands),
        }
    }

    fn start(&mut self, id: u32, hands: &mut Hands) {
        if let Some(asked) = self.works.start(id, hands.pool) {
            self.submit(asked);
        }
    }

    /// Submits a request to the core.
    fn submit(&mut self, Submission { id, op, at }: Submission) {
        let Some(work) = self.works.get(id.0) else { return };
        let Some(client) = &self.clients[work.client as usize] else { return };
        let volume = &self.volumes[client.volume];
        let qos = client.served.qos(volume, work.arrived);
        self.ready.push_back(Input::Submit(Request { id, op, at, qos }));
    }

    /// Nothing more is taken from a client; what is only half there never was.
    fn dismiss(&mut self, number: u32) {
        let Some(client) = self.clients[number as usize].as_mut() else { return };
        let half = client.line.half_said();
        client.leave();
        if let Some(work) = half {
            self.release(work);
        }
        self.touched.push(number);
    }

    /// A client is gone: what it waits for is not wanted any more.
    fn lose(&mut self, number: u32, hands: &mut Hands) {
        self.dismiss(number);
        let Some(client) = self.clients[number as usize].as_mut() else { return };
        client.lose(hands.kernel);
        self.cancelled.extend(self.works.reads_of(number));
    }

    /// A request has ended.
    fn release(&mut self, id: u32) -> Option<InFlightRequest> {
        let work = self.works.release(id)?;
        self.bytes -= work.weight();
        if let Some(client) = self.clients[work.client as usize].as_mut() {
            client.requests -= 1;
            self.volumes[client.volume].in_flight -= 1;
            client.bytes -= work.weight();
        }
        self.touched.push(work.client);
        Some(work)
    }

    /// Receives from, sends to and takes leave of those with whom something is to be done.
    fn tend(&mut self, hands: &mut Hands) {
        let mut next = 0;
        while let Some(&number) = self.touched.get(next) {
            next += 1;
            let Some(client) = self.clients[number as usize].as_mut() else { continue };
            if client.line.send(number, hands).and_then(|()| client.line.receive(number, hands)).is_err() {
                self.lose(number, hands);
                continue;
            }
            client.part(hands.kernel);
            if client.is_gone()
                && let Some(client) = self.clients[number as usize].take()
            {
                self.volumes[client.volume].clients -= 1;
                self.inside.fetch_sub(1, Ordering::Relaxed);
                client.line.end(hands.pool);
            }
        }
        self.touched.clear();
    }

    /// Lets those go who do not hear, or do not end what they say: whoever looks again in a quarter of the time they have
    /// lets none of them stay for much longer.
    fn let_go_of_stuck(&mut self, now: Time, hands: &mut Hands) {
        let patience = self.plan.unheard;
        self.look = now + Span(patience.0 / 4);
        let stuck = |client: &Option<Client>| client.as_ref().is_some_and(|client| client.line.is_stuck(now, patience));
        for number in 0..self.clients.len() {
            if stuck(&self.clients[number]) {
                self.lose(number as u32, hands);
            }
        }
    }

    /// Whether a request that was done may all the same not be answered so, since a flush has failed meanwhile. Of a write without
    /// FUA nothing is promised but to the next flush, which fails as well, unless the volume was told to go on by then.
    fn is_in_doubt(&self, work: &InFlightRequest, volume: usize) -> bool {
        let writes = work.request.command.writes() && !self.volumes[volume].flush_failed;
        work.failures != self.failures && (is_durable(&work.request) || writes)
    }

    /// Nobody waits any longer for what is in flight.
    fn fail_all(&mut self, now: Time) {
        for work in self.works.waiting() {
            let Some(client) = self.clients[work.client as usize].as_mut() else { continue };
            work.answered = true;
            let volume = &mut self.volumes[client.volume];
            volume.count_ending(now, &work.request, (work.arrived, client.served), Ending::Failed(ETIMEDOUT));
            client.line.fail(&work.request, ETIMEDOUT);
            self.touched.push(work.client);
        }
    }
}

/// Whether what is asked is to have something on the medium.
fn is_durable(request: &nbd::ClientRequest) -> bool {
    request.command == RequestType::Flush || request.fua()
}

/// Whether the device makes the zeros that are asked for faster than they could be written.
fn is_fast(request: &nbd::ClientRequest, zeroes: Zeroes) -> bool {
    if request.flags.has(CommandFlags::NO_HOLE) { zeroes.kept } else { zeroes.holes }
}

/// Whether no whole block is among so many bytes from one on.
fn has_no_block(from: u64, bytes: u64) -> bool {
    let (from, end) = work::whole_blocks(from, from + bytes);
    from == end
}

/// How many bytes the next request of a client may move, if it may make one; so many are in flight of all.
fn room(plan: &ServePlan, client: &Client, all: u64) -> Option<u64> {
    let left = plan.bytes.saturating_sub(client.memory()).min(plan.total.saturating_sub(all));
    let least = match client.memory() {
        0 if all < plan.total + SMALL_ONES => SMALL,
        0 => TINY,
        _ => 0,
    };
    (client.pending() < plan.requests).then_some(left.max(least))
}

impl RequestSource for Front {
    fn due(&self, _: u32) -> Option<Time> {
        let look = self.volumes.iter().any(|volume| volume.clients > 0).then_some(self.look);
        look.into_iter().chain(self.faults.due()).min()
    }

    fn ask(&mut self, now: Time, room: u32, hands: &mut Hands) -> Option<Input> {
        if now >= self.look {
            self.let_go_of_stuck(now, hands);
        }
        self.faults.follow(now, &mut self.volumes, hands);
        while let Some(id) = self.cancelled.pop_front() {
            // Its number may be another's by now.
            let client = self.works.get(id.0).and_then(|work| self.clients[work.client as usize].as_ref());
            if client.is_some_and(|client| client.line.is_shut()) {
                return Some(Input::Amend(id, Change::Cancel));
            }
        }
        self.stop.has_room(room);
        if room == 0 {
            return None;
        }
        if self.ready.is_empty() {
            for number in std::mem::take(&mut self.stalled) {
                self.touched.push(number);
                self.read(number, now, hands);
            }
        }
        self.ready.pop_front().or_else(|| self.last_flush(now))
    }

    fn numbers(&self) -> u32 {
        self.plan.connections.saturating_mul(self.plan.requests).saturating_add(1)
    }

    fn memory(&mut self, id: RequestId, from: usize, bytes: usize) -> Option<Slice> {
        self.works.memory(id.0, from, bytes)
    }

    fn renew_memory(&mut self, id: RequestId, pool: &mut Pool) {
        self.renew_read(id, pool);
    }

    fn on_give_up(&mut self, disk: DiskId, left: Remaining) {
        array::tell_given_up(disk, left);
    }

    fn resize(&mut self, bytes: u64) {
        self.volumes.iter_mut().for_each(|volume| volume.resize(bytes));
    }

    fn on_end(&mut self, now: Time, id: RequestId, how: Ending, hands: &mut Hands) {
        let more = match how {
            Ending::Finished => self.works.go_on(id.0, now, hands.pool),
            Ending::Failed(EOPNOTSUPP) if self.works.get(id.0).is_some_and(InFlightRequest::may_be_written) => {
                self.works.write_instead(id.0, hands.pool)
            }
            _ => None,
        };
        if let Some(asked) = more {
            return self.submit(asked);
        }
        let Some(work) = self.release(id.0) else { return self.stop.note_flush(how) };
        while let Some(asked) = self.works.let_go(hands.pool) {
            self.submit(asked);
        }
        let Some(volume) = self.clients[work.client as usize].as_ref().map(|client| client.volume) else { return };
        let how = if how == Ending::Finished && self.is_in_doubt(&work, volume) { Ending::Failed(EIO) } else { how };
        let Some(client) = self.clients[work.client as usize].as_mut().filter(|_| !work.answered) else { return };
        let served = client.served;
        self.volumes[volume].count_ending(now, &work.request, (work.arrived, served), how);
        let errno = match how {
            Ending::Finished => None,
            Ending::Failed(errno) => Some(errno),
            Ending::Dropped => Some(ETIME),
        };
        let read = work.request.command == RequestType::Read;
        match errno {
            None if read => client.line.give(&work),
            None => client.line.acknowledge(&work.request),
            Some(errno) => client.line.fail(&work.request, errno),
        }
        // So much is on its way while the next is read: a socket takes no more at once.
        let is_lost = client.line.unheard().1 >= PLENTY && client.line.send(work.client, hands).is_err();
        if let Some(data) = work.data {
            hands.pool.give(data.buffer);
        }
        if is_lost {
            self.lose(work.client, hands);
        }
    }

    fn on_arm_time(&mut self, id: Option<RequestId>, bill: &Bill, (from, until): (Time, Time)) {
        let client =
            id.and_then(|id| self.works.get(id.0)).and_then(|work| self.clients[work.client as usize].as_ref());
        let own = client.map(|client| (client.volume, client.served.class(&self.volumes[client.volume])));
        volume::bill(&mut self.volumes, own, bill, until.since(from));
    }

    fn on_start(&mut self, now: Time, id: RequestId) {
        self.works.note_start(id.0, now);
    }

    fn on_data(&mut self, id: RequestId, memory: &Slice) {
        let Some(work) = self.works.get_mut(id.0) else { return };
        let Some(part) = work.take_part(memory) else { return };
        let Some(client) = self.clients[work.client as usize].as_mut() else { return };
        if client.line.give_part(work, &part) {
            work.told += part.bytes;
            self.touched.push(work.client);
        }
    }

    fn on_completion(&mut self, now: Time, token: RingToken, result: i32, hands: &mut Hands) {
        match token {
            RingToken::Bell => {
                self.read_mail(hands);
                self.listen(hands);
                let welcome: Vec<u32> = self.touched.clone();
                welcome.into_iter().for_each(|number| self.read(number, now, hands));
            }
            RingToken::Received(number) | RingToken::Driver(number, _) => {
                let Some(client) = self.clients[number as usize].as_mut() else { return };
                let is_there = match token {
                    RingToken::Driver(_, own) => client.line.note_driver(own, result),
                    _ => client.line.note_received(result),
                };
                if is_there {
                    self.touched.push(number);
                    self.read(number, now, hands);
                } else {
                    self.lose(number, hands);
                }
            }
            RingToken::Sent(number) => {
                let Some(client) = self.clients[number as usize].as_mut() else { return };
                if client.line.note_sent(result, number, hands).is_err() {
                    self.lose(number, hands);
                }
                self.touched.push(number);
            }
            RingToken::Unit(_) => {}
        }
    }

    fn note_lateness(&mut self, late: Span) {
        self.late.add(late);
    }

    fn hang(&mut self, now: Time) {
        self.hangs = true;
        self.volumes.iter_mut().for_each(|volume| volume.hangs = true);
        self.fail_all(now);
    }

    fn recover(&mut self) {
        self.hangs = false;
        self.volumes.iter_mut().for_each(|volume| volume.hangs = false);
    }

    fn flush_failed(&mut self) {
        self.failures += 1;
        self.volumes.iter_mut().for_each(|volume| volume.flush_failed = true);
    }

    fn gives_up_at(&self, last: Time) -> Option<Time> {
        self.gives_up_after(last)
    }

    fn give_up(&mut self, now: Time) {
        self.gives_up(now);
    }

    fn has_given_up(&self) -> bool {
        self.stop.has_given_up()
    }

    fn quiet(&mut self, hands: &mut Hands) -> bool {
        self.tend(hands);
        !self.cancelled.is_empty() || self.awaits_last_flush()
    }

    fn is_over(&self) -> bool {
        self.stop.is_over()
    }
}
