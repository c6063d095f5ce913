//! Exports of an NBD server as one device: what its clients see of it.

use super::{Done, LiveDevice};
use crate::kernel::Kernel;
use crate::memory::{AlignedBuffer, Slice, pass};
use crate::remote::Remote;
use crate::ring::{GATHERED, RingOp, RingToken};
use block::errno::{EINVAL, EIO};
use block::{BLOCK_BYTES, Caps, Command, Outcome, Tag, Time, Verb};
use nbd::client::{Body, reply};
use nbd::reply::Chunk;
use nbd::{ClientRequest, CommandFlags, limits::REQUEST_BYTES};
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;

/// Commands it takes at once.
const DEPTH: u16 = 256;
/// Bytes that are received at once.
const INPUT: usize = 256 << 10;
/// What its tokens are for, beside the number of the connection.
const RECEIVED: u32 = 1 << 30;
const SENT: u32 = 1 << 31;

/// Exports, each in its place on the device.
pub struct Far {
    links: Vec<ServerLink>,
    blocks: u64,
    /// By tag: what was asked, of which connection.
    flying: Vec<Option<(usize, ClientRequest)>>,
    /// By tag, where content is wanted: where a read goes, and how many bytes of it are still to come.
    reads: Vec<Option<(Slice, u64)>>,
    keeps: bool,
    done: VecDeque<Done>,
}

/// One connection to the server.
struct ServerLink {
    socket: Rc<OwnedFd>,
    /// Its first block on the device, and the one after the last.
    from: u64,
    end: u64,
    /// Requests that are still to be sent, each with its payload.
    unsent: VecDeque<([u8; REQUEST_BYTES], Option<Slice>)>,
    heads: Rc<AlignedBuffer>,
    sending: Vec<Slice>,
    is_sending: bool,
    input: Slice,
    receiving: bool,
    /// What came and was not understood yet.
    received: Vec<u8>,
    /// Bytes of a read that are passed over, and what then ends.
    content: usize,
    /// Where they go, if anyone wants them.
    into: Option<Slice>,
    ends: Option<u64>,
    gone: bool,
}

