//! Two actuators on one spindle: two whole disks, each of half of the blocks, with a queue of its own.
//!
//! Unlike the other kinds it does change its mind: each arm decides late which of its commands it serves next. A command that lies
//! in both halves is two, and is complete when both are; a flush is, too. What the arms do on their own account shows in their commands
//! alone: while none is in the device, it counts as idle.

use super::{is_sane, split_seed};
use crate::account::{Account, Parts};
use crate::{Drive, Machine};
use block::errno::EINVAL;
use block::{Caps, Command, Extent, Lbn, Outcome, Tag, Time, Verb};
use disk::{Queue, Sheet};

/// A command in the device.
#[derive(Clone, Copy, Debug)]
struct Pending {
    tag: Tag,
    issued: Time,
    /// Arms that have still to end their part of it.
    arms: u8,
    /// When the last part that has ended did, and what that took.
    end: Time,
    parts: Parts,
    outcome: Outcome,
}

/// A drive with two actuators.
pub(super) struct Dual {
    caps: Caps,
    arms: [Drive; 2],
    pending: Vec<Pending>,
    account: Account,
}

impl Dual {
    pub(super) fn new(caps: Caps, half: &disk::Drive, seed: u64) -> Dual {
        // Whatever is in the device may be in one half.
        let sheet = Sheet { queue: Queue { depth: caps.depth, ..half.sheet.queue }, ..half.sheet.clone() };
        let arms = split_seed(seed).map(|seed| Drive::new(&sheet, &half.truth, seed));
        Dual { caps, arms, pending: Vec::with_capacity(usize::from(caps.depth)), account: Account::default() }
    }

    /// What of a command each arm has to do.
    fn divide(&self, command: Command) -> [Option<Command>; 2] {
        let half = self.caps.blocks / 2;
        let (start, end) = (command.at.start.0, command.at.end().0);
        let part = |from: u64, to: u64, base: u64| {
            let at = Extent { start: Lbn(from - base), blocks: (to - from) as u32 };
            Command { at, ..command }
        };
        match command.verb {
            Verb::Flush => [Some(command); 2],
            _ => [
                (start < half).then(|| part(start, end.min(half), 0)),
                (end > half).then(|| part(start.max(half), end, half)),
            ],
        }
    }

    /// The arm in which something happens first, and when.
    fn first_arm(&self) -> Option<(Time, usize)> {
        self.arms.iter().enumerate().filter_map(|(i, arm)| Some((arm.next()?, i))).min()
    }

    /// The command that needs no arm, or none any more.
    fn over(&self) -> Option<usize> {
        self.pending.iter().position(|it| it.arms == 0)
    }

    fn take(&mut self, place: usize) -> (Time, Tag, Outcome, Parts) {
        let done = self.pending.remove(place);
        self.account.add_command(done.issued, done.end, &done.parts);
        (done.end, done.tag, done.outcome, done.parts)
    }
}

impl Machine for Dual {
    fn caps(&self) -> Caps {
        self.caps
    }

    fn issue(&mut self, now: Time, tag: Tag, command: Command) {
        let room = self.pending.len() < usize::from(self.caps.depth);
        assert!(room, "a device takes no more commands than it has room for");
        if self.pending.is_empty() {
            self.account.until = now;
        }
        let sane = is_sane(self.caps, command);
        let moves = sane && !matches!(command.verb, Verb::Seek | Verb::Discard(_));
        let divided = if moves { self.divide(command) } else { [None; 2] };
        let mut arms = 0;
        for (arm, part) in self.arms.iter_mut().zip(divided) {
            if let Some(part) = part {
                arm.issue(now, tag, part);
                arms += 1;
            }
        }
        let outcome = if sane { Outcome::Ok } else { Outcome::Failed(EINVAL) };
        self.pending.push(Pending { tag, issued: now, arms, end: now, parts: Parts::default(), outcome });
    }

    fn next(&self) -> Option<Time> {
        self.over().map(|place| self.pending[place].end).or_else(|| self.first_arm().map(|(at, _)| at))
    }

    fn finish(&mut self) -> Option<(Time, Tag, Outcome, Parts)> {
        if let Some(place) = self.over() {
            return Some(self.take(place));
        }
        let (_, arm) = self.first_arm()?;
        let (end, tag, outcome, parts) = self.arms[arm].finish()?;
        let place = self.pending.iter().position(|it| it.tag == tag)?;
        let pending = &mut self.pending[place];
        (pending.end, pending.parts, pending.arms) = (end, parts, pending.arms - 1);
        if outcome != Outcome::Ok {
            pending.outcome = outcome;
        }
        (self.pending[place].arms == 0).then(|| self.take(place))
    }

    fn take_account(&mut self, now: Time) -> Account {
        if self.pending.is_empty() {
            self.account.until = now;
        }
        self.account.take(now)
    }
}
