//! Sets of flags, one bit each.

macro_rules! flags {
    ($(#[$about:meta])* $name:ident($bits:ty) { $($(#[$what:meta])* $flag:ident = $bit:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name(pub $bits);

        impl $name {
            $($(#[$what])* pub const $flag: $name = $name(1 << $bit);)*

            /// These and those.
            #[must_use]
            pub const fn with(self, those: $name) -> $name {
                $name(self.0 | those.0)
            }

            /// These but not those.
            #[must_use]
            pub const fn without(self, those: $name) -> $name {
                $name(self.0 & !those.0)
            }

            /// Whether all of those are among these.
            #[must_use]
            pub const fn has(self, those: $name) -> bool {
                self.0 & those.0 == those.0
            }
        }
    };
}

flags! {
    /// Transmission flags: what a server can do with an export.
    Flags(u16) {
        /// `NBD_FLAG_HAS_FLAGS`: always set in what is sent.
        HAS_FLAGS = 0,
        /// `NBD_FLAG_READ_ONLY`: writes are refused.
        READ_ONLY = 1,
        /// `NBD_FLAG_SEND_FLUSH`: flushes are understood.
        SEND_FLUSH = 2,
        /// `NBD_FLAG_SEND_FUA`: commands may ask to be on the medium before they are answered.
        SEND_FUA = 3,
        /// `NBD_FLAG_ROTATIONAL`: it turns.
        ROTATIONAL = 4,
        /// `NBD_FLAG_SEND_TRIM`: trims are understood.
        SEND_TRIM = 5,
        /// `NBD_FLAG_SEND_WRITE_ZEROES`: zeroes can be written without sending them.
        SEND_WRITE_ZEROES = 6,
        /// `NBD_FLAG_SEND_DF`: a read may ask for one chunk; only with structured replies, else it is left out.
        SEND_DF = 7,
        /// `NBD_FLAG_CAN_MULTI_CONN`: a flush on one connection holds for all.
        CAN_MULTI_CONN = 8,
        /// `NBD_FLAG_SEND_CACHE`: the hint that something will be read is understood.
        SEND_CACHE = 10,
        /// `NBD_FLAG_SEND_FAST_ZERO`: zeroes may be asked for on the condition that they are faster than a write.
        SEND_FAST_ZERO = 11,
        /// `NBD_FLAG_BLOCK_STATUS_PAYLOAD`: a block status may name the contexts it is of; only with extended headers, else it
        /// is left out.
        BLOCK_STATUS_PAYLOAD = 12,
    }
}

flags! {
    /// Command flags: how a request is to be done.
    CommandFlags(u16) {
        /// `NBD_CMD_FLAG_FUA`: on the medium before it is answered.
        FUA = 0,
        /// `NBD_CMD_FLAG_NO_HOLE`: zeroes that keep their space.
        NO_HOLE = 1,
        /// `NBD_CMD_FLAG_DF`: the read is answered with at most one chunk of content.
        DF = 2,
        /// `NBD_CMD_FLAG_REQ_ONE`: the status of one extent only.
        REQ_ONE = 3,
        /// `NBD_CMD_FLAG_FAST_ZERO`: zeroes, if that is faster than a write.
        FAST_ZERO = 4,
        /// `NBD_CMD_FLAG_PAYLOAD_LEN`: the length is that of a payload, which follows; only with extended headers.
        PAYLOAD_LEN = 5,
    }
}

flags! {
    /// What `base:allocation` says of an extent; without any flag it holds data.
    State(u32) {
        /// `NBD_STATE_HOLE`: it is not allocated.
        HOLE = 0,
        /// `NBD_STATE_ZERO`: it reads as zeroes.
        ZERO = 1,
    }
}
