//! Requests of the transmission phase.

use crate::errno::Errno;
use crate::export::Session;
use crate::flags::{CommandFlags, Flags};
use crate::handshake::CloseReason;
use crate::limits::{MAX_DRAINED_BYTES, REQUEST_BYTES};
use crate::wire::{MessageFields, REQUEST_MAGIC};

/// The commands of the transmission phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum RequestType {
    /// `NBD_CMD_READ`: the reply carries the bytes.
    Read = 0,
    /// `NBD_CMD_WRITE`: as many bytes as it is long follow.
    Write = 1,
    /// `NBD_CMD_DISC`: the client goes, and waits for no answer to it.
    Disc = 2,
    /// `NBD_CMD_FLUSH`: what was answered before is on the medium before this is answered.
    Flush = 3,
    /// `NBD_CMD_TRIM`: the bytes may be forgotten.
    Trim = 4,
    /// `NBD_CMD_CACHE`: a hint that it will be read.
    Cache = 5,
    /// `NBD_CMD_WRITE_ZEROES`: a write without a payload.
    WriteZeroes = 6,
    /// `NBD_CMD_BLOCK_STATUS`: which bytes are allocated.
    BlockStatus = 7,
}

const COMMANDS: [RequestType; 8] = [
    RequestType::Read,
    RequestType::Write,
    RequestType::Disc,
    RequestType::Flush,
    RequestType::Trim,
    RequestType::Cache,
    RequestType::WriteZeroes,
    RequestType::BlockStatus,
];

impl RequestType {
    /// Whether it changes what is stored.
    #[must_use]
    pub const fn writes(self) -> bool {
        matches!(self, RequestType::Write | RequestType::Trim | RequestType::WriteZeroes)
    }

    /// Whether it is of a part of the export.
    const fn has_extent(self) -> bool {
        !matches!(self, RequestType::Disc | RequestType::Flush)
    }

    /// What a server offers who understands it.
    const fn needs(self) -> Flags {
        match self {
            RequestType::Flush => Flags::SEND_FLUSH,
            RequestType::Trim => Flags::SEND_TRIM,
            RequestType::Cache => Flags::SEND_CACHE,
            RequestType::WriteZeroes => Flags::SEND_WRITE_ZEROES,
            RequestType::Read | RequestType::Write | RequestType::Disc | RequestType::BlockStatus => Flags(0),
        }
    }

    /// Flags that it may have, of a server that offers so much. FUA is for all of them.
    fn takes(self, offered: Flags) -> CommandFlags {
        let rules = [
            (true, Flags::SEND_FUA, CommandFlags::FUA),
            (self == RequestType::Read, Flags::SEND_DF, CommandFlags::DF),
            (self == RequestType::WriteZeroes, Flags::SEND_WRITE_ZEROES, CommandFlags::NO_HOLE),
            (self == RequestType::WriteZeroes, Flags::SEND_FAST_ZERO, CommandFlags::FAST_ZERO),
            (self == RequestType::BlockStatus, Flags(0), CommandFlags::REQ_ONE),
        ];
        let valid = rules.into_iter().filter(|(mine, needs, _)| *mine && offered.has(*needs));
        valid.fold(CommandFlags(0), |flags, (_, _, flag)| flags.with(flag))
    }
}

/// A request, as a client sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientRequest {
    /// The command, by its number on the wire.
    pub command: RequestType,
    /// How it is to be done.
    pub flags: CommandFlags,
    /// By what the client knows the answer.
    pub cookie: u64,
    /// The first byte of the export that it concerns.
    pub offset: u64,
    /// How many bytes it concerns.
    pub length: u32,
}

/// What is not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// To be answered with an error, after the payload was read and thrown away.
    Error {
        /// By what the client knows the answer.
        cookie: u64,
        /// The error to reply with.
        error: Errno,
        /// What it tells people.
        message: &'static str,
        /// Bytes that follow the header.
        payload: u32,
    },
    /// The connection is to be closed at once: where the next request begins is not known, or too far.
    Close(CloseReason),
}

impl ClientRequest {
    /// The header of the request; a write is followed by its payload.
    #[must_use]
    pub fn encode(&self) -> [u8; REQUEST_BYTES] {
        let mut header = [0; REQUEST_BYTES];
        header[..4].copy_from_slice(&REQUEST_MAGIC.to_be_bytes());
        header[4..6].copy_from_slice(&self.flags.0.to_be_bytes());
        header[6..8].copy_from_slice(&(self.command as u16).to_be_bytes());
        header[8..16].copy_from_slice(&self.cookie.to_be_bytes());
        header[16..24].copy_from_slice(&self.offset.to_be_bytes());
        header[24..].copy_from_slice(&self.length.to_be_bytes());
        header
    }

    /// Bytes that follow the header.
    #[must_use]
    pub const fn payload(&self) -> u32 {
        if matches!(self.command, RequestType::Write) { self.length } else { 0 }
    }

    /// Whether it must be on the medium before it is answered.
    #[must_use]
    pub const fn fua(&self) -> bool {
        self.flags.has(CommandFlags::FUA)
    }
}

