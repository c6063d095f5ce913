//! A mirrored pair: two whole drives with arms and phases of their own, which hold the same.
//!
//! A read goes to the drive that is free, or will be first; where both are free, to the one whose arm is nearer by
//! cylinder, for a pair knows no phase. A write goes to both and is complete when the later has it. Each drive serves
//! what it was given in that order. What the drives do on their own account shows in their commands alone: while none is
//! in the pair, it counts as idle.

use super::{Timing, split_seed};
use crate::Drive;
use crate::account::Parts;
use block::{Command, Lbn, Tag, Time, Verb};
use disk::{Queue, Sheet};

/// Two drives that hold the same blocks.
pub(super) struct Mirror {
    drives: [Drive; 2],
    /// When each has served what it was given.
    free: [Time; 2],
}

impl Mirror {
    pub(super) fn new(drive: &disk::Drive, seed: u64) -> Mirror {
        let sheet = Sheet { queue: Queue { depth: 1, ..drive.sheet.queue }, ..drive.sheet.clone() };
        let drives = split_seed(seed).map(|seed| Drive::new(&sheet, &drive.truth, seed));
        Mirror { drives, free: [Time::ZERO; 2] }
    }

    /// The drive that reads from `at`.
    fn reader(&self, now: Time, at: Lbn) -> usize {
        let cylinder = self.drives[0].mechanics().layout.locate(at).track.cylinder;
        let cost = |i: usize| (self.free[i].max(now), self.drives[i].track().cylinder.abs_diff(cylinder));
        usize::from(cost(1) < cost(0))
    }

    /// One of the drives serves a command.
    fn ask(&mut self, i: usize, now: Time, command: Command) -> Parts {
        let began = now.max(self.free[i]);
        self.drives[i].issue(began, Tag(0), command);
        let (end, _, _, mut parts) = self.drives[i].complete();
        self.free[i] = end;
        parts.queued += began.since(now);
        parts
    }
}

impl Timing for Mirror {
    fn serve(&mut self, now: Time, command: Command) -> Parts {
        if command.verb == Verb::Read {
            return self.ask(self.reader(now, command.at.start), now, command);
        }
        let (one, other) = (self.ask(0, now, command), self.ask(1, now, command));
        if other.total() > one.total() { other } else { one }
    }
}
