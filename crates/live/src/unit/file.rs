//! A file or a block device.

use super::{Done, LiveDevice, Stored, Zeroes};
use crate::claim::{self, Claimed, Use};
use crate::kernel::Kernel;
use crate::memory::{AlignedBuffer, PAGE, Slice};
use crate::ring::{RingOp, RingToken};
use crate::threads::carry_out;
use block::errno::{EINVAL, EIO, EOPNOTSUPP};
use block::{BLOCK_BYTES, Caps, Command, Discarded, Extent, Outcome, SeekBy, Tag, Time, Verb};
use rustix::fs::{FallocateFlags, OFlags, SeekFrom};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::rc::Rc;

/// How a file is read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageCache {
    /// Past the kernel's memory of files, where the file lets us.
    Past,
    /// Through that memory, as programs usually do.
    Through,
}

/// A file, read and written past the page cache where that is wanted and it lets us.
pub struct ServedFile {
    file: Rc<OwnedFd>,
    /// The last block need not be whole.
    bytes: u64,
    depth: u16,
    direct: bool,
    locked: bool,
    zeroes: Zeroes,
    /// How an arm under it is moved without a transfer; where that is a read, into memory that nobody looks at.
    seek_by: SeekBy,
    unread: Slice,
    /// Arms that move by themselves, each in an equal share.
    arms: u16,
    /// Whether it is a file: a hole of one takes no time, however long it is.
    is_regular: bool,
    /// Whether it is in memory, so that nothing is gained by having the kernel read or write it while others are served.
    in_memory: bool,
    /// By tag: what is left of the command.
    flying: Vec<Option<FileCommand>>,
    done: VecDeque<Done>,
}

/// What is left of a command: its memory, or as many bytes from one on.
#[derive(Clone)]
struct FileCommand {
    verb: Verb,
    memory: Option<Slice>,
    from: u64,
    bytes: u64,
}

