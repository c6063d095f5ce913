//! A client's connection in transmission: its socket, what it is sending, what it is sent.
//!
//! **A long read is answered as it comes.** What the drive's short commands have read goes to the client while the
//! drive reads on, in chunks of a structured reply of 128 KiB and more; so a client has the end of 2 MiB as soon as
//! the drive has. Each part is held against the buffer it was read into, since a request that is gone may have left
//! its number to another.

use super::client::{ClientLine, Heard, moves};
use super::work::InFlightRequest;
use crate::kernel::Kernel;
use crate::memory::{AlignedBuffer, Pool, Slice, pass};
use crate::ring::{GATHERED, RingOp, RingToken};
use crate::world::Hands;
use block::{Span, Time};
use nbd::limits::EXTENDED_REQUEST_BYTES;
use nbd::reply::{Chunk, ReplyHead};
use nbd::{ClientRequest, CommandFlags, Errno, Refused, RequestType, Session};
use std::cell::Cell;
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;

/// Bytes that are received at once; from who has never filled them, fewer.
const INPUT: usize = 64 << 10;
const LEAST_INPUT: usize = 4 << 10;
/// A payload of which so much is still to come is received into its own memory.
const DIRECT: usize = 8 << 10;
/// Bytes of replies that are put together before they are sent; longer data are sent from where they are.
const TOGETHER: usize = 128 << 10;
const COPIED: usize = 8 << 10;

/// A reply that is to be sent, or is being sent.
pub(super) struct PendingReply {
    pub(super) head: ReplyHeader,
    pub(super) data: Option<Slice>,
}

impl PendingReply {
    fn bytes(&self) -> u64 {
        (self.head.bytes().len() + self.data.as_ref().map_or(0, |data| data.bytes)) as u64
    }
}

/// What an answer begins with.
pub(super) enum ReplyHeader {
    Short(ReplyHead),
    Long(Vec<u8>),
}

impl ReplyHeader {
    fn bytes(&self) -> &[u8] {
        match self {
            ReplyHeader::Short(head) => head,
            ReplyHeader::Long(bytes) => bytes,
        }
    }
}

/// What it is in the middle of sending.
pub(super) enum ReceiveState {
    /// The header of a request.
    Header,
    /// The payload of a block status.
    Query(ClientRequest),
    /// The payload of the request of this number: where, and how much has come.
    Payload { work: u32, into: Slice, filled: usize },
    /// Bytes that nobody wants, before an answer.
    Unwanted { left: usize, answer: Option<PendingReply> },
    /// Nothing more is read.
    Nothing,
}

/// A connection in transmission: what was received of it and what it is still owed.
pub(crate) struct SocketLine {
    socket: Rc<OwnedFd>,
    pub(super) session: Session,
    input: Slice,
    /// Whether what came has filled it.
    filled: bool,
    /// What of the input is not read yet.
    unread: (usize, usize),
    pub(super) reading: ReceiveState,
    receiving: bool,
    /// Answers to be sent, and what is being sent.
    outbox: VecDeque<PendingReply>,
    sending: Vec<Slice>,
    /// Bytes of both, of this client and of all.
    unsent: u64,
    all_unsent: Rc<Cell<u64>>,
    /// Memory of short answers that are being sent.
    together: Option<Rc<AlignedBuffer>>,
    /// When it last took something, and last sent something.
    heard: Time,
    said: Time,
    shut: bool,
}

/// Whether it is a block status that has a payload.
fn is_query(request: &ClientRequest) -> bool {
    request.command == RequestType::BlockStatus && request.flags.has(CommandFlags::PAYLOAD_LEN)
}

impl SocketLine {
    /// One who is just in; `all_unsent` counts the bytes of answers to all clients.
    pub(super) fn new(
        socket: OwnedFd,
        session: Session,
        early: &[u8],
        all_unsent: Rc<Cell<u64>>,
        pool: &mut Pool,
    ) -> SocketLine {
        let input = Slice { buffer: pool.take(LEAST_INPUT), from: 0, bytes: LEAST_INPUT };
        input.buffer.put(0, early);
        SocketLine {
            socket: Rc::new(socket),
            session,
            input,
            filled: false,
            unread: (0, early.len()),
            reading: ReceiveState::Header,
            receiving: false,
            outbox: VecDeque::new(),
            sending: Vec::new(),
            unsent: 0,
            all_unsent,
            together: None,
            heard: Time::ZERO,
            said: Time::ZERO,
            shut: false,
        }
    }

    /// Bytes that may come before the first request.
    pub(super) const EARLY: usize = LEAST_INPUT;

    pub(super) fn answer(&mut self, reply: PendingReply) {
        if self.shut {
            return;
        }
        self.unsent += reply.bytes();
        self.all_unsent.set(self.all_unsent.get() + reply.bytes());
        self.outbox.push_back(reply);
    }

