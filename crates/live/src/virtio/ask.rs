//! What a descriptor chain asks for: virtio 1.2, sections 2.7 (split queues) and 5.2.6 (requests of a disk).
//!
//! All of it was written by a guest, which may write anything: what is checked here is used without another look.

use super::disk::VirtualDisk;
use crate::memory::Slice;
use block::{BLOCK_BYTES, Direction};
use load::experiment::LONGEST;
use nbd::{ClientRequest, CommandFlags, RequestType};
use virtio_queue::desc::split::Descriptor;
use vm_memory::{Address, Bytes, GuestAddress, GuestMemory, GuestMemoryMmap, Permissions, VolatileSlice};

/// The most pieces of memory that a request may consist of.
const MOST_PIECES: usize = 1024;
/// What a request begins with: its type (32 bits), 32 bits that count for nothing, its first sector (64 bits).
const HEADER: usize = 16;
/// What a discard is told by: the first sector (64 bits), how many (32 bits), flags (32 bits).
const RANGE: usize = 16;
/// A descriptor in memory, in bytes.
const DESCRIPTOR: u64 = 16;

/// Types of requests, as the standard numbers them.
const IN: u32 = 0;
const OUT: u32 = 1;
const FLUSH: u32 = 4;
const GET_ID: u32 = 8;
const DISCARD: u32 = 11;
const WRITE_ZEROES: u32 = 13;
/// The flag of a range that may be unmapped.
const UNMAP: u32 = 1;

/// Bytes of a name.
pub(super) const NAME: usize = 20;

/// What becomes of a request: the status that it ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Status {
    Ok = 0,
    IoError = 1,
    Unsupported = 2,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GuestRequest {
    /// Something of the volume.
    Request(ClientRequest),
    /// The name of the disk.
    Name,
    /// What is not done: it is answered so.
    Nothing(Status),
}

/// Why a queue cannot be served any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Nonsense(pub(super) &'static str);

/// GuestPieces of a guest's memory, one after another.
#[derive(Debug, Default)]
pub(super) struct GuestPieces {
    pieces: Vec<(GuestAddress, usize)>,
    bytes: usize,
}

impl GuestPieces {
    fn clear(&mut self) {
        self.pieces.clear();
        self.bytes = 0;
    }

    fn push(&mut self, at: GuestAddress, bytes: usize) {
        self.pieces.push((at, bytes));
        self.bytes += bytes;
    }

    /// The parts of the pieces that so many bytes from one on lie in.
    fn part(&self, from: usize, bytes: usize) -> impl Iterator<Item = (GuestAddress, usize)> {
        let (mut skip, mut left) = (from, bytes);
        self.pieces.iter().filter_map(move |(at, length)| {
            let skipped = skip.min(*length);
            skip -= skipped;
            let count = (length - skipped).min(left);
            left -= count;
            (count > 0).then(|| (at.unchecked_add(skipped as u64), count))
        })
    }

    /// Copies bytes out of it, from one on; whether they are there.
    fn read(&self, memory: &GuestMemoryMmap, from: usize, bytes: &mut [u8]) -> bool {
        let mut done = 0;
        let all = from.checked_add(bytes.len()).is_some_and(|end| end <= self.bytes);
        all && self.part(from, bytes.len()).all(|(at, count)| {
            done += count;
            memory.read_slice(&mut bytes[done - count..done], at).is_ok()
        })
    }

    /// Copies bytes into it, from one on; whether there is room.
    fn write(&self, memory: &GuestMemoryMmap, from: usize, bytes: &[u8]) -> bool {
        let mut done = 0;
        let all = from.checked_add(bytes.len()).is_some_and(|end| end <= self.bytes);
        all && self.part(from, bytes.len()).all(|(at, count)| {
            done += count;
            memory.write_slice(&bytes[done - count..done], at).is_ok()
        })
    }

