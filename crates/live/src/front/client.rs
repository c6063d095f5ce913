//! A client in transmission: its socket, what it is sending, what it is sent.

use crate::memory::{Pool, Slice};
use crate::ring::{GATHERED, Op, Ring, Token};
use nbd::reply::Head;
use nbd::{Command, Refused, Request, Session, limits::REQUEST_BYTES};
use std::cell::Cell;
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;

/// Bytes that are received at once.
const INPUT: usize = 64 << 10;
/// A payload of which so much is still to come is received into its own memory.
const DIRECT: usize = 8 << 10;
/// Bytes of replies that are put together before they are sent; longer data are sent from where they are.
const TOGETHER: usize = 128 << 10;
const COPIED: usize = 8 << 10;

/// An answer.
pub(super) struct Reply {
    pub(super) head: Words,
    pub(super) data: Option<Slice>,
}

impl Reply {
    fn bytes(&self) -> u64 {
        (self.head.bytes().len() + self.data.as_ref().map_or(0, |data| data.bytes)) as u64
    }
}

/// What an answer begins with.
pub(super) enum Words {
    Short(Head),
    Long(Vec<u8>),
}

impl Words {
    fn bytes(&self) -> &[u8] {
        match self {
            Words::Short(head) => head,
            Words::Long(bytes) => bytes,
        }
    }
}

/// What it is in the middle of sending.
pub(super) enum Reading {
    /// A header.
    Header,
    /// The payload of the request of this number: where, and how much has come.
    Payload { work: u32, into: Slice, filled: usize },
    /// Bytes that nobody wants, before an answer.
    Unwanted { left: usize, answer: Option<Reply> },
    /// Nothing more is read.
    Nothing,
}

/// What there is to do with what has come.
pub(super) enum Heard {
    /// More must come first.
    NotYet,
    /// A request; its payload is still to come.
    Request(Request),
    /// The payload of the request of this number is there.
    Payload(u32),
    /// It asked what it may not.
    Refused(Refused),
}

/// A client.
pub(super) struct Client {
    socket: Rc<OwnedFd>,
    pub(super) session: Session,
    pub(super) volume: usize,
    input: Slice,
    /// What of the input is not read yet.
    unread: (usize, usize),
    pub(super) reading: Reading,
    receiving: bool,
    /// Answers to be sent, and what is being sent.
    outbox: VecDeque<Reply>,
    sending: Vec<Slice>,
    /// Bytes of both, of this client and of all.
    unsent: u64,
    all_unsent: Rc<Cell<u64>>,
    together: Rc<crate::memory::Buffer>,
    /// Requests in flight, and bytes of memory for them.
    pub(super) requests: u32,
    pub(super) bytes: u64,
    /// Whether it is to be closed once it has its answers.
    leaving: bool,
    shut: bool,
}

/// Bytes between a client and the device.
fn moves(request: &Request) -> u64 {
    if matches!(request.command, Command::Read | Command::Write) { request.length.into() } else { 0 }
}

impl Client {
    /// One who is just in; `all_unsent` counts the bytes of answers to all clients.
    pub(super) fn new(
        socket: OwnedFd,
        session: Session,
        early: &[u8],
        all_unsent: Rc<Cell<u64>>,
        pool: &mut Pool,
    ) -> Client {
        let input = Slice { buffer: pool.take(INPUT), from: 0, bytes: INPUT };
        input.buffer.put(0, early);
        Client {
            socket: Rc::new(socket),
            session,
            volume: session.export,
            input,
            unread: (0, early.len()),
            reading: Reading::Header,
            receiving: false,
            outbox: VecDeque::new(),
            sending: Vec::new(),
            unsent: 0,
            all_unsent,
            together: pool.take(TOGETHER),
            requests: 0,
            bytes: 0,
            leaving: false,
            shut: false,
        }
    }

    /// Bytes that may come before the first request.
    pub(super) const EARLY: usize = INPUT;

    /// Looks at what has come. A request is taken if it moves no more than `room` bytes: otherwise its header stays, as
    /// every header does without a room.
    pub(super) fn hear(&mut self, room: Option<u64>) -> Heard {
        let (from, to) = self.unread;
        match &mut self.reading {
            Reading::Nothing => Heard::NotYet,
            Reading::Header if to - from < REQUEST_BYTES => Heard::NotYet,
            Reading::Header => {
                let Some(room) = room else { return Heard::NotYet };
                let mut header = [0; REQUEST_BYTES];
                self.input.buffer.get(from, &mut header);
                let heard = match self.session.request(&header) {
                    Ok(request) if moves(&request) > room => return Heard::NotYet,
                    Ok(request) => Heard::Request(request),
                    Err(refused) => Heard::Refused(refused),
                };
                self.unread.0 += REQUEST_BYTES;
                heard
            }
            Reading::Payload { work, into, filled } => {
                let count = (to - from).min(into.bytes - *filled);
                into.buffer.copy(into.from + *filled, &self.input.buffer, from, count);
                self.unread.0 += count;
                *filled += count;
                if *filled < into.bytes {
                    return Heard::NotYet;
                }
                let work = *work;
                self.reading = Reading::Header;
                Heard::Payload(work)
            }
            Reading::Unwanted { left, answer } => {
                let count = (to - from).min(*left);
                self.unread.0 += count;
                *left -= count;
                if *left > 0 {
                    return Heard::NotYet;
                }
                let answer = answer.take();
                self.reading = Reading::Header;
                answer.into_iter().for_each(|answer| self.answer(answer));
                self.hear(room)
            }
        }
    }

