//! The log of the write buffer, as the core sees it: what of it is needed, in order.
//!
//! Where the world keeps the buffer in a log ([`LogOrder`]), a write ends when it is there. A log is a ring: of what
//! is needed the oldest comes first, and only when that is on the disks, there is room for more. So the buffer is as full as the ring
//! is, though what came later may be on the disks already; and what is written out of it is worth the more, the fuller that is.
//!
//! **A log that fails is given up, and nothing with it.** What is in the buffer goes to the disks, what comes meanwhile waits. When all is
//! there, and the disks know that the log is not needed any more, writes go to the disks alone.
//!
//! **What no disk takes is in the log, and stays there.** Nothing is written any more then, so that it can be had when the disks are
//! back; what it covers cannot be read.

use super::{Array, Task};
use crate::event::{Action, LogNews, LogOrder};
use crate::predict::Predictor;
use crate::{Job, JobId};
use block::errno::EIO;
use block::{Ending, Extent, Op};
use std::collections::VecDeque;

/// Blocks of a page, of which a log is made.
pub const LOG_PAGE: u32 = 8;

/// Blocks of a log that a write of so many takes: its own in whole pages, and a page that tells of it.
#[must_use]
pub fn logged_blocks(blocks: u32) -> u64 {
    u64::from(blocks).next_multiple_of(LOG_PAGE.into()) + u64::from(LOG_PAGE)
}

/// How a log fares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogState {
    Kept,
    /// It is to be given up when nothing is in the buffer any more.
    Failed,
    /// What is in it no disk takes.
    Stuck,
}

/// A write in the log.
#[derive(Clone, Copy, Debug)]
struct LoggedWrite {
    blocks: u64,
    settled: bool,
    /// The write before it that is in the same frame, if there is one.
    before: Option<u64>,
}

/// What is in a frame with a write.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum InFrame {
    Alone,
    /// Writes that it writes over, in part or wholly.
    WithOthers,
}

/// What of a log is needed.
#[derive(Debug)]
pub(super) struct LoggedWrites {
    pub(super) state: LogState,
    /// From the oldest that is not settled on, and its number.
    writes: VecDeque<LoggedWrite>,
    first: u64,
    /// By frame the last write that is in it.
    newest: Vec<u64>,
    /// Frames at once at most.
    pub(super) most: u32,
    /// Flushes that wait for the log to be given up; what no disk takes.
    flushes: Vec<JobId>,
    lost: Vec<Extent>,
    /// Whether something may be in the memory of disks, other than what was buffered.
    pub(super) unflushed: bool,
    /// Flushes of the disks that are under way: until they have ended, what was there may be there still.
    flushing: u32,
}

impl LoggedWrites {
    pub(super) fn new(most: u32) -> LoggedWrites {
        LoggedWrites {
            state: LogState::Kept,
            writes: VecDeque::new(),
            first: 1,
            newest: Vec::new(),
            most,
            flushes: Vec::new(),
            lost: Vec::new(),
            unflushed: true,
            flushing: 0,
        }
    }

    /// A write is in the log for a frame: its number.
    pub(super) fn add(&mut self, frame: u32, blocks: u32, there: InFrame) -> u64 {
        let number = self.first + self.writes.len() as u64;
        let frame = frame as usize;
        if self.newest.len() <= frame {
            self.newest.resize(frame + 1, 0);
        }
        let before = (there == InFrame::WithOthers).then_some(self.newest[frame]);
        self.newest[frame] = number;
        self.writes.push_back(LoggedWrite { blocks: logged_blocks(blocks), settled: false, before });
        number
    }

    /// What is in a frame is on the disks: the blocks of the log that are thereby free.
    pub(super) fn settle(&mut self, frame: u32) -> u64 {
        let mut next = self.newest.get(frame as usize).copied();
        while let Some(write) = next.and_then(|number| self.writes.get_mut((number - self.first) as usize)) {
            write.settled = true;
            next = write.before;
        }
        let mut free = 0;
        while let Some(write) = self.writes.front().filter(|write| write.settled) {
            free += write.blocks;
            self.first += 1;
            self.writes.pop_front();
        }
        free
    }

    /// The number of the oldest write that is needed.
    pub(super) fn oldest(&self) -> u64 {
        self.first
    }

    pub(super) fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// What no disk takes stays where it is.
    pub(super) fn lose(&mut self, at: Extent) {
        self.state = LogState::Stuck;
        self.lost.push(at);
    }

