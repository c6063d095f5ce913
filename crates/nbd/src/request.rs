//! Requests of the transmission phase.

use crate::errno::Errno;
use crate::export::{Contexts, Session};
use crate::flags::{CommandFlags, Flags};
use crate::handshake::CloseReason;
use crate::limits::{EXTENDED_REQUEST_BYTES, MAX_DRAINED_BYTES, MAX_QUERY_BYTES, REQUEST_BYTES};
use crate::wire::{EXTENDED_REQUEST_MAGIC, MessageFields, REQUEST_MAGIC};

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

    /// Flags that it may have, as was agreed. FUA is for all of them.
    fn takes(self, agreed: &Session) -> CommandFlags {
        let offered = agreed.flags;
        let rules = [
            (self == RequestType::Write && agreed.extended, Flags(0), CommandFlags::PAYLOAD_LEN),
            (
                self == RequestType::BlockStatus && agreed.extended,
                Flags::BLOCK_STATUS_PAYLOAD,
                CommandFlags::PAYLOAD_LEN,
            ),
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
    /// How many bytes it concerns; of a block status with a payload, how many that has.
    pub length: u64,
}

/// What is not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// To be answered with an error, after the payload was read and thrown away.
    Error {
        /// By what the client knows the answer.
        cookie: u64,
        /// The offset of the request, which an extended answer repeats.
        offset: u64,
        /// The error to reply with.
        error: Errno,
        /// What it tells people.
        message: &'static str,
        /// Bytes that follow the header.
        payload: u64,
    },
    /// The connection is to be closed at once: where the next request begins is not known, or too far.
    Close(CloseReason),
}

impl ClientRequest {
    /// The header of the request, which has less than 4 GiB; a write is followed by its payload.
    #[must_use]
    pub fn encode(&self) -> [u8; REQUEST_BYTES] {
        let mut header = [0; REQUEST_BYTES];
        header[..4].copy_from_slice(&REQUEST_MAGIC.to_be_bytes());
        header[4..6].copy_from_slice(&self.flags.0.to_be_bytes());
        header[6..8].copy_from_slice(&(self.command as u16).to_be_bytes());
        header[8..16].copy_from_slice(&self.cookie.to_be_bytes());
        header[16..24].copy_from_slice(&self.offset.to_be_bytes());
        header[24..].copy_from_slice(&(self.length as u32).to_be_bytes());
        header
    }

    /// The same with an extended header.
    #[must_use]
    pub fn encode_extended(&self) -> [u8; EXTENDED_REQUEST_BYTES] {
        let mut header = [0; EXTENDED_REQUEST_BYTES];
        header[..REQUEST_BYTES].copy_from_slice(&self.encode());
        header[..4].copy_from_slice(&EXTENDED_REQUEST_MAGIC.to_be_bytes());
        header[24..].copy_from_slice(&self.length.to_be_bytes());
        header
    }

