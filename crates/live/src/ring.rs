//! The one place that talks io_uring; what can stand in its place is in `threads`.
//!
//! What the kernel is given — memory, descriptors — is kept here until it has come back, so that a caller who forgets a
//! command harms nobody.
#![allow(unsafe_code)]

use crate::memory::Slice;
use block::Discarded;
use io_uring::squeue::Entry;
use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::rc::Rc;
use std::time::Duration;

/// What a kernel must know of, as those from 5.11 on do.
const USED: [u8; 7] = [
    opcode::Read::CODE,
    opcode::Write::CODE,
    opcode::Fsync::CODE,
    opcode::Fallocate::CODE,
    opcode::Recv::CODE,
    opcode::SendMsg::CODE,
    opcode::PollAdd::CODE,
];
/// Entries of the submission queue; what does not fit is submitted first.
const ENTRIES: u32 = 512;
/// Pieces that are sent at once.
pub const GATHERED: usize = 64;
/// Write through to the medium (`RWF_DSYNC`).
const DSYNC: i32 = 2;
/// To receive only once something is there (`IORING_RECVSEND_POLL_FIRST`): mostly nothing is yet.
const POLL_FIRST: u16 = 1;

/// Whom a completion is for: of the submitter's making.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RingToken {
    /// A command of the unit.
    Unit(u32),
    /// Bytes from a client.
    Received(u32),
    /// Bytes to a client.
    Sent(u32),
    /// What a driver had for a client, under a number of the client's own.
    Driver(u32, u16),
    /// The bell was rung.
    Bell,
}

/// What is to be done.
pub enum RingOp {
    /// Reads a file from a byte on.
    Read(Slice, u64),
    /// Writes a file from a byte on; whether it is to be on the medium before it comes back.
    Write(Slice, u64, bool),
    /// Gives up bytes of a file, from one on, so many.
    Discard(u64, u64, Discarded),
    /// Has all written data on the medium.
    Sync,
    /// Receives into memory; whether not before all of it is full.
    Receive(Slice, bool),
    /// Sends pieces, at most [`GATHERED`], in their order.
    Send(Vec<Slice>),
    /// Waits until there is something to read.
    Await,
    /// A command to the driver of a device: its number, and what goes with it (`uring_cmd`).
    Driver(u32, [u8; 16]),
}

impl RingOp {
    /// The memory it has.
    pub(crate) fn into_slices(self) -> Vec<Slice> {
        match self {
            RingOp::Read(slice, _) | RingOp::Write(slice, ..) | RingOp::Receive(slice, _) => vec![slice],
            RingOp::Send(slices) => slices,
            RingOp::Sync | RingOp::Discard(..) | RingOp::Await | RingOp::Driver(..) => Vec::new(),
        }
    }
}

/// Who does what is to be done.
pub trait Backend {
    /// Has something done; it is begun at the next wait, or before.
    ///
    /// # Errors
    /// When it takes no more.
    fn push(&mut self, file: &Rc<OwnedFd>, token: RingToken, op: RingOp) -> io::Result<()>;

    /// The next completion that has come: whom it is for, and the result as the kernel gives it.
    fn take(&mut self) -> Option<(RingToken, i32)>;

    /// Whether a completion has come.
    fn has_come(&mut self) -> bool;

    /// Begins what was pushed.
    ///
    /// # Errors
    /// When the kernel does not take it.
    fn submit(&mut self) -> io::Result<()>;

    /// Begins what was pushed, and waits for a completion, so long at most.
    ///
    /// # Errors
    /// When the kernel does not take it.
    fn wait(&mut self, most: Option<Duration>) -> io::Result<()>;
}

/// What is in flight: kept so that the kernel's memory stays.
struct InFlightOp {
    token: RingToken,
    /// The descriptor, the memory, and how the kernel is told of it.
    _kept: (Rc<OwnedFd>, Vec<Slice>, Option<Box<MessageHeader>>),
}

