//! A session of TLS in memory: bytes in, bytes out.

use super::carrier::Carrier;
use super::names::names;
use super::{CarriedSocket, Carriers, carrier};
use rustls::Connection;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};

/// Bytes of TLS, and of what is in it, that wait to be taken.
const BUFFERED: usize = 1 << 20;

/// One side of a connection.
pub(crate) struct TlsSession(Connection);

impl TlsSession {
    pub(super) fn new(mut session: Connection) -> TlsSession {
        session.set_buffer_limit(Some(BUFFERED));
        TlsSession(session)
    }

    /// Takes what came of the peer; what it said within comes out.
    ///
    /// # Errors
    /// When the peer breaks the protocol, or is not who it must be. What is to be sent then says so.
    pub(crate) fn receive(&mut self, mut bytes: &[u8], plain: &mut Vec<u8>) -> Result<(), String> {
        while !bytes.is_empty() {
            self.0.read_tls(&mut bytes).map_err(|error| error.to_string())?;
            self.0.process_new_packets().map_err(|error| error.to_string())?;
            self.take(plain);
        }
        Ok(())
    }

    /// Takes what the peer said within.
    fn take(&mut self, plain: &mut Vec<u8>) {
        // There is no more, or there will be none.
        let _ = self.0.reader().read_to_end(plain);
    }

    /// Says something within, and hands over what is to be sent: of the handshake, where nothing is said.
    pub(crate) fn say(&mut self, plain: &[u8], out: &mut Vec<u8>) {
        // Answers of a handshake are shorter than the buffer.
        let _ = self.0.writer().write_all(plain);
        while self.0.wants_write() && self.0.write_tls(out).is_ok_and(|count| count > 0) {}
    }

    /// Whether the handshake is over.
    pub(crate) fn is_private(&self) -> bool {
        !self.0.is_handshaking()
    }

    /// The names in the certificate that the peer has shown.
    pub(crate) fn names(&self) -> Vec<String> {
        let shown = self.0.peer_certificates().and_then(|chain| chain.first());
        shown.map_or_else(Vec::new, |certificate| names(certificate))
    }

    /// Carries bytes from here on, between the peer's socket and the one that is returned, in a thread of its own; `early` came out of
    /// it already.
    ///
    /// # Errors
    /// When there are no descriptors or threads left.
    pub(crate) fn carry(self, socket: OwnedFd, early: &[u8], carriers: &Carriers) -> io::Result<CarriedSocket> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        let broken = Arc::new(OnceLock::new());
        let carrier = Carrier::new(self.0, socket, ours.into(), early.to_vec(), Arc::clone(&broken))?;
        let carried = carriers.begin();
        let thread = std::thread::Builder::new().name("tls".into()).stack_size(carrier::STACK);
        thread.spawn(move || {
            carrier.run();
            drop(carried);
        })?;
        Ok(CarriedSocket { socket: theirs.into(), broken })
    }
}

/// Whether a call is to be tried again later.
pub(super) fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
