//! What io_uring does, by threads: where the kernel has it not, or forbids it, as containers do.
//!
//! Files are read and written by a few threads, which wait for them. Sockets are not: the engine's own thread polls them whenever
//! it waits, and so an idle client costs no thread. What the threads are given — memory, descriptors — is kept here until they have
//! given it back.
#![allow(unsafe_code)]

use crate::memory::{Slice, pass};
use crate::ring::{Backend, RingOp, RingToken, discard_mode, message};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Threads that wait for files at once; what else is asked for waits for one of them.
const MOST: usize = 32;

/// Something to be done with a file, as a thread is told of it: numbers and addresses alone.
struct FileJob {
    slot: u32,
    file: RawFd,
    op: FileOp,
}

#[derive(Clone, Copy)]
enum FileOp {
    Read(*mut u8, usize, u64),
    Write(*mut u8, usize, u64, bool),
    Discard(u64, u64, i32),
    Sync,
}

// SAFETY: the memory that it points to is kept by `Threads` until the job has come back, and nobody holds a reference into it.
unsafe impl Send for FileJob {}

/// What is in flight.
struct InFlightOp {
    token: RingToken,
    file: Rc<OwnedFd>,
    /// What a socket is still to receive or send; of a file, memory that is kept.
    pieces: Vec<Slice>,
    way: Way,
    moved: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    File,
    /// Whether all of it is to be there before it comes back.
    Receives(bool),
    Sends,
    /// That there is something to read.
    Awaits,
}

/// Jobs that no thread has taken yet, how many threads wait for one, and whether there will be no more.
#[derive(Default)]
struct JobQueue {
    jobs: VecDeque<FileJob>,
    idle: usize,
    closed: bool,
}

type SharedQueue = Arc<(Mutex<JobQueue>, Condvar)>;

/// Files by threads, sockets by polling.
pub struct Threads {
    flying: Vec<Option<InFlightOp>>,
    free: Vec<u32>,
    completed: VecDeque<(RingToken, i32)>,
    queue: SharedQueue,
    threads: usize,
    done: Sender<(u32, i32)>,
    results: Receiver<(u32, i32)>,
    /// Written to by the threads when something is done.
    woken: Arc<OwnedFd>,
}

impl Threads {
    /// Without a thread yet.
    ///
    /// # Errors
    /// When there are no descriptors left.
    pub fn new() -> io::Result<Threads> {
        let (done, results) = channel();
        Ok(Threads {
            flying: Vec::new(),
            free: Vec::new(),
            completed: VecDeque::new(),
            queue: SharedQueue::default(),
            threads: 0,
            done,
            results,
            woken: Arc::new(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?),
        })
    }

    /// Gives a job to a thread, a new one where all are busy and there may be more.
    fn hand_out(&mut self, job: FileJob) -> io::Result<()> {
        let (queue, filled) = &*self.queue;
        let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.jobs.push_back(job);
        let wants = queue.jobs.len() > queue.idle && self.threads < MOST;
        drop(queue);
        filled.notify_one();
        if wants {
            let (queue, done, woken) = (Arc::clone(&self.queue), self.done.clone(), Arc::clone(&self.woken));
            let spawned = std::thread::Builder::new().name("files".into()).spawn(move || work(&queue, &done, &woken));
            // One that is there does it in time.
            if spawned.is_err() && self.threads == 0 {
                return spawned.map(drop);
            }
            self.threads += 1;
        }
        Ok(())
    }

    /// Takes what the threads have done.
    fn gather(&mut self) {
        while let Ok((slot, result)) = self.results.try_recv() {
            self.end(slot, result);
        }
    }

    fn end(&mut self, slot: u32, result: i32) {
        if let Some(flying) = self.flying[slot as usize].take() {
            self.free.push(slot);
            self.completed.push_back((flying.token, result));
        }
    }