impl Session {
    /// The request of a header, if it may be done: known, allowed, inside the export, a whole number of its least
    /// blocks, and if it is a read or a write no longer than the longest. What has no payload may be as long as the
    /// export.
    ///
    /// # Errors
    /// What else is to be done with it.
    pub fn request(&self, header: &[u8; REQUEST_BYTES]) -> Result<ClientRequest, Refused> {
        let mut fields = MessageFields(header);
        let (Some(magic), Some(flags), Some(code), Some(cookie), Some(offset), Some(length)) =
            (fields.u32(), fields.u16(), fields.u16(), fields.u64(), fields.u64(), fields.u32())
        else {
            return Err(Refused::Close(CloseReason::Over));
        };
        if magic != REQUEST_MAGIC {
            return Err(Refused::Close(CloseReason::BadMagic(magic.into())));
        }
        let refused = |payload, (error, message)| Refused::Error { cookie, error, message, payload };
        let Some(command) = COMMANDS.into_iter().find(|command| *command as u16 == code) else {
            return Err(refused(0, (Errno::Inval, "no such command")));
        };
        let request = ClientRequest { command, flags: CommandFlags(flags), cookie, offset, length };
        if request.payload() > self.block.maximum.max(MAX_DRAINED_BYTES) {
            return Err(Refused::Close(CloseReason::TooMuchPayload(length)));
        }
        self.check(&request).map_err(|error| refused(request.payload(), error)).map(|()| request)
    }