/// What the kernel is told of pieces that are sent together.
pub(crate) struct MessageHeader {
    parts: [libc::iovec; GATHERED],
    pub(crate) head: libc::msghdr,
}

/// An io_uring, with the buffers that the kernel has a share of.
pub struct Ring {
    ring: IoUring,
    flying: Vec<Option<InFlightOp>>,
    free: Vec<u32>,
}

impl Ring {
    /// A new one.
    ///
    /// # Errors
    /// When the kernel gives none: io_uring is missing or forbidden.
    pub fn new() -> io::Result<Ring> {
        let usual = || {
            let mut builder = IoUring::builder();
            builder.setup_clamp().setup_cqsize(4096);
            builder
        };
        // Kernels before 6.1 know nothing of work that waits until it is asked for.
        let ring = usual()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_taskrun_flag()
            .build(ENTRIES)
            .or_else(|_| usual().build(ENTRIES))?;
        let mut probe = io_uring::Probe::new();
        ring.submitter().register_probe(&mut probe)?;
        if !ring.params().is_feature_ext_arg() || !USED.iter().all(|code| probe.is_supported(*code)) {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "this kernel's is too old"));
        }
        Ok(Ring { ring, flying: Vec::new(), free: Vec::new() })
    }

    /// How many commands are in flight.
    #[must_use]
    pub fn flying(&self) -> usize {
        self.flying.len() - self.free.len()
    }

    fn submit_entry(&mut self, entry: Entry) -> io::Result<()> {
        loop {
            // SAFETY: what the entry points to is kept in `flying` until its completion was seen.
            if unsafe { self.ring.submission().push(&entry) }.is_ok() {
                return Ok(());
            }
            self.ring.submit()?;
        }
    }
}

impl Backend for Ring {
    fn push(&mut self, file: &Rc<OwnedFd>, token: RingToken, op: RingOp) -> io::Result<()> {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.flying.push(None);
            self.flying.len() as u32 - 1
        });
        let (entry, message) = entry(Fd(file.as_raw_fd()), &op);
        let slices = op.into_slices();
        self.flying[slot as usize] = Some(InFlightOp { token, _kept: (Rc::clone(file), slices, message) });
        self.submit_entry(entry.user_data(slot.into()))
    }

    fn take(&mut self) -> Option<(RingToken, i32)> {
        let done = self.ring.completion().next()?;
        let slot = done.user_data() as u32;
        let flying = self.flying[slot as usize].take()?;
        self.free.push(slot);
        Some((flying.token, done.result()))
    }

    fn has_come(&mut self) -> bool {
        if self.ring.submission().taskrun() {
            // Should the kernel refuse, the wait that follows is told so.
            let _ = self.ring.submit();
        }
        !self.ring.completion().is_empty()
    }

    fn submit(&mut self) -> io::Result<()> {
        if !self.ring.submission().is_empty() {
            again(self.ring.submit())?;
        }
        Ok(())
    }

    fn wait(&mut self, most: Option<Duration>) -> io::Result<()> {
        let Some(most) = most else { return again(self.ring.submit_and_wait(1)) };
        let time = Timespec::new().sec(most.as_secs()).nsec(most.subsec_nanos());
        again(self.ring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&time)))
    }
}

impl Drop for Ring {
    /// Memory in flight outlives everything else.
    fn drop(&mut self) {
        if self.flying() > 0 {
            std::mem::forget(std::mem::take(&mut self.flying));
        }
    }
}

/// Sends pieces, of which [`GATHERED`] at most are looked at, without waiting: how many bytes a socket took.
pub fn send(socket: &OwnedFd, pieces: &[Slice]) -> usize {
    let message = message(pieces);
    // SAFETY: the header and what it points to are there until this returns.
    let sent = unsafe { libc::sendmsg(socket.as_raw_fd(), &message.head, libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT) };
    usize::try_from(sent).unwrap_or(0)
}

