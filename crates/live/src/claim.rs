//! A file or a device that is opened to be served, so that no other program that asks changes it meanwhile.
//!
//! Block devices that are written are opened with `O_EXCL`, which the kernel refuses where one is mounted, is part of an array or is
//! swapped to. Everything is locked besides (`F_OFD_SETLK`, which belongs to the open file and goes with it): alone where it is
//! written, with others where it is only read.
#![allow(unsafe_code)]

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What was killed lets go of its files when the kernel has ended its commands: so often it is tried again, after such a while.
const TRIES: u32 = 100;
const TRY: Duration = Duration::from_millis(10);

/// What a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// It is read; others may read it as well.
    Reads,
    /// It is read, and its times are looked at: nobody else is to use the device.
    Times,
    /// The process writes to it.
    Writes,
}

/// A file or device that was opened for serving, with what is known of it.
pub(crate) struct Claimed {
    pub(crate) file: OwnedFd,
    /// Whether others are kept out; some file systems have no locks.
    pub(crate) locked: bool,
}

/// Opens a path; `more` besides reading or writing.
///
/// # Errors
/// When it cannot be, or is in use.
pub(crate) fn open(path: &Path, how: Use, more: OFlags) -> io::Result<Claimed> {
    let is_device = is_block_device(path)?;
    if how == Use::Writes && is_device && says(path, "ro") == "1" {
        return Err(io::Error::new(ErrorKind::ReadOnlyFilesystem, "the device is read-only"));
    }
    // What a file system is on changes under who only reads it: he may share it with other readers, but not with that.
    if how == Use::Reads && is_device && (mount_point(path).is_some() || holder(path).is_some()) {
        return Err(busy(path));
    }
    let mut flags = OFlags::CLOEXEC | more | if how == Use::Writes { OFlags::RDWR } else { OFlags::RDONLY };
    if is_device && how != Use::Reads {
        flags |= OFlags::EXCL;
    }
    let mode = Mode::RUSR | Mode::WUSR;
    let file = match patiently(Errno::BUSY, || rustix::fs::open(path, flags, mode)) {
        Err(Errno::BUSY) => return Err(busy(path)),
        opened => opened?,
    };
    match patiently(Errno::AGAIN, || lock(&file, how)) {
        Err(Errno::AGAIN | Errno::ACCESS) => Err(busy(path)),
        locked => Ok(Claimed { file, locked: locked.is_ok() }),
    }
}

/// Whether a path is of a block device; else it is of a file, or of nothing yet. Others have no blocks: a folder would be taken for a
/// file of 8 EiB, and whoever opens a pipe waits for somebody at its other end.
fn is_block_device(path: &Path) -> io::Result<bool> {
    let Ok(about) = path.metadata() else { return Ok(false) };
    let kind = about.file_type();
    if kind.is_block_device() || kind.is_file() {
        return Ok(kind.is_block_device());
    }
    let what = if kind.is_dir() { "it is a folder" } else { "it is neither a file nor a block device" };
    Err(io::Error::new(ErrorKind::InvalidInput, what))
}

/// Tries until it is not this that goes wrong, or for long enough.
fn patiently<T>(wrong: Errno, mut tried: impl FnMut() -> rustix::io::Result<T>) -> rustix::io::Result<T> {
    for _ in 0..TRIES {
        match tried() {
            Err(error) if error == wrong => std::thread::sleep(TRY),
            other => return other,
        }
    }
    tried()
}

/// Locks the whole of a file, until the last descriptor of this opening is gone.
fn lock(file: &OwnedFd, how: Use) -> rustix::io::Result<()> {
    // SAFETY: a lock of zeros is one of no process, from the beginning of the file to wherever it ends.
    let mut whole: libc::flock = unsafe { std::mem::zeroed() };
    whole.l_type = if how == Use::Writes { libc::F_WRLCK } else { libc::F_RDLCK } as libc::c_short;
    whole.l_whence = libc::SEEK_SET as libc::c_short;
    // SAFETY: the descriptor is open, and the lock is there until this returns.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const whole) } {
        0 => Ok(()),
        _ => Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)),
    }
}

fn busy(path: &Path) -> io::Error {
    let what = match (mount_point(path), holder(path)) {
        (Some(place), _) => format!("it is mounted on {place}"),
        (None, Some(holder)) => format!("{holder} is built on it"),
        (None, None) => "another program has it: a server, or what has mounted it or built on it".into(),
    };
    io::Error::new(ErrorKind::ResourceBusy, what)
}

/// Where the kernel tells of a block device.
fn folder(path: &Path) -> Option<PathBuf> {
    let about = std::fs::metadata(path).ok().filter(|about| about.file_type().is_block_device())?;
    let (major, minor) = (rustix::fs::major(about.rdev()), rustix::fs::minor(about.rdev()));
    Some(PathBuf::from(format!("/sys/dev/block/{major}:{minor}")))
}

