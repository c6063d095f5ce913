//! Replies of the transmission phase.
//!
//! A [`ReplyHead`] is what goes before the bytes of a read, which the caller sends from where they are. The methods of
//! [`Session`] choose what was agreed on; the functions write one message each.

use std::ops::Deref;

use crate::errno::Errno;
use crate::export::{Context, Session};
use crate::flags::{CommandFlags, State};
use crate::limits::{MAX_EXTENTS, MAX_STRING};
use crate::request::ClientRequest;
use crate::wire::{EXTENDED_REPLY_MAGIC, SIMPLE_REPLY_MAGIC, STRUCTURED_REPLY_MAGIC, chunk};

/// `NBD_REPLY_FLAG_DONE`: the last chunk of a structured reply.
pub(crate) const DONE: u16 = 1;

/// Whether a chunk ends its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chunk {
    /// More chunks of this reply follow.
    More,
    /// It is the last.
    Last,
}

/// A message, or what goes before its payload: at most 48 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyHead {
    bytes: [u8; 48],
    length: u8,
}

impl ReplyHead {
    fn of(parts: &[&[u8]]) -> ReplyHead {
        let mut head = ReplyHead { bytes: [0; 48], length: 0 };
        for part in parts {
            let from = usize::from(head.length);
            head.bytes[from..from + part.len()].copy_from_slice(part);
            head.length += part.len() as u8;
        }
        head
    }

    /// The start of a structured reply chunk with so much payload.
    fn chunk(cookie: u64, kind: u16, length: u32, chunk: Chunk, start: &[u8]) -> ReplyHead {
        let flags = if chunk == Chunk::Last { DONE } else { 0 };
        ReplyHead::of(&[
            &STRUCTURED_REPLY_MAGIC.to_be_bytes(),
            &flags.to_be_bytes(),
            &kind.to_be_bytes(),
            &cookie.to_be_bytes(),
            &length.to_be_bytes(),
            start,
        ])
    }

    /// The same of an extended reply, to a request from an offset on.
    fn extended_head(to: (u64, u64), kind: u16, length: u64, chunk: Chunk, start: &[u8]) -> ReplyHead {
        let ((cookie, offset), flags) = (to, if chunk == Chunk::Last { DONE } else { 0 });
        ReplyHead::of(&[
            &EXTENDED_REPLY_MAGIC.to_be_bytes(),
            &flags.to_be_bytes(),
            &kind.to_be_bytes(),
            &cookie.to_be_bytes(),
            &offset.to_be_bytes(),
            &length.to_be_bytes(),
            start,
        ])
    }
}

impl Deref for ReplyHead {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

/// A simple reply. To a read that was done, the bytes follow.
#[must_use]
pub fn simple(cookie: u64, result: Result<(), Errno>) -> ReplyHead {
    let error = result.err().map_or(0, Errno::code);
    ReplyHead::of(&[&SIMPLE_REPLY_MAGIC.to_be_bytes(), &error.to_be_bytes(), &cookie.to_be_bytes()])
}

/// `NBD_REPLY_TYPE_NONE`: all was done.
#[must_use]
pub fn none(cookie: u64) -> ReplyHead {
    ReplyHead::chunk(cookie, chunk::NONE, 0, Chunk::Last, &[])
}

/// `NBD_REPLY_TYPE_OFFSET_DATA`: `length` bytes follow, at most 2^32 - 9. The last chunk must not be able to fail any
/// more.
#[must_use]
pub fn data(cookie: u64, offset: u64, length: u32, chunk: Chunk) -> ReplyHead {
    ReplyHead::chunk(cookie, chunk::OFFSET_DATA, length + 8, chunk, &offset.to_be_bytes())
}

/// `NBD_REPLY_TYPE_OFFSET_HOLE`: `length` bytes are zero, and are not sent. Not in a read with `DF`, unless it is all.
#[must_use]
pub fn hole(cookie: u64, offset: u64, length: u32, chunk: Chunk) -> ReplyHead {
    let mut place = [0; 12];
    place[..8].copy_from_slice(&offset.to_be_bytes());
    place[8..].copy_from_slice(&length.to_be_bytes());
    ReplyHead::chunk(cookie, chunk::OFFSET_HOLE, 12, chunk, &place)
}

/// `NBD_REPLY_TYPE_ERROR`, or `NBD_REPLY_TYPE_ERROR_OFFSET` where it is known which byte failed. A message too long for
/// the protocol is cut.
pub fn error(cookie: u64, errno: Errno, message: &str, at: Option<u64>, chunk: Chunk, out: &mut Vec<u8>) {
    let message = cut(message);
    let (kind, place) = match &at {
        Some(offset) => (chunk::ERROR_OFFSET, &offset.to_be_bytes()[..]),
        None => (chunk::ERROR, &[][..]),
    };
    let length = 6 + message.len() + place.len();
    out.extend(&*ReplyHead::chunk(cookie, kind, length as u32, chunk, &errno.code().to_be_bytes()));
    out.extend((message.len() as u16).to_be_bytes());
    out.extend(message.as_bytes());
    out.extend(place);
}

/// As much of a message as the protocol takes.
fn cut(message: &str) -> &str {
    let fits = (0..=message.len().min(MAX_STRING)).rev().find(|end| message.is_char_boundary(*end));
    &message[..fits.unwrap_or_default()]
}

/// What is known of the next bytes of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusExtent {
    /// In bytes; a whole number of the export's least blocks, not zero.
    pub length: u64,
    /// What its context tells of it: of `base:allocation`, a [`State`].
    pub state: u32,
}

