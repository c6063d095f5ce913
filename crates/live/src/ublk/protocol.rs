//! What is said between a ublk server and the driver: `linux/ublk_cmd.h` of Linux 6.12. Sectors are of 512 bytes; all numbers are in the
//! byte order of the machine.

use block::BLOCK_BYTES;
use block::errno::{EIO, EOPNOTSUPP};
use nbd::{ClientRequest, CommandFlags, RequestType};

/// Which way a structure goes: from the driver, or to it and back.
const FROM: u32 = 2;
const BOTH: u32 = 3;

/// A number of an `ioctl`: which way its structure goes, how long that is, and which command of the driver it is.
const fn code(way: u32, bytes: u32, number: u32) -> u32 {
    way << 30 | bytes << 16 | (b'u' as u32) << 8 | number
}

/// Commands that `/dev/ublk-control` takes for a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Control {
    Describe,
    Add,
    Delete,
    Start,
    Stop,
    SetParameters,
    Parameters,
    StartRecovery,
    EndRecovery,
    Features,
}

impl Control {
    /// The number of the command.
    pub(super) fn code(self) -> u32 {
        let (way, number) = match self {
            Control::Describe => (FROM, 0x02),
            Control::Add => (BOTH, 0x04),
            Control::Delete => (BOTH, 0x05),
            Control::Start => (BOTH, 0x06),
            Control::Stop => (BOTH, 0x07),
            Control::SetParameters => (BOTH, 0x08),
            Control::Parameters => (FROM, 0x09),
            Control::StartRecovery => (BOTH, 0x10),
            Control::EndRecovery => (BOTH, 0x11),
            Control::Features => (FROM, 0x13),
        };
        code(way, COMMAND as u32, number)
    }
}

/// Bytes of `struct ublksrv_ctrl_cmd`, and where in it the address of the structure is that goes with it.
pub(super) const COMMAND: usize = 32;
pub(super) const ADDRESS: std::ops::Range<usize> = 8..16;

/// A command for a device, with a structure of so many bytes and a number.
pub(super) fn command(device: u32, bytes: usize, number: u64) -> [u8; COMMAND] {
    let mut command = [0; COMMAND];
    command[..4].copy_from_slice(&device.to_ne_bytes());
    // It is for no queue.
    command[4..6].copy_from_slice(&u16::MAX.to_ne_bytes());
    command[6..8].copy_from_slice(&(bytes as u16).to_ne_bytes());
    command[16..24].copy_from_slice(&number.to_ne_bytes());
    command
}

/// What a driver can do, and a device is to do.
pub(super) const USER_RECOVERY: u64 = 1 << 3;
pub(super) const REISSUE: u64 = 1 << 4;
const IOCTL_ENCODE: u64 = 1 << 6;
const USER_COPY: u64 = 1 << 7;
pub(super) const NEEDED: u64 = USER_RECOVERY | REISSUE | IOCTL_ENCODE | USER_COPY;
pub(super) const FEATURES_BYTES: usize = 8;

/// How a device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeviceState {
    /// It was not started, or has been stopped.
    Dead,
    /// Somebody serves it, or was killed just now.
    Live,
    /// Whoever served it is gone.
    Quiesced,
    Unknown(u16),
}

/// What the driver tells of a device: `struct ublksrv_ctrl_dev_info`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DeviceInfo {
    pub(super) queues: u16,
    pub(super) depth: u16,
    pub(super) state: DeviceState,
    pub(super) longest: u32,
    pub(super) device: u32,
    pub(super) process: i32,
    pub(super) flags: u64,
    /// What the driver keeps for the server, and does not look at.
    pub(super) mark: u64,
}

impl DeviceInfo {
    pub(super) const BYTES: usize = 64;

    pub(super) fn bytes(&self) -> [u8; DeviceInfo::BYTES] {
        let state = match self.state {
            DeviceState::Dead => 0,
            DeviceState::Live => 1,
            DeviceState::Quiesced => 2,
            DeviceState::Unknown(state) => state,
        };
        let mut bytes = [0; DeviceInfo::BYTES];
        let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
        put(0, &self.queues.to_ne_bytes());
        put(2, &self.depth.to_ne_bytes());
        put(4, &u16::to_ne_bytes(state));
        put(8, &self.longest.to_ne_bytes());
        put(12, &self.device.to_ne_bytes());
        put(16, &self.process.to_ne_bytes());
        put(24, &self.flags.to_ne_bytes());
        put(32, &self.mark.to_ne_bytes());
        bytes
    }