/// What the kernel is told of something to be done, and what it must find in memory for that beside the slices.
fn entry(fd: Fd, op: &RingOp) -> (Entry, Option<Box<MessageHeader>>) {
    let entry = match op {
        RingOp::Read(slice, at) => opcode::Read::new(fd, slice.pointer(), slice.bytes as u32).offset(*at).build(),
        RingOp::Write(slice, at, through) => {
            let flags = if *through { DSYNC } else { 0 };
            opcode::Write::new(fd, slice.pointer(), slice.bytes as u32).offset(*at).rw_flags(flags).build()
        }
        RingOp::Discard(at, bytes, what) => {
            opcode::Fallocate::new(fd, *bytes).offset(*at).mode(discard_mode(*what)).build()
        }
        RingOp::Sync => opcode::Fsync::new(fd).flags(io_uring::types::FsyncFlags::DATASYNC).build(),
        RingOp::Await => opcode::PollAdd::new(fd, libc::POLLIN as u32).build(),
        RingOp::Driver(number, told) => opcode::UringCmd16::new(fd, *number).cmd(*told).build(),
        RingOp::Receive(slice, whole) => {
            let flags = if *whole { libc::MSG_WAITALL } else { 0 };
            let entry = opcode::Recv::new(fd, slice.pointer(), slice.bytes as u32);
            entry.flags(flags).ioprio(POLL_FIRST).build()
        }
        RingOp::Send(slices) => {
            let message = message(slices);
            let flags = (libc::MSG_NOSIGNAL | libc::MSG_WAITALL) as u32;
            return (opcode::SendMsg::new(fd, &message.head).flags(flags).build(), Some(message));
        }
    };
    (entry, None)
}

/// How the kernel is told to give up bytes of a file.
pub(crate) fn discard_mode(what: Discarded) -> i32 {
    let mode = if what == Discarded::KeptZeros { libc::FALLOC_FL_ZERO_RANGE } else { libc::FALLOC_FL_PUNCH_HOLE };
    mode | libc::FALLOC_FL_KEEP_SIZE
}

/// A wait that ended without a completion is not an error.
fn again(result: io::Result<usize>) -> io::Result<()> {
    match result {
        Err(error) if !matches!(error.raw_os_error(), Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN)) => {
            Err(error)
        }
        _ => Ok(()),
    }
}