impl Session {
    /// A chunk of a structured reply with so much payload, to a request known by its cookie and its offset.
    fn chunk(&self, to: (u64, u64), kind: u16, length: u64, chunk: Chunk, start: &[u8]) -> ReplyHead {
        match self.extended {
            true => ReplyHead::extended_head(to, kind, length, chunk, start),
            false => ReplyHead::chunk(to.0, kind, length as u32, chunk, start),
        }
    }

    /// A request without a payload in its answer was done.
    #[must_use]
    pub fn success(&self, request: &ClientRequest) -> ReplyHead {
        match self.extended {
            true => self.chunk((request.cookie, request.offset), chunk::NONE, 0, Chunk::Last, &[]),
            false => simple(request.cookie, Ok(())),
        }
    }

    /// A read was done: as many bytes as were asked for follow. It is whole with them.
    #[must_use]
    pub fn data(&self, request: &ClientRequest) -> ReplyHead {
        if self.structured {
            self.content(request, request.offset, request.length, Chunk::Last)
        } else {
            simple(request.cookie, Ok(()))
        }
    }

    /// Part of a read was done, from a byte of the export on: as many bytes follow, and in time the rest in the same way or
    /// an error. None where the client wants its answer in one piece.
    #[must_use]
    pub fn part(&self, request: &ClientRequest, offset: u64, length: u32, chunk: Chunk) -> Option<ReplyHead> {
        let may = self.structured && !request.flags.has(CommandFlags::DF);
        may.then(|| self.content(request, offset, length.into(), chunk))
    }

    fn content(&self, request: &ClientRequest, offset: u64, length: u64, chunk: Chunk) -> ReplyHead {
        let to = (request.cookie, request.offset);
        self.chunk(to, chunk::OFFSET_DATA, length + 8, chunk, &offset.to_be_bytes())
    }

    /// A request, known by its cookie and its offset, was not done. `message` is for people, who see it if replies are
    /// structured.
    pub fn error(&self, to: (u64, u64), errno: Errno, message: &str, out: &mut Vec<u8>) {
        if self.extended {
            let message = cut(message);
            let length = 6 + message.len() as u64;
            out.extend(&*self.chunk(to, chunk::ERROR, length, Chunk::Last, &errno.code().to_be_bytes()));
            out.extend((message.len() as u16).to_be_bytes());
            out.extend(message.as_bytes());
        } else if self.structured {
            error(to.0, errno, message, None, Chunk::Last, out);
        } else {
            out.extend(&*simple(to.0, Err(errno)));
        }
    }