impl Far {
    /// The device of these exports, each from a block on.
    ///
    /// # Errors
    /// When one of them has no blocks.
    pub fn new(exports: Vec<(u64, Remote)>) -> io::Result<Far> {
        let mut links = Vec::with_capacity(exports.len());
        for (from, remote) in exports {
            let (socket, session) = remote.into_parts();
            let blocks = session.size / BLOCK_BYTES;
            if blocks == 0 {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "the export is empty"));
            }
            links.push(ServerLink {
                socket: Rc::new(socket),
                from,
                end: from + blocks,
                unsent: VecDeque::new(),
                heads: Rc::new(AlignedBuffer::new(GATHERED * REQUEST_BYTES)),
                sending: Vec::new(),
                is_sending: false,
                input: Slice::new(INPUT),
                receiving: false,
                received: Vec::new(),
                content: 0,
                into: None,
                ends: None,
                gone: false,
            });
        }
        let blocks = links.iter().map(|link| link.end).max().unwrap_or(0);
        let (flying, reads) = (vec![None; usize::from(DEPTH)], vec![None; usize::from(DEPTH)]);
        Ok(Far { links, blocks, flying, reads, keeps: false, done: VecDeque::new() })
    }

    /// Keeps what is read: else the bytes are passed over, as who measures does not look at them.
    pub fn keeping(self) -> Far {
        Far { keeps: true, ..self }
    }

    /// So many bytes of a read are to come, from this one of the export on, or are zeros: where they go. False if they were not
    /// asked for.
    fn expect(&mut self, number: usize, request: &ClientRequest, (offset, length): (u64, u32), zeros: bool) -> bool {
        self.links[number].into = None;
        let Some((memory, missing)) = &mut self.reads[request.cookie as usize] else { return true };
        let end = request.offset + memory.bytes as u64;
        if offset < request.offset || offset.saturating_add(length.into()) > end || u64::from(length) > *missing {
            return false;
        }
        *missing -= u64::from(length);
        let part = memory.after((offset - request.offset) as usize);
        if zeros {
            part.buffer.clear(part.from, length as usize);
        } else {
            self.links[number].into = Some(Slice { bytes: length as usize, ..part });
        }
        true
    }

    fn end(&mut self, now: Time, tag: u32, outcome: Outcome) {
        if self.flying.get_mut(tag as usize).and_then(Option::take).is_some() {
            // What a server leaves out was not read.
            let missing = self.reads[tag as usize].take().map_or(0, |(_, missing)| missing);
            let outcome = if missing > 0 && outcome == Outcome::Ok { Outcome::Failed(EIO) } else { outcome };
            self.done.push_back(Done::now(now, Tag(tag), outcome));
        }
    }

    /// The server is gone, or breaks the protocol: nothing it was asked is done.
    fn lose(&mut self, now: Time, number: usize) {
        self.links[number].gone = true;
        for tag in 0..u32::from(DEPTH) {
            if self.flying[tag as usize].is_some_and(|(link, _)| link == number) {
                self.end(now, tag, Outcome::Failed(EIO));
            }
        }
    }

    /// Understands what has come; false if it cannot be understood.
    fn hear(&mut self, now: Time, number: usize) -> bool {
        loop {
            let link = &mut self.links[number];
            let some = link.content.min(link.received.len());
            link.into = link.into.take().map(|into| {
                into.buffer.put(into.from, &link.received[..some]);
                into.after(some)
            });
            link.received.drain(..some);
            link.content -= some;
            if link.content > 0 {
                return true;
            }
            if let Some(cookie) = link.ends.take() {
                self.end(now, cookie as u32, Outcome::Ok);
                continue;
            }
            let mut left = &link.received[..];
            let Ok(reply) = reply(&mut left) else { return false };
            let Some(reply) = reply else { return true };
            let taken = link.received.len() - left.len();
            link.received.drain(..taken);
            let asked = self.flying.get(reply.cookie as usize).copied().flatten();
            let Some((_, request)) = asked.filter(|(of, _)| *of == number) else { return false };
            let last = (reply.chunk == Chunk::Last).then_some(reply.cookie);
            let (part, zeros) = match reply.body {
                Body::Done if request.command == nbd::RequestType::Read => {
                    (Some((request.offset, request.length as u32)), false)
                }
                Body::Data { offset, length } => (Some((offset, length)), false),
                Body::Hole { offset, length } => (Some((offset, length)), true),
                Body::Done | Body::None | Body::Failed { .. } => (None, false),
            };
            if part.is_some_and(|part| !self.expect(number, &request, part, zeros)) {
                return false;
            }
            let content = match reply.body {
                Body::Failed { error, .. } => {
                    self.end(now, reply.cookie as u32, Outcome::Failed(error.code() as i32));
                    continue;
                }
                Body::Done if request.command == nbd::RequestType::Read => request.length as u32,
                Body::Data { length, .. } => length,
                Body::Done | Body::None | Body::Hole { .. } => 0,
            };
            (self.links[number].content, self.links[number].ends) = (content as usize, last);
        }
    }
}

impl ServerLink {
    /// Has something received, and what is to be sent sent, where neither is being done.
    fn go_on(&mut self, number: usize, kernel: &mut dyn Kernel) -> io::Result<()> {
        if !self.receiving {
            self.receiving = true;
            kernel.push(
                &self.socket,
                RingToken::Unit(RECEIVED | number as u32),
                RingOp::Receive(self.input.clone(), false),
            )?;
        }
        if self.is_sending {
            return Ok(());
        }
        let mut from = 0;
        while self.sending.len() + 2 <= GATHERED
            && (from > 0 || self.sending.is_empty())
            && let Some((head, payload)) = self.unsent.pop_front()
        {
            self.heads.put(from, &head);
            self.sending.push(Slice { buffer: Rc::clone(&self.heads), from, bytes: REQUEST_BYTES });
            self.sending.extend(payload);
            from += REQUEST_BYTES;
        }
        if self.sending.is_empty() {
            return Ok(());
        }
        self.is_sending = true;
        kernel.push(&self.socket, RingToken::Unit(SENT | number as u32), RingOp::Send(self.sending.clone()))
    }
}

