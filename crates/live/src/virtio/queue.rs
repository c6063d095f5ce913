//! A queue of a virtual disk, as the line of a client: requests from its ring of what is available, answers into that of what is used.

use super::ask::{Chain, GuestRequest, Nonsense, Status};
use super::disk::{EVENT_IDX, VirtualDisk};
use super::inflight::InflightQueue;
use super::pacing::Pacing;
use crate::front::client::{ClientLine, Heard, moves};
use crate::front::work::InFlightRequest;
use crate::identity::Identity;
use crate::kernel::Kernel;
use crate::memory::{Pool, Slice};
use crate::ring::{RingOp, RingToken};
use crate::world::Hands;
use block::Direction;
use block::errno::EOPNOTSUPP;
use nbd::ClientRequest;
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use virtio_queue::{Queue, QueueOwnedT, QueueT};
use vm_memory::{GuestAddress, GuestMemoryMmap};

/// The most entries of a queue.
pub(super) const LONGEST_QUEUE: u16 = 1024;

/// A queue that is to be served.
pub struct GuestQueue {
    /// By what it is known, and its place among those of its disk.
    pub(super) number: u64,
    pub(super) place: u16,
    pub(super) volume: usize,
    pub(super) disk: Arc<VirtualDisk>,
    pub(super) identity: Identity,
    pub(super) memory: GuestMemoryMmap,
    pub(super) queue: Queue,
    /// Where requests to do over lie, the first that came first.
    pub(super) again: Vec<u16>,
    pub(super) inflight: Option<InflightQueue>,
    /// What rings when there is something in it, whom to call when something was answered, and when it cannot go on.
    pub(super) kick: OwnedFd,
    pub(super) call: Option<OwnedFd>,
    pub(super) error: Option<OwnedFd>,
}

impl GuestQueue {
    /// The volume that it is of.
    pub(crate) fn volume(&self) -> usize {
        self.volume
    }

    /// Who shares the memory it is in.
    pub(crate) fn identity(&self) -> Identity {
        self.identity.clone()
    }
}

/// Where a queue's rings are, and how long they are.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rings {
    pub(super) entries: u16,
    pub(super) descriptors: u64,
    pub(super) available: u64,
    pub(super) used: u64,
}

/// The rings of a queue, of which a request lies next at this place; nothing, where they do not lie in the memory.
pub(super) fn rings(memory: &GuestMemoryMmap, rings: &Rings, next: u16, features: u64) -> Option<Queue> {
    let mut queue = Queue::new(LONGEST_QUEUE).ok()?;
    queue.try_set_size(rings.entries).ok()?;
    queue.try_set_desc_table_address(GuestAddress(rings.descriptors)).ok()?;
    queue.try_set_avail_ring_address(GuestAddress(rings.available)).ok()?;
    queue.try_set_used_ring_address(GuestAddress(rings.used)).ok()?;
    queue.set_event_idx(features & EVENT_IDX != 0);
    queue.set_next_avail(next);
    queue.set_ready(true);
    if !queue.is_valid(memory) {
        return None;
    }
    let used = queue.used_idx(memory, Ordering::Acquire).ok()?;
    queue.set_next_used(used.0);
    Some(queue)
}

/// What is taken from a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QueueState {
    /// All there is of the memory.
    Open,
    /// What is to be done over; nothing new.
    Ending,
    /// Nothing: it makes no sense.
    Senseless,
}

/// A queue that is served.
pub(crate) struct QueueLine {
    number: u64,
    place: u16,
    disk: Arc<VirtualDisk>,
    memory: GuestMemoryMmap,
    queue: Queue,
    inflight: Option<InflightQueue>,
    kick: Rc<OwnedFd>,
    call: Option<OwnedFd>,
    error: Option<OwnedFd>,
    /// By where a request begins: its memory, and whether it is not answered yet.
    chains: Vec<(Chain, bool)>,
    again: VecDeque<u16>,
    /// What is to be written, of a request of the front's by this number: whose memory it lies in, and where it goes.
    payload: Option<(u32, u16, Slice)>,
    last: u16,
    /// Requests that were answered as soon as they were read, since the bell rang.
    quick: u16,
    /// Whether something lies in it that there was no room for.
    more: bool,
    /// Whether something was answered that nobody was called for.
    uncalled: bool,
    /// Whether the bell is waited for, or the end of a pause; and when it is which.
    waits: bool,
    pacing: Pacing,
    /// What is taken from it; and whether nothing is answered any more.
    open: QueueState,
    shut: bool,
    told: Option<Sender<u16>>,
}