    /// Copies between its bytes from one on and ours, as many as there are of ours; whether all of them are there.
    fn copy(
        &self,
        memory: &GuestMemoryMmap,
        from: usize,
        ours: &Slice,
        way: impl Fn(VolatileSlice, VolatileSlice),
    ) -> bool {
        let (mut done, whole) = (0, ours.volatile());
        if from.checked_add(ours.bytes).is_none_or(|end| end > self.bytes) {
            return false;
        }
        for (at, count) in self.part(from, ours.bytes) {
            let Ok(parts) = memory.get_slices(at, count, Permissions::ReadWrite) else { return false };
            for theirs in parts {
                let Ok(theirs) = theirs else { return false };
                let Ok(mine) = whole.subslice(done, theirs.len()) else { return false };
                done += theirs.len();
                way(theirs, mine);
            }
        }
        done == ours.bytes
    }
}

/// The memory of a request: what the device reads, and what it writes.
#[derive(Debug, Default)]
pub(super) struct Chain {
    readable: GuestPieces,
    writable: GuestPieces,
}

impl Chain {
    /// Follows the descriptors of a queue's table from this one on.
    pub(super) fn follow(
        &mut self,
        memory: &GuestMemoryMmap,
        (table, size): (GuestAddress, u16),
        head: u16,
    ) -> Result<(), Nonsense> {
        self.readable.clear();
        self.writable.clear();
        let (mut table, mut size, mut index, mut indirect) = (table, u32::from(size), head, false);
        for _ in 0..=MOST_PIECES {
            if u32::from(index) >= size {
                return Err(Nonsense("a descriptor outside its table"));
            }
            let place = table.checked_add(u64::from(index) * DESCRIPTOR);
            let read = place.and_then(|place| memory.read_obj::<Descriptor>(place).ok());
            let Some(it) = read else { return Err(Nonsense("a table outside the memory")) };
            if it.refers_to_indirect_table() {
                if indirect || it.has_next() || it.len() == 0 || !u64::from(it.len()).is_multiple_of(DESCRIPTOR) {
                    return Err(Nonsense("an indirect table that is none"));
                }
                (table, size, index, indirect) = (it.addr(), it.len() / DESCRIPTOR as u32, 0, true);
                continue;
            }
            self.take(memory, &it)?;
            if !it.has_next() {
                return if self.writable.bytes > 0 { Ok(()) } else { Err(Nonsense("a request without a status")) };
            }
            index = it.next();
        }
        Err(Nonsense("a chain too long, or without an end"))
    }

    fn take(&mut self, memory: &GuestMemoryMmap, it: &Descriptor) -> Result<(), Nonsense> {
        let bytes = it.len() as usize;
        let (pieces, access) = match it.is_write_only() {
            true => (&mut self.writable, Permissions::Write),
            false if self.writable.bytes > 0 => return Err(Nonsense("what is read behind what is written")),
            false => (&mut self.readable, Permissions::Read),
        };
        if !memory.check_range(it.addr(), bytes, access) {
            return Err(Nonsense("a descriptor outside the memory"));
        }
        if bytes > 0 {
            pieces.push(it.addr(), bytes);
        }
        Ok(())
    }

