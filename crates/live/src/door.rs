//! The door: clients come in here, and say which volume they want. Those who have gone to the engine.
//!
//! One thread has all who are in their handshake; nobody can keep it from the others, or longer than is allowed.

use crate::bell::Caller;
use crate::front::EngineMessage;
use crate::socket::{KNOCKING, SocketName, private};
use nbd::{Export, Handshake, HandshakeStep};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio, read};
use rustix::net::{SendFlags, SocketFlags, send};
use std::io::{self, ErrorKind};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Clients in their handshake at once; who comes then waits until one of them is through. Where there are as many clients as there
/// may be, whoever chooses an export is told so.
const HANDSHAKES: usize = 128;
/// Bytes that are read at once.
const CHUNK: usize = 4096;
/// Answers that a client who does not read them may have waiting.
const UNSENT: usize = 1 << 20;
/// A socket that NBD clients connect to.
#[derive(Debug)]
pub struct Listener {
    socket: OwnedFd,
    /// Whether small answers are to be sent at once all the same.
    tcp: bool,
}

impl Listener {
    /// As [`private`], and the name of the socket.
    ///
    /// # Errors
    /// When it cannot be made, another server has it, or something else is there.
    pub fn unix(path: &Path) -> io::Result<(Listener, SocketName)> {
        private(path).map(|(socket, place)| (Listener::from(socket), place))
    }

    /// A TCP port, on loopback only.
    ///
    /// # Errors
    /// When it is taken, or not on loopback.
    pub fn tcp(address: &str) -> io::Result<Listener> {
        let listener = TcpListener::bind(address)?;
        if !listener.local_addr()?.ip().is_loopback() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "without encryption only loopback is served"));
        }
        // Bound, it listens already, but to few at once.
        rustix::net::listen(&listener, KNOCKING)?;
        Ok(Listener { socket: listener.into(), tcp: true })
    }

    /// Lets one in, whose socket waits for nothing.
    fn accept(&self) -> rustix::io::Result<OwnedFd> {
        let socket = rustix::net::accept_with(&self.socket, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)?;
        if self.tcp {
            rustix::net::sockopt::set_tcp_nodelay(&socket, true)?;
        }
        Ok(socket)
    }
}

impl From<UnixListener> for Listener {
    fn from(listener: UnixListener) -> Listener {
        Listener { socket: listener.into(), tcp: false }
    }
}

/// Someone in the handshake.
struct Guest {
    socket: OwnedFd,
    handshake: Handshake<Arc<[Export]>>,
    unsent: Vec<u8>,
    until: Instant,
}

/// What became of a guest.
enum Became {
    Waits,
    Gone,
    Client(nbd::Session, Vec<u8>),
}

/// The door of a service.
pub struct Door {
    listeners: Vec<Listener>,
    exports: Arc<[Export]>,
    caller: Caller<EngineMessage>,
    patience: Duration,
    guests: Vec<Guest>,
    /// Clients the engine has, and how many it may have.
    inside: Arc<AtomicU32>,
    most: u32,
    /// Readable, or hung up, when the door is to be closed.
    closing: OwnedFd,
}

impl Door {
    /// A door that is not open yet: it closes when the other end of `closing` does.
    #[must_use]
    pub fn new(
        listeners: Vec<Listener>,
        exports: Arc<[Export]>,
        caller: Caller<EngineMessage>,
        patience: Duration,
        most: u32,
        inside: Arc<AtomicU32>,
        closing: OwnedFd,
    ) -> Door {
        Door { listeners, exports, caller, patience, guests: Vec::new(), inside, most, closing }
    }

