//! Someone in the handshake: what they say, plainly or in TLS, until they have chosen an export.

use crate::identity::Identity;
use crate::tls::{Carriers, TlsServer, TlsSession};
use nbd::{Export, Handshake, HandshakeStep, Session, TlsPolicy};
use rustix::io::{Errno, ioctl_fionbio, read};
use rustix::net::{SendFlags, Shutdown, send, shutdown};
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Bytes that are read at once.
const CHUNK: usize = 4096;
/// Answers that a client who does not read them may have waiting.
const UNSENT: usize = 1 << 20;

/// What the door asks of whom.
pub(crate) struct Guard {
    pub(crate) exports: Arc<[Export]>,
    /// How many bytes each has by now; where none says so, as many as it had.
    pub(crate) sizes: Vec<Arc<AtomicU64>>,
    /// The names of certificates that open each export; where there are none it is open.
    pub(crate) clients: Vec<Vec<String>>,
    pub(crate) policy: TlsPolicy,
    pub(crate) tls: Option<Arc<TlsServer>>,
    pub(crate) carriers: Carriers,
}

impl Guard {
    /// The exports as they are now: one on an array may have grown.
    fn offer(&self) -> Arc<[Export]> {
        let sizes = self.exports.iter().zip(&self.sizes);
        let sizes: Vec<u64> = sizes.map(|(_, size)| size.load(Ordering::Relaxed)).collect();
        if self.exports.iter().zip(&sizes).all(|(export, size)| export.size == *size) {
            return Arc::clone(&self.exports);
        }
        self.exports.iter().zip(sizes).map(|(export, size)| Export { size, ..export.clone() }).collect()
    }

    /// Whether one of the names opens an export.
    fn opens(&self, export: usize, names: &[String]) -> bool {
        let clients = self.clients.get(export).map_or(&[][..], Vec::as_slice);
        clients.is_empty() || clients.iter().any(|client| names.contains(client))
    }
}

/// Someone in the handshake.
pub(crate) struct Guest {
    pub(crate) socket: OwnedFd,
    /// Where they come from by TCP: once they have gone the socket does not tell any more.
    pub(crate) from: Option<SocketAddr>,
    pub(crate) handshake: Handshake<Arc<[Export]>>,
    tls: Option<TlsSession>,
    /// Whether what they say is private.
    private: bool,
    /// Whether they were refused and are to hear of it: who is cut off while they speak sees no alert of TLS.
    refused: bool,
    pub(crate) unsent: Vec<u8>,
    pub(crate) until: Instant,
}

/// What became of a guest.
pub(crate) enum Became {
    Waits,
    /// Gone, or to go: why, where the log should have it.
    Gone(Option<String>),
    /// Refused, and told so; what they say is not heard any more.
    Refused(String),
    Client(Session, Vec<u8>),
}

impl Guest {
    /// Whether the log has it already why this guest is to go.
    pub(crate) fn is_refused(&self) -> bool {
        self.refused
    }

    /// Greets whoever has come; nobody, if they are gone again.
    pub(crate) fn greet(socket: OwnedFd, guard: &Guard, until: Instant) -> Option<Guest> {
        let mut unsent = Vec::new();
        let handshake = Handshake::new(guard.offer(), &mut unsent).with_tls(guard.policy);
        let mut guest =
            Guest { socket, from: None, handshake, tls: None, private: false, refused: false, unsent, until };
        guest.send().then_some(guest)
    }

    /// The same, who came from this address by TCP.
    pub(crate) fn coming_from(self, from: Option<SocketAddr>) -> Guest {
        Guest { from, ..self }
    }

    /// Sends what can be sent; whether the guest is still there.
    fn send(&mut self) -> bool {
        while !self.unsent.is_empty() {
            match send(&self.socket, &self.unsent, SendFlags::NOSIGNAL) {
                Ok(0) => return false,
                Ok(count) => drop(self.unsent.drain(..count)),
                Err(Errno::WOULDBLOCK) => return self.unsent.len() <= UNSENT,
                Err(Errno::INTR) => {}
                Err(_) => return false,
            }
        }
        true
    }

