//! Which requests of a queue are in flight, in memory that outlives the service: the frontend keeps it, and gives it to the service
//! that comes after one that was killed, which then does them over.
//!
//! The layout is that of vhost-user, "Inflight I/O tracking", for split queues. A request is noted before it is done and crossed
//! out after it was answered; between that and the next the last one answered is known by name, so that it is not done twice
//! whenever the service is killed.

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use virtio_queue::{Queue, QueueT};
use vm_memory::{ByteValued, FileOffset, MmapRegion, VolatileMemory};

/// Bytes before the entries of a queue, and of each of them; a queue begins at a multiple of the last.
const HEAD: usize = 16;
const ENTRY: usize = 16;
const ALIGNED: usize = 64;
/// Where in the head: the version, the entries, the entry that was answered last, and how many were answered then.
const VERSION: usize = 8;
const ENTRIES: usize = 10;
const LAST: usize = 12;
const USED: usize = 14;
/// Where in an entry: whether it is in flight, the one that was answered before it, when it came.
const IN_FLIGHT: usize = 0;
const NEXT: usize = 6;
const COUNTER: usize = 8;

/// Memory for the queues of a disk.
#[derive(Clone)]
pub(super) struct InflightMemory {
    region: Arc<MmapRegion>,
    queues: u16,
    entries: u16,
}

/// What is known of one queue.
pub(crate) struct InflightQueue {
    region: Arc<MmapRegion>,
    from: usize,
    entries: u16,
    counter: u64,
}

/// Bytes of a queue with so many entries.
fn stride(entries: u16) -> usize {
    (HEAD + usize::from(entries) * ENTRY).next_multiple_of(ALIGNED)
}

impl InflightMemory {
    /// New memory for so many queues of so many entries, and its length in bytes.
    pub(super) fn create(queues: u16, entries: u16) -> io::Result<(File, u64)> {
        let bytes = (stride(entries) * usize::from(queues)) as u64;
        let file = memfd_create("in-flight", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&file, bytes)?;
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        Ok((file.into(), bytes))
    }

    /// That of a file, from a byte on, which a frontend has kept.
    pub(super) fn map(file: File, (from, bytes): (u64, u64), queues: u16, entries: u16) -> io::Result<InflightMemory> {
        let needed = (stride(entries) * usize::from(queues)) as u64;
        let end = from.checked_add(bytes).filter(|end| *end <= file.metadata().map_or(0, |about| about.len()));
        if bytes < needed || needed == 0 || end.is_none() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let region = MmapRegion::from_file(FileOffset::new(file, from), needed as usize).map_err(io::Error::other)?;
        Ok(InflightMemory { region: Arc::new(region), queues, entries })
    }

    /// What is known of a queue of so many entries.
    pub(super) fn queue(&self, number: u16, entries: u16) -> Option<InflightQueue> {
        (number < self.queues && entries <= self.entries).then(|| InflightQueue {
            region: Arc::clone(&self.region),
            from: stride(self.entries) * usize::from(number),
            entries,
            counter: 0,
        })
    }
}

impl InflightQueue {
    /// Which requests are to be done over, the first that came first, and where the next that is new lies; nothing where the memory
    /// is new.
    pub(super) fn recover(&mut self, queue: &mut Queue) -> Vec<u16> {
        let used = queue.next_used();
        if self.load::<u16>(VERSION) == 0 {
            self.store(ENTRIES, self.entries);
            self.store(USED, used);
            self.store(VERSION, 1_u16);
            return Vec::new();
        }
        // It was answered, and the service was killed before it was crossed out.
        let last = self.load::<u16>(LAST);
        if self.load::<u16>(USED) != used && last < self.entries {
            self.store(entry(last) + IN_FLIGHT, 0_u8);
            fence(Ordering::Release);
            self.store(USED, used);
        }
        let in_flight = |head: &u16| self.load::<u8>(entry(*head) + IN_FLIGHT) == 1;
        let mut heads: Vec<u16> = (0..self.entries).filter(in_flight).collect();
        heads.sort_by_key(|head| self.load::<u64>(entry(*head) + COUNTER));
        self.counter = heads.last().map_or(0, |head| self.load::<u64>(entry(*head) + COUNTER).wrapping_add(1));
        queue.set_next_avail(used.wrapping_add(heads.len() as u16));
        heads
    }

