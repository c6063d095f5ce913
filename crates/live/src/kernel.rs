//! What an engine stands on: a clock, and someone who does what it is given and says when that is done.

use crate::clock::Clock;
use crate::ring::{Op, Ring, Token};
use block::Time;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::Duration;

/// So long before something is due the engine wakes, and watches the clock from then on: what sleeping may be late by.
const WATCH: Duration = Duration::from_micros(150);

/// The kernel as an engine sees it.
pub trait Kernel {
    /// The time now.
    fn now(&self) -> Time;

    /// Has something done with a file.
    ///
    /// # Errors
    /// When it takes no more.
    fn push(&mut self, file: &Rc<OwnedFd>, token: Token, op: Op) -> io::Result<()>;

    /// The next that was done: whom it is for, and the result as the kernel gives it.
    fn take(&mut self) -> Option<(Token, i32)>;

    /// Waits until there is something to take, or until a time.
    ///
    /// # Errors
    /// When it does not go on.
    fn sleep(&mut self, until: Option<Time>) -> io::Result<()>;

    /// Nothing more is received from a socket or sent to it; what is in flight comes back.
    fn shut(&mut self, socket: &OwnedFd);
}

/// That of this machine.
pub struct Host {
    clock: Clock,
    ring: Ring,
}

impl Host {
    /// A ring, and this clock.
    ///
    /// # Errors
    /// When the kernel gives no ring.
    pub fn new(clock: Clock) -> io::Result<Host> {
        Ok(Host { clock, ring: Ring::new()? })
    }
}

impl Kernel for Host {
    fn now(&self) -> Time {
        self.clock.now()
    }

    fn push(&mut self, file: &Rc<OwnedFd>, token: Token, op: Op) -> io::Result<()> {
        self.ring.push(file, token, op)
    }

    fn take(&mut self) -> Option<(Token, i32)> {
        self.ring.take()
    }

    fn sleep(&mut self, until: Option<Time>) -> io::Result<()> {
        let Some(until) = until else { return self.ring.wait(None) };
        let left = |clock: &Clock| clock.real(until.since(clock.now()));
        match left(&self.clock) {
            long if long > WATCH => self.ring.wait(Some(long - WATCH))?,
            _ => self.ring.submit()?,
        }
        while !self.ring.has_come() && self.clock.now() < until && left(&self.clock) <= WATCH {
            std::hint::spin_loop();
        }
        Ok(())
    }

    fn shut(&mut self, socket: &OwnedFd) {
        // Of a socket whose peer is gone nothing is left to shut.
        let _ = rustix::net::shutdown(socket, rustix::net::Shutdown::Both);
    }
}
