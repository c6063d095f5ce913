//! A queue of a block device, as the line of a client: each tag of it is a command that waits in the driver for a request, or a request
//! that waits for its answer.

use super::protocol::{DiskShape, QueueCommand, ask, data_at};
use super::shared::Descriptors;
use crate::door::ClientPlaces;
use crate::front::client::{ClientLine, Heard, moves};
use crate::front::work::InFlightRequest;
use crate::kernel::Kernel;
use crate::memory::Slice;
use crate::ring::{RingOp, RingToken};
use crate::threads::carry_out;
use crate::world::Hands;
use block::errno::EIO;
use nbd::ClientRequest;
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::mpsc::Sender;

/// A queue that is to be served.
pub struct BlockQueue {
    /// Its place among those of its device.
    pub(super) number: u16,
    /// The volume that it is of.
    pub(crate) volume: usize,
    pub(super) disk: DiskShape,
    /// The device as its server sees it (`/dev/ublkcN`), and what is asked there.
    pub(super) file: OwnedFd,
    /// The tags of its requests.
    pub(super) depth: u16,
    /// Who is told when the device is to be stopped; gone when nothing of the queue is left.
    pub(super) told: Sender<()>,
    /// The others of its device, which are served with it, or none is; and the places that are kept for all of them.
    pub(crate) others: Vec<BlockQueue>,
    pub(crate) places: Option<ClientPlaces>,
}

/// A queue that is served.
pub(crate) struct BlockQueueLine {
    number: u16,
    disk: DiskShape,
    file: Rc<OwnedFd>,
    descriptors: Descriptors,
    told: Sender<()>,
    /// Tags of requests that nobody has looked at yet.
    came: VecDeque<u16>,
    /// What is to be written, of a request of the front's by this number: its tag, and where it goes.
    payload: Option<(u32, u16, Slice)>,
    /// The tag of the request that was heard last.
    last: u16,
    /// What is to be told to the driver.
    commands: Vec<(u16, QueueCommand)>,
    /// Commands that the driver has, and tags for which it takes none any more.
    waiting: u16,
    ended: u16,
    /// Whether the ring takes no more.
    broken: bool,
    /// Whether nobody stops the device any more, so that the driver keeps the commands.
    abandoned: bool,
    shut: bool,
}

impl BlockQueueLine {
    /// The line of a queue, whose descriptors are mapped now: once they are, the driver lets no other process take the device over until
    /// its queues were served.
    ///
    /// # Errors
    /// When they cannot be.
    pub(crate) fn new(queue: BlockQueue) -> io::Result<BlockQueueLine> {
        let BlockQueue { number, disk, file, depth, told, .. } = queue;
        let descriptors = Descriptors::map(&file, number, depth)?;
        let commands = (0..descriptors.count()).map(|tag| (tag, QueueCommand::Fetch)).collect();
        Ok(BlockQueueLine {
            number,
            disk,
            file: Rc::new(file),
            descriptors,
            told,
            came: VecDeque::new(),
            payload: None,
            last: 0,
            commands,
            waiting: 0,
            ended: 0,
            broken: false,
            abandoned: false,
            shut: false,
        })
    }

    /// A request has ended: with bytes that were moved, or an error as a negative number.
    fn end(&mut self, tag: u16, result: i32) {
        self.commands.push((tag, QueueCommand::Commit(result)));
    }

    /// Copies between a request of the kernel's and memory of ours; whether all of it was.
    fn copies(&self, op: RingOp, bytes: usize) -> bool {
        usize::try_from(carry_out(&self.file, &op)) == Ok(bytes)
    }

    /// Whether the driver takes nothing for it any more.
    fn has_ended(&self) -> bool {
        self.ended == self.descriptors.count() || self.broken || self.abandoned
    }
}

/// The tag of a request that the front has.
fn tag(request: &ClientRequest) -> u16 {
    request.cookie as u16
}

impl ClientLine for BlockQueueLine {
    fn hear(&mut self, room: Option<u64>) -> Heard {
        if let Some((work, tag, into)) = &self.payload {
            let op = RingOp::Read(into.clone(), data_at(self.number, *tag));
            if !self.copies(op, into.bytes) {
                return Heard::Lost;
            }
            let work = *work;
            self.payload = None;
            return Heard::Payload(work);
        }
        let Some(&tag) = self.came.front() else { return Heard::NotYet };
        match ask(&self.descriptors.read(tag), tag, &self.disk) {
            Ok(request) if room.is_none_or(|room| moves(&request) > room) => Heard::NotYet,
            Ok(request) => {
                self.came.pop_front();
                self.last = tag;
                Heard::Request(request)
            }
            Err(errno) => {
                self.came.pop_front();
                self.end(tag, -errno);
                Heard::Again
            }
        }
    }

    fn has_more(&self) -> bool {
        !self.came.is_empty()
    }

    fn receive(&mut self, _: u32, _: &mut Hands) -> io::Result<()> {
        Ok(())
    }

    fn note_received(&mut self, _: i32) -> bool {
        true
    }

    fn note_driver(&mut self, tag: u16, result: i32) -> bool {
        self.waiting -= 1;
        match result {
            0 if self.shut => self.end(tag, -EIO),
            0 => self.came.push_back(tag),
            // The device is stopped.
            _ => self.ended += 1,
        }
        !self.has_ended()
    }

    fn send(&mut self, number: u32, hands: &mut Hands) -> io::Result<()> {
        for (tag, command) in self.commands.drain(..) {
            let (code, told) = command.encode(self.number, tag);
            let pushed = hands.kernel.push(&self.file, RingToken::Driver(number, tag), RingOp::Driver(code, told));
            self.broken |= pushed.is_err();
            pushed?;
            self.waiting += 1;
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
        self.end(tag(request), -errno);
    }

    fn acknowledge(&mut self, request: &ClientRequest) {
        // Of a write the kernel asks again for what was not moved.
        self.end(tag(request), moves(request) as i32);
    }

    fn give(&mut self, work: &InFlightRequest) {
        let tag = tag(&work.request);
        let to = data_at(self.number, tag);
        let given =
            work.data.as_ref().filter(|data| self.copies(RingOp::Write((*data).clone(), to, false), data.bytes));
        self.end(tag, given.map_or(-EIO, |data| data.bytes as i32));
    }

    /// Only once the driver has given up all that waited there: until then requests come, and are served.
    fn is_answered(&self) -> bool {
        self.has_ended()
    }

    /// The device is stopped, by whoever has set it up; if that is not there any more, nothing is waited for.
    fn leave(&mut self) {
        if let Some((_, tag, _)) = self.payload.take() {
            self.end(tag, -EIO);
        }
        self.abandoned = self.told.send(()).is_err();
    }

    fn lose(&mut self, kernel: &mut dyn Kernel) {
        self.leave();
        self.shut(kernel);
        while let Some(tag) = self.came.pop_front() {
            self.end(tag, -EIO);
        }
    }

    fn shut(&mut self, _: &mut dyn Kernel) {
        self.shut = true;
    }

    fn is_shut(&self) -> bool {
        self.shut
    }

    fn is_gone(&self) -> bool {
        self.shut && self.has_ended() && (self.waiting == 0 || self.abandoned)
    }
}