impl LiveDevice for Far {
    fn caps(&self) -> Caps {
        Caps { blocks: self.blocks, depth: DEPTH, seek: block::SeekBy::Nothing, arms: 1 }
    }

    fn issue(
        &mut self,
        now: Time,
        tag: Tag,
        command: &Command,
        memory: Option<Slice>,
        kernel: &mut dyn Kernel,
    ) -> io::Result<()> {
        let at = command.at;
        let is_in = |link: &ServerLink| link.from <= at.start.0 && at.end().0 <= link.end && !link.gone;
        let number = if command.verb == Verb::Flush { Some(0) } else { self.links.iter().position(is_in) };
        let errno = if self.links.iter().any(|link| link.gone) { EIO } else { EINVAL };
        let Some(number) = number.filter(|number| !self.links[*number].gone) else {
            self.done.push_back(Done::now(now, tag, Outcome::Failed(errno)));
            return Ok(());
        };
        let link = &mut self.links[number];
        let (asks, fua) = match command.verb {
            Verb::Write { fua } => (nbd::RequestType::Write, fua),
            Verb::Flush => (nbd::RequestType::Flush, false),
            Verb::Discard(_) => (nbd::RequestType::Trim, false),
            Verb::Read | Verb::Seek => (nbd::RequestType::Read, false),
        };
        let (offset, length) = match command.verb {
            Verb::Flush => (0, 0),
            _ => ((at.start.0 - link.from) * BLOCK_BYTES, at.bytes()),
        };
        let flags = if fua { CommandFlags::FUA } else { CommandFlags::default() };
        let request = ClientRequest { command: asks, flags, cookie: tag.0.into(), offset, length };
        self.flying[tag.0 as usize] = Some((number, request));
        let read = memory.as_ref().filter(|_| self.keeps && asks == nbd::RequestType::Read);
        self.reads[tag.0 as usize] = read.map(|memory| (memory.clone(), length));
        link.unsent.push_back((request.encode(), memory.filter(|_| asks == nbd::RequestType::Write)));
        link.go_on(number, kernel)
    }

    fn next_completion(&mut self, _: Time) -> Option<Done> {
        self.done.pop_front()
    }

    fn on_completion(&mut self, now: Time, tag: Tag, result: i32, kernel: &mut dyn Kernel) -> io::Result<()> {
        let number = (tag.0 & !(SENT | RECEIVED)) as usize;
        let link = &mut self.links[number];
        let count = usize::try_from(result).ok().filter(|count| *count > 0);
        let whole = match count {
            None => false,
            Some(count) if tag.0 & SENT != 0 => {
                link.is_sending = false;
                pass(&mut link.sending, count);
                true
            }
            Some(count) => {
                link.receiving = false;
                let from = link.received.len();
                // Content that nobody looks at need not be carried.
                let over = if from == 0 { link.content.min(count) } else { 0 };
                link.content -= over;
                link.into = link.into.take().map(|into| {
                    into.buffer.copy(into.from, &link.input.buffer, 0, over);
                    into.after(over)
                });
                link.received.resize(from + count - over, 0);
                link.input.buffer.get(over, &mut link.received[from..]);
                self.hear(now, number)
            }
        };
        if !whole {
            self.lose(now, number);
            return Ok(());
        }
        self.links[number].go_on(number, kernel)
    }
}