impl ServedFile {
    /// Opens one that is there, which is given so many commands at once.
    ///
    /// # Errors
    /// When it cannot be, is in use, or has no blocks.
    pub fn open(path: &Path, depth: u16, how: Use, cache: PageCache) -> io::Result<ServedFile> {
        let past = cache == PageCache::Past;
        let open = |more| claim::open(path, how, more);
        let first = if past { OFlags::DIRECT } else { OFlags::empty() };
        let Claimed { file, locked } = match open(first) {
            Err(error) if past && error.kind() != ErrorKind::ResourceBusy => open(OFlags::empty())?,
            opened => opened?,
        };
        let flags = rustix::fs::fcntl_getfl(&file)?;
        let bytes = rustix::fs::seek(&file, SeekFrom::End(0))?;
        if bytes == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is empty"));
        }
        // Part of a block can only be written through the page cache.
        let whole = bytes.is_multiple_of(BLOCK_BYTES);
        let direct = whole && flags.contains(OFlags::DIRECT) && takes_blocks(&file);
        if !direct && past {
            rustix::fs::fcntl_setfl(&file, flags - OFlags::DIRECT)?;
        }
        let zeroes = if how == Use::Writes && makes_zeroes(path, &file, bytes) {
            Zeroes { holes: true, kept: true }
        } else {
            Zeroes::default()
        };
        let is_regular = path.metadata().is_ok_and(|about| about.is_file());
        let in_memory = is_regular && lies_in_memory(&file);
        // What comes from the page cache moves no arm, and what does not turn has none.
        let moves = direct && !in_memory && (is_regular || turns(path));
        let seek_by = if moves { SeekBy::Read } else { SeekBy::Nothing };
        Ok(ServedFile {
            locked,
            zeroes,
            is_regular,
            in_memory,
            seek_by,
            arms: claim::arms(path),
            ..ServedFile::over(file, bytes, depth, direct)
        })
    }

    /// One that is open, of so many bytes.
    pub(crate) fn over(file: OwnedFd, bytes: u64, depth: u16, direct: bool) -> ServedFile {
        let flying = vec![None; usize::from(depth)];
        let (file, zeroes, done) = (Rc::new(file), Zeroes::default(), VecDeque::new());
        let (locked, is_regular, in_memory) = (false, false, false);
        let (seek_by, unread) = (SeekBy::Nothing, Slice::new(BLOCK_BYTES as usize));
        let arms = 1;
        ServedFile {
            file,
            bytes,
            depth,
            direct,
            locked,
            zeroes,
            seek_by,
            unread,
            arms,
            is_regular,
            in_memory,
            flying,
            done,
        }
    }

    /// The same, whose arm is moved so without a transfer, as far as that can be.
    #[must_use]
    pub fn seeking(self, by: SeekBy) -> ServedFile {
        let can_read = self.direct && !self.in_memory;
        ServedFile { seek_by: if by == SeekBy::Read && can_read { by } else { SeekBy::Nothing }, ..self }
    }

    /// The same, which makes such zeros.
    #[cfg(test)]
    pub(crate) fn making(self, zeroes: Zeroes) -> ServedFile {
        ServedFile { zeroes, ..self }
    }

    /// What of some memory lies inside the file from a byte on. What is read behind its end is zeros, and what is written there
    /// goes nowhere.
    fn inside(&self, verb: Verb, memory: Slice, from: u64) -> Slice {
        let over = (from + memory.bytes as u64).saturating_sub(self.bytes).min(memory.bytes as u64) as usize;
        let bytes = memory.bytes - over;
        if verb == Verb::Read {
            memory.buffer.clear(memory.from + bytes, over);
        }
        Slice { bytes, ..memory }
    }

    /// Whether others are kept out as long as it is open.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        self.locked
    }

    /// Whether it is read and written past the page cache.
    #[must_use]
    pub fn is_direct(&self) -> bool {
        self.direct
    }

    fn push(&mut self, tag: Tag, kernel: &mut dyn Kernel) -> io::Result<()> {
        let Some(FileCommand { verb, memory, from, bytes }) = &self.flying[tag.0 as usize] else { return Ok(()) };
        let op = match (verb, memory) {
            (Verb::Read | Verb::Seek, Some(slice)) => RingOp::Read(slice.clone(), *from),
            (Verb::Write { fua }, Some(slice)) => RingOp::Write(slice.clone(), *from, *fua),
            (Verb::Discard(what), _) => RingOp::Discard(*from, *bytes, *what),
            _ => RingOp::Sync,
        };
        if self.in_memory && matches!(op, RingOp::Read(..) | RingOp::Write(..)) {
            let moved = carry_out(&self.file, &op);
            return self.on_completion(kernel.now(), tag, moved, kernel);
        }
        kernel.push(&self.file, RingToken::Unit(tag.0), op)
    }
}

/// Whether the file system of a file keeps it in memory: tmpfs or ramfs, by the numbers of `statfs(2)`.
fn lies_in_memory(file: &OwnedFd) -> bool {
    const TMPFS: u32 = 0x0102_1994;
    const RAMFS: u32 = 0x8584_58F6;
    rustix::fs::fstatfs(file).is_ok_and(|about| [TMPFS, RAMFS].contains(&(about.f_type as u32)))
}

impl ServedFile {
    /// What a command comes to that failed. What cannot be given up stays, if it was a hint; what cannot be made zeros is not
    /// tried again.
    fn judge_failure(&mut self, verb: Verb, errno: i32) -> Outcome {
        // Kernels before 5.6 know of no such command, and refuse it as any other they do not know.
        let unable = matches!(errno, EOPNOTSUPP | EINVAL);
        match verb {
            Verb::Discard(Discarded::Anything) if unable => return Outcome::Ok,
            Verb::Discard(Discarded::Zeros) if unable => self.zeroes.holes = false,
            Verb::Discard(Discarded::KeptZeros) if unable => self.zeroes.kept = false,
            _ => return Outcome::Failed(errno),
        }
        Outcome::Failed(EOPNOTSUPP)
    }
}