    /// The answer to a request that was not done.
    fn error_reply(&self, request: &ClientRequest, errno: i32) -> PendingReply {
        let mut bytes = Vec::new();
        let what = io::Error::from_raw_os_error(errno).to_string();
        self.session.error((request.cookie, request.offset), Errno::of_os(errno), &what, &mut bytes);
        PendingReply { head: ReplyHeader::Long(bytes), data: None }
    }

    fn is_sent(&mut self, bytes: u64) {
        self.unsent -= bytes;
        self.all_unsent.set(self.all_unsent.get() - bytes);
    }

    /// Makes pieces to be sent of answers, as many as fit at once.
    fn gather(&mut self, pool: &mut Pool) {
        let together = pool.take(TOGETHER);
        let mut used = 0;
        while let Some(reply) = self.outbox.front() {
            let head = reply.head.bytes();
            let copied = reply.data.as_ref().map_or(0, |data| if data.bytes <= COPIED { data.bytes } else { 0 });
            if used + head.len() + copied > TOGETHER || self.sending.len() + 2 > GATHERED {
                break;
            }
            let Some(PendingReply { head, data }) = self.outbox.pop_front() else { break };
            let head = head.bytes();
            together.put(used, head);
            if let Some(data) = data.as_ref().filter(|_| copied > 0) {
                together.copy(used + head.len(), &data.buffer, data.from, copied);
            }
            let count = head.len() + copied;
            match self.sending.last_mut() {
                Some(last) if Rc::ptr_eq(&last.buffer, &together) => last.bytes += count,
                _ => self.sending.push(Slice { buffer: Rc::clone(&together), from: used, bytes: count }),
            }
            used += count;
            self.sending.extend(data.filter(|_| copied == 0));
        }
        self.together = Some(together);
    }

    /// So much was sent; what is left is.
    fn go_on_sending(&mut self, count: usize, number: u32, hands: &mut Hands) -> io::Result<()> {
        self.is_sent(count as u64);
        pass(&mut self.sending, count);
        if self.sending.is_empty() {
            self.together.take().into_iter().for_each(|together| hands.pool.give(together));
            return Ok(());
        }
        self.heard = hands.kernel.now();
        hands.kernel.push(&self.socket, RingToken::Sent(number), RingOp::Send(self.sending.clone()))
    }
}

impl ClientLine for SocketLine {
    fn hear(&mut self, room: Option<u64>) -> Heard {
        let (from, to) = self.unread;
        match &mut self.reading {
            ReceiveState::Nothing => Heard::NotYet,
            ReceiveState::Header if to - from < self.session.request_bytes() => Heard::NotYet,
            ReceiveState::Header => {
                let Some(room) = room else { return Heard::NotYet };
                let mut header = [0; EXTENDED_REQUEST_BYTES];
                let header = &mut header[..self.session.request_bytes()];
                self.input.buffer.get(from, header);
                let heard = self.session.request(header);
                if heard.is_ok_and(|request| moves(&request) > room) {
                    return Heard::NotYet;
                }
                self.unread.0 += header.len();
                match heard {
                    Ok(request) if is_query(&request) => {
                        self.reading = ReceiveState::Query(request);
                        self.hear(Some(room))
                    }
                    Ok(request) => Heard::Request(request),
                    Err(Refused::Close(_)) => Heard::Lost,
                    Err(Refused::Error { cookie, offset, error, message, payload }) => {
                        let mut bytes = Vec::new();
                        self.session.error((cookie, offset), error, message, &mut bytes);
                        let answer = Some(PendingReply { head: ReplyHeader::Long(bytes), data: None });
                        self.reading = ReceiveState::Unwanted { left: payload as usize, answer };
                        Heard::Again
                    }
                }
            }
            // Its payload is short, and lies in the input as a whole.
            ReceiveState::Query(request) if ((to - from) as u64) < request.payload() => Heard::NotYet,
            ReceiveState::Query(request) => {
                let request = *request;
                let mut payload = vec![0; request.payload() as usize];
                self.input.buffer.get(from, &mut payload);
                self.unread.0 += payload.len();
                self.reading = ReceiveState::Header;
                Heard::Query(request, payload)
            }
            ReceiveState::Payload { work, into, filled } => {
                let count = (to - from).min(into.bytes - *filled);
                into.buffer.copy(into.from + *filled, &self.input.buffer, from, count);
                self.unread.0 += count;
                *filled += count;
                if *filled < into.bytes {
                    return Heard::NotYet;
                }
                let work = *work;
                self.reading = ReceiveState::Header;
                Heard::Payload(work)
            }
            ReceiveState::Unwanted { left, answer } => {
                let count = (to - from).min(*left);
                self.unread.0 += count;
                *left -= count;
                if *left > 0 {
                    return Heard::NotYet;
                }
                let answer = answer.take();
                self.reading = ReceiveState::Header;
                answer.into_iter().for_each(|answer| self.answer(answer));
                self.hear(room)
            }
        }
    }