    /// Hears the guest out.
    pub(crate) fn go_on(&mut self, guard: &Guard) -> Became {
        if !self.send() {
            return Became::Gone(None);
        }
        if !self.unsent.is_empty() {
            return Became::Waits;
        }
        let mut bytes = [0; CHUNK];
        match read(&self.socket, &mut bytes) {
            Ok(0) if self.refused => Became::Gone(None),
            Ok(_) if self.refused => Became::Waits,
            Ok(0) if self.tls.is_some() && !self.private => {
                Became::Gone(Some("it left in the middle of the TLS handshake".into()))
            }
            Ok(0) => Became::Gone(None),
            Ok(count) => self.hear(&bytes[..count], guard),
            Err(Errno::WOULDBLOCK | Errno::INTR) => Became::Waits,
            Err(_) => Became::Gone(None),
        }
    }

    /// What has come, plain or in TLS.
    fn hear(&mut self, bytes: &[u8], guard: &Guard) -> Became {
        let Some(tls) = &mut self.tls else { return self.answer(bytes, guard) };
        let mut plain = Vec::new();
        let received = tls.receive(bytes, &mut plain);
        tls.say(&[], &mut self.unsent);
        if let Err(why) = received {
            self.refused = self.send_all() && shutdown(&self.socket, Shutdown::Write).is_ok();
            return match self.refused {
                true => Became::Refused(format!("TLS: {why}")),
                false => Became::Gone(Some(format!("TLS: {why}"))),
            };
        }
        if !self.private && tls.is_private() {
            self.private = true;
            let names = tls.names();
            self.handshake.secure(|export| guard.opens(export, &names));
        }
        if self.private {
            return self.answer(&plain, guard);
        }
        if self.send() { Became::Waits } else { Became::Gone(None) }
    }

    /// What the guest says, out of TLS if there is any.
    fn answer(&mut self, mut left: &[u8], guard: &Guard) -> Became {
        while !left.is_empty() {
            let mut said = Vec::new();
            let step = self.handshake.feed(&mut left, &mut said);
            self.say(&said);
            match step {
                HandshakeStep::Ready(session) => {
                    return match self.send_all() {
                        true => Became::Client(session, left.to_vec()),
                        false => Became::Gone(None),
                    };
                }
                HandshakeStep::StartTls => return self.start_tls(left, guard),
                HandshakeStep::Closed(why) => {
                    self.send();
                    let aborted = matches!(why, nbd::CloseReason::Aborted);
                    return Became::Gone((!aborted).then(|| why.to_string()));
                }
                HandshakeStep::More if self.unsent.len() > UNSENT => return Became::Gone(None),
                HandshakeStep::More => {}
            }
        }
        if self.send() { Became::Waits } else { Became::Gone(None) }
    }

    /// Begins with TLS: what is left of what has come is of it.
    fn start_tls(&mut self, left: &[u8], guard: &Guard) -> Became {
        match guard.tls.as_deref().map(TlsServer::begin) {
            Some(Ok(session)) if self.send_all() => {
                self.tls = Some(session);
                self.hear(left, guard)
            }
            Some(Err(why)) => Became::Gone(Some(format!("TLS: {why}"))),
            _ => Became::Gone(None),
        }
    }

    /// Says something, in TLS if that is spoken.
    fn say(&mut self, said: &[u8]) {
        match &mut self.tls {
            Some(tls) => tls.say(said, &mut self.unsent),
            None => self.unsent.extend(said),
        }
    }

    /// Sends the last answer: a few hundred bytes, for which there is room unless the guest never read.
    fn send_all(&mut self) -> bool {
        self.send() && self.unsent.is_empty()
    }

    /// The socket that the engine is to have, what came out of it already, and whose it is.
    pub(crate) fn hand_over(self, early: Vec<u8>, guard: &Guard) -> io::Result<(OwnedFd, Vec<u8>, Identity)> {
        let names = self.tls.as_ref().map(TlsSession::names).unwrap_or_default();
        let identity = Identity::of(&self.socket, names);
        match self.tls {
            Some(tls) => Ok((tls.carry(self.socket, &early, &guard.carriers)?.socket, Vec::new(), identity)),
            None => ioctl_fionbio(&self.socket, false).map(|()| (self.socket, early, identity)).map_err(Into::into),
        }
    }
}