    /// What the chain from this descriptor on asks of a disk.
    pub(super) fn ask(
        &self,
        memory: &GuestMemoryMmap,
        head: u16,
        disk: &VirtualDisk,
    ) -> Result<GuestRequest, Nonsense> {
        let mut header = [0; HEADER];
        if !self.readable.read(memory, 0, &mut header) {
            return Err(Nonsense("a request without a header"));
        }
        let sector = number(&header[8..]);
        let request = |command, flags, (offset, length): (u64, u64)| {
            GuestRequest::Request(ClientRequest { command, flags, cookie: head.into(), offset, length })
        };
        let through = if disk.writes_through() { CommandFlags::FUA } else { CommandFlags::default() };
        let (given, taken) = (self.readable.bytes - HEADER, self.writable.bytes - 1);
        let refused = GuestRequest::Nothing(Status::IoError);
        Ok(match number(&header[..4]) as u32 {
            IN => match extent(sector, taken, disk) {
                Some(extent) => request(RequestType::Read, CommandFlags::default(), extent),
                None => refused,
            },
            OUT if disk.read_only => refused,
            OUT => match extent(sector, given, disk) {
                Some(extent) => request(RequestType::Write, through, extent),
                None => refused,
            },
            FLUSH => request(RequestType::Flush, CommandFlags::default(), (0, 0)),
            GET_ID if taken >= NAME => GuestRequest::Name,
            GET_ID => refused,
            DISCARD | WRITE_ZEROES if disk.read_only => refused,
            kind @ (DISCARD | WRITE_ZEROES) => match self.range(memory, disk) {
                Err(status) => GuestRequest::Nothing(status),
                Ok((extent, 0)) if kind == DISCARD => request(RequestType::Trim, CommandFlags::default(), extent),
                Ok((extent, 0)) => request(RequestType::WriteZeroes, through.with(CommandFlags::NO_HOLE), extent),
                Ok((extent, UNMAP)) if kind == WRITE_ZEROES => request(RequestType::WriteZeroes, through, extent),
                Ok(_) => GuestRequest::Nothing(Status::Unsupported),
            },
            _ => GuestRequest::Nothing(Status::Unsupported),
        })
    }

    /// The one range that a discard may have, in bytes, and its flags.
    fn range(&self, memory: &GuestMemoryMmap, disk: &VirtualDisk) -> Result<((u64, u64), u32), Status> {
        let mut range = [0; RANGE];
        if self.readable.bytes != HEADER + RANGE || !self.readable.read(memory, HEADER, &mut range) {
            return Err(Status::Unsupported);
        }
        let (sector, count) = (number(&range[..8]), number(&range[8..12]));
        let extent = inside(sector, count, disk).ok_or(Status::IoError)?;
        Ok((extent, number(&range[12..]) as u32))
    }

    /// Copies what is to be written into memory of ours; whether it is there.
    pub(super) fn payload(&self, memory: &GuestMemoryMmap, into: &Slice) -> bool {
        self.readable.copy(memory, HEADER, into, |theirs, mine| theirs.copy_to_volatile_slice(mine))
    }

    /// Copies what was read from memory of ours; whether it went there.
    pub(super) fn give(&self, memory: &GuestMemoryMmap, from: &Slice) -> bool {
        self.writable.copy(memory, 0, from, |theirs, mine| mine.copy_to_volatile_slice(theirs))
    }

    /// Tells the name of the disk.
    pub(super) fn give_name(&self, memory: &GuestMemoryMmap, name: &[u8; NAME]) -> bool {
        self.writable.write(memory, 0, name)
    }

    /// Says what became of it.
    pub(super) fn give_status(&self, memory: &GuestMemoryMmap, status: Status) {
        // Memory that was taken away meanwhile is nobody's to tell.
        self.writable.write(memory, self.writable.bytes - 1, &[status as u8]);
    }

    /// Bytes that the device has written: all of a read that was done, and of anything else the status.
    pub(super) fn count_written(&self, status: Status, direction: Direction) -> u32 {
        match (direction, status) {
            (Direction::Read, Status::Ok) => u32::try_from(self.writable.bytes).unwrap_or(u32::MAX),
            _ => 1,
        }
    }
}

/// The bytes of a disk that a transfer of so many from a sector on concerns, where it may be done at once.
fn extent(sector: u64, bytes: usize, disk: &VirtualDisk) -> Option<(u64, u64)> {
    let bytes = bytes as u64;
    let whole = bytes.is_multiple_of(BLOCK_BYTES) && bytes <= LONGEST;
    if whole { inside(sector, bytes / BLOCK_BYTES, disk) } else { None }
}

/// The bytes of so many sectors from one on, where there are some and the disk has them.
fn inside(sector: u64, count: u64, disk: &VirtualDisk) -> Option<(u64, u64)> {
    let end = sector.checked_add(count)?;
    (count > 0 && end <= disk.bytes / BLOCK_BYTES).then_some((sector * BLOCK_BYTES, count * BLOCK_BYTES))
}

/// A little-endian number of at most 64 bits.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}