/// Whether zeros can be made of blocks without a transfer: of a file where a hole can be made, of which one behind its end makes
/// no difference; of a device where the kernel says so.
fn makes_zeroes(path: &Path, file: &OwnedFd, bytes: u64) -> bool {
    if path.metadata().is_ok_and(|about| about.file_type().is_block_device()) {
        // A part of a device has its queue beside it.
        let mut says =
            ["queue", "../queue"].map(|folder| claim::says(path, &format!("{folder}/write_zeroes_max_bytes")));
        return says.iter_mut().any(|most| most.parse().is_ok_and(|most: u64| most > 0));
    }
    let behind = bytes.next_multiple_of(PAGE as u64);
    rustix::fs::fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, behind, BLOCK_BYTES).is_ok()
}

/// Whether the kernel takes a block device, or what it is a part of, for a disk that turns.
fn turns(path: &Path) -> bool {
    ["queue", "../queue"].iter().all(|folder| claim::says(path, &format!("{folder}/rotational")) != "0")
}

/// Whether a descriptor that goes past the page cache takes single blocks.
fn takes_blocks(file: &OwnedFd) -> bool {
    let block = BLOCK_BYTES as usize;
    let aligned = Slice { buffer: Rc::new(AlignedBuffer::new(2 * block)), from: block, bytes: block };
    carry_out(file, &RingOp::Read(aligned, BLOCK_BYTES)) >= 0
}