    /// Whether a request cannot be done any more, since something is in the log alone.
    pub(super) fn refuses(&self, op: Op, at: Extent) -> bool {
        let meets = |lost: &Extent| lost.start < at.end() && at.start < lost.end();
        self.state == LogState::Stuck && (op != Op::Read || self.lost.iter().any(meets))
    }
}

impl<P: Predictor> Array<P> {
    fn log(&mut self) -> Option<&mut LoggedWrites> {
        self.buffer.as_mut()?.log.as_mut()
    }

    /// A flush begins, or has nothing to do, or waits: what ended before is in the log.
    pub(super) fn flush(&mut self, id: JobId, job: &Job<Task>, out: &mut Vec<Action>) {
        match self.log() {
            Some(LoggedWrites { state: LogState::Failed, flushes, .. }) => flushes.push(id),
            Some(LoggedWrites { unflushed: false, flushing: 0, .. }) => self.end(id, Ending::Finished, out),
            log => {
                log.into_iter().for_each(|log| (log.unflushed, log.flushing) = (false, log.flushing + 1));
                self.start(id, job, out);
            }
        }
    }

    /// A task has ended, by which something may have come to be in the memory of disks.
    pub(super) fn note_unflushed(&mut self, op: Op, ending: Ending) {
        let Some(log) = self.log() else { return };
        log.unflushed |= op == Op::Repair || op == Op::Flush && ending != Ending::Finished;
        // One that had nothing to do ends while none is under way.
        log.flushing = log.flushing.saturating_sub(u32::from(op == Op::Flush));
    }

    /// What is in the buffer no disk takes.
    pub(super) fn get_stuck(&mut self, at: Extent, out: &mut Vec<Action>) {
        let Some(buffer) = &mut self.buffer else { return };
        let Some(log) = &mut buffer.log else { return };
        log.lose(at);
        let flushes = std::mem::take(&mut log.flushes);
        let waiting = buffer.take_waiting();
        out.push(Action::Log(LogOrder::Stuck));
        waiting.chain(flushes).for_each(|id| self.end(id, Ending::Failed(EIO), out));
    }

    /// Something became of the log.
    pub(super) fn hear_log(&mut self, news: LogNews, out: &mut Vec<Action>) {
        match (news, self.log()) {
            (_, None | Some(LoggedWrites { state: LogState::Stuck, .. })) => {}
            (LogNews::Failed, Some(log)) => {
                log.state = LogState::Failed;
                self.tell_drained(out);
            }
            (LogNews::GivenUp, Some(log)) => {
                debug_assert!(log.is_empty(), "a log is given up of which something is needed");
                let flushes = std::mem::take(&mut log.flushes);
                let waiting = self.buffer.take().into_iter().flat_map(|mut buffer| buffer.take_waiting());
                self.disks.iter_mut().for_each(|disk| disk.weigh_writes(1.0, 0.0));
                for id in waiting.chain(flushes).collect::<Vec<_>>() {
                    match self.tasks.get(id).copied() {
                        Some(job) if job.op == Op::Flush => self.start(id, &job, out),
                        _ => self.start_or_hold(id, out),
                    }
                }
            }
        }
    }

    /// Says that nothing is in the buffer any more, where that is waited for.
    pub(super) fn tell_drained(&mut self, out: &mut Vec<Action>) {
        if self.log().is_some_and(|log| log.state == LogState::Failed && log.is_empty()) {
            out.push(Action::Log(LogOrder::Drained));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::InFrame::{Alone, WithOthers};
    use super::*;

    #[test]
    fn a_log_has_room_again_from_the_oldest_write_on() {
        let mut log = LoggedWrites::new(9);
        assert_eq!([logged_blocks(1), logged_blocks(8), logged_blocks(9)], [16, 16, 24]);
        let numbers = [log.add(0, 1, Alone), log.add(1, 9, Alone), log.add(0, 2, WithOthers), log.add(2, 1, Alone)];
        assert_eq!(numbers, [1, 2, 3, 4]);
        assert_eq!((log.settle(1), log.oldest()), (0, 1), "what came before it is not");
        assert_eq!((log.settle(0), log.oldest()), (16 + 24 + 16, 4), "both that were in it");
        assert_eq!(log.add(1, 1, Alone), 5, "its frame is another's");
        assert_eq!((log.settle(1), log.oldest()), (0, 4));
        assert_eq!((log.settle(2), log.oldest(), log.is_empty()), (32, 6, true));
    }
}
