//! The NBD protocol, as bytes: what a server says to a client and a client to a server.
//!
//! It does no I/O, holds no clock and no thread, and depends on nothing: bytes come in as they come, in any pieces, and
//! bytes to be sent go out. Payloads of reads and writes never pass through it; it says how many bytes of them follow.
//! Whatever a peer sends is answered or ends the connection with a reason, in memory bounded by the constants of
//! [`limits`].
//!
//! Fixed newstyle negotiation, TLS within it as far as it is NBD's (`NBD_OPT_STARTTLS`), simple and structured replies, extended headers, block status. Names are those of the
//! protocol: <https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md>. Numbers are big-endian; offsets and
//! lengths are bytes.
//!
//! **NBD is bytes in and bytes out.** The crate holds no socket, so that every split of a stream and every hostile
//! peer is a test in memory. A handshake answers one option at a time, for its answer to be sent before the next is
//! read; payloads never pass through: a request's header says how many bytes follow, a reply's head goes before the
//! caller's own.

pub mod client;
mod errno;
mod export;
mod flags;
mod handshake;
pub mod limits;
pub mod reply;
mod request;
mod uri;
mod wire;

pub use errno::Errno;
pub use export::{BlockSize, Context, Contexts, Export, Session};
pub use flags::{CommandFlags, Flags, State};
pub use handshake::{CloseReason, Handshake, HandshakeStep, TlsPolicy};
pub use request::{ClientRequest, Refused, RequestType};
pub use uri::{Address, BadUri, Uri, UriTls};
