//! The door: clients come in here, and say which volume they want. Those who have gone to the engine.
//!
//! One thread has all who are in their handshake; nobody can keep it from the others, or longer than is allowed.

use crate::bell::Caller;
use crate::front::EngineMessage;
use crate::guest::{Became, Guard, Guest};
use crate::socket::{KNOCKING, SocketName, private};
use nbd::{Session, TlsPolicy};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::ioctl_fionbio;
use rustix::net::SocketFlags;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
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
/// So many refusals are told of within so long.
const MOST_TOLD: u32 = 10;
const A_WHILE: Duration = Duration::from_secs(60);
const SLOW: &str = "its handshake took too long";

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

    /// A TCP port: of loopback, unless whoever comes must speak TLS.
    ///
    /// # Errors
    /// When it is taken, or others could come to it without TLS.
    pub fn tcp(address: &str, policy: TlsPolicy) -> io::Result<Listener> {
        let listener = TcpListener::bind(address)?;
        if !listener.local_addr()?.ip().is_loopback() && policy != TlsPolicy::Required {
            return Err(io::Error::new(ErrorKind::InvalidInput, "without TLS only loopback is served"));
        }
        // Bound, it listens already, but to few at once.
        rustix::net::listen(&listener, KNOCKING)?;
        Ok(Listener { socket: listener.into(), tcp: true })
    }

    /// Lets one in, whose socket waits for nothing; by TCP, from where.
    fn accept(&self) -> rustix::io::Result<(OwnedFd, Option<SocketAddr>)> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (socket, from) = rustix::net::acceptfrom_with(&self.socket, flags)?;
        if self.tcp {
            rustix::net::sockopt::set_tcp_nodelay(&socket, true)?;
        }
        Ok((socket, from.and_then(|from| from.try_into().ok())))
    }
}

impl From<UnixListener> for Listener {
    fn from(listener: UnixListener) -> Listener {
        Listener { socket: listener.into(), tcp: false }
    }
}

/// The door of a service.
pub struct Door {
    listeners: Vec<Listener>,
    guard: Guard,
    refusals: Refusals,
    /// By export: the engine that has it, and its number there.
    rooms: Vec<(Caller<EngineMessage>, usize)>,
    patience: Duration,
    guests: Vec<Guest>,
    /// Clients the engines have, and how many it may have.
    inside: Arc<AtomicU32>,
    most: u32,
    /// Readable, or hung up, when the door is to be closed.
    closing: OwnedFd,
}

/// Takes a place for one more client, where at most so many may be inside: whether there was one.
pub(crate) fn take_place(inside: &AtomicU32, most: u32) -> bool {
    take_places(inside, 1, most)
}

/// The same for several at once, or for none of them.
fn take_places(inside: &AtomicU32, wanted: u32, most: u32) -> bool {
    let more = |count: u32| count.checked_add(wanted).filter(|count| *count <= most);
    inside.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
}

/// Places of clients who are still to come. They are given back when this goes, unless they have come.
#[derive(Debug)]
pub(crate) struct ClientPlaces {
    inside: Arc<AtomicU32>,
    count: u32,
}

impl ClientPlaces {
    /// Takes so many, where at most so many clients may be inside; nothing, where there are not as many.
    pub(crate) fn take(inside: &Arc<AtomicU32>, count: u32, most: u32) -> Option<ClientPlaces> {
        take_places(inside, count, most).then(|| ClientPlaces { inside: Arc::clone(inside), count })
    }

    /// The clients have come: as each of them goes, its place is given back.
    pub(crate) fn fill(mut self) {
        self.count = 0;
    }
}

impl Drop for ClientPlaces {
    fn drop(&mut self) {
        self.inside.fetch_sub(self.count, Ordering::Relaxed);
    }
}

impl Door {
    /// A door that is not open yet: it closes when the other end of `closing` does.
    #[must_use]
    pub fn new(
        listeners: Vec<Listener>,
        guard: Guard,
        rooms: Vec<(Caller<EngineMessage>, usize)>,
        patience: Duration,
        most: u32,
        inside: Arc<AtomicU32>,
        closing: OwnedFd,
    ) -> Door {
        let refusals = Refusals::default();
        Door { listeners, guard, refusals, rooms, patience, guests: Vec::new(), inside, most, closing }
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
        let Ok((socket, from)) = self.listeners[listener].accept() else { return };
        let guest = Guest::greet(socket, &self.guard, Instant::now() + self.patience);
        self.guests.extend(guest.map(|guest| guest.coming_from(from)));
    }

