//! Memory, without any timing.

use super::{Done, LiveDevice, Zeroes};
use crate::kernel::Kernel;
use crate::memory::Slice;
use crate::store::{Contents, MemoryStore, Unwritten};
use block::{Caps, Command, Extent, Outcome, Tag, Time, Verb};
use std::collections::VecDeque;
use std::io;

/// Commands it takes at once.
const DEPTH: u16 = 64;

/// A device of memory, which completes at once.
pub struct Ram {
    blocks: u64,
    store: MemoryStore,
    done: VecDeque<Done>,
}

impl Ram {
    /// Of so many blocks.
    #[must_use]
    pub fn new(blocks: u64, unwritten: Unwritten) -> Ram {
        Ram {
            blocks,
            store: MemoryStore::new(blocks, unwritten, u64::MAX),
            done: VecDeque::with_capacity(DEPTH.into()),
        }
    }
}

impl LiveDevice for Ram {
    fn caps(&self) -> Caps {
        Caps { blocks: self.blocks, depth: DEPTH, seek: block::SeekBy::Nothing, arms: 1 }
    }

    fn issue(
        &mut self,
        now: Time,
        tag: Tag,
        command: &Command,
        memory: Option<Slice>,
        _: &mut dyn Kernel,
    ) -> io::Result<()> {
        let outcome = transfer(&mut self.store, command, memory.as_ref());
        self.done.push_back(Done::now(now, tag, outcome));
        Ok(())
    }

    fn next_completion(&mut self, _: Time) -> Option<Done> {
        self.done.pop_front()
    }

    fn peek(&mut self, at: Extent, into: &Slice) -> bool {
        self.store.read(at, into).is_ok()
    }

    fn poke(&mut self, at: Extent, from: &Slice) {
        // What was written once has room.
        let _ = self.store.write(at, from);
    }

    fn zeroes(&self) -> Zeroes {
        Zeroes { holes: true, kept: false }
    }

    fn store(&mut self, at: Extent, from: &Slice) -> io::Result<()> {
        self.store.write(at, from).map_err(io::Error::from_raw_os_error)
    }

    fn alike(&mut self, at: Extent) -> (u64, bool) {
        self.store.alike(at)
    }
}

/// Moves the bytes of a command.
pub(super) fn transfer(contents: &mut (impl Contents + ?Sized), command: &Command, memory: Option<&Slice>) -> Outcome {
    let done = match (command.verb, memory) {
        (Verb::Read, Some(into)) => contents.read(command.at, into),
        (Verb::Write { .. }, Some(from)) => contents.write(command.at, from),
        (Verb::Discard(_), _) => {
            contents.clear(command.at);
            Ok(())
        }
        _ => Ok(()),
    };
    done.map_or_else(Outcome::Failed, |()| Outcome::Ok)
}