    /// Bytes that follow the header.
    #[must_use]
    pub const fn payload(&self) -> u64 {
        match self.command {
            RequestType::Write => self.length,
            RequestType::BlockStatus if self.flags.has(CommandFlags::PAYLOAD_LEN) => self.length,
            _ => 0,
        }
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
    pub fn request(&self, header: &[u8]) -> Result<ClientRequest, Refused> {
        let mut fields = MessageFields(header);
        let (magic, flags, code) = (fields.u32(), fields.u16(), fields.u16());
        let (cookie, offset) = (fields.u64(), fields.u64());
        let length = if self.extended { fields.u64() } else { fields.u32().map(u64::from) };
        let (Some(magic), Some(flags), Some(code), Some(cookie), Some(offset), Some(length)) =
            (magic, flags, code, cookie, offset, length)
        else {
            return Err(Refused::Close(CloseReason::Over));
        };
        if magic != if self.extended { EXTENDED_REQUEST_MAGIC } else { REQUEST_MAGIC } {
            return Err(Refused::Close(CloseReason::BadMagic(magic.into())));
        }
        let refused = |payload, (error, message)| Refused::Error { cookie, offset, error, message, payload };
        let has_payload = self.extended && CommandFlags(flags).has(CommandFlags::PAYLOAD_LEN);
        let payload = if has_payload || code == RequestType::Write as u16 { length } else { 0 };
        if payload > u64::from(self.block.maximum.max(MAX_DRAINED_BYTES)) {
            return Err(Refused::Close(CloseReason::TooMuchPayload(payload)));
        }
        let Some(command) = COMMANDS.into_iter().find(|command| *command as u16 == code) else {
            return Err(refused(payload, (Errno::Inval, "no such command")));
        };
        let request = ClientRequest { command, flags: CommandFlags(flags), cookie, offset, length };
        let checked = if has_payload && command == RequestType::BlockStatus {
            self.check_query(&request)
        } else {
            self.check(&request)
        };
        checked.map_err(|error| refused(payload, error)).map(|()| request)
    }

    /// Bytes of a request's header.
    #[must_use]
    pub const fn request_bytes(&self) -> usize {
        if self.extended { EXTENDED_REQUEST_BYTES } else { REQUEST_BYTES }
    }

    /// A block status that has a payload, as far as its header tells.
    fn check_query(&self, request: &ClientRequest) -> Result<(), (Errno, &'static str)> {
        let length = request.length;
        let rules = [
            (self.contexts.is_empty(), "no metadata context was chosen"),
            (!request.command.takes(self).has(request.flags), "a flag that this command does not take"),
            (!(12..=MAX_QUERY_BYTES).contains(&length) || !length.is_multiple_of(4), "a payload of a wrong length"),
        ];
        rules.into_iter().find(|(broken, _)| *broken).map_or(Ok(()), |(_, message)| Err((Errno::Inval, message)))
    }

    /// The block status that a payload asks for, and the contexts that it is of.
    ///
    /// # Errors
    /// When it is of what was not chosen, or of what is not there.
    pub fn query(
        &self,
        request: &ClientRequest,
        payload: &[u8],
    ) -> Result<(ClientRequest, Contexts), (Errno, &'static str)> {
        let mut fields = MessageFields(payload);
        let length = fields.u64().ok_or((Errno::Inval, "a payload of a wrong length"))?;
        let mut wanted = Contexts::default();
        while let Some(number) = fields.u32() {
            let context = self.contexts.iter().find(|context| context.number() == number);
            let context = context.ok_or((Errno::Inval, "a metadata context that was not chosen"))?;
            if wanted.has(context) {
                return Err((Errno::Inval, "a metadata context is named twice"));
            }
            wanted = wanted.with(context);
        }
        let request = ClientRequest { flags: request.flags.without(CommandFlags::PAYLOAD_LEN), length, ..*request };
        self.check(&request).map(|()| (request, wanted))
    }

    fn check(&self, request: &ClientRequest) -> Result<(), (Errno, &'static str)> {
        let ClientRequest { command, flags, offset, length, .. } = *request;
        if command == RequestType::Disc {
            return Ok(());
        }
        let past = offset.checked_add(length).is_none_or(|end| end > self.size);
        let least = u64::from(self.block.minimum.max(1));
        let aligned = offset.is_multiple_of(least) && length.is_multiple_of(least);
        let write = command.writes() && command != RequestType::Trim;
        let rules = [
            (!self.flags.has(command.needs()), Errno::Inval, "the export does not offer this command"),
            (
                command == RequestType::BlockStatus && self.contexts.is_empty(),
                Errno::Inval,
                "no metadata context was chosen",
            ),
            (!command.takes(self).has(flags), Errno::Inval, "a flag that this command does not take"),
            (command.writes() && self.flags.has(Flags::READ_ONLY), Errno::Perm, "the export is read-only"),
            (!command.has_extent() && (offset, length) != (0, 0), Errno::Inval, "a flush has no offset and no length"),
            (command.has_extent() && length == 0, Errno::Inval, "a length of zero"),
            (past && write, Errno::NoSpc, "a write past the end of the export"),
            (past, Errno::Inval, "past the end of the export"),
            (!aligned, Errno::Inval, "not a whole number of the export's least blocks"),
            (
                matches!(command, RequestType::Read | RequestType::Write) && length > self.block.maximum.into(),
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
    use crate::export::{BlockSize, Context, Export};

    const MIB: u32 = 1 << 20;

    fn session(flags: Flags) -> Session {
        let block = BlockSize { minimum: 512, preferred: 4096, maximum: MIB };
        let export = Export { size: 64 << 20, block, flags, ..Export::default() };
        Session::new(0, &export, (true, false), Contexts::default().with(Context::Allocation))
    }

    fn all() -> Session {
        let offered = [Flags::SEND_FLUSH, Flags::SEND_FUA, Flags::SEND_TRIM, Flags::SEND_WRITE_ZEROES, Flags::SEND_DF];
        session(offered.into_iter().fold(Flags::SEND_CACHE, Flags::with))
    }

    fn request(command: RequestType, flags: CommandFlags, offset: u64, length: u32) -> ClientRequest {
        ClientRequest { command, flags, cookie: 7, offset, length: length.into() }
    }

    /// Error and payload of what is refused.
    fn refused(session: &Session, request: ClientRequest) -> Option<(Errno, u64)> {
        let (compact, extended) = (request.encode(), request.encode_extended());
        let header = if session.extended { &extended[..] } else { &compact[..] };
        match session.request(header) {
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
            assert_eq!(refused(&all(), wrong), Some((error, u64::from(payload))), "{wrong:?}");
        }
    }

    #[test]
    fn what_was_not_offered_is_refused() {
        let read_only = session(Flags::READ_ONLY.with(Flags::SEND_TRIM).with(Flags::SEND_WRITE_ZEROES));
        for command in [RequestType::Write, RequestType::Trim, RequestType::WriteZeroes] {
            let error = refused(&read_only, request(command, CommandFlags(0), 0, 512)).map(|(error, _)| error);
            assert_eq!(error, Some(Errno::Perm));
        }
        let plain = Session { contexts: Contexts::default(), structured: false, ..session(Flags(0)) };
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
        assert!(
            matches!(long(MAX_DRAINED_BYTES), Err(Refused::Error { payload, .. }) if payload == MAX_DRAINED_BYTES.into())
        );
        let length = MAX_DRAINED_BYTES + 1;
        assert_eq!(long(length), Err(Refused::Close(CloseReason::TooMuchPayload(length.into()))));
    }

    /// With extended headers, and both contexts.
    fn extended() -> Session {
        let contexts = Contexts::default().with(Context::Allocation).with(Context::Rate);
        let offered = all().flags.with(Flags::BLOCK_STATUS_PAYLOAD);
        Session { size: 1 << 50, extended: true, contexts, flags: offered, ..all() }
    }

    #[test]
    fn an_extended_request_is_that_of_the_document() {
        let header = b"\x21\xe4\x1c\x71\0\x01\0\x04\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\x02\0\0\0\0\x40\0\0\0\0";
        let trim = ClientRequest { length: 1 << 38, ..request(RequestType::Trim, CommandFlags::FUA, 512, 0) };
        assert_eq!((extended().request(header), trim.encode_extended()), (Ok(trim), *header));
        assert_eq!((extended().request_bytes(), all().request_bytes()), (32, 28));
        let compact = request(RequestType::Read, CommandFlags(0), 0, 512);
        assert!(matches!(extended().request(&[&compact.encode()[..], &[0; 4]].concat()), Err(Refused::Close(_))));
        assert!(matches!(all().request(&compact.encode_extended()[..28]), Err(Refused::Close(_))));
    }

    #[test]
    fn what_has_a_payload_is_known_before_it_is_refused() {
        let (payload, none) = (CommandFlags::PAYLOAD_LEN, CommandFlags(0));
        let long = |command, flags, length| ClientRequest { length, ..request(command, flags, 0, 0) };
        for (asked, refusal) in [
            (request(RequestType::Write, payload, 0, 512), None),
            (request(RequestType::Write, none, 0, 512), None),
            (long(RequestType::WriteZeroes, none, 1 << 40), None),
            (long(RequestType::BlockStatus, none, 1 << 40), None),
            (long(RequestType::BlockStatus, payload, 16), None),
            (long(RequestType::BlockStatus, payload, 12), None),
            (long(RequestType::BlockStatus, payload, MAX_QUERY_BYTES), None),
            (long(RequestType::BlockStatus, payload, MAX_QUERY_BYTES + 4), Some((Errno::Inval, MAX_QUERY_BYTES + 4))),
            (long(RequestType::BlockStatus, payload, 8), Some((Errno::Inval, 8))),
            (long(RequestType::BlockStatus, payload, 14), Some((Errno::Inval, 14))),
            (long(RequestType::BlockStatus, payload, 4096), Some((Errno::Inval, 4096))),
            (long(RequestType::Read, payload, 512), Some((Errno::Inval, 512))),
            (long(RequestType::Read, none, 1 << 40), Some((Errno::Inval, 0))),
            (long(RequestType::Trim, none, u64::MAX - 511), Some((Errno::Inval, 0))),
        ] {
            assert_eq!(refused(&extended(), asked), refusal, "{asked:?}");
        }
        let endless = long(RequestType::Trim, payload, 1 << 40).encode_extended();
        assert_eq!(extended().request(&endless), Err(Refused::Close(CloseReason::TooMuchPayload(1 << 40))));
        assert_eq!(refused(&all(), request(RequestType::Write, payload, 0, 512)), Some((Errno::Inval, 512)));
    }

    #[test]
    fn a_block_status_is_of_the_contexts_that_its_payload_names() {
        let asked =
            ClientRequest { length: 16, ..request(RequestType::BlockStatus, CommandFlags::PAYLOAD_LEN, 512, 0) };
        let query = |length: u64, numbers: &[u32]| {
            let numbers: Vec<u8> = numbers.iter().flat_map(|number| number.to_be_bytes()).collect();
            extended().query(&asked, &[&length.to_be_bytes()[..], &numbers].concat())
        };
        let (only, wanted) = query(1 << 40, &[2]).expect("it may be asked");
        assert_eq!(
            (only.length, only.flags, wanted),
            (1 << 40, CommandFlags(0), Contexts::default().with(Context::Rate))
        );
        assert_eq!(query(512, &[2, 1]).map(|(_, wanted)| wanted), Ok(extended().contexts));
        for (length, numbers) in [(512, &[3][..]), (512, &[1, 1]), (0, &[1]), (1 << 60, &[1]), (100, &[1])] {
            assert!(query(length, numbers).is_err(), "{length} {numbers:?}");
        }
    }
}
