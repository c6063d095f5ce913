//! A volume as the disk of a virtual machine: what it can do, and what its configuration says (virtio 1.2, section 5.2.4).

use super::ask::NAME;
use crate::claim::Use;
use block::BLOCK_BYTES;
use load::experiment::LONGEST;
use std::sync::atomic::{AtomicBool, Ordering};

/// What the disk can do, by the bits of virtio.
const SIZE_MAX: u64 = 1 << 1;
const SEG_MAX: u64 = 1 << 2;
const READ_ONLY: u64 = 1 << 5;
const BLK_SIZE: u64 = 1 << 6;
pub(super) const FLUSH: u64 = 1 << 9;
const TOPOLOGY: u64 = 1 << 10;
const MULTI_QUEUE: u64 = 1 << 12;
const DISCARD: u64 = 1 << 13;
const WRITE_ZEROES: u64 = 1 << 14;
const INDIRECT_DESC: u64 = 1 << 28;
pub(super) const EVENT_IDX: u64 = 1 << 29;
const VERSION_1: u64 = 1 << 32;

/// A request has so many segments at most, and each so many bytes: together no more than any client may move at once.
const SEGMENTS: u32 = 126;
const SEGMENT: u32 = 512 << 10;
const _: () = assert!(SEGMENTS as u64 * SEGMENT as u64 <= LONGEST);
/// Sectors that are given up at once: 4 GiB of them.
const GIVEN_UP: u32 = 8 << 20;
/// Blocks are best moved 4 KiB at a time: two to the power of 3 of them.
const PREFERRED: u8 = 3;

/// The most queues of a disk.
const MOST_QUEUES: u16 = 16;

/// Bytes of the configuration.
pub(super) const CONFIG: usize = 256;

/// A volume as a disk.
pub(crate) struct VirtualDisk {
    /// The name of the volume.
    pub(crate) name: String,
    /// How many bytes it has.
    pub(crate) bytes: u64,
    /// Whether nobody may write it.
    pub(crate) read_only: bool,
    /// Queues that it offers.
    queues: u16,
    /// Whether writes are on the medium before they are answered, since its guest knows of no flush. That a guest may choose it as
    /// it goes (`CONFIG_WCE`) is not offered: a service that comes after one that was killed would not know what it chose.
    through: AtomicBool,
}

impl VirtualDisk {
    /// The disk of a volume, where there may be so many clients.
    pub(crate) fn new(name: &str, bytes: u64, how: Use, clients: u32) -> VirtualDisk {
        let read_only = how != Use::Writes;
        let queues = clients.min(MOST_QUEUES.into()) as u16;
        VirtualDisk { name: name.to_owned(), bytes, read_only, queues, through: AtomicBool::new(true) }
    }

    /// What it can do.
    pub(super) fn features(&self) -> u64 {
        let all = SIZE_MAX | SEG_MAX | BLK_SIZE | FLUSH | TOPOLOGY | MULTI_QUEUE | DISCARD | WRITE_ZEROES;
        let rings = INDIRECT_DESC | EVENT_IDX | VERSION_1;
        all | rings | if self.read_only { READ_ONLY } else { 0 }
    }

    /// Queues that it offers.
    pub(super) fn queues(&self) -> u16 {
        self.queues
    }

    /// Its guest understands so much of what it can do.
    pub(super) fn agree(&self, features: u64) {
        self.through.store(features & FLUSH == 0, Ordering::Release);
    }

    /// Whether a write is on the medium before it is answered.
    pub(super) fn writes_through(&self) -> bool {
        self.through.load(Ordering::Acquire)
    }

    /// What is answered to whoever asks for its name.
    pub(super) fn short_name(&self) -> [u8; NAME] {
        let mut name = [0; NAME];
        let length = self.name.len().min(NAME);
        name[..length].copy_from_slice(&self.name.as_bytes()[..length]);
        name
    }

    /// Its configuration, as the guest reads it.
    pub(super) fn config(&self) -> [u8; CONFIG] {
        let mut config = [0; CONFIG];
        let mut put = |at: usize, bytes: &[u8]| config[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &(self.bytes / BLOCK_BYTES).to_le_bytes());
        put(8, &SEGMENT.to_le_bytes());
        put(12, &SEGMENTS.to_le_bytes());
        put(20, &(BLOCK_BYTES as u32).to_le_bytes());
        put(24, &[PREFERRED]);
        put(34, &self.queues.to_le_bytes());
        // Of what is given up: sectors, ranges of them, and what they are best aligned to.
        put(36, &GIVEN_UP.to_le_bytes());
        put(40, &1_u32.to_le_bytes());
        put(44, &(1_u32 << PREFERRED).to_le_bytes());
        // Of zeros: sectors, ranges of them, and whether they may be given up for it.
        put(48, &GIVEN_UP.to_le_bytes());
        put(52, &1_u32.to_le_bytes());
        put(56, &[1]);
        config
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_go_through_unless_the_guest_says_that_it_flushes() {
        let disk = VirtualDisk::new("vm", 1 << 30, Use::Writes, 64);
        assert!(disk.writes_through(), "nothing is said");
        disk.agree(disk.features());
        assert!(!disk.writes_through());
        disk.agree(disk.features() & !FLUSH);
        assert!(disk.writes_through());
    }

    #[test]
    fn the_configuration_is_that_of_the_volume() {
        let disk = VirtualDisk::new("a-name-that-is-longer-than-any", 5 * BLOCK_BYTES, Use::Reads, 3);
        let config = disk.config();
        assert_eq!(config[..8], 5_u64.to_le_bytes());
        assert_eq!(config[34..36], 3_u16.to_le_bytes());
        assert_eq!(&disk.short_name(), b"a-name-that-is-longe");
        assert!(disk.features() & READ_ONLY != 0);
        let other = VirtualDisk::new("", 1 << 20, Use::Writes, 10_000);
        assert_eq!((other.queues(), other.features() & READ_ONLY), (MOST_QUEUES, 0));
    }
}