/// What the kernel tells of a block device in a file of this name; nothing where there is none.
pub(crate) fn says(path: &Path, name: &str) -> String {
    let text = folder(path).and_then(|folder| std::fs::read_to_string(folder.join(name)).ok());
    text.unwrap_or_default().trim().to_owned()
}

/// How many arms a block device has that move by themselves, each in an equal share of it, as far as the kernel tells.
pub(crate) fn arms(path: &Path) -> u16 {
    let ranges = folder(path).and_then(|folder| folder.join("queue/independent_access_ranges").read_dir().ok());
    let number = |file: PathBuf| std::fs::read_to_string(file).ok()?.trim().parse().ok();
    let range = |at: &Path| Some((number(at.join("sector"))?, number(at.join("nr_sectors"))?));
    count_shares(ranges.into_iter().flatten().flatten().filter_map(|entry| range(&entry.path())).collect())
}

/// How many arms a device has of these ranges, each the first sector and how many: as many, where they follow one another from the
/// first sector on and are all as long, or the last of them shorter; else one.
fn count_shares(mut ranges: Vec<(u64, u64)>) -> u16 {
    ranges.sort_unstable();
    let share = ranges.first().map_or(0, |(_, sectors)| *sectors);
    let last = ranges.len().saturating_sub(1);
    let is_share = |(i, (first, sectors)): (usize, &(u64, u64))| {
        *first == i as u64 * share && (*sectors == share || (i == last && (1..share).contains(sectors)))
    };
    let are_shares = share > 0 && ranges.iter().enumerate().all(is_share);
    if are_shares { u16::try_from(ranges.len()).unwrap_or(1) } else { 1 }
}

/// A device that is built on a block device: an array, or a mapped one.
fn holder(path: &Path) -> Option<String> {
    let first = std::fs::read_dir(folder(path)?.join("holders")).ok()?.flatten().next()?;
    Some(first.file_name().to_string_lossy().into_owned())
}

/// Where a block device, or a part of it, is mounted.
pub(crate) fn mount_point(path: &Path) -> Option<String> {
    let about = std::fs::metadata(path).ok().filter(|about| about.file_type().is_block_device())?;
    let number = |device: u64| (rustix::fs::major(device), rustix::fs::minor(device));
    let (major, minor) = number(about.rdev());
    let parts = std::fs::read_dir(format!("/sys/dev/block/{major}:{minor}")).into_iter().flatten().flatten();
    let parts = parts.filter_map(|part| std::fs::read_to_string(part.path().join("dev")).ok());
    let devices: Vec<String> = parts.chain([format!("{major}:{minor}")]).map(|part| part.trim().to_owned()).collect();
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    mounts.lines().find_map(|line| {
        let mut words = line.split(' ').skip(2);
        let (device, place) = (words.next()?, words.nth(1)?);
        devices.iter().any(|mine| mine == device).then(|| place.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arms_are_as_many_as_equal_shares_follow_one_another() {
        for (ranges, arms) in [
            (vec![], 1),
            (vec![(0, 1000)], 1),
            (vec![(1000, 1000), (0, 1000)], 2),
            (vec![(0, 1000), (1000, 998)], 2),
            (vec![(0, 998), (998, 1000)], 1),
            (vec![(0, 1000), (1000, 1000), (2000, 1000)], 3),
            (vec![(0, 1000), (1200, 1000)], 1),
            (vec![(200, 1000), (1200, 1000)], 1),
            (vec![(0, 0), (0, 0)], 1),
        ] {
            assert_eq!(count_shares(ranges.clone()), arms, "{ranges:?}");
        }
    }

    #[test]
    fn who_writes_is_alone_and_readers_are_together() {
        let path = std::env::temp_dir().join(format!("halfturn-claim-{}", std::process::id()));
        std::fs::write(&path, "a disk").expect("a file");
        let of = |how| open(&path, how, OFlags::empty());
        let is_busy = |how| of(how).err().is_some_and(|error| error.kind() == ErrorKind::ResourceBusy);
        let writer = of(Use::Writes).expect("a file");
        assert!(writer.locked && is_busy(Use::Writes) && is_busy(Use::Reads) && is_busy(Use::Times));
        // A share of the same opening keeps it.
        let share = writer.file.try_clone().expect("a descriptor");
        drop(writer);
        assert!(is_busy(Use::Reads));
        drop(share);
        let readers = [of(Use::Reads).expect("a file"), of(Use::Times).expect("a file")];
        assert!(is_busy(Use::Writes));
        drop(readers);
        assert!(of(Use::Writes).is_ok());
        std::fs::remove_file(&path).expect("its file");
    }

    #[test]
    fn what_has_no_blocks_is_opened_by_nobody() {
        for (path, why) in [(".", "a folder"), ("/dev/zero", "neither")] {
            for how in [Use::Reads, Use::Times, Use::Writes] {
                let told = open(Path::new(path), how, OFlags::empty()).err().map(|error| error.to_string());
                assert!(told.is_some_and(|told| told.contains(why)), "{path}, {how:?}");
            }
        }
    }
}