    /// Waits until a socket can go on or a thread is done, so long at most; then they have.
    fn poll(&mut self, most: Option<Duration>) -> io::Result<()> {
        let sockets: Vec<u32> = (0..self.flying.len() as u32).filter(|slot| self.awaits(*slot).is_some()).collect();
        let mut watched = vec![PollFd::new(&self.woken, PollFlags::IN)];
        for slot in &sockets {
            if let (Some(flying), Some(events)) = (&self.flying[*slot as usize], self.awaits(*slot)) {
                watched.push(PollFd::new(&*flying.file, events));
            }
        }
        let most = most.map(|most| Timespec { tv_sec: most.as_secs() as i64, tv_nsec: most.subsec_nanos().into() });
        match poll(&mut watched, most.as_ref()) {
            Err(rustix::io::Errno::INTR) => return Ok(()),
            polled => polled?,
        };
        let ready: Vec<bool> = watched.iter().map(|watched| !watched.revents().is_empty()).collect();
        drop(watched);
        if ready[0] {
            let mut count = [0; 8];
            // Whoever else has read it has gathered what was done.
            let _ = rustix::io::read(&self.woken, &mut count);
        }
        for (slot, _) in sockets.into_iter().zip(&ready[1..]).filter(|(_, ready)| **ready) {
            self.go_on(slot);
        }
        self.gather();
        Ok(())
    }

    /// What is waited for of a socket.
    fn awaits(&self, slot: u32) -> Option<PollFlags> {
        match self.flying[slot as usize].as_ref()?.way {
            Way::File => None,
            Way::Receives(_) | Way::Awaits => Some(PollFlags::IN),
            Way::Sends => Some(PollFlags::OUT),
        }
    }

    /// A socket can receive or send: as much as it does at once.
    fn go_on(&mut self, slot: u32) {
        let Some(flying) = &mut self.flying[slot as usize] else { return };
        let socket = flying.file.as_raw_fd();
        if flying.way == Way::Awaits {
            return self.end(slot, i32::from(libc::POLLIN));
        }
        let result = match (flying.way, flying.pieces.first()) {
            (Way::Sends, Some(_)) => {
                let message = message(&flying.pieces);
                // SAFETY: the header and what it points to are there until this returns.
                unsafe { libc::sendmsg(socket, &message.head, libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT) }
            }
            // SAFETY: the slice has as many bytes, which nobody holds a reference into.
            (_, Some(into)) => unsafe { libc::recv(socket, into.pointer().cast(), into.bytes, libc::MSG_DONTWAIT) },
            (_, None) => 0,
        };
        let waits = flying.way != Way::Receives(false);
        match usize::try_from(result) {
            Ok(count) if count > 0 => {
                flying.moved += count;
                pass(&mut flying.pieces, count);
                if waits && !flying.pieces.is_empty() {
                    return;
                }
            }
            // Nothing came after all, or nothing is taken.
            Err(_) if matches!(errno(), libc::EAGAIN | libc::EINTR) => return,
            Err(_) if flying.moved == 0 => {
                let result = -errno();
                return self.end(slot, result);
            }
            _ => {}
        }
        let moved = flying.moved as i32;
        self.end(slot, moved);
    }
}

impl Backend for Threads {
    fn push(&mut self, file: &Rc<OwnedFd>, token: RingToken, op: RingOp) -> io::Result<()> {
        if let RingOp::Driver(..) = op {
            // Only io_uring reaches a driver.
            self.completed.push_back((token, -libc::EOPNOTSUPP));
            return Ok(());
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.flying.push(None);
            self.flying.len() as u32 - 1
        });
        let job = FileOp::of(&op);
        let way = match &op {
            RingOp::Receive(_, whole) => Way::Receives(*whole),
            RingOp::Send(_) => Way::Sends,
            RingOp::Await => Way::Awaits,
            _ => Way::File,
        };
        let pieces = op.into_slices();
        self.flying[slot as usize] = Some(InFlightOp { token, file: Rc::clone(file), pieces, way, moved: 0 });
        match job {
            Some(op) => self.hand_out(FileJob { slot, file: file.as_raw_fd(), op }),
            None => Ok(()),
        }
    }

    fn take(&mut self) -> Option<(RingToken, i32)> {
        self.completed.pop_front()
    }

    fn has_come(&mut self) -> bool {
        if self.completed.is_empty() {
            // Should the kernel refuse, the wait that follows is told so.
            let _ = self.poll(Some(Duration::ZERO));
        }
        !self.completed.is_empty()
    }

    fn submit(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn wait(&mut self, most: Option<Duration>) -> io::Result<()> {
        self.gather();
        if self.completed.is_empty() { self.poll(most) } else { Ok(()) }
    }
}

