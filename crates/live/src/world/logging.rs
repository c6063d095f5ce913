//! The log of an array's write buffer: who waits for it, and what is on it that must be written again.
//!
//! A write that the core has buffered ends when it is on the log; of a log that has failed, when it is on the disks and these know that
//! the log is not needed. What was on the log when the service before this one ended goes to the core first, write by write, as if the
//! array asked for it; the core buffers it, and it is on the log already. Until all of it is there, nobody else asks for anything.

use super::{LiveWorld, RequestSource};
use crate::array::{MOST_ERRANDS, WriteLog};
use crate::kernel::Kernel;
use crate::memory::Slice;
use crate::unit::LiveDevice;
use block::errno::EIO;
use block::{Ending, Op, Qos, Request, RequestId, Time};
use sched::{Input, LogNews, LogOrder};
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;

/// Who waits for the log.
#[derive(Default)]
pub(super) struct Logging {
    /// Whether there is one.
    on: bool,
    /// Writes that wait to be on it, by their numbers, in order.
    waiting: VecDeque<(u64, RequestId)>,
    /// What is being written again.
    replayed: Option<Slice>,
}

impl Logging {
    /// Of a device that has a log, or none.
    pub(super) fn of(unit: &mut dyn LiveDevice) -> Logging {
        Logging { on: unit.write_log().is_some(), ..Logging::default() }
    }
}

impl<S: RequestSource, K: Kernel> LiveWorld<S, K> {
    fn write_log(&mut self) -> Option<&mut WriteLog> {
        if self.logging.on { self.unit.write_log() } else { None }
    }

    /// The number of what is written again: behind those of errands.
    fn replay_id(&self) -> RequestId {
        RequestId(self.source.numbers() + MOST_ERRANDS)
    }

    /// Whether this is what is written again.
    pub(super) fn is_replay(&self, id: RequestId) -> bool {
        self.logging.replayed.is_some() && id == self.replay_id()
    }

    /// The memory of what is written again, if this is it.
    pub(super) fn replay_memory(&self, id: RequestId, from: usize, bytes: usize) -> Option<Slice> {
        let held = self.logging.replayed.as_ref().filter(|_| self.is_replay(id))?;
        Some(Slice { buffer: Rc::clone(&held.buffer), from: held.from + from, bytes })
    }

    /// Whether something is still to be written again, before anybody asks.
    pub(super) fn replays(&mut self) -> bool {
        self.logging.replayed.is_some() || self.write_log().is_some_and(|log| log.replays())
    }

    /// What is written again now.
    pub(super) fn next_replay(&mut self, room: u32) -> Option<Input> {
        if room == 0 || self.logging.replayed.is_some() {
            return None;
        }
        let (at, held) = self.unit.write_log()?.next_replay()?;
        self.logging.replayed = Some(held);
        self.count_errand();
        Some(Input::Submit(Request { id: self.replay_id(), op: Op::Write { fua: false }, at, qos: Qos::default() }))
    }

    /// What was written again is in the buffer.
    pub(super) fn end_replay(&mut self) {
        self.logging.replayed = None;
        self.uncount_errand();
    }

    /// Does what the core wants of the log.
    pub(super) fn log(&mut self, now: Time, order: LogOrder) {
        match order {
            LogOrder::Write { request, .. } if self.is_replay(request) => self.end_replay(),
            LogOrder::Write { number, request, at, place } => {
                let memory = self.memory(place, at.blocks);
                self.logging.waiting.push_back((number, request));
                if let (Some(log), Some(memory)) = (self.unit.write_log(), memory) {
                    log.keep(at, &memory);
                }
            }
            LogOrder::Settled(below) => {
                self.unit.write_log().into_iter().for_each(|log| log.settle(below));
            }
            LogOrder::Drained => {
                self.unit.give_up_log();
                self.hear_refusals();
                self.news.push_back(Input::Log(LogNews::GivenUp));
            }
            LogOrder::Stuck => {
                self.unit.write_log().into_iter().for_each(WriteLog::set_stuck);
                self.source.flush_failed();
                if self.replays() {
                    // What comes after it cannot be had, and who reads would be told what was before.
                    self.failed.get_or_insert(io::Error::other("the disks do not take what is on the log"));
                }
            }
        }
        self.hear_log(now);
    }

    /// What is on the log, or will never be, is told to who waits for that; what waits to be put down is.
    pub(super) fn hear_log(&mut self, now: Time) {
        let Some(log) = (if self.logging.on { self.unit.write_log() } else { None }) else { return };
        log.go_on(now, &mut self.kernel);
        let (kept, is_lost) = (log.first_unkept(), log.is_lost());
        if log.take_failure() {
            eprintln!("the log {} is given up as soon as all of it is on the disks", log.path());
            self.news.push_back(Input::Log(LogNews::Failed));
        }
        while let Some((number, id)) = self.logging.waiting.front().copied()
            && (number < kept || is_lost)
        {
            self.logging.waiting.pop_front();
            self.last = now;
            let how = if number < kept { Ending::Finished } else { Ending::Failed(EIO) };
            self.end_request(now, id, how);
        }
    }

    /// When nobody waits any longer for the log.
    pub(super) fn log_hangs_at(&mut self) -> Option<Time> {
        let begun = self.write_log()?.busy_since()?;
        Some(self.patience.ends(begun))
    }

    /// Nobody waits for it any longer.
    pub(super) fn abandon_log(&mut self, now: Time) {
        self.last = now;
        self.unit.write_log().into_iter().for_each(WriteLog::fail);
        self.hear_log(now);
    }

    /// Whether something is only in the buffer that the disks will have.
    pub(super) fn settles(&mut self) -> bool {
        self.write_log().is_some_and(|log| !log.is_stuck() && !log.is_settled())
    }
}
