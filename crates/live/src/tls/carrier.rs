//! Carries the bytes of one connection, between a client's socket and the engine.
//!
//! It takes no more of either side while what it took before is not gone: what it holds is bounded, and whoever does not listen is
//! felt by the other side as if there were no TLS.

use super::session::is_later;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::Shutdown;
use rustls::Connection;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};

/// The stack of its thread.
pub(super) const STACK: usize = 256 << 10;
/// Bytes that are taken at once.
const CHUNK: usize = 256 << 10;
/// How long a peer may take nothing once the other side has gone.
const LINGER: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };

/// What tells that there is something to read, if only the end.
const COMES: PollFlags = PollFlags::IN.union(PollFlags::HUP).union(PollFlags::ERR);

/// The two ends, and what is on its way between them.
pub(super) struct Carrier {
    session: Connection,
    /// The client's socket. A file is read and written as any descriptor is.
    peer: File,
    engine: File,
    /// What came out of TLS and is not with the engine, from where.
    plain: Vec<u8>,
    taken: usize,
    chunk: Vec<u8>,
    peer_speaks: bool,
    engine_speaks: bool,
    /// Why TLS broke off, for whoever has the engine's end.
    broken: Arc<OnceLock<String>>,
}

/// What a carrier can do nothing about: it ends.
struct Over;

impl Carrier {
    pub(super) fn new(
        session: Connection,
        peer: OwnedFd,
        engine: OwnedFd,
        early: Vec<u8>,
        broken: Arc<OnceLock<String>>,
    ) -> io::Result<Carrier> {
        ioctl_fionbio(&peer, true)?;
        ioctl_fionbio(&engine, true)?;
        Ok(Carrier {
            session,
            peer: peer.into(),
            engine: engine.into(),
            plain: early,
            taken: 0,
            chunk: vec![0; CHUNK],
            peer_speaks: true,
            engine_speaks: true,
            broken,
        })
    }

    /// Carries until both have said all they had to say, or one is gone.
    pub(super) fn run(mut self) {
        while self.wait().and_then(|ready| self.step(ready)).is_ok() {}
        // The engine hears that nobody is there; what the peer was sent stays with it.
        let _ = rustix::net::shutdown(&self.engine, Shutdown::Both);
    }

    /// Waits until something can be done: something came from the peer, from the engine.
    fn wait(&mut self) -> Result<[bool; 2], Over> {
        let unsent = self.session.wants_write();
        let unheard = self.taken < self.plain.len();
        if !unsent && !self.engine_speaks {
            return Err(Over);
        }
        let when = |wanted: bool, flag| if wanted { flag } else { PollFlags::empty() };
        let peer = when(self.peer_speaks && !unheard, PollFlags::IN) | when(unsent, PollFlags::OUT);
        let engine = when(self.engine_speaks && !unsent, PollFlags::IN) | when(unheard, PollFlags::OUT);
        // Of whom nothing is wanted, nothing is heard: poll would tell at once, and again, that one has hung up.
        let ends = [(&self.peer, peer), (&self.engine, engine)];
        let wanted = ends.iter().filter(|(_, events)| !events.is_empty());
        let mut watched: Vec<PollFd> = wanted.map(|(end, events)| PollFd::new(end, *events)).collect();
        match poll(&mut watched, (!self.engine_speaks).then_some(&LINGER)) {
            Ok(0) => return Err(Over),
            Ok(_) => {}
            Err(Errno::INTR) => return Ok([false; 2]),
            Err(_) => return Err(Over),
        }
        let mut ready = watched.iter().map(|watched| watched.revents());
        Ok([peer, engine].map(|events| {
            let found = if events.is_empty() { None } else { ready.next() };
            events.contains(PollFlags::IN) && found.is_some_and(|found| found.intersects(COMES))
        }))
    }

    fn step(&mut self, [from_peer, from_engine]: [bool; 2]) -> Result<(), Over> {
        if from_engine {
            self.hear_engine()?;
        }
        self.send()?;
        if from_peer {
            self.hear_peer()?;
            // What TLS itself has to answer.
            self.send()?;
        }
        self.tell_engine()
    }

    /// Takes what the engine answers, for it to be sent.
    fn hear_engine(&mut self) -> Result<(), Over> {
        match self.engine.read(&mut self.chunk) {
            Ok(0) => {
                self.engine_speaks = false;
                self.session.send_close_notify();
                Ok(())
            }
            Ok(count) => self.session.writer().write_all(&self.chunk[..count]).map_err(|_| Over),
            Err(error) if is_later(&error) => Ok(()),
            Err(_) => Err(Over),
        }
    }

    fn send(&mut self) -> Result<(), Over> {
        while self.session.wants_write() {
            match self.session.write_tls(&mut self.peer) {
                Ok(0) => return Err(Over),
                Ok(_) => {}
                Err(error) if is_later(&error) => break,
                Err(_) => return Err(Over),
            }
        }
        Ok(())
    }

    /// Takes what the peer asks, out of TLS.
    fn hear_peer(&mut self) -> Result<(), Over> {
        let count = match self.peer.read(&mut self.chunk) {
            Ok(count) => count,
            Err(error) if is_later(&error) => return Ok(()),
            Err(_) => return Err(Over),
        };
        (self.taken, self.peer_speaks) = (0, count > 0);
        self.plain.clear();
        let mut bytes = &self.chunk[..count];
        while !bytes.is_empty() {
            self.session.read_tls(&mut bytes).map_err(|_| Over)?;
            let state = self.session.process_new_packets().map_err(|error| {
                // The peer is told why, if it listens.
                let _ = self.session.write_tls(&mut self.peer);
                self.broken.get_or_init(|| error.to_string());
                Over
            })?;
            let _ = self.session.reader().read_to_end(&mut self.plain);
            if state.peer_has_closed() {
                self.peer_speaks = false;
                break;
            }
        }
        Ok(())
    }

    fn tell_engine(&mut self) -> Result<(), Over> {
        while self.taken < self.plain.len() {
            match self.engine.write(&self.plain[self.taken..]) {
                Ok(0) => return Err(Over),
                Ok(count) => self.taken += count,
                Err(error) if is_later(&error) => return Ok(()),
                Err(_) => return Err(Over),
            }
        }
        if !self.peer_speaks && self.engine_speaks {
            // It still has its answers.
            let _ = rustix::net::shutdown(&self.engine, Shutdown::Write);
        }
        Ok(())
    }
}