impl Drop for Threads {
    /// Threads end when there is nothing more to do; memory and descriptors that they have outlive everything else.
    fn drop(&mut self) {
        let (queue, filled) = &*self.queue;
        queue.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        filled.notify_all();
        self.gather();
        if self.flying.iter().flatten().any(|flying| flying.way == Way::File) {
            std::mem::forget(std::mem::take(&mut self.flying));
        }
    }
}

impl FileOp {
    /// What a thread is to do; nothing where it is a socket's.
    fn of(op: &RingOp) -> Option<FileOp> {
        Some(match op {
            RingOp::Read(slice, at) => FileOp::Read(slice.pointer(), slice.bytes, *at),
            RingOp::Write(slice, at, through) => FileOp::Write(slice.pointer(), slice.bytes, *at, *through),
            RingOp::Discard(at, bytes, what) => FileOp::Discard(*at, *bytes, discard_mode(*what)),
            RingOp::Sync => FileOp::Sync,
            RingOp::Receive(..) | RingOp::Send(_) | RingOp::Await | RingOp::Driver(..) => return None,
        })
    }

    /// Does it, and waits for it: the result as io_uring would give it.
    fn carry_out(self, file: RawFd) -> i32 {
        // SAFETY: whoever asked keeps the descriptor open, and the memory there, until this has come back.
        let result = unsafe {
            match self {
                FileOp::Read(into, bytes, at) => libc::pread(file, into.cast(), bytes, at as libc::off_t),
                FileOp::Write(from, bytes, at, false) => libc::pwrite(file, from.cast(), bytes, at as libc::off_t),
                FileOp::Write(from, bytes, at, true) => write_through(file, from, bytes, at),
                FileOp::Discard(at, bytes, mode) => {
                    libc::fallocate(file, mode, at as libc::off_t, bytes as libc::off_t) as isize
                }
                FileOp::Sync => libc::fdatasync(file) as isize,
            }
        };
        if result < 0 { -errno() } else { result as i32 }
    }
}

/// Writes what is to be on the medium when this returns.
///
/// # Safety
/// The memory has so many bytes.
unsafe fn write_through(file: RawFd, from: *mut u8, bytes: usize, at: u64) -> isize {
    let part = libc::iovec { iov_base: from.cast(), iov_len: bytes };
    // SAFETY: as the caller says.
    unsafe {
        let written = libc::pwritev2(file, &raw const part, 1, at as libc::off_t, libc::RWF_DSYNC);
        // Kernels before 4.7, and some that only look like one, know of no such write.
        if written >= 0 || !matches!(errno(), libc::ENOSYS | libc::EOPNOTSUPP) {
            return written;
        }
        let written = libc::pwrite(file, from.cast(), bytes, at as libc::off_t);
        if written >= 0 && libc::fdatasync(file) < 0 { -1 } else { written }
    }
}

/// Does one thing with a file, and waits for it; the result as io_uring would give it.
pub(crate) fn carry_out(file: &OwnedFd, op: &RingOp) -> i32 {
    FileOp::of(op).map_or(-libc::EINVAL, |op| op.carry_out(file.as_raw_fd()))
}

fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