impl LiveDevice for ServedFile {
    fn caps(&self) -> Caps {
        Caps { blocks: self.bytes.div_ceil(BLOCK_BYTES), depth: self.depth, seek: self.seek_by, arms: self.arms }
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn issue(
        &mut self,
        now: Time,
        tag: Tag,
        command: &Command,
        memory: Option<Slice>,
        kernel: &mut dyn Kernel,
    ) -> io::Result<()> {
        let seeks = command.verb == Verb::Seek;
        if seeks && self.seek_by != SeekBy::Read {
            self.done.push_back(Done::now(now, tag, Outcome::Ok));
            return Ok(());
        }
        let from = command.at.start.0 * BLOCK_BYTES;
        // The kernel may write several into the same memory, which nobody reads.
        let memory = if seeks { Some(self.unread.clone()) } else { memory };
        let memory = memory.map(|memory| self.inside(command.verb, memory, from));
        let (verb, bytes) = (command.verb, command.at.bytes());
        self.flying[tag.0 as usize] = Some(FileCommand { verb, memory, from, bytes });
        self.push(tag, kernel)
    }

    fn next_completion(&mut self, _: Time) -> Option<Done> {
        self.done.pop_front()
    }

    fn on_completion(&mut self, now: Time, tag: Tag, result: i32, kernel: &mut dyn Kernel) -> io::Result<()> {
        let Some(command) = self.flying[tag.0 as usize].take() else { return Ok(()) };
        let moved = usize::try_from(result).unwrap_or(0);
        let left = command.memory.as_ref().filter(|slice| moved < slice.bytes).map(|slice| slice.after(moved));
        let outcome = match (result, left) {
            (error, _) if error < 0 => self.judge_failure(command.verb, -error),
            (_, None) => Outcome::Ok,
            (0, Some(_)) => Outcome::Failed(EIO),
            (_, memory) => {
                let from = command.from + moved as u64;
                self.flying[tag.0 as usize] = Some(FileCommand { memory, from, ..command });
                return self.push(tag, kernel);
            }
        };
        self.done.push_back(Done::now(now, tag, outcome));
        Ok(())
    }

    fn peek(&mut self, at: Extent, into: &Slice) -> bool {
        let from = at.start.0 * BLOCK_BYTES;
        let into = self.inside(Verb::Read, into.clone(), from);
        carry_out(&self.file, &RingOp::Read(into.clone(), from)) == into.bytes as i32
    }

    fn poke(&mut self, at: Extent, block: &Slice) {
        let from = at.start.0 * BLOCK_BYTES;
        let block = self.inside(Verb::Write { fua: false }, block.clone(), from);
        carry_out(&self.file, &RingOp::Write(block, from, false));
    }

    fn store(&mut self, at: Extent, from: &Slice) -> io::Result<()> {
        let written = carry_out(&self.file, &RingOp::Write(from.clone(), at.start.0 * BLOCK_BYTES, true));
        match written == from.bytes as i32 {
            true => Ok(()),
            false if written < 0 => Err(io::Error::from_raw_os_error(-written)),
            false => Err(ErrorKind::WriteZero.into()),
        }
    }

    fn begin_store(&mut self, at: Extent, from: &Slice, number: u32, kernel: &mut dyn Kernel) -> io::Result<Stored> {
        let write = RingOp::Write(from.clone(), at.start.0 * BLOCK_BYTES, true);
        kernel.push(&self.file, RingToken::Unit(number), write).map(|()| Stored::Begun)
    }

    fn sync(&mut self) -> io::Result<()> {
        match carry_out(&self.file, &RingOp::Sync) {
            error if error < 0 => Err(io::Error::from_raw_os_error(-error)),
            _ => Ok(()),
        }
    }

    fn can_empty(&self) -> bool {
        self.zeroes.holes && self.is_regular
    }

    fn empty(&mut self, at: Extent) -> io::Result<()> {
        Ok(punch(&self.file, at)?)
    }

    fn reserve(&mut self, at: Extent) -> io::Result<()> {
        if self.is_regular { Ok(allocate(&self.file, at)?) } else { Ok(()) }
    }

    fn zeroes(&self) -> Zeroes {
        self.zeroes
    }

    fn alike(&mut self, at: Extent) -> (u64, bool) {
        alike(&self.file, at)
    }
}

/// Makes a hole of an extent of a file.
pub(crate) fn punch(file: &OwnedFd, at: Extent) -> rustix::io::Result<()> {
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    rustix::fs::fallocate(file, flags, at.start.0 * BLOCK_BYTES, at.bytes())
}

/// Has a file system keep room for an extent of a file, which holds what it did.
pub(crate) fn allocate(file: &OwnedFd, at: Extent) -> rustix::io::Result<()> {
    let (from, bytes) = (at.start.0 * BLOCK_BYTES, at.bytes());
    rustix::io::retry_on_intr(|| rustix::fs::fallocate(file, FallocateFlags::KEEP_SIZE, from, bytes))
}

/// How many blocks of a file from the first of an extent on are alike, at most all; whether they may hold anything but zeros.
pub(crate) fn alike(file: &OwnedFd, at: Extent) -> (u64, bool) {
    let (from, most) = (at.start.0 * BLOCK_BYTES, u64::from(at.blocks));
    let to = |seek| rustix::fs::seek(file, seek).map(|to| to.saturating_sub(from) / BLOCK_BYTES);
    match to(SeekFrom::Data(from)) {
        Ok(0) => (to(SeekFrom::Hole(from)).unwrap_or(most).clamp(1, most), true),
        Ok(hole) => (hole.min(most), false),
        // From there to the end of the file there are none.
        Err(Errno::NXIO) => (most, false),
        Err(_) => (most, true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::PlayedKernel;
    use crate::{Clock, Host};
    use block::{Place, RequestId};

    /// A command on a file, carried out.
    fn done(file: &mut ServedFile, verb: Verb, at: Extent, memory: &Slice) -> Outcome {
        let mut host = Host::new(Clock::new(1.0), load::experiment::IoBackend::Auto).expect("a host");
        let command = Command::new(verb, at, Place::Nowhere);
        file.issue(Time::ZERO, Tag(0), &command, Some(memory.clone()), &mut host).expect("issued");
        loop {
            if let Some(done) = file.next_completion(Time::ZERO) {
                return done.outcome;
            }
            host.sleep(None).expect("it goes on");
            while let Some((_, result)) = host.take() {
                file.on_completion(Time::ZERO, Tag(0), result, &mut host).expect("taken");
            }
        }
    }

    #[test]
    fn a_last_block_that_is_not_whole_is_served_and_keeps_its_length() {
        let path = std::env::temp_dir().join(format!("halfturn-odd-{}", std::process::id()));
        std::fs::write(&path, [[1; 512].as_slice(), &[2; 88]].concat()).expect("a file");
        let mut file = ServedFile::open(&path, 1, Use::Writes, PageCache::Past).expect("a file");
        assert_eq!((file.bytes(), file.caps().blocks, file.is_direct()), (600, 2, false));
        let memory = Slice::new(1024);
        memory.buffer.put(0, &[9; 1024]);
        assert_eq!(done(&mut file, Verb::Read, Extent::new(0, 2), &memory), Outcome::Ok);
        let mut read = [0; 1024];
        memory.buffer.get(0, &mut read);
        assert_eq!((&read[..600], &read[600..]), (&[[1; 512].as_slice(), &[2; 88]].concat()[..], &[0; 424][..]));
        memory.buffer.put(0, &[7; 1024]);
        assert_eq!(done(&mut file, Verb::Write { fua: true }, Extent::new(0, 2), &memory), Outcome::Ok);
        drop(file);
        assert!(std::fs::read(&path).expect("a file") == [7; 600], "it is as long as it was");
        std::fs::remove_file(&path).expect("its file");
    }

    /// What is in memory comes from there at once: the kernel is asked for nothing that it would do later.
    #[test]
    fn a_file_in_memory_is_read_and_written_at_once() {
        let path = Path::new("/dev/shm").join(format!("halfturn-memory-{}", std::process::id()));
        if std::fs::write(&path, [3; 8192]).is_err() {
            println!("SKIPPED: there is no /dev/shm");
            return;
        }
        for cache in [PageCache::Through, PageCache::Past] {
            let mut file = ServedFile::open(&path, 2, Use::Writes, cache).expect("a file");
            assert!(file.in_memory);
            let mut host = Host::new(Clock::new(1.0), load::experiment::IoBackend::Auto).expect("a host");
            let memory = Slice::new(4096);
            memory.buffer.put(0, &[5; 4096]);
            let mut at_once = |file: &mut ServedFile, verb| {
                let command = Command::new(verb, Extent::new(8, 8), Place::Nowhere);
                file.issue(Time::ZERO, Tag(1), &command, Some(memory.clone()), &mut host).expect("issued");
                file.next_completion(Time::ZERO).expect("it is done").outcome
            };
            assert_eq!(at_once(&mut file, Verb::Write { fua: true }), Outcome::Ok);
            memory.buffer.clear(0, 4096);
            assert_eq!(at_once(&mut file, Verb::Read), Outcome::Ok);
            assert!(memory.to_vec() == [5; 4096]);
        }
        let held = std::fs::read(&path).expect("a file");
        std::fs::remove_file(&path).expect("its file");
        assert!(held[..4096] == [3; 4096] && held[4096..] == [5; 4096]);
    }

    /// What a kernel was asked to read: from which byte, how many; and the token of each.
    #[derive(Default)]
    struct Asked(Vec<(RingToken, u64, Slice)>);

    impl PlayedKernel for Asked {
        fn time(&self) -> Time {
            Time(7)
        }

        fn note(&mut self, token: RingToken, op: RingOp) {
            let RingOp::Read(slice, from) = op else { panic!("a seek is a read") };
            self.0.push((token, from, slice));
        }
    }

    fn seek_to(block: u64) -> Command {
        Command::new(Verb::Seek, Extent::new(block, 1), Place::Request(RequestId(3), 5))
    }

    /// A file of ten blocks, without a name.
    fn ten_blocks(direct: bool) -> ServedFile {
        let path = std::env::temp_dir().join(format!("halfturn-ten-{}-{direct}", std::process::id()));
        std::fs::write(&path, [9; 5120]).expect("a file");
        let file = std::fs::File::open(&path).expect("its file");
        std::fs::remove_file(&path).expect("its name");
        ServedFile::over(file.into(), 5120, 4, direct)
    }

    #[test]
    fn a_seek_reads_one_block_of_which_nobody_is_given_anything() {
        let (mut file, mut kernel) = (ten_blocks(true).seeking(SeekBy::Read), Asked::default());
        assert_eq!(file.caps().seek, SeekBy::Read);
        let client = Slice::new(512);
        file.issue(Time::ZERO, Tag(2), &seek_to(9), Some(client.clone()), &mut kernel).expect("issued");
        assert_eq!(file.next_completion(Time(7)), None, "the arm is on its way");
        let (token, from, into) = kernel.0.pop().expect("a read");
        assert_eq!((token, from, into.bytes, kernel.0.len()), (RingToken::Unit(2), 9 * 512, 512, 0));
        assert!(!Rc::ptr_eq(&into.buffer, &client.buffer), "its bytes are nobody's");
        file.on_completion(Time(8), Tag(2), 512, &mut kernel).expect("it goes on");
        let done = file.next_completion(Time(8)).expect("it came back");
        assert_eq!((done.tag, done.happened, done.outcome), (Tag(2), Time(8), Outcome::Ok));
    }

    #[test]
    fn a_seek_that_could_not_read_has_not_happened() {
        let (mut file, mut kernel) = (ten_blocks(true).seeking(SeekBy::Read), Asked::default());
        // The kernel says that there is nothing, or why not.
        for (result, errno) in [(0, EIO), (-EIO, EIO), (-EINVAL, EINVAL)] {
            file.issue(Time::ZERO, Tag(0), &seek_to(1), None, &mut kernel).expect("issued");
            file.on_completion(Time(8), Tag(0), result, &mut kernel).expect("it goes on");
            assert_eq!(file.next_completion(Time(8)).map(|done| done.outcome), Some(Outcome::Failed(errno)));
            assert_eq!(kernel.0.drain(..).count(), 1, "it is not tried again");
        }
    }

    #[test]
    fn nothing_moves_for_a_seek_where_no_arm_is_reached() {
        let through = |by| ten_blocks(false).seeking(by);
        for mut file in [through(SeekBy::Read), ten_blocks(true), ten_blocks(true).seeking(SeekBy::Nothing)] {
            let mut kernel = Asked::default();
            assert_eq!(file.caps().seek, SeekBy::Nothing);
            file.issue(Time(4), Tag(1), &seek_to(3), None, &mut kernel).expect("issued");
            let done = file.next_completion(Time(4)).expect("at once");
            assert_eq!((done.outcome, kernel.0.len()), (Outcome::Ok, 0));
        }
    }

    /// Whether a file system takes reads past the page cache, this one or that of the test, is told by the file itself.
    #[test]
    fn a_file_is_read_for_a_seek_only_past_the_page_cache() {
        let path = std::env::temp_dir().join(format!("halfturn-arm-{}", std::process::id()));
        std::fs::write(&path, [9; 5120]).expect("a file");
        for cache in [PageCache::Past, PageCache::Through] {
            let mut file = ServedFile::open(&path, 1, Use::Reads, cache).expect("a file");
            let reads = cache == PageCache::Past && file.is_direct() && !file.in_memory;
            assert_eq!(file.caps().seek == SeekBy::Read, reads, "{cache:?}");
            let client = Slice::new(512);
            assert_eq!(done(&mut file, Verb::Seek, Extent::new(4, 1), &client), Outcome::Ok);
            assert!(client.to_vec() == [0; 512]);
        }
        std::fs::remove_file(&path).expect("its file");
    }
}