pub(crate) fn message(slices: &[Slice]) -> Box<MessageHeader> {
    let none = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
    // SAFETY: a message header of zeros is one of nothing.
    let mut message = Box::new(MessageHeader { parts: [none; GATHERED], head: unsafe { std::mem::zeroed() } });
    for (part, slice) in message.parts.iter_mut().zip(slices) {
        *part = libc::iovec { iov_base: slice.pointer().cast(), iov_len: slice.bytes };
    }
    message.head.msg_iov = message.parts.as_mut_ptr();
    message.head.msg_iovlen = slices.len().min(GATHERED) as _;
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::AlignedBuffer;
    use std::os::unix::net::UnixStream;

    /// Of `struct io_uring_sqe`: operation, place in the file, and flags of the operation.
    fn told(op: &RingOp) -> (u8, u64, u32) {
        let bytes = parts(op);
        let at = u64::from_ne_bytes(bytes[8..16].try_into().expect("eight bytes"));
        (bytes[0], at, u32::from_ne_bytes(bytes[28..32].try_into().expect("four bytes")))
    }

    fn parts(op: &RingOp) -> [u8; 64] {
        let entry = entry(Fd(0), op).0;
        assert_eq!(size_of::<Entry>(), 64);
        // SAFETY: an entry is that structure and nothing else, of 64 bytes without gaps.
        unsafe { std::mem::transmute_copy(&entry) }
    }

    /// A kill cannot show it: the kernel keeps what a process wrote.
    #[test]
    fn the_kernel_is_told_what_is_to_be_on_the_medium() {
        let slice = Slice::new(4096);
        let [read, fsync, write] = [opcode::Read::CODE, opcode::Fsync::CODE, opcode::Write::CODE];
        assert_eq!(told(&RingOp::Write(slice.clone(), 8192, true)), (write, 8192, libc::RWF_DSYNC as u32));
        assert_eq!(told(&RingOp::Write(slice.clone(), 8192, false)), (write, 8192, 0));
        assert_eq!(told(&RingOp::Read(slice, 512)), (read, 512, 0));
        let punch = u64::try_from(libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE).expect("flags");
        let zero = u64::try_from(libc::FALLOC_FL_ZERO_RANGE | libc::FALLOC_FL_KEEP_SIZE).expect("flags");
        for (what, mode) in [(Discarded::Anything, punch), (Discarded::Zeros, punch), (Discarded::KeptZeros, zero)] {
            let bytes = parts(&RingOp::Discard(512, 1 << 33, what));
            let number = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
            assert_eq!((bytes[0], number(8), number(16)), (opcode::Fallocate::CODE, 512, 1 << 33));
            assert_eq!(number(24) & u64::from(u32::MAX), mode, "{what:?}");
        }
        let datasync = 1;
        assert_eq!(told(&RingOp::Sync), (fsync, 0, datasync));
    }

    #[test]
    fn what_is_sent_is_received() {
        let mut ring = Ring::new().expect("io_uring");
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        let (ours, theirs): (Rc<OwnedFd>, Rc<OwnedFd>) = (Rc::new(ours.into()), Rc::new(theirs.into()));
        let out = Rc::new(AlignedBuffer::new(64));
        out.put(0, b"halfturn");
        let piece = |from, bytes| Slice { buffer: Rc::clone(&out), from, bytes };
        let into = Rc::new(AlignedBuffer::new(64));
        let slice = Slice { buffer: Rc::clone(&into), from: 8, bytes: 8 };
        ring.push(&theirs, RingToken::Received(7), RingOp::Receive(slice, true)).expect("pushed");
        ring.push(&ours, RingToken::Sent(3), RingOp::Send(vec![piece(4, 4), piece(0, 4)])).expect("pushed");
        let mut seen = Vec::new();
        while seen.len() < 2 {
            ring.wait(Some(Duration::from_secs(5))).expect("waited");
            seen.extend(std::iter::from_fn(|| ring.take()));
        }
        seen.sort_by_key(|(token, _)| matches!(token, RingToken::Sent(_)));
        assert_eq!(seen, [(RingToken::Received(7), 8), (RingToken::Sent(3), 8)]);
        let mut got = [0; 8];
        into.get(8, &mut got);
        assert_eq!(&got, b"turnhalf");
        assert_eq!(ring.flying(), 0);
        assert!(ring.wait(Some(Duration::from_millis(1))).is_ok(), "a wait may end with nothing");
    }

    #[test]
    fn what_was_pushed_is_begun_when_it_is_submitted_and_not_only_when_it_is_waited_for() {
        use std::io::Read;
        let mut ring = Ring::new().expect("io_uring");
        let (ours, mut theirs) = UnixStream::pair().expect("a pair");
        theirs.set_read_timeout(Some(Duration::from_secs(5))).expect("a limit");
        let ours: Rc<OwnedFd> = Rc::new(ours.into());
        ring.submit().expect("of nothing, nothing is begun");
        let mut got = [0; 4];
        // More than the queue has room for, so that some are submitted to make room.
        for round in 0..=ENTRIES {
            ring.push(&ours, RingToken::Sent(round), RingOp::Send(vec![Slice::holding(&round.to_le_bytes())]))
                .expect("pushed");
            if round % 7 == 0 {
                ring.submit().expect("begun");
                for sent in round.saturating_sub(6)..=round {
                    theirs.read_exact(&mut got).expect("it comes though nobody waits");
                    assert_eq!(got, sent.to_le_bytes());
                }
            }
        }
    }
}