    /// A request is taken.
    pub(super) fn begin(&mut self, head: u16) {
        self.store(entry(head) + COUNTER, self.counter);
        self.counter = self.counter.wrapping_add(1);
        fence(Ordering::Release);
        self.store(entry(head) + IN_FLIGHT, 1_u8);
        fence(Ordering::Release);
    }

    /// A request is about to be answered.
    pub(super) fn prepare_end(&mut self, head: u16) {
        let last = self.load::<u16>(LAST);
        self.store(entry(head) + NEXT, last);
        self.store(LAST, head);
        fence(Ordering::Release);
    }

    /// It was answered, and so many with it.
    pub(super) fn end(&mut self, head: u16, used: u16) {
        fence(Ordering::Release);
        self.store(entry(head) + IN_FLIGHT, 0_u8);
        fence(Ordering::Release);
        self.store(USED, used);
    }

    fn load<T: ByteValued + Default>(&self, at: usize) -> T {
        self.region.get_ref(self.from + at).map_or(T::default(), |it| it.load())
    }

    fn store<T: ByteValued>(&self, at: usize, value: T) {
        // All of it is inside: a queue has no more entries than its memory.
        if let Ok(it) = self.region.get_ref(self.from + at) {
            it.store(value);
        }
    }
}

/// Where the entry of a request is.
fn entry(head: u16) -> usize {
    HEAD + usize::from(head) * ENTRY
}

#[cfg(test)]
mod tests {
    use super::*;
    use virtio_queue::Queue;

    fn queue(used: u16) -> Queue {
        let mut queue = Queue::new(8).expect("a queue");
        queue.set_next_used(used);
        queue
    }

    /// A service that may be killed at each step; the frontend keeps the memory, and the ring says how many were answered.
    #[test]
    fn whenever_it_is_killed_each_request_is_answered_once() {
        let (file, bytes) = InflightMemory::create(2, 8).expect("memory");
        let map = || {
            let file = file.try_clone().expect("a descriptor");
            InflightMemory::map(file, (0, bytes), 2, 8).expect("mapped").queue(1, 8).expect("a queue")
        };
        let mut used = u16::MAX - 2;
        assert!(map().recover(&mut queue(used)).is_empty());
        for step in 0..4 {
            let mut tracked = map();
            assert_eq!(tracked.recover(&mut queue(used)), Vec::<u16>::new(), "step {step}");
            [5, 2, 7].into_iter().for_each(|head| tracked.begin(head));
            // It is killed before, between or after these.
            if step > 0 {
                tracked.prepare_end(2);
            }
            if step > 1 {
                used = used.wrapping_add(1);
            }
            if step > 2 {
                tracked.end(2, used);
            }
            drop(tracked);
            let (mut tracked, mut ring) = (map(), queue(used));
            let again = tracked.recover(&mut ring);
            assert_eq!(again, if step > 1 { vec![5, 7] } else { vec![5, 2, 7] }, "step {step}");
            assert_eq!(ring.next_avail(), used.wrapping_add(again.len() as u16));
            // What comes next comes after them.
            tracked.begin(0);
            assert_eq!(map().recover(&mut queue(used)).last(), Some(&0), "step {step}");
            for head in again.into_iter().chain([0]) {
                tracked.prepare_end(head);
                used = used.wrapping_add(1);
                tracked.end(head, used);
            }
        }
    }

    #[test]
    fn memory_that_is_too_short_is_none() {
        let (file, bytes) = InflightMemory::create(2, 8).expect("memory");
        let map = |place, queues, entries| {
            InflightMemory::map(file.try_clone().expect("a descriptor"), place, queues, entries).is_ok()
        };
        assert!(map((0, bytes), 2, 8) && map((0, bytes), 1, 8));
        for (place, queues, entries) in [
            ((0, bytes), 3, 8),
            ((0, bytes), 2, 16),
            ((4096, bytes), 2, 8),
            ((u64::MAX, bytes), 2, 8),
            ((0, bytes), 0, 8),
        ] {
            assert!(!map(place, queues, entries), "{place:?} {queues} {entries}");
        }
        let memory = InflightMemory::map(file.try_clone().expect("a descriptor"), (0, bytes), 2, 8).expect("mapped");
        assert!(memory.queue(2, 8).is_none() && memory.queue(0, 9).is_none() && memory.queue(1, 4).is_some());
    }
}
