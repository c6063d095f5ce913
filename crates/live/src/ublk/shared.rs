//! What the driver shares with this process: descriptors, which are mapped, and commands that hold an address. All that is unsafe here.
#![allow(unsafe_code)]

use super::protocol::{ADDRESS, COMMAND, Control, DESCRIPTOR, command, descriptors_at};
use io_uring::squeue::Entry128;
use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode};
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, OwnedFd};

/// How often a command that has not come back looks whether it is waited for still, in ns.
const LOOK: u32 = 50_000_000;

/// Bytes of a page of this machine.
pub(super) fn page_bytes() -> usize {
    // SAFETY: it takes and gives a number.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(1) as usize
}

/// The descriptors of a queue, by tag: the driver writes them, and nobody here.
pub(super) struct Descriptors {
    place: *const u8,
    bytes: usize,
    count: u16,
}

// SAFETY: a mapping is the process's, whichever thread reads it.
unsafe impl Send for Descriptors {}

impl Descriptors {
    /// Maps those of a queue with so many tags.
    pub(super) fn map(file: &OwnedFd, queue: u16, count: u16) -> io::Result<Descriptors> {
        let bytes = (usize::from(count) * DESCRIPTOR).next_multiple_of(page_bytes());
        let (wanted, shared) = (std::ptr::null_mut(), libc::MAP_SHARED | libc::MAP_POPULATE);
        let at = descriptors_at(queue, page_bytes()) as libc::off_t;
        // SAFETY: a new mapping, which nothing else in the process has.
        let place = unsafe { libc::mmap(wanted, bytes, libc::PROT_READ, shared, file.as_raw_fd(), at) };
        if place == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Descriptors { place: place.cast(), bytes, count })
    }

    /// How many there are.
    pub(super) fn count(&self) -> u16 {
        self.count
    }

    /// That of a request, which stays until the request is answered.
    pub(super) fn read(&self, tag: u16) -> [u8; DESCRIPTOR] {
        assert!(tag < self.count, "tag {tag} of {}", self.count);
        let place = self.place.cast::<[u8; DESCRIPTOR]>();
        // SAFETY: the mapping has so many, and bytes need no alignment.
        unsafe { place.add(tag.into()).read_volatile() }
    }
}

impl Drop for Descriptors {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and goes with its only owner.
        unsafe { libc::munmap(self.place.cast_mut().cast(), self.bytes) };
    }
}

/// Commands that `/dev/ublk-control` takes for a device, on a ring of its own: they hold 32 bytes, more than an entry of the engine's
/// ring has room for.
pub(super) struct ControlRing {
    ring: ManuallyDrop<IoUring<Entry128>>,
    file: OwnedFd,
    /// Whether a command did not come back: then the ring, and what the command points to, stay with the kernel.
    lost: bool,
}

impl ControlRing {
    /// A ring for this control file.
    pub(super) fn new(file: OwnedFd) -> io::Result<ControlRing> {
        let ring = ManuallyDrop::new(IoUring::builder().build(4)?);
        Ok(ControlRing { ring, file, lost: false })
    }

    /// Has a command done for a device, with a number; the structure that goes with it is given back as the driver leaves it. It is
    /// waited for until `is_vain` says otherwise.
    pub(super) fn run<const BYTES: usize>(
        &mut self,
        what: Control,
        (device, number): (u32, u64),
        structure: [u8; BYTES],
        is_vain: impl Fn() -> bool,
    ) -> io::Result<[u8; BYTES]> {
        if self.lost {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let structure = Box::into_raw(Box::new(structure));
        let mut told = [0; 80];
        told[..COMMAND].copy_from_slice(&command(device, BYTES, number));
        if BYTES > 0 {
            told[ADDRESS].copy_from_slice(&(structure.addr() as u64).to_ne_bytes());
        }
        structure.expose_provenance();
        let entry = opcode::UringCmd80::new(Fd(self.file.as_raw_fd()), what.code()).cmd(told).build();
        let result = self.wait(&entry, is_vain);
        if self.lost {
            return Err(io::ErrorKind::TimedOut.into());
        }
        // SAFETY: it came from a box, and the command that pointed to it has come back, or never went.
        let structure = *unsafe { Box::from_raw(structure) };
        match result? {
            failed if failed < 0 => Err(io::Error::from_raw_os_error(-failed)),
            _ => Ok(structure),
        }
    }

    /// Pushes the only entry there is, and waits for it.
    fn wait(&mut self, entry: &Entry128, is_vain: impl Fn() -> bool) -> io::Result<i32> {
        // SAFETY: what it points to stays until it has come back, and for ever where it does not.
        if unsafe { self.ring.submission().push(entry) }.is_err() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        loop {
            let until = Timespec::new().nsec(LOOK);
            let waited = self.ring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&until));
            if let Some(done) = self.ring.completion().next() {
                return Ok(done.result());
            }
            let goes_on = match &waited {
                Ok(_) => true,
                Err(error) => matches!(error.raw_os_error(), Some(libc::ETIME | libc::EINTR | libc::EAGAIN)),
            };
            if !goes_on || is_vain() {
                self.lost = true;
                return waited.map(|_| 0);
            }
        }
    }
}

impl Drop for ControlRing {
    fn drop(&mut self) {
        if !self.lost {
            // SAFETY: it is not used again.
            unsafe { ManuallyDrop::drop(&mut self.ring) };
        }
    }
}