    fn has_more(&self) -> bool {
        matches!(self.reading, ReceiveState::Header) && self.unread.1 - self.unread.0 >= self.session.request_bytes()
    }

    fn receive(&mut self, number: u32, hands: &mut Hands) -> io::Result<()> {
        if self.receiving || matches!(self.reading, ReceiveState::Nothing) || self.has_more() {
            return Ok(());
        }
        let op = match &self.reading {
            ReceiveState::Payload { into, filled, .. } if into.bytes - filled >= DIRECT => {
                RingOp::Receive(into.after(*filled), true)
            }
            _ => {
                let (from, to) = self.unread;
                let before = Rc::clone(&self.input.buffer);
                if self.filled && self.input.bytes < INPUT {
                    self.input = Slice { buffer: hands.pool.take(INPUT), from: 0, bytes: INPUT };
                }
                self.input.buffer.copy(0, &before, from, to - from);
                if !Rc::ptr_eq(&before, &self.input.buffer) {
                    hands.pool.give(before);
                }
                self.unread = (0, to - from);
                RingOp::Receive(self.input.after(to - from), false)
            }
        };
        self.receiving = true;
        self.said = hands.kernel.now();
        hands.kernel.push(&self.socket, RingToken::Received(number), op)
    }

    fn note_received(&mut self, result: i32) -> bool {
        self.receiving = false;
        let Some(count) = usize::try_from(result).ok().filter(|count| *count > 0) else { return false };
        match &mut self.reading {
            ReceiveState::Payload { into, filled, .. } if into.bytes - *filled >= DIRECT => *filled += count,
            _ => {
                self.unread.1 += count;
                self.filled |= self.unread.1 == self.input.bytes;
            }
        }
        true
    }

    fn await_payload(&mut self, work: u32, into: Slice) {
        self.reading = ReceiveState::Payload { work, into, filled: 0 };
    }

    fn half_said(&self) -> Option<u32> {
        if let ReceiveState::Payload { work, .. } = self.reading { Some(work) } else { None }
    }

    fn refuse(&mut self, request: &ClientRequest, errno: i32) {
        let answer = Some(self.error_reply(request, errno));
        self.reading = ReceiveState::Unwanted { left: request.payload() as usize, answer };
    }

    fn fail(&mut self, request: &ClientRequest, errno: i32) {
        let reply = self.error_reply(request, errno);
        self.answer(reply);
    }

    fn acknowledge(&mut self, request: &ClientRequest) {
        let head = ReplyHeader::Short(self.session.success(request));
        self.answer(PendingReply { head, data: None });
    }

    fn give(&mut self, work: &InFlightRequest) {
        let data = work.data.as_ref().map(|data| data.after(work.told));
        let (offset, bytes) = (work.request.offset + work.told as u64, data.as_ref().map_or(0, |data| data.bytes));
        let part = self.session.part(&work.request, offset, bytes as u32, Chunk::Last);
        let head = ReplyHeader::Short(part.unwrap_or_else(|| self.session.data(&work.request)));
        self.answer(PendingReply { head, data });
    }

    fn give_part(&mut self, work: &InFlightRequest, part: &Slice) -> bool {
        let offset = work.request.offset + work.told as u64;
        let Some(head) = self.session.part(&work.request, offset, part.bytes as u32, Chunk::More) else { return false };
        self.answer(PendingReply { head: ReplyHeader::Short(head), data: Some(part.clone()) });
        true
    }

    fn nbd(&mut self) -> Option<&mut SocketLine> {
        Some(self)
    }

    fn unheard(&self) -> (u32, u64) {
        (self.outbox.len() as u32, self.unsent)
    }

    fn send(&mut self, number: u32, hands: &mut Hands) -> io::Result<()> {
        while self.sending.is_empty() && !self.outbox.is_empty() && !self.shut {
            self.gather(hands.pool);
            let count = hands.kernel.send(&self.socket, &self.sending);
            self.go_on_sending(count, number, hands)?;
        }
        Ok(())
    }