    /// What a context tells in answer to a block status: extents from its offset on, of which it takes as many as it needs, and of
    /// `REQ_ONE` the first. Where nothing is known, there are data, of an unknown rate.
    pub fn status(
        &self,
        request: &ClientRequest,
        context: Context,
        extents: impl IntoIterator<Item = StatusExtent>,
        last: Chunk,
        out: &mut Vec<u8>,
    ) {
        let one = request.flags.has(CommandFlags::REQ_ONE);
        let mut told: Vec<StatusExtent> = Vec::new();
        let mut left = request.length;
        for extent in extents.into_iter().take(if one { 1 } else { MAX_EXTENTS }) {
            if left == 0 {
                break;
            }
            let length = extent.length.min(left);
            left -= length;
            told.push(StatusExtent { length, ..extent });
        }
        if told.is_empty() {
            told.push(StatusExtent { length: left, state: State::default().0 });
        }
        let (to, number) = ((request.cookie, request.offset), context.number().to_be_bytes());
        if self.extended {
            let start = [number, (told.len() as u32).to_be_bytes()].concat();
            let length = 8 + 16 * told.len() as u64;
            out.extend(&*self.chunk(to, chunk::BLOCK_STATUS_EXT, length, last, &start));
            told.iter().for_each(|it| out.extend([it.length, it.state.into()].map(u64::to_be_bytes).as_flattened()));
        } else {
            let length = 4 + 8 * told.len() as u64;
            out.extend(&*self.chunk(to, chunk::BLOCK_STATUS, length, last, &number));
            told.iter().for_each(|it| out.extend([it.length as u32, it.state].map(u32::to_be_bytes).as_flattened()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::{BlockSize, Contexts, Export};
    use crate::flags::Flags;
    use crate::request::RequestType;

    const COOKIE: u64 = 0x0102_0304_0506_0708;

    fn session(structured: bool) -> Session {
        let export = Export { size: 1 << 20, block: BlockSize::default(), ..Export::default() };
        Session::new(0, &export, (structured, false), Contexts::default().with(Context::Allocation))
    }

    fn request(command: RequestType, flags: CommandFlags) -> ClientRequest {
        ClientRequest { command, flags, cookie: COOKIE, offset: 0x1000, length: 0x200 }
    }

    fn appended(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut out = vec![9];
        write(&mut out);
        out.split_off(1)
    }

    #[test]
    fn simple_replies_are_those_of_the_document() {
        assert_eq!(*simple(COOKIE, Ok(())), *b"\x67\x44\x66\x98\0\0\0\0\x01\x02\x03\x04\x05\x06\x07\x08");
        let failed = appended(|out| session(false).error((COOKIE, 0), Errno::NoSpc, "full", out));
        assert_eq!(failed, *b"\x67\x44\x66\x98\0\0\0\x1c\x01\x02\x03\x04\x05\x06\x07\x08");
        let read = request(RequestType::Read, CommandFlags(0));
        assert_eq!(session(false).data(&read), simple(COOKIE, Ok(())));
        assert_eq!(session(true).success(&read), simple(COOKIE, Ok(())));
    }

    #[test]
    fn chunks_are_those_of_the_document() {
        let chunk = |flags: u8, kind: [u8; 2], length: u8, payload: &[u8]| {
            let head = [0x66, 0x8e, 0x33, 0xef, 0, flags, kind[0], kind[1], 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, length];
            [&head[..], payload].concat()
        };
        let read = request(RequestType::Read, CommandFlags(0));
        let offset = [0, 0, 0, 0, 0, 0, 0x10, 0];
        let whole = [0x66, 0x8e, 0x33, 0xef, 0, 1, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 2, 8];
        assert_eq!(*session(true).data(&read), [&whole[..], &offset].concat());
        assert_eq!(*data(COOKIE, 0x1000, 16, Chunk::More), chunk(0, [0, 1], 24, &offset));
        assert_eq!(
            *hole(COOKIE, 0x1000, 16, Chunk::More),
            chunk(0, [0, 2], 12, &[&offset[..], &[0, 0, 0, 16]].concat())
        );
        assert_eq!(session(true).part(&read, 0x1000, 16, Chunk::More), Some(data(COOKIE, 0x1000, 16, Chunk::More)));
        let in_one = request(RequestType::Read, CommandFlags::DF);
        assert_eq!(session(true).part(&in_one, 0x1000, 16, Chunk::More), None);
        assert_eq!(session(false).part(&read, 0x1000, 16, Chunk::More), None, "simple replies have no parts");
        assert_eq!(*none(COOKIE), chunk(1, [0, 0], 0, &[]));
        let failed = appended(|out| session(true).error((COOKIE, 0), Errno::Inval, "no", out));
        assert_eq!(failed, chunk(1, [0x80, 1], 8, b"\0\0\0\x16\0\x02no"));
        let failed = appended(|out| error(COOKIE, Errno::Io, "bad", Some(0x1000), Chunk::More, out));
        assert_eq!(failed, chunk(0, [0x80, 2], 17, b"\0\0\0\x05\0\x03bad\0\0\0\0\0\0\x10\0"));
    }

    #[test]
    fn a_message_is_cut_where_the_protocol_ends_it() {
        let failed = appended(|out| error(COOKIE, Errno::Io, &"\u{fc}".repeat(3000), None, Chunk::Last, out));
        assert_eq!(failed.len(), 20 + 6 + 4096);
        let failed =
            appended(|out| error(COOKIE, Errno::Io, &format!("a{}", "\u{fc}".repeat(3000)), None, Chunk::Last, out));
        assert_eq!(failed.len(), 20 + 6 + 4095);
    }

    /// Context and extents of a status, after a header that says how long they are.
    fn status(flags: CommandFlags, extents: &[(u32, State)]) -> Vec<u32> {
        let extents = extents.iter().map(|(length, state)| StatusExtent { length: u64::from(*length), state: state.0 });
        let asked = request(RequestType::BlockStatus, flags);
        let out = appended(|out| session(true).status(&asked, Context::Allocation, extents, Chunk::Last, out));
        let length = u32::from_be_bytes(out[16..20].try_into().unwrap()) as usize;
        assert_eq!((&out[..8], out.len()), (&[0x66, 0x8e, 0x33, 0xef, 0, 1, 0, 5][..], 20 + length));
        out[20..].chunks(4).map(|number| u32::from_be_bytes(number.try_into().unwrap())).collect()
    }

    #[test]
    fn a_status_ends_where_it_was_asked_to() {
        let (data, nothing) = (State::default(), State::HOLE.with(State::ZERO));
        let extents = [(0x80, data), (0x100, nothing), (0x200, data), (0x200, nothing)];
        assert_eq!(status(CommandFlags(0), &extents), [1, 0x80, 0, 0x100, 3, 0x80, 0]);
        assert_eq!(status(CommandFlags::REQ_ONE, &extents), [1, 0x80, 0]);
        assert_eq!(status(CommandFlags::REQ_ONE, &[(0x4000, nothing)]), [1, 0x200, 3]);
        assert_eq!(status(CommandFlags(0), &[]), [1, 0x200, 0], "where nothing is known there are data");
        assert_eq!(status(CommandFlags(0), &[(1, data); 2000]).len(), 1 + 2 * 0x200);
    }

    #[test]
    fn what_needs_structured_replies_is_offered_with_them() {
        let export = Export { flags: Flags::SEND_DF.with(Flags::ROTATIONAL), ..Export::default() };
        assert_eq!(Session::new(0, &export, (false, false), Contexts::default()).flags.0, 0b1_0001);
        assert_eq!(Session::new(0, &export, (true, false), Contexts::default()).flags.0, 0b1001_0001);
    }

    #[test]
    fn extended_replies_are_those_of_the_document() {
        let extended = Session { extended: true, ..session(true) };
        let head = |flags: u8, kind: [u8; 2], length: u8| {
            let (cookie, offset) = ([1, 2, 3, 4, 5, 6, 7, 8], [0, 0, 0, 0, 0, 0, 0x10, 0]);
            let start = [0x6e, 0x8a, 0x27, 0x8c, 0, flags, kind[0], kind[1]];
            [&start[..], &cookie, &offset, &[0, 0, 0, 0, 0, 0, 0, length]].concat()
        };
        let read = ClientRequest { length: 16, ..request(RequestType::Read, CommandFlags(0)) };
        assert_eq!(*extended.success(&read), head(1, [0, 0], 0));
        let data = [head(1, [0, 1], 24), vec![0, 0, 0, 0, 0, 0, 0x10, 0]].concat();
        assert_eq!(*extended.data(&read), data);
        let failed = appended(|out| extended.error((COOKIE, 0x1000), Errno::NotSup, "slow", out));
        assert_eq!(failed, [&head(1, [0x80, 1], 10)[..], b"\0\0\0\x5f\0\x04slow"].concat());
        let asked = ClientRequest { length: 1 << 40, ..request(RequestType::BlockStatus, CommandFlags(0)) };
        let extents = [StatusExtent { length: 1 << 39, state: 3 }, StatusExtent { length: u64::MAX, state: 7 }];
        let told = appended(|out| extended.status(&asked, Context::Rate, extents, Chunk::More, out));
        let numbers = [1_u64 << 39, 3, 1 << 39, 7].map(u64::to_be_bytes).concat();
        assert_eq!(told, [&head(0, [0, 6], 40)[..], &[0, 0, 0, 2, 0, 0, 0, 2], &numbers].concat());
    }
}
