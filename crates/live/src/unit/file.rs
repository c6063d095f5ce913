//! A file or a block device.

use super::{Done, Unit};
use crate::memory::Slice;
use crate::ring::{Op, Ring, Token};
use block::errno::EIO;
use block::{BLOCK_BYTES, Caps, Command, Extent, Outcome, Tag, Time, Verb};
use rustix::fs::{FallocateFlags, Mode, OFlags, SeekFrom};
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::rc::Rc;

/// A file, read and written past the page cache where it lets us.
pub struct File {
    file: Rc<OwnedFd>,
    blocks: u64,
    depth: u16,
    direct: bool,
    /// By tag: what is left of the command.
    flying: Vec<Option<(Verb, Slice, u64)>>,
    done: VecDeque<Done>,
}

impl File {
    /// Opens one that is there, which is given so many commands at once; whether also to be written.
    ///
    /// # Errors
    /// When it cannot be, or has no blocks.
    pub fn open(path: &Path, depth: u16, writes: bool) -> io::Result<File> {
        let flags = OFlags::CLOEXEC | if writes { OFlags::RDWR } else { OFlags::RDONLY };
        let open = |more| rustix::fs::open(path, flags | more, Mode::empty());
        let direct = open(OFlags::DIRECT).ok().filter(takes_blocks);
        let (file, direct) = match direct {
            Some(file) => (file, true),
            None => (open(OFlags::empty())?, false),
        };
        let blocks = rustix::fs::seek(&file, SeekFrom::End(0))? / BLOCK_BYTES;
        if blocks == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is empty"));
        }
        let flying = vec![None; usize::from(depth)];
        Ok(File { file: Rc::new(file), blocks, depth, direct, flying, done: VecDeque::new() })
    }

    /// Whether it is read and written past the page cache.
    #[must_use]
    pub fn is_direct(&self) -> bool {
        self.direct
    }

    fn push(&mut self, tag: Tag, ring: &mut Ring) -> io::Result<()> {
        let Some((verb, slice, at)) = &self.flying[tag.0 as usize] else { return Ok(()) };
        let op = match verb {
            Verb::Read => Op::Read(slice.clone(), *at),
            Verb::Write { fua } => Op::Write(slice.clone(), *at, *fua),
            Verb::Flush | Verb::Seek => Op::Sync,
        };
        ring.push(&self.file, Token::Unit(tag.0), op)
    }
}

/// Whether a descriptor that goes past the page cache takes single blocks.
fn takes_blocks(file: &OwnedFd) -> bool {
    let one = crate::memory::Buffer::new(crate::memory::PAGE);
    let mut bytes = [0; BLOCK_BYTES as usize];
    one.get(0, &mut bytes);
    let aligned = crate::memory::Slice { buffer: Rc::new(one), from: 512, bytes: 512 };
    let Ok(mut ring) = Ring::new() else { return false };
    let file = file.try_clone().map(Rc::new);
    let pushed = file.and_then(|file| ring.push(&file, Token::Bell, Op::Read(aligned, BLOCK_BYTES)));
    pushed.and_then(|()| ring.wait(None)).is_ok() && ring.take().is_some_and(|(_, result)| result >= 0)
}

impl Unit for File {
    fn caps(&self) -> Caps {
        Caps { blocks: self.blocks, depth: self.depth, seek: false }
    }

    fn issue(
        &mut self,
        now: Time,
        tag: Tag,
        command: &Command,
        memory: Option<Slice>,
        ring: &mut Ring,
    ) -> io::Result<()> {
        let memory = match (command.verb, memory) {
            (Verb::Seek, _) => {
                self.done.push_back(Done { tag, happened: now, outcome: Outcome::Ok, took: None });
                return Ok(());
            }
            (_, Some(memory)) => memory,
            (_, None) => Slice { buffer: Rc::new(crate::memory::Buffer::new(0)), from: 0, bytes: 0 },
        };
        self.flying[tag.0 as usize] = Some((command.verb, memory, command.at.start.0 * BLOCK_BYTES));
        self.push(tag, ring)
    }

    fn done(&mut self, _: Time) -> Option<Done> {
        self.done.pop_front()
    }

    fn completed(&mut self, now: Time, tag: Tag, result: i32, ring: &mut Ring) -> io::Result<()> {
        let Some((verb, slice, at)) = self.flying[tag.0 as usize].take() else { return Ok(()) };
        let moved = usize::try_from(result).unwrap_or(0);
        let outcome = match result {
            error if error < 0 => Outcome::Failed(-error),
            _ if !verb.transfers() || moved >= slice.bytes => Outcome::Ok,
            0 => Outcome::Failed(EIO),
            _ => {
                self.flying[tag.0 as usize] = Some((verb, slice.after(moved), at + moved as u64));
                return self.push(tag, ring);
            }
        };
        self.done.push_back(Done { tag, happened: now, outcome, took: None });
        Ok(())
    }

    fn discard(&mut self, at: Extent) {
        // It is no more than a hint: where holes cannot be made, nothing is lost.
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let _ = rustix::fs::fallocate(&self.file, flags, at.start.0 * BLOCK_BYTES, at.bytes());
    }

    fn alike(&mut self, at: Extent) -> (u64, bool) {
        let (from, most) = (at.start.0 * BLOCK_BYTES, u64::from(at.blocks));
        let to = |seek| rustix::fs::seek(&self.file, seek).ok().map(|to| to.saturating_sub(from) / BLOCK_BYTES);
        match to(SeekFrom::Data(from)) {
            Some(0) => (to(SeekFrom::Hole(from)).unwrap_or(most).clamp(1, most), true),
            Some(hole) => (hole.min(most), false),
            None => (most, true),
        }
    }
}