impl QueueLine {
    pub(crate) fn new(queue: GuestQueue) -> QueueLine {
        let GuestQueue { number, place, disk, memory, queue, again, inflight, kick, call, error, .. } = queue;
        let chains = (0..queue.size()).map(|_| Default::default()).collect();
        QueueLine {
            number,
            place,
            disk,
            memory,
            queue,
            inflight,
            kick: Rc::new(kick),
            call,
            error,
            chains,
            again: again.into(),
            payload: None,
            last: 0,
            quick: 0,
            more: false,
            uncalled: false,
            waits: false,
            pacing: Pacing::new(),
            open: QueueState::Open,
            shut: false,
            told: None,
        }
    }

    /// By what it is known.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Its addresses are of this memory from now on.
    pub(crate) fn set_memory(&mut self, memory: GuestMemoryMmap) {
        self.memory = memory;
    }

    /// Whoever asks is called here from now on, and at once: he may have been called where nobody hears it.
    pub(crate) fn set_call(&mut self, call: Option<OwnedFd>) {
        self.call = call;
        self.call();
    }

    /// Somebody waits for it to end, and where the next request will lie.
    pub(crate) fn tell_end(&mut self, told: Sender<u16>) {
        self.told = Some(told);
    }

    /// Whether there may be something to take.
    fn is_open(&self) -> bool {
        let open = match self.open {
            QueueState::Open => true,
            QueueState::Ending => !self.again.is_empty(),
            QueueState::Senseless => false,
        };
        open && !self.shut
    }

    fn call(&self) {
        self.call.iter().for_each(ring);
    }

    /// The next request: where it begins, if there is one.
    fn next(&mut self) -> Result<Option<u16>, Nonsense> {
        if let Some(head) = self.again.front() {
            return Ok(Some(*head));
        }
        let mut available =
            self.queue.iter(&self.memory).map_err(|_| Nonsense("a ring with more than it has room for"))?;
        Ok(available.next().map(|chain| chain.head_index()))
    }

    /// Reads the next request, if it moves no more than this.
    fn read(&mut self, room: Option<u64>) -> Result<Heard, Nonsense> {
        let Some(head) = self.next()? else {
            self.more = false;
            if self.pacing.is_silent() {
                return Ok(Heard::NotYet);
            }
            let came = self.queue.enable_notification(&self.memory);
            return came.map(|came| if came { Heard::Again } else { Heard::NotYet }).map_err(|_| OUTSIDE);
        };
        let table = (GuestAddress(self.queue.desc_table()), self.queue.size());
        let Some((chain, taken)) = self.chains.get_mut(usize::from(head)) else {
            return Err(Nonsense("a request outside its table"));
        };
        if *taken {
            return Err(Nonsense("a request that is in flight already"));
        }
        chain.follow(&self.memory, table, head)?;
        let asked = chain.ask(&self.memory, head, &self.disk)?;
        let moved = if let GuestRequest::Request(request) = &asked { moves(request) } else { 0 };
        if room.is_none_or(|room| moved > room) {
            // It is looked at again later.
            if self.again.is_empty() {
                self.queue.go_to_previous_position();
            }
            self.more = true;
            return Ok(Heard::NotYet);
        }
        *taken = true;
        self.pacing.note_taken();
        self.again.pop_front();
        self.last = head;
        self.more = false;
        self.inflight.iter_mut().for_each(|inflight| inflight.begin(head));
        match asked {
            GuestRequest::Request(request) => return Ok(Heard::Request(request)),
            GuestRequest::Name => {
                let told = self.chains[usize::from(head)].0.give_name(&self.memory, &self.disk.short_name());
                self.end(head, if told { Status::Ok } else { Status::IoError }, Direction::Read);
            }
            GuestRequest::Nothing(status) => self.end(head, status, Direction::Write),
        }
        self.quick += 1;
        if self.quick < self.queue.size() {
            return Ok(Heard::Again);
        }
        // Whoever asks nothing but this has others served in between.
        ring(&self.kick);
        Ok(Heard::NotYet)
    }

    /// A request has ended, whose data went this way, if any did.
    fn end(&mut self, head: u16, status: Status, direction: Direction) {
        let Some((chain, taken)) = self.chains.get_mut(usize::from(head)).filter(|_| !self.shut) else { return };
        if !std::mem::take(taken) {
            return;
        }
        chain.give_status(&self.memory, status);
        let written = chain.count_written(status, direction);
        self.inflight.iter_mut().for_each(|inflight| inflight.prepare_end(head));
        let used = self.queue.add_used(&self.memory, head, written);
        let count = self.queue.next_used();
        self.inflight.iter_mut().for_each(|inflight| inflight.end(head, count));
        self.uncalled = true;
        if used.is_err() {
            self.give_up(OUTSIDE);
        }
    }