    /// Whether a whole header lies there that was not looked at.
    pub(super) fn has_more(&self) -> bool {
        matches!(self.reading, Reading::Header) && self.unread.1 - self.unread.0 >= REQUEST_BYTES
    }

    /// Has more received, if that is not being done and there is something to receive.
    pub(super) fn receive(&mut self, number: u32, ring: &mut Ring) -> io::Result<()> {
        if self.receiving || matches!(self.reading, Reading::Nothing) || self.has_more() {
            return Ok(());
        }
        let op = match &self.reading {
            Reading::Payload { into, filled, .. } if into.bytes - filled >= DIRECT => {
                Op::Receive(into.after(*filled), true)
            }
            _ => {
                let (from, to) = self.unread;
                self.input.buffer.copy(0, &self.input.buffer, from, to - from);
                self.unread = (0, to - from);
                Op::Receive(self.input.after(to - from), false)
            }
        };
        self.receiving = true;
        ring.push(&self.socket, Token::Received(number), op)
    }

    /// Something was received; whether the client is still there.
    pub(super) fn received(&mut self, result: i32) -> bool {
        self.receiving = false;
        let Some(count) = usize::try_from(result).ok().filter(|count| *count > 0) else { return false };
        match &mut self.reading {
            Reading::Payload { into, filled, .. } if into.bytes - *filled >= DIRECT => *filled += count,
            _ => self.unread.1 += count,
        }
        true
    }

    pub(super) fn answer(&mut self, reply: Reply) {
        if self.shut {
            return;
        }
        self.unsent += reply.bytes();
        self.all_unsent.set(self.all_unsent.get() + reply.bytes());
        self.outbox.push_back(reply);
    }

    /// Requests in flight and answers to be sent: whoever does not hear the ones may not ask for others.
    pub(super) fn pending(&self) -> u32 {
        self.requests + self.outbox.len() as u32
    }

    /// Memory for both, in bytes.
    pub(super) fn memory(&self) -> u64 {
        self.bytes + self.unsent
    }

    fn is_sent(&mut self, bytes: u64) {
        self.unsent -= bytes;
        self.all_unsent.set(self.all_unsent.get() - bytes);
    }

    /// Has its answers sent, as many as fit at once, if none are being sent.
    pub(super) fn send(&mut self, number: u32, ring: &mut Ring) -> io::Result<()> {
        if !self.sending.is_empty() || self.outbox.is_empty() || self.shut {
            return Ok(());
        }
        let mut used = 0;
        while let Some(reply) = self.outbox.front() {
            let head = reply.head.bytes();
            let copied = reply.data.as_ref().map_or(0, |data| if data.bytes <= COPIED { data.bytes } else { 0 });
            if used + head.len() + copied > TOGETHER || self.sending.len() + 2 > GATHERED {
                break;
            }
            let Some(Reply { head, data }) = self.outbox.pop_front() else { break };
            let head = head.bytes();
            self.together.put(used, head);
            if let Some(data) = data.as_ref().filter(|_| copied > 0) {
                self.together.copy(used + head.len(), &data.buffer, data.from, copied);
            }
            let count = head.len() + copied;
            match self.sending.last_mut() {
                Some(last) if Rc::ptr_eq(&last.buffer, &self.together) => last.bytes += count,
                _ => self.sending.push(Slice { buffer: Rc::clone(&self.together), from: used, bytes: count }),
            }
            used += count;
            self.sending.extend(data.filter(|_| copied == 0));
        }
        ring.push(&self.socket, Token::Sent(number), Op::Send(self.sending.clone()))
    }

    /// Something was sent; or the client is gone, and is to be lost.
    pub(super) fn sent(&mut self, result: i32, number: u32, ring: &mut Ring) -> io::Result<()> {
        let Some(mut count) = usize::try_from(result).ok().filter(|count| *count > 0) else {
            let unsent = self.sending.drain(..).map(|slice| slice.bytes as u64).sum();
            self.is_sent(unsent);
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        self.is_sent(count as u64);
        while let Some(first) = self.sending.first_mut() {
            if first.bytes > count {
                *first = first.after(count);
                let left = self.sending.clone();
                return ring.push(&self.socket, Token::Sent(number), Op::Send(left));
            }
            count -= first.bytes;
            self.sending.remove(0);
        }
        Ok(())
    }

    /// It will ask nothing more; it is closed when it has its answers.
    pub(super) fn leave(&mut self) {
        self.reading = Reading::Nothing;
        self.leaving = true;
    }

    /// It is gone: nothing more is received or sent.
    pub(super) fn lose(&mut self) {
        self.leave();
        self.outbox.clear();
        let sending: u64 = self.sending.iter().map(|slice| slice.bytes as u64).sum();
        self.is_sent(self.unsent - sending);
        self.shut();
    }

    /// Whether nobody is there to answer to.
    pub(super) fn is_lost(&self) -> bool {
        self.shut
    }

    fn shut(&mut self) {
        if !self.shut {
            self.shut = true;
            // Of a socket whose peer is gone nothing is left to shut.
            let _ = rustix::net::shutdown(&*self.socket, rustix::net::Shutdown::Both);
        }
    }

    /// Whether nothing of it is left, closing it once that can be.
    pub(super) fn is_gone(&mut self) -> bool {
        let quiet = self.requests == 0 && self.outbox.is_empty() && self.sending.is_empty();
        if self.leaving && quiet {
            self.shut();
        }
        self.shut && self.requests == 0 && self.sending.is_empty() && !self.receiving
    }

    /// Gives its memory back.
    pub(super) fn end(self, pool: &mut Pool) {
        pool.give(self.input.buffer);
        pool.give(self.together);
    }
}
