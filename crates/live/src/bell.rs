//! How other threads reach the engine: a mailbox, and a bell that its ring hears.

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

/// Leaves messages for an engine.
#[derive(Debug)]
pub struct Caller<M> {
    mail: Sender<M>,
    bell: Arc<UnixStream>,
}

impl<M> Clone for Caller<M> {
    fn clone(&self) -> Caller<M> {
        Caller { mail: self.mail.clone(), bell: Arc::clone(&self.bell) }
    }
}

impl<M> Caller<M> {
    /// Leaves a message; whether there is still an engine to read it.
    pub fn tell(&self, message: M) -> bool {
        let there = self.mail.send(message).is_ok();
        // A bell that is full of calls is being rung already.
        let _ = (&*self.bell).write(&[1]);
        there
    }

    /// Leaves a question, and waits so long at most for the answer: nothing where none comes.
    pub fn ask<T>(&self, question: impl FnOnce(Sender<T>) -> M, patience: Duration) -> Option<T> {
        self.put(question).recv_timeout(patience).ok()
    }

    /// Leaves a question: where the answer will be.
    pub fn put<T>(&self, question: impl FnOnce(Sender<T>) -> M) -> Receiver<T> {
        let (sender, receiver) = mpsc::channel();
        self.tell(question(sender));
        receiver
    }
}

/// An engine's mailbox, and the end of the bell that it listens to.
pub struct Mailbox<M> {
    /// The messages that the callers left.
    pub mail: Receiver<M>,
    /// Readable when something was.
    pub bell: OwnedFd,
}

/// A mailbox and someone to fill it.
///
/// # Errors
/// When there are no descriptors left.
pub fn mailbox<M>() -> io::Result<(Caller<M>, Mailbox<M>)> {
    let (rung, heard) = UnixStream::pair()?;
    rung.set_nonblocking(true)?;
    let (sender, mail) = mpsc::channel();
    Ok((Caller { mail: sender, bell: Arc::new(rung) }, Mailbox { mail, bell: heard.into() }))
}