    /// It makes no sense: nothing more is taken from it.
    fn give_up(&mut self, Nonsense(why): Nonsense) {
        if self.open != QueueState::Senseless {
            self.open = QueueState::Senseless;
            self.more = false;
            eprintln!(
                "volume '{}': queue {} of its virtual disk is not served any more: {why}",
                self.disk.name, self.place
            );
            self.error.iter().for_each(ring);
        }
    }
}

const OUTSIDE: Nonsense = Nonsense("a ring outside the memory");

/// Rings a bell; one that is full of strokes is being heard already.
fn ring(bell: impl std::os::fd::AsFd) {
    let _ = rustix::io::write(bell, &1_u64.to_ne_bytes());
}

/// Where a request begins that the front has.
fn head(request: &ClientRequest) -> u16 {
    request.cookie as u16
}

impl ClientLine for QueueLine {
    fn hear(&mut self, room: Option<u64>) -> Heard {
        if let Some((work, head, into)) = self.payload.take() {
            if self.chains[usize::from(head)].0.payload(&self.memory, &into) {
                return Heard::Payload(work);
            }
            self.payload = Some((work, head, into));
            self.give_up(Nonsense("memory that was taken away"));
        }
        if !self.is_open() {
            return Heard::NotYet;
        }
        self.read(room).unwrap_or_else(|nonsense| {
            self.give_up(nonsense);
            Heard::NotYet
        })
    }

    fn has_more(&self) -> bool {
        self.more
    }

    fn receive(&mut self, number: u32, hands: &mut Hands) -> io::Result<()> {
        if self.waits || self.more || !self.is_open() {
            return Ok(());
        }
        self.waits = true;
        let awaited = self.pacing.begin_wait(hands.kernel.now()).unwrap_or(&self.kick);
        hands.kernel.push(awaited, RingToken::Received(number), RingOp::Await)
    }

    fn note_received(&mut self, result: i32) -> bool {
        self.waits = false;
        self.quick = 0;
        if self.pacing.end_wait() {
            return result >= 0;
        }
        let mut strokes = [0; 8];
        // It does not wait: who shares the bell may have heard it first.
        let _ = rustix::io::read(&self.kick, &mut strokes);
        // Nobody need ring while it is read; where that cannot be said, the next look tells why.
        let _ = self.queue.disable_notification(&self.memory);
        result >= 0
    }

    fn send(&mut self, _: u32, _: &mut Hands) -> io::Result<()> {
        if std::mem::take(&mut self.uncalled)
            && !self.shut
            && self.queue.needs_notification(&self.memory).unwrap_or(true)
        {
            self.call();
        }
        Ok(())
    }

    fn await_payload(&mut self, work: u32, into: Slice) {
        self.payload = Some((work, self.last, into));
    }

    fn half_said(&self) -> Option<u32> {
        self.payload.as_ref().map(|(work, ..)| *work)
    }

    fn fail(&mut self, request: &ClientRequest, errno: i32) {
        let status = if errno == EOPNOTSUPP { Status::Unsupported } else { Status::IoError };
        self.end(head(request), status, Direction::Write);
    }

    fn acknowledge(&mut self, request: &ClientRequest) {
        self.end(head(request), Status::Ok, Direction::Write);
    }

    fn give(&mut self, work: &InFlightRequest) {
        let head = head(&work.request);
        let given = self.shut
            || work.data.as_ref().is_some_and(|data| self.chains[usize::from(head)].0.give(&self.memory, data));
        self.end(head, if given { Status::Ok } else { Status::IoError }, Direction::Read);
    }

    fn queue(&mut self) -> Option<&mut QueueLine> {
        Some(self)
    }

    fn is_answered(&self) -> bool {
        self.again.is_empty() || self.shut || self.open == QueueState::Senseless
    }

    fn leave(&mut self) {
        self.payload = None;
        if self.open == QueueState::Open {
            self.open = QueueState::Ending;
            self.more &= !self.again.is_empty();
        }
    }

    fn lose(&mut self, kernel: &mut dyn Kernel) {
        self.leave();
        self.shut(kernel);
    }

    fn shut(&mut self, _: &mut dyn Kernel) {
        self.shut = true;
        if self.waits {
            ring(&self.kick);
        }
    }

    fn is_shut(&self) -> bool {
        self.shut
    }

    fn is_gone(&self) -> bool {
        self.shut && !self.waits
    }

    fn end(self: Box<Self>, _: &mut Pool) {
        if let Some(told) = self.told {
            // Whoever does not wait any more need not know.
            let _ = told.send(self.queue.next_avail());
        }
    }
}
