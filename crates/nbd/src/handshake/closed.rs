//! Why a server ends a connection.

use std::fmt;

/// Why a connection is to be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// The client said that it goes.
    Aborted,
    /// The client does not speak fixed newstyle.
    NotFixedNewstyle,
    /// Client flags that no server offered.
    UnknownFlags(u32),
    /// What is there does not begin as it must: this is not NBD, or the place in the stream is lost.
    BadMagic(u64),
    /// An option with more data than anybody needs.
    TooLong {
        /// The option that the client sent, by its number.
        option: u32,
        /// Length of its data in bytes.
        length: u32,
    },
    /// A client that never comes to an end.
    TooManyOptions,
    /// There are as many clients as there may be, where only closing can say so.
    Full,
    /// No such export, where only closing can say so.
    NoSuchExport,
    /// An export is to be had within TLS only, where only closing can say so.
    NeedsTls,
    /// A write with more payload than is passed over.
    TooMuchPayload(u64),
    /// It has been closed, or is in transmission.
    Over,
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CloseReason::Aborted => write!(f, "the client ended the handshake"),
            CloseReason::NotFixedNewstyle => write!(f, "the client does not speak fixed newstyle negotiation"),
            CloseReason::UnknownFlags(flags) => write!(f, "the client set flags that were not offered: {flags:#x}"),
            CloseReason::BadMagic(magic) => {
                write!(f, "the client does not speak NBD here: a message begins with {magic:#x}")
            }
            CloseReason::TooLong { option, length } => write!(f, "option {option} has {length} bytes of data"),
            CloseReason::TooManyOptions => write!(f, "the client sent too many options"),
            CloseReason::Full => write!(f, "there are as many clients as there may be"),
            CloseReason::NoSuchExport => write!(f, "the client asked for an export that is not there"),
            CloseReason::NeedsTls => write!(f, "the client does not speak TLS, which it must"),
            CloseReason::TooMuchPayload(length) => write!(f, "the client sent a write of {length} bytes"),
            CloseReason::Over => write!(f, "the handshake is over"),
        }
    }
}

impl std::error::Error for CloseReason {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_said_in_its_own_words() {
        for (reason, said) in [
            (CloseReason::Aborted, "the client ended the handshake"),
            (CloseReason::NotFixedNewstyle, "the client does not speak fixed newstyle negotiation"),
            (CloseReason::UnknownFlags(0x10), "the client set flags that were not offered: 0x10"),
            (CloseReason::BadMagic(0xab), "the client does not speak NBD here: a message begins with 0xab"),
            (CloseReason::TooLong { option: 7, length: 9 }, "option 7 has 9 bytes of data"),
            (CloseReason::TooManyOptions, "the client sent too many options"),
            (CloseReason::Full, "there are as many clients as there may be"),
            (CloseReason::NoSuchExport, "the client asked for an export that is not there"),
            (CloseReason::NeedsTls, "the client does not speak TLS, which it must"),
            (CloseReason::TooMuchPayload(5), "the client sent a write of 5 bytes"),
            (CloseReason::Over, "the handshake is over"),
        ] {
            assert_eq!(reason.to_string(), said);
        }
    }
}