    pub(super) fn parse(bytes: &[u8; DeviceInfo::BYTES]) -> DeviceInfo {
        let state = match half(bytes, 4) {
            0 => DeviceState::Dead,
            1 => DeviceState::Live,
            2 => DeviceState::Quiesced,
            state => DeviceState::Unknown(state),
        };
        DeviceInfo {
            queues: half(bytes, 0),
            depth: half(bytes, 2),
            state,
            longest: word(bytes, 8),
            device: word(bytes, 12),
            process: word(bytes, 16) as i32,
            flags: long(bytes, 24),
            mark: long(bytes, 32),
        }
    }
}

/// What a volume is as a block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DiskShape {
    pub(super) sectors: u64,
    pub(super) read_only: bool,
    pub(super) rotational: bool,
}

/// Bytes that a read or write moves at most, so that others step between: what is longer, the kernel cuts.
pub(super) const LONGEST: u32 = 4 << 20;
const _: () = assert!(LONGEST as u64 <= load::experiment::LONGEST);
/// Sectors that are given up at once: 4 GiB of them.
const GIVEN_UP: u32 = 8 << 20;
/// Blocks of 512 bytes, of which eight are best moved at a time: as exponents of two.
const BLOCK: u8 = 9;
const PREFERRED: u8 = 12;
/// Kinds of parameters: what any device has, and of what is given up.
const BASIC: u32 = 1;
const DISCARD: u32 = 2;
/// What a device is, in its basic parameters.
const READ_ONLY: u32 = 1;
const ROTATIONAL: u32 = 2;
const VOLATILE_CACHE: u32 = 4;
const FUA: u32 = 8;

impl DiskShape {
    pub(super) const BYTES: usize = 64;

    /// As the driver is told of it: `struct ublk_params`.
    pub(super) fn bytes(&self) -> [u8; DiskShape::BYTES] {
        let of = |is: bool, bit: u32| if is { bit } else { 0 };
        let what = VOLATILE_CACHE | FUA | of(self.read_only, READ_ONLY) | of(self.rotational, ROTATIONAL);
        let mut bytes = [0; DiskShape::BYTES];
        let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
        put(0, &(DiskShape::BYTES as u32).to_ne_bytes());
        put(4, &(BASIC | DISCARD).to_ne_bytes());
        put(8, &what.to_ne_bytes());
        put(12, &[BLOCK, PREFERRED, PREFERRED, PREFERRED]);
        put(16, &(LONGEST / BLOCK_BYTES as u32).to_ne_bytes());
        put(24, &self.sectors.to_ne_bytes());
        // Of what is given up: what it is best aligned to, sectors at most, of zeros, too; ranges at once.
        put(44, &(1_u32 << PREFERRED).to_ne_bytes());
        put(48, &GIVEN_UP.to_ne_bytes());
        put(52, &GIVEN_UP.to_ne_bytes());
        put(56, &1_u16.to_ne_bytes());
        bytes
    }

    /// What a device was made as.
    pub(super) fn parse(bytes: &[u8; DiskShape::BYTES]) -> DiskShape {
        let is = |bit: u32| word(bytes, 8) & bit != 0;
        DiskShape { sectors: long(bytes, 24), read_only: is(READ_ONLY), rotational: is(ROTATIONAL) }
    }
}

/// A command of a queue: it waits for a request; or answers one, and waits for the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueueCommand {
    Fetch,
    /// By bytes that were moved, or an error as a negative number.
    Commit(i32),
}

