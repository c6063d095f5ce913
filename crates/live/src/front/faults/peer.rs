//! A client: what it asks at random, and whether the answers are right.

use super::disk::Content;
use super::truth::Made;
use block::errno::EOPNOTSUPP;
use block::{BLOCK_BYTES, Ending, Time};
use load::Draw;
use nbd::client::{Body, reply};
use nbd::reply::Chunk;
use nbd::{ClientRequest, CommandFlags, Errno, RequestType, Session};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// A request that is not answered yet.
pub(super) struct Pending {
    pub(super) request: ClientRequest,
    /// The error it is to have, where it asks what it may not.
    refused: Option<Errno>,
    /// What became of it at the server.
    pub(super) ended: Option<Ending>,
    /// Of a read that was done: what each of its blocks may be.
    pub(super) read: Vec<Vec<Content>>,
    /// Of a write: what it made of the blocks.
    pub(super) made: Made,
    /// Of a flush: what had been answered when it was asked for.
    pub(super) keeps: Made,
    asked: Time,
    /// How many flushes had failed when the server began with it; and whether another did until it ended.
    pub(super) begun: Option<u64>,
    pub(super) doomed: bool,
    /// What came of its answer so far.
    bytes: Vec<u8>,
    failed: Option<Errno>,
}

/// A client and its connection.
pub(super) struct Peer {
    pub(super) session: Session,
    /// The first byte of its volume on the disk.
    pub(super) base: u64,
    /// What the server has not received yet.
    pub(super) sent: VecDeque<u8>,
    /// What was received and not understood yet.
    received: Vec<u8>,
    pub(super) pending: BTreeMap<u64, Pending>,
    /// By cookie: what it ever wrote.
    pub(super) payloads: BTreeMap<u64, Rc<[u8]>>,
    next: u64,
    /// Whether it says no more; whether it is gone, and hears nothing.
    pub(super) silent: bool,
    pub(super) gone: bool,
    /// Whether it takes no answers.
    pub(super) deaf: bool,
    /// Whether the server has closed the connection.
    pub(super) shut: bool,
}

impl Peer {
    pub(super) fn new(session: Session, base: u64) -> Peer {
        Peer {
            session,
            base,
            sent: VecDeque::new(),
            received: Vec::new(),
            pending: BTreeMap::new(),
            payloads: BTreeMap::new(),
            next: 1,
            silent: false,
            gone: false,
            deaf: false,
            shut: false,
        }
    }

    /// Asks something; of a flush, `keeps` tells what it is to keep.
    pub(super) fn ask(&mut self, now: Time, draw: &mut Draw, keeps: impl FnOnce() -> Made) {
        let (command, flags) = draw_request(draw);
        let (mut offset, mut length) = extent(draw, self.session.size);
        let mut refused = None;
        if command == RequestType::Flush {
            (offset, length) = (0, 0);
        } else if draw.below(30) == 0 {
            offset = self.session.size - draw.below(length.into());
            let space = matches!(command, RequestType::Write | RequestType::WriteZeroes);
            refused = Some(if space { Errno::NoSpc } else { Errno::Inval });
        }
        let cookie = self.next;
        self.next += 1;
        let request = ClientRequest { command, flags, cookie, offset, length: length.into() };
        let mut payload = vec![0; if command.writes() { length as usize } else { 0 }];
        if command == RequestType::Write {
            let word = draw.below(1 << 62) | 1;
            let bytes = (0..).flat_map(|at: u64| word.wrapping_mul(2 * at + 1).to_le_bytes());
            payload.iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte);
            self.sent.extend(request.encode());
            self.sent.extend(&payload);
        } else {
            self.sent.extend(request.encode());
        }
        self.payloads.insert(cookie, payload.into());
        let keeps = if command == RequestType::Flush { keeps() } else { Made::new() };
        let read = if command == RequestType::Read { length as usize } else { 0 };
        let pending = Pending {
            request,
            refused,
            ended: None,
            read: Vec::new(),
            made: Made::new(),
            keeps,
            asked: now,
            begun: None,
            doomed: false,
            bytes: vec![0; read],
            failed: None,
        };
        self.pending.insert(cookie, pending);
    }

    /// It goes: politely, once it has its answers, or at once, in the middle of whatever it says.
    pub(super) fn go(&mut self, draw: &mut Draw) {
        self.silent = true;
        if draw.below(2) == 0 {
            let disc = ClientRequest {
                command: RequestType::Disc,
                flags: CommandFlags::default(),
                cookie: 0,
                offset: 0,
                length: 0,
            };
            self.sent.extend(disc.encode());
            return;
        }
        self.gone = true;
        self.sent.truncate(draw.below(self.sent.len() as u64 + 1) as usize);
    }

    /// Hears bytes of the server; requests that were answered by them, and how.
    pub(super) fn hear(&mut self, bytes: &[u8]) -> Vec<(Pending, Result<(), Errno>)> {
        self.received.extend_from_slice(bytes);
        let mut answered = Vec::new();
        loop {
            let mut left = &self.received[..];
            let Some(reply) = reply(&mut left).expect("the protocol is kept to") else { break };
            let pending = self.pending.get_mut(&reply.cookie).expect("an answer to what was asked, and no second one");
            let (at, content) = match reply.body {
                Body::Done => (0, pending.bytes.len()),
                Body::Data { offset, length } => ((offset - pending.request.offset) as usize, length as usize),
                _ => (0, 0),
            };
            if left.len() < content {
                break;
            }
            pending.bytes[at..at + content].copy_from_slice(&left[..content]);
            if let Body::Failed { error, .. } = reply.body {
                pending.failed = Some(error);
            }
            let taken = self.received.len() - left.len() + content;
            self.received.drain(..taken);
            if reply.chunk == Chunk::Last
                && let Some(pending) = self.pending.remove(&reply.cookie)
            {
                let result = pending.failed.map_or(Ok(()), Err);
                answered.push((pending, result));
            }
        }
        answered
    }
}

