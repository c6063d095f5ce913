//! What a guest may write into its memory, looked at as a queue's: for random tests and for a fuzz target.

use super::disk::VirtualDisk;
use super::queue::{GuestQueue, QueueLine, Rings, rings};
use crate::claim::Use;
use crate::front::client::{ClientLine, Heard};
use crate::identity::Identity;
use crate::memory::Slice;
use block::errno::EIO;
use nbd::{ClientRequest, RequestType};
use rustix::event::{EventfdFlags, eventfd};
use std::sync::Arc;
use vm_memory::{Bytes, GuestAddress, GuestMemoryMmap};

/// The memory, and what of it the rings are: descriptors, available, used.
const MEMORY: usize = 32 << 10;
const RINGS: Rings = Rings { entries: 32, descriptors: 0, available: 0x200, used: 0x400 };
/// Bytes of the disk.
const DISK: u64 = 1 << 20;

/// Serves a queue of a guest whose memory begins with these bytes until nothing more is taken, and answers as `fails` says; the
/// requests. None of them may be of what the disk has not.
///
/// # Panics
/// When a request is of what the disk has not.
pub fn serve(bytes: &[u8], fails: impl Fn(u64) -> bool) -> Vec<ClientRequest> {
    let memory = GuestMemoryMmap::from_ranges(&[(GuestAddress(0), MEMORY)]).expect("memory");
    memory.write_slice(&bytes[..bytes.len().min(MEMORY)], GuestAddress(0)).expect("it fits");
    // What was used so far is nothing.
    memory.write_obj(0_u32, GuestAddress(RINGS.used)).expect("inside");
    let queue = rings(&memory, &RINGS, 0, 0).expect("rings in the memory");
    let bell = || eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC).expect("a bell");
    let shared = GuestQueue {
        number: 0,
        place: 0,
        volume: 0,
        disk: Arc::new(VirtualDisk::new("fuzz", DISK, Use::Writes, 1)),
        identity: Identity::default(),
        memory,
        queue,
        again: Vec::new(),
        inflight: None,
        kick: bell(),
        call: None,
        error: None,
    };
    let mut line = QueueLine::new(shared);
    let mut requests: Vec<ClientRequest> = Vec::new();
    // A ring has so many entries, and whatever lies in it is taken once.
    for _ in 0..4 * u32::from(RINGS.entries) {
        match line.hear(Some(load::experiment::LONGEST)) {
            Heard::Again | Heard::Payload(_) => {}
            Heard::Request(request) => {
                let (offset, length) = (request.offset, request.length);
                assert!(offset <= DISK && length <= DISK - offset, "{request:?}");
                if request.command == RequestType::Write {
                    line.await_payload(0, Slice::new(length as usize));
                }
                requests.push(request);
            }
            Heard::NotYet => break,
            Heard::Query(..) | Heard::Lost => panic!("no queue says so"),
        }
    }
    for request in &requests {
        match fails(request.cookie) {
            true => line.fail(request, EIO),
            false => line.acknowledge(request),
        }
    }
    requests
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::{Rng, SeedableRng};
    use rand_pcg::Pcg64;

    /// Ten requests of three descriptors each, meant well; then up to three of the descriptors, and now and then the ring, are not.
    fn draw_memory(draw: &mut Pcg64) -> Vec<u8> {
        let mut below = |bound: u32| draw.next_u32() % bound;
        let mut bytes = vec![0; MEMORY];
        let mut describe = |number: u32, at: u64, length: u32, flags: u16, next: u16| {
            let entry = &mut bytes[number as usize * 16..number as usize * 16 + 16];
            entry[..8].copy_from_slice(&at.to_le_bytes());
            entry[8..12].copy_from_slice(&length.to_le_bytes());
            entry[12..14].copy_from_slice(&flags.to_le_bytes());
            entry[14..].copy_from_slice(&next.to_le_bytes());
        };
        let place = |number: u32| 0x800 + u64::from(number) * 512;
        for first in (0..30).step_by(3) {
            let (read, length) = (below(2) as u16, 512 * (1 + below(3)));
            describe(first, place(first), 16, 1, first as u16 + 1);
            describe(first + 1, place(below(50)), length, 1 + 2 * read, first as u16 + 2);
            describe(first + 2, place(first) + 16, 1, 2, 0);
        }
        for _ in 0..below(4) {
            let at = [u64::MAX - u64::from(below(64)), MEMORY as u64 - 8, u64::from(below(32)) * 16, place(below(56))];
            let lengths = [u32::MAX - below(4), below(64), 16 * below(33), 512 * below(4), 16];
            let (at, length) = (at[below(4) as usize], lengths[below(5) as usize]);
            describe(below(32), at, length, below(8) as u16, below(34) as u16);
        }
        let available = if below(20) == 0 { below(70_000) as u16 } else { below(11) as u16 };
        bytes[0x202..0x204].copy_from_slice(&available.to_le_bytes());
        for entry in 0..32_usize {
            let head = if below(40) == 0 { below(70_000) as u16 } else { entry as u16 % 10 * 3 };
            bytes[0x204 + entry * 2..0x206 + entry * 2].copy_from_slice(&head.to_le_bytes());
        }
        for header in (0x800..MEMORY).step_by(512) {
            bytes[header] = [0, 0, 1, 1, 4, 8, 11, 13, 99][below(9) as usize];
            // Many of them are about where the disk ends.
            let sector = if below(2) == 0 { below(2048) } else { 2040 + below(16) };
            bytes[header + 8..header + 12].copy_from_slice(&sector.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn whatever_a_guest_writes_is_served_or_refused() {
        let given = std::env::var("HALFTURN_SEED").ok().and_then(|seed| seed.parse().ok());
        let mut seen = [0; 3];
        for seed in given.map_or(0..4_000, |seed: u64| seed..seed + 1) {
            let bytes = draw_memory(&mut Pcg64::seed_from_u64(seed));
            let run = std::panic::catch_unwind(|| serve(&bytes, |cookie| cookie % 2 == 1));
            let requests = run.unwrap_or_else(|_| panic!("again with HALFTURN_SEED={seed}"));
            let count = |command| requests.iter().filter(|request| request.command == command).count();
            let found = [RequestType::Read, RequestType::Write, RequestType::Flush].map(count);
            seen.iter_mut().zip(found).for_each(|(seen, found)| *seen += found);
        }
        assert!(given.is_some() || seen.iter().all(|seen| *seen > 50), "{seen:?} reads, writes and flushes");
    }
}
