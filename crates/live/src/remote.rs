//! An NBD server as its clients see it.

use crate::tls::Carriers;
use nbd::client::{self, Body, ClientGoal, ClientHandshake, ClientStep};
use nbd::reply::Chunk;
use nbd::{Address, ClientRequest, Errno, RequestType, Session, Uri};
use std::collections::BTreeMap;
use std::io::{self, Error, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Bytes that are received at once.
const CHUNK: usize = 256 << 10;

/// A connection to an export: requests go out as they are made, answers come as they come.
pub struct Remote {
    socket: Socket,
    /// What was agreed on.
    pub session: Session,
    /// What came and was not looked at yet.
    input: Vec<u8>,
    read: usize,
    /// Reads and others under way, by cookie: what has come of them.
    waiting: BTreeMap<u64, PendingCall>,
}

struct PendingCall {
    request: ClientRequest,
    bytes: Vec<u8>,
    error: Option<Errno>,
}

enum Socket {
    Unix(UnixStream),
    Tcp(TcpStream),
    /// One whose other end is carried in TLS, and why that broke off.
    Tls(UnixStream, Arc<OnceLock<String>>),
}

impl From<Socket> for OwnedFd {
    fn from(socket: Socket) -> OwnedFd {
        match socket {
            Socket::Unix(socket) | Socket::Tls(socket, _) => socket.into(),
            Socket::Tcp(socket) => socket.into(),
        }
    }
}

/// What came of a request: the bytes of a read.
pub type Answer = (ClientRequest, Result<Vec<u8>, Errno>);

impl Remote {
    /// Connects to an export.
    ///
    /// # Errors
    /// When nobody listens, or it is no NBD server, or has no such export.
    pub fn connect(uri: &Uri) -> io::Result<Remote> {
        let mut socket = match &uri.address {
            Address::Unix(path) => Socket::Unix(UnixStream::connect(path)?),
            Address::Tcp { host, port } => {
                let socket = TcpStream::connect((host.as_str(), *port))?;
                socket.set_nodelay(true)?;
                Socket::Tcp(socket)
            }
        };
        let handshake = ClientHandshake::new(ClientGoal::Go(uri.export.clone()));
        let mut handshake = if uri.tls.is_some() { handshake.with_tls() } else { handshake };
        let (mut input, mut out) = (Vec::new(), Vec::new());
        let session = loop {
            let mut left = &input[..];
            let step = handshake.feed(&mut left, &mut out).map_err(|broken| protocol_error(&broken))?;
            let taken = input.len() - left.len();
            input.drain(..taken);
            socket.write(&std::mem::take(&mut out))?;
            match step {
                ClientStep::StartTls => {
                    // What came behind the answer was said by nobody who is known yet.
                    if !input.is_empty() {
                        return Err(protocol_error(&client::Broken::Unexpected("more than the answer, before TLS")));
                    }
                    socket = socket.secure(uri)?;
                    handshake.secure(&mut out);
                    socket.write(&std::mem::take(&mut out))?;
                    socket.receive(&mut input)?;
                }
                ClientStep::Ready(session) => break session,
                ClientStep::Listed(_) => {
                    return Err(Error::new(ErrorKind::InvalidData, "a list that nobody asked for"));
                }
                ClientStep::More => socket.receive(&mut input)?,
            }
        };
        Ok(Remote { socket, session, input, read: 0, waiting: BTreeMap::new() })
    }

    /// Sends a request; a write with its payload. No other under way has its cookie.
    ///
    /// # Errors
    /// When the server is gone.
    pub fn send(&mut self, request: ClientRequest, payload: &[u8]) -> io::Result<()> {
        let mut bytes = request.encode().to_vec();
        bytes.extend_from_slice(payload);
        let room = if request.command == RequestType::Read { request.length as usize } else { 0 };
        self.waiting.insert(request.cookie, PendingCall { request, bytes: vec![0; room], error: None });
        self.socket.write(&bytes)
    }

    /// What it is made of, where nothing was asked yet.
    pub(crate) fn into_parts(self) -> (OwnedFd, Session) {
        (self.socket.into(), self.session)
    }

    /// Waits for the next request to be answered.
    ///
    /// # Errors
    /// When the server is gone, or does not keep to the protocol.
    pub fn answer(&mut self) -> io::Result<Answer> {
        loop {
            if let Some(answer) = self.take()? {
                return Ok(answer);
            }
            self.input.drain(..self.read);
            self.read = 0;
            self.socket.receive(&mut self.input)?;
        }
    }

    /// For how long `answer` waits before it gives up with `WouldBlock`.
    ///
    /// # Errors
    /// When the socket takes no limits.
    pub fn patience(&mut self, most: Option<Duration>) -> io::Result<()> {
        match &self.socket {
            Socket::Unix(socket) | Socket::Tls(socket, _) => socket.set_read_timeout(most),
            Socket::Tcp(socket) => socket.set_read_timeout(most),
        }
    }

    /// What has come, if that is the end of an answer.
    fn take(&mut self) -> io::Result<Option<Answer>> {
        loop {
            let mut left = &self.input[self.read..];
            let all = left.len();
            let Some(reply) = client::reply(&mut left).map_err(|broken| protocol_error(&broken))? else {
                return Ok(None);
            };
            let head = all - left.len();
            let unknown = || Error::new(ErrorKind::InvalidData, "an answer to nothing that was asked");
            let waiting = self.waiting.get_mut(&reply.cookie).ok_or_else(unknown)?;
            let content = match reply.body {
                Body::Done => waiting.bytes.len(),
                Body::Data { length, .. } => length as usize,
                _ => 0,
            };
            if left.len() < content {
                return Ok(None);
            }
            let base = waiting.request.offset;
            match reply.body {
                Body::Done => waiting.bytes.copy_from_slice(&left[..content]),
                Body::Data { offset, .. } => {
                    let at = offset.checked_sub(base).and_then(|at| usize::try_from(at).ok());
                    let into = at.and_then(|at| waiting.bytes.get_mut(at..)?.get_mut(..content)).ok_or_else(unknown)?;
                    into.copy_from_slice(&left[..content]);
                }
                Body::Failed { error, .. } => waiting.error = Some(error),
                Body::Hole { .. } | Body::None => {}
            }
            self.read += head + content;
            if reply.chunk == Chunk::Last
                && let Some(PendingCall { request, bytes, error }) = self.waiting.remove(&reply.cookie)
            {
                return Ok(Some((request, error.map_or(Ok(bytes), Err))));
            }
        }
    }
}

fn protocol_error(broken: &client::Broken) -> Error {
    Error::new(ErrorKind::InvalidData, broken.to_string())
}

impl Socket {
    /// The same in TLS, once both sides have shown who they are.
    fn secure(self, uri: &Uri) -> io::Result<Socket> {
        let mut session = crate::tls::connect(uri)?;
        let (mut socket, mut out, mut early) = (self, Vec::new(), Vec::new());
        session.say(&[], &mut out);
        while !session.is_private() {
            socket.write(&std::mem::take(&mut out))?;
            let mut bytes = Vec::new();
            socket.receive(&mut bytes)?;
            let received = session.receive(&bytes, &mut early);
            session.say(&[], &mut out);
            if let Err(why) = received {
                // The server is told, if it listens.
                let _ = socket.write(&out);
                return Err(Error::new(ErrorKind::InvalidData, format!("TLS: {why}")));
            }
        }
        socket.write(&out)?;
        // The process may end before all is sent, as it may without TLS.
        let carried = session.carry(socket.into(), &early, &Carriers::default())?;
        Ok(Socket::Tls(carried.socket.into(), carried.broken))
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let written = match self {
            Socket::Unix(socket) | Socket::Tls(socket, _) => socket.write_all(bytes),
            Socket::Tcp(socket) => socket.write_all(bytes),
        };
        written.map_err(|error| self.explain(error))
    }

    /// What was wrong with the connection: what TLS says, if it says anything.
    fn explain(&self, error: Error) -> Error {
        match self {
            Socket::Tls(_, broken) => match broken.get() {
                Some(why) => Error::new(ErrorKind::InvalidData, format!("TLS: {why}")),
                None => error,
            },
            Socket::Unix(_) | Socket::Tcp(_) => error,
        }
    }

    /// Receives what has come, at least a byte.
    fn receive(&mut self, into: &mut Vec<u8>) -> io::Result<()> {
        let from = into.len();
        into.resize(from + CHUNK, 0);
        let read = match self {
            Socket::Unix(socket) | Socket::Tls(socket, _) => socket.read(&mut into[from..]),
            Socket::Tcp(socket) => socket.read(&mut into[from..]),
        };
        into.truncate(from + read.as_ref().map_or(0, |count| *count));
        let closed = || Error::new(ErrorKind::UnexpectedEof, "the server closed the connection");
        let ended = match read {
            Ok(0) => closed(),
            Ok(_) => return Ok(()),
            Err(error) => error,
        };
        Err(self.explain(ended))
    }
}