    /// Hears a guest out.
    fn serve(&mut self, number: usize, ready: bool) {
        let full = self.inside.load(Ordering::Relaxed) >= self.most;
        let guest = &mut self.guests[number];
        guest.handshake.set_full(full);
        let became = match ready {
            true => guest.go_on(&self.guard),
            false if Instant::now() >= guest.until => Became::Gone((!guest.is_refused()).then(|| SLOW.into())),
            false => Became::Waits,
        };
        match became {
            Became::Waits => {}
            Became::Refused(why) => self.refusals.tell(guest, &why),
            Became::Gone(why) => {
                let guest = self.guests.swap_remove(number);
                let known = || guest.handshake.refusal().filter(|_| !guest.is_refused()).map(Into::into);
                let why = why.or_else(known);
                why.into_iter().for_each(|why| self.refusals.tell(&guest, &why));
            }
            Became::Client(session, early) => {
                let guest = self.guests.swap_remove(number);
                // A queue of a virtual disk may have come in meanwhile.
                if !take_place(&self.inside, self.most) {
                    return;
                }
                if let Ok((socket, early, identity)) = guest.hand_over(early, &self.guard) {
                    let (caller, export) = &self.rooms[session.export];
                    let session = Session { export: *export, ..session };
                    // Whose device could not go on has nobody to serve them.
                    if caller.tell(EngineMessage::Client(socket, session, early, identity)) {
                        return;
                    }
                }
                self.inside.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }
}

/// Tells the log whom the door did not let in, and why; of a crowd, a few.
#[derive(Default)]
struct Refusals {
    since: Option<Instant>,
    told: u32,
    untold: u32,
}

impl Refusals {
    fn tell(&mut self, guest: &Guest, why: &str) {
        if self.since.is_none_or(|since| since.elapsed() >= A_WHILE) {
            if self.untold > 0 {
                eprintln!("{} more clients were refused", self.untold);
            }
            *self = Refusals { since: Some(Instant::now()), ..Refusals::default() };
        }
        if self.told < MOST_TOLD {
            self.told += 1;
            eprintln!("a client {} was refused: {why}", whence(guest));
        } else {
            self.untold += 1;
        }
    }
}

/// Where a client is, or was, for people.
fn whence(guest: &Guest) -> String {
    if let Some(address) = guest.from {
        return format!("at {address}");
    }
    match rustix::net::sockopt::socket_peercred(&guest.socket) {
        Ok(peer) => format!("of user {}, process {},", peer.uid.as_raw(), peer.pid.as_raw_nonzero()),
        Err(_) => "of this machine".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{OFlags, fcntl_getfl};
    use rustix::net::sockopt::socket_domain;
    use rustix::net::{AddressFamily, getsockname};
    use std::net::TcpStream;
    use std::os::unix::net::UnixStream;

    #[test]
    fn whoever_is_let_in_waits_for_nothing_and_small_answers_go_at_once() {
        let tcp = Listener::tcp("127.0.0.1:0", TlsPolicy::Absent).expect("a port");
        let address = getsockname(&tcp.socket).map(SocketAddr::try_from).expect("a name").expect("an address");
        let _there = TcpStream::connect(address).expect("it listens");
        let path = std::env::temp_dir().join(format!("halfturn-door-{}", std::process::id()));
        let (unix, _place) = Listener::unix(&path).expect("a socket");
        let _here = UnixStream::connect(&path).expect("it listens");
        for (listener, family) in [(tcp, AddressFamily::INET), (unix, AddressFamily::UNIX)] {
            let (socket, from) = listener.accept().expect("somebody knocks");
            assert_eq!(from.map(|from| from.ip().is_loopback()), (family == AddressFamily::INET).then_some(true));
            assert_eq!(socket_domain(&socket), Ok(family));
            assert!(fcntl_getfl(&socket).expect("flags").contains(OFlags::NONBLOCK));
            if family == AddressFamily::INET {
                assert_eq!(rustix::net::sockopt::tcp_nodelay(&socket), Ok(true));
            }
        }
    }

    #[test]
    fn places_are_given_back_unless_those_have_come_for_whom_they_were_kept() {
        let inside = Arc::new(AtomicU32::new(1));
        let there = || inside.load(Ordering::Relaxed);
        assert!(ClientPlaces::take(&inside, 2, 2).is_none() && there() == 1, "all or none");
        let kept = ClientPlaces::take(&inside, 2, 3).expect("places");
        assert!(!take_place(&inside, 3), "whoever else comes does not have them");
        drop(kept);
        assert_eq!(there(), 1);
        ClientPlaces::take(&inside, 2, 3).expect("places").fill();
        assert_eq!(there(), 3);
    }

    #[test]
    fn without_tls_nobody_but_this_machine_is_served() {
        for (address, policy, served) in [
            ("127.0.0.1:0", TlsPolicy::Absent, true),
            ("127.0.0.1:0", TlsPolicy::Required, true),
            ("0.0.0.0:0", TlsPolicy::Absent, false),
            ("0.0.0.0:0", TlsPolicy::Offered, false),
            ("0.0.0.0:0", TlsPolicy::Required, true),
        ] {
            assert_eq!(Listener::tcp(address, policy).is_ok(), served, "{address}, {policy:?}");
        }
    }
}
