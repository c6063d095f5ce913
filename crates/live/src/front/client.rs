//! A client in transmission: who it is, what it has in flight, and the line over which it asks and is answered.

use super::line::SocketLine;
use super::rules::ServedAs;
use super::work::InFlightRequest;
use crate::identity::Identity;
use crate::kernel::Kernel;
use crate::memory::{Pool, Slice};
#[cfg(feature = "vhost-user")]
use crate::virtio::QueueLine;
use crate::world::Hands;
use block::{Span, Time};
use nbd::{ClientRequest, RequestType};
use std::io;

/// What there is to do with what has come.
pub(crate) enum Heard {
    /// More must come first.
    NotYet,
    /// Something came that nobody need do anything about: there may be more.
    Again,
    /// A request; its payload is still to come.
    Request(ClientRequest),
    /// A block status, with what it asks for.
    Query(ClientRequest, Vec<u8>),
    /// The payload of the request of this number is there.
    Payload(u32),
    /// It says what nobody understands: there is no going on with it.
    Lost,
}

/// How a client asks and is answered.
pub(crate) trait ClientLine {
    /// Looks at what has come. A request is taken if it moves no more than `room` bytes: otherwise it stays, as all do without a
    /// room.
    fn hear(&mut self, room: Option<u64>) -> Heard;

    /// Whether something lies there that was not looked at.
    fn has_more(&self) -> bool;

    /// Has more received, if that is not being done and there is something to receive.
    fn receive(&mut self, number: u32, hands: &mut Hands) -> io::Result<()>;

    /// Something was received; whether the client is still there.
    fn note_received(&mut self, result: i32) -> bool;

    /// A driver had something for it, under a number of its own; whether the client is still there.
    fn note_driver(&mut self, _number: u16, _result: i32) -> bool {
        true
    }

    /// Has its answers sent, if none are being sent.
    fn send(&mut self, number: u32, hands: &mut Hands) -> io::Result<()>;

    /// Something was sent; or the client is gone, and is to be lost.
    fn note_sent(&mut self, _result: i32, _number: u32, _hands: &mut Hands) -> io::Result<()> {
        Ok(())
    }

    /// What it said last has a payload, which goes there and is of the request of this number.
    fn await_payload(&mut self, work: u32, into: Slice);

    /// The request of which the payload is still to come.
    fn half_said(&self) -> Option<u32>;

    /// What it said last is not done; what payload it has is passed over, where that comes unasked.
    fn refuse(&mut self, request: &ClientRequest, errno: i32) {
        self.fail(request, errno);
    }

    /// A request was not done.
    fn fail(&mut self, request: &ClientRequest, errno: i32);

    /// A request without content in its answer was done.
    fn acknowledge(&mut self, request: &ClientRequest);

    /// A read was done.
    fn give(&mut self, work: &InFlightRequest);

    /// Part of a read was done; whether it was answered, since the line takes answers in parts.
    fn give_part(&mut self, _work: &InFlightRequest, _part: &Slice) -> bool {
        false
    }

    /// The line, if it is one of NBD: over that more may be asked.
    fn nbd(&mut self) -> Option<&mut SocketLine> {
        None
    }

    /// The line, if it is a queue of a virtual disk.
    #[cfg(feature = "vhost-user")]
    fn queue(&mut self) -> Option<&mut QueueLine> {
        None
    }

    /// Answers to be sent, and their bytes.
    fn unheard(&self) -> (u32, u64) {
        (0, 0)
    }

    /// Whether it has all its answers, but for those of what is in flight.
    fn is_answered(&self) -> bool {
        true
    }

    /// It will ask nothing more.
    fn leave(&mut self);

    /// It is gone: nothing more is received or sent.
    fn lose(&mut self, kernel: &mut dyn Kernel);

    /// Closes the line to the client.
    fn shut(&mut self, kernel: &mut dyn Kernel);

    /// Whether it was closed: nobody is there to answer to.
    fn is_shut(&self) -> bool;

    /// Whether the kernel has nothing of it any more.
    fn is_gone(&self) -> bool;

    /// Whether it has taken nothing of an answer, or said nothing more of a request it has begun, for longer than this.
    fn is_stuck(&self, _now: Time, _patience: Span) -> bool {
        false
    }

    /// Gives its memory back.
    fn end(self: Box<Self>, _pool: &mut Pool) {}
}

/// Bytes between a client and the device.
pub(crate) fn moves(request: &ClientRequest) -> u64 {
    if matches!(request.command, RequestType::Read | RequestType::Write) { request.length } else { 0 }
}

/// A client in transmission.
pub(super) struct Client {
    pub(super) line: Box<dyn ClientLine>,
    pub(super) volume: usize,
    /// Who it is, and how it is therefore served.
    pub(super) identity: Identity,
    pub(super) served: ServedAs,
    /// Requests in flight, and bytes of memory for them.
    pub(super) requests: u32,
    pub(super) bytes: u64,
    /// Whether it is to be closed once it has its answers.
    leaving: bool,
}

impl Client {
    /// One who is just in.
    pub(super) fn new(line: Box<dyn ClientLine>, volume: usize, (identity, served): (Identity, ServedAs)) -> Client {
        Client { line, volume, identity, served, requests: 0, bytes: 0, leaving: false }
    }

    /// Requests in flight and answers to be sent: whoever does not hear the ones may not ask for others.
    pub(super) fn pending(&self) -> u32 {
        self.requests + self.line.unheard().0
    }

    /// Memory for both, in bytes.
    pub(super) fn memory(&self) -> u64 {
        self.bytes + self.line.unheard().1
    }

    /// It will ask nothing more; it is closed when it has its answers.
    pub(super) fn leave(&mut self) {
        self.line.leave();
        self.leaving = true;
    }

    /// It is gone: nothing more is received or sent.
    pub(super) fn lose(&mut self, kernel: &mut dyn Kernel) {
        self.leave();
        self.line.lose(kernel);
    }

    /// Closes one that leaves, once it has its answers.
    pub(super) fn part(&mut self, kernel: &mut dyn Kernel) {
        if self.leaving && self.requests == 0 && self.line.is_answered() {
            self.line.shut(kernel);
        }
    }

    /// Whether nothing of it is left.
    pub(super) fn is_gone(&self) -> bool {
        self.requests == 0 && self.line.is_gone()
    }
}