    fn check(&self, request: &ClientRequest) -> Result<(), (Errno, &'static str)> {
        let ClientRequest { command, flags, offset, length, .. } = *request;
        if command == RequestType::Disc {
            return Ok(());
        }
        let past = offset.checked_add(length.into()).is_none_or(|end| end > self.size);
        let least = u64::from(self.block.minimum.max(1));
        let aligned = offset.is_multiple_of(least) && u64::from(length).is_multiple_of(least);
        let write = command.writes() && command != RequestType::Trim;
        let rules = [
            (!self.flags.has(command.needs()), Errno::Inval, "the export does not offer this command"),
            (
                command == RequestType::BlockStatus && self.allocation.is_none(),
                Errno::Inval,
                "no metadata context was chosen",
            ),
            (!command.takes(self.flags).has(flags), Errno::Inval, "a flag that this command does not take"),
            (command.writes() && self.flags.has(Flags::READ_ONLY), Errno::Perm, "the export is read-only"),
            (!command.has_extent() && (offset, length) != (0, 0), Errno::Inval, "a flush has no offset and no length"),
            (command.has_extent() && length == 0, Errno::Inval, "a length of zero"),
            (past && write, Errno::NoSpc, "a write past the end of the export"),
            (past, Errno::Inval, "past the end of the export"),
            (!aligned, Errno::Inval, "not a whole number of the export's least blocks"),
            (
                matches!(command, RequestType::Read | RequestType::Write) && length > self.block.maximum,
                Errno::Inval,
                "longer than the export's longest request",
            ),
        ];
        match rules.into_iter().find(|(broken, ..)| *broken) {
            None => Ok(()),
            Some((_, error, message)) => Err((error, message)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::{BlockSize, Export};

    const MIB: u32 = 1 << 20;

    fn session(flags: Flags) -> Session {
        let block = BlockSize { minimum: 512, preferred: 4096, maximum: MIB };
        Session::new(0, &Export { size: 64 << 20, block, flags, ..Export::default() }, true, Some(1))
    }

    fn all() -> Session {
        let offered = [Flags::SEND_FLUSH, Flags::SEND_FUA, Flags::SEND_TRIM, Flags::SEND_WRITE_ZEROES, Flags::SEND_DF];
        session(offered.into_iter().fold(Flags::SEND_CACHE, Flags::with))
    }

    fn request(command: RequestType, flags: CommandFlags, offset: u64, length: u32) -> ClientRequest {
        ClientRequest { command, flags, cookie: 7, offset, length }
    }

    /// Error and payload of what is refused.
    fn refused(session: &Session, request: ClientRequest) -> Option<(Errno, u32)> {
        match session.request(&request.encode()) {
            Ok(read) => {
                assert_eq!(read, request);
                None
            }
            Err(Refused::Error { cookie: 7, error, payload, .. }) => Some((error, payload)),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_request_is_that_of_the_document() {
        let header = b"\x25\x60\x95\x13\0\x01\0\x01\x01\x02\x03\x04\x05\x06\x07\x08\0\0\0\0\0\0\x02\0\0\0\x10\0";
        let cookie = 0x0102_0304_0506_0708;
        let write = ClientRequest { cookie, ..request(RequestType::Write, CommandFlags::FUA, 512, 4096) };
        assert_eq!(all().request(header), Ok(write));
        assert_eq!(write.encode(), *header);
        assert_eq!((write.payload(), write.fua()), (4096, true));
    }

    #[test]
    fn what_may_be_done_passes() {
        let (none, end) = (CommandFlags(0), 64 << 20);
        for passes in [
            request(RequestType::Read, CommandFlags::DF, end - 512, 512),
            request(RequestType::Read, CommandFlags::FUA, 0, MIB),
            request(RequestType::Write, none, end - u64::from(MIB), MIB),
            request(RequestType::Flush, CommandFlags::FUA, 0, 0),
            request(RequestType::Disc, none, 0, 0),
            request(RequestType::Trim, CommandFlags::FUA, 0, 64 * MIB),
            request(RequestType::Cache, none, 512, 2 * MIB),
            request(RequestType::WriteZeroes, CommandFlags::NO_HOLE.with(CommandFlags::FUA), 0, 64 * MIB),
            request(RequestType::BlockStatus, CommandFlags::REQ_ONE, 0, 64 * MIB),
        ] {
            assert_eq!(refused(&all(), passes), None, "{passes:?}");
        }
    }

    #[test]
    fn what_may_not_be_done_has_the_error_of_the_document_and_its_payload_is_passed_over() {
        let (none, end) = (CommandFlags(0), 64 << 20);
        for (wrong, error, payload) in [
            (request(RequestType::Read, none, end, 512), Errno::Inval, 0),
            (request(RequestType::Read, none, u64::MAX - 511, 512), Errno::Inval, 0),
            (request(RequestType::Write, none, end - 512, 1024), Errno::NoSpc, 1024),
            (request(RequestType::Write, none, u64::MAX - 511, 1024), Errno::NoSpc, 1024),
            (request(RequestType::WriteZeroes, none, end, 512), Errno::NoSpc, 0),
            (request(RequestType::Trim, none, end, 512), Errno::Inval, 0),
            (request(RequestType::Cache, none, end, 512), Errno::Inval, 0),
            (request(RequestType::BlockStatus, none, end, 512), Errno::Inval, 0),
            (request(RequestType::Read, none, 1, 512), Errno::Inval, 0),
            (request(RequestType::Write, none, 512, 513), Errno::Inval, 513),
            (request(RequestType::Read, none, 0, MIB + 512), Errno::Inval, 0),
            (request(RequestType::Write, none, 0, MIB + 512), Errno::Inval, MIB + 512),
            (request(RequestType::Read, none, 0, 0), Errno::Inval, 0),
            (request(RequestType::Flush, none, 0, 512), Errno::Inval, 0),
            (request(RequestType::Read, CommandFlags::NO_HOLE, 0, 512), Errno::Inval, 0),
            (request(RequestType::Read, CommandFlags(1 << 9), 0, 512), Errno::Inval, 0),
            (request(RequestType::Write, CommandFlags::DF, 0, 512), Errno::Inval, 512),
            (request(RequestType::WriteZeroes, CommandFlags::FAST_ZERO, 0, 512), Errno::Inval, 0),
            (request(RequestType::Read, CommandFlags::REQ_ONE, 0, 512), Errno::Inval, 0),
        ] {
            assert_eq!(refused(&all(), wrong), Some((error, payload)), "{wrong:?}");
        }
    }

    #[test]
    fn what_was_not_offered_is_refused() {
        let read_only = session(Flags::READ_ONLY.with(Flags::SEND_TRIM).with(Flags::SEND_WRITE_ZEROES));
        for command in [RequestType::Write, RequestType::Trim, RequestType::WriteZeroes] {
            let error = refused(&read_only, request(command, CommandFlags(0), 0, 512)).map(|(error, _)| error);
            assert_eq!(error, Some(Errno::Perm));
        }
        let plain = Session { allocation: None, structured: false, ..session(Flags(0)) };
        for command in [RequestType::Trim, RequestType::Cache, RequestType::WriteZeroes, RequestType::BlockStatus] {
            assert_eq!(
                refused(&plain, request(command, CommandFlags(0), 0, 512)),
                Some((Errno::Inval, 0)),
                "{command:?}"
            );
        }
        assert_eq!(refused(&plain, request(RequestType::Flush, CommandFlags(0), 0, 0)), Some((Errno::Inval, 0)));
        for flag in [CommandFlags::FUA, CommandFlags::DF] {
            assert_eq!(refused(&plain, request(RequestType::Read, flag, 0, 512)), Some((Errno::Inval, 0)));
        }
    }

    #[test]
    fn where_the_next_request_begins_must_be_known() {
        let mut header = request(RequestType::Read, CommandFlags(0), 0, 512).encode();
        header[7] = 8;
        assert!(matches!(all().request(&header), Err(Refused::Error { error: Errno::Inval, payload: 0, .. })));
        header[0] = 0;
        assert_eq!(all().request(&header), Err(Refused::Close(CloseReason::BadMagic(0x0060_9513))));
        let long = |length| all().request(&request(RequestType::Write, CommandFlags(0), 0, length).encode());
        assert!(matches!(long(MAX_DRAINED_BYTES), Err(Refused::Error { payload: MAX_DRAINED_BYTES, .. })));
        let length = MAX_DRAINED_BYTES + 1;
        assert_eq!(long(length), Err(Refused::Close(CloseReason::TooMuchPayload(length))));
    }
}
