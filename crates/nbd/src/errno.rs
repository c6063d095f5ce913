//! Error values of the transmission phase.

/// Why a request failed, in the protocol's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Errno {
    /// `NBD_EPERM`: the export is read-only.
    Perm = 1,
    /// `NBD_EIO`: the device did not do it.
    Io = 5,
    /// `NBD_ENOMEM`: the server is out of memory.
    NoMem = 12,
    /// `NBD_EINVAL`: there is no such thing to do.
    Inval = 22,
    /// `NBD_ENOSPC`: a write past the end, or no space.
    NoSpc = 28,
    /// `NBD_EOVERFLOW`: a read too long for one chunk.
    Overflow = 75,
    /// `NBD_ENOTSUP`: zeroes would not be fast.
    NotSup = 95,
    /// `NBD_ESHUTDOWN`: the server is shutting down.
    Shutdown = 108,
}

const ALL: [Errno; 8] =
    [Errno::Perm, Errno::Io, Errno::NoMem, Errno::Inval, Errno::NoSpc, Errno::Overflow, Errno::NotSup, Errno::Shutdown];

impl Errno {
    /// The number on the wire.
    #[must_use]
    pub const fn code(self) -> u32 {
        self as u32
    }

    /// What a number on the wire means to a client: an unexpected one counts as `EINVAL`.
    #[must_use]
    pub fn of_code(code: u32) -> Errno {
        ALL.into_iter().find(|errno| errno.code() == code).unwrap_or(Errno::Inval)
    }

    /// What a client is told of an error number of Linux: what the protocol has no word for is an I/O error.
    #[must_use]
    pub const fn of_os(errno: i32) -> Errno {
        const EACCES: i32 = 13;
        const EFBIG: i32 = 27;
        const EROFS: i32 = 30;
        const EDQUOT: i32 = 122;
        match errno {
            1 | EACCES | EROFS => Errno::Perm,
            12 => Errno::NoMem,
            22 => Errno::Inval,
            95 => Errno::NotSup,
            28 | EFBIG | EDQUOT => Errno::NoSpc,
            108 => Errno::Shutdown,
            _ => Errno::Io,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unexpected_number_is_invalid_to_a_client_and_an_unknown_failure_an_io_error() {
        assert!(ALL.into_iter().all(|errno| Errno::of_code(errno.code()) == errno));
        assert_eq!(Errno::of_code(2), Errno::Inval);
        assert_eq!([5, 62, 110, 122, 30, 22, 95].map(Errno::of_os).map(Errno::code), [5, 5, 5, 28, 1, 22, 95]);
    }
}
