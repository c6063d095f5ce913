//! The log of an array that is cut: with it, what was answered is there, whether it was flushed or not; as long as it does not fail.

use super::disk::{Disk, Held, Platter, bytes_of};
use super::{BLOCK, Outside, Scene};
use crate::array::write_log::log_blocks;
use crate::array::{ArrayStatus, OpenedLog, WriteLog};
use block::{Span, Time};
use load::Draw;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

/// What becomes of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogFate {
    /// The array has no log.
    None,
    Kept,
    /// It takes nothing more from some time on, and is there again when the power is.
    Fails,
}

impl LogFate {
    pub(super) fn of(seed: u64) -> LogFate {
        [LogFate::None, LogFate::Kept, LogFate::Kept, LogFate::Fails][(seed / 2) as usize % 4]
    }
}

thread_local! {
    /// Writes that were on a log alone when the power came back.
    static REPLAYED: Cell<u64> = const { Cell::new(0) };
}

pub(super) fn count_replayed() -> u64 {
    REPLAYED.get()
}

impl Scene {
    /// Blocks of the write buffer.
    pub(super) fn room(&self) -> u64 {
        if self.log == LogFate::None { 0 } else { 8 * (4 + Draw::new(self.seed, 11).below(12)) }
    }

    pub(super) fn make_tape(&self) -> Rc<RefCell<Platter>> {
        Platter::holding([0; BLOCK], log_blocks(self.room()))
    }

    /// The log of an array that was found so, which may fail; nothing where the power goes while it is made.
    pub(super) fn open_log(&self, outside: &Outside, status: &ArrayStatus, fails: Time) -> Option<WriteLog> {
        if self.log == LogFate::None {
            return None;
        }
        let (power, platter) = (Rc::clone(&outside.power), Rc::clone(&outside.tape));
        let unit = Box::new(Disk { power, platter, flying: Vec::new(), fails });
        let opened = OpenedLog { unit, path: "log".into() }.open(status.names().expect("a label"), self.room());
        let is_off = outside.power.borrow().off;
        opened.map_err(|(what, _)| assert!(is_off, "{what}")).ok()
    }

    /// When the log fails that is had from now on.
    pub(super) fn log_fails(&self, outside: &Outside, life: usize) -> Time {
        if self.log != LogFate::Fails || life > 0 {
            return Time::NEVER;
        }
        let now = outside.power.borrow().now;
        now + Span(1 + outside.below(3000))
    }

    /// What is on the log, where something is that is needed: by block of the array.
    pub(super) fn read_log(&self, outside: &Outside, status: &ArrayStatus) -> BTreeMap<u64, Held> {
        let mut all = BTreeMap::new();
        if status.names().is_none_or(|(_, log)| log.is_none()) {
            return all;
        }
        let Some(mut log) = self.open_log(outside, status, Time::NEVER) else { return all };
        while let Some((at, memory)) = log.next_replay() {
            REPLAYED.set(REPLAYED.get() + 1);
            all.extend((0..at.blocks).map(|block| (at.start.0 + u64::from(block), bytes_of(&memory, block as usize))));
        }
        all
    }
}