    fn note_sent(&mut self, result: i32, number: u32, hands: &mut Hands) -> io::Result<()> {
        let Some(count) = usize::try_from(result).ok().filter(|count| *count > 0) else {
            let unsent = self.sending.drain(..).map(|slice| slice.bytes as u64).sum();
            self.is_sent(unsent);
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        self.go_on_sending(count, number, hands)
    }

    fn leave(&mut self) {
        self.reading = ReceiveState::Nothing;
    }

    fn lose(&mut self, kernel: &mut dyn Kernel) {
        self.leave();
        self.outbox.clear();
        let sending: u64 = self.sending.iter().map(|slice| slice.bytes as u64).sum();
        self.is_sent(self.unsent - sending);
        self.shut(kernel);
    }

    fn is_stuck(&self, now: Time, patience: Span) -> bool {
        let speaks = matches!(
            self.reading,
            ReceiveState::Payload { .. } | ReceiveState::Unwanted { .. } | ReceiveState::Query(_)
        );
        let hears = !self.sending.is_empty();
        (hears && now.since(self.heard) > patience) || (speaks && self.receiving && now.since(self.said) > patience)
    }

    fn is_shut(&self) -> bool {
        self.shut
    }

    fn shut(&mut self, kernel: &mut dyn Kernel) {
        if !self.shut {
            self.shut = true;
            kernel.shut(&self.socket);
        }
    }

    fn is_answered(&self) -> bool {
        self.outbox.is_empty() && self.sending.is_empty()
    }

    fn is_gone(&self) -> bool {
        self.shut && self.sending.is_empty() && !self.receiving
    }

    fn end(self: Box<Self>, pool: &mut Pool) {
        pool.give(self.input.buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unwritten;
    use crate::kernel::PlayedKernel;
    use crate::unit::Ram;
    use std::os::unix::net::UnixStream;

    /// Keeps what it was to receive, and does nothing of it.
    #[derive(Default)]
    struct Asked(Vec<Slice>);

    impl PlayedKernel for Asked {
        fn time(&self) -> Time {
            Time(5)
        }

        fn note(&mut self, token: RingToken, op: RingOp) {
            assert_eq!(token, RingToken::Received(3));
            self.0.extend(op.into_slices());
        }
    }

    #[test]
    fn who_has_filled_its_memory_gets_more_which_holds_what_was_not_read_and_gives_back_the_other() {
        let mut kernel = Asked::default();
        let (mut pool, mut unit) = (Pool::default(), Ram::new(8, Unwritten::Zeros));
        let (ours, _theirs) = UnixStream::pair().expect("sockets");
        let session = Session {
            export: 0,
            size: 4096,
            block: nbd::BlockSize::default(),
            flags: nbd::Flags::default(),
            structured: false,
            extended: false,
            contexts: nbd::Contexts::default(),
        };
        let early: Vec<u8> = (0..LEAST_INPUT).map(|i| i as u8).collect();
        let mut client = SocketLine::new(ours.into(), session, &early[..1000], Rc::default(), &mut pool);
        let before = client.input.pointer();
        client.input.buffer.put(1000, &early[1000..]);
        // Nobody wants what came but for its last five bytes.
        client.reading = ReceiveState::Unwanted { left: LEAST_INPUT - 5, answer: None };
        for (count, filled) in [(2000, false), (LEAST_INPUT - 3000, true)] {
            assert!(client.note_received(count as i32) && client.filled == filled);
        }
        assert!(matches!(client.hear(None), Heard::NotYet) && client.unread == (LEAST_INPUT - 5, LEAST_INPUT));
        let mut hands = Hands { kernel: &mut kernel, pool: &mut pool, unit: &mut unit };
        client.receive(3, &mut hands).expect("pushed");
        assert!(client.input.bytes == INPUT && client.unread == (0, 5) && client.receiving);
        let mut kept = [0; 5];
        client.input.buffer.get(0, &mut kept);
        assert_eq!(kept, early[LEAST_INPUT - 5..]);
        // Memory that was freed instead would be one of these.
        let _others: Vec<_> = (0..8).map(|_| AlignedBuffer::new(LEAST_INPUT)).collect();
        let again = Slice { buffer: hands.pool.take(LEAST_INPUT), from: 0, bytes: LEAST_INPUT };
        assert_eq!(again.pointer(), before, "it is used again");
        // What it has now is its own until it leaves, however much comes, and it is received behind what is not read yet.
        for round in 1..10 {
            let mine = client.input.pointer();
            assert!(client.note_received((INPUT - 5) as i32) && client.said == Time(5), "round {round}");
            client.reading = ReceiveState::Unwanted { left: INPUT - 5, answer: None };
            assert!(matches!(client.hear(None), Heard::NotYet) && !client.receiving);
            client.receive(3, &mut hands).expect("pushed");
            client.receive(3, &mut hands).expect("it is received already");
            let other = hands.pool.take(INPUT);
            assert!(client.input.pointer() == mine && !Rc::ptr_eq(&other, &client.input.buffer));
        }
        let into: Vec<_> = kernel.0.iter().map(|slice| (slice.pointer(), slice.bytes)).collect();
        assert_eq!(into, [(client.input.pointer().wrapping_add(5), INPUT - 5); 10]);
        assert!(!client.note_received(0) && !client.note_received(-104), "it is gone");
    }
}