impl Pending {
    /// Whether it asks what it may not.
    pub(super) fn is_refused(&self) -> bool {
        self.refused.is_some()
    }

    /// The byte behind the last that is changed on the disk, for a volume that begins at byte `base`: of a trim, whole blocks only.
    pub(super) fn end(&self, base: u64) -> u64 {
        let end = base + self.request.offset + self.request.length;
        if self.request.command == RequestType::Trim { end / BLOCK_BYTES * BLOCK_BYTES } else { end }
    }

    /// The first byte that is changed.
    pub(super) fn first(&self, base: u64) -> u64 {
        let first = base + self.request.offset;
        if self.request.command == RequestType::Trim { first.next_multiple_of(BLOCK_BYTES) } else { first }
    }

    /// Whether it is a hint that the server passes over, or asks for fast zeros where there are none.
    pub(super) fn is_passed_over(&self, base: u64) -> bool {
        match self.request.command {
            RequestType::Cache => true,
            RequestType::Trim => self.end(base) <= self.first(base),
            _ => self.request.flags.has(CommandFlags::FAST_ZERO) && self.begun.is_none(),
        }
    }

    /// Whether it asks for something to be on the medium.
    pub(super) fn is_durable(&self) -> bool {
        self.request.command == RequestType::Flush || self.request.fua()
    }

    /// Whether a volume that no flush of could succeed until a time, if it ever was, was such when it was asked or later.
    pub(super) fn is_barred(&self, until: Option<Time>) -> bool {
        until.is_some_and(|until| self.asked <= until)
    }

    /// The answer is right; where the device hung it may have failed, whatever became of it since. And so may a flush, where one had
    /// failed and nobody had seen to it until a time.
    pub(super) fn check(&self, answer: Result<(), Errno>, base: u64, hung: bool, barred: bool) {
        let request = &self.request;
        if let Some(error) = self.refused {
            assert!(answer == Err(error) || hung && answer == Err(Errno::Io), "{request:?}: {answer:?}");
            return;
        }
        let durable = self.is_durable();
        match (self.ended, answer) {
            (_, Ok(())) if self.doomed && durable => panic!("{request:?} is done, though a flush failed meanwhile"),
            (_, Err(Errno::Io)) if hung => {}
            (Some(Ending::Finished), Err(Errno::Io)) if barred && (durable || request.command.writes()) => {}
            (None, Err(Errno::Io)) if barred && durable => {}
            (Some(Ending::Finished), Ok(())) => {}
            (Some(Ending::Failed(_) | Ending::Dropped), Err(Errno::Io)) => {}
            (None, Ok(())) if self.is_passed_over(base) => {}
            (None | Some(Ending::Failed(EOPNOTSUPP)), Err(Errno::NotSup))
                if request.flags.has(CommandFlags::FAST_ZERO) => {}
            wrong => panic!("{request:?} is answered with {wrong:?}"),
        }
        if answer.is_ok() && request.command == RequestType::Read {
            self.check_read(base);
        }
    }

    fn check_read(&self, base: u64) {
        let from = base + self.request.offset;
        let mut first = from / BLOCK_BYTES * BLOCK_BYTES;
        for may in &self.read {
            let (from_here, to) = (from.max(first), (from + self.request.length).min(first + BLOCK_BYTES));
            let got = &self.bytes[(from_here - from) as usize..(to - from) as usize];
            let within = (from_here - first) as usize..(to - first) as usize;
            let right = may.iter().any(|content| content[within.clone()] == *got);
            assert!(right, "{:?}: block {} is not what was last written", self.request, first / BLOCK_BYTES);
            first += BLOCK_BYTES;
        }
    }
}

fn draw_request(draw: &mut Draw) -> (RequestType, CommandFlags) {
    let command = match draw.below(20) {
        0..7 => RequestType::Read,
        7..15 => RequestType::Write,
        15 | 16 => RequestType::WriteZeroes,
        17 => RequestType::Flush,
        18 => RequestType::Trim,
        _ => [RequestType::Cache, RequestType::Flush, RequestType::Trim][draw.below(3) as usize],
    };
    let zeroes = command == RequestType::WriteZeroes;
    let mut flags = CommandFlags::default();
    for (may, flag, one_of) in [
        (command.writes(), CommandFlags::FUA, 4),
        (zeroes, CommandFlags::NO_HOLE, 2),
        (zeroes, CommandFlags::FAST_ZERO, 3),
    ] {
        flags = if may && draw.below(one_of) == 0 { flags.with(flag) } else { flags };
    }
    (command, flags)
}

/// Bytes of a volume: whole blocks, or bytes at odd places; few, or now and then many.
fn extent(draw: &mut Draw, size: u64) -> (u64, u32) {
    let unit = if draw.below(3) == 0 { 1 } else { BLOCK_BYTES };
    let longest = match draw.below(16) {
        0 => size,
        1..4 => 16 * BLOCK_BYTES,
        _ => 4 * BLOCK_BYTES,
    };
    let length = unit + draw.below(longest.min(size) / unit) * unit;
    let offset = draw.below((size - length.min(size)) / unit + 1) * unit;
    (offset, length.min(size - offset) as u32)
}