impl QueueCommand {
    /// The number of the command, and `struct ublksrv_io_cmd`.
    pub(super) fn encode(self, queue: u16, tag: u16) -> (u32, [u8; 16]) {
        let (number, result) = match self {
            QueueCommand::Fetch => (0x20, 0),
            QueueCommand::Commit(result) => (0x21, result),
        };
        let mut bytes = [0; 16];
        bytes[..2].copy_from_slice(&queue.to_ne_bytes());
        bytes[2..4].copy_from_slice(&tag.to_ne_bytes());
        bytes[4..8].copy_from_slice(&result.to_ne_bytes());
        (code(BOTH, bytes.len() as u32, number), bytes)
    }
}

/// Bytes of `struct ublksrv_io_desc`, and of the longest queue of them.
pub(super) const DESCRIPTOR: usize = 24;
const LONGEST_QUEUE: usize = 4096 * DESCRIPTOR;
/// Where the bytes of requests begin in the file of a device: each tag has 32 MiB of them.
const DATA: u64 = 0x8000_0000;
const TAG_SHIFT: u32 = 25;
const QUEUE_SHIFT: u32 = TAG_SHIFT + 16;

/// Where the descriptors of a queue are in the file of its device, on a machine with pages of so many bytes.
pub(super) fn descriptors_at(queue: u16, page: usize) -> u64 {
    u64::from(queue) * LONGEST_QUEUE.next_multiple_of(page) as u64
}

/// Where the bytes of a request are there.
pub(super) fn data_at(queue: u16, tag: u16) -> u64 {
    DATA + (u64::from(queue) << QUEUE_SHIFT) + (u64::from(tag) << TAG_SHIFT)
}

/// What the descriptor of a request asks of a disk; or the error it ends with.
pub(super) fn ask(descriptor: &[u8; DESCRIPTOR], tag: u16, disk: &DiskShape) -> Result<ClientRequest, i32> {
    const READ: u32 = 0;
    const WRITE: u32 = 1;
    const FLUSH: u32 = 2;
    const GIVE_UP: u32 = 3;
    const WRITE_ZEROES: u32 = 5;
    const FORCED: u32 = 1 << 13;
    const KEPT: u32 = 1 << 15;
    let (what, count, first) = (word(descriptor, 0), word(descriptor, 4), long(descriptor, 8));
    let through = if what & FORCED != 0 { CommandFlags::FUA } else { CommandFlags::default() };
    let (command, flags) = match what & 0xff {
        READ => (RequestType::Read, CommandFlags::default()),
        WRITE => (RequestType::Write, through),
        FLUSH => (RequestType::Flush, CommandFlags::default()),
        GIVE_UP => (RequestType::Trim, through),
        WRITE_ZEROES if what & KEPT != 0 => (RequestType::WriteZeroes, through.with(CommandFlags::NO_HOLE)),
        WRITE_ZEROES => (RequestType::WriteZeroes, through),
        _ => return Err(EOPNOTSUPP),
    };
    if command == RequestType::Flush {
        return Ok(ClientRequest { command, flags, cookie: tag.into(), offset: 0, length: 0 });
    }
    let inside = first.checked_add(count.into()).is_some_and(|end| end <= disk.sectors) && count > 0;
    if !inside || (disk.read_only && command.writes()) {
        return Err(EIO);
    }
    let (offset, length) = (first * BLOCK_BYTES, u64::from(count) * BLOCK_BYTES);
    Ok(ClientRequest { command, flags, cookie: tag.into(), offset, length })
}

fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn long(bytes: &[u8], at: usize) -> u64 {
    let mut eight = [0; 8];
    eight.copy_from_slice(&bytes[at..at + 8]);
    u64::from_ne_bytes(eight)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A descriptor as the driver writes it.
    fn descriptor(what: u32, count: u32, first: u64) -> [u8; DESCRIPTOR] {
        let mut bytes = [0; DESCRIPTOR];
        bytes[..4].copy_from_slice(&what.to_ne_bytes());
        bytes[4..8].copy_from_slice(&count.to_ne_bytes());
        bytes[8..16].copy_from_slice(&first.to_ne_bytes());
        bytes
    }

    const DISK: DiskShape = DiskShape { sectors: 1000, read_only: false, rotational: true };

    /// As the macros of `linux/ublk_cmd.h` give them on x86 and ARM.
    #[test]
    fn commands_have_the_numbers_of_the_header() {
        assert_eq!([Control::Add, Control::Describe].map(Control::code), [0xC020_7504, 0x8020_7502]);
        assert_eq!(Control::Features.code(), 0x8020_7513);
        let (number, bytes) = QueueCommand::Fetch.encode(3, 0x102);
        assert_eq!((number, bytes[..2].to_vec(), bytes[4..].to_vec()), (0xC010_7520, vec![3, 0], vec![0; 12]));
        let (number, bytes) = QueueCommand::Commit(-5).encode(0, 7);
        assert_eq!((number, half(&bytes, 2), word(&bytes, 4) as i32), (0xC010_7521, 7, -5));
        assert_eq!([4096, 65_536].map(|page| descriptors_at(2, page)), [2 * 98_304, 2 * 131_072]);
        assert_eq!(data_at(0, 1), 0x8200_0000);
        assert_eq!(data_at(1, 0) - data_at(0, 0), 1 << 41);
    }

    #[test]
    fn what_is_told_of_a_device_is_had_again() {
        let info = DeviceInfo {
            queues: 3,
            depth: 128,
            state: DeviceState::Quiesced,
            longest: LONGEST,
            device: 70_000,
            process: 12_345,
            flags: NEEDED,
            mark: 0x0123_4567_89AB_CDEF,
        };
        let bytes = info.bytes();
        assert_eq!(DeviceInfo::parse(&bytes), info);
        assert_eq!([0, 2, 4].map(|at| half(&bytes, at)), [3, 128, 2]);
        assert_eq!([8, 12, 16].map(|at| word(&bytes, at)), [LONGEST, 70_000, 12_345]);
        assert_eq!([24, 32].map(|at| long(&bytes, at)), [NEEDED, info.mark]);
        for read_only in [false, true] {
            let shape = DiskShape { read_only, ..DISK };
            assert_eq!(DiskShape::parse(&shape.bytes()), shape);
        }
        let bytes = DISK.bytes();
        assert_eq!([0, 4, 8, 16].map(|at| word(&bytes, at)), [64, 3, 14, 8192]);
        assert_eq!((&bytes[12..16], long(&bytes, 24)), (&[9, 12, 12, 12][..], 1000));
        assert_eq!([44, 48, 52].map(|at| word(&bytes, at)), [4096, 8 << 20, 8 << 20]);
        assert_eq!(half(&bytes, 56), 1);
    }

    #[test]
    fn a_descriptor_asks_for_bytes_of_the_disk_and_for_nothing_beyond() {
        let flags = CommandFlags::default();
        let request =
            |command, flags, (offset, length)| Ok(ClientRequest { command, flags, cookie: 9, offset, length });
        for (what, count, first, asked) in [
            (0, 8, 992, request(RequestType::Read, flags, (992 * 512, 4096))),
            (0, 9, 992, Err(EIO)),
            (0, 0, 5, Err(EIO)),
            (0, 1, u64::MAX, Err(EIO)),
            (1, 1, 0, request(RequestType::Write, flags, (0, 512))),
            (1 | 1 << 13, 1, 0, request(RequestType::Write, CommandFlags::FUA, (0, 512))),
            (2 | 1 << 13, 0, 5000, request(RequestType::Flush, flags, (0, 0))),
            (3, 1000, 0, request(RequestType::Trim, flags, (0, 512_000))),
            (4, 1, 0, Err(EOPNOTSUPP)),
            (5, 2, 1, request(RequestType::WriteZeroes, flags, (512, 1024))),
            (5 | 1 << 15, 2, 1, request(RequestType::WriteZeroes, CommandFlags::NO_HOLE, (512, 1024))),
            (5 | 1 << 15, 1000, 1, Err(EIO)),
            (13, 1, 0, Err(EOPNOTSUPP)),
        ] {
            assert_eq!(ask(&descriptor(what, count, first), 9, &DISK), asked, "{what:x} {count} {first}");
        }
        let read_only = DiskShape { read_only: true, ..DISK };
        let may = [0, 1, 2, 3, 5].map(|what| ask(&descriptor(what, 1, 0), 0, &read_only).is_ok());
        assert_eq!(may, [true, false, true, false, false]);
    }
}