    /// Opens it, in a thread of its own.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub fn open(mut self) -> io::Result<JoinHandle<()>> {
        for listener in &self.listeners {
            ioctl_fionbio(&listener.socket, true)?;
        }
        std::thread::Builder::new().name("door".into()).spawn(move || while self.attend() {})
    }

    /// Waits for something to happen, and does what follows; whether the door stays open.
    fn attend(&mut self) -> bool {
        let full = self.guests.len() >= HANDSHAKES;
        let mut watched = vec![PollFd::new(&self.closing, PollFlags::IN)];
        let listeners = if full { 0 } else { self.listeners.len() };
        for listener in &self.listeners[..listeners] {
            watched.push(PollFd::new(&listener.socket, PollFlags::IN));
        }
        for guest in &self.guests {
            let events = if guest.unsent.is_empty() { PollFlags::IN } else { PollFlags::OUT };
            watched.push(PollFd::new(&guest.socket, events));
        }
        let now = Instant::now();
        let soonest = self.guests.iter().map(|guest| guest.until.saturating_duration_since(now)).min();
        let wait = soonest.map(|wait| Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: wait.subsec_nanos().into() });
        if poll(&mut watched, wait.as_ref()).is_err() {
            return true;
        }
        let ready: Vec<bool> = watched.iter().map(|watched| !watched.revents().is_empty()).collect();
        drop(watched);
        if ready[0] {
            return false;
        }
        let guests = &ready[1 + listeners..];
        for number in (0..guests.len()).rev() {
            self.serve(number, guests[number]);
        }
        for number in 0..listeners {
            if ready[1 + number] {
                self.let_in(number);
            }
        }
        true
    }

    fn let_in(&mut self, listener: usize) {
        let Ok(socket) = self.listeners[listener].accept() else { return };
        let mut unsent = Vec::new();
        let handshake = Handshake::new(Arc::clone(&self.exports), &mut unsent);
        let mut guest = Guest { socket, handshake, unsent, until: Instant::now() + self.patience };
        if guest.send() {
            self.guests.push(guest);
        }
    }

    /// Hears a guest out.
    fn serve(&mut self, number: usize, ready: bool) {
        let full = self.inside.load(Ordering::Relaxed) >= self.most;
        let guest = &mut self.guests[number];
        guest.handshake.set_full(full);
        let became = match ready {
            true => guest.go_on(),
            false if Instant::now() >= guest.until => Became::Gone,
            false => Became::Waits,
        };
        match became {
            Became::Waits => {}
            Became::Gone => drop(self.guests.swap_remove(number)),
            Became::Client(session, early) => {
                let guest = self.guests.swap_remove(number);
                if ioctl_fionbio(&guest.socket, false).is_ok() {
                    self.inside.fetch_add(1, Ordering::Relaxed);
                    self.caller.tell(EngineMessage::Client(guest.socket, session, early));
                }
            }
        }
    }
}

impl Guest {
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

    fn go_on(&mut self) -> Became {
        if !self.send() {
            return Became::Gone;
        }
        if !self.unsent.is_empty() {
            return Became::Waits;
        }
        let mut bytes = [0; CHUNK];
        let count = match read(&self.socket, &mut bytes) {
            Ok(0) => return Became::Gone,
            Ok(count) => count,
            Err(Errno::WOULDBLOCK | Errno::INTR) => return Became::Waits,
            Err(_) => return Became::Gone,
        };
        let mut left = &bytes[..count];
        loop {
            let step = self.handshake.feed(&mut left, &mut self.unsent);
            match step {
                HandshakeStep::Ready(session) => {
                    return match self.send_all() {
                        true => Became::Client(session, left.to_vec()),
                        false => Became::Gone,
                    };
                }
                HandshakeStep::Closed(_) => {
                    self.send();
                    return Became::Gone;
                }
                HandshakeStep::More if left.is_empty() => break,
                HandshakeStep::More if self.unsent.len() > UNSENT => return Became::Gone,
                HandshakeStep::More => {}
            }
        }
        if self.send() { Became::Waits } else { Became::Gone }
    }

    /// Sends the last answer: a few hundred bytes, for which there is room unless the guest never read.
    fn send_all(&mut self) -> bool {
        self.send() && self.unsent.is_empty()
    }
}
