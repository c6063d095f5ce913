//! Numbers of the protocol, and how messages are taken apart and gathered.

/// `NBDMAGIC`: how a server begins.
pub(crate) const NBD_MAGIC: u64 = 0x4e42_444d_4147_4943;
/// `IHAVEOPT`: newstyle; also how every option begins.
pub(crate) const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054;
/// How every reply to an option begins.
pub(crate) const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
pub(crate) const REQUEST_MAGIC: u32 = 0x2560_9513;
pub(crate) const SIMPLE_REPLY_MAGIC: u32 = 0x6744_6698;
pub(crate) const STRUCTURED_REPLY_MAGIC: u32 = 0x668e_33ef;
pub(crate) const EXTENDED_REQUEST_MAGIC: u32 = 0x21e4_1c71;
pub(crate) const EXTENDED_REPLY_MAGIC: u32 = 0x6e8a_278c;

/// Handshake flags, and the client's in answer.
pub(crate) const FIXED_NEWSTYLE: u16 = 1;
pub(crate) const NO_ZEROES: u16 = 2;

/// Zeroes after the answer to `NBD_OPT_EXPORT_NAME`.
pub(crate) const PADDING: usize = 124;

/// Numbers of the client's options, `NBD_OPT_…`.
pub(crate) mod option {
    pub(crate) const EXPORT_NAME: u32 = 1;
    pub(crate) const ABORT: u32 = 2;
    pub(crate) const LIST: u32 = 3;
    pub(crate) const STARTTLS: u32 = 5;
    pub(crate) const INFO: u32 = 6;
    pub(crate) const GO: u32 = 7;
    pub(crate) const STRUCTURED_REPLY: u32 = 8;
    pub(crate) const LIST_META_CONTEXT: u32 = 9;
    pub(crate) const SET_META_CONTEXT: u32 = 10;
    pub(crate) const EXTENDED_HEADERS: u32 = 11;
}

/// Numbers of the replies to options, `NBD_REP_…`.
pub(crate) mod answer {
    pub(crate) const ACK: u32 = 1;
    pub(crate) const SERVER: u32 = 2;
    pub(crate) const INFO: u32 = 3;
    pub(crate) const META_CONTEXT: u32 = 4;
    /// Set in every error.
    pub(crate) const ERROR: u32 = 1 << 31;
    pub(crate) const ERR_UNSUP: u32 = ERROR + 1;
    pub(crate) const ERR_POLICY: u32 = ERROR + 2;
    pub(crate) const ERR_INVALID: u32 = ERROR + 3;
    pub(crate) const ERR_TLS_REQD: u32 = ERROR + 5;
    pub(crate) const ERR_UNKNOWN: u32 = ERROR + 6;
    pub(crate) const ERR_TOO_BIG: u32 = ERROR + 9;
    pub(crate) const ERR_EXTENDED: u32 = ERROR + 10;
}

/// Kinds of information about an export, `NBD_INFO_…`.
pub(crate) mod info {
    pub(crate) const EXPORT: u16 = 0;
    pub(crate) const NAME: u16 = 1;
    pub(crate) const DESCRIPTION: u16 = 2;
    pub(crate) const BLOCK_SIZE: u16 = 3;
}

/// Kinds of chunks of a structured reply, `NBD_REPLY_TYPE_…`.
pub(crate) mod chunk {
    pub(crate) const NONE: u16 = 0;
    pub(crate) const OFFSET_DATA: u16 = 1;
    pub(crate) const OFFSET_HOLE: u16 = 2;
    pub(crate) const BLOCK_STATUS: u16 = 5;
    pub(crate) const BLOCK_STATUS_EXT: u16 = 6;
    /// Set in every error.
    pub(crate) const FAILED: u16 = 1 << 15;
    pub(crate) const ERROR: u16 = FAILED + 1;
    pub(crate) const ERROR_OFFSET: u16 = FAILED + 2;
}

/// What is left of a message.
#[derive(Clone, Copy)]
pub(crate) struct MessageFields<'a>(pub(crate) &'a [u8]);

impl<'a> MessageFields<'a> {
    /// The next bytes, if there are so many.
    pub(crate) fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, left) = self.0.split_at_checked(length)?;
        self.0 = left;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    /// A length, and as many bytes.
    pub(crate) fn string(&mut self) -> Option<&'a [u8]> {
        let length = self.u32()?;
        self.bytes(length as usize)
    }
}

/// Bytes of a message that is not whole yet.
#[derive(Debug, Default)]
pub(crate) struct Gathered(Vec<u8>);

impl Gathered {
    /// The message of `length` bytes once it is whole; what it takes is gone from `bytes`.
    pub(crate) fn whole(&mut self, length: usize, bytes: &mut &[u8]) -> Option<Vec<u8>> {
        let (now, later) = bytes.split_at(bytes.len().min(length - self.0.len()));
        self.0.extend_from_slice(now);
        *bytes = later;
        (self.0.len() == length).then(|| std::mem::take(&mut self.0))
    }
}