/// A thread: does one job after the other until there are no more.
fn work(queue: &SharedQueue, done: &Sender<(u32, i32)>, woken: &OwnedFd) {
    let (jobs, filled) = &**queue;
    let mut queue = jobs.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        if let Some(FileJob { slot, file, op }) = queue.jobs.pop_front() {
            drop(queue);
            let result = op.carry_out(file);
            // An engine that is gone waits for nothing.
            let _ = done.send((slot, result));
            // SAFETY: it is open as long as a thread has a share of it.
            let _ = rustix::io::write(unsafe { BorrowedFd::borrow_raw(woken.as_raw_fd()) }, &1_u64.to_ne_bytes());
            queue = jobs.lock().unwrap_or_else(PoisonError::into_inner);
            continue;
        }
        if queue.closed {
            return;
        }
        queue.idle += 1;
        queue = filled.wait(queue).unwrap_or_else(PoisonError::into_inner);
        queue.idle -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::Discarded;
    use std::os::unix::net::UnixStream;

    /// Waits for so many.
    fn some(threads: &mut Threads, count: usize) -> Vec<(RingToken, i32)> {
        let mut seen = Vec::new();
        while seen.len() < count {
            threads.wait(Some(Duration::from_secs(5))).expect("waited");
            seen.extend(std::iter::from_fn(|| threads.take()));
        }
        seen
    }

    #[test]
    fn what_is_written_is_read_and_given_up() {
        let path = std::env::temp_dir().join(format!("halfturn-threads-{}", std::process::id()));
        let open = std::fs::OpenOptions::new().read(true).write(true).create_new(true).open(&path);
        let file: Rc<OwnedFd> = Rc::new(open.expect("a file").into());
        std::fs::remove_file(&path).expect("its name");
        let mut threads = Threads::new().expect("threads");
        // More than there are threads.
        let out: Vec<Slice> = (0..100_u8).map(|n| Slice::holding(&[n + 1; 4096])).collect();
        for (n, out) in (0..).zip(&out) {
            threads
                .push(&file, RingToken::Unit(n), RingOp::Write(out.clone(), u64::from(n) * 4096, n % 2 == 0))
                .expect("pushed");
        }
        let mut seen = some(&mut threads, 100);
        seen.sort_by_key(|(token, _)| if let RingToken::Unit(n) = token { *n } else { 0 });
        assert!(seen.iter().zip(0..).all(|(seen, n)| *seen == (RingToken::Unit(n), 4096)), "{seen:?}");
        assert!(threads.threads <= MOST);
        threads.push(&file, RingToken::Unit(1), RingOp::Sync).expect("pushed");
        assert_eq!(some(&mut threads, 1), [(RingToken::Unit(1), 0)]);
        let into = Slice::holding(&[0; 4096]);
        threads.push(&file, RingToken::Unit(2), RingOp::Read(into.clone(), 99 * 4096)).expect("pushed");
        assert_eq!(some(&mut threads, 1), [(RingToken::Unit(2), 4096)]);
        assert_eq!(into.to_vec(), [100; 4096]);
        assert_eq!(carry_out(&file, &RingOp::Read(into.clone(), 100 * 4096)), 0, "the end");
        if carry_out(&file, &RingOp::Discard(99 * 4096, 4096, Discarded::Zeros)) == 0 {
            assert_eq!(carry_out(&file, &RingOp::Read(into.clone(), 99 * 4096)), 4096);
            assert_eq!(into.to_vec(), [0; 4096]);
        }
        let read_only = std::fs::File::open("/dev/null").expect("a file").into();
        assert!(carry_out(&read_only, &RingOp::Write(into, 0, false)) < 0);
    }

    #[test]
    fn what_is_sent_is_received_whole_where_that_is_wanted() {
        let mut threads = Threads::new().expect("threads");
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        let (ours, theirs): (Rc<OwnedFd>, Rc<OwnedFd>) = (Rc::new(ours.into()), Rc::new(theirs.into()));
        let long: Vec<u8> = (0..1_u32 << 20).map(|n| (n % 251) as u8).collect();
        let (out, into) = (Slice::holding(&long), Slice::holding(&vec![0; long.len()]));
        let pieces = vec![Slice { bytes: 1000, ..out.clone() }, out.after(1000)];
        threads.push(&ours, RingToken::Sent(3), RingOp::Send(pieces)).expect("pushed");
        threads.push(&theirs, RingToken::Received(7), RingOp::Receive(into.clone(), true)).expect("pushed");
        let mut seen = some(&mut threads, 2);
        seen.sort_by_key(|(token, _)| matches!(token, RingToken::Sent(_)));
        assert_eq!(seen, [(RingToken::Received(7), 1 << 20), (RingToken::Sent(3), 1 << 20)]);
        assert!(into.to_vec() == long);
        threads.push(&theirs, RingToken::Received(7), RingOp::Receive(into, true)).expect("pushed");
        assert!(!threads.has_come());
        rustix::net::shutdown(&ours, rustix::net::Shutdown::Both).expect("shut");
        assert_eq!(some(&mut threads, 1), [(RingToken::Received(7), 0)], "nobody is there any more");
        threads.push(&ours, RingToken::Sent(3), RingOp::Send(vec![Slice::holding(b"late")])).expect("pushed");
        assert_eq!(some(&mut threads, 1), [(RingToken::Sent(3), -libc::EPIPE)]);
        assert!(threads.wait(Some(Duration::from_millis(1))).is_ok(), "a wait may end with nothing");
    }
}
