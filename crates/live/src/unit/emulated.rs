//! A drive that keeps mechanical time: its contents are real, its times are the model's.
//!
//! **An emulated drive is stamped inside.** A command is given to the model at the time of the input it follows from,
//! and what it completed is told to the core with the model's time; by how much later that was noticed is the host's
//! lateness, and is reported.

use super::ram::transfer;
use super::{Done, LiveDevice};
use crate::kernel::Kernel;
use crate::memory::Slice;
use crate::store::Contents;
use block::{Caps, Command, Extent, Outcome, Tag, Time, Verb};
use drive::Machine;
use std::collections::VecDeque;
use std::io;

/// A drive that exists only as a model, with its contents in memory or a file.
pub struct Emulated {
    machine: Box<dyn Machine>,
    contents: Box<dyn Contents>,
    /// By tag: what was issued, and when.
    flying: Vec<Option<(Time, Command, Option<Slice>)>>,
    /// What took no time, since a disk does nothing for it.
    done: VecDeque<Done>,
}

impl Emulated {
    /// A machine in real time, which holds this.
    #[must_use]
    pub fn new(machine: Box<dyn Machine>, contents: Box<dyn Contents>) -> Emulated {
        let flying = vec![None; usize::from(machine.caps().depth)];
        Emulated { machine, contents, flying, done: VecDeque::new() }
    }
}

impl LiveDevice for Emulated {
    fn caps(&self) -> Caps {
        self.machine.caps()
    }

    fn issue(
        &mut self,
        now: Time,
        tag: Tag,
        command: &Command,
        memory: Option<Slice>,
        _: &mut dyn Kernel,
    ) -> io::Result<()> {
        if matches!(command.verb, Verb::Discard(_)) {
            let outcome = transfer(&mut *self.contents, command, None);
            self.done.push_back(Done::now(now, tag, outcome));
            return Ok(());
        }
        self.flying[tag.0 as usize] = Some((now, *command, memory));
        self.machine.issue(now, tag, *command);
        Ok(())
    }

    fn due(&self) -> Option<Time> {
        self.machine.next()
    }

    fn next_completion(&mut self, now: Time) -> Option<Done> {
        if let Some(done) = self.done.pop_front() {
            return Some(done);
        }
        let (happened, tag, outcome, parts) = loop {
            self.machine.next().filter(|at| *at <= now)?;
            if let Some(done) = self.machine.finish() {
                break done;
            }
        };
        let (issued, command, memory) = self.flying[tag.0 as usize].take()?;
        let outcome = match outcome {
            Outcome::Ok => transfer(&mut *self.contents, &command, memory.as_ref()),
            failed => failed,
        };
        Some(Done { tag, happened, outcome, took: Some(happened.since(issued)), parts: Some(parts) })
    }

    fn peek(&mut self, at: Extent, into: &Slice) -> bool {
        self.contents.read(at, into).is_ok()
    }

    fn poke(&mut self, at: Extent, from: &Slice) {
        // What was written once has room.
        let _ = self.contents.write(at, from);
    }

    fn account(&mut self, now: Time) -> Option<drive::Account> {
        Some(self.machine.take_account(now))
    }

    fn store(&mut self, at: Extent, from: &Slice) -> io::Result<()> {
        self.contents.write(at, from).map_err(io::Error::from_raw_os_error)
    }

    fn reserve(&mut self, at: Extent) -> io::Result<()> {
        self.contents.reserve(at).map_err(io::Error::from_raw_os_error)
    }

    fn can_empty(&self) -> bool {
        self.contents.can_empty()
    }

    fn empty(&mut self, at: Extent) -> io::Result<()> {
        self.contents.empty(at).map_err(io::Error::from_raw_os_error)
    }

    fn alike(&mut self, at: Extent) -> (u64, bool) {
        self.contents.alike(at)
    }
}
