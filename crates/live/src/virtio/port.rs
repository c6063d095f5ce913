//! The socket of a virtual disk: one frontend at a time sets it up, and may come again.

use super::disk::VirtualDisk;
use super::frontend::Frontend;
use super::queue::GuestQueue;
use crate::bell::Caller;
use crate::claim::Use;
use crate::engine::EngineFace;
use crate::front::EngineMessage;
use crate::identity::Identity;
use crate::socket::{SocketName, is_closed, private};
use block::{At, BLOCK_BYTES, BadInput};
use load::experiment::ServicePlan;
use rustix::event::{PollFd, PollFlags, poll};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use vhost::vhost_user::{BackendReqHandler, Error};
use vm_memory::GuestMemoryMmap;

/// How long a frontend may take to end a message that it has begun.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often it is looked whether the service has ended.
const LOOK: Duration = Duration::from_millis(100);

/// What a port tells the engine of a queue, which it knows by a number that no other has.
pub enum QueueOrder {
    /// It is served, for this volume; or why it is not.
    Start(Box<GuestQueue>, Sender<Result<(), &'static str>>),
    /// Whoever asks is called here from now on.
    Call(u64, Option<OwnedFd>),
    /// Its addresses are of this memory from now on.
    Memory(u64, GuestMemoryMmap, Sender<()>),
    /// No more is taken from it; once all is answered, the answer is where the next request will lie.
    Stop(u64, Sender<u16>),
    /// The frontend is gone: nothing is written to its memory any more.
    Lose(u64, Sender<()>),
}

/// Where a port leaves what it has to say.
#[derive(Clone)]
pub(crate) struct EngineRoom {
    pub(crate) caller: Caller<EngineMessage>,
    /// The number of the volume there.
    pub(crate) volume: usize,
    /// How long the engine may take to have what is in flight answered.
    pub(crate) patience: Duration,
}

/// The same while somebody is served, until the service ends.
pub(super) struct EngineLine {
    pub(super) room: EngineRoom,
    closing: Arc<OwnedFd>,
}

impl EngineLine {
    /// Has the engine do something; its answer, if it does it in time.
    pub(super) fn ask<T>(&self, order: impl FnOnce(Sender<T>) -> QueueOrder) -> Option<T> {
        let answer = self.room.caller.put(|asker| EngineMessage::Queue(order(asker)));
        let until = Instant::now() + self.room.patience;
        loop {
            match answer.recv_timeout(LOOK) {
                Ok(answer) => return Some(answer),
                Err(RecvTimeoutError::Timeout) if Instant::now() < until && !is_closed(&self.closing) => {}
                Err(_) => return None,
            }
        }
    }
}

/// A socket at which a volume is a virtual disk.
pub(crate) struct Port {
    listener: UnixListener,
    /// Gone when the port is closed.
    _place: SocketName,
    disk: Arc<VirtualDisk>,
    room: EngineRoom,
}

impl Port {
    /// Listens at a path; whoever connects waits until it is opened.
    ///
    /// # Errors
    /// When it cannot be made, another server has it, or something else is there.
    pub(crate) fn new(path: &Path, disk: VirtualDisk, room: EngineRoom) -> io::Result<Port> {
        let (listener, place) = private(path)?;
        listener.set_nonblocking(true)?;
        Ok(Port { listener, _place: place, disk: Arc::new(disk), room })
    }

    /// Serves those who come, in a thread of its own, until the other end of `closing` is closed.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub(crate) fn open(self, closing: OwnedFd) -> io::Result<JoinHandle<()>> {
        std::thread::Builder::new().name("port".into()).spawn(move || self.attend(&Arc::new(closing)))
    }

    fn attend(self, closing: &Arc<OwnedFd>) {
        while let Some([false, knocks]) = wait([closing.as_fd(), self.listener.as_fd()]) {
            let Some(Ok((socket, _))) = knocks.then(|| self.listener.accept()) else { continue };
            if let Err(error) = self.serve(socket, closing) {
                eprintln!("volume '{}': its virtual disk is let go: {error}", self.name());
            }
        }
    }

