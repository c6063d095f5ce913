//! TLS between a client and the engine: certificates, the handshake, and who carries bytes afterwards.
//!
//! **The engine never sees TLS.** Encrypting 1 MiB takes as long as a hundred small requests, and the engine's one thread has the arm
//! to schedule. So each connection has a thread that carries its bytes: between the client's socket, in TLS, and a socket pair,
//! in the clear, whose other end the engine has.
//!
//! It is a feature, `tls`: without it, whoever asks for TLS is told how to get it.

#[cfg(not(feature = "tls"))]
mod absent;
#[cfg(feature = "tls")]
mod carrier;
#[cfg(feature = "tls")]
mod certificates;
#[cfg(feature = "tls")]
pub mod hostile;
#[cfg(feature = "tls")]
mod names;
#[cfg(feature = "tls")]
mod session;

#[cfg(not(feature = "tls"))]
pub(crate) use absent::{TlsServer, TlsSession, connect};
#[cfg(feature = "tls")]
pub(crate) use certificates::{TlsServer, connect};
#[cfg(feature = "tls")]
pub(crate) use session::TlsSession;

use block::BadInput;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// What reading certificates again came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reloaded {
    /// Whoever comes from now on sees others.
    Changed,
    /// They are as they were.
    Alike,
}

/// The certificates of a running service, if it has any.
#[derive(Clone)]
pub struct Certificates(pub(crate) Option<Arc<TlsServer>>);

impl Certificates {
    /// Reads them again, for those who connect from now on.
    ///
    /// # Errors
    /// When they are of no use: then all stays as it is.
    pub fn reload(&self) -> Result<Reloaded, BadInput> {
        self.0.as_ref().map_or(Ok(Reloaded::Alike), |server| server.reload())
    }

    /// Why clients refuse the one they are shown, where they do.
    #[must_use]
    pub fn find_refusal(&self) -> Option<BadInput> {
        self.0.as_ref().and_then(|server| server.find_refusal())
    }
}

/// Connections whose bytes are being carried: a service ends when the last answers are with its clients.
#[derive(Clone, Default)]
pub(crate) struct Carriers(Arc<(Mutex<usize>, Condvar)>);

/// One of them; it is gone when this is.
pub(crate) struct Carried(Carriers);

/// The engine's end of a connection that is carried.
pub(crate) struct CarriedSocket {
    pub(crate) socket: OwnedFd,
    /// Why the peer is not heard any more, where TLS says so.
    pub(crate) broken: Arc<OnceLock<String>>,
}

impl Carriers {
    #[cfg_attr(not(feature = "tls"), expect(dead_code))]
    fn begin(&self) -> Carried {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        Carried(self.clone())
    }

    /// Waits until all have ended, for so long at most.
    pub(crate) fn wait(&self, most: Duration) {
        let (count, ended) = &*self.0;
        let count = count.lock().unwrap_or_else(PoisonError::into_inner);
        // Who is still there then does not hear.
        drop(ended.wait_timeout_while(count, most, |count| *count > 0));
    }
}

impl Drop for Carried {
    fn drop(&mut self) {
        let (count, ended) = &*self.0.0;
        *count.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        ended.notify_all();
    }
}
