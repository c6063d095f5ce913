//! The contents of an emulated drive in a sparse file: as large as the drive, of which only what was written takes room.
//!
//! It is read and written through the page cache, while the engine waits: what is not there costs the host's time, which shows in
//! its lateness.

use crate::claim::{self, Claimed, Use};
use crate::memory::Slice;
use crate::store::Contents;
use crate::unit::{alike, allocate, punch};
use block::errno::EIO;
use block::{BLOCK_BYTES, Extent};
use rustix::fs::{FileType, OFlags};
use rustix::io::{pread, pwrite};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

/// Bytes that are moved at once.
const PIECE: usize = 64 << 10;

/// Contents in a file.
pub struct Sparse {
    file: OwnedFd,
    piece: Box<[u8]>,
    /// Whether holes can be made of what was written.
    makes_holes: bool,
}

impl Sparse {
    /// Opens a file, which is made if there is none, for so many blocks. One that is there is of such a drive if it is as long.
    ///
    /// # Errors
    /// When it cannot be, is in use, or is of something else.
    pub fn open(path: &Path, blocks: u64) -> io::Result<Sparse> {
        let Claimed { file, .. } = claim::open(path, Use::Writes, OFlags::CREATE)?;
        let (about, bytes) = (rustix::fs::fstat(&file)?, blocks * BLOCK_BYTES);
        let unlike = |what| Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        if FileType::from_raw_mode(about.st_mode) != FileType::RegularFile {
            return unlike("it is no ordinary file".into());
        }
        match about.st_size as u64 {
            0 => rustix::fs::ftruncate(&file, bytes)?,
            there if there != bytes => {
                return unlike(format!("it holds something else, of {there} bytes where the drive has {bytes}"));
            }
            _ => {}
        }
        // A hole behind its end makes no difference.
        let makes_holes = punch(&file, Extent::new(blocks.next_multiple_of(PIECE as u64 / BLOCK_BYTES), 1)).is_ok();
        Ok(Sparse { file, piece: vec![0; PIECE].into(), makes_holes })
    }
}

/// Moves all bytes of an extent, a piece at a time: `some` moves bytes from one of the slice on, at a place of the file.
fn each(at: Extent, mut some: impl FnMut(usize, usize, u64) -> rustix::io::Result<usize>) -> Result<(), i32> {
    let (mut done, bytes) = (0, at.bytes() as usize);
    while done < bytes {
        match some(done, PIECE.min(bytes - done), at.start.0 * BLOCK_BYTES + done as u64) {
            Ok(0) => return Err(EIO),
            Ok(count) => done += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.raw_os_error()),
        }
    }
    Ok(())
}

impl Contents for Sparse {
    fn read(&mut self, at: Extent, into: &Slice) -> Result<(), i32> {
        let Sparse { file, piece, .. } = self;
        each(at, |from, bytes, place| {
            let count = pread(&*file, &mut piece[..bytes], place)?;
            into.buffer.put(into.from + from, &piece[..count]);
            Ok(count)
        })
    }

    fn write(&mut self, at: Extent, from: &Slice) -> Result<(), i32> {
        let Sparse { file, piece, .. } = self;
        each(at, |done, bytes, place| {
            from.buffer.get(from.from + done, &mut piece[..bytes]);
            pwrite(&*file, &piece[..bytes], place)
        })
    }

    fn reserve(&mut self, at: Extent) -> Result<(), i32> {
        allocate(&self.file, at).map_err(|error| error.raw_os_error())
    }

    fn clear(&mut self, at: Extent) {
        // It is no more than a hint: where holes cannot be made, nothing is lost.
        let _ = punch(&self.file, at);
    }

    fn can_empty(&self) -> bool {
        self.makes_holes
    }

    fn empty(&mut self, at: Extent) -> Result<(), i32> {
        punch(&self.file, at).map_err(|error| error.raw_os_error())
    }

    fn alike(&self, at: Extent) -> (u64, bool) {
        alike(&self.file, at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(sparse: &mut Sparse, at: Extent) -> Vec<u8> {
        let into = Slice::holding(&vec![0xEE; at.bytes() as usize]);
        sparse.read(at, &into).expect("it is read");
        into.to_vec()
    }

    #[test]
    fn what_was_written_is_there_when_it_is_opened_again() {
        let path = std::env::temp_dir().join(format!("halfturn-sparse-{}", std::process::id()));
        let at = Extent::new((1 << 30) - 3, 300);
        let bytes: Vec<u8> = (0..at.bytes()).map(|n| (n % 251) as u8).collect();
        let mut sparse = Sparse::open(&path, 1 << 31).expect("a file");
        assert_eq!(read(&mut sparse, at), vec![0; bytes.len()]);
        assert_eq!(sparse.write(at, &Slice::holding(&bytes)), Ok(()));
        drop(sparse);
        let mut sparse = Sparse::open(&path, 1 << 31).expect("a file");
        assert_eq!(read(&mut sparse, at), bytes);
        assert_eq!(sparse.alike(Extent::new(0, 8)), (8, false));
        assert!(std::os::unix::fs::MetadataExt::blocks(&path.metadata().expect("it is there")) < 10_000);
        drop(sparse);
        assert!(Sparse::open(&path, 1 << 30).is_err(), "a shorter drive");
        assert!(Sparse::open(&path, 1 << 32).is_err(), "a longer drive");
        assert_eq!(path.metadata().expect("it is there").len(), 1 << 40, "it is as it was");
        std::fs::remove_file(&path).expect("its file");
    }
}
