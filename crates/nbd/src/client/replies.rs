//! Replies of the transmission phase, as a client reads them.

use super::Broken;
use crate::errno::Errno;
use crate::limits::MAX_STRING;
use crate::reply::{Chunk, DONE};
use crate::wire::{MessageFields, SIMPLE_REPLY_MAGIC, STRUCTURED_REPLY_MAGIC, chunk};

/// A simple reply, or a chunk of a structured one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerReply {
    /// The cookie of the request that is answered.
    pub cookie: u64,
    /// Whether others follow for this request.
    pub chunk: Chunk,
    /// What the reply says, apart from the bytes of a read.
    pub body: Body,
}

/// What a reply says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// A simple reply: it was done. To a read, as many bytes as were asked for follow.
    Done,
    /// The end of a structured reply.
    None,
    /// So many bytes of a read follow.
    Data {
        /// Where they are in the export, in bytes.
        offset: u64,
        /// The length in bytes.
        length: u32,
    },
    /// So many bytes of a read are zero.
    Hole {
        /// Where they are in the export, in bytes.
        offset: u64,
        /// The length in bytes.
        length: u32,
    },
    /// It was not done.
    Failed {
        /// The error that the server reports.
        error: Errno,
        /// What the server says about it; may be empty.
        message: String,
    },
}

/// The next reply, if it is there whole; what it takes is gone from `bytes`. Data are not part of it, they follow.
///
/// # Errors
/// When the server does not keep to the protocol: the place in the stream is lost.
pub fn reply(bytes: &mut &[u8]) -> Result<Option<ServerReply>, Broken> {
    let mut fields = MessageFields(bytes);
    let reply = match fields.u32() {
        None => None,
        Some(SIMPLE_REPLY_MAGIC) => simple(&mut fields),
        Some(STRUCTURED_REPLY_MAGIC) => read_chunk(&mut fields)?,
        Some(_) => return Err(Broken::Unexpected("a reply does not begin like one")),
    };
    if reply.is_some() {
        *bytes = fields.0;
    }
    Ok(reply)
}

fn simple(fields: &mut MessageFields) -> Option<ServerReply> {
    let (error, cookie) = (fields.u32()?, fields.u64()?);
    let body = match error {
        0 => Body::Done,
        code => Body::Failed { error: Errno::of_code(code), message: String::new() },
    };
    Some(ServerReply { cookie, chunk: Chunk::Last, body })
}

fn read_chunk(fields: &mut MessageFields) -> Result<Option<ServerReply>, Broken> {
    let (flags, kind, cookie, length) = (fields.u16(), fields.u16(), fields.u64(), fields.u32());
    let (Some(flags), Some(kind), Some(cookie), Some(length)) = (flags, kind, cookie, length) else { return Ok(None) };
    let body = match (kind, length) {
        (chunk::NONE, 0) if flags & DONE != 0 => Some(Body::None),
        (chunk::OFFSET_DATA, 9..) => fields.u64().map(|offset| Body::Data { offset, length: length - 8 }),
        (chunk::OFFSET_HOLE, 12) => hole(fields),
        (chunk::FAILED.., 6..) if length as usize <= MAX_STRING + 14 => read_error(fields, length)?,
        _ => return Err(Broken::Unexpected("a chunk of an unknown kind or length")),
    };
    let chunk = if flags & DONE == 0 { Chunk::More } else { Chunk::Last };
    Ok(body.map(|body| ServerReply { cookie, chunk, body }))
}

fn hole(fields: &mut MessageFields) -> Option<Body> {
    Some(Body::Hole { offset: fields.u64()?, length: fields.u32()? })
}

/// Whatever kind of error it is, it begins alike.
fn read_error(fields: &mut MessageFields, length: u32) -> Result<Option<Body>, Broken> {
    let Some(payload) = fields.bytes(length as usize) else { return Ok(None) };
    let mut payload = MessageFields(payload);
    let (Some(code), Some(said)) = (payload.u32(), payload.u16()) else { return Ok(None) };
    let message = payload.bytes(said.into()).ok_or(Broken::Unexpected("a message longer than its chunk"))?;
    Ok(Some(Body::Failed { error: Errno::of_code(code), message: String::from_utf8_lossy(message).into_owned() }))
}