    fn name(&self) -> &str {
        &self.disk.name
    }

    /// Serves one until he goes, or the port is closed.
    fn serve(&self, socket: UnixStream, closing: &Arc<OwnedFd>) -> Result<(), Error> {
        let identity = Identity::of(&socket.try_clone().map_err(Error::SocketError)?.into(), Vec::new());
        socket.set_nonblocking(false).map_err(Error::SocketError)?;
        socket.set_read_timeout(Some(PATIENCE)).map_err(Error::SocketError)?;
        let heard = socket.try_clone().map_err(Error::SocketError)?;
        let engine = EngineLine { room: self.room.clone(), closing: Arc::clone(closing) };
        let frontend = Arc::new(Mutex::new(Frontend::new(engine, Arc::clone(&self.disk), identity)));
        let mut talk = BackendReqHandler::from_stream(socket, Arc::clone(&frontend));
        let ended = loop {
            match wait([closing.as_fd(), heard.as_fd(), self.listener.as_fd()]) {
                None | Some([true, ..]) => break Ok(()),
                Some([_, false, false]) => {}
                Some([_, true, _]) => match talk.handle_request() {
                    Ok(()) | Err(Error::SocketRetry(_)) => {}
                    Err(Error::Disconnected) => break Ok(()),
                    Err(error) => break Err(error),
                },
                Some(_) => self.send_away(),
            }
        };
        frontend.lock().unwrap_or_else(PoisonError::into_inner).lose();
        ended
    }

    /// A disk is one machine's.
    fn send_away(&self) {
        if self.listener.accept().is_ok() {
            eprintln!("volume '{}': its virtual disk is in use: another frontend was sent away", self.name());
        }
    }
}

/// How much longer than for the device a virtual disk waits for the engine.
const LONGER: Duration = Duration::from_secs(10);

/// Where volumes are disks of virtual machines.
///
/// # Errors
/// When one has no whole blocks, or its socket cannot be made.
pub(crate) fn ports(plan: &ServicePlan, faces: &[EngineFace]) -> Result<Vec<Port>, BadInput> {
    let serve = &plan.whole().serve;
    let patience = Duration::from_nanos(serve.timeout.0.saturating_add(serve.ending.0)).saturating_add(LONGER);
    let mut ports = Vec::new();
    for (device, number) in &plan.order {
        let (face, volume) = (&faces[*device], &plan.devices[*device].volumes[*number]);
        let Some(path) = &volume.vhost_user else { continue };
        let bytes = face.exports[*number].size;
        if !bytes.is_multiple_of(BLOCK_BYTES) {
            let what = format!("volume '{}' has {bytes} bytes, and a virtual disk has blocks of 512", volume.name);
            let mend = "give it a `size` that is a multiple of 512, or take `vhost_user` out";
            return Err(BadInput::new(plan.whole().title.clone(), At::File, what, mend));
        }
        let how = if volume.read_only { Use::Reads } else { Use::Writes };
        let disk = VirtualDisk::new(&volume.name, bytes, how, serve.connections);
        let room = EngineRoom { caller: face.caller.clone(), volume: *number, patience };
        let unbound = |error: io::Error| {
            let what = format!("cannot be listened on: {error}");
            BadInput::new(
                path.display().to_string(),
                At::File,
                what,
                "give `vhost_user` a path at which nothing is yet",
            )
        };
        ports.push(Port::new(path, disk, room).map_err(unbound)?);
    }
    Ok(ports)
}

/// Waits until one of them can be read: which can. Nothing where they cannot be waited for.
fn wait<const N: usize>(of: [BorrowedFd; N]) -> Option<[bool; N]> {
    let mut watched = of.map(|it| PollFd::from_borrowed_fd(it, PollFlags::IN));
    match poll(&mut watched, None) {
        Ok(_) => Some(watched.map(|it| !it.revents().is_empty())),
        Err(rustix::io::Errno::INTR) => Some([false; N]),
        Err(_) => None,
    }
}
